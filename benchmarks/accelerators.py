"""Measure what accelerators compute besides arithmetic, in programs: stochastic rounding, scaled blocks,
requantisation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import halfulp as hu
from benchmarks.requantizing import MULTIPLIER, SHIFT, ZERO_POINT, requantized
from benchmarks.rows import Absent, Measured, Row, Sizes, Target, agree, best, nanoseconds
from benchmarks.samples import random

STOCHASTIC = """func.func @main(%x: tensor<{count}xf32>) -> tensor<{count}xbf16> {{
  %y = arith.truncf %x : tensor<{count}xf32> to tensor<{count}xbf16>
  return %y : tensor<{count}xbf16>
}}"""
OP = 2
"""The number of the truncf among the ops of the program: the module is 0, the function 1."""
SEED = 0x0123456789ABCDEF
LANES = 1 << 14
"""The number of Philox blocks that NumPy makes at once, so that they stay in the cache."""

BLOCKS = """func.func @main(%x: tensor<{rows}x32xf32>) -> (tensor<{rows}x32xf8E4M3FN>, tensor<{rows}x1xf8E8M0FNU>) {{
  %e, %s = halfulp.quantize_blocks %x {{recipe = "floor"}}
    : tensor<{rows}x32xf32> to tensor<{rows}x32xf8E4M3FN>, tensor<{rows}x1xf8E8M0FNU>
  return %e, %s : tensor<{rows}x32xf8E4M3FN>, tensor<{rows}x1xf8E8M0FNU>
}}"""
LARGEST, EXPONENT = 448, 8
"""The largest value of f8E4M3FN, and its exponent."""

REQUANTIZED = """func.func @main(%x: tensor<{count}xi32>, %m: i32, %s: i8) -> tensor<{count}xi8> {{
  %y = halfulp.requantize %x, %m, %s {{rule = "gemmlowp", output_zero_point = {zero_point} : i64}}
    : tensor<{count}xi32>, i32, i8 to tensor<{count}xi8>
  return %y : tensor<{count}xi8>
}}"""


def rows() -> Iterator[Row]:
    yield Row("programs", "truncf of f32 to bf16, stochastic, Philox", stochastic, "NumPy", Target(speed=2))
    yield Row("programs", "halfulp.quantize_blocks, f32 to MX of f8E4M3FN", blocks, "ml_dtypes", Target(speed=1))
    yield Row("programs", "halfulp.requantize, gemmlowp, i32 to i8", requantization, "NumPy", Target(speed=12))


def _philox(first: int, count: int, op: int, seed: int) -> Any:
    """Return ``count`` blocks of Philox4x32-10, four words each, with the counters that docs/running.md describes."""
    low = np.uint64(0xFFFFFFFF)
    number = np.arange(first, first + count, dtype=np.uint64)
    a, b = number & low, number >> np.uint64(32)
    c, d = np.full_like(number, op), np.zeros_like(number)
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        one, two = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b = (two >> np.uint64(32)) ^ b ^ np.uint64(key[0]), two & low
        c, d = (one >> np.uint64(32)) ^ d ^ np.uint64(key[1]), one & low
        key = [key[0] + 0x9E3779B9 & 0xFFFFFFFF, key[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return np.stack([a, b, c, d], axis=-1).ravel()


def _added_and_cut(codes: Any) -> Any:
    """Return codes of bf16 from codes of f32: 16 random bits are added to the low 16 bits, which are then cut off."""
    out = np.empty(codes.size, np.uint16)
    for start in range(0, codes.size, 4 * LANES):
        part = codes[start : start + 4 * LANES]
        words = _philox(start // 4, -(-part.size // 4), OP, SEED)[: part.size]
        out[start : start + part.size] = (part + (words & np.uint64(0xFFFF)).astype(np.uint32)) >> 16
    return out


def stochastic(sizes: Sizes) -> Measured:
    x = random(12).standard_normal(sizes.chain).astype(np.float32)
    module = hu.load(STOCHASTIC.format(count=x.size))
    rule: Any = {
        "profile": "spec,program_rounding=stochastic,stochastic=p3109_a",
        "random": f"philox:seed={SEED},bits=16",
    }
    agree("stochastic rounding", hu.run(module, x, **rule)[0].bits, _added_and_cut(x.view(np.uint32)))
    times = best(
        lambda: hu.run(module, x, **rule),
        lambda: _added_and_cut(x.view(np.uint32)),
        rounds=min(sizes.rounds, 5),
    )
    return nanoseconds(times, x.size)


def _quantized(x: Any) -> tuple[Any, Any]:
    """Return the codes of elements and of scales, as OCP's MX 1.0 defines them, computed with NumPy."""
    try:
        import ml_dtypes
    except ImportError:
        raise Absent("ml_dtypes is not installed") from None
    _, above = np.frexp(abs(x).max(axis=1, keepdims=True))
    exponent = np.maximum(above - 1 - EXPONENT, -127)
    elements = np.clip(np.ldexp(x, -exponent), -LARGEST, LARGEST).astype(ml_dtypes.float8_e4m3fn)
    return elements.view(np.uint8), (exponent + 127).astype(np.uint8)


def blocks(sizes: Sizes) -> Measured:
    x = random(13).standard_normal((sizes.chain // 32, 32)).astype(np.float32)
    module = hu.load(BLOCKS.format(rows=len(x)))
    for ours, theirs in zip(hu.run(module, x), _quantized(x), strict=True):
        agree("quantised blocks", ours.bits, theirs)
    times = best(lambda: hu.run(module, x), lambda: _quantized(x), rounds=sizes.rounds)
    return nanoseconds(times, x.size)


def requantization(sizes: Sizes) -> Measured:
    x = random(14).integers(-(1 << 17), 1 << 17, sizes.chain, np.int32)
    module = hu.load(REQUANTIZED.format(count=x.size, zero_point=ZERO_POINT))
    given = np.int32(MULTIPLIER), np.int8(-SHIFT)
    agree("requantised integers", hu.run(module, x, *given)[0].bits, requantized(x.astype(np.int64)))
    times = best(lambda: hu.run(module, x, *given), lambda: requantized(x.astype(np.int64)), rounds=sizes.rounds)
    return nanoseconds(times, x.size)
