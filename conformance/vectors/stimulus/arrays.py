"""Arrays in files: .npy, .npz and .safetensors, mapped into memory where the file allows it."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from halfulp.conformance.files import fault_of_json
from halfulp.fp_formats.aliases import did_you_mean
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.interp.ir.errors import HalfulpError, InputError, LimitExceeded, Unsupported

MOST_UNPACKED = 1 << 30
"""The most bytes of a compressed array of an .npz file: it is held in memory."""

MOST_HEADER = 100 << 20
"""The most bytes of the header of a .safetensors file, as its own library allows."""

ENDINGS = (".npy", ".npz", ".safetensors")

_SAFETENSORS: Mapping[str, tuple[str, str | None]] = {
    "BOOL": ("?", None), "U8": ("u1", None), "I8": ("i1", None), "U16": ("<u2", None), "I16": ("<i2", None),
    "U32": ("<u4", None), "I32": ("<i4", None), "U64": ("<u8", None), "I64": ("<i8", None),
    "F16": ("<u2", "f16"), "BF16": ("<u2", "bf16"), "F32": ("<u4", "f32"), "F64": ("<u8", "f64"),
    "F8_E5M2": ("u1", "f8E5M2"), "F8_E4M3": ("u1", "f8E4M3FN"), "F8_E8M0": ("u1", "f8E8M0FNU"),
    "F8_E4M3FNUZ": ("u1", "f8E4M3FNUZ"), "F8_E5M2FNUZ": ("u1", "f8E5M2FNUZ"),
}  # fmt: skip
"""The dtypes of .safetensors files: that of their elements, and the float format of these codes."""


@dataclass(frozen=True)
class Stored:
    """An array of a file.

    ``format``: the float format whose codes the array holds; None if its dtype says what it holds. In that case,
    unsigned integers are raw bits.
    """

    array: npt.NDArray[Any]
    format: FloatFormat | None = None


@lru_cache(maxsize=16)
def arrays_of(path: str, size: int, changed: int) -> Mapping[str, Callable[[], Stored]]:
    """Return for each array of a file, by name, a function that reads it. The only array of an .npy file has the name
    "".

    ``size``, ``changed``: the size of the file, and the time of its last change. Raises InputError for a file that
    cannot be read.
    """
    del size, changed  # the cache must not outlive them
    reader = {".npy": _npy, ".npz": _npz, ".safetensors": _safetensors}[os.path.splitext(path)[1].lower()]
    try:
        return reader(path)
    except HalfulpError:
        raise
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from None
    except Exception as error:  # NumPy and zipfile raise many kinds of errors for damaged files
        raise InputError(f"'{path}' cannot be read: {_line(error)}") from None


def _line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def read_arrays(path: str) -> Mapping[str, Callable[[], Stored]]:
    """Return what `arrays_of` returns for the file as it is now."""
    return arrays_of(path, *status_of(path))


def status_of(path: str) -> tuple[int, int]:
    """Return the size of a file in bytes, and the time of its last change. Raises InputError."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from None
    except ValueError as error:  # a NUL in the path
        raise InputError(f"cannot read {path!r}: {error}") from None
    if not os.path.isfile(path):
        raise InputError(f"cannot read '{path}': it is not a file")
    if not status.st_size:
        raise InputError(f"'{path}' is empty")
    return status.st_size, status.st_mtime_ns


@lru_cache(maxsize=64)
def _digest(path: str, size: int, changed: int) -> str:
    del size, changed
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(path: str) -> str:
    """Return the SHA-256 of the bytes of a file. Raises InputError."""
    return _digest(path, *status_of(path))


def named_array(path: str, name: str | None) -> Stored:
    """Return an array of a file by its name; None: the only one. Raises InputError for an unknown name."""
    arrays = read_arrays(path)
    if name is None:
        if len(arrays) != 1:
            raise InputError(f"'{path}' has {len(arrays)} arrays: {_listed(arrays)}", hint="array=NAME names one")
        return next(iter(arrays.values()))()
    if name not in arrays:
        alone = "has only one array, without a name" if "" in arrays else f"has the arrays {_listed(arrays)}"
        raise InputError(f"'{path}' has no array '{name}': it {alone}", hint=did_you_mean(name, arrays))
    return arrays[name]()


def _listed(arrays: Mapping[str, object], most: int = 8) -> str:
    names = list(arrays)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _npy(path: str) -> Mapping[str, Callable[[], Stored]]:
    with open(path, "rb") as file:
        array = _mapped(path, file, os.path.getsize(path))
    return {"": lambda: Stored(array)}


def _mapped(path: str, file: BinaryIO, end: int) -> npt.NDArray[Any]:
    """Map the array whose .npy header the file is at. ``end``: where its bytes end."""
    shape, fortran, dtype = _header(file)
    if dtype.hasobject:
        raise InputError(f"'{path}' holds Python objects (dtype {dtype}), which are never loaded")
    begin, size = file.tell(), prod(shape) * dtype.itemsize
    if begin + size > end:
        raise InputError(f"'{path}' is cut short: its header promises {size} bytes of data, {end - begin} are there")
    if not size:
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype, "r", begin, shape, "F" if fortran else "C")


