"""Sums, products and quotients in which exp(u) is a factor: exp(u) * exp(v) = exp(u + v), a + exp(u) = exp(v).

For large u no ball of bounded precision tells 1 + exp(u) from exp(u). With v = u + log1p(a * exp(-u)), which is next
to u, log(1 + exp(u)) and (exp(u) - 1) / (exp(u) + 1) are enclosed all the same.
"""

from __future__ import annotations

from fractions import Fraction

from halfulp.fp_formats.reals import extended
from halfulp.fp_formats.reals.applying import of_one
from halfulp.fp_formats.reals.enclosing import Near, Special
from halfulp.fp_formats.reals.extended import Enclosed, Number, negate

_LARGE = 64


def add(x: Number, y: Number, downward: bool) -> Number:
    """Return x + y."""
    total = extended.add(x, y, downward)
    if isinstance(total, Enclosed) and not isinstance(x, Special) and not isinstance(y, Special):
        for large, other in ((x, y), (y, x)):
            origin = _with_exponent(large, other, downward)
            if origin is not None:
                total.origin = origin
                return total
    return total


def _with_exponent(large: Fraction | Enclosed, other: Fraction | Enclosed, downward: bool) -> tuple[str, Number] | None:
    """Return the origin of ``other`` + ``large``, where ``large`` is ±exp(u), u is large, and ``other`` is not."""
    power = _power(large)
    if power is None:
        return None
    name, exponent = power
    if not isinstance(exponent, Fraction) or exponent < _LARGE:
        return None
    part = multiply(other if name == "exp" else negate(other), of_one("exp", -exponent))
    if not isinstance(part, Enclosed) or not isinstance(part.about, Near):
        return None
    if part.about.value or part.about.distance > -_LARGE // 2:
        return None
    return name, extended.add(exponent, of_one("log1p", part), downward)


def subtract(x: Number, y: Number, downward: bool) -> Number:
    """Return x - y."""
    return extended.subtract(x, y, downward) if x is y else add(x, negate(y), downward)


def multiply(x: Number, y: Number) -> Number:
    """Return x * y."""
    first, second = _power(x), _power(y)
    if first is None or second is None:
        return extended.multiply(x, y)
    return _signed(first[0] == second[0], extended.add(first[1], second[1], False))


def divide(x: Number, y: Number) -> Number:
    """Return x / y."""
    first, second = _power(x), _power(y)
    if first is None or second is None:
        return extended.divide(x, y)
    return _signed(first[0] == second[0], extended.subtract(first[1], second[1], False))


def _power(x: Number) -> tuple[str, Number] | None:
    """Return ("exp", u) or ("-exp", u) for ±exp(u)."""
    origin = x.origin if isinstance(x, Enclosed) else None
    return origin if origin is not None and origin[0] in ("exp", "-exp") else None


def _signed(positive: bool, exponent: Number) -> Number:
    found = of_one("exp", exponent)
    return found if positive else negate(found)
