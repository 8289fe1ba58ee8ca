"""Sizes, strides and offsets for what the types of arguments leave dynamic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.values.element_layout import concrete, runtime_shape
from halfulp.interp.values.memref_layout import chosen_layout, expected_layout, is_injective, row_major

LOOSE_OFFSET = 5
"""The offset of made-up memory whose offset is dynamic, where elements do not lie one after the other."""


@dataclass(frozen=True)
class Sizes:
    """One choice of dynamic sizes: the size of each dimension, by its number; the rank of what is unranked.

    ``share``: the part of the inputs, of all shares together. ``loose``: dynamic strides and offsets leave gaps.
    """

    name: str
    size: Callable[[int], int]
    share: int
    rank: int = 1
    loose: bool = False


CHOICES = (
    Sizes("3", lambda axis: 3, 8),
    Sizes("2, 3, 4 by dimension", lambda axis: axis + 2, 5, rank=2, loose=True),
    Sizes("16", lambda axis: 16, 3),
    Sizes("4", lambda axis: 4, 2),
    Sizes("1", lambda axis: 1, 1, rank=0),
    Sizes("0", lambda axis: 0, 1),
)
"""The sizes that are tested: few, with those at which loops and tiles behave otherwise."""

STATIC = Sizes("", lambda axis: 0, 1)
"""The only choice for types without dynamic sizes."""


def is_dynamic(type_: ty.Type) -> bool:
    """Tell whether values of a type have different shapes or layouts."""
    shape = ty.shape_of(type_)
    if shape is None or None in shape:
        return True
    if not isinstance(type_, ty.MemRefType):
        return False
    strides, offset = expected_layout(type_, tuple(size or 0 for size in shape))
    return None in strides or offset is None


def sizes_within(function: Operation) -> tuple[Sizes, ...]:
    """Return one more choice: the largest static sizes that types in a function have, by dimension, if there are any.

    Casts and slices need these.
    """
    found: dict[int, int] = {}
    for op in function.walk():
        for value in (*op.results, *op.operands):
            for axis, size in enumerate(ty.shape_of(value.type) or ()):
                found[axis] = max(found.get(axis, 0), size or 0)
    known = {axis: size for axis, size in found.items() if size}
    if not known:
        return ()
    return (Sizes("those of the function", lambda axis: known.get(axis, 3), 5, rank=len(found)),)


def scaled_sizes(function: Operation) -> dict[int, int]:
    """Return the sizes, by dimension, that the scales of quantised types in a function need."""
    found: dict[int, int] = {}
    for op in function.walk():
        arguments = [value for region in op.regions for block in region.blocks for value in block.arguments]
        for value in (*op.results, *arguments):
            found = _own_scales(value.type) | found
    return found


def _own_scales(type_: ty.Type) -> dict[int, int]:
    """Return the sizes, by dimension, that the scales of a type need."""
    element = ty.element_type(type_)
    if not isinstance(element, ty.UniformQuantizedType):
        return {}
    if element.axis is not None:
        return {element.axis: len(element.scales)}
    blocks = dict(element.block_sizes or ())
    return {axis: count * blocks.get(axis, 1) for axis, count in enumerate(element.parameter_shape)}


def made_up(type_: ty.Type, sizes: Sizes, vscale: int | None, scaled: Mapping[int, int]) -> ty.Type:
    """Return a type with sizes, strides and offset in place of the dynamic ones.

    ``scaled``: the sizes of dimensions that scales decide. Raises Unsupported for a scalable vector without ``vscale``,
    and for layouts that halfulp does not run.
    """
    shape = runtime_shape(type_, vscale)
    known = dict(scaled) | _own_scales(type_)
    if shape is None:
        shape = (None,) * max(sizes.rank, *(axis + 1 for axis in known), 0)
    chosen = tuple(known.get(axis, sizes.size(axis)) if size is None else size for axis, size in enumerate(shape))
    if isinstance(type_, ty.MemRefType):
        return _placed(type_, chosen, sizes.loose)
    return concrete(type_, chosen)


def _placed(type_: ty.MemRefType, shape: tuple[int, ...], loose: bool) -> ty.MemRefType:
    """Return a static memref type of a shape, with a layout that ``type_`` allows."""
    if type_.layout is None:
        return replace(type_, shape=shape)
    strides, offset = chosen_layout(type_, shape)
    if loose and isinstance(type_.layout, at.StridedLayoutAttr):
        known, start = expected_layout(type_, shape)
        wide = zip(known, row_major(shape), strict=True)
        symbols = [*([LOOSE_OFFSET] if start is None else []), *(2 * dense for given, dense in wide if given is None)]
        wider, moved = chosen_layout(type_, shape, symbols) if symbols else (strides, offset)
        if is_injective(shape, wider):
            strides, offset = wider, moved
    if not is_injective(shape, strides):
        raise Unsupported(f"no values of type '{type_}' can be generated: several elements have one place")
    return replace(type_, shape=shape, layout=at.StridedLayoutAttr(strides, offset))
