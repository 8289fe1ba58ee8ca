"""`fast` equals `exact` inside and outside its declared domains, NaN payloads and signed zeros included.

Tables, and whole domains, are in `test_fast_domains`.
"""

from fractions import Fraction
from inspect import isfunction, signature
from typing import Any

import numpy as np
import pytest
from amounts import amounts, thinned
from float_samples import LARGE, SMALL, codes, pairs, to_array

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import arithmetic, comparisons, conversions
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS, FloatFormat, limb_count, storage_dtype
from halfulp.fp_formats.paths import fast, llvm
from halfulp.fp_formats.policy import SPEC, FloatPolicy, Rounding
from halfulp.semantics import floats
from halfulp.semantics.profile import PROFILES

ARITHMETIC = ("add", "subtract", "multiply", "divide", "remainder")
EXTREMA = ("maximum", "minimum", "maximum_number", "minimum_number")
POLICIES = (
    SPEC,
    FloatPolicy(nan_result="canonical"),
    FloatPolicy(nan_result="canonical_signed", nan_to_nanless="zero_inverted", wide_source="through_f32"),
    FloatPolicy(denormals="flush_both", denormal_zero="positive"),
    FloatPolicy(denormals_f32="flush_both", denormal_zero_f32="positive"),
    FloatPolicy(conversion_overflow="saturate", nan_to_nanless="max", number_of_signalling="quieted"),
)
MODES = (*tuple(Rounding)[:5], Rounding.TO_ODD)
COUNTS = amounts(4_000, 20_000)


def assert_same(got: ArrayResult, want: ArrayResult) -> None:
    np.testing.assert_array_equal(got.codes, want.codes)
    assert got.codes.dtype == want.codes.dtype
    assert got.codes.shape == want.codes.shape
    assert (got.poison is None) == (want.poison is None)
    if got.poison is not None and want.poison is not None:
        np.testing.assert_array_equal(got.poison, want.poison)
    assert (got.flags is None) == (want.flags is None)


def test_signatures_are_those_of_exact() -> None:
    """Every operation of `exact` is in `fast`, with the same parameters; only `exact` moves exponents and binary points.

    `operate` has both: it takes the operations that it uses as an argument.
    """
    others = (comparisons.is_infinite, comparisons.is_normal, comparisons.is_zero, comparisons.operate)
    for module in (arithmetic, comparisons, conversions):
        own = (f for f in vars(module).values() if isfunction(f) and f.__module__ == module.__name__)
        for function in own:
            if function.__name__.startswith("_") or function in others:
                continue
            want = [each for each in signature(function).parameters.values() if each.name not in ("exponent", "place")]
            got = signature(getattr(fast, function.__name__)).parameters.values()
            assert [str(each) for each in got] == [str(each) for each in want], function.__name__


def test_domains() -> None:
    """The declared domains are fast."""
    for operation in ("add", "subtract", "multiply", "divide"):
        quick = {fmt.name: fast.path_of(operation, fmt) for fmt in FORMATS.values()}
        assert {name for name, path in quick.items() if path == "native"} == {"f32", "f64"}
        assert {name for name, path in quick.items() if path == "through_f32"} == {"bf16", "f16"}
        assert {name for name, path in quick.items() if path == "table"} == {fmt.name for fmt in SMALL}
        assert fast.path_of(operation, FORMATS["f32"], Rounding.UPWARD) == "error_free"
        assert fast.path_of(operation, FORMATS["f32"], policy=FloatPolicy(denormals="flush_results")) is None
    assert fast.path_of("maximum", FORMATS["f32"]) == "native"
    assert fast.path_of("minimum_number", FORMATS["bf16"]) == "bits"
    assert fast.path_of("compare", FORMATS["f64"]) == "native"
    assert fast.path_of("compare", FORMATS["tf32"]) is None
    assert fast.path_of("remainder", FORMATS["f32"]) is None
    assert fast.path_of("add", FORMATS["f8E5M2"], Rounding.STOCHASTIC) is None
    assert fast.path_of("compare", FORMATS["f8E5M2"], policy=FloatPolicy(denormals="flush_operands")) == "table"
    zeros = np.zeros(9, np.uint8)
    assert fast.add(FORMATS["f8E5M2"], zeros, zeros, want_flags=True).flags is not None


