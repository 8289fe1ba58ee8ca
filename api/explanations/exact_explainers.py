"""Explanations of the ops of math that are exact, and of fma."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from halfulp.explanations.arith_explainers import TOWARD, extremum
from halfulp.explanations.op_parts import Explainer, OpContext, OpParts, parts_of_rounding, whole_number
from halfulp.explanations.op_types import Signature, same
from halfulp.explanations.records import GivenOperand
from halfulp.explanations.roundable import GivenNumber
from halfulp.explanations.rounding import explained
from halfulp.explanations.rules import default_nan, instead_of_infinity
from halfulp.explanations.special_operands import nan_operand_words
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.ir.types import width_of
from halfulp.number_reader import MODES
from halfulp.semantics.integral import DIRECTIONS
from halfulp.texts import bits_of_integer, integer_of, integer_text


def to_integral(fixed: Rounding | None) -> Explainer:
    """Explain a rounding to an integer of the same format; ``fixed``: its mode, or None for that of the context."""

    def explain(context: OpContext) -> OpParts:
        (x,) = context.operands
        mode = MODES[context.mode] if fixed is None else fixed
        if x.nan:
            return OpParts(f"a NaN operand: {nan_operand_words(x)}")
        if x.value is None:
            return OpParts("an infinity stays as it is")
        whole = whole_number(x.value, mode)
        if abs(whole) > x.format.max_value:
            given = GivenNumber(f"{x.short} {TOWARD[mode]}", "", Fraction(whole), whole < 0, False, context.application)
            return parts_of_rounding(explained(given, x.format, "to_nearest_even", context.profile, ()))
        sign = ", with the sign of the operand" if not whole and x.format.has_negative_zero else ""
        if whole == x.value:
            return OpParts(f"{x.short} is an integer{sign}", exact=x.value)
        return OpParts(f"{TOWARD[mode]}: {integer_text(whole)}{sign}", exact=Fraction(whole))

    return explain


def _absolute(context: OpContext) -> OpParts:
    (x,) = context.operands
    words = "the sign bit is cleared, of NaNs too" if x.format.has_negative_zero else "the magnitude"
    return OpParts(words, exact=None if x.value is None else abs(x.value))


def _copysign(context: OpContext) -> OpParts:
    x, y = context.operands
    sign = "negative" if y.negative else "positive"
    value = None if x.value is None else -abs(x.value) if y.negative else abs(x.value)
    return OpParts(f"the magnitude of {x.short} with the {sign} sign of {y.short}", exact=value)


def _clamp(context: OpContext) -> OpParts:
    value, low, high = context.operands
    nan = next((each for each in (value, low, high) if each.nan), None)
    if nan is not None:
        return OpParts(f"a NaN operand: {nan_operand_words(nan)}")
    first = extremum(largest=False, number=False)(replace(context, operands=(value, high)))
    return OpParts(f"the smaller of value and max ({first.rule}); then the larger of that and min, {low.short}")


class _Class(NamedTuple):
    """A class of floats: its name, and the test for it."""

    words: str
    holds: Callable[[GivenOperand], bool]


def _is_normal(x: GivenOperand) -> bool:
    return x.value is not None and bool(x.value) and not x.format.is_subnormal(x.known)


_CLASSES: Mapping[str, _Class] = {
    "math.isnan": _Class("a NaN", lambda x: x.nan),
    "math.isinf": _Class("an infinity", lambda x: x.infinite),
    "math.isfinite": _Class("a finite number", lambda x: x.value is not None),
    "math.isnormal": _Class("a normal number", _is_normal),
}


def _classify(asked: _Class) -> Explainer:
    def explain(context: OpContext) -> OpParts:
        (x,) = context.operands
        holds = asked.holds(x)
        return OpParts(f"{x.short} is {'' if holds else 'not '}{asked.words}: {'true' if holds else 'false'}")

    return explain


def multiply_add(negates: tuple[int, int] = (0, 0)) -> Explainer:
    """Explain a multiply-add; ``negates``: 1 to change the sign of the product, and of the addend."""
    return lambda context: _multiply_add(context, *map(bool, negates))


def _multiply_add(context: OpContext, negated: bool, subtracted: bool) -> OpParts:
    a, b, c = context.operands
    fmt, mode = context.format, context.mode
    product = f"-({a.short} * {b.short})" if negated else f"{a.short} * {b.short}"
    formula = f"{product} {'-' if subtracted else '+'} {c.short}"
    negative, infinite = (a.negative != b.negative) != negated, a.infinite or b.infinite
    minus = c.negative != subtracted
    rule: str | None = None
    exact = None
    nan = next((each for each in (a, b, c) if each.nan), None)
    if (infinite and (a.zero or b.zero)) and nan is None:
        rule = f"zero times infinity is not a number: {default_nan(fmt)}"
    elif nan is not None:
        rule = f"a NaN operand: {nan_operand_words(nan)}"
    elif infinite and c.infinite and negative != minus:
        rule = f"the sum of infinities of different signs is not a number: {default_nan(fmt)}"
    elif infinite or c.infinite:
        rule = f"an infinite operand decides: {instead_of_infinity(fmt)}"
    else:
        assert a.value is not None
        assert b.value is not None
        assert c.value is not None
        exact = a.value * b.value * (-1 if negated else 1) + c.value * (-1 if subtracted else 1)
        if not exact and fmt.has_negative_zero:
            zeros = not a.value * b.value and c.zero and negative == minus
            negative = negative if zeros else MODES[mode] is Rounding.DOWNWARD
            rule = f"the result is exactly {'-0' if negative else '+0'}"
    given = GivenNumber(formula, "", exact, negative if not exact else exact < 0, False, context.application)
    return parts_of_rounding(explained(given, fmt, mode, context.profile, context.modes, rule))


def _bits(count: Callable[[int, int], int], words: str) -> Explainer:
    def explain(context: OpContext) -> OpParts:
        (x,) = context.operands
        width = width_of(x.type)
        return OpParts(f"{count(x.known, width)} {words} in 0b{bits_of_integer(x.known, width)}")

    return explain


def _absi(context: OpContext) -> OpParts:
    (x,) = context.operands
    n, width = integer_of(x.type, x.known), width_of(x.type)
    if n < 0 and n == -(1 << width - 1):
        return OpParts(f"{integer_text(-n)} is outside of the type: it wraps to {integer_text(n)}", exact=Fraction(n))
    return OpParts(f"the magnitude of {integer_text(n)}", exact=Fraction(abs(n)))


def _ipowi(context: OpContext) -> OpParts:
    base, power = (integer_of(each.type, each.known) for each in context.operands)
    if power >= 0:
        return OpParts(f"{integer_text(base)} to the power {integer_text(power)}, modulo 2^{width_of(context.result)}")
    if not base:
        return OpParts("zero to a negative power divides by zero: undefined behaviour")
    if abs(base) == 1:
        return OpParts(f"{integer_text(base)} to any power is 1 or -1")
    return OpParts("a base beyond 1 to a negative power is a fraction, cut to 0")


EXACT_OPS: Mapping[str, tuple[Signature, Explainer]] = {
    **{f"math.{name}": (same(1), to_integral(mode)) for name, mode in DIRECTIONS.items()},
    "math.absf": (same(1), _absolute),
    "math.copysign": (same(2), _copysign),
    "math.clampf": (same(3), _clamp),
    "math.fma": (same(3), multiply_add()),
    **{name: (same(1), _classify(asked)) for name, asked in _CLASSES.items()},
    "math.absi": (same(1), _absi),
    "math.ctlz": (same(1), _bits(lambda x, width: width - x.bit_length(), "leading zeros")),
    "math.cttz": (same(1), _bits(lambda x, width: (x & -x).bit_length() - 1 if x else width, "trailing zeros")),
    "math.ctpop": (same(1), _bits(lambda x, width: x.bit_count(), "ones")),
    "math.ipowi": (same(2), _ipowi),
}
"""The signature and the explainer of each op."""
