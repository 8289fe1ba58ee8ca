"""Sets of vectors that tests make with the command line, in the process of the test."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema

from halfulp.command.main import main
from halfulp.conformance.vectors import metadata
from halfulp.conformance.vectors.formats import read_vectors

ADDF = ("vectors", "make", "arith.addf", "--type", "f8E4M3FN")
"""The arguments of a small set."""


class Ran(NamedTuple):
    """The exit code of a command, and its output."""

    code: int
    out: str
    err: str


def run(*arguments: str, cwd: Path | None = None) -> Ran:
    """Run ``halfulp`` with these arguments in this process, which is quicker than in one of its own."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.chdir(cwd or Path.cwd()):
        code = main(arguments)
    out.flush()
    return Ran(code, out.buffer.getvalue().decode(), err.getvalue())


def made(folder: Path, *arguments: str) -> dict[str, Any]:
    """Return the metadata of a set that the command makes in a folder; it must be valid, and each file hold the set."""
    done = run(*arguments, "--out", str(folder))
    assert done.code == 0, done.err
    (path,) = folder.glob("*.json")
    document = metadata.from_text(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(metadata.schema()).validate(document)
    assert {file.name for file in folder.iterdir()} == {path.name, *(file["name"] for file in document["files"])}
    for file in document["files"]:
        assert digest(folder / file["name"], document) == document["sha256"], file
    return document


def digest(path: Path, document: metadata.Document) -> str:
    """Return the digest of what a file of a set holds."""
    format = next(file["format"] for file in document["files"] if file["name"] == path.name)
    with path.open("rb") as file:
        columns, options = metadata.columns_of(document), metadata.options_of(document, path.name)
        return read_vectors(file, format, columns, options).digest()


def edited(path: Path, change: Callable[[dict[str, Any]], object], name: str) -> str:
    """Return a copy of a metadata file, with a change that stands for one between versions."""
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    (path.parent / name).write_text(json.dumps(data), encoding="utf-8")
    return str(path.parent / name)


def changed(*arguments: str) -> Ran:
    return run("vectors", "make", "--changed", *arguments)
