"""Affine casts: an integer i stands for the number (i - zero point) * scale, with a scale and a zero point for each
index of one dimension.

The steps are those of `exact`, each to nearest even. All steps of a block are done while it is in a cache. If a number
of a block has no integer, the separate operations compute the block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import Codes, FloatFormat, Mask, storage_dtype
from halfulp.fp_formats.paths import word_floats
from halfulp.fp_formats.paths.array_loop import loop_for
from halfulp.fp_formats.paths.domains import NATIVE, path_of
from halfulp.fp_formats.paths.fast import NATIVE_CHUNK
from halfulp.fp_formats.paths.fast_conversions import ROUNDERS, rounds_natively
from halfulp.fp_formats.paths.tables import AT_ONCE
from halfulp.fp_formats.paths.words import Implementation, Word
from halfulp.fp_formats.policy import FloatPolicy
from halfulp.fp_formats.scalar import RNE

LONG = 1 << 10
"""The elements of a row from which NumPy repeats its parameters faster than it reads a copy for each element."""
WIDE = 1 << 12
"""The elements that shorter rows have together for NumPy: their parameters stay in the first-level cache."""

Floats = npt.NDArray[Any]
Exactly = Callable[[Codes, Codes, Codes], ArrayResult]


@dataclass(frozen=True, eq=False)
class Affine:
    """Integers that represent numbers of a format.

    ``width``, ``signed``, ``least``, ``largest``: the integers. ``scales``, ``points``: codes of the format, one for
    each index of the dimension ``axis``; one for all if it is None.
    """

    fmt: FloatFormat
    width: int
    signed: bool
    least: int
    largest: int
    scales: Codes
    points: Codes
    axis: int | None = None

    def native(self, policy: FloatPolicy) -> bool:
        """Tell whether NumPy can compute all steps.

        This requires three things: NumPy has the operations of the format, each integer is a number of the format, and
        all scales and points are finite.
        """
        paths = {path_of(name, self.fmt, RNE, policy) for name in ("add", "subtract", "multiply", "divide")}
        return paths == {"native"} and 0 < self.width <= self.fmt.precision and self._finite

    @cached_property
    def _finite(self) -> bool:
        real = NATIVE[self.fmt]
        return bool(np.isfinite(self.scales.view(real)).all() and np.isfinite(self.points.view(real)).all())

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest integer of the width."""
        half = 1 << self.width - 1
        return (-half, half - 1) if self.signed else (0, 2 * half - 1)

    @property
    def integers(self) -> np.dtype[Any]:
        """The dtype of the integers."""
        storage = storage_dtype(self.width)
        return np.dtype(f"i{storage.itemsize}") if self.signed else storage

    @property
    def unused(self) -> int:
        """The number of upper bits that the dtype of signed integers has more than their codes use."""
        return 8 * self.integers.itemsize - self.width if self.signed else 0


class _Block(NamedTuple):
    """Part of an array: its slices in three dimensions, and the two dimensions in which it is computed. If `_repeats`,
    scales and points belong to the rows, otherwise to the columns.
    """

    part: tuple[slice, slice, slice]
    shape: tuple[int, int]
    scales: Floats
    points: Floats


Layout = tuple[int, int, int]
"""The sizes of an array before the axis, along it, and after it."""


def _layout(cast: Affine, shape: tuple[int, ...]) -> Layout:
    if cast.axis is None:
        return 1, 1, math.prod(shape)
    return math.prod(shape[: cast.axis]), shape[cast.axis], math.prod(shape[cast.axis + 1 :])


def _repeats(layout: Layout) -> bool:
    return layout[2] >= LONG


