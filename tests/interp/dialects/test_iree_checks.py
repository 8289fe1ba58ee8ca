"""What programs of IREE expect of their results: the dialect check, and the parts of util and flow around it."""

import subprocess

import numpy as np
import pytest
from corpora.iree_tests import results
from tables import each_row

import halfulp as hu
from halfulp.interp.text.printer import print_module

HELD = """
func.func @held() {
  %i = util.unfoldable_constant -1 : i8
  check.expect_true(%i) : i8
  %n = arith.constant false
  check.expect_false(%n) : i1
  %a = util.unfoldable_constant dense<[0.0, 0x7E00, 1.0]> : tensor<3xf16>
  %b = util.optimization_barrier %a : tensor<3xf16>
  check.expect_eq(%a, %b) : tensor<3xf16>
  check.expect_almost_eq_const(%b, dense<[-0.0, 0xFFFF, 1.001]> : tensor<3xf16>, atol 1.0e-03) : tensor<3xf16>
  check.expect_almost_eq_const(%b, dense<[0.0, 0x7E00, 1.1]> : tensor<3xf16>, atol 0.0, rtol 0.1) : tensor<3xf16>
  %c = arith.constant dense<[0x7F800000, 0.0]> : tensor<2xf32>
  check.expect_almost_eq_const(%c, dense<[0x7F800000, 0.0001]> : tensor<2xf32>) : tensor<2xf32>
  return
}
"""


def test_a_program_whose_expectations_hold_ends() -> None:
    assert hu.run(HELD) == ()


@each_row(
    ("check.expect_eq_const(%a, dense<[0.0, 2.0]> : tensor<2xf32>)", "element [0] is f32=-0, expected f32=0; 1 of 2"),
    ("check.expect_eq_const(%a, dense<[-0.0, 3.0]> : tensor<2xf32>)", "element [1] is f32=2, expected f32=3; 1 of 2"),
    ("check.expect_almost_eq_const(%a, dense<[1.0, 3.0]> : tensor<2xf32>)", "expected f32=1; 2 of 2 elements differ"),
    ("check.expect_almost_eq_const(%a, dense<[0.00011, 2.0]> : tensor<2xf32>)", "element [0] is f32=-0, expected"),
    ("check.expect_almost_eq_const(%a, dense<[0x7FC00000, 2.0]> : tensor<2xf32>)", "element [0] is f32=-0, expected"),
    ("check.expect_almost_eq_const(%a, dense<[0x7F800000, 2.0]> : tensor<2xf32>, atol 0x7F800000)", "element [0]"),
)
def test_the_first_other_element_is_named(check: str, message: str) -> None:
    text = (
        "func.func @f() {\n  %a = util.unfoldable_constant dense<[-0.0, 2.0]> : tensor<2xf32>\n"
        f"  {check} : tensor<2xf32>\n  return\n}}"
    )
    with pytest.raises(hu.errors.AssertionFailed) as caught:
        hu.run(text)
    assert message in caught.value.message
    assert str(caught.value).startswith("<string>:3:3: error: check.expect_")


def test_other_shapes_and_false_values_fail() -> None:
    shapes = "func.func @f(%a: tensor<?xi8>, %b: tensor<?xi8>) {\n  check.expect_eq(%a, %b) : tensor<?xi8>\n  return\n}"
    with pytest.raises(hu.errors.AssertionFailed, match="the shape is 2, expected 3"):
        hu.run(shapes, np.zeros(2, np.int8), np.zeros(3, np.int8))
    truth = "func.func @f(%a: tensor<2xi8>) {\n  check.expect_all_true(%a) : tensor<2xi8>\n  return\n}"
    with pytest.raises(hu.errors.AssertionFailed, match=r"element \[1\] is i8=0"):
        hu.run(truth, np.array([1, 0], np.int8))
    with pytest.raises(hu.errors.AssertionFailed, match="the operand is i1=true"):
        hu.run("func.func @f(%a: i1) {\n  check.expect_false(%a) : i1\n  return\n}", True)


def test_a_poison_element_cannot_be_checked() -> None:
    text = "func.func @f() {\n  %a = ub.poison : tensor<2xi8>\n  check.expect_eq(%a, %a) : tensor<2xi8>\n  return\n}"
    with pytest.raises(hu.UndefinedBehavior, match=r"element \[0\] is poison"):
        hu.run(text)


BITS = """
func.func @f(%n: index) -> (tensor<?x2xi32>, tensor<4xf4E2M1FN>, tensor<12xi1, #x.packed>, tensor<1xi32>, tensor<?xi8>) {
  %0 = flow.tensor.dynamic_constant dense<[[1, 2]]> : tensor<1x2xi32> -> tensor<?x2xi32>
  %1 = flow.tensor.tie_shape %0 : tensor<?x2xi32>{%n}
  %2 = arith.constant dense<[0x21, 0x43]> : tensor<2xi8>
  %3 = flow.tensor.bitcast %2 : tensor<2xi8> -> tensor<4xf4E2M1FN>
  %4 = flow.tensor.bitcast %2 : tensor<2xi8> -> tensor<12xi1, #x.packed>
  %5 = arith.constant dense<[true, false, true, true]> : tensor<4xi1>
  %6 = flow.tensor.bitcast %5 : tensor<4xi1> -> tensor<1xi32>
  %7 = flow.tensor.bitcast %1 : tensor<?x2xi32>{%n} -> tensor<?xi8>{%c8}
  return %1, %3, %4, %6, %7 : tensor<?x2xi32>, tensor<4xf4E2M1FN>, tensor<12xi1, #x.packed>, tensor<1xi32>, tensor<?xi8>
}
""".replace("%0 = flow", "%c8 = arith.constant 8 : index\n  %0 = flow", 1)


