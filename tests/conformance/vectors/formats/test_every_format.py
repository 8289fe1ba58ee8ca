"""Files of vectors: every format gives back what was written, and reports what it cannot hold."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vector_files import ADDER, ADDF, FPTOSI, MARKED, ROWWISE, WIDE, chunk_of, split, text_of, vector_sets, written

from halfulp.conformance.vectors.columns import (
    Chunk,
    Column,
    Role,
    VectorSet,
)
from halfulp.conformance.vectors.formats import format as format_module
from halfulp.conformance.vectors.formats import format_named, format_of_file, npz, read_vectors, write_vectors
from halfulp.conformance.vectors.formats.format import Options
from halfulp.conformance.vectors.formats.text import BLOCK
from halfulp.conformance.vectors.packing import FORMAT_NAMES
from halfulp.interp.ir.errors import InputError


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


@pytest.mark.parametrize("name", FORMAT_NAMES)
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


def test_formats_are_known_by_name_and_by_the_end_of_a_file() -> None:
    for name in FORMAT_NAMES:
        assert format_named(name).name == name
        assert format_of_file(f"x{format_named(name).suffix}") == format_named(name)
    assert len({format_named(name).suffix for name in FORMAT_NAMES}) == len(FORMAT_NAMES)
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
