"""What ops give for exact real numbers, as balls: for single numbers, at any precision.

A ball encloses a real number (`flint.arb`). The rules have the names of those in `halfulp.semantics.shadows`. A
function that jumps gives a ball around all that it may give.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flint import arb

from halfulp.fp_formats.reals.functions import FUNCTIONS
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO

Ball = Callable[..., arb]


def _same(x: arb) -> arb:
    return x


def _copysign(x: arb, y: arb) -> arb:
    """The sign of an exact zero is not in its number: callers ask for it where a result has one."""
    if not y.is_finite():
        return arb.nan()
    size = abs(x)
    if y > 0:
        return size
    return -size if y < 0 else (-size).union(size)


def _quotient(x: arb, y: arb) -> arb:
    return x / y if y != 0 else arb.nan()


def _trunc(x: arb) -> arb:
    if x >= 0:
        return x.floor()
    return x.ceil() if x <= 0 else x.lower().ceil().union(x.upper().floor())


_FAR = 10_000
"""The distance of exponents from which on integers would be too long."""


def _remainder(x: arb, y: arb) -> arb:
    """What is left of a division whose quotient is cut: less than the divisor."""
    if y.contains(0) or not x.is_finite():
        return arb.nan()
    if x.is_exact() and y.is_exact() and abs(x.mid().man_exp()[1] - y.mid().man_exp()[1]) < _FAR:
        return _exact_remainder(x, y)
    quotient = _trunc(x / y)
    return x - quotient * y if quotient.is_exact() else arb(0, abs(y).upper())


def _exact_remainder(x: arb, y: arb) -> arb:
    """Return the remainder of numbers without a radius, exactly, with the sign of the first."""
    (a, m), (b, n) = x.mid().man_exp(), y.mid().man_exp()
    least = min(m, n)
    rest = abs(a) * 2 ** int(m - least) % (abs(b) * 2 ** int(n - least))
    return arb((-rest if a < 0 else rest, least))


def _between_integers(x: arb, half: Callable[[arb], arb]) -> arb:
    low, high = x.lower(), x.upper()
    return half(low).union(half(high))


def _away(x: arb) -> arb:
    return (x + 0.5).floor() if x >= 0 else (x - 0.5).ceil()


def _even(x: arb) -> arb:
    down = x.floor()
    tie = down + 0.5  # the distance from ``down`` may have more bits than a ball keeps
    if x == tie:
        return 2 * ((down + 1) / 2).floor()
    return down + (1 if x > tie else 0)


def _of_numbers(ball: Ball) -> Ball:
    """Return a function of two numbers that is unknown where one of them is."""
    return lambda x, y: ball(x, y) if x.is_finite() and y.is_finite() else arb.nan()


def _atan2(y: arb, x: arb) -> arb:
    """On the cut the sign of a zero decides, which no real number has."""
    return arb.nan() if y == 0 and not x > 0 else FUNCTIONS_OF_TWO["atan2"].ball(y, x)


BALLS: Mapping[str, Ball] = {
    "add": arb.__add__,
    "subtract": arb.__sub__,
    "multiply": arb.__mul__,
    "divide": _quotient,
    "square root": arb.sqrt,
    "negate": arb.__neg__,
    "absolute": arb.__abs__,
    "convert": _same,
    "fma": lambda x, y, z: x * y + z,
    "maximum": arb.max,
    "minimum": arb.min,
    "maximum number": arb.max,
    "minimum number": arb.min,
    "clamp": lambda x, low, high: x.min(high).max(low),
    "copysign": _copysign,
    "remainder": _remainder,
    "floor": arb.floor,
    "ceil": arb.ceil,
    "trunc": _trunc,
    "round": lambda x: _between_integers(x, _away),
    "roundeven": lambda x: _between_integers(x, _even),
    **{name: row.ball for name, row in FUNCTIONS.items()},
    **{name: _of_numbers(row.ball) for name, row in FUNCTIONS_OF_TWO.items()},
    "atan2": _of_numbers(_atan2),
}
