"""Whole programs here and by an oracle: their results compared by refinement, and the first op that makes them differ.

Where results differ, a copy of the function that returns every intermediate result is asked for, and each op is judged
by itself: on the operands that the oracle had, is its result one that the language allows? So one wrong op does not
hide another, and a known divergence is recognised by the op it belongs to. Of what cannot be returned, the inside of
calls and regions, each op that ran is asked alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from halfulp.conformance.comparing.check import code_at, compare
from halfulp.conformance.comparing.compare import Mismatch, Verdict, Verdicts, require_answers, ulp_distance, verdicts
from halfulp.conformance.comparing.divergences import Cancellation, Cast, Divergence, cancelled
from halfulp.conformance.comparing.op_case import Reference, Task, reference
from halfulp.conformance.oracles.oracle import Answer, OracleError, Program, ProgramOracle, Reply, Status, Unanswered
from halfulp.conformance.whole_programs.rewrite import (
    captured,
    copied,
    definition_of,
    dependents,
    function,
    function_around,
    isolated,
    module_with,
    returns,
    task_of,
)
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import AssertionFailed, HalfulpError, UndefinedBehavior, spell_place
from halfulp.interp.ir.operations import Block, Module, Operation, SSAValue
from halfulp.interp.run.events import Listener
from halfulp.interp.run.executor import Settings, program_for, result_types
from halfulp.interp.run.function_attributes import profile_of
from halfulp.interp.values.spelling import spell_element, spell_value
from halfulp.interp.values.value import Value, element_width
from halfulp.semantics.profile import PROFILES, SPEC, Profile

NoMeaning = UndefinedBehavior | AssertionFailed
Outcome = tuple[Value, ...] | NoMeaning
"""What running a program here gives."""

MOST_TRACED = 1000
"""Ops inside calls, regions and branches that are asked alone for one program."""


def run_here(program: Program, profile: Profile = SPEC) -> Outcome:
    """The results with their open masks, or why the program has no meaning. Raises HalfulpError for anything else."""
    function_ = program.module.lookup(program.function)
    assert function_ is not None
    settings = Settings(profile, track_open=True)
    try:
        return program_for(program.module, settings).run(function_, program.arguments)
    except (UndefinedBehavior, AssertionFailed) as error:
        return error


def ask(oracle: ProgramOracle, programs: Sequence[Program]) -> list[Reply]:
    """The oracle's replies, one per program; a failure of the whole batch is the reply for each."""
    try:
        replies: list[Reply] = list(oracle.run(programs))
    except OracleError as error:
        return [error] * len(programs)
    if len(replies) != len(programs):
        failure = OracleError("garbage", f"{len(replies)} replies where {len(programs)} programs were given")
        return [failure] * len(programs)
    return replies


def judge(expected: Sequence[Value], answers: Sequence[Answer]) -> list[Verdicts]:
    """A verdict per element of each result. Raises OracleError for answers that `require_answers` refuses."""
    require_answers([value.element_type for value in expected], [value.shape for value in expected], answers)
    return [
        np.asarray(verdicts(value.element_type, as_reference(value), 0, answer))
        for value, answer in zip(expected, answers, strict=True)
    ]


def as_reference(value: Value) -> Reference:
    """A value as what one result must be."""
    return Reference((value.bits,), None if value.poison is None else value.poisoned, None, value.open)


def is_unanswered(answer: Answer) -> bool:
    """Whether not one element is answered."""
    return answer.status is not None and bool((answer.status == Status.UNANSWERED).all()) and answer.status.size > 0


# --- the first op that differs ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finding:
    """An op whose results the language does not allow for the operands it had.

    ``operands``: their values in the oracle. ``task``: the op as one, if it is one. ``known``: the rows of the table
    of divergences that explain all of it (empty: they do not). ``note``: how far the search got.
    """

    op: Operation
    task: Task | None
    operands: tuple[Value, ...]
    mismatch: Mismatch
    type: ty.Type
    known: tuple[str, ...] = ()
    note: str = ""

    @property
    def signature(self) -> tuple[Any, ...]:
        """What stays the same while a program with this finding is reduced."""
        operands = tuple(str(ty.element_type(value.type)) for value in self.op.operands)
        return self.op.name, operands, tuple(str(ty.element_type(value.type)) for value in self.op.results), self.known

    @property
    def title(self) -> str:
        """The op with its element types."""
        return self.op.name if self.task is None else str(self.task)


