"""fma: the specification against fractions, APFloat and the C library; arrays and the quicker path against it."""

import ctypes
import ctypes.util
import itertools
import random
from dataclasses import replace

import numpy as np
import pytest
from amounts import amounts, thinned
from float_samples import LARGE, SMALL, codes, to_array, to_list
from hypothesis import given
from hypothesis import strategies as st

from halfulp.conformance.oracles import apfloat
from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import arithmetic, comparisons
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, NanEncoding, codes_to_ints
from halfulp.fp_formats.paths import fast, llvm, word_floats
from halfulp.fp_formats.policy import SPEC, Flags, FloatPolicy, Rounding, choices_of

MODES = tuple(Rounding)[:5]
RNE, RD = MODES[:2]
F32, F64, F16 = FORMATS["f32"], FORMATS["f64"], FORMATS["f16"]
INVALID = int(Flags.INVALID)
POLICIES = (
    SPEC,
    FloatPolicy(denormals="flush_both"),
    FloatPolicy(denormals="flush_operands", denormal_zero="positive"),
    FloatPolicy(denormals="flush_results", tininess="before"),
    FloatPolicy(denormals="flush_both_delivered"),
    FloatPolicy(nan_result="canonical"),
    FloatPolicy(nan_result="negative", tininess="before"),
    FloatPolicy(nan_result="canonical_signed", nan_to_nanless="zero_inverted", zero_to_zeroless="nan"),
    FloatPolicy(conversion_overflow="saturate", wide_source="through_f32", nan_to_nanless="max"),
)
USERS = (
    FloatFormat("unsigned IEEE", 3, 2, 3, signed=False),
    FloatFormat("infinity but no NaN", 4, 3, 8, nan=NanEncoding.NONE),
    FloatFormat("no zero", 4, 3, 7, signed=False, infinities=False, nan=NanEncoding.ALL_ONES, zero=False),
    FloatFormat("widest one-limb product", 8, 28, 127),
    FloatFormat("one-limb sums, two-limb products", 15, 30, 16000),
    FloatFormat("widest two-limb product", 11, 60, 1023),
    FloatFormat("too wide for two limbs", 11, 61, 1023),
)


def triples(fmt: FloatFormat, count: int, seed: int) -> list[tuple[int, int, int]]:
    """Adversarial triples; in half of them c is near -a * b, a few units of the last place or many binades away."""
    rng = random.Random(f"{seed} triples {fmt.name}")
    rows = []
    for a, b, c in zip(*(codes(fmt, count, seed + i) for i in range(3)), strict=True):
        product = scalar.multiply(fmt, a, b, rng.choice(MODES))
        if rng.random() < 0.5 and not product.poison:
            gap = rng.choice((0, 0, 1, -1, 2, rng.randint(-2 * fmt.precision - 3, fmt.precision + 3)))
            near = product.code ^ (fmt.sign_mask or 0 if rng.random() < 0.8 else 0)
            field = gap << (fmt.mantissa_bits + fmt.explicit_integer_bit) if abs(gap) > 2 else gap
            c = (near + field) & fmt.code_mask
        rows.append((a, b, c))
    return rows


Columns = tuple[Codes, Codes, Codes]


def arrays(fmt: FloatFormat, rows: list[tuple[int, int, int]]) -> Columns:
    a, b, c = (to_array(fmt, list(column)) for column in zip(*rows, strict=True))
    return a, b, c


def check_exact(
    fmt: FloatFormat, rows: list[tuple[int, int, int]], mode: Rounding, policy: FloatPolicy = SPEC, width: int = 0
) -> None:
    rng = random.Random(width)
    values = [rng.getrandbits(width) for _ in rows]
    noise = (np.array(values, np.uint64), width) if width else None
    want = [
        scalar.fma(fmt, *row, mode, policy, (value, width) if width else None)
        for row, value in zip(rows, values, strict=True)
    ]
    got = arithmetic.fma(fmt, *arrays(fmt, rows), mode, policy, noise, True)
    assert got.flags is not None
    poison = [False] * len(rows) if got.poison is None else got.poison.tolist()
    actual = list(zip(codes_to_ints(got.codes, fmt.bits), got.flags.tolist(), poison, strict=True))
    wrong = [
        (row, result, other) for row, result, other in zip(rows, want, actual, strict=True) if tuple(result) != other
    ]
    assert not wrong, (fmt.name, mode, policy, width, len(wrong), wrong[:3])
    bare = arithmetic.fma(fmt, *arrays(fmt, rows), mode, policy, noise)
    assert bare.flags is None
    np.testing.assert_array_equal(bare.codes, got.codes)


