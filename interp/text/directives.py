"""The elements of the assembly notation, compiled for an op: each becomes a function that reads it and one that prints
it.

A reader moves over tokens and stores what they say in an `OpReading`. A printer adds text to an `Out`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from halfulp.interp.declare import parameters as kinds
from halfulp.interp.declare.declarations import Arity, AttributeConstraint, OpDefinition, Property, Slot, Trait
from halfulp.interp.declare.operands import SEGMENTS, default_properties, result_segments, spread
from halfulp.interp.ir.attributes import (
    DenseArrayAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
)
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.dialect_attributes import EnumAttr, EnumDefinition, ParameterKind
from halfulp.interp.ir.errors import ParseError
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue
from halfulp.interp.ir.types import I1, I32, I64, INDEX, F, FunctionType, NoneType, TensorType, Type
from halfulp.interp.text.op_parser import OpParser, OpPrinter, print_mixed, read_mixed

# --- property forms ---------------------------------------------------------------------------------------------------
#
# Forms of properties: an attribute is written bare where its constraint leaves only one way to read it.

UNIT = UnitAttr()
_TYPE = TypeAttr(TensorType((), I32))
_F32 = F("f32")
_FLOAT = FloatAttr(0, _F32)

ReadAttribute = Callable[[OpParser], Attribute]


class PropertyForm(NamedTuple):
    """The text form of a property: how it is read and printed. ``begins`` tells whether a token can be its first token;
    it is None if a token cannot decide this.
    """

    read: ReadAttribute
    print: Callable[[OpPrinter, Attribute], str]
    begins: Callable[[str], bool] | None


class _Shape(NamedTuple):
    """A way to write an attribute. ``read``: None if it is read like any other attribute. ``first``: its first
    character, if fixed.
    """

    read: ReadAttribute | None
    print: Callable[[OpPrinter, Any], str]
    first: str = ""


def _read_string(p: OpParser) -> Attribute:
    if p.tokens[p.pos][:1] != '"':
        at = p.pos
        attribute = p.attribute(NoneType())
        p.error(f"invalid kind of attribute specified: expected builtin.string, but found '{attribute}'", at)
    return StringAttr(p.string())


_ANY = _Shape(None, lambda printer, attribute: printer.attribute(attribute))
_SHAPES: Mapping[str, _Shape] = {
    "any": _ANY,
    "unit": _ANY,
    "string": _Shape(_read_string, _ANY.print, '"'),
    "symbol": _Shape(lambda p: p.symbol_reference(), lambda printer, attribute: str(attribute), "@"),
    "array": _Shape(lambda p: p.array_values(I32), lambda printer, attribute: f"[{attribute.values_text()}]", "["),
    "i64 array": _Shape(lambda p: p.array_values(I64), lambda printer, attribute: f"[{attribute.values_text()}]", "["),
    "bool": _Shape(lambda p: p.attribute(I1), _ANY.print),
    "i32": _Shape(lambda p: p.attribute(I32), lambda printer, attribute: str(attribute.value)),
    "i64": _Shape(lambda p: p.attribute(I64), lambda printer, attribute: str(attribute.value)),
    "index": _Shape(lambda p: p.attribute(INDEX), lambda printer, attribute: str(attribute.value)),
    "f32": _Shape(lambda p: p.attribute(_F32), lambda printer, attribute: str(attribute).partition(" ")[0]),
}


def _shape_of(kind: AttributeConstraint) -> str:
    accepts_i64 = kind.accepts(IntegerAttr(1, I64))
    if kind.accepts(UNIT):
        return "any" if accepts_i64 else "unit"
    if kind.accepts(StringAttr("")) and not accepts_i64:
        return "string"
    if kind.accepts(_FLOAT) and not accepts_i64:
        return "f32"
    if kind.accepts(SymbolRefAttr("a")):
        return "symbol"
    if kind.accepts(DenseArrayAttr(I32, ())) and not accepts_i64:
        return "array"
    if kind.accepts(DenseArrayAttr(I64, ())) and not accepts_i64:
        return "i64 array"
    if kind.accepts(IntegerAttr(0, I32)):
        return "any"
    if kind.accepts(IntegerAttr(1, I1)) and not accepts_i64:
        return "bool"
    if kind.accepts(IntegerAttr(1, I32)):
        return "i32"
    return "i64" if accepts_i64 else "index" if kind.accepts(IntegerAttr(0, INDEX)) else "any"


def is_unit(prop: Property) -> bool:
    """Tell whether a property is a unit attribute. Its text is only the optional group around it."""
    return isinstance(prop.kind, AttributeConstraint) and _shape_of(prop.kind) == "unit"


def property_form(prop: Property, prefix: str) -> PropertyForm:
    """Return the text form of a property. ``prefix``: the beginning of its error messages."""
    kind = prop.kind
    if isinstance(kind, EnumDefinition):
        return PropertyForm(_enum_reader(prop.name, kind, prefix), _print_enum(kind), kind.cases.__contains__)
    shape = _SHAPES[_shape_of(kind)] if kind.form is None else _written_as(kind.form)
    first = kind.first or shape.first
    return PropertyForm(
        _checked(kind, shape.read, prefix), shape.print, (lambda token: token[:1] == first) if first else None
    )


def _written_as(form: ParameterKind) -> _Shape:
    return _Shape(form.read, lambda printer, attribute: form.spell(attribute, printer.names))


_OF_THE_OP = "expected integer value", "integer value too large"
"""What MLIR says of a number in a list, as an error of the op."""


def _checked(kind: AttributeConstraint | EnumDefinition, special: ReadAttribute | None, prefix: str) -> ReadAttribute:
    # In MLIR a string has a type. The op's own rules report a wrong string, a wrong type where the op needs a type, and
    # a wrong number.
    left_to_the_op: tuple[type, ...] = (IntegerAttr,) if special is not None else (StringAttr,)
    if special is None and kind.accepts(_TYPE):
        left_to_the_op = (StringAttr, TypeAttr)

    def read(p: OpParser) -> Attribute:
        at = p.pos
        try:
            attribute = special(p) if special is not None else p.attribute()
        except ParseError as error:
            if error.message in _OF_THE_OP:
                error.message = prefix + error.message
            raise
        if not kind.accepts(attribute) and not isinstance(attribute, left_to_the_op):
            p.error(f"{prefix}invalid kind of attribute specified", at)
        return attribute

    return read


def _enum_reader(name: str, kind: EnumDefinition, prefix: str) -> ReadAttribute:
    if kind.storage_width is None or kind.flags:
        whole = _checked(kind, None, prefix)
        # An attribute without keywords is written as any other, and each may be.
        if "" in kind.cases:
            return whole
        return lambda p: whole(p) if p.tokens[p.pos][:1] == "#" else p.enum_brackets(kind, prefix)
    attributes = {case: kind.attribute(value) for case, value in kind.cases.items()}

    def keyword(p: OpParser) -> Attribute:
        token = p.tokens[p.pos]
        attribute = attributes.get(token) or attributes.get(token.strip('"'))
        if attribute is None:
            p.error(
                f"{prefix}expected string or keyword containing one of the following enum values for attribute "
                f"'{name}' [{', '.join(attributes)}]"
            )
        p.pos += 1
        return attribute

    return keyword


def _print_enum(kind: EnumDefinition) -> Callable[[OpPrinter, Attribute], str]:
    names = kind.names

    def spell(printer: OpPrinter, attribute: Attribute) -> str:
        if isinstance(attribute, EnumAttr):
            return f"<{attribute.keywords}>" if attribute.keywords else printer.attribute(attribute)
        assert isinstance(attribute, IntegerAttr)
        if kind.flags:
            return f"<{kind.spell(attribute.value)}>"
        return names[attribute.value]

    return spell


# --- slots ------------------------------------------------------------------------------------------------------------
#
# The meaning of the names in an op's assembly format, and the parts of one op that were read.


class Slots:
    """An op's operands and results in one list, and the meaning of each name of its format."""

    def __init__(self, definition: OpDefinition) -> None:
        self.definition = definition
        self.operands = definition.operands
        self.results = definition.results
        self.all: tuple[Slot, ...] = (*self.operands, *self.results)
        self.index = {slot.name: index for index, slot in enumerate(self.all)}
        # Each operand and result is one value, and none is passed to a successor.
        self.plain = all(slot.arity is Arity.ONE for slot in self.all) and not definition.successors
        self.properties: Mapping[str, Property] = {prop.name: prop for prop in definition.properties}
        self.regions = {slot.name: index for index, slot in enumerate(definition.regions)}
        self.successors = {slot.name: index for index, slot in enumerate(definition.successors)}
        # The property that says how many results each declared result has, if there is one.
        self.grouped = result_segments(definition)
        # Operand slots that are the values of a successor's arguments.
        self.passed = {
            self.index[f"{name}Operands"]: index
            for name, index in self.successors.items()
            if f"{name}Operands" in self.index
        }

    def of(self, name: str) -> list[int]:
        """Return the indices of the slots that a name in a format stands for. The names ``operands`` and ``results``
        stand for all operands and all results.
        """
        if name in self.index:
            return [self.index[name]]
        if name == "operands":
            return list(range(len(self.operands)))
        if name == "results":
            return list(range(len(self.operands), len(self.all)))
        raise ValueError(f"{self.definition.name}: the format names ${name}, which is not declared")

    def values(self, operation: Operation, index: int) -> Sequence[SSAValue]:
        """Return the values of one slot of an op."""
        if index in self.passed:
            return operation.successors[self.passed[index]][1]
        if index >= len(self.operands):
            group, offset, values = self.results, len(self.operands), list[SSAValue](operation.results)
        else:
            group, offset, values = self.operands, 0, operation.operands
        own = [i for i in range(len(group)) if offset + i not in self.passed]
        segments = operation.properties.get((self.grouped or "") if offset else SEGMENTS)
        if isinstance(segments, DenseArrayAttr):
            counts = [segments.values[i] for i in own]
        else:
            counts = spread([group[i] for i in own], len(values)) or [len(values)]
        position = own.index(index - offset)
        start = sum(counts[:position])
        return values[start : start + counts[position]]


