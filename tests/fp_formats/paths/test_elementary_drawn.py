"""All paths of elementary functions equal the specification: formats, users' formats, results of other formats, modes,
policies, edges. The examples are drawn.
"""

from __future__ import annotations

import random
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS, FloatFormat, NanEncoding, codes_to_ints, ints_to_codes
from halfulp.fp_formats.paths import elementary
from halfulp.fp_formats.policy import POLICY_FIELDS, SPEC, FloatPolicy, Rounding
from halfulp.fp_formats.reals import elementary as specification
from halfulp.fp_formats.reals.functions import FUNCTIONS
from halfulp.fp_formats.scalar import Result

MODES = list(Rounding)[:5]
COUNT = 70
"""More elements than the paths for arrays wait for."""


@st.composite
def users_formats(draw: Any) -> FloatFormat:
    """A format with fields of any width, any bias and any special values that `FloatFormat` takes."""
    nan = draw(st.sampled_from(list(NanEncoding)))
    exponent_bits, mantissa_bits = draw(st.integers(1, 15)), draw(st.sampled_from((0, 1, 2, 3, 7, 10, 23, 28, 52, 112)))
    middle = (1 << exponent_bits - 1) - 1
    bias = draw(st.sampled_from((middle, 0, middle + 5, -65536, 65536, middle * 2)))
    zero = draw(st.booleans())
    signed = zero and draw(st.booleans())
    infinities = nan is NanEncoding.IEEE or draw(st.booleans())
    try:
        return FloatFormat("own", exponent_bits, mantissa_bits, bias, signed, infinities, nan, zero)
    except ValueError:
        return FloatFormat("own", max(exponent_bits, 4), max(mantissa_bits, 2), bias)


formats = st.one_of(st.sampled_from(list(FORMATS.values())), users_formats())
policies = st.one_of(
    st.just(SPEC),
    st.builds(FloatPolicy, **{name: st.sampled_from(list(choice.values)) for name, choice in POLICY_FIELDS.items()}),
)


def some_codes(fmt: FloatFormat, draw: random.Random) -> list[int]:
    """Return codes at the ends of all ranges, near 1, of ordinary numbers, and random ones."""
    one = scalar.from_integer(fmt, 1).code
    edges = [
        0,
        1,
        2,
        fmt.min_normal_code,
        fmt.max_code,
        fmt.max_code + 1,
        fmt.max_code + 2,
        one,
        fmt.infinity_code or 0,
    ]
    codes = []
    for _ in range(COUNT):
        kind = draw.randrange(3)
        code = draw.choice(edges) + draw.randrange(-2, 3) if kind == 0 else draw.getrandbits(fmt.bits)
        if kind == 2:
            code = one + (draw.randrange(-4, 5) << fmt.mantissa_bits) + draw.getrandbits(max(fmt.mantissa_bits, 1))
        codes.append((code | draw.choice((0, fmt.sign_mask or 0))) & fmt.code_mask)
    return codes


def check(found: ArrayResult, wanted: list[Result], dst: FloatFormat, what: object, operands: list[Any]) -> None:
    assert found.flags is not None
    poison = [False] * COUNT if found.poison is None else found.poison.tolist()
    ours = map(Result, codes_to_ints(found.codes, dst.bits), found.flags.tolist(), poison)
    for operand, one, other in zip(operands, ours, wanted, strict=True):
        assert one == other, (what, operand, one, other)


def compare_one(name: str, src: FloatFormat, dst: FloatFormat, mode: Rounding, policy: FloatPolicy, seed: int) -> None:
    codes = some_codes(src, random.Random(seed))
    array = ints_to_codes(codes, src.bits, (COUNT,))
    found = elementary.unary(name, src, array, mode, policy, dst, want_flags=True)
    wanted = [specification.unary(name, src, code, mode, policy, dst) for code in codes]
    check(found, wanted, dst, (name, src, dst, mode, policy), [hex(code) for code in codes])


def compare_two(name: str, src: FloatFormat, dst: FloatFormat, mode: Rounding, policy: FloatPolicy, seed: int) -> None:
    draw = random.Random(seed)
    first, second = some_codes(src, draw), some_codes(src, draw)
    a, b = (ints_to_codes(codes, src.bits, (COUNT,)) for codes in (first, second))
    found = elementary.binary(name, src, a, b, mode, policy, dst, want_flags=True)
    pairs = list(zip(first, second, strict=True))
    wanted = [specification.binary(name, src, x, y, mode, policy, dst) for x, y in pairs]
    check(found, wanted, dst, (name, src, dst, mode, policy), [(hex(x), hex(y)) for x, y in pairs])


