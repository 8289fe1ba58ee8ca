"""Every path of `fast` equals `exact` over its whole domain: sampled here, enumerated by `make test-exhaustive`."""

import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from amounts import amounts, thinned
from float_samples import SMALL, codes, to_array

from halfulp.fp_formats.exact import arithmetic, comparisons, conversions
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, NanEncoding, storage_dtype
from halfulp.fp_formats.paths import fast, tables
from halfulp.fp_formats.paths.domains import CASTS, SUMS
from halfulp.fp_formats.policy import SPEC, FloatPolicy, Rounding
from halfulp.semantics.profile import PROFILES

MODES = (*tuple(Rounding)[:5], Rounding.TO_ODD)
RNE = Rounding.TO_NEAREST_EVEN
POLICIES = tuple(
    dict.fromkeys(
        [
            *(profile.conversions for profile in PROFILES.values()),
            FloatPolicy(nan_result="canonical", nan_to_nanless="zero", denormals="flush_operands"),
            FloatPolicy(denormals="flush_both", denormal_zero="positive", conversion_overflow="saturate"),
            FloatPolicy(negative_to_unsigned="sign_bit", denormals="flush_results", tininess="before"),
            FloatPolicy(denormals_f32="flush_both", denormal_zero_f32="positive", nan_to_nanless="zero"),
        ]
    )
)
EVERY_WAY = tuple(product(MODES, POLICIES))
ARITHMETIC = ("add", "subtract", "multiply", "divide", "remainder")
EXTREMA = ("maximum", "minimum", "maximum_number", "minimum_number")
UP_TO_16_BITS = tuple(fmt for fmt in FORMATS.values() if fmt.bits <= 16)
ONE_LIMB = tuple(fmt for fmt in FORMATS.values() if fmt.limbs == 1)
# Not builtin: what tells apart sources and destinations in ways that no builtin pair does.
OTHERS = (
    FloatFormat("wider range than f32", 7, 0, 100, infinities=False, nan=NanEncoding.NONE),
    FloatFormat("P3109-like", 4, 3, 8, nan=NanEncoding.NEGATIVE_ZERO),
    FloatFormat("unsigned", 5, 3, 15, signed=False, infinities=False, nan=NanEncoding.ALL_ONES),
    FloatFormat("full", 4, 3, 7, infinities=False, nan=NanEncoding.NONE),
)


