"""Test a pass with random programs: what it makes of each must do what the program allows."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice

from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.pass_pipeline import PassFailure, PassPipeline
from halfulp.conformance.whole_programs import validation
from halfulp.conformance.whole_programs.counterexamples import Counterexample
from halfulp.conformance.whole_programs.generator.grower import NAME, RandomFunction
from halfulp.conformance.whole_programs.generator.programs import MIXED, ProgramKind
from halfulp.conformance.whole_programs.known_by_pass import KnownByPass
from halfulp.conformance.whole_programs.pass_differences import (
    PassDifference,
    PassFault,
    arguments_of,
    crash_kind,
    explaining,
    kind_of,
)
from halfulp.conformance.whole_programs.validation import Inputs, ValidationReport
from halfulp.interp.gc_pause import SeldomCollector
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Module
from halfulp.interp.values.value import Value

BATCH = 64
"""Number of programs that mlir-opt gets at a time."""

MAX_FINDINGS = 20
"""Number of findings, each of another kind, after which the run ends."""


@dataclass(frozen=True)
class PassFinding:
    """A program that a pass changes to one that does something else: the texts of both, and an input.

    ``reduced``: the smallest program with this difference, if one was looked for.
    """

    program: RandomFunction
    before: str
    after: str
    example: Counterexample
    reduced: PassFault | None = None

    @property
    def arguments(self) -> tuple[Value, ...]:
        """Return the arguments that show it."""
        return self.example.arguments


@dataclass(frozen=True)
class BrokenPass:
    """A program on which mlir-opt crashes or does not end, and arguments for it."""

    program: RandomFunction
    before: str
    failure: PassFailure
    arguments: tuple[Value, ...]
    reduced: PassFault | None = None


@dataclass
class OpCounts:
    """The programs that have an op: all of them, those that the pass changed, those in which it changed the number of
    these ops, and those whose comparison ended so.
    """

    programs: int = 0
    changed: int = 0
    ops_changed: int = 0
    equal: int = 0
    undefined: int = 0
    known: int = 0
    differing: int = 0


@dataclass
class PassFuzzReport:
    """The result of a run.

    ``unchanged``: programs that the pass leaves as they are; ``equal``: those with results that are all allowed;
    ``undefined``: those that were undefined on every input; ``refused``: messages of mlir-opt; ``skipped``: reasons why
    a program was not compared; ``known``: programs by the known divergences that explain all of their differences,
    ``known_programs`` in all. ``differing``: programs with other differences; of each kind, one is in ``findings``,
    and ``again`` counts the others. ``inputs``, ``undefined_inputs``: of all compared programs. ``seconds``: by the
    kind of work. ``stopped``: why the run ended early.
    """

    pipeline: str
    version: str
    seed: int
    first: int
    programs: int = 0
    steps: int = 0
    unchanged: int = 0
    equal: int = 0
    undefined: int = 0
    exhaustive: int = 0
    inputs: int = 0
    undefined_inputs: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    known_programs: int = 0
    differing: int = 0
    crashed: int = 0
    ops: dict[str, OpCounts] = field(default_factory=dict)
    again: Counter[str | None] = field(default_factory=Counter)
    findings: list[PassFinding] = field(default_factory=list)
    broken: list[BrokenPass] = field(default_factory=list)
    seconds: Counter[str] = field(default_factory=Counter)
    stopped: str = ""

    @property
    def changed(self) -> int:
        """Return the number of programs that the pass changed."""
        return self.programs - self.unchanged - self.refused.total() - self.crashed

    @property
    def compared(self) -> int:
        """Return the number of programs whose two versions ran on an input that is defined."""
        return self.equal + self.differing + self.known_programs


Finding = PassFinding | BrokenPass
Reduce = Callable[[Finding], PassFault | None]
Emit = Callable[[RandomFunction, str, str | None], object]


def fuzz_pass(
    pipeline: PassPipeline,
    count: int,
    seed: int = 1,
    first: int = 0,
    *,
    kind: ProgramKind = MIXED,
    seconds: float | None = None,
    most_failures: int = MAX_FINDINGS,
    emit: Emit = lambda program, before, after: None,
    known: KnownByPass | None = None,
    reduce: Reduce | None = None,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> PassFuzzReport:
    """Run a pass on ``count`` programs of a seed, and compare each program that it changes.

    ``kind``: the kind of programs. ``seconds``: the time after which no more programs are made. ``most_failures``: the
    number of findings, and of programs that break the pass, after which the run ends. ``emit``: is given each program,
    its text, and the text after the pass if there is one. ``known``: explains differences: all of them, or the first
    ones each alone, or that of the reduced program. Then there is no finding. ``reduce``: reduces findings; of several
    whose reduced programs return the result of the same op, the first one counts. If the user interrupts the run, the
    report has everything up to then.
    """
    run = _Run(PassFuzzReport(pipeline.pipeline, pipeline.version, seed, first), pipeline, kind, emit, known, reduce)
    deadline = None if seconds is None else time.monotonic() + seconds
    programs = kind.functions(seed, count, first)
    try:
        with SeldomCollector():
            while batch := run.next_batch(programs):
                run.take(batch, deadline, most_failures)
                progress(run.report.programs, count)
                if run.report.stopped:
                    break
    except KeyboardInterrupt:
        run.report.stopped = "interrupted"
    return run.report


class _Run:
    def __init__(
        self,
        report: PassFuzzReport,
        pipeline: PassPipeline,
        kind: ProgramKind,
        emit: Emit,
        known: KnownByPass | None,
        reduce: Reduce | None,
    ) -> None:
        self.report = report
        self._pipeline = pipeline
        self._kind = kind
        self._emit = emit
        self._known = known
        self._reduce = reduce
        self._kinds: set[str | None] = set()

    @contextmanager
    def _timed(self, work: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.report.seconds[work] += time.perf_counter() - start  # type: ignore[assignment]

    def next_batch(self, programs: Iterator[RandomFunction]) -> list[tuple[RandomFunction, str]]:
        """Make the next programs and their texts."""
        with self._timed("making programs"):
            return [(program, text_of(program.module)) for program in islice(programs, BATCH)]

    def take(self, batch: Sequence[tuple[RandomFunction, str]], deadline: float | None, most_failures: int) -> None:
        """Run the pass on some programs, and compare them until there is a reason to stop."""
        with self._timed("mlir-opt"):
            results = self._pipeline.apply_all([text for _, text in batch])
        for (program, before), after in zip(batch, results, strict=True):
            self._one(program, before, after)
            if len(self.report.findings) + len(self.report.broken) >= most_failures:
                self.report.stopped = "enough was found"
            elif deadline is not None and time.monotonic() >= deadline:
                self.report.stopped = "the time is over"
            if self.report.stopped:
                break

    def _one(self, program: RandomFunction, before: str, after: str | PassFailure) -> None:
        report = self.report
        report.programs += 1
        names = _ops(program.module)
        report.steps += names.total()
        for name in names:
            report.ops.setdefault(name, OpCounts()).programs += 1
        self._emit(program, before, None if isinstance(after, PassFailure) else after)
        if isinstance(after, PassFailure):
            if after.kind == "refusal":
                report.refused[_without_numbers(after.message.removeprefix(f"{report.version}: "))] += 1
            else:
                report.crashed += 1
                self._broken(BrokenPass(program, before, after, self._first_input(program)))
            return
        if after == before:
            report.unchanged += 1
            return
        try:
            with self._timed("reading"):
                changed = self._pipeline.read(after, f"<after program {program.index}>")
        except HalfulpError as error:
            report.skipped[_without_numbers(error.message)] += 1
            return
        left = _ops(changed)
        for name in names:
            counts = report.ops[name]
            counts.changed += 1
            counts.ops_changed += left[name] != names[name]
        with self._timed("comparing"):
            found = compare(program.module, changed, report.seed, self._known, self._kind)
        if found.problem is not None:
            report.skipped[_without_numbers(found.problem.message)] += 1
            return
        self._count(
            PassFinding(program, before, after, found.counterexamples[0]) if found.differing else None, found, names
        )

    def _first_input(self, program: RandomFunction) -> tuple[Value, ...]:
        return inputs_of(program.module, self.report.seed, self._kind).of(program.main).row(0)

    def _broken(self, broken: BrokenPass) -> None:
        """Note a program that breaks the pass, unless another one broke it in the same place."""
        kind = crash_kind(broken.failure)
        if broken.failure.where and kind in self._kinds:
            self.report.again[kind] += 1
            return
        small = self._reduced(broken)
        if self._is_new(small):
            self.report.broken.append(replace(broken, reduced=small))

    def _explained(self, small: PassDifference) -> set[str]:
        """Return the names of the known divergences that explain a reduced program; none if they do not."""
        if self._known is None:
            return set()
        (part,) = arguments_of(small.program).parts
        return set(self._known.explained(small.program.module, NAME, part)[0] or ())

    def _reduced(self, finding: Finding) -> PassFault | None:
        if self._reduce is None:
            return None
        with self._timed("reducing"):
            return self._reduce(finding)

    def _is_new(self, small: PassFault | None) -> bool:
        """Tell whether no finding of this kind was there before, and count it if there was one."""
        kind = None if small is None else kind_of(small)
        if kind in self._kinds:
            self.report.again[kind] += 1
            return False
        if kind is not None:
            self._kinds.add(kind)
        return True

    def _count(self, finding: PassFinding | None, found: ValidationReport, names: Counter[str]) -> None:
        report = self.report
        report.inputs += found.inputs
        report.undefined_inputs += found.undefined
        report.exhaustive += found.exhaustive and not found.skipped
        explained = {name for each in found.known for name in each}
        if finding is not None:
            small = self._reduced(finding)
            explained = self._explained(small) if isinstance(small, PassDifference) else set()
        if explained:
            report.known.update(explained)
            report.known_programs += 1
            column = "known"
        elif finding is not None:
            if self._is_new(small):
                report.findings.append(replace(finding, reduced=small))
            report.differing += 1
            column = "differing"
        elif found.compared:
            report.equal += 1
            column = "equal"
        elif found.skipped:
            ((why, _),) = found.skipped.most_common(1)
            report.skipped[_without_numbers(why)] += 1
            return
        else:
            report.undefined += 1
            column = "undefined"
        for name in names:
            counts = report.ops[name]
            setattr(counts, column, getattr(counts, column) + 1)


def compare(
    before: Module, after: Module, seed: int, known: KnownByPass | None = None, kind: ProgramKind = MIXED
) -> ValidationReport:
    """Compare ``@f`` of two versions. A pair that cannot be compared has its `ValidationReport.problem`."""
    one, two = before.lookup(NAME), after.lookup(NAME)
    assert one is not None
    explain = explaining(known, before, NAME)
    return validation.compare(before, after, (one, two), inputs_of(before, seed, kind), explain=explain)


def inputs_of(module: Module, seed: int, kind: ProgramKind) -> Inputs:
    """Return the inputs with which a program runs: all if there are few, else corners and random values."""
    memory = any(name.startswith("memref.") for name in _ops(module))
    return Inputs(kind.memory_inputs if memory else kind.inputs, seed, max_steps=kind.max_steps, samples=kind.samples)


def _ops(module: Module) -> Counter[str]:
    return Counter(op.name for op in module.walk() if op.name != "builtin.module")


def _without_numbers(message: str) -> str:
    """Return a message without the sizes and places that are different in each program."""
    return re.sub(r"\d+", "N", message)
