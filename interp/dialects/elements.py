"""Parts of values: take them, move them, replace them, repeat them, and put scalars together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import LimitExceeded, spell_place
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.element_layout import code_layout, runtime_shape, shape_problem
from halfulp.interp.values.value import Value
from halfulp.semantics.poison import Origin

Operands = tuple[Value, ...]
Function = Callable[[Run, Operands], tuple[Any, ...]]
Move = Callable[[npt.NDArray[Any], tuple[int, ...]], npt.NDArray[Any]]
"""Moves the elements of an array, of which each has the shape given second in the last axes."""


def poison_ids(op: Operation, run: Run, settings: Settings, where: npt.NDArray[np.bool_], reason: str) -> Any:
    """Return the ids of poison that an op makes of the elements in a mask, and tell the listeners. None for an empty
    mask.
    """
    count = int(np.count_nonzero(where))
    if not count:
        return None
    first = tuple(int(index) for index in np.unravel_index(int(where.argmax()), where.shape))
    origin = Origin(op.name, spell_place(op.location), reason, first)
    for listener in settings.listeners:
        listener.poison_born(op, origin, count)
    return np.where(where, np.uint16(run.origins.id_of(origin)), np.uint16(0))


def poisoned(op: Operation, run: Run, settings: Settings, type_: ty.Type, reason: str) -> Value:
    """Return a value of a static type, every element of which is poison that the op makes."""
    shape = tuple(size or 0 for size in runtime_shape(type_, settings.vscale) or ())
    check_allocation(type_, shape, settings)
    dtype, trailing = code_layout(ty.element_type(type_))
    ids = poison_ids(op, run, settings, np.ones(shape, np.bool_), reason)
    return Value(type_, np.zeros(shape + trailing, dtype), ids, None, None if ids is None else run.origins)


def picked(value: Value, index: tuple[Any, ...], type_: ty.Type) -> Value:
    """Return a part of a value."""
    poison = None if value.poison is None else np.asarray(value.poison[index])
    if poison is not None and not poison.any():
        poison = None
    open_ = None if value.open is None else np.asarray(value.open[index])
    return Value(type_, np.asarray(value.bits[index]).copy(), poison, open_, value.origins)


def replaced(run: Run, whole: Value, index: tuple[Any, ...], part: Value) -> Value:
    """Return ``whole`` with ``part`` in place of what is at ``index``."""
    bits = whole.bits.copy()
    bits[index] = part.bits
    poison = _replaced(whole.poison, whole.shape, index, part.poison)
    open_ = _replaced(whole.open, whole.shape, index, part.open)
    if poison is not None and not poison.any():
        poison = None
    return Value(whole.type, bits, poison, open_, None if poison is None else run.origins)


def _replaced(marks: Any, shape: tuple[int, ...], index: tuple[Any, ...], part: Any) -> Any:
    """Return the marks of a whole with those of a part in their place. Without marks all are 0."""
    if marks is None and part is None:
        return None
    marks = np.zeros(shape, part.dtype) if marks is None else marks.copy()
    marks[index] = 0 if part is None else part
    return marks


def repeated(value: Value, shape: tuple[int, ...], type_: ty.Type, axes: int = 0) -> Value:
    """Return a value repeated over new leading axes; ``axes`` is its own rank in the result."""
    bits = np.broadcast_to(value.bits, shape + value.bits.shape[axes:])
    poison = None if value.poison is None else np.broadcast_to(value.poison, shape)
    open_: Any = None if value.open is None else np.broadcast_to(value.open, shape)
    return Value(type_, bits, poison, open_, value.origins)


def stacked(run: Run, elements: Operands, shape: tuple[int, ...], type_: ty.Type) -> Value:
    """Return scalars as the elements of an array, in row-major order."""
    if not elements:
        dtype, trailing = code_layout(ty.element_type(type_))
        return Value(type_, np.zeros(shape + trailing, dtype))
    bits = np.stack([value.bits for value in elements])
    bits = bits.reshape(shape + bits.shape[1:])
    poison, open_ = (
        _joined(marks, elements, lambda arrays: np.stack(arrays).reshape(shape))
        for marks in ([value.poison for value in elements], [value.open for value in elements])
    )
    return Value(type_, bits, poison, open_, None if poison is None else run.origins)


def rearranged(value: Value, type_: ty.Type, move: Move) -> Value:
    """Return a value whose elements were moved."""
    trailing = value.bits.shape[len(value.shape) :]
    poison = None if value.poison is None else move(value.poison, ())
    if poison is not None and not poison.any():
        poison = None
    open_ = None if value.open is None else move(value.open, ())
    return Value(type_, move(value.bits, trailing), poison, open_, None if poison is None else value.origins)


def reshaped(value: Value, type_: ty.Type, shape: tuple[int, ...]) -> Value:
    """Return a value with the same elements, in row-major order, in another shape. Raises LimitExceeded."""
    problem = shape_problem(shape)
    if problem:
        raise LimitExceeded(f"a value of type '{type_}' {problem}")
    return rearranged(value, type_, lambda array, trailing: array.reshape(shape + trailing))


Join = Callable[[list[npt.NDArray[Any]]], npt.NDArray[Any]]
"""Makes one array of several. The last axes, those of one element, stay as they are."""


def combined(run: Run, values: Sequence[Value], type_: ty.Type, join: Join) -> Value:
    """Return a value whose elements are those of several values, put together."""
    poison = _joined([value.poison for value in values], values, join)
    open_ = _joined([value.open for value in values], values, join)
    if poison is not None and not poison.any():
        poison = None
    bits = join([value.bits for value in values])
    return Value(type_, bits, poison, open_, None if poison is None else run.origins)


def _joined(masks: Sequence[Any], values: Sequence[Value], join: Join) -> Any:
    dtype = next((mask.dtype for mask in masks if mask is not None), None)
    if dtype is None:
        return None
    return join(
        [np.zeros(value.shape, dtype) if mask is None else mask for mask, value in zip(masks, values, strict=True)]
    )
