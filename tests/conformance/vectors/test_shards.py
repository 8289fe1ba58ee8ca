"""Sweeps: shards that depend on the recipe and their index alone, kills, damage, full disks, and who computes."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module
from io import BytesIO
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from clusters import local_cluster

from halfulp.conformance.comparing.op_case import task
from halfulp.conformance.ops.workers import process_pool
from halfulp.conformance.vectors import metadata, shards
from halfulp.conformance.vectors.columns import Digest, VectorSet, columns_to_text
from halfulp.conformance.vectors.computation import OpSubject, ProgramSubject
from halfulp.conformance.vectors.formats import read_vectors, write_vectors
from halfulp.conformance.vectors.formats.format import Options
from halfulp.conformance.vectors.metadata import MERGED, METADATA
from halfulp.conformance.vectors.recipe import Recipe, recipe_of
from halfulp.conformance.vectors.shards import (
    LAYOUT,
    NO_SHARDS,
    Entry,
    Manifest,
    Plan,
    make_shard,
    manifest_name,
    sweep_shards,
)
from halfulp.conformance.vectors.spec import recipe_of_spec
from halfulp.interp.ir.errors import HalfulpError, InputError

PER_CHANNEL = "!quant.uniform<i8:f32:1, {0.5:3, 0.25, 2.0:-100}>"


def op(name: str, types: str | list[str], to: str | None = None, flags: bool = False, **more: Any) -> OpSubject:
    return OpSubject(task(f"arith.{name}" if "." not in name else name, types, to), flags=flags, **more)


def add_f8(**changed: Any) -> Plan:
    """All pairs of f8E4M3FN in 16 shards."""
    options = {"format": "npz", "shard_rows": 1 << 12, **changed}
    return Plan(Recipe(op("addf", "f8E4M3FN"), "exhaustive"), **options)


def files_of(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The digest of `add_f8`, and a directory that has it."""
    directory = tmp_path_factory.mktemp("whole")
    found = sweep_shards(add_f8(), directory)
    assert (found.of, found.done, found.kept, found.rows) == (16, 16, 0, 1 << 16)
    assert found.digest is not None
    return found.digest, directory


# --- a shard from recipe and index alone ------------------------------------------------------------------------------

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


@pytest.mark.parametrize("name", PINNED)
def test_a_shard_is_the_same_on_any_machine(name: str, tmp_path: Path) -> None:
    index, digest = PINNED[name]
    entry = make_shard(Plan(RECIPES[name], "npy", shard_rows=10_000), tmp_path, "0-of-1", index).entry
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
    assert digest == hashlib.sha256("\n".join(entry["sha256"] for entry in entries).encode()).hexdigest()
    assert metadata.whole_digest(entry["sha256"] for entry in entries) == digest


@pytest.mark.parametrize("format", ["testfloat", "readmemh", "npz", "npy", "bin", "c", "sv", "coe", "csv", "jsonl"])
def test_every_format_holds_the_shards(format: str, tmp_path: Path, whole: tuple[str, Path]) -> None:
    plan = Plan(add_f8().recipe, format, shard_rows=1 << 14)
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
        with pytest.raises(InputError, match=f"not written in the format '{format}'"):
            add_f8(format=format)


def test_what_a_format_has_no_place_for_is_refused_at_once() -> None:
    with pytest.raises(InputError, match="no place for random"):
        Plan(RECIPES["stochastic"], "runs")
    with pytest.raises(InputError, match="one operand"):
        add_f8(format="runs")


# --- tables of runs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shard_rows", [1000, 1 << 12, 1 << 20])
def test_runs_are_merged_across_shards(shard_rows: int, tmp_path: Path) -> None:
    recipe = Recipe(op("truncf", "bf16", "f8E4M3FN"), "exhaustive")
    found = sweep_shards(Plan(recipe, "runs", shard_rows=shard_rows), tmp_path)
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
    plan = Plan(Recipe(ProgramSubject(text, "f"), "exhaustive"), "runs", shard_rows=16)
    with pytest.raises(InputError, match="but 11 comes after F"):
        sweep_shards(plan, tmp_path)


