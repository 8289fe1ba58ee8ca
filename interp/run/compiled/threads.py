"""Machine code on several cores: each thread takes the next part of the elements, until none is left.

A thread that comes late, since its core is busy, holds up nobody: the calling thread takes what is left. Results do not
depend on the threads, as each part has elements of its own.

The environment variable HALFULP_THREADS, or `use`, sets the number of threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Lock

from halfulp.fp_formats.paths import cpu

VARIABLE = "HALFULP_THREADS"
_DEFAULT = 4
"""The threads that are used at most where nobody sets their number."""
_MOST = 1024

Work = Callable[[int, int], None]
"""Does the elements from the first number on, before the second."""


class Threads:
    """The threads of a process: ``count`` of them, with the one that calls."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool: ThreadPoolExecutor | None = None
        self._lock = Lock()

    def share(self, count: int, part: int, begin: Callable[[], Work]) -> None:
        """Do ``count`` elements in parts of ``part`` elements. ``begin`` makes the function of one thread.

        Raises what these functions raise, once no thread works any longer.
        """
        starts = deque(range(0, count, part))
        others = min(self.count, len(starts)) - 1
        if others < 1:
            _take(starts, part, count, begin)
            return
        pool = self._others()
        waiting = [pool.submit(_help, starts, part, count, begin) for _ in range(others)]
        try:
            _take(starts, part, count, begin)
        finally:
            starts.clear()
            begun = [each for each in waiting if not each.cancel()]
            wait(begun)
        for each in begun:
            each.result()

    def _others(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.count - 1, "halfulp")
            return self._pool


def _help(starts: deque[int], part: int, count: int, begin: Callable[[], Work]) -> None:
    """Take parts, unless this thread alone computes otherwise: its modes are those of the time when it began."""
    if not cpu.flushes():
        _take(starts, part, count, begin)


def _take(starts: deque[int], part: int, count: int, begin: Callable[[], Work]) -> None:
    work: Work | None = None
    while True:
        try:
            start = starts.popleft()
        except IndexError:
            return
        work = work or begin()
        work(start, min(start + part, count))


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _wanted() -> int:
    asked = os.environ.get(VARIABLE)
    if not asked:
        return min(cores(), _DEFAULT)
    if not (asked.isascii() and asked.isdecimal() and len(asked) < 5 and 0 < int(asked) <= _MOST):
        raise ValueError(f"{VARIABLE} is {asked!r}, but must be a number of threads, from 1 to {_MOST}")
    return int(asked)


_threads = Threads(_wanted())


def use(count: int) -> None:
    """Set the number of threads from now on: for example 1, where other processes share the work already.

    Raises ValueError for a number that is not from 1 to 1024.
    """
    global _threads
    if not 0 < count <= _MOST:
        raise ValueError(f"there cannot be {count} threads, only 1 to {_MOST}")
    _threads = Threads(count)


def share(count: int, part: int, begin: Callable[[], Work]) -> None:
    """See `Threads.share`."""
    _threads.share(count, part, begin)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: use(_threads.count))  # a forked process has but one thread
