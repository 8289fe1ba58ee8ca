"""Blocks of a file of weights, as gguf packs them: their elements and scales, and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.converting import convert
from halfulp.fp_formats.formats import Codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.ir.types import spell_shape
from halfulp.interp.values.coerce import as_type, natural_array
from halfulp.interp.values.value import Value
from halfulp.quantizing.blocks import float_value
from halfulp.semantics import gguf_blocks
from halfulp.semantics.block_scaling import INT8, working_format
from halfulp.semantics.gguf_blocks import BlockType


@dataclass(frozen=True)
class PackedBlocks:
    """A tensor of blocks as ggml packs them, with each part as a `Value`.

    An element stands for (super_scales * scales) * elements - super_mins * mins; a part that the type lacks is 1, the
    minimums of Q4_1 and Q5_1 are added. The parts have the shape of the tensor, but with fewer numbers in the last
    dimension: one for each block.

    ``format``: the name of ggml's type, such as "Q4_K".
    ``elements``: the stored integers, or floats of f4E2M1FN.
    ``scales``, ``mins``: one for each block of 16 or 32 elements, or None.
    ``super_scales``, ``super_mins``: one for each block of 256 elements, or None.
    """

    format: str
    elements: Value
    scales: Value
    mins: Value | None = None
    super_scales: Value | None = None
    super_mins: Value | None = None

    @classmethod
    def from_bytes(cls, format: str, data: npt.NDArray[np.uint8], shape: tuple[int, ...]) -> PackedBlocks:
        """Make blocks of the bytes of a file. ``data``: [bytes]. ``shape``: in elements."""
        type_ = gguf_blocks.BLOCK_TYPES[format]
        return cls._of_codes(type_, type_.unpack(data.reshape(-1, type_.bytes)), shape)

    @classmethod
    def _of_codes(cls, type_: BlockType, codes: tuple[Codes, ...], shape: tuple[int, ...]) -> PackedBlocks:
        parts = {}
        for (name, part), held in zip(type_.parts.items(), codes, strict=True):
            sizes = (*shape[:-1], shape[-1] // part.covers)
            # As of an unsigned array of NumPy: ops of arith take signless integers alone.
            element, unsigned = as_type(part.type.removeprefix("u")), part.type.startswith("u")
            whole = ty.TensorType(sizes, element)
            parts[name] = Value(whole, np.ascontiguousarray(held).reshape(sizes), None, None, None, unsigned)
        return cls(type_.name, **parts)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor in elements."""
        return self.elements.shape

    @property
    def parts(self) -> Mapping[str, Value]:
        """The parts that the type has, by name."""
        found = {field.name: getattr(self, field.name) for field in fields(self)[1:]}
        return {name: part for name, part in found.items() if part is not None}

    def dequantize(self) -> Value:
        """Return the numbers that the blocks stand for, in f32 as ggml computes them. A NaN is the NaN of f32."""
        type_ = gguf_blocks.BLOCK_TYPES[self.format]
        numbers = {name: _numbers(type_, name, part) for name, part in self.parts.items()}
        return Value(ty.with_element(self.elements.type, ty.F("f32")), gguf_blocks.dequantize(type_, numbers))

    def __repr__(self) -> str:
        parts = ", ".join(f"{name} of {part.element_type}" for name, part in self.parts.items())
        return f"PackedBlocks: {spell_shape(self.shape)} of {self.format}: {parts}"


def pack(x: Any, format: str) -> PackedBlocks:
    """Quantise an array as ggml does, and return its blocks.

    ``x``: an array or `Value` of f32, or of a float type whose values f32 has; the size of the last dimension is a
    multiple of 32, or of 256 for a type whose name ends in K. ``format``: "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", or
    "Q2_K" to "Q6_K", whose scales ggml searches for.

        blocks = hu.quant.pack(weights, "Q4_0")
        hu.error(blocks.dequantize(), reference=weights)

    The bits are those of the package gguf, and of ggml's code in C, except where a compiler fuses products and sums:
    then an element near a tie may differ, or the search may end at another scale.

    Raises ValueError for another format or size, for numbers that are not finite, and for a block of 32 whose largest
    magnitude is below 2**-118 and not zero, for which ggml's result is undefined; TypeMismatch for wider floats.
    """
    type_ = gguf_blocks.BLOCK_TYPES.get(format)
    if type_ is None or type_.quantize is None:
        known = ", ".join(name for name, row in gguf_blocks.BLOCK_TYPES.items() if row.quantize is not None)
        raise ValueError(f"format is {format!r}, but must be one of {known}")
    value = float_value(x)
    if value.poison is not None:
        raise ValueError("x has poison")
    if value.element_type != (f32 := ty.F("f32")):
        source = value.element_type
        assert isinstance(source, ty.FloatType)
        if working_format(source.format, INT8) != f32.format:
            raise TypeMismatch(f"pack: f32 does not have every value of '{source}'", hint='hu.convert(x, "f32")')
        value = convert(value, f32)
    if not value.shape or value.shape[-1] % type_.size:
        raise ValueError(f"x has the shape {value.shape}; its last dimension must be a multiple of {type_.size}")
    blocks = value.numpy().reshape(-1, type_.size)
    largest = np.abs(blocks).max(axis=1, initial=0)
    if not np.isfinite(largest).all():
        raise ValueError("x has numbers that are not finite")
    if type_.size == 32 and ((largest > 0) & (largest < gguf_blocks.SMALLEST)).any():
        raise ValueError("a block of x has no magnitude of at least 2**-118, so that ggml's result is undefined")
    with np.errstate(all="ignore"):
        codes = type_.quantize(blocks)
    return PackedBlocks._of_codes(type_, codes, value.shape)


def _numbers(type_: BlockType, name: str, part: Value) -> gguf_blocks.Floats:
    read = (type_.numbers or {}).get(name)
    element = as_type(type_.parts[name].type)
    return natural_array(element, part.bits).astype(np.float32) if read is None else read(part.bits)
