"""Files that are written whole or not at all, in folders that somebody else may have prepared: no link is followed."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedRandom
from pathlib import Path
from typing import IO, BinaryIO

from halfulp.interp.ir.errors import InputError


def temporary_name(path: Path, owner: str = "") -> Path:
    """Return a name beside a file that nobody can foresee, so that nobody can put a link there. ``owner``: words that
    say whose file it is, for a later run that tidies up.
    """
    return path.with_name(f".{owner}{path.name}.{secrets.token_hex(6)}.tmp")


def open_new(path: Path) -> BufferedRandom:
    """Create a file, for writing and reading. Raises FileExistsError if there is anything of that name."""
    return path.open("x+b")


def open_to_append(path: Path) -> IO[bytes]:
    """Open a file to append to it, or create it. Raises InputError if it is a link or no regular file, and OSError."""
    # Without O_NONBLOCK, a pipe would wait for its reader.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)
    except OSError:
        if path.is_symlink():
            raise InputError(f"cannot write '{path}': it is a link", hint="remove it") from None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise InputError(f"cannot write '{path}': it is no regular file")
    return os.fdopen(handle, "ab")


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """Yield a new file that gets its name, and replaces what had it, when all went well. A link of that name is
    replaced too, not what it points to. Raises OSError.
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
