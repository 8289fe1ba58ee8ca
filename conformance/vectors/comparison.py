"""Compare rows that exist. Poison rows and unspecified bits do not count."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from halfulp.conformance.vectors.columns import Chunk, Column, Role, marks_of
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
    marks = _marks_of_results(columns)
    for k, column in enumerate(columns):
        if column.role in (Role.OPERAND, Role.RANDOM):
            continue
        differs = by_row(expected[k] != actual[k])
        if not differs.any():
            continue
        if column.role is Role.RESULT:
            differs = _result_differs(columns, expected, k, marks[k], actual[k], differs, any_nan)
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


def _marks_of_results(columns: Sequence[Column]) -> dict[int, list[int]]:
    """Return by the position of each result those of its POISON and OPEN columns."""
    found: dict[int, list[int]] = {k: [] for k, column in enumerate(columns) if column.role is Role.RESULT}
    for place, about in marks_of(columns):
        for k in about:
            found[k].append(place)
    return found


def poison_of(columns: Sequence[Column], chunk: Chunk, result: int) -> Mask:
    """Return the rows in which the result at this position is poison."""
    return _poison(columns, chunk, _marks_of_results(columns)[result])


def _poison(columns: Sequence[Column], chunk: Chunk, marks: Sequence[int]) -> Mask:
    mask: Mask = np.zeros(len(chunk[0]), np.bool_)
    for place in marks:
        if columns[place].role is Role.POISON:
            mask |= chunk[place] != 0
    return mask


def all_poison(columns: Sequence[Column], chunk: Chunk) -> Mask:
    """Return the rows in which every result is poison; no rows in a set without results."""
    marks = _marks_of_results(columns)
    mask: Mask = np.full(len(chunk[0]), bool(marks), np.bool_)
    for own in marks.values():
        mask &= _poison(columns, chunk, own)
    return mask


def by_row(differs: Mask) -> Mask:
    """Return the rows in which any limb is set."""
    return np.asarray(differs.any(axis=1)) if differs.ndim > 1 else differs


def _result_differs(
    columns: Sequence[Column],
    expected: Chunk,
    position: int,
    marks: Sequence[int],
    actual: Codes,
    differs: Mask,
    any_nan: bool,
) -> Mask:
    """Return of the rows with other bits in a result those in which the difference counts."""
    rows = np.flatnonzero(differs)
    wanted, found = expected[position][rows], actual[rows]
    different = wanted ^ found
    counts = ~_poison(columns, expected, marks)[rows]
    for place in marks:
        if columns[place].role is Role.OPEN:
            different = different & ~expected[place][rows]
    counts &= by_row(different != 0)
    fmt = format_of(columns[position])
    if any_nan and fmt is not None and counts.any():
        counts &= ~(floats.is_nan(fmt, wanted) & floats.is_nan(fmt, found))
    mask: Mask = np.zeros(len(differs), np.bool_)
    mask[rows] = counts
    return mask