@dataclass
class Observed:
    """A copy of a function that returns the results of all its ops: ``places`` says which op and result each is."""

    module: Module
    function: str
    arguments: tuple[SSAValue, ...]
    ops: tuple[Operation, ...]
    places: tuple[tuple[int, int], ...]


def observed(module: Module, name: str) -> Observed | None:
    """Such a copy, or None for a function of several blocks, whose inner values are not defined on every way out."""
    original = module.lookup(name)
    assert original is not None
    blocks = original.regions[0].blocks
    if len(blocks) != 1 or original.parent_op is not module.operation:
        return None
    block, values = Block(), dict[SSAValue, SSAValue]()
    for argument in blocks[0].arguments:
        values[argument] = block.add_argument(argument.type, argument.name)
    ops = []
    for op in blocks[0].operations[:-1]:
        ops.append(copied(op, values))
        block.append(ops[-1])
    returned, places = [], []
    for number, op in enumerate(ops):
        for result in op.results:
            carrier = _returnable(result, block)
            if carrier is not None:
                returned.append(carrier)
                places.append((number, result.index))
    arguments = tuple(block.arguments)
    copy = function(original.symbol_name or "", block, returned, like=original)
    found = module_with([op for op in module.body if op is not original], module)
    found.operation.regions[0].blocks[0].append(copy)
    return Observed(found, original.symbol_name or "", arguments, tuple(ops), tuple(places))


def _returnable(value: SSAValue, block: Block) -> SSAValue | None:
    """The value, or what carries its bits: quantised ones are returned as the integers they are stored as."""
    element = ty.element_type(value.type)
    if element_width(element) is None or isinstance(value.type, ty.MemRefType):
        return None
    if not isinstance(element, ty.UniformQuantizedType | ty.AnyQuantizedType):
        return value
    stored = ty.with_element(value.type, ty.IntegerType(element.storage_width))
    cast = Operation("quant.scast", definition_of("quant.scast"), [value], [stored])
    block.append(cast)
    return cast.results[0]


@dataclass(frozen=True)
class Study:
    """Why a program differs: the ops that do, in the order they run.

    ``explained``: the results of the program that the oracle gives as its answers to the single ops would have it, and
    that depend on a known divergence; they say so as long as no op differs for an unknown reason. ``failure``: of the
    oracle, when it was asked for the ops.
    """

    findings: tuple[Finding, ...] = ()
    explained: frozenset[int] = frozenset()
    failure: OracleError | None = None

    @property
    def unknown(self) -> Finding | None:
        """The first op that no row explains."""
        return next((finding for finding in self.findings if not finding.known), None)

    def explains(self, results: Iterable[int]) -> bool:
        """Whether known divergences are all there is to the differences of these results."""
        return bool(self.findings) and self.unknown is None and self.explained.issuperset(results)


