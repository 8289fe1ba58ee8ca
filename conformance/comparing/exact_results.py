"""The exact real result of an op, before any rounding: what a mismatch is measured against, and what a tie is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from halfulp.conformance.comparing.op_case import Task
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


def number(task: Task, index: int, code: int) -> Fraction | None:
    """The number that an operand's code stands for; None for NaN and infinities."""
    type_ = task.operand_types[index]
    if isinstance(type_, ty.FloatType):
        return scalar.value(type_.format, code)
    width = task.operand_widths[index]
    negative = task.op not in _UNSIGNED and width and code >> (width - 1)
    return Fraction(code - (1 << width) if negative else code)


def exact_value(task: Task, operands: tuple[int, ...]) -> Fraction | None:
    """The exact result of a rounded op on operand codes; None where it is no number, or the op does not round."""
    numbers = [number(task, index, code) for index, code in enumerate(operands)]
    if task.op in CONVERSIONS:
        return numbers[0]
    if task.op not in _REAL or None in numbers:
        return None
    a, b = numbers
    assert a is not None
    assert b is not None
    if not b and task.op in ("arith.divf", "arith.remf"):
        return None
    return _REAL[task.op](a, b)


def tie(fmt: FloatFormat, truth: Fraction, code: int) -> int:
    """Whether a number lies midway between two values of a format, given the code it was rounded to.

    1 when it was rounded up in magnitude, -1 when down, 0 when it is no tie.
    """
    rounded = scalar.value(fmt, code)
    magnitude = code & (fmt.code_mask >> fmt.signed)
    if rounded is None or rounded == truth:
        return 0
    up = abs(rounded) > abs(truth)
    other = magnitude - 1 if up else magnitude + 1
    if not 0 <= other <= fmt.max_code:
        return 0
    beyond = scalar.value(fmt, other)
    if beyond is None or abs(rounded) + beyond != 2 * abs(truth):
        return 0
    return 1 if up else -1
