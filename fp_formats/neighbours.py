"""The values of a format around a number, their distance and their midpoint; errors in ulp, and summaries of errors."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import comparisons
from halfulp.fp_formats.exact.encoding import ulp_exponents
from halfulp.fp_formats.formats import FORMATS, LIMB_BITS, Codes, FloatFormat, Mask, codes_to_ints, ints_to_codes
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.paths.fast_conversions import convert
from halfulp.fp_formats.policy import SPEC
from halfulp.fp_formats.scalar import Result

# --- steps ------------------------------------------------------------------------------------------------------------
#
# The finite values of a format in their order: ranks, the next value up or down, and the ulp.
#
# The *rank* of a value counts from zero, or from the smallest value if the format has no zero: -3, 0, 17. Neighbouring
# values have neighbouring ranks, and both zeros have rank 0. `next_code` is the specification of `exact.steps`.


def rank_of(fmt: FloatFormat, code: int) -> int | None:
    """Return the rank of a code, or None for NaN. The zeros have rank 0, and each step to the next larger value adds 1.
    An infinity is one step beyond the largest value.
    """
    return None if scalar.unpack(fmt, code).kind >= scalar.QUIET_NAN else position_of(fmt, code)


def position_of(fmt: FloatFormat, code: int) -> int:
    """Return the rank of a code (see `rank_of`); for a NaN, the rank that its bits would have as a number."""
    magnitude = code & (fmt.code_mask >> fmt.signed)
    if fmt.explicit_integer_bit:
        field, significand = divmod(magnitude, 1 << fmt.precision)
        magnitude = (field << fmt.mantissa_bits) + (significand & ~(bool(field) << fmt.mantissa_bits))
    return -magnitude if fmt.sign_mask and code & fmt.sign_mask else magnitude


def code_at(fmt: FloatFormat, rank: int) -> int:
    """Return the code of the value with this rank."""
    return scalar.with_sign(fmt, int(rank < 0), fmt.from_magnitude(abs(rank)))


def lowest_rank(fmt: FloatFormat) -> int:
    """Return the rank of the smallest finite value; that of the largest is ``fmt.max_magnitude``."""
    return -fmt.max_magnitude if fmt.signed else 0


def next_code(fmt: FloatFormat, a: int, down: bool = False) -> Result:
    """Return the code of the next value above, or below if ``down``: nextUp and nextDown of IEEE 754-2019, 5.3.1.

    The step below the smallest positive value gives +0, and the step above the smallest negative value -0, or +0 if the
    format has no -0. A step away from zero does not change an infinity. The step beyond the last value gives infinity;
    in a format without infinities, it gives NaN with the sign of the step; in a format with neither, it gives the last
    value itself, as in LLVM's APFloat. The step below the smallest value of an unsigned format gives NaN, or, in a
    format without NaN, that value itself. A NaN gives itself, quieted.
    """
    rank = rank_of(fmt, a)
    if rank is None:
        return scalar.first_nan(fmt, scalar.unpack(fmt, a), scalar.unpack(fmt, a), SPEC)
    if fmt.is_infinite(a) and (rank < 0) == down:
        return Result(a)
    moved = rank - 1 if down else rank + 1
    if moved < 0 and not fmt.signed:
        return Result(fmt.nan_code if fmt.nan_code is not None else a)
    if abs(moved) > fmt.max_magnitude:
        return scalar.encode_infinity(fmt, int(down), 0, "max")
    if moved == 0 and fmt.zero:
        return scalar.encode_zero(fmt, int(not down), SPEC)
    return Result(code_at(fmt, moved))


def floor_exponent(number: Fraction) -> int:
    """Return the exponent of the largest power of two that is not above the magnitude of a number other than 0."""
    numerator, denominator = abs(number.numerator), number.denominator
    exponent = numerator.bit_length() - denominator.bit_length()
    return exponent - (numerator << max(-exponent, 0) < denominator << max(exponent, 0))


def ulp_exponent(fmt: FloatFormat, number: Fraction) -> int:
    """Return the exponent of the ulp of a format at a number; an ulp is a power of two.

    An ulp is the distance between the two values around the number. At a value it is the distance to the next value
    away from zero; at a power of two this is the larger of the two distances. Among the subnormal values and at zero it
    is the smallest subnormal value; at and beyond an end of the format it is the last distance. For a number below zero
    in an unsigned format, it is the smallest distance.
    """
    exponent = fmt.emin
    if number > 0 or (number and fmt.signed):
        exponent = min(max(floor_exponent(number), fmt.emin), fmt.emax)
    return exponent - fmt.mantissa_bits


def ulp_at(fmt: FloatFormat, number: Fraction) -> Fraction:
    """Return an ulp of a format at a number: see `ulp_exponent`."""
    return Fraction(2) ** ulp_exponent(fmt, number)


# --- neighbours -------------------------------------------------------------------------------------------------------


class Neighbours(NamedTuple):
    """The nearest finite values of a format strictly below and strictly above a number, as codes. ``exact``: the number
    itself is a value of the format.
    """

    below: int | None
    above: int | None
    exact: bool


def _floor(fmt: FloatFormat, number: Fraction) -> tuple[int, bool]:
    """Return the magnitude of the largest value that is not above a positive number, for a format without a largest
    exponent, and whether it equals the number. Return -1 below the smallest value of a format without zero.
    """
    numerator, denominator = number.numerator, number.denominator
    exponent = floor_exponent(number)
    if exponent < fmt.emin and not fmt.zero:
        return -1, False
    exponent = max(exponent, fmt.emin)
    unit = exponent - fmt.mantissa_bits
    kept, rest = divmod(numerator << max(-unit, 0), denominator << max(unit, 0))
    # As in scalar.round_pack: the integer bit of a normal value moves into the exponent field by itself.
    magnitude = (exponent - fmt.emin << fmt.mantissa_bits) + kept
    return magnitude if fmt.zero else magnitude - (1 << fmt.mantissa_bits), not rest


def neighbours(fmt: FloatFormat, number: Fraction | None) -> Neighbours:
    """Return the nearest values of a format strictly below and strictly above a number; for the number None (a NaN or
    an infinity) there are none.
    """
    if number is None:
        return Neighbours(None, None, False)
    lowest, highest = -fmt.max_magnitude if fmt.signed else 0, fmt.max_magnitude
    floor, exact = _floor(fmt, abs(number)) if number else (0 if fmt.zero else -1, fmt.zero)
    inner, outer = floor - exact, floor + 1
    below, above = (-outer, -inner) if number < 0 else (inner, outer)
    if not fmt.signed and number < 0:
        below, above, exact = -1, 0, False
    return Neighbours(
        code_at(fmt, min(below, highest)) if below >= lowest else None,
        code_at(fmt, max(above, lowest)) if above <= highest else None,
        exact and lowest <= (floor if number >= 0 else -floor) <= highest,
    )


def midpoint_of(fmt: FloatFormat, place: Neighbours, ulp: Fraction) -> Fraction | None:
    """Return the midpoint of the two neighbours of a number. Beyond the largest value, return the midpoint between this
    value and the value that would follow it. None for a number below zero in an unsigned format. ``ulp``: the distance
    of the neighbours.
    """
    if place.below is None and not fmt.signed:
        return None
    inner = place.below if place.below is not None else place.above
    assert inner is not None
    value = scalar.value(fmt, inner)
    assert value is not None
    return value + ulp / 2 if place.below is not None else value - ulp / 2


# --- ulps -------------------------------------------------------------------------------------------------------------
#
# Distances in ulp and their summaries: from one code to another, from a code to a real number, over many results.
#
# Two codes are a number of steps apart: the values of the format from one to the other (`steps_between`,
# `steps_apart`). A code and a real number are a number of ulps apart: of the ulp of the format at the exact number, in
# all of halfulp.
#
# Exact numbers come in three forms: f64 or fractions (`errors_of`), codes of a wider format (`errors_of_codes`), and
# sums of two f64 (`FloatSums`).

Floats = npt.NDArray[np.float64]
Reals = npt.NDArray[Any]
"""Exact numbers: an array of f64, or an object array of Fractions in which NaN and infinities are floats."""
F64, F128 = FORMATS["f64"], FORMATS["f128"]
Element = tuple[int, ...]
Place = TypeVar("Place")


# --- steps from one code to another -----------------------------------------------------------------------------------

_FARTHEST = 2.0**52
"""A distance of this size or above counts as this: below, f64 is exact."""


def ranks(fmt: FloatFormat, codes: Codes) -> Any:
    """Return the ranks of codes along one axis (see `rank_of`) as int64 or Python integers; the rank of a NaN has no
    meaning.
    """
    if fmt.bits > LIMB_BITS:
        found = np.empty(len(codes), object)
        found[:] = [position_of(fmt, code) for code in codes_to_ints(codes, fmt.bits)]
        return found
    wide = codes.astype(np.uint64)
    magnitudes = (wide & np.uint64(fmt.code_mask >> fmt.signed)).astype(np.int64)
    return np.where(wide & np.uint64(fmt.sign_mask or 0) != 0, -magnitudes, magnitudes)


def steps_between(fmt: FloatFormat, one: Codes, other: Codes) -> Floats:
    """Return the number of steps from each code of ``one`` to that of ``other``, two arrays of one axis: NaN if a code
    is a NaN, 0 between two zeros or two equal codes, at most 2**52.
    """
    first, second = ranks(fmt, one), ranks(fmt, other)
    if first.dtype == object:
        steps = np.array([min(abs(a - b), 1 << 52) for a, b in zip(first, second, strict=True)], np.float64)
    else:
        # Codes of two signs may be farther apart than an int64 holds.
        far = np.abs(first.astype(np.float64) - second.astype(np.float64)) >= _FARTHEST
        steps = np.where(far, _FARTHEST, np.abs(first - second).astype(np.float64))
    return np.where(comparisons.is_nan(fmt, one) | comparisons.is_nan(fmt, other), np.nan, steps)


def integer_steps_between(width: int, one: Codes, other: Codes) -> Floats:
    """Return the number of steps from each integer of ``one`` to that of ``other``, two arrays of codes of at most 64
    bits. The range of the integers counts as a circle, of which the shorter way is taken.
    """
    mask = one.dtype.type((1 << width) - 1)
    return np.array(np.minimum((one - other) & mask, (other - one) & mask), np.float64)


def steps_apart(kind: FloatFormat | int, one: int, other: int) -> int | None:
    """Return the number of steps between two codes of a format, None for a NaN. If ``kind`` is a width, return the
    number of steps between two integers of that width, on the shorter way around the circle of their range.
    """
    if isinstance(kind, int):
        distance = abs(one - other)
        return min(distance, (1 << kind) - distance)
    first, second = rank_of(kind, one), rank_of(kind, other)
    return None if first is None or second is None else abs(first - second)


# --- the ulp at f64 numbers -------------------------------------------------------------------------------------------


def within_f64(fmt: FloatFormat) -> bool:
    """Tell whether every value of a format is a value of f64, and each binade is a binade of normal values of f64."""
    return fmt.emin >= F64.emin and fmt.emax <= F64.emax and fmt.mantissa_bits <= F64.mantissa_bits


def two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the rounded sum a + b and its rounding error (Knuth's algorithm). The two results add up to the exact sum,
    unless it overflows.
    """
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def ulps_of_floats(
    fmt: FloatFormat, numbers: Floats, errors: Floats | float = 0.0, radii: Floats | float = 0.0
) -> Floats:
    """Return the ulp of a format at each exact number: see `ulp_exponent`. An exact number is the sum of two f64, known
    up to a radius. At an infinity and a NaN the ulp is infinite.
    """
    with np.errstate(all="ignore"):
        exact, rest = two_sum(np.asarray(numbers, np.float64), np.asarray(errors, np.float64))
    bits = exact.view(np.uint64)
    # A sum that is known to be just below a power of two may be rounded up to it.
    bits = bits - ((rest < -radii) & (exact > 0) | (rest > radii) & (exact < 0))
    power = (bits & np.uint64(0x7FF << 52)).view(np.float64)
    clipped = np.where(np.isinf(power), power, np.clip(power, 2.0**fmt.emin, 2.0 ** min(fmt.emax, 1023)))
    if not fmt.signed:
        clipped = np.where(exact < 0, 2.0**fmt.emin, clipped)
    found: Floats = np.asarray(clipped * 2.0**-fmt.mantissa_bits)
    return found


