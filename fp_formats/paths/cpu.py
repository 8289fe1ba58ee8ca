"""Whether the CPU's own float arithmetic can be trusted with subnormals.

Threads have modes in which operands and results that are subnormal become zero, and some libraries switch these on
when they are loaded. Nothing is computed natively in a process in which that was once seen.
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
    """What was found so far."""
    return _keeps


def check() -> None:
    """Look again, as every run does at its start; it takes less than a microsecond."""
    global _keeps
    if _keeps and not _SMALLEST + _SMALLEST:
        _keeps = False
        for forget in _forget:
            forget()


def on_change(forget: Callable[[], object]) -> None:
    """Have this called when the CPU is found to flush subnormals."""
    _forget.append(forget)


def forgotten(cached: _lru_cache_wrapper[Value]) -> _lru_cache_wrapper[Value]:
    """A cached function whose results depend on `keeps_subnormals`."""
    on_change(cached.cache_clear)
    return cached
