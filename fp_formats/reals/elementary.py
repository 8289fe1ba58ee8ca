"""Elementary functions on codes, the specification: the exact real result, rounded once.

Arguments are codes, and results are `halfulp.fp_formats.scalar.Result`s.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from flint import arb

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.reals import functions
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO, FunctionOfTwo, ball_of, is_zero

_GUARD = 3
"""Bits of the grid below the last bit of a result: one for midpoints, one for tininess after rounding, one to spare."""


def grid_of(fmt: FloatFormat) -> functions.Grid:
    """Return the grid that determines each rounding to a format: a function from the exponent of a number's leading bit
    to the exponent of the grid's spacing at this number. All numbers between two neighbouring points of the grid round
    alike.
    """
    lowest = fmt.emin - fmt.mantissa_bits - _GUARD
    return lambda lead: max(lead - fmt.mantissa_bits - _GUARD, lowest)


def unary(
    name: str,
    src: FloatFormat,
    a: int,
    rounding: int = scalar.RNE,
    policy: FloatPolicy = SPEC,
    dst: FloatFormat | None = None,
) -> scalar.Result:
    """Return the result of a function for a code of ``src``, rounded once to ``dst`` (default: the same format).

    Raises `halfulp.fp_formats.reals.functions.Unsettled` if no ball of bounded precision determines a result.
    """
    dst, x = dst or src, scalar.operand(src, a, policy)
    if x.kind >= scalar.QUIET_NAN:
        return scalar.encode_nan(dst, x, policy, scalar.invalid_if_signalling(x), src)
    return round_exactly(dst, result_of(name, x, grid_of(dst)), rounding, policy)


def binary(
    name: str,
    fmt: FloatFormat,
    a: int,
    b: int,
    rounding: int = scalar.RNE,
    policy: FloatPolicy = SPEC,
    dst: FloatFormat | None = None,
) -> scalar.Result:
    """Return the result of a function for two codes of ``fmt``, rounded once to ``dst`` (default: the same). Raises as
    `unary`.
    """
    return _of_two(
        name, fmt, scalar.operand(fmt, a, policy), scalar.operand(fmt, b, policy), rounding, policy, dst or fmt
    )


def of_integer(
    name: str,
    fmt: FloatFormat,
    a: int,
    n: int,
    rounding: int = scalar.RNE,
    policy: FloatPolicy = SPEC,
    dst: FloatFormat | None = None,
) -> scalar.Result:
    """Return ``powf`` (IEEE's pown) or ``rootn`` of a code and an integer, rounded once. Raises as `unary`."""
    return _of_two(name, fmt, scalar.operand(fmt, a, policy), integer_operand(n), rounding, policy, dst or fmt)


def integer_operand(n: int) -> scalar.Unpacked:
    """Return an integer as an unpacked number, for the second operand of `result_of_two`."""
    return scalar.Unpacked(scalar.FINITE, int(n < 0), abs(n), 0)


def _of_two(
    name: str,
    fmt: FloatFormat,
    x: scalar.Unpacked,
    y: scalar.Unpacked,
    rounding: int,
    policy: FloatPolicy,
    dst: FloatFormat,
) -> scalar.Result:
    found = result_of_two(name, x, y, grid_of(dst))
    if found is None:
        nan = scalar.chosen_nan(policy, x, y)
        return scalar.encode_nan(dst, nan, policy, scalar.invalid_if_signalling(x, y), fmt)
    return round_exactly(dst, found, rounding, policy)


# --- exact results ----------------------------------------------------------------------------------------------------

Exactly = Fraction | functions.Special | functions.Cell
"""An exact result: a rational number; a zero, an infinity or a NaN; or the cell of a grid with an irrational number."""


def result_of(name: str, x: scalar.Unpacked, grid: functions.Grid) -> Exactly:
    """Return the exact result of a function of an operand that is not a NaN. Raises as `unary`."""
    return _found(known_of_one(functions.FUNCTIONS[name], x), grid)


def result_of_two(name: str, x: scalar.Unpacked, y: scalar.Unpacked, grid: functions.Grid) -> Exactly | None:
    """Return the exact result of a function of two operands; None if it is the NaN of an operand. Raises as `unary`."""
    known = known_of_two(FUNCTIONS_OF_TWO[name], x, y)
    return None if known is None else _found(known, grid)


class Enclosure(NamedTuple):
    """What is known about a result: its value, a rational number next to it, or a ball that contains it.

    The first of ``answer``, ``far`` and ``ball`` that is not None is used. ``rule``: the special case of the operands
    in words, if there is one.
    """

    answer: Fraction | functions.Special | None
    far: functions.Near | functions.Huge | None = None
    ball: functions.Ball | None = None
    rule: str = ""


LIMIT, OUTSIDE = "the limit of the function there", "outside of the domain"
"""The special cases of functions of one argument."""


def known_of_one(function: functions.Function, x: scalar.Unpacked) -> Enclosure:
    """Return what is known about a function of one operand that is not a NaN."""
    limits = function.limits
    limit = _limit(function, x)
    if limit == "real":
        return Enclosure(None, None, lambda: function.ball(_at_limit(x)), LIMIT)
    if limit is not None:
        return Enclosure(functions.SPECIALS[limit] if limit in functions.SPECIALS else Fraction(limit), rule=LIMIT)
    argument = scalar.number(x)
    low, high = limits.domain
    if (low is not None and argument < low) or (high is not None and argument > high):
        return Enclosure(functions.SPECIALS["nan"], rule=OUTSIDE)
    far = function.far(argument)
    # Exact results of huge ones would not fit the memory.
    exact = None if isinstance(far, functions.Huge) else function.exact(argument)
    return Enclosure(exact, far, lambda: function.ball(ball_of(x)))


def known_of_two(function: FunctionOfTwo, x: scalar.Unpacked, y: scalar.Unpacked) -> Enclosure | None:
    """Return an enclosure of f(x, y), or None if a NaN operand becomes the result."""
    case = function.special(x, y)
    if case is not None:
        answer = case.answer(x, y)
        if answer is None:
            return None
        return Enclosure(None, None, answer, case.words) if callable(answer) else Enclosure(answer, rule=case.words)
    first, second = scalar.number(x), scalar.number(y)
    far = function.far(first, second)
    exact = None if isinstance(far, functions.Huge) else function.exact(first, second)
    return Enclosure(exact, far, lambda: function.ball(ball_of(x), ball_of(y)))


def _found(known: Enclosure, grid: functions.Grid) -> Exactly:
    """Return the result as a value, as a cell next to a rational number, or as the cell of a ball."""
    answer, far, ball, _ = known
    if answer is not None:
        return answer
    if isinstance(far, functions.Huge):
        return functions.Cell(far.sign, 1, functions.BEYOND)
    cell = functions.cell_near(far, grid) if far is not None else None
    if cell is None:
        assert ball is not None
        cell = functions.cell_of_ball(ball, grid)
    return cell


def round_exactly(dst: FloatFormat, found: Exactly, rounding: int, policy: FloatPolicy) -> scalar.Result:
    """Round an exact result once to a code of ``dst``."""
    if isinstance(found, functions.Special):
        return _of_special(dst, found, policy)
    if isinstance(found, Fraction):
        # As a result of arithmetic: ``arithmetic_overflow`` is about it, not ``conversion_overflow``.
        sign = int(found < 0)
        return scalar.quotient(dst, sign, abs(found.numerator), found.denominator, 0, rounding, policy, None)
    # Half a cell further stands for every number within the cell: no rounding boundary lies there.
    return scalar.round_pack(dst, found.sign, 2 * found.floor + 1, found.exponent - 1, rounding, policy)


# --- limits -----------------------------------------------------------------------------------------------------------


def _limit(function: functions.Function, x: scalar.Unpacked) -> str | None:
    limits = function.limits
    if x.kind == scalar.INFINITE:
        return limits.minus_infinity if x.sign else limits.plus_infinity
    if is_zero(x):
        return limits.minus_zero if x.sign else limits.plus_zero
    return None


def _at_limit(x: scalar.Unpacked) -> arb:
    if x.kind == scalar.INFINITE:
        return arb.neg_inf() if x.sign else arb.pos_inf()
    return arb(0)


def _of_special(dst: FloatFormat, special: functions.Special, policy: FloatPolicy) -> scalar.Result:
    kind, sign, signals = special
    if kind is functions.Kind.ZERO:
        return scalar.encode_zero(dst, sign, policy)
    if kind is functions.Kind.NAN:
        return scalar.encode_nan(dst, None, policy, scalar.INVALID)
    if sign and not dst.signed:
        return scalar.encode_nan(dst, None, policy, scalar.INVALID)
    nanless = policy.divide_by_zero_nanless if signals else policy.infinity_to_nanless
    saturate = policy.arithmetic_saturation(dst).infinities
    flags = scalar.DIVIDE_BY_ZERO if signals else scalar.OVERFLOW | scalar.INEXACT if saturate else 0
    return scalar.encode_infinity(dst, sign, flags, nanless, saturate)
