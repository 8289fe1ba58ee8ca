"""Compare formats on the same numbers: `compare_formats`, its table of errors, and its picture."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from halfulp.drawing.figures import DASHES, Style, chosen_style, drawing, figure_of, new_panels, set_title
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.spelling import fragment, table, table_lines, title
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError
from halfulp.measuring.errors import ErrorReport, Figures, decibels_text, without_nan
from halfulp.measuring.scales import CRITERIA, floats_of, scaled_error, suggest_scale
from halfulp.measuring.spacing import TypeName
from halfulp.number_reader import format_of
from halfulp.rounding_steps import count, ranks_between, value_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class ComparedFormat:
    """One format of a comparison: ``scale``, by which the numbers were divided, and the ``report`` of its errors."""

    scale: float
    report: ErrorReport

    @property
    def format(self) -> FloatFormat:
        """The format."""
        return self.report.format

    @property
    def figures(self) -> Figures:
        """The errors, summed up."""
        return self.report.figures


_LOST = ("saturated", "flushed")
_RARE = ("subnormal", "overflowed", "not_numbers", "nan", "infinite", "poison")
"""The counts that have a column only if one of them is not 0."""


@dataclass(frozen=True, repr=False)
class FormatComparison:
    """The errors of several formats on the same numbers.

    ``rows``: a `ComparedFormat` for each format, in the given order. ``comparison["bf16"]`` is the `ErrorReport` of
    one format.
    """

    numbers: npt.NDArray[np.float64]
    rows: tuple[ComparedFormat, ...]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ComparedFormat]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> ErrorReport:
        for row in self.rows:
            if row.format.name == name:
                return row.report
        names = ", ".join(row.format.name for row in self.rows)
        raise KeyError(f"{name!r} is not compared here; the formats are {names}")

    def table(self) -> list[tuple[str, ...]]:
        """Return the comparison as rows of text, with their heading."""
        scaled = any(row.scale != 1 for row in self.rows)
        rare = [name for name in _RARE if any(getattr(row.figures, name) for row in self.rows)]
        head = ["format", "bits", *(["scale"] if scaled else []), "SQNR", "max ulp", "mean ulp", "mean relative"]
        told: list[tuple[str, ...]] = [(*head, *_LOST, *(name.replace("_", " ") for name in rare))]
        for row in self.rows:
            f = row.figures
            errors = (f"{f.max_ulp:.4g}", f"{f.mean_ulp:.4g}", f"{f.mean_relative:.3g}")
            scale = [f"{row.scale:.6g}"] if scaled else []
            counts = (f"{getattr(f, name):,}" for name in (*_LOST, *rare))
            told.append((row.format.name, str(row.format.bits), *scale, decibels_text(f.sqnr), *errors, *counts))
        return told

    @property
    def heading(self) -> str:
        """A line of text that says what is compared."""
        how = self.rows[0].report.title.partition(", ")[2] if self.rows else ""
        return f"{self.numbers.size:,} elements, {how}"

    def __repr__(self) -> str:
        return "\n".join([self.heading, *table_lines(self.table())])

    def _repr_html_(self) -> str:
        head, *rows = self.table()
        cells = [[escape(cell) for cell in row] for row in rows]
        return fragment(title(self.heading), table(cells, head, named=True))

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON: the name of each format, and its figures as numbers."""
        return {
            row.format.name: {"bits": row.format.bits, "scale": without_nan(row.scale), **row.report.to_dict()}
            for row in self.rows
        }

    def plot(self, *, dark: bool | None = None) -> Figure:
        """Draw a histogram of the numbers, the values of each format, and the error of each format by magnitude."""
        return draw_comparison(self, dark=dark)


@dataclass(frozen=True)
class Binades:
    """The numbers of each binade and their errors in one format.

    ``exponents``: the exponents of the binades with numbers other than 0, in order.
    ``error``: the root of the mean square error relative to that of the numbers, for each of them; NaN if no number was
    measured.
    """

    exponents: npt.NDArray[np.int64]
    error: npt.NDArray[np.float64]


def error_by_binade(numbers: npt.NDArray[np.float64], row: ComparedFormat) -> Binades:
    """Sum up the relative error of a format in each binade of the numbers."""
    flat, errors = numbers.reshape(-1), row.report.absolute.reshape(-1) * row.scale
    kept = np.isfinite(flat) & (flat != 0)
    exponents = np.frexp(flat[kept])[1].astype(np.int64) - 1
    # Relative to the binade, squares neither overflow nor underflow.
    with np.errstate(all="ignore"):
        signal, noise = np.ldexp(flat[kept], -exponents) ** 2, np.ldexp(errors[kept], -exponents) ** 2
    found, place = np.unique(exponents, return_inverse=True)
    measured = np.isfinite(noise)
    sums = [np.bincount(place[measured], part[measured], len(found)) for part in (signal, noise)]
    with np.errstate(all="ignore"):
        return Binades(found, np.sqrt(sums[1] / sums[0]))


