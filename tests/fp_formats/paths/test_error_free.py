"""f32 and f64 in directed modes and to nearest away, and bf16 and f16 through them, equal `exact`.

The pairs of f32 and of f64 cannot be enumerated; here are those that the proofs in `error_free` turn on (ties, exact
results, the ends of every window, signed zeros, NaN payloads), adversarial and random ones. The pairs of bf16 and f16
are all 2**16 codes with a few partners, and `make test-exhaustive` takes all 2**32 in every operation and mode.
"""

import random
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from amounts import amounts, thinned
from float_samples import codes, interesting, pairs, to_array
from hypothesis import given, settings
from hypothesis import strategies as st

from halfulp.fp_formats.exact import arithmetic, conversions, core
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat
from halfulp.fp_formats.paths import error_free, fast, tables
from halfulp.fp_formats.policy import SPEC, FloatPolicy, Rounding

OPERATIONS = ("add", "subtract", "multiply", "divide")
MODES = tuple(Rounding)[1:5]
NATIVE = (FORMATS["f32"], FORMATS["f64"])
NARROW = (FORMATS["bf16"], FORMATS["f16"])
WAYS = tuple(product(OPERATIONS, MODES))


def check(fmt: FloatFormat, a: Codes, b: Codes, ways: Any = WAYS, policy: FloatPolicy = SPEC) -> None:
    for operation, mode in ways:
        got = getattr(fast, operation)(fmt, a, b, mode, policy)
        want = getattr(arithmetic, operation)(fmt, a, b, mode, policy)
        assert got.codes.dtype == want.codes.dtype
        np.testing.assert_array_equal(got.codes, want.codes, f"{fmt} {operation} {mode!r}")
        assert got.poison is None


def every_pair(some: Codes) -> tuple[Codes, Codes]:
    return np.repeat(some, some.size), np.tile(some, some.size)


def code(fmt: FloatFormat, exponent: int, fraction: int, negative: bool = False) -> int:
    """Return the code of 1.fraction * 2**exponent; below the smallest normal value, that of its leading bits."""
    significand = (1 << fmt.mantissa_bits) | (fraction & fmt.fraction_mask)
    field = exponent + fmt.bias
    magnitude = (
        significand >> min(1 - field, fmt.precision) if field < 1 else (field - 1 << fmt.mantissa_bits) + significand
    )
    return min(magnitude, fmt.max_code) | (negative << (fmt.bits - 1))


def fractions(fmt: FloatFormat, rng: random.Random, count: int) -> list[int]:
    run = [1 << rng.randrange(fmt.mantissa_bits) for _ in range(count)]
    return [
        0,
        1,
        fmt.fraction_mask,
        *run,
        *(fmt.fraction_mask ^ (bit - 1) for bit in run),
        *(rng.getrandbits(60) for _ in run),
    ]


