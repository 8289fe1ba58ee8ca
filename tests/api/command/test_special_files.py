"""Pipes without a writer, and devices that never end, in the place of files."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from amounts import thinned
from command import Command
from every_command import EVERY, prepare

SWEEP = EVERY["vectors sweep"].words
ENDLESS = {"pipe": os.mkfifo, "device": lambda path: path.symlink_to("/dev/zero")}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepare(tmp_path_factory.mktemp("special") / "here")


@pytest.fixture
def here(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(prepared, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.mark.parametrize("kind", thinned(ENDLESS, 3))
@pytest.mark.parametrize("name", ["sweep.json", "manifest-0-of-1.jsonl", "manifest-1-of-2.jsonl", "0-*.npz"])
def test_in_the_folder_of_a_sweep(name: str, kind: str, here: Path, command: Command) -> None:
    assert command(*SWEEP)[0] == 0
    path = next((here / "out" / "sweep").glob(name), here / "out" / "sweep" / name)
    path.unlink(missing_ok=True)
    ENDLESS[kind](path)
    code, _, err = command(*SWEEP)
    if path.suffix == ".npz":  # a shard is made again
        assert (code, "is not a regular file; it was made again" in err, path.is_file()) == (0, True, True), err
    else:
        assert code == 2
        assert any(words in err for words in ("is not a regular file", "it is a link", "No such device")), err


@pytest.mark.parametrize("kind", ENDLESS)
def test_in_a_folder_of_dumps(kind: str, here: Path, command: Command) -> None:
    (here / "dumps").mkdir()
    ENDLESS[kind](here / "dumps" / "0_canonicalize.mlir")
    code, _, err = command("bisect", "--dumps=dumps")
    assert (code, "'dumps/0_canonicalize.mlir': it is not a regular file" in err) == (2, True), err


def test_beside_metadata(here: Path, command: Command) -> None:
    (here / "spec.json").write_text('{"source": {"program": "p.mlir", "function": "f"}, "inputs": {}}')
    os.mkfifo(here / "p.mlir")
    code, _, err = command("vectors", "sweep", "spec.json", "--out=out/sweep")
    assert code == 2
    assert "not a regular file" in err, err


DEVICES: dict[str, Callable[[str], tuple[str, ...]]] = {
    "run": lambda file: ("run", file),
    "diff": lambda file: ("diff", file, "twice.mlir"),
    "bisect": lambda file: ("bisect", f"--dumps={file}"),
    "input": lambda file: ("eval", "arith.addf", f"--input=f32=@{file}", "--input=f32=1"),
    "metadata": lambda file: ("vectors", "check", "set.csv", f"--metadata={file}"),
    "changed": lambda file: ("vectors", "make", "--changed", file),
    **{
        f"check {format}": lambda file, format=format: ("vectors", "check", file, "--metadata=set.json", f"--format={format}")  # type: ignore[misc]
        for format in ("csv", "npz", "npy", "bin", "readmemh", "runs", "jsonl")
    },
}  # fmt: skip


@pytest.mark.parametrize("name", DEVICES)
def test_devices_that_the_user_names(name: str, here: Path, command: Command) -> None:
    (here / "x.npy").symlink_to("/dev/zero")
    code, _, err = command(*DEVICES[name]("x.npy"))
    assert (code, err.count("cannot read")) == (2, 1), err
    assert "it is not a regular file" in err
