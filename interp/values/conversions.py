"""Choose the kernel of a conversion between two element types."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.policy import Rounding
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, TypeMismatch
from halfulp.interp.values.elements import Elements
from halfulp.semantics import casts, integer_casts
from halfulp.semantics.integer_casts import OVERFLOWS, Overflow, limits
from halfulp.semantics.kernel import Kernel
from halfulp.semantics.poison import zeroed
from halfulp.semantics.profile import SPEC, Profile


def conversion_kernel(
    from_: ty.Type,
    to: ty.Type,
    mode: Rounding | None,
    profile: Profile,
    random: npt.NDArray[Any] | None = None,
    shape: tuple[int, ...] = (),
    overflow: Overflow | None = None,
) -> Kernel:
    """Return the kernel of `halfulp.convert` between two element types.

    ``mode``: None for the default: to nearest even into floats, the profile's into integers. ``random``: the bits of
    stochastic rounding, for values of ``shape``. ``overflow``: what an integer becomes that another integer type
    does not have; needed between integers. Raises TypeMismatch for types that cannot be converted.
    """
    into_floats = Rounding.TO_NEAREST_EVEN if mode is None else mode
    match from_, to:
        case ty.FloatType(), ty.FloatType():
            if mode is Rounding.STOCHASTIC:
                kernel = casts.convert_stochastically(from_.format, to.format, profile)
                return kernel.given(random_bits(random, shape))
            return casts.convert(from_.format, to.format, into_floats, 0, profile)
        case ty.IntegerType(), ty.FloatType() if mode is not Rounding.STOCHASTIC:
            return casts.from_integer(from_.width, reads_signed(from_), to.format, profile, rounding=into_floats)
        case ty.FloatType(), ty.IntegerType() if mode is not Rounding.STOCHASTIC:
            return casts.to_integer(from_.format, to.width, reads_signed(to), profile, rounding=mode)
        case ty.IntegerType(), ty.IntegerType() if mode is None and overflow is not None:
            return integer_casts.convert(from_.width, reads_signed(from_), to.width, reads_signed(to), overflow)
    how = "" if mode is not Rounding.STOCHASTIC else " with stochastic rounding"
    raise TypeMismatch(f"cannot convert '{from_}' to '{to}'{how}")


def reads_signed(integer: ty.IntegerType) -> bool:
    """Tell whether a conversion reads an integer type as signed: all but unsigned ones and i1, which is 0 or 1."""
    return integer.signedness != "unsigned" and integer != ty.I1


def kernel_between_integers(
    source: Elements, from_: ty.IntegerType, to: ty.IntegerType, overflow: Overflow | None
) -> Kernel:
    """Return the kernel between integer types. Without ``overflow`` raise TypeMismatch for an element that does not
    fit.

    ``from_``: the element type of the source, as which it is read.
    """
    if overflow is None:
        bits = source.bits if source.poison is None else zeroed(source.bits, source.poison)
        found = integer_casts.outside(bits, from_.width, reads_signed(from_), to.width, reads_signed(to))
        if found is not None:
            raise out_of_range(*found, to)
    return conversion_kernel(from_, to, None, SPEC, overflow=overflow or "wrap")


def out_of_range(place: tuple[int, ...], number: int, to: ty.IntegerType) -> TypeMismatch:
    """Return the error for an integer that a type does not have, with the choices."""
    low, high = limits(to.width, reads_signed(to))
    where = f"element {list(place)} is" if place else "the number is"
    shown = str(number) if number.bit_length() < 256 else f"an integer of {number.bit_length()} bits"
    choices = ", ".join(f'overflow="{each}"' for each in OVERFLOWS)
    message = f"convert: {where} {shown}, which '{to}' does not have: its numbers are {low} to {high}"
    return TypeMismatch(message, hint=f"choose {choices}")


def check_overflow(overflow: Overflow | None, from_integers: bool, to: ty.Type) -> None:
    """Raise InputError for an unknown ``overflow``, and for one that is not between integer types."""
    if overflow is None:
        return
    if overflow not in OVERFLOWS:
        raise InputError(f"overflow is {overflow!r}, but must be one of {', '.join(OVERFLOWS)}")
    if not (from_integers and isinstance(to, ty.IntegerType)):
        hint = "into floats: saturate=True; from floats into integers: the field float_to_int of the profile"
        raise InputError("overflow is for conversions from integers to integers", hint=hint)


def not_stochastic(name: str) -> InputError:
    """Return the error for random bits that the rounding does not take."""
    return InputError(f"{name} is given, but the rounding is not stochastic", hint='give rounding="stochastic", too')


def random_bits(random: npt.NDArray[Any] | None, shape: tuple[int, ...]) -> tuple[npt.NDArray[Any], int]:
    """Return the random bits of stochastic rounding and their width. Raise unless there is one integer per element."""
    if random is None:
        raise InputError("stochastic rounding needs random=…: one unsigned integer per element")
    bits = np.asarray(random)
    if bits.dtype.kind != "u" or bits.shape != shape:
        raise TypeMismatch(
            f"random: expected unsigned integers of shape {shape}, got {bits.dtype} of shape {bits.shape}"
        )
    return bits, 8 * bits.dtype.itemsize
