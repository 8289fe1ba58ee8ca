"""The numbers of expressions, their arithmetic and their functions: rational numbers, signed zeros, infinities, NaNs,
and reals that balls enclose.

Zeros, infinities and NaNs follow IEEE 754: 0 * infinity, infinity - infinity and 0 / 0 are NaN, x / 0 is an infinity
that raises divide-by-zero, and a sum that cancels is +0 (-0 in the mode that rounds downward). Real numbers neither
overflow nor underflow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import flint
from flint import arb, fmpq

from halfulp.fp_formats.reals import functions as rational
from halfulp.fp_formats.reals.elementary import known_of_one
from halfulp.fp_formats.reals.functions import (
    BEYOND,
    FUNCTIONS,
    SPECIALS,
    Huge,
    Kind,
    Near,
    Special,
    Unsettled,
    bits_of_precision,
    exact_ball,
    exponent_of,
    leading_exponent,
)
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO
from halfulp.fp_formats.scalar import FINITE, INFINITE, QUIET_NAN, Unpacked

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

    ``about``: a rational number next to it, or a lower bound of its size, if one is known. It is needed since balls
    cannot distinguish 1 + exp(-1e9) from 1. ``origin``: the function and the argument whose result it is.
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
        self.about: Above | Near | None = None if long else about
        self.origin: tuple[str, Number] | None = origin

    def ball(self) -> arb:
        """Return a ball of this number at the current precision. The balls of its operands are computed first, in a
        loop, so that long expressions need no recursion.
        """
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
    """Return a rational number as a `Number`. 0 becomes +0; a fraction with very many digits becomes a number that
    balls enclose.
    """
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
    """Return the first ball of rising precision that is precise enough. Raises `Unsettled` if there is none."""
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
    """Return 1 or -1. Raises `Unsettled` for a number that no ball distinguishes from zero."""
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
    """Return a zero with this sign."""
    return Special(Kind.ZERO, sign)


def infinity(sign: int, pole: bool = False) -> Special:
    """Return an infinity with this sign; ``pole``: it raises divide-by-zero."""
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
    """Return x + y. A sum of two numbers that cancel is +0, or -0 if ``downward``."""
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
    """Return x - y. A difference of two equal numbers is +0, or -0 if ``downward``."""
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

    Zeros are equal. Raises `Unsettled` for numbers that no ball distinguishes.
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
    """Return what is known about ``x``: a rational number next to it, or a lower bound of its size; None if neither is
    known. If ``x`` is huge or tiny, a ball of it gives this.
    """
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
    """Tell whether the distance of a number from its neighbour is less than half the magnitude of the neighbour."""
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


# --- functions --------------------------------------------------------------------------------------------------------
#
# The rows of `functions` and `functions_of_two` applied to any number of an expression.

INVERSES: Mapping[str, str] = MappingProxyType(
    {
        "exp": "log", "log": "exp", "exp2": "log2", "log2": "exp2", "exp10": "log10", "log10": "exp10",
        "expm1": "log1p", "log1p": "expm1", "sinh": "asinh", "asinh": "sinh", "tanh": "atanh", "atanh": "tanh",
        "sigmoid": "logit", "logit": "sigmoid", "sin": "asin", "cos": "acos", "tan": "atan", "cosh": "acosh",
    }
)  # fmt: skip
"""Functions f, and g with f(g(x)) = x for each real x of g's domain."""


class _Line(NamedTuple):
    """A function f with abs(f(at + d) - value) < abs(d) * 2**slope for abs(d) < 1/16. The result lies on the side that
    ``direction`` says: 1 for the side of d, -1 for the other.
    """

    at: Fraction
    value: Fraction
    slope: int
    direction: int = 1


_0, _1, _HALF = Fraction(0), Fraction(1), Fraction(1, 2)
_LINES: Mapping[str, _Line] = MappingProxyType(
    {
        **dict.fromkeys(
            ("sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf", "expm1", "log1p"), _Line(_0, _0, 1)
        ),
        **dict.fromkeys(("silu", "gelu", "gelu_tanh", "mish"), _Line(_0, _0, 0)),
        **dict.fromkeys(("log", "log2", "log10"), _Line(_1, _0, 1)),
        **dict.fromkeys(("exp", "exp2"), _Line(_0, _1, 1)),
        "exp10": _Line(_0, _1, 2),
        "sigmoid": _Line(_0, _HALF, 0),
        "logit": _Line(_HALF, _0, 3),
        "cbrt": _Line(_1, _1, 0),
        "rsqrt": _Line(_1, _1, 0, -1),
        "erfc": _Line(_0, _1, 1, -1),
    }
)
_BOUNDED_FAR_OUT = frozenset({"exp", "exp2", "exp10", "expm1", "sinh", "cosh", "tanh", "erf", "erfc", "sigmoid"})
"""Functions whose neighbour far out, or size, also is one of each argument further out."""
_NOT_AT_ZERO = frozenset({"cbrt", "softplus", "lgamma"})
"""Functions whose balls take the sign of the argument from the ball."""


