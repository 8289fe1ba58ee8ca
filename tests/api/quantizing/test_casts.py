"""`hu.quantize` and `hu.dequantize` by MLIR's types: the results of quant.qcast and quant.dcast."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import halfulp as hu

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


@pytest.mark.parametrize(
    "arguments",
    [
        {"scale": 0.01, "zero_point": 3},
        {"scale": 0.01, "zero_point": 200, "storage": "u8"},
        {"scale": [0.01, 0.3], "axis": 0},
        {"scale": [0.01, 0.3], "axis": -2, "zero_point": [1, -1]},
        {"scale": [0.1, 0.2, 0.3, 0.4], "axis": -1, "storage": "i4", "min": -7},
        {"scale": [[0.01, 0.3]], "block": {1: 2}},
        {"scale": [[0.01, 0.3], [1, 2]], "block": {0: 1, 1: 2}},
        {"scale": [[0.01, 0.3]], "axis": -1, "block": 2},
    ],
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


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: hu.quantize(X), TypeError, "quantize needs scale=…"),
        (lambda: hu.quantize(X, 0.5, expressed="f16"), hu.TypeMismatch, 'hu.convert(x, "f16")'),
        (lambda: hu.quantize(X, hu.quant.type(scale=0.5), 3), TypeError, "leave zero_point out"),
        (lambda: hu.quantize(X, 0.5, type=hu.quant.type(scale=0.5), axis=1), TypeError, "leave scale, axis out"),
        (lambda: hu.dequantize(hu.quantize_blocks(X, block=4), "f32"), TypeError, "leave type out"),
        (lambda: hu.quantize(X, 0.5, rounding="stochastic"), ValueError, "qcast_rounding"),
        (lambda: hu.quantize(X, "int8"), TypeError, "quantize needs a scale beside the type 'i8'"),
        (
            lambda: hu.quantize(X, [0.1, 0.2, 0.3], axis=0),
            hu.TypeMismatch,
            "dimension 0 has size 2, the type has 3 scales",
        ),
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
    ],
)
def test_errors_say_what_to_do(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("stored", "storage"),
    [
        (np.array([200], np.uint8), "i8"),
        (np.array([-1], np.int8), "u8"),
        (np.array([300], np.int16), "i8"),
        ([128], "i8"),
    ],
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
