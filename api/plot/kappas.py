"""Draw the errors of an implementation: the largest one in each binade, and how many there are of each size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from halfulp.conformance.accuracy.report import Accuracy, binade_ends
from halfulp.interp.ir.errors import InputError
from halfulp.plot.figures import chosen_style, drawing, figure_of, new_panels, set_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def accuracy(found: Accuracy, *, dark: bool | None = None) -> Figure:
    """Draw what `hu.accuracy` found: the largest error in ulp in each binade of the argument (IEEE P3109's κ).

    ``found``: a report of `hu.accuracy`. Binades are drawn in the order of their numbers, from the lowest to the
    highest; where no result is a number the line has a gap. A second panel shows the part of the results in each class
    of errors. Both axes of errors are logarithmic; half an ulp is the bound of correctly rounded results.

    Raises InputError if no result is a number.
    """
    binades = found.binades
    worst = [np.nan if each.worst is None else max(each.worst, 2.0**-12) for each in binades]
    if not any(each.worst is not None for each in binades):
        raise InputError(f"{found.title}: no result is a number, so there is no error to draw")
    style = chosen_style(dark)
    fmt = found.question.argument or found.question.result
    with drawing():
        upper, lower = new_panels(style, 4.4, [2, 1], shared=False)
        places = np.arange(len(binades))
        upper.step(places, worst, where="mid", color=style.series[0], linewidth=1.4)
        upper.axhline(0.5, color=style.faint, linewidth=0.8, linestyle="--")
        upper.set_yscale("log", base=2)
        every = max(1, -(-len(binades) // 8))
        ends = [binade_ends(fmt, each) for each in binades[::every]]
        upper.set_xticks(places[::every], [f"{float(low):.2g}" for low, _ in ends])
        upper.set_xlabel(f"{'argument' if found.question.argument else 'result'}, by binade", color=style.text)
        upper.set_ylabel("largest error, ulp", color=style.text)
        upper.grid(color=style.band, linewidth=0.8)
        classes = found.histogram
        counts = [100 * count / max(found.tally.measured, 1) for _, count in classes]
        lower.bar(range(len(classes)), counts, color=style.series[1])
        lower.set_xticks(range(len(classes)), [f"≤ {high:g}" if np.isfinite(high) else "more" for high, _ in classes])
        lower.tick_params(axis="x", labelsize=6)
        lower.set_xlabel("error, ulp", color=style.text)
        lower.set_ylabel("% of results", color=style.text)
        set_title(upper, style, f"{found.title}: {found.wrong:,} wrong, {found.wrong_special:,} special", True)
        return figure_of(upper)
