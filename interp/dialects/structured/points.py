"""Structured ops point by point, in the order of the loops: for bodies with control flow, calls or accesses to memory,
and for operands that share memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from halfulp.interp.dialects.memref.evaluate import living
from halfulp.interp.dialects.memref.in_lanes import living_over_lanes
from halfulp.interp.dialects.regions import points_of
from halfulp.interp.dialects.structured.space import checked_sizes
from halfulp.interp.dialects.structured.structure import structure_of
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension, evaluated
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import code_layout
from halfulp.interp.run.batch.compiler import LaneCompiler
from halfulp.interp.run.evaluators import Compiler, moves, passing
from halfulp.interp.run.frames import Action, Frame, Run, Segment, Slots, lift, lower
from halfulp.interp.values.buffers import Buffer, load_at, store_at
from halfulp.interp.values.lanes import LaneBuffer, over_lanes, repeated
from halfulp.interp.values.value import Value

Point = tuple[int, ...]
Locate = Callable[[Point], Point]
"""Gives the indices of an element at a point."""


def _locating(map_: at.AffineMapAttr) -> Locate:
    """Return a map as a function from a point to the place of an element."""
    exprs = map_.results
    if all(isinstance(expr, Dimension) for expr in exprs):
        axes = [expr.position for expr in exprs if isinstance(expr, Dimension)]
        if axes == list(range(map_.dimensions)):
            return lambda point: point
        return lambda point: tuple([point[axis] for axis in axes])
    return lambda point: tuple([int(evaluated(expr, point)) for expr in exprs])


class Cells:
    """The elements of an operand, which are read and written one at a time."""

    def __init__(self, held: Any, type_: ty.Type) -> None:
        self._held = held
        self._type = type_

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the operand; () for a scalar."""
        return ()

    def read(self, index: Point, run: Run) -> Any:
        """Return an element in the form that slots hold; for a scalar operand, the operand."""
        return self._held

    def write(self, index: Point, slot: Any, run: Run) -> None:
        """Replace an element."""
        raise NotImplementedError

    def value(self, type_: ty.Type, run: Run) -> Value:
        """Return all elements."""
        raise NotImplementedError


class TensorCells(Cells):
    """The elements of a tensor; for a tensor over lanes, each element in all lanes at once. ``written``: whether the
    elements are already a copy, which may be changed.
    """

    def __init__(self, held: Value, type_: ty.Type, written: bool, lanes: int | None) -> None:
        super().__init__(held, type_)
        if lanes is not None and written and not over_lanes(held):
            held = repeated(held, lanes)
        self._lead: tuple[slice, ...] = (slice(None),) if lanes is not None and over_lanes(held) else ()
        self._whole = held.shape
        self._bits = held.bits.copy() if written else held.bits
        self._poison = held.poison.copy() if written and held.poison is not None else held.poison
        self._open = held.open.copy() if written and held.open is not None else held.open
        self._plain = not self._lead and not code_layout(type_)[1]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor, of one lane."""
        return self._whole[len(self._lead) :]

    def read(self, index: Point, run: Run) -> Any:
        """Return an element in the form that slots hold."""
        if self._plain and self._open is None and (self._poison is None or not self._poison[index]):
            return self._bits.item(index)
        place: tuple[Any, ...] = self._lead + index
        bits, poison, open_ = (
            None if array is None else np.array(array[place]) for array in (self._bits, self._poison, self._open)
        )
        assert bits is not None
        if poison is not None and not poison.any():
            poison = None
        return lower(Value(self._type, bits, poison, open_, None if poison is None else run.origins))

    def write(self, index: Point, slot: Any, run: Run) -> None:
        """Replace an element."""
        value = lift(slot, self._type)
        place: tuple[Any, ...] = self._lead + index
        self._bits[place] = value.bits
        self._poison = _with(self._poison, self._whole, place, value.poison)
        self._open = _with(self._open, self._whole, place, value.open)

    def value(self, type_: ty.Type, run: Run) -> Value:
        """Return all elements."""
        poison = None if self._poison is None or not self._poison.any() else self._poison
        return Value(type_, self._bits, poison, self._open, None if poison is None else run.origins)


def _with(array: Any, shape: tuple[int, ...], index: Point, part: Any) -> Any:
    if array is None:
        if part is None:
            return None
        array = np.zeros(shape, part.dtype)
    array[index] = 0 if part is None else part
    return array


class BufferCells(Cells):
    """The elements of a memref; for a memref over lanes, each element in all lanes at once."""

    def __init__(self, op: Operation, which: int, held: Buffer | LaneBuffer, type_: ty.Type) -> None:
        super().__init__(held, type_)
        self._op = op
        self._which = which

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the memref, of one lane."""
        return self._held.shape  # type: ignore[no-any-return]

    def _place(self, index: Point, run: Run) -> tuple[Any, Any]:
        """Return the memory and the place of an element in it. Raises UndefinedBehavior for freed memory."""
        buffer = living_over_lanes(self._op, run, self._held, self._which)
        if isinstance(buffer, LaneBuffer):
            return buffer.memory, buffer.places(index)
        return buffer.allocation, buffer.places_at(index)

    def read(self, index: Point, run: Run) -> Any:
        """Return an element in the form that slots hold."""
        value = load_at(*self._place(index, run), self._type, run.origins)
        return value if isinstance(self._held, LaneBuffer) else lower(value)

    def write(self, index: Point, slot: Any, run: Run) -> None:
        """Replace an element."""
        memory, place = self._place(index, run)
        value = lift(slot, self._type)
        if isinstance(self._held, LaneBuffer) and not over_lanes(value):
            value = repeated(value, len(self._held))
        store_at(memory, place, value, run.origins)


