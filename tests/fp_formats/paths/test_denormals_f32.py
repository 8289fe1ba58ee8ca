"""Policies by which f32 alone flushes subnormals: f32 as if all formats did, the others as if none did."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from float_samples import codes as codes_of
from float_samples import pairs as pairs_of

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import arithmetic, comparisons, conversions
from halfulp.fp_formats.formats import FORMATS, FloatFormat, codes_to_ints, ints_to_codes
from halfulp.fp_formats.paths import fast, native_scalar
from halfulp.fp_formats.policy import SPEC, FloatPolicy, Flushing, Rounding

F32, F64, BF16, F16 = (FORMATS[name] for name in ("f32", "f64", "bf16", "f16"))
RNE, RU, RZ = Rounding.TO_NEAREST_EVEN, Rounding.UPWARD, Rounding.TOWARD_ZERO
KEPT = {
    "signed": FloatPolicy(denormals_f32="flush_both"),
    "positive": FloatPolicy(denormals_f32="flush_both", denormal_zero_f32="positive"),
}
TINY, LEAST = 0x0000_0001, 0x0080_0000  # the smallest subnormal, the smallest normal
ONE, HALF, MINUS = 0x3F80_0000, 0x3F00_0000, 0x8000_0000
BOUNDARY = [code | sign for sign in (0, MINUS) for code in (0, 1, 0x40_0000, 0x7F_FFFF, LEAST, LEAST + 1, HALF, ONE)]
BOUNDARY += [0x7F7F_FFFF, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0x7F80_0001]


def test_which_formats_flush() -> None:
    policy = KEPT["positive"]
    assert policy.flushing(F32) == Flushing(True, True, True)
    assert policy.flushing(F64) == policy.flushing(BF16) == Flushing(False, False, False)
    others = FloatPolicy(denormals="flush_operands", denormal_zero="positive", denormals_f32="flush_results")
    assert others.flushing(F32) == Flushing(False, True, True)
    assert others.flushing(F16) == Flushing(True, False, True)
    assert others.without_f32 == FloatPolicy(denormals="flush_operands", denormal_zero="positive")
    assert SPEC.without_f32 is SPEC
    with pytest.raises(ValueError, match="denormals_f32 is 'flush', but must be one of as_others, ieee"):
        FloatPolicy(denormals_f32="flush")


@pytest.mark.parametrize("zero", KEPT)
def test_by_hand(zero: str) -> None:
    policy = KEPT[zero]
    minus = MINUS if zero == "signed" else 0
    assert scalar.add(F32, TINY, TINY, RNE, policy).code == 0
    assert scalar.add(F32, MINUS | TINY, MINUS | TINY, RNE, policy).code == minus  # 0 + 0 of the zeros' signs
    assert scalar.subtract(F32, LEAST, LEAST + 1, RNE, policy).code == minus  # -2**-149 is a result
    assert scalar.multiply(F32, MINUS | LEAST, HALF, RNE, policy).code == minus
    assert scalar.multiply(F32, MINUS | LEAST, ONE, RNE, policy).code == MINUS | LEAST
    assert scalar.divide(F32, ONE, TINY, RNE, policy).code == F32.infinity_code  # 1 / 0
    assert scalar.divide(F32, ONE, MINUS | TINY, RNE, policy).code == F32.infinity_code | minus
    assert scalar.compare(F32, 1, TINY, MINUS | TINY, policy)
    assert scalar.maximum(F32, MINUS | TINY, MINUS | LEAST, policy).code == minus
    assert scalar.fma(F32, TINY, ONE, LEAST, RNE, policy).code == LEAST
    assert scalar.to_integer(F32, TINY, 8, True, RU, policy).code == 0  # 1 without flushing
    assert scalar.negate(F32, TINY, policy).code == MINUS | TINY  # bits
    # A signed zero stays what it is; a NaN too.
    assert scalar.add(F32, MINUS, MINUS, RNE, policy).code == MINUS
    assert scalar.add(F32, 0x7FC0_0001, TINY, RNE, policy).code == 0x7FC0_0001
    # f32's side of a conversion: 2**-140 is normal in f64; bf16's 0x0001 is a subnormal of f32, which flushes.
    assert scalar.convert(F32, F64, 1 << 9, RNE, policy).code == 0
    assert scalar.convert(F64, F32, 0x3730_0000_0000_0000, RNE, policy).code == 0
    assert scalar.convert(BF16, F32, 0x8001, RNE, policy).code == minus
    assert scalar.convert(F32, BF16, 0x0001_0000, RNE, policy).code == 0
    assert scalar.convert(F32, BF16, LEAST, RNE, policy).code == 0x0080
    assert scalar.convert(F32, F16, HALF - (24 << 23), RNE, policy).code == 0  # a tie; 2**-25 is normal in f32
    assert scalar.convert(F32, F16, ONE - (24 << 23), RNE, policy).code == 1  # subnormals of f16 are kept
    for fmt in (F64, BF16, F16):
        assert scalar.add(fmt, 1, 1, RNE, policy).code == 2


def cases(fmt: FloatFormat) -> Iterator[tuple[int, int]]:
    yield from (product(BOUNDARY, repeat=2) if fmt == F32 else zip(*pairs_of(fmt, 300, 1), strict=True))


def as_if(fmt: FloatFormat, zero: str) -> FloatPolicy:
    """Return the policy of all formats under which this one computes the same."""
    return FloatPolicy(denormals="flush_both", denormal_zero=zero) if fmt == F32 else SPEC


@pytest.mark.long
@pytest.mark.parametrize("zero", KEPT)
@pytest.mark.parametrize("fmt", [F32, F64, BF16, F16, FORMATS["f8E5M2"]], ids=str)
def test_arithmetic_and_comparison(fmt: FloatFormat, zero: str) -> None:
    """Every operation, by the specification, on arrays, and by the quick paths, arrays and scalars."""
    policy, known = KEPT[zero], as_if(fmt, zero)
    rows = list(cases(fmt))
    a, b = (ints_to_codes([row[side] for row in rows], fmt.bits, (len(rows),)) for side in (0, 1))
    rounded = ("add", "subtract", "multiply", "divide", "remainder")
    for name in (*rounded, "maximum", "minimum", "maximum_number", "minimum_number"):
        for mode in (RNE, RU, RZ) if name in rounded else (RNE,):
            more = (mode, policy) if name in rounded else (policy,)
            expected = [getattr(scalar, name)(fmt, x, y, *more[:-1], known) for x, y in rows]
            assert [getattr(scalar, name)(fmt, x, y, *more) for x, y in rows] == expected
            found = getattr(arithmetic, name)(fmt, a, b, *more, want_flags=True)
            codes = [each.code for each in expected]
            assert codes_to_ints(found.codes, fmt.bits) == codes
            assert found.flags.tolist() == [each.flags for each in expected]
            assert codes_to_ints(getattr(fast, name)(fmt, a, b, *more).codes, fmt.bits) == codes
            implementation = native_scalar.binary(name, fmt, mode, policy, lambda x, y: -1)
            if fast.path_of(name, fmt, mode, policy) == "native":
                assert fmt == F64
                assert all(implementation(x, y) in (code, -1) for (x, y), code in zip(rows, codes, strict=True))
    for predicate in range(16):
        expected_bits = [scalar.compare(fmt, predicate, x, y, known) for x, y in rows]
        assert [scalar.compare(fmt, predicate, x, y, policy) for x, y in rows] == expected_bits
        for compare in (comparisons.compare, fast.compare):
            assert compare(fmt, predicate, a, b, policy).codes.tolist() == expected_bits


@pytest.mark.long
@pytest.mark.parametrize("zero", KEPT)
@pytest.mark.parametrize("other", [fmt for fmt in FORMATS.values() if fmt not in (F32,)], ids=lambda fmt: fmt.name)
def test_conversions(other: FloatFormat, zero: str) -> None:
    """From f32 as if its operand were flushed before; to f32 as if only f32's results were flushed."""
    policy = KEPT[zero]
    flush = FloatPolicy(denormals="flush_both", denormal_zero=zero)
    results = FloatPolicy(denormals="flush_results", denormal_zero=zero)
    from_f32 = [*BOUNDARY, *codes_of(F32, 1000, 2)]
    to_f32 = codes_of(other, 1000, 3)
    a, b = ints_to_codes(from_f32, 32, (len(from_f32),)), ints_to_codes(to_f32, other.bits, (len(to_f32),))
    for mode in (RNE, RU, RZ):
        down = [scalar.convert(F32, other, scalar.flush(F32, code, flush).code, mode) for code in from_f32]
        up = [scalar.convert(other, F32, code, mode, results) for code in to_f32]
        assert [scalar.convert(F32, other, code, mode, policy) for code in from_f32] == down
        assert [scalar.convert(other, F32, code, mode, policy) for code in to_f32] == up
        for convert in (conversions.convert, fast.convert):
            found = convert(F32, other, a, mode, policy)
            assert codes_to_ints(found.codes, other.bits) == [each.code for each in down]
            found = convert(other, F32, b, mode, policy)
            assert codes_to_ints(found.codes, 32) == [each.code for each in up]


