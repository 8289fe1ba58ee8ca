"""Rows of programs on tensors: many at once give what each gives alone."""

from __future__ import annotations

import numpy as np
import pytest

from halfulp.conformance.vectors import computation
from halfulp.conformance.vectors.computation import ProgramComputation
from halfulp.conformance.vectors.recipe import Recipe

TENSORS = """
func.func @divide(%a: tensor<2xi8>, %b: tensor<2xi8>) -> (tensor<2xi8>, i8) {
  %one = arith.constant 1 : index
  %q = arith.divsi %a, %b : tensor<2xi8>
  %x = tensor.extract %q[%one] : tensor<2xi8>
  %s = arith.shli %x, %x : i8
  return %q, %s : tensor<2xi8>, i8
}
func.func @constant(%a: vector<2x1xf80>) -> (vector<1x2xf80>, tensor<2xi4>, tensor<0xi8>) {
  %t = vector.transpose %a, [1, 0] : vector<2x1xf80> to vector<1x2xf80>
  %c = arith.constant dense<[3, 4]> : tensor<2xi4>
  %n = arith.constant dense<[]> : tensor<0xi8>
  return %t, %c, %n : vector<1x2xf80>, tensor<2xi4>, tensor<0xi8>
}
func.func @zeros(%a: tensor<2xf16>) -> tensor<2xf16> {
  %m = arith.addf %a, %a fastmath<nsz> : tensor<2xf16>
  return %m : tensor<2xf16>
}
func.func @shapes(%a: tensor<4xi8>, %n: i2) -> tensor<1xi8> {
  %n64 = arith.index_castui %n : i2 to index
  %zero = arith.constant 0 : index
  %p = tensor.extract_slice %a[0] [%n64] [1] : tensor<4xi8> to tensor<?xi8>
  %d = tensor.dim %p, %zero : tensor<?xi8>
  %x = arith.index_cast %d : index to i8
  %r = tensor.from_elements %x : tensor<1xi8>
  return %r : tensor<1xi8>
}
"""


@pytest.mark.parametrize("keep_ub", [False, True])
@pytest.mark.parametrize("function", ["divide", "constant", "zeros", "shapes"])
def test_rows_of_tensors_at_once_are_what_each_row_is_alone(
    function: str, keep_ub: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in parts, and where lanes would hold different shapes, so that each row runs alone."""
    recipe = Recipe(ProgramComputation(TENSORS, function, "tensors.mlir", keep_ub=keep_ub), "weighted", count=300)
    inputs = recipe.given(0, 300)
    assert isinstance(recipe.computation, ProgramComputation)
    wanted = recipe.computation._one_by_one(inputs)
    assert (wanted.undefined is not None) == (function == "divide")
    for most in (1 << 20, 250):
        monkeypatch.setattr(computation, "ELEMENTS_AT_ONCE", most)
        found = recipe.computation.compute(inputs)
        assert len(found.outputs) == len(recipe.computation.outputs)
        for mine, alone in zip(found.outputs, wanted.outputs, strict=True):
            assert (mine.dtype, mine.shape) == (alone.dtype, alone.shape)
            assert np.array_equal(mine, alone)
        assert np.array_equal(found.undefined, wanted.undefined)  # type: ignore[arg-type]
