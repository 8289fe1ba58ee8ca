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
