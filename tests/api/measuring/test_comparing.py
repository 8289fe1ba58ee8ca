"""The picture of hu.compare_formats: what its parts show, and the HTML that follows the theme of a notebook."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

import halfulp as hu
from halfulp.drawing.figures import DARK, LIGHT


def compared(**options: Any) -> Any:
    x = (np.random.default_rng(5).standard_t(4, 4000) * 0.05).astype(np.float32)
    return hu.compare_formats(x, ["f4E2M1FN", "f8E4M3FN", "bf16"], **options)


def test_the_histogram_counts_the_numbers() -> None:
    comparison = compared()
    figure = comparison.plot()
    above = figure.axes[0]
    counts, edges, _ = above.patches[0].get_data()
    magnitudes = np.abs(comparison.numbers)
    low, high = above.get_xlim()
    assert counts.sum() == np.count_nonzero((magnitudes >= low) & (magnitudes <= high))
    assert (edges[0], edges[-1]) == pytest.approx((low, high))
    outside = np.count_nonzero((magnitudes < low) & (magnitudes > 0))
    assert f"left of the picture: {outside:,} smaller" in figure.get_suptitle()


@pytest.mark.parametrize("scale", [1.0, 0.125])
def test_the_marks_are_the_values_of_each_format(scale: float) -> None:
    middle = compared(scale=scale).plot().axes[1]
    low, high = middle.get_xlim()
    marks: dict[int, list[float]] = {}
    for collection in middle.collections:
        if isinstance(collection, LineCollection):
            for (x, base), _ in collection.get_segments():
                marks.setdefault(round(base), []).append(float(x))
    for name, base in (("f4E2M1FN", 2), ("f8E4M3FN", 1)):
        values = hu.convert(hu.all_values(name), "f64").numpy() * scale
        want = sorted(v for v in values.tolist() if low <= v <= high)
        assert sorted(marks[base]) == want
    assert 0 not in marks  # bf16 is a bar
    assert [label.get_text() for label in middle.get_yticklabels()] == ["f4E2M1FN", "f8E4M3FN", "bf16"]


def test_the_errors_are_those_of_each_binade() -> None:
    comparison = compared()
    lines = comparison.plot().axes[2].lines
    for row, line in zip(comparison, lines, strict=True):
        x, y = line.get_data()
        errors = row.report.absolute
        for start, error in zip(x[::3], y[::3], strict=True):
            inside = (np.abs(comparison.numbers) >= start) & (np.abs(comparison.numbers) < 2 * start)
            want = np.sqrt((errors[inside] ** 2).sum() / (comparison.numbers[inside] ** 2).sum())
            # No line where every number of a binade is a value of the format.
            assert error == pytest.approx(want) if want > 2.0 ** -(row.format.mantissa_bits + 8) else np.isnan(error)
        told = f"{row.format.name}: {row.figures.sqnr:.2f} dB, at most {row.figures.max_ulp:.4g} ulp"
        assert str(line.get_label()).startswith(told)


def test_numbers_that_cannot_be_drawn() -> None:
    with pytest.raises(hu.errors.InputError, match="no finite number other than 0"):
        hu.compare_formats([0.0, np.nan], "bf16").plot()
    many = list(hu.float_formats)[:7]
    with pytest.raises(hu.errors.InputError, match="7 formats are compared; 1 to 6 can be told apart"):
        hu.compare_formats([1.0], many).plot()


@pytest.mark.long
@pytest.mark.parametrize("numbers", [[1.0], [5e-324, 1.0], [1.7e308, 1.0], [np.inf, np.nan, 3.0], [1e-300]])
def test_extreme_numbers_are_drawn(numbers: list[float]) -> None:
    assert hu.compare_formats(numbers, ["f8E8M0FNU", "f128", "f4E2M1FN"]).plot()._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


# --- themes -----------------------------------------------------------------------------------------------------------


def html_of(figure: Any) -> str:
    html = figure._repr_html_()
    assert isinstance(html, str)
    return html


def test_a_picture_follows_its_notebook_unless_told() -> None:
    assert "prefers-color-scheme:dark" in html_of(hu.plot.number_line("f4E2M1FN"))
    for dark in (False, True):
        assert hu.plot.number_line("f4E2M1FN", dark=dark)._repr_html_() is None


def test_every_colour_is_a_variable_with_a_light_and_a_dark_value() -> None:
    html = html_of(compared().plot())
    body = html.partition("</style>")[2]
    bare = re.findall(r": ?(#[0-9a-f]{6})", re.sub(r"var\([^)]*\)", "", body))
    assert bare == []
    used = set(re.findall(r"var\(--(hfp\d+),(#[0-9a-f]{6})\)", body))
    light, dark = ([s.background, s.text, s.faint, s.band, *s.series] for s in (LIGHT, DARK))
    for name, colour in used:
        k = int(name.removeprefix("hfp"))
        assert to_hex(light[k]) == colour
        assert f"--{name}:{light[k]};" in html
        assert f"--{name}:{dark[k]};" in html
    assert {"#ffffff", "#1a1a1a", "#0072b2", "#d55e00"} <= {colour for _, colour in used}


def test_pictures_on_one_page_share_no_names() -> None:
    pictures = [html_of(hu.plot.number_line(name)) for name in ("f4E2M1FN", "f6E2M3FN")]
    names = [set(re.findall(r'\bid="([^"]+)"', html)) for html in pictures]
    assert names[0].isdisjoint(names[1])
    for html, known in zip(pictures, names, strict=True):
        assert set(re.findall(r'href="#([^"]+)"', html)) | set(re.findall(r"url\(#([^)]+)\)", html)) <= known
