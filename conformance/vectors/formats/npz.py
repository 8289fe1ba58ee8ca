"""NumPy's .npz: an array of raw bits per column under its name, and ``halfulp``, JSON as UTF-8 that describes them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from halfulp.conformance.vectors.columns import Chunk, Column, VectorSet, columns_from_text
from halfulp.conformance.vectors.formats.arrays import (
    Aside,
    checked_widths,
    code_array,
    code_bytes,
    ended,
    exactly,
    little_endian,
    trailing,
)
from halfulp.conformance.vectors.formats.format import Format, Options, malformed, same_columns, seekable
from halfulp.interp.ir.errors import HalfulpError

HEADER = "halfulp"
VERSION = 1

_OLDEST = (1980, 1, 1, 0, 0, 0)
"""The time stamp of every member: the same set gives the same bytes."""

_MOST_HEADER = 1 << 20
"""Bytes of the longest description that is read."""


def write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
    """Arrays of shape (rows,), above 64 bits (rows, limbs); not compressed."""
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


def read_header(file: IO[bytes], options: Options) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """The shape and dtype in front of NumPy's data. Raises InputError for anything else, and column-major data."""
    with garbled("no NumPy array", options):
        version = npy_format.read_magic(file)
        read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        shape, fortran, dtype = read(file)
    if fortran and len(shape) > 1:
        raise malformed("a NumPy array in column-major order", options)
    if any(size < 0 for size in shape):
        raise malformed("a NumPy array of negative size", options)
    return shape, dtype


@contextmanager
def garbled(what: str, options: Options) -> Iterator[None]:
    """Turn what NumPy, zipfile and zlib raise for a broken file, each something else, into InputError."""
    try:
        yield
    except HalfulpError:
        raise
    except Exception as error:
        raise malformed(f"{what}: {error}", options) from None


def read(file: BinaryIO, columns: tuple[Column, ...] | None, options: Options) -> VectorSet:
    """The columns of a file, which may have more arrays and may be compressed."""
    with garbled("no .npz file", options):
        archive = zipfile.ZipFile(seekable(file))
        names = set(archive.namelist())
        found = _described(archive, options) if f"{HEADER}.npy" in names else None
        known = same_columns(columns, found, "npz", options)
        missing = [column.name for column in known if f"{column.name}.npy" not in names]
        if missing:
            raise malformed(f"there is no array {', '.join(missing)}", options)
        members = [archive.open(f"{column.name}.npy") for column in known]
    counts = [_opened(member, column, options) for member, column in zip(members, known, strict=True)]
    if len(set(counts)) > 1:
        raise malformed(f"the columns have {', '.join(map(str, counts))} rows", options)
    return VectorSet(known, checked_widths(known, _chunks(members, known, counts[0], options), options), counts[0])


def _described(archive: zipfile.ZipFile, options: Options) -> tuple[Column, ...]:
    with archive.open(f"{HEADER}.npy") as member:
        shape, dtype = read_header(member, options)
        if dtype != np.uint8 or len(shape) != 1 or shape[0] > _MOST_HEADER:
            raise malformed(f"the array '{HEADER}' is not JSON as bytes", options)
        try:
            description = json.loads(exactly(member, shape[0], options))
            if description["version"] != VERSION:
                raise malformed(f"version {description['version']} of the description, not {VERSION}", options)
            return columns_from_text(json.dumps(description["columns"]))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise malformed(f"the array '{HEADER}' does not describe columns: {error}", options) from None


def _opened(member: IO[bytes], column: Column, options: Options) -> int:
    shape, dtype = read_header(member, options)
    expected = little_endian(column)
    if dtype != expected or len(shape) != 1 + len(trailing(column)) or shape[1:] != trailing(column):
        axes = "".join(f", {n}" for n in trailing(column))
        raise malformed(f"'{column.name}' is {dtype}{list(shape)}, not {expected}[rows{axes}]", options)
    return shape[0]


def _chunks(members: list[IO[bytes]], columns: tuple[Column, ...], count: int, options: Options) -> Iterator[Chunk]:
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


FORMAT = Format("npz", ".npz", write, read, describes=True)
