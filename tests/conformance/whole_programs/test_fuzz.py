"""Random programs: their ops, their meaning, and that wrong results are found."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from amounts import thinned
from fake_oracle import FakeOracle
from present import present

import halfulp as hu
from halfulp.conformance.comparing.divergences import CastCase, Divergence, Example, cancellations, divergences
from halfulp.conformance.oracles import oracle
from halfulp.conformance.oracles.mlir_opt import find_mlir_opt
from halfulp.conformance.oracles.oracle import ClosedProgram, OracleError, ProgramOracle, Reply
from halfulp.conformance.oracles.tool import PassFailure, PassPipeline, Tool
from halfulp.conformance.whole_programs.arguments import Part
from halfulp.conformance.whole_programs.diff import SameDifference, against, text_of_program
from halfulp.conformance.whole_programs.fuzz import FEW, as_json, fuzz, lines
from halfulp.conformance.whole_programs.fuzz_functions import PassFinding, fuzz_pass
from halfulp.conformance.whole_programs.generator.evaluated import build, cells, random_program, random_programs
from halfulp.conformance.whole_programs.generator.grower import NAME, RandomFunction
from halfulp.conformance.whole_programs.generator.kinds import MIXED
from halfulp.conformance.whole_programs.known_by_pass import KnownByPass, Names
from halfulp.conformance.whole_programs.op_search import Search, run_here
from halfulp.conformance.whole_programs.pass_differences import PassCrash, PassDifference, SamePassDifference
from halfulp.conformance.whole_programs.reduce import Reducer
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir.operations import Module, argument_types
from halfulp.interp.loading import parse_module
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.printer import print_module
from halfulp.interp.verifier import verify
from halfulp.semantics.kernel import FaultKind


@pytest.mark.long
def test_programs_verify_and_give_the_values_they_were_made_with() -> None:
    for program in random_programs(1, 120):
        made = present(build(program))
        verify(made.program.module)
        results = run_here(made.program)
        assert isinstance(results, tuple)
        for number, value in zip(made.returned, results, strict=True):
            assert value.poison is None
            assert np.array_equal(program.array(number), value.bits), program.name


@pytest.mark.long
def test_program_i_of_a_seed_is_always_the_same() -> None:
    def text(seed: int, index: int) -> str:
        made = present(build(random_program(seed, index)))
        return print_module(made.program.module) + str(made.program.arguments)

    alone = text(5, 40)
    assert [text(5, index) for index in range(38, 42)][2] == alone
    assert text(5, 41) != alone != text(6, 40)


@pytest.mark.long
def test_every_op_of_the_dialects_comes_often_enough() -> None:
    ops = {cell.op for cell in cells()}
    known = {name if "." in name else f"arith.{name}" for name in default_registry().dialects["arith"].ops}
    newer = {
        f"arith.{name}" for name in ("convertf", "maximumnumf", "minimumnumf", "subui_extended", "flush_denormals")
    }
    assert known - newer - {"arith.constant"} <= ops
    seen = Counter(step.op.cell for program in random_programs(1, 600) for step in program.steps)
    # 600 programs are a thirtieth of 20,000, in which each is to be compared 20 times.
    assert sum(1 for cell in cells() if not seen[cell]) < 0.15 * len(cells())
    assert max(seen.values()) < 60


@pytest.mark.long
def test_calls_vectors_and_tensors_occur() -> None:
    programs = list(random_programs(2, 300))
    assert {program.container for program in programs} == {"scalar", "vector", "tensor"}
    assert 20 < sum(bool(program.outlined) for program in programs) < 100
    texts = [print_module(made.program.module) for made in map(build, programs) if made is not None]
    assert any("call @inner" in text for text in texts)
    assert any("quant.qcast" in text for text in texts)


@pytest.mark.long
def test_ops_that_are_left_out_come_as_arguments() -> None:
    for index in range(60):
        program = random_program(4, index)
        made = build(program, lambda case: case.op in ("arith.addi", "arith.select", "quant.qcast"))
        if made is None:
            continue
        verify(made.program.module)
        assert not {"arith.addi", "arith.select", "quant.qcast"} & {op.name for op in made.program.module.walk()}
        results = run_here(made.program)
        assert isinstance(results, tuple)
        for number, value in zip(made.returned, results, strict=True):
            assert np.array_equal(program.array(number), value.bits)


@pytest.mark.long
def test_an_oracle_that_is_right_has_no_failures() -> None:
    report = fuzz([FakeOracle()], 50, 9)
    (counts,) = report.counts
    assert not report.failures
    assert counts.tally.unexplained == 0
    assert counts.results.total() == report.steps
    assert counts.missing.total() == 0
    assert "0 UNEXPLAINED" in "\n".join(lines(report))
    assert as_json(report)["oracles"][0]["results"]


@pytest.mark.long
@pytest.mark.parametrize(("right", "wrong"), [("addf", "subf"), ("maxsi", "maxui"), ("shrsi", "shrui")])
def test_an_op_that_is_wrong_is_found_and_reduced(right: str, wrong: str) -> None:
    asked = FakeOracle(exchanged={f"arith.{right}": f"arith.{wrong}"})
    report = fuzz([asked], 400, 1, most_failures=2)
    assert [failure.case.op for failure in report.failures] == [f"arith.{right}"] * 2
    first = report.failures[0]
    again = fuzz([asked], 1, 1, first.index).failures[0]
    assert again.lines() == first.lines()
    assert again.lines()[0].endswith(f"in program {first.index} of seed 1")
    same = SameDifference(Search(asked))
    (difference,) = same.differences([first.program])
    assert difference is not None
    same.watch(difference)
    text = text_of_program(Reducer(same).reduce(first.program, difference))
    assert text.count(f"arith.{right}") == 1
    assert len(text.splitlines()) <= 6


@pytest.mark.long
def test_what_a_row_predicts_is_known_and_what_follows_from_it_too() -> None:
    example = Example("arith.truncf", ("f32",), (0,), 0, 0)
    row = Divergence(
        "ignored", ("fake",), ">=1", ("arith.fptosi",), "why", example, profile="spec,to_integer_rounding=upward"
    )
    asked = FakeOracle("spec,to_integer_rounding=upward")
    wrong = fuzz([asked], 300, 1, most_failures=1000)
    assert {failure.case.op for failure in wrong.failures} == {"arith.fptosi", "arith.fptoui"}
    (counts,) = fuzz([asked], 300, 1, rows=[row], most_failures=1000).counts
    assert counts.tally.known["ignored"] > 5
    assert {failure.case.op for failure in counts.failures} == {"arith.fptoui"}


def upward(op: str) -> Divergence:
    profile = "spec,to_integer_rounding=upward"
    return Divergence(op, ("fake",), ">=1", (op,), "why", Example(op, ("f32",), (0,), 0, 0), profile=profile)


@pytest.mark.long
def test_what_is_wrong_after_a_known_divergence_is_no_less_wrong() -> None:
    """Ops are judged on their actual operands, so a row for earlier ops hides nothing."""
    asked = FakeOracle(
        "spec,to_integer_rounding=upward", exchanged={"arith.xori": "arith.ori", "arith.uitofp": "arith.sitofp"}
    )
    casts = ("arith.fptosi", "arith.fptoui")

    def failures(*rows: Divergence) -> list[tuple[int, str]]:
        (counts,) = fuzz([asked], 250, 1, rows=rows, most_failures=10_000).counts
        assert counts.follows == 0
        return [(failure.index, str(failure.case)) for failure in counts.failures if failure.case.op not in casts]

    assert failures() == failures(*map(upward, casts))
    after = [
        step
        for program in random_programs(1, 250)
        for step in program.steps
        if step.op.case.op in asked.exchanged
        and any(other.op.case.op in casts and set(other.results) & set(step.operands) for other in program.steps)
    ]
    assert len(after) > 2


@pytest.mark.long
def test_what_is_told_apart_has_a_bound() -> None:
    class Keeping(FakeOracle):
        name = "mlir-fold"

    rows = [
        Divergence(
            "all", ("mlir-fold",), ">=1", ("*",), "why", Example("arith.extf", ("f32",), (0,), 0, 0), profile=profile
        )
        for profile in ("spec,infinity_to_nanless=zero", "spec,negative_to_unsigned=sign_bit")
    ]
    asked = Keeping(
        "spec,infinity_to_nanless=zero,negative_to_unsigned=sign_bit",
        {"arith.extf": "arith.extf", "arith.minimumf": "arith.maximumf", "arith.mulf": "arith.addf"},
    )
    (counts,) = fuzz([asked], 150, 1, rows=rows, most_failures=10_000).counts
    assert counts.follows <= FEW
    assert len(counts.failures) > 10


@pytest.mark.long
def test_what_is_refused_and_what_is_not_answered_is_counted_apart() -> None:
    class Half(FakeOracle):
        def run(self, programs: Sequence[ClosedProgram]) -> list[Reply]:
            return [
                OracleError("crash", "it died") if index % 2 else reply
                for index, reply in enumerate(super().run(programs))
            ]

    report = fuzz([Half(refused=("arith.muli",))], 100, 1)
    (counts,) = report.counts
    assert counts.results.total() + counts.missing.total() == report.steps
    assert {cell.op for cell in counts.refused} <= {"arith.muli"}
    assert not any(cell.op == "arith.muli" for cell in counts.results)
    assert counts.broken.total() == 50
    assert counts.reasons["the oracle failed: crash"] > 100


@pytest.mark.long
def test_poison_and_undefined_results_only_where_they_are_allowed() -> None:
    plain = fuzz([FakeOracle()], 100, 1).counts[0].tally
    assert (plain.undefined, plain.open) == (0, plain.open)
    assert not any(step.faulty for program in random_programs(1, 100) for step in program.steps)
    faulty = [
        step for program in random_programs(1, 100, 0, (FaultKind.UNDEFINED,)) for step in program.steps if step.faulty
    ]
    assert faulty
    assert all("div" in step.op.case.op or "rem" in step.op.case.op for step in faulty)


# --- what real tools get wrong, found without being told ---------------------------------------------------------------


def programs_of(name: str) -> ProgramOracle:
    made = oracle(name)
    assert isinstance(made, ProgramOracle)
    return made


def found(name: str, count: int, *ops: str, most: int = 60) -> dict[str, str]:
    """Return the ops that an oracle gets wrong in some programs, with the reduced program of the first failure of each."""
    asked = programs_of(name)
    report = fuzz([asked], count, 1, most_failures=most)
    programs: dict[str, str] = {}
    for failure in report.failures:
        op = failure.case.op.partition(".")[2]
        key = f"{op} {failure.case.results[0]}" if f"{op} {failure.case.results[0]}" in ops else op
        if key in ops and key not in programs:
            same = SameDifference(Search(asked, divergences(), pairs=cancellations()))
            (difference,) = same.differences([failure.program])
            assert difference is not None
            same.watch(difference)
            programs[key] = text_of_program(Reducer(same, 300).reduce(failure.program, difference))
    return programs


@pytest.mark.mlir
@pytest.mark.parametrize(
    ("name", "count", "most", "ops"),
    [
        ("mlir-fold", 200, 60, ("truncf f8E8M0FNU", "negf f8E8M0FNU", "subf f8E8M0FNU")),
        ("mlir-runtime", 80, 8, ("fptosi", "remf")),
    ],
)
def test_what_a_tool_gets_wrong_is_found_and_reduced(name: str, count: int, most: int, ops: tuple[str, ...]) -> None:
    reduced = found(name, count, *ops, most=most)
    assert set(reduced) == set(ops) if name == "mlir-runtime" else reduced
    for key, text in reduced.items():
        assert text.count(f"arith.{key.split()[0]}") == 1
        assert len(text.splitlines()) <= 6


@pytest.mark.mlir
def test_pairs_of_ops_that_the_folder_takes_for_nothing() -> None:
    for row in cancellations():
        for name in row.tools:
            asked = programs_of(name)
            module = hu.parse(row.example)
            (type_,) = argument_types(module.body[0])
            given = ClosedProgram(module, "main", (hu.Value.from_bits(row.argument, type_),))
            report = against(asked, [given], divergences(), pairs=cancellations())
            assert report.known == {row.name: 1}
            (difference,) = against(asked, [given], divergences()).differences
            assert (difference.mismatch.expected, difference.mismatch.actual) == (row.expected, row.actual)


def test_a_pair_is_taken_for_the_cast_that_it_begins_with() -> None:
    rows, code = cancellations(), np.array(0x8080000000000001, np.uint64)
    for inner, right in (("arith.uitofp", 0x5F01), ("arith.sitofp", 0xDEFF)):
        first, second = CastCase(inner, "i64", "f32"), CastCase("arith.truncf", "f32", "bf16")
        (row,) = [row for row in rows if row.applies("mlir-fold", "22.1", second.op, first.op)]
        assert row.predict(first, second, code) == right


@pytest.mark.mlir
def test_a_pair_on_an_integer_with_its_top_bit_set_is_known() -> None:
    asked = programs_of("mlir-fold")
    text = """
