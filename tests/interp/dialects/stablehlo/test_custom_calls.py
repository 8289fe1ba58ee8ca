"""The functions that custom_call of StableHLO calls: assertions, windows with sizes of the run, and checks of tests."""

from __future__ import annotations

import numpy as np
import pytest

import halfulp as hu


def test_assertions_about_shapes() -> None:
    text = """func.func @f(%a: tensor<?xf32>) -> tensor<?xf32> {
      %c = stablehlo.constant dense<2> : tensor<i32>
      %0 = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?xf32>) -> tensor<i32>
      %1 = stablehlo.compare GE, %0, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.custom_call @shape_assertion(%1, %0) {
        api_version = 2 : i32, error_message = "expected m >= 2, got {0}", has_side_effect = true
      } : (tensor<i1>, tensor<i32>) -> ()
      return %a : tensor<?xf32>
    }"""
    assert hu.run(text, np.ones(2, np.float32))[0].tolist() == [1, 1]
    with pytest.raises(hu.errors.AssertionFailed, match="expected m >= 2, got 1"):
        hu.run(text, np.ones(1, np.float32))


def test_assertions_of_poison() -> None:
    text = """func.func @f(%a: tensor<i1>) {{
      %p = ub.poison : {1}
      stablehlo.custom_call @shape_assertion({0}) {{error_message = "got {{0}}"}} : (tensor<i1>, {1}) -> ()
      return }}"""
    false = np.bool_(False)
    with pytest.raises(hu.UndefinedBehavior, match="the operand is poison"):
        hu.run(text.format("%p, %a", "tensor<i1>"), false)
    with pytest.raises(hu.errors.AssertionFailed, match="got poison"):
        hu.run(text.format("%a, %p", "tensor<i32>"), false)


def test_windows_that_are_known_at_run_time() -> None:
    text = """func.func private @add(%x: tensor<f32>, %y: tensor<f32>) -> tensor<f32> {
      %0 = stablehlo.add %x, %y : tensor<f32>
      return %0 : tensor<f32>
    }
    func.func @main(%a: tensor<?xf32>, %w: tensor<1xi32>) -> tensor<?xf32> {
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      %one = stablehlo.constant dense<1> : tensor<1xi32>
      %p = stablehlo.constant dense<[[1, 0]]> : tensor<1x2xi32>
      %r = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%a, %z, %w, %one, %one, %one, %p) {
        called_computations = [@add]
      } : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1x2xi32>) -> tensor<?xf32>
      return %r : tensor<?xf32>
    }"""
    given = np.array([1, 2, 3, 4], np.float32)
    for size, expected in ((2, [1, 3, 5, 7]), (3, [3, 6, 9])):
        assert hu.run(text, given, np.array([size], np.int32), function="main")[0].tolist() == expected
    with pytest.raises(hu.errors.UndefinedBehavior, match="positive"):
        hu.run(text, given, np.array([0], np.int32), function="main")


def test_checks_of_stablehlos_tests() -> None:
    text = """func.func @f(%a: tensor<2xf32>, %b: tensor<2xf32>) {{
      stablehlo.custom_call @check.{0}(%a, %b) {{has_side_effect = true}} : (tensor<2xf32>, tensor<2xf32>) -> () return }}"""
    three = np.nextafter(np.nextafter(np.nextafter(np.float32(1), np.float32(2)), np.float32(2)), np.float32(2))
    four = np.nextafter(three, np.float32(2))
    for check, one, other, holds in (
        ("expect_eq", [0.0, 1], [-0.0, 1], True), ("expect_eq", [np.nan, 1], [np.nan, 1], False),
        ("expect_close", [np.nan, 1], [np.nan, three], True), ("expect_close", [0, 1], [0, four], False),
        ("expect_almost_eq", [0, 1], [0.0009, 1], True), ("expect_almost_eq", [0, 1], [0.0011, 1], False),
    ):  # fmt: skip
        arguments = [np.array(each, np.float32) for each in (one, other)]
        if holds:
            hu.run(text.format(check), *arguments)
        else:
            with pytest.raises(hu.errors.AssertionFailed):
                hu.run(text.format(check), *arguments)


def test_a_check_of_poison_is_no_agreement() -> None:
    text = """func.func @f(%a: tensor<2xf32>) {
      %p = ub.poison : tensor<2xf32>
      stablehlo.custom_call @check.expect_eq(%p, %p) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
      return }"""
    with pytest.raises(hu.UndefinedBehavior, match=r"element \[0\] is poison"):
        hu.run(text, np.zeros(2, np.float32))