def _blocks(cast: Affine, layout: Layout, at_once: bool) -> Iterable[_Block]:
    """Divide an array. ``at_once``: one compiled loop does all steps of a block."""
    longest, wide = (AT_ONCE, LONG) if at_once else (NATIVE_CHUNK // NATIVE[cast.fmt].itemsize, WIDE)
    if layout[1] * layout[2] <= longest:
        return _kept(cast, layout, longest, wide)
    return _made(cast, layout, longest, wide)


def _made(cast: Affine, layout: Layout, longest: int, wide: int) -> Iterable[_Block]:
    if not math.prod(layout):
        return ()
    scales, points = (each.view(NATIVE[cast.fmt]) for each in (cast.scales, cast.points))
    if _repeats(layout):
        return _of_long_rows(scales, points, layout, longest)
    return _of_short_rows(scales, points, layout, longest, wide)


@lru_cache(maxsize=16)
def _kept(cast: Affine, layout: Layout, longest: int, wide: int) -> tuple[_Block, ...]:
    """Return what `_made` returns, and keep it for the next call. The parameters are short or shared by all blocks."""
    return tuple(_made(cast, layout, longest, wide))


def _of_long_rows(scales: Floats, points: Floats, layout: Layout, longest: int) -> Iterator[_Block]:
    """Make blocks of several rows, or of a part of one row."""
    outer, channels, inner = layout
    length = min(inner, longest)
    some = min(channels, longest // length)
    turns = longest // (some * length) if (some, length) == (channels, inner) else 1
    for before, along, after in product(_slices(outer, turns), _slices(channels, some), _slices(inner, length)):
        count = before.stop - before.start
        of_rows = [np.tile(each[along], count) if count > 1 else each[along] for each in (scales, points)]
        yield _Block((before, along, after), (len(of_rows[0]), after.stop - after.start), *of_rows)


def _of_short_rows(scales: Floats, points: Floats, layout: Layout, longest: int, wide: int) -> Iterator[_Block]:
    """Make blocks of rows that are joined to longer rows, each with the same parameters."""
    outer, channels, inner = layout
    some = min(channels, longest // inner)
    period = some * inner
    together = min(outer, -(-wide // period), longest // period) if some == channels else 1
    turns = longest // (together * period) * together if some == channels else 1
    whole = outer - outer % together
    for along in _slices(channels, some):
        of_columns = [np.tile(np.repeat(each[along], inner), together) for each in (scales, points)]
        for before in (*_slices(whole, turns), *_slices(outer, outer, whole)):
            rows = max(1, (before.stop - before.start) // together)
            columns = (before.stop - before.start) * (along.stop - along.start) * inner // rows
            yield _Block((before, along, slice(None)), (rows, columns), *(each[:columns] for each in of_columns))


def _slices(size: int, longest: int, start: int = 0) -> Iterator[slice]:
    for first in range(start, size, longest):
        yield slice(first, min(first + longest, size))


def to_numbers(cast: Affine, codes: Codes, policy: FloatPolicy) -> Codes | None:
    """Return the numbers that codes of integers represent, as codes of the format. Return None if NumPy cannot compute
    all steps. ``policy``: the policy of the arithmetic.
    """
    if not cast.native(policy):
        return None
    layout, real, integers, unused = _layout(cast, codes.shape), NATIVE[cast.fmt], cast.integers, cast.unused
    given, made, repeats = codes.reshape(layout), np.empty(layout, real), _repeats(layout)
    widths, splats = (cast.width, cast.fmt.bits, cast.fmt.bits), (False, repeats, repeats)
    loop = loop_for(_dequantizing(cast.fmt, cast.signed), widths, splats, codes.size)
    with np.errstate(all="ignore"):
        np.setbufsize(LONG)  # NumPy copies shorter rows
        for part, shape, scales, points in _blocks(cast, layout, loop is not None):
            out, some = made[part].reshape(shape), given[part].reshape(shape)
            if loop is not None:
                loop.run_rows([_aligned(some), scales, points], out, shape, (True, repeats, repeats))
                continue
            numbers = (some << unused).view(integers) >> unused if unused else some.view(integers)
            np.copyto(out, numbers, casting="unsafe")
            np.subtract(out, points[:, None] if repeats else points, out=out)
            np.multiply(out, scales[:, None] if repeats else scales, out=out)
    return made.reshape(codes.shape).view(cast.fmt.storage_dtype)


def to_integers(
    cast: Affine, codes: Codes, rounding: int, policy: FloatPolicy, conversions: FloatPolicy, exactly: Exactly
) -> ArrayResult | None:
    """Return the integers that represent numbers, as codes, with the mask of poison. Return None if NumPy cannot
    compute all steps. ``codes``: the numbers, as codes of the format.

    ``policy``, ``conversions``: the policies of the arithmetic and of the conversion to integers. ``exactly(numbers,
    scales, points)`` takes the steps one by one. It computes the blocks with a NaN. If the conversion does not
    saturate, it also computes the blocks with a number that has no integer.
    """
    if not cast.native(policy) or not rounds_natively(cast.fmt, rounding, conversions):
        return None
    layout, real, integers = _layout(cast, codes.shape), NATIVE[cast.fmt], cast.integers
    given, made, repeats = codes.reshape(layout), np.empty(layout, storage_dtype(cast.width)), _repeats(layout)
    saturates, round_ = conversions.float_to_int == "saturate", ROUNDERS[rounding]
    low, high = (-np.inf, np.inf) if saturates else cast.bounds
    mask = (1 << cast.width) - 1 if cast.unused else -1
    described = _quantizing(cast.fmt, rounding, policy, low, high, cast.least, cast.largest, cast.width)
    loop = described and loop_for(described, (cast.fmt.bits,) * 3, (False, repeats, repeats), codes.size)
    space = np.empty(min(codes.size, NATIVE_CHUNK // real.itemsize) if loop is None else 0, real)
    poison: Mask | None = None

    def special(x: Floats, scales: Floats, points: Floats, out: npt.NDArray[Any]) -> bool:
        """Fill ``out``, and tell whether a number has no integer."""
        numbers = space[: x.size].reshape(x.shape)
        np.divide(x, scales[:, None] if repeats else scales, out=numbers)
        np.add(numbers, points[:, None] if repeats else points, out=numbers)
        round_(numbers, out=numbers)
        # A NaN makes every comparison false.
        inside = np.maximum.reduce(numbers, axis=None) <= high
        inside = inside and (saturates or np.minimum.reduce(numbers, axis=None) >= low)
        np.clip(numbers, cast.least, cast.largest, out=numbers)
        np.copyto(out, numbers, casting="unsafe")
        if cast.unused:
            np.bitwise_and(out, mask, out=out)
        return not inside

    with np.errstate(all="ignore"):
        np.setbufsize(LONG)
        for part, shape, scales, points in _blocks(cast, layout, loop is not None):
            x, out = given[part].reshape(shape), made[part].reshape(shape)
            parameters = [(each[:, None] if repeats else each[None, :]).view(codes.dtype) for each in (scales, points)]
            if loop is not None:
                found_left = loop.run_rows([_aligned(x), scales, points], out, shape, (True, repeats, repeats))
                left = [(slice(row, row + 1), some) for row, some in found_left]
            else:
                whole = special(x.view(real), scales, points, out.view(integers))
                left = [(slice(None), slice(None))] if whole else []
            for here in left:
                of_here = [each[(here[0], slice(None)) if repeats else (slice(None), here[1])] for each in parameters]
                found = exactly(x[here], *of_here)
                out[here] = found.codes
                if found.poison is not None:
                    poison = np.zeros(layout, np.bool_) if poison is None else poison
                    poison[part].reshape(shape)[here] = found.poison
    return ArrayResult(made.reshape(codes.shape), None if poison is None else poison.reshape(codes.shape))


def _aligned(codes: Codes) -> Codes:
    return np.require(codes, requirements=["C", "A"])


# --- on words ---------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _dequantizing(fmt: FloatFormat, signed: bool) -> Implementation:
    """Return the description of the cast to numbers; its operands are an integer, its scale and its point."""
    return lambda a, scale, point: ((a.number(signed, fmt) - point.real(fmt)) * scale.real(fmt)).code()


@lru_cache(maxsize=64)
def _quantizing(
    fmt: FloatFormat, rounding: int, policy: FloatPolicy, low: float, high: float, least: int, largest: int, width: int
) -> Implementation | None:
    """Return the description of the cast to integers. It refuses a NaN, and what is not between ``low`` and
    ``high``.
    """
    to_integral = word_floats.to_integral(fmt, rounding, policy)
    if to_integral is None:
        return None

    def described(a: Word, scale: Word, point: Word) -> Word:
        number = a.real(fmt).computed("divide", scale.real(fmt)) + point.real(fmt)
        whole = to_integral(number.code()).real(fmt)
        if math.isfinite(high):
            (~(whole.of(low).at_most(whole) & whole.at_most(high))).refuse()
        whole = whole.less(largest).choose(whole, whole.of(largest))
        whole = whole.less(least).choose(whole.of(least), whole)
        code: Word = whole.integer(fmt.bits, signed=True).resized(width)
        return code

    return described
