"""Less work for Python's garbage collector while many objects are made that it need not look at."""

from __future__ import annotations

import gc


class PausedCollector:
    """A pause of the garbage collector: the objects that parsing and compiling make stay alive, so that it would find
    nothing.

    This is a class and not a generator, because the end of a generator makes an object, StopIteration, which would
    start the collection that the pause put off.
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
    """A time in which the garbage collector runs seldom. Many short-lived objects are made while many others stay, and
    it would look at all of them again and again.
    """

    def __enter__(self) -> None:
        self._thresholds = gc.get_threshold()
        first, *others = self._thresholds
        gc.set_threshold(first and max(first, SELDOM), *others)

    def __exit__(self, *_: object) -> None:
        gc.set_threshold(*self._thresholds)
