"""Memory of bytes, and pointers into it: an allocation and an offset.

Each alloca, malloc and global is one allocation. It gets an address when a program first asks for it. Two allocations
never touch, so each address belongs to one allocation only. An allocation begins at a multiple of the alignment that it
was made with, and of no larger power of two, so that an access that needs more is noticed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from halfulp.interp.dialects.llvm import types as llvm
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported, spell_place
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import code_layout, runtime_shape
from halfulp.interp.run.frames import Function, Run, lower
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.elements import Marks
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin, Origins

PAGE = 4096
_FIRST_ADDRESS = 1 << 40
ADDRESS_MASK = (1 << 64) - 1
MALLOC_ALIGNMENT = 16
"""The alignment that malloc guarantees."""
CALLER_ALIGNMENT = PAGE
"""The alignment of the memory of arguments and of memrefs. Programs assume one of it (`memref.assume_alignment`)."""
UNWRITTEN = "a byte of memory was never written"


class Memory:
    """One allocation: bytes, each with a mask of its bits that are poison.

    source: what made it, and its place. alignment: the bytes of which its address is a multiple. data: the bytes. lost:
    for each byte the mask of its poisoned bits. ids: None, or for each byte the id of the origin of its poison in the
    table ``origins``; None means that all poison has the id ``unwritten``. open: None, or for each byte the mask of
    unspecified values or the lineage. pointers: those that were stored, by their place. end: the size while it can be
    used, -1 after it was freed or shared. freed: the op that freed it and its place. constant: True if it must not be
    written. function: the function whose address this is. start: the address, after a program has asked for it. shared:
    None, or the memory that memrefs use and that holds the bytes of this one.
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
        self.data: Any = bytearray(size)
        self.lost: Any = bytearray(size) if written else bytearray(b"\xff") * size
        self.ids: Any = None
        self.open: Any = None
        self.origins = Origins() if origins is None else origins
        self.unwritten = 0 if written else self.origins.id_of(Origin("memory", "", f"{UNWRITTEN}: {source}"))
        self.pointers: dict[int, Pointer] = {}
        self.freed: str | None = None
        self.constant = False
        self.function: Operation | None = None
        self.shared: Memory | None = None

    def share(self, memory: Memory) -> None:
        """From now on, use the bytes of ``memory``, which has the same size. Its ``ids`` and ``open`` must exist; they
        are not changed.
        """
        self.shared, self.end = memory, memory.end
        self.data, self.lost, self.ids, self.open = memory.data, memory.lost, memory.ids, memory.open

    def adopted(self, origins: Origins) -> None:
        """From now on, number the origins of poison as the table ``origins`` of a run does: the ids of one run have one
        table.
        """
        if origins is not self.origins:
            if self.shared is not None:
                self.shared.adopted(origins)
            elif self.ids is not None:
                self.ids = origins.adopt(self.ids, self.origins)
            if self.unwritten:
                self.unwritten = origins.id_of(self.origins[self.unwritten])
            self.origins = origins

    def ids_to_write(self, origins: Origins) -> Any:
        """Return the ids of the poison of each byte, in this table, in an array that may be written to."""
        self.adopted(origins)
        if self.ids is None:
            self.ids = np.full(self.size, self.unwritten, np.uint16)
        return self.ids

    def mark_open(self, place: int, size: int, mark: Marks | np.integer[Any]) -> None:
        """Record for some bytes whether their values are unspecified, or their lineage."""
        if self.open is None:
            self.open = np.zeros(self.size, mark.dtype)
        self.open[place : place + size] = mark

    def forget(self) -> None:
        """Make the whole memory as if it had never been written."""
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

    A pointer without an allocation points into `NOWHERE`, and its offset is the address.
    """

    memory: Memory
    offset: int


NOWHERE = Memory("no allocation", 0, PAGE, None, written=True)
NULL = Pointer(NOWHERE, 0)


def poison_at(memory: Memory, place: int) -> int:
    """Return the id of the origin of the poison of one byte."""
    ids = memory.ids
    return memory.unwritten if ids is None else int(ids[place]) or memory.unwritten


# --- addresses --------------------------------------------------------------------------------------------------------


class _Addresses(NamedTuple):
    """The addresses that a run knows, ascending, and the memory at each."""

    starts: list[int]
    memories: list[Memory]


def address_of(run: Run, pointer: Pointer) -> int:
    """Return the address of a pointer, modulo 2**64. The address of an allocation stays the same for the whole run."""
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
    """Return an address at least a page after ``end``. It is a multiple of ``alignment``, and not of a larger power of
    two.
    """
    return -(-(end + PAGE) // (2 * alignment)) * 2 * alignment + alignment


def pointer_at(run: Run, address: int) -> Pointer:
    """Return the pointer with an address. It points into the allocation that contains the address or ends there, if the
    program has asked for an address of that allocation.
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


