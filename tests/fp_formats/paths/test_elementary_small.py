"""Every code and every pair of codes of the formats of up to 8 bits in five modes, against MPFR and mpmath.

The expected results share no rounding with halfulp: MPFR and mpmath give 50 bits, and a search in the list of all numbers
of the format gives the code. The functions that MPFR lacks are compared on every code of f16 and bf16, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import by_mpmath
import gmpy2
import numpy as np
import pytest
from mpfr import MPFR, MPFR_OF_TWO
from rounding_by_search import NAN, Reals, Searched

from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, NanEncoding
from halfulp.fp_formats.paths import elementary
from halfulp.fp_formats.policy import Rounding

MODES = list(Rounding)[:5]
OWN = [
    FloatFormat("no NaN, no infinity, high", 4, 3, 2, infinities=False, nan=NanEncoding.NONE),
    FloatFormat("unsigned", 4, 3, 9, signed=False),
    FloatFormat("far below", 5, 2, 60, infinities=False, nan=NanEncoding.NEGATIVE_ZERO),
    FloatFormat("infinity without NaN", 3, 4, 3, nan=NanEncoding.NONE),
]
SMALL = [*(fmt for fmt in FORMATS.values() if fmt.bits <= 8), *OWN]
EIGHT_BITS = [fmt for fmt in FORMATS.values() if fmt.bits == 8]


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
    if name in by_mpmath.NAMES:
        return np.array([by_mpmath.between(name, x) for x in operands.tolist()])
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


def compare_one(fmt: FloatFormat, name: str, modes: Iterable[Rounding] = MODES) -> None:
    codes = np.arange(1 << fmt.bits).astype(fmt.storage_dtype)
    operands = np.array([searched(fmt).operand(code) for code in codes.tolist()])
    compare(fmt, exact_of_one(name, operands), (codes,), name, modes)


@pytest.mark.long
@pytest.mark.parametrize("fmt", SMALL, ids=str)
def test_every_code_of_small_formats_in_five_modes(fmt: FloatFormat) -> None:
    for name in (*MPFR, *by_mpmath.NAMES):
        compare_one(fmt, name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [*MPFR, *by_mpmath.NAMES])
@pytest.mark.parametrize("format_name", ["f16", "bf16"])
def test_every_code_of_16_bits_in_five_modes(format_name: str, name: str) -> None:
    compare_one(FORMATS[format_name], name)


def compare_pairs(fmt: FloatFormat, name: str) -> None:
    every = np.arange(1 << fmt.bits).astype(fmt.storage_dtype)
    numbers = np.array([searched(fmt).operand(code) for code in every.tolist()])
    a, b = np.repeat(every, every.size), np.tile(every, every.size)
    exact = by_mpfr(MPFR_OF_TWO[name], zip(numbers[a].tolist(), numbers[b].tolist(), strict=True))
    # MPFR has no signalling NaNs; these give a NaN.
    signalling = np.array([fmt.is_signalling(code) for code in every.tolist()])
    compare(fmt, np.where(signalling[a] | signalling[b], np.nan, exact), (a, b), name, MODES)


@pytest.mark.parametrize("name", MPFR_OF_TWO)
@pytest.mark.parametrize("format_name", ["f4E2M1FN", "f6E2M3FN", "f6E3M2FN"])
def test_every_pair_of_the_smallest_formats(format_name: str, name: str) -> None:
    compare_pairs(FORMATS[format_name], name)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", MPFR_OF_TWO)
@pytest.mark.parametrize("fmt", [*EIGHT_BITS, *OWN], ids=str)
def test_every_pair_of_8_bits(fmt: FloatFormat, name: str) -> None:
    compare_pairs(fmt, name)


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
