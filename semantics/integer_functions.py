"""Integer ops of the math dialect: each function returns the `Kernel` for a width, as in `halfulp.semantics.integer`.

Source: the op descriptions of the math dialect's document. Where it is silent: the zeros of 0 are its width (ctlz,
cttz), the absolute value of the smallest integer is itself, powers wrap around.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from halfulp.fp_formats.codes import Codes
from halfulp.semantics.integer import SIGNED_OVERFLOW, UNSIGNED_OVERFLOW
from halfulp.semantics.integer_kernels import Faults, Reading, integer_kernel, mapped_kernel, wrap
from halfulp.semantics.kernel import Kernel, Scalar, undefined
from halfulp.semantics.meanings import Integral

ZERO_TO_NEGATIVE_POWER = undefined("0 to a negative power")


def absi(width: int, *, nsw: bool = False, nuw: bool = False) -> Kernel:
    """Return the kernel of math.absi: the absolute value of a signed integer, modulo 2**width. ``nsw``: that of the
    smallest integer is poison; as an unsigned number it is exact.
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
    """Return the kernel of math.cttz: the number of zeros below the lowest one; of 0, the width."""

    def array(a: Codes) -> tuple[tuple[Codes, ...], Faults]:
        below = ~a & (a - a.dtype.type(1)) & a.dtype.type((1 << width) - 1)
        return (_ones(width, below),), ()

    return integer_kernel((width,), (width,), lambda a: _kept((a & -a).bit_length() - 1 if a else width, width), array)


def ctlz(width: int) -> Kernel:
    """Return the kernel of math.ctlz: the number of zeros above the highest one; of 0, the width."""

    def array(a: Codes) -> tuple[tuple[Codes, ...], Faults]:
        filled, step = a, 1
        while step < width:
            filled = filled | filled >> a.dtype.type(step)
            step *= 2
        return (_ones(width, ~filled & a.dtype.type((1 << width) - 1)),), ()

    return integer_kernel((width,), (width,), lambda a: _kept(width - a.bit_length(), width), array)


def _kept(count: int, width: int) -> int:
    """Return a count modulo 2**width: only widths up to 2 have counts that need more bits."""
    return count & (1 << width) - 1


def _ones(width: int, a: Codes) -> Codes:
    return wrap(width, np.bitwise_count(a).astype(a.dtype))


def ipowi(width: int) -> Kernel:
    """Return the kernel of math.ipowi: the power of signed integers, modulo 2**width.

    A negative power is the reciprocal, rounded toward zero: 0 for a base beyond 1 and -1. Of 0 it is undefined.
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
    """Return the kernel of math.ipowi whose result is poison where the width does not hold the power, of a base that is
    signed with ``nsw``, and unsigned with ``nuw``.
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
