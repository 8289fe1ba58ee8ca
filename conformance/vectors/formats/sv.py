"""A SystemVerilog package: a packed structure, a function that gives the vector of an index, and their number.

The function reads a constant array, or, in Icarus Verilog, which has none, a memory that its first call fills. Either
takes time linear in the rows; a case over the rows takes simulators quadratic time. X digits are as in ``readmemh``.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from typing import BinaryIO

from halfulp.conformance.vectors.columns import Column, VectorSet
from halfulp.conformance.vectors.formats import text as texts
from halfulp.conformance.vectors.formats.c import SYSTEMVERILOG, check_names
from halfulp.conformance.vectors.formats.format import Options, spool

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


def _row(columns: Sequence[Column]) -> texts.Row:
    row: list[bytes | texts.Hex] = [b"    `HALFULP_ROW(32'h", texts.whole_code(columns, 0), b", {"]
    for position, column in enumerate(columns[1:], 1):
        row += [f"{', ' if position > 1 else ''}{max(1, column.width)}'h".encode(), texts.whole_code(columns, position)]
    return [*row, b"})\n"]


def write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
    """Write the structure ``vector_t``, the function ``vector`` and the number ``COUNT``."""
    check_names("SystemVerilog", SYSTEMVERILOG, (options.name, *(column.name for column in vectors.columns)))
    members = (
        f"    logic [{max(1, column.width) - 1}:0] {column.name}; // {column.type}, {column.role_in_words}"
        for column in vectors.columns
    )
    bits = sum(max(1, column.width) for column in vectors.columns)
    with spool() as rows:
        numbered = texts.numbered(vectors)
        count = texts.write_rows(numbered, rows, _row(numbered.columns), dont_care=True)
        told = {"columns": texts.described(vectors.columns), "name": options.name, "members": "\n".join(members)}
        file.write(_HEAD.format(**told, count=count, top=bits - 1).encode())
        rows.seek(0)
        shutil.copyfileobj(rows, file)
    file.write(_TAIL.format(bits=bits).encode())


class _Lines(texts.Lines):
    """The reader of a package that `write` made: it reads the rows and their number, and skips everything else."""

    ends = True
    _told: int | None = None

    def read(self, text: str, done: int) -> list[list[str]]:
        number = _COUNT.fullmatch(text)
        if number:
            self._told = int(number[1])
        if text == "endpackage":
            self.count = self._told
        if not text.startswith("`HALFULP_ROW("):
            return []
        row = _ROW.fullmatch(text)
        words = [_WORD.fullmatch(part) for part in row[2].split(", ")] if row else []
        digits = [word[1] for word in words if word]
        if not row or not len(digits) == len(words) == len(self.columns) - 1:
            raise ValueError("not the row of a vector")
        return [[row[1], *digits]]


FORMAT = texts.text_format("sv", ".sv", _row, _Lines, write=write, describes=True, dont_care=True, numbers=True)
