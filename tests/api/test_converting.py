"""`convert`: between element types, rounding once."""

from __future__ import annotations

import numpy as np
import pytest

import halfulp as hu


def test_convert_between_floats_and_integers() -> None:
    x = np.array([464.0, 465.0, -465.0])
    assert hu.convert(x, "f8E4M3FN").bits.tolist() == [0x7E, 0x7F, 0xFF]
    assert hu.convert(x, to="f8E4M3FN", rounding="toward_zero").bits.tolist() == [0x7E, 0x7E, 0xFE]
    assert hu.convert(x, "f8E4M3FN", profile="ocp-saturate").bits.tolist() == [0x7E, 0x7E, 0xFE]
    assert hu.convert(16777217, "f32").numpy().item() == 16777216.0
    assert hu.convert(np.array([3.7, -3.7]), "i8").numpy().tolist() == [3, -3]
    assert hu.convert(np.array([3.7, -3.7]), "i8", rounding="to_nearest_even").numpy().tolist() == [4, -4]
    assert hu.convert(np.array([300.0, 1.0]), "i8").poisoned.tolist() == [True, False]
    assert hu.convert(np.array([255], np.uint8), "f32", type="ui8").numpy().tolist() == [255.0]
    value = hu.convert([1.0, 2.0], "bf16")
    assert str(hu.convert(value, "f32").type) == "tensor<2xf32>"
    assert hu.convert(np.array([np.nan], np.float32), "f4E2M1FN").origin(0) is not None


def test_convert_from_raw_bits_of_wide_types() -> None:
    one = hu.Value.from_bits(0x3FFF8000000000000000, "f80")
    assert hu.convert(one, "f128").bits.tolist() == [0, 0x3FFF << 48]
    limbs = np.array([[1 << 63, 0x3FFF], [0, 0]], np.uint64)
    assert hu.convert(limbs, "f32", type="f80").numpy().tolist() == [1.0, 0.0]


def test_convert_says_what_is_wrong() -> None:
    with pytest.raises(hu.TypeMismatch, match="cannot convert 'i8' to 'i16'"):
        hu.convert(np.int8(1), "i16")
    with pytest.raises(ValueError, match="rounding is 'half_up', but must be one of to_nearest_even"):
        hu.convert(1.0, "f16", rounding="half_up")
    with pytest.raises(hu.InputError, match="stochastic rounding needs random"):
        hu.convert(1.0, "f16", rounding="stochastic")
    with pytest.raises(hu.TypeMismatch, match="unsigned integers of shape"):
        hu.convert([1.0, 2.0], "f16", rounding="stochastic", random=np.zeros(3, np.uint8))
    with pytest.raises(hu.ParseError):
        hu.convert(1.0, "f7")


def test_stochastic_rounding_compares_the_bits_given_with_the_fraction() -> None:
    # 1 + 1/32 lies a quarter of the way from 1 to 1.125 in f8E4M3FN.
    random = np.arange(256, dtype=np.uint8)
    result = hu.convert(np.full(256, 1 + 1 / 32, np.float32), "f8E4M3FN", rounding="stochastic", random=random)
    assert (result.bits == 0x39).tolist() == [r < 64 for r in range(256)]
    x = np.full(256, 1.0, np.float32)
    y = np.full(256, 2.0**-25, np.float32)
    total = hu.eval("arith.addf", x, y, rounding="stochastic", random=random)
    assert np.count_nonzero(total.numpy() > 1) == 64


def test_unsigned_arrays_convert_as_unsigned_numbers() -> None:
    assert hu.convert(np.array([255], np.uint8), "f32").numpy().tolist() == [255.0]
    assert hu.convert(np.array([True, False]), "f32").numpy().tolist() == [1.0, 0.0]
    assert hu.convert(np.array([-1], np.int8), "f32").numpy().tolist() == [-1.0]


def test_convert_heeds_the_container_it_is_asked_for() -> None:
    assert str(hu.convert([1.0, 2.0], "vector<2xf16>").type) == "vector<2xf16>"
    with pytest.raises(hu.TypeMismatch, match="shape 2 is not of type 'tensor<3xf16>'"):
        hu.convert([1.0, 2.0], "tensor<3xf16>")


def test_a_float_format_of_ones_own() -> None:
    fmt = hu.FloatFormat(
        "f8E5M3", exponent_bits=5, mantissa_bits=3, bias=15, signed=False, infinities=False, nan=hu.NanEncoding.ALL_ONES
    )
    x = hu.convert([1.3, 1e9, 0.0, -1.0], to=fmt)
    assert repr(x) == "Value(4xf8E5M3=1.25 nan 0 nan)"
    assert repr(hu.eval("arith.addf", x, x)) == "Value(4xf8E5M3=2.5 nan 0 nan)"
