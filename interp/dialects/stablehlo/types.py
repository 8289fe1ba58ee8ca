"""The dialect stablehlo: its constraints on types, its enumerations, and the forms that many of its ops share.

The words are those of StableHLO's own verifier (`dialect/Base.td`, `StablehloEnums.td`, `AssemblyFormat.cpp`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare import parameters as kinds
from halfulp.interp.dialects.elementwise import sizes_agree
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import (
    AttributeDefinition,
    DialectAttr,
    EnumAttr,
    EnumDefinition,
    Parameter,
    ParameterForm,
)
from halfulp.interp.ir.operations import Operation
from halfulp.interp.text.directives import CUSTOM_DIRECTIVES, ElementForm, OpReading, Slots
from halfulp.interp.text.op_parser import OpParser, OpPrinter

stablehlo = d.Dialect("stablehlo")

# --- elements ---------------------------------------------------------------------------------------------------------


class Kind(Enum):
    """The classes of elements. An op has a meaning for each class that its declaration allows."""

    BOOLEAN = "boolean"
    SIGNED = "signed"
    UNSIGNED = "unsigned"
    FLOAT = "float"
    COMPLEX = "complex"
    QUANTIZED = "quantized"
    QUANTIZED_BY_AXIS = "quantized by axis"


_INTEGER_WIDTHS = (2, 4, 8, 16, 32, 64)
_FLOATS = frozenset(
    (
        "f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3FN", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E5M2",
        "f8E5M2FNUZ", "f8E8M0FNU", "bf16", "f16", "f32", "f64",
    )
)  # fmt: skip


def kind_of(element: ty.Type) -> Kind | None:
    """Return the class of an element type; None for one that StableHLO does not have."""
    if isinstance(element, ty.IntegerType):
        if element == ty.I1:
            return Kind.BOOLEAN
        if element.width not in _INTEGER_WIDTHS or element.signedness == "signed":
            return None
        return Kind.UNSIGNED if element.signedness == "unsigned" else Kind.SIGNED
    if isinstance(element, ty.FloatType):
        return Kind.FLOAT if element.format.name in _FLOATS else None
    if isinstance(element, ty.ComplexType):
        return Kind.COMPLEX if element.element in (ty.F("f32"), ty.F("f64")) else None
    if isinstance(element, ty.UniformQuantizedType):
        return Kind.QUANTIZED if element.axis is None else Kind.QUANTIZED_BY_AXIS
    return None


_WORDS = {
    "B": ("bool", {Kind.BOOLEAN}),
    "S": ("2/4/8/16/32/64-bit signless integer", {Kind.SIGNED}),
    "I": ("2/4/8/16/32/64-bit integer", {Kind.SIGNED, Kind.UNSIGNED}),
    "F": ("4/6/8/16/32/64-bit float", {Kind.FLOAT}),
    "f": ("32/64-bit float", {Kind.FLOAT}),
    "C": ("complex type with 32/64-bit float elements", {Kind.COMPLEX}),
    "Q": ("per-tensor integer quantized", {Kind.QUANTIZED}),
    "X": ("per-axis integer quantized", {Kind.QUANTIZED_BY_AXIS}),
}
"""The letters for classes of elements, with the words of StableHLO and the classes."""


_SHAPES: Mapping[str, Callable[[tuple[int | None, ...]], bool]] = {
    "ranked": lambda shape: True,
    "0D": lambda shape: shape == (),
    "statically shaped": lambda shape: None not in shape,
    "statically shaped or single bounded dimension": lambda shape: None not in shape,
}
"""StableHLO's words for tensors of some shapes, and the condition. Bounds are not read: such a type does not occur."""


def tensor_of(letters: str, shaped: str = "ranked") -> d.TypeConstraint:
    """Return the constraint for tensors of elements of these classes, named in this order. ``shaped``: StableHLO's
    words for the shapes.
    """
    allowed = {kind for letter in letters for kind in _WORDS[letter][1]}
    wide = {ty.F("f32"), ty.F("f64")} if "f" in letters else None

    def accepts(type_: ty.Type) -> bool:
        if not isinstance(type_, ty.TensorType) or type_.shape is None:
            return False
        if not _SHAPES[shaped](type_.shape):
            return False
        return kind_of(type_.element) in allowed and (wide is None or type_.element in wide)

    words = " or ".join(_WORDS[letter][0] for letter in letters)
    return d.TypeConstraint(f"{shaped} tensor of {words} values", accepts, d.RANKED_TENSOR.kind)


