"""The usual shape of an op's custom form, which is read without its elements.

The usual shape is the assembly format without what may be left out: optional groups, clauses and the dictionary. Each
element in it is one token: a literal, an operand, a type, or the word of an enum. The first op of such a shape is read
by the general parser. What follows from its types and words, and not from its operands, is kept for the next ops with
the same types and words. An op that differs in anything is read by the general parser from the same token.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

from halfulp.interp.declare.declarations import OpDefinition
from halfulp.interp.declare.notation import (
    AttributeDictionary,
    Clauses,
    Element,
    Group,
    Literal,
    TypeOf,
    Variable,
    read_format,
)
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.operations import Operation
from halfulp.interp.text.op_parser import OpParser, ParseOp
from halfulp.interp.text.property_forms import property_form
from halfulp.interp.text.slots import Slots

Pick = Callable[[list[str]], Any]


class UsualShape(NamedTuple):
    """The tokens of the usual shape.

    ``width``: their number. ``literals``: picks the literals, which must be ``expected``. ``operands``, ``types``: pick
    the names and the types. ``words``: picks the types and the words of enums. ``after``: the tokens with which the
    op goes on behind the usual shape.
    """

    width: int
    literals: Pick
    expected: Any
    operands: Pick
    types: Pick
    words: Pick
    after: frozenset[str]


@cache
def usual_shape(definition: OpDefinition) -> UsualShape | None:
    """Return the usual shape of an op's custom form; None where an element takes more than one token."""
    slots = Slots(definition)
    if definition.custom is not None or definition.assembly is None or not slots.plain or definition.regions:
        return None
    kinds: list[str] = []
    literals: list[str] = []
    operands: dict[int, int] = {}
    skipped: list[Element] = []
    for element in read_format(definition.assembly):
        kind = _kind(element, slots)
        if kind is None:
            return None
        if kind == "skipped":
            skipped.append(element)
        elif kind != "space":
            text = element.text if isinstance(element, Literal) else ""
            # One token must tell that nothing is there of what is skipped.
            if skipped and (not text or any(_may_begin(left_out, text, slots) for left_out in skipped)):
                return None
            skipped.clear()
            if isinstance(element, Variable) and kind == "operand":
                operands[slots.index[element.name]] = len(kinds)
            kinds.append(kind)
            literals.append(text)
    after = [_first_words(element) for element in skipped]
    if "literal" not in kinds or len(operands) != len(slots.operands) or None in after:
        return None
    fixed, types, words = (
        [place for place, kind in enumerate(kinds) if kind in wanted]
        for wanted in (("literal",), ("type",), ("type", "word"))
    )
    pick = itemgetter(*fixed)
    return UsualShape(
        len(kinds),
        pick,
        pick(literals),
        _pick_list([operands[index] for index in sorted(operands)]),
        _pick_list(types),
        itemgetter(*words) if words else lambda _: (),
        frozenset().union(*(first for first in after if first is not None)),
    )


def _kind(element: Element, slots: Slots) -> str | None:
    """Return what an element is in the usual shape; None if it does not fit into one."""
    if isinstance(element, Literal):
        return "literal" if element.text.strip() else "space"
    if isinstance(element, AttributeDictionary | Group | Clauses):
        return "skipped"
    if isinstance(element, TypeOf):
        return "type" if len(slots.of(element.name)) == 1 else None
    if isinstance(element, Variable) and element.name in slots.index:
        return "operand"
    if isinstance(element, Variable) and element.name in slots.properties:
        return "word" if isinstance(slots.properties[element.name].kind, EnumDefinition) else None
    return None


def _may_begin(element: Element, text: str, slots: Slots) -> bool:
    """Tell whether an element that may be left out may begin with a literal."""
    words = _first_words(element)
    if words is not None:
        return text in words
    first = _first_of(element)
    if isinstance(first, Variable) and first.name in slots.properties:
        begins = property_form(slots.properties[first.name], "").begins
        return begins is None or begins(text)
    return True


def _first_words(element: Element) -> frozenset[str] | None:
    """Return the tokens with which an element begins that may be left out; None if they are not all literals."""
    if isinstance(element, AttributeDictionary):
        return frozenset(("attributes" if element.keyword else "{",))
    if isinstance(element, Clauses):
        return frozenset(clause[0].text for clause in element.clauses if isinstance(clause[0], Literal))
    first = _first_of(element)
    return frozenset((first.text,)) if isinstance(first, Literal) else None


def _first_of(element: Element) -> Element | None:
    """Return the first element of an optional group that leaves nothing to read if it is absent."""
    if not isinstance(element, Group) or element.otherwise:
        return None
    return next((part for part in element.elements if part not in (Literal(""), Literal(" "))), None)


def _pick_list(places: list[int]) -> Pick:
    """Return a function that picks items as a sequence, whatever their number."""
    if len(places) > 1:
        return itemgetter(*places)
    return itemgetter(slice(places[0], places[0] + 1) if places else slice(0))


def with_usual_shape(parser: OpParser, definition: OpDefinition, general: ParseOp) -> ParseOp:
    """Return the parser of an op for one file: ``general``, and a shorter way for the usual shape."""
    shape = usual_shape(definition)
    if shape is None:
        return general
    name = definition.name
    width, literals, expected, operands_of, types_of, words_of, after = shape
    tokens, source, types, known_values = parser.tokens, parser.source, parser.types, parser.known_values
    # By the types and words: the types of the operands and of the results, and the properties.
    known: dict[Any, tuple[list[Any], list[Any], dict[str, Any]]] = {}

    def parse(p: OpParser, at: int) -> Operation:
        end = at + 1 + width
        # With the token behind the shape.
        window = tokens[at + 1 : end + 1]
        usual = len(window) > width and literals(window) == expected and window[width] not in after
        if usual:
            words = words_of(window)
            like = known.get(words)
            if like is not None:
                operand_types, result_types, properties = like
                operands = known_values(operands_of(window), operand_types)
                if operands is not None:
                    p.pos = end
                    operation = Operation(name, definition, operands, result_types, properties.copy())
                    operation.source = source
                    operation.token = at
                    return operation
        operation = general(p, at)
        if usual and p.pos == end and all(type in types for type in types_of(window)):
            known[words] = (
                [value.type for value in operation.operands],
                [result.type for result in operation.results],
                operation.properties.copy(),
            )
        return operation

    return parse
