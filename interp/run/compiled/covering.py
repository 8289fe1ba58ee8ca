"""The limits of compiled code: the runs that it may take part in, and the error of a function that it cannot hold."""

from __future__ import annotations

from halfulp.interp.run.settings import Settings


class NotCompiled(Exception):
    """A function holds something that compiled code does not cover; the message says which."""


def may_compile(settings: Settings) -> bool:
    """Tell whether code may run with some settings: nobody is told of each op, and an index has 64 bits."""
    return not settings.listeners and settings.index_width == 64
