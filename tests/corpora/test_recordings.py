"""Recorded answers of real tools, compared here where none of the tools is installed."""

from __future__ import annotations

import re

import pytest
from corpora.recordings import FILE, NOT_RECORDED, recorded, replay
from tree import ROOT

from halfulp.conformance.comparing.check import error_bounds
from halfulp.conformance.comparing.divergences import divergences
from halfulp.conformance.ops.jobs import jobs
from halfulp.conformance.oracles import ORACLES

MAX_BYTES = 5_000_000
NO_KNOWN_DIFFERENCES = ("exact", "mlir-math-apfloat")


@pytest.mark.added
def test_every_oracle_is_recorded_and_documented() -> None:
    assert recorded().keys() == set(ORACLES) - NOT_RECORDED, (
        "run `PYTHONPATH=tests python -m corpora.recordings NAME` where the tool is installed; "
        "an oracle that depends on the user belongs to NOT_RECORDED of tests/corpora/recordings.py"
    )
    pages = "".join((ROOT / "docs" / name).read_text() for name in ("differential-testing.md", "accuracy.md"))
    for name in ORACLES:
        assert re.search(rf"`{name}\b", pages), f"describe the oracle {name} in docs/differential-testing.md"


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
    rows = [row for row in divergences() if name in row.tools and source.version.startswith(row.versions)]
    bounds = [row for row in error_bounds() if row.tool == name and source.version.startswith(row.versions)]
    assert rows or bounds or name in NO_KNOWN_DIFFERENCES
    assert {row.name: total.known[row.name] for row in rows} == {row.name: row.sampled[name] for row in rows}
    assert total.reformed.keys() <= {row.name for row in rows if row.sporadic}


def test_the_recording_is_small() -> None:
    assert FILE.stat().st_size < MAX_BYTES
