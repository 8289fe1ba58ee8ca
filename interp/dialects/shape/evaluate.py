"""The evaluation of the shape dialect."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import prod
from typing import Any

import numpy as np

from halfulp.interp.declare.declarations import CustomForm, OpDefinition, TypeConstraint
from halfulp.interp.declare.operands import move_inherent
from halfulp.interp.dialects.elements import Function, Operands, reshaped
from halfulp.interp.dialects.regions import arrow_types, build_op, parenthesised, trailing_dictionary, types_text
from halfulp.interp.dialects.tensor.joining import elements_as_numbers
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import DenseElementsAttr
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.ir.types import INDEX, TensorType, shape_conflict, spell_shape
from halfulp.interp.run.evaluators import Compiler, Constant, OnValues
from halfulp.interp.run.frames import Action, Frame, Run, Segment, lift, lower
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.op_parser import OpParser, OpPrinter
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import first_place

# --- types ------------------------------------------------------------------------------------------------------------
#
# The types of the shape dialect, and the constraints on operands and results that are made of them.

SHAPE = ty.DialectType("shape", "shape")
SIZE = ty.DialectType("shape", "size")
VALUE_SHAPE = ty.DialectType("shape", "value_shape")
WITNESS = ty.DialectType("shape", "witness")
EXTENTS = ty.TensorType((None,), ty.INDEX)


def is_extent_tensor(type_: ty.Type) -> bool:
    """Tell whether a type is a list of sizes: a tensor of index with one dimension."""
    return isinstance(type_, ty.TensorType) and len(type_.shape or ()) == 1 and type_.element == ty.INDEX


def is_shape(type_: ty.Type) -> bool:
    """Tell whether values of a type are shapes."""
    return type_ == SHAPE or is_extent_tensor(type_)


def is_size(type_: ty.Type) -> bool:
    """Tell whether values of a type are sizes."""
    return type_ in (SIZE, ty.INDEX)


def may_be_error(type_: ty.Type) -> bool:
    """Tell whether a value of a type may be an error."""
    return type_ in (SHAPE, SIZE, VALUE_SHAPE)


def _integers(type_: ty.Type) -> bool:
    plain = isinstance(type_, ty.TensorType) and isinstance(type_.element, ty.IntegerType | ty.IndexType)
    return plain and len(ty.shape_of(type_) or ()) == 1


# MLIR has no words for these types.
THE_SHAPE = TypeConstraint("", lambda type_: type_ == SHAPE, builds=SHAPE)
THE_SIZE = TypeConstraint("", lambda type_: type_ == SIZE, builds=SIZE)
THE_VALUE_SHAPE = TypeConstraint("", lambda type_: type_ == VALUE_SHAPE, builds=VALUE_SHAPE)
THE_WITNESS = TypeConstraint("", lambda type_: type_ == WITNESS, builds=WITNESS)
SHAPE_OR_EXTENTS = TypeConstraint("shape or extent tensor", is_shape)
SIZE_OR_INDEX = TypeConstraint("size or index", is_size)
SHAPE_OR_SIZE = TypeConstraint("shape or size", lambda type_: type_ in (SHAPE, SIZE))
ANY_SHAPE_OR_SIZE = TypeConstraint("any shape or size", lambda type_: is_shape(type_) or is_size(type_))
EXTENT_TENSOR = TypeConstraint("1D tensor of index values", is_extent_tensor)
INDEX_TENSOR = TypeConstraint(
    "tensor of index values", lambda type_: isinstance(type_, ty.TensorType) and type_.element == ty.INDEX
)
SHAPED = TypeConstraint("shaped of any type values", lambda type_: isinstance(type_, ty.ShapedType))
SHAPED_OR_VALUE_SHAPE = TypeConstraint(
    "shaped of any type values or ", lambda type_: isinstance(type_, ty.ShapedType) or type_ == VALUE_SHAPE
)
NUMBERS_OR_VALUE_SHAPE = TypeConstraint(
    "1D tensor of integer or index values or ", lambda type_: _integers(type_) or type_ == VALUE_SHAPE
)


# --- forms ------------------------------------------------------------------------------------------------------------
#
# Custom forms of the shape dialect, which MLIR writes by hand.

# --- const_shape ------------------------------------------------------------------------------------------------------


def _parse_constant(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    attributes: dict[str, Attribute] = p.optional_dictionary()
    p.expect("[")
    numbers: list[int] = []
    while p.tokens[p.pos] != "]":
        numbers.append(p.integer("expected integer value"))
        if not p.take(","):
            break
    p.expect("]")
    p.expect(":")
    type_ = p.type()
    properties: dict[str, Attribute] = {"shape": extents_attribute(numbers)}
    move_inherent(definition, properties, attributes)
    return p.placed(Operation(definition.name, definition, [], (type_,), properties, attributes), at)


def extents_attribute(numbers: list[int]) -> DenseElementsAttr:
    """Return the attribute of a list of sizes. If all are equal, the size is stored once, as MLIR does."""
    codes = np.array([number & ((1 << 64) - 1) for number in numbers], np.uint64)
    splat = len(numbers) > 0 and bool((codes == codes[0]).all())
    return DenseElementsAttr(TensorType((len(numbers),), INDEX), codes[0].reshape(()) if splat else codes, splat)


def _print_constant(printer: OpPrinter, operation: Operation) -> str:
    shape = operation.prop("shape", DenseElementsAttr)
    extra = trailing_dictionary(printer, operation)
    numbers = ", ".join(str(number) for number in shape.array().view(np.int64).ravel())
    return f" {extra}[{numbers}] : {printer.type(operation.results[0].type)}"


# --- ops with a region ------------------------------------------------------------------------------------------------


def _parse_assuming(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    witness = p.use(p.operand_token(), WITNESS)
    results = arrow_types(p)
    region = p.terminated(p.region(definition.name), "shape.assuming_yield", at)
    return build_op(p, at, definition, [witness], results, [region])


def _print_assuming(printer: OpPrinter, operation: Operation) -> str:
    text = f" {printer.name(operation.operands[0])}"
    if operation.results:
        text += f" -> {types_text(printer, [result.type for result in operation.results], bare=False)}"
    region = printer.region(operation.regions[0], operation, entry_arguments=False, terminators=bool(operation.results))
    return f"{text} {region}{trailing_dictionary(printer, operation)}"


def _parse_reduce(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    names = parenthesised(p)
    p.expect(":")
    shape = p.type()
    results = arrow_types(p)
    if len(names) != 1 + len(results):
        p.error(f"{len(names)} operands present, but expected {1 + len(results)}", names[0] if names else at)
    operands = [p.use(name, type_) for name, type_ in zip(names, (shape, *results), strict=True)]
    region = p.terminated(p.region(definition.name), "shape.yield", at)
    return build_op(p, at, definition, operands, results, [region])


def _print_reduce(printer: OpPrinter, operation: Operation) -> str:
    names = ", ".join(printer.name(value) for value in operation.operands)
    text = f"({names}) : {printer.type(operation.operands[0].type)}"
    if operation.results:
        text += f" -> {types_text(printer, [result.type for result in operation.results], bare=True)}"
    return f"{text} {printer.region(operation.regions[0], operation)}{trailing_dictionary(printer, operation)}"


CONSTANT = CustomForm(_parse_constant, _print_constant)
ASSUMING = CustomForm(_parse_assuming, _print_assuming)
REDUCE = CustomForm(_parse_reduce, _print_reduce)


# --- held -------------------------------------------------------------------------------------------------------------
#
# The values of the shape dialect's types at run time, each the one element of a `Value` that is carried.
#
# A shape or a size may be an error. An op passes it on where its result may be one; elsewhere the op is undefined.

Extents = tuple[int, ...]


class ErrorShapeError(Exception):
    """Raised for a shape or a size that is an error."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A shape or a size that is an error, or a constraint that does not hold."""

    why: str

    def __str__(self) -> str:
        return f"error: {self.why}"


