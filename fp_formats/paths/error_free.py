"""Round f32 and f64 in any mode: take the CPU's result to nearest even, and correct it by the sign of its error.

A few more exact operations (Knuth's and Dekker's error-free transforms) give the error of a rounded sum, product or
quotient, or its sign. The exact result lies on that side of the rounded one, and nearer than the next float, so in
every other mode it rounds to one of these two. The codes of floats with one sign are in the order of their magnitudes:
the next float is one code away. Only the CPU rounds here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes, FloatFormat
from halfulp.fp_formats.paths.domains import F32, F64, NATIVE
from halfulp.fp_formats.scalar import RD, RNA, RU, RZ

Floats = npt.NDArray[Any]
Index = npt.NDArray[np.intp]
Kernel = Callable[[Codes, Codes, Codes], Index | None]

CHUNK = 1 << 15  # elements: a chunk and its scratch arrays stay in the second-level cache

SPLIT = 2.0**27 + 1  # Veltkamp's factor: it splits a number into halves of 26 bits, whose products are exact in f64
LEAST = 2.0**-960  # a product or dividend in f64 of at least this size loses nothing to underflow


class Scratch:
    """Arrays for intermediate results. Each call has its own, so that several threads may call at the same time."""

    __slots__ = ("floats", "integers", "masks", "sign_bit")

    def __init__(self, integers: Codes, masks: npt.NDArray[np.bool_], floats: Floats) -> None:
        self.integers, self.masks, self.floats = integers, masks, floats
        self.sign_bit = 8 * integers.itemsize - 1

    def first(self, size: int) -> Scratch:
        """Return views of the first ``size`` elements of these arrays."""
        if size == self.integers.size:
            return self
        return Scratch(self.integers[:size], self.masks[:, :size], self.floats[:, :size])

    def counts(self, mask: npt.NDArray[np.bool_]) -> Codes:
        """Return 1 for the elements that the mask selects, else 0."""
        self.integers[...] = mask
        return self.integers


def kernel(operation: str, fmt: FloatFormat, rounding: int, elements: int, odd: bool = False) -> Kernel:
    """Make a function ``(out, x, y)`` of codes of f32 or f64, in contiguous arrays of one dimension, at most `CHUNK`
    long.

    It fills ``out`` and returns the indices of the elements that it cannot compute, or None if there are none. It
    cannot compute NaNs, most infinities and overflows; in f64, factors, divisors and quotients from 2**996 on, and
    products and dividends below 2**-960; for RNA, also NaN and subnormal quotients.
    ``odd``: round toward zero instead, and set the last bit of inexact results; zeros are as in ``rounding``.
    """
    dtype = NATIVE[fmt]
    if operation == "divide" and rounding == RNA and not odd:
        return lambda out, x, y: _quotient_away(fmt, out.view(dtype), x.view(dtype), y.view(dtype))
    count, floats, error = _ERRORS[operation, fmt]
    step = _to_odd if odd else _STEPS[rounding]
    size = min(elements, CHUNK)
    signed = np.dtype(f"i{dtype.itemsize}")
    whole = Scratch(np.empty(size, signed), np.empty((2, size), np.bool_), np.empty((count, size), floats))

    def work(out: Codes, x: Codes, y: Codes) -> Index | None:
        scratch = whole.first(out.size)
        lost, same = error(out.view(dtype), x.view(dtype), y.view(dtype), rounding, scratch)
        # Errors are at most half an ulp, so the difference of two overflows only if one of them is infinite.
        known = np.isfinite(np.maximum.reduce(lost) - np.minimum.reduce(lost))
        index = None if known else np.flatnonzero(~np.isfinite(lost))
        step(out.view(signed), lost, same, scratch)
        return index

    return work


# Errors: each function fills ``s`` with the results to nearest even. It returns the differences of the exact results
# from these, or numbers of the same sign, infinite or NaN where unknown; and ``s`` in the type of the differences.


def _sum(s: Floats, a: Floats, b: Floats, rounding: int, scratch: Scratch) -> tuple[Floats, Floats]:
    """Add, with Knuth's TwoSum: the error of a sum is a float, and subnormal sums are exact.

    If anything overflows, the error is infinite or NaN.
    """
    e, t, _ = scratch.floats
    if rounding == RD:  # -(-a - b): a zero result is -0, unless both operands are +0
        np.negative(a, out=s)
        np.subtract(s, b, out=s)
        np.negative(s, out=s)
    else:
        np.add(a, b, out=s)
    np.subtract(s, a, out=t)
    np.subtract(s, t, out=e)
    np.subtract(a, e, out=e)
    np.subtract(b, t, out=t)
    return np.add(e, t, out=e), s


def _difference(s: Floats, a: Floats, b: Floats, rounding: int, scratch: Scratch) -> tuple[Floats, Floats]:
    return _sum(s, a, np.negative(b, out=scratch.floats[2]), rounding, scratch)


def _product_f32(s: Floats, a: Floats, b: Floats, rounding: int, scratch: Scratch) -> tuple[Floats, Floats]:
    """Multiply in f64, where products of two f32 are exact, and so is their error in f32."""
    p, q, _ = scratch.floats
    p[...] = a
    q[...] = b
    np.multiply(p, q, out=p)
    np.copyto(s, p, casting="unsafe")
    q[...] = s
    return np.subtract(p, q, out=p), q


def _quotient_f32(s: Floats, a: Floats, b: Floats, rounding: int, scratch: Scratch) -> tuple[Floats, Floats]:
    """Write a / b to ``s``. Return a number with the sign of a / b - s, and s as f64. The sign is that of (a - s * b) *
    b: in f64, s * b is exact, and nothing underflows.
    """
    p, q, r = scratch.floats
    np.divide(a, b, out=s)
    p[...] = s
    q[...] = b
    np.multiply(p, q, out=r)
    q[...] = a
    np.subtract(q, r, out=r)
    q[...] = b
    return np.multiply(r, q, out=r), p


def _product_f64(s: Floats, a: Floats, b: Floats, rounding: int, scratch: Scratch) -> tuple[Floats, Floats]:
    """Multiply, with Dekker's product. If it is at least `LEAST`, the lowest bits of its factors are worth at least
    2**-1066.
    """
    e = scratch.floats[0]
    np.multiply(a, b, out=s)
    _dekker(s, a, b, *scratch.floats)
    size = np.absolute(s, out=scratch.floats[1])
    if not np.minimum.reduce(size) >= LEAST:
        e[(size < LEAST) & (a != 0) & (b != 0)] = np.nan
    return e, s


def _quotient_f64(s: Floats, a: Floats, b: Floats, rounding: int, scratch: Scratch) -> tuple[Floats, Floats]:
    """Divide. The sign of a / b - s is that of the remainder a - s * b, or the opposite if b is negative.

    The remainder is (a - p) - (s * b - p), where p is the rounded product s * b. The first difference is exact if p
    lies between half of a and twice a. Else s is subnormal, and the first difference is far larger than the other: it
    gives the sign.
    """
    e, t, _, _, _, p = scratch.floats
    np.divide(a, b, out=s)
    np.multiply(s, b, out=p)
    _dekker(p, s, b, *scratch.floats[:5])
    np.subtract(a, p, out=p)
    np.subtract(p, e, out=e)
    flips = scratch.counts(np.signbit(b, out=scratch.masks[0]))
    flips <<= scratch.sign_bit
    np.bitwise_xor(e.view(flips.dtype), flips, out=e.view(flips.dtype))
    size = np.absolute(a, out=t)
    if not np.minimum.reduce(size) >= LEAST:
        e[(size < LEAST) & (a != 0)] = np.nan
    return e, s


def _dekker(p: Floats, a: Floats, b: Floats, e: Floats, t: Floats, u: Floats, v: Floats, w: Floats) -> None:
    """Set ``e = a * b - p``, where p is the rounded product: NaN if splitting a factor overflows, from 2**996
    on.
    """
    for x, high, low in ((a, t, u), (b, v, w)):
        np.multiply(x, SPLIT, out=high)
        np.subtract(high, x, out=low)
        np.subtract(high, low, out=high)
        np.subtract(x, high, out=low)
    np.multiply(t, v, out=e)
    np.subtract(e, p, out=e)
    for x, y in ((t, w), (v, u), (u, w)):
        np.multiply(x, y, out=x)
        np.add(e, x, out=e)


_ERRORS: dict[tuple[str, FloatFormat], tuple[int, npt.DTypeLike, Callable[..., tuple[Floats, Floats]]]] = {
    # The count and the dtype of the scratch arrays, and the function.
    **{("add", fmt): (3, dtype, _sum) for fmt, dtype in NATIVE.items()},
    **{("subtract", fmt): (3, dtype, _difference) for fmt, dtype in NATIVE.items()},
    ("multiply", F32): (3, "f8", _product_f32),
    ("divide", F32): (3, "f8", _quotient_f32),
    ("multiply", F64): (5, "f8", _product_f64),
    ("divide", F64): (6, "f8", _quotient_f64),
}


# Steps from results to nearest even, as signed codes, to the results of another mode. Where the error is unknown, the
# result has no meaning.


def _upward(codes: Codes, lost: Floats, same: Floats, scratch: Scratch) -> None:
    codes += _outward(codes, np.greater(lost, 0, out=scratch.masks[0]), scratch)


def _downward(codes: Codes, lost: Floats, same: Floats, scratch: Scratch) -> None:
    codes -= _outward(codes, np.less(lost, 0, out=scratch.masks[0]), scratch)


def _outward(codes: Codes, mask: npt.NDArray[np.bool_], scratch: Scratch) -> Codes:
    """Return the step to the number further from zero where the mask holds (1 for positive codes, -1 for negative),
    else 0.
    """
    counts = scratch.counts(mask)
    negative = codes >> scratch.sign_bit
    counts ^= negative
    counts -= negative
    return counts


def _toward_zero(codes: Codes, lost: Floats, same: Floats, scratch: Scratch) -> None:
    nearer, other = scratch.masks
    np.signbit(lost, out=nearer)
    nearer ^= np.signbit(same, out=other)
    nearer &= np.not_equal(lost, 0, out=other)
    codes -= scratch.counts(nearer)


def _to_odd(codes: Codes, lost: Floats, same: Floats, scratch: Scratch) -> None:
    _toward_zero(codes, lost, same, scratch)
    codes |= scratch.counts(np.not_equal(lost, 0, out=scratch.masks[0]))


def _ties_away(codes: Codes, lost: Floats, same: Floats, scratch: Scratch) -> None:
    """Move to the next code further from zero if the error is half of the distance: there nearest-even chose the other
    neighbour.
    """
    counts = np.add(codes, 1, out=scratch.integers)
    further = counts.view(f"f{codes.itemsize}")
    if further.dtype != same.dtype:
        scratch.floats[2][...] = further
        further = scratch.floats[2]
    np.subtract(further, same, out=further)
    np.add(lost, lost, out=lost)
    codes += scratch.counts(np.equal(lost, further, out=scratch.masks[0]))


_STEPS: dict[int, Callable[..., None]] = {RU: _upward, RD: _downward, RZ: _toward_zero, RNA: _ties_away}


def _quotient_away(fmt: FloatFormat, s: Floats, a: Floats, b: Floats) -> Index | None:
    """Divide to nearest even. A normal quotient is never midway between two floats: such a number times a float would
    have too many bits for the dividend.
    """
    size = np.absolute(np.divide(a, b, out=s))
    normal = 2.0**fmt.emin
    if np.minimum.reduce(size) >= normal:  # false for a NaN
        return None
    index = np.flatnonzero(~(size >= normal) & ((a != 0) | (size != 0)))
    return index if index.size else None
