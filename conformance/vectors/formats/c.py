"""A C header: an array of structures, one per vector, and their number. Members of more than 64 bits are arrays of
64-bit limbs, the least significant first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from halfulp.conformance.vectors.columns import Chunk, Column, VectorSet
from halfulp.conformance.vectors.formats.format import Format, Options, malformed, same_columns
from halfulp.conformance.vectors.formats.text import (
    HEAD,
    Hex,
    Source,
    described,
    digits,
    find_columns,
    read_rows,
    write_rows,
)
from halfulp.fp_formats.codes import LIMB_BITS, limb_count, storage_dtype

_COUNT = re.compile(r"#define \w+_COUNT (\d+)")
_WORD = re.compile(r"0x([0-9A-Fa-f]+)")


def _row(columns: tuple[Column, ...]) -> list[bytes | Hex]:
    row: list[bytes | Hex] = [b"    {"]
    for position, column in enumerate(columns):
        limbs = limb_count(column.width)
        row.append(b", " if position else b"")
        for k in range(limbs):
            start = b"{" if limbs > 1 and not k else b", " if k else b""
            low = LIMB_BITS * k
            row += [start + b"0x", Hex(position, low, min(LIMB_BITS, column.width - low))]
        row.append(b"}" if limbs > 1 else b"")
    return [*row, b"},\n"]


def _member(column: Column) -> str:
    limbs = limb_count(column.width)
    array = f"[{limbs}]" if limbs > 1 else ""
    about = f" of {column.of}" if column.of else ""
    return (
        f"    {storage_dtype(column.width).name}_t {column.name}{array}; "
        f"// {column.type}, {column.role.value}{about}, {column.width} bits"
    )


def write(vectors: VectorSet, file: BinaryIO, options: Options) -> None:
    """The structure, the array, its length."""
    name, guard = options.name, f"{options.name.upper()}_H"
    head = [
        f"// {described(vectors.columns)}",
        f"#ifndef {guard}",
        f"#define {guard}",
        "#include <stdint.h>",
        f"struct {name}_row {{",
        *map(_member, vectors.columns),
        "};",
        f"static const struct {name}_row {name}[] = {{",
    ]
    file.write(("\n".join(head) + "\n").encode())
    count = write_rows(vectors, file, _row(vectors.columns))
    empty = "" if count else "    {0} // C has no empty arrays\n"
    file.write(f"{empty}}};\n#define {name.upper()}_COUNT {count}\n#endif\n".encode())


def read(file: BinaryIO, columns: tuple[Column, ...] | None, options: Options) -> VectorSet:
    """The vectors of a header that `write` made; everything but rows and their number is skipped."""
    source = Source(file)
    source.fill(HEAD)
    known = same_columns(columns, find_columns(source.data[:HEAD]), "c", options)
    limbs = [limb_count(column.width) for column in known]
    count: int | None = None

    def line(text: str, done: int) -> list[list[str]]:
        nonlocal count
        number = _COUNT.fullmatch(text)
        if number:
            count = int(number[1])
            if count != done:
                raise ValueError(f"{done} vectors came before")
        if not text.startswith("{") or text.startswith("{0}"):
            return []
        words = iter(_WORD.findall(text))
        if text.count("0x") != sum(limbs) or not text.endswith("},"):
            raise ValueError(f"a row has {sum(limbs)} numbers in hexadecimal")
        try:
            parts = [[next(words) for _ in range(own)] for own in limbs]
        except StopIteration:
            raise ValueError(f"a row has {sum(limbs)} numbers in hexadecimal") from None
        return [["".join(part.rjust(digits(LIMB_BITS), "0") for part in reversed(own)) for own in parts]]

    def chunks() -> Iterator[Chunk]:
        yield from read_rows(source, known, _row(known), line, options)
        if count is None:
            raise malformed("the file ends before the number of vectors", options, source.line)

    return VectorSet(known, chunks())


FORMAT = Format("c", ".h", write, read, describes=True)