class OpReading:
    """The parts of one op while it is read: the tokens of its operands, the types by slot, and the rest."""

    __slots__ = ("attributes", "named", "operands", "properties", "regions", "start", "successors", "types")

    def __init__(self, operands: int, slots: int, start: int) -> None:
        # The token of the op's name.
        self.start = start
        # A token, or a list of them for a variadic operand.
        self.operands: list[Any] = [None] * operands
        # A type, or a tuple of them for a variadic slot.
        self.types: list[Any] = [None] * slots
        self.properties: dict[str, Attribute] = {}
        self.attributes: dict[str, Attribute] = {}
        # The properties that the dictionary names, which replace those of the custom form.
        self.named: dict[str, Attribute] | None = None
        self.regions: list[Region] = []
        self.successors: list[Block] = []


# --- directives -------------------------------------------------------------------------------------------------------

ReadElement = Callable[[OpParser, OpReading], None]
PrintElement = Callable[[OpPrinter, Operation, kinds.Out], None]


class ElementForm(NamedTuple):
    """A compiled element of the notation.

    ``begins``: tells whether the current token is its first one; None if an optional group cannot begin with the
    element. ``present``: tells whether the element prints something; None if it cannot be the anchor of a group.
    """

    read: ReadElement
    print: PrintElement
    begins: Callable[[OpParser], bool] | None = None
    present: Callable[[Operation], bool] | None = None


