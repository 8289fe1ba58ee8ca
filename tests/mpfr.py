"""MPFR's functions by the names of halfulp, and its rounding modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gmpy2

from halfulp.fp_formats.policy import Rounding

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
MPFR_MODES = {
    Rounding.TO_NEAREST_EVEN: gmpy2.RoundToNearest,
    Rounding.DOWNWARD: gmpy2.RoundDown,
    Rounding.UPWARD: gmpy2.RoundUp,
    Rounding.TOWARD_ZERO: gmpy2.RoundToZero,
}
"""MPFR does not have ties away from zero."""