# --- types that go together -------------------------------------------------------------------------------------------


def shapes_fit(one: ty.Type, other: ty.Type) -> bool:
    """Tell whether two tensors may have one shape at run time."""
    first, second = ty.shape_of(one), ty.shape_of(other)
    return first is None or second is None or sizes_agree(first, second)


def elements_fit(one: ty.Type, other: ty.Type) -> bool:
    """Tell whether two element types are the same, or quantised types of one storage and expressed type."""
    if isinstance(one, ty.UniformQuantizedType) and isinstance(other, ty.UniformQuantizedType):
        return (one.storage, one.expressed) == (other.storage, other.expressed)
    return one == other


def types_fit(one: ty.Type, other: ty.Type) -> bool:
    """Tell whether two tensors are compatible: the same elements, and shapes that may be the same at run time."""
    return shapes_fit(one, other) and elements_fit(ty.element_type(one), ty.element_type(other))


def _types_of(op: Operation) -> list[ty.Type]:
    return [value.type for value in (*op.operands, *op.results)]


def same_elements(op: Operation) -> str | None:
    """Check that all operands and results have the same elements."""
    first, *others = map(ty.element_type, _types_of(op))
    return (
        None
        if all(other == first for other in others)
        else "requires the same element type for all operands and results"
    )


def compatible_elements(op: Operation) -> str | None:
    """Check that the elements of all operands and results are compatible."""
    first, *others = map(ty.element_type, _types_of(op))
    if all(elements_fit(first, other) for other in others):
        return None
    return "requires compatible element types for all operands and results"


def same_shape(op: Operation) -> str | None:
    """Check that all operands and results have one shape."""
    first, *others = _types_of(op)
    if all(shapes_fit(first, other) for other in others):
        return None
    return "requires the same shape for all operands and results"


def compatible(op: Operation) -> str | None:
    """Check that the types of all operands and results are compatible."""
    first, *others = _types_of(op)
    if all(types_fit(first, other) for other in others):
        return None
    return "requires compatible types for all operands and results"


def not_inferred(op: Operation, expected: ty.Type) -> str | None:
    """Check the type of the result of an op against the one that follows from its operands."""
    found = op.results[0].type
    if types_fit(expected, found):
        return None
    return f"inferred type(s) '{expected}' are incompatible with return type(s) of operation '{found}'"


# --- enumerations -----------------------------------------------------------------------------------------------------


def _enum(mnemonic: str, *names: str, first: int = 0) -> EnumDefinition:
    return stablehlo.enum(
        EnumDefinition(
            f"::mlir::stablehlo::{''.join(word.title() for word in mnemonic.split('_'))}Attr",
            {name: number for number, name in enumerate(names, first)},
            mnemonic=f"stablehlo.{mnemonic}",
            bare=True,
        )
    )


DIRECTION = _enum("comparison_direction", "EQ", "NE", "GE", "GT", "LE", "LT")
COMPARISON_TYPE = _enum("comparison_type", "NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")
PRECISION = _enum("precision", "DEFAULT", "HIGH", "HIGHEST")


def i64_array(numbers: Sequence[int]) -> at.DenseArrayAttr:
    """Return an array attribute of signed numbers."""
    return at.DenseArrayAttr(ty.I64, tuple([number & (1 << 64) - 1 for number in numbers]))


COUNT = d.AttributeConstraint(
    "64-bit signless integer attribute whose value is non-negative", d.NON_NEGATIVE_ATTR.accepts
)

# --- attributes -------------------------------------------------------------------------------------------------------

stablehlo.attribute(
    "output_operand_alias",
    "`<` `output_tuple_indices` `=` $output_tuple_indices `,` `operand_index` `=` $operand_index `,` "
    "`operand_tuple_indices` `=` $operand_tuple_indices `>`",
    parameters=(
        Parameter("output_tuple_indices", kinds.INTEGER_ARRAY),
        Parameter("operand_index", kinds.INTEGER),
        Parameter("operand_tuple_indices", kinds.INTEGER_ARRAY),
    ),
)
ANY_TENSOR = tensor_of("FBICQX")
I32_TENSOR = d.TypeConstraint(
    "ranked tensor of 32-bit signless integer values",
    lambda type_: isinstance(type_, ty.TensorType) and type_.shape is not None and type_.element == ty.I32,
    d.RANKED_TENSOR.kind,
)
PLAIN_TENSOR = tensor_of("FBICQ")