def unpacked(x: Number) -> Unpacked:
    """Return a number as an unpacked operand for the tables of special cases. Its significand may be a fraction."""
    if isinstance(x, Special):
        kind = {Kind.ZERO: FINITE, Kind.INFINITE: INFINITE, Kind.NAN: QUIET_NAN}[x.kind]
        return Unpacked(kind, x.sign, 0, 0)
    number = x if isinstance(x, Fraction) else _stand_in(x)
    return Unpacked(FINITE, int(number < 0), cast(int, abs(number)), 0)


def _stand_in(x: Enclosed) -> Fraction:
    """Return a simple fraction with the same sign, in place of a number that is not known exactly."""
    return Fraction(sign_of(x), 3)


def of_one(name: str, x: Number) -> Number:
    """Return the result of a function of one argument. Raises `Unsettled` for an argument that no ball distinguishes
    from the end of the domain.
    """
    row = FUNCTIONS[name]
    if isinstance(x, Special):
        if x.kind is Kind.NAN:
            return x
        known = known_of_one(row, unpacked(x))
        if known.answer is None:
            assert known.ball is not None
            return Enclosed(known.ball)
        return _number(known.answer)
    if name == "reciprocal":
        return divide(Fraction(1), x)
    for end, outside in zip(row.limits.domain, (-1, 1), strict=True):
        if end is not None and order(x, of_fraction(end)) * outside > 0:
            return NAN
    if isinstance(x, Enclosed):
        return _of_enclosed(name, x)
    far = row.far(x)
    exact = None if isinstance(far, Huge) else _rational(name, x)
    if exact is not None:
        return _number(exact)
    return Enclosed(lambda: row.ball(ball_of_fraction(x)), about=_about_far(far), origin=(name, x))


def _number(answer: Fraction | Special) -> Number:
    return of_fraction(answer) if isinstance(answer, Fraction) else answer


def _about_far(far: Near | Huge | None) -> Near | Above | None:
    return Above(1 - 2 * far.sign, BEYOND) if isinstance(far, Huge) else far


def _rational(name: str, x: Fraction) -> Fraction | Special | None:
    """Return the rational result of a rational argument. Rows of `functions` know only dyadic arguments and results."""
    if name == "exp10" and x.denominator == 1 and abs(x) <= LONGEST // 4:
        return Fraction(10) ** x.numerator
    if name == "log10" and x.numerator == 1:
        found = rational.decimal_logarithm(1 / x)
        return None if found is None else -found
    if name in ("sinpi", "cospi") and x.denominator in (3, 6):  # by Niven, ±1/2 is the only further rational number
        sixths = int(6 * x) + (3 if name == "cospi" else 0)
        return {1: _HALF, 5: _HALF, 7: -_HALF, 11: -_HALF}.get(sixths % 12)
    return FUNCTIONS[name].exact(x)


def _of_enclosed(name: str, x: Enclosed) -> Number:
    if x.origin is not None and INVERSES.get(name) == x.origin[0]:
        return x.origin[1]
    ball = guarded(name)
    return Enclosed(lambda: ball(x.ball()), x, about=_near_function(name, measured(x)), origin=(name, x))


def guarded(name: str) -> Callable[[arb], arb]:
    """Return the function of one argument with this name, for any ball. If its value for a number of the ball may be
    outside of the result, the result is a ball that is not finite.
    """
    ball = FUNCTIONS[name].ball
    if name not in _NOT_AT_ZERO:
        return ball
    return lambda x: arb.nan() if x.contains(0) and not x.is_exact() else ball(x)


