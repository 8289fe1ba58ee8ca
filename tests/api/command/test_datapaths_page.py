"""docs/datapaths.md: its programs are those of examples/datapaths, and its devices and commands print what it shows."""

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from documents import DOCS
from tree import ROOT

from halfulp.command.main import main

PAGE = DOCS / "datapaths.md"
EXAMPLES = ROOT / "examples" / "datapaths"

Captured = pytest.CaptureFixture[str]


def follow(text: str, capsys: Captured) -> int:
    """Execute the blocks of Python and the commands of a page in their order. Return how many commands there are."""
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    blocks = re.findall(r"^```(python|console)\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", text, re.DOTALL | re.MULTILINE)
    for kind, block, printed in blocks:
        if kind == "python":
            exec(compile(block, PAGE.name, "exec"), names)
            assert capsys.readouterr().out == printed
            continue
        for part in (part for part in re.split(r"^\$ halfulp ", block, flags=re.MULTILINE) if part):
            line, _, shown = part.partition("\n")
            code = main(shlex.split(line))
            captured = capsys.readouterr()
            assert (line, captured.out + captured.err) == (line, shown)
            assert code == int(bool(re.search(r"rows, \d+ differ", shown)))
            count += 1
    return count


def test_the_page_shows_the_examples() -> None:
    shown = re.findall(r"^```mlir\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert sorted(shown) == sorted(path.read_text(encoding="utf-8") for path in EXAMPLES.iterdir())


@pytest.mark.long
def test_the_page_prints_what_it_shows(tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples" / "datapaths")
    monkeypatch.chdir(tmp_path)
    assert follow(PAGE.read_text(encoding="utf-8"), capsys) == 8


def test_formats_of_ones_own_and_fixed_point(tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples of the page on vectors."""
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "vector-files.md").read_text(encoding="utf-8")
    for mark, commands in (("own", 2), ("fixed", 3)):
        assert follow(text.split(f"<!-- {mark} -->\n\n")[1].split("\n\n")[0] + "\n", capsys) == commands