def test_a_cpu_that_flushes_has_no_native_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found at the start of the next run, also where the run before was native."""
    x = np.array([1], np.uint32)
    assert fast.path_of("add", FORMATS["f32"]) == "native"
    kernel = floats.binary("add", FORMATS["f32"], Rounding.TO_NEAREST_EVEN, 0, PROFILES["spec"])
    forgotten: list[str] = []
    llvm.on_change(lambda: forgotten.append("once"))
    llvm.check()
    assert not forgotten
    monkeypatch.setattr(llvm, "_keeps", True)
    monkeypatch.setattr(llvm, "_SMALLEST", 0.0)  # as a sum of subnormals is where they are flushed
    try:
        llvm.check()
        llvm.check()
        assert forgotten == ["once"]
        assert fast.path_of("add", FORMATS["f32"]) is None
        assert fast.path_of("add", FORMATS["f8E5M2"]) == "table"
        assert fast.conversion_path(FORMATS["f32"], FORMATS["f64"]).kind != "native"
        again = floats.binary("add", FORMATS["f32"], Rounding.TO_NEAREST_EVEN, 0, PROFILES["spec"])
        assert again is not kernel
        assert again.scalar(1, 1) == 2
        assert fast.add(FORMATS["f32"], x, x).codes == 2
    finally:
        monkeypatch.undo()
        for forget in llvm._forget:
            forget()


@pytest.mark.long
@pytest.mark.parametrize("fmt", LARGE, ids=str)
@pytest.mark.parametrize("operation", ARITHMETIC)
@pytest.mark.parametrize("count", COUNTS)
def test_arithmetic(fmt: FloatFormat, operation: str, count: int) -> None:
    if fmt.precision > 31 and operation == "remainder":
        count //= 8
    a, b = (to_array(fmt, column) for column in pairs(fmt, count, 31))
    for policy in POLICIES:
        modes = MODES if fast.path_of(operation, fmt, Rounding.DOWNWARD, policy) else (Rounding.TO_NEAREST_EVEN,)
        for rounding in modes:
            quick = getattr(fast, operation)(fmt, a, b, rounding, policy)
            assert_same(quick, getattr(arithmetic, operation)(fmt, a, b, rounding, policy))


@pytest.mark.parametrize("fmt", thinned([*LARGE, FORMATS["f8E4M3FNUZ"], FORMATS["f8E8M0FNU"]], 3), ids=str)
@pytest.mark.parametrize("count", COUNTS)
def test_extrema_negate_and_compare(fmt: FloatFormat, count: int) -> None:
    a, b = (to_array(fmt, column) for column in pairs(fmt, count, 33))
    for policy in POLICIES:
        for operation in EXTREMA:
            assert_same(getattr(fast, operation)(fmt, a, b, policy), getattr(arithmetic, operation)(fmt, a, b, policy))
        assert_same(fast.negate(fmt, a, policy), arithmetic.negate(fmt, a, policy))
        assert_same(fast.flush(fmt, a, policy), arithmetic.flush(fmt, a, policy))
    for predicate in range(16):
        assert_same(fast.compare(fmt, predicate, a, b), comparisons.compare(fmt, predicate, a, b))


@pytest.mark.parametrize("name", thinned(["f32", "f64", "bf16", "f8E8M0FNU"], 2))
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("width", thinned([1, 7, 8, 16, 32, 33, 64, 65], 2))
@pytest.mark.parametrize("count", amounts(1_000, 4_000))
def test_integers(name: str, signed: bool, width: int, count: int) -> None:
    fmt = FORMATS[name]
    dtype, limbs = storage_dtype(width), limb_count(width)
    rng = np.random.default_rng(width)
    raw = rng.integers(0, 1 << 63, (count, limbs), np.uint64) * np.uint64(2)
    raw += rng.integers(0, 2, (count, limbs), np.uint64)
    raw[:, -1] >>= rng.integers(0, 64, count, np.uint64)
    raw[::3] = ~raw[::3]
    raw[:, -1] &= np.uint64((1 << (width - 64 * (limbs - 1))) - 1)
    integers = raw if limbs > 1 else raw[:, 0].astype(dtype)
    for policy in POLICIES:
        assert_same(
            fast.from_integer(fmt, integers, width, signed, policy=policy),
            conversions.from_integer(fmt, integers, width, signed, policy=policy),
        )
    floats = conversions.from_integer(fmt, integers, width, signed).codes
    fractions = conversions.convert(FORMATS["f64"], fmt, rng.uniform(-0.99, 1, 500).view(np.uint64)).codes
    for sample in (floats, fractions, floats[: count // 4], to_array(fmt, codes(fmt, count // 2, 35))):
        for policy in (*POLICIES, FloatPolicy(float_to_int="modular")):
            assert_same(
                fast.to_integer(fmt, sample, width, signed, policy=policy),
                conversions.to_integer(fmt, sample, width, signed, policy=policy),
            )


@pytest.mark.parametrize("name", thinned(["f32", "f64", "f16", "bf16", "f8E4M3FN", "f4E2M1FN", "f128"], 3))
def test_shapes_and_inputs(name: str) -> None:
    """Rank 0, empty, strided, read-only and broadcast operands; operands stay as they were."""
    fmt = FORMATS[name]
    a, b = (to_array(fmt, column) for column in pairs(fmt, 24, 36))
    tail: tuple[int, ...] = (fmt.limbs,) if fmt.limbs > 1 else ()

    def shaped(x: Any, *shape: int) -> Any:
        return x.reshape(*shape, *tail)

    cases = (
        (a, b),
        (a[0, ...], b[0, ...]),
        (a[:0], b[:0]),
        (shaped(a, 4, 6)[::2, 1:], shaped(b, 4, 6)[::-2, :5]),
        (shaped(a, 2, 3, 4), b[0, ...]),
        (shaped(a, 4, 6)[:, :1], shaped(b, 4, 6)[:1]),
        (shaped(a[:0], 0, 6), shaped(b[:0], 0, 6)),
    )
    for x, y in cases:
        before = x.copy(), y.copy()
        x.flags.writeable = y.flags.writeable = False
        for operation in (*ARITHMETIC, *EXTREMA):
            quick = getattr(fast, operation)(fmt, x, y)
            assert_same(quick, getattr(arithmetic, operation)(fmt, x, y))
            assert isinstance(quick.codes, np.ndarray)
        assert_same(fast.compare(fmt, 4, x, y), comparisons.compare(fmt, 4, x, y))
        assert_same(fast.negate(fmt, x), arithmetic.negate(fmt, x))
        for other in ("f64", "bf16", "f8E5M2"):
            assert_same(fast.convert(fmt, FORMATS[other], x), conversions.convert(fmt, FORMATS[other], x))
        assert_same(fast.to_integer(fmt, x, 32, True), conversions.to_integer(fmt, x, 32, True))
        np.testing.assert_array_equal(x, before[0])
        np.testing.assert_array_equal(y, before[1])


@pytest.mark.long
def test_many_nans_and_zeros() -> None:
    """Results that are all NaN, and chunks with and without zeros."""
    fmt = FORMATS["f32"]
    nans = np.arange(0x7F800001, 0x7F800001 + 200_000, dtype=np.uint32)
    rng = np.random.default_rng(5)
    others = rng.integers(0, 1 << 32, 200_000, np.uint64).astype(np.uint32)
    zeros = np.where(rng.integers(0, 2, 200_000) == 0, np.uint32(0x80000000), np.uint32(0))
    relu = others.copy()
    relu[:100_000] = np.maximum(relu[:100_000] & np.uint32(0x7F7FFFFF), np.uint32(1))
    for operation in ("add", "subtract", *EXTREMA):
        for a, b in ((nans, others), (others, nans), (relu, zeros), (zeros, zeros[::-1])):
            assert_same(getattr(fast, operation)(fmt, a, b), getattr(arithmetic, operation)(fmt, a, b))


@pytest.mark.long
@pytest.mark.parametrize("fmt", [FORMATS["f32"], FORMATS["f64"]], ids=str)
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("width", [1, 4, 7, 8, 16, 24, 25, 31, 32, 53, 54, 63, 64])
def test_floats_to_integers_in_every_mode(width: int, signed: bool, fmt: FloatFormat) -> None:
    """Halves and neighbours of what is next to the bounds, alone in their chunk or beside values out of range."""
    low, above = (-(2 ** (width - 1)), 2 ** (width - 1)) if signed else (0, 2**width)
    near = [number + Fraction(k, 4) for number in (0, low, above) for k in range(-9, 10)]
    points = np.unique([exact_code(fmt, value) for value in near])
    points = np.unique(np.concatenate([points, points + 1, points - 1]) & points.dtype.type(fmt.code_mask))
    values = [scalar.value(fmt, int(code)) for code in points]
    inside = points[[value is not None and low <= value <= above - 1 for value in values]]
    sets = [inside, points[[value is not None for value in values]], to_array(fmt, codes(fmt, 300, width))]
    assert inside.size > 2
    for rounding in MODES:
        for choice in ("poison", "saturate", "saturate_nan_max", "saturate_nan_top", "modular"):
            for denormals in ("ieee", "flush_both"):
                policy = FloatPolicy(float_to_int=choice, denormals=denormals)
                for sample in sets:
                    arguments = (fmt, sample, width, signed, rounding, policy)
                    assert_same(fast.to_integer(*arguments), conversions.to_integer(*arguments))


def exact_code(fmt: FloatFormat, value: Fraction) -> Any:
    return fmt.storage_dtype.type(scalar.from_fraction(fmt, value, Rounding.TO_NEAREST_EVEN).code)


USERS = (
    FloatFormat("unsigned", 5, 4, 15, signed=False),
    FloatFormat("s1e4m2", 4, 2, 7),
    FloatFormat("s1e7m10", 7, 10, 63),
)


@pytest.mark.parametrize("fmt", [*FORMATS.values(), *USERS], ids=str)
def test_nans(fmt: FloatFormat) -> None:
    sample = to_array(fmt, codes(fmt, 3000, 3)) if fmt.bits > 16 else np.arange(1 << fmt.bits).astype(fmt.storage_dtype)
    found = fast.is_nan(fmt, sample)
    np.testing.assert_array_equal(found, comparisons.is_nan(fmt, sample))
    assert found.dtype == np.bool_
    assert fast.is_nan(fmt, sample[0]).shape == ()


@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize("operation", ["add", "subtract", "multiply", "divide"])
def test_operands_that_repeat(operation: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Operands of different shapes, in parts of some rows, with NaNs, infinities and both zeros."""
    monkeypatch.setattr(fast, "NATIVE_CHUNK", 1 << 10)
    fmt = FORMATS[name]
    a, b = (to_array(fmt, column) for column in pairs(fmt, 252, 1))
    x, y = a[:42].reshape(6, 1, 7), b[42:252].reshape(6, 5, 7)
    for one, other in ((x, y), (y, x), (x, y[:1, :, :1]), (y.transpose(2, 1, 0), x[:, :, 0][0])):
        wanted = getattr(arithmetic, operation)(fmt, *np.broadcast_arrays(one, other))
        assert_same(getattr(fast, operation)(fmt, one, other), wanted)
    assert getattr(fast, operation)(fmt, x[:, :, :0], y[:, :, :0]).codes.shape == (6, 5, 0)


@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize("operation", EXTREMA)
def test_extremum_of_rows(operation: str, name: str) -> None:
    """It equals one `exact` extremum after the other, in every lane that it knows."""
    fmt = FORMATS[name]
    rows = to_array(fmt, codes(fmt, 3000, 1)).reshape(3, 1000)
    found, unknown = fast.reduced_extremum(operation, fmt, rows)
    exact = getattr(arithmetic, operation)
    wanted = exact(fmt, exact(fmt, rows[0], rows[1]).codes, rows[2]).codes
    assert 0 < np.count_nonzero(unknown) < unknown.size
    np.testing.assert_array_equal(found[~unknown], wanted[~unknown])
