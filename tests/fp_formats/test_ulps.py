"""Distances in ulp: steps between codes are those of ranks, errors are those of fractions, and sums are exact."""

import math
import random
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from amounts import thinned
from float_samples import all_codes, interesting, one_code, to_array, to_list
from hypothesis import given
from hypothesis import strategies as st
from present import present

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import encoding as array_steps
from halfulp.fp_formats.formats import FORMATS, FloatFormat, NanEncoding, codes_to_ints, ints_to_codes
from halfulp.fp_formats.neighbours import (
    FloatSums,
    Summary,
    Worst,
    code_at,
    errors_of,
    errors_of_codes,
    integer_steps_between,
    lowest_rank,
    next_code,
    place_of_largest,
    rank_of,
    ranks,
    steps_apart,
    steps_between,
    ulp_at,
    ulp_of_float,
    ulps_of_floats,
)
from halfulp.fp_formats.paths import fast

NAMES = ["f8E4M3FNUZ", "f8E8M0FNU", "bf16", "f32", "f64", "f80", "f128"]


def drawn(fmt: FloatFormat, seed: int = 1) -> list[int]:
    rng = np.random.default_rng(seed)
    codes = [int.from_bytes(rng.bytes(16), "little") & fmt.code_mask for _ in range(60)]
    return [*codes, fmt.max_code, fmt.max_code | (fmt.sign_mask or 0), 0, fmt.sign_mask or 0]


# --- steps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_steps_are_those_of_ranks(name: str) -> None:
    fmt = FORMATS[name]
    codes = drawn(fmt)
    others = [codes[k] if k % 3 else (code + k) & fmt.code_mask for k, code in enumerate(reversed(codes))]
    arrays = [ints_to_codes(column, fmt.bits, (len(codes),)) for column in (codes, others)]
    for one, other, found in zip(codes, others, steps_between(fmt, *arrays).tolist(), strict=True):
        a, b = rank_of(fmt, one), rank_of(fmt, other)
        if a is None or b is None:
            assert np.isnan(found)
        else:
            assert found == min(abs(a - b), 1 << 52)


@pytest.mark.parametrize("name", NAMES)
def test_ranks_of_arrays_are_those_of_codes(name: str) -> None:
    fmt = FORMATS[name]
    codes = [code for code in drawn(fmt) if rank_of(fmt, code) is not None]
    assert list(ranks(fmt, ints_to_codes(codes, fmt.bits, (len(codes),)))) == [rank_of(fmt, code) for code in codes]


def test_integers_are_as_far_apart_as_the_shorter_way_around() -> None:
    one, other = np.array([0, 255, 7], np.uint8), np.array([255, 0, 3], np.uint8)
    assert integer_steps_between(8, one, other).tolist() == [1, 1, 4]
    assert [steps_apart(8, a, b) for a, b in zip(one.tolist(), other.tolist(), strict=True)] == [1, 1, 4]
    assert steps_apart(FORMATS["f16"], 0x7E00, 0) is None


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["f8E4M3FN", "bf16", "f16", "f32"])
def test_all_forms_of_exact_numbers_give_one_error(name: str) -> None:
    """Within the range of the format the ulp is the same, however the exact number is held."""
    fmt = FORMATS[name]
    rng = np.random.default_rng(2)
    top = float(fmt.max_value)
    exact = np.concatenate([rng.uniform(-top, top, 50), np.ldexp(rng.uniform(-1, 1, 50), fmt.emin)])
    codes = np.array([scalar.from_fraction(fmt, Fraction(number)).code ^ 1 for number in exact.tolist()])
    codes = codes.astype(fmt.storage_dtype)
    values = [scalar.value(fmt, code) for code in codes_to_ints(codes, fmt.bits)]
    kept = [k for k, value in enumerate(values) if value is not None]
    codes, exact, values = codes[kept], exact[kept], [values[k] for k in kept]
    floats = np.array([float(value or 0) for value in values])
    want = [
        float((Fraction(value or 0) - Fraction(number)) / ulp_at(fmt, Fraction(number)))
        for value, number in zip(values, exact.tolist(), strict=True)
    ]
    fractions = np.empty(len(exact), object)
    fractions[:] = [Fraction(number) for number in exact.tolist()]
    assert errors_of(fmt, exact, floats).ulp == pytest.approx(want, rel=2**-40)
    assert errors_of(fmt, fractions, floats).ulp.tolist() == want
    assert errors_of_codes(fmt, FORMATS["f64"], exact.view(np.uint64), codes) == pytest.approx(want, rel=2**-40)
    assert FloatSums(exact, np.zeros_like(exact)).distances(fmt, floats) == pytest.approx(np.abs(want), rel=2**-40)


def test_unknown_and_infinite_numbers_have_no_finite_distance() -> None:
    sums = FloatSums(np.array([math.nan, 1.0, 1.0]), np.zeros(3))
    assert sums.distances(FORMATS["f32"], np.array([1.0, math.inf, 1.0])).tolist() == pytest.approx(
        [math.nan, math.inf, 0.0], nan_ok=True
    )


