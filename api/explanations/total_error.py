"""The error of a result against the exact function of the operands as they were typed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise

from halfulp.explanations.records import GivenOperand, TotalError
from halfulp.explanations.special_operands import EXACT
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.mixed import FUSED
from halfulp.fp_formats.steps import ulp_at
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.math.families import row_of
from halfulp.semantics.float_unit import MIXED

_OPERATIONS: Mapping[str, str] = {
    **{name: operation for name, operation in MIXED.items() if operation in EXACT},
    "arith.addf": "add",
    "arith.subf": "subtract",
    "arith.mulf": "multiply",
    "arith.divf": "divide",
    "arith.remf": "remainder",
}
_UNCHANGED = ("arith.extf", "arith.truncf", "arith.convertf", "fcvt")


def _function(op: str) -> Callable[..., Fraction] | None:
    """Return the exact function of an op on rational numbers, if it has one; that of functions to 200 bits."""
    if op in _OPERATIONS:
        return EXACT[_OPERATIONS[op]][1]
    if op in MIXED:
        return partial(_multiply_add, *FUSED[MIXED[op]])
    name = row_of(default_registry().require(op))
    if name is not None:
        return partial(_rounded_function, name)
    return (lambda x: x) if op in _UNCHANGED else None


def _multiply_add(negated: int, subtracted: int, a: Fraction, b: Fraction, c: Fraction) -> Fraction:
    product = -a * b if negated else a * b
    return product - c if subtracted else product + c


def _rounded_function(name: str, *operands: Fraction) -> Fraction:
    from halfulp.fp_formats.reals import accounts

    found = accounts.number_near(name, operands)
    if found is None:
        raise ArithmeticError(f"{name} has no real result there")
    return found


def total_error(op: str, operands: Sequence[GivenOperand], result: Fraction | None, fmt: FloatFormat) -> TotalError:
    """Return the error of ``result``, and how much of it comes from the op and from rounding each operand.

    The operands are replaced by their rounded values one after the other, the first one first: the differences add up
    to the total error.
    """
    rounded = any(operand.real != operand.value for operand in operands)
    exactly = _function(op)
    if exactly is None:
        return TotalError(None, shown=rounded, reason=f"the exact function of {op} is not rational, or has steps")
    values = [operand.value for operand in operands]
    reals = [operand.real for operand in operands]
    if result is None or None in values or None in reals:
        return TotalError(None, shown=rounded, reason="an operand or the result is not a finite number")
    mixed = [[*values[:k], *reals[k:]] for k in range(len(values) + 1)]
    try:
        exact = [exactly(*row) for row in mixed]
    except ArithmeticError:
        return TotalError(None, shown=rounded, reason="there is no exact result for the operands as given")
    by_operand = [
        (f"rounding {operand.name}", after - before)
        for operand, (before, after) in zip(operands, pairwise(exact), strict=True)
    ]
    parts = (("the op itself", result - exact[-1]), *by_operand)
    return TotalError(exact[0], result - exact[0], ulp_at(fmt, exact[0]), parts, rounded)
