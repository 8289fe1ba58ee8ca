"""NumPy's .npz: an array of raw bits per column under its name, and ``halfulp``, their description in JSON as UTF-8."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from halfulp.conformance.vectors.columns import Chunk, Column, VectorSet, columns_from_text
from halfulp.conformance.vectors.formats import format
from halfulp.fp_formats.formats import LIMB_BITS, Codes, code_shape, limb_count, storage_dtype
from halfulp.interp.ir.errors import HalfulpError

# --- arrays -----------------------------------------------------------------------------------------------------------
#
# The common parts of the binary formats: columns as little-endian bytes, stored aside until the number of rows is
# known.

COPIED = 1 << 20
"""Number of bytes that are copied at once."""


class Aside:
    """Temporary files that hold the bytes of each column until the number of rows is known; a context manager."""

    def __init__(self, parts: int) -> None:
        self._stack = ExitStack()
        self._files: list[IO[bytes]] = [self._stack.enter_context(format.spool()) for _ in range(parts)]

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
    """Return the axes of one code: that of its limbs, if it has more than 64 bits."""
    return (limb_count(column.width),) if column.width > LIMB_BITS else ()


def code_bytes(codes: Codes, column: Column) -> memoryview:
    """Return codes as bytes, little-endian."""
    data = np.ascontiguousarray(codes, little_endian(column))
    return data.data.cast("B") if data.size else memoryview(b"")


def code_array(data: bytes, column: Column, rows: int) -> Codes:
    """Return the codes in bytes that `code_bytes` gave."""
    codes = np.frombuffer(data, little_endian(column)).astype(storage_dtype(column.width))
    return codes.reshape(code_shape((rows,), column.width))


def exactly(file: IO[bytes], size: int, options: format.Options) -> bytes:
    """Read exactly ``size`` bytes. Raises InputError if the file ends before that."""
    parts = []
    while size:
        data = file.read(size)
        if not data:
            raise format.malformed(f"the file ends {size} bytes too early", options)
        parts.append(data)
        size -= len(data)
    return b"".join(parts)


def ended(file: IO[bytes], options: format.Options) -> None:
    """Raise InputError unless the file ends here."""
    if file.read(1):
        raise format.malformed("the file goes on after its last row", options)


def checked_widths(columns: Sequence[Column], chunks: Iterator[Chunk], options: format.Options) -> Iterator[Chunk]:
    """Yield the chunks. Raises InputError for a code with bits above its column's width."""
    done = 0
    for chunk in chunks:
        for column, codes in zip(columns, chunk, strict=True):
            wide = format.too_wide(codes, column.width)
            if wide is not None:
                row = done + int(wide.argmax())
                raise format.malformed(f"'{column.name}' of row {row} has more than {column.width} bits", options)
        yield chunk
        done += len(chunk[0])


# --- npz --------------------------------------------------------------------------------------------------------------

HEADER = "halfulp"
VERSION = 1

_OLDEST = (1980, 1, 1, 0, 0, 0)
"""Time stamp of every member: the same set gives the same bytes."""

_MOST_HEADER = 1 << 20
"""Most bytes of a description that is read."""


def write(vectors: VectorSet, file: BinaryIO, options: format.Options) -> None:
    """Write arrays of shape (rows,), above 64 bits (rows, limbs), without compression."""
    count = 0
    with Aside(len(vectors.columns)) as aside:
        for chunk in vectors:
            for k, (column, codes) in enumerate(zip(vectors.columns, chunk, strict=True)):
                aside.add(k, code_bytes(codes, column))
            count += len(chunk[0])
        with zipfile.ZipFile(file, "w") as archive:
            description = {"version": VERSION, "columns": [column.to_json() for column in vectors.columns]}
            data = json.dumps(description, sort_keys=True).encode()
            with _member(archive, HEADER) as member:
                _write_header(member, np.dtype(np.uint8), (len(data),))
                member.write(data)
            for k, column in enumerate(vectors.columns):
                with _member(archive, column.name) as member:
                    _write_header(member, little_endian(column), (count, *trailing(column)))
                    aside.copy(k, member)


