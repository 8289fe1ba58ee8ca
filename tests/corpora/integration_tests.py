"""Run LLVM's integration tests: by the real tools, and the same programs by halfulp.

    PYTHONPATH=tests python -m corpora.integration_tests LLVM --cache DIR -o FILE [--only TEXT] [--every-stage]

``LLVM``: a checkout of LLVM, of which ``mlir/test/Integration/Dialect`` is read. The real tools run each RUN line
whole. halfulp runs the program that the line begins with; if it cannot, a later stage: what a pass of the line prints
before the first op of the dialect llvm. FileCheck compares what is printed with the CHECK lines of the test. The ops of
older tests that MLIR 22 does not have are replaced (`corpora.removed_ops`).

Needs mlir-opt-22, mlir-runner-22, and FileCheck of any version: on PATH, or named by HALFULP_FILECHECK.
"""

import argparse
import json
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from corpora.fuzz_text import OutOfTime, stopped_after
from corpora.lit_script import Command, LitTools, find_lit_tools, in_mlir_22, pipelines, script

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import AssertionFailed, HalfulpError, UndefinedBehavior
from halfulp.interp.loading import parse_module
from halfulp.interp.run.program import program_for
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.spelling import printed_elements
from halfulp.interp.values.value import Value

SECONDS = 60.0
"""Most seconds of CPU time of one program."""

LEFT_OUT = ("SparseTensor", "GPU")
"""Folders whose tests need another machine or another dialect."""

OTHERWISE = ("test-arith-emulate-wide-int",)
"""Passes after which a program may print other text, so that CHECK lines say nothing about the source."""

IGNORED = ("rm",)
"""Commands that prepare the folder of a test."""


@dataclass(frozen=True)
class Result:
    """The outcome of one RUN line.

    ``tools``: whether the real tools pass it. ``outcome``: a key of `OUTCOMES`. ``stage``: the stage that decided:
    "source", or the pass that printed it. ``why``: the reason.
    """

    test: str
    line: int
    tools: bool
    outcome: str
    stage: str = ""
    why: str = ""


OUTCOMES = {
    "wrong": "it prints something else than the CHECK lines want",
    "crash": "an error that is not one of halfulp's",
    "timeout": f"more than {SECONDS:g} s",
    "unsupported": "halfulp does not run it",
    "undefined": "the program has undefined behaviour",
    "as tools": "it prints what the real tools print, which the CHECK lines do not want",
    "pass": "it prints what the CHECK lines want",
    "none": "the line runs no program",
}
"""The outcomes of a line, from the one that decides about a test first."""


class NotHere(Exception):
    """A command that halfulp does not run."""


@dataclass(frozen=True)
class Program:
    """The output of mlir-opt: what it reads, and its flags, one tuple for each process."""

    text: str
    commands: tuple[tuple[str, ...], ...] = ()

    @property
    def printed_otherwise(self) -> bool:
        """Whether a pass may print values in another way: an integer as the vector of its halves."""
        return any(flag.lstrip("-").startswith(OTHERWISE) for flags in self.commands for flag in flags)


@dataclass(frozen=True)
class Execution:
    """A program that a RUN line executes: its entry, the type of the printed result, and how its output is checked."""

    program: Program
    entry: str
    result: str
    checks: tuple[tuple[str, ...], ...]


# --- RUN lines --------------------------------------------------------------------------------------------------------


def executions(line: str, test: Path) -> Iterator[Execution]:
    """Yield the executions of a RUN line. Raises NotHere for a command that is not known."""
    files: dict[str, Program] = {}
    for pipeline in pipelines(line):
        yield from _executions(pipeline, files, test)


def _executions(pipeline: Sequence[Command], files: dict[str, Program], test: Path) -> Iterator[Execution]:
    program: Program | None = None
    run: Execution | None = None
    for command in pipeline:
        name, *words = command.words
        named, flags = _options(words)
        if name == "mlir-opt":
            source = program or files.get(named["file"]) or Program(test.read_text())
            program = Program(source.text, (*source.commands, flags))
            if named["-o"]:
                files[named["-o"]] = program
        elif name == "mlir-runner":
            given = files.get(named["file"]) or program or Program(test.read_text())
            run = Execution(given, _option(words, "e", "main"), _option(words, "entry-point-result", "f32"), ())
        elif name == "FileCheck":
            if run is not None:
                run = Execution(run.program, run.entry, run.result, (*run.checks, tuple(words)))
        elif name not in IGNORED:
            raise NotHere(f"the command {name}")
    if run is not None:
        yield run


