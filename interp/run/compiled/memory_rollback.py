"""Copies of memory, to put back what a run that stops has written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halfulp.interp.values.buffers import Allocation, Buffer


def memories_of(arguments: Sequence[Any]) -> list[Allocation]:
    """Return the memory of buffers among arguments that may be written, each once. For views of bytes: that of the
    bytes.
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
        """Restore it, as often as it is asked to: a later run writes to the masks of the memory."""
        self.memory.bits[...] = self.bits
        self.memory.poison = None if self.poison is None else self.poison.copy()
        self.memory.open = None if self.open is None else self.open.copy()
        self.memory.origins = self.origins
