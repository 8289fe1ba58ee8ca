"""MLIR's declarative assembly notation, compiled from an op's declaration into a parser and a printer.

The notation is that of the "Declarative Assembly Format" section of MLIR's "Operation Definition Specification":
literals in back quotes (an empty one joins its neighbours), ``$name`` of an operand, attribute, region or successor,
``type($name)``, ``functional-type($operands, results)``, ``attr-dict``, ``attr-dict-with-keyword``, optional groups
``(… ^ …):(…)?`` with an anchor, clauses in any order ``oilist(… | …)``, and ``custom<Directive>(…)`` of the table
`DIRECTIVES`. One is not MLIR's: ``also(… | …)`` are clauses that another version has, which are read but not printed.

A parser is a list of closures, one per element, each of which steps over what it reads and notes it in a `_State`;
types that are not written are then worked out from the op's type rules, once per combination of those that are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn

from halfulp.interp.declare.declarations import (
    Arity,
    AttributeConstraint,
    EnumDefinition,
    OpDefinition,
    Property,
    Slot,
    Trait,
    TypeConstraint,
    TypeKind,
)
from halfulp.interp.declare.operands import SEGMENTS, default_properties, spread
from halfulp.interp.ir.attributes import (
    Attribute,
    DenseArrayAttr,
    EnumAttr,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
)
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue, Successor
from halfulp.interp.ir.types import I1, I32, I64, INDEX, F, FunctionType, NoneType, TensorType, Type

if TYPE_CHECKING:
    from halfulp.interp.text.parser import Parser
    from halfulp.interp.text.printer import Printer

CustomParse = Callable[["Parser", int], Operation]
CustomPrint = Callable[["Printer", Operation], str]
CustomForm = tuple[Callable[[OpDefinition], CustomParse], CustomPrint]

_UNIT = UnitAttr()
_TYPE = TypeAttr(TensorType((), I32))

# What a static index list holds where a value stands: the smallest 64-bit integer (its code).
DYNAMIC = 1 << 63

# --- the notation ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Literal:
    """Text that stands as it is; empty for "no space here"."""

    text: str


@dataclass(frozen=True)
class Variable:
    """``$name``."""

    name: str


@dataclass(frozen=True)
class TypeOf:
    """``type($name)``."""

    name: str


@dataclass(frozen=True)
class FunctionalType:
    """``functional-type(inputs, results)``."""

    inputs: str
    results: str


@dataclass(frozen=True)
class AttributeDictionary:
    """``attr-dict`` or ``attr-dict-with-keyword``."""

    keyword: bool


@dataclass(frozen=True)
class Group:
    """``(elements)?``, with the index of the anchor among them, and ``:(otherwise)?``."""

    elements: tuple[Element, ...]
    anchor: int
    otherwise: tuple[Element, ...] = ()


@dataclass(frozen=True)
class Clauses:
    """``oilist(clause | clause)``: each begins with a literal and stands at most once. Those of ``also`` are not
    ``printed``.
    """

    clauses: tuple[tuple[Element, ...], ...]
    printed: bool = True


@dataclass(frozen=True)
class Directive:
    """``custom<Name>($one, $other)``."""

    name: str
    arguments: tuple[str, ...]


Element = Literal | Variable | TypeOf | FunctionalType | AttributeDictionary | Group | Clauses | Directive

_TOKEN = re.compile(r"\s*(`[^`]*`|\$\w+|custom<\w+>|[\w-]+|[()?:^,|])")


def read_format(text: str) -> tuple[Element, ...]:
    """The elements of a declaration's format. Raises ValueError where it is malformed."""
    tokens = _TOKEN.findall(text)
    if _TOKEN.sub("", text).strip():
        raise ValueError(f"malformed assembly format: {text!r}")
    elements, rest, _ = _read(tokens, 0)
    if rest != len(tokens):
        raise ValueError(f"malformed assembly format at {tokens[rest]!r}: {text!r}")
    return tuple(elements)


