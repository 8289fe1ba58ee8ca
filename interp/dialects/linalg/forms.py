"""Custom forms of the structured ops, which MLIR writes by hand.

All have the clauses ``ins(… : types)`` and ``outs(… : types)``. A named op leaves out its region, which follows from
its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from halfulp.interp.declare.declarations import AttributeConstraint, CustomForm, OpDefinition
from halfulp.interp.declare.operands import SEGMENTS, move_inherent
from halfulp.interp.dialects.linalg.bodies import Unbuildable
from halfulp.interp.dialects.regions import arrow_types
from halfulp.interp.dialects.structured.structure import inputs_and_inits, type_in_body
from halfulp.interp.ir.attributes import AffineMapAttr, ArrayAttr, DenseArrayAttr, DictionaryAttr, StringAttr
from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.dialect_attributes import EnumAttr, EnumDefinition
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue
from halfulp.interp.ir.types import I32, FunctionType
from halfulp.interp.text.op_parser import OpParser, OpPrinter

Body = Callable[[OpParser, Operation, Block], None]
"""Writes the ops of a named op's body into its block, which has its arguments."""

MEMOIZED = "linalg.memoized_indexing_maps"
"""The attribute in which MLIR keeps the maps of a named op with fixed loops. It is not printed."""

_MAPS = "indexing_maps"
_SHOWN = ("doc", _MAPS, "iterator_types", "library_call")
"""The properties of linalg.generic that stand in front; all others stand after ``attrs =``."""


class Parts:
    """The parts that all structured ops have, as they are read: operands, their types, and attributes."""

    def __init__(self) -> None:
        self.operands: list[SSAValue] = []
        self.inputs: list[Type] = []
        self.inits: list[Type] = []
        self.properties: dict[str, Attribute] = {}
        self.attributes: dict[str, Attribute] = {}

    @property
    def segments(self) -> DenseArrayAttr:
        """The numbers of inputs and of inits."""
        return DenseArrayAttr(I32, (len(self.inputs), len(self.inits)))


def read_parts(p: OpParser, definition: OpDefinition) -> Parts:
    """Read ``<properties> {attributes} ins(…) outs(…)``, each of which may be absent."""
    parts = Parts()
    if p.take("<"):
        at = p.pos
        properties = p.attribute()
        if not isinstance(properties, DictionaryAttr):
            p.wrong(definition.name, "expected a dictionary of properties", at)
        parts.properties.update(properties.entries)
        p.expect(">")
    if p.tokens[p.pos] == "{":
        p.dictionary(parts.attributes)
    groups = []
    for keyword, types in (("ins", parts.inputs), ("outs", parts.inits)):
        names: list[int] = []
        if p.take(keyword):
            p.expect("(")
            names = p.operand_tokens()
            p.expect(":")
            at = p.pos
            types.extend(p.type_list())
            p.expect(")")
            p.check_count(definition.name, names, types, names[0] if names else at)
        groups.append((names, types))
    for names, types in groups:
        parts.operands += [p.use(token, type) for token, type in zip(names, types, strict=True)]
    return parts


def print_operands(printer: OpPrinter, operation: Operation) -> str:
    """Print `` ins(…) outs(…)``, each only if there are such operands."""
    return "".join(
        f" {keyword}({', '.join(map(printer.name, values))} : {', '.join(printer.type(v.type) for v in values)})"
        for keyword, values in zip(("ins", "outs"), inputs_and_inits(operation), strict=True)
        if values
    )


def print_results(printer: OpPrinter, operation: Operation) -> str:
    """Print `` -> types``; nothing without results."""
    types = [result.type for result in operation.results]
    if not types:
        return ""
    texts = ", ".join(map(printer.type, types))
    return f" -> {texts}" if len(types) == 1 and not isinstance(types[0], FunctionType) else f" -> ({texts})"


def print_attributes(printer: OpPrinter, entries: Mapping[str, Attribute], elided: Iterable[str] = ()) -> str:
    """Print a dictionary of attributes with a space in front. The entries in ``elided`` are left out; without entries,
    nothing is printed.
    """
    hidden = {SEGMENTS, *elided}
    shown = {name: attribute for name, attribute in entries.items() if name not in hidden}
    return f" {printer.dictionary(shown)}" if shown else ""


