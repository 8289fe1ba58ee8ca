"""A context manager that keeps freed memory for new arrays, in processes whose environment makes malloc return it at
once. <<thresholds: each larger array is new memory, which the kernel clears page by page when it is written. Computing
in chunks then takes three to eight times as long. >>thresholds. Each larger array then is new memory, which the
operating system clears page by page when it is written, and computing in chunks takes three to eight times as long.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

# Of malloc.h: the number of a parameter, the variable that sets it, its default, and the most that glibc adapts it to.
_PARAMETERS = (
    (-1, "MALLOC_TRIM_THRESHOLD_", 128 << 10, 64 << 20),
    (-3, "MALLOC_MMAP_THRESHOLD_", 128 << 10, 32 << 20),
)
_LOCK = threading.Lock()
_users = 0


@contextmanager
def memory_kept() -> Iterator[None]:
    """Let arrays reuse freed memory until the end of the block, in all threads of the process. Then return the memory,
    and let malloc behave as the environment says. Without such an environment, or without glibc, do nothing.
    """
    if not any(variable in os.environ for _, variable, _, _ in _PARAMETERS) or not _has_glibc():
        yield
        return
    _count(1)
    try:
        yield
    finally:
        _count(-1)


def _has_glibc() -> bool:
    return sys.platform == "linux" and hasattr(ctypes.CDLL(None), "gnu_get_libc_version")


def _count(change: int) -> None:
    """Count the blocks that have begun; the first one changes malloc, and the last one changes it back."""
    global _users
    with _LOCK:
        before, _users = _users, _users + change
        if (before > 0) == (_users > 0):
            return
        libc = ctypes.CDLL(None)
        for number, variable, default, adapted in _PARAMETERS:
            given = os.environ.get(variable, "")
            libc.mallopt(
                number, adapted if _users else int(given) if given.isascii() and given.isdecimal() else default
            )
        if not _users:
            libc.malloc_trim(0)
