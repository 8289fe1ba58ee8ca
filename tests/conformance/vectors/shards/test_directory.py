"""The directory of a sweep: kills, damage, other sweeps, full disks."""

import errno
import fcntl
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from vector_files import add_f8, files_of, op

from halfulp.conformance.vectors.columns import VectorSet
from halfulp.conformance.vectors.formats import write_vectors
from halfulp.conformance.vectors.metadata import METADATA
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.shards import directory as directory_module
from halfulp.conformance.vectors.shards import directory as plan_module
from halfulp.conformance.vectors.shards import shard as shard_module
from halfulp.conformance.vectors.shards.directory import (
    LAYOUT,
    Manifest,
    ShardEntry,
    SweepPlan,
    generator,
    manifest_name,
    recorded,
    tidy,
)
from halfulp.conformance.vectors.shards.shard import sweep_shards
from halfulp.interp.ir.errors import InputError

KILLED = textwrap.dedent("""\
    import sys, time
    from halfulp.conformance.comparing.op_case import op_case
    from halfulp.conformance.vectors.recipe import Recipe
    from halfulp.conformance.vectors.shards.directory import SweepPlan
    from halfulp.conformance.vectors.shards.shard import sweep_shards
    from halfulp.conformance.vectors.computation import OpComputation
    from halfulp.conformance.ops.jobs import process_pool

    directory, shards, workers, most = sys.argv[1], *map(int, sys.argv[2:])
    recipe = Recipe(OpComputation(op_case("arith.mulf", "f64")), "random", seed=1, count=shards << 13)
    plan = SweepPlan(recipe, "npz", shard_rows=1 << 13, leaf_rows=1 << 13)

    def progress(done, total):
        if done >= most << 13:
            time.sleep(1000)

    if workers == 1:
        print(sweep_shards(plan, directory, progress=progress).digest)
    else:
        with process_pool(workers) as pool:
            print(sweep_shards(plan, directory, executor=pool, in_flight=4, progress=progress).digest)
    """)
"""A script. Its arguments: a directory, numbers of shards and of workers, and after how many shards it waits to be killed."""