def windows(fmt: FloatFormat) -> list[int]:
    """Exponents at and about the ends of what the transforms hold for."""
    ends = [fmt.emin - fmt.mantissa_bits, fmt.emin, fmt.emin // 2, 0, fmt.emax // 2, fmt.emax]
    if fmt.bits == 64:
        ends += [-960, -960 + 52, -480, 480, 996, -996, -1022 + 54]
    return sorted({end + step for end in ends for step in (-1, 0, 1)})


def test_declared() -> None:
    """The declared operations are fast; other policies and flags are not."""
    for operation, mode in WAYS:
        assert {fast.path_of(operation, fmt, mode) for fmt in NATIVE} == {"error_free"}
        assert {fast.path_of(operation, fmt, mode) for fmt in NARROW} == {"through_f32"}
        for fmt in (*NATIVE, *NARROW):
            assert fast.path_of(operation, fmt, mode, FloatPolicy(denormals="flush_results")) is None
            assert fast.path_of(operation, fmt, Rounding.STOCHASTIC) is None
        for name in ("tf32", "f80", "f128"):
            assert fast.path_of(operation, FORMATS[name], mode) is None
    one = np.array([0x3F800000], np.uint32)
    assert fast.divide(FORMATS["f32"], one, one, Rounding.UPWARD, want_flags=True).flags is not None


@pytest.mark.parametrize("fmt", NATIVE, ids=str)
def test_corners(fmt: FloatFormat) -> None:
    a, b = every_pair(to_array(fmt, interesting(fmt)))
    for policy in (SPEC, FloatPolicy(nan_result="canonical"), FloatPolicy(nan_result="negative")):
        check(fmt, a, b, policy=policy)


@pytest.mark.long
@pytest.mark.parametrize("fmt", NATIVE, ids=str)
@pytest.mark.parametrize("count", amounts(40_000, 2_000_000))
def test_adversarial_and_random(fmt: FloatFormat, count: int) -> None:
    a, b = (to_array(fmt, column) for column in pairs(fmt, count, 71))
    check(fmt, a, b)
    rng = np.random.default_rng(72)
    a, b = (
        rng.integers(0, 1 << fmt.bits, count, np.uint64, endpoint=fmt.bits < 64)
        if fmt.bits < 64
        else rng.integers(0, 1 << 64, count, np.uint64)
        for _ in "ab"
    )
    check(fmt, a.astype(fmt.storage_dtype), b.astype(fmt.storage_dtype))


@pytest.mark.parametrize("fmt", NATIVE, ids=str)
@pytest.mark.parametrize("count", amounts(1, 10, long=3))
def test_windows(fmt: FloatFormat, count: int) -> None:
    rng = random.Random(fmt.name)
    some = [
        code(fmt, exponent, fraction, bool(rng.getrandbits(1)))
        for exponent in windows(fmt)
        for fraction in fractions(fmt, rng, count)
    ]
    check(fmt, *every_pair(to_array(fmt, some)))


@pytest.mark.parametrize("fmt", NATIVE, ids=str)
def test_near_every_window(fmt: FloatFormat) -> None:
    """Products and quotients whose exponents are those of the windows, whatever the operands' exponents are."""
    rng = random.Random(f"near {fmt.name}")
    rows = []
    for exponent in windows(fmt):
        for _ in range(100):
            first = rng.randint(fmt.emin - fmt.mantissa_bits, fmt.emax)
            for second in (exponent - first, first - exponent):
                if fmt.emin - fmt.mantissa_bits <= second <= fmt.emax:
                    rows.append(
                        [code(fmt, e, rng.choice(fractions(fmt, rng, 1)), rng.random() < 0.5) for e in (first, second)]
                    )
    a, b = (to_array(fmt, column) for column in map(list, zip(*rows, strict=True)))
    check(fmt, a, b)


@pytest.mark.parametrize("sign", [-1, 1])
def test_unknown_errors_of_one_sign(sign: int) -> None:
    """Products that do not overflow while those of their factors' upper halves may."""
    rng = np.random.default_rng(78)
    a = rng.uniform(1, 2, 1000) * 2.0**511
    b = sign * np.finfo(np.float64).max / a * (1 - rng.uniform(2**-50, 2**-30, 1000))
    assert np.isfinite(a * b).all()
    check(FORMATS["f64"], a.view(np.uint64), b.view(np.uint64))


@pytest.mark.parametrize("fmt", NATIVE, ids=str)
def test_ties(fmt: FloatFormat) -> None:
    """Sums and products midway between two floats, and those that differ from them in the last bit of an operand."""
    rng = random.Random(f"ties {fmt.name}")
    sums: list[list[int]] = []
    products: list[list[int]] = []
    bits = fmt.precision + 1  # of the product of two odd numbers: the last of them is worth half a unit
    while len(products) < 4000:
        length = rng.randint(2, bits - 2)
        x, y = ((rng.getrandbits(n) | 1 << (n - 1) | 1) for n in (length, bits - length + rng.randint(0, 1)))
        if (x * y).bit_length() != bits:
            continue
        exponents = rng.choice(
            ((0, 0), (rng.randint(-60, 60), rng.randint(-60, 60)), (fmt.emin // 2, fmt.emin // 2 - 3))
        )
        pair = [
            code(fmt, exponent, n << (fmt.precision - n.bit_length()), rng.random() < 0.5)
            for exponent, n in zip(exponents, (x, y), strict=True)
        ]
        products += [pair, [pair[0] + 1, pair[1]], [pair[0], pair[1] - 1]]
    while len(sums) < 4000:
        exponent = rng.randint(fmt.emin, fmt.emax)
        a = code(fmt, exponent, rng.choice(fractions(fmt, rng, 1)), rng.random() < 0.5)
        b = code(fmt, exponent - fmt.precision, rng.choice((0, 0, 1, fmt.fraction_mask)), rng.random() < 0.5)
        sums += [[a, b], [b, a]]
    for rows in (sums, products):
        x_codes, y_codes = (to_array(fmt, column) for column in map(list, zip(*rows, strict=True)))
        nearest = [
            getattr(arithmetic, op)(fmt, x_codes, y_codes, mode).codes for op in ("add", "multiply") for mode in (0, 4)
        ]
        assert np.count_nonzero(nearest[0] != nearest[1]) + np.count_nonzero(nearest[2] != nearest[3]) > 500
        check(fmt, x_codes, y_codes)


@pytest.mark.parametrize("fmt", NATIVE, ids=str)
def test_exact_quotients(fmt: FloatFormat) -> None:
    """Dividends that are multiples of the divisor, and their neighbours."""
    rng = np.random.default_rng(73)
    half = fmt.precision // 2
    x, y = rng.integers(1 << (half - 1), 1 << half, (2, 4000), np.uint64)
    signs = rng.choice([-1.0, 1.0], (2, 4000))
    a, b = (
        (n * sign).astype(f"f{fmt.bits // 8}").view(fmt.storage_dtype)
        for n, sign in zip((x * y, y), signs, strict=True)
    )
    for step in (-1, 0, 1):
        check(fmt, a + fmt.storage_dtype.type(step % (1 << fmt.bits)), b)


@pytest.mark.parametrize("fmt", NATIVE, ids=str)
@pytest.mark.parametrize("examples", amounts(10, 150))
def test_whatever_comes(fmt: FloatFormat, examples: int) -> None:
    numbers = st.one_of(
        st.floats(width=64 if fmt.bits == 64 else 32).map(
            lambda x: int(np.array(x, f"f{fmt.bits // 8}").view(fmt.storage_dtype))
        ),
        st.integers(0, fmt.code_mask),
    )

    @settings(max_examples=examples, deadline=None)
    @given(some=st.lists(numbers, min_size=1, max_size=8))
    def every_pair_is_right(some: list[int]) -> None:
        check(fmt, *every_pair(to_array(fmt, some)))

    every_pair_is_right()


@pytest.mark.parametrize("fmt", thinned([*NATIVE, *NARROW], 2), ids=str)
def test_ordinary_elements_never_take_the_exact_path(fmt: FloatFormat, monkeypatch: pytest.MonkeyPatch) -> None:
    """Zeros among them; and of others, only they."""
    rng = np.random.default_rng(74)
    values = (np.maximum(rng.standard_normal(50_000), 0), rng.uniform(1, 2, 50_000) * rng.choice([-1, 1], 50_000))
    a, b = (conversions.convert(FORMATS["f64"], fmt, value.view(np.uint64)).codes for value in values)
    asked: list[int] = []

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def exact(fmt: FloatFormat, x: Codes, *rest: Any) -> Any:
            asked.append(x.size)
            return original(fmt, x, *rest)

        return exact

    def few(function: Any, bits: int, flags: bool, first: tuple[Codes, int], *rest: Any) -> Any:
        asked.append(first[0].size)
        return by_scalar(function, bits, flags, first, *rest)

    by_scalar = core.by_scalar
    monkeypatch.setattr(fast, "by_scalar", few)
    for operation in OPERATIONS:
        monkeypatch.setattr(arithmetic, operation, counted(getattr(arithmetic, operation)))
    for operation, mode in WAYS:
        getattr(fast, operation)(fmt, a, b, mode)
        assert not asked
    a[[7, 40_000]] = fmt.nan_code, fmt.infinity_code
    for operation, mode in WAYS:
        getattr(fast, operation)(fmt, a, b, mode)
        assert sum(asked) in (1, 2)
        asked.clear()


@pytest.mark.parametrize("operation", thinned(OPERATIONS, 2))
@pytest.mark.parametrize("count", amounts(4_000, long=20_000))
def test_to_odd(operation: str, count: int) -> None:
    """Toward zero, with the last bit set if inexact."""
    fmt = FORMATS["f32"]
    a, b = (to_array(fmt, column) for column in pairs(fmt, count, 75))
    out = np.empty_like(a)
    for mode in MODES:
        with np.errstate(all="ignore"):
            unknown = error_free.kernel(operation, fmt, mode, a.size, odd=True)(out, a, b)
        down, up, zero = (
            getattr(arithmetic, operation)(fmt, a, b, m).codes
            for m in (Rounding.DOWNWARD, Rounding.UPWARD, Rounding.TOWARD_ZERO)
        )
        inexact = (down != up) & ((down | up) & fmt.magnitude_mask != 0)
        want = np.where(inexact, zero | 1, getattr(arithmetic, operation)(fmt, a, b, mode).codes)
        assert unknown is not None
        known = np.setdiff1d(np.arange(a.size), unknown)
        assert known.size > a.size // 2
        np.testing.assert_array_equal(out[known], want[known])


@pytest.mark.parametrize("fmt", thinned([*NATIVE, *NARROW], 2), ids=str)
def test_layouts(fmt: FloatFormat) -> None:
    """Below, at and above the length of a chunk, strided and broadcast."""
    rng = np.random.default_rng(76)
    size = 2 * error_free.CHUNK + 3
    a, b = (rng.integers(0, fmt.max_code, size, np.uint64).astype(fmt.storage_dtype) for _ in "ab")
    for way, count in zip(
        WAYS, (0, 1, 5, error_free.CHUNK - 1, error_free.CHUNK, error_free.CHUNK + 1, size), strict=False
    ):
        check(fmt, a[:count], b[:count], [way])
    check(fmt, a[3, ...], b[4, ...], WAYS[::5])
    check(fmt, a[::-3], b[::3], WAYS[1::5])
    check(fmt, a[:300, None], b[None, :200], WAYS[2::5])


# bf16 and f16.


@pytest.mark.long
@pytest.mark.parametrize("fmt", NARROW, ids=str)
@pytest.mark.parametrize("count", [24, pytest.param(400, marks=pytest.mark.exhaustive)])
def test_all_of_sixteen_bits_with_some(fmt: FloatFormat, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "CALL", 1 << 32)  # so that tables, not `exact`, do the last step
    every = np.arange(1 << 16, dtype=np.uint16)
    for number, partner in enumerate(to_array(fmt, codes(fmt, count, 77))):
        ways = WAYS if count > 100 else WAYS[number % 4 :: 4]
        check(fmt, every, partner[None], ways)
        check(fmt, partner[None], every, ways)


@pytest.mark.exhaustive
@pytest.mark.parametrize("mode", tuple(Rounding)[:5], ids=lambda mode: mode.spelling)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("fmt", NARROW, ids=str)
def test_every_pair_of_sixteen_bits(fmt: FloatFormat, operation: str, mode: Rounding) -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    for start in range(0, every.size, 64):
        check(fmt, every[start : start + 64, None], every[None], [(operation, mode)])
