"""ARCHITECTURE.md names the rooms that exist."""

import re
from pathlib import Path

import pytest
from tree import LAYERS, ROOT, package_files

pytestmark = pytest.mark.lint

PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


@pytest.mark.added
def test_every_room_is_named() -> None:
    rooms = {
        path.parent.relative_to(ROOT)
        for path in package_files().values()
        if path.suffix == ".py" and path.name != "__init__.py"
    }
    named = {Path(target) for target in re.findall(r"\]\(([^)]+)\)", PAGE)}
    # A folder stands for the folders in it, but for the five at the top.
    top = {Path(folder) for folder in LAYERS}
    assert {room for room in rooms if not {room, *room.parents} - (top - {room}) & named} == set(), (
        "describe the folder in ARCHITECTURE.md, with a link to it"
    )


def test_links_lead_to_files() -> None:
    targets = re.findall(r"\]\(([^)#]+)", PAGE)
    assert len(targets) > 20
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_each_word_of_the_house_is_explained_once() -> None:
    table = PAGE.partition("\n## Words that the code uses\n")[2].partition("\n## ")[0]
    words = re.findall(r"^\| (\w+) \|", table, re.MULTILINE)[1:]
    assert words == sorted(set(words))
    assert len(words) <= 30
    life = PAGE.partition("\n## The life of addf\n")[2].partition("\n## ")[0].partition("\n1. ")[2]
    used = {word.removesuffix("s") for word in re.findall(r"\*\*(\w+)\*\*", life)}
    assert used - {word.removesuffix("s") for word in words} == set()
