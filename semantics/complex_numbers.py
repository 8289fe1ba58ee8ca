"""Kernels on complex numbers. An array of complex codes has one more axis, before any axis of limbs: the real and the
imaginary part.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes, FloatFormat, Mask, limb_count
from halfulp.fp_formats.paths import complex_functions as paths
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.scalar import OEQ, OLT, UNE, UNO
from halfulp.semantics import floats
from halfulp.semantics.kernel import Fault, Kernel, Outcome, faults_of
from halfulp.semantics.profile import Profile


def _no_scalar(*codes: int) -> Any:
    """Return None: no integer is the code of a complex number."""
    return None


def _axis(fmt: FloatFormat) -> int:
    """Return the axis of the two parts, counted from the last."""
    return -1 if limb_count(fmt.bits) == 1 else -2


def parts_of(codes: Codes, fmt: FloatFormat) -> tuple[Codes, Codes]:
    """Return the real and the imaginary parts of complex numbers, as two arrays of codes."""
    axis = _axis(fmt)
    return codes.take(0, axis), codes.take(1, axis)


def of_parts(real: Codes, imaginary: Codes, fmt: FloatFormat) -> Codes:
    """Return the complex numbers with these real and imaginary parts."""
    limbs = real.ndim - (_axis(fmt) == -2)
    return np.stack(np.broadcast_arrays(real, imaginary), limbs)


def _either(mask: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a mask of the numbers of which at least one part is marked."""
    found: npt.NDArray[Any] = np.bitwise_or.reduce(mask, axis=-1)
    return found


def by_parts(kernel: Kernel) -> Kernel:
    """Return a kernel on complex numbers that applies ``kernel`` to the real parts and to the imaginary parts."""

    def array(*codes: Codes) -> Outcome:
        outcome = kernel.array(*codes)
        return Outcome(outcome.results, tuple((fault, _either(mask)) for fault, mask in outcome.faults))

    def open_(operands: tuple[Codes, ...], results: tuple[Codes, ...]) -> npt.NDArray[np.uint8] | None:
        mask = None if kernel.open is None else kernel.open(operands, results)
        return None if mask is None else _either(mask)

    return Kernel(
        _no_scalar, array, open=None if kernel.open is None else open_, opens=kernel.opens, faults=kernel.faults
    )


def _spoiled(fmt: FloatFormat, fastmath: int, codes: Codes) -> tuple[tuple[Fault, Mask], ...]:
    """Return the faults of complex operands with NaN or infinite parts, under fast-math flags."""
    return faults_of((fault, _either(test(fmt, codes))) for fault, _, test in floats.fastmath_rules(fastmath, fmt))


def _kernel(array: Callable[..., Outcome], fmt: FloatFormat, fastmath: int) -> Kernel:
    return Kernel(_no_scalar, array, faults=tuple(fault for fault, _, _ in floats.fastmath_rules(fastmath, fmt)))


@lru_cache(maxsize=256)
def binary(name: str, fmt: FloatFormat, fastmath: int, profile: Profile) -> Kernel:
    """Return the kernel of "add" or "subtract"."""
    return by_parts(floats.binary(name, fmt, Rounding.TO_NEAREST_EVEN, fastmath, profile))


@lru_cache(maxsize=256)
def negate(fmt: FloatFormat, fastmath: int, profile: Profile) -> Kernel:
    """Return the kernel that negates both parts."""
    return by_parts(floats.unary("negate", fmt, fastmath, profile))


@lru_cache(maxsize=256)
def conjugate(fmt: FloatFormat, fastmath: int, profile: Profile) -> Kernel:
    """Return the kernel that negates the imaginary part."""
    negated = floats.unary("negate", fmt, 0, profile)

    def array(codes: Codes) -> Outcome:
        real, imaginary = parts_of(codes, fmt)
        (opposite,) = negated.array(imaginary).results
        return Outcome((of_parts(real, opposite, fmt),), _spoiled(fmt, fastmath, codes))

    return _kernel(array, fmt, fastmath)


