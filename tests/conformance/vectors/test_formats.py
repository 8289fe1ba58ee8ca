"""Files of vectors: every format gives back what was written, says where a file is wrong, and other tools read it."""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import tracemalloc
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from command import PATIENCE
from hypothesis import given, settings
from hypothesis import strategies as st
from tree import ROOT

import halfulp as hu
from halfulp.conformance.comparing.op_case import reference, task
from halfulp.conformance.vectors import metadata
from halfulp.conformance.vectors.columns import (
    Chunk,
    Column,
    Digest,
    Role,
    VectorSet,
    columns_from_text,
    columns_to_text,
    rechunked,
    settled,
)
from halfulp.conformance.vectors.computation import OpSubject
from halfulp.conformance.vectors.formats import NAMES, format_named, format_of_file, read_vectors, write_vectors
from halfulp.conformance.vectors.formats.format import EVERY_ROLE, Options
from halfulp.conformance.vectors.formats.mlir import function_of_task
from halfulp.conformance.vectors.formats.text import BLOCK
from halfulp.conformance.vectors.packing import (
    CONTAINERS,
    BlockLayout,
    Blocks,
    Packing,
    pack,
    pack_blocks,
    unpack,
    unpack_blocks,
)
from halfulp.fp_formats.codes import codes_to_ints, ints_to_codes
from halfulp.interp.ir.errors import AssertionFailed, InputError
from halfulp.semantics.profile import Profile

ROWWISE = tuple(name for name in NAMES if name not in ("runs", "mlir"))
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


def chunk_of(columns: tuple[Column, ...], rows: list[tuple[int, ...]]) -> Chunk:
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


def text_of(columns: tuple[Column, ...], rows: list[tuple[int, ...]], name: str) -> str:
    return written(columns, [chunk_of(columns, rows)], name).decode()


def read(data: bytes | str, name: str, columns: tuple[Column, ...] | None, **options: Any) -> list[tuple[int, ...]]:
    file = io.BytesIO(data.encode() if isinstance(data, str) else data)
    found = read_vectors(file, name, columns, Options(**options))
    return ints_of(found.columns, found.gather())


# --- what a set is ----------------------------------------------------------------------------------------------------


def digest_by_hand(columns: tuple[Column, ...], chunk: Chunk) -> str:
    """The digest's definition, on Python integers."""
    lines = [columns_to_text(columns), str(len(chunk[0]))]
    for column, codes in zip(columns, settled(columns, chunk), strict=True):
        size = next((size for size in (1, 2, 4, 8, 16) if column.width <= 8 * size), 0)
        data = b"".join(code.to_bytes(size, "little") for code in codes_to_ints(codes, column.width))
        lines.append(hashlib.sha256(data).hexdigest())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


@pytest.mark.parametrize("columns", [ADDF, FPTOSI, WIDE])
def test_the_digest_is_that_of_the_rows_however_they_are_cut(columns: tuple[Column, ...]) -> None:
    chunk = random_chunk(columns, 100)
    expected = digest_by_hand(columns, chunk)
    for cuts in ([], [0], [100], [1, 1, 50], list(range(1, 100))):
        assert VectorSet(columns, split(chunk, cuts)).digest() == expected
    other = tuple(codes.copy() for codes in chunk)
    other[0][7] ^= 1
    assert VectorSet(columns, [other]).digest() != expected


def test_the_digest_is_pinned() -> None:
    rows = [(0x38, 0x40, 0x44, 0), (0x7E, 0x7E, 0x7F, 5), (0, 0x80, 0, 0)]
    digest = VectorSet(ADDF, [chunk_of(ADDF, rows)]).digest()
    assert digest == "1b928383b61ae01ea01b2ea0989f6bec400671615725a62ad433a14431489474"


def test_the_digest_tells_types_roles_and_the_number_of_rows_apart() -> None:
    chunk = chunk_of(ADDF, [(0, 0, 0, 0)])
    other_type = (ADDF[0], Column("b", 8, "f8E5M2", Role.OPERAND), *ADDF[2:])
    other_role = (ADDF[0], Column("b", 8, "f8E4M3FN", Role.RANDOM), *ADDF[2:])
    found = {VectorSet(columns, [chunk]).digest() for columns in (ADDF, other_type, other_role)}
    found |= {VectorSet(ADDF, chunks).digest() for chunks in ([], [chunk, chunk])}
    assert len(found) == 5


def test_bits_that_count_for_nothing_are_not_hashed() -> None:
    one = chunk_of(FPTOSI, [(0x7C00, 0x123, 1, 0), (0x3C00, 0x0F5, 0, 0x00F)])
    other = chunk_of(FPTOSI, [(0x7C00, 0xFFF, 1, 0), (0x3C00, 0x0FA, 0, 0x00F)])
    held = chunk_of(FPTOSI, [(0x7C00, 0x123, 1, 0), (0x3C00, 0x0E5, 0, 0x00F)])
    assert VectorSet(FPTOSI, [one]).digest() == VectorSet(FPTOSI, [other]).digest()
    assert VectorSet(FPTOSI, [one]).digest() != VectorSet(FPTOSI, [held]).digest()


def test_poison_is_of_the_result_it_names_or_of_all() -> None:
    two = (Column("x", 4, "i4", Role.RESULT), Column("y", 4, "i4", Role.RESULT))
    rows = [(1, 2, 1)]
    of_all = (*two, Column("poison", 1, "i1", Role.POISON))
    of_y = (*two, Column("poison", 1, "i1", Role.POISON, of="y"))
    assert ints_of(of_all, settled(of_all, chunk_of(of_all, rows))) == [(0, 0, 1)]
    assert ints_of(of_y, settled(of_y, chunk_of(of_y, rows))) == [(1, 0, 1)]


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ((), "needs a column"),
        ((ADDF[0], ADDF[0]), "two columns have one name: a, a"),
        ((ADDF[2], ADDF[0]), "must be ordered as operand, random, result"),
        ((ADDF[0], Column("poison", 1, "i1", Role.POISON)), "must name the one result"),
        ((ADDF[2], Column("poison", 1, "i1", Role.POISON, of="z")), "must name the one result"),
        ((ADDF[2], Column("poison", 2, "i2", Role.POISON)), "2 bits, which does not fit"),
        ((ADDF[2], Column("open", 7, "i7", Role.OPEN)), "7 bits, which does not fit"),
        ((ADDF[2], Column("flags", 8, "i8", Role.FLAGS)), "8 bits, but there are 5 flags"),
    ],
)
def test_columns_that_make_no_set_are_refused(columns: tuple[Column, ...], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        VectorSet(columns, [])


def test_a_column_needs_an_identifier_and_a_width() -> None:
    with pytest.raises(ValueError, match="identifier, not 'a b'"):
        Column("a b", 8, "i8", Role.OPERAND)
    with pytest.raises(ValueError, match="a width of -1 bits"):
        Column("a", -1, "i8", Role.OPERAND)


def test_chunks_of_another_dtype_or_shape_are_refused() -> None:
    for codes in (np.zeros(3, np.uint16), np.zeros((3, 1), np.uint8)):
        with pytest.raises(ValueError, match="column 'a' has codes of"):
            VectorSet(ADDF[:1], [(codes,)]).gather()
    with pytest.raises(ValueError, match="zip"):
        VectorSet(ADDF[:2], [(np.zeros(3, np.uint8),)]).gather()


def test_descriptions_of_columns_come_back_and_others_are_refused() -> None:
    assert columns_from_text(columns_to_text(WIDE)) == WIDE
    for text in ("", "{}", "[1]", '[{"name": "a"}]', '[{"name": "a", "width": 8, "type": "i8", "role": "king"}]', "[]"):
        with pytest.raises(InputError):
            columns_from_text(text)


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 12))
def test_rechunked_gives_the_same_rows_in_chunks_of_one_size(sizes: list[int], rows: int) -> None:
    chunk = random_chunk(ADDF[:1], sum(sizes))
    cuts = np.cumsum([0, *sizes]).tolist()[1:-1]
    found = list(rechunked(ADDF[:1], split(chunk, cuts), rows))
    assert [len(part[0]) for part in found] == [rows] * (sum(sizes) // rows) + [sum(sizes) % rows] * (
        sum(sizes) % rows > 0
    )
    assert [code for part in found for code in part[0].tolist()] == chunk[0].tolist()


