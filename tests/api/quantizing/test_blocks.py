"""`hu.quantize_blocks`: shapes, arguments, poison and what people see."""

import dataclasses
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tables import each_row

import halfulp as hu
from halfulp.fp_formats.formats import FORMATS
from halfulp.semantics import block_scaling as bs

RNG = np.random.default_rng(5)
X = RNG.standard_normal((3, 128)).astype(np.float32)[:, :64]


@pytest.mark.parametrize("recipe", list(bs.RECIPES))
def test_the_parts_are_those_of_the_recipe(recipe: str) -> None:
    rules = bs.RECIPES[recipe]
    x = np.tile(X, 2)
    to = "f8E4M3FN" if recipe.startswith("fp8") else "f4E2M1FN"
    noise = np.arange(3 * 4, dtype=np.uint32).reshape(3, 4) << 19 if rules.noise else None
    found = hu.quantize_blocks(x, recipe=recipe, random=noise)
    codes = x.reshape(3, -1, rules.block).view(np.uint32)
    kernel = bs.quantize(codes, bs.F32, FORMATS[to], rules, noise=noise)
    assert found.elements == hu.Value.from_bits(kernel.elements.reshape(x.shape), to)
    assert found.scales == hu.Value.from_bits(kernel.scales, rules.scale.name)
    assert (found.tensor_scale is None) == (rules.levels is None)
    assert (found.shape, found.block, found.axis, found.recipe) == (x.shape, rules.block, 1, recipe)
    assert hu.dequantize(found) == found.dequantize()
    values = found.dequantize().numpy()
    assert np.abs(values - x).max() <= np.abs(x).max() / 4


@pytest.mark.parametrize("name", list(bs.MX_ELEMENTS))
def test_each_element_type_has_its_type(name: str) -> None:
    found = hu.quantize_blocks(X, name, "ceil")
    assert str(found.elements.element_type) == name
    assert str(found.scales.type) == "tensor<3x2xf8E8M0FNU>"
    assert str(found.dequantize("bf16").type) == "tensor<3x64xbf16>"


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("recipe", ["floor", "nvfp4"])
def test_blocks_along_any_axis(axis: int, recipe: str) -> None:
    x = RNG.standard_normal((32, 64, 16)).astype(np.float32)
    found = hu.quantize_blocks(x, recipe=recipe, axis=axis, block=16)
    last = hu.quantize_blocks(np.ascontiguousarray(np.moveaxis(x, axis, -1)), recipe=recipe, block=16)
    assert np.array_equal(np.moveaxis(found.elements.bits, axis, -1), last.elements.bits)
    assert np.array_equal(np.moveaxis(found.scales.bits, axis, -1), last.scales.bits)
    assert np.array_equal(np.moveaxis(found.dequantize().bits, axis, -1), last.dequantize().bits)


@pytest.mark.parametrize("recipe", ["floor", "nvfp4-te"])
def test_blocks_of_two_dimensions(recipe: str) -> None:
    x = RNG.standard_normal((2, 48, 40)).astype(np.float32)
    found = hu.quantize_blocks(x, recipe=recipe, block=(16, 8))
    assert (found.scales.shape, found.block, found.axis) == ((2, 3, 5), (16, 8), 2)
    assert "in blocks of 16x8 along axes 1 and 2" in repr(found)
    # The same elements in a row.
    rows = x.reshape(2, 3, 16, 5, 8).transpose(0, 1, 3, 2, 4).reshape(2, 3, 5, 128)
    flat = hu.quantize_blocks(np.ascontiguousarray(rows), recipe=recipe, block=128)
    back = flat.elements.bits.reshape(2, 3, 5, 16, 8).transpose(0, 1, 3, 2, 4).reshape(x.shape)
    assert np.array_equal(found.elements.bits, back)
    assert np.array_equal(found.scales.bits, flat.scales.bits[..., 0])
    whole = flat.dequantize().bits.reshape(2, 3, 5, 16, 8).transpose(0, 1, 3, 2, 4).reshape(x.shape)
    assert np.array_equal(found.dequantize().bits, whole)
    short = hu.quantize_blocks(x[:, :40], recipe=recipe, block=(16, 8), ragged="short")
    assert (short.shape, short.scales.shape, short.dequantize().shape) == ((2, 40, 40), (2, 3, 5), (2, 40, 40))


