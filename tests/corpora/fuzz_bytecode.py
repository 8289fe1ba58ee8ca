"""A seeded fuzzer for the bytecode reader: it damages files that real tools wrote, and reads them.

    PYTHONPATH=tests python -m corpora.fuzz_bytecode -n 300000 --seed 1

An input passes if reading it takes less than a second of CPU time and raises only BytecodeError, with the offset of a
byte of the file, or another error of halfulp about the module that was read; if an accepted module prints, and is the
same after it is written and read again; and if the process stays under 500 MB. Input number i of a seed is always the
same, whatever the other inputs are: ``--first i -n 1`` repeats one, ``-o FILE`` writes it to a file.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

from corpora.bytecode_files import recorded_files
from corpora.fuzz_text import (
    ReadingFailure,
    fuzzing_parser,
    judged,
    print_outcomes,
    read_all,
    repeat,
    stablehlo_texts,
    truncate,
)

from halfulp.interp.bytecode.encoding import PADDING, ByteCursor, Section, varint, zigzag
from halfulp.interp.bytecode.portable import write_portable
from halfulp.interp.bytecode.writer import write_bytecode
from halfulp.interp.declare.declarations import Schema
from halfulp.interp.ir.blobs import MAGIC
from halfulp.interp.ir.errors import BytecodeError, HalfulpError, Unsupported
from halfulp.interp.ir.operations import Module
from halfulp.interp.loading import parse_module, read_bytecode
from halfulp.interp.text.printer import print_module

MAX_MEMORY = 500_000_000
MAX_BYTES = 200_000

_NUMBERS = (0, 1, 2, 3, 127, 128, 2**14, 2**31, 2**32 - 1, 2**32, 2**61, 2**63 - 1, 2**63, 2**64 - 1)
_PRODUCERS = (b"MLIR22.1.8", b"MLIR24.0.0git", b"", b"LLVM9", b"\xff\xfe", b"MLIR" + b"9" * 5000)


@dataclass(slots=True)
class Parts:
    """A file taken apart: the bytes before the sections, and the sections: number, alignment (0: none
    given), content.
    """

    head: bytes
    sections: list[tuple[int, int, bytes]]

    @classmethod
    def of(cls, data: bytes) -> Parts | None:
        """Return the parts; None for a file that is too broken."""
        cursor = ByteCursor(data)
        sections = []
        try:
            cursor.take(4)
            cursor.varint()
            cursor.terminated()
            head = data[: cursor.pos]
            while cursor.left:
                number = cursor.byte()
                length = cursor.varint()
                alignment = cursor.varint() if number & 0x80 else 0
                if alignment:
                    cursor.align(alignment)
                sections.append((number & 0x7F, alignment, bytes(cursor.take(length))))
        except BytecodeError:
            return None
        return cls(head, sections)

    def join(self) -> bytes:
        """Return the file, with correct lengths and padding."""
        data = bytearray(self.head)
        for number, alignment, content in self.sections:
            data.append(number | (0x80 if alignment else 0))
            data += varint(len(content))
            if alignment:
                data += varint(alignment)
                data += bytes((PADDING,)) * (-len(data) % alignment)
            data += content
        return bytes(data)


def _flip(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes((data[at] ^ 1 << rng.randrange(8),)) + data[at + 1 :]


def _change(rng: random.Random, data: bytes) -> bytes:
    """Replace a byte. Small numbers are preferred, since they have a meaning."""
    at = rng.randrange(len(data))
    byte = rng.choice((rng.randrange(256), 2 * rng.randrange(16) + 1, 0, 0xFF, PADDING))
    return data[:at] + bytes((byte,)) + data[at + 1 :]


def _insert(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.randrange(1, 5)) + data[at:]


def _delete(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.choice((1, 1, 2, 5, 30)) :]


def _number(rng: random.Random, data: bytes) -> bytes:
    """Replace an integer by another one."""
    at = rng.randrange(len(data))
    first = data[at]
    size = 9 if not first else (first & -first).bit_length()
    return data[:at] + varint(rng.choice((*_NUMBERS, rng.randrange(1 << rng.randrange(1, 65))))) + data[at + size :]


def _move(rng: random.Random, data: bytes) -> bytes:
    """Replace a piece by another one of its length."""
    size = rng.randrange(1, 12)
    one, other = (rng.randrange(max(1, len(data) - size)) for _ in range(2))
    return data[:one] + data[other : other + size] + data[one + size :]


def _splice(rng: random.Random, data: bytes) -> bytes:
    other = rng.choice(_originals())
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other)) :]


_BYTES: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    *(_flip, _flip, _change, _change, _change, _change, _move, _move, _number, _number),
    *(_insert, _delete, truncate, repeat, _splice),
)


def _in_section(rng: random.Random, parts: Parts) -> None:
    """Damage the content of a section. Its length stays consistent."""
    index = rng.randrange(len(parts.sections))
    number, alignment, content = parts.sections[index]
    if content:
        parts.sections[index] = number, alignment, rng.choice(_BYTES)(rng, content)


def _exchange(rng: random.Random, parts: Parts) -> None:
    """Replace a section by one of another file, of the same number or of any."""
    other = Parts.of(rng.choice(_originals()))
    assert other is not None
    section = rng.choice(other.sections)
    index = rng.randrange(len(parts.sections))
    if rng.random() < 0.8:
        index = next((i for i, known in enumerate(parts.sections) if known[0] == section[0]), index)
    parts.sections[index] = section


def _order(rng: random.Random, parts: Parts) -> None:
    """Move, repeat or remove a section, or change its number or alignment."""
    sections = parts.sections
    index = rng.randrange(len(sections))
    number, alignment, content = sections[index]
    match rng.randrange(5):
        case 0:
            rng.shuffle(sections)
        case 1:
            sections.append(sections[index])
        case 2:
            del sections[index]
        case 3:
            sections[index] = rng.choice((rng.randrange(10), rng.randrange(128))), alignment, content
        case _:
            sections[index] = number, rng.choice((1, 2, 8, 64, 4096)), content


def _head(rng: random.Random, parts: Parts) -> None:
    """Change the version or the producer."""
    cursor = ByteCursor(parts.head, 4)
    version, producer = cursor.varint(), cursor.terminated()
    if rng.random() < 0.5:
        version = rng.choice((*range(8), 2**63))
    else:
        producer = rng.choice(_PRODUCERS)
    parts.head = MAGIC + varint(version) + producer + b"\0"


# An attribute or a type of a file: the number of its dialect, whether it is encoded, and its bytes.
_Entry = tuple[int, bool, bytes]


def tables_of(offsets: bytes, data: bytes) -> tuple[list[_Entry], list[_Entry]]:
    """Return the attributes and the types of the sections that hold them. Raises BytecodeError."""
    cursor, content = ByteCursor(offsets), ByteCursor(data)
    counts = cursor.varint(), cursor.varint()
    tables: tuple[list[_Entry], list[_Entry]] = [], []
    for table, count in zip(tables, counts, strict=True):
        while len(table) < count:
            dialect = cursor.varint()
            for _ in range(cursor.count()):
                size, encoded = cursor.flagged()
                table.append((dialect, encoded, bytes(content.take(size))))
    return tables


def sections_of(tables: tuple[list[_Entry], list[_Entry]]) -> tuple[bytes, bytes]:
    """Return the sections that hold attributes and types; see `tables_of`."""
    offsets = b"".join(varint(len(table)) for table in tables)
    for table in tables:
        for dialect, group in groupby(table, key=lambda entry: entry[0]):
            entries = list(group)
            offsets += varint(dialect) + varint(len(entries))
            offsets += b"".join(varint(len(content) << 1 | encoded) for _, encoded, content in entries)
    return offsets, b"".join(content for table in tables for _, _, content in table)


@dataclass(slots=True)
class _Maker:
    """Builder of entries that refer to others, mostly to the last one, so that few bytes describe large values."""

    rng: random.Random
    attributes: int
    types: int

    def attribute(self) -> bytes:
        return varint(max(0, self.attributes - 1 - int(self.rng.expovariate(0.7))))

    def type(self) -> bytes:
        return varint(max(0, self.types - 1 - int(self.rng.expovariate(0.7))))

    def size(self) -> int:
        return self.rng.choice((0, 1, 2, 3, 64, 1 << 12, 1 << 16, 1 << 40))

    def several(self, one: Callable[[], bytes]) -> bytes:
        count = self.rng.choice((0, 1, 2, 2, 2, 3, 40))
        return varint(count) + (one() * count if self.rng.random() < 0.5 else b"".join(one() for _ in range(count)))

    def shape(self) -> bytes:
        return self.several(lambda: varint(zigzag(self.size())))

    def blob(self) -> bytes:
        size = self.rng.choice((0, 1, 2, 4, 8))
        return varint(size) + self.rng.choice((bytes(size), self.rng.randbytes(size)))

    def expression(self, depth: int) -> bytes:
        if not depth:
            return self.rng.choice((varint(0) + varint(0), varint(2) + varint(self.rng.randrange(200))))
        return varint(self.rng.choice((3, 3, 3, 4, 5, 6, 7))) + self.expression(depth - 1) + self.expression(depth - 1)


# The attributes and types made here; each begins with its code.
_MADE: tuple[tuple[Callable[[_Maker], bytes], ...], tuple[Callable[[_Maker], bytes], ...]] = (
    (
        lambda make: varint(0) + make.several(make.attribute),
        lambda make: varint(6) + make.type(),
        lambda make: varint(12) + make.several(make.attribute),
        lambda make: varint(10) + make.attribute() * 2,
        lambda make: varint(18) + make.type() + make.blob(),
        lambda make: varint(19) + make.type() + varint(1) + varint(0),
        lambda make: varint(21) + make.attribute(),
        lambda make: varint(23) + varint(make.size() << 2),
        lambda make: varint(23) + varint(7) + varint(0) + varint(1) + make.expression(make.rng.randrange(10)),
        lambda make: varint(24) + varint(make.size()) * 2 + varint(0),
    ),
    (
        lambda make: varint(0) + varint(make.rng.choice((0, 1, 8, 65_536)) << 2),
        lambda make: varint(2) + make.several(make.type) + make.several(make.type),
        lambda make: varint(10) + make.shape() + make.type() + make.attribute(),
        lambda make: varint(13) + make.shape() + make.type(),
        lambda make: varint(14) + make.attribute() + make.shape() + make.type(),
        lambda make: varint(15) + make.several(make.type),
        lambda make: (
            varint(6) + varint(1) + make.type() * 2 + varint(1) + varint(2) + make.shape() * 2 + make.attribute() * 2
        ),
    ),
)


def make(rng: random.Random, parts: Parts) -> None:
    """Make attributes and types that are valid by themselves, a few or very many; one of them may replace another."""
    index = {number: place for place, (number, _, _) in enumerate(parts.sections)}
    if not {Section.ATTR_TYPE_OFFSET, Section.ATTR_TYPE} <= index.keys():
        return
    at_offsets, at_data = index[Section.ATTR_TYPE_OFFSET], index[Section.ATTR_TYPE]
    try:
        tables = tables_of(parts.sections[at_offsets][2], parts.sections[at_data][2])
    except BytecodeError:
        return
    # Parts of the others: an unknown location and a number.
    tables[0].append((0, True, varint(15)))
    tables[1].append((0, True, varint(0) + varint(8 << 2)))
    for _ in range(rng.choice((1, 1, 2, 4))):
        which = rng.randrange(2)
        kind = rng.choice(_MADE[which])
        dialect = rng.choice(tables[which])[0] if rng.random() < 0.1 else 0
        for _ in range(rng.choice((1, 2, 8, 15, 1000))):
            maker = _Maker(rng, *map(len, tables))
            tables[which].append((dialect, True, kind(maker)))
    if rng.random() < 0.3:
        table = rng.choice(tables)
        table[rng.randrange(len(table))] = table[-1]
    for place, content in zip((at_offsets, at_data), sections_of(tables), strict=True):
        parts.sections[place] = (*parts.sections[place][:2], content)


_SECTIONS: tuple[Callable[[random.Random, Parts], None], ...] = (
    *(_in_section,) * 9,
    *(_exchange, _order, _head, make),
)


@cache
def artifacts() -> tuple[bytes, ...]:
    """Return portable artifacts of StableHLO, in each format of bytecode that they have had."""
    found: list[bytes] = []
    for text in stablehlo_texts():
        module = parse_module(text, "artifact")
        for version in ("1.20.0", "1.16.0", "1.0.0", "0.14.0", "0.12.0", "0.11.0", "0.9.0"):
            with suppress(Unsupported):
                found.append(write_portable(module, version, strip_debug_info=len(found) % 2 == 0))
    return tuple(found)


@cache
def _originals(stablehlo: bool = False) -> tuple[bytes, ...]:
    return artifacts() if stablehlo else tuple(file.data for file in recorded_files())


def mutant(seed: int, number: int, stablehlo: bool = False) -> bytes:
    """Return input ``number`` of a seed. ``stablehlo``: it was a portable artifact before."""
    rng = random.Random((seed << 40) + number)
    data = rng.choice(_originals(stablehlo))
    for _ in range(rng.choice((1, 1, 1, 1, 2, 2, 3, 5))):
        parts = Parts.of(data) if rng.random() < 0.85 else None
        if parts is not None and parts.sections:
            rng.choice(_SECTIONS)(rng, parts)
            data = parts.join()
        elif data:
            data = rng.choice(_BYTES)(rng, data)
        data = data[:MAX_BYTES]
    return data


def check(data: bytes) -> tuple[str, str | None]:
    """Read a file; see `judged`."""

    def misplaced(error: HalfulpError) -> str | None:
        error.render()
        if not isinstance(error, BytecodeError):
            return None
        known = error.filename is not None and error.offset is not None and 0 <= error.offset <= len(data)
        return None if known else f"no place in the file: {error}"

    return judged(lambda: read_bytecode(data, "fuzz"), _changed, misplaced)


def _changed(module: Module) -> str | None:
    """Say how a module differs after it is written and read again; None where it does not. Printing it must work as
    well.
    """
    print_module(module)
    printed = print_module(module, generic=True, debug_info=True)
    again = read_bytecode(write_bytecode(module, schema=Schema.LLVM24), "written")
    other = print_module(again, generic=True, debug_info=True)
    if other == printed:
        return None
    lines = zip(printed.splitlines(), other.splitlines(), strict=False)
    one, two = next(((a, b) for a, b in lines if a != b), ("", ""))
    return f"written and read again:\n{one[:300]}\n{two[:300]}"


def run(count: int, seed: int, first: int = 0, stablehlo: bool = False) -> tuple[list[ReadingFailure], Counter[str]]:
    """Read ``count`` inputs of a seed. Return those that fail, and the count of each outcome."""
    numbers = range(first, first + count)
    return read_all(lambda number: mutant(seed, number, stablehlo), check, bytes.hex, numbers, MAX_MEMORY)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Return 1 if an input failed."""
    parser = fuzzing_parser("corpora.fuzz_bytecode", "Damage and read bytecode.")
    parser.add_argument("-o", type=Path, help="write the first input to this file instead of reading any")
    options = parser.parse_args(arguments)
    if options.o is not None:
        options.o.write_bytes(mutant(options.seed, options.first, options.stablehlo))
        return 0
    return print_outcomes(*run(options.n, options.seed, options.first, options.stablehlo), options.seed, shown=False)


if __name__ == "__main__":
    sys.exit(main())
