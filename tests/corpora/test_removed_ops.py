"""Ops that MLIR 22 does not have, in terms of those that it has."""

from __future__ import annotations

import pytest
from corpora.removed_ops import in_mlir_22

from halfulp.interp.loading import parse_module

TEXT = """\
!t = vector<2x3xf32>
func.func @f(%a: f32, %i: i32, %k: index, %v: vector<8xf32>, %w: vector<f32>) {
  %0 = vector.splat %a : !t
  %1 = vector.insertelement %a, %v[%i : i32] : vector<8xf32>
  %2 = vector.extractelement %w[] : vector<f32>
  %3 = vector.extractelement %v[%k : index]: vector<8xf32>
  return
}
"""


def test_removed_ops_are_replaced() -> None:
    lines = [line.strip() for line in in_mlir_22(TEXT).splitlines()[2:6]]
    assert lines == [
        "%0 = vector.broadcast %a : f32 to !t",
        "%place_1 = arith.index_cast %i : i32 to index %1 = vector.insert %a, %v [%place_1] : f32 into vector<8xf32>",
        "%2 = vector.extract %w[] : f32 from vector<f32>",
        "%3 = vector.extract %v[%k] : f32 from vector<8xf32>",
    ]
    assert [op.name for op in parse_module(in_mlir_22(TEXT), "test.mlir").walk()].count("vector.extract") == 2


@pytest.mark.parametrize("line", ["// no ops", "vector.print %0 : f32"])
def test_other_text_stays(line: str) -> None:
    assert in_mlir_22(line) == line
