"""Memory that memrefs and pointers share, as between two passes of which only one has lowered its ops.

`builtin.unrealized_conversion_cast` from a memref to the struct of its descriptor gives pointers into the allocation of
the memref itself: what a pointer stores, a load from the memref sees, and the other way round. Poison stays where the
allocation keeps it, for whole elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.dialects.llvm import layout
from halfulp.interp.dialects.llvm.library import descriptor_type
from halfulp.interp.dialects.llvm.lowering import lowered, lowered_type, raised
from halfulp.interp.dialects.llvm.memory import ADDRESS_MASK, CALLER_ALIGNMENT, UNWRITTEN, Pointer
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import SlotConversion
from halfulp.interp.run.slots import lift, lower
from halfulp.interp.values.buffers import Allocation, Buffer
from halfulp.semantics.poison import Origin, Origins

_SHARED = "llvm memory of memrefs"
_THE_LONG_WAY = -1
"""The end of memory to which no access is quick."""


class _OfElements:
    """Marks of elements of ``size`` bytes, read and written by the places of bytes."""

    def __init__(self, marks: npt.NDArray[Any], size: int) -> None:
        self.marks, self.size, self.dtype = marks.reshape(-1), size, marks.dtype

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
    """The allocation of memrefs, as pointers see it. ``element``: the bytes of an element."""

    def __init__(self, allocation: Allocation, element: int) -> None:
        self.allocation, self._element = allocation, element
        self.source, self.alignment = allocation.source, CALLER_ALIGNMENT
        self.data: Any = memoryview(allocation.bits.reshape(-1)).cast("B")  # type: ignore[arg-type]
        self.lost = _Lost(self)
        self.size, self.end = len(self.data), _THE_LONG_WAY
        self.start: int | None = None
        self.function: Operation | None = None
        self.pointers: dict[int, Pointer] = {}

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
        poison = self.allocation.poison
        return None if poison is None else _OfElements(poison, self._element)

    @property
    def open(self) -> _OfElements | None:
        """The marks of each byte: of unspecified values, or their lineage."""
        marks = self.allocation.open
        return None if marks is None else _OfElements(marks, self._element)

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
        return _OfElements(memory.poison, self._element)

    def mark_open(self, place: int, size: int, mark: Any) -> None:
        """See `AnyMemory.mark_open`."""
        memory = self.allocation
        if memory.open is None:
            memory.open = np.zeros((len(memory), *memory.inner), mark.dtype)
        _OfElements(memory.open, self._element)[place : place + size] = mark

    def forget(self) -> None:
        """See `AnyMemory.forget`."""
        self.lost[:] = b"\xff" * self.size
        self.allocation.open = None

    def release(self, by: str) -> None:
        """See `AnyMemory.release`."""
        self.allocation.freed = by


def memory_of(run: Run, buffer: Buffer) -> SharedMemory:
    """Return the memory of a buffer for pointers, the same in the whole run. Raises Unsupported."""
    known: dict[int, SharedMemory] = run.kept.setdefault(_SHARED, {})
    memory = known.get(id(buffer.allocation))
    if memory is None:
        number = ty.number_type(buffer.type.element)
        number = number.element if isinstance(number, ty.ComplexType) else number
        lowered = lowered_type(number)
        size = layout.size_of(lowered)
        if (
            type(buffer.allocation) is not Allocation
            or layout.stored_bytes(lowered) != size
            or buffer.mapped is not None
        ):
            raise Unsupported(f"memory of type '{buffer.type}' is not shared by memrefs and pointers")
        memory = known[id(buffer.allocation)] = SharedMemory(buffer.allocation, size)
        memory.adopted(run.origins)
    return memory


def descriptor(run: Run, buffer: Buffer) -> tuple[Any, ...]:
    """Return the struct of the descriptor of a memref, as a slot holds it. Raises Unsupported."""
    start = Pointer(memory_of(run, buffer), 0)
    numbers = [tuple([each & ADDRESS_MASK for each in group]) for group in (buffer.shape, buffer.strides)]
    return (start, start, buffer.offset & ADDRESS_MASK, *(numbers if buffer.shape else ()))


def conversion(source: ty.Type, target: ty.Type) -> SlotConversion | None:
    """Return the conversion between a value and its form in the llvm dialect: of a memref to the struct of its
    descriptor, of numbers and vectors both ways. None for other types.
    """
    if isinstance(source, ty.MemRefType) and source.shape is not None:
        if target != descriptor_type(len(source.shape)):
            return None
        return SlotConversion(lambda run, slots: (descriptor(run, slots[0]),))
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
