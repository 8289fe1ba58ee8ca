"""Ops over more points than a run may have: they stop at the limit, and take little memory until then."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import halfulp as hu

PAD = """
func.func @f(%n: index) -> tensor<?xi8> {
  %t = tensor.empty() : tensor<4xi8>
  %0 = tensor.pad %t low[%n] high[%n] {
  ^bb0(%i: index):
    %c = arith.index_cast %i : index to i8
    tensor.yield %c : i8
  } : tensor<4xi8> to tensor<?xi8>
  return %0 : tensor<?xi8>
}"""
GENERATE = """
func.func @f(%n: index) -> tensor<?xi8> {
  %0 = tensor.generate %n {
  ^bb0(%i: index):
    %c = arith.index_cast %i : index to i8
    tensor.yield %c : i8
  } : tensor<?xi8>
  return %0 : tensor<?xi8>
}"""
BY_POINTS = """
func.func @f(%n: index) -> memref<i1> {
  %one = memref.alloc() : memref<i1>
  %all = memref.reinterpret_cast %one to offset: [0], sizes: [%n], strides: [0] : memref<i1> to memref<?xi1, strided<[0]>>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
    outs(%all : memref<?xi1, strided<[0]>>) {
  ^bb0(%x: i1):
    %true = arith.constant true
    linalg.yield %true : i1
  }
  return %one : memref<i1>
}"""


def most_memory(run: Callable[[], Any]) -> int:
    """Return the largest number of bytes that were held at the same time."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", [PAD, GENERATE, BY_POINTS], ids=["pad", "generate", "points"])
def test_points_are_not_listed(text: str) -> None:
    def stopped() -> None:
        with pytest.raises(hu.errors.LimitExceeded, match="ran more than 300 ops"):
            hu.run(hu.parse(text), 20_000_000, max_steps=300)

    assert most_memory(stopped) < 100 << 20


def test_a_contraction_counts_its_products() -> None:
    text = """
    func.func @f(%x: f32) -> vector<900x900xf32> {
      %a = vector.broadcast %x : f32 to vector<900x900xf32>
      %0 = vector.contract {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
          affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %a, %a : vector<900x900xf32>, vector<900x900xf32> into vector<900x900xf32>
      return %0 : vector<900x900xf32>
    }"""
    with pytest.raises(hu.errors.LimitExceeded, match="ran more than 700000 ops"):
        hu.run(text, np.float32(1), max_steps=700_000)


def test_bits_are_taken_apart_in_parts() -> None:
    text = """
    func.func @f(%v: vector<200000xi64>) -> vector<1600000xi8> {
      %0 = vector.bitcast %v : vector<200000xi64> to vector<1600000xi8>
      return %0 : vector<1600000xi8>
    }"""
    given = np.arange(200_000) * 0x0123456789ABCDE
    found = []
    assert most_memory(lambda: found.append(hu.run(text, given)[0])) < 50 << 20
    assert np.array_equal(found[0].numpy(), given.view(np.int8))


def test_too_many_digits() -> None:
    base, types = ", ".join(["3"] * 2000), ", ".join(["index"] * 2000)
    text = f"""
    func.func @f(%x: index) -> index {{
      %0:2000 = affine.delinearize_index %x into ({base}) : {types}
      return %0#1999 : index
    }}"""
    with pytest.raises(hu.Unsupported, match="more than 200 digits"):
        hu.run(text, 5)
