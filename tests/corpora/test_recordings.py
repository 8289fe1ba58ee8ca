"""Recorded answers of real tools, compared here where none of the tools is installed."""

import re
from collections import Counter

import pytest
from amounts import amounts
from command import halfulp
from corpora.recordings import FILE, NOT_RECORDED, recorded, replay
from corpora.reports import Outcome, outcome, reports, table
from corpora.reports import recorded as reports_recorded
from tables import each_row
from tree import ROOT

from halfulp.conformance.comparing.check import error_bounds
from halfulp.conformance.comparing.divergences import divergences, in_range
from halfulp.conformance.ops.jobs import jobs
from halfulp.conformance.oracles import ORACLES
from halfulp.conformance.oracles.tool import find_tool

MAX_BYTES = 5_000_000
NO_KNOWN_DIFFERENCES = ("exact", "mlir-math-apfloat", "tosa")


@pytest.mark.added
def test_every_oracle_is_recorded_and_documented() -> None:
    assert recorded().keys() == set(ORACLES) - NOT_RECORDED, (
        "run `PYTHONPATH=tests python -m corpora.recordings NAME` where the tool is installed; "
        "an oracle that depends on the user belongs to NOT_RECORDED of tests/corpora/recordings.py"
    )
    pages = "".join((ROOT / "docs" / name).read_text() for name in ("differential-testing.md", "accuracy.md"))
    commands = (ROOT / "docs" / "command-line.md").read_text()
    said = commands.partition("An oracle is another implementation:")[2].partition("```")[0]
    for name in ORACLES:
        assert re.search(rf"`{name}\b", pages), f"describe the oracle {name} in docs/differential-testing.md"
        assert re.search(rf"\s{name}\b", said), (
            f"name the oracle {name} in the help in api/command/verify.py, and run `python docs/generate.py`"
        )


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(recorded()))
def test_recorded_answers_are_explained(name: str) -> None:
    source = recorded()[name]
    total = replay(name)
    assert {job.case for job in jobs("sample", oracles=[name])} == {case for case, _ in source.answers}
    assert total.failures == []
    assert total.mismatches == []
    assert total.unexplained == 0
    # A change of ours that hides behind a divergence changes how many elements the divergence covers.
    rows = [row for row in divergences() if name in row.tools and in_range(source.version, row.versions)]
    bounds = [row for row in error_bounds() if row.tool == name and in_range(source.version, row.versions)]
    assert rows or bounds or name in NO_KNOWN_DIFFERENCES, (
        "an oracle without a row belongs to NO_KNOWN_DIFFERENCES here"
    )
    assert {row.name: total.known[row.name] for row in rows} == {row.name: row.sampled[name] for row in rows}
    assert total.reformed.keys() <= {row.name for row in rows if row.sporadic}


def test_the_recording_is_small() -> None:
    assert FILE.stat().st_size < MAX_BYTES


# --- reports ----------------------------------------------------------------------------------------------------------
#
# The programs of public reports, and the verdicts on them.


def test_every_report_has_a_verdict() -> None:
    assert [one.number for one in reports_recorded()] == [report.number for report in reports()]
    counts = Counter(one.verdict.partition(":")[0] for one in reports_recorded())
    assert counts["the passes are wrong"] >= 14
    assert len(reports_recorded()) >= 30
    assert len(table(reports_recorded())) == len(reports_recorded()) + 2


@each_row(
    (Outcome(1, "1", "1", "1", ""), "no difference in 22.1.8"),
    (Outcome(1, "1", "2", "1", "2"), "the passes are wrong"),
    (Outcome(1, "1", "1", "2", "1"), "the lowering for mlir-runner is wrong: 2"),
    (Outcome(1, "undefined", "2", "1", "2", "why"), "the program is undefined: any output is right"),
)
def test_a_verdict_follows_from_what_is_printed(one: Outcome, verdict: str) -> None:
    assert one.verdict == verdict


@pytest.mark.mlir
@pytest.mark.parametrize("step", amounts(4, long=1))
def test_the_outcomes_are_as_recorded(step: int) -> None:
    opt = find_tool("mlir-opt-22", "HALFULP_MLIR_OPT", "22.")
    runner = find_tool("mlir-runner-22", "HALFULP_MLIR_RUNNER", "22.")
    sample = reports()[::step]
    found = {report.number: outcome(report, opt, runner) for report in sample}
    assert len(found) == len(sample) > 5
    for one in (one for one in reports_recorded() if one.number in found):
        # What a program reads behind the end of its memory, or of memory that was freed, is another number each time.
        if one.undefined or one.after in ("undefined", "poison"):
            assert found[one.number].verdict == one.verdict
        else:
            assert found[one.number] == one


# --- entry points -----------------------------------------------------------------------------------------------------
#
# The tools of the corpora run from a checkout.

TOOLS = {
    "corpus": [], "corpus_iree": ["--help"], "recorder": ["--help"], "recordings": ["--help"],
    "bytecode_files": ["--help"], "constraints_iree": ["--help"], "fuzz_text": ["-n", "2"],
    "fuzz_bytecode": ["-n", "2"],
}  # fmt: skip
"""The arguments that a tool is run with: those that would write recorded data only explain themselves."""


@pytest.mark.long
@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_runs(tool: str) -> None:
    done = halfulp(*TOOLS[tool], module=f"corpora.{tool}")
    assert (done.code, done.err) == (0, "")
    assert TOOLS[tool] != ["--help"] or f"usage: python -m corpora.{tool} " in done.out
