"""Whole programs compared: differences are traced to the op that causes them, through chains, calls, regions and
branches.
"""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from fake_oracle import FakeOracle

import halfulp as hu
from halfulp.command.values import read_value
from halfulp.conformance.comparing.divergences import Divergence, Example
from halfulp.conformance.comparing.refinement import Verdict
from halfulp.conformance.oracles.oracle import ClosedProgram, OracleError, Reply
from halfulp.conformance.whole_programs.counterexamples import difference_lines, difference_record
from halfulp.conformance.whole_programs.diff import DiffReport, against
from halfulp.interp.ir.operations import Module

CHAIN = """\
func.func @main(%a: f32, %b: f32) -> f32 {
  %0 = arith.addf %a, %b : f32
  %1 = arith.subf %0, %b : f32
  %2 = arith.mulf %1, %1 : f32
  return %2 : f32
}
"""


def program(text: str, *arguments: str, function: str = "main") -> ClosedProgram:
    return ClosedProgram(hu.parse(text, "p.mlir"), function, tuple(map(parsed, arguments)))


def parsed(text: str) -> hu.Value:
    return read_value(text, None, "<input>", {})


def compared(oracle: FakeOracle, *programs: ClosedProgram, rows: tuple[Divergence, ...] = ()) -> DiffReport:
    return against(oracle, programs, rows)


def test_equal_results_are_counted() -> None:
    report = compared(FakeOracle(), program(CHAIN, "f32=1.5", "f32=2"))
    assert not report.differs
    assert report.verdicts[Verdict.EQUAL] == report.compared == 1


def test_the_first_op_that_differs_is_shown_with_its_place_and_operands() -> None:
    report = compared(FakeOracle(exchanged={"arith.subf": "arith.addf"}), program(CHAIN, "f32=1.5", "f32=2"))
    (difference,) = report.differences
    assert difference_lines(difference, "fake") == [
        "p.mlir:3:8: error: arith.subf f32 differs by fake",
        "  %1 = arith.subf %0, %b : f32",
        "       ^",
        "  operand 0: 0x40600000 (3.5)",
        "  operand 1: 0x40000000 (2)",
        "  expected: 0x3FC00000 (1.5)",
        "  got:      0x40B00000 (5.5), 15728640 ulps away",
        "  exactly 1.5; from the exact number: expected 0 ulp, got 3.36e+07 ulp; expected is nearer",
    ]
    record = difference_record(difference)
    assert record["location"] == "p.mlir:3:8"
    assert record["operands"] == ["0x40600000", "0x40000000"]
    assert (record["expected"], record["got"]) == ("0x3FC00000", "0x40B00000")


def test_an_op_after_a_wrong_one_is_judged_by_what_it_was_given() -> None:
    text = CHAIN.replace("mulf", "divf")
    report = compared(FakeOracle(exchanged={"arith.subf": "arith.addf"}), program(text, "f32=1.5", "f32=2"))
    assert not report.differs  # x / x is 1 whatever x is: the results agree
    both = FakeOracle(exchanged={"arith.subf": "arith.addf", "arith.mulf": "arith.subf"})
    (difference,) = compared(both, program(CHAIN, "f32=1.5", "f32=2")).differences
    assert difference.finding is not None
    assert difference.finding.op.name == "arith.subf"


def row(op: str, profile: str) -> Divergence:
    example = Example(op, ("f32",), (0,), 0, 0)
    return Divergence("a row", ("fake",), ">=1", (op,), "a reason", example, profile=profile)


INFINITY = """\
func.func @main(%a: f32, %b: f32) -> (f4E2M1FN, f32) {
  %0 = arith.truncf %a : f32 to f4E2M1FN
  %1 = arith.subf %a, %b : f32
  return %0, %1 : f4E2M1FN, f32
}
"""


def test_a_known_divergence_is_one_that_the_row_predicts() -> None:
    wrong = "spec,infinity_to_nanless=zero"
    known = row("arith.truncf", wrong)
    p = program(INFINITY, "f32=-inf", "f32=1")
    report = compared(FakeOracle(wrong), p, rows=(known,))
    assert not report.differs
    assert report.known == {"a row": 1}
    assert report.known_example is not None
    assert "  known: a row" in difference_lines(report.known_example, "fake")
    assert compared(FakeOracle(wrong), p).differs
    assert compared(FakeOracle(wrong), p, rows=(row("arith.truncf", "spec,infinity_to_nanless=max"),)).differs


def test_a_known_divergence_hides_no_other_difference() -> None:
    oracle = FakeOracle("spec,infinity_to_nanless=zero", {"arith.subf": "arith.mulf"})
    p = program(INFINITY, "f32=-inf", "f32=-1")
    (difference,) = compared(oracle, p, rows=(row("arith.truncf", "spec,infinity_to_nanless=zero"),)).differences
    assert difference.finding is not None
    assert difference.finding.op.name == "arith.subf"


