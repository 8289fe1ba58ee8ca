"""The margins of approximations in f64, against Arb: errors, sides, domains, and what a margin settles."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from flint import arb

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths.margins import APPROXIMATIONS, FARTHEST, LONGEST_MANTISSA, fits, settled
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.reals.functions import FUNCTIONS, Huge, Near, Special, bits_of_precision

HEADROOM = 16
"""Errors seen here stay so many times below the margin: other machines have other libraries."""
CONSTANTS = (math.pi / 2, 0.5, 1 / 3, math.log(2), math.log(10), math.e)
BF16, F32 = FORMATS["bf16"], FORMATS["f32"]


def operands(draw: random.Random, count: int) -> list[float]:
    """Return numbers of f32 and narrower formats: multiples of constants where functions vanish or have poles, their
    neighbours, numbers near 0 and 1, of every magnitude, and huge ones; and short numbers far beyond f32.
    """
    found = [draw.choice((-1, 1)) * math.ldexp(draw.uniform(1, 2), draw.randint(-149, 127)) for _ in range(count)]
    found += [draw.uniform(-1, 1) * draw.choice((1, 4, 20, 100, 710)) for _ in range(count)]
    for _ in range(count):
        place = draw.choice(CONSTANTS) * draw.randint(-60, 60)
        found += [place, place + draw.choice((-1, 1)) * math.ldexp(1, draw.randint(-24, 2))]
    found += [1 + sign * 2.0**-e for sign in (-1, 1) for e in range(2, 25)]
    narrow = np.array(found, np.float32)
    near = [narrow, np.nextafter(narrow, np.float32(np.inf)), np.nextafter(narrow, np.float32(-np.inf))]
    far = [math.ldexp(draw.randint(-255, 255) or 1, draw.randint(8 - FARTHEST, FARTHEST - 8)) for _ in range(count)]
    return [*(float(x) for x in np.concatenate(near) if np.isfinite(x) and x), *far]


def odd_bits(rational: Fraction) -> int:
    """Return the length of a significand without its zeros at the end."""
    whole = abs(rational.numerator)
    return (whole // (whole & -whole)).bit_length()


def exact(name: str, x: float, bits: int) -> arb:
    """Return the ball of a result with at least so many right bits."""
    precision = 128
    while True:
        with bits_of_precision(precision):
            ball = FUNCTIONS[name].ball(arb(x))
        if ball.is_finite() and ball.rel_accuracy_bits() >= bits:
            return ball
        precision *= 2


def check(name: str, xs: list[float]) -> int:
    """Compare one function at these operands with Arb; return the count of results within the claim."""
    row, domain = APPROXIMATIONS[name], FUNCTIONS[name].limits.domain
    with np.errstate(all="ignore"):
        array = np.array(xs)
        ys, near = row.function(array), row.near(array)
    compared = 0
    for x, y, placed in zip(xs, ys.tolist(), near.tolist(), strict=True):
        known = FUNCTIONS[name].far(Fraction(x))
        outside = (domain[0] is not None and x < domain[0]) or (domain[1] is not None and x > domain[1])
        if name == "tgamma" and x < 0 and x == int(x):
            outside = True
        assert math.isnan(y) == math.isnan(placed) == outside, (name, x, y)
        if outside:
            continue
        if isinstance(known, Huge):
            assert (placed < 0) == known.sign, (name, x, placed)
            assert abs(placed) > 2.0**FARTHEST, (name, x, placed)
            continue
        if isinstance(known, Near) and known.value in (0, Fraction(y)):
            assert known.direction * (Fraction(placed) - known.value) > 0, (name, x, placed)
            compared += 1
            continue
        rational = FUNCTIONS[name].exact(Fraction(x))
        if isinstance(rational, Special) or rational == 0:
            assert math.isinf(placed), (name, x, y)
            continue
        if rational is not None and not Fraction(1, 1 << 1019) < abs(rational) < 1 << 1019:
            assert abs(placed) > 2.0**1018 if abs(rational) > 1 else 0 < abs(placed) < 2.0**-1018, (name, x, placed)
            continue
        if rational is not None:
            assert abs(rational - Fraction(y)) * HEADROOM <= Fraction(math.ulp(y)) * row.margin, (name, x, y)
            compared += 1
            short = rational.denominator & rational.denominator - 1 == 0 and odd_bits(rational) <= BF16.precision + 1
            assert not (short and settled(np.array([placed]), row.margin, BF16)), (name, x, placed)
            continue
        if math.isinf(placed):
            assert name == "lgamma", (name, x, y)
            continue
        ball = exact(name, x, 90)
        assert math.copysign(1, y) == (1 if ball > 0 else -1), (name, x, y)
        if abs(ball) < arb((1, -1019)):
            assert 0 < abs(placed) < 2.0**-1018, (name, x)
            continue
        if not abs(ball) < arb((1, 1019)):
            assert abs(placed) > 2.0**1018, (name, x)
            continue
        ulp = arb(math.ulp(y))
        assert abs(ball - arb(y)) * HEADROOM < ulp * row.margin, (name, x, y)
        assert not abs(ball - arb(placed)) > arb(math.ulp(placed)) * (row.margin + 1), (name, x, placed)
        compared += 1
    return compared


@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_errors_stay_far_below_the_margin(name: str) -> None:
    assert check(name, operands(random.Random(name), 40)) > 40


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_errors_stay_far_below_the_margin_at_many_operands(name: str) -> None:
    assert check(name, operands(random.Random(f"{name} again"), 6000)) > 5000
    for fmt in (FORMATS["bf16"], FORMATS["f16"]):
        numbers = [scalar.value(fmt, code) for code in range(1 << 16)]
        assert check(name, [float(number) for number in numbers if number]) > 5000


def test_every_function_of_one_argument_has_a_row() -> None:
    assert set(APPROXIMATIONS) == set(FUNCTIONS)


def float_of(x: float, steps: int) -> float:
    bits: npt.NDArray[Any] = np.array([x]).view(np.int64) + steps
    return float(bits.view(np.float64)[0])


@pytest.mark.parametrize("fmt", [fmt for fmt in FORMATS.values() if fmt.bits <= 32], ids=str)
@pytest.mark.parametrize("mode", list(Rounding)[:5])
def test_a_settled_number_rounds_like_its_neighbourhood(fmt: FloatFormat, mode: Rounding) -> None:
    margin = 1 << 11
    draw = random.Random(f"{fmt} {mode}")
    boundaries = []
    for _ in range(30):  # values, midpoints, subnormals, what is tiny, what overflows
        lead = draw.choice((fmt.emin, fmt.emin - 1, fmt.emin - fmt.mantissa_bits - 1, fmt.emax, draw.randint(-9, 9)))
        last = draw.choice((0, 1, 2, 3, -1, draw.getrandbits(fmt.precision))) & (2 << fmt.mantissa_bits) - 1
        boundaries.append(math.ldexp((1 << fmt.mantissa_bits + 1) + last, lead - fmt.mantissa_bits - 1))
    compared = 0
    for boundary in boundaries:
        for steps in (0, 1, margin - 1, margin, margin + 1, 4 * margin):
            for sign in (1, -1):
                y = float_of(boundary, sign * steps)
                found = bool(settled(np.array([y]), margin, fmt)[0])
                assert found == (steps >= margin), (y, steps)
                if found:
                    alike = [Fraction(float_of(y, 0))]
                    tip = [Fraction(float_of(y, way * (margin - 1))) for way in (-1, 1)]
                    results = {scalar.from_fraction(fmt, number, mode) for number in (*alike, *tip)}
                    assert len(results) == 1, (y, results)
                    compared += 1
    assert compared > 100


def test_infinities_and_nans_are_not_settled() -> None:
    assert not settled(np.array([np.inf, -np.inf, np.nan, 0.0]), 1 << 11, F32).any()


def test_formats_beyond_f64_do_not_fit() -> None:
    wide = FloatFormat("wide", 12, 3, 2047)
    assert not fits(wide)
    assert not fits(FORMATS["f80"])
    assert all(fits(fmt) for fmt in FORMATS.values() if fmt.bits <= 32)
    assert all(fmt.mantissa_bits <= LONGEST_MANTISSA for fmt in FORMATS.values() if fmt.bits <= 32)
