"""Files that are written completely or not at all, and locks that one process holds at a time."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO

from halfulp.interp.ir.errors import InputError

if sys.platform != "win32":
    import fcntl


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Turn errors of the operating system into InputError, which names the directory."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write in '{directory}': {error.strerror or error}") from error


@contextmanager
def temporary_path(directory: Path, owner: str, name: str) -> Iterator[Path]:
    """Give a path of this process alone, and remove the file afterwards unless it was renamed."""
    path = directory / f".{owner}.{name}.{secrets.token_hex(6)}.tmp"
    try:
        yield path
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def flush_and_close(file: IO[bytes]) -> None:
    """Close a file after the operating system has written all of it."""
    file.flush()
    os.fsync(file.fileno())
    file.close()


def put_file(directory: Path, owner: str, name: str, write: Callable[[BinaryIO], object]) -> None:
    """Write a file as a whole or not at all."""
    with writing(directory), temporary_path(directory, owner, name) as path:
        with path.open("wb") as file:
            write(file)
            flush_and_close(file)
        path.replace(directory / name)


def lock(file: IO[bytes]) -> bool:
    """Lock a file until it is closed; return False where another process has the lock. The kernel releases the locks of
    a killed process.
    """
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
