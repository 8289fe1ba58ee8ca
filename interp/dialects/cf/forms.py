"""The custom form of `cf.switch`, which MLIR writes by hand."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.fp_formats.codes import ints_to_codes
from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.declare.operands import SEGMENTS
from halfulp.interp.ir.attributes import DenseArrayAttr, DenseElementsAttr, python_codes
from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.operations import Operation, SSAValue, Successor
from halfulp.interp.ir.types import I32, IntegerType, VectorType
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter


def typed_operands(p: OpParser) -> tuple[list[int], list[Type]]:
    """Read ``%a, %b : type, type)`` or ``)``."""
    tokens = p.operand_tokens()
    types: list[Type] = []
    if tokens:
        p.expect(":")
        types = p.type_list()
    p.expect(")")
    return tokens, types


def read_successor(p: OpParser) -> Successor:
    """Read ``^block`` or ``^block(%a, %b : type, type)``."""
    block = p.successor_block()
    values: list[SSAValue] = []
    if p.take("("):
        tokens, types = typed_operands(p)
        if len(tokens) != len(types):
            p.error(
                f"number of operands and types do not match: got {len(tokens)} operands and {len(types)} types",
                tokens[0],
            )
        values = [p.use(token, type) for token, type in zip(tokens, types, strict=True)]
        if p.forward:
            p.pending.append(values)
    return block, values


def _switch_parser(definition: OpDefinition) -> CustomParse:
    """Read ``%flag : type, [default: ^a, 1: ^b(%x : i32)]``."""

    def parse(p: OpParser, at: int) -> Operation:
        name = p.operand_token()
        p.expect(":")
        at_type = p.pos
        type = p.type()
        if not isinstance(type, IntegerType):
            p.error(
                f"custom op '{definition.name}' invalid kind of type specified: expected builtin.integer, but found "
                f"'{type}'",
                at_type,
            )
        p.expect(",")
        p.expect("[")
        p.keyword(definition, "default")
        p.expect(":")
        successors = [read_successor(p)]
        codes: list[int] = []
        while p.take(","):
            at_value = p.pos
            value = p.integer(f"custom op '{definition.name}' expected integer value", wide=True)
            codes.append(case_code(p, at_value, value, type))
            p.expect(":")
            successors.append(read_successor(p))
        p.expect("]")
        properties = case_properties(successors, codes, type)
        attributes = p.optional_dictionary()
        flag = p.use(name, type)
        made = Operation(definition.name, definition, [flag], (), properties, attributes, successors=successors)
        return p.placed(made, at)

    return parse


def case_code(p: OpParser, at: int, value: int, type: IntegerType) -> int:
    """Return the code of a case's value. Raises ParseError where it does not fit the type of the flag."""
    if not -(1 << type.width >> 1) <= value < 1 << type.width:
        p.error(f"the case value does not fit the type '{type}' of the flag", at)
    return value & ((1 << type.width) - 1)


def case_properties(successors: Sequence[Successor], codes: list[int], type: IntegerType) -> dict[str, Attribute]:
    """Return the properties of a switch: how many operands each successor takes, and the values of the cases."""
    sizes = [len(values) for _, values in successors]
    properties: dict[str, Attribute] = {
        "case_operand_segments": DenseArrayAttr(I32, tuple(sizes[1:])),
        SEGMENTS: DenseArrayAttr(I32, (1, sizes[0], sum(sizes[1:]))),
    }
    if codes:
        properties["case_values"] = _case_values(codes, type)
    return properties


def _case_values(codes: list[int], type: IntegerType) -> DenseElementsAttr:
    splat = codes.count(codes[0]) == len(codes)
    array = ints_to_codes(codes[:1], type.width, ()) if splat else ints_to_codes(codes, type.width, (len(codes),))
    return DenseElementsAttr(VectorType((len(codes),), type), array, splat)


def case_codes(operation: Operation) -> list[int]:
    """Return the codes of the values of the cases."""
    values = operation.properties.get("case_values")
    if not isinstance(values, DenseElementsAttr):
        return []
    flat = values.array().reshape(-1, *values.element_shape)
    return list(python_codes(flat, wide=bool(values.element_shape)))


def print_successor(printer: OpPrinter, successor: Successor) -> str:
    """Print ``^block`` or ``^block(%a, %b : type, type)``."""
    block, passed = successor
    if not passed:
        return printer.label(block)
    names = ", ".join(printer.name(value) for value in passed)
    types = ", ".join(printer.type(value.type) for value in passed)
    return f"{printer.label(block)}({names} : {types})"


def _print_switch(printer: OpPrinter, operation: Operation) -> str:
    flag = operation.operands[0]
    indent = "\n" + printer.indent + "  "
    labels = ["default", *map(str, case_codes(operation))]
    cases = [
        f"{indent}{label}: {print_successor(printer, successor)}"
        for label, successor in zip(labels, operation.successors, strict=True)
    ]
    end = "]" if len(cases) == 1 else f"\n{printer.indent}]"
    extra = f" {printer.dictionary(operation.attributes)}" if operation.attributes else ""
    return f" {printer.name(flag)} : {printer.type(flag.type)}, [{','.join(cases)}{end}{extra}"


SWITCH = CustomForm(_switch_parser, _print_switch)