@pytest.fixture(autouse=True)
def _tables_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are made for the smallest of arrays."""
    monkeypatch.setattr(tables, "CALL", 1 << 32)
    monkeypatch.setattr(tables, "CACHE", tables.Cache(tables.LIMIT))


def some(ways: tuple[Any, ...], number: int, count: int = 2) -> list[Any]:
    """Return a few of many, others for each number, so that all are used by somebody."""
    return [ways[(number * count + index) * 7 % len(ways)] for index in range(count)]


def assert_same(got: ArrayResult, want: ArrayResult, what: object = "") -> None:
    assert got.codes.dtype == want.codes.dtype, what
    np.testing.assert_array_equal(got.codes, want.codes, str(what))
    assert (got.poison is None) == (want.poison is None), what
    if got.poison is not None:
        np.testing.assert_array_equal(got.poison, want.poison, str(what))


def check(ways: Any, function: str, *arguments: Any) -> None:
    (exact,) = (getattr(module, function) for module in (arithmetic, conversions) if hasattr(module, function))
    for mode, policy in ways:
        got = getattr(fast, function)(*arguments, mode, policy)
        assert_same(got, exact(*arguments, mode, policy), (function, arguments[:2], mode, policy))
        tables.CACHE.clear()


def every(bits: int) -> Codes:
    return np.arange(1 << bits, dtype=storage_dtype(bits))


def with_low_bits(upper: Codes, shift: int, dtype: npt.DTypeLike, extra: tuple[int, ...] = ()) -> Codes:
    """These upper bits with nothing, the least, the most and one half below, and what stands next to that."""
    half = 1 << (shift - 1)
    lower = np.array([0, 1, half - 1, half, half + 1, 2 * half - 1, *extra], dtype)
    return np.concatenate([(upper.astype(dtype) << np.dtype(dtype).type(shift)) | low for low in lower])


# --- flushing ---------------------------------------------------------------------------------------------------------

FLUSHING = [
    FloatPolicy(denormals=rule, denormal_zero=zero, tininess=tininess, nan_result="negative")
    for rule in ("flush_operands", "flush_results", "flush_both", "flush_delivered", "flush_both_delivered")
    for zero, tininess in (("signed", "after"), ("positive", "before"))
]


def around_the_least_normal(fmt: FloatFormat, count: int, seed: int) -> Codes:
    """Return codes next to the least normal number, others whose products are, subnormals, small multiples, and any."""
    draw, least, kind = np.random.default_rng(seed), fmt.min_normal_code, fmt.storage_dtype
    numbers = np.dtype(f"f{kind.itemsize}")
    halves = np.ldexp(draw.uniform(1, 2, count), fmt.emin // 2 + draw.integers(-3, 3, count))
    multiples = np.ldexp(draw.integers(1, 64, count).astype(float), fmt.emin + draw.integers(-2, 4, count))
    kinds = [
        (least + draw.integers(-9, 9, count)).astype(kind),
        draw.integers(0, least, count).astype(kind),
        halves.astype(numbers).view(kind),
        multiples.astype(numbers).view(kind),
        draw.choice(np.array([0, 1, 2, 0.5, 1 - 2.0**-20, np.inf, np.nan], numbers), count).view(kind),
        draw.integers(0, 1 << fmt.bits, count, dtype=kind),
    ]
    signs = draw.integers(0, 2, count).astype(kind) << kind.type(fmt.bits - 1)
    found: Codes = np.choose(draw.integers(0, len(kinds), count), kinds).astype(kind) ^ signs
    return found


@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize("count", amounts(150, 100_000))
def test_flushing_around_native_operations(name: str, count: int) -> None:
    fmt = FORMATS[name]
    for seed, policy in enumerate(FLUSHING if count > 1000 else FLUSHING[1::3]):
        given = [around_the_least_normal(fmt, count, 3 * seed + place) for place in range(3)]
        for operation in (*ARITHMETIC[:4], "fma"):
            some_ = given if operation == "fma" else given[:2]
            wanted = getattr(arithmetic, operation)(fmt, *some_, RNE, policy)
            assert_same(getattr(fast, operation)(fmt, *some_, RNE, policy), wanted, (operation, policy))
        for operation in EXTREMA:
            wanted = getattr(arithmetic, operation)(fmt, *given[:2], policy)
            assert_same(getattr(fast, operation)(fmt, *given[:2], policy), wanted, (operation, policy))
        for predicate in (1, 4, 13):
            wanted = comparisons.compare(fmt, predicate, given[0], given[1], policy)
            assert_same(fast.compare(fmt, predicate, given[0], given[1], policy), wanted, (predicate, policy))


# --- conversions ------------------------------------------------------------------------------------------------------


def test_declared_conversions() -> None:
    """The declared conversions are fast, in every mode and policy."""
    for dst, (mode, policy) in product(SMALL, EVERY_WAY):
        for src in (FORMATS["f32"], FORMATS["f64"], *UP_TO_16_BITS, FORMATS["tf32"]):
            twice = src.name == "f64" and (policy.wide_source == "through_f32" or policy.float_to_zeroless == "cut")
            kind = fast.conversion_path(src, dst, mode, policy).kind
            flushed = src.name == "f32" and policy.denormals_f32 == "flush_both"
            assert kind == ("flushed" if flushed else "table") or (twice and kind == "through_f32")
    for source, destination in (*CASTS, *SUMS):
        src, dst = FORMATS[source], FORMATS[destination]
        assert fast.conversion_path(src, dst).kind in ("native", "sum")
        assert fast.conversion_path(src, dst, Rounding.UPWARD).kind in ("table", "exact")
        assert fast.conversion_path(src, dst, RNE, FloatPolicy(denormals="flush_both")).kind in ("table", "exact")
    assert (
        fast.conversion_path(FORMATS["f64"], FORMATS["f16"], RNE, PROFILES["ml_dtypes"].conversions).kind
        == "through_f32"
    )
    assert fast.conversion_path(FORMATS["f32"], FORMATS["f8E5M2"], Rounding.STOCHASTIC).kind == "exact"
    assert fast.conversion_path(FORMATS["f128"], FORMATS["f8E5M2"]).kind == "exact"
    assert fast.conversion_path(FORMATS["f32"], FORMATS["f128"]).kind == "exact"


def test_heads_are_short() -> None:
    """Tables of what f32 and f64 round to odd to: the fewer bits, the smaller the table."""
    heads = {(s, d): fast.conversion_path(FORMATS[s], FORMATS[d]).head for s in ("f32", "f64") for d in FORMATS}
    bits = {key: head.bits for key, head in heads.items() if head is not None}
    assert bits["f32", "f8E4M3FN"] == 1 + 8 + 3 + 2
    assert bits["f64", "f8E5M2"] == 1 + 11 + 2 + 2
    assert bits["f32", "f8E8M0FNU"] == 1 + 8 + 0 + 2 + 1  # 2**-127, its smallest value, is subnormal in f32
    assert max(bits.values()) == 21


def heads(name: str, dst: FloatFormat, count: int | None = None) -> Codes:
    """Codes of the source with every upper part that its table tells apart, or some of them."""
    shift = fast.conversion_path(FORMATS[name], dst, Rounding.UPWARD).shift
    bits = FORMATS[name].bits - shift
    upper = every(bits) if count is None else np.random.default_rng(dst.bits).integers(0, 1 << bits, count)
    return with_low_bits(upper, shift, FORMATS[name].storage_dtype)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "dst"),
    [*product(("f32", "f64"), (*SMALL, *OTHERS, FORMATS["bf16"])), ("f32", FORMATS["f16"])],  # f64 to f16 has no table
    ids=str,
)
@pytest.mark.parametrize("whole", amounts(False, True))
def test_wide_sources(name: str, dst: FloatFormat, whole: bool) -> None:
    src, ways = FORMATS[name], EVERY_WAY[:: 1 if dst.bits <= 8 else 7] if whole else some(EVERY_WAY, dst.bias, 6)
    check(ways, "convert", src, dst, heads(name, dst, None if whole else 1 << 13))
    if name == "f64" and not whole:
        check(ways, "convert", src, dst, near_f32_ties(dst))
    elif name == "f32" and whole and dst.bits <= 8:
        check(ways, "convert", src, dst, with_low_bits(every(16), 16, np.uint32))


def near_f32_ties(dst: FloatFormat) -> Codes:
    """Codes of f64 that rounding to f32 first moves onto ties of the destination."""
    values = conversions.convert(dst, FORMATS["f64"], every(dst.bits), RNE, FloatPolicy(nan_result="canonical")).codes
    values = np.sort(values.view(np.float64))
    values = values[np.isfinite(values)]
    middles = ((values[:-1] + values[1:]) / 2).view(np.uint64)
    return np.concatenate([middles, middles - np.uint64(1), middles + np.uint64(1)])


@pytest.mark.parametrize("src", thinned([*UP_TO_16_BITS, FORMATS["tf32"], *OTHERS], 4), ids=str)
@pytest.mark.parametrize("whole", amounts(False, True))
def test_narrow_sources(src: FloatFormat, whole: bool) -> None:
    codes_ = every(src.bits)[:: 1 if src.bits <= 8 or whole else 17 if src.bits <= 16 else 101]
    for number, dst in enumerate((*FORMATS.values(), *OTHERS)):
        ways = EVERY_WAY[:: 1 if src.bits <= 8 else 3] if whole else some(EVERY_WAY, number + src.bias, 1)
        check(ways, "convert", src, dst, codes_)


LOW_HALVES = (0x0FFF, 0x1000, 0x1001, 0x3000, 0x5000)


@pytest.mark.long
@pytest.mark.parametrize("name", ["f16", "bf16"])
@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_casts_of_f32(name: str, step: int) -> None:
    sample = with_low_bits(every(16)[::step], 16, np.uint32, LOW_HALVES)
    for policy in POLICIES:
        check([(RNE, policy)], "convert", FORMATS["f32"], FORMATS[name], sample)


@pytest.mark.long
@pytest.mark.parametrize("pair", [*CASTS, *SUMS, ("f16", "f32")], ids="-".join)
def test_casts(pair: tuple[str, str]) -> None:
    src, dst = (FORMATS[name] for name in pair)
    sample = every(16) if src.bits == 16 else to_array(src, codes(src, 20_000, 41))
    if src.bits > dst.bits:
        sides = every(16) if dst.bits == 16 else to_array(dst, codes(dst, 20_000, 42))
        ties = conversions.convert(dst, src, sides).codes + (1 << (src.mantissa_bits - dst.mantissa_bits - 1))
        sample = np.concatenate([sample, ties - 1, ties, ties + 1])
    negative = sample[sample & src.magnitude_mask <= src.max_code] | (src.sign_mask or 0)
    for policy in POLICIES:
        check([(RNE, policy)], "convert", src, dst, sample)
        check([(RNE, policy)], "convert", src, dst, negative)


@pytest.mark.parametrize("policy", POLICIES, ids=range(len(POLICIES)))
@pytest.mark.parametrize("pair", [("f32", "bf16"), ("bf16", "f32")], ids=" to ".join)
def test_nans_of_casts_by_tables(pair: tuple[str, str], policy: FloatPolicy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values outside the CPU's cast are looked up for large arrays: NaNs of every leading half, and infinities."""
    monkeypatch.setattr(tables, "CALL", 1 << 30)
    src, dst = FORMATS[pair[0]], FORMATS[pair[1]]
    specials = every(16)[(every(16) & 0x7F80) == 0x7F80]
    if src.bits == 32:
        low = np.array([0, 1, 0x1000, 0x1FFF, 0x2000, 0x3000, 0x7FFF, 0x8000, 0xFFFF], np.uint32)
        specials = ((specials.astype(np.uint32) << 16)[:, None] | low).reshape(-1)
    check([(RNE, policy)], "convert", src, dst, specials)


