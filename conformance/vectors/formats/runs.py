"""The interval table of a unary function: ``START RESULT …`` for each run of operands with the same result, and
``LAST`` with the last operand. All 2**32 conversions of f32 to f8E4M3FN are 256 lines.

Runs compare only the significant bits of a result (`columns.settled`), so that poison and unspecified bits do not end
one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from halfulp.conformance.vectors.columns import Chunk, Column, Role, VectorSet, by_row, joined, settled
from halfulp.conformance.vectors.formats import text as texts
from halfulp.conformance.vectors.formats.format import EVERY_ROLE, Format, Options, malformed
from halfulp.fp_formats.formats import LIMB_BITS, Codes
from halfulp.interp.ir.errors import InputError


def _row(columns: tuple[Column, ...]) -> texts.Row:
    return [*texts.whole_codes(columns, b" "), b"\n"]


def check_unary(columns: tuple[Column, ...]) -> None:
    """Raise InputError if columns are not those of a function of one operand."""
    operands = [column for column in columns if column.role is Role.OPERAND]
    if len(operands) != 1 or len(columns) < 2 or operands[0].width > LIMB_BITS:
        raise InputError("the format 'runs' needs exactly one operand, of at most 64 bits, and one result")


def starts_of_runs(columns: tuple[Column, ...], chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield the rows with which a run starts, and the last row of all as a last chunk; nothing if there are no rows.

    Raises InputError if the operands do not count up by one.
    """
    before: Chunk | None = None
    for chunk in chunks:
        if not len(chunk[0]):
            continue
        # After `settled`, unspecified results are equal where their masks are equal.
        chunk = settled(columns, chunk)
        _check_steps(before, chunk[0])
        changes = np.zeros(len(chunk[0]), np.bool_)
        changes[0] = before is None or any(
            (codes[0] != last[0]).any() for codes, last in zip(chunk[1:], before[1:], strict=True)
        )
        for codes in chunk[1:]:
            changes[1:] |= by_row(codes[1:] != codes[:-1])
        starts = np.flatnonzero(changes)
        if len(starts):
            yield tuple(codes[starts] for codes in chunk)
        before = tuple(codes[-1:].copy() for codes in chunk)
    if before is not None:
        yield before


def _check_steps(before: Chunk | None, operand: Codes) -> None:
    """Raise InputError unless operands count up by one from the row before the first of them."""
    one = operand.dtype.type(1)
    # Codes wrap around at the end of their dtype: the ends tell that no step does.
    steady = int(operand[-1]) - int(operand[0]) == len(operand) - 1 and bool((operand[1:] - operand[:-1] == one).all())
    if steady and (before is None or int(before[0][0]) + 1 == int(operand[0])):
        return
    led = operand if before is None else np.concatenate([before[0], operand])
    bad = int(((led[1:] != led[:-1] + one) | (led[1:] == 0)).argmax())
    after, here = (f"{int(led[k]):X}" for k in (bad, bad + 1))
    raise InputError(f"the format 'runs' needs operands that count up by one, but {here} comes after {after}")


def write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
    """Write a comment that describes the columns, the runs, and the last operand; if there is no run, ``LAST``
    alone.
    """
    check_unary(vectors.columns)
    file.write(f"# {texts.described(vectors.columns)}\n".encode())
    text, held = texts.RowText(vectors.columns, _row(vectors.columns)), None
    for chunk in starts_of_runs(vectors.columns, vectors):
        if held is not None:
            for block in text.encode(held):
                file.write(block)
        held = chunk
    file.write(_end(vectors.columns, None if held is None else int(held[0][0])))


class _Lines(texts.Lines):
    """The reader of lines of runs, comments, and the end."""

    ends = True
    last: int | None = None

    def read(self, text: str, done: int) -> list[list[str]]:
        if not text or text.startswith("#"):
            return []
        words = text.split()
        if words[0] != "LAST":
            return [words]
        self.last, self.count = int("".join(words[1:]), 16) if words[1:] else None, done
        return []


