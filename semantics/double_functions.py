"""Elementary functions of arrays. Results are unevaluated sums of two f64; their relative errors are at most 2**-60.

The exponential is reduced to an argument below 0.0014, where few terms of its series are enough, and squared eight
times. Logarithms follow from it by one step of Newton's method, and the other functions from both.

Operands are sums of two f64 as well. The caller ensures that they lie between -690 and 690; those of a logarithm and of
`rsqrt` between 2**-900 and 2**900.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from halfulp.fp_formats.neighbours import Floats, two_sum

MARGIN = 2.0**-60
"""The error of a result, relative to it: a claim, which tests compare with Arb."""
_SPLIT = 2.0**27 + 1
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""ln 2, of which the first has 32 bits, so that an f64 holds its products with exponents."""
_SQUARINGS = 8


class Double(NamedTuple):
    """A number as the sum of two f64, which is not evaluated."""

    high: Floats
    low: Floats


def _product(a: Floats, b: Floats) -> Double:
    product = a * b
    high_a, high_b = _upper_half(a), _upper_half(b)
    low_a, low_b = a - high_a, b - high_b
    return Double(product, ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b)


def _upper_half(a: Floats) -> Floats:
    scaled = a * _SPLIT
    return scaled - (scaled - a)


def _add(a: Double, b: Double) -> Double:
    high, rest = two_sum(a.high, b.high)
    low, lost = two_sum(a.low, b.low)
    high, rest = two_sum(high, rest + low)
    return Double(*two_sum(high, rest + lost))


def _multiply(a: Double, b: Double) -> Double:
    high, rest = _product(a.high, b.high)
    return Double(*two_sum(high, rest + (a.high * b.low + a.low * b.high)))


def _scaled(a: Double, factor: float) -> Double:
    """Return the product with a power of two of either sign, which is exact."""
    return Double(a.high * factor, a.low * factor)


def _constant(high: float, low: float = 0.0) -> Double:
    return Double(np.asarray(high), np.asarray(low))


_ONE = _constant(1.0)


def _quotient(a: Double, b: Double) -> Double:
    first = a.high / b.high
    rest = _add(a, _scaled(_multiply(Double(first, np.zeros_like(first)), b), -1.0))
    return Double(*two_sum(first, (rest.high + rest.low) / b.high))


def _exponential(x: Double) -> tuple[Double, Double, Floats]:
    """Return exp(r) - 1, exp(r) and k, where x is r + k ln 2."""
    k = np.rint(x.high * 1.4426950408889634)
    low = _product(k, np.full_like(k, _LN2_LOW))
    r = _add(_add(x, Double(-k * _LN2_HIGH, np.zeros_like(k))), _scaled(low, -1.0))
    s = _scaled(r, 2.0**-_SQUARINGS)
    h = s.high
    series = h * h * h * (1 / 6 + h * (1 / 24 + h * (1 / 120 + h * (1 / 720 + h / 5040))))
    less = _add(_add(s, _scaled(_multiply(s, s), 0.5)), Double(series, np.zeros_like(series)))
    for _ in range(_SQUARINGS):
        less = _add(_scaled(less, 2.0), _multiply(less, less))
    return less, _add(_ONE, less), k


def _exp(x: Double) -> Double:
    _, power, k = _exponential(x)
    return Double(*(np.ldexp(each, k.astype(np.int64)) for each in power))


def _expm1(x: Double) -> Double:
    less, power, k = _exponential(x)
    whole = _add(Double(*(np.ldexp(each, k.astype(np.int64)) for each in power)), _constant(-1.0))
    return Double(*(np.where(k == 0, one, other) for one, other in zip(less, whole, strict=True)))


def _tanh(x: Double) -> Double:
    """Return tanh(x), computed from exp(2 |x|) - 1, in which 30 stands for all larger |x|."""
    sign = np.where(np.signbit(x.high), -1.0, 1.0)
    far = np.abs(x.high) > 30
    e = _expm1(Double(np.where(far, 60.0, 2 * sign * x.high), np.where(far, 0.0, 2 * sign * x.low)))
    found = _quotient(e, _add(e, _constant(2.0)))
    return Double(sign * found.high, sign * found.low)


def _sigmoid(x: Double) -> Double:
    e = _exp(_scaled(x, -1.0))
    return _quotient(Double(np.ones_like(e.high), np.zeros_like(e.high)), _add(_ONE, e))


def _log1p(u: Double, y: Floats, x: Double | None = None) -> Double:
    """Return the logarithm of 1 + u, or of x if x is far from 1, from an approximation y."""
    minus = Double(-y, np.zeros_like(y))
    whole = _add(_ONE, u) if x is None else x
    near = _add(u, _multiply(_add(_ONE, u), _expm1(minus)))
    far = _add(_multiply(whole, _exp(minus)), _constant(-1.0))
    d = np.where(np.abs(u.high) <= 0.5, near.high + near.low, far.high + far.low)
    return Double(*two_sum(y, d - d * d / 2))


def _log(x: Double) -> Double:
    u = _add(x, _constant(-1.0))
    close = np.abs(u.high) <= 0.5
    return _log1p(u, np.where(close, np.log1p(np.where(close, u.high, 0.0)), np.log(x.high)), x)


def _softplus(x: Double) -> Double:
    sign = np.where(np.signbit(x.high), 1.0, -1.0)
    e = _exp(Double(sign * x.high, sign * x.low))
    positive = x.high > 0
    return _add(Double(np.where(positive, x.high, 0.0), np.where(positive, x.low, 0.0)), _log1p(e, np.log1p(e.high)))


def _rsqrt(x: Double) -> Double:
    y = 1 / np.sqrt(x.high)
    left = _add(_ONE, _scaled(_multiply(_product(y, y), x), -1.0))
    h = left.high + left.low
    return Double(*two_sum(y, y * h * (0.5 + 0.375 * h)))


_LN2 = _constant(0.6931471805599453, 2.3190468138462996e-17)
_PER_LN2 = _constant(1.4426950408889634, 2.0355273740931033e-17)
_PER_LN10 = _constant(0.4342944819032518, 1.098319650216765e-17)

DOUBLES: Mapping[str, Callable[[Double], Double]] = {
    "exp": _exp,
    "exp2": lambda x: _exp(_multiply(x, _LN2)),
    "expm1": _expm1,
    "log": _log,
    "log1p": lambda x: _log1p(x, np.log1p(x.high)),
    "log2": lambda x: _multiply(_log(x), _PER_LN2),
    "log10": lambda x: _multiply(_log(x), _PER_LN10),
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "silu": lambda x: _multiply(x, _sigmoid(x)),
    "softplus": _softplus,
    "rsqrt": _rsqrt,
}
"""The functions by name."""
FARTHEST: Mapping[str, tuple[float, float]] = {
    name: (2.0**-900, 2.0**900) if name in ("log", "log2", "log10", "rsqrt") else (-690.0, 690.0) for name in DOUBLES
}
"""The operands for which the margin is claimed."""
