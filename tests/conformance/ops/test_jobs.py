"""The conformance run at level sample over real tools: nothing unexplained, no tool failing, every divergence still
there.
"""

from __future__ import annotations

import pytest

from halfulp.conformance.ops import jobs as jobs_module
from halfulp.conformance.ops.families import FAMILIES
from halfulp.conformance.ops.jobs import jobs, run_jobs
from halfulp.conformance.ops.report import markdown, mismatch_text
from halfulp.conformance.oracles import ORACLES, TAKES_ARGUMENT

ASKED = [(row.name, name) for row in FAMILIES if row.sample for name in row.oracles]

REFUSED = {("mlir-native", "float arithmetic, up to 8 bits")}
"""No machine has these types: everything is refused, and the report says so."""


@pytest.mark.mlir
@pytest.mark.parametrize(("family", "name"), ASKED, ids=[f"{name}-{family}" for family, name in ASKED])
def test_nothing_is_unexplained(family: str, name: str) -> None:
    plan = list(jobs("sample", oracles=[name], family=family))
    report = run_jobs(plan, "sample")
    if report.missing:
        pytest.skip(f"{name}: {report.missing[name]}")
    total = report.total()
    assert total.failures == []
    assert [mismatch_text(case, mismatch) for case, mismatch in total.mismatches] == []
    assert total.unexplained == 0
    assert (total.compared == 0) == ((name, family) in REFUSED)
    assert len(report.tallies) == len(plan)


def test_every_oracle_has_a_family() -> None:
    assert {name for _, name in ASKED} == set(ORACLES) - TAKES_ARGUMENT


def test_a_missing_tool_is_reported_and_never_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALFULP_MLIR_OPT", "/nowhere/mlir-opt")
    jobs_module._oracle.cache_clear()
    try:
        plan = list(jobs("sample", oracles=["mlir-fold"], family="scaling")) + [
            job for job in jobs("sample", oracles=["mlir-fold", "exact"]) if job.case.op == "arith.addi"
        ]
        report = run_jobs(plan, "sample")
    finally:
        jobs_module._oracle.cache_clear()
    assert list(report.missing) == ["mlir-fold"]
    assert report.total("mlir-fold").compared == 0
    assert report.total("exact").compared > 0
    assert "Not available on this machine: `mlir-fold`" in markdown(report)


def test_processes_share_the_work() -> None:
    plan = [job for job in jobs("sample", oracles=["exact"]) if job.case.op == "arith.remf"]
    alone, shared = (run_jobs(plan, "sample", workers=workers) for workers in (1, 2))
    assert alone.tallies == shared.tallies
    assert alone.coverage == shared.coverage
    assert shared.total().equal > 500


@pytest.mark.long
def test_a_sample_asks_a_part_of_the_full_cases() -> None:
    full, sample = ({(job.oracle, job.case) for job in jobs(level)} for level in ("full", "sample"))
    assert sample < full
    assert {oracle for oracle, _ in sample} == {oracle for oracle, _ in full}
    assert len(sample) > 6000
