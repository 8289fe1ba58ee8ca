"""Conversions between f32 and narrower formats as IREE's CPU backend does them, with what they lose and gain.

Conversions to f32 are exact, with one exception: the negative NaN of a format whose only NaN is all ones (f8E4M3FN) is
read as the number that its bits would be. Conversions from f32 round to nearest even, with these exceptions:

- In formats of up to 8 bits, a value below the smallest normal one that rounds up to it becomes zero.
- In f16, every value below the smallest normal one becomes zero.
- NaN, and overflow in a format without infinity, is positive, with all fraction bits set in formats of up to 8 bits.
  But a value that rounds to the number of an all-ones NaN keeps its sign, and a format without NaN gets +0.

f8E8M0FNU is read as a format with a sign, seven exponent bits and no fraction: 0x80 is its NaN, exponents 0 and 1 are
zero, and ties round toward zero. `widen` and `narrow` are the specification, on Python integers; `widen_codes` and
`narrow_codes` do the same to arrays.
"""

from __future__ import annotations

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import comparisons, conversions
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, NanEncoding

F32 = FORMATS["f32"]
E8M0 = FORMATS["f8E8M0FNU"]
_NAN = F32.nan_code or 0
_FRACTION = F32.fraction_mask
_BIAS_OF_SIGNED = 128  # the bias of f8E8M0FNU, read with a sign


def widen(fmt: FloatFormat, a: int) -> int:
    """Convert a code of a narrow format to a code of f32."""
    if fmt == E8M0:
        sign, field = a >> 7 << 31, a & 0x7F
        if a == 0x80:
            return _NAN
        return sign | (field - 1 << F32.mantissa_bits if field > 1 else 0)
    if fmt.nan is NanEncoding.ALL_ONES and a == fmt.code_mask:
        return scalar.convert(fmt, F32, a - 1).code + (1 << F32.mantissa_bits - fmt.mantissa_bits)
    return scalar.convert(fmt, F32, a).code


def narrow(fmt: FloatFormat, a: int) -> int:
    """Convert a code of f32 to a code of a narrow format."""
    magnitude = a & F32.magnitude_mask
    sign = a >> 31 << (fmt.bits - 1) if fmt.signed else 0
    if fmt == E8M0:
        # A fraction above one half moves to the next power of two.
        field = (magnitude + (1 << F32.mantissa_bits - 1) - 1) >> F32.mantissa_bits
        exponent = (magnitude >> F32.mantissa_bits) - F32.bias + _BIAS_OF_SIGNED
        if field - F32.bias + _BIAS_OF_SIGNED > 0x7F:
            return 0x80
        return 0 if exponent < 2 else a >> 31 << 7 | (field - F32.bias + _BIAS_OF_SIGNED)
    code = scalar.convert(F32, fmt, a).code
    if fmt.is_nan(code):
        return code if magnitude < _unfit(fmt) else _nan(fmt)
    tiny = magnitude < scalar.convert(fmt, F32, fmt.min_normal_code).code
    if tiny and (fmt.name == "f16" or (fmt.bits <= 8 and code ^ sign == fmt.min_normal_code)):
        return sign if fmt.has_negative_zero else 0
    return code


def _unfit(fmt: FloatFormat) -> int:
    """Return the magnitude, as a code of f32, below which a number that rounds to an all-ones NaN keeps its sign."""
    if fmt.nan is not NanEncoding.ALL_ONES:
        return 0
    return (widen(fmt, fmt.code_mask) & F32.magnitude_mask) + (1 << F32.mantissa_bits - fmt.mantissa_bits - 1)


def _nan(fmt: FloatFormat) -> int:
    assert fmt.nan_code is not None
    return fmt.nan_code | fmt.fraction_mask if fmt.bits <= 8 and fmt.nan is NanEncoding.IEEE else fmt.nan_code


def widen_codes(fmt: FloatFormat, a: Codes) -> Codes:
    """Compute `widen` for arrays."""
    if fmt == E8M0:
        codes = a.astype(np.uint32)
        field = codes & np.uint32(0x7F)
        value = np.where(
            field > 1, (np.maximum(field, np.uint32(1)) - np.uint32(1)) << np.uint32(F32.mantissa_bits), np.uint32(0)
        )
        return np.where(codes == 0x80, np.uint32(_NAN), (codes >> np.uint32(7) << np.uint32(31)) | value)
    widened = conversions.convert(fmt, F32, a).codes
    if fmt.nan is NanEncoding.ALL_ONES:
        return np.where(a == fmt.code_mask, np.uint32(widen(fmt, fmt.code_mask)), widened)
    return widened


def narrow_codes(fmt: FloatFormat, a: Codes) -> Codes:
    """Apply `narrow` to arrays."""
    magnitude = a & np.uint32(F32.magnitude_mask)
    dtype = fmt.storage_dtype.type
    sign = (a >> np.uint32(31) << np.uint32(fmt.bits - 1)).astype(dtype) * dtype(fmt.signed or fmt == E8M0)
    if fmt == E8M0:
        offset = _BIAS_OF_SIGNED - F32.bias
        half = np.uint32((1 << F32.mantissa_bits - 1) - 1)
        field = (magnitude + half >> np.uint32(F32.mantissa_bits)).astype(np.int64) + offset
        exponent = (magnitude >> np.uint32(F32.mantissa_bits)).astype(np.int64) + offset
        codes = np.where(exponent < 2, dtype(0), sign | field.astype(dtype))
        return np.asarray(np.where(field > 0x7F, dtype(0x80), codes))
    codes = conversions.convert(F32, fmt, a).codes
    if fmt.name == "f16" or fmt.bits <= 8:
        lost = magnitude < scalar.convert(fmt, F32, fmt.min_normal_code).code
        if fmt.bits <= 8:
            lost &= codes ^ sign == fmt.min_normal_code
        codes = np.where(lost, sign if fmt.has_negative_zero else dtype(0), codes)
    if fmt.nan_code is None:
        return codes
    return np.where(comparisons.is_nan(fmt, codes) & (magnitude >= _unfit(fmt)), dtype(_nan(fmt)), codes)
