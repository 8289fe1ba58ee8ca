"""The custom form of `arith.select`, which MLIR writes by hand."""

from __future__ import annotations

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.ir.base import Type
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import I1, ShapedType
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter


def _select_parser(definition: OpDefinition) -> CustomParse:
    """Return the parser of ``%c, %a, %b : type``, with the type of the condition before it unless that is i1."""

    def parse(p: OpParser, at: int) -> Operation:
        names = [p.operand_token()]
        for _ in range(2):
            p.expect(",")
            names.append(p.operand_token())
        attributes = p.optional_dictionary()
        p.expect(":")
        condition: Type = I1
        result = p.type()
        if p.take(","):
            condition, result = result, p.type()
        operands = [p.use(name, type) for name, type in zip(names, (condition, result, result), strict=True)]
        return p.placed(Operation(definition.name, definition, operands, (result,), {}, attributes), at)

    return parse


def _print_select(printer: OpPrinter, operation: Operation) -> str:
    names = ", ".join(printer.name(value) for value in operation.operands)
    extra = f" {printer.dictionary(operation.attributes)}" if operation.attributes else ""
    result = operation.results[0].type
    condition = ""
    if isinstance(operation.operands[0].type, ShapedType) and isinstance(result, ShapedType):
        condition = f"{printer.type(operation.operands[0].type)}, "
    return f" {names}{extra} : {condition}{printer.type(result)}"


SELECT = CustomForm(_select_parser, _print_select)
