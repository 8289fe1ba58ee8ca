"""Batches: a function runs for many lanes at once.

A value over lanes is a `Value` of the type that each lane has, whose arrays have one more leading axis: that over the
lanes. So all lanes have the same shape, where the type leaves it open, and the type is never an unranked one.

Lanes that run together are one frame, whose slots hold one array over just these lanes, or an integer where all have
the same. Where they part at a branch, the frame becomes several, each for its own lanes; they wait at their segments,
and the frames that wait at the first segment in the order of the code become one again and run on. So no op ever
sees a lane that is not there: it cannot be undefined, and costs nothing.

A frame that parts copies nothing: what its slots held is `Elsewhere`, and gathered where a segment reads it. Where
frames join, only slots that are still needed are put together, and of these only those that differ.

A call is one activation of a function for the lanes that call together. It ends when all of them have returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import codes_to_ints, ints_to_codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.executor import (
    Action,
    Cast,
    Compiler,
    Control,
    Elementwise,
    ElementwiseStep,
    Frame,
    Function,
    FunctionCode,
    Lanes,
    Program,
    Pure,
    Run,
    Segment,
    Slots,
    Step,
    check_allocation,
    general_step,
    host_values,
    in_lanes,
    is_cast,
    lower,
    observed_control,
    ranked,
    result_types,
    seen,
    undecided,
    unsupported_step,
)
from halfulp.interp.values import value as values
from halfulp.interp.values.value import Value, code_layout, element_width, runtime_shape, spell_shape
from halfulp.semantics.kernel import Mask

Positions = npt.NDArray[np.intp]
Node = TypeVar("Node")


# --- values over lanes ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Elsewhere:
    """What a slot held before the lanes of its frame parted: a value over more lanes than run now."""

    held: Any
    lanes: Lanes


def over_lanes(slot: Any) -> bool:
    """Whether a slot has an array over lanes, not one value for all of them."""
    if slot.__class__ is Value:
        return values.over_lanes(slot)
    return slot.__class__ is Elsewhere


def taken(value: Value, positions: Positions | int) -> Value:
    """The value over some lanes, or that of one."""
    poison = None if value.poison is None else value.poison[positions]
    if poison is not None and not poison.any():
        poison = None
    open_ = None if value.open is None else value.open[positions]
    bits = value.bits[positions] if isinstance(positions, int) else value.bits.take(positions, 0)
    return Value(value.type, bits, poison, open_, None if poison is None else value.origins)


def joined(parts: Sequence[tuple[Positions | int, Any]], size: int, type_: ty.Type, run: Run) -> Any:
    """One slot of several frames: each part's positions among ``size`` lanes, and what its slot held.

    None where a part has not got this far, which nothing after the place where they meet can read. Raises Unsupported
    for what lanes cannot have each of their own.
    """
    first = parts[0][1]
    slots = [slot for _, slot in parts]
    if all(slot is first for slot in slots):
        return first
    kinds = {slot.__class__ for slot in slots}
    if type(None) in kinds:
        return None
    if not kinds <= {int, Value}:
        if len(kinds) == 1 and all(slot == first for slot in slots):
            return first
        raise Unsupported(f"in a batch, lanes cannot hold different values of type '{type_}'")
    if kinds == {int} and all(slot == first for slot in slots):
        return first
    if isinstance(type_, ty.ShapedType) and all(_clean_for_all(slot) and slot == first for slot in slots):
        return first
    return _scattered(parts, size, type_, run)


def _clean_for_all(value: Value) -> bool:
    """Whether a value is the same in all lanes, and nothing but its bits distinguishes it from others."""
    return value.poison is None and value.open is None and not values.over_lanes(value)


def _scattered(parts: Sequence[tuple[Positions | int, Any]], size: int, type_: ty.Type, run: Run) -> Value:
    """The parts as one value over ``size`` lanes, zero in lanes that no part has."""
    shape = _shape_of_all([slot for _, slot in parts], type_)
    lanes_type = ranked(type_, shape)
    dtype, trailing = code_layout(ty.element_type(type_))
    if shape:
        check_allocation(lanes_type, (size, *shape), run.settings)
    bits = np.zeros((size, *shape, *trailing), dtype)
    poison = open_ = None
    for positions, slot in parts:
        if slot.__class__ is int:
            width = element_width(type_)
            assert width is not None
            bits[positions] = ints_to_codes([slot], width, ())
            continue
        bits[positions] = slot.bits
        if slot.poison is not None:
            poison = np.zeros((size, *shape), np.uint16) if poison is None else poison
            poison[positions] = slot.poison
        if slot.open is not None:
            open_ = np.zeros((size, *shape), np.uint8) if open_ is None else open_
            open_[positions] = slot.open
    return Value(lanes_type, bits, poison, open_, None if poison is None else run.origins)


def _shape_of_all(slots: Sequence[Any], type_: ty.Type) -> tuple[int, ...]:
    """The shape that each lane has. Raises Unsupported where lanes have different ones."""
    if not isinstance(type_, ty.ShapedType):
        return ()
    shapes = {slot.shape[1:] if values.over_lanes(slot) else slot.shape: None for slot in slots}
    if len(shapes) > 1:
        spelled = " and ".join(f"'{spell_shape(shape)}'" for shape in list(shapes)[:2])
        raise Unsupported(f"in a batch, lanes cannot hold values of type '{type_}' of different shapes: {spelled}")
    return next(iter(shapes))


def union(parts: Sequence[Lanes], all_: Lanes) -> Lanes:
    """The lanes of several disjoint sets, which are all among ``all_``."""
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


# --- frames and their order -------------------------------------------------------------------------------------------


class Activation:
    """One call of a function by some lanes: the frames that wait in it, and what has been returned."""

    __slots__ = ("caller", "code", "lanes", "missing", "returned", "waiting")

    def __init__(self, code: LaneCode, lanes: Lanes, caller: LaneFrame | None) -> None:
        self.code = code
        self.lanes = lanes
        self.caller = caller
        self.missing = len(lanes)
        self.returned: list[tuple[Lanes, tuple[Any, ...]]] = []
        # By the place of the segment in the order of the code.
        self.waiting: dict[int, list[LaneFrame]] = {}

    def next(self, run: LaneRun) -> LaneFrame:
        """The frame to go on with: those that wait at the first segment, as one."""
        frames = self.waiting.pop(min(self.waiting))
        return frames[0] if len(frames) == 1 else self._one(frames, run)

    def _one(self, frames: Sequence[LaneFrame], run: LaneRun) -> LaneFrame:
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
        # By identity: the source of a cast, and what became of it.
        self._sources: dict[int, tuple[tuple[Any, ...], tuple[Any, ...]]] = {}

    def sibling(self, lanes: Lanes, slots: Slots, segment: Segment) -> LaneFrame:
        """A frame for other lanes of the same activation."""
        frame: LaneFrame = LaneFrame.__new__(LaneFrame)
        frame.slots, frame.segment = slots, segment
        frame.parent, frame.results, frame.call, frame.depth = self.parent, self.results, self.call, self.depth
        frame.activation = self.activation
        frame._begin(lanes)
        return frame

    def parted(self, groups: Iterable[Positions]) -> Iterator[LaneFrame]:
        """A frame for each group of lanes, given by their positions among those of this frame."""
        slots = [self._set_aside(slot) for slot in self.slots]
        for positions in groups:
            yield self.sibling(self.lanes.subset(positions), slots.copy(), self.segment)

    def _set_aside(self, slot: Any) -> Any:
        own = slot.__class__ is Cast or (slot.__class__ is Value and over_lanes(slot))
        return Elsewhere(slot, self.lanes) if own else slot

    def read(self, slot: int) -> Any:
        """What a slot holds, gathered for the lanes of this frame, and kept in the slot."""
        held = self.slots[slot]
        if held.__class__ is Elsewhere:
            held = self.slots[slot] = self._gathered(held.held, held.lanes)
        return held

    def _gathered(self, held: Any, lanes: Lanes) -> Any:
        # The lanes of this frame are among those: where there are as many, they are the same.
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
        return taken(held, positions)


class LaneRun(Run):
    """The execution of a batch."""

    __slots__ = ("_alone", "_told")

    frame: LaneFrame | None
    lanes: Lanes
    _alone: Run
    _told: Lanes | None

    def __init__(self, program: Program, lanes: Lanes) -> None:
        super().__init__(program, lanes)
        # What a function sees that knows of no lanes.
        self._alone = Run(program)
        self._alone.origins = self.origins
        self._told = None

    def execute(self, frame: Frame | None) -> None:
        """Run until all lanes have returned from the first frame."""
        assert isinstance(frame, LaneFrame)
        types = result_types(frame.activation.code.op)
        if not len(frame.lanes):
            self.results = tuple([self._nothing(type_, frame.lanes.total) for type_ in types])
            return
        running: LaneFrame | None = frame
        while running is not None:
            self._turn_to(running.lanes)
            self._advance(running)
            running = self.frame
        if len(frame.lanes) < frame.lanes.total:
            size, numbers = frame.lanes.total, frame.lanes.numbers
            self.results = tuple(
                _scattered([(numbers, value)], size, type_, self) if over_lanes(value) else value
                for value, type_ in zip(self.results, types, strict=True)
            )

    def _nothing(self, type_: ty.Type, lanes: int) -> Value:
        """A result of a function that no lane has run; what depends on the run has no elements."""
        dtype, trailing = code_layout(ty.element_type(type_))
        shape = tuple(size or 0 for size in runtime_shape(type_, self.settings.vscale) or ())
        return Value(ranked(type_, shape), np.zeros((lanes, *shape, *trailing), dtype))

    def _turn_to(self, lanes: Lanes) -> None:
        """What follows happens in these lanes."""
        self.lanes = lanes
        if self._told is not lanes:
            self._told = lanes
            for listener in self.settings.listeners:
                listener.lanes(lanes.numbers)

    def _advance(self, frame: LaneFrame) -> None:
        """Run the lanes of a frame until they part, call, return or must wait; then another frame is next."""
        slots, waiting = frame.slots, frame.activation.waiting
        segment: Segment | None = frame.segment
        while segment is not None:
            plan: Plan = segment.plan
            if waiting and min(waiting) <= plan.order:
                self._wait(frame, segment)
                self.frame = frame.activation.next(self)
                return
            self.steps -= segment.cost
            if self.steps < 0:
                raise self.out_of_steps(segment.op)
            for slot in plan.reads:
                if slots[slot].__class__ is Elsewhere:
                    frame.read(slot)
            for step in segment.steps:
                step(slots)
            decides = plan.decides
            if decides is not None and slots[decides].__class__ is not int:
                segment = self._decide(frame, segment, decides)
            else:
                segment = segment.control(frame)

    def _wait(self, frame: LaneFrame, segment: Segment) -> None:
        frame.segment = segment
        frame.activation.waiting.setdefault(segment.plan.order, []).append(frame)

    def _decide(self, frame: LaneFrame, segment: Segment, slot: int) -> Segment | None:
        """Go on where the lanes' conditions say, apart where these differ."""
        condition: Value = frame.slots[slot]
        if condition.poison is not None:
            raise undecided(condition, segment.op, "condition", self.lanes)
        bits = condition.bits
        first = int(bits.flat[0])
        if bits.all() if first else not bits.any():
            if condition.open is None:
                frame.slots[slot] = first
            return segment.control(frame)
        # The ones go first: an assertion holds for them.
        ways = [(np.flatnonzero(bits), 1), (np.flatnonzero(bits == 0), 0)]
        for (_, code), part in zip(ways, frame.parted(way for way, _ in ways), strict=True):
            self._turn_to(part.lanes)
            part.slots[slot] = code if condition.open is None else part.read(slot)
            self._wait(part, _followed(segment.control, part))
        self.frame = frame.activation.next(self)
        return None

    def part(self, frame: LaneFrame, ways: Sequence[tuple[Positions, Action]]) -> None:
        """Let lanes go different ways: the positions of those that take each action, which leads to a segment."""
        for (_, action), part in zip(ways, frame.parted(way for way, _ in ways), strict=True):
            self._turn_to(part.lanes)
            self._wait(part, _followed(action, part))
        self.frame = frame.activation.next(self)

    def leave(self, frame: LaneFrame, values: tuple[Any, ...]) -> None:
        """The lanes of a frame have returned; with the last of them, the activation ends."""
        activation = frame.activation
        activation.returned.append((frame.lanes, values))
        activation.missing -= len(frame.lanes)
        if activation.missing:
            self.frame = activation.next(self)
            return
        results = self._together(activation)
        caller = activation.caller
        if caller is None:
            self.results, self.frame = results, None
            return
        for slot, value in zip(frame.results, results, strict=True):
            caller.slots[slot] = value
        if frame.call is not None and results:
            self._tell(frame.call, caller, results)
        self._wait(caller, caller.segment)
        self.frame = caller.activation.next(self)

    def _together(self, activation: Activation) -> tuple[Any, ...]:
        if len(activation.returned) == 1:
            return activation.returned[0][1]
        positions = [activation.lanes.positions(lanes) for lanes, _ in activation.returned]
        columns = zip(*(values for _, values in activation.returned), strict=True)
        types, size = result_types(activation.code.op), len(activation.lanes)
        return tuple(
            joined(list(zip(positions, column, strict=True)), size, type_, self)
            for column, type_ in zip(columns, types, strict=True)
        )

    def _tell(self, call: Operation, caller: LaneFrame, results: tuple[Any, ...]) -> None:
        self._turn_to(caller.lanes)
        values = [seen(value, result.type) for value, result in zip(results, call.results, strict=True)]
        for listener in self.settings.listeners:
            listener.op_did_run(call, (), values)

    def host(
        self, function: Callable[..., Any], values: Sequence[Any], types: Sequence[ty.Type], source: str
    ) -> tuple[Any, ...]:
        """The results of a user's function called for each lane, in the order of the lanes."""
        rows = [host_values(function(*row), types, source, self.settings) for row in self.rows(values)]
        return self.stacked(rows, types)

    def each(self, function: Function, operands: tuple[Any, ...], types: Sequence[ty.Type]) -> tuple[Any, ...]:
        """The results of a function that knows of no lanes, for each lane; once where all have the same operands.

        Raises what it raises in the first lane that fails, saying which others fail alike.
        """
        numbers = self.lanes.numbers
        together = not any(map(over_lanes, operands))
        results: list[tuple[Any, ...]] = []
        failed: dict[int, HalfulpError] = {}
        for position, row in enumerate([operands] if together else self.rows(operands)):
            with self.origins.inside(int(numbers[position])):
                try:
                    results.append(function(self._alone, row))
                except HalfulpError as error:
                    failed[position] = error
        if failed:
            first = next(iter(failed.values()))
            like = [position for position, error in failed.items() if error.__class__ is first.__class__]
            raise in_lanes(first, self.lanes, None if together else np.isin(np.arange(len(numbers)), like))
        return results[0] if together else self.stacked(results, types)

    def rows(self, slots: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """What one lane after the other has in some slots."""
        for lane in range(len(self.lanes)):
            yield tuple([taken(slot, lane) if over_lanes(slot) else slot for slot in slots])

    def stacked(self, rows: Sequence[tuple[Any, ...]], types: Sequence[ty.Type]) -> tuple[Any, ...]:
        """What each lane has, as values over the lanes."""
        columns = zip(*rows, strict=True)
        parts = [[(lane, self._own(value)) for lane, value in enumerate(column)] for column in columns]
        return tuple([joined(part, len(rows), type_, self) for part, type_ in zip(parts, types, strict=True)])

    def _own(self, value: Any) -> Any:
        """A slot's content whose poison has ids of this run."""
        if isinstance(value, Value) and value.poison is not None and value.origins is not None:
            ids = self.origins.adopt(value.poison, value.origins)
            return Value(value.type, value.bits, ids, value.open, self.origins)
        return lower(value)


def _followed(action: Action, frame: LaneFrame) -> Segment:
    """Where an action leads that stays in its frame."""
    target = action(frame)
    assert target is not None
    return target


# --- compiling --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class LaneCode(FunctionCode):
    """A function compiled for batches; ``types``: of the slots that values of the program have."""

    types: dict[int, ty.Type]


@dataclass(slots=True, eq=False)
class Plan:
    """What a batch needs to know about a segment.

    ``order``: its place in the order in which lanes run segments: loops hang together, what follows a loop comes after
    it. ``reads``: slots it reads that it has not written itself. ``live``: slots that it, or what follows, may read.
    ``decides``: the slot of the i1 by which its control op parts lanes.
    """

    order: int
    reads: tuple[int, ...]
    live: tuple[int, ...]
    decides: int | None


@dataclass(slots=True, eq=False)
class _Flow:
    """A segment, the slots that it reads and those that it writes, as bits; and where control goes from there, with
    the slots that are written on the way.
    """

    segment: Segment
    reads: list[int]
    passes: int
    writes: int
    decides: int | None
    exits: list[tuple[Segment, int]]


class LaneCompiler(Compiler):
    """Compiles one function for batches."""

    one_at_a_time = False

    def __init__(self, program: Program, function: Operation) -> None:
        super().__init__(program, function)
        self.new_frame = LaneFrame
        self.code_of = partial(program.compiled, compiler=LaneCompiler)
        self._cuts: list[tuple[Segment, Sequence[Operation], Operation, Segment]] = []
        self._flows: list[_Flow] = []
        # Of control ops with regions: the segments of their own, and the slots that every trip needs.
        self._inner: dict[Operation, tuple[tuple[Segment, ...], int]] = {}
        self._hidden: dict[int, ty.Type] = {}

    def large(self, type_: ty.Type) -> bool:
        """Any value may have an element for every lane."""
        return True

    def typed_slot(self, type_: ty.Type) -> int:
        """A slot of a control op's own for a value over lanes."""
        slot = self.hidden_slot()
        self._hidden[slot] = type_
        return slot

    def loop(
        self, op: Operation, head: Segment, latch: Segment, decides: int, needed: Sequence[int], carried: Sequence[int]
    ) -> None:
        """Say how a loop goes: ``head`` goes on in a region or after ``op``, by the slot ``decides``; ``latch`` runs
        after each trip, reads the slots ``needed``, and goes on at ``head``, which may read the slots ``carried``.
        """
        after = self.after()
        body = self.block(op.regions[0].blocks[0])
        head.op = latch.op = op
        head.cost = latch.cost = 0
        results = _bits(self.slots(op.results))
        self._flows.append(_Flow(head, [decides], _bits(carried), 0, decides, [(body, 0), (after, results)]))
        self._flows.append(_Flow(latch, list(needed), 0, 0, None, [(head, 1 << decides)]))
        self._inner[op] = (head, latch), _bits(needed)

    def compile(self) -> FunctionCode:
        """The whole function, its segments in order."""
        code = super().compile()
        afters = {control: after for _, _, control, after in self._cuts}
        self._flows += [self._flow(*cut, afters) for cut in self._cuts]
        _plan(self._flows, code.entry)
        types = {slot: value.type for value, slot in self._slots.items()}
        return LaneCode(code.op, code.template, code.entry, types | self._hidden)

    def leaving(self, operands: tuple[int, ...]) -> Action:
        """The action of func.return for the lanes of a frame."""

        def return_(frame: Frame) -> None:
            slots = frame.slots
            slots[0].leave(frame, tuple([slots[slot] for slot in operands]))

        return return_

    def _cut(self, segment: Segment, before: Sequence[Operation], control: Operation, after: Segment) -> None:
        self._cuts.append((segment, before, control, after))

    def _action(self, op: Operation, evaluator: Control) -> Action:
        return (evaluator.in_lanes or evaluator.build)(op, self)

    def _watched(self, op: Operation, action: Action) -> Action:
        return observed_control(op, self.slots(op.operands), action)

    def _step(self, op: Operation, evaluator: Any) -> Step | None:
        if any(isinstance(value.type, ty.MemRefType) for value in (*op.operands, *op.results)):
            return unsupported_step(op, "in a batch, lanes have no memory of their own")
        return super()._step(op, evaluator)

    def _elementwise_step(
        self, op: Operation, evaluator: Elementwise, operands: tuple[int, ...], results: tuple[int, ...]
    ) -> Step:
        elements = [ty.element_type(value.type) for value in (*op.operands, *op.results)]
        if not any(isinstance(element, ty.UniformQuantizedType) and element.along_axes for element in elements):
            return super()._elementwise_step(op, evaluator, operands, results)
        # The scales go with axes of each lane's array, which over lanes are others.
        whole = ElementwiseStep(op, evaluator, self._kernel(op, evaluator), self.settings)
        return general_step(self._by_lane(op, whole.run), op, operands, results)

    def _function(self, op: Operation, evaluator: Pure) -> Function:
        together = evaluator.in_lanes(op, self.settings)
        if together is not None:
            return together
        function = super()._function(op, evaluator)
        return function if evaluator.raw else self._by_lane(op, function)

    def _by_lane(self, op: Operation, function: Function) -> Function:
        types = [result.type for result in op.results]
        return lambda run, operands: LaneRun.each(run, function, operands, types)  # type: ignore[arg-type]

    def _flow(
        self,
        segment: Segment,
        before: Sequence[Operation],
        control: Operation,
        after: Segment,
        afters: Mapping[Operation, Segment],
    ) -> _Flow:
        """Where control goes from a segment; where regions are concerned, wherever it might go."""
        written = 0
        reads: dict[int, None] = {}
        for op in (*before, control):
            reads.update((slot, None) for slot in self.slots(op.operands) if not written >> slot & 1)
            if op is not control:
                written |= _bits(self.slots(op.results))
        passed = [value for _, values in control.successors for value in values]
        # What a block is passed is gathered where the block reads it; but that it is no cast is checked before.
        reads.update((slot, None) for slot in self.slots([value for value in passed if is_cast(value)]))
        passes = _bits(self.slots(passed))
        around = control.parent_op
        exits: list[tuple[Segment, int]]
        if control.successors:
            exits = [(self.block(block), _bits(self.slots(block.arguments))) for block, _ in control.successors]
        elif control.parent is None or control.parent.operations[-1] is not control:
            exits = [(after, _bits(self.slots(control.results)))]
        elif around is not None and around is not self.function:
            exits = [*self._entries(around), (afters[around], _bits(self.slots(around.results)))]
            passes |= _bits(self.slots(around.operands)) | self._inner.get(around, ((), 0))[1]
        else:
            exits = []
        if control.regions:
            entries = self._entries(control)
            begun = self._inner.get(control, ((), 0))[1]
            for _, kills in entries:
                begun |= kills
            exits += [(entry, begun) for entry, _ in entries]
        decides = getattr(control.definition and control.definition.evaluate, "decides", None)
        slot = None if decides is None else self.slot(control.operands[decides])
        return _Flow(segment, list(reads), passes, written, slot, exits)

    def _entries(self, op: Operation) -> list[tuple[Segment, int]]:
        """Where the regions of an op begin, and its own segments, with the slots that are written on the way there."""
        blocks = [region.blocks[0] for region in op.regions if region.blocks]
        regions = [(self.block(block), _bits(self.slots(block.arguments))) for block in blocks]
        return regions + [(segment, 0) for segment in self._inner.get(op, ((), 0))[0]]


def _bits(slots: Iterable[int]) -> int:
    bits = 0
    for slot in slots:
        bits |= 1 << slot
    return bits


def _slots_of(bits: int) -> tuple[int, ...]:
    text = bin(bits)[:1:-1]
    found, slot = [], text.find("1")
    while slot >= 0:
        found.append(slot)
        slot = text.find("1", slot + 1)
    return tuple(found)


def _plan(flows: Sequence[_Flow], entry: Segment) -> None:
    """Put the segments in order, and find what each needs: slots that are read before they are written."""
    by_segment = {flow.segment: flow for flow in flows}
    targets = {flow.segment: [target for target, _ in flow.exits] for flow in flows}
    order = ordered([entry, *(flow.segment for flow in flows if flow.segment is not entry)], targets)
    live = dict.fromkeys(order, 0)
    changed = True
    while changed:
        changed = False
        for segment in reversed(order):
            flow = by_segment[segment]
            needed = flow.passes
            for target, kills in flow.exits:
                needed |= live[target] & ~kills
            needed = _bits(flow.reads) | needed & ~flow.writes
            if needed != live[segment]:
                live[segment], changed = needed, True
    for place, segment in enumerate(order):
        flow = by_segment[segment]
        segment.plan = Plan(place, tuple(flow.reads), _slots_of(live[segment]), flow.decides)


_DEEPEST = 40
"""Loops nested deeper than this are not told apart in the order of segments, which only costs time when they run."""


def ordered(nodes: Sequence[Node], targets: Mapping[Node, Sequence[Node]]) -> list[Node]:
    """The nodes of a flow graph such that each stands before those after it, and loops hang together.

    The first node is the entry. A loop stands as its head, then the rest of it, ordered by the same rule.
    """
    found: list[Node] = []
    work: list[tuple[list[Node], int]] = [(list(nodes), 0)]
    while work:
        group, depth = work.pop()
        if len(group) == 1 or depth > _DEEPEST:
            found += group
            continue
        for head, *rest in reversed(_components(group, targets)):
            if rest:
                work.append((rest, depth + 1))
            work.append(([head], depth))
    return found


def _components(nodes: Sequence[Node], targets: Mapping[Node, Sequence[Node]]) -> list[list[Node]]:
    """The strongly connected components of a part of a graph in topological order (Tarjan's algorithm), each in the
    order in which a search from the first node meets its nodes.
    """
    within = set(nodes)
    number: dict[Node, int] = {}
    lowest: dict[Node, int] = {}
    done: set[Node] = set()
    open_: list[Node] = []
    places: dict[Node, int] = {}
    components: list[list[Node]] = []
    for root in nodes:
        path = [] if root in number else [(root, iter(targets[root]))]
        while path:
            node, ways = path[-1]
            if node not in number:
                number[node] = lowest[node] = len(number)
                places[node] = len(open_)
                open_.append(node)
            target = next((way for way in ways if way in within and way not in done), None)
            if target is None:
                path.pop()
                if path:
                    above = path[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == number[node]:
                    components.append(open_[places[node] :])
                    done.update(components[-1])
                    del open_[places[node] :]
            elif target in number:
                lowest[node] = min(lowest[node], number[target])
            else:
                path.append((target, iter(targets[target])))
    return components[::-1]


# --- counted loops ----------------------------------------------------------------------------------------------------

TRIPS = ty.IntegerType(64)
"""The type of the number of trips that lanes have left."""
_MANY = (1 << 64) - 1

Number = int | Value


def trips(lower: Number, upper: Number, step: Number, width: int, signed: bool) -> tuple[Number, Mask]:
    """How many trips each lane makes from ``lower`` below ``upper``, at most 2^64 - 1; and where the step is not
    positive.
    """
    bounds = (lower, upper, step)
    if width <= 64 and any(over_lanes(bound) for bound in bounds):
        start, end, stride = np.broadcast_arrays(*(_extended(bound, width, signed) for bound in bounds))
        offset = np.uint64(1 << 63 if signed else 0)
        start, end = start ^ offset, end ^ offset
        wrong = stride.view(np.int64) <= 0 if signed else stride == 0
        some = end > start
        counts = np.where(some, (end - start - np.uint64(1)) // np.where(wrong, np.uint64(1), stride), 0) + some
    else:
        rows = np.broadcast_arrays(*(_whole(bound, width, signed) for bound in bounds))
        wrong = np.asarray(rows[2] <= 0)
        each = zip(*(row.flat for row in rows), strict=True)
        counted = [min(_MANY, max(0, -((low - high) // by))) if by > 0 else 0 for low, high, by in each]
        counts = np.array(counted, np.uint64).reshape(wrong.shape)
    return (Value(TRIPS, counts) if counts.ndim else int(counts)), wrong


def _extended(bound: Number, width: int, signed: bool) -> npt.NDArray[np.uint64]:
    """A bound in 64 bits, of which it may use less, over all lanes or one."""
    codes = np.atleast_1d(np.asarray(bound.bits if isinstance(bound, Value) else bound, np.uint64))
    if not signed or not 0 < width < 64:
        return codes
    spare = np.uint64(64 - width)
    return np.asarray(((codes << spare).view(np.int64) >> spare.astype(np.int64)).view(np.uint64))


def _whole(bound: Number, width: int, signed: bool) -> npt.NDArray[np.object_]:
    """A bound as Python integers."""
    codes = codes_to_ints(bound.bits, width) if isinstance(bound, Value) else [bound]
    numbers = np.array(
        [code - (1 << width) if signed and width and code >> (width - 1) else code for code in codes], object
    )
    return numbers if over_lanes(bound) else numbers.reshape(())


def positive(counts: Number) -> Number:
    """Whether lanes have trips left, as i1."""
    return Value(ty.I1, (counts.bits != 0).view(np.uint8)) if isinstance(counts, Value) else int(counts != 0)


def one_less(counts: Number) -> Number:
    """The trips left after one more."""
    return Value(TRIPS, counts.bits - np.uint64(1)) if isinstance(counts, Value) else counts - 1


def advanced(position: Number, step: Number, type_: ty.Type, width: int) -> Number:
    """The next value of an induction variable, modulo 2**width."""
    if isinstance(position, int) and isinstance(step, int):
        return (position + step) & ((1 << width) - 1)
    if width <= 64:
        total = _extended(position, width, False) + _extended(step, width, False)
        codes = (total & np.uint64((1 << width) - 1)).astype(code_layout(type_)[0])
        return Value(type_, codes if over_lanes(position) or over_lanes(step) else codes[0])
    numbers = np.asarray(_whole(position, width, False) + _whole(step, width, False))
    return Value(type_, ints_to_codes([n & ((1 << width) - 1) for n in numbers.flat], width, numbers.shape))


# --- running ----------------------------------------------------------------------------------------------------------


def start(
    program: Program, op: Operation, arguments: Sequence[Any], lanes: int, active: Mask | None
) -> tuple[LaneRun, LaneFrame, Sequence[Any]]:
    """The execution of a function by some lanes, its first frame, and the arguments of the lanes that are active."""
    chosen = np.arange(lanes) if active is None else np.flatnonzero(active)
    run = LaneRun(program, Lanes(chosen, lanes))
    frame = LaneFrame(program.compiled(op, LaneCompiler), run, None, (), None)
    if active is not None:
        arguments = [taken(value, chosen) if over_lanes(value) else value for value in arguments]
    return run, frame, arguments
