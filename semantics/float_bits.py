"""Kernels of operations that look only at the bits of a float: its absolute value, and the class it belongs to.

They round nothing, raise no exception flags and depend on no profile. A signalling NaN counts as any other NaN, and
`absolute` keeps its bits (IEEE 754-2019, 5.5.1 and 5.7.2).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from halfulp.fp_formats.codes import Codes, Mask, ints_to_codes
from halfulp.fp_formats.formats import FloatFormat, NanEncoding
from halfulp.semantics.casts import sign_bit
from halfulp.semantics.floats import is_infinite, is_nan
from halfulp.semantics.kernel import Kernel, Outcome


@lru_cache(maxsize=1024)
def absolute(fmt: FloatFormat) -> Kernel:
    """Return the kernel that clears the sign bit. The NaN of formats whose NaN is the code of -0 stays."""
    if fmt.sign_mask is None:
        return Kernel(lambda a: a, lambda a: Outcome((a,)))
    mask = (1 << fmt.bits) - 1 - fmt.sign_mask
    stays = fmt.nan_code if fmt.nan is NanEncoding.NEGATIVE_ZERO else None
    (cleared,) = ints_to_codes([mask], fmt.bits, (1,))

    def array(a: Codes) -> Outcome:
        found = a & cleared
        return Outcome((found if stays is None else np.where(a == stays, a, found),))

    return Kernel(lambda a: a if a == stays else a & mask, array)


def has_sign(fmt: FloatFormat, codes: Codes) -> Mask:
    """Return a mask of the codes whose sign is negative, zeros and NaNs included. The NaN of the code of -0 has no
    sign.
    """
    if fmt.sign_mask is None:
        return np.zeros(is_nan(fmt, codes).shape, np.bool_)
    signs = sign_bit(codes, fmt.bits)
    return signs & ~is_nan(fmt, codes) if fmt.nan is NanEncoding.NEGATIVE_ZERO else signs


_CLASSES: dict[str, tuple[Callable[[FloatFormat, int], bool], Callable[[FloatFormat, Codes], Mask]]] = {
    "isnan": (FloatFormat.is_nan, is_nan),
    "isinf": (FloatFormat.is_infinite, is_infinite),
    "isfinite": (
        lambda fmt, a: not (fmt.is_nan(a) or fmt.is_infinite(a)),
        lambda fmt, a: ~(is_nan(fmt, a) | is_infinite(fmt, a)),
    ),
    "signbit": (
        lambda fmt, a: (
            fmt.sign_mask is not None
            and bool(a & fmt.sign_mask)
            and not (fmt.nan is NanEncoding.NEGATIVE_ZERO and a == fmt.nan_code)
        ),
        has_sign,
    ),
}


@lru_cache(maxsize=1024)
def classify(name: str, fmt: FloatFormat) -> Kernel:
    """Return the kernel of "isnan", "isinf", "isfinite" or "signbit", with i1 codes as the result."""
    one, many = _CLASSES[name]
    return Kernel(lambda a: int(one(fmt, a)), lambda a: Outcome((many(fmt, a).astype(np.uint8),)))
