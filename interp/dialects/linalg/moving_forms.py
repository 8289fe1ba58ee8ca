"""Custom forms of linalg.map, reduce, transpose and broadcast.

The body of a map or a reduction may be the name of an op, ``{ arith.addf }``, which gets the elements in order. In a
reduction the accumulator comes first.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.declare.operands import move_inherent
from halfulp.interp.dialects.linalg.forms import Parts, print_operands, read_parts, yielding
from halfulp.interp.dialects.linalg.structure import inputs_and_inits, type_in_body
from halfulp.interp.ir.attributes import DenseArrayAttr
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue
from halfulp.interp.ir.types import I64, TensorType
from halfulp.interp.text.op_parser import Argument, OpParser
from halfulp.interp.text.op_printer import OpPrinter

_NAME = re.compile(r"[A-Za-z_][\w$.]*")


class Shape(NamedTuple):
    """What the form of an op has.

    ``numbers``: the property that is written as a list of numbers. ``body``: it has a body; without one, elements are
    moved. ``init_first``: an op in place of a body gets the accumulator first; else it does not get it.
    """

    numbers: str = ""
    body: bool = False
    init_first: bool = False


class _Payload(NamedTuple):
    """The op that stands for a body."""

    name: str
    attributes: dict[str, Attribute]


def _read_payload(p: OpParser) -> _Payload | None:
    if not p.take("{"):
        return None
    if not _NAME.fullmatch(p.tokens[p.pos]):
        p.error("expected bare identifier or keyword")
    name = p.tokens[p.pos]
    p.pos += 1
    payload = _Payload(name, p.optional_dictionary())
    p.expect("}")
    return payload


def _payload_operands(block: Block, shape: Shape) -> list[SSAValue]:
    """Return the arguments of a body in the order in which an op in its place gets them."""
    *inputs, init = block.arguments
    return [init, *inputs] if shape.init_first else list(inputs)


def _write_payload(p: OpParser, payload: _Payload, block: Block, shape: Shape) -> None:
    definition = p.registry.find(payload.name)
    properties: dict[str, Attribute] = {}
    if definition is not None:
        move_inherent(definition, properties, payload.attributes)
    result = block.arguments[-1].type
    operands = _payload_operands(block, shape)
    made = Operation(payload.name, definition, operands, [result], properties, payload.attributes)
    block.append(made)
    yielding(p, block, made.results)


def _read_numbers(p: OpParser, definition: OpDefinition, name: str) -> DenseArrayAttr:
    p.keyword(definition, name)
    p.expect("=")
    p.expect("[")
    numbers = []
    while p.tokens[p.pos] != "]":
        numbers.append(p.integer())
        if not p.take(","):
            break
    p.expect("]")
    return DenseArrayAttr(I64, tuple(number & ((1 << 64) - 1) for number in numbers))


def _read_body(p: OpParser, definition: OpDefinition) -> Region:
    p.expect("(")
    arguments = []
    while p.tokens[p.pos] != ")":
        token = p.operand_token()
        p.expect(":")
        type_ = p.type()
        location = p.deferrable_location() if p.tokens[p.pos] == "loc" else None
        arguments.append(Argument(token, type_, location))
        if not p.take(","):
            break
    p.expect(")")
    return p.region(definition.name, arguments)


def _made_body(p: OpParser, parts: Parts, payload: _Payload | None, shape: Shape) -> Region:
    block = Block()
    for value in parts.operands:
        argument = block.add_argument(type_in_body(value.type))
        if payload is None:
            argument.take_location_of(value)
    if payload is None:
        yielding(p, block, block.arguments[:1])
    elif block.arguments:
        _write_payload(p, payload, block, shape)
    return Region([block])


def moving_form(shape: Shape) -> CustomForm:
    """Return the form of one of these ops."""

    def parser(definition: OpDefinition) -> CustomParse:
        def parse(p: OpParser, at: int) -> Operation:
            payload = _read_payload(p) if shape.body else None
            parts = read_parts(p, definition)
            if shape.numbers:
                parts.properties[shape.numbers] = _read_numbers(p, definition, shape.numbers)
            parts.attributes |= p.optional_dictionary()
            written = shape.body and payload is None
            region = _read_body(p, definition) if written else _made_body(p, parts, payload, shape)
            results = tuple(type_ for type_ in parts.inits if isinstance(type_, TensorType) and type_.shape is not None)
            move_inherent(definition, parts.properties, parts.attributes)
            operation = Operation(
                definition.name, definition, parts.operands, results, parts.properties, parts.attributes, [region]
            )
            if not written:
                for each in region.blocks[0].operations:
                    p.placed(each, at)
            return p.placed(operation, at)

        return parse

    def print_(printer: OpPrinter, op: Operation) -> str:
        payload = _payload_of(op, shape) if shape.body else None
        text = "" if payload is None else _payload_text(printer, payload)
        text += print_operands(printer, op)
        if shape.numbers:
            numbers = op.properties[shape.numbers]
            assert isinstance(numbers, DenseArrayAttr)
            text += f" {shape.numbers} = [{', '.join(map(str, numbers.values))}] "
        text += f" {printer.dictionary(op.attributes)}" if op.attributes else ""
        return text + (_body_text(printer, op) if shape.body and payload is None else "")

    return CustomForm(parser, print_)


def _payload_of(op: Operation, shape: Shape) -> Operation | None:
    """Return the op that can stand for the body, if there is one."""
    (block,) = op.regions[0].blocks
    if len(block.operations) != 2:
        return None
    payload, end = block.operations
    alone = len(end.operands) == 1 and len(payload.results) == 1 and end.operands[0] is payload.results[0]
    wanted = _payload_operands(block, shape)
    same = len(payload.operands) == len(wanted) and all(a is b for a, b in zip(payload.operands, wanted, strict=True))
    return payload if alone and same and wanted and _NAME.fullmatch(payload.name) else None


def _payload_text(printer: OpPrinter, payload: Operation) -> str:
    entries = {**payload.properties, **payload.attributes}
    shown = {name: attribute for name, attribute in entries.items() if not _is_no_fastmath(attribute)}
    return f" {{ {payload.name}{' ' + printer.dictionary(shown) if shown else ''} }}"


def _is_no_fastmath(attribute: Attribute) -> bool:
    return isinstance(attribute, EnumAttr) and attribute.definition.mnemonic == "arith.fastmath" and not attribute.value


def _body_text(printer: OpPrinter, op: Operation) -> str:
    (block,) = op.regions[0].blocks
    outer = printer.indent
    printer.indent = outer + "  "
    arguments = ", ".join(
        f"{printer.name(argument)}: {printer.type(argument.type)}{printer.location_of_argument(argument)}"
        for argument in block.arguments
    )
    text = f"\n{printer.indent}({arguments}) {printer.region(op.regions[0], op, entry_arguments=False)}"
    printer.indent = outer
    return text


def argument_names(op: Operation) -> list[str]:
    """Return the names that MLIR gives the arguments of the body."""
    inputs, inits = inputs_and_inits(op)
    return ["in"] * len(inputs) + ["init"] * len(inits)