@pytest.mark.long
@pytest.mark.parametrize("pair", [*CASTS, *SUMS], ids=" to ".join)
def test_nans_of_casts(pair: tuple[str, str]) -> None:
    """NaNs with every bit of the fraction alone, and with all others, of both signs, among other codes."""
    src, dst = FORMATS[pair[0]], FORMATS[pair[1]]
    fractions = [1 << place for place in range(src.mantissa_bits)]
    fractions += [src.fraction_mask - bit for bit in fractions] + [src.fraction_mask]
    nans = np.array([(src.infinity_code or 0) | each for each in fractions], src.storage_dtype)
    sample = np.concatenate([every(8).astype(src.storage_dtype), nans, nans | nans.dtype.type(src.sign_mask or 0)])
    for policy in POLICIES:
        check([(RNE, policy)], "convert", src, dst, sample)


@pytest.mark.long
@pytest.mark.parametrize("dst", FORMATS.values(), ids=str)
def test_integers_to_floats(dst: FloatFormat) -> None:
    rng = np.random.default_rng(7)
    for number, (width, signed) in enumerate(product((1, 4, 8, 16, 32, 33, 64), (False, True))):
        if width <= 8:
            integers = every(width)
        else:
            leading = rng.integers(0, 1 << 63, 3000, np.uint64) * np.uint64(2) + np.uint64(1)
            shifted = leading >> rng.integers(64 - width, 64, leading.size, np.uint64)
            # Few bits set below the leading one: ties, and what is next to them.
            ties = (np.uint64(0b10101) << rng.integers(0, width - 1, 3000, np.uint64)) + rng.integers(
                0, 3, 3000, np.uint64
            )
            mask = np.uint64((1 << width) - 1)
            integers = np.concatenate([shifted, ties, ~shifted, ~ties, ties - np.uint64(2)]) & mask
            integers = integers.astype(storage_dtype(width))
        for mode, policy in some(EVERY_WAY, number + dst.bias, 3):
            check([(mode, policy)], "from_integer", dst, integers, width, signed)


