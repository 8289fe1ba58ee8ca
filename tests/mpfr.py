"""MPFR's functions by the names of halfulp."""

import math
from collections.abc import Callable
from typing import Any

import gmpy2
import mpmath
from mpmath import mp

_NAMED_ALIKE = (
    *("exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "erf", "erfc"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
)
MPFR: dict[str, Callable[..., Any]] = {
    **{name: getattr(gmpy2, name) for name in _NAMED_ALIKE},
    "rsqrt": gmpy2.rec_sqrt,
    "tgamma": gmpy2.gamma,
    "lgamma": lambda x: gmpy2.lgamma(x)[0],
    "reciprocal": lambda x: 1 / x,
}
"""MPFR's functions of one argument. It has sinpi and cospi, but gmpy2 does not offer them."""
MPFR_OF_TWO: dict[str, Callable[..., Any]] = {"atan2": gmpy2.atan2, "hypot": gmpy2.hypot, "powf": lambda x, y: x**y}


# --- by mpmath --------------------------------------------------------------------------------------------------------
#
# Functions that MPFR lacks, by mpmath and by formulas that differ from those of halfulp.

_FAR = 30
"""Further out, gelu and gelu_tanh differ from their limits by less than the fraction `_TINY`; the others 8 times as far."""
_TINY = 1e-13
_SMALLEST = 1e-290
"""Less than the smallest number of each format of up to 16 bits but those of users."""

FORMULAS: dict[str, Callable[[Any], Any]] = {
    "sinpi": mpmath.sinpi,
    "cospi": mpmath.cospi,
    "sigmoid": lambda x: (1 + mpmath.tanh(x / 2)) / 2,
    "silu": lambda x: x * (1 + mpmath.tanh(x / 2)) / 2,
    "gelu": lambda x: x * mpmath.ncdf(x),
    "gelu_tanh": lambda x: x * (1 + mpmath.tanh(mpmath.sqrt(2 / mp.pi) * (x + x**3 * 44715 / 1000000))) / 2,
    "softplus": lambda x: -mpmath.log((1 - mpmath.tanh(x / 2)) / 2),
    "mish": lambda x: x * (1 - 2 / (1 + (1 + mpmath.exp(x)) ** 2)),
    "logit": lambda x: mpmath.log(x) - mpmath.log1p(-x),
}
_STEEP = {"gelu": 1100, "gelu_tanh": 4500}
NAMES = tuple(FORMULAS)
_OUT: dict[str, tuple[float, float | str]] = {
    # The limits at minus and plus infinity: 0 below or above zero, 1, and x from below or above.
    "sigmoid": (0, 1),
    "silu": (-0.0, "below"),
    "gelu": (-0.0, "below"),
    "gelu_tanh": (-0.0, "below"),
    "softplus": (0, "above"),
    "mish": (-0.0, "below"),
}


def between(name: str, x: float) -> float:
    """Return a float between the same boundaries of formats of up to 16 bits as the exact result."""
    special = _special(name, x)
    if special is not None:
        return special
    if name in _OUT and abs(x) > _FAR * (8 if name not in _STEEP else 1):
        return _far(name, x)
    with mp.workprec(_precision(name, x)):
        return to_odd(FORMULAS[name](mpmath.mpf(x)))


def _precision(name: str, x: float) -> int:
    """Return enough bits for a difference from a limit: of exp(-2 x), exp(-x**2 / 2) or exp(-0.08 x**3)."""
    if name not in _OUT:
        return 400
    return _STEEP[name] if abs(x) > 8 and name in _STEEP else 400 + int(3 * abs(x))


def _far(name: str, x: float) -> float:
    limit = _OUT[name][x > 0]
    if limit == 1:
        return 1 - _TINY
    if isinstance(limit, str):
        return x * (1 - _TINY if limit == "below" else 1 + _TINY)
    return math.copysign(_SMALLEST, limit)


def _special(name: str, x: float) -> float | None:
    if math.isnan(x):
        return math.nan
    if math.isinf(x):
        if name not in _OUT:
            return math.nan
        limit = _OUT[name][x > 0]
        return x if isinstance(limit, str) else float(limit)
    if name == "logit":
        return math.nan if x < 0 or x > 1 else -math.inf if x == 0 else math.inf if x == 1 else None
    if name == "sinpi" and x == int(x):
        return math.copysign(0.0, x)
    if name == "cospi" and x == int(x):
        return -1.0 if x % 2 else 1.0
    return x if x == 0 and name in ("silu", "gelu", "gelu_tanh", "mish") else None


def to_odd(number: Any) -> float:
    """Round to 50 bits; if that is not exact, to a number of 51 bits between two of 50 bits."""
    if number == 0:
        return 0.0
    significand, exponent = abs(number).man_exp
    excess = int(significand).bit_length() - 50
    if excess > 0 and int(significand) & (1 << excess) - 1:
        magnitude = math.ldexp(2 * (int(significand) >> excess) + 1, max(int(exponent) + excess - 1, -1000))
    else:
        magnitude = math.ldexp(int(significand), int(exponent))
    return -magnitude if number < 0 else magnitude
