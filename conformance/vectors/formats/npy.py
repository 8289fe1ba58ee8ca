"""NumPy's .npy: one structured array, a record per vector with a field per column, packed, little-endian."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy_format

from halfulp.conformance.vectors.columns import Chunk, Column, VectorSet
from halfulp.conformance.vectors.formats import npz
from halfulp.conformance.vectors.formats.format import Format, Options, malformed, required_columns
from halfulp.fp_formats.formats import storage_dtype


def _record(columns: Sequence[Column]) -> np.dtype[Any]:
    return np.dtype([(column.name, npz.little_endian(column), npz.trailing(column)) for column in columns])


def write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
    """Write an array of shape (rows,)."""
    dtype, count = _record(vectors.columns), 0
    with npz.Aside(1) as aside:
        for chunk in vectors:
            records = np.empty(len(chunk[0]), dtype)
            for column, codes in zip(vectors.columns, chunk, strict=True):
                records[column.name] = codes
            aside.add(0, records.tobytes())
            count += len(records)
        data = {"descr": npy_format.dtype_to_descr(dtype), "fortran_order": False, "shape": (count,)}
        npy_format.write_array_header_1_0(file, data)
        aside.copy(0, file)


def read(file: BinaryIO, columns: tuple[Column, ...] | None, options: Options) -> VectorSet:
    """Read the records of a file. Its fields give only names and sizes, so the columns must be given."""
    known = required_columns(columns, "npy", options)
    shape, dtype = npz.read_header(file, options)
    if dtype != _record(known) or len(shape) != 1:
        raise malformed(f"the array is {dtype}{list(shape)}, not {_record(known)}[rows]", options)
    count = shape[0]

    def chunks() -> Iterator[Chunk]:
        for start in range(0, count, options.rows):
            rows = min(options.rows, count - start)
            records = np.frombuffer(npz.exactly(file, rows * dtype.itemsize, options), dtype)
            yield tuple(np.ascontiguousarray(records[c.name], storage_dtype(c.width)) for c in known)
        npz.ended(file, options)

    return VectorSet(known, npz.checked_widths(known, chunks(), options), count)


FORMAT = Format("npy", ".npy", write, read)