def _near_function(name: str, about: Near | Above | None) -> Near | Above | None:
    if isinstance(about, Near) and about.value and exponent_of(about.value) - 3 >= 8 and name in _BOUNDED_FAR_OUT:
        sign, lead = (1 if about.value > 0 else -1), exponent_of(about.value)
        about = Above(sign, lead - 3) if about.distance <= lead - 3 else None
    if isinstance(about, Above):
        if name == "sqrt":
            return Above(1, about.exponent // 2)
        if name not in _BOUNDED_FAR_OUT or about.exponent < 8:
            return None
        return _about_far(FUNCTIONS[name].far(about.sign * Fraction(2) ** min(about.exponent, 64)))
    if about is None:
        return None
    value, direction, distance = about
    if name == "sqrt":
        root = rational.root(value, 2) if value > 0 else None
        near_enough = root is not None and distance <= exponent_of(value) - 3
        return Near(root, direction, distance - exponent_of(root) + 2) if near_enough and root is not None else None
    if distance > -4:
        return None
    if name in ("cos", "cosh") and not value:
        return Near(_1, -1 if name == "cos" else 1, 2 * distance)
    line = _LINES.get(name)
    if line is None or line.at != value:
        return None
    return Near(line.value, direction * line.direction, distance + line.slope)


# --- two arguments ----------------------------------------------------------------------------------------------------


def of_two(name: str, x: Number, y: Number) -> Number:
    """Return the result of atan2, hypot, powf or rootn. Raises `Unsettled` for numbers of which no ball tells whether a
    special case holds.
    """
    if name == "powf":
        return power(x, y)
    row = FUNCTIONS_OF_TWO[name]
    if name == "rootn" and not is_kind(y, Kind.ZERO) and not (isinstance(y, Fraction) and y.denominator == 1):
        return NAN
    case = row.special(unpacked(x), unpacked(y))
    if case is not None:
        answer = case.answer(unpacked(x), unpacked(y))
        if name == "hypot" and not isinstance(answer, Special):
            from_zero = y if is_kind(x, Kind.ZERO) else x
            if isinstance(from_zero, Enclosed):
                return from_zero if sign_of(from_zero) > 0 else Enclosed(lambda: abs(from_zero.ball()), from_zero)
        if answer is None:
            return NAN
        return Enclosed(answer) if callable(answer) else _number(answer)
    far = None
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        far = row.far(x, y)
        exact = None if isinstance(far, Huge) else row.exact(x, y)
        if exact is not None:
            return of_fraction(exact)
    return Enclosed(lambda: row.ball(ball_of(x), ball_of(y)), x, y, about=_about_far(far))


def power(x: Number, y: Number) -> Number:
    """Return x**y: by multiplication if both are integers, else by the rules of IEEE's pow."""
    if isinstance(y, Fraction) and y.denominator == 1 and not isinstance(x, Special):
        return _integer_power(x, y.numerator)
    if isinstance(x, Enclosed) and is_kind(y, Kind.INFINITE):
        size = refined(x.ball, lambda ball: excludes_zero(abs(ball) - 1))
        grows = (abs(size) > 1) == (not cast(Special, y).sign)
        return infinity(0) if grows else zero(0)
    base = unpacked(x)
    if isinstance(y, Enclosed):
        if isinstance(x, Special) or base.sign:  # the power exists, or has a sign, by whether y is an integer
            refined(y.ball, lambda ball: bool(ball.is_finite()) and not ball.contains_integer())
        if isinstance(x, Fraction) and x == 1:
            return Fraction(1)
    row = FUNCTIONS_OF_TWO["powf"]
    case = row.special(base, unpacked(y))
    if case is not None:
        answer: Any = case.answer(base, unpacked(y))
        return NAN if answer is None else _number(answer)
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        root = rational.root(x, y.denominator)
        if root is not None:
            return _integer_power(root, y.numerator)
        far = row.far(x, y)
        return Enclosed(lambda: (ball_of(y) * ball_of(x).log()).exp(), about=_about_far(far))
    return Enclosed(lambda: (ball_of(y) * ball_of(x).log()).exp(), x, y)


def _integer_power(x: Fraction | Enclosed, n: int) -> Number:
    if isinstance(x, Enclosed):
        if x.origin is not None and (x.origin[0], n) == ("sqrt", 2):
            return multiply(x, x)
        return Enclosed(lambda: _ball_power(x.ball(), n), x)
    bits = max(x.numerator.bit_length(), x.denominator.bit_length())
    if x in (1, -1) or bits * abs(n) <= LONGEST:
        return of_fraction(x**n)
    far = FUNCTIONS_OF_TWO["powf"].far(x, Fraction(n))
    return Enclosed(lambda: _ball_power(ball_of_fraction(x), n), about=_about_far(far))


def _ball_power(x: arb, n: int) -> arb:
    return x**n
