"""Races: writes of different bits by two iterations of a parallel loop."""

from __future__ import annotations

import numpy as np
import pytest

import halfulp as hu

WRITES = """
func.func @f(%m: memref<1xi32>, %both: i32, %second: i32) -> i32 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  scf.parallel (%i) = (%c0) to (%c2) step (%c1) {{
    {first}
    %last = arith.cmpi eq, %i, %c1 : index
    scf.if %last {{
      {then}
    }}
    scf.reduce
  }}
  %v = memref.load %m[%c0] : memref<1xi32>
  return %v : i32
}}"""
STORE = "memref.store {}, %m[%c0] : memref<1xi32>"
ADD = "%old = memref.atomic_rmw addi {}, %m[%c0] : (i32, memref<1xi32>) -> i32"


def outcome(first: str, then: str, *values: int) -> int:
    """Run two iterations on memory that begins with 1: what both do, then what the second does after it."""
    (found,) = hu.run(WRITES.format(first=first, then=then), np.array([1], np.int32), *values)
    return int(found.item())


def test_the_same_bits_are_no_race() -> None:
    store = STORE.format("%both"), STORE.format("%second")
    assert outcome(*store, 5, 5) == 5


def test_a_race_behind_a_write_of_the_same_bits() -> None:
    """The second iteration first writes what the first one wrote, then something else."""
    with pytest.raises(hu.UndefinedBehavior, match=r"a race: the iterations \[0\] and \[1\]"):
        outcome(STORE.format("%both"), STORE.format("%second"), 5, 9)


def test_atomic_ops_are_no_race() -> None:
    assert outcome(ADD.format("%both"), ADD.format("%second").replace("%old", "%older"), 5, 100) == 111
    region = "memref.generic_atomic_rmw %m[%c0] : memref<1xi32> { ^bb0(%x: i32): memref.atomic_yield %both : i32 }"
    assert outcome(f"%old = {region}", "", 7, 0) == 7
