"""Keep bytes that took long to compute on disk, for the next process. Every file is checked when it is read.

The environment variable HALFULP_CACHE is a folder, or ``off``. Without it the folder is the place of the platform for
such files, such as ``~/.cache/halfulp``. HALFULP_CACHE_SIZE limits the size of all files, such as ``500M`` (default:
`SIZE`); the files that were used least recently are removed.

A file belongs to one version of the source code of `halfulp.fp_formats`: any change there makes a new file. Files are
written under another name first, so several processes can share the folder. Nothing depends on the folder: where it
cannot be read or written, everything is computed again.

Files hold machine code that the process runs, so the folder and its files are used only if nobody else can have
written them: `refusal` says why a folder is not. The name of a file depends on the user's number, too.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

FOLDER, LIMIT = "HALFULP_CACHE", "HALFULP_CACHE_SIZE"
SIZE = 256 << 20
"""The limit of all files together, in bytes, if HALFULP_CACHE_SIZE does not name another one."""

_MAGIC = b"halfulp cache 1\n"
_DIGEST = hashlib.sha256().digest_size
_HEAD = len(_MAGIC) + _DIGEST
_OURS = re.compile(r"[0-9a-f]{40}\.kept|[0-9a-f]{40}\..*\.part")
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_ABANDONED = 3600  # seconds: no process writes one file for so long
_LOOKS = 16  # so often a folder is looked at while its limit is written once
_unwritable: set[Path] = set()
_refused: set[Path] = set()
_room: dict[tuple[Path, int], int] = {}
"""How many bytes may be written into a folder of a limit before its size is looked at."""


def place(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path | None:
    """Return the folder of the cache; None if it is switched off or no folder is known."""
    chosen = environment.get(FOLDER, "")
    if chosen:
        return None if chosen.lower() == "off" else Path(os.path.expanduser(chosen)).absolute()
    home = os.path.expanduser("~")
    if platform == "win32":
        base = environment.get("LOCALAPPDATA", "")
    elif platform == "darwin":
        base = os.path.join(home, "Library", "Caches")
    else:
        base = environment.get("XDG_CACHE_HOME", "")
        base = base if os.path.isabs(base) else os.path.join(home, ".cache")
    return Path(base, "halfulp") if os.path.isabs(base) else None


def limit(environment: Mapping[str, str] = os.environ) -> int:
    """Return the largest size of all files together, in bytes.

    Raises ValueError if HALFULP_CACHE_SIZE is not a size.
    """
    chosen = environment.get(LIMIT, "").strip().upper()
    if not chosen:
        return SIZE
    match = re.fullmatch(r"(\d{1,15})([KMGT]?)(?:I?B)?", chosen)
    if match is None:
        raise ValueError(f"{LIMIT} is {environment[LIMIT]!r}, but must be a size in bytes, such as 500M or 2G")
    return int(match[1]) << _UNITS[match[2]]


class FallbackWarning(RuntimeWarning):
    """The warning that the cache on disk or machine code cannot be used: results are the same, but take longer."""


class CachedFile(NamedTuple):
    """A file of the cache: its size in bytes, and when it was used last, in seconds."""

    path: Path
    size: int
    used: float


def files(folder: Path) -> list[CachedFile]:
    """Return the files that this module wrote into a folder, the least recently used first. Other files are left
    alone.
    """
    return sorted(_files(folder), key=lambda kept: kept.used)


def _files(folder: Path) -> Iterator[CachedFile]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if _OURS.fullmatch(entry.name):
            with suppress(OSError):
                found = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(found.st_mode):
                    yield CachedFile(Path(entry.path), found.st_size, found.st_mtime)


def clear(folder: Path) -> int:
    """Remove the files that this module wrote into a folder; return their count."""
    return sum(_remove(kept.path) for kept in files(folder))


def load(key: str, size: int | None = None) -> bytes | None:
    """Return the bytes that were stored under a key, ``size`` bytes if the size is known. Return None if there are
    none, or if they are damaged.
    """
    path = _path(key)
    if path is None:
        return None
    text = key.encode()
    try:
        whole = _read(path, None if size is None else _HEAD + len(text) + size)
    except OSError:
        return None
    if whole is None:
        return None
    body = whole[_HEAD:]
    if not body.startswith(text) or whole[:_HEAD] != _head(body):
        _remove(path)
        return None
    with suppress(OSError):
        os.utime(path)
    return body[len(text) :]


def store(key: str, payload: bytes) -> None:
    """Store bytes under a key, if the folder can be written and they are below the limit."""
    path = _path(key)
    body = key.encode() + payload
    if path is None or path.parent in _unwritable or _HEAD + len(body) > limit():
        return
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_refused(path.parent, os.stat(path.parent)):
            return
        handle, name = tempfile.mkstemp(".part", f"{path.stem}.", path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_head(body) + body)
            os.replace(name, path)
        except BaseException:
            _remove(Path(name))
            raise
    except OSError:
        _unwritable.add(path.parent)  # a full disk, or a folder of another user: do not try again
        return
    # To look at thousands of files takes longer than to compile many a program, so it is not done for each one.
    kept = path.parent, limit()
    _room[kept] = _room.get(kept, 0) - _HEAD - len(body)
    if _room[kept] < 0:
        _room[kept] = _drop_oldest(*kept)


def refusal(folder: Path) -> str | None:
    """Return why a folder is not used as the cache: another user can write to it, or it is not a folder. None if it is
    used, or does not exist yet.
    """
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return _refusal(folder, status) if stat.S_ISDIR(status.st_mode) else f"{folder} is not a folder"


def _refusal(path: Path, status: os.stat_result) -> str | None:
    if sys.platform == "win32":  # the folder of the platform is the user's alone; st_mode says nothing there
        return None
    if status.st_uid != os.geteuid():
        return f"{path} belongs to another user ({status.st_uid}), who could put machine code there"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"{path} can be written by other users: run chmod go-w {path}"
    return None


def _is_refused(folder: Path, status: os.stat_result) -> bool:
    reason = _refusal(folder, status)
    if reason is not None and folder not in _refused:
        _refused.add(folder)
        warnings.warn(f"the cache on disk is not used: {reason}", FallbackWarning, stacklevel=4)
    return reason is not None


def _read(path: Path, size: int | None) -> bytes | None:
    """Return the content of a file of the cache, b"" if it has another size. None if others can write to it.

    The folder stays open between its check and the file's, and no link is followed, so nobody can exchange what was
    checked. Raises OSError if there is no such file.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if os.open in os.supports_dir_fd:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if _is_refused(path.parent, os.fstat(folder)):
                return None
            handle = os.open(path.name, flags, dir_fd=folder)
        finally:
            os.close(folder)
    else:
        handle = os.open(path, flags)
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or _refusal(path, status) is not None:
            return None
        return file.read() if size is None or status.st_size == size else b""


