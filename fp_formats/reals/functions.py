"""The elementary functions: one row each, with its ball, its limits, its rational results, and what is known for
arguments near zero and for huge ones.

The limits are those of IEEE 754-2019, clause 9.2.1, and of C23, Annex F, where IEEE is silent. Number theory tells
which arguments give rational results:

- By Lindemann and Weierstrass, exp, sin and the functions made of them and their inverses are transcendental at each
  algebraic argument but those where a limit or `exact` says otherwise.
- By Niven, sinpi and cospi are rational at dyadic arguments only at multiples of 1/2.
- Roots and powers of rational numbers are decided by integers.
- By Siegel and Shidlovskii, e**-x times the Bessel function of order 1 is transcendental at algebraic arguments but 0.
- Of erf, erfc, erfinv, tgamma, lgamma, digamma and of both forms of gelu nothing is proved: their search ends with
  `Unsettled`.

Each row states its reason, which explanations and the documentation quote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from math import factorial, isqrt
from threading import RLock
from types import MappingProxyType
from typing import Any, NamedTuple

import flint
from flint import arb, fmpq

# --- enclosing --------------------------------------------------------------------------------------------------------
#
# What is known of an exact real result, and the cell of a grid in which an irrational one lies.
#
# A result that is not rational is never a value or a midpoint of a format. So the cell of a fine grid that holds it
# decides its rounding in each mode. Ziv's loop raises the precision of a ball until the ball lies in one cell.

MOST_PRECISION = 1 << 20
"""Bits of the last ball: a result that is not settled then is an error."""
BEYOND = 1 << 17
"""Each finite value of a format other than zero lies between 2**-BEYOND and 2**BEYOND (see `FloatFormat`)."""
_FIRST = 24  # bits of the first ball beyond those of the grid


class Kind(Enum):
    """Special results: zero, infinity and NaN."""

    ZERO = "zero"
    INFINITE = "infinity"
    NAN = "NaN"


class Special(NamedTuple):
    """A zero, an infinity or a NaN as the result. ``signals``: an infinity raises the flag divide-by-zero, a NaN the
    flag invalid.
    """

    kind: Kind
    sign: int = 0
    signals: bool = False


SPECIALS: Mapping[str, Special] = MappingProxyType(
    {
        "nan": Special(Kind.NAN, 0, True),
        "0": Special(Kind.ZERO),
        "-0": Special(Kind.ZERO, 1),
        "inf": Special(Kind.INFINITE),
        "-inf": Special(Kind.INFINITE, 1),
        "pole": Special(Kind.INFINITE, 0, True),
        "-pole": Special(Kind.INFINITE, 1, True),
    }
)
"""Special results by the words that tables use; poles raise divide-by-zero."""


class Near(NamedTuple):
    """A real number that is very close to the rational number ``value``: above it if ``direction`` is 1, below it if it
    is -1, at a distance of less than 2**``distance`` and more than 0.
    """

    value: Fraction
    direction: int
    distance: int


class Huge(NamedTuple):
    """A real number whose magnitude is above 2**BEYOND."""

    sign: int


class Cell(NamedTuple):
    """A real number of the given sign whose magnitude lies strictly between ``floor`` and ``floor`` + 1, times
    2**``exponent``.
    """

    sign: int
    floor: int
    exponent: int


Ball = Callable[[], arb]
"""Makes a ball that holds an irrational number, at the precision of the context."""
Grid = Callable[[int], int]
"""From the exponent of a magnitude's leading bit, the exponent of the grid that decides its rounding."""


class Unsettled(ArithmeticError):
    """The error for a result whose rounding no ball determines: a value or a midpoint of the format lies in each ball.

    ``ball``: the last ball, as text. ``precision``: the number of bits with which it was computed.
    """

    def __init__(self, ball: str, precision: int) -> None:
        super().__init__(ball, precision)
        self.ball = ball
        self.precision = precision

    def __str__(self) -> str:
        return f"a ball of {self.precision} bits does not settle the result: {self.ball}"


_context = RLock()  # python-flint has one precision for all threads


@contextmanager
def bits_of_precision(bits: int) -> Iterator[None]:
    """Compute balls with ``bits`` bits within the block. The blocks of other threads wait."""
    with _context:
        before = flint.ctx.prec
        flint.ctx.prec = bits
        try:
            yield
        finally:
            flint.ctx.prec = before


