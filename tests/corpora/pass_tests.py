"""Compare each function of LLVM's tests before and after the commands of the RUN lines.

    PYTHONPATH=tests python -m corpora.pass_tests LLVM --cache DIR -o FILE [--dialects Arith,SCF] [--record]

``LLVM``: a checkout of LLVM, of which ``mlir/test/Dialect`` is read. Each RUN line has one or more commands of
mlir-opt; each command reads the test, or what the command before it has printed. A case is one function with a body
through one command. So a test with 10 functions and the line ``mlir-opt %s | mlir-opt | FileCheck %s`` has 20 cases.
"""

import argparse
import json
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from corpora.answers import Answers
from corpora.fuzz_text import OutOfTime, stopped_after
from corpora.lit_script import Stage, TestCalls, run_lines
from corpora.pass_results import RECORDED, summarised, write_record

from halfulp.conformance.comparing.divergences import cancellations, divergences
from halfulp.conformance.comparing.refinement import Verdict
from halfulp.conformance.oracles.oracle import OracleError
from halfulp.conformance.oracles.tool import PassPipeline, Tool, find_tool
from halfulp.conformance.proving.proof import with_proof
from halfulp.conformance.whole_programs import validation
from halfulp.conformance.whole_programs.counterexamples import counterexample_lines
from halfulp.conformance.whole_programs.known_by_pass import KnownByPass
from halfulp.conformance.whole_programs.printed import called
from halfulp.conformance.whole_programs.validation import Basis, Inputs, common_functions
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module, Operation
from halfulp.interp.loading import parse_module, split_input
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.printer import print_module

DIALECTS = ("Arith", "Quant", "UB", "ControlFlow", "SCF", "Func")

SECONDS = 20.0
"""Most seconds of CPU time of one function, and most seconds of one run of mlir-opt."""

STUCK = 10 * SECONDS
"""Most seconds of one function, in which the machine may have other work."""

INPUTS = Inputs(count=300, vscale=2, max_steps=5_000, unknown=TestCalls)
"""The inputs of each function. Those of at most 16 bits are all."""

PROOF_SECONDS = 2.0
"""The time that the solver has for one function."""

_FUNCTION = re.compile(
    r"^(?!\s*//).*?\bfunc\.func\s+(?:private\s+|public\s+|nested\s+)?@([\w$.\-]+|\"[^\"]*\")", re.MULTILINE
)


@dataclass(frozen=True)
class Case:
    """One function through one command: the outcome and its reason.

    ``outcome``: proven (on every input, or by the solver), equal (on ``inputs`` of them), known (the divergences have
    rows for all differences), differs, undefined (before, on every input), silent (it ran, but has no results),
    unchanged (halfulp does not run it, and the command has not changed it), unsupported, rejected (by mlir-opt 22),
    timeout, crash.
    """

    test: str
    command: str
    function: str
    outcome: str
    inputs: int = 0
    why: str = ""


# --- mlir-opt, with a cache -------------------------------------------------------------------------------------------


class Cached:
    """mlir-opt, whose answers are kept in a folder."""

    def __init__(self, tool: Tool, folder: Path) -> None:
        self.tool = tool
        self._answers = Answers(folder, tool.version)

    def run(self, flags: Sequence[str], text: str) -> tuple[str, str]:
        """Return what it prints, and the error if it fails."""
        printed, failed = self._answers.kept([list(flags), text], partial(self._run, flags, text))
        return printed, failed

    def _run(self, flags: Sequence[str], text: str) -> tuple[str, str]:
        try:
            return self.tool.run(list(flags), text, SECONDS), ""
        except OracleError as error:
            return "", f"{error.kind}: {error}"

    def pipeline(self, stage: Stage) -> PassPipeline:
        """Return the passes of a command as a pipeline."""
        first, *others = stage.pipelines()
        accepted = (text for text in (first, *others) if not self.run([f"--pass-pipeline={text}"], "")[1])
        return PassPipeline(self.tool, next(accepted, first))


# --- the worker -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """One function to compare in two texts."""

    before: str
    after: str
    function: str
    pipeline: PassPipeline


