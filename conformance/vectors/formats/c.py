"""A C header: an array of structures, one per vector, and their number. Members of more than 64 bits are arrays of
64-bit limbs, the least significant first.
"""

from __future__ import annotations

import re
from typing import BinaryIO

from halfulp.conformance.vectors.columns import Column, VectorSet
from halfulp.conformance.vectors.formats.format import Format, Options, same_columns
from halfulp.conformance.vectors.formats.reserved import C, check_names
from halfulp.conformance.vectors.formats.text import (
    HEAD,
    Hex,
    LineSource,
    complete,
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
    """Write the structure, the array and its length."""
    check_names("C", C, (options.name, *(column.name for column in vectors.columns)))
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
    zeros = ", ".join("0" if column.width <= LIMB_BITS else "{0}" for column in vectors.columns)
    empty = "" if count else f"    {{{zeros}}} // C has no empty arrays\n"
    file.write(f"{empty}}};\n#define {name.upper()}_COUNT {count}\n#endif\n".encode())


def read(file: BinaryIO, columns: tuple[Column, ...] | None, options: Options) -> VectorSet:
    """Read the vectors of a header that `write` made. Everything but rows and their number is skipped."""
    source = LineSource(file)
    source.fill(HEAD)
    known = same_columns(columns, find_columns(source.data[:HEAD]), "c", options)
    limbs = [limb_count(column.width) for column in known]
    count: int | None = None

    def line(text: str, done: int) -> list[list[str]]:
        nonlocal count
        number = _COUNT.fullmatch(text)
        if number:
            count = int(number[1])
        if not text.startswith(("{0x", "{{0x")):
            return []
        words = [_WORD.fullmatch(part.strip(" {}")) for part in text.removesuffix(",").split(",")]
        found = [word[1] for word in words if word]
        if len(found) != sum(limbs) or len(words) != sum(limbs) or not text.endswith("},"):
            raise ValueError(f"a row has {sum(limbs)} numbers in hexadecimal")
        left = iter(part.rjust(digits(LIMB_BITS), "0") for part in found)
        return [["".join(reversed([next(left) for _ in range(own)])) for own in limbs]]

    rows = read_rows(source, known, _row(known), line, options)
    return VectorSet(known, complete(rows, lambda: count, source, options))


FORMAT = Format("c", ".h", write, read, describes=True)