def test_bits_are_regrouped_as_iree_stores_them() -> None:
    shaped, quarters, packed, word, octets = hu.run(BITS, 1)
    assert shaped.bits.tolist() == [[1, 2]]
    assert quarters.bits.tolist() == [1, 2, 3, 4]
    assert packed.bits.tolist() == [1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0]
    assert word.bits.tolist() == [0x01010001]
    assert octets.bits.tolist() == [1, 0, 0, 0, 2, 0, 0, 0]
    with pytest.raises(hu.UndefinedBehavior, match="the shape is 1x2, not 2x2"):
        hu.run(BITS, 2)


def test_poison_goes_where_its_bits_go() -> None:
    text = (
        "func.func @f(%i: index) -> tensor<4xi4> {\n  %p = ub.poison : i8\n  %a = arith.constant dense<0> : tensor<2xi8>\n"
        "  %b = tensor.insert %p into %a[%i] : tensor<2xi8>\n"
        "  %c = flow.tensor.bitcast %b : tensor<2xi8> -> tensor<4xi4>\n  return %c : tensor<4xi4>\n}"
    )
    assert hu.run(text, 1)[0].poisoned.tolist() == [False, False, True, True]


def test_the_tool_tells_a_sum_in_another_order_from_an_error() -> None:
    text = """
func.func @sums() {
  %a = arith.constant dense<0.001> : tensor<4096xf16>
  %z = arith.constant dense<0.0> : tensor<f16>
  %s = linalg.reduce ins(%a : tensor<4096xf16>) outs(%z : tensor<f16>) dimensions = [0]
    (%in: f16, %acc: f16) { %0 = arith.addf %acc, %in : f16 linalg.yield %0 : f16 }
  check.expect_almost_eq_const(%s, dense<4.1> : tensor<f16>, atol 0.01) : tensor<f16>
  return
}
func.func @fails() {
  %t = arith.constant false
  check.expect_true(%t) : i1
  return
}
func.func private @left_out()
"""
    assert [(one.function, one.outcome) for one in results("a", text, None)] == [
        ("sums", "another order"),
        ("fails", "fails"),
    ]
    assert [one.outcome for one in results("b", "no.op", None)] == ["unsupported"]


TOLERANCES = ("", "atol 1.000000e-03", "atol 9.99999974E-5, rtol 1.000000e-03", "atol 1.000000e-03, rtol 2.000000e-03")


def tolerant(said: str) -> str:
    words = f", {said}" if said else ""
    return (
        "module {\n  func.func @f(%arg0: tensor<2xf32>) {\n"
        f"    check.expect_almost_eq(%arg0, %arg0{words}) : tensor<2xf32>\n"
        f"    check.expect_almost_eq_const(%arg0, dense<1.000000e+00> : tensor<2xf32>{words}) : tensor<2xf32>\n"
        "    return\n  }\n}\n"
    )


@pytest.mark.parametrize("said", TOLERANCES)
def test_tolerances_are_printed_as_they_are_read(said: str) -> None:
    assert print_module(hu.load(tolerant(said))) == tolerant(said)


def test_a_relative_tolerance_alone_is_read_and_printed_behind_the_absolute_one() -> None:
    alone = print_module(hu.load(tolerant("rtol 1.000000e-03")))
    assert alone == print_module(hu.load(tolerant(TOLERANCES[2])))
    generic = print_module(hu.load(tolerant("rtol 1.000000e-03")), generic=True)
    assert print_module(hu.load(generic)) == alone
    program = "func.func @f() {{\n  %a = arith.constant dense<2.0> : tensor<2xf32>\n  %b = arith.constant dense<{}> : tensor<2xf32>\n  check.expect_almost_eq(%a, %b, rtol 0.1) : tensor<2xf32>\n  return\n}}"
    assert hu.run(program.format(2.1)) == ()
    with pytest.raises(hu.errors.AssertionFailed, match="expected f32=2.5"):
        hu.run(program.format(2.5))


@pytest.mark.parametrize("said", ["foo 1.0", "rtol 0.1, atol 0.1", "rtol 0.1, rtol 0.1", "rtol", "atol 0.1,"])
def test_other_tolerances_are_refused(said: str) -> None:
    with pytest.raises(hu.errors.ParseError):
        hu.load(tolerant(said))


@pytest.mark.iree
def test_iree_reads_the_tolerances_that_are_printed(iree_opt: str) -> None:
    for said in (*TOLERANCES, "rtol 1.000000e-03"):
        printed = print_module(hu.load(tolerant(said)))
        ours = subprocess.run([iree_opt], input=printed, capture_output=True, text=True, check=False)
        assert ours.returncode == 0
        assert print_module(hu.load(ours.stdout)) == printed
