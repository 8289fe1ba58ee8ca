"""Layouts of memrefs: where elements lie in memory, as a type says and as it turns out when a program runs."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import linear
from halfulp.interp.ir.errors import TypeMismatch, Unsupported

Strides = tuple[tuple[int | None, ...], int | None]
Layout = tuple[tuple[int, ...], int]
"""The distance between neighbours along each dimension, and where the first element lies: in elements."""


def strides_and_offset(type_: ty.MemRefType) -> Strides | None:
    """The distance between neighbours along each dimension and where the first element lies, in elements; None for
    what is known only when it runs. None instead of both for a layout that is no such sum.
    """
    shape = type_.shape or ()
    if isinstance(type_.layout, at.StridedLayoutAttr):
        return type_.layout.strides, type_.layout.offset
    if type_.layout is not None:
        return _mapped(type_)
    strides: list[int | None] = [1] if shape else []
    for size in reversed(shape[1:]):
        strides.append(None if size is None or strides[-1] is None else size * strides[-1])
    return tuple(reversed(strides)), 0


def _mapped(type_: ty.MemRefType, symbols: Sequence[int] = ()) -> Strides | None:
    """What a layout that is a map says: strides where it adds up dimensions. ``symbols``: their values, if known."""
    map = type_.layout
    if not isinstance(map, at.AffineMapAttr) or len(map.results) != 1:
        return None
    return linear(map.results[0], map.dimensions, symbols)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of elements that lie one after the other, the last index running fastest."""
    strides = [1] if shape else []
    for size in reversed(shape[1:]):
        strides.append(size * strides[-1])
    return tuple(reversed(strides))


def spanned(shape: Sequence[int], strides: Sequence[int], offset: int) -> tuple[int, int]:
    """The first place in memory that elements take, and the one after the last; both 0 where there are no elements."""
    low = high = offset
    for size, stride in zip(shape, strides, strict=True):
        if size == 0:
            return 0, 0
        if stride < 0:
            low += (size - 1) * stride
        else:
            high += (size - 1) * stride
    return low, high + 1


def is_injective(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether no two elements are known to share a place: each stride steps over all that smaller ones reach."""
    if 0 in shape:
        return True
    reach = 0
    for stride, size in sorted((abs(stride), size) for size, stride in zip(shape, strides, strict=True) if size > 1):
        if stride <= reach:
            return False
        reach += (size - 1) * stride
    return True


def runnable(type_: ty.MemRefType) -> Strides:
    """What `strides_and_offset` says of a layout that memory can be given. Raises Unsupported for any other."""
    known = strides_and_offset(type_)
    if known is None:
        raise Unsupported(f"the layout '{type_.layout}' is no sum of strides: memory of type '{type_}' is not run")
    return known


def expected_layout(type_: ty.MemRefType, shape: tuple[int, ...]) -> Strides:
    """What a type says of the layout of a buffer of this shape, None where it says nothing. Raises Unsupported."""
    return (row_major(shape), 0) if type_.layout is None else runnable(type_)


def chosen_layout(type_: ty.MemRefType, shape: tuple[int, ...], symbols: Sequence[int] = ()) -> Layout:
    """The layout of new memory of a type: what the type leaves open are the ``symbols`` (of strides the offset first,
    then the strides; of a map its symbols); without any, elements lie one after the other as far as the type lets them,
    from the start of memory.

    Raises Unsupported, and TypeMismatch for elements that would lie below the start.
    """
    strides, offset = expected_layout(type_, shape)
    if symbols and isinstance(type_.layout, at.AffineMapAttr):
        strides, offset = _mapped(type_, symbols) or (strides, offset)
        if None in (offset, *strides):
            raise Unsupported(f"the layout '{type_.layout}' divides symbols: memory of type '{type_}' is not run")
    given = iter(symbols)
    if symbols and offset is None:
        offset = next(given)
    dense: list[int] = []
    for number in reversed(range(len(shape))):
        stride = strides[number]
        if stride is None and not symbols:
            stride = abs(dense[-1]) * max(shape[number + 1], 1) if dense else 1
        dense.append(0 if stride is None else stride)
    dense.reverse()
    if symbols:
        dense = [next(given) if stride is None else stride for stride in strides]
    low, _ = spanned(shape, dense, 0)
    if offset is None:
        offset = -low
    if offset + low < 0:
        raise TypeMismatch(f"elements of '{type_}' of shape {list(shape)} would lie {-offset - low} below their memory")
    return tuple(dense), offset


def layout_conflict(type_: ty.MemRefType, shape: tuple[int, ...], layout: Layout) -> str | None:
    """Why a buffer of this shape and layout is not of a type of the same elements, with both numbers; or None.

    Raises Unsupported for a layout that is no sum of strides.
    """
    if type_.shape is None:
        return None
    if len(shape) != len(type_.shape):
        return f"a buffer of rank {len(shape)} is not of type '{type_}'"
    for axis, (size, wanted) in enumerate(zip(shape, type_.shape, strict=True)):
        if wanted is not None and size != wanted:
            return f"dimension {axis} has size {size}, but '{type_}' has {wanted}"
    strides, offset = expected_layout(type_, shape)
    for axis, (stride, wanted) in enumerate(zip(layout[0], strides, strict=True)):
        if wanted is not None and stride != wanted:
            return f"dimension {axis} has stride {stride}, but '{type_}' has {wanted}"
    if offset is not None and layout[1] != offset:
        return f"the offset is {layout[1]}, but '{type_}' has {offset}"
    return None
