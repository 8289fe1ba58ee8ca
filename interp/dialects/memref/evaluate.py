"""The evaluation of the memref dialect's ops on buffers, with vector.load and vector.store.

An access outside of a memref, at an index that is poison, or to freed memory is undefined behaviour. So is a view that
leaves the memref. A view of freed memory is allowed, since views touch no memory and MLIR may move them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.dialects.slices import numbers
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import UndefinedBehavior, Unsupported
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.ir.types import code_layout, runtime_shape, spell_shape
from halfulp.interp.run.frames import Function, Run, lift
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Buffer, load_at, store_at
from halfulp.interp.values.lanes import LaneBuffer
from halfulp.interp.values.memref_layout import is_mapped, places

Slots = Sequence[Any]

# --- operands ---------------------------------------------------------------------------------------------------------


def buffer_in(op: Operation, slot: Any, which: int) -> Buffer:
    """Return the buffer in the slot of operand ``which``; its memory may have been freed. Raises UndefinedBehavior for
    poison, and Unsupported for the result of an unresolved cast, and for memory of lanes.
    """
    if not isinstance(slot, Buffer):
        if isinstance(slot, LaneBuffer):
            raise Unsupported(f"halfulp does not run '{op.name}' on memrefs in a batch")
        lift(slot, op.operands[which].type)
        raise undefined(op, "the memref is poison")
    return slot


def living(op: Operation, slot: Any, which: int) -> Buffer:
    """Return the buffer in the slot of operand ``which``, for an access. Raises UndefinedBehavior for freed memory, and
    the errors of `buffer_in`.
    """
    buffer = buffer_in(op, slot, which)
    if buffer.allocation.freed is not None:
        raise undefined(op, f"the memory of operand {which} was freed by {buffer.allocation.freed}")
    return buffer


def _outside(op: Operation, buffer: Buffer, indices: tuple[int, ...]) -> UndefinedBehavior:
    return undefined(op, f"index {list(indices)} is outside the shape {spell_shape(buffer.shape)}")


def _is_swizzled(op: Operation, which: int, settings: Settings) -> bool:
    """Tell whether operand ``which`` is directly the result of a hint that moves elements. A path through a block
    argument or another op does not count.
    """
    hint = getattr(op.operands[which], "owner", None)
    return settings.swizzle == "physical" and hint is not None and hint.name == "iree_codegen.swizzle_hint"


def moves_elements(op: Operation, which: int, settings: Settings) -> bool:
    """Tell whether the elements of operand ``which`` may lie at places that strides do not describe."""
    return _is_swizzled(op, which, settings) or is_mapped(op.operands[which].type)


def element_place(op: Operation, slots: Slots, which: int, moving: bool, settings: Settings) -> int:
    """Return the place in memory of the element that an op reads or writes. The memref is operand ``which``; the
    indices are the operands after it. ``moving``: the result of `moves_elements`. Raises UndefinedBehavior for an
    element outside of the memref.
    """
    buffer = slots[which]
    if buffer.__class__ is not Buffer or buffer.allocation.freed is not None:
        buffer = living(op, buffer, which)
    place: int = buffer.offset
    for index, size, stride in zip(slots[which + 1 :], buffer.shape, buffer.strides, strict=True):
        # A negative index is a large code.
        if index.__class__ is not int or index >= size:
            return _checked_place(op, buffer, numbers(op, slots[which + 1 :], settings), moving)
        place += index * stride
    return _moved(op, buffer, place - buffer.offset) if moving else place


def _checked_place(op: Operation, buffer: Buffer, indices: tuple[int, ...], moving: bool) -> int:
    if any(not 0 <= index < size for index, size in zip(indices, buffer.shape, strict=True)):
        raise _outside(op, buffer, indices)
    place = sum(index * stride for index, stride in zip(indices, buffer.strides, strict=True))
    return _moved(op, buffer, place) if moving else buffer.offset + place


def _moved(op: Operation, buffer: Buffer, index: int) -> int:
    """Return the place in memory of an element of a buffer that is swizzled, or that has a map."""
    if buffer.mapped is not None:
        return int(buffer.mapped.places.flat[index])
    if buffer.swizzle is None:
        return buffer.offset + index
    place = buffer.swizzle.physical(index)
    if place >= buffer.shape[0]:
        raise _moved_outside(op, buffer, index, [place])
    return buffer.offset + place


def _moved_outside(op: Operation, buffer: Buffer, start: int, moved: list[int]) -> UndefinedBehavior:
    return undefined(op, f"index [{start}] is swizzled to {moved}, outside the shape {spell_shape(buffer.shape)}")


def _swizzled(op: Operation, buffer: Buffer, start: int, count: int) -> npt.NDArray[np.int64]:
    """Return the places in memory of neighbours that are accessed together in a swizzled buffer."""
    assert buffer.swizzle is not None
    moved = places(buffer.swizzle, start, count)
    if int(moved.max()) >= buffer.shape[0]:
        raise _moved_outside(op, buffer, start, moved.tolist())
    return moved + buffer.offset


# --- elements ---------------------------------------------------------------------------------------------------------


def load(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.load. A clean element of at most 64 bits is returned as an integer."""
    type_ = op.results[0].type
    plain = not isinstance(type_, ty.ComplexType) and not code_layout(type_)[1]
    moving = moves_elements(op, 0, settings)

    def load_element(run: Run, slots: Slots) -> tuple[Any, ...]:
        place = element_place(op, slots, 0, moving, settings)
        memory = slots[0].allocation
        if plain and memory.open is None and (memory.poison is None or not memory.poison[place]):
            return (memory.bits.item(place),)
        return (load_at(memory, np.array(place, np.int64), type_, run.origins),)

    return load_element