def finite_magnitudes(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the magnitudes of the finite numbers other than 0."""
    flat = np.abs(numbers.reshape(-1))
    return flat[np.isfinite(flat) & (flat > 0)]


def compare_formats(
    x: Any, formats: TypeName | Iterable[TypeName], *, scale: float | str = 1.0, **conversion: Any
) -> FormatComparison:
    """Compare float types on the same numbers: SQNR, errors in ulp, saturated and flushed elements.

    ``x``: an array, numbers or a `Value`.
    ``formats``: float types.
    ``scale``: a number by which ``x`` is divided before each rounding; or a criterion of `halfulp.quant.suggest_scale`,
    such as ``"max"``, which then chooses a scale for each format. The other keywords are those of `halfulp.convert`,
    such as ``rounding`` and ``profile``.

    The result is a table with a row for each format. ``comparison["bf16"]`` is the report of one format, as
    `halfulp.error` returns it; ``to_dict()`` returns numbers, and ``plot()`` returns a picture, for which it needs
    matplotlib.

        >>> hu.compare_formats(np.float32([0.1, 0.2, 300]), ["f8E4M3FN", "bf16"])["bf16"].max_ulp
        0.1999969482421875

    Raises InputError for an empty list of formats, a scale that is not positive or an unknown criterion, TypeMismatch
    for numbers that f64 cannot represent, ValueError for poison, and the errors of `halfulp.quant.suggest_scale`.
    """
    several = [formats] if isinstance(formats, str | FloatFormat | ty.Type) else list(formats)
    chosen = list(dict.fromkeys(format_of(fmt) for fmt in several))
    if not chosen:
        raise InputError("compare_formats: no format is given")
    numbers = floats_of(x, "compare_formats")
    if isinstance(scale, str):
        scales = [suggest_scale(numbers, fmt, scale, **conversion).scale for fmt in chosen]
    else:
        if not 0 < scale < math.inf:
            raise InputError(f"scale is {scale!r}, but must be positive and finite, or one of {', '.join(CRITERIA)}")
        scales = [float(scale)] * len(chosen)
    return FormatComparison(
        numbers,
        tuple(
            ComparedFormat(each, scaled_error(numbers, fmt, each, conversion))
            for fmt, each in zip(chosen, scales, strict=True)
        ),
    )


_BINS = 60
_MOST_TICKS = 200
_TOP = 1000  # matplotlib looks for ticks beyond the ends, so these stay within f64
_FEWEST_BINADES, _MOST_BINADES = 8, 120


def draw_comparison(compared: FormatComparison, *, dark: bool | None = None) -> Figure:
    """Draw the result of `halfulp.compare_formats` in three parts, over the magnitudes of the numbers.

    Top: the histogram of the numbers. Middle: the values of each format, times its scale: a mark for each value, or a
    bar if there are too many; the marks of subnormal values are short. Bottom: the error in each binade: the root mean
    square of the errors, divided by the root mean square of the numbers. At 1 the error is as large as the numbers.
    Numbers that became infinity or NaN are not included; the labels have their count.

    Raises InputError if there are more formats than colours, and if there is no finite number other than 0.
    """
    style = chosen_style(dark)
    if not 1 <= len(compared) <= len(style.series):
        raise InputError(f"{len(compared)} formats are compared; 1 to {len(style.series)} can be told apart")
    magnitudes = finite_magnitudes(compared.numbers)
    if not magnitudes.size:
        raise InputError("there is no finite number other than 0 to be drawn")
    low, high = _window(magnitudes)
    with drawing():
        height = 3.9 + 0.38 * len(compared)
        above, middle, below = new_panels(style, height, [1.5, 0.15 + 0.38 * len(compared), 1.9])
        above.set_xscale("log", base=2)
        above.set_xlim(low, high)
        _draw_histogram(above, style, magnitudes, low, high)
        _draw_values(middle, style, compared.rows, low, high)
        _draw_errors(below, style, compared)
        outside = int((magnitudes < low).sum())
        smaller = f"\nleft of the picture: {outside:,} smaller" if outside else ""
        set_title(above, style, f"{compared.heading}{smaller}", own=True)
        return figure_of(above)


def _window(magnitudes: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the ends of the axis: whole binades around the numbers. Numbers close to 0 do not lengthen the axis."""
    top = int(np.frexp(magnitudes.max())[1])
    bottom = int(np.frexp(np.quantile(magnitudes, 1 / 2048, method="lower"))[1]) - 1
    bottom = min(max(bottom, top - _MOST_BINADES), top - _FEWEST_BINADES)
    return 2.0 ** max(bottom, -_TOP), 2.0 ** min(top, _TOP)


def _draw_histogram(ax: Axes, style: Style, magnitudes: npt.NDArray[np.float64], low: float, high: float) -> None:
    counts, edges = np.histogram(np.log2(magnitudes), _BINS, (np.log2(low), np.log2(high)))
    ax.stairs(counts, np.exp2(edges), fill=True, color=style.faint, linewidth=0)
    ax.set_ylabel("numbers", fontsize=9, color=style.text)
    ax.set_ylim(0, max(1, counts.max()) * 1.05)
    ax.locator_params(axis="y", nbins=4)
    ax.tick_params(axis="x", labelbottom=False)


@dataclass(frozen=True)
class _Marks:
    """The values of a format in a window, as marks, or as one bar from the first to the last if there are too many."""

    values: list[float]
    bar: bool


def _marks(fmt: FloatFormat, scale: float, low: float, high: float, first: int, last: int) -> _Marks:
    """Return the positive values with ranks from ``first`` to ``last``, times the scale, in a window."""
    ends = Fraction(low) / Fraction(scale), Fraction(high) / Fraction(scale)
    found = ranks_between(fmt, *ends)
    ranks = range(max(found.start, first), min(found.stop, last + 1))
    bar = count(ranks) > _MOST_TICKS
    chosen: Sequence[int] = [ranks.start, ranks.stop - 1] if bar else ranks
    return _Marks([float(value_at(fmt, rank) * Fraction(scale)) for rank in chosen], bar)


def _draw_values(ax: Axes, style: Style, rows: Sequence[ComparedFormat], low: float, high: float) -> None:
    for k, row in enumerate(rows):
        fmt, base, colour = row.format, len(rows) - 1 - k, style.series[k]
        least = fmt.min_normal_magnitude
        for first, last, height in ((1 if fmt.zero else 0, least - 1, 0.34), (least, fmt.max_magnitude, 0.68)):
            marks = _marks(fmt, row.scale, low, high, first, last)
            if marks.bar:
                start, end = marks.values
                ax.fill_between([start, end], base, base + height, color=colour, linewidth=0, alpha=0.85)
            else:
                width = 1.5 if len(marks.values) <= 80 else 0.8
                ax.vlines(marks.values, base, base + height, colors=colour, linewidth=width)
        ax.axhline(base, color=style.faint, linewidth=0.6)
    ax.set_ylim(-0.1, len(rows))
    ax.set_yticks([len(rows) - 1 - k + 0.34 for k in range(len(rows))], [row.format.name for row in rows])
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelbottom=False)
    ax.spines["left"].set_visible(False)


