"""The next value above and below each code of an array, and the ulp at each number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Codes
from halfulp.fp_formats.exact.core import (
    ArrayResult,
    Packed,
    RoundingOptions,
    classify,
    is_wide,
    lift,
    like,
    magnitude_of,
    run,
    sign_of,
)
from halfulp.fp_formats.exact.encoding import (
    constant,
    encode_infinity,
    encode_magnitude,
    filled,
    marked,
    nans_into,
)
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.limbs import Limbs, equal, narrow, nonzero, shift_left, shift_right, where
from halfulp.fp_formats.policy import SPEC
from halfulp.fp_formats.scalar import RNE


def next_codes(fmt: FloatFormat, a: Codes, down: bool = False) -> ArrayResult:
    """Do `steps.next_code` on arrays of codes."""

    def kernel(options: RoundingOptions, chunk: Codes) -> Packed:
        codes = lift(fmt, chunk, is_wide(options, fmt))
        kinds = classify(fmt, codes)
        rank = magnitude_of(fmt, codes)
        if fmt.explicit_integer_bit:
            field = narrow(shift_right(rank, fmt.precision))
            rank = shift_left(like(rank, field), fmt.mantissa_bits) | codes & fmt.fraction_mask
        sign = sign_of(fmt, codes)
        # Zero of either sign takes the sign of the step.
        sign = np.where(nonzero(rank), sign, np.uint64(down and fmt.signed))
        outward = (sign != 0) == down
        stays = kinds.infinite & outward
        moved = where(outward & ~stays, rank + constant(rank, 1), rank)
        moved = where(outward, moved, rank - constant(rank, 1))
        packed = Packed(_signed(fmt, sign, moved), None)
        beyond = outward & ~stays & (moved > fmt.max_magnitude)
        packed = Packed(where(beyond, encode_infinity(fmt, sign, moved, "max"), packed.codes), None)
        if down and not fmt.signed:
            # Below the smallest value, whose rank is 0.
            last = filled(moved, 0 if fmt.nan_code is None else fmt.nan_code)
            packed = Packed(where(equal(rank, 0), last, packed.codes), None)
        return nans_into(packed, np.arange(len(chunk)), fmt, options, kinds)

    return run(kernel, RoundingOptions(RNE, SPEC, False), fmt.bits, (a, fmt.bits))


def _signed(fmt: FloatFormat, sign: np.ndarray[tuple[int, ...], np.dtype[np.uint64]], magnitude: Limbs) -> Limbs:
    """Return the codes of magnitudes with these signs; zero is +0 if the format has no -0."""
    if fmt.zero and not fmt.has_negative_zero:
        sign = sign & nonzero(magnitude).astype(np.uint64)
    return encode_magnitude(fmt, magnitude) | marked(fmt, sign, magnitude, 0)


def ulp_exponents(fmt: FloatFormat, floats: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return `steps.ulp_exponent` of f64 numbers for a format within f64; NaN and infinities give any number."""
    fields = floats.view(np.int64) >> 52
    fields &= 0x7FF
    # Fields of f64's subnormal numbers are 0, and below every format's smallest exponent or equal to it.
    np.clip(fields, fmt.emin + 1023, fmt.emax + 1023, out=fields)
    fields -= 1023 + fmt.mantissa_bits
    if not fmt.signed:
        fields[floats < 0] = fmt.emin - fmt.mantissa_bits
    return fields
