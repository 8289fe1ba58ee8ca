"""Machine code on several cores: each thread takes the next part of the elements, until none is left.

A thread that has not begun, since its core is busy, is not waited for: the calling thread takes what is left. Results
do not depend on the threads, as each part has elements of its own. `compiled.threads` tells how many there are.
"""

from __future__ import annotations

from _thread import start_new_thread
from collections import deque
from collections.abc import Callable
from threading import Condition

from halfulp.fp_formats.paths import compiled

Work = Callable[[int, int], None]
"""Does the elements from the first number on, before the second."""
_PARTS = 2
"""The parts that a thread has at least: for fewer elements it is not worth its start."""


def share(count: int, part: int, begin: Callable[[], Work]) -> None:
    """Do ``count`` elements in parts of ``part`` elements. ``begin`` makes the function of one thread.

    Raises what these functions raise, once no thread works any longer. So does an interrupt: the code cannot be left.
    """
    shared = _Shared(range(0, count, part), part, count, begin)
    shared.help_of(min(compiled.threads(), -(-count // part) // _PARTS) - 1)
    try:
        shared.take()
    finally:
        shared.close()
    if shared.error is not None:
        raise shared.error


class _Shared:
    """The parts that are left, and the threads that work on some: a thread that comes too late finds nothing to do."""

    def __init__(self, starts: range, part: int, count: int, begin: Callable[[], Work]) -> None:
        self.error: BaseException | None = None
        self._starts = deque(starts)
        self._part, self._count = part, count
        self._begin: Callable[[], Work] | None = begin
        self._working = 0
        self._changed = Condition()

    def help_of(self, threads: int) -> None:
        """Start threads, as far as there are any to be had."""
        try:
            for _ in range(threads):
                start_new_thread(self._help, ())
        except RuntimeError:
            return

    def _help(self) -> None:
        with self._changed:
            if self._begin is None:
                return
            self._working += 1
        try:
            self.take()
        except BaseException as error:
            self.error = error
            self._starts.clear()
        with self._changed:
            self._working -= 1
            self._changed.notify()

    def take(self) -> None:
        """Do parts until none is left."""
        begin, work = self._begin, None
        while True:
            try:
                start = self._starts.popleft()
            except IndexError:
                return
            assert begin is not None
            work = work or begin()
            work(start, min(start + self._part, self._count))

    def close(self) -> None:
        """Leave no part, and wait for the threads that work on one."""
        self._starts.clear()
        interrupt = None
        while True:
            try:
                with self._changed:
                    self._begin = None  # with its arrays
                    self._changed.wait_for(lambda: not self._working)
                break
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt
