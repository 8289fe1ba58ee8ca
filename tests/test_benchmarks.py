"""The table of benchmarks/: every row can be measured, peers that are absent are said, RESULTS.md holds all rows.

Nothing here depends on how long something takes.
"""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from types import ModuleType

import numpy as np
import pytest
from tree import ROOT


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.table")


@pytest.fixture
def rows(table: ModuleType) -> ModuleType:
    return sys.modules["benchmarks.rows"]


def test_every_row_is_measured_at_a_small_size(table: ModuleType, rows: ModuleType) -> None:
    """Those by compiled loops left out: compiling takes long where nothing is cached."""
    sizes = rows.Sizes(elements=2048, chain=2048, exact=256, ops=400, rounds=1)
    wanted = [row for row in table.all_rows() if "compiled" not in row.group]
    done = list(table.lines(wanted, sizes))
    assert [line.trouble for line in done if line.wrong] == []
    troubles = [line.trouble for line in done if line.measured is None]
    assert all("not installed" in trouble or "on PATH" in trouble for trouble in troubles), troubles
    for line in done:
        if line.measured is not None:
            assert line.measured.ours > 0, line
            assert bool(line.row.peer) == (line.measured.peer is not None), line
            assert line.row.target.speed is None or line.measured.speed is not None, line
            assert line.row.target.copies is None or line.measured.copies is not None, line
    assert f"| {done[0].row.name} |" in table.markdown(done)


def test_rows_have_names_of_their_own(table: ModuleType) -> None:
    names = Counter((row.group, row.name, row.peer) for row in table.all_rows())
    assert {name: count for name, count in names.items() if count > 1} == {}


def test_results_hold_every_row(table: ModuleType) -> None:
    text = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    found = set()
    group = ""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("## "):
            group = line[3:].lower()
        elif group and len(cells) == len(table.HEAD) and cells[0] != table.HEAD[0] and not cells[0].startswith("---"):
            found.add((group, cells[0], cells[2], cells[6]))
    rows = {(row.group, row.name, row.peer, row.target.spell(row.unit)) for row in table.all_rows()}
    assert found == rows


def test_what_is_absent_or_wrong_is_said(table: ModuleType, rows: ModuleType) -> None:
    def absent(sizes: object) -> None:
        raise rows.Absent("the peer is not installed")

    def wrong(sizes: object) -> None:
        rows.agree("sums", np.arange(3), np.zeros(3, np.int64))

    done = list(table.lines([rows.Row("group", "one", absent), rows.Row("group", "two", wrong)], rows.Sizes()))
    assert [line.wrong for line in done] == [False, True]
    assert "2 of 3 results of sums differ" in done[1].trouble
    text = table.markdown(done)
    assert "the peer is not installed" in text
    assert "RESULTS DIFFER" in text
    assert "1 rows could not be measured" in text


@pytest.mark.parametrize(
    ("target", "met"),
    [
        ({}, None),
        ({"speed": 2}, True),
        ({"speed": 2.1}, False),
        ({"copies": 4}, True),
        ({"copies": 3.9}, False),
        ({"most": 10}, True),
        ({"most": 9.9}, False),
        ({"speed": 2, "copies": 3.9}, False),
    ],
)
def test_targets(rows: ModuleType, target: dict[str, float], met: bool | None) -> None:
    assert rows.Measured(10, 20, 2.5).meets(rows.Target(**target)) is met


def test_a_peer_may_differ_only_as_its_profile_says(rows: ModuleType) -> None:
    """Or by the bits of a NaN."""
    ours = np.array([1, 2, np.nan, 4], np.float32)
    theirs = np.array([1, 3, -np.nan, 4], np.float32)
    assert rows.agree_or_as_predicted("it", ours, ours, lambda: None) == ""
    note = rows.agree_or_as_predicted("it", ours, theirs, lambda: theirs)
    assert note == "the peer has another NaN in 0.25 and another value, as its profile says, in 0.25 of the results"
    with pytest.raises(rows.Disagreement, match="1 of 1 results of it"):
        rows.agree_or_as_predicted("it", ours, theirs, lambda: ours)
    with pytest.raises(rows.Disagreement):
        rows.agree_or_as_predicted("it", ours, np.array([1, 2, 3, 4], np.float32), lambda: ours)
