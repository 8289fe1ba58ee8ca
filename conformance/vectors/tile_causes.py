"""Causes in how a unit adds the products of a tile: another field of its accumulator, or another model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np

from halfulp.conformance.vectors.columns import Chunk
from halfulp.conformance.vectors.computation import Computation, ProgramComputation
from halfulp.conformance.vectors.device import Cause, Stage, computing, reading
from halfulp.conformance.vectors.encodings import of_same_width
from halfulp.conformance.vectors.sampling import Sample
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.fp_formats.codes import Codes
from halfulp.fp_formats.formats import FORMATS
from halfulp.semantics.matrix_units.accumulator import Accumulator, spelled
from halfulp.semantics.matrix_units.chips import CHAIN, MODELS
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.models import rule_of

FEW = 32
"""Tiles of so many products are fast enough to try pairs of fields."""

SCALE = "f8E8M0FNU"

NEAR = 8
"""Numbers of bits are tried up to so far from those of the accumulator."""


def other_models(computation: Computation) -> Iterator[Cause]:
    """Yield the other models that compute the operation, or the tile operations of a program."""
    match computation:
        case TileComputation():
            own, models = computation.model, tuple(computation.models())
        case ProgramComputation() if computation.tiled:
            own, models = computation.mma, MODELS
        case _:
            return
    for model in models:
        if model != own:
            yield computing(f"--mma={model}", partial(_by, model), slow=True)


def _by(model: str, computation: Computation) -> Computation | None:
    match computation:
        case TileComputation():
            return replace(computation, model=model)
        case ProgramComputation():
            return replace(computation, mma=model)
    return None


def other_accumulators(computation: Computation) -> Iterator[Cause]:
    """Yield each other value of each field of the accumulator; of numbers, those nearby."""
    if not isinstance(computation, TileComputation):
        return
    rule = _rule(computation)
    for field in fields(Accumulator):
        own = getattr(rule, field.name)
        for value in dict.fromkeys(_values(field.name, field.metadata["choices"], rule, computation.operation)):
            if value != own:
                name = f"an accumulator with {field.name}={spelled(value)}"
                yield computing(name, partial(_with, field.name, value), slow=computation.products > FEW)


def other_elements(computation: Computation) -> Iterator[Cause]:
    """Yield other formats of the elements of A and B, of the same width, and scales of another bias."""
    if not isinstance(computation, TileComputation):
        return
    op = computation.operation
    slow = computation.products > FEW
    for type_ in dict.fromkeys((op.a, op.b)):
        for other in of_same_width(type_):
            yield computing(f"{other} in place of {type_}", partial(_retyped, type_, other), slow)
    if op.scale == SCALE:
        bias = FORMATS[SCALE].bias
        for way in (1, -1):
            name = f"scales with the bias {bias + way} in place of {bias}"
            yield reading(name, Stage.COMPUTATION, partial(_moved_scales, computation, way))


def _retyped(type_: str, other: str, computation: Computation) -> Computation | None:
    if not isinstance(computation, TileComputation):
        return None
    op = computation.operation
    a, b = (other if own == type_ else own for own in (op.a, op.b))
    return replace(computation, operation=replace(op, a=a, b=b))


def _moved_scales(computation: TileComputation, way: int, inputs: Chunk) -> Chunk:
    """Return inputs whose scales are 2**way times smaller, but for NaNs and for those at the end of the range."""
    scales = sum(math.prod(shape) for name, _, shape in computation.operands if name.startswith("scale"))
    most = FORMATS[SCALE].max_code

    def moved(codes: Codes) -> Codes:
        return np.where(codes > most, codes, np.clip(codes.astype(np.int64) - way, 0, most)).astype(codes.dtype)

    first = len(inputs) - scales
    return inputs[:first] + tuple(map(moved, inputs[first:]))


def elements(computation: TileComputation, sample: Sample, most: int) -> tuple[TileComputation, Sample]:
    """Return single elements of the tiles of a sample, which do not depend on each other, by the rule of the model.

    Up to ``most`` differ, and as many are equal, each kind spread over the sample.
    """
    expected, actual = (np.stack(codes, axis=1) for codes in (sample.expected, sample.actual))
    counts = (sample.differs | sample.control)[:, np.newaxis]
    found = [np.flatnonzero(mask & counts) for mask in (expected != actual, expected == actual)]
    chosen = [places[np.linspace(0, len(places) - 1, min(len(places), most)).astype(np.intp)] for places in found]
    rows, outputs = np.divmod(np.concatenate(chosen), expected.shape[1])
    one, inputs = computation.elements(sample.inputs, rows, outputs, _rule(computation).text)
    differs = np.arange(len(rows)) < len(chosen[0])
    nothing = np.zeros((len(rows), 0), np.bool_)
    results = (expected[rows, outputs],), (actual[rows, outputs],)
    return one, Sample(inputs, *results, np.arange(len(rows)), differs, ~differs, (expected[rows, :0],), nothing)


def _rule(computation: TileComputation) -> Accumulator:
    """Return the rule of a computation's model, or the one that gives the sums of a model without a rule."""
    usual = CHAIN if computation.model == "ieee" else Accumulator()
    return rule_of(computation.model, computation.operation) or usual


def _with(field: str, value: Any, computation: Computation) -> Computation | None:
    if not isinstance(computation, TileComputation):
        return None
    return replace(computation, model=replace(_rule(computation), **{field: value}).text)


def _values(field: str, choices: Sequence[str], rule: Accumulator, op: TileOp) -> Iterator[Any]:
    """Yield the values of a field that a device may have; some do not go with the other fields."""
    if choices:
        yield from choices
        return
    fmt = FORMATS.get(op.d)
    match field:
        case "flush" | "product_overflow":
            yield from (False, True)
        case "group":
            k = op.shape[2]
            yield from (size if size < k else 0 for size in (1 << power for power in range(k.bit_length() + 1)))
        case "width" if fmt is None:
            yield from (None, *range(int(op.d[1:]) - 1, NEAR - 1, -1))
        case "bits" if fmt is not None:
            yield from (None, *_near(fmt.mantissa_bits if rule.bits is None else rule.bits))
        case "fraction" if fmt is not None:
            yield from (None, *_near(fmt.mantissa_bits if rule.fraction is None else rule.fraction))
        case "guard":
            yield from (0, *_near(rule.guard))
        case "shifter" | "c_shifter" if rule.bits is not None:
            given = getattr(rule, field)
            yield from (None, *_near(rule.bits if given is None else given))
        case "zero_exponent" if fmt is not None:
            yield from (None, 1 - fmt.bias)


def _near(number: int) -> Iterator[int]:
    """Yield the number and its neighbours, the nearest first and the lower one of two first."""
    yield number
    for step in range(1, NEAR + 1):
        yield from (other for other in (number - step, number + step) if other >= 0)