func.func @main(%x: i64) -> bf16 {
  %0 = arith.uitofp %x : i64 to f32
  %1 = arith.truncf %0 : f32 to bf16
  return %1 : bf16
}
"""
    given = ClosedProgram(hu.parse(text), "main", (hu.Value.from_bits(0x8080000000000001, "i64"),))
    report = against(asked, [given], divergences(), pairs=cancellations())
    assert report.known == {"an integer is converted past the format between": 1}
    (difference,) = against(asked, [given], divergences()).differences
    assert (difference.mismatch.expected, difference.mismatch.actual) == (0x5F00, 0x5F01)


@pytest.mark.mlir
def test_the_folder_divides_tensors_by_zero() -> None:
    asked = programs_of("mlir-fold")
    type_ = "tensor<2xi8>"
    text = f"func.func @main(%a: {type_}, %b: {type_}) -> {type_} {{\n  %0 = arith.floordivsi %a, %b : {type_}\n  return %0 : {type_}\n}}"
    values = tuple(hu.Value.from_bits(np.array(codes, np.uint8), type_) for codes in ([7, 6], [0, 3]))
    report = against(asked, [ClosedProgram(hu.parse(text), "main", values)])
    assert (report.undefined, report.undefined_answered, report.differs) == (1, 1, False)


@pytest.mark.mlir
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["mlir-fold", "mlir-native", "mlir-runtime"])
def test_twenty_thousand_programs_leave_nothing_unexplained(name: str) -> None:
    asked = programs_of(name)
    (counts,) = fuzz([asked], 20_000, 1, rows=divergences(), pairs=cancellations()).counts
    assert [line for failure in counts.failures for line in failure.lines()] == []
    assert not counts.broken


# --- fuzz functions ---------------------------------------------------------------------------------------------------
#
# Passes tested with random programs: wrong rewrites are found, reduced, counted, and the same for each seed.

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


@pytest.mark.long
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


def without_memory(seed: int, count: int, first: int) -> Iterator[RandomFunction]:
    return (one for one in MIXED.functions(seed, count, first) if "memref" not in print_module(one.module))


WITHOUT_MEMORY = replace(MIXED, functions=without_memory)
"""Programs whose undefined behaviour needs no memory: an access at a wrong index takes two more lines."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("right", "wrong"),
    thinned([("arith.minui", "arith.minsi"), ("cmpi ult,", "cmpi slt,"), ("arith.shrsi", "arith.shrui")], 3, rows=True),
)
def test_a_wrong_rewrite_is_found_and_reduced(right: str, wrong: str) -> None:
    pipeline = rewriting(lambda text: text.replace(right, wrong))
    report = fuzz_pass(pipeline, 1000, most_failures=1, kind=WITHOUT_MEMORY)
    (finding,) = report.findings
    assert report.stopped == "enough was found"
    assert report.ops["func.func"].differing == 1
    again = fuzz_pass(pipeline, 1, first=finding.program.index, kind=WITHOUT_MEMORY).findings
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


@pytest.mark.long
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


@pytest.mark.long
def test_crashes_in_one_place_are_counted_by_the_pass_and_its_run() -> None:
    def crashing(text: str) -> str | PassFailure:
        guilty, run = ("cse", 1) if "arith.divf" in text else ("canonicalize", 2)
        return PassFailure("it crashed", kind="crash", where="g()", guilty=guilty, run=run)

    report = fuzz_pass(rewriting(crashing), 70, reduce=lambda found: PassCrash(None, found.failure))  # type: ignore[arg-type, union-attr]
    assert len(report.broken) == 1
    assert set(report.again) == {"crash g(), in the pass cse", "crash g(), in the pass canonicalize, run 2 of it"}
    assert report.again.total() == report.crashed - 1 == 69


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


@pytest.mark.long
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
