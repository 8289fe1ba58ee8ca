"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from halfulp.interp.ir.errors import InputError


def write_file(path: str | os.PathLike[str], data: bytes | memoryview) -> None:
    """Write a file whole or not at all: under a name of its own first, then renamed. Raises InputError."""
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
