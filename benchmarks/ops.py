"""Measure one arith op on tensors of small floats through `halfulp.run`, compared with the dtypes of NumPy and
ml_dtypes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

import halfulp as hu
from benchmarks.programs import UFUNCS, binary
from benchmarks.rows import Measured, Row, Sizes, Target, agree_or_as_predicted, best, nanoseconds
from benchmarks.samples import peer_of, sample

OPS: Mapping[tuple[str, str], Target] = {
    **{(name, op): Target(speed=10) for name in ("f8E4M3FN", "f8E5M2") for op in ("addf", "mulf", "divf")},
    **{("bf16", op): Target(speed=1.2) for op in ("addf", "divf")},
    **{("f16", op): Target(speed=1) for op in ("addf", "mulf", "divf")},
}


def rows() -> Iterator[Row]:
    for (type_, op), target in OPS.items():
        yield Row("ops", f"arith.{op} of {type_}", partial(one_op, type_, op), peer_of(type_), target)


def one_op(type_: str, op: str, sizes: Sizes) -> Measured:
    module = hu.load(binary(op, f"tensor<{sizes.elements}x{type_}>"))
    x = sample(type_, sizes.elements)
    y = x[::-1].copy()
    copy = np.zeros_like(x)
    theirs = UFUNCS[op]
    with np.errstate(all="ignore"):
        note = agree_or_as_predicted(
            f"arith.{op}",
            hu.run(module, x, y)[0].numpy(),
            theirs(x, y),
            lambda: hu.run(module, x, y, profile="ml_dtypes")[0].numpy(),
        )
        times = best(
            lambda: hu.run(module, x, y), lambda: theirs(x, y), lambda: np.copyto(copy, x), rounds=3 * sizes.rounds
        )
    return nanoseconds(times, x.size, note)
