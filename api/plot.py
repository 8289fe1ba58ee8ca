"""Pictures of rounding: number lines, staircases, relative and quantisation errors, one rounding explained.

Each function returns a matplotlib ``Figure`` that no pyplot state knows of, so they work without a display; with
``ax=`` they draw into axes of yours and return their figure. ``dark=True`` is for dark pages. What is drawn comes from
halfulp's own conversions: exact values and the points between them, never from NumPy's casts or from samples.

Needs matplotlib: ``pip install halfulp[plot]``.
"""

from __future__ import annotations

import decimal
import io
import os
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from halfulp.explanations.rounding import MODES, format_of
from halfulp.explanations.rounding_steps import (
    Piece,
    code_at,
    count,
    exponent_of,
    largest_error,
    lowest_rank,
    pieces,
    ranks_between,
    rounded,
    value_at,
)
from halfulp.explanations.rounding_steps import relative_error as distance
from halfulp.files import write_file
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.spelling import bit_fields, decimal_text, hex_text, value_text
from halfulp.interp.ir.errors import InputError, TypeMismatch

__all__ = [
    "explanation",
    "number_line",
    "quantisation_error",
    "quantisation_errors",
    "relative_error",
    "save",
    "staircase",
]

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from halfulp.explanations.op import OpExplanation
    from halfulp.explanations.rounding import Explanation
    from halfulp.interp.ir import types as ty

Number = int | float | Fraction

MOST_MARKS = 4096
"""The most values a number line shows."""
MOST_STEPS = 1024
"""The most values a staircase goes through."""
MOST_ROWS = 16
"""The most channels of one picture."""

WIDTH = 6.0  # inches, at `DPI` the 600 pixels for which text and lines are made
DPI = 100
ENDINGS = ("svg", "png")
_SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "mathtext.fontset": "dejavusans",
    "axes.unicode_minus": True,
    # Letters as shapes, and names that are no random numbers: a file looks the same everywhere, and is the same bytes.
    "svg.fonttype": "path",
    "svg.hashsalt": "halfulp",
}


# --- colours ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Style:
    """Colours of a picture. ``series`` are those of Okabe and Ito that stand out on the background."""

    background: str
    text: str
    faint: str
    band: str
    series: tuple[str, ...]


_BLUE, _VERMILION, _GREEN, _PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
_SKY, _ORANGE, _YELLOW = "#56B4E9", "#E69F00", "#F0E442"
_LIGHT = _Style("#ffffff", "#1a1a1a", "#767676", "#eeeeee", (_BLUE, _VERMILION, _GREEN, "#1a1a1a", _PURPLE, _ORANGE))
_DARK = _Style("#16191d", "#e8e8e8", "#9a9a9a", "#262b31", (_SKY, _ORANGE, _GREEN, "#e8e8e8", _PURPLE, _YELLOW))

# Series differ in dashes too, and in width, so that one that lies on another shows on both sides of it.
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)), (0, (3, 3)), (0, (8, 3)))
_WIDTHS = (4.4, 3.4, 2.6, 1.9, 1.2, 1.2)


