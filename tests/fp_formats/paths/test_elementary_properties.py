"""Properties of elementary functions that hold for each argument, whatever the right bits are.

Monotone functions give monotone codes, odd and even ones are symmetric, directed modes enclose the others, and flags say
what the results show.
"""

from __future__ import annotations

import random
from fractions import Fraction

import by_mpmath
import pytest
from mpmath import mp

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.paths import elementary
from halfulp.fp_formats.policy import Flags, Rounding
from halfulp.fp_formats.reals.functions import FUNCTIONS

INCREASING = {
    *(
        "exp",
        "exp2",
        "exp10",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "asin",
        "atan",
        "sinh",
        "tanh",
        "asinh",
        "acosh",
    ),
    *("atanh", "sqrt", "cbrt", "erf", "sigmoid", "softplus", "logit"),
}
DECREASING = {"acos", "erfc"}
DECREASING_ABOVE_ZERO = {"rsqrt", "reciprocal"}
ODD = {"sin", "tan", "sinpi", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "cbrt", "erf", "reciprocal"}
EVEN = {"cos", "cospi", "cosh"}
NEAREST, AWAY = Rounding.TO_NEAREST_EVEN, Rounding.TO_NEAREST_AWAY
DOWN, UP, ZERO = Rounding.DOWNWARD, Rounding.UPWARD, Rounding.TOWARD_ZERO
WIDE = ("f32", "f64", "f80", "f128")


