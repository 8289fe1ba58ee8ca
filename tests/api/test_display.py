"""The HTML for notebooks: well-formed, self-contained, and complete without styles and pictures."""

import random
import re
from fractions import Fraction
from html.parser import HTMLParser
from itertools import combinations

import numpy as np
import pytest
from tables import each_row

import halfulp as hu
from halfulp.explanations.applications import keywords_of
from halfulp.explanations.explaining import explain, explain_op
from halfulp.explanations.op import signature_of
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.spelling import CSS, bit_boxes
from halfulp.number_reader import MODES

VOID = {"br"}
CHARACTER = 6.7
"""The width in pixels of a character of the number line's font, 11 px and monospaced (6.6 as rendered)."""


class Checker(HTMLParser):
    """Checks that tags are closed in order; collects the text outside of style and svg, and the svg's labels."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.labels: list[tuple[dict[str, str | None], str]] = []
        self.titles: list[str] = []
        self.label: dict[str, str | None] = {}

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        if "title" in given:
            self.titles.append(given["title"] or "")
        if tag == "text":
            self.label = given

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "svg" in self.open:
            self.labels.append((self.label, data.strip()))
        elif "style" not in self.open:
            self.text.append(data)


def checked(thing: object) -> Checker:
    html = thing._repr_html_()  # type: ignore[attr-defined]
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.open == []
    assert "http" not in html.replace("http://www.w3.org/2000/svg", "")
    assert "<script" not in html
    return checker


def boxes(checker: Checker) -> list[tuple[float, float, float, float, str]]:
    """Left, top, right and bottom of every label of a number line."""
    found = []
    for place, text in checker.labels:
        x, y, width = float(place["x"] or 0), float(place["y"] or 0), CHARACTER * len(text)
        left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[place["text-anchor"] or "start"] * width
        found.append((left, y - 10, left + width, y + 3, text))
    return found


def near(fmt: FloatFormat, rng: random.Random) -> Fraction:
    """Return a number on or close to a value or midpoint of a format, or beyond its ends."""
    value = None
    while value is None:
        value = scalar.value(fmt, rng.getrandbits(fmt.bits))
    scale = abs(value) or Fraction(2) ** fmt.emin
    unit = scale / (1 << fmt.mantissa_bits + 1)
    return value + unit * rng.choice((0, 1, -1, Fraction(1, 1000), Fraction(1, 10**12), Fraction(999, 1000), 2**9))


@pytest.mark.long
@pytest.mark.parametrize("name", FORMATS)
def test_labels_never_touch(name: str) -> None:
    rng = random.Random(name)
    fmt = FORMATS[name]
    largest = scalar.value(fmt, fmt.max_code)
    assert largest is not None
    ends = [
        largest, -largest, largest * 2, -largest * 2, Fraction(0), Fraction(1), Fraction(1, 3),
        Fraction(2) ** fmt.emin / 7,
    ]  # fmt: skip
    for exact in [*ends, *(near(fmt, rng) for _ in range(40))]:
        checker = checked(explain(exact, name, rng.choice(list(MODES))))
        placed = boxes(checker)
        assert len(placed) >= 5
        for left, _, right, bottom, text in placed:
            assert 0 <= left < right <= 600, text
            assert bottom <= 132
        for one, other in combinations(placed, 2):
            apart = one[2] + 3 < other[0] or other[2] + 3 < one[0] or one[3] <= other[1] or other[3] <= one[1]
            assert apart, (exact, one, other)


@pytest.mark.parametrize("value", ["0.3", "464", "465", "nan", "-inf", "-1", "1e-60", "0x7F", "0"])
@pytest.mark.parametrize("name", ["f8E4M3FN", "f4E2M1FN", "f8E8M0FNU", "f128", "f80"])
def test_tables_say_all(value: str, name: str) -> None:
    """The text has every number, also without styles and pictures."""
    if value == "0x7F" and name == "f4E2M1FN":
        return
    explanation = explain(value, name)
    text = " ".join(checked(explanation).text)
    assert explanation.rule in text
    for rows in (explanation.mode_rows() if explanation.modes else [], explanation.profile_rows()[1:]):
        for row in rows if len(rows) > 1 else []:
            for cell in row:
                assert cell in text
    for code in (explanation.below, explanation.above, explanation.result.code):
        assert code is None or f"0x{code:0{-(-FORMATS[name].bits // 4)}X}" in text
    for line in explanation.error_texts():
        assert line in text


def test_the_number_line_shows_where_the_number_lies() -> None:
    """0.3 lies at 0.6 of the way from 0.28125 to 0.3125, which is drawn from 70 to 530, and becomes the latter."""
    html = explain("0.3", "f8E4M3FN")._repr_html_()
    assert 'd="M346.0 24V' in html
    assert '<circle cx="530.0"' in html
    assert [text for _, text in checked(explain("0.3", "f8E4M3FN")).labels] == ["0.28125", "0x29", "0.296875", "midpoint", "0.3125", "0x2A", "0.3"]  # fmt: skip
    assert "<circle" not in explain("465", "f8E4M3FN")._repr_html_()
    assert "<svg" not in explain("nan", "f8E4M3FN")._repr_html_()


def test_a_number_beyond_every_float_is_drawn_at_the_end() -> None:
    for exact in (Fraction(10) ** 5000, -(Fraction(10) ** 5000)):
        html = explain(exact, "f8E4M3FN")._repr_html_()
        assert f'd="M{530 + 46 if exact > 0 else 70 - 46}.0 24V' in html


def test_bit_boxes() -> None:
    html = bit_boxes(FORMATS["f8E4M3FN"], 0x2A)
    assert re.findall(r'class="bit (\w+)">(\d)', html) == [
        ("sign", "0"), *zip(["exponent"] * 4, "0101", strict=True), *zip(["significand"] * 3, "010", strict=True)
    ]  # fmt: skip
    wide = bit_boxes(FORMATS["f80"], 1)
    assert wide.replace(" ", "").count("0" * 62 + "1") == 1
    assert ">i<" in wide


def test_colours_are_okabe_and_ito_s_and_text_has_none() -> None:
    allowed = {"#D55E00", "#0072B2", "#CC79A7", "#009E73", "#E69F00", "#56B4E9", "#2FC79A"}
    assert set(re.findall(r"#[0-9A-F]{6}", CSS)) == allowed  # #2FC79A: the bluish green, lighter for dark pages
    assert not re.search(r"[;{]color:(?!inherit)", CSS)


@pytest.mark.parametrize(
    "arguments",
    [
        ("arith.addf", "f8E4M3FN", 1.4, 2.2),
        ("arith.divf", "f4E2M1FN", 0, 0),
        ("arith.addf", "f4E2M1FN", "nan", 1),
        ("arith.fptosi", "i8", 300),
        ("arith.maximumf", "f32", 1, "nan"),
        ("arith.scaling_truncf", "f8E4M3FN", 1.3, 4),
        ("quant.qcast", "!quant.uniform<i8:f32, 0.5:3>", 1.3),
    ],
)
def test_ops(arguments: tuple[str, ...]) -> None:
    op, type_, *operands = arguments
    explanation = explain_op(op, *operands, **keywords_of(signature_of(op), type_, None))
    text = " ".join(checked(explanation).text)
    assert explanation.title in text
    assert explanation.rule in text
    for name, line in explanation.lines():
        assert name in text
        assert line in text
    assert ("poison" in text) == (explanation.result is None or "poison" in str(explanation))


@pytest.mark.parametrize("name", FORMATS)
def test_formats(name: str) -> None:
    fmt = FORMATS[name]
    text = " ".join(checked(fmt).text)
    assert text.startswith(name)
    assert f"0x{fmt.max_code:0{-(-fmt.bits // 4)}X}" in text
    assert ("all " in text and f"{1 << fmt.bits} values" in text) == (fmt.bits <= 8)
    assert repr(fmt).startswith("FloatFormat(name=")


def test_every_value_of_a_format() -> None:
    rows = re.findall(r"<tr>.*?</tr>", FORMATS["f4E2M1FN"]._repr_html_())
    cells = [re.findall(r'<td class="short">([^<]*)</td>', row) for row in rows[-4:]]
    assert [float(cell) for row in cells for cell in row] == [
        0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6,
    ]  # fmt: skip


def test_a_format_with_a_hostile_name() -> None:
    fmt = FloatFormat("<script>&", 4, 3, 7)
    for thing in (fmt, explain(0.3, fmt)):
        text = "".join(checked(thing).text)
        assert "<script>&" in text


def test_values() -> None:
    value = hu.convert(np.array([[1.25, np.nan, 0.3], [448, -0.0, 1e9]]), to="f4E2M1FN")
    checker = checked(value)
    text = " ".join(checker.text)
    assert text.startswith("tensor<2x3xf4E2M1FN>")
    assert checker.titles == ["NaN is not representable in f4E2M1FN (convert, element [0, 1])"]
    assert value._repr_html_().count('class="poison"') == 1
    for cell in ("0x2", "0x1", "0x7", "0x8", "-0", "0.5", "[1, 0]"):
        assert cell in text
    assert repr(value) == "Value(2x3xf4E2M1FN=[1 poison 0.5][6 -0 6])"


def test_large_values_are_summarised() -> None:
    numbers = np.arange(1_000_000, dtype=np.float32)
    numbers[[7, 8, 9]] = np.nan, np.inf, -3
    html = hu.Value.from_numpy(numbers.reshape(1000, 1000))._repr_html_()
    assert len(html) < 6000
    for words in ("1,000,000", "-3 <code>0xC0400000</code> at [0, 9]", "999999 <code>0x497423F0</code> at [999, 999]"):
        assert words in html
    assert '<tr><th>NaN</th><td class="short">1</td></tr><tr><th>infinite</th><td class="short">1</td></tr>' in html


@each_row(
    hu.Value.from_bits(5, "f80"),
    hu.Value.from_bits(np.zeros(0, np.uint8), "tensor<0xi8>"),
    hu.Value.from_bits(0, "i0"),
    hu.Value.from_bits(1 << 100, "i128"),
    hu.Value.from_bits(np.zeros((100, 2), np.uint64), "tensor<100xf128>"),
    hu.Value.from_bits(np.zeros((100, 2), np.uint64), "tensor<100xi128>"),
    hu.eval("quant.qcast", hu.Value.from_numpy(np.ones(3, np.float32)), to="tensor<3x!quant.uniform<i8:f32, 0.5>>"),
    hu.Value.from_numpy(np.array([True, False])),
)
def test_values_of_every_kind(value: hu.Value) -> None:
    assert str(value.type) in " ".join(checked(value).text)
