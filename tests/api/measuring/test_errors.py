"""hu.error: every figure against exact fractions, every class of elements counted, shapes and errors."""

import doctest
import json
import math
import re
from collections import Counter
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

import halfulp as hu
from halfulp.drawing.figures import DARK, LIGHT
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat, codes_to_ints
from halfulp.fp_formats.policy import Rounding
from halfulp.measuring import comparing, errors, scales, spacing

SMALL = [name for name, fmt in FORMATS.items() if fmt.bits <= 8]
MODES = tuple(Rounding)[:5]
COUNTS = ("exact", "saturated", "flushed", "subnormal", "overflowed", "not_numbers", "nan", "infinite", "poison")


def ulp_of(fmt: FloatFormat, number: Fraction) -> Fraction:
    """Return the ulp by its definition: the place of the last digit of the significand in the number's binade."""
    exponent = fmt.emin
    if number and (fmt.signed or number > 0):
        magnitude = abs(number)
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length() + 1
        while Fraction(2) ** exponent > magnitude:
            exponent -= 1
    return Fraction(2) ** (min(max(exponent, fmt.emin), fmt.emax) - fmt.mantissa_bits)


def float_of(number: Fraction) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def root(number: Fraction) -> float:
    """Return the square root, to 60 bits."""
    shift = 60 - (number.numerator.bit_length() - number.denominator.bit_length()) // 2
    return float_of(Fraction(math.isqrt(int(number * Fraction(4) ** shift))) / Fraction(2) ** shift)


def number_of(fmt: FloatFormat, code: int) -> Fraction | float:
    value = scalar.value(fmt, code)
    if value is None:
        sign = -1 if fmt.sign_mask and code & fmt.sign_mask else 1
        return sign * math.inf if fmt.is_infinite(code) else math.nan
    return value


def beyond(fmt: FloatFormat, number: Fraction, mode: Rounding) -> bool:
    """Tell whether rounding with an exponent without limits gives more than the largest value."""
    top = scalar.value(fmt, fmt.max_code)
    assert top is not None
    step, magnitude = ulp_of(fmt, top), abs(number)
    if magnitude <= top:
        return False
    away = mode is (Rounding.DOWNWARD if number < 0 else Rounding.UPWARD)
    if mode in (Rounding.DOWNWARD, Rounding.UPWARD, Rounding.TOWARD_ZERO):
        return away or magnitude >= top + step
    if magnitude - top == step / 2:
        return mode is Rounding.TO_NEAREST_AWAY or (top / step) % 2 == 1
    return magnitude - top > step / 2


