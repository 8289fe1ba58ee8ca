"""Integer ops of the math dialect: each function returns the `Kernel` for a width, as in `halfulp.semantics.integer`.

Source: the op descriptions of the math dialect's document. Where it is silent: the zeros of 0 are its width (ctlz,
cttz), the absolute value of the smallest integer is itself, powers wrap around.
"""

from __future__ import annotations

import numpy as np

from halfulp.fp_formats.codes import Codes
from halfulp.semantics.integer_kernels import Faults, Reading, integer_kernel, wrap
from halfulp.semantics.kernel import Kernel, Scalar, undefined

ZERO_TO_NEGATIVE_POWER = undefined("0 to a negative power")


def absi(width: int) -> Kernel:
    """Return the kernel of math.absi: the absolute value of a signed integer, modulo 2**width."""
    reading = Reading(width, True)
    sign, mask = reading.sign, (1 << width) - 1

    def array(a: Codes) -> tuple[tuple[Codes, ...], Faults]:
        values = reading.values(a)
        return (wrap(width, np.where(values < 0, -values, values)),), ()

    return integer_kernel((width,), (width,), lambda a: abs((a ^ sign) - sign) & mask, array)


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
    return integer_kernel((width, width), (width,), scalar, array, faults, worst=(0, mask))
