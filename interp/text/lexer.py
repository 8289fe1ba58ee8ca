"""Tokens of MLIR text: one regular expression, one pass, no positions.

Positions are computed by a second pass when one is needed (for an error or a location), so that reading a large correct
file is fast. Every character that is neither space nor comment is part of some token. A character that cannot start one
becomes a token of its own, which no rule of the parser accepts.

Most lines of a large file are like an earlier one except for the names of values. The regular expression searches such
a line for names alone, and the parser reads it as it read the earlier one (`halfulp.interp.text.repeated_ops`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import count
from operator import itemgetter
from typing import Any

# A repetition with a second + gives back nothing that it has taken, so that nothing needs to be noted for it.
_SKIP = r"[ \t\n\r]*+(?://[^\n\r]*+[ \t\n\r]*+)*+"
_STRING = r'"[^"\\\n\v\f]*+(?:\\[^\n\v\f][^"\\\n\v\f]*+)*+"'
_SUFFIX = r"(?:\d++|[A-Za-z$._-][A-Za-z0-9_$.-]*+)"
_NAME = rf"%{_SUFFIX}(?:#\d++)?+"
_ALTERNATIVES = (
    _NAME,
    # These begin no longer token. They are as many as the names, so that they come early.
    r"[=,()\[\]<>}]|:(?!:)",
    # A shaped type without nested parts is one token: the parser finds most of them by their spelling.
    r"(?:tensor|vector|memref)<(?:[\[\]0-9?*x]+x)?[a-z][A-Za-z0-9]*>",
    r"[A-Za-z_][A-Za-z0-9_$.]*+",
    r"0x[0-9a-fA-F]++",
    r"\d++(?:\.\d*+(?:[eE][-+]?+\d++)?+)?+",
    r"->",
    r"\{-#|#-\}",
    rf"[!#^]{_SUFFIX}",
    rf"@(?:[A-Za-z_][A-Za-z0-9_$.]*+|{_STRING})",
    _STRING,
    r"::",
    r"\.\.\.",
    r".",
)


@cache
def _token() -> re.Pattern[str]:
    return re.compile(rf"{_SKIP}({'|'.join(_ALTERNATIVES)}|\Z)", re.ASCII | re.DOTALL)


@cache
def _name() -> re.Pattern[str]:
    return re.compile(f"({_NAME})", re.ASCII)


@cache
def _alias() -> re.Pattern[str]:
    return re.compile(rf"{_SUFFIX}\)", re.ASCII)


def tokenize(text: str) -> list[str]:
    """Return the tokens of ``text``, then two empty ones, so that the parser can look one ahead at the end."""
    tokens: list[str] = _token().findall(text)
    tokens.append("")
    return tokens


class Pattern:
    """A line without the names of values in it.

    ``width``: the number of its tokens. ``names``: the places of the names among them. ``others``: the other tokens.
    ``fill``: returns the tokens of a line from its parts, of which every second is a name, and ``others``; None if
    something that looks like a name is in a string or a comment.

    ``again``: reads a line from its first token, into its block, as the op that an earlier line was, and tells whether
    it did; None if no earlier line was a whole op. ``after``: the tokens that were found behind such an op, and do not
    continue it; ``%`` stands for all names.
    """

    __slots__ = ("after", "again", "fill", "names", "others", "width")

    def __init__(self, tokens: list[str], parts: list[str]) -> None:
        self.width = len(tokens)
        self.names = [place for place, token in enumerate(tokens) if token[:1] == "%" and len(token) > 1]
        self.others = [token for token in tokens if token[:1] != "%" or len(token) == 1]
        self.fill: Callable[[list[str]], Sequence[str]] | None = None
        self.again: Callable[[int, Any], bool] | None = None
        self.after: set[str] = set()
        if tokens and [tokens[place] for place in self.names] == parts[1::2]:
            by_name, by_other = count(1, 2), count(len(parts))
            known = set(self.names)
            self.fill = picked([next(by_name if place in known else by_other) for place in range(self.width)])


def picked(places: Sequence[int]) -> Callable[[list[str]], Sequence[str]]:
    """Return a function that picks the items at some places, whatever their number."""
    if len(places) > 1:
        return itemgetter(*places)
    return itemgetter(slice(places[0], places[0] + 1) if places else slice(0))


def tokenize_lines(text: str) -> tuple[list[str], dict[int, Pattern]]:
    """Return the tokens of ``text`` as `tokenize` does, and the patterns that several lines have, each by the tokens at
    which these lines begin.
    """
    tokens: list[str] = []
    repeated: dict[int, Pattern] = {}
    patterns: dict[str, Pattern] = {}
    # The tokens at which the first lines of their patterns begin.
    firsts: dict[str, int] = {}
    divide, find = _name().split, _token().findall
    for line in _lines(text):
        line, place = _without_place(line.strip(" \t\r"))
        parts = divide(line)
        # A line has no line feed that could be mistaken for one between the parts.
        key = "\n".join(parts[::2])
        pattern = patterns.get(key)
        start = len(tokens)
        if pattern is not None and pattern.fill is not None:
            repeated[start] = pattern
            tokens += pattern.fill(parts + pattern.others)
        else:
            found = find(line)
            while found and not found[-1]:
                del found[-1]
            tokens += found
            first = firsts.setdefault(key, start)
            if pattern is None and first != start:
                pattern = patterns[key] = Pattern(found, parts)
                if pattern.fill is not None:
                    repeated[first] = repeated[start] = pattern
        if place:
            tokens += ("loc", "(", place, ")")
    tokens += ("", "")
    return tokens, repeated


def _without_place(line: str) -> tuple[str, str]:
    """Return a line without the ``loc(#alias)`` at its end, which differs between lines that are alike, and the alias;
    no alias for a line that ends otherwise.
    """
    if line[-1:] == ")":
        rest, mark, alias = line.rpartition(" loc(#")
        if mark and _alias().fullmatch(alias) and "//" not in line:
            return rest, f"#{alias[:-1]}"
    return line, ""


_CHUNK = 1 << 16


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text; only some of them are in memory at once."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _CHUNK) + 1 or len(text)
        yield from text[start:end].split("\n")
        start = end


def token_offsets(text: str) -> list[int]:
    """Return the offset of each token of `tokenize`."""
    return [match.start(1) for match in _token().finditer(text)]


def lexical_error(token: str, following: str) -> tuple[str, int] | None:
    """Return what is wrong with an invalid token: the message, and its distance from the start of ``following``, the
    text that begins with the token; None for a valid one.
    """
    if token == '"':
        end = re.search(r"[\n\v\f]|\Z", following)
        assert end is not None
        return "expected '\"' in string literal", end.start()
    if token == "@":
        return "@ identifier expected to start with letter or '_'", 1
    if token in _KINDS:
        return f"invalid {_KINDS[token]}", 0
    if token == ".":
        return "expected three consecutive dots for an ellipsis", 1
    if len(token) == 1 and token not in "()[]{}<>:,=+-*/?|_" and not (token.isascii() and token.isalnum()):
        return "unexpected character", 0
    return None


_KINDS = {"!": "type identifier", "#": "attribute name", "^": "block name", "%": "SSA name"}
