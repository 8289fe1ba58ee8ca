"""Texts that reports share: codes, values, flags and tables."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import Flags
from halfulp.fp_formats.spelling import bits_text, hex_text, hexadecimal, table_lines, value_text
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import numeric, width_of

SHORT_DIGITS = 20
"""The most digits of an operand in a formula."""


def code_text(fmt: FloatFormat, code: int | None) -> str:
    """Return the text of a code in hexadecimal and in binary, with its fields separated; or ``poison``."""
    return "poison" if code is None else f"{hex_text(fmt, code)}  {bits_text(fmt, code)}"


def profile_lines(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the results of the profiles as lines of text."""
    return table_lines(rows) if len(rows) > 2 else ["profiles  all of them give this"]


_FLAG_NAMES = {flag: (flag.name or "").lower().replace("_", " ") for flag in Flags}


def flags_text(flags: Flags | None) -> str:
    """Return the names of IEEE exception flags as text; ``none`` if there are none."""
    if flags is None:
        return "not known"
    return ", ".join(name for flag, name in _FLAG_NAMES.items() if flag & flags) or "none"


def element_text(type_: ty.Type, code: int | None, digits: int = 60) -> str:
    """Return the text of the value of an element: in decimals, ``true``, ``false`` or ``poison``."""
    if code is None:
        return "poison"
    stored = numeric(type_)
    if isinstance(stored, ty.FloatType):
        return value_text(stored.format, code, digits)
    if stored == ty.I1:
        return "true" if code else "false"
    return str(integer_of(stored, code))


def element_code_text(type_: ty.Type, code: int) -> str:
    """Return the text of the code of an element in hexadecimal, with all its digits."""
    return hexadecimal(code, width_of(type_))


def code_suffix(type_: ty.Type, code: int | None) -> str:
    """Return the code in brackets, to be written after a value."""
    return "" if code is None or numeric(type_) == ty.I1 else f" ({element_code_text(type_, code)})"


def integer_of(stored: ty.Type, code: int) -> int:
    """Return the integer that a code represents. It is signed, unless the type is unsigned."""
    width = width_of(stored)
    unsigned = isinstance(stored, ty.IntegerType) and stored.signedness == "unsigned"
    return code - (1 << width) if not unsigned and width and code >> (width - 1) else code


_MOST_BITS = 14_000
_MOST_SHOWN = 128


def integer_text(number: int) -> str:
    """Return the text of an integer: in hexadecimal if it has thousands of digits, because Python refuses to print so
    many decimals.
    """
    return str(number) if number.bit_length() < _MOST_BITS else hex(number)


def bits_of_integer(code: int, width: int) -> str:
    """Return the text of the bits of a code in groups of four from the right; wide ones in hexadecimal; ``""`` for no
    bits.
    """
    if not width:
        return ""
    return f"{code:0{width + (width - 1) // 4}_b}" if width <= _MOST_SHOWN else hexadecimal(code, width)


def integer_code_text(type_: ty.Type, code: int) -> str:
    """Return the text of an integer in decimals, signed and unsigned if these differ, in hexadecimal and in bits."""
    width = width_of(type_)
    signed = code - (1 << width) if width and code >> (width - 1) else code
    readings = (
        integer_text(signed) if signed == code else f"{integer_text(signed)} signed, {integer_text(code)} unsigned"
    )
    if width == 1:
        readings = f"{'true' if code else 'false'}, {readings}"
    spellings = [readings, hexadecimal(code, width)]
    return " = ".join(spellings + ([f"0b{bits_of_integer(code, width)}"] if 0 < width <= _MOST_SHOWN else []))
