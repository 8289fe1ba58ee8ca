"""Tables of operands that are computed on demand: any part alone, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import LIMB_BITS, Codes, code_shape, ints_to_codes, storage_dtype

GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, modulo 1, are spread evenly over 0 to 1, however many they are."""

CHUNK = 1 << 18
"""Default number of rows that are made at once; it bounds the memory of a large set."""


ENDLESS = 1 << 62
"""The number of rows of a table that has as many as anyone asks for."""


@dataclass(frozen=True)
class Rows:
    """Rows of operand codes. Row ``i`` depends on ``i`` alone, never on what was made before.

    ``widths``: bits of each operand. ``count``: the number of rows. ``make(start, stop)``: the columns of these rows,
    one array of codes per operand. ``period``: parts begin and end at multiples of it; above 1 for types whose
    parameters lie along an axis, where the position of a row within the period is its place in the tensor.
    """

    widths: tuple[int, ...]
    count: int
    make: Callable[[int, int], tuple[Codes, ...]]
    period: int = 1

    def part(self, start: int, stop: int) -> tuple[Codes, ...]:
        """Return the columns of rows ``start`` to ``stop``. Raises ValueError outside the table or the period."""
        if not 0 <= start <= stop <= self.count or start % self.period or stop % self.period:
            raise ValueError(
                f"rows {start} to {stop} are not within {self.count} rows"
                + (f" in groups of {self.period}" if self.period > 1 else "")
            )
        return self.make(start, stop)

    def chunks(self, size: int = CHUNK, start: int = 0, stop: int | None = None) -> Iterator[tuple[Codes, ...]]:
        """Yield the rows from ``start`` to ``stop`` in order, about ``size`` at a time."""
        stop = self.count if stop is None else stop
        step = max(size // self.period, 1) * self.period
        for begin in range(start, stop, step):
            yield self.part(begin, min(begin + step, stop))


def of_lists(columns: Sequence[Sequence[int]], widths: Sequence[int], period: int = 1) -> Rows:
    """Return a table of rows that exist already, given by columns of codes."""
    count = len(columns[0])
    arrays = [ints_to_codes(column, width, (count,)) for column, width in zip(columns, widths, strict=True)]

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        return tuple(array[start:stop] for array in arrays)

    return Rows(tuple(widths), count, make, period)


def of_tuples(rows: Sequence[tuple[int, ...]], widths: Sequence[int]) -> Rows:
    """Return a table of rows that exist already, given row by row."""
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in widths]
    return of_lists(columns, widths)


def exhaustive(widths: Sequence[int]) -> Rows:
    """Return every combination of codes, the last operand fastest. Raises ValueError above 64 bits together."""
    total = sum(widths)
    if total > LIMB_BITS:
        raise ValueError(f"operands of {total} bits together have too many combinations to enumerate")
    index_type: type[np.uint32] | type[np.uint64] = np.uint32 if total <= 32 else np.uint64

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        # Computed as an array, which wraps around, since 2**32 itself may be the end.
        index: Codes = np.arange(stop - start, dtype=index_type)
        index += index_type(start & int(np.iinfo(index_type).max))
        columns, below = [], total
        for width in widths:
            below -= width
            # A shift by all bits of the dtype is undefined; only an operand of width 0 needs one.
            moved = (index >> index_type(below) if below else index) if width else np.zeros_like(index)
            cut = moved if width == total else moved & index_type((1 << width) - 1)
            columns.append(cut.astype(storage_dtype(width), copy=False))
        return tuple(columns)

    return Rows(tuple(widths), 1 << total, make)


def one_after_another(tables: Sequence[Rows]) -> Rows:
    """Return the rows of several tables of the same widths and period. Raises ValueError where these differ."""
    first = tables[0]
    if any((table.widths, table.period) != (first.widths, first.period) for table in tables):
        raise ValueError("tables of different operands cannot be joined")
    begins = [0]
    for table in tables:
        begins.append(begins[-1] + table.count)

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        parts = [
            table.make(max(start - begin, 0), min(stop - begin, table.count))
            for table, begin in zip(tables, begins, strict=False)
            if begin < stop and start < begin + table.count
        ]
        if not parts:
            return empty(first.widths)
        return parts[0] if len(parts) == 1 else tuple(np.concatenate(column) for column in zip(*parts, strict=True))

    return Rows(first.widths, begins[-1], make, first.period)


def empty(widths: Sequence[int]) -> tuple[Codes, ...]:
    """Return columns without rows."""
    return tuple(np.zeros(code_shape((0,), width), storage_dtype(width)) for width in widths)


