"""New tensors: their shapes, and elements that were never written."""

from __future__ import annotations

from typing import Any

import numpy as np

from halfulp.interp.dialects.elements import Function, Operands
from halfulp.interp.dialects.indices import numbers, undefined
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import spell_place
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.element_layout import code_layout
from halfulp.interp.values.value import Value
from halfulp.semantics.poison import Origin


def result_shape(op: Operation, type_: ty.Type, sizes: tuple[int, ...], settings: Settings) -> tuple[int, ...]:
    """Return the shape of a result whose dynamic dimensions are operands. Raises UndefinedBehavior, LimitExceeded."""
    given = iter(sizes)
    shape = tuple(next(given) if size is None else size for size in ty.shape_of(type_) or ())
    if any(size < 0 for size in shape):
        raise undefined(op, f"the shape {list(shape)} has a negative size")
    check_allocation(type_, shape, settings)
    return shape


def unwritten(op: Operation, run: Run, type_: ty.Type, shape: tuple[int, ...], settings: Settings) -> Value:
    """Return a tensor whose elements are all poison, because they were never written."""
    dtype, trailing = code_layout(ty.element_type(type_))
    origin = Origin(op.name, spell_place(op.location), f"an element of {op.name} was never written", (0,) * len(shape))
    # One element stands for all: most of these tensors are written as a whole, and never read.
    ids = np.broadcast_to(np.array(run.origins.id_of(origin), np.uint16), shape)
    codes = np.broadcast_to(np.zeros(trailing, dtype), shape + trailing)
    for listener in settings.listeners if ids.size else ():
        listener.poison_born(op, origin, ids.size)
    return Value(type_, codes, ids if ids.size else None, None, run.origins)


def empty(op: Operation, settings: Settings) -> Function:
    """Return the function of tensor.empty."""
    type_ = op.results[0].type

    def make(run: Run, sizes: Operands) -> tuple[Any, ...]:
        shape = result_shape(op, type_, numbers(op, sizes, settings), settings)
        return (unwritten(op, run, type_, shape, settings),)

    return make
