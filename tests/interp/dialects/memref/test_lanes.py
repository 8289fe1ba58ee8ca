"""Memory in a batch: each lane has its own, and gets what it gets alone."""

from __future__ import annotations

import numpy as np
import pytest
from batches import agree

import halfulp as hu

LANES = 12
RANDOM = np.random.default_rng(20)

PROGRAM = """
memref.global constant @constant : memref<4xi32> = dense<[1, 2, 3, 4]>
memref.global @variable : memref<4xi32> = dense<7>
memref.global @empty : memref<4xi32> = uninitialized
func.func private @add(%a: memref<?xi32, strided<[?], offset: ?>>, %i: index, %x: i32) -> i32 {
  %0 = memref.atomic_rmw addi %x, %a[%i] : (i32, memref<?xi32, strided<[?], offset: ?>>) -> i32
  return %0 : i32
}
func.func @main(%m: memref<4xi32>, %i: index, %x: i32, %n: index) -> (i32, i32, memref<4xi32>, i32, i32, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c = memref.get_global @constant : memref<4xi32>
  %v = memref.get_global @variable : memref<4xi32>
  %u = memref.get_global @empty : memref<4xi32>
  %a = memref.alloc() : memref<4xi32>
  memref.copy %m, %a : memref<4xi32> to memref<4xi32>
  %l = memref.load %a[%i] : memref<4xi32>
  memref.store %x, %v[%i] : memref<4xi32>
  memref.store %x, %u[%c1] : memref<4xi32>
  %p = memref.load %u[%i] : memref<4xi32>
  %k = memref.load %c[%i] : memref<4xi32>
  scf.for %j = %c0 to %n step %c1 {
    %e = memref.load %m[%j] : memref<4xi32>
    %s = arith.addi %e, %x : i32
    memref.store %s, %a[%j] : memref<4xi32>
    %t = memref.alloc() : memref<2xi32>
    memref.store %s, %t[%c0] : memref<2xi32>
    memref.dealloc %t : memref<2xi32>
  }
  %sv = memref.subview %a[%i] [1] [1] : memref<4xi32> to memref<1xi32, strided<[1], offset: ?>>
  %w = memref.load %sv[%c0] : memref<1xi32, strided<[1], offset: ?>>
  %cond = arith.cmpi slt, %x, %k : i32
  %r = scf.if %cond -> memref<4xi32> {
    scf.yield %a : memref<4xi32>
  } else {
    scf.yield %v : memref<4xi32>
  }
  %d = memref.cast %r : memref<4xi32> to memref<?xi32, strided<[?], offset: ?>>
  %at = func.call @add(%d, %c1, %x) : (memref<?xi32, strided<[?], offset: ?>>, index, i32) -> i32
  %z = memref.dim %d, %c0 : memref<?xi32, strided<[?], offset: ?>>
  return %l, %w, %r, %at, %p, %z : i32, i32, memref<4xi32>, i32, i32, index
}
"""


@pytest.mark.parametrize("most", [4, 6])
def test_each_lane_gets_what_it_gets_alone(most: int) -> None:
    """Indices up to 3 are inside; larger ones are undefined behaviour in their lanes only."""
    memory = RANDOM.integers(0, 9, (LANES, 4)).astype(np.int32)
    indices, ends = RANDOM.integers(0, most, LANES), RANDOM.integers(0, most + 1, LANES)
    agree(hu.load(PROGRAM), memory, indices, RANDOM.integers(0, 5, LANES).astype(np.int32), ends)


def test_a_buffer_holds_what_the_lanes_stored() -> None:
    module = hu.load("""func.func @main(%m: memref<3xf32>, %x: f32, %i: index) {
      memref.store %x, %m[%i] : memref<3xf32>
      return
    }""")
    buffer = hu.Buffer.from_numpy(np.zeros((4, 3), np.float32))
    hu.run(module, buffer, np.arange(1, 5, dtype=np.float32), np.array([0, 1, 2, 0]), batch=True)
    assert buffer.numpy().tolist() == [[1, 0, 0], [0, 2, 0], [0, 0, 3], [4, 0, 0]]
    with pytest.raises(hu.TypeMismatch, match="each lane has memory of its own"):
        hu.run(module, hu.Buffer.from_numpy(np.zeros(3, np.float32)), np.zeros(2, np.float32), 0, batch=True)


def test_freed_memory_is_reported_with_its_lanes() -> None:
    text = """func.func @main(%c: i1) -> i32 {
      %c0 = arith.constant 0 : index
      %x = arith.constant 3 : i32
      %a = memref.alloc() : memref<1xi32>
      memref.store %x, %a[%c0] : memref<1xi32>
      scf.if %c {
        memref.dealloc %a : memref<1xi32>
      }
      %r = memref.load %a[%c0] : memref<1xi32>
      return %r : i32
    }"""
    with pytest.raises(hu.UndefinedBehavior, match=r"was freed by memref.dealloc at .*\(lane 1; 2 of 4 lanes\)"):
        hu.run(text, np.array([0, 1, 1, 0], np.bool_), batch=True)


def test_memory_that_nothing_needs_is_used_again() -> None:
    text = """func.func @main(%n: index) -> i32 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i32
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> i32 {
        %a = memref.alloca() : memref<1000xi32>
        %x = arith.index_cast %i : index to i32
        memref.store %x, %a[%c0] : memref<1000xi32>
        %y = memref.load %a[%c0] : memref<1000xi32>
        %t = arith.addi %s, %y : i32
        scf.yield %t : i32
      }
      return %r : i32
    }"""
    # 2,000 pieces of 4 kB for each of 4 lanes would be more than the limit.
    (result,) = hu.run(text, np.array([2000, 3, 0, 10]), batch=True, max_bytes=1 << 20)
    assert result.numpy().tolist() == [1999000, 3, 0, 45]


def test_lanes_with_memrefs_of_different_shapes_are_refused() -> None:
    text = """func.func @main(%n: index) -> index {
      %c0 = arith.constant 0 : index
      %a = memref.alloc(%n) : memref<?xi32>
      %d = memref.dim %a, %c0 : memref<?xi32>
      return %d : index
    }"""
    assert hu.run(text, np.array([3, 3]), batch=True)[0].numpy().tolist() == [3, 3]
    with pytest.raises(hu.Unsupported, match="lanes cannot hold memrefs of type 'memref<[?]xi32>' of different shapes"):
        hu.run(text, np.array([3, 4]), batch=True)
