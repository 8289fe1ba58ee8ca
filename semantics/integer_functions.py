"""Integer ops of the math dialect: each function returns the `Kernel` for a width, as in `halfulp.semantics.integer`.

Source: the op descriptions of the math dialect's document. Where it is silent: ctlz and cttz of 0 give the width, the
absolute value of the smallest integer is itself, powers wrap around.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import Codes, FloatFormat
from halfulp.fp_formats.paths import fast, llvm, word_floats
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics import emulated
from halfulp.semantics.floats import float_kernel
from halfulp.semantics.integer import (
    DIVISION_BY_ZERO,
    DIVISION_OVERFLOW,
    SHIFT_TOO_FAR,
    SIGNED_OVERFLOW,
    UNSIGNED_OVERFLOW,
)
from halfulp.semantics.integer_kernels import Faults, Reading, integer_kernel, mapped_kernel, mask_of, wrap
from halfulp.semantics.kernel import Fault, Integral, Kernel, Meaning, Scalar, poison, same_kind, undefined
from halfulp.semantics.profile import Profile

ZERO_TO_NEGATIVE_POWER = undefined("0 to a negative power")


def absi(width: int, *, nsw: bool = False, nuw: bool = False) -> Kernel:
    """Return the kernel of math.absi: the absolute value of a signed integer, modulo 2**width. ``nsw``: the absolute
    value of the smallest integer is poison; otherwise it is exact as an unsigned number.
    """
    reading = Reading(width, True)
    sign, mask = reading.sign, (1 << width) - 1
    strict = nsw and width > 0

    def scalar(a: int) -> Scalar:
        return SIGNED_OVERFLOW if strict and a == sign else abs((a ^ sign) - sign) & mask

    def array(a: Codes) -> tuple[tuple[Codes, ...], Faults]:
        values = reading.values(a)
        faults = [(SIGNED_OVERFLOW, a == sign)] if strict else []
        return (wrap(width, np.where(values < 0, -values, values)),), faults

    faults, real = (SIGNED_OVERFLOW,) if strict else (), Integral(strict=partial(absi, width) if width > 1 else None)
    return integer_kernel((width,), (width,), scalar, array, faults, real=real)


def ctpop(width: int) -> Kernel:
    """Return the kernel of math.ctpop: the number of ones."""

    def array(a: Codes) -> tuple[tuple[Codes, ...], Faults]:
        return (_ones(width, a),), ()

    return integer_kernel((width,), (width,), lambda a: _kept(a.bit_count(), width), array)


def cttz(width: int) -> Kernel:
    """Return the kernel of math.cttz: the number of zeros below the lowest one; for 0, the width."""

    def array(a: Codes) -> tuple[tuple[Codes, ...], Faults]:
        below = ~a & (a - a.dtype.type(1)) & a.dtype.type((1 << width) - 1)
        return (_ones(width, below),), ()

    return integer_kernel((width,), (width,), lambda a: _kept((a & -a).bit_length() - 1 if a else width, width), array)


def ctlz(width: int) -> Kernel:
    """Return the kernel of math.ctlz: the number of zeros above the highest one; for 0, the width."""

    def array(a: Codes) -> tuple[tuple[Codes, ...], Faults]:
        filled, step = a, 1
        while step < width:
            filled = filled | filled >> a.dtype.type(step)
            step *= 2
        return (_ones(width, ~filled & a.dtype.type((1 << width) - 1)),), ()

    return integer_kernel((width,), (width,), lambda a: _kept(width - a.bit_length(), width), array)


def _kept(count: int, width: int) -> int:
    """Return a count modulo 2**width. Only for widths up to 2 do counts need more bits than the width."""
    return count & (1 << width) - 1


def _ones(width: int, a: Codes) -> Codes:
    return wrap(width, np.bitwise_count(a).astype(a.dtype))


def ipowi(width: int) -> Kernel:
    """Return the kernel of math.ipowi: the power of signed integers, modulo 2**width.

    A power with a negative exponent is the reciprocal, rounded toward zero: 0 for each base but 1 and -1. For the base
    0 it is undefined behaviour.
    """
    reading = Reading(width, True)
    sign, mask = reading.sign, (1 << width) - 1

    def scalar(a: int, b: int) -> Scalar:
        base, exponent = (a ^ sign) - sign, (b ^ sign) - sign
        if exponent >= 0:
            return pow(base, exponent, mask + 1)
        if not base:
            return ZERO_TO_NEGATIVE_POWER
        return pow(base, -exponent) & mask if abs(base) == 1 else 0

    def array(a: Codes, b: Codes) -> tuple[tuple[Codes, ...], Faults]:
        base, exponent = reading.values(a), reading.values(b)
        negative = exponent < 0
        unit = abs(base.astype(np.int64)) == 1
        # Powers of 1 and -1 depend on the last bit of the exponent alone, which a negative exponent has too.
        rest = np.where(negative, b & b.dtype.type(1), b)
        result, power = np.where(negative & ~unit, a.dtype.type(0), a.dtype.type(1)), a
        while rest.any():
            result = np.where(rest & b.dtype.type(1), result * power, result)
            power = power * power
            rest = rest >> b.dtype.type(1)
        return (wrap(width, np.asarray(result, a.dtype)),), ((ZERO_TO_NEGATIVE_POWER, negative & (base == 0)),)

    faults = (ZERO_TO_NEGATIVE_POWER,) if width else ()
    real = Integral(strict=partial(_strict_ipowi, width) if width > 1 else None)
    return integer_kernel((width, width), (width,), scalar, array, faults, worst=(0, mask), real=real)


def _strict_ipowi(width: int, *, nsw: bool = False, nuw: bool = False) -> Kernel:
    """Return the kernel of math.ipowi whose result is poison if the width does not hold the power. The base is signed
    with ``nsw``, and unsigned with ``nuw``.
    """
    signed, base_of = Reading(width, True), Reading(width, nsw)
    fault = SIGNED_OVERFLOW if nsw else UNSIGNED_OVERFLOW
    plain = ipowi(width).scalar

    def scalar(a: int, b: int) -> Scalar:
        base, exponent = (a ^ base_of.sign) - base_of.sign, (b ^ signed.sign) - signed.sign
        if exponent <= 0 or abs(base) <= 1:
            fits = exponent < 0 or base_of.low <= base ** (exponent and 2 - exponent % 2) <= base_of.high
        else:  # from the width on the power of any other base is too large
            fits = exponent <= width and base_of.low <= base**exponent <= base_of.high
        return plain(a, b) if fits else fault

    return mapped_kernel((width, width), (width,), scalar, (ZERO_TO_NEGATIVE_POWER, fault))


# --- integer shadows --------------------------------------------------------------------------------------------------
#
# Find integers that are not those of exact arithmetic, because an op left the range of its type and wrapped.
#
# The type of an integer does not say how its bits are read. So both readings go along: whether the number is the exact
# one if all integers are signed, and if all are unsigned. An op that reads in one way needs that one. For sums,
# products and bitwise ops both readings are the same, and each of the result follows from that of the operands.


class Apart(NamedTuple):
    """Where integers differ from the exact integers: the elements that differ if they are read as signed numbers, and
    if they are read as unsigned numbers. Fields are masks, or truth values for one number.

    ``inexact``: the elements that were computed from the bits of floats that are not exact.
    """

    signed: Any
    unsigned: Any
    inexact: Any = np.False_

    def misread(self, signed: bool | None) -> Any:
        """Return the elements in which an op reads another number than the exact integer. ``signed``: how it reads its
        operands; see `Integral`.
        """
        return self.signed & self.unsigned if signed is None else self.signed if signed else self.unsigned


def joined(parts: Sequence[Apart]) -> Apart:
    """Return the elements that differ in at least one of the parts, which belong to the operands of an op and to the op
    itself.
    """
    return Apart(*(np.logical_or.reduce(np.broadcast_arrays(*masks)) for masks in zip(*parts, strict=True)))


def _strict(meaning: Meaning | None) -> tuple[Kernel, ...]:
    return meaning.strict_kernels if isinstance(meaning, Integral) else ()


def wrapped(meaning: Meaning | None, codes: Sequence[Codes]) -> Apart | None:
    """Return the elements of a result that wrap: the type cannot hold the exact result. None if no element wraps.
    ``meaning``: that of the op.
    """
    faults = [[mask for _, mask in kernel.array(*codes).faults] for kernel in _strict(meaning)]
    if not any(faults):
        return None
    nowhere = np.zeros((), np.bool_)
    return Apart(*(np.logical_or.reduce(masks) if masks else nowhere for masks in faults))


def wraps(meaning: Meaning | None, codes: Sequence[int]) -> tuple[bool, bool]:
    """Tell whether the result of an op on single codes wraps, read as signed and read as unsigned numbers."""
    found = [isinstance(kernel.scalar(*codes), Fault) for kernel in _strict(meaning)]
    return (found[0], found[1]) if found else (False, False)


def reading_of(meaning: Meaning | None) -> bool | None:
    """Return how an op reads its operands: True for signed, False for unsigned, None if that has no effect (see
    `Integral`).
    """
    return meaning.signed if isinstance(meaning, Integral) else None


# --- integral ---------------------------------------------------------------------------------------------------------
#
# Kernels of the ops that round a float to an integer of its format (math document).
#
# They are exact: only a format that ends before the integer overflows. No flag says that a fraction was dropped (IEEE
# 754-2019, 5.9: the operations other than roundToIntegralExact).

DIRECTIONS: Mapping[str, Rounding] = {
    "ceil": Rounding.UPWARD,
    "floor": Rounding.DOWNWARD,
    "round": Rounding.TO_NEAREST_AWAY,
    "roundeven": Rounding.TO_NEAREST_EVEN,
    "trunc": Rounding.TOWARD_ZERO,
}
"""The ops of math that round to integers, with their rounding mode."""


@llvm.forgotten
@lru_cache(maxsize=1024)
def to_integral(name: str, fmt: FloatFormat, fastmath: int, profile: Profile) -> Kernel:
    """Return the kernel that rounds a float to an integer in its own format. ``name``: an op of `DIRECTIONS`, such as
    floor.
    """
    mode, policy, real = DIRECTIONS[name], profile.arithmetic, same_kind(name, fmt, 1)
    if emulated.emulates(profile, fmt):
        return float_kernel(*emulated.applied("to_integral", fmt, (mode, policy)), (fmt,), fmt, fastmath, real=real)
    kernel = float_kernel(
        lambda a: scalar.to_integral(fmt, a, mode, policy),
        lambda a: fast.to_integral(fmt, a, mode, policy),
        (fmt,),
        fmt,
        fastmath,
        raises=lambda a: fast.to_integral(fmt, a, mode, policy, want_flags=True),
        real=real,
    )
    return kernel if kernel.faults else replace(kernel, words=word_floats.to_integral(fmt, mode, policy))


# --- llvm integers ----------------------------------------------------------------------------------------------------
#
# Integer ops that only LLVM has: each function returns the `Kernel` for a width, as in `halfulp.semantics.integer`.
#
# Source: LLVM's language reference, release 22. The array implementation maps the specification over the elements.

Exact = Callable[[int, int], int]

COMMON_BITS = poison("the operands of a disjoint or have a one in common")
ZERO_COUNTED = poison("the operand is 0, and is_zero_poison is set")
LEAST_NEGATED = poison("the operand is the least integer, and is_int_min_poison is set")

ARITHMETIC: Mapping[str, Exact] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
"""The ops that have a form which tells of overflow, and, except mul, one that saturates."""


def remsi(width: int) -> Kernel:
    """Return the kernel of llvm.srem. The smallest integer divided by -1 is undefined behaviour, because the quotient
    overflows.
    """
    sign, mask = Reading(width, True).sign, mask_of(width)

    def scalar(a: int, b: int) -> Scalar:
        if not b:
            return DIVISION_BY_ZERO
        if a == sign and b == mask:
            return DIVISION_OVERFLOW
        x, y = (a ^ sign) - sign, (b ^ sign) - sign
        rest = abs(x) % abs(y)
        return (rest if x >= 0 else -rest) & mask

    return mapped_kernel((width, width), (width,), scalar, (DIVISION_BY_ZERO, DIVISION_OVERFLOW), (sign, 0))


def disjoint_or(width: int) -> Kernel:
    """Return the kernel of ``or disjoint``: the bitwise or, which is poison if a bit is set in both operands."""
    return mapped_kernel((width, width), (width,), lambda a, b: COMMON_BITS if a & b else a | b, (COMMON_BITS,))


def checked(name: str, width: int, signed: bool) -> Kernel:
    """Return the kernel of ``llvm.*.with.overflow``. It has two results: the result modulo 2**width, and an i1 that is
    1 if the exact result differs. ``name``: the operation.
    """
    exact, reading, mask = ARITHMETIC[name], Reading(width, signed), mask_of(width)
    sign, low, high = reading.sign, reading.low, reading.high

    def scalar(a: int, b: int) -> Scalar:
        result = exact((a ^ sign) - sign, (b ^ sign) - sign)
        return result & mask, 0 if low <= result <= high else 1

    return mapped_kernel((width, width), (width, 1), scalar)


def saturating(name: str, width: int, signed: bool) -> Kernel:
    """Return the kernel of ``llvm.*add.sat`` and ``llvm.*sub.sat``: the exact result, or the nearest integer of
    ``width`` bits.
    """
    exact, reading, mask = ARITHMETIC[name], Reading(width, signed), mask_of(width)
    sign, low, high = reading.sign, reading.low, reading.high

    def scalar(a: int, b: int) -> Scalar:
        return min(max(exact((a ^ sign) - sign, (b ^ sign) - sign), low), high) & mask

    return mapped_kernel((width, width), (width,), scalar)


def saturating_shift(width: int, signed: bool) -> Kernel:
    """Return the kernel of ``llvm.*shl.sat``: the number times a power of two, or the nearest integer of ``width``
    bits.
    """
    reading, mask = Reading(width, signed), mask_of(width)
    sign, low, high = reading.sign, reading.low, reading.high

    def scalar(a: int, b: int) -> Scalar:
        return SHIFT_TOO_FAR if b >= width else min(max((a ^ sign) - sign << b, low), high) & mask

    return mapped_kernel((width, width), (width,), scalar, (SHIFT_TOO_FAR,))


def funnel_shift(width: int, left: bool) -> Kernel:
    """Return the kernel of ``llvm.fshl`` and ``llvm.fshr``: two integers side by side are shifted by a number of bits
    modulo the width, and one half is the result.
    """
    mask = mask_of(width)

    def scalar(high: int, low: int, amount: int) -> Scalar:
        both, moved = high << width | low, amount % width if width else 0
        return (both << moved >> width if left else both >> moved) & mask

    return mapped_kernel((width,) * 3, (width,), scalar)


def swapped_bytes(width: int) -> Kernel:
    """Return the kernel of ``llvm.bswap``: the bytes in the opposite order."""
    return mapped_kernel((width,), (width,), lambda a: int.from_bytes(a.to_bytes(width // 8, "little"), "big"), ())


def reversed_bits(width: int) -> Kernel:
    """Return the kernel of ``llvm.bitreverse``: the bits in the opposite order."""
    return mapped_kernel((width,), (width,), lambda a: int(f"{a:0{width}b}"[::-1], 2) if width else 0)


def absolute(width: int, least_is_poison: bool) -> Kernel:
    """Return the kernel of ``llvm.abs``.

    ``least_is_poison``: the smallest integer gives poison; otherwise it is its own absolute value.
    """
    if not least_is_poison:
        return absi(width)
    sign, mask = Reading(width, True).sign, mask_of(width)

    def scalar(a: int) -> Scalar:
        return LEAST_NEGATED if a == sign else abs((a ^ sign) - sign) & mask

    return mapped_kernel((width,), (width,), scalar, (LEAST_NEGATED,))


def counted_zeros(width: int, leading: bool, zero_is_poison: bool) -> Kernel:
    """Return the kernel of ``llvm.ctlz`` and ``llvm.cttz``. For 0 the result is the width, or poison."""
    mask = mask_of(width)

    def scalar(a: int) -> Scalar:
        if not a:
            return ZERO_COUNTED if zero_is_poison else width & mask
        return width - a.bit_length() if leading else (a & -a).bit_length() - 1

    return mapped_kernel((width,), (width,), scalar, (ZERO_COUNTED,) if zero_is_poison else ())


def not_and(width: int) -> Kernel:
    """Return the kernel of ``atomicrmw nand``: the complement of the bitwise and."""
    mask = mask_of(width)
    return mapped_kernel((width, width), (width,), lambda a, b: ~(a & b) & mask)


def wrapped_increment(width: int) -> Kernel:
    """Return the kernel of ``atomicrmw uinc_wrap``: 1 more; 0 if the value is at least the second operand."""
    return mapped_kernel((width, width), (width,), lambda a, b: 0 if a >= b else a + 1)


def wrapped_decrement(width: int) -> Kernel:
    """Return the kernel of ``atomicrmw udec_wrap``: 1 less; the second operand if the value is 0 or above that
    operand.
    """
    return mapped_kernel((width, width), (width,), lambda a, b: b if not a or a > b else a - 1)


def conditional_subtraction(width: int) -> Kernel:
    """Return the kernel of ``atomicrmw usub_cond``: the difference; the first operand if the difference is less
    than 0.
    """
    return mapped_kernel((width, width), (width,), lambda a, b: a - b if a >= b else a)
