"""The size of shards: by time, by the user, or as the sweep in the directory has it; the digest is the same."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from sweeps import add_f8, op

from halfulp.conformance.vectors import metadata
from halfulp.conformance.vectors.columns import VectorSet, root_of
from halfulp.conformance.vectors.formats import read_vectors
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.shards import shard as sharding
from halfulp.conformance.vectors.shards.directory import LAYOUT, MOST_ROWS, SweepPlan, begin_layout
from halfulp.conformance.vectors.shards.shard import rows_by_time, sweep_shards
from halfulp.interp.ir.errors import InputError

LEFT_OUT = Recipe(op("divsi", "i8"), "exhaustive")
"""Rows that divide by zero are left out, so that leaves have different numbers of rows."""


def document_of(directory: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((directory / "metadata.json").read_text())
    return data


@pytest.mark.parametrize("recipe", [add_f8().recipe, LEFT_OUT], ids=["whole", "left out"])
def test_the_digest_does_not_depend_on_the_size_of_shards(recipe: Recipe, tmp_path: Path) -> None:
    leaves = [recipe.vectors(start, start + (1 << 12)).digest() for start in range(0, 1 << 16, 1 << 12)]
    for shard_rows in (1, 1 << 13, 50_000, 1 << 40):
        where = tmp_path / str(shard_rows)
        found = sweep_shards(SweepPlan(recipe, "npy", shard_rows=shard_rows, leaf_rows=1 << 12), where)
        assert found.digest == root_of(leaves)
        assert found.of == {1: 16, 1 << 13: 8}.get(shard_rows, 1)


def test_a_shard_has_the_digest_of_its_leaves(tmp_path: Path) -> None:
    """Also where rows were left out of a leaf: its metadata says how many rows each has."""
    sweep_shards(SweepPlan(LEFT_OUT, "npy", shard_rows=1 << 14, leaf_rows=1 << 12), tmp_path)
    data = document_of(tmp_path)
    assert sum(count for shard in data["shards"] for count in shard["leaves"]) == data["count"] < 1 << 16
    for number, shard in enumerate(data["shards"]):
        own = metadata.of_file(data, shard["file"])
        starts = range(number << 14, number + 1 << 14, 1 << 12)
        leaves = [LEFT_OUT.vectors(start, start + (1 << 12)).gather() for start in starts]
        assert list(metadata.leaves_of(own)) == shard["leaves"] == [len(leaf[0]) for leaf in leaves]
        assert shard["sha256"] == root_of(VectorSet(LEFT_OUT.columns, [leaf]).digest() for leaf in leaves)
        with (tmp_path / shard["file"]).open("rb") as file:
            vectors = read_vectors(file, "npy", metadata.columns_of(own), metadata.options_of(own))
            assert sum(len(chunk[0]) for chunk in vectors) == shard["count"]


def test_metadata_that_does_not_describe_its_leaves() -> None:
    shards: list[Any] = [None, {"rows": [0]}, {"rows": ["a", 4]}, []]
    for shard in shards:
        with pytest.raises(InputError, match="which rows its shard has"):
            metadata.leaves_of({"leaf_rows": 4, "shard": shard})
    with pytest.raises(InputError, match="which rows its shard has"):
        metadata.leaves_of({"leaf_rows": 0, "shard": {"rows": [0, 8]}})


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Let each row take 10 microseconds; return the rows that are measured."""
    measured: list[tuple[int, int]] = []

    def written(plan: SweepPlan, start: int, stop: int) -> float:
        measured.append((start, stop))
        return (stop - start) * 1e-5

    monkeypatch.setattr(sharding, "_written", written)
    return measured


def random(count: int, **more: Any) -> SweepPlan:
    return SweepPlan(Recipe(op("addf", "f32"), "random", count=count), "bin", leaf_rows=1 << 14, **more)


@pytest.mark.parametrize(
    ("count", "processes", "shard_rows"),
    [
        (1 << 14, 8, 1 << 14),  # one leaf
        (1 << 18, 1, 1 << 16),  # 2.6 s in all: shards of half a second or more
        (1 << 24, 2, 1 << 19),  # 168 s in all: shards of 10 s at most
        (1 << 24, 64, 1 << 16),  # four for each process
        (1 << 24, 10_000, 1 << 16),  # but not for a moment's work
        (1 << 40, 8, 1 << 19),
    ],
)
def test_shards_by_time(count: int, processes: int, shard_rows: int, slow: list[tuple[int, int]]) -> None:
    assert rows_by_time(random(count), processes) == shard_rows
    assert all(0 <= start < stop <= count for start, stop in slow)
    assert sum(stop - start for start, stop in slow) <= 1 << 16


def test_quick_rows_make_no_more_than_a_file_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharding, "_written", lambda plan, start, stop: 1e-9 * (stop - start))
    assert rows_by_time(random(1 << 40), 1) == MOST_ROWS


def test_rows_that_fail_are_not_measured() -> None:
    """They fail when their shard is made, and then the error says which one."""
    recipe = Recipe(op("fptosi", "f32", "i8"), "random", count=1 << 20)
    assert rows_by_time(SweepPlan(recipe, "testfloat", leaf_rows=1 << 12), 2) == MOST_ROWS


def test_a_sweep_that_goes_on_keeps_its_shards(tmp_path: Path, slow: list[tuple[int, int]]) -> None:
    plan = random(1 << 17)
    assert sweep_shards(plan, tmp_path, (0, 2)).of == 2
    assert len(slow) > 0
    slow.clear()
    found = sweep_shards(plan, tmp_path, (1, 2), shard_rows=1 << 14)
    assert (found.of, found.missing, slow) == (2, (), [])
    with pytest.raises(InputError, match="its 'shard_rows' is 65536, not 16384"):
        sweep_shards(random(1 << 17, shard_rows=1 << 14), tmp_path)
    assert sweep_shards(random(1 << 17, shard_rows=1 << 16), tmp_path).kept == 2


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_tasks_that_begin_together_agree(links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one measures, another is quicker. Where the file system has no links, all write the same layout."""

    def no_links(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    if not links:
        monkeypatch.setattr(os, "link", no_links)
    plan, sizes = random(1 << 20), []

    def measured() -> int:
        sizes.append(begin_layout(tmp_path, "1-of-2", plan, lambda: 1 << 15).size)
        return 1 << 17

    sizes.append(begin_layout(tmp_path, "0-of-2", plan, measured).size)
    assert sizes == ([1 << 15] * 2 if links else [1 << 20] * 2)
    assert json.loads((tmp_path / LAYOUT).read_text())["shard_rows"] == sizes[0]
    assert [path.name for path in tmp_path.iterdir()] == [LAYOUT]
