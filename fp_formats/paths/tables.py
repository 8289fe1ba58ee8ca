"""Look up whole operations in tables, which `exact` makes once they save time, and walk through arrays in chunks.

A table is indexed by the code of its operand, or by the first operand's code * 2**bits + the second's.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.exact.core import ArrayResult, FlagArray
from halfulp.fp_formats.formats import Codes, Mask, storage_dtype

Work = Callable[..., Mask | None]

CHUNK = 1 << 16  # elements: a chunk and its indices stay in the second-level cache
LONG_CHUNK = 1 << 17  # the same without indices
AT_ONCE = 1 << 20  # the same where one loop of machine code does all: its call takes no time beside them
LIMIT = 1 << 25  # bytes of all tables that are kept
CALL = 1 << 11  # elements: the fixed time of a call of `exact` is the time that so many elements take


# Chunks.


def in_chunks(
    shape: tuple[int, ...], dtype: np.dtype[Any], work: Work, *operands: Codes, longest: int = CHUNK
) -> ArrayResult:
    """Compute results of element shape ``shape`` from operands that broadcast to it, chunk by chunk. ``work(out,
    *chunks)`` fills the chunk ``out`` of the results and returns the mask of its poison, or None.

    Chunks are contiguous, of one dimension, and no longer than ``longest``.
    """
    size = math.prod(shape)
    codes = np.empty(size, dtype)
    poison: Mask | None = None
    start = 0
    for chunks in _pieces(shape, size, operands, longest):
        part = slice(start, start + len(chunks[0]))
        bad = work(codes[part], *chunks)
        if bad is not None and bad.any():
            poison = np.zeros(size, np.bool_) if poison is None else poison
            poison[part] = bad
        start = part.stop
    return ArrayResult(codes.reshape(shape), None if poison is None else poison.reshape(shape))


def _pieces(
    shape: tuple[int, ...], size: int, operands: tuple[Codes, ...], longest: int
) -> Iterator[tuple[Codes, ...]]:
    if not size:
        return
    if all(codes.shape == shape and codes.flags.c_contiguous for codes in operands):
        flat = [codes.reshape(-1) for codes in operands]
        for start in range(0, size, longest):
            yield tuple(codes[start : start + longest] for codes in flat)
        return
    # Anything else is copied, a chunk at a time.
    broadcast = [np.broadcast_to(codes, shape) for codes in operands]
    contiguous: Any = [["readonly", "contig", "aligned"]] * len(operands)
    pieces: Any = np.nditer(
        broadcast, ["external_loop", "buffered"], contiguous, order="C", buffersize=min(longest, LONG_CHUNK)
    )
    for piece in pieces:
        yield piece if isinstance(piece, tuple) else (piece,)


def common_shape(a: Codes, b: Codes) -> tuple[int, ...]:
    """Return the shape that two operands broadcast to."""
    return a.shape if a.shape == b.shape else np.broadcast_shapes(a.shape, b.shape)


def positions_of(mask: Mask) -> npt.NDArray[np.intp]:
    """Return the indices of the elements for which a mask holds; several times faster than NumPy if these are few."""
    whole = mask.size & ~7
    rows = np.flatnonzero(mask[:whole].view(np.uint64) != 0)
    if mask.size > whole or rows.size > whole >> 6:
        return np.flatnonzero(mask)
    places: npt.NDArray[np.intp] = (rows[:, np.newaxis] * 8 + np.arange(8)).reshape(-1)
    return np.asarray(places[mask[places]])


# Tables.


class LookupTable(NamedTuple):
    """The result codes of an operation, indexed by the code of its operand. ``marker``: a code that no result has,
    which stands for poison; None if no result is poison. ``flags``: the flags of the results, if the table has them.
    """

    codes: Codes
    marker: int | None = None
    flags: FlagArray | None = None


def _table(bits: int, operation: Callable[[Codes], ArrayResult]) -> LookupTable | None:
    """Make, in parts, the table of an operation on codes of this many bits."""
    size, storage = 1 << bits, storage_dtype(bits)
    codes = np.empty(size, operation(np.empty(0, storage)).codes.dtype)
    poison = np.zeros(size, np.bool_)
    for start in range(0, size, CHUNK):
        stop = min(start + CHUNK, size)
        result = operation(np.arange(start, stop, dtype=storage))
        codes[start:stop] = result.codes
        if result.poison is not None:
            poison[start:stop] = result.poison
    return marked(ArrayResult(codes, poison if poison.any() else None))


def marked(result: ArrayResult) -> LookupTable | None:
    """Return a table of these results. Return None if some are poison and the others use all codes, since then no code
    is left that could stand for poison.
    """
    if result.poison is None:
        return LookupTable(result.codes, None, result.flags)
    used = np.unique(result.codes[~result.poison])
    gaps = np.flatnonzero(used != np.arange(used.size, dtype=np.uint64))
    marker = int(gaps[0]) if gaps.size else used.size
    if marker > np.iinfo(used.dtype).max:
        return None
    return LookupTable(np.where(result.poison, used.dtype.type(marker), result.codes), marker, result.flags)


class Cache:
    """Tables by key. The least recently used are dropped when all take more than ``limit`` bytes.

    A table is made after calls for as many elements as it has entries; until then `exact` is as fast.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.size = 0
        self._tables: OrderedDict[Hashable, LookupTable | None] = OrderedDict()
        self._asked: dict[Hashable, int] = {}
        self._lock = Lock()

    def get(
        self,
        key: Hashable,
        worth: int,
        elements: int,
        make: Callable[[], LookupTable | None],
        load: Callable[[], LookupTable | None] = lambda: None,
    ) -> LookupTable | None:
        """Return the table, or None if it does not exist or does not save time. ``worth``: the number of elements from
        which making it saves time. ``make`` computes the table. ``load`` gets it from elsewhere in less time, or
        returns None; it is called at the first request, before ``make``.
        """
        with self._lock:
            if key in self._tables:
                self._tables.move_to_end(key)
                return self._tables[key]
            first = key not in self._asked
            asked = self._asked.get(key, 0) + elements + CALL
            if len(self._asked) >= 1 << 12:
                self._asked.clear()
            self._asked[key] = asked
        # Without the lock another thread may get the same table.
        table = load() if first or asked >= worth else None
        if table is None:
            if asked < worth:
                return None
            table = make()
        with self._lock:
            if key not in self._tables:
                self._asked.pop(key, None)
                self._tables[key] = table
                self.size += _bytes(table)
            while self.size > self.limit and len(self._tables) > 1:
                self.size -= _bytes(self._tables.popitem(last=False)[1])
        return table

    def clear(self) -> None:
        """Drop all tables."""
        with self._lock:
            self._tables.clear()
            self._asked.clear()
            self.size = 0


