"""Loops of arithmetic in f128, for numba to compile: a code is two words, the lower one first.

Everything is an operation on words of 64 bits. Operands that are not finite are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.paths.compiled import instruction, part

_F128 = FORMATS["f128"]
_W = np.uint64
_BIAS = np.int64(_F128.bias)
_FRACTION = _W(_F128.mantissa_bits - 64)  # bits of the fraction in the upper word
_INFINITE = _W((1 << _F128.exponent_bits) - 1)  # the exponent field of what is not finite
_DROPPED = _W(126 - _F128.mantissa_bits)  # bits that rounding drops: the leading one moves from bit 126
_DIGIT = np.int64(39)  # bits of a digit of a quotient; three are four more than the significand has
# A number below 2**51 plus this is an integer, in the lower bits of the code: it is faster than a conversion.
_TO_INTEGER = np.float64(3 << 51)
_INTEGERS = np.float64(3 << 51).view(np.int64)
_0, _1, _63, _64 = _W(0), _W(1), _W(63), _W(64)


@instruction(lambda builder, x, y: _upper(builder, builder.mul(_doubled(builder, x), _doubled(builder, y))))
def _high(x: Any, y: Any) -> Any:
    """Return the upper word of a product."""
    return _W(int(x) * int(y) >> 64)


def _doubled(builder: Any, x: Any) -> Any:
    return builder.zext(x, type(x.type)(128))


def _upper(builder: Any, x: Any) -> Any:
    return builder.trunc(builder.lshr(x, x.type(64)), type(x.type)(64))


@instruction(lambda builder, x: builder.ctlz(x, type(x.type)(1)(0)))
def _leading_zeros(x: Any) -> Any:
    """Return the number of zeros above the leading one, 64 if there is none."""
    return _W(64 - int(x).bit_length())


@part
def _zeros(hi: Any, lo: Any) -> Any:
    return _leading_zeros(hi) if hi else _64 + _leading_zeros(lo)


@part
def _shift_left(hi: Any, lo: Any, count: Any) -> Any:
    """Shift by less than 128."""
    if count >= _64:
        return lo << (count - _64), _0
    return hi << count | lo >> _1 >> (_63 - count), lo << count


@part
def _jam_right(hi: Any, lo: Any, count: Any) -> Any:
    """Shift down. The lowest bit is set if any bit was shifted out."""
    if count >= _64:
        lo = hi | _W(lo != _0)
        hi = _0
        count = min(count - _64, _63)  # the highest bit is never set
    kept = lo >> count
    return hi >> count, kept | hi << _1 << (_63 - count) | _W(kept << count != lo)


@part
def _unpack(hi: Any) -> Any:
    """Return the upper word of the significand, and the exponent field, which is 1 for subnormals, too."""
    field = hi >> _FRACTION & _INFINITE
    normal = _W(field != _0)
    return hi & ((_1 << _FRACTION) - _1) | normal << _FRACTION, np.int64(field | (normal ^ _1))


@part
def _normalised(hi: Any, lo: Any, exponent: Any) -> Any:
    """Move the leading one of a subnormal to the place that it has in a normal number."""
    if hi >> _FRACTION or not hi | lo:
        return hi, lo, exponent
    count = _zeros(hi, lo) - (_63 - _FRACTION)
    hi, lo = _shift_left(hi, lo, count)
    return hi, lo, exponent - np.int64(count)


@part
def _round_pack(out: Any, at: Any, sign: Any, hi: Any, lo: Any, exponent: Any, rounding: Any) -> None:
    """Round (-1)**sign * significand * 2**(exponent - bias - 126) once and write its code.

    The significand is below 2**127; its lowest bit may be jammed. ``rounding``: the first fields of `quad.Mode`.
    """
    if not hi | lo:
        out[at], out[at + 1] = _0, sign << _63
        return
    count = _zeros(hi, lo) - _1
    hi, lo = _shift_left(hi, lo, count)
    exponent -= np.int64(count)
    if exponent < 1:
        hi, lo = _jam_right(hi, lo, _W(1 - exponent))
        exponent = np.int64(1)
    ties, plus, minus, largest_plus, largest_minus = rounding
    raised = lo + (plus ^ (plus ^ minus) * sign) + (lo >> _DROPPED & ties)
    hi += _W(raised < lo)
    # A carry out of the fraction moves into the exponent field by itself, and so does a normal number's leading one.
    low = raised >> _DROPPED | hi << (_64 - _DROPPED)
    high = (hi >> _DROPPED) + (_W(min(exponent - 1, np.int64(_INFINITE))) << _FRACTION)
    if high >= _INFINITE << _FRACTION:
        less = largest_minus if sign else largest_plus
        low, high = _0 - less, (_INFINITE << _FRACTION) - less
    out[at], out[at + 1] = low, high | sign << _63


@part
def _finite(hi: Any) -> Any:
    return hi >> _FRACTION & _INFINITE != _INFINITE


def add(
    x: Any,
    y: Any,
    ties: Any,
    plus: Any,
    minus: Any,
    largest_plus: Any,
    largest_minus: Any,
    zero: Any,
    flip: Any,
    out: Any,
) -> bool:
    """Fill ``out`` with the sums of finite numbers, and tell whether all are finite.

    The arguments from ``ties`` to ``zero`` are those of `quad.Mode`; ``flip``: 1 to change the sign of ``y``.
    """
    complete = True
    rounding = ties, plus, minus, largest_plus, largest_minus
    for at in range(0, len(out), 2):
        x0, x1, y0, y1 = x[at], x[at + 1], y[at], y[at + 1] ^ flip << _63
        if not (_finite(x1) and _finite(y1)):
            complete = False
            continue
        p, q = x1 << _1, y1 << _1
        swap = _0 - _W((p < q) | ((p == q) & (x0 < y0)))  # a mask: a branch would be a guess
        change0, change1 = (x0 ^ y0) & swap, (x1 ^ y1) & swap
        large0, large1, small0, small1 = x0 ^ change0, x1 ^ change1, y0 ^ change0, y1 ^ change1
        sign, differ = large1 >> _63, (x1 ^ y1) >> _63
        hi, exponent = _unpack(large1)
        other, other_exponent = _unpack(small1)
        hi, lo = _shift_left(hi, large0, _W(12))
        other, low = _shift_left(other, small0, _W(12))
        other, low = _jam_right(other, low, _W(exponent - other_exponent))
        minus_all = _0 - differ
        low = (low ^ minus_all) + differ
        other = (other ^ minus_all) + (differ & _W(low == _0))
        lo += low
        hi += other + _W(lo < low)
        if differ and not hi | lo:
            sign = zero
        _round_pack(out, at, sign, hi, lo, exponent + 2, rounding)
    return complete


def multiply(
    x: Any,
    y: Any,
    ties: Any,
    plus: Any,
    minus: Any,
    largest_plus: Any,
    largest_minus: Any,
    zero: Any,
    flip: Any,
    out: Any,
) -> bool:
    """Fill ``out`` with the products of finite numbers, and tell whether all are finite."""
    complete = True
    rounding = ties, plus, minus, largest_plus, largest_minus
    for at in range(0, len(out), 2):
        x0, x1, y0, y1 = x[at], x[at + 1], y[at], y[at + 1]
        if not (_finite(x1) and _finite(y1)):
            complete = False
            continue
        sign = (x1 ^ y1) >> _63
        p, p_exponent = _unpack(x1)
        q, q_exponent = _unpack(y1)
        p1, p0, p_exponent = _normalised(p, x0, p_exponent)
        q1, q0, q_exponent = _normalised(q, y0, q_exponent)
        p1, p0 = _shift_left(p1, p0, _W(15))
        q1, q0 = _shift_left(q1, q0, _W(14))
        # The upper half of the product, with its lowest bit jammed.
        first, second = p0 * q1, p1 * q0
        middle = first + second
        carry = _W(middle < first)
        middle += _high(p0, q0)
        carry += _W(middle < _high(p0, q0))
        lo = p1 * q1
        hi = _high(p1, q1)
        for addend in (_high(p0, q1), _high(p1, q0), carry):
            lo += addend
            hi += _W(lo < addend)
        lo |= _W(middle | p0 * q0 != _0)
        _round_pack(out, at, sign, hi, lo, p_exponent + q_exponent - _BIAS + 1, rounding)
    return complete


def divide(
    x: Any,
    y: Any,
    ties: Any,
    plus: Any,
    minus: Any,
    largest_plus: Any,
    largest_minus: Any,
    zero: Any,
    flip: Any,
    out: Any,
) -> bool:
    """Fill ``out`` with the quotients of finite numbers by finite numbers that are not 0, and tell whether all are."""
    complete = True
    rounding = ties, plus, minus, largest_plus, largest_minus
    for at in range(0, len(out), 2):
        x0, x1, y0, y1 = x[at], x[at + 1], y[at], y[at + 1]
        if not (_finite(x1) and _finite(y1) and y1 << _1 | y0):
            complete = False
            continue
        sign = (x1 ^ y1) >> _63
        p, p_exponent = _unpack(x1)
        q, q_exponent = _unpack(y1)
        rest1, rest0, p_exponent = _normalised(p, x0, p_exponent)
        q1, q0, q_exponent = _normalised(q, y0, q_exponent)
        # Each digit is the nearest integer to rest * 2**39 / divisor, from 53 bits of both: less than 0.51 away. So the
        # next rest, which may be negative, is at most 0.51 times the divisor, and all is exact modulo 2**128.
        scale = np.float64(1 << _DIGIT) / np.float64(np.int64(q1 << _W(4) | q0 >> _W(60)))
        hi, lo = np.int64(0), _0
        for _ in range(3):
            estimate = np.float64(np.int64(rest1 << _W(4) | rest0 >> _W(60))) * scale
            digit = np.float64(estimate + _TO_INTEGER).view(np.int64) - _INTEGERS
            factor = _W(digit)
            rest1, rest0 = rest1 << _W(_DIGIT) | rest0 >> _W(64 - _DIGIT), rest0 << _W(_DIGIT)
            product0 = q0 * factor
            product1 = q1 * factor + _high(q0, factor) - (q0 if digit < 0 else _0)
            rest1 -= product1 + _W(rest0 < product0)
            rest0 -= product0
            hi = hi << _DIGIT | np.int64(lo >> _W(64 - _DIGIT))
            lo = (lo << _W(_DIGIT)) + factor
            hi += (digit >> np.int64(63)) + np.int64(lo < factor)
        above = rest1 >> _63  # 1 if the quotient is too large, and so not exact
        hi -= np.int64(lo < above)
        lo -= above
        inexact = _W(rest1 | rest0 != _0)
        hi1, lo = _shift_left(_W(hi), lo, _1)
        _round_pack(out, at, sign, hi1, lo | inexact, p_exponent - q_exponent + _BIAS + 8, rounding)
    return complete
