"""The execution of a batch: lanes part, wait, join and return.

A batch calls one function for many lanes at once. Each lane has arguments of its own, and may take another path through
the function than its neighbours. One call of NumPy should do an op for as many lanes as possible. But an op must not
run for a lane that does not reach it, since the lane could divide by zero there, or use up steps. This text explains
how both are achieved.

**What is compiled.** `LaneCompiler` cuts the function into segments. A segment is a row of steps, such as additions,
and at its end one control op: a branch, a call, a return, or an op with regions. It has a `Plan`, made once:

- ``order``: the place of the segment in the order of the code, by `compiler.ordered`. A segment stands after those
  that lead to it, but for the way back of a loop. The segments of a loop stand together, the head first, and what
  follows the loop stands behind all of them.
- ``reads``: the slots that it reads before it writes them. ``live``: the slots that it, or a later one, may read.
- ``decides``: the slot with the condition by which its control op parts lanes, if it does.

**What runs.** Lanes that are at the same place are one `LaneFrame`. A slot of a frame holds an integer where all its
lanes have the same, a `Value` with one entry for each lane otherwise. An `Activation` is one call of the function by
some lanes: it knows the frames that wait in it, by the order of the segments where they wait.

**How lanes part.** At a segment that decides, `_decide` looks at the condition. An integer needs no look: all lanes go
one way. If the lanes differ, the frame becomes two, each with a part of the lanes, and both wait at their next
segments. Nothing is copied: what the slots held over all lanes is set aside as `SlotBeforeParting`, with the lanes that
it is for. A segment that reads such a slot gathers the entries of its own lanes first (`LaneFrame.read`), and keeps
them. So a slot that one of two ways never reads costs that way nothing.

**How lanes join.** The frame to go on with is always the one that waits at the first segment in the order. All frames
that wait at that segment become one frame (`Activation._one`), of which only the live slots are put together, and of
these only the ones that differ. Before each segment `_advance` asks whether another frame waits at this segment or an
earlier one; then it waits as well, and the choice is made anew. Hence no frame passes a place to which lanes may still
come: they can come only from segments that stand earlier, and those run first.

**An example.** Three lanes, n = 0, 2 and 1, run

    entry:           cf.br ^head(%c0)                                         order 0
    ^head(%i: i32):  %more = arith.cmpi slt, %i, %n; cf.cond_br %more, ^body, ^exit    order 1, decides by %more
    ^body:           %next = arith.addi %i, %c1; cf.br ^head(%next)           order 2
    ^exit:           %r = arith.muli %i, %i; return %r                        order 3

    segment   lanes with their %i   what happens
    entry     0 1 2                 all go to head
    head      0: 0, 1: 0, 2: 0      lane 0 has enough: it waits at exit (3); lanes 1 and 2 wait at body (2)
    body      1: 0, 2: 0            2 is the first order; afterwards both go on at head (1), and 1 < 3
    head      1: 1, 2: 1            lane 2 waits at exit (3), lane 1 at body (2)
    body      1: 1
    head      1: 2                  lane 1 goes to exit, where two frames wait: it waits too
    exit      0: 0, 1: 2, 2: 1      one frame again: one multiplication for all three lanes

If exit stood before body, lane 0 would run it alone, then lane 2, then lane 1: three multiplications of one lane each.
The results would be the same, since lanes share nothing. So the order is a matter of speed alone, and where loops lie
deeper in each other than `compiler.ordered` tells apart, a batch only takes longer.

**What costs.** A segment that runs for a frame costs its steps once, for however many lanes. So lanes that part and
join at once cost at most both ways; a loop costs as many trips as the lane with the most. Lanes that part for good,
each with its own number of trips of a long loop, leave frames of few lanes: then the time goes to NumPy's calls, not to
elements, and machine code that runs one lane after the other (`CompiledLanes` of `program`) is much faster. It computes
the same.

**Calls.** A call makes a new activation for the lanes that call together; the frame of the caller waits until all of
them have returned. Lanes may return at different times: their results are collected (`leave`) and put together with the
last one. A recursive call with one more level for some lanes is therefore a smaller activation in a larger one.

**Ops that do not know of lanes.** A function of one lane's values is called lane by lane (`LaneRun.each`), once if all
lanes have the same operands. A function that may reach an op that cannot even do that, such as scf.parallel, runs as a
whole one lane after the other (`lane_by_lane` of `program`). Memory is the lane's own: a memref over lanes is a part of
one heap, and an index outside of it is an error in the lanes where it is.

**Errors.** An op that fails raises an error that names its lanes, by their numbers in the batch. Lanes that wait have
not failed, even if they would later: which error a batch raises follows from the order of the segments.

**To change it.** An op whose control differs between lanes gives its action by ``in_lanes`` of `OnFrames`; that calls
`LaneRun.part` with the positions that take each way, and describes its own segments and loops to the compiler
(`LaneCompiler.loop`), or ``live`` will lack what they read. A slot missing in ``live`` is lost where frames join, and
only there: test with lanes that part and join. `tests/interp/run/batch/test_lanes.py` and the random programs beside it
compare each lane with its own run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, OutOfSteps
from halfulp.interp.ir.operations import Operation, result_types
from halfulp.interp.ir.types import code_layout, runtime_shape
from halfulp.interp.run import frames
from halfulp.interp.run.batch.frames import Activation, LaneFrame, Plan, SlotBeforeParting, joined, scattered
from halfulp.interp.run.settings import Settings, host_values
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.lanes import LaneBuffer, Positions, lanes_of, over_lanes, ranked
from halfulp.interp.values.value import Value


class LaneRun(frames.Run):
    """The execution of a batch."""

    __slots__ = ("_alone", "_told")

    frame: LaneFrame | None
    lanes: frames.Lanes
    _alone: frames.Run
    _told: frames.Lanes | None

    def __init__(self, settings: Settings, lanes: frames.Lanes) -> None:
        super().__init__(settings, lanes)
        # The run of functions that do not know of lanes.
        self._alone = frames.Run(settings)
        self._alone.origins = self.origins
        self._told = None

    def out_of_steps(self, op: Operation) -> OutOfSteps:
        """Return the error of a batch that would execute too many ops. It names the lanes that are running, since
        others may be waiting.
        """
        error = super().out_of_steps(op)
        error.lanes = self.lanes.numbers
        return error

    def execute(self, frame: frames.Frame | None) -> None:
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

    def _turn_to(self, lanes: frames.Lanes) -> None:
        """Let the next steps and events happen in these lanes."""
        self.lanes = lanes
        if self._told is not lanes:
            self._told = lanes
            for listener in self.settings.listeners:
                listener.lanes(lanes.numbers)

    def _advance(self, frame: LaneFrame) -> None:
        """Run the lanes of a frame until they part, call, return or must wait; then another frame is next."""
        slots, waiting = frame.slots, frame.activation.waiting
        segment: frames.Segment | None = frame.segment
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
                if slots[slot].__class__ is SlotBeforeParting:
                    frame.read(slot)
            for step in segment.steps:
                step(slots)
            decides = plan.decides
            if decides is not None and slots[decides].__class__ is not int:
                segment = self._decide(frame, segment, decides)
            else:
                segment = segment.control(frame)

    def _wait(self, frame: LaneFrame, segment: frames.Segment) -> None:
        frame.segment = segment
        frame.activation.waiting.setdefault(segment.plan.order, []).append(frame)

    def _decide(self, frame: LaneFrame, segment: frames.Segment, slot: int) -> frames.Segment | None:
        """Continue as the conditions of the lanes say, with one frame for each way if they differ."""
        condition: Value = frame.slots[slot]
        if condition.poison is not None:
            raise frames.undecided(condition, segment.op, "condition", self.lanes)
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

    def part(self, frame: LaneFrame, ways: Sequence[tuple[Positions, frames.Action]]) -> None:
        """Divide the lanes of a frame among several actions. ``ways``: for each action the positions of its lanes, and
        the action.

        Each action leads to a segment of the same frame.
        """
        for (_, action), part in zip(ways, frame.parted(way for way, _ in ways), strict=True):
            self._turn_to(part.lanes)
            self._wait(part, _followed(action, part))
        self.frame = frame.activation.next(self)

    def leave(self, frame: LaneFrame, values: tuple[Any, ...]) -> None:
        """Record that the lanes of a frame have returned. If they are the last lanes, end the activation."""
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
        values = [frames.listener_view(value, result.type) for value, result in zip(results, call.results, strict=True)]
        for listener in self.settings.listeners:
            listener.op_did_run(call, (), values)

    def host(
        self, function: Callable[..., Any], values: Sequence[Any], types: Sequence[ty.Type], source: str
    ) -> tuple[Any, ...]:
        """Call a user's function for each lane, in the order of the lanes, and return the results."""
        rows = [host_values(function(*row), types, source, self.settings) for row in self.rows(values)]
        return self.stacked(rows, types)

    def each(self, function: frames.Function, operands: tuple[Any, ...], types: Sequence[ty.Type]) -> tuple[Any, ...]:
        """Call a function that cannot run in lanes once for each lane. If all lanes have the same operands and the
        function has results, call it only once; a function without results prints, so it is called for each lane.

        Raises the error of the first lane that fails; it names all lanes that fail in the same way at the same place.
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
            raise frames.in_lanes(failed[0], self.lanes) if together else frames.of_lanes(failed, self.lanes)
        if together and not any(isinstance(value, Buffer) for value in results[0]):
            return results[0]
        # Each lane has memory of its own.
        return self.stacked(results * len(numbers) if together else results, types)

    def rows(self, slots: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """Yield the content of some slots for one lane after the other."""
        for lane in range(len(self.lanes)):
            yield tuple([lanes_of(slot, lane) if over_lanes(slot) else slot for slot in slots])

    def stacked(self, rows: Sequence[tuple[Any, ...]], types: Sequence[ty.Type]) -> tuple[Any, ...]:
        """Return the values of all lanes as values over the lanes. ``rows``: the values of one lane after the other."""
        columns = zip(*rows, strict=True)
        parts = [[(lane, self._own(value)) for lane, value in enumerate(column)] for column in columns]
        return tuple([joined(part, len(rows), type_, self) for part, type_ in zip(parts, types, strict=True)])

    def _own(self, value: Any) -> Any:
        """Return the content of a slot with poison ids of this run."""
        if isinstance(value, Value) and value.poison is not None and value.origins is not None:
            ids = self.origins.adopt(value.poison, value.origins)
            return Value(value.type, value.bits, ids, value.open, self.origins)
        return frames.lower(value)


def _followed(action: frames.Action, frame: LaneFrame) -> frames.Segment:
    """Follow an action that stays in its frame, and return the segment that it leads to."""
    target = action(frame)
    assert target is not None
    return target
