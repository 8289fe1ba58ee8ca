"""Measure programs of several ops on tensors: chains of ten ops, and quantisation and dequantisation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import halfulp as hu
from benchmarks import mlir
from benchmarks.programs import chain, chain_body, numpy_chain
from benchmarks.rows import Measured, Row, Sizes, Target, agree, best, nanoseconds
from benchmarks.samples import peer_of, positive, random

CHAINS: Mapping[str, Target] = {
    "f32": Target(speed=2.5),
    "f64": Target(speed=2.5),
    "f16": Target(speed=8),
    "bf16": Target(speed=8),
    "f8E4M3FN": Target(speed=14),
}
RUNNERS = {
    mlir.NATIVE: ("f32", "f64", "f16", "bf16"),
    mlir.APFLOAT: ("f32", "f16", "f8E4M3FN"),
}
BESIDE_RUNNER: Mapping[tuple[str, str], Target] = {(mlir.NATIVE, "f32"): Target(speed=0.8)}
CHANNELS = 256
QUANTIZATION = Target(speed=3)


def rows() -> Iterator[Row]:
    group = "programs"
    for type_, target in CHAINS.items():
        yield Row(group, f"ten-op chain, {type_}", partial(beside_numpy, type_), peer_of(type_), target)
    for peer, types in RUNNERS.items():
        for type_ in types:
            known = BESIDE_RUNNER.get((peer, type_), Target())
            yield Row(group, f"ten-op chain, {type_}", partial(beside_runner, peer, type_), peer, known)
    for axis, where in enumerate(("first", "last")):
        name = f"quant.qcast and quant.dcast, f32 and i8, channels {where}"
        yield Row(group, name, partial(quantization, axis), "NumPy", QUANTIZATION)


def beside_numpy(type_: str, sizes: Sizes) -> Measured:
    x, y = positive(type_, sizes.chain)
    module = hu.load(chain(f"tensor<{x.size}x{type_}>"))
    copy = np.zeros_like(x)
    agree(f"a chain of {type_}", hu.run(module, x, y)[0].bits, numpy_chain(x, y))
    times = best(
        lambda: hu.run(module, x, y),
        lambda: numpy_chain(x, y),
        lambda: np.copyto(copy, x),
        rounds=2 * sizes.rounds,
    )
    return nanoseconds(times, x.size)


def beside_runner(peer: str, type_: str, sizes: Sizes) -> Measured:
    """Compare with a peer whose program has a few elements and repeats them; halfulp's operands repeat the same
    elements.
    """
    few = min(mlir.TILE, sizes.chain)
    times = max(1, sizes.chain // few // (1 if peer == mlir.NATIVE else 16))
    operands = positive(type_, few)
    codes = [operand.view(f"u{operand.itemsize}") for operand in operands]
    x, y = (np.tile(operand, times) for operand in operands)
    module = hu.load(chain(f"tensor<{x.size}x{type_}>"))
    (ours,) = hu.run(module, x, y)
    theirs = mlir.elementwise(peer, chain_body(type_), type_, codes, ours.bits, sizes.rounds)
    (mine,) = best(lambda: hu.run(module, x, y), rounds=sizes.rounds)
    return Measured(mine / x.size * 1e9, theirs)


def quantization(axis: int, sizes: Sizes) -> Measured:
    """Measure a quantization to i8 and back, with a scale and a zero point for each channel."""
    channels = min(CHANNELS, sizes.chain)
    shape = [channels, max(1, sizes.chain // channels)]
    if axis == 1:
        shape.reverse()
    numbers = random(3)
    scales = numbers.uniform(0.01, 0.1, channels).astype(np.float32)
    zero_points = numbers.integers(-10, 10, channels)
    x = numbers.standard_normal(shape).astype(np.float32)
    parameters = ", ".join(f"{float(s)!r}:{z}" for s, z in zip(scales, zero_points, strict=True))
    tensor, stored = (f"tensor<{shape[0]}x{shape[1]}x{element}>" for element in ("f32", "i8"))
    quantized = f"tensor<{shape[0]}x{shape[1]}x!quant.uniform<i8:f32:{axis}, {{{parameters}}}>>"
    module = hu.load(f"""func.func @main(%x: {tensor}) -> ({stored}, {tensor}) {{
        %q = quant.qcast %x : {tensor} to {quantized}
        %s = quant.scast %q : {quantized} to {stored}
        %y = quant.dcast %q : {quantized} to {tensor}
        return %s, %y : {stored}, {tensor}
    }}""")
    along = (slice(None), None) if axis == 0 else (None, slice(None))
    scale, zero = scales[along], zero_points.astype(np.float32)[along]

    def formula() -> tuple[Any, Any]:
        q = np.clip(np.rint(x / scale) + zero, -128, 127).astype(np.int8)
        return q, (q.astype(np.float32) - zero) * scale

    for ours, theirs in zip(hu.run(module, x), formula(), strict=True):
        agree("quant.qcast or quant.dcast", ours.bits, theirs)
    return nanoseconds(best(lambda: hu.run(module, x), formula, rounds=2 * sizes.rounds), x.size)
