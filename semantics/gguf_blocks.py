"""The blocks of gguf: how each type of ggml packs its elements and scales, and what they stand for.

An element of a block stands for (scale of the block of blocks * scale) * element, plus or minus a minimum that is
scaled likewise. Every product is exact in f32, so that each number is rounded once at most, and fused instructions give
the same bits. Source: ggml's ``dequantize_row_*`` and the package gguf, ``quants.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import FORMATS, Codes
from halfulp.semantics.gguf_searches import to_q2_k, to_q3_k, to_q4_k, to_q5_k, to_q6_k

Bytes = npt.NDArray[np.uint8]
"""The bytes of blocks [n, bytes of a block], or codes of their parts [n, parts of a block]."""
Floats = npt.NDArray[np.float32]

F32_NAN = np.uint32(FORMATS["f32"].nan_code or 0)


@dataclass(frozen=True)
class Part:
    """One kind of numbers in a block.

    ``type``: the MLIR type of the numbers. ``covers``: how many elements of the tensor each number belongs to.
    """

    type: str
    covers: int = 1


@dataclass(frozen=True)
class BlockType:
    """A type of ggml whose elements lie in blocks.

    ``code``: its number in files. ``size``: the number of elements of a block. ``bytes``: its length. ``parts``: by
    name; an element is (super_scales * scales) * elements - super_mins * mins, where a part that is not there is 1.
    ``unpack``: returns the codes of the parts of blocks, in the order of ``parts``: each [n, size / covers].
    ``adds_minimum``: the minimum is added, not subtracted. ``numbers``: by name of a part, the function from codes to
    f32 where ggml reads the codes differently than their type does. ``quantize``: returns the codes of the parts of
    blocks of f32 [n, size]; None for the types that only graphics cards have.
    """

    name: str
    code: int
    size: int
    bytes: int
    parts: Mapping[str, Part]
    unpack: Callable[[Bytes], tuple[Codes, ...]]
    adds_minimum: bool = False
    numbers: Mapping[str, Callable[[Codes], Floats]] | None = None
    quantize: Callable[[Floats], tuple[Codes, ...]] | None = None


# --- unpacking --------------------------------------------------------------------------------------------------------


def _f16(part: Bytes) -> Codes:
    """Return little-endian pairs of bytes as codes of f16, one for each block."""
    return np.ascontiguousarray(part).view("<u2").astype(np.uint16, copy=False)


def _fields(packed: Bytes, run: int, width: int) -> Bytes:
    """Unpack fields of ``width`` bits. Each ``run`` of bytes has the lowest fields of its bytes first, then the next
    ones.
    """
    shifts = np.arange(0, 8, width, dtype=np.uint8)[:, None]
    count, size = packed.shape
    fields = packed.reshape(count, size // run, 1, run) >> shifts & np.uint8((1 << width) - 1)
    return fields.reshape(count, size * (8 // width))


def _less(fields: Bytes, offset: int, width: int) -> Bytes:
    """Return ``fields`` - ``offset`` as codes of signed integers of ``width`` bits."""
    return fields - np.uint8(offset) & np.uint8((1 << width) - 1)


def _q4_0(blocks: Bytes) -> tuple[Codes, ...]:
    return _less(_fields(blocks[:, 2:], 16, 4), 8, 4), _f16(blocks[:, :2])


def _q4_1(blocks: Bytes) -> tuple[Codes, ...]:
    return _fields(blocks[:, 4:], 16, 4), _f16(blocks[:, :2]), _f16(blocks[:, 2:4])


def _fifth_bits(packed: Bytes) -> Bytes:
    """Return the bits of a word for the elements in order, each at the place of the fifth bit."""
    return np.unpackbits(packed, axis=1, bitorder="little") << np.uint8(4)


def _q5_0(blocks: Bytes) -> tuple[Codes, ...]:
    fields = _fields(blocks[:, 6:], 16, 4) | _fifth_bits(blocks[:, 2:6])
    return _less(fields, 16, 5), _f16(blocks[:, :2])


def _q5_1(blocks: Bytes) -> tuple[Codes, ...]:
    fields = _fields(blocks[:, 8:], 16, 4) | _fifth_bits(blocks[:, 4:8])
    return fields, _f16(blocks[:, :2]), _f16(blocks[:, 2:4])


def _q8_0(blocks: Bytes) -> tuple[Codes, ...]:
    return blocks[:, 2:], _f16(blocks[:, :2])


def _q2_k(blocks: Bytes) -> tuple[Codes, ...]:
    scales = blocks[:, :16]
    elements = _fields(blocks[:, 16:80], 32, 2)
    return elements, scales & np.uint8(15), scales >> np.uint8(4), _f16(blocks[:, 80:82]), _f16(blocks[:, 82:84])


def _q3_k(blocks: Bytes) -> tuple[Codes, ...]:
    low, high = _fields(blocks[:, 32:96], 32, 2), _fields(blocks[:, :32], 32, 1)
    scales = _fields(blocks[:, 96:104], 8, 4) | _fields(blocks[:, 104:108], 4, 2) << np.uint8(4)
    # Where the bit of the mask is 1, nothing is subtracted.
    return _less(low | high << np.uint8(2), 4, 3), _less(scales, 32, 6), _f16(blocks[:, 108:110])


def _six_bits(packed: Bytes) -> tuple[Bytes, Bytes]:
    """Return the 8 scales and the 8 minimums of 6 bits in the 12 bytes of Q4_K and Q5_K."""
    scale, minimum, both = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    low, top = np.uint8(15), np.uint8(48)
    scales = scale & np.uint8(63), both & low | scale >> np.uint8(2) & top
    minimums = minimum & np.uint8(63), both >> np.uint8(4) | minimum >> np.uint8(2) & top
    return np.concatenate(scales, axis=1), np.concatenate(minimums, axis=1)


def _q4_k(blocks: Bytes) -> tuple[Codes, ...]:
    return _fields(blocks[:, 16:], 32, 4), *_six_bits(blocks[:, 4:16]), _f16(blocks[:, :2]), _f16(blocks[:, 2:4])


def _q5_k(blocks: Bytes) -> tuple[Codes, ...]:
    elements = _fields(blocks[:, 48:], 32, 4) | _fields(blocks[:, 16:48], 32, 1) << np.uint8(4)
    return elements, *_six_bits(blocks[:, 4:16]), _f16(blocks[:, :2]), _f16(blocks[:, 2:4])


def _q6_k(blocks: Bytes) -> tuple[Codes, ...]:
    elements = _fields(blocks[:, :128], 64, 4) | _fields(blocks[:, 128:192], 32, 2) << np.uint8(4)
    return _less(elements, 32, 6), blocks[:, 192:208], _f16(blocks[:, 208:210])


def _mxfp4(blocks: Bytes) -> tuple[Codes, ...]:
    return _fields(blocks[:, 1:], 16, 4), blocks[:, :1]


def _nvfp4(blocks: Bytes) -> tuple[Codes, ...]:
    return _fields(blocks[:, 4:], 8, 4), blocks[:, :4]


# --- numbers ----------------------------------------------------------------------------------------------------------


_DOUBLED = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], np.float32)


def _doubled(codes: Codes) -> Floats:
    """Return twice the numbers of f4E2M1FN as ggml reads them: without a negative zero."""
    return _DOUBLED[codes]


def _half_e8m0(codes: Codes) -> Floats:
    """Return half of ggml's numbers of f8E8M0FNU, where 0xFF is 2^128 and not NaN."""
    return np.ldexp(np.float32(1), codes.astype(np.int32) - 128)


