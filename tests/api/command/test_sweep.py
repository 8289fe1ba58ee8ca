"""``halfulp vectors sweep`` as it is used: from options and files, in parts, on clusters, and what it says of mistakes."""

import errno
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from clusters import local_cluster
from command import PATIENCE, halfulp, heeds_interrupts
from tables import each_row
from tree import ROOT

from halfulp.command.console import _scaled
from halfulp.command.main import main
from halfulp.command.sweep import part_of_array
from halfulp.conformance.vectors.packing import Packing, Unmarked
from halfulp.conformance.vectors.recipe import Recipe
from halfulp.conformance.vectors.shards import directory as plan_module
from halfulp.conformance.vectors.shards import shard as shard_module
from halfulp.interp.ir.errors import InputError

ADD = ("vectors", "sweep", "arith.addf", "--type", "f8E4M3FN", "--level", "exhaustive")
ADDED = "0989686205e48e37b0ab23c02cbb4e2e6f0ab85783fc88bb6f2c1e4a6646b952"
"""The digest of that sweep: of its one leaf of 65,536 rows."""

HALFULP = (sys.executable, "-I", "-m", "halfulp")

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """Shards of 2**12 rows in this process."""
    plan = plan_module.SweepPlan

    def smaller(
        recipe: Recipe, format: str, unmarked: Unmarked, packing: Packing, shard_rows: int | None
    ) -> plan_module.SweepPlan:
        return plan(recipe, format, unmarked, packing, shard_rows or 1 << 12, 1 << 12)

    monkeypatch.setattr("halfulp.command.sweep.SweepPlan", smaller)
    return 16


def test_a_sweep(tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "made" / "here"
    assert main([*ADD, "--out", str(out)]) == 0
    text = f"65536 rows in 1 shard: {out / 'metadata.json'}\nsha256 {ADDED}\n"
    assert capsys.readouterr() == (text, "")
    assert main([*ADD, "--out", str(out)]) == 0
    assert capsys.readouterr() == (text, "1 of 1 shard existed already\n")


def test_runs(tmp_path: Path, capsys: Captured) -> None:
    """The numbers of runs of all f16 in f8E5M2: each result once, but for NaNs, whose payloads are cut."""
    given = ["arith.truncf", "--from", "f16", "--type", "f8E5M2", "--level", "exhaustive", "--format", "runs"]
    assert main(["vectors", "sweep", *given, "--out", str(tmp_path)]) == 0
    rows, digest = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"65536 rows in 1 shard, \d+ runs: .*metadata.json", rows)
    assert re.fullmatch(r"sha256 [0-9a-f]{64}", digest)
    lines = (tmp_path / "sweep.runs").read_text().splitlines()
    assert f" {len(lines) - 2} runs" in rows
    assert lines[1] == "0000 00"
    assert lines[-1] == "LAST FFFF"


def test_parts_one_after_another(tmp_path: Path, capsys: Captured, small: int) -> None:
    for place, said in (("0/3", "6 of 16"), ("1/3", "11 of 16")):
        assert main([*ADD, "--out", str(tmp_path), "--shard", place]) == 0
        assert capsys.readouterr() == ("", f"{said} shards exist now\n")
    assert main([*ADD, "--out", str(tmp_path), "--shard", "2/3"]) == 0
    out, err = capsys.readouterr()
    assert (out.splitlines()[0], err) == (f"65536 rows in 16 shards: {tmp_path / 'metadata.json'}", "")
    assert {path.name for path in tmp_path.glob("manifest*")} == {f"manifest-{k}-of-3.jsonl" for k in range(3)}


