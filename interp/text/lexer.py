"""Tokens of MLIR text: one regular expression, one pass, no positions.

Positions are computed by a second pass when one is needed (for an error or a location), so that reading a large correct
file is fast. Every character that is neither space nor comment is part of some token. A character that cannot start one
becomes its own token, which no rule of the parser accepts.

Most lines of a large file are like an earlier one except for the names of values. The regular expression searches such
a line for names alone, and the parser reads it as it read the earlier one (`halfulp.interp.text.parser`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate, count
from operator import itemgetter
from typing import Any, NoReturn, TypeVar

from halfulp.fp_formats.aliases import did_you_mean
from halfulp.interp.ir.base import Location, Source
from halfulp.interp.ir.errors import ParseError

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
    """Return the tokens of ``text``, then two empty ones, so that the parser can look one token ahead at the end."""
    tokens: list[str] = _token().findall(text)
    tokens.append("")
    return tokens


class Pattern:
    """A line without the names of values in it.

    ``width``: the number of its tokens. ``names``: the indices of the names among them. ``others``: the other tokens.
    ``fill``: makes the tokens of a line from ``others`` and from the parts of the line, of which every second is a
    name; None if a string or a comment contains text that looks like a name.

    ``again``: reads a line from its first token as the same op as an earlier line, adds the op to its block, and tells
    whether that was possible; None if no earlier line was a whole op. ``after``: tokens that followed such an op and do
    not continue it; ``%`` represents all names.
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
    """Return a function that returns the items of a list at these indices. It works for any number of indices."""
    if len(places) > 1:
        return itemgetter(*places)
    return itemgetter(slice(places[0], places[0] + 1) if places else slice(0))


