"""Compare random programs with a tool that runs them whole: every element of every result counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from halfulp.conformance.comparing.refinement import Verdict, judge
from halfulp.conformance.oracles.oracle import ClosedProgram, OracleError, Reply, Runner, Unanswered
from halfulp.conformance.whole_programs.counterexamples import Counterexample
from halfulp.conformance.whole_programs.generator.grower import NAME, RandomFunction
from halfulp.conformance.whole_programs.generator.programs import ProgramKind
from halfulp.conformance.whole_programs.outcomes import ask, run_here
from halfulp.conformance.whole_programs.pass_fuzz import inputs_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.values.value import Value

BATCH = 256
"""Number of programs that a tool gets at a time."""

RUNS = 2
"""Number of inputs of each program."""


@dataclass(frozen=True)
class RunnerFinding:
    """A program of which the tool gives another result, and the arguments that show it."""

    program: RandomFunction
    example: Counterexample


@dataclass
class RunnerReport:
    """The result of a run. ``programs`` were made, with ``steps`` ops; ``runs``: those that were compared, program and
    input; ``elements``: by their verdict. ``undefined``: runs of undefined programs. ``unanswered``, ``failed``,
    ``skipped``: the reasons of the tool, its failures, and our own reasons.
    """

    tool: str
    seed: int
    programs: int = 0
    steps: int = 0
    runs: int = 0
    undefined: int = 0
    elements: Counter[Verdict] = field(default_factory=Counter)
    unanswered: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    findings: list[RunnerFinding] = field(default_factory=list)


def fuzz_runner(
    runner: Runner,
    kind: ProgramKind,
    count: int,
    seed: int = 1,
    first: int = 0,
    most_failures: int = 20,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> RunnerReport:
    """Compare ``count`` programs of a kind with a tool, each on `RUNS` inputs, until there are ``most_failures``."""
    report = RunnerReport(f"{runner.name} {runner.version}", seed)
    programs = kind.functions(seed, count, first)
    while (batch := list(islice(programs, BATCH))) and len(report.findings) < most_failures:
        asked = []
        for program in batch:
            arguments = inputs_of(program.module, seed, kind).of(program.main)
            rows = [arguments.row(k) for k in _chosen(arguments.count, program.index)]
            asked += [(program, ClosedProgram(program.module, NAME, tuple(map(with_kept_nans, row)))) for row in rows]
            report.steps += sum(1 for _ in program.module.walk()) - 1
        report.programs += len(batch)
        for (program, closed), reply in zip(asked, ask(runner, [closed for _, closed in asked]), strict=True):
            _count(report, program, closed, reply)
        progress(report.programs, count)
    return report


def _chosen(count: int, index: int) -> Sequence[int]:
    """Choose inputs: other ones for each program."""
    return sorted({(index + k * max(1, count // RUNS)) % count for k in range(RUNS)}) if count else ()


def _count(report: RunnerReport, program: RandomFunction, closed: ClosedProgram, reply: Reply) -> None:
    if isinstance(reply, Unanswered):
        report.unanswered[reply.why[:100]] += 1
        return
    if isinstance(reply, OracleError):
        report.failed[str(reply)[:100]] += 1
        return
    try:
        expected = run_here(closed)
    except HalfulpError as error:
        report.skipped[error.message[:100]] += 1
        return
    if not isinstance(expected, tuple):
        report.undefined += 1
        return
    report.runs += 1
    for one in judge(expected, reply):
        one.count(report.elements)
        if (mismatch := one.first) is not None:
            names = tuple(f"result {k}" for k in range(len(expected)))
            type_ = one.value.element_type
            found = Counterexample(closed.arguments, mismatch, type_, outputs=names, expected=expected)
            report.findings.append(RunnerFinding(program, found))
            return


def with_kept_nans(value: Value) -> Value:
    """Return an argument with NaNs of bf16 that keep their bits where LLVM 22 moves vectors of them.

    On x86 without AVX512-BF16 it converts the elements to f32 and back, and of a NaN only the sign is left. So the NaNs
    of arguments have no other bits.
    """
    element = value.element_type
    if not (isinstance(element, ty.FloatType) and element.format.name == "bf16"):
        return value
    nan = (value.bits & 0x7FFF) > 0x7F80
    return Value(value.type, np.where(nan, value.bits & 0x8000 | 0x7FC0, value.bits).astype(np.uint16))