# --- every format -----------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("name", ROWWISE)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_what_is_written_reads_back_to_the_same_digest(name: str, data: st.DataObject) -> None:
    columns, chunk, cuts = data.draw(vector_sets(name in MARKED))
    expected = VectorSet(columns, [chunk]).digest()
    file = io.BytesIO()
    told = write_vectors(VectorSet(columns, split(chunk, cuts)), file, name)
    assert (told.digest, told.count, told.dropped, told.columns) == (expected, len(chunk[0]), 0, columns)
    assert file.getvalue() == written(columns, [chunk], name)
    given_columns = None if format_named(name).describes else columns
    rows = data.draw(st.sampled_from([1, 7, 8, 1 << 16]))
    found = read_vectors(io.BytesIO(file.getvalue()), name, given_columns, Options(rows=rows))
    assert found.columns == columns
    parts = list(found)
    assert all(len(part[0]) <= max(rows, 8) for part in parts)
    assert VectorSet(columns, parts).digest() == expected


@pytest.mark.parametrize("name", ROWWISE)
@pytest.mark.parametrize("rows", [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK])
def test_the_borders_of_blocks_lose_nothing(name: str, rows: int) -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    chunk = (
        *(rng.integers(0, 256, rows).astype(np.uint8) for _ in range(3)),
        rng.integers(0, 32, rows).astype(np.uint8),
    )
    data = written(ADDF, [chunk], name)
    assert read_vectors(io.BytesIO(data), name, ADDF).digest() == VectorSet(ADDF, [chunk]).digest()


@pytest.mark.parametrize("name", NAMES)
def test_a_pipe_is_read_and_written(name: str) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: Any) -> int:
            raise io.UnsupportedOperation("seek")

    columns = (ADDF[0], ADDF[2])
    chunk = (np.arange(256, dtype=np.uint8), np.repeat(np.arange(16, dtype=np.uint8), 16))
    file = Pipe()
    digest = write_vectors(VectorSet(columns, [chunk]), file, name, options=Options(function=ADDER)).digest
    assert read_vectors(Pipe(file.getvalue()), name, columns).digest() == digest


@pytest.mark.parametrize("name", NAMES)
def test_a_closed_pipe_is_an_error_of_the_file_alone(name: str) -> None:
    class Closed(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            raise BrokenPipeError

    vectors = VectorSet((ADDF[0], ADDF[2]), [(np.arange(9, dtype=np.uint8),) * 2])
    with pytest.raises(BrokenPipeError):
        write_vectors(vectors, Closed(), name, options=Options(function=ADDER))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_memory_does_not_grow_with_the_number_of_vectors(name: str, tmp_path: Path) -> None:
    columns = (Column("a", 32, "i32", Role.OPERAND), ADDF[2])

    def chunks(count: int) -> Iterator[Chunk]:
        for start in range(0, count, 1 << 12):
            codes = np.arange(start, start + (1 << 12), dtype=np.uint32)
            yield codes, (codes >> 10).astype(np.uint8)

    def peak(count: int) -> int:
        tracemalloc.start()
        with open(tmp_path / "vectors", "wb") as file:
            write_vectors(VectorSet(columns, chunks(count)), file, name, options=Options(function=ADDER))
        with open(tmp_path / "vectors", "rb") as file:
            assert sum(len(chunk[0]) for chunk in read_vectors(file, name, columns, Options(rows=1 << 12))) == count
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(1 << 12)
    # What binary formats put aside stays in memory up to a bound, which more rows than these do not reach here.
    spooled = (1 << 18) * 5 if name in ("npz", "npy", "bin") else 0
    assert peak(1 << 18) < peak(1 << 15) + 3 * spooled + (1 << 19)


def test_formats_are_known_by_name_and_by_the_end_of_a_file() -> None:
    for name in NAMES:
        assert format_named(name).name == name
        assert format_of_file(f"x{format_named(name).suffix}") == format_named(name)
    assert len({format_named(name).suffix for name in NAMES}) == len(NAMES)
    assert format_of_file("x.mem") == format_named("readmemh")
    assert format_of_file("x.txt") is None
    with pytest.raises(
        InputError, match="unknown format 'readmem'; the formats are testfloat, .*\\nhint: did you mean `readmemh`"
    ):
        read_vectors(io.BytesIO(), "readmem")


@pytest.mark.parametrize("name", [name for name in NAMES if not format_named(name).describes])
def test_files_that_describe_nothing_need_columns(name: str) -> None:
    with pytest.raises(InputError, match=f"'{name}' does not say what its columns are"):
        read_vectors(io.BytesIO(written(ADDF, [], name)), name)


@pytest.mark.parametrize("name", [name for name in ROWWISE if format_named(name).describes])
def test_a_file_with_other_columns_than_asked_for_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="the file has the columns .*high_open.*, but those asked for are a: f8E4M3FN"):
        read_vectors(io.BytesIO(written(WIDE, [], name)), name, ADDF)


# --- rows that a format cannot say ------------------------------------------------------------------------------------

UNSAYABLE = [(1, 5, 0, 0), (2, 6, 1, 0), (3, 0xFFF, 0, 0xF0F), (4, 7, 0, 0)]


