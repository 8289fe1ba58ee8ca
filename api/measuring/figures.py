"""Errors of results against exact numbers: for each element, and summed up chunk by chunk.

If both are numbers of f64, the error of an element is one subtraction of f64, which is correctly rounded. The ulp is a
power of two, so the error in ulp is correctly rounded too. All other numbers are subtracted as fractions, and the
differences are rounded to f64 once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact.steps import ulp_exponents
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.steps import floor_exponent, ulp_at
from halfulp.measuring.reals import Reals, within_f64

CHUNK = 1 << 14  # elements: the temporaries of one chunk stay in the second-level cache
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


# --- the errors of elements -------------------------------------------------------------------------------------------


class Scaled(NamedTuple):
    """Numbers ``floats * 2**exponent``, to be squared without overflow."""

    floats: Floats
    exponent: int = 0


class Columns(NamedTuple):
    """Errors of elements, result minus exact number: absolute, in ulp of the exact number, relative; and both operands
    of the SQNR. Elements without an error have NaN or infinity.
    """

    absolute: Floats
    ulp: Floats
    relative: Floats
    noise: Scaled
    signal: Scaled

    def at(self, kept: npt.NDArray[np.intp]) -> Columns:
        """Return some of the elements."""
        noise, signal = (Scaled(floats[kept], exponent) for floats, exponent in (self.noise, self.signal))
        return Columns(self.absolute[kept], self.ulp[kept], self.relative[kept], noise, signal)


def columns(fmt: FloatFormat, exact: Reals, result: Reals) -> Columns:
    """Return the errors of a chunk of results of a format."""
    if exact.dtype == result.dtype == np.float64 and within_f64(fmt):
        return _of_floats(fmt, exact, result)
    return _of_fractions(fmt, exact, result)


def _of_floats(fmt: FloatFormat, exact: Floats, result: Floats) -> Columns:
    with np.errstate(all="ignore"):
        absolute = result - exact
        exponents = ulp_exponents(fmt, exact)
        if fmt.mantissa_bits - fmt.emin <= 1022 and fmt.emax - fmt.mantissa_bits <= 1022:
            np.subtract(1023, exponents, out=exponents)
            exponents <<= 52
            ulp = absolute * exponents.view(np.float64)
        else:
            ulp = np.ldexp(absolute, -exponents)
        relative = absolute / np.abs(exact)
    zeros = exact == 0
    if zeros.any():
        relative[zeros & (absolute == 0)] = 0
    return Columns(absolute, ulp, relative, Scaled(absolute), Scaled(exact))


def _of_fractions(fmt: FloatFormat, exact: Reals, result: Reals) -> Columns:
    found = np.full((3, exact.size), np.nan)
    differences, operands = [Fraction(0)] * exact.size, [Fraction(0)] * exact.size
    for place, (number, rounded) in enumerate(zip(exact.tolist(), result.tolist(), strict=True)):
        if _finite(number) and _finite(rounded):
            wanted = operands[place] = Fraction(number)
            differences[place] = error = Fraction(rounded) - wanted
            relative = error / abs(wanted) if wanted else error and math.copysign(math.inf, error)
            found[:, place] = [_float(error), _float(error / ulp_at(fmt, wanted)), _float(relative)]
    return Columns(found[0], found[1], found[2], _scaled(differences), _scaled(operands))


def _finite(number: Fraction | float) -> bool:
    return isinstance(number, Fraction) or math.isfinite(number)


def _float(number: Fraction | float) -> float:
    """Round a fraction to f64; beyond the largest f64 to infinity."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _scaled(numbers: list[Fraction]) -> Scaled:
    top = max(map(abs, numbers), default=Fraction(0))
    exponent = floor_exponent(top) if top else 0
    factor = Fraction(2) ** -exponent
    return Scaled(np.array([float(number * factor) for number in numbers]), exponent)


# --- beyond the largest value -----------------------------------------------------------------------------------------


class Bound(NamedTuple):
    """Where overflow begins: at ``number``, or just beyond it if not ``reached``."""

    number: Fraction
    reached: bool

    def passed_by(self, magnitudes: Reals) -> Mask:
        """Return the mask of magnitudes that overflow."""
        number: Any = self.number if magnitudes.dtype == object else _float(self.number)
        passed: Mask = np.asarray(magnitudes >= number if self.reached else magnitudes > number, np.bool_)
        return passed


