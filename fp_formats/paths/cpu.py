"""How many cores there are, and whether the CPU keeps subnormals, so that its own float arithmetic can be used.

A thread can have modes in which subnormal operands and results become zero, and some libraries turn these on when they
are loaded. After that was seen once, the process computes nothing natively any more.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import _lru_cache_wrapper
from typing import TypeVar

Value = TypeVar("Value")

_SMALLEST = 5e-324
_keeps = _SMALLEST + _SMALLEST != 0
_forget: list[Callable[[], object]] = []


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def keeps_subnormals() -> bool:
    """Return what `check` found so far."""
    return _keeps


def check() -> None:
    """Check again, as every run does at its start; it takes less than a microsecond."""
    global _keeps
    if _keeps and not _SMALLEST + _SMALLEST:
        _keeps = False
        for forget in _forget:
            forget()


def on_change(forget: Callable[[], object]) -> None:
    """Register a function that is called when the CPU is found to flush subnormals."""
    _forget.append(forget)


def forgotten(cached: _lru_cache_wrapper[Value]) -> _lru_cache_wrapper[Value]:
    """Clear a cached function, whose results depend on `keeps_subnormals`, when that changes."""
    on_change(cached.cache_clear)
    return cached
