"""Elementary functions of f64 on machine words: from sums of two f64, where these settle the result.

A *pair* is a sum of two numbers of f64 that is not evaluated, with about 100 bits. A row of `ROWS` gives a pair that
approximates the exact result with an error below 2**-66 of it, see `ERROR`. If both ends of that interval round to one
code, every number between them does, the exact result included. Otherwise the element is refused, and balls of
arbitrary precision decide (`halfulp.fp_formats.reals`). `halfulp.fp_formats.paths.word_functions` does the same for
f32, from single numbers of f64, and says what both have in common.

The polynomials are the series of Taylor, so their coefficients are fractions that need no table. Terms that are below
2**-20 of the sum are summed in f64. The next term that is left out is below 2**-70 of the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache, partial
from math import factorial, frexp
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.paths import llvm
from halfulp.fp_formats.paths.word_functions import (
    FAR,
    MAGIC,
    NEAREST,
    Described,
    applies,
    integer_near,
    last_places,
    over,
    parts_of,
    scaled,
    size_of,
    within,
)
from halfulp.fp_formats.paths.words import F64, Implementation, Real, Word
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.scalar import RD, RNE, RU

ERROR = 2.0**-66
"""The largest error of an approximation, relative to the result: a claim. The tests compare samples with Arb; the
errors that they see are less than a quarter of it.
"""
_BITS = F64.mantissa_bits
_FIELD = (1 << F64.exponent_bits) - 1
_ODD, _LINEAR = 2.0**-28, 2.0**-56
"""Below these operands, no value of f64 lies between a result and the number that it approaches at zero, and none of
its midpoints; see the numbers of these names in `word_functions`.
"""
_MAGIC_CODE = int(np.float64(MAGIC).view(np.uint64))
_NEGLIGIBLE = 200
"""Powers of two with larger exponents do not change a pair that is near one."""


# --- pairs ------------------------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    """The sum of two numbers. The second one is at most about an ulp of the first."""

    high: Real
    low: Real


def _single(x: Real) -> Pair:
    return Pair(x, x.of(0.0))


def _constant(like: Real, number: Fraction) -> Pair:
    return Pair(*map(like.of, _cut(number, F64.precision, F64.precision)))


def _cut(number: Fraction, *bits: int) -> list[float]:
    """Return numbers whose sum is a fraction, about: each is rounded to its number of bits."""
    found = list[float]()
    for each in bits:
        unit = Fraction(2) ** (frexp(float(number))[1] - each)
        found.append(float(round(number / unit) * unit))
        number -= Fraction(found[-1])
    return found


def _sum(a: Real, b: Real) -> Pair:
    """Return the exact sum of two numbers."""
    total = a + b
    of_b = total - a
    return Pair(total, (a - (total - of_b)) + (b - of_b))


def _sum_of_sorted(a: Real, b: Real) -> Pair:
    """Return the exact sum of two numbers, of which the first is zero or not the smaller one."""
    total = a + b
    return Pair(total, b - (total - a))


def _product(a: Real, b: Real) -> Pair:
    """Return the exact product of two numbers, if nothing underflows or overflows."""
    product = a * b
    if llvm.fuses():
        return Pair(product, a.fused(b, product * -1.0))
    (ah, al), (bh, bl) = _halves(a), _halves(b)
    return Pair(product, ((ah * bh - product) + ah * bl + al * bh) + al * bl)


def _halves(a: Real) -> tuple[Real, Real]:
    large = a * (2.0**27 + 1)
    high = large - (large - a)
    return high, a - high


def _times_plus(a: Real, b: Real, c: Real) -> Real:
    """Return a * b + c, rounded once or twice."""
    return a.fused(b, c) if llvm.fuses() else a * b + c


def _negated(a: Pair) -> Pair:
    return Pair(a.high * -1.0, a.low * -1.0)


def _settled(a: Pair) -> Pair:
    """Return the pair of the same sum whose first number is the nearest to it."""
    return _sum_of_sorted(a.high, a.low)


def _add(a: Pair, b: Pair) -> Pair:
    total, rest = _sum(a.high, b.high)
    return _settled(Pair(total, rest + (a.low + b.low)))


def _add_smaller(a: Pair, b: Pair) -> Pair:
    """Return a sum of two pairs, of which the first is zero or not the smaller one."""
    total, rest = _sum_of_sorted(a.high, b.high)
    return Pair(total, rest + (a.low + b.low))


def _times(a: Pair, b: Pair) -> Pair:
    product, rest = _product(a.high, b.high)
    return Pair(product, _times_plus(a.high, b.low, _times_plus(a.low, b.high, rest)))


def _halved(a: Pair) -> Pair:
    return Pair(a.high * 0.5, a.low * 0.5)


def _quotient(a: Pair, b: Pair) -> Pair:
    first = over(a.high, b.high)
    product = _times(_single(first), b)
    rest = ((a.high - product.high) - product.low) + a.low
    return _settled(Pair(first, over(rest, b.high)))


def _root(a: Pair) -> Pair:
    first = a.high.square_root()
    square = _product(first, first)
    rest = ((a.high - square.high) - square.low) + a.low
    return _settled(Pair(first, over(rest, first + first)))


def _chosen(condition: Word, a: Pair, b: Pair) -> Pair:
    return Pair(condition.choose(a.high, b.high), condition.choose(a.low, b.low))


def _like_sign_of(x: Real, a: Pair) -> Pair:
    """Return a pair, which is not negative, with the sign of x."""
    return _chosen(x.less(0.0), _negated(a), a)


def _series(x: Pair, coefficients: Sequence[Fraction], long: int) -> Pair:
    """Return the sum of coefficients times powers of x. The first ``long`` terms are added as pairs."""
    total = x.high.of(float(coefficients[-1]))
    for each in reversed(coefficients[long:-1]):
        total = _times_plus(total, x.high, total.of(float(each)))
    found = _single(total)
    for each in reversed(coefficients[:long]):
        found = _add_smaller(_constant(x.high, each), _times(x, found))
    return found


# --- constants --------------------------------------------------------------------------------------------------------

_LN2 = Fraction("0.69314718055994530941723212145817656807550013436025525412068000949339362196969")
_LN10 = Fraction("2.30258509299404568401799145468436420760110148862877297603332790096757260967735")
_PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620")
_LOG10_2 = _LN2 / _LN10
_SHORT = 41
"""The bits of a constant whose products with exponents are exact."""
_QUARTER_BITS = 33
"""The bits of parts of pi / 2 whose products with integers below 2**20 are exact."""

_EXP = [Fraction(1, factorial(k)) for k in range(1, 18)]
"""(exp(r) - 1) / r for sizes of r up to log(2) / 2."""
_LOG = [Fraction(2, 2 * j + 1) for j in range(14)]
"""2 * atanh(s) / s, of s**2, for sizes of s up to (sqrt(2) - 1) / (sqrt(2) + 1)."""
_SIN = [Fraction((-1) ** j, factorial(2 * j + 1)) for j in range(11)]
"""sin(r) / r, of r**2, for sizes of r up to pi / 4."""
_COS = [Fraction((-1) ** j, factorial(2 * j)) for j in range(12)]
"""cos(r), of r**2, for sizes of r up to pi / 4."""
_ATAN = [Fraction((-1) ** j, 2 * j + 1) for j in range(29)]
"""atan(u) / u, of u**2, for sizes of u up to sqrt(2) - 1."""


# --- exponentials -----------------------------------------------------------------------------------------------------


class Power(NamedTuple):
    """A number 2**k * (1 + rest), for sizes of its logarithm up to log(2) / 2 from that of the power of two."""

    rest: Pair
    k: Real
    shift: Word


def _less_multiple(x: Real, k: Real, of: Fraction) -> Pair:
    """Return x - k * ``of``, a difference that is less than about half of ``of``."""
    first, second, third = _cut(of, _SHORT, F64.precision, F64.precision)
    near = x - k * first  # exact
    product, rest = _product(k, x.of(second))
    total, lost = _sum(near, product * -1.0)
    return _settled(Pair(total, (lost - rest) - k * third))


def _power(r: Pair, k: Real, shift: Word) -> Power:
    return Power(_settled(_times(r, _series(r, _EXP, 6))), k, shift - _MAGIC_CODE)


def _natural(x: Real, least: float, most: float) -> Power:
    """Return exp(x); of an operand outside of the range, that of the end of the range."""
    x = within(x, least, most)
    k, shift = integer_near(x * float(1 / _LN2))
    return _power(_less_multiple(x, k, _LN2), k, shift)


def _two_to(like: Real, shift: Word) -> Real:
    """Return 2**shift, a normal number."""
    return scaled(like.of(1.0), shift)


def _small_power(of: Power, times: int) -> Real:
    """Return 2**(times * k), or a power that is as negligible beside one."""
    limited = within(of.k * float(times), -float(_NEGLIGIBLE), float(_NEGLIGIBLE))
    return _two_to(of.k, integer_near(limited)[1])


def _one_plus(a: Pair) -> Pair:
    total, rest = _sum_of_sorted(a.high.of(1.0), a.high)
    return Pair(total, rest + a.low)


class Approximated(NamedTuple):
    """The approximation of a result: the sum of a pair, times 2**shift, if it is given. The sum is normal."""

    sum: Pair
    shift: Word | None = None


def _whole(power: Power) -> Approximated:
    return Approximated(_one_plus(power.rest), power.shift)


def _exp(x: Real) -> Approximated:
    return _whole(_natural(x, -750.0, 715.0))


def _exp2(x: Real) -> Approximated:
    near = within(x, -1100.0, 1100.0)
    k, shift = integer_near(near)
    return _whole(_power(_times(_single(near - k), _constant(x, _LN2)), k, shift))


def _exp10(x: Real) -> Approximated:
    near = within(x, -330.0, 310.0)
    k, shift = integer_near(near * float(1 / _LOG10_2))
    rest = _less_multiple(near, k, _LOG10_2)
    return _whole(_power(_settled(_times(rest, _constant(x, _LN10))), k, shift))


def _less_one(power: Power) -> Pair:
    """Return 2**-k * (a power - 1)."""
    one, rest = _sum(power.k.of(1.0), _small_power(power, -1) * -1.0)
    return _add(Pair(one, rest), power.rest)


def _expm1(x: Real) -> Approximated:
    power = _natural(x, -45.0, 715.0)
    return Approximated(_less_one(power), power.shift)


def _hyperbolic(x: Real) -> tuple[Power, Pair, Pair]:
    """Return exp(abs(x)), this without its power of two, and exp(-abs(x)) divided by the same."""
    power = _natural(size_of(x), 0.0, 715.0)
    large = _one_plus(power.rest)
    small, factor = _quotient(_single(x.of(1.0)), large), _small_power(power, -2)
    return power, large, Pair(small.high * factor, small.low * factor)


def _sinh(x: Real) -> Approximated:
    power, large, small = _hyperbolic(x)
    # Near zero both exponentials are near one.
    near = _add(power.rest, _quotient(power.rest, large))
    found = _chosen(power.k.equals(0.0), near, _add(large, _negated(small)))
    return Approximated(_like_sign_of(x, _halved(found)), power.shift)


def _cosh(x: Real) -> Approximated:
    power, large, small = _hyperbolic(x)
    return Approximated(_halved(_add(large, small)), power.shift)


def _tanh(x: Real) -> Approximated:
    power = _natural(within(size_of(x), 0.0, 25.0) * 2.0, 0.0, 50.0)
    less = _less_one(power)
    factor = _small_power(power, -1) * 2.0
    return Approximated(_like_sign_of(x, _quotient(less, _add(less, _single(factor)))))


def _sigmoid(x: Real) -> Approximated:
    power = _natural(size_of(x) * -1.0, -750.0, 0.0)
    part, factor = _one_plus(power.rest), _small_power(power, 1)
    below = _add(_single(x.of(1.0)), Pair(part.high * factor, part.low * factor))
    negative = x.less(0.0)
    above = _chosen(negative, part, _single(x.of(1.0)))
    return Approximated(_quotient(above, below), negative.choose(power.shift, power.shift.of(0)))


# --- logarithms -------------------------------------------------------------------------------------------------------


def _logarithm(f: Pair) -> Pair:
    """Return log(1 + f) for f between sqrt(1/2) - 1 and sqrt(2) - 1."""
    two = f.high.of(2.0)
    s = _quotient(f, _add_smaller(_single(two), f))
    square = _settled(_times(s, s))
    return _settled(_times(s, _series(square, _LOG, 4)))


def _with_exponent(k: Real, unit: Fraction, rest: Pair) -> Pair:
    """Return k * ``unit`` + rest, where ``unit`` is the logarithm of 2."""
    first, second, third = _cut(unit, _SHORT, F64.precision, F64.precision)
    product, lost = _product(k, k.of(second))
    total, left = _sum_of_sorted(k * first, rest.high)
    low, more = _sum(product, rest.low + left)
    return _settled(Pair(total, low + (more + (lost + k * third))))


def _normal_parts(x: Real) -> tuple[Real, Real]:
    """Return what `parts_of` does, also for subnormal numbers."""
    small = x.less(2.0**-1022)
    f, k = parts_of(small.choose(x * 2.0**60, x))
    return f, k - small.choose(x.of(60.0), x.of(0.0))


def _log(x: Real) -> Approximated:
    f, k = _normal_parts(x)
    return Approximated(_with_exponent(k, _LN2, _logarithm(_single(f))))


def _log2(x: Real) -> Approximated:
    f, k = _normal_parts(x)
    rest = _settled(_times(_logarithm(_single(f)), _constant(x, 1 / _LN2)))
    return Approximated(_settled(_add_smaller(_single(k), rest)))


def _log10(x: Real) -> Approximated:
    f, k = _normal_parts(x)
    rest = _settled(_times(_logarithm(_single(f)), _constant(x, 1 / _LN10)))
    return Approximated(_with_exponent(k, _LOG10_2, rest))


def _log_one_plus(a: Pair) -> Pair:
    """Return log(1 + a) for a from -1 on, that is 0 or not below 2**-1000 in size."""
    x = a.high
    near = x.of(-0.29).less(x) & x.less(0.41)
    whole = _add(_single(x.of(1.0)), a)
    f, k = parts_of(whole.high)
    limited = within(k * -1.0, -float(_NEGLIGIBLE), float(_NEGLIGIBLE))
    low = whole.low * _two_to(x, integer_near(limited)[1])
    f_pair = _chosen(near, a, Pair(f, low))
    return _with_exponent(near.choose(k.of(0.0), k), _LN2, _logarithm(f_pair))


def _log1p(x: Real) -> Approximated:
    return Approximated(_log_one_plus(_single(x)))


_LARGE = 2.0**60
"""From this size on, the square of a number absorbs one."""


def _asinh(x: Real) -> Approximated:
    """The inverse of sinh: log(x + sqrt(1 + x**2))."""
    far, a = size_of(x), within(size_of(x), 0.0, _LARGE)
    square = _product(a, a)
    root = _root(_add(_single(x.of(1.0)), square))
    more = _quotient(square, _add(_single(x.of(1.0)), root))
    near = _log_one_plus(_add(_single(a), more))
    return Approximated(_like_sign_of(x, _chosen(x.of(_LARGE).less(far), _log_of_double(far), near)))


def _acosh(x: Real) -> Approximated:
    a = within(x, 1.0, _LARGE)
    less, more = _sum(a, a.of(-1.0)), _sum(a, a.of(1.0))
    near = _log_one_plus(_add(less, _root(_settled(_times(less, more)))))
    return Approximated(_chosen(x.of(_LARGE).less(x), _log_of_double(x), near))


def _log_of_double(x: Real) -> Pair:
    f, k = parts_of(x)
    return _with_exponent(k + 1.0, _LN2, _logarithm(_single(f)))


def _atanh(x: Real) -> Approximated:
    a = size_of(x)
    inner = _quotient(_single(a + a), _sum(a.of(1.0), a * -1.0))
    return Approximated(_like_sign_of(x, _halved(_log_one_plus(inner))))


# --- angles -----------------------------------------------------------------------------------------------------------


def _turned(x: Real) -> tuple[Pair, Word]:
    """Return r and the integer n with x = r + n * pi / 2, for sizes of x below `FAR`."""
    n, word = integer_near(x * float(2 / _PI))
    first, second, third, fourth = _cut(_PI / 2, _QUARTER_BITS, _QUARTER_BITS, _QUARTER_BITS, F64.precision)
    total, rest = _sum(x - n * first, n * -second)
    total, more = _sum(total, n * -third)
    return _settled(Pair(total, (rest + more) + n * -fourth)), word


_LIMBS, _LIMB = 3, 64
_CHUNK = 48


@cache
def _quarters() -> tuple[npt.NDArray[np.uint64], ...]:
    """Return three tables, by the exponent field of f64: the 192 first bits of 2 / pi times the last place of such a
    number, modulo 4.
    """
    bits = _LIMBS * _LIMB - 2
    rows = last_places(F64, bits)
    mask = (1 << _LIMB) - 1
    return tuple(
        np.array([row >> _LIMB * place & mask for row in rows], np.uint64) for place in reversed(range(_LIMBS))
    )


def _turned_far(x: Real) -> tuple[Pair, Word]:
    """Return r and n as `_turned`, for numbers of any size from 1 on."""
    code = x.code()
    field = code.shift_right(_BITS) & _FIELD
    m = ((code & F64.fraction_mask) | (1 << _BITS)).resized(2 * _LIMB)
    first, second, third = (field.entry(table).resized(2 * _LIMB) for table in _quarters())
    # m times the three limbs, modulo 2**192.
    low = m * third
    middle = m * second + low.shift_right(_LIMB)
    top = (m * first + middle.shift_right(_LIMB)).resized(_LIMB)
    limbs = [top, middle.resized(_LIMB), low.resized(_LIMB)]
    n = (top + (1 << _LIMB - 3)).shift_right(_LIMB - 2)
    limbs[0] = top - (n << _LIMB - 2)
    negative = limbs[0].less(0, signed=True)
    flips = negative.resized(_LIMB, signed=True)
    a, b, c = (each ^ flips for each in limbs)
    # Four numbers of 48 bits, whose sum is the fraction.
    mask, half = (1 << _CHUNK) - 1, _LIMB - _CHUNK
    pieces = (
        a.shift_right(half),
        ((a << _CHUNK - half) & mask) | b.shift_right(2 * half),
        ((b << half) & mask) | c.shift_right(_CHUNK),
        c & mask,
    )
    numbers = [each.number(True, F64) * 2.0 ** (2 - _CHUNK * place) for place, each in enumerate(pieces, 1)]
    total, rest = _sum_of_sorted(numbers[0], numbers[1])
    total, more = _sum(total, numbers[2])
    r = _settled(_times(_settled(Pair(total, (rest + more) + numbers[3])), _constant(x, _PI / 2)))
    minus = x.less(0.0)
    r = _chosen(negative ^ minus, _negated(r), r)
    return r, minus.choose(n.of(0) - n, n)


Turned = Callable[[Real], tuple[Pair, Word]]


def _sides(x: Real, turned: Turned) -> tuple[Pair, Pair, Word]:
    """Return the sine and the cosine of the rest of an angle, and its number of quarters."""
    r, n = turned(x)
    square = _settled(_times(r, r))
    return _settled(_times(r, _series(square, _SIN, 4))), _settled(_series(square, _COS, 5)), n


def _sin(x: Real, turned: Turned = _turned) -> Approximated:
    sine, cosine, n = _sides(x, turned)
    found = _chosen((n & 1).equals(0), sine, cosine)
    return Approximated(_chosen((n & 2).equals(0), found, _negated(found)))


def _cos(x: Real, turned: Turned = _turned) -> Approximated:
    sine, cosine, n = _sides(x, turned)
    found = _chosen((n & 1).equals(0), cosine, sine)
    return Approximated(_chosen(((n + 1) & 2).equals(0), found, _negated(found)))


def _tan(x: Real, turned: Turned = _turned) -> Approximated:
    sine, cosine, n = _sides(x, turned)
    even = (n & 1).equals(0)
    found = _quotient(_chosen(even, sine, cosine), _chosen(even, cosine, sine))
    return Approximated(_chosen(even, found, _negated(found)))


def _angle(above: Pair, below: Pair) -> Pair:
    """Return the angle of the point (below, above), neither of which is negative, and one of which is not zero."""
    like = above.high
    steep = below.high.less(above.high)
    short, long = _chosen(steep, below, above), _chosen(steep, above, below)
    # Between 22.5 and 45 degrees, from 45 degrees.
    beyond = (long.high * 0.41421356).less(short.high)
    top = _chosen(beyond, _add(short, _negated(long)), short)
    u = _quotient(top, _chosen(beyond, _add(short, long), long))
    square = _settled(_times(u, u))
    found = _settled(_times(u, _series(square, _ATAN, 8)))
    found = _chosen(beyond, _add(_constant(like, _PI / 4), found), found)
    return _chosen(steep, _add(_constant(like, _PI / 2), _negated(found)), found)


def _atan(x: Real) -> Approximated:
    # From 2**100 on, the angle is less than 2**-99 from pi / 2.
    return Approximated(_like_sign_of(x, _angle(_single(within(size_of(x), 0.0, 2.0**100)), _single(x.of(1.0)))))


def _other_side(a: Real) -> Pair:
    """Return sqrt(1 - a**2)."""
    one = a.of(1.0)
    return _root(_settled(_times(_sum(one, a), _sum(one, a * -1.0))))


def _asin(x: Real) -> Approximated:
    a = size_of(x)
    return Approximated(_like_sign_of(x, _angle(_single(a), _other_side(a))))


def _acos(x: Real) -> Approximated:
    a = size_of(x)
    found = _angle(_other_side(a), _single(a))
    return Approximated(_chosen(x.less(0.0), _add(_constant(x, _PI), _negated(found)), found))


# --- roots ------------------------------------------------------------------------------------------------------------


def _rsqrt(x: Real) -> Approximated:
    first = over(x.of(1.0), x.square_root())
    square = _times(_product(x, first), _single(first))
    rest = (x.of(1.0) - square.high) - square.low
    return Approximated(_settled(Pair(first, first * rest * 0.5)))


# --- the table --------------------------------------------------------------------------------------------------------


class Beside(NamedTuple):
    """A value of f64 next to which a result lies. ``holds``: tells where; ``above``: whether the result is larger."""

    holds: Word
    value: Real
    above: Word


@dataclass(frozen=True)
class Row:
    """A function of f64 by pairs.

    ``function``: the approximation, for numbers in the domain that are not among the points. ``beside``: where results
    lie next to a value. ``points``, ``outside``, ``exact``, ``far``: as in `word_functions.Row`. ``ends``: as in
    `word_functions.Described`.
    """

    function: Callable[[Real], Approximated]
    beside: Callable[[Real], Beside] | None = None
    points: tuple[float, ...] = ()
    outside: Callable[[Real], Word] | None = None
    exact: Callable[[Real, Real], Word] | None = None
    far: Callable[[Real], Approximated] | None = None
    ends: tuple[float, ...] = ()


def _beside(value: float, above: Callable[[Real], Word], below: float = _LINEAR) -> Callable[[Real], Beside]:
    """Return a function of results next to a value, for operands that are smaller than ``below``."""
    return lambda x: Beside(size_of(x).less(below), x.of(value), above(x))


def _itself(above: Callable[[Real], Word], below: float = _ODD) -> Callable[[Real], Beside]:
    """Return a function of results next to the operand."""
    return lambda x: Beside(size_of(x).less(below), x, above(x))


def _positive(x: Real) -> Word:
    return x.of(0.0).less(x)


def _negative(x: Real) -> Word:
    return x.less(0.0)


def _always(x: Real) -> Word:
    return x.equals(x)


def _never(x: Real) -> Word:
    return ~x.equals(x)


def _beyond_one(x: Real) -> Word:
    return x.of(1.0).less(size_of(x))


def _whole_number(x: Real, y: Real) -> Word:
    near = within(x, -(2.0**50), 2.0**50)
    return integer_near(near)[0].equals(x)


def _is_power(x: Real, y: Real) -> Word:
    return _normal_parts(x)[0].equals(0.0)


def _is_square_of_power(x: Real, y: Real) -> Word:
    return _is_power(x, y) & (y.code() & F64.fraction_mask).equals(0)


ROWS: Mapping[str, Row] = MappingProxyType(
    {
        "exp": Row(_exp, _beside(1.0, _positive), ends=(-746.0, 710.0)),
        "exp2": Row(_exp2, _beside(1.0, _positive), exact=_whole_number, ends=(-1076.0, 1024.0)),
        "exp10": Row(_exp10, _beside(1.0, _positive), ends=(-325.0, 309.0)),
        "expm1": Row(_expm1, _itself(_always, _LINEAR), ends=(-40.0, 710.0)),
        "log": Row(_log, points=(1.0,), outside=_negative),
        "log2": Row(_log2, outside=_negative, exact=_is_power),
        "log10": Row(_log10, points=(1.0,), outside=_negative),
        "log1p": Row(_log1p, _itself(_never, _LINEAR), points=(-1.0,), outside=lambda x: x.less(-1.0)),
        "sin": Row(_sin, _itself(_negative), far=partial(_sin, turned=_turned_far)),
        "cos": Row(_cos, _beside(1.0, _never, _ODD), far=partial(_cos, turned=_turned_far)),
        "tan": Row(_tan, _itself(_positive), far=partial(_tan, turned=_turned_far)),
        "asin": Row(_asin, _itself(_positive), points=(-1.0, 1.0), outside=_beyond_one),
        "acos": Row(_acos, points=(-1.0, 1.0), outside=_beyond_one),
        "atan": Row(_atan, _itself(_negative)),
        "sinh": Row(_sinh, _itself(_positive), ends=(-711.0, 711.0)),
        "cosh": Row(_cosh, _beside(1.0, _always, _ODD), ends=(-711.0, 711.0)),
        "tanh": Row(_tanh, _itself(_negative), ends=(-20.0, 20.0)),
        "asinh": Row(_asinh, _itself(_negative)),
        "acosh": Row(_acosh, points=(1.0,), outside=lambda x: x.less(1.0)),
        "atanh": Row(_atanh, _itself(_positive), points=(-1.0, 1.0), outside=_beyond_one),
        "sigmoid": Row(_sigmoid, _beside(0.5, _positive), ends=(-746.0, 40.0)),
        "rsqrt": Row(_rsqrt, outside=_negative, exact=_is_square_of_power),
    }
)
"""The functions, by the names of `halfulp.fp_formats.reals`."""


# --- descriptions -----------------------------------------------------------------------------------------------------


@llvm.forgotten
@lru_cache(maxsize=256)
def unary(
    name: str,
    src: FloatFormat,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    dst: FloatFormat | None = None,
    far: bool = False,
) -> Implementation | None:
    """Return the description of a function of f64; None if there is none. It refuses what that of
    `word_functions.unary` does, and results that are subnormal.
    """
    if name not in ROWS or not applies(src, dst or src, rounding, policy, F64) or (far and ROWS[name].far is None):
        return None
    row = ROWS[name]

    def computed(x: Real) -> tuple[Word, Word]:
        return _rounded(row, x, (row.far if far else None) or row.function, rounding)

    most = FAR if row.far is not None and not far else None
    properties = Described(name, F64, row.points, row.outside, most, row.ends)
    return properties.implementation(rounding, policy, computed)


def _rounded(row: Row, x: Real, function: Callable[[Real], Approximated], rounding: int) -> tuple[Word, Word]:
    """Return the code of a result, and whether a number within `ERROR` has another one."""
    (high, low), shift = function(x)
    error = size_of(high) * ERROR
    below, above = low - error, low + error
    if rounding in NEAREST:
        result = (high + below).code()  # ties are refused
        unsure = result.differs((high + above).code())
    else:
        result, unsure = _directed(high, below, above, rounding)
        if row.exact is not None:
            exact = row.exact(x, high)
            result, unsure = exact.choose(high.code(), result), unsure & ~exact
    unsure = unsure | ~high.equals(high)
    if shift is not None:
        field = (result.shift_right(_BITS) & _FIELD) + shift
        outside = field.less(1, signed=True) | field.of(_FIELD - 1).less(field, signed=True)
        result, unsure = result + (shift << _BITS), unsure | outside
    if row.beside is not None:
        holds, value, larger = row.beside(x)
        beside = value.code()
        if rounding not in NEAREST:
            step = larger.choose(x.of(1.0), x.of(-1.0))
            beside = _directed(value, step, step, rounding)[0]
        result, unsure = holds.choose(beside, result), unsure & ~holds
    return result, unsure


def _directed(high: Real, below: Real, above: Real, rounding: int) -> tuple[Word, Word]:
    """Round a number in a directed mode. It lies nearer to ``high`` than the next number of f64 does, and between
    ``high + below`` and ``high + above``. Also tell whether these are on different sides of ``high``.
    """
    code = high.code()
    larger, smaller = high.of(0.0).less(below), above.less(0.0)
    negative = code.shift_right(F64.bits - 1).equals(1)
    up, down = negative.choose(code - 1, code + 1), negative.choose(code + 1, code - 1)
    unsure = ~(larger | smaller)
    if rounding == RU:
        return larger.choose(up, code), unsure
    if rounding == RD:
        return smaller.choose(down, code), unsure
    return negative.choose(larger, smaller).choose(code - 1, code), unsure
