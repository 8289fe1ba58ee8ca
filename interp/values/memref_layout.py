"""The layouts of memrefs: where elements are in memory, as far as the type says, and at run time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import AffineConstant, Binary, evaluated, linear
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.errors import LimitExceeded, TypeMismatch, Unsupported

# --- swizzle ----------------------------------------------------------------------------------------------------------
#
# Swizzled accesses: permutations of rows that keep accesses out of the same memory bank.
#
# Offsets count elements; they may be Python integers or arrays of them, and are not negative. A row has ``row_width``
# elements, which are moved in groups of ``access_width``; the place of an element within its group stays. Reference:
# the document of IREE's codegen dialect, "RotateRowsAttr" and "XORShuffleAttr".

Offset = TypeVar("Offset", int, npt.NDArray[np.int64])


@dataclass(frozen=True, slots=True)
class RotateRows:
    """A swizzle, which moves elements in memory: group j of row i moves to group (i + j) mod N of the same row, which
    has N groups. ``row_width`` and ``access_width``: the elements of a row and of a group, both positive.
    """

    row_width: int
    access_width: int

    def physical(self, offset: Offset) -> Offset:
        """Return the place of the element at ``offset``."""
        row, within = offset // self.row_width, offset % self.row_width
        group, place = within // self.access_width, within % self.access_width
        rotated = (row + group) % (self.row_width // self.access_width)
        return row * self.row_width + rotated * self.access_width + place


@dataclass(frozen=True, slots=True)
class XorShuffle:
    """A swizzle: group j of row i moves to group ((i / per_phase) mod N) xor j of the same row, which has N groups. The
    number of the row counts multiples of ``row_stride``, which is a multiple of the row width. All numbers are
    positive.

    If N is not a power of two, a group may move past the end of its row.
    """

    row_width: int
    access_width: int
    row_stride: int
    per_phase: int = 1

    def physical(self, offset: Offset) -> Offset:
        """Return the place of the element at ``offset``."""
        within = offset % self.row_width
        group, place = within // self.access_width, within % self.access_width
        phase = offset // self.row_stride // self.per_phase % (self.row_width // self.access_width)
        return offset - within + (phase ^ group) * self.access_width + place


Swizzle = RotateRows | XorShuffle


def places(swizzle: Swizzle, start: int, count: int) -> npt.NDArray[np.int64]:
    """Return the places of ``count`` consecutive elements from ``start`` on that one op accesses.

    The elements move in groups of the access width, counted from ``start``; the last group may be shorter. A whole
    group follows its first element. If the access begins at the start of a group of the row, every element is where
    `physical` says; otherwise the groups of the access are not those of the row.
    """
    numbers = np.arange(count, dtype=np.int64)
    within = numbers % swizzle.access_width
    return swizzle.physical(numbers - within + start) + within


# --- memref layout ----------------------------------------------------------------------------------------------------

Strides = tuple[tuple[int | None, ...], int | None]
Layout = tuple[tuple[int, ...], int]
"""The distance between neighbours along each dimension, and the place of the first element, in elements."""


def strides_and_offset(type_: ty.MemRefType) -> Strides | None:
    """Return the strides and the offset of a type, in elements.

    A stride is the distance between neighbours along a dimension, the offset the place of the first element. A number
    that is known only at run time is None. Returns None for a layout that strides cannot describe.
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
    """Return the strides and the offset of a layout that is a map; None if the map is not a sum of dimensions.

    ``symbols``: the values of the map's symbols, if known.
    """
    map = type_.layout
    if not isinstance(map, at.AffineMapAttr) or len(map.results) != 1:
        return None
    return linear(map.results[0], map.dimensions, symbols)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of elements that lie one after the other, the last index running fastest."""
    strides = [1] if shape else []
    for size in reversed(shape[1:]):
        strides.append(size * strides[-1])
    return tuple(reversed(strides))


def spanned(shape: Sequence[int], strides: Sequence[int], offset: int) -> tuple[int, int]:
    """Return the first place in memory that elements take, and the one after the last; 0 and 0 if there are no
    elements.
    """
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
    """Tell whether all elements certainly have different places: each stride is larger than the distance that all
    smaller strides can cover together.
    """
    if 0 in shape:
        return True
    reach = 0
    for stride, size in sorted((abs(stride), size) for size, stride in zip(shape, strides, strict=True) if size > 1):
        if stride <= reach:
            return False
        reach += (size - 1) * stride
    return True


def runnable(type_: ty.MemRefType) -> Strides:
    """Return `strides_and_offset` of a type with a layout that halfulp can run. Raises Unsupported for any other
    layout.
    """
    known = strides_and_offset(type_)
    if known is None:
        raise Unsupported(
            f"the layout '{type_.layout}' is not a sum of strides: halfulp does not run memory of type '{type_}'"
        )
    return known


def expected_layout(type_: ty.MemRefType, shape: tuple[int, ...]) -> Strides:
    """Return the strides and the offset that a type gives a buffer of this shape. Raises Unsupported.

    None stands for a number that the type does not give.
    """
    return (row_major(shape), 0) if type_.layout is None else runnable(type_)


def _apart(shape: tuple[int, ...], strides: Sequence[int]) -> bool:
    """Tell whether no two elements are surely in one place: each stride goes beyond what the smaller ones span."""
    beyond = 1
    for stride, size in sorted((abs(stride), size) for size, stride in zip(shape, strides, strict=True) if size > 1):
        if stride < beyond:
            return False
        beyond += stride * (size - 1)
    return True


def chosen_layout(type_: ty.MemRefType, shape: tuple[int, ...], symbols: Sequence[int] = ()) -> Layout:
    """Choose the layout of new memory of a type.

    ``symbols``: the numbers that the type leaves dynamic: for a strided layout, the offset and then the strides; for a
    map, its symbols. Without them, elements lie one after the other, if the type allows it, from the start of memory,
    and no two in one place unless the known strides put them there.

    Raises Unsupported, and TypeMismatch for elements that would lie below the start.
    """
    strides, offset = expected_layout(type_, shape)
    if symbols and isinstance(type_.layout, at.AffineMapAttr):
        strides, offset = _mapped(type_, symbols) or (strides, offset)
        if None in (offset, *strides):
            raise Unsupported(
                f"the layout '{type_.layout}' divides symbols: halfulp does not run memory of type '{type_}'"
            )
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
    elif None in strides and not _apart(shape, dense):
        beyond = 1 + sum(abs(stride) * max(size - 1, 0) for size, stride in zip(shape, strides, strict=True) if stride)
        for number in reversed(range(len(shape))):
            if strides[number] is None:
                dense[number], beyond = beyond, beyond * max(shape[number], 1)
    low, _ = spanned(shape, dense, 0)
    if offset is None:
        offset = -low
    if offset + low < 0:
        raise TypeMismatch(
            f"elements of '{type_}' of shape {list(shape)} would begin {-offset - low} elements before their memory"
        )
    return tuple(dense), offset


@dataclass(frozen=True, slots=True, eq=False)
class MapLayout:
    """A layout that is not a sum of strides: a map with the values of its symbols, and the ``places`` of all elements.

    The results of the map are the indices of an array whose elements lie one after the other, the last index running
    fastest. The array is exactly large enough for them, and has ``size`` elements.
    """

    map: at.AffineMapAttr
    symbols: tuple[int, ...]
    places: npt.NDArray[np.int64]
    size: int


def is_mapped(type_: ty.Type) -> bool:
    """Tell whether a type is a memref whose layout is not a sum of strides."""
    return isinstance(type_, ty.MemRefType) and type_.shape is not None and strides_and_offset(type_) is None


def map_layout(type_: ty.MemRefType, shape: tuple[int, ...], symbols: Sequence[int] = ()) -> MapLayout:
    """Return the places of the elements of a type whose layout is not a sum of strides.

    ``symbols``: the values of the map's symbols. Raises Unsupported if they are not known, and TypeMismatch for
    elements below the start of memory, and for a division by a number that is not positive.
    """
    map_ = narrowed(type_.layout, at.AffineMapAttr)
    if len(symbols) != map_.symbols:
        raise Unsupported(f"the symbols of the layout '{map_}' are not known")
    if any(symbol <= 0 for symbol in symbols):
        raise TypeMismatch(f"the symbols {list(symbols)} of the layout '{map_}' are not positive")
    indices = np.indices(shape, np.int64)
    if _may_overflow(map_, (*shape, *symbols)):
        indices = indices.astype(object)
    rows = [np.broadcast_to(evaluated(result, list(indices), symbols), shape) for result in map_.results]
    lowest = min((int(row.min()) for row in rows if row.size), default=0)
    if lowest < 0:
        raise TypeMismatch(
            f"elements of '{type_}' of shape {list(shape)} would begin {-lowest} elements before their memory"
        )
    sizes = [int(row.max()) + 1 if row.size else 0 for row in rows]
    if prod(sizes) > _MOST_PLACES:
        raise LimitExceeded(f"the layout of '{type_}' of shape {list(shape)} spans {prod(sizes)} elements")
    places = np.zeros(shape, np.int64)
    for row, stride in zip(rows, row_major(sizes), strict=True):
        places = places + row.astype(np.int64) * stride
    return MapLayout(map_, tuple(symbols), places, prod(sizes))


_MOST_PLACES = 1 << 48


def _may_overflow(map_: at.AffineMapAttr, numbers: Sequence[int]) -> bool:
    """Tell whether an intermediate result of a map may have more than 62 bits."""
    bits = max((abs(number).bit_length() for number in numbers), default=0)
    work, products, sums = list(map_.results), 0, 0
    while work:
        expr = work.pop()
        if isinstance(expr, AffineConstant):
            bits = max(bits, abs(expr.value).bit_length())
        elif isinstance(expr, Binary):
            products += expr.operator == "*"
            sums += expr.operator == "+"
            work += expr.lhs, expr.rhs
    return bits * (products + 1) + sums > 62


def layout_conflict(
    type_: ty.MemRefType, shape: tuple[int, ...], layout: Layout, mapped: MapLayout | None = None
) -> str | None:
    """Return why a buffer of this shape and layout does not have a type with the same elements; None if it has.

    The text names both numbers. ``mapped``: the layout, if it is not a sum of strides.
    """
    if type_.shape is None:
        return None
    if len(shape) != len(type_.shape):
        return f"a buffer of rank {len(shape)} is not of type '{type_}'"
    for axis, (size, wanted) in enumerate(zip(shape, type_.shape, strict=True)):
        if wanted is not None and size != wanted:
            return f"dimension {axis} has size {size}, but '{type_}' has {wanted}"
    if mapped is not None or is_mapped(type_):
        fits = mapped is not None and mapped.map == type_.layout
        given = "strides" if mapped is None else f"'{mapped.map}'"
        return None if fits else f"the layout of '{type_}' is another one than that of the memref, {given}"
    strides, offset = expected_layout(type_, shape)
    for axis, (stride, wanted) in enumerate(zip(layout[0], strides, strict=True)):
        if wanted is not None and stride != wanted:
            return f"dimension {axis} has stride {stride}, but '{type_}' has {wanted}"
    if offset is not None and layout[1] != offset:
        return f"the offset is {layout[1]}, but '{type_}' has {offset}"
    return None