class OneWrongResult(FakeOracle):
    """An oracle that is wrong in the second result of functions that return two, without any wrong op."""

    def run(self, programs: Sequence[ClosedProgram]) -> list[Reply]:
        return [
            (reply[0], replace(reply[1], bits=reply[1].bits ^ 1))
            if isinstance(reply, tuple) and len(reply) == 2
            else reply
            for reply in super().run(programs)
        ]


BESIDE = """\
func.func @main(%a: f32, %b: i32) -> (f4E2M1FN, i32) {
  %0 = arith.truncf %a : f32 to f4E2M1FN
  %1 = arith.addi %b, %b : i32
  %2 = arith.xori %1, %b : i32
  return %0, %2 : f4E2M1FN, i32
}
"""

BESIDE_IN_BRANCHES = """\
func.func @main(%a: f32, %b: i32, %c: i1) -> (f4E2M1FN, i32) {
  %0 = arith.truncf %a : f32 to f4E2M1FN
  cf.cond_br %c, ^bb1, ^bb2(%b : i32)
^bb1:
  %1 = arith.addi %b, %b : i32
  cf.br ^bb2(%1 : i32)
^bb2(%2: i32):
  return %0, %2 : f4E2M1FN, i32
}
"""

BESIDE_IN_A_CALL = """\
func.func private @inner(%a: f32, %b: i32) -> (f4E2M1FN, i32) {
  %0 = arith.truncf %a : f32 to f4E2M1FN
  return %0, %b : f4E2M1FN, i32
}
func.func @main(%a: f32, %b: i32) -> (f4E2M1FN, i32) {
  %0:2 = call @inner(%a, %b) : (f32, i32) -> (f4E2M1FN, i32)
  return %0#0, %0#1 : f4E2M1FN, i32
}
"""


@pytest.mark.parametrize(
    ("text", "arguments"),
    [(BESIDE, ()), (BESIDE_IN_BRANCHES, ("i1=true",)), (BESIDE_IN_A_CALL, ())],
    ids=["one block", "branches", "call"],
)
def test_a_result_that_does_not_follow_from_a_known_divergence_is_unexplained(
    text: str, arguments: tuple[str, ...]
) -> None:
    wrong = "spec,infinity_to_nanless=zero"
    p = program(text, "f32=-inf", "i32=7", *arguments)
    rows = (row("arith.truncf", wrong),)
    assert compared(FakeOracle(wrong), p, rows=rows).known == {"a row": 1}
    report = compared(OneWrongResult(wrong), p, rows=rows)
    (difference,) = report.differences
    assert not report.known
    assert difference.known == ()
    if difference.finding is None:
        assert difference.mismatch.result == 1
    else:
        assert difference.finding.op.name == "func.call"


def test_a_result_that_is_another_when_all_are_returned_is_unexplained() -> None:
    class Alone(FakeOracle):
        """An oracle that gives NaN for the one result of a function, and the known wrong 0 among several results."""

        def run(self, programs: Sequence[ClosedProgram]) -> list[Reply]:
            return [
                (replace(reply[0], bits=reply[0].bits ^ 3),) if isinstance(reply, tuple) and len(reply) == 1 else reply
                for reply in super().run(programs)
            ]

    wrong = "spec,infinity_to_nanless=zero"
    text = """\
func.func @main(%a: f32, %b: f32) -> f4E2M1FN {
  %0 = arith.addf %a, %b : f32
  %1 = arith.truncf %0 : f32 to f4E2M1FN
  return %1 : f4E2M1FN
}
"""
    rows = (row("arith.truncf", wrong),)
    p = program(text, "f32=-inf", "f32=1")
    assert compared(FakeOracle(wrong), p, rows=rows).known == {"a row": 1}
    assert not compared(Alone(wrong), p, rows=rows).known


def test_what_follows_from_a_known_divergence_is_known() -> None:
    wrong = "spec,infinity_to_nanless=zero"
    body = """\
func.func @main(%a: f32, %c: i1) -> f32 {
  %0 = arith.truncf %a : f32 to f4E2M1FN
  %1 = scf.if %c -> (f32) {
    %2 = arith.extf %0 : f4E2M1FN to f32
    scf.yield %2 : f32
  } else {
    scf.yield %a : f32
  }
  return %1 : f32
}
"""
    report = compared(FakeOracle(wrong), program(body, "f32=-inf", "i1=true"), rows=(row("arith.truncf", wrong),))
    assert (report.known, report.differences) == ({"a row": 1}, [])


def test_an_oracle_that_fails_where_the_program_is_undefined_here_is_reported() -> None:
    text = "func.func @main(%a: i8) -> i8 {\n  %0 = arith.divsi %a, %a : i8\n  return %0 : i8\n}\n"
    report = compared(FakeOracle(fails=("arith.divsi", OracleError("garbage", "words"))), program(text, "i8=0"))
    assert report.failures == ["garbage: words"]


