"""Attributes with parameters: the kinds of parameters, and the notation of the text behind the attribute's mnemonic.

The notation is that of the "Assembly Format" of attributes in MLIR's "Defining Dialects Attributes and Types": that of
ops (`halfulp.interp.declare.notation`) with ``$name`` of a parameter, ``custom<Struct>()`` for ``struct(params)``, and
``custom<Options>($name, …)`` for parameters in any order, a comma before each. It is compiled into a reader and a
speller, which the attribute's definition carries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from halfulp.interp.declare.notation import Directive, Element, Group, Literal, Out, TypeOf, Variable, read_format
from halfulp.interp.ir.attributes import ArrayAttr, BoolAttr, DictionaryAttr, StringAttr, SymbolRefAttr
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.dialect_attributes import (
    AttributeDefinition,
    DialectAttr,
    EnumDefinition,
    Parameter,
    ParameterForm,
    ParameterKind,
)
from halfulp.interp.ir.literals import is_bare_identifier, quoted
from halfulp.interp.text.token_parser import TokenParser

Names = Mapping[object, str]
_Values = dict[str, Any]

# --- kinds of parameters ----------------------------------------------------------------------------------------------


def word(p: TokenParser, text: str) -> None:
    """Step over a word. Raises ParseError at the token that stands in its place."""
    if not p.take(text):
        p.error(f"expected '{text}'")


def identifier(p: TokenParser) -> str:
    """Read any word."""
    token = p.tokens[p.pos]
    if not is_bare_identifier(token):
        p.error("expected valid keyword")
    p.pos += 1
    return token


def _integers(p: TokenParser) -> tuple[int, ...]:
    values = [p.integer()]
    while p.take(","):
        values.append(p.integer())
    return tuple(values)


def bracketed_integers(p: TokenParser) -> tuple[int, ...]:
    """Read ``[1, 2]``, possibly empty."""
    p.expect("[")
    if p.take("]"):
        return ()
    values = _integers(p)
    p.expect("]")
    return values


def _boolean(p: TokenParser) -> bool:
    at = p.pos
    token = p.tokens[at]
    if token not in ("true", "false"):
        value = p.integer("expected 'true' or 'false'")
        if value not in (0, 1):
            p.error("integer value too large", at)
        return value == 1
    p.pos += 1
    return token == "true"


def _commas(values: tuple[int, ...], names: Names) -> str:
    return ", ".join(map(str, values))


INTEGER = ParameterKind(lambda p: p.integer(), lambda value, names: str(value))
INTEGERS = ParameterKind(_integers, _commas)
INTEGER_ARRAY = ParameterKind(bracketed_integers, lambda values, names: f"[{_commas(values, names)}]")
BOOLEAN = ParameterKind(_boolean, lambda value, names: "true" if value else "false")
STRING = ParameterKind(lambda p: p.string(), lambda value, names: quoted(value))
TYPE = ParameterKind(lambda p: p.type(), lambda value, names: names.get(value) or value.spell(names))


def unsigned(bits: int) -> ParameterKind:
    """Return the kind of an unsigned number of that width. As in MLIR, a negative one of few digits wraps around."""

    def read(p: TokenParser) -> int:
        at = p.pos
        value = p.integer(wide=True)
        # MLIR reads a number in four bits for each digit before it wraps it.
        if not -(10 ** (bits // 4)) < value < 1 << bits:
            p.error("integer value too large", at)
        return value % (1 << bits)

    return ParameterKind(read, lambda value, names: str(value), lambda value: 0 <= value < 1 << bits)


def list_of(kind: ParameterKind) -> ParameterKind:
    """Return the kind of parameters of that kind with commas between them, at least one."""

    def read(p: TokenParser) -> tuple[Any, ...]:
        found = [kind.read(p)]
        while p.take(","):
            found.append(kind.read(p))
        return tuple(found)

    def spell(values: tuple[Any, ...], names: Names) -> str:
        return ", ".join(kind.spell(value, names) for value in values)

    return ParameterKind(read, spell, lambda values: all(map(kind.accepts, values)))


def flag(name: str) -> ParameterKind:
    """Return the kind of a flag: a word whose presence means True."""

    def read(p: TokenParser) -> bool:
        word(p, name)
        return True

    return ParameterKind(read, lambda value, names: name)


def keyword(definition: EnumDefinition) -> ParameterKind:
    """Return the kind of an enum's case, written as a word. A case that is not an identifier is printed in quotes,
    which are optional when reading.
    """

    def read(p: TokenParser) -> str:
        at = p.pos
        case = p.tokens[at].strip('"')
        while p.tokens[p.pos + 1] == "-":
            p.pos += 2
            case += f"-{p.tokens[p.pos]}"
        if case not in definition.cases:
            choices = ", ".join(definition.cases)
            p.error(f"expected {definition.name} to be one of: {choices}", at, hint=p.similar(case, definition.cases))
        p.pos += 1
        return case

    def spell(value: str, names: Names) -> str:
        return value if is_bare_identifier(value) else quoted(value)

    return ParameterKind(read, spell)


def attribute(accepts: Callable[[Attribute], bool]) -> ParameterKind:
    """Return the kind of an attribute that is checked as it is read."""

    def read(p: TokenParser) -> Attribute:
        at = p.pos
        found = p.attribute()
        if not accepts(found):
            p.error("invalid kind of attribute specified", at)
        return found

    return ParameterKind(read, lambda value, names: value.spell_nested(names), accepts)


ATTRIBUTE = attribute(lambda found: True)
STRING_ATTRIBUTE = attribute(lambda found: isinstance(found, StringAttr))
ARRAY_ATTRIBUTE = attribute(lambda found: isinstance(found, ArrayAttr))
BOOLEAN_ATTRIBUTE = attribute(lambda found: found in (BoolAttr(True), BoolAttr(False)))
DICTIONARY = attribute(lambda found: isinstance(found, DictionaryAttr))
SYMBOL = attribute(lambda found: isinstance(found, SymbolRefAttr))


def with_interface(word: str) -> ParameterKind:
    """Return the kind of a dialect's attribute that has an interface."""
    return attribute(lambda found: has_interface(found, word))


