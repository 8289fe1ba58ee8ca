"""A SystemVerilog package: a packed structure, a function that gives the vector of an index, and their number.

It is a function, since some simulators do not support a constant array of structures. X digits are as in ``readmemh``.
"""

from __future__ import annotations

import re
from typing import BinaryIO

from halfulp.conformance.vectors.columns import Column, VectorSet
from halfulp.conformance.vectors.formats.format import Format, Options, same_columns
from halfulp.conformance.vectors.formats.numbering import INDEX, numbered, without_numbers
from halfulp.conformance.vectors.formats.reserved import SYSTEMVERILOG, check_names
from halfulp.conformance.vectors.formats.text import (
    HEAD,
    Hex,
    LineSource,
    complete,
    described,
    find_columns,
    read_rows,
    whole,
    write_rows,
)

_COUNT = re.compile(r"localparam int COUNT = (\d+);")
_ROW = re.compile(r"32'h([0-9A-Fa-f]+): vector = \{(.*)\};")
_WORD = re.compile(r"\d+'h([0-9A-Fa-fXx]+)")


def _row(columns: tuple[Column, ...]) -> list[bytes | Hex]:
    row: list[bytes | Hex] = [b"      32'h", whole(columns, 0), b": vector = {"]
    for position, column in enumerate(columns[1:], 1):
        row += [f"{', ' if position > 1 else ''}{max(1, column.width)}'h".encode(), whole(columns, position)]
    return [*row, b"};\n"]


def write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
    """Write the structure ``vector_t``, the function ``vector`` and the number ``COUNT``."""
    check_names("SystemVerilog", SYSTEMVERILOG, (options.name, *(column.name for column in vectors.columns)))
    head = [
        f"// {described(vectors.columns)}",
        f"package {options.name};",
        "  typedef struct packed {",
        *(
            f"    logic [{max(1, column.width) - 1}:0] {column.name}; // {column.type}, {column.role.value}"
            f"{f' of {column.of}' if column.of else ''}"
            for column in vectors.columns
        ),
        "  } vector_t;",
        "  function automatic vector_t vector(input int unsigned index);",
        "    case (index)",
    ]
    file.write(("\n".join(head) + "\n").encode())
    columns = (INDEX, *vectors.columns)
    count = write_rows(VectorSet(columns, numbered(vectors)), file, _row(columns), dont_care=True)
    tail = [
        "      default: vector = 'x;",
        "    endcase",
        "  endfunction",
        f"  localparam int COUNT = {count};",
        "endpackage",
    ]
    file.write(("\n".join(tail) + "\n").encode())


def read(file: BinaryIO, columns: tuple[Column, ...] | None, options: Options) -> VectorSet:
    """Read the vectors of a package that `write` made. Everything but rows and their number is skipped."""
    source = LineSource(file)
    source.fill(HEAD)
    known = same_columns(columns, find_columns(source.data[:HEAD]), "sv", options)
    count: int | None = None

    def line(text: str, done: int) -> list[list[str]]:
        nonlocal count
        number = _COUNT.fullmatch(text)
        if number:
            count = int(number[1])
        if not text.startswith("32'h"):
            return []
        row = _ROW.fullmatch(text)
        words = [_WORD.fullmatch(part) for part in row[2].split(", ")] if row else []
        found = [word[1] for word in words if word]
        if not row or len(found) != len(known) or len(words) != len(known):
            raise ValueError("not the row of a vector")
        return [[row[1], *found]]

    indexed = (INDEX, *known)
    rows = read_rows(source, indexed, _row(indexed), line, options, dont_care=True)
    return VectorSet(known, without_numbers(complete(rows, lambda: count, source, options), options))


FORMAT = Format("sv", ".sv", write, read, describes=True)