def _bytes(table: LookupTable | None) -> int:
    return 0 if table is None else table.codes.nbytes + (0 if table.flags is None else table.flags.nbytes)


CACHE = Cache(LIMIT)


# Looking up. The key names the operation and everything else that its result depends on beside the operands.


def table_of(key: Hashable, bits: int, operation: Callable[[Codes], ArrayResult], elements: int) -> LookupTable | None:
    """Return the table of an operation on one operand of ``bits`` bits; None if it does not save time for this number
    of elements. ``key``: what the table is stored under.
    """
    return CACHE.get(key, 1 << bits, elements, lambda: _table(bits, operation))


def by_table(key: Hashable, bits: int, operation: Callable[[Codes], ArrayResult], codes: Codes) -> ArrayResult:
    """Compute an operation on one operand of ``bits`` bits; use its table, if that saves time."""
    table = table_of(key, bits, operation, codes.size)
    return operation(codes) if table is None else look_up(table, codes)


def look_up(table: LookupTable, codes: Codes, shift: int = 0) -> ArrayResult:
    """Return the entries of a table for these codes, without flags.

    With a ``shift``, the table is for the upper bits of longer codes: drop ``shift`` bits of each code, rounded to odd.
    """
    index = np.empty(min(codes.size, CHUNK), np.intp)
    in_place = codes.itemsize == index.itemsize
    odd = index.view(codes.dtype) if in_place else np.empty(index.size if shift else 0, codes.dtype)

    def work(out: Codes, chunk: Codes) -> Mask | None:
        where = index[: chunk.size]
        if shift:
            chunk = round_to_odd(chunk, shift, odd[: chunk.size])
        if not (shift and in_place):
            where[...] = chunk
        np.take(table.codes, where, out=out, mode="wrap")
        return _poison(table, out)

    return in_chunks(codes.shape, table.codes.dtype, work, codes)


def by_pairs(
    key: Hashable, bits: int, operation: Callable[[Codes, Codes], ArrayResult], a: Codes, b: Codes
) -> ArrayResult:
    """Compute an operation on two operands of ``bits`` bits, at most 8; use its table, if that saves time."""
    shape = common_shape(a, b)

    def make() -> LookupTable | None:
        every = np.arange(1 << bits, dtype=np.uint8)
        return marked(operation(np.repeat(every, every.size), np.tile(every, every.size)))

    table = CACHE.get(key, 1 << (2 * bits), math.prod(shape), make)
    return operation(a, b) if table is None else look_up_pairs(table, bits, a, b)


def look_up_pairs(table: LookupTable, bits: int, a: Codes, b: Codes) -> ArrayResult:
    """Return the entries of a table of pairs for two arrays of codes of ``bits`` bits, without flags."""
    shape = common_shape(a, b)
    index = np.empty(min(math.prod(shape), CHUNK), np.intp)

    def work(out: Codes, x: Codes, y: Codes) -> Mask | None:
        pair = x.astype(np.uint16)
        pair <<= bits
        pair |= y
        where = index[: pair.size]
        where[:] = pair
        np.take(table.codes, where, out=out, mode="wrap")
        return _poison(table, out)

    return in_chunks(shape, table.codes.dtype, work, a, b)


def round_to_odd(codes: Codes, shift: int, out: Codes) -> Codes:
    """Write codes to ``out`` without their lower ``shift`` bits, and return ``out``. If one of these bits is 1, the
    last remaining bit is set.
    """
    below = codes.dtype.type((1 << shift) - 1)
    np.bitwise_and(codes, below, out=out)
    np.add(out, below, out=out)
    np.bitwise_or(out, codes, out=out)
    np.right_shift(out, codes.dtype.type(shift), out=out)
    return out


def _poison(table: LookupTable, out: Codes) -> Mask | None:
    if table.marker is None:
        return None
    poison: Mask = np.equal(out, table.marker)
    if not poison.any():
        return None
    np.copyto(out, 0, where=poison)
    return poison
