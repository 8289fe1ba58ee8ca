"""Elementary functions of f32 on machine words: from polynomials in f64, where these settle the result.

A number y of f64 approximates the exact result with an error below 2**-46 of it, see `ERROR`. If the numbers at both
ends of that interval round to one code, every number between them does, the exact result included. Otherwise the
element is refused, and balls of arbitrary precision decide (`halfulp.fp_formats.reals`). They also give the results
for zeros, infinities and the other points of `Row.points`, once, when code is made.

In the directed modes, the results next to a value of f32 that is never reached, such as exp(x) next to 1, are not
settled by an interval around y. There y is a number on the right side of that value (`Row.beside`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache, partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.paths import llvm
from halfulp.fp_formats.paths.words import F32, F64, Implementation, Real, Word
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.scalar import RD, RNA, RNE, RU, RZ

ERROR = 2.0**-46
"""The largest error of an approximation, relative to the result: a claim. The tests compare samples with Arb; the
errors that they see are less than a quarter of it.
"""

NEAREST, _DIRECTED = (RNE, RNA), (RZ, RU, RD)
_SIGN, _MAGNITUDE = 1 << 63, (1 << 63) - 1
MAGIC = 1.5 * 2.0**52
"""The sum with this number rounds to an integer, which is in the last bits of its code."""
_STEP = 2.0**-40
"""How far from a value a number is that stands for a result next to it: it is nearer than any boundary of f32."""
FAR = 2.0**20
"""From this magnitude on, products with parts of pi/2 are no longer exact."""
_TINY = 2.0**-30
"""Below this angle, an odd function is its operand, as far as an approximation goes."""
_ODD, _LINEAR = 2.0**-14, 2.0**-26
"""Below these operands, no value of f32 lies between a result and the number that it approaches at zero: the difference
is less than 2**-25 of that number. It grows with the square of the operand for the functions x + c * x**3 + ..., and
with the operand for 1 + x + ... and x + c * x**2 + ...
"""

Map = Callable[[Real], Real]
Beside = Callable[[Real, Real], Real]


# --- numbers ----------------------------------------------------------------------------------------------------------


def size_of(x: Real) -> Real:
    """Return a number without its sign."""
    return (x.code() & _MAGNITUDE).real(F64)


def signed(size: Real, x: Real) -> Real:
    """Return a number of a size with the sign of x."""
    return (size.code() | (x.code() & _SIGN)).real(F64)


def over(a: Real, b: Real) -> Real:
    """Return a quotient."""
    return a.computed("divide", b)


def within(x: Real, low: float, high: float) -> Real:
    """Return the number from ``low`` to ``high`` that is the nearest to x."""
    above = x.less(low).choose(x.of(low), x)
    return above.less(high).choose(above, above.of(high))


def _polynomial(x: Real, coefficients: Sequence[float]) -> Real:
    """Return the sum of coefficients times powers of x. Even and odd powers are summed apart, so that the processor
    computes both at once.
    """
    square = x * x
    even, odd = (_horner(square, coefficients[start::2]) for start in (0, 1))
    return even + odd * x


def _horner(x: Real, coefficients: Sequence[float]) -> Real:
    *rest, last = coefficients
    total = x.of(last)
    for each in reversed(rest):
        total = total * x + each
    return total


def scaled(y: Real, shift: Word) -> Real:
    """Return y * 2**shift, for y and a result that are normal. ``shift``: a word of 64 bits."""
    return (y.code() + (shift << F64.mantissa_bits)).real(F64)


def integer_near(x: Real) -> tuple[Real, Word]:
    """Return the integer nearest to x, below 2**51, as a number and as a word."""
    moved = x + MAGIC
    return moved - MAGIC, moved.code()


# --- approximations ---------------------------------------------------------------------------------------------------
#
# The coefficients are those of Chebyshev's interpolation of the remaining series, over the reduced arguments.

_PER_LN2, _LN2_HIGH, _LN2_LOW, _LN2 = 1.4426950408889634, 0.6931471803691238, 1.9082149292705877e-10, 0.6931471805599453
_PER_LN2_HIGH, _PER_LN2_LOW = 1.4426950216293335, 1.9259629911266175e-08
_LN10, _PER_LN10, _LOG2_10 = 2.302585092994046, 0.4342944819032518, 3.321928094887362
_LOG10_2_HIGH, _LOG10_2_LOW = 0.3010299955494702, 1.1451100898021838e-10
"""The numbers called high have few bits, so that their products with exponents are exact."""
_EXP = (
    0.5000000000000001, 0.16666666666666669, 0.041666666666624164, 0.008333333333330065, 0.0013888888917197187,
    0.00019841269863040905, 2.480152132164195e-05, 2.755726847975115e-06, 2.7620076225732137e-07,
    2.5100376098445793e-08,
)  # fmt: skip
"""(exp(r) - 1 - r) / r**2 for sizes of r up to log(2) / 2."""
_LOG = (
    0.666666666666667, 0.3999999999989322, 0.28571428628810996, 0.22222210674238516, 0.18182922513515942,
    0.15330617306743305, 0.1463003136412286,
)  # fmt: skip
"""(2 * atanh(s) - 2 * s) / s**3, of s**2, for sizes of s up to (sqrt(2) - 1) / (sqrt(2) + 1)."""
_SIN = (
    -0.16666666666666666, 0.008333333333330936, -0.00019841269836740532, 2.7557316093198404e-06,
    -2.5051129896450185e-08, 1.5917988979397435e-10,
)  # fmt: skip
"""(sin(r) - r) / r**3, of r**2, for sizes of r up to pi / 4."""
_COS = (
    0.041666666666666664, -0.0013888888888887389, 2.48015872987544e-05, -2.755731726587808e-07, 2.087614504941318e-09,
    -1.138254464534925e-11,
)  # fmt: skip
"""(cos(r) - 1 + r**2 / 2) / r**4, of r**2, for sizes of r up to pi / 4."""
_PER_QUARTER, _QUARTER = 0.6366197723675814, (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)
"""2 / pi, and pi / 2 in three parts, of which the first two have 33 bits."""


def _exponential(r: Real) -> Real:
    """Return exp(r) - 1 for sizes of r up to log(2) / 2."""
    return r + r * r * _polynomial(r, _EXP)


def _reduced(x: Real) -> tuple[Real, Word]:
    """Return r and k with x = r + k * log(2)."""
    k, shift = integer_near(x * _PER_LN2)
    return (x - k * _LN2_HIGH) - k * _LN2_LOW, shift


def _exp(x: Real) -> Real:
    r, shift = _reduced(within(x, -160.0, 160.0))
    return scaled(_exponential(r) + 1.0, shift)


def _exp2(x: Real) -> Real:
    near = within(x, -200.0, 200.0)
    k, shift = integer_near(near)
    return scaled(_exponential((near - k) * _LN2) + 1.0, shift)


def _exp10(x: Real) -> Real:
    near = within(x, -60.0, 60.0)
    k, shift = integer_near(near * _LOG2_10)
    r = ((near - k * _LOG10_2_HIGH) - k * _LOG10_2_LOW) * _LN10
    return scaled(_exponential(r) + 1.0, shift)


def _expm1(x: Real) -> Real:
    r, shift = _reduced(within(x, -40.0, 160.0))
    power = scaled(x.of(1.0), shift)
    return (power - 1.0) + power * _exponential(r)


def _logarithm(f: Real) -> Real:
    """Return log(1 + f) for f between sqrt(1/2) - 1 and sqrt(2) - 1."""
    half, more = _terms(f)
    return f - (half - more)


def _terms(f: Real) -> tuple[Real, Real]:
    """Return f**2 / 2, which is exact if f is a significand of f32 less 1, and log(1 + f) - f + f**2 / 2."""
    s = over(f, f + 2.0)
    square, half = s * s, f * f * 0.5
    return half, s * (half + square * _polynomial(square, _LOG))


def _cut(x: Real, bits: int) -> Real:
    """Return a number without the last bits of its significand."""
    return (x.code() & ~((1 << bits) - 1)).real(F64)


def _long_log2(f: Real) -> tuple[Real, Real]:
    """Return log2(1 + f) as a sum, for f as in `parts_of`: the first number has 29 bits, and the error of the second is
    2**-55 of the sum.
    """
    half, more = _terms(f)
    near = f - half
    whole = near + more
    high = _cut(whole, 27)
    low = (whole - high) + (((near - whole) + more) + ((f - near) - half))
    product = high * _PER_LN2_HIGH  # exact: 26 bits each
    first = _cut(product, 24)
    return first, (product - first) + (high * _PER_LN2_LOW + low * _PER_LN2)


def parts_of(x: Real) -> tuple[Real, Real]:
    """Return f and k with x = (1 + f) * 2**k, for a normal number x above 0; f as in `_logarithm`."""
    code = x.code()
    root, bias = 0x3FE6A09E00000000, 1023  # sqrt(1/2)
    exponent = (code + ((bias << F64.mantissa_bits) - root)).shift_right(F64.mantissa_bits)
    significand = (code - ((exponent - bias) << F64.mantissa_bits)).real(F64)
    k = (exponent | (0x433 << F64.mantissa_bits)).real(F64) - (2.0**52 + bias)
    return significand - 1.0, k


def _log(x: Real) -> Real:
    f, k = parts_of(x)
    return k * _LN2_HIGH + (_logarithm(f) + k * _LN2_LOW)


def _log2(x: Real) -> Real:
    f, k = parts_of(x)
    return k + _logarithm(f) * _PER_LN2


def _log10(x: Real) -> Real:
    f, k = parts_of(x)
    return k * _LOG10_2_HIGH + (_logarithm(f) * _PER_LN10 + k * _LOG10_2_LOW)


def _log1p(x: Real) -> Real:
    near = x.of(-0.29).less(x) & x.less(0.41)
    f, k = parts_of(x + 1.0)
    f, k = near.choose(x, f), near.choose(k.of(0.0), k)
    return k * _LN2_HIGH + (_logarithm(f) + k * _LN2_LOW)


def _turned(x: Real) -> tuple[Real, Word]:
    """Return r and the integer n with x = r + n * pi / 2, for sizes of x below `FAR`."""
    n, word = integer_near(x * _PER_QUARTER)
    first, second, third = _QUARTER
    return ((x - n * first) - n * second) - n * third, word


def last_places(fmt: FloatFormat, bits: int) -> list[int]:
    """Return 2 / pi times the last place of a number of a format, modulo 4, by the exponent field of the number: as
    integers, in units of 2**-bits.
    """
    import flint
    from flint import arb

    places = [field - fmt.bias - fmt.mantissa_bits for field in range(1 << fmt.exponent_bits)]
    precise = bits + places[-1]
    with flint.ctx.workprec(2 * precise):
        whole = (arb(2) / arb.pi() * arb(2) ** precise).floor().unique_fmpz()
    assert whole is not None
    return [(int(whole) >> places[-1] - last) % (4 << bits) for last in places]


@cache
def _quarters() -> tuple[npt.NDArray[np.uint64], ...]:
    """Return three tables, by the exponent field of f32: the codes of three numbers of f64 whose sum is 2 / pi times
    the last place of such a number of f32, modulo 4. The first two have up to 29 bits.
    """
    bits, rows = 220, []
    for rest in last_places(F32, bits):
        first, rest = rest >> bits - 27 << bits - 27, rest & (1 << bits - 27) - 1
        second, rest = rest >> bits - 56 << bits - 56, rest & (1 << bits - 56) - 1
        rows.append([float(Fraction(each, 1 << bits)) for each in (first, second, rest)])
    return tuple(np.array(column, np.float64).view(np.uint64) for column in zip(*rows, strict=True))


def _turned_far(x: Real) -> tuple[Real, Word]:
    """Return r and n as `_turned`, for numbers of f32 of any size."""
    code = x.code()
    field = code.shift_right(F64.mantissa_bits) & ((1 << F64.exponent_bits) - 1)
    index = (field - (F64.bias - F32.bias)) & ((1 << F32.exponent_bits) - 1)
    # The significand as an integer: 2**52 above, less the exponent.
    places = F64.mantissa_bits - F32.mantissa_bits
    significand = (code & ((1 << F64.mantissa_bits) - 1)).shift_right(places) | (1 << F32.mantissa_bits)
    m = (significand | (0x433 << F64.mantissa_bits)).real(F64) - 2.0**52
    first, second, third = (index.entry(table).real(F64) for table in _quarters())
    product, small = m * first, m * second
    n, word = integer_near(product)
    part = product - n
    total = part + small
    moved = total - part
    lost = (part - (total - moved)) + (small - moved)
    more, add = integer_near(total)
    r = ((total - more) + (lost + m * third)) * 1.5707963267948966
    sign = code & _SIGN
    return (r.code() ^ sign).real(F64), sign.equals(0).choose(word + add, word.of(0) - (word + add))


def _sides(r: Real) -> tuple[Real, Real]:
    """Return sin(r) and cos(r)."""
    square = r * r
    sine = r + r * square * _polynomial(square, _SIN)
    return sine, (square * -0.5 + 1.0) + square * square * _polynomial(square, _COS)


Turned = Callable[[Real], tuple[Real, Word]]


def _sin(x: Real, turned: Turned = _turned) -> Real:
    r, n = turned(x)
    sine, cosine = _sides(r)
    y = (n & 1).equals(0).choose(sine, cosine)
    found = (y.code() ^ ((n & 2) << 62)).real(F64)
    return size_of(x).less(_TINY).choose(x, found)


def _cos(x: Real, turned: Turned = _turned) -> Real:
    r, n = turned(x)
    sine, cosine = _sides(r)
    y = (n & 1).equals(0).choose(cosine, sine)
    return (y.code() ^ (((n + 1) & 2) << 62)).real(F64)


def _tan(x: Real, turned: Turned = _turned) -> Real:
    r, n = turned(x)
    sine, cosine = _sides(r)
    even = (n & 1).equals(0)
    above, below = even.choose(sine, cosine), even.choose(cosine, sine)
    found = (over(above, below).code() ^ ((n & 1) << 63)).real(F64)
    return size_of(x).less(_TINY).choose(x, found)


def _tanh(x: Real) -> Real:
    size = size_of(x)
    e = _expm1(within(size, 0.0, 20.0) * 2.0)
    return signed(over(e, e + 2.0), x)


def _sigmoid(x: Real) -> Real:
    return over(x.of(1.0), _exp(x * -1.0) + 1.0)


def _silu(x: Real) -> Real:
    # Near zero, x / 2 of a subnormal number is a tie, and x / 2 + x**2 / 4 is not.
    near = x.less(-160.0).choose(x.of(-160.0), x)
    found = over(near, _exp(near * -1.0) + 1.0)
    return size_of(x).less(_LINEAR).choose(x * 0.5 + size_of(x) * (_STEP / 2), found)


def _sinh(x: Real) -> Real:
    e = _expm1(size_of(x))
    return signed((e + over(e, e + 1.0)) * 0.5, x)


def _cosh(x: Real) -> Real:
    e = _exp(size_of(x))
    return (e + over(x.of(1.0), e)) * 0.5


def _sqrt(x: Real) -> Real:
    return x.square_root()


def _rsqrt(x: Real) -> Real:
    return over(x.of(1.0), x.square_root())


# --- the table --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A function of numbers of f32, in f64.

    ``function``: the approximation, for numbers in the domain that are not among the points. ``beside``: gives, for an
    operand and its approximation, a number that the directed modes round like the result. ``points``: the operands,
    beside zeros and infinities, whose results are the exact ones. ``outside``: tells which operands are outside of the
    domain, where the result is the NaN of the operand ``refused``. ``exact``: tells which approximations are exact.
    ``far``: the approximation for sizes from `FAR` on, if ``function`` does not cover these.
    """

    function: Map
    beside: Beside = lambda x, y: y
    points: tuple[float, ...] = ()
    outside: Callable[[Real], Word] | None = None
    exact: Callable[[Real, Real], Word] | None = None
    far: Map | None = None


