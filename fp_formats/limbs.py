"""Unsigned integers of one or two 64-bit limbs on arrays, with one set of functions for both.

A `Limbs` is either a uint64 array or a `Wide`, a pair of them. Every function takes arrays of equal (or broadcastable)
shape and returns new ones. Arithmetic wraps. Shift counts are Python integers or int64 arrays, not negative; they may
exceed the width.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Mask

U64 = npt.NDArray[Any]  # of uint64; by NumPy's stubs, arithmetic with a Python integer would be signed
Count = Any  # int or int64 array
WORD = (1 << 64) - 1
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


class Wide:
    """128-bit unsigned integers: ``hi * 2**64 + lo``."""

    __slots__ = ("hi", "lo")

    def __init__(self, hi: U64, lo: U64) -> None:
        self.hi, self.lo = hi, lo

    def __getitem__(self, index: Any) -> Wide:
        return Wide(self.hi[index], self.lo[index])

    def __setitem__(self, index: Any, value: Wide) -> None:
        self.hi[index], self.lo[index] = value.hi, value.lo

    def __and__(self, other: Limbs | int) -> Wide:
        other = widen(other)
        return Wide(self.hi & other.hi, self.lo & other.lo)

    def __or__(self, other: Limbs | int) -> Wide:
        other = widen(other)
        return Wide(self.hi | other.hi, self.lo | other.lo)

    def __xor__(self, other: Limbs | int) -> Wide:
        other = widen(other)
        return Wide(self.hi ^ other.hi, self.lo ^ other.lo)

    def __add__(self, other: Limbs | int) -> Wide:
        other = widen(other)
        lo = self.lo + other.lo
        return Wide(self.hi + other.hi + (lo < other.lo), lo)

    def __sub__(self, other: Limbs | int) -> Wide:
        other = widen(other)
        return Wide(self.hi - other.hi - (self.lo < other.lo), self.lo - other.lo)

    def __gt__(self, other: Limbs | int) -> Mask:
        other = widen(other)
        result: Mask = (self.hi > other.hi) | ((self.hi == other.hi) & (self.lo > other.lo))
        return result

    def __lt__(self, other: Limbs | int) -> Mask:
        other = widen(other)
        result: Mask = (self.hi < other.hi) | ((self.hi == other.hi) & (self.lo < other.lo))
        return result


Limbs = Any  # U64 or Wide


def widen(x: Limbs | int) -> Wide:
    """Return any operand as a `Wide`; a Python integer below 2**128 becomes arrays of one element."""
    if isinstance(x, Wide):
        return x
    if isinstance(x, int):
        return Wide(np.array([x >> 64], np.uint64), np.array([x & WORD], np.uint64))
    return Wide(np.zeros_like(x), x)


def narrow(x: Limbs) -> U64:
    """Return the low 64 bits."""
    return x.lo if isinstance(x, Wide) else x


def nonzero(x: Limbs) -> Mask:
    """Return a mask of the elements that are not zero."""
    result: Mask = ((x.hi | x.lo) if isinstance(x, Wide) else x) != 0
    return result


def equal(x: Limbs, y: Limbs | int) -> Mask:
    """Return a mask of the elements where x equals y."""
    return ~nonzero(x ^ y) if isinstance(x, Wide) else x == y


def where(mask: Mask, x: Limbs, y: Limbs) -> Limbs:
    """Choose elements of x where the mask holds, else of y."""
    if isinstance(x, Wide):
        return Wide(np.where(mask, x.hi, y.hi), np.where(mask, x.lo, y.lo))
    return np.where(mask, x, y)


def times_bit(x: Limbs | int, bit: U64, like: Limbs) -> Limbs:
    """Return x where bit is 1, and 0 where it is 0; a Python integer x takes as many limbs as ``like``."""
    if isinstance(like, Wide):
        x = widen(x)
        return Wide(x.hi * bit, x.lo * bit)
    return bit * x


def count(n: Count) -> Count:
    """Convert a shift count to the type that NumPy's shifts of uint64 need."""
    return n if isinstance(n, int) else n.view(np.uint64)


def shift_left(x: Limbs, n: Count) -> Limbs:
    """Return x * 2**n modulo the width."""
    if not isinstance(x, Wide):
        return x << count(n)
    if isinstance(n, int):
        if n >= 64:
            return Wide(x.lo << (n - 64), np.zeros_like(x.lo)) if n > 64 else Wide(x.lo, np.zeros_like(x.lo))
        return x if n == 0 else Wide(x.hi << n | x.lo >> (64 - n), x.lo << n)
    k = count(n)  # a shift by 64 or more gives 0, and modulo 2**64 one of n - 64 and 64 - n is such a shift
    return Wide(x.hi << k | x.lo << k - np.uint64(64) | x.lo >> np.uint64(64) - k, x.lo << k)


def shift_right(x: Limbs, n: Count) -> Limbs:
    """Return the integer part of x / 2**n."""
    if not isinstance(x, Wide):
        return x >> count(n)
    if isinstance(n, int):
        if n >= 64:
            return Wide(np.zeros_like(x.hi), x.hi >> (n - 64) if n > 64 else x.hi)
        return x if n == 0 else Wide(x.hi >> n, x.lo >> n | x.hi << (64 - n))
    k = count(n)
    return Wide(x.hi >> k, x.lo >> k | x.hi >> k - np.uint64(64) | x.hi << np.uint64(64) - k)


