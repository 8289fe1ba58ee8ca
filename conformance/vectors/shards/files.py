"""Files that are written completely or not at all, and locks that one process holds at a time."""

from __future__ import annotations

import errno
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


_NO_LOCKS = frozenset({errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL})
"""What file systems without locks say: Lustre without the option ``flock``, and NFS without a server for locks."""


def lock(file: IO[bytes], shared: bool = False) -> bool | None:
    """Lock a file until it is closed; return False where another process has the lock, and None where the file system
    has no locks. The kernel releases the locks of a killed process.

    ``shared``: only ask whether another process has it. Such a lock is for files that are open for reading: by NFS,
    they cannot be locked otherwise.
    """
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return None
        raise
    return True