@pytest.mark.long
@pytest.mark.parametrize("src", [fmt for fmt in FORMATS.values() if fmt.bits <= 64], ids=str)
def test_floats_to_integers(src: FloatFormat) -> None:
    sample = every(src.bits)[:: 1 if src.bits <= 8 else 13] if src.bits <= 16 else to_array(src, codes(src, 3000, 43))
    ways = [
        (mode, FloatPolicy(float_to_int=choice))
        for mode, choice in product(MODES, ("poison", "saturate", "saturate_nan_max", "saturate_nan_top", "modular"))
    ]
    for number, (width, signed) in enumerate(product((1, 7, 8, 16, 32, 64, 65), (False, True))):
        check(some(tuple(ways), number + src.bias, 2), "to_integer", src, sample, width, signed)


# --- operations -------------------------------------------------------------------------------------------------------


def every_pair(fmt: FloatFormat) -> tuple[Codes, Codes]:
    codes_ = every(fmt.bits)
    return np.repeat(codes_, codes_.size), np.tile(codes_, codes_.size)


def check_pairs(fmt: FloatFormat, ways: Any, policies: Any) -> None:
    a, b = every_pair(fmt)
    for operation in ARITHMETIC:
        check(ways, operation, fmt, a, b)
    for policy in policies:
        for operation in EXTREMA:
            assert_same(getattr(fast, operation)(fmt, a, b, policy), getattr(arithmetic, operation)(fmt, a, b, policy))
        for predicate in range(16):
            assert_same(fast.compare(fmt, predicate, a, b, policy), comparisons.compare(fmt, predicate, a, b, policy))


