"""Sums and sums of products of codes, in a given order and with a given accumulator.

Every sum starts with +0 of the accumulator's type, as a `linalg.fill` with 0 before a reduction does. So the sum of no
terms is +0, and so is the sum of negative zeros. Terms are converted to the accumulator's type first, each rounded
once; a product of two converted factors is rounded once in it. The orders:

- ``sequential``: total = total + term, term after term, each sum rounded once.
- ``pairwise``: neighbours are added, (t0 + t1), (t2 + t3) and so on, then neighbours of these sums, until one is left.
  A last one without a neighbour goes up unchanged. Then +0 + that sum.
- ``exact``: the exact sum of the exact terms, rounded once. Nothing is converted or rounded before. If terms are
  infinite or NaN, these terms alone are added as in ``sequential``; a finite factor of such a product counts as a large
  number of its sign, or as zero. A format with neither infinities nor NaN takes the numbers that they convert to.
- ``open``: the result of ``sequential``. With more than two terms, any other order is right as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from halfulp.fp_formats.codes import Codes, Mask, code_shape
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.suggestions import did_you_mean, with_hint
from halfulp.semantics.accumulators import Accumulator, Faults, Number, width_of
from halfulp.semantics.exact_totals import exact_sum, exact_sum_of_products
from halfulp.semantics.kernel import Fault
from halfulp.semantics.profile import Profile

ORDERS: Mapping[str, str] = MappingProxyType(
    {
        "sequential": "one term after the other, the accumulator first",
        "pairwise": "neighbours first, then the sums of neighbours, as in a tree",
        "exact": "the exact sum, rounded once",
        "open": "any order: the result of `sequential`, marked as unspecified",
    }
)
"""The orders of a reduction, with their meanings."""

AT_ONCE = 1 << 20  # terms at a time: temporaries stay small

Blocks = Callable[[slice, slice, Faults], Codes]
"""A function for the terms [rows, lanes] of some rows and some lanes, in the accumulator's type."""


class Reduced(NamedTuple):
    """Sums: their codes, their faults by op, with masks of the same shape, and whether they are unspecified."""

    codes: Codes
    faults: tuple[tuple[str, Fault, Mask], ...] = ()
    unspecified: bool = False


def check_order(order: object) -> str:
    """Return the order. Raises ValueError, listing the orders."""
    if not isinstance(order, str) or order not in ORDERS:
        message = f"order is {order!r}, but must be one of {', '.join(ORDERS)}"
        raise ValueError(with_hint(message, did_you_mean(str(order), ORDERS)))
    return order


def check_accumulator(number: Number) -> None:
    """Raise ValueError for a format in which no sum can start."""
    if isinstance(number, FloatFormat) and not number.zero:
        raise ValueError(f"{number.name} has no zero, from which a sum starts")


def add_up(terms: Codes, source: Number, into: Number, order: str, profile: Profile) -> Reduced:
    """Return the sums of terms [n, lanes] of the type ``source`` in the type ``into``: codes [lanes].

    Raises ValueError for an unknown order, for floats into integers, and for an accumulator without zero.
    """
    accumulator = _accumulator(into, order, profile, source)
    count, lanes = terms.shape[:2]
    if order == "exact" and isinstance(into, FloatFormat):
        faults = Faults()
        return Reduced(exact_sum(accumulator, terms, source, faults), faults.over((lanes,)))

    def block(rows: slice, columns: slice, faults: Faults) -> Codes:
        return accumulator.converted(terms[rows, columns], source, faults, 0)

    return _reduced(accumulator, count, lanes, block, order)


