"""Draw one rounding: its bits, its rule, and the input among its neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from halfulp.drawing.figures import DPI, Style, chosen_style, drawing, figure_of, new_axes, set_title, wrapped
from halfulp.drawing.formats import ELLIPSIS, short_text, typeset
from halfulp.explanations.records import OpExplanation, RoundingExplanation
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.spelling import bit_fields, hex_text, value_text
from halfulp.interp.ir.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_explanation(
    explained: RoundingExplanation | OpExplanation, *, ax: Axes | None = None, dark: bool | None = None
) -> Figure:
    """Draw a result of `hu.explain`: the bits, the rule, the neighbours, the midpoint and the input.

    For a result of `hu.explain_op`, draw the rounding of the exact result of the op. Raises InputError if it is not
    rounded.
    """
    if not isinstance(explained, RoundingExplanation | OpExplanation):
        raise InputError(
            f"hu.plot.explanation draws one rounding to one result, not {type(explained).__name__}",
            hint="of a table, give one element: table[0]",
        )
    explanation = explained.rounding if isinstance(explained, OpExplanation) else explained
    if explanation is None:
        raise InputError("the result is not rounded to a float type: there is nothing to draw")
    style = chosen_style(dark)
    result, rules = wrapped(_result_text(explanation), 70), wrapped(_rules(explanation), 86)
    result_top = 2 if explanation.result.code is None else _VALUE
    rules_top = result_top + _LINE * (result.count("\n") + 1) + 6
    rules_end = rules_top + _LINE * (rules.count("\n") + 1)
    place = None if explanation.exact is None else _surroundings(explanation)
    line = rules_end + 46
    height = rules_end if place is None else line + 14 + _ROW * (1 + max(label.row for label in place.labels))
    given = explanation.given if len(explanation.given) <= 40 else f"{explanation.given[:40]}{ELLIPSIS}"
    profile = "" if explanation.profile.name == "spec" else f", profile {explanation.profile.name}"
    with drawing():
        axes = new_axes(ax, style, (height + 8) / DPI)
        axes.set_axis_off()
        axes.set_xlim(0, 1)
        axes.set_ylim(height, 0)
        _draw_bits(axes, style, explanation)
        for top, text in ((result_top, result), (rules_top, rules)):
            axes.text(0, top, text, fontsize=9, color=style.text, va="top", linespacing=1.2)
        if place is not None:
            _draw_surroundings(axes, style, place, line)
        set_title(axes, style, f"{given} in {explanation.format.name}, {explanation.rounding}{profile}", ax is None)
        # Text that is wider than expected must not make the rest narrower.
        for artist in axes.texts:
            artist.set_in_layout(False)
        return figure_of(axes)


# Distances from the top, in pixels at the usual width.
_BOXES, _VALUE, _LINE, _ROW = 16, 50, 16, 32
_FIELD_COLOURS = {"sign": 1, "exponent": 0, "integer bit": 3, "significand": 2}
_MOST_BOXES = 32
_CHARACTER = 0.013
"""The width of a digit in a label, as a fraction of the picture's width; letters are narrower."""


def _rules(explanation: RoundingExplanation) -> str:
    return "\n".join(rule for rule in (explanation.rule, explanation.profile_rule) if rule)


def _result_text(explanation: RoundingExplanation) -> str:
    fmt, result = explanation.format, explanation.result
    code, value, error = result.code, result.value, result.error
    if code is None:
        return "poison: no code"
    number = short_text(value, _digits(explanation)) if value else typeset(value_text(fmt, code))
    off = (
        ""
        if error is None
        else f", {'+' if error > 0 else ''}{short_text(error, 8)}\N{NO-BREAK SPACE}ulp\N{NO-BREAK SPACE}off"
        if error
        else ", exact"
    )
    return f"{hex_text(fmt, code)} = {number}{off}"


def _draw_bits(ax: Axes, style: Style, explanation: RoundingExplanation) -> None:
    """Draw the code of the result as boxes, one for each bit, or one for each field if there are too many bits."""
    from matplotlib.patches import Rectangle

    fmt, code = explanation.format, explanation.result.code
    if code is None:
        return
    fields = bit_fields(fmt)
    gap, boxed = 0.025, fmt.bits <= _MOST_BOXES
    # A field of a wide format has room for its name, even if it has few bits.
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


def _digits(explanation: RoundingExplanation) -> int:
    """Return the number of significant digits that tell the numbers around this rounding apart."""
    around = (_value(explanation.format, code) for code in (explanation.below, explanation.above))
    largest = max((abs(value) for value in around if value is not None), default=Fraction(0))
    return max(12, len(str(int(largest / explanation.ulp))) + 3) if explanation.ulp else 12


@dataclass(frozen=True)
class _Label:
    """A point on the line: its place, the text below it, the row of that text, and its kind."""

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
class _Surroundings:
    """The place of an input among its neighbours. ``beyond``: the input is farther away than the end of the line."""

    labels: Sequence[_Label]
    input: _Label
    beyond: bool


def _surroundings(explanation: RoundingExplanation) -> _Surroundings:
    """Return the places of an input and its neighbours from 0 to 1, computed exactly, and rounded at the end."""
    fmt, exact, midpoint, result = explanation.format, explanation.exact, explanation.midpoint, explanation.result
    assert exact is not None
    neighbours = [explanation.below, explanation.above]
    # The code of the result comes first: it may be that of -0. An input that is a value of the format is a point too.
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
        number = short_text(value, digits) if value else typeset(value_text(fmt, code))
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
    return _Surroundings(_in_rows(labels), _Label(at(exact), text, "input"), beyond)


def _value(fmt: FloatFormat, code: int | None) -> Fraction | None:
    return None if code is None else scalar.value(fmt, code)


def _in_rows(labels: Sequence[_Label]) -> list[_Label]:
    """Place labels from left to right, each in the first row in which it touches no other label."""
    ends: list[float] = []
    placed = []
    for label in sorted(labels, key=lambda label: (label.at, label.kind)):
        left = label.middle - label.width / 2
        row = next((k for k, end in enumerate(ends) if end <= left), len(ends))
        ends[row : row + 1] = [label.middle + label.width / 2 + 0.02]
        placed.append(replace(label, row=row))
    return placed


def _draw_surroundings(ax: Axes, style: Style, place: _Surroundings, line: float) -> None:
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
