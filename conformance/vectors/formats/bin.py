"""Raw little-endian bytes, one column after the other, so that IREE reads each with ``--input=…=@file.bin`` and the
next with ``+file.bin``. `Options.packing` says how elements lie in a column; each column starts at a whole byte.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import IO, BinaryIO

import numpy as np

from halfulp.conformance.vectors.columns import Chunk, Column, VectorSet, rechunked
from halfulp.conformance.vectors.formats.arrays import Aside, checked_widths, exactly
from halfulp.conformance.vectors.formats.format import Format, Options, malformed, needed, seekable
from halfulp.conformance.vectors.packing import pack, unpack


def write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
    """The bytes of every column, packed as the options say."""
    with Aside(len(vectors.columns)) as aside:
        # Of a multiple of 8 elements, every width fills whole bytes, so chunks can be packed one by one.
        for chunk in rechunked(vectors.columns, vectors, _rows(options)):
            for k, (column, codes) in enumerate(zip(vectors.columns, chunk, strict=True)):
                aside.add(k, pack(codes, column.width, options.packing).tobytes())
        for k in range(len(vectors.columns)):
            aside.copy(k, file)


def _rows(options: Options) -> int:
    return -(-options.rows // 8) * 8


def read(file: BinaryIO, columns: tuple[Column, ...] | None, options: Options) -> VectorSet:
    """The columns of a file that has nothing else. Densely packed ones need `Options.count`."""
    known = needed(columns, "bin", options)
    source = seekable(file)
    begin = source.tell()
    size = source.seek(0, os.SEEK_END) - begin
    count = _count(known, size, options)
    return VectorSet(known, checked_widths(known, _chunks(source, begin, known, count, options), options), count)


def _count(columns: Sequence[Column], size: int, options: Options) -> int:
    count = options.count
    if count is None:
        if options.packing.dense:
            raise malformed("the number of vectors must be given where they are densely packed", options)
        count = size // sum(options.packing.size(column.width, 1) for column in columns)
    expected = sum(options.packing.size(column.width, count) for column in columns)
    if size != expected:
        raise malformed(f"{count} vectors take {expected} bytes, but there are {size}", options)
    return count


def _chunks(source: IO[bytes], begin: int, columns: Sequence[Column], count: int, options: Options) -> Iterator[Chunk]:
    packing = options.packing
    starts = []
    for column in columns:
        starts.append(begin)
        begin += packing.size(column.width, count)
    for first in range(0, count, _rows(options)):
        rows = min(_rows(options), count - first)
        chunk = []
        for start, column in zip(starts, columns, strict=True):
            source.seek(start + packing.size(column.width, first))
            data = exactly(source, packing.size(column.width, rows), options)
            chunk.append(unpack(np.frombuffer(data, np.uint8), column.width, rows, packing))
        yield tuple(chunk)


FORMAT = Format("bin", ".bin", write, read)
