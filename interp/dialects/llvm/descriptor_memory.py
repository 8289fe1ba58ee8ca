"""Memory that memrefs and pointers share. Programs have such memory after a pass has lowered only some of the ops.

`builtin.unrealized_conversion_cast` from a memref to the struct of its descriptor gives pointers into the allocation of
the memref itself. A load from the memref returns what was stored through a pointer, and the other way round. Poison
stays where the allocation keeps it, for whole elements. The cast back gives a memref of that allocation. Memory that
the program got as bytes, by malloc or alloca, becomes an allocation of elements at the first such cast, and its
pointers stay valid.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.dialects.llvm import memory_encoding
from halfulp.interp.dialects.llvm.lowering import descriptor_in, descriptor_type, lowered, lowered_type, raised
from halfulp.interp.dialects.llvm.memory import ADDRESS_MASK, CALLER_ALIGNMENT, UNWRITTEN, Memory, Pointer
from halfulp.interp.dialects.llvm.memory_encoding import SPARE
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.errors import UndefinedBehavior, Unsupported
from halfulp.interp.run.frames import Run, lift, lower
from halfulp.interp.run.settings import SlotConversion
from halfulp.interp.values.buffers import Allocation, Buffer, MemoryFrom, of_bytes, vector_shape
from halfulp.interp.values.memref_layout import spanned
from halfulp.semantics.kernel import Origin, Origins

_SHARED = "llvm memory of memrefs"
_THE_LONG_WAY = -1
"""The end of memory to which no access is quick."""


class _OfElements:
    """Marks of the elements of an allocation, of ``size`` bytes each, read and written by the positions of bytes.

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
        start, stop, first, last = self._elements(where)
        marks = self.marks
        if np.ndim(given):
            places = np.maximum(np.arange(first, last) * self.size - start, 0)
            given = given[places]
        # What is unspecified in an element stays so where only a part is written. Other marks are of whole elements.
        parts = [place for place, cut in ((first, start % self.size), (last - 1, stop % self.size)) if cut]
        kept = marks[parts]
        marks[first:last] = given
        if marks.dtype == np.uint8:
            marks[parts] |= kept


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


class _Narrow:
    """The bytes of elements that are narrower than their bytes. Pointers write no bits beyond the width."""

    def __init__(self, data: memoryview, number: ty.Type, size: int) -> None:
        self._data, self._size = data, size
        self._spare = ~_own_bits(number, size)

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, where: Any) -> Any:
        return self._data[where]

    def __setitem__(self, where: slice, given: Any) -> None:
        """Raises Unsupported for bits beyond the width of an element."""
        start, stop, _ = where.indices(len(self._data))
        if (np.frombuffer(given, np.uint8) & self._spare[np.arange(start, stop) % self._size]).any():
            raise Unsupported("a pointer writes bits beyond the width of an element of a memref")
        self._data[where] = given


def _own_bits(number: ty.Type, size: int) -> npt.NDArray[np.uint8]:
    """Return, for each byte of a number of ``size`` bytes, the mask of the bits that the number uses."""
    return np.frombuffer(((1 << ty.width_of(number)) - 1).to_bytes(size, "little"), np.uint8)


