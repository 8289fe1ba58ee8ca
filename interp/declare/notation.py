"""MLIR's declarative assembly notation: its elements, and its rules for spaces.

The notation is that of the "Declarative Assembly Format" section of MLIR's "Operation Definition Specification":
literals in back quotes (an empty one joins its neighbours), ``$name`` of an operand, attribute, region or successor,
``type($name)``, ``functional-type($operands, results)``, ``attr-dict``, ``attr-dict-with-keyword``, optional groups
``(… ^ …):(…)?`` with an anchor, clauses in any order ``oilist(… | …)``, and ``custom<Name>(…)``. One element is not
MLIR's: ``newer(… | …)`` are clauses that LLVM 24 has in the place of entries of the dictionary. Both are read. The
clauses are printed for LLVM 24 only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


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
    ``newer``: MLIR 22 prints what they say in the dictionary.
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
    """Read the elements of a format. Raises ValueError where it is malformed."""
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
    """The printed text of one op, with MLIR's rules for the spaces in it."""

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
