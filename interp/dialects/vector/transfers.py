"""Evaluation of vector.transfer_read and vector.transfer_write on tensors and memrefs.

A lane outside of the source, above the end of a dimension that ``in_bounds`` does not promise, reads the padding and
writes nothing. So does a lane whose mask is not set. Undefined are: a lane outside where ``in_bounds`` promises that
there is none, a negative index (``in_bounds`` speaks of indices that increase), an index outside of a dimension that
the map does not take, and poison in the mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from halfulp.interp.dialects.elements import Function, picked, repeated, replaced
from halfulp.interp.dialects.indices import numbers, undefined
from halfulp.interp.dialects.vector.attributes import integers
from halfulp.interp.dialects.vector.memory import Mask, Numbers, active_lanes, base_of, elements_at, put_at
from halfulp.interp.dialects.vector.moves import static_shape
from halfulp.interp.dialects.vector.transfer_forms import mask_axes
from halfulp.interp.dialects.vector.transfer_rules import indices_of, parts
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.attributes import AffineMapAttr
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.element_layout import spell_shape
from halfulp.interp.values.value import Value

Operands = Sequence[Any]


class _Transfer:
    """The lanes of one transfer: which of them access the source, and where."""

    def __init__(self, op: Operation, vector: ty.Type, settings: Settings, masked: bool) -> None:
        self.op = op
        self.vector = vector
        self.settings = settings
        self.masked = masked
        self.source, self.first, self.data, self.mask = parts(op)
        self.count = indices_of(op)
        map_ = op.properties["permutation_map"]
        assert isinstance(map_, AffineMapAttr)
        self.map = map_
        self.promised = integers(op.properties["in_bounds"])
        # For each dimension of the source, the axis of the vector along which the index increases.
        self.axes = {expr.position: axis for axis, expr in enumerate(map_.results) if isinstance(expr, Dimension)}
        source = op.operands[self.source].type
        if ty.element_type(source) != ty.element_type(vector):
            raise Unsupported(
                f"cannot execute '{op.name}' between elements of '{source}' and '{vector}'",
                location=op.location,
                op=op.name,
            )

    def lanes(self, operands: Operands, shape: tuple[int, ...], size: tuple[int, ...]) -> tuple[Mask, list[Numbers]]:
        """Return the lanes that access a source of shape ``size``, and their indices."""
        start = numbers(self.op, operands[self.first : self.first + self.count], self.settings)
        active = self._unmasked(operands, shape)
        indices: list[Numbers] = []
        for dimension, (index, extent) in enumerate(zip(start, size, strict=True)):
            axis = self.axes.get(dimension)
            along = np.array(min(index, extent), np.int64)  # far behind the end, sums would overflow
            if axis is not None:
                ahead = [1] * len(shape)
                ahead[axis] = shape[axis]
                along = (along + np.arange(shape[axis], dtype=np.int64)).reshape(ahead)
            indices.append(along)
            inside = along < extent
            open_ended = axis is not None and not self.promised[axis]
            outside = active & (along < 0) if open_ended else active & ((along < 0) | ~inside)
            if outside.any():
                raise self._outside(np.argwhere(outside)[0], start, size)
            if open_ended:
                active = active & inside
        return active, [np.broadcast_to(index, shape)[active] for index in indices]

    def _unmasked(self, operands: Operands, shape: tuple[int, ...]) -> Mask:
        masks = [operands[self.mask]] if self.mask is not None else []
        masks += [operands[len(self.op.operands)]] if self.masked else []
        active = np.ones(shape, np.bool_)
        order = mask_axes(self.map)
        for mask in masks:
            lanes = active_lanes(self.op, mask)
            spread = [1] * len(shape)
            for axis in order:
                spread[axis] = shape[axis]
            active = active & lanes.reshape([shape[axis] for axis in order]).transpose(np.argsort(order)).reshape(
                spread
            )
        return active

    def _outside(self, lane: Any, start: tuple[int, ...], size: tuple[int, ...]) -> Exception:
        where = [
            index + (int(lane[self.axes[dimension]]) if dimension in self.axes else 0)
            for dimension, index in enumerate(start)
        ]
        return undefined(
            self.op, f"element {lane.tolist()} of the vector: index {where} is outside the shape {spell_shape(size)}"
        )


def read(op: Operation, settings: Settings, masked: bool = False) -> Function:
    """Return the function of vector.transfer_read. ``masked``: it is inside vector.mask, whose mask and, if there is
    one, value for the lanes left out are further operands.
    """
    type_ = op.results[0].type

    def transfer(run: Run, operands: Operands) -> tuple[Any, ...]:
        lanes = _Transfer(op, type_, settings, masked)
        shape = static_shape(type_, settings)
        base = base_of(op, operands[lanes.source], lanes.source)
        active, indices = lanes.lanes(operands, shape, base.shape)
        padding: Value = repeated(operands[lanes.data], shape, type_)
        if masked and len(operands) > len(op.operands) + 1:
            left_out = ~lanes._unmasked(operands, shape)
            other = operands[len(op.operands) + 1]
            padding = replaced(run, padding, (left_out,), picked(other, (left_out,), _some(other, left_out)))
        if not active.any():
            return (padding,)
        return (replaced(run, padding, (active,), elements_at(op, run, base, indices)),)

    return transfer


def write(op: Operation, settings: Settings, masked: bool = False) -> Function:
    """Return the function of vector.transfer_write. ``masked``: it is inside vector.mask, whose mask is one more
    operand.
    """

    def transfer(run: Run, operands: Operands) -> tuple[Any, ...]:
        lanes = _Transfer(op, op.operands[0].type, settings, masked)
        vector = operands[lanes.data]
        base = base_of(op, operands[lanes.source], lanes.source)
        active, indices = lanes.lanes(operands, vector.shape, base.shape)
        if not active.any():
            return (base,) * len(op.results)
        return put_at(op, run, base, indices, picked(vector, (active,), _some(vector, active)))

    return transfer


def _some(value: Value, lanes: Mask) -> ty.Type:
    return ty.TensorType((int(np.count_nonzero(lanes)),), value.element_type)
