"""Elementwise ops of StableHLO that no op of arith, math or complex equals: each function returns the `Kernel`.

Source: the specification of StableHLO. Where it is silent, StableHLO's interpreter and XLA on a CPU agree, and these
kernels do as both: a shift by the width or more leaves no bit, or copies of the sign; quotients that overflow wrap
around; arithmetic on integers of ``width`` bits is modulo 2**width. Division by zero is undefined.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import Codes, FloatFormat, Mask, storage_dtype
from halfulp.fp_formats.neighbours import next_code, position_of, ranks
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics import casts, complex_numbers, elementary, float_unit, floats
from halfulp.semantics.integer import DIVISION_BY_ZERO
from halfulp.semantics.integer_kernels import Faults, Reading, integer_kernel, mapped_kernel, mask_of, wrap
from halfulp.semantics.kernel import Integral, Kernel, Outcome, Scalar
from halfulp.semantics.profile import Profile

# --- integers ---------------------------------------------------------------------------------------------------------


def negate(width: int) -> Kernel:
    """Return the kernel of the negation of an integer, modulo 2**width."""
    mask = mask_of(width)

    def array(a: Codes) -> tuple[tuple[Codes, ...], Faults]:
        return (wrap(width, np.negative(a)),), ()

    return integer_kernel((width,), (width,), lambda a: -a & mask, array, real=Integral())


def complement(width: int) -> Kernel:
    """Return the kernel of ``not``: all bits inverted."""
    mask = mask_of(width)

    def array(a: Codes) -> tuple[tuple[Codes, ...], Faults]:
        return (a ^ a.dtype.type(mask),), ()

    return integer_kernel((width,), (width,), lambda a: a ^ mask, array)


def sign(width: int) -> Kernel:
    """Return the kernel of the sign of a signed integer: -1, 0 or 1."""
    reading, mask = Reading(width, True), mask_of(width)

    def scalar_(a: int) -> Scalar:
        number = (a ^ reading.sign) - reading.sign
        return ((number > 0) - (number < 0)) & mask

    def array(a: Codes) -> tuple[tuple[Codes, ...], Faults]:
        return (wrap(width, np.sign(reading.values(a))),), ()

    return integer_kernel((width,), (width,), scalar_, array, real=Integral(True))


def divided_by_zero(division: Kernel, width: int, all_ones: bool, profile: Profile) -> Kernel:
    """Return the kernel of a division of integers that also has a result for the divisor 0, if the profile defines one;
    else return ``division``. ``all_ones``: the result is a quotient with all bits set; if False, it is the dividend.
    """
    if profile.integer_division == "undefined":
        return division
    mask = mask_of(width)

    def scalar_(a: int, b: int) -> Scalar:
        return division.scalar(a, b) if b else mask if all_ones else a

    def array(a: Codes, b: Codes) -> tuple[tuple[Codes, ...], Faults]:
        (found,) = division.array(a, np.where(b == 0, b.dtype.type(1), b)).results
        return (np.where(b == 0, a.dtype.type(mask) if all_ones else a, found),), ()

    return integer_kernel((width, width), (width,), scalar_, array, real=division.real)


def divide(width: int) -> Kernel:
    """Return the kernel of the signed quotient, rounded toward zero, modulo 2**width."""
    reading, mask = Reading(width, True), mask_of(width)

    def scalar_(a: int, b: int) -> Scalar:
        if not b:
            return DIVISION_BY_ZERO
        x, y = (a ^ reading.sign) - reading.sign, (b ^ reading.sign) - reading.sign
        quotient = abs(x) // abs(y)
        return (quotient if (x < 0) == (y < 0) else -quotient) & mask

    def array(a: Codes, b: Codes) -> tuple[tuple[Codes, ...], Faults]:
        x, y = reading.values(a), reading.values(b)
        zero = y == 0
        negative = (x < 0) != (y < 0)
        # The magnitude of the smallest integer is right as an unsigned number.
        magnitudes = [np.abs(each).view(a.dtype) for each in (x, np.where(zero, y.dtype.type(1), y))]
        quotient = magnitudes[0] // magnitudes[1]
        return (wrap(width, np.where(negative, np.negative(quotient), quotient)),), [(DIVISION_BY_ZERO, zero)]

    faults = (DIVISION_BY_ZERO,)
    return integer_kernel((width, width), (width,), scalar_, array, faults, (0, 0), real=Integral(True))


def _shift(moved: Callable[[Any, Any], Any], signed: bool, width: int) -> Kernel:
    reading, mask = Reading(width, signed), mask_of(width)

    def scalar_(a: int, b: int) -> Scalar:
        return int(moved((a ^ reading.sign) - reading.sign, min(b, width))) & mask

    def array(a: Codes, b: Codes) -> tuple[tuple[Codes, ...], Faults]:
        values = reading.values(a)
        return (wrap(width, moved(values, np.minimum(b, b.dtype.type(width)).view(values.dtype))),), ()

    return integer_kernel((width, width), (width,), scalar_, array, real=Integral(signed))


shift_left = partial(_shift, operator.lshift, False)
shift_right_arithmetic = partial(_shift, operator.rshift, True)
shift_right_logical = partial(_shift, operator.rshift, False)


def power(width: int, signed: bool) -> Kernel:
    """Return the kernel of the power of integers, modulo 2**width. With a negative exponent the result is the power for
    the bases 1 and -1, and 0 for all others.
    """
    reading, mask = Reading(width, signed), mask_of(width)

    def scalar_(a: int, b: int) -> Scalar:
        base, exponent = (a ^ reading.sign) - reading.sign, (b ^ reading.sign) - reading.sign
        if exponent >= 0 or abs(base) == 1:
            return pow(base, abs(exponent), mask + 1)
        return 0

    return mapped_kernel((width, width), (width,), scalar_)


def upper_product(width: int, signed: bool) -> Kernel:
    """Return the kernel of the upper half of the exact product of two integers."""
    reading, mask = Reading(width, signed), mask_of(width)

    def scalar_(a: int, b: int) -> Scalar:
        x, y = (a ^ reading.sign) - reading.sign, (b ^ reading.sign) - reading.sign
        return x * y >> width & mask

    return mapped_kernel((width, width), (width,), scalar_)


def _is_zero(fmt: FloatFormat, a: Codes) -> Mask:
    zero: Mask = (a & a.dtype.type(fmt.code_mask >> fmt.signed)) == 0
    return zero & ~fast.is_nan(fmt, a) if fmt.zero else np.zeros(a.shape, np.bool_)


def clamp(larger: Kernel, smaller: Kernel) -> Kernel:
    """Return the kernel of min(max(x, low), high) for the operands low, x and high. ``larger``, ``smaller``: the
    kernels of the maximum and of the minimum.
    """

    def scalar_(low: int, x: int, high: int) -> Scalar:
        bounded = larger.scalar(x, low)
        return smaller.scalar(bounded, high) if isinstance(bounded, int) else bounded

    def array(low: Codes, x: Codes, high: Codes) -> Outcome:
        (bounded,) = larger.array(x, low).results
        return smaller.array(bounded, high)

    return Kernel(scalar_, array)


# --- conversions ------------------------------------------------------------------------------------------------------


def extend(source: int, signed: bool, target: int) -> Kernel:
    """Return the kernel of a conversion between integers: the number modulo 2**target."""
    reading, mask = Reading(source, signed), mask_of(target)

    def array(a: Codes) -> tuple[tuple[Codes, ...], Faults]:
        dtype = storage_dtype(target)
        values = reading.values(a).astype(f"i{dtype.itemsize}" if signed else dtype)
        return (wrap(target, values),), ()

    return integer_kernel(
        (source,), (target,), lambda a: ((a ^ reading.sign) - reading.sign) & mask, array, real=Integral(signed)
    )


def nonzero(width: int) -> Kernel:
    """Return the kernel of a conversion from an integer to a truth value: whether it is not 0."""

    def array(a: Codes) -> tuple[tuple[Codes, ...], Faults]:
        return ((a != 0).astype(np.uint8),), ()

    return integer_kernel((width,), (1,), lambda a: int(a != 0), array)


def convert(source: FloatFormat, target: FloatFormat, profile: Profile) -> Kernel:
    """Return the kernel of a conversion between floats, to nearest even."""
    widened = source.name == "bf16" and target.name == "f64"
    if profile.narrow_subnormals == "ieee" and min(source.bits, target.bits) <= 16 and not widened:
        profile = replace(profile, name="", denormals="ieee", denormals_f32="as_others")
    return casts.convert(source, target, Rounding.TO_NEAREST_EVEN, 0, profile)


def always_true() -> Kernel:
    """Return the kernel of a test that is true for all operands, such as is_finite of stored integers."""
    return Kernel(lambda a: 1, lambda a: Outcome((np.ones(a.shape, np.uint8),)))


@lru_cache(maxsize=64)
def nonzero_float(fmt: FloatFormat, profile: Profile) -> Kernel:
    """Return the kernel of a conversion from a float to a truth value: whether it is not 0. A NaN is not 0."""
    if not fmt.zero:
        return always_true()
    compared = floats.compare(_UNEQUAL, fmt, 0, profile)
    zero = scalar.from_integer(fmt, 0).code

    def array(a: Codes) -> Outcome:
        return Outcome(((~_is_zero(fmt, a)).astype(np.uint8) & compared.array(a, np.full_like(a, zero)).results[0],))

    return Kernel(lambda a: int(scalar.value(fmt, a) != 0 and bool(compared.scalar(a, zero))), array)


_UNEQUAL = 13
"""The predicate une of arith.cmpf: unequal, or one of them is a NaN."""


@lru_cache(maxsize=64)
def logistic(fmt: FloatFormat, profile: Profile) -> Kernel:
    """Return the kernel of the logistic function, as the profile computes it."""
    exact = elementary.unary("sigmoid", fmt, Rounding.TO_NEAREST_EVEN, 0, profile)
    if profile.logistic == "exact":
        return exact
    one = scalar.from_integer(fmt, 1).code
    negated = floats.unary("negate", fmt, 0, profile)
    power = elementary.unary("exp", fmt, Rounding.TO_NEAREST_EVEN, 0, profile)
    add, divide_ = (floats.binary(name, fmt, Rounding.TO_NEAREST_EVEN, 0, profile) for name in ("add", "divide"))

    def array(a: Codes) -> Outcome:
        ones = np.full_like(a, one)
        for kernel in (negated, power):
            (a,) = kernel.array(a).results
        return divide_.array(ones, add.array(a, ones).results[0])

    return Kernel(lambda a: int(array(np.array([a], storage_dtype(fmt.bits))).results[0][0]), array, real=exact.real)


@lru_cache(maxsize=16)
def divide_by_inverse(fmt: FloatFormat, profile: Profile) -> Kernel:
    """Return the kernel of a division as a product: the inverse of the divisor is rounded, and the product with it is
    rounded.
    """
    divide_, multiply = (
        floats.binary(name, fmt, Rounding.TO_NEAREST_EVEN, 0, profile) for name in ("divide", "multiply")
    )
    one = scalar.from_integer(fmt, 1).code

    def scalar_(a: int, b: int) -> Scalar:
        inverse = divide_.scalar(one, b)
        return multiply.scalar(a, inverse) if isinstance(inverse, int) else inverse

    def array(a: Codes, b: Codes) -> Outcome:
        (inverse,) = divide_.array(np.full_like(b, one), b).results
        return multiply.array(a, inverse)

    return replace(divide_, scalar=scalar_, array=array, words=None, flags=None, flagged=None)


def real_part(source: FloatFormat, converted: Kernel) -> Kernel:
    """Return the kernel that converts the real part of complex numbers. ``converted``: the kernel that
    converts a part.
    """

    def array(a: Codes) -> Outcome:
        return converted.array(complex_numbers.parts_of(a, source)[0])

    return Kernel(lambda a: _no_scalar(), array, faults=converted.faults)


def as_complex(target: FloatFormat, converted: Kernel) -> Kernel:
    """Return the kernel that converts real numbers to complex numbers. ``converted``: the kernel that converts the real
    part.
    """

    def array(a: Codes) -> Outcome:
        outcome = converted.array(a)
        (real,) = outcome.results
        return Outcome((complex_numbers.of_parts(real, np.zeros_like(real), target),), outcome.faults)

    return Kernel(lambda a: _no_scalar(), array, faults=converted.faults)


def _no_scalar() -> Any:
    """Return None: no integer is the code of a complex number."""
    return None


def to_integer(source: FloatFormat, width: int, signed: bool, profile: Profile) -> Kernel:
    """Return the kernel of a conversion from a float to an integer, toward zero. If the profile does not say otherwise,
    a number out of range gives the nearest integer of the type, and a NaN gives 0.
    """
    if profile.float_to_int == "poison":  # which is arith's rule
        profile = replace(profile, name="", float_to_int="saturate")
    return casts.to_integer(source, width, signed, profile)


@lru_cache(maxsize=16)
def complex_product(fmt: FloatFormat, profile: Profile) -> Kernel:
    """Return the kernel of the product of complex numbers: four products, a difference and a sum, each rounded."""
    multiply, subtract, add = (
        floats.binary(name, fmt, Rounding.TO_NEAREST_EVEN, 0, profile) for name in ("multiply", "subtract", "add")
    )

    def array(one: Codes, other: Codes) -> Outcome:
        (a, b), (c, e) = (complex_numbers.parts_of(each, fmt) for each in (one, other))

        def of(kernel: Kernel, x: Codes, y: Codes) -> Codes:
            return kernel.array(x, y).results[0]

        real = of(subtract, of(multiply, a, c), of(multiply, b, e))
        imaginary = of(add, of(multiply, a, e), of(multiply, b, c))
        return Outcome((complex_numbers.of_parts(real, imaginary, fmt),))

    return Kernel(lambda a, b: _no_scalar(), array)


@lru_cache(maxsize=16)
def magnitude(fmt: FloatFormat, profile: Profile) -> Kernel:
    """Return the kernel of the absolute value of a complex number: the exact value, rounded once."""
    hypot = elementary.binary("hypot", fmt, Rounding.TO_NEAREST_EVEN, 0, profile)

    def array(a: Codes) -> Outcome:
        return hypot.array(*complex_numbers.parts_of(a, fmt))

    return Kernel(lambda a: _no_scalar(), array, faults=hypot.faults)


@lru_cache(maxsize=64)
def square(fmt: FloatFormat, profile: Profile) -> Kernel:
    """Return the kernel of the product of a number with itself."""
    product = floats.binary("multiply", fmt, Rounding.TO_NEAREST_EVEN, 0, profile)
    return Kernel(lambda a: product.scalar(a, a), lambda a: product.array(a, a), faults=product.faults)


# --- floats -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def sign_of_float(fmt: FloatFormat, profile: Profile) -> Kernel:
    """Return the kernel of the sign of a float: -1 or 1; a zero or a NaN is returned as it is."""
    policy = profile.arithmetic
    flushes = policy.flushing(fmt).operands
    ones = [scalar.from_integer(fmt, number).code for number in (1, -1)]

    def scalar_(a: int) -> Scalar:
        if flushes:
            a = scalar.flush(fmt, a, policy).code
        number = scalar.value(fmt, a)
        if number == 0 or (number is None and fmt.is_nan(a)):
            return a
        return ones[bool(fmt.sign_mask and a & fmt.sign_mask)]

    def array(a: Codes) -> Outcome:
        if flushes:
            a = fast.flush(fmt, a, policy).codes
        kept = fast.is_nan(fmt, a) | _is_zero(fmt, a)
        one, minus_one = (a.dtype.type(code) for code in ones)
        return Outcome((np.where(kept, a, np.where(float_unit.has_sign(fmt, a), minus_one, one)),))

    return Kernel(scalar_, array)


@lru_cache(maxsize=64)
def zero_part(fmt: FloatFormat) -> Kernel:
    """Return the kernel that gives the imaginary part of real numbers, which is 0."""
    return Kernel(lambda a: 0, lambda a: Outcome((np.zeros_like(a),)))


def total_order(fmt: FloatFormat, a: Codes) -> Codes:
    """Return codes as unsigned integers whose order is IEEE 754's totalOrder: all bits of a negative code are inverted,
    and the sign bit of a positive one is set.
    """
    mask, sign_mask = a.dtype.type(fmt.code_mask), a.dtype.type(fmt.sign_mask or 0)
    return np.asarray(np.where(a & sign_mask, a ^ mask, a | sign_mask))


TOTAL_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "EQ": operator.eq, "NE": operator.ne, "GE": operator.ge, "GT": operator.gt, "LE": operator.le, "LT": operator.lt,
}  # fmt: skip


@lru_cache(maxsize=512)
def compare_totally(direction: str, fmt: FloatFormat) -> Kernel:
    """Return the kernel of a comparison by IEEE 754's totalOrder. ``direction``: StableHLO's name of the comparison."""
    holds = TOTAL_ORDER[direction]

    def key(a: int) -> int:
        return a ^ fmt.code_mask if a & (fmt.sign_mask or 0) else a | (fmt.sign_mask or 0)

    def array(a: Codes, b: Codes) -> Outcome:
        return Outcome((holds(total_order(fmt, a), total_order(fmt, b)).astype(np.uint8),))

    return Kernel(lambda a, b: int(holds(key(a), key(b))), array)


@lru_cache(maxsize=64)
def is_infinity(fmt: FloatFormat, negative: bool) -> Kernel:
    """Return the kernel of a test: whether a number is the infinity with this sign."""
    code = fmt.infinity_code
    if code is not None and negative:
        code = code | fmt.sign_mask if fmt.sign_mask else None

    def array(a: Codes) -> Outcome:
        return Outcome(((a == code if code is not None else np.zeros(a.shape, np.bool_)).astype(np.uint8),))

    return Kernel(lambda a: int(a == code), array)


@lru_cache(maxsize=64)
def next_after(fmt: FloatFormat) -> Kernel:
    """Return the kernel of nextafter of C: the number that follows the first operand in the direction of the second
    one. If both are equal, it is the second one; if one is a NaN, it is that NaN.
    """
    sign = fmt.sign_mask or 0

    def scalar_(a: int, b: int) -> Scalar:
        if fmt.is_nan(a) or fmt.is_nan(b):
            return a if fmt.is_nan(a) else b
        one, two = position_of(fmt, a), position_of(fmt, b)
        return b if one == two else next_code(fmt, a, down=two < one).code

    def array(a: Codes, b: Codes) -> Outcome:
        nan = fast.is_nan(fmt, a), fast.is_nan(fmt, b)
        one, two = ranks(fmt, a), ranks(fmt, b)
        moved = one + np.where(two > one, 1, -1)
        negative = (moved < 0) | ((moved == 0) & (one < 0) & bool(sign))
        codes = np.abs(moved).astype(a.dtype) | np.where(negative, a.dtype.type(sign), a.dtype.type(0))
        codes = np.where(one == two, b, codes)
        return Outcome((np.where(nan[0], a, np.where(nan[1], b, codes)),))

    return Kernel(scalar_, array)
