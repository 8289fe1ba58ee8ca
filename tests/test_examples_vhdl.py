"""examples/vhdl: the file of vectors has the words that its bench reads, and its README's commands print what it says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import PATIENCE
from tree import ROOT

from halfulp.command.main import main

EXAMPLES = ROOT / "examples"
README = EXAMPLES / "vhdl" / "README.md"

COMMANDS = [
    part
    for block in re.findall(r"```console\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)
    if part
]


def test_hread_can_read_the_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """hread takes as many digits as the width of its variable has: of 16 bits always four, with leading zeros."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fixed_point.mlir").write_text((EXAMPLES / "datapaths" / "fixed_point.mlir").read_text())
    words = COMMANDS[0].split()
    assert words[:4] == ["halfulp", "vectors", "make", "../datapaths/fixed_point.mlir"]
    assert main(["vectors", "make", "fixed_point.mlir", *words[4:]]) == 0
    lines = (tmp_path / "fixed_point.tv").read_text().splitlines()
    assert len(lines) == 2000
    assert all(re.fullmatch(r"[0-9A-F]{4}( [0-9A-F]{4}){3}", line) for line in lines)
    assert COMMANDS[1].splitlines()[1:] == lines[:3]
    bench = (EXAMPLES / "vhdl" / "bench.vhd").read_text(encoding="utf-8")
    assert re.findall(r"hread\(from_file, (\w+)", bench) == ["x", "y", "z", "expected"]
    assert "std_logic_vector(15 downto 0)" in bench


@pytest.mark.ghdl
def test_the_readme_says_what_is_printed(tmp_path: Path) -> None:
    for name in ("vhdl", "datapaths"):
        shutil.copytree(EXAMPLES / name, tmp_path / name)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command in COMMANDS:
        line, _, printed = command.partition("\n")
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=tmp_path / "vhdl",
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (line, done.stdout) == (line, printed), done.stderr
    assert len(COMMANDS) == 8
