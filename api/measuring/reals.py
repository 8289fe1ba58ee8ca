"""The exact numbers of anything that users give, as an array of f64 or of fractions."""

from __future__ import annotations

import decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.explanations.texts import integer_of
from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import codes_to_ints
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths import fast
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, TypeMismatch
from halfulp.interp.ir.types import element_width
from halfulp.interp.values.value import Value, to_elements

F64 = FORMATS["f64"]
_MOST_DIGITS = 20_000
Reals = npt.NDArray[Any]
"""Exact numbers: an array of f64, or an object array of Fractions in which NaN and infinities are floats."""


def within_f64(fmt: FloatFormat) -> bool:
    """Tell whether every value of a format is a value of f64, and each binade one of normal values of f64."""
    return fmt.emin >= F64.emin and fmt.emax <= F64.emax and fmt.mantissa_bits <= F64.mantissa_bits


def value_of(x: Any) -> Value | None:
    """Return anything but fractions, decimals, texts and wide integers as a value; None for these.

    An array of NumPy or ml_dtypes is not copied. Raises TypeMismatch for a dtype without an MLIR type.
    """
    if isinstance(x, Value):
        return x
    if isinstance(x, str | Fraction | decimal.Decimal) or (isinstance(x, int) and not isinstance(x, bool)):
        return None
    return None if np.asarray(x).dtype.kind in "OUS" else to_elements(x, None)


def reals_of(x: Any, what: str = "x") -> Reals:
    """Return the exact numbers of an array, number, text or `Value`, in its shape; poison gives any number.

    Numbers that f64 holds are f64, so that no precision is lost. All others (f80, f128, wide integers, Fractions,
    Decimals, texts such as ``1/3``) are Fractions. Raises InputError for what is not a number, TypeMismatch for types
    without numbers.
    """
    value = value_of(x)
    if value is not None:
        return reals_of_value(value)
    found = np.empty(np.shape(x), object)
    flat = found.reshape(-1)
    for place, number in enumerate(np.asarray(x, object).reshape(-1).tolist()):
        flat[place] = exact_number(number, what)
    return found


def reals_of_value(value: Value) -> Reals:
    """Return the exact numbers of a `Value`: see `reals_of`."""
    element = value.element_type
    width = element_width(element)
    if isinstance(element, ty.FloatType):
        fmt = element.format
        if within_f64(fmt):
            floats: Reals = np.asarray(fast.convert(fmt, F64, value.bits).codes).view(np.float64)
            return floats.reshape(value.shape)
        numbers: list[Any] = [_number_of_code(fmt, code) for code in codes_to_ints(value.bits, fmt.bits)]
    elif isinstance(element, ty.IntegerType | ty.IndexType) and width is not None:
        numbers = []
        if width <= F64.precision:
            signed = value.bits.astype(np.int64)
            if element != ty.I1 and getattr(element, "signedness", "signless") != "unsigned":
                signed = signed << (64 - width) >> (64 - width)
            return signed.astype(np.float64)
        stored = ty.IntegerType(64) if isinstance(element, ty.IndexType) else element
        numbers = [Fraction(integer_of(stored, code)) for code in codes_to_ints(value.bits, width)]
    else:
        raise TypeMismatch(f"elements of type '{element}' are not numbers", hint="give floats or integers")
    found = np.empty(len(numbers), object)
    found[:] = numbers
    return found.reshape(value.shape)


def _number_of_code(fmt: FloatFormat, code: int) -> Fraction | float:
    exact = scalar.value(fmt, code)
    if exact is not None:
        return exact
    if not fmt.is_infinite(code):
        return float("nan")
    return float("-inf") if fmt.sign_mask and code & fmt.sign_mask else float("inf")


def exact_number(number: Any, what: str) -> Fraction | float:
    """Return one number exactly; NaN and infinities as floats. Raises InputError for anything else."""
    try:
        if isinstance(number, bool):
            raise ValueError
        if isinstance(number, str):
            text = number.strip()
            if len(text) > _MOST_DIGITS:
                raise InputError(f"{what}: a number of {len(text)} characters is too long; at most {_MOST_DIGITS}")
            number = Fraction(text) if "/" in text else decimal.Decimal(text)
        if isinstance(number, decimal.Decimal) and number.is_finite() and abs(number.adjusted()) > _MOST_DIGITS:
            raise InputError(f"{what}: the exponent of {number} is too large; at most {_MOST_DIGITS}")
        if isinstance(number, decimal.Decimal) and not number.is_finite():
            return float(str(number).replace("sNaN", "NaN"))
        if isinstance(number, float | np.floating) and not np.isfinite(number):
            return float(number)
        return Fraction(*number.as_integer_ratio())
    except (ValueError, AttributeError, ZeroDivisionError, decimal.InvalidOperation):
        raise InputError(f"{what}: {number!r} is not a number", hint="give floats, integers or Fractions") from None


def poisoned_of(x: Any) -> npt.NDArray[np.bool_] | None:
    """Return the mask of poison of a `Value`; None for anything else, and without poison."""
    return x.poisoned if isinstance(x, Value) and x.poison is not None else None


def refuse_poison(x: Any, what: str) -> None:
    """Raise ValueError if an element of a `Value` is poison."""
    poisoned = poisoned_of(x)
    if poisoned is not None and poisoned.any():
        first = tuple(int(k) for k in np.argwhere(poisoned)[0])
        raise ValueError(f"{what}: element {list(first)} is poison: {x.origin(*first)}")
