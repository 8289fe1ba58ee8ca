"""Functions of two arguments by f64 and a margin equal the specification; the margins hold against Arb."""

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
from amounts import amounts, thinned
from flint import arb

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import conversions
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat
from halfulp.fp_formats.paths import elementary, elementary_pairs
from halfulp.fp_formats.paths.elementary_pairs import PAIRS
from halfulp.fp_formats.policy import SPEC, FloatPolicy, Rounding
from halfulp.fp_formats.reals import elementary as specification
from halfulp.fp_formats.reals.functions import bits_of_precision
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO
from halfulp.fp_formats.scalar import RNE, Result

F32, BF16, F64 = FORMATS["f32"], FORMATS["bf16"], FORMATS["f64"]
OF_TWO = ("atan2", "hypot", "powf")
OF_INTEGER = ("powf", "rootn")
MODES = list(Rounding)[:5]
HEADROOM = 16
WIDTH = 32
FLUSHING = FloatPolicy(denormals="flush_both")
FEW = (
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1,
    -1,
    0.5,
    0.25,
    1.5,
    2,
    3,
    -2,
    -0.5,
    2.0**-140,
    1e-38,
    1 + 2.0**-7,
    1 - 2.0**-8,
)


def codes_of(fmt: FloatFormat, numbers: object) -> Codes:
    return conversions.convert(F64, fmt, np.asarray(numbers, np.float64).view(np.uint64)).codes


def operands(fmt: FloatFormat, count: int, seed: int) -> Codes:
    """Return any codes, small numbers, integers, quarters of squares, and special ones, mixed."""
    draw = np.random.default_rng(seed)
    kinds = (
        draw.integers(0, 1 << fmt.bits, count).astype(fmt.storage_dtype),
        codes_of(fmt, draw.normal(0, 3, count)),
        codes_of(fmt, draw.integers(-20, 20, count)),
        codes_of(fmt, draw.integers(0, 200, count) ** 2 / 4),
        codes_of(fmt, draw.choice(FEW, count)),
    )
    return np.choose(draw.integers(0, len(kinds), count), kinds).astype(fmt.storage_dtype)


def integers(count: int, seed: int) -> Codes:
    draw = np.random.default_rng(seed)
    ranges = (6, 60, 1 << WIDTH - 1)
    found = np.choose(draw.integers(0, len(ranges), count), [draw.integers(-most, most, count) for most in ranges])
    return found.astype(np.uint32)


def signed(code: int) -> int:
    return code - (1 << WIDTH) if code >> WIDTH - 1 else code


def compare(found: ArrayResult, wanted: list[Result], a: Codes, b: Codes) -> None:
    assert found.flags is not None
    poison = np.zeros(a.shape, np.bool_) if found.poison is None else found.poison
    results = zip(found.codes.tolist(), found.flags.tolist(), poison.tolist(), strict=True)
    for x, y, result, right in zip(a.tolist(), b.tolist(), results, wanted, strict=True):
        assert Result(*result) == right, (hex(x), hex(y), right)


def check(
    fmt: FloatFormat, count: int, mode: Rounding, policy: FloatPolicy = SPEC, dst: FloatFormat | None = None
) -> None:
    a, b, n = operands(fmt, count, mode), operands(fmt, count, mode + 10), integers(count, mode)
    for name in OF_TWO:
        pairs = zip(a.tolist(), b.tolist(), strict=True)
        wanted = [specification.binary(name, fmt, x, y, mode, policy, dst) for x, y in pairs]
        compare(elementary.binary(name, fmt, a, b, mode, policy, dst, True), wanted, a, b)
        without_flags = elementary.binary(name, fmt, a, b, mode, policy, dst)  # for f32 by another path
        assert without_flags.codes.tolist() == [each.code for each in wanted]
    for name in OF_INTEGER:
        pairs = zip(a.tolist(), n.tolist(), strict=True)
        wanted = [specification.of_integer(name, fmt, x, signed(k), mode, policy, dst) for x, k in pairs]
        compare(elementary.of_integer(name, fmt, a, n, WIDTH, mode, policy, dst, True), wanted, a, n)


@pytest.mark.parametrize("mode", thinned(MODES, 4))
@pytest.mark.parametrize(
    "name", ["bf16", "f16", "f32", *(pytest.param(n, marks=pytest.mark.exhaustive) for n in ("tf32", "f8E5M2"))]
)
@pytest.mark.parametrize("count", amounts(70, 10_000))
def test_results_are_those_of_the_specification(name: str, mode: Rounding, count: int) -> None:
    for policy in (SPEC,) if count == 70 else (SPEC, FLUSHING):
        check(FORMATS[name], count, mode, policy)


@pytest.mark.long
@pytest.mark.parametrize("fmt", [fmt for fmt in FORMATS.values() if fmt.bits < 32], ids=str)
def test_results_of_every_format_are_those_of_the_specification(fmt: FloatFormat) -> None:
    check(fmt, 64, Rounding.UPWARD, FLUSHING)
    check(fmt, 64, Rounding.TO_NEAREST_EVEN, SPEC, FORMATS["f8E4M3FN"])


