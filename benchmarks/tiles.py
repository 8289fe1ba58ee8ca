"""Measure tile operations of matrix units, 10,000 tiles at a time, whole products, and the fused multiply-add on
arrays.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.rows import Measured, Row, Sizes, Target, agree, best
from benchmarks.samples import random
from halfulp.fp_formats.exact import arithmetic
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.paths import fast, llvm
from halfulp.semantics.matrix_units import models
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.products import MatrixUnit, multiply_by_unit

TILES = 10_000
SECONDS = Target(most=2)
PUBLISHED = "MMA-Sim, measured on another machine: 36 to 167 s"
# Model, types of A and B and of C, shape, unit, type of the scales and elements that share one, and what must hold.
OPERATIONS: tuple[tuple[str, str, str, tuple[int, int, int], str, str, int, Target], ...] = (
    ("chip:volta", "f16", "f32", (8, 8, 4), "mma", "", 0, SECONDS),
    ("chip:turing", "f16", "f32", (16, 8, 8), "mma", "", 0, SECONDS),
    ("chip:ampere", "f16", "f32", (16, 8, 16), "mma", "", 0, SECONDS),
    ("chip:ada", "f16", "f32", (16, 8, 16), "mma", "", 0, SECONDS),
    ("chip:hopper", "f16", "f32", (16, 8, 16), "mma", "", 0, SECONDS),
    ("chip:blackwell", "bf16", "f32", (16, 8, 16), "mma", "", 0, SECONDS),
    ("chip:rtx-blackwell", "f16", "f16", (16, 8, 16), "mma", "", 0, SECONDS),
    ("chip:cdna1", "f16", "f32", (16, 16, 16), "mfma", "", 0, SECONDS),
    ("chip:cdna2", "f16", "f32", (16, 16, 16), "mfma", "", 0, SECONDS),
    ("chip:cdna3", "f16", "f32", (16, 16, 16), "mfma", "", 0, SECONDS),
    ("chip:ada", "f8E4M3FN", "f32", (16, 8, 32), "mma", "", 0, Target()),
    ("chip:cdna3", "f8E4M3FNUZ", "f32", (16, 16, 32), "mfma", "", 0, Target()),
    ("chip:rtx-blackwell", "f8E4M3FN", "f32", (16, 8, 32), "mma", "f8E8M0FNU", 32, Target()),
    ("chip:rtx-blackwell", "f4E2M1FN", "f32", (16, 8, 64), "mma", "f8E4M3FN", 16, Target()),
    ("exact", "f16", "f32", (16, 8, 16), "mma", "", 0, Target()),
    ("ieee", "f16", "f32", (16, 8, 16), "mma", "", 0, Target()),
)
# Whole products of 256x256x4096: model, types, shape and unit of the instruction, and what must hold.
PRODUCTS: tuple[tuple[str, str, tuple[int, int, int], str, Target], ...] = (
    ("chip:h100", "f8E4M3FN", (64, 128, 32), "wgmma", Target(most=3)),
    ("chip:h100", "f16", (64, 128, 16), "wgmma", Target()),
    ("chip:a100", "bf16", (16, 8, 16), "mma", Target()),
    ("chip:mi300x", "f8E4M3FNUZ", (16, 16, 32), "mfma", Target()),
)
# The time of one product: model, types of A and B and of C, shape and unit, operands, and what must hold.
ONE_PRODUCT: tuple[tuple[str, str, str, tuple[int, int, int], str, str, Target], ...] = (
    ("chip:h100", "f8E4M3FN", "f32", (64, 128, 32), "wgmma", "normal", Target(most=3.3)),
    ("chip:h100", "f16", "f32", (64, 128, 16), "wgmma", "normal", Target(most=3.3)),
    ("chip:mi300x", "f8E4M3FNUZ", "f32", (16, 16, 32), "mfma", "normal", Target(most=3.3)),
    ("chip:mi300x", "f16", "f32", (16, 16, 16), "mfma", "normal", Target(most=3.3)),
    ("chip:h100", "f8E4M3FN", "f32", (64, 128, 32), "wgmma", "any codes", Target(most=3.3)),
    ("chip:h100", "f16", "f32", (64, 128, 16), "wgmma", "any codes", Target(most=3.3)),
    ("chip:mi250x", "f16", "f32", (16, 16, 16), "mfma", "normal", Target()),
    ("chip:h100", "f64", "f64", (16, 8, 16), "mma", "normal", Target()),
)
FMA = {"f8E4M3FN": 100, "bf16": 100, "f16": 100, "f32": 300, "f64": 300}


def rows() -> Iterator[Row]:
    for model, type_, of_c, shape, unit, scale, block, target in OPERATIONS:
        m, n, k = shape
        op = TileOp("a tile operation", type_, type_, of_c, of_c, shape, 1, unit, scale, block)
        name = f"{model}, m{m}n{n}k{k} of {type_}, {of_c}" + (f", scales {scale}" if scale else "")
        yield Row("tiles", name, partial(tiles, model, op), "", target, "s")
    for model, type_, shape, unit, target in PRODUCTS:
        op = TileOp("a product", type_, type_, "f32", "f32", shape, 1, unit)
        m, n, k = shape
        name = f"{model}, 256x256x4096 of {type_} by {unit} m{m}n{n}k{k}, f32"
        yield Row("tiles", name, partial(product, MatrixUnit(op, model)), "", target, "s")
    for model, type_, d, shape, unit, operands, target in ONE_PRODUCT:
        op = TileOp("a product", type_, type_, d, d, shape, 1, unit)
        m, n, k = shape
        name = f"{model}, a product of {type_} by {unit} m{m}n{n}k{k}, {d}, one thread"
        name += "" if operands == "normal" else f", {operands}"
        yield Row("tiles", name, partial(one_product, MatrixUnit(op, model), operands), "NumPy arrays", target)
    for type_, most in FMA.items():
        yield Row("tiles", f"fma of {type_}", partial(fma, type_), "exact/", Target(most=most))


def normal(type_: str, shape: tuple[int, ...], seed: int) -> Any:
    """Return codes of normally distributed numbers."""
    numbers = random(seed).standard_normal(shape, np.float32).view(np.uint32)
    return fast.convert(FORMATS["f32"], FORMATS[type_], numbers).codes


def tiles(model: str, op: TileOp, sizes: Sizes) -> Measured:
    """Measure 10,000 tiles."""
    count = max(1, min(TILES, sizes.exact // 20))
    m, n, k = op.shape
    operands = [normal(op.a, (count, m, k), 1), normal(op.b, (count, k, n), 2), normal(op.c, (count, m, n), 3)]
    if op.scale:
        shapes = ((count, m, k // op.block), (count, k // op.block, n))
        operands += [random(4).integers(0x30, 0x40, shape, np.uint8) for shape in shapes]
    few = [x[-3:] for x in operands]
    run = partial(models.multiply_accumulate, model, op)
    agree(f"{model}, tiles in another place", run(*operands)[-3:], run(*few))
    (ours,) = best(lambda: run(*operands), rounds=min(3, sizes.rounds))
    note = PUBLISHED if model.startswith("chip:") and op.shape == (16, 8, 16) else ""
    return Measured(ours * TILES / count, note=note)


def product(unit: MatrixUnit, sizes: Sizes) -> Measured:
    """Measure a whole product, on all cores. A corner of it is checked, instruction by instruction."""
    op, side, k = unit.operation, min(256, max(8, sizes.exact // 400)), min(4096, max(64, sizes.exact // 40))
    a, b = normal(op.a, (1, side, k), 1), normal(op.b, (1, k, side), 2)
    corner = np.zeros((1, 3, 3), np.uint32)
    for start in range(0, k, op.shape[2]):
        ks = slice(start, start + op.shape[2])
        corner = models.multiply_accumulate(unit.model, op, a[:, -3:, ks], b[:, ks, -3:], corner)
    agree(f"{unit.model}, a corner of a product", multiply_by_unit(unit, a, b)[:, -3:, -3:], corner)
    (ours,) = best(lambda: multiply_by_unit(unit, a, b), rounds=min(3, sizes.rounds))
    m, n, depth = op.shape
    tiles = side * side * k / (m * n * depth)
    whole = ours * (256 * 256 * 4096) / (side * side * k)
    return Measured(whole, note=f"{tiles / ours:,.0f} instructions a second")


def one_product(unit: MatrixUnit, operands: str, sizes: Sizes) -> Measured:
    """Measure whole products by one thread, in CPU time per product of two numbers, beside the same on arrays of
    NumPy.
    """
    op, side = unit.operation, min(256, max(16, sizes.exact // 800))

    def made(shape: tuple[int, ...], seed: int) -> Any:
        if operands == "normal":
            return normal(op.a, shape, seed)
        fmt = FORMATS[op.a]
        return random(seed).integers(0, 1 << fmt.bits, shape, fmt.storage_dtype)

    k = 64 * max(1, min(16, sizes.exact // 10_000))
    a, b = made((1, side, k), 1), made((1, k, side), 2)
    few_a, few_b = a[:, :64, : k // 4], b[:, : k // 4, :64]
    threads, backend = llvm.threads(), llvm.backend()

    def in_arrays() -> Any:
        llvm.use("numpy")
        try:
            return multiply_by_unit(unit, few_a, few_b)
        finally:
            llvm.use(backend)

    llvm.use_threads(1)
    try:
        agree(f"{unit.model}, a product", multiply_by_unit(unit, few_a, few_b), in_arrays())
        ours, theirs = best(
            lambda: multiply_by_unit(unit, a, b), in_arrays, rounds=min(5, sizes.rounds), clock=time.process_time
        )
    finally:
        llvm.use_threads(threads)
    return Measured(ours / (side * side * k) * 1e9, theirs / (few_a.size * few_b.shape[2]) * 1e9)


def fma(type_: str, sizes: Sizes) -> Measured:
    """Measure a fused multiply-add by the quickest path, compared with the exact path."""
    fmt = FORMATS[type_]
    x, y, z = (normal(type_, (sizes.exact,), seed) for seed in (5, 6, 7))
    agree(f"fma of {type_}", fast.fma(fmt, x, y, z).codes, arithmetic.fma(fmt, x, y, z).codes)
    ours, theirs = best(
        lambda: fast.fma(fmt, x, y, z), lambda: arithmetic.fma(fmt, x, y, z), rounds=min(3, sizes.rounds)
    )
    return Measured(ours / x.size * 1e9, theirs / x.size * 1e9)
