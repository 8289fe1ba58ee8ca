"""Blocks of elements that share a scale, as values: along an axis, with poison."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes, FloatFormat
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.ir import types as ty
from halfulp.interp.values.value import Value
from halfulp.semantics import block_scaling
from halfulp.semantics.block_scaling import Element, Recipe
from halfulp.semantics.kernel import PoisonIds


class Quantized(NamedTuple):
    """The result of a recipe for floats. The codes of ``elements`` have the shape of the floats; the codes of
    ``scales`` have the number of blocks along the axis; ``tensor_scale``: for NVFP4 with two levels, one code of f32.
    """

    elements: Codes
    scales: Codes
    tensor_scale: Codes | None
    element_poison: PoisonIds | None
    scale_poison: PoisonIds | None


def element_kind(type_: ty.Type, rules: Recipe) -> Element | None:
    """Return the element kind of a type; None if the recipe does not take the type."""
    kind = block_scaling.INT8 if type_ == ty.IntegerType(8) else getattr(type_, "format", None)
    if rules.raises is not None and isinstance(kind, FloatFormat) and kind.signed and kind.zero and kind.bits <= 16:
        return kind
    return kind if kind is not None and kind in rules.elements().values() else None


def quantized(
    value: Value,
    axis: int,
    block: int,
    kind: Element,
    rules: Recipe,
    rounding: Rounding,
    given: Codes | None,
    two_levels: bool,
) -> Quantized:
    """Quantise floats of up to 64 bits in blocks of ``block`` elements along an axis of their array.

    ``given``, ``two_levels``: see `halfulp.semantics.block_scaling.quantize`. Raises ValueError for a source format
    that the recipe cannot compute with.
    """
    source = value.element_type
    assert isinstance(source, ty.FloatType)
    blocks = block_scaling.quantize(
        split(value.bits, axis, block), source.format, kind, rules, rounding, given, two_levels
    )
    everywhere = two_levels and given is None and rules.raises is None
    size = value.bits.shape[axis]
    return Quantized(
        joined(blocks.elements, axis, size),
        np.moveaxis(blocks.scales, -1, axis),
        blocks.tensor_scale,
        *_poison(value, axis, block, everywhere),
    )


def split(codes: npt.NDArray[Any], axis: int, block: int) -> npt.NDArray[Any]:
    """Divide the dimension ``axis`` into blocks of ``block`` elements, and move the elements of a block to a new last
    dimension. If the last block is short, zeros fill it up; they do not change the result of a recipe.
    """
    moved = np.moveaxis(codes, axis, -1)
    block = min(block, max(1, moved.shape[-1]))  # a block that is longer than the dimension is not filled up
    missing = -moved.shape[-1] % block
    if missing:
        moved = np.pad(moved, [(0, 0)] * (moved.ndim - 1) + [(0, missing)])
    return moved.reshape(*moved.shape[:-1], moved.shape[-1] // block, block)


def joined(codes: npt.NDArray[Any], axis: int, size: int) -> npt.NDArray[Any]:
    """Undo `split`: return the array with its blocks joined along ``axis``, cut to ``size`` elements."""
    flat = codes.reshape(*codes.shape[:-2], codes.shape[-2] * codes.shape[-1])[..., :size]
    return np.ascontiguousarray(np.moveaxis(flat, -1, axis))


def _poison(value: Value, axis: int, block: int, everywhere: bool) -> tuple[PoisonIds | None, PoisonIds | None]:
    """Return the poison of elements and of scales: both have that of the block, or of the whole tensor if
    ``everywhere``.
    """
    if value.poison is None:
        return None, None
    blocks = split(value.poison, axis, block)
    worst = np.full(blocks.shape[:-1], blocks.max(), blocks.dtype) if everywhere else blocks.max(axis=-1)
    spread = np.broadcast_to(worst[..., None], blocks.shape)
    return joined(spread, axis, value.bits.shape[axis]), np.moveaxis(worst, -1, axis)