def check_value(fmt: FloatFormat, row: tuple[int, int, int], mode: Rounding) -> None:
    """Finite operands: the fraction a * b + c, rounded by `scalar.from_fraction`, which knows nothing of fma."""
    a, b, c = (scalar.value(fmt, code) for code in row)
    assert a is not None
    assert b is not None
    assert c is not None
    total = a * b + c
    got = scalar.fma(fmt, *row, mode)
    want = scalar.from_fraction(fmt, total, mode)
    if total == 0:
        signs = [scalar.unpack(fmt, code).sign for code in row]
        product = signs[0] ^ signs[1]
        sign = product if product == signs[2] else int(mode == RD)
        want = scalar.Result(scalar.with_sign(fmt, sign, 0) if fmt.has_negative_zero else 0)
    # An overflow of a conversion is one of arithmetic, too: their policies differ in other profiles only.
    assert got == want, (fmt.name, [hex(code) for code in row], mode)


def test_hand_worked() -> None:
    """The product is not rounded: (1 + 2^-10)(1 - 2^-10) - 1 = -2^-20 in f16, where two roundings give 0."""
    one_and, one_less, minus_one = 0x3C01, 0x3BFE, 0xBC00
    assert scalar.fma(F16, one_and, one_less, minus_one) == (0x8010, 0, False)  # -16 units of 2^-24
    rounded = scalar.multiply(F16, one_and, one_less).code
    assert scalar.add(F16, rounded, minus_one).code == 0
    # 255 * 257 = 65535, above 65519.99: infinity; with c = -32 it is 65503, which is 65504 to nearest.
    a, b = 0x5BF8, 0x5C04
    assert scalar.fma(F16, a, b, 0) == (0x7C00, int(Flags.OVERFLOW | Flags.INEXACT), False)
    assert scalar.fma(F16, a, b, 0xD000) == (0x7BFF, int(Flags.INEXACT), False)
    # In f32, 1 + 2^-24 is a tie, which goes to even, and 1 + (1 + 2^-23) 2^-24 is above it.
    assert scalar.fma(F32, 0x33800000, 0x3F800000, 0x3F800000).code == 0x3F800000  # 1 + 2^-24: to even
    assert scalar.fma(F32, 0x33800001, 0x3F800000, 0x3F800000).code == 0x3F800001


SPECIALS = (
    # a, b, c, result, flags in f16
    (0x7C00, 0x0000, 0x3C00, 0x7E00, INVALID),  # infinity times zero
    (0x8000, 0x7C00, 0x7E01, 0x7E01, INVALID),  # the same where c is a quiet NaN
    (0x7C00, 0x0000, 0xFC01, 0xFE01, INVALID),  # and a signalling one
    (0x7C00, 0x3C00, 0xFC00, 0x7E00, INVALID),  # infinity minus infinity
    (0x7C00, 0x3C00, 0x7C00, 0x7C00, 0),
    (0xFC00, 0x3C00, 0x3C00, 0xFC00, 0),
    (0x3C00, 0x3C00, 0xFC00, 0xFC00, 0),
    (0x7E03, 0xFE02, 0x7E01, 0x7E03, 0),  # the first NaN
    (0x3C00, 0xFE02, 0x7E01, 0xFE02, 0),
    (0x3C00, 0x7C00, 0x7E01, 0x7E01, 0),
    (0x3C00, 0x3C00, 0x7D01, 0x7F01, INVALID),
    (0x7E01, 0x3C00, 0x7D01, 0x7E01, INVALID),  # a signalling NaN that is not the first
)


