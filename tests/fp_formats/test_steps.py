"""The next values, ranks and ulps: against all values of small formats, NumPy's nextafter, and exact fractions."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from float_samples import all_codes, interesting, one_code, to_array, to_list
from hypothesis import given
from hypothesis import strategies as st

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import encoding as array_steps
from halfulp.fp_formats.formats import FORMATS, FloatFormat, NanEncoding
from halfulp.fp_formats.neighbours import code_at, lowest_rank, next_code, rank_of, ulp_at
from halfulp.fp_formats.paths import fast

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
            value = sign * infinity if fmt.is_infinite(code) else scalar.value(fmt, code)
            assert value is not None
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


@pytest.mark.parametrize("fmt", ALL, ids=name)
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


@pytest.mark.parametrize("fmt", SMALL, ids=name)
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
