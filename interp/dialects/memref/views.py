"""The views of the memref dialect: ops that look at the same memory with other sizes, strides or elements.

A view that leaves its memory is undefined behaviour.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import Any

from halfulp.interp.dialects.elementwise import groups_of
from halfulp.interp.dialects.memref.evaluate import buffer_in, living
from halfulp.interp.dialects.memref.rules import collapsed_strides, expanded_strides, permutation_of
from halfulp.interp.dialects.slices import Written, numbers, part_of, static_numbers, written
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.ir.types import spell_shape
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.buffers import Buffer, Bytes, Regrouped, bytes_of, vector_shape
from halfulp.interp.values.memref_layout import layout_conflict, row_major, spanned

Slots = Sequence[Any]


def _result_type(op: Operation) -> ty.MemRefType:
    return narrowed(op.results[0].type, ty.MemRefType)


def _viewed(
    op: Operation,
    settings: Settings,
    buffer: Buffer,
    type_: ty.MemRefType,
    start: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
) -> Buffer:
    """Return a view of a buffer's memory. Raises UndefinedBehavior if it does not fit the type, and LimitExceeded for a
    view that repeats elements more often than a value can hold them.
    """
    if prod(shape) > len(buffer.allocation):
        check_allocation(type_, shape, settings)
    conflict = layout_conflict(type_, shape, (strides, start))
    if conflict:
        raise undefined(op, conflict)
    return buffer.part(type_, start, shape, strides)


# --- sizes ------------------------------------------------------------------------------------------------------------


def dimension(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.dim."""

    def dim(run: Run, slots: Slots) -> tuple[Any, ...]:
        shape = buffer_in(op, slots[0], 0).shape
        (axis,) = numbers(op, slots[1:], settings)
        if not 0 <= axis < len(shape):
            raise undefined(op, f"there is no dimension {axis} in a memref of rank {len(shape)}")
        return (shape[axis],)

    return dim


