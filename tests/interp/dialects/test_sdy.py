"""Shardy's attributes and ops in what JAX writes: read, printed, written as bytecode, and run on one device."""

from __future__ import annotations

import numpy as np
import pytest
from stablehlo_reference import Reference

import halfulp as hu

SHARDED = """module {
  sdy.mesh @m = <["x"=2, "y"=4], device_ids=[7, 6, 5, 4, 3, 2, 1, 0]>
  sdy.mesh @none = <[]> {stablehlo.mesh = {axes = []}}
  func.func @f(%arg0: tensor<8x8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}p1, {}, {?}], replicated={"y":(1)2}>}) -> (tensor<8x8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{}, {"y"}, {}], unreduced={"x"}>}) {
    %0 = sdy.sharding_constraint %arg0 <@m, [{"y":(1)2}, {}, {?}p3]> : tensor<8x8x8xf32>
    %1 = sdy.reshard %0 <@m, [{}, {"y"}, {}], unreduced={"x"}> : tensor<8x8x8xf32>
    %2 = sdy.sharding_constraint %1 <mesh<["x"=2]>, [{}, {"x"}, {}]> : tensor<8x8x8xf32>
    %3 = stablehlo.abs %2 {sdy.sharding = #sdy.sharding_per_value<[<@m, [{"x"}, {}, {}]>]>, sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk, l])->([i, jk, l]) {i=8, j=2, k=4, l=8} permutation={k}>} : tensor<8x8x8xf32>
    return %3 : tensor<8x8x8xf32>
  }
}
"""
"""As Shardy prints it; its verifier accepts it."""


def test_shardings_are_kept() -> None:
    module = hu.parse(SHARDED)
    assert hu.print_module(module) == SHARDED
    assert hu.print_module(hu.read_bytecode(hu.write_bytecode(module))) == SHARDED
    array = np.arange(-256, 256, dtype=np.float32).reshape(8, 8, 8)
    assert np.array_equal(hu.run(module, array)[0].numpy(), abs(array))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('@m, [{"x"}, {}, {}], over={"y"}', "expected replicated or unreduced"),
        ('@m, [{"x" "y"}, {}, {}]', "expected"),
        ("3, [{}, {}, {}]", "expected|constraint"),
    ],
)
def test_wrong_shardings(text: str, message: str) -> None:
    written = SHARDED.replace('@m, [{"y":(1)2}, {}, {?}p3]', text)
    with pytest.raises(hu.errors.HalfulpError, match=message):
        hu.parse(written)


@pytest.mark.jax
def test_it_is_the_text_of_shardy() -> None:
    reference = Reference()
    try:
        assert reference.printed(SHARDED) == SHARDED
    finally:
        reference.close()


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


def test_nothing_to_print_and_nothing_to_load() -> None:
    with pytest.raises(hu.TypeMismatch, match="print_module takes a module, not a str") as caught:
        hu.print_module("func.func @f() { return }")  # type: ignore[arg-type]
    assert "hu.load" in (caught.value.hint or "")
    with pytest.raises(hu.errors.InputError, match="<bytes> is empty: there is no program in it"):
        hu.load(b"")
