"""scf.forall and scf.forall.in_parallel: a loop over a box that puts parts into tensors.

Each iteration sees the tensors as they were before the loop. The parts go into the results, in the order of iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.declare.declarations import AttributeConstraint, Unprefixed
from halfulp.interp.declare.operands import operand_groups
from halfulp.interp.dialects.regions import Bounds, Edge, checked_ranges, flow, over_box
from halfulp.interp.dialects.slices import numbers, part_of, written
from halfulp.interp.dialects.tensor import slicing
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import ArrayAttr, DenseArrayAttr
from halfulp.interp.ir.operations import Block, BlockArgument, Operation, Region, SSAValue
from halfulp.interp.run.evaluators import Compiler, moves
from halfulp.interp.run.frames import Action, Frame, Segment, Slots, Writes, lift
from halfulp.interp.values.value import Value

MAPPING = AttributeConstraint(
    "Device Mapping array attribute",
    lambda attribute: isinstance(attribute, ArrayAttr) and all(str(each)[0] == "#" for each in attribute.elements),
)
"""What runs the iterations: attributes of a dialect, one for each dimension."""

_LISTS = ("staticLowerBound", "staticUpperBound", "staticStep")


def _numbers(op: Operation, name: str) -> tuple[int | None, ...]:
    written_numbers = op.prop(name, DenseArrayAttr)
    return tuple(None if number == -(1 << 63) else number for number in written_numbers.values)


# --- rules ------------------------------------------------------------------------------------------------------------


def verify(op: Operation) -> str | None:
    """Return what is wrong with the bounds, the mapping, the shared tensors and the arguments of the body, or None."""
    lists, (*given, outs) = [_numbers(op, name) for name in _LISTS], operand_groups(op)
    block = op.regions[0].blocks[0]
    rank = len(lists[0])
    if len(op.results) != len(outs):
        return f"produces {len(op.results)} results, but has only {len(outs)} outputs"
    if len(block.arguments) != rank + len(outs):
        return f"region expects {rank + len(outs)} arguments"
    for number, argument in enumerate(block.arguments[:rank]):
        if not isinstance(argument.type, ty.IndexType):
            return f"expects {number}-th block argument to be an index"
    for number, (value, argument) in enumerate(zip(outs, block.arguments[rank:], strict=True)):
        if value.type != argument.type:
            return f"type mismatch between {number}-th output and corresponding block argument"
    problem = _verify_mapping(op, rank)
    if problem:
        return problem
    for word, each, values in zip(("lower bound", "upper bound", "step"), lists, given, strict=True):
        if len(each) != rank:
            return Unprefixed(f"expected {rank} {word} values, got {len(each)}")
        if each.count(None) != len(values):
            return Unprefixed(f"expected {each.count(None)} dynamic {word} values")
    for number, (value, result) in enumerate(zip(outs, op.results, strict=True)):
        if value.type != result.type:
            return (
                f"expected type of operand #{number} ('{value.type}') to match type of corresponding result "
                f"('{result.type}')"
            )
    return None


def _verify_mapping(op: Operation, rank: int) -> str | None:
    mapping = op.properties.get("mapping")
    if not isinstance(mapping, ArrayAttr) or not mapping.elements:
        return None
    masks = sum(str(entry).startswith("#gpu.mask<") for entry in mapping.elements)
    if masks > 1:
        return '"mapping" supports at most one device masking attribute'
    if len(mapping.elements) - masks != rank:
        return "mapping attribute size must match op rank"
    return None


def verify_body(op: Operation) -> str | None:
    """Return what is wrong with the terminator of the body of scf.forall, or None."""
    block = op.regions[0].blocks[0]
    last = block.operations[-1].name if block.operations else ""
    if last != "scf.forall.in_parallel":
        return f"expects regions to end with 'scf.forall.in_parallel', found '{last}'"
    return None


def verify_in_parallel(op: Operation) -> str | None:
    """Return an error message unless the region of scf.forall.in_parallel only puts parts into tensors of the loop."""
    parent = op.parent_op
    if parent is None or parent.name != "scf.forall":
        return "expects parent op 'scf.forall'"
    shared = set(_shared(parent))
    for inner in op.regions[0].blocks[0].operations if op.regions[0].blocks else ():
        if inner.name != "tensor.parallel_insert_slice":
            return "expected only ParallelCombiningOpInterface ops"
        if inner.operands[1] not in shared:
            raise inner.rule_broken("may only insert into an output block argument")
    return None


# --- actions ----------------------------------------------------------------------------------------------------------


def _bounds(op: Operation, compiler: Compiler) -> Bounds:
    lists = [_numbers(op, name) for name in _LISTS]
    slots_of = compiler.slots(op.operands[: len(op.operands) - len(op.results)])

    def ranges(slots: Slots) -> Sequence[range]:
        values = iter(numbers(op, [slots[slot] for slot in slots_of], compiler.settings))
        lower, upper, steps = ([next(values) if n is None else n for n in each] for each in lists)
        return checked_ranges(op, lower, upper, steps)

    return ranges


def _shared(op: Operation) -> Sequence[BlockArgument]:
    """Return the arguments of the body that stand for tensors."""
    arguments = op.regions[0].blocks[0].arguments
    return arguments[len(arguments) - len(op.results) :]


def forall(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs scf.forall."""
    outs = compiler.slots(operand_groups(op)[3])
    shared = compiler.slots(_shared(op))
    bounds = _bounds(op, compiler)
    share = (*moves(outs, compiler.slots(op.results)), *moves(outs, shared))
    inner = over_box(op, compiler, bounds, share)

    def begin(frame: Frame) -> Segment | None:
        slots = frame.slots
        ranges = bounds(slots)
        slots[0].kept[op] = [Writes(op, ranges, slots[out].shape, None) for out in outs]
        return inner(frame)

    return begin


