"""The rules for special operands and exact zeros, and the exact results of arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from halfulp.explanations.records import GivenOperand
from halfulp.explanations.roundable import Found, GivenNumber
from halfulp.explanations.rules import default_nan, instead_of_infinity
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics.profile import Profile

RNE = Rounding.TO_NEAREST_EVEN
NAN, GENERATED, INFINITY, ZERO, FIRST, LAST = "nan", "generated", "infinity", "zero", "first", "last"
"""The results of special operands: the first NaN operand, a new NaN, an infinity, a zero, or one of the operands."""
Test = Callable[[GivenOperand, GivenOperand], bool]


def one_nan(x: GivenOperand, y: GivenOperand) -> bool:
    """Tell whether an operand is a NaN."""
    return x.nan or y.nan


def _one_infinite(x: GivenOperand, y: GivenOperand) -> bool:
    return x.infinite or y.infinite


def _both_infinite(x: GivenOperand, y: GivenOperand) -> bool:
    return x.infinite and y.infinite


def _sum_rules(difference: bool) -> tuple[tuple[Test, str, str], ...]:
    def opposite(x: GivenOperand, y: GivenOperand) -> bool:
        return _both_infinite(x, y) and (x.negative != y.negative) != difference

    what = "the difference of infinities of one sign" if difference else "the sum of infinities of different signs"
    return ((opposite, f"{what} is not a number", GENERATED), (_one_infinite, "an infinite operand decides", INFINITY))


SPECIAL: Mapping[str, tuple[tuple[Test, str, str], ...]] = {
    "add": _sum_rules(difference=False),
    "subtract": _sum_rules(difference=True),
    "multiply": (
        (
            lambda x, y: (x.infinite and y.zero) or (x.zero and y.infinite),
            "zero times infinity is not a number",
            GENERATED,
        ),
        (_one_infinite, "an infinite operand decides", INFINITY),
    ),
    "divide": (
        (_both_infinite, "infinity over infinity is not a number", GENERATED),
        (lambda x, y: x.zero and y.zero, "0/0 is not a number", GENERATED),
        (lambda x, y: y.zero and not x.infinite, "division by zero", INFINITY),
        (lambda x, y: x.infinite, "an infinite dividend decides", INFINITY),
        (lambda x, y: y.infinite, "a finite number over infinity", ZERO),
    ),
    "remainder": (
        (lambda x, y: x.infinite, "infinity has no remainder", GENERATED),
        (lambda x, y: y.zero, "a division by zero has no remainder", GENERATED),
        (lambda x, y: y.infinite, "an infinite divisor leaves the dividend", FIRST),
    ),
}
"""The special cases of each operation: the first that holds decides. A NaN operand comes before all of them."""


def _fmod(x: Fraction, y: Fraction) -> Fraction:
    rest = abs(x) % abs(y)
    return -rest if x < 0 else rest


EXACT: Mapping[str, tuple[str, Callable[[Fraction, Fraction], Fraction]]] = {
    "add": ("+", lambda x, y: x + y),
    "subtract": ("-", lambda x, y: x - y),
    "multiply": ("*", lambda x, y: x * y),
    "divide": ("/", lambda x, y: x / y),
    "remainder": ("rem", _fmod),
}


def nan_operand_words(nan: GivenOperand) -> str:
    """Say what a NaN operand gives."""
    fmt = nan.format
    if fmt.is_invalid(nan.known):
        return f"an invalid encoding, so {default_nan(fmt)}"
    if fmt.quiet_bit:
        return "the first NaN operand, quieted, with its sign and payload"
    return "the first NaN operand, with its sign" if fmt.nan_has_payload and fmt.signed else f"the NaN of {fmt.name}"


def special_rule(
    operation: str, x: GivenOperand, y: GivenOperand, fmt: FloatFormat | None = None
) -> tuple[str, str] | None:
    """Return the rule for special operands of a rounded operation, and the kind of its result; None where the exact
    result is rounded. ``fmt``: the format of the result, if it is not that of the first operand.
    """
    fmt = fmt or x.format
    if one_nan(x, y):
        return f"a NaN operand: {nan_operand_words(x if x.nan else y)}", NAN
    for holds, words, gives in SPECIAL[operation]:
        if holds(x, y):
            ends = {
                GENERATED: default_nan(fmt),
                INFINITY: instead_of_infinity(fmt),
                ZERO: "zero" if fmt.zero else f"zero, and {fmt.name} has none: the smallest value",
                FIRST: "the dividend itself",
            }
            return f"{words}: {ends[gives]}", gives
    return None


def _zero_is_negative(operation: str, x: GivenOperand, y: GivenOperand, mode: Rounding) -> bool:
    """Return the sign of an exact zero (IEEE 754, 6.3)."""
    if operation in ("multiply", "divide"):
        return x.negative != y.negative
    if operation == "remainder":
        return x.negative
    second = y.negative != (operation == "subtract")
    return x.negative if x.negative == second and x.zero and y.zero else mode is Rounding.DOWNWARD


def _zero_rule(operation: str, x: GivenOperand, y: GivenOperand, negative: bool, fmt: FloatFormat) -> str | None:
    """Say how an exact zero gets its sign, in a format that has both zeros."""
    if not fmt.has_negative_zero:
        return None
    sign = "-0" if negative else "+0"
    if operation in ("multiply", "divide"):
        return f"the result is exactly zero, its sign the product of the signs: {sign}"
    if operation == "remainder":
        return f"the result is exactly zero, with the sign of the dividend: {sign}"
    if x.zero and y.zero and (x.negative != y.negative) == (operation == "subtract"):
        return f"zeros of one sign keep it: {sign}"
    return f"the result is exactly zero: +0, but -0 in downward: {sign}"


Compute = Callable[[FloatFormat, Rounding, Profile], Found]


def rounded_operation(
    operation: str,
    x: GivenOperand,
    y: GivenOperand,
    compute: Compute,
    mode: Rounding,
    fmt: FloatFormat | None = None,
) -> tuple[GivenNumber, str | None]:
    """Return the operation to explain: what is rounded, and the rule where rounding does not decide. ``fmt``: as for
    `special_rule`.
    """
    sign, exactly = EXACT[operation]
    formula = f"{x.short} {sign} {y.short}"
    special = special_rule(operation, x, y, fmt)
    if special is not None:
        return GivenNumber(formula, "", None, False, False, compute), special[0]
    assert x.value is not None
    assert y.value is not None
    exact = exactly(x.value, y.value)
    negative = exact < 0 if exact else _zero_is_negative(operation, x, y, mode)
    rule = None if exact else _zero_rule(operation, x, y, negative, fmt or x.format)
    return GivenNumber(formula, "", exact, negative, False, compute), rule
