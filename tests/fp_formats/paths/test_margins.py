"""The margins of approximations in f64, against Arb: errors, sides, domains, and what a margin settles."""

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amounts import amounts, thinned
from flint import arb
from float_samples import codes as codes_of
from float_samples import pairs as pairs_of

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import arithmetic, comparisons, conversions
from halfulp.fp_formats.formats import FORMATS, FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.paths import fast, native_scalar
from halfulp.fp_formats.paths.margins import APPROXIMATIONS, FARTHEST, LONGEST_MANTISSA, fits, settled
from halfulp.fp_formats.policy import SPEC, FloatPolicy, Flushing, Rounding
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
        if name in ("digamma", "tgamma") and x < 0 and x == int(x):
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
            assert name in ("digamma", "lgamma"), (name, x, y)
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


@pytest.mark.parametrize("name", thinned(APPROXIMATIONS, 4))
@pytest.mark.parametrize("count", amounts(40, 6_000))
def test_errors_stay_far_below_the_margin(name: str, count: int) -> None:
    assert check(name, operands(random.Random(name), count)) > count * 5 // 6
    for fmt in (BF16, F16) if count > 40 else ():
        numbers = [scalar.value(fmt, code) for code in range(1 << 16)]
        assert check(name, [float(number) for number in numbers if number]) > 5000


def test_every_function_of_one_argument_has_a_row() -> None:
    assert set(APPROXIMATIONS) == set(FUNCTIONS)


def float_of(x: float, steps: int) -> float:
    bits: npt.NDArray[Any] = np.array([x]).view(np.int64) + steps
    return float(bits.view(np.float64)[0])


@pytest.mark.parametrize("fmt", thinned([fmt for fmt in FORMATS.values() if fmt.bits <= 32], 4), ids=str)
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


# --- denormals f32 ----------------------------------------------------------------------------------------------------
#
# Policies by which f32 alone flushes subnormals: f32 as if all formats did, the others as if none did.

F64, F16 = FORMATS["f64"], FORMATS["f16"]
RNE, RU, RZ = Rounding.TO_NEAREST_EVEN, Rounding.UPWARD, Rounding.TOWARD_ZERO
KEPT = {
    "signed": FloatPolicy(denormals_f32="flush_both"),
    "positive": FloatPolicy(denormals_f32="flush_both", denormal_zero_f32="positive"),
}
TINY, LEAST = 0x0000_0001, 0x0080_0000  # the smallest subnormal, the smallest normal
ONE, HALF, MINUS = 0x3F80_0000, 0x3F00_0000, 0x8000_0000
BOUNDARY = [code | sign for sign in (0, MINUS) for code in (0, 1, 0x40_0000, 0x7F_FFFF, LEAST, LEAST + 1, HALF, ONE)]
BOUNDARY += [0x7F7F_FFFF, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0x7F80_0001]


def test_which_formats_flush() -> None:
    policy = KEPT["positive"]
    assert policy.flushing(F32) == Flushing(True, True, True)
    assert policy.flushing(F64) == policy.flushing(BF16) == Flushing(False, False, False)
    others = FloatPolicy(denormals="flush_operands", denormal_zero="positive", denormals_f32="flush_results")
    assert others.flushing(F32) == Flushing(False, True, True)
    assert others.flushing(F16) == Flushing(True, False, True)
    assert others.without_f32 == FloatPolicy(denormals="flush_operands", denormal_zero="positive")
    assert SPEC.without_f32 is SPEC
    with pytest.raises(ValueError, match="denormals_f32 is 'flush', but must be one of as_others, ieee"):
        FloatPolicy(denormals_f32="flush")


