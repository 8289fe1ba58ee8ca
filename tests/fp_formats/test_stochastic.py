"""The rules of stochastic rounding against their inequalities, as IEEE P3109 and the documentation state them."""

import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from math import floor

import numpy as np
import pytest
from amounts import amounts, thinned
from present import present

import halfulp as hu
from halfulp.fp_formats import mixed, scalar
from halfulp.fp_formats.exact import arithmetic, comparisons, conversions
from halfulp.fp_formats.formats import FORMATS, FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.policy import FloatPolicy, Rounding

RULES = ("less", "p3109_a", "p3109_b", "p3109_c")
POLICIES = tuple(
    FloatPolicy(stochastic=rule, stochastic_bits=bits) for rule in RULES for bits in ("given", "complement")
)
STOCHASTIC = Rounding.STOCHASTIC
by_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda each: f"{each.stochastic}-{each.stochastic_bits}")


def goes_away(policy: FloatPolicy, f: Fraction, r: int, k: int) -> bool:
    """Decide by the inequality of the rule, on fractions."""
    numbers = 1 << k
    if policy.stochastic_bits == "complement":
        r = numbers - 1 - r
    if policy.stochastic == "less":
        return r < f * numbers
    if policy.stochastic == "p3109_a":
        return floor(f * numbers) + r >= numbers
    if policy.stochastic == "p3109_b":
        return floor(f * 2 * numbers) + 2 * r + 1 >= 2 * numbers
    return round(f * numbers) + r >= numbers  # Python rounds ties to even


# --- every fraction and every number of random bits -------------------------------------------------------------------


@by_policy
@pytest.mark.parametrize("sizes", amounts(((1, 2, 5), 0x0400), ((3, 4, 6, 8), 0x7C00)))
def test_every_fraction_and_every_bit(policy: FloatPolicy, sizes: tuple[Iterable[int], int]) -> None:
    """The first byte of an f16 is the f8E5M2 toward zero, and the second one the discarded fraction."""
    f16, f8 = FORMATS["f16"], FORMATS["f8E5M2"]
    widths, last = sizes
    codes = np.concatenate([np.arange(last), np.arange(0x3B00, 0x3E00), np.arange(0x7A00, 0x7C00)])
    codes = np.unique(np.concatenate([codes, codes | 0x8000])).astype(np.uint16)
    for k in widths:
        table = np.array([[goes_away(policy, Fraction(f, 256), r, k) for r in range(2**k)] for f in range(256)])
        expected = (codes >> 8)[:, np.newaxis] + table[codes & 255]
        given, bits = np.meshgrid(codes, np.arange(2**k, dtype=np.uint64), indexing="ij")
        got = conversions.convert(f16, f8, given, STOCHASTIC, policy, (bits, k))
        assert np.array_equal(got.codes, expected), k


@by_policy
def test_the_specification(policy: FloatPolicy) -> None:
    f16, f8 = FORMATS["f16"], FORMATS["f8E5M2"]
    for code in (*range(0x0100, 0x0300, 3), *range(0xBC00, 0xBE00, 5), *range(0x7B00, 0x7C00, 7)):
        for k in (1, 2, 3):
            for r in range(2**k):
                away = goes_away(policy, Fraction(code & 255, 256), r, k)
                assert scalar.convert(f16, f8, code, STOCHASTIC, policy, (r, k)).code == (code >> 8) + away


@by_policy
def test_to_integers(policy: FloatPolicy) -> None:
    """An f16 from 4 to 8 has eight bits after the point."""
    f16, k = FORMATS["f16"], 4
    codes = np.arange(0x4400, 0x4800, 3, dtype=np.uint16)
    given, bits = np.meshgrid(codes, np.arange(16, dtype=np.uint64), indexing="ij")
    got = conversions.to_integer(f16, given, 8, True, STOCHASTIC, policy, (bits, k)).codes
    for code, row in zip(codes.tolist(), got.tolist(), strict=True):
        value = 4 + Fraction(code - 0x4400, 256)
        want = [floor(value) + goes_away(policy, value % 1, r, k) for r in range(16)]
        assert row == want
        assert [scalar.to_integer(f16, code, 8, True, STOCHASTIC, policy, (r, k)).code for r in range(16)] == want


# --- many random bits, and wide formats -------------------------------------------------------------------------------

WIDTHS = (1, 8, 16, 32, 53, 64)
PAIRS = (("f64", "bf16"), ("f64", "f32"), ("f80", "f32"), ("f128", "f64"), ("f128", "f80"), ("f80", "f8E4M3FN"))


def critical_bits(f: Fraction, k: int) -> list[int]:
    """Return the random bits next to those where a rule changes its mind, and the ends."""
    near = [place + step for place in (floor(f * 2**k), 2**k - floor(f * 2**k)) for step in range(-2, 3)]
    return sorted({r for r in (0, 1, *near, 2**k - 1) if 0 <= r < 2**k})