def test_a_scale_for_each_row() -> None:
    x = X * np.array([[1], [64], [1 / 64]], np.float32)
    found = hu.quantize_blocks(x, recipe="nvfp4-te", tensor_scale="rows")
    for row in range(3):
        alone = hu.quantize_blocks(x[row], recipe="nvfp4-te")
        assert np.array_equal(found.elements.bits[row], alone.elements.bits)
        assert np.array_equal(found.dequantize().bits[row], alone.dequantize().bits)
        assert found.tensor_scale is not None
        assert found.tensor_scale.bits[row].tolist() == [alone.tensor_scale.bits]  # type: ignore[union-attr]
    poisoned = hu.Value(found.dequantize().type, x.view(np.uint32), np.eye(3, 64, dtype=np.uint16))
    part = hu.quantize_blocks(poisoned, recipe="nvfp4-te", tensor_scale="rows").elements.poison
    assert part is not None
    assert part.all()
    assert (
        hu.quantize_blocks(np.ones((2, 16), np.float32), recipe="nvfp4", tensor_scale="rows").dequantize().tolist()
        == [[1.0] * 16] * 2
    )


def test_a_short_last_block() -> None:
    x = X[:, :40]
    with pytest.raises(ValueError, match='dimension 1 has 40 elements.*ragged="short"'):
        hu.quantize_blocks(x)
    found = hu.quantize_blocks(x, ragged="short")
    assert (found.shape, found.scales.shape) == ((3, 40), (3, 2))
    first, rest = hu.quantize_blocks(x[:, :32]), hu.quantize_blocks(x[:, 32:], block=8)
    assert np.array_equal(found.elements.bits, np.concatenate([first.elements.bits, rest.elements.bits], axis=1))
    assert np.array_equal(found.scales.bits, np.concatenate([first.scales.bits, rest.scales.bits], axis=1))
    assert found.dequantize().shape == (3, 40)


def test_types_of_inputs() -> None:
    bf16 = hu.convert(X, "bf16")
    same = hu.quantize_blocks(bf16.numpy().astype(np.float32), "f6E3M2FN")
    assert hu.quantize_blocks(bf16, "f6E3M2FN") == same
    assert hu.quantize_blocks(bf16.numpy(), "f6E3M2FN") == same
    assert hu.quantize_blocks(X.astype(np.float64)) == hu.quantize_blocks(X)
    assert hu.quantize_blocks(X.tolist()) == hu.quantize_blocks(X)
    assert hu.quantize_blocks(X.tolist(), recipe="nvfp4", type="f32") == hu.quantize_blocks(X, recipe="nvfp4")


@pytest.mark.torch
def test_a_tensor_of_torch() -> None:
    torch = pytest.importorskip("torch")
    given = torch.from_numpy(X.copy())
    assert hu.quantize_blocks(given.requires_grad_()) == hu.quantize_blocks(X)
    assert hu.quantize_blocks(given.bfloat16()) == hu.quantize_blocks(hu.convert(X, "bf16"))


def test_a_format_of_the_user() -> None:
    mine = hu.FloatFormat("my6", 3, 2, 3)
    found = hu.quantize_blocks(X, mine, "rceil")
    assert found.elements.element_type == hu.quantize_blocks(X, mine).elements.element_type
    assert np.abs(found.dequantize().numpy() - X).max() < 0.5


def test_a_calibrated_tensor_scale_and_one_level() -> None:
    by_amax = hu.quantize_blocks(X, recipe="nvfp4")
    assert by_amax.tensor_scale is not None
    scale = by_amax.tensor_scale.numpy()[()]
    assert scale == np.abs(X).max() / np.float32(2688)
    for given in (scale, float(scale), by_amax.tensor_scale):
        assert hu.quantize_blocks(X, recipe="nvfp4", tensor_scale=given) == by_amax
    one = hu.quantize_blocks(X, recipe="nvfp4", tensor_scale=None)
    assert one.tensor_scale is None
    assert np.abs(one.dequantize().numpy() - X).max() < 0.8


def poisoned() -> hu.Value:
    """Return 2 x 32 elements of f16 of which one is poison."""
    x: npt.NDArray[Any] = np.arange(64, dtype=np.float16).reshape(2, 32)
    return hu.convert(hu.convert(np.where(x == 40, np.nan, x), "f6E3M2FN"), "f16")


def test_poison_spreads_over_its_block() -> None:
    x = poisoned()
    assert x.poisoned.sum() == 1
    found = hu.quantize_blocks(x, block=16)
    assert found.scales.poisoned.tolist() == [[False, False], [True, False]]
    assert found.elements.poisoned.sum() == 16
    assert found.elements.origin(1, 0) == x.origin(1, 8)
    assert found.dequantize().poisoned.sum() == 16
    # A tensor scale depends on every element.
    assert hu.quantize_blocks(x, recipe="nvfp4").elements.poisoned.all()
    assert hu.quantize_blocks(x, recipe="nvfp4", tensor_scale=1.0).elements.poisoned.sum() == 16


