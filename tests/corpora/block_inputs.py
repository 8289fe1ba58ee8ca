"""Make blocks of f32 numbers that are difficult for recipes of block scaling, the same for the same case."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.semantics.block_scaling import Element, FixedPoint, Recipe, recipe_named

Floats = npt.NDArray[np.float32]

_CHUNK = 1 << 13
_TENSOR = 256
"""Blocks of one call: of an MX recipe, where blocks do not depend on each other, and of one tensor of NVFP4."""


@dataclass(frozen=True)
class Case:
    """One comparison. ``special``: some blocks have infinities and NaN. ``two_levels``: of NVFP4."""

    recipe: str
    element: str
    rounding: str = "to_nearest_even"
    two_levels: bool = True
    special: bool = False

    def __str__(self) -> str:
        parts = (
            self.recipe,
            self.element,
            "" if self.rounding == "to_nearest_even" else self.rounding,
            "" if self.two_levels else "one level",
            "infinities and NaN" if self.special else "",
        )
        return " ".join(part for part in parts if part)

    @property
    def rules(self) -> Recipe:
        """The recipe itself."""
        return recipe_named(self.recipe)

    @property
    def type(self) -> Element:
        """The element type itself."""
        return self.rules.elements()[self.element]


def blocks_of(case: Case, count: int) -> Iterator[Floats]:
    """Yield at least ``count`` blocks in arrays [n, block]. Each array is quantised by one call."""
    is_mx = case.rules.raises is not None
    chunk = _CHUNK if is_mx or not case.two_levels else _TENSOR
    rng = np.random.default_rng(zlib.crc32(repr(astuple(case)).encode()))
    for _ in range(0, count, chunk):
        x = _mixed(rng, case, chunk) if is_mx or not case.two_levels else _tensor(rng, case, chunk)
        yield _spoilt(rng, x) if case.special else x


def _grid(element: Element) -> Floats:
    """Return the positive values of an element type, the middles between them, and both f32 neighbours of each."""
    if isinstance(element, FixedPoint):
        values = np.arange(1, element.largest + 1) / 2.0**element.mantissa_bits
    else:
        exact = (scalar.value(element, code) for code in range(1 << element.bits))
        values = np.array(sorted({float(value) for value in exact if value is not None and value > 0}))
    last = values[-1] * (1 + 2.0 ** -(element.mantissa_bits + 1))
    points = np.concatenate([values, (values[1:] + values[:-1]) / 2, [values[0] / 2, last]]).astype(np.float32)
    return _with_neighbours(points)


def _with_neighbours(points: Floats) -> Floats:
    return np.concatenate([points, np.nextafter(points, np.float32(0)), np.nextafter(points, np.float32(np.inf))])


def _tops(element: Element) -> Floats:
    """Return significands at which some recipe raises the scale, and their neighbours."""
    step = 2.0**-element.mantissa_bits
    return _with_neighbours(np.array([1, 1.5, 1.75, 1.875, 1.984375, 2 - step / 4, 2 - step / 2, 2], np.float32))


def _signs(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return np.where(rng.random(shape) < 0.5, np.float32(-1), np.float32(1))


def _scaled(x: npt.NDArray[np.floating], exponents: npt.NDArray[np.int64]) -> Floats:
    return np.ldexp(x.astype(np.float32), exponents)


def _any_scale(rng: np.random.Generator, case: Case, n: int) -> Floats:
    x = np.clip(rng.standard_normal((n, case.rules.block)), -1.9, 1.9)
    return _scaled(x, rng.integers(-149, 128, (n, 1)))


def _any_bits(rng: np.random.Generator, case: Case, n: int) -> Floats:
    bits = rng.integers(0, 1 << 32, (n, case.rules.block), dtype=np.uint32)
    infinite = (bits >> 23) & 0xFF == 0xFF
    return np.where(infinite, bits & ~np.uint32(1 << 23), bits).view(np.float32)


def _boundaries(rng: np.random.Generator, case: Case, n: int, low: int, high: int) -> Floats:
    """Return elements at the ties of the element type, below a largest magnitude where a recipe changes the scale."""
    element, shape = case.type, (n, case.rules.block)
    x = rng.choice(_grid(element), shape) * _signs(rng, shape)
    top = rng.choice(_tops(element), (n, 1)) * np.float32(2.0**element.emax)
    x = np.clip(x, -top, top)
    x[:, :1] = top * _signs(rng, (n, 1))
    x[rng.random(shape) < 0.05] = 0
    x[rng.random(shape) < 0.05] = -0.0
    return _scaled(x, rng.integers(low, high, (n, 1)))


def _subnormal(rng: np.random.Generator, case: Case, n: int) -> Floats:
    shape = (n, case.rules.block)
    bits = rng.integers(0, 1 << 23, shape, dtype=np.uint32) >> rng.integers(0, 23, (n, 1)).astype(np.uint32)
    bits[: n // 8] = 0
    return (bits | rng.integers(0, 2, shape, dtype=np.uint32) << np.uint32(31)).view(np.float32)


def _outlier(rng: np.random.Generator, case: Case, n: int) -> Floats:
    shape = (n, case.rules.block)
    x = _scaled(rng.standard_normal(shape), rng.integers(-140, 60, shape))
    x[:, 3] = _scaled(rng.uniform(1, 2, n), rng.integers(-100, 128, n))
    return x


def _mixed(rng: np.random.Generator, case: Case, n: int) -> Floats:
    top = 128 - case.type.emax - 1
    ranges = [(-20, 20), (-149, -100), (90, top), (-3, 4)]
    kinds: list[Callable[[int], Floats]] = [
        lambda m: _any_scale(rng, case, m),
        lambda m: _any_bits(rng, case, m),
        lambda m: _subnormal(rng, case, m),
        lambda m: _outlier(rng, case, m),
        *(lambda m, low=low, high=high: _boundaries(rng, case, m, low, high) for low, high in ranges),
    ]
    return np.concatenate([kind(n // len(kinds)) for kind in kinds])


def _tensor(rng: np.random.Generator, case: Case, n: int) -> Floats:
    """Return one tensor: mostly blocks whose scales fit the range of f8E4M3FN, one in eight of any kind."""
    if rng.random() < 0.125:
        return _mixed(rng, case, n) if rng.random() < 0.9 else np.zeros((n, case.rules.block), np.float32)
    centre = int(rng.integers(-115, 115)) if rng.random() < 0.5 else int(rng.integers(-10, 10))
    shape = (n, case.rules.block)
    x = rng.choice(_grid(case.type), shape) * _signs(rng, shape)
    block = _scaled(rng.uniform(1, 2, (n, 1)), rng.integers(-18, 1, (n, 1)))
    block[::3] = _scaled(rng.choice(_tops(case.type), (len(block[::3]), 1)), rng.integers(-18, 1, (len(block[::3]), 1)))
    x *= block
    x[rng.random(shape) < 0.05] = 0
    x[rng.random(shape) < 0.05] = -0.0
    x[: n // 16] = 0
    return _scaled(x, np.asarray(centre))


def _spoilt(rng: np.random.Generator, x: Floats) -> Floats:
    """Put an infinity or NaN into about every other block: into none of some tensors."""
    specials = np.array([np.inf, -np.inf, np.nan, -np.nan], np.float32)
    rows = np.flatnonzero(rng.random(len(x)) < rng.choice([0, 0.01, 0.5]))
    x[rows, rng.integers(0, x.shape[1], len(rows))] = rng.choice(specials, len(rows))
    return x
