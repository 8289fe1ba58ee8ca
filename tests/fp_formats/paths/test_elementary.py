"""Paths of elementary functions: equal to the specification, flags that say what the results show, and MPFR's results."""

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import cache
from typing import Any

import gmpy2
import mpfr
import numpy as np
import pytest
from amounts import amounts, thinned
from hypothesis import given, settings
from hypothesis import strategies as st
from mpfr import MPFR, MPFR_OF_TWO
from rounding_bounds import NAN, Reals, Searched

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, NanEncoding, codes_to_ints, ints_to_codes
from halfulp.fp_formats.paths import elementary
from halfulp.fp_formats.policy import POLICY_FIELDS, SPEC, Flags, FloatPolicy, Rounding
from halfulp.fp_formats.reals import elementary as specification
from halfulp.fp_formats.reals.functions import FUNCTIONS
from halfulp.fp_formats.scalar import Result

# --- elementary drawn -------------------------------------------------------------------------------------------------
#
# All paths of elementary functions equal the specification: formats, users' formats, results of other formats, modes,
# policies, edges. The examples are drawn.

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
    edges = [0, 1, 2, fmt.min_normal_code, *(fmt.max_code + step for step in range(3)), one, fmt.infinity_code or 0]
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


def compare_family(
    family: str, name: str, src: FloatFormat, dst: FloatFormat, mode: Rounding, policy: FloatPolicy, seed: int
) -> None:
    """Compare a function of a family, ``unary``, ``binary`` or ``of_integer``, with the specification."""
    draw = random.Random(seed)
    width = draw.choice((8, 32, 64)) if family == "of_integer" else src.bits
    first = some_codes(src, draw)
    columns: list[list[int]] = [first]
    arrays: list[Any] = [ints_to_codes(first, src.bits, (COUNT,))]
    if family != "unary":
        small = (draw.choice((draw.randrange(-9, 10), draw.getrandbits(width - 1), -1 << width - 1)) for _ in first)
        columns.append(list(small) if family == "of_integer" else some_codes(src, draw))
        arrays.append(ints_to_codes([each & (1 << width) - 1 for each in columns[1]], width, (COUNT,)))
    if family == "of_integer":
        arrays.append(width)
    found = getattr(elementary, family)(name, src, *arrays, mode, policy, dst, want_flags=True)
    operands = list(zip(*columns, strict=True))
    wanted = [getattr(specification, family)(name, src, *each, mode, policy, dst) for each in operands]
    check(found, wanted, dst, (name, src, dst, mode, policy), [tuple(map(hex, each)) for each in operands])


targets = st.one_of(st.none(), formats)
FAMILIES = {"unary": list(FUNCTIONS), "binary": ["atan2", "hypot", "powf"], "of_integer": ["powf", "rootn"]}
NUMBERS = (("unary", 40, 3000), ("binary", 20, 1000), ("of_integer", 20, 1000))
SAMPLES = [sample for family, few, many in NUMBERS for sample in amounts((family, few), (family, many))]


@pytest.mark.long
@pytest.mark.parametrize("sample", SAMPLES)
def test_functions_equal_the_specification(sample: tuple[str, int]) -> None:
    """``sample``: a family of functions, and the number of examples."""
    family, examples = sample

    @settings(max_examples=examples)
    @given(
        st.sampled_from(FAMILIES[family]), formats, targets, st.sampled_from(MODES), policies, st.integers(0, 1 << 32)
    )
    def equal(
        name: str, src: FloatFormat, dst: FloatFormat | None, mode: Rounding, policy: FloatPolicy, seed: int
    ) -> None:
        compare_family(family, name, src, dst or src, mode, policy, seed)

    equal()


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
    compare_family("unary", "sqrt", fmt, fmt, Rounding.TO_NEAREST_EVEN, SPEC, 1)
    compare_family("binary", "hypot", fmt, fmt, Rounding.UPWARD, SPEC, 1)
    compare_family("of_integer", "rootn", fmt, fmt, Rounding.DOWNWARD, SPEC, 1)


