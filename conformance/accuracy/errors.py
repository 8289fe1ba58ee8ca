"""The distance of results from the exact real results, in ulp.

An ulp is that of `halfulp.fp_formats.steps.ulp_exponent` at the exact result: the distance of the two values of the
format around it (Goldberg's and Muller's definition), the smallest subnormal value among subnormal values, and the last
distance in the format beyond the largest value. A correctly rounded result has an error of at most half an ulp.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Codes, Mask, ints_to_codes
from halfulp.fp_formats.exact import comparisons
from halfulp.fp_formats.exact.steps import ulp_exponents
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.paths.fast_conversions import convert

Floats = npt.NDArray[np.float64]
F64, F128 = FORMATS["f64"], FORMATS["f128"]
_FRACTION = F128.mantissa_bits - 64  # bits of the fraction in the upper limb


class Kinds:
    """What codes of a format stand for, as masks: ``nan``, ``infinite``, ``number``, ``zero``, ``negative``."""

    def __init__(self, fmt: FloatFormat, codes: Codes) -> None:
        self.nan: Mask = comparisons.is_nan(fmt, codes)
        self.infinite: Mask = comparisons.is_infinite(fmt, codes)
        self.zero: Mask = comparisons.is_zero(fmt, codes)
        self.number: Mask = ~(self.nan | self.infinite)
        self.negative: Mask = signs(fmt, codes)


def signs(fmt: FloatFormat, codes: Codes) -> Mask:
    """Return the mask of codes with a sign bit that is set."""
    if not fmt.sign_mask:
        return np.zeros(codes.shape[: codes.ndim - (fmt.limbs > 1)], np.bool_)
    top = codes[..., -1] if fmt.limbs > 1 else codes
    found: Mask = (top >> top.dtype.type((fmt.bits - 1) % 64)) != 0
    return found


def errors_in_ulp(fmt: FloatFormat, wide: FloatFormat, exact: Codes, results: Codes) -> Floats:
    """Return the errors of results of ``fmt`` against codes of ``wide``, with their signs: result minus exact.

    Each is right to 2**-28 ulp. Results and exact numbers that are not finite give any number.
    """
    widened = convert(fmt, wide, results).codes
    if wide == F64:
        numbers = exact.view(np.float64)
        with np.errstate(all="ignore"):
            found: Floats = np.ldexp(widened.view(np.float64) - numbers, -ulp_exponents(fmt, numbers))
            return found
    differences = fast.subtract(F128, widened, exact).codes
    exponents = np.clip(_exponents(exact), fmt.emin, fmt.emax) - fmt.mantissa_bits
    return _scaled(differences, exponents)


def beyond_largest(fmt: FloatFormat, wide: FloatFormat, exact: Codes) -> Mask:
    """Return the mask of exact numbers whose magnitude is at least that of the value that would follow the largest."""
    if wide == F64:
        found: Mask = np.abs(exact.view(np.float64)) >= _following(fmt)
        return found
    return _exponents(exact) > fmt.emax


def following_errors(fmt: FloatFormat, wide: FloatFormat, exact: Codes) -> Floats:
    """Return the errors of an infinity that stands for the value that would follow the largest one."""
    negative = signs(wide, exact)
    ends = ints_to_codes([fmt.max_code, fmt.max_code | (fmt.sign_mask or 0)], fmt.bits, (2,))
    largest = ends[negative.astype(np.intp)]
    # The next value is one ulp farther than the largest one.
    return errors_in_ulp(fmt, wide, exact, largest) + np.where(negative, -1.0, 1.0)


def _following(fmt: FloatFormat) -> float:
    return float(fmt.max_value) + 2.0 ** (fmt.emax - fmt.mantissa_bits)


def _exponents(codes: Codes) -> npt.NDArray[np.int64]:
    """Return the exponents of the leading bits of f128 codes, at least that of its smallest normal value."""
    fields = (codes[..., -1] >> np.uint64(_FRACTION)).astype(np.int64) & ((1 << F128.exponent_bits) - 1)
    return np.asarray(np.maximum(fields, 1) - F128.bias)


def _scaled(codes: Codes, exponents: npt.NDArray[np.int64]) -> Floats:
    """Return the numbers of f128 codes times 2**-exponents, as f64."""
    low, high = codes[..., 0], codes[..., 1]
    normal = (high << np.uint64(1)) >> np.uint64(_FRACTION + 1) != 0
    upper = (high & np.uint64((1 << _FRACTION) - 1)) | (normal.astype(np.uint64) << np.uint64(_FRACTION))
    significands = np.ldexp(upper.astype(np.float64), 64) + low.astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        found = np.ldexp(significands, _exponents(codes) - F128.mantissa_bits - exponents)
    return np.asarray(np.where(signs(F128, codes), -found, found))