_HEADERS: Mapping[tuple[int, int], Callable[..., Any]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    (3, 0): np.lib.format.read_array_header_2_0,  # differs in names of fields that are not Latin-1
}


def _header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"version {version[0]}.{version[1]} of the format is not known")
    try:
        found: tuple[tuple[int, ...], bool, np.dtype[Any]] = _HEADERS[version](file)
    except ValueError as error:
        if "'<f1'" not in str(error):
            raise
        raise InputError(
            "NumPy writes the dtype float8_e5m2 as '<f1', and cannot read it", hint="save the codes: x.view(np.uint8)"
        ) from None
    return found


def _npz(path: str) -> Mapping[str, Callable[[], Stored]]:
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
    if not members:
        raise InputError(f"'{path}' has no arrays")
    return {member.filename.removesuffix(".npy"): _member(path, member) for member in members}


def _member(path: str, member: zipfile.ZipInfo) -> Callable[[], Stored]:
    def read() -> Stored:
        try:
            return Stored(_of_member(path, member))
        except HalfulpError:
            raise
        except Exception as error:  # as in `arrays_of`
            raise InputError(f"'{path}': '{member.filename}' cannot be read: {_line(error)}") from None

    return read


def _of_member(path: str, member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    if member.compress_type == zipfile.ZIP_STORED:
        with open(path, "rb") as file:
            file.seek(member.header_offset + 26)  # of the local header: the lengths of its name and its extra field
            lengths = np.frombuffer(file.read(4), "<u2")
            file.seek(int(lengths.sum()), os.SEEK_CUR)
            return _mapped(path, file, file.tell() + member.file_size)
    if member.file_size > MOST_UNPACKED:
        raise LimitExceeded(
            f"'{path}': the compressed array '{member.filename}' has {member.file_size:,} bytes; the limit is "
            f"{MOST_UNPACKED:,}",
            hint="np.savez and np.save do not compress: such arrays may have any size",
        )
    with zipfile.ZipFile(path) as archive, archive.open(member) as file:
        shape, fortran, dtype = _header(file)
        if dtype.hasobject:
            raise InputError(f"'{path}' holds Python objects (dtype {dtype}), which are never loaded")
        size = prod(shape) * dtype.itemsize
        data = file.read(min(size, MOST_UNPACKED) + 1)
        if len(data) != size:
            raise InputError(f"'{path}': '{member.filename}' does not have the {size:,} bytes that it promises")
        return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")


def _safetensors(path: str) -> Mapping[str, Callable[[], Stored]]:
    """Read the header: its length in 8 bytes, then JSON with the dtype, shape and place of each tensor."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, MOST_HEADER):
            raise InputError(f"'{path}' is not a .safetensors file, or is cut short: a header of {length:,} bytes")
        try:
            header = json.loads(file.read(length))
        except (ValueError, RecursionError) as error:
            raise InputError(f"'{path}': the header is not JSON: {fault_of_json(error)}") from None
    if not isinstance(header, dict):
        raise InputError(f"'{path}': the header does not describe tensors")
    tensors = {name: about for name, about in header.items() if name != "__metadata__"}
    if not tensors:
        raise InputError(f"'{path}' has no tensors")
    return {name: lambda name=name, about=about: _tensor(path, name, about, 8 + length, size)  # type: ignore[misc]
            for name, about in tensors.items()}  # fmt: skip


def _tensor(path: str, name: str, about: Any, begin: int, size: int) -> Stored:
    what = f"'{path}': the tensor '{name}'"
    try:
        kind, shape, (start, stop) = about["dtype"], tuple(about["shape"]), about["data_offsets"]
        whole = all(type(number) is int and number >= 0 for number in (*shape, start, stop))
    except (TypeError, KeyError, ValueError):
        whole, kind, shape, start, stop = False, "", (), 0, 0
    if not whole or not isinstance(kind, str):
        raise InputError(f"{what} is not described by a dtype, a shape and offsets")
    if kind not in _SAFETENSORS:
        raise Unsupported(f"{what} has the dtype {kind}; those that can be read are {', '.join(_SAFETENSORS)}")
    dtype, name_of_format = np.dtype(_SAFETENSORS[kind][0]), _SAFETENSORS[kind][1]
    if stop - start != prod(shape) * dtype.itemsize:
        raise InputError(f"{what} takes {prod(shape) * dtype.itemsize:,} bytes, but its offsets give {stop - start:,}")
    if begin + stop > size:
        raise InputError(f"{what} ends after the end of the file, so the file is cut short")
    array = np.memmap(path, dtype, "r", begin + start, shape) if stop > start else np.zeros(shape, dtype)
    return Stored(array, FORMATS[name_of_format] if name_of_format else None)
