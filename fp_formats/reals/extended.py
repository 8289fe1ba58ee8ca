"""Exact numbers of expressions and their arithmetic: rational numbers, signed zeros, infinities, NaNs, and reals that
balls enclose.

Zeros, infinities and NaNs follow IEEE 754: 0 * infinity, infinity - infinity and 0 / 0 are NaN, x / 0 is a pole, and a
sum that cancels is +0 (-0 to round downward). Real numbers neither overflow nor underflow.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import flint
from flint import arb, fmpq

from halfulp.fp_formats.reals.functions import (
    SPECIALS,
    Kind,
    Near,
    Special,
    Unsettled,
    bits_of_precision,
    exact_ball,
    exponent_of,
    leading_exponent,
)

MOST_BITS = 1 << 16
"""Bits of the last ball of an expression: a result, a sign or a comparison that is not settled then is an error."""
LONGEST = 1 << 17
"""Bits of the longest rational number that is kept exactly; a longer one is enclosed in balls."""


class Above(NamedTuple):
    """A real number of the given sign (1 or -1) whose magnitude is above 2**``exponent``."""

    sign: int
    exponent: int


class Enclosed:
    """A real number that balls of every precision enclose.

    ``about``: a rational number next to it, or how large it is at least, where that is known: balls cannot tell
    1 + exp(-1e9) from 1. ``origin``: the function and the argument that it is the result of.
    """

    __slots__ = ("_ball", "_make", "_needs", "_precision", "about", "origin")

    def __init__(
        self,
        make: Callable[[], arb],
        *needs: Number,
        about: Near | Above | None = None,
        origin: tuple[str, Number] | None = None,
    ) -> None:
        self._make = make
        self._needs = tuple(each for each in needs if isinstance(each, Enclosed))
        self._ball = arb.nan()
        self._precision = 0
        long = isinstance(about, Near) and _length(about.value) > LONGEST
        self.about = None if long else about
        self.origin = origin

    def ball(self) -> arb:
        """Return a ball at the precision of the context. Those of the operands come first, without recursion."""
        precision = flint.ctx.prec
        waiting = [] if self._precision == precision else [self]
        while waiting:
            top = waiting[-1]
            missing = [each for each in top._needs if each._precision != precision]
            if missing:
                waiting.extend(missing)
                continue
            waiting.pop()
            if top._precision != precision:
                top._ball, top._precision = top._make(), precision
        return self._ball


Number = Fraction | Special | Enclosed
"""A number: a `Fraction` is never zero, since zeros have signs."""

NAN = SPECIALS["nan"]


def of_fraction(x: Fraction) -> Number:
    """Return a rational number as a number: 0 as +0, a long one in balls."""
    if not x:
        return SPECIALS["0"]
    if _length(x) > LONGEST:
        lead, sign = exponent_of(x), 1 if x > 0 else -1
        about = Above(sign, lead - 2) if lead > 0 else Near(Fraction(0), sign, lead)
        return Enclosed(lambda: ball_of_fraction(x), about=about)
    return x


def _length(x: Fraction) -> int:
    return x.numerator.bit_length() + x.denominator.bit_length()


def ball_of_fraction(x: Fraction) -> arb:
    """Return a ball that holds a rational number."""
    return arb(fmpq(x.numerator, x.denominator))


def ball_of(x: Number) -> arb:
    """Return a ball that holds a number other than an infinity or NaN."""
    if isinstance(x, Enclosed):
        return x.ball()
    return ball_of_fraction(x) if isinstance(x, Fraction) else arb(0)


def refined(ball: Callable[[], arb], enough: Callable[[arb], bool]) -> arb:
    """Return the first ball of rising precision that is enough. Raises `Unsettled` where none is."""
    precision = 64
    while True:
        with bits_of_precision(precision):
            found = ball()
            if enough(found):
                return found
        if precision >= MOST_BITS:
            raise Unsettled(found.str(20), precision)
        precision = min(MOST_BITS, 4 * precision)


def excludes_zero(ball: arb) -> bool:
    """Tell whether no number of a ball is zero."""
    return bool(ball.is_finite()) and not ball.contains(0)


def sign_of(x: Fraction | Enclosed) -> int:
    """Return 1 or -1. Raises `Unsettled` for a number that no ball tells from zero."""
    if isinstance(x, Fraction):
        return 1 if x > 0 else -1
    known = _known_sign(x)
    return known or (1 if refined(x.ball, excludes_zero) > 0 else -1)


def _known_sign(x: Enclosed) -> int:
    """Return the sign that is known without a ball, or 0."""
    about = x.about
    if isinstance(about, Above):
        return about.sign
    if about is None:
        return 0
    if not about.value:
        return about.direction
    sign = 1 if about.value > 0 else -1
    return sign if about.direction == sign or about.distance <= exponent_of(about.value) - 2 else 0


def negative(x: Special | Fraction | Enclosed) -> int:
    """Return the sign bit of a number that is not a NaN."""
    return x.sign if isinstance(x, Special) else int(sign_of(x) < 0)


def is_kind(x: Number, kind: Kind) -> bool:
    """Tell whether a number is a zero, an infinity or a NaN."""
    return isinstance(x, Special) and x.kind is kind


def zero(sign: int) -> Special:
    """Return a zero."""
    return Special(Kind.ZERO, sign)


def infinity(sign: int, pole: bool = False) -> Special:
    """Return an infinity; ``pole``: one that raises divide-by-zero."""
    return Special(Kind.INFINITE, sign, pole)


# --- arithmetic -------------------------------------------------------------------------------------------------------


def negate(x: Number) -> Number:
    """Return -x."""
    if isinstance(x, Fraction):
        return -x
    if isinstance(x, Special):
        return x if x.kind is Kind.NAN else x._replace(sign=1 - x.sign)
    about = x.about
    if isinstance(about, Above):
        about = Above(-about.sign, about.exponent)
    elif about is not None:
        about = Near(-about.value, -about.direction, about.distance)
    origin = None
    if x.origin is not None and x.origin[0] in _OPPOSITES:
        origin = (_OPPOSITES[x.origin[0]], x.origin[1])
    return Enclosed(lambda: -x.ball(), x, about=about, origin=origin)


_OPPOSITES = {"exp": "-exp", "-exp": "exp"}
"""The origins that are kept when the sign changes."""


def magnitude(x: Number) -> Number:
    """Return abs(x)."""
    if isinstance(x, Fraction):
        return abs(x)
    if isinstance(x, Special):
        return x if x.kind is Kind.NAN else x._replace(sign=0)
    known = _known_sign(x)
    if known:
        return x if known > 0 else negate(x)
    return Enclosed(lambda: abs(x.ball()), x)


def add(x: Number, y: Number, downward: bool) -> Number:
    """Return x + y."""
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        total = x + y
        return of_fraction(total) if total else zero(int(downward))
    if is_kind(x, Kind.NAN) or is_kind(y, Kind.NAN):
        return NAN
    if isinstance(x, Special) and isinstance(y, Special) and x.kind is y.kind:
        if x.sign == y.sign:
            return Special(x.kind, x.sign)
        return NAN if x.kind is Kind.INFINITE else zero(int(downward))
    if is_kind(x, Kind.INFINITE) or is_kind(y, Kind.ZERO):
        return x
    if is_kind(y, Kind.INFINITE) or is_kind(x, Kind.ZERO):
        return y
    return Enclosed(lambda: ball_of(x) + ball_of(y), x, y, about=_about_sum(_about(x), _about(y)))


def subtract(x: Number, y: Number, downward: bool) -> Number:
    """Return x - y."""
    if x is y and isinstance(x, Enclosed):
        return zero(int(downward))
    return add(x, negate(y), downward)


def multiply(x: Number, y: Number) -> Number:
    """Return x * y."""
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return of_fraction(x * y)
    if is_kind(x, Kind.NAN) or is_kind(y, Kind.NAN):
        return NAN
    if isinstance(x, Special) or isinstance(y, Special):
        kinds = {each.kind for each in (x, y) if isinstance(each, Special)}
        if len(kinds) == 2:
            return NAN
        return Special(kinds.pop(), negative(x) ^ negative(y))
    if x is y and isinstance(x, Enclosed) and x.origin is not None and x.origin[0] == "sqrt":
        return x.origin[1]
    return Enclosed(lambda: ball_of(x) * ball_of(y), x, y, about=_about_product(_about(x), _about(y)))


def divide(x: Number, y: Number) -> Number:
    """Return x / y."""
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return of_fraction(x / y)
    if is_kind(x, Kind.NAN) or is_kind(y, Kind.NAN):
        return NAN
    if isinstance(x, Special) and isinstance(y, Special) and x.kind is y.kind:
        return NAN
    if isinstance(x, Special) or isinstance(y, Special):
        sign = negative(x) ^ negative(y)
        if is_kind(x, Kind.ZERO) or is_kind(y, Kind.INFINITE):
            return zero(sign)
        return infinity(sign, pole=not is_kind(x, Kind.INFINITE))
    if x is y:
        sign_of(x)  # raises for a number that may be zero
        return Fraction(1)
    inverse = _about_inverse(_about(y))
    about = None if inverse is None else _about_product(_about(x), inverse)
    return Enclosed(lambda: ball_of(x) / ball_of(y), x, y, about=about)


def order(x: Number, y: Number) -> int:
    """Return a negative number, 0 or a positive number for x < y, x = y or x > y; neither is a NaN.

    Zeros are equal. Raises `Unsettled` for numbers that no ball tells apart.
    """
    difference = subtract(x, y, False)
    if is_kind(difference, Kind.NAN):  # of two equal infinities
        return 0
    if isinstance(difference, Special):
        return 0 if difference.kind is Kind.ZERO else 1 - 2 * difference.sign
    return sign_of(difference)


def extremum(x: Number, y: Number, largest: bool) -> Number:
    """Return the larger or smaller number, with -0 < +0; NaN if one is a NaN."""
    if is_kind(x, Kind.NAN) or is_kind(y, Kind.NAN):
        return NAN
    if is_kind(x, Kind.ZERO) and is_kind(y, Kind.ZERO):
        return x if (negative(x) < negative(y)) == largest else y
    try:
        return x if (order(x, y) > 0) == largest else y
    except Unsettled:
        return Enclosed(lambda: ball_of(x).max(ball_of(y)) if largest else ball_of(x).min(ball_of(y)), x, y)


# --- what is known beside the balls -----------------------------------------------------------------------------------


About = Fraction | Near | Above | None
_Known = Near | Above | None
_EXTREME = 64


def _about(x: Fraction | Special | Enclosed) -> About:
    return measured(x) if isinstance(x, Enclosed) else x if isinstance(x, Fraction) else None


def measured(x: Enclosed) -> _Known:
    """Return what is known of a number beside its balls; of a huge or tiny one, what a ball says."""
    if x.about is None:
        with bits_of_precision(_EXTREME):
            ball = x.ball()
            if excludes_zero(ball):
                sign, size = 1 if ball > 0 else -1, abs(ball)
                if size > 1 << _EXTREME:
                    x.about = Above(sign, leading_exponent(size.lower()) - 1)
                elif size < exact_ball(1, -_EXTREME):
                    x.about = Near(Fraction(0), sign, leading_exponent(size.upper()) + 1)
    return x.about


def _about_sum(x: About, y: About) -> _Known:
    if isinstance(x, Fraction) and isinstance(y, Near):
        return y._replace(value=x + y.value)
    if isinstance(x, Near) and isinstance(y, Fraction):
        return x._replace(value=x.value + y)
    if isinstance(x, Near) and isinstance(y, Near):
        if x.direction != y.direction:
            return None
        return Near(x.value + y.value, x.direction, max(x.distance, y.distance) + 1)
    if isinstance(x, Above) and isinstance(y, Above):
        return Above(x.sign, max(x.exponent, y.exponent)) if x.sign == y.sign else None
    large, other = (x, y) if isinstance(x, Above) else (y, x)
    if isinstance(large, Above) and other is not None and _lead_above(other) < large.exponent:
        return Above(large.sign, large.exponent - 1)
    return None


def _lead_above(x: Fraction | Near | Above) -> int:
    """Return an exponent e with abs(x) < 2**e."""
    if isinstance(x, Fraction):
        return exponent_of(x)
    assert isinstance(x, Near)
    return max(exponent_of(x.value) if x.value else x.distance, x.distance) + 1


def _about_product(x: About, y: About) -> _Known:
    if isinstance(y, Fraction) or (isinstance(y, Near) and isinstance(x, Above)):
        x, y = y, x
    if x is None or y is None:
        return None
    if isinstance(x, Fraction):
        sign, lead = (1 if x > 0 else -1), exponent_of(x)
        if isinstance(y, Near):
            return Near(x * y.value, sign * y.direction, y.distance + lead)
        return Above(sign * y.sign, y.exponent + lead - 2) if isinstance(y, Above) else None
    if isinstance(x, Above):
        return Above(x.sign * y.sign, x.exponent + y.exponent) if isinstance(y, Above) else None
    if isinstance(y, Above):
        sign, lead = (1 if x.value > 0 else -1), exponent_of(x.value) if x.value else 0
        return Above(sign * y.sign, y.exponent + lead - 3) if x.value and _small(x) else None
    assert isinstance(y, Near)
    return _near_product(x, y)


def _small(x: Near) -> bool:
    """Tell whether a number is nearer to its neighbour than half of that."""
    return bool(x.value) and x.distance <= exponent_of(x.value) - 3


def _near_product(x: Near, y: Near) -> Near | None:
    if not x.value and not y.value:
        return Near(Fraction(0), x.direction * y.direction, x.distance + y.distance)
    if not y.value:
        x, y = y, x
    if not _small(y):
        return None
    sign, lead = (1 if y.value > 0 else -1), exponent_of(y.value)
    if not x.value:
        return Near(Fraction(0), sign * x.direction, x.distance + lead + 1)
    side = (1 if x.value > 0 else -1) * y.direction
    if not _small(x) or side != sign * x.direction:
        return None
    distance = max(y.distance + exponent_of(x.value) + 1, x.distance + lead + 1) + 1
    return Near(x.value * y.value, side, distance)


def _about_inverse(x: About) -> About:
    if isinstance(x, Fraction):
        return 1 / x
    if isinstance(x, Above):
        return Near(Fraction(0), x.sign, -x.exponent)
    if x is None:
        return None
    if not x.value:
        return Above(x.direction, -x.distance)
    # 1 / (v + d) - 1 / v = -d / (v * (v + d))
    return Near(1 / x.value, -x.direction, x.distance - 2 * exponent_of(x.value) + 5) if _small(x) else None
