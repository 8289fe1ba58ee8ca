"""Measure operations of a float unit: one call with flags, arrays, and arrays with flags beside SoftFloat."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import halfulp as hu
from benchmarks import softfloat
from benchmarks.rows import Disagreement, Measured, Row, Sizes, Target, agree, best, nanoseconds
from benchmarks.samples import positive, random
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.paths import llvm

GROUP = "float unit"
TRIPLES = (("f32", "f32"), ("bf16", "f32"), ("f8E4M3FN", "f32"))
"""Pairs of types: that of the factors, and that of the addend and the result."""
WITH_FLAGS = {"fadd": ("add", 2), "fmul": ("mul", 2), "fdiv": ("div", 2), "sqrt": ("sqrt", 1), "fmadd": ("mulAdd", 3)}
"""For each op, SoftFloat's name and the number of operands."""


def rows() -> Iterator[Row]:
    yield Row(GROUP, "hu.eval of fmadd on three numbers, with flags", one_call, target=Target(most=50_000))
    for factors, addend in TRIPLES:
        for flags in (False, True):
            name = f"fmadd, {factors} products in {addend}{', with flags' if flags else ''}"
            yield Row(GROUP, name, partial(array, factors, addend, flags))
    for op, type_ in product(WITH_FLAGS, ("f16", "f32", "f64")):
        name = f"{op} of {type_}, results and flags, one thread"
        yield Row(GROUP, name, partial(with_flags, op, type_), "SoftFloat", Target(speed=1))


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


def with_flags(op: str, type_: str, sizes: Sizes) -> Measured:
    """Measure random codes; results and flags must be the peer's, with RISC-V's NaNs."""
    name, operands = WITH_FLAGS[op]
    fmt, count = FORMATS[type_], sizes.chain
    codes = [
        random(seed).integers(0, fmt.code_mask, count, fmt.storage_dtype, endpoint=True) for seed in range(operands)
    ]
    given = [hu.Value.from_bits(each, type_) for each in codes]
    peer, (results, raised) = softfloat.loop(f"{type_}_{name}", fmt.bits, operands), softfloat.empty(fmt.bits, count)

    def ours() -> Any:
        return hu.eval(op, *given, flags=True, profile="riscv")

    before = llvm.threads()
    llvm.use_threads(1)
    try:
        found, flags = ours()
        peer(codes, results, raised)
        agree(f"{op} of {type_}", found.bits, results)
        agree(f"the flags of {op} of {type_}", flags, raised)
        return nanoseconds(best(ours, lambda: peer(codes, results, raised), rounds=sizes.rounds), count)
    finally:
        llvm.use_threads(before)


def array(factors: str, addend: str, flags: bool, sizes: Sizes) -> Measured:
    x, y = (hu.convert(each, factors) for each in positive("f32", sizes.chain))
    z = hu.convert(positive("f32", sizes.chain)[1], addend)
    return nanoseconds(best(lambda: hu.eval("fmadd", x, y, z, flags=flags), rounds=min(sizes.rounds, 3)), sizes.chain)
