"""native_scalar.py equals scalar.py: on corners crossed, ties of f32, random codes, and by hypothesis."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from amounts import amounts
from float_samples import interesting, one_code
from hypothesis import given
from hypothesis import strategies as st

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths import native_scalar
from halfulp.fp_formats.policy import SPEC, FloatPolicy, Rounding

F32, F64 = FORMATS["f32"], FORMATS["f64"]
OPERATIONS = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "maximum_number", "minimum_number")
POLICIES = (
    SPEC,
    FloatPolicy(nan_result="canonical", conversion_overflow="saturate", number_of_signalling="quieted"),
    FloatPolicy(denormals="flush_both", extrema="selected"),
)
RNE = Rounding.TO_NEAREST_EVEN
COUNTS = amounts(800, 4_000)


def specified(name: str, fmt: FloatFormat, policy: FloatPolicy) -> Callable[[int, int], int]:
    arguments: tuple[Any, ...] = (RNE, policy) if name in OPERATIONS[:4] else (policy,)
    return lambda a, b: getattr(scalar, name)(fmt, a, b, *arguments).code


def pairs(fmt: FloatFormat, count: int) -> Iterator[tuple[int, int]]:
    yield from product(interesting(fmt), repeat=2)
    rng = random.Random(5)
    for _ in range(count):
        a = one_code(fmt, rng)
        yield a, one_code(fmt, rng)
        yield a, (a + rng.randint(-3, 3) ^ rng.choice((0, fmt.sign_mask or 0))) & fmt.code_mask


@pytest.mark.long
@pytest.mark.parametrize("policy", POLICIES, ids=range(len(POLICIES)))
@pytest.mark.parametrize("fmt", [F32, F64], ids=str)
@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("count", COUNTS)
def test_operations(name: str, fmt: FloatFormat, policy: FloatPolicy, count: int) -> None:
    exactly = specified(name, fmt, policy)
    implementation = native_scalar.binary(name, fmt, RNE, policy, exactly)
    assert (implementation is exactly) == (policy is POLICIES[2])
    for a, b in pairs(fmt, count) if implementation is not exactly else ():
        assert implementation(a, b) == exactly(a, b), (hex(a), hex(b))


@pytest.mark.parametrize("count", COUNTS)
def test_quotients_that_are_subnormal_or_near_ties_of_f32(count: int) -> None:
    """Divisors chosen so that the quotient is as near to a tie as one can be, at every subnormal precision."""
    exactly = specified("divide", F32, SPEC)
    implementation = native_scalar.binary("divide", F32, RNE, SPEC, exactly)
    rng = random.Random(7)
    for _ in range(count):
        divisor = rng.randrange(1 << 23, 1 << 24)
        bits = rng.randint(1, 24)
        tie = 2 * rng.randrange(1 << (bits - 1), 1 << bits) + 1
        dividend = tie * divisor
        dividend = (dividend >> max(0, dividend.bit_length() - 24)) + rng.randint(-1, 1)
        down = rng.randint(100, 149)
        a = scalar.from_fraction(F32, Fraction(dividend) / 2**down, RNE).code
        b = scalar.from_fraction(F32, Fraction(divisor) * Fraction(2) ** rng.randint(-20, 30), RNE).code
        assert implementation(a, b) == exactly(a, b), (hex(a), hex(b))


@pytest.mark.parametrize("fmt", [F32, F64], ids=str)
@pytest.mark.parametrize("predicate", range(16))
def test_comparisons(predicate: int, fmt: FloatFormat) -> None:
    def exactly(a: int, b: int) -> int:
        return int(scalar.compare(fmt, predicate, a, b, SPEC))

    implementation = native_scalar.compare(predicate, fmt, SPEC, exactly)
    assert (implementation is exactly) == (predicate in (0, 15))
    for a, b in product(interesting(fmt), repeat=2):
        assert implementation(a, b) == exactly(a, b), (hex(a), hex(b))


@pytest.mark.parametrize("policy", POLICIES, ids=range(len(POLICIES)))
@pytest.mark.parametrize(("src", "dst"), [(F32, F64), (F64, F32)], ids=str)
@pytest.mark.parametrize("count", COUNTS)
def test_conversions(src: FloatFormat, dst: FloatFormat, policy: FloatPolicy, count: int) -> None:
    def exactly(a: int) -> int:
        return scalar.convert(src, dst, a, RNE, policy).code

    implementation = native_scalar.convert(src, dst, RNE, policy, exactly)
    assert (implementation is exactly) == (policy is POLICIES[2])
    rng = random.Random(9)
    near = [code + step for code in interesting(src) for step in (1 << 28, (1 << 28) + 1) if src == F64]
    widened = [scalar.convert(F32, F64, one_code(F32, rng), RNE, SPEC).code for _ in range(count)] if src == F64 else []
    ties = [code ^ half for code in widened for half in (1 << 28, (1 << 28) - 1, (1 << 28) + 1)]
    for a in (*interesting(src), *near, *ties, *(one_code(src, rng) for _ in range(count))):
        assert implementation(a & src.code_mask) == exactly(a & src.code_mask), hex(a)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("fmt", [F32, F64], ids=str)
@pytest.mark.parametrize("width", [1, 7, 8, 24, 25, 32, 53, 54, 55, 63, 64])
def test_integers(width: int, fmt: FloatFormat, signed: bool) -> None:
    def from_exactly(code: int) -> int:
        number = code - (1 << width) if signed and code >> (width - 1) else code
        return scalar.from_integer(fmt, number, RNE, SPEC).code

    def to_exactly(code: int) -> tuple[int, bool]:
        found = scalar.to_integer(fmt, code, width, signed, Rounding.TOWARD_ZERO, SPEC)
        return found.code, found.poison

    forth = native_scalar.from_integer(fmt, width, signed, RNE, from_exactly)
    back = native_scalar.to_integer(fmt, width, signed, Rounding.TOWARD_ZERO, to_exactly)
    assert forth is not from_exactly
    assert back is not to_exactly
    rng = random.Random(width)
    codes = {(1 << k) + step for k in range(width + 1) for step in range(-3, 4)}
    codes |= {rng.getrandbits(width) >> rng.randint(0, width - 1) for _ in range(500)}
    ties = {(rng.getrandbits(25) | 1) << rng.randint(0, 39) for _ in range(500)}  # of f32
    codes |= {tie + step for tie in ties for step in (-1, 0, 1)}
    for code in {code & ((1 << width) - 1) for code in codes}:
        assert forth(code) == from_exactly(code), code
    for a in (*interesting(fmt), *(one_code(fmt, rng) for _ in range(500)), *map(from_exactly, codes)):
        found = back(a & fmt.code_mask)
        code, poison = to_exactly(a & fmt.code_mask)
        assert (found == (code, poison)) if isinstance(found, tuple) else (found == code and not poison), hex(a)


CODES = {F32: st.integers(0, (1 << 32) - 1), F64: st.integers(0, (1 << 64) - 1)}


@given(st.data(), st.sampled_from([F32, F64]), st.sampled_from(OPERATIONS))
def test_any_codes(data: st.DataObject, fmt: FloatFormat, name: str) -> None:
    exactly = specified(name, fmt, SPEC)
    a, b = data.draw(CODES[fmt]), data.draw(CODES[fmt])
    assert native_scalar.binary(name, fmt, RNE, SPEC, exactly)(a, b) == exactly(a, b)