def blocked(elements: Rows, scales: Rows, size: int, crossed: bool = True) -> Rows:
    """Return rows of an element and a scale, where ``size`` consecutive rows share their scale.

    ``crossed``: every block of elements with every scale, the scale changing fastest; else block k has scale k, and
    there must be as many scales as blocks. The first elements fill up the last block. Raises ValueError for blocks of
    no rows.
    """
    if size < 1:
        raise ValueError(f"a block has 1 or more rows, not {size}")
    of_elements = -(-elements.count // size)
    repeats = scales.count if crossed else 1

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        first, last = start // size, stop // size
        if first == last:
            return empty(elements.widths + scales.widths)
        blocks = np.arange(first, last)
        place, turn = np.divmod(blocks, repeats) if crossed else (blocks, blocks)
        begin = int(place[0])
        (made,) = _again_from_the_start(elements, begin * size, (int(place[-1]) + 1) * size)
        by_block = made.reshape(-1, size, *made.shape[1:])[place - begin]
        low, high = int(turn.min()), int(turn.max()) + 1
        (scale,) = scales.make(low, high)
        return by_block.reshape(-1, *made.shape[1:]), np.repeat(scale[turn - low], size, axis=0)

    return Rows(elements.widths + scales.widths, of_elements * repeats * size, make, size)


def repeating(rows: Rows, count: int) -> Rows:
    """Return ``count`` rows of a table, which starts again after its end."""
    if count <= rows.count:
        return Rows(rows.widths, count, rows.make, rows.period)
    return Rows(rows.widths, count, lambda start, stop: _again_from_the_start(rows, start, stop), rows.period)


def spread(rows: Rows) -> Rows:
    """Return the rows of a small table in another order, so that any stretch of them is spread over all of them."""
    columns, count = rows.make(0, rows.count), rows.count
    step = next(step for step in range(max(int(count * GOLDEN), 1), count + 2) if gcd(step, count) == 1)
    order = np.arange(count, dtype=np.int64) * step % max(count, 1)
    made = tuple(codes[order] for codes in columns)
    return Rows(rows.widths, count, lambda start, stop: tuple(codes[start:stop] for codes in made))


def interleaved(tables: Sequence[Rows], shares: Sequence[int], count: int, unit: int = 1) -> Rows:
    """Return ``count`` rows of several tables in turns, spread as evenly as their shares allow: of each
    ``sum(shares)`` consecutive units of ``unit`` rows, ``shares[k]`` are those of table k. Tables start again after
    their end.
    """
    cycle, owner = sum(shares), _owners(shares)
    place = np.empty(cycle, np.int64)  # among the units of its table in a cycle
    for k, share in enumerate(shares):
        place[owner == k] = np.arange(share)
    widths = tables[0].widths

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        if start == stop:
            return empty(widths)
        units = np.arange(start // unit, -(-stop // unit), dtype=np.int64)
        turn, slot = np.divmod(units, cycle)
        made = tuple(np.empty(code_shape((len(units) * unit,), width), storage_dtype(width)) for width in widths)
        for k, table in enumerate(tables):
            mine = np.flatnonzero(owner[slot] == k)
            if not len(mine):
                continue
            first = int(turn[mine[0]] * shares[k] + place[slot[mine[0]]]) * unit
            rows = (mine[:, np.newaxis] * unit + np.arange(unit)).reshape(-1)
            part = repeating(table, first + len(rows)).make(first, first + len(rows))
            for codes, own in zip(made, part, strict=True):
                codes[rows] = own
        begin = start - int(units[0]) * unit
        return tuple(codes[begin : begin + stop - start] for codes in made)

    return Rows(widths, count, make, unit)


def _owners(shares: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return the table of each unit of a cycle."""
    turns = sorted((Fraction(2 * turn + 1, share), k) for k, share in enumerate(shares) for turn in range(share))
    return np.array([k for _, k in turns], np.int64)


def turns_in(shares: Sequence[int], count: int, unit: int = 1) -> list[int]:
    """Return the rows of each table among the first ``count`` of `interleaved`."""
    whole, rest = divmod(-(-count // unit), sum(shares))
    begun = np.bincount(_owners(shares)[:rest], minlength=len(shares))
    return [(whole * share + int(more)) * unit for share, more in zip(shares, begun, strict=True)]


def _again_from_the_start(rows: Rows, start: int, stop: int) -> tuple[Codes, ...]:
    """Return the rows of a table, which starts again after its end."""
    count, begin = rows.count, start % rows.count
    end = begin + stop - start
    if end <= count:
        return rows.make(begin, end)
    if end - begin < count:
        parts = rows.make(begin, count), rows.make(0, end - count)
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
    # All of them, however often: a table may be much smaller than the part.
    places = np.arange(begin, end, dtype=np.int64) % count
    return tuple(codes[places] for codes in rows.make(0, count))


def one_operand(rows: Rows, place: int) -> Rows:
    """Return one operand of each row."""
    return Rows(rows.widths[place : place + 1], rows.count, lambda start, stop: (rows.make(start, stop)[place],))
