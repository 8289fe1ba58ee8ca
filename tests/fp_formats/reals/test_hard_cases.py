"""Hard cases: distances from boundaries against MPFR, searches against enumeration and published worst cases."""

from __future__ import annotations

import random
from fractions import Fraction

import gmpy2
import pytest

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.neighbours import code_at, rank_of, ulp_at
from halfulp.fp_formats.reals import hard_cases

DRAW = random.Random(1).randrange


def operand(fmt: FloatFormat, code: int) -> gmpy2.mpfr:
    """Return a code as MPFR's number of the context's precision, an infinity as NaN."""
    value = scalar.value(fmt, code)
    return gmpy2.nan() if value is None else gmpy2.mpfr(gmpy2.mpq(value.numerator, value.denominator))


def halves_by_mpfr(name: str, fmt: FloatFormat, code: int) -> Fraction | None:
    """Return a result in half ulps, by MPFR with 600 bits; None for one that is not a finite number other than 0."""
    with gmpy2.context(precision=600, emin=-(1 << 19), emax=1 << 19):
        found = getattr(gmpy2, name)(operand(fmt, code))
    if not gmpy2.is_finite(found) or not found:
        return None
    numerator, denominator = found.as_integer_ratio()
    number = Fraction(int(numerator), int(denominator))
    return abs(number) / (ulp_at(fmt, abs(number)) / 2)


@pytest.mark.parametrize(("name", "kind"), [("exp", "f8E5M2"), ("log", "bf16"), ("sin", "f32"), ("tanh", "f64")])
def test_distances_against_mpfr(name: str, kind: str) -> None:
    fmt, seen = FORMATS[kind], 0
    for code in (DRAW(1 << fmt.bits) for _ in range(200)):
        found, halves = hard_cases.distance(name, [fmt], [code], fmt), halves_by_mpfr(name, fmt, code)
        if found is None or halves is None:
            continue
        boundary = round(halves)
        seen += 1
        assert abs(found.ulps - abs(halves - boundary) / 2) <= Fraction(1, 1 << hard_cases.depth_of(fmt))
        if abs(halves - boundary) > Fraction(1, 1 << hard_cases.depth_of(fmt)):
            assert (found.midpoint, found.beyond) == (boundary % 2 == 1, halves > boundary)
    assert seen > 20


def test_results_without_a_distance() -> None:
    bf16, unsigned = FORMATS["bf16"], FORMATS["f8E8M0FNU"]
    one, nan, huge = 0x3F80, 0x7FC1, 0x7F00
    assert hard_cases.distance("log2", [bf16], [one], bf16) is None  # zero
    assert hard_cases.distance("sqrt", [bf16], [one], bf16) is None  # a value
    assert hard_cases.distance("exp", [bf16], [nan], bf16) is None
    assert hard_cases.distance("exp", [bf16], [huge], bf16) is None  # overflow
    assert hard_cases.distance("log", [bf16], [0x3F00], unsigned) is None  # negative
    assert hard_cases.distance("powf", [bf16, None], [one + 1, 3], bf16) is not None


def test_overflow_begins_at_the_midpoint_beyond_the_largest_value() -> None:
    f16 = FORMATS["f16"]
    last = next(
        code for code in range(0x4900, 0x7C00) if scalar.value(f16, code + 1) and not finite("exp", f16, code + 1)
    )
    assert hard_cases.distance("exp", [f16], [last], f16) is not None
    assert hard_cases.distance("exp", [f16], [last + 1], f16) is None


def finite(name: str, fmt: FloatFormat, code: int) -> bool:
    halves = halves_by_mpfr(name, fmt, code)
    return halves is not None and halves < 2 * (2 << fmt.mantissa_bits) - 1


