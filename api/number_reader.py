"""Read numbers, formats and modes as users write them: the reader of `halfulp.fp_formats.numbers` with values and
types.

A number is read exactly. Text that has a type itself, ``0.3 : f32`` or ``f32=0.3``, is a literal of MLIR, whose
decimals are read as the nearest f64 first.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from halfulp.fp_formats import numbers, scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat, codes_to_ints, double_bits
from halfulp.fp_formats.policy import MLIR_ROUNDINGS, Rounding, as_rounding
from halfulp.fp_formats.spelling import fraction_text
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.ir.types import element_width, numeric
from halfulp.interp.values.coerce import as_array, as_type, is_tensor
from halfulp.interp.values.parsing import parse_type_head, parse_value
from halfulp.interp.values.value import Value, to_elements

MODES: Mapping[str, Rounding] = {mode.spelling: mode for mode in MLIR_ROUNDINGS}
"""The five deterministic rounding modes by MLIR's keywords."""
READ_AS_F64 = "read as the nearest f64, as every MLIR literal is; a fraction such as 3/10 is exact"
"""The text of ``reading`` for a literal of MLIR that is not an f64."""


def mode_named(rounding: str) -> str:
    """Return MLIR's keyword of a deterministic rounding mode, from any of its names. Raise InputError."""
    try:
        name = as_rounding(rounding).spelling
    except ValueError as error:
        raise InputError(str(error)) from None
    if name not in MODES:
        raise InputError(f"rounding is {name!r}, but must be one of {', '.join(MODES)}")
    return name


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


class Code(NamedTuple):
    """A number given by its bits: a format, and the code of the number."""

    format: FloatFormat
    bits: int


@dataclass(frozen=True, slots=True)
class ReadNumber:
    """One number that a user gave, and how it was read."""

    #: what the user wrote
    text: str
    #: how the text was read; empty if that is clear
    reading: str
    #: the number: a code, an integer of an integer type, or an exact number without a type
    number: Code | int | float | numbers.Ratio
    #: the number is given by bits of the type that it would be rounded to, so it is not rounded
    is_bits: bool = False

    @property
    def exact(self) -> Fraction | None:
        """The exact value; None for NaN and infinities."""
        if isinstance(self.number, Code):
            return scalar.value(*self.number)
        return numbers.fraction_of(self.number)


def read_number(value: Any, fmt: FloatFormat) -> ReadNumber:
    """Read a number in any form that `halfulp.explain` accepts. Raise InputError for anything else.

    ``fmt``: the format to which the number is rounded. Text such as ``0x7F`` gives the bits of a number of this format.
    """
    match value:
        case Value():
            return _of_value(repr(value), value)
        case str():
            text = value.strip()
            typed = typed_text(text)
            if typed is None:
                return read_text(text, fmt)
            if typed[1] == fmt.name and "=" not in text and numbers.code_of_text(typed[0]) is not None:
                return replace(read_text(typed[0], fmt), text=text)
            return _of_value(text, parse_value(parse_type_head(typed[1]), typed[0]))
        case np.generic() | np.ndarray():
            return _of_value(repr(value), to_elements(value, None))  # an unsigned dtype is unsigned here
        case _ if is_tensor(value):
            return read_number(as_array(value, "the value"), fmt)
        case bool():
            raise InputError(f"{value} is not a number to be rounded")
        case int():
            return ReadNumber(fraction_text(Fraction(value)), "", value)
        case float():
            return ReadNumber(repr(value), "", Code(numbers.F64, double_bits(value)))
        case Fraction():
            return _exactly(fraction_text(value), value)
        case decimal.Decimal():
            return _exactly(str(value), value)
    raise InputError(f"explain takes a number, its text, or a scalar Value, not {type(value).__name__}")


