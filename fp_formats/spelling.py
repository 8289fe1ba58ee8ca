"""Spell numbers and codes for people: exact decimals, fractions, powers of two, bit fields."""

from __future__ import annotations

import decimal
from fractions import Fraction

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat


def decimal_text(number: Fraction, digits: int = 60, cut: int | None = None) -> str:
    """Spell a rational number in decimals: exact if ``digits`` suffice, else cut after half as many, with ``...``.

    ``cut``: the count of digits of a number that is cut, final zeros included.
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
    # A number that is cut has no zeros in place of digits, and few zeros before them.
    plain = (-8 if exact else -5) < text.adjusted() < min(21, context.prec)
    if exact or cut is None:
        text = text.normalize(context)
    mantissa, _, exponent = f"{text:{'f' if plain else 'e'}}".partition("e")
    return mantissa + ("" if exact else "...") + (f"e{exponent}" if exponent else "")


def power_text(number: Fraction) -> str | None:
    """Spell a number as an odd integer times a power of two, ``5 * 2^-4``; None for zero, odd integers and other
    numbers.
    """
    numerator, denominator = number.numerator, number.denominator
    if not numerator or denominator & (denominator - 1):
        return None
    power = (numerator & -numerator).bit_length() - denominator.bit_length()
    odd = numerator >> power if power > 0 else numerator
    return f"{odd} * 2^{power}" if power and odd.bit_length() < _MOST_BITS else None


_MOST_BITS = 14_000
"""Integers of more bits are not spelled: from 4,300 digits on, Python refuses to."""


def fraction_text(number: Fraction) -> str:
    """Spell a fraction, ``5/16``; as an odd integer times a power of two if that is shorter, in decimals if both are
    too long.
    """
    largest = max(abs(number.numerator), number.denominator)
    if largest < 1 << 64:
        return str(number)
    return power_text(number) or (str(number) if largest.bit_length() < _MOST_BITS else decimal_text(number))


def number_text(number: Fraction) -> str:
    """Spell a number in decimals, as a fraction and as an odd integer times a power of two, as far as these differ."""
    spellings = (decimal_text(number), fraction_text(number), power_text(number))
    return " = ".join(dict.fromkeys(spelling for spelling in spellings if spelling))


def signed_text(number: Fraction, digits: int = 12) -> str:
    """Spell a difference as `decimal_text` does, with a plus sign if it is positive."""
    return ("+" if number > 0 else "") + decimal_text(number, digits)


def hexadecimal(code: int, width: int) -> str:
    """Spell a code of ``width`` bits in hexadecimal, with all its digits."""
    return f"0x{code:0{-(-width // 4)}X}"


def hex_text(fmt: FloatFormat, code: int) -> str:
    """Spell a code of a format in hexadecimal, with all its digits."""
    return hexadecimal(code, fmt.bits)


_FIELDS = ("sign", "exponent", "integer bit", "significand")


def bit_fields(fmt: FloatFormat) -> dict[str, int]:
    """Return the fields of a code from the top with their widths; fields without bits are left out."""
    widths = (int(fmt.signed), fmt.exponent_bits, int(fmt.explicit_integer_bit), fmt.mantissa_bits)
    return {name: width for name, width in zip(_FIELDS, widths, strict=True) if width}


def split_bits(fmt: FloatFormat, code: int) -> dict[str, str]:
    """Return the binary digits of each field of a code."""
    sign, exponent, significand = fmt.fields(code)
    integer = int(fmt.explicit_integer_bit)
    fields = (sign, exponent, significand[:integer], significand[integer:])
    return {name: field.bin for name, field in zip(_FIELDS, fields, strict=True) if field}


def bits_text(fmt: FloatFormat, code: int) -> str:
    """Spell a code in binary, its fields separated by spaces."""
    return " ".join(split_bits(fmt, code).values())


def fields_text(fmt: FloatFormat, code: int) -> str:
    """Spell the fields of a code in words: ``sign 0, exponent 0101 (2^-2), significand 010``."""
    x = scalar.unpack(fmt, code)
    notes = {}
    if x.kind == scalar.FINITE:
        subnormal = ", subnormal" if fmt.is_subnormal(code) else ", zero" if not x.significand else ""
        notes["exponent"] = f" (2^{x.exponent + fmt.mantissa_bits}{subnormal})"
    return ", ".join(f"{name} {digits}{notes.get(name, '')}" for name, digits in split_bits(fmt, code).items())


def binary_text(fmt: FloatFormat, code: int) -> str:
    """Spell a finite value as sign, binary significand and power of two: ``1.010 * 2^-2``."""
    x = scalar.unpack(fmt, code)
    if not x.significand:
        return "0"
    digits = f"{x.significand:0{fmt.precision}b}"
    point = f"{digits[0]}.{digits[1:]}" if fmt.mantissa_bits else digits
    return f"{'-' if x.sign else ''}{point} * 2^{x.exponent + fmt.mantissa_bits}"


def value_text(fmt: FloatFormat, code: int, digits: int = 80) -> str:
    """Spell the value of a code: an exact decimal number, ``inf`` or ``nan``. A number that needs more than ``digits``
    digits is cut to half as many, which tell values of f128 apart.
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
