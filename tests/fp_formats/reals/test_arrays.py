"""What one ball settles equals the specification, in every mode and with its flags; hardly anything else is left."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import flint
import numpy as np
import pytest

from halfulp.fp_formats.exact import conversions
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.policy import SPEC, Rounding
from halfulp.fp_formats.reals import arrays, elementary
from halfulp.fp_formats.reals.functions import FUNCTIONS

WIDE = ("f32", "f64", "f80", "f128")
MODES = list(Rounding)[:5]


def some_codes(fmt: FloatFormat, count: int, seed: int, spread: int) -> tuple[list[int], Codes]:
    """Return codes of numbers between 2**-spread and 2**spread, every fourth one anywhere in the format."""
    draw = np.random.default_rng(seed)
    codes = []
    for k in range(count):
        fraction = int.from_bytes(draw.bytes(16), "little") & fmt.fraction_mask
        exponent = (
            int(draw.integers(-spread, spread)) + fmt.bias if k % 4 else int(draw.integers(1 << fmt.exponent_bits))
        )
        integer_bit = int(fmt.explicit_integer_bit and exponent > 0)
        field = exponent << fmt.explicit_integer_bit | integer_bit
        codes.append(int(draw.integers(2)) << fmt.bits - 1 | field << fmt.mantissa_bits | fraction)
    return codes, ints_to_codes(codes, fmt.bits, (count,))


def assert_equal(settled: arrays.Settled, expected: list[Any], fmt: FloatFormat) -> None:
    assert settled.result.flags is not None
    found = zip(codes_to_ints(settled.result.codes, fmt.bits), settled.result.flags.tolist(), strict=True)
    for (code, flags), mask, right in zip(found, settled.mask.tolist(), expected, strict=True):
        if mask:
            assert (code, flags) == (right.code, right.flags)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("format_name", WIDE)
def test_functions_of_one_argument(name: str, format_name: str) -> None:
    fmt = FORMATS[format_name]
    codes, array = some_codes(fmt, 12, len(name) + ord(name[-1]), 8)
    for mode in MODES:
        settled = arrays.unary(name, fmt, array, mode, SPEC, None, True)
        assert_equal(settled, [elementary.unary(name, fmt, code, mode) for code in codes], fmt)


@pytest.mark.parametrize("name", ["atan2", "hypot", "powf"])
@pytest.mark.parametrize("format_name", WIDE)
def test_functions_of_two_arguments(name: str, format_name: str) -> None:
    fmt = FORMATS[format_name]
    (xs, first), (ys, second) = some_codes(fmt, 24, 1, 4), some_codes(fmt, 24, 2, 4)
    for mode in MODES:
        settled = arrays.binary(name, fmt, first, second, mode, SPEC, None, True)
        expected = [elementary.binary(name, fmt, x, y, mode) for x, y in zip(xs, ys, strict=True)]
        assert_equal(settled, expected, fmt)


@pytest.mark.parametrize("name", ["powf", "rootn"])
@pytest.mark.parametrize("format_name", WIDE)
def test_functions_of_an_integer(name: str, format_name: str) -> None:
    fmt, width = FORMATS[format_name], 17
    xs, first = some_codes(fmt, 24, 1, 4)
    degrees = [0, 1, -1, 2, -2, 3, -3, 5, -(1 << 16), (1 << 16) - 1, 7, -8] * 2
    second = np.array(degrees).astype(np.uint32) & np.uint32((1 << width) - 1)
    for mode in MODES:
        settled = arrays.of_integer(name, fmt, first, second, width, mode, SPEC, None, True)
        expected = [elementary.of_integer(name, fmt, x, n, mode) for x, n in zip(xs, degrees, strict=True)]
        assert_equal(settled, expected, fmt)
        assert settled.mask.sum() >= 10


@pytest.mark.parametrize("format_name", WIDE)
def test_hardly_anything_is_left(format_name: str) -> None:
    fmt = FORMATS[format_name]
    _, array = some_codes(fmt, 2000, 5, 2)
    usual = np.arange(2000) % 4 != 0
    for name in ("exp", "sin", "tanh", "erf"):
        assert arrays.unary(name, fmt, array[usual]).mask.mean() > 0.98


def test_exact_balls_settle_exact_results() -> None:
    codes = np.array([1.0, 4.0, 2.0, 0.0, np.inf, -1.0, np.nan]).view(np.uint64)
    assert arrays.unary("sqrt", FORMATS["f64"], codes).mask.tolist() == [True, True, True, False, False, False, False]
    assert not arrays.unary("log2", FORMATS["f64"], codes[:2]).mask.any()
    assert not arrays.unary("log", FORMATS["f64"], codes[:1]).mask.any()


EXACT_POWERS = (
    (3, 2),
    (-3, 3),
    (2, -3),
    (-0.5, -7),
    (9, 0.5),
    (2.25, 1.5),
    (-7, 1),
    (3, 30),
    (2**13 + 1, 4),
    (-2, 0.5),
)


@pytest.mark.parametrize("format_name", ["f64", "f80", "f128"])
def test_exact_powers_and_long_squares(format_name: str) -> None:
    fmt, f64 = FORMATS[format_name], FORMATS["f64"]
    bases = [base for base, _ in EXACT_POWERS] + [1 + 2.0**-26, 1 + 2.0**-27 + 2.0**-52, -(2.0**-530) * (1 + 2.0**-30)]
    exponents = [exponent for _, exponent in EXACT_POWERS] + [2, 2, 2]
    codes = [np.array(row, np.float64).view(np.uint64) for row in (bases, exponents)]
    first, second = (conversions.convert(f64, fmt, row).codes for row in codes)
    pairs = list(zip(codes_to_ints(first, fmt.bits), codes_to_ints(second, fmt.bits), strict=True))
    for mode in MODES:
        settled = arrays.binary("powf", fmt, first, second, mode, SPEC, None, True)
        assert settled.mask.tolist() == [pair != EXACT_POWERS[-1] for pair in zip(bases, exponents, strict=True)]
        assert_equal(settled, [elementary.binary("powf", fmt, x, y, mode) for x, y in pairs], fmt)


def test_results_far_beyond_the_format() -> None:
    """The exponent of this gamma has more bits than a code of f128."""
    fmt = FORMATS["f128"]
    code = (fmt.bias + 600) << fmt.mantissa_bits
    settled = arrays.unary("tgamma", fmt, ints_to_codes([code], 128, (1,)))
    assert settled.mask.all()
    assert codes_to_ints(settled.result.codes, 128) == [fmt.infinity_code]


def test_threads_do_not_change_the_precision_of_others() -> None:
    before = flint.ctx.prec
    formats = [FORMATS[name] for name in WIDE] * 2
    work = [(fmt, some_codes(fmt, 300, 5, 2)[1]) for fmt in formats]
    alone = [arrays.unary("sin", fmt, codes) for fmt, codes in work]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(lambda item: arrays.unary("sin", *item), work))
    finally:
        sys.setswitchinterval(interval)
    for one, other in zip(alone, together, strict=True):
        assert (one.mask == other.mask).all()
        assert (one.result.codes == other.result.codes).all()
    assert flint.ctx.prec == before
