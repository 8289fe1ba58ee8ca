"""Context managers that save time of Python's garbage collector while many objects are made that stay alive."""

from __future__ import annotations

import gc


class PausedCollector:
    """A context manager that pauses the garbage collector. The objects that parsing and compiling make stay alive, so
    the collector would find nothing to free.

    It is a class and not a generator: a generator makes an object at its end, StopIteration, which would start the
    delayed collection.
    """

    def __enter__(self) -> None:
        self._collecting = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._collecting:
            gc.enable()


SELDOM = 300_000
"""The objects that are made between two collections where these are seldom."""


class SeldomCollector:
    """A context manager in which the garbage collector runs seldom. It is for code that makes many short-lived objects
    while many others stay alive, which the collector would examine again and again.
    """

    def __enter__(self) -> None:
        self._thresholds = gc.get_threshold()
        first, *others = self._thresholds
        gc.set_threshold(first and max(first, SELDOM), *others)

    def __exit__(self, *_: object) -> None:
        gc.set_threshold(*self._thresholds)
