"""Fixtures of the tests of commands: the command line in this process, and files in an empty folder."""

from pathlib import Path
from typing import Any

import pytest
from command import Command
from fake_mlir_opt import TWICE, FakeOpt, made_in


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Return the command line in this process."""
    return Command(capsys)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what writes files into the current directory, which is an empty one."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, content: str | bytes) -> str:
        data = content.encode() if isinstance(content, str) else content
        Path(name).write_bytes(data)
        return name

    return write


@pytest.fixture
def fake_opt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeOpt:
    """Make an mlir-opt from the body of a shell script, and return the option that names it. `f.mlir` is `TWICE`."""
    monkeypatch.chdir(tmp_path)
    Path("f.mlir").write_text(TWICE, encoding="utf-8")
    return made_in(tmp_path)
