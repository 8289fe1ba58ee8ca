"""Functions that read and write files in folders that an attacker may have prepared. A file is written completely or
not at all, and no link is followed.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedRandom, BufferedReader
from pathlib import Path
from typing import IO, Any, BinaryIO

from halfulp.interp.ir.base import FileLineCol
from halfulp.interp.ir.errors import InputError


def temporary_name(path: Path, owner: str = "") -> Path:
    """Return an unpredictable name for a temporary file in the folder of a file, so that nobody can put a link in its
    place. ``owner``: words that name the owner, so that a later run can remove the file.
    """
    return path.with_name(f".{owner}{path.name}.{secrets.token_hex(6)}.tmp")


MOST_BYTES = 1 << 30
"""The largest file that is read as a whole."""

_OPENED_AS = getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""The flags to open a file. Without O_NONBLOCK, opening a pipe would wait for its other end."""


def open_to_read(path: Path) -> BufferedReader:
    """Open a file whose name the user did not give, for example one found in a folder. Raises InputError for a pipe or
    a device, which may never end, and OSError.
    """
    return os.fdopen(_regular(path, os.open(path, os.O_RDONLY | _OPENED_AS), "read"), "rb")


def read_whole(path: Path) -> bytes:
    """Return the bytes of a file whose name the user did not give. Raises InputError as `open_to_read`, also if the
    file is larger than a gigabyte, and OSError.
    """
    with open_to_read(path) as file:
        if os.fstat(file.fileno()).st_size > MOST_BYTES:
            raise InputError(f"cannot read '{path}': it is larger than {MOST_BYTES} bytes")
        return file.read()


MOST_QUOTED = 20
"""The most characters of a broken text that an error quotes."""


def json_of(text: str | bytes, file: str, hint: str) -> Any:
    """Return what a file of JSON holds. Raises InputError, with the place, for any other text. ``file``: its name.
    ``hint``: what to do with a file that is broken.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        place = FileLineCol(file, error.lineno, error.colno) if isinstance(error, json.JSONDecodeError) else None
        named = "the file" if place else file
        raise InputError(f"{named} is not JSON: {fault_of_json(error)}", location=place, hint=hint) from None


def fault_of_json(error: ValueError | RecursionError) -> str:
    """Return in words what is wrong with a text that `json.loads` does not read."""
    if isinstance(error, json.JSONDecodeError):
        rest = error.doc[error.pos :].strip()
        quoted = rest.split("\n", 1)[0][:MOST_QUOTED]
        return f"{quoted!r} cannot stand here" if rest else "it ends before it is complete"
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    return "it is not text in UTF-8" if isinstance(error, UnicodeDecodeError) else "a number has too many digits"


def _regular(path: Path, handle: int, verb: str) -> int:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InputError(f"cannot {verb} '{path}': it is not a regular file")
    return handle


def open_new(path: Path) -> BufferedRandom:
    """Create a file, for writing and reading. Raises FileExistsError if there is anything of that name."""
    return path.open("x+b")


def open_to_append(path: Path) -> IO[bytes]:
    """Open a file to append to it, or create it. Raises InputError if it is a link or not a regular file; OSError."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _OPENED_AS
    try:
        handle = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError:
        if path.is_symlink():
            raise InputError(f"cannot write '{path}': it is a link", hint="remove it") from None
        raise
    return os.fdopen(_regular(path, handle, "write"), "ab")


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file to write to. If no error occurs, it replaces the file at ``path``. If ``path`` is a link, the
    link is replaced, not the file to which it points. Raises OSError.
    """
    partial = temporary_name(path)
    file = open_new(partial)
    try:
        with file:
            yield file
        partial.replace(path)
    except BaseException:
        with suppress(OSError):
            partial.unlink()
        raise