def test_poison_is_refused_dropped_or_made_canonical() -> None:
    chunks = split(chunk_of(FPTOSI, UNSAYABLE), [1])
    with pytest.raises(
        InputError, match="row 1: 'result' is poison, which the format 'testfloat' cannot say.*\n.*drop"
    ):
        write_vectors(VectorSet(FPTOSI, chunks), io.BytesIO(), "testfloat")
    later = [chunk_of(FPTOSI, UNSAYABLE[:1] * 2), chunk_of(FPTOSI, UNSAYABLE[2:])]
    with pytest.raises(InputError, match="row 2: 'result' has open bits"):
        write_vectors(VectorSet(FPTOSI, later), io.BytesIO(), "testfloat")
    dropped, canonical = io.BytesIO(), io.BytesIO()
    told = write_vectors(VectorSet(FPTOSI, chunks), dropped, "testfloat", "drop")
    assert dropped.getvalue() == b"0001 005\n0004 007\n"
    assert (told.count, told.dropped, told.columns) == (2, 2, FPTOSI[:2])
    assert told.digest == VectorSet(FPTOSI[:2], [chunk_of(FPTOSI[:2], [(1, 5), (4, 7)])]).digest()
    told = write_vectors(VectorSet(FPTOSI, chunks), canonical, "testfloat", "canonical")
    assert canonical.getvalue() == b"0001 005\n0002 000\n0003 FFF\n0004 007\n"
    assert (told.count, told.dropped) == (4, 0)
    with pytest.raises(ValueError, match="poison is one of refuse, drop, canonical, not 'x'"):
        write_vectors(VectorSet(FPTOSI, []), io.BytesIO(), "testfloat", "x")  # type: ignore[arg-type]


def test_sets_without_such_rows_are_written_where_they_could_have_been() -> None:
    assert text_of(FPTOSI, [UNSAYABLE[0], UNSAYABLE[3]], "testfloat") == "0001 005\n0004 007\n"


# --- text -------------------------------------------------------------------------------------------------------------

SUMS = [(0x38, 0x40, 0x44, 0), (0x7E, 0x7E, 0x7F, 5)]


def test_testfloat_is_what_its_consumers_read() -> None:
    assert text_of(ADDF, SUMS, "testfloat") == "38 40 44 00\n7E 7E 7F 05\n"
    f80 = (Column("a", 80, "f80", Role.OPERAND), Column("result", 1, "i1", Role.RESULT))
    assert text_of(f80, [(0x3FFF << 64 | 1 << 63, 1)], "testfloat") == "3FFF8000000000000000 1\n"


def test_a_line_of_testfloat_itself_is_read() -> None:
    f32 = tuple(
        Column(name, 32, "f32", role)
        for name, role in (("a", Role.OPERAND), ("b", Role.OPERAND), ("result", Role.RESULT))
    )
    assert read("8683F7FF C07F3FFF C07F3FFF 01\n", "testfloat", (*f32, ADDF[3])) == [
        (0x8683F7FF, 0xC07F3FFF, 0xC07F3FFF, 1)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "38 40 44 00\r\n7E 7E 7F 05\r\n",
        "38 40 44 00\n7e 7e 7f 05",
        "38\t40  44 0\n\n7E 7E 7F 5\n",
        "\n038 40 44 00\n7E 7E 7F 05",
    ],
)
def test_other_spellings_of_the_same_lines_are_read(text: str) -> None:
    assert read(text, "testfloat", ADDF) == SUMS


def test_readmemh_is_one_word_per_line_with_x_where_no_bit_counts() -> None:
    rows = [(0x3C00, 0x0F5, 0, 0), (0x7C00, 0x123, 1, 0), (0x4000, 0x5A3, 0, 0x0F1)]
    text = text_of(FPTOSI, rows, "readmemh")
    comments = [line for line in text.splitlines() if line.startswith("//")]
    assert comments[0] == f"// halfulp-columns: {columns_to_text(FPTOSI)}"
    assert comments[1:] == [
        "// [43:28] a, f16 operand",
        "// [27:16] result, i12 result",
        "// [12:12] poison, i1 poison",
        "// [11:0] open, i12 open",
    ]
    assert text.splitlines()[5:] == ["3C000F50000", "7C00XXX1000", "40005X300F1"]
    assert read(text, "readmemh", None) == [(0x3C00, 0x0F5, 0, 0), (0x7C00, 0, 1, 0), (0x4000, 0x503, 0, 0x0F1)]
    assert read(text.lower(), "readmemh", FPTOSI) == read(text, "readmemh", FPTOSI)


def test_readmemh_reads_what_verilog_allows() -> None:
    text = "// mine\n@100 38_40_44_00\n/* here */ @101\n7e7e7F05 // last\n"
    assert read(text, "readmemh", ADDF) == SUMS


def test_x_is_read_where_no_bit_counts_in_any_spelling() -> None:
    assert read("7C00_xXx_1_000 4000_5X3_0_0F1\n", "readmemh", FPTOSI) == [(0x7C00, 0, 1, 0), (0x4000, 0x503, 0, 0x0F1)]
    for word in ("4000_XX3_0_0F1", "4000_5X3_0_0E1", "40X0_5X3_0_0F1", "4000XX300F1", "40005X300E1", "40X05X300F1"):
        with pytest.raises(InputError, match=":2:1: error: "):
            read(f"3C000F50000\n{word}\n", "readmemh", FPTOSI)


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        ("38404400\n7E7E7FX5\n", 2, "'X5' is not a code of 5 bits"),
        ("38404400\n7E7EXX05\n", 2, "'result' has an X, but is neither poison nor open there"),
        ("38404400\n7E7E7F20\n", 2, "'20' is not a code of 5 bits in hexadecimal, for 'flags'"),
        ("38404400\n\n@3\n", 3, "address 3 where 1 is next"),
        ("@zz\n", 1, "zz"),
        ("138404400\n", 1, "a word has 8 digits, not 9"),
        ("38404400\n-1\n", 2, "is not a code"),
    ],
)
def test_readmemh_names_the_first_bad_line(text: str, line: int, complaint: str) -> None:
    with pytest.raises(InputError, match=f"dut.hex:{line}:1: error: .*{complaint}"):
        read(text, "readmemh", ADDF, file="dut.hex")


@pytest.mark.parametrize(
    "bad", ["38 40 44", "38 40 44 00 00", "3G 40 44 00", "38 40 144 00", "38,40 44 00", "38 40 44 20", "0x38 40 44 00"]
)
@pytest.mark.parametrize("row", [0, 1, 999, BLOCK, BLOCK + 5])
def test_a_bad_line_among_good_ones_is_found(bad: str, row: int) -> None:
    lines = ["38 40 44 00"] * (BLOCK + 10)
    lines[row] = bad
    with pytest.raises(InputError, match=f"<vectors>:{row + 1}:1: error: "):
        read("\n".join(lines), "testfloat", ADDF)


def test_an_endless_line_is_refused() -> None:
    with pytest.raises(InputError, match=":1:1: error: the line is longer than"):
        read("0" * (1 << 22), "testfloat", ADDF)


def test_coe_is_what_memory_generators_read() -> None:
    text = text_of(ADDF, SUMS, "coe")
    body = [line for line in text.splitlines() if not line.startswith("; ")]
    assert body == ["memory_initialization_radix=16;", "memory_initialization_vector=", "38404400,", "7E7E7F05;"]
    spaced = "memory_initialization_radix = 16;\nmemory_initialization_vector = 38404400, 7E7E7F05;"
    assert read(spaced, "coe", ADDF) == SUMS
    for wrong in (
        spaced.replace("16", "2"),
        spaced.replace("vector", "victor"),
        spaced + "\n00000000",
        "what\n",
        spaced[:-1],
    ):
        with pytest.raises(InputError, match="<vectors>:[1-4]:1: error"):
            read(wrong, "coe", ADDF)


