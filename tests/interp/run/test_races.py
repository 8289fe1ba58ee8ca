"""Races: writes of different bits by two iterations of a parallel loop."""

import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

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


# --- last uses --------------------------------------------------------------------------------------------------------
#
# The memory of a run: a value is let go after its last use, unless a loop, a block or a listener needs it.

SIZE = 1 << 17


def peak(text: str, *arguments: object, **options: Any) -> float:
    """Measure the most memory that a run takes, in arrays of SIZE f32."""
    module = hu.load(text)
    hu.run(module, *arguments, **options)  # compiles, and makes the tables that are kept
    tracemalloc.start()
    hu.run(module, *arguments, **options)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / (4 * SIZE)


def straight(ops: int, type_: str) -> str:
    lines = [f"func.func @main(%x: {type_}, %y: {type_}) -> {type_} {{", f"  %0 = arith.addf %x, %y : {type_}"]
    lines += [f"  %{k} = arith.mulf %{k - 1}, %y : {type_}" for k in range(1, ops)]
    return "\n".join([*lines, f"  %unused = arith.negf %y : {type_}", f"  return %{ops - 1} : {type_}", "}"])


def test_intermediate_tensors_go_after_their_last_use() -> None:
    x = np.full(SIZE, 1.5, np.float32)
    assert peak(straight(20, f"tensor<{SIZE}xf32>"), x, x) < 4


def test_intermediate_values_of_a_batch_go_after_their_last_use() -> None:
    x = np.full(SIZE, 1.5, np.float32)
    assert peak(straight(20, "f32"), x, x, batch=True) < 5


T = f"tensor<{SIZE}xf32>"


def test_tensors_go_after_calls_and_branches() -> None:
    calls = "\n".join(f"%{k + 1} = func.call @g(%{k}) : ({T}) -> {T}" for k in range(9))
    text = f"""
        func.func @main(%x: {T}) -> {T} {{
          %0 = arith.addf %x, %x : {T}
          {calls}
          return %9 : {T}
        }}
        func.func private @g(%x: {T}) -> {T} {{
          %0 = arith.addf %x, %x : {T}
          return %0 : {T}
        }}"""
    x = np.full(SIZE, 1.5, np.float32)
    assert peak(text, x) < 4
    blocks = "\n".join(
        f"cf.br ^b{k}(%{k} : {T})\n^b{k}(%p{k}: {T}):\n%{k + 1} = arith.addf %p{k}, %p{k} : {T}" for k in range(9)
    )
    assert (
        peak(f"func.func @main(%x: {T}) -> {T} {{\n%0 = arith.addf %x, %x : {T}\n{blocks}\nreturn %9 : {T}\n}}", x) < 4
    )


def test_an_argument_that_a_block_passes_to_itself_stays() -> None:
    module = hu.load("""
        func.func @main(%n: i32, %x: tensor<2xi32>) -> tensor<2xi32> {
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          cf.br ^head(%zero, %x, %x : i32, tensor<2xi32>, tensor<2xi32>)
        ^head(%i: i32, %kept: tensor<2xi32>, %sum: tensor<2xi32>):
          %more = arith.cmpi slt, %i, %n : i32
          %next = arith.addi %i, %one : i32
          %all = arith.addi %sum, %kept : tensor<2xi32>
          cf.cond_br %more, ^head(%next, %kept, %all : i32, tensor<2xi32>, tensor<2xi32>), ^swap(%kept, %all : tensor<2xi32>, tensor<2xi32>)
        ^swap(%a: tensor<2xi32>, %b: tensor<2xi32>):
          %again = arith.cmpi slt, %one, %zero : i32
          cf.cond_br %again, ^swap(%b, %a : tensor<2xi32>, tensor<2xi32>), ^done
        ^done:
          %both = arith.muli %a, %b : tensor<2xi32>
          return %both : tensor<2xi32>
        }""")
    (found,) = hu.run(module, 3, np.array([3, -5], np.int32))
    assert found.numpy().tolist() == [3 * 15, -5 * -25]


def test_what_a_loop_needs_again_stays() -> None:
    module = hu.load("""
        func.func @main(%n: index, %x: tensor<4xi32>) -> tensor<4xi32> {
          %zero = arith.constant 0 : index
          %one = arith.constant 1 : index
          %twice = arith.addi %x, %x : tensor<4xi32>
          %sum = scf.for %i = %zero to %n step %one iter_args(%s = %x) -> (tensor<4xi32>) {
            %k = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
            %a = arith.addi %s, %k : tensor<4xi32>
            %b = arith.muli %a, %twice : tensor<4xi32>
            scf.yield %b : tensor<4xi32>
          }
          %last = arith.addi %sum, %twice : tensor<4xi32>
          return %last : tensor<4xi32>
        }""")
    x = np.array([1, -2, 3, 0], np.int32)
    (found,) = hu.run(module, 3, x)
    expected = x
    for _ in range(3):
        expected = (expected + np.array([1, 2, 3, 4], np.int32)) * (x + x)
    assert np.array_equal(found.numpy(), expected + x + x)


def test_a_value_used_by_a_block_that_comes_earlier_in_the_text_stays() -> None:
    module = hu.load("""
        func.func @main(%x: tensor<3xi8>) -> tensor<3xi8> {
          cf.br ^second
        ^third:
          %b = arith.addi %a, %a : tensor<3xi8>
          return %b : tensor<3xi8>
        ^second:
          %a = arith.muli %x, %x : tensor<3xi8>
          %c = arith.addi %a, %x : tensor<3xi8>
          cf.br ^third
        }""")
    (found,) = hu.run(module, np.array([3, 4, -5], np.int8))
    assert found.numpy().tolist() == [18, 32, 50]


def test_a_traced_value_stays() -> None:
    kept: list[Any] = []

    class Keeper(hu.Listener):
        def op_did_run(self, op: object, operands: object, results: Sequence[Any]) -> None:
            kept.extend(value.bits for value in results)

    x = np.arange(1, 5, dtype=np.float32)
    hu.run(hu.load(straight(4, "tensor<4xf32>")), x, x, listeners=[Keeper()])
    assert [k.view(np.float32)[1] for k in kept if k.shape == (4,)] == [4, 8, 16, 32, -2]


# --- large spaces -----------------------------------------------------------------------------------------------------
#
# Ops over more points than a run may have: they stop at the limit, and take little memory until then.

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
    with pytest.raises(hu.Unsupported, match="more than 200 numbers"):
        hu.run(text, 5)
