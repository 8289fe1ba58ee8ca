"""Rows with their numbers in front, for formats whose rows bear one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from halfulp.conformance.vectors.columns import Chunk, Column, Role
from halfulp.conformance.vectors.formats.format import Options, malformed
from halfulp.interp.ir.errors import InputError

INDEX = Column("halfulp_index", 32, "i32", Role.OPERAND)

MOST = (1 << 31) - 1
"""Rows that an ``int`` can count."""


def numbered(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """The chunks with `INDEX` in front. Raises InputError where rows are too many."""
    done = 0
    for chunk in chunks:
        rows = len(chunk[0])
        if done + rows > MOST:
            raise InputError(f"a format that numbers its vectors holds at most {MOST} of them")
        yield (np.arange(done, done + rows, dtype=np.uint32), *chunk)
        done += rows


def without_numbers(chunks: Iterable[Chunk], options: Options) -> Iterator[Chunk]:
    """The inverse of `numbered`. Raises InputError where the numbers do not count up from 0."""
    done = 0
    for chunk in chunks:
        rows = len(chunk[0])
        if (chunk[0] != np.arange(done, done + rows)).any():
            raise malformed(f"the numbers of rows {done} to {done + rows - 1} do not count up from 0", options)
        yield chunk[1:]
        done += rows
