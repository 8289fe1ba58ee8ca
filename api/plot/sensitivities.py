"""Draw which changes of a program matter: the error before and after each of them."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from halfulp.interp.ir.errors import InputError
from halfulp.plot.figures import chosen_style, drawing, figure_of, new_axes, set_legend, set_title
from halfulp.sensitivities.ranking import Ranking, SensitivityRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_DRAWN = 15
"""The most changes that are drawn."""
_LEAST, _LONGEST = 2.0**-10, 44


def sensitivities(found: Ranking, *, ax: Axes | None = None, dark: bool | None = None) -> Figure:
    """Draw what `hu.sensitivity` found: the largest error of a result before and after each change, in ulp, on a
    logarithmic scale. At most 15 changes are drawn, those with the largest effect; an error below 2^-10 ulp is drawn
    there, and an infinite one at the right end, as a triangle.

    Raises InputError if no change has a known error.
    """
    rows = [row for row in found.rows if row.before == row.before and row.after == row.after][:MOST_DRAWN]
    if not rows:
        raise InputError("there is no change with a known error to draw")
    style = chosen_style(dark)
    sizes = [size for row in rows for size in (row.before, row.after) if isfinite(size)]
    top = max([*sizes, 1.0]) * 4
    with drawing():
        axes = new_axes(ax, style, 1.3 + 0.28 * len(rows))
        axes.set_xscale("log", base=2)
        for place, row in enumerate(rows):
            start, end = (_LEAST if size < _LEAST else min(size, top) for size in (row.before, row.after))
            axes.plot([start, end], [place, place], color=style.faint, linewidth=1.2, zorder=1)
            for size, at, colour, name in (
                (row.before, start, style.series[1], "before"),
                (row.after, end, style.series[0], "after"),
            ):
                mark = "o" if isfinite(size) else ">"
                axes.plot([at], [place], mark, color=colour, markersize=6 if name == "before" else 4, label=name)
        axes.set_yticks(range(len(rows)), [_label(row) for row in rows])
        axes.tick_params(axis="y", labelsize=7)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(max(min([*(max(size, _LEAST) for size in sizes), 1.0]) / 2, _LEAST / 2), top * 1.5)
        axes.axvline(0.5, color=style.faint, linewidth=0.8, linestyle="--")
        axes.set_xlabel("largest error of a result, ulp", color=style.text)
        axes.grid(axis="x", color=style.band, linewidth=0.8)
        set_title(axes, style, f"Sensitivity of {found.function}", ax is None)
        handles, names = axes.get_legend_handles_labels()
        once = dict(zip(names, handles, strict=True))
        for handle, name in zip(handles, names, strict=True):
            if once[name] is not handle:
                handle.set_label("_")
        set_legend(axes, style, 2, ax is None)
        return figure_of(axes)


def _label(row: SensitivityRow) -> str:
    line = "" if row.line is None else f"line {row.line}: "
    what = f"{line}{row.source or row.what}"
    short = what if len(what) <= _LONGEST else f"{what[: _LONGEST - 3]}..."
    return f"{short} → {row.to}"