def argument_names(operation: Operation) -> Sequence[str]:
    """Return the names that MLIR gives the arguments of the body."""
    inputs, inits = inputs_and_inits(operation)
    return ("in",) * len(inputs) + ("out",) * len(inits)


# --- generic ----------------------------------------------------------------------------------------------------------


def generic_form(iterator_type: EnumDefinition) -> CustomForm:
    """Return the form of linalg.generic, which writes iterator types as strings."""

    def parse(p: OpParser, at: int, definition: OpDefinition) -> Operation:
        first = p.pos
        core = p.attribute()
        if not isinstance(core, DictionaryAttr):
            p.wrong(
                definition.name,
                f"invalid kind of attribute specified: expected builtin.dictionary, but found '{core}'",
                first,
            )
        attributes = dict(core.entries)
        attributes["iterator_types"] = _iterators(p, definition, attributes.get("iterator_types"), first)
        parts = read_parts(p, definition)
        attributes |= parts.attributes
        if p.take("attrs"):
            p.expect("=")
            attributes |= p.optional_dictionary()
        region = p.region(definition.name)
        results = arrow_types(p)
        properties = parts.properties
        move_inherent(definition, properties, attributes)
        properties[SEGMENTS] = parts.segments
        return p.placed(
            Operation(definition.name, definition, parts.operands, results, properties, attributes, [region]), at
        )

    def _iterators(p: OpParser, definition: OpDefinition, written: Attribute | None, at: int) -> Attribute:
        if not isinstance(written, ArrayAttr):
            p.wrong(definition.name, 'expected "iterator_types" array attribute', at)
        found: list[Attribute] = []
        for each in written.elements:
            if isinstance(each, StringAttr):
                if each.value not in iterator_type.cases:
                    p.wrong(definition.name, f"unexpected iterator_type ({each.value})")
                each = iterator_type.attribute(iterator_type.cases[each.value])
            found.append(each)
        return ArrayAttr(tuple(found))

    def print_(printer: OpPrinter, operation: Operation) -> str:
        entries = {**operation.attributes, **operation.properties}
        shown = {name: entries[name] for name in _SHOWN if name in entries}
        iterators = shown.get("iterator_types")
        if isinstance(iterators, ArrayAttr):
            shown["iterator_types"] = ArrayAttr(tuple(map(_as_string, iterators.elements)))
        text = f" {printer.dictionary(shown)}" + print_operands(printer, operation)
        others = print_attributes(printer, entries, _SHOWN)
        text += f" attrs = {others}" if others else ""
        return text + f" {printer.region(operation.regions[0], operation)}" + print_results(printer, operation)

    return CustomForm(parse, print_)


def _as_string(iterator: Attribute) -> Attribute:
    return StringAttr(iterator.keywords) if isinstance(iterator, EnumAttr) else iterator


# --- named ops --------------------------------------------------------------------------------------------------------


Count = Callable[[Mapping[str, Attribute]], int]
Defaults = Callable[[Operation], Attribute | None]
"""Gives the maps of an op whose text does not write any."""


class Leading(NamedTuple):
    """Properties of a named op that stand in front of its operands.

    ``maps``: gives the maps of an op whose text has none; None for an op that has no such property. ``kind``: the
    enum of the property ``kind``, which begins the text. ``needed``: the text must have maps.
    """

    maps: Defaults | None = None
    kind: EnumDefinition | None = None
    needed: bool = False


NOTHING = Leading()


def _case(p: OpParser, kind: EnumDefinition) -> int:
    """Read a case of an enum, which LLVM 24 writes without the name of the enum."""
    word = p.tokens[p.pos]
    if word not in kind.cases:
        p.error(f"expected {kind.name} to be one of: {', '.join(kind.cases)}")
    p.pos += 1
    return kind.cases[word]