def store(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.store."""
    type_ = op.operands[0].type
    plain = not code_layout(type_)[1]
    moving = moves_elements(op, 1, settings)

    def store_element(run: Run, slots: Slots) -> tuple[Any, ...]:
        place = element_place(op, slots, 1, moving, settings)
        memory, element = slots[1].allocation, slots[0]
        if plain and element.__class__ is int and memory.log is None:
            try:
                memory.bits[place] = element
            except ValueError:
                raise undefined(op, f"the memory of {memory.source} is constant, but is written") from None
            if memory.poison is not None:
                memory.poison[place] = 0
            if memory.open is not None:
                memory.open[place] = 0
        else:
            store_at(memory, np.array(place, np.int64), lift(element, type_), run.origins)
        return ()

    return store_element


def prefetch(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.prefetch, a hint: it reads nothing, whatever its indices."""
    return lambda run, slots: ()


def copy(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.copy: all elements, between memrefs of one shape that share no element."""

    def copy_elements(run: Run, slots: Slots) -> tuple[Any, ...]:
        source, target = living(op, slots[0], 0), living(op, slots[1], 1)
        if source.shape != target.shape:
            raise undefined(op, f"the shapes are {spell_shape(source.shape)} and {spell_shape(target.shape)}")
        if 0 in source.shape:
            return ()
        target.store(source.load(origins=run.origins), run.origins)
        return ()

    return copy_elements


# --- vectors ----------------------------------------------------------------------------------------------------------


def _block(op: Operation, slots: Slots, which: int, type_: ty.Type, settings: Settings) -> Any:
    """Return the part of memory that a vector accesses: a buffer and, if that is swizzled, the places of the
    elements.
    """
    buffer = living(op, slots[which], which)
    indices = numbers(op, slots[which + 1 :], settings)
    extents = tuple(size or 0 for size in runtime_shape(type_, settings.vscale) or ())
    extents = extents[: len(extents) - len(buffer.allocation.inner)]
    if len(extents) > len(indices):  # MLIR accepts this affine.vector_load, and its lowering does not
        what = f"a vector of shape {spell_shape(extents)} in memory of shape {spell_shape(buffer.shape)}"
        raise Unsupported(f"'{op.name}' has no meaning for {what}")
    taken = (1,) * (len(indices) - len(extents)) + extents
    if any(not 0 <= index <= size - count for index, size, count in zip(indices, buffer.shape, taken, strict=True)):
        what = f"the vector of shape {spell_shape(extents)} from index {list(indices)} on"
        raise undefined(op, f"{what} is outside the shape {spell_shape(buffer.shape)}")
    if buffer.mapped is not None:
        raise Unsupported(f"halfulp does not run '{op.name}' on memory of layout '{buffer.mapped.map}'")
    if buffer.swizzle is not None and _is_swizzled(op, which, settings):
        return buffer, _swizzled(op, buffer, indices[0], taken[0]).reshape(extents)
    start = buffer.offset + sum(index * stride for index, stride in zip(indices, buffer.strides, strict=True))
    strides = buffer.strides[len(indices) - len(extents) :]
    return buffer.part(ty.MemRefType(extents, buffer.type.element), start, extents, strides), None


def load_vector(op: Operation, settings: Settings) -> Function:
    """Return the function that runs vector.load."""
    type_ = op.results[0].type

    def load_part(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer, where = _block(op, slots, 0, type_, settings)
        if where is None:
            return (buffer.load(type_, run.origins),)
        return (load_at(buffer.allocation, where, type_, run.origins),)

    return load_part


def store_vector(op: Operation, settings: Settings) -> Function:
    """Return the function that runs vector.store."""
    type_ = op.operands[0].type

    def store_part(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer, where = _block(op, slots, 1, type_, settings)
        value = lift(slots[0], type_)
        if where is None:
            buffer.store(value, run.origins)
        else:
            store_at(buffer.allocation, where, value, run.origins)
        return ()

    return store_part
