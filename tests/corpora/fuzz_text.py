"""A seeded fuzzer for the text front end: it damages modules of the corpus and reads them.

    PYTHONPATH=tests python -m corpora.fuzz_text -n 200000 --seed 1

An input passes if reading it takes less than a second of CPU time and raises only halfulp's own errors, each with a
location and a rendering; if an accepted module prints to a text that reads back and prints the same; and if that takes
at most a gigabyte. Input number i of a seed is always the same, whatever the other inputs are: ``--first i -n 1``
repeats one.
"""

import argparse
import random
import re
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from corpora.corpus import entries

from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module
from halfulp.interp.loading import parse_module
from halfulp.interp.text.lexer import token_offsets, tokenize
from halfulp.interp.text.printer import print_module

Input = TypeVar("Input", str, bytes)

MAX_SECONDS = 1.0
MAX_MEMORY = 1 << 30

_CHARACTERS = "\0\t\n\r \"#$%&'()*+,-./0129:;<=>?@AFZ[\\]^_`afxz{|}~\x7f\x80é\u2028𝄞\ud800\ufeff"
_PIECES = (
    "99999999999999999999999999", "-1", "0", "0x", "0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "1.0e999999999",
    "1.0e-999999999",
    "9223372036854775808", "4294967296", "16777216", "?", "*", "->", "::", "...", "{-#", "#-}", "loc(", "loc(unknown)",
    "loc(#l)", "%0", "%0#99999999999", "%x:99999999", "^bb0", "^", "#", "!", "@", '"', '"\\', "//", "// -----",
    "affine_map<",
    "dense<", 'dense<"0x', "sparse<", "strided<[", "distinct[0]<", "array<i8:", "tensor<", "tensor<99999999999999x",
    "vector<1000000000x", "memref<", "tuple<", "complex<", "(", ")", "[", "]", "{", "}", "<", ">", "<{", "}>", "true",
    "unit",
    "module {", "func.func @f() {", "scf.for %i = %0 to %0 step %0 {", "!quant.uniform<i8:f32:{0:1}, {",
    "d0 floordiv 0",
)  # fmt: skip
_NESTS = (
    ("[", "]"), ("{a = ", "}"), ("tuple<", ">"), ("complex<", ">"), ("(", ")"), ("() -> (", ")"), ("tensor<2x", ">"),
    ("memref<2x", ">"), ('"t.r"() ({', "}) : () -> ()"), ("module {", "}"), ("scf.if %c {", "}"),
    ("callsite(", ' at "x")'),
    ("fused[", "]"), ('"n"(', ")"), ("affine_map<(d0) -> (", ")>"), ("-", ""), ("(", ""), ("{", "}"),
    ("#foo.bar<", ">"),
    ("dense<", "> : tensor<2xi8>"), ("distinct[0]<", ">"), ("d0 + (", ")"),
)  # fmt: skip


def _flip(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(_CHARACTERS) + text[at + rng.randrange(2) :]


def _delete(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at + rng.randrange(1, 20) :]


def truncate(rng: random.Random, data: Input) -> Input:
    return data[: rng.randrange(len(data) + 1)]


def _insert(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(("", " ")) + rng.choice(_PIECES) + rng.choice(("", " ")) + text[at:]


def _spans(text: str) -> list[tuple[int, int]]:
    tokens = tokenize(text)
    return [(start, start + len(token)) for start, token in zip(token_offsets(text), tokens, strict=False) if token]


def _tokens(rng: random.Random, text: str) -> str:
    """Delete, double, replace or swap tokens."""
    spans = _spans(text)
    if len(spans) < 2:
        return _insert(rng, text)
    (a, b), (c, d) = sorted(rng.sample(spans, 2))
    return rng.choice(
        (
            lambda: text[:a] + text[b:],
            lambda: text[:b] + " " + text[a:],
            lambda: text[:a] + rng.choice(_PIECES) + text[b:],
            lambda: text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:],
            lambda: text[:a] + text[c:d] + text[b:],
            lambda: text[:a] + text[c:],
        )
    )()


def _splice(rng: random.Random, text: str) -> str:
    other = rng.choice(entries()).text
    cut = rng.randrange(len(text) + 1)
    return text[:cut] + other[rng.randrange(len(other) + 1) :]


def _lines(rng: random.Random, text: str) -> str:
    """Insert a line of another module, or move a line."""
    lines = text.splitlines(keepends=True)
    source = rng.choice((lines, rng.choice(entries()).text.splitlines(keepends=True))) or ["\n"]
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(source))
    return "".join(lines)


