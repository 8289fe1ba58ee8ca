"""The affine casts, in blocks of every kind, beside the operations of `exact`, one after the other."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from amounts import amounts
from present import present

from halfulp.fp_formats.exact import arithmetic, conversions
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.paths import affine, llvm
from halfulp.fp_formats.paths.affine import Affine
from halfulp.fp_formats.policy import SPEC, FloatPolicy, Rounding

RNE = Rounding.TO_NEAREST_EVEN
MODES = (RNE, Rounding.TOWARD_ZERO, Rounding.DOWNWARD, Rounding.UPWARD)
F32, F64 = FORMATS["f32"], FORMATS["f64"]
SATURATES, POISONS = (replace(SPEC, float_to_int=choice) for choice in ("saturate", "poison"))
INTEGERS = ((8, True), (8, False), (4, True), (3, False), (1, True), (16, True), (24, False))
LAYOUTS = (
    ((), None),
    ((0, 3), 1),
    ((37,), None),
    ((3, 50), 0),
    ((50, 3), 1),
    ((2, 3, 40), 1),
    ((5, 3, 7), 1),
    ((5, 3, 2), 1),
    ((2, 70, 2), 1),
    ((3, 2, 200), 1),
)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Blocks of 64 elements, so that the layouts above have many of them."""
    before = llvm.backend()
    llvm.use("numpy")
    for name, size in (("LONG", 16), ("WIDE", 24), ("AT_ONCE", 64), ("NATIVE_CHUNK", 256)):
        monkeypatch.setattr(affine, name, size)
    affine._kept.cache_clear()
    yield
    affine._kept.cache_clear()
    llvm.use(before)


def cast_of(type_: str, width: int, signed: bool, count: int, axis: int | None, rng: np.random.Generator) -> Affine:
    fmt = FORMATS[type_]
    half = 1 << width - 1
    least, largest = (-half, half - 1) if signed else (0, 2 * half - 1)
    if rng.integers(2):
        least, largest = least + (largest - least) // 4, largest - (largest - least) // 4
    real, code = np.dtype(f"f{fmt.bits // 8}"), fmt.storage_dtype
    scales = rng.choice([0.5, 0.1, 3.0, 1e-30, 7e-3], count).astype(real)
    points = rng.integers(-20, 20, count).astype(real)
    return Affine(fmt, width, signed, least, largest, scales.view(code), points.view(code), axis)


def parameters_of(cast: Affine, rank: int) -> tuple[Any, Any]:
    shape = [-1 if axis == cast.axis else 1 for axis in range(rank)] if cast.axis is not None else [1] * rank
    return cast.scales.reshape(shape), cast.points.reshape(shape)


def numbers_by_steps(cast: Affine, codes: Any, policy: FloatPolicy) -> Any:
    scales, points = parameters_of(cast, codes.ndim)
    given = conversions.from_integer(cast.fmt, codes, cast.width, cast.signed).codes
    difference = arithmetic.subtract(cast.fmt, given, np.broadcast_to(points, codes.shape), RNE, policy).codes
    return arithmetic.multiply(cast.fmt, difference, np.broadcast_to(scales, codes.shape), RNE, policy).codes


def integers_by_steps(
    cast: Affine, rounding: int, policy: FloatPolicy, x: Any, scales: Any, points: Any
) -> ArrayResult:
    """Every NaN is poison, also where the conversion gives 0 for it."""
    fmt, shape = cast.fmt, x.shape
    scaled = arithmetic.divide(fmt, x, np.broadcast_to(scales, shape)).codes
    shifted = arithmetic.add(fmt, scaled, np.broadcast_to(points, shape)).codes
    stored = conversions.to_integer(fmt, shifted, cast.width, cast.signed, rounding, policy)
    poison = np.isnan(shifted.view(f"f{fmt.bits // 8}"))
    if stored.poison is not None:
        poison = poison | stored.poison
    numbers = [
        int(code) - (int(code) >> cast.width - 1 << cast.width if cast.signed else 0) for code in stored.codes.flat
    ]
    clamped = [min(max(number, cast.least), cast.largest) & (1 << cast.width) - 1 for number in numbers]
    return ArrayResult(np.array(clamped, stored.codes.dtype).reshape(shape), poison if poison.any() else None)


