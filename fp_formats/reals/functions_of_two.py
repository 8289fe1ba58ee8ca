"""The elementary functions of two arguments: what is known of each pair of operands, and the ball of the rest.

The special cases are those of IEEE 754-2019, clause 9.2.1, and of C23, Annex F (hypot of an infinity and a NaN).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from flint import arb

from halfulp.fp_formats.reals import rational_results as rational
from halfulp.fp_formats.reals.enclosing import (
    BEYOND,
    SPECIALS,
    Huge,
    Kind,
    Near,
    Special,
    bits_of_precision,
    exact_ball,
)
from halfulp.fp_formats.reals.functions import exponent_of
from halfulp.fp_formats.scalar import FINITE, INFINITE, QUIET_NAN, Unpacked, number

Answer = Special | Fraction | Callable[[], arb] | None
"""A result that needs no operand, or a ball of a constant; None for operands that are not special."""

_NOT_A_NUMBER = SPECIALS["nan"]


@dataclass(frozen=True)
class FunctionOfTwo:
    """A function of two exact operands.

    ``special``: the answer for zeros, infinities and NaNs, and for operands that no real result belongs to; for NaNs
    only where the result is not a NaN. ``ball``, ``exact``, ``far``: as of a function of one argument, for operands
    that are not special.
    """

    name: str
    ball: Callable[[arb, arb], arb]
    special: Callable[[Unpacked, Unpacked], Answer]
    exact: Callable[[Fraction, Fraction], Fraction | None]
    far: Callable[[Fraction, Fraction], Near | Huge | None]


def is_zero(x: Unpacked) -> bool:
    """Tell whether an operand is a zero."""
    return x.kind == FINITE and not x.significand


def ball_of(x: Unpacked) -> arb:
    """Return a finite operand as an exact ball."""
    return exact_ball(-x.significand if x.sign else x.significand, x.exponent)


# --- atan2 ------------------------------------------------------------------------------------------------------------


def _quarters(count: int, sign: int) -> Callable[[], arb]:
    return lambda: arb.pi() * (-count if sign else count) / 4


def _angle(y: Unpacked, x: Unpacked) -> Answer:
    """Return the angle of a point on an axis or at infinity: a zero, or a count of quarters of pi."""
    if max(x.kind, y.kind) >= QUIET_NAN:
        return None
    if y.kind == INFINITE and x.kind == INFINITE:
        return _quarters(3 if x.sign else 1, y.sign)
    if is_zero(y) or x.kind == INFINITE:
        return _quarters(4, y.sign) if x.sign else Special(Kind.ZERO, y.sign)
    return _quarters(2, y.sign) if y.kind == INFINITE or is_zero(x) else None


def _angle_far(y: Fraction, x: Fraction) -> Near | None:
    """Close to the positive axis the angle is a little less than y / x."""
    if x < 0:
        return None
    ratio = y / x
    exponent = exponent_of(ratio)
    return Near(ratio, -1 if ratio > 0 else 1, 3 * exponent) if exponent < -4 else None


# --- hypot ------------------------------------------------------------------------------------------------------------


def _distance(x: Unpacked, y: Unpacked) -> Answer:
    if INFINITE in (x.kind, y.kind):
        return Special(Kind.INFINITE)
    if max(x.kind, y.kind) >= QUIET_NAN:
        return None
    if is_zero(x) and is_zero(y):
        return Special(Kind.ZERO)
    return abs(number(y)) if is_zero(x) else abs(number(x)) if is_zero(y) else None


def _distance_far(x: Fraction, y: Fraction) -> Near | None:
    """Next to a much longer side, the hypotenuse is longer by at most y**2 / (2 * x)."""
    long, short = max(abs(x), abs(y)), min(abs(x), abs(y))
    wide, narrow = exponent_of(long), exponent_of(short)
    return Near(long, 1, 2 * narrow - wide + 2) if wide - narrow > 32 else None


def _exact_distance(x: Fraction, y: Fraction) -> Fraction | None:
    # Where one side is that much longer, a rational hypotenuse has more bits than any grid.
    return None if abs(exponent_of(x) - exponent_of(y)) > 512 else rational.root(x * x + y * y, 2)


# --- powers -----------------------------------------------------------------------------------------------------------


def _power(x: Unpacked, y: Unpacked) -> Answer:
    if is_zero(y) or (x.kind == FINITE and x.significand and number(x) == 1):
        return Fraction(1)
    if max(x.kind, y.kind) >= QUIET_NAN:
        return None
    if y.kind == INFINITE:
        size = 2 if x.kind == INFINITE else abs(number(x))
        if size == 1:
            return Fraction(1)
        return Special(Kind.INFINITE) if (size > 1) == (not y.sign) else Special(Kind.ZERO)
    n = number(y)
    odd = n.denominator == 1 and n.numerator % 2 == 1
    sign = x.sign if odd else 0
    if is_zero(x):
        return Special(Kind.INFINITE, sign, True) if n < 0 else Special(Kind.ZERO, sign)
    if x.kind == INFINITE:
        return Special(Kind.ZERO if n < 0 else Kind.INFINITE, sign)
    return _NOT_A_NUMBER if x.sign and n.denominator != 1 else None


def _power_sign(x: Fraction, y: Fraction) -> int:
    return -1 if x < 0 and y.numerator % 2 else 1


def _exact_power(x: Fraction, y: Fraction) -> Fraction | None:
    found = rational.power(abs(x), y)
    return None if found is None else _power_sign(x, y) * found


def _power_far(x: Fraction, y: Fraction) -> Near | Huge | None:
    sign = _power_sign(x, y)
    if abs(x) == 1:
        return None
    grows = (abs(x) > 1) == (y > 0)  # exactly: the ball may hold 0
    with bits_of_precision(64):
        logarithm = (arb(x.numerator) / arb(x.denominator)).__abs__().log() / arb.const_log2()
        exponent = logarithm * arb(y.numerator) / arb(y.denominator)
        if exponent.abs_lower() > BEYOND:
            return Huge(int(sign < 0)) if grows else Near(Fraction(0), sign, -BEYOND)
        size = exponent.abs_upper()
    if size < arb((1, -16)):  # 2**t lies between 1 and 1 + t
        significand, power = size.man_exp()
        distance = int(significand).bit_length() + int(power)
        return Near(Fraction(sign), sign if grows else -sign, distance)
    return None


def _power_ball(x: arb, y: arb) -> arb:
    magnitude = (y * abs(x).log()).exp()
    odd = y.is_integer() and not (y / 2).is_integer()
    return -magnitude if x < 0 and odd else magnitude


def _root(x: Unpacked, n: Unpacked) -> Answer:
    """Return the special roots; the degree is an integer."""
    if x.kind >= QUIET_NAN and not is_zero(n):
        return None
    if is_zero(n):
        return _NOT_A_NUMBER
    odd = number(n).numerator % 2 == 1
    sign = x.sign if odd else 0
    if is_zero(x):
        return Special(Kind.INFINITE, sign, True) if n.sign else Special(Kind.ZERO, sign)
    if x.sign and not odd:
        return _NOT_A_NUMBER
    if x.kind == INFINITE:
        return Special(Kind.ZERO if n.sign else Kind.INFINITE, sign)
    return None


def _exact_root(x: Fraction, n: Fraction) -> Fraction | None:
    return rational.root(x if n > 0 else 1 / x, abs(n.numerator))


def _root_ball(x: arb, n: arb) -> arb:
    magnitude = (abs(x).log() / n).exp()
    return -magnitude if x < 0 else magnitude


def _root_far(x: Fraction, n: Fraction) -> Near | Huge | None:
    near = _power_far(abs(x), 1 / n)
    return near._replace(value=-near.value, direction=-near.direction) if isinstance(near, Near) and x < 0 else near


_ROWS = (
    FunctionOfTwo("atan2", arb.atan2, _angle, lambda y, x: None, _angle_far),
    FunctionOfTwo("hypot", lambda x, y: (x * x + y * y).sqrt(), _distance, _exact_distance, _distance_far),
    FunctionOfTwo("powf", _power_ball, _power, _exact_power, _power_far),
    FunctionOfTwo("rootn", _root_ball, _root, _exact_root, _root_far),
)

FUNCTIONS_OF_TWO: Mapping[str, FunctionOfTwo] = MappingProxyType({row.name: row for row in _ROWS})
"""The functions of two arguments, by name. ``powf`` of an integer is pown and fpowi; the degree of ``rootn`` is one."""