class Search:
    """Finds the ops that differ in programs of which an oracle's results do."""

    def __init__(
        self,
        oracle: ProgramOracle,
        rows: Sequence[Divergence] = (),
        profile: Profile = SPEC,
        pairs: Sequence[Cancellation] = (),
    ) -> None:
        self.oracle = oracle
        self.rows = rows
        self.pairs = pairs
        self.profile = profile
        self._observed: dict[tuple[Module, str], Observed | None] = {}
        self._alone: dict[Operation, Module] = {}

    def studies(self, programs: Sequence[Program], answered: Sequence[Sequence[Answer]]) -> list[Study]:
        """Why each of these programs differs. ``answered``: the oracle's results of each."""
        copies = [self._copy(program) for program in programs]
        asked = [
            Program(copy.module, copy.function, program.arguments)
            for program, copy in zip(programs, copies, strict=True)
            if copy is not None
        ]
        replies = iter(ask(self.oracle, asked) if asked else ())
        return [
            self._traced(program) if copy is None else self._in_copy(program, copy, answers, next(replies))
            for program, copy, answers in zip(programs, copies, answered, strict=True)
        ]

    def _copy(self, program: Program) -> Observed | None:
        key = (program.module, program.function)
        if key not in self._observed:
            self._observed[key] = observed(*key)
        return self._observed[key]

    def _in_copy(self, program: Program, copy: Observed, answered: Sequence[Answer], reply: Reply) -> Study:
        if isinstance(reply, OracleError):
            return Study(failure=reply)
        here = run_here(Program(copy.module, copy.function, program.arguments), self.profile)
        if isinstance(reply, Unanswered) or isinstance(here, NoMeaning):
            return Study()
        if stopped(reply):  # which says nothing of a single op
            return self._traced(program)
        try:
            judge(here, reply)
        except OracleError as error:
            return Study(failure=error)
        values: dict[SSAValue, Value] = dict(zip(copy.arguments, program.arguments, strict=True))
        answers: dict[SSAValue, Answer] = {}
        expected: dict[SSAValue, Value] = {}
        for (number, index), value, answer in zip(copy.places, here, reply, strict=True):
            result = copy.ops[number].results[index]
            answers[result], expected[result] = answer, value
        found: list[Finding] = []
        known: list[Operation] = []
        wrong: set[SSAValue] = set()
        for op in copy.ops:
            follows = not wrong.isdisjoint(captured(op))
            own = [answers.get(result) for result in op.results]
            if op.results and all(answer is not None for answer in own):
                findings = list(self._judged(copy.module, op, values, [answer for answer in own if answer is not None]))
                found += findings
                known += [op] if findings and all(finding.known for finding in findings) else []
                follows |= bool(findings)
            if follows:
                wrong.update(op.results)
            for result in op.results:
                there = _in_oracle(result, expected.get(result), answers.get(result), follows)
                if there is not None:
                    values[result] = there
        return Study(tuple(found), self._explained(program, copy, answered, answers, known))

    def _explained(
        self,
        program: Program,
        copy: Observed,
        answered: Sequence[Answer],
        answers: dict[SSAValue, Answer],
        known: Sequence[Operation],
    ) -> frozenset[int]:
        """The results that are the same when all values are returned, and depend on these ops."""
        original = program.module.lookup(program.function)
        assert original is not None
        block = original.regions[0].blocks[0]
        twins: dict[SSAValue, SSAValue] = {
            result: twin
            for op, other in zip(block.operations[:-1], copy.ops, strict=True)
            for result, twin in zip(op.results, other.results, strict=True)
        }
        affected = dependents(copy.module, known)
        found = set()
        for number, (value, answer) in enumerate(zip(block.operations[-1].operands, answered, strict=True)):
            twin = twins.get(value)
            if twin in affected and twin in answers and _same(answer, answers[twin]):
                found.add(number)
        return frozenset(found)

    def _judged(
        self, module: Module, op: Operation, values: dict[SSAValue, Value], answers: list[Answer]
    ) -> Iterator[Finding]:
        """The findings of one op, given the values it had and the oracle's results."""
        if all(is_unanswered(answer) for answer in answers):
            return
        used = captured(op)
        if any(value not in values for value in used):
            return
        operands = tuple(values[value] for value in used)
        finding, wrong = self._judged_alone(module, op, operands, answers)
        if finding is None:
            return
        if finding.task is None:
            inner = self._inside(module, op, operands, answers)
            yield from inner.findings
            if inner.explains(wrong) or inner.unknown is not None:
                return
        pair = None if finding.known else self._cancelled(op, values, answers)
        yield finding if pair is None else replace(finding, known=(pair,))

    def _cancelled(self, op: Operation, values: dict[SSAValue, Value], answers: list[Answer]) -> str | None:
        """The pair of casts that were taken for one or none, if the result is what a row of them predicts."""
        inner = getattr(op.operands[0], "owner", None) if op.operands else None
        given = values.get(inner.operands[0]) if inner is not None and inner.operands else None
        if inner is None or given is None:
            return None
        between, target = (str(ty.element_type(value.type)) for value in (op.operands[0], op.results[0]))
        first, second = Cast(inner.name, str(given.element_type), between), Cast(op.name, between, target)
        oracle = self.oracle
        return cancelled(self.pairs, oracle.name, oracle.version, first, second, given.bits, answers[0].bits)

    def _judged_alone(
        self, module: Module, op: Operation, operands: tuple[Value, ...], answers: list[Answer]
    ) -> tuple[Finding | None, frozenset[int]]:
        """The finding of an op by itself, and the results that differ."""
        task = task_of(op)
        plain = all(value.poison is None and value.open is None for value in operands)
        if task is not None and plain and not (task.op == "arith.select" and operands[0].shape != operands[-1].shape):
            return self._judged_task(task, op, operands, answers), frozenset()
        here = run_here(self._alone_on(module, op, operands), self.profile)
        if isinstance(here, NoMeaning):
            return None, frozenset()
        verdict = judge(here, answers)
        wrong = frozenset(index for index, one in enumerate(verdict) if (one == Verdict.MISMATCH).any())
        if not wrong:
            return None, wrong
        first = min(wrong)
        place = tuple(int(k) for k in np.argwhere(verdict[first] == Verdict.MISMATCH)[0])
        mismatch = element_mismatch(here[first], answers[first], first, place)
        return Finding(op, task, operands, mismatch, here[first].element_type), wrong

    def _judged_task(
        self, task: Task, op: Operation, operands: tuple[Value, ...], answers: list[Answer]
    ) -> Finding | None:
        # An op that names an operand twice captured it once.
        by_value = dict(zip(captured(op), operands, strict=True))
        full = [by_value[value] for value in op.operands]
        shape = full[0].shape
        inputs = [
            value.bits if value.shape == shape else np.broadcast_to(value.bits, shape + value.bits.shape)
            for value in full
        ]
        expected = reference(task, inputs, profile_of(function_around(op), self.profile))
        rows = [row for row in self.rows if row.applies(self.oracle.name, self.oracle.version, task)]
        tally = compare(task, inputs, expected, answers, rows)
        if tally.unexplained:
            mismatch = tally.mismatches[0][1]
            return Finding(op, task, operands, mismatch, task.result_types[mismatch.result])
        if not tally.known:
            return None
        mismatch = compare(task, inputs, expected, answers).mismatches[0][1]
        return Finding(op, task, operands, mismatch, task.result_types[mismatch.result], tuple(tally.known))

    def _alone_on(self, module: Module, op: Operation, operands: tuple[Value, ...]) -> Program:
        """The op as a program."""
        alone = self._alone.get(op)
        if alone is None:
            alone = self._alone[op] = isolated(module, op)
        return Program(alone, alone.body[-1].symbol_name or "", operands)

    def _inside(self, module: Module, op: Operation, operands: tuple[Value, ...], answers: Sequence[Answer]) -> Study:
        """The findings inside a call or a region that differs as a whole."""
        alone = self._alone_on(module, op, operands)
        if op.name == "func.call":
            callee = alone.module.lookup(op.properties["callee"])  # type: ignore[arg-type]
            if callee is not None and callee.regions[0].blocks:
                by_value = dict(zip(captured(op), operands, strict=True))
                called = tuple(by_value[value] for value in op.operands)
                (inner,) = self.studies([Program(alone.module, callee.symbol_name or "", called)], [answers])
                if inner.findings:
                    return inner
        return self._traced(alone)

    def _traced(self, program: Program) -> Study:
        """The findings among the ops that run here, each asked alone."""
        trace = _Trace()
        function_ = program.module.lookup(program.function)
        assert function_ is not None
        try:
            settings = Settings(self.profile, listeners=(trace,))
            program_for(program.module, settings).run(function_, program.arguments)
        except HalfulpError:
            pass  # what ran before is judged
        alone = [self._alone_on(program.module, op, operands) for op, operands in trace.ran]
        found = []
        for (op, operands), reply in zip(trace.ran, ask(self.oracle, alone) if alone else (), strict=True):
            if isinstance(reply, tuple):
                finding, _ = self._judged_alone(program.module, op, operands, list(reply))
                if finding is not None:
                    found.append(replace(finding, note="found among the ops that ran, each asked alone"))
        known = [finding for finding in found if finding.known]
        if any(finding.mismatch.status is Status.TRAP for finding in known):
            return Study(tuple(found), frozenset(range(len(result_types(function_)))))
        affected = dependents(program.module, [finding.op for finding in known])
        ends = returns(function_)
        explained = {index for end in ends for index, value in enumerate(end.operands) if value in affected}
        return Study(tuple(found), frozenset(explained))


