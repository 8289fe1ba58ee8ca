"""The descriptions of elementary functions of f32: results in all modes, errors in f64, and what they refuse."""

import math
import random
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from amounts import amounts, thinned
from flint import arb
from float_samples import of_functions
from word_arrays import ArrayMachine, CodeArray, described

from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, codes_to_ints
from halfulp.fp_formats.paths import array_loop, elementary, llvm, word_functions
from halfulp.fp_formats.paths.words import F64, Real, Word
from halfulp.fp_formats.policy import FloatPolicy, Rounding
from halfulp.fp_formats.reals import elementary as specification
from halfulp.fp_formats.reals.functions import FUNCTIONS, bits_of_precision
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO

F32 = FORMATS["f32"]
MODES = tuple(Rounding)[:5]
HEADROOM = 4
"""Errors seen here stay so many times below the claim."""


def is_nan(codes: Codes) -> Codes:
    return np.asarray((codes & F32.magnitude_mask) > (F32.infinity_code or 0))


@pytest.mark.parametrize("name", thinned(word_functions.ROWS, 5))
@pytest.mark.parametrize("count", amounts(12, long=400))
def test_functions_of_one_argument_equal_the_specification(name: str, count: int) -> None:
    codes = of_functions(name, count)
    for mode in MODES:
        wanted = np.array([specification.unary(name, F32, code, mode).code for code in codes.tolist()])
        for far in (False, True) if word_functions.ROWS[name].far else (False,):
            implementation = word_functions.unary(name, F32, mode, far=far)
            assert implementation is not None
            (found,), refused = described(implementation, (codes, 32))
            covered = ~is_nan(codes)
            size = np.absolute(codes.view(np.float32))
            if word_functions.ROWS[name].far is not None and not far:
                covered &= (size < word_functions.FAR) | (size == np.inf)
            elif far:
                refused = refused | (size < word_functions.FAR)
                covered &= (size >= word_functions.FAR) & (size <= np.inf)
            right = ~refused
            assert np.array_equal(np.array(found)[right], wanted[right]), (name, mode)
            # Exact results are refused in some modes; nothing else is, but for the few near a boundary.
            assert (refused & covered).sum() <= 4 + count // 8, (name, mode, codes[refused & covered])


def pairs(count: int) -> tuple[Codes, Codes]:
    draw = random.Random(4)
    numbers = [0.0, 1.0, 2.0, 3.0, 0.5, 1e-45, 1e38, math.inf, 1e-20, 7.25, 2.0**25, 1 + 2.0**-23]
    corners = list(product([each * sign for each in numbers for sign in (-1, 1)], repeat=2))
    some = [(draw.uniform(-9, 9), draw.uniform(-9, 9)) for _ in range(count)]
    some += [(draw.uniform(0, 40) * 2.0 ** draw.randint(-40, 40), draw.uniform(-9, 9)) for _ in range(count)]
    some += [(1 + draw.uniform(-1, 1) * 2.0 ** -draw.randint(1, 22), draw.uniform(-1, 1) * 2e6) for _ in range(count)]
    some += [(draw.uniform(-4, 4), float(draw.randint(-12, 12))) for _ in range(count)]
    chosen = corners if count > 100 else corners[::7]
    first, second = np.array([*chosen, *some], np.float32).T
    return np.ascontiguousarray(first).view(np.uint32), np.ascontiguousarray(second).view(np.uint32)


@pytest.mark.parametrize("name", word_functions.PAIRS)
@pytest.mark.parametrize("count", amounts(16, long=2_000))
def test_functions_of_two_arguments_equal_the_specification(name: str, count: int) -> None:
    a, b = pairs(count)
    for mode in MODES:
        implementation = word_functions.binary(name, F32, mode)
        assert implementation is not None
        (found,), refused = described(implementation, (a, 32), (b, 32))
        every = zip(a.tolist(), b.tolist(), found, refused.tolist(), strict=True)
        for x, z, result, left in every:
            if not left:
                want = specification.binary(name, F32, x, z, mode).code
                assert result == want, (name, mode, hex(x), hex(z), hex(result), hex(want))
        assert refused.mean() < 0.25, name


def errors(name: str, codes: Codes) -> Iterator[tuple[str, float]]:
    """Yield the operands, and the errors of approximations relative to the results, in units of the claimed error."""
    row = word_functions.ROWS[name]
    numbers = codes[~is_nan(codes)].view(np.float32).astype(np.float64)
    machine = ArrayMachine(numbers.size)
    for function in (row.function, row.far):
        if function is None:
            continue
        found = function(Real(machine, numbers, F64)).held.tolist()
        for x, y in zip(numbers.tolist(), found, strict=True):
            if name == "silu" and abs(x) < 2.0**-26:
                continue  # the number is on the same side of the tie at x / 2 as the result
            covered = row.far is None or (abs(x) >= word_functions.FAR) == (function is row.far)
            if not covered or not math.isfinite(x) or x == 0 or not math.isfinite(y) or y == 0:
                continue
            with bits_of_precision(400):
                ball = FUNCTIONS[name].ball(arb(x))
                if not ball.is_finite() or not 2.0**-150 < abs(ball).mid() < 2.0**130:
                    continue
                yield str(x), float((abs(ball / arb(y) - 1) / word_functions.ERROR).mid())


