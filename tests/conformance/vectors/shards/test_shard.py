"""Sweeps: shards that depend on the recipe and their index only, and the processes that compute them."""

import hashlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module
from io import BytesIO
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from amounts import amounts, thinned
from clusters import local_cluster
from command import PATIENCE
from vector_files import PINNED, RECIPES, add_f8, files_of, op

from halfulp.conformance.ops.jobs import process_pool
from halfulp.conformance.vectors import metadata
from halfulp.conformance.vectors.columns import Digest, VectorSet, columns_to_text, root_of
from halfulp.conformance.vectors.computation import ProgramComputation
from halfulp.conformance.vectors.formats import read_vectors, write_vectors
from halfulp.conformance.vectors.formats.format import Options
from halfulp.conformance.vectors.metadata import MERGED, METADATA
from halfulp.conformance.vectors.packing import NO_SHARDS, ONLY_DIGESTS
from halfulp.conformance.vectors.recipe import Recipe, recipe_of
from halfulp.conformance.vectors.shards import shard as sharding
from halfulp.conformance.vectors.shards.directory import LAYOUT, MOST_ROWS, SweepPlan, begin_layout, generator, recorded
from halfulp.conformance.vectors.shards.shard import make_shard, rows_by_time, sweep_shards
from halfulp.conformance.vectors.stimulus.mixture import Mixture
from halfulp.interp.ir.errors import InputError

# --- sizing -----------------------------------------------------------------------------------------------------------
#
# The size of shards: by time, by the user, or as the sweep in the directory has it; the digest is the same.

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


# --- whole ------------------------------------------------------------------------------------------------------------
#
# The whole of a sweep: its metadata, and tables of runs merged across shards.


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


# --- sweep ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PINNED)
def test_a_shard_is_the_same_on_any_machine(name: str, tmp_path: Path) -> None:
    index, digest = PINNED[name]
    entry = make_shard(SweepPlan(RECIPES[name], "npy", shard_rows=1, leaf_rows=10_000), tmp_path, "0-of-1", index).entry
    assert entry.sha256 == digest
    assert files_of(tmp_path) == [entry.file]


def test_a_shard_by_other_means() -> None:
    """Shard 5 of the random integers: Philox's words from the first one on, sums, and the digest as documented."""
    rows = slice(50_000, 60_000)
    a, b = (np.random.Philox(key=7 | 4 * place << 64).random_raw(30_000).view("<u4")[rows] for place in (0, 1))
    columns = [
        {"name": name, "width": 32, "type": "i32", "role": role}
        for name, role in (("a", "operand"), ("b", "operand"), ("result", "result"))
    ]
    hashes = [hashlib.sha256(codes.tobytes()).hexdigest() for codes in (a, b, a + b)]
    text = "\n".join([json.dumps(columns), "10000", *hashes])
    assert hashlib.sha256(text.encode()).hexdigest() == PINNED["random integers"][1]


def test_the_digest_of_a_sweep_is_that_of_its_shards(whole: tuple[str, Path]) -> None:
    digest, directory = whole
    lines = (directory / "manifest-0-of-1.jsonl").read_text().splitlines()
    entries = sorted(map(json.loads, lines), key=lambda entry: entry["index"])
    level = [entry["sha256"] for entry in entries]
    assert len(level) == 16
    while len(level) > 1:
        level = [hashlib.sha256(f"{level[k]}\n{level[k + 1]}".encode()).hexdigest() for k in range(0, len(level), 2)]
    assert level == [digest]


@pytest.mark.parametrize(
    "format", thinned(["testfloat", "readmemh", "npz", "npy", "bin", "c", "sv", "coe", "csv", "jsonl"], 3)
)
def test_every_format_holds_the_shards(format: str, tmp_path: Path, whole: tuple[str, Path]) -> None:
    plan = SweepPlan(add_f8().recipe, format, shard_rows=1 << 14, leaf_rows=1 << 14)
    sweep_shards(plan, tmp_path)
    digest = Digest(plan.columns)
    data = metadata.from_text((tmp_path / METADATA).read_bytes())
    for entry in data["shards"]:
        raw = (tmp_path / entry["file"]).read_bytes()
        assert hashlib.sha256(raw).hexdigest() == entry["file_sha256"]
        assert entry["file_sha256"][:32] in entry["file"]
        for chunk in read_vectors(BytesIO(raw), format, plan.columns, Options(count=entry["count"])):
            digest.update(chunk)
    assert digest.hexdigest() == plan.recipe.vectors().digest()