@pytest.mark.long
def test_a_job_array(tmp_path: Path) -> None:
    """Three processes at once in one directory, of three shards of 2**22 integers each of one bit."""
    given = [
        "vectors", "sweep", "arith.xori", "--type", "i1", "--level", "random", "-n", str(3 << 22), "--format", "bin",
    ]  # fmt: skip
    given += ["--pack", "dense", "--shard-rows", str(1 << 22), "--out", str(tmp_path)]
    array = {"SGE_TASK_FIRST": "1", "SGE_TASK_LAST": "3", "SGE_TASK_STEPSIZE": "1"}
    processes = [
        subprocess.Popen(
            [*HALFULP, *given, "--shard", "array"],
            stdout=subprocess.PIPE,
            env={**os.environ, **array, "SGE_TASK_ID": str(k)},
        )
        for k in (1, 2, 3)
    ]
    outputs = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    finished = {output for output in outputs if output}
    assert len(finished) == 1
    data = json.loads((tmp_path / "metadata.json").read_text())
    assert data["sha256"] in finished.pop().decode()
    assert [shard["size"] for shard in data["shards"]] == [3 << 19] * 3
    assert {path.name for path in tmp_path.glob("manifest*")} == {f"manifest-{k}-of-3.jsonl" for k in range(3)}
    again = halfulp(*given)
    assert (again.code, again.err) == (0, "3 of 3 shards existed already\n")


def test_joining(tmp_path: Path, capsys: Captured, small: int) -> None:
    """The last task joins the shards by itself; a join alone makes none, and says which are missing."""
    joined = [*ADD, "--out", str(tmp_path), "--join"]
    assert main(joined) == 2
    assert f"error: '{tmp_path}' holds no sweep" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    assert main([*ADD, "--out", str(tmp_path), "--shard", "1/4"]) == 0
    capsys.readouterr()
    assert main(joined) == 2
    out, err = capsys.readouterr()
    assert (out, err.splitlines()[0]) == (
        "",
        f"error: 12 of 16 shards are missing in '{tmp_path}': 0, 2, 3, 4, 6, 7, 8, 10 ...",
    )
    for place in (0, 2, 3):
        assert main([*ADD, "--out", str(tmp_path), "--shard", f"{place}/4"]) == 0
    (tmp_path / "metadata.json").unlink()
    capsys.readouterr()
    assert main(joined) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"65536 rows in 16 shards: {tmp_path / 'metadata.json'}"
    next(tmp_path.glob("*.npz")).unlink()
    assert main(joined) == 2


@pytest.mark.long
def test_the_size_of_shards(tmp_path: Path, capsys: Captured) -> None:
    assert main([*ADD, "--out", str(tmp_path), "--shard-rows", "1000"]) == 0
    assert capsys.readouterr().out.endswith(f"sha256 {ADDED}\n")
    given = [
        "vectors", "sweep", "arith.xori", "--type", "i1", "--level", "random", "-n", str(1 << 20), "--format", "bin",
    ]  # fmt: skip
    digests = set()
    for rows, shards in (("1", "4 shards"), ("300000", "2 shards"), ("99999999", "1 shard")):
        for workers in ("1", "2"):
            assert (
                main([*given, "--out", str(tmp_path / rows / workers), "--shard-rows", rows, "--workers", workers]) == 0
            )
            first, digest = capsys.readouterr().out.splitlines()
            assert first.startswith(f"{1 << 20} rows in {shards}: ")
            digests.add(digest)
    assert len(digests) == 1


@pytest.mark.long
@pytest.mark.parametrize("moment", [".0-of-1.*.tmp", ".0-of-1.[0-7].*.tmp"], ids=["any file", "a shard"])
def test_a_pool_and_an_interrupt(tmp_path: Path, moment: str) -> None:
    """An interrupt in the middle of a run leaves whole shards and no temporary files."""
    given = [
        "vectors", "sweep", "arith.remf", "--type", "f64", "--level", "random", "-n", str(1 << 27), "--workers", "2",
    ]  # fmt: skip
    out = tmp_path / "new"
    process = subprocess.Popen(
        [*HALFULP, *given, "--out", str(out)],
        start_new_session=True,
        stderr=subprocess.PIPE,
        preexec_fn=heeds_interrupts,
    )
    deadline = time.monotonic() + PATIENCE
    while not list(out.glob(moment)):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    assert process.communicate(timeout=PATIENCE)[1] == b""
    assert process.returncode == 130
    assert list(out.glob(".*")) == []


