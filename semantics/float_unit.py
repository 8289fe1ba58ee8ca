"""Kernels of the operations of a float unit that MLIR has no op for: operands and results of several formats,
signalling comparisons, roundings to integers that say what they drop, classes. All have exception flags.

The names are those of RISC-V's instructions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from halfulp.fp_formats import mixed, scalar
from halfulp.fp_formats.exact import comparisons, conversions
from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import Codes, FloatFormat, element_shape
from halfulp.fp_formats.paths import cpu, fast
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.scalar import INEXACT, INFINITE, INVALID, QUIET_NAN, SIGNALLING_NAN
from halfulp.semantics.casts import sign_bit
from halfulp.semantics.floats import flags_of, float_kernel, loses_nan
from halfulp.semantics.kernel import Computes, Kernel, Outcome
from halfulp.semantics.profile import Profile

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


@cpu.forgotten
@lru_cache(maxsize=4096)
def arithmetic(
    name: str, sources: tuple[FloatFormat, ...], target: FloatFormat, rounding: Rounding, profile: Profile
) -> Kernel:
    """Return the kernel of a row of `MIXED`: the exact result, rounded once to the target."""
    operation, policy = MIXED[name], profile.arithmetic
    # Zero divided by zero is NaN; other numbers make one only from one, or from infinities.
    makes_nan = operation == "divide" or any(fmt.nan_code or fmt.infinity_code for fmt in sources)

    def array(*codes: Codes) -> ArrayResult:
        return comparisons.operate(
            operation, sources, target, codes, rounding, policy, operations=fast, convert=fast.convert
        )

    def flagged(*codes: Codes) -> ArrayResult:
        return comparisons.operate(operation, sources, target, codes, rounding, policy, want_flags=True)

    return float_kernel(
        lambda *codes: mixed.operate(operation, sources, target, codes, rounding, policy),
        array,
        sources,
        target,
        0,
        loses=makes_nan and loses_nan(policy, target),
        flags=flags_of(flagged),
        real=Computes(_REAL[operation], sources, target) if operation in _REAL else None,
    )


@cpu.forgotten
@lru_cache(maxsize=1024)
def to_integral(fmt: FloatFormat, rounding: Rounding, says_inexact: bool, profile: Profile) -> Kernel:
    """Return the kernel of a rounding to an integer of the format. ``says_inexact``: a dropped fraction raises inexact
    (IEEE 754, 5.9: roundToIntegralExact).
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

    def flags(a: Codes) -> Codes:
        found = conversions.to_integral(fmt, a, rounding, policy, want_flags=True)
        assert found.flags is not None
        if not says_inexact:
            return found.flags
        given = fast.flush(fmt, a, policy).codes if policy.flushing(fmt).operands else a
        number = ~(comparisons.is_nan(fmt, given) | comparisons.is_infinite(fmt, given))
        same = comparisons.compare(fmt, _EQUAL, given, found.codes).codes != 0
        flagged: Codes = found.flags | (number & ~same) * np.uint8(INEXACT)
        return flagged

    return float_kernel(
        specification,
        lambda a: fast.to_integral(fmt, a, rounding, policy),
        (fmt,),
        fmt,
        0,
        flags=flags,
    )


_EQUAL = 1
"""The number of the predicate `oeq`."""


@cpu.forgotten
@lru_cache(maxsize=1024)
def compare_signalling(predicate: int, fmt: FloatFormat, profile: Profile) -> Kernel:
    """Return the kernel of a comparison that any NaN operand makes invalid (IEEE 754, 5.6.1), by MLIR's predicate."""
    policy = profile.arithmetic

    def flags(a: Codes, b: Codes) -> Codes:
        nan = comparisons.is_nan(fmt, a) | comparisons.is_nan(fmt, b)
        return nan * np.uint8(INVALID)

    return Kernel(
        lambda a, b: int(scalar.compare(fmt, predicate, a, b, policy)),
        lambda a, b: Outcome((fast.compare(fmt, predicate, a, b, policy).codes,)),
        flags=flags,
    )


@lru_cache(maxsize=256)
def classify(fmt: FloatFormat) -> Kernel:
    """Return the kernel of a class: one of ten bits is set, in the order of `CLASSES`. It flushes and flags nothing."""

    def array(a: Codes) -> Outcome:
        nan, infinite, zero, normal = (
            test(fmt, a)
            for test in (comparisons.is_nan, comparisons.is_infinite, comparisons.is_zero, comparisons.is_normal)
        )
        signalling = comparisons.compare(fmt, _EQUAL, a, a, want_flags=True).flags
        negative = sign_bit(a, fmt.bits) if fmt.signed else np.zeros(nan.shape, np.bool_)
        size = np.where(infinite, 7, np.where(zero, 4, np.where(normal, 6, 5)))
        number = np.where(nan, np.where(signalling == INVALID, 8, 9), np.where(negative, 7 - size, size))
        return Outcome(((1 << number).astype(np.uint16),))

    return Kernel(
        lambda a: 1 << _class_of(fmt, a), array, flags=lambda a: np.zeros(element_shape(a, fmt.bits), np.uint8)
    )


def in_classes(fmt: FloatFormat, mask: int) -> Kernel:
    """Return the kernel of LLVM's test for a set of classes. ``mask``: a bit for each class, the two NaNs first, then
    in the order of `CLASSES`. The result is an i1.
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