@pytest.mark.parametrize("zero", KEPT)
def test_by_hand(zero: str) -> None:
    policy = KEPT[zero]
    minus = MINUS if zero == "signed" else 0
    assert scalar.add(F32, TINY, TINY, RNE, policy).code == 0
    assert scalar.add(F32, MINUS | TINY, MINUS | TINY, RNE, policy).code == minus  # 0 + 0 of the zeros' signs
    assert scalar.subtract(F32, LEAST, LEAST + 1, RNE, policy).code == minus  # -2**-149 is a result
    assert scalar.multiply(F32, MINUS | LEAST, HALF, RNE, policy).code == minus
    assert scalar.multiply(F32, MINUS | LEAST, ONE, RNE, policy).code == MINUS | LEAST
    assert scalar.divide(F32, ONE, TINY, RNE, policy).code == F32.infinity_code  # 1 / 0
    assert scalar.divide(F32, ONE, MINUS | TINY, RNE, policy).code == F32.infinity_code | minus
    assert scalar.compare(F32, 1, TINY, MINUS | TINY, policy)
    assert scalar.maximum(F32, MINUS | TINY, MINUS | LEAST, policy).code == minus
    assert scalar.fma(F32, TINY, ONE, LEAST, RNE, policy).code == LEAST
    assert scalar.to_integer(F32, TINY, 8, True, RU, policy).code == 0  # 1 without flushing
    assert scalar.negate(F32, TINY, policy).code == MINUS | TINY  # bits
    # A signed zero stays what it is; a NaN too.
    assert scalar.add(F32, MINUS, MINUS, RNE, policy).code == MINUS
    assert scalar.add(F32, 0x7FC0_0001, TINY, RNE, policy).code == 0x7FC0_0001
    # f32's side of a conversion: 2**-140 is normal in f64; bf16's 0x0001 is a subnormal of f32, which flushes.
    assert scalar.convert(F32, F64, 1 << 9, RNE, policy).code == 0
    assert scalar.convert(F64, F32, 0x3730_0000_0000_0000, RNE, policy).code == 0
    assert scalar.convert(BF16, F32, 0x8001, RNE, policy).code == minus
    assert scalar.convert(F32, BF16, 0x0001_0000, RNE, policy).code == 0
    assert scalar.convert(F32, BF16, LEAST, RNE, policy).code == 0x0080
    assert scalar.convert(F32, F16, HALF - (24 << 23), RNE, policy).code == 0  # a tie; 2**-25 is normal in f32
    assert scalar.convert(F32, F16, ONE - (24 << 23), RNE, policy).code == 1  # subnormals of f16 are kept
    for fmt in (F64, BF16, F16):
        assert scalar.add(fmt, 1, 1, RNE, policy).code == 2


def cases(fmt: FloatFormat) -> Iterator[tuple[int, int]]:
    yield from (product(BOUNDARY, repeat=2) if fmt == F32 else zip(*pairs_of(fmt, 300, 1), strict=True))


def as_if(fmt: FloatFormat, zero: str) -> FloatPolicy:
    """Return the policy of all formats under which this one computes the same."""
    return FloatPolicy(denormals="flush_both", denormal_zero=zero) if fmt == F32 else SPEC


@pytest.mark.long
@pytest.mark.parametrize("zero", KEPT)
@pytest.mark.parametrize("fmt", [F32, F64, BF16, F16, FORMATS["f8E5M2"]], ids=str)
def test_arithmetic_and_comparison(fmt: FloatFormat, zero: str) -> None:
    """Every operation, by the specification, on arrays, and by the quick paths, arrays and scalars."""
    policy, known = KEPT[zero], as_if(fmt, zero)
    rows = list(cases(fmt))
    a, b = (ints_to_codes([row[side] for row in rows], fmt.bits, (len(rows),)) for side in (0, 1))
    rounded = ("add", "subtract", "multiply", "divide", "remainder")
    for name in (*rounded, "maximum", "minimum", "maximum_number", "minimum_number"):
        for mode in (RNE, RU, RZ) if name in rounded else (RNE,):
            more = (mode, policy) if name in rounded else (policy,)
            expected = [getattr(scalar, name)(fmt, x, y, *more[:-1], known) for x, y in rows]
            assert [getattr(scalar, name)(fmt, x, y, *more) for x, y in rows] == expected
            found = getattr(arithmetic, name)(fmt, a, b, *more, want_flags=True)
            codes = [each.code for each in expected]
            assert codes_to_ints(found.codes, fmt.bits) == codes
            assert found.flags.tolist() == [each.flags for each in expected]
            assert codes_to_ints(getattr(fast, name)(fmt, a, b, *more).codes, fmt.bits) == codes
            implementation = native_scalar.binary(name, fmt, mode, policy, lambda x, y: -1)
            if fast.path_of(name, fmt, mode, policy) == "native":
                assert fmt == F64
                assert all(implementation(x, y) in (code, -1) for (x, y), code in zip(rows, codes, strict=True))
    for predicate in range(16):
        expected_bits = [scalar.compare(fmt, predicate, x, y, known) for x, y in rows]
        assert [scalar.compare(fmt, predicate, x, y, policy) for x, y in rows] == expected_bits
        for compare in (comparisons.compare, fast.compare):
            assert compare(fmt, predicate, a, b, policy).codes.tolist() == expected_bits


