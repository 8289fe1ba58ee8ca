"""Memory of bytes, and pointers into it: an allocation and an offset.

Each alloca, malloc and global is one allocation. An address is made up when a program first asks for it; two
allocations never touch, so that an address belongs to one of them. An allocation begins at a multiple of the alignment
that it was made with, and of no larger power of two, so that an access that needs more is noticed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Run
from halfulp.interp.values.elements import Marks
from halfulp.semantics.poison import Origin, Origins

PAGE = 4096
_FIRST_ADDRESS = 1 << 40
ADDRESS_MASK = (1 << 64) - 1
MALLOC_ALIGNMENT = 16
"""The alignment that malloc guarantees."""
CALLER_ALIGNMENT = PAGE
"""The alignment of the memory of arguments and of memrefs. Programs assume one of it (`memref.assume_alignment`)."""
UNWRITTEN = "a byte of memory was never written"


class AnyMemory(Protocol):
    """What access needs of memory; `Memory` tells what each part is."""

    source: str
    alignment: int
    size: int
    start: int | None
    end: int
    data: Any
    lost: Any
    pointers: dict[int, Pointer]
    function: Operation | None

    @property
    def ids(self) -> Any:
        """None, or for each byte the id of the origin of its poison."""

    @property
    def open(self) -> Any:
        """None, or for each byte the mask of unspecified values or the lineage."""

    @property
    def origins(self) -> Origins:
        """The table of the ids of poison."""

    @property
    def unwritten(self) -> int:
        """The id of poison that has no id of its own."""

    @property
    def freed(self) -> str | None:
        """The op that freed it and its place."""

    @property
    def constant(self) -> bool:
        """True if it must not be written."""

    def adopted(self, origins: Origins) -> None:
        """Use this table for the origins of poison from now on: the ids of one run have one table."""

    def ids_to_write(self, origins: Origins) -> Any:
        """Return the ids of the poison of each byte, in this table, to be written."""

    def mark_open(self, place: int, size: int, mark: Marks | np.integer[Any]) -> None:
        """Note for some bytes whether their value is unspecified, or its lineage."""

    def forget(self) -> None:
        """Make all of it as if it was never written."""

    def release(self, by: str) -> None:
        """Free the memory: no access is allowed from now on."""


class Memory:
    """One allocation: bytes, each with a mask of its bits that are poison.

    source: what made it, and its place. alignment: the bytes of which its address is a multiple. data: the bytes.
    lost: for each byte the mask of its poisoned bits. ids: None, or for each byte the id of the origin of its poison in
    the table ``origins``; None means that all poison has the id ``unwritten``. open: None, or for each byte the mask of
    unspecified values or the lineage. pointers: those that were stored, by their place. end: the size while it can be
    used, -1 after it was freed or shared. freed: the op that freed it and its place. constant: True if it must not be
    written. function: the function whose address this is. start: the address, once something has asked for it. shared:
    None, or the memory that has its bytes since memrefs see them, too.
    """

    __slots__ = (
        "__weakref__", "alignment", "constant", "data", "end", "freed", "function", "ids", "lost", "open", "origins",
        "pointers", "shared", "size", "source", "start", "unwritten",
    )  # fmt: skip

    def __init__(self, source: str, size: int, alignment: int, origins: Origins | None, written: bool = False) -> None:
        self.source = source
        self.start: int | None = None
        self.size = self.end = size
        self.alignment = alignment
        self.data = bytearray(size)
        self.lost = bytearray(size) if written else bytearray(b"\xff") * size
        self.ids: npt.NDArray[np.uint16] | None = None
        self.open: Marks | None = None
        self.origins = Origins() if origins is None else origins
        self.unwritten = 0 if written else self.origins.id_of(Origin("memory", "", f"{UNWRITTEN}: {source}"))
        self.pointers: dict[int, Pointer] = {}
        self.freed: str | None = None
        self.constant = False
        self.function: Operation | None = None
        self.shared: AnyMemory | None = None

    def share(self, memory: AnyMemory) -> None:
        """Use the bytes of other memory of this size from now on. Its ``ids`` and ``open`` exist already, and stay."""
        self.shared, self.end = memory, memory.end
        self.data, self.lost, self.ids, self.open = memory.data, memory.lost, memory.ids, memory.open

    def adopted(self, origins: Origins) -> None:
        """Use this table for the origins of poison from now on: the ids of one run have one table."""
        if origins is not self.origins:
            if self.shared is not None:
                self.shared.adopted(origins)
            elif self.ids is not None:
                self.ids = origins.adopt(self.ids, self.origins)
            if self.unwritten:
                self.unwritten = origins.id_of(self.origins[self.unwritten])
            self.origins = origins

    def ids_to_write(self, origins: Origins) -> Any:
        """Return the ids of the poison of each byte, in this table, to be written."""
        self.adopted(origins)
        if self.ids is None:
            self.ids = np.full(self.size, self.unwritten, np.uint16)
        return self.ids

    def mark_open(self, place: int, size: int, mark: Marks | np.integer[Any]) -> None:
        """Note for some bytes whether their value is unspecified, or its lineage."""
        if self.open is None:
            self.open = np.zeros(self.size, mark.dtype)
        self.open[place : place + size] = mark

    def forget(self) -> None:
        """Make all of it as if it was never written."""
        if self.shared is not None:
            self.shared.forget()
            return
        self.lost[:] = b"\xff" * len(self.lost)
        self.ids = self.open = None

    def release(self, by: str) -> None:
        """Free the memory: no access is allowed from now on."""
        if self.shared is not None:
            self.shared.release(by)
            self.shared = None
        self.freed, self.end = by, -1
        # Pointers to it may stay for the whole run; its bytes need not.
        self.data = self.lost = bytearray()
        self.ids = self.open = None
        self.pointers = {}


class Pointer(NamedTuple):
    """A pointer: ``offset`` bytes from the start of an allocation, perhaps outside of it.

    One without an allocation points into `NOWHERE`, and its offset is the address.
    """

    memory: AnyMemory
    offset: int


NOWHERE = Memory("no allocation", 0, PAGE, None, written=True)
NULL = Pointer(NOWHERE, 0)


def poison_at(memory: AnyMemory, place: int) -> int:
    """Return the id of the poison of a byte."""
    ids = memory.ids
    return memory.unwritten if ids is None else int(ids[place]) or memory.unwritten


# --- addresses --------------------------------------------------------------------------------------------------------


class _Addresses(NamedTuple):
    """The addresses that a run knows, ascending, and the memory at each."""

    starts: list[int]
    memories: list[AnyMemory]


def address_of(run: Run, pointer: Pointer) -> int:
    """Return the address of a pointer, modulo 2**64. That of an allocation stays the same for the whole run."""
    memory, offset = pointer
    if memory is NOWHERE:
        return offset & ADDRESS_MASK
    table = _table(run)
    start = memory.start
    if start is None:
        after = _FIRST_ADDRESS
        if table.starts:
            after = table.starts[-1] + table.memories[-1].size
        start = memory.start = address_after(after, memory.alignment)
    index = bisect_left(table.starts, start)
    if table.starts[index : index + 1] != [start]:
        table.starts.insert(index, start)
        table.memories.insert(index, memory)
    return start + offset & ADDRESS_MASK


def address_after(end: int, alignment: int) -> int:
    """Return an address at least a page after another, a multiple of an alignment and of no larger power of two."""
    return -(-(end + PAGE) // (2 * alignment)) * 2 * alignment + alignment


def pointer_at(run: Run, address: int) -> Pointer:
    """Return the pointer with an address: into the allocation that it lies in, or at the end of, if the program has
    asked for an address of that.
    """
    table = _table(run)
    index = bisect_right(table.starts, address) - 1
    if index >= 0 and address <= table.starts[index] + table.memories[index].size:
        return Pointer(table.memories[index], address - table.starts[index])
    return Pointer(NOWHERE, address)


def _table(run: Run) -> _Addresses:
    table: Any = run.kept.get("llvm addresses")
    if table is None:
        table = run.kept["llvm addresses"] = _Addresses([], [])
    return table  # type: ignore[no-any-return]