@cache
def _figure_class() -> type[Figure]:
    """matplotlib's Figure, which notebooks show even when pyplot was never imported."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        raise ModuleNotFoundError("pictures need matplotlib: pip install halfulp[plot]", name="matplotlib") from None

    class Picture(Figure):
        def _repr_png_(self) -> bytes:
            return _image(self, "png")

    return Picture


def _axes(ax: Axes | None, style: _Style, height: float) -> Axes:
    """The axes to draw in: those given, or those of a new figure of ``height`` inches, in the colours of ``style``."""
    if ax is not None:
        return ax
    figure = _figure_class()(figsize=(WIDTH, height), dpi=DPI, facecolor=style.background, layout="constrained")
    own = figure.add_subplot()
    own.set_facecolor(style.background)
    own.tick_params(colors=style.text, labelsize=8)
    for axis in (own.xaxis, own.yaxis):
        axis.get_offset_text().set(color=style.text, fontsize=8)
    own.xaxis.label.set(color=style.text, fontsize=9)
    own.yaxis.label.set(color=style.text, fontsize=9)
    for side, spine in own.spines.items():
        spine.set_color(style.faint)
        spine.set_visible(side in ("left", "bottom"))
    return own


@contextmanager
def _drawing() -> Iterator[None]:
    """The settings in which all pictures are made: not those of a style that happens to be on."""
    _figure_class()
    import matplotlib

    with matplotlib.rc_context(_SETTINGS):
        yield


def _figure_of(ax: Axes) -> Figure:
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def _wrapped(text: str, width: int) -> str:
    """Text in lines of at most ``width`` characters, its own line ends kept."""
    return "\n".join(textwrap.fill(line, width, break_on_hyphens=False) for line in text.splitlines())


def _title(ax: Axes, style: _Style, text: str, own: bool) -> None:
    """A title over all of a figure of ours, or over axes that were given."""
    lines = _wrapped(text, 73)
    if not own:
        ax.set_title(lines, loc="left", fontsize=9)
        return
    figure = _figure_of(ax)
    figure.set_figheight(figure.get_figheight() + 0.15 * (lines.count("\n") + 1))
    figure.suptitle(lines, x=0.01, ha="left", fontsize=9, color=style.text)


def _legend(ax: Axes, style: _Style, columns: int, own: bool) -> None:
    """A legend below a figure of ours, or inside axes that were given."""
    if not own:
        ax.legend(fontsize=8, handlelength=4)
        return
    # Long names each take a line.
    columns = columns if all(len(str(name)) <= 36 for name in ax.get_legend_handles_labels()[1]) else 1
    look: dict[str, Any] = {"fontsize": 8, "frameon": False, "labelcolor": style.text, "handlelength": 4}
    _figure_of(ax).legend(loc="outside lower left", ncols=columns, **look)


# --- files ------------------------------------------------------------------------------------------------------------


def _image(figure: Figure, ending: str) -> bytes:
    stream = io.BytesIO()
    # No date: the same picture is the same bytes.
    metadata = {"Date": None} if ending == "svg" else None
    with _drawing():
        figure.savefig(stream, format=ending, facecolor=figure.get_facecolor(), metadata=metadata)
    return stream.getvalue()


def ending_of(path: str | os.PathLike[str]) -> str:
    """The format of a picture by the end of its file's name, svg or png. Raises InputError for any other."""
    name = os.fspath(path)
    ending = os.path.splitext(name)[1].removeprefix(".").lower()
    if ending not in ENDINGS:
        raise InputError(f"cannot tell the format of {name!r}: a picture's name ends in .svg or .png")
    return ending


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to ``path``, .svg or .png: the same bytes each time, and the whole file or none.

    Raises InputError for another ending, and when the file cannot be written.
    """
    write_file(path, _image(figure, ending_of(path)))


# --- numbers as text and as coordinates -------------------------------------------------------------------------------


def _exactly(number: Number, name: str) -> Fraction:
    if isinstance(number, bool) or not isinstance(number, int | float | Fraction | np.floating | np.integer):
        raise InputError(f"{name} is {number!r}, but must be a number")
    try:
        return Fraction(number if isinstance(number, int | Fraction) else float(number))
    except (ValueError, OverflowError):
        raise InputError(f"{name} is {number}, but must be finite") from None


def _window(low: Number, high: Number) -> tuple[Fraction, Fraction]:
    ends = _exactly(low, "low"), _exactly(high, "high")
    if not ends[0] < ends[1]:
        raise InputError(f"low is {low} and high is {high}, but low must be less than high")
    return ends


_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def short_text(number: Fraction, digits: int = 12) -> str:
    """A number in at most so many significant digits; what was cut ends in an ellipsis."""
    context = decimal.Context(digits, decimal.ROUND_DOWN, decimal.MIN_EMIN, decimal.MAX_EMAX, traps=[])
    cut = Fraction(context.divide(decimal.Decimal(number.numerator), decimal.Decimal(number.denominator)))
    mantissa, e, exponent = decimal_text(cut, digits).partition("e")
    return _typeset(f"{mantissa}{'' if cut == number else _ELLIPSIS}{e}{exponent}")


def _typeset(number: str) -> str:
    return number.replace("-", "\N{MINUS SIGN}").replace("nan", "NaN").replace("inf", "infinity")


@dataclass(frozen=True)
class _Coordinates:
    """Numbers as coordinates: as they are, or as distances from ``origin`` where f64 would not tell them apart."""

    origin: Fraction = Fraction(0)

    def __call__(self, x: Fraction) -> float:
        try:
            return float(x - self.origin)
        except OverflowError:
            raise InputError(f"{decimal_text(x, 20)} is too large to be drawn: axes are f64") from None

    def label(self, what: str) -> str:
        return f"{what} \N{MINUS SIGN} {short_text(self.origin, 40)}" if self.origin else what


def _coordinates(low: Fraction, high: Fraction) -> _Coordinates:
    near = (high - low) * (1 << 20) < max(abs(low), abs(high))
    return _Coordinates(low if near else Fraction(0))


def _float(x: Fraction) -> float:
    return _Coordinates()(x)


def _power_text(exponent: int) -> str:
    return f"$2^{{{exponent}}}$"


def _special_codes(fmt: FloatFormat) -> str:
    """The codes that are no finite numbers, and the zeros."""

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


# --- number line ------------------------------------------------------------------------------------------------------


def number_line(
    fmt: str | FloatFormat | ty.Type,
    low: Number | None = None,
    high: Number | None = None,
    *,
    ax: Axes | None = None,
    dark: bool = False,
) -> Figure:
    """The values of a format as marks on a line, with its binades, and its special codes below.

    All values of a format of up to 8 bits, or those from ``low`` to ``high``, which wider formats must be given. A line
    that spans many binades is logarithmic, and linear around zero, where subnormal values are. On a line that is very
    short beside its place, the axis shows distances from ``low``.

    Raises InputError for a window with no values or more than `MOST_MARKS`.
    """
    format_, style = format_of(fmt), _DARK if dark else _LIGHT
    if format_.bits > 8 and (low is None or high is None):
        raise InputError(f"{format_.name} has too many values to show them all: give low and high")
    least, most = value_at(format_, lowest_rank(format_)), value_at(format_, format_.max_magnitude)
    ends = _window(*(end if given is None else given for given, end in ((low, least), (high, most))))
    ranks = ranks_between(format_, *ends)
    if not 0 < (total := count(ranks)) <= MOST_MARKS:
        held = f"{total:,} values" if total else "no value"
        raise InputError(f"{format_.name} has {held} in this window; 1 to {MOST_MARKS:,} can be shown")
    marks = [_Mark(value_at(format_, rank), code_at(format_, rank), format_) for rank in ranks]
    with _drawing():
        axes = _axes(ax, style, 1.9)
        _draw_number_line(axes, style, format_, marks, ax is None)
        held = f"all {len(marks)} finite values" if low is None and high is None else f"{len(marks)} values"
        _title(axes, style, f"{format_.name}: {held}\n{_special_codes(format_)}", ax is None)
        return _figure_of(axes)


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
"""How high each kind of mark is, and which colour of the series it has."""


def _draw_number_line(ax: Axes, style: _Style, fmt: FloatFormat, marks: Sequence[_Mark], own: bool) -> None:
    values = [mark.value for mark in marks]
    magnitudes = [abs(value) for value in values if value]
    wide = bool(magnitudes) and max(magnitudes) > 64 * max(min(magnitudes), value_at(fmt, fmt.min_normal_magnitude))
    at = _Coordinates() if wide else _coordinates(values[0], values[-1])
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
    _legend(ax, style, 4, own)


def _logarithmic(ax: Axes, fmt: FloatFormat, values: Sequence[Fraction]) -> None:
    """A scale of powers of two on both sides of zero, linear where values are subnormal."""
    if fmt.zero:
        smallest = min((abs(value) for value in values if value), default=Fraction(1))
        threshold = max(smallest, value_at(fmt, fmt.min_normal_magnitude))
        ax.set_xscale("symlog", base=2, linthresh=_float(threshold), linscale=1)
    else:
        ax.set_xscale("log", base=2)


_MOST_BANDS = 64  # on each side of zero: more are a pattern, not a measure


def _binades(
    ax: Axes, style: _Style, fmt: FloatFormat, values: Sequence[Fraction], at: _Coordinates, wide: bool
) -> None:
    """Every other binade shaded; on a logarithmic line its powers of two named as far as there is room."""
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
    # None so near to zero that its name touches that of zero.
    named = [exponent for exponent in exponents if exponent % step == 0 and exponent - exponents[0] >= step // 3]
    ticks = {
        sign * Fraction(2) ** e: ("\N{MINUS SIGN}" if sign < 0 else "") + _power_text(e)
        for sign in signs
        for e in named
    }
    if fmt.zero:
        ticks[Fraction(0)] = "0"
    shown = {value: text for value, text in sorted(ticks.items()) if values[0] <= value <= values[-1]}
    ax.set_xticks([at(value) for value in shown], list(shown.values()))
    ax.minorticks_off()


def _exponents(fmt: FloatFormat, values: Sequence[Fraction]) -> tuple[int, int]:
    """The exponents of the binades of normal values, from the first to behind the last."""
    least = value_at(fmt, fmt.min_normal_magnitude)
    normal = [abs(value) for value in values if abs(value) >= least]
    if not normal:
        return 0, 0
    return exponent_of(min(normal)), exponent_of(max(normal)) + 1


# --- staircase --------------------------------------------------------------------------------------------------------


def staircase(
    fmt: str | FloatFormat | ty.Type,
    low: Number,
    high: Number,
    modes: str | Sequence[str] = tuple(MODES),
    *,
    ax: Axes | None = None,
    dark: bool = False,
) -> Figure:
    """What inputs from ``low`` to ``high`` are rounded to, in each of ``modes``.

    Steps lie exactly where results change. Dots show ties, where the nearest modes differ. The legend says where
    results are no numbers.

    Raises InputError for an unknown mode, or a window in which the format has more than `MOST_STEPS` values.
    """
    format_, style = format_of(fmt), _DARK if dark else _LIGHT
    names = _modes([modes] if isinstance(modes, str) else modes)
    ends = _window(low, high)
    total = count(ranks_between(format_, *ends))
    if total > MOST_STEPS:
        raise InputError(f"{format_.name} has {total:,} values in this window; at most {MOST_STEPS:,} can be shown")
    with _drawing():
        axes = _axes(ax, style, 4.6)
        _draw_staircase(axes, style, format_, ends, names)
        _title(axes, style, f"Rounding to {format_.name}", ax is None)
        _legend(axes, style, 2, ax is None)
        return _figure_of(axes)


def _modes(names: Iterable[str]) -> list[str]:
    chosen = list(dict.fromkeys(names))
    for name in chosen:
        if name not in MODES:
            raise InputError(f"rounding is {name!r}, but must be one of {', '.join(MODES)}")
    if not chosen:
        raise InputError("no rounding mode is given")
    return chosen


def _draw_staircase(
    ax: Axes, style: _Style, fmt: FloatFormat, ends: tuple[Fraction, Fraction], names: Sequence[str]
) -> None:
    at = _coordinates(*ends)
    ax.plot([at(end) for end in ends], [at(end) for end in ends], color=style.faint, linewidth=0.8, label="not rounded")
    results: set[Fraction] = set()
    for k, name in enumerate(names):
        steps = pieces(fmt, MODES[name], *ends)
        results |= {step.value for step in steps if step.value is not None}
        xs, ys = _polyline(steps, at)
        look: dict[str, Any] = {"color": style.series[k], "linestyle": _DASHES[k], "linewidth": _WIDTHS[k]}
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
    """Whether labels at these values, in ascending order, have room: each at least a 20th of the way from the next."""
    return all(b - a >= (values[-1] - values[0]) / 20 for a, b in pairwise(values))


def _polyline(steps: Sequence[Piece], at: Callable[[Fraction], float]) -> tuple[list[float], list[float]]:
    """The corners of a staircase; what is no number is a gap."""
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
            parts.append(f"{_typeset(step.special)}{'' if whole else beyond}")
    return f" ({', '.join(parts)})" if parts else ""


# --- relative error ---------------------------------------------------------------------------------------------------

_PARTS = 480
_FARTHEST = 1 << 500  # matplotlib looks for ticks beyond the ends, where f64 ends too
_FEW_VALUES, _FEW_BINADES = 32, 12


def relative_error(
    formats: str | FloatFormat | Sequence[str | FloatFormat],
    low: Number = Fraction(1, 1 << 20),
    high: Number = 1 << 20,
    rounding: str = "to_nearest_even",
    *,
    ax: Axes | None = None,
    dark: bool = False,
) -> Figure:
    """How far results are from their inputs, relative to these, for inputs from ``low`` to ``high``, both positive.

    Over at most 12 binades, formats of few values show the error itself, others the largest one in each of up to 480
    parts of the axis, of some four values each; over more binades, all formats show the largest one in each. A line
    ends where results are no numbers.

    Raises InputError for an unknown mode, or a window that is not positive or goes beyond 2^-500 or 2^500.
    """
    style = _DARK if dark else _LIGHT
    several = [formats] if isinstance(formats, str | FloatFormat) else list(formats)
    named = list(dict.fromkeys(format_of(fmt) for fmt in several))
    if not 1 <= len(named) <= len(style.series):
        raise InputError(f"{len(named)} formats are given; 1 to {len(style.series)} can be told apart")
    (mode,) = _modes([rounding])
    ends = _window(low, high)
    if ends[0] <= 0:
        raise InputError(f"low is {low}, but the axis is logarithmic: it must be positive")
    if ends[0] < Fraction(1, _FARTHEST) or ends[1] > _FARTHEST:
        raise InputError("the axis can show 2^-500 to 2^500")
    with _drawing():
        axes = _axes(ax, style, 3.9)
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
            look: dict[str, Any] = {"color": style.series[k], "linestyle": _DASHES[k], "linewidth": 2.6 - 0.2 * k}
            axes.plot(xs, ys, label=f"{fmt.name}{'' if few or wide else ', largest'}", **look)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xlim(_float(ends[0]), _float(ends[1]))
        axes.set_ylim(*_error_limits(drawn))
        axes.set_xlabel("input", fontsize=9, color=style.text)
        axes.set_ylabel("relative error", fontsize=9, color=style.text)
        axes.grid(color=style.band, linewidth=0.8)
        what = "Largest relative error in each binade" if wide else "Relative error"
        _title(axes, style, f"{what}, {mode}", ax is None)
        _legend(axes, style, 3, ax is None)
        return _figure_of(axes)


def _error_limits(drawn: Iterable[tuple[Sequence[float], bool]]) -> tuple[float, float]:
    """Limits that show every largest error; the way down to exact results, where it is 0, is cut."""
    tops, bottoms = [], []
    for ys, curve in drawn:
        positive = [y for y in ys if y > 0]
        tops.append(max(positive, default=1.0))
        bottoms.append(tops[-1] / 16 if curve else min(positive, default=1.0))
    return min(bottoms) / 2, max(tops) * 2


def _between(low: Fraction, high: Fraction, parts: int) -> list[Fraction]:
    """Points that divide a part of a logarithmic axis; which ones is no matter of rounding, so f64 will do."""
    inner = np.geomspace(_float(low), _float(high), parts + 1)[1:-1]
    return [low, *(x for x in map(Fraction, inner.tolist()) if low < x < high), high]


def _parts(low: Fraction, high: Fraction, values: int) -> list[Fraction]:
    """The edges of the parts of the axis in which the largest error is shown."""
    if high <= low * (1 << _FEW_BINADES):
        return _between(low, high, min(_PARTS, max(1, values // 4)))
    powers = range(exponent_of(low) + 1, exponent_of(high) + 1)
    every = -(-len(powers) // _PARTS)
    return [low, *(p for e in powers if e % every == 0 and low < (p := Fraction(2) ** e) < high), high]


def _error_curve(fmt: FloatFormat, mode: Rounding, low: Fraction, high: Fraction) -> tuple[list[float], list[float]]:
    """The error, at points so close that straight lines between them are the curve."""
    xs: list[float] = []
    ys: list[float] = []
    for piece in pieces(fmt, mode, low, high):
        points = {*_between(piece.low, piece.high, 24)}
        if piece.value is not None and piece.low < piece.value < piece.high:
            points.add(piece.value)
        for x in sorted(points):
            xs.append(_float(x))
            ys.append(float("nan") if piece.value is None else float(distance(x, piece.value)))
    return xs, ys


def _error_envelope(fmt: FloatFormat, mode: Rounding, edges: Sequence[Fraction]) -> tuple[list[float], list[float]]:
    """The least upper bound of the error between each two ``edges``, as a line that is level there."""
    top = value_at(fmt, fmt.max_magnitude)
    beyond = [
        piece.low
        for piece in pieces(fmt, mode, top, 2 * top)
        if piece.value is None and edges[0] < piece.low < edges[-1]
    ]
    edges = sorted({*edges, *beyond[:1]})
    xs = [_float(edge) for pair in pairwise(edges) for edge in pair]
    return xs, [y for a, b in pairwise(edges) for y in [largest_error(fmt, mode, a, b)] * 2]


# --- quantisation error -----------------------------------------------------------------------------------------------


def quantisation_error(
    array: Any,
    type: str | ty.Type,
    *,
    channels: Sequence[int] | None = None,
    bins: int = 40,
    ax: Axes | None = None,
    dark: bool = False,
) -> Figure:
    """The errors that quantising an array brings, as one histogram for each layer or channel.

    ``array``: anything `halfulp.eval` takes, of the type that ``type`` expresses. ``type``: a ``!quant.uniform`` type,
    per layer, per channel, or with blocks (all of them in one histogram). ``channels``: which to show; by default the
    first `MOST_ROWS`. ``bins``: of each histogram.

    The error is dcast(qcast(x)) - x. Elements that were clamped to the ends of the storage type have errors of any
    size: they are counted beside their histogram, as are NaNs, and not in it. Each row is scaled to its highest bin.

    Raises TypeMismatch for an array or type that does not fit, InputError for channels that do not exist.
    """
    style = _DARK if dark else _LIGHT
    rows = quantisation_errors(array, type)
    chosen = list(range(min(len(rows), MOST_ROWS))) if channels is None else list(channels)
    for channel in chosen:
        if not 0 <= channel < len(rows):
            raise InputError(f"there is no channel {channel}: the type has {len(rows)}, counted from 0")
    if not 1 <= len(chosen) <= MOST_ROWS:
        raise InputError(f"{len(chosen)} channels are chosen; 1 to {MOST_ROWS} can be shown")
    if bins < 1:
        raise InputError(f"bins is {bins}, but must be positive")
    with _drawing():
        axes = _axes(ax, style, 0.8 + 0.5 * len(chosen))
        _draw_errors(axes, style, [rows[k] for k in chosen], bins)
        more = "" if len(chosen) == len(rows) else f", {len(chosen)} of {len(rows)} channels"
        spelling = str(type) if len(str(type)) <= 240 else f"{str(type)[:240]}{_ELLIPSIS}"
        _title(axes, style, f"Quantisation error{more}\n{spelling}", ax is None)
        return _figure_of(axes)


@dataclass(frozen=True)
class ChannelErrors:
    """What quantising did to one layer or channel.

    ``errors``: of the elements that were neither clamped nor NaN, as f64. ``clamped``: how many were clamped;
    ``nan``: how many had no result; ``elements``: how many there are. ``step``: the scale.
    """

    name: str
    errors: npt.NDArray[np.float64]
    clamped: int
    nan: int
    elements: int
    step: float


def quantisation_errors(array: Any, type: str | ty.Type) -> list[ChannelErrors]:
    """The errors of `quantisation_error`, for each layer or channel.

    Raises TypeMismatch for an array or type that does not fit.
    """
    from halfulp.interp.dialects.quant.ops import quantization
    from halfulp.interp.ir import types as ty
    from halfulp.interp.ir.operations import Operation
    from halfulp.interp.values.value import Value, as_type
    from halfulp.runtime import convert, eval
    from halfulp.semantics.profile import as_profile
    from halfulp.semantics.quant import qcast

    element = ty.element_type(as_type(type))
    if not isinstance(element, ty.UniformQuantizedType):
        raise TypeMismatch(f"quantisation needs a !quant.uniform type, not '{element}'")
    given = array if isinstance(array, Value) else Value.from_numpy(array)
    stored = eval("quant.qcast", given, to=element)
    before, after = (convert(x, to="f64") for x in (given, eval("quant.dcast", stored, to=element.expressed)))
    # The same steps for a storage type so wide that it clamps nothing: its integers are those before clamping.
    wide = replace(
        quantization(Operation("quant.qcast"), stored.type),
        storage_width=64,
        storage_signed=True,
        storage_min=-(1 << 63),
        storage_max=(1 << 63) - 1,
    )
    integers = qcast(wide, as_profile("spec")).array(given.bits).results[0].view(np.int64)
    clamped = (integers < element.storage_min) | (integers > element.storage_max)
    nan = np.broadcast_to(stored.poisoned, stored.shape)
    # Infinities are clamped, and what they bring is not in the histogram.
    with np.errstate(invalid="ignore"):
        errors = after.bits.view(np.float64) - before.bits.view(np.float64)
    if element.axis is None:
        name = "all elements" if element.block_sizes is None else f"{len(element.scales)} blocks"
        groups: list[tuple[str, float, Any]] = [(name, max(element.scales), slice(None))]
        errors, clamped, nan = errors.reshape(-1), clamped.reshape(-1), nan.reshape(-1)
    else:
        groups = [(f"channel {k}", scale, k) for k, scale in enumerate(element.scales)]
        errors = np.moveaxis(errors, element.axis, 0)
        clamped, nan = np.moveaxis(clamped, element.axis, 0), np.moveaxis(nan, element.axis, 0)
    found = []
    for name, step, index in groups:
        lost, kept = clamped[index] & ~nan[index], ~(clamped[index] | nan[index])
        found.append(ChannelErrors(name, errors[index][kept], int(lost.sum()), int(nan[index].sum()), kept.size, step))
    return found


def _draw_errors(ax: Axes, style: _Style, rows: Sequence[ChannelErrors], bins: int) -> None:
    labels = []
    for k, row in enumerate(rows):
        # Half a step either way, and what the roundings of qcast and dcast add to it.
        reach = max(row.step / 2, float(np.abs(row.errors).max(initial=0)))
        counts, edges = np.histogram(row.errors, bins, (-reach, reach))
        base = len(rows) - 1 - k
        ax.stairs(
            base + 0.8 * counts / max(1, counts.max()),
            edges,
            baseline=base,
            fill=True,
            color=style.series[0],
            linewidth=0,
        )
        ax.axhline(base, color=style.faint, linewidth=0.6)
        lost = f"{row.clamped:,} of {row.elements:,} clamped" + (f", {row.nan:,} NaN" if row.nan else "")
        labels.append(f"{row.name}, step {row.step:.6g}\n{lost}")
    ax.set_ylim(-0.1, len(rows))
    ax.set_yticks([len(rows) - 1 - k + 0.3 for k in range(len(rows))], labels)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.axvline(0, color=style.faint, linewidth=0.6)
    ax.locator_params(axis="x", nbins=6)
    ax.set_xlabel("error: dcast(qcast(x)) \N{MINUS SIGN} x", fontsize=9, color=style.text)


# --- one rounding -----------------------------------------------------------------------------------------------------


def explanation(explained: Explanation | OpExplanation, *, ax: Axes | None = None, dark: bool = False) -> Figure:
    """One rounding, as `hu.explain` gives it: its bits, its rule, its neighbours, the midpoint and the input.

    Of an op, as `hu.explain_op` gives it, the rounding of its exact result. Raises InputError where that is not
    rounded.
    """
    from halfulp.explanations.op import OpExplanation

    explanation = explained.rounding if isinstance(explained, OpExplanation) else explained
    if explanation is None:
        raise InputError("the result is not rounded to a float type: there is nothing to draw")
    style = _DARK if dark else _LIGHT
    result, rules = _wrapped(_result_text(explanation), 70), _wrapped(_rules(explanation), 86)
    result_top = 2 if explanation.result.code is None else _VALUE
    rules_top = result_top + _LINE * (result.count("\n") + 1) + 6
    rules_end = rules_top + _LINE * (rules.count("\n") + 1)
    place = None if explanation.exact is None else _place(explanation)
    line = rules_end + 46
    height = rules_end if place is None else line + 14 + _ROW * (1 + max(label.row for label in place.labels))
    given = explanation.given if len(explanation.given) <= 40 else f"{explanation.given[:40]}{_ELLIPSIS}"
    profile = "" if explanation.profile.name == "spec" else f", profile {explanation.profile.name}"
    with _drawing():
        axes = _axes(ax, style, (height + 8) / DPI)
        axes.set_axis_off()
        axes.set_xlim(0, 1)
        axes.set_ylim(height, 0)
        _draw_bits(axes, style, explanation)
        for top, text in ((result_top, result), (rules_top, rules)):
            axes.text(0, top, text, fontsize=9, color=style.text, va="top", linespacing=1.2)
        if place is not None:
            _draw_place(axes, style, place, line)
        _title(axes, style, f"{given} in {explanation.format.name}, {explanation.rounding}{profile}", ax is None)
        # Text that is wider than we reckoned must not make everything else narrow.
        for artist in axes.texts:
            artist.set_in_layout(False)
        return _figure_of(axes)


# Distances from the top, in pixels at the usual width.
_BOXES, _VALUE, _LINE, _ROW = 16, 50, 16, 32
_FIELD_COLOURS = {"sign": 1, "exponent": 0, "integer bit": 3, "significand": 2}
_MOST_BOXES = 32
_CHARACTER = 0.013
"""The width of a digit in a label, as a part of the picture's; letters are narrower."""


