"""Ops on quantised numbers as StableHLO defines them: dequantise, compute in the expressed format, quantise.

Source: the specification of StableHLO, "Quantization computations". `halfulp.semantics.quant` has the same two casts as
the quant dialect defines them. They differ in three points: the zero point is subtracted before the integer is
converted; the bounds of the storage type are rounded to the expressed format; and a NaN becomes 0.

StableHLO's interpreter computes some ops on the stored integers instead, with one scale that is merged from those of
the types (`StablehloLegalizeQuantToMath.cpp`): the functions whose names begin with ``stored``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask, codes_to_ints, storage_dtype
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.paths.words import Word
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics.integer_kernels import Reading, wrap
from halfulp.semantics.kernel import Computes, Fault, Kernel, Outcome, Scalar
from halfulp.semantics.profile import SPEC, Profile
from halfulp.semantics.quant import Quantization, dcast, qcast

RNE = Rounding.TO_NEAREST_EVEN
Numbers = npt.NDArray[np.int64]

# --- casts ------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def dequantize(q: Quantization, profile: Profile) -> Kernel:
    """Return the kernel from codes of the storage type to codes of the expressed format: the difference of the stored
    integer and the zero point, converted, times the scale. The difference is exact, or has 32 bits in a profile that
    computes on stored integers.
    """
    if _subtracts_exactly(q):
        return dcast(q, _of_casts(profile))
    fmt, narrow = q.expressed, profile.quantized_ops == "stored"
    points = np.array(q.zero_points, np.int64)
    scales, _ = q.parameters(profile)

    def array(stored: Codes) -> Outcome:
        difference = _numbers(q, stored) - q.spread(points, stored.shape)
        codes = (_cut(difference) if narrow else difference).view(np.uint64)
        number = fast.from_integer(fmt, codes, 64, True, RNE, profile.conversions)
        return Outcome(
            (fast.multiply(fmt, number.codes, q.spread(scales, stored.shape), RNE, profile.arithmetic).codes,)
        )

    return Kernel(_by_array(array, fmt.bits, q.storage_width), array, real=Computes("convert", (q.real(),), fmt))


@lru_cache(maxsize=64)
def _of_casts(profile: Profile) -> Profile:
    """Return a profile with the fields that StableHLO decides for the casts of the quant dialect."""
    return replace(
        profile, name="", qcast_rounding="to_nearest_even", qcast_out_of_range="saturate", zero_point="exact"
    )


def _subtracts_exactly(q: Quantization) -> bool:
    """Tell whether the expressed format has the zero points, and all differences from them."""
    stored = _stored(q)
    ends = {end - point for end in (stored.low, stored.high) for point in (0, *q.zero_points)}
    bits = max(abs(end) for end in ends).bit_length()
    return bits <= q.expressed.precision and all(_value_of(q.expressed, end) == end for end in ends)


def _value_of(fmt: FloatFormat, number: int) -> Fraction | None:
    """Return an integer as a format has it; None if it is too large."""
    return scalar.value(fmt, scalar.from_integer(fmt, number).code)


@lru_cache(maxsize=256)
def quantize(q: Quantization, profile: Profile) -> Kernel:
    """Return the kernel from codes of the expressed format to codes of the storage type.

    It computes x / scale + zero point, and clamps this to the bounds of the storage type, which are rounded to the
    expressed format. Then it rounds to nearest even and converts to an integer. A NaN gives 0, even if the bounds
    exclude 0.
    """
    fmt = q.expressed
    least, most = (_bound(q, number) for number in (q.storage_min, q.storage_max))
    bounded = replace(q, storage_min=least, storage_max=most)
    cast = replace(qcast(bounded, _of_casts(profile)), real=Computes("convert", (fmt,), q.real()))
    if fmt.nan_code is None:
        return cast

    def scalar_(x: int) -> Scalar:
        found = cast.scalar(x)
        return 0 if isinstance(found, Fault) else found

    def array(x: Codes) -> Outcome:
        found = cast.array(x)
        (codes,) = found.results
        for _, mask in found.faults:
            codes = np.where(mask, codes.dtype.type(0), codes)
        return Outcome((codes,))

    return replace(cast, scalar=scalar_, array=array, faults=())


def _bound(q: Quantization, number: int) -> int:
    """Return a bound of the storage type as the expressed format has it, as an integer that the storage type has."""
    found, stored = _value_of(q.expressed, number), _stored(q)
    if found is None:
        return stored.low if number < 0 else stored.high
    return min(max(round(found), stored.low), stored.high)


def through(op: Kernel, before: Sequence[Kernel | None], after: Kernel | None) -> Kernel:
    """Return the kernel of an op on stored integers: casts of its operands, the op, and a cast of its result.
    ``before``: the kernels of the casts of the operands; ``after``: that of the result; None for an operand or result
    without a cast.
    """
    faults = [
        *(fault for cast in before if cast for fault in cast.faults),
        *op.faults,
        *(after.faults if after else ()),
    ]

    def scalar_(*codes: int) -> Scalar:
        given = []
        for code, cast in zip(codes, before, strict=True):
            found = code if cast is None else cast.scalar(code)
            if not isinstance(found, int):
                return found
            given.append(found)
        made = op.scalar(*given)
        return after.scalar(made) if after and isinstance(made, int) else made

    def array(*codes: Codes) -> Outcome:
        found: list[tuple[Fault, Mask]] = []

        def applied(kernel: Kernel, *given: Codes) -> Codes:
            outcome = kernel.array(*given)
            found.extend(outcome.faults)
            return outcome.results[0]

        given = [code if cast is None else applied(cast, code) for code, cast in zip(codes, before, strict=True)]
        made = applied(op, *given)
        return Outcome((applied(after, made) if after else made,), tuple(found))

    described = [cast is None or cast.words is not None for cast in (*before, op, after)]

    def words(*codes: Word) -> Any:
        given = [
            code if cast is None or cast.words is None else cast.words(code)
            for code, cast in zip(codes, before, strict=True)
        ]
        assert op.words is not None
        made: Word = op.words(*given)
        return made if after is None or after.words is None else after.words(made)

    return Kernel(
        scalar_,
        array,
        faults=tuple(dict.fromkeys(faults)),
        words=words if all(described) else None,
        real=_meaning(op, before, after),
    )


def _meaning(op: Kernel, before: Sequence[Kernel | None], after: Kernel | None) -> Computes | None:
    """Return the meaning of an op between casts: its function of the numbers that integers stand for."""
    meaning = op.meaning()
    if not isinstance(meaning, Computes):
        return None
    operands = list(meaning.operands)
    for place, cast in enumerate(before):
        own = cast.meaning() if cast else None
        if isinstance(own, Computes):
            (operands[place],) = own.operands
    own = after.meaning() if after else None
    return replace(
        meaning, operands=tuple(operands), result=own.result if isinstance(own, Computes) else meaning.result
    )


# --- on stored integers -----------------------------------------------------------------------------------------------


def stored_requantize(source: Quantization, target: Quantization) -> Kernel:
    """Return the kernel of uniform_quantize of a number that is already quantised, as StableHLO's interpreter computes
    it: stored integer * merged scale + merged zero point, in f32.
    """
    clamped = target.storage_width < 32
    return _of_numbers(
        (source,),
        target,
        lambda a: _merged(source, target, target.storage_width, target.storage_signed, a, clamped),
    )


def stored_add(left: Quantization, right: Quantization, result: Quantization) -> Kernel:
    """Return the kernel of add as StableHLO's interpreter computes it: both operands are requantised to 32-bit integers
    with the scale of the result, and these integers are added.
    """

    def add(a: Codes, b: Codes) -> Numbers:
        one, other = (_merged(q, result, 32, True, codes, False) for q, codes in ((left, a), (right, b)))
        points = result.spread(np.array(result.zero_points, np.int64), one.shape)
        total = _cut(_cut(one + other) - points)
        return total if result.storage_width == 32 else np.clip(total, result.storage_min, result.storage_max)

    return _of_numbers((left, right), result, add)


def stored_extremum(q: Quantization, largest: bool) -> Kernel:
    """Return the kernel of maximum or minimum of the stored integers, as StableHLO's interpreter computes it if
    operands and result have one type.
    """
    choose = np.maximum if largest else np.minimum
    return _of_numbers((q, q), q, lambda a, b: choose(_numbers(q, a), _numbers(q, b)))


def stored_sum(left: Quantization, right: Quantization, result: Quantization) -> Kernel:
    """Return the kernel of the last step of dot_general or convolution, as StableHLO's interpreter computes it. Its
    operands are three 32-bit integers: the sum of the products of stored integers, and what the zero points of the two
    operands add to it.
    """
    fmt = FORMATS["f32"]
    scale = left.scales[0] * right.scales[0] / result.scales[0]
    factor = np.array(scalar.from_double(fmt, scale), fmt.storage_dtype)
    point = 0 if result.axis is not None else result.zero_points[0]

    def scaled(numbers: Numbers) -> Numbers:
        if not abs(scale - 1) > 0.001:
            return numbers
        given = fast.from_integer(fmt, numbers.view(np.uint64), 64, True, RNE).codes
        return _integers(fast.multiply(fmt, given, factor).codes, 32, True, Rounding.TOWARD_ZERO)

    def array(total: Codes, offset: Codes) -> Outcome:
        reading = Reading(32, True)
        one, other = (reading.values(codes).astype(np.int64) for codes in (total, offset))
        return Outcome((_codes(result, _cut(scaled(one) + _cut(point - scaled(other)))),))

    return Kernel(_by_array(array, result.storage_width, 32, 32), array)


def _merged(
    source: Quantization, target: Quantization, width: int, signed: bool, codes: Codes, clamped: bool
) -> Numbers:
    """Return stored integers of a type as those of another one, with ``width`` bits. ``clamped``: to its bounds."""
    numbers = _numbers(source, codes)
    if source == target:
        return numbers
    fmt = FORMATS["f32"]
    count = max(len(source.scales), len(target.scales))
    owner = target if target.axis is not None else source
    one, other = (
        (np.resize(np.array(q.scales, np.float64), count), np.resize(np.array(q.zero_points, np.int64), count))
        for q in (source, target)
    )
    with np.errstate(all="ignore"):
        scales = one[0] / other[0]
        points = other[1] - one[1] * scales

    def rounded(values: npt.NDArray[np.float64]) -> Codes:
        return owner.spread(fast.convert(FORMATS["f64"], fmt, values.view(np.uint64), RNE).codes, codes.shape)

    found = fast.from_integer(fmt, numbers.view(np.uint64), 64, True, RNE).codes
    found = fast.multiply(fmt, found, rounded(scales)).codes
    if points.any():
        found = fast.add(fmt, found, rounded(points)).codes
    made = _integers(found, width, signed, RNE)
    return np.clip(made, target.storage_min, target.storage_max) if clamped else made


_SATURATES = replace(SPEC.conversions, float_to_int="saturate")


def _integers(codes: Codes, width: int, signed: bool, rounding: Rounding) -> Numbers:
    """Return numbers of f32 as integers that saturate; 0 for a NaN."""
    found = fast.to_integer(FORMATS["f32"], codes, width, signed, rounding, _SATURATES)
    numbers = Reading(width, signed).values(found.codes).astype(np.int64)
    return numbers if found.poison is None else np.where(found.poison, 0, numbers)


def _of_numbers(given: Sequence[Quantization], made: Quantization, compute: Callable[..., Numbers]) -> Kernel:
    def array(*codes: Codes) -> Outcome:
        return Outcome((_codes(made, compute(*codes)),))

    return Kernel(_by_array(array, made.storage_width, *(q.storage_width for q in given)), array)


def _stored(q: Quantization) -> Reading:
    """Return the reading of codes of the storage type."""
    return Reading(q.storage_width, q.storage_signed)


def _numbers(q: Quantization, codes: Codes) -> Numbers:
    """Return stored integers as numbers."""
    return _stored(q).values(codes).astype(np.int64)


def _codes(q: Quantization, numbers: Numbers) -> Codes:
    """Return the codes of integers, cut to the storage type."""
    return wrap(q.storage_width, numbers.astype(np.uint64).astype(storage_dtype(q.storage_width)))


def _cut(numbers: Numbers) -> Numbers:
    """Return integers modulo 2**32, as signed ones."""
    return numbers.astype(np.int32).astype(np.int64)


def _by_array(array: Callable[..., Outcome], made: int, *widths: int) -> Callable[..., Scalar]:
    """Return the implementation for one element by that for arrays, which have at most 64 bits an element."""

    def scalar_(*codes: int) -> Scalar:
        given: list[Any] = [np.array(code, storage_dtype(width)) for code, width in zip(codes, widths, strict=True)]
        return codes_to_ints(array(*given).results[0], made)[0]

    return scalar_
