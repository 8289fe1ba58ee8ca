"""Draw results over inputs, as a staircase for each rounding mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from halfulp.explanations.given import MODES, format_of
from halfulp.explanations.rounding_steps import Piece, count, pieces, ranks_between, rounded
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError
from halfulp.plot.coordinates import Number, chosen_modes, coordinates_between, short_text, typeset, window
from halfulp.plot.figures import (
    DASHES,
    WIDTHS,
    Style,
    chosen_style,
    drawing,
    figure_of,
    new_axes,
    set_legend,
    set_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_STEPS = 1024
"""The largest number of values of a staircase."""


def staircase(
    fmt: str | FloatFormat | ty.Type,
    low: Number,
    high: Number,
    modes: str | Sequence[str] = tuple(MODES),
    *,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Figure:
    """Draw the results of rounding the inputs from ``low`` to ``high``, in each of ``modes``.

    Steps lie exactly where results change. Dots show ties, where the nearest modes differ. The legend tells where
    results are not numbers.

    Raises InputError for an unknown mode, or a window in which the format has more than `MOST_STEPS` values.
    """
    format_, style = format_of(fmt), chosen_style(dark)
    names = chosen_modes([modes] if isinstance(modes, str) else modes)
    ends = window(low, high)
    total = count(ranks_between(format_, *ends))
    if total > MOST_STEPS:
        raise InputError(f"{format_.name} has {total:,} values in this window; at most {MOST_STEPS:,} can be shown")
    with drawing():
        axes = new_axes(ax, style, 4.6)
        _draw_staircase(axes, style, format_, ends, names)
        set_title(axes, style, f"Rounding to {format_.name}", ax is None)
        set_legend(axes, style, 2, ax is None)
        return figure_of(axes)


def _draw_staircase(
    ax: Axes, style: Style, fmt: FloatFormat, ends: tuple[Fraction, Fraction], names: Sequence[str]
) -> None:
    at = coordinates_between(*ends)
    ax.plot([at(end) for end in ends], [at(end) for end in ends], color=style.faint, linewidth=0.8, label="not rounded")
    results: set[Fraction] = set()
    for k, name in enumerate(names):
        steps = pieces(fmt, MODES[name], *ends)
        results |= {step.value for step in steps if step.value is not None}
        xs, ys = _polyline(steps, at)
        look: dict[str, Any] = {"color": style.series[k], "linestyle": DASHES[k], "linewidth": WIDTHS[k]}
        ax.plot(xs, ys, label=f"{name}{_specials_text(steps, ends)}", **look)
        if MODES[name] in (Rounding.TO_NEAREST_EVEN, Rounding.TO_NEAREST_AWAY) and len(steps) <= 33:
            ties = {step.low: rounded(fmt, step.low, MODES[name])[0] for step in steps[1:]}
            dots = {x: y for x, y in ties.items() if y is not None}
            size = 7 - 0.8 * k
            ax.plot([at(x) for x in dots], [at(y) for y in dots.values()], "o", color=style.series[k], markersize=size)
    ax.set_xlabel(at.label("input"), fontsize=9, color=style.text)
    ax.set_ylabel(at.label("result"), fontsize=9, color=style.text)
    shown = sorted(results)
    if len(shown) <= 17 and not at.origin and _apart(shown):
        ax.set_yticks([at(value) for value in shown], [short_text(value, 8) for value in shown])
        ax.grid(axis="y", color=style.band, linewidth=0.8)
        ax.set_axisbelow(True)


def _apart(values: Sequence[Fraction]) -> bool:
    """Tell whether labels at these values, in ascending order, have room: each at least a 20th of the way from the
    next.
    """
    return all(b - a >= (values[-1] - values[0]) / 20 for a, b in pairwise(values))


def _polyline(steps: Sequence[Piece], at: Callable[[Fraction], float]) -> tuple[list[float], list[float]]:
    """Return the corners of a staircase; a result that is not a number is a gap."""
    xs: list[float] = []
    ys: list[float] = []
    for step in steps:
        xs += [at(step.low), at(step.high)]
        ys += [float("nan") if step.value is None else at(step.value)] * 2
    return xs, ys


def _specials_text(steps: Sequence[Piece], ends: tuple[Fraction, Fraction]) -> str:
    parts = []
    for step in steps:
        if step.value is None:
            whole = (step.low, step.high) == ends
            beyond = (
                f" below {short_text(step.high, 8)}" if step.low == ends[0] else f" above {short_text(step.low, 8)}"
            )
            parts.append(f"{typeset(step.special)}{'' if whole else beyond}")
    return f" ({', '.join(parts)})" if parts else ""
