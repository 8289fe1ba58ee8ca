"""Measure machine code on several threads, compared with one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import halfulp as hu
from benchmarks.programs import GCD, chain
from benchmarks.rows import Measured, Row, Sizes, agree, best, nanoseconds
from benchmarks.samples import positive, random
from halfulp.fp_formats.paths import llvm


def rows() -> Iterator[Row]:
    group = "machine code on several cores"
    for type_ in ("f32", "f64", "f16", "bf16", "f8E4M3FN"):
        yield Row(group, f"ten-op chain, {type_}", partial(chains, type_), "one thread")
    yield Row(group, "greatest common divisors, a batch of scalars", divisors, "one thread")


def chains(type_: str, sizes: Sizes) -> Measured:
    x, y = positive(type_, sizes.chain)
    module = hu.load(chain(f"tensor<{x.size}x{type_}>"))
    return _measured(lambda: hu.run(module, x, y)[0], sizes)


def divisors(sizes: Sizes) -> Measured:
    x, y = (random(seed).integers(0, 2**31 - 1, sizes.chain, np.int32) for seed in (8, 9))
    module = hu.load(GCD)
    return _measured(lambda: hu.run(module, x, y, batch=True)[0], sizes)


def _measured(run: Callable[[], hu.Value], sizes: Sizes) -> Measured:
    usual = llvm.threads()

    def by(threads: int) -> hu.Value:
        llvm.use_threads(threads)
        return run()

    try:
        agree("one thread", by(1).bits, by(usual).bits)
        times = best(lambda: by(usual), lambda: by(1), rounds=2 * sizes.rounds)
    finally:
        llvm.use_threads(usual)
    return nanoseconds(times, sizes.chain, f"{usual} threads")
