"""Public reports of wrong results after passes of MLIR: which side is right.

    PYTHONPATH=tests python -m corpora.reports [NUMBER ...] [--record]

Each program in ``reports/`` is the one of a report in the tracker of llvm/llvm-project, written anew and made small. It
begins with two lines: what the report says, and the passes that it names. The program runs before and after the passes,
by halfulp and by mlir-runner. ``--record`` writes the table that the documentation shows.
"""

import argparse
import json
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from corpora.integration_tests import output

from halfulp.conformance.oracles.jit import library
from halfulp.conformance.oracles.oracle import OracleError
from halfulp.conformance.oracles.tool import Tool, find_tool
from halfulp.interp.ir.errors import HalfulpError, UndefinedBehavior

FOLDER = Path(__file__).parent / "reports"
RECORDED = Path(__file__).parent / "recorded" / "reports_22.json"

SECONDS = 20.0
"""Most seconds of one run of a tool."""

LOWERING = (
    "--one-shot-bufferize=bufferize-function-boundaries", "--convert-linalg-to-loops", "--lower-affine",
    "--convert-vector-to-scf", "--convert-scf-to-cf", "--convert-vector-to-llvm", "--convert-ub-to-llvm",
    "--convert-math-to-libm", "--expand-strided-metadata", "--lower-affine", "--convert-index-to-llvm",
    "--finalize-memref-to-llvm", "--convert-arith-to-llvm", "--convert-func-to-llvm", "--convert-cf-to-llvm",
    "--reconcile-unrealized-casts",
)  # fmt: skip
"""The passes after which mlir-runner runs a program."""

LIBRARIES = ("libmlir_runner_utils.so", "libmlir_c_runner_utils.so")

NOT_RUN = "not run here"

_HEADER = re.compile(r"// report: (.*)\n// passes:(.*)\n")


@dataclass(frozen=True)
class Report:
    """A report: its number, what it says, the passes that it names, and a program that shows it."""

    number: int
    says: str
    passes: tuple[str, ...]
    program: str


@dataclass(frozen=True)
class Outcome:
    """What a program prints before and after the passes, here and by mlir-runner ("" if that cannot run it).

    ``undefined``: the undefined behaviour that halfulp finds before the passes; "" if there is none.
    """

    number: int
    before: str
    after: str
    runner_before: str
    runner_after: str
    undefined: str = ""

    @property
    def verdict(self) -> str:
        """Which side is right."""
        if self.before.startswith(NOT_RUN):
            return self.before
        if self.undefined:
            return "the program is undefined: any output is right"
        if self.after != self.before:
            return "the passes are wrong"
        wrong = {printed for printed in (self.runner_before, self.runner_after) if printed} - {self.before}
        return f"the lowering for mlir-runner is wrong: {wrong.pop()}" if wrong else "no difference in 22.1.8"


def reports() -> list[Report]:
    """Return all reports, by number."""
    found = []
    for path in sorted(FOLDER.glob("*.mlir"), key=lambda path: int(path.stem)):
        text = path.read_text(encoding="utf-8")
        header = _HEADER.match(text)
        if header is None:
            raise ValueError(f"{path}: the first two lines are not '// report: …' and '// passes: …'")
        passes = tuple(re.split(r" (?=--)", header[2].strip())) if header[2].strip() else ()
        found.append(Report(int(path.stem), header[1], passes, text[header.end() :]))
    return found


def outcome(report: Report, opt: Tool, runner: Tool) -> Outcome:
    """Run the program of a report."""
    before, undefined = _here(report.program)
    try:
        passed = opt.run(report.passes, report.program, SECONDS) if report.passes else report.program
        after = _here(passed)[0]
        runner_after = _by_runner(passed, opt, runner)
    except OracleError as error:
        after, runner_after = f"{error.kind} of mlir-opt", ""
    return Outcome(report.number, before, after, _by_runner(report.program, opt, runner), runner_after, undefined)


def _here(program: str) -> tuple[str, str]:
    """Return what a program prints here, or its error; and its undefined behaviour."""
    try:
        return _words(output(program, "main", "void")), ""
    except UndefinedBehavior as error:
        return "undefined", error.message
    except HalfulpError as error:
        return f"{NOT_RUN}: {error.message}", ""


def _by_runner(program: str, opt: Tool, runner: Tool) -> str:
    libraries = ",".join(library(runner, name) for name in LIBRARIES)
    try:
        lowered = opt.run(LOWERING, program, SECONDS)
        flags = ["-e", "main", "--entry-point-result=void", f"--shared-libs={libraries}"]
        return _words(runner.run(flags, lowered, SECONDS))
    except OracleError:
        return ""


def _words(printed: str) -> str:
    """Return the words of an output. The sign of a NaN is left out: the language leaves it open."""
    return " ".join(printed.split()).replace("-nan", "nan")


def write_record(outcomes: Sequence[Outcome]) -> None:
    """Write the outcomes."""
    rows = ",\n".join(json.dumps(asdict(one)) for one in outcomes)
    RECORDED.write_text(f"[\n{rows}\n]\n", encoding="utf-8")


def recorded() -> list[Outcome]:
    """Return the recorded outcomes."""
    return [Outcome(**row) for row in json.loads(RECORDED.read_text(encoding="utf-8"))]


def table(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the table of the documentation."""
    says = {report.number: report for report in reports()}
    lines = [
        "| report | what it says | passes | before | after | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for one in outcomes:
        report = says[one.number]
        passes = " ".join(f"`{shlex.split(text)[0].lstrip('-')}`" for text in report.passes) or "none"
        link = f"[#{one.number}](https://github.com/llvm/llvm-project/issues/{one.number})"
        lines.append(
            f"| {link} | {report.says} | {passes} | {_shown(one.before)} | {_shown(one.after)} | {one.verdict} |"
        )
    return lines


def _shown(printed: str) -> str:
    return f"`{printed}`" if len(printed) <= 40 else f"`{printed[:37]}...`"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m corpora.reports", description=__doc__)
    parser.add_argument("numbers", nargs="*", type=int, help="the reports to run (default: all, as --record needs)")
    parser.add_argument("--record", action="store_true", help="write the table that the documentation shows")
    options = parser.parse_args(arguments)
    opt = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22.")
    runner = find_tool("mlir-runner-22", "HALFULP_MLIR_RUNNER", "22.")
    found = []
    for report in reports():
        if not options.numbers or report.number in options.numbers:
            one = outcome(report, opt, runner)
            found.append(one)
            print(f"#{one.number}: {one.verdict}")
            for name, text in asdict(one).items():
                if name != "number" and text:
                    print(f"    {name}: {text}")
    if options.record and not options.numbers:
        write_record(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