def has_interface(found: Attribute, word: str) -> bool:
    """Tell whether an attribute declares an interface, such as ``pipeline``."""
    return isinstance(found, DialectAttr) and word in found.definition.interfaces


def nested(definition: AttributeDefinition) -> ParameterKind:
    """Return the kind of an attribute whose definition is fixed: it is printed without its mnemonic, and may be written
    with it.
    """

    def read(p: TokenParser) -> Attribute:
        at = p.pos
        if p.tokens[at][:1] != "#":
            return read_parameters(p, definition)
        found = p.attribute()
        if not accepts(found):
            p.error("invalid kind of attribute specified", at)
        return found

    def spell(value: DialectAttr, names: Names) -> str:
        return names.get(value) or value.spell_parameters(names)

    def accepts(found: Attribute) -> bool:
        return isinstance(found, DialectAttr) and found.definition is definition

    return ParameterKind(read, spell, accepts)


# --- the notation -----------------------------------------------------------------------------------------------------


class _Part(NamedTuple):
    """An element of the notation: ``read`` adds to the values by name, ``print`` adds to the text."""

    read: Callable[[TokenParser, _Values], None]
    print: Callable[[DialectAttr, Names, Out], None]


def compile_form(assembly: str, parameters: tuple[Parameter, ...]) -> ParameterForm:
    """Compile the notation of the text behind the mnemonic of an attribute. Raises ValueError where it is malformed."""
    by_name = {parameter.name: parameter for parameter in parameters}
    parts = tuple(_part(element, by_name) for element in read_format(assembly))

    def read(p: TokenParser) -> tuple[Any, ...]:
        values: _Values = {}
        for part in parts:
            part.read(p, values)
        if not parts and p.take("<"):
            p.expect(">")
        return tuple(values.get(parameter.name, parameter.default) for parameter in parameters)

    def spell(value: DialectAttr, names: Names) -> str:
        out = Out()
        out.space = False
        for part in parts:
            part.print(value, names, out)
        return out.text.removeprefix(" ")

    return ParameterForm(read, spell)


def read_parameters(p: TokenParser, definition: AttributeDefinition) -> DialectAttr:
    """Read the text behind the mnemonic of an attribute. Raises ParseError, at the first token for a message of
    ``verify``.
    """
    at = p.pos
    p.enter()
    values = definition.form.read(p)
    p.leave()
    made = DialectAttr(definition, values)
    message = None if definition.verify is None else definition.verify(made)
    if message is not None:
        p.error(message, at)
    return made


