"""Functions with ops that do not know of lanes: a batch gives each lane what it gets alone."""

import numpy as np
import pytest

import halfulp as hu

LOOPS = """
func.func @main(%x: f32, %n: index, %m: memref<4xf32>) -> (f32, i32, f32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %start = arith.constant 0.0 : f32
  %sum = affine.for %i = 0 to %n iter_args(%a = %start) -> f32 {
    %b = arith.addf %a, %x : f32
    affine.yield %b : f32
  }
  scf.parallel (%i) = (%zero) to (%four) step (%one) {
    %v = memref.load %m[%i] : memref<4xf32>
    %w = arith.addf %v, %x : f32
    memref.store %w, %m[%i] : memref<4xf32>
  }
  %chosen = scf.index_switch %n -> i32
  case 2 {
    %c = arith.constant 20 : i32
    scf.yield %c : i32
  }
  default {
    %c = arith.constant 0 : i32
    scf.yield %c : i32
  }
  %e = memref.load %m[%one] : memref<4xf32>
  return %sum, %chosen, %e : f32, i32, f32
}"""


def test_every_lane_has_its_own_results_and_memory() -> None:
    x, n = np.array([1, 2, 3], np.float32), np.array([1, 2, 3])
    memory = hu.Buffer.from_numpy(np.zeros((3, 4), np.float32))
    together = hu.run(LOOPS, x, n, memory, batch=True)
    for lane in range(3):
        alone = hu.run(LOOPS, x[lane], n[lane], np.zeros(4, np.float32))
        assert [value.bits[lane] for value in together] == [value.bits for value in alone]
    assert memory.numpy().tolist() == [[1] * 4, [2] * 4, [3] * 4]


def test_the_error_names_the_lanes() -> None:
    program = """
func.func @main(%x: i32) -> i32 {
  affine.for %i = 0 to 2 {
    %q = arith.divsi %x, %x : i32
  }
  return %x : i32
}"""
    with pytest.raises(hu.UndefinedBehavior, match=r"division by zero.*\(lane 1; 2 of 4 lanes\)") as caught:
        hu.run(program, np.array([1, 0, 3, 0], np.int32), batch=True)
    assert caught.value.lanes is not None
    assert caught.value.lanes.tolist() == [1, 3]


def test_the_error_names_only_lanes_that_fail_at_its_place() -> None:
    program = """
func.func @main(%m: memref<2xi32>, %n: index, %s: index) -> i32 {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0 : i32
  %r = scf.parallel (%i) = (%c0) to (%n) step (%s) init (%z) -> i32 {
    %v = memref.load %m[%i] : memref<2xi32>
    scf.reduce(%v : i32) {
    ^bb0(%a: i32, %b: i32):
      %t = arith.addi %a, %b : i32
      scf.reduce.return %t : i32
    }
  }
  return %r : i32
}"""
    given = np.ones((4, 2), np.int32), np.array([2, 3, 2, 5]), np.array([1, 1, 0, 1])
    with pytest.raises(hu.UndefinedBehavior, match="outside the shape 2") as caught:
        hu.run(program, *given, batch=True)
    assert caught.value.lanes is not None
    assert caught.value.lanes.tolist() == [1, 3]
