"""Custom forms that the smt dialect writes by hand."""

from __future__ import annotations

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.ir.attributes import IntegerAttr
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import IntegerType
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter
from halfulp.interp.text.token_parser import integer_value, is_integer


def _discardable(printer: OpPrinter, operation: Operation) -> str:
    return f" {printer.dictionary(operation.attributes)}" if operation.attributes else ""


def _int_constant_parser(definition: OpDefinition) -> CustomParse:
    """Return the parser of ``5``. The attribute is unsigned, and has as many bits as the number, at least 64."""

    def parse(p: OpParser, at: int) -> Operation:
        negative = p.take("-")
        token = p.tokens[p.pos]
        if not is_integer(token):
            p.error("expected integer value")
        p.pos += 1
        value = integer_value(token)
        width = max(64, value.bit_length() + 1)
        code = (-value if negative else value) & ((1 << width) - 1)
        attribute = IntegerAttr(code, IntegerType(width, "unsigned"))
        result = definition.results[0].constraint.builds
        assert result is not None
        return p.placed(
            Operation(definition.name, definition, [], (result,), {"value": attribute}, p.optional_dictionary()), at
        )

    return parse


def smt_integer(attribute: Attribute) -> int:
    """Return the number of a constant of the smt dialect: its bits are signed, whatever its type says."""
    assert isinstance(attribute, IntegerAttr)
    width = attribute.type.width if isinstance(attribute.type, IntegerType) else 64
    return attribute.code - (1 << width) if attribute.code >> (width - 1) else attribute.code


def _print_int_constant(printer: OpPrinter, operation: Operation) -> str:
    """Print the number, signed."""
    return f" {smt_integer(operation.properties['value'])}{_discardable(printer, operation)}"


def _same_type_parser(definition: OpDefinition) -> CustomParse:
    """Return the parser of ``%a, %b, %c : type``."""

    def parse(p: OpParser, at: int) -> Operation:
        tokens = p.operand_tokens()
        attributes = p.optional_dictionary()
        p.expect(":")
        type = p.type()
        result = definition.results[0].constraint.builds
        assert result is not None
        operands = [p.use(token, type) for token in tokens]
        return p.placed(Operation(definition.name, definition, operands, (result,), {}, attributes), at)

    return parse


def _print_same_type(printer: OpPrinter, operation: Operation) -> str:
    """Print what `_same_type_parser` reads."""
    names = ", ".join(printer.name(value) for value in operation.operands)
    return f" {names}{_discardable(printer, operation)} : {printer.type(operation.operands[0].type)}"


INT_CONSTANT = CustomForm(_int_constant_parser, _print_int_constant)
SAME_TYPE = CustomForm(_same_type_parser, _print_same_type)