def overflow_bounds(fmt: FloatFormat, mode: Rounding) -> tuple[Bound, Bound]:
    """Return from which magnitude on positive and negative numbers overflow: rounding with an exponent without limits
    gives more than the largest value. Stochastic rounding overflows surely from the next value on.
    """
    largest = scalar.unpack(fmt, fmt.max_code)
    top = largest.significand * Fraction(2) ** largest.exponent
    step = ulp_at(fmt, top)
    if mode is Rounding.TO_NEAREST_EVEN or mode is Rounding.TO_NEAREST_AWAY:
        odd = bool(largest.significand & 1)
        nearest = Bound(top + step / 2, odd or mode is Rounding.TO_NEAREST_AWAY)
        return nearest, nearest
    if mode is Rounding.TO_ODD:
        inexact = Bound(top + step, True) if fmt.max_magnitude & 1 else Bound(top, False)
        return inexact, inexact
    away, toward = Bound(top, False), Bound(top + step, True)
    return (away if mode is Rounding.UPWARD else toward, away if mode is Rounding.DOWNWARD else toward)


# --- summed up --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figures:
    """The errors of an array, summed up over its measured elements: those that are finite before and after.

    Every other element is counted in one of ``overflowed``, ``not_numbers``, ``nan``, ``infinite`` and ``poison``.
    Without a measured element the errors are NaN. An error beyond the largest f64 is infinite, and so is each mean that
    it is part of.

    ``elements``: their count. ``measured``: the count of those that have an error.
    ``sqnr``: the signal to quantisation noise ratio in dB: 10 * log10(sum of squares of the exact numbers / sum of
    squares of the errors); infinity without errors.
    ``max_ulp``, ``mean_ulp``, ``rms_ulp``: the magnitude of the errors in ulp of the exact numbers (see `halfulp.ulp`).
    ``max_absolute``, ``mean_absolute``, ``max_relative``, ``mean_relative``: of the absolute and relative errors.
    ``worst``: the index of the first element with the largest error in ulp, in the flattened array; None without one.
    ``exact``: elements without an error. ``saturated``: results that are the largest value in place of an overflow.
    ``flushed``: results that are zero for another number. ``subnormal``: subnormal results.
    ``overflowed``: finite numbers beyond the largest value that became infinity or NaN. ``not_numbers``: other finite
    numbers that became infinity or NaN. ``nan``, ``infinite``: exact numbers that are NaN or infinite, whatever they
    became. ``poison``: poison on either side.
    """

    elements: int
    measured: int
    sqnr: float
    max_ulp: float
    mean_ulp: float
    rms_ulp: float
    max_absolute: float
    mean_absolute: float
    max_relative: float
    mean_relative: float
    worst: int | None
    exact: int
    saturated: int
    flushed: int
    subnormal: int
    overflowed: int
    not_numbers: int
    nan: int
    infinite: int
    poison: int


@dataclass
class _Energy:
    """A sum of squares, exact over chunks."""

    total: Fraction = Fraction(0)

    def add(self, numbers: Scaled) -> None:
        floats, exponent = numbers
        top = float(np.abs(floats).max(initial=0))
        if not math.isfinite(top):
            self.total = Fraction(-1)
        if self.total < 0:
            return
        if top and not 2.0**-480 < top < 2.0**480:
            power = math.frexp(top)[1]
            floats, exponent = np.ldexp(floats, -power), exponent + power
        # Not np.dot: its threads cost more than they gain on a chunk.
        self.total += Fraction(float(np.square(floats).sum())) * Fraction(4) ** exponent

    def log10(self) -> float:
        if self.total < 0:
            return math.inf
        if not self.total:
            return -math.inf
        power = floor_exponent(self.total)
        return math.log10(self.total / Fraction(2) ** power) + power * math.log10(2)


@dataclass
class _Sum:
    """The largest and the sum of magnitudes, exact over chunks."""

    top: float = -1.0
    total: Fraction = Fraction(0)
    infinite: bool = False

    def add(self, magnitudes: Floats) -> None:
        top = float(magnitudes.max(initial=-1))
        self.top = max(self.top, top)
        if math.isinf(top):
            self.infinite = True
            return
        power = 64 if top > 2.0**900 else 0  # so that the sum of a chunk does not overflow
        sum_ = float(np.ldexp(magnitudes, -power).sum() if power else magnitudes.sum())
        self.total += Fraction(sum_) * (1 << power)

    def mean(self, count: int) -> float:
        if not count:
            return math.nan
        return math.inf if self.infinite else _float(self.total / count)

    def largest(self) -> float:
        return self.top if self.top >= 0 else math.nan


class Chunk(NamedTuple):
    """Some elements: exact numbers, results, and a mask of poison or None."""

    exact: Reals
    result: Reals
    poison: Mask | None


