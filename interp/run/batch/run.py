"""The execution of a batch: lanes part, wait, join and return."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, OutOfSteps
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.batch.frames import Activation, LaneFrame, Plan
from halfulp.interp.run.batch.slots import Elsewhere, joined, scattered
from halfulp.interp.run.frames import Action, Frame, Function, Lanes, Run, Segment
from halfulp.interp.run.host import host_values
from halfulp.interp.run.reports import in_lanes, of_lanes
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.signature import result_types
from halfulp.interp.run.slots import lower, seen, undecided
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.element_layout import code_layout, runtime_shape
from halfulp.interp.values.lane_memory import LaneBuffer
from halfulp.interp.values.lanes import Positions, over_lanes, ranked, taken
from halfulp.interp.values.value import Value


class LaneRun(Run):
    """The execution of a batch."""

    __slots__ = ("_alone", "_told")

    frame: LaneFrame | None
    lanes: Lanes
    _alone: Run
    _told: Lanes | None

    def __init__(self, settings: Settings, lanes: Lanes) -> None:
        super().__init__(settings, lanes)
        # The run of functions that do not know of lanes.
        self._alone = Run(settings)
        self._alone.origins = self.origins
        self._told = None

    def out_of_steps(self, op: Operation) -> OutOfSteps:
        """Make the error of a batch that would execute too many ops, in the lanes that are running: others may wait."""
        error = super().out_of_steps(op)
        error.lanes = self.lanes.numbers
        return error

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
        self.results = tuple([value.load() if isinstance(value, LaneBuffer) else value for value in self.results])
        if len(frame.lanes) < frame.lanes.total:
            size, numbers = frame.lanes.total, frame.lanes.numbers
            self.results = tuple(
                scattered([(numbers, value)], size, type_, self) if over_lanes(value) else value
                for value, type_ in zip(self.results, types, strict=True)
            )

    def _nothing(self, type_: ty.Type, lanes: int) -> Value:
        """Make a result of a function that no lane has run; dimensions that are known only at run time are 0."""
        dtype, trailing = code_layout(ty.element_type(type_))
        shape = tuple(size or 0 for size in runtime_shape(type_, self.settings.vscale) or ())
        held = ty.contents_type(type_) if isinstance(type_, ty.MemRefType) else type_
        return Value(ranked(held, shape), np.zeros((lanes, *shape, *trailing), dtype))

    def _turn_to(self, lanes: Lanes) -> None:
        """Let the next steps and events happen in these lanes."""
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
        """Go on as the conditions of the lanes say, with a frame for each way where they differ."""
        condition: Value = frame.slots[slot]
        if condition.poison is not None:
            raise undecided(condition, segment.op, "condition", self.lanes)
        holds = condition.bits.view(np.bool_)
        count = np.count_nonzero(holds)
        if count in (0, holds.size):
            if condition.open is None:
                frame.slots[slot] = int(count > 0)
            return segment.control(frame)
        # The ones go first: an assertion holds for them.
        ways = [(np.flatnonzero(holds), 1), (np.flatnonzero(~holds), 0)]
        for (_, code), part in zip(ways, frame.parted(way for way, _ in ways), strict=True):
            self._turn_to(part.lanes)
            part.slots[slot] = code if condition.open is None else part.read(slot)
            self._wait(part, _followed(segment.control, part))
        self.frame = frame.activation.next(self)
        return None

    def part(self, frame: LaneFrame, ways: Sequence[tuple[Positions, Action]]) -> None:
        """Let lanes go different ways, given as the positions of those that take each action.

        Each action leads to a segment of the same frame.
        """
        for (_, action), part in zip(ways, frame.parted(way for way, _ in ways), strict=True):
            self._turn_to(part.lanes)
            self._wait(part, _followed(action, part))
        self.frame = frame.activation.next(self)

    def leave(self, frame: LaneFrame, values: tuple[Any, ...]) -> None:
        """Note that the lanes of a frame have returned; with the last of them, end the activation."""
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
        """Call a user's function for each lane, in the order of the lanes, and return the results."""
        rows = [host_values(function(*row), types, source, self.settings) for row in self.rows(values)]
        return self.stacked(rows, types)

    def each(self, function: Function, operands: tuple[Any, ...], types: Sequence[ty.Type]) -> tuple[Any, ...]:
        """Call a function that does not know of lanes for each lane; once where all have the same operands and the
        function has results: one without results prints.

        Raises the error of the first lane that fails; it names all lanes that fail so, at the same place.
        """
        numbers = self.lanes.numbers
        together = bool(types) and not any(map(over_lanes, operands))
        results: list[tuple[Any, ...]] = []
        failed: dict[int, HalfulpError] = {}
        for position, row in enumerate([operands] if together else self.rows(operands)):
            with self.origins.inside(int(numbers[position])):
                try:
                    results.append(function(self._alone, row))
                except HalfulpError as error:
                    failed[position] = error
        if failed:
            raise in_lanes(failed[0], self.lanes) if together else of_lanes(failed, self.lanes)
        if together and not any(isinstance(value, Buffer) for value in results[0]):
            return results[0]
        # Each lane has memory of its own.
        return self.stacked(results * len(numbers) if together else results, types)

    def rows(self, slots: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """Yield the content of some slots for one lane after the other."""
        for lane in range(len(self.lanes)):
            yield tuple([taken(slot, lane) if over_lanes(slot) else slot for slot in slots])

    def stacked(self, rows: Sequence[tuple[Any, ...]], types: Sequence[ty.Type]) -> tuple[Any, ...]:
        """Stack the values of each lane as values over the lanes."""
        columns = zip(*rows, strict=True)
        parts = [[(lane, self._own(value)) for lane, value in enumerate(column)] for column in columns]
        return tuple([joined(part, len(rows), type_, self) for part, type_ in zip(parts, types, strict=True)])

    def _own(self, value: Any) -> Any:
        """Return the content of a slot with poison ids of this run."""
        if isinstance(value, Value) and value.poison is not None and value.origins is not None:
            ids = self.origins.adopt(value.poison, value.origins)
            return Value(value.type, value.bits, ids, value.open, self.origins)
        return lower(value)


def _followed(action: Action, frame: LaneFrame) -> Segment:
    """Follow an action that stays in its frame, and return its segment."""
    target = action(frame)
    assert target is not None
    return target