def exact_ball(significand: int, exponent: int) -> arb:
    """Return significand * 2**exponent as a ball of radius 0."""
    return arb((significand, exponent))


class Attempt(NamedTuple):
    """One turn of Ziv's loop: the precision in bits, the ball, and the cell around it; None if more bits are needed."""

    precision: int
    ball: arb
    cell: Cell | None


def attempts(ball: Ball, grid: Grid, most: int = MOST_PRECISION) -> Iterator[Attempt]:
    """Compute balls of rising precision until one lies in a cell, or ``most`` bits are reached."""
    precision = 53 + _FIRST
    while True:
        with bits_of_precision(precision):
            found = ball()
            cell = _cell(found, grid)
        yield Attempt(precision, found, cell)
        if cell is not None or precision >= most:
            return
        # A ball of low accuracy says how many bits are missing.
        accuracy = found.rel_accuracy_bits() if found.is_finite() else 0
        missing = max(0, precision - accuracy) if accuracy > 0 else 0
        precision = min(most, 2 * precision + missing)


def cell_of_ball(ball: Ball, grid: Grid, most: int = MOST_PRECISION) -> Cell:
    """Return the cell of an irrational number. Raises `Unsettled` for a number that ``most`` bits do not determine."""
    for attempt in attempts(ball, grid, most):
        last = attempt
    if last.cell is None:
        raise Unsettled(last.ball.str(20), last.precision)
    return last.cell


def _cell(ball: arb, grid: Grid) -> Cell | None:
    """Return the cell in which a whole ball lies; None if it lies in several."""
    if not ball.is_finite() or ball.contains(0):
        return None
    sign = int(ball < 0)
    magnitude = abs(ball)
    # The ends may lie in two binades. Of two grids the finer one is right for both.
    exponent = grid(leading_exponent(magnitude.lower()))
    floor = (magnitude * exact_ball(1, -exponent)).floor().unique_fmpz()
    return None if floor is None else Cell(sign, int(floor), exponent)


def leading_exponent(positive: arb) -> int:
    """Return the exponent of the leading bit of a positive number, given as a ball of radius 0."""
    significand, exponent = positive.man_exp()
    return int(significand).bit_length() - 1 + int(exponent)


def cell_near(near: Near, grid: Grid) -> Cell | None:
    """Return the cell of a number next to a rational one; None if it is not near enough."""
    value, direction, distance = near
    sign = int(value < 0) if value else int(direction < 0)
    outward = direction > 0 if not sign else direction < 0
    magnitude = abs(value)
    lead = magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - 1 if magnitude else -BEYOND
    exponent = grid(lead)
    # The magnitude is above 2**lead: the number has the sign of the value.
    if distance > exponent or (not outward and distance > lead):
        return None
    scaled = magnitude / Fraction(2) ** exponent
    floor, rest = divmod(scaled.numerator, scaled.denominator)
    if rest:  # of a value off the grid: both ends must lie in its cell
        # The part differs from 0 and 1 by at least 2**-(bits of its denominator): a shorter width changes nothing.
        width = Fraction(2) ** max(distance - exponent, -scaled.denominator.bit_length())
        part = Fraction(rest, scaled.denominator)
        return Cell(sign, floor, exponent) if (part + width <= 1 if outward else part >= width) else None
    return Cell(sign, floor if outward else floor - 1, exponent)


# --- rational results -------------------------------------------------------------------------------------------------
#
# Rational results of functions at dyadic arguments, found by integers: where no ball ever settles the rounding.
#
# Each function returns the rational result, or None where the result is irrational, or so long that it lies on no grid
# (more than `_LONGEST` bits). The reason why there are no others stands in `halfulp.fp_formats.reals.functions`.

_FARTHEST = 1 << 18
"""Larger exponents than any format's: such a power is huge or tiny, which needs no exact result."""
_LONGEST = 1 << 12
"""Longer significands than any format's: such a number is neither a value nor a midpoint, and a ball settles it."""


