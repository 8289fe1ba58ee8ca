"""Weights as files pack them: blocks of gguf, and groups of AWQ and GPTQ, with the numbers that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.converting import convert
from halfulp.fp_formats.formats import Codes
from halfulp.inputs import as_value
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.ir.types import spell_shape
from halfulp.interp.values.coerce import as_type, natural_array
from halfulp.interp.values.value import Value
from halfulp.quantizing.blocks import float_value, whole
from halfulp.semantics import gguf_blocks, group_layouts
from halfulp.semantics.block_scaling import INT8, working_format
from halfulp.semantics.gguf_blocks import BlockType
from halfulp.semantics.group_layouts import Layout, layout_named

# --- gguf -------------------------------------------------------------------------------------------------------------


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
        if working_format(ty.float_format(source), INT8) != f32.format:
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


# --- AWQ and GPTQ -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PackedGroups:
    """A layer of integers in groups, as AWQ and GPTQ store it, with each part as a `Value`.

    A weight is scale * (element - zero point), of the group of its input.

    ``layout``: the name of the layout.
    ``elements``: unsigned integers: [inputs, outputs], or [outputs, inputs] for "awq-gemv".
    ``zero_points``, ``scales``: the same shape, but with the number of groups in place of that of the inputs.
    ``groups``: the group of each input.
    """

    layout: str
    elements: Value
    zero_points: Value
    scales: Value
    groups: npt.NDArray[np.intp]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the elements."""
        return self.elements.shape

    def dequantize(self) -> Value:
        """Return the weights in the type of the scales: the exact product, rounded once to nearest even."""
        kind = self.scales.element_type
        inputs = group_layouts.LAYOUTS[self.layout].inputs
        parts = (self.elements.bits, self.zero_points.bits, self.scales.bits)
        return Value(
            ty.TensorType(self.shape, kind),
            group_layouts.dequantize(*parts, self.groups, ty.float_format(kind), inputs),
        )

    def __repr__(self) -> str:
        kinds = f"{self.elements.element_type}, scales of {self.scales.element_type}"
        count = self.scales.shape[group_layouts.LAYOUTS[self.layout].inputs]
        return f"PackedGroups: {spell_shape(self.shape)} of {kinds}, {count} groups, layout {self.layout}"


def unpack(
    layout: str,
    qweight: Any,
    qzeros: Any,
    scales: Any,
    *,
    g_idx: Any = None,
    bits: int = 4,
    group_size: int | None = None,
) -> PackedGroups:
    """Unpack a layer of a file of AWQ or GPTQ, and return a `PackedGroups`.

    ``layout``: "awq" (AutoAWQ's GEMM), "awq-gemv", "gptq" (whose zero points are stored less one) or "gptq-v2" (stored
    as they are).
    ``qweight``, ``qzeros``: arrays of i32, of two dimensions, as the file has them.
    ``scales``: of f16, bf16 or f32: [groups, outputs], or [outputs, groups] for "awq-gemv", where more columns than
    groups are left out.
    ``g_idx``: the group of each input, an array of integers; act_order of GPTQ makes another order than the default, in
    which groups follow one another.
    ``bits``: the number of bits of an element: 4; for GPTQ 2, 3, 4 or 8.
    ``group_size``: the number of inputs of a group; by default all inputs divided by the number of groups in
    ``scales``. "awq-gemv" needs it, since its arrays may have more columns than there are groups.

        file = hu.open_tensors("model.safetensors")
        names = ("qweight", "qzeros", "scales")
        layer = hu.quant.unpack("gptq", *(file[f"layers.0.{each}"] for each in names), g_idx=file["layers.0.g_idx"])
        layer.elements, layer.zero_points, layer.dequantize()

    The weights have the bits of the projects' code in PyTorch. A zero point of 15 of a "gptq" file is 16, as there; the
    CUDA kernels of AutoGPTQ and exllama take it as 0.

    Raises ValueError for an unknown layout, for shapes that do not agree, for a group that does not exist, and for a
    number of bits that the layout does not have; TypeMismatch for other types.
    """
    found, bits = layout_named(str(layout)), whole("bits", bits)
    if bits not in found.widths:
        raise ValueError(f"bits is {bits}, but the layout {layout} has {', '.join(map(str, found.widths))}")
    numbers = float_value(scales, what="scales")
    kind = numbers.element_type
    if kind not in (ty.F("f16"), ty.F("bf16"), ty.F("f32")):
        raise TypeMismatch(f"scales has elements of '{kind}', but must have f16, bf16 or f32")
    if numbers.poison is not None:
        raise ValueError("scales has poison")
    if len(numbers.shape) != 2:
        raise ValueError(f"scales has the shape {numbers.shape}, but must have two dimensions")
    elements = _fields("qweight", qweight, bits, found.packed, found)
    zeros = _fields("qzeros", qzeros, bits, 1, found)
    places = _groups(g_idx, elements.shape[found.inputs], numbers.shape, group_size, found)
    if found.inputs == 1:
        count = int(places.max(initial=-1)) + 1
        zeros, numbers = zeros[:, :count], numbers[:, :count]
    _check_shapes(elements.shape, zeros.shape, numbers.shape, places, found)
    return PackedGroups(
        layout,
        _unsigned(elements, bits),
        _unsigned(zeros.astype(np.uint16) + np.uint16(found.offset), 16),
        numbers,
        places,
    )


