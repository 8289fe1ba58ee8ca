"""Rounding to integers of the same format: the specification against fractions, and arrays against the specification."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import pytest

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import conversions
from halfulp.fp_formats.formats import FORMATS, FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.policy import FloatPolicy, Rounding

MODES = list(Rounding)[:5]
INTEGER_OF: dict[Rounding, Callable[[Fraction], int]] = {
    Rounding.TO_NEAREST_EVEN: round,
    Rounding.DOWNWARD: math.floor,
    Rounding.UPWARD: math.ceil,
    Rounding.TOWARD_ZERO: math.trunc,
    Rounding.TO_NEAREST_AWAY: lambda x: (-1 if x < 0 else 1) * math.floor(abs(x) + Fraction(1, 2)),
    Rounding.TO_ODD: lambda x: int(x) if x == int(x) else math.floor(x) | 1,
}
POLICIES = (FloatPolicy(), FloatPolicy(denormals="flush_both", nan_result="canonical"))


@cache
def codes_of(fmt: FloatFormat) -> list[int]:
    """Return all codes of a format of up to 8 bits; of others, special ones, and some next to integers and halves."""
    if fmt.bits <= 8:
        return list(range(1 << fmt.bits))
    rng = random.Random(fmt.name)
    codes = [0, 1, fmt.max_code, fmt.min_normal_code, fmt.infinity_code or 0, fmt.nan_code or 0]
    codes += [rng.getrandbits(fmt.bits) for _ in range(20)]
    for number in (0, 1, 2, 3, 5, 1 << fmt.precision - 1, (1 << fmt.precision) - 1):
        for quarter in range(4):
            x = number + Fraction(quarter, 4)
            codes += [scalar.from_fraction(fmt, x, mode).code for mode in (Rounding.DOWNWARD, Rounding.UPWARD)]
            codes += [code + 1 for code in codes[-1:] if code < fmt.max_code]
    if fmt.signed:
        codes += [code ^ (fmt.sign_mask or 0) for code in codes]
    return codes


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=lambda fmt: fmt.name)
def test_the_specification_gives_the_integer(fmt: FloatFormat) -> None:
    for code in codes_of(fmt):
        value = scalar.value(fmt, code)
        for mode in MODES:
            found = scalar.to_integral(fmt, code, mode)
            if value is None:
                quiet = scalar.convert(fmt, fmt, code)
                assert found == quiet
                continue
            wanted = INTEGER_OF[mode](value)
            assert found == scalar.from_fraction(fmt, Fraction(wanted)) or not wanted
            if not wanted:
                sign = code >> fmt.bits - 1 if fmt.signed else 0
                assert found == scalar.encode_zero(fmt, sign, FloatPolicy())


def test_only_two_formats_end_before_the_integer() -> None:
    over = {
        fmt.name
        for fmt in FORMATS.values()
        for code in codes_of(fmt)
        if scalar.to_integral(fmt, code, Rounding.UPWARD).flags & scalar.OVERFLOW
    }
    assert over == {"f6E2M3FN", "f8E3M4"}


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=lambda fmt: fmt.name)
def test_arrays_are_the_specification(fmt: FloatFormat) -> None:
    codes = codes_of(fmt)
    array = ints_to_codes(codes, fmt.bits, (len(codes),))
    for mode in MODES:
        for policy in POLICIES:
            wanted = [scalar.to_integral(fmt, code, mode, policy) for code in codes]
            found = conversions.to_integral(fmt, array, mode, policy, want_flags=True)
            assert codes_to_ints(found.codes, fmt.bits) == [each.code for each in wanted]
            assert found.flags is not None
            assert found.flags.tolist() == [each.flags for each in wanted]
            quick = fast.to_integral(fmt, array, mode, policy)
            assert codes_to_ints(quick.codes, fmt.bits) == [each.code for each in wanted]
