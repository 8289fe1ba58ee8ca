"""The whole of a sweep: its metadata, and tables of runs merged across shards."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from sweeps import add_f8, op

from halfulp.conformance.ops.jobs import process_pool
from halfulp.conformance.vectors import metadata
from halfulp.conformance.vectors.columns import columns_to_text
from halfulp.conformance.vectors.computation import ProgramComputation
from halfulp.conformance.vectors.formats import read_vectors, write_vectors
from halfulp.conformance.vectors.metadata import MERGED, METADATA
from halfulp.conformance.vectors.recipe import Recipe, recipe_of
from halfulp.conformance.vectors.shards.directory import SweepPlan
from halfulp.conformance.vectors.shards.shard import sweep_shards
from halfulp.conformance.vectors.stimulus.mixture import Mixture
from halfulp.interp.ir.errors import InputError


@pytest.mark.parametrize("shard_rows", [1000, 1 << 12, 1 << 20])
def test_runs_are_merged_across_shards(shard_rows: int, tmp_path: Path) -> None:
    recipe = Recipe(op("truncf", "bf16", "f8E4M3FN"), "exhaustive")
    found = sweep_shards(SweepPlan(recipe, "runs", shard_rows=shard_rows, leaf_rows=shard_rows), tmp_path)
    at_once = BytesIO()
    write_vectors(recipe.vectors(), at_once, "runs")
    assert (tmp_path / MERGED).read_bytes() == at_once.getvalue()
    assert found.runs == len(at_once.getvalue().splitlines()) - 2
    assert metadata.from_text((tmp_path / METADATA).read_bytes())["files"] == [{"format": "runs", "name": MERGED}]


def test_a_row_left_out_between_shards_is_no_table(tmp_path: Path) -> None:
    """The first row of the second shard has undefined behaviour; neither shard alone can know."""
    text = """
    func.func @f(%a: i8) -> i8 {
      %c = arith.constant 16 : i8
      %d = arith.subi %a, %c : i8
      %r = arith.divui %a, %d : i8
      return %r : i8
    }"""
    plan = SweepPlan(Recipe(ProgramComputation(text, "f"), "exhaustive"), "runs", shard_rows=16, leaf_rows=16)
    with pytest.raises(InputError, match="but 11 comes after F"):
        sweep_shards(plan, tmp_path)


def rows_of(directory: Path) -> list[np.ndarray[Any, Any]]:
    """The columns of a sweep in npz, read from the files of its shards in their order."""
    shards = json.loads((directory / METADATA).read_text())["shards"]
    archives = [np.load(directory / shard["file"]) for shard in shards]
    assert [shard["count"] for shard in shards] == [len(archive["result"]) for archive in archives]
    return [np.concatenate([archive[name] for archive in archives]) for name in ("a", "b", "result", "flags")]


MIXTURES = (
    "a={0}/a.npy;b={0}/b.npz:array=w,sample@50,normal:block=7,spread=3@30,corners@15,B3@5",
    "a={0}/a.npy:hold=3;b={0}/b.npz:array=w,sample",
    "a=weighted;b={0}/a.npy@70,models:each=3@30",
)


@pytest.mark.long
def test_shards_of_own_operands_are_parts_of_the_whole(tmp_path: Path) -> None:
    """In processes of their own, and where no shard begins at a turn of the mixture."""
    numbers = np.random.default_rng(4).integers(0, 1 << 16, (2, 8001), np.uint16)
    np.save(tmp_path / "a.npy", numbers[0])
    np.savez(tmp_path / "b.npz", w=numbers[1])
    with process_pool(2) as pool:
        for number, mixture in enumerate(MIXTURES):
            operands = Mixture.named(mixture.format(tmp_path))
            recipe = Recipe(op("mulf", "f16", flags=True), None, seed=3, count=20_003, operands=operands)
            several, one = (tmp_path / f"{name} {number}" for name in ("several", "one"))
            found = sweep_shards(SweepPlan(recipe, "npz", shard_rows=2474, leaf_rows=1237), several, executor=pool)
            alone = sweep_shards(SweepPlan(recipe, "npz", shard_rows=1 << 40, leaf_rows=1237), one)
            assert (found.rows, found.of, found.digest) == (20_003, 9, alone.digest)
            assert alone.of == 1
            for part, whole in zip(rows_of(several), rows_of(one), strict=True):
                assert np.array_equal(part, whole)
            if ":hold" in mixture:
                assert np.array_equal(rows_of(several)[0], np.repeat(numbers[0], 3)[:20_003])


@pytest.mark.exhaustive
def test_all_of_f32_to_f8_are_256_runs(tmp_path: Path) -> None:
    found = sweep_shards(SweepPlan(Recipe(op("truncf", "f32", "f8E4M3FN"), "exhaustive"), "runs"), tmp_path)
    assert (found.rows, found.runs) == (1 << 32, 256)
    assert found.digest == "6ede88e507b8d6ae26add6e52e49597ab07df10b90ab3407485110856c812733"


def test_the_metadata_fits_its_schema_and_makes_the_sweep_again(whole: tuple[str, Path], tmp_path: Path) -> None:
    digest, directory = whole
    data = json.loads((directory / METADATA).read_text())
    jsonschema.Draft202012Validator.check_schema(metadata.schema())
    check = jsonschema.Draft202012Validator(metadata.schema()).validate
    check(data)
    assert (data["sha256"], data["count"], len(data["shards"])) == (digest, 1 << 16, 16)
    assert [file["name"] for file in data["files"]] == [shard["file"] for shard in data["shards"]]
    plan = SweepPlan(recipe_of(data), shard_rows=1 << 12, leaf_rows=1 << 12)
    assert sweep_shards(plan, tmp_path).digest == digest


def test_the_metadata_of_one_shard(whole: tuple[str, Path]) -> None:
    data = json.loads((whole[1] / METADATA).read_text())
    name = data["shards"][3]["file"]
    own = metadata.of_file(data, name)
    jsonschema.Draft202012Validator(metadata.schema()).validate(own)
    assert own["shard"] == {"index": 3, "of": 16, "rows": [3 << 12, 4 << 12]}
    with (whole[1] / name).open("rb") as file:
        vectors = read_vectors(file, "npz", metadata.columns_of(own), metadata.options_of(own, name))
        assert vectors.digest() == own["sha256"]
    assert metadata.of_file(data, "another") is data


@pytest.mark.long
@pytest.mark.parametrize("shard_rows", [100, 1000, 1 << 20])
def test_anchors_are_rows_of_the_whole(shard_rows: int, tmp_path: Path) -> None:
    """Rows are left out here, so that a row's place is not its operands."""
    plan = SweepPlan(Recipe(op("divsi", "i8"), "exhaustive"), "csv", shard_rows=shard_rows, leaf_rows=shard_rows)
    sweep_shards(plan, tmp_path)
    data = metadata.from_text((tmp_path / METADATA).read_bytes())
    jsonschema.Draft202012Validator(metadata.schema()).validate(data)
    chunk = plan.recipe.vectors().gather()
    assert data["count"] == len(chunk[0]) == (1 << 16) - data["undefined"]
    assert data["undefined"] == 256 + 1  # by zero, and -128 / -1
    assert [anchor["row"] for anchor in data["anchors"]][:: len(data["anchors"]) - 1] == [0, data["count"] - 1]
    for anchor in data["anchors"]:
        row = {column.name: int(codes[anchor["row"]]) for column, codes in zip(plan.columns, chunk, strict=True)}
        assert {name: int(code, 16) for name, code in anchor["codes"].items()} == row


def test_rows_that_are_dropped_are_counted(tmp_path: Path) -> None:
    plan = SweepPlan(
        Recipe(op("fptosi", "f16", "i8"), "exhaustive"), "testfloat", "drop", shard_rows=1 << 14, leaf_rows=1 << 14
    )
    found = sweep_shards(plan, tmp_path)
    data = metadata.from_text((tmp_path / METADATA).read_bytes())
    poison = plan.recipe.vectors().gather()[-1]
    assert data["dropped"] == int(poison.sum()) > 0
    assert found.rows == data["count"] == (1 << 16) - data["dropped"]


def test_columns_are_described_as_in_the_digest(whole: tuple[str, Path]) -> None:
    data = json.loads((whole[1] / METADATA).read_text())
    assert columns_to_text(add_f8().columns) == json.dumps(
        [{key: column[key] for key in ("name", "width", "type", "role")} for column in data["columns"]]
    )
