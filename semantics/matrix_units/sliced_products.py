"""Exact sums of products along K as a few products of matrices of floats.

The numbers of a row of A, and of a column of B, become integers in units of the lowest place among them. Their bits are
cut into slices of so few bits that f64 holds every sum of products of two slices: then the sums that a product of
matrices makes are exact, in any order of additions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_HELD = 53
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
    bits = (_HELD - depth.bit_length()) // 2
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
        total: Integers = np.sum([_product(x, y).astype(np.int64) for x, y in pairs], axis=0)
        found.append((total.transpose(1, 2, 0), place + level * bits))
    return found


def _product(x: Floats, y: Floats) -> Floats:
    """Return the product of matrices, some rows at a time."""
    found = np.empty((*x.shape[:-1], y.shape[-1]))
    step = max(1, _ALONE // (y.shape[-2] * y.shape[-1]))
    for start in range(0, x.shape[-2], step):
        rows = slice(start, start + step)
        np.matmul(x[:, rows], y, out=found[:, rows])
    return found
