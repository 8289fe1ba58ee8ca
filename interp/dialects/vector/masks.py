"""The ops that make masks: vector.create_mask and vector.constant_mask."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.elements import Function, Operands
from halfulp.interp.dialects.vector.attributes import integers, scalable_dimensions
from halfulp.interp.dialects.vector.moves import static_shape
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value


def verify_create(op: Operation) -> str | None:
    """Check that there is an operand for each dimension; one for a vector of rank 0."""
    shape = ty.shape_of(op.results[0].type) or ()
    if not shape and len(op.operands) != 1:
        return "must specify exactly one operand for 0-D create_mask"
    if shape and len(op.operands) != len(shape):
        return "must specify an operand for each result vector dimension"
    return None


def verify_constant(op: Operation) -> str | None:
    """Check that the sizes lie inside the vector, and that all are 0 if one is."""
    type_ = op.results[0].type
    assert isinstance(type_, ty.VectorType)
    sizes = integers(op.properties["mask_dim_sizes"])
    if not type_.shape:
        if len(sizes) != 1:
            return Unprefixed("array attr must have length 1 for 0-D vectors")
        return None if sizes[0] in (0, 1) else Unprefixed("mask dim size must be either 0 or 1 for 0-D vectors")
    if len(sizes) != len(type_.shape):
        return "must specify array attr of size equal vector result rank"
    for size, extent, scalable in zip(sizes, type_.shape, scalable_dimensions(type_), strict=True):
        if not 0 <= size <= extent:
            return "array attr of size out of bounds of vector result dimension size"
        if scalable and size not in (0, extent):
            return "only supports 'none set' or 'all set' scalable dimensions"
    if 0 in sizes and any(sizes):
        return "expected all mask dim sizes to be zeros, as a result of conjunction with zero mask dim"
    return None


def _leading(shape: tuple[int, ...], sizes: list[int]) -> npt.NDArray[np.uint8]:
    """Return a mask that is set where each index is below the size for its dimension."""
    mask = np.zeros(shape, np.uint8)
    place = tuple(slice(0, min(max(size, 0), extent)) for size, extent in zip(sizes, shape, strict=False))
    if place:
        mask[place] = 1
    else:
        mask[...] = sizes[0] > 0
    return mask


def create(op: Operation, settings: Settings) -> Function:
    """Return the function of vector.create_mask. A size that is poison makes the whole mask poison."""
    type_ = op.results[0].type
    half = 1 << (settings.index_width - 1)

    def make(run: Run, operands: Operands) -> tuple[Any, ...]:
        shape = static_shape(type_, settings)
        ids = max((int(size.poison) for size in operands if size.poison is not None), default=0)
        if ids:
            poison = np.full(shape, ids, np.uint16)
            return (Value(type_, np.zeros(shape, np.uint8), poison, None, run.origins),)
        sizes = [int(size.bits) for size in operands]
        return (Value(type_, _leading(shape, [size - 2 * half if size & half else size for size in sizes])),)

    return make


def constant(op: Operation, settings: Settings) -> Function:
    """Return the function of vector.constant_mask."""
    type_ = op.results[0].type
    assert isinstance(type_, ty.VectorType)
    sizes = integers(op.properties["mask_dim_sizes"])
    flags = scalable_dimensions(type_)

    def make(run: Run, operands: Operands) -> tuple[Any, ...]:
        scaled = [
            size * (settings.vscale or 1) if scalable else size
            for size, scalable in zip(sizes, flags or (False,), strict=True)
        ]
        return (Value(type_, _leading(static_shape(type_, settings), scaled)),)

    return make