def _beside_one(x: Real, y: Real) -> Real:
    return size_of(x).less(_LINEAR).choose(signed(x.of(_STEP), x) + 1.0, y)


def _itself(outward: bool) -> Beside:
    """Return the function of odd results that approach the operand: they are larger, or smaller."""
    factor = 1 + _STEP if outward else 1 - _STEP
    return lambda x, y: size_of(x).less(_ODD).choose(x * factor, y)


def _or_below_one(beside: Beside, least: float) -> Beside:
    """Return a function that also knows results below 1 for sizes of operands from ``least`` on."""
    return lambda x, y: size_of(x).less(least).choose(beside(x, y), signed(x.of(1 - _STEP), x))


def _beside_expm1(x: Real, y: Real) -> Real:
    near = size_of(x).less(_LINEAR).choose(x + size_of(x) * _STEP, y)
    return x.less(-30.0).choose(x.of(_STEP - 1), near)


def _beside_log1p(x: Real, y: Real) -> Real:
    return size_of(x).less(_LINEAR).choose(x - size_of(x) * _STEP, y)


def _beside_sigmoid(x: Real, y: Real) -> Real:
    near = size_of(x).less(_LINEAR).choose(signed(x.of(_STEP / 2), x) + 0.5, y)
    return x.less(30.0).choose(near, x.of(1 - _STEP))