def test_empty_arrays() -> None:
    for shape in ((0, 32), (2, 0)):
        found = hu.quantize_blocks(np.zeros(shape, np.float32))
        assert (found.shape, found.scales.shape) == (shape, (shape[0], shape[1] // 32))
        assert found.dequantize().shape == shape


def test_what_people_see() -> None:
    found = hu.quantize_blocks(np.array([1, 2, 3, 6], np.float32), block=2, recipe="mx")
    assert repr(found) == (
        "BlockQuantized: f4E2M1FN in blocks of 2 along axis 0, scales of f8E8M0FNU, recipe floor\n"
        "  elements: Value(4xf4E2M1FN=2 4 3 6)\n"
        "  scales: Value(2xf8E8M0FNU=0.5 1)"
    )
    page = hu.quantize_blocks(X, recipe="nvfp4")._repr_html_()
    for part in ("recipe nvfp4", "elements", "scales", "tensor scale"):
        assert part in page


def test_it_is_frozen_equal_and_pickled() -> None:
    found = hu.quantize_blocks(X, recipe="nvfp4")
    assert pickle.loads(pickle.dumps(found)) == found
    assert found != hu.quantize_blocks(X * 2, recipe="nvfp4")
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.block = 3  # type: ignore[misc]


@each_row(
    ({"recipe": "nearest"}, ValueError, "must be one of mx, floor, ceil, even, rceil, stochastic, nvfp4, nvfp4-te"),
    ({"to": "f8E4M3FN", "recipe": "nvfp4"}, ValueError, "does not take elements of 'f8E4M3FN'; it takes f4E2M1FN"),
    ({"to": "i4"}, ValueError, "the recipe floor does not take elements of 'i4'"),
    ({"to": "f8E8M0FNU"}, ValueError, "does not take elements of 'f8E8M0FNU'"),
    ({"to": "f32"}, ValueError, "does not take elements of 'f32'"),
    ({"block": 0}, ValueError, "block is 0, but must be positive"),
    ({"block": 10}, ValueError, "is not a multiple of the block of 10"),
    ({"axis": 2}, ValueError, "axis is 2, but x has 2 dimensions"),
    ({"ragged": "pad"}, ValueError, "must be one of refuse, short"),
    ({"rounding": "stochastic"}, ValueError, "does not round stochastically"),
    ({"tensor_scale": 1.0}, ValueError, "the recipe floor has no tensor scale"),
    ({"tensor_scale": "max"}, ValueError, 'must be "amax", "rows", a number or None'),
    ({"tensor_scale": -1.0, "recipe": "nvfp4"}, ValueError, "must be a positive number of f32"),
    ({"tensor_scale": [1.0, 2.0], "recipe": "nvfp4"}, ValueError, "must be one number"),
    ({"tensor_scale": None, "recipe": "nvfp4-te"}, ValueError, "can be used only with the recipe nvfp4"),
)
def test_errors_name_the_choices(arguments: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        hu.quantize_blocks(X, **arguments)
    assert message in str(caught.value)


@each_row(
    (np.float32(1), "x is one number"),
    (np.array([1, 2], np.int32), "x has elements of 'i32', but must have floats"),
    (hu.convert(X, "f128"), "are wider than f64"),
)
def test_inputs_that_have_no_blocks(x: Any, message: str) -> None:
    with pytest.raises((ValueError, hu.TypeMismatch)) as caught:
        hu.quantize_blocks(x)
    assert message in str(caught.value)


def test_nvfp4_of_f64_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="convert the input to f32 first"):
        hu.quantize_blocks(X.astype(np.float64), recipe="nvfp4")


@pytest.mark.parametrize("target", ["f80", "f128"])
def test_values_wider_than_f64(target: str) -> None:
    found = hu.quantize_blocks(X, "f8E4M3FN", axis=0, ragged="short")
    assert found.dequantize(target) == hu.convert(found.dequantize("f64"), target)


def test_a_block_longer_than_the_dimension_takes_no_memory() -> None:
    found = hu.quantize_blocks(X, block=10**15, ragged="short")
    assert found.scales.shape == (3, 1)
    assert found.elements == hu.quantize_blocks(X, block=64).elements
    assert found.dequantize() == hu.quantize_blocks(X, block=64).dequantize()
    empty = hu.quantize_blocks(X[:, :0], block=10**15, ragged="short")
    assert (empty.scales.shape, empty.dequantize().shape) == ((3, 0), (3, 0))


def test_a_tensor_scale_is_rounded_once() -> None:
    exact = 1 + Fraction(1, 1 << 24) + Fraction(1, 1 << 80)  # above a midpoint of f32, by less than f64 holds
    x = np.linspace(-1, 1, 16, dtype=np.float32)
    blocks = hu.quantize_blocks(x, "f4E2M1FN", recipe="nvfp4", tensor_scale=exact)
    assert blocks.tensor_scale is not None
    assert blocks.tensor_scale.item() == 1 + 2**-23


def test_whole_numbers_are_asked_for() -> None:
    for name in ("block", "axis"):
        half: Any = {name: 0.5}
        with pytest.raises(TypeError, match=f"{name} is 0.5, but must be an integer"):
            hu.quantize_blocks(np.ones(32), "f8E4M3FN", **half)