def test_integers() -> None:
    """A subnormal rounds to zero or one; with flushing only to zero. Integers are not subnormal."""
    policy = KEPT["signed"]
    codes = np.array([TINY, 0x7F_FFFF, LEAST, MINUS | TINY, 0x3FC0_0000], np.uint32)
    for module in (conversions, fast):
        found = module.to_integer(F32, codes, 8, True, RU, policy)
        assert found.codes.tolist() == [0, 0, 1, 0, 2]
        found = module.to_integer(F64, np.array([1], np.uint64), 8, True, RU, policy)
        assert found.codes.tolist() == [1]
        numbers = np.array([1, 0xFF], np.uint8)
        kept = module.from_integer(F32, numbers, 8, True, RNE, policy)
        assert kept.codes.tolist() == [ONE, MINUS | ONE]


def test_other_formats_keep_their_quick_paths() -> None:
    policy = KEPT["positive"]
    for operation, fmt in product(
        ("add", "multiply", "compare", "maximum", "fma"), (F64, BF16, F16, FORMATS["f8E5M2"])
    ):
        assert fast.path_of(operation, fmt, RNE, policy) == fast.path_of(operation, fmt, RNE, SPEC)
        assert fast.path_of(operation, F32, RNE, policy) is None
    assert fast.conversion_path(F32, BF16, RNE, policy).kind == "flushed"
    assert fast.conversion_path(BF16, F16, RNE, policy) == fast.conversion_path(BF16, F16, RNE, SPEC)
    assert fast.conversion_path(F64, BF16, RNE, policy).kind == "sum"
    assert fast.conversion_path(F64, F32, RNE, policy).kind == "exact"
    kept = FloatPolicy(denormals="flush_both", denormals_f32="ieee")
    assert fast.path_of("add", F32, RNE, kept) == "native"
    assert fast.path_of("add", F64, RNE, kept) is None
    assert fast.conversion_path(F32, BF16, RNE, kept).kind == "exact"