def _read(tokens: list[str], at: int) -> tuple[list[Element], int, int]:
    elements: list[Element] = []
    anchor = 0
    while at < len(tokens) and tokens[at] not in (")", "|"):
        token = tokens[at]
        at += 1
        if token[0] == "`":
            elements.append(Literal(token[1:-1].strip()))
        elif token[0] == "$":
            elements.append(Variable(token[1:]))
        elif token in ("attr-dict", "attr-dict-with-keyword"):
            elements.append(AttributeDictionary(token != "attr-dict"))
        elif token == "type":
            elements.append(TypeOf(tokens[at + 1].lstrip("$")))
            at += 3
        elif token == "functional-type":
            elements.append(FunctionalType(tokens[at + 1].lstrip("$"), tokens[at + 3].lstrip("$")))
            at += 5
        elif token.startswith("custom<"):
            end = tokens.index(")", at)
            elements.append(Directive(token[7:-1], tuple(name[1:] for name in tokens[at + 1 : end : 2])))
            at = end + 1
        elif token in ("oilist", "also"):
            clauses: list[tuple[Element, ...]] = []
            while tokens[at] != ")":
                clause, at, _ = _read(tokens, at + 1)
                clauses.append(tuple(clause))
            elements.append(Clauses(tuple(clauses), token == "oilist"))
            at += 1
        elif token == "^":
            anchor = len(elements) - 1
        elif token == "(":
            inner, at, inner_anchor = _read(tokens, at)
            otherwise: list[Element] = []
            at += 1
            if tokens[at : at + 2] == [":", "("]:
                otherwise, at, _ = _read(tokens, at + 2)
                at += 1
            if tokens[at : at + 1] != ["?"]:
                raise ValueError("a group in an assembly format ends in ')?'")
            at += 1
            elements.append(Group(tuple(inner), inner_anchor, tuple(otherwise)))
        else:
            raise ValueError(f"unknown directive {token!r} in an assembly format")
    return elements, at, anchor


# --- what an op's names mean ----------------------------------------------------------------------------------------


class _Slots:
    """An op's operands and results in one list, and what each name of its format stands for."""

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
        # Operand slots that are the values of a successor's arguments.
        self.passed = {
            self.index[f"{name}Operands"]: index
            for name, index in self.successors.items()
            if f"{name}Operands" in self.index
        }

    def of(self, name: str) -> list[int]:
        """The slots a name in a format means; ``operands`` and ``results`` mean all of them."""
        if name in self.index:
            return [self.index[name]]
        if name == "operands":
            return list(range(len(self.operands)))
        if name == "results":
            return list(range(len(self.operands), len(self.all)))
        raise ValueError(f"{self.definition.name}: the format names ${name}, which is not declared")


class _State:
    """What has been read of one op: tokens of operands and types by slot, and the rest."""

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
        # The properties that the dictionary names, which prevail over those of the custom form.
        self.named: dict[str, Attribute] | None = None
        self.regions: list[Region] = []
        self.successors: list[Block] = []


_Step = Callable[["Parser", _State], None]
_Test = Callable[["Parser"], bool]

# --- parsing --------------------------------------------------------------------------------------------------------


def custom_form(custom: str | CustomForm) -> CustomForm:
    """The hand-written form that a declaration gives, by its name in `halfulp.interp.text.custom` or itself."""
    if not isinstance(custom, str):
        return custom
    from halfulp.interp.text.custom import CUSTOM

    return CUSTOM[custom]


@cache
def compile_parser(definition: OpDefinition) -> CustomParse | None:
    """The parser of an op's custom form, built on first use; None for an op that has only the generic one."""
    if definition.custom is not None:
        return custom_form(definition.custom)[0](definition)
    if definition.assembly is None:
        return None
    slots = _Slots(definition)
    elements = read_format(definition.assembly)
    steps = tuple(_parse_step(element, slots, definition) for element in elements)
    return _finisher(definition, slots, steps)


def _finisher(definition: OpDefinition, slots: _Slots, steps: tuple[_Step, ...]) -> CustomParse:
    name = definition.name
    operand_count, slot_count = len(slots.operands), len(slots.all)
    solve = _solver(definition, slots)
    # The types that follow from the written ones do not depend on attributes that have a type.
    cacheable = all(isinstance(prop.kind, EnumDefinition) for prop in definition.properties)
    plain = slots.plain and not definition.regions
    defaults = default_properties(definition)
    sized = Trait.ATTR_SIZED_OPERAND_SEGMENTS in definition.traits
    passed = slots.passed
    buildable = [only_type(slot.constraint) for slot in slots.operands]
    known: dict[tuple[Any, ...], list[Any]] = {}
    segments: dict[tuple[int, ...], DenseArrayAttr] = {}

    def parse(p: Parser, at: int) -> Operation:
        state = _State(operand_count, slot_count, at)
        for step in steps:
            step(p, state)
        properties = state.properties
        for key, default in defaults:
            if key not in properties:
                properties[key] = default
        types = state.types
        if None in types:
            if cacheable:
                written = tuple(types)
                solved = known.get(written)
                if solved is None:
                    solved = known[written] = solve(p, at, types, properties)
                types = solved
            else:
                types = solve(p, at, types, properties)
        if state.named is not None:
            properties.update(state.named)
        if plain:
            values = p.values
            tokens = p.tokens
            operands = []
            for token, type in zip(state.operands, types, strict=False):
                value = values.get(tokens[token])
                if value is None or value.type is not type:
                    value = p.use(token, type)
                operands.append(value)
            operation = Operation(name, definition, operands, types[operand_count:], properties, state.attributes)
        else:
            groups = [
                _resolve(p, name, slot, names, type, only)
                for slot, names, type, only in zip(slots.operands, state.operands, types, buildable, strict=False)
            ]
            results: list[Type] = []
            for slot, type in zip(slots.results, types[operand_count:], strict=True):
                if slot.arity is Arity.ONE:
                    results.append(type)
                else:
                    results.extend(type or ())
            operands = [value for index, group in enumerate(groups) if index not in passed for value in group]
            successors: list[Successor] = [(block, []) for block in state.successors]
            for index, successor in passed.items():
                successors[successor] = (successors[successor][0], groups[index])
                if p.forward:
                    p.pending.append(groups[index])
            if sized:
                sizes = tuple(len(group) for group in groups)
                if sizes not in segments:
                    segments[sizes] = DenseArrayAttr(I32, sizes)
                properties[SEGMENTS] = segments[sizes]
            operation = Operation(
                name, definition, operands, results, properties, state.attributes, state.regions, successors
            )
        return p.placed(operation, at)

    return parse


