"""Measure elementary functions, each result rounded once, compared with NumPy's f64 functions and MPFR."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import halfulp as hu
from benchmarks.rows import Absent, Measured, Row, Sizes, Target, agree, best, nanoseconds
from benchmarks.samples import sample

FUNCTIONS: Mapping[str, Callable[..., Any]] = {"exp": np.exp, "tanh": np.tanh, "log": np.log, "sin": np.sin}
PAIRS: Mapping[str, Callable[..., Any]] = {"atan2": np.arctan2, "powf": np.power}
TABLES = ("bf16", "f16", "f8E4M3FN")
FIRST_CALL = """
import time
import numpy as np
import halfulp as hu
codes = hu.Value.from_bits(np.arange(1 << 16, dtype=np.uint16), {type!r})
start = time.perf_counter()
result = hu.eval({name!r}, codes, type={type!r})
print(time.perf_counter() - start)
"""


def rows() -> Iterator[Row]:
    group = "elementary functions"
    for type_ in TABLES:
        for name in FUNCTIONS:
            measure = partial(tensor, name, type_, 4_000_000)
            yield Row(group, f"{name} of {type_}", measure, "NumPy f64", Target(most=1.5))
    for name in FUNCTIONS:
        measure = partial(tensor, name, "f32", 4_000_000)
        yield Row(group, f"{name} of f32", measure, "NumPy f64", Target(beside=(2, 2)))
    for name in FUNCTIONS:
        yield Row(group, f"{name} of f64", partial(tensor_f64, name), "gmpy2", Target(most=300))
    for name, ufunc in PAIRS.items():
        for type_ in ("f8E4M3FN", "bf16", "f32"):
            target = Target(most=3) if type_ == "f8E4M3FN" else Target()
            yield Row(group, f"{name} of {type_}", partial(pairs, name, ufunc, type_), "NumPy f64", target)
    for kept in (False, True):
        what = f"first exp of bf16{', its table on disk' if kept else ''}"
        yield Row(group, what, partial(first_call, "exp", "bf16", kept), "", Target(most=300), "ms")


def _program(op: str, type_: str, count: int, operands: int = 1) -> str:
    tensor_type = f"tensor<{count}x{type_}>"
    names = [f"%x{number}" for number in range(operands)]
    arguments = ", ".join(f"{name}: {tensor_type}" for name in names)
    return (
        f"func.func @main({arguments}) -> {tensor_type} {{\n"
        f"  %r = {op} {', '.join(names)} : {tensor_type}\n  return %r : {tensor_type}\n}}\n"
    )


def _operand(name: str, type_: str, count: int) -> Any:
    """Return a sample in the domain of the function, without NaNs, because NumPy gives them other payloads."""
    x = sample(type_, count)
    x = np.where(np.isfinite(x.astype(np.float64)), x, x.dtype.type(1))
    return np.abs(x) if name == "log" else x


def tensor(name: str, type_: str, most: int, sizes: Sizes) -> Measured:
    """Measure a function of a tensor, compared with NumPy's function on the same numbers in f64. NumPy's results are
    rounded before they are compared.
    """
    x = _operand(name, type_, min(sizes.elements, most))
    module, wide, function = hu.load(_program(f"math.{name}", type_, x.size)), x.astype(np.float64), FUNCTIONS[name]
    with np.errstate(all="ignore"):
        agree(f"math.{name}", hu.run(module, x)[0].bits, hu.convert(function(wide), to=type_).bits)
        return nanoseconds(best(lambda: hu.run(module, x), lambda: function(wide), rounds=2 * sizes.rounds), x.size)


def pairs(name: str, function: Callable[..., Any], type_: str, sizes: Sizes) -> Measured:
    """Measure a function of two tensors as `tensor` does."""
    x = _operand("log", type_, min(sizes.elements, 4_000_000 if type_ == "f8E4M3FN" else 1_000_000))
    y = _operand(name, type_, x.size)[::-1].copy()
    x = np.maximum(x, x.dtype.type(0.25))
    module = hu.load(_program(f"math.{name}", type_, x.size, 2))
    wide = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(all="ignore"):
        agree(f"math.{name}", hu.run(module, x, y)[0].bits, hu.convert(function(*wide), to=type_).bits)
        times = best(lambda: hu.run(module, x, y), lambda: function(*wide), rounds=sizes.rounds)
    return nanoseconds(times, x.size)


def tensor_f64(name: str, sizes: Sizes) -> Measured:
    """Measure a function of a tensor of f64, compared with MPFR, which is also correctly rounded and computes one
    number at a time.
    """
    try:
        import gmpy2
    except ImportError:
        raise Absent("gmpy2 is not installed") from None
    x = _operand(name, "f64", min(sizes.elements, 200_000))
    module, function = hu.load(_program(f"math.{name}", "f64", x.size)), getattr(gmpy2, name)

    def theirs() -> Any:
        with gmpy2.context(precision=53):
            return np.array([float(function(each)) for each in map(gmpy2.mpfr, x.tolist())])

    agree(f"math.{name}", hu.run(module, x)[0].numpy(), theirs())
    return nanoseconds(best(lambda: hu.run(module, x), theirs, rounds=3), x.size)


def first_call(name: str, type_: str, kept: bool, sizes: Sizes) -> Measured:
    """Measure the first call in a new process, in milliseconds, with the import of python-flint if it is needed.
    ``kept``: with the cache on disk of an earlier process.
    """
    program = FIRST_CALL.format(name=name, type=type_)

    def seconds(folder: str) -> float:
        environment = {**os.environ, "HALFULP_CACHE": folder}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
        )
        return float(done.stdout)

    with tempfile.TemporaryDirectory() as folder:
        if kept:
            seconds(folder)
        times = [seconds(folder if kept else "off") for _ in range(sizes.rounds)]
    return Measured(min(times) * 1e3)
