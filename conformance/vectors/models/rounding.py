"""B3, B7, B8, B29: models of the bits that decide how a result is rounded."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from halfulp.conformance.vectors.intermediate import (
    ModelCase,
    pieces,
    smallest,
)
from halfulp.conformance.vectors.models.model import ROUNDED, SIGNS, Bucket, CoverageModel, Operands
from halfulp.conformance.vectors.models.results import float_target, nonzero_result, with_tail
from halfulp.conformance.vectors.philox import Dice
from halfulp.fp_formats.formats import FloatFormat


def _last_bits(case: ModelCase) -> tuple[int, ...]:
    """Return the possible last kept bits: only 1 if one bit is kept and no result lies below the smallest value."""
    target = case.target
    if isinstance(target, FloatFormat) and target.precision == 1 and case.extent[0] >= smallest(target):
        return (1,)
    return (0, 1)


def _rounding_buckets(case: ModelCase) -> Iterator[Bucket]:
    below = 2
    if case.kind == "from integer" or (case.kind == "convert" and case.extent[0] >= smallest(float_target(case))):
        below = case.extra
    if below < 1:
        return
    signs = (SIGNS[sign] for sign in case.signs)
    for bucket in product(signs, _last_bits(case), (0, 1), (0, 1) if below > 1 else (0,)):
        # A single kept bit is 0 only below the smallest value, where a bit below it must be set.
        if any(bucket[1:]) or not isinstance(case.target, FloatFormat) or case.target.precision > 1:
            yield bucket


def _rounding_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    result = nonzero_result(case, row)
    if result is not None:
        parts = pieces(case.target, result)
        yield SIGNS[result.sign], parts.kept & 1, parts.guard, parts.sticky


def _rounding_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    sign, last, guard, sticky = bucket
    bits = 1 + dice.below(max(case.extra, 2))
    tail = int(guard) << bits - 1
    if sticky:
        tail |= dice.bits(bits - 1) or 1 << max(bits - 2, 0)
    yield from with_tail(case, dice, SIGNS.index(str(sign)), int(last), tail, bits)


def _b7_buckets(case: ModelCase) -> Iterator[Bucket]:
    if case.extra > 1:
        yield from (("sticky", place) for place in range(case.extra))


def _b7_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    result = nonzero_result(case, row)
    if result is None or result.sign:
        return
    parts = pieces(case.target, result)
    if parts.guard or not parts.kept:
        return
    below = parts.below_guard
    # A quotient with a tail is mostly endless, so only its first bit is examined.
    if not below:
        yield "sticky", 0
    elif case.kind == "divide" or not below & below - 1:
        yield "sticky", parts.shift - below.bit_length()


def _b7_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    place = int(bucket[1])
    yield from with_tail(case, dice, 0, None, int(place > 0), 1 + place)


_SIDES = ("above 0", "below 1/2", "above 1/2", "below 1")


def _b8_depth(case: ModelCase) -> int:
    """Return the depth d for which results within 2**-d ulp of a boundary count as near: the three smallest tails of
    most ops.
    """
    return max(case.extra - 2, 1)


def _b8_buckets(case: ModelCase) -> Iterator[Bucket]:
    if case.extra > 2:
        yield from product((SIGNS[sign] for sign in case.signs), _last_bits(case), _SIDES)


def _b8_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    result = nonzero_result(case, row)
    if result is None:
        return
    parts = pieces(case.target, result)
    depth = _b8_depth(case) + 1  # of the part below the guard bit
    if parts.shift < 2:
        return
    half, sign = 1 << parts.shift - 1, SIGNS[result.sign]
    below = parts.below_guard
    if 0 < below << depth <= 2 * half:
        yield sign, parts.kept & 1, _SIDES[2 * parts.guard]
    if 0 < (half - below) << depth <= 2 * half and below:
        yield sign, parts.kept & 1, _SIDES[2 * parts.guard + 1]


def _b8_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    sign, last, side = bucket
    # A kept bit of 0 needs another bit before it, which may be taken from the tail.
    bits = max(case.extra - 1 + int(last), 2)
    step = 1 + dice.below(3)
    tail = (step, (1 << bits - 1) - step, (1 << bits - 1) + step, (1 << bits) - step)[_SIDES.index(str(side))]
    yield from with_tail(case, dice, SIGNS.index(str(sign)), int(last), max(tail, 0), bits)


B3 = CoverageModel(
    "B3",
    "every combination of sign, last kept bit, guard bit and sticky bit",
    ROUNDED,
    _rounding_buckets,
    _rounding_fits,
    _rounding_aim,
)


B7 = CoverageModel(
    "B7",
    "positive, guard bit 0, and one bit that makes sticky at each place, or none",
    ROUNDED,
    _b7_buckets,
    _b7_fits,
    _b7_aim,
)


B8 = CoverageModel(
    "B8",
    "just above and just below a value and a midpoint, with each last kept bit",
    ROUNDED,
    _b8_buckets,
    _b8_fits,
    _b8_aim,
)


B29 = CoverageModel(
    "B29",
    "every combination of sign, last kept bit, guard bit and sticky bit of a number rounded to an integer",
    ("to integer",),
    _rounding_buckets,
    _rounding_fits,
    _rounding_aim,
)