class RunTable:
    """The runs of a file in their order. Iteration yields the row that starts each run; it is possible once.

    Raises InputError for a malformed table, while the runs are read.
    """

    def __init__(self, file: BinaryIO, columns: tuple[Column, ...] | None, options: Options) -> None:
        # Notes would describe lines of runs, not rows.
        self._options = replace(options, notes=None)
        self._source, self.columns = texts.described_source(file, columns, "runs", options)
        check_unary(self.columns)
        self._lines = _Lines(self.columns)

    @property
    def last(self) -> int | None:
        """Return the last operand; None if there is no run, and before the end has been read."""
        return self._lines.last

    def __iter__(self) -> Iterator[Chunk]:
        before: int | None = None
        for runs in texts.read_rows(self._source, self.columns, _row(self.columns), self._lines, self._options):
            starts = runs[0].astype(np.uint64)
            if before is not None:
                starts = np.concatenate([np.array([before], np.uint64), starts])
            if (starts[1:] <= starts[:-1]).any():
                bad = int((starts[1:] <= starts[:-1]).argmax())
                raise malformed(
                    f"a run starts at {int(starts[bad + 1]):X}, after one at {int(starts[bad]):X}", self._options
                )
            before = int(starts[-1]) if len(starts) else None
            yield runs
        if before is None and self.last is None:
            return
        if before is None or self.last is None or not before <= self.last < 1 << self.columns[0].width:
            raise malformed(
                "the table does not end with LAST and an operand of its last run", self._options, self._source.line
            )


def read(file: BinaryIO, columns: tuple[Column, ...] | None, options: Options) -> VectorSet:
    """Read the vectors that a table represents, one by one."""
    table = RunTable(file, columns, options)

    def chunks() -> Iterator[Chunk]:
        held: Chunk | None = None
        for found in table:
            runs = found if held is None else joined(table.columns, [held, found])
            starts = runs[0].astype(np.uint64)
            yield from _expanded(tuple(codes[:-1] for codes in runs), starts[1:] - starts[:-1], options.rows)
            held = tuple(codes[-1:] for codes in runs)
        if held is None or table.last is None:
            return
        # One less than the length: the length of a run of all 2**64 operands does not fit a uint64.
        yield from _expanded(held, np.array([table.last - int(held[0][0])], np.uint64), options.rows)
        yield (np.array([table.last], held[0].dtype), *held[1:])

    return VectorSet(table.columns, chunks())


def merge(tables: Iterable[RunTable], columns: tuple[Column, ...], file: BinaryIO) -> int:
    """Write several tables as one; each must continue the one before. Return the number of runs.

    Raises InputError if a table does not continue the one before.
    """
    file.write(f"# {texts.described(columns)}\n".encode())
    text, count = texts.RowText(columns, _row(columns)), 0
    last: int | None = None
    before: Chunk | None = None
    for table in tables:
        begun = False
        for runs in table:
            if not len(runs[0]):
                continue
            if not begun and last is not None and int(runs[0][0]) != last + 1:
                raise InputError(
                    f"the format 'runs' needs operands that count up by one, but {int(runs[0][0]):X} comes after "
                    f"{last:X}"
                )
            same = before is not None and all(
                (codes[0] == other[0]).all() for codes, other in zip(runs[1:], before[1:], strict=True)
            )
            begun, before = True, tuple(codes[-1:] for codes in runs)
            fresh = tuple(codes[int(same) :] for codes in runs)
            count += len(fresh[0])
            for block in text.encode(fresh):
                file.write(block)
        last = table.last if begun else last
    file.write(_end(columns, last))
    return count


def _end(columns: tuple[Column, ...], last: int | None) -> bytes:
    return b"LAST\n" if last is None else f"LAST {last:0{texts.digits(columns[0].width)}X}\n".encode()


def _expanded(runs: Chunk, lengths: npt.NDArray[np.uint64], rows: int) -> Iterator[Chunk]:
    """Yield the rows of runs of these lengths, in chunks."""
    stops = np.cumsum(lengths, dtype=np.uint64)
    total = int(stops[-1]) if len(stops) else 0
    for begin in range(0, total, rows):
        end = min(begin + rows, total)
        first, behind = int(np.searchsorted(stops, begin, "right")), int(np.searchsorted(stops, end, "left")) + 1
        limits = np.minimum(stops[first:behind], np.uint64(end))
        starts = np.maximum(stops[first:behind] - lengths[first:behind], np.uint64(begin))
        times = (limits - starts).astype(np.intp)
        skipped = starts - (stops[first:behind] - lengths[first:behind])
        bases: npt.NDArray[Any] = runs[0][first:behind].astype(np.uint64) + skipped
        places = np.arange(begin, end, dtype=np.uint64)
        operand = np.repeat(bases, times) + (places - np.repeat(starts, times))
        yield (operand.astype(runs[0].dtype), *(np.repeat(codes[first:behind], times, axis=0) for codes in runs[1:]))


FORMAT = Format("runs", ".runs", write, read, carries=EVERY_ROLE - {Role.RANDOM}, describes=True)
