"""Whole matrix products by a matrix unit: which elements of K an instruction takes, and how the sums of instructions
are added.

A `Schedule` describes the code around the instructions: it cuts K into instructions, gives parts of K to several
workers, adds their partial sums, and ends with alpha and beta. Kernels for the same chip differ in these choices, and
so do their results, so the chip does not determine them. A schedule has a field with a default for each choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import ceil
from typing import NamedTuple

import numpy as np

from halfulp.fp_formats.formats import FORMATS, Codes, storage_dtype
from halfulp.fp_formats.paths import fast
from halfulp.semantics.matrix_units import machine_sums
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.models import multiply_accumulate, rule_of
from halfulp.semantics.matrix_units.scalar_sums import nan_of

AT_ONCE = 1 << 20
"""The elements of D at a time by machine code; NumPy takes as many products."""
_OPERANDS = 1 << 21
"""The elements of A and of B at a time by machine code, of one product."""
_ALONE = 1 << 12
"""The elements from which on matrices of a batch are multiplied one after the other: below, tiles are the lanes."""


class MatrixUnit(NamedTuple):
    """An operation of a matrix unit, and the model that computes it: "exact", "ieee" or "chip:<name>"."""

    operation: TileOp
    model: str = "exact"

    @property
    def depth(self) -> int:
        """The number of elements along K of one instruction."""
        op = self.operation
        return op.shape[2] if op.order is None else len(op.order)


class BadSchedule(ValueError):
    """The error for a schedule that the matrix unit, or the K of its instruction, does not allow."""


class StreamK(NamedTuple):
    """Workers that share the iterations of all tiles evenly.

    ``tile``: M, N and K of a tile; one iteration multiplies a tile's K. The iterations of all tiles are counted tile
    after tile, the tiles row by row. Each worker takes the same number of consecutive iterations; the last worker takes
    the rest.
    """

    workers: int
    tile: tuple[int, int, int]


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The choices of a kernel that runs the instructions of a matrix unit."""

    #: The order in which instructions take the elements along K: a permutation of the first ones, which is repeated for
    #: the following ones. Its length is a multiple of an instruction's K. None: ascending.
    k_order: tuple[int, ...] | None = None
    #: How K is cut into parts, each with its own partial sum: the number of parts, or their lengths in elements.
    split_k: int | tuple[int, ...] = 1
    #: How workers share the iterations, so that K is cut differently in each tile; used instead of `split_k`.
    stream_k: StreamK | None = None
    #: The numbers of the parts in the order in which their sums are added. None: ascending.
    partial_order: tuple[int, ...] | None = None
    #: The number of elements of a part after which the sum of the unit is added to a second sum, and starts at +0
    #: again. None: never.
    promote: int | None = None
    #: ``alpha``, ``beta``: codes of the type of D by which the sum and C are multiplied. If both are None, the sum
    #: starts with C.
    alpha: int | None = None
    beta: int | None = None


def lengths_of(schedule: Schedule, given_k: int, k: int, depth: int) -> tuple[int, ...]:
    """Return the lengths of the parts into which a schedule cuts K. ``given_k``: the K of the operands. ``k``: the K
    after it was filled up with zeros, a multiple of ``depth``, the K of an instruction. Raises BadSchedule.
    """
    given, count = schedule.split_k, k // depth
    if isinstance(given, int):
        if not 1 <= given <= max(1, count):
            raise BadSchedule(f"split_k is {given}, but K has {count} instructions of {depth} elements")
        each = ceil(count / given) * depth
        parts = tuple(min(each, k - start) for start in range(0, k, each)) if k else (0,)
        if len(parts) != given:
            raise BadSchedule(
                f"split_k={given} does not divide K: with {each // depth} instructions each there are "
                f"{len(parts)} parts; "
                "give the lengths of the parts instead"
            )
        return parts
    total = sum(given)
    if not given or min(given) <= 0 or any(each % depth for each in given[:-1]):
        raise BadSchedule(
            f"split_k is {given}: lengths of parts must be multiples of {depth}, the K of the instruction; only the "
            "last one may be shorter"
        )
    if total not in (given_k, k):
        filled = f", or {k} with the zeros that fill it up" if k != given_k else ""
        rest = k - sum(given[:-1])
        write = f"; write split_k={[*given[:-1], rest]}" if rest > 0 else ""
        raise BadSchedule(f"split_k is {given}: the sum of the lengths is {total}, but K is {given_k}{filled}{write}")
    return (*given[:-1], given[-1] + k - total)


