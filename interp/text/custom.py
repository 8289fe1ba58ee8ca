"""Custom forms that MLIR writes by hand: a parser factory and a printer each, by the name a declaration gives.

A parser factory takes the op's declaration and returns what `halfulp.interp.text.assembly.compile_parser` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from halfulp.interp.declare.declarations import OpDefinition
from halfulp.interp.declare.operands import SEGMENTS
from halfulp.interp.dialects.scf.forms import STRUCTURED, keyword_of
from halfulp.interp.ir.attributes import (
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    DenseElementsAttr,
    DictionaryAttr,
    StringAttr,
    TypeAttr,
    python_codes,
)
from halfulp.interp.ir.literals import spell_symbol
from halfulp.interp.ir.locations import Location
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue, Successor
from halfulp.interp.ir.types import I1, I32, FunctionType, IntegerType, ShapedType, Type, VectorType
from halfulp.interp.text.attribute_parser import store_codes
from halfulp.interp.text.parser import Argument

if TYPE_CHECKING:
    from halfulp.interp.text.assembly import CustomParse, CustomPrint
    from halfulp.interp.text.parser import Parser
    from halfulp.interp.text.printer import Printer

VISIBILITIES = ("public", "private", "nested")


def _made(
    p: Parser,
    at: int,
    definition: OpDefinition,
    properties: dict[str, Attribute],
    attributes: dict[str, Attribute],
    region: Region,
) -> Operation:
    operation = Operation(definition.name, definition, None, (), properties, attributes, [region])
    operation.source = p.source
    operation.token = at
    return operation


# --- builtin.module -------------------------------------------------------------------------------------------------


def _module_parser(definition: OpDefinition) -> CustomParse:
    def parse(p: Parser, at: int) -> Operation:
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
        return _made(p, at, definition, properties, attributes, region)

    return parse


def _print_module(printer: Printer, operation: Operation) -> str:
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


# --- func.func ------------------------------------------------------------------------------------------------------


class _Signature:
    """The arguments and results of a function with their attributes, as they are read."""

    def __init__(self, p: Parser) -> None:
        self.arguments: list[Argument] = []
        self.inputs: list[Type] = []
        self.input_attributes: list[DictionaryAttr] = []
        self.results: list[Type] = []
        self.result_attributes: list[DictionaryAttr] = []
        p.expect("(")
        if p.tokens[p.pos] != ")":
            self._argument(p)
            while p.take(","):
                self._argument(p)
        p.expect(")")
        if p.take("->"):
            self._results(p)

    def _argument(self, p: Parser) -> None:
        at = p.pos
        named = p.tokens[at][:1] == "%" and len(p.tokens[at]) > 1
        if self.inputs and named != bool(self.arguments):
            expected = "SSA identifier" if self.arguments else "type instead of SSA identifier"
            p.error(f"custom op 'func.func' expected {expected}")
        if named:
            if "#" in p.tokens[at]:
                p.error("result number not allowed in argument list")
            p.pos += 1
            p.expect(":")
        self.inputs.append(p.type())
        self.input_attributes.append(_dictionary(p))
        location: Location | int | None = None
        if p.tokens[p.pos] == "loc":
            location = p.deferrable_location()
        if named:
            self.arguments.append(Argument(at, self.inputs[-1], location))

    def _results(self, p: Parser) -> None:
        if p.tokens[p.pos] != "(":
            self.results.append(p.non_function_type())
            self.result_attributes.append(DictionaryAttr(()))
            return
        p.pos += 1
        while p.tokens[p.pos] != ")":
            self.results.append(p.type())
            self.result_attributes.append(_dictionary(p))
            if not p.take(","):
                break
        p.expect(")")


def _dictionary(p: Parser) -> DictionaryAttr:
    return DictionaryAttr.of(p.dictionary()) if p.tokens[p.pos] == "{" else DictionaryAttr(())


def _function_parser(definition: OpDefinition) -> CustomParse:
    inherent = {prop.name for prop in definition.properties}
    inferred = ("function_type", "sym_name", "sym_visibility")

    def parse(p: Parser, at: int) -> Operation:
        properties: dict[str, Attribute] = {}
        if p.tokens[p.pos] in VISIBILITIES:
            properties["sym_visibility"] = StringAttr(p.tokens[p.pos])
            p.pos += 1
        if p.tokens[p.pos][:1] != "@":
            p.error(f"custom op '{definition.name}' expected valid '@'-identifier for symbol name")
        properties["sym_name"] = StringAttr(p.symbol())
        signature = _Signature(p)
        properties["function_type"] = TypeAttr(FunctionType(tuple(signature.inputs), tuple(signature.results)))
        for name, written in (("arg_attrs", signature.input_attributes), ("res_attrs", signature.result_attributes)):
            if any(dictionary.entries for dictionary in written):
                properties[name] = ArrayAttr(tuple(written))
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
        return _made(p, at, definition, properties, attributes, region)

    return parse


def _print_function(printer: Printer, operation: Operation) -> str:
    properties = operation.properties
    text = ""
    visibility = properties.get("sym_visibility")
    if isinstance(visibility, StringAttr):
        text += f" {visibility.value}"
    text += f" {spell_symbol(operation.symbol_name or '')}("
    function_type = properties["function_type"]
    assert isinstance(function_type, TypeAttr)
    type = function_type.type
    assert isinstance(type, FunctionType)
    region = operation.regions[0]
    inputs = [printer.type(input) for input in type.inputs]
    if region.blocks:
        inputs = [
            f"{printer.name(argument)}: {input}"
            for argument, input in zip(region.blocks[0].arguments, inputs, strict=True)
        ]
    inputs = _with_attributes(printer, inputs, properties.get("arg_attrs"))
    if region.blocks:
        inputs = [
            input + printer.location_of_argument(argument)
            for argument, input in zip(region.blocks[0].arguments, inputs, strict=True)
        ]
    text += f"{', '.join(inputs)})"
    if type.results:
        results = _with_attributes(
            printer, [printer.type(result) for result in type.results], properties.get("res_attrs")
        )
        bare = len(results) == 1 and not isinstance(type.results[0], FunctionType) and "res_attrs" not in properties
        text += f" -> {results[0]}" if bare else f" -> ({', '.join(results)})"
    extra = dict(operation.attributes)
    if "no_inline" in properties:
        extra["no_inline"] = properties["no_inline"]
    if extra:
        text += f" attributes {printer.dictionary(extra)}"
    if region.blocks:
        text += f" {printer.region(region, operation, entry_arguments=False)}"
    return text


def _with_attributes(printer: Printer, texts: list[str], attributes: Attribute | None) -> list[str]:
    if not isinstance(attributes, ArrayAttr):
        return texts
    return [
        f"{text} {printer.attribute(dictionary)}"
        if isinstance(dictionary, DictionaryAttr) and dictionary.entries
        else text
        for text, dictionary in zip(texts, attributes.elements, strict=True)
    ]


# --- arith.select ---------------------------------------------------------------------------------------------------


def _select_parser(definition: OpDefinition) -> CustomParse:
    """``%c, %a, %b : type`` with an i1 condition, ``%c, %a, %b : condition type, type`` with one bit per element."""

    def parse(p: Parser, at: int) -> Operation:
        names = [p.operand_token()]
        for _ in range(2):
            p.expect(",")
            names.append(p.operand_token())
        attributes: dict[str, Attribute] = {}
        if p.tokens[p.pos] == "{":
            p.dictionary(attributes)
        p.expect(":")
        condition: Type = I1
        result = p.type()
        if p.take(","):
            condition, result = result, p.type()
        operands = [p.use(name, type) for name, type in zip(names, (condition, result, result), strict=True)]
        return p.placed(Operation(definition.name, definition, operands, (result,), {}, attributes), at)

    return parse


def _print_select(printer: Printer, operation: Operation) -> str:
    names = ", ".join(printer.name(value) for value in operation.operands)
    extra = f" {printer.dictionary(operation.attributes)}" if operation.attributes else ""
    result = operation.results[0].type
    condition = ""
    if isinstance(operation.operands[0].type, ShapedType) and isinstance(result, ShapedType):
        condition = f"{printer.type(operation.operands[0].type)}, "
    return f" {names}{extra} : {condition}{printer.type(result)}"


# --- cf.switch ------------------------------------------------------------------------------------------------------


def _successor(p: Parser) -> Successor:
    """``^block`` or ``^block(%a, %b : type, type)``."""
    block = p.successor_block()
    values: list[SSAValue] = []
    if p.take("("):
        tokens = p.operand_tokens()
        types: list[Type] = []
        if tokens:
            p.expect(":")
            types = p.type_list()
        p.expect(")")
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
    """``%flag : type, [default: ^a, 1: ^b(%x : i32)]``."""

    def parse(p: Parser, at: int) -> Operation:
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
        keyword_of(p, definition, "default")
        p.expect(":")
        successors = [_successor(p)]
        codes: list[int] = []
        while p.take(","):
            at_value = p.pos
            value = p.integer(f"custom op '{definition.name}' expected integer value", wide=True)
            codes.append(_case_code(p, at_value, value, type))
            p.expect(":")
            successors.append(_successor(p))
        p.expect("]")
        sizes = [len(values) for _, values in successors]
        properties: dict[str, Attribute] = {
            "case_operand_segments": DenseArrayAttr(I32, tuple(sizes[1:])),
            SEGMENTS: DenseArrayAttr(I32, (1, sizes[0], sum(sizes[1:]))),
        }
        if codes:
            values_type = VectorType((len(codes),), type)
            splat = codes.count(codes[0]) == len(codes)
            array = store_codes(codes[:1] if splat else codes, type)
            properties["case_values"] = DenseElementsAttr(values_type, array.reshape(array.shape[splat:]), splat)
        attributes: dict[str, Attribute] = {}
        if p.tokens[p.pos] == "{":
            p.dictionary(attributes)
        flag = p.use(name, type)
        made = Operation(definition.name, definition, [flag], (), properties, attributes, successors=successors)
        return p.placed(made, at)

    return parse


def _case_code(p: Parser, at: int, value: int, type: IntegerType) -> int:
    if not -(1 << type.width >> 1) <= value < 1 << type.width:
        p.error(f"the case value does not fit the type '{type}' of the flag", at)
    return value & ((1 << type.width) - 1)


def _print_switch(printer: Printer, operation: Operation) -> str:
    flag = operation.operands[0]
    values = operation.properties.get("case_values")
    labels = ["default"]
    if isinstance(values, DenseElementsAttr):
        width = len(values.element_shape)
        flat = values.array().reshape(-1, *values.element_shape)
        labels += [str(code) for code in python_codes(flat, wide=bool(width))]
    indent = "\n" + printer.indent + "  "
    cases = []
    for label, (block, passed) in zip(labels, operation.successors, strict=True):
        text = f"{indent}{label}: {printer.label(block)}"
        if passed:
            names = ", ".join(printer.name(value) for value in passed)
            types = ", ".join(printer.type(value.type) for value in passed)
            text += f"({names} : {types})"
        cases.append(text)
    end = "]" if len(cases) == 1 else f"\n{printer.indent}]"
    extra = f" {printer.dictionary(operation.attributes)}" if operation.attributes else ""
    return f" {printer.name(flag)} : {printer.type(flag.type)}, [{','.join(cases)}{end}{extra}"


CUSTOM: Mapping[str, tuple[Callable[[OpDefinition], CustomParse], CustomPrint]] = {
    "module": (_module_parser, _print_module),
    "func": (_function_parser, _print_function),
    "select": (_select_parser, _print_select),
    "cf_switch": (_switch_parser, _print_switch),
    **STRUCTURED,
}
