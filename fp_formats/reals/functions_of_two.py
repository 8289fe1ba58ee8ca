"""The elementary functions of two arguments: their special cases, what is known about results, and the balls.

The special cases are those of IEEE 754-2019, clause 9.2.1; for hypot of an infinity and a NaN, that of C23, Annex F.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

import flint
from flint import acb, arb

from halfulp.fp_formats.reals import functions as rational
from halfulp.fp_formats.reals.functions import (
    BEYOND,
    FACTORS,
    HALF,
    LINDEMANN,
    SPECIALS,
    UNPROVED,
    Huge,
    Kind,
    Near,
    Special,
    bits_of_precision,
    exact_ball,
    exponent_of,
)
from halfulp.fp_formats.scalar import FINITE, INFINITE, QUIET_NAN, SIGNALLING_NAN, Unpacked, number

Answer = Special | Fraction | Callable[[], arb] | None
"""A result that needs no operand, or a ball of a constant; None for operands that are not special."""


def _always(answer: Answer) -> Callable[[Unpacked, Unpacked], Answer]:
    return lambda x, y: answer


_NOT_A_NUMBER = _always(SPECIALS["nan"])


class SpecialCase(NamedTuple):
    """Operands that are zeros, infinities or NaNs, or that have no real result: the condition, the result, and the rule
    in words. A result of None means that the NaN operand is the result.
    """

    holds: Callable[[Unpacked, Unpacked], bool]
    answer: Callable[[Unpacked, Unpacked], Answer]
    words: str


@dataclass(frozen=True)
class FunctionOfTwo:
    """A function of two exact operands.

    ``specials``: the special cases; the first that holds decides. ``ball``, ``exact``, ``far``, ``formula``,
    ``rational``, ``proof``: as for a function of one argument, for operands that are not special.
    """

    name: str
    operands: tuple[str, str]
    ball: Callable[[arb, arb], arb]
    specials: tuple[SpecialCase, ...]
    exact: Callable[[Fraction, Fraction], Fraction | None]
    far: Callable[[Fraction, Fraction], Near | Huge | None]
    formula: str
    rational: str
    proof: str

    def special(self, x: Unpacked, y: Unpacked) -> SpecialCase | None:
        """Return the special case of two operands; None if the function of their values is rounded."""
        return next((case for case in self.specials if case.holds(x, y)), None)


def is_zero(x: Unpacked) -> bool:
    """Tell whether an operand is a zero."""
    return x.kind == FINITE and not x.significand


def ball_of(x: Unpacked) -> arb:
    """Return a finite operand as an exact ball."""
    return exact_ball(-x.significand if x.sign else x.significand, x.exponent)


# --- atan2 ------------------------------------------------------------------------------------------------------------


def _quarters(count: int, sign: int) -> Callable[[], arb]:
    return lambda: arb.pi() * (-count if sign else count) / 4


def _one_nan(x: Unpacked, y: Unpacked) -> bool:
    return x.kind >= QUIET_NAN or y.kind >= QUIET_NAN


_NAN_OPERAND = SpecialCase(_one_nan, _always(None), "a NaN operand gives a NaN")

_SIGNALLING = SpecialCase(
    lambda x, y: SIGNALLING_NAN in (x.kind, y.kind), _always(None), "a signalling NaN operand gives a NaN"
)

_ANGLES = (
    _NAN_OPERAND,
    SpecialCase(
        lambda y, x: x.kind == INFINITE and y.kind == INFINITE,
        lambda y, x: _quarters(3 if x.sign else 1, y.sign),
        "both operands are infinite: pi/4 if x is positive, 3*pi/4 if x is negative, with the sign of y",
    ),
    SpecialCase(
        lambda y, x: (is_zero(y) or x.kind == INFINITE) and not x.sign,
        lambda y, x: Special(Kind.ZERO, y.sign),
        "y is zero or x infinite, and the sign of x is positive: zero with the sign of y",
    ),
    SpecialCase(
        lambda y, x: is_zero(y) or x.kind == INFINITE,
        lambda y, x: _quarters(4, y.sign),
        "y is zero or x infinite, and the sign of x is negative: pi with the sign of y",
    ),
    SpecialCase(
        lambda y, x: y.kind == INFINITE or is_zero(x),
        lambda y, x: _quarters(2, y.sign),
        "y is infinite or x zero: pi/2 with the sign of y",
    ),
)


def _angle_far(y: Fraction, x: Fraction) -> Near | None:
    """Return what is known about the angle close to the positive axis: it is a little less than y / x."""
    if x < 0:
        return None
    ratio = y / x
    exponent = exponent_of(ratio)
    return Near(ratio, -1 if ratio > 0 else 1, 3 * exponent) if exponent < -4 else None


# --- hypot ------------------------------------------------------------------------------------------------------------


_DISTANCES = (
    _SIGNALLING,
    SpecialCase(
        lambda x, y: INFINITE in (x.kind, y.kind),
        _always(Special(Kind.INFINITE)),
        "an infinite operand gives infinity, even beside a quiet NaN",
    ),
    _NAN_OPERAND,
    SpecialCase(lambda x, y: is_zero(x) and is_zero(y), _always(Special(Kind.ZERO)), "both operands are zero: +0"),
    SpecialCase(
        lambda x, y: is_zero(x) or is_zero(y),
        lambda x, y: abs(number(y)) if is_zero(x) else abs(number(x)),
        "one operand is zero: the magnitude of the other",
    ),
)


def _distance_far(x: Fraction, y: Fraction) -> Near | None:
    """Return what is known about the hypotenuse next to a much longer side: it is longer by at most y**2 / (2 * x)."""
    long, short = max(abs(x), abs(y)), min(abs(x), abs(y))
    wide, narrow = exponent_of(long), exponent_of(short)
    return Near(long, 1, 2 * narrow - wide + 2) if wide - narrow > 32 else None


def _exact_distance(x: Fraction, y: Fraction) -> Fraction | None:
    # Where one side is that much longer, a rational hypotenuse has more bits than any grid.
    return None if abs(exponent_of(x) - exponent_of(y)) > 512 else rational.root(x * x + y * y, 2)


# --- powers -----------------------------------------------------------------------------------------------------------


def _is_odd(x: Unpacked) -> bool:
    return x.kind == FINITE and number(x).denominator == 1 and number(x).numerator % 2 == 1


def _infinite_power(above: bool) -> Callable[[Unpacked, Unpacked], bool]:
    """Return the test for an infinite exponent with which the power grows without limit (``above``), or tends to 0."""

    def holds(x: Unpacked, y: Unpacked) -> bool:
        return y.kind == INFINITE and ((x.kind == INFINITE or abs(number(x)) > 1) != bool(y.sign)) == above

    return holds


def _sign_of_power(x: Unpacked, y: Unpacked) -> int:
    return x.sign if _is_odd(y) else 0


_POWERS = (
    _SIGNALLING,
    SpecialCase(
        lambda x, y: is_zero(y) or (x.kind == FINITE and bool(x.significand) and number(x) == 1),
        _always(Fraction(1)),
        "1 to any power, and any base to the power 0, is 1, even if the other operand is a quiet NaN",
    ),
    _NAN_OPERAND,
    SpecialCase(
        lambda x, y: y.kind == INFINITE and x.kind == FINITE and abs(number(x)) == 1,
        _always(Fraction(1)),
        "-1 to an infinite power is 1",
    ),
    SpecialCase(
        _infinite_power(True),
        _always(Special(Kind.INFINITE)),
        "a magnitude above 1 to the power inf, or below 1 to the power -inf: infinity",
    ),
    SpecialCase(
        _infinite_power(False),
        _always(Special(Kind.ZERO)),
        "a magnitude below 1 to the power inf, or above 1 to the power -inf: +0",
    ),
    SpecialCase(
        lambda x, y: is_zero(x) and bool(y.sign),
        lambda x, y: Special(Kind.INFINITE, _sign_of_power(x, y), True),
        "zero to a negative power is a pole: infinity, with the sign of the zero if the power is an odd integer",
    ),
    SpecialCase(
        lambda x, y: is_zero(x),
        lambda x, y: Special(Kind.ZERO, _sign_of_power(x, y)),
        "zero to a positive power is zero, with the sign of the base if the power is an odd integer",
    ),
    SpecialCase(
        lambda x, y: x.kind == INFINITE,
        lambda x, y: Special(Kind.ZERO if y.sign else Kind.INFINITE, _sign_of_power(x, y)),
        "infinity to a positive power is infinity, and to a negative power it is zero. Both have the sign of x if the "
        "power is an odd integer",
    ),
    SpecialCase(
        lambda x, y: bool(x.sign) and number(y).denominator != 1,
        _NOT_A_NUMBER,
        "a negative base has no real power that is not an integer: NaN",
    ),
)


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


_ROOTS = (
    SpecialCase(lambda x, n: is_zero(n), _NOT_A_NUMBER, "the degree 0 gives a NaN"),
    _NAN_OPERAND,
    SpecialCase(
        lambda x, n: is_zero(x) and bool(n.sign),
        lambda x, n: Special(Kind.INFINITE, _sign_of_power(x, n), True),
        "zero is a pole if the degree is negative: infinity, with the sign of the zero if the degree is odd",
    ),
    SpecialCase(
        lambda x, n: is_zero(x),
        lambda x, n: Special(Kind.ZERO, _sign_of_power(x, n)),
        "the root of zero is zero, with the sign of this zero if the degree is odd",
    ),
    SpecialCase(
        lambda x, n: bool(x.sign) and not _is_odd(n),
        _NOT_A_NUMBER,
        "a negative number has no real root of an even degree: NaN",
    ),
    SpecialCase(
        lambda x, n: x.kind == INFINITE,
        lambda x, n: Special(Kind.ZERO if n.sign else Kind.INFINITE, _sign_of_power(x, n)),
        "the root of infinity is infinity, or zero if the degree is negative. It has the sign of x if the degree is "
        "odd",
    ),
)


def _exact_root(x: Fraction, n: Fraction) -> Fraction | None:
    return rational.root(x if n > 0 else 1 / x, abs(n.numerator))


def _root_ball(x: arb, n: arb) -> arb:
    magnitude = (abs(x).log() / n).exp()
    return -magnitude if x < 0 else magnitude


def _root_far(x: Fraction, n: Fraction) -> Near | Huge | None:
    near = _power_far(abs(x), 1 / n)
    return near._replace(value=-near.value, direction=-near.direction) if isinstance(near, Near) and x < 0 else near


# --- sums of powers ---------------------------------------------------------------------------------------------------


def _is_integer(x: Unpacked) -> bool:
    return x.kind == FINITE and number(x).denominator == 1


def _is_even(x: Unpacked) -> bool:
    return _is_integer(x) and number(x).numerator % 2 == 0


def _at_pole(q: Unpacked) -> bool:
    """Tell whether a term of the sum of the powers of q, q + 1, q + 2 ... is one of 0."""
    return is_zero(q) or (bool(q.sign) and _is_integer(q))


def _is_one(x: Unpacked) -> bool:
    return x.kind == FINITE and number(x) == 1


def _under_one(x: Unpacked) -> bool:
    return bool(x.sign) or (x.kind == FINITE and number(x) < 1)


def _pole(two_sided: bool) -> Special:
    return SPECIALS["pole" if two_sided else "nan"]


_ZETAS = (
    _NAN_OPERAND,
    SpecialCase(lambda x, q: _is_one(x), _always(SPECIALS["pole"]), "the power 1 gives infinity"),
    SpecialCase(lambda x, q: _under_one(x), _NOT_A_NUMBER, "the sum of powers below 1 has no limit: NaN"),
    SpecialCase(
        lambda x, q: _at_pole(q),
        lambda x, q: _pole(_is_even(x)),
        "q is zero or a negative integer: a pole, infinity, if the power is even, else NaN",
    ),
    SpecialCase(
        lambda x, q: bool(q.sign) and (q.kind == INFINITE or not _is_integer(x)),
        _NOT_A_NUMBER,
        "a negative number has no real power that is not an integer: NaN",
    ),
    SpecialCase(lambda x, q: q.kind == INFINITE, _always(Special(Kind.ZERO)), "q is infinite: +0"),
    SpecialCase(
        lambda x, q: x.kind == INFINITE,
        lambda x, q: Fraction(1) if number(q) == 1 else Special(Kind.ZERO if number(q) > 1 else Kind.INFINITE),
        "the power is infinite: 0, 1 or infinity, as q is above 1, 1 or below",
    ),
)
_POLYGAMMAS = (
    _NAN_OPERAND,
    SpecialCase(
        lambda n, x: not _is_integer(n) or (bool(n.sign) and not is_zero(n)),
        _NOT_A_NUMBER,
        "an order that is negative or no integer gives NaN",
    ),
    SpecialCase(
        lambda n, x: _at_pole(x),
        lambda n, x: _pole(not _is_even(n)),
        "x is zero or a negative integer: a pole, infinity, if the order is odd, else NaN",
    ),
    SpecialCase(lambda n, x: x.kind == INFINITE and bool(x.sign), _NOT_A_NUMBER, "x is -infinity: NaN"),
    SpecialCase(
        lambda n, x: x.kind == INFINITE,
        lambda n, x: Special(Kind.INFINITE) if is_zero(n) else Special(Kind.ZERO, int(_is_even(n))),
        "x is infinite: infinity for the order 0, else a zero, negative for even orders",
    ),
)


def _zeta_ball(x: arb, q: arb) -> arb:
    """Return the sum of (q + n)**-x over n from 0 on, for x > 1; NaN where `_ZETAS` has another result."""
    if not x > 1 or (q <= 0 and (q.is_integer() or not x.is_integer())):
        return arb.nan()
    if q > 0:
        return _positive_zeta(x, q)
    even = (x / 2).is_integer()
    if q > -1:
        first = (-x * (-q).log()).exp()
        return _positive_zeta(x, 1 + q) + (first if even else -first)
    # As many terms below 0 as above 1 - part, less those that lie farther out.
    part = q - q.floor()
    if part == arb(1) / 2 and not even:
        return _positive_zeta(x, 1 - q)
    below = _positive_zeta(x, 1 - part) - _positive_zeta(x, 1 - q)
    return _positive_zeta(x, part) + (below if even else -below)


_ARB_PAYS = 64
"""The largest power of which Arb's own sum is used: it adds about as many terms as the power says."""