def _beside_silu(x: Real, y: Real) -> Real:
    return x.less(30.0).choose(y, x * (1 - _STEP))


def _negative(x: Real) -> Word:
    return x.less(0.0)


def _exact_root(x: Real, y: Real) -> Word:
    # A rational root has few bits, and then its square is exact.
    short = (y.code() & ((1 << F64.mantissa_bits // 2 + 1) - 1)).equals(0)
    return short & (y * y).equals(x)


ROWS: Mapping[str, Row] = MappingProxyType(
    {
        "exp": Row(_exp, _beside_one),
        "exp2": Row(_exp2, _beside_one, exact=lambda x, y: ((x + MAGIC) - MAGIC).equals(x)),
        "exp10": Row(_exp10, _beside_one),
        "expm1": Row(_expm1, _beside_expm1),
        "log": Row(_log, points=(1.0,), outside=_negative),
        "log2": Row(_log2, outside=_negative, exact=lambda x, y: parts_of(x)[0].equals(0.0)),
        "log10": Row(_log10, points=(1.0,), outside=_negative),
        "log1p": Row(_log1p, _beside_log1p, points=(-1.0,), outside=lambda x: x.less(-1.0)),
        "sin": Row(_sin, _itself(outward=False), far=partial(_sin, turned=_turned_far)),
        "cos": Row(
            _cos,
            lambda x, y: size_of(x).less(_ODD).choose(x.of(1 - _STEP), y),
            far=partial(_cos, turned=_turned_far),
        ),
        "tan": Row(_tan, _itself(outward=True), far=partial(_tan, turned=_turned_far)),
        "sinh": Row(_sinh, _itself(outward=True)),
        "cosh": Row(_cosh, lambda x, y: size_of(x).less(_ODD).choose(x.of(1 + _STEP), y)),
        "tanh": Row(_tanh, _or_below_one(_itself(outward=False), 15.0)),
        "sigmoid": Row(_sigmoid, _beside_sigmoid),
        "silu": Row(_silu, _beside_silu),
        "sqrt": Row(_sqrt, outside=_negative, exact=_exact_root),
        "rsqrt": Row(_rsqrt, outside=_negative),
    }
)
"""The functions of one argument, by the names of `halfulp.fp_formats.reals`."""


# --- functions of two arguments ---------------------------------------------------------------------------------------

_PI, _ATAN = 3.141592653589793, (
    -0.3333333333333333, 0.1999999999999548, -0.14285714284657894, 0.11111111014561013, -0.09090904549884611,
    0.07692182535116648, -0.06664502215671447, 0.058580687568615106, -0.05085030492810941, 0.03921955253255129,
    -0.019162068915902573,
)  # fmt: skip
"""pi, and (atan(u) - u) / u**3, of u**2, for sizes of u up to sqrt(2) - 1."""


class Approximated(NamedTuple):
    """An approximation of a function of two numbers of f32, which are not NaNs.

    ``y``: the approximation. ``certain``: tells which elements have the result ``exactly``, a code of f32.
    """

    y: Real
    certain: Word
    exactly: Word


def _powf(a: Word, b: Word, rounding: int, nan: int) -> Approximated:
    """Approximate a**b = 2**(b * log2(a)). An infinite exponent is refused."""
    x, z = (each.real(F32).converted(F64) for each in (a, b))
    infinity, size = F32.infinity_code or 0, a & F32.magnitude_mask
    (b & F32.magnitude_mask).equals(infinity).refuse()
    f, k = parts_of(size_of(x))
    # The error of the logarithm grows with the exponent, so the logarithm is a sum of two numbers.
    high, low = _long_log2(f)
    part, rest, whole = z * high, z * low, z * k
    n, shift = integer_near(within(whole + part, -200.0, 200.0))
    r = within(((whole - n) + part) + rest, -0.6, 0.6)
    y = scaled(_exponential(r * _LN2) + 1.0, shift)
    if rounding in _DIRECTED:
        product = whole + part
        y = size_of(product).less(_LINEAR).choose(signed(x.of(_STEP), product) + 1.0, y)
    # A negative base has a power if the exponent is an integer; from 2**24 on, it is an even one.
    away = size_of(z).less(2.0**24)
    near, word = integer_near(within(z, -(2.0**25), 2.0**25))
    integer, odd = ~away | near.equals(z), away & (word & 1).equals(1) & near.equals(z)
    ends, units = size.equals(0) | size.equals(infinity), size.equals(_code(1.0))
    zero, same, outside = z.equals(0.0), z.equals(1.0), x.less(0.0) & ~integer & ~ends
    minus = a.differs(size) & odd
    growing = z.less(0.0) ^ size.equals(infinity)
    exactly = units.choose(size, growing.choose(a.of(infinity), a.of(0)))
    exactly = exactly | minus.choose(a.of(F32.sign_mask or 0), a.of(0))
    exactly = outside.choose(a.of(nan), same.choose(a, zero.choose(a.of(_code(1.0)), exactly)))
    certain = ends | units | outside | same | zero
    return Approximated(minus.choose(y * -1.0, y), certain, exactly)


def _atan2(a: Word, b: Word, rounding: int, nan: int) -> Approximated:
    """Approximate the angle of the point (b, a)."""
    z, x = (each.real(F32).converted(F64) for each in (a, b))
    high, wide = size_of(z), size_of(x)
    steep = wide.less(high)
    short, long = steep.choose(wide, high), steep.choose(high, wide)
    # Between 22.5 and 45 degrees, from 45 degrees.
    beyond = (long * 0.41421356).less(short)
    above = beyond.choose(short - long, short)
    below = beyond.choose(short + long, long)
    same, none = short.equals(long), long.equals(0.0)
    quotient = same.choose(x.of(0.0), none.choose(x.of(0.0), over(above, below)))
    square = quotient * quotient
    angle = quotient + quotient * square * _polynomial(square, _ATAN)
    angle = angle + (beyond & ~none | same & ~none).choose(x.of(_PI / 4), x.of(0.0))
    angle = steep.choose(x.of(_PI / 2) - angle, angle)
    left = b.shift_right(31).equals(1)
    angle = left.choose(x.of(_PI) - angle, angle)
    zero = angle.equals(0.0)
    return Approximated(signed(angle, z), zero, a & (F32.sign_mask or 0))


def _hypot(a: Word, b: Word, rounding: int, nan: int) -> Approximated:
    """Approximate the square root of a**2 + b**2; both squares are exact."""
    x, z = (each.real(F32).converted(F64) for each in (a, b))
    infinity, sizes = F32.infinity_code or 0, [each & F32.magnitude_mask for each in (a, b)]
    infinite = sizes[0].equals(infinity) | sizes[1].equals(infinity)
    alone = sizes[0].equals(0) | sizes[1].equals(0)
    exactly = infinite.choose(a.of(infinity), sizes[0] | sizes[1])
    y = (x * x + z * z).square_root()
    if rounding in _DIRECTED:
        shorter = size_of(x).less(size_of(z))
        short, long = shorter.choose(size_of(x), size_of(z)), shorter.choose(size_of(z), size_of(x))
        y = short.less(long * _ODD).choose(long * (1 + _STEP), y)
    return Approximated(y, infinite | alone, exactly)


PAIRS: Mapping[str, Callable[[Word, Word, int, int], Approximated]] = MappingProxyType(
    {"powf": _powf, "atan2": _atan2, "hypot": _hypot}
)
"""The functions of two arguments, by the names of `halfulp.fp_formats.reals`. They also take the rounding mode, and the
NaN for operands outside of the domain.
"""


# --- descriptions -----------------------------------------------------------------------------------------------------


def applies(src: FloatFormat, dst: FloatFormat, rounding: int, policy: FloatPolicy, fmt: FloatFormat = F32) -> bool:
    """Tell whether functions of ``fmt`` are described for these formats, this mode and this policy."""
    return (
        src == dst == fmt
        and rounding in (*NEAREST, *_DIRECTED)
        and not policy.flushing(fmt).any
        and not policy.arithmetic_saturation(fmt).numbers
        and llvm.keeps_subnormals()
    )


class Described(NamedTuple):
    """The properties that descriptions of functions of f32 and of f64 share.

    ``points``, ``outside``: as in `Row`. ``most``: the size from which on finite operands are refused, if there is one.
    ``ends``: two operands; all from the first one down, and from the second one up, have the results of these.
    """

    name: str
    fmt: FloatFormat
    points: tuple[float, ...] = ()
    outside: Callable[[Real], Word] | None = None
    most: float | None = None
    ends: tuple[float, ...] = ()

    def implementation(
        self, rounding: int, policy: FloatPolicy, computed: Callable[[Real], tuple[Word, Word]]
    ) -> Implementation:
        """Return the description. ``computed``: gives the rounded result, and whether it may be another one."""
        fmt, infinity = self.fmt, self.fmt.infinity_code or 0

        def implementation(a: Word) -> Word:
            limits, points, nan = _known(self.name, fmt, (*self.points, *self.ends), rounding, policy)
            magnitude = a & fmt.magnitude_mask
            a.of(infinity).less(magnitude, signed=False).refuse()
            finite = (magnitude - 1).less(infinity - 1, signed=False)
            if self.most is not None:
                (a.of(_code(self.most, fmt)).less(magnitude, signed=False) & finite).refuse()
            x = a.real(fmt)
            result, unsure = computed(x)
            unsure = unsure & finite
            if self.outside is not None:
                outside = self.outside(x)
                unsure = unsure & ~outside
                result = outside.choose(result.of(nan), result)
            hits = [x.equals(point) for point in self.points]
            if self.ends:
                hits += [x.at_most(self.ends[0]), x.of(self.ends[1]).at_most(x)]
            for hit, code in zip(hits, points, strict=True):
                unsure = unsure & ~hit
                result = hit.choose(result.of(code), result)
            unsure.refuse()
            negative = a.differs(magnitude)
            for at, (positive_code, negative_code) in limits:
                chosen = result.of(positive_code)
                if positive_code != negative_code:
                    chosen = negative.choose(result.of(negative_code), chosen)
                result = magnitude.equals(at).choose(chosen, result)
            return result

        return implementation


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
    """Return the description of a function of one argument; None if there is none. It refuses NaNs, and unless ``far``
    angles from 2**20 on.
    """
    if name not in ROWS or not applies(src, dst or src, rounding, policy) or (far and ROWS[name].far is None):
        return None
    row = ROWS[name]
    function = (row.far if far else None) or row.function

    def computed(number: Real) -> tuple[Word, Word]:
        x = number.converted(F64)
        y = function(x)
        if rounding in NEAREST:
            return _rounded(y, rounding)
        y = row.beside(x, y)
        return _rounded(y, rounding, None if row.exact is None else row.exact(x, y))

    most = FAR if row.far is not None and not far else None
    return Described(name, F32, row.points, row.outside, most).implementation(rounding, policy, computed)


@llvm.forgotten
@lru_cache(maxsize=256)
def binary(
    name: str, fmt: FloatFormat, rounding: int = RNE, policy: FloatPolicy = SPEC, dst: FloatFormat | None = None
) -> Implementation | None:
    """Return the description of a function of two arguments; None if there is none. It refuses NaNs."""
    if name not in PAIRS or not applies(fmt, dst or fmt, rounding, policy):
        return None

    def implementation(a: Word, b: Word) -> Word:
        for each in (a, b):
            each.of(F32.infinity_code or 0).less(each & F32.magnitude_mask, signed=False).refuse()
        found = PAIRS[name](a, b, rounding, _nan_of_pairs(rounding, policy))
        result, unsure = _rounded(found.y, rounding)
        (unsure & ~found.certain).refuse()
        return found.certain.choose(found.exactly, result)

    return implementation


@lru_cache(maxsize=256)
def _known(
    name: str, fmt: FloatFormat, points: tuple[float, ...], rounding: int, policy: FloatPolicy
) -> tuple[list[tuple[int, tuple[int, int]]], list[int], int]:
    """Return what the specification gives: the results for zeros and infinities, positive and negative, those for the
    points, and the NaN outside of the domain.
    """
    from halfulp.fp_formats.reals import elementary

    def result(code: int) -> int:
        return elementary.unary(name, fmt, code, rounding, policy).code

    sign, infinity = fmt.sign_mask or 0, fmt.infinity_code or 0
    limits = [(code, (result(code), result(code | sign))) for code in (0, infinity)]
    return limits, [result(_code(point, fmt)) for point in points], result(_code(-2.0, fmt))


@lru_cache(maxsize=256)
def _nan_of_pairs(rounding: int, policy: FloatPolicy) -> int:
    """Return what the specification gives for a pair outside of the domain."""
    from halfulp.fp_formats.reals import elementary

    return elementary.binary("powf", F32, _code(-2.0), _code(0.5), rounding, policy).code


def _code(number: float, fmt: FloatFormat = F32) -> int:
    return scalar.from_double(fmt, number)


def _rounded(y: Real, rounding: int, exact: Word | None = None) -> tuple[Word, Word]:
    """Return the code of a number in f32, and whether a number within `ERROR` has another one; ``exact`` numbers have
    no error.
    """
    spread = y * ERROR
    if exact is not None:
        spread = exact.choose(spread.of(0.0), spread)
    result = _narrowed(y - spread, rounding)
    return result, result.differs(_narrowed(y + spread, rounding))


def _narrowed(y: Real, rounding: int) -> Word:
    """Round a number of f64 to f32: to nearest by the processor, in a directed mode by one step from there."""
    number = y.converted(F32)
    code = number.code()
    if rounding in NEAREST:
        return code  # ties are refused
    back = number.converted(F64)
    if rounding == RZ:
        beyond = size_of(y).less(size_of(back))
        return beyond.choose(code - 1, code)
    negative = code.shift_right(31).equals(1)
    up, down = code + 1, code - 1
    if rounding == RU:
        return back.less(y).choose(negative.choose(down, up), code)
    return y.less(back).choose(negative.choose(up, down), code)
