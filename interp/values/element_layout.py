"""The layout of elements: widths, storage dtypes and run-time shapes of the values of a type.

A code is the raw bit pattern of an element: unsigned, zero-extended, in the smallest of uint8/16/32/64 that holds it.
Elements wider than 64 bits have one more trailing axis of uint64 limbs, least significant first. A complex element has
a trailing axis of two (real, imaginary) before the limbs. Elements that are carried but not computed with (strings,
opaque attributes) are an object array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any, Protocol

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import (
    FORMATS,
    Codes,
    FloatFormat,
    codes_to_ints,
    double_bits,
    limb_count,
    storage_dtype,
)
from halfulp.fp_formats.spelling import hex_text, hexadecimal
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import decimal_text, nest
from halfulp.interp.ir.errors import TypeMismatch, Unsupported
from halfulp.interp.ir.types import element_width, width_of
from halfulp.semantics import fixed_point
from halfulp.semantics.kernel import PoisonIds

MAX_RANK = 62
"""NumPy's limit of 64 axes, less those that one element may take: real and imaginary part, and limbs."""
_MAX_ARRAY_BYTES = (1 << 63) - 1
_WIDEST = 1 << 8
"""At least the bytes of one element, whatever its type."""


Layout = tuple[np.dtype[Any], tuple[int, ...]]


def code_layout(element: ty.Type) -> Layout:
    """Return the storage dtype of an element type's codes and the trailing axes of one element. In memory an element
    may be a vector.
    """
    # Kept in the type: each value is asked for it several times, and to look up the type takes longer.
    known: Layout | None = element.__dict__.get("_layout")
    if known is None:
        known = element.__dict__["_layout"] = _code_layout(element)
    return known


def _code_layout(element: ty.Type) -> Layout:
    if isinstance(element, ty.ComplexType):
        dtype, limbs = code_layout(element.element)
        return dtype, (2, *limbs)
    if isinstance(element, ty.VectorType) and not any(element.scalable):
        dtype, limbs = code_layout(element.element)
        return dtype, (*element.shape, *limbs)
    width = ty.element_width(element)
    if width is None:
        return np.dtype(object), ()
    count = limb_count(width)
    return storage_dtype(width), () if count == 1 else (count,)


def has_layout(type_: ty.Type, codes: Codes) -> bool:
    """Tell whether an array has the dtype and the trailing axes of codes of a type."""
    dtype, trailing = code_layout(ty.element_type(type_))
    return codes.dtype == dtype and (not trailing or codes.shape[-len(trailing) :] == trailing)


def shape_of_codes(codes: Codes, element: ty.Type) -> tuple[int, ...]:
    """Return the shape of an array of codes in elements: without the trailing axes of one element."""
    return codes.shape[: codes.ndim - len(code_layout(element)[1])]


def numeric(element: ty.Type) -> ty.Type:
    """Return the integer type in which a quantised element is stored; any other element type itself."""
    if isinstance(element, ty.UniformQuantizedType | ty.AnyQuantizedType):
        return ty.IntegerType(element.storage_width, "signed" if element.storage_signed else "unsigned")
    return element


def is_unsigned(element: ty.Type) -> bool:
    """Tell whether the type says that its integers are unsigned."""
    if isinstance(element, ty.UniformQuantizedType):
        return not element.storage_signed
    return isinstance(element, ty.IntegerType) and element.signedness == "unsigned"


def runtime_shape(type_: ty.Type, vscale: int | None = None) -> tuple[int | None, ...] | None:
    """Return the shape of a type's values. It is () for a scalar; a dimension that is not known is None. Return None in
    place of a shape if the type is unranked.

    Raises Unsupported for a scalable vector without ``vscale``.
    """
    if isinstance(type_, ty.VectorType):
        if not any(type_.scalable):
            return type_.shape
        if vscale is None:
            raise Unsupported(
                f"the number of elements of '{type_}' depends on the machine", hint="give vscale=N (--vscale=N)"
            )
        return tuple(n * vscale if scales else n for n, scales in zip(type_.shape, type_.scalable, strict=True))
    return ty.shape_of(type_)


