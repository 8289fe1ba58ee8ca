"""The metrics of errors: one table for all that ranks by errors or compares them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, isnan
from typing import Literal, get_args

import numpy as np

from halfulp.fp_formats.aliases import did_you_mean, with_hint
from halfulp.fp_formats.neighbours import Floats
from halfulp.interp.ir.errors import InputError

Metric = Literal["ulp", "sqnr", "relative", "absolute"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A metric of errors.

    ``what``: a description of the metric. ``spell``: returns the text of an error, with its unit. ``axis``: the label
    of an axis. ``unit``: returns the number by which the error of an element is divided, from the exact numbers of its
    result (NaN if they are not known) and their ulps. ``cost``: converts an error in this metric to a number that is
    proportional to the errors, so that it is larger for a worse result. ``worst``: the error of a result with an
    infinity or a NaN if the exact result has none.
    """

    what: str
    spell: Callable[[float], str]
    short: Callable[[float], str]
    axis: str
    unit: Callable[[Floats, Floats], Floats | float]
    cost: Callable[[float], float] = float
    worst: float = inf


def ulps(size: float) -> str:
    """Return the text of a number of ulps with three digits."""
    if isnan(size):
        return "unknown"
    size = size or 0.0  # no negative zero
    return f"{size:,.0f}" if 1000 <= abs(size) < 1e7 else f"{size:.3g}"


def _plain(size: float) -> str:
    return "unknown" if isnan(size) else f"{size or 0.0:.3g}"


def _decibels(size: float) -> str:
    return "unknown" if isnan(size) else f"{size:.1f}"


def _largest(exact: Floats, ulps: Floats) -> float:
    """Return the largest exact number; 1 if all are 0, or none is known."""
    return float(np.abs(exact[np.isfinite(exact)]).max(initial=0.0)) or 1.0


MEASURES: Mapping[str, Measure] = {
    "ulp": Measure(
        "error", lambda size: f"{ulps(size)} ulp", ulps, "largest error of a result, ulp", lambda exact, ulps: ulps
    ),
    "sqnr": Measure(
        "SQNR",
        lambda size: f"{_decibels(size)} dB",
        _decibels,
        "error of a result relative to it (root mean square)",
        lambda exact, ulps: 1.0,
        lambda size: 0.0 if size == inf else inf if size == -inf else 10.0 ** (-size / 20),
        -inf,
    ),
    "relative": Measure(
        "error",
        lambda size: f"{_plain(size)} of the largest number",
        _plain,
        "largest error of a result, relative to its largest number",
        _largest,
    ),
    "absolute": Measure("error", _plain, _plain, "largest error of a result", lambda exact, ulps: 1.0),
}
"""The metrics by name.

``ulp``: the largest error in ulp of the exact number. ``sqnr``: the sum of the squares of the exact numbers divided by
that of the errors, in dB. For single elements, the element with the largest error counts. ``relative``: the largest
error relative to the largest exact number of the tensor. ``absolute``: the largest error.
"""


def checked_metric(name: str) -> str:
    """Return the name of a metric. Raises InputError if there is none."""
    if name not in MEASURES:
        message = f"metric is {name!r}, but must be one of {', '.join(get_args(Metric))}"
        raise InputError(with_hint(message, did_you_mean(name, MEASURES)))
    return name