def test_a_sweep_that_keeps_only_digests(tmp_path: Path) -> None:
    plan = SweepPlan(add_f8().recipe, ONLY_DIGESTS, shard_rows=1 << 14, leaf_rows=1 << 14)
    found = sweep_shards(plan, tmp_path)
    of_files = sweep_shards(replace(plan, format="npz"), tmp_path / "files")
    assert (found.digest, found.rows) == (of_files.digest, of_files.rows)
    assert sweep_shards(plan, tmp_path).kept == found.of
    shards = sorted(tmp_path.glob("*.digest"))
    assert len(shards) == found.of
    assert not any(path.stat().st_size for path in shards)
    with pytest.raises(InputError, match="kept only digests"):
        read_vectors(BytesIO(), ONLY_DIGESTS)


def test_the_formats_without_shards() -> None:
    for format in NO_SHARDS:
        with pytest.raises(InputError, match=f"cannot be written in the format '{format}'"):
            add_f8(format=format)


def test_what_a_format_has_no_place_for_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="no place for random"):
        SweepPlan(RECIPES["stochastic"], "runs")
    with pytest.raises(InputError, match="one operand"):
        add_f8(format="runs")


@pytest.mark.long
@pytest.mark.parametrize("workers", amounts(2, 7, long=3))
def test_a_pool(workers: int, tmp_path: Path, whole: tuple[str, Path]) -> None:
    with process_pool(workers) as pool:
        found = sweep_shards(add_f8(), tmp_path, executor=pool, in_flight=workers + 2)
    assert found.digest == whole[0]
    assert set(files_of(tmp_path)) == set(files_of(whole[1]))
    assert (tmp_path / METADATA).read_bytes() == (whole[1] / METADATA).read_bytes()


def test_threads_and_never_more_in_flight_than_asked(tmp_path: Path, whole: tuple[str, Path]) -> None:
    asked_for: list[Any] = []
    most = 0

    class Counting(ThreadPoolExecutor):
        def submit(self, *asked: Any, **options: Any) -> Any:
            nonlocal most
            asked_for.append(super().submit(*asked, **options))
            most = max(most, sum(not future.done() for future in asked_for))
            return asked_for[-1]

    told: list[tuple[int, int]] = []
    with Counting(3) as executor:
        found = sweep_shards(
            add_f8(), tmp_path, executor=executor, in_flight=3, progress=lambda done, total: told.append((done, total))
        )
    assert found.digest == whole[0]
    assert len(asked_for) == 16
    assert most <= 3
    assert told == [(k << 12, 1 << 16) for k in range(1, 17)]


@pytest.mark.dask
def test_dask(tmp_path: Path, whole: tuple[str, Path]) -> None:
    with (
        local_cluster(workers=2, threads=1) as cluster,
        import_module("distributed").Client(cluster.scheduler_address, set_as_default=False) as client,
    ):
        found = sweep_shards(add_f8(), tmp_path, executor=client.get_executor(pure=False), in_flight=4)
        assert found.digest == whole[0]
        assert (tmp_path / METADATA).read_bytes() == (whole[1] / METADATA).read_bytes()
        again = sweep_shards(add_f8(), tmp_path, executor=client.get_executor(pure=False), in_flight=4)
        assert (again.kept, again.digest) == (16, whole[0])


def test_parts_share_a_directory_and_the_last_one_finishes(tmp_path: Path, whole: tuple[str, Path]) -> None:
    for place in (2, 0):
        found = sweep_shards(add_f8(), tmp_path, (place, 3))
        assert found.digest is None
        assert not (tmp_path / METADATA).exists()
    assert found.done == 11
    assert sweep_shards(add_f8(), tmp_path, (1, 3)).digest == whole[0]
    assert (tmp_path / METADATA).read_bytes() == (whole[1] / METADATA).read_bytes()
    # In other parts, or in one: nothing is made again.
    assert sweep_shards(add_f8(), tmp_path, (0, 2)).kept == 8
    assert sweep_shards(add_f8(), tmp_path).kept == 16


@pytest.mark.parametrize("part", [(-1, 4), (4, 4), (0, 0)])
def test_parts_that_are_none(part: tuple[int, int], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="parts are counted from 0"):
        sweep_shards(add_f8(), tmp_path, part)


