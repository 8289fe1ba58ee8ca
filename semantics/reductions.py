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
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from halfulp.fp_formats.codes import Codes, Mask, code_shape
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.suggestions import did_you_mean, with_hint
from halfulp.semantics.accumulators import Accumulator, Faults, Number, width_of
from halfulp.semantics.exact_totals import exact_sum, exact_sum_of_products
from halfulp.semantics.kernel import Fault
from halfulp.semantics.profile import PROFILE_FIELDS, Profile

ORDERS: Mapping[str, str] = PROFILE_FIELDS["reduction_order"].meanings
"""The orders of a reduction, with their meanings."""

AT_ONCE = 1 << 20  # terms at a time: temporaries stay small
DIGITS = 1 << 5  # of an exact sum, about


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
    exact = order == "exact" and isinstance(into, FloatFormat)

    def some(part: tuple[slice, ...], found: Faults) -> Codes:
        (columns,) = part
        if exact:
            return exact_sum(accumulator, terms[:, columns], source, found)
        return _reduced(
            accumulator,
            count,
            lambda rows: accumulator.converted(terms[rows, columns], source, found, 0),
            accumulator.zeros((len(range(lanes)[columns]),)),
            order,
            found,
        )

    return _in_parts(accumulator, (lanes,), count, order, some)


def multiply_and_add(
    a: Codes, b: Codes, sources: tuple[Number, Number], into: Number, order: str, profile: Profile
) -> Reduced:
    """Return matrix products: of a [tiles, M, K] and b [tiles, K, N], codes [tiles, M, N].

    Either may have one tile for all. ``sources``: the types of a and b. Raises ValueError as `add_up` does.
    """
    accumulator = _accumulator(into, order, profile, *sources)
    exact = order == "exact" and isinstance(into, FloatFormat)
    shape = np.broadcast_shapes((a.shape[0], a.shape[1], 1), (b.shape[0], 1, b.shape[2]))
    count = a.shape[2]
    # [K, tiles, M, 1] and [K, tiles, 1, N]
    x, y = np.moveaxis(a, 2, 0)[:, :, :, None], np.moveaxis(b, 1, 0)[:, :, None]
    faults = Faults()
    if not exact:
        x, y = (accumulator.converted(each, source, faults, 0) for each, source in zip((x, y), sources, strict=True))

    def some(part: tuple[slice, ...], found: Faults) -> Codes:
        tiles, rows, columns = part
        left = x[:, tiles if x.shape[1] > 1 else slice(None), rows]
        right = y[:, tiles if y.shape[1] > 1 else slice(None), :, columns]
        if exact:
            return exact_sum_of_products(accumulator, left, right, sources, found)
        lanes = np.broadcast_shapes(left.shape[1:4], right.shape[1:4])
        zeros = accumulator.zeros((prod(lanes),))

        def products(ks: slice) -> Codes:
            codes = accumulator.product(left[ks], right[ks], found, 0)
            return codes.reshape(len(codes), *zeros.shape)

        return _reduced(accumulator, count, products, zeros, order, found, lanes)

    return _in_parts(accumulator, shape, count, order, some, faults)


def _in_parts(
    accumulator: Accumulator,
    lanes: tuple[int, ...],
    count: int,
    order: str,
    some: Callable[[tuple[slice, ...], Faults], Codes],
    faults: Faults | None = None,
) -> Reduced:
    """Compute some lanes at a time, so that temporaries stay small: pairs need all terms, exact sums their digits."""
    faults = Faults() if faults is None else faults
    each = {"pairwise": max(1, count), "exact": DIGITS}.get(order, 1)
    steps, room = [], max(1, AT_ONCE // each)
    for size in reversed(lanes):
        steps.append(min(max(1, size), room))
        room = max(1, room // max(1, size))
    codes = accumulator.zeros(lanes)
    for part in product(*(_slices(size, step) for size, step in zip(lanes, reversed(steps), strict=True))):
        found = Faults()
        into = codes[part]
        into[...] = some(part, found).reshape(into.shape)
        faults.put(found, lanes, part)
    unspecified = order == "open" and count > 2 and isinstance(accumulator.number, FloatFormat)
    return Reduced(codes, faults.over(lanes), unspecified)


def _accumulator(into: Number, order: str, profile: Profile, *sources: Number) -> Accumulator:
    check_order(order)
    check_accumulator(into)
    accumulator = Accumulator(into, profile)
    for source in sources:
        accumulator.converting(source)
    return accumulator


def _reduced(
    accumulator: Accumulator,
    count: int,
    terms: Callable[[slice], Codes],
    zeros: Codes,
    order: str,
    faults: Faults,
    lanes: tuple[int, ...] | None = None,
) -> Codes:
    """Add terms to ``zeros`` [lanes]. ``terms``: a function for those of some rows, [rows, lanes], as the accumulator's
    codes. ``lanes``: the shape of the lanes in faults, where it differs.
    """
    found = Faults()
    if order == "pairwise" and count:
        rows = terms(slice(None))
        while len(rows) > 1:
            even = len(rows) // 2 * 2
            sums = accumulator.sum_of_two(rows[0:even:2], rows[1:even:2], found, 0)
            rows = np.concatenate([sums, rows[even:]])
        codes = accumulator.sum_of_two(zeros, rows[0], found)
    else:
        codes = zeros
        for some in _slices(count, max(1, AT_ONCE // max(1, len(zeros)))):
            codes = accumulator.in_order(codes, terms(some), found)
    for op, fault, mask in found.found:
        faults.note(op, ((fault, mask.reshape(lanes or mask.shape)),))
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
