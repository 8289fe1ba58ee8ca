"""The parts of compiled code that the executor needs even if no compiled code is loaded: which runs may use it, the
error of a function that it cannot hold, and how to restore memory after a run that stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from halfulp.fp_formats.paths.words import Word
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.buffers import Allocation, Buffer

# --- elements ---------------------------------------------------------------------------------------------------------
#
# Vectors inside of compiled code: one word for each element.

MOST = 64
"""The elements of the longest vector: each op on it becomes instructions for each of them."""


@dataclass(frozen=True, slots=True)
class Elements:
    """A vector: its elements in row-major order."""

    type: ty.VectorType
    words: tuple[Word, ...]


def made_of(type_: ty.Type, words: Sequence[Word]) -> Word | Elements:
    """Return a value of a type that consists of these words: a scalar, or a vector of its elements."""
    return Elements(type_, tuple(words)) if isinstance(type_, ty.VectorType) else words[0]


def count_of(type_: ty.Type) -> int | None:
    """Return the number of elements of a scalar or a vector; None if its size is not static, or too large."""
    if not isinstance(type_, ty.VectorType):
        return None if isinstance(type_, ty.ShapedType) else 1
    count = prod(type_.shape)
    return None if any(type_.scalable) or count > MOST else count


# --- limits -----------------------------------------------------------------------------------------------------------

_SILENT = ("arith.", "memref.", "bufferization.", "vector.")
_LOUD = frozenset({"vector.print"})


class NotCompiled(Exception):
    """The error for a function with a part that compiled code does not cover. The message names this part."""


def may_compile(settings: Settings) -> bool:
    """Tell whether machine code may run with some settings: no listener is told about each op, nothing is recorded, no
    op takes random bits, and an index has 64 bits.
    """
    watched = settings.listeners or settings.recorder is not None
    return not watched and settings.random is None and settings.index_width == 64


def is_silent(op: Operation) -> bool:
    """Tell whether an op that the executor runs for machine code has no effect outside of the program. A run that stops
    is repeated, so its effects would happen twice.
    """
    return op.name.startswith(_SILENT) and op.name not in _LOUD


# --- memory rollback --------------------------------------------------------------------------------------------------
#
# Copies of memory, to put back what a run that stops has written.


def memories_of(arguments: Sequence[Any]) -> list[Allocation]:
    """Return the memory of buffers among arguments that may be written, each once. For a view of bytes it is the memory
    of the bytes.
    """
    found = {id(each.allocation.root): each.allocation.root for each in arguments if isinstance(each, Buffer)}
    return [memory for memory in found.values() if not memory.constant]


class Copy:
    """A copy of memory, taken before a run."""

    def __init__(self, memory: Allocation) -> None:
        self.memory = memory
        self.bits = memory.bits.copy()
        self.poison = None if memory.poison is None else memory.poison.copy()
        self.open = None if memory.open is None else memory.open.copy()
        self.origins = memory.origins

    def put_back(self) -> None:
        """Restore the memory; this may be done several times. A later run writes to the masks of the memory."""
        self.memory.bits[...] = self.bits
        self.memory.poison = None if self.poison is None else self.poison.copy()
        self.memory.open = None if self.open is None else self.open.copy()
        self.memory.origins = self.origins
