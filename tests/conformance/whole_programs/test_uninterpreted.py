"""Ops that no dialect has, and calls of declarations, as unknown functions: the same in both versions."""

from __future__ import annotations

import pytest

import halfulp as hu
from halfulp.conformance.whole_programs.printed import Calls
from halfulp.conformance.whole_programs.validation import Inputs, ValidationReport, common_functions, compare


def compared(before: str, after: str, count: int = 50) -> ValidationReport:
    declared = "func.func private @use(i32)\nfunc.func private @see(memref<2xi32>)\n"
    one, two = hu.parse(declared + before, "before.mlir"), hu.parse(declared + after, "after.mlir")
    ((first, second),) = common_functions(one, two)
    return compare(one, two, (first, second), Inputs(count=count, unknown=Calls))


def function(body: str) -> str:
    return f"func.func @f(%a: i32, %b: i32) -> i32 {{\n{body}\n  return %r : i32\n}}\n"


USE_A, USE_B = "  call @use(%a) : (i32) -> ()\n", "  call @use(%b) : (i32) -> ()\n"
KEEP_A = "  %r = arith.ori %a, %a : i32"


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        pytest.param(USE_A + USE_B + KEEP_A, USE_A + USE_B + KEEP_A, True, id="same calls"),
        pytest.param(USE_A + USE_B + KEEP_A, USE_B + USE_A + KEEP_A, False, id="swapped"),
        pytest.param(USE_A + KEEP_A, KEEP_A, False, id="removed"),
        pytest.param(KEEP_A, USE_A + KEEP_A, False, id="added"),
        pytest.param(
            '  %r = "foo.bar"(%a) {k = 1 : i32} : (i32) -> i32', '  %r = "foo.bar"(%a) {k = 1 : i32} : (i32) -> i32',
            True, id="unknown op",
        ),
        pytest.param(
            '  %r = "foo.bar"(%a) {k = 1 : i32} : (i32) -> i32', '  %r = "foo.bar"(%a) {k = 2 : i32} : (i32) -> i32',
            False, id="another attribute",
        ),
        pytest.param(
            '  %r = "foo.bar"(%a) : (i32) -> i32', '  %r = "foo.bar"(%b) : (i32) -> i32', False, id="another operand",
        ),
        pytest.param(
            '  %p = ub.poison : i32\n  %r = "foo.bar"(%p) : (i32) -> i32', '  %r = "foo.bar"(%b) : (i32) -> i32',
            True, id="poison before allows any operand",
        ),
        pytest.param(
            '  %x = "foo.bar"() : () -> i32\n  %y = "foo.bar"() : () -> i32\n  %r = arith.subi %x, %y : i32',
            '  %x = "foo.bar"() : () -> i32\n  %y = "foo.bar"() : () -> i32\n  %r = arith.constant 0 : i32',
            False, id="two calls have two results",
        ),
        pytest.param(
            '  %r = "foo.bar"(%a) : (i32) -> i32', '  %r = "foo.bar"(%a) {foo.seen, __mark__} : (i32) -> i32',
            True, id="marks do not count",
        ),
    ],
)  # fmt: skip
def test_versions_make_the_same_calls(before: str, after: str, same: bool) -> None:
    report = compared(function(before), function(after))
    assert (report.problem, report.tested, report.exhaustive) == (None, 50, False)
    assert (report.differing == 0) == same


def test_a_call_sees_the_memory_that_it_gets() -> None:
    body = (
        """  %m = memref.alloc() : memref<2xi32>
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  memref.store %a, %m[%0] : memref<2xi32>
  memref.store %{} , %m[%1] : memref<2xi32>
  call @see(%m) : (memref<2xi32>) -> ()
"""
        + KEEP_A
    )
    assert compared(function(body.format("b")), function(body.format("b"))).differing == 0
    assert compared(function(body.format("b")), function(body.format("a"))).differing


def test_an_op_of_mlir_that_halfulp_does_not_have_is_no_unknown_function() -> None:
    body = '  %r = "spirv.IAdd"(%a, %b) : (i32, i32) -> i32'
    report = compared(function(body), function(body))
    assert not report.compared
    assert "spirv.IAdd" in next(iter(report.skipped))