def test_an_interrupt_before_anything_was_made(tmp_path: Path, capsys: Captured, monkeypatch: Any) -> None:
    """The directory that was made for the sweep has gone again."""

    def interrupted(*_: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(shard_module, "write_vectors", interrupted)
    assert main([*ADD, "--out", str(tmp_path / "new")]) == 130
    assert capsys.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.dask
def test_dask(tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halfulp.command.sweep.DASK_SECONDS", PATIENCE)
    with local_cluster(workers=1, threads=2) as cluster:
        assert main([*ADD, "--out", str(tmp_path), "--dask", cluster.scheduler_address]) == 0
    assert capsys.readouterr().out.endswith(f"sha256 {ADDED}\n")


@pytest.mark.dask
def test_workers_of_another_version(tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halfulp.command.sweep.DASK_SECONDS", PATIENCE)
    version, semantics = plan_module.generator()
    with local_cluster(workers=1, threads=1) as cluster:
        monkeypatch.setattr(shard_module, "generator", lambda: ("9.8.7", 99))
        assert main([*ADD, "--out", str(tmp_path / "new"), "--dask", cluster.scheduler_address]) == 2
    err = capsys.readouterr().err
    assert (
        f"a worker has halfulp {version} (semantics {semantics}), but the sweep is run by halfulp 9.8.7 (semantics 99)"
        in err
    )
    assert not (tmp_path / "new").exists()


def test_a_worker_compares_versions(tmp_path: Path) -> None:
    """Before it unpickles anything."""
    with pytest.raises(
        InputError, match=r"a worker has halfulp .* but the sweep is run by halfulp 0\.0\.1 \(semantics 0\)"
    ):
        shard_module.make_elsewhere(("0.0.1", 0), b"no pickle", str(tmp_path), "0-of-1", 0, None)


@pytest.mark.dask
@pytest.mark.parametrize(
    ("address", "message"),
    [("nowhere:x:y", "invalid address"), ("tcp://127.0.0.1:1", "Timed out|refused")],
)
def test_a_cluster_that_is_not_there(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, address: str, message: str
) -> None:
    monkeypatch.setattr("halfulp.command.sweep.DASK_SECONDS", 1)
    assert main([*ADD, "--out", str(tmp_path), "--dask", address]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.match(rf"error: --dask={address}: .*({message})", line)
    assert list(tmp_path.iterdir()) == []


def test_without_dask(tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main([*ADD, "--out", str(tmp_path), "--dask", "tcp://localhost:8786"]) == 2
    assert capsys.readouterr().err == (
        "error: --dask needs dask and distributed\n"
        "hint: pip install '.[scale]' in the folder with the sources of halfulp\n"
    )


# --- what is asked for ------------------------------------------------------------------------------------------------


def columns_of(directory: Path) -> list[str]:
    return [column["name"] for column in json.loads((directory / "metadata.json").read_text())["columns"]]


@pytest.mark.parametrize(("option", "columns"), [([], []), (["--no-flags"], []), (["--flags"], ["flags"])])
def test_flags_only_if_asked_for(tmp_path: Path, option: list[str], columns: list[str]) -> None:
    assert main(["vectors", "sweep", "arith.addf", "--type", "f4E2M1FN", *option, "--out", str(tmp_path)]) == 0
    assert columns_of(tmp_path) == ["a", "b", "result", *columns]


def test_a_program(tmp_path: Path) -> None:
    (tmp_path / "f.mlir").write_text(
        "func.func @f(%a: i4) -> i4 {\n  %r = arith.muli %a, %a : i4\n  return %r : i4\n}\n"
    )
    out = tmp_path / "out"
    given = [str(tmp_path / "f.mlir"), "--level", "exhaustive", "--format", "csv", "--out", str(out)]
    assert main(["vectors", "sweep", *given]) == 0
    (file,) = out.glob("*.csv")
    assert file.read_text().splitlines()[4].startswith("0x3,0x9")


def test_files_as_spec(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "spec.json").write_text(
        '{"source": {"op": "arith.addf", "operands": "f8E4M3FN"}, "inputs": {"level": "exhaustive"}}'
    )
    for file, out in (("spec.json", "a"), ("a/metadata.json", "b"), ("b/sweep.json", "c")):
        assert main(["vectors", "sweep", str(tmp_path / file), "--out", str(tmp_path / out)]) == 0
        assert capsys.readouterr().out.endswith(f"sha256 {ADDED}\n")


def test_the_metadata_of_vectors_as_spec(tmp_path: Path) -> None:
    vectors = ["vectors", "make", "arith.mulf", "--type", "f6E3M2FN", "--format", "npz", "--name", "set"]
    assert main([*vectors, "--out", str(tmp_path)]) == 0
    assert main(["vectors", "sweep", str(tmp_path / "set.json"), "--out", str(tmp_path / "swept")]) == 0
    swept = json.loads((tmp_path / "swept" / "metadata.json").read_text())
    assert swept["shards"][0]["sha256"] == json.loads((tmp_path / "set.json").read_text())["sha256"]


@pytest.mark.long
def test_a_shard_is_checked_by_the_metadata_of_all(tmp_path: Path, capsys: Captured, small: int) -> None:
    assert main([*ADD, "--out", str(tmp_path), "--format", "bin", "--workers", "1"]) == 0
    file = sorted(tmp_path.glob("*.bin"))[3]
    capsys.readouterr()
    assert main(["vectors", "check", str(file)]) == 0
    assert "4,096 rows, none differs" in capsys.readouterr().out
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    assert main(["vectors", "check", str(file)]) == 1


# --- mistakes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["8/8", "1", "1/2/3", "-1/4", "a/b", "0/0", "²/4"])
def test_parts_that_are_none(tmp_path: Path, capsys: Captured, text: str) -> None:
    assert main([*ADD, "--out", str(tmp_path), f"--shard={text}"]) == 2
    assert "argument --shard" in capsys.readouterr().err


@each_row(
    (["arith.addf", "--type", "f16", "--workers", "2", "--shard", "0/2"], "not allowed with argument --workers"),
    (["arith.addf", "--type", "f16", "--format", "mlir"], "invalid choice: 'mlir'"),
    (["arith.addf", "--type", "f16", "--pack", "dense"], "--pack can be used only with the format 'bin'"),
    (["arith.addf", "--type", "f16", "--format", "runs"], "the format 'runs' needs exactly one operand"),
    (["arith.addf", "--type", "f16", "--level", "random"], "random operands need a count"),
    (["arith.addf", "--type", "f32", "--level", "exhaustive"], "64 bits together have too many combinations"),
    (["none.json"], "cannot read 'none.json'"),
    (["none.mlir"], "none.mlir"),
    (["SPEC", "--level", "2"], "--level can be used only with an op or a program"),
    (["SPEC", "-n", "2"], "-n can be used only with an op or a program"),
    (["SPEC", "--seed", "2"], "--seed can be used only with an op or a program"),
    (["SPEC", "--nan-result", "canonical"], "--nan-result can be used only with an op or a program"),
    (["SPEC", "--no-flags"], "--flags can be used only with an op or a program"),
    (["SPEC", "--keep-ub"], "--keep-ub can be used only with an op or a program"),
    (["SPEC"], "spec.json: random operands need a count"),
)
def test_mistakes(
    given: list[str], message: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = {"source": {"op": "arith.addf", "operands": "f32"}, "inputs": {"level": "random"}}
    Path("spec.json").write_text(json.dumps(spec))
    given = ["spec.json" if word == "SPEC" else word for word in given]
    assert main(["vectors", "sweep", *given, "--out", "out"]) == 2
    assert message in capsys.readouterr().err
    assert not Path("out").exists()


def test_an_unsupported_op(tmp_path: Path, capsys: Captured) -> None:
    assert main(["vectors", "sweep", "arith.addff", "--type", "f16", "--out", str(tmp_path / "out")]) == 3
    assert capsys.readouterr().err.startswith("error: no op named 'arith.addff'")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_of_another_sweep(tmp_path: Path, capsys: Captured) -> None:
    assert main([*ADD, "--out", str(tmp_path)]) == 0
    assert main([*ADD, "--out", str(tmp_path), "--format", "csv"]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error == f"""error: '{tmp_path}' holds another sweep: its 'format' is "npz", not "csv\""""
    assert hint == "hint: give another directory with --out"


def test_a_corrupt_manifest(tmp_path: Path, capsys: Captured) -> None:
    assert main([*ADD, "--out", str(tmp_path)]) == 0
    (tmp_path / "manifest-0-of-1.jsonl").write_text("?\n")
    assert main([*ADD, "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {tmp_path}/manifest-0-of-1.jsonl:1: the manifest is corrupt: ")


def test_a_corrupt_shard(tmp_path: Path, capsys: Captured) -> None:
    assert main([*ADD, "--out", str(tmp_path)]) == 0
    (file,) = tmp_path.glob("*.npz")
    file.write_bytes(b"")
    assert main([*ADD, "--out", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert re.fullmatch(r"note: shard 0: its file has 0 bytes instead of \d+; it was made again\n", err)
    assert out.endswith(f"sha256 {ADDED}\n")


def test_a_full_disk(tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **more: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shard_module, "write_vectors", full)
    assert main([*ADD, "--out", str(tmp_path / "out")]) == 2
    message = f"shard 0 (rows 0 to 65535): cannot write in '{tmp_path / 'out'}': No space left on device"
    assert capsys.readouterr() == ("", f"error: {message}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["/proc/none", "/dev/null", "/dev/null/below"])
def test_a_directory_that_cannot_be(capsys: Captured, where: str) -> None:
    assert main([*ADD, "--out", where]) == 2
    assert re.match(rf"error: cannot (write in|read) '{where}", capsys.readouterr().err)


# --- the progress bar -------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_progress_on_a_terminal_only(tmp_path: Path) -> None:
    main_end, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    given = [*HALFULP, *ADD, "--out", str(tmp_path)]
    process = subprocess.Popen(given, stderr=terminal, stdout=subprocess.PIPE, env=environment)
    os.close(terminal)
    shown = b""
    with suppress(OSError):  # how a terminal ends
        while piece := os.read(main_end, 1 << 12):
            shown += piece
    os.close(main_end)
    assert process.communicate()[0].endswith(f"sha256 {ADDED}\n".encode())
    assert b"65536/65536" in shown
    assert b" rows/s" in shown
    assert re.search(rb"\d:\d\d:\d\d", shown)


@each_row((0.25, "0.25"), (12, "12"), (1234, "1.23 k"), (45_600_000, "45.6 M"), (3e9, "3 G"))
def test_rates(number: float, text: str) -> None:
    assert _scaled(number) == text


# --- the documentation ------------------------------------------------------------------------------------------------


def test_the_documented_specs(tmp_path: Path, read_doc: Callable[[str], list[str]]) -> None:
    blocks = read_doc("json")
    assert len(blocks) >= 2
    (tmp_path / "kernel.mlir").write_text("func.func @f(%a: f16) -> f16 {\n  return %a : f16\n}\n")
    for number, block in enumerate(blocks):
        data = json.loads(block)
        data.setdefault("inputs", {}).setdefault("options", {})["count"] = 100
        (tmp_path / "spec.json").write_text(json.dumps(data))
        assert main(["vectors", "sweep", str(tmp_path / "spec.json"), "--out", str(tmp_path / str(number))]) == 0


@pytest.fixture
def read_doc() -> Callable[[str], list[str]]:
    text = (ROOT / "docs" / "sweeps.md").read_text()
    return lambda language: re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_documented_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_doc: Any, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = read_doc("console")
    commands = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    assert len(commands) >= 2
    for command in commands:
        line, _, expected = command.replace("\\\n", "").partition("\n")
        words = line.split()
        assert words[0] == "halfulp"
        assert main(words[1:]) == 0
        out, err = capsys.readouterr()
        assert err + out == expected


def test_the_documented_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_doc: Any, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = read_doc("python")
    assert "count=1 << 26" in block
    exec(block.replace("1 << 26", "1 << 12"), {})
    assert "Swept(of=1, done=1, kept=0, rows=4096, digest='" in capsys.readouterr().out


# --- job array --------------------------------------------------------------------------------------------------------
#
# Tasks of job arrays: the variables as the documents of the batch systems describe them.


def slurm(index: int, first: int, last: int, step: int, count: int) -> dict[str, str]:
    names = ("ID", "MIN", "MAX", "STEP", "COUNT")
    return {f"SLURM_ARRAY_TASK_{n}": str(v) for n, v in zip(names, (index, first, last, step, count), strict=True)}


def grid_engine(*numbers: object) -> dict[str, str]:
    return {f"SGE_TASK_{n}": str(v) for n, v in zip(("ID", "FIRST", "LAST", "STEPSIZE"), numbers, strict=True)}


def lsf(*numbers: object) -> dict[str, str]:
    return {f"LSB_JOBINDEX{n}": str(v) for n, v in zip(("", "_END", "_STEP"), numbers, strict=True)}


@each_row(
    (slurm(0, 0, 63, 1, 64), (0, 64)),
    (slurm(63, 0, 63, 1, 64), (63, 64)),
    (slurm(11, 1, 11, 5, 3), (2, 3)),
    (slurm(7, 7, 7, 1, 1), (0, 1)),
    ({"SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_MAX": "3"}, (1, 3)),
    (grid_engine(1, 1, 64, 1), (0, 64)),
    (grid_engine(91, 1, 100, 10), (9, 10)),
    (lsf(1, 64, 1), (0, 64)),
    (lsf(64, 64, 1), (63, 64)),
    # A job of LSF or Grid Engine that is not an array, from which Slurm was started, and the other way round.
    (grid_engine("undefined", "undefined", "undefined", "undefined") | slurm(3, 0, 7, 1, 8), (3, 8)),
    (lsf(0, 0, 0) | grid_engine(2, 1, 2, 1), (1, 2)),
)
def test_parts(environment: dict[str, str], part: tuple[int, int]) -> None:
    assert part_of_array(environment) == part


@each_row(
    ({}, "not a task of a job array: none of SLURM_ARRAY_TASK_ID"),
    (grid_engine("undefined", "undefined", "undefined", "undefined"), "not a task of a job array"),
    (lsf(0, 0, 0), "not a task of a job array"),
    ({"LSB_JOBINDEX": "3"}, "LSF sets LSB_JOBINDEX, but not LSB_JOBINDEX_END"),
    (slurm(3, 3, 7, 1, 2), "task 3 is not one of 2 tasks from 3 to 7 in steps of 1: the array has gaps"),
    (slurm(4, 1, 9, 2, 5), "the array has gaps"),
    (grid_engine(9, 1, 8, 1), "the array has gaps"),
)
def test_jobs_that_are_no_such_tasks(environment: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        part_of_array(environment)
    assert "give --shard I/N, where I counts from 0" in str(caught.value)
