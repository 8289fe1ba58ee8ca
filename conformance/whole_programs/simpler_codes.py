"""Simpler codes to try in place of an element's code."""

from __future__ import annotations

from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import width_of


def simpler_codes(type_: ty.Type, code: int) -> list[int]:
    """Return simpler codes to try for one, the simplest first."""
    width = width_of(type_)
    mask = (1 << width) - 1
    if isinstance(type_, ty.FloatType):
        tried = _simpler_floats(type_.format, code)
    else:
        signed = code - (1 << width) if code >> (width - 1) else code
        tried = [0, 1, mask, 2, 3, 1 << (width - 1), (1 << (width - 1)) - 1, -signed & mask]
        tried += [signed // (1 << k) & mask for k in range(width - 1, 0, -1)]
        tried += [code & ~((1 << k) - 1) for k in range(width - 1, 0, -1)]
    key = _complexity(type_, code)
    found = dict.fromkeys(one & mask for one in tried)
    return sorted((one for one in found if _complexity(type_, one) < key), key=lambda one: _complexity(type_, one))


def _simpler_floats(fmt: FloatFormat, code: int) -> list[int]:
    sign = fmt.sign_mask or 0
    one = _code_of_one(fmt)
    tried = [0, one, one | sign, code & ~sign]
    tried += [special for special in (fmt.infinity_code, fmt.nan_code, fmt.max_code, 1) if special is not None]
    tried += [code & ~((1 << k) - 1) for k in range(fmt.mantissa_bits + fmt.exponent_bits, 0, -1)]
    return tried


def _code_of_one(fmt: FloatFormat) -> int:
    bit = fmt.explicit_integer_bit
    return fmt.bias << (fmt.mantissa_bits + bit) | bit << fmt.mantissa_bits


def _complexity(type_: ty.Type, code: int) -> tuple[int, int, int]:
    width = width_of(type_)
    if not code:
        return (0, 0, 0)
    if isinstance(type_, ty.FloatType):
        sign = type_.format.sign_mask or 0
        magnitude = code & ~sign
        plain = magnitude == _code_of_one(type_.format)
        return (1 if plain else 2, magnitude.bit_length() - (magnitude & -magnitude).bit_length(), bool(code & sign))
    signed = code - (1 << width) if code >> (width - 1) else code
    return (
        1,
        abs(signed).bit_length() - (abs(signed) & -abs(signed)).bit_length() // 2,
        2 * abs(signed) + (signed < 0),
    )