# --- aggregates -------------------------------------------------------------------------------------------------------
#
# Structs and arrays as values: nested tuples of what slots hold, so that each element has poison of its own.

Leaf = Callable[[ty.Type], Any]
_MOST_PARTS = 1 << 20


def part_types(type_: ty.Type) -> Sequence[ty.Type] | None:
    """Return the types of the elements of an aggregate; None for any other type."""
    if isinstance(type_, llvm.ArrayType):
        return (type_.element,) * type_.size
    if isinstance(type_, llvm.StructType) and type_.body is not None:
        return type_.body
    return None


def _leaves(type_: ty.Type) -> int:
    if isinstance(type_, llvm.ArrayType):
        return type_.size * _leaves(type_.element)
    parts = part_types(type_)
    return 1 if parts is None else sum(map(_leaves, parts))


def filled(type_: ty.Type, leaf: Leaf, each: bool = False) -> Any:
    """Return a value of an aggregate type. ``leaf``: makes each of its parts that is not an aggregate, from the type of
    the part. ``each``: ``leaf`` is called for each such part in order, not once for a whole array. Raises Unsupported.
    """
    if _leaves(type_) > _MOST_PARTS:
        raise Unsupported(f"a value of type '{type_}' has more than {_MOST_PARTS} elements")
    return _filled(type_, leaf, each)


def _filled(type_: ty.Type, leaf: Leaf, each: bool) -> Any:
    parts = part_types(type_)
    if parts is None:
        return leaf(type_)
    if isinstance(type_, llvm.ArrayType) and not each:
        return (_filled(type_.element, leaf, each),) * type_.size if type_.size else ()
    return tuple([_filled(part, leaf, each) for part in parts])


# --- values of one kind -----------------------------------------------------------------------------------------------


def zero_of(type_: ty.Type, settings: Settings) -> Any:
    """Return the value of a type whose bits are all 0, as a slot holds it."""
    if isinstance(type_, llvm.PointerType):
        return NULL
    shape = runtime_shape(type_, settings.vscale)
    element = ty.element_type(type_)
    if shape is None or not isinstance(element, ty.IntegerType | ty.FloatType):
        raise Unsupported(f"halfulp does not run values of type '{type_}'")
    dtype, trailing = code_layout(element)
    return lower(Value(type_, np.zeros((*(size or 0 for size in shape), *trailing), dtype)))


def poison_of(type_: ty.Type, poison_id: int, run: Run) -> Value:
    """Return a value of a type in which all elements are poison with this id."""
    shape = runtime_shape(type_, run.settings.vscale)
    if shape is None:
        raise Unsupported(f"a poison value of type '{type_}' has no shape at run time")
    sizes = tuple(size or 0 for size in shape)
    check_allocation(type_, sizes, run.settings)
    dtype, trailing = code_layout(ty.element_type(type_))
    ids = np.full(sizes, poison_id, np.uint16)
    return Value(type_, np.zeros(sizes + trailing, dtype), ids if ids.size else None, None, run.origins)


def born(op: Operation, run: Run, reason: str) -> int:
    """Make new poison at an op, tell the listeners, and return its id."""
    origin = Origin(op.name, spell_place(op.location), reason)
    for listener in run.settings.listeners:
        listener.poison_born(op, origin, 1)
    return run.origins.id_of(origin)


def poison(op: Operation, settings: Settings) -> Function:
    """Return the function that runs mlir.poison and mlir.undef of an aggregate."""
    type_ = op.results[0].type

    def make(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        poison_id = born(op, run, "ub.poison")
        return (filled(type_, lambda leaf: poison_of(leaf, poison_id, run)),)

    return make


# --- elements ---------------------------------------------------------------------------------------------------------


def _position(op: Operation) -> tuple[int, ...]:
    return tuple(int(index) for index in op.numbers("position"))


def extract(op: Operation, settings: Settings) -> Function:
    """Return the function that runs extractvalue."""
    position = _position(op)
    if len(position) == 1:
        (only,) = position
        return lambda run, slots: (slots[0][only],)

    def take(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        value = slots[0]
        for index in position:
            value = value[index]
        return (value,)

    return take


def insert(op: Operation, settings: Settings) -> Function:
    """Return the function that runs insertvalue."""
    position = _position(op)
    return lambda run, slots: (_with_part(slots[0], position, slots[1]),)


def _with_part(aggregate: Any, position: tuple[int, ...], part: Any) -> Any:
    if not position:
        return part
    index, *rest = position
    inner = _with_part(aggregate[index], tuple(rest), part)
    return (*aggregate[:index], inner, *aggregate[index + 1 :])
