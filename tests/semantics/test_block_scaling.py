"""Recipes of block scaling against exact arithmetic on fractions, and against NumPy's f32 for the chains of NVFP4."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics import block_scaling as bs
from halfulp.semantics.profile import PROFILES

MX = [name for name, recipe in bs.RECIPES.items() if recipe.raises is not None]
FLOATS = [name for name in bs.MX_ELEMENTS if name != "i8"]
SATURATING = PROFILES["ocp-saturate"].conversions
F32 = FORMATS["f32"]
Floats = npt.NDArray[np.float32]


def exponent_of(number: Fraction) -> int:
    """Return floor(log2(number)), by comparison of integers."""
    found = number.numerator.bit_length() - number.denominator.bit_length()
    return found - (number < Fraction(2) ** found)


def exact_exponent(recipe: str, amax: Fraction, element: bs.Element) -> int:
    """Return the exponent of a scale by the words of each recipe."""
    if amax == 0:
        return -127
    mantissa_bits, emax = element.mantissa_bits, element.emax
    match recipe:
        case "floor":
            found = exponent_of(amax) - emax
        case "ceil":
            found = exponent_of(amax) + (amax != Fraction(2) ** exponent_of(amax)) - emax
        case "even":
            unit = Fraction(2) ** (exponent_of(amax) - mantissa_bits)
            found = exponent_of(round(amax / unit) * unit) - emax
        case "rceil":
            if isinstance(element, FloatFormat):
                largest = scalar.value(element, element.max_code)
                assert largest is not None
            else:
                largest = Fraction(127, 64)
            ratio = amax / largest
            found = exponent_of(ratio) + (ratio != Fraction(2) ** exponent_of(ratio))
        case _:
            raise AssertionError(recipe)
    return max(found, -127)


def exact_element(number: float, exponent: int, element: bs.Element, rounding: Rounding) -> int:
    """Return the code of number / 2**exponent, rounded once and saturating."""
    quotient = Fraction(number) / Fraction(2) ** exponent
    if isinstance(element, FloatFormat):
        if quotient == 0:
            return 1 << (element.bits - 1) if np.signbit(number) else 0
        return scalar.from_fraction(element, quotient, rounding, SATURATING).code
    below = (quotient * 64).__floor__()
    rest = quotient * 64 - below
    up = {
        Rounding.TO_NEAREST_EVEN: rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1),
        Rounding.TO_NEAREST_AWAY: rest > Fraction(1, 2) or (rest == Fraction(1, 2) and quotient > 0),
        Rounding.TOWARD_ZERO: rest > 0 and quotient < 0,
        Rounding.DOWNWARD: False,
        Rounding.UPWARD: rest > 0,
    }[rounding]
    return min(max(below + up, -127), 127) & 0xFF


def difficult(element: bs.Element, rng: np.random.Generator) -> Floats:
    """Return blocks of 8: any bits, ties of the element type, thresholds of each recipe, subnormals, zeros."""
    bits = rng.integers(0, 1 << 32, (60, 8), dtype=np.uint32)
    anything = np.where((bits >> 23) & 0xFF == 0xFF, bits & np.uint32(0xFF7FFFFF), bits).view(np.float32)
    step = 2.0**-element.mantissa_bits
    tops = np.array([1, 1.5, 1.75, 1.875, 127 / 64, 2 - step / 2, 2 - step / 4], np.float32)
    tops = np.concatenate([tops, np.nextafter(tops, np.float32(0)), np.nextafter(tops, np.float32(3))])
    ties = rng.integers(-64, 65, (len(tops) * 6, 8)).astype(np.float32) / 64
    ties[:, 0] = np.tile(tops, 6)
    scaled = np.ldexp(ties, np.repeat([-140, -126, -20, 0, 20, 126], len(tops))[:, None])
    small = (rng.integers(0, 1 << 23, (20, 8), dtype=np.uint32) >> rng.integers(0, 23, (20, 1)).astype(np.uint32)).view(
        np.float32
    )
    zeros = np.array([[0.0, -0.0] * 4], np.float32)
    return np.concatenate([anything, scaled, small, zeros]).astype(np.float32)


@pytest.mark.parametrize("name", list(bs.MX_ELEMENTS))
@pytest.mark.parametrize("recipe", MX)
def test_mx_recipes_are_their_words_in_exact_arithmetic(recipe: str, name: str) -> None:
    element = bs.MX_ELEMENTS[name]
    x = difficult(element, np.random.default_rng(7))
    found = bs.quantize(x.view(np.uint32), F32, element, bs.RECIPES[recipe])
    for row, scale, codes in zip(x, found.scales, found.elements, strict=True):
        exponent = exact_exponent(recipe, max(abs(Fraction(float(number))) for number in row), element)
        if exponent > 127:
            # MXINT8 in the recipe ceil, above 2^127: no scale is large enough.
            assert (int(scale), codes.tolist()) == (0xFF, [0] * len(row)), row
            continue
        assert int(scale) == exponent + 127, row
        expected = [exact_element(float(number), exponent, element, Rounding.TO_NEAREST_EVEN) for number in row]
        assert codes.tolist() == expected, row


@pytest.mark.parametrize("name", list(bs.MX_ELEMENTS))
@pytest.mark.parametrize(
    "rounding", [Rounding.DOWNWARD, Rounding.UPWARD, Rounding.TOWARD_ZERO, Rounding.TO_NEAREST_AWAY]
)
def test_elements_are_rounded_in_the_given_mode(name: str, rounding: Rounding) -> None:
    element = bs.MX_ELEMENTS[name]
    x = difficult(element, np.random.default_rng(8))
    # A quotient that f32 and f64 have no value for still rounds up.
    x[0] = [2.0**120, 1e-45, -1e-45, 0, -0.0, 1, -1, 3]
    found = bs.quantize(x.view(np.uint32), F32, element, bs.RECIPES["floor"], rounding)
    for row, scale, codes in zip(x, found.scales, found.elements, strict=True):
        expected = [exact_element(float(number), int(scale) - 127, element, rounding) for number in row]
        assert codes.tolist() == expected, row


def test_f64_goes_beyond_the_range_of_f32() -> None:
    element = FORMATS["f4E2M1FN"]
    x = np.array([[2.0**-140, 2.0**-300], [2.0**129, 3.0], [2.0**130, 1.0], [1e-308, 5e-324]])
    found = bs.quantize(x.view(np.uint64), FORMATS["f64"], element, bs.RECIPES["floor"])
    # 2^130 / 4 is above the largest scale, so the scale is NaN; f4E2M1FN has none, so the codes are 0.
    assert found.scales.tolist() == [0, 254, 255, 0]
    assert found.elements.tolist() == [[0, 0], [6, 0], [0, 0], [0, 0]]
    upward = bs.quantize(x.view(np.uint64), FORMATS["f64"], element, bs.RECIPES["floor"], Rounding.UPWARD)
    assert upward.elements.tolist() == [[1, 1], [6, 1], [0, 0], [1, 1]]


@pytest.mark.parametrize("recipe", MX)
@pytest.mark.parametrize("name", FLOATS)
def test_nan_and_infinity_make_the_scale_nan(recipe: str, name: str) -> None:
    element = FORMATS[name]
    x = np.array([[1, np.nan, 2], [np.inf, 1, 2], [-np.inf, 1, 2], [1, 2, 3]], np.float32)
    found = bs.quantize(x.view(np.uint32), F32, element, bs.RECIPES[recipe])
    assert found.scales[:3].tolist() == [0xFF] * 3
    assert found.scales[3] != 0xFF
    nan = element.nan_code or 0
    assert found.elements[:3].tolist() == [[nan] * 3] * 3
    values = bs.dequantize(found, element, bs.E8M0, F32).view(np.float32)
    assert np.isnan(values).tolist() == [[True] * 3] * 3 + [[False] * 3]


def test_known_blocks_of_mxfp4() -> None:
    """By hand: amax 5 is in [4, 8), so the scale is 1; 5 is a tie of 4 and 6, 2.5 of 2 and 3, 0.25 of 0 and 0.5."""
    x = np.array([[5, 2.5, 0.25, -0.75, -0.0, 7, -7, 0.5]], np.float32)
    found = bs.quantize(x.view(np.uint32), F32, FORMATS["f4E2M1FN"], bs.RECIPES["floor"])
    assert found.scales.tolist() == [127]
    assert found.elements.tolist() == [[0x6, 0x4, 0x0, 0xA, 0x8, 0x7, 0xF, 0x1]]
    # Even: 7 is a tie of 6 and 8, which goes to 8 = 2^3, so the scale is 2. Rceil: 7 / 6 > 1, so it is 2 as well.
    for recipe in ("even", "rceil", "ceil"):
        assert bs.quantize(x.view(np.uint32), F32, FORMATS["f4E2M1FN"], bs.RECIPES[recipe]).scales.tolist() == [128]


def nvfp4(x: Floats, order: str) -> tuple[Any, Floats, Floats]:
    """Return the tensor scale, the scales before f8E4M3FN, and a function of the scales to quotients, by NumPy."""
    one, block = np.float32(1), np.abs(x).max(axis=-1)
    with np.errstate(all="ignore"):
        if order == "nvfp4":
            tensor = block.max() / np.float32(2688)
            return tensor, np.clip(block / np.float32(6) / tensor, np.float32(2**-6), np.float32(448)), one / tensor
        encode = np.minimum(np.float32(2688) / block.max(), np.finfo(np.float32).max)
        tensor = one / encode
        return tensor, np.minimum(block * (encode * (one / np.float32(6))), np.float32(448)), tensor


@pytest.mark.parametrize("order", ["nvfp4", "nvfp4-te"])
@pytest.mark.parametrize("magnitude", [1, 1e-20, 1e30])
def test_nvfp4_is_a_chain_of_f32_operations(order: str, magnitude: float) -> None:
    rng = np.random.default_rng(3)
    x = (rng.standard_normal((64, 16)) * np.exp2(rng.integers(-9, 1, (64, 1))) * magnitude).astype(np.float32)
    x[5], x[6, 3] = 0, -0.0
    found = bs.quantize(x.view(np.uint32), F32, bs.F4, bs.RECIPES[order])
    tensor, scales, factor = nvfp4(x, order)
    assert found.tensor_scale is not None
    assert found.tensor_scale.view(np.float32) == tensor
    codes = [scalar.convert(F32, bs.F8, int(code)).code for code in scales.astype(np.float32).view(np.uint32)]
    assert found.scales.tolist() == codes
    held = np.array([float(scalar.value(bs.F8, code) or 0) for code in codes], np.float32)
    with np.errstate(all="ignore"):
        if order == "nvfp4":
            factors = factor / held
        else:
            factors = np.minimum(np.float32(1) / (held * factor), np.finfo(np.float32).max)
    quotients: Codes = (x * factors[:, None]).view(np.uint32)
    elements = [[scalar.convert(F32, bs.F4, int(code)).code for code in row] for row in quotients]
    assert found.elements.tolist() == elements


def test_nvfp4_of_zeros_is_zeros() -> None:
    x = np.zeros((2, 16), np.float32)
    x[0, 1] = -0.0
    for order in ("nvfp4", "nvfp4-te"):
        found = bs.quantize(x.view(np.uint32), F32, bs.F4, bs.RECIPES[order])
        values = bs.dequantize(found, bs.F4, bs.F8, F32).view(np.float32)
        assert not values.any()
        assert found.elements[0, 1] == 8
        assert np.count_nonzero(found.elements) == 1


def test_a_nan_in_one_level_spoils_its_block_only() -> None:
    x = np.ones((2, 16), np.float32)
    x[0, 3] = np.nan
    found = bs.quantize(x.view(np.uint32), F32, bs.F4, bs.RECIPES["nvfp4"], two_levels=False)
    assert found.tensor_scale is None
    values = bs.dequantize(found, bs.F4, bs.F8, F32).view(np.float32)
    assert np.isnan(values[0]).all()
    assert not np.isnan(values[1]).any()


@pytest.mark.parametrize("name", list(bs.MX_ELEMENTS))
def test_dequantize_is_the_exact_product_rounded_once(name: str) -> None:
    element = bs.MX_ELEMENTS[name]
    codes = np.arange(1 << element.bits, dtype=np.uint8)
    if isinstance(element, bs.FixedPoint):
        exact = [Fraction(int(code.view(np.int8)), 64) for code in codes]
    else:
        codes = np.array([code for code in codes if scalar.value(element, int(code)) is not None], np.uint8)
        exact = [scalar.value(element, int(code)) or Fraction(0) for code in codes]
    for scale in (0, 1, 100, 127, 254):
        blocks = bs.Blocks(codes[None], np.array([scale], np.uint8))
        for target in ("f32", "bf16", "f16"):
            found = bs.dequantize(blocks, element, bs.E8M0, FORMATS[target])[0]
            for code, number, result in zip(codes, exact, found, strict=True):
                product = number * Fraction(2) ** (scale - 127)
                negative = number == 0 and isinstance(element, FloatFormat) and int(code) >> (element.bits - 1)
                expected = scalar.from_fraction(FORMATS[target], product).code if product else 0
                assert int(result) == (1 << (FORMATS[target].bits - 1) if negative else expected)


def test_the_names_of_recipes() -> None:
    assert bs.recipe_named("mx") is bs.RECIPES["floor"]
    with pytest.raises(ValueError, match="must be one of mx, floor, ceil, even, rceil, nvfp4, nvfp4-te"):
        bs.recipe_named("round")
