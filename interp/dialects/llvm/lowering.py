"""Numbers and vectors as the llvm dialect has them: a vector of several dimensions is an array of vectors, one without
dimensions has one element, and a complex number is a struct of its parts.

`lowered_type` gives the type, `lowered` and `raised` what a slot holds there for a value, and back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from halfulp.interp.dialects.llvm import types as llvm
from halfulp.interp.dialects.llvm.aggregates import part_types
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.run.slots import lift, lower
from halfulp.interp.values.elements import common_origins
from halfulp.interp.values.elementwise import joined, moved
from halfulp.interp.values.lanes import taken
from halfulp.interp.values.value import Value
from halfulp.semantics.poison import merged_ids


def lowered_type(type_: ty.Type) -> ty.Type:
    """Return the type of the llvm dialect for a number, a complex number or a vector. Raises Unsupported."""
    if isinstance(type_, ty.IndexType):
        return ty.I64
    if isinstance(type_, ty.ComplexType):
        part = lowered_type(type_.element)
        return llvm.StructType(body=(part, part))
    if isinstance(type_, ty.VectorType) and not any(type_.scalable):
        *outer, last = type_.shape or (1,)
        inner: ty.Type = ty.VectorType((last,), lowered_type(type_.element))
        for size in reversed(outer):
            inner = llvm.ArrayType(size=size, element=inner)
        return inner
    if isinstance(type_, ty.IntegerType):
        return ty.IntegerType(type_.width)
    if isinstance(type_, ty.FloatType):
        return type_ if llvm.is_float(type_) else ty.IntegerType(ty.width_of(type_))
    raise Unsupported(f"values of type '{type_}' are not passed to functions of the llvm dialect")


def lowered(value: Value) -> Any:
    """Return what a slot of the lowered type holds for a value. Raises Unsupported."""
    return _lowered(value, lowered_type(value.type))


def _lowered(value: Value, type_: ty.Type) -> Any:
    if isinstance(type_, llvm.ArrayType):
        return tuple([_lowered(taken(value, place), type_.element) for place in range(type_.size)])
    if isinstance(type_, llvm.StructType):
        parts = enumerate(part_types(type_) or ())
        return tuple([lower(Value(part, value.bits[k], value.poison, value.open, value.origins)) for k, part in parts])
    return lower(_shaped(value, type_))


def _shaped(value: Value, type_: ty.Type) -> Value:
    """Return the same elements as a value of another type, whose shape may be another one."""
    shape = type_.shape if isinstance(type_, ty.VectorType) else ()
    found = moved(value, lambda array: array.reshape(shape))
    return Value(type_, found.bits, found.poison, found.open, found.origins)


def raised(slot: Any, type_: ty.Type) -> Value:
    """Return a value from what a slot of its lowered type holds. Raises Unsupported."""
    leaves = list(_leaves(slot, lowered_type(type_)))
    if isinstance(type_, ty.ComplexType):
        poisons, origins = common_origins(leaves)
        bits = np.stack([leaf.bits for leaf in leaves])
        return Value(type_, bits, merged_ids(poisons, ()), _mark_of_both(leaves), origins)
    return _shaped(joined(leaves, np.stack), type_)


def _mark_of_both(parts: list[Value]) -> Any:
    """Return the mark of a complex number: all that is unspecified in its parts, or the later id of a recorder."""
    marks = [part.open for part in parts if part.open is not None]
    if not marks:
        return None
    return (np.bitwise_or if marks[0].dtype == np.uint8 else np.maximum).reduce(marks)


def _leaves(slot: Any, type_: ty.Type) -> Iterator[Value]:
    """Yield the numbers and vectors in a nest of structs and arrays."""
    parts = part_types(type_)
    if parts is None:
        yield lift(slot, type_)
        return
    for inner, part in zip(slot, parts, strict=True):
        yield from _leaves(inner, part)