def runs(fmt: FloatFormat, count: int, seed: str) -> list[int]:
    """Return positive codes in runs of four neighbours: of ordinary numbers, and from everywhere."""
    draw = random.Random(seed + fmt.name)
    place = fmt.mantissa_bits + fmt.explicit_integer_bit
    integer_bit = 1 << fmt.mantissa_bits if fmt.explicit_integer_bit else 0
    codes = [0, 1, 2, fmt.max_code, fmt.infinity_code or 0, fmt.bias << place | integer_bit]
    for k in range(count // 4):
        field = fmt.bias + draw.randrange(-9, 8) if k % 3 else draw.randrange(1, (1 << fmt.exponent_bits) - 1)
        start = field << place | integer_bit | draw.getrandbits(fmt.mantissa_bits) & ~3
        codes += range(start, start + 4)
    return sorted(codes)


def results(name: str, fmt: FloatFormat, codes: list[int], mode: Rounding) -> tuple[list[int], list[int]]:
    found = elementary.unary(name, fmt, ints_to_codes(codes, fmt.bits, (len(codes),)), mode, want_flags=True)
    assert found.flags is not None
    return codes_to_ints(found.codes, fmt.bits), found.flags.tolist()


def order(fmt: FloatFormat, code: int) -> int | None:
    """Return the place of a code among the numbers of its format; None for a NaN. Both zeros have place 0."""
    if fmt.is_nan(code):
        return None
    sign = fmt.sign_mask or 0
    place = code & ~sign
    if fmt.explicit_integer_bit:
        place = place >> fmt.precision << fmt.mantissa_bits | place & fmt.fraction_mask
    return -place if code & sign else place


def is_monotone(fmt: FloatFormat, codes: list[int]) -> bool:
    places = [place for code in codes if (place := order(fmt, code)) is not None]
    return places == sorted(places)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("format_name", ["f8E5M2", *WIDE])
def test_order_and_symmetry(name: str, format_name: str) -> None:
    fmt = FORMATS[format_name]
    sign = fmt.sign_mask or 0
    positive = list(range(fmt.infinity_code + 1)) if fmt.bits == 8 and fmt.infinity_code else runs(fmt, 80, name)
    negative = [code | sign for code in positive]
    above = {mode: results(name, fmt, positive, mode)[0] for mode in (NEAREST, DOWN, UP, ZERO, AWAY)}
    below = {mode: results(name, fmt, negative, mode)[0] for mode in above}
    for mode in above:
        if name in INCREASING:
            assert is_monotone(fmt, below[mode][::-1] + above[mode])
        if name in DECREASING:
            assert is_monotone(fmt, above[mode][::-1] + below[mode])
        if name in DECREASING_ABOVE_ZERO:
            assert is_monotone(fmt, above[mode][::-1])
        mirrored = {DOWN: UP, UP: DOWN}.get(mode, mode)
        for one, other in zip(above[mode], below[mirrored if name in ODD else mode], strict=True):
            if not fmt.is_nan(one) and name in ODD:
                assert other == one ^ sign
            if name in EVEN:
                assert other == one


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("format_name", ["f8E5M2", *WIDE])
def test_modes_and_flags(name: str, format_name: str) -> None:
    fmt = FORMATS[format_name]
    sign = fmt.sign_mask or 0
    codes = list(range(fmt.infinity_code or 0)) if fmt.bits == 8 else runs(fmt, 60, name)
    codes += [code | sign for code in codes]
    down, up, nearest, zero, away = (results(name, fmt, codes, mode) for mode in (DOWN, UP, NEAREST, ZERO, AWAY))
    for k, code in enumerate(codes):
        low, high = order(fmt, down[0][k]), order(fmt, up[0][k])
        flags = [each[1][k] for each in (down, up, nearest, zero, away)]
        if low is None or high is None:
            assert set(flags) == {Flags.INVALID}, hex(code)
            continue
        inexact = bool(flags[0] & Flags.INEXACT)
        assert high - low == inexact, hex(code)  # neighbours, or the same
        places = {order(fmt, each[0][k]) for each in (nearest, away)}
        assert places <= {low, high}
        assert order(fmt, zero[0][k]) == (low if low >= 0 and not down[0][k] & sign else high)
        for each in flags:
            assert not each & Flags.INVALID
            assert bool(each & Flags.INEXACT) == inexact
            assert inexact or not each & (Flags.OVERFLOW | Flags.UNDERFLOW)
        if flags[0] & Flags.DIVIDE_BY_ZERO:
            assert not inexact
            assert fmt.is_infinite(up[0][k])
        if nearest[1][k] & Flags.OVERFLOW:
            assert fmt.is_infinite(nearest[0][k])
        if nearest[1][k] & Flags.UNDERFLOW:
            # The least normal number may be tiny before it is rounded to the exponents of the format.
            assert nearest[0][k] & ~sign <= fmt.min_normal_code


def exact_of(name: str, exact: Fraction) -> Fraction | None:
    """Return mpmath's result with 600 bits; None where that is exact or the argument out of the domain."""
    if FUNCTIONS[name].exact(exact) is not None or (name == "logit" and not 0 < exact < 1):
        return None
    with mp.workprec(900):
        value = by_mpmath.FORMULAS[name](mp.mpf(exact.numerator) / exact.denominator)
        significand, exponent = abs(value).man_exp
    found = int(significand) * Fraction(2) ** int(exponent)
    return -found if value < 0 else found


def compare_with_mpmath(name: str, fmt: FloatFormat, count: int, seed: str) -> None:
    draw = random.Random(seed + name + fmt.name)
    modes = (NEAREST, DOWN, UP, ZERO, AWAY)
    rows: list[tuple[int, Fraction]] = []
    while len(rows) < count:
        scale = Fraction(2) ** draw.randrange(-60, 4)
        number = Fraction(
            draw.randrange(1 << 20, 1 << 21) if draw.randrange(3) == 0 else draw.getrandbits(fmt.precision) | 1
        )
        bits = number.numerator.bit_length()
        code = scalar.from_fraction(fmt, number / (1 << bits) * scale * draw.choice((1, -1))).code
        exact = scalar.value(fmt, code)
        assert exact is not None
        wanted = exact_of(name, exact)
        if wanted is not None:
            rows.append((code, wanted))
    for k, mode in enumerate(modes):
        part = rows[k :: len(modes)]
        found, _ = results(name, fmt, [code for code, _ in part], mode)
        for (code, wanted), ours in zip(part, found, strict=True):
            assert ours == scalar.from_fraction(fmt, wanted, mode).code, (mode, hex(code))


@pytest.mark.parametrize("name", by_mpmath.NAMES)
@pytest.mark.parametrize("format_name", WIDE)
def test_samples_of_what_mpfr_lacks(name: str, format_name: str) -> None:
    compare_with_mpmath(name, FORMATS[format_name], 25, "few")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", by_mpmath.NAMES)
@pytest.mark.parametrize("format_name", WIDE)
def test_many_samples_of_what_mpfr_lacks(name: str, format_name: str) -> None:
    compare_with_mpmath(name, FORMATS[format_name], 100_000 if format_name == "f32" else 10_000, "many")
