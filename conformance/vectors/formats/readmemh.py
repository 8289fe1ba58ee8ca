"""Verilog's ``$readmemh``: one word per vector, in which each column fills whole hexadecimal digits.

The first column is the most significant. The comments in front name the bits of each. A digit of a result is X if none
of its bits matters: the result is poison, or all bits of the digit are unspecified.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from halfulp.conformance.vectors.columns import Column
from halfulp.conformance.vectors.formats import text as texts

_COMMENT = re.compile(r"//.*|/\*.*?\*/")


def comments(columns: Sequence[Column], mark: str = "//") -> str:
    """Return the text of comments that say which bits of the word each column has, as Verilog selects them: ``[31:24]
    a, f8E4M3FN operand``. ``mark``: the start of a comment.
    """
    low = 4 * sum(texts.digits(column.width) for column in columns)
    lines = [texts.described(columns)]
    for column in columns:
        low -= 4 * texts.digits(column.width)
        top = low + max(1, column.width) - 1
        lines.append(f"[{top}:{low}] {column.name}, {column.type} {column.role_in_words}")
    return "".join(f"{mark} {line}\n" for line in lines)


def split_word(text: str, columns: Sequence[Column]) -> list[str]:
    """Return the digits of each column in a word; leading zeros may be missing. Raises ValueError if the word is too
    long.
    """
    sizes = [texts.digits(column.width) for column in columns]
    text = text.replace("_", "").rjust(sum(sizes), "0")
    if len(text) > sum(sizes):
        raise ValueError(f"a word has {sum(sizes)} digits, not {len(text)}")
    return [text[stop - size : stop] for size, stop in zip(sizes, accumulate(sizes), strict=True)]


def _row(columns: Sequence[Column]) -> texts.Row:
    return [*texts.whole_codes(columns), b"\n"]


class _Lines(texts.Lines):
    """The reader of words and addresses. An address must be the next one; the first may be any. A comment ends with its
    line.
    """

    _base: int | None = None

    def read(self, text: str, done: int) -> list[list[str]]:
        rows = []
        for part in _COMMENT.sub(" ", text).split():
            if not part.startswith("@"):
                rows.append(split_word(part, self.columns))
                continue
            here = done + len(rows)
            address = int(part[1:], 16)
            self._base = address if self._base is None and not here else self._base or 0
            if address - self._base != here:
                raise ValueError(f"address {address:X}, but the next address is {here + self._base:X}")
        return rows


FORMAT = texts.text_format("readmemh", ".hex", _row, _Lines, comments, describes=True, dont_care=True)
