"""`hu.quant.type`: types of the quant dialect from Python numbers."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tables import each_row

import halfulp as hu
from halfulp.interp.text.parser import parse_type


@each_row(
    ({"scale": 0.5}, "!quant.uniform<i8:f32, 5.000000e-01>"),
    ({"scale": 0.5, "zero_point": -3}, "!quant.uniform<i8:f32, 5.000000e-01:-3>"),
    ({"storage": "u8", "scale": 0.5, "zero_point": 200}, "!quant.uniform<u8:f32, 5.000000e-01:200>"),
    ({"storage": "ui8", "scale": 0.5}, "!quant.uniform<ui8:f32, 5.000000e-01>"),
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
    ({"scale": [0.5, 0.25], "zero_point": 4, "axis": 0}, "!quant.uniform<i8:f32:0, {5.000000e-01:4,2.500000e-01:4}>"),
    (
        {"scale": [[0.5, 0.25]], "block": {0: 1, 1: 32}},
        "!quant.uniform<i8:f32:{0:1, 1:32}, {{5.000000e-01, 2.500000e-01}}>",
    ),
    (
        {"scale": [[0.5], [0.25]], "axis": 0, "block": 2},
        "!quant.uniform<i8:f32:{0:2}, {{5.000000e-01}, {2.500000e-01}}>",
    ),
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


@each_row(
    ({"scale": float("nan")}, ValueError, "a scale is nan, but must be finite"),
    ({"scale": float("inf")}, ValueError, "a scale is inf, but must be finite"),
    ({"scale": -0.5}, ValueError, "a scale is -0.5, but must be positive"),
    ({"scale": [0.5, 0], "axis": 0}, ValueError, "a scale is 0.0, but must be positive"),
    ({"scale": 1e6, "expressed": "f16"}, ValueError, "the scale 1000000.0 is outside the positive values of f16"),
    ({"scale": 1e-9, "expressed": "f16"}, ValueError, "the scale 1e-09 is outside the positive values of f16"),
    ({"scale": 1, "zero_point": 128}, ValueError, "the zero point 128 is outside the storage type, which holds -128"),
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
)
def test_what_the_document_forbids_is_an_error(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        hu.quant.type(**arguments)
    assert message in str(caught.value)


def test_a_scale_from_an_f_string_names_the_builder() -> None:
    with pytest.raises(hu.errors.ParseError, match="unexpected decimal integer literal(.|\n)*halfulp.quant.type makes"):
        parse_type(f"!quant.uniform<i8:f32, {1e-05}>")


# --- casts ------------------------------------------------------------------------------------------------------------
#
# `hu.quantize` and `hu.dequantize` by MLIR's types: the results of quant.qcast and quant.dcast.

X = np.array([[0.5, -1.25, 3, 1e9], [1, -np.inf, 0.015, -0.0]], np.float32)


def of_program(x: Any, text: str) -> tuple[hu.Value, hu.Value]:
    """Return what a program with both casts computes."""
    tensor = f"tensor<{'x'.join(map(str, x.shape))}x"
    program = f"""func.func @main(%x: {tensor}f32>) -> ({tensor}{text}>, {tensor}f32>) {{
      %q = quant.qcast %x : {tensor}f32> to {tensor}{text}>
      %d = quant.dcast %q : {tensor}{text}> to {tensor}f32>
      return %q, %d : {tensor}{text}>, {tensor}f32>
    }}"""
    quantised, back = hu.run(program, x)
    return quantised, back


@each_row(
    {"scale": 0.01, "zero_point": 3},
    {"scale": 0.01, "zero_point": 200, "storage": "u8"},
    {"scale": [0.01, 0.3], "axis": 0},
    {"scale": [0.01, 0.3], "axis": -2, "zero_point": [1, -1]},
    {"scale": [0.1, 0.2, 0.3, 0.4], "axis": -1, "storage": "i4", "min": -7},
    {"scale": [[0.01, 0.3]], "block": {1: 2}},
    {"scale": [[0.01, 0.3], [1, 2]], "block": {0: 1, 1: 2}},
    {"scale": [[0.01, 0.3]], "axis": -1, "block": 2},
)
def test_it_computes_what_a_program_does(arguments: dict[str, Any]) -> None:
    found = hu.quantize(X, **arguments)
    expected, back = of_program(X, str(found.element_type))
    assert found == expected
    assert hu.dequantize(found) == back
    assert hu.quantize(X, found.element_type) == expected
    assert hu.quantize(X, str(found.element_type)) == expected
    assert hu.quantize(X, type=found.element_type) == expected


def test_by_hand() -> None:
    """0.5 / 0.25 + 3 = 5; 0.375 / 0.25 = 1.5 rounds to the even 2; -100 / 0.25 saturates."""
    found = hu.quantize(np.array([0.5, 0.375, -100], np.float32), 0.25, 3)
    assert found.bits.view(np.int8).tolist() == [5, 4, -128]
    assert hu.dequantize(found).numpy().tolist() == [0.5, 0.25, -32.75]


def test_nan_is_poison() -> None:
    found = hu.quantize(np.array([1, np.nan], np.float32), 0.5)
    assert found.poisoned.tolist() == [False, True]
    assert hu.dequantize(found).poisoned.tolist() == [False, True]
    origin = found.origin(1)
    assert origin is not None
    assert "NaN" in str(origin)


def test_the_rounding_and_the_profile() -> None:
    x = np.array([0.375, 0.4, -0.4], np.float32)
    assert hu.quantize(x, 0.25, rounding="to_nearest_away").bits.tolist() == [2, 2, 254]
    assert hu.quantize(x, 0.25, rounding="up") == hu.quantize(x, 0.25, rounding="upward")
    assert hu.quantize(x, 0.25, rounding="upward").bits.tolist() == [2, 2, 255]
    assert hu.quantize(x, 0.25, profile="mlir22-quant").bits.tolist() == [1, 1, 255]
    with hu.profile("mlir22-quant"):
        assert hu.quantize(x, 0.25).bits.tolist() == [1, 1, 255]


def test_numbers_and_lists_are_rounded_into_the_expressed_type() -> None:
    assert hu.quantize(0.5, 0.1, expressed="f32").type == hu.quant.type("i8", "f32", scale=0.1)
    assert hu.quantize([0.5, 1.5], hu.quant.type("i8", "f16", scale=0.5)).bits.tolist() == [1, 3]
    assert str(hu.quantize([0.5], 0.5).element_type) == "!quant.uniform<i8:f64, 5.000000e-01>"


def test_stored_integers_are_dequantised_with_their_type() -> None:
    kind = hu.quant.type("i8", "f32", scale=0.5, zero_point=1)
    assert hu.dequantize(np.array([1, 2, -1], np.int8), kind).numpy().tolist() == [0, 0.5, -1]
    assert hu.dequantize(hu.Value.from_numpy(np.array([1, 2, -1], np.int8)), kind).numpy().tolist() == [0, 0.5, -1]


@pytest.mark.torch
def test_torch_quantises_alike() -> None:
    """PyTorch multiplies by 1 / scale, so scales are powers of two here, where both are exact."""
    torch = pytest.importorskip("torch")
    x = torch.linspace(-3, 3, 4001)
    theirs = torch.fake_quantize_per_tensor_affine(x, 2**-5, 7, -128, 127)
    assert hu.dequantize(hu.quantize(x, 2**-5, 7)).numpy().tolist() == theirs.tolist()
    x, scales, points = x[:4000].reshape(4, 1000), [0.5, 0.25, 1, 2], [0, 1, 2, 3]
    rows = torch.fake_quantize_per_channel_affine(
        x, torch.tensor(scales), torch.tensor(points, dtype=torch.int32), 0, 0, 255
    )
    assert hu.dequantize(hu.quantize(x, scales, points, axis=0, storage="u8")).numpy().tolist() == rows.tolist()


@each_row(
    (lambda: hu.quantize(X), TypeError, "quantize needs scale=…"),
    (lambda: hu.quantize(X, 0.5, expressed="f16"), hu.TypeMismatch, 'hu.convert(x, "f16")'),
    (lambda: hu.quantize(X, hu.quant.type(scale=0.5), 3), TypeError, "already has zero_point: leave them out"),
    (
        lambda: hu.quantize(X, 0.5, type=hu.quant.type(scale=0.5), axis=1),
        TypeError,
        "already has scale, axis: leave them out",
    ),
    (lambda: hu.dequantize(hu.quantize_blocks(X, block=4), "f32"), TypeError, "cannot be used with blocks"),
    (lambda: hu.quantize(X, 0.5, rounding="stochastic"), ValueError, "qcast_rounding"),
    (lambda: hu.quantize(X, "int8"), TypeError, "quantize needs a scale beside the type 'i8'"),
    (lambda: hu.quantize(X, [0.1, 0.2, 0.3], axis=0), hu.TypeMismatch, "dimension 0 has size 2, the type has 3 scales"),
    (lambda: hu.quantize(X, [[0.1]], block={1: 3}), hu.TypeMismatch, "must be divisible by the block size 3"),
    (lambda: hu.quantize(X, [[[0.1]]], block={1: 2}), hu.TypeMismatch, "rank of scales 3 must match the rank"),
    (lambda: hu.quantize(X, hu.quant.type("i8", "f16", scale=0.5)), hu.TypeMismatch, 'hu.convert(x, "f16")'),
    (
        lambda: hu.quantize(np.array([1], np.int32), 0.5),
        hu.TypeMismatch,
        "x has elements of 'i32', but must have floats",
    ),
    (lambda: hu.quantize(X, 0.5, rounding="up and down"), ValueError, "rounding"),
    (lambda: hu.quantize(X, "!quant.any<i8:f32>"), hu.Unsupported, "it has no scale"),
    (lambda: hu.dequantize(X), hu.TypeMismatch, "which is not quantised"),
    (lambda: hu.dequantize(np.array([1], np.int8)), hu.TypeMismatch, "give type=…"),
)
def test_errors_say_what_to_do(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


@each_row(
    (np.array([200], np.uint8), "i8"),
    (np.array([-1], np.int8), "u8"),
    (np.array([300], np.int16), "i8"),
    ([128], "i8"),
)
def test_stored_integers_that_the_type_does_not_have_are_refused(stored: Any, storage: str) -> None:
    type_ = hu.quant.type(storage, "f32", scale=0.5)
    with pytest.raises(hu.TypeMismatch, match="does not have"):
        hu.dequantize(stored, type_)


def test_stored_integers_may_be_lists_and_bits() -> None:
    type_ = hu.quant.type("i8", "f32", scale=0.5)
    assert hu.dequantize([1, -2], type_).tolist() == [0.5, -1.0]
    assert hu.dequantize(np.array([100], np.uint8), type_).tolist() == [50.0]
    assert hu.dequantize(hu.Value.from_bits(np.array([200], np.uint8), "i8"), type_).tolist() == [-28.0]
    with pytest.raises(hu.TypeMismatch, match="'f64', but .* stores integers"):
        hu.dequantize([0.5], type_)
