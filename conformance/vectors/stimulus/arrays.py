"""Arrays in files: .npy, .npz and .safetensors, mapped into memory where the file allows it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from halfulp.fp_formats.aliases import did_you_mean
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.blobs import map_file
from halfulp.interp.ir.errors import InputError, prefixed
from halfulp.interp.values.value import Value

if TYPE_CHECKING:
    from halfulp.interp.arrays.layouts import Entry

ENDINGS = (".npy", ".npz", ".safetensors")


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
    from halfulp.interp.arrays.archives import read_npy, read_npz
    from halfulp.interp.arrays.layouts import read_safetensors

    del size, changed  # the cache must not outlive them
    data, ending = map_file(path), os.path.splitext(path)[1].lower()
    with prefixed(repr(path)):
        if ending == ".npy":
            array = read_npy(data, path)
            return {"": lambda: Stored(array)}
        entries: Mapping[str, Entry[Any]] = read_npz(data) if ending == ".npz" else read_safetensors(data)
        if not entries:
            raise InputError("it has no arrays")
    return {name: partial(_stored, path, entry) for name, entry in entries.items()}


def _stored(path: str, entry: Entry[Any]) -> Stored:
    with prefixed(repr(path)):
        found = entry.read()
    if isinstance(found, Value):
        element = found.element_type
        return Stored(found.bits, element.format) if isinstance(element, ty.FloatType) else Stored(found.numpy())
    return Stored(found)


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
