"""Tables of operands that are computed where they are asked for: any part alone, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from halfulp.fp_formats.codes import LIMB_BITS, Codes, code_shape, ints_to_codes, storage_dtype

CHUNK = 1 << 18
"""Rows that are made at once, unless told otherwise: what bounds the memory of a large set."""


@dataclass(frozen=True)
class Rows:
    """Rows of operand codes; row ``i`` depends on ``i`` alone, never on what was made before.

    ``widths``: bits of each operand. ``count``: how many rows there are. ``make(start, stop)``: the columns of these
    rows, one array of codes per operand. ``period``: parts must begin and end at multiples of it; above 1 for types
    whose parameters lie along an axis, where the position of a row within the period is its place in the tensor.
    """

    widths: tuple[int, ...]
    count: int
    make: Callable[[int, int], tuple[Codes, ...]]
    period: int = 1

    def part(self, start: int, stop: int) -> tuple[Codes, ...]:
        """The columns of rows ``start`` to ``stop``. Raises ValueError outside the table or the period."""
        if not 0 <= start <= stop <= self.count or start % self.period or stop % self.period:
            raise ValueError(
                f"rows {start} to {stop} are no part of {self.count} rows"
                + (f" in groups of {self.period}" if self.period > 1 else "")
            )
        return self.make(start, stop)

    def chunks(self, size: int = CHUNK, start: int = 0, stop: int | None = None) -> Iterator[tuple[Codes, ...]]:
        """The rows from ``start`` to ``stop`` in order, about ``size`` at a time."""
        stop = self.count if stop is None else stop
        step = max(size // self.period, 1) * self.period
        for begin in range(start, stop, step):
            yield self.part(begin, min(begin + step, stop))


def of_lists(columns: Sequence[Sequence[int]], widths: Sequence[int], period: int = 1) -> Rows:
    """A table of rows that exist already, given by columns of codes."""
    count = len(columns[0])
    arrays = [ints_to_codes(column, width, (count,)) for column, width in zip(columns, widths, strict=True)]

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        return tuple(array[start:stop] for array in arrays)

    return Rows(tuple(widths), count, make, period)


def of_tuples(rows: Sequence[tuple[int, ...]], widths: Sequence[int]) -> Rows:
    """A table of rows that exist already, given row by row."""
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in widths]
    return of_lists(columns, widths)


def exhaustive(widths: Sequence[int]) -> Rows:
    """Every combination of codes, the last operand fastest. Raises ValueError above 64 bits together."""
    total = sum(widths)
    if total > LIMB_BITS:
        raise ValueError(f"operands of {total} bits together have too many combinations to enumerate")
    index_type: type[np.uint32] | type[np.uint64] = np.uint32 if total <= 32 else np.uint64

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        index: Codes = np.arange(start, stop, dtype=np.uint64).astype(index_type, copy=False)
        columns, below = [], total
        for width in widths:
            below -= width
            # A shift by all bits of the dtype has no meaning; only an operand of width 0 asks for one.
            moved = index >> index_type(below) if width else np.zeros_like(index)
            columns.append((moved & index_type((1 << width) - 1)).astype(storage_dtype(width)))
        return tuple(columns)

    return Rows(tuple(widths), 1 << total, make)


def one_after_another(tables: Sequence[Rows]) -> Rows:
    """The rows of several tables of the same widths and period. Raises ValueError where these differ."""
    first = tables[0]
    if any((table.widths, table.period) != (first.widths, first.period) for table in tables):
        raise ValueError("tables of different operands cannot follow one another")
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
    """Columns without rows."""
    return tuple(np.zeros(code_shape((0,), width), storage_dtype(width)) for width in widths)
