"""Attributes with parameters: the kinds of parameters, and the notation for the text that follows an attribute's
mnemonic.

The notation is that of the "Assembly Format" of attributes in MLIR's "Defining Dialects Attributes and Types". It has
the elements of the notation of ops, where ``$name`` is a parameter, ``custom<Struct>()`` stands for ``struct(params)``,
``custom<OpenStruct>()`` for one in which names of other attributes are skipped,
and ``custom<Options>($name, …)`` for parameters in any order, each after a comma. It is compiled into a reader and a
speller, which the attribute's definition contains.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, NamedTuple, NoReturn

from halfulp.interp.ir.attributes import ArrayAttr, BoolAttr, DictionaryAttr, StringAttr, SymbolRefAttr
from halfulp.interp.ir.base import Attribute, is_bare_identifier, quoted
from halfulp.interp.ir.dialect_attributes import (
    AttributeDefinition,
    DialectAttr,
    EnumDefinition,
    Parameter,
    ParameterForm,
    ParameterKind,
)
from halfulp.interp.text.affine_parser import TokenParser

# --- notation ---------------------------------------------------------------------------------------------------------
#
# MLIR's declarative assembly notation: its elements, and its rules for spaces.
#
# The notation is that of the "Declarative Assembly Format" section of MLIR's "Operation Definition Specification":
# literals in back quotes (an empty one joins its neighbours), ``$name`` of an operand, attribute, region or successor,
# ``type($name)``, ``functional-type($operands, results)``, ``attr-dict``, ``attr-dict-with-keyword``, optional groups
# ``(… ^ …):(…)?`` with an anchor, clauses in any order ``oilist(… | …)``, and ``custom<Name>(…)``. One element is not
# MLIR's: ``newer(… | …)`` are clauses that LLVM 24 has in the place of entries of the dictionary. Both are read. The
# clauses are printed for LLVM 24 only.


@dataclass(frozen=True)
class Literal:
    """Text that is written literally; the empty text means "no space here", and a space means one space."""

    text: str


@dataclass(frozen=True)
class Variable:
    """A variable: ``$name``."""

    name: str


@dataclass(frozen=True)
class TypeOf:
    """The type of a variable: ``type($name)``."""

    name: str


@dataclass(frozen=True)
class FunctionalType:
    """A function type: ``functional-type(inputs, results)``."""

    inputs: str
    results: str


@dataclass(frozen=True)
class AttributeDictionary:
    """The dictionary of attributes: ``attr-dict`` or ``attr-dict-with-keyword``."""

    keyword: bool


@dataclass(frozen=True)
class Group:
    """An optional group: ``(elements)?``, with the index of the anchor among them, and ``:(otherwise)?``."""

    elements: tuple[Element, ...]
    anchor: int
    otherwise: tuple[Element, ...] = ()


@dataclass(frozen=True)
class Clauses:
    """Clauses in any order, ``oilist(clause | clause)``: each begins with a literal and is written at most once.
    ``newer``: MLIR 22 prints the contents of these clauses in the dictionary.
    """

    clauses: tuple[tuple[Element, ...], ...]
    newer: bool = False


@dataclass(frozen=True)
class Directive:
    """A custom directive: ``custom<Name>($one, $other)``."""

    name: str
    arguments: tuple[str, ...]


Element = Literal | Variable | TypeOf | FunctionalType | AttributeDictionary | Group | Clauses | Directive

_TOKEN = re.compile(r"\s*(`[^`]*`|\$\w+|custom<\w+>|[\w-]+|[()?:^,|])")


def read_format(text: str) -> tuple[Element, ...]:
    """Read the elements of a format. Raises ValueError if it is malformed."""
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
            elements.append(Literal(token[1:-1].strip() or token[1:-1][:1]))
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
        elif token in ("oilist", "newer"):
            clauses: list[tuple[Element, ...]] = []
            while tokens[at] != ")":
                clause, at, _ = _read(tokens, at + 1)
                clauses.append(tuple(clause))
            elements.append(Clauses(tuple(clauses), token == "newer"))
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


class Out:
    """The printed text of one op while it is made, with MLIR's rules for the spaces in it."""

    __slots__ = ("punctuation", "space", "text")

    def __init__(self) -> None:
        self.text = ""
        self.space = True
        self.punctuation = False

    def literal(self, text: str) -> None:
        """Add a literal of the format; an empty one suppresses a space."""
        if not text.strip():
            self.text += text
            self.space = False
            self.punctuation = not text
            return
        if self.space and not (len(text) == 1 and text in (">)}]," if self.punctuation else "<>(){}[],")):
            self.text += " "
        self.text += text
        self.space = text not in ("<", "(", "{", "[")
        self.punctuation = not (text[0].isalpha() or text[0] == "_")

    def value(self, text: str) -> None:
        """Add a name, a type or an attribute."""
        if self.space or not self.punctuation:
            self.text += " "
        self.text += text
        self.space = True
        self.punctuation = False


