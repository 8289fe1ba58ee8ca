"""Loops, conditions and accesses of the affine dialect in a batch: each lane has what a run of its own gives."""

from typing import Any

import numpy as np
import pytest

import halfulp as hu
from halfulp.interp.ir import types as ty
from halfulp.interp.values.buffers import buffer_of

LANES = 9
COUNTS = np.array([0, 1, 5, 3, 0, 8, 2, 7, 4], np.int64)

LOOP = """func.func @f(%n: index, %a: memref<8xi32>, %s: i32) -> (i32, index) {
  %z = arith.constant 0 : index
  %r, %last = affine.for %i = 0 to min affine_map<(d0) -> (d0, 8)>(%n) step 2 iter_args(%t = %s, %l = %z) -> (i32, index) {
    %x = affine.load %a[%i] : memref<8xi32>
    %u = arith.addi %t, %x : i32
    affine.store %u, %a[%i] : memref<8xi32>
    affine.yield %u, %i : i32, index
  }
  return %r, %last : i32, index
}"""

NESTED = """func.func @f(%n: index, %a: memref<8xi32>, %s: i32) -> i32 {
  affine.for %i = 0 to 8 {
    affine.for %j = max affine_map<(d0)[s0] -> (d0, s0 - 2)>(%i)[%n] to min affine_map<(d0)[s0] -> (d0 + 3, s0)>(%i)[%n] {
      affine.if affine_set<(d0, d1)[s0] : (d0 - d1 >= 0, s0 mod 2 == 0)>(%j, %i)[%n] {
        %x = affine.load %a[(%i + %j) mod 8] : memref<8xi32>
        %u = arith.addi %x, %s : i32
        affine.store %u, %a[%j] : memref<8xi32>
      } else {
        affine.store %s, %a[7 - %i] : memref<8xi32>
      }
    }
  }
  %r = affine.if affine_set<(d0) : (d0 - 4 >= 0)>(%n) -> i32 {
    %x = affine.load %a[symbol(%n) - 4] : memref<8xi32>
    affine.yield %x : i32
  } else {
    affine.yield %s : i32
  }
  affine.if affine_set<(d0) : (d0 - 3 == 0)>(%n) {
    affine.store %r, %a[0] : memref<8xi32>
  }
  return %r : i32
}"""

CALLED = """func.func private @g(%n: index, %a: memref<8xi32>) -> i32 {
  %x = affine.load %a[%n mod 8] : memref<8xi32>
  %c = arith.cmpi sgt, %x, %x : i32
  return %x : i32
}
func.func @f(%n: index, %a: memref<8xi32>, %s: i32) -> i32 {
  %r = affine.for %i = 0 to %n iter_args(%t = %s) -> i32 {
    %x = func.call @g(%i, %a) : (index, memref<8xi32>) -> i32
    %u = arith.xori %t, %x : i32
    affine.yield %u : i32
  }
  return %r : i32
}"""


def inputs() -> tuple[Any, ...]:
    random = np.random.default_rng(5)
    return COUNTS, random.integers(-50, 50, (LANES, 8), np.int32), random.integers(-50, 50, LANES, np.int32)


@pytest.mark.parametrize("text", [LOOP, NESTED, CALLED])
def test_a_lane_has_the_results_and_the_memory_of_a_run_alone(text: str) -> None:
    module = hu.parse(text)
    counts, memory, starts = inputs()
    contents = buffer_of(memory, ty.MemRefType((LANES, 8), ty.I32), "a")
    results = hu.run(module, counts, contents, starts, batch=True)
    for lane in range(LANES):
        alone = buffer_of(memory[lane], ty.MemRefType((8,), ty.I32), "a")
        expected = hu.run(module, int(counts[lane]), alone, int(starts[lane]))
        assert [value.numpy()[lane] for value in results] == [value.numpy() for value in expected]
        assert contents.load().numpy()[lane].tolist() == alone.load().numpy().tolist()


def test_an_access_outside_names_its_lanes() -> None:
    text = """func.func @f(%n: index, %a: memref<8xi32>) -> i32 {
      %x = affine.load %a[%n + 2] : memref<8xi32>
      return %x : i32
    }"""
    memory = np.zeros((3, 8), np.int32)
    with pytest.raises(hu.UndefinedBehavior, match=r"index \[9\] is outside the shape 8 \(lane 1; 2 of 3 lanes\)"):
        hu.run(text, np.array([5, 7, 8]), memory, batch=True)


def test_a_bound_that_overflows_names_its_lanes() -> None:
    text = """func.func @f(%n: index) -> index {
      %r = affine.for %i = 0 to affine_map<(d0) -> (d0 * 4)>(%n) iter_args(%t = %n) -> index {
        affine.yield %i : index
      }
      return %r : index
    }"""
    (result,) = hu.run(text, np.array([1, 0, 3]), batch=True)
    assert result.numpy().tolist() == [3, 0, 11]
    with pytest.raises(hu.UndefinedBehavior, match=r"upper bound is not a number.*lane 2; 1 of 3 lanes"):
        hu.run(text, np.array([1, 0, 1 << 62]), batch=True)