def jam_right(x: Limbs, n: Count) -> Limbs:
    """Return x / 2**n with its lowest bit set if any bit was shifted out: it rounds like the exact quotient."""
    kept = shift_right(x, n)
    return kept | (~equal(shift_left(kept, n), x)).astype(np.uint64)


def bit_length(x: Limbs) -> npt.NDArray[np.int64]:
    """Return the position of the leading one, counted from 1; 0 for 0. A single limb must be below 2**63."""
    if isinstance(x, Wide):
        high = x.hi != 0
        halves = np.where(high, x.hi, x.lo)
        top = (halves >> np.uint64(32)) != 0  # 32 bits convert to float64 exactly
        words = np.where(top, halves >> np.uint64(32), halves & _LOW)
        lengths: npt.NDArray[np.int64] = _bit_length(words) + 32 * top + 64 * high
        return lengths
    return _bit_length(x & ~(x >> 1))  # the same leading bit with a 0 after it, so that the conversion cannot round up


def _bit_length(x: U64) -> npt.NDArray[np.int64]:
    exponents = x.view(np.int64).astype(np.float64).view(np.int64)
    exponents >>= 52
    exponents -= 1022
    return np.maximum(exponents, 0, out=exponents)


def multiply_words(x: U64, y: U64) -> Wide:
    """Return the full product of two 64-bit words."""
    x1, x0, y1, y0 = x >> _32, x & _LOW, y >> _32, y & _LOW
    low, middle, cross = x0 * y0, x1 * y0, x0 * y1
    middle += low >> _32
    cross += middle & _LOW
    return Wide(x1 * y1 + (middle >> _32) + (cross >> _32), (cross << _32) | (low & _LOW))


def multiply(x: Limbs, y: Limbs, bits: int) -> tuple[Limbs, int]:
    """Multiply two integers below 2**bits. Returns (p, n) for p * 2**n; bits lost below p are jammed into its lowest
    bit.

    For one limb ``bits`` is at most 31. ``p`` is below 2**127.
    """
    if not isinstance(x, Wide):
        return x * y, 0
    if bits <= 63:
        return multiply_words(x.lo, y.lo), 0
    if bits == 64:
        return jam_right(multiply_words(x.lo, y.lo), 1), 1
    low, high = multiply_words(x.lo, y.lo), multiply_words(x.hi, y.hi)
    for cross in (multiply_words(x.lo, y.hi), multiply_words(x.hi, y.lo)):
        middle = Wide(np.zeros_like(low.hi), low.hi) + Wide(np.zeros_like(cross.lo), cross.lo)
        low = Wide(middle.lo, low.lo)
        high = high + (Wide(np.zeros_like(cross.hi), cross.hi) + middle.hi)
    # The product has 2 * bits bits: keep 127 of them.
    n = 2 * bits - 127
    kept = shift_left(high, 128 - n) | shift_right(low, n)
    return kept | nonzero(shift_left(low, 128 - n)).astype(np.uint64), n


def divide(x: Limbs, y: Limbs, bits: int) -> tuple[Limbs, int]:
    """Divide integers with leading bit bits - 1. Returns (q, n) for q / 2**n, with at least bits + 2 bits, jammed."""
    if not isinstance(x, Wide):
        n = min(63 - bits, 61)
        x = x << n
        quotient = x // y
        return quotient << 1 | (quotient * y != x), n + 1
    digits = -(-(bits + 2) // 32)
    divisor, rest = shift_left(y, 128 - bits), shift_left(x, 127 - bits)  # so that rest < divisor
    top, first, second = divisor.hi >> _32, divisor.hi & _LOW, divisor.lo
    second_high, second_low = second >> _32, second & _LOW
    quotient = Wide(np.zeros_like(rest.hi), np.zeros_like(rest.hi))
    for _ in range(digits):
        # Knuth's algorithm D with digits of 32 bits; the estimate from the leading digits is at most 2 too large.
        digit = np.minimum(rest.hi // top, _LOW)
        low = digit * second_low
        middle = digit * second_high + (low >> _32)
        product = Wide(digit * divisor.hi + (middle >> _32), (middle << _32) | (low & _LOW))
        carried = (digit * first + (middle >> _32)) >> _32
        highest = (digit * top + carried) >> _32
        shifted = Wide((rest.hi << _32) | (rest.lo >> _32), rest.lo << _32)
        overflow = (rest.hi >> _32) - highest - (shifted < product)
        rest = shifted - product
        for _ in range(2):
            negative = overflow >> np.uint64(63)
            if not negative.any():
                break
            back = times_bit(divisor, negative, divisor)
            rest = rest + back
            overflow = overflow + (rest < back) * negative
            digit = digit - negative
        quotient = Wide((quotient.hi << _32) | (quotient.lo >> _32), (quotient.lo << _32) | digit)
    n = 32 * digits - 1
    if 32 * digits > 126:
        return jam_right(quotient, 2) | nonzero(rest).astype(np.uint64), n - 2
    return shift_left(quotient, 1) | nonzero(rest).astype(np.uint64), n + 1
