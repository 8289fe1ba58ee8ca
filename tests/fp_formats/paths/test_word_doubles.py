"""The descriptions of elementary functions of f64: results in all modes, errors of pairs, and what they refuse."""

import math
import random

import gmpy2
import numpy as np
import numpy.typing as npt
import pytest
from amounts import amounts, thinned
from flint import arb
from float_samples import of_functions
from mpfr import MPFR
from word_arrays import ArrayMachine, described

from halfulp.fp_formats.formats import FORMATS, Codes
from halfulp.fp_formats.paths import elementary, llvm, word_doubles
from halfulp.fp_formats.paths.array_loop import ArrayLoop, ChainOfOne, Plan
from halfulp.fp_formats.paths.word_functions import FAR
from halfulp.fp_formats.paths.words import F64, Real
from halfulp.fp_formats.policy import FloatPolicy, Rounding
from halfulp.fp_formats.reals import elementary as specification
from halfulp.fp_formats.reals.functions import FUNCTIONS, bits_of_precision

MODES = tuple(Rounding)[:5]
HEADROOM = 4
"""Errors seen here stay so many times below the claim."""
OF_MPFR = {
    Rounding.TO_NEAREST_EVEN: gmpy2.RoundToNearest,
    Rounding.DOWNWARD: gmpy2.RoundDown,
    Rounding.UPWARD: gmpy2.RoundUp,
    Rounding.TOWARD_ZERO: gmpy2.RoundToZero,
}


def numbers_of(name: str, count: int) -> npt.NDArray[np.float64]:
    """Numbers of every magnitude, near the points of the function, beside multiples of constants, and special ones."""
    draw = random.Random(name)
    codes = of_functions(name, count)
    some = codes[codes & 0x7F800000 != 0x7F800000].view(np.float32).astype(np.float64).tolist()
    some = [each * (1 + draw.uniform(-1, 1) * 2.0**-24) for each in some]
    some += [draw.choice((-1, 1)) * math.ldexp(draw.uniform(1, 2), draw.randint(-1074, 1023)) for _ in range(count)]
    some += [draw.uniform(-760, 760) for _ in range(count)]
    near = [1.0, math.pi / 2, 355 * math.pi, 2.0**20, *word_doubles.ROWS[name].points, *word_doubles.ROWS[name].ends]
    some += [sign * math.nextafter(each, up * math.inf) for each in near for up in (-1, 1) for sign in (-1, 1)]
    some += [1 + sign * 2.0**-e for sign in (-1, 1) for e in range(2, 53, 5)]
    return np.array([*some, 0.0, -0.0, math.inf, -math.inf, 5e-324, -5e-324, 2.0**-1022, 1.7e308])


@pytest.mark.parametrize("fuses", [True, False])
@pytest.mark.parametrize("name", thinned(word_doubles.ROWS, 6))
@pytest.mark.parametrize("count", amounts(3, long=150))
def test_functions_equal_the_specification(name: str, count: int, fuses: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm, "fuses", lambda: fuses)
    numbers = numbers_of(name, count)
    size = np.absolute(numbers)
    for mode in MODES if fuses else MODES[:1]:
        for far in (False, True) if word_doubles.ROWS[name].far else (False,):
            covered = size < np.inf
            if word_doubles.ROWS[name].far:
                covered &= (size >= FAR) == far
            codes = numbers[covered | (size == np.inf)].view(np.uint64)
            implementation = word_doubles.unary(name, F64, mode, far=far)
            assert implementation is not None
            (found,), refused = described(implementation, (codes, 64))
            wanted = [specification.unary(name, F64, code, mode).code for code in codes.tolist()]
            for code, one, other, left in zip(codes.tolist(), found, wanted, refused.tolist(), strict=True):
                assert left or one == other, (name, mode, hex(code), hex(one), hex(other))
            # Subnormal results, ties and, in some modes, exact results are refused.
            assert refused.mean() < 0.2, (name, mode)


