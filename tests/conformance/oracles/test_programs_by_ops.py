"""Oracles of single ops run whole programs: each op on the oracle's own results, and nothing in between is invented."""

from collections.abc import Sequence

import numpy as np
import pytest
from fake_oracle import FakeOracle

import halfulp as hu
from halfulp.command.values import read_value
from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.oracles import oracle
from halfulp.conformance.oracles.closed_programs import ByOps
from halfulp.conformance.oracles.oracle import (
    Answer,
    ClosedProgram,
    Oracle,
    OracleError,
    ProgramOracle,
    Reply,
    Status,
    Unanswered,
)
from halfulp.conformance.whole_programs.diff import SameDifference, against, text_of_program
from halfulp.conformance.whole_programs.op_search import Search
from halfulp.conformance.whole_programs.reduce import Reducer
from halfulp.fp_formats.formats import Codes


class Single:
    """An oracle of cases only, those of a `FakeOracle`, which counts them. ``stops``: an op that traps; ``fails``: an
    op that ends in an error.
    """

    name = "single"
    profile = "spec"
    version = "1.0"

    def __init__(self, stops: str = "", fails: str = "", **options: object) -> None:
        self._inner = FakeOracle(**options)  # type: ignore[arg-type]
        self.stops, self.fails = stops, fails
        self.asked: list[tuple[str, int]] = []

    def refuses(self, case: OpCase) -> str | None:
        return self._inner.refuses(case)

    def evaluate(self, case: OpCase, inputs: Sequence[Codes]) -> tuple[Answer, ...]:
        self.asked.append((case.op, inputs[0].size))
        if case.op == self.fails:
            raise OracleError("hang", "it did not end")
        answers = self._inner.evaluate(case, inputs)
        if case.op != self.stops:
            return answers
        return tuple(Answer(answer.bits, np.full(case.shape(inputs), Status.TRAP, np.uint8)) for answer in answers)


def program(text: str, *arguments: str) -> ClosedProgram:
    return ClosedProgram(
        hu.parse(text), "main", tuple(read_value(argument, None, "<input>", {}) for argument in arguments)
    )


def run(single: Oracle, *programs: ClosedProgram) -> list[Reply]:
    assert not isinstance(single, ProgramOracle)
    return ByOps(single).run(programs)


TEXT = """\
func.func private @inner(%x: f32) -> (f32, i8) {
  %c = arith.constant 0.25 : f32
  %0 = arith.addf %x, %c : f32
  %1 = arith.fptosi %0 : f32 to i8
  return %0, %1 : f32, i8
}
func.func @main(%a: f32) -> (f32, i8, f32) {
  %0:2 = call @inner(%a) : (f32) -> (f32, i8)
  %1 = arith.mulf %0#0, %a : f32
  return %1, %0#1, %a : f32, i8, f32
}
"""


def test_each_op_gets_the_oracle_s_own_results() -> None:
    single = Single(exchanged={"arith.addf": "arith.subf"})
    (reply,) = run(single, program(TEXT, "f32=4.5"))
    assert isinstance(reply, tuple)
    assert [answer.bits.tolist() for answer in reply] == [
        np.float32(4.25 * 4.5).view(np.uint32),
        4,
        np.float32(4.5).view(np.uint32),
    ]


def test_the_same_op_of_many_programs_is_asked_once() -> None:
    single = Single()
    programs = [program(TEXT, f"f32={k}") for k in range(10)]
    assert all(isinstance(reply, tuple) for reply in run(single, *programs))
    assert single.asked == [("arith.addf", 10), ("arith.fptosi", 10), ("arith.mulf", 10)]


TENSOR = """\
func.func @main(%c: i1, %a: tensor<2x3xi8>, %b: tensor<2x3xi8>) -> (tensor<2x3xi8>, tensor<2x3xi8>) {
  %0 = arith.select %c, %a, %b : tensor<2x3xi8>
  %k = arith.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
  %1 = arith.muli %0, %k : tensor<2x3xi8>
  return %0, %1 : tensor<2x3xi8>, tensor<2x3xi8>
}
"""


