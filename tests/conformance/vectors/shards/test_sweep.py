"""Sweeps: shards that depend on the recipe and their index only, and the processes that compute them."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib import import_module
from io import BytesIO
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amounts import amounts
from clusters import local_cluster
from command import PATIENCE
from sweeps import PINNED, RECIPES, add_f8, files_of, op

from halfulp.conformance.ops.jobs import process_pool
from halfulp.conformance.vectors import metadata
from halfulp.conformance.vectors.columns import Digest
from halfulp.conformance.vectors.formats import read_vectors
from halfulp.conformance.vectors.formats.format import Options
from halfulp.conformance.vectors.metadata import METADATA
from halfulp.conformance.vectors.packing import NO_SHARDS
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.shards.directory import SweepPlan, generator, recorded
from halfulp.conformance.vectors.shards.shard import make_shard, sweep_shards
from halfulp.interp.ir.errors import InputError


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


@pytest.mark.parametrize("format", ["testfloat", "readmemh", "npz", "npy", "bin", "c", "sv", "coe", "csv", "jsonl"])
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


def test_the_formats_without_shards() -> None:
    for format in NO_SHARDS:
        with pytest.raises(InputError, match=f"cannot be written in the format '{format}'"):
            add_f8(format=format)


def test_what_a_format_has_no_place_for_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="no place for random"):
        SweepPlan(RECIPES["stochastic"], "runs")
    with pytest.raises(InputError, match="one operand"):
        add_f8(format="runs")


@pytest.mark.parametrize("workers", [2, *amounts(3, 7)])
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


def test_a_worker_that_is_killed(tmp_path: Path, whole: tuple[str, Path]) -> None:
    def kill(done: int, total: int) -> None:
        for process in active_children():
            process.kill()  # once more, perhaps: what was done before is told of afterwards

    with process_pool(2) as pool, pytest.raises(InputError, match="ended from outside") as caught:
        sweep_shards(add_f8(), tmp_path, executor=pool, in_flight=3, progress=kill)
    assert "what was finished is kept" in str(caught.value)
    found = sweep_shards(add_f8(), tmp_path)
    assert found.digest == whole[0]
    assert found.kept >= 1


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

    with Elsewhere(1) as executor, pytest.raises(InputError, match="a worker has version"):
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