def fractions_of(k: int, bits: int, count: int) -> Iterator[Fraction]:
    """Yield fractions of so many bits: ends, halves of 2**-k, ones beside these, and random ones."""
    rng = random.Random(f"{k} {bits}")
    unit, half = Fraction(1, 2**bits), Fraction(1, 2 ** (k + 1))
    yield from (unit, 1 - unit, Fraction(1, 2))
    if k + 1 <= bits:
        for _ in range(count):
            tie = (2 * rng.getrandbits(k) + 1) * half
            yield tie
            yield from (each for each in (tie - unit, tie + unit) if 0 < each < 1)
    yield from (Fraction(rng.randrange(1, 2**bits), 2**bits) for _ in range(count))


@by_policy
@pytest.mark.parametrize("pair", thinned(PAIRS, 4), ids="-".join)
@pytest.mark.parametrize("count", amounts(2, 60))
def test_widths_of_random_bits(pair: tuple[str, str], policy: FloatPolicy, count: int) -> None:
    src, dst = (FORMATS[name] for name in pair)
    rng = random.Random(repr(pair))
    for k in WIDTHS:
        rows = []
        for f in fractions_of(k, src.precision - dst.precision, count):
            low = 2 ** (dst.precision - 1) + rng.getrandbits(dst.precision - 1)
            exact = scalar.from_fraction(src, low + f)
            assert not exact.flags
            toward, away = (scalar.from_fraction(dst, Fraction(each)) for each in (low, low + 1))
            assert toward.flags == away.flags == 0
            for r in critical_bits(f, k):
                rows.append((exact.code, r, (away if goes_away(policy, f, r, k) else toward).code))
        for code, r, want in rows:
            assert scalar.convert(src, dst, code, STOCHASTIC, policy, (r, k)).code == want, (k, r, hex(code))
        codes, bits, wanted = zip(*rows, strict=True)
        given = ints_to_codes(codes, src.bits, (len(rows),))
        got = conversions.convert(src, dst, given, STOCHASTIC, policy, (np.array(bits, np.uint64), k))
        assert codes_to_ints(got.codes, dst.bits) == list(wanted), k


@by_policy
def test_numbers_that_are_not_dyadic(policy: FloatPolicy) -> None:
    fmt = FORMATS["f80"]
    for k in WIDTHS:
        for f in (Fraction(1, 3), Fraction(2, 3), Fraction(1, 2**64 + 1), 1 - Fraction(1, 3 * 2**64)):
            for r in critical_bits(f, k):
                got = scalar.from_fraction(fmt, 2**63 + f, STOCHASTIC, policy, (r, k))
                assert scalar.value(fmt, got.code) == 2**63 + goes_away(policy, f, r, k)


# --- arithmetic -------------------------------------------------------------------------------------------------------


@lru_cache
def positive_values(fmt: FloatFormat) -> list[Fraction]:
    """Return the values of the finite codes without a sign, in order."""
    values = [scalar.value(fmt, code) for code in range(fmt.max_code + 1)]
    assert None not in values
    return values  # type: ignore[return-value]


def bracket(fmt: FloatFormat, exact: Fraction) -> tuple[int, Fraction]:
    """Return the code toward zero, without a sign, and the discarded fraction."""
    values = positive_values(fmt)
    low = bisect_right(values, abs(exact)) - 1
    return low, (abs(exact) - values[low]) / (values[low + 1] - values[low])


def expected(fmt: FloatFormat, exact: Fraction, policy: FloatPolicy, r: int, k: int) -> int:
    low, f = bracket(fmt, exact)
    return low + (f > 0 and goes_away(policy, f, r, k)) | (exact < 0) << (fmt.bits - 1)


@by_policy
@pytest.mark.parametrize("k", [1, 4, 20, 64])
def test_division(policy: FloatPolicy, k: int) -> None:
    fmt, rng = FORMATS["f8E4M3FN"], random.Random(k)
    values = positive_values(fmt)
    rows: list[tuple[int, int, int, int]] = []
    while len(rows) < 60:
        a, b, sign = rng.randrange(1, 0x7E), rng.randrange(1, 0x7E), rng.getrandbits(1)
        exact = values[a] / values[b] * (1 - 2 * sign)
        if abs(exact) < values[-1]:
            r = rng.choice([rng.getrandbits(k), *critical_bits(bracket(fmt, exact)[1], k)])
            rows.append((a | sign << 7, b, r, expected(fmt, exact, policy, r, k)))
    for a, b, r, want in rows:
        assert scalar.divide(fmt, a, b, STOCHASTIC, policy, (r, k)).code == want
    x, y, bits, wanted = zip(*rows, strict=True)
    given = (np.array(x, np.uint8), np.array(y, np.uint8))
    noise = (np.array(bits, np.uint64), k)
    assert arithmetic.divide(fmt, *given, STOCHASTIC, policy, noise).codes.tolist() == list(wanted)


