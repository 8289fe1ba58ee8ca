"""Draw the values of a format on a line, its roundings as staircases, and the relative error of rounding to it."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from halfulp.drawing.figures import (
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
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.neighbours import code_at, floor_exponent, lowest_rank
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.spelling import decimal_text, hex_text
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError
from halfulp.number_reader import MODES, format_of, mode_named
from halfulp.rounding_steps import Piece, count, largest_error, pieces, ranks_between, rounded, value_at
from halfulp.rounding_steps import relative_error as distance

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# --- coordinates ------------------------------------------------------------------------------------------------------
#
# The numbers and modes that callers give, and numbers as text and as coordinates.

Number = int | float | Fraction


def _exactly(number: Number, name: str) -> Fraction:
    if isinstance(number, bool) or not isinstance(number, int | float | Fraction | np.floating | np.integer):
        raise InputError(f"{name} is {number!r}, but must be a number")
    try:
        return Fraction(number if isinstance(number, int | Fraction) else float(number))
    except (ValueError, OverflowError):
        raise InputError(f"{name} is {number}, but must be finite") from None


def window(low: Number, high: Number) -> tuple[Fraction, Fraction]:
    """Return the ends of a window as exact numbers. Raise InputError unless they are finite and ``low`` is less."""
    ends = _exactly(low, "low"), _exactly(high, "high")
    if not ends[0] < ends[1]:
        raise InputError(f"low is {low} and high is {high}, but low must be less than high")
    return ends


def chosen_modes(names: Iterable[str]) -> list[str]:
    """Return the rounding modes, each once. Raise InputError for an unknown one, and for none."""
    chosen = list(dict.fromkeys(mode_named(name) for name in names))
    if not chosen:
        raise InputError("no rounding mode is given")
    return chosen


ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def short_text(number: Fraction, digits: int = 12) -> str:
    """Return the text of a number with at most ``digits`` significant digits; an ellipsis replaces the other digits."""
    context = decimal.Context(digits, decimal.ROUND_DOWN, decimal.MIN_EMIN, decimal.MAX_EMAX, traps=[])
    cut = Fraction(context.divide(decimal.Decimal(number.numerator), decimal.Decimal(number.denominator)))
    mantissa, e, exponent = decimal_text(cut, digits).partition("e")
    return typeset(f"{mantissa}{'' if cut == number else ELLIPSIS}{e}{exponent}")


def typeset(number: str) -> str:
    """Return the text of a number as pictures do: with a minus sign, NaN and infinity."""
    return number.replace("-", "\N{MINUS SIGN}").replace("nan", "NaN").replace("inf", "infinity")


@dataclass(frozen=True)
class Coordinates:
    """Numbers as coordinates: the numbers themselves, or their distances from ``origin`` if different numbers are equal
    in f64.
    """

    origin: Fraction = Fraction(0)

    def __call__(self, x: Fraction) -> float:
        """Return the coordinate of a number. Raise InputError if f64 cannot hold it."""
        try:
            return float(x - self.origin)
        except OverflowError:
            raise InputError(f"{decimal_text(x, 20)} is too large to be drawn: axes are f64") from None

    def label(self, what: str) -> str:
        """Return the label of an axis with these coordinates."""
        return f"{what} \N{MINUS SIGN} {short_text(self.origin, 40)}" if self.origin else what


def coordinates_between(low: Fraction, high: Fraction) -> Coordinates:
    """Choose coordinates for the numbers between two numbers, so that different numbers stay different in f64."""
    near = (high - low) * (1 << 20) < max(abs(low), abs(high))
    return Coordinates(low if near else Fraction(0))


def as_float(x: Fraction) -> float:
    """Return a number as an f64, which is its coordinate if there is no origin. Raise InputError if f64
    cannot hold it.
    """
    return Coordinates()(x)


# --- formats ----------------------------------------------------------------------------------------------------------

MOST_MARKS = 4096
"""The most values that a number line shows."""


def draw_number_line(
    type: str | FloatFormat | ty.Type,
    low: Number | None = None,
    high: Number | None = None,
    *,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Figure:
    """Draw the values of a format as marks on a line, with the binades, and with the special codes below the line.

    It shows all values of a format of up to 8 bits, or those from ``low`` to ``high``; wider formats need both. A line
    over many binades is logarithmic, and linear around zero, where subnormal values are. If a line is very short
    compared with its distance from zero, the axis shows distances from ``low``.

    Raises InputError for a window with no values or more than `MOST_MARKS`.
    """
    format_, style = format_of(type), chosen_style(dark)
    if format_.bits > 8 and (low is None or high is None):
        raise InputError(f"{format_.name} has too many values to show them all: give low and high")
    least, most = value_at(format_, lowest_rank(format_)), value_at(format_, format_.max_magnitude)
    ends = window(*(end if given is None else given for given, end in ((low, least), (high, most))))
    ranks = ranks_between(format_, *ends)
    if not 0 < (total := count(ranks)) <= MOST_MARKS:
        held = f"{total:,} values" if total else "no value"
        raise InputError(
            f"{format_.name} has {held} in this window, but 1 to {MOST_MARKS:,} can be shown: change low and high"
        )
    marks = [_Mark(value_at(format_, rank), code_at(format_, rank), format_) for rank in ranks]
    with drawing():
        axes = new_axes(ax, style, 1.9)
        _draw_line(axes, style, format_, marks, ax is None)
        held = f"all {len(marks)} finite values" if low is None and high is None else f"{len(marks)} values"
        set_title(axes, style, f"{format_.name}: {held}\n{_special_codes(format_)}", ax is None)
        return figure_of(axes)


def _special_codes(fmt: FloatFormat) -> str:
    """List the zeros and the codes that are not finite numbers."""

    def span(first: int, last: int) -> str:
        return hex_text(fmt, first) if first == last else f"{hex_text(fmt, first)}–{hex_text(fmt, last)}"

    signs = range(1 + fmt.signed)
    found = []
    if fmt.zero:
        found.append(f"0: {hex_text(fmt, 0)}")
    if fmt.has_negative_zero:
        found.append(f"\N{MINUS SIGN}0: {hex_text(fmt, scalar.with_sign(fmt, 1, 0))}")
    if fmt.infinity_code is not None:
        codes = [hex_text(fmt, scalar.with_sign(fmt, sign, fmt.infinity_code)) for sign in signs]
        found.append(f"infinity: {', '.join(codes)}")
    if fmt.nan_code is not None:
        nans = [fmt.nan_code] * 2
        if fmt.nan_has_payload:
            first = fmt.max_magnitude + 1 + fmt.infinities
            nans = [fmt.from_magnitude(first), fmt.from_magnitude(fmt.magnitude_mask)]
        with_signs = signs if fmt.nan_has_payload else range(1)
        spans = [span(*(code | (sign and (fmt.sign_mask or 0)) for code in nans)) for sign in with_signs]
        found.append(f"NaN: {', '.join(spans)}")
    if fmt.explicit_integer_bit:
        found.append("as NaN: codes with the wrong integer bit")
    missing = [
        name
        for name, there in (
            ("zero", fmt.zero),
            ("infinity", fmt.infinities),
            ("NaN", fmt.nan_code is not None),
            ("sign", fmt.signed),
        )
        if not there
    ]
    return "; ".join(found + ([f"no {' nor '.join(missing)}"] if missing else []))


@dataclass(frozen=True)
class _Mark:
    value: Fraction
    code: int
    format: FloatFormat

    @property
    def kind(self) -> str:
        x = scalar.unpack(self.format, self.code)
        if not x.significand:
            return "zero"
        if self.format.is_subnormal(self.code):
            return "subnormal"
        return "power of two" if not x.significand & (x.significand - 1) else "normal"


_KINDS: Mapping[str, tuple[float, int]] = {
    "power of two": (0.9, 1),
    "normal": (0.55, 0),
    "subnormal": (0.35, 2),
    "zero": (1, 3),
}
"""The height of each kind of mark, and the index of its colour in the series."""


def _draw_line(ax: Axes, style: Style, fmt: FloatFormat, marks: Sequence[_Mark], own: bool) -> None:
    values = [mark.value for mark in marks]
    magnitudes = [abs(value) for value in values if value]
    wide = bool(magnitudes) and max(magnitudes) > 64 * max(min(magnitudes), value_at(fmt, fmt.min_normal_magnitude))
    at = Coordinates() if wide else coordinates_between(values[0], values[-1])
    if wide:
        _logarithmic(ax, fmt, values)
    _binades(ax, style, fmt, values, at, wide)
    thin = 1.6 if len(marks) <= 128 else 0.9
    for kind, (height, colour) in _KINDS.items():
        of_kind = [at(mark.value) for mark in marks if mark.kind == kind]
        if of_kind:
            ax.vlines(of_kind, 0, height, colors=style.series[colour], linewidth=thin, label=kind)
    margin = (at(values[-1]) - at(values[0])) * 0.02 or 1.0
    if not wide:
        ax.set_xlim(at(values[0]) - margin, at(values[-1]) + margin)
        if len(marks) <= 17 and not at.origin:
            ax.set_xticks([at(value) for value in values], [short_text(value, 6) for value in values])
    ax.set_ylim(0, 1.1)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(at.label("value"), fontsize=9, color=style.text)
    set_legend(ax, style, 4, own)


def _logarithmic(ax: Axes, fmt: FloatFormat, values: Sequence[Fraction]) -> None:
    """Set a scale of powers of two on both sides of zero, linear where values are subnormal."""
    if fmt.zero:
        smallest = min((abs(value) for value in values if value), default=Fraction(1))
        threshold = max(smallest, value_at(fmt, fmt.min_normal_magnitude))
        ax.set_xscale("symlog", base=2, linthresh=as_float(threshold), linscale=1)
    else:
        ax.set_xscale("log", base=2)


_MOST_BANDS = 64  # on each side of zero; more would look like a pattern


def _binades(ax: Axes, style: Style, fmt: FloatFormat, values: Sequence[Fraction], at: Coordinates, wide: bool) -> None:
    """Shade every other binade; on a logarithmic line, name the powers of two where there is room."""
    exponents = range(*_exponents(fmt, values))
    for sign in (1, -1):
        for exponent in exponents if len(exponents) <= _MOST_BANDS else ():
            low, high = sorted((sign * Fraction(2) ** exponent, sign * Fraction(2) ** (exponent + 1)))
            if exponent % 2 == 0 and low <= values[-1] and high >= values[0]:
                ax.axvspan(at(max(low, values[0])), at(min(high, values[-1])), color=style.band, linewidth=0, zorder=0)
    if not wide:
        return
    signs = [sign for sign in (-1, 1) if values[0] < 0 or sign > 0]
    step = max(1, -(-len(exponents) * len(signs) // 8))
    # Leave out those whose names would touch the name of zero.
    named = [exponent for exponent in exponents if exponent % step == 0 and exponent - exponents[0] >= step // 3]
    ticks = {
        sign * Fraction(2) ** e: ("\N{MINUS SIGN}" if sign < 0 else "") + f"$2^{{{e}}}$"
        for sign in signs
        for e in named
    }
    if fmt.zero:
        ticks[Fraction(0)] = "0"
    shown = {value: text for value, text in sorted(ticks.items()) if values[0] <= value <= values[-1]}
    ax.set_xticks([at(value) for value in shown], list(shown.values()))
    ax.minorticks_off()


def _exponents(fmt: FloatFormat, values: Sequence[Fraction]) -> tuple[int, int]:
    """Return the exponents of the binades of normal values, from the first to one after the last."""
    least = value_at(fmt, fmt.min_normal_magnitude)
    normal = [abs(value) for value in values if abs(value) >= least]
    if not normal:
        return 0, 0
    return floor_exponent(min(normal)), floor_exponent(max(normal)) + 1


MOST_STEPS = 1024
"""The largest number of values of a staircase."""


def draw_staircase(
    type: str | FloatFormat | ty.Type,
    low: Number,
    high: Number,
    modes: str | Sequence[str] = tuple(MODES),
    *,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Figure:
    """Draw the results of rounding the inputs from ``low`` to ``high``, in each of ``modes``.

    Each step is exactly at the input at which the result changes. Dots show ties, at which the modes that round to
    nearest differ. The legend says for which inputs the results are not finite.

    Raises InputError for an unknown mode, or a window in which the format has more than `MOST_STEPS` values.
    """
    format_, style = format_of(type), chosen_style(dark)
    names = chosen_modes([modes] if isinstance(modes, str) else modes)
    ends = window(low, high)
    total = count(ranks_between(format_, *ends))
    if total > MOST_STEPS:
        raise InputError(f"{format_.name} has {total:,} values in this window; at most {MOST_STEPS:,} can be shown")
    with drawing():
        axes = new_axes(ax, style, 4.6)
        _draw_steps(axes, style, format_, ends, names)
        set_title(axes, style, f"Rounding to {format_.name}", ax is None)
        set_legend(axes, style, 2, ax is None)
        return figure_of(axes)


def _draw_steps(
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
    """Tell whether labels at these ascending values have room: neighbours are at least a 20th of the whole axis
    apart.
    """
    return all(b - a >= (values[-1] - values[0]) / 20 for a, b in pairwise(values))


def _polyline(steps: Sequence[Piece], at: Callable[[Fraction], float]) -> tuple[list[float], list[float]]:
    """Return the corners of a staircase. Where the result is not a number, the line has a gap."""
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


_PARTS = 480
_FARTHEST = 1 << 500  # matplotlib looks for ticks beyond the ends, so these stay far within f64
_FEW_VALUES, _FEW_BINADES = 32, 12


def draw_relative_error(
    formats: str | FloatFormat | Sequence[str | FloatFormat],
    low: Number = Fraction(1, 1 << 20),
    high: Number = 1 << 20,
    rounding: str = "to_nearest_even",
    *,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Figure:
    """Draw the relative error of rounding the inputs from ``low`` to ``high``, which must be positive.

    Over at most 12 binades, a format with few values shows the error itself; a format with many values shows the
    largest error in each of up to 480 parts of the axis, with about four values in each part. Over more than 12
    binades, all formats show the largest error in each binade. A line ends where results are not finite.

    Raises InputError for an unknown mode, or a window that is not positive or goes beyond 2^-500 or 2^500.
    """
    style = chosen_style(dark)
    several = [formats] if isinstance(formats, str | FloatFormat) else list(formats)
    named = list(dict.fromkeys(format_of(fmt) for fmt in several))
    if not 1 <= len(named) <= len(style.series):
        raise InputError(f"{len(named)} formats are given, but 1 to {len(style.series)} can be drawn")
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
    """Return limits of the axis that show every largest error. They leave out the steep parts of the lines near exact
    results, whose error is 0.
    """
    tops, bottoms = [], []
    for ys, curve in drawn:
        positive = [y for y in ys if y > 0]
        tops.append(max(positive, default=1.0))
        bottoms.append(tops[-1] / 16 if curve else min(positive, default=1.0))
    return min(bottoms) / 2, max(tops) * 2


def _between(low: Fraction, high: Fraction, parts: int) -> list[Fraction]:
    """Return points that divide a part of a logarithmic axis. They need not be exact, so f64 is good enough."""
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