def _rules(explanation: Explanation) -> str:
    return "\n".join(rule for rule in (explanation.rule, explanation.profile_rule) if rule)


def _result_text(explanation: Explanation) -> str:
    fmt, result = explanation.format, explanation.result
    code, value, error = result.code, result.value, result.error
    if code is None:
        return "poison: no code"
    number = short_text(value, _digits(explanation)) if value else _typeset(value_text(fmt, code))
    off = (
        ""
        if error is None
        else f", {'+' if error > 0 else ''}{short_text(error, 8)}\N{NO-BREAK SPACE}ulp\N{NO-BREAK SPACE}off"
        if error
        else ", exact"
    )
    return f"{hex_text(fmt, code)} = {number}{off}"


def _draw_bits(ax: Axes, style: _Style, explanation: Explanation) -> None:
    """The result's code as boxes, one per bit, or per field where bits are too many."""
    from matplotlib.patches import Rectangle

    fmt, code = explanation.format, explanation.result.code
    if code is None:
        return
    fields = bit_fields(fmt)
    gap, boxed = 0.025, fmt.bits <= _MOST_BOXES
    # A field of a wide format has room for its name, whatever its share of the bits.
    shares = {name: width if boxed else max(width, fmt.bits / 6) for name, width in fields.items()}
    unit = min(0.05, (1 - gap * (len(fields) - 1)) / sum(shares.values()))
    left, shift = 0.0, fmt.bits
    for name, width in fields.items():
        shift -= width
        bits = code >> shift & ((1 << width) - 1)
        colour = style.series[_FIELD_COLOURS[name]]
        ax.text(left, 6, name, fontsize=8, color=style.text, va="center")
        cells = list(f"{bits:0{width}b}") if boxed else [f"{bits:0{-(-width // 4)}X}"]
        size = unit * shares[name] / len(cells)
        for k, cell in enumerate(cells):
            corner = left + k * size, _BOXES
            ax.add_patch(Rectangle(corner, size, 26, facecolor="none", edgecolor=colour, linewidth=1.6))
            ax.text(corner[0] + size / 2, _BOXES + 13, cell, fontsize=8, color=style.text, ha="center", va="center")
        left += unit * shares[name] + gap


