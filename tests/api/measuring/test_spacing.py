"""ulp, next_up, next_down, neighbours and all_values: shapes, kinds of inputs, poison, and errors."""

import json
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from amounts import thinned
from hypothesis import given
from hypothesis import strategies as st

import halfulp as hu
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.neighbours import ulp_at
from halfulp.measuring.scales import CRITERIA

POISONED = hu.convert(np.array([1, np.nan]), "f4E2M1FN")


def test_ulp_of_numbers() -> None:
    assert hu.ulp(1.0) == 2.0**-52
    assert hu.ulp(1.0, "bf16") == 2.0**-7
    assert hu.ulp(300, "f8E4M3FN") == 32.0
    assert hu.ulp(0, "f8E4M3FN") == 2.0**-9
    assert hu.ulp(-1e30, "f8E4M3FN") == 32.0
    assert isinstance(hu.ulp(1.0), float)
    assert hu.ulp("1/3", "f128") == Fraction(1, 1 << 114)
    assert hu.ulp(Fraction(1, 3), "f32") == hu.ulp(Decimal("0.3"), "f32") == 2.0**-25
    assert hu.ulp(1e-320, "f80") == Fraction(2) ** (math.frexp(1e-320)[1] - 1 - 63)
    assert math.isnan(hu.ulp(float("nan"), "bf16"))
    assert hu.ulp(float("-inf"), "f80") == math.inf
    assert hu.ulp(-3, "f8E8M0FNU") == 2.0**-127


def test_ulp_of_arrays() -> None:
    x = np.array([[1, 2, 3], [np.nan, -np.inf, 0]], np.float32)
    found = hu.ulp(x)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [[2.0**-23, 2.0**-22, 2.0**-22], [np.nan, np.inf, 2.0**-149]])
    assert hu.ulp(hu.convert(x, "bf16"))[0, 0] == 2.0**-7
    assert hu.ulp(x, "f128")[0, 1] == Fraction(1, 1 << 111)
    assert hu.ulp(np.array([1, 256], np.int32), "bf16").tolist() == [2.0**-7, 2.0]
    assert hu.ulp(np.array([], np.float32)).shape == (0,)


@pytest.mark.parametrize("name", FORMATS)
def test_ulp_equals_its_definition(name: str) -> None:
    fmt = FORMATS[name]
    rng = np.random.default_rng(0)
    numbers = np.concatenate(
        [np.ldexp(rng.normal(size=300), rng.integers(-1070, 1020, 300)), [0.0, 5e-324, -5e-324, 2.0**-1022, 1.0, -2.0]]
    )
    want = [ulp_at(fmt, Fraction(number)) for number in numbers.tolist()]
    assert [Fraction(number) for number in hu.ulp(numbers, name).tolist()] == want


@given(st.floats(allow_nan=False))
def test_ulp_as_pythons(number: float) -> None:
    assert hu.ulp(number) == math.ulp(number)


def test_next_values() -> None:
    x = np.array([0.0, -0.0, 1.0, 3.4028235e38, np.inf, -np.inf], np.float32)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(hu.next_up(x).numpy(), np.nextafter(x, np.float32(np.inf)))
        np.testing.assert_array_equal(hu.next_down(x).numpy(), np.nextafter(x, np.float32(-np.inf)))
    assert hu.next_up(448.0, "f8E4M3FN").bits == 0x7F
    assert hu.next_down(-448.0, "f8E4M3FN").bits == 0xFF
    assert hu.next_up(6.0, "f4E2M1FN").numpy() == 6
    assert hu.next_up(ml_dtypes.bfloat16(1)).numpy() == 1.0078125
    assert hu.next_up(hu.convert(1.0, "f80")).bits.tolist() == [(1 << 63) + 1, 0x3FFF]


def test_poison_stays() -> None:
    assert hu.next_up(POISONED).poisoned.tolist() == [False, True]
    assert hu.next_up(POISONED).origin(1) == POISONED.origin(1)
    with pytest.raises(ValueError, match=r"element \[1\] is poison"):
        hu.ulp(POISONED)


