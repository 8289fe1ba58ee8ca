"""Elementary functions on codes: the specification. The exact real result, rounded once.

Arguments are codes, results are `halfulp.fp_formats.scalar.Result`s, as in `scalar`.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.reals.enclosing import (
    BEYOND,
    SPECIALS,
    Ball,
    Cell,
    Grid,
    Huge,
    Kind,
    Near,
    Special,
    cell_near,
    cell_of_ball,
)
from halfulp.fp_formats.reals.functions import FUNCTIONS, Function
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO, ball_of, is_zero
from halfulp.fp_formats.scalar import (
    DIVIDE_BY_ZERO,
    FINITE,
    INFINITE,
    INVALID,
    QUIET_NAN,
    RNE,
    Result,
    Unpacked,
    number,
)

_GUARD = 3
"""Bits of the grid below the last bit of a result: one for midpoints, one for tininess after rounding, one to spare."""


def grid_of(fmt: FloatFormat) -> Grid:
    """Return the grid that decides each rounding to a format."""
    lowest = fmt.emin - fmt.mantissa_bits - _GUARD
    return lambda lead: max(lead - fmt.mantissa_bits - _GUARD, lowest)


def unary(
    name: str,
    src: FloatFormat,
    a: int,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    dst: FloatFormat | None = None,
) -> Result:
    """Return a function of a code of ``src``, rounded once to ``dst`` (default: the same format).

    Raises `halfulp.fp_formats.reals.enclosing.Unsettled` where no ball of bounded precision decides.
    """
    dst, x = dst or src, scalar.operand(src, a, policy)
    if x.kind >= QUIET_NAN:
        return scalar.encode_nan(dst, x, policy, scalar.invalid_if_signalling(x), src)
    return _rounded(dst, result_of(name, x, grid_of(dst)), rounding, policy)


def binary(
    name: str,
    fmt: FloatFormat,
    a: int,
    b: int,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    dst: FloatFormat | None = None,
) -> Result:
    """Return a function of two codes of ``fmt``, rounded once to ``dst`` (default: the same). Raises as `unary`."""
    return _of_two(
        name, fmt, scalar.operand(fmt, a, policy), scalar.operand(fmt, b, policy), rounding, policy, dst or fmt
    )


def of_integer(
    name: str,
    fmt: FloatFormat,
    a: int,
    n: int,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    dst: FloatFormat | None = None,
) -> Result:
    """Return ``powf`` (as pown) or ``rootn`` of a code and an integer, rounded once. Raises as `unary`."""
    return _of_two(name, fmt, scalar.operand(fmt, a, policy), integer_operand(n), rounding, policy, dst or fmt)


def integer_operand(n: int) -> Unpacked:
    """Return an integer as the second operand of `result_of_two`."""
    return Unpacked(FINITE, int(n < 0), abs(n), 0)


def _of_two(
    name: str, fmt: FloatFormat, x: Unpacked, y: Unpacked, rounding: int, policy: FloatPolicy, dst: FloatFormat
) -> Result:
    found = result_of_two(name, x, y, grid_of(dst))
    if found is None:
        nan = x if x.kind >= QUIET_NAN else y
        return scalar.encode_nan(dst, nan, policy, scalar.invalid_if_signalling(x, y), fmt)
    return _rounded(dst, found, rounding, policy)


# --- exact results ----------------------------------------------------------------------------------------------------

Exactly = Fraction | Special | Cell
"""An exact result: a rational number; a zero, an infinity or a NaN; or the cell of a grid with an irrational number."""


def result_of(name: str, x: Unpacked, grid: Grid) -> Exactly:
    """Return the exact result of a function of an operand that is not a NaN. Raises as `unary`."""
    function = FUNCTIONS[name]
    limit = _limit(function, x)
    if limit == "real":
        return cell_of_ball(lambda: function.ball(_at_limit(x)), grid)
    if limit is not None:
        return SPECIALS[limit] if limit in SPECIALS else Fraction(limit)
    argument = number(x)
    low, high = function.limits.domain
    if (low is not None and argument < low) or (high is not None and argument > high):
        return SPECIALS["nan"]
    known = function.far(argument)
    # Exact results of huge ones would not fit the memory.
    exact = None if isinstance(known, Huge) else function.exact(argument)
    return _found(exact, known, lambda: function.ball(ball_of(x)), grid)


def result_of_two(name: str, x: Unpacked, y: Unpacked, grid: Grid) -> Exactly | None:
    """Return the exact result of a function of two operands; None if it is the NaN of an operand. Raises as `unary`."""
    function = FUNCTIONS_OF_TWO[name]
    answer = function.special(x, y)
    if answer is None and max(x.kind, y.kind) >= QUIET_NAN:
        return None
    if answer is None:
        first, second = number(x), number(y)
        known = function.far(first, second)
        exact = None if isinstance(known, Huge) else function.exact(first, second)
        return _found(exact, known, lambda: function.ball(ball_of(x), ball_of(y)), grid)
    return cell_of_ball(answer, grid) if callable(answer) else answer


def _found(exact: Fraction | Special | None, known: Near | Huge | None, ball: Ball, grid: Grid) -> Exactly:
    """Return what is known of a result: its value, a cell next to a rational number, or the cell of a ball."""
    if exact is not None:
        return exact
    if isinstance(known, Huge):
        return Cell(known.sign, 1, BEYOND)
    cell = cell_near(known, grid) if known is not None else None
    return cell_of_ball(ball, grid) if cell is None else cell


def _rounded(dst: FloatFormat, found: Exactly, rounding: int, policy: FloatPolicy) -> Result:
    if isinstance(found, Special):
        return _of_special(dst, found, policy)
    if isinstance(found, Fraction):
        return scalar.from_fraction(dst, found, rounding, policy)
    # Half a cell further stands for every number within the cell: no rounding boundary lies there.
    return scalar.round_pack(dst, found.sign, 2 * found.floor + 1, found.exponent - 1, rounding, policy)


# --- limits -----------------------------------------------------------------------------------------------------------


def _limit(function: Function, x: Unpacked) -> str | None:
    limits = function.limits
    if x.kind == INFINITE:
        return limits.minus_infinity if x.sign else limits.plus_infinity
    if is_zero(x):
        return limits.minus_zero if x.sign else limits.plus_zero
    return None


def _at_limit(x: Unpacked) -> arb:
    if x.kind == INFINITE:
        return arb.neg_inf() if x.sign else arb.pos_inf()
    return arb(0)


def _of_special(dst: FloatFormat, special: Special, policy: FloatPolicy) -> Result:
    kind, sign, signals = special
    if kind is Kind.ZERO:
        return scalar.encode_zero(dst, sign, policy)
    if kind is Kind.NAN:
        return scalar.encode_nan(dst, None, policy, INVALID)
    if sign and not dst.signed:
        return scalar.encode_nan(dst, None, policy, INVALID)
    nanless = policy.divide_by_zero_nanless if signals else policy.infinity_to_nanless
    return scalar.encode_infinity(dst, sign, DIVIDE_BY_ZERO if signals else 0, nanless)