@pytest.mark.long
@pytest.mark.parametrize("fmt", [BF16, F32], ids=str)
def test_exact_results_and_midpoints_need_no_specification(fmt: FloatFormat) -> None:
    # Squares of 8 bits have up to 16: values of bf16, midpoints, and neither.
    base, exponent = np.meshgrid(np.arange(1, 256), (2, 3, 1, 0.5, 1.5, -1, 0.25))
    some = (np.rint(base**exponent) == base**exponent) & (base**exponent <= 1 << 24)
    a, b = codes_of(fmt, base[some]), codes_of(fmt, exponent[some])
    x, y = np.meshgrid(np.arange(3, 100), np.arange(3, 100))
    whole = np.hypot(x, y) == np.rint(np.hypot(x, y))
    c, d = codes_of(fmt, x[whole]), codes_of(fmt, y[whole])
    for mode in MODES:
        for name, first, second in (("powf", a, b), ("hypot", c, d)):
            assert first.size >= 64
            found = elementary_pairs.binary(name, fmt, first, second, mode, SPEC, fmt, _empty(fmt))
            pairs = zip(first.tolist(), second.tolist(), strict=True)
            compare(found, [specification.binary(name, fmt, *pair, mode) for pair in pairs], first, second)


def _empty(fmt: FloatFormat) -> Callable[[Codes, Codes], ArrayResult]:
    """Return a specification of no elements."""

    def specified(a: Codes, b: Codes) -> ArrayResult:
        assert not a.size, (a[:9], b[:9])
        return ArrayResult(np.empty(0, fmt.storage_dtype), None, np.empty(0, np.uint8))

    return specified


def test_equal_and_alike_pairs_are_specified_once() -> None:
    asked = []

    def specified(a: Codes, b: Codes) -> ArrayResult:
        asked.append(a.size)
        results = [specification.binary("powf", F32, *pair) for pair in zip(a.tolist(), b.tolist(), strict=True)]
        codes, flags, poison = zip(*results, strict=True)
        return ArrayResult(np.array(codes, np.uint32), np.array(poison), np.array(flags, np.uint8))

    draw = np.random.default_rng(1)
    base = np.where(draw.random(50_000) < 0.5, 0.0, -draw.uniform(1, 2, 50_000)).astype(np.float32)
    exponent = draw.uniform(-3, 3, 50_000).astype(np.float32)
    found = elementary_pairs.binary(
        "powf", F32, base.view(np.uint32), exponent.view(np.uint32), RNE, SPEC, F32, specified
    )
    assert sum(asked) < 40
    numbers = found.codes.view(np.float32)
    assert np.isnan(numbers[base < 0]).all()
    assert (numbers[(base == 0) & (exponent > 0)] == 0).all()
    assert np.isinf(numbers[(base == 0) & (exponent < 0)]).all()


def claims(name: str, count: int, seed: int) -> int:
    """Compare approximations at pairs of f32 with Arb; return the count of those compared."""
    draw = random.Random(seed)
    row, ball = PAIRS[name], FUNCTIONS_OF_TWO[name].ball
    integral = name == "rootn"

    def number() -> float:
        kind = draw.random()
        if kind < 0.3:
            found = math.ldexp(draw.uniform(1, 2), draw.randint(-149, 127))
        elif kind < 0.6:
            found = draw.uniform(0, 1) * draw.choice((1, 4, 60))
        else:
            found = abs(1 + draw.choice((-1, 1)) * 2.0 ** -draw.randint(1, 24) * draw.randint(1, 9))
        return float(np.float32(found)) or 1.0

    compared = 0
    for _ in range(count):
        x = number() * (draw.choice((-1, 1)) if name in ("atan2", "hypot") else 1)
        z = float(draw.choice((draw.randint(1, 9), draw.randint(1, 1 << 31)))) if integral else number()
        z *= draw.choice((-1, 1))
        if name == "powf" and draw.random() < 0.5:  # a large result
            z = float(np.float32(draw.uniform(-150, 150) / (math.log2(x) or 1)))
        with np.errstate(all="ignore"):
            y = float(row.function(np.array([[x], [z]]))[0])
        with bits_of_precision(400):
            true = ball(arb(x), arb(z))
            if not arb((1, -1000)) < abs(true) < arb((1, 1000)):
                continue
            assert abs(true - arb(y)) * HEADROOM <= arb(math.ulp(y)) * row.margin, (name, x, z, y)
        compared += 1
    return compared


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("count", amounts(300, 100_000))
def test_errors_stay_far_below_the_margin(name: str, count: int) -> None:
    assert claims(name, count, 1) > count // 2


def test_every_function_of_two_arguments_has_a_row() -> None:
    assert set(PAIRS) == set(FUNCTIONS_OF_TWO) - {"polygamma", "zeta"}


def test_formats_whose_squares_are_not_exact_do_not_apply() -> None:
    assert not elementary_pairs.applies(FORMATS["f64"], F32)
    assert not elementary_pairs.applies(FloatFormat("long", 3, 28, 3), F32)
    assert not elementary_pairs.applies(F32, F64)
    assert elementary_pairs.applies(F32, F32)


def test_scalars_broadcast_and_few_pairs_are_right() -> None:
    a = operands(F32, 6, 3).reshape(2, 3)
    two = codes_of(F32, [2.0])
    found = elementary.binary("powf", F32, np.tile(a, (20, 1)), two, want_flags=True)
    assert found.codes.shape == (40, 3)
    few = elementary.binary("powf", F32, a, two, want_flags=True)
    assert few.flags is not None
    assert found.flags is not None
    assert (found.codes == np.tile(few.codes, (20, 1))).all()
    assert (found.flags == np.tile(few.flags, (20, 1))).all()
    assert few.codes.ravel().tolist() == [
        scalar.Result(*specification.binary("powf", F32, code, int(two[0]))).code for code in a.ravel().tolist()
    ]
