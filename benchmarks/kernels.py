"""Measure launches of kernels of Triton, compiled for targets that need not be there."""

from __future__ import annotations

import importlib.util
import tempfile
import time
from collections.abc import Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import halfulp as hu
from benchmarks.rows import Absent, Measured, Row, Sizes, Target, agree, best
from benchmarks.samples import random

SOURCE = """import triton
import triton.language as tl


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i, j, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        a = tl.load(a_ptr + i[:, None] * K + start + k[None, :])
        acc = tl.dot(a, tl.load(b_ptr + (start + k[:, None]) * N + j[None, :]), acc)
    tl.store(c_ptr + i[:, None] * N + j[None, :], acc)


@triton.jit
def polynomial(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, (x * 0.5 + 1.25) * x - 3.0, mask=i < n)
"""
# Sizes of a matmul, the type of A and B, and the most seconds.
MATMULS = (((256, 256, 1024), "f16", 2.0), ((1024, 1024, 1024), "f8E4M3FN", 60.0))
ELEMENTS, SECONDS, BLOCK = 10_000_000, 2.0, 16_384


@lru_cache(maxsize=1)
def _kernels() -> Any:
    """Return the module with the kernels, whose source Triton reads. Raises Absent."""
    if importlib.util.find_spec("triton") is None:
        raise Absent("triton is not installed")
    path = Path(tempfile.mkdtemp()) / "benchmark_kernels.py"
    path.write_text(SOURCE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("benchmark_kernels", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows() -> Iterator[Row]:
    for target in ("cuda:90", "hip:gfx942"):
        for (m, n, k), type_, most in MATMULS if target == "cuda:90" else MATMULS[:1]:
            name = f"{target}, matmul {m}x{n}x{k} of {type_}"
            yield Row("kernels of Triton", name, partial(matmul, target, (m, n, k), type_), "", Target(most=most), "s")
        name = f"{target}, a polynomial of {ELEMENTS:,} f32, blocks of {BLOCK:,}"
        yield Row("kernels of Triton", name, partial(polynomial, target), "", Target(most=SECONDS), "s")


def matmul(target: str, shape: tuple[int, int, int], type_: str, sizes: Sizes) -> Measured:
    """Measure a matmul, without the time of Triton's compiler."""
    m, n, k = (max(128, size * min(sizes.exact, 200_000) // 200_000 // 128 * 128) for size in shape)
    draw = random(1)
    # Small integers: the sums are exact in f32, whatever the order.
    numbers = [draw.integers(-4, 5, size).astype(np.float32) for size in ((m, k), (k, n))]
    a, b = (hu.convert(each, type_) for each in numbers)
    c = np.zeros((m, n), np.float32)
    kernel = _kernels().matmul[m // 128, n // 128]

    def run() -> Any:
        hu.launch(kernel, a, b, c, n, k, BM=128, BN=128, BK=64, target=target)

    run()
    agree(f"matmul of {type_} for {target}", c.view(np.uint32), (numbers[0] @ numbers[1]).view(np.uint32))
    (seconds,) = best(run, rounds=1, clock=time.process_time)
    return Measured(seconds)


def polynomial(target: str, sizes: Sizes) -> Measured:
    """Measure an elementwise kernel, without the time of Triton's compiler."""
    count = min(ELEMENTS, max(sizes.exact * 50, BLOCK))
    x = random(2).integers(-9, 10, count).astype(np.float32)
    y = np.zeros_like(x)
    kernel = _kernels().polynomial[(-(-count // BLOCK),)]

    def run() -> Any:
        hu.launch(kernel, x, y, count, BLOCK=BLOCK, target=target)

    run()
    agree(f"polynomial for {target}", y.view(np.uint32), ((x * 0.5 + 1.25) * x - 3.0).view(np.uint32))
    (seconds,) = best(run, rounds=1, clock=time.process_time)
    return Measured(seconds)
