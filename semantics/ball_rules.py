"""What ops give for exact real numbers, as balls: for single numbers, at any precision.

A ball encloses a real number (`flint.arb`). The rules have the names of those in `halfulp.semantics.shadows`. If a
function jumps within the ball of its operand, the ball of its result contains the results on both sides of the jump.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log, pi
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from flint import arb

from halfulp.fp_formats.neighbours import two_sum
from halfulp.fp_formats.paths.margins import APPROXIMATIONS, ordinary
from halfulp.fp_formats.reals.functions import FUNCTIONS
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO
from halfulp.semantics.double_functions import DOUBLES, FARTHEST, MARGIN, Double

Ball = Callable[..., arb]


def _same(x: arb) -> arb:
    return x


def _copysign(x: arb, y: arb) -> arb:
    """Return the size of x with the sign of y. A ball does not hold the sign of an exact zero, so callers ask for it
    separately.
    """
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
    """Return the remainder of a division whose quotient is rounded toward zero; it is smaller than the divisor."""
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
    """Extend a function of two numbers to balls; its result is unknown if one of them is unknown."""
    return lambda x, y: ball(x, y) if x.is_finite() and y.is_finite() else arb.nan()


def _atan2(y: arb, x: arb) -> arb:
    """Return the angle of two numbers. On the cut the sign of a zero decides, but real numbers have no such sign."""
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


# --- shadow margins ---------------------------------------------------------------------------------------------------
#
# The errors of elementary functions on large arrays of narrow formats, from approximations in f64.
#
# Exponentials, logarithms, tanh and what follows from them are known to 2**-60 of the result
# (`halfulp.semantics.double_functions`). The others are approximations that are known up to a margin
# (`halfulp.fp_formats.paths.margins`), 2**-42 of the result in most cases: that is a hundred thousandth of an ulp of
# f32. What the radius of the operand does is bounded by the slope of the function.

Floats = npt.NDArray[np.float64]
Slope = Callable[[Floats, Floats, Floats], Floats]
"""A bound of the slope of a function less than a distance from a number: from the number, the function there, and the
distance, which is at most `_FARTHEST`. Not finite where nothing is known.
"""

_FARTHEST = 2.0**-4
_UNIT = 2.0**-53
_ULP = 2.0**-52
FEWEST = 64
"""The elements from which on this pays."""


def _constant(slope: float) -> Slope:
    return lambda x, y, d: np.full_like(x, slope)


def _growing(factor: float) -> Slope:
    """Return the slope of an exponential: it is a multiple of the function, and grows by less than exp(3 d) over a
    distance d.
    """
    return lambda x, y, d: np.abs(y) * (factor * (1 + 4 * d))


def _of_logarithm(factor: float, shift: float = 0.0) -> Slope:
    return lambda x, y, d: _positive(factor / ((x + shift) * (1 - _ULP) - d))


def _positive(slope: Floats) -> Floats:
    return np.where(slope > 0, slope, np.inf)


SLOPES: Mapping[str, Slope] = {
    "exp": _growing(1.0),
    "exp2": _growing(log(2) * 1.001),
    "expm1": lambda x, y, d: (np.abs(y) + 1) * (1 + 4 * d),
    "log": _of_logarithm(1.0),
    "log2": _of_logarithm(1.4427),
    "log10": _of_logarithm(0.4343),
    "log1p": _of_logarithm(1.0, 1.0),
    "sin": _constant(1.0),
    "cos": _constant(1.0),
    "sinpi": _constant(pi * 1.001),
    "cospi": _constant(pi * 1.001),
    "atan": _constant(1.0),
    "tanh": _constant(1.0),
    "asinh": _constant(1.0),
    "erf": _constant(1.1284),
    "erfc": _constant(1.1284),
    "sigmoid": _constant(0.2501),
    "silu": _constant(1.1),
    "gelu": _constant(1.13),
    "softplus": _constant(1.0),
    "rsqrt": lambda x, y, d: _positive(x * (1 - _ULP) - d) ** -1.5 * 0.501,
}
"""The functions that this covers."""


class FunctionErrors(NamedTuple):
    """The errors of results, and the radii up to which they are known. ``own``: the error of the function alone;
    ``total``: the error including that of the operand. ``settled``: the mask of elements whose errors are known; other
    entries have no meaning.
    """

    own: Floats
    own_radius: Floats
    total: Floats
    total_radius: Floats
    settled: npt.NDArray[np.bool_]


def covers(name: str, size: int) -> bool:
    """Tell whether this module can find the errors of a function for this number of elements. ``name``: the name of the
    function.
    """
    return name in SLOPES and name in APPROXIMATIONS and size >= FEWEST


def errors_by_margins(name: str, result: Floats, value: Floats, error: Floats, radius: Floats) -> FunctionErrors:
    """Return the errors of ``result``, numbers that a program computed as a function of ``value``.

    ``error``, ``radius``: the error of ``value``, and the radius up to which it is known.
    """
    double = DOUBLES.get(name)
    if double is not None:
        return _by_doubles(name, double, result, value, error, radius)
    row = APPROXIMATIONS[name]
    margin = row.margin * _ULP
    with np.errstate(all="ignore"):
        here = row.near(value)
        own, own_radius = _apart(here, result, margin)
        settled = ordinary(value, 0.0) & ordinary(here, 0.0) & np.isfinite(own)
        if not error.any() and not radius.any():
            return FunctionErrors(own, own_radius, own, own_radius, settled)
        argument = value + error
        distance = radius + _UNIT * np.abs(argument)
        there = row.near(argument)
        total, total_radius = _apart(there, result, margin)
        total_radius += SLOPES[name](argument, there, distance) * distance * (1 + 4 * _UNIT)
        settled &= (distance < _FARTHEST) & ordinary(argument, 0.0) & ordinary(there, 0.0) & np.isfinite(total_radius)
    return FunctionErrors(own, own_radius, total, total_radius, settled)


def _by_doubles(
    name: str, double: Callable[[Double], Double], result: Floats, value: Floats, error: Floats, radius: Floats
) -> FunctionErrors:
    """Return what `errors_by_margins` returns, for a function that `double` computes as a sum of two f64."""
    least, most = FARTHEST[name]
    with np.errstate(all="ignore"):
        here = double(Double(value, np.zeros_like(value)))
        own, own_radius = _apart_from(here, result)
        settled = (value > least) & (value < most) & ordinary(value, 0.0) & ordinary(here.high, 0.0) & np.isfinite(own)
        if not error.any() and not radius.any():
            return FunctionErrors(own, own_radius, own, own_radius, settled)
        argument = Double(*two_sum(value, error))
        distance = radius + 2.0**-100 * np.abs(argument.high)
        there = double(argument)
        total, total_radius = _apart_from(there, result)
        total_radius += SLOPES[name](argument.high, there.high, distance) * distance * (1 + 4 * _UNIT)
        settled &= (argument.high > least) & (argument.high < most) & (distance < _FARTHEST)
        settled &= ordinary(argument.high, 0.0) & ordinary(there.high, 0.0) & np.isfinite(total_radius)
    return FunctionErrors(own, own_radius, total, total_radius, settled)


def _apart_from(exact: Double, result: Floats) -> tuple[Floats, Floats]:
    difference, rest = two_sum(exact.high, -result)
    error = difference + (rest + exact.low)
    return error, np.abs(exact.high) * MARGIN + np.abs(error) * _ULP


def _apart(approximation: Floats, result: Floats, margin: float) -> tuple[Floats, Floats]:
    difference = approximation - result
    return difference, np.abs(approximation) * margin + np.abs(difference) * _ULP