def ulp_of_float(fmt: FloatFormat, number: float, error: float = 0.0, radius: float = 0.0) -> float:
    """Return the ulp at one exact number as `ulps_of_floats` does; at an infinity and a NaN, the smallest ulp."""
    exact = number + error
    exponent = fmt.emin
    if exact and math.isfinite(exact) and (exact > 0 or fmt.signed):
        fraction, exponent = math.frexp(exact)
        rest = math.fsum((number, error, -exact)) if abs(fraction) == 0.5 else 0.0
        below = abs(rest) > radius and (rest < 0) == (exact > 0)
        exponent = min(max(exponent - 1 - below, fmt.emin), fmt.emax)
    return 2.0 ** max(exponent - fmt.mantissa_bits, -1074)


def ranking_sizes(fmt: FloatFormat, sizes: Floats, errors: Floats, exact: Floats, radii: Floats | float) -> Floats:
    """Return the numbers by which errors are ranked, from their sizes in ulp.

    In the ulp of 0, every error is large. Therefore, if an exact number may be 0, or is less than 2**-52 of the largest
    exact number, its error is measured in ulp of the largest; if all are 0, in ulp of the error. ``errors``: exact
    minus computed numbers; ``radii``: bounds of the errors of the exact numbers.
    """
    magnitudes = np.abs(exact)
    largest = float(np.max(magnitudes, initial=0.0, where=np.isfinite(magnitudes)))
    zeros = magnitudes <= np.maximum(radii, largest * 2.0**-52)
    if not zeros.any():
        return sizes
    with np.errstate(all="ignore"):
        return np.where(zeros, np.abs(errors) / ulps_of_floats(fmt, np.where(largest, largest, errors)), sizes)