# --- parameters -------------------------------------------------------------------------------------------------------

Names = Mapping[object, str]
_Values = dict[str, Any]

# --- kinds of parameters ----------------------------------------------------------------------------------------------


def word(p: TokenParser, text: str) -> None:
    """Read a given word. Raises ParseError if the token is not this word."""
    if not p.take(text):
        p.error(f"expected '{text}'")


def identifier(p: TokenParser) -> str:
    """Read any word."""
    token = p.tokens[p.pos]
    if not is_bare_identifier(token):
        p.error("expected valid keyword")
    p.pos += 1
    return token


def bracketed_integers(p: TokenParser) -> tuple[int, ...]:
    """Read ``[1, 2]``, possibly empty."""
    p.expect("[")
    return tuple(p.until("]", p.integer))


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
INTEGERS = ParameterKind(lambda p: tuple(p.separated(p.integer)), _commas)
INTEGER_ARRAY = ParameterKind(bracketed_integers, lambda values, names: f"[{_commas(values, names)}]")
BOOLEAN = ParameterKind(_boolean, lambda value, names: "true" if value else "false")
STRING = ParameterKind(lambda p: p.string(), lambda value, names: quoted(value))
TYPE = ParameterKind(lambda p: p.type(), lambda value, names: names.get(value) or value.spell(names))


