"""The ops that access single elements of memory or tensors under a mask: gathers, scatters, masked loads and stores.

A lane whose mask is 0 accesses nothing. A lane whose mask or index is poison is undefined behaviour, since MLIR's
lowerings branch on the mask. An index outside of the dimension that it belongs to is undefined too, though the place
may lie inside memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.dialects.elements import Function, picked, replaced
from halfulp.interp.dialects.memref.evaluate import living
from halfulp.interp.dialects.slices import numbers
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, Rule, undefined, unsupported
from halfulp.interp.ir.types import spell_shape
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Buffer, load_at, store_at
from halfulp.interp.values.value import Value

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Operands = Sequence[Any]

# --- verification -----------------------------------------------------------------------------------------------------


def verifier(data: str, what: str, indexed: bool = False, shapes: str = "dim") -> Rule:
    """Return the function that verifies an op on a base, indices, a mask and data.

    ``data``: MLIR's name for the data. ``what``: MLIR's name for the vector that must match the data. ``indexed``: True
    if there is a vector of indices before the mask. ``shapes``: MLIR's word for a shape.
    """

    def verify(op: Operation) -> str | None:
        base, given = op.operands[0].type, op.operands[-1].type
        mask = op.operands[-2].type
        loads = data == "pass_thru"
        vector = op.results[0].type if loads else given
        rank = len(ty.shape_of(base) or ())
        if ty.element_type(base) != ty.element_type(vector):
            return f"base and {what} element type should match"
        if len(op.operands) - 3 - indexed != rank:
            return f"requires {rank} indices"
        if indexed and ty.shape_of(op.operands[-3].type) != ty.shape_of(vector):
            return f"expected {what} dim to match indices dim"
        if ty.shape_of(mask) != ty.shape_of(vector):
            return f"expected {what} {shapes} to match mask {shapes}"
        return "expected pass_thru of same type as result type" if loads and given != vector else None

    return verify


# --- elements ---------------------------------------------------------------------------------------------------------


def active_lanes(op: Operation, mask: Value) -> Mask:
    """Return a mask, an i1 vector, as a bool array. Raises UndefinedBehavior for poison."""
    if mask.poison is not None:
        where = tuple(int(index) for index in np.argwhere(mask.poison)[0])
        raise undefined(op, f"the mask is poison at {list(where)}: {mask.origin(*where)}")
    lanes: Mask = mask.bits != 0
    return lanes


def _places(buffer: Buffer, indices: Sequence[Numbers]) -> Numbers:
    """Return the places in memory of elements at indices that lie inside the shape. A memref of rank 0 has one
    place.
    """
    return np.atleast_1d(buffer.places_at(indices))


def _check_inside(op: Operation, shape: tuple[int, ...], indices: Sequence[Numbers]) -> None:
    for index, size in zip(indices, shape, strict=True):
        outside = (index < 0) | (index >= size)
        if outside.any():
            lane = int(outside.argmax())
            raise undefined(
                op,
                f"index {[int(each[lane]) for each in indices]} is outside the shape {spell_shape(shape)}",
            )


def base_of(op: Operation, operand: Any, which: int) -> Value | Buffer:
    """Return the tensor, or the buffer of living memory, that operand ``which`` is. Raises UndefinedBehavior."""
    return operand if isinstance(op.operands[which].type, ty.TensorType) else living(op, operand, which)


def elements_at(op: Operation, run: Run, base: Value | Buffer, indices: Sequence[Numbers]) -> Value:
    """Return the elements at indices, each an array of rank 1, as a tensor. Raises UndefinedBehavior for an index
    outside of the shape.
    """
    _check_inside(op, base.shape, indices)
    if isinstance(base, Buffer):
        element = base.type.element
        places = _places(base, indices)
        return load_at(base.allocation, places, ty.TensorType(places.shape, element), run.origins)
    count = len(indices[0]) if indices else 1
    return picked(base, tuple(indices) or (np.newaxis,), ty.TensorType((count,), base.element_type))


def put_at(op: Operation, run: Run, base: Value | Buffer, indices: Sequence[Numbers], part: Value) -> tuple[Any, ...]:
    """Write elements at indices, each an array of rank 1, and return the results of the op: a new tensor, or nothing.
    If an index occurs several times, the last element stays. Raises UndefinedBehavior for an index outside of the
    shape.
    """
    _check_inside(op, base.shape, indices)
    if isinstance(base, Buffer):
        store_at(base.allocation, _places(base, indices), part, run.origins)
        return ()
    return (replaced(run, base, tuple(indices) or (np.newaxis,), part),)


def _selected(value: Value, lanes: Mask) -> Value:
    """Return the elements of a vector in some lanes as a tensor."""
    return picked(value, (lanes,), ty.TensorType((int(np.count_nonzero(lanes)),), value.element_type))


def _signed(op: Operation, value: Value, lanes: Mask) -> Numbers:
    """Return the indices of some lanes as signed numbers. Raises UndefinedBehavior for poison."""
    part = _selected(value, lanes)
    if part.poison is not None:
        raise undefined(op, f"an index is poison: {part.origin(int(part.poison.argmax()))}")
    width = ty.width_of(value.element_type)
    if width > 64:
        raise unsupported(op, "halfulp does not run indices of more than 64 bits")
    unsigned = isinstance(value.element_type, ty.IntegerType) and value.element_type.signedness == "unsigned"
    codes = part.bits.astype(np.uint64)
    shift = np.uint64(0 if unsigned else 64 - width)
    return (codes << shift).view(np.int64) >> shift.astype(np.int64)


# --- where the lanes of an op lie -------------------------------------------------------------------------------------

Locate = Callable[[Operation, tuple[int, ...], Operands, Mask], Sequence[Numbers]]
"""Gives the indices of the active lanes from the start, the vector operands and the mask."""


def _gathered(op: Operation, start: tuple[int, ...], vectors: Operands, active: Mask) -> Sequence[Numbers]:
    lanes = _signed(op, vectors[0], active)
    outer = [np.full(lanes.shape, index, np.int64) for index in start[:-1]]
    return [*outer, lanes + start[-1]]


def _block(op: Operation, start: tuple[int, ...], vectors: Operands, active: Mask) -> Sequence[Numbers]:
    """Return the indices of the active lanes of a vector that lies along the last dimensions."""
    lanes = np.nonzero(active)
    outer = [np.full(len(lanes[0]), index, np.int64) for index in start[: len(start) - len(lanes)]]
    return [*outer, *(lane + index for lane, index in zip(lanes, start[len(outer) :], strict=True))]


def _packed(op: Operation, start: tuple[int, ...], vectors: Operands, active: Mask) -> Sequence[Numbers]:
    """Return the indices of the active lanes, which lie one after the other along the last dimension."""
    count = int(np.count_nonzero(active))
    outer = [np.full(count, index, np.int64) for index in start[:-1]]
    return [*outer, np.arange(count, dtype=np.int64) + start[-1]]


def _evaluator(locate: Locate, vectors: int, loads: bool) -> Callable[..., Function]:
    """Return the builder of functions that run an op on a base, indices, ``vectors`` vectors of indices, a mask and
    data. ``masked``: the op is inside vector.mask, whose mask is one more operand.
    """

    def build(op: Operation, settings: Settings, masked: bool = False) -> Function:
        rank = len(ty.shape_of(op.operands[0].type) or ())

        def access(run: Run, operands: Operands) -> tuple[Any, ...]:
            if rank < len(operands[-1].shape):
                raise unsupported(op, f"'{op.operands[0].type}' has fewer dimensions than the vector")
            start = numbers(op, operands[1 : 1 + rank], settings)
            indices = operands[1 + rank : 1 + rank + vectors]
            mask, data = operands[1 + rank + vectors : 3 + rank + vectors]
            active = active_lanes(op, mask)
            if masked:
                active = active & active_lanes(op, operands[3 + rank + vectors])
            if not active.any():
                return (data,) if loads else (operands[0],) * len(op.results)
            base = base_of(op, operands[0], 0)
            places = locate(op, start, indices, active)
            if loads:
                return (replaced(run, data, (active,), elements_at(op, run, base, places)),)
            return put_at(op, run, base, places, _selected(data, active))

        return access

    return build


gather = _evaluator(_gathered, 1, True)
scatter = _evaluator(_gathered, 1, False)
masked_load = _evaluator(_block, 0, True)
masked_store = _evaluator(_block, 0, False)
expand_load = _evaluator(_packed, 0, True)
compress_store = _evaluator(_packed, 0, False)
