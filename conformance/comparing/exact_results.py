"""Compute the exact real result of an op before rounding: mismatches and ties are measured against it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.ir import types as ty


def _remainder(a: Fraction, b: Fraction) -> Fraction:
    quotient = abs(a) // abs(b)
    return a - (b if (a < 0) == (b < 0) else -b) * quotient


_REAL: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "arith.addf": lambda a, b: a + b,
    "arith.subf": lambda a, b: a - b,
    "arith.mulf": lambda a, b: a * b,
    "arith.divf": lambda a, b: a / b,
    "arith.remf": _remainder,
}
_UNSIGNED = frozenset({"arith.uitofp", "arith.fptoui"})
CONVERSIONS = frozenset(
    {"arith.extf", "arith.truncf", "arith.convertf", "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.fptoui"}
)


def number(case: OpCase, index: int, code: int) -> Fraction | None:
    """Return the number that an operand's code represents; None for NaN and infinities."""
    type_ = case.operand_types[index]
    if isinstance(type_, ty.FloatType):
        return scalar.value(type_.format, code)
    width = case.operand_widths[index]
    negative = case.op not in _UNSIGNED and width and code >> (width - 1)
    return Fraction(code - (1 << width) if negative else code)


def exact_value(case: OpCase, operands: tuple[int, ...]) -> Fraction | None:
    """Return the exact result of a rounded op; None where the result is not a number or the op does not round."""
    numbers = [number(case, index, code) for index, code in enumerate(operands)]
    if case.op in CONVERSIONS:
        return numbers[0]
    if case.op not in _REAL or None in numbers:
        return None
    a, b = numbers
    assert a is not None
    assert b is not None
    if not b and case.op in ("arith.divf", "arith.remf"):
        return None
    return _REAL[case.op](a, b)


def tie(fmt: FloatFormat, exact: Fraction, code: int) -> int:
    """Tell whether a number lies midway between two values of a format, given the code it was rounded to.

    Return 1 if it was rounded up in magnitude, -1 if down, 0 if it is not a tie.
    """
    rounded = scalar.value(fmt, code)
    magnitude = code & (fmt.code_mask >> fmt.signed)
    if rounded is None or rounded == exact:
        return 0
    up = abs(rounded) > abs(exact)
    other = magnitude - 1 if up else magnitude + 1
    if not 0 <= other <= fmt.max_code:
        return 0
    beyond = scalar.value(fmt, other)
    if beyond is None or abs(rounded) + beyond != 2 * abs(exact):
        return 0
    return 1 if up else -1