def _draw_errors(ax: Axes, style: Style, compared: FormatComparison) -> None:
    lowest = 1.0
    for k, row in enumerate(compared.rows):
        found = error_by_binade(compared.numbers, row)
        # Of few numbers, all may be values of the format, but for the rounding of x / scale.
        shown = found.error > 2.0 ** -(row.format.mantissa_bits + 8)
        lowest = min([lowest, *found.error[shown].tolist()])
        # A level in each binade; a gap in a binade without errors, or without numbers.
        edges = np.stack([found.exponents, found.exponents + 1, found.exponents + 1], axis=1)
        xs = np.ldexp(1.0, np.minimum(edges, _TOP))
        ys = np.where(shown, found.error, np.nan)[:, None] * np.array([1, 1, np.nan])
        joined = np.diff(found.exponents, append=0) == 1
        ys[joined, 2] = ys[joined, 1]
        look: dict[str, Any] = {"color": style.series[k], "linestyle": DASHES[k], "linewidth": 2.6 - 0.2 * k}
        ax.plot(xs.reshape(-1), ys.reshape(-1), label=_label(row), **look)
    ax.set_yscale("log", base=2)
    ax.set_ylim(lowest / 2, 2)
    ax.set_ylabel("relative error, rms", fontsize=9, color=style.text)
    ax.set_xlabel("magnitude", fontsize=9, color=style.text)
    ax.grid(color=style.band, linewidth=0.8)
    look = {"fontsize": 8, "frameon": False, "labelcolor": style.text, "handlelength": 4}
    figure_of(ax).legend(loc="outside lower left", ncols=1, **look)


def _label(row: ComparedFormat) -> str:
    """Return the text of a format for the legend: SQNR, largest error, and the counts of lost numbers."""
    f = row.figures
    scale = f", scale {row.scale:.4g}" if row.scale != 1 else ""
    lost = (("saturated", f.saturated), ("overflowed", f.overflowed), ("flushed", f.flushed))
    counted = "".join(f", {number:,} {name}" for name, number in lost if number)
    return f"{row.format.name}{scale}: {decibels_text(f.sqnr)}, at most {f.max_ulp:.4g} ulp{counted}"