def test_a_named_profile_that_explains_all_results_is_named() -> None:
    p = program(INFINITY, "f32=-inf", "f32=1")
    assert compared(FakeOracle("mlir22-fold"), p).explained[:2] == ["mlir22-fold", "mlir22-quant"]
    assert compared(FakeOracle(exchanged={"arith.subf": "arith.mulf"}), p).explained == []


CALL = """\
func.func private @inner(%x: tensor<2xi8>) -> tensor<2xi8> {
  %0 = arith.muli %x, %x : tensor<2xi8>
  %1 = arith.subi %0, %x : tensor<2xi8>
  return %1 : tensor<2xi8>
}
func.func @main(%a: tensor<2xi8>) -> tensor<2xi8> {
  %0 = call @inner(%a) : (tensor<2xi8>) -> tensor<2xi8>
  return %0 : tensor<2xi8>
}
"""

LOOP = """\
func.func @main(%a: i32, %n: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a) -> (i32) {
    %k = arith.index_cast %i : index to i32
    %y = arith.subi %x, %k : i32
    scf.yield %y : i32
  }
  return %0 : i32
}
"""

BRANCH = """\
func.func @main(%a: i32, %c: i1) -> i32 {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %0 = arith.subi %a, %a : i32
  return %0 : i32
^bb2:
  return %a : i32
}
"""


@pytest.mark.parametrize(
    ("text", "arguments", "place", "operands"),
    [
        (CALL, ["2xi8=[3 5]"], "p.mlir:3:8", (9, 3)),
        (LOOP, ["i32=7", "index=3"], "p.mlir:6:10", (7, 1)),
        (BRANCH, ["i32=7", "i1=true"], "p.mlir:4:8", (7, 7)),
    ],
    ids=["call", "loop", "branch"],
)
def test_the_search_goes_into_calls_regions_and_branches(
    text: str, arguments: list[str], place: str, operands: tuple[int, ...]
) -> None:
    (difference,) = compared(FakeOracle(exchanged={"arith.subi": "arith.addi"}), program(text, *arguments)).differences
    assert difference.finding is not None
    assert difference_record(difference)["location"] == place
    assert difference.finding.mismatch.operands == operands


def test_undefined_behaviour_here_allows_anything() -> None:
    text = "func.func @main(%a: i8) -> i8 {\n  %0 = arith.divsi %a, %a : i8\n  return %0 : i8\n}\n"
    report = compared(FakeOracle(exchanged={"arith.divsi": "arith.addi"}), program(text, "i8=0"))
    assert (report.differs, report.undefined, report.undefined_answered, report.compared) == (False, 1, 1, 0)
    trapping = FakeOracle(exchanged={"arith.addi": "arith.divsi"})
    defined = compared(trapping, program(text.replace("divsi", "addi"), "i8=0"))
    assert defined.failures == ["crash: it trapped"]
    assert defined.differs


def test_what_is_not_answered_is_no_agreement() -> None:
    report = compared(FakeOracle(refused=("arith.mulf",)), program(CHAIN, "f32=1", "f32=2"))
    assert (report.differs, report.compared) == (False, 0)
    assert report.unanswered == {"arith.mulf is unknown": 1}


def test_a_failing_oracle_is_reported() -> None:
    oracle = FakeOracle(fails=("arith.mulf", OracleError("hang", "it did not end")))
    report = compared(oracle, program(CHAIN, "f32=1", "f32=2"))
    assert report.failures == ["hang: it did not end"]
    assert report.differs
    assert report.compared == 0


def test_open_results_allow_what_the_language_allows() -> None:
    text = "func.func @main(%a: f32, %b: f32) -> f32 {\n  %0 = arith.divf %a, %b : f32\n  return %0 : f32\n}\n"
    report = compared(FakeOracle("spec,nan_result=negative"), program(text, "f32=0", "f32=0"))
    assert not report.differs
    assert report.verdicts[Verdict.OPEN] == 1


def test_the_module_is_not_changed() -> None:
    p = program(CALL, "2xi8=[3 5]")
    before = hu.print_module(p.module)
    compared(FakeOracle(exchanged={"arith.subi": "arith.addi"}), p)
    assert isinstance(p.module, Module)
    assert hu.print_module(p.module) == before


FLUSHING = """\
func.func @main(%a: f32, %b: f32) -> f32
    attributes {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"preserve-sign">} {
  %0 = arith.mulf %a, %b : f32
  %1 = arith.maximumf %0, %a : f32
  return %1 : f32
}
"""


def test_ops_alone_keep_what_the_attributes_of_their_function_ask_for() -> None:
    """2^-149 is 0 in that function, wherever its ops are asked one by one."""
    asked = program(FLUSHING, "f32=1.401298464324817e-45", "f32=1")
    assert not compared(FakeOracle(), asked).differs
    report = compared(FakeOracle(exchanged={"arith.mulf": "arith.addf"}), asked)
    (difference,) = report.differences
    lines = difference_lines(difference, "fake")
    assert lines[0] == "p.mlir:3:8: error: arith.mulf f32 differs by fake"
    assert "  expected: 0x00000000 (0)" in lines
