"""A text that was read, and the places of its tokens."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property

from halfulp.interp.ir.locations import FileLineCol, Position


class Source:
    """A text that was read: its name, and the map from its tokens to lines and columns.

    ``start``: the line and column in the file at which the text begins, where it is part of one.
    """

    def __init__(
        self,
        text: str,
        filename: str,
        offsets_of: Callable[[str], list[int]],
        start: tuple[int, int] = (1, 1),
    ) -> None:
        self.text = text
        self.filename = filename
        self.start = start
        self._offsets_of = offsets_of
        self._splits: list[tuple[int, Sequence[int]]] = []
        # The offsets after some of the splits, and the number of these. It is replaced as a whole: threads may read it.
        self._known: tuple[int, list[int]] | None = None

    @property
    def token_offsets(self) -> Sequence[int]:
        """The offset of each token in the text, computed on first use."""
        count, offsets = self._known or (0, self._offsets_of(self.text))
        later = self._splits[count:]
        if later:
            offsets = offsets.copy()
        for token, parts in later:
            start = offsets[token]
            offsets[token : token + 1] = [start + part for part in parts]
        self._known = count + len(later), offsets
        return offsets

    def split(self, token: int, parts: Sequence[int]) -> None:
        """Note that the parser split a token into several, which start at ``parts`` behind its start; into none if it
        became part of the one before it.
        """
        self._splits.append((token, parts))

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        find = self.text.find
        while (end := find("\n", starts[-1])) >= 0:
            starts.append(end + 1)
        return starts

    @cached_property
    def _ascii(self) -> bool:
        return self.text.isascii()

    def _place(self, offset: int) -> Position:
        line = bisect_right(self._line_starts, offset)
        start = self._line_starts[line - 1]
        column = offset - start if self._ascii else len(self.text[start:offset].encode("utf-8", "replace"))
        first_line, first_column = self.start
        return self.filename, first_line + line - 1, column + (first_column if line == 1 else 1)

    def at_offset(self, offset: int) -> FileLineCol:
        """Return the line and column (in bytes, as mlir-opt counts) of a character of the text."""
        return FileLineCol(*self._place(offset))

    @property
    def whole(self) -> FileLineCol:
        """The place of the implicit module around all of the text: 0:0 in a file, the start of a later part of one."""
        return FileLineCol(self.filename, *((0, 0) if self.start == (1, 1) else self.start))

    def at_token(self, token: int) -> FileLineCol:
        """Return the line and column of a token; the end of the text for a token past the last."""
        return FileLineCol(*self.place_of_token(token))

    def place_of_token(self, token: int) -> Position:
        """Return the file, line and column of a token, as `at_token` gives them."""
        offsets = self.token_offsets
        return self._place(offsets[token] if token < len(offsets) else len(self.text))
