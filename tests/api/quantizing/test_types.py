"""`hu.quant.type`: types of the quant dialect from Python numbers."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import halfulp as hu
from halfulp.interp.text.parser import parse_type


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"scale": 0.5}, "!quant.uniform<i8:f32, 5.000000e-01>"),
        ({"scale": 0.5, "zero_point": -3}, "!quant.uniform<i8:f32, 5.000000e-01:-3>"),
        ({"storage": "u8", "scale": 0.5, "zero_point": 200}, "!quant.uniform<u8:f32, 5.000000e-01:200>"),
        ({"storage": "ui8", "scale": 0.5}, "!quant.uniform<u8:f32, 5.000000e-01>"),
        ({"storage": np.uint8, "scale": 0.5}, "!quant.uniform<u8:f32, 5.000000e-01>"),
        ({"storage": np.int8, "expressed": np.float16, "scale": 2}, "!quant.uniform<i8:f16, 2.000000e+00>"),
        ({"expressed": ml_dtypes.bfloat16, "scale": 2}, "!quant.uniform<i8:bf16, 2.000000e+00>"),
        ({"storage": "i4", "scale": 0.5, "min": -7, "max": 7}, "!quant.uniform<i4<-7:7>:f32, 5.000000e-01>"),
        ({"storage": "i1", "scale": 0.5}, "!quant.uniform<i1:f32, 5.000000e-01>"),
        ({"scale": [0.5, 0.25], "axis": 1}, "!quant.uniform<i8:f32:1, {5.000000e-01,2.500000e-01}>"),
        (
            {"scale": np.array([0.5, 0.25], np.float32), "zero_point": [1, -1], "axis": 0},
            "!quant.uniform<i8:f32:0, {5.000000e-01:1,2.500000e-01:-1}>",
        ),
        (
            {"scale": [0.5, 0.25], "zero_point": 4, "axis": 0},
            "!quant.uniform<i8:f32:0, {5.000000e-01:4,2.500000e-01:4}>",
        ),
        (
            {"scale": [[0.5, 0.25]], "block": {0: 1, 1: 32}},
            "!quant.uniform<i8:f32:{0:1, 1:32}, {{5.000000e-01, 2.500000e-01}}>",
        ),
        (
            {"scale": [[0.5], [0.25]], "axis": 0, "block": 2},
            "!quant.uniform<i8:f32:{0:2}, {{5.000000e-01}, {2.500000e-01}}>",
        ),
    ],
)
def test_the_text_is_that_of_mlir(arguments: dict[str, Any], text: str) -> None:
    made = hu.quant.type(**arguments)
    assert str(made) == text
    assert parse_type(text) == made


@pytest.mark.parametrize("scale", [1e-5, 0.1, Fraction(1, 3), Decimal("1e-7"), np.float32(0.3), np.float64(0.3), 3])
@pytest.mark.parametrize("expressed", ["f16", "bf16", "f32", "f64", "f128"])
def test_a_scale_is_rounded_once_and_its_text_parses(scale: Any, expressed: str) -> None:
    made = hu.quant.type("i8", expressed, scale=scale)
    assert parse_type(str(made)) == made
    # What f128 has beyond f64 does not fit the type, whose scales are f64 in MLIR too.
    held = "f64" if expressed == "f128" else expressed
    exact = Fraction(float(scale)) if isinstance(scale, np.generic) else Fraction(scale)
    fmt = hu.float_format(held)
    value = np.float64(made.scales[0])
    code = int(hu.convert(value, held).bits)
    around = [
        abs(Fraction(float(hu.convert(hu.Value.from_bits(code + k, held), "f64").numpy())) - exact) for k in (-1, 0, 1)
    ]
    assert around[1] == min(around)
    assert hu.convert(hu.convert(value, held), "f64") == hu.Value.from_numpy(value)
    assert fmt.name == held


def test_a_value_and_a_tensor_of_torch_are_scales() -> None:
    value = hu.convert([0.1, 0.2], "bf16")
    made = hu.quant.type("i8", "f32", scale=value, axis=0)
    assert made.scales == (0.10009765625, 0.2001953125)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"scale": float("nan")}, ValueError, "a scale is nan, but must be finite"),
        ({"scale": float("inf")}, ValueError, "a scale is inf, but must be finite"),
        ({"scale": -0.5}, ValueError, "a scale is -0.5, but must be positive"),
        ({"scale": [0.5, 0], "axis": 0}, ValueError, "a scale is 0.0, but must be positive"),
        ({"scale": 1e6, "expressed": "f16"}, ValueError, "the scale 1000000.0 is outside the positive values of f16"),
        ({"scale": 1e-9, "expressed": "f16"}, ValueError, "the scale 1e-09 is outside the positive values of f16"),
        (
            {"scale": 1, "zero_point": 128},
            ValueError,
            "the zero point 128 is outside the storage type, which holds -128",
        ),
        ({"scale": 1, "zero_point": 0.5}, ValueError, "a zero point is 0.5, but must be an integer"),
        ({"scale": 1, "min": -200}, ValueError, "min is -200, but the storage type holds -128 to 127"),
        ({"scale": 1, "min": 3, "max": 3}, ValueError, "min must be below max"),
        ({"scale": 1, "storage": "i33"}, ValueError, "has 33 bits, but must have 1 to 32"),
        ({"scale": 1, "storage": "f16"}, hu.TypeMismatch, "the storage type is 'f16', but must be an integer type"),
        ({"scale": 1, "expressed": "i8"}, hu.TypeMismatch, "the expressed type is 'i8', but must be a float type"),
        ({"scale": "0.1"}, hu.TypeMismatch, "scale is '0.1', but must be a number"),
        ({"scale": [1.0]}, ValueError, "scale has the shape (1,): give axis=… for channels"),
        ({"scale": []}, ValueError, "scale is empty"),
        ({"scale": 1.0, "axis": 0}, ValueError, "scale has the shape (), but axis=0 needs one scale for each index"),
        ({"scale": [1.0], "axis": -1}, ValueError, "count from the front"),
        (
            {"scale": [1.0], "zero_point": [1, 2], "axis": 0},
            ValueError,
            "zero_point has the shape (2,), but scale has (1,)",
        ),
        ({"scale": [1.0], "block": 2}, ValueError, "give axis=… too"),
        ({"scale": [1.0], "block": {0: 2}, "axis": 0}, ValueError, "axis=0 must be left out"),
        ({"scale": [1.0], "block": {1: 2}}, ValueError, "block names dimension 1, but scale has the 1 dimensions"),
        ({"scale": [1.0], "block": {0: 0}}, ValueError, "the block size 0 of dimension 0 must be positive"),
    ],
)
def test_what_the_document_forbids_is_an_error(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        hu.quant.type(**arguments)
    assert message in str(caught.value)


def test_a_scale_from_an_f_string_names_the_builder() -> None:
    with pytest.raises(hu.ParseError, match="unexpected decimal integer literal(.|\n)*halfulp.quant.type makes"):
        parse_type(f"!quant.uniform<i8:f32, {1e-05}>")