def compile_element(element: kinds.Element, slots: Slots) -> ElementForm:
    """Compile an element. Raises ValueError for one that does not fit the op's declaration."""
    return _COMPILERS[type(element)](element, slots)


def compile_elements(elements: Sequence[kinds.Element], slots: Slots) -> tuple[ElementForm, ...]:
    """Compile elements in their order."""
    return tuple(compile_element(element, slots) for element in elements)


# --- literals ---------------------------------------------------------------------------------------------------------


def _literal(element: kinds.Literal, slots: Slots) -> ElementForm:
    text = element.text
    name = slots.definition.name
    word = text[:1].isalpha()

    def read(p: OpParser, state: OpReading) -> None:
        if p.tokens[p.pos] != text:
            if word:
                p.wrong(name, f"expected '{text}'")
            p.expect(text)
        p.pos += 1

    def nothing(p: OpParser, state: OpReading) -> None:
        pass

    return ElementForm(
        read if text.strip() else nothing,
        lambda printer, operation, out: out.literal(f"\n{printer.indent} " if text == "\n" else text),
        begins=lambda p: p.tokens[p.pos] == text,
    )


# --- variables --------------------------------------------------------------------------------------------------------


def _variable(element: kinds.Variable, slots: Slots) -> ElementForm:
    name = element.name
    if name in slots.index:
        return _operand(slots.index[name], slots)
    if name in slots.properties:
        return _property(name, slots)
    if name in slots.successors:
        return _successor(slots.successors[name])
    if name in slots.regions:
        return _region(slots.regions[name], slots)
    raise ValueError(f"{slots.definition.name}: the format names ${name}, which is not declared")