def _nest(rng: random.Random, text: str) -> str:
    opening, closing = rng.choice(_NESTS)
    depth = rng.choice((1, 2, 30, 90, 110, 1000, 20_000))
    spans = _spans(text)
    a, b = rng.choice(spans) if spans else (0, 0)
    return text[:a] + opening * depth + text[a:b] + closing * depth + text[b:]


def repeat(rng: random.Random, data: Input) -> Input:
    """Repeat a piece many times."""
    at = rng.randrange(len(data) + 1)
    piece = data[at : at + rng.randrange(1, 40)]
    return data[:at] + piece * rng.choice((2, 3, 50, 2000)) + data[at:]


def _number(rng: random.Random, text: str) -> str:
    """Replace a number by another one."""
    spans = [(a, b) for a, b in _spans(text) if text[a].isdigit()]
    if not spans:
        return _insert(rng, text)
    a, b = rng.choice(spans)
    value = rng.choice((0, 1, -1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, 10**12, 10**40, rng.randrange(1 << 70)))
    return text[:a] + rng.choice((str(value), f"0x{abs(value):x}", f"{value}.0", "9" * 5000)) + text[b:]


MUTATIONS: tuple[Callable[[random.Random, str], str], ...] = (
    _flip, _flip, _delete, truncate, _insert, _insert, _tokens, _tokens, _tokens, _tokens, _splice, _lines, _lines,
    _nest, repeat, _number, _number,
)  # fmt: skip


@cache
def stablehlo_texts() -> tuple[str, ...]:
    """Return a module with every op of StableHLO, its functions, and programs in StableHLO."""
    data = Path(__file__).parents[1] / "data"
    every = (data / "stablehlo" / "every_op.mlir").read_text(encoding="utf-8")
    helper, *functions = re.split(r"(?m)^(?=  func\.func)", every.rstrip().removesuffix("}"))[1:]
    programs = sorted((data / "programs").glob("*.stablehlo.mlir"))
    return (
        every,
        *(helper + text if "@helper" in text else text for text in functions),
        *(path.read_text(encoding="utf-8") for path in programs),
    )


@cache
def _originals(stablehlo: bool) -> tuple[Sequence[str], Sequence[str]]:
    if stablehlo:
        return stablehlo_texts(), stablehlo_texts()
    return [e.text for e in entries() if not e.invalid], [e.text for e in entries() if e.invalid]


def mutant(seed: int, number: int, stablehlo: bool = False) -> str:
    """Return input ``number`` of a seed. ``stablehlo``: it was StableHLO before."""
    rng = random.Random((seed << 40) + number)
    valid, invalid = _originals(stablehlo)
    text = rng.choice(valid if rng.random() < 0.8 else invalid)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
        text = rng.choice(MUTATIONS)(rng, text)[:200_000]
    return text


@dataclass(frozen=True, slots=True)
class ReadingFailure:
    """An input that failed, and the reason."""

    number: int
    text: str
    why: str


class OutOfTime(BaseException):
    """Stops a reading that takes too long."""


