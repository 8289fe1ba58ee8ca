"""The ways of the data are at most as long as `ways.LIMITS` says."""

from pathlib import Path
from typing import Any

import pytest
import ways

pytestmark = pytest.mark.lint


def test_calls_stay_within_their_limits() -> None:
    found = ways.of_calls()
    assert all(way.calls >= way.functions >= way.files > 3 for way in found.values())
    assert [problem for name, way in found.items() for problem in ways.excess(name, way)] == []


@pytest.mark.parametrize("name", ways.COMMANDS)
def test_commands_stay_within_their_limits(name: str) -> None:
    way = ways.of_command(name)
    assert way.modules is not None
    assert way.modules >= way.files > 20
    assert ways.excess(f"halfulp {name}", way) == []


def test_every_limit_belongs_to_a_way() -> None:
    assert set(ways.LIMITS) == {*ways.library_calls(), *(f"halfulp {name}" for name in ways.COMMANDS)}


def test_a_longer_way_is_seen() -> None:
    limits = ways.LIMITS["hu.run(text)"]
    way = ways.Way(limits["calls"] + 1, 300, limits["files"] + 2, limits["changes"])
    assert ways.excess("hu.run(text)", way) == [
        f"hu.run(text): {limits['calls'] + 1} calls, at most {limits['calls']}",
        f"hu.run(text): {limits['files'] + 2} files, at most {limits['files']}",
    ]


def test_calls_are_counted_by_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of `f`, which calls `g` of another file twice: three calls, two functions, two files, three changes of file."""
    monkeypatch.setattr(ways, "ROOT", tmp_path)
    (tmp_path / "api").mkdir()
    sources = {"one": "def f(g): return g() + g()", "two": "def g(): return 1"}
    names: dict[str, dict[str, Any]] = {"one": {}, "two": {}}
    for name, source in sources.items():
        exec(compile(source, tmp_path / "api" / f"{name}.py", "exec"), names[name])
    assert ways.counted(lambda: names["one"]["f"](names["two"]["g"])) == ways.Way(3, 2, 2, 3)
