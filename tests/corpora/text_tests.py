"""Compare how halfulp and mlir-opt read and print LLVM's tests of dialects.

    PYTHONPATH=tests python -m corpora.text_tests LLVM --cache DIR -o FILE [--dialects Affine,SCF] [--record]

``LLVM``: a checkout of LLVM, of which ``mlir/test/Dialect`` is read. A case is one part of a test, between two lines
``// -----``. mlir-opt 22 reads, verifies and prints it, in the custom and in the generic form. No pass runs.
"""

import argparse
import json
import re
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from corpora.answers import Answers
from corpora.fuzz_text import OutOfTime, stopped_after
from corpora.text_results import RECORDED, TextResults, table, write_record

from halfulp.conformance.oracles.tool import Tool, find_tool
from halfulp.interp.ir.errors import HalfulpError, UnknownOp
from halfulp.interp.loading import parse_module
from halfulp.interp.text.printer import print_module
from halfulp.interp.text.skipping import InputPart, split_input

DIALECTS = (
    "Affine", "Arith", "Bufferization", "Complex", "ControlFlow", "Func", "Index", "Linalg", "Math", "MemRef", "SCF",
    "Shape", "Tensor", "Vector",
)  # fmt: skip

SECONDS = 20.0
"""Most seconds of CPU time of one part, and ten times as many of one run of mlir-opt."""

FORMS = {"custom": (), "generic": ("--mlir-print-op-generic",)}
"""The forms in which modules are printed, with the flags of mlir-opt."""

_COMMON = ("--allow-unregistered-dialect", "--split-input-file", "--mlir-disable-threading")
_ERROR = re.compile(r"^<stdin>:(\d+):\d+: error: (.*)$", re.MULTILINE)

_EXPECTED = re.compile(r"expected-(?=error|warning|remark|note)")
"""Comments that mlir-opt reads: it does not report what they expect."""
_TEST_OP = re.compile(r"^(?:mlir-opt: )?(?:%\S+ = )?['\"]?test\.", re.MULTILINE)
"""Ops that mlir-opt has for its own tests: for halfulp they are ops of an unknown dialect."""


@dataclass(frozen=True)
class Case:
    """One part of a test, that begins at ``line``: its outcome, a key of `OUTCOMES`, and the reason."""

    test: str
    line: int
    outcome: str
    why: str = ""


@dataclass(frozen=True)
class Read:
    """What mlir-opt does with a part: its first error, or what it prints in each form."""

    error: str
    printed: dict[str, str]


def read_by_mlir_opt(text: str, tool: Tool, answers: Answers) -> list[Read]:
    """Return what mlir-opt does with each part of a test."""
    parts = list(split_input(text))
    printed: dict[str, list[str]] = {}
    errors: list[tuple[int, str]] = []
    for form, flags in FORMS.items():
        given = [*_COMMON, *flags]

        def ask(given: Sequence[str] = given) -> tuple[str, str]:
            done = tool.finished(given, text, 10 * SECONDS)
            return done.printed, done.said

        out, said = answers.kept([given, text], ask)
        printed[form] = out.split("// -----\n")
        errors = [(int(line), message) for line, message in _ERROR.findall(said)]
    starts = [part.start[0] for part in parts]
    found = []
    for index, start in enumerate(starts):
        end = starts[index + 1] if index + 1 < len(starts) else sys.maxsize
        error = next((message for line, message in errors if start <= line < end), "")
        forms = {form: texts[index] if index < len(texts) else "" for form, texts in printed.items()}
        found.append(Read(error or ("" if forms["custom"].strip() else "no output"), forms))
    return found


def compared(part: InputPart, there: Read) -> tuple[str, str]:
    """Return the outcome of a part, and the reason."""
    try:
        with stopped_after(SECONDS):
            module = parse_module(part.text, "test.mlir", start=part.start)
            printed = {form: print_module(module, generic=form == "generic") for form in FORMS}
    except UnknownOp as error:
        return "unknown op", error.message
    except HalfulpError as error:
        if not there.error:
            return "rejects", str(error)
        same = error.message == there.error
        return ("rejected" if same else "other message"), f"{error}\nmlir-opt: {there.error}"
    except OutOfTime:
        return "crash", f"more than {SECONDS:g} s"
    except Exception:
        return "crash", traceback.format_exc(limit=-5)
    outcome, why = _printed_alike(printed, there)
    return ("unknown op" if _TEST_OP.search(why) else outcome), why


def _printed_alike(printed: Mapping[str, str], there: Read) -> tuple[str, str]:
    if there.error:
        return "accepts", there.error
    for form, text in printed.items():
        if text.strip() != there.printed[form].strip():
            return f"prints {form}", _first_difference(text, there.printed[form])
    return "same", ""


def _first_difference(here: str, there: str) -> str:
    lines = [text.strip().splitlines() for text in (here, there)]
    for one, two in zip(*lines, strict=False):
        if one != two:
            return f"halfulp:  {one.strip()}\nmlir-opt: {two.strip()}"
    return f"halfulp prints {len(lines[0])} lines, mlir-opt {len(lines[1])}"


def cases(test: str, text: str, tool: Tool, answers: Answers) -> Iterator[Case]:
    """Yield the cases of a test."""
    text = _EXPECTED.sub("expected_", text)
    if "split-input-file" not in text:
        text = text.replace("// -----", "// ----")
    for part, there in zip(split_input(text), read_by_mlir_opt(text, tool, answers), strict=True):
        yield Case(test, part.start[0], *compared(part, there))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m corpora.text_tests", description=__doc__)
    parser.add_argument("llvm", type=Path, help="a checkout of LLVM")
    parser.add_argument("--cache", type=Path, required=True, help="the folder for what mlir-opt prints")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file for the cases, JSON lines")
    parser.add_argument("--dialects", default=",".join(DIALECTS))
    parser.add_argument("--only", default="", help="only tests whose path contains this text")
    parser.add_argument("--record", action="store_true", help="write the record that the documentation shows")
    options = parser.parse_args(arguments)
    tool = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22.")
    answers = Answers(options.cache, tool.version)
    root = options.llvm / "mlir" / "test" / "Dialect"
    results = []
    with options.output.open("w") as out:
        for dialect in options.dialects.split(","):
            counts: Counter[str] = Counter()
            for path in sorted((root / dialect).rglob("*.mlir")):
                test = str(path.relative_to(root))
                if options.only in test:
                    for case in cases(test, path.read_text(), tool, answers):
                        out.write(json.dumps(asdict(case)) + "\n")
                        counts[case.outcome] += 1
            results.append(TextResults(dialect, counts))
    print("\n".join(table(results)))
    if options.record:
        write_record(RECORDED, results, tool.version)
    return 0


if __name__ == "__main__":
    sys.exit(main())