class SharedMemory(Memory):
    """The allocation of memrefs, as pointers see it. ``number``: the type of the numbers that have marks. ``size``: the
    number of bytes, if it differs from that of all elements.
    """

    def __init__(self, allocation: Allocation, number: ty.Type, size: int | None = None) -> None:
        self.allocation, self.number, self._element = allocation, number, memory_encoding.size_of(lowered_type(number))
        self.source, self.alignment = allocation.source, CALLER_ALIGNMENT
        data = memoryview(allocation.bits.reshape(-1)).cast("B")[:size]  # type: ignore[arg-type]
        narrow = _is_plain(number) and ty.width_of(number) < 8 * self._element
        self.data = _Narrow(data, number, self._element) if narrow else data
        self.lost = _Lost(self)
        self.size, self.end = len(self.data), _THE_LONG_WAY
        self.start = self.function = None
        self.pointers = {}
        self._rest: dict[int, Allocation] = {0: allocation}

    def rest(self, first: int) -> Allocation:
        """Return the memory from the element number ``first`` on. Each call for the same element returns the same
        object.
        """
        if first not in self._rest:
            self._rest[first] = MemoryFrom(self.allocation, first)
        return self._rest[first]

    @property
    def origins(self) -> Origins:  # type: ignore[override]
        """The table of the ids of poison."""
        if self.allocation.origins is None:
            self.allocation.origins = Origins()
        return self.allocation.origins

    @property
    def unwritten(self) -> int:  # type: ignore[override]
        """The id of the poison of memory that was never written."""
        return self.origins.id_of(Origin("memory", "", f"{UNWRITTEN}: {self.source}"))

    @property
    def ids(self) -> _OfElements | None:
        """The ids of the poison of each byte; None if nothing is poison."""
        return None if self.allocation.poison is None else _OfElements(self.allocation, "poison", self._element)

    @property
    def open(self) -> _OfElements | None:
        """The marks of each byte: of unspecified values, or their lineage."""
        return None if self.allocation.open is None else _OfElements(self.allocation, "open", self._element)

    @property
    def freed(self) -> str | None:  # type: ignore[override]
        """The op that freed the memory, and its place; None if it is not freed."""
        return self.allocation.freed

    @property
    def constant(self) -> bool:  # type: ignore[override]
        """True if the memory must not be written."""
        return self.allocation.constant

    def adopted(self, origins: Origins) -> None:
        """Use this table for the origins of poison from now on, as `Memory.adopted` does."""
        if self.allocation.origins is not origins:
            self.allocation.adopted(origins)

    def ids_to_write(self, origins: Origins) -> _OfElements:
        """Return the ids of the poison of each byte in an array that may be written to, as
        `Memory.ids_to_write` does.
        """
        self.adopted(origins)
        memory = self.allocation
        if memory.poison is None:
            memory.poison = np.zeros((len(memory), *memory.inner), np.uint16)
        return _OfElements(memory, "poison", self._element)

    def mark_open(self, place: int, size: int, mark: Any) -> None:
        """Record for some bytes whether their values are unspecified, or their lineage, as `Memory.mark_open` does."""
        memory = self.allocation
        if memory.open is None:
            memory.open = np.zeros((len(memory), *memory.inner), mark.dtype)
        _OfElements(memory, "open", self._element)[place : place + size] = mark

    def forget(self) -> None:
        """Make the memory as if it had never been written, as `Memory.forget` does."""
        self.lost[:] = b"\xff" * self.size
        if self.allocation.open is not None:
            self.allocation.open[...] = 0

    def release(self, by: str) -> None:
        """Free the memory, as `Memory.release` does. Its elements are dropped, though memrefs of it may still exist."""
        self.allocation.freed = by
        for each in self._rest.values():
            each.bits = each.bits[:1].copy()
        self.allocation.poison = self.allocation.open = None
        self.data, self.size = memoryview(b""), 0


def pointer_to(run: Run, buffer: Buffer) -> Pointer:
    """Return the pointer to the memory of a buffer. In one run, a buffer always has the same pointer.

    Raises Unsupported if elements leave gaps in their bytes, if the layout of the memref is a map, or
    if the memory belongs to a lane or is viewed as other elements.
    """
    known, allocation, element = _known(run), buffer.allocation, buffer.type.element
    if id(allocation) not in known:
        if type(allocation) is not Allocation or not _fills_its_bytes(element) or buffer.mapped is not None:
            raise Unsupported(f"memrefs and pointers cannot share memory of type '{buffer.type}'")
        memory = SharedMemory(allocation, _marked(element))
        memory.adopted(run.origins)
        known[id(allocation)] = allocation, Pointer(memory, 0)
    return known[id(allocation)][1]


def _known(run: Run) -> dict[int, tuple[Allocation, Pointer]]:
    """The allocations that pointers see, each by its identity, with the pointer to it."""
    found: dict[int, tuple[Allocation, Pointer]] = run.kept.setdefault(_SHARED, {})
    return found


def _marked(element: ty.Type) -> ty.Type:
    """Return the type of those numbers in an element that have one mark each; a complex number has one for both
    parts.
    """
    return element.element if isinstance(element, ty.VectorType) else element


def _fills_its_bytes(element: ty.Type) -> bool:
    """Tell whether elements of a type, and the numbers in them, lie in memory without gaps."""
    number = ty.number_type(element)
    return all(
        memory_encoding.stored_bytes(type_) == memory_encoding.size_of(type_)
        for type_ in map(lowered_type, (element, number))
    )


