"""The evaluation of the shape dialect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from math import prod
from typing import Any

import numpy as np

from halfulp.interp.dialects.elements import Function, Operands, reshaped
from halfulp.interp.dialects.indices import undefined
from halfulp.interp.dialects.shape.held import (
    ErrorShapeError,
    Extents,
    Failed,
    ValueShape,
    broken,
    carried,
    content,
    extents_of,
    number_of,
    result_of,
    witness,
)
from halfulp.interp.dialects.shape.types import VALUE_SHAPE, is_shape
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.control import Compiler
from halfulp.interp.run.evaluators import Constant, OnValues
from halfulp.interp.run.frames import Action, Frame, Run, Segment
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.slots import lift, lower
from halfulp.interp.values.element_layout import spell_shape
from halfulp.interp.values.value import Value

Found = Extents | int
Compute = Callable[[Operation, Operands, Settings], Found]


def computed(compute: Compute) -> OnValues:
    """Return the evaluator of an op with one result, a shape or a size. An error becomes the result, or is undefined
    behaviour where the type has no errors.
    """

    def build(op: Operation, settings: Settings) -> Function:
        type_ = op.results[0].type

        def run(run: Run, operands: Operands) -> tuple[Any, ...]:
            try:
                found: Found | Failed = compute(op, operands, settings)
            except ErrorShapeError as error:
                found = Failed(str(error))
            return (result_of(op, type_, found, settings),)

        return run

    return OnValues(build)


def _shapes(op: Operation, operands: Sequence[Any], settings: Settings) -> list[Extents]:
    return [extents_of(op, value, settings) for value in operands]


def _own_reason(op: Operation, otherwise: str) -> ErrorShapeError:
    """Return the error of an op: the text that it has, or another."""
    written = op.properties.get("error")
    return ErrorShapeError(written.value if isinstance(written, at.StringAttr) else otherwise)


# --- shapes -----------------------------------------------------------------------------------------------------------


def shape_of(op: Operation, operands: Operands, settings: Settings) -> Found:
    """Return the extents of a value."""
    (value,) = operands
    return extents_of(op, value, settings) if value.type == VALUE_SHAPE else value.shape


def same(op: Operation, operands: Operands, settings: Settings) -> Found:
    """Return a shape as a shape of another type."""
    return extents_of(op, operands[0], settings)


def _broadcast(shapes: Sequence[Extents]) -> Extents | None:
    """Return the shape to which shapes are broadcast; None where they do not fit."""
    found: list[int] = []
    for sizes in zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1):
        larger = {size for size in sizes if size != 1}
        if len(larger) > 1:
            return None
        found.append(larger.pop() if larger else 1)
    return tuple(found[::-1])


def _spelled(shapes: Sequence[Extents]) -> str:
    return " and ".join(str(list(shape)) for shape in shapes)


def broadcast(op: Operation, operands: Operands, settings: Settings) -> Found:
    """Return the shape to which shapes are broadcast."""
    shapes = _shapes(op, operands, settings)
    found = _broadcast(shapes)
    if found is None:
        raise _own_reason(op, f"the shapes {_spelled(shapes)} cannot be broadcast")
    return found


def first(op: Operation, operands: Operands, settings: Settings) -> Found:
    """Return the first of shapes that the program says to be the same."""
    return extents_of(op, operands[0], settings)


def concat(op: Operation, operands: Operands, settings: Settings) -> Found:
    """Return two lists of extents as one."""
    one, other = _shapes(op, operands, settings)
    return one + other


def from_extents(op: Operation, operands: Operands, settings: Settings) -> Found:
    """Return the shape with these sizes."""
    return tuple(number_of(op, value, settings) for value in operands)


def meet(op: Operation, operands: Operands, settings: Settings) -> Found:
    """Return a shape or a size that two operands have."""
    take: Callable[[Operation, Any, Settings], Found] = extents_of if is_shape(operands[0].type) else number_of
    one, other = (take(op, value, settings) for value in operands)
    if one != other:
        raise _own_reason(op, f"{one} and {other} differ")
    return one


def extreme(choose: Callable[..., int]) -> Compute:
    """Return the function of shape.max or shape.min, on sizes or on the extents of shapes of one rank."""

    def compute(op: Operation, operands: Operands, settings: Settings) -> Found:
        if not is_shape(operands[0].type):
            return choose(number_of(op, value, settings) for value in operands)
        one, other = _shapes(op, operands, settings)
        if len(one) != len(other):
            raise ErrorShapeError(f"the shapes {_spelled((one, other))} have different ranks")
        return tuple(map(choose, one, other))

    return compute


def split(op: Operation, settings: Settings) -> Function:
    """Return the function of shape.split_at. A negative index counts from the end."""

    def cut(run: Run, operands: Operands) -> tuple[Any, ...]:
        parts: tuple[Extents | Failed, Extents | Failed]
        try:
            shape, index = extents_of(op, operands[0], settings), number_of(op, operands[1], settings)
            place = index + len(shape) if index < 0 else index
            if not 0 <= place <= len(shape):
                raise ErrorShapeError(f"a shape of rank {len(shape)} is not split at {index}")
            parts = shape[:place], shape[place:]
        except ErrorShapeError as error:
            parts = Failed(str(error)), Failed(str(error))
        head, tail = [result.type for result in op.results]
        return result_of(op, head, parts[0], settings), result_of(op, tail, parts[1], settings)

    return cut


# --- sizes ------------------------------------------------------------------------------------------------------------


def rank(op: Operation, operands: Operands, settings: Settings) -> Found:
    """Return the number of extents."""
    return len(extents_of(op, operands[0], settings))


def num_elements(op: Operation, operands: Operands, settings: Settings) -> Found:
    """Return the product of the extents."""
    return prod(extents_of(op, operands[0], settings))


def extent(op: Operation, operands: Operands, settings: Settings) -> Found:
    """Return one extent of a shape, or of the shape of a value."""
    value, which = operands
    shaped = isinstance(value.type, ty.ShapedType) and op.name == "shape.dim"
    shape = value.shape if shaped else extents_of(op, value, settings)
    number = number_of(op, which, settings)
    if not 0 <= number < len(shape):
        raise ErrorShapeError(f"dimension {number} of a shape of rank {len(shape)}")
    return shape[number]


def size(op: Operation, operands: Operands, settings: Settings) -> Found:
    """Return a size as an index, or the other way round."""
    return number_of(op, operands[0], settings)


def arithmetic(function: Callable[[int, int], int]) -> Compute:
    """Return the function of shape.add, shape.mul or shape.div."""

    def compute(op: Operation, operands: Operands, settings: Settings) -> Found:
        one, other = (number_of(op, value, settings) for value in operands)
        if op.name == "shape.div" and other == 0:
            raise ErrorShapeError(f"{one} is divided by 0")
        return function(one, other)

    return compute


# --- questions and constraints ----------------------------------------------------------------------------------------


def _unequal(shapes: Sequence[Extents]) -> str | None:
    return None if len(set(shapes)) <= 1 else f"the shapes {_spelled(shapes)} differ"


def _not_broadcastable(shapes: Sequence[Extents]) -> str | None:
    return None if _broadcast(shapes) is not None else f"the shapes {_spelled(shapes)} cannot be broadcast"


Judge = Callable[[Sequence[Extents]], str | None]
QUESTIONS: dict[str, Judge] = {"equal": _unequal, "broadcastable": _not_broadcastable}


def asked(judge: Judge, constraint: bool) -> OnValues:
    """Return the evaluator of an op that asks whether shapes fit. ``constraint``: its result is a witness."""

    def build(op: Operation, settings: Settings) -> Function:
        def ask(run: Run, operands: Operands) -> tuple[Any, ...]:
            try:
                why = judge(_shapes(op, operands, settings))
            except ErrorShapeError as error:
                if not constraint:
                    raise undefined(op, f"a shape is an error: {error}") from None
                why = str(error)
            return (witness(why) if constraint else Value(ty.I1, np.array(why is None, np.uint8)),)

        return ask

    return OnValues(build)


def require(op: Operation, settings: Settings) -> Function:
    """Return the function of shape.cstr_require."""
    message = op.properties["msg"]
    assert isinstance(message, at.StringAttr)

    def check(run: Run, operands: Operands) -> tuple[Any, ...]:
        (holds,) = operands
        if holds.poison is not None:
            raise undefined(op, f"the condition is poison: {holds.origin()}")
        return (witness(None if holds.bits else message.value),)

    return check


def all_hold(op: Operation, settings: Settings) -> Function:
    """Return the function of shape.assuming_all."""
    return lambda run, operands: (witness(broken(operands)),)


def assuming(op: Operation, compiler: Compiler) -> Action:
    """Return the action of shape.assuming. It is undefined where the constraint does not hold."""
    (slot,) = compiler.slots(op.operands)
    entry = compiler.region(op.regions[0], compiler.resume(op))

    def begin(frame: Frame) -> Segment:
        why = broken([frame.slots[slot]])
        if why is not None:
            raise undefined(op, f"the constraint does not hold: {why}")
        return entry

    return begin


# --- values with shapes -----------------------------------------------------------------------------------------------


def with_shape(op: Operation, settings: Settings) -> Function:
    """Return the function of shape.with_shape: the same value, of which another shape is said."""

    def join(run: Run, operands: Operands) -> tuple[Any, ...]:
        value, said = operands
        try:
            shape: Extents | Failed = extents_of(op, said, settings)
        except ErrorShapeError as error:
            shape = Failed(str(error))
        own = content(op, value).value if value.type == VALUE_SHAPE else value
        return (carried(VALUE_SHAPE, ValueShape(own, shape)),)

    return join


def value_of(op: Operation, settings: Settings) -> Function:
    """Return the function of shape.value_of."""
    type_ = op.results[0].type

    def take(run: Run, operands: Operands) -> tuple[Any, ...]:
        held = content(op, operands[0])
        if not isinstance(held.value, Value) or isinstance(held.shape, Failed):
            raise undefined(op, "there is no value")
        if ty.element_type(held.value.type) != ty.element_type(type_) or prod(held.shape) != prod(held.value.shape):
            raise undefined(op, f"the value of shape {spell_shape(held.value.shape)} is not of type '{type_}'")
        return (reshaped(held.value, type_, held.shape),)

    return take


# --- constants and reductions -----------------------------------------------------------------------------------------


def _constant_shape(op: Operation, compiler: Compiler) -> Value:
    shape = op.properties["shape"]
    assert isinstance(shape, at.DenseElementsAttr)
    extents = tuple(int(number) for number in shape.array().view(np.int64).ravel())
    if min(extents, default=0) < 0:
        raise Unsupported("a shape with an extent that is not known is not run", location=op.location, op=op.name)
    return result_of(op, op.results[0].type, extents, compiler.settings)


def _constant_size(op: Operation, compiler: Compiler) -> Value:
    value = op.properties["value"]
    assert isinstance(value, at.IntegerAttr)
    return result_of(op, op.results[0].type, value.value, compiler.settings)


def _constant_witness(op: Operation, compiler: Compiler) -> Value:
    passing = op.properties["passing"]
    assert isinstance(passing, at.IntegerAttr)
    return witness(None if passing.value else "it is a constant that says so")


CONST_SHAPE, CONST_SIZE = Constant(_constant_shape), Constant(_constant_size)
CONST_WITNESS = Constant(_constant_witness)


def reduce(op: Operation, compiler: Compiler) -> Action:
    """Return the action of shape.reduce: the region runs for one extent after the other."""
    block = op.regions[0].blocks[0]
    segment = compiler.block(block)
    index, extent_slot, *carried_slots = segment.arguments
    shape, *initial = compiler.slots(op.operands)
    types, settings = [value.type for value in op.operands], compiler.settings
    extent_type = block.arguments[1].type
    rest = compiler.hidden_slot()
    finish = compiler.resume(op)(carried_slots)

    def following(frame: Frame) -> Segment | None:
        slots = frame.slots
        entry = next(slots[rest], None)
        if entry is None:
            return finish(frame)
        slots[index], number = entry
        slots[extent_slot] = lower(result_of(op, extent_type, number, settings))
        return segment

    def yielding(sources: Sequence[int]) -> Action:
        def again(frame: Frame) -> Segment | None:
            slots = frame.slots
            given = [slots[source] for source in sources]
            for slot, each in zip(carried_slots, given, strict=True):
                slots[slot] = each
            return following(frame)

        return again

    def begin(frame: Frame) -> Segment | None:
        slots = frame.slots
        try:
            extents = extents_of(op, lift(slots[shape], types[0]), settings)
        except ErrorShapeError as error:
            raise undefined(op, f"the shape is an error: {error}") from None
        for slot, source in zip(carried_slots, initial, strict=True):
            slots[slot] = slots[source]
        slots[rest] = iter(enumerate(extents))
        return following(frame)

    compiler.region(op.regions[0], yielding)
    return begin
