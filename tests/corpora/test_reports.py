"""The programs of public reports, and the verdicts on them."""

from __future__ import annotations

from collections import Counter

import pytest
from corpora.reports import Outcome, outcome, recorded, reports, table

from halfulp.conformance.oracles.tool import find_tool


def test_every_report_has_a_verdict() -> None:
    assert [one.number for one in recorded()] == [report.number for report in reports()]
    counts = Counter(one.verdict.partition(":")[0] for one in recorded())
    assert counts["the passes are wrong"] >= 14
    assert len(recorded()) >= 30
    assert len(table(recorded())) == len(recorded()) + 2


@pytest.mark.parametrize(
    ("one", "verdict"),
    [
        (Outcome(1, "1", "1", "1", ""), "no difference in 22.1.8"),
        (Outcome(1, "1", "2", "1", "2"), "the passes are wrong"),
        (Outcome(1, "1", "1", "2", "1"), "the lowering for mlir-runner is wrong: 2"),
        (Outcome(1, "undefined", "2", "1", "2", "why"), "the program is undefined: any output is right"),
    ],
)
def test_a_verdict_follows_from_what_is_printed(one: Outcome, verdict: str) -> None:
    assert one.verdict == verdict


@pytest.mark.mlir
def test_the_outcomes_are_as_recorded() -> None:
    opt = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22.")
    runner = find_tool("mlir-runner-22", "HALFULP_MLIR_RUNNER", "22.")
    found = {report.number: outcome(report, opt, runner) for report in reports()}
    for one in recorded():
        # What a program reads behind the end of its memory, or of memory that was freed, is another number each time.
        if one.undefined or one.after in ("undefined", "poison"):
            assert found[one.number].verdict == one.verdict
        else:
            assert found[one.number] == one
