"""Less work for Python's garbage collector while many objects are made that it need not look at."""

from __future__ import annotations

import gc


class PausedCollector:
    """A pause of the garbage collector. The objects that parsing and compiling make stay alive, so the collector would
    find nothing to free.

    This is a class and not a generator, because a generator makes an object at its end, StopIteration, which would
    start the delayed collection.
    """

    def __enter__(self) -> None:
        self._collecting = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._collecting:
            gc.enable()


SELDOM = 50_000
"""The objects that are made between two collections where these are seldom."""


class SeldomCollector:
    """A time in which the garbage collector runs seldom. While many short-lived objects are made and many others stay
    alive, the collector would examine all of them again and again.
    """

    def __enter__(self) -> None:
        self._thresholds = gc.get_threshold()
        first, *others = self._thresholds
        gc.set_threshold(first and max(first, SELDOM), *others)

    def __exit__(self, *_: object) -> None:
        gc.set_threshold(*self._thresholds)
