"""The custom form of `func.func`, which MLIR writes by hand."""

from __future__ import annotations

from collections.abc import Callable

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.ir.attributes import ArrayAttr, DictionaryAttr, StringAttr, TypeAttr
from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.literals import spell_symbol
from halfulp.interp.ir.locations import Location
from halfulp.interp.ir.operations import VISIBILITIES, Operation, Region
from halfulp.interp.ir.types import FunctionType
from halfulp.interp.text.op_parser import Argument, OpParser
from halfulp.interp.text.op_printer import OpPrinter


class _Signature:
    """The arguments and results of a function with their attributes, as they are read."""

    def __init__(self, p: OpParser) -> None:
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

    def _argument(self, p: OpParser) -> None:
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

    def _results(self, p: OpParser) -> None:
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


def _dictionary(p: OpParser) -> DictionaryAttr:
    return DictionaryAttr.of(p.optional_dictionary())


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
        return p.placed(Operation(definition.name, definition, None, (), properties, attributes, [region]), at)

    return parse


def _print_function(printer: OpPrinter, operation: Operation) -> str:
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
    # As in MLIR, the attributes of arguments of a body have aliases only where others need these.
    spelled = _without_counting(printer) if region.blocks else printer.attribute
    inputs = _with_attributes(spelled, inputs, properties.get("arg_attrs"))
    if region.blocks:
        inputs = [
            input + printer.location_of_argument(argument)
            for argument, input in zip(region.blocks[0].arguments, inputs, strict=True)
        ]
    text += f"{', '.join(inputs)})"
    if type.results:
        results = [printer.type(result) for result in type.results]
        results = _with_attributes(printer.attribute, results, properties.get("res_attrs"))
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


def _without_counting(printer: OpPrinter) -> Callable[[Attribute], str]:
    return lambda attribute: attribute.spell_nested(printer.names)


def _with_attributes(spelled: Callable[[Attribute], str], texts: list[str], attributes: Attribute | None) -> list[str]:
    if not isinstance(attributes, ArrayAttr):
        return texts
    return [
        f"{text} {spelled(dictionary)}" if isinstance(dictionary, DictionaryAttr) and dictionary.entries else text
        for text, dictionary in zip(texts, attributes.elements, strict=True)
    ]


FUNCTION = CustomForm(_function_parser, _print_function)
