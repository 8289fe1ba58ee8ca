"""linalg.pack and linalg.unpack: tensors in tiles, and back (`LinalgRelayoutOps.td`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.elements import Function, Operands, picked, rearranged, repeated, replaced
from halfulp.interp.dialects.linalg.declaring import linalg
from halfulp.interp.dialects.slices import numbers, static_numbers
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, OpResult, undefined
from halfulp.interp.ir.types import spell_shape
from halfulp.interp.run.evaluators import OnValues
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings, check_allocation

_NO_ORDER = at.DenseArrayAttr(ty.I64, ())

_MISMATCH = "mismatch in inner tile sizes specified and shaped of tiled dimension in the packed type"
_PARTIAL = "invalid tile factor or output size provided. Only full tiles are supported when padding_value is not set"


class Layout(NamedTuple):
    """How an op divides a tensor.

    ``axes``: the dimensions that have tiles. ``order``: for each outer dimension of the packed tensor, the dimension of
    the other one. ``tiles``: the sizes of the tiles; None for a size that an operand gives.
    """

    axes: tuple[int, ...]
    order: tuple[int, ...]
    tiles: tuple[int | None, ...]

    def packed(self, shape: Sequence[int | None]) -> tuple[int | None, ...]:
        """Return the shape of the packed tensor."""
        outer = list(shape)
        for axis, tile in zip(self.axes, self.tiles, strict=True):
            size = outer[axis]
            outer[axis] = None if size is None or tile is None else -(-size // tile)
        return (*(outer[axis] for axis in self.order), *self.tiles)


def _list(op: Operation, name: str) -> tuple[int, ...]:
    written = op.properties.get(name)
    return written.values if isinstance(written, at.DenseArrayAttr) else ()


def _layout(op: Operation, rank: int) -> Layout:
    order = _list(op, "outer_dims_perm") or tuple(range(rank))
    return Layout(_list(op, "inner_dims_pos"), order, static_numbers(op, "inner_tiles"))


# --- rules ------------------------------------------------------------------------------------------------------------


def _known_tiles(op: Operation, tiles: Sequence[int | None]) -> list[int | None]:
    """Return the sizes of tiles that are known, also those of constant operands."""
    dynamic = tiles.count(None)
    operands = iter(op.operands[len(op.operands) - dynamic :])
    return [_constant(next(operands)) if tile is None else tile for tile in tiles]


def _constant(value: Any) -> int | None:
    if isinstance(value, OpResult) and value.owner.name == "arith.constant":
        attribute = value.owner.properties.get("value")
        return attribute.value if isinstance(attribute, at.IntegerAttr) else None
    return None


def _is_position(axes: Sequence[int], rank: int) -> bool:
    """Tell whether axes are different dimensions of a rank."""
    return len(axes) <= rank and all(0 <= axis < rank for axis in axes) and len(set(axes)) == len(axes)


def _verify(op: Operation, unpacked: ty.Type, packed: ty.Type) -> str | None:
    shape, tiled = ty.shape_of(unpacked) or (), ty.shape_of(packed) or ()
    rank = len(shape)
    layout = _layout(op, rank)
    tiles, order = layout.tiles, _list(op, "outer_dims_perm")
    if 0 in _known_tiles(op, tiles):
        return d.Unprefixed("invalid zero tile factor")
    if not _is_position(layout.axes, rank):
        return d.Unprefixed("invalid inner_dims_pos vector")
    if not _is_position(order, rank):
        return d.Unprefixed("invalid outer_dims_perm vector")
    if order and len(order) != rank:
        return d.Unprefixed("outer_dims_perm must be a permutation or empty")
    if len(tiles) > rank:
        return d.Unprefixed(
            "tiling factors must be less than or equal to the input rank for pack or output rank for unpack"
        )
    if len(tiles) != len(layout.axes):
        return d.Unprefixed("tiling factors must equal the number of dimensions to tile")
    if len(tiled) != rank + len(tiles):
        return d.Unprefixed(
            f"packed rank != (unpacked rank + num tiling factors), got {len(tiled)} != {rank + len(tiles)}"
        )
    if tiled[rank:] != tiles:
        return d.Unprefixed(_MISMATCH)
    expected = layout.packed(shape)
    if any(a is not None and b is not None and a != b for a, b in zip(expected, tiled, strict=True)):
        type_ = ty.TensorType(expected, ty.element_type(unpacked))
        return d.Unprefixed(f"expected '{type_}' for the packed domain value, got '{packed}'")
    return None


def _is_padded(op: Operation) -> bool:
    return op.numbers("operandSegmentSizes")[2] == 1


def _verify_pack(op: Operation) -> str | None:
    source, dest = op.operands[0].type, op.operands[1].type
    problem = _verify(op, source, dest)
    if problem:
        return problem
    if _is_padded(op):
        given, wanted = op.operands[2].type, ty.element_type(source)
        return f"expected padding_value has '{wanted}' but got: '{given}'" if given != wanted else None
    shape = ty.shape_of(source) or ()
    layout = _layout(op, len(shape))
    outer = dict(zip(layout.order, ty.shape_of(dest) or (), strict=False))
    for axis, tile in zip(layout.axes, _known_tiles(op, layout.tiles), strict=True):
        size = shape[axis]
        whole = outer[axis] if tile is None else tile
        if size is not None and whole and size % whole:
            return _PARTIAL
    return None


# --- evaluation -------------------------------------------------------------------------------------------------------


def _layout_of_run(op: Operation, operands: Operands, rank: int, settings: Settings) -> Layout:
    """Return the layout with the values of operands filled in. Raises UndefinedBehavior for a tile that is not
    positive.
    """
    layout = _layout(op, rank)
    given = iter(numbers(op, operands[len(operands) - layout.tiles.count(None) :], settings))
    tiles = tuple([next(given) if tile is None else tile for tile in layout.tiles])
    if any(tile <= 0 for tile in tiles):
        raise undefined(op, f"the sizes of tiles are {list(tiles)}; each must be positive")
    return layout._replace(tiles=tiles)


def _check_packed(op: Operation, layout: Layout, shape: Sequence[int], found: tuple[int, ...]) -> None:
    wanted = tuple(size or 0 for size in layout.packed(shape))
    if found != wanted:
        raise undefined(
            op,
            f"the packed tensor has the shape {spell_shape(found)}, but {spell_shape(tuple(shape))} in tiles "
            f"{list(layout.tiles)} of dimensions {list(layout.axes)} has the shape {spell_shape(wanted)}",
        )


def _axes_of(layout: Layout, rank: int) -> tuple[list[int], list[int]]:
    """Return the place of each outer dimension and of each tile in a tensor in which each divided dimension is two, the
    outer one first.
    """
    outer: list[int] = []
    for axis in range(rank):
        outer.append(axis + sum(other < axis for other in layout.axes))
    return [outer[axis] for axis in layout.order], [outer[axis] + 1 for axis in layout.axes]


def _divided(layout: Layout, shape: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return a shape with full tiles, and the same shape with two dimensions for each divided one."""
    sizes = dict(zip(layout.axes, layout.tiles, strict=True))
    whole: list[int] = []
    parts: list[int] = []
    for axis, size in enumerate(shape):
        tile = sizes.get(axis)
        count = size if tile is None else -(-size // tile)
        whole.append(size if tile is None else count * tile)
        parts += [count] if tile is None else [count, tile]
    return whole, parts


def _pack(op: Operation, settings: Settings) -> Function:
    type_ = op.results[0].type

    def pack(run: Run, operands: Operands) -> tuple[Any, ...]:
        source, dest = operands[:2]
        layout = _layout_of_run(op, operands, source.ndim, settings)
        _check_packed(op, layout, source.shape, dest.shape)
        whole, parts = _divided(layout, source.shape)
        if tuple(whole) != source.shape:
            if not _is_padded(op):
                raise undefined(
                    op,
                    f"tiles {list(layout.tiles)} do not divide dimensions {list(layout.axes)} of "
                    f"{spell_shape(source.shape)}, and there is no padding_value",
                )
            check_allocation(type_, dest.shape, settings)
            around = repeated(operands[2], tuple(whole), type_)
            source = replaced(run, around, tuple([slice(size) for size in source.shape]), source)
        outer, inner = _axes_of(layout, len(whole))

        def move(array: Any, trailing: tuple[int, ...]) -> Any:
            rest = range(len(parts), len(parts) + len(trailing))
            return array.reshape(*parts, *trailing).transpose(*outer, *inner, *rest)

        return (rearranged(source, type_, move),)

    return pack


def _unpack(op: Operation, settings: Settings) -> Function:
    type_ = op.results[0].type

    def unpack(run: Run, operands: Operands) -> tuple[Any, ...]:
        source, dest = operands[:2]
        layout = _layout_of_run(op, operands, dest.ndim, settings)
        _check_packed(op, layout, dest.shape, source.shape)
        whole, parts = _divided(layout, dest.shape)
        outer, inner = _axes_of(layout, len(whole))
        order = [*outer, *inner]
        back = [order.index(axis) for axis in range(len(parts))]

        def move(array: Any, trailing: tuple[int, ...]) -> Any:
            rest = range(len(parts), len(parts) + len(trailing))
            return array.transpose(*back, *rest).reshape(*whole, *trailing)

        full = rearranged(source, type_, move)
        return (picked(full, tuple([slice(size) for size in dest.shape]), type_),)

    return unpack


# --- declarations -----------------------------------------------------------------------------------------------------

_LISTS = (
    "(`outer_dims_perm` `=` $outer_dims_perm^)? `inner_dims_pos` `=` $inner_dims_pos "
    "`inner_tiles` `=` custom<DynamicIndexList>($inner_tiles, $static_inner_tiles) `into` $dest attr-dict "
    "`:` type($source) `->` type($dest)"
)
_PROPERTIES = (
    d.Property("inner_dims_pos", d.INTEGER_64_ARRAY_ATTR),
    d.Property("outer_dims_perm", d.INTEGER_64_ARRAY_ATTR, optional=True, elided=_NO_ORDER),
    d.Property("static_inner_tiles", d.INTEGER_64_ARRAY_ATTR),
)
_RESULT = d.derived_type(
    "result", "dest", lambda type_: type_, "failed to verify that result type matches type of dest"
)


def declare_relayouts() -> None:
    """Declare the ops that pack and unpack tensors."""
    source, dest = d.Slot("source", d.RANKED_TENSOR), d.Slot("dest", d.RANKED_TENSOR)
    tiles = d.variadic("inner_tiles", d.INDEX)
    linalg.op(
        "pack",
        "$source (`padding_value` `(` $padding_value^ `:` type($padding_value) `)`)? " + _LISTS,
        operands=(source, dest, d.optional("padding_value", d.ANY), tiles),
        results={"result": d.RANKED_TENSOR},
        properties=_PROPERTIES,
        traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
        type_rules=(_RESULT,),
        verify=_verify_pack,
        named_results=("pack",),
        evaluate=OnValues(_pack),
    )
    linalg.op(
        "unpack",
        "$source " + _LISTS,
        operands=(source, dest, tiles),
        results={"result": d.RANKED_TENSOR},
        properties=_PROPERTIES,
        type_rules=(_RESULT,),
        verify=lambda op: _verify(op, op.operands[1].type, op.operands[0].type),
        named_results=("unpack",),
        evaluate=OnValues(_unpack),
    )