def multiply_and_add(
    a: Codes, b: Codes, sources: tuple[Number, Number], into: Number, order: str, profile: Profile
) -> Reduced:
    """Return matrix products: of a [tiles, M, K] and b [tiles, K, N], codes [tiles, M, N].

    Either may have one tile for all. ``sources``: the types of a and b. Raises ValueError as `add_up` does.
    """
    accumulator = _accumulator(into, order, profile, *sources)
    faults = Faults()
    # [K, tiles, M, 1] and [K, tiles, 1, N]
    a, b = np.moveaxis(a, 2, 0)[:, :, :, None], np.moveaxis(b, 1, 0)[:, :, None]
    shape = np.broadcast_shapes(a.shape[1:4], b.shape[1:4])
    if order == "exact" and isinstance(into, FloatFormat):
        codes = exact_sum_of_products(accumulator, a, b, sources, shape, faults)
        return Reduced(codes, faults.over(shape))
    x = accumulator.converted(a, sources[0], faults, 0)
    y = accumulator.converted(b, sources[1], faults, 0)
    limbs = x.shape[4:]
    results = accumulator.zeros(shape)
    unspecified = False
    for tile in range(shape[0]):
        p, q = (each[:, tile if each.shape[1] > 1 else 0] for each in (x, y))
        for rows in _slices(shape[1], max(1, AT_ONCE // max(1, shape[2] * (len(p) if order == "pairwise" else 1)))):
            left = p[:, rows]
            lanes = left.shape[1] * shape[2]

            def block(ks: slice, columns: slice, noted: Faults, left: Codes = left, right: Codes = q) -> Codes:
                own = Faults()
                products = accumulator.product(left[ks], right[ks], own, 0)
                for op, fault, mask in own.found:
                    noted.note(op, ((fault, mask.reshape(-1)[columns]),))
                return products.reshape(len(products), -1, *limbs)[:, columns]

            reduced = _reduced(accumulator, len(p), lanes, block, order)
            unspecified |= reduced.unspecified
            results[tile, rows] = reduced.codes.reshape(left.shape[1], shape[2], *limbs)
            for op, fault, mask in reduced.faults:
                whole = np.zeros(shape, np.bool_)
                whole[tile, rows] = mask.reshape(left.shape[1], shape[2])
                faults.note(op, ((fault, whole),))
    return Reduced(results, faults.over(shape), unspecified)


def _accumulator(into: Number, order: str, profile: Profile, *sources: Number) -> Accumulator:
    check_order(order)
    check_accumulator(into)
    accumulator = Accumulator(into, profile)
    for source in sources:
        accumulator.converting(source)
    return accumulator


def _reduced(accumulator: Accumulator, count: int, lanes: int, block: Blocks, order: str) -> Reduced:
    faults = Faults()
    if order == "pairwise" and count:
        codes = _pairwise(accumulator, count, lanes, block, faults)
    else:
        codes = accumulator.zeros((lanes,))
        for rows in _slices(count, max(1, AT_ONCE // max(1, lanes))):
            codes = accumulator.in_order(codes, block(rows, slice(None), faults), faults)
    unspecified = order == "open" and count > 2 and isinstance(accumulator.number, FloatFormat)
    return Reduced(codes, faults.over((lanes,)), unspecified)


def _pairwise(accumulator: Accumulator, count: int, lanes: int, block: Blocks, faults: Faults) -> Codes:
    """Add neighbours, then neighbours of the sums. All terms of some lanes are held at a time."""
    codes = accumulator.zeros((lanes,))
    for columns in _slices(lanes, max(1, AT_ONCE // count)):
        noted = Faults()
        rows = block(slice(None), columns, noted)
        while len(rows) > 1:
            even = len(rows) // 2 * 2
            sums = accumulator.sum_of_two(rows[0:even:2], rows[1:even:2], noted, 0)
            rows = np.concatenate([sums, rows[even:]])
        codes[columns] = accumulator.sum_of_two(codes[columns], rows[0], noted)
        for op, fault, mask in noted.found:
            whole = np.zeros(lanes, np.bool_)
            whole[columns] = mask
            faults.note(op, ((fault, whole),))
    return codes


def _slices(count: int, step: int) -> Iterator[slice]:
    for start in range(0, count, step):
        yield slice(start, start + step)


def lanes_of(codes: Codes, number: Number, axes: tuple[int, ...]) -> tuple[Codes, tuple[int, ...]]:
    """Return codes as [n, lanes], where n goes over the given axes in row-major order, and the shape of the lanes."""
    rank = codes.ndim - len(code_shape((), width_of(number)))
    kept = [axis for axis in range(rank) if axis not in axes]
    shape = tuple(codes.shape[axis] for axis in kept)
    moved = codes.transpose(*sorted(axes), *kept, *range(rank, codes.ndim))
    return moved.reshape(prod(codes.shape[axis] for axis in axes), prod(shape), *codes.shape[rank:]), shape
