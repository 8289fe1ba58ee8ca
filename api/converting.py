"""Convert arrays and values between element types, rounding once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import FORMATS, is_bits
from halfulp.fp_formats.paths import llvm
from halfulp.fp_formats.policy import Rounding, as_rounding
from halfulp.inputs import Masked, as_value, drawn_bits, names_arguments, rounded_numbers, taken_as
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, TypeMismatch
from halfulp.interp.ir.types import shape_conflict
from halfulp.interp.values.coerce import as_type
from halfulp.interp.values.elements import applied, check_overflow, conversion_kernel, kernel_between_integers
from halfulp.interp.values.value import Value
from halfulp.semantics.integer import Overflow
from halfulp.semantics.profile import PROFILE_FIELDS, SPEC, Profile, as_profile

_WIDE = FORMATS["f128"]


@names_arguments
def convert(
    x: Any,
    to: Any,
    *,
    rounding: str | Rounding | None = None,
    type: Any = None,
    profile: Profile | str | None = None,
    saturate: bool | None = None,
    overflow: Overflow | None = None,
    masked: Masked = None,
    random: npt.NDArray[Any] | None = None,
    rng: np.random.Generator | None = None,
    seed: int | None = None,
) -> Value:
    """Convert numbers of any kind to another element type, rounding once.

    ``x``: an array, a number, nested lists, a `Value`, a torch tensor, a fraction, a decimal, numeric text or
    `bitstring.Bits`; the page on inputs lists them all.
    ``to``: a float or integer type: MLIR's name, another common name (``"bfloat16"``), a dtype, or a `FloatFormat`.
    ``rounding``: to_nearest_even (the default into floats), downward, upward, toward_zero (the default into integers),
    to_nearest_away, another name of one of them (``"RNE"``, ``"up"``), or stochastic.
    ``type``: the element type of ``x``, if the dtype of ``x`` does not determine it. A `bitstring.Bits` needs it: it
    holds the bits of one element of this type.
    ``profile``: the rules; by default the profile of the enclosing `profile` block, and spec outside of a block.
    Elements that have no value in the target (NaN in f4E2M1FN; NaN or out of range in an integer) are poison, unless
    the profile has another rule.
    ``saturate``: True gives the largest finite value if a number overflows a float type, as
    ``conversion_overflow=saturate`` in the profile does; False is ``conversion_overflow=format``.
    ``overflow``: what an integer becomes if the target is an integer type without that value: "wrap", "saturate" or
    "poison". By default such an integer raises an error.
    ``masked``: "poison" makes the masked elements of a NumPy masked array poison. By default they raise InputError.
    ``seed``, ``rng``, ``random``: the random bits. Stochastic rounding needs exactly one of the three. The result is
    rounded away from zero if the random bits, read as a fraction, are less than the discarded fraction.
    ``seed``: 0 to 2**64 - 1, the key of NumPy's Philox; each element takes 32 bits, in row-major order, the low half of
    each 64-bit word first.
    ``rng``: a NumPy generator, which draws 32 bits for each element.
    ``random``: one unsigned integer for each element.

        >>> hu.convert("1/3", "f8E4M3FN", rounding="up"), hu.convert([300, -5], "i8", overflow="saturate")
        (Value(f8E4M3FN=0.34375), Value(2xi8=127 -5))

    Raises TypeMismatch for inputs and types that cannot be converted, InputError for masked elements and for options
    that cannot be combined, ValueError for an unknown rounding mode.
    """
    llvm.check()
    mode = None if rounding is None else as_rounding(rounding)
    target = as_type(to)
    chosen = _saturating(profile, saturate)
    if not isinstance(x, np.ndarray | Value) and is_bits(x):
        x, type = _value_of_bits(x, type), None
    source = taken_as(x, "x", masked) if type is None else as_value(x, type, masked=masked, what="x")
    source = source.as_read() if isinstance(source, Value) else source
    element = ty.element_type(target)
    from_integers = not isinstance(source, Value) or isinstance(source.element_type, ty.IntegerType)
    _check_saturate(saturate, element)
    check_overflow(overflow, from_integers, element)
    bits = drawn_bits(random, rng, seed, source.shape, mode is Rounding.STOCHASTIC)
    if not isinstance(source, Value):
        return _with_type(rounded_numbers(source, element, mode, chosen, bits, overflow), target)
    result = ty.with_element(source.type, element) if target is element else target
    conflict = shape_conflict(result, source.shape)
    if conflict:
        raise TypeMismatch(f"convert: {conflict}")
    from_type = source.element_type
    if isinstance(from_type, ty.IntegerType):
        if isinstance(element, ty.IntegerType):
            if mode is not Rounding.STOCHASTIC:
                kernel = kernel_between_integers(source, from_type, element, overflow)
                return applied("convert", kernel, (source,), result)
        elif mode is Rounding.STOCHASTIC and from_type.width < _WIDE.precision:
            # Exact: the random bits decide the one rounding that follows.
            widened = conversion_kernel(from_type, ty.FloatType(_WIDE), None, SPEC)
            source = applied("convert", widened, (source,), ty.FloatType(_WIDE))
    kernel = conversion_kernel(
        source.element_type, element, mode, chosen, None if bits is None else bits[0], source.shape
    )
    return applied("convert", kernel, (source,), result)


def _saturating(profile: Profile | str | None, saturate: bool | None) -> Profile:
    """Return the profile with the overflow that ``saturate`` selects. Raise InputError if an explicit one differs."""
    chosen = as_profile(profile)
    if saturate is None:
        return chosen
    wanted = "saturate" if saturate else "format"
    if chosen.conversion_overflow == wanted:
        return chosen
    if profile is not None:
        raise InputError(
            f"saturate={saturate}, but the profile says conversion_overflow={chosen.conversion_overflow}",
            hint="leave out one of the two",
        )
    values = {field: getattr(chosen, field) for field in PROFILE_FIELDS} | {"conversion_overflow": wanted}
    return Profile(f"{chosen.name},conversion_overflow={wanted}", chosen.base, **values)


def _check_saturate(saturate: bool | None, to: ty.Type) -> None:
    """Raise InputError if ``saturate`` is given and the target is not a float type."""
    if saturate is not None and not isinstance(to, ty.FloatType):
        hint = 'from integers: overflow="saturate"; from floats: profile="spec,float_to_int=saturate" (NaN gives 0)'
        raise InputError(f"saturate is for float types, not for '{to}'", hint=hint)


def _with_type(value: Value, target: ty.Type) -> Value:
    """Return a value with a whole type instead of the tensor type of its shape. Raise TypeMismatch if that does not
    fit.
    """
    if target is ty.element_type(target):
        return value
    conflict = shape_conflict(target, value.shape)
    if conflict:
        raise TypeMismatch(f"convert: {conflict}")
    return Value(target, value.bits, value.poison, None, value.origins)


def _value_of_bits(x: Any, type: Any) -> Value:
    if type is None:
        raise TypeMismatch("bitstring.Bits has no element type", hint="give type=…, the type whose bits they are")
    return Value.from_bits(x, type)
