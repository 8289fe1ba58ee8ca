"""Approximations of the elementary functions in f64, each with a margin, and the results that a margin settles.

NumPy and the C library promise no accuracy. The margins are claims about them, which are tested against Arb: the errors
that are known are a hundred times smaller and more, of gelu twenty times. A result that a margin does not settle is
computed by `halfulp.fp_formats.reals`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.exact import conversions
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.exact.encoding import round_f64
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask, slices
from halfulp.fp_formats.paths.error_free import Index
from halfulp.fp_formats.paths.tables import CHUNK
from halfulp.fp_formats.policy import FloatPolicy

Reals = npt.NDArray[np.float64]
Map = Callable[[Reals], Reals]

MARGIN = 1 << 11
"""The margin of most functions, in ulp of f64: an error of 2**-42 of the result, or up to twice as much."""
WIDEST = 1 << 15
"""The largest margin of any function."""
LONGEST_MANTISSA = 28
"""Mantissa bits of the longest format for which margins settle all but a few results."""
FARTHEST = 1000
"""The operands and the format of a result lie between 2**-FARTHEST and 2**FARTHEST."""

_F64 = FORMATS["f64"]
# Numbers below and above all those formats. They lie between the points of every grid.
_TINY, _HUGE = 2.0**-1020 * 4 / 3, 2.0**1020 * 4 / 3


def _itself(x: Reals) -> Reals:
    return x


@dataclass(frozen=True)
class Side:
    """A number that is close to a result and is never equal to it, so that the result is known to lie on one side.

    ``number``: a function from an operand to that number, exact or rounded to f64; 0 if nothing is known. ``outward``:
    True if the magnitude of the result is above that of the number, False if it is below; or a function that tells this
    for each operand.
    """

    number: Callable[[Reals], Any]
    outward: bool | Callable[[Reals], Any]


@dataclass(frozen=True)
class Approximation:
    """A function on arrays of f64, and the claim that its error is below ``margin`` ulp.

    The claim is for finite operands other than zero, of magnitudes between 2**-FARTHEST and 2**FARTHEST, where
    ``holds`` is true. The result is NaN exactly if the operand is outside of the domain of the function. ``overflows``:
    an infinity stands for a huge number, and not for a pole. ``underflows``: a zero stands for a tiny number of the
    same sign, and not for an exact zero. ``alike``: gives, for operands, numbers that are equal only for operands with
    the same result.
    """

    function: Map
    sides: tuple[Side, ...] = ()
    overflows: bool = False
    underflows: bool = False
    margin: int = MARGIN
    holds: Callable[[Reals, Reals], Mask] | None = None
    alike: Map = _itself

    def near(self, x: Reals) -> Reals:
        """Return numbers within the margin of the results, on the same side of the numbers of ``sides`` as the exact
        results.

        NaN for operands outside of the domain; an infinity for operands without a claim.
        """
        with np.errstate(all="ignore"):
            y = self.function(x)
            magnitude = np.absolute(y)
            unknown = np.zeros(y.shape, np.bool_)
            if not self.overflows:
                unknown |= magnitude == np.inf
            if not self.underflows:
                unknown |= magnitude == 0
            if self.holds is not None:
                unknown |= ~self.holds(x, y) & ~np.isnan(y)
            magnitude = np.clip(magnitude, _TINY, _HUGE)
            bits = magnitude.view(np.int64)
            for side in self.sides:
                number = np.absolute(np.asarray(side.number(x), np.float64)).view(np.int64)
                outward = side.outward(x) if callable(side.outward) else side.outward
                beside = number + np.where(outward, self.margin, -self.margin)
                bits[...] = np.where(np.absolute(bits - number) <= self.margin, beside, bits)
            magnitude[unknown] = np.inf
        return np.copysign(magnitude, y)


def fits(fmt: FloatFormat) -> bool:
    """Tell whether all finite values of a format except zero lie between 2**-FARTHEST and 2**FARTHEST."""
    return fmt.emax < FARTHEST and fmt.emin - fmt.mantissa_bits > -FARTHEST


def settled(y: Reals, margin: int, dst: FloatFormat) -> Mask:
    """Return a mask of the settled numbers: all numbers less than ``margin`` ulp away round to the same value of
    ``dst``, in each mode, with the same flags.

    All rounding boundaries lie on a grid: the values of the format with one more bit of precision, at any exponent. It
    holds the values and midpoints, also those of subnormals, and the boundary of tiny results. A number is settled if
    no point of the grid is nearer than the margin. Infinities and NaNs are not settled.
    """
    grid = np.uint64((1 << _F64.mantissa_bits - dst.mantissa_bits - 1) - 1)
    above = (y.view(np.uint64) + np.uint64(margin - 1)) & grid
    found: Mask = above >= np.uint64(2 * margin - 1)
    return found


# --- functions that NumPy lacks ---------------------------------------------------------------------------------------


def _each(function: Callable[[float], float], outside: float = math.nan) -> Map:
    """Return a function of Python's math as a function of arrays. An element outside of its domain gives ``outside``,
    and one that overflows gives infinity.
    """

    def safe(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return outside
        except OverflowError:
            return math.inf

    def of_array(x: Reals) -> Reals:
        flat = x.ravel().tolist()
        try:
            results = list(map(function, flat))
        except (ValueError, OverflowError):
            results = list(map(safe, flat))
        return np.array(results, np.float64).reshape(x.shape)

    return of_array


def _quarters(x: Reals) -> tuple[Reals, Reals]:
    """Return how many halves fit into abs(x), to nearest, modulo 4, and pi times the rest; the rest is exact before the
    product.
    """
    whole = np.fmod(np.absolute(x), 2)
    halves = np.rint(2 * whole)
    return np.fmod(halves, 4), np.pi * (whole - halves / 2)


def _sinpi(x: Reals) -> Reals:
    quarter, rest = _quarters(x)
    turned = np.where(np.fmod(quarter, 2) == 0, np.sin(rest), np.cos(rest))
    return np.where(quarter >= 2, -turned, turned) * np.sign(x)


def _cospi(x: Reals) -> Reals:
    quarter, rest = _quarters(x)
    turned = np.where(np.fmod(quarter, 2) == 0, np.cos(rest), -np.sin(rest))
    return np.where(quarter >= 2, -turned, turned)


def _sigmoid(x: Reals) -> Reals:
    return 1 / (1 + np.exp(-x))


def _gelu(x: Reals) -> Reals:
    return x * _erfc(x * -math.sqrt(0.5)) / 2


def _gelu_tanh(x: Reals) -> Reals:
    inner: Reals = math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)
    result: Reals = x / (1 + np.exp(-2 * inner))
    return result


def _softplus(x: Reals) -> Reals:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.absolute(x)))


def _mish(x: Reals) -> Reals:
    # tanh(log(1 + e)) = e * (e + 2) / (e * (e + 2) + 2) with e = exp(x); divided by e**2 where x > 0
    e = np.exp(-np.absolute(x))
    above, below = 1 + 2 * e, e * (e + 2)
    factor: Reals = np.where(x > 0, above / (above + 2 * e * e), below / (below + 2))
    return x * factor


def _logit(x: Reals) -> Reals:
    # 2 * x - 1 is exact where it cancels.
    middle = np.absolute(x - 0.5) < 0.25
    return np.where(middle, 2 * np.arctanh(np.where(middle, 2 * x - 1, 0)), np.log(x) - np.log1p(-x))


_erf, _erfc = _each(math.erf), _each(math.erfc)


def _erfinv(x: Reals) -> Reals:
    # From Winitzki's approximation, Halley's method on erf, and on erfc where erf is near 1.
    a = np.absolute(x)
    logarithm = np.log1p(-a * a)
    middle = 2 / (math.pi * 0.147) + logarithm / 2
    y = np.sqrt(np.sqrt(middle * middle - logarithm / 0.147) - middle)
    y = np.where(a < 1, y, 0)
    for _ in range(3):
        error = np.where(a < 0.5, _erf(y) - a, (1 - a) - _erfc(y))
        step = error * (math.sqrt(math.pi) / 2) * np.exp(y * y)
        y = y - step / (1 + y * step)
    y = np.where(a < 1, y, np.where(a == 1, np.inf, np.nan))
    return np.copysign(y, x)


_STIRLING = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160)
"""The coefficients of Stirling's series of digamma: Bernoulli numbers, divided by their index."""


