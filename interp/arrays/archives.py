"""Arrays in .npy files and in zip archives: .npz files of NumPy."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Mapping
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.interp.arrays.layouts import Entry, container
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, LimitExceeded
from halfulp.interp.ir.types import code_layout, element_width
from halfulp.interp.values.coerce import natural_array, natural_dtypes, type_of_dtype
from halfulp.interp.values.value import Value

# --- npy --------------------------------------------------------------------------------------------------------------


def holds_naturally(element: ty.Type) -> bool:
    """Tell whether a .npy file can hold an array of this element type: NumPy itself has its dtype, and not only
    ml_dtypes.
    """
    dtype = natural_dtypes().get(element)
    return dtype is not None and dtype.kind in "biuf" and dtype.isbuiltin == 1


def stored_array(value: Value) -> npt.NDArray[Any]:
    """Return the array that a .npy or .npz file gets: the elements in their dtype if such a file can store it, else the
    raw codes.
    """
    if code_layout(value.element_type)[0] == np.dtype(object):
        raise InputError(f"values of type '{value.type}' cannot be written to a file")
    return natural_array(value.element_type, value.bits) if holds_naturally(value.element_type) else value.bits


def npy_bytes(value: Value) -> bytes:
    """Return the bytes of a .npy file of a value. Raises InputError."""
    stream = io.BytesIO()
    np.save(stream, stored_array(value), allow_pickle=False)
    return stream.getvalue()


def raw_bytes(value: Value) -> bytes:
    """Return the elements: row-major, little-endian codes, each in whole bytes. Raises InputError."""
    stored_array(value)
    width = code_layout(value.element_type)[0].itemsize
    codes = value.bits.astype(value.bits.dtype.newbyteorder("<"), copy=False)
    whole = np.ascontiguousarray(codes).view(np.uint8).reshape(prod(value.shape), -1 if value.bits.size else width)
    return whole[:, : -(-(element_width(value.element_type) or 0) // 8)].tobytes()


class _Header(NamedTuple):
    """The header of a .npy file. ``columns_first``: whether the first index is that of adjacent elements."""

    shape: tuple[int, ...]
    columns_first: bool
    dtype: np.dtype[Any]
    length: int


_HEADERS: Mapping[tuple[int, int], Callable[..., Any]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    (3, 0): np.lib.format.read_array_header_2_0,  # differs in names of fields that are not Latin-1
}


def _npy_header(data: bytes | memoryview, path: str) -> _Header:
    """Read the header of a .npy file. Raise InputError for one that is malformed."""
    stream = io.BytesIO(data[:_LONGEST_HEADER])
    try:
        version = np.lib.format.read_magic(stream)
        if version not in _HEADERS:
            raise ValueError(f"version {version[0]}.{version[1]} of the format is not known")
        shape, columns_first, dtype = _HEADERS[version](stream)
        if any(size < 0 for size in shape):
            raise ValueError("negative dimensions are not allowed")
    except Exception as error:  # NumPy's parser of the header may raise many kinds of errors
        if "'<f1'" in str(error):
            why, hint = (
                "NumPy writes the dtype float8_e5m2 as '<f1', and cannot read it",
                "save the codes: x.view(np.uint8)",
            )
        else:
            why, hint = first_line(error), None
        raise InputError(f"{path!r} is not a readable .npy file: {why}", hint=hint) from None
    return _Header(shape, columns_first, dtype, stream.tell())


# NumPy itself refuses a header of more than 10,000 bytes.
_LONGEST_HEADER = 1 << 16


def first_line(error: Exception) -> str:
    """Return the first line of an error, or its kind if it says nothing."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def read_npy(data: bytes | memoryview, path: str) -> npt.NDArray[Any]:
    """Read the array of a .npy file, as a view of the data where possible. Raise InputError for a file that is
    malformed, too short, or holds Python objects.
    """
    shape, columns_first, dtype, start = _npy_header(data, path)
    if dtype.hasobject:
        raise InputError(f"{path!r} holds Python objects (dtype {dtype}), which are never loaded")
    count = prod(shape)
    present, needed = len(data) - start, count * dtype.itemsize
    if present < needed:
        raise InputError(f"{path!r} is cut short: its header promises {needed} bytes of data, {present} are there")
    try:
        flat = np.frombuffer(data, dtype, count, start) if needed else np.zeros(count, dtype)
        array = flat.reshape(shape, order="F" if columns_first else "C")
    except ValueError as error:
        raise InputError(f"{path!r} is not a readable .npy file: {first_line(error)}") from None
    return array.astype(array.dtype.newbyteorder("="), copy=False)


