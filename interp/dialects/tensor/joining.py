"""The ops that join tensors (concat), and those that return a tensor as another type (bitcast, cast, reshape)."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.dialects.elements import Function, Operands, combined, reshaped
from halfulp.interp.dialects.elementwise import sizes_agree
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import Attribute
from halfulp.interp.ir.operations import Operation, Rule, undefined
from halfulp.interp.ir.types import shape_conflict, spell_shape
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.value import Value, retyped

# --- types ------------------------------------------------------------------------------------------------------------


def _fits(one: ty.Shape | None, other: ty.Shape | None) -> bool:
    """Tell whether two shapes may be the same at run time."""
    return one is None or other is None or sizes_agree(one, other)


def _castable(same_element: Callable[[ty.Type, ty.Type], bool]) -> Rule:
    def verify(op: Operation) -> str | None:
        source, target = op.operands[0].type, op.results[0].type
        if _fits(ty.shape_of(source), ty.shape_of(target)) and same_element(
            ty.element_type(source), ty.element_type(target)
        ):
            return None
        return f"operand type '{source}' and result type '{target}' are cast incompatible"

    return verify


verify_cast = _castable(lambda one, other: one == other)
verify_bitcast = _castable(lambda one, other: ty.element_width(one) == ty.element_width(other))


def cast(op: Operation, settings: Settings) -> Function:
    """Return the function that runs tensor.cast and tensor.bitcast: the same bits as another type."""
    type_ = op.results[0].type

    def retype(run: Run, operands: Operands) -> tuple[Any, ...]:
        (value,) = operands
        conflict = shape_conflict(type_, value.shape, settings.vscale)
        if conflict:
            raise undefined(op, conflict)
        return (retyped(value, type_),)

    return retype


# --- concat -----------------------------------------------------------------------------------------------------------


def _axis(op: Operation) -> int:
    dim = op.prop("dim", at.IntegerAttr)
    return dim.value


def verify_concat(op: Operation) -> str | None:
    """Return what is wrong with the inputs of tensor.concat against each other and against the result, or None."""
    if not op.operands:
        return "requires at least one input"
    result = op.results[0].type
    shapes = [ty.shape_of(value.type) or () for value in op.operands]
    rank, axis = len(ty.shape_of(result) or ()), _axis(op)
    if any(len(shape) != rank for shape in shapes):
        return "rank of concatenated inputs must match result rank"
    if not 0 <= axis < rank:
        return "concatenation dim must be less than the tensor rank"
    element = ty.element_type(result)
    if any(ty.element_type(value.type) != element for value in op.operands):
        return "inputs and result element type must match"
    inferred: list[int | None] = []
    for dimension in range(rank):
        sizes = [shape[dimension] for shape in shapes]
        known = [size for size in sizes if size is not None]
        if dimension == axis:
            inferred.append(sum(known) if len(known) == len(sizes) else None)
            continue
        if len(set(known)) > 1:
            return f"static concatenation size mismatch along non-concatenated dimension {dimension}"
        inferred.append(known[0] if known else None)
    if not _fits(tuple(inferred), ty.shape_of(result)):
        return (
            f"result type '{result}'does not match inferred shape '{ty.TensorType(tuple(inferred), element)}' "
            "static sizes"
        )
    return None


def concat(op: Operation, settings: Settings) -> Function:
    """Return the function that runs tensor.concat."""
    type_, axis = op.results[0].type, _axis(op)

    def join(run: Run, operands: Operands) -> tuple[Any, ...]:
        first = operands[0].shape
        for number, value in enumerate(operands):
            if any(a != b for k, (a, b) in enumerate(zip(first, value.shape, strict=True)) if k != axis):
                raise undefined(
                    op, f"input {number} has the shape {spell_shape(value.shape)}, input 0 {spell_shape(first)}"
                )
        shape = (*first[:axis], sum(value.shape[axis] for value in operands), *first[axis + 1 :])
        conflict = shape_conflict(type_, shape, settings.vscale)
        if conflict:
            raise undefined(op, conflict)
        check_allocation(type_, shape, settings)
        return (combined(run, operands, type_, lambda arrays: np.concatenate(arrays, axis)),)

    return join


# --- reshape ----------------------------------------------------------------------------------------------------------


def is_list_of_sizes(type_: ty.Type) -> bool:
    """Tell whether a type is that of the operand ``shape`` of tensor.reshape."""
    shape, element = ty.shape_of(type_), ty.element_type(type_)
    sizes = ty.is_signless(element) or isinstance(element, ty.IndexType)
    return isinstance(type_, ty.TensorType) and len(shape or ()) == 1 and sizes


def verify_reshape(op: Operation) -> str | None:
    """Return what is wrong with the types of tensor.reshape, or None."""
    source, target = op.operands[0].type, op.results[0].type
    (length,) = ty.shape_of(op.operands[1].type) or (None,)
    if ty.element_type(source) != ty.element_type(target):
        return "element types of source and destination tensor types should be the same"
    one, two = ty.element_count(source), ty.element_count(target)
    shape = ty.shape_of(target)
    if shape is not None and one is not None and two is not None and one != two:
        return "source and destination tensor should have the same number of elements"
    if shape is not None and length is None:
        return "cannot use shape operand with dynamic length to reshape to statically-ranked tensor type"
    if shape is not None and length != len(shape):
        return "length of shape operand differs from the result's tensor rank"
    return None


def reshape(op: Operation, settings: Settings) -> Function:
    """Return the function that runs tensor.reshape."""
    type_ = op.results[0].type

    def change(run: Run, operands: Operands) -> tuple[Any, ...]:
        value, sizes = operands
        shape = tuple(elements_as_numbers(op, sizes, settings, "the shape"))
        conflict = shape_conflict(type_, shape, settings.vscale)
        if conflict or min(shape, default=0) < 0 or prod(shape) != prod(value.shape):
            raise undefined(
                op, conflict or f"a tensor of shape {spell_shape(value.shape)} cannot be reshaped to {list(shape)}"
            )
        return (reshaped(value, type_, shape),)

    return change


def elements_as_numbers(op: Operation, value: Value, settings: Settings, what: str) -> list[int]:
    """Return the elements of a tensor of integers or index as signed numbers. Raises UndefinedBehavior for poison."""
    return [int(number) for number in signed_elements(op, value, settings, what).ravel()]


def signed_elements(op: Operation, value: Value, settings: Settings, what: str) -> Any:
    """Return a tensor of integers or index as an array of signed numbers. Raises UndefinedBehavior for poison."""
    if value.poison is not None:
        where = tuple(int(k) for k in np.argwhere(value.poison)[0])
        raise undefined(op, f"element {list(where)} of {what} is poison: {value.origin(*where)}")
    element = ty.element_type(value.type)
    width = settings.width(element)
    if width > 64:
        numbers = [code - (1 << width) if code >> (width - 1) else code for code in codes_to_ints(value.bits, width)]
        return np.array(numbers, object).reshape(value.shape)
    if width == 0:
        return value.bits.astype(np.int64)
    shift = np.uint64(64 - width)
    return (value.bits.astype(np.uint64) << shift).view(np.int64) >> shift.astype(np.int64)


def attribute_numbers(attribute: Attribute) -> tuple[int, ...]:
    """Return the numbers of a dense array attribute."""
    assert isinstance(attribute, at.DenseArrayAttr)
    return tuple(int(number) for number in attribute.values)