@pytest.mark.parametrize("name", thinned(word_functions.ROWS, 4))
@pytest.mark.parametrize("count", amounts(25, long=2_000))
def test_errors_stay_far_below_the_claim(name: str, count: int) -> None:
    draw = np.random.default_rng(9)
    near = (draw.normal(0, 4, 2 * count)).astype(np.float32).view(np.uint32)
    found = list(errors(name, np.concatenate([of_functions(name, count), near])))
    assert len(found) > count
    worst = max(found, key=lambda pair: pair[1])
    assert worst[1] * HEADROOM < 1, (name, worst)


def test_errors_of_two_arguments_stay_far_below_the_claim() -> None:
    a, b = pairs(30)
    machine = ArrayMachine(a.size)
    words = [Word(machine, CodeArray(codes_to_ints(codes, 32), 32), 32) for codes in (a, b)]
    for name, approximate in word_functions.PAIRS.items():
        found = approximate(words[0], words[1], Rounding.TO_NEAREST_EVEN, F32.nan_code or 0)
        known = found.certain.held.codes.astype(np.bool_)
        compared = 0
        for x, z, y, certain in zip(a.view(np.float32), b.view(np.float32), found.y.held.tolist(), known, strict=True):
            with bits_of_precision(400):
                if certain or not np.isfinite([x, z, y]).all() or (name == "powf" and x < 0):
                    continue
                ball = FUNCTIONS_OF_TWO[name].ball(arb(float(x)), arb(float(z)))
                if not ball.is_finite() or not 2.0**-150 < abs(ball).mid() < 2.0**130:
                    continue
                error = float((abs(ball / arb(y) - 1) / word_functions.ERROR).mid())
            assert error * HEADROOM < 1, (name, x, z, error)
            compared += 1
        assert compared > 60, name


def test_nothing_is_described_outside_of_the_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    assert word_functions.unary("erf", F32) is None
    assert word_functions.unary("exp", FORMATS["f16"]) is None
    assert word_functions.unary("exp", F32, dst=FORMATS["f16"]) is None
    assert word_functions.unary("exp", F32, Rounding.STOCHASTIC) is None
    assert word_functions.unary("exp", F32, far=True) is None
    assert word_functions.unary("exp", F32, policy=FloatPolicy(denormals="flush_both")) is None
    assert word_functions.binary("polygamma", F32) is None
    monkeypatch.setattr(llvm, "_keeps", False)
    word_functions.unary.cache_clear()
    assert word_functions.unary("exp", F32) is None
    word_functions.unary.cache_clear()


@pytest.mark.skipif(not llvm.installed(), reason="needs llvmlite")
@pytest.mark.parametrize("fmt", [F32, F64], ids=str)
def test_refused_elements_in_the_middle_are_computed_in_the_general_way(
    fmt: FloatFormat, monkeypatch: pytest.MonkeyPatch
) -> None:
    # NaNs, huge angles and ties, in blocks of their own, in several threads.
    of = np.float32 if fmt == F32 else np.float64
    numbers = np.random.default_rng(2).normal(0, 3, 5 * array_loop.BLOCK + 7).astype(of)
    numbers[2 * array_loop.BLOCK + 9 :: 97] = 4.8e37
    numbers[-1] = 2.0 ** -(fmt.mantissa_bits + 1)  # exp of it is next to a tie
    codes = numbers.view(fmt.storage_dtype)
    nan = fmt.nan_code or 0
    codes[array_loop.BLOCK + 3], codes[2 * array_loop.BLOCK - 1] = (
        (fmt.infinity_code or 0) | 1,
        nan | (fmt.sign_mask or 0) | 7,
    )
    names = ("sin", "exp") if fmt == F32 else ("exp",)
    wanted = {name: elementary.unary(name, fmt, codes[::11]).codes for name in names}
    monkeypatch.setattr(llvm, "_backend", "llvm")
    for pays in (0, 1 << 40):
        monkeypatch.setattr(array_loop, "PAYS", pays)
        for name, right in wanted.items():
            found = elementary.unary(name, fmt, codes)
            assert isinstance(found, ArrayResult)
            assert np.array_equal(found.codes[::11], right)
            for place in (array_loop.BLOCK + 3, 2 * array_loop.BLOCK - 1, codes.size - 1):
                assert found.codes[place] == specification.unary(name, fmt, int(codes[place])).code
            zeros = elementary.unary(name, fmt, np.zeros_like(codes))  # none is refused
            assert zeros is not None
            assert (zeros.codes == specification.unary(name, fmt, 0).code).all()


def test_zeros_infinities_and_points_are_never_refused() -> None:
    for name, row in word_functions.ROWS.items():
        points = np.array([0, 0.0, -0.0, math.inf, -math.inf, *row.points], np.float32).view(np.uint32)
        implementation = word_functions.unary(name, F32)
        assert implementation is not None
        (found,), refused = described(implementation, (points, 32))
        assert not refused.any(), name
        assert found == [specification.unary(name, F32, code).code for code in points.tolist()], name