def _positive_zeta(x: arb, q: arb) -> arb:
    first = (-x * q.log()).exp()
    least = arb((1, -flint.ctx.prec))
    if first.rel_accuracy_bits() < flint.ctx.prec // 4:
        return arb.nan()  # more bits are needed
    # The terms behind a term t of a number a are at most t * a / (x - 1) together.
    ratio = (x * (q / (q + 1)).log()).exp() * (1 + (q + 1) / (x - 1))
    if ratio < least:
        return first * (1 + ratio.union(arb(0)))
    if x < _ARB_PAYS:
        return acb(x).zeta(acb(q)).real
    # The first terms one by one, then Euler and Maclaurin's sum of the others, from a number a not below the power.
    a, total, term = q, arb(0), first
    while a < x or a < flint.ctx.prec // 8:
        total += term
        a += 1
        term = (-x * a.log()).exp()
        if term * (1 + a / (x - 1)) < first * least:
            return total + term * (1 + a / (x - 1)).union(arb(0))
    total += term * (a / (x - 1) + arb(1) / 2)
    step, k = term * x / a / 2, 1
    # Each remainder has the sign of the first part that is left out, and is smaller.
    while k < flint.ctx.prec:
        part = step * arb.bernoulli(2 * k)
        if abs(part) < total * least:
            return total + part.union(arb(0))
        total += part
        step = step * (x + (2 * k - 1)) * (x + 2 * k) / (a * a) / ((2 * k + 1) * (2 * k + 2))
        k += 1
    return arb.nan()


