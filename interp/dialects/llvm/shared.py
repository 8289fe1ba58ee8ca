"""Memory that memrefs and pointers share, as between two passes of which only one has lowered its ops.

`builtin.unrealized_conversion_cast` from a memref to the struct of its descriptor gives pointers into the allocation of
the memref itself: what a pointer stores, a load from the memref sees, and the other way round. Poison stays where the
allocation keeps it, for whole elements. The cast back gives a memref of that allocation. Memory that the program got as
bytes, by malloc or alloca, becomes an allocation of elements at the first such cast, and its pointers stay valid.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.dialects.llvm import layout
from halfulp.interp.dialects.llvm.library import descriptor_in, descriptor_type
from halfulp.interp.dialects.llvm.lowering import lowered, lowered_type, raised
from halfulp.interp.dialects.llvm.memory import (
    ADDRESS_MASK,
    CALLER_ALIGNMENT,
    UNWRITTEN,
    AnyMemory,
    Memory,
    Pointer,
)
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import UndefinedBehavior, Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import SlotConversion
from halfulp.interp.run.slots import lift, lower
from halfulp.interp.values.buffers import Allocation, Buffer, of_bytes
from halfulp.interp.values.memory_views import Rest
from halfulp.interp.values.memref_layout import spanned
from halfulp.semantics.poison import Origin, Origins

_SHARED = "llvm memory of memrefs"
_THE_LONG_WAY = -1
"""The end of memory to which no access is quick."""


class _OfElements:
    """Marks of the elements of an allocation, of ``size`` bytes each, read and written by the places of bytes.

    ``name``: the slot that has them.
    """

    def __init__(self, allocation: Allocation, name: str, size: int) -> None:
        self._allocation, self._name, self.size = allocation, name, size

    @property
    def marks(self) -> npt.NDArray[Any]:
        """The marks, one after the other."""
        found: npt.NDArray[Any] = getattr(self._allocation, self._name)
        return found.reshape(-1)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of a mark."""
        return self.marks.dtype

    def _elements(self, where: slice) -> tuple[int, int, int, int]:
        start, stop, _ = where.indices(len(self.marks) * self.size)
        return start, stop, start // self.size, -(-stop // self.size)

    def __getitem__(self, where: int | slice) -> Any:
        if not isinstance(where, slice):
            return self.marks[where // self.size]
        start, stop, first, last = self._elements(where)
        return np.repeat(self.marks[first:last], self.size)[start - first * self.size : stop - first * self.size]

    def __setitem__(self, where: slice, given: Any) -> None:
        start, _, first, last = self._elements(where)
        if np.ndim(given):
            places = np.maximum(np.arange(first, last) * self.size - start, 0)
            given = given[places]
        self.marks[first:last] = given


class _Lost:
    """The masks of the poisoned bits of each byte: all bits of an element, or none."""

    def __init__(self, memory: SharedMemory) -> None:
        self._memory = memory

    def __getitem__(self, where: slice) -> bytes:
        ids = self._memory.ids
        if ids is None:
            start, stop, _ = where.indices(self._memory.size)
            return bytes(stop - start)
        return np.where(ids[where] != 0, np.uint8(255), np.uint8(0)).tobytes()

    def __setitem__(self, where: slice, given: bytes) -> None:
        """Raises Unsupported if only a part of an element is, or was, poison."""
        memory = self._memory
        lost = np.frombuffer(given, np.uint8) != 0
        if memory.ids is None and not lost.any():
            return
        ids = memory.ids_to_write(memory.origins)
        start, stop, _ = where.indices(memory.size)
        whole = start % ids.size == stop % ids.size == 0
        rows = lost.reshape(-1, ids.size) if whole else lost
        if (not whole and (rows.any() or ids[where].any())) or (whole and (rows.any(1) != rows.all(1)).any()):
            raise Unsupported("a pointer writes a part of an element of a memref that is poison")
        ids[where] = np.where(lost, np.uint16(memory.unwritten), np.uint16(0))


class SharedMemory:
    """The allocation of memrefs, as pointers see it. ``number``: the type of the numbers that have marks. ``size``: its
    bytes, unless these are all bytes of the elements.
    """

    def __init__(self, allocation: Allocation, number: ty.Type, size: int | None = None) -> None:
        self.allocation, self.number, self._element = allocation, number, layout.size_of(lowered_type(number))
        self.source, self.alignment = allocation.source, CALLER_ALIGNMENT
        self.data: Any = memoryview(allocation.bits.reshape(-1)).cast("B")[:size]  # type: ignore[arg-type]
        self.lost = _Lost(self)
        self.size, self.end = len(self.data), _THE_LONG_WAY
        self.start: int | None = None
        self.function: Operation | None = None
        self.pointers: dict[int, Pointer] = {}
        self._rest: dict[int, Allocation] = {0: allocation}

    def rest(self, first: int) -> Allocation:
        """Return the memory from an element on, the same each time."""
        if first not in self._rest:
            self._rest[first] = Rest(self.allocation, first)
        return self._rest[first]

    @property
    def origins(self) -> Origins:
        """The table of the ids of poison."""
        if self.allocation.origins is None:
            self.allocation.origins = Origins()
        return self.allocation.origins

    @property
    def unwritten(self) -> int:
        """The id of poison that is not told apart."""
        return self.origins.id_of(Origin("memory", "", f"{UNWRITTEN}: {self.source}"))

    @property
    def ids(self) -> _OfElements | None:
        """The ids of the poison of each byte; None where nothing is poison."""
        return None if self.allocation.poison is None else _OfElements(self.allocation, "poison", self._element)

    @property
    def open(self) -> _OfElements | None:
        """The marks of each byte: of unspecified values, or their lineage."""
        return None if self.allocation.open is None else _OfElements(self.allocation, "open", self._element)

    @property
    def freed(self) -> str | None:
        """The op that freed it and its place."""
        return self.allocation.freed

    @property
    def constant(self) -> bool:
        """True if it must not be written."""
        return self.allocation.constant

    def adopted(self, origins: Origins) -> None:
        """See `AnyMemory.adopted`."""
        if self.allocation.origins is not origins:
            self.allocation.adopted(origins)

    def ids_to_write(self, origins: Origins) -> _OfElements:
        """See `AnyMemory.ids_to_write`."""
        self.adopted(origins)
        memory = self.allocation
        if memory.poison is None:
            memory.poison = np.zeros((len(memory), *memory.inner), np.uint16)
        return _OfElements(memory, "poison", self._element)

    def mark_open(self, place: int, size: int, mark: Any) -> None:
        """See `AnyMemory.mark_open`."""
        memory = self.allocation
        if memory.open is None:
            memory.open = np.zeros((len(memory), *memory.inner), mark.dtype)
        _OfElements(memory, "open", self._element)[place : place + size] = mark

    def forget(self) -> None:
        """See `AnyMemory.forget`."""
        self.lost[:] = b"\xff" * self.size
        if self.allocation.open is not None:
            self.allocation.open[...] = 0

    def release(self, by: str) -> None:
        """See `AnyMemory.release`."""
        self.allocation.freed = by


def pointer_to(run: Run, buffer: Buffer) -> Pointer:
    """Return the pointer to the memory of a buffer, the same in the whole run. Raises Unsupported."""
    known = _known(run)
    pointer = known.get(id(buffer.allocation))
    if pointer is None:
        number = _marked(buffer.type.element)
        if type(buffer.allocation) is not Allocation or not _fills_its_bytes(number) or buffer.mapped is not None:
            raise Unsupported(f"memory of type '{buffer.type}' is not shared by memrefs and pointers")
        pointer = known[id(buffer.allocation)] = Pointer(SharedMemory(buffer.allocation, number), 0)
        pointer.memory.adopted(run.origins)
    return pointer


def _known(run: Run) -> dict[int, Pointer]:
    """The pointer to each allocation that pointers see, by the allocation's identity."""
    found: dict[int, Pointer] = run.kept.setdefault(_SHARED, {})
    return found


def _marked(element: ty.Type) -> ty.Type:
    """Return the type of the numbers in an element that have a mark each; a complex number has one for both parts."""
    return element.element if isinstance(element, ty.VectorType) else element


def _fills_its_bytes(number: ty.Type) -> bool:
    """Tell whether the numbers of a type lie in memory without bytes between them."""
    type_ = lowered_type(number.element if isinstance(number, ty.ComplexType) else number)
    return layout.stored_bytes(type_) == layout.size_of(type_)


def memref_of(run: Run, slot: Any, type_: ty.MemRefType) -> Buffer:
    """Return the memref that the struct of a descriptor stands for.

    Raises UndefinedBehavior for one that is poison or leaves its memory, Unsupported.
    """
    found = descriptor_in(slot, len(type_.shape or ()))
    if found is None or found.aligned.__class__ is not Pointer:
        raise UndefinedBehavior("a part of the descriptor of a memref is poison")
    memory, place = found.aligned
    size = layout.size_of(lowered_type(type_.element))
    first, spare = divmod(place, size)
    low, high = spanned(found.sizes, found.strides, found.offset)
    if min(found.sizes, default=0) < 0 or place + low * size < 0 or place + high * size > memory.size:
        raise UndefinedBehavior(f"a memref leaves the {memory.size} bytes of {memory.source}")
    if spare or first < 0 or low < 0:
        raise Unsupported(f"a memref of type '{type_}' begins in the midst of {memory.source}")
    allocation = _elements_of(run, memory, type_.element).rest(first)
    _known(run)[id(allocation)] = found.aligned
    buffer = Buffer(type_, allocation, found.offset, found.sizes, found.strides)
    conflict = buffer.conflict(type_)
    if conflict:
        raise UndefinedBehavior(f"the descriptor of a memref is not that of its type: {conflict}")
    return buffer


def _elements_of(run: Run, memory: AnyMemory, element: ty.Type) -> SharedMemory:
    """Return memory as elements; what is memory of bytes becomes memory of elements. Raises Unsupported."""
    seen = memory
    if isinstance(memory, Memory):
        if memory.shared is None:
            memory.share(_as_elements(run, memory, element))
        assert memory.shared is not None
        seen = memory.shared
    assert isinstance(seen, SharedMemory)
    given, wanted = seen.number, _marked(element)
    if given != wanted and not (_is_plain(given) and _is_plain(wanted) and ty.width_of(given) == ty.width_of(wanted)):
        raise Unsupported(f"{memory.source} has elements of type '{given}', and is seen as '{element}'")
    return seen


def _is_plain(element: ty.Type) -> bool:
    return isinstance(element, ty.IntegerType | ty.IndexType | ty.FloatType)


def _as_elements(run: Run, memory: Memory, element: ty.Type) -> SharedMemory:
    """Make an allocation of elements that has what memory of bytes has. Raises Unsupported."""
    if not _is_plain(element) or not _fills_its_bytes(element) or memory.freed or memory.function or memory.pointers:
        raise Unsupported(f"{memory.source} is not seen as elements of type '{element}'")
    memory.adopted(run.origins)
    size = layout.size_of(lowered_type(element))
    allocation = Allocation(element, -(-memory.size // size), memory.source)

    def rows(given: Any) -> npt.NDArray[Any]:
        """Return what the bytes have, with a row for each element."""
        padded = np.zeros(len(allocation) * size, given.dtype)
        padded[: memory.size] = given
        return padded.reshape(-1, size)

    mask = np.frombuffer(((1 << ty.width_of(element)) - 1).to_bytes(size, "little"), np.uint8)
    data, lost = (rows(np.frombuffer(each, np.uint8)) & mask for each in (memory.data, memory.lost))
    poison = lost.any(1)
    if (lost[poison] != mask).any():
        raise Unsupported(f"a part of an element of {memory.source} is poison")
    allocation.bits[...] = data.view(allocation.bits.dtype).reshape(allocation.bits.shape)
    # Both kinds of marks exist from now on, so that neither side makes its own.
    ids = np.uint16(memory.unwritten) if memory.ids is None else rows(memory.ids).max(1)
    allocation.poison = np.where(poison, np.where(ids == 0, memory.unwritten, ids), 0).astype(np.uint16)
    unmarked = np.zeros(len(allocation), np.uint8 if run.settings.recorder is None else np.int64)
    allocation.open = unmarked if memory.open is None else of_bytes(rows(memory.open))
    allocation.origins = run.origins
    if memory.constant:
        allocation.freeze()
    return SharedMemory(allocation, element, memory.size)


def descriptor(run: Run, buffer: Buffer) -> tuple[Any, ...]:
    """Return the struct of the descriptor of a memref, as a slot holds it. Raises Unsupported."""
    start = pointer_to(run, buffer)
    numbers = [tuple([each & ADDRESS_MASK for each in group]) for group in (buffer.shape, buffer.strides)]
    return (Pointer(start.memory, 0), start, buffer.offset & ADDRESS_MASK, *(numbers if buffer.shape else ()))


def conversion(source: ty.Type, target: ty.Type) -> SlotConversion | None:
    """Return the conversion between a value and its form in the llvm dialect, both ways: of a memref and the struct of
    its descriptor, of numbers, and of vectors. None for other types.
    """
    if isinstance(source, ty.MemRefType) and source.shape is not None:
        if target != descriptor_type(len(source.shape)):
            return None
        return SlotConversion(lambda run, slots: (descriptor(run, slots[0]),))
    if isinstance(target, ty.MemRefType) and target.shape is not None:
        if source != descriptor_type(len(target.shape)):
            return None
        return SlotConversion(lambda run, slots: (memref_of(run, slots[0], target),))
    if _is_lowered(source, target):
        return SlotConversion(lambda run, slots: (lowered(lift(slots[0], source)),))
    if _is_lowered(target, source):
        return SlotConversion(lambda run, slots: (lower(raised(slots[0], target)),))
    return None


def _is_lowered(type_: ty.Type, target: ty.Type) -> bool:
    kinds = (ty.VectorType, ty.ComplexType, ty.IndexType, ty.IntegerType, ty.FloatType)
    scalable = isinstance(type_, ty.VectorType) and any(type_.scalable)
    known = isinstance(type_, kinds) and isinstance(ty.element_type(type_), kinds)
    return known and not scalable and lowered_type(type_) == target