def named_form(body: Body, arguments: int | Count, leading: Leading = NOTHING) -> CustomForm:
    """Return the form of a named op whose region follows from its operands. ``arguments``: how many its body has, or a
    function of the properties that stand in front.
    """

    def read_leading(p: OpParser, definition: OpDefinition) -> dict[str, Attribute]:
        properties: dict[str, Attribute] = {}
        if leading.kind is not None and p.take("<"):
            properties["kind"] = leading.kind.attribute(_case(p, leading.kind))
            p.expect(">")
        elif leading.kind is not None:
            if not p.take("kind"):
                p.wrong(definition.name, "expected 'kind'")
            p.expect("=")
            kind = p.attribute()
            if not isinstance(kind, EnumAttr) or kind.definition is not leading.kind:
                word = leading.kind.name.rpartition("::")[2]
                p.wrong(definition.name, f"expected {word} attribute")
            properties["kind"] = kind
        if leading.maps is not None and p.take(_MAPS):
            p.expect("=")
            maps = p.attribute()
            if not isinstance(maps, ArrayAttr):
                p.wrong(definition.name, "invalid kind of attribute specified", p.pos - 1)
            if not all(isinstance(map_, AffineMapAttr) for map_ in maps.elements):
                p.wrong(definition.name, f"element of {_MAPS} array is not an affine_map")
            properties[_MAPS] = maps
        elif leading.needed:
            p.wrong(definition.name, f"expected '{_MAPS}' attribute")
        return properties

    def parse(p: OpParser, at: int, definition: OpDefinition) -> Operation:
        written = read_leading(p, definition)
        begin = p.pos
        parts = read_parts(p, definition)
        if p.tokens[p.pos] == "{":
            p.dictionary(parts.attributes)
        _check_inherent(p, definition, parts.attributes, begin)
        results = arrow_types(p)
        operands = (*parts.inputs, *parts.inits)
        wanted = arguments if isinstance(arguments, int) else arguments(written)
        if len(operands) != wanted:
            p.wrong(
                definition.name,
                f"[parseNamedStructuredOpRegion] ods-gen generated region expects {wanted} args, got {len(operands)}",
                p.pos,
            )
        if leading.maps is not None and _MAPS in parts.attributes:
            twice = f"attribute '{_MAPS}' occurs more than once in the attribute list"
            p.wrong(definition.name, twice, at)
        parts.properties |= written
        move_inherent(definition, parts.properties, parts.attributes)
        parts.properties[SEGMENTS] = parts.segments
        block = Block()
        operation = Operation(
            definition.name,
            definition,
            parts.operands,
            results,
            parts.properties,
            parts.attributes,
            [Region([block])],
        )
        default = None if leading.maps is None else leading.maps(operation)
        if default is not None:
            operation.properties.setdefault(_MAPS, default)
        # As in MLIR, what the body holds has no location.
        for type in operands:
            block.add_argument(type_in_body(type))
        p.placed(operation, at)
        try:
            body(p, operation, block)
        except Unbuildable as error:
            p.wrong(definition.name, str(error), begin)
        return operation

    def print_(printer: OpPrinter, operation: Operation) -> str:
        entries = {**operation.attributes, **operation.properties}
        kind, text = entries.get("kind"), ""
        if leading.kind is not None and isinstance(kind, EnumAttr):
            text = f" <{kind.keywords}>" if printer.newer else f" kind={printer.attribute(kind)}"
        if leading.maps is not None and _MAPS in entries and entries[_MAPS] != leading.maps(operation):
            text += f" {_MAPS} = {printer.attribute(entries[_MAPS])}"
        text += print_attributes(printer, entries, (MEMOIZED, "kind", _MAPS))
        return text + print_operands(printer, operation) + print_results(printer, operation)

    return CustomForm(parse, print_)


def _check_inherent(p: OpParser, definition: OpDefinition, written: Mapping[str, Attribute], at: int) -> None:
    """Check the properties that a text has among its attributes, as soon as they are read."""
    for name, attribute in written.items():
        declared = definition.property_named(name)
        kind = None if declared is None else declared.kind
        if isinstance(kind, AttributeConstraint) and not kind.accepts(attribute):
            op = f"'{definition.name}'"
            problem = f"attribute '{name}' failed to satisfy constraint: {kind.description}"
            p.error(f"custom op {op} {op} op {problem}", at)


def yielding(p: OpParser, block: Block, values: Sequence[SSAValue]) -> None:
    """End a body with linalg.yield of these values."""
    block.append(Operation("linalg.yield", p.registry.find("linalg.yield"), list(values)))
