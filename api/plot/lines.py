"""Draw the values of a format as marks on a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from halfulp.explanations.given import format_of
from halfulp.explanations.rounding_steps import count, ranks_between, value_at
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.spelling import hex_text
from halfulp.fp_formats.steps import code_at, floor_exponent, lowest_rank
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError
from halfulp.plot.coordinates import Coordinates, Number, as_float, coordinates_between, short_text, window
from halfulp.plot.figures import Style, chosen_style, drawing, figure_of, new_axes, set_legend, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_MARKS = 4096
"""The most values of a number line."""


def number_line(
    fmt: str | FloatFormat | ty.Type,
    low: Number | None = None,
    high: Number | None = None,
    *,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Figure:
    """Draw the values of a format as marks on a line, with its binades, and its special codes below.

    It shows all values of a format of up to 8 bits, or those from ``low`` to ``high``; wider formats need both. A line
    over many binades is logarithmic, and linear around zero, where subnormal values are. Where a line is very short
    compared with its distance from zero, the axis shows distances from ``low``.

    Raises InputError for a window with no values or more than `MOST_MARKS`.
    """
    format_, style = format_of(fmt), chosen_style(dark)
    if format_.bits > 8 and (low is None or high is None):
        raise InputError(f"{format_.name} has too many values to show them all: give low and high")
    least, most = value_at(format_, lowest_rank(format_)), value_at(format_, format_.max_magnitude)
    ends = window(*(end if given is None else given for given, end in ((low, least), (high, most))))
    ranks = ranks_between(format_, *ends)
    if not 0 < (total := count(ranks)) <= MOST_MARKS:
        held = f"{total:,} values" if total else "no value"
        raise InputError(f"{format_.name} has {held} in this window; 1 to {MOST_MARKS:,} can be shown")
    marks = [_Mark(value_at(format_, rank), code_at(format_, rank), format_) for rank in ranks]
    with drawing():
        axes = new_axes(ax, style, 1.9)
        _draw_number_line(axes, style, format_, marks, ax is None)
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
"""The height of each kind of mark, and its colour in the series."""


def _draw_number_line(ax: Axes, style: Style, fmt: FloatFormat, marks: Sequence[_Mark], own: bool) -> None:
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
        sign * Fraction(2) ** e: ("\N{MINUS SIGN}" if sign < 0 else "") + _power_text(e)
        for sign in signs
        for e in named
    }
    if fmt.zero:
        ticks[Fraction(0)] = "0"
    shown = {value: text for value, text in sorted(ticks.items()) if values[0] <= value <= values[-1]}
    ax.set_xticks([at(value) for value in shown], list(shown.values()))
    ax.minorticks_off()


def _power_text(exponent: int) -> str:
    return f"$2^{{{exponent}}}$"


def _exponents(fmt: FloatFormat, values: Sequence[Fraction]) -> tuple[int, int]:
    """Return the exponents of the binades of normal values, from the first to one after the last."""
    least = value_at(fmt, fmt.min_normal_magnitude)
    normal = [abs(value) for value in values if abs(value) >= least]
    if not normal:
        return 0, 0
    return floor_exponent(min(normal)), floor_exponent(max(normal)) + 1
