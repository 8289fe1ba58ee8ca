"""Measure runs with shadows, that is with exact real numbers: chains of ops, by the form of their shadows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import halfulp as hu
from benchmarks.programs import CHAIN, chain, numpy_chain
from benchmarks.rows import Disagreement, Measured, Row, Sizes, Target, best, nanoseconds
from benchmarks.samples import positive
from halfulp.running import RunOptions
from halfulp.traces.error_report import RunErrors, beside_reals

GROUP = "exact reals beside a run"
FORMS: Mapping[str, str] = {"": "enclosed", "f64": "beside f64", "f128": "beside f128"}
TARGETS: Mapping[tuple[str, str], Target] = {("f32", ""): Target(most=400), ("f32", "f64"): Target(most=30)}
"""The targets, in nanoseconds for each element of a chain, by type and form."""


def rows() -> Iterator[Row]:
    for type_, form in (("f32", ""), ("f32", "f64"), ("f32", "f128"), ("bf16", ""), ("f64", "")):
        target = TARGETS.get((type_, form), Target())
        peer = "NumPy" if form == "f64" else ""
        yield Row(GROUP, f"ten-op chain, {type_}, {FORMS[form]}", partial(chained, type_, form), peer, target)
    yield Row(GROUP, "math.exp of f32, enclosed", exponentials)


def _run(module: hu.Module, form: str, *arguments: Any) -> RunErrors:
    _, errors = beside_reals(module, arguments, RunOptions(), form)
    return errors


def chained(type_: str, form: str, sizes: Sizes) -> Measured:
    """Measure a chain of ops with shadows. The peer computes it in f32 and in f64, and takes the largest distance of
    the results.
    """
    count = sizes.chain
    x, y = positive(type_, count)
    module = hu.parse(chain(f"tensor<{count}x{type_}>"))

    def theirs() -> float:
        near = numpy_chain(x.astype(np.float64), y.astype(np.float64))
        return float(np.max(np.abs((near - numpy_chain(x, y)) / np.spacing(numpy_chain(x, y)))))

    report = _run(module, form, x, y)
    if len(report.ops) != len(CHAIN):
        raise Disagreement(f"{len(report.ops)} ops have figures, not {len(CHAIN)}")
    if form != "f64":
        return nanoseconds(best(lambda: _run(module, form, x, y), rounds=sizes.rounds), count)
    (result,) = report.results
    if not np.isclose(abs(result.ulp), theirs(), rtol=1e-4):
        raise Disagreement(f"the largest error is {result.ulp} ulp, not {theirs()}")
    return nanoseconds(best(lambda: _run(module, form, x, y), theirs, rounds=sizes.rounds), count)


def exponentials(sizes: Sizes) -> Measured:
    count = sizes.chain
    x, _ = positive("f32", count)
    type_ = f"tensor<{count}xf32>"
    body = f" %0 = math.exp %x : {type_}\n return %0 : {type_}"
    module = hu.parse(f"func.func @main(%x: {type_}) -> {type_} {{\n{body}\n}}")
    return nanoseconds(best(lambda: _run(module, "", x), rounds=min(sizes.rounds, 3)), count)
