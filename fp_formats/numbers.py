"""The reader of numbers as users write them: exact numbers, which are rounded once to a format.

`exact_number` reads everything but codes: integers of any size, fractions, decimals, scalars of NumPy and ml_dtypes,
and text. `code_of_text` reads the bits of a value, such as ``0x7F``.
"""

from __future__ import annotations

import decimal
import math
import numbers
import re
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.aliases import with_hint
from halfulp.fp_formats.formats import FORMATS, FloatFormat, double_bits
from halfulp.fp_formats.policy import SPEC, FloatPolicy, Rounding


class Ratio(NamedTuple):
    """A rational number, (-1)**sign * numerator / denominator, which tells -0 from 0. It need not be reduced."""

    sign: int
    numerator: int
    denominator: int


Exact = int | float | Ratio
"""A number without a type. NaN and the infinities are floats; a float that is a number is one of f64."""

MOST_DIGITS = 100_000
"""The longest text or decimal that is read, in characters: a number halfway between two codes needs fewer digits."""

# Beyond these powers every format overflows or rounds to nothing: its exponents lie between -65,649 and 98,303.
_MOST_TENS = 40_000
_MOST_TWOS = 140_000
# Up to here, in bits, a number is read without a change.
_MOST_SIZE = 100_000
F64 = FORMATS["f64"]
"""The format of Python's floats."""
TYPES = (decimal.Decimal, numbers.Rational)
"""The classes of exact numbers that are not Python's integers or text."""
_DECIMAL = re.compile(r"([+-]?)(\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d+))?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_HEXADECIMAL = re.compile(r"([+-]?)0[xX]([0-9a-fA-F]+)?(?:\.([0-9a-fA-F]*))?[pP]([+-]?\d+)", re.ASCII)
_FRACTION = re.compile(r"([+-]?)(\d+)\s*/\s*(\d+)", re.ASCII)
_SPECIAL = re.compile(r"[+-]?(?:nan|inf|infinity)", re.ASCII | re.IGNORECASE)
_CODE = re.compile(r"0[xX](?=.*[0-9a-fA-F])([0-9a-fA-F_]+)", re.ASCII)
_BITS = re.compile(r"[+-]?0[xXbBoO][0-9a-fA-F_]+", re.ASCII)


def exact_number(given: Any, *, literal: bool = False) -> Exact:
    """Return a number or its text as an exact number.

    ``given``: a Python or NumPy number, a fraction, a `decimal.Decimal`, another `numbers.Rational`, or text: a
    decimal ``"1e-40"``, a fraction ``"1/3"``, a hexadecimal float ``"0x1.8p-3"``, ``"inf"`` or ``"nan"``.
    ``literal``: read a decimal as MLIR reads a literal, as the nearest f64.

    Raises TypeError for an object that is not a number, and ValueError for text that is not a number or is too long.
    """
    if isinstance(given, str):
        return _of_text(given, literal)
    if isinstance(given, bool | int | np.integer | np.bool_):
        return int(given)
    if isinstance(given, float):
        return float(given)
    if isinstance(given, decimal.Decimal):
        return _of_decimal(given)
    if isinstance(given, numbers.Rational):
        numerator, denominator = int(given.numerator), int(given.denominator)
        return Ratio(int(numerator < 0), abs(numerator), denominator)
    if isinstance(given, np.generic) and (isinstance(given, np.floating) or given.dtype.kind == "V"):
        return _of_scalar(given)
    raise TypeError(f"{type(given).__name__} is not a number")


def _of_scalar(given: Any) -> Exact:
    """Return a float of NumPy or ml_dtypes, longdouble included, as an exact number."""
    if not isinstance(given, np.longdouble) or not np.isfinite(given):
        return float(given)
    numerator, denominator = given.as_integer_ratio()
    return Ratio(int(np.signbit(given)), abs(numerator), denominator)


def _of_decimal(number: decimal.Decimal) -> Exact:
    sign, digits, exponent = number.as_tuple()
    if isinstance(exponent, str):
        return float(str(number).replace("sNaN", "NaN").partition("N")[0] + "nan") if exponent != "F" else float(number)
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a Decimal of {len(digits)} digits is too long; at most {MOST_DIGITS} are read")
    return _scaled(sign, _integer("".join(map(str, digits))), len(digits), exponent)


def fraction_of(number: Exact) -> Fraction | None:
    """Return an exact number as a fraction; None for NaN and the infinities."""
    if isinstance(number, Ratio):
        return Fraction(-number.numerator if number.sign else number.numerator, number.denominator)
    return Fraction(number) if isinstance(number, int) or math.isfinite(number) else None


def is_too_large(number: Exact) -> bool:
    """Tell whether a number is far beyond the range of all formats. The reader of numbers may then have replaced it by
    another number that rounds alike.
    """
    if not isinstance(number, Ratio) or not number.numerator:
        return isinstance(number, int) and number.bit_length() > _MOST_SIZE
    return abs(number.numerator.bit_length() - number.denominator.bit_length()) > _MOST_SIZE


def code_of_text(text: str) -> int | None:
    """Return the bits of a value that text gives in hexadecimal, ``0x7F`` or ``0x3F80_0000``; None for other text."""
    found = _CODE.fullmatch(text)
    return int(found[1].replace("_", ""), 16) if found else None


def _of_text(text: str, literal: bool) -> Exact:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a number of {len(text)} characters is too long; at most {MOST_DIGITS} are read")
    text = text.strip()
    if literal and _DECIMAL.fullmatch(text):
        return float(text)
    if _INTEGER.fullmatch(text) and not text.startswith("-0"):
        return -_integer(text[1:]) if text[0] == "-" else _integer(text.lstrip("+"))
    if found := _DECIMAL.fullmatch(text):
        sign, digits, power = found.groups()
        whole, _, fraction = digits.partition(".")
        both, exponent = whole + fraction, _power(power) - len(fraction)
        return _scaled(int(sign == "-"), _integer(both), len(both), exponent)
    if found := _HEXADECIMAL.fullmatch(text):
        sign, whole, fraction, power = found.groups()
        if whole or fraction:
            exponent = _power(power) - 4 * len(fraction or "")
            return _binary(int(sign == "-"), int((whole or "") + (fraction or ""), 16), exponent)
    if found := _FRACTION.fullmatch(text):
        denominator = _integer(found[3])
        if not denominator:
            raise ValueError(f"{shortened(text)} divides by zero")
        return Ratio(int(found[1] == "-"), _integer(found[2]), denominator)
    if _SPECIAL.fullmatch(text):
        return float(text)
    hint = None
    if _BITS.fullmatch(text):
        hint = "bits are given by hu.Value.from_bits; a hexadecimal number has an exponent, as in 0x7Fp0"
    message = f'{shortened(text)} is not a number: write a decimal, a fraction such as "1/3", 0x1.8p-3, inf or nan'
    raise ValueError(with_hint(message, hint))


def shortened(text: str) -> str:
    """Return the text as an error quotes it: if it has more than 60 characters, they are cut."""
    return repr(text) if len(text) <= 60 else f"{text[:57]!r}..."


def _integer(digits: str) -> int:
    """Read decimal digits, however many: Python itself refuses more than a few thousand."""
    return int(decimal.Decimal(digits)) if len(digits) > 4000 else int(digits)


def _power(text: str | None) -> int:
    """Read an exponent. One of very many digits is replaced by one of twenty, which is beyond all formats too."""
    if not text:
        return 0
    digits = text.lstrip("+-").lstrip("0")
    return int(f"{'-' if text[0] == '-' else ''}{(digits or '0') if len(digits) < 20 else '9' * 20}")


def _scaled(sign: int, significand: int, digits: int, exponent: int) -> Ratio:
    """Return significand * 10**exponent, or a number beyond all formats on the same side."""
    if exponent >= 0:
        return Ratio(sign, significand * 10 ** min(exponent, _MOST_TENS), 1)
    if digits + exponent < -_MOST_TENS:
        return Ratio(sign, int(significand != 0), 10**_MOST_TENS)
    return Ratio(sign, significand, 10**-exponent)


def _binary(sign: int, significand: int, exponent: int) -> Ratio:
    """Return significand * 2**exponent, or a number beyond all formats on the same side."""
    if exponent >= 0:
        return Ratio(sign, significand << min(exponent, _MOST_TWOS), 1)
    if significand.bit_length() + exponent < -_MOST_TWOS:
        return Ratio(sign, int(significand != 0), 1 << _MOST_TWOS)
    return Ratio(sign, significand, 1 << -exponent)


# --- rounding ---------------------------------------------------------------------------------------------------------


def round_to_format(
    fmt: FloatFormat,
    number: Exact,
    rounding: Rounding = Rounding.TO_NEAREST_EVEN,
    policy: FloatPolicy = SPEC,
    random: scalar.Random = None,
) -> scalar.Result:
    """Round an exact number once to a format, by the specification. A float is converted as an f64, an integer as an
    integer.
    """
    if isinstance(number, float):
        return scalar.convert(F64, fmt, double_bits(number), rounding, policy, random)
    if isinstance(number, int):
        return scalar.from_integer(fmt, number, rounding, policy, random)
    sign, numerator, denominator = _bounded(number)
    saturate = policy.conversion_saturation(fmt).numbers
    return scalar.quotient(fmt, sign, numerator, denominator, 0, rounding, policy, random, saturate)


def round_to_integer(
    number: float | Ratio, width: int, signed: bool, rounding: Rounding, policy: FloatPolicy = SPEC
) -> scalar.Result:
    """Round an exact number once to an integer of ``width`` bits; the policy defines the results for NaN and for
    numbers out of range.
    """
    if isinstance(number, float):
        return scalar.to_integer(F64, double_bits(number), width, signed, rounding, policy)
    # Two more bits, and one for a remainder, decide every mode.
    digits, rest = divmod(number.numerator << 2, number.denominator)
    taken = scalar.Unpacked(scalar.FINITE, number.sign, digits << 1 | (rest != 0), -3)
    return scalar.integer_of(taken, width, signed, rounding, policy)


def _bounded(number: Ratio) -> Ratio:
    """Replace a number beyond all formats by one that is rounded the same and takes less time."""
    size = number.numerator.bit_length() - number.denominator.bit_length()
    if not number.numerator or abs(size) < _MOST_TWOS:
        return number
    return Ratio(number.sign, 1 << _MOST_TWOS, 1) if size > 0 else Ratio(number.sign, 1, 1 << _MOST_TWOS)


def is_nan(number: Exact) -> bool:
    """Tell whether an exact number is a NaN."""
    return isinstance(number, float) and math.isnan(number)


def is_negative(number: Exact) -> bool:
    """Tell whether an exact number has a minus sign, -0 included."""
    if isinstance(number, Ratio):
        return bool(number.sign)
    return math.copysign(1.0, number) < 0 if isinstance(number, float) else number < 0