def test_progress_within_a_shard(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    plan = SweepPlan(Recipe(op("addi", "i16"), "random", count=1 << 20), "bin", shard_rows=1 << 19, leaf_rows=1 << 18)
    sweep_shards(plan, tmp_path, progress=lambda done, total: told.append((done, total)))
    assert {total for _, total in told} == {1 << 20}
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert {1 << 18, 1 << 19, 3 << 18, 1 << 20} <= {done for done, _ in told}


@pytest.mark.long
def test_a_worker_that_is_killed(tmp_path: Path, whole: tuple[str, Path]) -> None:
    def kill(done: int, total: int) -> None:
        for process in active_children():
            process.kill()  # once more, perhaps: what was done before is told of afterwards

    with process_pool(2) as pool, pytest.raises(InputError, match="ended from outside") as caught:
        sweep_shards(add_f8(), tmp_path, executor=pool, in_flight=3, progress=kill)
    assert "finished shards are kept" in str(caught.value)
    found = sweep_shards(add_f8(), tmp_path)
    assert found.digest == whole[0]
    assert found.kept >= 1


@pytest.mark.dask
def test_a_finished_sweep_leaves_no_file_of_a_worker_that_was_killed(tmp_path: Path) -> None:
    """Dask makes the shard of a killed worker by another one, so nothing fails."""
    plan = SweepPlan(Recipe(op("remf", "f64"), "random", seed=1, count=1 << 19), "bin", shard_rows=1, leaf_rows=1 << 17)
    with (
        local_cluster(workers=1, threads=1) as cluster,
        import_module("distributed").Client(cluster.scheduler_address, set_as_default=False) as client,
        ThreadPoolExecutor(1) as thread,
    ):
        executor = client.get_executor(pure=False)
        (worker,) = client.run(os.getpid).values()
        sweeping = thread.submit(sweep_shards, plan, tmp_path, executor=executor, in_flight=1)
        deadline = time.monotonic() + PATIENCE
        while not (left := list(tmp_path.glob(".0-of-1.[0-3].*.tmp"))):
            assert time.monotonic() < deadline
            time.sleep(0.001)
        os.kill(worker, signal.SIGKILL)
        found = sweeping.result()
    assert left
    assert (found.done, found.rows) == (4, 1 << 19)
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.long
def test_interrupts_do_not_reach_workers_that_just_begin() -> None:
    with process_pool(1) as pool:
        found = pool.submit(pow, 2, 3)
        for process in active_children():
            assert process.pid is not None
            os.kill(process.pid, signal.SIGINT)
        assert found.result() == 8


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_waits_until_a_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the half-started process would print that it got no instructions."""
    started = []

    def interrupted(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        started.append(True)

    monkeypatch.setattr(ProcessPoolExecutor, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt), process_pool(1) as pool:
        pool.submit(pow, 2, 3)
    assert started
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_of_a_worker_keeps_what_others_have_made(tmp_path: Path) -> None:
    """Poison rows come from the middle on. Running shards are kept, and no further one is started."""
    recipe = Recipe(op("fptosi", "bf16", "i8"), "exhaustive")
    plan = SweepPlan(recipe, "testfloat", shard_rows=1 << 10, leaf_rows=1 << 10)
    with (
        ThreadPoolExecutor(2) as executor,
        pytest.raises(InputError, match=r"shard 16 \(rows 16384 to 17407\): row 768"),
    ):
        sweep_shards(plan, tmp_path, executor=executor, in_flight=2)
    assert {path.suffix for path in tmp_path.iterdir()} == {".tv", ".json", ".jsonl"}
    known = recorded(tmp_path, plan)
    assert set(range(16)) <= known.keys() <= set(range(18))
    assert {entry.file for entry in known.values()} == {name for name in files_of(tmp_path) if name.endswith(".tv")}


def test_a_worker_of_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions: Iterator[tuple[str, int]] = iter([("0", 0)])
    real = generator

    class Elsewhere(ThreadPoolExecutor):
        def submit(self, fn: Callable[..., Any], /, *given: Any, **named: Any) -> Any:
            return super().submit(fn, next(versions, real()), *given[1:], **named)

    with Elsewhere(1) as executor, pytest.raises(InputError, match="a worker has halfulp"):
        sweep_shards(add_f8(), tmp_path, executor=executor)


def test_a_worker_that_sees_another_directory(tmp_path: Path) -> None:
    class Elsewhere(ThreadPoolExecutor):
        def submit(self, fn: Callable[..., Any], /, *given: Any, **named: Any) -> Any:
            made_by, plan, directory, *rest = given
            other = Path(directory).with_name("other")
            other.mkdir(exist_ok=True)
            return super().submit(fn, made_by, plan, str(other), *rest, **named)

    with Elsewhere(1) as executor, pytest.raises(InputError, match=r"is not in '.*' here") as caught:
        sweep_shards(add_f8(), tmp_path / "here", executor=executor, in_flight=1)
    assert "all workers must see the directory" in str(caught.value)
