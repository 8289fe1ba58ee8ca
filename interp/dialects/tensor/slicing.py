"""The ops that take parts of tensors, and put them in."""

from __future__ import annotations

from typing import Any

from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.declare.operands import operand_sizes
from halfulp.interp.dialects.elements import Function, Operands, picked, replaced, reshaped
from halfulp.interp.dialects.indices import undefined
from halfulp.interp.dialects.slices import Written, kept_axes, part_of, verify_inside, verify_written, written
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.element_layout import shape_conflict, spell_shape


def _verify(op: Operation, whole: ty.Type, part: ty.Type, first: int) -> str | None:
    """Check the lists of an op, and the type of the part. ``first``: the number of the list of offsets in operands."""
    assert op.definition is not None
    lists, shape = written(op), ty.shape_of(whole) or ()
    given = operand_sizes(op, op.definition) or []
    problem = verify_written(lists, len(shape), given[first:])
    return problem or _verify_type(lists, whole, part) or verify_inside(lists, shape)


def _verify_type(lists: Written, whole: ty.Type, part: ty.Type) -> str | None:
    expected = ty.TensorType(lists.sizes, ty.element_type(whole))
    sizes = ty.shape_of(part) or ()
    if len(sizes) > len(lists.sizes):
        return Unprefixed("expected rank to be smaller or equal to the other rank. ")
    if kept_axes(lists.sizes, sizes) is None:
        return Unprefixed(f"expected type to be '{expected}' or a rank-reduced version. (size mismatch) ")
    if ty.element_type(part) != expected.element:
        return Unprefixed(f"expected element type to be '{expected.element}'")
    return None


def verify_extract(op: Operation) -> str | None:
    """Check the lists and the result of tensor.extract_slice."""
    return _verify(op, op.operands[0].type, op.results[0].type, 1)


def verify_insert(op: Operation) -> str | None:
    """Check the lists and the part of tensor.insert_slice."""
    return _verify(op, op.operands[1].type, op.operands[0].type, 2)


def extract(op: Operation, settings: Settings) -> Function:
    """Return the function of tensor.extract_slice: a part, without dimensions of size 1 that the result lacks."""
    type_, lists = op.results[0].type, written(op)
    kept = kept_axes(lists.sizes, ty.shape_of(type_) or ()) or ()

    def take(run: Run, operands: Operands) -> tuple[Any, ...]:
        part = part_of(op, lists, operands[1:], operands[0].shape, settings)
        found = picked(operands[0], part.place, type_)
        shape = tuple([part.sizes[axis] for axis in kept])
        conflict = shape_conflict(type_, shape, settings.vscale)
        if conflict:
            raise undefined(op, conflict)
        return (found if len(kept) == len(part.sizes) else reshaped(found, type_, shape),)

    return take


def insert(op: Operation, settings: Settings) -> Function:
    """Return the function of tensor.insert_slice."""
    lists = written(op)
    kept = kept_axes(lists.sizes, ty.shape_of(op.operands[0].type) or ()) or ()

    def put(run: Run, operands: Operands) -> tuple[Any, ...]:
        source, whole = operands[:2]
        part = part_of(op, lists, operands[2:], whole.shape, settings)
        wanted = tuple([part.sizes[axis] for axis in kept])
        if source.shape != wanted:
            shapes = f"{spell_shape(source.shape)}, but the place in the tensor {spell_shape(wanted)}"
            raise undefined(op, f"the source has the shape {shapes}")
        source = source if len(kept) == len(part.sizes) else reshaped(source, source.type, part.sizes)
        return (replaced(run, whole, part.place, source),)

    return put