def check(schedule: Schedule, unit: MatrixUnit) -> None:
    """Raise BadSchedule if a unit does not allow a schedule."""
    depth, order = unit.depth, schedule.k_order
    if order is not None and (not order or len(order) % depth or sorted(order) != list(range(len(order)))):
        raise BadSchedule(
            f"k_order must be a permutation of 0, 1, 2, …, and its length must be a multiple of {depth}, "
            "the K of the instruction"
        )
    if schedule.promote is not None and (schedule.promote <= 0 or schedule.promote % depth):
        raise BadSchedule(f"promote is {schedule.promote}, but must be a multiple of {depth}, the K of the instruction")
    if schedule.stream_k is not None:
        workers, tile = schedule.stream_k
        if schedule.split_k != 1:
            raise BadSchedule("split_k and stream_k both cut K: give one of them")
        if workers < 1 or min(tile) < 1 or tile[2] % depth:
            raise BadSchedule(
                f"stream_k is ({workers}, {tile}), but must be a number of workers and M, N, K of a tile, whose K is a "
                f"multiple of {depth}, the K of the instruction"
            )
    if unit.operation.d not in FORMATS:
        for name in ("promote", "alpha", "beta"):
            if getattr(schedule, name) is not None:
                raise BadSchedule(f"{name} is for floats, but {unit.operation.name} adds in {unit.operation.d}")


def multiply_by_unit(
    unit: MatrixUnit, a: Codes, b: Codes, c: Codes | None = None, schedule: Schedule | None = None
) -> Codes:
    """Return products of a [tiles, M, K] and b [tiles, K, N], either of which may have one tile for all: codes of D
    [tiles, M, N]. ``c``: codes [tiles, M, N] of D's type.

    The sum starts at C, or at +0; the result of an instruction is the C of the next one. If K is not a multiple of an
    instruction's K, or of the length of ``k_order``, A and B are filled up with +0. M and N of an instruction do not
    matter, since the elements of a tile do not depend on each other.

    Each further part of K starts at +0, and so does each sum that is promoted. Partial sums, and promoted sums, are
    added by IEEE 754 in D's type, to nearest even. With alpha, the sum starts at +0, and D is alpha * sum + beta * C:
    beta * C is rounded, then the fused multiply-add; if beta is zero, or if there is no C, C is not used. A NaN of
    these operations has the NaN code of the unit's rule.

    Raises `Unpublished` if the results of a chip are not known, BadSchedule for a schedule that does not fit.
    """
    schedule = Schedule() if schedule is None else schedule
    check(schedule, unit)
    period = unit.depth if schedule.k_order is None else len(schedule.k_order)
    given_k = a.shape[2]
    missing = -given_k % period
    if missing:
        a, b = np.pad(a, ((0, 0), (0, 0), (0, missing))), np.pad(b, ((0, 0), (0, missing), (0, 0)))
    if schedule.k_order is not None:
        places = (np.arange(0, a.shape[2], period)[:, np.newaxis] + np.array(schedule.k_order)).reshape(-1)
        a, b = a[:, :, places], b[:, places]
    tiles, m, n = np.broadcast_shapes((a.shape[0], a.shape[1], 1), (b.shape[0], 1, b.shape[2]))
    op = unit.operation
    d = np.empty((tiles, m, n), FORMATS[op.d].storage_dtype if op.d in FORMATS else storage_dtype(int(op.d[1:])))
    each = 1 if m * n >= _ALONE else tiles
    for first in range(0, tiles, max(1, each)):
        some = slice(first, first + each)
        left, right = (x[some] if x.shape[0] > 1 else x for x in (a, b))
        held = None if c is None else c[some]
        for rows, columns, lengths in _blocks(unit, schedule, left, right, d[some].shape[0], given_k):
            _check_order(schedule, len(lengths))
            before = None if held is None else held[:, rows, columns]
            part = _Block(unit, schedule, left[:, rows], right[:, :, columns], before)
            d[some, rows, columns] = part.result(lengths)
    return d