def summed_up(fmt: FloatFormat, mode: Rounding, size: int, chunk_of: Callable[[slice], Chunk]) -> Figures:
    """Sum up the errors of an array of ``size`` elements of a format, which ``chunk_of`` gives part by part.

    Sums are in f64 within a chunk, with a relative error below 1e-11, and exact over the chunks.
    """
    bounds = overflow_bounds(fmt, mode)
    counts = dict.fromkeys(
        ("exact", "saturated", "flushed", "subnormal", "overflowed", "not_numbers", "nan", "infinite", "poison"), 0
    )
    absolute, relative, ulps = _Sum(), _Sum(), _Sum()
    noise, signal, squares = _Energy(), _Energy(), _Energy()
    measured, worst, most = 0, None, -1.0
    with np.errstate(all="ignore"):
        for start in range(0, size, CHUNK):
            chunk = chunk_of(slice(start, start + CHUNK))
            found = columns(fmt, chunk.exact, chunk.result)
            magnitudes = np.abs(found.ulp)
            kept: npt.NDArray[np.intp] | None = None
            if chunk.poison is not None or not math.isfinite(float(magnitudes.sum())):
                kept = _count_unmeasured(chunk, bounds, counts)
                found = found.at(kept)
                magnitudes, chunk = magnitudes[kept], Chunk(chunk.exact[kept], chunk.result[kept], None)
            measured += len(magnitudes)
            if not len(magnitudes):
                continue
            # Not by the errors: those of fractions may be too small for f64.
            counts["exact"] += int(np.count_nonzero(chunk.exact == chunk.result))
            _count_results(fmt, chunk, bounds, counts)
            place = int(magnitudes.argmax())
            if magnitudes[place] > most:
                most, worst = float(magnitudes[place]), start + (place if kept is None else int(kept[place]))
            ulps.add(magnitudes)
            absolute.add(np.abs(found.absolute))
            relative.add(np.abs(found.relative))
            squares.add(Scaled(magnitudes))
            noise.add(found.noise)
            signal.add(found.signal)
    return Figures(
        elements=size,
        measured=measured,
        sqnr=_decibels(signal, noise),
        max_ulp=ulps.largest(),
        mean_ulp=ulps.mean(measured),
        rms_ulp=10 ** ((squares.log10() - math.log10(measured)) / 2) if measured else math.nan,
        max_absolute=absolute.largest(),
        mean_absolute=absolute.mean(measured),
        max_relative=relative.largest(),
        mean_relative=relative.mean(measured),
        worst=worst,
        **counts,
    )


def _decibels(signal: _Energy, noise: _Energy) -> float:
    if not signal.total and not noise.total:
        return math.nan
    return 10 * (signal.log10() - noise.log10())


def _count_unmeasured(chunk: Chunk, bounds: tuple[Bound, Bound], counts: dict[str, int]) -> npt.NDArray[np.intp]:
    """Count the elements of a chunk that have no error; return the indices of the others."""
    exact, result = _as_floats(chunk.exact), _as_floats(chunk.result)
    poison = np.zeros(exact.shape, np.bool_) if chunk.poison is None else chunk.poison
    nan, infinite = np.isnan(exact) & ~poison, np.isinf(exact) & ~poison
    finite = np.isfinite(exact) & ~poison
    lost = finite & ~np.isfinite(result)
    if lost.any():
        beyond = int(_overflows(chunk.exact[lost], bounds).sum())
        counts["overflowed"] += beyond
        counts["not_numbers"] += int(lost.sum()) - beyond
    for name, mask in (("poison", poison), ("nan", nan), ("infinite", infinite)):
        counts[name] += int(np.count_nonzero(mask))
    return np.flatnonzero(finite & ~lost)


def _as_floats(reals: Reals) -> Floats:
    """Return floats as they are, and 0 for each Fraction: enough to tell NaN and infinities."""
    if reals.dtype == np.float64:
        return reals
    return np.array([number if isinstance(number, float) else 0.0 for number in reals.tolist()], np.float64)


def _overflows(exact: Reals, bounds: tuple[Bound, Bound]) -> Mask:
    positive, negative = bounds
    return positive.passed_by(exact) | negative.passed_by(-exact)


def _count_results(fmt: FloatFormat, chunk: Chunk, bounds: tuple[Bound, Bound], counts: dict[str, int]) -> None:
    """Count the saturated, flushed and subnormal results of measured elements."""
    magnitudes: Any = np.abs(chunk.result)
    plain = magnitudes.dtype == np.float64
    top, least = (abs(_value(fmt, code)) for code in (fmt.max_code, fmt.min_normal_code))
    at_top = np.asarray(magnitudes == (float(top) if plain else top), np.bool_)
    if at_top.any():
        counts["saturated"] += int(_overflows(chunk.exact[at_top], bounds).sum())
    if fmt.zero:
        small = np.flatnonzero(magnitudes < (float(least) if plain else least))
        if small.size:
            zero = magnitudes[small] == 0
            counts["subnormal"] += int(small.size - np.count_nonzero(zero))
            counts["flushed"] += int(np.count_nonzero(zero & (chunk.exact[small] != 0)))


def _value(fmt: FloatFormat, code: int) -> Fraction:
    value = scalar.value(fmt, code)
    assert value is not None
    return value