def check(
    report: Any, fmt: FloatFormat, exact: list[Any], codes: list[int], poison: list[bool], mode: Rounding
) -> None:
    """Compare a report with errors that are computed as fractions, one element at a time."""
    counted: Counter[str] = Counter()
    want, errors, ulps, relatives = [], [], [], []
    for number, code, poisoned in zip(exact, codes, poison, strict=True):
        result = number_of(fmt, code)
        want.append((math.nan,) * 3)
        if poisoned:
            counted["poison"] += 1
        elif isinstance(number, float):
            counted["nan" if math.isnan(number) else "infinite"] += 1
        elif isinstance(result, float):
            counted["overflowed" if beyond(fmt, number, mode) else "not_numbers"] += 1
        else:
            error = result - number
            ulp = error / ulp_of(fmt, number)
            relative = float_of(error / abs(number)) if number else float(error and math.copysign(math.inf, error))
            want[-1] = (float_of(error), float_of(ulp), relative)
            counted["exact"] += not error
            counted["flushed"] += not result and number != 0
            counted["subnormal"] += fmt.is_subnormal(code)
            counted["saturated"] += abs(result) == scalar.value(fmt, fmt.max_code) and beyond(fmt, number, mode)
            errors.append(error)
            ulps.append(abs(ulp))
            relatives.append(abs(relative))
    columns = [report.absolute, report.ulp]
    for place, column in enumerate(columns):
        np.testing.assert_array_equal(column.reshape(-1), [row[place] for row in want])
    np.testing.assert_allclose(report.relative.reshape(-1), [row[2] for row in want], rtol=2**-51)
    assert {name: getattr(report, name) for name in COUNTS} == {name: counted[name] for name in COUNTS}
    assert report.elements == len(exact)
    assert report.measured == len(errors)
    if not errors:
        assert math.isnan(report.max_ulp)
        assert report.worst_index is None
        return
    assert report.max_ulp == float_of(max(ulps))
    assert abs(report.ulp[report.worst_index]) == report.max_ulp
    # An error beyond the largest f64 is infinite, and so are all figures that it is part of.
    beyond_f64 = report.max_ulp == math.inf
    mean, mean_square = sum(ulps) / len(ulps), sum(x * x for x in ulps) / len(ulps)
    assert report.mean_ulp == pytest.approx(math.inf if beyond_f64 else float_of(mean), rel=1e-11)
    assert report.rms_ulp == pytest.approx(math.inf if beyond_f64 else root(mean_square), rel=1e-11)
    assert report.max_absolute == float_of(max(map(abs, errors)))
    assert report.max_relative == pytest.approx(max(relatives), rel=2**-51)
    kept = [number for number, row in zip(exact, want, strict=True) if not math.isnan(row[0])]
    signal, noise = sum(x * x for x in kept), sum(x * x for x in errors)
    if not noise:
        assert report.sqnr == math.inf or not signal
    elif signal:
        ratio = signal / noise
        decibels = 10 * (math.log10(ratio.numerator) - math.log10(ratio.denominator))
        assert report.sqnr == pytest.approx(decibels, rel=1e-9, abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("target", SMALL)
@pytest.mark.parametrize("source", ["f8E5M2", "f8E8M0FNU"])
def test_every_value_of_a_small_format(source: str, target: str) -> None:
    from_, fmt = FORMATS[source], FORMATS[target]
    x = hu.all_values(source, order="code")
    exact = [number_of(from_, code) for code in range(1 << from_.bits)]
    for mode, profile in (*((mode, "spec") for mode in MODES), (Rounding.TO_NEAREST_EVEN, "ocp-saturate")):
        report = hu.error(x, target, rounding=mode.spelling, profile=profile)
        codes = codes_to_ints(report.result.bits, fmt.bits)
        check(report, fmt, exact, codes, report.result.poisoned.tolist(), mode)


@pytest.mark.parametrize("mode", thinned(MODES, 4))
@pytest.mark.parametrize("target", ["f8E4M3FN", "f4E2M1FN", "f8E5M2"])
def test_around_the_largest_value(target: str, mode: Rounding) -> None:
    fmt = FORMATS[target]
    top = scalar.value(fmt, fmt.max_code)
    assert top is not None
    step = hu.ulp(float(top), target)
    x = np.array([float(top) + k * step / 8 for k in range(-10, 20)])
    x = np.concatenate([x, -x])
    for profile in ("spec", "ocp-saturate"):
        report = hu.error(x, target, rounding=mode.spelling, profile=profile)
        codes = codes_to_ints(report.result.bits, fmt.bits)
        check(report, fmt, [Fraction(v) for v in x.tolist()], codes, [False] * x.size, mode)


@pytest.mark.long
@given(
    st.lists(st.floats(), min_size=1, max_size=40),
    st.sampled_from(["f64", "f32", "bf16", "tf32", "f8E4M3FN", "f8E8M0FNU", "f4E2M1FN"]),
    st.sampled_from(MODES),
)
def test_any_floats(numbers: list[float], target: str, mode: Rounding) -> None:
    fmt = FORMATS[target]
    report = hu.error(np.array(numbers), target, rounding=mode.spelling)
    exact = [Fraction(number) if math.isfinite(number) else number for number in numbers]
    codes = codes_to_ints(report.result.bits, fmt.bits)
    check(report, fmt, exact, codes, report.result.poisoned.tolist(), mode)


@pytest.mark.long
@example([(0.0, 0.0), (7.796251209119992e289, 2.0**50)], "f128")
@given(st.lists(st.tuples(st.floats(), st.floats()), min_size=1, max_size=20), st.sampled_from(["f64", "f128", "f80"]))
def test_a_reference_of_any_floats(pairs: list[tuple[float, float]], target: str) -> None:
    fmt = FORMATS[target]
    x = hu.convert(np.array([x for x, _ in pairs]), target)
    report = hu.error(x, reference=np.array([y for _, y in pairs]))
    exact = [Fraction(y) if math.isfinite(y) else y for _, y in pairs]
    check(report, fmt, exact, codes_to_ints(x.bits, fmt.bits), [False] * len(pairs), Rounding.TO_NEAREST_EVEN)


def test_a_reference_of_fractions() -> None:
    thirds = [Fraction(k, 3) for k in range(1, 40)] + ["1/7", float("nan")]
    x = hu.convert(np.array([k / 3 for k in range(1, 40)] + [1 / 7, 0.0]), "f64")
    report = hu.error(x, reference=thirds)
    exact = [*thirds[:-2], Fraction(1, 7), math.nan]
    check(report, FORMATS["f64"], exact, codes_to_ints(x.bits, 64), [False] * 41, Rounding.TO_NEAREST_EVEN)
    assert report.max_ulp <= 0.5


def test_numbers_beyond_f64() -> None:
    huge = hu.eval("arith.mulf", hu.convert([1e300, -1e300], "f128"), hu.convert([1e300, 1e300], "f128"))
    report = hu.error(huge, "f80")
    exact = [number_of(FORMATS["f128"], code) for code in codes_to_ints(huge.bits, 128)]
    codes = codes_to_ints(report.result.bits, 80)
    check(report, FORMATS["f80"], exact, codes, [False, False], Rounding.TO_NEAREST_EVEN)
    assert hu.error(huge, "f32").overflowed == 2
    assert hu.error(np.array([2**53 + 1, 2**62 + 1]), "f64").ulp.tolist() == [-0.5, -(2.0**-10)]


def test_poison_and_nan_are_apart() -> None:
    x = np.array([[1.3, np.nan], [np.inf, 0.1]])
    report = hu.error(x, "f4E2M1FN")
    assert (report.measured, report.poison, report.infinite) == (2, 1, 1)
    assert np.isnan(report.ulp).tolist() == [[False, True], [True, False]]
    assert report.worst_index == (0, 0)
    assert "1.3 became 1.5" in repr(report)
    other = hu.error(hu.convert(x, "f8E5M2"), reference=hu.convert(x, "f4E2M1FN"))
    assert other.poison == 1


def test_many_elements_are_summed_over_chunks() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(7, 10_001)).astype(np.float32)
    x[5, 17] = np.nan
    x[6, 10_000] = 1e9
    report = hu.error(x, "f8E4M3FN")
    assert (report.nan, report.overflowed, report.measured) == (1, 1, x.size - 2)
    kept = ~np.isnan(report.ulp)
    assert report.mean_ulp == pytest.approx(np.abs(report.ulp[kept]).mean(), rel=1e-11)
    assert report.mean_relative == pytest.approx(np.abs(report.relative[kept]).mean(), rel=1e-11)
    assert report.mean_absolute == pytest.approx(np.abs(report.absolute[kept]).mean(), rel=1e-11)
    exact = x.astype(np.float64)
    sqnr = 10 * np.log10((exact[kept] ** 2).sum() / (report.absolute[kept] ** 2).sum())
    assert report.sqnr == pytest.approx(sqnr, rel=1e-9)
    assert abs(report.ulp[report.worst_index]) == report.max_ulp <= 0.5


