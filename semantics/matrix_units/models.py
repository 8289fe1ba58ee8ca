"""Tile operations D = A * B + C on arrays of codes: a mathematical model, an IEEE one, and those of real chips.

Arrays are A [..., M, K], B [..., K, N], C [..., M, N] with the same leading dimensions, and scales [..., M, K / block]
and [..., K / block, N]. The models:

- ``exact``: the exact sum of C and all products, rounded once to nearest even. NaN operands, infinity times zero and
  infinities of both signs give the default NaN.
- ``ieee``: fused multiply-adds in the order of K in C's format, into which A and B convert exactly. Scaled elements are
  scaled first and rounded to C's format, as `arith.scaling_extf` does.
- ``chip:<name>``: what a matrix unit computes, by the rows of `chips`.

Integers are added exactly in all of them, modulo the width of C.

Inside, tiles are the last dimension: arrays are [K, M, N, tiles], with as many tiles at a time as fit in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from halfulp.fp_formats.codes import Codes, signed_integers
from halfulp.fp_formats.exact import comparisons
from halfulp.fp_formats.exact.core import specials_of
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.paths import fast
from halfulp.semantics.matrix_units.aligned_sums import (
    Factors,
    Integers,
    SumTrace,
    chain,
    decode,
    flushed,
    fused,
    late,
    tree,
)
from halfulp.semantics.matrix_units.chips import CHIPS, MODELS, Rule
from halfulp.semantics.matrix_units.exact_sums import Chunk, exact_model
from halfulp.semantics.matrix_units.kinds import TileOp

BLOCK = 1 << 16  # products at a time: their temporaries stay in the second-level cache


class Unpublished(Exception):
    """Raised where nobody has published how hardware computes an operation.

    ``model`` and ``operation`` are their names; ``what`` names the operands for which this holds, if not for all.
    """

    def __init__(self, model: str, operation: str, what: str = "") -> None:
        super().__init__(f"{model}: how hardware computes {operation}{what} is not published")
        self.model, self.operation, self.what = model, operation, what


# Models.


def _slices(k: int, size: int) -> Iterator[slice]:
    for start in range(0, k, size):
        yield slice(start, start + size)


def _chip(model: str, op: TileOp, rule: Rule) -> Chunk:
    fmt_a, fmt_b, fmt = (FORMATS[name] for name in (op.a, op.b, op.d))
    group = min(rule.group or op.shape[2], op.shape[2])

    def aligning(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: SumTrace | None) -> Codes:
        x, y = decode(fmt_a, a), decode(fmt_b, b)
        z = tuple(decode(FORMATS[op.scale], scale) for scale in scales)
        step = fused if rule.how == "fused" else late
        for part in _slices(len(a), group):
            c = step(rule, fmt, Factors(x.at(part), y.at(part), tuple(scale.at(part) for scale in z)), c, trace)
            if trace is not None:
                trace.rounded("sum", fmt, c)
        return c

    def rounding(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: SumTrace | None) -> Codes:
        if rule.flush:
            a, b = flushed(fmt_a, a, signed=False), flushed(fmt_b, b, signed=False)
        a, b = fast.convert(fmt_a, fmt, a).codes, fast.convert(fmt_b, fmt, b).codes
        if rule.how == "chain":
            return chain(fmt, a, b, c, trace)
        for part in _slices(len(a), group):
            c = tree(rule, fmt, a[part], b[part], c, trace)
        return flushed(fmt, c, signed=True) if rule.flush else c

    each = aligning if rule.how in ("fused", "late") else rounding

    def compute(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: SumTrace | None) -> Codes:
        for number, part in enumerate(_slices(len(a), op.shape[2])):
            if number:  # the result of one instruction is an operand of the next
                _check_known(model, op, rule, ((op.d, c),))
            c = each(a[part], b[part], c, tuple(scale[part] for scale in scales), trace)
        return c

    return compute


def _ieee(op: TileOp) -> Chunk:
    fmt_a, fmt_b, fmt = (FORMATS[name] for name in (op.a, op.b, op.d))

    def model(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: SumTrace | None) -> Codes:
        a, b = fast.convert(fmt_a, fmt, a).codes, fast.convert(fmt_b, fmt, b).codes
        if scales:
            factors = [fast.convert(FORMATS[op.scale], fmt, scale).codes for scale in scales]
            a, b = (fast.multiply(fmt, x, factor).codes for x, factor in zip((a, b), factors, strict=True))
        return chain(fmt, a, b, c, trace)

    return model


# Integers.


def _integers(op: TileOp, a: Codes, b: Codes, c: Codes) -> Codes:
    """Compute on integers: exact, modulo the width of C."""

    def signed(name: str, codes: Codes) -> Integers:
        return signed_integers(codes, int(name[1:]))

    total = np.matmul(signed(op.a, a), signed(op.b, b)) + signed(op.c, c)
    return np.asarray((total & ((1 << int(op.d[1:])) - 1)).astype(c.dtype))


# The front.


def rule_of(model: str, op: TileOp) -> Rule:
    """Return the rule by which a chip, ``chip:<name>``, computes an operation. Raises `Unpublished` if none is
    known.
    """
    m, n, k = op.shape
    shape = f"{m}x{n}x{k}" + (f"x{op.blocks}B" if op.blocks > 1 else "")
    scales = f"{op.scale},{op.block}" if op.scale else ""
    for row in CHIPS[model.removeprefix("chip:")]:
        if row.covers(op.unit, f"{op.a},{op.b}", f"{op.c},{op.d}", shape, scales):
            return row.rule
    raise Unpublished(model, op.name)


def supports(model: str, op: TileOp) -> bool:
    """Tell whether a model computes an operation."""
    try:
        _model(model, op)
    except Unpublished:
        return False
    return True


class TileModel(NamedTuple):
    """The function for chunks of tiles, None for integers; the rule that a chip follows; array elements per result."""

    chunk: Chunk | None
    rule: Rule | None = None
    elements: int = 1


@lru_cache(maxsize=256)
def _model(model: str, op: TileOp) -> TileModel:
    if model not in MODELS:
        raise ValueError(f"unknown model {model!r}: choose one of {', '.join(MODELS)}")
    if op.name.startswith("VDMFMA"):
        raise Unpublished(model, op.name)
    rule = rule_of(model, op) if model.startswith("chip:") else None
    if op.d not in FORMATS:
        return TileModel(None, rule)
    if rule is not None:
        return TileModel(_chip(model, op, rule), rule)
    if model == "ieee":
        return TileModel(_ieee(op))
    chunk, digits = exact_model(op)
    return TileModel(chunk, None, digits // 4)  # fewer passes by longer arrays


def multiply_accumulate(
    model: str,
    op: TileOp,
    a: Codes,
    b: Codes,
    c: Codes,
    scale_a: Codes | None = None,
    scale_b: Codes | None = None,
    trace: SumTrace | None = None,
) -> Codes:
    """Return A * B + C of tiles, as codes of D; see the module. ``trace``: for a single element, its steps are added to
    it.

    Raises `Unpublished` where the results of a chip are not known, and ValueError for shapes that do not fit.
    """
    chunk, rule, elements = _model(model, op)
    scales = () if scale_a is None or scale_b is None else (scale_a, scale_b)
    _check_shapes(op, a, b, c, scales)
    if chunk is None:
        return _integers(op, a, b, c)
    if rule is not None:
        _check_known(model, op, rule, ((op.a, a), (op.b, b), (op.c, c)))
        if op.order is not None:
            order = np.add.outer(np.arange(0, a.shape[-1], len(op.order)), op.order).reshape(-1)
            a, b = a[..., order], b[..., order, :]
    if op.c != op.d:
        c = fast.convert(FORMATS[op.c], FORMATS[op.d], c).codes
    *lead, m, k = a.shape
    n, tiles = b.shape[-1], math.prod(lead)
    a, b, c = a.reshape(tiles, m, k), b.reshape(tiles, k, n), c.reshape(tiles, m, n)
    if scales:
        x, y = (scale.reshape(tiles, *scale.shape[-2:]) for scale in scales)
        scales = np.repeat(x, op.block, axis=2), np.repeat(y, op.block, axis=1)
    out = np.empty((tiles, m, n), FORMATS[op.d].storage_dtype)
    step = max(1, BLOCK // max(1, m * n * max(k, elements)))
    for start in range(0, tiles, step):
        part = slice(start, start + step)
        left, right = (_of_rows(a[part]), _of_columns(b[part]))
        factors = (_of_rows(scales[0][part]), _of_columns(scales[1][part])) if scales else ()
        held = np.ascontiguousarray(c[part].transpose(1, 2, 0))
        out[part] = chunk(left, right, held, factors, trace).transpose(2, 0, 1)
    return out.reshape(*lead, m, n)


def _of_rows(x: Codes) -> Codes:
    return np.ascontiguousarray(x.transpose(2, 1, 0))[:, :, None, :]


def _of_columns(x: Codes) -> Codes:
    return np.ascontiguousarray(x.transpose(1, 2, 0))[:, None, :, :]


_UNKNOWN = {"nan": " with infinite operands", "none": " with infinite or NaN operands"}


def _check_known(model: str, op: TileOp, rule: Rule, operands: tuple[tuple[str, Codes], ...]) -> None:
    """Raise `Unpublished` if an operand (each with its type) is special in a way for which the rule is not known."""
    if any(_unknown_special(rule, name, codes) for name, codes in operands):
        raise Unpublished(model, op.name, _UNKNOWN[rule.specials])


def _unknown_special(rule: Rule, name: str, codes: Codes) -> bool:
    if name not in FORMATS or rule.specials == "all":
        return False
    if rule.specials == "nan":
        return bool(comparisons.is_infinite(FORMATS[name], codes).any())
    special = specials_of(FORMATS[name], codes.astype(np.uint64))
    return special is not None and bool(special.any())


def _check_shapes(op: TileOp, a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...]) -> None:
    *lead, m, k = a.shape
    n = b.shape[-1]
    groups = k // op.block if op.block else 0
    expected = [(b, (k, n)), (c, (m, n)), *zip(scales, ((m, groups), (groups, n)), strict=False)]
    whole = len(op.order) if op.order is not None else op.shape[2]
    if any(x.shape != (*lead, *shape) for x, shape in expected) or k % whole or bool(scales) != bool(op.scale):
        shapes = ", ".join(str(x.shape) for x in (a, b, c, *scales))
        raise ValueError(f"{op.name}: operands of shapes {shapes} do not fit together")


def explain(
    model: str,
    op: TileOp,
    row: Codes,
    column: Codes,
    c: int,
    scale_row: Codes | None = None,
    scale_column: Codes | None = None,
) -> tuple[int, SumTrace]:
    """Compute one element of D, from a row of A [K], a column of B [K] and a code of C. Returns its code and the steps
    of the model.
    """
    trace = SumTrace()
    dtype = FORMATS[op.c].storage_dtype if op.c in FORMATS else np.dtype(np.uint32)
    row, column = row.reshape(1, -1), column.reshape(-1, 1)
    left = None if scale_row is None else scale_row.reshape(1, -1)
    right = None if scale_column is None else scale_column.reshape(-1, 1)
    result = multiply_accumulate(model, op, row, column, np.array([[c]], dtype), left, right, trace)
    return int(result[0, 0]), trace
