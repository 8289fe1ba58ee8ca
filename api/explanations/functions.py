"""Explanations of elementary functions: how the exact result is known, and how it is rounded once.

Accounts of exact results come from `halfulp.fp_formats.reals.accounts`, which needs python-flint. It is imported when a
function is explained.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from halfulp.explanations.application import Application
from halfulp.explanations.enclosures import DIGITS, Enclosure, Turn
from halfulp.explanations.op_parts import Explainer, OpContext, OpParts, parts_of_rounding
from halfulp.explanations.op_types import OpTypes, Signature, same
from halfulp.explanations.records import GivenOperand
from halfulp.explanations.roundable import GivenNumber
from halfulp.explanations.rounding import explained
from halfulp.explanations.rules import default_nan, instead_of_infinity
from halfulp.explanations.special_operands import nan_operand_words
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.neighbours import midpoint_of, neighbours
from halfulp.fp_formats.spelling import decimal_text, signed_text
from halfulp.fp_formats.steps import ulp_at
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.math.families import row_of
from halfulp.interp.ir import types as ty
from halfulp.semantics.profile import Profile
from halfulp.texts import integer_of

if TYPE_CHECKING:
    from halfulp.fp_formats.reals.accounts import Account
    from halfulp.fp_formats.reals.enclosing import Special

_OF_INTEGERS = frozenset({"math.fpowi", "pown", "rootn"})
"""Functions whose second operand is an integer."""
I32 = ty.IntegerType(32)


def function_row(op: str) -> tuple[Signature, Explainer] | None:
    """Return the signature and the explainer of an elementary function; None for other ops."""
    definition = default_registry().lookup(op)
    name = None if definition is None else row_of(definition)
    if definition is None or name is None:
        return None
    signature = _with_integer() if definition.name in _OF_INTEGERS else same(len(definition.operands))
    return signature, _explainer(name)


def _with_integer() -> Signature:
    def types(op: str, type_: ty.Type | None, to: ty.Type | None) -> OpTypes:
        return same(2).types(op, type_, to)._replace(operands=(type_ or I32, I32))

    return Signature(types, casts=False)


def _explainer(name: str) -> Explainer:
    """Return the explainer of a row of the specification: how its result is known, and how that is rounded."""

    def explain(context: OpContext) -> OpParts:
        from halfulp.fp_formats.reals import accounts

        operands, fmt, application = context.operands, context.format, context.application
        formula = f"{application.name.removeprefix('math.')}({', '.join(operand.short for operand in operands)})"
        exactly = tuple(_exact_operand(operand, context.profile) for operand in operands)
        account = accounts.account_of(name, exactly, formula, fmt, _near_enough(fmt))
        rule: str | None
        if account is None:
            nan = next(each for each in operands if isinstance(each.type, ty.FloatType) and each.nan)
            given = GivenNumber(formula, "", None, False, False, application)
            rule = f"a NaN operand: {nan_operand_words(nan)}"
        else:
            given, rule = _given(formula, account, fmt, application)
        return parts_of_rounding(explained(given, fmt, context.mode, context.profile, context.modes, rule))

    return explain


def _exact_operand(operand: GivenOperand, profile: Profile) -> scalar.Unpacked:
    if isinstance(operand.type, ty.FloatType):
        return scalar.operand(operand.format, operand.known, profile.arithmetic)
    n = integer_of(operand.type, operand.known)
    return scalar.Unpacked(scalar.FINITE, int(n < 0), abs(n), 0)


def _near_enough(fmt: FloatFormat) -> Callable[[Fraction, Fraction], bool]:
    """Return a test for bounds that agree in all digits that an explanation shows."""

    def texts(number: Fraction) -> list[str]:
        place, ulp = neighbours(fmt, number), ulp_at(fmt, number)
        values = [scalar.value(fmt, code) for code in (place.below, place.above) if code is not None]
        points = [point for point in (*values, midpoint_of(fmt, place, ulp)) if point is not None]
        distances = [signed_text((point - number) / ulp) for point in points]
        relative = [signed_text((point - number) / abs(number)) for point in points if number]
        return [decimal_text(number, 2 * DIGITS), *distances, *relative]

    def enough(low: Fraction, high: Fraction) -> bool:
        close = low * high > 0 and abs(high - low) * (1 << 100) < abs(low)
        return low == high or (close and texts(low) == texts(high))

    return enough


def _given(
    formula: str, account: Account, fmt: FloatFormat, application: Application
) -> tuple[GivenNumber, str | None]:
    """Return the number to be rounded, and the rule where rounding does not decide."""
    if account.special is not None:
        return _special(formula, account.special, account.reason, fmt, application)
    low, high = account.low, account.high
    assert low is not None
    assert high is not None
    turns = tuple(Turn(each.precision, each.ball.str(20), each.cell is not None) for each in account.attempts)
    enclosure = None if low == high else Enclosure(low, high, account.grid, turns, account.crude)
    exact, reason = (low + high) / 2, account.reason
    return GivenNumber(formula, "", exact, exact < 0, False, application, enclosure=enclosure, reason=reason), None


def _special(
    formula: str, special: Special, reason: str, fmt: FloatFormat, application: Application
) -> tuple[GivenNumber, str | None]:
    kind, negative = special.kind.value, bool(special.sign)
    if kind == "zero":
        exact = GivenNumber(formula, "", Fraction(0), negative, False, application, reason=reason)
        return exact, f"the result is exactly {'-0' if negative else '+0'}" if fmt.has_negative_zero else None
    infinite = kind == "infinity"
    given = GivenNumber(formula, "", None, negative, infinite, application)
    if infinite and (fmt.signed or not negative):
        pole = "division by zero: " if special.signals else ""
        end = f"{pole}{'-' if negative else ''}infinity"
        return given, f"{reason}: {end}" + ("" if fmt.infinities else f"; {instead_of_infinity(fmt)}")
    return given, f"{reason}: {default_nan(fmt)}"