# --- errors against f64 numbers and fractions -------------------------------------------------------------------------


class Scaled(NamedTuple):
    """Numbers ``floats * 2**exponent``, to be squared without overflow."""

    floats: Floats
    exponent: int = 0


class Errors(NamedTuple):
    """Errors of elements, result minus exact number: absolute, in ulp of the exact number, relative; and both operands
    of the SQNR. Elements without an error have NaN or infinity.
    """

    absolute: Floats
    ulp: Floats
    relative: Floats
    noise: Scaled
    signal: Scaled

    def at(self, kept: npt.NDArray[np.intp]) -> Errors:
        """Return the errors of the elements that an index or a mask selects."""
        noise, signal = (Scaled(floats[kept], exponent) for floats, exponent in (self.noise, self.signal))
        return Errors(self.absolute[kept], self.ulp[kept], self.relative[kept], noise, signal)


def errors_of(fmt: FloatFormat, exact: Reals, result: Reals) -> Errors:
    """Return the errors of ``result``, numbers of the format, against the numbers ``exact``, along one axis.

    If both are f64, the error of an element is one subtraction of f64, which is correctly rounded. The ulp is a power
    of two, so the error in ulp is correctly rounded too. All other numbers are subtracted as fractions, and the
    differences are rounded to f64 once.
    """
    if exact.dtype == result.dtype == np.float64 and within_f64(fmt):
        return _errors_of_floats(fmt, exact, result)
    return _errors_of_fractions(fmt, exact, result)


