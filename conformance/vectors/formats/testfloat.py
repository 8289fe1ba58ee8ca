"""TestFloat's text: ``A B RESULT FLAGS``, upper-case hexadecimal, one space between. The file does not describe its
columns.
"""

from __future__ import annotations

from typing import BinaryIO

from halfulp.conformance.vectors.columns import Column, Role, VectorSet
from halfulp.conformance.vectors.formats.format import Format, Options, required_columns
from halfulp.conformance.vectors.formats.text import Hex, LineSource, read_rows, whole_code, write_rows


def _row(columns: tuple[Column, ...]) -> list[bytes | Hex]:
    row: list[bytes | Hex] = []
    for position in range(len(columns)):
        row += [whole_code(columns, position), b" "]
    return [*row[:-1], b"\n"]


def write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
    """Write a line per vector, the columns in their order."""
    write_rows(vectors, file, _row(vectors.columns))


def read(file: BinaryIO, columns: tuple[Column, ...] | None, options: Options) -> VectorSet:
    """Read the vectors of a file, also of TestFloat itself. Extra spaces, missing leading zeros and empty lines are
    allowed.
    """
    known = required_columns(columns, "testfloat", options)

    def line(text: str, done: int) -> list[list[str]]:
        return [text.split()] if text else []

    return VectorSet(known, read_rows(LineSource(file), known, _row(known), line, options))


FORMAT = Format("testfloat", ".tv", write, read, carries=frozenset(Role) - {Role.POISON, Role.OPEN})