@pytest.mark.parametrize("call", [hu.next_up, hu.next_down, hu.ulp])
def test_integers_are_refused(call: Any) -> None:
    with pytest.raises(hu.TypeMismatch, match=r"(?s)expected floats, got .*round them to a float type"):
        call(np.arange(3))


def test_a_type_is_never_changed_in_silence() -> None:
    with pytest.raises(hu.TypeMismatch, match=r"use hu\.convert"):
        hu.next_up(hu.convert(1.0, "bf16"), "f16")


def test_neighbours() -> None:
    found = hu.neighbours(0.3, "f8E4M3FN")
    assert found.below == hu.convert(0.28125, "f8E4M3FN")
    assert found.above == hu.convert(0.3125, "f8E4M3FN")
    assert found.position == (Fraction(0.3) - Fraction(9, 32)) * 32
    assert not found.is_value
    assert repr(found).startswith("<f8E4M3FN: 0.28125 < 0.2999")
    at = hu.neighbours(Fraction(1), "bf16")
    assert at.is_value
    assert at.position == Fraction(1, 3)
    assert hu.neighbours("3/10", "f128").position == Fraction(1, 5)


def test_neighbours_at_the_ends() -> None:
    assert hu.neighbours(1e6, "f8E4M3FN").below == hu.convert(448.0, "f8E4M3FN")
    for number in (448, 1e6):
        found = hu.neighbours(number, "f8E4M3FN")
        assert found.above is None
        assert found.position is None
        assert "nothing" in repr(found)
    for bad in (float("nan"), float("inf")):
        with pytest.raises(hu.errors.InputError, match="not a finite number"):
            hu.neighbours(bad, "bf16")


@pytest.mark.long
@pytest.mark.parametrize("name", thinned([name for name, fmt in FORMATS.items() if fmt.bits <= 16], 4))
def test_all_values(name: str) -> None:
    fmt = FORMATS[name]
    assert hu.all_values(name, order="code").bits.tolist() == list(range(1 << fmt.bits))
    codes = hu.all_values(name).bits.tolist()
    assert sorted(codes) == list(range(1 << fmt.bits))
    numbers = [code for code in codes if not fmt.is_nan(code)]
    assert codes[: len(numbers)] == numbers
    assert codes[len(numbers) :] == sorted(codes[len(numbers) :])
    finite = [value for code in numbers if (value := scalar.value(fmt, code)) is not None]
    assert finite == sorted(finite)
    if fmt.has_negative_zero:
        assert numbers.index(0) == numbers.index(fmt.sign_mask or 0) + 1


def test_all_values_of_wide_formats_are_refused() -> None:
    with pytest.raises(hu.errors.InputError, match=r"f32 has 2\*\*32 codes; all_values takes up to 16 bits"):
        hu.all_values("f32")
    with pytest.raises(hu.errors.InputError, match="must be 'value' or 'code'"):
        hu.all_values("f16", order="size")


# --- scales -----------------------------------------------------------------------------------------------------------
#
# hu.quant.suggest_scale and hu.compare_formats: scales against exact fractions and a search by hand, tables, errors.

TARGETS = ("f4E2M1FN", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "bf16")


def weights(count: int = 4000) -> Any:
    return (np.random.default_rng(5).standard_t(4, count) * 0.05).astype(np.float32)


def largest(name: str) -> Fraction:
    value = scalar.value(FORMATS[name], FORMATS[name].max_code)
    assert value is not None
    return value


@given(st.floats(1e-250, 1e250), st.sampled_from(TARGETS))
def test_max_is_the_smallest_scale_that_fits(amax: float, target: str) -> None:
    scale = hu.quant.suggest_scale([amax, -amax / 3, 0.0], target).scale
    assert Fraction(amax) / Fraction(scale) <= largest(target) < Fraction(amax) / Fraction(math.nextafter(scale, 0))
    power = hu.quant.suggest_scale([amax, -amax / 3], target, "max_power_of_two").scale
    assert math.frexp(power)[0] == 0.5
    assert Fraction(amax) / Fraction(power) <= largest(target) < 2 * Fraction(amax) / Fraction(power)


