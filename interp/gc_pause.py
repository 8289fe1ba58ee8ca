"""Pauses of Python's garbage collector while many long-lived objects are made."""

from __future__ import annotations

import gc


class PausedCollector:
    """A pause of the garbage collector: the objects that parsing and compiling make stay alive, so that it would find
    nothing.

    A class, not a generator: the end of a generator raises StopIteration, an object that starts the collection which
    the pause put off.
    """

    def __enter__(self) -> None:
        self._collecting = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._collecting:
            gc.enable()
