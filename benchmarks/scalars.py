"""Measure scalar code: op by op, compared with xDSL's interpreter and mlir-runner; and for many lanes at once, compared
with tensors.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import halfulp as hu
from benchmarks import mlir, xdsl_peer
from benchmarks.programs import (
    CHAIN,
    FLOAT_LINE,
    GCD,
    INTEGER_CHAIN,
    INTEGER_LINE,
    OPS_OF_A_TURN,
    REVERSE,
    chain,
    loop,
    matmul,
    straight_line,
)
from benchmarks.rows import Disagreement, Measured, Row, Sizes, Target, agree, best, nanoseconds
from benchmarks.samples import positive, random

XDSL_OPS = 1600
"""The number of ops that xDSL runs. It is small because in a loop xDSL's time grows with the square of the number."""
SPEED = Target(most=1000)
TYPES = ("i32", "f32", "f64")
SCALARS: Mapping[str, Callable[[float], Any]] = {"i32": np.int32, "f32": np.float32, "f64": np.float64}
LOOP_ARGUMENTS = {"i32": (3, 5), "f32": (0.7, 0.05), "f64": (0.7, 0.05)}
LINE_ARGUMENTS = {"i32": (3, 5), "f32": (0.7, 1.1), "f64": (0.7, 1.1)}


def rows() -> Iterator[Row]:
    group = "scalar code"
    for type_ in TYPES:
        name = f"{type_} ops in a loop"
        yield Row(group, name, partial(looping, type_), xdsl_peer.NAME, SPEED)
        yield Row(group, name, partial(beside_runner, type_), mlir.NATIVE, Target(most=3))
        yield Row(group, f"{type_} ops in a line", partial(in_line, type_), xdsl_peer.NAME, SPEED)
    yield Row(group, "i32 ops in a line, first run", first_run)
    for type_, ops in (("f32", CHAIN), ("i32", INTEGER_CHAIN)):
        measure = partial(batched, type_, ops)
        name = f"ten-op chain of {type_}, a batch of scalars"
        yield Row(group, name, measure, "the same on tensors", Target(speed=1 / 1.5))
    yield Row(group, "greatest common divisors, a batch of scalars", gcd, "NumPy", Target(most=130))
    yield Row(group, "loads and stores of f32 in a loop", memory, "NumPy", Target(most=300))
    for type_, limit in {"f32": 30, "f8E4M3FN": 60}.items():
        name, measure = f"matmul 128x128 of {type_}, loops on memrefs", partial(matmul_loops, type_)
        yield Row(group, name, measure, "NumPy", Target(most=limit), unit="ms")


