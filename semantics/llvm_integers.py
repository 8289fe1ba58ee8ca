"""Integer ops that only LLVM has: each function returns the `Kernel` for a width, as in `halfulp.semantics.integer`.

Source: LLVM's language reference, release 22. The array implementation maps the specification over the elements.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from halfulp.semantics.integer import DIVISION_BY_ZERO, DIVISION_OVERFLOW, SHIFT_TOO_FAR
from halfulp.semantics.integer_functions import absi
from halfulp.semantics.integer_kernels import Reading, mapped_kernel, mask_of
from halfulp.semantics.kernel import Kernel, Scalar, poison

Exact = Callable[[int, int], int]

COMMON_BITS = poison("the operands of a disjoint or have a one in common")
ZERO_COUNTED = poison("the operand is 0, and is_zero_poison is set")
LEAST_NEGATED = poison("the operand is the least integer, and is_int_min_poison is set")

ARITHMETIC: Mapping[str, Exact] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
"""The ops that have a form which tells of overflow, and, except mul, one that saturates."""


def remsi(width: int) -> Kernel:
    """Return the kernel of srem. The least value divided by -1 is undefined, as its quotient is."""
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
    """Return the kernel of ``or disjoint``."""
    return mapped_kernel((width, width), (width,), lambda a, b: COMMON_BITS if a & b else a | b, (COMMON_BITS,))


def checked(name: str, width: int, signed: bool) -> Kernel:
    """Return the kernel of ``llvm.*.with.overflow``: the result modulo 2**width, and whether it is another number."""
    exact, reading, mask = ARITHMETIC[name], Reading(width, signed), mask_of(width)
    sign, low, high = reading.sign, reading.low, reading.high

    def scalar(a: int, b: int) -> Scalar:
        result = exact((a ^ sign) - sign, (b ^ sign) - sign)
        return result & mask, 0 if low <= result <= high else 1

    return mapped_kernel((width, width), (width, 1), scalar)


def saturating(name: str, width: int, signed: bool) -> Kernel:
    """Return the kernel of ``llvm.*add.sat`` and ``llvm.*sub.sat``: the nearest number that the width has."""
    exact, reading, mask = ARITHMETIC[name], Reading(width, signed), mask_of(width)
    sign, low, high = reading.sign, reading.low, reading.high

    def scalar(a: int, b: int) -> Scalar:
        return min(max(exact((a ^ sign) - sign, (b ^ sign) - sign), low), high) & mask

    return mapped_kernel((width, width), (width,), scalar)


def saturating_shift(width: int, signed: bool) -> Kernel:
    """Return the kernel of ``llvm.*shl.sat``: the product with a power of two, or the nearest number."""
    reading, mask = Reading(width, signed), mask_of(width)
    sign, low, high = reading.sign, reading.low, reading.high

    def scalar(a: int, b: int) -> Scalar:
        return SHIFT_TOO_FAR if b >= width else min(max((a ^ sign) - sign << b, low), high) & mask

    return mapped_kernel((width, width), (width,), scalar, (SHIFT_TOO_FAR,))


def funnel_shift(width: int, left: bool) -> Kernel:
    """Return the kernel of ``llvm.fshl`` and ``llvm.fshr``: one half of two integers side by side, moved by a number of
    bits modulo the width.
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
    """Return the kernel of ``llvm.abs``. The least integer is its own absolute value, or gives poison."""
    if not least_is_poison:
        return absi(width)
    sign, mask = Reading(width, True).sign, mask_of(width)

    def scalar(a: int) -> Scalar:
        return LEAST_NEGATED if a == sign else abs((a ^ sign) - sign) & mask

    return mapped_kernel((width,), (width,), scalar, (LEAST_NEGATED,))


def counted_zeros(width: int, leading: bool, zero_is_poison: bool) -> Kernel:
    """Return the kernel of ``llvm.ctlz`` and ``llvm.cttz``. Of 0 it is the width, or poison."""
    mask = mask_of(width)

    def scalar(a: int) -> Scalar:
        if not a:
            return ZERO_COUNTED if zero_is_poison else width & mask
        return width - a.bit_length() if leading else (a & -a).bit_length() - 1

    return mapped_kernel((width,), (width,), scalar, (ZERO_COUNTED,) if zero_is_poison else ())


def not_and(width: int) -> Kernel:
    """Return the kernel of ``atomicrmw nand``: the inverse of the common bits."""
    mask = mask_of(width)
    return mapped_kernel((width, width), (width,), lambda a, b: ~(a & b) & mask)


def wrapped_increment(width: int) -> Kernel:
    """Return the kernel of ``atomicrmw uinc_wrap``: 1 more, and 0 from the second operand on."""
    return mapped_kernel((width, width), (width,), lambda a, b: 0 if a >= b else a + 1)


def wrapped_decrement(width: int) -> Kernel:
    """Return the kernel of ``atomicrmw udec_wrap``: 1 less, but the second operand after 0 and above it."""
    return mapped_kernel((width, width), (width,), lambda a, b: b if not a or a > b else a - 1)


def conditional_subtraction(width: int) -> Kernel:
    """Return the kernel of ``atomicrmw usub_cond``: the difference, or the first operand if it is less than 0."""
    return mapped_kernel((width, width), (width,), lambda a, b: a - b if a >= b else a)
