"""IREE's flow dialect (release 3.13): constants of dynamic shape. Its other ops are kept as they are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import CustomForm, CustomParse, Dialect, OpDefinition, Property
from halfulp.interp.dialects.arith.constants import attribute_value
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.control import Compiler
from halfulp.interp.run.evaluators import Pure
from halfulp.interp.run.frames import Run
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter
from halfulp.interp.values.value import Value

flow = Dialect("flow", partial=True)


def _parser(definition: OpDefinition) -> CustomParse:
    """Return the parser of ``value : type -> type``, with a dictionary before it."""

    def parse(p: OpParser, at: int) -> Operation:
        attributes = p.optional_dictionary()
        value = p.attribute()
        p.expect("->")
        properties = {"value": value}
        return p.placed(Operation(definition.name, definition, [], (p.type(),), properties, attributes), at)

    return parse


def _print(printer: OpPrinter, operation: Operation) -> str:
    extra = f" {printer.dictionary(operation.attributes)}" if operation.attributes else ""
    value, type_ = operation.properties["value"], operation.results[0].type
    return f"{extra} {printer.attribute(value)} -> {printer.type(type_)}"


def _constant(op: Operation, compiler: Compiler) -> Callable[[Run, tuple[Any, ...]], tuple[Any, ...]]:
    attribute, type_ = op.properties["value"], op.results[0].type
    given = getattr(attribute, "type", None)
    assert isinstance(type_, ty.TensorType)
    if not isinstance(given, ty.TensorType) or given.element != type_.element or not _fits(given.shape, type_.shape):
        raise Unsupported(f"{attribute} is not a value of type '{type_}'", location=op.location, op=op.name)
    value = attribute_value(attribute, given, op, compiler)
    made = Value(type_, value.bits, value.poison, value.open, value.origins)
    return lambda run, operands: (made,)


def _fits(sizes: Sequence[int | None] | None, declared: Sequence[int | None] | None) -> bool:
    if sizes is None or declared is None or len(sizes) != len(declared):
        return False
    return all(size in (None, known) for known, size in zip(sizes, declared, strict=True))


flow.op(
    "tensor.dynamic_constant",
    custom=CustomForm(_parser, _print),
    results={"result": c.RANKED_TENSOR},
    properties=(Property("value", c.TYPED_ATTR),),
    evaluate=Pure(_constant, of_module=True),
)
