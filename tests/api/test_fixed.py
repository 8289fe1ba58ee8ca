"""hu.fixed.array, hu.fixed.FixedArray and hu.quant.requantize."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tables import each_row

import halfulp as hu

FORMAT = hu.fixed.FixedFormat(8, 4, rounding="AC_RND_CONV", overflow="AC_SAT")


def test_from_every_kind_of_number() -> None:
    assert hu.fixed.array([0.3, -1.7, 100.0], FORMAT).integers.tolist() == [5, -27, 127]
    assert hu.fixed.array(np.float32(0.3), FORMAT).integers.tolist() == 5
    assert hu.fixed.array(Fraction(1, 3), FORMAT).fractions() == Fraction(5, 16)
    assert hu.fixed.array([Fraction(1, 3), Fraction(-7, 2)], FORMAT).fractions() == [Fraction(5, 16), Fraction(-7, 2)]
    assert hu.fixed.array(np.arange(-9, 9), FORMAT).numpy().tolist() == [
        max(-8.0, min(7.9375, x)) for x in range(-9, 9)
    ]
    assert hu.fixed.array(hu.convert([[1.5], [-2.0]], "f8E4M3FN"), FORMAT).numpy().tolist() == [[1.5], [-2.0]]
    assert hu.fixed.array(hu.Value.from_bits(np.array([255, 3], np.uint8), "i8"), FORMAT).numpy().tolist() == [
        -1.0,
        3.0,
    ]
    assert hu.fixed.array([-1.0], FORMAT).codes.tolist() == [0xF0]
    assert "ac_fixed<8, 4, true, AC_RND_CONV, AC_SAT>=0.3125 -1.6875" in repr(hu.fixed.array([0.3, -1.7], FORMAT))


@pytest.mark.parametrize(("x", "reason"), [([np.inf], "no infinities and no NaN"), ([np.nan], "no NaN")])
def test_what_has_no_place(x: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        hu.fixed.array(x, FORMAT)


@pytest.mark.parametrize("widths", [(8, 6), (40, 33), (90, 70)])
def test_operators_are_exact(widths: tuple[int, int]) -> None:
    rng = np.random.default_rng(widths[0])
    wide = [
        hu.fixed.FixedFormat(width, width // 3, signed) for width, signed in zip(widths, (True, False), strict=True)
    ]
    numbers = [[Fraction(int(k), 3 << 20) for k in rng.integers(-(1 << 40), 1 << 40, 40)] for _ in wide]
    x, y = (hu.fixed.array(each, fmt) for each, fmt in zip(numbers, wide, strict=True))
    for a, b, total, difference, product, negated in zip(
        *(each.fractions() for each in (x, y, x + y, x - y, x * y, -x)), strict=True
    ):
        assert (total, difference, product, negated) == (a + b, a - b, a * b, -a)
    for result in (x + y, x - y, x * y, -x):
        assert all(result.format.lowest <= each <= result.format.highest for each in result.integers.tolist())
    narrow = hu.fixed.FixedFormat(7, 3, True, "AC_RND_INF", "AC_SAT_SYM")
    assert (x * y).to(narrow).integers.tolist() == hu.fixed.array((x * y).fractions(), narrow).integers.tolist()


def test_values_beyond_f64() -> None:
    x = hu.fixed.array(Fraction(1, 3), hu.fixed.FixedFormat(80, 4))
    with pytest.raises(ValueError, match="f64 cannot represent all values"):
        x.numpy()
    assert x.fractions() == Fraction((1 << 76) // 3, 1 << 76)


def test_requantize() -> None:
    """CMSIS-NN's steps on 1000 and -1000 with a scale of 0.0625: 62.5 rounds away from zero in the last step."""
    multiplier, shift = hu.quant.multiplier(0.0625)
    assert (multiplier, shift) == (1 << 30, -3)
    found = hu.quant.requantize(np.array([1000, -1000, 10**6], np.int32), multiplier, shift, "cmsis-nn")
    assert (found.tolist(), str(found.element_type)) == ([63, -63, 127], "i8")
    single = hu.quant.requantize(np.array([1000, -1000], np.int32), multiplier, shift, "tflite-single")
    assert single.tolist() == [63, -62]
    tosa = hu.quant.requantize(
        np.array([[1000, -1000], [1000, -1000]], np.int32), [1 << 30, 1 << 29], [34, 34], "tosa", axis=1
    )
    assert tosa.tolist() == [[63, -31], [63, -31]]
    unsigned = hu.quant.requantize(
        [[-5], [500]], multiplier, shift, to="ui8", input_zero_point=3, output_zero_point=128
    )
    assert unsigned.tolist() == [[127], [159]]


@each_row(
    (lambda: hu.quant.requantize([1], 1, 1, "tflight"), "rule is 'tflight', but must be one of gemmlowp"),
    (lambda: hu.quant.requantize([1], 1, 1, to="f32"), "must be an integer type of 1 to 32 bits"),
    (lambda: hu.quant.requantize([1.5], 1, 1), "must have integers"),
    (lambda: hu.quant.requantize([1, 2], [1, 2], 1), "give axis="),
    (lambda: hu.quant.requantize([1, 2], [1, 2, 3], 1, axis=0), "dimension 0 of x has 2 positions"),
    (lambda: hu.quant.requantize([1 << 62], 1, 1), "more than 62 bits"),
)
def test_errors(call: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        call()
