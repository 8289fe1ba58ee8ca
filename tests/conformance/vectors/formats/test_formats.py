"""Vectors in binary files, and tables of runs."""

import io
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import amounts, thinned
from hypothesis import given, settings
from hypothesis import strategies as st
from vector_files import (
    ADDER,
    ADDF,
    FPTOSI,
    MARKED,
    ROWWISE,
    SUMS,
    WIDE,
    chunk_of,
    ints_of,
    random_chunk,
    read,
    split,
    text_of,
    vector_sets,
    written,
)

from halfulp.conformance.vectors.columns import Chunk, Column, Role, VectorSet, columns_to_text, settled
from halfulp.conformance.vectors.formats import format as format_module
from halfulp.conformance.vectors.formats import format_named, format_of_file, npz, read_vectors, write_vectors
from halfulp.conformance.vectors.formats import text as texts
from halfulp.conformance.vectors.formats.format import Options
from halfulp.conformance.vectors.formats.text import BLOCK
from halfulp.conformance.vectors.packing import FORMAT_NAMES, Packing
from halfulp.fp_formats.formats import codes_to_ints
from halfulp.interp.ir.errors import InputError


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
        (data + b"0", "goes on after its last row"),
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
    """Return a file in which something was changed, left out or repeated."""
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


@pytest.mark.long
@pytest.mark.parametrize("name", FORMAT_NAMES)
@pytest.mark.parametrize("examples", amounts(15, 60))
def test_a_broken_file_is_read_or_refused_and_nothing_else(name: str, examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(data=st.data())
    def break_one(data: st.DataObject) -> None:
        columns = {"runs": (ADDF[0], ADDF[2]), "testfloat": ADDF, "mlir": ADDF[:3]}.get(name, WIDE)
        chunk = random_chunk(columns, data.draw(st.sampled_from([0, 1, 12])))
        if name == "runs":
            chunk = (np.arange(12, dtype=np.uint8), np.arange(12, dtype=np.uint8) // 5)
        file = io.BytesIO(broken(written(columns, [chunk], name), data.draw))
        given_columns = None if format_named(name).describes and data.draw(st.booleans()) else columns
        try:
            chunks = list(
                read_vectors(file, name, given_columns, Options(rows=data.draw(st.sampled_from([8, 1 << 16]))))
            )
        except InputError:
            return
        for column, codes in zip(columns, zip(*chunks, strict=True), strict=False):
            assert all(code >> column.width == 0 for part in codes for code in codes_to_ints(part, column.width))

    break_one()


UNARY = (Column("a", 16, "f16", Role.OPERAND), *FPTOSI[1:])


@pytest.mark.long
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
        ("10 07\nLAST 40\n30 01\n", "2 rows in a file that should have 1"),
        ("10 07\nLAST\n", "does not end with LAST"),
    ],
)
def test_tables_that_are_none_are_refused(text: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read(text, "runs", (ADDF[0], ADDF[2]))


def test_runs_need_one_operand_that_counts_up() -> None:
    with pytest.raises(InputError, match="needs exactly one operand"):
        written(ADDF, [], "runs")
    with pytest.raises(InputError, match="has no place for random"):
        written((ADDF[0], Column("random", 4, "i4", Role.RANDOM), ADDF[2]), [], "runs")
    columns = (ADDF[0], ADDF[2])
    for operands in ([1, 3], [1, 1], [255, 0], [2, 1]):
        chunk = chunk_of(columns, [(code, 0) for code in operands])
        for chunks in ([chunk], split(chunk, [1])):
            with pytest.raises(InputError, match=f"{operands[1]:X} comes after {operands[0]:X}"):
                written(columns, chunks, "runs")


# --- text formats -----------------------------------------------------------------------------------------------------
#
# Vectors as text: the written form, other spellings that are read, and the line of an error.


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
        ("38404400\n7E7EXX05\n", 2, "'result' has an X, but is neither poison nor unspecified there"),
        ("38404400\n7E7E7F20\n", 2, "'20' is not a code of 5 bits in hexadecimal, for 'flags'"),
        ("38404400\n\n@3\n", 3, "address 3, but the next address is 1"),
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


def test_endless_lines_without_a_row_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MOST_WITHOUT", 1 << 10)
    empty, row = "\n" * (1 << 10), "38 40 44 00\n"
    assert read(empty + row + empty + row + empty, "testfloat", ADDF) == read(row + row, "testfloat", ADDF)
    with pytest.raises(InputError, match=r":\d+:1: error: more than 1024 lines in succession without a row"):
        read(row + empty * 6, "testfloat", ADDF)


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


@pytest.mark.parametrize(("name", "row"), [("c", "    {0x7E"), ("sv", "    `HALFULP_ROW(32'h00000001")])
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


# --- every format -----------------------------------------------------------------------------------------------------
#
# Files of vectors: every format gives back what was written, and reports what it cannot hold.


@pytest.mark.added
@pytest.mark.parametrize("name", ROWWISE)
@settings(max_examples=8, deadline=None)
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


@pytest.mark.parametrize("name", [*ROWWISE, "mlir"])
@pytest.mark.parametrize("rows", [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK])
def test_the_borders_of_blocks_lose_nothing(name: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.Generator(np.random.PCG64(1))
    chunk: Chunk = (
        *(rng.integers(0, 256, rows).astype(np.uint8) for _ in range(3)),
        rng.integers(0, 32, rows).astype(np.uint8),
    )
    columns: tuple[Column, ...] = ADDF
    if name == "mlir":
        columns, chunk = columns[:3], chunk[:3]
    data = written(columns, [chunk], name)
    # Regular rows are read as blocks.
    slow, one_by_one = list[int](), texts._line_by_line

    def counted(*given: Any) -> Any:
        found = one_by_one(*given)
        slow.append(found[2])
        return found

    monkeypatch.setattr(texts, "_line_by_line", counted)
    assert read_vectors(io.BytesIO(data), name, columns).digest() == VectorSet(columns, [chunk]).digest()
    assert sum(slow) < 120


@pytest.mark.parametrize("name", FORMAT_NAMES)
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


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_a_closed_pipe_is_an_error_of_the_file_alone(name: str) -> None:
    class Closed(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            raise BrokenPipeError

    vectors = VectorSet((ADDF[0], ADDF[2]), [(np.arange(9, dtype=np.uint8),) * 2])
    with pytest.raises(BrokenPipeError):
        write_vectors(vectors, Closed(), name, options=Options(function=ADDER))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", thinned(FORMAT_NAMES, 3))
def test_memory_does_not_grow_with_the_number_of_vectors(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What some formats put aside stays in memory up to a bound.
    monkeypatch.setattr(format_module, "SPOOLED", 1 << 14)
    monkeypatch.setattr(npz, "COPIED", 1 << 14)
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
    assert peak(1 << 18) < peak(1 << 15) + (1 << 20)


@pytest.mark.added
def test_formats_are_known_by_name_and_by_the_end_of_a_file() -> None:
    for name in FORMAT_NAMES:
        assert format_named(name).name == name
        assert format_of_file(f"x{format_named(name).suffix}") == format_named(name), (
            f"another format, or `endings` of conformance/vectors/formats/__init__.py, has the ending of {name}"
        )
    assert format_of_file("x.mem") == format_named("readmemh")
    assert format_of_file("x.txt") is None
    with pytest.raises(
        InputError, match="unknown format 'readmem'; the formats are testfloat, .*\\nhint: did you mean `readmemh`"
    ):
        read_vectors(io.BytesIO(), "readmem")


@pytest.mark.parametrize("name", [name for name in FORMAT_NAMES if not format_named(name).describes])
def test_files_that_describe_nothing_need_columns(name: str) -> None:
    with pytest.raises(InputError, match=f"'{name}' does not describe its columns"):
        read_vectors(io.BytesIO(written(ADDF, [], name)), name)


@pytest.mark.parametrize("name", [name for name in ROWWISE if format_named(name).describes])
def test_a_file_with_other_columns_than_asked_for_is_refused(name: str) -> None:
    with pytest.raises(
        InputError, match="the file has the columns .*high_open.*, but the expected ones are a: f8E4M3FN"
    ):
        read_vectors(io.BytesIO(written(WIDE, [], name)), name, ADDF)


UNSAYABLE = [(1, 5, 0, 0), (2, 6, 1, 0), (3, 0xFFF, 0, 0xF0F), (4, 7, 0, 0)]


def test_poison_is_refused_dropped_or_made_canonical() -> None:
    chunks = split(chunk_of(FPTOSI, UNSAYABLE), [1])
    with pytest.raises(
        InputError, match="row 1: 'result' is poison, which the format 'testfloat' cannot express.*\n.*drop"
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
    with pytest.raises(ValueError, match="poison is 'x', but must be one of refuse, drop, canonical"):
        write_vectors(VectorSet(FPTOSI, []), io.BytesIO(), "testfloat", "x")  # type: ignore[arg-type]


def test_sets_without_such_rows_are_written_where_they_could_have_been() -> None:
    assert text_of(FPTOSI, [UNSAYABLE[0], UNSAYABLE[3]], "testfloat") == "0001 005\n0004 007\n"