@pytest.mark.long
@pytest.mark.parametrize("zero", KEPT)
@pytest.mark.parametrize("other", [fmt for fmt in FORMATS.values() if fmt not in (F32,)], ids=lambda fmt: fmt.name)
def test_conversions(other: FloatFormat, zero: str) -> None:
    """From f32 as if its operand were flushed before; to f32 as if only f32's results were flushed."""
    policy = KEPT[zero]
    flush = FloatPolicy(denormals="flush_both", denormal_zero=zero)
    results = FloatPolicy(denormals="flush_results", denormal_zero=zero)
    from_f32 = [*BOUNDARY, *codes_of(F32, 1000, 2)]
    to_f32 = codes_of(other, 1000, 3)
    a, b = ints_to_codes(from_f32, 32, (len(from_f32),)), ints_to_codes(to_f32, other.bits, (len(to_f32),))
    for mode in (RNE, RU, RZ):
        down = [scalar.convert(F32, other, scalar.flush(F32, code, flush).code, mode) for code in from_f32]
        up = [scalar.convert(other, F32, code, mode, results) for code in to_f32]
        assert [scalar.convert(F32, other, code, mode, policy) for code in from_f32] == down
        assert [scalar.convert(other, F32, code, mode, policy) for code in to_f32] == up
        for convert in (conversions.convert, fast.convert):
            found = convert(F32, other, a, mode, policy)
            assert codes_to_ints(found.codes, other.bits) == [each.code for each in down]
            found = convert(other, F32, b, mode, policy)
            assert codes_to_ints(found.codes, 32) == [each.code for each in up]


def test_integers() -> None:
    """A subnormal rounds to zero or one; with flushing only to zero. Integers are not subnormal."""
    policy = KEPT["signed"]
    codes = np.array([TINY, 0x7F_FFFF, LEAST, MINUS | TINY, 0x3FC0_0000], np.uint32)
    for module in (conversions, fast):
        found = module.to_integer(F32, codes, 8, True, RU, policy)
        assert found.codes.tolist() == [0, 0, 1, 0, 2]
        found = module.to_integer(F64, np.array([1], np.uint64), 8, True, RU, policy)
        assert found.codes.tolist() == [1]
        numbers = np.array([1, 0xFF], np.uint8)
        kept = module.from_integer(F32, numbers, 8, True, RNE, policy)
        assert kept.codes.tolist() == [ONE, MINUS | ONE]


def test_other_formats_keep_their_quick_paths() -> None:
    policy = KEPT["positive"]
    for operation, fmt in product(
        ("add", "multiply", "compare", "maximum", "fma"), (F64, BF16, F16, FORMATS["f8E5M2"])
    ):
        assert fast.path_of(operation, fmt, RNE, policy) == fast.path_of(operation, fmt, RNE, SPEC)
        assert fast.path_of(operation, F32, RNE, policy) is None
    assert fast.conversion_path(F32, BF16, RNE, policy).kind == "flushed"
    assert fast.conversion_path(BF16, F16, RNE, policy) == fast.conversion_path(BF16, F16, RNE, SPEC)
    assert fast.conversion_path(F64, BF16, RNE, policy).kind == "sum"
    assert fast.conversion_path(F64, F32, RNE, policy).kind == "exact"
    kept = FloatPolicy(denormals="flush_both", denormals_f32="ieee")
    assert fast.path_of("add", F32, RNE, kept) == "native"
    assert fast.path_of("add", F64, RNE, kept) is None
    assert fast.conversion_path(F32, BF16, RNE, kept).kind == "exact"