def _resolve(p: Parser, op: str, slot: Slot, names: Any, types: Any, only: Type | None) -> list[SSAValue]:
    """The values of a slot; ``only``: the type of each of them, where the constraint leaves no choice."""
    if slot.arity is Arity.ONE:
        return [p.use(names, types)]
    names = names or []
    if types is None:
        types = () if only is None else (only,) * len(names)
    if len(names) != len(types):
        p.error(
            f"custom op '{op}' number of operands and types do not match: got {len(names)} operands and "
            f"{len(types)} types",
            names[0] if names else None,
        )
    return [p.use(name, type) for name, type in zip(names, types, strict=True)]


def _solver(
    definition: OpDefinition, slots: _Slots
) -> Callable[[Parser, int, list[Any], Mapping[str, Attribute]], list[Any]]:
    """Complete a list of types by slot from the constraints and the type rules."""
    fixed = {slot.name: only for slot in slots.all if slot.arity is Arity.ONE and (only := only_type(slot.constraint))}
    rules = definition.type_rules
    # Values whose number may be none, or whose type is known by itself.
    optional = {
        slot.name
        for slot in slots.all
        if slot.arity is not Arity.ONE and (only_type(slot.constraint) or not definition.type_rules)
    }

    def solve(p: Parser, at: int, types: list[Any], properties: Mapping[str, Attribute]) -> list[Any]:
        known = {slot.name: type for slot, type in zip(slots.all, types, strict=True) if type is not None}
        for name, type in fixed.items():
            known.setdefault(name, type)
        before = -1
        while before != len(known):
            before = len(known)
            for rule in rules:
                rule.solve(known, properties)
        solved = [known.get(slot.name) for slot in slots.all]
        for slot, found in zip(slots.all, solved, strict=True):
            if found is None and slot.name not in optional:
                for source, type in zip(slots.all, types, strict=True):
                    if source.arity is Arity.ONE and type is not None and not source.constraint.accepts(type):
                        p.error(
                            f"custom op '{definition.name}' '{source.name}' must be {source.constraint.description}, "
                            f"but got '{type}'",
                            at,
                        )
            if found is None and slot.arity is Arity.ONE:
                p.error(f"'{definition.name}' op: the type of '{slot.name}' does not follow from those written", at)
        return solved

    return solve


_SAMPLES = (I1, I32, I64, INDEX)


@cache
def only_type(constraint: TypeConstraint) -> Type | None:
    """The one type a constraint allows, where it is that narrow: an operand of it needs no type in the text."""
    if constraint.builds is not None:
        return constraint.builds
    accepted = [type for type in (*_SAMPLES, F("f32"), F("f64")) if constraint.accepts(type)]
    return accepted[0] if len(accepted) == 1 and "like" not in constraint.description else None


def _parse_step(element: Element, slots: _Slots, definition: OpDefinition) -> _Step:
    if isinstance(element, Literal):
        return _parse_literal(element.text, definition)
    if isinstance(element, Variable):
        return _parse_variable(element.name, slots, definition)
    if isinstance(element, TypeOf):
        return _parse_type(slots.of(element.name), slots)
    if isinstance(element, FunctionalType):
        return _parse_functional(slots.of(element.inputs), slots.of(element.results), slots)
    if isinstance(element, AttributeDictionary):
        return _parse_dictionary(element.keyword, definition)
    if isinstance(element, Clauses):
        return _parse_clauses(element, slots, definition)
    if isinstance(element, Directive):
        return DIRECTIVES[element.name][0](slots, *element.arguments)
    return _parse_group(element, slots, definition)


