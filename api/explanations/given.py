"""Numbers to be rounded, as users write them."""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from halfulp.explanations.enclosures import Enclosure
from halfulp.explanations.rules import bare_nan
from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import codes_to_ints
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.policy import MLIR_ROUNDINGS, Flags, Rounding, as_rounding
from halfulp.fp_formats.spelling import fraction_text
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.ir.literals import double_bits
from halfulp.interp.ir.types import element_width
from halfulp.interp.values.coerce import as_array, as_type, is_tensor
from halfulp.interp.values.element_layout import numeric
from halfulp.interp.values.parsing import parse_type_head, parse_value
from halfulp.interp.values.value import Value, to_elements
from halfulp.semantics import casts, emulated
from halfulp.semantics.profile import Profile

MODES: Mapping[str, Rounding] = {mode.spelling: mode for mode in MLIR_ROUNDINGS}
"""The five deterministic rounding modes by MLIR's keywords."""
_F64 = FORMATS["f64"]
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_FRACTION = re.compile(r"([+-]?\d+)\s*/\s*(\d+)", re.ASCII)
_HEXADECIMAL = re.compile(r"([+-]?)0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP]([+-]?\d+)", re.ASCII)
_BITS = re.compile(r"0[xX][0-9a-fA-F]+")
_SPECIAL = re.compile(r"[+-]?(nan|inf)", re.IGNORECASE)
_MOST_DIGITS = 4300
_LARGEST_EXPONENT = 20_000
"""Of a hexadecimal float: beyond all formats, and still quick to compute with."""
READ_AS_F64 = "read as the nearest f64, as every MLIR literal is; a fraction such as 3/10 is exact"
"""The reading of a decimal that is not an f64."""


def mode_named(rounding: str) -> str:
    """Return MLIR's keyword of a deterministic rounding mode, from any of its names. Raise InputError."""
    try:
        name = as_rounding(rounding).spelling
    except ValueError as error:
        raise InputError(str(error)) from None
    if name not in MODES:
        raise InputError(f"rounding is {name!r}, but must be one of {', '.join(MODES)}")
    return name


class Found(NamedTuple):
    """The result of a computation: a code (None: poison) and its flags (None: not known)."""

    code: int | None
    flags: Flags | None


def found(result: scalar.Result, flagged: bool = True) -> Found:
    """Take a result of the specification."""
    return Found(None if result.poison else result.code, Flags(result.flags) if flagged else None)


@dataclass(frozen=True, slots=True)
class GivenNumber:
    """A number to be rounded: its text, how that was read, and its exact value (None: NaN or infinite).

    ``round``: returns its result in a format, a mode and a profile. ``code``: bits of the explained type itself, which
    are not rounded. ``bare``: why a NaN has neither sign nor payload. ``draw``: returns its result by stochastic
    rounding, from random bits and their width; None where no random bits matter. ``enclosure``: the bounds of an
    irrational number, of which ``exact`` is one within. ``reason``: why the exact value is what it is.
    """

    text: str
    reading: str
    exact: Fraction | None
    negative: bool
    infinite: bool
    round: Callable[[FloatFormat, Rounding, Profile], Found]
    code: int | None = None
    bare: str = ""
    draw: Callable[[FloatFormat, Profile, tuple[int, int]], Found] | None = None
    enclosure: Enclosure | None = None
    reason: str = ""


def given_code(text: str, reading: str, source: FloatFormat, code: int) -> GivenNumber:
    """Take a code of a format, to be converted."""

    def convert(fmt: FloatFormat, mode: Rounding, profile: Profile) -> Found:
        mode = casts.mode(mode, profile)
        if emulated.emulates(profile, source, fmt):
            return found(emulated.convert(source, fmt, profile.conversions)[0](code), flagged=False)
        return found(scalar.convert(source, fmt, code, mode, profile.conversions))

    def draw(fmt: FloatFormat, profile: Profile, random: tuple[int, int]) -> Found:
        return found(scalar.convert(source, fmt, code, Rounding.STOCHASTIC, profile.conversions, random))

    negative = source.sign_mask is not None and bool(code & source.sign_mask)
    exact, bare = scalar.value(source, code), bare_nan(source, code)
    return GivenNumber(text, reading, exact, negative, source.is_infinite(code), convert, bare=bare, draw=draw)