@dataclass(frozen=True, slots=True)
class ShapeContent:
    """A shape (its extents), a size, or a constraint that holds (True)."""

    content: Extents | int | bool

    def __str__(self) -> str:
        return str(list(self.content) if isinstance(self.content, tuple) else self.content).lower()


@dataclass(frozen=True, slots=True)
class ValueShape:
    """A value, if there is one, and its shape."""

    value: Value | None
    shape: Extents | Failed

    def __str__(self) -> str:
        return f"{'a value' if self.value is not None else 'no value'} of shape {self.shape}"


def shape_value(type_: ty.Type, element: Any) -> Value:
    """Return a value of a type of this dialect."""
    codes = np.empty((), object)
    codes[()] = element
    return Value(type_, codes)


def content(op: Operation, value: Value) -> Any:
    """Return the content of a value of a type of this dialect. Raises UndefinedBehavior for poison."""
    if value.poison is not None:
        raise undefined(op, f"an operand is poison: {value.origin()}")
    return value.bits[()]


def extents_of(op: Operation, value: Any, settings: Settings) -> Extents:
    """Return the extents of a shape, a list of sizes, or a value with its shape. Raises ErrorShapeError."""
    if isinstance(value, Buffer):
        return value.shape
    if value.type not in (SHAPE, VALUE_SHAPE):
        return tuple(elements_as_numbers(op, value, settings, "the extents"))
    held = content(op, value)
    found: Any = held.shape if isinstance(held, ValueShape) else held
    if isinstance(found, Failed):
        raise ErrorShapeError(found.why)
    extents: Extents = getattr(found, "content", found)
    return extents