def test_csv_and_jsonl_are_for_people() -> None:
    assert text_of(ADDF, SUMS, "csv") == "a,b,result,flags\n0x38,0x40,0x44,0x00\n0x7E,0x7E,0x7F,0x05\n"
    lines = text_of(ADDF, SUMS, "jsonl").splitlines()
    assert [json.loads(line) for line in lines] == [
        {"a": "0x38", "b": "0x40", "result": "0x44", "flags": "0x00"},
        {"a": "0x7E", "b": "0x7E", "result": "0x7F", "flags": "0x05"},
    ]
    assert read('result,"note",flags,b,a\n44,x,0,40,38\n0x7F, ,5,7E,7E\n', "csv", ADDF) == SUMS
    mine = '{"b": 64, "a": "38", "flags": 0, "result": "0x44", "note": null}\n{"a":126,"b":126,"result":127,"flags":5}'
    assert read(mine, "jsonl", ADDF) == SUMS
    for name, text in (
        ("csv", "a,b,flags\n1,2,3\n"), ("csv", "a,b,result,flags\n1,2,3\n"), ("csv", "a,b,result,flags\n1,2,3,x\n"),
        ("jsonl", "[]"), ("jsonl", "{"), ("jsonl", '{"a": 1}'), ("jsonl", '{"a":1,"b":true,"result":1,"flags":1}'),
        ("jsonl", '{"a":-1,"b":1,"result":1,"flags":1}'), ("jsonl", "[" * 100000),
    ):  # fmt: skip
        with pytest.raises(InputError, match="<vectors>:[12]:1: error"):
            read(text, name, ADDF)


@pytest.mark.parametrize(("name", "row"), [("c", "    {0x7E"), ("sv", "      32'h00000001")])
def test_a_source_file_that_is_cut_or_changed_is_noticed(name: str, row: str) -> None:
    text = text_of(ADDF, SUMS, name)
    assert read(text, name, None) == SUMS
    assert row in text
    lines = text.splitlines(keepends=True)
    at = next(k for k, line in enumerate(lines) if line.startswith(row))
    for wrong in (
        "".join(lines[: at + 1]), "".join(lines[:at]) + lines[at][:-4], "".join(lines[:at] + lines[at + 1 :]),
        text.replace("7F, ", "").replace("8'h7F, ", ""), text.replace("7F", "7G"),
    ):  # fmt: skip
        with pytest.raises(InputError):
            read(wrong, name, None)


# --- binary -----------------------------------------------------------------------------------------------------------


def test_npz_holds_raw_bits_under_the_names_of_columns() -> None:
    rows = [(0x3FFF << 64 | 1 << 63, 5, 1 << 127, 3, 0, 0, 1)]
    data = written(WIDE, [chunk_of(WIDE, rows)], "npz")
    with np.load(io.BytesIO(data)) as arrays:
        assert json.loads(arrays["halfulp"].tobytes())["columns"] == [column.to_json() for column in WIDE]
        assert arrays["a"].tolist() == [[1 << 63, 0x3FFF]]
        assert (arrays["high"].dtype, arrays["high"].tolist()) == (np.uint64, [3])
        again = io.BytesIO()
        np.savez_compressed(again, **arrays)
    assert read(again.getvalue(), "npz", None) == rows
    assert data == written(WIDE, [chunk_of(WIDE, rows)], "npz")


def test_npz_of_others_is_read_and_wrong_ones_are_refused() -> None:
    def saved(**arrays: Any) -> bytes:
        file = io.BytesIO()
        np.savez(file, **arrays)
        return file.getvalue()

    own = {column.name: np.array([row[k] for row in SUMS], np.uint8) for k, column in enumerate(ADDF)}
    assert read(saved(**own, more=np.zeros(3)), "npz", ADDF) == SUMS
    good = saved(**own)
    for data, complaint in (
        (good[:100], "no .npz file"),
        (b"", "no .npz file"),
        (saved(**{**own, "a": own["a"].astype(np.float32)}), r"'a' is float32\[2\], not uint8\[rows\]"),
        (saved(**{**own, "a": own["a"][:1]}), "the columns have 1, 2, 2, 2 rows"),
        (saved(**{**own, "flags": np.array([0, 32], np.uint8)}), "'flags' of row 1 has more than 5 bits"),
        (saved(a=own["a"]), "there is no array b, result, flags"),
        (saved(**own, halfulp=np.array([1], np.uint8)), "'halfulp' does not describe columns"),
        (saved(**{**own, "a": np.array([None, 1], object)}), "not uint8"),
    ):
        with pytest.raises(InputError, match=complaint):
            read(data, "npz", ADDF)


def test_npy_is_one_array_of_records() -> None:
    data = written(ADDF, [chunk_of(ADDF, SUMS)], "npy")
    array = np.load(io.BytesIO(data))
    assert array.dtype.names == ("a", "b", "result", "flags")
    assert [tuple(record) for record in array.tolist()] == SUMS
    for wrong, complaint in (
        (data[:-1], "1 bytes too early"),
        (data + b"0", "goes on behind its last row"),
        (data[:20], "no NumPy array"),
        (b"", "no NumPy array"),
    ):
        with pytest.raises(InputError, match=complaint):
            read(wrong, "npy", ADDF)
    with pytest.raises(InputError, match="the array is"):
        read(data, "npy", ADDF[:3])


def test_bin_is_one_column_after_the_other() -> None:
    columns = (Column("a", 16, "bf16", Role.OPERAND), Column("result", 4, "f4E2M1FN", Role.RESULT))
    rows = [(0x0102, 1), (0x0304, 2), (0x0506, 0xF)]
    chunks = [chunk_of(columns, rows)]
    assert written(columns, chunks, "bin") == bytes.fromhex("020104030605 01020F")
    dense = written(columns, chunks, "bin", packing=Packing(dense=True))
    assert dense == bytes.fromhex("020104030605 210F")
    assert read(dense, "bin", columns, packing=Packing(dense=True), count=3) == rows
    for data, options, complaint in (
        (dense, {"packing": Packing(dense=True)}, "the number of vectors must be given"),
        (dense, {"packing": Packing(dense=True), "count": 7}, "7 vectors take 18 bytes, but there are 8"),
        (dense, {}, "2 vectors take 6 bytes, but there are 8"),
    ):
        with pytest.raises(InputError, match=complaint):
            read(data, "bin", columns, **options)


@settings(max_examples=30, deadline=None)
@given(
    vector_sets(True), st.sampled_from([Packing(), Packing(True), Packing(True, "high")]), st.sampled_from([1, 8, 30])
)
def test_bin_comes_back_in_every_packing(made: Any, packing: Packing, rows: int) -> None:
    columns, chunk, cuts = made
    data = written(columns, split(chunk, cuts), "bin", packing=packing)
    found = read_vectors(io.BytesIO(data), "bin", columns, Options(packing=packing, count=len(chunk[0]), rows=rows))
    assert found.digest() == VectorSet(columns, [chunk]).digest()