def _member(archive: zipfile.ZipFile, name: str) -> IO[bytes]:
    return archive.open(zipfile.ZipInfo(f"{name}.npy", _OLDEST), "w", force_zip64=True)


def _write_header(file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    data = {"descr": npy_format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    npy_format.write_array_header_1_0(file, data)


def read_header(file: IO[bytes], options: format.Options) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and dtype in front of NumPy's data.

    Raises InputError for anything else, and for column-major data.
    """
    with garbled("no NumPy array", options):
        version = npy_format.read_magic(file)
        read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        shape, fortran, dtype = read(file)
    if fortran and len(shape) > 1:
        raise format.malformed("a NumPy array in column-major order", options)
    if any(size < 0 for size in shape):
        raise format.malformed("a NumPy array of negative size", options)
    return shape, dtype


@contextmanager
def garbled(what: str, options: format.Options) -> Iterator[None]:
    """A context manager that turns the exceptions of NumPy, zipfile and zlib for a broken file into InputError."""
    try:
        yield
    except HalfulpError:
        raise
    except Exception as error:
        raise format.malformed(f"{what}: {error}", options) from None


def read(file: BinaryIO, columns: tuple[Column, ...] | None, options: format.Options) -> VectorSet:
    """Read the columns of a file, which may have more arrays and may be compressed."""
    with garbled("no .npz file", options):
        archive = zipfile.ZipFile(format.seekable(file))
        names = set(archive.namelist())
        found = _described(archive, options) if f"{HEADER}.npy" in names else None
        known = format.same_columns(columns, found, "npz", options)
        missing = [column.name for column in known if f"{column.name}.npy" not in names]
        if missing:
            raise format.malformed(f"there is no array {', '.join(missing)}", options)
        members = [archive.open(f"{column.name}.npy") for column in known]
    counts = [_opened(member, column, options) for member, column in zip(members, known, strict=True)]
    if len(set(counts)) > 1:
        raise format.malformed(f"the columns have {', '.join(map(str, counts))} rows", options)
    return VectorSet(known, checked_widths(known, _chunks(members, known, counts[0], options), options), counts[0])


def _described(archive: zipfile.ZipFile, options: format.Options) -> tuple[Column, ...]:
    with archive.open(f"{HEADER}.npy") as member:
        shape, dtype = read_header(member, options)
        if dtype != np.uint8 or len(shape) != 1 or shape[0] > _MOST_HEADER:
            raise format.malformed(f"the array '{HEADER}' is not JSON as bytes", options)
        try:
            description = json.loads(exactly(member, shape[0], options))
            if description["version"] != VERSION:
                raise format.malformed(
                    f"version {description['version']} of the description is not supported, only {VERSION}", options
                )
            return columns_from_text(json.dumps(description["columns"]))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise format.malformed(f"the array '{HEADER}' does not describe columns: {error}", options) from None


def _opened(member: IO[bytes], column: Column, options: format.Options) -> int:
    shape, dtype = read_header(member, options)
    expected = little_endian(column)
    if dtype != expected or len(shape) != 1 + len(trailing(column)) or shape[1:] != trailing(column):
        axes = "".join(f", {n}" for n in trailing(column))
        raise format.malformed(f"'{column.name}' is {dtype}{list(shape)}, not {expected}[rows{axes}]", options)
    return shape[0]


def _chunks(
    members: list[IO[bytes]], columns: tuple[Column, ...], count: int, options: format.Options
) -> Iterator[Chunk]:
    for start in range(0, count, options.rows):
        rows = min(options.rows, count - start)
        with garbled("no .npz file", options):
            chunk = tuple(
                code_array(exactly(member, rows * column.bytes, options), column, rows)
                for member, column in zip(members, columns, strict=True)
            )
        yield chunk
    with garbled("no .npz file", options):
        for member in members:
            ended(member, options)


FORMAT = format.Format("npz", ".npz", write, read, describes=True)
