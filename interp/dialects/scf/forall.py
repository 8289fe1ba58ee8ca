"""scf.forall and scf.forall.in_parallel: a loop over a box that puts parts into tensors.

Each iteration sees the tensors as they were before the loop. The parts go into the results, in the order of iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.declare.declarations import AttributeConstraint, Unprefixed
from halfulp.interp.declare.operands import operand_sizes
from halfulp.interp.dialects.boxes import Bounds, checked_ranges, over_box
from halfulp.interp.dialects.indices import numbers
from halfulp.interp.dialects.slices import part_of, written
from halfulp.interp.dialects.tensor import slicing
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import ArrayAttr, DenseArrayAttr
from halfulp.interp.ir.operations import BlockArgument, Operation
from halfulp.interp.run.control import Compiler, moves
from halfulp.interp.run.frames import Action, Frame, Segment, Slots
from halfulp.interp.run.races import Writes
from halfulp.interp.run.slots import lift
from halfulp.interp.values.value import Value

MAPPING = AttributeConstraint(
    "Device Mapping array attribute",
    lambda attribute: isinstance(attribute, ArrayAttr) and all(str(each)[0] == "#" for each in attribute.elements),
)
"""What runs the iterations: attributes of a dialect, one for each dimension."""

_LISTS = ("staticLowerBound", "staticUpperBound", "staticStep")


def _numbers(op: Operation, name: str) -> tuple[int | None, ...]:
    written_numbers = op.properties[name]
    assert isinstance(written_numbers, DenseArrayAttr)
    return tuple(None if number == -(1 << 63) else number for number in written_numbers.values)


def _groups(op: Operation) -> list[int]:
    assert op.definition is not None
    return operand_sizes(op, op.definition) or [0, 0, 0, 0]


def shared_arguments(op: Operation) -> Sequence[BlockArgument]:
    """Return the arguments of the body of scf.forall that stand for tensors."""
    arguments = op.regions[0].blocks[0].arguments
    return arguments[len(arguments) - len(op.results) :]


# --- rules ------------------------------------------------------------------------------------------------------------


def verify(op: Operation) -> str | None:
    """Check the bounds, the mapping, the shared tensors and the arguments of the body."""
    lists, given = [_numbers(op, name) for name in _LISTS], _groups(op)
    block = op.regions[0].blocks[0]
    outs = op.operands[sum(given[:3]) :]
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
    for word, each, count in zip(("lower bound", "upper bound", "step"), lists, given, strict=False):
        if len(each) != rank:
            return Unprefixed(f"expected {rank} {word} values, got {len(each)}")
        if each.count(None) != count:
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
    """Check the terminator."""
    block = op.regions[0].blocks[0]
    last = block.operations[-1].name if block.operations else ""
    if last != "scf.forall.in_parallel":
        return f"expects regions to end with 'scf.forall.in_parallel', found '{last}'"
    return None


def verify_in_parallel(op: Operation) -> str | None:
    """Check that the region of scf.forall.in_parallel only puts parts into the tensors of the loop."""
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
    lists, given = [_numbers(op, name) for name in _LISTS], _groups(op)
    slots_of = compiler.slots(op.operands[: sum(given[:3])])

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
    """Return the action of scf.forall."""
    outs = compiler.slots(op.operands[sum(_groups(op)[:3]) :])
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
    """Return the action of scf.forall.in_parallel: put the parts into the results, then go on."""
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
