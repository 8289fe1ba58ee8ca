"""The values of the shape dialect's types at run time, each the one element of a `Value` that is carried.

A shape or a size may be an error. An op passes it on where its result may be one; elsewhere the op is undefined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfulp.interp.dialects.indices import undefined
from halfulp.interp.dialects.shape.types import SHAPE, SIZE, VALUE_SHAPE, WITNESS
from halfulp.interp.dialects.tensor.joining import elements_as_numbers
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.element_layout import shape_conflict
from halfulp.interp.values.value import Value
from halfulp.semantics.poison import first_place

Extents = tuple[int, ...]


class ErrorShapeError(Exception):
    """The error that a shape or a size is."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A shape or a size that is an error, or a constraint that does not hold."""

    why: str

    def __str__(self) -> str:
        return f"error: {self.why}"


@dataclass(frozen=True, slots=True)
class Held:
    """A shape (its extents), a size, or a constraint that holds (True)."""

    content: Extents | int | bool

    def __str__(self) -> str:
        return str(list(self.content) if isinstance(self.content, tuple) else self.content).lower()


@dataclass(frozen=True, slots=True)
class ValueShape:
    """A value, if there is one, and its shape."""

    value: Value | None
    shape: Extents | Failed

    def __str__(self) -> str:
        return f"{'a value' if self.value is not None else 'no value'} of shape {self.shape}"


def carried(type_: ty.Type, element: Any) -> Value:
    """Return a value of a type of this dialect."""
    codes = np.empty((), object)
    codes[()] = element
    return Value(type_, codes)


def content(op: Operation, value: Value) -> Any:
    """Return what a value of a type of this dialect holds. Raises UndefinedBehavior for poison."""
    if value.poison is not None:
        raise undefined(op, f"an operand is poison: {value.origin()}")
    return value.bits[()]


def extents_of(op: Operation, value: Any, settings: Settings) -> Extents:
    """Return the extents of a shape, a list of sizes, or a value with its shape. Raises ErrorShapeError."""
    if isinstance(value, Buffer):
        return value.shape
    if value.type not in (SHAPE, VALUE_SHAPE):
        return tuple(elements_as_numbers(op, value, settings, "the extents"))
    held = content(op, value)
    found: Any = held.shape if isinstance(held, ValueShape) else held
    if isinstance(found, Failed):
        raise ErrorShapeError(found.why)
    extents: Extents = getattr(found, "content", found)
    return extents


def number_of(op: Operation, value: Value, settings: Settings) -> int:
    """Return a size or an index as a number. Raises ErrorShapeError, and UndefinedBehavior for poison."""
    if value.type == SIZE:
        held = content(op, value)
        if isinstance(held, Failed):
            raise ErrorShapeError(held.why)
        return int(held.content)
    return elements_as_numbers(op, value, settings, "the operand")[0]


def result_of(op: Operation, type_: ty.Type, found: Extents | int | Failed, settings: Settings) -> Value:
    """Return a result, as the type of it holds it. Raises UndefinedBehavior for an error that it cannot hold."""
    if type_ in (SHAPE, SIZE):
        return carried(type_, found if isinstance(found, Failed) else Held(found))
    if isinstance(found, Failed):
        raise undefined(op, found.why)
    mask = (1 << settings.width(ty.INDEX)) - 1
    if isinstance(found, int):
        return Value(type_, np.array(found & mask, np.uint64))
    conflict = shape_conflict(type_, (len(found),), settings.vscale)
    if conflict:
        raise undefined(op, conflict)
    return Value(type_, np.array([number & mask for number in found], np.uint64))


def witness(why: str | None) -> Value:
    """Return a constraint that holds, or that does not: ``why`` says the reason."""
    return carried(WITNESS, Held(True) if why is None else Failed(why))


def broken(witnesses: Sequence[Value]) -> str | None:
    """Return why one of several constraints does not hold, in any lane; None where all hold."""
    lost = next((value for value in witnesses if value.poison is not None), None)
    if lost is not None:
        return f"a constraint is poison: {lost.origin(*first_place(lost.poisoned))}"
    found = (held for value in witnesses for held in value.bits.ravel())
    return next((held.why for held in found if isinstance(held, Failed)), None)
