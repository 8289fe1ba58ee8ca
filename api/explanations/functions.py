"""Explanations of elementary functions: how the exact result is known, and how it is rounded once.

Results come from the specification, `halfulp.fp_formats.reals.elementary`, the account beside them from
`halfulp.fp_formats.reals.accounts`. Both need python-flint, which is imported when a function is explained.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from halfulp.explanations.enclosures import DIGITS, Enclosure, Turn
from halfulp.explanations.given import MODES, Found, GivenNumber, found
from halfulp.explanations.op_parts import OpParts, parts_of_rounding
from halfulp.explanations.op_types import OpTypes, Signature, same
from halfulp.explanations.records import GivenOperand
from halfulp.explanations.rounding import explained
from halfulp.explanations.rules import default_nan, instead_of_infinity
from halfulp.explanations.special_operands import nan_operand_words
from halfulp.explanations.texts import integer_of
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.neighbours import midpoint_of, neighbours
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.spelling import decimal_text, signed_text
from halfulp.fp_formats.steps import ulp_at
from halfulp.interp.ir import types as ty
from halfulp.semantics.profile import Profile

if TYPE_CHECKING:
    from halfulp.fp_formats.reals.accounts import Account
    from halfulp.fp_formats.reals.enclosing import Special


class FunctionApplication:
    """A function on given codes, computed by the specification, in any mode and profile."""

    has_modes = True

    def __init__(self, op: str, operands: Sequence[GivenOperand], mode: str) -> None:
        function = function_named(op)
        assert function is not None
        self.op, self.name = op, function
        self.fixed = mode
        self.result = operands[0].type
        self.results = (self.result,)
        self._format = operands[0].format
        self._operands = tuple(operands)

    def __call__(self, fmt: FloatFormat | None, mode: Rounding, profile: Profile) -> Found:
        """Return what the function gives under a profile in a rounding mode, with its flags."""
        from halfulp.fp_formats.reals import elementary

        how: dict[str, Any] = {"rounding": mode, "policy": profile.arithmetic}
        x, *others = self._operands
        if not others:
            return found(elementary.unary(self.name, self._format, x.known, **how))
        (y,) = others
        if isinstance(y.type, ty.FloatType):
            return found(elementary.binary(self.name, self._format, x.known, y.known, **how))
        return found(elementary.of_integer(self.name, self._format, x.known, integer_of(y.type, y.known), **how))

    def open(self, result: int | None, profile: Profile) -> str:
        """Say what the language leaves unspecified in the result: the bits of a NaN."""
        return "the language allows any NaN here" if result is not None and self._format.is_nan(result) else ""


# --- names and signatures ---------------------------------------------------------------------------------------------

_OF_INTEGERS: Mapping[str, str] = {"fpowi": "powf", "pown": "powf", "rootn": "rootn"}
"""Functions whose second operand is an integer, by the rows of the specification."""


def function_named(op: str) -> str | None:
    """Return the row of a function that is named alone or as an op of math; None for other ops."""
    from halfulp.fp_formats.reals import accounts

    bare = op.removeprefix("math.")
    name = _OF_INTEGERS.get(bare, bare)
    return name if accounts.has_row(name) else None


def names_of_operands(op: str) -> tuple[str, ...]:
    """Return the names of a function's operands."""
    from halfulp.fp_formats.reals import accounts

    bare = op.removeprefix("math.")
    return ("x", "n") if bare in _OF_INTEGERS else accounts.names_of_operands(bare)


def signature_of_function(op: str) -> Signature:
    """Return the signature of a function: its operands have one type, which is that of the result; or the second one is
    an integer of 32 bits.
    """
    names = names_of_operands(op)

    def types(given: str, type_: ty.Type | None, to: ty.Type | None) -> OpTypes:
        found = same(len(names)).types(given, type_, to)
        return found._replace(operands=(found.operands[0], _I32)) if names[-1] == "n" else found

    return Signature(types, casts=False)


_I32 = ty.IntegerType(32)

# --- the account of a result ------------------------------------------------------------------------------------------


def function_parts(
    application: FunctionApplication, operands: Sequence[GivenOperand], profile: Profile, others: bool
) -> OpParts:
    """Explain a function of operands that are not poison: how its result is known, and its rounding."""
    from halfulp.fp_formats.reals import accounts

    fmt, mode = operands[0].format, application.fixed
    formula = f"{application.op.removeprefix('math.')}({', '.join(operand.short for operand in operands)})"
    exact_operands = tuple(_exact_operand(operand, profile) for operand in operands)
    rule: str | None
    account = accounts.account_of(application.name, exact_operands, formula, fmt, _near_enough(fmt))
    if account is None:
        nan = next(operand for operand in operands if isinstance(operand.type, ty.FloatType) and operand.nan)
        given, rule = (
            GivenNumber(formula, "", None, False, False, application),
            f"a NaN operand: {nan_operand_words(nan)}",
        )
    else:
        given, rule = _given(formula, account, fmt, application)
    return parts_of_rounding(explained(given, fmt, mode, profile, MODES if others else (), rule, others))


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
        return low == high or (low * high > 0 and abs(high - low) * (1 << 100) < abs(low) and texts(low) == texts(high))

    return enough


def _given(
    formula: str, account: Account, fmt: FloatFormat, application: FunctionApplication
) -> tuple[GivenNumber, str | None]:
    """Return the number to be rounded, and the rule where rounding does not decide."""
    if account.special is not None:
        return _special(formula, account.special, account.reason, fmt, application)
    low, high = account.low, account.high
    assert low is not None
    assert high is not None
    turns = tuple(Turn(each.precision, each.ball.str(20), each.cell is not None) for each in account.attempts)
    enclosure = None if low == high else Enclosure(low, high, account.grid, turns, account.crude)
    exact = (low + high) / 2
    return GivenNumber(
        formula, "", exact, exact < 0, False, application, enclosure=enclosure, reason=account.reason
    ), None  # fmt: skip


def _special(
    formula: str, special: Special, reason: str, fmt: FloatFormat, application: FunctionApplication
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
