"""tensor.generate: a tensor whose elements a region computes from their indices."""

from __future__ import annotations

from typing import Any

from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.boxes import points_of
from halfulp.interp.dialects.tensor.bodies import Body, shape_operands, spread, together
from halfulp.interp.dialects.tensor.making import result_shape
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.control import Compiler
from halfulp.interp.run.frames import Action, Frame, Run, Segment


def verify_body(op: Operation) -> str | None:
    """Check the arguments of the region of tensor.generate, and what it yields."""
    type_ = op.results[0].type
    block = op.regions[0].blocks[0]
    if len(block.arguments) != len(ty.shape_of(type_) or ()):
        return Unprefixed("must have one body argument per input dimension")
    if not all(isinstance(argument.type, ty.IndexType) for argument in block.arguments):
        return Unprefixed("all body arguments must be index")
    last = block.operations[-1]
    if last.name != "tensor.yield" or last.operands[0].type != ty.element_type(type_):
        return "body must be terminated with a `yield` operation of the tensor element type"
    return None


def generate(op: Operation, compiler: Compiler) -> Action:
    """Return the action of tensor.generate."""
    type_, settings = op.results[0].type, compiler.settings
    sizes, result = compiler.slots(op.operands), compiler.hidden_slot()
    finish = compiler.resume(op)([result])

    def shape_of(sizes: Any) -> tuple[int, ...]:
        return result_shape(op, type_, shape_operands(op, sizes, settings), settings)

    def made(run: Run, values: tuple[Any, ...]) -> tuple[Any, ...]:
        shape, elements = shape_of(values[: len(sizes)]), values[len(sizes) :]
        if body.constant:
            return (spread(elements[0], shape, type_),)
        return (together(run, elements, shape, type_),)

    def done(frame: Frame, elements: list[Any]) -> Segment | None:
        slots = frame.slots
        run: Run = slots[0]
        operands = (*(slots[slot] for slot in sizes), *elements)
        (slots[result],) = run.each(made, operands, [type_])
        return finish(frame)

    body = Body(op, compiler, done)

    def begin(frame: Frame) -> Segment | None:
        if body.constant:
            return body.begin(frame, iter([(0,) * len(ty.shape_of(type_) or ())]))
        shape = shape_of([frame.slots[slot] for slot in sizes])
        return body.begin(frame, points_of([range(size) for size in shape]))

    return begin
