"""Vectors in binary files, and tables of runs."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
from amounts import amounts
from hypothesis import given, settings
from hypothesis import strategies as st
from vector_files import ADDF, FPTOSI, SUMS, WIDE, chunk_of, ints_of, random_chunk, read, split, vector_sets, written

from halfulp.conformance.vectors.columns import (
    Column,
    Role,
    VectorSet,
    settled,
)
from halfulp.conformance.vectors.formats import format_named, read_vectors
from halfulp.conformance.vectors.formats.format import Options
from halfulp.conformance.vectors.packing import (
    FORMAT_NAMES,
    Packing,
)
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
