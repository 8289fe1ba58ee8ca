"""Search for random programs with errors: one loop makes programs, judges them, and reduces the findings.

`search` is the loop. What it needs is data: an iterator of programs, a `Judge`, and a function that reduces a finding.
A judge gets some programs at a time, counts their outcomes in its report, and yields what is wrong. There are three:
`ToolJudge` below, for programs of single ops; `PassJudge` and `RunnerJudge` in `fuzz_functions`, for functions of
arguments.

A tool is judged op by op: the expected results of each op are computed from the operands that it had in the tool. So an
op after a known divergence is still compared, and an op with unanswered operands is compared if it has an answer. If a
tool keeps more of a wrong value than its bits, differences after a known divergence are counted separately. An op that
the oracle refuses is left out of its program; other ops that need its result get it as an argument.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol, TypeVar

import numpy as np

from halfulp.conformance.comparing.check import Tally, compare
from halfulp.conformance.comparing.divergences import Cancellation, CastCase, Divergence, cancelled
from halfulp.conformance.comparing.op_case import OpCase, reference
from halfulp.conformance.comparing.refinement import Mismatch
from halfulp.conformance.oracles.oracle import (
    Answer,
    ClosedProgram,
    OracleError,
    ProgramOracle,
    Reply,
    Status,
    Unanswered,
)
from halfulp.conformance.whole_programs.counterexamples import code_text, given_text
from halfulp.conformance.whole_programs.generator.evaluated import (
    Cell,
    OracleProgram,
    RandomOp,
    RandomProgram,
    build,
    cells,
    element,
    random_programs,
)
from halfulp.conformance.whole_programs.op_search import ask, is_unanswered
from halfulp.fp_formats.formats import Codes, Mask
from halfulp.interp.gc_pause import SeldomCollector
from halfulp.interp.ir import types as ty
from halfulp.semantics.kernel import FaultKind

BATCH = 500
"""Number of programs that an oracle gets at a time."""

INTERRUPTED = "interrupted"
"""The value of ``stopped`` if the user stopped the search."""

ENOUGH_FOUND = "enough was found"
"""The value of ``stopped`` if the search has as many findings as the user wants."""

MAX_FAILURES = 5
"""Number of failures after which the run of an oracle ends."""

ENOUGH = 20
"""If an op and type have at least this number of results, they count as well compared."""

KEEPING_NUMBERS = frozenset({"mlir-fold", "mlir-quant"})
"""Oracles that keep scalars as numbers: an infinity of f4E2M1FN is printed as 0, but the next op still gets an
infinity.
"""

FEW, SELDOM = 10, 1000
"""The number of elements that kept numbers may explain: at most 10, or one in 1000 of the compared elements. If there
are more, they are failures.
"""

Program = TypeVar("Program")
JudgedProgram = TypeVar("JudgedProgram", contravariant=True)


class Finding(Protocol):
    """An error of a program. If the search reduces findings, it sets ``reduced``, the smallest program with the same
    error. Only judges that recognise findings of one kind by it need ``reduced``.
    """

    reduced: Any


AnyFinding = TypeVar("AnyFinding", bound=Finding)


@dataclass(kw_only=True)
class SearchReport:
    """The counts that every search has."""

    seed: int
    programs: int = 0
    #: The ops of all programs.
    steps: int = 0
    #: The time by the kind of work.
    seconds: Counter[str] = field(default_factory=Counter)
    #: Why the search ended early; "" if it did not.
    stopped: str = ""

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped the search. The last programs may then be missing in some counts."""
        return self.stopped == INTERRUPTED

    @contextmanager
    def timed(self, work: str) -> Iterator[None]:
        """A context manager that adds the time of its block to a kind of work."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[work] += time.perf_counter() - start  # type: ignore[assignment]


class Judge(Protocol[JudgedProgram, AnyFinding]):
    """A judge of programs."""

    #: The number of programs that it gets at a time.
    batch: int

    @property
    def report(self) -> SearchReport:
        """Return the report in which the judge counts programs. The report sets ``stopped`` when it has enough
        findings.
        """

    def take(self, programs: Sequence[JudgedProgram]) -> Iterator[AnyFinding | None]:
        """Judge programs and count them. Yield each finding, and None at each place where the search may end."""

    def keep(self, found: AnyFinding) -> None:
        """Count a finding, after it was reduced."""


def search(
    programs: Iterator[Program],
    judge: Judge[Program, AnyFinding],
    reduce: Callable[[AnyFinding], Any] | None = None,
    *,
    seconds: float | None = None,
    progress: Callable[[int], object] = lambda done: None,
) -> None:
    """Give all programs to a judge, until its report says why to stop, or some seconds are over.

    ``progress`` is called with the number of finished programs. If the user interrupts the search, the report has what
    was found until then.
    """
    report = judge.report
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    try:
        with SeldomCollector():
            while not report.stopped:
                with report.timed("making programs"):
                    batch = list(islice(programs, judge.batch))
                if not batch:
                    break
                for found in judge.take(batch):
                    if found is not None:
                        if reduce is not None:
                            with report.timed("reducing"):
                                found.reduced = reduce(found)
                        judge.keep(found)
                    if not report.stopped and time.monotonic() >= deadline:
                        report.stopped = "the time is over"
                    if report.stopped:
                        break
                progress(report.programs)
    except KeyboardInterrupt:
        report.stopped = INTERRUPTED


# --- tools, op by op --------------------------------------------------------------------------------------------------


@dataclass
class Failure:
    """An op of a random program with unexplained results; ``index`` and ``seed`` make the program again."""

    oracle: str
    seed: int
    index: int
    case: OpCase
    mismatch: Mismatch
    program: ClosedProgram
    reduced: Any = None

    def lines(self) -> list[str]:
        """Return the failure as lines for people."""
        operands = zip(self.case.operand_types, self.mismatch.operands, strict=True)
        type_ = self.case.result_types[self.mismatch.result]
        return [
            f"{self.case} differs by {self.oracle} in program {self.index} of seed {self.seed}",
            *(f"  operand {number}: {code_text(kind, code)}" for number, (kind, code) in enumerate(operands)),
            f"  expected: {code_text(type_, self.mismatch.expected)}",
            f"  got:      {given_text(type_, self.mismatch)}",
        ]


@dataclass
class Counts:
    """Counts of the answers of one oracle.

    ``results``, ``missing``: results of ops by `Cell`, answered and not; ``refused``: cells that it cannot answer, and
    why. ``tally``: elements, as for single ops; ``follows``: elements that differ after a known divergence, because the
    oracle keeps more than the bits of its result. ``broken``: programs on which it failed.
    """

    oracle: str
    version: str
    results: Counter[Cell] = field(default_factory=Counter)
    missing: Counter[Cell] = field(default_factory=Counter)
    refused: dict[Cell, str] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)
    tally: Tally = field(default_factory=Tally)
    follows: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)

    def seldom(self) -> list[tuple[Cell, int]]:
        """Return the ops and types for which the oracle gave fewer than `ENOUGH` results, those with the
        fewest first.
        """
        found = [
            (cell, self.results[cell]) for cell in cells() if cell not in self.refused and self.results[cell] < ENOUGH
        ]
        return sorted(found, key=lambda pair: (pair[1], str(pair[0])))


@dataclass(kw_only=True)
class FuzzReport(SearchReport):
    """The result of a run, with the counts of each oracle."""

    counts: list[Counts]

    @property
    def failures(self) -> list[Failure]:
        """The failures of all oracles."""
        return [failure for counts in self.counts for failure in counts.failures]


def fuzz(
    oracles: Sequence[ProgramOracle],
    count: int,
    seed: int = 1,
    first: int = 0,
    rows: Sequence[Divergence] = (),
    pairs: Sequence[Cancellation] = (),
    allowed: Collection[FaultKind] = (),
    most_failures: int = MAX_FAILURES,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> FuzzReport:
    """Compare ``count`` programs of a seed with each oracle. ``rows``, ``pairs``: the known divergences of the oracles.

    ``most_failures``: the number of unexplained ops after which an oracle is no longer asked.
    """
    judge = ToolJudge([_AskedOracle(oracle, rows, pairs, most_failures) for oracle in oracles], seed)
    programs = random_programs(seed, count, first, allowed)
    search(programs, judge, progress=lambda done: progress(done, count))
    return judge.report


class ToolJudge:
    """A judge of oracles: every result of every op counts."""

    def __init__(self, asked: Sequence[_AskedOracle], seed: int) -> None:
        self.batch = BATCH
        self.report = FuzzReport(seed=seed, counts=[one.counts for one in asked])
        self._asked = asked

    def take(self, programs: Sequence[RandomProgram]) -> Iterator[Failure]:
        """Ask every oracle for all programs."""
        before = [len(one.counts.failures) for one in self._asked]
        for one in self._asked:
            one.take(programs)
        self.report.programs += len(programs)
        self.report.steps += sum(len(program.steps) for program in programs)
        for one, known in zip(self._asked, before, strict=True):
            yield from one.counts.failures[known:]
        if all(one.done for one in self._asked):
            self.report.stopped = ENOUGH_FOUND

    def keep(self, found: Failure) -> None:
        """Do nothing: `take` has already counted the finding."""


class _AskedOracle:
    """The state of one oracle during a run."""

    def __init__(
        self, oracle: ProgramOracle, rows: Sequence[Divergence], pairs: Sequence[Cancellation], most_failures: int
    ) -> None:
        self.oracle = oracle
        self.rows = rows
        self.pairs = pairs
        self.most_failures = most_failures
        self.counts = Counts(oracle.name, oracle.version)
        self._refusals: dict[OpCase, str | None] = {}

    @property
    def done(self) -> bool:
        """Tell whether there are enough failures to stop."""
        return len(self.counts.failures) >= self.most_failures

    def take(self, batch: Sequence[RandomProgram]) -> None:
        """Ask for some programs, and count the results."""
        if self.done:
            return
        built = [(program, build(program, self._refuses)) for program in batch]
        for program, made in built:
            self._count_refused(program, made)
        asked = [(program, made) for program, made in built if made is not None]
        replies = ask(self.oracle, [made.program for _, made in asked])
        for (program, made), reply in zip(asked, replies, strict=True):
            self._count(program, made, reply)

    def _refuses(self, case: OpCase) -> bool:
        if case not in self._refusals:
            self._refusals[case] = self.oracle.refuses(case)
        return self._refusals[case] is not None

    def _count_refused(self, program: RandomProgram, made: OracleProgram | None) -> None:
        kept = set() if made is None else set(made.returned)
        for step in program.steps:
            if step.results[0] in kept:
                continue
            cell, why = step.op.cell, self._refusals.get(step.op.case)
            if why is not None and all(name == "predicate" for name, _ in step.op.case.properties):
                self.counts.refused.setdefault(cell, why)
            self._missing(step, why or "an operand's type needs an op that was refused")

    def _missing(self, step: RandomOp, why: str) -> None:
        self.counts.missing[step.op.cell] += 1
        self.counts.reasons[why] += 1

    def _count(self, program: RandomProgram, made: OracleProgram, reply: Reply) -> None:
        if isinstance(reply, tuple) and len(reply) != len(made.returned):
            reply = OracleError("garbage", f"{len(reply)} results where {len(made.returned)} are expected")
        if isinstance(reply, OracleError):
            self.counts.broken[f"{reply} (program {program.index} of seed {program.seed})"] += 1
            reply = Unanswered(f"the oracle failed: {reply.kind}")
        steps = [step for step in program.steps if step.results[0] in set(made.returned)]
        if isinstance(reply, Unanswered):
            for step in steps:
                self._missing(step, reply.why)
            return
        answers = dict(zip(made.returned, reply, strict=True))
        if all(answer.status is not None and (answer.status == Status.TRAP).all() for answer in reply):
            # The program as a whole has no results: only ops that are known to stop a program explain this.
            stopping = {step.results[0]: self._stops(program, step) for step in steps}
            if any(mask is not None for mask in stopping.values()):
                for step in steps:
                    mask = stopping[step.results[0]]
                    if mask is None:
                        self._missing(step, "another op stopped the program")
                        continue
                    status = np.where(mask, np.uint8(Status.TRAP), np.uint8(Status.UNANSWERED))
                    for number in step.results:
                        answers[number] = replace(answers[number], status=status)
                steps = [step for step in steps if stopping[step.results[0]] is not None]
        changed: dict[int, Codes] = {}
        beyond: set[int] = set()
        for step in steps:
            self._step(program, made, step, [answers[number] for number in step.results], changed, beyond)

    def _stops(self, program: RandomProgram, step: RandomOp) -> Mask | None:
        """Return the elements for which a row predicts that the op stops the program; None if there are none."""
        case = step.op.case
        inputs = [program.array(number) for number in step.operands]
        rows = [row for row in self.rows if row.applies(self.oracle.name, self.oracle.version, case)]
        for row in rows:
            mask = row.predict(case, inputs, reference(case, inputs)).undefined
            if mask is not None and mask.any():
                return mask
        return None

    def _step(
        self,
        program: RandomProgram,
        made: OracleProgram,
        step: RandomOp,
        answers: list[Answer],
        changed: dict[int, Codes],
        beyond: set[int],
    ) -> None:
        """Count one op. ``changed``: the values that differ in the oracle; ``beyond``: those that the oracle may keep
        as numbers that their bits cannot express.
        """
        counts = self.counts
        follows = not beyond.isdisjoint(step.operands)
        if follows:
            beyond.update(self._kept(program, step))
        if all(map(is_unanswered, answers)):
            self._missing(step, answers[0].why or "no result")
            return
        counts.results[step.op.cell] += 1
        if self._as_expected(program, step, answers, changed):
            counts.tally.equal += len(answers) * max(1, int(np.prod(program.shape)))
            return
        inputs = [changed.get(number, program.array(number)) for number in step.operands]
        case = step.op.case
        shapes = [program.array(number).shape for number in step.results]
        if any(answer.bits.shape != shape for answer, shape in zip(answers, shapes, strict=True)):
            counts.broken[f"garbage: {case}: a result of a wrong shape in program {program.index}"] += 1
            return
        rows = [row for row in self.rows if row.applies(self.oracle.name, self.oracle.version, case)]
        tally = compare(case, inputs, reference(case, inputs), answers, rows)
        pair = self._cancelled(program, step, answers, changed) if tally.unexplained else None
        if pair is not None:
            tally.known[pair] += tally.unexplained
            tally.unexplained = 0
        if tally.known:
            beyond.update(self._kept(program, step))
        if follows and tally.unexplained and counts.follows < max(FEW, counts.tally.compared // SELDOM):
            counts.follows += tally.unexplained
            tally.unexplained = 0
        if tally.unexplained and len(counts.failures) < self.most_failures:
            mismatch = tally.mismatches[0][1]
            counts.failures.append(Failure(counts.oracle, program.seed, program.index, case, mismatch, made.program))
        counts.tally.add(tally)
        for number, answer in zip(step.results, answers, strict=True):
            if answer.status is None or not answer.status.any():
                changed[number] = answer.bits

    def _kept(self, program: RandomProgram, step: RandomOp) -> list[int]:
        """Return the results that the oracle keeps as numbers, in formats that cannot express every number."""
        if self.oracle.name not in KEEPING_NUMBERS or program.container != "scalar":
            return []
        return [number for number in step.results if _lacks_numbers(element(program.values[number].type))]

    def _cancelled(
        self, program: RandomProgram, step: RandomOp, answers: list[Answer], changed: dict[int, Codes]
    ) -> str | None:
        """Return the name of the cancellation of two casts that predicts the result, if there is one."""
        inner = next((other for other in program.steps if step.operands[0] in other.results), None)
        if inner is None:
            return None
        given = changed.get(inner.operands[0], program.array(inner.operands[0]))
        source, between, target = (
            program.values[number].type for number in (inner.operands[0], step.operands[0], step.results[0])
        )
        first, second = CastCase(inner.op.case.op, source, between), CastCase(step.op.case.op, between, target)
        return cancelled(self.pairs, self.oracle, first, second, given, answers[0].bits)

    def _as_expected(
        self, program: RandomProgram, step: RandomOp, answers: list[Answer], changed: dict[int, Codes]
    ) -> bool:
        if step.faulty or any(number in changed for number in step.operands):
            return False
        return all(
            answer.status is None and np.array_equal(answer.bits, program.array(number))
            for number, answer in zip(step.results, answers, strict=True)
        )


def _lacks_numbers(type_: ty.Type) -> bool:
    """Tell whether a format has no code for infinities, NaN or negative numbers."""
    return isinstance(type_, ty.FloatType) and (type_.format.nan_code is None or not type_.format.signed)


# --- telling ----------------------------------------------------------------------------------------------------------


def lines(report: FuzzReport, shown: int = 10) -> Iterator[str]:
    """Yield a report for people, without its failures."""
    interrupted = "; interrupted" if report.interrupted else ""
    yield f"{report.programs:,} programs of seed {report.seed}, {report.steps:,} ops{interrupted}"
    for counts in report.counts:
        tally = counts.tally
        refused = f", {len(counts.refused):,} not supported" if counts.refused else ""
        compared = f"{counts.results.total():,} results of {len(counts.results):,} ops and types"
        yield f"{counts.oracle} {counts.version}: {compared}{refused}"
        known = tally.known.total()
        yield (
            f"  elements: {tally.compared:,} compared, {tally.equal:,} equal, {tally.open + tally.apart:,} open, "
            f"{known:,} known, {tally.unexplained:,} UNEXPLAINED"
        )
        if counts.follows:
            yield f"  different after a known divergence, in an oracle that keeps numbers: {counts.follows:,}"
        if tally.undefined:
            yield f"  undefined here, with values in {counts.oracle}: {tally.undefined:,}"
        yield from (f"  known divergence: {name} ({count:,})" for name, count in tally.known.most_common())
        yield f"  results unanswered: {counts.missing.total():,}"
        for why, count in counts.reasons.most_common(shown):
            yield f"    {why} ({count:,})"
        yield from (f"  failed: {what} ({count:,})" for what, count in counts.broken.most_common(shown))
        seldom = counts.seldom()
        if seldom:
            few = ", ".join(f"{cell} ({count})" for cell, count in seldom[:shown])
            yield f"  compared fewer than {ENOUGH} times: {len(seldom):,} ops and types: {few}"


def as_json(report: FuzzReport) -> dict[str, Any]:
    """Return a report as data for JSON."""
    return {
        "seed": report.seed,
        "programs": report.programs,
        "ops": report.steps,
        "interrupted": report.interrupted,
        "oracles": [_record(counts) for counts in report.counts],
    }


def _record(counts: Counts) -> dict[str, Any]:
    tally = counts.tally
    return {
        "oracle": counts.oracle,
        "version": counts.version,
        "elements": {
            "compared": tally.compared,
            "equal": tally.equal,
            "open": tally.open,
            "apart": tally.apart,
            "undefined": tally.undefined,
            "after a known divergence": counts.follows,
            "unexplained": tally.unexplained,
        },
        "known": dict(tally.known),
        "results": {str(cell): count for cell, count in sorted(counts.results.items(), key=lambda pair: str(pair[0]))},
        "unanswered": dict(counts.reasons.most_common()),
        "not supported": {str(cell): why for cell, why in counts.refused.items()},
        "failed": dict(counts.broken),
        "failures": [failure.lines()[0] for failure in counts.failures],
    }
