"""Vectors that someone else computed, held to what they must be: which rows differ, and what they look like instead.

Poison rows count for nothing, nor do open bits. `differing` compares rows that exist; `check` reads a stream of them,
computes what they must be, and tries for the rows that differ which other semantics gives what was got.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from halfulp.conformance.vectors.columns import Chunk, Column, Role, results_of
from halfulp.fp_formats.codes import Codes
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp import types as ty
from halfulp.interp.errors import HalfulpError
from halfulp.interp.values import as_type
from halfulp.semantics import floats
from halfulp.semantics.kernel import Mask


@cache
def type_of(column: Column) -> ty.Type | None:
    """The type that a column bears; None where that is no type of MLIR."""
    try:
        return as_type(column.type)
    except (HalfulpError, ValueError):
        return None


def format_of(column: Column) -> FloatFormat | None:
    """The float format of a column; None of all else."""
    type_ = type_of(column)
    return type_.format if isinstance(type_, ty.FloatType) else None


def differing_columns(
    columns: Sequence[Column], expected: Chunk, actual: Chunk, any_nan: bool = False
) -> dict[int, Mask]:
    """The rows in which each column of ``actual`` is not as it must be, by the column's position, where there are any.

    Both chunks have all the columns. The masks of ``expected`` say what counts: not a result that is poison, not its
    open bits, nor the flags of a row of which every result is poison. ``any_nan``: any NaN will do for a NaN. Columns
    of operands are not compared.
    """
    found: dict[int, Mask] = {}
    for k, column in enumerate(columns):
        if column.role in (Role.OPERAND, Role.RANDOM):
            continue
        differs = _rows(expected[k] != actual[k])
        if not differs.any():
            continue
        if column.role is Role.RESULT:
            differs = _result_differs(columns, expected, k, actual[k], differs, any_nan)
        elif column.role is Role.FLAGS:
            differs = differs & ~all_poison(columns, expected)
        if differs.any():
            found[k] = differs
    return found


def differing(columns: Sequence[Column], expected: Chunk, actual: Chunk, any_nan: bool = False) -> Mask:
    """The rows of which any column is not as it must be: see `differing_columns`."""
    mask: Mask = np.zeros(len(expected[0]), np.bool_)
    for own in differing_columns(columns, expected, actual, any_nan).values():
        mask |= own
    return mask


def poison_of(columns: Sequence[Column], chunk: Chunk, result: int) -> Mask:
    """The rows in which the result at this position is poison."""
    mask: Mask = np.zeros(len(chunk[0]), np.bool_)
    for column, codes in zip(columns, chunk, strict=True):
        if column.role is Role.POISON and result in results_of(columns, column):
            mask |= codes != 0
    return mask


def all_poison(columns: Sequence[Column], chunk: Chunk) -> Mask:
    """The rows in which every result is poison; none in a set without results."""
    results = [k for k, column in enumerate(columns) if column.role is Role.RESULT]
    mask: Mask = np.full(len(chunk[0]), bool(results), np.bool_)
    for k in results:
        mask &= poison_of(columns, chunk, k)
    return mask


def _rows(differs: Mask) -> Mask:
    return differs.any(axis=1) if differs.ndim > 1 else differs


def _result_differs(
    columns: Sequence[Column], expected: Chunk, position: int, actual: Codes, differs: Mask, any_nan: bool
) -> Mask:
    """Of the rows in which a result has other bits, those in which that counts."""
    rows = np.flatnonzero(differs)
    wanted, found = expected[position][rows], actual[rows]
    different = wanted ^ found
    counts = ~poison_of(columns, expected, position)[rows]
    for column, codes in zip(columns, expected, strict=True):
        if column.role is Role.OPEN and position in results_of(columns, column):
            different = different & ~codes[rows]
    counts &= _rows(different != 0)
    fmt = format_of(columns[position])
    if any_nan and fmt is not None and counts.any():
        counts &= ~(floats.is_nan(fmt, wanted) & floats.is_nan(fmt, found))
    mask: Mask = np.zeros(len(differs), np.bool_)
    mask[rows] = counts
    return mask