@pytest.mark.parametrize("name", ["f8E4M3FN", "bf16", "f64"])
def test_the_ulp_at_a_float_is_that_of_the_specification(name: str) -> None:
    fmt = FORMATS[name]
    numbers = [0.0, 1.0, -1.5, 2.0**fmt.emin, 2.0 ** (fmt.emin - 1), float(fmt.max_value)]
    want = [float(ulp_at(fmt, Fraction(number))) for number in numbers]
    assert [ulp_of_float(fmt, number) for number in numbers] == want
    assert ulps_of_floats(fmt, np.array(numbers)).tolist() == want


@pytest.mark.parametrize("name", ["f8E4M3FN", "f8E8M0FNU", "f4E2M1FN", "bf16", "f32", "f64"])
def test_the_ulp_at_a_sum_of_floats_is_that_of_the_specification(name: str) -> None:
    """Just below and above powers of two, beyond both ends, and at a sum that is 0."""
    fmt = FORMATS[name]
    highs = [1.0, 2.0, 2.0**fmt.emin, float(fmt.max_value), 4 * float(fmt.max_value) if name != "f64" else 3.0, 1.5]
    sums = [(sign * high, low) for high in highs for sign in (1, -1) for low in (0.0, 1e-30, -1e-30, 2.0**-60, -0.3)]
    sums += [(1.0, -1.0), (2.0, -1.0), (0.0, 0.0), (0.0, 2.0**fmt.emin)]
    want = [float(ulp_at(fmt, Fraction(high) + Fraction(low))) for high, low in sums]
    assert [ulp_of_float(fmt, *each) for each in sums] == want
    high, low = map(np.array, zip(*sums, strict=True))
    assert ulps_of_floats(fmt, high, low).tolist() == want
    # A sum that may be the power of two is taken for it.
    assert ulps_of_floats(fmt, np.array([2.0]), np.array([-1e-30]), np.array([1e-29])) == ulp_at(fmt, Fraction(2))
    assert ulp_of_float(fmt, 2.0, -1e-30, 1e-29) == ulp_at(fmt, Fraction(2))


# --- summaries --------------------------------------------------------------------------------------------------------


def test_a_summary_of_shards_is_that_of_all() -> None:
    sizes = np.random.default_rng(3).uniform(0, 1e9, 4000) * 2.0 ** np.arange(-500, 500, 0.25)
    whole: Summary[int] = Summary()
    parts: list[Summary[int]] = [Summary() for _ in range(4)]
    for k, part in enumerate(np.split(sizes, 40)):
        for found in (whole, parts[k % 4]):
            at = found.add(part)
            if at is not None:
                found.worst.place = 100 * k + at
    joined: Summary[int] = Summary()
    for each in parts:
        joined.join(each)
    assert (joined.count, joined.total, joined.mean) == (whole.count, whole.total, whole.mean)
    assert (joined.largest, joined.worst.place) == (sizes.max(), int(sizes.argmax()))
    assert joined.mean == pytest.approx(math.fsum(sizes.tolist()) / len(sizes), rel=1e-12)


def test_an_empty_summary_has_no_figures_and_an_infinite_error_an_infinite_mean() -> None:
    empty: Summary[int] = Summary()
    empty.add(np.zeros(0))
    assert math.isnan(empty.mean)
    assert math.isnan(empty.largest)
    found: Summary[int] = Summary()
    found.add(np.array([1.0, math.inf]))
    found.add(np.array([2.0]))
    assert (found.count, found.mean, found.largest) == (3, math.inf, math.inf)


def test_sums_near_the_largest_f64_do_not_overflow() -> None:
    found: Summary[int] = Summary()
    found.add(np.full(8, 1.5e308))
    assert found.mean == 1.5e308


def test_nan_counts_as_none() -> None:
    worst: Worst[int] = Worst()
    assert worst.take(np.array([math.nan, 0.5, 2.0, math.nan])) == 2
    assert worst.take(np.array([math.nan, 1.0])) is None
    assert worst.take(np.full(2, math.nan)) is None
    assert worst.size == 2
    assert place_of_largest(np.array([[math.nan, 1.0], [3.0, 3.0]])) == (1, 0)


# --- steps ------------------------------------------------------------------------------------------------------------
#
# The next values, ranks and ulps: against all values of small formats, NumPy's nextafter, and exact fractions.

OWN = (
    FloatFormat("binary8p4", 4, 3, 8, nan=NanEncoding.NEGATIVE_ZERO),
    FloatFormat("unsigned IEEE", 3, 2, 3, signed=False),
    FloatFormat("unsigned without NaN", 4, 3, 5, signed=False, infinities=False, nan=NanEncoding.NONE),
    FloatFormat("no fraction", 3, 0, 3, infinities=False, nan=NanEncoding.NONE),
    FloatFormat("infinity but no NaN", 4, 3, 8, nan=NanEncoding.NONE),
    FloatFormat("no zero", 4, 3, 7, signed=False, infinities=False, nan=NanEncoding.ALL_ONES, zero=False),
    FloatFormat("narrow two-limb", 5, 40, 15),
)
ALL = (*FORMATS.values(), *OWN)
SMALL = [fmt for fmt in ALL if fmt.bits <= 8]


