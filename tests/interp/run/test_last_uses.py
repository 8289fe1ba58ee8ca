"""The memory of a run: a value is let go after its last use, unless a loop, a block or a listener needs it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np

import halfulp as hu

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
