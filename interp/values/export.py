"""The ways of elements out of halfulp: Python numbers, and arrays of NumPy's dtypes. They never lie.

Poison, and a type that NumPy and ml_dtypes lack, are errors that name the way on. A float that becomes another float is
rounded by our conversion, once, to nearest even; an integer must fit. NumPy's and ml_dtypes' own casts are used only
where they change nothing.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import Codes, codes_to_ints
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths import cpu
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.values.coerce import codes_of
from halfulp.interp.values.conversions import conversion_kernel
from halfulp.interp.values.elements import Elements
from halfulp.interp.values.foreign_arrays import long_doubles
from halfulp.interp.values.natural_arrays import natural_array, natural_dtype, type_of_dtype
from halfulp.semantics.poison import first_place
from halfulp.semantics.profile import SPEC

_F64 = ty.FloatType(FORMATS["f64"])
_POISON_HINT = "v.masked() masks them, v.numpy(poison=0) or poison='nan' puts something there; v.poisoned is the mask"


def exported(value: Elements, poison: Any, signed: bool | None) -> npt.NDArray[Any]:
    """Return the natural array of a value; see `Value.numpy`. Raises TypeMismatch."""
    element = _read_as(value, signed)
    _dtype_of(element)
    return natural_array(element, value.bits if value.poison is None else _without_poison(value, poison))


def exported_dtype(value: Elements) -> np.dtype[Any]:
    """Return the dtype of `exported`. Raises TypeMismatch."""
    return _dtype_of(_read_as(value, None))


def _dtype_of(element: ty.Type) -> np.dtype[Any]:
    dtype = natural_dtype(element)
    if dtype is None:
        raise TypeMismatch(
            f"NumPy has no dtype for '{element}'",
            hint='v.astype("f64").numpy() rounds once, v.tolist() gives exact numbers, v.bits the raw codes',
        )
    return dtype


def array_of_dtype(value: Elements, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return the elements as an array of a dtype; see `Value.__array__`. Raises TypeMismatch."""
    element = _read_as(value, None)
    wanted = dtype.newbyteorder("=")
    natural = natural_dtype(element)  # None would equal float64
    if value.poison is None and natural is not None and natural == wanted:
        found = natural_array(element, value.bits)
    elif wanted == np.dtype(object):
        found = np.empty(value.shape, object)
        found.reshape(-1)[:] = numbers(value)
    else:
        check_clean(value)
        found = _cast(value, element, wanted)
    return found.astype(dtype, copy=False)  # the byte order at most


def numbers(value: Elements) -> list[Any]:
    """Return the elements as Python numbers, flat, in row-major order: exact ones, see `Value.item`.

    Raises TypeMismatch for poison, and for complex numbers that no Python number holds.
    """
    check_clean(value)
    element = _read_as(value, None)
    match element:
        case ty.FloatType():
            return _float_numbers(element.format, value.bits)
        case ty.ComplexType(element=ty.FloatType() as part) if _fits_f64(part.format):
            parts = _float_numbers(part.format, value.bits)
            return [complex(real, imaginary) for real, imaginary in zip(parts[::2], parts[1::2], strict=True)]
        case ty.ComplexType():
            raise TypeMismatch(f"no Python number holds every '{element}'", hint="v.bits has the raw codes")
    found: list[Any] = natural_array(element, value.bits).reshape(-1).tolist()
    return found


def check_clean(value: Elements) -> None:
    """Raise TypeMismatch, naming the number of poisoned elements and the first one's origin, if there are any."""
    if value.poison is None or not value.poison.any():
        return
    mask = value.poison != 0
    place = first_place(mask)
    origin = "" if value.origins is None else f": {value.origins[int(value.poison[place])]}"
    if not place:
        raise TypeMismatch(f"the value is poison{origin}", hint=_POISON_HINT)
    count = int(np.count_nonzero(mask))
    raise TypeMismatch(
        f"{count} of {mask.size} elements are poison, the first at {list(place)}{origin}", hint=_POISON_HINT
    )


def _read_as(value: Elements, signed: bool | None) -> ty.Type:
    """Return the element type as which integers are read: the signedness that is chosen, remembered, or the type's."""
    element = value.element_type
    if isinstance(element, ty.IndexType):
        element = ty.IntegerType(ty.INDEX_WIDTH)
    if isinstance(element, ty.IntegerType) and element.signedness == "signless":
        if signed is None and element.width == 1:
            return element
        chosen = value.unsigned if signed is None else not signed
        return ty.IntegerType(element.width, "unsigned" if chosen else "signed")
    if signed is not None:
        raise TypeMismatch(f"signed={signed} goes with signless integers, but the elements are '{element}'")
    return element


