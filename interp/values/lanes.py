"""Values over lanes: a batch gives a value one more leading axis than its type has, with an entry for each lane.

So all lanes have the same shape, even if the type does not state it. Values over lanes never have an unranked type,
since it would not show the axis. Each lane has memory of its own; the memory of all lanes for one type of elements is
one array.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.types import code_layout
from halfulp.interp.values.buffers import Allocation, Buffer, load_at, store_at
from halfulp.interp.values.elements import rearranged
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origins

# --- lane memory ------------------------------------------------------------------------------------------------------
#
# Memory of the lanes of a batch: each lane has its own, and all of it lies in one array for each kind of elements.

Places = npt.NDArray[np.int64]


class LaneHeap(Allocation):
    """The memory of all lanes for elements of one layout. It grows when more is needed. A part to which nothing refers
    any more is used again.
    """

    __slots__ = ("_freed", "_made", "_spare", "_texts", "_used")

    def __init__(self, element: ty.Type, origins: Origins) -> None:
        super().__init__(element, 1, "a batch")
        self.origins = origins
        self.poison = np.zeros((1, *self.inner), np.uint16)
        self._used = 0
        self._spare: dict[int, list[int]] = {}
        # By the first place of a piece: what freed it, and what made it, as numbers of texts.
        self._freed = np.zeros(1, np.uint16)
        self._made = np.zeros(1, np.uint16)
        self._texts = [""]

    def take(self, lanes: int, size: int, source: str, poison: int = 0) -> Block:
        """Return a block with a piece of ``size`` elements for each lane. ``poison``: the id that every
        element gets.
        """
        size = max(size, 1)
        whole = lanes * size
        free = self._spare.get(whole)
        if free:
            start = free.pop()
        else:
            start = self._used
            self._used += whole
            self._grow()
        self.bits[start : start + whole] = 0
        assert self.poison is not None
        self.poison[start : start + whole] = poison
        if self.open is not None:
            self.open[start : start + whole] = 0
        self._freed[start : start + whole] = 0
        self._made[start : start + whole] = self._text(source)
        return Block(self, start, whole, lanes)

    def _grow(self) -> None:
        missing = self._used - len(self.bits)
        if missing > 0:
            missing = max(missing, len(self.bits))
            self.bits = _longer(self.bits, missing)
            self.poison = _longer(self.poison, missing)
            self.open = None if self.open is None else _longer(self.open, missing)
            self._freed, self._made = _longer(self._freed, missing), _longer(self._made, missing)

    def give_back(self, start: int, whole: int) -> None:
        """Make ``whole`` elements from ``start`` on available to later pieces."""
        self._spare.setdefault(whole, []).append(start)

    def _text(self, text: str) -> int:
        if text not in self._texts:
            self._texts.append(text)
        return self._texts.index(text)

    def freed_by(self, begins: Any) -> Any:
        """Return, for each piece of memory, 0 if it can be used, else the number of the text that names the op that
        freed it. ``begins``: the first elements of the pieces.
        """
        return self._freed[begins]

    def made_by(self, begins: Any) -> Any:
        """Return, for each piece of memory, the number of the text that names the op that made it. ``begins``: the
        first elements of the pieces.
        """
        return self._made[begins]

    def text(self, number: int) -> str:
        """Return the text that has this number."""
        return self._texts[number]

    def free(self, begins: Any, text: str) -> None:
        """Record that pieces of memory were freed. ``begins``: their first elements. ``text``: the op that freed them
        and its place.
        """
        self._freed[begins] = self._text(text)


def _longer(array: Any, count: int) -> Any:
    return np.concatenate([array, np.zeros((count, *array.shape[1:]), array.dtype)])


class Block:
    """The pieces that some lanes took together. When nothing refers to the block any more, its elements are used
    again.
    """

    __slots__ = ("_heap", "begins", "size")

    def __init__(self, heap: LaneHeap, start: int, whole: int, lanes: int) -> None:
        self._heap = heap
        self.size = whole // max(lanes, 1)
        self.begins: Places = np.arange(start, start + whole, max(self.size, 1), dtype=np.int64)

    def __del__(self) -> None:
        if len(self.begins):
            self._heap.give_back(int(self.begins[0]), self.size * len(self.begins))


class LanePart(Allocation):
    """The memory of one lane, for an op that cannot run in lanes. It must not be used after another piece was taken."""

    __slots__ = ("begin", "blocks", "end", "heap")

    def __init__(self, heap: LaneHeap, begin: int, end: int, blocks: tuple[Block, ...]) -> None:
        self.heap = heap
        self.blocks = blocks
        self.inner = heap.inner
        self.log = None
        self.begin = begin
        self.end = end
        self.bits = heap.bits[begin:end]
        self.log = None

    @property
    def poison(self) -> Any:
        """The ids of the origins."""
        assert self.heap.poison is not None
        return self.heap.poison[self.begin : self.end]

    @poison.setter
    def poison(self, mask: Any) -> None:
        self.poison[...] = mask

    @property
    def open(self) -> Any:
        """The mask of unspecified elements, or None."""
        return None if self.heap.open is None else self.heap.open[self.begin : self.end]

    @open.setter
    def open(self, mask: Any) -> None:
        if mask is not None:
            if self.heap.open is None:
                self.heap.open = np.zeros((len(self.heap), *self.inner), mask.dtype)
            self.heap.open[self.begin : self.end] = mask

    @property
    def origins(self) -> Origins | None:
        """The table of the ids."""
        return self.heap.origins

    @origins.setter
    def origins(self, origins: Origins | None) -> None:
        assert origins is self.heap.origins

    @property
    def source(self) -> str:  # type: ignore[override]
        """The op that made the memory."""
        return self.heap.text(int(self.heap.made_by(self.begin)))

    @property
    def constant(self) -> bool:  # type: ignore[override]
        """True if the memory must not be written."""
        return False

    @property
    def freed(self) -> str | None:
        """The op that freed the memory and its place; None while it can be used."""
        number = int(self.heap.freed_by(self.begin))
        return self.heap.text(number) if number else None

    @freed.setter
    def freed(self, text: str | None) -> None:
        assert text is not None
        self.heap.free(self.begin, text)


@dataclass(frozen=True, slots=True, eq=False)
class LaneBuffer:
    """A memref over the lanes of a batch. Each lane views its own memory.

    ``begins``, ``ends``: the bounds of the piece of ``memory`` that each lane views. ``starts``: the places of the
    first elements. ``blocks``: the objects that keep the memory in use.
    """

    type: ty.MemRefType
    memory: LaneHeap
    begins: Places
    ends: Places
    starts: Places
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    is_view: bool
    blocks: tuple[Block, ...]

    @classmethod
    def over(
        cls, type_: ty.MemRefType, memory: LaneHeap, block: Block, offset: int, shape: tuple[int, ...], strides: Any
    ) -> LaneBuffer:
        """Return the memref of lanes whose pieces are those of a block, in its order."""
        begins = block.begins
        return cls(type_, memory, begins, begins + block.size, begins + offset, shape, strides, False, (block,))

    def __len__(self) -> int:
        return len(self.begins)

    def taken(self, positions: Any) -> LaneBuffer:
        """Return the memref of the lanes at some positions."""
        return replace(self, begins=self.begins[positions], ends=self.ends[positions], starts=self.starts[positions])

    def of_lane(self, lane: int) -> Buffer:
        """Return the buffer of one lane, for an op that cannot run in lanes."""
        begin = int(self.begins[lane])
        part = LanePart(self.memory, begin, int(self.ends[lane]), self.blocks)
        start = int(self.starts[lane]) - begin
        return Buffer(self.type, part, start, self.shape, self.strides, None, self.is_view)

    @property
    def is_alike(self) -> bool:
        """True if each lane views the same part of equally large memory."""
        offsets, sizes = self.starts - self.begins, self.ends - self.begins
        return bool((offsets == offsets[0]).all() and (sizes == sizes[0]).all())

    def moved(self, first: Buffer, view: Buffer) -> LaneBuffer:
        """Return the views of all lanes. ``first``: the buffer of the first lane; ``view``: a view of that buffer,
        which all lanes make in the same way.
        """
        assert isinstance(view.type, ty.MemRefType)
        starts = self.starts + (view.offset - first.offset)
        return replace(
            self, type=view.type, starts=starts, shape=view.shape, strides=view.strides, is_view=view.is_view
        )

    def places(self, indices: Sequence[Any]) -> Places:
        """Return the place of an element in each lane. An index is a number, or an array of one for each lane."""
        places = self.starts
        for index, stride in zip(indices, self.strides, strict=True):
            places = places + index * stride
        return places

    def all_places(self) -> Places:
        """Return the places of all elements of all lanes."""
        grid = np.indices(self.shape, sparse=True)
        places = self.starts.reshape(-1, *(1,) * len(self.shape))
        for index, stride in zip(grid, self.strides, strict=True):
            places = places + index[np.newaxis] * stride
        return np.broadcast_to(places, (len(self), *self.shape))

    def load(self, type: ty.Type | None = None, origins: Origins | None = None) -> Value:
        """Return a copy of the elements over lanes, as a tensor or as a value of ``type``."""
        type = ty.contents_type(self.type, self.shape) if type is None else type
        known = origins or self.memory.origins or Origins()
        return load_at(self.memory, self.all_places(), type, known)

    def store(self, value: Value, origins: Origins | None = None) -> None:
        """Write all elements of a value over lanes."""
        store_at(self.memory, self.all_places(), value, origins)


def heap_for(kept: dict[Any, Any], element: ty.Type, origins: Origins) -> LaneHeap:
    """Return the memory for elements of a type, from the memory that a batch keeps."""
    key = "heap", *code_layout(element), isinstance(element, ty.VectorType)
    heap = kept.get(key)
    if heap is None:
        heap = kept[key] = LaneHeap(element, origins)
    assert isinstance(heap, LaneHeap)
    return heap


def fill(held: LaneBuffer, initial: Buffer) -> None:
    """Copy the memory of a buffer to the memory of each lane."""
    memory = initial.allocation
    places = held.begins[:, np.newaxis] + np.arange(len(memory))
    held.memory.bits[places] = memory.bits
    if memory.poison is not None and held.memory.poison is not None:
        held.memory.poison[places] = memory.poison


def joined_memrefs(
    buffers: Sequence[tuple[Any, Buffer | LaneBuffer]], size: int, heap: LaneHeap, type_: ty.Type
) -> LaneBuffer:
    """Return one memref over ``size`` lanes from memrefs of some of the lanes.

    ``buffers``: pairs of the positions of lanes and their memref. Memory that does not belong to a batch yet is copied
    into ``heap``. Raises Unsupported if lanes have memrefs of different shapes or strides.
    """
    begins, ends, starts = (np.zeros(size, np.int64) for _ in range(3))
    blocks: dict[int, Block] = {}
    first = buffers[0][1]
    for positions, buffer in buffers:
        if (buffer.shape, buffer.strides) != (first.shape, first.strides):
            raise Unsupported(
                f"in a batch, lanes cannot hold memrefs of type '{type_}' of different shapes or strides: "
                f"{list(first.shape)} with {list(first.strides)}, {list(buffer.shape)} with {list(buffer.strides)}"
            )
        if isinstance(buffer, Buffer):
            part = _part_of(buffer, heap)
            begins[positions], ends[positions] = part.begin, part.end
            starts[positions] = part.begin + buffer.offset
            kept = part.blocks
        else:
            begins[positions], ends[positions], starts[positions] = buffer.begins, buffer.ends, buffer.starts
            kept = buffer.blocks
        blocks |= {id(each): each for each in kept}
    return LaneBuffer(
        first.type, heap, begins, ends, starts, first.shape, first.strides, first.is_view, tuple(blocks.values())
    )


def _part_of(buffer: Buffer, heap: LaneHeap) -> LanePart:
    """Return the memory of a buffer as that of a lane."""
    memory = buffer.allocation
    if buffer.mapped is not None:
        raise Unsupported(
            f"in a batch, memory cannot have the layout '{buffer.mapped.map}', which is not a sum of strides"
        )
    if isinstance(memory, LanePart) and memory.heap is heap:
        return memory
    if isinstance(memory.root, LanePart):
        raise Unsupported("a batch cannot read memory as elements of another type")
    block = heap.take(1, len(memory), memory.source)
    begin = int(block.begins[0])
    part = LanePart(heap, begin, begin + block.size, (block,))
    part.bits[...] = memory.bits
    if memory.poison is not None:
        part.poison = memory.poison
    part.open = memory.open
    return part


# --- lanes ------------------------------------------------------------------------------------------------------------

Positions = npt.NDArray[np.intp]
"""Places along the axis over lanes."""


def over_lanes(slot: object) -> bool:
    """Tell whether this is a value with an axis over lanes, or a memref over lanes. All other objects are the same in
    all lanes.
    """
    return slot.over_lanes if isinstance(slot, Value) else isinstance(slot, LaneBuffer)


def alike(*values: Value) -> tuple[Value, ...]:
    """Return the values in a form in which either all or none are over lanes: if some are, the others are repeated in
    all lanes.
    """
    lanes = next((value.shape[0] for value in values if over_lanes(value)), None)
    return tuple(value if lanes is None or over_lanes(value) else repeated(value, lanes) for value in values)


def repeated(value: Value, lanes: int) -> Value:
    """Return a value over lanes that has this value in each lane, without copies in memory."""
    return rearranged(value, lambda array: np.broadcast_to(array, (lanes, *array.shape)))


def lanes_of(value: Any, positions: Positions | int) -> Any:
    """Return a value or memref with only the lanes at some positions. For a single position, the result is that of one
    lane, without the axis over lanes.
    """
    if isinstance(value, LaneBuffer):
        return value.of_lane(positions) if isinstance(positions, int) else value.taken(positions)
    poison = None if value.poison is None else value.poison[positions]
    if poison is not None and not poison.any():
        poison = None
    open_ = None if value.open is None else value.open[positions]
    bits = value.bits[positions, ...] if isinstance(positions, int) else value.bits.take(positions, 0)
    return Value(value.type, bits, poison, open_, None if poison is None else value.origins)


def ranked(type_: ty.Type, shape: tuple[int, ...]) -> ty.Type:
    """Return the type for values over lanes if each lane has this shape: an unranked type becomes a ranked one."""
    return type_ if ty.shape_of(type_) is not None else ty.TensorType((None,) * len(shape), ty.element_type(type_))


def for_elements(value: Value, shape: tuple[int, ...]) -> Value:
    """Return a value of this shape, whose first axis is over lanes, in which each element is the scalar of its lane."""
    new = (1,) * (len(shape) - 1)

    def spread(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.broadcast_to(array.reshape(len(array), *new, *array.shape[1:]), shape + array.shape[1:])

    return rearranged(value, spread)