def _blocks(
    unit: MatrixUnit, schedule: Schedule, a: Codes, b: Codes, tiles: int, given_k: int
) -> Iterator[tuple[slice, slice, tuple[int, ...]]]:
    """Yield blocks of rows and columns, small enough for their temporaries, and the parts of K in each. ``given_k``: K
    before it was filled up.
    """
    (m, k), n, depth = a.shape[1:], b.shape[2], unit.depth
    room = AT_ONCE // max(1, tiles)
    if not machine_sums.takes(rule_of(unit.model, unit.operation), unit.operation, tiles * m * n * k):
        room //= depth
    room = max(1, room)
    if schedule.stream_k is None:
        lengths = lengths_of(schedule, given_k, k, depth)
        for rows, columns in _rectangles((0, m), (0, n), room):
            yield rows, columns, lengths
        return
    workers, (high, wide, deep) = schedule.stream_k
    of_a_tile, across = ceil(k / deep), ceil(n / wide)
    share = ceil(of_a_tile * ceil(m / high) * across / workers)
    for number in range(ceil(m / high) * across):
        begin = number * of_a_tile
        ends = [*range((begin // share + 1) * share, begin + of_a_tile, share), begin + of_a_tile] if share else []
        cuts = [0, *(min(k, (end - begin) * deep) for end in ends)]
        lengths = tuple(stop - start for start, stop in pairwise(cuts)) or (0,)
        top, left = number // across * high, number % across * wide
        for rows, columns in _rectangles((top, min(m, top + high)), (left, min(n, left + wide)), room):
            yield rows, columns, lengths


def _rectangles(rows: tuple[int, int], columns: tuple[int, int], room: int) -> Iterator[tuple[slice, slice]]:
    wide = min(room, max(1, columns[1] - columns[0]))
    high = max(1, room // wide)
    for top in range(*rows, high):
        for left in range(*columns, wide):
            yield slice(top, min(rows[1], top + high)), slice(left, min(columns[1], left + wide))


def _check_order(schedule: Schedule, parts: int) -> None:
    order = schedule.partial_order
    if order is None or sorted(order) == list(range(parts)):
        return
    if schedule.stream_k is not None and sorted(order)[:parts] == list(range(parts)) and len({*order}) == len(order):
        return  # tiles with fewer parts leave out the numbers that they lack
    raise BadSchedule(
        f"partial_order is {order}, but must have each number of the {parts} parts once: 0 to {parts - 1}"
    )


class _Block(NamedTuple):
    """A block of rows and columns: A [tiles, M, K], B [tiles, K, N], C [tiles, M, N]."""

    unit: MatrixUnit
    schedule: Schedule
    a: Codes
    b: Codes
    c: Codes | None

    def result(self, lengths: Sequence[int]) -> Codes:
        """Return D. ``lengths``: those of the parts of K."""
        schedule, count = self.schedule, len(lengths)
        starts = [0, *accumulate(lengths)]
        order = range(count) if schedule.partial_order is None else schedule.partial_order
        first = self.c if schedule.alpha is None and self.c is not None else self._zeros()
        total: Codes | None = None
        for part in order:
            if part < count:
                begin = first if part == 0 else self._zeros()
                partial = self._part(range(starts[part], starts[part + 1]), begin)
                total = partial if total is None else self._added(total, partial)
        assert total is not None
        return total if schedule.alpha is None else self._scaled(total, schedule.alpha)

    def _zeros(self) -> Codes:
        d = self.unit.operation.d
        tiles = max(self.a.shape[0], self.b.shape[0])
        dtype = FORMATS[d].storage_dtype if d in FORMATS else storage_dtype(int(d[1:]))
        return np.zeros((tiles, self.a.shape[1], self.b.shape[2]), dtype)

    def _part(self, places: range, begin: Codes) -> Codes:
        """Return the sum of a part of K, which starts at ``begin``."""
        every = self.schedule.promote
        if every is None:
            return self._instructions(places, begin)
        for start in range(places.start, places.stop, every):
            window = range(start, min(start + every, places.stop))
            begin = self._added(begin, self._instructions(window, self._zeros()))
        return begin

    def _instructions(self, places: range, total: Codes) -> Codes:
        unit, (tiles, m, n) = self.unit, total.shape
        depth = many = unit.depth
        if machine_sums.takes(rule_of(unit.model, unit.operation), unit.operation, total.size * len(places)):
            many = max(1, _OPERANDS // (m + n) // depth) * depth
        for start in range(places.start, places.stop, many):
            ks = slice(start, min(start + many, places.stop))
            a, b = self.a[:, :, ks], self.b[:, ks]
            a = np.broadcast_to(a, (tiles, *a.shape[1:]))
            b = np.broadcast_to(b, (tiles, *b.shape[1:]))
            total = multiply_accumulate(unit.model, unit.operation, a, b, total)
        return total

    def _added(self, x: Codes, y: Codes) -> Codes:
        d = self.unit.operation.d
        if d not in FORMATS:
            return np.asarray((x + y) & x.dtype.type((1 << int(d[1:])) - 1))
        return self._with_nan(fast.add(FORMATS[d], x, y).codes)

    def _scaled(self, total: Codes, alpha: int) -> Codes:
        fmt, beta = FORMATS[self.unit.operation.d], self.schedule.beta
        factor = np.array(alpha, fmt.storage_dtype)
        if self.c is None or beta is None or not beta & fmt.magnitude_mask:
            return self._with_nan(fast.multiply(fmt, factor, total).codes)
        source = self._with_nan(fast.multiply(fmt, np.array(beta, fmt.storage_dtype), self.c).codes)
        return self._with_nan(fast.fma(fmt, np.broadcast_to(factor, total.shape), total, source).codes)

    def _with_nan(self, codes: Codes) -> Codes:
        """Replace NaNs by the NaN code of the rule."""
        op = self.unit.operation
        rule, fmt = rule_of(self.unit.model, op), FORMATS[op.d]
        if rule is None or rule.nan == "payload":
            return codes
        nan = fast.is_nan(fmt, codes)
        return np.where(nan, nan_of(rule, fmt), codes).astype(fmt.storage_dtype) if nan.any() else codes