def struct(mnemonic: str, *parameters: Parameter) -> AttributeDefinition:
    """Declare an attribute whose parameters stand in any order, each with its name."""
    return stablehlo.attribute(mnemonic, "`<` custom<Struct>() `>`", parameters=parameters)


def lists(*names: str) -> tuple[Parameter, ...]:
    """Return parameters that are lists of numbers, and may be left out if they are empty."""
    return tuple(Parameter(name, kinds.INTEGER_ARRAY, optional=True, default=()) for name in names)


def attribute_of(definition: AttributeDefinition, what: str) -> d.AttributeConstraint:
    """Return the constraint for an attribute of a definition. ``what``: StableHLO's words for it."""
    return d.AttributeConstraint(
        what, lambda attribute: isinstance(attribute, DialectAttr) and attribute.definition is definition
    )


_DOT = struct(
    "dot",
    *lists(
        "lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions", "rhs_contracting_dimensions"
    ),
)
DOT = attribute_of(_DOT, "Attribute that models the dimension information for dot.")

_ALGORITHM = struct(
    "dot_algorithm",
    *(Parameter(name, kinds.TYPE) for name in ("lhs_precision_type", "rhs_precision_type", "accumulation_type")),
    *(
        Parameter(name, kinds.INTEGER)
        for name in ("lhs_component_count", "rhs_component_count", "num_primitive_operations")
    ),
    Parameter("allow_imprecise_accumulation", kinds.BOOLEAN),
)
ALGORITHM = attribute_of(_ALGORITHM, "Attribute that models the algorithm constraints to use for computing dot.")
PRECISIONS = d.array_of_enum("Precision Config attribute", PRECISION)


CONVOLUTION_SIDES = (
    ("input", "batch", "feature"), ("kernel", "input_feature", "output_feature"), ("output", "batch", "feature"),
)  # fmt: skip
"""The arrays of a convolution, with the names of their two dimensions that are not spatial."""
_LETTERS = ("bf", "io", "bf")


def _read_convolution(p: Any) -> tuple[Any, ...]:
    p.expect("<")
    values = read_dimensions(p)
    p.expect(">")
    return values


def read_dimensions(p: Any) -> tuple[Any, ...]:
    """Read ``[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`` and return the numbers of the dimensions."""
    values: list[Any] = []
    for side, letters in enumerate(_LETTERS):
        if side:
            p.expect(("x", "->")[side - 1])
        p.expect("[")
        entries: list[str] = []
        at_ = p.pos

        def one() -> str:
            token: str = p.tokens[p.pos]
            p.pos += 1
            return token

        entries = list(p.until("]", one))
        numbers = {entry: place for place, entry in enumerate(entries)}
        spatial = [numbers.pop(str(k)) for k in range(len(entries) - 2) if str(k) in numbers]
        missing = [letter for letter in letters if letter not in numbers]
        if missing or len(numbers) != 2 or len(spatial) != len(entries) - 2:
            p.error(f"expected the dimensions {letters[0]}, {letters[1]} and 0 to {len(entries) - 3} once each", at_)
        values += [numbers[letters[0]], numbers[letters[1]], tuple(spatial)]
    return tuple(values)


def spelled_dimensions(value: DialectAttr) -> str:
    """Spell what `read_dimensions` reads."""
    texts = []
    for side, letters in enumerate(_LETTERS):
        first, second, spatial = value.values[3 * side : 3 * side + 3]
        entries = {first: letters[0], second: letters[1], **{place: str(k) for k, place in enumerate(spatial)}}
        texts.append(f"[{', '.join(entries[k] for k in sorted(entries))}]")
    return f"{texts[0]}x{texts[1]}->{texts[2]}"