@contextmanager
def stopped_after(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` in the block after this many seconds of CPU time."""

    def stop(signum: int, frame: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def judged(
    read: Callable[[], Module],
    accepted: Callable[[Module], str | None],
    rejected: Callable[[HalfulpError], str | None],
) -> tuple[str, str | None]:
    """Read an input. Return the outcome (``accepted``, or the name of the error class) and what is wrong with it.

    ``accepted`` and ``rejected`` say what is wrong with the module or the error.
    """
    start = time.process_time()
    try:
        with stopped_after(10 * MAX_SECONDS):
            try:
                module = read()
            except HalfulpError as error:
                outcome, problem = type(error).__name__, rejected(error)
            else:
                outcome, problem = "accepted", accepted(module)
    except OutOfTime:
        return "stopped", f"more than {10 * MAX_SECONDS} s"
    except Exception:
        return "raised", traceback.format_exc(limit=-6)
    seconds = time.process_time() - start
    return outcome, f"{seconds:.2f} s" if problem is None and seconds > MAX_SECONDS else problem


def check(text: str) -> tuple[str, str | None]:
    """Read a text; see `judged`."""

    def without_place(error: HalfulpError) -> str | None:
        error.render(text)
        return None if error.location is not None else f"no place: {error}"

    return judged(lambda: parse_module(text, "fuzz"), _unstable, without_place)


def _unstable(module: Module) -> str | None:
    """Say how printing the module again gives other text; None where it does not."""
    for full in (False, True):
        printed = print_module(module, generic=full, debug_info=full)
        try:
            again = print_module(parse_module(printed, "printed"), generic=full, debug_info=full)
        except HalfulpError as error:
            return f"what was printed is rejected: {error.render(printed)}"
        if again != printed:
            lines = zip(printed.splitlines(), again.splitlines(), strict=False)
            one, other = next(((a, b) for a, b in lines if a != b), ("", ""))
            return f"printed, then read and printed again:\n{one[:300]}\n{other[:300]}"
    return None


def run(count: int, seed: int, first: int = 0, stablehlo: bool = False) -> tuple[list[ReadingFailure], Counter[str]]:
    """Read ``count`` inputs of a seed. Return those that fail, and the count of each outcome."""
    numbers = range(first, first + count)
    if stablehlo:
        # Import the dialects: no single input takes that time.
        for text in stablehlo_texts():
            parse_module(text, "original")
    return read_all(lambda number: mutant(seed, number, stablehlo), check, str, numbers, MAX_MEMORY)


def read_all(
    mutant: Callable[[int], Input],
    check: Callable[[Input], tuple[str, str | None]],
    spell: Callable[[Input], str],
    numbers: range,
    most: int,
) -> tuple[list[ReadingFailure], Counter[str]]:
    """Read the inputs of these numbers. Return the failures as text, and the count of each outcome.

    ``most``: the bytes that the process may take above its earlier peak.
    """
    before = peak_memory()
    failures = []
    outcomes: Counter[str] = Counter()
    for number in numbers:
        data = mutant(number)
        outcome, problem = check(data)
        outcomes[outcome] += 1
        if problem is not None:
            failures.append(ReadingFailure(number, spell(data), problem))
    memory = peak_memory() - before
    if memory > most:
        failures.append(ReadingFailure(numbers.stop, "", f"the process took {memory >> 20} MiB more than before"))
    return failures, outcomes


def peak_memory() -> int:
    """Return the peak memory of the process in bytes."""
    status = Path("/proc/self/status")
    # On Linux, getrusage includes the memory of the parent, from before exec.
    found = re.search(r"^VmHWM:\s+(\d+) kB", status.read_text(), re.MULTILINE) if status.exists() else None
    if found:
        return int(found[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def fuzzing_parser(program: str, description: str) -> argparse.ArgumentParser:
    """Make the parser of a fuzzer's command line."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    parser.add_argument("-n", type=int, default=10_000, help="the number of inputs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first input")
    parser.add_argument("--stablehlo", action="store_true", help="damage programs in StableHLO")
    return parser


def print_outcomes(failures: Sequence[ReadingFailure], outcomes: Counter[str], seed: int, shown: bool) -> int:
    """Print the failures, with their inputs if ``shown``, and the counts. Return 1 if an input failed."""
    for failure in failures:
        text = f"{failure.text[:2000]!r}\n" if shown else ""
        print(f"input {failure.number} of seed {seed}: {failure.why}\n{text}")
    counts = ", ".join(f"{name}: {count}" for name, count in outcomes.most_common())
    print(f"{counts}; failures: {len(failures)}")
    return 1 if failures else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return 1 if an input failed."""
    options = fuzzing_parser("corpora.fuzz_text", "Damage and read text.").parse_args(arguments)
    return print_outcomes(*run(options.n, options.seed, options.first, options.stablehlo), options.seed, shown=True)


if __name__ == "__main__":
    sys.exit(main())
