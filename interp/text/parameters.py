"""Attributes with parameters: the declarative notation of what follows their mnemonic, compiled into a reader and a
speller.

The notation is that of the "Assembly Format" of attributes in MLIR's "Defining Dialects Attributes and Types": that of
ops (`halfulp.interp.text.assembly`) with ``$name`` of a parameter, ``custom<Struct>()`` for ``struct(params)``, and
``custom<Options>($name, …)`` for parameters in any order, a comma before each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from halfulp.interp.declare.declarations import AttributeDefinition, EnumDefinition, Parameter, ParameterKind
from halfulp.interp.ir.attributes import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    DialectAttr,
    DictionaryAttr,
    StringAttr,
    SymbolRefAttr,
    spell_nested,
)
from halfulp.interp.ir.literals import is_bare_identifier, quoted
from halfulp.interp.text.assembly import Directive, Element, Group, Literal, Out, TypeOf, Variable, read_format

if TYPE_CHECKING:
    from halfulp.interp.text.attribute_parser import AttributeParser

Names = Mapping[object, str]
_Values = dict[str, Any]
_Step = Callable[["AttributeParser", _Values], None]
_Emit = Callable[[DialectAttr, Names, Out], None]

# --- kinds of parameters ----------------------------------------------------------------------------------------------


def _integers(p: AttributeParser) -> tuple[int, ...]:
    values = [p.integer()]
    while p.take(","):
        values.append(p.integer())
    return tuple(values)


def _bracketed_integers(p: AttributeParser) -> tuple[int, ...]:
    p.expect("[")
    if p.take("]"):
        return ()
    values = _integers(p)
    p.expect("]")
    return values


def _boolean(p: AttributeParser) -> bool:
    token = p.tokens[p.pos]
    if token not in ("true", "false"):
        return p.integer("expected 'true' or 'false'") != 0
    p.pos += 1
    return token == "true"


def _commas(values: tuple[int, ...], names: Names) -> str:
    return ", ".join(map(str, values))


INTEGER = ParameterKind(lambda p: p.integer(), lambda value, names: str(value))
INTEGERS = ParameterKind(_integers, _commas)
INTEGER_ARRAY = ParameterKind(_bracketed_integers, lambda values, names: f"[{_commas(values, names)}]")
BOOLEAN = ParameterKind(_boolean, lambda value, names: "true" if value else "false")
STRING = ParameterKind(lambda p: p.string(), lambda value, names: quoted(value))
TYPE = ParameterKind(lambda p: p.type(), lambda value, names: names.get(value) or value.spell(names))


def flag(word: str) -> ParameterKind:
    """A word that says True by being there."""

    def read(p: AttributeParser) -> bool:
        _word(p, word)
        return True

    return ParameterKind(read, lambda value, names: word)


def keyword(definition: EnumDefinition) -> ParameterKind:
    """One of the cases of an enum, as a word; in quotes where it is none, which may be left out when reading."""

    def read(p: AttributeParser) -> str:
        at = p.pos
        word = p.tokens[at].strip('"')
        while p.tokens[p.pos + 1] == "-":
            p.pos += 2
            word += f"-{p.tokens[p.pos]}"
        if word not in definition.cases:
            choices = ", ".join(definition.cases)
            p.error(f"expected {definition.name} to be one of: {choices}", at, hint=p.similar(word, definition.cases))
        p.pos += 1
        return word

    def spell(value: str, names: Names) -> str:
        return value if is_bare_identifier(value) else quoted(value)

    return ParameterKind(read, spell)


def attribute(accepts: Callable[[Attribute], bool]) -> ParameterKind:
    """An attribute of a kind that is checked as it is read."""

    def read(p: AttributeParser) -> Attribute:
        at = p.pos
        found = p.attribute()
        if not accepts(found):
            p.error("invalid kind of attribute specified", at)
        return found

    return ParameterKind(read, spell_nested)


ATTRIBUTE = attribute(lambda found: True)
STRING_ATTRIBUTE = attribute(lambda found: isinstance(found, StringAttr))
ARRAY_ATTRIBUTE = attribute(lambda found: isinstance(found, ArrayAttr))
BOOLEAN_ATTRIBUTE = attribute(lambda found: found in (BoolAttr(True), BoolAttr(False)))
DICTIONARY = attribute(lambda found: isinstance(found, DictionaryAttr))
SYMBOL = attribute(lambda found: isinstance(found, SymbolRefAttr))


def with_interface(word: str) -> ParameterKind:
    """An attribute of a dialect that can be used as ``word`` says."""
    return attribute(lambda found: has_interface(found, word))


def has_interface(found: Attribute, word: str) -> bool:
    """Whether an attribute declares that it can be used as ``word`` says."""
    return isinstance(found, DialectAttr) and word in found.definition.interfaces


def nested(definition: AttributeDefinition) -> ParameterKind:
    """An attribute known beforehand: only what follows its mnemonic is printed; all of it may be written."""

    def read(p: AttributeParser) -> Attribute:
        at = p.pos
        if p.tokens[at][:1] != "#":
            return read_parameters(p, definition)
        found = p.attribute()
        if not (isinstance(found, DialectAttr) and found.definition is definition):
            p.error("invalid kind of attribute specified", at)
        return found

    def spell(value: DialectAttr, names: Names) -> str:
        return names.get(value) or value.spell_parameters(names)

    return ParameterKind(read, spell)


class TilingLevel(NamedTuple):
    """Tile sizes, which of them are scalable (empty: none was asked for), and the order of the loops (empty: as is)."""

    sizes: tuple[int, ...]
    scalable: tuple[bool, ...] = ()
    interchange: tuple[int, ...] = ()


def _sizes(p: AttributeParser) -> TilingLevel:
    """``[1, [32]]``: sizes, scalable ones in brackets of their own."""
    p.expect("[")
    sizes: list[int] = []
    scalable: list[bool] = []
    if not p.take("]"):
        while True:
            scalable.append(p.take("["))
            sizes.append(p.integer())
            if scalable[-1]:
                p.expect("]")
            if not p.take(","):
                break
        p.expect("]")
    return TilingLevel(tuple(sizes), tuple(scalable) if any(scalable) else ())


def read_tiling_level(p: AttributeParser) -> TilingLevel:
    """``[sizes]`` or ``{sizes = [sizes], interchange = [order]}``."""
    if p.tokens[p.pos] == "[":
        return _sizes(p)
    p.expect("{")
    _word(p, "sizes")
    p.expect("=")
    level = _sizes(p)
    p.expect(",")
    _word(p, "interchange")
    p.expect("=")
    order = _bracketed_integers(p)
    p.expect("}")
    return level._replace(interchange=order)


def _word(p: AttributeParser, word: str) -> None:
    if not p.take(word):
        p.error(f"expected '{word}'")


def spell_tiling_level(level: TilingLevel) -> str:
    """As `read_tiling_level` reads it."""
    flags = level.scalable or (False,) * len(level.sizes)
    sizes = ", ".join(f"[{size}]" if flag else str(size) for size, flag in zip(level.sizes, flags, strict=True))
    if not level.interchange:
        return f"[{sizes}]"
    return f"{{sizes = [{sizes}], interchange = [{', '.join(map(str, level.interchange))}]}}"


def _read_levels(p: AttributeParser) -> tuple[TilingLevel, ...]:
    p.expect("[")
    levels: list[TilingLevel] = []
    if not p.take("]"):
        levels.append(read_tiling_level(p))
        while p.take(","):
            levels.append(read_tiling_level(p))
        p.expect("]")
    return tuple(levels)


TILING_LEVEL = ParameterKind(read_tiling_level, lambda level, names: spell_tiling_level(level))
TILING_LEVELS = ParameterKind(_read_levels, lambda levels, names: f"[{', '.join(map(spell_tiling_level, levels))}]")

# --- reading ----------------------------------------------------------------------------------------------------------


def read_parameters(p: AttributeParser, definition: AttributeDefinition) -> DialectAttr:
    """What follows the mnemonic of an attribute. Raises ParseError; what ``verify`` finds, at the first token."""
    at = p.pos
    values: _Values = {}
    p.enter()
    for step in _compile_reader(definition):
        step(p, values)
    if not definition.assembly and p.take("<"):
        p.expect(">")
    p.leave()
    made = DialectAttr(definition, tuple(values.get(param.name, param.default) for param in definition.parameters))
    message = None if definition.verify is None else definition.verify(made)
    if message is not None:
        p.error(message, at)
    return made


@cache
def _compile_reader(definition: AttributeDefinition) -> tuple[_Step, ...]:
    parameters = {parameter.name: parameter for parameter in definition.parameters}
    return tuple(_step(element, parameters) for element in read_format(definition.assembly))


def _step(element: Element, parameters: Mapping[str, Parameter]) -> _Step:
    if isinstance(element, Literal):
        text = element.text
        if not text:
            return lambda p, values: None
        if text[0].isalpha():
            return lambda p, values: _word(p, text)
        return lambda p, values: p.expect(text)
    if isinstance(element, Variable):
        parameter = parameters[element.name]

        def read(p: AttributeParser, values: _Values) -> None:
            values[parameter.name] = parameter.kind.read(p)

        return read
    if isinstance(element, Group):
        first = element.elements[0]
        if not isinstance(first, Literal):
            raise ValueError(f"an optional group of parameters cannot begin with {first}")
        start = first.text or element.elements[1].text  # type: ignore[union-attr]
        steps = tuple(_step(inner, parameters) for inner in element.elements)

        def group(p: AttributeParser, values: _Values) -> None:
            if p.tokens[p.pos] == start:
                for step in steps:
                    step(p, values)

        return group
    assert isinstance(element, Directive), element
    if element.name == "Options":
        options = element.arguments
        return lambda p, values: _read_options(p, {name: parameters[name] for name in options}, values)
    return lambda p, values: _read_struct(p, parameters, values)


def _read_options(p: AttributeParser, options: Mapping[str, Parameter], values: _Values) -> None:
    """``, name = value`` and ``, flag``, each at most once."""
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


def _read_struct(p: AttributeParser, parameters: Mapping[str, Parameter], values: _Values) -> None:
    """``name = value, …`` in any order."""
    required = [name for name, parameter in parameters.items() if not parameter.optional]
    if p.tokens[p.pos] != ">":
        while True:
            name = p.tokens[p.pos]
            if not is_bare_identifier(name):
                p.wrong_token("expected a parameter name in struct")
            p.pos += 1
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


# --- printing ---------------------------------------------------------------------------------------------------------


@cache
def compile_speller(definition: AttributeDefinition) -> Callable[[DialectAttr, Names], str]:
    """What prints all that follows the mnemonic."""
    parameters = {parameter.name: parameter for parameter in definition.parameters}
    emits = tuple(_emit(element, parameters) for element in read_format(definition.assembly))

    def spell(value: DialectAttr, names: Names) -> str:
        out = Out()
        out.space = False
        for emit in emits:
            emit(value, names, out)
        return out.text.removeprefix(" ")

    return spell


def _emit(element: Element, parameters: Mapping[str, Parameter]) -> _Emit:
    if isinstance(element, Literal):
        text = element.text
        return lambda value, names, out: out.literal(text)
    if isinstance(element, Variable):
        name, kind = element.name, parameters[element.name].kind
        return lambda value, names, out: out.value(kind.spell(value[name], names))
    if isinstance(element, Group):
        anchor = element.elements[element.anchor]
        assert isinstance(anchor, Variable | TypeOf)
        parameter = parameters[anchor.name]
        inner = tuple(_emit(part, parameters) for part in element.elements)

        def group(value: DialectAttr, names: Names, out: Out) -> None:
            if value[parameter.name] != parameter.default:
                for emit in inner:
                    emit(value, names, out)

        return group

    assert isinstance(element, Directive)
    if element.name == "Options":
        chosen = [parameters[name] for name in element.arguments]

        def options(value: DialectAttr, names: Names, out: Out) -> None:
            for parameter in chosen:
                if value[parameter.name] != parameter.default:
                    text = parameter.kind.spell(value[parameter.name], names)
                    out.literal(",")
                    out.value(text if parameter.default is False else f"{parameter.name} = {text}")

        return options

    def struct(value: DialectAttr, names: Names, out: Out) -> None:
        pairs = (
            f"{parameter.name} = {parameter.kind.spell(given, names)}"
            for parameter, given in zip(value.definition.parameters, value.values, strict=True)
            if not (parameter.optional and given == parameter.default)
        )
        out.value(", ".join(pairs))

    return struct