_CONVOLUTION = AttributeDefinition(
    name="stablehlo.conv",
    form=ParameterForm(_read_convolution, lambda value, names: f"<{spelled_dimensions(value)}>"),
    parameters=tuple(
        parameter
        for side, first, second in CONVOLUTION_SIDES
        for parameter in (
            Parameter(f"{side}_{first}_dimension", kinds.INTEGER),
            Parameter(f"{side}_{second}_dimension", kinds.INTEGER),
            Parameter(f"{side}_spatial_dimensions", kinds.INTEGER_ARRAY),
        )
    ),
)
stablehlo.attributes["conv"] = _CONVOLUTION
CONVOLUTION = attribute_of(_CONVOLUTION, "Structure of dimension information for conv op")


def convolution_numbers(values: tuple[Any, ...]) -> DialectAttr:
    """Return the attribute with the dimensions of a convolution."""
    return DialectAttr(_CONVOLUTION, values)


def dot_numbers(**numbers: tuple[int, ...]) -> DialectAttr:
    """Return the attribute with the dimensions of a dot."""
    return DialectAttr(_DOT, tuple(numbers.get(parameter.name, ()) for parameter in _DOT.parameters))


def read_algorithm(p: OpParser) -> DialectAttr:
    """Read the parameters of an algorithm of a dot."""
    return DialectAttr(_ALGORITHM, _ALGORITHM.form.read(p))


def read_precision(p: OpParser) -> at.ArrayAttr:
    """Read ``[DEFAULT, HIGH]``."""
    read = kinds.keyword(PRECISION).read
    p.expect("[")
    return at.ArrayAttr(tuple(PRECISION.attribute(PRECISION.cases[name]) for name in p.until("]", lambda: read(p))))


def spelled_precision(precision: at.ArrayAttr) -> str:
    """Spell ``[DEFAULT, HIGH]``."""
    return f"[{', '.join(each.keywords for each in precision.elements if isinstance(each, EnumAttr))}]"


# --- forms ------------------------------------------------------------------------------------------------------------


def _same_operands_and_result(slots: Slots, *names: str) -> ElementForm:
    """Return the form of the types of ops whose operands and result often have one type: that type, else a function
    type.
    """
    count = len(names)

    def read(p: OpParser, state: OpReading) -> None:
        type_ = p.type()
        if isinstance(type_, ty.FunctionType):
            found: Sequence[ty.Type] = (*type_.inputs, *type_.results)
            if len(found) != count:
                p.error(f"the number of types is {len(found)}, but there are {count} operands and results")
        else:
            found = (type_,) * count
        for index, each in enumerate(found):
            state.types[index] = each

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        types = _types_of(operation)
        if all(each == types[0] for each in types):
            out.value(printer.type(types[0]))
        else:
            out.value(printer.type(ty.FunctionType(tuple(types[:-1]), tuple(types[-1:]))))

    return ElementForm(read, print_)


def _select_types(slots: Slots, *names: str) -> ElementForm:
    """Return the form of the types of select: that of the condition and that of the result, else a function type."""

    def read(p: OpParser, state: OpReading) -> None:
        condition = p.type()
        if isinstance(condition, ty.FunctionType):
            found: Sequence[ty.Type] = (*condition.inputs, *condition.results)
            if len(found) != len(names):
                p.error("expected functional type or list of two types")
        else:
            if not p.take(","):
                p.error("expected functional type or list of two types")
            found = (condition, *(p.type(),) * 3)
        for index, each in enumerate(found):
            state.types[index] = each

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        condition, yes, no, result = _types_of(operation)
        if yes == no == result:
            out.value(f"{printer.type(condition)}, {printer.type(result)}")
        else:
            out.value(printer.type(ty.FunctionType((condition, yes, no), (result,))))

    return ElementForm(read, print_)


def _complex_types(slots: Slots, *names: str) -> ElementForm:
    """Return the form of the types of complex: that of the result, or a function type if the parts have others."""

    def read(p: OpParser, state: OpReading) -> None:
        type_ = p.type()
        if isinstance(type_, ty.FunctionType):
            found: Sequence[ty.Type] = (*type_.inputs, *type_.results)
        else:
            part = ty.number_type(ty.element_type(type_))
            found = (*[ty.with_element(type_, part)] * 2, type_)
        for index, each in enumerate(found):
            state.types[index] = each

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        one, other, result = _types_of(operation)
        if one == other == ty.with_element(result, ty.number_type(ty.element_type(result))):
            out.value(printer.type(result))
        else:
            out.value(printer.type(ty.FunctionType((one, other), (result,))))

    return ElementForm(read, print_)


