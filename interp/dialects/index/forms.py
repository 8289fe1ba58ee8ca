"""The custom form of `index.cmp`: the predicate stands before the operands, which are in parentheses."""

from __future__ import annotations

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.declare.operands import move_inherent
from halfulp.interp.declare.parameters import keyword
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.dialect_attributes import AttributeDefinition, DialectAttr, EnumDefinition
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import I1, INDEX
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter


def comparison(predicate: AttributeDefinition, predicates: EnumDefinition) -> CustomForm:
    """Return the form of `index.cmp` for the attribute of its predicate, and the enum that this holds."""
    kind = keyword(predicates)

    def parser(definition: OpDefinition) -> CustomParse:
        def parse(p: OpParser, at: int) -> Operation:
            case = kind.read(p)
            p.expect("(")
            names = [p.operand_token()]
            p.expect(",")
            names.append(p.operand_token())
            p.expect(")")
            attributes: dict[str, Attribute] = p.optional_dictionary()
            properties: dict[str, Attribute] = {"pred": DialectAttr(predicate, (case,))}
            move_inherent(definition, properties, attributes)
            operands = [p.use(name, INDEX) for name in names]
            return p.placed(Operation(definition.name, definition, operands, (I1,), properties, attributes), at)

        return parse

    def print_(printer: OpPrinter, operation: Operation) -> str:
        chosen = operation.properties["pred"]
        assert isinstance(chosen, DialectAttr)
        names = ", ".join(printer.name(value) for value in operation.operands)
        extra = f" {printer.dictionary(operation.attributes)}" if operation.attributes else ""
        return f" {chosen['value']}({names}){extra}"

    return CustomForm(parser, print_)