def given_integer(text: str, reading: str, number: int) -> GivenNumber:
    """Take an integer, to be converted."""

    def convert(fmt: FloatFormat, mode: Rounding, profile: Profile) -> Found:
        if emulated.emulates(profile, fmt):
            return found(emulated.from_integer()[0](fmt, number, mode, profile.conversions), flagged=False)
        return found(scalar.from_integer(fmt, number, mode, profile.conversions))

    def draw(fmt: FloatFormat, profile: Profile, random: tuple[int, int]) -> Found:
        return found(scalar.from_integer(fmt, number, Rounding.STOCHASTIC, profile.conversions, random))

    return GivenNumber(text, reading, Fraction(number), number < 0, False, convert, draw=draw)


def given_fraction(text: str, number: Fraction) -> GivenNumber:
    """Take a rational number, to be rounded. It has no type from which a profile could take a detour."""

    def round_(fmt: FloatFormat, mode: Rounding, profile: Profile) -> Found:
        return found(scalar.from_fraction(fmt, number, mode, profile.conversions))

    def draw(fmt: FloatFormat, profile: Profile, random: tuple[int, int]) -> Found:
        return found(scalar.from_fraction(fmt, number, Rounding.STOCHASTIC, profile.conversions, random))

    return GivenNumber(text, "", number, number < 0, False, round_, draw=draw)


def given_bits(text: str, fmt: FloatFormat, code: int) -> GivenNumber:
    """Take a code of the explained format itself: it is not rounded, and even a signalling NaN is not quieted."""
    article = "an" if fmt.name[0] == "f" else "a"
    given = given_code(text, f"the bits of {article} {fmt.name}", fmt, code)
    return replace(given, round=lambda *_: Found(code, Flags(0)), code=code, draw=None)


def given_text(text: str, fmt: FloatFormat) -> GivenNumber:
    """Read a number without a type. Raise InputError for anything else."""
    if len(text) > _MOST_DIGITS:
        raise InputError(f"a number of {len(text)} characters is too long; at most {_MOST_DIGITS}")
    if fraction := _FRACTION.fullmatch(text):
        if not int(fraction[2]):
            raise InputError(f"'{text}' divides by zero")
        return given_fraction(text, Fraction(int(fraction[1]), int(fraction[2])))
    if _BITS.fullmatch(text):
        code = int(text, 16)
        if code >> fmt.bits:
            raise InputError(f"the bit pattern {text} does not fit the {fmt.bits} bits of {fmt.name}")
        return given_bits(text, fmt, code)
    if hexadecimal := _HEXADECIMAL.fullmatch(text):
        return _given_hexadecimal(text, *hexadecimal.groups())
    if _SPECIAL.fullmatch(text):
        return given_code(text, "", _F64, double_bits(float(text)))
    if _DECIMAL.fullmatch(text):
        number = float(text)
        # Decimal compares exactly, however large the exponents.
        exact = abs(number) != float("inf") and decimal.Decimal(text) == decimal.Decimal(number)
        return given_code(text, "" if exact else READ_AS_F64, _F64, double_bits(number))
    raise InputError(
        f"'{text}' is not a number: write a decimal, a fraction such as 1/3, a hexadecimal float such as 0x1.8p-3, "
        "nan, inf, or raw bits 0x…"
    )


def _given_hexadecimal(text: str, sign: str, digits: str, exponent: str) -> GivenNumber:
    """Take a hexadecimal float of C. It is exact."""
    whole, _, part = digits.partition(".")
    significand = int(whole + part, 16)
    if not significand:
        return given_code(text, "", _F64, double_bits(-0.0 if sign == "-" else 0.0))
    power = int(exponent)
    if abs(power) > _LARGEST_EXPONENT:
        raise InputError(f"the exponent {exponent} of {text} is too large; at most {_LARGEST_EXPONENT}")
    number = significand * Fraction(2) ** (power - 4 * len(part))
    return given_fraction(text, -number if sign == "-" else number)


def real_of_text(text: str) -> Fraction | None:
    """Return the real number that a decimal or a fraction says, exactly; None for other text, and for exponents that
    are too large.
    """
    if len(text) > _MOST_DIGITS or not (_FRACTION.fullmatch(text) or _DECIMAL.fullmatch(text)):
        return None
    if "/" in text:
        over, under = (int(part) for part in text.split("/"))
        return Fraction(over, under) if under else None
    number = decimal.Decimal(text)
    return Fraction(number) if not number or abs(number.adjusted()) <= _MOST_DIGITS else None


