"""Programs shrink to the op that differs, and no further than the difference allows."""

import stat
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from command import PATIENCE, wait_for_end
from fake_oracle import FakeOracle
from present import present

import halfulp as hu
from halfulp.command.values import read_value
from halfulp.conformance.comparing.divergences import Divergence, Example
from halfulp.conformance.oracles.oracle import ClosedProgram, Reply
from halfulp.conformance.whole_programs import diff
from halfulp.conformance.whole_programs.counterexamples import header
from halfulp.conformance.whole_programs.diff import Difference, SameDifference, against, by_script, text_of_program
from halfulp.conformance.whole_programs.op_search import Search
from halfulp.conformance.whole_programs.reduce import Reducer
from halfulp.interp.ir.operations import Operation


def program(text: str, *arguments: str) -> ClosedProgram:
    values = tuple(read_value(argument, None, "<input>", {}) for argument in arguments)
    return ClosedProgram(hu.parse(text, "p.mlir"), "main", values)


def reduced(
    oracle: FakeOracle, given: ClosedProgram, rows: tuple[Divergence, ...] = (), max_tests: int = 2000
) -> tuple[str, Difference]:
    found = against(oracle, [given], ())
    same = SameDifference(Search(oracle, rows))
    (difference,) = same.differences([given])
    assert difference is not None
    assert found.differences
    same.watch(difference)
    reducer = Reducer(same, max_tests)
    result = reducer.reduce(given, difference)
    assert reducer.tests <= max_tests
    assert same.last is not None
    return text_of_program(result), same.last


LONG = """\
func.func private @unused(%x: i8) -> i8 {
  return %x : i8
}
func.func private @square(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.mulf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf8E8M0FNU>) {
  %0 = call @square(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = arith.addf %0, %b : tensor<4xf32>
  %2 = arith.subf %b, %1 : tensor<4xf32>
  %3 = arith.truncf %2 : tensor<4xf32> to tensor<4xf8E8M0FNU>
  %4 = arith.negf %1 : tensor<4xf32>
  return %4, %3 : tensor<4xf32>, tensor<4xf8E8M0FNU>
}
"""


def test_a_program_becomes_one_op_on_one_simple_scalar() -> None:
    oracle = FakeOracle("spec,negative_to_unsigned=sign_bit")
    text, last = reduced(oracle, program(LONG, "4xf32=1 2 3 4", "4xf32=100 0.5 0.7 9"))
    assert text == (
        "func.func @main() -> f8E8M0FNU {\n"
        "  %cst = arith.constant -2.000000e+00 : f32\n"
        "  %0 = arith.truncf %cst : f32 to f8E8M0FNU\n"
        "  return %0 : f8E8M0FNU\n"
        "}\n"
    )
    assert list(header(last, "fake", "1.0", "halfulp 0")) == [
        "// arith.truncf f32 -> f8E8M0FNU differs by fake 1.0 from halfulp 0",
        "// operands: 0xC0000000 (-2)",
        "// expected: 0xFF (nan)",
        "// got:      0x80 (2)",
    ]


def test_the_reduced_program_differs_in_the_same_way_when_it_is_read_back() -> None:
    oracle = FakeOracle("spec,negative_to_unsigned=sign_bit")
    text, _ = reduced(oracle, program(LONG, "4xf32=1 2 3 4", "4xf32=100 0.5 0.7 9"))
    (difference,) = against(oracle, [program(text)]).differences
    assert difference.finding is not None
    assert difference.finding.op.name == "arith.truncf"


class OnlyTensors(FakeOracle):
    """An oracle that is wrong on tensors only, as some folders are."""

    def _one(self, program: ClosedProgram) -> Reply:
        tensors = any("tensor" in str(result.type) for op in program.module.walk() for result in op.results)
        if not tensors:
            exchanged, self.exchanged = self.exchanged, {}
            try:
                return super()._one(program)
            finally:
                self.exchanged = exchanged
        return super()._one(program)


def test_what_is_left_keeps_what_the_attributes_of_its_function_ask_for() -> None:
    text = """\
func.func @main(%a: f32, %b: f32) -> f32
    attributes {iree_codegen.denormal_fp_math_f32 = #iree_codegen.denormal_fp_math<"positive-zero">} {
  %0 = arith.addf %a, %b : f32
  %1 = arith.mulf %0, %b : f32
  return %1 : f32
}
"""
    oracle = FakeOracle(exchanged={"arith.mulf": "arith.subf"})
    found, _ = reduced(oracle, program(text, "f32=1.401298464324817e-45", "f32=0.5"))
    assert 'denormal_fp_math<"positive-zero">' in found
    assert found.count("arith.") == 1 + found.count("arith.constant")


def test_a_difference_of_tensors_keeps_one_element() -> None:
    text = LONG.replace("4xf32", "2x2xf32").replace("4xf8E8M0FNU", "2x2xf8E8M0FNU")
    oracle = OnlyTensors(exchanged={"arith.negf": "arith.flush_denormals"})
    found, _ = reduced(oracle, program(text, "2x2xf32=[1 2][3 4]", "2x2xf32=[100 0.5][0.7 9]"))
    assert "tensor<1xf32>" in found
    assert found.count("arith.") == 2


