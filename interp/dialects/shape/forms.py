"""Custom forms of the shape dialect, which MLIR writes by hand."""

from __future__ import annotations

import numpy as np

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.declare.operands import move_inherent
from halfulp.interp.dialects.shape.types import WITNESS
from halfulp.interp.ir.attributes import DenseElementsAttr
from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.ir.types import INDEX, TensorType
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter

# --- const_shape ------------------------------------------------------------------------------------------------------


def _constant_parser(definition: OpDefinition) -> CustomParse:
    def parse(p: OpParser, at: int) -> Operation:
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

    return parse


def extents_attribute(numbers: list[int]) -> DenseElementsAttr:
    """Return the attribute of a list of sizes; one that repeats is written once, as MLIR does."""
    codes = np.array([number & ((1 << 64) - 1) for number in numbers], np.uint64)
    splat = len(numbers) > 0 and bool((codes == codes[0]).all())
    return DenseElementsAttr(TensorType((len(numbers),), INDEX), codes[0].reshape(()) if splat else codes, splat)


def _print_constant(printer: OpPrinter, operation: Operation) -> str:
    shape = operation.properties["shape"]
    assert isinstance(shape, DenseElementsAttr)
    extra = f" {printer.dictionary(operation.attributes)}" if operation.attributes else ""
    numbers = ", ".join(str(number) for number in shape.array().view(np.int64).ravel())
    return f" {extra}[{numbers}] : {printer.type(operation.results[0].type)}"


# --- ops with a region ------------------------------------------------------------------------------------------------


def _made(
    p: OpParser, at: int, definition: OpDefinition, operands: list[SSAValue], results: tuple[Type, ...], ends: str
) -> Operation:
    region = p.region(definition.name)
    if ends:
        p.terminated(region, ends, at)
    attributes: dict[str, Attribute] = p.optional_dictionary()
    return p.placed(Operation(definition.name, definition, operands, results, {}, attributes, [region]), at)


def _arrow_types(p: OpParser) -> tuple[Type, ...]:
    return p.function_results() if p.take("->") else ()


def _dictionary(printer: OpPrinter, operation: Operation) -> str:
    return f" {printer.dictionary(operation.attributes)}" if operation.attributes else ""


def _assuming_parser(definition: OpDefinition) -> CustomParse:
    def parse(p: OpParser, at: int) -> Operation:
        witness = p.use(p.operand_token(), WITNESS)
        return _made(p, at, definition, [witness], _arrow_types(p), "shape.assuming_yield")

    return parse


def _print_assuming(printer: OpPrinter, operation: Operation) -> str:
    text = f" {printer.name(operation.operands[0])}"
    if operation.results:
        text += f" -> ({', '.join(printer.type(result.type) for result in operation.results)})"
    region = printer.region(operation.regions[0], operation, entry_arguments=False, terminators=bool(operation.results))
    return f"{text} {region}{_dictionary(printer, operation)}"


def _reduce_parser(definition: OpDefinition) -> CustomParse:
    def parse(p: OpParser, at: int) -> Operation:
        p.expect("(")
        names = p.operand_tokens()
        p.expect(")")
        p.expect(":")
        shape = p.type()
        results = _arrow_types(p)
        if len(names) != 1 + len(results):
            p.error(f"{len(names)} operands present, but expected {1 + len(results)}", names[0] if names else at)
        operands = [p.use(name, type_) for name, type_ in zip(names, (shape, *results), strict=True)]
        return _made(p, at, definition, operands, results, "shape.yield")

    return parse


def _print_reduce(printer: OpPrinter, operation: Operation) -> str:
    names = ", ".join(printer.name(value) for value in operation.operands)
    text = f"({names}) : {printer.type(operation.operands[0].type)}"
    types = [printer.type(result.type) for result in operation.results]
    if types:
        text += f" -> {types[0] if len(types) == 1 else '(' + ', '.join(types) + ')'}"
    return f"{text} {printer.region(operation.regions[0], operation)}{_dictionary(printer, operation)}"


CONSTANT = CustomForm(_constant_parser, _print_constant)
ASSUMING = CustomForm(_assuming_parser, _print_assuming)
REDUCE = CustomForm(_reduce_parser, _print_reduce)
