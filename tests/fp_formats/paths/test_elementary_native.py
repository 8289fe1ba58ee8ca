"""Functions of f32 by f64 and one test on bits equal the specification."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS, Codes
from halfulp.fp_formats.paths import elementary, elementary_native, llvm
from halfulp.fp_formats.paths.elementary_native import CHUNK, _Buffers, _chunk
from halfulp.fp_formats.paths.margins import APPROXIMATIONS, Approximation
from halfulp.fp_formats.policy import SPEC, FloatPolicy, Rounding
from halfulp.fp_formats.reals import elementary as specification
from halfulp.fp_formats.reals.functions import FUNCTIONS
from halfulp.fp_formats.scalar import RNE

F32 = FORMATS["f32"]
SPECIAL = (
    0,
    F32.infinity_code or 0,
    F32.nan_code or 0,
    0x7F800001,
    1,
    0x007FFFFF,
    0x00800000,
    0x3F800000,
    F32.max_code,
)
BY_MODE = list(Rounding)[:5]


def operands(name: str, count: int) -> Codes:
    """Return codes of every magnitude, near 0 and 1, at multiples of constants, huge ones, and special ones."""
    draw = random.Random(name)
    numbers = [draw.choice((-1, 1)) * math.ldexp(draw.uniform(1, 2), draw.randint(-149, 127)) for _ in range(count)]
    numbers += [draw.uniform(-1, 1) * draw.choice((1, 4, 20, 100)) for _ in range(count)]
    numbers += [draw.choice((math.pi / 2, 0.5, math.log(2))) * draw.randint(-60, 60) for _ in range(count)]
    numbers += [1 + sign * 2.0**-e for sign in (-1, 1) for e in range(2, 25)] + [2.0**120, -(2.0**120)]
    signed = [sign | code for sign in (0, 1 << 31) for code in SPECIAL]
    return np.concatenate([np.array(numbers, np.float32).view(np.uint32), np.array(signed, np.uint32)])


def differing(name: str, codes: Codes, found: ArrayResult, mode: int = RNE, policy: FloatPolicy = SPEC) -> list[str]:
    """Return the codes where results are not those of the specification."""
    wanted = [specification.unary(name, F32, code, mode, policy) for code in codes.tolist()]
    flags = [0] * codes.size if found.flags is None else found.flags.tolist()
    return [
        hex(code)
        for code, result, flag, right in zip(codes.tolist(), found.codes.tolist(), flags, wanted, strict=True)
        if result != right.code or (found.flags is not None and flag != right.flags)
    ]


def near_midpoints(name: str, count: int, window: int) -> Codes:
    """Return the random codes whose results lie within so many margins of a midpoint, but not within one."""
    numbers = np.random.default_rng(7).normal(0, 3, count).astype(np.float32)
    row = APPROXIMATIONS[name]
    with np.errstate(all="ignore"):
        y = row.function(numbers.astype(np.float64))
    distance = np.absolute((y.view(np.int64) & (1 << 29) - 1) - (1 << 28))
    found: Codes = numbers.view(np.uint32)[(distance >= row.margin) & (distance < window * row.margin)]
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_the_specification(name: str) -> None:
    codes = operands(name, 16)
    assert not differing(name, codes, elementary.unary(name, F32, codes))
    close = near_midpoints(name, 1 << 12, 100)
    close = np.resize(close[:64], max(64, min(64, close.size)))
    assert not differing(name, close, elementary.unary(name, F32, close))


@pytest.mark.parametrize("name", ["exp", "sin", "rsqrt", "mish"])
@pytest.mark.parametrize("mode", BY_MODE)
def test_modes_flags_and_flushing_take_another_way(name: str, mode: Rounding) -> None:
    codes = operands(name, 12)
    for policy in (SPEC, FloatPolicy(denormals="flush_both")):
        assert not elementary_native.applies(F32, F32, mode, policy, True)
        assert not differing(name, codes, elementary.unary(name, F32, codes, mode, policy, None, True), mode, policy)
        assert not differing(name, codes, elementary.unary(name, F32, codes, mode, policy), mode, policy)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", FUNCTIONS)
def test_many_results_are_those_of_the_specification(name: str) -> None:
    codes = operands(name, 3000)
    assert not differing(name, codes, elementary.unary(name, F32, codes))
    close = near_midpoints(name, 1 << 20, 4)
    assert close.size < 64 or not differing(name, close[:4000], elementary.unary(name, F32, close[:4000]))


def test_few_results_are_left_to_the_other_ways() -> None:
    left: list[int] = []

    def rest(codes: Codes) -> ArrayResult:
        left.append(codes.size)
        return elementary.unary("exp", F32, codes, want_flags=True)

    numbers = np.random.default_rng(3).uniform(-20, 20, 2 * CHUNK + 5).astype(np.float32)
    numbers[::2] = -np.inf
    shaped = numbers.view(np.uint32)[: 2 * CHUNK].reshape(2, CHUNK)
    found = elementary_native.unary("exp", shaped, rest)
    assert found.codes.shape == shaped.shape
    assert not found.codes[:, ::2].any()
    assert sum(left) < 20
    assert elementary_native.unary("exp", shaped[:, :0], rest).codes.shape == (2, 0)


def test_nothing_is_native_where_the_cpu_flushes_subnormals(monkeypatch: pytest.MonkeyPatch) -> None:
    assert elementary_native.applies(F32, F32, RNE, SPEC, False)
    monkeypatch.setattr(llvm, "_keeps", False)
    assert not elementary_native.applies(F32, F32, RNE, SPEC, False)


def test_a_number_is_settled_only_where_all_within_its_margin_round_alike() -> None:
    margin = 1 << 11
    draw = random.Random(5)
    numbers = []
    for _ in range(300):  # values and midpoints: normal, subnormal, at the ends of the range
        lead = draw.choice((-126, -127, -130, -149, 127, draw.randint(-9, 9)))
        last = draw.choice((0, 1, 2, 3, -1, -2, draw.getrandbits(24))) & (1 << 24) - 1
        boundary = np.array([math.ldexp((1 << 24) + last, lead - 24)]).view(np.int64)
        steps = draw.choice((0, 1, margin - 1, margin, margin + 1, 4 * margin)) * draw.choice((-1, 1))
        numbers.append(float((boundary + steps).view(np.float64)[0]))
    array = np.array(numbers)
    row = Approximation(lambda x: array[x.astype(np.intp)], margin=margin)
    out = np.empty(array.size, np.uint32)
    with np.errstate(all="ignore"):
        left = _chunk(row, np.arange(array.size, dtype=np.float32), out, _Buffers(array.size))
    settled = 0
    for y, code, unknown in zip(numbers, out.tolist(), left.tolist(), strict=True):
        whole = np.array([y]).view(np.int64)
        within = [Fraction(float((whole + step).view(np.float64)[0])) for step in (1 - margin, 0, margin - 1)]
        results = {scalar.from_fraction(F32, number, RNE).code for number in within}
        assert unknown or results == {code}, y
        settled += not unknown
    assert settled > 60