@pytest.mark.exhaustive
def test_all_of_f32_to_f8_are_256_runs(tmp_path: Path) -> None:
    found = sweep_shards(Plan(Recipe(op("truncf", "f32", "f8E4M3FN"), "exhaustive"), "runs"), tmp_path)
    assert (found.rows, found.runs) == (1 << 32, 256)
    assert found.digest == "0f5085ddddc012a0607b123189dfe39e12c709d534a6689b2b6b9f2784f2ac89"


# --- who computes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [2, 7])
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
    plan = Plan(Recipe(op("addi", "i16"), "random", count=1 << 20), "bin", shard_rows=1 << 19)
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


def test_interrupts_do_not_reach_workers_that_just_begin() -> None:
    with process_pool(1) as pool:
        found = pool.submit(pow, 2, 3)
        for process in active_children():
            assert process.pid is not None
            os.kill(process.pid, signal.SIGINT)
        assert found.result() == 8


def test_an_interrupt_waits_until_a_process_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else what was half started would say that it has been told nothing."""
    started = []

    def interrupted(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        started.append(True)

    monkeypatch.setattr(ProcessPoolExecutor, "submit", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), process_pool(1) as pool:
            pool.submit(pow, 2, 3)
        assert started
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_error_of_a_worker_keeps_what_others_have_made(tmp_path: Path) -> None:
    """Rows that are poison come from the middle on; what was under way is kept, nothing more is begun."""
    recipe = Recipe(op("fptosi", "bf16", "i8"), "exhaustive")
    plan = Plan(recipe, "testfloat", shard_rows=1 << 10)
    with (
        ThreadPoolExecutor(2) as executor,
        pytest.raises(InputError, match=r"shard 16 \(rows 16384 to 17407\): row 768"),
    ):
        sweep_shards(plan, tmp_path, executor=executor, in_flight=2)
    assert {path.suffix for path in tmp_path.iterdir()} == {".tv", ".json", ".jsonl"}
    known = shards.recorded(tmp_path, plan)
    assert set(range(16)) <= known.keys() <= set(range(18))
    assert {entry.file for entry in known.values()} == {name for name in files_of(tmp_path) if name.endswith(".tv")}


def test_a_worker_of_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions: Iterator[tuple[str, int]] = iter([("0", 0)])
    real = shards.generator

    class Elsewhere(ThreadPoolExecutor):
        def submit(self, fn: Callable[..., Any], /, made_by: Any, *rest: Any) -> Any:
            return super().submit(fn, next(versions, real()), *rest)

    with Elsewhere(1) as executor, pytest.raises(InputError, match="a worker has version"):
        sweep_shards(add_f8(), tmp_path, executor=executor)


def test_a_worker_that_sees_another_directory(tmp_path: Path) -> None:
    class Elsewhere(ThreadPoolExecutor):
        def submit(self, fn: Callable[..., Any], /, made_by: Any, plan: Any, directory: str, *rest: Any) -> Any:
            other = Path(directory).with_name("other")
            other.mkdir(exist_ok=True)
            return super().submit(fn, made_by, plan, str(other), *rest)

    with Elsewhere(1) as executor, pytest.raises(InputError, match=r"is not in '.*' here") as caught:
        sweep_shards(add_f8(), tmp_path / "here", executor=executor, in_flight=1)
    assert "all workers must see the directory" in str(caught.value)


# --- kills ------------------------------------------------------------------------------------------------------------

KILLED = textwrap.dedent("""\
    import sys, time
    from halfulp.conformance.comparing.op_case import task
    from halfulp.conformance.vectors.recipe import Recipe
    from halfulp.conformance.vectors.shards import Plan, sweep_shards
    from halfulp.conformance.vectors.computation import OpSubject
    from halfulp.conformance.ops.workers import process_pool

    recipe = Recipe(OpSubject(task("arith.mulf", "f64")), "random", seed=1, count=160 << 13)
    plan = Plan(recipe, "npz", shard_rows=1 << 13)
    directory, workers, most = sys.argv[1], *map(int, sys.argv[2:])

    def progress(done, total):
        if done >= most << 13:
            time.sleep(1000)

    if workers == 1:
        print(sweep_shards(plan, directory, progress=progress).digest)
    else:
        with process_pool(workers) as pool:
            print(sweep_shards(plan, directory, executor=pool, in_flight=4, progress=progress).digest)
    """)
"""Has a directory, a number of workers, and with how many shards it stops and waits for its end."""


def lines_in(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_ten_kills_at_any_moment(tmp_path: Path) -> None:
    """SIGKILL to all processes at once, ten times; then the digest is that of a sweep that nobody disturbed."""
    directory, dice = tmp_path / "killed", random.Random(5)
    manifest = directory / "manifest-0-of-1.jsonl"
    before = 0
    for workers in ("1", "2", "1", "1", "2", "1", "1", "2", "1", "1"):
        wanted = lines_in(manifest) + dice.randrange(7)
        # However long we sleep, it is not far ahead.
        given = [str(directory), workers, str(wanted + 8)]
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, *given], stdout=subprocess.PIPE, start_new_session=True
        )
        while not manifest.exists() or lines_in(manifest) < wanted:
            assert process.poll() is None
            time.sleep(0.001)
        time.sleep(dice.random() * 0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert lines_in(manifest) >= before
        before = lines_in(manifest)
    assert 0 < before < 160
    last, undisturbed = (
        subprocess.run(
            [sys.executable, "-c", KILLED, str(where), "1", "161"], capture_output=True, text=True, check=True
        )
        for where in (directory, tmp_path / "other")
    )
    assert last.stdout == undisturbed.stdout
    assert files_of(directory) == files_of(tmp_path / "other")
    for name in files_of(directory):
        if name.endswith(".npz"):
            assert (directory / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_temporary_files_of_the_dead_are_removed_and_of_the_living_not(tmp_path: Path) -> None:
    sweep_shards(add_f8(), tmp_path, (0, 2))
    sweep_shards(add_f8(), tmp_path, (1, 2))
    own, other = tmp_path / ".0-of-2.7.abc.tmp", tmp_path / ".1-of-2.3.abc.tmp"
    own.touch()
    other.touch()
    with (tmp_path / "manifest-1-of-2.jsonl").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        sweep_shards(add_f8(), tmp_path, (0, 2))
        assert not own.exists()
        assert other.exists()
    sweep_shards(add_f8(), tmp_path, (0, 2))
    assert not other.exists()


def test_no_two_processes_make_the_same_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "_PATIENCE", 1)
    sweep_shards(add_f8(), tmp_path)
    with (tmp_path / "manifest-0-of-1.jsonl").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process is at work"):
            sweep_shards(add_f8(), tmp_path)
        sweep_shards(add_f8(), tmp_path, (0, 2))


# --- damage -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def made(tmp_path: Path) -> Path:
    sweep_shards(add_f8(), tmp_path)
    return tmp_path


def entries_of(directory: Path) -> dict[int, Entry]:
    return shards.recorded(directory, add_f8())


@pytest.mark.parametrize("pooled", [False, True], ids=["here", "elsewhere"])
def test_damaged_shards_are_noticed_and_made_again(made: Path, whole: tuple[str, Path], pooled: bool) -> None:
    entries = entries_of(made)
    flipped, cut, gone = (made / entries[k].file for k in (3, 5, 11))
    data = bytearray(flipped.read_bytes())
    data[-100] ^= 4
    flipped.write_bytes(data)
    cut.write_bytes(cut.read_bytes()[:-7])
    gone.unlink()
    untouched = {
        entry.file: (made / entry.file).stat().st_mtime_ns for k, entry in entries.items() if k % 8 not in (3, 5)
    }
    told: list[str] = []
    with ThreadPoolExecutor(2) as threads:
        executor: Executor | None = threads if pooled else None
        found = sweep_shards(add_f8(), made, executor=executor, tell=told.append)
    assert sorted(told, key=lambda text: int(text.split(":")[0].split()[1])) == [
        "shard 3: its file is corrupt; it was made again",
        f"shard 5: its file has {cut.stat().st_size - 7} bytes instead of {cut.stat().st_size}; it was made again",
        "shard 11: its file is missing; it was made again",
    ]
    assert (found.kept, found.digest) == (13, whole[0])
    assert files_of(made) == files_of(whole[1])
    assert all((made / entry.file).read_bytes() == (whole[1] / entry.file).read_bytes() for entry in entries.values())
    assert {name: (made / name).stat().st_mtime_ns for name in untouched} == untouched


def test_a_torn_last_line_is_written_again(made: Path, whole: tuple[str, Path]) -> None:
    manifest = made / "manifest-0-of-1.jsonl"
    data = manifest.read_bytes()
    lost = entries_of(made)[15]
    manifest.write_bytes(data[:-20])
    assert shards.recorded(made, add_f8()).keys() == set(range(15))
    found = sweep_shards(add_f8(), made)
    assert (found.kept, found.digest) == (15, whole[0])
    assert manifest.read_bytes() == data
    assert entries_of(made)[15] == lost


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda line: b"nonsense", r"manifest-0-of-1.jsonl:3: the manifest is corrupt: Expecting value"),
        (lambda line: b"\xff\0", r":3: the manifest is corrupt"),
        (lambda line: b"[]", r":3: the manifest is corrupt: no entry of a shard"),
        (lambda line: line.replace(b'"index": 2', b'"index": 99'), r":3: .* no shard 99 of these rows"),
        (lambda line: line.replace(b'"rows": [8192', b'"rows": [8191'), r":3: .* no shard 2 of these rows"),
        (lambda line: line.replace(b'"file": "02-', b'"file": "../'), r":3: .* is not the name of such a file"),
        (lambda line: line.replace(b'"sha256": "', b'"sha256": "x'), r":3: .* is no digest"),
        (lambda line: line.replace(b'"size": ', b'"size": -0.5e'), r":3: .* no entry of a shard"),
        (lambda line: line.replace(b"}", b', "more": 1}'), r":3: .* no entry of a shard"),
        (lambda line: line[:-3] + b'x"}', r":3: .* its check is that of another line"),
        (lambda line: line.replace(b'"count": 4096', b'"count": 4095'), r":3: .* its check is that of another line"),
        (
            lambda line: re.sub(rb'(?<= "sha256": ")(.)', lambda digit: b"1" if digit[1] == b"0" else b"0", line),
            r":3: .* its check is that of another line",
        ),
    ],
)
def test_a_corrupt_manifest(made: Path, change: Callable[[bytes], bytes], message: str) -> None:
    manifest = made / "manifest-0-of-1.jsonl"
    lines = manifest.read_bytes().splitlines(keepends=True)
    changed = change(lines[2].rstrip(b"\n")) + b"\n"
    assert changed != lines[2]
    manifest.write_bytes(b"".join([*lines[:2], changed, *lines[3:]]))
    with pytest.raises(InputError, match=message) as caught:
        sweep_shards(add_f8(), made)
    assert "without this line its shard is made again" in str(caught.value)
    manifest.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    assert sweep_shards(add_f8(), made).kept == 15


def test_a_manifest_with_another_digest_than_the_shard_has(made: Path) -> None:
    manifest = made / "manifest-0-of-1.jsonl"
    entry = entries_of(made)[4]
    other = replace(entry, sha256="0" * 64)
    manifest.write_bytes(manifest.read_bytes().replace(entry.to_line(), other.to_line()))
    (made / entry.file).unlink()
    with pytest.raises(InputError, match=rf"shard 4 .* has the digest 0+, but it comes out as {entry.sha256}"):
        sweep_shards(add_f8(), made)


def test_manifests_that_contradict_each_other(made: Path) -> None:
    entry = entries_of(made)[0]
    (made / "manifest-0-of-2.jsonl").write_bytes(replace(entry, sha256="0" * 64).to_line())
    with pytest.raises(InputError, match="another digest of shard 0 than elsewhere"):
        sweep_shards(add_f8(), made)


# --- directories ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda: Plan(Recipe(op("subf", "f8E4M3FN"), "exhaustive"), shard_rows=1 << 12), "'source.op' is"),
        (lambda: Plan(Recipe(op("addf", "f8E4M3FN"), "random", count=1 << 16), shard_rows=1 << 12), "'inputs"),
        (lambda: add_f8(format="bin"), """'format' is "npz", not "bin\""""),
        (lambda: add_f8(shard_rows=1 << 13), "'shard_rows' is 4096, not 8192"),
        (lambda: add_f8(unmarked="drop"), "'poison' is"),
    ],
)
def test_a_directory_of_another_sweep(made: Path, other: Callable[[], Plan], message: str) -> None:
    before = {name: (made / name).read_bytes() for name in files_of(made)}
    with pytest.raises(InputError, match=f"holds another sweep: its {message}"):
        sweep_shards(other(), made)
    assert {name: (made / name).read_bytes() for name in files_of(made)} == before