@pytest.mark.parametrize("size", [(), (0,), (1,), (2, 0, 3)])
def test_shapes(size: tuple[int, ...]) -> None:
    report = hu.error(np.full(size, 0.3), "bf16")
    assert report.ulp.shape == report.absolute.shape == report.relative.shape == size
    assert report.elements == math.prod(size)
    json.dumps(report.to_dict(), allow_nan=False)
    assert "SQNR" in repr(report)
    assert "<table>" in report._repr_html_()


def test_the_report_names_its_figures() -> None:
    report = hu.error(0.3, "bf16")
    assert {"max_ulp", "sqnr", "ulp", "saturated"} <= set(dir(report))
    assert report.to_dict()["format"] == "bf16"
    assert report.to_dict()["worst"] == []
    assert hu.error(0.5, "bf16").to_dict()["sqnr"] is None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = report.nonsense


def test_inputs_of_every_kind() -> None:
    assert hu.error(Fraction(1, 3), "bf16").max_ulp == hu.error("1/3", "bf16").max_ulp
    assert hu.error([0.3, 1000], "float8_e4m3fn", saturate=True).saturated == 1
    assert hu.error(np.ma.array([0.3, 1.0], mask=[True, False]), "bf16", masked="poison").poison == 1
    assert hu.error(np.array([0.3], ">f8"), "bfloat16", rounding="RNE").figures == hu.error([0.3], "bf16").figures


