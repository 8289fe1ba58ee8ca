"""The ops of MLIR's test dialect that have a meaning."""

from __future__ import annotations

import pytest
from corpora.mlir_test_dialect import TestCalls as Known

import halfulp as hu
from halfulp.conformance.whole_programs.validation import Inputs, ValidationReport, common_functions, compare

BOUNDED = '"test.with_bounds"() <{{smin = {0} : i8, smax = {1} : i8, umin = {0} : i8, umax = {1} : i8}}> : () -> i8'


def compared(before: str, after: str, result: str) -> ValidationReport:
    one, two = (hu.parse(f"func.func @f(%a: i8) -> {result} {{\n{body}\n}}") for body in (before, after))
    (pair,) = common_functions(one, two)
    return compare(one, two, pair, Inputs(count=64, unknown=Known))


@pytest.mark.parametrize(("limit", "holds"), [(8, True), (7, False)])
def test_a_value_with_bounds_lies_inside(limit: int, holds: bool) -> None:
    before = f"  %0 = {BOUNDED.format(3, 8)}\n  %c = arith.constant {limit} : i8\n"
    before += "  %1 = arith.cmpi ule, %0, %c : i8\n  return %1 : i1"
    report = compared(before, "  %1 = arith.constant true\n  return %1 : i1", "i1")
    assert (report.tested, report.differing == 0) == (64, holds)


@pytest.mark.parametrize(("high", "right"), [(8, True), (7, False)])
def test_bounds_that_a_pass_writes_are_checked(high: int, right: bool) -> None:
    value = f"  %0 = {BOUNDED.format(3, 8)}\n"
    before = value + '  %1 = "test.reflect_bounds"(%0) : (i8) -> i8\n  return %1 : i8'
    bounds = f"<{{smin = 3 : i8, smax = {high} : i8, umin = 3 : i8, umax = {high} : i8}}>"
    after = value + f'  %1 = "test.reflect_bounds"(%0) {bounds} : (i8) -> i8\n  return %1 : i8'
    assert (compared(before, after, "i8").differing == 0) == right


def test_an_equal_bound_is_the_value() -> None:
    body = '  %i = arith.index_cast %a : i8 to index\n  %0 = "test.reify_bound"(%i){} : (index) -> index\n  return %0 : index'
    same = "  %i = arith.index_cast %a : i8 to index\n  return %i : index"
    assert compared(body.format(""), same, "index").differing == 0
    lower = compared(body.format(' {type = "LB"}'), same, "index")
    assert (lower.compared, list(lower.skipped)) == (0, ["a bound that is not the value"])
