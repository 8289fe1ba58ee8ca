"""Commands that write into a folder do not follow links that somebody put there."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from amounts import thinned
from command import Command
from tree import ROOT

from halfulp.conformance.files import open_to_append, replaced
from halfulp.inputs import write_file
from halfulp.interp.ir.errors import InputError

ADD = str(ROOT / "examples" / "f8_add.mlir")
INPUTS = ("--function=main", "--input=4xf8E4M3FN=1 0.3 -2.5 448", "--input=4xf8E4M3FN=0.0625 0.3 2.5 32")

WRITERS = {
    "sweep": ("vectors", "sweep", "arith.addf", "--type=f8E4M3FN", "--workers=1", "--out=FOLDER"),
    "vectors": ("vectors", "make", "arith.addf", "--type=f8E4M3FN", "-n3", "--out=FOLDER"),
    "trace": ("run", ADD, *INPUTS, "--trace", "--npz=FOLDER"),
    "bisect": ("bisect", ADD, ADD, "--keep=FOLDER"),
}


def files_of(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("name", thinned(WRITERS, 2))
def test_links_are_replaced_or_refused(name: str, tmp_path: Path, command: Command) -> None:
    words = WRITERS[name]
    first, second, outside = (tmp_path / word for word in ("first", "second", "outside"))
    code, _, err = command(*(word.replace("FOLDER", str(first)) for word in words))
    assert code == 0, err
    names = files_of(first)
    assert names
    second.mkdir()
    outside.mkdir()
    for each in names:
        (outside / each).write_text("token-without-newline")
        # What a sweep needs to go on in a folder is there, and everything else is a link.
        if each == "sweep.json":
            (second / each).write_bytes((first / each).read_bytes())
        else:
            (second / each).symlink_to(outside / each)
    code, _, err = command(*(word.replace("FOLDER", str(second)) for word in words))
    assert {path.read_text() for path in outside.iterdir()} == {"token-without-newline"}
    assert files_of(second) >= names
    if code:
        assert (code, "it is a link" in err) == (2, True), err
    else:
        assert not [path for path in second.iterdir() if path.is_symlink()]


def test_a_temporary_name_cannot_be_foreseen(tmp_path: Path) -> None:
    seen = set()
    for _ in range(2):
        with replaced(tmp_path / "x") as file:
            file.write(b"1")
            seen |= files_of(tmp_path)
    assert len(seen - {"x"}) == 2
    assert files_of(tmp_path) == {"x"}


def test_nothing_stays_of_a_file_that_could_not_be_written(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("old")
    with pytest.raises(ZeroDivisionError), replaced(tmp_path / "x") as file:
        file.write(bytes([1 // 0]))
    assert files_of(tmp_path) == {"x"}
    assert (tmp_path / "x").read_text() == "old"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.symlink_to(path.with_name("y")), "it is a link"),
        (os.mkfifo, "it is not a regular file"),
    ],
)
def test_only_a_regular_file_is_appended_to(make: Callable[[Path], None], message: str, tmp_path: Path) -> None:
    make(tmp_path / "x")
    with pytest.raises((InputError, OSError), match=f"{message}|No such device"):
        open_to_append(tmp_path / "x")
    assert not (tmp_path / "y").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives links away")
def test_a_link_that_another_user_made_is_refused(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    write_file(link, b"new")
    assert target.read_text() == "new"
    os.chown(link, 12345, -1, follow_symlinks=False)
    with pytest.raises(InputError, match="it is a link that another user made"):
        write_file(link, b"newer")
    assert target.read_text() == "new"
    write_file(link, b"newer", follow=False)
    assert (target.read_text(), link.read_text(), link.is_symlink()) == ("new", "newer", False)
