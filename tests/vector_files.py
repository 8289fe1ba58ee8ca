"""Columns, random rows and written files, for the tests of vectors."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st

from halfulp.conformance.vectors.columns import (
    Chunk,
    Column,
    Role,
    VectorSet,
)
from halfulp.conformance.vectors.formats import format_named, read_vectors, write_vectors
from halfulp.conformance.vectors.formats.format import EVERY_ROLE, Options
from halfulp.conformance.vectors.packing import FORMAT_NAMES
from halfulp.fp_formats.formats import codes_to_ints, ints_to_codes

ROWWISE = tuple(name for name in FORMAT_NAMES if name not in ("runs", "mlir"))


ADDER = "func.func @eval(%a: f8E4M3FN, %b: f8E4M3FN) -> f8E4M3FN {\n  %0 = arith.addf %a, %b : f8E4M3FN\n  return %0 : f8E4M3FN\n}\n"


MARKED = tuple(name for name in ROWWISE if format_named(name).carries == EVERY_ROLE)


ADDF = (
    Column("a", 8, "f8E4M3FN", Role.OPERAND),
    Column("b", 8, "f8E4M3FN", Role.OPERAND),
    Column("result", 8, "f8E4M3FN", Role.RESULT),
    Column("flags", 5, "i5", Role.FLAGS),
)


FPTOSI = (
    Column("a", 16, "f16", Role.OPERAND),
    Column("result", 12, "i12", Role.RESULT),
    Column("poison", 1, "i1", Role.POISON),
    Column("open", 12, "i12", Role.OPEN),
)


WIDE = (
    Column("a", 80, "f80", Role.OPERAND),
    Column("random", 7, "i7", Role.RANDOM),
    Column("low", 128, "i128", Role.RESULT),
    Column("high", 33, "i33", Role.RESULT),
    Column("flags", 5, "i5", Role.FLAGS),
    Column("poison", 1, "i1", Role.POISON),
    Column("high_open", 33, "i33", Role.OPEN, of="high"),
)


def chunk_of(columns: tuple[Column, ...], rows: Sequence[tuple[int, ...]]) -> Chunk:
    return tuple(
        ints_to_codes([row[k] for row in rows], column.width, (len(rows),)) for k, column in enumerate(columns)
    )


def ints_of(columns: tuple[Column, ...], chunk: Chunk) -> list[tuple[int, ...]]:
    parts = [codes_to_ints(codes, column.width) for column, codes in zip(columns, chunk, strict=True)]
    return list(zip(*parts, strict=True))


def random_chunk(columns: tuple[Column, ...], rows: int, seed: int = 0) -> Chunk:
    rng = np.random.Generator(np.random.PCG64(seed))
    chunk = []
    for column in columns:
        data = rng.integers(0, 256, (rows, 16), np.uint8)
        ints = [int.from_bytes(row.tobytes(), "little") & ((1 << column.width) - 1) for row in data]
        rare = column.role in (Role.POISON, Role.OPEN)
        chunk.append(
            ints_to_codes([code if not rare or k % 5 == 0 else 0 for k, code in enumerate(ints)], column.width, (rows,))
        )
    return tuple(chunk)


def split(chunk: Chunk, cuts: list[int]) -> list[Chunk]:
    places = [0, *sorted(cuts), len(chunk[0])]
    return [tuple(codes[start:stop] for codes in chunk) for start, stop in pairwise(places)]


def written(columns: tuple[Column, ...], chunks: list[Chunk], format: str, **options: Any) -> bytes:
    file = io.BytesIO()
    write_vectors(VectorSet(columns, chunks), file, format, options=Options(function=ADDER, **options))
    return file.getvalue()


def text_of(columns: tuple[Column, ...], rows: Sequence[tuple[int, ...]], name: str) -> str:
    return written(columns, [chunk_of(columns, rows)], name).decode()


def read(data: bytes | str, name: str, columns: tuple[Column, ...] | None, **options: Any) -> list[tuple[int, ...]]:
    file = io.BytesIO(data.encode() if isinstance(data, str) else data)
    found = read_vectors(file, name, columns, Options(**options))
    return ints_of(found.columns, found.gather())


@st.composite
def vector_sets(draw: st.DrawFn, marks: bool) -> tuple[tuple[Column, ...], Chunk, list[int]]:
    widths = st.one_of(st.sampled_from([1, 3, 4, 6, 8, 12, 16, 19, 32, 64, 65, 80, 128]), st.integers(1, 128))
    columns = [Column(f"in{k}", draw(widths), "i", Role.OPERAND) for k in range(draw(st.integers(1, 3)))]
    columns += [Column("random", draw(widths), "i", Role.RANDOM)] * draw(st.integers(0, 1))
    results = [Column(f"out{k}", draw(widths), "i", Role.RESULT) for k in range(draw(st.integers(0, 2)))]
    columns += [*results, *[Column("flags", 5, "i5", Role.FLAGS)] * draw(st.integers(0, 1))]
    if marks:
        columns += [Column(f"p_{r.name}", 1, "i1", Role.POISON, r.name) for r in results if draw(st.booleans())]
        columns += [Column(f"o_{r.name}", r.width, "i", Role.OPEN, r.name) for r in results if draw(st.booleans())]
    rows = draw(st.one_of(st.sampled_from([0, 1]), st.integers(0, 40)))
    chunk = random_chunk(tuple(columns), rows, draw(st.integers(0, 1 << 30)))
    return tuple(columns), chunk, draw(st.lists(st.integers(0, rows), max_size=3))


SUMS = [(0x38, 0x40, 0x44, 0), (0x7E, 0x7E, 0x7F, 5)]


MARKED_ROWS = [(0x3C00, 0x0F5, 0, 0), (0x7C00, 0x123, 1, 0), (0x4000, 0x5A3, 0, 0x0F1)]
