"""Comparisons, and tests for NaN, infinity and zero."""

from __future__ import annotations

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import Codes, Mask, element_shape
from halfulp.fp_formats.exact.core import (
    ArrayResult,
    Classified,
    Packed,
    RoundingOptions,
    classify,
    flattened,
    less_and_equal,
    lift,
    nans_of,
    operands,
    run,
    unpack,
)
from halfulp.fp_formats.exact.encoding import signalling_flags
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.limbs import Limbs, nonzero, shift_right
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.scalar import RNE


def compare(
    fmt: FloatFormat, predicate: int, a: Codes, b: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False
) -> ArrayResult:
    """Do `scalar.compare` on arrays: code 1 where the predicate holds, else 0. Only signalling NaNs raise invalid."""
    holds = scalar.PREDICATES[predicate]

    def kernel(options: RoundingOptions, *chunks: Codes) -> Packed:
        x, y = operands(fmt, options, *chunks)
        less, same = less_and_equal(fmt, x, y)
        relation = np.where(less, scalar.LESS, np.where(same, scalar.EQUAL, scalar.GREATER))
        for codes in (x, y):
            nan = nans_of(fmt, codes)
            if nan is not None and nan.any():
                relation = np.where(nan, scalar.UNORDERED, relation)
        flags = signalling_flags(options, classify(fmt, x), classify(fmt, y)) if want_flags else None
        return Packed(((relation & holds) != 0).astype(np.uint64), flags)

    return run(kernel, RoundingOptions(RNE, policy, want_flags), 1, (a, fmt.bits), (b, fmt.bits))


# Classes of codes.


def is_nan(fmt: FloatFormat, codes: Codes) -> Mask:
    """Return a mask of the NaNs, invalid x87 operands included, in the element shape."""
    return _classes(fmt, codes).nan.reshape(element_shape(codes, fmt.bits))


def is_infinite(fmt: FloatFormat, codes: Codes) -> Mask:
    """Return a mask of the infinities of either sign."""
    return _classes(fmt, codes).infinite.reshape(element_shape(codes, fmt.bits))


def is_zero(fmt: FloatFormat, codes: Codes) -> Mask:
    """Return a mask of the zeros of either sign."""
    return _classes(fmt, codes).zero.reshape(element_shape(codes, fmt.bits))


def is_normal(fmt: FloatFormat, codes: Codes) -> Mask:
    """Return a mask of the finite values that are neither zero nor subnormal."""
    lifted = _lifted(fmt, codes)
    _, significand, _ = unpack(fmt, lifted)
    x = classify(fmt, lifted)
    found: Mask = nonzero(shift_right(significand, fmt.mantissa_bits)) & ~(x.nan | x.infinite)
    return found.reshape(element_shape(codes, fmt.bits))


def _classes(fmt: FloatFormat, codes: Codes) -> Classified:
    return classify(fmt, _lifted(fmt, codes))


def _lifted(fmt: FloatFormat, codes: Codes) -> Limbs:
    return lift(fmt, flattened(codes, fmt.bits, element_shape(codes, fmt.bits)), fmt.limbs == 2)