def typed_text(text: str) -> tuple[str, str] | None:
    """Return the element and the type of ``f32=0.3`` or ``0.3 : f32``; None for text without a type."""
    head, equals, element = text.partition("=")
    if equals:
        return element.strip(), head.strip()
    element, colon, type_ = text.rpartition(":")
    return (element.strip(), type_.strip()) if colon else None


def _given_value(text: str, value: Value) -> GivenNumber:

    if value.shape:
        raise InputError(f"explain takes one number; {value!r} has {value.bits.size}")
    if value.poison is not None:
        raise InputError(f"the value is poison: {value.origin()}")
    element = numeric(value.element_type)
    width = element_width(element)
    if width is None:
        raise Unsupported(f"explain cannot round values of type '{value.type}'")
    code = codes_to_ints(value.bits.reshape((1, *value.bits.shape)), width)[0]
    reading = f"of type {value.type}"
    if isinstance(element, ty.FloatType):
        return given_code(text, reading, element.format, code)
    signed = not (isinstance(element, ty.IntegerType) and (element.signedness == "unsigned" or element.width == 1))
    return given_integer(text, reading, code - (1 << width) if signed and width and code >> (width - 1) else code)


def given_number(value: Any, fmt: FloatFormat) -> GivenNumber:
    """Take a number in any form that `explain` accepts. Raise InputError for anything else."""

    match value:
        case Value():
            return _given_value(repr(value), value)
        case str():
            text = value.strip()
            typed = typed_text(text)
            if typed is None:
                return given_text(text, fmt)

            return _given_value(text, parse_value(parse_type_head(typed[1]), typed[0]))
        case np.generic() | np.ndarray():
            return _given_value(repr(value), to_elements(value, None))  # an unsigned dtype is unsigned here
        case _ if is_tensor(value):
            return given_number(as_array(value, "the value"), fmt)
        case bool():
            raise InputError(f"{value} is not a number to be rounded")
        case int():
            return given_integer(fraction_text(Fraction(value)), "", value)
        case float():
            return given_code(repr(value), "", _F64, double_bits(value))
        case Fraction():
            return given_fraction(fraction_text(value), value)
        case decimal.Decimal():
            if not value.is_finite():
                return given_code(str(value), "", _F64, double_bits(float(str(value).replace("sNaN", "NaN"))))
            if abs(value.adjusted()) > _MOST_DIGITS * 4:
                raise InputError(f"the exponent of {value} is too large")
            return given_fraction(str(value), Fraction(value))
    raise InputError(f"explain takes a number, its text, or a scalar Value, not {type(value).__name__}")


def given_with_type(value: Any) -> tuple[GivenNumber, FloatFormat]:
    """Take a number that has a type: its bits, or the rounding of decimals such as ``0.3 : f32`` to that type."""

    if isinstance(value, str):
        typed = typed_text(value.strip())
        if typed is None:
            raise InputError(f"'{value.strip()}' has no type", hint="name one: explain(0.3, 'f8E4M3FN'), or 0.3 : f32")
        fmt = format_of(typed[1])
        return replace(given_text(typed[0], fmt), text=value.strip()), fmt
    if isinstance(value, np.generic | np.ndarray):
        value = Value.from_numpy(value)
    if not isinstance(value, Value):
        raise InputError(f"{value!r} has no type", hint="name one: explain(0.3, 'f8E4M3FN')")
    fmt = format_of(value.element_type)
    _given_value(repr(value), value)  # raises the error
    return given_bits(repr(value), fmt, codes_to_ints(value.bits.reshape((1, *value.bits.shape)), fmt.bits)[0]), fmt


def given_bits_of_type(value: Any, fmt: FloatFormat) -> GivenNumber | None:
    """Take raw bits whose type is the format that they would be rounded to; return None for anything else."""
    typed = typed_text(value.strip()) if isinstance(value, str) else None
    if typed is None or typed[1] != fmt.name or "=" in value or not _BITS.fullmatch(typed[0]):
        return None
    return replace(given_text(typed[0], fmt), text=value.strip())


def format_of(type_: str | FloatFormat | ty.Type) -> FloatFormat:
    """Return the format of a float type. Raise ParseError for invalid text, Unsupported for other types."""
    if isinstance(type_, FloatFormat):
        return type_
    if isinstance(type_, str) and type_ in FORMATS:
        return FORMATS[type_]

    parsed = as_type(type_)
    if not isinstance(parsed, ty.FloatType):
        raise Unsupported(f"explain rounds to float types ({', '.join(FORMATS)}), not to '{parsed}'")
    return parsed.format
