"""The limits of compiled code: the runs that it may take part in, and the error of a function that it cannot hold."""

from __future__ import annotations

from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.settings import Settings

_SILENT = ("arith.", "memref.", "bufferization.", "vector.")
_LOUD = frozenset({"vector.print"})


class NotCompiled(Exception):
    """A function holds something that compiled code does not cover; the message says which."""


def may_compile(settings: Settings) -> bool:
    """Tell whether code may run with some settings: nobody is told of each op, nothing is recorded, no op takes random
    bits, and an index has 64 bits.
    """
    watched = settings.listeners or settings.recorder is not None
    return not watched and settings.random is None and settings.index_width == 64


def is_silent(op: Operation) -> bool:
    """Tell whether an op, which the executor runs on behalf of code, does nothing that the world sees: a run that stops
    is repeated.
    """
    return op.name.startswith(_SILENT) and op.name not in _LOUD