@pytest.mark.long
@pytest.mark.parametrize("fmt", [*SMALL, *OTHERS], ids=str)
@pytest.mark.parametrize("whole", amounts(False, True))
def test_all_pairs(fmt: FloatFormat, whole: bool) -> None:
    check_pairs(fmt, *((EVERY_WAY, POLICIES) if whole else (some(ways, fmt.bias, 1) for ways in (EVERY_WAY, POLICIES))))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["bf16", "f16"])
def test_sixteen_bits_with_many(name: str) -> None:
    fmt = FORMATS[name]
    a = every(16)
    for b in to_array(fmt, codes(fmt, 64, 44)):
        for operation in ARITHMETIC[:4]:
            for x, y in ((a, b[None]), (b[None], a)):
                check([(RNE, SPEC)], operation, fmt, x, y)
        for operation in EXTREMA:
            assert_same(getattr(fast, operation)(fmt, a, b[None]), getattr(arithmetic, operation)(fmt, a, b[None]))


@pytest.mark.parametrize("fmt", [*UP_TO_16_BITS, *OTHERS], ids=str)
def test_one_operand(fmt: FloatFormat) -> None:
    for policy in POLICIES:
        assert_same(fast.negate(fmt, every(fmt.bits), policy), arithmetic.negate(fmt, every(fmt.bits), policy))
        assert_same(fast.flush(fmt, every(fmt.bits), policy), arithmetic.flush(fmt, every(fmt.bits), policy))


# --- shapes -----------------------------------------------------------------------------------------------------------


def layouts(flat: Codes) -> Iterator[Codes]:
    """Arrays of every kind: their sizes are odd and even, below, at and above that of a chunk."""
    for size in (0, 1, 2, 3, 101, tables.CHUNK - 1, tables.CHUNK, tables.CHUNK + 1, 2 * tables.CHUNK + 3):
        yield flat[:size]
    yield flat[5, ...]
    yield flat[1:]  # not where a uint16 may start
    yield flat[::-3]
    yield flat[:600].reshape(20, 30).T
    yield flat[:600].reshape(4, 5, 30)[:, ::2, 1:]
    yield flat[: 3 * tables.CHUNK].reshape(-1, 3)[:, 1]
    yield np.broadcast_to(flat[:300], (300, 300))
    yield np.broadcast_to(flat[:300, None], (300, 300))
    yield np.empty((3, 0, 2), flat.dtype)