def test_euclid_against_enumeration() -> None:
    draw = random.Random(2)
    for _ in range(2000):
        modulus, count = draw.randint(2, 200), draw.randint(1, 60)
        step, start, width = draw.randint(-500, 500), draw.randint(-300, 300), draw.randint(0, modulus - 1)
        wanted = [k for k in range(count) if (start + step * k) % modulus <= width][:3]
        assert list(hard_cases.multiples_within(step, start, modulus, width, count, 3)) == wanted


@pytest.mark.parametrize("name", ["exp", "tanh", "rsqrt"])
def test_a_search_of_a_small_format_sees_every_argument(name: str) -> None:
    fmt = FORMATS["f8E4M3"]
    every = [
        hard_cases.HardCase(code, near)
        for code in range(256)
        if (near := hard_cases.distance(name, [fmt], [code], fmt))
    ]
    assert hard_cases.search(name, fmt, fmt, DRAW) == sorted(every, key=lambda case: (case.distance.ulps, case.code))
    assert every


@pytest.mark.parametrize(("name", "bits"), [("exp", 10), ("log", 14), ("sin", 10)])
def test_a_search_of_f32_finds_cases_as_hard_as_chance_has_them(name: str, bits: int) -> None:
    fmt = FORMATS["f32"]
    found = hard_cases.search(name, fmt, fmt, DRAW, intervals=64)
    for midpoint in (False, True):
        assert any(case.distance.ulps < Fraction(1, 1 << bits) for case in found if case.distance.midpoint == midpoint)
    for case in found[:: len(found) // 20]:
        halves = halves_by_mpfr(name, fmt, case.code)
        assert halves is not None
        assert abs(case.distance.ulps - abs(halves - round(halves)) / 2) <= Fraction(1, 1 << hard_cases.depth_of(fmt))


@pytest.mark.parametrize(
    ("name", "argument", "bits"),
    [("log", "0x1.62A88613629B6p678", 65), ("exp2", "0x1.E4596526BF94Dp-10", 60)],
)
def test_an_interval_holds_the_published_worst_case(name: str, argument: str, bits: int) -> None:
    """Lefèvre and Muller's worst cases of binary64, among 2**17 arguments."""
    fmt = FORMATS["f64"]
    rank = rank_of(fmt, scalar.from_fraction(fmt, Fraction(float.fromhex(argument))).code)
    assert rank is not None
    ranks = list(hard_cases.near_boundaries(name, fmt, fmt, rank - 50_000, 1 << 17))
    assert rank in ranks
    near = hard_cases.distance(name, [fmt], [code_at(fmt, rank)], fmt)
    assert near is not None
    assert Fraction(1, 1 << bits + 1) < near.ulps < Fraction(1, 1 << bits)


def test_the_double_nearest_to_a_multiple_of_half_pi() -> None:
    """6381956970095103 * 2**797: Kahan's, and J.-M. Muller's "Elementary Functions"."""
    fmt = FORMATS["f64"]
    code = scalar.from_fraction(fmt, Fraction(6381956970095103 << 797)).code
    assert code in hard_cases.near_quarter_turns(fmt, 849)
    part = hard_cases.from_quarter_turns(fmt, code)
    assert part is not None
    assert Fraction(1, 1 << 62) < part < Fraction(1, 1 << 61)


def test_multiples_of_half_pi_against_enumeration() -> None:
    fmt, exponent = FORMATS["bf16"], 5
    binade = range((exponent + fmt.bias) << 7, (exponent + fmt.bias + 1) << 7)
    parts = {code: hard_cases.from_quarter_turns(fmt, code) for code in binade}
    near = [code for code, part in parts.items() if part is not None and part <= Fraction(2, 128)]
    assert hard_cases.near_quarter_turns(fmt, exponent, most=len(near) + 1) == near
    assert near
    with gmpy2.context(precision=200):
        for code in binade[::7]:
            turns = operand(fmt, code) * 2 / gmpy2.const_pi()
            assert abs(float(parts[code] or 2) - float(abs(turns - gmpy2.rint(turns)))) < 1e-9