def test_it_does_not_drift_into_another_difference_of_the_same_op() -> None:
    example = Example("arith.truncf", ("f32",), (0,), 0, 0)
    known = Divergence(
        "infinity", ("fake",), ">=1", ("arith.truncf",), "why", example, profile="spec,infinity_to_nanless=zero"
    )
    oracle = FakeOracle("spec,infinity_to_nanless=zero,conversion_overflow=format")
    body = """\
func.func @main(%a: f32, %b: f32) -> f4E2M1FN {
  %0 = arith.mulf %a, %b : f32
  %1 = arith.truncf %0 : f32 to f4E2M1FN
  return %1 : f4E2M1FN
}
"""
    text, last = reduced(oracle, program(body, "f32=3e38", "f32=-3e38"), rows=(known,))
    assert last.finding is not None
    assert last.finding.known == ("infinity",)
    assert "0x7F800000" in text or "0xFF800000" in text


def test_a_difference_that_no_op_shows_alone_keeps_its_context() -> None:
    class Cancelling(FakeOracle):
        """An oracle that replaces x - y + y by x if the difference is not returned."""

        def _one(self, program: ClosedProgram) -> Reply:
            main = present(program.module.lookup(program.function))
            ops = main.regions[0].blocks[0].operations
            returned = ops[-1].operands
            for op in ops:
                inner = getattr(op.operands[0], "owner", None) if op.name == "arith.addf" else None
                if inner is not None and inner.name == "arith.subf" and inner.results[0] not in returned:
                    wrong = module_with_result(program, op)
                    return super()._one(wrong)
            return super()._one(program)

    def module_with_result(program: ClosedProgram, op: Operation) -> ClosedProgram:
        text = hu.print_module(program.module).replace("arith.addf", "arith.subf")
        return ClosedProgram(hu.parse(text), program.function, program.arguments)

    body = """\
func.func @main(%a: f32, %b: f32) -> f32 {
  %0 = arith.subf %a, %b : f32
  %1 = arith.addf %0, %b : f32
  %2 = arith.mulf %1, %1 : f32
  return %2 : f32
}
"""
    text, last = reduced(Cancelling(), program(body, "f32=7.5", "f32=3.25"))
    assert last.finding is None
    assert "arith.subf" in text
    assert "arith.addf" in text


def test_max_tests_bounds_the_work() -> None:
    oracle = FakeOracle("spec,negative_to_unsigned=sign_bit")
    text, _ = reduced(oracle, program(LONG, "4xf32=1 2 3 4", "4xf32=100 0.5 0.7 9"), max_tests=1)
    assert "arith.truncf" in text


def script(path: Path, body: str) -> str:
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.long
def test_a_reduction_ends_when_its_time_is_over() -> None:
    given = program(LONG, "4xf32=1 2 3 4", "4xf32=1 2 3 4")
    asked = []

    def interesting_one(candidates: Sequence[ClosedProgram]) -> int:
        asked.append(len(candidates))
        return 0

    assert Reducer(interesting_one, seconds=0).reduce(given) is given
    assert not asked
    assert Reducer(interesting_one).reduce(given) is not given


def test_a_script_says_what_is_interesting(tmp_path: Path) -> None:
    given = program(LONG, "4xf32=1 2 3 4", "4xf32=100 0.5 0.7 9")
    result = Reducer(by_script(script(tmp_path / "test.sh", 'grep -q "arith.addf" "$1"')), 200).reduce(given)
    text = text_of_program(result)
    assert text.count("arith.addf") == 1
    assert "subf" not in text
    assert "@unused" not in text
    assert "tensor" not in text


def test_what_a_script_started_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = program(LONG, "4xf32=1 2 3 4", "4xf32=100 0.5 0.7 9")
    pid = tmp_path / "pid"
    # It is ended for what it prints, which it does after it has said what it started.
    monkeypatch.setattr(diff, "SCRIPT_BYTES", 1 << 16)
    assert by_script(script(tmp_path / "test.sh", f"sleep 1000 & echo $! > {pid}; yes"), PATIENCE)([given]) is None
    wait_for_end(int(pid.read_text()))


def test_a_script_that_prints_without_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = program(LONG, "4xf32=1 2 3 4", "4xf32=100 0.5 0.7 9")
    monkeypatch.setattr(diff, "SCRIPT_BYTES", 1 << 16)
    started = time.monotonic()
    assert by_script(script(tmp_path / "test.sh", "yes"), PATIENCE)([given]) is None
    assert time.monotonic() - started < PATIENCE / 2


def test_reduction_is_deterministic() -> None:
    oracle = FakeOracle("spec,negative_to_unsigned=sign_bit")
    given = program(LONG, "4xf32=1 2 3 4", "4xf32=100 0.5 0.7 9")
    assert reduced(oracle, given)[0] == reduced(oracle, given)[0]


@pytest.mark.parametrize("flag", ["overflow<nsw>", "overflow<nuw>"])
def test_flags_that_do_not_matter_go(flag: str) -> None:
    body = (
        f"func.func @main(%a: i32, %b: i32) -> i32 {{\n  %0 = arith.addi %a, %b {flag} : i32\n  return %0 : i32\n}}\n"
    )
    text, _ = reduced(FakeOracle(exchanged={"arith.addi": "arith.subi"}), program(body, "i32=123", "i32=321"))
    assert "overflow" not in text
    assert "%c1_i32 = arith.constant 1 : i32" in text