def memref_of(run: Run, slot: Any, type_: ty.MemRefType) -> Buffer:
    """Return the memref that the struct of a descriptor describes.

    Raises UndefinedBehavior for a descriptor that is poison or that leaves its memory, and Unsupported.
    """
    found = descriptor_in(slot, len(type_.shape or ()))
    if found is None or found.aligned.__class__ is not Pointer:
        raise UndefinedBehavior("a part of the descriptor of a memref is poison")
    memory, place = found.aligned
    size = memory_encoding.size_of(lowered_type(type_.element))
    first, spare = divmod(place, size)
    low, high = spanned(found.sizes, found.strides, found.offset)
    if 0 in found.sizes:
        allocation = Allocation(type_.element, 0, memory.source)
    elif min(found.sizes, default=0) < 0 or place + low * size < 0 or place + high * size > memory.size:
        raise UndefinedBehavior(f"a memref leaves the {memory.size} bytes of {memory.source}")
    elif spare or first < 0 or low < 0:
        raise Unsupported(f"a memref of type '{type_}' does not begin at an element of {memory.source}")
    else:
        allocation = _elements_of(run, memory, type_.element).rest(first)
    _known(run)[id(allocation)] = allocation, found.aligned
    buffer = Buffer(type_, allocation, found.offset, found.sizes, found.strides)
    conflict = buffer.conflict(type_)
    if conflict:
        raise UndefinedBehavior(f"the descriptor of a memref is not that of its type: {conflict}")
    return buffer


def _elements_of(run: Run, memory: Memory, element: ty.Type) -> SharedMemory:
    """Return memory as elements; memory of bytes becomes memory of elements.

    Raises Unsupported if the memory has elements of another kind, and the errors of `_as_elements`.
    """
    if not isinstance(memory, SharedMemory) and memory.shared is None:
        memory.share(_as_elements(run, memory, element))
    seen = narrowed(memory if isinstance(memory, SharedMemory) else memory.shared, SharedMemory)
    given, wanted = seen.number, _marked(element)
    alike = _is_plain(given) and _is_plain(wanted) and ty.width_of(given) == ty.width_of(wanted)
    if seen.allocation.inner != vector_shape(element) or not (given == wanted or alike):
        raise Unsupported(f"{memory.source} has other elements than '{element}'")
    return seen


def _is_plain(element: ty.Type) -> bool:
    return isinstance(element, ty.IntegerType | ty.IndexType | ty.FloatType)


def _as_elements(run: Run, memory: Memory, element: ty.Type) -> SharedMemory:
    """Make an allocation of elements with the contents of memory of bytes.

    Raises Unsupported for a type whose elements are not plain numbers without gaps, for memory that was freed or that
    contains pointers, and for an element of which only a part is poison.
    """
    if not _is_plain(element) or not _fills_its_bytes(element) or memory.freed or memory.function or memory.pointers:
        raise Unsupported(f"{memory.source} cannot be read as elements of type '{element}'")
    memory.adopted(run.origins)
    size = memory_encoding.size_of(lowered_type(element))
    allocation = Allocation(element, -(-memory.size // size), memory.source)

    def rows(given: Any, beyond: int = 0) -> npt.NDArray[Any]:
        """Return the content of the bytes, with a row for each element. ``beyond``: the content of bytes after the last
        one.
        """
        padded = np.full(len(allocation) * size, beyond, given.dtype)
        padded[: memory.size] = given
        return padded.reshape(-1, size)

    own = _own_bits(element, size)
    data, lost = rows(np.frombuffer(memory.data, np.uint8)), rows(np.frombuffer(memory.lost, np.uint8), 255) & own
    poison, spare = lost.any(1), (data & ~own).any(1)
    if (lost[poison] != own).any():
        raise Unsupported(f"a part of an element of {memory.source} is poison")
    allocation.bits[...] = (data & own).view(allocation.bits.dtype).reshape(allocation.bits.shape)
    # Both kinds of marks exist from now on, so that neither side makes its own.
    ids = np.uint16(memory.unwritten) if memory.ids is None else rows(memory.ids).max(1)
    ids = np.where(poison, np.where(ids == 0, memory.unwritten, ids), np.where(spare, run.origins.id_of(SPARE), 0))
    allocation.poison = ids.astype(np.uint16)
    recorder = run.settings.recorder
    unmarked = np.zeros(len(allocation), np.uint8 if recorder is None else recorder.mark_type)
    allocation.open = unmarked if memory.open is None else of_bytes(rows(memory.open))
    allocation.origins = run.origins
    if memory.constant:
        allocation.freeze()
    return SharedMemory(allocation, element, memory.size)


def descriptor(run: Run, buffer: Buffer) -> tuple[Any, ...]:
    """Return the struct of the descriptor of a memref, as a slot holds it. Raises the errors of `pointer_to`."""
    start = pointer_to(run, buffer)
    numbers = [tuple([each & ADDRESS_MASK for each in group]) for group in (buffer.shape, buffer.strides)]
    return (Pointer(start.memory, 0), start, buffer.offset & ADDRESS_MASK, *(numbers if buffer.shape else ()))


def conversion(source: ty.Type, target: ty.Type) -> SlotConversion | None:
    """Return the functions that convert values of ``source`` to values of ``target`` and back; None for other types
    than these: a memref and the struct of its descriptor, numbers, and vectors. One of the types is of the llvm
    dialect.
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