def broken(data: bytes, draw: Any) -> bytes:
    """A file in which something was changed, left out or repeated."""
    changed = bytearray(data)
    for kind in draw(st.lists(st.sampled_from(["change", "drop", "repeat", "cut"]), min_size=1, max_size=3)):
        place = draw(st.integers(0, max(0, len(changed) - 1)))
        size = draw(st.integers(1, 12))
        if kind == "change" and changed:
            changed[place] = draw(st.one_of(st.sampled_from(b"0AxX \n,{};@/#_-'"), st.integers(0, 255)))
        elif kind == "drop":
            del changed[place : place + size]
        elif kind == "repeat":
            changed[place:place] = changed[max(0, place - size) : place]
        elif kind == "cut":
            del changed[place:]
    return bytes(changed)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_broken_file_is_read_or_refused_and_nothing_else(name: str, data: st.DataObject) -> None:
    columns = {"runs": (ADDF[0], ADDF[2]), "testfloat": ADDF, "mlir": ADDF[:3]}.get(name, WIDE)
    chunk = random_chunk(columns, data.draw(st.sampled_from([0, 1, 12])))
    if name == "runs":
        chunk = (np.arange(12, dtype=np.uint8), np.arange(12, dtype=np.uint8) // 5)
    file = io.BytesIO(broken(written(columns, [chunk], name), data.draw))
    given_columns = None if format_named(name).describes and data.draw(st.booleans()) else columns
    try:
        chunks = list(read_vectors(file, name, given_columns, Options(rows=data.draw(st.sampled_from([8, 1 << 16])))))
    except InputError:
        return
    for column, codes in zip(columns, zip(*chunks, strict=True), strict=False):
        assert all(code >> column.width == 0 for part in codes for code in codes_to_ints(part, column.width))


# --- runs -------------------------------------------------------------------------------------------------------------

UNARY = (Column("a", 16, "f16", Role.OPERAND), *FPTOSI[1:])


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 0xFFFF),
    st.lists(
        st.tuples(st.integers(1, 40), st.integers(0, 2), st.integers(0, 1), st.sampled_from([0, 0, 1, 0xF])),
        max_size=12,
    ),
    st.lists(st.integers(0, 400), max_size=4),
    st.sampled_from([1, 5, 1 << 16]),
)
def test_runs_come_back_as_the_rows_they_are(start: int, runs: list[Any], cuts: list[int], rows: int) -> None:
    values = [(result, poison, opened) for length, result, poison, opened in runs for _ in range(length)]
    values = values[: 0x10000 - start]
    chunk = chunk_of(UNARY, [(start + k, *value) for k, value in enumerate(values)])
    chunks = split(chunk, [min(cut, len(values)) for cut in cuts])
    text = written(UNARY, chunks, "runs")
    found = list(read_vectors(io.BytesIO(text), "runs", None, Options(rows=rows)))
    assert all(len(part[0]) <= rows for part in found)
    assert VectorSet(UNARY, found).digest() == VectorSet(UNARY, [chunk]).digest()
    held = ints_of(UNARY, settled(UNARY, chunk))
    changes = sum(k == 0 or row[1:] != held[k - 1][1:] for k, row in enumerate(held))
    assert len(text.splitlines()) == 2 + changes


def test_runs_are_a_table() -> None:
    columns = (ADDF[0], ADDF[2])
    chunk = (np.arange(256, dtype=np.uint8), np.repeat(np.array([7, 9, 7], np.uint8), [100, 28, 128]))
    text = written(columns, [chunk], "runs").decode()
    assert text.splitlines()[1:] == ["00 07", "64 09", "80 07", "LAST FF"]
    assert read("00 07\n64 09\n80 07\nLAST FF\n", "runs", columns) == ints_of(columns, chunk)


def test_runs_of_all_64_bit_operands_are_streamed() -> None:
    columns = (Column("a", 64, "f64", Role.OPERAND), ADDF[2])
    text = b"0000000000000000 01\nFFFFFFFFFFFFFFFE 02\nLAST FFFFFFFFFFFFFFFF\n"
    first = next(iter(read_vectors(io.BytesIO(text), "runs", columns, Options(rows=4))))
    assert ints_of(columns, first) == [(k, 1) for k in range(4)]
    assert read("FFFFFFFFFFFFFFFE 02\nLAST FFFFFFFFFFFFFFFF\n", "runs", columns) == [
        ((1 << 64) - 2, 2),
        ((1 << 64) - 1, 2),
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("00 07\n", "the file ends too early"),
        ("LAST 07\n", "does not end with LAST"),
        ("10 07\nLAST 0F\n", "does not end with LAST"),
        ("10 07\nLAST 100\n", "does not end with LAST"),
        ("10 07\n10 08\nLAST 20\n", "a run starts at 10, after one at 10"),
        ("10 07\nLAST 40\n30 01\n", "2 rows in a file that is said to have 1"),
        ("10 07\nLAST\n", "does not end with LAST"),
    ],
)
def test_tables_that_are_none_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read(text, "runs", (ADDF[0], ADDF[2]))


def test_runs_need_one_operand_that_counts_up() -> None:
    with pytest.raises(InputError, match="needs one operand"):
        written(ADDF, [], "runs")
    with pytest.raises(InputError, match="has no place for random"):
        written((ADDF[0], Column("random", 4, "i4", Role.RANDOM), ADDF[2]), [], "runs")
    columns = (ADDF[0], ADDF[2])
    for operands in ([1, 3], [1, 1], [255, 0], [2, 1]):
        chunk = chunk_of(columns, [(code, 0) for code in operands])
        for chunks in ([chunk], split(chunk, [1])):
            with pytest.raises(InputError, match=f"{operands[1]:X} comes after {operands[0]:X}"):
                written(columns, chunks, "runs")


# --- other tools ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("format", "word"), [("c", "int"), ("c", "namespace"), ("sv", "module"), ("sv", "rand")])
def test_a_word_of_the_language_is_no_name(format: str, word: str) -> None:
    with pytest.raises(InputError, match=f"'{word}' is a word of "):
        written(ADDF, [], format, name=word)
    columns = (Column(word, 8, "i8", Role.OPERAND), *ADDF[1:])
    with pytest.raises(InputError, match=f"'{word}' is a word of "):
        written(columns, [], format)
    other = {"c": "sv", "sv": "c"}[format]
    if word in ("module", "rand"):
        written(ADDF, [], other, name=word)