@pytest.mark.parametrize("row", SPECIALS, ids=lambda row: "_".join(f"{code:04x}" for code in row))
def test_specials(row: tuple[int, int, int, int, int]) -> None:
    a, b, c, code, flags = row
    assert scalar.fma(F16, a, b, c) == (code, flags, False)
    got = arithmetic.fma(F16, *arrays(F16, [(a, b, c)]), want_flags=True)
    assert got.codes.tolist() == [code]
    assert got.flags is not None
    assert got.flags.tolist() == [flags]
    assert fast.fma(F16, *arrays(F16, [(a, b, c)])).codes.tolist() == [code]


# Infinity times zero plus a quiet NaN, and plus a signalling one: the results in f16, and whether the first is invalid.
# riscv: the F extension (11.6), with a payload. arm: FPMulAdd. x86: the processor. SSE: SoftFloat's s_mulAddF16.c.
UNDEFINED = {
    "invalid": (0x7E01, 0x7F01, INVALID),
    "default_nan": (0x7E00, 0x7F01, INVALID),
    "always_default_nan": (0x7E00, 0x7E00, INVALID),
    "quiet": (0x7E01, 0x7F01, 0),
}


def test_infinity_times_zero_plus_nan() -> None:
    assert set(UNDEFINED) == set(choices_of(FloatPolicy)["fma_undefined"].values)
    for rule, (quiet, signalling, flags) in UNDEFINED.items():
        policy = replace(SPEC, fma_undefined=rule)
        for a, b in ((0x7C00, 0x0000), (0x8000, 0x7C00), (0xFC00, 0x8000)):
            assert scalar.fma(F16, a, b, 0x7E01, policy=policy) == (quiet, flags, False)
            assert scalar.fma(F16, a, b, 0x7D01, policy=policy) == (signalling, INVALID, False)
            assert scalar.fma(F16, a, b, 0x3C00, policy=policy) == (0x7E00, INVALID, False)


@pytest.mark.parametrize("rule", UNDEFINED)
def test_arrays_of_infinity_times_zero_plus_nan(rule: str) -> None:
    specials = (0x7C00, 0xFC00, 0x0000, 0x8000, 0x3C00, 0x7E00, 0xFE01, 0x7D01, 0xFC01)
    check_exact(F16, list(itertools.product(specials, specials, specials)), RNE, replace(SPEC, fma_undefined=rule))


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_signs_of_exact_zeros(mode: Rounding) -> None:
    zero = {0: 0x0000, 1: 0x8000}
    for a, b, c in itertools.product((0, 1), repeat=3):
        product = a ^ b
        want = product if product == c else int(mode == RD)
        assert scalar.fma(F16, zero[a], zero[b], zero[c], mode).code == zero[want]
    assert scalar.fma(F16, 0x3C00, 0x3C00, 0xBC00, mode).code == zero[int(mode == RD)]


@pytest.mark.parametrize("fmt", SMALL, ids=str)
@pytest.mark.parametrize("count", amounts(140, None))
def test_small_formats_against_fractions(fmt: FloatFormat, count: int | None) -> None:
    """``count``: of triples; None for every one of formats of up to 6 bits, in each mode."""
    every = [code for code in range(1 << fmt.bits) if scalar.value(fmt, code) is not None]
    rng = random.Random(fmt.name)
    rows = (
        itertools.product(every, every, every)
        if fmt.bits == 4 or (count is None and fmt.bits <= 6)
        else ((rng.choice(every), rng.choice(every), rng.choice(every)) for _ in range(count or 700))
    )
    for number, row in enumerate(rows):
        for mode in MODES if count is None else MODES[number % 5 :][:1]:
            check_value(fmt, row, mode)


@given(st.data())
def test_any_format_against_fractions(data: st.DataObject) -> None:
    fmt = data.draw(st.sampled_from((*FORMATS.values(), *USERS)))
    code = st.integers(0, fmt.code_mask).filter(lambda code: scalar.value(fmt, code) is not None)
    row = (data.draw(code), data.draw(code), data.draw(code))
    check_value(fmt, row, data.draw(st.sampled_from(MODES)))