def _parse_literal(text: str, definition: OpDefinition) -> _Step:
    word = text[:1].isalpha()

    def step(p: Parser, state: _State) -> None:
        if p.tokens[p.pos] != text:
            if word:
                p.error(f"custom op '{definition.name}' expected '{text}'")
            p.expect(text)
        p.pos += 1

    def nothing(p: Parser, state: _State) -> None:
        pass

    return step if text else nothing


def _parse_variable(name: str, slots: _Slots, definition: OpDefinition) -> _Step:
    if name in slots.index:
        return _parse_operand(slots.index[name], slots)
    if name in slots.properties:
        return _parse_property(slots.properties[name], definition)
    if name in slots.successors:

        def successor(p: Parser, state: _State) -> None:
            state.successors.append(p.successor_block())

        return successor
    if name in slots.regions:
        implicit = definition.implicit_terminator

        def region(p: Parser, state: _State) -> None:
            state.regions.append(p.region(definition.name))
            if implicit is not None:
                from halfulp.interp.dialects.scf.forms import terminated

                terminated(p, state.start, state.regions[-1], implicit)

        return region
    raise ValueError(f"{definition.name}: the format names ${name}, which is not declared")


def _parse_operand(index: int, slots: _Slots) -> _Step:
    arity = slots.all[index].arity

    def one(p: Parser, state: _State) -> None:
        at = p.pos
        if p.tokens[at][:1] != "%":
            p.operand_token()
        state.operands[index] = at
        p.pos = at + 1

    def optional(p: Parser, state: _State) -> None:
        state.operands[index] = [p.operand_token()] if p.tokens[p.pos][:1] == "%" else []

    def variadic(p: Parser, state: _State) -> None:
        state.operands[index] = p.operand_tokens()

    return {Arity.ONE: one, Arity.OPTIONAL: optional, Arity.VARIADIC: variadic}[arity]


def _parse_property(prop: Property, definition: OpDefinition) -> _Step:
    read = _property_reader(prop, f"custom op '{definition.name}' ")
    name = prop.name

    def step(p: Parser, state: _State) -> None:
        state.properties[name] = read(p)

    return step


def _property_reader(prop: Property, prefix: str) -> Callable[[Parser], Attribute]:
    kind = prop.kind
    special: Callable[[Parser], Attribute] | None = None
    left_to_the_op = (StringAttr, TypeAttr) if kind.accepts(_TYPE) else StringAttr

    def checked(p: Parser) -> Attribute:
        at = p.pos
        attribute = special(p) if special is not None else p.attribute()
        # A string has a type to MLIR: what is wrong with it is said by the op's own rules, as of a type where the op
        # wants some type.
        if not kind.accepts(attribute) and (special is not None or not isinstance(attribute, left_to_the_op)):
            p.error(f"{prefix}invalid kind of attribute specified", at)
        return attribute

    if isinstance(kind, EnumDefinition):
        if kind.storage_width is None:
            # An attribute without keywords is written as any other.
            return checked if "" in kind.cases else lambda p: p.enum_brackets(kind, prefix)
        attributes = {name: kind.attribute(value) for name, value in kind.cases.items()}

        def keyword(p: Parser) -> Attribute:
            token = p.tokens[p.pos]
            attribute = attributes.get(token) or attributes.get(token.strip('"'))
            if attribute is None:
                p.error(
                    f"{prefix}expected string or keyword containing one of the following enum values for attribute "
                    f"'{prop.name}' [{', '.join(attributes)}]"
                )
            p.pos += 1
            return attribute

        return keyword
    special = _READERS.get(_shape_of_attribute(kind))
    return checked


def _shape_of_attribute(kind: AttributeConstraint) -> str:
    """How a custom form writes an attribute: bare where the constraint leaves only one way to read it."""
    if not kind.accepts(_UNIT):
        if kind.accepts(StringAttr("")) and not kind.accepts(IntegerAttr(0, I64)):
            return "string"
        if kind.accepts(SymbolRefAttr("a")):
            return "symbol"
        if kind.accepts(DenseArrayAttr(I32, ())) and not kind.accepts(IntegerAttr(0, I64)):
            return "array"
        if kind.accepts(DenseArrayAttr(I64, ())) and not kind.accepts(IntegerAttr(0, I64)):
            return "i64 array"
        if not kind.accepts(IntegerAttr(0, I32)):
            return (
                "i64"
                if kind.accepts(IntegerAttr(0, I64))
                else "index"
                if kind.accepts(IntegerAttr(0, INDEX))
                else "any"
            )
        return "any"
    return "any" if kind.accepts(IntegerAttr(0, I64)) else "unit"


def _read_string(p: Parser) -> Attribute:
    if p.tokens[p.pos][:1] != '"':
        at = p.pos
        attribute = p.attribute(NoneType())
        p.error(f"invalid kind of attribute specified: expected builtin.string, but found '{attribute}'", at)
    return StringAttr(p.string())


