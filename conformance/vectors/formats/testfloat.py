"""The text format of TestFloat: ``A B RESULT FLAGS``, in upper-case hexadecimal digits, separated by one space. The
file does not describe its columns.
"""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.conformance.vectors.columns import Column, Role
from halfulp.conformance.vectors.formats import text as texts


def _row(columns: Sequence[Column]) -> texts.Row:
    return [*texts.whole_codes(columns, b" "), b"\n"]


class _Lines(texts.Lines):
    """The reader of lines that TestFloat also writes: with extra spaces, without leading zeros, or empty."""

    def read(self, text: str, done: int) -> list[list[str]]:
        return [text.split()] if text else []


FORMAT = texts.text_format("testfloat", ".tv", _row, _Lines, carries=frozenset(Role) - {Role.POISON, Role.OPEN})
