"""Exact sums of products, rounded once: integers in digits of 32 bits; a digit may hold more until it is carried."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import Codes, Mask
from halfulp.fp_formats.exact.core import RoundingOptions, sign_of
from halfulp.fp_formats.exact.encoding import round_pack
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.limbs import Wide
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.scalar import RNE
from halfulp.semantics.matrix_units.accumulator import Accumulator
from halfulp.semantics.matrix_units.aligned_sums import (
    ExactSum,
    Factors,
    Integers,
    Members,
    Numbers,
    SumTrace,
    Terms,
    aligned_sum,
    decode,
    decoded,
    packed,
    products_by,
    special_terms,
)
from halfulp.semantics.matrix_units.kinds import TileOp

DIGIT = np.int64((1 << 32) - 1)

Chunk = Callable[[Codes, Codes, Codes, tuple[Codes, ...], SumTrace | None], Codes]
"""The function of a model for a chunk of tiles: A [K, M, 1, tiles], B [K, 1, N, tiles], C [M, N, tiles], and scales."""


def exact_model(op: TileOp) -> tuple[Chunk, int]:
    """Return the model, and the count of digits that it keeps for each element."""
    fmt_a, fmt_b, fmt = (FORMATS[name] for name in (op.a, op.b, op.d))
    lowest, length = _places(op)

    def model(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: SumTrace | None) -> Codes:
        x, y, addend = decode(fmt_a, a), decode(fmt_b, b), decode(fmt, c)
        z = tuple(decode(FORMATS[op.scale], scale) for scale in scales)
        digits = _total(x, y, z, addend, lowest, length)
        if trace is not None:
            trace.append(_exact_sum(op, a, b, c, scales))
        codes = digits.rounded(fmt).reshape(c.shape)
        # An exact zero is negative only if all terms are negative zeros.
        minus = _negative(fmt_a, a) ^ _negative(fmt_b, b)
        for factor in scales:
            minus = minus ^ _negative(FORMATS[op.scale], factor)
        minus = minus.all(axis=0) & _negative(fmt, c)
        codes = np.where((codes == 0) & minus, fmt.sign_mask or 0, codes)
        specials = special_terms(x, y, addend, z)
        if specials is not None:
            codes = specials.into(fmt, codes, fmt.nan_code or 0)
        return codes.astype(fmt.storage_dtype)

    return model, length


def _places(op: TileOp) -> tuple[int, int]:
    """Return the place of the lowest bit of any term, and the count of digits for the sum of 2**32 of the largest."""
    fmt = FORMATS[op.d]
    formats = [FORMATS[op.a], FORMATS[op.b], *([FORMATS[op.scale]] * 2 if op.scale else [])]
    lowest = min(sum(each.emin - each.mantissa_bits for each in formats), fmt.emin - fmt.mantissa_bits)
    highest = max(sum(each.emax + 1 for each in formats), fmt.emax + 1) + 32
    return lowest, digits_between(lowest, highest)


def _total(x: Numbers, y: Numbers, z: tuple[Numbers, ...], addend: Numbers, lowest: int, length: int) -> Digits:
    """Add products times their scales, and the addend; specials count as anything."""
    digits = Digits(addend.significand.size, lowest, length)
    for p, p_place in pieces(x):
        for q, q_place in pieces(y):
            products, places = p * q, p_place + q_place
            for scale in z:
                products, places = products * scale.significand, places + scale.exponent - scale.fraction_bits
            for product, place in zip(products, np.broadcast_to(places, products.shape), strict=True):
                digits.add(product, place)
    for piece, place in pieces(addend):
        digits.add(piece, place)
    return digits


def exact_group(rule: Accumulator, op: TileOp, group: Factors, c: Codes, trace: SumTrace | None) -> Codes:
    """Add a group as a rule says that keeps all bits, and rounds nothing before the sum."""
    fmt = FORMATS[op.d]
    addend = decoded(rule, fmt, c)
    scales = group.scales
    if rule.dot > 1:
        scales = tuple(scale._replace(significand=np.abs(scale.significand)) for scale in scales)
    negative, significand, exponent = _total(group.a, group.b, scales, addend, *_places(op)).totals()
    sign = np.where((significand.hi | significand.lo) == 0, 0, np.where(negative, -1, 1)).reshape(c.shape)
    # The alignment of no bits gives the zeros and the special elements.
    terms = (products_by(rule, fmt, group), addend.at(np.newaxis))
    masks = aligned_sum([Terms(term, rule.cut, 0, None) for term in terms], 0)
    if masks.infinite is not None:
        sign = np.where(masks.infinite, np.sign(masks.significand), sign)
    codes = packed(rule, fmt, masks._replace(significand=sign), significand, exponent, rule.rounding)
    if trace is not None:
        members = Members(tuple(range(len(group.a.significand) // rule.dot)), True)
        trace.rounded(members, fmt, codes, last=True)
    return codes


def _negative(fmt: FloatFormat, codes: Codes) -> Mask:
    return np.asarray(sign_of(fmt, codes.astype(np.uint64)) != 0)


def pieces(x: Numbers) -> list[tuple[Integers, Integers]]:
    """Split significands into signed pieces of up to 31 bits, each with the place of its lowest bit."""
    place = x.exponent - x.fraction_bits
    if x.fraction_bits < 31:
        return [(x.significand, place)]
    sign = np.sign(x.significand)
    magnitude = np.abs(x.significand)
    return [(sign * (magnitude & ((1 << 27) - 1)), place), (sign * (magnitude >> 27), place + 27)]


def digits_between(lowest: int, highest: int) -> int:
    """Return the count of digits that `Digits` needs for sums between these places."""
    return (highest - lowest) // 32 + 4


class Digits:
    """Exact sums, one for each column, in units of 2**lowest."""

    def __init__(self, columns: int, lowest: int, length: int) -> None:
        self.lowest = lowest
        self.digits = np.zeros((length, columns), np.int64)

    def add(self, value: Integers, place: Integers) -> None:
        """Add one value below 2**62, times 2**place, to each column. There may be 2**30 calls."""
        value = value.reshape(-1)
        place = np.where(value == 0, 0, place.reshape(-1) - self.lowest)  # a zero's exponent may be any
        column = np.arange(value.size)
        digit, shift = place >> 5, place & 31
        magnitude, negative = np.abs(value), value < 0
        low, high = (magnitude & DIGIT) << shift, (magnitude >> 32) << shift
        for step, part in enumerate((low & DIGIT, (low >> 32) + (high & DIGIT), high >> 32)):
            self.digits[digit + step, column] += np.where(negative, -part, part)

    def merge(self, groups: int) -> None:
        """Add the sums of columns i, i + groups, i + 2 * groups and so on, for each of the first columns i."""
        self._carry()
        self.digits = self.digits.reshape(len(self.digits), -1, groups).sum(axis=1)

    def _carry(self) -> None:
        """Bring all digits but the last into their range."""
        for lower, upper in itertools.pairwise(self.digits):
            upper += lower >> 32
            lower &= DIGIT

    def rounded(self, fmt: FloatFormat, policy: FloatPolicy = SPEC) -> Codes:
        """Round each column to nearest even."""
        negative, significand, exponent = self.totals()
        how = RoundingOptions(RNE, policy, want_flags=False)
        packed = round_pack(fmt, negative.astype(np.uint64), significand, exponent, how)
        return np.asarray(packed.codes.lo if isinstance(packed.codes, Wide) else packed.codes)

    def totals(self) -> tuple[Mask, Wide, Integers]:
        """Return the signs of the columns, their three leading digits with a bit for anything below them, and the place
        of the lowest of these.
        """
        self._carry()
        digits = self.digits
        negative = digits[-1] < 0
        if negative.any():
            digits[:, negative] *= -1
            self._carry()
        column = np.arange(digits.shape[1])
        top = np.maximum(len(digits) - 1 - (digits[::-1] != 0).argmax(axis=0), 2)
        first, second, third = (digits[top - step, column].view(np.uint64) for step in range(3))
        below = np.concatenate([np.zeros((1, digits.shape[1]), np.bool_), np.logical_or.accumulate(digits != 0)])
        rest = below[top - 2, column]
        significand = Wide(first, second << np.uint64(32) | third) | rest.astype(np.uint64)
        return negative, significand, (top - 2) * 32 + self.lowest


def _exact_sum(op: TileOp, a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...]) -> ExactSum:
    def values(name: str, codes: Codes) -> list[Fraction]:
        return [scalar.value(FORMATS[name], int(code)) or Fraction(0) for code in codes.reshape(-1)]

    products = [x * y for x, y in zip(values(op.a, a), values(op.b, b), strict=True)]
    if scales:
        pairs = zip(*(values(op.scale, scale) for scale in scales), strict=True)
        products = [product * x * y for product, (x, y) in zip(products, pairs, strict=True)]
    terms = (*products, *values(op.d, c))
    return ExactSum(terms, sum(terms, Fraction(0)))