def _polygamma_ball(n: arb, x: arb) -> arb:
    if n < 0 or not n.is_integer():
        return arb.nan()
    if n == 0:
        return x.digamma()
    magnitude = (n + 1).gamma() * _zeta_ball(n + 1, x)
    return -magnitude if (n / 2).is_integer() else magnitude


def _zeta_far(x: Fraction, q: Fraction) -> Near | Huge | None:
    if q == 1 and x > 4:  # little more than 1
        return Near(Fraction(1), 1, 1 - min(int(x), BEYOND))
    return _sum_far(x, q, Fraction(0)) or _next_to_power_of_two(x, q)


def _next_to_power_of_two(x: Fraction, q: Fraction) -> Near | None:
    """Return the sum of (q + n)**-x for a large x if its largest term is a power of two, which small balls hold too."""
    part = q % 1
    least = q if q > 0 else min(part, 1 - part)
    twos = least.denominator.bit_length() - 1
    if least != Fraction(1, 1 << twos) or least == 1 or x < max(64, twos + 1) or (x * twos).denominator != 1:
        return None
    term = Fraction(2) ** int(x * twos)
    if q > 0:  # the other terms are together below 2
        return Near(term, 1, 2)
    if least == HALF:  # two terms, equal for even powers; those of odd ones cancel
        return None if x % 2 else Near(2 * term, 1, 2)
    # The other terms are together below 2**(x / 2). On the other side of 0 each is larger than its fellow on this side;
    # those behind the last pair are below 2**-x.
    odd, positive = x % 2 == 1, part == least
    return Near(-term if odd and not positive else term, -1 if odd and positive else 1, int(x) // 2)


def _polygamma_far(n: Fraction, x: Fraction) -> Near | Huge | None:
    if n == 0:
        return None
    far = _sum_far(n + 1, x, n)
    if far is None or n % 2 == 1:
        return far
    return Huge(1 - far.sign) if isinstance(far, Huge) else far._replace(direction=-far.direction)


def _sum_far(x: Fraction, q: Fraction, n: Fraction) -> Near | Huge | None:
    """Return what is known about n! times the sum of (q + k)**-x where it is huge or tiny."""
    part = q % 1
    if q < 0 and part == HALF and x % 2:  # the terms around 0 cancel
        q = 1 - q
    negative = q < 0 and part > HALF and x % 2 == 1
    least = q if q > 0 else min(part, 1 - part)
    with bits_of_precision(64):
        power = _ball_of(x)
        size = (_ball_of(n + 1).lgamma() - power * _ball_of(least).log()) / arb.const_log2()
        if size > 2 * BEYOND:
            return Huge(int(negative))
        if q > 0 and size + (2 + (_ball_of(q) + 1) / (power - 1)).log() / arb.const_log2() < -BEYOND:
            return Near(Fraction(0), 1, -BEYOND)
    return None


def _ball_of(x: Fraction) -> arb:
    return arb(x.numerator) / arb(x.denominator)


_ROWS = (
    FunctionOfTwo(
        "atan2", ("y", "x"), arb.atan2, _ANGLES, lambda y, x: None, _angle_far,
        "angle of the point (x, y)", "for y = 0 and x > 0", LINDEMANN,
    ),
    FunctionOfTwo(
        "hypot", ("x", "y"), lambda x, y: (x * x + y * y).sqrt(), _DISTANCES, _exact_distance, _distance_far,
        "sqrt(x**2 + y**2)", "where the sum is the square of a rational number", FACTORS,
    ),
    # Arb's own power multiplies where the exponent is a small integer: a short power has no error.
    FunctionOfTwo(
        "powf", ("x", "y"), pow, _POWERS, _exact_power, _power_far,
        "x**y", "where the root of x of y's denominator is rational", FACTORS,
    ),
    FunctionOfTwo(
        "rootn", ("x", "n"), _root_ball, _ROOTS, _exact_root, _root_far,
        "x**(1 / n)", "at n-th powers of rational numbers", FACTORS,
    ),
    FunctionOfTwo(
        "zeta", ("x", "q"), _zeta_ball, _ZETAS, lambda x, q: None, _zeta_far,
        "sum of (q + n)**-x for n = 0, 1, ...", "nowhere", UNPROVED,
    ),
    FunctionOfTwo(
        "polygamma", ("n", "x"), _polygamma_ball, _POLYGAMMAS, lambda n, x: None, _polygamma_far,
        "n-th derivative of digamma(x)", "nowhere", UNPROVED,
    ),
)  # fmt: skip

FUNCTIONS_OF_TWO: Mapping[str, FunctionOfTwo] = MappingProxyType({row.name: row for row in _ROWS})
"""The functions of two arguments, by name. ``powf`` of an integer is pown and fpowi; the degree of ``rootn`` is one."""
