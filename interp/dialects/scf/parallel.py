"""scf.parallel and scf.reduce: a loop over the points of a box, in lexicographic order, with reductions.

The results of scf.parallel are the accumulators: scf.reduce combines each with its operand after each point, one
reduction after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from halfulp.interp.dialects.indices import numbers, undefined
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import BlockArgument, Operation, Region
from halfulp.interp.run import races
from halfulp.interp.run.control import Compiler, moves
from halfulp.interp.run.frames import Action, Frame, Run, Segment, Slots, Step

# --- rules ------------------------------------------------------------------------------------------------------------


def verify_parallel(op: Operation) -> str | None:
    """Check the bounds and the induction variables."""
    rank = (len(op.operands) - len(op.results)) // 3
    if not rank:
        return "needs at least one tuple element for lowerBound, upperBound and step"
    return None


def verify_parallel_regions(op: Operation) -> str | None:
    """Check the body and its reductions."""
    rank = (len(op.operands) - len(op.results)) // 3
    block = op.regions[0].blocks[0]
    if len(block.arguments) != rank:
        return (
            f"expects the same number of induction variables: {len(block.arguments)} as bound and step values: {rank}"
        )
    if not all(isinstance(argument.type, ty.IndexType) for argument in block.arguments):
        return "expects arguments for the induction variable to be of index type"
    last = block.operations[-1] if block.operations else None
    if last is None or last.name != "scf.reduce":
        return "expects body to terminate with 'scf.reduce'"
    reductions = len(last.regions)
    if len(op.results) != reductions:
        return f"expects number of results: {len(op.results)} to be the same as number of reductions: {reductions}"
    if len(op.operands) - 3 * rank != reductions:
        given = len(op.operands) - 3 * rank
        return f"expects number of results: {len(op.results)} to be the same as number of initial values: {given}"
    for number, (value, result) in enumerate(zip(last.operands, op.results, strict=True)):
        if value.type != result.type:
            return (
                f"expects type of {number}-th reduction operand: '{value.type}' to be the same as the {number}-th "
                f"result type: '{result.type}'"
            )
    return None


def verify_reduce(op: Operation) -> str | None:
    """Check the regions of scf.reduce."""
    parent = op.parent_op
    if parent is None or parent.name != "scf.parallel":
        return "expects parent op 'scf.parallel'"
    if len(op.operands) != len(op.regions):
        return (
            f"expects number of operands: {len(op.operands)} to be the same as number of reductions: {len(op.regions)}"
        )
    for number, (value, region) in enumerate(zip(op.operands, op.regions, strict=True)):
        if not region.blocks or not region.blocks[0].operations:
            return f"the {number}-th reduction has an empty body"
        arguments = region.blocks[0].arguments
        if len(arguments) != 2 or any(argument.type != value.type for argument in arguments):
            return f"expected two block arguments with type '{value.type}' in the {number}-th reduction region"
        if region.blocks[0].operations[-1].name != "scf.reduce.return":
            return "reduction bodies must be terminated with an 'scf.reduce.return' op"
    return None


def verify_reduce_return(op: Operation) -> str | None:
    """Check that scf.reduce.return gives a value of the type of its reduction."""
    parent = op.parent_op
    if parent is None or parent.name != "scf.reduce":
        return "expects parent op 'scf.reduce'"
    assert op.parent is not None
    wanted = op.parent.arguments[0].type if op.parent.arguments else None
    if wanted is not None and op.operands[0].type != wanted:
        return f"must have type '{wanted}' (the type of the reduction inputs)"
    return None


# --- actions ----------------------------------------------------------------------------------------------------------


Bounds = Callable[[Slots], Sequence[range]]
"""Gives the values of the induction variables."""


def bounds_of(op: Operation, compiler: Compiler, bounds: Sequence[int]) -> Bounds:
    """Return the bounds of scf.parallel. ``bounds``: the slots of the lower bounds, the upper bounds and the steps."""

    def ranges(slots: Slots) -> Sequence[range]:
        given = numbers(op, [slots[slot] for slot in bounds], compiler.settings)
        rank = len(given) // 3
        return checked_ranges(op, given[:rank], given[rank : 2 * rank], given[2 * rank :])

    return ranges


def checked_ranges(op: Operation, lower: Sequence[int], upper: Sequence[int], steps: Sequence[int]) -> Sequence[range]:
    """Return the values of induction variables. Raises UndefinedBehavior for a step that is not positive."""
    for number, step in enumerate(steps):
        if step <= 0:
            raise undefined(op, f"step {number} is {step}, but must be positive")
    return [range(*each) for each in zip(lower, upper, steps, strict=True)]


class Box:
    """The iterations of a parallel loop that is running: its points, and the logs of what it writes."""

    __slots__ = ("_logs", "_number", "_points", "_watched")

    def __init__(self, run: Run, op: Operation, ranges: Sequence[range], slots: Slots, memory: Sequence[int]) -> None:
        self._points = product(*ranges)
        self._watched = races.watched(run, op, ranges, [slots[slot] for slot in memory])
        self._logs = [writes for _, writes in self._watched]
        self._number = -1

    def following(self) -> tuple[int, ...] | None:
        """Return the next point; None at the end, after which nothing is logged."""
        point = next(self._points, None)
        if point is None:
            races.left(self._watched)
            return None
        self._number += 1
        for log in self._logs:
            log.iteration = self._number
        return point


def over_box(
    op: Operation,
    compiler: Compiler,
    bounds: Bounds,
    initial: Sequence[int],
    begin: Sequence[Step] = (),
    after: Callable[[Sequence[int]], Sequence[Step]] = lambda sources: (),
) -> Action:
    """Return the action of a loop over a box of points; its results begin with what the slots ``initial`` hold.

    The first arguments of the body are the induction variables. The terminator changes the results. ``begin``: steps
    before the first point. ``after``: makes the steps after each point from the slots that the terminator gives.
    """
    body = compiler.block(op.regions[0].blocks[0])
    variables = body.arguments[: len(body.arguments) - len(shared_arguments(op))]
    results = compiler.slots(op.results)
    first = (*moves(initial, results), *begin)
    finish = compiler.resume(op)(results)
    state = compiler.hidden_slot()
    memory = compiler.slots(races.memory_used(op))
    mask = (1 << compiler.settings.index_width) - 1
    at_end: Action | None = None
    last_steps: Sequence[Step] = ()

    def yielding(sources: Sequence[int]) -> Action:
        nonlocal at_end, last_steps
        last_steps = after(sources)

        def ended(frame: Frame) -> Segment | None:
            for step in last_steps:
                step(frame.slots)
            return following(frame)

        at_end = ended
        return ended

    def following(frame: Frame) -> Segment | None:
        slots = frame.slots
        point = slots[state].following()
        if point is None:
            return finish(frame)
        for variable, position in zip(variables, point, strict=True):
            slots[variable] = position & mask
        return body

    compiler.region(op.regions[0], yielding)

    def start(frame: Frame) -> Segment | None:
        slots = frame.slots
        slots[state] = Box(slots[0], op, bounds(slots), slots, memory)
        for step in first:
            step(slots)
        return following(frame)

    if body.control is not at_end:
        return start
    steps, cost, last = (*body.steps, *last_steps), body.cost, body.op

    def loop(frame: Frame) -> Segment | None:
        """Run all points at once. It is for bodies that pass no control on, and without listeners."""
        slots = frame.slots
        run: Run = slots[0]
        for step in first:
            step(slots)
        box = Box(run, op, bounds(slots), slots, memory)
        while (point := box.following()) is not None:
            run.steps -= cost
            if run.steps < 0:
                raise run.out_of_steps(last)
            for variable, position in zip(variables, point, strict=True):
                slots[variable] = position & mask
            for step in steps:
                step(slots)
        return finish(frame)

    return loop


def shared_arguments(op: Operation) -> Sequence[BlockArgument]:
    """Return the arguments of the body of scf.forall that stand for tensors; scf.parallel has none."""
    arguments = op.regions[0].blocks[0].arguments
    return arguments[len(arguments) - len(op.results) :] if op.name == "scf.forall" and op.results else ()


def parallel(op: Operation, compiler: Compiler) -> Action:
    """Return the action of scf.parallel."""
    operands = compiler.slots(op.operands)
    bounds = len(operands) - len(op.results)
    return over_box(op, compiler, bounds_of(op, compiler, operands[:bounds]), operands[bounds:])


def reduce(op: Operation, compiler: Compiler) -> Action:
    """Return the action of scf.reduce: one reduction after the other, then the next point."""
    assert compiler.on_yield is not None
    assert op.parent_op is not None
    following = compiler.on_yield(())
    accumulators = compiler.slots(op.parent_op.results)
    operands = compiler.slots(op.operands)
    for accumulator, operand, region in reversed(list(zip(accumulators, operands, op.regions, strict=True))):
        following = _reduction(compiler, op, region, (accumulator, operand), following)
    return following


def _reduction(
    compiler: Compiler, op: Operation, region: Region, sources: tuple[int, int], following: Action
) -> Action:
    def returning(values: Sequence[int]) -> Action:
        store = moves(values, sources[:1])

        def go_on(frame: Frame) -> Segment | None:
            for step in store:
                step(frame.slots)
            return following(frame)

        return go_on

    entry = compiler.region(region, returning)
    bind = moves(sources, entry.arguments)

    def begin(frame: Frame) -> Segment:
        for step in bind:
            step(frame.slots)
        return entry

    return begin
