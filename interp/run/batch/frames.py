"""The frames of a batch. A frame belongs to lanes that run together; frames wait in a fixed order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfulp.fp_formats.formats import ints_to_codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import code_layout, spell_shape, width_of
from halfulp.interp.run.frames import Cast, Frame, FunctionCode, Lanes, Run, Segment, Slots
from halfulp.interp.run.settings import check_allocation
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.lanes import LaneBuffer, Positions, heap_for, joined_memrefs, lanes_of, over_lanes, ranked
from halfulp.interp.values.value import Value

# --- slots ------------------------------------------------------------------------------------------------------------
#
# Slots of a batch: set aside where the lanes of a frame part, put together where frames join.


@dataclass(frozen=True, slots=True, eq=False)
class SlotBeforeParting:
    """The content that a slot had before the lanes of its frame parted: a value over more lanes than the
    frame has now.
    """

    held: Any
    lanes: Lanes


def joined(parts: Sequence[tuple[Positions | int, Any]], size: int, type_: ty.Type, run: Run) -> Any:
    """Return the content of one slot for the joined lanes of several frames.

    ``parts``: for each frame, the positions of its lanes among ``size`` lanes, and the content of its slot.

    The result is None if the slot of a part is still empty: no op after the join reads it. Raises Unsupported for
    content that cannot differ between lanes, such as functions.
    """
    first = parts[0][1]
    slots = [slot for _, slot in parts]
    if all(slot is first for slot in slots):
        return first
    kinds = {slot.__class__ for slot in slots}
    if type(None) in kinds:
        return None
    if kinds <= {Buffer, LaneBuffer}:
        assert isinstance(type_, ty.MemRefType)
        heap = heap_for(run.kept, type_.element, run.origins)
        return joined_memrefs(parts, size, heap, type_)
    if not kinds <= {int, Value}:
        if len(kinds) == 1 and all(slot == first for slot in slots):
            return first
        raise Unsupported(f"in a batch, lanes cannot hold different values of type '{type_}'")
    if kinds == {int} and all(slot == first for slot in slots):
        return first
    if isinstance(type_, ty.ShapedType) and all(_clean_for_all(slot) and slot == first for slot in slots):
        return first
    return scattered(parts, size, type_, run)


def _clean_for_all(value: Value) -> bool:
    """Tell whether a value is the same in all lanes and has neither poison nor unspecified elements."""
    return value.poison is None and value.open is None and not over_lanes(value)


def scattered(parts: Sequence[tuple[Positions | int, Any]], size: int, type_: ty.Type, run: Run) -> Value:
    """Return the parts as one value over ``size`` lanes, with zeros in lanes that no part has."""
    shape = _shape_of_all([slot for _, slot in parts], type_)
    lanes_type = ranked(type_, shape)
    dtype, trailing = code_layout(ty.element_type(type_))
    if shape:
        check_allocation(lanes_type, (size, *shape), run.settings)
    bits = np.zeros((size, *shape, *trailing), dtype)
    poison = open_ = None
    for positions, slot in parts:
        if slot.__class__ is int:
            bits[positions] = ints_to_codes([slot], width_of(type_), ())
            continue
        bits[positions] = slot.bits[()]  # an element that is an object is stored, not an array of it
        if slot.poison is not None:
            poison = np.zeros((size, *shape), np.uint16) if poison is None else poison
            poison[positions] = slot.poison
        if slot.open is not None:
            open_ = np.zeros((size, *shape), slot.open.dtype) if open_ is None else open_
            open_[positions] = slot.open
    return Value(lanes_type, bits, poison, open_, None if poison is None else run.origins)


def _shape_of_all(slots: Sequence[Any], type_: ty.Type) -> tuple[int, ...]:
    """Return the shape that each lane has. Raises Unsupported if lanes have different shapes."""
    if not isinstance(type_, ty.ShapedType):
        return ()
    shapes = {slot.shape[1:] if over_lanes(slot) else slot.shape: None for slot in slots}
    if len(shapes) > 1:
        spelled = " and ".join(f"'{spell_shape(shape)}'" for shape in list(shapes)[:2])
        raise Unsupported(f"in a batch, lanes cannot hold values of type '{type_}' of different shapes: {spelled}")
    return next(iter(shapes))


def union(parts: Sequence[Lanes], all_: Lanes) -> Lanes:
    """Return the union of several disjoint sets of lanes. All of them are among ``all_``."""
    size = sum(map(len, parts))
    if size == len(all_):
        return all_
    numbers = np.concatenate([part.numbers for part in parts])
    if size < all_.total >> 5:
        numbers.sort()
        return Lanes(numbers, all_.total)
    present = np.zeros(all_.total, np.bool_)
    present[numbers] = True
    return Lanes(np.flatnonzero(present), all_.total)


# --- frames -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class LaneCode(FunctionCode):
    """A function compiled for batches.

    ``types``: the types of the slots that hold values of the program.
    """

    types: dict[int, ty.Type]


@dataclass(slots=True, eq=False)
class Plan:
    """What a batch must know about a segment.

    ``order``: its place in the order in which lanes run segments: the segments of a loop come together, and code after
    a loop comes later. ``reads``: the slots it reads before it writes them. ``live``: the slots that it or a later
    segment may read. ``decides``: the slot of the i1 by which its control op parts lanes.
    """

    order: int
    reads: tuple[int, ...]
    live: tuple[int, ...]
    decides: int | None


class Activation:
    """One call of a function by some lanes: the frames that wait in it, and the results that lanes have returned."""

    __slots__ = ("caller", "code", "lanes", "missing", "returned", "waiting")

    def __init__(self, code: LaneCode, lanes: Lanes, caller: LaneFrame | None) -> None:
        self.code = code
        self.lanes = lanes
        self.caller = caller
        self.missing = len(lanes)
        self.returned: list[tuple[Lanes, tuple[Any, ...]]] = []
        # Key: the place of the segment in the order of the code.
        self.waiting: dict[int, list[LaneFrame]] = {}

    def next(self, run: Run) -> LaneFrame:
        """Return the next frame to run: it joins the frames that wait at the first segment."""
        frames = self.waiting.pop(min(self.waiting))
        return frames[0] if len(frames) == 1 else self._one(frames, run)

    def _one(self, frames: Sequence[LaneFrame], run: Run) -> LaneFrame:
        first = frames[0]
        lanes = union([frame.lanes for frame in frames], self.lanes)
        positions = [lanes.positions(frame.lanes) for frame in frames]
        slots = self.code.template.copy()
        slots[0] = run
        for slot in first.segment.plan.live:
            held = [frame.slots[slot] for frame in frames]
            if any(entry is not held[0] for entry in held):
                held = [frame.read(slot) for frame in frames]
            slots[slot] = joined(list(zip(positions, held, strict=True)), len(lanes), self.code.types[slot], run)
        return first.sibling(lanes, slots, first.segment)


class LaneFrame(Frame):
    """The frame of lanes that run together in one activation."""

    __slots__ = ("_positions", "_sources", "activation", "lanes")

    activation: Activation
    lanes: Lanes

    def __init__(
        self, code: FunctionCode, run: Run, parent: Frame | None, results: tuple[int, ...], call: Operation | None
    ) -> None:
        super().__init__(code, run, parent, results, call)
        assert run.lanes is not None
        assert isinstance(code, LaneCode)
        assert parent is None or isinstance(parent, LaneFrame)
        self.activation = Activation(code, run.lanes, parent)
        self._begin(run.lanes)

    def _begin(self, lanes: Lanes) -> None:
        self.lanes = lanes
        self._positions: dict[Lanes, Positions] = {}
        # Key: the identity of the source of a cast; value: that source, and the same gathered for these lanes.
        self._sources: dict[int, tuple[tuple[Any, ...], tuple[Any, ...]]] = {}

    def sibling(self, lanes: Lanes, slots: Slots, segment: Segment) -> LaneFrame:
        """Make a frame for other lanes of the same activation."""
        frame: LaneFrame = LaneFrame.__new__(LaneFrame)
        frame.slots, frame.segment = slots, segment
        frame.parent, frame.results, frame.call, frame.depth = self.parent, self.results, self.call, self.depth
        frame.activation = self.activation
        frame._begin(lanes)
        return frame

    def parted(self, groups: Iterable[Positions]) -> Iterator[LaneFrame]:
        """Make a frame for each group of lanes, given by their positions among those of this frame."""
        slots = [self._set_aside(slot) for slot in self.slots]
        for positions in groups:
            yield self.sibling(self.lanes.subset(positions), slots.copy(), self.segment)

    def _set_aside(self, slot: Any) -> Any:
        own = slot.__class__ is Cast or over_lanes(slot)
        return SlotBeforeParting(slot, self.lanes) if own else slot

    def read(self, slot: int) -> Any:
        """Return the content of a slot, gathered for the lanes of this frame, and keep it in the slot."""
        held = self.slots[slot]
        if held.__class__ is SlotBeforeParting:
            held = self.slots[slot] = self._gathered(held.held, held.lanes)
        return held

    def _gathered(self, held: Any, lanes: Lanes) -> Any:
        # The lanes of this frame are among those: if their numbers are equal, they are the same lanes.
        if len(lanes) == len(self.lanes) or not (over_lanes(held) or held.__class__ is Cast):
            return held
        if held.__class__ is Cast:
            # The results of one cast share their source: that is how the next cast knows them.
            if id(held.source) not in self._sources:
                gathered = tuple([self._gathered(value, lanes) for value in held.source])
                self._sources[id(held.source)] = held.source, gathered
            return Cast(self._sources[id(held.source)][1], held.source_types, held.types, held.index)
        positions = self._positions.get(lanes)
        if positions is None:
            positions = self._positions[lanes] = lanes.positions(self.lanes)
        return lanes_of(held, positions)