def _path(key: str) -> Path | None:
    folder, version = place(), _version()
    if folder is None or version is None:
        return None
    return folder / f"{hashlib.sha256(f'{version} {key}'.encode()).hexdigest()[:40]}.kept"


def _head(body: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(body).digest()


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True


def _drop_oldest(folder: Path, most: int) -> int:
    """Keep a folder below a size in bytes; return how many bytes may be written before it is looked at again."""
    kept, now = files(folder), time.time()
    total = sum(file.size for file in kept)
    wanted = most if total <= most else most - most // _LOOKS
    for file in kept:
        abandoned = file.path.suffix == ".part" and now - file.used > _ABANDONED
        if (abandoned or total > wanted) and _remove(file.path):
            total -= file.size
    return min(most - total, most // _LOOKS)  # other processes write too


@cache
def _version() -> str | None:
    """Return a digest of the user, this package's source and NumPy's version. None if the source is hidden."""
    user = "" if sys.platform == "win32" else os.geteuid()
    digest = hashlib.sha256(f"{user} {np.__version__} {sys.byteorder}".encode())
    root = Path(__file__).parent.parent
    try:
        sources = sorted(root.rglob("*.py"))
        for source in sources:
            digest.update(source.relative_to(root).as_posix().encode() + b"\0" + source.read_bytes())
    except OSError:
        return None
    return digest.hexdigest() if sources else None
