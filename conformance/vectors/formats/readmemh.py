"""Verilog's ``$readmemh``: one word per vector, in which each column fills whole hexadecimal digits.

The first column is the most significant. The comments in front name the bits of each. A digit of a result is X where
none of its bits counts: the result is poison, or all bits of the digit are unspecified.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import BinaryIO

from halfulp.conformance.vectors.columns import Column, VectorSet
from halfulp.conformance.vectors.formats import text as texts
from halfulp.conformance.vectors.formats.format import Format, Options

_COMMENT = re.compile(r"//.*|/\*.*?\*/")


def word(columns: Sequence[Column]) -> list[bytes | texts.Hex]:
    """Return the fields of a word."""
    return [texts.whole_code(columns, position) for position in range(len(columns))]


def fields(columns: Sequence[Column]) -> list[str]:
    """Describe each column's bits in the word as Verilog selects them: ``[31:24] a, f8E4M3FN operand``."""
    low = 4 * sum(texts.digits(column.width) for column in columns)
    lines = []
    for column in columns:
        low -= 4 * texts.digits(column.width)
        top = low + max(1, column.width) - 1
        about = f" of {column.of}" if column.of else ""
        lines.append(f"[{top}:{low}] {column.name}, {column.type} {column.role.value}{about}")
    return lines


def split_word(text: str, columns: Sequence[Column]) -> list[str]:
    """Return the digits of each column in a word; leading zeros may be missing. Raises ValueError for a longer word."""
    sizes = [texts.digits(column.width) for column in columns]
    text = text.replace("_", "").rjust(sum(sizes), "0")
    if len(text) > sum(sizes):
        raise ValueError(f"a word has {sum(sizes)} digits, not {len(text)}")
    words, start = [], 0
    for size in sizes:
        words.append(text[start : start + size])
        start += size
    return words


def write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
    """Write comments that describe the word, then a line per vector."""
    head = [texts.described(vectors.columns), *fields(vectors.columns)]
    file.write("".join(f"// {line}\n" for line in head).encode())
    texts.write_rows(vectors, file, [*word(vectors.columns), b"\n"], dont_care=True)


def read(file: BinaryIO, columns: tuple[Column, ...] | None, options: Options) -> VectorSet:
    """Read the words of a file. An address must be the next one; the first may be any. A comment ends with its line."""
    source, known = texts.described_source(file, columns, "readmemh", options)
    base: int | None = None

    def line(text: str, done: int) -> list[list[str]]:
        nonlocal base
        rows = []
        for part in _COMMENT.sub(" ", text).split():
            if not part.startswith("@"):
                rows.append(split_word(part, known))
                continue
            here = done + len(rows)
            address = int(part[1:], 16)
            base = address if base is None and not here else base or 0
            if address - base != here:
                raise ValueError(f"address {address:X} where {here + base:X} is next")
        return rows

    return VectorSet(known, texts.read_rows(source, known, [*word(known), b"\n"], line, options, dont_care=True))


FORMAT = Format("readmemh", ".hex", write, read, describes=True)