def compare(job: Job) -> tuple[str, int, str]:
    """Return the outcome, the number of inputs and the reason."""
    try:
        before, after = _parsed(job.before), _parsed(job.after)
        ((one, two),) = common_functions(before, after, job.function)
        settings = Settings(vscale=INPUTS.vscale, max_steps=INPUTS.max_steps)
        known = KnownByPass(job.pipeline, divergences(), cancellations(), settings)
        explain = partial(known.explained, before, job.function)
        report = validation.compare(before, after, (one, two), INPUTS, explain=explain)
        report = with_proof(report, before, after, (one, two), INPUTS, seconds=PROOF_SECONDS, explain=explain)
    except HalfulpError as error:
        return "unsupported", 0, f"{type(error).__name__}: {error.message}"
    if report.differing and two is not None:
        return "differs", report.inputs, "\n".join(counterexample_lines(two, report.counterexamples[0]))
    if report.known:
        return "known", report.tested, "; ".join(sorted({name for names in report.known for name in names}))
    if report.compared:
        return _SHOWN[report.basis], report.tested, _apart(report.verdicts)
    if report.problem is None and not report.skipped:
        if report.undefined == report.inputs:
            return "undefined", report.inputs, "undefined before, on every input"
        return "silent", report.inputs, "no results, and nothing is printed or stored"
    if two is not None and unchanged(before, one, after, two):
        return "unchanged", 0, ""
    problem = report.problem
    return "unsupported", 0, report.skipped.most_common(1)[0][0] if problem is None else problem.message


_SHOWN = {Basis.EVERY_INPUT: "proven", Basis.SOLVER: "proven", Basis.SAMPLES: "equal"}


def unchanged(before: Module, one: Operation, after: Module, two: Operation) -> bool:
    """Tell whether two versions of a function, which calls no function with a body, print alike."""
    reached = [target for op, target in (*called(before, one), *called(after, two)) if target is not None]
    return not any(target.regions[0].blocks for target in reached) and _alone(one) == _alone(two)


def _alone(function: Operation) -> str:
    return print_module(Module(function), generic=True)


def _apart(verdicts: Counter[Verdict]) -> str:
    return ", ".join(
        f"{verdicts[kind]} {kind.name.lower()}" for kind in (Verdict.OPEN, Verdict.APART) if verdicts[kind]
    )


@lru_cache(maxsize=8)
def _parsed(text: str) -> Module:
    return parse_module(text, "test.mlir")


def _work(connection: Connection) -> None:
    while True:
        try:
            job = connection.recv()
        except EOFError:  # the parent has ended
            return
        try:
            with stopped_after(SECONDS):
                answer = compare(job)
        except OutOfTime:
            answer = "timeout", 0, f"more than {SECONDS:g} s"
        except Exception:
            answer = "crash", 0, traceback.format_exc(limit=-5)
        connection.send(answer)