def in_parallel(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs scf.forall.in_parallel: it inserts the parts into the results, and continues."""
    assert compiler.on_yield is not None
    loop = op.parent_op
    assert loop is not None
    again = compiler.on_yield(())
    shared = list(_shared(loop))
    results = compiler.slots(loop.results)
    inserts = []
    for insert in op.regions[0].blocks[0].operations if op.regions[0].blocks else ():
        number = next(k for k, argument in enumerate(shared) if argument is insert.operands[1])
        inserts.append((number, results[number], _inserting(insert, compiler)))
    if not inserts:
        return again

    def put(frame: Frame) -> Segment | None:
        slots = frame.slots
        logs: list[Writes] = slots[0].kept[loop]
        for number, result, inserting in inserts:
            slots[result] = inserting(slots, slots[result], logs[number])
        for log in logs:
            log.iteration += 1
        return again(frame)

    return put


def _inserting(insert: Operation, compiler: Compiler) -> Callable[[Slots, Value, Writes], Value]:
    """Return the function from slots, a tensor and its log to the tensor with a part put in."""
    function, lists = slicing.insert(insert, compiler.settings), written(insert)
    source, _, *indices = compiler.slots(insert.operands)
    types = [value.type for value in insert.operands]

    def put(slots: Slots, whole: Value, log: Writes) -> Value:
        dynamic = [lift(slots[slot], ty.INDEX) for slot in indices]
        (after,) = function(slots[0], (lift(slots[source], types[0]), whole, *dynamic))
        place = part_of(insert, lists, dynamic, whole.shape, compiler.settings).place
        log.note(lambda array: array, place, _differs(whole, after, place))
        found: Value = after
        return found

    return put


def _differs(one: Value, two: Value, place: tuple[Any, ...]) -> npt.NDArray[np.bool_]:
    bits = np.asarray(one.bits[place] != two.bits[place])
    bits = np.asarray(bits.any(axis=tuple(range(len(one.shape), bits.ndim))))
    poison = [False if value.poison is None else value.poison[place] != 0 for value in (one, two)]
    return np.asarray(bits | (poison[0] != poison[1]))


# --- region rules -----------------------------------------------------------------------------------------------------
#
# The rules of the scf ops for their regions, in MLIR's words.
#
# Values flow along edges: from the op's operands into a region, from a terminator into a region, or from a terminator
# out as the op's results. The source and the target of an edge must agree in the number and the types of values.

_PARENT = "parent"


def _types(values: Iterable[SSAValue]) -> list[ty.Type]:
    return [value.type for value in values]


def _last(region: Region) -> Operation | None:
    """Return the terminator of a region of one block."""
    block = region.blocks[0]
    return block.operations[-1] if block.operations else None


def _single_blocks(
    op: Operation, names: Sequence[str], optional: Sequence[str] = (), arguments: bool = True
) -> str | None:
    for number, region in enumerate(op.regions):
        if not arguments and any(block.arguments for block in region.blocks):
            return f"region #{number} should have no arguments"
    for number, (name, region) in enumerate(zip(names, op.regions, strict=False)):
        if len(region.blocks) > 1:
            return f"expects region #{number} to have 0 or 1 blocks"
        if not region.blocks and name not in optional:
            return f"region #{number} ('{name}') failed to verify constraint: region with 1 blocks"
    return None


def _ends_in_yield(op: Operation) -> str | None:
    for region in op.regions:
        last = _last(region) if region.blocks else None
        if last is not None and last.name != "scf.yield":
            return f"expects regions to end with 'scf.yield', found '{last.name}'"
    return None


def verify_if(op: Operation) -> str | None:
    """Return an error message unless each region is one block without arguments, and results have an else region."""
    problem = _single_blocks(op, ("thenRegion", "elseRegion"), ("elseRegion",), arguments=False)
    if problem is None and op.results and not op.regions[1].blocks:
        return "must have an else block if defining values"
    return problem


def verify_if_regions(op: Operation) -> str | None:
    """Return an error message unless each region ends in scf.yield, which gives the results."""
    problem = _ends_in_yield(op)
    if problem:
        return problem
    results = _types(op.results)
    lasts = [_last(region) for region in op.regions if region.blocks]
    return flow(_edge(last, _PARENT, results) for last in lasts if last is not None)


def _edge(last: Operation, target: str, taken: Sequence[ty.Type], first: int = 0) -> Edge:
    return f"Operation {last.name}", _types(last.operands[first:]), target, taken


def verify_for(op: Operation) -> str | None:
    """Return an error message unless there is one block, and a result for each value that iterations carry."""
    problem = _single_blocks(op, ("region",))
    if problem is None and len(op.operands) - 3 != len(op.results):
        return "mismatch in number of loop-carried values and defined values"
    return problem


def verify_for_regions(op: Operation) -> str | None:
    """Return what is wrong with the types of the induction variable and of the carried values, or None."""
    problem = _ends_in_yield(op)
    if problem:
        return problem
    carried = _types(op.operands[3:])
    results = _types(op.results)
    arguments = _types(op.regions[0].blocks[0].arguments)
    if not arguments:
        return "expected a block argument for the induction variable"
    if len(carried) != len(arguments) - 1:
        return f"different number of inits and region iter_args: {len(carried)} != {len(arguments) - 1}"
    if arguments[0] != op.operands[0].type:
        return "expected induction variable to be same type as bounds and step"
    last = _last(op.regions[0])
    yielded = _types(last.operands) if last is not None else []
    if yielded and len(yielded) != len(carried):
        return f"different number of region iter_args and yielded values: {len(carried)} != {len(yielded)}"
    if last is not None and len(yielded) != len(carried):
        return flow([_edge(last, "Region #0", arguments[1:])])
    for number, values in enumerate(zip(carried, arguments[1:], yielded, results, strict=False)):
        initial, argument, next_, result = values
        for one, other, type_ in (
            ("init", "region iter_arg", initial),
            ("region iter_arg", "yielded value", next_),
            ("region iter_arg", "loop result", result),
        ):
            if type_ != argument:
                pair = (type_, argument) if one == "init" else (argument, type_)
                return f"{number}-th {one} and {number}-th {other} have different type: '{pair[0]}' != '{pair[1]}'"
    return None


def verify_while(op: Operation) -> str | None:
    """Return an error message unless each region is one block, which ends in scf.condition and scf.yield
    respectively.
    """
    problem = _single_blocks(op, ("before", "after"))
    if problem:
        return problem
    for name, region, expected in zip(("before", "after"), op.regions, ("scf.condition", "scf.yield"), strict=True):
        last = _last(region)
        if last is None or last.name != expected:
            return f"expects the '{name}' region to terminate with '{expected}'"
    return None


def verify_while_regions(op: Operation) -> str | None:
    """Return what is wrong with the types of the values that are passed around the loop and out of it, or None."""
    before, after = (_types(region.blocks[0].arguments) for region in op.regions)
    condition, yield_ = (region.blocks[0].operations[-1] for region in op.regions)
    return flow(
        (
            (_PARENT, _types(op.operands), "Region #0", before),
            _edge(condition, _PARENT, _types(op.results), 1),
            _edge(condition, "Region #1", after, 1),
            _edge(yield_, "Region #0", before),
        )
    )


def verify_execute_region(op: Operation) -> str | None:
    """Return an error message unless there is at least one block, without arguments."""
    blocks: list[Block] = op.regions[0].blocks
    if not blocks:
        return "region needs to have at least one block"
    if blocks[0].arguments:
        return "region cannot have any arguments"
    return None


def verify_execute_region_regions(op: Operation) -> str | None:
    """Return an error message unless every scf.yield gives the results."""
    lasts = [block.operations[-1] for block in op.regions[0].blocks if block.operations]
    return flow(_edge(last, _PARENT, _types(op.results)) for last in lasts if last.name == "scf.yield")


def verify_index_switch(op: Operation) -> str | None:
    """Return an error message unless there is a region for each case, and every region yields the results."""
    cases = op.prop("cases", at.DenseArrayAttr)
    if len(cases.codes) != len(op.regions) - 1:
        return f"has {len(op.regions) - 1} case regions but {len(cases.codes)} case values"
    if len(set(cases.codes)) < len(cases.codes):
        again = next(value for number, value in enumerate(cases.values) if value in cases.values[:number])
        return f"has duplicate case value: {again}"
    for number, region in enumerate(op.regions):
        if len(region.blocks) != 1:
            slot = "caseRegions" if number else "defaultRegion"
            return f"region #{number} ('{slot}') failed to verify constraint: region with 1 blocks"
    for number, region in enumerate(op.regions):
        name = f"case region #{number - 1}" if number else "default region"
        last = _last(region) if region.blocks else None
        if last is None or last.name != "scf.yield":
            return f"expected region to end with scf.yield, but got {last.name if last else 'nothing'}"
        if len(last.operands) != len(op.results):
            return f"expected each region to return {len(op.results)} values, but {name} returns {len(last.operands)}"
        for index, (value, result) in enumerate(zip(last.operands, op.results, strict=True)):
            if value.type != result.type:
                return f"expected result #{index} of each region to be '{result.type}'"
    return None
