"""Find the ops that make the results of a program differ.

The oracle runs a copy of the function that returns every intermediate result. Each op is then judged separately: the
language must allow its result for the operands that it had in the oracle. So one wrong op does not hide another, and a
known divergence is recognised by its op. The inside of calls and regions cannot be returned: there, each op that ran is
asked alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from halfulp.conformance.comparing.check import ErrorBound, KnownRow, compare
from halfulp.conformance.comparing.divergences import Cancellation, CastCase, cancelled
from halfulp.conformance.comparing.op_case import OpCase, reference
from halfulp.conformance.comparing.refinement import Mismatch, first_mismatches, judge
from halfulp.conformance.oracles.oracle import Answer, ClosedProgram, OracleError, Reply, Runner, Status, Unanswered
from halfulp.conformance.whole_programs import rewrite
from halfulp.conformance.whole_programs.printed import silent
from halfulp.conformance.whole_programs.rewrite import function
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import AssertionFailed, HalfulpError, UndefinedBehavior
from halfulp.interp.ir.operations import Block, Module, Operation, OpResult, SSAValue, captured, result_types
from halfulp.interp.ir.types import element_width
from halfulp.interp.run.batch.program import run_batch
from halfulp.interp.run.lineage import Lineage
from halfulp.interp.run.program import CompiledModule, program_for
from halfulp.interp.run.settings import Listener, Settings, profile_of
from halfulp.interp.values.lanes import over_lanes, repeated
from halfulp.interp.values.value import Value, retyped
from halfulp.interp.verifier import verify
from halfulp.semantics.kernel import OTHER, Origins
from halfulp.semantics.profile import SPEC, Profile

# --- outcomes ---------------------------------------------------------------------------------------------------------
#
# Outcomes of whole programs, here and by an oracle.

NoMeaning = UndefinedBehavior | AssertionFailed

Outcome = tuple[Value, ...] | NoMeaning
"""The outcome of running a program with halfulp."""


def run_here(program: ClosedProgram, profile: Profile = SPEC) -> Outcome:
    """Return the results with their masks of unspecified bits, or the error of a program with undefined behaviour.
    If an argument is over lanes, so are the results. Raises HalfulpError for any other error.
    """
    settings = Settings(profile, track_open=True, write=silent)
    try:
        return results_of(program_for(program.module, settings), program.operation, program.arguments)
    except (UndefinedBehavior, AssertionFailed) as error:
        return error


def recorded(program: ClosedProgram) -> tuple[Lineage, tuple[Value, ...]]:
    """Run a program of single values and record the lineage of its results. Raises HalfulpError."""
    lineage = Lineage()
    run = program_for(program.module, Settings(recorder=lineage, write=silent)).run
    return lineage, run(program.operation, program.arguments)


def results_of(program: CompiledModule, function: Operation, arguments: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the results of a function; over lanes if an argument is. Raises HalfulpError."""
    lanes = next((value.shape[0] for value in arguments if over_lanes(value)), None)
    if lanes is None:
        return program.run(function, arguments)
    values = run_batch(program, function, arguments, lanes)
    return tuple(value if over_lanes(value) else repeated(value, lanes) for value in values)


def ask(oracle: Runner, programs: Sequence[ClosedProgram]) -> list[Reply]:
    """Return the oracle's replies, one per program; a failure of the whole batch is the reply for each."""
    try:
        replies: list[Reply] = list(oracle.run(programs))
    except OracleError as error:
        return [error] * len(programs)
    if len(replies) != len(programs):
        failure = OracleError("garbage", f"{len(replies)} replies where {len(programs)} programs were given")
        return [failure] * len(programs)
    return replies


def is_unanswered(answer: Answer) -> bool:
    """Tell whether every element is unanswered."""
    return answer.status is not None and bool((answer.status == Status.UNANSWERED).all()) and answer.status.size > 0


def stopped(answers: Sequence[Answer]) -> bool:
    """Tell whether the program as a whole was stopped and has no results."""
    return bool(answers) and all(
        answer.status is not None and answer.status.size and (answer.status == Status.TRAP).all() for answer in answers
    )


# --- op search --------------------------------------------------------------------------------------------------------

MOST_TRACED = 1000
"""Most ops inside calls, regions and branches that are asked alone for one program."""


