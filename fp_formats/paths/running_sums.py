"""Sums in order by NumPy's running sums, where each of their steps is an addition that rounds once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from halfulp.fp_formats.exact import arithmetic
from halfulp.fp_formats.formats import Codes, FloatFormat
from halfulp.fp_formats.paths.domains import dtype_of
from halfulp.fp_formats.paths.fast import path_of
from halfulp.fp_formats.policy import FloatPolicy

FEW_LANES = 96  # lanes: up to so many, one call for all rows is faster than one for each row
ROWS_OF_GROUP = 32  # rows of a group: those of a lane fill a line of the cache
MANY_LANES = 512  # lanes from which on the kernels of f16 and bf16 are faster


def has_running_sums(fmt: FloatFormat, policy: FloatPolicy, lanes: int = 1) -> bool:
    """Tell whether NumPy's additions (for bf16: those of ml_dtypes) in this format round once, and save time for this
    number of lanes.

    Additions of f32 and f64 round once. Those of f16 and bf16 compute in f32 and round again, which equals rounding
    once.
    """
    if not policy.first_nan_counts:
        return False
    path = path_of("add", fmt, policy=policy)
    return path == "native" or (path == "through_f32" and lanes <= MANY_LANES)


def last_running_sum(fmt: FloatFormat, start: Codes, rows: Codes, policy: FloatPolicy) -> Codes:
    """Return ``start`` [lanes] plus all rows of ``rows`` [n, lanes], which are added one after the other.

    The format must satisfy `has_running_sums`. A NaN in ``start`` must be the result of an addition.
    """
    if start.size <= FEW_LANES:
        return _at_once(fmt, start, rows, policy)
    dtype = dtype_of(fmt)
    total = start.view(dtype).copy()
    with np.errstate(all="ignore"):
        for some in _near(rows.view(dtype)):
            for row in some:
                np.add(total, row, out=total)
        lanes = np.flatnonzero(np.isnan(total))
    codes: Codes = total.view(start.dtype)
    for few in np.array_split(lanes, range(FEW_LANES, lanes.size, FEW_LANES)):
        codes[few] = _at_once(fmt, start[few], rows[:, few], policy)
    return codes


def _near(rows: Codes) -> Iterator[Codes]:
    """Yield rows in groups whose numbers lie near each other in memory, even if those of one lane lie together."""
    if rows.strides[0] >= rows.strides[-1]:
        yield rows
        return
    for start in range(0, len(rows), ROWS_OF_GROUP):
        yield np.ascontiguousarray(rows[start : start + ROWS_OF_GROUP].T).T


def _at_once(fmt: FloatFormat, start: Codes, rows: Codes, policy: FloatPolicy) -> Codes:
    dtype = dtype_of(fmt)
    terms = np.concatenate([start[None], rows]).view(dtype)
    with np.errstate(all="ignore"):  # ml_dtypes has warnings also where it only asks for NaNs
        sums = np.add.accumulate(terms, axis=0)
        lanes = np.flatnonzero(np.isnan(sums[-1]))
        # NumPy's NaNs are not trusted: the first addition that gives one is done again. Later ones keep that NaN.
        first = np.isnan(sums[:, lanes]).argmax(axis=0) if lanes.size else lanes
    last: Codes = sums[-1].view(start.dtype)
    if lanes.size:
        before = sums[np.maximum(first - 1, 0), lanes].view(start.dtype)
        added = arithmetic.add(fmt, before, terms[first, lanes].view(start.dtype), policy=policy).codes
        last[lanes] = np.where(first == 0, start[lanes], added)
    return last
