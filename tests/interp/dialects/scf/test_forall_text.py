"""Bounds of scf.forall that are constants."""

from halfulp.interp.loading import parse_module
from halfulp.interp.text.printer import print_module


def test_constant_bounds_from_zero_by_one_are_left_out_as_mlir_opt_does() -> None:
    text = """
func.func @f(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.forall (%i) = (%c0) to (%n) step (%c1) {
  }
  scf.forall (%i) = (%c1) to (%n) step (%c1) {
  }
  return
}
"""
    lines = [line.strip() for line in print_module(parse_module(text)).splitlines() if "forall" in line]
    assert lines == ["scf.forall (%arg1) in (%arg0) {", "scf.forall (%arg1) = (%c1) to (%arg0) step (%c1) {"]
