"""Blocks of a file of weights, as gguf packs them: their elements and scales, and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import spell_shape
from halfulp.interp.values.coerce import as_type, natural_array
from halfulp.interp.values.value import Value
from halfulp.semantics import gguf_blocks
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
        codes = type_.unpack(data.reshape(-1, type_.bytes))
        parts = {}
        for (name, part), held in zip(type_.parts.items(), codes, strict=True):
            sizes = (*shape[:-1], shape[-1] // part.covers)
            # As of an unsigned array of NumPy: ops of arith take signless integers alone.
            element, unsigned = as_type(part.type.removeprefix("u")), part.type.startswith("u")
            whole = ty.TensorType(sizes, element)
            parts[name] = Value(whole, np.ascontiguousarray(held).reshape(sizes), None, None, None, unsigned)
        return cls(format, **parts)

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


def _numbers(type_: BlockType, name: str, part: Value) -> gguf_blocks.Floats:
    read = (type_.numbers or {}).get(name)
    element = as_type(type_.parts[name].type)
    return natural_array(element, part.bits).astype(np.float32) if read is None else read(part.bits)
