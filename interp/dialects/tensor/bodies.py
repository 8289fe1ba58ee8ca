"""Regions that compute one element of a tensor from its indices: those of tensor.generate and tensor.pad."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from halfulp.fp_formats.codes import ints_to_codes
from halfulp.interp.dialects.elements import repeated, stacked
from halfulp.interp.dialects.indices import numbers
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.control import Compiler
from halfulp.interp.run.evaluators import Constant, OnFrames
from halfulp.interp.run.frames import Action, Frame, Run, Segment, Slots
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.slots import lift
from halfulp.interp.values.lanes import over_lanes, taken
from halfulp.interp.values.value import Value

Point = tuple[int, ...]
Done = Callable[[Frame, list[Any]], Segment | None]
"""Goes on after the region has run: gets what it yielded, in the order of the points."""


class Body:
    """The region of an op, compiled to run at one point after the other.

    ``constant``: it yields the same at every point, and nothing in it can fail: it runs once, whatever the points are.
    """

    def __init__(self, op: Operation, compiler: Compiler, done: Done) -> None:
        block = op.regions[0].blocks[0]
        self._op = op
        self._done = done
        self._walk = compiler.hidden_slot()
        self._yielded = 0
        evaluators = [inner.definition and inner.definition.evaluate for inner in block.operations[:-1]]
        # Control does not leave the block between two points.
        self._straight = not any(isinstance(each, OnFrames) for each in evaluators)
        self.constant = all(isinstance(each, Constant) for each in evaluators) and not any(
            value in block.arguments for value in block.operations[-1].operands
        )
        self._segment = compiler.block(block)
        self._arguments = self._segment.arguments
        compiler.region(op.regions[0], self._yielding)

    def begin(self, frame: Frame, points: Iterator[Point]) -> Segment | None:
        """Begin at the first point. Raises Unsupported for a body with control flow in a batch."""
        slots = frame.slots
        run: Run = slots[0]
        if run.lanes is not None and not self._straight:
            raise Unsupported(f"in a batch, {self._op.name} with control flow in its region is not run")
        elements: list[Any] = []
        slots[self._walk] = points, elements
        if self._enter(slots, points):
            return self._segment
        return self._done(frame, elements)

    def _enter(self, slots: Slots, points: Iterator[Point]) -> bool:
        """Give the region its arguments at the next point. Return False where there is none."""
        point = next(points, None)
        if point is None:
            return False
        for slot, index in zip(self._arguments, point, strict=True):
            slots[slot] = index
        return True

    def _yielding(self, sources: Sequence[int]) -> Action:
        (yielded,) = sources
        segment = self._segment

        def again(frame: Frame) -> Segment | None:
            slots = frame.slots
            run: Run = slots[0]
            points, elements = slots[self._walk]
            elements.append(slots[yielded])
            while self._enter(slots, points):
                if not self._straight:
                    return segment
                run.steps -= segment.cost
                if run.steps < 0:
                    raise run.out_of_steps(segment.op)
                for step in segment.steps:
                    step(slots)
                elements.append(slots[yielded])
            slots[self._walk] = None
            return self._done(frame, elements)

        return again


def shape_operands(op: Operation, slots: Sequence[Any], settings: Settings) -> Point:
    """Return index operands as numbers. Raises UndefinedBehavior for poison, and Unsupported where lanes differ."""
    alone = []
    for slot in slots:
        if over_lanes(slot):
            first = taken(slot, 0)
            if slot.poison is None and (slot.bits != first.bits).any():
                raise Unsupported(f"in a batch, {op.name} needs the same sizes in all lanes")
            slot = first
        alone.append(slot)
    return numbers(op, alone, settings)


def together(run: Run, elements: Sequence[Any], shape: Point, type_: ty.Type) -> Value:
    """Return what a region yielded, as slots hold it, as an array."""
    element = ty.element_type(type_)
    width = ty.element_width(element)
    if width is not None and all(each.__class__ is int for each in elements):
        return Value(type_, ints_to_codes(elements, width, shape))
    return stacked(run, tuple([lift(each, element) for each in elements]), shape, type_)


def spread(element: Any, shape: Point, type_: ty.Type) -> Value:
    """Return an element, as a slot holds it, in every place of an array."""
    return repeated(lift(element, ty.element_type(type_)), shape, type_)
