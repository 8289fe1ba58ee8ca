"""Judges of random functions. The results of a function after a pass, or of a tool that runs it, must be allowed by the
function.

`PassJudge` runs a function as it is, and as the pass leaves it. `RunnerJudge` compares every element of every result
with a tool that runs whole functions.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from halfulp.conformance.comparing.refinement import Verdict, judge
from halfulp.conformance.oracles.closed_programs import text_of
from halfulp.conformance.oracles.oracle import ClosedProgram, OracleError, Reply, Runner, Unanswered
from halfulp.conformance.oracles.tool import PassFailure, PassPipeline
from halfulp.conformance.whole_programs import pass_differences, validation
from halfulp.conformance.whole_programs.arguments import Arguments
from halfulp.conformance.whole_programs.counterexamples import Counterexample
from halfulp.conformance.whole_programs.fuzz import ENOUGH_FOUND, Judge, SearchReport, search
from halfulp.conformance.whole_programs.generator.grower import NAME, RandomFunction
from halfulp.conformance.whole_programs.generator.kinds import MIXED, ProgramKind, inputs_of, ops_of
from halfulp.conformance.whole_programs.known_by_pass import KnownByPass
from halfulp.conformance.whole_programs.op_search import ask, run_here
from halfulp.conformance.whole_programs.shared_runs import Known, Shared, SharedRuns, names_of
from halfulp.conformance.whole_programs.validation import ValidationReport
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, ParseError, VerifyError, internal_error
from halfulp.interp.ir.operations import Module
from halfulp.interp.loading import parse_module
from halfulp.interp.values.value import Value

BATCH = 64
"""Number of programs that are passed to mlir-opt at a time."""

FIRST_BATCH, SHARED_BATCH = 16, 512
"""The same for programs that are judged together: at first few, since a search learns most from these."""

PLACELESS = 3
"""Number of crashes that are reduced if the tool does not say where it crashed. Further ones only count."""

MAX_FINDINGS = 20
"""Number of findings, each of another kind, after which the run ends."""


@dataclass
class PassFinding:
    """A program to which a pass gives a different behaviour: the texts before and after the pass, and an input that
    shows the difference. ``reduced``: the smallest program with this difference, if the program was reduced.
    """

    program: RandomFunction
    before: str
    after: str
    example: Counterexample
    reduced: pass_differences.PassFault | None = None

    @property
    def arguments(self) -> tuple[Value, ...]:
        """Return the arguments that show the difference."""
        return self.example.arguments


@dataclass
class BrokenPass:
    """A program on which mlir-opt crashes, does not end, or makes an invalid op, and arguments for it."""

    program: RandomFunction
    before: str
    failure: PassFailure
    arguments: tuple[Value, ...]
    reduced: pass_differences.PassFault | None = None


@dataclass
class OpCounts:
    """The number of programs that have an op: all of them, those that the pass changed, those in which it changed the
    number of these ops, and those by the outcome of their comparison.
    """

    programs: int = 0
    changed: int = 0
    ops_changed: int = 0
    equal: int = 0
    open: int = 0
    permitted: int = 0
    undefined: int = 0
    known: int = 0
    differing: int = 0


@dataclass(kw_only=True)
class PassFuzzReport(SearchReport):
    """The result of a run.

    ``unchanged``: programs that the pass leaves as they are, perhaps with moved constants; ``equal``: those with
    results that are all allowed, some of them with equal bits; ``open``: those in which the language leaves every
    result open; ``permitted``: those with differences that flags permit, all of which are explained; ``undefined``:
    those that were undefined on every input; ``refused``: messages of mlir-opt; ``skipped``: reasons why a program was
    not compared; ``known``: the number of programs by the known divergences that explain all of their differences;
    ``known_programs``: their sum. ``differing``: programs with other differences; of each kind, one is in ``findings``,
    and ``again`` counts the others. ``patterns``: what the pass did to programs, see `patterns`.
    ``inputs``, ``undefined_inputs``: of all compared programs.
    """

    pipeline: str
    version: str
    first: int
    unchanged: int = 0
    equal: int = 0
    open: int = 0
    permitted: int = 0
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
    patterns: set[tuple[str, str]] = field(default_factory=set)
    findings: list[PassFinding] = field(default_factory=list)
    broken: list[BrokenPass] = field(default_factory=list)

    @property
    def changed(self) -> int:
        """Return the number of programs that the pass changed."""
        return self.programs - self.unchanged - self.refused.total() - self.crashed

    @property
    def compared(self) -> int:
        """Return the number of programs whose two versions ran on an input that is defined."""
        return self.allowed + self.differing + self.known_programs

    @property
    def allowed(self) -> int:
        """Return the number of programs that the pass changed to programs with only allowed behaviour."""
        return self.equal + self.open + self.permitted


FunctionFinding = PassFinding | BrokenPass
Reduce = Callable[[FunctionFinding], pass_differences.PassFault | None]
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
    emit: Emit | None = None,
    known: KnownByPass | None = None,
    fp_contract: str = "on",
    reduce: Reduce | None = None,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> PassFuzzReport:
    """Run a pass on ``count`` programs of a seed, and compare each program that it changes.

    ``kind``: the kind of programs. ``seconds``: the time after which no more programs are made. ``most_failures``: the
    number of findings, and of programs that break the pass, after which the run ends. ``emit``: is given each program,
    its text, and the text after the pass if there is one. ``known``: explains differences by known divergences. There
    is no finding if it explains all differences, or each of the first ones, or the difference of the reduced program.
    ``fp_contract``: as in `validation.Inputs`. ``reduce``: reduces findings; of several whose reduced programs return
    the result of the same op, the first one counts. If the user interrupts the run, the report has everything up to
    then.
    """
    report = PassFuzzReport(seed=seed, pipeline=pipeline.pipeline, version=pipeline.version, first=first)
    judge: Judge[RandomFunction, FunctionFinding] = PassJudge(
        report, pipeline, kind, emit, known, most_failures, fp_contract
    )
    programs = kind.functions(seed, count, first)

    def reduced(found: FunctionFinding) -> pass_differences.PassFault | None:
        try:
            return None if reduce is None else reduce(found)
        except (ParseError, VerifyError) as error:  # the text of the program is not the program
            report.skipped[_without_numbers(f"it is not reduced: {error.message}")] += 1
            return None
        except HalfulpError:
            raise
        except Exception as error:
            report.skipped[internal_error(error)] += 1
            return None

    with warnings.catch_warnings(action="ignore"):  # about the values of random programs
        search(programs, judge, reduced, seconds=seconds, progress=lambda done: progress(done, count))
    return report


_ROWS_TRIED = 8
"""The inputs that decide whether a program is undefined of which a pass made an invalid op."""


class PassJudge:
    """A judge of a pass: after the pass, each program must have a behaviour that the program before the pass allows."""

    def __init__(
        self,
        report: PassFuzzReport,
        pipeline: PassPipeline,
        kind: ProgramKind,
        emit: Emit | None,
        known: KnownByPass | None,
        most_failures: int,
        fp_contract: str = "on",
    ) -> None:
        self._shared = SharedRuns(report.seed, kind.max_steps) if kind.shared and pipeline.in_generic_form else None
        self.batch = BATCH if self._shared is None else FIRST_BATCH
        self.report = report
        self._fp_contract = fp_contract
        self._pipeline = pipeline
        self._kind = kind
        self._emit = emit
        self._known = known
        self._most_failures = most_failures
        self._kinds: set[str | None] = set()
        self._seen: set[int] = set()

    def take(self, programs: Sequence[RandomFunction]) -> Iterator[FunctionFinding | None]:
        """Run the pass on the programs, and compare them one after the other."""
        if self._shared is not None:
            yield from self._together(programs, self._shared)
            self.batch = min(2 * self.batch, SHARED_BATCH)
            return
        with self.report.timed("making programs"):
            texts = [self._pipeline.given(program.module) for program in programs]
        with self.report.timed("mlir-opt"):
            results = self._pipeline.apply_all(texts)
            unchanged = self._pipeline.unchanged(texts, results)
        for program, after, same in zip(programs, results, unchanged, strict=True):
            yield self._one(program, after, Known(Shared.UNCHANGED if same else Shared.UNKNOWN))

    def _together(self, programs: Sequence[RandomFunction], shared: SharedRuns) -> Iterator[FunctionFinding | None]:
        """Run the pass on programs that have much in common, without those that the tool does not read."""
        texts: dict[str, RandomFunction] = {}
        with self.report.timed("making programs"):
            for program in programs:
                with suppress(KeyError):  # a value that is used where it is not defined has no name
                    texts.setdefault(self._pipeline.given(program.module), program)
            new = [text for text in texts if hash(text) not in self._seen]
            self._seen.update(map(hash, new))
        with self.report.timed("mlir-opt"):
            found = self._pipeline.both(new)
        pairs = [
            (texts[text], before, after)
            for text, (before, after) in zip(new, found, strict=True)
            if isinstance(before, str)
        ]
        with self.report.timed("comparing"):
            ran = [(program.main, before, after) for program, before, after in pairs if isinstance(after, str)]
            known = iter(shared.judged(ran))
        for program, before, after in pairs:
            yield self._one(program, after, next(known) if isinstance(after, str) else Known(Shared.UNKNOWN), before)

    def keep(self, found: FunctionFinding) -> None:
        """Count a finding: as known, as one of a kind that was found before, or as a new one."""
        report, small = self.report, found.reduced
        if isinstance(found, BrokenPass):
            if self._is_new(small, found.failure):
                report.broken.append(found)
            report.differing += found.failure.kind == "invalid"
        elif explained := self._explained(small) if isinstance(small, pass_differences.PassDifference) else set():
            self._count_known(explained, found.program)
        else:
            if self._is_new(small):
                report.findings.append(found)
            report.differing += 1
            self._count_ops("differing", found.program)
        if len(report.findings) + len(report.broken) >= self._most_failures:
            report.stopped = ENOUGH_FOUND

    def _one(
        self, program: RandomFunction, after: str | PassFailure, known: Known, printed: str = ""
    ) -> FunctionFinding | None:
        """Count a program, and return what is wrong with it. ``printed``: how the tool prints the program."""
        report = self.report
        report.programs += 1
        names = Counter(names_of(printed)) if printed else ops_of(program.module)
        report.steps += names.total()
        for name in names:
            report.ops.setdefault(name, OpCounts()).programs += 1
        if self._emit is not None:
            taken = None if isinstance(after, PassFailure) else self._pipeline.taken(after)
            self._emit(program, text_of(program.module), taken)
        if isinstance(after, PassFailure):
            if after.kind == "refusal":
                report.refused[_without_numbers(after.message.removeprefix(f"{report.version}: "))] += 1
                return None
            if after.kind == "invalid" and self._is_undefined(program):
                report.undefined += 1  # an operand that must be constant may have a value that its op rejects
                return None
            report.crashed += after.kind != "invalid"
            before = text_of(program.module)
            failure = self._pipeline.blamed(after, program.module)
            again = pass_differences.crash_kind(after) in self._kinds
            if again and (after.where or report.crashed > PLACELESS):  # the same place, as far as it is known
                report.again[pass_differences.crash_text(failure)] += 1
                report.differing += after.kind == "invalid"
                return None
            return BrokenPass(program, before, failure, self._first_input(program))
        if known.outcome is Shared.UNCHANGED:
            report.unchanged += 1
            return None
        if known.outcome is not Shared.UNKNOWN:
            left, outcome = Counter(names_of(after)), None
            report.inputs += 0 if known.arguments is None else known.arguments.count
            report.undefined_inputs += known.undefined
            self._count(known.outcome.value, program)
        else:
            try:
                with report.timed("reading"):
                    changed = self._pipeline.read(after, f"<after program {program.index}>")
            except HalfulpError as error:
                report.skipped[_without_numbers(error.message)] += 1
                return None
            left, outcome = ops_of(changed), self._compared(program, after, changed, known.arguments)
        done = patterns(names, left)
        if not done <= report.patterns:
            report.patterns |= done
            if outcome is None:
                self._kind.learn(program)
        for name in names:
            counts = report.ops[name]
            counts.changed += 1
            counts.ops_changed += left[name] != names[name]
        return outcome

    def _count(self, outcome: str, program: RandomFunction) -> None:
        """Count the outcome of a program that was compared, by its name in the report."""
        setattr(self.report, outcome, getattr(self.report, outcome) + 1)
        self._count_ops(outcome, program)

    def _compared(
        self, program: RandomFunction, after: str, changed: Module, arguments: Arguments | None
    ) -> FunctionFinding | None:
        """Compare a program with what a pass made of it, and count the outcome."""
        report, before = self.report, ""
        with report.timed("comparing"):
            try:
                found = self._comparison(program.module, changed, arguments)
                if found.differing:  # what is shown is the text
                    before = text_of(program.module)
                    found = self._comparison(parse_module(before), changed, arguments)
            except Exception as error:
                report.skipped[internal_error(error)] += 1
                return None
        if found.problem is not None:
            report.skipped[_without_numbers(found.problem.message)] += 1
            return None
        report.inputs += found.inputs
        report.undefined_inputs += found.undefined
        report.exhaustive += found.exhaustive and not found.skipped
        if found.differing:
            return PassFinding(program, before, self._pipeline.taken(after), found.counterexamples[0])
        if found.known:
            self._count_known({name for each in found.known for name in each}, program)
        elif found.compared:
            outcome = "permitted" if found.permitted else "equal" if found.verdicts[Verdict.EQUAL] else "open"
            self._count(outcome, program)
        elif found.skipped:
            ((why, _),) = found.skipped.most_common(1)
            report.skipped[_without_numbers(why)] += 1
        elif found.undefined:
            report.undefined += 1
            self._count_ops("undefined", program)
        else:
            report.skipped["it has no results"] += 1
        return None

    def _comparison(self, before: Module, after: Module, arguments: Arguments | None) -> ValidationReport:
        return compare(before, after, self.report.seed, self._known, self._kind, self._fp_contract, arguments)

    def _count_known(self, names: set[str], program: RandomFunction) -> None:
        self.report.known.update(names)
        self.report.known_programs += 1
        self._count_ops("known", program)

    def _count_ops(self, column: str, program: RandomFunction) -> None:
        for name in ops_of(program.module):
            counts = self.report.ops[name]
            setattr(counts, column, getattr(counts, column) + 1)

    def _is_undefined(self, program: RandomFunction) -> bool:
        """Tell whether a program has undefined behaviour on its first inputs, or on all if there are few."""
        arguments = inputs_of(program.module, self.report.seed, self._kind).of(program.main)
        try:
            return not any(
                isinstance(run_here(ClosedProgram(program.module, NAME, arguments.row(row))), tuple)
                for row in range(min(arguments.count, _ROWS_TRIED))
            )
        except HalfulpError:
            return False

    def _first_input(self, program: RandomFunction) -> tuple[Value, ...]:
        return inputs_of(program.module, self.report.seed, self._kind).of(program.main).row(0)

    def _explained(self, small: pass_differences.PassDifference) -> set[str]:
        """Return the names of the known divergences that explain a reduced program; none if they do not."""
        if self._known is None:
            return set()
        (part,) = pass_differences.arguments_of(small.program).parts
        return set(self._known.explained(small.program.module, NAME, part)[0] or ())

    def _is_new(self, small: pass_differences.PassFault | None, failure: PassFailure | None = None) -> bool:
        """Tell whether this is the first finding of its kind; if it is not, count it. ``failure``: the failure of the
        program before it was reduced.
        """
        kind = None if small is None else pass_differences.kind_of(small)
        if kind in self._kinds:
            self.report.again[kind if failure is None else pass_differences.crash_text(failure)] += 1
            return False
        if kind is not None:
            self._kinds.add(kind)
        return True


def patterns(before: Counter[str], after: Counter[str]) -> set[tuple[str, str]]:
    """Return what a pass did: each pair of an op that it removed and of one that it made. "" stands for none.
    ``before``, ``after``: the ops by name.
    """
    removed, made = ((*sorted((one - other).keys()), "") for one, other in ((before, after), (after, before)))
    return set(product(removed, made))


def compare(
    before: Module,
    after: Module,
    seed: int,
    known: KnownByPass | None = None,
    kind: ProgramKind = MIXED,
    fp_contract: str = "on",
    arguments: Arguments | None = None,
) -> ValidationReport:
    """Compare ``@f`` of two versions. A pair that cannot be compared has its `ValidationReport.problem`.

    ``arguments``: the inputs, instead of those of the kind.
    """
    one, two = before.lookup(NAME), after.lookup(NAME)
    assert one is not None
    explain = pass_differences.explaining(known, before, NAME)
    inputs = replace(inputs_of(before, seed, kind), fp_contract=fp_contract, given=arguments)
    return validation.compare(before, after, (one, two), inputs, explain=explain)


def _without_numbers(message: str) -> str:
    """Return a message without the sizes and places that differ from program to program."""
    return re.sub(r"\d+", "N", message)


# --- tools that run functions whole -----------------------------------------------------------------------------------

RUNNER_BATCH = 256
"""Number of programs that a tool gets at a time."""

RUNS = 2
"""Number of inputs of each program."""


@dataclass
class RunnerFinding:
    """A program for which the tool gives another result, and the arguments that show it."""

    program: RandomFunction
    example: Counterexample
    reduced: None = None


@dataclass(kw_only=True)
class RunnerReport(SearchReport):
    """The result of a run. ``runs``: the number of runs that were compared, each of one program on one input;
    ``elements``: their numbers by verdict. ``undefined``: runs of undefined programs. ``unanswered``, ``failed``,
    ``skipped``: the reasons of the tool, its failures, and halfulp's own reasons.
    """

    tool: str
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
    judge = RunnerJudge(runner, kind, seed, most_failures)
    search(kind.functions(seed, count, first), judge, progress=lambda done: progress(done, count))
    return judge.report


class RunnerJudge:
    """A judge of a tool that runs whole functions."""

    def __init__(self, runner: Runner, kind: ProgramKind, seed: int, most_failures: int) -> None:
        self.batch = RUNNER_BATCH
        self.report = RunnerReport(seed=seed, tool=f"{runner.name} {runner.version}")
        self._runner = runner
        self._kind = kind
        self._most_failures = most_failures

    def take(self, programs: Sequence[RandomFunction]) -> Iterator[RunnerFinding]:
        """Run the programs, each on `RUNS` inputs."""
        report, asked = self.report, list[tuple[RandomFunction, ClosedProgram]]()
        for program in programs:
            arguments = inputs_of(program.module, report.seed, self._kind).of(program.main)
            rows = [arguments.row(k) for k in _chosen(arguments.count, program.index)]
            asked += [(program, ClosedProgram(program.module, NAME, tuple(map(with_kept_nans, row)))) for row in rows]
            report.steps += ops_of(program.module).total()
        report.programs += len(programs)
        for (program, closed), reply in zip(asked, ask(self._runner, [closed for _, closed in asked]), strict=True):
            if (example := _compared(report, closed, reply)) is not None:
                yield RunnerFinding(program, example)
        if len(report.findings) >= self._most_failures:
            report.stopped = ENOUGH_FOUND

    def keep(self, found: RunnerFinding) -> None:
        """Add a finding to the report."""
        self.report.findings.append(found)


def _chosen(count: int, index: int) -> Sequence[int]:
    """Choose about `RUNS` of the inputs of program ``index``; other programs get other inputs."""
    return sorted({(index + k * max(1, count // RUNS)) % count for k in range(RUNS)}) if count else ()


def _compared(report: RunnerReport, closed: ClosedProgram, reply: Reply) -> Counterexample | None:
    """Count the elements of a run, and return the first that differs."""
    if isinstance(reply, Unanswered):
        report.unanswered[reply.why[:100]] += 1
        return None
    if isinstance(reply, OracleError):
        report.failed[str(reply)[:100]] += 1
        return None
    try:
        expected = run_here(closed)
    except HalfulpError as error:
        report.skipped[error.message[:100]] += 1
        return None
    if not isinstance(expected, tuple):
        report.undefined += 1
        return None
    report.runs += 1
    for one in judge(expected, reply):
        one.count(report.elements)
        if (mismatch := one.first) is not None:
            names = tuple(f"result {k}" for k in range(len(expected)))
            type_ = one.value.element_type
            return Counterexample(closed.arguments, mismatch, type_, outputs=names, expected=expected)
    return None


def with_kept_nans(value: Value) -> Value:
    """Return an argument in which the NaNs of bf16 have no payload, so that they keep their bits if LLVM 22 moves
    vectors of them.

    On x86 without AVX512-BF16 it converts the elements to f32 and back, which leaves only the sign of a NaN.
    """
    element = value.element_type
    if not (isinstance(element, ty.FloatType) and element.format.name == "bf16"):
        return value
    nan = (value.bits & 0x7FFF) > 0x7F80
    return Value(value.type, np.where(nan, value.bits & 0x8000 | 0x7FC0, value.bits).astype(np.uint16))