def number_of(op: Operation, value: Value, settings: Settings) -> int:
    """Return the content of a size or an index as a number. Raises ErrorShapeError if it is an error, and
    UndefinedBehavior for poison.
    """
    if value.type == SIZE:
        held = content(op, value)
        if isinstance(held, Failed):
            raise ErrorShapeError(held.why)
        return int(held.content)
    return elements_as_numbers(op, value, settings, "the operand")[0]


def result_of(op: Operation, type_: ty.Type, found: Extents | int | Failed, settings: Settings) -> Value:
    """Return a result of an op as a value of its type. Raises UndefinedBehavior for an error if values of the type
    cannot be errors.
    """
    if type_ in (SHAPE, SIZE):
        return shape_value(type_, found if isinstance(found, Failed) else ShapeContent(found))
    if isinstance(found, Failed):
        raise undefined(op, found.why)
    mask = (1 << settings.width(ty.INDEX)) - 1
    if isinstance(found, int):
        return Value(type_, np.array(found & mask, np.uint64))
    conflict = shape_conflict(type_, (len(found),), settings.vscale)
    if conflict:
        raise undefined(op, conflict)
    return Value(type_, np.array([number & mask for number in found], np.uint64))


def witness(why: str | None) -> Value:
    """Return a constraint that holds if ``why`` is None. Otherwise it does not hold, for this reason."""
    return shape_value(WITNESS, ShapeContent(True) if why is None else Failed(why))


def broken(witnesses: Sequence[Value]) -> str | None:
    """Return the reason of a constraint that does not hold; None if all hold. In a batch, one lane in which it does not
    hold is enough.
    """
    lost = next((value for value in witnesses if value.poison is not None), None)
    if lost is not None:
        return f"a constraint is poison: {lost.origin(*first_place(lost.poisoned))}"
    found = (held for value in witnesses for held in value.bits.ravel())
    return next((held.why for held in found if isinstance(held, Failed)), None)


# --- evaluate ---------------------------------------------------------------------------------------------------------

ShapeOrSize = Extents | int
Compute = Callable[[Operation, Operands, Settings], ShapeOrSize]


def computed(mnemonic: str) -> OnValues:
    """Return the evaluator of an op of `COMPUTE`, which has one result, a shape or a size. An error becomes the result,
    or is undefined behaviour if the type has no errors.
    """
    compute = COMPUTE[mnemonic]

    def build(op: Operation, settings: Settings) -> Function:
        type_ = op.results[0].type
        return lambda run, operands: (result_of(op, type_, _or_failed(compute, op, operands, settings), settings),)

    return OnValues(build)


