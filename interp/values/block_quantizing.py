"""Blocks of elements that share a scale, as values: along one or more axes, with poison."""

from __future__ import annotations

from math import prod
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes, FloatFormat
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.ir import types as ty
from halfulp.interp.values.value import Value
from halfulp.semantics import block_scaling
from halfulp.semantics.block_scaling import Element, Recipe
from halfulp.semantics.kernel import PoisonIds

Levels = Literal["blocks", "rows", "tensor"]
"""The levels of scales: of blocks alone, or also of each row, or also of the tensor."""


class Quantized(NamedTuple):
    """The result of a recipe for floats. The codes of ``elements`` have the shape of the floats; the codes of
    ``scales`` have the number of blocks along each axis; ``tensor_scale``: for NVFP4 with two levels, codes of f32.
    """

    elements: Codes
    scales: Codes
    tensor_scale: Codes | None
    element_poison: PoisonIds | None
    scale_poison: PoisonIds | None


def element_kind(type_: ty.Type, rules: Recipe) -> Element | None:
    """Return the element kind of a type; None if the recipe does not take the type."""
    kind = block_scaling.INT8 if type_ == ty.IntegerType(8) else getattr(type_, "format", None)
    any_float = rules.raises is not None and not rules.noise
    if any_float and isinstance(kind, FloatFormat) and kind.signed and kind.zero and kind.bits <= 16:
        return kind
    return kind if kind is not None and kind in rules.elements().values() else None


def quantized(
    value: Value,
    axes: tuple[int, ...],
    block: tuple[int, ...],
    kind: Element,
    rules: Recipe,
    rounding: Rounding,
    given: Codes | None,
    levels: Levels,
    noise: Codes | None = None,
) -> Quantized:
    """Quantise floats of up to 64 bits in blocks.

    ``axes``, ``block``: the dimensions along which blocks lie, in order, and the number of elements of a block in each.
    ``given``: see `halfulp.semantics.block_scaling.quantize`. ``levels``: what has a scale besides that of the blocks:
    nothing, the tensor, or each row, which is all that lies along the last axis of ``axes``. Raises ValueError for a
    source format that the recipe cannot compute with. ``noise``: see there, in the shape of the scales.
    """
    source = value.element_type
    along = axes[-1] if levels == "rows" else None
    blocks = block_scaling.quantize(
        split(value.bits, axes, block),
        ty.float_format(source),
        kind,
        rules,
        rounding,
        given,
        levels != "blocks",
        along,
        min(block[-1], value.bits.shape[axes[-1]]) if len(axes) > 1 else None,
        noise,
    )
    everywhere = levels != "blocks" and given is None and rules.levels is not None
    return Quantized(
        joined(blocks.elements, axes, block, value.bits.shape),
        blocks.scales,
        blocks.tensor_scale,
        *_poison(value, axes, block, everywhere, along),
    )


def split(codes: npt.NDArray[Any], axes: tuple[int, ...], block: tuple[int, ...]) -> npt.NDArray[Any]:
    """Divide dimensions into blocks, and move the elements of a block to a new last dimension, in row-major order. If
    the last block is short, zeros fill it up; they do not change the result of a recipe.

    ``axes``, ``block``: the dimensions in order, and the number of elements of a block in each.
    """
    sizes = _sizes(codes.shape, axes, block)
    missing = [-extent % size for extent, size in zip(codes.shape, sizes, strict=True)]
    if any(missing):
        codes = np.pad(codes, [(0, count) for count in missing])
    counts = [extent // size for extent, size in zip(codes.shape, sizes, strict=True)]
    parts = codes.reshape([part for pair in zip(counts, sizes, strict=True) for part in pair])
    places = range(parts.ndim)
    return parts.transpose(*places[::2], *places[1::2]).reshape(*counts, prod(sizes))


def joined(
    codes: npt.NDArray[Any], axes: tuple[int, ...], block: tuple[int, ...], shape: tuple[int, ...]
) -> npt.NDArray[Any]:
    """Undo `split`: return the array of this shape whose blocks these are."""
    sizes, rank = _sizes(shape, axes, block), len(shape)
    parts = codes.reshape(*codes.shape[:-1], *sizes)
    whole = parts.transpose([place for axis in range(rank) for place in (axis, rank + axis)])
    filled = whole.reshape([count * size for count, size in zip(codes.shape, sizes, strict=False)])
    return np.ascontiguousarray(filled[tuple(slice(extent) for extent in shape)])


def _sizes(shape: tuple[int, ...], axes: tuple[int, ...], block: tuple[int, ...]) -> list[int]:
    """Return the number of elements of a block in each dimension: 1 where no blocks lie, and at most the dimension."""
    along = dict(zip(axes, block, strict=True))
    return [min(along.get(axis, 1), max(1, extent)) for axis, extent in enumerate(shape)]


def _poison(
    value: Value, axes: tuple[int, ...], block: tuple[int, ...], everywhere: bool, along: int | None
) -> tuple[PoisonIds | None, PoisonIds | None]:
    """Return the poison of elements and of scales: both have that of the block, or if ``everywhere`` of the whole
    tensor, or of the row ``along`` an axis.
    """
    if value.poison is None:
        return None, None
    blocks = split(value.poison, axes, block)
    worst = blocks.max(axis=-1)
    if everywhere:
        worst = np.broadcast_to(worst.max(axis=along, keepdims=True), worst.shape).copy()
    spread = np.broadcast_to(worst[..., None], blocks.shape)
    return joined(spread, axes, block, value.bits.shape), worst
