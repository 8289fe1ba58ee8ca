"""Comma-separated codes under a line of names."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.conformance.vectors.columns import Column
from halfulp.conformance.vectors.formats import text as texts


def _names(columns: Sequence[Column]) -> str:
    return ",".join(column.name for column in columns) + "\n"


def _row(columns: Sequence[Column]) -> texts.Row:
    return [*texts.whole_codes(columns, b",", b"0x"), b"\n"]


class _Lines(texts.Lines):
    """The reader of lines: the names, then the cells. The columns may be in any order, and other columns are
    skipped.
    """

    _order: list[int] | None = None
    _width = 0

    def read(self, text: str, done: int) -> list[list[str]]:
        words = [word.strip().strip('"') for word in text.split(",")]
        if not text:
            return []
        if self._order is None:
            missing = [column.name for column in self.columns if column.name not in words]
            if missing:
                raise ValueError(f"no column {', '.join(missing)} among the names")
            self._order, self._width = [words.index(column.name) for column in self.columns], len(words)
            return []
        if len(words) != self._width:
            raise ValueError(f"the line has {len(words)} cells, but the first line has {self._width} names")
        return [[words[k].removeprefix("0x") for k in self._order]]


FORMAT = texts.text_format("csv", ".csv", _row, _Lines, _names)
