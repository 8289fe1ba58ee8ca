"""Samples of f32, f64, f80 and f128, and pairs of narrow formats, against MPFR computing in the format itself.

`results` knows nothing of the code that it checks: it takes MPFR's numbers apart and puts IEEE codes together.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

import gmpy2
import pytest
from mpfr import MPFR, MPFR_MODES, MPFR_OF_TWO

from halfulp.fp_formats.formats import FORMATS, FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.paths import elementary
from halfulp.fp_formats.policy import Rounding

WIDE = ("f32", "f64", "f80", "f128")
SLOW = {"tgamma", "lgamma", "erf", "erfc"}
"""MPFR takes up to milliseconds for these at large arguments of wide formats."""


def code_of(fmt: FloatFormat, number: Any) -> int | None:
    """Return the IEEE code of a number of MPFR that the format has; None for a NaN."""
    if gmpy2.is_nan(number):
        return None
    sign = int(gmpy2.is_signed(number)) << fmt.bits - 1
    if gmpy2.is_infinite(number):
        return sign | int(fmt.infinity_code or 0)
    if number == 0:
        return sign
    significand, exponent = (int(part) for part in abs(number).as_mantissa_exp())
    last = max(exponent + significand.bit_length() - fmt.precision, fmt.emin - fmt.mantissa_bits)
    zeros = max(last - exponent, 0)
    assert not significand & (1 << zeros) - 1
    kept = significand >> zeros << max(exponent - last, 0)
    field = last - (fmt.emin - fmt.mantissa_bits) + 1 if kept >> fmt.mantissa_bits else 0
    if fmt.explicit_integer_bit:
        return sign | field << fmt.precision | kept
    return sign | field << fmt.mantissa_bits | kept & fmt.fraction_mask


def number_of(fmt: FloatFormat, code: int) -> Any:
    """Return an IEEE code as a number of MPFR, exactly."""
    field = code >> fmt.mantissa_bits + fmt.explicit_integer_bit & (1 << fmt.exponent_bits) - 1
    significand = code & (1 << fmt.mantissa_bits) - 1
    sign = code >> fmt.bits - 1
    with gmpy2.context(precision=fmt.precision, emax=1 << 20, emin=-(1 << 20)):
        if field == (1 << fmt.exponent_bits) - 1:
            number = gmpy2.nan() if significand else gmpy2.inf()
        else:
            whole = significand | (1 << fmt.mantissa_bits if field else 0)
            exponent = max(field, 1) - fmt.bias - fmt.mantissa_bits
            number = gmpy2.mpfr(whole)
            number = gmpy2.mul_2exp(number, exponent) if exponent >= 0 else gmpy2.div_2exp(number, -exponent)
        return -number if sign else number


def results(
    fmt: FloatFormat, function: Callable[..., Any], rows: Sequence[tuple[Any, ...]], mode: Rounding
) -> list[int | None]:
    """Return the codes of MPFR's results in a mode that MPFR has."""
    with gmpy2.context(
        precision=fmt.precision,
        emin=fmt.emin - fmt.mantissa_bits + 1,
        emax=fmt.emax + 1,
        subnormalize=True,
        round=MPFR_MODES[mode],
    ):
        return [code_of(fmt, function(*row)) for row in rows]


def drawn(fmt: FloatFormat, draw: random.Random, near: int) -> int:
    """Return a code: anywhere, of a short number, next to a short number, or of a number within 2**-near to 2**near."""
    kind = draw.randrange(5)
    integer_bit = 1 << fmt.mantissa_bits if fmt.explicit_integer_bit else 0
    sign = draw.getrandbits(1) << fmt.bits - 1
    place = fmt.mantissa_bits + fmt.explicit_integer_bit
    if kind == 0:
        field = draw.randrange(1 << fmt.exponent_bits)
        if field == (1 << fmt.exponent_bits) - 1:
            fraction = draw.choice((0, 1 << fmt.mantissa_bits - 1))
        else:
            fraction = draw.getrandbits(fmt.mantissa_bits)
        return sign | field << place | (integer_bit if field else 0) | fraction
    field = fmt.bias + draw.randrange(-near, near)
    if kind <= 2:
        fraction = draw.getrandbits(4) << fmt.mantissa_bits - 4
        step = draw.choice((0, 0, 1, -1)) if kind == 2 else 0
        code = field << place | integer_bit | fraction
        return sign | (code + step if (code + step) & integer_bit == integer_bit else code)
    return sign | field << place | integer_bit | draw.getrandbits(fmt.mantissa_bits)


def assert_alike(
    name: str, fmt: FloatFormat, function: Callable[..., Any], columns: list[list[int]], mode: Rounding
) -> None:
    rows = [tuple(number_of(fmt, code) for code in row) for row in zip(*columns, strict=True)]
    arrays = [ints_to_codes(column, fmt.bits, (len(column),)) for column in columns]
    compute: Any = elementary.unary if len(arrays) == 1 else elementary.binary
    found = codes_to_ints(compute(name, fmt, *arrays, rounding=mode).codes, fmt.bits)
    for codes, code, wanted in zip(zip(*columns, strict=True), found, results(fmt, function, rows, mode), strict=True):
        if name == "rsqrt" and not codes[0] & ~(fmt.sign_mask or 0):
            continue  # IEEE keeps the sign of the pole at -0, MPFR does not
        what = (name, fmt.name, mode, [hex(c) for c in codes], hex(code), wanted and hex(wanted))
        assert (wanted is None and fmt.is_nan(code)) or code == wanted, what


def compare_one(name: str, fmt: FloatFormat, count: int, seed: str) -> None:
    draw = random.Random(seed + name + fmt.name)
    codes = [drawn(fmt, draw, 6) for _ in range(count)]
    if name in SLOW and fmt.precision > 24:
        codes = [code for code in codes if abs(number_of(fmt, code)) < 64]
    for k, mode in enumerate(MPFR_MODES):
        assert_alike(name, fmt, MPFR[name], [codes[k :: len(MPFR_MODES)]], mode)


@pytest.mark.parametrize("name", MPFR)
@pytest.mark.parametrize("format_name", WIDE)
def test_samples_of_wide_formats(name: str, format_name: str) -> None:
    compare_one(name, FORMATS[format_name], 60, "few")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MPFR)
@pytest.mark.parametrize("format_name", WIDE)
def test_many_samples_of_wide_formats(name: str, format_name: str) -> None:
    compare_one(name, FORMATS[format_name], 100_000 if format_name == "f32" else 10_000, "many")


@pytest.mark.parametrize("name", MPFR_OF_TWO)
@pytest.mark.parametrize("format_name", ["f16", "bf16", *WIDE])
def test_samples_of_pairs(name: str, format_name: str) -> None:
    compare_two(name, FORMATS[format_name], 160, "few")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MPFR_OF_TWO)
@pytest.mark.parametrize("format_name", ["bf16", *WIDE])
def test_many_samples_of_pairs(name: str, format_name: str) -> None:
    """A million pairs of bf16."""
    compare_two(name, FORMATS[format_name], 1_000_000 if format_name == "bf16" else 10_000, "many")


def compare_two(name: str, fmt: FloatFormat, count: int, seed: str) -> None:
    draw = random.Random(seed + name + fmt.name)
    columns = [[drawn(fmt, draw, 6) for _ in range(count)] for _ in range(2)]
    for k, mode in enumerate(MPFR_MODES):
        assert_alike(name, fmt, MPFR_OF_TWO[name], [column[k :: len(MPFR_MODES)] for column in columns], mode)
