"""ARCHITECTURE.md names the rooms that exist, and every file that is longer than 700 lines."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tree import LAYERS, ROOT, package_files

PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
LONGEST = 700
WRITTEN_BY_PEOPLE = (".py", ".md", ".js", ".css", ".html")


def tracked() -> list[str]:
    """List the files of the repository, or of the copy that is tested."""
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def excepted() -> dict[str, str]:
    """Return the rows of the section on long files: path to reason."""
    section = PAGE.partition("## Long files")[2]
    return dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", section, re.MULTILINE))


def test_long_files_have_a_row_with_a_reason() -> None:
    lengths = {
        path: len((ROOT / path).read_text(encoding="utf-8").splitlines())
        for path in tracked()
        if path.endswith(WRITTEN_BY_PEOPLE)
    }
    assert len(lengths) > 400
    long = {path for path, lines in lengths.items() if lines > LONGEST}
    assert long == excepted().keys()


def test_every_room_is_named() -> None:
    rooms = {
        path.parent.relative_to(ROOT)
        for path in package_files().values()
        if path.suffix == ".py" and path.name != "__init__.py"
    }
    named = {Path(target) for target in re.findall(r"\]\(([^)]+)\)", PAGE)}
    # A folder stands for the folders in it, but for the five at the top.
    top = {Path(folder) for folder in LAYERS}
    assert {room for room in rooms if not {room, *room.parents} - (top - {room}) & named} == set()


def test_links_lead_to_files() -> None:
    targets = re.findall(r"\]\(([^)#]+)", PAGE)
    assert len(targets) > 20
    assert [target for target in targets if not (ROOT / target).exists()] == []
