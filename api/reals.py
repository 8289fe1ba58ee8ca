"""Return the exact numbers of any input of users, as an array of f64 or of fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat, codes_to_ints
from halfulp.fp_formats.neighbours import F64, Reals, within_f64
from halfulp.fp_formats.numbers import Exact, Ratio
from halfulp.fp_formats.paths import fast
from halfulp.inputs import ExactNumbers, taken_as
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.values.value import Value
from halfulp.texts import integer_of


def reals_of(x: Any, what: str = "x") -> Reals:
    """Return the exact numbers of any input of `halfulp.convert`, in its shape; poison gives any number.

    If f64 holds all values of the type, they are f64. All others (f80, f128, wide integers, fractions, decimals, texts
    such as ``1/3``) are Fractions. Raises TypeMismatch for inputs that are not numbers.
    """
    taken = taken_as(x, what)
    return reals_of_value(taken, what) if isinstance(taken, Value) else reals_of_numbers(taken)


def reals_of_numbers(given: ExactNumbers) -> Reals:
    """Return numbers without a type as Fractions; NaN and infinities as floats."""
    found = np.empty(len(given.numbers), object)
    found[:] = [_fraction(number) for number in given.numbers]
    return found.reshape(given.shape)


def _fraction(number: Exact) -> Fraction | float:
    if isinstance(number, Ratio):
        return Fraction(-number.numerator if number.sign else number.numerator, number.denominator)
    return Fraction(number) if math.isfinite(number) else float(number)


def reals_of_value(value: Value, what: str = "x") -> Reals:
    """Return the exact numbers of a `Value`: see `reals_of`."""
    element = value.element_type
    require_numbers(element, what)
    width = ty.width_of(element)
    if isinstance(element, ty.FloatType):
        fmt = element.format
        if within_f64(fmt):
            floats: Reals = np.asarray(fast.convert(fmt, F64, value.bits).codes).view(np.float64)
            return floats.reshape(value.shape)
        numbers: list[Any] = [_number_of_code(fmt, code) for code in codes_to_ints(value.bits, fmt.bits)]
    else:
        unsigned = isinstance(element, ty.IntegerType) and (element.signedness == "unsigned" or element == ty.I1)
        if 0 < width <= F64.precision:
            integers = value.bits.astype(np.int64)
            return (integers if unsigned else integers << (64 - width) >> (64 - width)).astype(np.float64)
        stored = ty.IntegerType(64) if isinstance(element, ty.IndexType) else element
        numbers = [Fraction(integer_of(stored, code)) for code in codes_to_ints(value.bits, width)]
    found = np.empty(len(numbers), object)
    found[:] = numbers
    return found.reshape(value.shape)


def require_numbers(element: ty.Type, what: str) -> None:
    """Raise TypeMismatch unless an element type is a float type or an integer type."""
    if not isinstance(element, ty.FloatType | ty.IntegerType | ty.IndexType):
        raise TypeMismatch(f"{what}: elements of type '{element}' are not numbers", hint="give floats or integers")


def _number_of_code(fmt: FloatFormat, code: int) -> Fraction | float:
    exact = scalar.value(fmt, code)
    if exact is not None:
        return exact
    if not fmt.is_infinite(code):
        return float("nan")
    return float("-inf") if fmt.sign_mask and code & fmt.sign_mask else float("inf")


def poisoned_of(x: Any) -> npt.NDArray[np.bool_] | None:
    """Return the mask of poison of a `Value`; None for anything else, and without poison."""
    return x.poisoned if isinstance(x, Value) and x.poison is not None else None


def refuse_poison(x: Any, what: str) -> None:
    """Raise ValueError if an element of a `Value` is poison."""
    poisoned = poisoned_of(x)
    if poisoned is not None and poisoned.any():
        first = tuple(int(k) for k in np.argwhere(poisoned)[0])
        raise ValueError(f"{what}: element {list(first)} is poison: {x.origin(*first)}")
