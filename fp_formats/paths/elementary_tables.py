"""Tables of the elementary functions: of all codes of up to 16 bits, of all pairs of codes of up to 8 bits.

A table holds codes, poison and flags. It stays in `tables.CACHE`, and on disk for the next process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

import numpy as np

from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import Codes, FloatFormat
from halfulp.fp_formats.paths import disk, tables
from halfulp.fp_formats.paths.array_loop import applied
from halfulp.fp_formats.paths.words import Word

QUICK = 2000
"""Results of the specification that take as long as a table that is made by margins."""
_POISON = np.uint8(0x80)  # on disk, beside the flags

Make = Callable[..., ArrayResult]


class _Entries:
    """The description of a look-up in a table, which is that of any other look-up in the same table."""

    def __init__(self, codes: Codes) -> None:
        self._codes = codes

    def __call__(self, index: Word) -> Word:
        return index.entry(self._codes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Entries) and self._codes is other._codes

    def __hash__(self) -> int:
        return id(self._codes)


def of_codes(
    key: Hashable, src: FloatFormat, dst: FloatFormat, make: Make, worth: int, a: Codes, want_flags: bool
) -> ArrayResult | None:
    """Return the results of codes by their table; None if it does not save time yet.

    ``make(codes)``: the results of all codes, with flags. ``worth``: the count of results of the specification that
    take as long.
    """
    table = _table(key, src.bits, dst, worth, a.size, lambda: make(_every(src.bits)))
    if table is None:
        return None
    found = None
    if table.marker is None and src.bits <= 8:
        found = applied(_Entries(table.codes), (src.bits,), (a,), lambda codes: tables.look_up(table, codes))
    found = found or tables.look_up(table, a)
    if not want_flags or table.flags is None:
        return found
    return found._replace(flags=tables.look_up(tables.LookupTable(table.flags), a).codes)


def of_pairs(
    key: Hashable, src: FloatFormat, dst: FloatFormat, make: Make, worth: int, a: Codes, b: Codes, want_flags: bool
) -> ArrayResult | None:
    """Return the results of pairs of codes by their table; the arguments are those of `of_codes`."""

    def of_every_pair() -> ArrayResult:
        every = _every(src.bits)
        return make(np.repeat(every, every.size), np.tile(every, every.size))

    table = _table(key, 2 * src.bits, dst, worth, math.prod(tables.common_shape(a, b)), of_every_pair)
    if table is None:
        return None
    found = tables.look_up_pairs(table, src.bits, a, b)
    if not want_flags or table.flags is None:
        return found
    return found._replace(flags=tables.look_up_pairs(tables.LookupTable(table.flags), src.bits, a, b).codes)


def _every(bits: int) -> Codes:
    return np.arange(1 << bits, dtype=np.uint8 if bits <= 8 else np.uint16)


def _table(
    key: Hashable, bits: int, dst: FloatFormat, worth: int, elements: int, make: Callable[[], ArrayResult]
) -> tables.LookupTable | None:
    size = 1 << bits

    def made() -> tables.LookupTable | None:
        result = make()
        disk.store(repr(key), _packed(result, dst))
        return tables.marked(result)

    def loaded() -> tables.LookupTable | None:
        payload = disk.load(repr(key), size * (dst.storage_dtype.itemsize + 1))
        return None if payload is None else tables.marked(_unpacked(payload, size, dst))

    # Each element costs the specification more than a call costs `exact`.
    return tables.CACHE.get(key, worth * tables.CALL, elements * tables.CALL, made, loaded)


def _packed(result: ArrayResult, dst: FloatFormat) -> bytes:
    assert result.flags is not None
    flags = result.flags if result.poison is None else np.where(result.poison, result.flags | _POISON, result.flags)
    return result.codes.astype(dst.storage_dtype.newbyteorder("<")).tobytes() + flags.astype(np.uint8).tobytes()


def _unpacked(payload: bytes, size: int, dst: FloatFormat) -> ArrayResult:
    codes = np.frombuffer(payload, dst.storage_dtype.newbyteorder("<"), size).astype(dst.storage_dtype)
    flags = np.frombuffer(payload, np.uint8, size, codes.nbytes)
    poison = flags >= _POISON
    return ArrayResult(codes, poison if poison.any() else None, flags & ~_POISON)
