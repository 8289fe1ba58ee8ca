"""Draw the relative error of rounding to several formats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from halfulp.explanations.given import MODES, format_of
from halfulp.explanations.rounding_steps import count, largest_error, pieces, ranks_between, value_at
from halfulp.explanations.rounding_steps import relative_error as distance
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.steps import floor_exponent
from halfulp.interp.ir.errors import InputError
from halfulp.plot.coordinates import Number, as_float, chosen_modes, window
from halfulp.plot.figures import DASHES, chosen_style, drawing, figure_of, new_axes, set_legend, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_PARTS = 480
_FARTHEST = 1 << 500  # matplotlib looks for ticks beyond the ends, so these stay far within f64
_FEW_VALUES, _FEW_BINADES = 32, 12


def relative_error(
    formats: str | FloatFormat | Sequence[str | FloatFormat],
    low: Number = Fraction(1, 1 << 20),
    high: Number = 1 << 20,
    rounding: str = "to_nearest_even",
    *,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Figure:
    """Draw the distance of results from their inputs, relative to the inputs, from ``low`` to ``high``, both positive.

    Over at most 12 binades, formats with few values show the error itself, others the largest error in each of up to
    480 parts of the axis, of about four values each. Over more binades, all formats show the largest error in each. A
    line ends where results are not numbers.

    Raises InputError for an unknown mode, or a window that is not positive or goes beyond 2^-500 or 2^500.
    """
    style = chosen_style(dark)
    several = [formats] if isinstance(formats, str | FloatFormat) else list(formats)
    named = list(dict.fromkeys(format_of(fmt) for fmt in several))
    if not 1 <= len(named) <= len(style.series):
        raise InputError(f"{len(named)} formats are given; 1 to {len(style.series)} can be told apart")
    (mode,) = chosen_modes([rounding])
    ends = window(low, high)
    if ends[0] <= 0:
        raise InputError(f"low is {low}, but the axis is logarithmic: it must be positive")
    if ends[0] < Fraction(1, _FARTHEST) or ends[1] > _FARTHEST:
        raise InputError("the axis can show 2^-500 to 2^500")
    with drawing():
        axes = new_axes(ax, style, 3.9)
        wide = ends[1] > ends[0] * (1 << _FEW_BINADES)
        drawn = []
        for k, fmt in enumerate(named):
            total = count(ranks_between(fmt, *ends))
            few = not wide and total <= _FEW_VALUES
            xs, ys = (
                _error_curve(fmt, MODES[mode], *ends)
                if few
                else _error_envelope(fmt, MODES[mode], _parts(*ends, total))
            )
            drawn.append((ys, few))
            look: dict[str, Any] = {"color": style.series[k], "linestyle": DASHES[k], "linewidth": 2.6 - 0.2 * k}
            axes.plot(xs, ys, label=f"{fmt.name}{'' if few or wide else ', largest'}", **look)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xlim(as_float(ends[0]), as_float(ends[1]))
        axes.set_ylim(*_error_limits(drawn))
        axes.set_xlabel("input", fontsize=9, color=style.text)
        axes.set_ylabel("relative error", fontsize=9, color=style.text)
        axes.grid(color=style.band, linewidth=0.8)
        what = "Largest relative error in each binade" if wide else "Relative error"
        set_title(axes, style, f"{what}, {mode}", ax is None)
        set_legend(axes, style, 3, ax is None)
        return figure_of(axes)


def _error_limits(drawn: Iterable[tuple[Sequence[float], bool]]) -> tuple[float, float]:
    """Return limits that show every largest error. The way down to exact results, where the error is 0, is cut."""
    tops, bottoms = [], []
    for ys, curve in drawn:
        positive = [y for y in ys if y > 0]
        tops.append(max(positive, default=1.0))
        bottoms.append(tops[-1] / 16 if curve else min(positive, default=1.0))
    return min(bottoms) / 2, max(tops) * 2


def _between(low: Fraction, high: Fraction, parts: int) -> list[Fraction]:
    """Return points that divide a part of a logarithmic axis. Their choice is not a matter of rounding: f64 is good
    enough.
    """
    inner = np.geomspace(as_float(low), as_float(high), parts + 1)[1:-1]
    return [low, *(x for x in map(Fraction, inner.tolist()) if low < x < high), high]


def _parts(low: Fraction, high: Fraction, values: int) -> list[Fraction]:
    """Return the edges of the parts of the axis in which the largest error is shown."""
    if high <= low * (1 << _FEW_BINADES):
        return _between(low, high, min(_PARTS, max(1, values // 4)))
    powers = range(floor_exponent(low) + 1, floor_exponent(high) + 1)
    every = -(-len(powers) // _PARTS)
    return [low, *(p for e in powers if e % every == 0 and low < (p := Fraction(2) ** e) < high), high]


def _error_curve(fmt: FloatFormat, mode: Rounding, low: Fraction, high: Fraction) -> tuple[list[float], list[float]]:
    """Return the error at points so close that straight lines between them show the curve."""
    xs: list[float] = []
    ys: list[float] = []
    for piece in pieces(fmt, mode, low, high):
        points = {*_between(piece.low, piece.high, 24)}
        if piece.value is not None and piece.low < piece.value < piece.high:
            points.add(piece.value)
        for x in sorted(points):
            xs.append(as_float(x))
            ys.append(float("nan") if piece.value is None else float(distance(x, piece.value)))
    return xs, ys


def _error_envelope(fmt: FloatFormat, mode: Rounding, edges: Sequence[Fraction]) -> tuple[list[float], list[float]]:
    """Return the least upper bound of the error between each two ``edges``, as a line that is level there."""
    top = value_at(fmt, fmt.max_magnitude)
    beyond = [
        piece.low
        for piece in pieces(fmt, mode, top, 2 * top)
        if piece.value is None and edges[0] < piece.low < edges[-1]
    ]
    edges = sorted({*edges, *beyond[:1]})
    xs = [as_float(edge) for pair in pairwise(edges) for edge in pair]
    return xs, [y for a, b in pairwise(edges) for y in [largest_error(fmt, mode, a, b)] * 2]