def unsigned(bits: int) -> ParameterKind:
    """Return the kind of an unsigned number of that width. As in MLIR, a short negative number wraps around."""

    def read(p: TokenParser) -> int:
        at = p.pos
        value = p.integer(wide=True)
        # MLIR reads a number in four bits for each digit before it wraps it.
        if not -(10 ** (bits // 4)) < value < 1 << bits:
            p.error("integer value too large", at)
        return value % (1 << bits)

    return ParameterKind(read, lambda value, names: str(value), lambda value: 0 <= value < 1 << bits)


def list_of(kind: ParameterKind) -> ParameterKind:
    """Return the kind of a list of parameters of that kind, at least one, with commas between them."""

    def read(p: TokenParser) -> tuple[Any, ...]:
        return tuple(p.separated(lambda: kind.read(p)))

    def spell(values: tuple[Any, ...], names: Names) -> str:
        return ", ".join(kind.spell(value, names) for value in values)

    return ParameterKind(read, spell, lambda values: all(map(kind.accepts, values)))


def bracketed(kind: ParameterKind) -> ParameterKind:
    """Return the kind of a list of parameters of that kind in brackets, possibly empty: ``[[0, 1], [2, 3]]``."""

    def read(p: TokenParser) -> tuple[Any, ...]:
        p.expect("[")
        return tuple(p.until("]", lambda: kind.read(p)))

    def spell(values: tuple[Any, ...], names: Names) -> str:
        return f"[{', '.join(kind.spell(value, names) for value in values)}]"

    return ParameterKind(read, spell, lambda values: all(map(kind.accepts, values)))


def flag(name: str) -> ParameterKind:
    """Return the kind of a flag: a word whose presence means True."""

    def read(p: TokenParser) -> bool:
        word(p, name)
        return True

    return ParameterKind(read, lambda value, names: name)


def keyword(definition: EnumDefinition) -> ParameterKind:
    """Return the kind of an enum's case, written as a word. A case that is not an identifier is printed in quotes; the
    reader does not require them.
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
    """Return the kind of a parameter that is an attribute. ``accepts``: the check that is made when it is read."""

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
    """Return the kind of a parameter that is an attribute of a dialect with this interface."""
    return attribute(lambda found: has_interface(found, word))


def has_interface(found: Attribute, word: str) -> bool:
    """Tell whether an attribute declares an interface, such as ``pipeline``."""
    return isinstance(found, DialectAttr) and word in found.definition.interfaces


def nested(definition: AttributeDefinition) -> ParameterKind:
    """Return the kind of a parameter that is an attribute of this definition. It is printed without its mnemonic; the
    reader accepts it with or without.
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
    """Return the reader and the printer of an attribute's parameters.

    ``assembly``: the notation of the text that follows the mnemonic of the attribute. Raises ValueError if the notation
    is malformed.
    """
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
    """Read the text after the mnemonic of an attribute.

    Raises ParseError if the text is malformed, or if ``verify`` of the definition rejects the attribute. The second
    error has the place of the first token.
    """
    at = p.pos
    p.enter()
    values = definition.form.read(p)
    p.leave()
    made = definition.attribute(values)
    message = None if made.definition.verify is None else made.definition.verify(made)
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
        case Directive("OpenStruct"):
            return _struct(parameters, others=True)
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
    """Compile an optional group, which begins with its first literal. It is printed if its anchor differs from the
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


def _struct(parameters: Mapping[str, Parameter], others: bool = False) -> _Part:
    """Compile ``name = value, …`` in any order. ``others``: attributes of other names are skipped."""
    required = [name for name, parameter in parameters.items() if not parameter.optional]

    def read(p: TokenParser, values: _Values) -> None:
        if required or is_bare_identifier(p.tokens[p.pos]):
            while True:
                name = identifier(p)
                p.expect("=")
                if others and name not in parameters:
                    p.attribute()
                    if p.take(","):
                        continue
                    break
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
            if parameter.shown or not (parameter.optional and given == parameter.default)
        )
        out.value(", ".join(pairs))

    return _Part(read, print_)


# --- enum parameters --------------------------------------------------------------------------------------------------
#
# Parameters of attributes that are enums of numbers, with mlir-opt's messages.


def _text(p: TokenParser, what: str) -> str:
    """Read a word, or several words in a string. mlir-opt prints some flags as words with bars between them, without
    quotes.
    """
    token = p.tokens[p.pos]
    if token[:1] == '"':
        return p.string()
    if not is_bare_identifier(token):
        p.error(f"expected keyword for {what}")
    p.pos += 1
    while p.take("|"):
        token += f"|{identifier(p)}"
    return token


def _unknown(p: TokenParser, at: int, what: str, text: str, known: Mapping[str, int]) -> NoReturn:
    p.error(f"expected one of [{', '.join(known)}] for {what}, got: {text}", at, hint=p.similar(text, known))


def case_of(what: str, *cases: str) -> ParameterKind:
    """Return the kind of a number that is written as the case of an enum. The cases count from 0."""
    numbers = {case: number for number, case in enumerate(cases)}

    def read(p: TokenParser) -> int:
        at = p.pos
        text = _text(p, what)
        if text not in numbers:
            _unknown(p, at, what, text, numbers)
        return numbers[text]

    return ParameterKind(read, lambda value, names: cases[value], range(len(cases)).__contains__)


def flags_of(what: str, flags: Mapping[str, int], groups: tuple[str, ...] = ()) -> ParameterKind:
    """Return the kind of flags, with bars between them. If all bits of one of ``groups`` are set, its name replaces
    these bits; the first such group is used.
    """
    every = reduce(or_, flags.values())

    def read(p: TokenParser) -> int:
        at = p.pos
        text = _text(p, what)
        found = [flags.get(word.strip(), 0) for word in text.split("|")]
        if 0 in found and flags.get(text) != 0:
            _unknown(p, at, what, text, flags)
        return reduce(or_, found)

    def spell(value: int, names: Names) -> str:
        words, rest = [], value
        for group in groups:
            if rest & flags[group] == flags[group]:
                words.append(group)
                rest &= ~flags[group]
        words += [word for word, bits in flags.items() if word not in groups and rest & bits]
        text = "|".join(words)
        return text if value in flags.values() else quoted(text)

    return ParameterKind(read, spell, lambda value: not value & ~every)
