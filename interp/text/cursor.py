"""A position in the tokens of a text, and errors at the places where mlir-opt reports them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NoReturn

from halfulp.fp_formats.suggestions import did_you_mean
from halfulp.interp.ir.errors import ParseError
from halfulp.interp.ir.locations import Location
from halfulp.interp.ir.source import Source
from halfulp.interp.text.lexer import lexical_error, token_offsets, tokenize, tokenize_lines

# The most brackets, regions and types that may be nested. Each takes several frames of Python's stack.
MAX_NESTING = 100


class Cursor:
    """A position in the tokens of one text, and its depth in brackets.

    ``repeated``: the patterns of lines by the token at which a line begins, if several lines have the pattern. The
    tokens count as they were before any was split; ``added``: how many more there are now, up to the current one.
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
        """Raise a ParseError, or one of that kind, at a token (default: the current one)."""
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
        """Raise a ParseError if the token is not a valid one: a stray character, an unfinished string."""
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
        """Step over the current token if it is ``token``, and tell whether it was."""
        if self.tokens[self.pos] == token:
            self.pos += 1
            return True
        return False

    def expect(self, token: str, message: str | None = None) -> None:
        """Step over ``token``. Raises ParseError at another one."""
        if self.tokens[self.pos] != token:
            self.wrong_token(message or f"expected '{token}'")
        self.pos += 1

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
        """Join the current token and the next one where they are one word: ``0xf4E2`` and ``M1FN``."""
        token, after = self.tokens[self.pos], self.tokens[self.pos + 1]
        adjacent = self.offset(self.pos + 1) == self.offset(self.pos) + len(token)
        if adjacent and (after[:1].isalpha() or after[:1] == "_"):
            self.tokens[self.pos : self.pos + 2] = [token + after]
            self.source.split(self.pos + 1, [])
            self.added -= 1

    def unfold(self) -> None:
        """Split the current token, a whole shaped type, into its tokens."""
        head, _, rest = self.tokens[self.pos].partition("<")
        self._split([head, "<"], rest)

    def _split(self, heads: list[str], rest: str) -> None:
        """Replace the current token by ``heads`` and the tokens of the rest of its text."""
        parts = [*heads, *tokenize(rest)[:-2]]
        starts = [0, *accumulate(map(len, heads))]
        self.source.split(self.pos, [*starts[:-1], *(starts[-1] + start for start in token_offsets(rest)[:-1])])
        self.tokens[self.pos : self.pos + 1] = parts
        self.added += len(parts) - 1
