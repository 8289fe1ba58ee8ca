"""JSON lines: an object per vector, in which every column is a string of hexadecimal digits after ``0x``."""

from __future__ import annotations

import json
from typing import BinaryIO

from halfulp.conformance.vectors.columns import Column, VectorSet
from halfulp.conformance.vectors.formats.format import Format, Options, required_columns
from halfulp.conformance.vectors.formats.text import Hex, LineSource, read_rows, whole_code, write_rows


def _row(columns: tuple[Column, ...]) -> list[bytes | Hex]:
    row: list[bytes | Hex] = []
    for position, column in enumerate(columns):
        row += [f'{", " if position else "{"}"{column.name}": "0x'.encode(), whole_code(columns, position), b'"']
    return [*row, b"}\n"]


def write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
    """Write a line per vector."""
    write_rows(vectors, file, _row(vectors.columns))


def read(file: BinaryIO, columns: tuple[Column, ...] | None, options: Options) -> VectorSet:
    """Read the vectors of a file. Other members of the objects are skipped, and a code may be a number."""
    known = required_columns(columns, "jsonl", options)

    def word(value: object) -> str:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return f"{value:X}"
        if not isinstance(value, str):
            raise ValueError(f"{value!r} is not a code")
        return value.removeprefix("0x")

    def line(text: str, done: int) -> list[list[str]]:
        if not text:
            return []
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"not JSON: {error}") from None
        if not isinstance(data, dict):
            raise ValueError("not a JSON object")
        missing = [column.name for column in known if column.name not in data]
        if missing:
            raise ValueError(f"no member {', '.join(missing)}")
        return [[word(data[column.name]) for column in known]]

    return VectorSet(known, read_rows(LineSource(file), known, _row(known), line, options))


FORMAT = Format("jsonl", ".jsonl", write, read)