@dataclass(frozen=True)
class Finding:
    """An op with results that the language does not allow for its operands.

    ``operands``: their values in the oracle. ``case``: the op as a case, if it is one. ``known``: the rows of the table
    of divergences that explain all of it; empty if they do not. ``note``: a remark if the search could not find more.
    """

    op: Operation
    case: OpCase | None
    operands: tuple[Value, ...]
    mismatch: Mismatch
    type: ty.Type
    known: tuple[str, ...] = ()
    note: str = ""

    @property
    def signature(self) -> tuple[Any, ...]:
        """The properties of a finding that must stay the same while its program is reduced."""
        operands = tuple(str(ty.element_type(value.type)) for value in self.op.operands)
        return self.op.name, operands, tuple(str(ty.element_type(value.type)) for value in self.op.results), self.known

    @property
    def title(self) -> str:
        """The op with its element types, as text."""
        return self.op.name if self.case is None else str(self.case)


@dataclass
class Observed:
    """A copy of a function that returns the results of all its ops. ``places``: for each result of the copy, the op and
    the number of its result.
    """

    module: Module
    function: str
    arguments: tuple[SSAValue, ...]
    ops: tuple[Operation, ...]
    places: tuple[tuple[int, int], ...]


def observed(module: Module, name: str) -> Observed | None:
    """Return a copy of the function that returns the results of all its ops. None for a function of several blocks, in
    which some values are not defined on every path.
    """
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
        ops.append(rewrite.copied(op, values))
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
    found = rewrite.module_with([op for op in module.body if op is not original], module)
    found.operation.regions[0].blocks[0].append(copy)
    return Observed(found, original.symbol_name or "", arguments, tuple(ops), tuple(places))


def _returnable(value: SSAValue, block: Block) -> SSAValue | None:
    """Return the value, or a value with its bits: a quantised value is returned as its storage integers."""
    if element_width(ty.element_type(value.type)) is None or isinstance(value.type, ty.MemRefType):
        return None
    return rewrite.returnable(value, block)


@dataclass(frozen=True)
class Study:
    """The reason why a program differs: the ops that differ, in the order they run.

    ``explained``: the results of the program that follow from the oracle's answers to the single ops and depend on a
    known divergence; they count only if no op differs for an unknown reason. ``failure``: the oracle's failure when it
    was asked for the ops.
    """

    findings: tuple[Finding, ...] = ()
    explained: frozenset[int] = frozenset()
    failure: OracleError | None = None

    @property
    def unknown(self) -> Finding | None:
        """The first op that no row explains; None if rows explain all."""
        return next((finding for finding in self.findings if not finding.known), None)

    def explains(self, results: Iterable[int]) -> bool:
        """Tell whether known divergences explain all differences of these results."""
        return bool(self.findings) and self.unknown is None and self.explained.issuperset(results)


def rows_about(rows: Iterable[KnownRow], tool: str, version: str, case: OpCase, op: Operation) -> list[KnownRow]:
    """Return the rows that apply to an op. Error bounds are those of folders, so they are about constants alone: a pass
    that replaces a function of other values gets no tolerance.
    """
    about = (row for row in rows if row.applies(tool, version, case))
    return [row for row in about if not isinstance(row, ErrorBound) or _of_constants(op)]


def _of_constants(op: Operation) -> bool:
    """Tell whether an op depends on constants alone, by use. Memory and arguments of blocks are not followed."""
    seen: set[SSAValue] = set()
    waiting = captured(op)
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if not isinstance(value, OpResult) or isinstance(value.type, ty.MemRefType):
            return False
        waiting += captured(value.owner)
    return True