def _fields(name: str, given: Any, bits: int, axis: int, layout: Layout) -> npt.NDArray[np.uint8]:
    """Return the integers that an array of i32 holds. Raises TypeMismatch and ValueError."""
    words = as_value(given, what=name)
    if words.element_type != ty.IntegerType(32) or len(words.shape) != 2 or words.poison is not None:
        raise TypeMismatch(f"{name} is '{words.type}', but must be an array of i32 with two dimensions, without poison")
    if words.shape[axis] * 32 % bits:
        raise ValueError(f"{name} has {words.shape[axis]} words along dimension {axis}, but integers of 3 bits need 3n")
    return group_layouts.unpack(words.bits, bits, axis, layout.order)


def _groups(given: Any, inputs: int, scales: tuple[int, ...], size: int | None, layout: Layout) -> npt.NDArray[np.intp]:
    """Return the group of each input. Raises ValueError."""
    if given is not None:
        if size is not None:
            raise ValueError("g_idx and group_size are both given: give one of them")
        held = as_value(given, what="g_idx")
        integers = isinstance(held.element_type, ty.IntegerType) and held.element_type.width > 1
        if not integers or held.shape != (inputs,) or held.poison is not None:
            raise ValueError(f"g_idx must have one integer for each of the {inputs} inputs, but is '{held.type}'")
        return np.asarray(held.tolist(), np.intp)
    if size is None:
        if layout.inputs == 1:
            raise ValueError(f"the layout {layout.name} needs group_size=…: its arrays may have unused columns")
        count = scales[0]
        if not count or inputs % count:
            raise ValueError(f"scales has the shape {scales}, which does not divide {inputs} inputs into groups")
        size = inputs // count
    size = whole("group_size", size)
    if size < 1 or inputs % size:
        raise ValueError(f"group_size is {size}, which does not divide {inputs} inputs")
    return np.arange(inputs) // size


def _check_shapes(
    elements: tuple[int, ...],
    zeros: tuple[int, ...],
    scales: tuple[int, ...],
    places: npt.NDArray[np.intp],
    layout: Layout,
) -> None:
    outputs = elements[1 - layout.inputs]
    if scales != zeros or scales[1 - layout.inputs] != outputs:
        raise ValueError(
            f"the shapes do not agree: qweight holds {elements}, qzeros holds {zeros}, and scales has {scales}"
        )
    if places.size and not 0 <= int(places.min()) <= int(places.max()) < scales[layout.inputs]:
        raise ValueError(f"g_idx has {places.min()} to {places.max()}, but there are {scales[layout.inputs]} groups")


def _unsigned(codes: npt.NDArray[Any], width: int) -> Value:
    return Value(ty.TensorType(codes.shape, ty.IntegerType(width)), np.ascontiguousarray(codes), None, None, None, True)