def _digamma(x: Reals) -> Reals:
    # By the recurrence up to 12, then by Stirling's series; below 0 by reflection.
    y = np.where(x < 0, 1 - x, x)
    below = np.zeros_like(y)
    for _ in range(12):
        small = y < 12
        below = below + np.where(small, 1 / y, 0)
        y = np.where(small, y + 1, y)
    square = 1 / (y * y)
    series = np.zeros_like(y)
    for coefficient in reversed(_STIRLING):
        series = (series + coefficient) * square
    positive = np.log(y) - 1 / (2 * y) - series - below
    part = x - np.rint(x)
    cotangent = np.cos(np.pi * part) / np.sin(np.pi * part)
    return np.where(x > 0, positive, np.where(part == 0, np.nan, positive - np.pi * cotangent))


_BESSEL_FAR = 24
"""From this argument on, the asymptotic series of a Bessel function settles f64 before its terms grow."""


def _bessel_i1e(x: Reals) -> Reals:
    a = np.absolute(x)
    near = np.minimum(a, _BESSEL_FAR)
    term = total = near / 2
    for k in range(1, 60):
        term = term * (near * near / (4 * k * (k + 1)))
        total = total + term
    far = np.maximum(a, _BESSEL_FAR)
    tail, sum_ = np.ones_like(far), np.ones_like(far)
    for k in range(1, 30):
        tail = tail * ((2 * k - 3) * (2 * k + 1) / (8 * k)) / far
        sum_ = sum_ + tail
    small = np.exp(-near) * total
    return np.copysign(np.where(a < _BESSEL_FAR, small, sum_ / np.sqrt(2 * np.pi * far)), x)


