"""The custom form of `builtin.module`, which MLIR writes by hand."""

from __future__ import annotations

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.ir.attributes import StringAttr
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.literals import spell_symbol
from halfulp.interp.ir.operations import Block, Operation
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter


def _module_parser(definition: OpDefinition) -> CustomParse:
    def parse(p: OpParser, at: int) -> Operation:
        properties: dict[str, Attribute] = {}
        if p.tokens[p.pos][:1] == "@":
            properties["sym_name"] = StringAttr(p.symbol())
        attributes: dict[str, Attribute] = {}
        if p.take("attributes"):
            p.dictionary(attributes)
        for name in ("sym_name", "sym_visibility"):
            if name in attributes:
                properties[name] = attributes.pop(name)
        region = p.region(definition.name)
        if not region.blocks:
            region.append(Block())
        return p.placed(Operation(definition.name, definition, None, (), properties, attributes, [region]), at)

    return parse


def _print_module(printer: OpPrinter, operation: Operation) -> str:
    text = ""
    name = operation.properties.get("sym_name")
    if isinstance(name, StringAttr):
        text += f" {spell_symbol(name.value)}"
    extra = dict(operation.attributes)
    if "sym_visibility" in operation.properties:
        extra["sym_visibility"] = operation.properties["sym_visibility"]
    if extra:
        text += f" attributes {printer.dictionary(extra)}"
    return f"{text} {printer.region(operation.regions[0], operation)}"


MODULE = CustomForm(_module_parser, _print_module)