class Search:
    """A search for the ops that make the results of programs differ from an oracle's."""

    def __init__(
        self,
        oracle: Runner,
        rows: Sequence[KnownRow] = (),
        profile: Profile = SPEC,
        pairs: Sequence[Cancellation] = (),
    ) -> None:
        self.oracle = oracle
        self.rows = rows
        self.pairs = pairs
        self.profile = profile
        self._observed: dict[tuple[Module, str], Observed | None] = {}
        self._alone: dict[Operation, Module] = {}

    def studies(self, programs: Sequence[ClosedProgram], answered: Sequence[Sequence[Answer]]) -> list[Study]:
        """Return for each of these programs why it differs. ``answered``: the oracle's results of each."""
        copies = [self._copy(program) for program in programs]
        asked = [
            ClosedProgram(copy.module, copy.function, program.arguments)
            for program, copy in zip(programs, copies, strict=True)
            if copy is not None
        ]
        replies = iter(ask(self.oracle, asked) if asked else ())
        return [
            self._traced(program) if copy is None else self._in_copy(program, copy, answers, next(replies))
            for program, copy, answers in zip(programs, copies, answered, strict=True)
        ]

    def _copy(self, program: ClosedProgram) -> Observed | None:
        key = (program.module, program.function)
        if key not in self._observed:
            self._observed[key] = observed(*key)
        return self._observed[key]

    def _in_copy(self, program: ClosedProgram, copy: Observed, answered: Sequence[Answer], reply: Reply) -> Study:
        if isinstance(reply, OracleError):
            return Study(failure=reply)
        here = run_here(ClosedProgram(copy.module, copy.function, program.arguments), self.profile)
        if isinstance(reply, Unanswered) or isinstance(here, NoMeaning):
            return Study()
        if stopped(reply):  # a stop says nothing about a single op
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
        program: ClosedProgram,
        copy: Observed,
        answered: Sequence[Answer],
        answers: dict[SSAValue, Answer],
        known: Sequence[Operation],
    ) -> frozenset[int]:
        """Return the results that stay the same when all values are returned, and that depend on these ops."""
        block = program.operation.regions[0].blocks[0]
        twins: dict[SSAValue, SSAValue] = {
            result: twin
            for op, other in zip(block.operations[:-1], copy.ops, strict=True)
            for result, twin in zip(op.results, other.results, strict=True)
        }
        affected = rewrite.dependents(copy.module, known)
        found = set()
        for number, (value, answer) in enumerate(zip(block.operations[-1].operands, answered, strict=True)):
            twin = twins.get(value)
            if twin in affected and twin in answers and _same(answer, answers[twin]):
                found.add(number)
        return frozenset(found)

    def _judged(
        self, module: Module, op: Operation, values: dict[SSAValue, Value], answers: list[Answer]
    ) -> Iterator[Finding]:
        """Yield the findings of one op, given its operands in the oracle and the oracle's results."""
        if all(is_unanswered(answer) for answer in answers):
            return
        used = captured(op)
        if any(value not in values for value in used):
            return
        operands = tuple(values[value] for value in used)
        finding, wrong = self._judged_alone(module, op, operands, answers)
        if finding is None:
            return
        if finding.case is None:
            inner = self._inside(module, op, operands, answers)
            yield from inner.findings
            if inner.explains(wrong) or inner.unknown is not None:
                return
        pair = None if finding.known else self._cancelled(op, values, answers)
        yield finding if pair is None else replace(finding, known=(pair,))

    def _cancelled(self, op: Operation, values: dict[SSAValue, Value], answers: list[Answer]) -> str | None:
        """Return the name of the cancellation of two casts that predicts the result, if there is one."""
        inner = getattr(op.operands[0], "owner", None) if op.operands else None
        given = values.get(inner.operands[0]) if inner is not None and inner.operands else None
        if inner is None or given is None:
            return None
        between, target = (str(ty.element_type(value.type)) for value in (op.operands[0], op.results[0]))
        first, second = CastCase(inner.name, str(given.element_type), between), CastCase(op.name, between, target)
        return cancelled(self.pairs, self.oracle, first, second, given.bits, answers[0].bits)

    def _judged_alone(
        self, module: Module, op: Operation, operands: tuple[Value, ...], answers: list[Answer]
    ) -> tuple[Finding | None, frozenset[int]]:
        """Return the finding for an op by itself, and the numbers of the results that differ."""
        case = rewrite.case_of(op)
        clean = all(value.poison is None for value in operands)
        plain = all(value.open is None for value in operands) and (clean or op.name != "arith.select")
        if case is not None and plain and not (case.op == "arith.select" and operands[0].shape != operands[-1].shape):
            return self.judged_case(case, op, operands, answers), frozenset()
        here = run_here(self._alone_on(module, op, operands), self.profile)
        if isinstance(here, NoMeaning):
            return None, frozenset()
        wrong = first_mismatches(judge(here, answers))
        finding = Finding(op, case, operands, *wrong[0]) if wrong else None
        return finding, frozenset(mismatch.result for mismatch, _ in wrong)

    def judged_case(
        self, case: OpCase, op: Operation, operands: tuple[Value, ...], answers: list[Answer]
    ) -> Finding | None:
        """Return the finding of an op that is a case; None if its results are allowed. ``operands``: the values of its
        `captured` operands, which may be over lanes.

        ``answers``: the results that are judged.
        """
        # An op that names an operand twice captured it once.
        by_value = dict(zip(captured(op), operands, strict=True))
        full = [by_value[value] for value in op.operands]
        shape = full[0].shape
        inputs = [_spread(value.bits, value.shape, shape) for value in full]
        expected = reference(case, inputs, profile_of(rewrite.function_around(op), self.profile))
        spoiled = [_spread(value.poisoned, value.shape, shape) for value in full if value.poison is not None]
        if spoiled:  # poison propagates: any result is right
            masks = spoiled if expected.poison is None else [*spoiled, expected.poison]
            expected = replace(expected, poison=np.logical_or.reduce(masks))
        rows = rows_about(self.rows, self.oracle.name, self.oracle.version, case, op)
        tally = compare(case, inputs, expected, answers, rows)
        if tally.unexplained:
            mismatch = tally.mismatches[0][1]
            return Finding(op, case, operands, mismatch, case.result_types[mismatch.result])
        if not tally.known:
            return None
        mismatch = compare(case, inputs, expected, answers).mismatches[0][1]
        return Finding(op, case, operands, mismatch, case.result_types[mismatch.result], tuple(tally.known))

    def _alone_on(self, module: Module, op: Operation, operands: tuple[Value, ...]) -> ClosedProgram:
        """Return the op as its own program."""
        alone = self._alone.get(op)
        if alone is None:
            alone = self._alone[op] = rewrite.isolated(module, op)
        return ClosedProgram(alone, alone.body[-1].symbol_name or "", operands)

    def _inside(self, module: Module, op: Operation, operands: tuple[Value, ...], answers: Sequence[Answer]) -> Study:
        """Return the findings inside a call, or inside a region, that differs as a whole."""
        alone = self._alone_on(module, op, operands)
        if op.name == "func.call":
            callee = alone.module.lookup(op.properties["callee"])  # type: ignore[arg-type]
            if callee is not None and callee.regions[0].blocks:
                by_value = dict(zip(captured(op), operands, strict=True))
                called = tuple(by_value[value] for value in op.operands)
                (inner,) = self.studies([ClosedProgram(alone.module, callee.symbol_name or "", called)], [answers])
                if inner.findings:
                    return inner
        return self._traced(alone)

    def _traced(self, program: ClosedProgram) -> Study:
        """Return the findings among the ops that halfulp runs, each asked alone; none for arguments over lanes."""
        if any(map(over_lanes, program.arguments)):
            return Study()
        trace = _Trace()
        function_ = program.operation
        try:
            settings = Settings(self.profile, listeners=(trace,), write=silent)
            program_for(program.module, settings).run(function_, program.arguments)
        except HalfulpError:
            pass  # the ops that ran before are judged
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
        affected = rewrite.dependents(program.module, [finding.op for finding in known])
        ends = rewrite.returns(function_)
        explained = {index for end in ends for index, value in enumerate(end.operands) if value in affected}
        return Study(tuple(found), frozenset(explained))