CONVERSIONS = (
    ("f8E4M3FN", "f32"), ("f8E5M2", "f64"), ("f8E5M2", "f8E4M3FNUZ"), ("f8E4M3FN", "f4E2M1FN"), ("f32", "f4E2M1FN"),
    ("f64", "f8E4M3FN"), ("f16", "f8E3M4"), ("bf16", "f32"), ("f32", "bf16"), ("f32", "f16"), ("tf32", "f8E5M2"),
)  # fmt: skip


@pytest.mark.parametrize("pair", thinned(CONVERSIONS, 3), ids="-".join)
def test_layouts_of_conversions(pair: tuple[str, str]) -> None:
    src, dst = (FORMATS[name] for name in pair)
    flat = np.random.default_rng(1).integers(0, 1 << src.bits, 4 * tables.CHUNK, np.uint64, endpoint=False)
    table = conversions.convert(src, dst, flat.astype(src.storage_dtype))
    where = np.arange(flat.size)
    for x, places in zip(layouts(flat.astype(src.storage_dtype)), layouts(where), strict=True):
        before = x.copy()
        x.flags.writeable = False
        got = fast.convert(src, dst, x)
        np.testing.assert_array_equal(got.codes, table.codes[places])
        assert isinstance(got.codes, np.ndarray)
        if not got.codes.flags.owndata:
            assert got.codes.base is not None
            assert got.codes.base.shape == (got.codes.size,)
        poison = np.zeros(flat.size, np.bool_) if table.poison is None else table.poison
        assert (got.poison is not None) == poison[places].any()
        if got.poison is not None:
            np.testing.assert_array_equal(got.poison, poison[places])
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("name", thinned(["f4E2M1FN", "f8E4M3FN", "bf16", "f16", "f32", "f64"], 3))
def test_layouts_of_operations(name: str) -> None:
    fmt = FORMATS[name]
    flat = np.random.default_rng(1).integers(0, 1 << fmt.bits, 4 * tables.CHUNK, np.uint64, endpoint=False)
    flat = flat.astype(fmt.storage_dtype)
    sum_, larger = arithmetic.add(fmt, flat, flat[::-1]), arithmetic.maximum(fmt, flat, flat[::-1])
    lower = comparisons.compare(fmt, 4, flat, flat[::-1])
    where = np.arange(flat.size)
    for x, y, places in zip(layouts(flat), layouts(flat[::-1]), layouts(where), strict=True):
        np.testing.assert_array_equal(fast.add(fmt, x, y).codes, sum_.codes[places])
        np.testing.assert_array_equal(fast.maximum(fmt, x, y).codes, larger.codes[places])
        np.testing.assert_array_equal(fast.compare(fmt, 4, x, y).codes, lower.codes[places])


def test_poison_beside_values() -> None:
    """0/0 has no value in f4E2M1FN; the code that marks it in the table never shows."""
    fmt = FORMATS["f4E2M1FN"]
    zeros = np.zeros((2, tables.CHUNK), np.uint8)
    zeros[0] = 3
    result = fast.divide(fmt, zeros, np.zeros_like(zeros))
    assert result.poison is not None
    np.testing.assert_array_equal(result.poison[:, ::4096], [[False] * 16, [True] * 16])
    assert set(result.codes[0].tolist()) == {fmt.max_code}
    assert set(result.codes[1].tolist()) == {0}


# --- the cache --------------------------------------------------------------------------------------------------------


def test_a_table_is_made_when_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tables.Cache(1 << 20)
    monkeypatch.setattr(tables, "CALL", 10)
    made = []

    def make() -> tables.LookupTable:
        made.append(1)
        return tables.LookupTable(np.zeros(256, np.uint8))

    assert cache.get("key", 256, 100, make) is None
    assert cache.get("key", 256, 100, make) is None
    assert cache.get("other", 256, 100, make) is None
    assert not made
    assert cache.get("key", 256, 100, make) is cache.get("key", 256, 0, make)
    assert made == [1]


