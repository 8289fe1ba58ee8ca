"""The table of benchmarks/: every row can be measured, peers that are absent are said, RESULTS.md holds all rows;
and the table of two commits.

Nothing here depends on how long something takes.
"""

import importlib
import json
import sys
from collections import Counter
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from tree import ROOT

pytestmark = pytest.mark.lint


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.table")


@pytest.fixture
def comparison(table: ModuleType) -> ModuleType:
    return importlib.import_module("benchmarks.comparison")


@pytest.fixture
def rows(table: ModuleType) -> ModuleType:
    return sys.modules["benchmarks.rows"]


@pytest.mark.long
def test_every_row_is_measured_at_a_small_size(table: ModuleType, rows: ModuleType) -> None:
    sizes = rows.Sizes(elements=2048, chain=2048, exact=256, ops=400, rounds=1)
    done = list(table.lines(table.all_rows(), sizes))
    assert [line.trouble for line in done if line.wrong] == []
    troubles = [line.trouble for line in done if line.measured is None]
    absent = ("not installed", "on PATH", "HALFULP_SOFTFLOAT does not name")
    assert all(any(words in trouble for words in absent) for trouble in troubles), troubles
    for line in done:
        if line.measured is not None:
            assert line.measured.ours > 0, line
            assert bool(line.row.peer) == (line.measured.peer is not None), line
            assert line.row.target.speed is None or line.measured.speed is not None, line
            assert line.row.target.copies is None or line.measured.copies is not None, line
    assert f"| {done[0].row.name} |" in table.markdown(done)


def test_results_that_are_near(table: ModuleType, rows: ModuleType) -> None:
    distance = sys.modules["benchmarks.models"].distance
    x, zeros = np.array([1.0, -4.0]), np.zeros(2)
    assert distance("m", [x, zeros], [x, zeros]) == ""
    assert distance("m", [x, zeros], [x + 0.04, zeros]) == "the results differ by up to 0.01 of the largest"
    for wrong in (x + 0.5, x * np.nan, x[:, None], x[:1], zeros):
        with pytest.raises(rows.Disagreement):
            distance("m", [x], [wrong])
    with pytest.raises(rows.Disagreement):
        distance("m", [x * np.nan], [x])


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
    rows = {(row.group.lower(), row.name, row.peer, row.target.spell(row.unit)) for row in table.all_rows()}
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
        ({}, None), ({"speed": 2}, True), ({"speed": 2.1}, False), ({"copies": 4}, True), ({"copies": 3.9}, False),
        ({"most": 10}, True), ({"most": 9.9}, False), ({"speed": 2, "copies": 3.9}, False),
    ],
)  # fmt: skip
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


def test_two_sides_are_compared_by_their_best_figures(comparison: ModuleType) -> None:
    key = comparison.Key("text", "reading", "", "ns/op")
    turns: list[str] = []

    def side(name: str, figures: list[float | None]) -> Callable[[object], object]:
        replies = iter(figures)

        def measure(asked: object) -> object:
            assert asked is key
            turns.append(name)
            figure = next(replies)
            return comparison.Reply(figure) if figure is not None else comparison.Reply(trouble="no peer")

        return measure

    line = comparison.compare(key, side("base", [7000, 6000, None]), side("now", [3000, 5000, 4000]), 3)
    assert turns == ["base", "now"] * 3
    assert line.cells() == ("reading", "6,000 ns/op", "3,000 ns/op", "2.00×", "")

    line = comparison.compare(key, side("base", [None, None]), side("now", [20, 15]), 2)
    assert line.cells() == ("reading", "", "15 ns/op", "", "base: no peer")
    turns.clear()
    comparison.compare(key, side("base", [None]), side("now", [None]), 3)
    assert turns == ["base", "now"]


def test_rows_of_two_sides(comparison: ModuleType) -> None:
    """They are the same only if the unit is too. A row that only one side has is named."""
    one, two, three = (comparison.Key("text", name, "mlir-opt", "ns") for name in ("one", "two", "three"))
    other_unit = two._replace(unit="ns/op")
    base, now = [three, two, one], [one, other_unit, three]
    assert comparison.shared(base, now, "") == [one, three]
    assert comparison.shared(base, now, "three, mlir") == [three]
    assert comparison.alone(base, now, "") == [two]
    assert comparison.alone(now, base, "text: tw") == [other_unit]
    assert comparison.alone(now, base, "one") == []
    assert str(one) == "text: one, mlir-opt"
    widths = comparison.widths_of([one, three])
    line = comparison.text_line(comparison.Compared(three, *[comparison.Reply(10.0)] * 2).cells(), widths)
    assert line == "three, mlir-opt          10          10    1.00×"


def test_a_side_measures_the_rows_that_are_requested(rows: ModuleType) -> None:
    side = importlib.import_module("benchmarks.side")

    def absent(sizes: object) -> None:
        raise rows.Absent("not installed")

    known = [
        rows.Row("group", "one", lambda sizes: rows.Measured(sizes.rounds)),
        rows.Row("group", "two", absent, "peer", unit="s"),
    ]
    replies = side.replies(known, ["1\n", "0\n"], rows.Sizes(rounds=4), (rows.Absent,))
    assert [json.loads(reply) for reply in replies] == [
        [["group", "one", "", "ns"], ["group", "two", "peer", "s"]],
        {"trouble": "not installed"},
        {"figure": 4},
    ]