def tokenize_lines(text: str) -> tuple[list[str], dict[int, Pattern]]:
    """Return the tokens of ``text`` as `tokenize` does, and the patterns that occur in several lines. The patterns are
    by the index of the first token of each line that has one.
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
    """Return a line without the ``loc(#alias)`` at its end, which differs between lines that are otherwise alike, and
    the alias; no alias for a line that ends in another way.
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
    """Return the error of an invalid token; None for a valid one. The error is the message, and its distance in
    characters from the start of ``following``, the text that begins with the token.
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


# --- cursor -----------------------------------------------------------------------------------------------------------
#
# A position in the tokens of a text, and errors at the places where mlir-opt reports them.

T = TypeVar("T")

# The most brackets, regions and types that may be nested. Each takes several frames of Python's stack.
MAX_NESTING = 100


class Cursor:
    """A position in the tokens of one text, and its depth in brackets.

    ``repeated``: the patterns that several lines have, by the index of the first token of each line. Indices count
    tokens as they were before any was split; ``added``: the number of tokens that splitting has added, up to the
    current token.
    """

    def __init__(self, text: str, filename: str) -> None:
        self.source = Source(text, filename, token_offsets)
        self.tokens, self.repeated = tokenize_lines(text)
        self.added = 0
        self.pos = 0
        self.depth = 0

    # Errors.

    def error(
        self,
        message: str,
        token: int | None = None,
        notes: Sequence[tuple[Location | None, str]] = (),
        hint: str | None = None,
        kind: type[ParseError] = ParseError,
        op: str | None = None,
    ) -> NoReturn:
        """Raise a ParseError, or an error of the given kind, at a token (default: the current one)."""
        index = self.pos if token is None else token
        self.check_lexical(index)
        raise kind(message, location=self.source.at_token(index), op=op, notes=notes, hint=hint)

    def similar(self, name: str, known: Iterable[str]) -> str | None:
        """Return a hint with the known names nearest to ``name``."""
        return did_you_mean(name, known)

    def error_at_offset(self, message: str, offset: int, hint: str | None = None) -> NoReturn:
        """Raise a ParseError at a character of the text."""
        raise ParseError(message, location=self.source.at_offset(offset), hint=hint)

    def check_lexical(self, index: int) -> None:
        """Raise a ParseError if the token is not valid, for example a stray character or an unfinished string."""
        token = self.tokens[index]
        if not token:
            return
        offset = self.offset(index)
        wrong = lexical_error(token, self.source.text[offset:])
        if wrong is not None:
            self.error_at_offset(wrong[0], offset + wrong[1])

    def offset(self, index: int) -> int:
        """Return the offset of a token in the text."""
        offsets = self.source.token_offsets
        return offsets[index] if index < len(offsets) else len(self.source.text)

    def wrong_token(self, message: str, hint: str | None = None) -> NoReturn:
        """Raise a ParseError for a missing token, at the end of the text before the current one, as mlir-opt does.

        Blank lines and comment lines are skipped, so that a missing token is reported on the line it belongs to.
        """
        self.check_lexical(self.pos)
        text = self.source.text
        original = self.offset(self.pos)
        if not self.tokens[self.pos]:
            original = max(0, len(text) - 1)
        end = original
        while True:
            end = len(text[:end].rstrip(" \t")) if end else 0
            if end == 0:
                self.error_at_offset(message, original, hint)
            if text[end - 1] not in "\n\r":
                self.error_at_offset(message, end, hint)
            end -= 1
            start = max(text.rfind("\n", 0, end), text.rfind("\r", 0, end)) + 1
            comment = text.find("//", start, end)
            if comment >= 0:
                end = comment

    # Tokens.

    def take(self, token: str) -> bool:
        """Read the current token if it is ``token``, and tell whether it was."""
        if self.tokens[self.pos] == token:
            self.pos += 1
            return True
        return False

    def expect(self, token: str, message: str | None = None) -> None:
        """Read ``token``. Raises ParseError if the current token is another one."""
        if self.tokens[self.pos] != token:
            self.wrong_token(message or f"expected '{token}'")
        self.pos += 1

    def separated(self, read: Callable[[], T]) -> list[T]:
        """Read a list with commas, of at least one element."""
        found = [read()]
        while self.take(","):
            found.append(read())
        return found

    def until(self, end: str, read: Callable[[], T], message: str | None = None) -> list[T]:
        """Read a list with commas, which may be empty, and the token that ends it."""
        if self.take(end):
            return []
        found = self.separated(read)
        self.expect(end, message)
        return found

    def entries(self, end: str) -> Iterator[None]:
        """Yield once for each entry of a list; the caller reads the entry. The list may end in a comma. Read the token
        that ends it.
        """
        while not self.take(end):
            yield
            if not self.take(",") and self.tokens[self.pos] != end:
                self.wrong_token(f"expected '{end}'")

    def enter(self) -> None:
        """Go one bracket deeper. Raises ParseError beyond `MAX_NESTING`."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.error(f"nesting is deeper than {MAX_NESTING} levels")

    def leave(self) -> None:
        """Leave a bracket."""
        self.depth -= 1

    def split(self, first: int) -> None:
        """Split the current token after ``first`` characters, in place."""
        token = self.tokens[self.pos]
        self._split([token[:first]], token[first:])

    def join(self) -> None:
        """Join the current token and the next one if they are one word: ``0xf4E2`` and ``M1FN``."""
        token, after = self.tokens[self.pos], self.tokens[self.pos + 1]
        adjacent = self.offset(self.pos + 1) == self.offset(self.pos) + len(token)
        if adjacent and (after[:1].isalpha() or after[:1] == "_"):
            self.tokens[self.pos : self.pos + 2] = [token + after]
            self.source.split(self.pos + 1, [])
            self.added -= 1

    def unfold(self) -> None:
        """Split the current token, which is a whole shaped type, into its tokens."""
        head, _, rest = self.tokens[self.pos].partition("<")
        self._split([head, "<"], rest)

    def _split(self, heads: list[str], rest: str) -> None:
        """Replace the current token by ``heads`` and the tokens of the rest of its text."""
        parts = [*heads, *tokenize(rest)[:-2]]
        starts = [0, *accumulate(map(len, heads))]
        self.source.split(self.pos, [*starts[:-1], *(starts[-1] + start for start in token_offsets(rest)[:-1])])
        self.tokens[self.pos : self.pos + 1] = parts
        self.added += len(parts) - 1
