"""Exact sums of products along K as a few products of matrices of floats, exact ones or enclosed ones.

*Slices.* The numbers of a row of A, and of a column of B, become integers in units of the lowest place among them.
Their bits are cut into slices of so few bits that f64 holds every sum of products of two slices: then the sums that a
product of matrices makes are exact, in any order of additions.

*Bounds.* f64 holds each product exactly, so a product of matrices in f64 differs from the exact sums by the rounding of
its additions alone, in any order: by less than K units of the last place of the sum of all magnitudes. If both ends of
that interval round to one code, it is that of the exact sum. Few elements are left, nearly always none.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask
from halfulp.fp_formats.paths import fast
from halfulp.semantics.matrix_units.kinds import TileOp

# --- slices -----------------------------------------------------------------------------------------------------------

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

HELD = 53
"""The bits of integers that f64 holds."""
_WORD = 62
"""The bits of the sums that integers of 64 bits hold, without the sign."""
_NO_PLACE = 1 << 40
"""The place of a zero: above that of any number."""
_ALONE = 1 << 18
"""The products up to which a library of linear algebra takes one thread. It may have more threads than processors."""


class Aligned(NamedTuple):
    """Numbers along the first axis as integers: ``magnitude`` times 2**``shift`` in units of 2**``place``, which has
    one entry on the first axis. ``bits``: those that hold every integer.
    """

    magnitude: Integers
    negative: npt.NDArray[np.bool_]
    shift: Integers
    place: Integers
    bits: int

    @classmethod
    def of(cls, significand: Integers, place: Integers) -> Aligned:
        """Return numbers, significand times 2**place. The place of a zero does not matter."""
        magnitude, zero = np.abs(significand), significand == 0
        place = np.broadcast_to(place, significand.shape)
        lowest = np.where(zero, np.iinfo(np.int64).max, place).min(axis=0, keepdims=True)
        shift = np.where(zero, 0, place - lowest)
        _, lengths = np.frexp(magnitude.astype(np.float64))
        whole = zero.all(axis=0, keepdims=True)
        return cls(magnitude, significand < 0, shift, np.where(whole, 0, lowest), int((lengths + shift).max()))

    def slices(self, bits: int) -> list[Floats]:
        """Return the integers as slices of a number of bits, the lowest first, each with the sign of the number."""
        found = []
        for first in range(0, self.bits, bits):
            by = self.shift - first
            raised = self.magnitude << np.clip(by, 0, bits)  # what overflows lies above the slice
            part = np.where(by >= 0, raised, self.magnitude >> np.clip(-by, 0, 63)) & ((1 << bits) - 1)
            found.append(np.where(self.negative, -part, part).astype(np.float64))
        return found


Terms = list[tuple[Integers, Integers]]
"""Integers, each array with the places of its units."""


def sums_of_products(a: Aligned, b: Aligned) -> Terms | None:
    """Return integers [M, N, tiles] below 2**62 with the places of their units, which together are the sums of the
    products along K of A [K, M, 1, tiles] and B [K, 1, N, tiles]. None if adding one product after the other takes
    less time.
    """
    depth = len(a.magnitude)
    bits = (HELD - depth.bit_length()) // 2
    if -(-a.bits // bits) * -(-b.bits // bits) > depth:
        return None
    return _sums(_matrices(a, bits, (3, 1, 0, 2)), _matrices(b, bits, (3, 0, 2, 1)), (a.place + b.place)[0], bits)


class Words(NamedTuple):
    """Exact sums, ``total`` times 2**``place``."""

    total: Integers
    place: Integers


def in_words(terms: Terms) -> Words | None:
    """Return the sums of terms; None if integers of 64 bits do not hold them."""
    zeros = [value == 0 for value, _ in terms]
    places = [np.where(zero, _NO_PLACE, place) for zero, (_, place) in zip(zeros, terms, strict=True)]
    lowest = np.minimum.reduce(places)
    total = np.zeros_like(lowest)
    for (value, _), zero, place in zip(terms, zeros, places, strict=True):
        shift = np.where(zero, 0, place - lowest)
        _, lengths = np.frexp(value.astype(np.float64))
        if (lengths + shift).max() + len(terms).bit_length() > _WORD:
            return None
        total += value << shift
    return Words(total, np.where(lowest == _NO_PLACE, 0, lowest))


def _matrices(side: Aligned, bits: int, order: tuple[int, ...]) -> list[Floats]:
    return [np.ascontiguousarray(part.transpose(order)[..., 0]) for part in side.slices(bits)]


def _sums(left: list[Floats], right: list[Floats], place: Integers, bits: int) -> Terms:
    found: Terms = []
    for level in range(len(left) + len(right) - 1):
        pairs = [(x, right[level - number]) for number, x in enumerate(left) if 0 <= level - number < len(right)]
        total: Integers = np.sum([product_of_matrices(x, y).astype(np.int64) for x, y in pairs], axis=0)
        found.append((total.transpose(1, 2, 0), place + level * bits))
    return found


def product_of_matrices(x: Floats, y: Floats) -> Floats:
    """Return the products of matrices [tiles, M, K] and [tiles, K, N], some rows at a time."""
    found = np.empty((*x.shape[:-1], y.shape[-1]))
    step = max(1, _ALONE // (y.shape[-2] * y.shape[-1]))
    for start in range(0, x.shape[-2], step):
        rows = slice(start, start + step)
        np.matmul(x[:, rows], y, out=found[:, rows])
    return found


def product_of_integers(x: Integers, y: Integers) -> Integers:
    """Return the products of matrices of integers whose sums of products have at most `HELD` bits."""
    return product_of_matrices(x.astype(np.float64), y.astype(np.float64)).astype(np.int64)


# --- bounds -----------------------------------------------------------------------------------------------------------

_F64 = FORMATS["f64"]
_UNIT = 2.0**-53
"""The largest error of an addition in f64, as a part of its result."""
_EXACT = 2.0**52
"""Sums of magnitudes below so many units are exact in f64."""
_LARGE, _MOST_DEPTH = 2.0**200, 1 << 20


class Enclosed(NamedTuple):
    """Codes of D, and a mask of the elements for which they are not certain."""

    codes: Codes
    unsure: Mask


@lru_cache(maxsize=256)
def holds_in_f64(op: TileOp) -> bool:
    """Tell whether f64 holds all products, and numbers halfway between two of D."""
    formats = [FORMATS[name] for name in (op.a, op.b, *([op.scale] * 2 if op.scale else []))]
    d = FORMATS[op.d]
    return (
        sum(each.precision for each in formats) <= _F64.precision
        and sum(each.emin - each.mantissa_bits for each in formats) >= _F64.emin
        and sum(each.emax + 1 for each in formats) < _F64.emax // 2
        and d.precision + 2 < _F64.precision
        and _F64.emin < d.emin - d.precision
        and d.emax < _F64.emax // 2
    )


def enclosed_sums(op: TileOp, a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...]) -> Enclosed | None:
    """Return A * B + C of tiles: A [tiles, M, K], B [tiles, K, N], C [tiles, M, N] in codes of D, and for each element
    of A and of B a scale. None if an operand is not finite, or f64 does not hold the products.
    """
    depth = a.shape[-1]
    if not holds_in_f64(op) or depth > _MOST_DEPTH:
        return None
    left, right, addend = _numbers(FORMATS[op.a], a), _numbers(FORMATS[op.b], b), _numbers(FORMATS[op.d], c)
    if scales and not all(np.isfinite(each).all() for each in (left, right)):
        return None
    if scales:
        left, right = left * _numbers(FORMATS[op.scale], scales[0]), right * _numbers(FORMATS[op.scale], scales[1])
    if not all(np.isfinite(each).all() for each in (left, right, addend)):
        return None
    total = product_of_matrices(left, right) + addend
    # No sum of magnitudes is more than the product of the lengths of its row and its column.
    row, column = (np.sqrt(np.einsum(by, each, each)) for by, each in (("tmk,tmk->tm", left), ("tkn,tkn->tn", right)))
    magnitude = row[:, :, None] * column[:, None] + np.abs(addend)
    error = magnitude * (2 * (depth + 8) * _UNIT)
    d = FORMATS[op.d]
    low, high = (_codes(d, end) for end in (total - error, total + error))
    unsure = low != high
    if unsure.any():
        # All terms are multiples of a unit: sums that have so few bits are exact.
        bits = FORMATS[op.scale].mantissa_bits + 1 if scales else 0
        units = _unit(np.min(_sizes(left), axis=2, keepdims=True), FORMATS[op.a].mantissa_bits + bits) * _unit(
            np.min(_sizes(right), axis=1, keepdims=True), FORMATS[op.b].mantissa_bits + bits
        )
        exact = magnitude < np.minimum(units, _unit(_sizes(addend), d.mantissa_bits)) * _EXACT
        high, unsure = np.where(exact, _codes(d, total), high), unsure & ~exact
    # What is left of products that cancel is +0, but a sum of zeros may be -0 if C is.
    return Enclosed(high, unsure | (total == 0) & (addend == 0) & (c != 0))


def _sizes(numbers: Floats) -> Floats:
    """Return the magnitudes, for zeros a large number."""
    return np.where(numbers == 0, _LARGE, np.abs(numbers))


def _unit(least: Floats, bits: int) -> Floats:
    """Return a number of which all numbers with so many fraction bits are multiples, if none is less than ``least``."""
    return np.asarray(np.ldexp(1.0, np.frexp(least)[1] - 1 - bits))


def _numbers(fmt: FloatFormat, codes: Codes) -> Floats:
    return np.asarray(fast.convert(fmt, _F64, codes).codes).view(np.float64)


def _codes(fmt: FloatFormat, numbers: Floats) -> Codes:
    return np.asarray(fast.convert(_F64, fmt, numbers.view(np.uint64)).codes)