def integer_root(number: int, degree: int) -> int | None:
    """Return the root of a non-negative integer; None if the root is not an integer."""
    twos = (number & -number).bit_length() - 1
    if twos > 0:  # of a number of few digits and a large exponent, only the digits are worth a search
        odd = integer_root(number >> twos, degree) if twos % degree == 0 else None
        return None if odd is None else odd << twos // degree
    if number < 2:
        return number
    if degree >= number.bit_length():
        return None
    if degree == 2:
        root = isqrt(number)
        return root if root * root == number else None
    low, high = 1, 1 << -(-number.bit_length() // degree)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**degree <= number else (low, middle - 1)
    return low if low**degree == number else None


def root(x: Fraction, degree: int) -> Fraction | None:
    """Return the real root of x of a positive degree, if it is rational; for a negative x only of an odd degree."""
    if x < 0 and degree % 2 == 0:
        return None
    above, below = integer_root(abs(x.numerator), degree), integer_root(x.denominator, degree)
    if above is None or below is None:
        return None
    return Fraction(-above if x < 0 else above, below)


def integer_power(x: Fraction, n: int) -> Fraction | None:
    """Return x**n for x other than 0, if it is dyadic and short enough."""
    if n < 0:
        x, n = 1 / x, -n
    odd = abs(x.numerator)
    twos = (odd & -odd).bit_length() - 1
    odd >>= twos
    below = x.denominator.bit_length() - 1
    if n * abs(twos - below) > _FARTHEST:
        return None
    if x.denominator != 1 << below or (odd != 1 and n * (odd.bit_length() - 1) > _LONGEST):
        return None
    power = Fraction((-odd if x < 0 else odd) ** (n if odd != 1 else n % 2 or 2))
    return power * Fraction(2) ** ((twos - below) * n) if (twos - below) * n else power


def power(x: Fraction, y: Fraction) -> Fraction | None:
    """Return x**y for x > 0 and a dyadic y, if it is dyadic and short enough.

    With y = n / 2**k it is rational only if x is the 2**k-th power of a rational number.
    """
    degree = y.denominator
    base = x if degree == 1 else root(x, degree)
    return None if base is None else integer_power(base, y.numerator)


def binary_logarithm(x: Fraction) -> Fraction | None:
    """Return log2(x) if x is a power of two."""
    above, below = x.numerator, x.denominator
    if above & (above - 1) or below & (below - 1):
        return None
    return Fraction(above.bit_length() - below.bit_length())


def decimal_logarithm(x: Fraction) -> Fraction | None:
    """Return log10(x) if x is a power of ten; it is an integer, since x is dyadic."""
    if x.denominator != 1 or x.numerator.bit_length() > _LONGEST:
        return None
    rest, power_ = x.numerator, 0
    while rest % 10 == 0:
        rest, power_ = rest // 10, power_ + 1
    return Fraction(power_) if rest == 1 else None


# --- functions --------------------------------------------------------------------------------------------------------

Exact = Callable[..., Fraction | None]
Far = Callable[..., Near | Huge | None]
HALF = Fraction(1, 2)


def _never(*_: Any) -> None:
    return None


@dataclass(frozen=True)
class Limits:
    """The results of a function of one argument, as words, for arguments where the result is not a real number other
    than zero:

    ``nan`` (invalid), ``0``, ``-0``, ``inf``, ``-inf``; ``pole`` and ``-pole`` are infinities with divide-by-zero; any
    other word is a rational number, or ``real`` for a number that the ball encloses. The fields, such as
    ``minus_infinity``, are named after the arguments. ``domain``: the ends of the interval outside of which the result
    is NaN.
    """

    minus_infinity: str
    minus_zero: str
    plus_zero: str
    plus_infinity: str
    domain: tuple[Fraction | None, Fraction | None] = (None, None)


LINDEMANN = "by Lindemann and Weierstrass"
NIVEN = "by Niven"
FACTORS = "by unique factorisation"
SIEGEL = "by Siegel and Shidlovskii"
UNPROVED = ""
"""Why a function has no other rational results than those that its row names."""


@dataclass(frozen=True)
class Function:
    """A function of one exact real argument.

    ``ball``: a function from an exact ball of the argument to a ball that contains the result. ``exact``: the rational
    result of an argument, if it has one; `Special` for a zero or a pole there. ``far``: the known facts for arguments
    near zero or of huge magnitude, for which balls would need too many bits. ``formula``: the function in words.
    ``rational``: the arguments with a rational result, in words; ``proof``: why there are no others, `UNPROVED` if that
    is not known. ``series``: the first terms near 0 that ``far`` uses.
    """

    name: str
    ball: Callable[[arb], arb]
    limits: Limits
    exact: Callable[[Fraction], Fraction | Special | None] = _never
    far: Far = _never
    formula: str = field(kw_only=True)
    rational: str = field(kw_only=True)
    proof: str = field(default=LINDEMANN, kw_only=True)
    series: str = field(default="", kw_only=True)


# --- far out and near zero --------------------------------------------------------------------------------------------


def exponent_of(x: Fraction) -> int:
    """Return an exponent e with 2**(e - 2) < abs(x) < 2**e."""
    return x.numerator.bit_length() - x.denominator.bit_length() + 1


def _exponential(offset: int) -> Far:
    """Return what is known about offset + exp(c * x), 3 > c > 1/2: near zero about 1, far out huge or near the
    offset.
    """

    def far(x: Fraction) -> Near | Huge | None:
        if abs(x) >= 2 * BEYOND:
            return Huge(0) if x > 0 else Near(Fraction(offset), 1, -BEYOND)
        if x < -1:
            return Near(Fraction(offset), 1, -int(-x / 2))
        if not offset and abs(x) < Fraction(1, 16):
            return Near(Fraction(1), 1 if x > 0 else -1, exponent_of(x) + 2)
        return None

    return far


Decay = Callable[[Fraction], Fraction]
"""From the magnitude of an argument far out, a number of bits: the distance from the limit is below 2**-bits."""


def _half(x: Fraction) -> Fraction:
    return x / 2


def _half_square(x: Fraction) -> Fraction:
    return x * x / 2


def _distance(decay: Decay, x: Fraction) -> int:
    # Each decay is at least x / 2. The powers of huge arguments would take long.
    return -BEYOND if abs(x) >= 2 * BEYOND else -min(int(decay(abs(x))), BEYOND)


def _toward(low: Fraction, high: Fraction, decay: Decay = _half) -> Far:
    """Return what is known about a function that tends to ``low`` and ``high`` from within."""

    def far(x: Fraction) -> Near | None:
        if abs(x) < 8:
            return None
        return Near(high if x > 0 else low, -1 if x > 0 else 1, _distance(decay, x))

    return far


def _like_argument(direction: int, degree: int = 3) -> Far:
    """Return what is known near zero about x + ``direction`` * c * x**degree + ..., with 0 < c < 1."""

    def far(x: Fraction) -> Near | None:
        e = exponent_of(x)
        if e > -4:
            return None
        side = direction if degree % 2 == 0 or x > 0 else -direction
        return Near(x, side, degree * e)

    return far


def _either(*rules: Far) -> Far:
    def far(x: Fraction) -> Near | Huge | None:
        return next((found for rule in rules if (found := rule(x)) is not None), None)

    return far


def _hyperbolic(odd: bool) -> Far:
    def far(x: Fraction) -> Near | Huge | None:
        return Huge(int(odd and x < 0)) if abs(x) >= 2 * BEYOND else None

    return far


def _one_below(x: Fraction) -> Near | None:
    """Return what is known about cosines near zero: 1 - c * x**2, with c < 8."""
    e = exponent_of(x)
    return Near(Fraction(1), -1, 2 * e + 3) if e < -4 else None


def _one_above(x: Fraction) -> Near | None:
    e = exponent_of(x)
    return Near(Fraction(1), 1, 2 * e) if e < -4 else None


def _rectifier(side: int, decay: Decay = _half) -> Far:
    """Return what is known about functions that tend to x far above zero, and to 0 far below.

    ``side``: 1 if the function lies above x and above 0, -1 if below both.
    """

    def far(x: Fraction) -> Near | None:
        if abs(x) < 16:
            return None
        return Near(x if x > 0 else Fraction(0), side, _distance(decay, x))

    return far


def _erfc_far(x: Fraction) -> Near | None:
    if abs(x) < 8:
        return None
    distance = _distance(_half_square, x)
    return Near(Fraction(0), 1, distance) if x > 0 else Near(Fraction(2), -1, distance)


def _gamma_far(x: Fraction) -> Near | Huge | None:
    if exponent_of(x) < -4:  # 1 / x less a number between 0 and 1
        return Near(1 / x, -1, 0)
    if x > BEYOND:
        return Huge(0)
    if x < -BEYOND:  # the sign of gamma alternates between the poles
        return Near(Fraction(0), 1 if (x.numerator // x.denominator) % 2 == 0 else -1, -BEYOND)
    return None


def _digamma_far(x: Fraction) -> Near | None:
    # -1 / x - 0.58 + 1.64 * x, next to 0
    return Near(-1 / x, -1, 0) if exponent_of(x) < -4 else None


def _bessel_far(x: Fraction) -> Near | None:
    """Return what is known about x / 2 - c * x**2 next to 0, with 0 < c < 1."""
    e = exponent_of(x)
    return Near(x / 2, -1 if x > 0 else 1, 2 * e) if e < -4 else None


# --- rational results -------------------------------------------------------------------------------------------------


def _at(table: Mapping[Fraction, Special]) -> Callable[[Fraction], Special | None]:
    return table.get


_ZERO, _POLE, _MINUS_POLE = SPECIALS["0"], SPECIALS["pole"], SPECIALS["-pole"]


def _integers(base: int) -> Callable[[Fraction], Fraction | None]:
    def exact(x: Fraction) -> Fraction | None:
        return integer_power(Fraction(base), x.numerator) if x.denominator == 1 else None

    return exact


def _sine_of_half_turns(x: Fraction) -> Fraction | Special | None:
    """Return sinpi of multiples of 1/2; for integers, a zero with the sign of x."""
    if x.denominator > 2:
        return None
    if x.denominator == 1:
        return Special(Kind.ZERO, int(x < 0))
    return Fraction(1 if x.numerator % 4 == 1 else -1)


def _cosine_of_half_turns(x: Fraction) -> Fraction | Special | None:
    if x.denominator > 2:
        return None
    return _ZERO if x.denominator == 2 else Fraction(-1 if x.numerator % 2 else 1)


_LARGEST_FACTORIAL = 200
"""The odd part of a larger factorial has more bits than any significand: it lies on no grid."""


def _factorial(x: Fraction) -> Fraction | Special | None:
    if x.denominator != 1:
        return None
    if x <= 0:
        return SPECIALS["nan"]
    return Fraction(factorial(x.numerator - 1)) if x <= _LARGEST_FACTORIAL else None


def _digamma_pole(x: Fraction) -> Special | None:
    return SPECIALS["nan"] if x.denominator == 1 and x <= 0 else None


def _log_factorial(x: Fraction) -> Special | None:
    if x.denominator != 1:
        return None
    return _POLE if x <= 0 else _ZERO if x <= 2 else None


# --- balls ------------------------------------------------------------------------------------------------------------


def _sigmoid(x: arb) -> arb:
    return 1 / (1 + (-x).exp())


def _softplus(x: arb) -> arb:
    return x.exp().log1p() if x < 0 else x + (-x).exp().log1p()


def _mish(x: arb) -> arb:
    # tanh(log(1 + e)) = e * (e + 2) / (e * (e + 2) + 2), without cancellation
    e = x.exp()
    product = e * (e + 2)
    return x * product / (product + 2)


def _gelu(x: arb) -> arb:
    return x * (-x * arb(2).rsqrt()).erfc() / 2


def _gelu_tanh(x: arb) -> arb:
    # 1 + tanh(t) = 2 / (1 + exp(-2 t)), without cancellation
    inner = (2 / arb.pi()).sqrt() * (x + arb(fmpq(44715, 1000000)) * x**3)
    return x / (1 + (-2 * inner).exp())


def _log_gamma(x: arb) -> arb:
    # of a negative argument by reflection: gamma(x) * gamma(1 - x) * sin(pi * x) = pi
    return x.lgamma() if x > 0 else (arb.pi() / abs(x.sin_pi())).log() - (1 - x).lgamma()


# --- the table --------------------------------------------------------------------------------------------------------

_ODD = ("-0", "0")
_EXP = Limits("0", "1", "1", "inf")
_LOG = Limits("nan", "-pole", "-pole", "inf", (Fraction(0), None))
_WAVE = Limits("nan", *_ODD, "nan")
_ONE = Fraction(1)

_ROWS = (
    Function("exp", arb.exp, _EXP, far=_exponential(0), formula="e**x", rational="at 0", series="1 + x"),
    Function(
        "exp2", lambda x: (x * arb.const_log2()).exp(), _EXP, _integers(2), _exponential(0),
        formula="2**x", rational="at integers", proof=FACTORS, series="1 + 0.69 * x",
    ),
    Function(
        "exp10", lambda x: (x * arb.const_log10()).exp(), _EXP, _integers(10), _exponential(0),
        formula="10**x", rational="at integers", proof=FACTORS, series="1 + 2.3 * x",
    ),
    Function(
        "expm1", arb.expm1, Limits("-1", *_ODD, "inf"), far=_either(_exponential(-1), _like_argument(1, degree=2)),
        formula="e**x - 1", rational="at 0", series="x + x**2 / 2",
    ),
    Function("log", arb.log, _LOG, _at({_ONE: _ZERO}), formula="natural logarithm", rational="at 1"),
    Function(
        "log2", lambda x: x.log() / arb.const_log2(), _LOG, binary_logarithm,
        formula="log(x) / log(2)", rational="at powers of two", proof=FACTORS,
    ),
    Function(
        "log10", lambda x: x.log() / arb.const_log10(), _LOG, decimal_logarithm,
        formula="log(x) / log(10)", rational="at powers of ten", proof=FACTORS,
    ),
    Function(
        "log1p", arb.log1p, Limits("nan", *_ODD, "inf", (Fraction(-1), None)),
        _at({-_ONE: _MINUS_POLE}), _like_argument(-1, degree=2),
        formula="log(1 + x)", rational="at 0", series="x - x**2 / 2",
    ),
    Function(
        "sin", arb.sin, _WAVE, far=_like_argument(-1),
        formula="sine, x in radians", rational="at 0", series="x - x**3 / 6",
    ),
    Function(
        "cos", arb.cos, Limits("nan", "1", "1", "nan"), far=_one_below,
        formula="cosine, x in radians", rational="at 0", series="1 - x**2 / 2",
    ),
    Function(
        "tan", arb.tan, _WAVE, far=_like_argument(1),
        formula="tangent, x in radians", rational="at 0", series="x + x**3 / 3",
    ),
    Function(
        "sinpi", arb.sin_pi, _WAVE, _sine_of_half_turns,
        formula="sin(pi * x)", rational="at multiples of 1/2", proof=NIVEN,
    ),
    Function(
        "cospi", arb.cos_pi, Limits("nan", "1", "1", "nan"), _cosine_of_half_turns, _one_below,
        formula="cos(pi * x)", rational="at multiples of 1/2", proof=NIVEN, series="1 - 4.93 * x**2",
    ),
    Function(
        "asin", arb.asin, Limits("nan", *_ODD, "nan", (-_ONE, _ONE)), far=_like_argument(1),
        formula="inverse sine", rational="at 0", series="x + x**3 / 6",
    ),
    Function(
        "acos", arb.acos, Limits("nan", "real", "real", "nan", (-_ONE, _ONE)), _at({_ONE: _ZERO}),
        formula="inverse cosine", rational="at 1",
    ),
    Function(
        "atan", arb.atan, Limits("real", *_ODD, "real"), far=_like_argument(-1),
        formula="inverse tangent", rational="at 0", series="x - x**3 / 3",
    ),
    Function(
        "sinh", arb.sinh, Limits("-inf", *_ODD, "inf"), far=_either(_hyperbolic(True), _like_argument(1)),
        formula="hyperbolic sine", rational="at 0", series="x + x**3 / 6",
    ),
    Function(
        "cosh", arb.cosh, Limits("inf", "1", "1", "inf"), far=_either(_hyperbolic(False), _one_above),
        formula="hyperbolic cosine", rational="at 0", series="1 + x**2 / 2",
    ),
    Function(
        "tanh", arb.tanh, Limits("-1", *_ODD, "1"), far=_either(_toward(-_ONE, _ONE), _like_argument(-1)),
        formula="hyperbolic tangent", rational="at 0", series="x - x**3 / 3",
    ),
    Function(
        "asinh", arb.asinh, Limits("-inf", *_ODD, "inf"), far=_like_argument(-1),
        formula="inverse hyperbolic sine", rational="at 0", series="x - x**3 / 6",
    ),
    Function(
        "acosh", arb.acosh, Limits("nan", "nan", "nan", "inf", (_ONE, None)), _at({_ONE: _ZERO}),
        formula="inverse hyperbolic cosine", rational="at 1",
    ),
    Function(
        "atanh", arb.atanh, Limits("nan", *_ODD, "nan", (-_ONE, _ONE)),
        _at({_ONE: _POLE, -_ONE: _MINUS_POLE}), _like_argument(1),
        formula="inverse hyperbolic tangent", rational="at 0", series="x + x**3 / 3",
    ),
    Function(
        "sqrt", arb.sqrt, Limits("nan", *_ODD, "inf", (Fraction(0), None)), lambda x: root(x, 2),
        formula="square root", rational="at squares of rational numbers", proof=FACTORS,
    ),
    Function(
        "rsqrt", arb.rsqrt, Limits("nan", "-pole", "pole", "0", (Fraction(0), None)),
        lambda x: root(1 / x, 2),
        formula="1 / sqrt(x)", rational="at squares of rational numbers", proof=FACTORS,
    ),
    Function(
        "cbrt", lambda x: -(-x).root(3) if x < 0 else x.root(3), Limits("-inf", *_ODD, "inf"), lambda x: root(x, 3),
        formula="cube root", rational="at cubes of rational numbers", proof=FACTORS,
    ),
    Function(
        "erf", arb.erf, Limits("-1", *_ODD, "1"), far=_toward(-_ONE, _ONE, _half_square),
        formula="error function", rational="at 0", proof=UNPROVED,
    ),
    Function(
        "erfc", arb.erfc, Limits("2", "1", "1", "0"), far=_erfc_far,
        formula="1 - erf(x)", rational="at 0", proof=UNPROVED,
    ),
    Function(
        "tgamma", arb.gamma, Limits("nan", "-pole", "pole", "inf"), _factorial, _gamma_far,
        formula="gamma function", rational="at positive integers", proof=UNPROVED, series="1/x - 0.58",
    ),
    Function(
        "lgamma", _log_gamma, Limits("inf", "pole", "pole", "inf"), _log_factorial,
        formula="log(abs(tgamma(x)))", rational="at 1 and 2", proof=UNPROVED,
    ),
    Function(
        "digamma", arb.digamma, Limits("nan", "nan", "nan", "inf"), _digamma_pole, _digamma_far,
        formula="derivative of log(tgamma(x))", rational="nowhere", proof=UNPROVED, series="-1/x - 0.58",
    ),
    Function(
        "erfinv", arb.erfinv, Limits("nan", *_ODD, "nan", (-_ONE, _ONE)), _at({_ONE: _POLE, -_ONE: _MINUS_POLE}),
        formula="inverse of erf", rational="at 0", proof=UNPROVED,
    ),
    Function(
        "bessel_i1e", lambda x: x.bessel_i(1, scaled=True) if x > 0 else -(-x).bessel_i(1, scaled=True),
        Limits("-0", *_ODD, "0"), far=_bessel_far,
        formula="e**-abs(x) * (modified Bessel function of order 1)", rational="at 0", proof=SIEGEL,
        series="x / 2 - x * abs(x) / 2",
    ),
    Function(
        "sigmoid", _sigmoid, Limits("0", "1/2", "1/2", "1"), far=_toward(Fraction(0), _ONE),
        formula="1 / (1 + e**-x)", rational="at 0",
    ),
    Function(
        "silu", lambda x: x * _sigmoid(x), Limits("-0", *_ODD, "inf"), far=_rectifier(-1),
        formula="x * sigmoid(x)", rational="at 0",
    ),
    Function(
        "gelu", _gelu, Limits("-0", *_ODD, "inf"), far=_rectifier(-1, _half_square),
        formula="x * (1 + erf(x / sqrt(2))) / 2", rational="at 0", proof=UNPROVED,
    ),
    Function(
        "gelu_tanh", _gelu_tanh, Limits("-0", *_ODD, "inf"), far=_rectifier(-1, lambda x: x * x * x / 16),
        formula="x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2", rational="at 0", proof=UNPROVED,
    ),
    Function(
        "softplus", _softplus, Limits("0", "real", "real", "inf"), far=_rectifier(1),
        formula="log(1 + e**x)", rational="nowhere",
    ),
    Function(
        "mish", _mish, Limits("-0", *_ODD, "inf"), far=_rectifier(-1),
        formula="x * tanh(log(1 + e**x))", rational="at 0",
    ),
    Function(
        "logit", lambda x: (x / (1 - x)).log(), Limits("nan", "-pole", "-pole", "nan", (Fraction(0), _ONE)),
        _at({HALF: _ZERO, _ONE: _POLE}),
        formula="log(x / (1 - x))", rational="at 1/2",
    ),
    Function(
        "reciprocal", lambda x: 1 / x, Limits("-0", "-pole", "pole", "0"), lambda x: 1 / x,
        formula="1 / x", rational="at every number", proof=FACTORS,
    ),
)  # fmt: skip

FUNCTIONS: Mapping[str, Function] = MappingProxyType({row.name: row for row in _ROWS})
"""The functions of one argument, by name."""
