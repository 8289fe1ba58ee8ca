"""Regions that compute one element of a tensor from its indices: those of tensor.generate and tensor.pad."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from halfulp.fp_formats.formats import ints_to_codes
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.declare.operands import operand_groups
from halfulp.interp.dialects.elements import rearranged, repeated, replaced, stacked
from halfulp.interp.dialects.elementwise import sizes_agree
from halfulp.interp.dialects.regions import points_of
from halfulp.interp.dialects.slices import numbers, static_numbers
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.ir.types import shape_conflict
from halfulp.interp.run.evaluators import Compiler, Constant, OnFrames
from halfulp.interp.run.frames import Action, Frame, Run, Segment, Slots, lift
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.lanes import lanes_of, over_lanes
from halfulp.interp.values.value import Value, retyped

Point = tuple[int, ...]
OnDone = Callable[[Frame, list[Any]], Segment | None]
"""Goes on after the region has run: gets what it yielded, in the order of the points."""


class Body:
    """The region of an op, compiled to run at one point after the other.

    ``constant``: the region yields the same value at every point, and nothing in it can fail, so it runs only once.
    """

    def __init__(self, op: Operation, compiler: Compiler, done: OnDone) -> None:
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
        """Begin with the first point, and return the segment to run; None if there is no point. Raises Unsupported for
        a body with control flow in a batch.
        """
        slots = frame.slots
        run: Run = slots[0]
        if run.lanes is not None and not self._straight:
            raise Unsupported(f"cannot run {self._op.name} with control flow in its region in a batch")
        elements: list[Any] = []
        slots[self._walk] = points, elements
        if self._enter(slots, points):
            return self._segment
        return self._done(frame, elements)

    def _enter(self, slots: Slots, points: Iterator[Point]) -> bool:
        """Give the region its arguments at the next point. Return False if there is none."""
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
    """Return index operands as numbers. Raises UndefinedBehavior for poison, and Unsupported if lanes differ."""
    alone = []
    for slot in slots:
        if over_lanes(slot):
            first = lanes_of(slot, 0)
            if slot.poison is None and (slot.bits != first.bits).any():
                raise Unsupported(f"in a batch, {op.name} needs the same sizes in all lanes")
            slot = first
        alone.append(slot)
    return numbers(op, alone, settings)


def stacked_elements(run: Run, elements: Sequence[Any], shape: Point, type_: ty.Type) -> Value:
    """Return an array of this shape and type whose elements are the values that a region yielded, in the form that
    slots hold.
    """
    element = ty.element_type(type_)
    width = ty.element_width(element)
    if width is not None and all(each.__class__ is int for each in elements):
        return Value(type_, ints_to_codes(elements, width, shape))
    return stacked(run, tuple([lift(each, element) for each in elements]), shape, type_)


def spread(element: Any, shape: Point, type_: ty.Type) -> Value:
    """Return an array of this shape and type in which every element is ``element``, in the form that a slot holds."""
    return repeated(lift(element, ty.element_type(type_)), shape, type_)


# --- padding ----------------------------------------------------------------------------------------------------------
#
# tensor.pad: a tensor with more elements around it, which a region computes from their indices.

LISTS = ("low", "high")


def verify(op: Operation) -> str | None:
    """Return what is wrong with the lists of tensor.pad or its result, or None."""
    source, result = op.operands[0].type, op.results[0].type
    shape = ty.shape_of(source) or ()
    written = [static_numbers(op, name) for name in LISTS]
    for name, numbers_, values in zip(LISTS, written, operand_groups(op)[1:], strict=True):
        if len(numbers_) != len(shape):
            return Unprefixed(
                f"failed to infer expectedType from sourceType '{source}', specified resultType is '{result}'"
            )
        if len(values) != numbers_.count(None):
            return f"expected {numbers_.count(None)} dynamic {name} padding values"
    sizes, given_sizes = _sizes(shape, *written), ty.shape_of(result) or ()
    if not sizes_agree(given_sizes, sizes):
        expected = ty.TensorType(sizes, ty.element_type(source))
        return Unprefixed(f"specified type '{result}' does not match the inferred type '{expected}'")
    return None


def verify_body(op: Operation) -> str | None:
    """Return what is wrong with the arguments of the region of tensor.pad or the value that it yields, or None."""
    shape = ty.shape_of(op.results[0].type) or ()
    block = op.regions[0].blocks[0]
    if len(block.arguments) != len(shape):
        return Unprefixed(f"expected the block to have {len(shape)} arguments")
    for number, argument in enumerate(block.arguments, 1):
        if not isinstance(argument.type, ty.IndexType):
            return f"expected block argument {number} to be an index"
    last = block.operations[-1]
    if last.name != "tensor.yield" or last.operands[0].type != ty.element_type(op.results[0].type):
        return "expected yield type to match shape element type"
    return None


def _sizes(
    shape: Sequence[int | None], low: Sequence[int | None], high: Sequence[int | None]
) -> tuple[int | None, ...]:
    return tuple(
        None if size is None or a is None or b is None else size + a + b
        for size, a, b in zip(shape, low, high, strict=True)
    )


def pad(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs tensor.pad. The region runs only at the indices of the new elements."""
    type_, settings = op.results[0].type, compiler.settings
    written = [static_numbers(op, name) for name in LISTS]
    source, *sizes = compiler.slots(op.operands)
    result = compiler.hidden_slot()
    finish = compiler.resume(op)([result])

    def place_of(shape: Sequence[int], operands: Sequence[Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the shape of the result, and the indices of its first element from the source."""
        given = iter(shape_operands(op, operands, settings))
        low, high = (tuple([next(given) if number is None else number for number in each]) for each in written)
        padded = tuple([size + a + b for size, a, b in zip(shape, low, high, strict=True)])
        conflict = shape_conflict(type_, padded, settings.vscale)
        if conflict or min((*low, *high), default=0) < 0:
            raise undefined(op, conflict or f"the padding is negative: low {list(low)}, high {list(high)}")
        check_allocation(type_, padded, settings)
        return padded, low

    def made(run: Run, values: tuple[Any, ...]) -> tuple[Any, ...]:
        whole, operands, elements = values[0], values[1 : 1 + len(sizes)], values[1 + len(sizes) :]
        padded, low = place_of(whole.shape, operands)
        place = tuple([slice(a, a + size) for a, size in zip(low, whole.shape, strict=True)])
        if not elements:
            return (retyped(whole, type_),)
        if body.constant:
            around = spread(elements[0], padded, type_)
        else:
            # What stands at the place of the source is replaced.
            outside = np.ones(padded, bool)
            outside[place] = False
            numbers = np.zeros(padded, np.intp)
            numbers[outside] = np.arange(len(elements))
            line = stacked_elements(
                run, elements, (len(elements),), ty.TensorType((len(elements),), ty.element_type(type_))
            )
            around = rearranged(line, type_, lambda array, trailing: array[numbers])
        return (replaced(run, around, place, whole),)

    def done(frame: Frame, elements: list[Any]) -> Segment | None:
        slots = frame.slots
        run: Run = slots[0]
        operands = (lift(slots[source], op.operands[0].type), *(slots[slot] for slot in sizes), *elements)
        (slots[result],) = run.each(made, operands, [type_])
        return finish(frame)

    body = Body(op, compiler, done)

    def begin(frame: Frame) -> Segment | None:
        slots = frame.slots
        if body.constant:
            return body.begin(frame, iter([(0,) * len(written[0])]))
        whole: Value = slots[source]
        shape = whole.shape[1:] if over_lanes(whole) else whole.shape
        padded, low = place_of(shape, [slots[slot] for slot in sizes])
        inside = [range(a, a + size) for a, size in zip(low, shape, strict=True)]
        return body.begin(
            frame,
            (
                point
                for point in points_of([range(size) for size in padded])
                if not all(k in range_ for k, range_ in zip(point, inside, strict=True))
            ),
        )

    return begin
