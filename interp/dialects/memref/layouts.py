"""Layouts of memref types: which types views of a type have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from halfulp.interp.dialects.reassociation import Groups
from halfulp.interp.dialects.slices import Written
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import (
    AffineConstant,
    AffineExpr,
    Binary,
    Dimension,
    Symbol,
    add,
    known_product,
    known_sum,
    multiply,
)
from halfulp.interp.values.memref_layout import Strides, strides_and_offset

Shape = tuple[int | None, ...]


def is_strided(type_: ty.Type) -> bool:
    """Tell whether a type is a ranked memref whose elements lie at a sum of strides."""
    return isinstance(type_, ty.MemRefType) and type_.shape is not None and strides_and_offset(type_) is not None


def is_identity(type_: ty.MemRefType) -> bool:
    """Tell whether the layout of a type is the identity map. Other layouts that place elements one after the other do
    not count, as in MLIR.
    """
    layout = type_.layout
    return layout is None or (isinstance(layout, at.StridedLayoutAttr) and (layout.strides, layout.offset) == ((1,), 0))


def with_layout(type_: ty.MemRefType, shape: Shape, strides: Shape, offset: int | None) -> ty.MemRefType:
    """Return a memref type of these strides, with the element type and memory space of ``type_``."""
    return ty.MemRefType(shape, type_.element, at.StridedLayoutAttr(strides, offset), type_.memory_space)


def without_layout(type_: ty.MemRefType, shape: Shape) -> ty.MemRefType:
    """Return a memref type without layout, with the element type and memory space of ``type_``."""
    return ty.MemRefType(shape, type_.element, None, type_.memory_space)


def same_place(one: ty.MemRefType, other: ty.MemRefType) -> bool:
    """Tell whether two types are equal, however their layouts are written."""
    return (one.shape, one.element, one.memory_space, strides_and_offset(one)) == (
        other.shape,
        other.element,
        other.memory_space,
        strides_and_offset(other),
    )


def canonical_type(type_: ty.MemRefType) -> ty.MemRefType:
    """Return a strided type with the layout with which memref.transpose compares it.

    It is none for elements that lie one after the other, else a map. Strides that are the identity map stay.
    """
    known = strides_and_offset(type_)
    if known is None or is_identity(type_):
        return type_
    shape = type_.shape or ()
    if known == strides_and_offset(without_layout(type_, shape)) and None not in shape:
        return without_layout(type_, shape)
    map_ = type_.layout if isinstance(type_.layout, at.AffineMapAttr) else _map_of(*known)
    return ty.MemRefType(shape, type_.element, map_, type_.memory_space)


def _map_of(strides: Sequence[int | None], offset: int | None) -> at.AffineMapAttr:
    """Return strides as a map, with a symbol for each number that is not known: for the offset first."""
    symbols = 0

    def number(known: int | None) -> AffineExpr:
        nonlocal symbols
        if known is not None:
            return AffineConstant(known)
        symbols += 1
        return Symbol(symbols - 1)

    place = number(offset)
    for axis, stride in enumerate(strides):
        place = add(place, multiply(Dimension(axis), number(stride)))
    return at.AffineMapAttr(len(strides), symbols, (place,))


def equivalent(one: ty.MemRefType, other: ty.MemRefType) -> bool:
    """Tell whether two canonical types are equal, in whatever order their maps add."""
    terms = []
    for type_ in (one, other):
        map_ = type_.layout
        terms.append(_terms(map_.results[0]) if isinstance(map_, at.AffineMapAttr) and map_.results else map_)
    alike = (one.shape, one.element, one.memory_space) == (other.shape, other.element, other.memory_space)
    return alike and terms[0] == terms[1]


def _terms(expr: AffineExpr) -> dict[int | None, AffineExpr]:
    """Return the factor of each dimension in a sum, and under None what has no dimension."""
    if isinstance(expr, Dimension):
        return {expr.position: AffineConstant(1)}
    if expr.symbolic or not isinstance(expr, Binary):
        return {None: expr} if expr != AffineConstant(0) else {}
    found = _terms(expr.lhs)
    if expr.operator == "*":
        return {axis: multiply(factor, expr.rhs) for axis, factor in found.items()}
    for axis, factor in _terms(expr.rhs).items():
        found[axis] = add(found[axis], factor) if axis in found else factor
    return found


def compatible_strides(one: Strides | None, other: Strides | None) -> bool:
    """Tell whether strides and offsets are equal where both are known."""
    if one is None or other is None:
        return one == other
    pairs = zip((*one[0], one[1]), (*other[0], other[1]), strict=True)
    return all(a is None or b is None or a == b for a, b in pairs)


def viewed_type(type_: ty.MemRefType, lists: Written) -> ty.MemRefType | None:
    """Return the type of the view that a subview takes, with all dimensions; None where the source is not strided."""
    known = strides_and_offset(type_)
    if known is None:
        return None
    strides, offset = known
    for start, stride in zip(lists.offsets, strides, strict=True):
        offset = known_sum(offset, known_product(start, stride))
    return with_layout(type_, lists.sizes, tuple(map(known_product, lists.strides, strides)), offset)


def reduced_types(type_: ty.MemRefType, rank: int) -> Iterator[ty.MemRefType]:
    """Yield the types that remain where dimensions of size 1 are dropped until there are ``rank``."""
    shape = type_.shape or ()
    layout = type_.layout
    assert isinstance(layout, at.StridedLayoutAttr)
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    for dropped in combinations(ones, len(shape) - rank):
        kept = [axis for axis in range(len(shape)) if axis not in dropped]
        yield with_layout(
            type_, tuple(shape[axis] for axis in kept), tuple(layout.strides[axis] for axis in kept), layout.offset
        )


def expanded_strides(strides: Sequence[int | None], shape: Sequence[int | None], groups: Groups) -> Shape:
    """Return the strides of an expanded shape: the last dimension of each group has the stride of the group."""
    found: list[int | None] = [1] * len(shape)
    for stride, group in zip(strides, groups, strict=True):
        for axis in reversed(group):
            found[axis] = stride
            stride = known_product(stride, shape[axis])
    return tuple(found)


def expanded_type(type_: ty.MemRefType, shape: Shape, groups: Groups) -> ty.MemRefType | None:
    """Return the type of an expanded memref; None where the source is not strided."""
    known = strides_and_offset(type_)
    if known is None:
        return None
    if is_identity(type_):
        return without_layout(type_, shape)
    return with_layout(type_, shape, expanded_strides(known[0], shape, groups), known[1])


def collapsed_strides(
    strides: Sequence[int | None], shape: Sequence[int | None], groups: Groups
) -> tuple[int | None, ...] | None:
    """Return the strides of a collapsed shape; None where the dimensions of a group surely do not lie one after the
    other.

    A group has the stride of its last dimension that has another size than 1.
    """
    found: list[int | None] = []
    for group in groups:
        last = next((axis for axis in reversed(group[1:]) if shape[axis] != 1), group[0])
        found.append(strides[last] if shape[last] is not None or last == group[0] else None)
    for stride, group in zip(found, groups, strict=True):
        for axis in reversed(group[1:]):
            stride = known_product(stride, shape[axis])
            before = strides[axis - 1]
            if shape[axis - 1] != 1 and stride is not None and before is not None and stride != before:
                return None
    return tuple(found)


def collapsed_type(type_: ty.MemRefType, shape: Shape, groups: Groups) -> ty.MemRefType | None:
    """Return the type of a collapsed memref; None where it has none."""
    if is_identity(type_):
        return without_layout(type_, shape)
    known = strides_and_offset(type_)
    strides = None if known is None else collapsed_strides(known[0], type_.shape or (), groups)
    return None if known is None or strides is None else with_layout(type_, shape, strides, known[1])
