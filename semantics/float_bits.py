"""Kernels of operations that look only at the bits of a float: its sign, and the class it belongs to.

They round nothing, raise no exception flags and depend on no profile. A signalling NaN counts as any other NaN, and
`absolute` and `copysign` keep its bits (IEEE 754-2019, 5.5.1 and 5.7.2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from halfulp.fp_formats.exact import comparisons
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import Codes, FloatFormat, Mask, NanEncoding, ints_to_codes
from halfulp.fp_formats.paths.domains import NATIVE
from halfulp.fp_formats.paths.words import Implementation, Word
from halfulp.fp_formats.scalar import Result
from halfulp.semantics.casts import sign_bit
from halfulp.semantics.floats import fastmath_rules, float_kernel, is_infinite, is_nan
from halfulp.semantics.kernel import Kernel, Outcome, Scalar, faults_of, same_kind


def _lone_nan(fmt: FloatFormat) -> int | None:
    """Return the NaN that has no sign, since its code is that of -0."""
    return fmt.nan_code if fmt.nan is NanEncoding.NEGATIVE_ZERO else None


@lru_cache(maxsize=1024)
def absolute(fmt: FloatFormat, fastmath: int = 0) -> Kernel:
    """Return the kernel that clears the sign bit. The NaN of formats whose NaN is the code of -0 stays."""
    mask = (1 << fmt.bits) - 1 - (fmt.sign_mask or 0)
    stays = _lone_nan(fmt)
    (cleared,) = ints_to_codes([mask], fmt.bits, (1,))

    def array(a: Codes) -> ArrayResult:
        found = a & cleared
        return ArrayResult(found if stays is None else np.where(a == stays, a, found))

    def one(a: int) -> Result:
        return Result(a if a == stays else a & mask)

    kernel = float_kernel(one, array, (fmt,), fmt, fastmath, open_nan=False, real=same_kind("absolute", fmt, 1))

    def words(a: Word) -> Word:
        return a & mask if stays is None else a.equals(stays).choose(a, a & mask)

    return _described(kernel, fmt, words)


def _described(kernel: Kernel, fmt: FloatFormat, words: Implementation) -> Kernel:
    """Add the description on machine words, where it fits and no operand is poison."""
    return kernel if kernel.faults or fmt.limbs > 1 else replace(kernel, words=words)


@lru_cache(maxsize=1024)
def copysign(fmt: FloatFormat, fastmath: int = 0) -> Kernel:
    """Return the kernel that gives the first operand the sign of the second, NaNs and zeros included.

    In formats whose NaN is the code of -0, that NaN stays as it is and counts as positive, and zero stays zero.
    """
    sign = fmt.sign_mask or 0
    stays = _lone_nan(fmt)
    (cleared,), (signs,) = (ints_to_codes([mask], fmt.bits, (1,)) for mask in ((1 << fmt.bits) - 1 - sign, sign))

    def one(a: int, b: int) -> Result:
        if not sign or (stays is not None and a in (0, stays)):
            return Result(a)
        return Result(a & ~sign | (0 if b == stays else b & sign))

    def array(a: Codes, b: Codes) -> ArrayResult:
        found = a & cleared | b & signs
        if stays is None:
            return ArrayResult(found)
        positive = np.where(b == stays, a & cleared, found)
        return ArrayResult(np.where((a == stays) | (a == 0), a, positive))

    real = same_kind("copysign", fmt, 2)
    kernel = float_kernel(one, array, (fmt, fmt), fmt, fastmath, open_nan=False, real=real)
    return _described(kernel, fmt, lambda a, b: a & ~sign | b & sign) if stays is None else kernel


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
    "isnormal": (FloatFormat.is_normal, comparisons.is_normal),
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
def classify(name: str, fmt: FloatFormat, fastmath: int = 0) -> Kernel:
    """Return the kernel of "isnan", "isinf", "isfinite", "isnormal" or "signbit", with i1 codes as the result."""
    one, many = _CLASSES[name]
    rules = fastmath_rules(fastmath, fmt)

    def scalar_implementation(a: int) -> Scalar:
        return next((fault for fault, test, _ in rules if getattr(fmt, test)(a)), int(one(fmt, a)))

    def array_implementation(a: Codes) -> Outcome:
        faults = faults_of((fault, test(fmt, a)) for fault, _, test in rules)
        return Outcome((many(fmt, a).astype(np.uint8),), faults)

    kernel = Kernel(scalar_implementation, array_implementation, faults=tuple(fault for fault, _, _ in rules))
    return _described(kernel, fmt, _class_words(name, fmt)) if fmt in NATIVE else kernel


def _class_words(name: str, fmt: FloatFormat) -> Implementation:
    """Return the description of a class in f32 or f64. All NaNs are beyond infinity."""
    infinity, normal = fmt.infinity_code or 0, 1 << fmt.mantissa_bits
    of_magnitude: dict[str, Callable[[Word], Word]] = {
        "isnan": lambda m: ~m.at_most(infinity, signed=False),
        "isinf": lambda m: m.equals(infinity),
        "isfinite": lambda m: m.less(infinity, signed=False),
        "isnormal": lambda m: m.less(infinity, signed=False) & ~m.less(normal, signed=False),
    }
    if name == "signbit":
        return lambda a: (a & (fmt.sign_mask or 0)).differs(0)
    return lambda a: of_magnitude[name](a & fmt.magnitude_mask)