def _part(element: Element, parameters: Mapping[str, Parameter]) -> _Part:
    match element:
        case Literal():
            return _literal(element.text)
        case Variable():
            return _variable(parameters[element.name])
        case Group():
            return _group(element, parameters)
        case Directive("Options"):
            return _options({name: parameters[name] for name in element.arguments})
        case Directive("Struct"):
            return _struct(parameters)
    raise ValueError(f"{element} does not exist in the notation of attributes")


def _literal(text: str) -> _Part:
    def read(p: TokenParser, values: _Values) -> None:
        if text[:1].isalpha():
            word(p, text)
        elif text:
            p.expect(text)

    return _Part(read, lambda value, names, out: out.literal(text))


def _variable(parameter: Parameter) -> _Part:
    name, kind = parameter.name, parameter.kind

    def read(p: TokenParser, values: _Values) -> None:
        values[name] = kind.read(p)

    return _Part(read, lambda value, names, out: out.value(kind.spell(value[name], names)))


def _group(group: Group, parameters: Mapping[str, Parameter]) -> _Part:
    """Compile an optional group, which its first literal begins. It is printed where its anchor differs from the
    default.
    """
    texts = [element.text for element in group.elements if isinstance(element, Literal)]
    anchor = group.elements[group.anchor]
    if not isinstance(group.elements[0], Literal) or not isinstance(anchor, Variable | TypeOf):
        raise ValueError(f"an optional group of parameters cannot begin with {group.elements[0]}")
    start = texts[0] or texts[1]
    parameter = parameters[anchor.name]
    parts = tuple(_part(element, parameters) for element in group.elements)

    def read(p: TokenParser, values: _Values) -> None:
        if p.tokens[p.pos] == start:
            for part in parts:
                part.read(p, values)

    def print_(value: DialectAttr, names: Names, out: Out) -> None:
        if value[parameter.name] != parameter.default:
            for part in parts:
                part.print(value, names, out)

    return _Part(read, print_)


def _options(options: Mapping[str, Parameter]) -> _Part:
    """Compile ``, name = value`` and ``, flag``, each at most once."""

    def read(p: TokenParser, values: _Values) -> None:
        while p.take(","):
            name = p.tokens[p.pos]
            if name not in options:
                p.error(f"expected {' or '.join(repr(option) for option in options)}")
            if name in values:
                p.error(f"'{name}' specified more than once", p.pos + 1)
            if options[name].default is not False:
                p.pos += 1
                p.expect("=")
            values[name] = options[name].kind.read(p)

    def print_(value: DialectAttr, names: Names, out: Out) -> None:
        for name, parameter in options.items():
            if value[name] != parameter.default:
                text = parameter.kind.spell(value[name], names)
                out.literal(",")
                out.value(text if parameter.default is False else f"{name} = {text}")

    return _Part(read, print_)


def _struct(parameters: Mapping[str, Parameter]) -> _Part:
    """Compile ``name = value, …`` in any order."""
    required = [name for name, parameter in parameters.items() if not parameter.optional]

    def read(p: TokenParser, values: _Values) -> None:
        if required or is_bare_identifier(p.tokens[p.pos]):
            while True:
                name = identifier(p)
                p.expect("=")
                if name in values or name not in parameters:
                    p.error(
                        f"duplicate or unknown struct parameter name: {name}",
                        hint=p.similar(name, parameters.keys() - values),
                    )
                values[name] = parameters[name].kind.read(p)
                if not p.take(","):
                    break
        missing = [name for name in required if name not in values]
        if missing and len(required) == len(parameters):
            p.wrong_token("expected ','")
        if missing:
            p.error(f"struct is missing required parameter: {missing[0]}")

    def print_(value: DialectAttr, names: Names, out: Out) -> None:
        pairs = (
            f"{parameter.name} = {parameter.kind.spell(given, names)}"
            for parameter, given in zip(value.definition.parameters, value.values, strict=True)
            if not (parameter.optional and given == parameter.default)
        )
        out.value(", ".join(pairs))

    return _Part(read, print_)
