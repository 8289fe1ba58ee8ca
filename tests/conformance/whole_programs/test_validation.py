"""Translation validation by execution: the second version must do something that the first allows."""

from __future__ import annotations

import pytest

import halfulp as hu
from halfulp.conformance.comparing.compare import Verdict
from halfulp.conformance.whole_programs.arguments import generated
from halfulp.conformance.whole_programs.validation import (
    ValidationReport,
    common_functions,
    counterexample_lines,
    validate,
)
from halfulp.interp.run.signature import argument_types
from halfulp.interp.values.coerce import as_type


def compared(before: str, after: str, count: int = 200, profile: str = "spec") -> ValidationReport:
    one, two = hu.parse(before, "before.mlir"), hu.parse(after, "after.mlir")
    ((first, second),) = common_functions(one, two)
    return validate((one, first), (two, second), generated(argument_types(first), count), hu.profiles[profile])


def function(body: str, type_: str, arguments: int = 2, result: str | None = None) -> str:
    names = ", ".join(f"%{chr(97 + k)}: {type_}" for k in range(arguments))
    return f"func.func @f({names}) -> {result or type_} {{\n{body}\n}}\n"


def one_op(op: str, type_: str, operands: str = "%a, %b") -> str:
    count = operands.count("%")
    return function(f"  %0 = arith.{op} {operands} : {type_}\n  return %0 : {type_}", type_, count)


def test_all_inputs_of_a_small_function_are_run() -> None:
    report = compared(one_op("muli", "i8"), one_op("muli", "i8", "%b, %a"))
    assert (report.inputs, report.exhaustive, report.differing) == (65536, True, 0)
    assert report.verdicts[Verdict.EQUAL] == 65536


def test_a_wrong_rewrite_has_a_counterexample() -> None:
    # x / 2 is no shift for negative odd x: there are 64 of them
    before = function("  %c = arith.constant 2 : i8\n  %0 = arith.divsi %a, %c : i8\n  return %0 : i8", "i8", 1)
    after = function("  %c = arith.constant 1 : i8\n  %0 = arith.shrsi %a, %c : i8\n  return %0 : i8", "i8", 1)
    report = compared(before, after)
    assert report.differing == 64
    module = hu.parse(after, "after.mlir")
    assert counterexample_lines(module.body[0], report.counterexamples[0]) == [
        "after.mlir:1:1: error: @f may not do this",
        "  argument 0: i8=-127",
        "  before:   0xC1 (-63)",
        "  after:    0xC0 (-64), 1 ulp away",
    ]


def test_undefined_behaviour_before_allows_anything_and_none_may_be_added() -> None:
    zero = function("  %c = arith.constant 0 : i4\n  %0 = arith.divui %a, %c : i4\n  return %0 : i4", "i4", 1)
    report = compared(zero, function("  return %a : i4", "i4", 1))
    assert (report.undefined, report.differing, report.compared) == (16, 0, 0)
    divided = compared(one_op("divui", "i4"), one_op("divui", "i4"))
    assert (divided.undefined, divided.differing, divided.verdicts[Verdict.EQUAL]) == (16, 0, 240)
    added = compared(
        function("  return %a : i4", "i4", 1),
        function("  %c = arith.constant 1 : i4\n  %0 = arith.divui %c, %a : i4\n  return %a : i4", "i4", 1),
    )
    assert added.differing == 1
    assert "division by zero" in added.counterexamples[0].trap


def test_poison_before_allows_any_value_but_poison_after_is_a_difference() -> None:
    flagged = one_op("addi", "i4").replace(" : i4\n", " overflow<nsw> : i4\n", 1)
    assert compared(flagged, one_op("addi", "i4")).differing == 0
    report = compared(one_op("addi", "i4"), flagged)
    assert report.differing == 64  # the pairs of 4-bit numbers whose sum overflows
    assert report.counterexamples[0].mismatch is not None


def test_an_open_nan_may_change_and_a_number_may_not() -> None:
    report = compared(one_op("mulf", "f8E5M2"), one_op("mulf", "f8E5M2", "%b, %a"))
    assert report.differing == 0
    assert report.verdicts[Verdict.OPEN] > 0  # NaN times another NaN
    assert compared(one_op("mulf", "f8E5M2"), one_op("addf", "f8E5M2")).differing > 0