def sqnr(x: Any, target: str, scale: float, **conversion: Any) -> float:
    """Return the SQNR, computed by NumPy from the values that are rounded."""
    rounded = hu.convert(x.astype(np.float64) / scale, target, **conversion)
    back = hu.convert(rounded, "f64").numpy() * scale
    noise = ((back - x) ** 2).sum()
    return float(10 * np.log10((x.astype(np.float64) ** 2).sum() / noise))


@pytest.mark.long
@pytest.mark.parametrize("target", ["f4E2M1FN", "f6E2M3FN"])
def test_the_search_finds_the_best_scale(target: str) -> None:
    x = weights()
    found = hu.quant.suggest_scale(x, target, "mse")
    assert found.report.sqnr == pytest.approx(sqnr(x, target, found.scale), abs=1e-6)
    first = hu.quant.suggest_scale(x, target).scale
    by_hand = max(sqnr(x, target, first * 2.0 ** (k / 16)) for k in range(-128, 17))
    assert found.report.sqnr >= by_hand - 0.02
    assert found.report.sqnr > sqnr(x, target, first) + (1 if target == "f4E2M1FN" else 0.1)
    powers = [2.0**k for k in range(-30, 10)]
    best = max(sqnr(x, target, power) for power in powers)
    assert hu.quant.suggest_scale(x, target, "mse_power_of_two").report.sqnr == pytest.approx(best, abs=1e-6)
    assert hu.quant.suggest_scale(x, target, "sqnr").scale == found.scale
    assert len(found.tried) == len(dict(found.tried)) <= 52


def test_a_scale_that_loses_numbers_is_not_chosen() -> None:
    x = weights()
    x[0] = 50
    spec = hu.quant.suggest_scale(x, "f8E4M3FN", "mse")
    assert spec.report.measured == x.size
    assert None in dict(spec.tried).values()
    saturating = hu.quant.suggest_scale(x, "f8E4M3FN", "mse", profile="ocp-saturate")
    assert saturating.report.sqnr >= spec.report.sqnr


def test_a_suggestion_tells_everything() -> None:
    found = hu.quant.suggest_scale(np.array([0.1, -7], np.float32), "f8E4M3FN", "max_power_of_two")
    assert float(found) == found.scale == 2.0**-6
    assert found.amax == 7
    assert found.tried == ((2.0**-6, found.report.sqnr),)
    assert "= 2^-6" in repr(found)
    assert "<table>" in found._repr_html_()
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["scale"] == 2.0**-6


@pytest.mark.parametrize("criterion", CRITERIA)
def test_numbers_without_a_scale(criterion: str) -> None:
    cases: list[tuple[Any, str]] = [
        ([], "no numbers"),
        ([0.0, -0.0], "all numbers are 0"),
        ([1.0, math.nan, math.inf], "2 of 3 numbers are NaN or infinite"),
    ]
    for numbers, message in cases:
        with pytest.raises(hu.errors.InputError, match=message):
            hu.quant.suggest_scale(numbers, "f8E4M3FN", criterion)
    with pytest.raises(hu.errors.InputError, match="no scale that was tried gives a finite f8E8M0FNU"):
        hu.quant.suggest_scale([1.0, -1.0], "f8E8M0FNU", criterion)
    with pytest.raises(ValueError, match="is poison"):
        hu.quant.suggest_scale(hu.convert([1.0, math.nan], "f4E2M1FN"), "f8E4M3FN", criterion)
    with pytest.raises(hu.TypeMismatch, match="some numbers do not fit in f64"):
        hu.quant.suggest_scale(hu.eval("arith.addf", 1.0, hu.convert(1e-30, "f128"), type="f128"), "bf16", criterion)


