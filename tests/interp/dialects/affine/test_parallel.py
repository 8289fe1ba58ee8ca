"""affine.parallel, affine.vector_load and vector_store, and the digits of indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import halfulp as hu

SUMS = """
func.func @f(%m: memref<4x6xf32>, %n: index) -> (f32, f32, f32) {
  %0:3 = affine.parallel (%a, %b) = (0, max(1, %n - 5)) to (min(%n, 4), symbol(%n)) step (1, 2) reduce ("addf", "maximumf", "mulf") -> (f32, f32, f32) {
    %x = affine.load %m[%a, %b] : memref<4x6xf32>
    affine.yield %x, %x, %x : f32, f32, f32
  }
  return %0#0, %0#1, %0#2 : f32, f32, f32
}"""


def test_reductions_begin_with_the_element_that_changes_no_other() -> None:
    memory = np.arange(24, dtype=np.float32).reshape(4, 6)
    got = [value.item() for value in hu.run(SUMS, memory, 6)]
    some = memory[:4, 1:6:2]
    assert got == [some.sum(), some.max(), np.multiply.reduce(some.reshape(-1))]
    assert [value.item() for value in hu.run(SUMS, memory, 0)] == [0, -np.inf, 1]


def test_reductions_keep_the_order_of_the_points() -> None:
    text = """
    func.func @f(%m: memref<4xf32>) -> f32 {
      %0 = affine.parallel (%a) = (0) to (4) reduce ("addf") -> (f32) {
        %x = affine.load %m[%a] : memref<4xf32>
        affine.yield %x : f32
      }
      return %0 : f32
    }"""
    (got,) = hu.run(text, np.array([1e8, 1, -1e8, 1], np.float32))
    assert got.item() == 1


def test_a_race_of_iterations_is_reported() -> None:
    text = """
    func.func @f(%m: memref<4xindex>) {
      affine.parallel (%a) = (0) to (4) {
        affine.store %a, %m[%a floordiv 2] : memref<4xindex>
      }
      return
    }"""
    with pytest.raises(hu.UndefinedBehavior, match="affine.parallel"):
        hu.run(text, np.zeros(4, np.int64))


def test_vectors_lie_at_the_indices_of_a_map() -> None:
    text = """
    func.func @f(%m: memref<4x6xf32>, %i: index) -> vector<2x3xf32> {
      %v = affine.vector_load %m[%i + 1, %i * 2] : memref<4x6xf32>, vector<2x3xf32>
      affine.vector_store %v, %m[0, symbol(%i) mod 3] : memref<4x6xf32>, vector<2x3xf32>
      affine.prefetch %m[%i, %i * 100], read, locality<3>, data : memref<4x6xf32>
      return %v : vector<2x3xf32>
    }"""
    memory = np.arange(24, dtype=np.float32).reshape(4, 6)
    buffer = hu.Buffer.from_numpy(memory)
    (got,) = hu.run(text, buffer, 1)
    np.testing.assert_array_equal(got.numpy(), memory[2:4, 2:5])
    memory[0:2, 1:4] = memory[2:4, 2:5]
    np.testing.assert_array_equal(buffer.numpy(), memory)
    with pytest.raises(hu.UndefinedBehavior, match="outside the shape 4x6"):
        hu.run(text, buffer, 2)


DIGITS = """
func.func @f(%x: index, %b: index) -> (index, index, index, index) {
  %0:3 = affine.delinearize_index %x into (9, %b, 4) : index, index, index
  %1 = affine.linearize_index disjoint [%0#0, %0#1, %0#2] by (%b, 4) : index
  return %0#0, %0#1, %0#2, %1 : index, index, index, index
}"""


@pytest.mark.parametrize("number", [0, 1, 59, 60, 1000, -1, -7, -61])
def test_digits_are_of_the_floor(number: int) -> None:
    got = [value.numpy().astype(np.int64).item() for value in hu.run(DIGITS, number, 5)]
    assert got == [number // 20, number // 4 % 5, number % 4, number]


def test_digits_that_cannot_be() -> None:
    with pytest.raises(hu.UndefinedBehavior, match="not positive"):
        hu.run(DIGITS, 3, 0)
    text = """
    func.func @f(%x: index) -> (index, index) {
      %0 = affine.linearize_index FLAG [%x, %x] by (5) : index
      %p = ub.poison : index
      %1 = affine.linearize_index [%x, %p] by (5) : index
      return %0, %1 : index, index
    }"""
    plain, lost = hu.run(text.replace("FLAG", ""), 7)
    assert (plain.item(), bool(lost.poisoned)) == (42, True)
    assert all(bool(value.poisoned) for value in hu.run(text.replace("FLAG", "disjoint"), 7))
    (huge, _) = hu.run(text.replace("FLAG", ""), 1 << 62)
    assert huge.poisoned
    lanes: Any = hu.run(text.replace("FLAG", "disjoint"), np.array([3, 7]), batch=True)[0]
    assert lanes.poisoned.tolist() == [False, True]


def test_transfers_by_dma_are_read_but_not_run() -> None:
    text = """
    func.func @f(%m: memref<8xf32>, %n: memref<8xf32, 1>, %t: memref<1xi32>, %i: index) {
      affine.dma_start %m[%i + 1], %n[0], %t[0], %i : memref<8xf32>, memref<8xf32, 1>, memref<1xi32>
      return
    }"""
    with pytest.raises(hu.Unsupported, match=r"affine\.dma_start"):
        hu.run(text, np.zeros(8, np.float32), np.zeros(8, np.float32), np.zeros(1, np.int32), 1)
