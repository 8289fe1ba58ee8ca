"""Numbers and codes as text for people: exact decimals, fractions, powers of two, bit fields."""

from __future__ import annotations

import decimal
from fractions import Fraction

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat


def decimal_text(number: Fraction, digits: int = 60, cut: int | None = None) -> str:
    """A rational number in decimals: exact where ``digits`` suffice, else cut after half as many, with ``...``.

    ``cut``: so many digits of what is cut, final zeros among them.
    """
    if not number:
        return "0"
    context = decimal.Context(digits, decimal.ROUND_DOWN, decimal.MIN_EMIN, decimal.MAX_EMAX, traps=[])
    numerator, denominator = decimal.Decimal(number.numerator), decimal.Decimal(number.denominator)
    text = context.divide(numerator, denominator)
    exact = not context.flags[decimal.Inexact]
    if not exact:
        context.prec = cut or max(1, digits // 2)
        text = context.divide(numerator, denominator)
    # Of a number that is cut, no zeros stand in place of digits, and few before them.
    plain = (-8 if exact else -5) < text.adjusted() < min(21, context.prec)
    if exact or cut is None:
        text = text.normalize(context)
    mantissa, _, exponent = f"{text:{'f' if plain else 'e'}}".partition("e")
    return mantissa + ("" if exact else "...") + (f"e{exponent}" if exponent else "")


def power_text(number: Fraction) -> str | None:
    """An odd integer times a power of two: ``5 * 2^-4``; None for zero, odd integers and what is no such number."""
    numerator, denominator = number.numerator, number.denominator
    if not numerator or denominator & (denominator - 1):
        return None
    power = (numerator & -numerator).bit_length() - denominator.bit_length()
    odd = numerator >> power if power > 0 else numerator
    return f"{odd} * 2^{power}" if power and odd.bit_length() < _MOST_BITS else None


_MOST_BITS = 14_000
"""Integers of more bits are not spelled: Python refuses to, from 4,300 digits on."""


def fraction_text(number: Fraction) -> str:
    """``5/16``; an odd integer times a power of two where that is shorter, decimals where both are endless."""
    largest = max(abs(number.numerator), number.denominator)
    if largest < 1 << 64:
        return str(number)
    return power_text(number) or (str(number) if largest.bit_length() < _MOST_BITS else decimal_text(number))


def number_text(number: Fraction) -> str:
    """A number in decimals, as a fraction and as an odd integer times a power of two, as far as these differ."""
    spellings = (decimal_text(number), fraction_text(number), power_text(number))
    return " = ".join(dict.fromkeys(spelling for spelling in spellings if spelling))


def signed_text(number: Fraction, digits: int = 12) -> str:
    """A difference: as `decimal_text`, with a plus sign where it is positive."""
    return ("+" if number > 0 else "") + decimal_text(number, digits)


def hex_text(fmt: FloatFormat, code: int) -> str:
    """A code in hexadecimal, all its digits."""
    return f"0x{code:0{-(-fmt.bits // 4)}X}"


def bit_fields(fmt: FloatFormat) -> dict[str, int]:
    """The fields of a code from the top with their widths, those without bits left out."""
    widths = {
        "sign": int(fmt.signed),
        "exponent": fmt.exponent_bits,
        "integer bit": int(fmt.explicit_integer_bit),
        "significand": fmt.mantissa_bits,
    }
    return {name: width for name, width in widths.items() if width}


def split_bits(fmt: FloatFormat, code: int) -> dict[str, str]:
    """The binary digits of each field of a code."""
    digits, fields, start = f"{code:0{fmt.bits}b}", {}, 0
    for name, width in bit_fields(fmt).items():
        fields[name] = digits[start : start + width]
        start += width
    return fields


def bits_text(fmt: FloatFormat, code: int) -> str:
    """A code in binary, its fields separated by spaces."""
    return " ".join(split_bits(fmt, code).values())


def fields_text(fmt: FloatFormat, code: int) -> str:
    """The fields of a code in words: ``sign 0, exponent 0101 (2^-2), significand 010``."""
    x = scalar.unpack(fmt, code)
    notes = {}
    if x.kind == scalar.FINITE:
        subnormal = ", subnormal" if fmt.is_subnormal(code) else ", zero" if not x.significand else ""
        notes["exponent"] = f" (2^{x.exponent + fmt.mantissa_bits}{subnormal})"
    return ", ".join(f"{name} {digits}{notes.get(name, '')}" for name, digits in split_bits(fmt, code).items())


def binary_text(fmt: FloatFormat, code: int) -> str:
    """A finite value as sign, binary significand and power of two: ``1.010 * 2^-2``."""
    x = scalar.unpack(fmt, code)
    if not x.significand:
        return "0"
    digits = f"{x.significand:0{fmt.precision}b}"
    point = f"{digits[0]}.{digits[1:]}" if fmt.mantissa_bits else digits
    return f"{'-' if x.sign else ''}{point} * 2^{x.exponent + fmt.mantissa_bits}"


def value_text(fmt: FloatFormat, code: int, digits: int = 80) -> str:
    """What a code stands for: an exact decimal number, cut where ``digits`` do not suffice (to half as many, which tell
    values of f128 apart); ``inf``; ``nan``.
    """
    exact = scalar.value(fmt, code)
    negative = fmt.sign_mask is not None and bool(code & fmt.sign_mask)
    if exact:
        return decimal_text(exact, digits)
    if exact is not None:
        return "-0" if negative else "0"
    if fmt.is_infinite(code):
        return "-inf" if negative else "inf"
    kind = "signalling nan" if fmt.is_signalling(code) else "nan"
    return f"-{kind}" if negative and fmt.nan_has_payload else kind