def rank(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.rank."""
    return lambda run, slots: (len(buffer_in(op, slots[0], 0).shape),)


def names_of_metadata(op: Operation) -> tuple[str | None, ...]:
    """Return the printed names of the results of memref.extract_strided_metadata."""
    dimensions = (len(op.results) - 2) // 2
    unnamed = (None,) * (dimensions - 1)
    return ("base_buffer", "offset", *(("sizes", *unnamed, "strides", *unnamed) if dimensions else ()))


def metadata(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.extract_strided_metadata: the memory as a memref of rank 0, then the offset,
    the sizes and the strides at run time.
    """
    base = _result_type(op)
    mask = (1 << settings.index_width) - 1

    def extract(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = buffer_in(op, slots[0], 0)
        # It holds the pointer that the allocation gave, so it can be freed.
        start = buffer.part(base, 0, (), (), is_view=False)
        return (start, *(number & mask for number in (buffer.offset, *buffer.shape, *buffer.strides)))

    return extract


# --- casts ------------------------------------------------------------------------------------------------------------


def cast(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.cast and memref.memory_space_cast: sizes, strides and offset must be those
    of the type. The result is not swizzled.
    """
    type_ = _result_type(op)

    def recast(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = buffer_in(op, slots[0], 0)
        conflict = buffer.conflict(type_)
        if conflict:
            raise undefined(op, conflict)
        return (buffer.as_type(type_),)

    return recast


def reinterpret(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.reinterpret_cast: any view of the memory. The shape of the operand does not
    matter.

    The offset is counted from the first element of the memory.
    """
    type_ = _result_type(op)
    lists = written(op)

    def view_memory(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = buffer_in(op, slots[0], 0)
        given = iter(numbers(op, slots[1:], settings))
        (start,), shape, strides = (
            tuple([next(given) if number is None else number for number in each]) for each in lists
        )
        if any(size < 0 for size in shape):
            raise undefined(op, f"the shape {list(shape)} has a negative size")
        low, high = spanned(shape, strides, start)
        if low < 0 or high > len(buffer.allocation):
            raise undefined(
                op, f"the view has elements {low} to {high - 1} of memory with {len(buffer.allocation)} elements"
            )
        return (_viewed(op, settings, buffer, type_, start, shape, strides),)

    return view_memory


# --- parts ------------------------------------------------------------------------------------------------------------


def subview(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.subview: a part of a buffer, which must lie inside it. The result is not
    swizzled.
    """
    type_ = _result_type(op)
    assert op.definition is not None
    lists = written(op)
    fewer = len(type_.shape or ()) < len(lists.sizes)

    def view_part(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = buffer_in(op, slots[0], 0)
        offsets, sizes, steps = part_of(op, lists, slots[1:], buffer.shape, settings)
        start = buffer.offset + sum(a * b for a, b in zip(offsets, buffer.strides, strict=True))
        strides = tuple([a * b for a, b in zip(steps, buffer.strides, strict=True)])
        if fewer:
            sizes, strides = _reduced(type_, lists, sizes, strides, start)
        return (_viewed(op, settings, buffer, type_, start, sizes, strides),)

    return view_part


def _reduced(
    type_: ty.MemRefType, lists: Written, sizes: tuple[int, ...], strides: tuple[int, ...], start: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return sizes and strides without some of the dimensions whose size is 1 in the text: the first ones whose removal
    gives the type.
    """
    ones = [axis for axis, size in enumerate(lists.sizes) if size == 1]
    fewer = sizes, strides
    for dropped in combinations(ones, len(sizes) - len(type_.shape or ())):
        kept = [axis for axis in range(len(sizes)) if axis not in dropped]
        fewer = tuple([sizes[axis] for axis in kept]), tuple([strides[axis] for axis in kept])
        if layout_conflict(type_, fewer[0], (fewer[1], start)) is None:
            break
    return fewer


def transpose(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.transpose."""
    type_ = _result_type(op)
    axes = permutation_of(op.prop("permutation", at.AffineMapAttr)) or ()

    def permute(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = buffer_in(op, slots[0], 0)
        shape, strides = (tuple([each[axis] for axis in axes]) for each in (buffer.shape, buffer.strides))
        return (_viewed(op, settings, buffer, type_, buffer.offset, shape, strides),)

    return permute


# --- other shapes -----------------------------------------------------------------------------------------------------


def expand(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.expand_shape: the output shape must have as many elements in each group."""
    type_, groups, sizes = _result_type(op), groups_of(op), static_numbers(op, "output_shape")

    def split(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = buffer_in(op, slots[0], 0)
        given = iter(numbers(op, slots[1:], settings))
        shape = tuple([next(given) if size is None else size for size in sizes])
        found = tuple(prod(shape[axis] for axis in group) for group in groups)
        if min(shape, default=0) < 0 or found != buffer.shape:
            raise undefined(op, f"the shape {spell_shape(buffer.shape)} does not split into {list(shape)}")
        strides = tuple([stride or 0 for stride in expanded_strides(buffer.strides, shape, groups)])
        return (_viewed(op, settings, buffer, type_, buffer.offset, shape, strides),)

    return split


def collapse(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.collapse_shape: the dimensions of a group must lie one after the other."""
    type_, groups = _result_type(op), groups_of(op)

    def join(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = buffer_in(op, slots[0], 0)
        shape = tuple(prod(buffer.shape[axis] for axis in group) for group in groups)
        strides = collapsed_strides(buffer.strides, buffer.shape, groups)
        if strides is None and 0 not in shape:
            raise undefined(
                op, f"dimensions of shape {list(buffer.shape)} with strides {list(buffer.strides)} are not contiguous"
            )
        known = row_major(shape) if strides is None else tuple([stride or 0 for stride in strides])
        return (_viewed(op, settings, buffer, type_, buffer.offset, shape, known),)

    return join


def reshape(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.reshape: the same elements, one after the other, in the shape that a memref
    holds.
    """
    type_ = _result_type(op)

    def reorder(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer, given = buffer_in(op, slots[0], 0), living(op, slots[1], 1)
        sizes = given.load(origins=run.origins)
        if sizes.poison is not None:
            raise undefined(op, f"a size is poison: {sizes.origin(int(sizes.poisoned.argmax()))}")
        shape = tuple(int(size) for size in sizes.numpy(signed=True))
        if min(shape, default=0) < 0 or prod(shape) != prod(buffer.shape):
            raise undefined(
                op, f"the shape {spell_shape(buffer.shape)} has another number of elements than {list(shape)}"
            )
        if not buffer.is_contiguous:
            raise undefined(op, f"the elements, with strides {list(buffer.strides)}, are not contiguous")
        return (_viewed(op, settings, buffer, type_, buffer.offset, shape, row_major(shape)),)

    return reorder


def type_cast(op: Operation, settings: Settings) -> Function:
    """Return the function that runs vector.type_cast: the numbers in memory are regrouped into other vectors."""
    type_ = _result_type(op)
    shape = ty.static_shape(type_)
    inner = vector_shape(type_.element)

    def regroup(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = buffer_in(op, slots[0], 0)
        if not buffer.is_contiguous:
            raise undefined(op, f"the elements, with strides {list(buffer.strides)}, are not contiguous")
        memory = Regrouped(buffer.allocation, inner)
        # The place of the first number of an element, in elements of the other kind.
        offset = buffer.offset * prod(buffer.allocation.inner) // max(prod(inner), 1)
        return (Buffer(type_, memory, offset, shape, row_major(shape), None, True),)

    return regroup


def view(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.view: bytes of memory as elements of another type."""
    type_ = _result_type(op)
    shape_of_type = type_.shape or ()

    def reinterpret_bytes(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = buffer_in(op, slots[0], 0)
        shift, *given = numbers(op, slots[1:], settings)
        sizes = iter(given)
        shape = tuple([next(sizes) if size is None else size for size in shape_of_type])
        if any(size < 0 for size in shape):
            raise undefined(op, f"the shape {list(shape)} has a negative size")
        needed = prod(shape) * bytes_of(type_.element)
        if not 0 <= shift <= buffer.shape[0] - needed:
            raise undefined(
                op, f"bytes {shift} to {shift + needed - 1} are outside of a memref of {buffer.shape[0]} bytes"
            )
        memory = Bytes(buffer.allocation, buffer.offset + shift, type_.element, prod(shape))
        return (Buffer(type_, memory, 0, shape, row_major(shape), None, True),)

    return reinterpret_bytes