class Worker:
    """A process that compares; one that takes too long is ended and another is started."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_work, args=(other,), daemon=True)
        self._process.start()
        other.close()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()

    def ask(self, job: Job) -> tuple[str, int, str]:
        """Return what `compare` returns, or a time-out."""
        self._connection.send(job)
        try:
            if self._connection.poll(STUCK):
                answer: tuple[str, int, str] = self._connection.recv()
                return answer
            failed = "timeout", 0, f"more than {STUCK:g} s"
        except EOFError:
            failed = "crash", 0, "the process ended"
        self.close()
        self._start()
        return failed


# --- tests ------------------------------------------------------------------------------------------------------------


def functions(text: str) -> list[str]:
    """Return the names of the functions in a text that may not be valid."""
    return [name.strip('"') for name in _FUNCTION.findall(text)]


def bodies(text: str) -> list[str]:
    """Return the names of the functions with a body at the top of a module. Raises HalfulpError."""
    module = parse_module(text, "test.mlir")
    return [op.symbol_name or "" for op in module.body if op.name == "func.func" and op.regions[0].blocks]


def cases(test: str, text: str, tool: Cached, worker: Worker) -> Iterator[Case]:
    """Yield the cases of a test."""
    for stages in run_lines(text):
        texts = [part.text for part in split_input(text)] if stages[0].split else [text]
        for part in texts:
            yield from _through(test, stages, part, tool, worker)


def _through(test: str, stages: Sequence[Stage], text: str, tool: Cached, worker: Worker) -> Iterator[Case]:
    for stage in stages:
        printed, failed = tool.run(stage.flags, text)
        while failed:
            without = _without(text, failed)
            if without is None:
                kind = "timeout" if failed.startswith("hang") else "rejected"
                yield from (Case(test, stage.text, name, kind, 0, failed) for name in functions(text))
                return
            name, text = without
            yield Case(test, stage.text, name, "rejected", 0, failed)
            printed, failed = tool.run(stage.flags, text)
        before, after = _readable(text, tool), _readable(printed, tool)
        try:
            named = bodies(before)
        except HalfulpError as error:
            yield from (
                Case(test, stage.text, name, "unsupported", 0, f"before: {error.message}") for name in functions(text)
            )
        else:
            passes = tool.pipeline(stage)
            for name in named:
                yield Case(test, stage.text, name, *worker.ask(Job(before, after, name, passes)))
        text = printed


_PLACE = re.compile(r"<stdin>:(\d+):\d+: error")


def _without(text: str, failed: str) -> tuple[str, str] | None:
    """Return the name of the function in which mlir-opt found an error, and the text without this function.

    None if that is not a function at the top of a module, or if it is the only one.
    """
    place = _PLACE.search(failed)
    lines = text.splitlines(keepends=True)
    starts = [number for number, line in enumerate(lines) if line.startswith("func.func")]
    before = [start for start in starts if place is not None and start < int(place[1])]
    if len(starts) < 2 or not before:
        return None
    end = next((number for number in range(before[-1], len(lines)) if lines[number].startswith("}")), None)
    if end is None or place is None or end + 1 < int(place[1]):
        return None
    (name, *_), rest = functions("".join(lines[before[-1] : end + 1])), lines[: before[-1]] + lines[end + 1 :]
    return name, "".join(rest)


def _readable(text: str, tool: Cached) -> str:
    """Return the text, or if halfulp does not read it, the generic form that mlir-opt prints of it."""
    try:
        parse_module(text, "test.mlir")
    except HalfulpError:
        printed, failed = tool.run(
            ["--allow-unregistered-dialect", "--mlir-print-op-generic", "--mlir-print-local-scope"], text
        )
        return text if failed else printed
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m corpora.pass_tests", description=__doc__)
    parser.add_argument("llvm", type=Path, help="a checkout of LLVM")
    parser.add_argument("--cache", type=Path, required=True, help="the folder for what mlir-opt prints")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the file for the cases, JSON lines")
    parser.add_argument("--dialects", default=",".join(DIALECTS))
    parser.add_argument("--only", default="", help="only tests whose path contains this text")
    parser.add_argument("--record", action="store_true", help="write the record that the documentation shows")
    options = parser.parse_args(arguments)
    tool = Cached(find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22."), options.cache)
    worker = Worker()
    counts: Counter[str] = Counter()
    root = options.llvm / "mlir" / "test" / "Dialect"
    with options.output.open("w") as out:
        for dialect in options.dialects.split(","):
            for path in sorted((root / dialect).rglob("*.mlir")):
                test = str(path.relative_to(root))
                if options.only not in test:
                    continue
                start = time.monotonic()
                here: Counter[str] = Counter()
                for case in cases(test, path.read_text(), tool, worker):
                    out.write(json.dumps(asdict(case)) + "\n")
                    out.flush()
                    here[case.outcome] += 1
                counts += here
                print(f"{test}: {dict(here)} in {time.monotonic() - start:.1f} s", flush=True)
    print(f"{counts.total()}: {dict(counts)}")
    if options.record:
        found = [json.loads(line) for line in options.output.read_text().splitlines()]
        write_record(RECORDED, summarised(found), tool.tool.version)
    return 0


if __name__ == "__main__":
    sys.exit(main())