def lines_in(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("kills", "shards"),
    [(("1", "2", "1"), 40), pytest.param(("1", "2", "1", "1", "2") * 2, 160, marks=pytest.mark.exhaustive)],
)
def test_kills_at_any_moment(kills: tuple[str, ...], shards: int, tmp_path: Path) -> None:
    """SIGKILL to all processes at once, several times; then the digest is that of a sweep that nobody disturbed."""
    directory, dice = tmp_path / "killed", random.Random(5)
    manifest = directory / "manifest-0-of-1.jsonl"
    before = 0
    for workers in kills:
        wanted = lines_in(manifest) + dice.randrange(7)
        # However long we sleep, it is not far ahead.
        given = [str(directory), str(shards), workers, str(wanted + 8)]
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
    assert 0 < before < shards
    last, undisturbed = (
        subprocess.run(
            [sys.executable, "-c", KILLED, str(where), str(shards), "1", str(shards + 1)],
            capture_output=True,
            text=True,
            check=True,
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
    monkeypatch.setattr(directory_module, "_PATIENCE", 1)
    sweep_shards(add_f8(), tmp_path)
    with (tmp_path / "manifest-0-of-1.jsonl").open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process works"):
            sweep_shards(add_f8(), tmp_path)
        sweep_shards(add_f8(), tmp_path, (0, 2))


@pytest.fixture
def made(tmp_path: Path) -> Path:
    sweep_shards(add_f8(), tmp_path)
    return tmp_path


def entries_of(directory: Path) -> dict[int, ShardEntry]:
    return recorded(directory, add_f8())


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
    assert recorded(made, add_f8()).keys() == set(range(15))
    found = sweep_shards(add_f8(), made)
    assert (found.kept, found.digest) == (15, whole[0])
    assert manifest.read_bytes() == data
    assert entries_of(made)[15] == lost


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda line: b"nonsense", r"manifest-0-of-1.jsonl:3: the manifest is corrupt: Expecting value"),
        (lambda line: b"\xff\0", r":3: the manifest is corrupt"),
        (lambda line: b"[]", r":3: the manifest is corrupt: not an entry of a shard"),
        (lambda line: line.replace(b'"index": 2', b'"index": 99'), r":3: .* no shard 99 of these rows"),
        (lambda line: line.replace(b'"rows": [8192', b'"rows": [8191'), r":3: .* no shard 2 of these rows"),
        (lambda line: line.replace(b'"file": "02-', b'"file": "../'), r":3: .* is not the name of this file"),
        (lambda line: line.replace(b'"sha256": "', b'"sha256": "x'), r":3: .* is not a digest"),
        (lambda line: line.replace(b'"size": ', b'"size": -0.5e'), r":3: .* not an entry of a shard"),
        (lambda line: line.replace(b"}", b', "more": 1}'), r":3: .* not an entry of a shard"),
        (lambda line: line[:-3] + b'x"}', r":3: .* its checksum does not match"),
        (lambda line: line.replace(b'"count": 4096', b'"count": 4095'), r":3: .* its checksum does not match"),
        (
            lambda line: re.sub(rb'(?<= "sha256": ")(.)', lambda digit: b"1" if digit[1] == b"0" else b"0", line),
            r":3: .* its checksum does not match",
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
    assert "remove this line, and the shard is made again" in str(caught.value)
    manifest.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    assert sweep_shards(add_f8(), made).kept == 15


def test_a_manifest_with_another_digest_than_the_shard_has(made: Path) -> None:
    manifest = made / "manifest-0-of-1.jsonl"
    entry = entries_of(made)[4]
    other = replace(entry, sha256="0" * 64)
    manifest.write_bytes(manifest.read_bytes().replace(entry.to_line(), other.to_line()))
    (made / entry.file).unlink()
    with pytest.raises(InputError, match=rf"shard 4 .* has the digest 0+, but the shard now gives {entry.sha256}"):
        sweep_shards(add_f8(), made)


def test_manifests_that_contradict_each_other(made: Path) -> None:
    entry = entries_of(made)[0]
    (made / "manifest-0-of-2.jsonl").write_bytes(replace(entry, sha256="0" * 64).to_line())
    with pytest.raises(InputError, match="the digest of shard 0 differs from another manifest"):
        sweep_shards(add_f8(), made)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            lambda: SweepPlan(Recipe(op("subf", "f8E4M3FN"), "exhaustive"), shard_rows=1 << 12, leaf_rows=1 << 12),
            "'source.op' is",
        ),
        (
            lambda: SweepPlan(
                Recipe(op("addf", "f8E4M3FN"), "random", count=1 << 16), shard_rows=1 << 12, leaf_rows=1 << 12
            ),
            "'inputs",
        ),
        (lambda: add_f8(format="bin"), """'format' is "npz", not "bin\""""),
        (lambda: add_f8(shard_rows=1 << 13), "'shard_rows' is 4096, not 8192"),
        (lambda: add_f8(unmarked="drop"), "'poison' is"),
    ],
)
def test_a_directory_of_another_sweep(made: Path, other: Callable[[], SweepPlan], message: str) -> None:
    before = {name: (made / name).read_bytes() for name in files_of(made)}
    with pytest.raises(InputError, match=f"holds another sweep: its {message}"):
        sweep_shards(other(), made)
    assert {name: (made / name).read_bytes() for name in files_of(made)} == before


def test_a_directory_of_another_version(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version, semantics = generator()
    monkeypatch.setattr(plan_module, "generator", lambda: (version, semantics + 1))
    message = rf"'generator.semantics_version' is {semantics}, not {semantics + 1}"
    with pytest.raises(InputError, match=message):
        sweep_shards(add_f8(), made)


@pytest.mark.parametrize(("text", "message"), [("{", "not JSON"), ("[]", "is not the layout of a sweep")])
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
    plan = SweepPlan(Recipe(op("fptosi", "f32", "i8"), "1"), "testfloat")
    (tmp_path / "mine").write_text("mine")
    for directory in (tmp_path / "new", tmp_path):
        with pytest.raises(InputError, match=r"shard 0 .*'result' is poison"):
            sweep_shards(plan, directory)
    assert files_of(tmp_path) == ["mine"]


def test_a_full_disk_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: tuple[str, Path]) -> None:
    calls = 0

    def full(vectors: VectorSet, file: Any, *rest: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 6:
            file.write(b"half of it")
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_vectors(vectors, file, *rest, **more)

    monkeypatch.setattr(shard_module, "write_vectors", full)
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


def test_what_is_left_of_processes_that_are_no_more(tmp_path: Path) -> None:
    """With a manifest that nobody holds, all temporary files are removed; without one, only the layout may be there."""
    names = (LAYOUT, "0", "17", METADATA)
    for owner in ("0-of-2", "1-of-2", "2-of-3"):
        for name in names:
            (tmp_path / f".{owner}.{name}.0123456789ab.tmp").touch()
    (tmp_path / manifest_name("1-of-2")).touch()
    manifest = Manifest(tmp_path, "2-of-3", add_f8())
    tidy(tmp_path)
    manifest.close()
    layout, working = f".0-of-2.{LAYOUT}.0123456789ab.tmp", {f".2-of-3.{name}.0123456789ab.tmp" for name in names}
    assert {path.name for path in tmp_path.glob(".*")} == {layout} | working