def test_an_unknown_criterion_lists_the_known() -> None:
    with pytest.raises(hu.errors.InputError, match="must be one of max, max_power_of_two, mse, mse_power_of_two"):
        hu.quant.suggest_scale([1.0], "bf16", "best")


@pytest.mark.parametrize("amax", [5e-324, 1e-310, 1.7e308])
def test_the_ends_of_f64(amax: float) -> None:
    for criterion in CRITERIA:
        found = hu.quant.suggest_scale([amax], "f8E4M3FN", criterion)
        assert 2.0**-1022 <= found.scale < math.inf


# --- compare_formats --------------------------------------------------------------------------------------------------


def test_rows_are_the_errors_of_each_format() -> None:
    x = weights()
    compared = hu.compare_formats(x, ["f8E4M3FN", "f8E5M2", "bf16", "f8E5M2"])
    assert [row.format.name for row in compared] == ["f8E4M3FN", "f8E5M2", "bf16"]
    assert len(compared) == 3
    for row in compared:
        assert row.scale == 1
        assert row.figures == hu.error(x, row.format).figures
        assert compared[row.format.name] is row.report
    head, *rows = compared.table()
    assert head == (
        "format", "bits", "SQNR", "max ulp", "mean ulp", "mean relative", "saturated", "flushed", "subnormal",
    )  # fmt: skip
    assert [row[1] for row in rows] == ["8", "8", "16"]
    assert "f8E5M2" in repr(compared)
    assert compared._repr_html_().count("<tr>") == 4
    assert json.loads(json.dumps(compared.to_dict(), allow_nan=False))["bf16"]["bits"] == 16
    with pytest.raises(KeyError, match="the formats are f8E4M3FN, f8E5M2, bf16"):
        _ = compared["f16"]


def test_scales_of_a_comparison() -> None:
    x = weights()
    each = hu.compare_formats(x, ["f4E2M1FN", "f8E4M3FN"], scale="max_power_of_two")
    for row in each:
        assert row.scale == hu.quant.suggest_scale(x, row.format, "max_power_of_two").scale
        assert row.figures.sqnr == pytest.approx(sqnr(x, row.format.name, row.scale), abs=1e-6)
    same = hu.compare_formats(x, "f8E4M3FN", scale=0.25)
    assert same["f8E4M3FN"].figures == hu.error(x * 4, "f8E4M3FN").figures
    assert "scale" in same.table()[0]


def test_what_is_lost_has_columns() -> None:
    x = np.array([1.0, 1000.0, -1.0, 1e-30, np.nan, np.inf])
    compared = hu.compare_formats(x, ["f8E4M3FN", "f8E8M0FNU"])
    assert "subnormal" not in compared.table()[0]
    assert compared.table()[0][-4:] == ("overflowed", "not numbers", "nan", "infinite")
    assert (compared["f8E4M3FN"].overflowed, compared["f8E8M0FNU"].not_numbers) == (1, 1)
    assert (compared["f8E4M3FN"].flushed, compared["f8E4M3FN"].nan) == (1, 1)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan])
def test_wrong_scales(scale: float) -> None:
    with pytest.raises(hu.errors.InputError, match="must be positive and finite, or one of max, "):
        hu.compare_formats([1.0], "bf16", scale=scale)


def test_no_format() -> None:
    with pytest.raises(hu.errors.InputError, match="no format is given"):
        hu.compare_formats([1.0], [])


@pytest.mark.parametrize("target", ["f64", "f80", "f128"])
@pytest.mark.parametrize("amax", thinned([1e-300, 1.0, 1000.0, 1.7e308], 3))
def test_quotients_stay_within_f64(target: str, amax: float) -> None:
    for criterion in CRITERIA:
        found = hu.quant.suggest_scale([amax, -amax / 3], target, criterion)
        assert found.report.measured == 2
        assert math.isfinite(amax / found.scale)