def stopped(answers: Sequence[Answer]) -> bool:
    """Whether the program as a whole was stopped: it has no results."""
    return bool(answers) and all(
        answer.status is not None and answer.status.size and (answer.status == Status.TRAP).all() for answer in answers
    )


def _same(one: Answer, other: Answer) -> bool:
    """Whether two answers are the same, statuses and bits."""
    shape = one.bits.shape
    statuses = [np.uint8(Status.VALUE) if answer.status is None else answer.status for answer in (one, other)]
    return (
        shape == other.bits.shape and np.array_equal(one.bits, other.bits) and bool(np.all(statuses[0] == statuses[1]))
    )


def _in_oracle(result: SSAValue, here: Value | None, answer: Answer | None, follows: bool) -> Value | None:
    """The value of a result in the oracle, as far as it is known.

    What the oracle does not tell is what it is here, unless the op was wrong or got what was (``follows``).
    """
    if here is None or answer is None:
        return None
    if answer.status is None or not answer.status.any():
        return Value(result.type, answer.bits)
    if follows and (answer.status == Status.UNANSWERED).any():
        return None
    return Value(result.type, here.bits, here.poison, here.open, here.origins)


class _Trace(Listener):
    """Notes the ops that are tasks, each with its distinct operands."""

    def __init__(self) -> None:
        self.ran: list[tuple[Operation, tuple[Value, ...]]] = []
        self._seen: set[tuple[Operation, bytes]] = set()

    def op_did_run(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        if len(self.ran) >= MOST_TRACED or task_of(op) is None or any(value.poison is not None for value in operands):
            return
        by_value = dict(zip(op.operands, operands, strict=True))
        used = tuple(by_value[value] for value in captured(op))
        key = (op, b"".join(value.bits.tobytes() for value in used))
        if key not in self._seen:
            self._seen.add(key)
            self.ran.append((op, used))


def element_mismatch(value: Value, answer: Answer, result: int, element: tuple[int, ...]) -> Mismatch:
    """One differing element of a whole program's or region's result."""
    width = element_width(value.element_type) or 0
    status = Status.VALUE if answer.status is None else Status(int(answer.status[element]))
    right, given = code_at(value.bits, width, element), code_at(answer.bits, width, element)
    known = status is Status.VALUE
    distance = ulp_distance(value.element_type, right, given) if known else None
    return Mismatch(element, result, (), right, given if known else None, status, distance)


# --- whole programs ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """A program whose results differ: the first element that does, and the op to blame, if one is.

    ``known``: the rows that explain all differences of the program (empty: they do not).
    """

    program: Program
    index: int
    mismatch: Mismatch
    type: ty.Type
    finding: Finding | None
    known: tuple[str, ...] = ()


@dataclass
class Report:
    """What comparing programs with one oracle gave.

    ``verdicts`` counts elements of results. ``undefined``: programs that have no meaning here, so that anything is
    allowed, and ``undefined_answered`` those of them that have values there. ``known``: programs whose differing ops
    are all known, by row. ``explained``: the named profiles under which all results are those of the oracle.
    """

    oracle: str
    version: str
    programs: int = 0
    undefined: int = 0
    undefined_answered: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    unanswered: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    known_example: Difference | None = None
    differences: list[Difference] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    explained: list[str] = field(default_factory=list)

    @property
    def compared(self) -> int:
        """Elements with an answer, and programs without a meaning that were run all the same."""
        elements = sum(count for verdict, count in self.verdicts.items() if verdict is not Verdict.UNANSWERED)
        return elements + self.undefined_answered

    @property
    def differs(self) -> bool:
        """Whether anything is not as the language allows, or the oracle failed."""
        return bool(self.differences or self.failures)


def against(
    oracle: ProgramOracle,
    programs: Sequence[Program],
    rows: Sequence[Divergence] = (),
    profile: Profile = SPEC,
    pairs: Sequence[Cancellation] = (),
) -> Report:
    """Run programs here and by an oracle. ``rows``, ``pairs``: what is known of it.

    Raises HalfulpError where one cannot be run here.
    """
    report = Report(oracle.name, oracle.version, len(programs))
    outcomes = [run_here(program, profile) for program in programs]
    replies = ask(oracle, programs)
    wrong: list[Wrong] = []
    for index, (here, reply) in enumerate(zip(outcomes, replies, strict=True)):
        if isinstance(here, NoMeaning):
            report.undefined += 1
            report.undefined_answered += isinstance(reply, tuple) and not all(map(is_unanswered, reply))
            if isinstance(reply, OracleError):
                _failed(report, reply)
            continue
        mismatches = _compared(report, here, reply)
        if mismatches and isinstance(reply, tuple):
            wrong.append(Wrong(programs[index], index, reply, mismatches))
    for difference, failure in differences(Search(oracle, rows, profile, pairs), wrong):
        if failure is not None:
            _failed(report, failure)
        if difference.known:
            report.known.update(difference.known)
            report.known_example = report.known_example or difference
        else:
            report.differences.append(difference)
    if wrong:
        report.explained = explaining(oracle.profile, programs, replies)
    return report


@dataclass(frozen=True)
class Wrong:
    """A program with the oracle's results, and of each result that differs the first element that does."""

    program: Program
    index: int
    answers: tuple[Answer, ...]
    mismatches: Sequence[tuple[Mismatch, ty.Type]]


def mismatches_of(here: Sequence[Value], answers: Sequence[Answer]) -> list[tuple[Mismatch, ty.Type]]:
    """Of each result that differs the first element that does. Raises OracleError as `judge` does."""
    found = []
    for index, (value, answer, verdict) in enumerate(zip(here, answers, judge(here, answers), strict=True)):
        places = np.argwhere(verdict == Verdict.MISMATCH)
        if len(places):
            mismatch = element_mismatch(value, answer, index, tuple(int(k) for k in places[0]))
            found.append((mismatch, value.element_type))
    return found


def differences(search: Search, wrong: Sequence[Wrong]) -> list[tuple[Difference, OracleError | None]]:
    """How each of these programs differs, and how the oracle failed when it was asked why."""
    found: list[tuple[Difference, OracleError | None]] = []
    studies = search.studies([one.program for one in wrong], [one.answers for one in wrong])
    for one, study in zip(wrong, studies, strict=True):
        known: tuple[str, ...] = ()
        finding, shown = study.unknown, one.mismatches[0]
        if study.explains(mismatch.result for mismatch, _ in one.mismatches):
            finding = study.findings[0]
            known = tuple(dict.fromkeys(name for finding in study.findings for name in finding.known))
        elif finding is None:
            shown = next(pair for pair in one.mismatches if pair[0].result not in study.explained)
        found.append((Difference(one.program, one.index, *shown, finding, known), study.failure))
    return found


def _failed(report: Report, error: OracleError) -> None:
    if str(error) not in report.failures:
        report.failures.append(str(error))


def _compared(report: Report, here: tuple[Value, ...], reply: Reply) -> list[tuple[Mismatch, ty.Type]]:
    """Count the verdicts; the first mismatch of each result that has one."""
    elements = sum(int(np.prod(value.shape, dtype=np.int64)) for value in here)
    if isinstance(reply, tuple):
        try:
            judged = judge(here, reply)
        except OracleError as error:
            reply = error
    if not isinstance(reply, tuple):
        report.verdicts[Verdict.UNANSWERED] += elements
        if isinstance(reply, Unanswered):
            report.unanswered[reply.why] += elements
        else:
            _failed(report, reply)
        return []
    for answer, verdict in zip(reply, judged, strict=True):
        for kind in Verdict:
            report.verdicts[kind] += int(np.count_nonzero(verdict == kind))
        missing = int(np.count_nonzero(verdict == Verdict.UNANSWERED))
        if missing:
            report.unanswered[answer.why or "no result"] += missing
    return mismatches_of(here, reply)


def explaining(own: str, programs: Sequence[Program], replies: Sequence[Reply]) -> list[str]:
    """The named profiles under which every result is the oracle's; ``own``: the one it is known by, asked first."""
    found = []
    for name in dict.fromkeys((own, *PROFILES)):
        profile = PROFILES.get(name)
        if profile is not None and profile is not SPEC and all(map(_predicted(profile), programs, replies)):
            found.append(name)
    return found


def _predicted(profile: Profile) -> Any:
    def predicted(program: Program, reply: Reply) -> bool:
        if isinstance(reply, Unanswered):
            return True
        try:
            here = run_here(program, profile)
            if isinstance(reply, OracleError) or isinstance(here, NoMeaning):
                return not isinstance(reply, OracleError)
            return not any((verdict == Verdict.MISMATCH).any() for verdict in judge(here, reply))
        except (HalfulpError, OracleError):
            return False

    return predicted


# --- telling ----------------------------------------------------------------------------------------------------------


def code_text(type_: ty.Type, code: int) -> str:
    """``0x3C70 (0.0146)``: the bits, and the value where it says more."""
    width = element_width(type_) or 0
    raw, text = f"0x{code:0{max(1, -(-width // 4))}X}", spell_element(type_, code)
    return raw if text == raw else f"{raw} ({text})"


def given_text(type_: ty.Type, mismatch: Mismatch) -> str:
    """What the oracle gave: bits and distance, or poison or a trap."""
    if mismatch.actual is None:
        return mismatch.status.name.lower()
    away = f", {mismatch.ulps} ulp{'s'[: mismatch.ulps != 1]} away" if mismatch.ulps else ""
    return code_text(type_, mismatch.actual) + away


def element_text(mismatch: Mismatch) -> str:
    """`` at element [1, 2]``, nothing for a scalar."""
    return f" at element {list(mismatch.element)}" if mismatch.element else ""


def operand_lines(finding: Finding) -> list[str]:
    """The operands of the differing element, or whole where the op is no task."""
    if finding.task is None or not finding.mismatch.operands:
        return [f"operand {number}: {spell_value(value, limit=16)}" for number, value in enumerate(finding.operands)]
    pairs = zip(finding.task.operand_types, finding.mismatch.operands, strict=True)
    return [f"operand {number}: {code_text(type_, code)}" for number, (type_, code) in enumerate(pairs)]


def difference_lines(difference: Difference, oracle: str) -> list[str]:
    """A difference for people: where, which op, its operands, what was expected and what came."""
    finding, mismatch, type_ = difference.finding, difference.mismatch, difference.type
    where = None
    if finding is not None:
        mismatch, type_, where = finding.mismatch, finding.type, finding.op.location
    what = "the results differ" if finding is None else f"{finding.title} differs"
    severity = HalfulpError(f"{what} by {oracle}{element_text(mismatch)}", location=where)
    text = difference.program.module.text
    lines = severity.render(text).split("\n")
    if finding is None:
        lines.append(f"  result {mismatch.result}; no op explains it when all intermediate results are returned")
    else:
        lines += [f"  {line}" for line in operand_lines(finding)]
        if finding.op.results[1:]:
            lines.append(f"  result {mismatch.result}")
    lines += [f"  expected: {code_text(type_, mismatch.expected)}", f"  got:      {given_text(type_, mismatch)}"]
    if finding is not None and finding.note:
        lines.append(f"  note: {finding.note}")
    if difference.known:
        lines.append(f"  known: {'; '.join(difference.known)}")
    return lines


def difference_record(difference: Difference) -> dict[str, Any]:
    """The same for programs: ready for JSON."""
    finding, mismatch, type_ = difference.finding, difference.mismatch, difference.type
    record: dict[str, Any] = {"input": difference.index}
    if finding is not None:
        mismatch, type_ = finding.mismatch, finding.type
        record |= {
            "op": finding.op.name,
            "task": finding.title,
            "location": spell_place(finding.op.location),
            "operands": [f"0x{code:X}" for code in mismatch.operands],
        }
    return record | {
        "known": list(difference.known),
        "result": mismatch.result,
        "element": list(mismatch.element),
        "type": str(type_),
        "expected": f"0x{mismatch.expected:X}",
        "got": mismatch.status.name.lower() if mismatch.actual is None else f"0x{mismatch.actual:X}",
        "ulps": mismatch.ulps,
    }
