"""Pictures: what the artists hold is what the specification gives, no text lies on another, files are whole."""

import random
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from fractions import Fraction
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import ml_dtypes
import numpy as np
import pytest
from amounts import amounts, thinned
from command import PATIENCE
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from matplotlib.text import Text
from matplotlib.typing import ColorType
from tables import each_row
from tree import ROOT

import halfulp as hu
from halfulp.command import main as cli
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.number_reader import MODES
from halfulp.plot import MOST_ROWS, quantisation_errors
from halfulp.rounding_steps import largest_error, pieces

SMALL = [name for name, fmt in FORMATS.items() if fmt.bits <= 8]
WIDE = [name for name, fmt in FORMATS.items() if fmt.bits > 8]


def every_value(fmt: FloatFormat) -> list[Fraction]:
    return sorted({value for code in range(1 << fmt.bits) if (value := scalar.value(fmt, code)) is not None})


def overlapping(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts of a figure that touch, and texts that leave it; only what is drawn counts."""
    canvas = FigureCanvasAgg(figure)
    drawn: list[Text] = []
    draw = Text.draw

    def noted(text: Text, *arguments: Any, **keywords: Any) -> None:
        if text.get_visible() and text.get_text():
            drawn.append(text)
        draw(text, *arguments, **keywords)

    with patch.object(Text, "draw", noted):
        canvas.draw()
    boxes = [(text.get_text(), text.get_window_extent(canvas.get_renderer())) for text in drawn]
    edge = figure.bbox.padded(1)
    outside = [
        (text, "the edge")
        for text, box in boxes
        if not (edge.x0 <= box.x0 and box.x1 <= edge.x1 and edge.y0 <= box.y0 and box.y1 <= edge.y1)
    ]
    return outside + [(a, b) for (a, one), (b, other) in combinations(boxes, 2) if one.overlaps(other)]


def marks(figure: Figure) -> dict[str, list[float]]:
    """Return the places of a number line's marks, by their kind."""
    (ax,) = figure.axes
    lines = [artist for artist in ax.collections if isinstance(artist, LineCollection)]
    return {
        str(line.get_label()): [float(np.asarray(path.vertices)[0, 0]) for path in line.get_paths()] for line in lines
    }


# --- number line ------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("name", thinned(SMALL, 4))
def test_number_line_has_every_value(name: str) -> None:
    fmt = FORMATS[name]
    figure = hu.plot.number_line(name)
    found = marks(figure)
    assert sorted(x for places in found.values() for x in places) == [float(value) for value in every_value(fmt)]
    assert {abs(x) for x in found.get("subnormal", [])} == {
        abs(float(value))
        for code in range(1 << fmt.bits)
        if fmt.is_subnormal(code) and (value := scalar.value(fmt, code))
    }
    assert all(np.frexp(x)[0] in (0.5, -0.5) for x in found["power of two"])
    assert overlapping(figure) == []


@pytest.mark.parametrize("name", thinned(WIDE, 3))
def test_number_line_of_a_window(name: str) -> None:
    fmt = FORMATS[name]
    one = scalar.from_fraction(fmt, Fraction(1)).code
    low, high = (scalar.value(fmt, code) for code in (one - 5 if not fmt.explicit_integer_bit else one, one + 20))
    assert low is not None
    assert high is not None
    figure = hu.plot.number_line(name, low, high)
    places = sorted(x for places in marks(figure).values() for x in places)
    assert len(places) == (21 if fmt.explicit_integer_bit else 26)
    # Where f64 cannot tell the values apart, the axis shows distances.
    assert places[-1] - places[0] == float(high - low)
    assert len(set(places)) == len(places)
    assert overlapping(figure) == []


@pytest.mark.long
def test_number_line_names_special_codes() -> None:
    def title(name: str) -> str:
        return hu.plot.number_line(name).get_suptitle().replace("\n", " ")

    assert "0: 0x00; −0: 0x80; infinity: 0x7C, 0xFC; NaN: 0x7D–0x7F, 0xFD–0xFF" in title("f8E5M2")
    assert "0: 0x00; −0: 0x80; NaN: 0x7F, 0xFF; no infinity" in title("f8E4M3FN")
    assert "0: 0x00; NaN: 0x80; no infinity" in title("f8E4M3FNUZ")
    assert "NaN: 0xFF; no zero nor infinity nor sign" in title("f8E8M0FNU")


@each_row(
    (("bf16",), "give low and high"),
    (("f32", 0, 1), "1,065,353,217 values in this window"),
    (("f4E2M1FN", 7, 8), "has no value in this window"),
    (("f4E2M1FN", 2, 1), "low must be less than high"),
    (("f4E2M1FN", 0, float("inf")), "must be finite"),
    (("f4E2M1FN", 0, "1"), "must be a number"),
    (("f128", 10**4000, 2 * 10**4000), "values in this window"),
    (("i32", 0, 1), "float types"),
)
def test_number_line_errors(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(HalfulpError, match=message):
        hu.plot.number_line(*arguments)


# --- staircase --------------------------------------------------------------------------------------------------------


def points(fmt: FloatFormat, rng: random.Random) -> list[Fraction]:
    """Values, ties, points between and beyond, of both signs."""
    if fmt.bits <= 8:
        values = rng.sample(every_value(fmt), min(8, len(every_value(fmt))))
    else:
        codes = (rng.randrange(fmt.max_code) for _ in range(6))
        values = [value for code in codes if (value := scalar.value(fmt, code)) is not None]
    top = scalar.value(fmt, fmt.max_code)
    assert top is not None
    return [*values, top, -top, Fraction(0)]


@pytest.mark.parametrize("name", thinned(FORMATS, 4))
def test_steps_are_the_roundings(name: str) -> None:
    fmt = FORMATS[name]
    rng = random.Random(name)
    for place in points(fmt, rng):
        reach = max(abs(place), Fraction(2) ** fmt.emin) * Fraction(3, 2) ** (2 - min(fmt.mantissa_bits, 8)) / 2
        low, high = place - reach, place + reach * Fraction(rng.randrange(1, 100), 100)
        if fmt.mantissa_bits > 8:
            low, high = place - reach / 2**fmt.mantissa_bits * 64, place + reach / 2**fmt.mantissa_bits * 64
        for mode in MODES.values():
            steps = pieces(fmt, mode, low, high)
            assert (steps[0].low, steps[-1].high) == (low, high)
            for one, other in pairwise(steps):
                assert one.high == other.low
                assert (one.value, one.special) != (other.value, other.special)
            for step in rng.sample(steps, min(4, len(steps))):
                for part in (Fraction(1, 10**12), Fraction(rng.randrange(1, 1000), 1000), 1 - Fraction(1, 10**12)):
                    result = scalar.from_fraction(fmt, step.low + (step.high - step.low) * part, mode)
                    assert scalar.value(fmt, result.code) == step.value


@pytest.mark.long
@each_row(
    ("f4E2M1FN", -7, 7), ("f8E4M3FN", 380, 480), ("f8E5M2", 40000, 70000), ("f8E5M2", -70000, 70000),
    ("f8E8M0FNU", -1, 9), ("bf16", 1, 1.05), ("f8E4M3FNUZ", -0.01, 0.01), ("f64", 1, 1 + 2**-49), every=3,
)  # fmt: skip
def test_staircase_is_what_convert_gives(name: str, low: float, high: float) -> None:
    figure = hu.plot.staircase(name, low, high, dark=name == "bf16")
    assert overlapping(figure) == []
    lines = {str(line.get_label()).split(" (")[0]: line for line in figure.axes[0].lines}
    rng = np.random.default_rng(7)
    inputs = rng.uniform(low, high, 200)
    origin = low if name == "f64" else 0
    for mode in MODES:
        xs, ys = (np.asarray(data) for data in lines[mode].get_data())
        # Corners come in pairs, the ends of a step; the input lies strictly inside one.
        found = np.searchsorted(xs, inputs - origin)
        inside = (xs[found - 1] < inputs - origin) & (inputs - origin < xs[np.minimum(found, len(xs) - 1)])
        converted = hu.convert(hu.convert(inputs, to=name, rounding=mode), to="f64").numpy() - origin
        expected = np.where(np.isfinite(converted), converted, np.nan)
        np.testing.assert_array_equal(ys[found][inside], expected[inside])
        assert inside.sum() > 190 or name == "f64"


def test_staircase_says_where_results_are_no_numbers() -> None:
    figure = hu.plot.staircase("f8E4M3FN", 440, 480)
    labels = {text.get_text() for text in figure.legends[0].get_texts()}
    assert "to_nearest_even (NaN above 464)" in labels
    assert "upward (NaN above 448)" in labels
    assert "downward" in labels
    figure = hu.plot.staircase("f8E5M2", -70000, -50000, "upward")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["not rounded", "upward"]
    figure = hu.plot.staircase("f8E5M2", -70000, -50000, "downward")
    assert figure.legends[0].get_texts()[1].get_text() == "downward (−infinity below −57344)"


def test_dots_show_ties() -> None:
    figure = hu.plot.staircase("f4E2M1FN", 0.1, 5.5, ["to_nearest_even", "to_nearest_away"])
    even, away = (line for line in figure.axes[0].lines if line.get_marker() == "o")
    ties = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0]
    assert np.asarray(even.get_xdata()).tolist() == np.asarray(away.get_xdata()).tolist() == ties
    assert np.asarray(even.get_ydata()).tolist() == [0, 1, 1, 2, 2, 4, 4]
    assert np.asarray(away.get_ydata()).tolist() == [0.5, 1, 1.5, 2, 3, 4, 6]


@each_row(
    (("f32", 0, 1), "1,065,353,217 values in this window; at most 1,024"),
    (("f4E2M1FN", 0, 1, "sideways"), "rounding is 'sideways'"),
    (("f4E2M1FN", 0, 1, ["stochastic"]), "rounding is 'stochastic'"),
    (("f4E2M1FN", 0, 1, []), "no rounding mode"),
)
def test_staircase_errors(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        hu.plot.staircase(*arguments)


# --- relative error ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", thinned(["f4E2M1FN", "f8E4M3FN", "f8E5M2FNUZ", "f8E8M0FNU", "bf16", "f16", "f32", "f64"], 4)
)
@pytest.mark.parametrize("mode", ["to_nearest_even", "upward", "toward_zero"])
def test_the_largest_error_bounds_all_and_is_reached(name: str, mode: str) -> None:
    fmt = FORMATS[name]
    rng = random.Random(name + mode)
    for _ in range(3):
        low = Fraction(rng.randrange(1, 1 << 20), 1 << 19) * Fraction(2) ** rng.randrange(max(fmt.emin, -60) - 3, 3)
        high = low * Fraction(rng.randrange(1 << 10, 1 << 13), 1 << 10) + low / 64
        bound = largest_error(fmt, MODES[mode], low, high)
        seen = []
        for _ in range(150):
            x = low + (high - low) * Fraction(rng.randrange(1, 1 << 60), 1 << 60)
            value = scalar.value(fmt, scalar.from_fraction(fmt, x, MODES[mode]).code)
            assert value is not None
            seen.append(float(abs(value - x) / x))
        assert max(seen) <= bound
        if fmt.bits <= 8:
            reached = max(
                float(abs(step.value - x) / x)
                for step in pieces(fmt, MODES[mode], low, high)
                if step.value is not None
                for x in (step.low, step.high)
            )
            assert bound == reached


@pytest.mark.long
def test_the_envelope_is_half_an_ulp() -> None:
    figure = hu.plot.relative_error(["f8E4M3FN", "bf16", "f8E8M0FNU", "f4E2M1FN"])
    assert overlapping(figure) == []
    for line, precision in zip(figure.axes[0].lines[:3], (4, 8, 1), strict=True):
        xs, ys = (np.asarray(data) for data in line.get_data())
        np.testing.assert_array_equal(ys[::2], ys[1::2])
        normal = np.repeat((xs[::2] >= 2.0**-6) & (xs[1::2] <= 2.0**8), 2)
        # The tie above a power of two: half an ulp off.
        half = Fraction(1, 1 << precision)
        assert set(ys[normal]) == {float(half / (1 + half))}
        assert np.all(np.diff(xs) >= 0)
    xs, ys = (np.asarray(data) for data in figure.axes[0].lines[0].get_data())
    assert ys[0] == 1  # all of it is lost
    assert xs[np.isfinite(ys)].max() == 464  # beyond: NaN


@pytest.mark.long
def test_the_curve_is_the_error() -> None:
    figure = hu.plot.relative_error("f4E2M1FN", 0.3, 10, dark=True)
    assert overlapping(figure) == []
    xs, ys = (np.asarray(data) for data in figure.axes[0].lines[0].get_data())
    values = hu.convert(hu.convert(xs, to="f4E2M1FN"), to="f64").numpy()
    ties = {0.75, 1.25, 1.75, 2.5, 3.5, 5.0}
    away = hu.convert(hu.convert(xs, to="f4E2M1FN", rounding="to_nearest_away"), to="f64").numpy()
    for x, y, even, other in zip(xs, ys, values, away, strict=True):
        assert any(abs(y - abs(value / x - 1)) < 1e-12 for value in ({even, other} if x in ties else {even}))


@each_row(
    (("f16", 0, 1), "must be positive"),
    (("f64", 1e-300, 1), "can show"),
    (("f128", 1, 10**4000), "can show"),
    (([],), "0 formats are given"),
    ((list(FORMATS),), "18 formats are given"),
    (("f16", 1, 2, "sideways"), "rounding is 'sideways'"),
)
def test_relative_error_errors(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        hu.plot.relative_error(*arguments)


# --- quantisation error -----------------------------------------------------------------------------------------------


def test_quantisation_errors_per_channel() -> None:
    rng = np.random.default_rng(3)
    array = rng.normal(0, [[1.0], [3.0], [0.5]], (3, 400)).astype(np.float32)
    array[0, :3] = np.nan, np.inf, -np.inf
    scales, points_ = (0.015625, 0.03125, 0.0078125), (0, -3, 7)
    channels = ",".join(f"{scale}:{point}" for scale, point in zip(scales, points_, strict=True))
    type_ = f"!quant.uniform<i8<-100:100>:f32:0, {{{channels}}}>"
    rows = quantisation_errors(array, type_)
    for k, (row, scale, point) in enumerate(zip(rows, scales, points_, strict=True)):
        # Scales are powers of two, so that every step of the document is exact here.
        lost, errors = 0, []
        for x in array[k].tolist():
            if x != x or abs(x) == float("inf"):
                lost += abs(x) == float("inf")
                continue
            stored = round(Fraction(x) / Fraction(scale)) + point
            if -100 <= stored <= 100:
                errors.append(float((stored - point) * Fraction(scale) - Fraction(x)))
            else:
                lost += 1
        assert row.clamped == lost
        assert row.nan == (3 - 2 if k == 0 else 0)
        assert row.elements == 400
        np.testing.assert_array_equal(row.errors, errors)
    figure = hu.plot.quantisation_error(array, type_, bins=10)
    assert overlapping(figure) == []
    histograms = [step for step in figure.axes[0].patches if isinstance(step, StepPatch)]
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    for k, (histogram, row) in enumerate(zip(histograms, rows, strict=True)):
        heights, edges, base = histogram.get_data()
        counts, _ = np.histogram(row.errors, edges)
        assert counts.sum() == len(row.errors)
        np.testing.assert_allclose(heights - base, 0.8 * counts / counts.max())
        assert f"{row.clamped} of 400 clamped" in labels[k]
    assert ", 1 NaN" in labels[0]


@pytest.mark.long
@each_row(
    (np.float32(0.3), "!quant.uniform<i8:f32, 0.1>", [(1, 0)]),
    (np.array([[0.1, 5]], np.float32), "!quant.uniform<u8:f32, 0.1>", [(2, 0)]),
    (np.array([-1, 256, 255], np.float32), "!quant.uniform<u8:f32, 1.0>", [(3, 2)]),
    (np.array([-3e9, 0.25]), "!quant.uniform<i32:f64, 1.0>", [(2, 1)]),
    (np.array([1, 900], ml_dtypes.bfloat16), "!quant.uniform<i8:bf16, 1.0>", [(2, 1)]),
    (np.array([[1, 2], [3, 500]], np.float32), "!quant.uniform<i8:f32:{0:1, 1:2}, {{1.0}, {2.0}}>", [(4, 1)]),
    (np.zeros((0, 2), np.float32), "!quant.uniform<i8:f32:1, {1.0, 2.0}>", [(0, 0), (0, 0)]),
)
def test_what_is_clamped(array: Any, type_: str, rows: list[tuple[int, int]]) -> None:
    assert [(row.elements, row.clamped) for row in quantisation_errors(array, type_)] == rows
    assert overlapping(hu.plot.quantisation_error(array, type_)) == []


@pytest.mark.long
def test_many_channels() -> None:
    array = np.ones((2, 40), np.float32)
    type_ = f"!quant.uniform<i8:f32:1, {{{','.join(['0.3'] * 40)}}}>"
    figure = hu.plot.quantisation_error(array, type_, dark=True)
    assert len(figure.axes[0].get_yticklabels()) == MOST_ROWS
    assert "16 of 40 channels" in figure.get_suptitle()
    assert overlapping(figure) == []
    figure = hu.plot.quantisation_error(array, type_, channels=[39, 2])
    assert [text.get_text().split(",")[0] for text in figure.axes[0].get_yticklabels()] == ["channel 39", "channel 2"]
    with pytest.raises(InputError, match="no channel 40: the type has 40"):
        hu.plot.quantisation_error(array, type_, channels=[40])
    with pytest.raises(InputError, match="17 channels are chosen"):
        hu.plot.quantisation_error(array, type_, channels=range(17))


@each_row(
    (np.ones(3, np.float32), "f32", "needs a !quant.uniform type"),
    (np.ones(3), "!quant.uniform<i8:f32, 0.1>", "f64"),
    (np.ones(3, np.float32), "!quant.uniform<i8:f32:1, {0.1}>", "axis|dimension|rank"),
)
def test_quantisation_error_errors(array: Any, type_: str, message: str) -> None:
    with pytest.raises(HalfulpError, match=message):
        hu.plot.quantisation_error(array, type_)


# --- one rounding -----------------------------------------------------------------------------------------------------

INPUTS = [
    "0.3", "1/3", "464", "465", "-1e-9", "0x05", "0", "-0.0", "nan", "-inf", "1e30", "7", "0.28125000000001", "2.5",
]  # fmt: skip
INPUTS += ["0.2968750000000001", "100000000000001/100000000000000", "-5/2", "6.25e-5"]


def line_points(figure: Figure) -> dict[str, list[float]]:
    """Return the places of the marks of an explanation's line, by their kind."""
    found: dict[str, list[float]] = {}
    for line in figure.axes[0].lines:
        if not str(line.get_label()).startswith("_"):
            found.setdefault(str(line.get_label()), []).append(float(np.asarray(line.get_xdata())[0]))
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("count", amounts(2, 6))
def test_explanations(name: str, count: int) -> None:
    fmt = FORMATS[name]
    rng = random.Random(name)
    for k, value in enumerate(rng.sample(INPUTS, count)):
        given = "0x1" if value == "0x05" else value
        mode = rng.choice(list(MODES))
        explanation = hu.explain(given, name, rounding=mode, profile=rng.choice(["spec", "ocp-saturate"]))
        figure = hu.plot.explanation(explanation, dark=bool(k % 2))
        assert overlapping(figure) == [], (given, mode)
        texts = [text.get_text() for text in figure.axes[0].texts]
        if fmt.bits <= 32 and explanation.result.code is not None:
            digits = "".join(text for text in texts if text in ("0", "1"))
            assert digits.startswith(f"{explanation.result.code:0{fmt.bits}b}")
        found = line_points(figure)
        assert ("input" in found) == (explanation.exact is not None)
        if explanation.exact is None:
            continue
        below, above = (
            None if code is None else scalar.value(fmt, code) for code in (explanation.below, explanation.above)
        )
        if explanation.midpoint is not None and below is not None and above is not None:
            ends = sorted(found.get("result", []) + found["neighbour"])
            (middle,), (x,) = found["midpoint"], found["input"]
            assert middle == pytest.approx((ends[0] + ends[1]) / 2)
            part = (explanation.exact - below) / (above - below)
            assert (x - ends[0]) / (ends[1] - ends[0]) == pytest.approx(float(part))
        elif explanation.midpoint is not None:
            assert len(found["absent"]) == 1
        if explanation.result.value == explanation.exact:
            assert found["result"] == found["input"]


def test_an_op_is_explained_by_the_rounding_of_its_result() -> None:
    figure = hu.plot.explanation(hu.explain_op("arith.addf", 1.4, 2.2, type="f8E4M3FN"))
    assert "1.375 + 2.25" in figure.get_suptitle()
    assert overlapping(figure) == []
    with pytest.raises(InputError, match="nothing to draw"):
        hu.plot.explanation(hu.explain_op("arith.cmpf", 1, 2, type="f16", predicate="olt"))
    others: list[Any] = [hu.explain([0.3], "f16"), hu.explain(0.3, "f16", rounding="stochastic")]
    for other in others:
        with pytest.raises(InputError, match="one rounding to one result"):
            hu.plot.explanation(other)


# --- documentation ----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_the_documented_pictures_are_made_as_documented(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "plots.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    shown = set(re.findall(r"\(pictures/(.*?)\)", page))
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/plots.md", "exec"), {})
    assert {path.name for path in tmp_path.iterdir()} == shown
    for name in sorted(shown):
        kept, made = (ET.parse(folder / name).getroot() for folder in (ROOT / "docs" / "pictures", tmp_path))
        creator = ".//{http://creativecommons.org/ns#}Agent/{http://purl.org/dc/elements/1.1/}title"
        if kept.findtext(creator) == made.findtext(creator):
            assert ET.tostring(kept) == ET.tostring(made)
        else:
            # Another matplotlib may draw letters and ticks a little differently, but not of another size.
            assert [kept.get(key) for key in ("width", "height")] == [made.get(key) for key in ("width", "height")]


# --- figures and files ------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_axes_of_ones_own() -> None:
    figure = Figure()
    for k, draw in enumerate(
        (
            lambda ax: hu.plot.number_line("f4E2M1FN", ax=ax),
            lambda ax: hu.plot.staircase("f4E2M1FN", 0, 2, ax=ax),
            lambda ax: hu.plot.relative_error("bf16", ax=ax),
            lambda ax: hu.plot.quantisation_error(np.ones(3, np.float32), "!quant.uniform<i8:f32, 0.3>", ax=ax),
            lambda ax: hu.plot.explanation(hu.explain(0.3, "f8E4M3FN"), ax=ax),
        )
    ):
        ax = figure.add_subplot(3, 2, k + 1)
        assert draw(ax) is figure
        assert ax.get_title(loc="left")
    assert figure.get_suptitle() == ""


def luminance(colour: ColorType) -> float:
    """Relative luminance of a colour (WCAG 2)."""
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot(parts, (0.2126, 0.7152, 0.0722)))


@pytest.mark.parametrize("dark", [False, True])
def test_text_and_lines_stand_out(dark: bool) -> None:
    def contrast(a: ColorType, b: ColorType) -> float:
        low, high = sorted((luminance(a), luminance(b)))
        return (high + 0.05) / (low + 0.05)

    figure = hu.plot.staircase("f4E2M1FN", 0, 2, dark=dark)
    background = figure.get_facecolor()
    for text in (figure.axes[0].xaxis.label, *figure.axes[0].get_xticklabels(), *figure.legends[0].get_texts()):
        assert contrast(text.get_color(), background) > 7
    lines = [line for line in figure.axes[0].lines if line.get_label() in MODES]
    assert (
        len({line.get_color() for line in lines})
        == len({str(line.get_linestyle()) + str(vars(line)["_dash_pattern"]) for line in lines})
        == 5
    )
    for line in lines:
        assert contrast(str(line.get_color()), background) > 2.5


@pytest.mark.parametrize("ending", ["svg", "png", "SVG"])
def test_files_are_the_same_each_time(ending: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{k}.{ending}" for k in range(2)]
    for path in paths:
        hu.plot.save(hu.plot.explanation(hu.explain(0.3, "f8E4M3FN")), path)
    first, second = (path.read_bytes() for path in paths)
    assert first == second
    assert sorted(tmp_path.iterdir()) == paths
    if ending == "png":
        assert first.startswith(b"\x89PNG")
    else:
        assert ET.fromstring(first).tag.endswith("svg")
        assert b"<dc:date>" not in first


@pytest.mark.long
def test_a_link_stays_one(tmp_path: Path) -> None:
    """The target of the link is replaced; a device is written to."""
    figure = hu.plot.number_line("f4E2M1FN")
    (tmp_path / "file.svg").write_text("old")
    (tmp_path / "link.svg").symlink_to("file.svg")
    (tmp_path / "null.svg").symlink_to("/dev/null")
    for name in ("link.svg", "null.svg"):
        hu.plot.save(figure, tmp_path / name)
    assert (tmp_path / "file.svg").read_bytes().startswith(b"<?xml")
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["file.svg", "link.svg", "null.svg"]
    assert (tmp_path / "link.svg").is_symlink()
    assert Path("/dev/null").is_char_device()


def test_notebooks_show_figures() -> None:
    assert hu.plot.number_line("f4E2M1FN")._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


@pytest.mark.long
def test_pyplot_is_left_alone() -> None:
    script = "import sys, halfulp as hu; hu.plot.number_line('f4E2M1FN'); assert 'matplotlib.pyplot' not in sys.modules"
    script += "; assert callable(hu.explain)"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=PATIENCE)


@pytest.mark.long
def test_explain_stays_a_function_whoever_imports_its_module() -> None:
    script = "import halfulp.explanations.rounding, halfulp as hu; print(hu.explain(0.3, 'f8E4M3FN').result.code)"
    done = subprocess.run([sys.executable, "-c", script], check=True, timeout=PATIENCE, capture_output=True, text=True)
    assert done.stdout == "42\n"


@pytest.mark.long
def test_without_matplotlib(tmp_path: Path) -> None:
    blocked = tmp_path / "matplotlib"
    blocked.mkdir()
    (blocked / "__init__.py").write_text("raise ModuleNotFoundError('no matplotlib', name='matplotlib')\n")
    script = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
    call = "import halfulp as hu; hu.plot.number_line('f4E2M1FN')"
    done = subprocess.run(
        [sys.executable, "-c", script + call], check=False, timeout=PATIENCE, capture_output=True, text=True
    )
    message = "pictures need matplotlib: pip install '.[plot]' in the folder with the sources of halfulp"
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: {message}"
    call = "from halfulp.command.main import main; sys.exit(main(['explain', '0.3', 'f8E4M3FN', '--plot', 'out.svg']))"
    done = subprocess.run(
        [sys.executable, "-c", script + call],
        check=False,
        timeout=PATIENCE,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: --plot: {message}\n"
    assert not (tmp_path / "out.svg").exists()


@pytest.mark.long
def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.svg", "b.png"):
        assert cli.main(["explain", "0.3", "f8E4M3FN", "--plot", str(tmp_path / name), "--dark"]) == 0
        assert "0x2A" in capsys.readouterr().out
    expected = tmp_path / "expected.svg"
    hu.plot.save(hu.plot.explanation(hu.explain("0.3", "f8E4M3FN"), dark=True), expected)
    assert (tmp_path / "a.svg").read_bytes() == expected.read_bytes()
    assert cli.main(["explain", "arith.addf", "f8E4M3FN", "1.4", "2.2", "--plot", str(tmp_path / "c.svg")]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("out.pdf", "cannot tell the format of 'out.pdf': a picture's name ends in .svg or .png"),
        ("svg", "cannot tell the format of 'svg': a picture's name ends in .svg or .png"),
        ("nowhere/out.svg", "cannot write 'nowhere/out.svg': No such file or directory"),
    ],
)
def test_command_line_errors(
    file: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["explain", "0.3", "f8E4M3FN", "--plot", file]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == f"error: {message}\n"
    assert list(tmp_path.iterdir()) == []