def fixed_type(type_: ty.Type, vscale: int | None) -> ty.Type:
    """Return the type of a scalable vector with the sizes that it has for this ``vscale``; any other type stays as it
    is.
    """
    if not isinstance(type_, ty.VectorType) or not type_.scalable:
        return type_
    return ty.VectorType(tuple(size or 0 for size in runtime_shape(type_, vscale) or ()), type_.element)


def shape_conflict(type_: ty.Type, shape: tuple[int, ...], vscale: int | None = None) -> str | None:
    """Return why a value of this shape cannot have this type; None if it can.

    The text names both shapes, or both numbers of a quantisation rule.
    """
    expected = runtime_shape(type_, vscale)
    if expected is not None and (
        len(expected) != len(shape) or any(e is not None and e != n for e, n in zip(expected, shape, strict=True))
    ):
        return f"a value of shape {spell_shape(shape)} is not of type '{type_}'"
    element = ty.element_type(type_)
    return ty.check_quantized_container(element, shape) if isinstance(element, ty.UniformQuantizedType) else None


def shape_problem(shape: Sequence[int]) -> str | None:
    """Return why NumPy cannot make an array of this shape, even if no memory is needed; None if it can."""
    if len(shape) > MAX_RANK:
        return f"has {len(shape)} dimensions; the limit is {MAX_RANK}"
    # Dimensions of size 0 do not count.
    if math.prod([size for size in shape if size]) > _MAX_ARRAY_BYTES // _WIDEST:
        return f"has the shape {spell_shape(tuple(shape))}, too large for any array"
    return None


def concrete(type_: ty.Type, shape: tuple[int, ...]) -> ty.Type:
    """Return a tensor type with the shape ``shape`` in place of its dynamic dimensions."""
    return replace(type_, shape=shape) if isinstance(type_, ty.TensorType) and type_.shape != shape else type_


def spell_shape(shape: tuple[int, ...]) -> str:
    """Return the text of a shape as MLIR does between the angle brackets: ``2x3``; ``scalar`` for rank 0."""
    return "x".join(map(str, shape)) or "scalar"


def narrowed_index(codes: Codes, what: str) -> Codes:
    """Reduce index codes of 64 bits to 32, in the same storage. Raises TypeMismatch for a number that does not fit."""
    signed = codes.view(np.int64)
    if signed.size:
        for number in (int(signed.min()), int(signed.max())):
            if not -(1 << 31) <= number < 1 << 32:
                raise TypeMismatch(f"{what}: {number} does not fit the 32 bits selected for index")
    return np.asarray(codes & np.uint64(0xFFFFFFFF))


# --- printing ---------------------------------------------------------------------------------------------------------
#
# Spell values as iree-run-module does (``2x2xf32=[1 2][3 4]``, ``f8E4M3FN=nan``), and as mlir-runner does.
#
# `halfulp.interp.values.parsing` reads what is printed here back to the same bits. Elements are decimal numbers,
# ``nan``, ``-nan``, ``inf``, ``true``, ``false``, raw bits (``0x7FC00001``) or ``poison``. Raw bits are a NaN
# other than the format's default one with either sign, and a number that no float64 holds.
#
# mlir-runner prints floats with six digits, index and i1 without a sign; of floats those of up to 64 bits except tf32,
# of integers those of up to 64 bits. Other types are spelled alike. It prints the NaN of f8E8M0FNU as inf; here it is
# nan.


class Spelled(Protocol):
    """The parts of a `Value` that its text shows."""

    type: ty.Type
    bits: Codes
    poison: PoisonIds | None


# --- numbers ----------------------------------------------------------------------------------------------------------


def float_code(format_: FloatFormat, number: float) -> int:
    """Return the code of a finite float64 or an infinity, rounded to nearest even into the format, as decimal literals
    are.
    """
    return scalar.convert(FORMATS["f64"], format_, double_bits(number)).code


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
        if float_code(fmt, float(text)) == code:
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