def inputs(cast: Affine, shape: tuple[int, ...], rng: np.random.Generator, specials: bool) -> Any:
    """Numbers near the bounds, near ties and far away, and codes of every kind."""
    real = np.dtype(f"f{cast.fmt.bits // 8}")
    low, high = cast.bounds
    scales, points = (each.view(real).astype(np.float64) for each in parameters_of(cast, len(shape)))
    whole = rng.integers(low, high + 1, shape) + rng.choice([0, 0, 0.5, 0.25], shape)
    outside = rng.random(shape) < (0.02 if specials else 0)
    numbers = np.asarray((np.where(outside, rng.normal(0, 1e9, shape), np.clip(whole, low, high)) - points) * scales)
    numbers = numbers.astype(real)
    if specials:
        anything = rng.integers(0, 1 << 64, shape, np.uint64).astype(cast.fmt.storage_dtype)
        kinds = np.array([np.nan, np.inf, -np.inf, -0.0], real)[rng.integers(0, 4, shape)]
        draw = rng.random(shape)
        numbers = np.where(draw < 0.01, anything.view(real), np.where(draw < 0.02, kinds, numbers))
    return np.asarray(numbers).view(cast.fmt.storage_dtype)


def check(type_: str, width: int, signed: bool, rounding: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for (shape, axis), specials in ((layout, specials) for layout in LAYOUTS for specials in (False, True)):
        cast = cast_of(type_, width, signed, 1 if axis is None else shape[axis], axis, rng)
        codes = rng.integers(0, 1 << width, shape, np.uint64).astype(f"u{cast.integers.itemsize}")
        for given in (codes, np.asarray(codes, order="F")):
            found = present(affine.to_numbers(cast, given, SPEC))
            assert found.shape == shape
            np.testing.assert_array_equal(found, numbers_by_steps(cast, codes, SPEC))
        x = inputs(cast, shape, rng, specials)
        for policy in (SATURATES, POISONS):
            by_steps = partial(integers_by_steps, cast, rounding, policy)

            for given in (x, np.asarray(x, order="F")):
                result = present(affine.to_integers(cast, given, rounding, SPEC, policy, by_steps))
                want = by_steps(x, *parameters_of(cast, x.ndim))
                poison = np.zeros(shape, np.bool_) if want.poison is None else want.poison
                mine = np.zeros(shape, np.bool_) if result.poison is None else result.poison
                np.testing.assert_array_equal(mine, poison)
                np.testing.assert_array_equal(result.codes[~poison], want.codes[~poison])


@pytest.mark.long
@pytest.mark.parametrize(("width", "signed"), INTEGERS[:3])
def test_casts(width: int, signed: bool) -> None:
    check("f32", width, signed, RNE, 1)


@pytest.mark.long
@pytest.mark.parametrize("parts", amounts(20, long=1))
def test_compiled_casts(parts: int) -> None:
    pytest.importorskip("llvmlite")
    llvm.use("llvm")
    for seed, (width, signed) in list(enumerate(INTEGERS))[::parts]:
        check("f32", width, signed, MODES[seed % 4], seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
@pytest.mark.parametrize("rounding", MODES)
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_all_casts(type_: str, rounding: Rounding, backend: str) -> None:
    if backend == "llvm":
        pytest.importorskip("llvmlite")
    llvm.use(backend)
    for seed, (width, signed) in enumerate(
        (*INTEGERS, *([(32, True), (32, False), (48, True)] if type_ == "f64" else []))
    ):
        check(type_, width, signed, rounding, seed)


def test_only_blocks_with_a_special_number_take_one_step_after_the_other() -> None:
    rng = np.random.default_rng(3)
    cast = cast_of("f32", 8, True, 3, 0, rng)
    x = np.zeros((3, 200), np.float32)
    x[1, 70] = np.nan
    seen: list[int] = []

    def by_steps(x: Any, scales: Any, points: Any) -> ArrayResult:
        seen.append(x.size)
        return integers_by_steps(cast, RNE, SATURATES, x, scales, points)

    result = present(affine.to_integers(cast, x.view(np.uint32), RNE, SPEC, SATURATES, by_steps))
    assert result.poison is not None
    assert np.argwhere(result.poison).tolist() == [[1, 70]]
    assert seen == [64]


def test_declared_domain() -> None:
    cast = cast_of("f32", 8, True, 1, None, np.random.default_rng(4))
    assert cast.native(SPEC)
    assert not replace(cast, width=25).native(SPEC)  # 2**24 + 1 is not a number of f32
    for number in (np.inf, np.nan):
        code = np.array([number], np.float32).view(np.uint32)
        assert not replace(cast, scales=code).native(SPEC)
        assert not replace(cast, points=code).native(SPEC)
    bf16 = replace(cast, fmt=FORMATS["bf16"], scales=np.array([1], np.uint16), points=np.array([1], np.uint16))
    assert not bf16.native(SPEC)
    x = np.zeros(3, np.uint32)
    away = affine.to_integers(cast, x, Rounding.TO_NEAREST_AWAY, SPEC, SPEC, lambda *_: ArrayResult(x))
    assert away is None
    assert not cast.native(replace(SPEC, denormals="flush_results"))