def _read_symbol(p: Parser) -> Attribute:
    return p.symbol_reference()


def _read_array(p: Parser) -> Attribute:
    return p.array_values(I32)


_READERS: Mapping[str, Callable[[Any], Attribute]] = {
    "string": _read_string,
    "symbol": _read_symbol,
    "array": _read_array,
    "i64 array": lambda p: p.array_values(I64),
    "i64": lambda p: p.attribute(I64),
    "index": lambda p: p.attribute(INDEX),
}


def _parse_type(indices: list[int], slots: _Slots) -> _Step:
    if len(indices) == 1 and slots.all[indices[0]].arity is Arity.ONE:
        index = indices[0]
        kind = slots.all[index].constraint.kind

        def one(p: Parser, state: _State) -> None:
            at = p.pos
            type = p.types.get(p.tokens[at])
            if type is None:
                type = p.type()
            else:
                p.pos += 1
            if kind is not None and not kind.accepts(type):
                _wrong_kind(p, kind, type, at, slots.definition)
            state.types[index] = type

        return one

    def several(p: Parser, state: _State) -> None:
        _spread_types(p, state, indices, slots, p.type_list())

    return several


def _wrong_kind(p: Parser, kind: TypeKind, type: Type, at: int, definition: OpDefinition) -> NoReturn:
    expected = f": expected {kind.name}, but found '{type}'" if kind.name else ""
    p.error(f"custom op '{definition.name}' invalid kind of type specified{expected}", at)


def _spread_types(p: Parser, state: _State, indices: list[int], slots: _Slots, types: Sequence[Type]) -> None:
    """Give each slot its share of a list of types, by the number of its operands."""
    start = 0
    for index in indices:
        if slots.all[index].arity is Arity.ONE:
            if start >= len(types):
                p.error("there are fewer types than values")
            state.types[index] = types[start]
            start += 1
        elif index == indices[-1]:
            state.types[index] = tuple(types[start:])
            start = len(types)
        else:
            names = state.operands[index] if index < len(state.operands) else None
            count = len(names or ())
            state.types[index] = tuple(types[start : start + count])
            start += count
    if start != len(types):
        p.error("there are more types than values")


def _parse_functional(inputs: list[int], results: list[int], slots: _Slots) -> _Step:
    def step(p: Parser, state: _State) -> None:
        at = p.pos
        if p.tokens[at] != "(":
            p.wrong_token("expected '('")
        type = p.function_type()
        operands = sum(
            1 if slots.all[index].arity is Arity.ONE else len(state.operands[index] or ()) for index in inputs
        )
        if operands != len(type.inputs):
            first = next((t for i in inputs for t in _tokens_of(state.operands[i])), at)
            p.error(
                f"custom op '{slots.definition.name}' number of operands and types do not match: got {operands} "
                f"operands and {len(type.inputs)} types",
                first,
            )
        _spread_types(p, state, inputs, slots, type.inputs)
        _spread_types(p, state, results, slots, type.results)

    return step


def _tokens_of(operand: Any) -> list[int]:
    return operand if isinstance(operand, list) else [operand]


def _parse_dictionary(keyword: bool, definition: OpDefinition) -> _Step:
    names = {prop.name for prop in definition.properties}
    start = "attributes" if keyword else "{"

    def step(p: Parser, state: _State) -> None:
        if p.tokens[p.pos] != start:
            return
        if keyword:
            p.pos += 1
        p.dictionary(state.attributes)
        named = {name: state.attributes.pop(name) for name in names & state.attributes.keys()}
        if named:
            state.properties.update(named)
            state.named = named

    return step


def _parse_group(group: Group, slots: _Slots, definition: OpDefinition) -> _Step:
    # A unit attribute is not written: the group's being there says it.
    units = [
        element.name
        for element in group.elements
        if isinstance(element, Variable) and (prop := slots.properties.get(element.name)) is not None and _is_unit(prop)
    ]
    elements = [e for e in group.elements if not (isinstance(e, Variable) and e.name in units)]
    test = _starts(elements[0], slots)
    steps = tuple(_parse_step(element, slots, definition) for element in elements)
    otherwise = tuple(_parse_step(element, slots, definition) for element in group.otherwise)

    def step(p: Parser, state: _State) -> None:
        if test(p):
            for inner in steps:
                inner(p, state)
            for name in units:
                state.properties[name] = _UNIT
        else:
            for inner in otherwise:
                inner(p, state)

    return step