def test_tensors_keep_their_shapes() -> None:
    other = TENSOR.replace("2x3x", "3x2x").replace("[[1, 2, 3], [4, 5, 6]]", "[[1, 2], [3, 4], [5, 6]]")
    given = [
        program(TENSOR, "i1=true", "2x3xi8=[1 2 3][4 5 6]", "2x3xi8=[0 0 0][0 0 0]"),
        program(other, "i1=false", "3x2xi8=[0 0][0 0][0 0]", "3x2xi8=[1 2][3 4][5 6]"),
    ]
    report = against(ByOps(Single()), given)
    assert (report.differs, report.compared) == (False, 24)


def test_what_is_not_answered_leaves_the_rest() -> None:
    (reply,) = run(Single(refused=("arith.fptosi",)), program(TEXT, "f32=4.5"))
    assert isinstance(reply, tuple)
    unanswered = reply[1]
    assert unanswered.status is not None
    assert unanswered.status.tolist() == Status.UNANSWERED
    assert unanswered.why == "arith.fptosi is unknown"
    assert reply[0].status is None
    report = against(ByOps(Single(refused=("arith.addf",))), [program(TEXT, "f32=4.5")])
    assert (report.compared, report.unanswered) == (1, {"arith.addf is unknown": 2})


LOOP = "func.func @main(%a: i1) -> i1 {\n  cf.br ^bb1\n^bb1:\n  return %a : i1\n}\n"
RECURSION = "func.func @main(%a: i1) -> i1 {\n  %0 = call @main(%a) : (i1) -> i1\n  return %0 : i1\n}\n"
REGION = """\
func.func @main(%a: i1) -> i1 {
  %0 = scf.if %a -> (i1) {
    scf.yield %a : i1
  } else {
    scf.yield %a : i1
  }
  return %0 : i1
}
"""


@pytest.mark.parametrize(
    ("text", "why"),
    [(LOOP, "straight-line"), (RECURSION, "straight-line"), (REGION, "scf.if is not elementwise")],
)
def test_what_is_no_straight_line_code_is_unanswered(text: str, why: str) -> None:
    (reply,) = run(Single(), program(text, "i1=true"))
    assert isinstance(reply, Unanswered)
    assert why in reply.why


def test_a_trap_stops_the_program_and_a_failure_is_an_error() -> None:
    (trapped,) = run(Single(stops="arith.fptosi"), program(TEXT, "f32=4.5"))
    assert isinstance(trapped, tuple)
    assert [answer.status.tolist() for answer in trapped if answer.status is not None] == [Status.TRAP] * 3
    other = program("func.func @main(%a: f32) -> f32 {\n  return %a : f32\n}\n", "f32=1")
    failed, fine = run(Single(fails="arith.fptosi"), program(TEXT, "f32=4.5"), other)
    assert isinstance(failed, OracleError)
    assert isinstance(fine, tuple)


def test_a_difference_is_found_and_reduced() -> None:
    wrong = ByOps(Single(exchanged={"arith.addf": "arith.subf"}))
    same = SameDifference(Search(wrong))
    (difference,) = same.differences([program(TEXT, "f32=4.5")])
    assert difference is not None
    same.watch(difference)
    text = text_of_program(Reducer(same).reduce(difference.program, difference))
    assert text.count("arith.addf") == 1
    assert len(text.splitlines()) <= 6


@pytest.mark.parametrize("name", ["exact", "ml_dtypes"])
def test_the_oracles_of_single_ops(name: str) -> None:
    text = """\
func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xbf16> {
  %0 = arith.subf %a, %b : tensor<3xf32>
  %1 = arith.truncf %0 : tensor<3xf32> to tensor<3xbf16>
  return %1 : tensor<3xbf16>
}
"""
    report = against(ByOps(oracle(name)), [program(text, "3xf32=1 2 0.1", "3xf32=3 0.3 -7")])
    assert (report.differs, report.compared) == (False, 3)
