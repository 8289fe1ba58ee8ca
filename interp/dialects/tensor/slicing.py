"""The ops that take a part of a tensor, or put a part into a tensor; and those that expand and collapse its shape."""

from __future__ import annotations

from math import prod
from typing import Any

from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.declare.operands import operand_groups
from halfulp.interp.dialects.elements import Function, Operands, picked, replaced, reshaped
from halfulp.interp.dialects.elementwise import collapsed_shape, groups_of, verify_groups, verify_sizes
from halfulp.interp.dialects.slices import (
    Written,
    kept_axes,
    numbers,
    part_of,
    static_numbers,
    verify_inside,
    verify_written,
    written,
)
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.ir.types import shape_conflict, spell_shape
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings

# --- reshaping --------------------------------------------------------------------------------------------------------
#
# The ops that join and split dimensions of tensors.


def verify_expand(op: Operation) -> str | None:
    """Return what is wrong with the groups of tensor.expand_shape or its output shape, or None."""
    expanded, collapsed = ty.shape_of(op.results[0].type) or (), ty.shape_of(op.operands[0].type) or ()
    written = static_numbers(op, "output_shape")
    if len(written) != len(expanded):
        return (
            f"expected number of static shape dims to be equal to the output rank ({len(expanded)}) "
            f"but found {len(written)} inputs instead"
        )
    dynamic, given = written.count(None), len(op.operands) - 1
    if dynamic != given:
        return (
            "mismatch in dynamic dims in output_shape and static_output_shape: static_output_shape has "
            f"{dynamic} dynamic dims while output_shape has {given} values"
        )
    groups = groups_of(op)
    problem = verify_groups(expanded, collapsed, groups) or verify_sizes(expanded, collapsed, groups)
    if problem is None and ty.element_type(op.operands[0].type) != ty.element_type(op.results[0].type):
        wanted = ty.TensorType(collapsed_shape(expanded, groups), ty.element_type(op.results[0].type))
        return f"expected collapsed type to be '{wanted}', but got '{op.operands[0].type}'"
    return problem


def verify_collapse(op: Operation) -> str | None:
    """Return what is wrong with the groups of tensor.collapse_shape, or None."""
    expanded, collapsed = ty.shape_of(op.operands[0].type) or (), ty.shape_of(op.results[0].type) or ()
    groups = groups_of(op)
    if not groups and collapsed == ():
        wanted = ty.with_element(op.results[0].type, ty.element_type(op.operands[0].type))
        if op.results[0].type != wanted:
            return f"expected collapsed type to be '{wanted}', but got '{op.results[0].type}'"
        return None
    problem = verify_groups(expanded, collapsed, groups) or verify_sizes(expanded, collapsed, groups)
    if problem is None and ty.element_type(op.operands[0].type) != ty.element_type(op.results[0].type):
        wanted = ty.TensorType(collapsed_shape(expanded, groups), ty.element_type(op.operands[0].type))
        return f"expected collapsed type to be '{wanted}', but got '{op.results[0].type}'"
    return problem


def expand(op: Operation, settings: Settings) -> Function:
    """Return the function that runs tensor.expand_shape: the output shape must have as many elements in each group."""
    type_, groups, written = op.results[0].type, groups_of(op), static_numbers(op, "output_shape")

    def split(run: Run, operands: Operands) -> tuple[Any, ...]:
        value = operands[0]
        given = iter(numbers(op, operands[1:], settings))
        shape = tuple([next(given) if size is None else size for size in written])
        conflict = shape_conflict(type_, shape, settings.vscale)
        if conflict:
            raise undefined(op, conflict)
        if min(shape, default=0) < 0 or tuple(prod(shape[axis] for axis in group) for group in groups) != value.shape:
            raise undefined(op, f"the shape {spell_shape(value.shape)} does not split into {list(shape)}")
        return (reshaped(value, type_, shape),)

    return split


def collapse(op: Operation, settings: Settings) -> Function:
    """Return the function that runs tensor.collapse_shape."""
    type_, groups = op.results[0].type, groups_of(op)

    def join(run: Run, operands: Operands) -> tuple[Any, ...]:
        value = operands[0]
        shape = tuple(prod(value.shape[axis] for axis in group) for group in groups)
        conflict = shape_conflict(type_, shape, settings.vscale)
        if conflict or prod(shape) != prod(value.shape):
            raise undefined(op, conflict or f"the shape {spell_shape(value.shape)} does not fit '{type_}'")
        return (reshaped(value, type_, shape),)

    return join


# --- slicing ----------------------------------------------------------------------------------------------------------


def _verify(op: Operation, whole: ty.Type, part: ty.Type, first: int) -> str | None:
    """Return what is wrong with the lists of an op or the type of the part, or None. ``first``: the number of the list
    of offsets in operands.
    """
    lists, shape = written(op), ty.shape_of(whole) or ()
    problem = verify_written(lists, len(shape), [len(group) for group in operand_groups(op)[first:]])
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
    """Return what is wrong with the lists and the result of tensor.extract_slice, or None."""
    return _verify(op, op.operands[0].type, op.results[0].type, 1)


def verify_insert(op: Operation) -> str | None:
    """Return what is wrong with the lists and the part of tensor.insert_slice, or None."""
    return _verify(op, op.operands[1].type, op.operands[0].type, 2)


def extract(op: Operation, settings: Settings) -> Function:
    """Return the function that runs tensor.extract_slice: a part, perhaps without dimensions of size 1."""
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
    """Return the function that runs tensor.insert_slice."""
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
