"""JSON lines: an object per vector, in which every column is a string of hexadecimal digits after ``0x``."""

from __future__ import annotations

import json
from collections.abc import Sequence

from halfulp.conformance.files import fault_of_json
from halfulp.conformance.vectors.columns import Column
from halfulp.conformance.vectors.formats import text as texts


def _row(columns: Sequence[Column]) -> texts.Row:
    row: list[bytes | texts.Hex] = []
    for position, column in enumerate(columns):
        row += [f'{", " if position else "{"}"{column.name}": "0x'.encode(), texts.whole_code(columns, position), b'"']
    return [*row, b"}\n"]


def _word(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return f"{value:X}"
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a code")
    return value.removeprefix("0x")


class _Lines(texts.Lines):
    """The reader of objects, one a line. Other members are skipped, and a code may be a number."""

    def read(self, text: str, done: int) -> list[list[str]]:
        if not text:
            return []
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"not JSON: {fault_of_json(error)}") from None
        if not isinstance(data, dict):
            raise ValueError("not a JSON object")
        missing = [column.name for column in self.columns if column.name not in data]
        if missing:
            raise ValueError(f"no member {', '.join(missing)}")
        return [[_word(data[column.name]) for column in self.columns]]


FORMAT = texts.text_format("jsonl", ".jsonl", _row, _Lines)