def looping(type_: str, sizes: Sizes) -> Measured:
    turns = sizes.ops // OPS_OF_A_TURN
    its = min(turns, XDSL_OPS // OPS_OF_A_TURN)
    text, arguments = loop(type_), _arguments(type_, LOOP_ARGUMENTS)
    ours = _ours(text, (np.int32(turns), *arguments), sizes) / turns / OPS_OF_A_TURN
    return Measured(ours, _xdsl(type_, text, (np.int32(its), *arguments)) / its / OPS_OF_A_TURN, note=_remark(type_))


def in_line(type_: str, sizes: Sizes) -> Measured:
    its = min(sizes.ops, XDSL_OPS)
    arguments = _arguments(type_, LINE_ARGUMENTS)
    ours = _ours(_line(type_, sizes.ops), arguments, sizes) / sizes.ops
    return Measured(ours, _xdsl(type_, _line(type_, its), arguments) / its, note=_remark(type_))


def _arguments(type_: str, values: Mapping[str, tuple[float, float]]) -> tuple[Any, Any]:
    x, y = (SCALARS[type_](value) for value in values[type_])
    return x, y


def _line(type_: str, ops: int) -> str:
    return straight_line(ops, type_, INTEGER_LINE if type_ == "i32" else FLOAT_LINE)


def _ours(text: str, arguments: tuple[Any, ...], sizes: Sizes) -> float:
    """Return the nanoseconds that halfulp takes for a run."""
    module = hu.load(text)
    return best(lambda: hu.run(module, *arguments), rounds=sizes.rounds)[0] * 1e9


def _xdsl(type_: str, text: str, arguments: tuple[Any, ...]) -> float:
    """Return the nanoseconds that xDSL takes for a run, and compare the results."""
    call = xdsl_peer.function(text)
    numbers = [argument.item() for argument in arguments]
    (theirs,) = call(*numbers)
    (ours,) = hu.run(text, *arguments)
    if type_ != "f32" and ours.numpy() != theirs:
        raise Disagreement(f"halfulp gives {ours}, xDSL {theirs}")
    return best(lambda: call(*numbers), rounds=3)[0] * 1e9


def _remark(type_: str) -> str:
    return "the peer computes f32 in f64: results not compared" if type_ == "f32" else ""


def beside_runner(type_: str, sizes: Sizes) -> Measured:
    turns = sizes.ops // OPS_OF_A_TURN
    count = turns * OPS_OF_A_TURN
    text = loop(type_)
    module = hu.load(text)
    operands = _arguments(type_, LOOP_ARGUMENTS)
    arguments = (np.int32(turns), *operands)
    (ours,) = hu.run(module, *arguments)
    codes = [np.atleast_1d(operand).view(ours.bits.dtype) for operand in operands]
    # Memory that the clock might write to and read: else LLVM calls once, and when the clock has stopped.
    memory = f"""memref.global "public" @turns : memref<i32> = dense<{turns}>
  memref.global "public" @seen : memref<{type_}> = uninitialized
"""
    body = [
        "%turns = memref.get_global @turns : memref<i32>",
        "%n = memref.load %turns[] : memref<i32>",
        f"%r = func.call @main(%n, %x, %y) : (i32, {type_}, {type_}) -> {type_}",
        f"%seen = memref.get_global @seen : memref<{type_}>",
        f"memref.store %r, %seen[] : memref<{type_}>",
    ]
    result = ours.bits.reshape(1)
    theirs = mlir.elementwise(mlir.NATIVE, body, type_, codes, result, sizes.rounds, functions=memory + text)
    (mine,) = best(lambda: hu.run(module, *arguments), rounds=sizes.rounds)
    return Measured(mine / count * 1e9, theirs / count)


def gcd(sizes: Sizes) -> Measured:
    """Measure a loop in which every lane makes a different number of trips."""
    x, y = (random(seed).integers(0, 2**31 - 1, sizes.chain, np.int32) for seed in (8, 9))
    module = hu.load(GCD)
    agree("a batch", hu.run(module, x, y, batch=True)[0].bits, np.gcd(x, y))
    times = best(lambda: hu.run(module, x, y, batch=True), lambda: np.gcd(x, y), rounds=sizes.rounds)
    return nanoseconds(times, sizes.chain)


def memory(sizes: Sizes) -> Measured:
    """Measure a loop that reverses an array: each trip has one load and one store, and computes only an index."""
    count = max(sizes.ops // 2, 1)
    module = hu.load(REVERSE)
    x = random(10).standard_normal(count).astype(np.float32)
    source, target = (hu.Buffer.from_numpy(array, "memref<?xf32>") for array in (x, np.zeros_like(x)))
    hu.run(module, source, target, count)
    agree("a reversed array", target.numpy().view(np.uint32), x[::-1].view(np.uint32))
    times = best(lambda: hu.run(module, source, target, count), lambda: x[::-1].copy(), rounds=sizes.rounds)
    return nanoseconds(times, 2 * count)


def matmul_loops(type_: str, sizes: Sizes) -> Measured:
    """Measure a product of matrices as three loops with loads and stores, accumulated in f32."""
    size = 128 if sizes.chain >= 128**2 else 8
    x, y = (samples.reshape(size, size) for samples in positive(type_, size * size))
    module = hu.load(matmul(type_, size))

    def ours() -> Any:
        result = hu.Buffer.from_numpy(np.zeros((size, size), np.float32), f"memref<{size}x{size}xf32>")
        hu.run(module, x, y, result, max_steps=10**9)
        return result.numpy()

    def theirs() -> Any:
        total = np.zeros((size, size), np.float32)
        for k in range(size):
            total += x[:, k : k + 1].astype(np.float32) * y[k : k + 1].astype(np.float32)
        return total

    agree("a product of matrices", ours().view(np.uint32), theirs())
    mine, peer = best(ours, theirs, rounds=sizes.rounds)
    return Measured(mine * 1e3, peer * 1e3, note="NumPy adds whole matrices, in the same order")


def first_run(sizes: Sizes) -> Measured:
    """Measure the cost of compiling a block to slots: the first run of a module."""
    module = hu.load(_line("i32", sizes.ops))
    arguments = _arguments("i32", LINE_ARGUMENTS)
    start = time.perf_counter()
    hu.run(module, *arguments)
    return nanoseconds([time.perf_counter() - start], sizes.ops)


def batched(type_: str, ops: tuple[str, ...], sizes: Sizes) -> Measured:
    if type_ == "i32":
        x, y = (random(seed).integers(-(2**31), 2**31, sizes.chain, np.int32) for seed in (6, 7))
    else:
        x, y = positive(type_, sizes.chain)
    scalar, tensor = hu.load(chain(type_, ops)), hu.load(chain(f"tensor<{sizes.chain}x{type_}>", ops))
    agree("a batch", hu.run(scalar, x, y, batch=True)[0].bits, hu.run(tensor, x, y)[0].bits)
    times = best(lambda: hu.run(scalar, x, y, batch=True), lambda: hu.run(tensor, x, y), rounds=2 * sizes.rounds)
    return nanoseconds(times, sizes.chain)