def _options(words: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the file that a command reads and the one that it writes, and its other words."""
    named = {"file": "", "-o": ""}
    flags = []
    following = iter(words)
    for word in following:
        if word == "-o":
            named["-o"] = next(following, "")
        elif word.startswith("-"):
            flags.append(word)
        else:
            named["file"] = word
    return named, tuple(flags)


def _option(words: Sequence[str], name: str, default: str) -> str:
    """Return the value of an option: ``-name=value`` or ``-name value``."""
    for word, after in zip(words, [*words[1:], ""], strict=True):
        given, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-") and given == name:
            return value if equals else after
    return default


# --- one program here -------------------------------------------------------------------------------------------------


def output(text: str, entry: str, result: str) -> str:
    """Return what a program prints, its result included, as mlir-runner does. Raises HalfulpError."""
    pieces: list[str] = []
    module = parse_module(text, "test.mlir")
    function = module.lookup(entry)
    if function is None or function.name != "func.func":
        raise NotHere(f"the module has no function '@{entry}'")
    settings = Settings(write=pieces.append, max_steps=50_000_000)
    try:
        results = program_for(module, settings).run(function, ())
    except AssertionFailed as error:
        return "".join((*pieces, error.message.removeprefix(f"{error.op}: "), "\n"))
    return "".join((*pieces, *(f"{_spelled(value)}\n" for value in results if result != "void")))


def _spelled(value: Value) -> str:
    """Return a result as mlir-runner prints it: a float with an exponent."""
    if isinstance(value.type, ty.FloatType):
        return f"{float(value.numpy()):e}"
    return next(iter(printed_elements(value)))


@dataclass(frozen=True)
class Attempt:
    """One stage of an execution that ran here, or did not: its outcome, the reason, and what it printed."""

    stage: str
    outcome: str
    why: str = ""
    printed: str = ""


def attempted(stage: str, text: str, run: Execution, tools: LitTools) -> Attempt:
    """Run a stage and compare what it prints."""
    try:
        with stopped_after(SECONDS):
            printed = output(text, run.entry, run.result)
    except UndefinedBehavior as error:
        return Attempt(stage, "undefined", str(error))
    except (NotHere, HalfulpError) as error:
        return Attempt(stage, "unsupported", f"{type(error).__name__}: {error}")
    except OutOfTime:
        return Attempt(stage, "timeout")
    except Exception:
        return Attempt(stage, "crash", traceback.format_exc(limit=-5))
    said = next(filter(None, (tools.disagreement(flags, printed) for flags in run.checks)), "")
    return (
        Attempt(stage, "wrong", f"{said}\n--- printed:\n{printed}"[:4000], printed) if said else Attempt(stage, "pass")
    )


# --- tests ------------------------------------------------------------------------------------------------------------


def results(test: Path, name: str, tools: LitTools, every: bool) -> Iterator[Result]:
    """Yield the results of the RUN lines of a test. ``every``: run each stage, not only the first that runs here."""
    for number, line in enumerate(script(test.read_text(), tools.substitutions(test))):
        passed = tools.passes(line, test)
        try:
            runs = list(executions(line, test))
        except NotHere as error:
            yield Result(name, number, passed, "unsupported", "", str(error))
            continue
        if not runs:
            yield Result(name, number, passed, "none")
        for run in runs:
            decided = _decided(run, tools, every)
            outcome = decided.outcome
            if outcome == "wrong" and not passed and _printed_alike(decided.printed, tools.printed(line)):
                outcome = "as tools"
            yield Result(name, number, passed, outcome, decided.stage, decided.why)


_ADDRESS = re.compile(r"base@ = 0x[0-9a-f]+")


def _printed_alike(here: str, there: str) -> bool:
    """Tell whether two programs print the same, except for addresses."""
    return _ADDRESS.sub("", here).rstrip() == _ADDRESS.sub("", there).rstrip()


def _decided(run: Execution, tools: LitTools, every: bool) -> Attempt:
    """Return the attempt that decides: a wrong one, or else the first one that passes, or else the first."""
    found = []
    for stage, text in _stages(run.program, tools, every):
        attempt = attempted(stage, text, run, tools)
        if stage == "source" and attempt.outcome == "wrong" and run.program.printed_otherwise:
            attempt = Attempt(stage, "unsupported", f"CHECK lines for what is printed after {' or '.join(OTHERWISE)}")
        found.append(attempt)
        if found[-1].outcome in ("wrong", "undefined") or (found[-1].outcome == "pass" and not every):
            return found[-1]
    order = ("crash", "pass", "timeout", "unsupported")
    return min(found, key=lambda one: order.index(one.outcome))


def _stages(program: Program, tools: LitTools, every: bool) -> Iterator[tuple[str, str]]:
    """Yield the source, and the stages before the dialect llvm, the last one first; only that one unless ``every``."""
    yield "source", program.text
    stages = tools.stages(program.text, program.commands)
    yield from reversed(stages if every else stages[-1:])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m corpora.integration_tests", description=__doc__)
    parser.add_argument("llvm", type=Path, help="a checkout of LLVM")
    parser.add_argument("--cache", type=Path, required=True, help="the folder for what the real tools answer")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file for the results, JSON lines")
    parser.add_argument("--only", default="", help="only tests whose path contains this text")
    parser.add_argument("--every-stage", action="store_true", help="run each stage that halfulp reads")
    options = parser.parse_args(arguments)
    tools = find_lit_tools(options.cache)
    root = options.llvm / "mlir" / "test" / "Integration" / "Dialect"
    found: list[Result] = []
    with options.output.open("w") as out:
        for path in sorted(root.rglob("*.mlir")):
            name = str(path.relative_to(root))
            if options.only not in name or any(folder in path.parts for folder in LEFT_OUT):
                continue
            start = time.monotonic()
            here = list(results(_current(path, options.cache), name, tools, options.every_stage))
            found += here
            out.writelines(json.dumps(asdict(result)) + "\n" for result in here)
            out.flush()
            print(f"{name}: {outcome_of(here)} in {time.monotonic() - start:.1f} s", flush=True)
    print("\n".join(table(counted(found))))
    return 0


def _current(test: Path, folder: Path) -> Path:
    """Return a test, or if it has ops that MLIR 22 does not have, a copy without them in a folder."""
    text = test.read_text()
    current = in_mlir_22(text)
    if current == text:
        return test
    copy = folder / test.name
    copy.write_text(current)
    return copy


def outcome_of(results: Sequence[Result]) -> str:
    """Return the outcome of a test: that of its worst line."""
    order = list(OUTCOMES)
    return min((result.outcome for result in results), key=order.index, default="none")


def counted(results: Sequence[Result]) -> dict[str, dict[str, int]]:
    """Count the tests of each folder by their outcomes: those that the real tools pass, and "tools fail" for others."""
    tests: dict[str, list[Result]] = {}
    for result in results:
        tests.setdefault(result.test, []).append(result)
    counts: dict[str, Counter[str]] = {}
    for name, lines in tests.items():
        passed = all(line.tools for line in lines)
        counts.setdefault(name.partition("/")[0], Counter())[outcome_of(lines) if passed else "tools fail"] += 1
    return {folder: dict(found) for folder, found in counts.items()}


def table(counts: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return a table with a row for each folder, and a last row with the sums."""
    total: Counter[str] = sum((Counter(found) for found in counts.values()), Counter())
    names = [
        name
        for name in ("pass", "undefined", "unsupported", "none", "as tools", "timeout", "crash", "wrong")
        if total[name] or name == "wrong"
    ]
    lines = [f"| folder | tests | tools fail | {' | '.join(names)} |", "|---" + "|---:" * (len(names) + 2) + "|"]
    for folder, found in [*counts.items(), ("all", total)]:
        numbers = [sum(found.values()), *(found.get(name, 0) for name in ("tools fail", *names))]
        lines.append(f"| {folder} | {' | '.join(map(str, numbers))} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
