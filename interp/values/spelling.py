"""Spell values the way iree-run-module does: ``2x2xf32=[1 2][3 4]``, ``i32=7``, ``f8E4M3FN=nan``.

`halfulp.interp.values.parsing` reads what is printed here back to the same bits. Elements are decimal numbers, ``nan``,
``inf``, ``true``, ``false``, raw bits (``0x7FC00001``) or ``poison``. Raw bits stand for a NaN other than the format's
default one, and for a number that no float64 holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from math import prod
from typing import Protocol

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import Codes, codes_to_ints
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.spelling import hex_text
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.literals import decimal_text, double_bits
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.values.element_layout import (
    code_layout,
    is_unsigned,
    numeric,
    shape_of_codes,
    spell_shape,
)
from halfulp.semantics.poison import PoisonIds


class Spelled(Protocol):
    """The parts of a `Value` that its text shows."""

    type: ty.Type
    bits: Codes
    poison: PoisonIds | None


# --- numbers ----------------------------------------------------------------------------------------------------------


def float_code(format_: FloatFormat, number: float) -> int:
    """Round a finite float64 or an infinity to nearest even into the format, as decimal literals are; its code."""
    return scalar.convert(FORMATS["f64"], format_, double_bits(number)).code


def range_text(low: int, high: int) -> str:
    """Spell a range of integers; beyond 64 bits with powers of two."""
    if high >> 64 == 0:
        return f"{low} to {high}"
    return f"{f'-2^{(-low).bit_length() - 1}' if low else 0} to 2^{high.bit_length()} - 1"


# --- elements ---------------------------------------------------------------------------------------------------------


def spell_element(element: ty.Type, code: int) -> str:
    """Spell one element as text that reads back to ``code``."""
    stored = numeric(element)
    if isinstance(stored, ty.FloatType):
        return _spell_float(stored.format, code) if code < 1 << 16 else _float_text(stored.format, code)
    if stored == ty.I1:
        return "true" if code else "false"
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
        return raw
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
        if float_code(fmt, float(text)) == code:
            return _plain(text)
    return raw


def _spellings(fmt: FloatFormat, number: float) -> Iterator[str]:
    """Yield spellings to try: exact digits where a small format needs few, then more and more digits."""
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


def _plain(text: str) -> str:
    """Spell a number in plain digits where that is short: 1e+02 and 100.0 are 100."""
    if "e" in text and -5 < int(text.partition("e")[2]) < 16:
        return f"{Decimal(text):f}"
    return text.removesuffix(".0")


# --- values -----------------------------------------------------------------------------------------------------------


def spell_type(type_: ty.Type, shape: tuple[int, ...]) -> str:
    """Spell the head of a value: its element type after its dimensions."""
    element = ty.element_type(type_)
    name = element.format.name if isinstance(element, ty.FloatType) else str(element)
    return f"{spell_shape(shape)}x{name}" if shape else name


def spell_value(value: Spelled, limit: int | None = None) -> str:
    """Spell a value as ``type=elements``.

    With ``limit``, an array of more elements is cut after that many, followed by ``...``.
    """
    element = ty.element_type(value.type)
    shape = shape_of_codes(value.bits, element)
    head = spell_type(value.type, shape)
    count = prod(shape)
    cut = limit is not None and count > limit
    kept = limit if cut else count
    flat = value.bits.reshape((count, *code_layout(element)[1]))[:kept]
    texts = list(_element_texts(element, flat))
    if value.poison is not None:
        for index in np.flatnonzero(value.poison.reshape(-1)[:kept]):
            texts[index] = "poison"
    if cut:
        return f"{head}={' '.join(texts)} ..."
    return f"{head}={_nested(texts, shape)}"


def _element_texts(element: ty.Type, flat: Codes) -> Iterator[str]:
    """Yield the text of each element along the first axis."""
    if isinstance(element, ty.ComplexType):
        parts = list(_element_texts(element.element, flat.reshape(-1, *flat.shape[2:])))
        return (f"({real},{imaginary})" for real, imaginary in zip(parts[::2], parts[1::2], strict=True))
    width = element_width(element)
    if width is None:
        return (str(carried) for carried in flat)
    return (spell_element(element, code) for code in codes_to_ints(flat, width))


def _nested(texts: list[str], shape: tuple[int, ...]) -> str:
    if not texts:
        return ""
    if len(shape) <= 1:
        return " ".join(texts)
    size = prod(shape[1:])
    return "".join(f"[{_nested(texts[i : i + size], shape[1:])}]" for i in range(0, len(texts), size))