def _digits(explanation: Explanation) -> int:
    """How many significant digits tell the numbers around this rounding from each other."""
    around = (_value(explanation.format, code) for code in (explanation.below, explanation.above))
    largest = max((abs(value) for value in around if value is not None), default=Fraction(0))
    return max(12, len(str(int(largest / explanation.ulp))) + 3) if explanation.ulp else 12


@dataclass(frozen=True)
class _Label:
    """A point of the line: where it lies, what is written below, in which row, and what it is."""

    at: float
    text: str
    kind: str
    row: int = 0

    @property
    def width(self) -> float:
        bold = 1.1 if self.kind == "result" else 1
        return bold * _CHARACTER * max(map(len, self.text.split("\n")))

    @property
    def middle(self) -> float:
        return max(min(self.at, 1 - self.width / 2), self.width / 2)


@dataclass(frozen=True)
class _Place:
    """Where an input lies among its neighbours; ``beyond``: it is further away than the line goes."""

    labels: Sequence[_Label]
    input: _Label
    beyond: bool


def _place(explanation: Explanation) -> _Place:
    """Positions are computed exactly, whatever the format, and become coordinates from 0 to 1 at the end."""
    fmt, exact, midpoint, result = explanation.format, explanation.exact, explanation.midpoint, explanation.result
    assert exact is not None
    neighbours = [explanation.below, explanation.above]
    # The code of the result comes first: it may be that of -0. An input that is a value itself is a point too.
    points_at = {_value(fmt, code) for code in neighbours} | {exact}
    known: dict[Fraction, int] = {}
    for code in (result.code, *neighbours, *(mode.code for mode in explanation.modes.values())):
        value = _value(fmt, code)
        if code is not None and value is not None and value in points_at:
            known.setdefault(value, code)
    points = [*known, *([] if midpoint is None else [midpoint])]
    after = None
    if midpoint is not None and len(known) == 1:
        after = 2 * midpoint - next(iter(known))
        points.append(after)
    low, high = min(points), max(points)
    if low == high:
        reach = explanation.ulp or Fraction(1)
        low, high = low - reach, high + reach
    digits = _digits(explanation)

    def at(x: Fraction) -> float:
        part = (x - low) / (high - low)
        return 0.12 + 0.76 * float(min(max(part, Fraction(-1, 8)), Fraction(9, 8)))

    labels = []
    for value, code in known.items():
        kind = "result" if value == result.value else "neighbour"
        number = short_text(value, digits) if value else _typeset(value_text(fmt, code))
        labels.append(_Label(at(value), f"{hex_text(fmt, code)}\n{number}", kind))
    if midpoint is not None:
        labels.append(_Label(at(midpoint), f"midpoint\n{short_text(midpoint, digits)}", "midpoint"))
    if after is not None:
        labels.append(_Label(at(after), "would be next:\nnot in the format", "absent"))
    text = f"input {short_text(exact, digits)}" if exact else "input 0"
    close = [label for label in labels if label.kind != "absent" and abs(label.at - at(exact)) < 0.02]
    for label, point in zip(labels, [*known, *([] if midpoint is None else [midpoint])], strict=False):
        if label in close and point != exact:
            name = "the midpoint" if label.kind == "midpoint" else label.text.split("\n")[0]
            text += f", {'above' if exact > point else 'below'} {name}"
    beyond = not Fraction(-1, 8) <= (exact - low) / (high - low) <= Fraction(9, 8)
    return _Place(_in_rows(labels), _Label(at(exact), text, "input"), beyond)


