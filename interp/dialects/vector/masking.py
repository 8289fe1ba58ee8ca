"""The region vector.mask: one op inside it runs under a mask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from halfulp.interp.dialects.elements import Function, picked, repeated, replaced
from halfulp.interp.dialects.slices import numbers
from halfulp.interp.dialects.vector import memory, reductions
from halfulp.interp.dialects.vector.forms import indices_of, mask_axes, mask_type, parts
from halfulp.interp.dialects.vector.memory import Mask, Numbers, active_lanes, base_of, elements_at, put_at
from halfulp.interp.dialects.vector.moves import integers, scalable_dimensions, static_shape, vector_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.attributes import AffineMapAttr, ArrayAttr
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, SSAValue, undefined
from halfulp.interp.ir.types import spell_shape
from halfulp.interp.run.evaluators import Compiler, OnValues, Words, passing
from halfulp.interp.run.frames import Action, Frame, Run, Segment
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.steps import general_step
from halfulp.interp.values.lanes import alike
from halfulp.interp.values.value import Value
from halfulp.interp.verifier import problem_of

# --- transfers --------------------------------------------------------------------------------------------------------
#
# Evaluation of vector.transfer_read and vector.transfer_write on tensors and memrefs.
#
# A lane outside of the source, above the end of a dimension that ``in_bounds`` does not promise, reads the padding and
# writes nothing. So does a lane whose mask is not set. Undefined are: a lane outside where ``in_bounds`` promises that
# there is none, a negative index (``in_bounds`` speaks of indices that increase), an index outside of a dimension that
# the map does not take, and poison in the mask.

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
        map_ = op.prop("permutation_map", AffineMapAttr)
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
    """Return the function that runs vector.transfer_read. ``masked``: it is inside vector.mask; further operands are
    the mask and, if there is one, the value for the lanes that are left out.
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
    """Return the function that runs vector.transfer_write. ``masked``: it is inside vector.mask, whose mask is one more
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


# --- masking ----------------------------------------------------------------------------------------------------------

_PASSTHRU = "vector.transfer_read"
"""The one op that takes a value for the lanes that the mask leaves out."""

# --- masks of each op -----------------------------------------------------------------------------------------------


def _of_shape(type_: ty.Type) -> ty.Type:
    assert isinstance(type_, ty.VectorType)
    return ty.VectorType(type_.shape, ty.I1, type_.scalable)


def _of_transfer(op: Operation) -> ty.Type:
    vector = op.results[0].type if op.name == "vector.transfer_read" else op.operands[parts(op)[2]].type
    map_ = op.prop("permutation_map", AffineMapAttr)
    assert isinstance(vector, ty.VectorType)
    return mask_type(vector, map_)


def _of_contract(op: Operation) -> ty.Type:
    maps = op.prop("indexing_maps", ArrayAttr)
    sizes: dict[int, tuple[int, bool]] = {}
    for map_, value in zip(maps.elements[:2], op.operands, strict=False):
        assert isinstance(map_, AffineMapAttr)
        assert isinstance(value.type, ty.VectorType)
        dimensions = (expr.position for expr in map_.results if isinstance(expr, Dimension))
        sizes |= dict(zip(dimensions, zip(value.type.shape, scalable_dimensions(value.type), strict=True), strict=True))
    shape, flags = zip(*(sizes[dimension] for dimension in sorted(sizes)), strict=True)
    return vector_of(shape, ty.I1, flags)


_MASKABLE: Mapping[str, tuple[Callable[[Operation], ty.Type], Callable[..., Function]]] = {
    "vector.contract": (_of_contract, reductions.contract),
    "vector.gather": (lambda op: _of_shape(op.operands[-3].type), memory.gather),
    "vector.multi_reduction": (lambda op: _of_shape(op.operands[0].type), reductions.multi_reduce),
    "vector.outerproduct": (lambda op: _of_shape(op.results[0].type), reductions.outer_product),
    "vector.reduction": (lambda op: _of_shape(op.operands[0].type), reductions.reduce_vector),
    "vector.transfer_read": (_of_transfer, read),
    "vector.transfer_write": (_of_transfer, write),
}
"""For each op that can be masked: the type of its mask, and its function under one."""


def verify(op: Operation) -> str | None:
    """Return an error message unless the region holds at most one op, which can be masked, and returns its results."""
    operations = op.regions[0].blocks[0].operations
    if not operations:
        return "expects a terminator within the mask region"
    if len(operations) > 2:
        return "expects only one operation to mask"
    end = operations[-1]
    if end.name != "vector.yield":
        return "expects a terminator within the mask region"
    if len(end.operands) != len(op.results):
        return "expects number of results to match mask region yielded values"
    if len(operations) == 1:
        return None
    inner = operations[0]
    if inner.name not in _MASKABLE:
        return "expects a MaskableOpInterface within the mask region"
    if len(inner.results) != len(op.results):
        return "expects number of results to match maskable operation number of results"
    if list(inner.results) != end.operands:
        return "expects all the results from the MaskableOpInterface to match all the values returned by the terminator"
    if [result.type for result in inner.results] != [result.type for result in op.results]:
        return "expects result type to match maskable operation result type"
    if (problem := problem_of(inner)) is not None:  # the mask of an invalid op is not known
        raise problem
    expected = _MASKABLE[inner.name][0](inner)
    if op.operands[0].type != expected:
        return f"expects a '{expected}' mask for the maskable operation"
    if len(op.operands) < 2:
        return None
    if inner.name != _PASSTHRU:
        return "doesn't expect a passthru argument for this maskable operation"
    if len(inner.results) != 1:
        return "expects result when passthru argument is provided"
    same = op.operands[1].type == inner.results[0].type
    return None if same else "expects passthru type to match result type"


# --- evaluation -------------------------------------------------------------------------------------------------------


def _around(op: Operation) -> Operation | None:
    """Return the vector.mask around an op."""
    around = op.parent_op
    return around if around is not None and around.name == "vector.mask" else None


def _reads(op: Operation) -> Sequence[SSAValue]:
    around = _around(op)
    return op.operands if around is None else [*op.operands, *around.operands]


def maskable(name: str, words: Words | None = None) -> OnValues:
    """Return the evaluator of an op that may be inside vector.mask. ``words``: see `OnValues`."""
    build = _MASKABLE[f"vector.{name}"][1]
    return OnValues(lambda op, settings: build(op, settings, _around(op) is not None), reads=_reads, words=words)


def mask(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs vector.mask. If no op is inside, the lanes that the mask leaves out have the passthru
    value.
    """
    region, results = op.regions[0], compiler.slots(op.results)
    if len(op.operands) < 2 or len(region.blocks[0].operations) > 1:
        return passing((), compiler.region(region, compiler.resume(op)))

    finish = compiler.resume(op)(results)

    def choosing(sources: Sequence[int]) -> Action:
        lanes, other = op.operands
        (one,) = region.blocks[0].operations[-1].operands
        wanted = op.results[0].type
        if ty.shape_of(lanes.type) != ty.shape_of(wanted) or {one.type, other.type} != {wanted}:
            raise Unsupported(
                f"a mask of type '{lanes.type}' cannot choose from '{one.type}' and '{other.type}' for '{wanted}'",
                location=op.location,
                op=op.name,
            )
        read = compiler.slots([lanes]) + tuple(sources) + compiler.slots([other])
        step = general_step(_choose, op, read, results, [lanes, op.results[0], other])

        def choose(frame: Frame) -> Segment | None:
            step(frame.slots)
            return finish(frame)

        return choose

    return passing((), compiler.region(region, choosing))


def _choose(run: Run, operands: tuple[Value, ...]) -> tuple[Value, ...]:
    lanes, one, other = alike(*operands)
    return (reductions.chosen(run, lanes.bits != 0, one, other),)