# --- the table --------------------------------------------------------------------------------------------------------


def _constant(value: float) -> Callable[[Reals], float]:
    return lambda x: value


def _where(condition: Callable[[Reals], Mask], number: Callable[[Reals], Any]) -> Callable[[Reals], Any]:
    return lambda x: np.where(condition(x), number(x), 0.0)


def _positive(x: Reals) -> Mask:
    return x > 0


def _negative(x: Reals) -> Mask:
    return x < 0


def _modulo_turns(x: Reals) -> Reals:
    return np.fmod(x, 2)  # with the sign of x


def _off_half_turns(x: Reals) -> Mask:
    found: Mask = np.rint(2 * x) != 2 * x
    return found


_ONE = _constant(1.0)
_ABOVE_X, _BELOW_X, _BELOW_ONE = Side(_itself, True), Side(_itself, False), Side(_ONE, False)
_EXPONENTIAL = (Side(_ONE, _positive),)
_HALF_TURNS = (Side(_where(_off_half_turns, _ONE), False),)  # 1 is reached at multiples of 1/2
_RAMP = (_BELOW_X, Side(lambda x: x / 2, _positive))  # from x / 2 near zero to x far above

APPROXIMATIONS: Mapping[str, Approximation] = MappingProxyType(
    {
        "exp": Approximation(np.exp, _EXPONENTIAL, overflows=True, underflows=True),
        "exp2": Approximation(np.exp2, _EXPONENTIAL, overflows=True, underflows=True),
        "exp10": Approximation(lambda x: np.power(10.0, x), _EXPONENTIAL, overflows=True, underflows=True),
        "expm1": Approximation(
            np.expm1, (Side(_itself, _positive), Side(_where(lambda x: x < -1, _ONE), False)), overflows=True
        ),
        "log": Approximation(np.log),
        "log2": Approximation(np.log2),
        "log10": Approximation(np.log10),
        "log1p": Approximation(np.log1p, (Side(_itself, _negative),)),
        "sin": Approximation(np.sin, (_BELOW_X,)),
        "cos": Approximation(np.cos, (_BELOW_ONE,)),
        "tan": Approximation(np.tan, (Side(_where(lambda x: np.absolute(x) < 1, _itself), True),)),
        "sinpi": Approximation(_sinpi, _HALF_TURNS, alike=_modulo_turns),
        "cospi": Approximation(_cospi, _HALF_TURNS, alike=_modulo_turns),
        "asin": Approximation(np.arcsin, (_ABOVE_X,)),
        "acos": Approximation(np.arccos),
        "atan": Approximation(np.arctan, (_BELOW_X,)),
        "sinh": Approximation(np.sinh, (_ABOVE_X,), overflows=True),
        "cosh": Approximation(np.cosh, (Side(_ONE, True),), overflows=True),
        "tanh": Approximation(np.tanh, (_BELOW_X, _BELOW_ONE)),
        "asinh": Approximation(np.arcsinh, (_BELOW_X,)),
        "acosh": Approximation(np.arccosh),
        "atanh": Approximation(np.arctanh, (_ABOVE_X,)),
        "sqrt": Approximation(np.sqrt),
        "rsqrt": Approximation(lambda x: 1 / np.sqrt(x)),
        "cbrt": Approximation(np.cbrt),
        "erf": Approximation(_erf, (_BELOW_ONE,)),
        "erfc": Approximation(_erfc, (Side(_ONE, _negative), Side(_constant(2.0), False)), underflows=True),
        "tgamma": Approximation(
            _each(math.gamma),
            (Side(_where(lambda x: np.absolute(x) < 0.1, lambda x: 1 / x), _negative),),
            overflows=True,
            underflows=True,
        ),
        # Not near its zeros, where the error is not small beside the result.
        "lgamma": Approximation(
            _each(math.lgamma, math.inf),
            margin=WIDEST,
            alike=lambda x: np.where((x < 0) & (np.rint(x) == x), -1.0, x),
            holds=lambda x, y: np.absolute(y) > np.maximum(0.25, np.absolute(x) / 8),
        ),
        "digamma": Approximation(
            _digamma,
            (Side(_where(lambda x: np.absolute(x) < 0.1, lambda x: 1 / x), _positive),),
            margin=WIDEST,
            holds=lambda x, y: np.absolute(y) > 0.25,
        ),
        "erfinv": Approximation(_erfinv),
        "bessel_i1e": Approximation(_bessel_i1e, (Side(lambda x: x / 2, False),)),
        "sigmoid": Approximation(_sigmoid, (_BELOW_ONE, Side(_constant(0.5), _positive)), underflows=True),
        "silu": Approximation(lambda x: x / (1 + np.exp(-x)), _RAMP, underflows=True),
        "gelu": Approximation(_gelu, _RAMP, margin=WIDEST, underflows=True),
        "gelu_tanh": Approximation(_gelu_tanh, _RAMP, margin=WIDEST, underflows=True),
        "softplus": Approximation(_softplus, (Side(_where(_positive, _itself), True),), underflows=True),
        "mish": Approximation(_mish, (_BELOW_X, Side(lambda x: 3 * x / 5, _positive)), underflows=True),
        "logit": Approximation(_logit),
        "reciprocal": Approximation(lambda x: 1 / x),
    }
)
"""The functions of one argument, by the names of `halfulp.fp_formats.reals`."""


