"""Measure operations of a float unit: one call with flags, and arrays."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

import halfulp as hu
from benchmarks.rows import Disagreement, Measured, Row, Sizes, Target, best, nanoseconds
from benchmarks.samples import positive

GROUP = "float unit"
TRIPLES = (("f32", "f32"), ("bf16", "f32"), ("f8E4M3FN", "f32"))
"""Pairs of types: that of the factors, and that of the addend and the result."""


def rows() -> Iterator[Row]:
    yield Row(GROUP, "hu.eval of fmadd on three numbers, with flags", one_call, target=Target(most=50_000))
    for factors, addend in TRIPLES:
        for flags in (False, True):
            name = f"fmadd, {factors} products in {addend}{', with flags' if flags else ''}"
            yield Row(GROUP, name, partial(array, factors, addend, flags))


def one_call(sizes: Sizes) -> Measured:
    """Measure one call with a profile that is already parsed."""
    x, profile = hu.convert(1.1, "f32"), hu.profiles["riscv"]

    def call() -> None:
        for _ in range(100):
            hu.eval("fmadd", x, x, x, flags=True, profile=profile)

    result, flags = hu.eval("fmadd", x, x, x, flags=True, profile=profile)
    a = np.float32(1.1)
    if result.numpy() != np.float32(np.float64(a) * np.float64(a) + np.float64(a)) or int(flags) != 1:
        raise Disagreement(f"the result is {result} with flags {flags}")
    return nanoseconds(best(call, rounds=sizes.rounds), 100)


def array(factors: str, addend: str, flags: bool, sizes: Sizes) -> Measured:
    x, y = (hu.convert(each, factors) for each in positive("f32", sizes.chain))
    z = hu.convert(positive("f32", sizes.chain)[1], addend)
    return nanoseconds(best(lambda: hu.eval("fmadd", x, y, z, flags=flags), rounds=min(sizes.rounds, 3)), sizes.chain)