def test_stochastic_rounding_and_profile_blocks() -> None:
    x = np.array([0.3, 500.0], np.float32)
    random = np.array([0, 2**16 - 1], np.uint16)
    assert hu.error(x, "bf16", rounding="stochastic", random=random).max_ulp < 1
    with hu.profile("ocp-saturate"):
        assert hu.error(x, "f8E4M3FN").saturated == 1
    assert hu.error(x, "f8E4M3FN").overflowed == 1


def test_wrong_questions() -> None:
    x = np.array([1, 2], np.float32)
    with pytest.raises(hu.errors.InputError, match=r"to=.* or reference="):
        hu.error(x)
    with pytest.raises(hu.errors.InputError, match="one of them"):
        hu.error(x, "bf16", reference=x)
    with pytest.raises(hu.errors.InputError, match="nothing is rounded"):
        hu.error(x, reference=x, rounding="downward")
    with pytest.raises(hu.TypeMismatch, match="is not a float type"):
        hu.error(x, "i8")
    with pytest.raises(hu.TypeMismatch, match=r"the reference has shape \(1,\)"):
        hu.error(x, reference=x[:1])
    with pytest.raises(hu.TypeMismatch, match="expected floats"):
        hu.error(np.arange(2), reference=x)
    with pytest.raises(hu.TypeMismatch, match=r"reference, element \[0\]: 'one' is not a number"):
        hu.error(x, reference=["one", "2"])
    with pytest.raises(hu.TypeMismatch, match="are not numbers"):
        hu.error(x, reference=hu.Value.from_bits(np.array([1, 2], np.uint8), "!quant.uniform<i8:f32, 0.5>"))


def test_an_error_below_f64_is_not_exact() -> None:
    report = hu.error([Fraction(1, 10**400), Fraction(1, 10**800), Fraction(0), Fraction(1, 2)], "f64")
    assert (report.exact, report.flushed) == (2, 2)


# --- comparing --------------------------------------------------------------------------------------------------------
#
# The picture of hu.compare_formats: what its parts show, and the HTML that follows the theme of a notebook.


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


@pytest.mark.long
def test_a_picture_follows_its_notebook_unless_told() -> None:
    assert "prefers-color-scheme:dark" in html_of(hu.plot.number_line("f4E2M1FN"))
    for dark in (False, True):
        assert hu.plot.number_line("f4E2M1FN", dark=dark)._repr_html_() is None


@pytest.mark.long
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


@pytest.mark.long
def test_pictures_on_one_page_share_no_names() -> None:
    pictures = [html_of(hu.plot.number_line(name)) for name in ("f4E2M1FN", "f6E2M3FN")]
    names = [set(re.findall(r'\bid="([^"]+)"', html)) for html in pictures]
    assert names[0].isdisjoint(names[1])
    for html, known in zip(pictures, names, strict=True):
        assert set(re.findall(r'href="#([^"]+)"', html)) | set(re.findall(r"url\(#([^)]+)\)", html)) <= known


# --- docstrings -------------------------------------------------------------------------------------------------------
#
# The examples in the docstrings of the questions give what they show.


@pytest.mark.parametrize("module", [comparing, errors, scales, spacing], ids=lambda module: module.__name__)
def test_examples(module: ModuleType) -> None:
    failed, tried = doctest.testmod(module, extraglobs={"hu": hu, "np": np})
    assert (failed, tried > 0) == (0, True)