@pytest.mark.iverilog
@pytest.mark.parametrize("columns", [ADDF, FPTOSI, WIDE])
@pytest.mark.parametrize("rows", [0, 1, 40])
def test_the_c_header_compiles_and_holds_the_vectors(columns: tuple[Column, ...], rows: int, tmp_path: Path) -> None:
    chunk = random_chunk(columns, rows)
    (tmp_path / "vectors.h").write_bytes(written(columns, [chunk], "c", name="golden"))
    prints = "".join(
        f'    printf("%0{min(16, 2 * column.bytes)}llX", (unsigned long long)golden[k].{column.name}'
        f"{f'[{limb}]' if column.bytes > 8 else ''}); {'putchar(32);' if limb == 0 else ''}\n"
        for column in columns
        for limb in reversed(range(max(1, column.bytes // 8)))
    )
    (tmp_path / "main.c").write_text(
        '#include <stdio.h>\n#include "vectors.h"\n#include "vectors.h"\nint main(void) {\n'
        "  for (unsigned long k = 0; k < GOLDEN_COUNT; k++) {\n" + prints + '    printf("\\n");\n  }\n  return 0;\n}\n'
    )
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-Wno-type-limits"]
    subprocess.run(["cc", *flags, "-o", tmp_path / "main", tmp_path / "main.c"], check=True, timeout=PATIENCE)
    said = subprocess.run([tmp_path / "main"], check=True, capture_output=True, text=True, timeout=PATIENCE).stdout
    assert [tuple(int(word, 16) for word in line.split()) for line in said.splitlines()] == ints_of(columns, chunk)


def simulated(tmp_path: Path, *sources: str) -> list[str]:
    files = []
    for k, source in enumerate(sources):
        files.append(tmp_path / f"{k}.sv")
        files[-1].write_text(source)
    subprocess.run(["iverilog", "-g2012", "-Wall", "-o", tmp_path / "bench", *files], check=True, timeout=PATIENCE)
    run = subprocess.run(
        ["vvp", "-n", tmp_path / "bench"], check=True, capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE
    )
    return run.stdout.splitlines()


MARKED_ROWS = [(0x3C00, 0x0F5, 0, 0), (0x7C00, 0x123, 1, 0), (0x4000, 0x5A3, 0, 0x0F1)]


@pytest.mark.iverilog
@pytest.mark.parametrize("columns", [ADDF, FPTOSI, WIDE])
def test_the_systemverilog_package_compiles_and_simulates(columns: tuple[Column, ...], tmp_path: Path) -> None:
    chunk = chunk_of(FPTOSI, MARKED_ROWS) if columns is FPTOSI else random_chunk(columns, 40)
    bench = (
        "module bench;\n  import golden::*;\n  vector_t v;\n  initial begin\n    for (int i = 0; i < COUNT; i++) begin\n"
        "      v = vector(i);\n      $display(\"" + " ".join(["%h"] * len(columns)) + "\", "
        + ", ".join(f"v.{column.name}" for column in columns) + ");\n    end\n  end\nendmodule\n"
    )  # fmt: skip
    lines = simulated(tmp_path, written(columns, [chunk], "sv", name="golden").decode(), bench)
    if columns is FPTOSI:
        assert lines == ["3c00 0f5 0 000", "7c00 xxx 1 000", "4000 5x3 0 0f1"]
    else:
        held = settled(columns, chunk)
        found = [tuple(int(word.replace("x", "0"), 16) for word in line.split()) for line in lines]
        assert ints_of(columns, settled(columns, chunk_of(columns, found))) == ints_of(columns, held)


@pytest.mark.iverilog
def test_verilog_reads_our_memory_files(tmp_path: Path) -> None:
    (tmp_path / "v.hex").write_bytes(written(FPTOSI, [chunk_of(FPTOSI, MARKED_ROWS)], "readmemh"))
    fields = [line.split()[1] for line in (tmp_path / "v.hex").read_text().splitlines() if line.startswith("// [")]
    bench = (
        "module bench;\n  reg [43:0] m [0:2];\n  reg [43:0] w;\n  integer i;\n  initial begin\n"
        '    $readmemh("v.hex", m);\n    for (i = 0; i < 3; i = i + 1) begin\n      w = m[i];\n'
        '      $display("%h %h %h %h", '
        + ", ".join(f"w{field}" for field in fields)
        + ");\n    end\n  end\nendmodule\n"
    )
    assert simulated(tmp_path, bench) == ["3c00 0f5 0 000", "7c00 xxx 1 000", "4000 5x3 0 0f1"]


# --- self-checking programs -------------------------------------------------------------------------------------------

CHECKED = (*ADDF[:3], Column("free", 8, "i8", Role.OPEN))


def adder_rows() -> list[tuple[int, ...]]:
    codes = np.arange(0, 256, 5, dtype=np.uint8)
    results = reference(task("arith.addf", "f8E4M3FN"), (codes, codes[::-1].copy())).bits[0]
    return list(zip(codes.tolist(), codes[::-1].tolist(), results.tolist(), [0] * len(codes), strict=True))


def test_the_self_checking_program_passes_and_fails_as_it_must() -> None:
    rows = adder_rows()
    assert hu.run(text_of(CHECKED, rows, "mlir"), entry="main") == ()
    rows[7] = (*rows[7][:2], rows[7][2] ^ 4, 0)
    with pytest.raises(AssertionFailed, match="result has other bits than it must have"):
        hu.run(text_of(CHECKED, rows, "mlir"), entry="main")
    rows[7] = (*rows[7][:3], 4)
    assert hu.run(text_of(CHECKED, rows, "mlir"), entry="main") == ()


@pytest.mark.parametrize("cut", [[], [1], [20]])
def test_self_checking_programs_are_read_back(cut: list[int]) -> None:
    chunk = chunk_of(CHECKED, adder_rows())
    text = written(CHECKED, split(chunk, cut), "mlir").decode()
    assert read(text, "mlir", None) == ints_of(CHECKED, chunk)
    # Printed by another tool, rows are not regular any more.
    spaced = text.replace("arith.constant 0x0", "arith.constant 0x").replace("  %a_", "      %a_")
    assert read(spaced, "mlir", CHECKED, rows=3) == ints_of(CHECKED, chunk)
    for wrong in (
        text.replace("%b_00000003 = ", "%b_00000004 = "), text.replace("0x0F : i8", "0x0G : i8"), text[:-40],
        text.replace("  %a_00000002 = arith.constant 0x0A : i8\n", ""), text.replace("count: 52", "count: 51"),
    ):  # fmt: skip
        assert wrong != text
        with pytest.raises(InputError):
            read(wrong, "mlir", None)


@pytest.mark.parametrize("op", ["arith.addui_extended", "arith.muli"])
def test_self_checking_programs_of_integers_have_no_casts(op: str) -> None:
    asked = task(op, "i13")
    inputs = (np.array([0, 1, 0x1FFF], np.uint16), np.array([5, 0x1FFF, 0x1FFF], np.uint16))
    columns = [Column(name, 13, "i13", Role.OPERAND) for name in "ab"]
    columns += [Column(f"r{k}", int(type_[1:]), type_, Role.RESULT) for k, type_ in enumerate(asked.results)]
    vectors = VectorSet(tuple(columns), [(*inputs, *reference(asked, inputs).bits)])
    file = io.BytesIO()
    write_vectors(vectors, file, "mlir", options=Options(function=function_of_task(asked)))
    assert b"bitcast" not in file.getvalue()
    assert hu.run(file.getvalue().decode(), entry="main") == ()


def test_what_no_program_can_check_is_refused() -> None:
    with pytest.raises(InputError, match="needs the text of a function @eval"):
        write_vectors(VectorSet(CHECKED, []), io.BytesIO(), "mlir")
    with pytest.raises(InputError, match="needs a result to check"):
        text_of(ADDF[:2], [], "mlir")
    with pytest.raises(InputError, match="has no place for flags"):
        text_of(ADDF, [], "mlir")
    quantized = (Column("a", 8, "!quant.uniform<i8:f32, 0.5>", Role.OPERAND), ADDF[2])
    with pytest.raises(InputError, match="of its bits, for 'a'"):
        text_of(quantized, [], "mlir")
    with pytest.raises(InputError, match="the type of 'a' is none"):
        text_of((Column("a", 8, "f8", Role.OPERAND), ADDF[2]), [], "mlir")


@pytest.mark.mlir
@pytest.mark.parametrize("wrong", [False, True])
def test_mlir_runs_the_self_checking_program(wrong: bool) -> None:
    asked = task("arith.mulf", "f32")
    inputs = tuple(np.array(codes, np.uint32) for codes in ([0x3F800001, 0x7F7FFFFF, 1, 0x80000000], [0x40490FDB] * 4))
    columns = (*(Column(name, 32, "f32", Role.OPERAND) for name in "ab"), Column("result", 32, "f32", Role.RESULT))
    results = reference(asked, inputs).bits[0]
    file = io.BytesIO()
    vectors = VectorSet(columns, [(*inputs, results ^ np.uint32(wrong))])
    write_vectors(vectors, file, "mlir", options=Options(function=function_of_task(asked)))
    passes = [
        "--convert-arith-to-llvm",
        "--convert-cf-to-llvm",
        "--convert-func-to-llvm",
        "--reconcile-unrealized-casts",
    ]
    lowered = subprocess.run(
        ["mlir-opt-22", *passes], input=file.getvalue(), capture_output=True, check=True, timeout=PATIENCE
    )
    command = ["mlir-runner-22", "-e", "main", "--entry-point-result=void"]
    run = subprocess.run(command, input=lowered.stdout, capture_output=True, check=False, timeout=PATIENCE)
    assert (run.returncode != 0) == wrong, run.stderr.decode()


# --- packing ----------------------------------------------------------------------------------------------------------


def test_packing_by_hand() -> None:
    low, high = Packing(dense=True), Packing(dense=True, first="high")
    f4, f6 = np.array([1, 2, 0xF], np.uint8), np.array([1, 2, 3, 4], np.uint8)
    assert pack(f4, 4, low).tobytes().hex() == "210f"
    assert pack(f4, 4, high).tobytes().hex() == "12f0"
    assert pack(f6, 6, low).tobytes().hex() == "813010"
    assert pack(f6, 6, high).tobytes().hex() == "0420c4"
    assert pack(f6, 6, CONTAINERS).tobytes().hex() == "01020304"
    assert pack(np.array([0x123, 0x456], np.uint16), 12, low).tobytes().hex() == "236145"
    assert pack(np.array([0x123, 0x456], np.uint16), 12, high).tobytes().hex() == "123456"
    with pytest.raises(ValueError, match="3 elements of 6 bits take 3 bytes, not 2"):
        unpack(np.zeros(2, np.uint8), 6, 3, low)
    with pytest.raises(ValueError, match="low or the high bits, not 'middle'"):
        Packing(True, "middle")  # type: ignore[arg-type]


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 130), st.integers(0, 20), st.sampled_from(["low", "high"]), st.integers(0, 1 << 30))
def test_dense_packing_is_one_long_integer(width: int, count: int, first: Any, seed: int) -> None:
    codes = random_chunk((Column("a", width, "i", Role.OPERAND),), count, seed)[0]
    ints = codes_to_ints(codes, width)
    size = -(-width * count // 8)
    if first == "low":
        expected = sum(code << (width * k) for k, code in enumerate(ints)).to_bytes(size, "little")
    else:
        number = sum(code << (width * (count - 1 - k)) for k, code in enumerate(ints))
        expected = (number << (8 * size - width * count)).to_bytes(size, "big")
    packing = Packing(True, first)
    data = pack(codes, width, packing)
    assert data.tobytes() == expected
    assert packing.size(width, count) == size
    assert codes_to_ints(unpack(data, width, count, packing), width) == ints
    plain = pack(codes, width, CONTAINERS)
    assert len(plain) == CONTAINERS.size(width, count)
    assert codes_to_ints(unpack(plain, width, count, CONTAINERS), width) == ints


@pytest.mark.parametrize(
    ("scales", "expected"),
    [("separate", ["214305 876509", "7f80"]), ("first", ["7f214305 80876509"]), ("last", ["2143057f 87650980"])],
)
def test_blocks_keep_their_scales_where_asked(scales: Any, expected: list[str]) -> None:
    layout = BlockLayout(4, elements=5, scales=scales)
    elements = np.array([[1, 2, 3, 4, 5], [7, 8, 5, 6, 9]], np.uint8)
    parts = pack_blocks(np.array([0x7F, 0x80], np.uint8), elements, layout)
    assert [part.tobytes() for part in parts] == [bytes.fromhex(part) for part in expected]
    back_scales, back = unpack_blocks(parts, 2, layout)
    assert back_scales.tolist() == [0x7F, 0x80]
    assert back.tolist() == elements.tolist()
    with pytest.raises(ValueError, match="3 blocks take"):
        unpack_blocks(parts, 3, layout)


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from([4, 6, 8, 5, 16]), st.sampled_from([1, 3, 16, 32]), st.sampled_from(["separate", "first", "last"]),
    st.sampled_from([Packing(), Packing(True), Packing(True, "high")]), st.integers(0, 5), st.integers(0, 1 << 30),
)  # fmt: skip
def test_blocks_come_back(width: int, size: int, scales: Any, packing: Packing, blocks: int, seed: int) -> None:
    layout = BlockLayout(width, size, 8, scales, packing)
    columns = (Column("e", width, "i", Role.OPERAND), Column("s", 8, "i8", Role.OPERAND))
    elements = random_chunk(columns, blocks * size, seed)[0].reshape(blocks, size)
    own = random_chunk(columns, blocks, seed)[1]
    parts = pack_blocks(own, elements, layout)
    assert sum(len(part) for part in parts) == blocks * (layout.element_bytes + 1)
    back_scales, back = unpack_blocks(parts, blocks, layout)
    assert (back_scales.tolist(), back.tolist()) == (own.tolist(), elements.tolist())


def test_blocks_of_wrong_shape_or_layout_are_refused() -> None:
    with pytest.raises(ValueError, match="2 scales need elements of shape"):
        pack_blocks(np.zeros(2, np.uint8), np.zeros((2, 31), np.uint8), BlockLayout(4))
    for wrong in ({"scales": "middle"}, {"elements": 0}, {"width": 0}, {"scale_width": 65}):
        with pytest.raises(ValueError, match="scales lie|a block has"):
            BlockLayout(**{"width": 4, **wrong})  # type: ignore[arg-type]


# --- metadata ---------------------------------------------------------------------------------------------------------


def documented(name: str = "testfloat", **more: Any) -> metadata.Document:
    anchors = metadata.Anchors(ADDF)
    chunk = chunk_of(ADDF, [(0, 0x80, 0, 0), *SUMS, (0x3B, 0x41, 0x46, 1), (0xFF, 0, 0xFF, 0)])
    told = write_vectors(VectorSet(ADDF, anchors.watch(split(chunk, [2]))), io.BytesIO(), name)
    addf = task("arith.addf", "f8E4M3FN")
    arguments: dict[str, Any] = {
        "anchors": anchors.rows(), "diverging": metadata.divergences_of_task(addf), **more,
    }  # fmt: skip
    return metadata.document(
        told,
        [metadata.File(name, "addf.tv")],
        OpSubject(addf).source(),
        Profile(),
        metadata.Inputs("1"),
        **arguments,
    )


def test_documents_are_valid_and_the_schema_is() -> None:
    jsonschema.Draft202012Validator.check_schema(metadata.schema())
    check = jsonschema.Draft202012Validator(metadata.schema()).validate
    check(documented())
    packed = metadata.File("bin", None, Packing(True))
    full = documented(
        any_nan=True,
        shard=metadata.Shard(3, 256, (3 << 24, 4 << 24)),
        blocks=Blocks("a", "b"),
        created="2025-01-01",
        unmarked="drop",
    )
    full["files"].append(packed.to_json())
    full["inputs"] = metadata.Inputs("models", ("B1", "B29"), 7, (0, 512), {"depth": 2}).to_json()
    check(full)
    for name, columns in (("readmemh", FPTOSI), ("npz", WIDE)):
        told = write_vectors(VectorSet(columns, [random_chunk(columns, 3)]), io.BytesIO(), name)
        document = metadata.document(
            told, [metadata.File(name)], OpSubject(task("arith.fptosi", "f16", "i12")).source(),
            Profile(base="ml_dtypes"), metadata.Inputs("random", seed=1),
        )  # fmt: skip
        check(document)
        assert document["poison"]["encoding"] == {"readmemh": "columns and X digits", "npz": "columns"}[name]


@pytest.mark.parametrize(
    "wrong",
    [
        {"schema_version": 2}, {"count": -1}, {"sha256": "0"}, {"columns": []}, {"more": 1}, {"files": []},
        {"source": {"op": "arith.addf"}}, {"poison": {"encoding": "?"}}, {"inputs": {"level": "3"}},
        {"anchors": [{"row": 0, "codes": {"a": "38"}, "values": {}}]}, {"nan": {"result": "payload", "accept": "some"}},
        {"shard": {"index": 0, "of": 1, "rows": [0]}}, {"flags": {"invalid": 1}},
    ],
)  # fmt: skip
def test_the_schema_refuses_what_is_wrong(wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(metadata.schema()).validate({**documented(), **wrong})


def test_the_text_of_a_document_is_deterministic() -> None:
    text = metadata.to_text(documented())
    assert text == metadata.to_text(documented())
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert "created" not in json.loads(text)


def test_two_formats_of_a_set_have_one_digest() -> None:
    assert documented("testfloat")["sha256"] == documented("npz")["sha256"] == documented("c")["sha256"]


def test_anchors_are_rows_that_a_person_can_check() -> None:
    assert documented()["anchors"] == [
        {
            "row": 0,
            "codes": {"a": "0x00", "b": "0x80", "result": "0x00", "flags": "0x00"},
            "values": {"a": "0.0", "b": "-0.0", "result": "0.0"},
        },
        {
            "row": 3,
            "codes": {"a": "0x3B", "b": "0x41", "result": "0x46", "flags": "0x01"},
            "values": {"a": "1.375", "b": "2.25", "result": "3.5"},
        },
        {
            "row": 4,
            "codes": {"a": "0xFF", "b": "0x00", "result": "0xFF", "flags": "0x00"},
            "values": {"a": "nan", "b": "0.0", "result": "nan"},
        },
    ]
    assert metadata.Anchors(ADDF).rows() == []


@pytest.mark.parametrize(
    ("type_", "width", "code", "expected"),
    [
        ("i8", 8, 0x85, "-123 (133 unsigned)"), ("i8", 8, 5, "5"), ("f32", 32, 0xFF800000, "-inf"), ("f32", 32, 1, "1 * 2^-149"),
        ("f32", 32, 0x7F7FFFFF, "16777215 * 2^104"), ("f16", 16, 1, "1 * 2^-24"), ("f64", 64, 0x3FB999999999999A, "3602879701896397 * 2^-55"),
        ("f8E8M0FNU", 8, 0xFF, "nan"), ("!quant.uniform<i8:f32, 0.5>", 8, 0xFF, "-1 (255 unsigned)"), ("f32", 32, 0x4B800000, "16777216.0"),
    ],
)  # fmt: skip
def test_values_are_exact(type_: str, width: int, code: int, expected: str) -> None:
    assert metadata.value_text(Column("a", width, type_, Role.OPERAND), code) == expected


def test_documents_are_read_back_and_others_refused() -> None:
    document = documented()
    read_back = metadata.from_text(metadata.to_text(document))
    assert read_back == document
    assert metadata.columns_of(read_back) == ADDF
    assert metadata.packing_of(read_back) == CONTAINERS
    read_back["files"] = [metadata.File("bin", "x.bin", Packing(True, "high")).to_json()]
    assert metadata.packing_of(read_back, "x.bin") == Packing(True, "high")
    read_back["files"][0]["packing"] = {"dense": True, "first": "middle"}
    with pytest.raises(InputError, match="describes no packing"):
        metadata.packing_of(read_back)
    for text in (
        "",
        "[]",
        "{}",
        '{"schema_version": 2}',
        json.dumps({**document, "count": True}),
        json.dumps({**document, "columns": 1}),
    ):
        with pytest.raises(InputError, match="golden.json: "):
            metadata.from_text(text, "golden.json")
    with pytest.raises(InputError, match="does not describe a column"):
        metadata.columns_of({**document, "columns": [{}]})


# --- the document -----------------------------------------------------------------------------------------------------


def test_the_user_documentation_names_every_format_and_its_examples_hold() -> None:
    text = (ROOT / "docs" / "vector-files.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"`{name}`" in text
        assert f"`{format_named(name).suffix}`" in text
    examples = dict(re.findall(r"<!-- (\w+) -->\n\n```\w*\n(.*?)```", text, re.DOTALL))
    rows = [(0x3B, 0x41, 0x46, 1), (0x7E, 0x7E, 0x7F, 5)]
    assert examples["testfloat"] == text_of(ADDF, rows, "testfloat")
    assert examples["csv"] == text_of(ADDF, rows, "csv")
    assert examples["jsonl"] == text_of(ADDF, rows, "jsonl")
    assert examples["readmemh"] == text_of(FPTOSI, MARKED_ROWS, "readmemh")
    digest = Digest(ADDF)
    digest.update(chunk_of(ADDF, rows))
    assert digest.hexdigest() in text