def test_a_directory_of_another_version(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version, semantics = shards.generator()
    monkeypatch.setattr(shards, "generator", lambda: (version, semantics + 1))
    message = rf"'generator.semantics_version' is {semantics}, not {semantics + 1}"
    with pytest.raises(InputError, match=message):
        sweep_shards(add_f8(), made)


@pytest.mark.parametrize(("text", "message"), [("{", "not JSON"), ("[]", "not the layout of a sweep")])
def test_a_corrupt_layout(made: Path, text: str, message: str) -> None:
    (made / LAYOUT).write_text(text)
    with pytest.raises(InputError, match=message):
        sweep_shards(add_f8(), made)
    (made / LAYOUT).unlink()
    with pytest.raises(InputError, match="has manifests, but no sweep.json"):
        sweep_shards(add_f8(), made)


@pytest.mark.parametrize("where", ["file", "file/below"])
def test_a_directory_that_cannot_be(where: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="cannot write in '.*file"):
        sweep_shards(add_f8(), tmp_path / where)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_directory_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Path.open

    def refused(path: Path, mode: str = "r", *rest: Any, **more: Any) -> Any:
        if set(mode) & set("wax+"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, mode, *rest, **more)

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(InputError, match=f"cannot write in '{tmp_path}': Permission denied"):
        sweep_shards(add_f8(), tmp_path)
    assert files_of(tmp_path) == []


def test_a_sweep_that_made_nothing_leaves_nothing(tmp_path: Path) -> None:
    plan = Plan(Recipe(op("fptosi", "f32", "i8"), "1"), "testfloat")
    (tmp_path / "mine").write_text("mine")
    for directory in (tmp_path / "new", tmp_path):
        with pytest.raises(InputError, match=r"shard 0 .*'result' is poison"):
            sweep_shards(plan, directory)
    assert files_of(tmp_path) == ["mine"]


def test_a_full_disk_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: tuple[str, Path]) -> None:
    calls = 0

    def full(vectors: VectorSet, file: Any, *rest: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 6:
            file.write(b"half of it")
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_vectors(vectors, file, *rest)

    monkeypatch.setattr(shards, "write_vectors", full)
    message = rf"shard 5 \(rows 20480 to 24575\): cannot write in '{tmp_path}': No space left on device"
    with pytest.raises(InputError, match=message):
        sweep_shards(add_f8(), tmp_path)
    assert len(files_of(tmp_path)) == 5 + 2
    assert entries_of(tmp_path).keys() == set(range(5))
    found = sweep_shards(add_f8(), tmp_path)
    assert (found.kept, found.digest) == (5, whole[0])


def test_a_full_disk_for_the_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: tuple[str, Path]) -> None:
    real, calls = os.fsync, 0

    def full(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1 + 2 * 3:  # after the layout, a shard and its line each
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left on device"):
        sweep_shards(add_f8(), tmp_path)
    assert lines_in(tmp_path / "manifest-0-of-1.jsonl") == 2
    assert (tmp_path / "manifest-0-of-1.jsonl").read_bytes().endswith(b"\n")
    assert sweep_shards(add_f8(), tmp_path).digest == whole[0]


def test_a_disk_that_is_really_full(tmp_path: Path, whole: tuple[str, Path]) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        with pytest.raises(InputError, match="No space left on device"):
            sweep_shards(add_f8(), disk)
        here = entries_of(disk)
        assert 2 <= len(here) < 16
        assert len(files_of(disk)) == len(here) + 2
        subprocess.run(["mount", "-o", "remount,size=1m", str(disk)], check=True)
        found = sweep_shards(add_f8(), disk)
        assert (found.kept, found.digest) == (len(here), whole[0])
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# --- the metadata -----------------------------------------------------------------------------------------------------


def test_the_metadata_fits_its_schema_and_makes_the_sweep_again(whole: tuple[str, Path], tmp_path: Path) -> None:
    digest, directory = whole
    data = json.loads((directory / METADATA).read_text())
    jsonschema.Draft202012Validator.check_schema(metadata.schema())
    check = jsonschema.Draft202012Validator(metadata.schema()).validate
    check(data)
    assert (data["sha256"], data["count"], len(data["shards"])) == (digest, 1 << 16, 16)
    assert [file["name"] for file in data["files"]] == [shard["file"] for shard in data["shards"]]
    plan = Plan(recipe_of(data), shard_rows=1 << 12)
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


@pytest.mark.parametrize("shard_rows", [100, 1000, 1 << 20])
def test_anchors_are_rows_of_the_whole(shard_rows: int, tmp_path: Path) -> None:
    """Rows are left out here, so that a row's place is not its operands."""
    plan = Plan(Recipe(op("divsi", "i8"), "exhaustive"), "csv", shard_rows=shard_rows)
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
    plan = Plan(Recipe(op("fptosi", "f16", "i8"), "exhaustive"), "testfloat", "drop", shard_rows=1 << 14)
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


# --- recipes as files -------------------------------------------------------------------------------------------------


def spec(data: Any, file: str = "spec.json") -> Recipe:
    recipe = recipe_of_spec(json.dumps(data), file)
    _ = recipe.rows
    return recipe


ADD = {"op": "arith.addf", "operands": "f8E4M3FN"}


def test_what_a_file_may_leave_out() -> None:
    assert spec({"source": ADD}) == Recipe(op("addf", "f8E4M3FN"), "1")
    cast = {"op": "arith.truncf", "operands": ["f32"], "results": "f8E5M2", "properties": {"rounding": "upward"}}
    recipe = spec({"source": cast, "profile": "ocp-saturate", "inputs": {"models": ["B3"], "options": {"flags": True}}})
    assert isinstance(recipe.subject, OpSubject)
    assert recipe.subject.task == task("arith.truncf", "f32", "f8E5M2", rounding="upward")
    assert (recipe.subject.flags, recipe.subject.profile.name) == (True, "ocp-saturate")
    assert (recipe.level, recipe.models, recipe.seed) == (None, ("B3",), 0)
    recipe = spec({"source": ADD, "inputs": {"level": "random", "seed": 9, "options": {"count": 10}}})
    assert (recipe.level, recipe.seed, recipe.count) == ("random", 9, 10)


@pytest.mark.parametrize("name", PINNED)
def test_a_layout_makes_the_same_recipe(name: str) -> None:
    assert spec(Plan(RECIPES[name]).to_json()) == RECIPES[name]


def test_a_program_beside_the_file(tmp_path: Path) -> None:
    text = "func.func @f(%a: f16) -> f16 {\n  %r = arith.negf %a : f16\n  return %r : f16\n}\n"
    (tmp_path / "f.mlir").write_text(text)
    data = {"source": {"program": "f.mlir", "function": "f"}, "inputs": {"level": "exhaustive"}}
    assert spec(data, str(tmp_path / "spec.json")).subject == ProgramSubject(text, "f", "f.mlir")
    with pytest.raises(InputError, match=r"cannot read '.*g.mlir'"):
        spec({"source": {"program": "g.mlir", "function": "f"}}, str(tmp_path / "spec.json"))
    (tmp_path / "f.mlir").write_bytes(b"ML\xefR")
    with pytest.raises(InputError, match="not MLIR text"):
        spec(data, str(tmp_path / "spec.json"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "spec.json: not an object"),
        ({}, "'source' must name an 'op' or a 'program'"),
        ({"source": "arith.addf"}, "'source' must be an object"),
        ({"source": ADD, "input": {}}, "unknown 'input'\nhint: did you mean `inputs`"),
        ({"source": {**ADD, "operand": "f16"}}, "unknown 'operand' in the source of an op"),
        ({"source": {"op": "arith.addf"}}, "'operands' must say the types"),
        ({"source": {"op": "arith.addf", "operands": []}}, "'operands' must be a type, or a list"),
        ({"source": {"op": "arith.adf", "operands": "f16"}}, "arith.adf"),
        ({"source": {"op": "arith.addf", "operands": "f17"}}, "spec.json: 'f17' is no type"),
        ({"source": {**ADD, "results": ["f32"]}}, "spec.json: 'arith.addf' op requires the same type"),
        ({"source": {**ADD, "random_bits": 65}}, "'random_bits' must be an integer from 1 to 64"),
        ({"source": {"program": "f.mlir"}}, "'function' must name"),
        ({"source": ADD, "profile": "amr"}, "spec.json: .*amr"),
        ({"source": ADD, "profile": {"name": "spec", "fields": {"tinyness": "after"}}}, "tinyness"),
        ({"source": ADD, "inputs": {"level": 1}}, "'level' must be one of 1, 2, exhaustive"),
        ({"source": ADD, "inputs": {"level": "models"}}, "."),
        ({"source": ADD, "inputs": {"seed": -1}}, "'seed' must be an integer"),
        ({"source": ADD, "inputs": {"seed": True}}, "'seed' must be an integer"),
        ({"source": ADD, "inputs": {"options": {"count": 0}}}, "'count' must be a positive integer"),
        ({"source": ADD, "inputs": {"options": {"flags": 1}}}, "'flags' must be true or false"),
        ({"source": ADD, "inputs": {"options": {"n": 1}}}, "unknown 'n' in the options"),
        ({"source": ADD, "schema_version": 99}, "version 99 of the metadata"),
    ],
)
def test_files_that_are_no_recipe(data: Any, message: str) -> None:
    with pytest.raises((HalfulpError, ValueError), match=message) as caught:
        spec(data)
    assert not isinstance(caught.value, KeyError)


def test_text_that_is_no_recipe() -> None:
    for text in ("", "{", b"\xff", "[" * 100_000):
        with pytest.raises(InputError, match="spec.json: not JSON"):
            recipe_of_spec(text, "spec.json")


def test_what_is_left_of_processes_that_are_no_more(tmp_path: Path) -> None:
    """With a manifest that nobody is at work on all of it goes; without one only the layout may be in the making."""
    names = (LAYOUT, "0", "17", METADATA)
    for owner in ("0-of-2", "1-of-2", "2-of-3"):
        for name in names:
            (tmp_path / f".{owner}.{name}.0123456789ab.tmp").touch()
    (tmp_path / manifest_name("1-of-2")).touch()
    manifest = Manifest(tmp_path, "2-of-3", add_f8())
    shards.tidy(tmp_path)
    manifest.close()
    layout, working = f".0-of-2.{LAYOUT}.0123456789ab.tmp", {f".2-of-3.{name}.0123456789ab.tmp" for name in names}
    assert {path.name for path in tmp_path.glob(".*")} == {layout} | working
