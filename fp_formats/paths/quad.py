"""Arithmetic in f128 on words of 128 bits: sums, products and quotients of finite numbers, in all modes but the
stochastic one. Operands that are not finite are refused; so are, in products and quotients, subnormal operands and
results, and divisors that are 0.

Before it is rounded, once, by `_packed`, a number is (-1)**sign * significand * 2**(exponent - bias - 126): the
significand is below 2**127, and its last bit stands for all that was lost below it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths.word_rounding import added, jammed
from halfulp.fp_formats.paths.words import F64, Implementation, Real, Word
from halfulp.fp_formats.policy import FloatPolicy
from halfulp.fp_formats.scalar import RD, RNA, RNE, RU, RZ

F128 = FORMATS["f128"]
_FRACTION, _FIELD, _BIAS = F128.mantissa_bits, (1 << F128.exponent_bits) - 1, F128.bias
_DROPPED = 126 - _FRACTION
"""The bits that rounding drops: the leading one moves from bit 126."""
_HALF, _ALL = 1 << _DROPPED - 1, (1 << _DROPPED) - 1
_DIGIT = 39
"""The bits of a digit of a quotient: three digits are four bits more than a significand has."""
_TO_INTEGER = float(3 << 51)
"""A number of f64 below 2**51 plus this is an integer, in the lower bits of the code."""
_INTEGERS = 0x433 << 52 | 1 << 51
"""The code of that number."""

MODES = (RNE, RNA, RZ, RU, RD)
"""The rounding modes of the descriptions."""


@lru_cache(maxsize=256)
def binary(name: str, fmt: FloatFormat, rounding: int, policy: FloatPolicy) -> Implementation | None:
    """Return the description of an operation with two operands in f128; None if there is none. ``name``: as in
    `scalar`.
    """
    plain = not policy.flushing(fmt).any and not policy.arithmetic_saturation(fmt).numbers
    if fmt != F128 or name not in _OPERATIONS or rounding not in MODES or not plain:
        return None
    compute = _OPERATIONS[name]

    def described(x: Word, y: Word) -> Word:
        for each in (x, y):
            _field(each).equals(_FIELD).refuse()
        return compute(x, y, rounding)

    return described


def _field(a: Word) -> Word:
    return (a << 1).shift_right(_FRACTION + 1).resized(64)


def _unpacked(a: Word) -> tuple[Word, Word]:
    """Return the significand, and the exponent field, where subnormals have 1."""
    field = _field(a)
    normal = field.differs(0)
    significand = (a & (1 << _FRACTION) - 1) | (normal.resized(128) << _FRACTION)
    return significand, field | (~normal).resized(64)


def _normal(a: Word) -> tuple[Word, Word]:
    """Unpack a number that is 0 or normal; other numbers are refused. The exponent of 0 has no meaning."""
    field, fraction = _field(a), a & (1 << _FRACTION) - 1
    zero = field.equals(0)
    (zero & fraction.differs(0)).refuse()
    return zero.choose(fraction, fraction | 1 << _FRACTION), field


def _packed(sign: Word, significand: Word, exponent: Word, rounding: int) -> Word:
    """Round a number once; return its code. Its leading one is bit 126, or a lower bit if the exponent is 1, that of
    subnormals. ``sign``: a word of one bit.
    """
    signs = sign.resized(128) << 127
    above = exponent - 1
    above = above.less(_FIELD, signed=True).choose(above, above.of(_FIELD)).resized(128)
    raised = significand + added(rounding, significand.shift_right(_DROPPED) & 1, _HALF, _ALL, sign)
    # A carry out of the fraction moves into the exponent field by itself, and so does a normal number's leading one.
    code = raised.shift_right(_DROPPED) + (above << _FRACTION)
    infinity = _FIELD << _FRACTION
    plus, minus = (code.of(infinity - (not scalar.overflows(F128, each, rounding))) for each in (0, 1))
    largest = sign.choose(minus, plus)
    code = code.less(infinity, signed=False).choose(code, largest)
    return significand.equals(0).choose(signs, code | signs)


def _packed_normal(sign: Word, significand: Word, exponent: Word, rounding: int) -> Word:
    """Round a number once that is 0, or whose leading one is bit 126 or 125; refuse subnormal results."""
    leads = significand.shift_right(126).resized(1)
    exponent = exponent - (~leads).resized(64)
    (exponent.less(1, signed=True) & significand.differs(0)).refuse()
    return _packed(sign, leads.choose(significand, significand << 1), exponent, rounding)


def _sign(a: Word) -> Word:
    return a.shift_right(127).resized(1)


def _add(x: Word, y: Word, rounding: int) -> Word:
    swap = (x << 1).less(y << 1, signed=False)
    large, small = swap.choose(y, x), swap.choose(x, y)
    differ = _sign(x ^ y)
    first, exponent = _unpacked(large)
    second, other = _unpacked(small)
    second = jammed(second << 12, exponent - other)
    total = (first << 12) + (second ^ (differ.resized(128, signed=True))) + differ.resized(128)
    sign = (differ & total.equals(0)).choose(differ.of(int(rounding == RD)), _sign(large))
    # The leading one moves to bit 126, but the exponent does not go below 1.
    count, most = (total.leading_zeros() - 1).resized(64), exponent + 1
    count = count.less(most, signed=False).choose(count, most)
    return _packed(sign, total << count.resized(128), exponent + 2 - count, rounding)


def _multiply(x: Word, y: Word, rounding: int) -> Word:
    p, p_exponent = _normal(x)
    q, q_exponent = _normal(y)
    p0, p1 = _halves(p << 15)
    q0, q1 = _halves(q << 14)
    lowest, low, other, high = p0 * q0, p0 * q1, p1 * q0, p1 * q1
    word = (1 << 64) - 1
    middle = lowest.shift_right(64) + (low & word) + (other & word)
    upper = high + low.shift_right(64) + other.shift_right(64) + middle.shift_right(64)
    lost = ((middle | lowest) & word).differs(0).resized(128)
    return _packed_normal(_sign(x ^ y), upper | lost, p_exponent + q_exponent - (_BIAS - 1), rounding)


def _halves(a: Word) -> tuple[Word, Word]:
    """Return the lower and the upper 64 bits, in words of 128 bits: their products are exact."""
    return a.resized(64).resized(128), a.shift_right(64)


def _divide(x: Word, y: Word, rounding: int) -> Word:
    (y << 1).equals(0).refuse()
    rest, p_exponent = _normal(x)
    divisor, q_exponent = _normal(y)
    # Each digit is the nearest integer to rest * 2**39 / divisor, from 53 bits of both: less than 0.51 away. So the
    # next rest, which may be negative, is at most 0.51 times the divisor, and all is exact modulo 2**128.
    first = _leading(divisor)
    scale = first.of(float(1 << _DIGIT)).computed("divide", first)
    quotient = rest.of(0)
    for _ in range(3):
        digit = (_leading(rest) * scale + _TO_INTEGER).code() - _INTEGERS
        factor = digit.resized(128, signed=True)
        rest = (rest << _DIGIT) - divisor * factor
        quotient = (quotient << _DIGIT) + factor
    # If the rest is negative, the quotient is too large, and so not exact.
    quotient = quotient - rest.shift_right(127)
    inexact = rest.differs(0).resized(128)
    return _packed_normal(_sign(x ^ y), (quotient << 9) | inexact, p_exponent - q_exponent + _BIAS, rounding)


def _leading(a: Word) -> Real:
    return a.shift_right(60).resized(64).number(signed=True, fmt=F64)


_OPERATIONS: dict[str, Callable[[Word, Word, int], Word]] = {
    "add": _add,
    "subtract": lambda x, y, rounding: _add(x, y ^ 1 << 127, rounding),
    "multiply": _multiply,
    "divide": _divide,
}
