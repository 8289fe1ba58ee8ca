"""Rounding to odd, and ties to even codes: every path against the specification, and that against its definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from halfulp.fp_formats import scalar
from halfulp.fp_formats.aliases import float_format as p3109
from halfulp.fp_formats.exact import arithmetic, conversions
from halfulp.fp_formats.formats import ALL_FORMATS, FORMATS, FloatFormat
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.policy import Rounding

ODD = Rounding.TO_ODD
SMALL = [
    *map(p3109, ("binary8p1se", "binary6p1ue", "binary5p1sf", "binary8p3se", "binary6p2uf")),
    *(ALL_FORMATS[name] for name in ("f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f6E2M3FN", "f4E1M2", "f8E5M3FNU")),
]


@pytest.mark.parametrize("fmt", SMALL, ids=str)
def test_the_odd_neighbour(fmt: FloatFormat) -> None:
    """Between two finite positive codes, each number becomes the odd one; a number that has a code keeps it."""
    for code in range(fmt.max_magnitude):
        low, high = scalar.value(fmt, code), scalar.value(fmt, code + 1)
        assert low is not None
        assert high is not None
        odd = code if code & 1 or (fmt.precision == 1 and not fmt.even_code) else code + 1
        for part in (Fraction(1, 1000), Fraction(1, 2), Fraction(999, 1000)):
            if low or fmt.zero:
                assert scalar.from_fraction(fmt, low + part * (high - low), ODD).code == odd
        assert scalar.from_fraction(fmt, high, ODD).code == code + 1


@pytest.mark.parametrize("fmt", SMALL, ids=str)
@pytest.mark.parametrize("mode", [Rounding.TO_NEAREST_EVEN, ODD])
def test_arithmetic_on_small_formats(fmt: FloatFormat, mode: Rounding) -> None:
    rng = np.random.default_rng(fmt.bits)
    a, b = rng.integers(0, 1 << fmt.bits, (2, 1500), fmt.storage_dtype)
    for name in ("add", "multiply", "divide"):
        found = getattr(arithmetic, name)(fmt, a, b, mode, want_flags=True)
        quick = getattr(fast, name)(fmt, a, b, mode)
        expected = [getattr(scalar, name)(fmt, int(x), int(y), mode) for x, y in zip(a, b, strict=True)]
        assert [(r.code, r.flags) for r in expected] == list(
            zip(found.codes.tolist(), found.flags.tolist(), strict=True)
        )
        assert quick.codes.tolist() == found.codes.tolist()


@pytest.mark.parametrize("fmt", SMALL, ids=str)
@pytest.mark.parametrize("mode", [Rounding.TO_NEAREST_EVEN, ODD])
def test_conversions_to_small_formats(fmt: FloatFormat, mode: Rounding) -> None:
    f32 = FORMATS["f32"]
    rng = np.random.default_rng(7)
    near = rng.integers(127 - 20, 127 + 20, 1500) << 23 | rng.integers(0, 8, 1500) << 20 | rng.integers(0, 2, 1500)
    codes = np.concatenate([rng.integers(0, 1 << 32, 500, np.uint32), near.astype(np.uint32)])
    found = conversions.convert(f32, fmt, codes, mode, want_flags=True)
    expected = [scalar.convert(f32, fmt, int(code), mode) for code in codes]
    assert found.flags is not None
    assert [(r.code, r.flags) for r in expected] == list(zip(found.codes.tolist(), found.flags.tolist(), strict=True))
    assert fast.convert(f32, fmt, codes, mode).codes.tolist() == found.codes.tolist()


@pytest.mark.parametrize("name", ["bf16", "f16", "f32", "f64", "f80"])
def test_wide_formats(name: str) -> None:
    fmt = FORMATS[name]
    rng = np.random.default_rng(3)
    if fmt.limbs > 1:
        limbs = rng.integers(0, 1 << 63, (2, 60, 2), np.uint64)
        limbs[..., 1] &= np.uint64(0xFFFF)
        a, b = limbs
        numbers = [[int(x[1]) << 64 | int(x[0]) for x in part] for part in (a, b)]
    else:
        a, b = rng.integers(0, 1 << fmt.bits, (2, 600), np.uint64).astype(fmt.storage_dtype)
        numbers = [a.tolist(), b.tolist()]
    for operation in ("add", "multiply", "divide"):
        found = getattr(fast, operation)(fmt, a, b, ODD).codes
        expected = [getattr(scalar, operation)(fmt, x, y, ODD).code for x, y in zip(*numbers, strict=True)]
        ours = [int(x[1]) << 64 | int(x[0]) for x in found] if fmt.limbs > 1 else found.tolist()
        assert ours == expected, operation
    if fmt.limbs == 1:
        integral = fast.to_integral(fmt, a, ODD).codes.tolist()
        assert integral == [scalar.to_integral(fmt, x, ODD).code for x in numbers[0]]
        integers = fast.to_integer(fmt, a, 32, True, ODD)
        assert integers.codes.tolist() == [scalar.to_integer(fmt, x, 32, True, ODD).code for x in numbers[0]]


def test_overflow_stays_odd() -> None:
    """f16: 65504 is odd and infinity even (as Arm's FCVTXN does); f8E4M3FN has no infinity; P3109's largest is even."""
    beyond = Fraction(10) ** 9
    assert scalar.from_fraction(FORMATS["f16"], beyond, ODD).code == 0x7BFF
    assert scalar.from_fraction(FORMATS["f8E4M3FN"], -beyond, ODD).code == 0xFE
    assert scalar.from_fraction(p3109("binary8p3se"), beyond, ODD).code == 0x7F
    assert scalar.from_fraction(p3109("binary8p3ue"), beyond * beyond, ODD).code == 0xFD