def _half_ue4m3(codes: Codes) -> Floats:
    """Return half of ggml's numbers of f8E4M3FN: it has no sign, 0x7F is 0, and 0xFF, whose top bit is ignored, 480."""
    exponents, fractions = (codes >> 3 & 15).astype(np.int32), (codes & 7).astype(np.float32)
    normal = np.ldexp(np.float32(8) + fractions, exponents - 11)
    numbers = np.where(exponents == 0, fractions * np.float32(2.0**-10), normal)
    return np.where(codes == 0x7F, np.float32(0), numbers)


# --- quantising -------------------------------------------------------------------------------------------------------
#
# Source: the package gguf, ``quants.py``, whose results are those of ggml's ``quantize_row_*_ref`` without fused
# multiply-adds. Each operation is rounded to f32, and scales to f16.


def _inverse(d: Floats) -> Floats:
    return np.where(d == 0, np.float32(0), np.float32(1) / d)


def _half_codes(numbers: Floats) -> Codes:
    return numbers.astype(np.float16).view(np.uint16)


def _symmetric(steps: int) -> Callable[[Floats], tuple[Codes, ...]]:
    """Return the rule of Q4_0 and Q5_0: the element that is largest in magnitude becomes -``steps``."""

    def quantize(x: Floats) -> tuple[Codes, ...]:
        at = np.abs(x).argmax(axis=1, keepdims=True)
        d = np.take_along_axis(x, at, axis=1) / np.float32(-steps)
        fields = np.trunc(x * _inverse(d) + np.float32(steps + 0.5)).astype(np.uint8)
        most = np.uint8(2 * steps - 1)
        return fields.clip(0, most) - np.uint8(steps) & most, _half_codes(d)

    return quantize


