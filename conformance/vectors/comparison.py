"""The comparison of a device's rows with the expected ones: poison rows and unspecified bits do not count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from halfulp.conformance.vectors.columns import Chunk, Column, Role, by_row, format_of, marks_of
from halfulp.fp_formats.formats import Codes, Mask
from halfulp.semantics import floats


def differing_columns(
    columns: Sequence[Column], expected: Chunk, actual: Chunk, any_nan: bool = False
) -> dict[int, Mask]:
    """Return masks of the rows in which a column of ``actual`` is wrong, by the position of the column. Columns without
    such rows are left out.

    Both chunks have all the columns. The masks of ``expected`` select what is compared: poison results, unspecified
    bits, and the flags of a row in which every result is poison are not compared. ``any_nan``: any NaN matches a NaN.
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
    """Return a mask of the rows in which any column is wrong: see `differing_columns`."""
    mask: Mask = np.zeros(len(expected[0]), np.bool_)
    for own in differing_columns(columns, expected, actual, any_nan).values():
        mask |= own
    return mask


def _marks_of_results(columns: Sequence[Column]) -> dict[int, list[int]]:
    """Return, for the position of each result, the positions of its POISON and OPEN columns."""
    found: dict[int, list[int]] = {k: [] for k, column in enumerate(columns) if column.role is Role.RESULT}
    for place, about in marks_of(columns):
        for k in about:
            found[k].append(place)
    return found


def poison_of(columns: Sequence[Column], chunk: Chunk, result: int) -> Mask:
    """Return a mask of the rows in which the result at this position is poison."""
    return _poison(columns, chunk, _marks_of_results(columns)[result])


def _poison(columns: Sequence[Column], chunk: Chunk, marks: Sequence[int]) -> Mask:
    mask: Mask = np.zeros(len(chunk[0]), np.bool_)
    for place in marks:
        if columns[place].role is Role.POISON:
            mask |= chunk[place] != 0
    return mask


def all_poison(columns: Sequence[Column], chunk: Chunk) -> Mask:
    """Return a mask of the rows in which every result is poison; it has no row if the set has no results."""
    marks = _marks_of_results(columns)
    mask: Mask = np.full(len(chunk[0]), bool(marks), np.bool_)
    for own in marks.values():
        mask &= _poison(columns, chunk, own)
    return mask


def _result_differs(
    columns: Sequence[Column],
    expected: Chunk,
    position: int,
    marks: Sequence[int],
    actual: Codes,
    differs: Mask,
    any_nan: bool,
) -> Mask:
    """Of the rows in which a result has other bits, return those in which the difference counts."""
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
