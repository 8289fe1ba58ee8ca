"""scf.parallel and scf.reduce: a loop over the points of a box, in lexicographic order, with reductions.

The results of scf.parallel are the accumulators: scf.reduce combines each with its operand after each point, one
reduction after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.interp.declare.operands import operand_sizes
from halfulp.interp.dialects.boxes import Bounds, checked_ranges, over_box
from halfulp.interp.dialects.indices import constant, numbers
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, Region
from halfulp.interp.run.control import Compiler, moves
from halfulp.interp.run.frames import Action, Frame, Segment, Slots

# --- rules ------------------------------------------------------------------------------------------------------------


def verify_parallel(op: Operation) -> str | None:
    """Check the bounds, the body and its reductions."""
    assert op.definition is not None
    rank, upper, steps, initial = operand_sizes(op, op.definition) or (0, 0, 0, 0)
    if not steps:
        return "needs at least one tuple element for lowerBound, upperBound and step"
    numbers_of_steps = [constant(value) for value in op.operands[rank + upper : rank + upper + steps]]
    if any(step is not None and step <= 0 for step in numbers_of_steps):
        return "constant step operand must be positive"
    block = op.regions[0].blocks[0]
    if len(block.arguments) != steps:
        return (
            f"expects the same number of induction variables: {len(block.arguments)} as bound and step values: {steps}"
        )
    if not all(isinstance(argument.type, ty.IndexType) for argument in block.arguments):
        return "expects arguments for the induction variable to be of index type"
    last = block.operations[-1] if block.operations else None
    if last is None or last.name != "scf.reduce":
        return "expects body to terminate with 'scf.reduce'"
    reductions = len(last.regions)
    if len(op.results) != reductions:
        return f"expects number of results: {len(op.results)} to be the same as number of reductions: {reductions}"
    if initial != reductions:
        return f"expects number of results: {reductions} to be the same as number of initial values: {initial}"
    return None


def verify_parallel_regions(op: Operation) -> str | None:
    """Check the types of what is reduced."""
    last = op.regions[0].blocks[0].operations[-1]
    for number, (value, result) in enumerate(zip(last.operands, op.results, strict=True)):
        if value.type != result.type:
            raise last.rule_broken(
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


def bounds_of(op: Operation, compiler: Compiler, bounds: Sequence[int]) -> Bounds:
    """Return the bounds of scf.parallel. ``bounds``: the slots of the lower bounds, the upper bounds and the steps."""

    def ranges(slots: Slots) -> Sequence[range]:
        given = numbers(op, [slots[slot] for slot in bounds], compiler.settings)
        rank = len(given) // 3
        return checked_ranges(op, given[:rank], given[rank : 2 * rank], given[2 * rank :])

    return ranges


def parallel(op: Operation, compiler: Compiler) -> Action:
    """Return the action of scf.parallel."""
    operands = compiler.slots(op.operands)
    bounds = len(operands) - len(op.results)
    if bounds != 3 * len(op.regions[0].blocks[0].arguments):
        raise Unsupported(f"{op.name}: the numbers of its bounds and steps differ", location=op.location, op=op.name)
    begin = moves(operands[bounds:], compiler.slots(op.results))
    return over_box(op, compiler, bounds_of(op, compiler, operands[:bounds]), begin)


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
