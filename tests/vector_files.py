"""Columns, random rows and written files, for the tests of vectors."""

import contextlib
import io
import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import numpy as np
from hypothesis import strategies as st

from halfulp.command.main import main
from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors import metadata
from halfulp.conformance.vectors.columns import Chunk, Column, Role, VectorSet
from halfulp.conformance.vectors.computation import OpComputation
from halfulp.conformance.vectors.formats import format_named, read_vectors, write_vectors
from halfulp.conformance.vectors.formats.format import EVERY_ROLE, Options
from halfulp.conformance.vectors.packing import FORMAT_NAMES
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.shards.directory import SweepPlan
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


# --- vector sets ------------------------------------------------------------------------------------------------------
#
# Sets of vectors that tests make with the command line, in the process of the test.

VECTOR_SETS_ADDF = ("vectors", "make", "arith.addf", "--type", "f8E4M3FN")
"""The arguments of a small set."""


class Ran(NamedTuple):
    """The exit code of a command, and its output."""

    code: int
    out: str
    err: str


def run(*arguments: str, cwd: Path | None = None) -> Ran:
    """Run ``halfulp`` with these arguments in this process, which is quicker than in one of its own."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.chdir(cwd or Path.cwd()):
        code = main(arguments)
    out.flush()
    return Ran(code, out.buffer.getvalue().decode(), err.getvalue())


def made(folder: Path, *arguments: str) -> dict[str, Any]:
    """Return the metadata of a set that the command makes in a folder; it must be valid, and each file hold the set."""
    done = run(*arguments, "--out", str(folder))
    assert done.code == 0, done.err
    (path,) = folder.glob("*.json")
    document = metadata.from_text(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(metadata.schema()).validate(document)
    assert {file.name for file in folder.iterdir()} == {path.name, *(file["name"] for file in document["files"])}
    for file in document["files"]:
        assert digest(folder / file["name"], document) == document["sha256"], file
    return document


def digest(path: Path, document: metadata.Document) -> str:
    """Return the digest of what a file of a set holds."""
    format = next(file["format"] for file in document["files"] if file["name"] == path.name)
    with path.open("rb") as file:
        columns, options = metadata.columns_of(document), metadata.options_of(document, path.name)
        return read_vectors(file, format, columns, options).digest()


def edited(path: Path, change: Callable[[dict[str, Any]], object], name: str) -> str:
    """Return a copy of a metadata file, with a change that stands for one between versions."""
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    (path.parent / name).write_text(json.dumps(data), encoding="utf-8")
    return str(path.parent / name)


def changed(*arguments: str) -> Ran:
    return run("vectors", "make", "--changed", *arguments)


# --- sweeps -----------------------------------------------------------------------------------------------------------
#
# Sweeps in shards, for the tests of them.

PER_CHANNEL = "!quant.uniform<i8:f32:1, {0.5:3, 0.25, 2.0:-100}>"


def op(name: str, types: str | list[str], to: str | None = None, flags: bool = False, **more: Any) -> OpComputation:
    return OpComputation(op_case(f"arith.{name}" if "." not in name else name, types, to), flags=flags, **more)


def add_f8(**changed: Any) -> SweepPlan:
    """Return all pairs of f8E4M3FN in 16 shards."""
    options = {"format": "npz", "shard_rows": 1 << 12, "leaf_rows": 1 << 12, **changed}
    return SweepPlan(Recipe(op("addf", "f8E4M3FN"), "exhaustive"), **options)


def files_of(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


RECIPES = {
    "random": Recipe(op("mulf", "f16"), "random", seed=7, count=1 << 20),
    "random integers": Recipe(op("addi", "i32"), "random", seed=7, count=1 << 20),
    "weighted": Recipe(op("divf", "f32", flags=True), "weighted", seed=1, count=1 << 20),
    "level 1": Recipe(op("addf", "bf16", flags=True), "1"),
    "quantised per channel": Recipe(op("quant.qcast", "f32", PER_CHANNEL), "random", seed=3, count=300_000),
    "stochastic": Recipe(op("truncf", "f32", "f8E4M3FN", flags=True, random_bits=12), "random", seed=5, count=1 << 18),
}


# The digest of one shard of 10,000 rows (per channel: the whole periods in these), computed once.
PINNED = {
    "random": (5, "82e07283b1be2c721d1b91940af265ae1b3a20f1d916d9c7f04c83adf29b96cf"),
    "random integers": (5, "903d070a13384cb8dad2ff3dd37e9c950846a269161a05c5db4ed36b41d1bc28"),
    "weighted": (5, "0e35739dd28848e92322e8da0935dd03c141c24bc9a5730ba920fac3fd011d39"),
    "level 1": (4, "526a9ad43159f906687d897aef302e7490282b375096f65ef20288dfb1d81e00"),
    "quantised per channel": (5, "8ce471635b655881c313b3405f80c48cf5e64bd4a5806fceeafb85a80808a644"),
    "stochastic": (5, "54de3b7e0a0709f47dc4aa827e1a6b1565bcf322f756e3e33c7954d959200bbb"),
}
