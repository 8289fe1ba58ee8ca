"""Comma-separated codes under a line of names."""

from __future__ import annotations

from typing import BinaryIO

from halfulp.conformance.vectors.columns import Column, VectorSet
from halfulp.conformance.vectors.formats.format import Format, Options, required_columns
from halfulp.conformance.vectors.formats.text import Hex, LineSource, read_rows, whole_code, write_rows


def _row(columns: tuple[Column, ...]) -> list[bytes | Hex]:
    row: list[bytes | Hex] = []
    for position in range(len(columns)):
        row += [b",0x" if position else b"0x", whole_code(columns, position)]
    return [*row, b"\n"]


def write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
    """Write the names of the columns, then a line per vector."""
    file.write((",".join(column.name for column in vectors.columns) + "\n").encode())
    write_rows(vectors, file, _row(vectors.columns))


def read(file: BinaryIO, columns: tuple[Column, ...] | None, options: Options) -> VectorSet:
    """Read the vectors of a file that has these columns, in any order. Other columns are skipped."""
    known = required_columns(columns, "csv", options)
    order: list[int] | None = None
    width = 0

    def line(text: str, done: int) -> list[list[str]]:
        nonlocal order, width
        words = [word.strip().strip('"') for word in text.split(",")]
        if not text:
            return []
        if order is None:
            missing = [column.name for column in known if column.name not in words]
            if missing:
                raise ValueError(f"no column {', '.join(missing)} among the names")
            order, width = [words.index(column.name) for column in known], len(words)
            return []
        if len(words) != width:
            raise ValueError(f"{len(words)} cells under {width} names")
        return [[words[k].removeprefix("0x") for k in order]]

    return VectorSet(known, read_rows(LineSource(file), known, _row(known), line, options))


FORMAT = Format("csv", ".csv", write, read)