@pytest.mark.parametrize("fmt", LARGE, ids=str)
@pytest.mark.parametrize("count", amounts(120, 600))
def test_cancelling_triples_against_fractions(fmt: FloatFormat, count: int) -> None:
    for number, row in enumerate(triples(fmt, count, 71)):
        if all(scalar.value(fmt, code) is not None for code in row):
            check_value(fmt, row, MODES[number % 5])


@pytest.mark.parametrize("fmt", thinned([*FORMATS.values(), *USERS], 4), ids=str)
@pytest.mark.parametrize("count", amounts(48, 240))
def test_exact_equals_scalar(fmt: FloatFormat, count: int) -> None:
    for mode in MODES:
        check_exact(fmt, triples(fmt, count, 72 + mode), mode)
    for number, policy in enumerate(POLICIES):
        check_exact(fmt, triples(fmt, count // 4, 82), MODES[number % 5], policy)
    for width in (1, 7, 16, 32, 64):
        check_exact(fmt, triples(fmt, count // 4, 83), Rounding.STOCHASTIC, SPEC, width)


@pytest.mark.parametrize("modes", amounts(MODES[:1], long=MODES[1:]), ids=len)
def test_every_triple_of_f4_in_arrays(modes: tuple[Rounding, ...]) -> None:
    fmt = FORMATS["f4E2M1FN"]
    for mode in modes:
        check_exact(fmt, list(itertools.product(range(16), range(16), range(16))), mode)


def test_shapes() -> None:
    one, two = np.array(0x3C00, np.uint16), np.array([[0x4000], [0x4200]], np.uint16)
    three = np.array([0x3C00, 0x4000, 0x4400], np.uint16)
    for fma in (arithmetic.fma, fast.fma):
        got = fma(F16, one, two, three).codes
        assert got.tolist() == [[0x4200, 0x4400, 0x4600], [0x4400, 0x4500, 0x4700]]
        assert fma(F16, one, one, one).codes.shape == ()
        assert fma(F16, two[:0], two[:0], two[:0]).codes.shape == (0, 1)
    f80 = FORMATS["f80"]
    ones = to_array(f80, [0x3FFF << 64 | 1 << 63] * 3)
    assert to_list(f80, arithmetic.fma(f80, ones, ones, ones).codes) == [0x4000 << 64 | 1 << 63] * 3


def test_domains() -> None:
    quick = {fmt.name for fmt in FORMATS.values() for mode in MODES if fast.path_of("fma", fmt, mode)}
    assert quick == {"bf16", "f16", "f32"}
    assert fast.path_of("fma", F32, Rounding.STOCHASTIC) is None
    assert fast.path_of("fma", F32, RNE, FloatPolicy(denormals="flush_results")) is None


def check_fast(fmt: FloatFormat, columns: Columns, mode: Rounding, policy: FloatPolicy) -> None:
    got, want = fast.fma(fmt, *columns, mode, policy), arithmetic.fma(fmt, *columns, mode, policy)
    np.testing.assert_array_equal(got.codes, want.codes)
    assert got.poison is None


def random_columns(rng: np.random.Generator, fmt: FloatFormat, count: int) -> Columns:
    a, b, c = (rng.integers(0, 1 << fmt.bits, count, dtype=fmt.storage_dtype) for _ in range(3))
    return a, b, c


@pytest.mark.parametrize("name", ["bf16", "f16", "f32"])
@pytest.mark.parametrize("count", amounts(800, 1_000_000))
def test_fast_equals_exact(name: str, count: int) -> None:
    fmt = FORMATS[name]
    rng = np.random.default_rng(7)
    ties = arrays(fmt, triples(fmt, count, 90))
    anything = random_columns(rng, fmt, 8 * count)
    some: Columns = (ties[0][: count // 2], ties[1][: count // 2], ties[2][: count // 2])
    for mode in MODES:
        for columns in (ties, anything):
            check_fast(fmt, columns, mode, SPEC)
        check_fast(fmt, some, mode, FloatPolicy(nan_result="canonical"))
        check_fast(fmt, some, mode, FloatPolicy(wide_source="through_f32"))
        check_fast(fmt, some, mode, FloatPolicy(conversion_overflow="saturate"))


@pytest.mark.parametrize(("fmt", "name", "kind"), [(F64, "fma", ctypes.c_double), (F32, "fmaf", ctypes.c_float)])
@pytest.mark.parametrize("count", amounts(1_600, 100_000))
def test_c_library(fmt: FloatFormat, name: str, kind: type[ctypes.c_double] | type[ctypes.c_float], count: int) -> None:
    """The C library's fma on adversarial triples; NaNs count as NaN, since C says nothing of their bits."""
    path = ctypes.util.find_library("m")
    if path is None:
        pytest.skip("no C mathematics library is found here")
    function = getattr(ctypes.CDLL(path), name)
    function.argtypes, function.restype = [kind] * 3, kind
    columns = arrays(fmt, triples(fmt, count, 92))
    floats = [column.view(f"f{fmt.bits // 8}").tolist() for column in columns]
    theirs = np.array([function(*row) for row in zip(*floats, strict=True)], f"f{fmt.bits // 8}")
    ours = arithmetic.fma(fmt, *columns).codes
    nan = comparisons.is_nan(fmt, ours)
    assert count // 1000 < nan.sum() < count * 9 // 10
    np.testing.assert_array_equal(nan, np.isnan(theirs))
    np.testing.assert_array_equal(ours[~nan], theirs.view(fmt.storage_dtype)[~nan])


@pytest.mark.mlir
@pytest.mark.parametrize("name", ["f8E5M2", "f8E4M3", "f8E3M4", "bf16", "f16", "tf32", "f32", "f64", "f128"])
def test_apfloat(name: str) -> None:
    """Codes of all cases but infinity times zero plus NaN, where APFloat makes a NaN of its own; and those flags."""
    fmt, llvm = FORMATS[name], apfloat.load()
    overflow, underflow = int(Flags.OVERFLOW), int(Flags.UNDERFLOW)
    for number, row in enumerate(triples(fmt, 2000, 93)):
        mode = MODES[number % 5]
        ours, (code, flags) = scalar.fma(fmt, *row, mode), llvm.fma(fmt, *row, mode)
        x, y, z = (scalar.unpack(fmt, each) for each in row)
        undefined = {x.kind, y.kind} == {scalar.FINITE, scalar.INFINITE} and not x.significand | y.significand
        if undefined and z.kind >= scalar.QUIET_NAN:
            assert (code, flags) == (fmt.nan_code, INVALID)
            assert ours.flags == INVALID
            continue
        assert ours.code == code, (row, mode)
        magnitude = ours.code & (fmt.code_mask >> 1)
        if ours.flags & overflow and magnitude == fmt.max_code:
            flags |= overflow  # APFloat reports overflow with infinities only
        if ours.flags & underflow and magnitude == fmt.min_normal_code:
            flags |= underflow  # and looks at the rounded code for underflow
        assert ours.flags == flags, ([hex(each) for each in row], mode)


@pytest.mark.backend("llvm")
@pytest.mark.parametrize("name", ["f32", "f64"])
def test_the_instruction_of_the_processor(name: str) -> None:
    """NaNs are those of the specification, not of the processor."""
    if not llvm.fuses():
        pytest.skip("the processor has no instruction for fused multiply-adds")
    fmt = FORMATS[name]
    assert word_floats.fma(fmt, RNE, SPEC) is not None
    check_fast(fmt, arrays(fmt, triples(fmt, 600, 7)), RNE, SPEC)
    assert word_floats.fma(fmt, RD, SPEC) is None
    assert word_floats.fma(F16, RNE, SPEC) is None
    assert word_floats.fma(fmt, RNE, FloatPolicy(denormals="flush_both")) is None
