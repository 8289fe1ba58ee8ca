"""Exact sums of products, rounded once: as integers in digits of 32 bits, of which each may hold more for a while."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from halfulp.fp_formats import exact, scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.limbs import Wide
from halfulp.fp_formats.policy import SPEC
from halfulp.fp_formats.scalar import RNE
from halfulp.semantics.kernel import Codes, Mask
from halfulp.semantics.matrix_units.aligned_sums import ExactSum, Integers, Numbers, Trace, decode, specials_of
from halfulp.semantics.matrix_units.kinds import TileOp

DIGIT = np.int64((1 << 32) - 1)

Chunk = Callable[[Codes, Codes, Codes, tuple[Codes, ...], Trace | None], Codes]
"""What a model does with a chunk of tiles: A [K, M, 1, tiles], B [K, 1, N, tiles], C [M, N, tiles], and scales."""


def exact_model(op: TileOp) -> tuple[Chunk, int]:
    """The model, and how many digits it keeps for each element."""
    fmt_a, fmt_b, fmt = (FORMATS[name] for name in (op.a, op.b, op.d))
    formats = [fmt_a, fmt_b, *([FORMATS[op.scale]] * 2 if op.scale else [])]
    # The places of the lowest bit of any term, and of a bit above the sum of 2**32 of the largest.
    lowest = min(sum(each.emin - each.mantissa_bits for each in formats), fmt.emin - fmt.mantissa_bits)
    highest = max(sum(each.emax + 1 for each in formats), fmt.emax + 1) + 32
    length = (highest - lowest) // 32 + 4

    def model(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: Trace | None) -> Codes:
        x, y, addend = decode(fmt_a, a), decode(fmt_b, b), decode(fmt, c)
        z = tuple(decode(FORMATS[op.scale], scale) for scale in scales)
        digits = np.zeros((length, c.size), np.int64)
        for p, p_place in _pieces(x):
            for q, q_place in _pieces(y):
                products, places = p * q, p_place + q_place
                for scale in z:
                    products, places = products * scale.significand, places + scale.exponent - scale.fraction_bits
                for product, place in zip(products, np.broadcast_to(places, products.shape), strict=True):
                    _add(digits, product, place - lowest)
        for piece, place in _pieces(addend):
            _add(digits, piece, place - lowest)
        if trace is not None:
            trace.append(_exact_sum(op, a, b, c, scales))
        codes = _rounded_digits(fmt, digits, lowest).reshape(c.shape)
        # Of exact zeros only the sum of negative ones is negative.
        minus = _negative(fmt_a, a) ^ _negative(fmt_b, b)
        for factor in scales:
            minus = minus ^ _negative(FORMATS[op.scale], factor)
        minus = minus.all(axis=0) & _negative(fmt, c)
        codes = np.where((codes == 0) & minus, fmt.sign_mask or 0, codes)
        specials = specials_of(x, y, addend, z)
        if specials is not None:
            codes = specials.into(fmt, codes, fmt.nan_code or 0)
        return codes.astype(fmt.storage_dtype)

    return model, length


def _negative(fmt: FloatFormat, codes: Codes) -> Mask:
    return np.asarray(exact.sign_of(fmt, codes.astype(np.uint64)) != 0)


def _pieces(x: Numbers) -> list[tuple[Integers, Integers]]:
    """Significands in signed pieces of up to 31 bits, each with the place of its lowest bit."""
    place = x.exponent - x.fraction_bits
    if x.fraction_bits < 31:
        return [(x.significand, place)]
    sign = np.sign(x.significand)
    magnitude = np.abs(x.significand)
    return [(sign * (magnitude & ((1 << 27) - 1)), place), (sign * (magnitude >> 27), place + 27)]


def _add(digits: Integers, value: Integers, place: Integers) -> None:
    """Add one value below 2**62, times 2**place, to each column."""
    value, place = value.reshape(-1), np.where(value == 0, 0, place).reshape(-1)  # a zero's exponent may be any
    column = np.arange(value.size)
    digit, shift = place >> 5, place & 31
    magnitude, negative = np.abs(value), value < 0
    low, high = (magnitude & DIGIT) << shift, (magnitude >> 32) << shift
    for step, part in enumerate((low & DIGIT, (low >> 32) + (high & DIGIT), high >> 32)):
        digits[digit + step, column] += np.where(negative, -part, part)


def _carried(digits: Integers) -> None:
    """Bring all digits but the last into their range."""
    for lower, upper in itertools.pairwise(digits):
        upper += lower >> 32
        lower &= DIGIT


def _rounded_digits(fmt: FloatFormat, digits: Integers, lowest: int) -> Codes:
    """Codes of each column, in units of 2**lowest: its three leading digits, and whether anything is below them."""
    _carried(digits)
    negative = digits[-1] < 0
    if negative.any():
        digits[:, negative] *= -1
        _carried(digits)
    column = np.arange(digits.shape[1])
    top = np.maximum(len(digits) - 1 - (digits[::-1] != 0).argmax(axis=0), 2)
    first, second, third = (digits[top - step, column].view(np.uint64) for step in range(3))
    below = np.concatenate([np.zeros((1, digits.shape[1]), np.bool_), np.logical_or.accumulate(digits != 0)])
    rest = below[top - 2, column]
    significand = Wide(first, second << np.uint64(32) | third) | rest.astype(np.uint64)
    exponent = (top - 2) * 32 + lowest
    how = exact.How(RNE, SPEC, want_flags=False)
    packed = exact.round_pack(fmt, negative.astype(np.uint64), significand, exponent, how)
    return np.asarray(packed.codes.lo if isinstance(packed.codes, Wide) else packed.codes)


def _exact_sum(op: TileOp, a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...]) -> ExactSum:
    def values(name: str, codes: Codes) -> list[Fraction]:
        return [scalar.value(FORMATS[name], int(code)) or Fraction(0) for code in codes.reshape(-1)]

    products = [x * y for x, y in zip(values(op.a, a), values(op.b, b), strict=True)]
    if scales:
        pairs = zip(*(values(op.scale, scale) for scale in scales), strict=True)
        products = [product * x * y for product, (x, y) in zip(products, pairs, strict=True)]
    terms = (*products, *values(op.d, c))
    return ExactSum(terms, sum(terms, Fraction(0)))
