"""The ops that join and split dimensions of tensors."""

from __future__ import annotations

from math import prod
from typing import Any

from halfulp.interp.dialects.elements import Function, Operands, reshaped
from halfulp.interp.dialects.indices import numbers, undefined
from halfulp.interp.dialects.reassociation import collapsed_shape, groups_of, verify_groups, verify_sizes
from halfulp.interp.dialects.slices import static_numbers
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.element_layout import shape_conflict, spell_shape


def verify_expand(op: Operation) -> str | None:
    """Check the groups of tensor.expand_shape, and its output shape."""
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
    """Check the groups of tensor.collapse_shape."""
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
    """Return the function of tensor.expand_shape: the output shape must have as many elements in each group."""
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
    """Return the function of tensor.collapse_shape."""
    type_, groups = op.results[0].type, groups_of(op)

    def join(run: Run, operands: Operands) -> tuple[Any, ...]:
        value = operands[0]
        shape = tuple(prod(value.shape[axis] for axis in group) for group in groups)
        conflict = shape_conflict(type_, shape, settings.vscale)
        if conflict or prod(shape) != prod(value.shape):
            raise undefined(op, conflict or f"the shape {spell_shape(value.shape)} does not fit '{type_}'")
        return (reshaped(value, type_, shape),)

    return join
