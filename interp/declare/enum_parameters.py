"""Parameters of attributes that are enums of numbers, with mlir-opt's messages."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import NoReturn

from halfulp.interp.declare.parameters import Names, identifier
from halfulp.interp.ir.dialect_attributes import ParameterKind
from halfulp.interp.ir.literals import is_bare_identifier, quoted
from halfulp.interp.text.token_parser import TokenParser


def _text(p: TokenParser, what: str) -> str:
    """Read a word, or several in a string. mlir-opt prints some flags as words with bars between, without quotes."""
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
    """Return the kind of flags, with bars between. Of ``groups``, the first whose bits are all set stands for them."""
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