def read_text(text: str, fmt: FloatFormat, *, literal: bool = False) -> ReadNumber:
    """Read a number without a type. ``literal``: a decimal is read as MLIR reads it. Raise InputError."""
    code = numbers.code_of_text(text)
    if code is None:
        return _exactly(text, text, literal)
    if code >> fmt.bits:
        raise InputError(f"the bit pattern {text} does not fit the {fmt.bits} bits of {fmt.name}")
    return bits_of(text, Code(fmt, code))


def bits_of(text: str, code: Code) -> ReadNumber:
    """Return a number that already has the type to which it would be rounded, as its bits. It is not rounded, so even a
    signalling NaN is not quieted.
    """
    article = "an" if code.format.name[0] == "f" else "a"
    return ReadNumber(text, f"the bits of {article} {code.format.name}", code, is_bits=True)


def _exactly(text: str, given: str | Fraction | decimal.Decimal, literal: bool = False) -> ReadNumber:
    try:
        number = numbers.exact_number(given)
        read = numbers.exact_number(given, literal=literal)
    except ValueError as error:
        raise InputError(str(error), hint="raw bits are written 0x7F" if isinstance(given, str) else None) from None
    if numbers.is_too_large(number) and not isinstance(read, float):
        raise InputError(f"the exponent of {text if len(text) <= 60 else numbers.shortened(text)} is too large")
    if isinstance(read, int):  # text has no type, not even that of an integer
        read = numbers.Ratio(int(read < 0), abs(read), 1)
    reading = READ_AS_F64 if numbers.fraction_of(number) != numbers.fraction_of(read) else ""
    if isinstance(read, float) and not isinstance(number, float):
        return ReadNumber(text, reading, Code(numbers.F64, double_bits(read)))
    return ReadNumber(text, reading, read)


def _of_value(text: str, value: Value) -> ReadNumber:
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
        return ReadNumber(text, reading, Code(element.format, code))
    signed = not (isinstance(element, ty.IntegerType) and (element.signedness == "unsigned" or element.width == 1))
    return ReadNumber(text, reading, code - (1 << width) if signed and width and code >> (width - 1) else code)


def read_with_type(value: Any) -> tuple[ReadNumber, FloatFormat]:
    """Read a number that has its own type: bits of that type, or a decimal such as ``0.3 : f32``, which is rounded to
    the type. Return it with the format of the type.
    """
    if isinstance(value, str):
        typed = typed_text(value.strip())
        if typed is None:
            raise InputError(f"'{value.strip()}' has no type", hint="name one: explain(0.3, 'f8E4M3FN'), or 0.3 : f32")
        fmt = format_of(typed[1])
        return replace(read_text(typed[0], fmt, literal=True), text=value.strip()), fmt
    if isinstance(value, np.generic | np.ndarray):
        value = Value.from_numpy(value)
    if not isinstance(value, Value):
        raise InputError(f"{value!r} has no type", hint="name one: explain(0.3, 'f8E4M3FN')")
    fmt = format_of(value.element_type)
    _of_value(repr(value), value)  # raises the error
    code = codes_to_ints(value.bits.reshape((1, *value.bits.shape)), fmt.bits)[0]
    return bits_of(repr(value), Code(fmt, code)), fmt


def real_of(value: Any) -> Fraction | None:
    """Return the exact real number of a Fraction, a Decimal or a text, also if the text is a literal that MLIR would
    round. None for bits, for NaN and infinities, and for other inputs such as a float, because the number of a float is
    its binary value.
    """
    if isinstance(value, str):
        typed = typed_text(value)
        value = (value if typed is None else typed[0]).strip()
    if not isinstance(value, str | Fraction | decimal.Decimal):
        return None
    try:
        number = numbers.exact_number(value)
    except ValueError:
        return None
    return None if numbers.is_too_large(number) else numbers.fraction_of(number)


def typed_text(text: str) -> tuple[str, str] | None:
    """Return the element and the type of ``f32=0.3`` or ``0.3 : f32``; None for text without a type."""
    head, equals, element = text.partition("=")
    if equals:
        return element.strip(), head.strip()
    element, colon, type_ = text.rpartition(":")
    return (element.strip(), type_.strip()) if colon else None
