"""The custom forms that many ops of StableHLO share (`dialect/AssemblyFormat.cpp`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare import parameters as kinds
from halfulp.interp.declare.operands import move_inherent
from halfulp.interp.dialects.stablehlo.attributes import i64_array, read_case, read_precision, spelled_precision
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.dialect_attributes import EnumAttr, EnumDefinition
from halfulp.interp.ir.operations import Operation, Region
from halfulp.interp.text.affine_parser import is_integer
from halfulp.interp.text.directives import CUSTOM_DIRECTIVES, ElementForm, OpReading, Slots
from halfulp.interp.text.op_parser import OpParser, OpPrinter


def read_integer(p: OpParser, op: str) -> int:
    """Read an integer of a custom form and return it. ``op``: the name of the op, for errors."""
    at_ = p.pos
    if not is_integer(p.tokens[at_ + (p.tokens[at_] == "-")]):
        p.wrong(op, "expected integer value")
    return p.integer()


def read_integers(p: OpParser, op: str) -> tuple[int, ...]:
    """Read ``[1, 2]``, possibly empty, of a custom form, and return the numbers. ``op``: the name of the op, for
    errors.
    """
    p.expect("[")
    return tuple(p.until("]", lambda: read_integer(p, op)))


def read_rest(
    p: OpParser,
    at_: int,
    definition: d.OpDefinition,
    tokens: Sequence[int],
    properties: dict[str, at.Attribute],
    regions: Sequence[Region] = (),
) -> Operation:
    """Read the dictionary and the function type at the end of an op, and return the op. ``tokens``: the indices of the
    tokens of its operands.
    """
    start = p.pos
    attributes = p.optional_dictionary()
    for prop in definition.properties:
        given = attributes.get(prop.name)
        if given is not None and not prop.kind.accepts(given):
            problem = f"attribute '{prop.name}' failed to satisfy constraint: {prop.kind.description}"
            p.wrong(definition.name, f"'{definition.name}' op {problem}", start)
    move_inherent(definition, properties, attributes)
    p.expect(":")
    type_ = p.function_type()
    operands = p.uses(definition.name, tokens, type_.inputs, tokens[0] if tokens else at_)
    made = Operation(definition.name, definition, operands, type_.results, properties, attributes, list(regions))
    return p.placed(made, at_)


# --- types ------------------------------------------------------------------------------------------------------------


def _assign(
    p: OpParser, state: OpReading, slots: Slots, names: Sequence[str], type_: ty.FunctionType, at_: int
) -> None:
    """Give operands, and a result behind them, their types from a function type."""
    op = slots.definition.name
    if len(type_.inputs) != len(names) - 1:
        p.wrong(op, f"{len(names) - 1} operands present, but expected {len(type_.inputs)}", at_)
    if len(type_.results) != 1:
        p.wrong(op, "expected single output", at_)
    for name, each in zip(names, (*type_.inputs, *type_.results), strict=True):
        state.types[slots.index[name]] = each


def _function_type(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
    types = operation.types
    count = len(operation.operands)
    out.value(printer.type(ty.FunctionType(tuple(types[:count]), tuple(types[count:]))))


def _same_operands_and_result(slots: Slots, *names: str) -> ElementForm:
    """Return the form of the types of ops whose operands and result often have one type: that type, else a function
    type.
    """

    def read(p: OpParser, state: OpReading) -> None:
        at_ = p.pos
        type_ = p.type()
        if isinstance(type_, ty.FunctionType):
            _assign(p, state, slots, names, type_, at_)
        else:
            for name in names:
                state.types[slots.index[name]] = type_

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        types = operation.types
        if all(each == types[0] for each in types):
            out.value(printer.type(types[0]))
        else:
            _function_type(printer, operation, out)

    return ElementForm(read, print_)


def _same_operands_and_result_variadic(slots: Slots, inputs: str, result: str) -> ElementForm:
    """Return the form of the types of an op with any number of operands and one result, which often have one type."""
    first, last = slots.index[inputs], slots.index[result]

    def read(p: OpParser, state: OpReading) -> None:
        at_, op, count = p.pos, slots.definition.name, len(state.operands[first] or ())
        type_ = p.type()
        if not isinstance(type_, ty.FunctionType):
            state.types[first], state.types[last] = (type_,) * count, type_
            return
        if len(type_.inputs) != count:
            p.wrong(op, f"{count} operands present, but expected {len(type_.inputs)}", at_)
        if len(type_.results) != 1:
            p.wrong(op, "expected single output", at_)
        state.types[first], state.types[last] = type_.inputs, type_.results[0]

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        types = operation.types
        if all(each == types[-1] for each in types):
            out.value(printer.type(types[-1]))
        else:
            _function_type(printer, operation, out)

    return ElementForm(read, print_)


def _tuple_type(slots: Slots, operands: str, result: str) -> ElementForm:
    """Return the form of the types of tuple: that of the result."""
    first, last = slots.index[operands], slots.index[result]

    def read(p: OpParser, state: OpReading) -> None:
        at_ = p.pos
        type_ = p.type()
        if not isinstance(type_, ty.TupleType):
            p.wrong(slots.definition.name, "expected tuple type", at_)
        state.types[first], state.types[last] = type_.elements, type_

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        out.value(printer.type(operation.results[0].type))

    return ElementForm(read, print_)


def _pairwise_types(slots: Slots, operands: str, results: str) -> ElementForm:
    """Return the form of the types of operands that are those of the results too."""
    first, last = slots.index[operands], slots.index[results]

    def read(p: OpParser, state: OpReading) -> None:
        state.types[first] = state.types[last] = tuple(p.type_list())

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        out.value(", ".join(printer.type(value.type) for value in operation.operands))

    return ElementForm(read, print_)


def _select_types(slots: Slots, *names: str) -> ElementForm:
    """Return the form of the types of select: that of the condition and that of the result, else a function type."""

    def read(p: OpParser, state: OpReading) -> None:
        at_ = p.pos
        types = p.type_list()
        if len(types) == 1 and isinstance(types[0], ty.FunctionType):
            _assign(p, state, slots, names, types[0], at_)
            return
        if len(types) != 2:
            p.wrong(slots.definition.name, "expected functional type or list of two types", at_)
        for name, each in zip(names, (types[0], *[types[1]] * 3), strict=True):
            state.types[slots.index[name]] = each

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        condition, yes, no, result = operation.types
        if yes == no == result:
            out.value(f"{printer.type(condition)}, {printer.type(result)}")
        else:
            _function_type(printer, operation, out)

    return ElementForm(read, print_)


def _complex_types(slots: Slots, *names: str) -> ElementForm:
    """Return the form of the types of complex: that of the result, or a function type if the parts have others."""

    def read(p: OpParser, state: OpReading) -> None:
        at_ = p.pos
        type_ = p.type()
        if isinstance(type_, ty.FunctionType):
            _assign(p, state, slots, names, type_, at_)
            return
        if not isinstance(ty.element_type(type_), ty.ComplexType) or not isinstance(type_, ty.ShapedType):
            p.wrong(slots.definition.name, "expected tensor with complex element type", at_)
        part = ty.number_type(ty.element_type(type_))
        for name, each in zip(names, (*[ty.with_element(type_, part)] * 2, type_), strict=True):
            state.types[slots.index[name]] = each

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        one, other, result = operation.types
        if one == other == ty.with_element(result, ty.number_type(ty.element_type(result))):
            out.value(printer.type(result))
        else:
            _function_type(printer, operation, out)

    return ElementForm(read, print_)


# --- attributes -------------------------------------------------------------------------------------------------------


def _exponent_mantissa(slots: Slots, *names: str) -> ElementForm:
    """Return the form of a float format: ``e5m10``."""

    def read(p: OpParser, state: OpReading) -> None:
        at_, op = p.pos, slots.definition.name
        token = p.tokens[at_]
        if not (token[:1].isalpha() or token[:1] == "_"):
            p.wrong(op, "expected valid keyword")
        found = re.fullmatch(r"e([0-9]+)m([0-9]+)", token)
        if found is None:
            p.wrong(op, f"expected exponent mantissa in format e#m#, saw {token}")
        p.pos += 1
        for what, digits in zip(("exponent", "mantissa"), found.groups(), strict=True):
            if len(digits.lstrip("0")) > 10 or int(digits) >= 1 << 31:
                p.wrong(op, f"unable to parse {what} '{digits}'", at_)
        for name, digits in zip(names, found.groups(), strict=True):
            state.properties[name] = at.IntegerAttr(int(digits), ty.I32)

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        exponent, mantissa = (operation.number(name) for name in names)
        out.value(f"e{exponent}m{mantissa}")

    return ElementForm(read, print_)


def _slice_ranges(slots: Slots, *names: str) -> ElementForm:
    """Return the form of the ranges of a slice: ``[start:limit, start:limit:stride]``."""
    op = slots.definition.name

    def one(p: OpParser) -> tuple[int, ...]:
        start = read_integer(p, op)
        p.expect(":")
        limit = read_integer(p, op)
        return start, limit, read_integer(p, op) if p.take(":") else 1

    def read(p: OpParser, state: OpReading) -> None:
        p.expect("[")
        ranges = list(p.until("]", lambda: one(p)))
        for name, numbers in zip(names, zip(*ranges, strict=True) if ranges else ((),) * 3, strict=True):
            state.properties[name] = i64_array(numbers)

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        lists = [operation.numbers(name) for name in names]
        ranges = [f"{a}:{b}" if c == 1 else f"{a}:{b}:{c}" for a, b, c in zip(*lists, strict=True)]
        out.value(f"[{', '.join(ranges)}]")

    return ElementForm(read, print_)


def _operands_before(slots: Slots, name: str) -> ElementForm:
    """Return the form of operands in front of an attribute: there is a comma behind each, or one without operands."""
    index = slots.index[name]

    def read(p: OpParser, state: OpReading) -> None:
        state.operands[index] = []
        while p.tokens[p.pos][:1] == "%":
            state.operands[index].append(p.operand_token())
            p.expect(",")

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        out.value(f"{', '.join(printer.name(value) for value in slots.values(operation, index))},")

    return ElementForm(read, print_)


def _keyword(slots: Slots, name: str) -> ElementForm:
    """Return the form of an enumeration as its bare keyword."""
    enum = narrowed(slots.properties[name].kind, EnumDefinition)

    def read(p: OpParser, state: OpReading) -> None:
        state.properties[name] = read_case(p, enum, slots.definition.name)

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        attribute = operation.prop(name, EnumAttr)
        out.value(attribute.keywords)

    return ElementForm(read, print_, present=lambda operation: name in operation.properties)


def _precision(slots: Slots, name: str) -> ElementForm:
    """Return the form of the precisions of both sides: ``[HIGH, DEFAULT]``."""

    def read(p: OpParser, state: OpReading) -> None:
        state.properties[name] = read_precision(p, slots.definition.name)

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        out.value(spelled_precision(operation.prop(name, at.ArrayAttr)))

    return ElementForm(read, print_, present=lambda operation: name in operation.properties)


CUSTOM_DIRECTIVES["Precision"] = _precision
CUSTOM_DIRECTIVES["SameOperandsAndResultType"] = _same_operands_and_result
CUSTOM_DIRECTIVES["VariadicSameOperandsAndResultType"] = _same_operands_and_result_variadic
CUSTOM_DIRECTIVES["TupleOpType"] = _tuple_type
CUSTOM_DIRECTIVES["PairwiseOpType"] = _pairwise_types
CUSTOM_DIRECTIVES["SelectTypes"] = _select_types
CUSTOM_DIRECTIVES["ComplexTypes"] = _complex_types
CUSTOM_DIRECTIVES["ExponentMantissa"] = _exponent_mantissa
CUSTOM_DIRECTIVES["SliceRanges"] = _slice_ranges
CUSTOM_DIRECTIVES["VariadicOperandWithAttribute"] = _operands_before
CUSTOM_DIRECTIVES["Keyword"] = _keyword
UNARY = "$operand attr-dict `:` custom<SameOperandsAndResultType>($operand, $result)"
BINARY = "$lhs `,` $rhs attr-dict `:` custom<SameOperandsAndResultType>($lhs, $rhs, $result)"
FUNCTION_TYPE = "attr-dict `:` functional-type(operands, results)"


def array(name: str) -> d.Property:
    """Declare a property that is a list of numbers."""
    return d.Property(name, d.INTEGER_64_ARRAY_ATTR)