def test_tensors_and_branches_are_run_one_by_one() -> None:
    tensor = "tensor<3xf32>"
    report = compared(one_op("addf", tensor), one_op("addf", tensor, "%a, %b"), 50)
    assert (report.inputs, report.differing) == (50, 0)
    branch = """\
  %c = arith.constant 0 : i8
  %p = arith.cmpi slt, %a, %c : i8
  cf.cond_br %p, ^bb1, ^bb2
^bb1:
  %n = arith.subi %c, %a : i8
  return %n : i8
^bb2:
  return %a : i8"""
    straight = """\
  %c = arith.constant 0 : i8
  %n = arith.subi %c, %a : i8
  %0 = arith.maxsi %a, %n : i8
  return %0 : i8"""
    report = compared(function(branch, "i8", 1), function(straight, "i8", 1))
    assert (report.inputs, report.differing) == (256, 0)


def test_a_tensor_made_of_scalars_has_its_place_without_the_lane() -> None:
    body = "  %t = tensor.from_elements %a, %{0} : tensor<2xi8>\n  return %t : tensor<2xi8>"
    wrong = """  %c = arith.constant 77 : i8
  %e = arith.cmpi eq, %a, %c : i8
  %z = arith.xori %a, %a : i8
  %s = arith.select %e, %z, %a : i8
"""
    after = function(wrong + body.format("s"), "i8", 1, "tensor<2xi8>")
    report = compared(function(body.format("a"), "i8", 1, "tensor<2xi8>"), after, 256)
    assert (report.differing, report.verdicts[Verdict.EQUAL]) == (1, 511)
    lines = counterexample_lines(hu.parse(after, "after.mlir").body[0], report.counterexamples[0])
    assert lines[:2] == ["after.mlir:1:1: error: @f may not do this at element [1]", "  argument 0: i8=77"]


def test_an_endless_loop_is_skipped_not_agreed_on() -> None:
    loop = "  cf.br ^bb1\n^bb1:\n  cf.br ^bb1"
    report = compared(function(loop, "i1", 1), function(loop, "i1", 1))
    assert report.skipped.total() == 2
    assert report.compared == 0


def test_a_loop_that_no_longer_ends_is_a_difference() -> None:
    test = "  %c = arith.constant 1 : i2\n  %p = arith.cmpi eq, %a, %c : i2\n"
    before = function(f"{test}  return %a : i2", "i2", 1)
    after = function(f"{test}  cf.cond_br %p, ^bb1, ^bb2\n^bb1:\n  cf.br ^bb1\n^bb2:\n  return %a : i2", "i2", 1)
    report = compared(before, after)
    assert (report.differing, report.skipped.total(), report.compared) == (1, 0, 4)
    assert report.counterexamples[0].trap.startswith("does not end: ")
    assert compared(after, before).skipped.total() == 1


def test_too_many_elements_are_refused_before_they_are_made() -> None:
    types = [as_type("tensor<100000x100000xf32>")]
    with pytest.raises(hu.LimitExceeded, match="too many to generate"):
        generated(types, 1)
    assert generated([as_type("tensor<300x1000xi8>")], 2).count == 2


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (one_op("addi", "i8"), one_op("addi", "i4"), "the type of @f has changed from '(i8, i8) -> i8'"),
        (one_op("addi", "i8"), one_op("addi", "i8").replace("@f", "@g"), "@f has no body in the second version"),
        (one_op("addi", "i8").replace("@f", "private @f"), one_op("addi", "i8"), "there is no public function"),
        (
            one_op("addi", "i8") + one_op("addi", "i8").replace("@f", "@g"),
            one_op("addi", "i8"),
            "@g has no body in the second version",
        ),
    ],
)
def test_functions_that_cannot_be_compared(before: str, after: str, message: str) -> None:
    with pytest.raises(hu.InputError, match=message.replace("(", r"\(").replace(")", r"\)")):
        common_functions(hu.parse(before), hu.parse(after))
