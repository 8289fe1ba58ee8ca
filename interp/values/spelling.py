"""The text of values, as iree-run-module and as mlir-runner spell them.

`halfulp.interp.values.parsing` reads what `spell_value` writes back to the same bits. Elements are decimal numbers,
``nan``, ``-nan``, ``inf``, ``true``, ``false``, raw bits (``0x7FC00001``) or ``poison``. Raw bits are a NaN other than
the format's default one with either sign, and a number that no float64 holds.

mlir-runner prints floats with six digits, index and i1 without a sign; of floats those of up to 64 bits except tf32, of
integers those of up to 64 bits. Other types are spelled alike. It prints the NaN of f8E8M0FNU as inf; here it is nan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Protocol

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import Codes, FloatFormat, codes_to_ints
from halfulp.fp_formats.spelling import hex_text, hexadecimal
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import decimal_text, nest
from halfulp.interp.ir.types import (
    code_layout,
    element_width,
    is_unsigned,
    numeric,
    shape_of_codes,
    spell_shape,
    width_of,
)
from halfulp.semantics import fixed_point
from halfulp.semantics.kernel import PoisonIds


class Spelled(Protocol):
    """The parts of a `Value` that its text shows."""

    type: ty.Type
    bits: Codes
    poison: PoisonIds | None


# --- numbers ----------------------------------------------------------------------------------------------------------


def range_text(low: int, high: int) -> str:
    """Return the text of a range of integers. Numbers beyond 64 bits are written as powers of two."""
    if high >> 64 == 0:
        return f"{low} to {high}"
    return f"{f'-2^{(-low).bit_length() - 1}' if low else 0} to 2^{high.bit_length()} - 1"


# --- elements ---------------------------------------------------------------------------------------------------------


def spell_element(element: ty.Type, code: int) -> str:
    """Return the text of one element, which reads back to ``code``."""
    stored = numeric(element)
    if isinstance(stored, ty.FloatType):
        return _spell_float(stored.format, code) if code < 1 << 16 else _float_text(stored.format, code)
    if stored == ty.I1:
        return "true" if code else "false"
    if isinstance(stored, ty.FixedType):
        return printed_element(stored, code)
    width = width_of(stored)
    return decimal_text(code - (1 << width) if not is_unsigned(stored) and width and code >> (width - 1) else code)


@lru_cache(maxsize=1 << 16)
def _spell_float(fmt: FloatFormat, code: int) -> str:
    return _float_text(fmt, code)


def _float_text(fmt: FloatFormat, code: int) -> str:
    raw = hex_text(fmt, code)
    if code == fmt.nan_code:
        return "nan"
    if fmt.is_nan(code):
        return "-nan" if fmt.nan_code is not None and code == fmt.nan_code | (fmt.sign_mask or 0) else raw
    if fmt.is_infinite(code):
        return "-inf" if fmt.sign_mask is not None and code & fmt.sign_mask else "inf"
    exact = scalar.value(fmt, code)
    assert exact is not None
    try:
        number = float(exact)
    except OverflowError:
        return raw
    if not number and exact:
        return raw
    if fmt.is_zero(code):
        return "-0" if code else "0"
    for text in _spellings(fmt, number):
        if scalar.from_double(fmt, float(text)) == code:
            return _plain(text, exact)
    return raw


def _spellings(fmt: FloatFormat, number: float) -> Iterator[str]:
    """Yield spellings to try: the exact digits if a small format needs few, then more and more digits."""
    if fmt.bits <= 8:
        exact = f"{number:.12g}"
        if float(exact) == number:
            yield exact
    elif fmt.bits == 64:
        yield repr(number)
    elif fmt.name == "f32":
        yield str(np.float32(number))
    for digits in range(1, 18):
        yield f"{number:.{digits}g}"


def _plain(text: str, exact: Fraction) -> str:
    """Return the text of a number in plain digits if that is short: 1e+02 and 100.0 are 100. An integer is spelled with
    all its digits, since with zeros in place of the last ones it would look like another number: 380000 for 380928.
    """
    if "e" in text and not -5 < int(text.partition("e")[2]) < 16:
        return text
    return str(exact.numerator) if exact.denominator == 1 else f"{Decimal(text):f}"


# --- values -----------------------------------------------------------------------------------------------------------


def spell_type(type_: ty.Type, shape: tuple[int, ...]) -> str:
    """Return the first part of the text of a value: its dimensions and its element type."""
    element = ty.element_type(type_)
    name = element.format.name if isinstance(element, ty.FloatType) else str(element)
    return f"{spell_shape(shape)}x{name}" if shape else name


def spell_value(value: Spelled, limit: int | None = None, bits: bool = False) -> str:
    """Return the text of a value as ``type=elements``.

    With ``limit``, an array of more elements is cut after that many, followed by ``...``. With ``bits``, an element is
    its code, ``0x7F``.
    """
    element = ty.element_type(value.type)
    shape = shape_of_codes(value.bits, element)
    head = spell_type(value.type, shape)
    count = prod(shape)
    cut = limit is not None and count > limit
    kept = limit if cut else count
    flat = value.bits.reshape((count, *code_layout(element)[1]))[:kept]
    texts = list(_element_texts(element, flat, _spell_code if bits else spell_element))
    if value.poison is not None:
        for index in np.flatnonzero(value.poison.reshape(-1)[:kept]):
            texts[index] = "poison"
    if cut:
        return f"{head}={' '.join(texts)} ..."
    return f"{head}={_nested(texts, shape)}"


def _spell_code(element: ty.Type, code: int) -> str:
    return hexadecimal(code, width_of(element))


def _element_texts(element: ty.Type, flat: Codes, spell: Callable[[ty.Type, int], str]) -> Iterator[str]:
    """Yield the text of each element along the first axis."""
    if isinstance(element, ty.ComplexType):
        parts = list(_element_texts(element.element, flat.reshape(-1, *flat.shape[2:]), spell))
        return (f"({real},{imaginary})" for real, imaginary in zip(parts[::2], parts[1::2], strict=True))
    width = element_width(element)
    if width is None:
        return (str(carried) for carried in flat)
    return (spell(element, code) for code in codes_to_ints(flat, width))


def _nested(texts: list[str], shape: tuple[int, ...]) -> str:
    if not texts:
        return ""
    if len(shape) <= 1:
        return " ".join(texts)
    size = prod(shape[1:])
    return "".join(f"[{_nested(texts[i : i + size], shape[1:])}]" for i in range(0, len(texts), size))


# --- printed ----------------------------------------------------------------------------------------------------------
#
# Spell values as the library of mlir-runner prints them: floats with six digits, index and i1 without a sign.

_DIGITS = 6
"""The significant digits of C's ``%g``, in which all floats are printed."""
_ROUNDED = Context(_DIGITS, ROUND_HALF_EVEN)