def _errors_of_floats(fmt: FloatFormat, exact: Floats, result: Floats) -> Errors:
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
    return Errors(absolute, ulp, relative, Scaled(absolute), Scaled(exact))


def _errors_of_fractions(fmt: FloatFormat, exact: Reals, result: Reals) -> Errors:
    found = np.full((3, exact.size), np.nan)
    differences, operands = [Fraction(0)] * exact.size, [Fraction(0)] * exact.size
    for place, (number, rounded) in enumerate(zip(exact.tolist(), result.tolist(), strict=True)):
        if all(isinstance(each, Fraction) or math.isfinite(each) for each in (number, rounded)):
            wanted = operands[place] = Fraction(number)
            differences[place] = error = Fraction(rounded) - wanted
            relative = error / abs(wanted) if wanted else error and math.copysign(math.inf, error)
            found[:, place] = [to_f64(error), to_f64(error / ulp_at(fmt, wanted)), to_f64(relative)]
    return Errors(found[0], found[1], found[2], _to_scaled(differences), _to_scaled(operands))


def to_f64(number: Fraction | float) -> float:
    """Round a fraction to f64; beyond the largest f64 to infinity."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _to_scaled(numbers: list[Fraction]) -> Scaled:
    top = max(map(abs, numbers), default=Fraction(0))
    exponent = floor_exponent(top) if top else 0
    factor = Fraction(2) ** -exponent
    return Scaled(np.array([float(number * factor) for number in numbers]), exponent)


# --- errors against codes of a wider format ---------------------------------------------------------------------------

_FRACTION = F128.mantissa_bits - 64  # bits of the fraction in the upper limb


def signs(fmt: FloatFormat, codes: Codes) -> Mask:
    """Return the mask of codes with a sign bit that is set."""
    if not fmt.sign_mask:
        return np.zeros(codes.shape[: codes.ndim - (fmt.limbs > 1)], np.bool_)
    top = codes[..., -1] if fmt.limbs > 1 else codes
    found: Mask = (top >> top.dtype.type((fmt.bits - 1) % 64)) != 0
    return found


def errors_of_codes(fmt: FloatFormat, wide: FloatFormat, exact: Codes, results: Codes) -> Floats:
    """Return the errors in ulp of results of ``fmt`` against codes of ``wide``, with their signs: result minus exact.

    Each is right to 2**-28 ulp. For results and exact numbers that are not finite, the error has no meaning.
    """
    widened = convert(fmt, wide, results).codes
    if wide == F64:
        numbers = exact.view(np.float64)
        with np.errstate(all="ignore"):
            found: Floats = np.ldexp(widened.view(np.float64) - numbers, -ulp_exponents(fmt, numbers))
            return found
    differences = fast.subtract(F128, widened, exact).codes
    exponents = np.clip(_exponents(exact), fmt.emin, fmt.emax) - fmt.mantissa_bits
    return _times_powers(differences, -exponents)


def beyond_largest(fmt: FloatFormat, wide: FloatFormat, exact: Codes) -> Mask:
    """Return a mask of the exact numbers that are too large for ``fmt``: their magnitude is at least that of the value
    that would follow its largest value. ``exact``: codes of the format ``wide``.
    """
    if wide == F64:
        following = float(fmt.max_value) + 2.0 ** (fmt.emax - fmt.mantissa_bits)
        found: Mask = np.abs(exact.view(np.float64)) >= following
        return found
    return _exponents(exact) > fmt.emax


def errors_of_infinities(fmt: FloatFormat, wide: FloatFormat, exact: Codes) -> Floats:
    """Return the errors of infinite results in ulp, as if each result were the value that would follow the largest
    value of ``fmt``. ``exact``: the exact results, as codes of the format ``wide``.
    """
    negative = signs(wide, exact)
    ends = ints_to_codes([fmt.max_code, fmt.max_code | (fmt.sign_mask or 0)], fmt.bits, (2,))
    largest = ends[negative.astype(np.intp)]
    # The next value is one ulp farther than the largest one.
    return errors_of_codes(fmt, wide, exact, largest) + np.where(negative, -1.0, 1.0)


def _exponents(codes: Codes) -> npt.NDArray[np.int64]:
    """Return the exponents of the leading bits of f128 codes, at least that of its smallest normal value."""
    fields = (codes[..., -1] >> np.uint64(_FRACTION)).astype(np.int64) & ((1 << F128.exponent_bits) - 1)
    return np.asarray(np.maximum(fields, 1) - F128.bias)


def _times_powers(codes: Codes, exponents: npt.NDArray[np.int64]) -> Floats:
    """Return the numbers of f128 codes times 2**exponents, as f64."""
    low, high = codes[..., 0], codes[..., 1]
    normal = (high << np.uint64(1)) >> np.uint64(_FRACTION + 1) != 0
    upper = (high & np.uint64((1 << _FRACTION) - 1)) | (normal.astype(np.uint64) << np.uint64(_FRACTION))
    significands = np.ldexp(upper.astype(np.float64), 64) + low.astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        found = np.ldexp(significands, _exponents(codes) - F128.mantissa_bits + exponents)
    return np.asarray(np.where(signs(F128, codes), -found, found))


# --- distances from sums of two f64 -----------------------------------------------------------------------------------


class FloatSums(NamedTuple):
    """Exact numbers, each the sum of two f64, known up to a radius. The first f64 is NaN if nothing is known about a
    number.
    """

    high: Floats
    low: Floats
    radius: Floats | float = 0.0

    def ulps(self, fmt: FloatFormat) -> Floats:
        """Return the ulp of a format at each exact number: the unit of the distances."""
        return ulps_of_floats(fmt, self.high, self.low, self.radius)

    def errors(self, numbers: Floats) -> Floats:
        """Return the errors of numbers against the exact numbers: infinite for a number that is not finite, NaN if
        nothing is known.
        """
        with np.errstate(all="ignore"):
            found = np.abs((numbers - self.high) - self.low)
        return np.where(np.isnan(self.high), np.nan, np.where(np.isfinite(numbers), found, math.inf))

    def distances(self, fmt: FloatFormat, numbers: Floats) -> Floats:
        """Return the errors of numbers (see `errors`) in ulp of the exact numbers."""
        with np.errstate(all="ignore"):
            return np.asarray(self.errors(numbers) / self.ulps(fmt))


# --- summaries --------------------------------------------------------------------------------------------------------


def place_of_largest(sizes: Floats) -> Element:
    """Return the indices of the largest size, one index for each axis, counted from 0. If several sizes are equal,
    return those of the first. NaN does not count.
    """
    at = int(np.argmax(np.where(np.isnan(sizes), -1.0, sizes)))
    return tuple(map(int, np.unravel_index(at, sizes.shape)))


@dataclass(slots=True)
class Worst(Generic[Place]):
    """The largest of some sizes, such as errors in ulp."""

    #: the largest size so far; only a size above it is taken
    size: float = 0.0
    #: where that size is, in a form that the caller chooses; None if nothing was taken
    place: Place | None = None

    def take(self, sizes: Floats) -> int | None:
        """Replace ``size`` by the largest element of an array if that is larger; NaN does not count. Return the index
        of this element in the flattened array, for which the caller then sets ``place``; None if ``size`` was not
        replaced.
        """
        if not sizes.size:
            return None
        at = int(sizes.argmax())
        size = float(sizes.flat[at])
        if math.isnan(size):  # argmax takes NaN for the largest
            at = int(np.argmax(np.where(np.isnan(sizes), -np.inf, sizes)))
            size = float(sizes.flat[at])
        if not size > self.size:
            return None
        self.size = size
        return at


@dataclass(slots=True)
class Summary(Generic[Place]):
    """A summary of the magnitudes of errors, to which they are added in parts."""

    #: the number of the errors
    count: int = 0
    #: the sum of the errors: exact if it starts as a fraction; if it starts as a float, parts are added in f64 in their
    #: order
    total: Fraction | float = Fraction(0)
    #: the largest error
    worst: Worst[Place] = field(default_factory=lambda: Worst(-1.0))

    def add(self, sizes: Floats) -> int | None:
        """Add the sizes of some errors to the summary. If one is larger than all before it, return its index in the
        flattened array, else None (see `Worst.take`).
        """
        self.count += sizes.size
        top = float(sizes.max(initial=-1))
        if isinstance(self.total, float) or math.isinf(top):
            self.total += float(sizes.sum())
        else:
            power = 64 if top > 2.0**900 else 0  # so that the sum of a part does not overflow
            total = float(np.ldexp(sizes, -power).sum() if power else sizes.sum())
            self.total += Fraction(total) * (1 << power)
        return None if top <= self.worst.size else self.worst.take(sizes)

    def join(self, other: Summary[Place]) -> None:
        """Add the errors of another summary, for example that of another shard."""
        self.count += other.count
        self.total += other.total
        if other.worst.size > self.worst.size:
            self.worst = other.worst

    @property
    def largest(self) -> float:
        """The largest magnitude; NaN without an error."""
        return self.worst.size if self.count else math.nan

    @property
    def mean(self) -> float:
        """The mean magnitude; NaN without an error, infinite if an error is infinite or the mean is beyond the largest
        f64.
        """
        return to_f64(self.total / self.count) if self.count else math.nan


@dataclass(slots=True)
class Energy:
    """The sum of the squares of numbers that are added in parts; it is exact. It is negative if a number is
    infinite.
    """

    total: Fraction = Fraction(0)

    def add(self, numbers: Scaled) -> None:
        """Add the squares of some numbers."""
        floats, exponent = numbers
        top = float(np.abs(floats).max(initial=0))
        if not math.isfinite(top):
            self.total = Fraction(-1)
        if self.total < 0:
            return
        if top and not 2.0**-480 < top < 2.0**480:
            power = math.frexp(top)[1]
            floats, exponent = np.ldexp(floats, -power), exponent + power
        # Not np.dot: its threads cost more than they gain on a part.
        self.total += Fraction(float(np.square(floats).sum())) * Fraction(4) ** exponent

    def log10(self) -> float:
        """Return the decimal logarithm of the sum: infinite if one number is infinite, negative infinity for 0."""
        if self.total < 0:
            return math.inf
        if not self.total:
            return -math.inf
        power = floor_exponent(self.total)
        return math.log10(self.total / Fraction(2) ** power) + power * math.log10(2)


def decibels(signal: Energy, noise: Energy) -> float:
    """Return the ratio of two sums of squares in dB; NaN for 0 to 0."""
    if not signal.total and not noise.total:
        return math.nan
    return 10 * (signal.log10() - noise.log10())


def sqnr_of(exact: Floats, errors: Floats) -> float:
    """Return the ratio of the squares of exact numbers to those of errors in dB: infinite without an error, negative
    infinity if an error is infinite.
    """
    if not np.isfinite(errors).all():
        return -math.inf
    signal, noise = Energy(), Energy()
    signal.add(Scaled(exact))
    noise.add(Scaled(errors))
    return decibels(signal, noise) if noise.total else math.inf