def _exponent_mantissa(slots: Slots, *names: str) -> ElementForm:
    """Return the form of a float format: ``e5m10``."""

    def read(p: OpParser, state: OpReading) -> None:
        found = re.fullmatch(r"e(\d+)m(\d+)", p.tokens[p.pos])
        if found is None:
            p.error("expected exponent mantissa in format e#m#")
        p.pos += 1
        for what, number in zip(("exponent", "mantissa"), found.groups(), strict=True):
            if int(number) >= 1 << 31:
                p.error(f"unable to parse {what} '{number}'")
        for name, number in zip(names, found.groups(), strict=True):
            state.properties[name] = at.IntegerAttr(int(number), ty.I32)

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        exponent, mantissa = (operation.prop(name, at.IntegerAttr).value for name in names)
        out.value(f"e{exponent}m{mantissa}")

    return ElementForm(read, print_)


def _slice_ranges(slots: Slots, *names: str) -> ElementForm:
    """Return the form of the ranges of a slice: ``[start:limit, start:limit:stride]``."""

    def one(p: OpParser) -> tuple[int, ...]:
        start = p.integer()
        p.expect(":")
        limit = p.integer()
        return start, limit, p.integer() if p.take(":") else 1

    def read(p: OpParser, state: OpReading) -> None:
        p.expect("[")
        ranges = list(p.until("]", lambda: one(p)))
        for name, numbers in zip(names, zip(*ranges, strict=True) if ranges else ((),) * 3, strict=True):
            state.properties[name] = i64_array(numbers)

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        lists = [operation.prop(name, at.DenseArrayAttr).values for name in names]
        ranges = [f"{a}:{b}" if c == 1 else f"{a}:{b}:{c}" for a, b, c in zip(*lists, strict=True)]
        out.value(f"[{', '.join(ranges)}]")

    return ElementForm(read, print_)


def _operands_before(slots: Slots, name: str) -> ElementForm:
    """Return the form of operands in front of an attribute: there is a comma behind each."""
    index = slots.index[name]

    def read(p: OpParser, state: OpReading) -> None:
        state.operands[index] = []
        while p.tokens[p.pos][:1] == "%":
            state.operands[index].append(p.operand_token())
            p.expect(",")

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        out.value("".join(f"{printer.name(value)}, " for value in slots.values(operation, index)).rstrip())

    return ElementForm(read, print_)


def _keyword(slots: Slots, name: str) -> ElementForm:
    """Return the form of an enumeration as its bare keyword."""
    prop = slots.properties[name]
    enum = prop.kind
    assert isinstance(enum, EnumDefinition)
    assert enum.mnemonic is not None
    class_name = enum.name.removesuffix("Attr")

    def read(p: OpParser, state: OpReading) -> None:
        case = enum.cases.get(p.tokens[p.pos])
        if case is None:
            p.error(f"expected {class_name} to be one of: {', '.join(enum.cases)}")
        p.pos += 1
        state.properties[name] = enum.attribute(case)

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        attribute = operation.properties[name]
        assert isinstance(attribute, EnumAttr)
        out.value(attribute.keywords)

    return ElementForm(read, print_, present=lambda operation: name in operation.properties)


CUSTOM_DIRECTIVES["SameOperandsAndResultType"] = _same_operands_and_result
CUSTOM_DIRECTIVES["SelectTypes"] = _select_types
CUSTOM_DIRECTIVES["ComplexTypes"] = _complex_types
CUSTOM_DIRECTIVES["ExponentMantissa"] = _exponent_mantissa
CUSTOM_DIRECTIVES["SliceRanges"] = _slice_ranges
CUSTOM_DIRECTIVES["VariadicOperandWithAttribute"] = _operands_before
CUSTOM_DIRECTIVES["Keyword"] = _keyword
UNARY = "$operand attr-dict `:` custom<SameOperandsAndResultType>($operand, $result)"
BINARY = "$lhs `,` $rhs attr-dict `:` custom<SameOperandsAndResultType>($lhs, $rhs, $result)"
