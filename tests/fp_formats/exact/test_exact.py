"""`exact` equals `scalar`: codes, flags and poison, for every format, mode and policy."""

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from amounts import amounts, thinned
from float_samples import LARGE, SMALL, all_codes, codes, pairs, to_array, to_list
from hypothesis import given
from hypothesis import strategies as st
from present import present

from halfulp.fp_formats import scalar
from halfulp.fp_formats.aliases import float_format as p3109
from halfulp.fp_formats.exact import arithmetic, comparisons, conversions, core
from halfulp.fp_formats.exact.core import CHUNK, ArrayResult
from halfulp.fp_formats.formats import ALL_FORMATS, FORMATS, FloatFormat, NanEncoding, codes_to_ints, ints_to_codes
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.policy import POLICY_FIELDS, SPEC, FloatPolicy, Rounding

ARITHMETIC = ("add", "subtract", "multiply", "divide", "remainder")
EXTREMA = ("maximum", "minimum", "maximum_number", "minimum_number")
MODES = (*tuple(Rounding)[:5], Rounding.TO_ODD)
STOCHASTIC = Rounding.STOCHASTIC
WIDTHS = (0, 1, 2, 7, 8, 16, 31, 32, 33, 62, 63, 64, 65, 80, 126, 127, 128, 200, 1024)

# Every value of every field on its own, and the combinations that model something.
POLICIES = (
    SPEC,
    *(FloatPolicy(**{field: value}) for field, choice in POLICY_FIELDS.items() for value in choice.values[1:]),
    FloatPolicy(denormals="flush_both", denormal_zero="positive", tininess="before"),
    FloatPolicy(denormals_f32="flush_both", denormal_zero_f32="positive"),
    FloatPolicy(denormals="flush_both", denormal_zero="positive", denormals_f32="ieee"),
    FloatPolicy(denormals="flush_both", denormal_zero="positive", denormal_zero_f32="signed", tininess="before"),
    FloatPolicy(conversion_overflow="saturate", wide_source="through_f32", nan_to_nanless="max"),
    FloatPolicy(
        nan_to_nanless="zero", infinity_to_nanless="zero", divide_by_zero_nanless="zero",
        negative_to_unsigned="sign_bit", zeroless_nan_widened="infinity", number_of_signalling="quieted",
    ),
    FloatPolicy(
        nan_result="canonical_signed", nan_to_nanless="zero_inverted", zero_to_zeroless="nan",
        wide_source="through_f32",
    ),
)  # fmt: skip

# Formats that reach what the builtin ones do not.
USERS = (
    FloatFormat("binary8p4", 4, 3, 8, nan=NanEncoding.NEGATIVE_ZERO),
    FloatFormat("unsigned IEEE", 3, 2, 3, signed=False),
    FloatFormat("f8E5M3FNU", 5, 3, 15, signed=False, infinities=False, nan=NanEncoding.ALL_ONES),
    FloatFormat("unsigned without NaN", 4, 3, 5, signed=False, infinities=False, nan=NanEncoding.NONE),
    FloatFormat("no fraction", 3, 0, 3, infinities=False, nan=NanEncoding.NONE),
    FloatFormat("binary8p5u", 4, 4, 8, signed=False, nan=NanEncoding.ALL_ONES),
    FloatFormat("infinity but no NaN", 4, 3, 8, nan=NanEncoding.NONE),
    FloatFormat("no zero", 4, 3, 7, signed=False, infinities=False, nan=NanEncoding.ALL_ONES, zero=False),
    FloatFormat("widest one-limb", 15, 30, 16000),
    FloatFormat("narrow two-limb", 5, 40, 15),
)
ALL = (*FORMATS.values(), *USERS)


def assert_same(label: object, result_width: int, want: list[scalar.Result], got: ArrayResult, rows: Any) -> None:
    """Assert that every element is equal, with flags and poison; ``got`` has flags."""
    poison = [False] * len(want) if got.poison is None else got.poison.tolist()
    assert got.poison is None or any(poison)
    assert got.flags is not None
    assert got.flags.dtype == np.uint8
    actual = list(zip(codes_to_ints(got.codes, result_width), got.flags.tolist(), poison, strict=True))
    wrong = [
        (row, result, other) for row, result, other in zip(rows, want, actual, strict=True) if tuple(result) != other
    ]
    assert not wrong, (label, len(wrong), wrong[:3])