def _parse_clauses(clauses: Clauses, slots: _Slots, definition: OpDefinition) -> _Step:
    by_keyword = {
        clause[0].text: tuple(_parse_step(element, slots, definition) for element in clause[1:])
        for clause in clauses.clauses
        if isinstance(clause[0], Literal)
    }

    def step(p: Parser, state: _State) -> None:
        seen: set[str] = set()
        while (keyword := p.tokens[p.pos]) in by_keyword:
            p.pos += 1
            if keyword in seen:
                p.error(
                    f"custom op '{definition.name}' `{keyword}` clause can appear at most once in the expansion of the "
                    "oilist directive",
                    state.start,
                )
            seen.add(keyword)
            for inner in by_keyword[keyword]:
                inner(p, state)

    return step


def _parse_index_list(slots: _Slots, dynamic: str, static: str) -> _Step:
    """``[%a, 2]``: the values among the ``dynamic`` operands, the numbers in ``static`` with a mark for each value."""
    index = slots.index[dynamic]

    def step(p: Parser, state: _State) -> None:
        names: list[int] = []
        codes: list[int] = []
        p.expect("[")
        while p.tokens[p.pos] != "]":
            if p.tokens[p.pos][:1] == "%":
                names.append(p.operand_token())
                codes.append(DYNAMIC)
            else:
                codes.append(_index(p))
            if not p.take(","):
                break
        p.expect("]")
        state.operands[index] = names
        state.properties[static] = DenseArrayAttr(I64, tuple(codes))

    return step


def _index(p: Parser) -> int:
    at = p.pos
    value = p.integer("expected SSA value or integer")
    if not -(1 << 63) <= value < 1 << 63:
        p.error("integer value too large", at)
    return value & ((1 << 64) - 1)


def _is_unit(prop: Property) -> bool:
    return isinstance(prop.kind, AttributeConstraint) and _shape_of_attribute(prop.kind) == "unit"


def _names_results(p: Parser) -> bool:
    """Whether the SSA names that follow are those of the next operation's results, as after a bare ``vector.print``.

    mlir-opt takes them for operands, and so cannot read what it prints there.
    """
    tokens, at = p.tokens, p.pos
    while tokens[at][:1] == "%":
        at += 3 if tokens[at + 1] == ":" and tokens[at + 2].isdigit() else 1
        if tokens[at] != ",":
            break
        at += 1
    return tokens[at] == "="


def _starts(element: Element, slots: _Slots) -> _Test:
    """Whether the current token begins ``element``, the first of an optional group."""
    if isinstance(element, Literal):
        text = element.text
        return lambda p: p.tokens[p.pos] == text
    if isinstance(element, Variable):
        prop = slots.properties.get(element.name)
        if prop is None:
            if element.name in slots.index:
                if Trait.TERMINATOR in slots.definition.traits:  # nothing follows it
                    return lambda p: p.tokens[p.pos][:1] == "%"
                return lambda p: p.tokens[p.pos][:1] == "%" and not _names_results(p)
            first = "^" if element.name in slots.successors else "{"
            return lambda p: p.tokens[p.pos][:1] == first
        if isinstance(prop.kind, EnumDefinition):
            cases = prop.kind.cases
            return lambda p: p.tokens[p.pos] in cases
        first = {"string": '"', "symbol": "@", "array": "[", "i64 array": "["}.get(_shape_of_attribute(prop.kind), "")
        if first:
            return lambda p: p.tokens[p.pos][:1] == first
    raise ValueError(f"{slots.definition.name}: an optional group cannot begin with {element}")


# --- printing -------------------------------------------------------------------------------------------------------


class Out:
    """The text of one op as it grows, and MLIR's rules for the spaces in it."""

    __slots__ = ("punctuation", "space", "text")

    def __init__(self) -> None:
        self.text = ""
        self.space = True
        self.punctuation = False

    def literal(self, text: str) -> None:
        """A literal of the format; an empty one asks for no space."""
        if not text:
            self.space = False
            self.punctuation = True
            return
        if self.space and not (len(text) == 1 and text in (">)}]," if self.punctuation else "<>(){}[],")):
            self.text += " "
        self.text += text
        self.space = text not in ("<", "(", "{", "[")
        self.punctuation = not (text[0].isalpha() or text[0] == "_")

    def value(self, text: str) -> None:
        """A name, a type or an attribute."""
        if self.space or not self.punctuation:
            self.text += " "
        self.text += text
        self.space = True
        self.punctuation = False


_Emit = Callable[["Printer", Operation, Out], None]


@cache
def compile_printer(definition: OpDefinition) -> CustomPrint | None:
    """The printer of an op's custom form (what follows its name), built on first use; None for generic-only ops."""
    if definition.custom is not None:
        return custom_form(definition.custom)[1]
    if definition.assembly is None:
        return None
    slots = _Slots(definition)
    emits = _emit_all(read_format(definition.assembly), slots, definition)

    def print_op(printer: Printer, operation: Operation) -> str:
        out = Out()
        for emit in emits:
            emit(printer, operation, out)
        return out.text

    return print_op


