"""A SystemVerilog package: a packed structure, a function that gives the vector of an index, and their number.

The function reads a constant array, or, in Icarus Verilog, which has none, a memory that its first call fills. Either
takes time linear in the rows; a case over the rows takes simulators quadratic time. X digits are as in ``readmemh``.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import numpy as np

from halfulp.conformance.vectors.columns import Chunk, Column, Role, VectorSet
from halfulp.conformance.vectors.formats import text as texts
from halfulp.conformance.vectors.formats.c import SYSTEMVERILOG, check_names
from halfulp.conformance.vectors.formats.format import Format, Options, malformed, spool
from halfulp.interp.ir.errors import InputError

# --- numbering --------------------------------------------------------------------------------------------------------
#
# Number the rows, for formats that write a number in front of each row.

INDEX = Column("halfulp_index", 32, "i32", Role.OPERAND)

MOST = (1 << 31) - 1
"""Most rows that an ``int`` can count."""


def numbered(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield the chunks with `INDEX` in front. Raises InputError for too many rows."""
    done = 0
    for chunk in chunks:
        rows = len(chunk[0])
        if done + rows > MOST:
            raise InputError(f"a format that numbers its vectors holds at most {MOST} of them")
        yield (np.arange(done, done + rows, dtype=np.uint32), *chunk)
        done += rows


def without_numbers(chunks: Iterable[Chunk], options: Options) -> Iterator[Chunk]:
    """Yield the chunks without the numbers of `numbered`. Raises InputError where they do not count up from 0."""
    done = 0
    for chunk in chunks:
        rows = len(chunk[0])
        if (chunk[0] != np.arange(done, done + rows)).any():
            raise malformed(f"the numbers of rows {done} to {done + rows - 1} do not count up from 0", options)
        yield chunk[1:]
        done += rows


# --- sv ---------------------------------------------------------------------------------------------------------------

_COUNT = re.compile(r"localparam int COUNT = (\d+);")
_ROW = re.compile(r"`HALFULP_ROW\(32'h([0-9A-Fa-f]+), \{(.*)\}\)")
_WORD = re.compile(r"\d+'h([0-9A-Fa-fXx]+)")

_HEAD = """\
// {columns}
package {name};
  typedef struct packed {{
{members}
  }} vector_t;
  localparam int COUNT = {count};
`ifdef __ICARUS__
  `define HALFULP_ROW(INDEX, VECTOR) memory[INDEX] = VECTOR;
  logic [{top}:0] memory [0:COUNT];
  bit filled;
  function automatic vector_t vector(input int unsigned index);
    if (!filled) begin
      filled = 1;
`else
  `define HALFULP_ROW(INDEX, VECTOR) VECTOR,
  localparam logic [{top}:0] memory [0:COUNT] = '{{
`endif
"""

_TAIL = """\
`ifdef __ICARUS__
    end
`else
    {bits}'bx}};
  function automatic vector_t vector(input int unsigned index);
`endif
    vector = index < COUNT ? memory[index] : 'x;
  endfunction
  `undef HALFULP_ROW
endpackage
"""


def _row(columns: tuple[Column, ...]) -> list[bytes | texts.Hex]:
    row: list[bytes | texts.Hex] = [b"    `HALFULP_ROW(32'h", texts.whole_code(columns, 0), b", {"]
    for position, column in enumerate(columns[1:], 1):
        row += [f"{', ' if position > 1 else ''}{max(1, column.width)}'h".encode(), texts.whole_code(columns, position)]
    return [*row, b"})\n"]


def write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
    """Write the structure ``vector_t``, the function ``vector`` and the number ``COUNT``."""
    check_names("SystemVerilog", SYSTEMVERILOG, (options.name, *(column.name for column in vectors.columns)))
    members = (
        f"    logic [{max(1, column.width) - 1}:0] {column.name}; // {column.type}, {column.role.value}"
        f"{f' of {column.of}' if column.of else ''}"
        for column in vectors.columns
    )
    bits = sum(max(1, column.width) for column in vectors.columns)
    columns = (INDEX, *vectors.columns)
    with spool() as rows:
        count = texts.write_rows(VectorSet(columns, numbered(vectors)), rows, _row(columns), dont_care=True)
        told = {"columns": texts.described(vectors.columns), "name": options.name, "members": "\n".join(members)}
        file.write(_HEAD.format(**told, count=count, top=bits - 1).encode())
        rows.seek(0)
        shutil.copyfileobj(rows, file)
    file.write(_TAIL.format(bits=bits).encode())


def read(file: BinaryIO, columns: tuple[Column, ...] | None, options: Options) -> VectorSet:
    """Read the vectors of a package that `write` made. Everything but rows and their number is skipped."""
    source, known = texts.described_source(file, columns, "sv", options)
    count: int | None = None
    ended = False

    def line(text: str, done: int) -> list[list[str]]:
        nonlocal count, ended
        number = _COUNT.fullmatch(text)
        if number:
            count = int(number[1])
        ended |= text == "endpackage"
        if not text.startswith("`HALFULP_ROW("):
            return []
        row = _ROW.fullmatch(text)
        words = [_WORD.fullmatch(part) for part in row[2].split(", ")] if row else []
        found = [word[1] for word in words if word]
        if not row or len(found) != len(known) or len(words) != len(known):
            raise ValueError("not the row of a vector")
        return [[row[1], *found]]

    indexed = (INDEX, *known)
    rows = texts.read_rows(source, indexed, _row(indexed), line, options, dont_care=True)
    checked = texts.complete(rows, lambda: count if ended else None, source, options)
    return VectorSet(known, without_numbers(checked, options))


FORMAT = Format("sv", ".sv", write, read, describes=True)
