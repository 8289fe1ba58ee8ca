"""The common parts of the binary formats: columns as little-endian bytes, stored aside until the number of rows is
known.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import IO, Any, BinaryIO

import numpy as np

from halfulp.conformance.vectors.columns import Chunk, Column
from halfulp.conformance.vectors.formats.format import Options, malformed, spool, too_wide
from halfulp.fp_formats.codes import LIMB_BITS, Codes, code_shape, limb_count, storage_dtype

COPIED = 1 << 20
"""Number of bytes that are copied at once."""


class Aside:
    """Bytes stored in temporary files, one per column, until all rows are known; a context manager."""

    def __init__(self, parts: int) -> None:
        self._stack = ExitStack()
        self._files: list[IO[bytes]] = [self._stack.enter_context(spool()) for _ in range(parts)]

    def __enter__(self) -> Aside:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def add(self, part: int, data: Any) -> None:
        """Append bytes, or an array of bytes, to a part."""
        self._files[part].write(data)

    def copy(self, part: int, file: BinaryIO | IO[bytes]) -> None:
        """Write a part to a file."""
        self._files[part].seek(0)
        shutil.copyfileobj(self._files[part], file, COPIED)


def little_endian(column: Column) -> np.dtype[Any]:
    """Return the dtype of a column's codes in files."""
    return storage_dtype(column.width).newbyteorder("<")


def trailing(column: Column) -> tuple[int, ...]:
    """Return the axes of one code: its limbs, above 64 bits."""
    return (limb_count(column.width),) if column.width > LIMB_BITS else ()


def code_bytes(codes: Codes, column: Column) -> memoryview:
    """Return codes as bytes, little-endian."""
    data = np.ascontiguousarray(codes, little_endian(column))
    return data.data.cast("B") if data.size else memoryview(b"")


def code_array(data: bytes, column: Column, rows: int) -> Codes:
    """Return the codes of bytes that `code_bytes` gave."""
    codes = np.frombuffer(data, little_endian(column)).astype(storage_dtype(column.width))
    return codes.reshape(code_shape((rows,), column.width))


def exactly(file: IO[bytes], size: int, options: Options) -> bytes:
    """Read exactly ``size`` bytes. Raises InputError where the file ends before."""
    parts = []
    while size:
        data = file.read(size)
        if not data:
            raise malformed(f"the file ends {size} bytes too early", options)
        parts.append(data)
        size -= len(data)
    return b"".join(parts)


def ended(file: IO[bytes], options: Options) -> None:
    """Raise InputError unless the file ends here."""
    if file.read(1):
        raise malformed("the file goes on after its last row", options)


def checked_widths(columns: Sequence[Column], chunks: Iterator[Chunk], options: Options) -> Iterator[Chunk]:
    """Yield the chunks. Raises InputError for a code with bits above its column's width."""
    done = 0
    for chunk in chunks:
        for column, codes in zip(columns, chunk, strict=True):
            wide = too_wide(codes, column.width)
            if wide is not None:
                row = done + int(wide.argmax())
                raise malformed(f"'{column.name}' of row {row} has more than {column.width} bits", options)
        yield chunk
        done += len(chunk[0])
