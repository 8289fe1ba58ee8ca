"""Measure what users do with a `Value` in a notebook: operators, views, and questions about its elements."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import halfulp as hu
from benchmarks.rows import (
    Absent,
    Disagreement,
    Measured,
    Row,
    Sizes,
    Target,
    agree,
    agree_or_as_predicted,
    best,
    nanoseconds,
)
from benchmarks.samples import dtype_of, peer_of, random, sample
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics import floats
from halfulp.semantics.profile import SPEC

OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "*": operator.mul,
    "/": operator.truediv,
}
SMALL = 16
SMALL_TYPES = ("f8E4M3FN", "bf16", "f32")
LARGE: Mapping[tuple[str, str], Target] = {
    ("f8E4M3FN", "+"): Target(speed=10),
    ("f8E4M3FN", "*"): Target(speed=10),
    ("bf16", "+"): Target(speed=1.2),
    ("f16", "+"): Target(speed=1),
    ("f16", "/"): Target(speed=1),
    ("f32", "+"): Target(speed=1 / 2),
}
VIEWS: Mapping[str, Callable[[Any], Any]] = {
    "v[1000:]": lambda v: v[1000:],
    "v[::2]": lambda v: v[::2],
    "v[::-1]": lambda v: v[::-1],
    "v.reshape(-1, 2).T": lambda v: v.reshape(-1, 2).T,
}
ERRORS = ("f8E4M3FN", "bf16")
BLOCK = 32


def rows() -> Iterator[Row]:
    for type_ in SMALL_TYPES:
        name = f"a + b of {SMALL} elements of {type_}, more than its kernel"
        yield Row("values", name, partial(overhead, type_), f"{peer_of(type_)}, a + b", Target(most=30), "µs")
    for (type_, sign), target in LARGE.items():
        yield Row("values", f"a {sign} b of {type_}", partial(large, type_, sign), peer_of(type_), target)
    for name in VIEWS:
        yield Row("values", f"{name}, no copy", partial(view, name), "NumPy", Target(most=30), "µs")
    for type_ in ERRORS:
        name = f"hu.error of f32 in {type_}"
        yield Row("values", name, partial(error, type_), "NumPy, absolute error", Target(most=100))
    yield Row("values", "hu.quantize_blocks, MX of f8E4M3FN", blocks, "PyTorch", Target(speed=1 / 3))


def overhead(type_: str, sizes: Sizes) -> Measured:
    """Measure how much longer an operator takes than its kernel, on few elements."""
    x = random(9).standard_normal(SMALL).astype(dtype_of(type_))
    a, b = hu.Value.from_numpy(x), hu.Value.from_numpy(x[::-1].copy())
    kernel = floats.binary("add", FORMATS[type_], Rounding.TO_NEAREST_EVEN, 0, SPEC)
    repeats = max(1, sizes.ops // 100)

    def repeated(function: Callable[[], Any]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(repeats):
                function()

        return run

    agree("a + b", (a + b).bits, kernel.array(a.bits, b.bits).results[0])
    sides = (lambda: a + b, lambda: x + x, lambda: kernel.array(a.bits, b.bits))
    mine, theirs, own = best(*map(repeated, sides), rounds=sizes.rounds)
    note = f"the kernel takes {own / repeats * 1e6:.2g} µs"
    return Measured(max(mine - own, 1e-9) / repeats * 1e6, theirs / repeats * 1e6, note=note)


def large(type_: str, sign: str, sizes: Sizes) -> Measured:
    x = sample(type_, sizes.chain)
    y = x[::-1].copy()
    a, b = hu.Value.from_numpy(x), hu.Value.from_numpy(y)
    operation = OPERATORS[sign]

    def predicted() -> Any:
        with hu.profile("ml_dtypes"):
            return operation(a, b).numpy()

    with np.errstate(all="ignore"):
        note = agree_or_as_predicted(f"a {sign} b", operation(a, b).numpy(), operation(x, y), predicted)
        times = best(lambda: operation(a, b), lambda: operation(x, y), rounds=2 * sizes.rounds)
    return nanoseconds(times, x.size, note)


def view(name: str, sizes: Sizes) -> Measured:
    x = random(10).standard_normal(sizes.chain).astype(np.float32)
    value, of = hu.Value.from_numpy(x), VIEWS[name]
    agree(name, of(value).bits, of(x))
    if not np.shares_memory(of(value).bits, value.bits):
        raise Disagreement(f"{name} copies")
    mine, theirs = best(lambda: of(value), lambda: of(x), rounds=20 * sizes.rounds)
    return Measured(mine * 1e6, theirs * 1e6)


def error(type_: str, sizes: Sizes) -> Measured:
    """Measure all figures of the rounding error, compared with NumPy code that computes only the largest absolute
    error.
    """
    x = random(11).standard_normal(sizes.chain).astype(np.float32)
    dtype = dtype_of(type_)

    def by_hand() -> Any:
        return np.max(np.abs(x.astype(dtype).astype(np.float64) - x))

    agree("the largest absolute error", np.max(np.abs(hu.error(x, type_).absolute)), by_hand())
    return nanoseconds(best(lambda: hu.error(x, type_).to_dict(), by_hand, rounds=sizes.rounds), x.size)


def blocks(sizes: Sizes) -> Measured:
    """Measure the MX recipe "floor", compared with the same recipe in PyTorch with its casts."""
    try:
        import torch
    except ImportError:
        raise Absent("torch is not installed") from None
    x = random(12).standard_normal((max(1, sizes.chain // 1024), 1024)).astype(np.float32)
    given = torch.from_numpy(x)
    largest = FORMATS["f8E4M3FN"].emax

    def by_torch() -> tuple[Any, Any]:
        parts = given.reshape(len(x), -1, BLOCK)
        exponents = torch.frexp(parts.abs().amax(dim=-1))[1] - 1 - largest
        scaled = torch.ldexp(parts, -exponents[..., None])
        elements = scaled.clamp(-448.0, 448.0).to(torch.float8_e4m3fn)
        return elements.reshape(given.shape), (exponents + 127).to(torch.uint8)

    ours, (elements, scales) = hu.quantize_blocks(x, "f8E4M3FN", "mx"), by_torch()
    agree("the elements", ours.elements.bits, elements.view(torch.uint8).numpy())
    agree("the scales", ours.scales.bits, scales.numpy())
    times = best(lambda: hu.quantize_blocks(x, "f8E4M3FN", "mx"), by_torch, rounds=sizes.rounds)
    return nanoseconds(times, x.size)