# --- modes and flags --------------------------------------------------------------------------------------------------
#
# Directed modes enclose the others, whatever the right bits are.

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


@pytest.mark.parametrize("name", thinned(FUNCTIONS, 2))
@pytest.mark.parametrize("format_name", thinned(["f8E5M2", *WIDE], 4))
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


# --- elementary small -------------------------------------------------------------------------------------------------
#
# Every code and every pair of codes of the formats of up to 8 bits in five modes, against MPFR and mpmath.
#
# The expected results share no rounding with halfulp: MPFR and mpmath give 50 bits, and a search in the list of all
# numbers of the format gives the code. The functions that MPFR lacks are compared on every code of f16 and bf16, too.

OWN = [
    FloatFormat("no NaN, no infinity, high", 4, 3, 2, infinities=False, nan=NanEncoding.NONE),
    FloatFormat("unsigned", 4, 3, 9, signed=False),
    FloatFormat("far below", 5, 2, 60, infinities=False, nan=NanEncoding.NEGATIVE_ZERO),
    FloatFormat("infinity without NaN", 3, 4, 3, nan=NanEncoding.NONE),
]
SMALL = [*(fmt for fmt in FORMATS.values() if fmt.bits <= 8), *OWN]


@cache
def searched(fmt: FloatFormat) -> Searched:
    return Searched(fmt)


def by_mpfr(function: Callable[..., Any], rows: Iterable[tuple[float, ...]]) -> Reals:
    """Return floats between the same boundaries as the exact results."""
    numbers = [tuple(map(gmpy2.mpfr, row)) for row in rows]
    ends = []
    for mode in (gmpy2.RoundDown, gmpy2.RoundUp):
        with gmpy2.context(precision=50, emin=-900, emax=900, round=mode):
            ends.append(np.array([float(function(*row)) for row in numbers]))
    low, high = (np.where(np.isinf(end) & (ends[0] != ends[1]), np.copysign(2.0**900, end), end) for end in ends)
    with np.errstate(invalid="ignore"):
        between: Reals = np.where(low == high, np.where(low == 0, ends[0], low), (low + high) / 2)
    return between


def exact_of_one(name: str, operands: Reals) -> Reals:
    if name in mpfr.NAMES:
        return np.array([mpfr.between(name, x) for x in operands.tolist()])
    exact = by_mpfr(MPFR[name], ((x,) for x in operands.tolist()))
    # IEEE keeps the sign of the pole at -0, MPFR does not.
    return np.where((operands == 0) & np.signbit(operands), -np.inf, exact) if name == "rsqrt" else exact


def compare(fmt: FloatFormat, exact: Reals, operands: tuple[Codes, ...], name: str, modes: Iterable[Rounding]) -> None:
    oracle = searched(fmt)
    paths: Callable[..., ArrayResult] = elementary.unary if len(operands) == 1 else elementary.binary
    for mode in modes:
        found = paths(name, fmt, *operands, int(mode))
        ours, wanted = oracle.plain(found.codes, found.poison), oracle.rounded(exact, mode)
        wrong = np.flatnonzero(ours != wanted)
        shown = [
            ([hex(codes[k]) for codes in operands], float(exact[k]), hex(wanted[k]), hex(ours[k])) for k in wrong[:5]
        ]
        assert not wrong.size, (mode, wrong.size, shown)


def compare_every_code(fmt: FloatFormat, name: str, modes: Iterable[Rounding] = MODES) -> None:
    codes = np.arange(1 << fmt.bits).astype(fmt.storage_dtype)
    operands = np.array([searched(fmt).operand(code) for code in codes.tolist()])
    compare(fmt, exact_of_one(name, operands), (codes,), name, modes)