@pytest.mark.parametrize("name", thinned(word_doubles.ROWS, 6))
@pytest.mark.parametrize("count", amounts(10, long=500))
def test_errors_stay_far_below_the_claim(name: str, count: int) -> None:
    row, numbers = word_doubles.ROWS[name], numbers_of(name, count)
    compared = 0
    for function in (row.function, row.far):
        if function is None:
            continue
        (high, low), shift = function(Real(ArrayMachine(numbers.size), numbers, F64))
        shifts = [0] * numbers.size if shift is None else shift.held.numbers(True).tolist()
        every = zip(numbers.tolist(), high.held.tolist(), low.held.tolist(), shifts, strict=True)
        for x, first, second, moved in every:
            far = row.far is not None and abs(x) >= FAR
            beside = abs(x) < word_doubles._ODD  # where results lie next to a value, no approximation is needed
            if far != (function is row.far) or not math.isfinite(x) or x == 0 or beside:
                continue
            if row.ends and not row.ends[0] < x < row.ends[1]:
                continue
            with bits_of_precision(2000):
                ball = FUNCTIONS[name].ball(arb(x))
                if not ball.is_finite() or ball == 0:
                    continue
                error = float((abs((arb(first) + arb(second)) * arb(2) ** moved / ball - 1) / word_doubles.ERROR).mid())
            assert error * HEADROOM < 1, (name, x, error)
            compared += 1
    assert compared > count // 4


@pytest.mark.skipif(not llvm.installed(), reason="needs llvmlite")
@pytest.mark.parametrize("mode", OF_MPFR, ids=lambda mode: mode.name)
@pytest.mark.parametrize("name", thinned(sorted(set(word_doubles.ROWS) & set(MPFR)), 6))
@pytest.mark.parametrize("count", amounts(40, long=20_000))
def test_results_are_those_of_mpfr(name: str, mode: Rounding, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.concatenate([numbers_of(name, count), near_ties(name, count, monkeypatch)])
    monkeypatch.setattr(llvm, "_backend", "llvm")
    found = elementary.unary(name, F64, numbers.view(np.uint64), mode).codes.view(np.float64)
    with gmpy2.context(precision=53, emin=-1073, emax=1024, subnormalize=True, round=OF_MPFR[mode]):
        wanted = [float(MPFR[name](gmpy2.mpfr(x))) for x in numbers.tolist()]
    if name == "rsqrt":  # by IEEE 754
        zeros = (numbers == 0) & np.signbit(numbers)
        wanted = [-math.inf if negative else one for negative, one in zip(zeros.tolist(), wanted, strict=True)]
    for x, one, other in zip(numbers.tolist(), found.tolist(), wanted, strict=True):
        assert (math.isnan(one) and math.isnan(other)) or one.hex() == other.hex(), (name, x.hex(), one, other)


def near_ties(name: str, count: int, patch: pytest.MonkeyPatch) -> npt.NDArray[np.float64]:
    """Operands whose results lie near midpoints, chosen among many: those that a larger error would refuse."""
    numbers = np.random.default_rng(count).normal(0, 3, 50 * count)
    patch.setattr(word_doubles, "ERROR", 2.0**-60)
    word_doubles.unary.cache_clear()
    implementation = word_doubles.unary(name, F64)
    assert implementation is not None
    loop = ArrayLoop(Plan([ChainOfOne(implementation, (0,))], [64], (False,), [1], tells=True))
    codes, refused = np.empty(numbers.size, np.uint64), np.empty(numbers.size, np.uint8)
    loop.run([numbers.view(np.uint64)], [codes, refused], numbers.size)
    patch.undo()
    word_doubles.unary.cache_clear()
    return np.asarray(numbers[refused == 1])


def test_nothing_is_described_outside_of_the_domain() -> None:
    assert word_doubles.unary("erf", F64) is None
    assert word_doubles.unary("exp", FORMATS["f32"]) is None
    assert word_doubles.unary("exp", F64, dst=FORMATS["f32"]) is None
    assert word_doubles.unary("exp", F64, Rounding.STOCHASTIC) is None
    assert word_doubles.unary("exp", F64, far=True) is None
    assert word_doubles.unary("exp", F64, policy=FloatPolicy(denormals="flush_both")) is None


@pytest.mark.parametrize("name", thinned(word_doubles.ROWS, 6))
def test_zeros_infinities_points_and_ends_are_never_refused(name: str) -> None:
    row = word_doubles.ROWS[name]
    points: Codes = np.array([0.0, -0.0, math.inf, -math.inf, *row.points, *row.ends]).view(np.uint64)
    for mode in MODES[:2]:
        implementation = word_doubles.unary(name, F64, mode)
        assert implementation is not None
        (found,), refused = described(implementation, (points, 64))
        assert not refused.any()
        assert found == [specification.unary(name, F64, code, mode).code for code in points.tolist()]
