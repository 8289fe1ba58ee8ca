"""tensor.pad: a tensor with more elements around it, which a region computes from their indices."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.interp.declare.operands import operand_sizes
from halfulp.interp.dialects.elements import repeated, replaced
from halfulp.interp.dialects.indices import numbers, undefined
from halfulp.interp.dialects.slices import static_numbers
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, OpResult
from halfulp.interp.run.control import Compiler
from halfulp.interp.run.evaluators import Constant
from halfulp.interp.run.frames import Action, Frame, Segment
from halfulp.interp.run.settings import check_allocation
from halfulp.interp.run.slots import lift
from halfulp.interp.values.element_layout import shape_conflict

LISTS = ("low", "high")


def verify(op: Operation) -> str | None:
    """Check the lists of tensor.pad, and its result."""
    assert op.definition is not None
    source, result = op.operands[0].type, op.results[0].type
    shape = ty.shape_of(source) or ()
    written = [static_numbers(op, name) for name in LISTS]
    given = (operand_sizes(op, op.definition) or [1, 0, 0])[1:]
    for name, numbers_, count in zip(LISTS, written, given, strict=True):
        if len(numbers_) != len(shape):
            return f"expected {len(shape)} {name} padding values"
        if count != numbers_.count(None):
            return f"expected {numbers_.count(None)} dynamic {name} padding values"
    sizes, given_sizes = _sizes(shape, *written), ty.shape_of(result) or ()
    pairs = zip(given_sizes, sizes, strict=False)
    if len(given_sizes) != len(sizes) or any(a is not None and b is not None and a != b for a, b in pairs):
        expected = ty.TensorType(sizes, ty.element_type(source))
        return f"specified type '{result}' does not match the inferred type '{expected}"
    return None


def verify_body(op: Operation) -> str | None:
    """Check the arguments of the region of tensor.pad, and what it yields."""
    shape = ty.shape_of(op.results[0].type) or ()
    block = op.regions[0].blocks[0]
    if len(block.arguments) != len(shape):
        return f"expected the block to have {len(shape)} arguments"
    for number, argument in enumerate(block.arguments, 1):
        if not isinstance(argument.type, ty.IndexType):
            return f"op expected block argument {number} to be an index"
    return None


def _sizes(
    shape: Sequence[int | None], low: Sequence[int | None], high: Sequence[int | None]
) -> tuple[int | None, ...]:
    return tuple(
        None if size is None or a is None or b is None else size + a + b
        for size, a, b in zip(shape, low, high, strict=True)
    )


def pad(op: Operation, compiler: Compiler) -> Action:
    """Return the action of tensor.pad, for a region that yields a constant or a value from outside."""
    block = op.regions[0].blocks[0]
    (value,) = block.operations[-1].operands
    inside = isinstance(value, OpResult) and value.owner.parent is block
    evaluator = value.owner.definition and value.owner.definition.evaluate if isinstance(value, OpResult) else None
    if value in block.arguments or (inside and not isinstance(evaluator, Constant)):
        raise Unsupported("tensor.pad is run only where its region yields a constant or a value from outside")
    resume = compiler.resume(op)
    compiler.region(op.regions[0], resume)
    source, *sizes = compiler.slots(op.operands)
    padding, result = compiler.slot(value), compiler.hidden_slot()
    written = [static_numbers(op, name) for name in LISTS]
    type_, settings = op.results[0].type, compiler.settings
    finish = resume([result])

    def run(frame: Frame) -> Segment | None:
        slots = frame.slots
        whole = lift(slots[source], op.operands[0].type)
        given = iter(numbers(op, [slots[slot] for slot in sizes], settings))
        low, high = (tuple([next(given) if number is None else number for number in each]) for each in written)
        shape = tuple([size + a + b for size, a, b in zip(whole.shape, low, high, strict=True)])
        conflict = shape_conflict(type_, shape, settings.vscale)
        if conflict or min((*low, *high, *shape), default=0) < 0:
            raise undefined(op, conflict or f"the padding is negative: low {list(low)}, high {list(high)}")
        check_allocation(type_, shape, settings)
        around = repeated(lift(slots[padding], ty.element_type(type_)), shape, type_)
        place = tuple([slice(a, a + size) for a, size in zip(low, whole.shape, strict=True)])
        slots[result] = replaced(slots[0], around, place, whole)
        return finish(frame)

    return run