def _emit_all(elements: Sequence[Element], slots: _Slots, definition: OpDefinition) -> tuple[_Emit, ...]:
    return tuple(_emit(element, slots, definition) for element in elements)


def _emit(element: Element, slots: _Slots, definition: OpDefinition) -> _Emit:
    if isinstance(element, Literal):
        text = element.text
        return lambda printer, operation, out: out.literal(text)
    if isinstance(element, Variable):
        return _emit_variable(element.name, slots, definition)
    if isinstance(element, TypeOf):
        indices = slots.of(element.name)
        if len(indices) == 1 and slots.plain:
            return _emit_one_type(indices[0], len(slots.operands))
        return lambda printer, operation, out: out.value(
            ", ".join(printer.type(value.type) for index in indices for value in _values(operation, index, slots))
        )
    if isinstance(element, FunctionalType):
        inputs, results = slots.of(element.inputs), slots.of(element.results)

        def functional(printer: Printer, operation: Operation, out: Out) -> None:
            type = FunctionType(
                tuple(value.type for index in inputs for value in _values(operation, index, slots)),
                tuple(value.type for index in results for value in _values(operation, index, slots)),
            )
            out.value(printer.type(type))

        return functional
    if isinstance(element, AttributeDictionary):
        return _emit_dictionary(element.keyword, definition)
    if isinstance(element, Clauses):
        return _emit_clauses(element, slots, definition)
    if isinstance(element, Directive):
        return DIRECTIVES[element.name][1](slots, *element.arguments)
    return _emit_group(element, slots, definition)


def _emit_one_type(index: int, operands: int) -> _Emit:
    """The type of one value of an op whose operands and results are single values."""

    def operand(printer: Printer, operation: Operation, out: Out) -> None:
        out.value(printer.type(operation.operands[index].type))

    def result(printer: Printer, operation: Operation, out: Out) -> None:
        out.value(printer.type(operation.results[index - operands].type))

    return operand if index < operands else result


def _values(operation: Operation, index: int, slots: _Slots) -> Sequence[SSAValue]:
    """The values of one slot."""
    if index in slots.passed:
        return operation.successors[slots.passed[index]][1]
    if index >= len(slots.operands):
        group, offset, values = slots.results, len(slots.operands), list[SSAValue](operation.results)
    else:
        group, offset, values = slots.operands, 0, operation.operands
    own = [i for i in range(len(group)) if offset + i not in slots.passed]
    sizes = _segment_sizes(operation, slots) if offset == 0 else None
    counts = (
        [sizes[i] for i in own] if sizes is not None else spread([group[i] for i in own], len(values)) or [len(values)]
    )
    position = own.index(index - offset)
    start = sum(counts[:position])
    return values[start : start + counts[position]]


def _segment_sizes(operation: Operation, slots: _Slots) -> tuple[int, ...] | None:
    segments = operation.properties.get(SEGMENTS)
    return segments.values if isinstance(segments, DenseArrayAttr) else None


def _emit_variable(name: str, slots: _Slots, definition: OpDefinition) -> _Emit:
    if name in slots.index:
        index = slots.index[name]
        if slots.plain:
            return lambda printer, operation, out: out.value(printer.name(operation.operands[index]))
        return lambda printer, operation, out: out.value(
            ", ".join(printer.name(value) for value in _values(operation, index, slots))
        )
    if name in slots.properties:
        return _emit_property(slots.properties[name])
    if name in slots.successors:
        successor = slots.successors[name]
        return lambda printer, operation, out: out.value(printer.label(operation.successors[successor][0]))
    region = slots.regions[name]
    return lambda printer, operation, out: out.value(printer.region(operation.regions[region], operation))


def _emit_property(prop: Property) -> _Emit:
    name = prop.name
    spell = _property_speller(prop)
    return lambda printer, operation, out: out.value(spell(printer, operation.properties[name]))


def _property_speller(prop: Property) -> Callable[[Printer, Attribute], str]:
    kind = prop.kind
    if isinstance(kind, EnumDefinition):
        names = kind.names

        def enum(printer: Printer, attribute: Attribute) -> str:
            if isinstance(attribute, EnumAttr):
                return f"<{attribute.keywords}>" if attribute.keywords else printer.attribute(attribute)
            assert isinstance(attribute, IntegerAttr)
            return names[attribute.value]

        return enum
    shape = _shape_of_attribute(kind)
    if shape == "symbol":
        return lambda printer, attribute: str(attribute)
    if shape in ("array", "i64 array"):
        return lambda printer, attribute: f"[{attribute.values_text()}]"  # type: ignore[attr-defined]
    if shape in ("i64", "index"):
        return lambda printer, attribute: str(attribute.value)  # type: ignore[attr-defined]
    return lambda printer, attribute: printer.attribute(attribute)