def compare_integer(
    name: str, src: FloatFormat, dst: FloatFormat, mode: Rounding, policy: FloatPolicy, seed: int
) -> None:
    draw = random.Random(seed)
    width = draw.choice((8, 32, 64))
    codes = some_codes(src, draw)
    small = [draw.choice((draw.randrange(-9, 10), draw.getrandbits(width - 1), -1 << width - 1)) for _ in codes]
    a = ints_to_codes(codes, src.bits, (COUNT,))
    n = ints_to_codes([integer & (1 << width) - 1 for integer in small], width, (COUNT,))
    found = elementary.of_integer(name, src, a, n, width, mode, policy, dst, want_flags=True)
    pairs = list(zip(codes, small, strict=True))
    wanted = [specification.of_integer(name, src, x, k, mode, policy, dst) for x, k in pairs]
    check(found, wanted, dst, (name, src, dst, mode, policy), [(hex(x), k) for x, k in pairs])


targets = st.one_of(st.none(), formats)
ones, twos, integers = (st.sampled_from(names) for names in (list(FUNCTIONS), elementary.OF_TWO, ("powf", "rootn")))
given_cases = (formats, targets, st.sampled_from(MODES), policies, st.integers(0, 1 << 32))


@settings(max_examples=40)
@given(ones, *given_cases)
def test_functions_of_one_argument(
    name: str, src: FloatFormat, dst: FloatFormat | None, mode: Rounding, policy: FloatPolicy, seed: int
) -> None:
    compare_one(name, src, dst or src, mode, policy, seed)


@settings(max_examples=20)
@given(twos, *given_cases)
def test_functions_of_two_arguments(
    name: str, src: FloatFormat, dst: FloatFormat | None, mode: Rounding, policy: FloatPolicy, seed: int
) -> None:
    compare_two(name, src, dst or src, mode, policy, seed)


@settings(max_examples=20)
@given(integers, *given_cases)
def test_functions_of_an_integer(
    name: str, src: FloatFormat, dst: FloatFormat | None, mode: Rounding, policy: FloatPolicy, seed: int
) -> None:
    compare_integer(name, src, dst or src, mode, policy, seed)


@pytest.mark.exhaustive
@settings(max_examples=3000)
@given(ones, *given_cases)
def test_many_of_one_argument(
    name: str, src: FloatFormat, dst: FloatFormat | None, mode: Rounding, policy: FloatPolicy, seed: int
) -> None:
    compare_one(name, src, dst or src, mode, policy, seed)


@pytest.mark.exhaustive
@settings(max_examples=1000)
@given(twos, *given_cases)
def test_many_of_two_arguments(
    name: str, src: FloatFormat, dst: FloatFormat | None, mode: Rounding, policy: FloatPolicy, seed: int
) -> None:
    compare_two(name, src, dst or src, mode, policy, seed)


@pytest.mark.exhaustive
@settings(max_examples=1000)
@given(integers, *given_cases)
def test_many_of_an_integer(
    name: str, src: FloatFormat, dst: FloatFormat | None, mode: Rounding, policy: FloatPolicy, seed: int
) -> None:
    compare_integer(name, src, dst or src, mode, policy, seed)


def test_every_choice_of_a_policy_is_drawn() -> None:
    assert set(POLICY_FIELDS) == {field.name for field in fields(FloatPolicy)}


def test_exact_results_overflow_as_results_of_arithmetic() -> None:
    """2**5 = 32 is too large for f8E3M4, and rational; ``conversion_overflow`` is about conversions alone."""
    fmt, saturate = FORMATS["f8E3M4"], FloatPolicy(conversion_overflow="saturate")
    two = scalar.from_integer(fmt, 2).code
    assert specification.of_integer("powf", fmt, two, 5, policy=saturate).code == fmt.infinity_code
    assert specification.unary("exp", fmt, fmt.max_code, policy=saturate).code == fmt.infinity_code


def test_operands_of_more_bits_than_f64_within_its_range() -> None:
    fmt = FloatFormat("own", 4, 112, 7)
    compare_one("sqrt", fmt, fmt, Rounding.TO_NEAREST_EVEN, SPEC, 1)
    compare_two("hypot", fmt, fmt, Rounding.UPWARD, SPEC, 1)
    compare_integer("rootn", fmt, fmt, Rounding.DOWNWARD, SPEC, 1)