# --- zip --------------------------------------------------------------------------------------------------------------

_LOCAL = 30
"""The bytes of the header before each file, without its name and its extra field."""
MOST_UNPACKED = 1 << 30
"""The most bytes of a compressed member: it is held in memory."""
_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError)


def open_archive(data: memoryview) -> zipfile.ZipFile:
    """Open a zip archive in memory. Raise InputError for data that is not one."""
    try:
        return zipfile.ZipFile(_View(data))
    except _ERRORS as error:
        raise InputError(f"it is not a readable zip archive: {first_line(error)}") from None


class _View(io.RawIOBase):
    """A file in memory, of which nothing is copied before it is read."""

    def __init__(self, data: memoryview) -> None:
        self._data, self._at = data, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = 0) -> int:
        at = offset + (0, self._at, len(self._data))[whence]
        if at < 0:
            raise OSError("a place before the file")
        self._at = at
        return at

    def read(self, size: int | None = -1) -> bytes:
        # Not by readinto: the size may be what a damaged archive claims, and would be allocated first.
        end = len(self._data) if size is None or size < 0 else self._at + size
        part = bytes(self._data[self._at : end])
        self._at += len(part)
        return part


def member_of(archive: zipfile.ZipFile, data: memoryview, row: zipfile.ZipInfo) -> memoryview:
    """Return the bytes of a member: a view of the archive if they are stored there as they are, without a check of
    their sum, else unpacked. Raise InputError for a damaged one, and LimitExceeded for one of more than a gigabyte when
    unpacked.
    """
    if row.compress_type == zipfile.ZIP_STORED and not row.flag_bits & 1:
        header = bytes(data[row.header_offset : row.header_offset + _LOCAL])
        start = row.header_offset + _LOCAL + int.from_bytes(header[26:28], "little")
        start += int.from_bytes(header[28:30], "little")
        if header[:4] != b"PK\3\4" or start + row.file_size > len(data):
            raise InputError(f"its member {row.filename!r} is damaged")
        return data[start : start + row.file_size]
    if row.file_size > MOST_UNPACKED:
        raise LimitExceeded(
            f"the compressed array {row.filename!r} has {row.file_size:,} bytes; the limit is {MOST_UNPACKED:,}",
            hint="np.savez and np.save do not compress: such arrays may have any size",
        )
    parts, left = [], row.file_size
    try:
        with archive.open(row) as stream:
            # Part by part: what the header promises is not allocated before it is there.
            while part := stream.read(min(left, 1 << 20) + 1):
                parts.append(part)
                left -= len(part)
    except _ERRORS as error:
        raise InputError(f"its member {row.filename!r} cannot be read: {first_line(error)}") from None
    if left:
        raise InputError(f"its member {row.filename!r} has {row.file_size - left} bytes, not {row.file_size}")
    return memoryview(b"".join(parts))


# --- npz --------------------------------------------------------------------------------------------------------------


def read_npz(data: memoryview) -> dict[str, Entry[npt.NDArray[Any]]]:
    """Return the arrays of a .npz file. Raises InputError for a file that is not one."""
    archive = open_archive(data)
    entries = {}
    for row in archive.infolist():
        if row.filename.endswith(".npy"):
            name = row.filename.removesuffix(".npy")
            if name in entries:
                raise InputError(f"two arrays have the name {name!r}")
            entries[name] = _array(archive, data, row, name)
    return entries


def _array(archive: zipfile.ZipFile, data: memoryview, row: zipfile.ZipInfo, name: str) -> Entry[npt.NDArray[Any]]:
    try:
        with archive.open(row) as stream:
            shape, _, dtype, _ = _npy_header(stream.read(_LONGEST_HEADER), name)
    except _ERRORS as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"its member {row.filename!r} cannot be read: {first_line(error)}") from None
    element = type_of_dtype(dtype.newbyteorder("="))
    type_ = None if element is None else container(shape, element)

    def read() -> npt.NDArray[Any]:
        member = member_of(archive, data, row)
        if zlib.crc32(member) != row.CRC:  # of a member that is not unpacked, nobody else compares it
            raise InputError(f"its member {row.filename!r} is damaged: its bytes have another checksum")
        return read_npy(member, name)

    return Entry(dtype.name, type_, read)


def write_npz(tensors: Mapping[str, Value]) -> bytes:
    """Return the bytes of a .npz file, always the same for the same values. Types that NumPy lacks are raw bits."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, value in tensors.items():
            # Without a time, a row of an archive has that of the start of 1980.
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), npy_bytes(value))
    return stream.getvalue()
