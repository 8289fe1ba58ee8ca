"""Names in programs, dumps, metadata and manifests choose no file outside of the folder of a command."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from amounts import thinned
from command import Command
from every_command import EVERY, PASSES, SET, prepare

OUTSIDE = ("../../victim", "../victim", "/{root}/victim", "in/../../victim", "..\\..\\victim", "victim\0", "..")
PROGRAM = 'func.func @"{name}"(%a: f32) -> f32 {{\n  %0 = arith.addf %a, %a : f32\n  return %0 : f32\n}}\n'


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = prepare(tmp_path / "above" / "here")
    monkeypatch.chdir(folder)
    (folder / "in").mkdir()
    (folder.parent / "victim").write_text("token")
    (tmp_path / "victim").write_text("token")
    return folder


def outside(here: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files beside the folder, with their text."""
    for path in sorted(here.parent.parent.rglob("*")):
        if path.is_file() and here not in path.parents:
            yield path, path.read_text()


@pytest.mark.parametrize("name", thinned(OUTSIDE, 3))
def test_written_files(name: str, here: Path, command: Command) -> None:
    name = name.replace("{root}", str(here.parent).strip("/"))
    before = list(outside(here))
    symbol = name.replace("\\", "\\5C").replace("\0", "\\00")
    (here / "p.mlir").write_text(PROGRAM.format(name=symbol))
    (here / "q.mlir").write_text(PROGRAM.format(name=symbol).replace("addf", "mulf"))
    dump = f"// -----// IR Dump After {name} ({name}) //----- //\n"
    (here / "dumps").write_text("".join(dump + (here / f"{one}.mlir").read_text() for one in "pq"))
    for words in (
        ("vectors", "make", "p.mlir", "-n2", "--format=testfloat,c,sv,coe,mlir", "--out=in/set"),
        ("vectors", "make", *SET, f"--name={name}", "--out=in/named"),
        ("vectors", "sweep", "p.mlir", "-n2", "--workers=1", "--out=in/sweep"),
        ("bisect", "p.mlir", "q.mlir", "--keep=in/stages"),
        ("bisect", "--dumps=dumps", "--keep=in/dumped"),
        ("diff", "p.mlir", PASSES, "--mlir-opt=./my-opt", "--keep=in/kept"),
        ("run", "p.mlir", "--input=1", "--trace", "--npz=in/trace"),
    ):
        assert command(*words)[0] in (0, 1, 2), words
    assert list(outside(here)) == before
    assert {path.name for path in here.iterdir()} <= {*(path.name for path in here.iterdir() if path.name in ("in", "out", "p.mlir", "q.mlir", "dumps")), "add.mlir", "two.mlir", "twice.mlir", "shifted.mlir", "my-opt", "interesting", "dispatch.mlir", "tuning.mlir", "set.csv", "set.json", "coverage.json", "add.mlirbc"}  # fmt: skip


@pytest.mark.parametrize("name", thinned(OUTSIDE, 4))
def test_files_that_metadata_and_manifests_name(name: str, here: Path, command: Command) -> None:
    name = name.replace("{root}", str(here.parent).strip("/"))
    document = json.loads((here / "set.json").read_text())
    document["files"][0]["name"] = name
    (here / "in" / "set.json").write_text(json.dumps(document))
    code, out, err = command("vectors", "make", "--changed", "in/set.json")
    assert (code, "outside of its folder" in err) == (2, True) or "no data file lies beside it" in err, (code, out, err)
    words = [word.replace("out/sweep", "in/sweep") for word in EVERY["vectors sweep"].words]
    assert command(*words)[0] == 0
    manifest = here / "in" / "sweep" / "manifest-0-of-1.jsonl"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "file": name}) + "\n")
    code, _, err = command(*words)
    assert (code, "the manifest is corrupt" in err) == (2, True), err
