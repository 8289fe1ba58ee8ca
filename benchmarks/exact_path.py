"""Measure arithmetic in the formats and modes that NumPy does not have, on arrays of codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks import mlir
from benchmarks.rows import Measured, Row, Sizes, Target, agree, best
from benchmarks.samples import random, sample
from halfulp.fp_formats.exact import arithmetic
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.policy import Rounding

FUNCTIONS = {"addf": "add", "mulf": "multiply", "divf": "divide"}
# Of f64 by `exact`, which the quicker paths leave out.
EXACT: Mapping[str, Mapping[str, Target]] = {
    "f80": dict.fromkeys(FUNCTIONS, Target()),
    "f64": dict.fromkeys(FUNCTIONS, Target()),
}
COMPILED = Target(speed=1 / 2)
DIRECTED = {"f64": Target(most=15), "f32": Target()}
MODES = (Rounding.UPWARD, Rounding.TOWARD_ZERO)


def rows() -> Iterator[Row]:
    for type_, targets in EXACT.items():
        for op, target in targets.items():
            measure = partial(exactly, arithmetic, type_, op)
            yield Row("exact path", f"{op} of {type_}, to nearest even", measure, mlir.NATIVE, target)
    for op in FUNCTIONS:
        measure = partial(exactly, fast, "f128", op)
        yield Row("exact path", f"{op} of f128, to nearest even", measure, mlir.NATIVE, COMPILED)
    for type_, target in DIRECTED.items():
        for mode in MODES:
            for op in FUNCTIONS:
                name = f"{op} of {type_}, {mode.spelling}"
                yield Row("exact path", name, partial(directed, type_, op, mode), "exact/", target)


def codes_of(type_: str, count: int, seed: int) -> Any:
    """Return codes with random signs and fractions, and exponents that are not far apart."""
    numbers = random(seed)
    fmt = FORMATS[type_]
    low, high = (numbers.integers(0, 1 << 64, count, np.uint64) for _ in range(2))
    exponents = numbers.integers(fmt.bias - 8, fmt.bias + 8, count, np.uint64)
    signs = high >> np.uint64(63)
    match type_:
        case "f64":
            return signs << np.uint64(63) | exponents << np.uint64(52) | low >> np.uint64(12)
        case "f80":
            return np.stack([low | np.uint64(1 << 63), signs << np.uint64(15) | exponents], axis=1)
        case _:
            return np.stack(
                [low, signs << np.uint64(63) | exponents << np.uint64(48) | high & np.uint64((1 << 48) - 1)], axis=1
            )


def exactly(family: ModuleType, type_: str, op: str, sizes: Sizes) -> Measured:
    fmt = FORMATS[type_]
    few = min(mlir.TILE, sizes.exact)
    operands = [codes_of(type_, few, seed) for seed in (4, 5)]
    x, y = (np.concatenate([codes] * (sizes.exact // few)) for codes in operands)
    function: Callable[..., ArrayResult] = getattr(family, FUNCTIONS[op])
    body = [f"%r = arith.{op} %x, %y : {type_}"]
    codes = function(fmt, x, y).codes
    (ours,) = best(lambda: function(fmt, x, y), rounds=sizes.rounds)
    theirs = mlir.elementwise(mlir.NATIVE, body, type_, operands, codes, sizes.rounds)
    return Measured(ours / len(x) * 1e9, theirs)


def directed(type_: str, op: str, mode: Rounding, sizes: Sizes) -> Measured:
    """Measure an op in a rounding mode by the quickest path, compared with the exact path."""
    fmt = FORMATS[type_]
    x = sample(type_, sizes.chain)
    x, y = (z.view(f"u{x.itemsize}") for z in (x, x[::-1].copy()))
    few = slice(0, sizes.exact)
    quick, slow = getattr(fast, FUNCTIONS[op]), getattr(arithmetic, FUNCTIONS[op])
    agree(f"{op} {mode.spelling}", quick(fmt, x[few], y[few], mode).codes, slow(fmt, x[few], y[few], mode).codes)
    (ours,) = best(lambda: quick(fmt, x, y, mode), rounds=sizes.rounds)
    (theirs,) = best(lambda: slow(fmt, x[few], y[few], mode), rounds=3)
    return Measured(ours / x.size * 1e9, theirs / x[few].size * 1e9)
