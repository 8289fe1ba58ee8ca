"""ulp, next_up, next_down, neighbours and all_values: shapes, kinds of inputs, poison, and errors."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfulp as hu
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.neighbours import ulp_at

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


@pytest.mark.parametrize("name", [name for name, fmt in FORMATS.items() if fmt.bits <= 16])
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