# --- elementary margins -----------------------------------------------------------------------------------------------
#
# Elementary functions of one argument on arrays of codes: rounded from f64 where a margin settles them.
#
# The specification computes the rest: special operands, exact results, what lies next to a rounding boundary.

Specification = Callable[[Codes], ArrayResult]


def applies(src: FloatFormat, dst: FloatFormat) -> bool:
    """Tell whether margins settle most results of a format that are rounded to ``dst``."""
    return src.bits <= 32 and fits(src) and dst.mantissa_bits <= LONGEST_MANTISSA and fits(dst)


def unary(
    name: str,
    src: FloatFormat,
    a: Codes,
    rounding: int,
    policy: FloatPolicy,
    dst: FloatFormat,
    specification: Specification,
) -> ArrayResult:
    """Return the results of a function for codes, with flags. ``specification`` computes the elements that no margin
    settles.
    """
    flat = a.reshape(-1)
    codes, flags = np.empty(a.size, dst.storage_dtype), np.empty(a.size, np.uint8)
    poison = np.zeros(a.size, np.bool_)
    for part in slices(a.size, CHUNK):
        found = _unary(name, src, flat[part], rounding, policy, dst, specification)
        put(ArrayResult(codes, poison, flags), part, found, slice(None))
    shaped = ArrayResult(codes.reshape(a.shape), poison.reshape(a.shape), flags.reshape(a.shape))
    return shaped if poison.any() else shaped._replace(poison=None)


def _unary(
    name: str,
    src: FloatFormat,
    a: Codes,
    rounding: int,
    policy: FloatPolicy,
    dst: FloatFormat,
    specification: Specification,
) -> ArrayResult:
    row = APPROXIMATIONS[name]
    x = conversions.convert(src, _F64, a).codes.view(np.float64)
    usual = np.flatnonzero(ordinary(x, least_operand(src, policy)))
    y = row.near(x[usual])
    outside = np.isnan(y)
    certain = settled(y, row.margin, dst) & ~outside
    rounded = round_f64(dst, y[certain].view(np.uint64), rounding, policy, want_flags=True)
    # The others, one of those that are alike: all outside of the domain are.
    other = usual[~certain]
    alike = np.where(outside[~certain], np.nan, row.alike(x[other]))
    _, first, which = np.unique(alike.view(np.uint64), return_index=True, return_inverse=True)
    special = np.ones(a.size, np.bool_)
    special[usual] = False
    apart = np.flatnonzero(special)
    codes, same = np.unique(a[apart], return_inverse=True)
    found = specification(np.concatenate((a[other[first]], codes)))
    result = ArrayResult(np.empty(a.size, dst.storage_dtype), np.zeros(a.size, np.bool_), np.empty(a.size, np.uint8))
    put(result, usual[certain], rounded, slice(None))
    put(result, other, found, which)
    put(result, apart, found, first.size + same)
    return result


def least_operand(fmt: FloatFormat, policy: FloatPolicy) -> float:
    """Return the magnitude below which the policy flushes operands: the smallest normal value; 0 if it flushes none."""
    return 2.0**fmt.emin if policy.flushing(fmt).operands else 0.0


def ordinary(x: Reals, least: float) -> Mask:
    """Return a mask of the operands for which the margins are claimed. ``least``: what `least_operand` returns."""
    magnitude = np.absolute(x)
    found: Mask = (magnitude >= max(least, 2.0**-FARTHEST)) & (magnitude < 2.0**FARTHEST)
    return found


def put(result: ArrayResult, where: Index | slice, part: ArrayResult, which: Index | slice) -> None:
    """Write the elements ``which`` of the result ``part`` to the elements ``where`` of ``result``."""
    for whole, each in zip(result, part, strict=True):
        if whole is not None and each is not None:
            whole[where] = each[which]