@pytest.mark.long
@pytest.mark.parametrize("fmt", SMALL, ids=str)
def test_every_code_of_small_formats_in_five_modes(fmt: FloatFormat) -> None:
    for name in (*MPFR, *mpfr.NAMES):
        compare_every_code(fmt, name)


@pytest.mark.long
@pytest.mark.parametrize("name", [*MPFR, *(pytest.param(name, marks=pytest.mark.exhaustive) for name in mpfr.NAMES)])
@pytest.mark.parametrize("format_name", ["f16", "bf16"])
@pytest.mark.parametrize("modes", amounts(MODES[:1], MODES[1:]), ids=len)
def test_every_code_of_16_bits_in_five_modes(format_name: str, name: str, modes: list[Rounding]) -> None:
    compare_every_code(FORMATS[format_name], name, modes)


@pytest.mark.parametrize("name", thinned(MPFR_OF_TWO, 2))
@pytest.mark.parametrize(
    "fmt", [fmt if fmt.bits < 7 else pytest.param(fmt, marks=pytest.mark.exhaustive) for fmt in SMALL]
)
def test_every_pair(fmt: FloatFormat, name: str) -> None:
    every = np.arange(1 << fmt.bits).astype(fmt.storage_dtype)
    numbers = np.array([searched(fmt).operand(code) for code in every.tolist()])
    a, b = np.repeat(every, every.size), np.tile(every, every.size)
    exact = by_mpfr(MPFR_OF_TWO[name], zip(numbers[a].tolist(), numbers[b].tolist(), strict=True))
    # MPFR has no signalling NaNs; these give a NaN.
    signalling = np.array([fmt.is_signalling(code) for code in every.tolist()])
    compare(fmt, np.where(signalling[a] | signalling[b], np.nan, exact), (a, b), name, MODES)


def test_the_search_rounds_as_a_hand_does() -> None:
    """465 is above the middle of 448 and 480, which f8E4M3FN does not have; 464 is the middle, and 448 is even."""
    oracle = searched(FORMATS["f8E4M3FN"])
    even, zero = Rounding.TO_NEAREST_EVEN, Rounding.TOWARD_ZERO
    assert oracle.rounded(np.array([464.0, 465.0, -465.0, math.inf, 0.0146484375]), even).tolist() == [
        *(0x7E, NAN, NAN, NAN, 0x08)
    ]
    assert oracle.rounded(np.array([465.0, -465.0, -0.0]), zero).tolist() == [0x7E, 0xFE, 0x80]
    assert oracle.rounded(np.array([464.0]), Rounding.TO_NEAREST_AWAY).tolist() == [NAN]
    assert searched(FORMATS["f8E8M0FNU"]).rounded(np.array([1.5, 3.0, -1.0, 0.0]), even).tolist() == [
        *(0x80, 0x81, NAN, 0x00)
    ]
    assert searched(FORMATS["f4E2M1FN"]).rounded(np.array([2.5, -9.0, math.inf, -0.25]), even).tolist() == [4, 15, 7, 8]


@pytest.mark.parametrize("name", elementary.OF_TWO)
def test_functions_of_two_have_the_domain_of_the_specification(name: str) -> None:
    numbers = [0, -0.0, 0.5, 1, 1.5, 2, 3, 4, -0.5, -1, -2, -2.5, -3, math.inf, -math.inf, math.nan]
    codes = (np.array(numbers, np.float16).view(np.uint16) >> 8).astype(np.uint8)  # an f8E5M2 is half of an f16
    a, b = np.repeat(codes, len(codes)), np.tile(codes, len(codes))
    fmt = FORMATS["f8E5M2"]
    found = elementary.binary(name, fmt, a, b)
    expected = [specification.binary(name, fmt, x, y).code for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    wrong = [
        (f"{x:#x}", f"{y:#x}", f"{code:#x}", f"{right:#x}")
        for x, y, code, right in zip(a.tolist(), b.tolist(), found.codes.tolist(), expected, strict=True)
        if code != right
    ]
    assert wrong == []