@lru_cache(maxsize=256)
def create(fmt: FloatFormat) -> Kernel:
    """Return the kernel that makes complex numbers of its two operands, the real and the imaginary parts."""
    return _kernel(lambda real, imaginary: Outcome((of_parts(real, imaginary, fmt),)), fmt, 0)


@lru_cache(maxsize=256)
def part(which: int, fmt: FloatFormat, fastmath: int) -> Kernel:
    """Return the kernel that gives the real (``which`` = 0) or the imaginary (1) part of complex numbers."""

    def array(codes: Codes) -> Outcome:
        return Outcome((parts_of(codes, fmt)[which],), _spoiled(fmt, fastmath, codes))

    return _kernel(array, fmt, fastmath)


@lru_cache(maxsize=256)
def equal(fmt: FloatFormat, profile: Profile, unequal: bool) -> Kernel:
    """Return the kernel that compares complex numbers: 1 if both parts are equal; with ``unequal``, if one is not."""
    compared = floats.compare(UNE if unequal else OEQ, fmt, 0, profile)
    join = np.bitwise_or if unequal else np.bitwise_and

    def array(a: Codes, b: Codes) -> Outcome:
        (found,) = compared.array(a, b).results
        return Outcome((join.reduce(found, axis=-1),))

    return _kernel(array, fmt, 0)


# --- functions --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def function(name: str, fmt: FloatFormat, profile: Profile) -> Kernel:
    """Return the kernel of a function of one number, each part of the exact result rounded once. ``name``: one of
    `halfulp.fp_formats.reals.complex_functions`. ``fmt``: a format of up to 64 bits.
    """
    return _kernel(lambda z: Outcome((paths.unary(name, fmt, z, profile.arithmetic),)), fmt, 0)


@lru_cache(maxsize=64)
def function_of_two(name: str, fmt: FloatFormat, profile: Profile) -> Kernel:
    """Return the kernel of ``divide``, ``power`` or ``atan2`` of two complex numbers. Each part of the exact result is
    rounded once.
    """
    return _kernel(lambda z, w: Outcome((paths.binary(name, fmt, z, w, profile.arithmetic),)), fmt, 0)


@lru_cache(maxsize=64)
def extremum(largest: bool, fmt: FloatFormat, profile: Profile) -> Kernel:
    """Return the kernel of the larger or the smaller of two complex numbers: the real parts are compared, and if they
    are equal the imaginary ones. If a number has a NaN, it is the result.
    """
    below = floats.compare(OLT, fmt, 0, profile)
    same = floats.compare(OEQ, fmt, 0, profile)
    unordered = floats.compare(UNO, fmt, 0, profile)
    quieted = by_parts(floats.binary("maximum", fmt, Rounding.TO_NEAREST_EVEN, 0, profile))

    def array(a: Codes, b: Codes) -> Outcome:
        (x, y), (u, v) = parts_of(a, fmt), parts_of(b, fmt)

        def holds(kernel: Kernel, one: Codes, other: Codes) -> Mask:
            found: Mask = kernel.array(one, other).results[0] != 0
            return found

        less = holds(below, x, u) | (holds(same, x, u) & holds(below, y, v))
        first = ~less if largest else less | (holds(same, x, u) & holds(same, y, v))
        nan = [holds(unordered, real, real) | holds(unordered, imag, imag) for real, imag in ((x, y), (u, v))]
        first = np.where(nan[0] | nan[1], nan[0], first)
        chosen = np.where(np.expand_dims(first, _axis(fmt)), a, b)
        return Outcome(
            (np.where(np.expand_dims(nan[0] | nan[1], _axis(fmt)), quieted.array(chosen, chosen).results[0], chosen),)
        )

    return _kernel(array, fmt, 0)