def _or_failed(compute: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of ``compute``, or the shape error that it raises."""
    try:
        return compute(*arguments)
    except ErrorShapeError as error:
        return Failed(str(error))


def _shapes(op: Operation, operands: Sequence[Any], settings: Settings) -> list[Extents]:
    return [extents_of(op, value, settings) for value in operands]


def _own_reason(op: Operation, otherwise: str) -> ErrorShapeError:
    """Return the error of an op, with the text of the op if it has one."""
    written = op.properties.get("error")
    return ErrorShapeError(written.value if isinstance(written, at.StringAttr) else otherwise)


# --- shapes -----------------------------------------------------------------------------------------------------------


def _shape_of(op: Operation, operands: Operands, settings: Settings) -> ShapeOrSize:
    """Return the extents of a value."""
    (value,) = operands
    return extents_of(op, value, settings) if value.type == VALUE_SHAPE else value.shape


def _same(op: Operation, operands: Operands, settings: Settings) -> Extents:
    """Return the first shape. The others are the same shape: of another type, or because the program says so."""
    return extents_of(op, operands[0], settings)


def _broadcast(shapes: Sequence[Extents]) -> Extents | None:
    """Return the shape to which shapes are broadcast; None if they do not fit."""
    found: list[int] = []
    for sizes in zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1):
        larger = {size for size in sizes if size != 1}
        if len(larger) > 1:
            return None
        found.append(larger.pop() if larger else 1)
    return tuple(found[::-1])


def _spelled(shapes: Sequence[Extents]) -> str:
    return " and ".join(str(list(shape)) for shape in shapes)


def _broadcast_all(op: Operation, operands: Operands, settings: Settings) -> ShapeOrSize:
    """Return the shape to which shapes are broadcast."""
    shapes = _shapes(op, operands, settings)
    found = _broadcast(shapes)
    if found is None:
        raise _own_reason(op, f"the shapes {_spelled(shapes)} cannot be broadcast")
    return found


def _meet(op: Operation, operands: Operands, settings: Settings) -> ShapeOrSize:
    """Return the shape or size that two operands have in common."""
    take: Callable[[Operation, Any, Settings], ShapeOrSize] = extents_of if is_shape(operands[0].type) else number_of
    one, other = (take(op, value, settings) for value in operands)
    if one != other:
        raise _own_reason(op, f"{one} and {other} differ")
    return one


def _extreme(choose: Callable[..., int]) -> Compute:
    """Return the function that runs shape.max or shape.min, on sizes or on the extents of shapes of one rank."""

    def compute(op: Operation, operands: Operands, settings: Settings) -> ShapeOrSize:
        if not is_shape(operands[0].type):
            return choose(number_of(op, value, settings) for value in operands)
        one, other = _shapes(op, operands, settings)
        if len(one) != len(other):
            raise ErrorShapeError(f"the shapes {_spelled((one, other))} have different ranks")
        return tuple(map(choose, one, other))

    return compute


def split(op: Operation, settings: Settings) -> Function:
    """Return the function that runs shape.split_at. A negative index counts from the end."""

    def parts(operands: Operands) -> tuple[Extents, Extents]:
        shape, index = extents_of(op, operands[0], settings), number_of(op, operands[1], settings)
        place = index + len(shape) if index < 0 else index
        if not 0 <= place <= len(shape):
            raise ErrorShapeError(f"a shape of rank {len(shape)} cannot be split at {index}")
        return shape[:place], shape[place:]

    def cut(run: Run, operands: Operands) -> tuple[Any, ...]:
        found = _or_failed(parts, operands)
        each = (found, found) if isinstance(found, Failed) else found
        return tuple(result_of(op, result.type, part, settings) for result, part in zip(op.results, each, strict=True))

    return cut


# --- sizes ------------------------------------------------------------------------------------------------------------


def _extent(op: Operation, operands: Operands, settings: Settings) -> ShapeOrSize:
    """Return one extent of a shape, or of the shape of a value."""
    value, which = operands
    shaped = isinstance(value.type, ty.ShapedType) and op.name == "shape.dim"
    shape = value.shape if shaped else extents_of(op, value, settings)
    number = number_of(op, which, settings)
    if not 0 <= number < len(shape):
        raise ErrorShapeError(f"there is no dimension {number} in a shape of rank {len(shape)}")
    return shape[number]


def _arithmetic(function: Callable[[int, int], int]) -> Compute:
    """Return the function that runs shape.add, shape.mul or shape.div."""

    def compute(op: Operation, operands: Operands, settings: Settings) -> ShapeOrSize:
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


def _concat(op: Operation, operands: Operands, settings: Settings) -> ShapeOrSize:
    one, other = _shapes(op, operands, settings)
    return one + other


COMPUTE: Mapping[str, Compute] = {
    "add": _arithmetic(operator.add),
    "mul": _arithmetic(operator.mul),
    "div": _arithmetic(operator.floordiv),
    "max": _extreme(max),
    "min": _extreme(min),
    "rank": lambda op, operands, settings: len(_same(op, operands, settings)),
    "num_elements": lambda op, operands, settings: prod(_same(op, operands, settings)),
    "get_extent": _extent,
    "dim": _extent,
    "meet": _meet,
    "shape_of": _shape_of,
    **dict.fromkeys(("any", "value_as_shape", "to_extent_tensor", "from_extent_tensor"), _same),
    "concat": _concat,
    "broadcast": _broadcast_all,
    "from_extents": lambda op, operands, settings: tuple(number_of(op, value, settings) for value in operands),
    **dict.fromkeys(
        ("size_to_index", "index_to_size"), lambda op, operands, settings: number_of(op, operands[0], settings)
    ),
}
"""The functions of the ops with one result, a shape or a size."""


def judged(mnemonic: str) -> OnValues:
    """Return the evaluator of an op that tells whether shapes fit each other. For a constraint (``cstr_``) the result
    is a witness.
    """
    judge = _not_broadcastable if mnemonic.endswith("broadcastable") else _unequal
    constraint = mnemonic.startswith("cstr_")

    def build(op: Operation, settings: Settings) -> Function:
        def ask(run: Run, operands: Operands) -> tuple[Any, ...]:
            shapes = _or_failed(_shapes, op, operands, settings)
            failed = isinstance(shapes, Failed)
            if failed and not constraint:
                raise undefined(op, f"a shape is an error: {shapes.why}")
            why = shapes.why if failed else judge(shapes)
            return (witness(why) if constraint else Value(ty.I1, np.array(why is None, np.uint8)),)

        return ask

    return OnValues(build)


def require(op: Operation, settings: Settings) -> Function:
    """Return the function that runs shape.cstr_require."""
    message = op.prop("msg", at.StringAttr)

    def check(run: Run, operands: Operands) -> tuple[Any, ...]:
        (holds,) = operands
        if holds.poison is not None:
            raise undefined(op, f"the condition is poison: {holds.origin()}")
        return (witness(None if holds.bits else message.value),)

    return check


def all_hold(op: Operation, settings: Settings) -> Function:
    """Return the function that runs shape.assuming_all."""
    return lambda run, operands: (witness(broken(operands)),)


def assuming(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs shape.assuming. Its behaviour is undefined if the constraint does not hold."""
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
    """Return the function that runs shape.with_shape: the same value, with another shape attached."""

    def join(run: Run, operands: Operands) -> tuple[Any, ...]:
        value, said = operands
        shape: Extents | Failed = _or_failed(extents_of, op, said, settings)
        own = content(op, value).value if value.type == VALUE_SHAPE else value
        return (shape_value(VALUE_SHAPE, ValueShape(own, shape)),)

    return join


def value_of(op: Operation, settings: Settings) -> Function:
    """Return the function that runs shape.value_of."""
    type_ = op.results[0].type

    def take(run: Run, operands: Operands) -> tuple[Any, ...]:
        held = content(op, operands[0])
        if isinstance(held.shape, Failed):
            raise undefined(op, f"the shape of the operand is an error: {held.shape.why}")
        if not isinstance(held.value, Value):
            raise undefined(op, "the operand has a shape, but no value")
        if ty.element_type(held.value.type) != ty.element_type(type_) or prod(held.shape) != prod(held.value.shape):
            raise undefined(op, f"the value of shape {spell_shape(held.value.shape)} is not of type '{type_}'")
        return (reshaped(held.value, type_, held.shape),)

    return take


# --- constants and reductions -----------------------------------------------------------------------------------------


def _constant_shape(op: Operation, compiler: Compiler) -> Value:
    shape = op.prop("shape", at.DenseElementsAttr)
    extents = tuple(int(number) for number in shape.array().view(np.int64).ravel())
    if min(extents, default=0) < 0:
        raise Unsupported("halfulp does not run a shape with an unknown extent", location=op.location, op=op.name)
    return result_of(op, op.results[0].type, extents, compiler.settings)


def _constant_size(op: Operation, compiler: Compiler) -> Value:
    value = op.prop("value", at.IntegerAttr)
    return result_of(op, op.results[0].type, value.value, compiler.settings)


def _constant_witness(op: Operation, compiler: Compiler) -> Value:
    passing = op.prop("passing", at.IntegerAttr)
    return witness(None if passing.value else "it is a constant that says so")


CONST_SHAPE, CONST_SIZE = Constant(_constant_shape), Constant(_constant_size)
CONST_WITNESS = Constant(_constant_witness)


def reduce(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs shape.reduce: the region runs for one extent after the other."""
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
        extents = _or_failed(extents_of, op, lift(slots[shape], types[0]), settings)
        if isinstance(extents, Failed):
            raise undefined(op, f"the shape is an error: {extents.why}")
        for slot, source in zip(carried_slots, initial, strict=True):
            slots[slot] = slots[source]
        slots[rest] = iter(enumerate(extents))
        return following(frame)

    compiler.region(op.regions[0], yielding)
    return begin