def _emit_dictionary(keyword: bool, definition: OpDefinition) -> _Emit:
    assert definition.assembly is not None
    elided = _written_names(read_format(definition.assembly)) | {"operandSegmentSizes"}
    defaults = {prop.name: prop.elided for prop in definition.properties if prop.elided is not None}
    defaults |= dict(default_properties(definition))

    def emit(printer: Printer, operation: Operation, out: Out) -> None:
        extra = operation.attributes
        if operation.properties.keys() - elided:
            extra = dict(extra)
            for name, value in operation.properties.items():
                if name not in elided and defaults.get(name) != value:
                    extra[name] = value
        if not extra:
            return
        out.text += f" attributes {printer.dictionary(extra)}" if keyword else f" {printer.dictionary(extra)}"
        out.space, out.punctuation = True, False

    return emit


def _written_names(elements: Sequence[Element]) -> frozenset[str]:
    names: set[str] = set()
    for element in elements:
        if isinstance(element, Variable):
            names.add(element.name)
        elif isinstance(element, Group):
            names |= _written_names(element.elements) | _written_names(element.otherwise)
        elif isinstance(element, Clauses) and element.printed:
            names |= {name for clause in element.clauses for name in _written_names(clause)}
        elif isinstance(element, Directive):
            names |= set(element.arguments)
    return frozenset(names)


def _emit_group(group: Group, slots: _Slots, definition: OpDefinition) -> _Emit:
    anchor = group.elements[group.anchor]
    present = _presence(anchor, slots)
    units = {
        element.name
        for element in group.elements
        if isinstance(element, Variable)
        and element.name in slots.properties
        and _is_unit(slots.properties[element.name])
    }
    written = [e for e in group.elements if not (isinstance(e, Variable) and e.name in units)]
    inner = _emit_all(written, slots, definition)
    otherwise = _emit_all(group.otherwise, slots, definition)
    space, punctuation = _spacing_after((*written, *group.otherwise)[-1])

    def emit(printer: Printer, operation: Operation, out: Out) -> None:
        for step in inner if present(operation) else otherwise:
            step(printer, operation, out)
        # MLIR decides on spaces when it compiles the format: as if all had been printed.
        out.space, out.punctuation = space, punctuation

    return emit


def _spacing_after(element: Element) -> tuple[bool, bool]:
    """What `Out` knows of spaces behind the last element of a group."""
    if isinstance(element, Group):
        return _spacing_after((*element.elements, *element.otherwise)[-1])
    out = Out()
    if isinstance(element, Literal):
        out.literal(element.text)
    return out.space, out.punctuation


def _named_in(clause: Sequence[Element]) -> Element:
    return next(element for element in clause if isinstance(element, Variable))


def _emit_clauses(clauses: Clauses, slots: _Slots, definition: OpDefinition) -> _Emit:
    emits = tuple(
        (_presence(_named_in(clause), slots), _emit_all(clause, slots, definition))
        for clause in (clauses.clauses if clauses.printed else ())
    )

    def emit(printer: Printer, operation: Operation, out: Out) -> None:
        for present, steps in emits:
            if present(operation):
                for step in steps:
                    step(printer, operation, out)

    return emit


def _emit_index_list(slots: _Slots, dynamic: str, static: str) -> _Emit:
    index = slots.index[dynamic]

    def emit(printer: Printer, operation: Operation, out: Out) -> None:
        values = iter(_values(operation, index, slots))
        numbers = operation.properties[static]
        assert isinstance(numbers, DenseArrayAttr)
        texts = (
            printer.name(next(values)) if code == DYNAMIC else str(number)
            for code, number in zip(numbers.codes, numbers.values, strict=True)
        )
        out.value(f"[{', '.join(texts)}]")

    return emit


DIRECTIVES: Mapping[str, tuple[Callable[..., _Step], Callable[..., _Emit]]] = {
    "DynamicIndexList": (_parse_index_list, _emit_index_list),
}


def _presence(anchor: Element, slots: _Slots) -> Callable[[Operation], bool]:
    """Whether the anchor of a group has something to print."""
    assert isinstance(anchor, Variable | TypeOf)
    prop = slots.properties.get(anchor.name)
    if prop is None:
        if anchor.name in slots.regions:
            return lambda operation: bool(operation.regions[slots.regions[anchor.name]].blocks)
        index = slots.index[anchor.name]
        return lambda operation: bool(_values(operation, index, slots))
    name = prop.name
    if prop.default is None:
        return lambda operation: name in operation.properties
    default = prop.kind.attribute(prop.default)  # type: ignore[union-attr]
    return lambda operation: operation.properties.get(name, default) != default
