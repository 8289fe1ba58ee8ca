"""The text forms of tosa's ops.

Most ops have one form: operands, a dictionary of attributes, and a function type. Later builds of MLIR 24, such as that
of IREE 3.13, write the attributes as clauses ``name(value)``, and earlier ones cannot read these. Both are read; the
dictionary is printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.declarations import CustomForm
from halfulp.interp.declare.operands import move_inherent
from halfulp.interp.dialects.regions import (
    assignments,
    loop_regions,
    loop_type,
    print_assignments,
    print_while,
    trailing_dictionary,
    types_text,
)
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumAttr, EnumDefinition
from halfulp.interp.ir.operations import Operation, Region
from halfulp.interp.text.directives import PropertyForm, property_form
from halfulp.interp.text.op_parser import OpParser, OpPrinter

# --- the form of most ops ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """The form of an op.

    ``bare``: the property that is a bare word in the dictionary. ``generic``: whether it is printed in generic form.
    """

    bare: str = ""
    generic: bool = False

    @property
    def custom(self) -> CustomForm:
        """The reader and the printer."""
        return CustomForm(self._read, self._print)

    def _read(self, p: OpParser, at_: int, definition: d.OpDefinition) -> Operation:
        tokens = p.operand_tokens() if p.tokens[p.pos][:1] == "%" else []
        properties: dict[str, at.Attribute] = {}
        forms = _clauses(definition)
        while (name := p.tokens[p.pos]) in forms and name not in properties:
            p.pos += 1
            if p.tokens[p.pos] == "(":
                p.pos += 1
                properties[name] = forms[name].read(p)
                p.expect(")")
            else:
                properties[name] = forms[name].read(p)
        attributes = self._dictionary(p, definition) if p.tokens[p.pos] == "{" else {}
        move_inherent(definition, properties, attributes)
        p.expect(":")
        if p.tokens[p.pos] != "(":
            p.wrong_token("expected '('")
        type_ = p.function_type()
        operands = p.uses(definition.name, tokens, type_.inputs, tokens[0] if tokens else at_)
        return p.placed(Operation(definition.name, definition, operands, type_.results, properties, attributes), at_)

    def _dictionary(self, p: OpParser, definition: d.OpDefinition) -> dict[str, at.Attribute]:
        """Read the dictionary. The value of one property may be a bare word."""
        if not self.bare:
            return p.dictionary()
        prop = definition.property_named(self.bare)
        assert prop is not None
        assert isinstance(prop.kind, EnumDefinition)
        enum = prop.kind
        entries: dict[str, at.Attribute] = {}
        p.expect("{")
        while not p.take("}"):
            word, equals, value = (*p.tokens[p.pos : p.pos + 3], "", "")[:3]  # the text may end here
            if word == self.bare and equals == "=" and value[:1].isalpha():
                p.pos += 2
                if value not in enum.cases:
                    what = "resize mode" if word == "mode" else word
                    p.wrong(definition.name, f"invalid {what} value: {value}", hint=p.similar(value, enum.cases))
                p.pos += 1
                entries[word] = enum.attribute(enum.cases[value])
            else:
                p.entry(entries)
                if p.take(":"):
                    p.type()  # MLIR accepts a type behind any attribute of a dialect, and forgets it.
            if not p.take(","):
                p.expect("}")
                break
        return entries

    def _print(self, printer: OpPrinter, op: Operation) -> str | None:
        assert op.definition is not None
        if self.generic:
            return None
        text = "".join([" ", ", ".join(map(printer.name, op.operands))])
        entries = op.attributes | {
            name: value for name, value in op.properties.items() if not _is_default(op.definition, name, value)
        }
        if entries and self.bare:
            pairs = (f"{name} = {self._value(printer, name, entries[name])}" for name in sorted(entries))
            text += f" {{{', '.join(pairs)}}}"
        elif entries:
            text += f" {printer.dictionary(entries)}"
        types = tuple(value.type for value in op.operands), tuple(result.type for result in op.results)
        return f"{text} : {printer.type(ty.FunctionType(*types))}"

    def _value(self, printer: OpPrinter, name: str, value: at.Attribute) -> str:
        return value.keywords if isinstance(value, EnumAttr) and name == self.bare else printer.attribute(value)


PLAIN = Form()
"""The form of an op without a bare word."""


def _is_default(definition: d.OpDefinition, name: str, value: at.Attribute) -> bool:
    """Tell whether a property has the value that an absent one has."""
    prop = definition.property_named(name)
    return prop is not None and value in (prop.implied, prop.elided)


@cache
def _clauses(definition: d.OpDefinition) -> Mapping[str, PropertyForm]:
    """Return the readers of the properties, each of which may be written as a clause."""
    return {prop.name: property_form(prop, f"custom op '{definition.name}' ") for prop in definition.properties}


# --- control ----------------------------------------------------------------------------------------------------------


def _read_if(p: OpParser, at_: int, definition: d.OpDefinition) -> Operation:
    tokens, given = [p.operand_token()], list[int]()
    listed = p.tokens[p.pos] == "("
    if listed:
        _, given = assignments(p)
    p.expect(":")
    types = [p.type()]
    results: Sequence[ty.Type]
    if listed:
        type_ = loop_type(p, definition, len(given), p.pos)
        types, results = [*types, *type_.inputs], type_.results
    else:
        results = p.function_results() if p.take("->") else ()
    operands = [p.use(token, each) for token, each in zip((*tokens, *given), types, strict=True)]
    regions = [p.region(definition.name), Region()]
    if p.take("else"):
        regions[1] = p.region(definition.name)
    attributes = p.optional_dictionary()
    return p.placed(Operation(definition.name, definition, operands, results, {}, attributes, regions), at_)


def _print_if(printer: OpPrinter, op: Operation) -> str:
    condition, *inputs = op.operands
    then, otherwise = op.regions
    text = f" {printer.name(condition)}{print_assignments(printer, '', then.blocks[0], 0, inputs)}"
    text += f" : {printer.type(condition.type)}"
    if inputs:
        text += f" {types_text(printer, [value.type for value in inputs], bare=False)}"
    text += f" -> {types_text(printer, [result.type for result in op.results], bare=True)}"
    text += f" {printer.region(then, op)}"
    if otherwise.blocks:
        text += f" else {printer.region(otherwise, op)}"
    return text + trailing_dictionary(printer, op)


def _read_while(p: OpParser, at_: int, definition: d.OpDefinition) -> Operation:
    names, given = assignments(p) if p.tokens[p.pos] == "(" else ([], [])
    p.expect(":")
    type_ = loop_type(p, definition, len(given), p.pos)
    operands, regions = loop_regions(p, definition, names, given, type_)
    attributes = p.dictionary() if p.take("attributes") else {}
    return p.placed(Operation(definition.name, definition, operands, type_.results, {}, attributes, regions), at_)


IF = CustomForm(_read_if, _print_if)
WHILE = CustomForm(_read_while, print_while)

# --- variables --------------------------------------------------------------------------------------------------------


def type_of_variable(op: Operation) -> ty.TensorType:
    """Return the type of the tensor that a variable holds. -1 stands for a size that is not known."""
    sizes = op.properties.get("var_shape")
    element = op.prop("type", at.TypeAttr).type
    assert isinstance(sizes, at.DenseElementsAttr)
    numbers = [at.integer_of_code(int(code), ty.INDEX) for code in sizes.array().reshape(-1)]
    return ty.TensorType(tuple([None if number < 0 else number for number in numbers]), element)


def _shape_attribute(shape: Sequence[int | None]) -> at.DenseElementsAttr:
    numbers = np.array([-1 if size is None else size for size in shape], np.int64).view(np.uint64)
    splat = len(numbers) > 0 and bool((numbers == numbers[0]).all())
    type_ = ty.TensorType((len(shape),), ty.INDEX)
    return at.DenseElementsAttr(type_, numbers[0] if splat else numbers, splat)


def _read_variable(p: OpParser, at_: int, definition: d.OpDefinition) -> Operation:
    properties: dict[str, at.Attribute] = {}
    if p.tokens[p.pos][:1] == '"':
        properties["sym_visibility"] = at.StringAttr(p.string())
    properties["sym_name"] = at.StringAttr(p.symbol())
    attributes = p.optional_dictionary()
    place = p.pos
    if p.take("="):
        initial = p.attribute()
        type_ = getattr(initial, "type", None)
        if type_ is None or isinstance(initial, at.TypeAttr):
            p.wrong(definition.name, "expected Typed attr")
        properties["initial_value"] = initial
    else:
        p.expect(":")
        type_ = p.type()
    if not isinstance(type_, ty.TensorType | ty.VectorType | ty.MemRefType):
        p.wrong(definition.name, "expected shaped type", place)
    if type_.shape is None:
        p.wrong(definition.name, "expected ranked type", place)
    properties["var_shape"] = _shape_attribute(type_.shape)
    properties["type"] = at.TypeAttr(type_.element)
    move_inherent(definition, properties, attributes)
    return p.placed(Operation(definition.name, definition, [], [], properties, attributes), at_)


def _print_variable(printer: OpPrinter, op: Operation) -> str:
    visibility, initial = op.properties.get("sym_visibility"), op.properties.get("initial_value")
    text = f" {visibility}" if visibility is not None else ""
    text += f" {_symbol(op, 'sym_name')}"
    if op.attributes:
        text += f" {printer.dictionary(op.attributes)}"
    if initial is None or not isinstance(getattr(initial, "type", None), ty.Type):
        text += f" : {printer.type(type_of_variable(op))}"
    return text if initial is None else f"{text} = {printer.attribute(initial)}"


def _symbol(op: Operation, name: str) -> str:
    return str(at.SymbolRefAttr(op.prop(name, at.StringAttr).value))


def _read_write(p: OpParser, at_: int, definition: d.OpDefinition) -> Operation:
    properties: dict[str, at.Attribute] = {"name": at.StringAttr(p.symbol())}
    attributes = p.optional_dictionary()
    p.expect(",")
    token = p.operand_token()
    p.expect(":")
    value = p.use(token, p.type())
    return p.placed(Operation(definition.name, definition, [value], [], properties, attributes), at_)


def _print_write(printer: OpPrinter, op: Operation) -> str:
    (value,) = op.operands
    attributes = f" {printer.dictionary(op.attributes)}" if op.attributes else ""
    return f" {_symbol(op, 'name')}{attributes}, {printer.name(value)} : {printer.type(value.type)}"


def _read_read(p: OpParser, at_: int, definition: d.OpDefinition) -> Operation:
    properties: dict[str, at.Attribute] = {"name": at.StringAttr(p.symbol())}
    attributes = p.optional_dictionary()
    p.expect(":")
    return p.placed(Operation(definition.name, definition, [], [p.type()], properties, attributes), at_)


def _print_read(printer: OpPrinter, op: Operation) -> str:
    attributes = f" {printer.dictionary(op.attributes)}" if op.attributes else ""
    return f" {_symbol(op, 'name')}{attributes} : {printer.type(op.results[0].type)}"


VARIABLE = CustomForm(_read_variable, _print_variable)
VARIABLE_WRITE = CustomForm(_read_write, _print_write)
VARIABLE_READ = CustomForm(_read_read, _print_read)