def check_arithmetic(
    fmt: FloatFormat, a: list[int], b: list[int], op: str, mode: Rounding, policy: FloatPolicy = SPEC, width: int = 0
) -> None:
    operation: Callable[..., scalar.Result] = getattr(scalar, op)
    rows = list(zip(a, b, strict=True))
    if width:
        rng = random.Random(width)
        values = [rng.getrandbits(width) for _ in rows]
        want = [operation(fmt, x, y, mode, policy, (r, width)) for (x, y), r in zip(rows, values, strict=True)]
        noise = (np.array(values, np.uint64), width)
    else:
        want, noise = [operation(fmt, x, y, mode, policy) for x, y in rows], None
    got = getattr(arithmetic, op)(fmt, to_array(fmt, a), to_array(fmt, b), mode, policy, noise, True)
    assert_same((fmt.name, op, mode, policy, width), fmt.bits, want, got, rows)


def check_unary_and_order(fmt: FloatFormat, a: list[int], b: list[int], policy: FloatPolicy) -> None:
    x, y = to_array(fmt, a), to_array(fmt, b)
    rows = list(zip(a, b, strict=True))
    for op in EXTREMA:
        want = [getattr(scalar, op)(fmt, p, q, policy) for p, q in rows]
        assert_same((fmt.name, op, policy), fmt.bits, want, getattr(arithmetic, op)(fmt, x, y, policy, True), rows)
    for op in ("negate", "flush"):
        want = [getattr(scalar, op)(fmt, p, policy) for p in a]
        assert_same((fmt.name, op, policy), fmt.bits, want, getattr(arithmetic, op)(fmt, x, policy, True), a)


@pytest.mark.parametrize("op", thinned(ARITHMETIC, 2))
@pytest.mark.parametrize("fmt", SMALL, ids=str)
@pytest.mark.parametrize("count", amounts(200, None))
def test_small_formats(fmt: FloatFormat, op: str, count: int | None) -> None:
    """``count``: None for every pair."""
    rng, every = random.Random(f"{fmt.name} {op}"), all_codes(fmt)
    a, b = ([rng.randrange(1 << fmt.bits) for _ in range(count or 0)] for _ in range(2))
    if count is None:
        a, b = [a for a in every for _ in every], every * len(every)
    for mode in MODES:
        check_arithmetic(fmt, a, b, op, mode)


@pytest.mark.parametrize("op", thinned(ARITHMETIC, 2))
@pytest.mark.parametrize("fmt", LARGE, ids=str)
@pytest.mark.parametrize("count", amounts(400, 100_000))
def test_large_formats(fmt: FloatFormat, op: str, count: int) -> None:
    a, b = pairs(fmt, count, 51)
    for mode in MODES:
        check_arithmetic(fmt, a, b, op, mode)


@pytest.mark.long
@pytest.mark.parametrize("op", ARITHMETIC)
@pytest.mark.parametrize("fmt", ALL, ids=str)
@pytest.mark.parametrize("count", amounts(20, 60))
def test_policies(fmt: FloatFormat, op: str, count: int) -> None:
    a, b = pairs(fmt, count, 53)
    for number, policy in enumerate(POLICIES):
        check_arithmetic(fmt, a, b, op, MODES[number % 5], policy)
    for number, width in enumerate((1, 7, 16, 32, 64)):
        check_arithmetic(fmt, a, b, op, STOCHASTIC, POLICIES[number * 5], width)
        rule = POLICY_FIELDS["stochastic"].values[number % 4]
        check_arithmetic(fmt, a, b, op, STOCHASTIC, FloatPolicy(stochastic=rule, stochastic_bits="complement"), width)