def _value(fmt: FloatFormat, code: int | None) -> Fraction | None:
    return None if code is None else scalar.value(fmt, code)


def _in_rows(labels: Sequence[_Label]) -> list[_Label]:
    """Labels from left to right, each in the first row where it touches no other."""
    ends: list[float] = []
    placed = []
    for label in sorted(labels, key=lambda label: (label.at, label.kind)):
        left = label.middle - label.width / 2
        row = next((k for k, end in enumerate(ends) if end <= left), len(ends))
        ends[row : row + 1] = [label.middle + label.width / 2 + 0.02]
        placed.append(replace(label, row=row))
    return placed


def _draw_place(ax: Axes, style: _Style, place: _Place, line: float) -> None:
    ax.plot([0, 1], [line, line], color=style.faint, linewidth=1.2, zorder=1)
    looks: Mapping[str, dict[str, Any]] = {
        "result": {"marker": "o", "markersize": 10, "color": style.series[0]},
        "neighbour": {"marker": "o", "markersize": 10, "color": style.series[0], "markerfacecolor": style.background},
        "midpoint": {"marker": "|", "markersize": 16, "color": style.series[2], "markeredgewidth": 2},
        "absent": {"marker": "o", "markersize": 10, "color": style.faint, "markerfacecolor": style.background},
    }
    for label in place.labels:
        top = line + 14 + _ROW * label.row
        if label.row:
            ax.plot([label.at, label.at], [line + 8, top], color=style.faint, linewidth=0.8)
        ax.plot([label.at], [line], linestyle="none", zorder=2, label=label.kind, **looks[label.kind])
        weight = "bold" if label.kind == "result" else "normal"
        look: dict[str, Any] = {"fontsize": 8, "fontweight": weight, "linespacing": 1.2}
        # The line to a label in a lower row passes behind those above it.
        look["bbox"] = {"facecolor": style.background, "edgecolor": "none", "pad": 1}
        ax.text(label.middle, top, label.text, color=style.text, ha="center", va="top", **look)
    given, colour = place.input, style.series[1]
    if place.beyond:
        marker, y = ("<", line) if given.at < 0.5 else (">", line)
    else:
        marker, y = "v", line - 12
        ax.plot([given.at, given.at], [line - 12, line], color=colour, linewidth=1.4, zorder=3)
    ax.plot([given.at], [y], marker, color=colour, markersize=8, zorder=3, label="input")
    ax.text(given.middle, line - 22, given.text, fontsize=8, color=style.text, ha="center", va="bottom")
