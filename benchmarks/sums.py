"""Measure sums and matrix products, compared with NumPy and ml_dtypes in the same order, and with `math.fsum`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np

import halfulp as hu
from benchmarks.rows import Measured, Row, Sizes, Target, agree, best, nanoseconds
from benchmarks.samples import dtype_of, peer_of, random

IN_ORDER: Mapping[str, Target] = {
    "f8E4M3FN": Target(most=100),
    "bf16": Target(speed=1 / 1.5),
    "f16": Target(speed=1 / 1.5),
    "f32": Target(speed=1 / 2),
    "f64": Target(speed=1 / 2),
}
PRODUCTS: Mapping[tuple[str, str], Target] = {
    ("f32", "f32"): Target(speed=1 / 60),
    ("f8E4M3FN", "f32"): Target(most=200),
    ("f8E4M3FN", "f8E4M3FN"): Target(),
}
SIDE = 256


def rows() -> Iterator[Row]:
    for type_, target in IN_ORDER.items():
        yield Row("sums", f"hu.sum in order, {type_}", partial(in_order, type_), f"{peer_of(type_)} cumsum", target)
    yield Row("sums", "hu.sum along rows, f32", along_rows, "np.sum", Target(speed=1 / 10))
    for order, target in (("pairwise", Target(most=20)), ("exact", Target(most=500))):
        yield Row("sums", f"hu.sum {order}, f64", partial(beside_fsum, order), "math.fsum", target)
    for (type_, acc), target in PRODUCTS.items():
        name = f"hu.matmul {SIDE}x{SIDE}, {type_} in {acc}"
        peer = f"{peer_of(type_)} {'matmul' if acc == 'f32' else 'dot'}"
        yield Row("sums", name, partial(product, type_, acc), peer, target, "ms")


def in_order(type_: str, sizes: Sizes) -> Measured:
    """Measure one long sum. The running sums of the peer add in the same order."""
    x = random(4).standard_normal(sizes.chain).astype(dtype_of(type_))
    value = hu.Value.from_numpy(x)
    with np.errstate(all="ignore"):
        agree(f"a sum of {type_}", hu.sum(value).bits, np.cumsum(x)[-1])
        return nanoseconds(best(lambda: hu.sum(value), lambda: np.cumsum(x)[-1], rounds=2 * sizes.rounds), x.size)


def along_rows(sizes: Sizes) -> Measured:
    side = math.isqrt(sizes.chain)
    x = random(5).standard_normal((side, side)).astype(np.float32)
    value = hu.Value.from_numpy(x)
    agree("sums of rows", hu.sum(value, 0).bits, x.sum(axis=0))
    times = best(lambda: hu.sum(value, 0), lambda: x.sum(axis=0), rounds=sizes.rounds)
    return nanoseconds(times, x.size)


def beside_fsum(order: str, sizes: Sizes) -> Measured:
    x = random(6).standard_normal(sizes.chain)
    value, numbers = hu.Value.from_numpy(x), x.tolist()
    exact = order == "exact"
    if exact:
        agree("an exact sum", hu.sum(value, order=order).bits, np.float64(math.fsum(numbers)))
    times = best(lambda: hu.sum(value, order=order), lambda: math.fsum(numbers), rounds=sizes.rounds)
    return nanoseconds(times, x.size, "" if exact else "the peer's sum is exact, so the results are not compared")


def product(type_: str, acc: str, sizes: Sizes) -> Measured:
    """Measure a matrix product of numbers whose sums are exact in every order, since the peer's order is not known."""
    side = min(SIDE, math.isqrt(sizes.chain))
    small = acc != "f32"
    x = random(7).integers(-1 if small else -4, 2 if small else 5, (side, side))
    if small:  # one number in each row: sums of more are not exact in eight bits
        x = np.where(np.arange(side) == random(8).permutation(side)[:, None], x, 0)
    a = x.astype(dtype_of(type_))
    value = hu.Value.from_numpy(a)
    multiply = np.dot if small else np.matmul
    ours = hu.matmul(value, value, acc=acc)
    agree("a matrix product", ours.numpy().astype(np.float32) + 0, multiply(a, a).astype(np.float32) + 0)
    (mine,) = best(lambda: hu.matmul(value, value, acc=acc), rounds=3 * sizes.rounds)
    (theirs,) = best(lambda: multiply(a, a), rounds=20 * sizes.rounds)  # short, and by several threads
    return Measured(mine * 1e3, theirs * 1e3, note="the peer rounds once, at the end" if small else "")
