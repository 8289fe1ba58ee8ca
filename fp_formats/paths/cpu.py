"""Check whether the CPU keeps subnormals, so that its own float arithmetic can be used.

A thread can have modes in which subnormal operands and results become zero, and some libraries turn these on when they
are loaded. After that was seen once, the process computes nothing natively any more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import _lru_cache_wrapper
from typing import TypeVar

Value = TypeVar("Value")

_SMALLEST = 5e-324
_keeps = _SMALLEST + _SMALLEST != 0
_forget: list[Callable[[], object]] = []


def keeps_subnormals() -> bool:
    """Return what `check` found so far."""
    return _keeps


def flushes() -> bool:
    """Tell whether the CPU flushes subnormals in this thread now."""
    return not _SMALLEST + _SMALLEST


def check() -> None:
    """Check again, as every run does at its start; it takes less than a microsecond."""
    global _keeps
    if _keeps and flushes():
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
