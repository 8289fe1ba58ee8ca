"""Functions of f32 by f64 and one test on bits equal the specification."""

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from amounts import amounts, thinned
from float_samples import interesting, of_functions, one_code
from hypothesis import given
from hypothesis import strategies as st

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat
from halfulp.fp_formats.paths import elementary, elementary_native, llvm, native_scalar
from halfulp.fp_formats.paths.elementary_native import CHUNK, _Buffers, _chunk
from halfulp.fp_formats.paths.margins import APPROXIMATIONS, Approximation
from halfulp.fp_formats.policy import SPEC, FloatPolicy, Rounding
from halfulp.fp_formats.reals import elementary as specification
from halfulp.fp_formats.reals.functions import FUNCTIONS
from halfulp.fp_formats.scalar import RNE

F32 = FORMATS["f32"]
BY_MODE = list(Rounding)[:5]


def differing(name: str, codes: Codes, found: ArrayResult, mode: int = RNE, policy: FloatPolicy = SPEC) -> list[str]:
    """Return the codes where results are not those of the specification."""
    wanted = [specification.unary(name, F32, code, mode, policy) for code in codes.tolist()]
    flags = [0] * codes.size if found.flags is None else found.flags.tolist()
    return [
        hex(code)
        for code, result, flag, right in zip(codes.tolist(), found.codes.tolist(), flags, wanted, strict=True)
        if result != right.code or (found.flags is not None and flag != right.flags)
    ]


def near_midpoints(name: str, count: int, window: int) -> Codes:
    """Return the random codes whose results lie within so many margins of a midpoint, but not within one."""
    numbers = np.random.default_rng(7).normal(0, 3, count).astype(np.float32)
    row = APPROXIMATIONS[name]
    with np.errstate(all="ignore"):
        y = row.function(numbers.astype(np.float64))
    distance = np.absolute((y.view(np.int64) & (1 << 29) - 1) - (1 << 28))
    found: Codes = numbers.view(np.uint32)[(distance >= row.margin) & (distance < window * row.margin)]
    return found


@pytest.mark.parametrize("name", thinned(FUNCTIONS, 4))
@pytest.mark.parametrize(
    ("count", "drawn", "window"), [(16, 1 << 12, 100), pytest.param(3_000, 1 << 20, 4, marks=pytest.mark.exhaustive)]
)
def test_results_are_those_of_the_specification(name: str, count: int, drawn: int, window: int) -> None:
    codes = of_functions(name, count)
    assert not differing(name, codes, elementary.unary(name, F32, codes))
    close = near_midpoints(name, drawn, window)[: 4 * count]
    close = np.resize(close, max(64, close.size))
    assert not differing(name, close, elementary.unary(name, F32, close))


@pytest.mark.parametrize("name", ["exp", "sin", "rsqrt", "mish"])
@pytest.mark.parametrize("mode", thinned(BY_MODE, 4))
def test_modes_flags_and_flushing_take_another_way(name: str, mode: Rounding) -> None:
    codes = of_functions(name, 12)
    for policy in (SPEC, FloatPolicy(denormals="flush_both")):
        assert not elementary_native.applies(F32, F32, mode, policy, True)
        assert not differing(name, codes, elementary.unary(name, F32, codes, mode, policy, None, True), mode, policy)
        assert not differing(name, codes, elementary.unary(name, F32, codes, mode, policy), mode, policy)


def test_few_results_are_left_to_the_other_ways() -> None:
    left: list[int] = []

    def rest(codes: Codes) -> ArrayResult:
        left.append(codes.size)
        return elementary.unary("exp", F32, codes, want_flags=True)

    numbers = np.random.default_rng(3).uniform(-20, 20, 2 * CHUNK + 5).astype(np.float32)
    numbers[::2] = -np.inf
    shaped = numbers.view(np.uint32)[: 2 * CHUNK].reshape(2, CHUNK)
    found = elementary_native.unary("exp", shaped, rest)
    assert found.codes.shape == shaped.shape
    assert not found.codes[:, ::2].any()
    assert sum(left) < 20
    assert elementary_native.unary("exp", shaped[:, :0], rest).codes.shape == (2, 0)


def test_nothing_is_native_where_the_cpu_flushes_subnormals(monkeypatch: pytest.MonkeyPatch) -> None:
    assert elementary_native.applies(F32, F32, RNE, SPEC, False)
    monkeypatch.setattr(llvm, "_keeps", False)
    assert not elementary_native.applies(F32, F32, RNE, SPEC, False)


def test_a_number_is_settled_only_where_all_within_its_margin_round_alike() -> None:
    margin = 1 << 11
    draw = random.Random(5)
    numbers = []
    for _ in range(300):  # values and midpoints: normal, subnormal, at the ends of the range
        lead = draw.choice((-126, -127, -130, -149, 127, draw.randint(-9, 9)))
        last = draw.choice((0, 1, 2, 3, -1, -2, draw.getrandbits(24))) & (1 << 24) - 1
        boundary = np.array([math.ldexp((1 << 24) + last, lead - 24)]).view(np.int64)
        steps = draw.choice((0, 1, margin - 1, margin, margin + 1, 4 * margin)) * draw.choice((-1, 1))
        numbers.append(float((boundary + steps).view(np.float64)[0]))
    array = np.array(numbers)
    row = Approximation(lambda x: array[x.astype(np.intp)], margin=margin)
    out = np.empty(array.size, np.uint32)
    with np.errstate(all="ignore"):
        places = np.arange(array.size, dtype=np.float32).view(np.uint32)
        left = _chunk(row, [places], out, _Buffers(array.size, 1))
    settled = 0
    for y, code, unknown in zip(numbers, out.tolist(), left.tolist(), strict=True):
        whole = np.array([y]).view(np.int64)
        within = [Fraction(float((whole + step).view(np.float64)[0])) for step in (1 - margin, 0, margin - 1)]
        results = {scalar.from_fraction(F32, number, RNE).code for number in within}
        assert unknown or results == {code}, y
        settled += not unknown
    assert settled > 60


# --- native scalar ----------------------------------------------------------------------------------------------------
#
# native_scalar.py equals scalar.py: on corners crossed, ties of f32, random codes, and by hypothesis.

F64 = FORMATS["f64"]
OPERATIONS = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "maximum_number", "minimum_number")
POLICIES = (
    SPEC,
    FloatPolicy(nan_result="canonical", conversion_overflow="saturate", number_of_signalling="quieted"),
    FloatPolicy(denormals="flush_both", extrema="selected"),
)
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
@pytest.mark.parametrize("predicate", thinned(range(16), 4))
def test_comparisons(predicate: int, fmt: FloatFormat) -> None:
    def exactly(a: int, b: int) -> int:
        return int(scalar.compare(fmt, predicate, a, b, SPEC))

    implementation = native_scalar.compare(predicate, fmt, SPEC, exactly)
    assert (implementation is exactly) == (predicate in (0, 15))
    for a, b in product(interesting(fmt), repeat=2):
        assert implementation(a, b) == exactly(a, b), (hex(a), hex(b))


@pytest.mark.parametrize("policy", thinned(POLICIES, 3), ids=range(len(POLICIES)))
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
@pytest.mark.parametrize("width", thinned([1, 7, 8, 24, 25, 32, 53, 54, 55, 63, 64], 3))
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