def test_the_least_recently_used_tables_go() -> None:
    cache = tables.Cache(1000)

    def make() -> tables.LookupTable:
        return tables.LookupTable(np.zeros(400, np.uint8))

    first = cache.get(1, 0, 1, make)
    second = cache.get(2, 0, 1, make)
    assert cache.get(1, 0, 1, make) is first
    cache.get(3, 0, 1, make)
    assert cache.size == 800
    assert cache.get(1, 0, 1, make) is first
    assert cache.get(2, 0, 1, make) is not second
    cache.clear()
    assert cache.size == 0


def test_threads_share_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that holds one table at a time, and threads that want others."""
    monkeypatch.setattr(tables, "CACHE", tables.Cache(1 << 12))
    src = FORMATS["f8E4M3FN"]
    want = {dst: conversions.convert(src, dst, every(8)).codes for dst in (*SMALL, FORMATS["f32"])}

    def work(number: int) -> bool:
        dst = list(want)[number % len(want)]
        return bool(np.array_equal(fast.convert(src, dst, every(8)).codes, want[dst]))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(400)))
    assert tables.CACHE.size <= 1 << 16


MEMORY: dict[str, Callable[[Codes, Codes, Codes, Codes], ArrayResult]] = {
    "f32 to f8": lambda a, b, c, d: fast.convert(FORMATS["f32"], FORMATS["f8E4M3FN"], c),
    "f32 to f4, with poison": lambda a, b, c, d: fast.convert(FORMATS["f32"], FORMATS["f4E2M1FN"], c),
    "f32 to bf16": lambda a, b, c, d: fast.convert(FORMATS["f32"], FORMATS["bf16"], c),
    "f32 to f16, upward": lambda a, b, c, d: fast.convert(FORMATS["f32"], FORMATS["f16"], c, Rounding.UPWARD),
    "f32 to f16": lambda a, b, c, d: fast.convert(FORMATS["f32"], FORMATS["f16"], c),
    "f8 to f32": lambda a, b, c, d: fast.convert(FORMATS["f8E5M2"], FORMATS["f32"], a),
    "f8 to f64": lambda a, b, c, d: fast.convert(FORMATS["f8E5M2"], FORMATS["f64"], a),
    "f16 to f32": lambda a, b, c, d: fast.convert(FORMATS["f16"], FORMATS["f32"], b),
    "tf32 to f64": lambda a, b, c, d: fast.convert(FORMATS["tf32"], FORMATS["f64"], d),
    "f16 to f8": lambda a, b, c, d: fast.convert(FORMATS["f16"], FORMATS["f8E5M2"], b),
    "i32 to f8": lambda a, b, c, d: fast.from_integer(FORMATS["f8E5M2"], c, 32, True),
    "f8 to i8": lambda a, b, c, d: fast.to_integer(FORMATS["f8E5M2"], a, 8, True),
    "f8 add": lambda a, b, c, d: fast.add(FORMATS["f8E5M2"], a, a.T),
    "bf16 divide": lambda a, b, c, d: fast.divide(FORMATS["bf16"], b, b[:1]),
    "f16 multiply": lambda a, b, c, d: fast.multiply(FORMATS["f16"], b, b),
    "f32 add": lambda a, b, c, d: fast.add(FORMATS["f32"], c, c),
    "f32 multiply, upward": lambda a, b, c, d: fast.multiply(FORMATS["f32"], c, c, Rounding.UPWARD),
    "bf16 divide, downward": lambda a, b, c, d: fast.divide(FORMATS["bf16"], b, b[:1], Rounding.DOWNWARD),
    "bf16 maximum": lambda a, b, c, d: fast.maximum(FORMATS["bf16"], b, b.T),
    "f16 less": lambda a, b, c, d: fast.compare(FORMATS["f16"], 4, b, b),
}


@pytest.mark.long
@pytest.mark.parametrize("what", MEMORY)
def test_memory(what: str) -> None:
    """Beside its result an operation takes at most 8 MB, the making of its table included."""
    side = 2048
    random = np.random.default_rng(3).integers(0, 1 << 32, (side, side), np.uint32, endpoint=False)
    inputs = random.astype(np.uint8), random.astype(np.uint16), random, random >> np.uint32(13)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = MEMORY[what](*inputs)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    poison = 0 if result.poison is None else result.poison.nbytes
    assert peak - result.codes.nbytes - poison <= 8e6
