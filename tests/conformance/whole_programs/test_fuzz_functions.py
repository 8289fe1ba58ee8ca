"""Passes tested with random programs: wrong rewrites are found, reduced, counted, and the same for each seed."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from halfulp.conformance.oracles.oracle import ClosedProgram
from halfulp.conformance.oracles.tool import PassFailure, PassPipeline, Tool, find_mlir_opt
from halfulp.conformance.whole_programs.arguments import Part
from halfulp.conformance.whole_programs.fuzz_functions import PassFinding, fuzz_pass
from halfulp.conformance.whole_programs.generator.grower import NAME
from halfulp.conformance.whole_programs.interesting import text_of_program
from halfulp.conformance.whole_programs.known_by_pass import KnownByPass, Names
from halfulp.conformance.whole_programs.pass_differences import PassCrash, PassDifference, SamePassDifference
from halfulp.conformance.whole_programs.reduce import Reducer
from halfulp.interp.ir.operations import Module
from halfulp.interp.loading import parse_module
from halfulp.interp.run.settings import Settings

NARROWING = "builtin.module(func.func(arith-int-range-narrowing{int-bitwidths-supported=8,16,32}))"


@dataclass(frozen=True)
class Rewriting(PassPipeline):
    """A pass in Python: text in, text or a failure out."""

    rewrite: Callable[[str], str | PassFailure] = str

    def apply_all(self, texts: Sequence[str]) -> list[str | PassFailure]:
        return [self.rewrite(text) for text in texts]


class AllKnown(KnownByPass):
    """A table that explains everything."""

    def explained(self, module: Module, function: str, part: Part) -> list[Names | None]:
        return [("signed for unsigned",)] * part.count


def rewriting(rewrite: Callable[[str], str | PassFailure]) -> Rewriting:
    return Rewriting(Tool("fake-opt", "1"), "builtin.module(fake)", rewrite=rewrite)


def reduced(pipeline: PassPipeline, finding: PassFinding) -> str:
    same = SamePassDifference(pipeline)
    program = ClosedProgram(parse_module(finding.before), NAME, finding.example.arguments)
    (found,) = same.differences([program])
    assert isinstance(found, PassDifference)
    same.watch(found)
    return text_of_program(Reducer(same).reduce(program), close=False)


def test_a_pass_that_changes_nothing_has_no_findings() -> None:
    report = fuzz_pass(rewriting(lambda text: text), 100)
    assert (report.programs, report.unchanged, report.changed) == (100, 100, 0)
    assert not report.findings
    assert not report.stopped


@pytest.mark.long
def test_a_pass_that_is_right_is_equal() -> None:
    report = fuzz_pass(rewriting(lambda text: text.replace("@helper", "@renamed")), 120)
    assert not report.findings
    assert report.equal + report.undefined == report.changed > 0
    calls = report.ops["func.call"]
    assert calls.equal + calls.undefined == calls.changed == calls.programs > 0
    assert calls.ops_changed == 0


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("arith.minui", "arith.minsi"), ("cmpi ult,", "cmpi slt,"), ("arith.shrsi", "arith.shrui")],
)
def test_a_wrong_rewrite_is_found_and_reduced(right: str, wrong: str) -> None:
    pipeline = rewriting(lambda text: text.replace(right, wrong))
    report = fuzz_pass(pipeline, 1000, most_failures=1)
    (finding,) = report.findings
    assert report.stopped == "enough was found"
    assert report.ops["func.func"].differing == 1
    again = fuzz_pass(pipeline, 1, first=finding.program.index).findings
    assert [(one.before, one.after) for one in again] == [(finding.before, finding.after)]
    text = reduced(pipeline, finding)
    assert right in text
    assert len(text.splitlines()) <= 6, text


@pytest.mark.long
def test_wrong_control_flow_is_found_and_reduced() -> None:
    def skipped(text: str) -> str:
        return re.sub(r"(scf.for \S+ = )(%\w+) to %\w+", r"\1\2 to \2", text)

    pipeline = rewriting(skipped)
    (finding,) = fuzz_pass(pipeline, 1000, most_failures=1).findings
    text = reduced(pipeline, finding)
    assert text.count("scf.for") == 1
    assert len(text.splitlines()) <= 12, text


@pytest.mark.long
def test_wrong_memory_is_found_and_reduced() -> None:
    def lost(text: str) -> str:
        *before, after = text.rsplit("    memref.store", 1)
        return before[0] + after.partition("\n")[2] if before else text

    pipeline = rewriting(lost)
    (finding,) = fuzz_pass(pipeline, 1000, most_failures=1).findings
    text = reduced(pipeline, finding)
    assert 1 <= text.count("memref.store") <= 2
    assert len(text.splitlines()) <= 10, text


def test_a_crash_is_a_finding_and_is_reduced() -> None:
    def crashing(text: str) -> str | PassFailure:
        return PassFailure("it crashed", kind="crash", where="f") if "arith.divf" in text else text

    pipeline = rewriting(crashing)
    report = fuzz_pass(pipeline, 200, most_failures=1)
    (broken,) = report.broken
    same = SamePassDifference(pipeline)
    program = ClosedProgram(parse_module(broken.before), NAME, broken.arguments)
    (found,) = same.differences([program])
    assert isinstance(found, PassCrash)
    same.watch(found)
    text = text_of_program(Reducer(same).reduce(program), close=False)
    assert text.count("arith.divf") == 1
    assert len(text.splitlines()) <= 6, text


def test_refusals_and_unsupported_ops_are_counted() -> None:
    refused = fuzz_pass(rewriting(lambda text: PassFailure("no")), 20)
    assert refused.refused == {"no": 20}
    assert refused.changed == refused.compared == 0
    unknown = fuzz_pass(rewriting(lambda text: text.replace('"arith.addi"', '"other.op"').replace("@f(", "@g(")), 20)
    assert unknown.skipped.total() == unknown.changed == 20


@pytest.mark.long
def test_known_divergences_are_counted_and_not_findings() -> None:
    pipeline = rewriting(lambda text: text.replace("arith.minui", "arith.minsi"))
    report = fuzz_pass(pipeline, 150, known=AllKnown(pipeline, (), (), Settings()))
    assert report.known == {"signed for unsigned": report.known_programs}
    assert report.known_programs == report.ops["func.func"].known > 0
    # What the memory of an argument holds is not explained.
    assert all("memref" in finding.before for finding in report.findings)


def test_the_run_ends_in_time_and_keeps_what_it_has_when_it_is_interrupted() -> None:
    assert fuzz_pass(rewriting(lambda text: text), 100_000, seconds=0.5).stopped == "the time is over"
    texts: list[str] = []

    def interrupted(text: str) -> str:
        texts.append(text)
        if len(texts) > 100:
            raise KeyboardInterrupt
        return text

    report = fuzz_pass(rewriting(interrupted), 1000)
    assert (report.stopped, report.programs) == ("interrupted", 64)


@pytest.mark.mlir
def test_the_wrong_narrowings_of_mlir_22_are_found_and_reduced() -> None:
    """In 22.1.8, shifts whose amount exceeds the narrow type and signed ops on unsigned ranges are narrowed."""
    pipeline = PassPipeline(find_mlir_opt(), NARROWING)
    if not pipeline.version.endswith(" 22.1.8"):
        pytest.skip("later versions may be right")
    findings = fuzz_pass(pipeline, 20).findings + fuzz_pass(pipeline, 1, first=225).findings
    texts = [reduced(pipeline, finding) for finding in findings]
    for word in ("arith.shrsi", "arith.ceildivsi", "arith.cmpi s"):
        assert any(word in text for text in texts), texts