def _with_minimum(most: int) -> Callable[[Floats], tuple[Codes, ...]]:
    """Return the rule of Q4_1 and Q5_1: the smallest element becomes 0, and the largest ``most``."""

    def quantize(x: Floats) -> tuple[Codes, ...]:
        low = x.min(axis=1, keepdims=True)
        d = (x.max(axis=1, keepdims=True) - low) / np.float32(most)
        fields = np.trunc((x - low) * _inverse(d) + np.float32(0.5)).astype(np.uint8)
        return fields.clip(0, most), _half_codes(d), _half_codes(low)

    return quantize


def _to_q8_0(x: Floats) -> tuple[Codes, ...]:
    d = np.abs(x).max(axis=1, keepdims=True) / np.float32(127)
    scaled = x * _inverse(d)
    whole = np.floor(np.abs(scaled))
    # To nearest, ties away from zero.
    rounded = np.sign(scaled) * (whole + np.floor(2 * (np.abs(scaled) - whole)))
    return rounded.astype(np.int8).view(np.uint8), _half_codes(d)


SMALLEST = np.float32(2.0**-118)
"""A block whose elements are not zeros, but below this, has scales whose inverse may overflow; ggml then converts
infinities to integers, which C leaves undefined.
"""


_F16 = Part("f16", 32)
_SUPER = Part("f16", 256)


def _k(elements: str, scales: str, covers: int, minimums: bool) -> Mapping[str, Part]:
    """Return the parts of a type with blocks of blocks of 256 elements."""
    parts = {"elements": Part(elements), "scales": Part(scales, covers)}
    return parts | (
        {"mins": Part(scales, covers), "super_scales": _SUPER, "super_mins": _SUPER}
        if minimums
        else {"super_scales": _SUPER}
    )


def _of_32(elements: str, minimums: bool = False) -> Mapping[str, Part]:
    return {"elements": Part(elements), "scales": _F16} | ({"mins": _F16} if minimums else {})


_TABLE = (
    BlockType("Q4_0", 2, 32, 18, _of_32("i4"), _q4_0, quantize=_symmetric(8)),
    BlockType("Q4_1", 3, 32, 20, _of_32("ui4", True), _q4_1, adds_minimum=True, quantize=_with_minimum(15)),
    BlockType("Q5_0", 6, 32, 22, _of_32("i5"), _q5_0, quantize=_symmetric(16)),
    BlockType("Q5_1", 7, 32, 24, _of_32("ui5", True), _q5_1, adds_minimum=True, quantize=_with_minimum(31)),
    BlockType("Q8_0", 8, 32, 34, _of_32("i8"), _q8_0, quantize=_to_q8_0),
    BlockType("Q2_K", 10, 256, 84, _k("ui2", "ui4", 16, True), _q2_k, quantize=to_q2_k),
    BlockType("Q3_K", 11, 256, 110, _k("i3", "i6", 16, False), _q3_k, quantize=to_q3_k),
    BlockType("Q4_K", 12, 256, 144, _k("ui4", "ui6", 32, True), _q4_k, quantize=to_q4_k),
    BlockType("Q5_K", 13, 256, 176, _k("ui5", "ui6", 32, True), _q5_k, quantize=to_q5_k),
    BlockType("Q6_K", 14, 256, 210, _k("i6", "i8", 16, False), _q6_k, quantize=to_q6_k),
    BlockType(
        "MXFP4",
        39,
        32,
        17,
        {"elements": Part("f4E2M1FN"), "scales": Part("f8E8M0FNU", 32)},
        _mxfp4,
        numbers={"elements": _doubled, "scales": _half_e8m0},
    ),
    BlockType(
        "NVFP4",
        40,
        64,
        36,
        {"elements": Part("f4E2M1FN"), "scales": Part("f8E4M3FN", 16)},
        _nvfp4,
        numbers={"elements": _doubled, "scales": _half_ue4m3},
    ),
)

BLOCK_TYPES: Mapping[str, BlockType] = MappingProxyType({row.name: row for row in _TABLE})
"""The types of ggml with blocks, by name."""


def dequantize(type_: BlockType, numbers: Mapping[str, Floats]) -> Codes:
    """Return the codes of f32 of blocks. ``numbers``: the numbers of the parts by name, each [..., count]; a NaN has
    the code of the format's NaN.
    """

    def spread(name: str) -> Floats:
        held = numbers[name]
        return np.repeat(held, type_.parts[name].covers, axis=-1)

    with np.errstate(all="ignore"):
        found = numbers["elements"]
        scale = spread("scales")
        if "super_scales" in numbers:
            scale = spread("super_scales") * scale
        found = scale * found
        if "mins" in numbers:
            minimum = spread("mins")
            if "super_mins" in numbers:
                minimum = spread("super_mins") * minimum
            found = found + minimum if type_.adds_minimum else found - minimum
    codes = found.astype(np.float32, copy=False).view(np.uint32)
    return np.where(np.isnan(found), F32_NAN, codes)
