"""Spell values as the library of mlir-runner prints them: floats with six digits, index and i1 without a sign.

mlir-runner prints integers and index of up to 64 bits, and floats of up to 64 bits except tf32. Other types are spelled
alike. It prints the NaN of f8E8M0FNU as inf; here it is nan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from math import prod

from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import Codes, codes_to_ints
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import width_of
from halfulp.interp.values.element_layout import is_unsigned, shape_of_codes
from halfulp.interp.values.spelling import Spelled

_DIGITS = 6
"""The significant digits of C's ``%g``, in which all floats are printed."""
_ROUNDED = Context(_DIGITS, ROUND_HALF_EVEN)


def printed(value: Spelled) -> str:
    """Return the text that `vector.print` prints for a scalar or a vector, without the punctuation behind it."""
    texts = list(printed_elements(value))
    if not isinstance(value.type, ty.ShapedType):
        return texts[0]
    # A vector of rank 0 is printed as one of rank 1 with one element.
    return _nested(texts, shape_of_codes(value.bits, value.type.element) or (1,))


def _nested(texts: Sequence[str], shape: Sequence[int]) -> str:
    size = prod(shape[1:])
    parts = [
        texts[k] if len(shape) == 1 else _nested(texts[k * size : (k + 1) * size], shape[1:]) for k in range(shape[0])
    ]
    return f"( {', '.join(parts)} )"


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
        return _float_text(element.format, code)
    width = width_of(element)
    signless = isinstance(element, ty.IndexType) or width == 1 or is_unsigned(element)
    return str(code if signless or not code >> (width - 1) else code - (1 << width))


@lru_cache(maxsize=1 << 12)
def _float_text(fmt: FloatFormat, code: int) -> str:
    """Return C's ``%g``."""
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
