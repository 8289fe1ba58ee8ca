"""Functions of exact numbers: the rows of `functions` and `functions_of_two` applied to any number of an expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple, cast

from flint import arb

from halfulp.fp_formats.reals import functions as rational
from halfulp.fp_formats.reals.elementary import known_of_one
from halfulp.fp_formats.reals.extended import (
    LONGEST,
    NAN,
    Above,
    Enclosed,
    Number,
    ball_of,
    ball_of_fraction,
    divide,
    excludes_zero,
    infinity,
    is_kind,
    measured,
    multiply,
    of_fraction,
    order,
    refined,
    sign_of,
    zero,
)
from halfulp.fp_formats.reals.functions import BEYOND, FUNCTIONS, Huge, Kind, Near, Special
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO
from halfulp.fp_formats.scalar import FINITE, INFINITE, QUIET_NAN, Unpacked

INVERSES: Mapping[str, str] = MappingProxyType(
    {
        "exp": "log", "log": "exp", "exp2": "log2", "log2": "exp2", "exp10": "log10", "log10": "exp10",
        "expm1": "log1p", "log1p": "expm1", "sinh": "asinh", "asinh": "sinh", "tanh": "atanh", "atanh": "tanh",
        "sigmoid": "logit", "logit": "sigmoid", "sin": "asin", "cos": "acos", "tan": "atan", "cosh": "acosh",
    }
)  # fmt: skip
"""Functions f, and g with f(g(x)) = x for each real x of g's domain."""


class _Line(NamedTuple):
    """A function f with abs(f(at + d) - value) < abs(d) * 2**slope for abs(d) < 1/16, on the side that ``direction``
    says: 1 for the side of d, -1 for the other.
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
    """Return a number as an operand of the tables of special cases; the significand may be a fraction."""
    if isinstance(x, Special):
        kind = {Kind.ZERO: FINITE, Kind.INFINITE: INFINITE, Kind.NAN: QUIET_NAN}[x.kind]
        return Unpacked(kind, x.sign, 0, 0)
    number = x if isinstance(x, Fraction) else _stand_in(x)
    return Unpacked(FINITE, int(number < 0), cast(int, abs(number)), 0)


def _stand_in(x: Enclosed) -> Fraction:
    """Return a fraction with the sign of a number that is not known exactly."""
    return Fraction(sign_of(x), 3)


def of_one(name: str, x: Number) -> Number:
    """Return a function of one argument. Raises `Unsettled` for one that no ball tells from the end of its domain."""
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
    return Enclosed(lambda: row.ball(ball_of_fraction(x)), about=_about(far), origin=(name, x))


def _number(answer: Fraction | Special) -> Number:
    return of_fraction(answer) if isinstance(answer, Fraction) else answer


def _about(far: Near | Huge | None) -> Near | Above | None:
    return Above(1 - 2 * far.sign, BEYOND) if isinstance(far, Huge) else far


def _rational(name: str, x: Fraction) -> Fraction | Special | None:
    """Return the rational result of a rational argument: the rows of functions know dyadic arguments and results."""
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
    return Enclosed(lambda: ball(x.ball()), x, about=_about_function(name, measured(x)), origin=(name, x))


def guarded(name: str) -> Callable[[arb], arb]:
    """Return the function of any ball: a ball that is not finite where it is not known to hold the result."""
    ball = FUNCTIONS[name].ball
    if name not in _NOT_AT_ZERO:
        return ball
    return lambda x: arb.nan() if x.contains(0) and not x.is_exact() else ball(x)


def _about_function(name: str, about: Near | Above | None) -> Near | Above | None:
    if isinstance(about, Near) and about.value and _exponent(about.value) - 3 >= 8 and name in _BOUNDED_FAR_OUT:
        sign, lead = (1 if about.value > 0 else -1), _exponent(about.value)
        about = Above(sign, lead - 3) if about.distance <= lead - 3 else None
    if isinstance(about, Above):
        if name == "sqrt":
            return Above(1, about.exponent // 2)
        if name not in _BOUNDED_FAR_OUT or about.exponent < 8:
            return None
        return _about(FUNCTIONS[name].far(about.sign * Fraction(2) ** min(about.exponent, 64)))
    if about is None:
        return None
    value, direction, distance = about
    if name == "sqrt":
        root = rational.root(value, 2) if value > 0 else None
        near_enough = root is not None and distance <= _exponent(value) - 3
        return Near(root, direction, distance - _exponent(root) + 2) if near_enough and root is not None else None
    if distance > -4:
        return None
    if name in ("cos", "cosh") and not value:
        return Near(_1, -1 if name == "cos" else 1, 2 * distance)
    line = _LINES.get(name)
    if line is None or line.at != value:
        return None
    return Near(line.value, direction * line.direction, distance + line.slope)


def _exponent(x: Fraction) -> int:
    return x.numerator.bit_length() - x.denominator.bit_length() + 1


# --- two arguments ----------------------------------------------------------------------------------------------------


def of_two(name: str, x: Number, y: Number) -> Number:
    """Return atan2, hypot, powf or rootn. Raises `Unsettled` for numbers whose special cases no ball decides."""
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
    return Enclosed(lambda: row.ball(ball_of(x), ball_of(y)), x, y, about=_about(far))


def power(x: Number, y: Number) -> Number:
    """Return x**y: of integers by multiplication, else by IEEE's pow."""
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
        return Enclosed(lambda: (ball_of(y) * ball_of(x).log()).exp(), about=_about(far))
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
    return Enclosed(lambda: _ball_power(ball_of_fraction(x), n), about=_about(far))


def _ball_power(x: arb, n: int) -> arb:
    return x**n
