"""The custom form of `func.func`, which MLIR writes by hand."""

from __future__ import annotations

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.dialects.signatures import Signature, print_signature
from halfulp.interp.ir.attributes import StringAttr, TypeAttr
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.literals import spell_symbol
from halfulp.interp.ir.operations import VISIBILITIES, Operation, Region
from halfulp.interp.ir.types import FunctionType
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter


def _function_parser(definition: OpDefinition) -> CustomParse:
    inherent = {prop.name for prop in definition.properties}
    inferred = ("function_type", "sym_name", "sym_visibility")

    def parse(p: OpParser, at: int) -> Operation:
        properties: dict[str, Attribute] = {}
        if p.tokens[p.pos] in VISIBILITIES:
            properties["sym_visibility"] = StringAttr(p.tokens[p.pos])
            p.pos += 1
        if p.tokens[p.pos][:1] != "@":
            p.error(f"custom op '{definition.name}' expected valid '@'-identifier for symbol name")
        properties["sym_name"] = StringAttr(p.symbol())
        signature = Signature(p, definition.name)
        properties["function_type"] = TypeAttr(FunctionType(tuple(signature.inputs), tuple(signature.results)))
        properties |= signature.attributes()
        attributes: dict[str, Attribute] = {}
        at_attributes = p.pos
        if p.take("attributes"):
            p.dictionary(attributes)
            for name in inferred:
                if name in attributes:
                    p.error_at_offset(
                        f"custom op '{definition.name}' '{name}' is an inferred attribute and should not be "
                        "specified in the explicit attribute dictionary",
                        p.offset(at_attributes),
                    )
            for name in inherent & attributes.keys():
                properties[name] = attributes.pop(name)
        at_body = p.pos
        region = Region()
        if p.tokens[p.pos] == "{":
            region = p.region(definition.name, signature.arguments)
            if not any(block.operations for block in region.blocks) and len(region.blocks) < 2:
                p.error(f"custom op '{definition.name}' expected non-empty function body", at_body)
        return p.placed(Operation(definition.name, definition, None, (), properties, attributes, [region]), at)

    return parse


def _print_function(printer: OpPrinter, operation: Operation) -> str:
    properties = operation.properties
    text = ""
    visibility = properties.get("sym_visibility")
    if isinstance(visibility, StringAttr):
        text += f" {visibility.value}"
    text += f" {spell_symbol(operation.symbol_name or '')}"
    function_type = properties["function_type"]
    assert isinstance(function_type, TypeAttr)
    type = function_type.type
    assert isinstance(type, FunctionType)
    region = operation.regions[0]
    text += print_signature(printer, operation, type.inputs, type.results)
    extra = dict(operation.attributes)
    if "no_inline" in properties:
        extra["no_inline"] = properties["no_inline"]
    if extra:
        text += f" attributes {printer.dictionary(extra)}"
    if region.blocks:
        text += f" {printer.region(region, operation, entry_arguments=False)}"
    return text


FUNCTION = CustomForm(_function_parser, _print_function)
