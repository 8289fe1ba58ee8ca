"""Read files within limits, and write them whole or not at all."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from halfulp.interp.ir.errors import InputError

MAX_FILE_BYTES = 1 << 30


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Read a file or a pipe. Raise InputError when it cannot be read, or is larger than a gigabyte."""
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            kind = os.fstat(file.fileno())
            # A device such as /dev/zero never ends.
            if not (stat.S_ISREG(kind.st_mode) or stat.S_ISFIFO(kind.st_mode)):
                raise InputError(f"cannot read {name!r}: it is not a regular file")
            if kind.st_size > MAX_FILE_BYTES:
                raise InputError(f"cannot read {name!r}: it is larger than {MAX_FILE_BYTES} bytes")
            data = file.read(MAX_FILE_BYTES + 1 if stat.S_ISFIFO(kind.st_mode) else -1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read {name!r}: {reason}") from None
    if len(data) > MAX_FILE_BYTES:
        raise InputError(f"cannot read {name!r}: it is larger than {MAX_FILE_BYTES} bytes")
    return data


def write_file(path: str | os.PathLike[str], data: bytes | memoryview) -> None:
    """Write a file whole or not at all: under a temporary name first, then renamed. Raise InputError."""
    name = os.fspath(path)
    target = Path(path)
    try:
        if target.exists() and not target.is_file():  # a pipe or a device is written to, never replaced
            target.write_bytes(data)
            return
        target = Path(os.path.realpath(target))
        partial = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            partial.write_bytes(data)
            partial.replace(target)
        except BaseException:
            with suppress(OSError):
                partial.unlink()
            raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot write {name!r}: {reason}") from None


def make_directory(path: str | os.PathLike[str]) -> None:
    """Make a directory and those above it, unless it exists. Raise InputError."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the directory {os.fspath(path)!r}: {error.strerror}") from None
