"""Kernels of the operations of a float unit for which MLIR has no op: arithmetic whose operands and results have
several formats, signalling comparisons, roundings to integers that report inexact results, and classification. All have
exception flags.

The names are those of RISC-V's instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache, partial
from types import MappingProxyType

import numpy as np

from halfulp.fp_formats import mixed, scalar
from halfulp.fp_formats.exact import comparisons
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import Codes, FloatFormat, Mask, NanEncoding, element_shape, ints_to_codes
from halfulp.fp_formats.paths import fast, llvm
from halfulp.fp_formats.paths.domains import NATIVE
from halfulp.fp_formats.paths.words import Implementation, Word
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.scalar import INEXACT, INFINITE, INVALID, QUIET_NAN, SIGNALLING_NAN, Result
from halfulp.semantics.casts import sign_bit
from halfulp.semantics.floats import fastmath_rules, float_kernel, is_infinite, is_nan, loses_nan, raising
from halfulp.semantics.kernel import Computes, Kernel, Outcome, Scalar, faults_of, same_kind
from halfulp.semantics.profile import Profile

# --- float bits -------------------------------------------------------------------------------------------------------
#
# Kernels of operations that look only at the bits of a float: its sign, and the class it belongs to.
#
# They round nothing, raise no exception flags and depend on no profile. A signalling NaN counts as any other NaN, and
# `absolute` and `copysign` keep its bits (IEEE 754-2019, 5.5.1 and 5.7.2).


def _lone_nan(fmt: FloatFormat) -> int | None:
    """Return the NaN that has no sign, since its code is that of -0; None for a format without such a NaN."""
    return fmt.nan_code if fmt.nan is NanEncoding.NEGATIVE_ZERO else None


@lru_cache(maxsize=1024)
def absolute(fmt: FloatFormat, fastmath: int = 0) -> Kernel:
    """Return the kernel that clears the sign bit. In formats whose NaN is the code of -0, NaN stays NaN."""
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
    """Return the kernel with this description; without it if the kernel has faults, or the format more than 64 bits."""
    return kernel if kernel.faults or fmt.limbs > 1 else replace(kernel, words=words)


@lru_cache(maxsize=1024)
def copysign(fmt: FloatFormat, fastmath: int = 0) -> Kernel:
    """Return the kernel that gives the first operand the sign of the second, NaNs and zeros included.

    In formats whose NaN is the code of -0, that NaN is not changed and counts as positive, and zero stays zero.
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
    """Return a mask of the codes whose sign is negative, zeros and NaNs included. If the code of -0 is the NaN of a
    format, that NaN has no sign.
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
def class_test(name: str, fmt: FloatFormat, fastmath: int = 0) -> Kernel:
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


# --- float unit -------------------------------------------------------------------------------------------------------

MIXED: Mapping[str, str] = MappingProxyType(
    {
        "fadd": "add",
        "fsub": "subtract",
        "fmul": "multiply",
        "fdiv": "divide",
        "fmadd": "fma",
        "fmsub": "fmsub",
        "fnmsub": "fnmsub",
        "fnmadd": "fnmadd",
    }
)
"""The arithmetic whose operands and result have types of their own, by the operation of `fp_formats.mixed`."""

_REAL = {"add": "add", "subtract": "subtract", "multiply": "multiply", "divide": "divide", "fma": "fma"}

CLASSES = (
    "-inf",
    "negative normal",
    "negative subnormal",
    "-0",
    "+0",
    "positive subnormal",
    "positive normal",
    "+inf",
    "signalling NaN",
    "quiet NaN",
)
"""The names of the bits of a class, from bit 0 on."""


@llvm.forgotten
@lru_cache(maxsize=4096)
def arithmetic(
    name: str, sources: tuple[FloatFormat, ...], target: FloatFormat, rounding: Rounding, profile: Profile
) -> Kernel:
    """Return the kernel of an operation whose operands may have different formats. ``name``: a row of `MIXED`. The
    exact result is rounded once to ``target``.
    """
    operation, policy = MIXED[name], profile.arithmetic
    # Zero divided by zero is NaN; other numbers make one only from one, or from infinities.
    makes_nan = operation == "divide" or any(fmt.nan_code or fmt.infinity_code for fmt in sources)

    def array(*codes: Codes, want_flags: bool = False) -> ArrayResult:
        return fast.operate(operation, sources, target, codes, rounding, policy, want_flags)

    return float_kernel(
        lambda *codes: mixed.operate(operation, sources, target, codes, rounding, policy),
        array,
        sources,
        target,
        0,
        loses=makes_nan and loses_nan(policy, target),
        raises=partial(array, want_flags=True),
        real=Computes(_REAL[operation], sources, target) if operation in _REAL else None,
    )


@llvm.forgotten
@lru_cache(maxsize=1024)
def to_integral(fmt: FloatFormat, rounding: Rounding, says_inexact: bool, profile: Profile) -> Kernel:
    """Return the kernel of a rounding to an integer of the format. ``says_inexact``: the inexact flag is raised if a
    fraction is dropped (IEEE 754, 5.9: roundToIntegralExact).
    """
    policy = profile.arithmetic

    def specification(a: int) -> scalar.Result:
        found = scalar.to_integral(fmt, a, rounding, policy)
        given = scalar.operand(fmt, a, policy)
        if not says_inexact or given.kind >= INFINITE:
            return found
        made = scalar.unpack(fmt, found.code)
        drops = made.kind != scalar.FINITE or scalar.number(made) != scalar.number(given)
        return scalar.also(found, INEXACT if drops else 0)

    def raises(a: Codes) -> ArrayResult:
        if says_inexact:
            return fast.to_integral_exact(fmt, a, rounding, policy)
        return fast.to_integral(fmt, a, rounding, policy, want_flags=True)

    return float_kernel(
        specification,
        lambda a: fast.to_integral(fmt, a, rounding, policy),
        (fmt,),
        fmt,
        0,
        raises=raises,
    )


@llvm.forgotten
@lru_cache(maxsize=1024)
def compare_signalling(predicate: int, fmt: FloatFormat, profile: Profile) -> Kernel:
    """Return the kernel of a comparison for which any NaN operand raises the invalid flag (IEEE 754, 5.6.1).
    ``predicate``: MLIR's number.
    """
    policy = profile.arithmetic
    kernel = Kernel(
        lambda a, b: int(scalar.compare(fmt, predicate, a, b, policy)),
        lambda a, b: Outcome((fast.compare(fmt, predicate, a, b, policy).codes,)),
    )
    raises = partial(fast.compare_signalling, fmt, predicate, policy=policy)
    return raising(kernel, raises, lambda found, *_: Outcome((found.codes,)))


@lru_cache(maxsize=256)
def classify(fmt: FloatFormat) -> Kernel:
    """Return the kernel of a classification: the result has ten bits, one for each class of `CLASSES` in their order,
    and one of them is set. It neither flushes subnormals nor raises flags.
    """

    def array(a: Codes) -> Outcome:
        nan, infinite, zero, normal = (
            test(fmt, a)
            for test in (comparisons.is_nan, comparisons.is_infinite, comparisons.is_zero, comparisons.is_normal)
        )
        signalling = comparisons.compare(fmt, scalar.OEQ, a, a, want_flags=True).flags
        negative = sign_bit(a, fmt.bits) if fmt.signed else np.zeros(nan.shape, np.bool_)
        size = np.where(infinite, 7, np.where(zero, 4, np.where(normal, 6, 5)))
        number = np.where(nan, np.where(signalling == INVALID, 8, 9), np.where(negative, 7 - size, size))
        return Outcome(((1 << number).astype(np.uint16),))

    return Kernel(
        lambda a: 1 << _class_of(fmt, a), array, flags=lambda a: np.zeros(element_shape(a, fmt.bits), np.uint8)
    )


def in_classes(fmt: FloatFormat, mask: int) -> Kernel:
    """Return the kernel of LLVM's test for a set of classes: an i1 that is 1 if the class of the number is in the set.
    ``mask``: a bit for each class, the two NaNs first, then in the order of `CLASSES`.
    """
    kernel, wanted = classify(fmt), mask >> 2 | (mask & 3) << 8

    def array(a: Codes) -> Outcome:
        (found,) = kernel.array(a).results
        return Outcome((((found & wanted) != 0).astype(np.uint8),))

    return Kernel(lambda a: int(bool(1 << _class_of(fmt, a) & wanted)), array)


def _class_of(fmt: FloatFormat, a: int) -> int:
    x = scalar.unpack(fmt, a)
    if x.kind >= QUIET_NAN:
        return 8 if x.kind == SIGNALLING_NAN else 9
    size = 7 if x.kind == INFINITE else 4 if not x.significand else 6 if fmt.is_normal(a) else 5
    return 7 - size if x.sign else size