def _without_poison(value: Elements, poison: Any) -> Codes:
    """Return the codes with those of ``poison`` in place of poison."""
    if isinstance(poison, str) and poison == "raise":
        check_clean(value)
        return value.bits
    element = value.element_type
    if isinstance(poison, str):
        if poison != "nan":
            raise ValueError(f'poison is {poison!r}, but must be "raise", "nan" or a number')
        poison = math.nan
    lacks_nan = not isinstance(element, ty.FloatType) or element.format.nan_code is None
    if lacks_nan and isinstance(poison, float) and math.isnan(poison):
        raise TypeMismatch(f"'{element}' has no NaN", hint="give a number, as in poison=0, or use v.masked()")
    code = codes_of(poison, element, "poison")
    assert value.poison is not None
    mask = (value.poison != 0).reshape(value.poison.shape + (1,) * code.ndim)
    return np.where(mask, code, value.bits)


# Casts.


def _cast(value: Elements, element: ty.Type, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    target = type_of_dtype(dtype)
    match element, target:
        case (ty.FloatType() | ty.IntegerType(), ty.FloatType()):
            return _rounded(value, element, target)
        case (ty.IntegerType(), ty.IntegerType()) if dtype.kind in "iu":
            return _fitting(natural_array(element, value.bits), dtype)
    raise TypeMismatch(
        f"a value of type '{element}' does not become an array of dtype {dtype} on its own",
        hint="convert it by halfulp first, with .astype(…), which rounds once; then .numpy()",
    )


def _rounded(value: Elements, element: ty.Type, target: ty.FloatType) -> npt.NDArray[Any]:
    """Return numbers rounded once to a float type that NumPy has."""
    if element == ty.I1:
        element = ty.IntegerType(1, "unsigned")  # a bool is 0 or 1
    cpu.check()
    outcome = conversion_kernel(element, target, None, SPEC).array(value.bits)
    if outcome.faults:
        fault, mask = outcome.faults[0]
        place = list(first_place(np.broadcast_to(mask, value.shape)))
        raise TypeMismatch(f"{fault.reason}, which element {place} is", hint=f'v.astype("{target}") makes it poison')
    codes = outcome.results[0]
    return natural_array(target, codes) if natural_dtype(target) is not None else long_doubles(codes)


def _fitting(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return integers in another dtype. Raises TypeMismatch if one does not fit."""
    info = np.iinfo(dtype)
    if array.size:
        for number in (int(array.min()), int(array.max())):
            if not info.min <= number <= info.max:
                raise TypeMismatch(
                    f"{number} does not fit dtype {dtype}",
                    hint="v.numpy(signed=False) and v.numpy(signed=True) choose how signless integers are read",
                )
    return array.astype(dtype)


# Exact numbers.


@lru_cache(maxsize=256)
def _fits_f64(fmt: FloatFormat) -> bool:
    """Tell whether float64 holds every number of a format."""
    return fmt.precision <= 53 and fmt.emax <= 1023 and fmt.emin - fmt.mantissa_bits >= -1074


def _float_numbers(fmt: FloatFormat, bits: Codes) -> list[Any]:
    if fmt == FORMATS["f64"]:
        return list(bits.reshape(-1).view(np.float64).tolist())
    if _fits_f64(fmt):
        cpu.check()
        doubles = conversion_kernel(ty.FloatType(fmt), _F64, None, SPEC).array(bits).results[0]
        return list(np.asarray(doubles).reshape(-1).view(np.float64).tolist())
    return [_number(fmt, code) for code in codes_to_ints(bits, fmt.bits)]


def _number(fmt: FloatFormat, code: int) -> float | Fraction:
    """Return a float if it has exactly this value, else a Fraction."""
    exact = scalar.value(fmt, code)
    negative = fmt.sign_mask is not None and bool(code & fmt.sign_mask)
    if exact is None:
        return math.copysign(math.inf if fmt.is_infinite(code) else math.nan, -1 if negative else 1)
    try:
        number = float(exact)
    except OverflowError:
        return exact
    if number != exact:
        return exact
    return -0.0 if negative and not number else number


_ALL_DIGITS = Context(prec=200_000)
"""More digits than any number of a float format has: its exponents end at 2^-131,200."""


def exact_decimal(number: Fraction) -> Decimal:
    """Return a number of a float format, whose denominator is a power of two, as a decimal number with all digits."""
    return _ALL_DIGITS.divide(Decimal(number.numerator), Decimal(number.denominator))
