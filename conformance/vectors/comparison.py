"""Compare rows that exist. Poison rows and unspecified bits do not count."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from halfulp.conformance.vectors.columns import Chunk, Column, Role, results_of
from halfulp.fp_formats.codes import Codes, Mask
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.text.parser import parse_type
from halfulp.semantics import floats


@cache
def type_of(column: Column) -> ty.Type | None:
    """Return the type of a column; None where its spelling is not an MLIR type."""
    try:
        return parse_type(column.type)
    except (HalfulpError, ValueError):
        return None


def format_of(column: Column) -> FloatFormat | None:
    """Return the float format of a column; None for other types."""
    type_ = type_of(column)
    return type_.format if isinstance(type_, ty.FloatType) else None


def differing_columns(
    columns: Sequence[Column], expected: Chunk, actual: Chunk, any_nan: bool = False
) -> dict[int, Mask]:
    """Return by column position the rows in which a column of ``actual`` is wrong; only columns with such rows.

    Both chunks have all the columns. The masks of ``expected`` say what counts: not a poison result, not its
    unspecified bits, and not the flags of a row in which every result is poison. ``any_nan``: any NaN matches a NaN.
    Columns of operands are not compared.
    """
    found: dict[int, Mask] = {}
    for k, column in enumerate(columns):
        if column.role in (Role.OPERAND, Role.RANDOM):
            continue
        differs = by_row(expected[k] != actual[k])
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
    """Return the rows in which any column is wrong: see `differing_columns`."""
    mask: Mask = np.zeros(len(expected[0]), np.bool_)
    for own in differing_columns(columns, expected, actual, any_nan).values():
        mask |= own
    return mask


def poison_of(columns: Sequence[Column], chunk: Chunk, result: int) -> Mask:
    """Return the rows in which the result at this position is poison."""
    mask: Mask = np.zeros(len(chunk[0]), np.bool_)
    for column, codes in zip(columns, chunk, strict=True):
        if column.role is Role.POISON and result in results_of(columns, column):
            mask |= codes != 0
    return mask


def all_poison(columns: Sequence[Column], chunk: Chunk) -> Mask:
    """Return the rows in which every result is poison; no rows in a set without results."""
    results = [k for k, column in enumerate(columns) if column.role is Role.RESULT]
    mask: Mask = np.full(len(chunk[0]), bool(results), np.bool_)
    for k in results:
        mask &= poison_of(columns, chunk, k)
    return mask


def by_row(differs: Mask) -> Mask:
    """Return the rows in which any limb is set."""
    return np.asarray(differs.any(axis=1)) if differs.ndim > 1 else differs


def _result_differs(
    columns: Sequence[Column], expected: Chunk, position: int, actual: Codes, differs: Mask, any_nan: bool
) -> Mask:
    """Return of the rows with other bits in a result those in which the difference counts."""
    rows = np.flatnonzero(differs)
    wanted, found = expected[position][rows], actual[rows]
    different = wanted ^ found
    counts = ~poison_of(columns, expected, position)[rows]
    for column, codes in zip(columns, expected, strict=True):
        if column.role is Role.OPEN and position in results_of(columns, column):
            different = different & ~codes[rows]
    counts &= by_row(different != 0)
    fmt = format_of(columns[position])
    if any_nan and fmt is not None and counts.any():
        counts &= ~(floats.is_nan(fmt, wanted) & floats.is_nan(fmt, found))
    mask: Mask = np.zeros(len(differs), np.bool_)
    mask[rows] = counts
    return mask