def name(thing: Any) -> str:
    return str(thing)


def by_search(fmt: FloatFormat, a: int, down: bool) -> int:
    """Return the next code by looking at the values of all codes."""
    infinity = Fraction(10) ** 100
    values: dict[int, Fraction] = {}
    for code in all_codes(fmt):
        if not fmt.is_nan(code):
            sign = -1 if fmt.sign_mask and code & fmt.sign_mask else 1
            value = present(sign * infinity if fmt.is_infinite(code) else scalar.value(fmt, code))
            values[code] = value
    if a not in values:
        return a | fmt.quiet_bit
    here = values[a]
    side = {code: value for code, value in values.items() if (value < here if down else value > here)}
    if side:
        nearest = (max if down else min)(side.values())
        both = sorted(code for code, value in side.items() if value == nearest)
        return both[0 if down else -1]  # of the two zeros, the one on the side where the step began
    if abs(here) == infinity or fmt.nan_code is None:
        return a
    # Formats with NaN but no infinity.
    return fmt.nan_code | (fmt.sign_mask or 0 if down else 0)


@pytest.mark.long
@pytest.mark.parametrize("fmt", SMALL, ids=name)
@pytest.mark.parametrize("down", [False, True])
def test_every_step_of_the_small_formats(fmt: FloatFormat, down: bool) -> None:
    for code in all_codes(fmt):
        assert next_code(fmt, code, down).code == by_search(fmt, code, down), hex(code)


@pytest.mark.parametrize("fmt", thinned(ALL, 3), ids=name)
@pytest.mark.parametrize("down", [False, True])
def test_arrays_equal_the_specification(fmt: FloatFormat, down: bool) -> None:
    rng = random.Random(7)
    codes = all_codes(fmt) if fmt.bits <= 16 else interesting(fmt) + [one_code(fmt, rng) for _ in range(2000)]
    want = [next_code(fmt, code, down).code for code in codes]
    for function in (array_steps.next_codes, fast.next_codes):
        found = function(fmt, to_array(fmt, codes), down)
        assert found.poison is None
        assert to_list(fmt, found.codes) == want


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("down", [False, True])
def test_as_nextafter_of_numpy(dtype: Any, down: bool) -> None:
    fmt = FORMATS[f"f{np.dtype(dtype).itemsize * 8}"]
    rng = random.Random(1)
    codes = to_array(fmt, interesting(fmt) + [one_code(fmt, rng) for _ in range(2000)])
    floats = codes.view(dtype)
    numbers = ~np.isnan(floats)
    with np.errstate(all="ignore"):
        want = np.nextafter(floats[numbers], dtype(-math.inf if down else math.inf)).view(codes.dtype)
    found = array_steps.next_codes(fmt, codes, down).codes[numbers]
    # C's nextafter has no rule for the sign of a zero that IEEE's nextUp has; both agree on the value.
    zero = want.view(dtype) == 0
    assert (found == want)[~zero].all()
    assert (found.view(dtype)[zero] == 0).all()
    assert (np.signbit(found.view(dtype)[zero]) != down).all()


def test_signalling_and_invalid_operands_give_quiet_nans() -> None:
    assert next_code(FORMATS["f32"], 0xFFA00001) == (0xFFE00001, scalar.INVALID, False)
    assert next_code(FORMATS["f80"], 0x7FFF << 64).code == FORMATS["f80"].nan_code  # a pseudo-infinity
    pseudo = 1 << 63  # the pseudo-denormal that equals the smallest normal value
    assert next_code(FORMATS["f80"], pseudo).code == (1 << 64 | 1 << 63) + 1
    assert next_code(FORMATS["f80"], pseudo, down=True).code == pseudo - 1


@pytest.mark.parametrize("fmt", ALL, ids=name)
def test_ranks_count_the_values(fmt: FloatFormat) -> None:
    last = fmt.max_magnitude
    ranks = range(lowest_rank(fmt), last + 1) if fmt.bits <= 8 else (lowest_rank(fmt), 0, 1, 5, last // 3, last)
    for rank in ranks:
        assert rank_of(fmt, code_at(fmt, rank)) == rank


@pytest.mark.parametrize("fmt", thinned(SMALL, 3), ids=name)
def test_an_ulp_is_the_gap_away_from_zero(fmt: FloatFormat) -> None:
    positive = sorted(
        value
        for code in all_codes(fmt)
        if (value := scalar.value(fmt, code)) is not None and not (fmt.sign_mask and code & fmt.sign_mask)
    )
    for low, high in pairwise(positive):
        for number in (low, (low + high) / 2, high - (high - low) / 1000):
            assert ulp_at(fmt, number) == high - low
            assert ulp_at(fmt, -number) == (high - low if fmt.signed else positive[1] - positive[0])
    top = positive[-1]
    for number in (top, top * 3, top + Fraction(1, 10)):
        assert ulp_at(fmt, number) == top - positive[-2] or fmt.mantissa_bits == 0


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_as_ulp_of_python(number: float) -> None:
    assert ulp_at(FORMATS["f64"], Fraction(number)) == Fraction(math.ulp(number))
