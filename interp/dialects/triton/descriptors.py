"""Tensor descriptors: blocks of a tensor in memory. Elements outside of the tensor are loaded as 0 or as a NaN, and are
not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.dialects.elements import reshaped
from halfulp.interp.dialects.triton import memory
from halfulp.interp.dialects.triton.rules import sizes_of
from halfulp.interp.dialects.triton.types import DescriptorType, mask_type, pointer_to
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.ir.types import code_layout
from halfulp.interp.run.evaluators import OnValues
from halfulp.interp.run.frames import Function, Run, lift
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

_NAN = 2
"""The padding with NaNs."""


class Descriptor(NamedTuple):
    """A tensor in memory: the number of its allocation, the offset of its first element in bytes, its sizes, its
    strides in elements, and whether elements outside of it are NaNs.
    """

    number: int
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    nan: bool


def number(op: Operation, slot: Any, type_: ty.Type, what: str) -> int:
    """Return the signed number in a slot. Raises UndefinedBehavior for poison."""
    value: Value = lift(slot, type_)
    if value.poison is not None:
        raise undefined(op, f"{what} is poison: {value.origin()}")
    width = ty.width_of(type_)
    (code,) = codes_to_ints(value.bits, width)
    return code - (1 << width) if code >> width - 1 else code


def _descriptor(op: Operation, slot: Any) -> Descriptor:
    """Return the descriptor in a slot. Raises UndefinedBehavior for poison."""
    if isinstance(slot, Value):
        raise undefined(op, f"the descriptor is poison: {slot.origin()}")
    assert isinstance(slot, Descriptor)
    return slot


def _make(op: Operation, settings: Settings) -> Function:
    type_ = narrowed(op.results[0].type, DescriptorType)
    rank, nan = len(type_.shape), op.number("padding") == _NAN
    names = ["the base", *["a size"] * rank, *["a stride"] * rank]

    def make(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        base, *sizes = (
            number(op, slot, value.type, name) for slot, value, name in zip(slots, op.operands, names, strict=True)
        )
        return (at(base, sizes[:rank], sizes[rank:], nan),)

    return make


MAKE = OnValues(_make, raw=True, no_lanes=True)


def at(base: int, shape: Sequence[int], strides: Sequence[int], nan: bool) -> Descriptor:
    """Return the descriptor of a tensor whose first element a pointer with this code points to."""
    offset = np.uint64(base & (1 << 64) - 1).astype(np.int64)
    return Descriptor(base >> 64, int(offset), tuple(shape), tuple(strides), nan)


Indices = list[npt.NDArray[np.int64]]
"""For each dimension the indices of the elements of a block; they broadcast to its shape."""


def _block(op: Operation, shape: Sequence[int], slots: Sequence[Any]) -> Indices:
    """Return the indices of a block whose first element the operands name."""
    grid = np.indices(tuple(shape), dtype=np.int64, sparse=True)
    starts = [number(op, slot, ty.I32, "an index") for slot in slots]
    return [axis + start for axis, start in zip(grid, starts, strict=True)]


def _rows(op: Operation, shape: Sequence[int], slots: Sequence[Any]) -> Indices:
    """Return the indices of rows, whose numbers a tensor has, and of columns from a place on."""
    rows: Value = slots[0]
    if rows.poison is not None:
        raise undefined(op, "the number of a row is poison")
    signed = rows.bits.view(np.dtype(f"i{rows.bits.dtype.itemsize}")).astype(np.int64)
    return [signed[:, np.newaxis], number(op, slots[1], ty.I32, "an index") + np.arange(shape[-1], dtype=np.int64)]


def _pointers(tensor: Descriptor, indices: Indices, size: int, type_: ty.Type) -> tuple[Value, Value]:
    """Return the pointers to the elements of a block, and the mask of those that are inside of the tensor."""
    shape = np.broadcast_shapes(*(axis.shape for axis in indices))
    bits = np.empty((*shape, 2), np.uint64)
    bits[..., 1] = tensor.number
    steps = sum(axis * (stride * size) for axis, stride in zip(indices, tensor.strides, strict=True))
    bits[..., 0] = np.asarray(tensor.offset + steps).view(np.uint64)
    inside = np.ones(shape, bool)
    for axis, limit in zip(indices, tensor.shape, strict=True):
        inside &= (axis >= 0) & (axis < limit)
    held = ty.TensorType(shape, ty.element_type(type_))
    return Value(pointer_to(held), bits), Value(mask_type(held), inside.view(np.uint8))


Where = Callable[[Operation, Sequence[int], Sequence[Any]], Indices]


def _loader(
    op: Operation, type_: ty.Type, element: ty.Type, settings: Settings
) -> Callable[[Run, Descriptor, Indices], Value]:
    """Return the function that loads elements of a type, which lie at some indices. ``element``: the type that they
    have then, another one if their numbers are loaded.
    """
    access = memory.Access(op, pointer_to(type_), settings)
    own = ty.element_type(type_)
    nan = own.format.nan_code if isinstance(own, ty.FloatType) else 0

    def load(run: Run, tensor: Descriptor, indices: Indices) -> Value:
        if tensor.nan and nan and element != own:
            raise memory.Apart("a NaN has no number")
        pointers, mask = _pointers(tensor, indices, access.size, type_)
        held = ty.TensorType(pointers.shape, element)
        other = Value(held, np.full(pointers.shape, (nan or 0) if tensor.nan else 0, code_layout(element)[0]))
        return memory.load(access, run, pointers, mask, other, held)

    return load


def _storer(op: Operation, type_: ty.Type, settings: Settings) -> Callable[[Run, Descriptor, Indices, Value], None]:
    """Return the function that stores elements of a type at some indices."""
    access = memory.Access(op, pointer_to(type_), settings)

    def store(run: Run, tensor: Descriptor, indices: Indices, value: Value) -> None:
        pointers, mask = _pointers(tensor, indices, access.size, type_)
        held = ty.TensorType(pointers.shape, value.element_type)
        memory.store(access, run, pointers, reshaped(value, held, pointers.shape), mask)

    return store


BlockLoader = Callable[[Run, Any, Sequence[Any]], Value]
BlockStorer = Callable[[Run, Any, Sequence[Any], Value], None]


def block_loader(op: Operation, type_: DescriptorType, element: ty.Type, settings: Settings) -> BlockLoader:
    """Return the function that loads a block of elements, from the slots of its descriptor and of its indices."""
    load = _loader(op, ty.TensorType(type_.shape, type_.element), element, settings)
    return lambda run, slot, indices: load(run, _descriptor(op, slot), _block(op, type_.shape, indices))


def block_storer(op: Operation, type_: DescriptorType, settings: Settings) -> BlockStorer:
    """Return the function that stores a block, from the slots of its descriptor and of its indices."""
    store = _storer(op, ty.TensorType(type_.shape, type_.element), settings)
    return lambda run, slot, indices, value: store(run, _descriptor(op, slot), _block(op, type_.shape, indices), value)


def _loading(where: Where) -> OnValues:
    def build(op: Operation, settings: Settings) -> Function:
        type_, block = op.results[0].type, op.operands[0].type
        assert isinstance(block, DescriptorType)
        load_at = _loader(op, ty.TensorType(sizes_of(type_), block.element), ty.element_type(type_), settings)

        def load(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
            shape = block.shape if where is _block else sizes_of(type_)
            loaded = load_at(run, _descriptor(op, slots[0]), where(op, shape, slots[1:]))
            return (reshaped(loaded, type_, sizes_of(type_)),)

        return load

    return OnValues(build, raw=True, no_lanes=True)


def _storing(where: Where, stored: int) -> OnValues:
    """``stored``: the number of the operand that is stored."""

    def build(op: Operation, settings: Settings) -> Function:
        type_, block = op.operands[stored].type, op.operands[0].type
        assert isinstance(block, DescriptorType)
        store_at = _storer(op, ty.TensorType(sizes_of(type_), block.element), settings)

        def store(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
            rest = [slot for place, slot in enumerate(slots) if place not in (0, stored)]
            shape = block.shape if where is _block else sizes_of(type_)
            store_at(run, _descriptor(op, slots[0]), where(op, shape, rest), slots[stored])
            return ()

        return store

    return OnValues(build, raw=True, no_lanes=True)


LOAD, GATHER = _loading(_block), _loading(_rows)
STORE, SCATTER = _storing(_block, 1), _storing(_rows, 3)