def printed(value: Spelled) -> str:
    """Return the text that `vector.print` prints for a scalar or a vector, without the punctuation after it."""
    texts = list(printed_elements(value))
    if not isinstance(value.type, ty.ShapedType):
        return texts[0]
    # A vector of rank 0 is printed as one of rank 1 with one element.
    return nest(texts, shape_of_codes(value.bits, value.type.element) or (1,), ("( ", " )"))


def printed_elements(value: Spelled) -> Iterator[str]:
    """Yield the text of each element, row-major."""
    texts = _numbers(ty.element_type(value.type), value.bits)
    poisoned = [0] * len(texts) if value.poison is None else value.poison.reshape(-1).tolist()
    return ("poison" if lost else text for text, lost in zip(texts, poisoned, strict=True))


def _numbers(element: ty.Type, bits: Codes) -> list[str]:
    if isinstance(element, ty.ComplexType):
        parts = _numbers(element.element, bits)
        return [f"({real},{imaginary})" for real, imaginary in zip(parts[::2], parts[1::2], strict=True)]
    return [printed_element(element, code) for code in codes_to_ints(bits, width_of(element))]


def printed_element(element: ty.Type, code: int) -> str:
    """Return the text of a number of this type."""
    if isinstance(element, ty.FloatType):
        return _six_digits(element.format, code)
    if isinstance(element, ty.FixedType):
        exact = fixed_point.value(element.format, code)
        places = exact.denominator.bit_length() - 1
        text = decimal_text(exact.numerator * 5**places)
        digits = text.lstrip("-").rjust(places + 1, "0")
        return f"{'-' * (exact < 0)}{digits[:-places]}.{digits[-places:]}" if places else text
    width = width_of(element)
    signless = isinstance(element, ty.IndexType) or width == 1 or is_unsigned(element)
    return str(code if signless or not code >> (width - 1) else code - (1 << width))


@lru_cache(maxsize=1 << 12)
def _six_digits(fmt: FloatFormat, code: int) -> str:
    """Return the text of a number as C's ``%g`` gives it, with six digits."""
    if code == fmt.nan_code:
        return "nan"
    sign = "-" if fmt.sign_mask is not None and code & fmt.sign_mask else ""
    if fmt.is_nan(code) or fmt.is_infinite(code):
        return sign + ("nan" if fmt.is_nan(code) else "inf")
    exact = scalar.value(fmt, code)
    if not exact:
        return f"{sign}0"
    number = _ROUNDED.divide(Decimal(abs(exact.numerator)), Decimal(exact.denominator)).normalize(_ROUNDED)
    exponent = number.adjusted()
    if -5 < exponent < _DIGITS:
        return f"{sign}{number:f}"
    return f"{sign}{number.scaleb(-exponent):f}e{exponent:+03d}"