@by_policy
@pytest.mark.parametrize("k", thinned([1, 5, 32], 3))
def test_fused_multiply_add(policy: FloatPolicy, k: int) -> None:
    """Of one format, and of f8 products and an f32 addend rounded to f8."""
    f8, f32, rng = FORMATS["f8E4M3FN"], FORMATS["f32"], random.Random(k)
    rows: list[tuple[int, int, int, int, Fraction]] = []
    while len(rows) < 60:
        a, b, c = (rng.randrange(0x20, 0x50) | rng.getrandbits(1) << 7 for _ in range(3))
        p, q, s = (positive_values(f8)[code & 0x7F] * (1 - 2 * (code >> 7)) for code in (a, b, c))
        if 0 < abs(p * q + s) < positive_values(f8)[-1]:
            rows.append((a, b, c, rng.getrandbits(k), p * q + s))
    want = [expected(f8, exact, policy, r, k) for *_, r, exact in rows]
    assert [scalar.fma(f8, a, b, c, STOCHASTIC, policy, (r, k)).code for a, b, c, r, _ in rows] == want
    x, y, z = (np.array(column, np.uint8) for column in list(zip(*rows, strict=True))[:3])
    bits = (np.array([r for *_, r, _ in rows], np.uint64), k)
    assert arithmetic.fma(f8, x, y, z, STOCHASTIC, policy, bits).codes.tolist() == want
    columns = (x, y, conversions.convert(f8, f32, z).codes)
    formats = (f8, f8, f32)
    assert comparisons.operate("fma", formats, f8, columns, STOCHASTIC, policy, bits).codes.tolist() == want
    for row, (*_, r, _), code in zip(zip(*columns, strict=True), rows, want, strict=True):
        given = [int(each) for each in row]
        assert mixed.operate("fma", formats, f8, given, STOCHASTIC, policy, (r, k)).code == code


# --- what users call --------------------------------------------------------------------------------------------------


@by_policy
def test_convert_and_eval(policy: FloatPolicy) -> None:
    profile = hu.Profile(stochastic=policy.stochastic, stochastic_bits=policy.stochastic_bits)
    random_bits = np.arange(256, dtype=np.uint8)
    f8 = FORMATS["f8E4M3FN"]
    for a, b in ((0x3C, 0x3D), (0x39, 0x43), (0xC1, 0x2B)):
        codes = [hu.Value.from_bits(np.full(256, code, np.uint8), "tensor<256xf8E4M3FN>") for code in (a, b)]
        x, y = present(scalar.value(f8, a)), present(scalar.value(f8, b))
        for op, exact in (("addf", x + y), ("subf", x - y), ("mulf", x * y), ("divf", x / y)):
            found = hu.eval(f"arith.{op}", *codes, rounding="stochastic", random=random_bits, profile=profile)
            assert found.bits.tolist() == [expected(f8, exact, policy, r, 8) for r in range(256)], op
    for number in (1.1, -0.3, 2.0**-10, 300.7):
        given = np.full(256, number)
        want = [expected(f8, Fraction(number), policy, r, 8) for r in range(256)]
        assert hu.convert(given, f8, rounding="SR", random=random_bits, profile=profile).bits.tolist() == want
        cast = hu.eval("arith.truncf", given, to=f8, rounding="SR", random=random_bits, profile=profile)
        assert cast.bits.tolist() == want


MODES_OF_GFLOAT = {"p3109_a": "StochasticFastest", "p3109_b": "StochasticFast", "p3109_c": "Stochastic"}


@pytest.mark.parametrize("rule", MODES_OF_GFLOAT)
def test_gfloat(rule: str) -> None:
    """gfloat 0.5 computes the discarded fraction of an f16 exactly."""
    gfloat = pytest.importorskip("gfloat")
    formats = pytest.importorskip("gfloat.formats")
    mode = getattr(gfloat.RoundMode, MODES_OF_GFLOAT[rule])
    f16, f8, policy = FORMATS["f16"], FORMATS["f8E5M2"], FloatPolicy(stochastic=rule)
    for k in (1, 3, 6):
        for code in (*range(0x3C00, 0x3E00, 3), *range(0x0001, 0x0300, 11), *range(0xC500, 0xC600, 5)):
            value = float(np.array(code, np.uint16).view(np.float16))
            for r in {0, 1, 2**k // 3, 2**k - 1 - (code & 255) * 2**k // 256, 2**k - 1}:
                given = gfloat.round_float(formats.format_info_ocp_e5m2, value, mode, srbits=r, srnumbits=k)
                got = scalar.convert(f16, f8, code, STOCHASTIC, policy, (r, k)).code
                assert scalar.value(f8, got) == given, (hex(code), r, k)