@pytest.mark.long
@pytest.mark.parametrize("fmt", ALL, ids=str)
@pytest.mark.parametrize("count", amounts(90, 300))
def test_extrema_negate_flush_compare(fmt: FloatFormat, count: int) -> None:
    a, b = pairs(fmt, count, 54)
    check_unary_and_order(fmt, a, b, SPEC)
    for policy in POLICIES:
        check_unary_and_order(fmt, a[: count // 7], b[: count // 7], policy)
    for policy in (SPEC, FloatPolicy(denormals="flush_operands")):
        for predicate in range(16):
            got = comparisons.compare(fmt, predicate, to_array(fmt, a), to_array(fmt, b), policy)
            assert got.codes.dtype == np.uint8
            want = [scalar.compare(fmt, predicate, x, y, policy) for x, y in zip(a, b, strict=True)]
            assert got.codes.tolist() == [int(holds) for holds in want]


def check_conversion(src: FloatFormat, dst: FloatFormat, a: list[int], mode: Rounding, policy: FloatPolicy) -> None:
    want = [scalar.convert(src, dst, x, mode, policy) for x in a]
    got = conversions.convert(src, dst, to_array(src, a), mode, policy, None, True)
    assert_same((src.name, dst.name, mode, policy), dst.bits, want, got, a)


def test_wide_sources_pass_through_f32() -> None:
    for name, policy in product(("f64", "f80"), (each for each in POLICIES if each.wide_source == "through_f32")):
        check_conversion(FORMATS[name], FORMATS["f8E4M3FN"], codes(FORMATS[name], 200, 59), MODES[0], policy)


@pytest.mark.long
@pytest.mark.parametrize("src", ALL, ids=str)
@pytest.mark.parametrize("count", amounts(20, 60))
def test_conversions(src: FloatFormat, count: int) -> None:
    a = codes(src, count, 55)
    for number, dst in enumerate(ALL):
        for mode in MODES:
            check_conversion(src, dst, a, mode, SPEC)
        for turn in range(6):
            policy = POLICIES[(6 * number + turn) % len(POLICIES)]
            check_conversion(src, dst, a, MODES[(number + turn) % 5], policy)
        width = (1, 5, 16, 32, 64)[number % 5]
        rng = random.Random(number)
        values = [rng.getrandbits(width) for _ in a]
        policy = FloatPolicy(stochastic=POLICY_FIELDS["stochastic"].values[number % 4])
        want = [scalar.convert(src, dst, x, STOCHASTIC, policy, (r, width)) for x, r in zip(a, values, strict=True)]
        noise = (np.array(values, np.uint64), width)
        got = conversions.convert(src, dst, to_array(src, a), STOCHASTIC, policy, noise, True)
        assert_same((src.name, dst.name, width), dst.bits, want, got, a)


@pytest.mark.exhaustive
@pytest.mark.parametrize("src", FORMATS.values(), ids=str)
def test_many_conversions(src: FloatFormat) -> None:
    a = all_codes(src) if src.bits <= 16 else codes(src, 20_000, 56)
    for dst in FORMATS.values():
        for mode in MODES:
            check_conversion(src, dst, a, mode, SPEC)
    for dst in FORMATS.values():
        for number, policy in enumerate(POLICIES):
            check_conversion(src, dst, a[:: len(a) // 250 or 1], MODES[number % 5], policy)


def integer_codes(width: int, count: int) -> list[int]:
    """Integers at the ends of the range, powers of two and their neighbours, and of every size."""
    rng = random.Random(width)
    mask = (1 << width) - 1
    result = [0, 1, mask, mask >> 1, (mask >> 1) + 1, mask - 1]
    while len(result) < count:
        size = rng.randint(0, width)
        number = rng.choice((1 << size, (1 << size) - 1, (1 << size) + 1, rng.getrandbits(size) if size else 0))
        result.append(rng.choice((number, -number)))
    return [number & mask for number in result]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("fmt", thinned(ALL, 5), ids=str)
@pytest.mark.parametrize(("count", "modes"), [(14, 2), pytest.param(40, 5, marks=pytest.mark.exhaustive)])
def test_integers(fmt: FloatFormat, width: int, count: int, modes: int) -> None:
    """``modes``: how many of the rounding modes, other ones for each width."""
    integers = integer_codes(width, count)
    array = ints_to_codes(integers, width, (len(integers),))
    floats = codes(fmt, count, 57)
    floats += [
        scalar.from_integer(fmt, number, Rounding.TOWARD_ZERO).code for number in (1 << width, (1 << width) // 2)
    ]
    for signed in (False, True):
        numbers = [n - (1 << width) if signed and width and n >> (width - 1) else n for n in integers]
        for number in range(modes):
            mode, policy = MODES[(width + number) % 5], POLICIES[(width + number) % len(POLICIES)]
            label = (fmt.name, width, signed, mode, policy)
            want = [scalar.from_integer(fmt, n, mode, policy) for n in numbers]
            assert_same(
                label,
                fmt.bits,
                want,
                conversions.from_integer(fmt, array, width, signed, mode, policy, None, True),
                numbers,
            )
            for choice in (
                policy,
                *(FloatPolicy(float_to_int=c) for c in ("poison", "saturate", "saturate_nan_top", "modular")),
            ):
                want = [scalar.to_integer(fmt, x, width, signed, mode, choice) for x in floats]
                got = conversions.to_integer(fmt, to_array(fmt, floats), width, signed, mode, choice, None, True)
                assert_same((*label, choice), width, want, got, floats)
        for bits in (8, 40):
            rng = random.Random(bits)
            values = [rng.getrandbits(bits) for _ in floats]
            noise = (np.array(values, np.uint64), bits)
            want = [scalar.from_integer(fmt, n, 5, SPEC, (r, bits)) for n, r in zip(numbers, values, strict=False)]
            got = conversions.from_integer(fmt, array, width, signed, 5, SPEC, (noise[0][:count], bits), True)
            assert_same((fmt.name, width, signed, bits), fmt.bits, want, got, numbers)
            want = [
                scalar.to_integer(fmt, x, width, signed, 5, SPEC, (r, bits))
                for x, r in zip(floats, values, strict=True)
            ]
            got = conversions.to_integer(fmt, to_array(fmt, floats), width, signed, 5, SPEC, noise, True)
            assert_same((fmt.name, width, signed, bits), width, want, got, floats)


def test_no_masks_unless_needed() -> None:
    fmt, f4 = FORMATS["f32"], FORMATS["f4E2M1FN"]
    one = np.array([0x3F800000, 0x40000000], np.uint32)
    result = arithmetic.add(fmt, one, one)
    assert result.poison is None
    assert result.flags is None
    nan = conversions.convert(fmt, f4, np.array([0x3F800000, 0x7FC00000], np.uint32))
    assert nan.poison is not None
    assert nan.poison.tolist() == [False, True]
    assert nan.codes.tolist() == [2, 0]


@pytest.mark.parametrize("name", ["f32", "f128", "f4E2M1FN"])
def test_shapes(name: str) -> None:
    fmt = FORMATS[name]
    tail: tuple[int, ...] = (fmt.limbs,) if fmt.limbs > 1 else ()
    a, b = pairs(fmt, 12, 58)
    x, y = to_array(fmt, a).reshape(3, 4, *tail), to_array(fmt, b).reshape(3, 4, *tail)
    x.flags.writeable = False
    flat = arithmetic.add(fmt, to_array(fmt, a), to_array(fmt, b))
    assert to_list(fmt, arithmetic.add(fmt, x, y).codes.reshape(12, *tail)) == to_list(fmt, flat.codes)
    assert arithmetic.add(fmt, x[:, 0, ...], y[0, 0, ...]).codes.shape == (3, *tail)
    assert arithmetic.add(fmt, x[0, 0, ...], y[0, 0, ...]).codes.shape == tail
    assert arithmetic.add(fmt, x[:0], y[:0], want_flags=True).codes.shape == (0, 4, *tail)
    empty = conversions.to_integer(fmt, x[:0], 80, True)
    assert empty.codes.shape == (0, 4, 2)
    assert conversions.from_integer(fmt, np.zeros((2, 0, 2), np.uint64), 128, True).codes.shape == (2, 0, *tail)


def test_many_chunks() -> None:
    fmt = FORMATS["bf16"]
    a, b = pairs(fmt, 5000, 59)
    x, y = np.tile(to_array(fmt, a), 11), np.tile(to_array(fmt, b), 11)
    once = arithmetic.divide(fmt, x[:5000], y[:5000], want_flags=True)
    many = arithmetic.divide(fmt, x, y, want_flags=True)
    assert x.size > 3 * CHUNK
    np.testing.assert_array_equal(many.codes, np.tile(once.codes, 11))
    assert once.flags is not None
    np.testing.assert_array_equal(many.flags, np.tile(once.flags, 11))


def test_stochastic_needs_bits() -> None:
    one = np.array([0x3F800000], np.uint32)
    with pytest.raises(ValueError, match="random bits"):
        arithmetic.add(FORMATS["f32"], one, one, STOCHASTIC)


WORDS = st.integers(0, 2**128 - 1)


def wide(*numbers: int) -> core.Wide:
    return core.Wide(
        np.array([n >> 64 for n in numbers], np.uint64), np.array([n & core.WORD for n in numbers], np.uint64)
    )


def ints(x: core.Wide) -> list[int]:
    return [int(hi) << 64 | int(lo) for hi, lo in zip(x.hi, x.lo, strict=True)]


@given(WORDS, WORDS, st.integers(0, 140))
def test_limbs(x: int, y: int, n: int) -> None:
    mask, p, q, counts = 2**128 - 1, wide(x), wide(y), np.array([n])
    assert ints(p + q) == [(x + y) & mask]
    assert ints(p - q) == [(x - y) & mask]
    assert [bool((p > q)[0]), bool((p < q)[0]), bool(core.equal(p, q)[0])] == [x > y, x < y, x == y]
    for shift in (counts, min(n, 127)):
        by = min(n, 127) if isinstance(shift, int) else n
        assert ints(core.shift_left(p, shift)) == [(x << by) & mask]
        assert ints(core.shift_right(p, shift)) == [x >> by]
    assert ints(core.jam_right(p, counts)) == [x >> n | (x >> n << n != x)]
    assert core.bit_length(p).tolist() == [x.bit_length()]
    assert core.bit_length(np.array([x >> 65], np.uint64)).tolist() == [(x >> 65).bit_length()]


@given(WORDS, WORDS, st.sampled_from([32, 53, 63, 64, 65, 113, 120]))
def test_limb_products_and_quotients(x: int, y: int, bits: int) -> None:
    x, y = (n >> (128 - bits) | 1 << (bits - 1) for n in (x, y))
    product, dropped = core.multiply(wide(x), wide(y), bits)
    assert ints(product) == [x * y >> dropped | (x * y >> dropped << dropped != x * y)]
    quotient, fraction = core.divide(wide(x), wide(y), bits)
    whole, rest = divmod(x << fraction, y)
    assert ints(quotient) == [whole | (rest != 0)]
    assert whole.bit_length() >= bits + 2


def test_poison_of_one_element_is_not_that_of_its_neighbours() -> None:
    """A lost NaN beside inf - inf in one chunk, in a format of users that is unsigned and has no NaN."""
    fmt = FloatFormat("u", 4, 2, 7, signed=False, infinities=True, nan=NanEncoding.NONE)
    pairs = [(0x15, 0x3F), (0x3C, 0x3C), (0x15, 0x15), (0x3F, 0x15)]
    for chosen in ([0], [0, 1], [1, 0, 2, 3], [2, 3]):
        a, b = (np.array([pairs[k][side] for k in chosen], np.uint8) for side in (0, 1))
        want = [scalar.subtract(fmt, *pairs[k]) for k in chosen]
        found = arithmetic.subtract(fmt, a, b)
        poison = np.zeros(len(chosen), np.bool_) if found.poison is None else found.poison
        assert poison.tolist() == [result.poison for result in want]
        assert [int(c) for c, p in zip(found.codes, poison, strict=True) if not p] == [
            r.code for r in want if not r.poison
        ]


# --- odd --------------------------------------------------------------------------------------------------------------
#
# Rounding to odd, and ties to even codes: every path against the specification, and that against its definition.

ODD = Rounding.TO_ODD
ODD_SMALL = [
    *map(p3109, ("binary8p1se", "binary6p1ue", "binary5p1sf", "binary8p3se", "binary6p2uf")),
    *(ALL_FORMATS[name] for name in ("f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f6E2M3FN", "f4E1M2", "f8E5M3FNU")),
]


@pytest.mark.parametrize("fmt", ODD_SMALL, ids=str)
def test_the_odd_neighbour(fmt: FloatFormat) -> None:
    """Between two finite positive codes, each number becomes the odd one; a number that has a code keeps it."""
    for code in range(fmt.max_magnitude):
        low, high = present(scalar.value(fmt, code)), present(scalar.value(fmt, code + 1))
        odd = code if code & 1 or (fmt.precision == 1 and not fmt.even_code) else code + 1
        for part in (Fraction(1, 1000), Fraction(1, 2), Fraction(999, 1000)):
            if low or fmt.zero:
                assert scalar.from_fraction(fmt, low + part * (high - low), ODD).code == odd
        assert scalar.from_fraction(fmt, high, ODD).code == code + 1


@pytest.mark.parametrize("fmt", thinned(ODD_SMALL, 2), ids=str)
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


@pytest.mark.parametrize("fmt", thinned(ODD_SMALL, 4), ids=str)
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