def _same(one: Answer, other: Answer) -> bool:
    """Tell whether two answers are the same, statuses and bits."""
    shape = one.bits.shape
    statuses = [np.uint8(Status.VALUE) if answer.status is None else answer.status for answer in (one, other)]
    return (
        shape == other.bits.shape and np.array_equal(one.bits, other.bits) and bool(np.all(statuses[0] == statuses[1]))
    )


def _spread(array: Any, own: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """Return codes or a mask for every element of ``shape``; a scalar has its code for all elements of its lane."""
    limbs = array.shape[len(own) :]
    missing = (1,) * (len(shape) - len(own))
    return np.broadcast_to(array.reshape(own + missing + limbs), shape + limbs)


def _in_oracle(result: SSAValue, here: Value | None, answer: Answer | None, follows: bool) -> Value | None:
    """Return the value of a result in the oracle, if it is known.

    A value that the oracle does not return is taken from halfulp's run (``here``), unless the op or one of its operands
    was wrong (``follows``).
    """
    if here is None or answer is None:
        return None
    if answer.status is None or not answer.status.any():
        return Value(result.type, answer.bits)
    if (answer.status <= Status.POISON).all():
        poison = np.where(answer.status == Status.POISON, np.uint16(OTHER), np.uint16(0))
        return Value(result.type, answer.bits, poison, None, Origins())
    if follows and (answer.status == Status.UNANSWERED).any():
        return None
    return retyped(here, result.type)


class _Trace(Listener):
    """Listener that records the ops that are cases, each with its distinct operands."""

    def __init__(self) -> None:
        self.ran: list[tuple[Operation, tuple[Value, ...]]] = []
        self._seen: set[tuple[Operation, bytes]] = set()

    def op_did_run(self, op: Operation, operands: Sequence[Any], results: Sequence[Any]) -> None:
        if (
            len(self.ran) >= MOST_TRACED
            or rewrite.case_of(op) is None
            or any(value.poison is not None for value in operands)
        ):
            return
        by_value = dict(zip(op.operands, operands, strict=True))
        used = tuple(by_value[value] for value in captured(op))
        key = (op, b"".join(value.bits.tobytes() for value in used))
        if key not in self._seen:
            self._seen.add(key)
            self.ran.append((op, used))


# --- rebuild ----------------------------------------------------------------------------------------------------------
#
# Take programs apart, and rebuild them from some of their ops.


@dataclass
class State:
    """The parts of a function of one block: its ops, its returned values, and all known values."""

    module: Module
    name: str
    ops: tuple[Operation, ...]
    returned: tuple[SSAValue, ...]
    values: dict[SSAValue, Value] = field(default_factory=dict)


def state_of(program: ClosedProgram, profile: Profile = SPEC) -> State | None:
    """Return the parts of a program; None if its function has several blocks or is in a nested module."""
    original = program.module.lookup(program.function)
    if original is None or original.parent_op is not program.module.operation:
        return None
    blocks = original.regions[0].blocks
    if len(blocks) != 1 or not blocks[0].operations or blocks[0].operations[-1].name != "func.return":
        return None
    block = blocks[0]
    values: dict[SSAValue, Value] = dict(zip(block.arguments, program.arguments, strict=False))
    copy = observed(program.module, program.function)
    if copy is not None:
        values.update(_known_values(block, copy, program, profile))
    end = block.operations[-1]
    name = original.symbol_name or "main"
    return State(program.module, name, tuple(block.operations[:-1]), tuple(end.operands), values)


def _known_values(block: Block, copy: Observed, program: ClosedProgram, profile: Profile) -> dict[SSAValue, Value]:
    try:
        here = run_here(ClosedProgram(copy.module, copy.function, program.arguments), profile)
    except HalfulpError:
        return {}
    if isinstance(here, NoMeaning):
        return {}
    found: dict[SSAValue, Value] = {}
    for (number, index), value in zip(copy.places, here, strict=True):
        result = block.operations[number].results[index]
        found[result] = Value(result.type, value.bits, value.poison, None, value.origins)
    return found


def rebuilt(
    state: State,
    keep: Sequence[Operation],
    returned: Sequence[SSAValue],
    instead: dict[SSAValue, SSAValue] | None = None,
    reshape: Callable[[Value], Value] = lambda value: value,
    retype: Callable[[ty.Type], ty.Type] = lambda type_: type_,
) -> ClosedProgram | None:
    """Build a program from some of the ops. A value that is needed but not computed becomes an argument, if it is
    known.

    ``instead``: values that replace others. ``reshape``, ``retype``: functions that change every argument and every
    type.
    """
    instead = instead or {}
    kept = set(keep)
    needed = {instead.get(value, value) for value in returned}
    ops: list[Operation] = []
    for op in reversed(state.ops):
        if op in kept and not needed.isdisjoint(op.results):
            ops.append(op)
            needed.update(instead.get(value, value) for value in captured(op))
    ops.reverse()
    block = Block()
    made: dict[SSAValue, SSAValue] = {}
    arguments: list[Value] = []

    def available(value: SSAValue) -> bool:
        source = instead.get(value, value)
        if source not in made:
            known = state.values.get(source)
            element = ty.element_type(value.type)
            if known is None or isinstance(element, ty.QuantizedType) or element_width(element) is None:
                return False
            given = reshape(known)
            arguments.append(given)
            made[source] = block.add_argument(given.type)
        made[value] = made[source]
        return True

    for op in ops:
        if not all(available(value) for value in captured(op)):
            return None
        block.append(rewrite.copied(op, made, retype))
    if not all(available(value) for value in returned):
        return None
    main = function(state.name, block, [made[value] for value in returned], like=state.module.lookup(state.name))
    others = [op for op in state.module.body if op.symbol_name != state.name]
    module = rewrite.module_with(others, state.module)
    module.operation.regions[0].blocks[0].append(main)
    return verified(ClosedProgram(without_unneeded_functions(module, state.name), state.name, tuple(arguments)))


def without_unneeded_functions(module: Module, name: str) -> Module:
    """Return the module without the functions that are not needed."""
    main = module.lookup(name)
    assert main is not None
    needed = [op for op in rewrite.callees(module, main) if op is not main]
    return rewrite.module_with([op for op in module.body if op in needed or op is main], module)


def verified(program: ClosedProgram) -> ClosedProgram | None:
    """Return the program, or None if the verifier rejects it."""
    try:
        verify(program.module)
    except HalfulpError:
        return None
    return program