def _operand(index: int, slots: Slots) -> ElementForm:
    arity = slots.all[index].arity

    def one(p: OpParser, state: OpReading) -> None:
        at = p.pos
        if p.tokens[at][:1] != "%":
            p.operand_token()
        state.operands[index] = at
        p.pos = at + 1

    def optional(p: OpParser, state: OpReading) -> None:
        state.operands[index] = [p.operand_token()] if p.tokens[p.pos][:1] == "%" else []

    def variadic(p: OpParser, state: OpReading) -> None:
        state.operands[index] = p.operand_tokens()

    def print_plain(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        out.value(printer.name(operation.operands[index]))

    def print_all(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        out.value(", ".join(printer.name(value) for value in slots.values(operation, index)))

    # Nothing follows a terminator.
    last = Trait.TERMINATOR in slots.definition.traits
    return ElementForm(
        {Arity.ONE: one, Arity.OPTIONAL: optional, Arity.VARIADIC: variadic}[arity],
        print_plain if slots.plain else print_all,
        begins=lambda p: p.tokens[p.pos][:1] == "%" and (last or not _names_results(p)),
        present=lambda operation: bool(slots.values(operation, index)),
    )


def _names_results(p: OpParser) -> bool:
    """Tell whether the SSA names that follow are those of the next operation's results, as after a ``vector.print``
    without operands. mlir-opt takes them for operands, and so cannot read what it prints there.
    """
    tokens, at = p.tokens, p.pos
    while tokens[at][:1] == "%":
        at += 3 if tokens[at + 1] == ":" and tokens[at + 2].isdigit() else 1
        if tokens[at] != ",":
            break
        at += 1
    return tokens[at] == "="


def _property(name: str, slots: Slots) -> ElementForm:
    prop = slots.properties[name]
    form = property_form(prop, f"custom op '{slots.definition.name}' ")
    read_property, print_property, begins = form

    def read(p: OpParser, state: OpReading) -> None:
        state.properties[name] = read_property(p)

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        out.value(print_property(printer, operation.properties[name]))

    left_out = (None, prop.implied or prop.elided)
    return ElementForm(
        read, print_, _token_test(begins), lambda operation: operation.properties.get(name) not in left_out
    )


def _token_test(begins: Callable[[str], bool] | None) -> Callable[[OpParser], bool] | None:
    return None if begins is None else lambda p: begins(p.tokens[p.pos])


def _successor(index: int) -> ElementForm:
    def read(p: OpParser, state: OpReading) -> None:
        state.successors.append(p.successor_block())

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        out.value(printer.label(operation.successors[index][0]))

    return ElementForm(read, print_, begins=lambda p: p.tokens[p.pos][:1] == "^")


def _region(index: int, slots: Slots) -> ElementForm:
    definition = slots.definition
    implicit = definition.implicit_terminator
    single = {Trait.SINGLE_BLOCK, Trait.NO_TERMINATOR} <= definition.traits

    def read(p: OpParser, state: OpReading) -> None:
        region = p.region(definition.name)
        if implicit is not None:
            p.terminated(region, implicit, state.start)
        elif single and not region.blocks:
            region.append(Block())
        state.regions.append(region)

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        out.value(printer.region(operation.regions[index], operation))

    return ElementForm(
        read,
        print_,
        begins=lambda p: p.tokens[p.pos][:1] == "{",
        present=lambda operation: bool(operation.regions[index].blocks),
    )


# --- types ------------------------------------------------------------------------------------------------------------


def _type_of(element: kinds.TypeOf, slots: Slots) -> ElementForm:
    indices = slots.of(element.name)
    if len(indices) > 1 or slots.all[indices[0]].arity is not Arity.ONE:
        return _types_of(indices, slots)
    index = indices[0]
    name = slots.definition.name
    kind = slots.all[index].constraint.kind

    def read(p: OpParser, state: OpReading) -> None:
        at = p.pos
        type = p.types.get(p.tokens[at])
        if type is None:
            type = p.type()
        else:
            p.pos += 1
        if kind is not None and not kind.accepts(type):
            expected = f": expected {kind.name}, but found '{type}'" if kind.name else ""
            p.wrong(name, f"invalid kind of type specified{expected}", at)
        state.types[index] = type

    return ElementForm(read, _print_type(index, slots), present=lambda operation: bool(slots.values(operation, index)))


def _print_type(index: int, slots: Slots) -> PrintElement:
    """Return a function that prints the type of one value."""
    operands = len(slots.operands)

    def operand(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        out.value(printer.type(operation.operands[index].type))

    def result(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        out.value(printer.type(operation.results[index - operands].type))

    if not slots.plain:
        return _print_types([index], slots)
    return operand if index < operands else result


def _types_of(indices: list[int], slots: Slots) -> ElementForm:
    # The type of a value that may be left out is left out with it.
    only = indices[0] if len(indices) == 1 and indices[0] < len(slots.operands) else None
    optional = only if only is not None and slots.all[only].arity is Arity.OPTIONAL else None

    def read(p: OpParser, state: OpReading) -> None:
        if optional is not None and not state.operands[optional]:
            state.types[optional] = ()
        else:
            _spread_types(p, state, indices, slots, p.type_list())

    return ElementForm(
        read,
        _print_types(indices, slots),
        present=lambda operation: any(slots.values(operation, index) for index in indices),
    )


def _print_types(indices: list[int], slots: Slots) -> PrintElement:
    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        types = (value.type for index in indices for value in slots.values(operation, index))
        out.value(", ".join(map(printer.type, types)))

    return print_


def _spread_types(p: OpParser, state: OpReading, indices: list[int], slots: Slots, types: Sequence[Type]) -> None:
    """Give each slot its share of a list of types, by the number of its operands. Results that are any number take what
    the slots after them leave.
    """
    start = 0
    for place, index in enumerate(indices):
        if slots.all[index].arity is Arity.ONE:
            if start >= len(types):
                p.error("there are fewer types than values")
            state.types[index] = types[start]
            start += 1
        elif index == indices[-1]:
            state.types[index] = tuple(types[start:])
            start = len(types)
        else:
            after = len(indices) - place - 1
            count = (
                len(state.operands[index] or ()) if index < len(state.operands) else max(len(types) - start - after, 0)
            )
            state.types[index] = tuple(types[start : start + count])
            start += count
    if start != len(types):
        p.error("there are more types than values")


def _functional_type(element: kinds.FunctionalType, slots: Slots) -> ElementForm:
    inputs, results = slots.of(element.inputs), slots.of(element.results)
    name = slots.definition.name

    def read(p: OpParser, state: OpReading) -> None:
        at = p.pos
        if p.tokens[at] != "(":
            p.wrong_token("expected '('")
        type = p.function_type()
        operands = sum(
            1 if slots.all[index].arity is Arity.ONE else len(state.operands[index] or ()) for index in inputs
        )
        if operands != len(type.inputs):
            first = next((t for i in inputs for t in _tokens_of(state.operands[i])), at)
            p.wrong(
                name,
                f"number of operands and types do not match: got {operands} operands and {len(type.inputs)} types",
                first,
            )
        _spread_types(p, state, inputs, slots, type.inputs)
        _spread_types(p, state, results, slots, type.results)

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        type = FunctionType(
            tuple(value.type for index in inputs for value in slots.values(operation, index)),
            tuple(value.type for index in results for value in slots.values(operation, index)),
        )
        out.value(printer.type(type))

    return ElementForm(read, print_)


def _tokens_of(operand: Any) -> list[int]:
    return operand if isinstance(operand, list) else [operand]


# --- attributes -------------------------------------------------------------------------------------------------------


def _dictionary(element: kinds.AttributeDictionary, slots: Slots) -> ElementForm:
    keyword = element.keyword
    start = "attributes" if keyword else "{"
    names = slots.properties.keys()
    definition = slots.definition
    assert definition.assembly is not None
    format = kinds.read_format(definition.assembly)
    segments = {SEGMENTS, *([slots.grouped] if slots.grouped else [])}
    written = {newer: _written_names(format, newer) | segments for newer in (False, True)}
    defaults = {prop.name: prop.elided for prop in definition.properties if prop.elided is not None}
    defaults |= dict(default_properties(definition))

    def read(p: OpParser, state: OpReading) -> None:
        if p.tokens[p.pos] != start:
            return
        if keyword:
            p.pos += 1
        p.dictionary(state.attributes)
        named = {name: state.attributes.pop(name) for name in [*state.attributes] if name in names}
        if named:
            state.properties.update(named)
            state.named = named

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        extra = operation.attributes
        elided = written[printer.newer]
        if operation.properties.keys() - elided:
            extra = dict(extra)
            for name, value in operation.properties.items():
                if name not in elided and defaults.get(name) != value:
                    extra[name] = value
        if not extra:
            return
        out.text += f" attributes {printer.dictionary(extra)}" if keyword else f" {printer.dictionary(extra)}"
        out.space, out.punctuation = True, False

    return ElementForm(read, print_)


def _written_names(elements: Sequence[kinds.Element], newer: bool) -> frozenset[str]:
    """Return the names that a format prints outside the dictionary. ``newer``: for LLVM 24."""
    names: set[str] = set()
    for element in elements:
        if isinstance(element, kinds.Variable):
            names.add(element.name)
        elif isinstance(element, kinds.Group):
            names |= _written_names((*element.elements, *element.otherwise), newer)
        elif isinstance(element, kinds.Clauses) and (newer or not element.newer):
            names |= {name for clause in element.clauses for name in _written_names(clause, newer)}
        elif isinstance(element, kinds.Directive):
            names |= set(element.arguments)
    return frozenset(names)


# --- optional groups and clauses --------------------------------------------------------------------------------------


def _group(group: kinds.Group, slots: Slots) -> ElementForm:
    # A unit attribute is not written: its group is.
    units = [
        element.name
        for element in group.elements
        if isinstance(element, kinds.Variable)
        and (prop := slots.properties.get(element.name)) is not None
        and is_unit(prop)
    ]
    written = [e for e in group.elements if not (isinstance(e, kinds.Variable) and e.name in units)]
    parts = compile_elements(written, slots)
    otherwise = compile_elements(group.otherwise, slots)
    # A literal for spaces is not read.
    first = next(k for k, element in enumerate(written) if element not in (kinds.Literal(""), kinds.Literal(" ")))
    begins = parts[first].begins
    present = compile_element(group.elements[group.anchor], slots).present
    if begins is None or present is None:
        raise ValueError(f"{slots.definition.name}: an optional group cannot begin with {written[first]}")
    space, punctuation = _spacing_after((*written, *group.otherwise)[-1])

    def read(p: OpParser, state: OpReading) -> None:
        if begins(p):
            for part in parts:
                part.read(p, state)
            for name in units:
                state.properties[name] = UNIT
        else:
            for part in otherwise:
                part.read(p, state)

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        for part in parts if present(operation) else otherwise:
            part.print(printer, operation, out)
        # MLIR decides on spaces when it compiles the format, as if all elements were printed.
        out.space, out.punctuation = space, punctuation

    return ElementForm(read, print_)


def _spacing_after(element: kinds.Element) -> tuple[bool, bool]:
    """Return the state of spaces in an `Out` after the last element of a group."""
    if isinstance(element, kinds.Group):
        return _spacing_after((*element.elements, *element.otherwise)[-1])
    out = kinds.Out()
    if isinstance(element, kinds.Literal):
        out.literal(element.text)
    return out.space, out.punctuation


def _clauses(clauses: kinds.Clauses, slots: Slots) -> ElementForm:
    name = slots.definition.name
    by_keyword = {
        clause[0].text: compile_elements(clause, slots)
        for clause in clauses.clauses
        if isinstance(clause[0], kinds.Literal)
    }
    # A clause is printed if its first variable is present.
    printed = [
        (present, parts)
        for parts in by_keyword.values()
        for present in [next(part.present for part in parts if part.present is not None)]
    ]

    def read(p: OpParser, state: OpReading) -> None:
        seen: set[str] = set()
        while (keyword := p.tokens[p.pos]) in by_keyword:
            p.pos += 1
            if keyword in seen:
                p.wrong(
                    name,
                    f"`{keyword}` clause can appear at most once in the expansion of the oilist directive",
                    state.start,
                )
            seen.add(keyword)
            for part in by_keyword[keyword][1:]:
                part.read(p, state)

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        for present, parts in printed if printer.newer or not clauses.newer else ():
            if present(operation):
                for part in parts:
                    part.print(printer, operation, out)

    return ElementForm(read, print_)


# --- custom directives ------------------------------------------------------------------------------------------------


def _dynamic_index_list(slots: Slots, dynamic: str, static: str, brackets: str = "[]") -> ElementForm:
    """Compile ``[%a, 2]``: the values are among the ``dynamic`` operands; ``static`` has the numbers, and a mark in the
    place of each value.
    """
    index = slots.index[dynamic]

    def read(p: OpParser, state: OpReading) -> None:
        state.operands[index], state.properties[static] = read_mixed(p, brackets)

    def print_(printer: OpPrinter, operation: Operation, out: kinds.Out) -> None:
        numbers = operation.prop(static, DenseArrayAttr)
        out.value(print_mixed(printer, numbers, slots.values(operation, index), brackets))

    return ElementForm(read, print_)


CUSTOM_DIRECTIVES: dict[str, Callable[..., ElementForm]] = {
    "DynamicIndexList": _dynamic_index_list,
    "DynamicIndexTuple": partial(_dynamic_index_list, brackets="()"),
}
"""Makers of elements from the slots of an op and the arguments of the directive. A dialect may add its own."""


def _custom(directive: kinds.Directive, slots: Slots) -> ElementForm:
    return CUSTOM_DIRECTIVES[directive.name](slots, *directive.arguments)


_COMPILERS: Mapping[type, Callable[[Any, Slots], ElementForm]] = {
    kinds.Literal: _literal,
    kinds.Variable: _variable,
    kinds.TypeOf: _type_of,
    kinds.FunctionalType: _functional_type,
    kinds.AttributeDictionary: _dictionary,
    kinds.Group: _group,
    kinds.Clauses: _clauses,
    kinds.Directive: _custom,
}