def _cells(op: Operation, which: int, held: Any, element: ty.Type, written: bool, run: Run) -> Cells:
    type_ = op.operands[which].type
    if isinstance(held, LaneBuffer):
        return BufferCells(op, which, held, element)
    if isinstance(type_, ty.MemRefType):
        return BufferCells(op, which, living(op, held, which), element)
    if isinstance(type_, ty.TensorType):
        lanes = None if run.lanes is None else len(run.lanes)
        return TensorCells(lift(held, type_), element, written, lanes)
    return Cells(held, type_)


class _Walk:
    """The state of a structured op that runs: its points, the current point, and the elements of its operands.

    ``around``: the point of the structured op around it.
    """

    __slots__ = ("around", "cells", "point", "points")

    def __init__(self, points: Iterator[Point], cells: list[Cells], around: Point) -> None:
        self.points = points
        self.cells = cells
        self.point: Point = ()
        self.around = around


class PointByPoint:
    """A structured op compiled to run its body at one point after the other.

    The body is compiled as a part of the function around it. The loop sets the arguments of the body and the results of
    linalg.index.
    """

    def __init__(self, op: Operation, compiler: Compiler) -> None:
        self._op = op
        self._structure = structure = structure_of(op)
        self._operands = compiler.slots(op.operands)
        self._maps = structure.maps
        self._locate = [_locating(map_) for map_ in structure.maps]
        block = structure.block
        self._body = compiler.block(block)
        self._elements = [argument.type for argument in block.arguments]
        used = {value for inner in block.operations for each in inner.walk() for value in each.operands}
        self._read = [
            (which, slot)
            for which, (slot, argument) in enumerate(zip(self._body.arguments, block.arguments, strict=True))
            if argument in used
        ]
        self._indices = [
            (compiler.slot(each.results[0]), each.properties["dim"].value)  # type: ignore[attr-defined]
            for each in block.operations
            if each.name == "linalg.index"
        ]
        self._results = [
            (which, value.type)
            for which, value in enumerate(op.operands)
            if which >= len(structure.inputs) and isinstance(value.type, ty.TensorType)
        ]
        self._state = compiler.hidden_slot()
        self._produced = tuple([compiler.hidden_slot() for _ in op.results])
        self._finish = compiler.resume(op)(self._produced)
        self._at_end: Action | None = None
        self._yielded: tuple[int, ...] = ()

    def action(self, compiler: Compiler) -> Action:
        """Compile the body, and return the action of the op."""
        compiler.region(self._op.regions[0], self._yielding)
        if self._body.control is self._at_end:
            return self._all_points
        return self._begin

    def _yielding(self, sources: Sequence[int]) -> Action:
        self._yielded = tuple(sources)

        def again(frame: Frame) -> Segment | None:
            self._write(frame.slots)
            return self._following(frame)

        self._at_end = again
        return again

    def _begin(self, frame: Frame) -> Segment | None:
        self._open(frame.slots)
        return self._following(frame)

    def _all_points(self, frame: Frame) -> Segment | None:
        """Run all points at once. This is possible for bodies without control flow, and without listeners."""
        slots = frame.slots
        run: Run = slots[0]
        steps, cost = self._body.steps, self._body.cost
        walk = self._open(slots)
        for point in walk.points:
            run.steps -= cost
            if run.steps < 0:
                raise run.out_of_steps(self._body.op)
            self._enter(slots, walk, point)
            for step in steps:
                step(slots)
            self._write(slots)
        return self._close(frame)

    def _following(self, frame: Frame) -> Segment | None:
        walk: _Walk = frame.slots[self._state]
        point = next(walk.points, None)
        if point is None:
            return self._close(frame)
        self._enter(frame.slots, walk, point)
        return self._body

    def _open(self, slots: Slots) -> _Walk:
        """Begin at the first point."""
        op, inputs = self._op, len(self._structure.inputs)
        held = [slots[slot] for slot in self._operands]
        run: Run = slots[0]
        cells = [
            _cells(op, which, each, element, which >= inputs, run)
            for which, (each, element) in enumerate(zip(held, self._elements, strict=True))
        ]
        sizes = checked_sizes(op, self._maps, [each.shape for each in cells], run.lanes)
        walk = slots[self._state] = _Walk(points_of([range(size) for size in sizes]), cells, run.origins.place)
        return walk

    def _enter(self, slots: Slots, walk: _Walk, point: Point) -> None:
        """Give the body its arguments at a point."""
        walk.point = point
        run: Run = slots[0]
        if run.lanes is None:
            run.origins.place = walk.around + point
        for which, slot in self._read:
            slots[slot] = walk.cells[which].read(self._locate[which](point), run)
        for slot, dimension in self._indices:
            slots[slot] = point[dimension]

    def _write(self, slots: Slots) -> None:
        """Replace the elements of the inits by what the body yielded."""
        walk: _Walk = slots[self._state]
        run: Run = slots[0]
        for which, slot in enumerate(self._yielded, len(self._structure.inputs)):
            walk.cells[which].write(self._locate[which](walk.point), slots[slot], run)

    # --- in a batch ---

    def action_in_lanes(self, compiler: LaneCompiler) -> Action:
        """Compile the body for a batch, and return the action of the op. All lanes have the same points."""
        op = self._op
        more, state = compiler.typed_slot(ty.I1), compiler.typed_slot(ty.INDEX)
        yielded = tuple([compiler.typed_slot(element) for element in self._elements[len(self._structure.inputs) :]])
        self._state, self._yielded = state, yielded
        head, latch = Segment(), Segment()
        compiler.loop(op, head, latch, more, (state, *yielded, *self._operands), ())

        def begin(frame: Frame) -> Segment:
            slots = frame.slots
            walk = self._open(slots)
            slots[state] = walk
            return advance(slots)

        def advance(slots: Slots) -> Segment:
            walk: _Walk = slots[state]
            point = next(walk.points, None)
            slots[more] = int(point is not None)
            walk.point = () if point is None else point
            return head

        def choose(frame: Frame) -> Segment | None:
            slots = frame.slots
            if not slots[more]:
                return self._close(frame)
            walk: _Walk = slots[state]
            self._enter(slots, walk, walk.point)
            return self._body

        def after_trip(frame: Frame) -> Segment:
            self._write(frame.slots)
            return advance(frame.slots)

        head.steps, head.control = (), choose
        latch.steps, latch.control = (), after_trip
        compiler.region(op.regions[0], lambda sources: passing(moves(sources, yielded), latch))
        return begin

    def _close(self, frame: Frame) -> Segment | None:
        slots = frame.slots
        walk: _Walk = slots[self._state]
        for slot, (which, type_) in zip(self._produced, self._results, strict=True):
            slots[slot] = lower(walk.cells[which].value(type_, slots[0]))
        slots[0].origins.place = walk.around
        slots[self._state] = None
        return self._finish(frame)
