"""The natural NumPy and ml_dtypes arrays of codes, and the element types that their dtypes name."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.aliases import DTYPE_NAMES
from halfulp.fp_formats.codes import Codes, limbs_to_ints, storage_dtype
from halfulp.fp_formats.formats import FORMATS
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import element_width
from halfulp.interp.values.element_layout import is_unsigned, numeric
from halfulp.interp.values.foreign_arrays import LONG_DOUBLE

_PLAIN = ("f16", "f32", "f64")
# ml_dtypes keeps 2- and 4-bit integers in a byte whose upper bits are ignored on reading: accepted, masked.
_NARROW = {2: ("int2", "uint2"), 4: ("int4", "uint4")}
_INTEGERS = {width: (f"int{width}", f"uint{width}") for width in (8, 16, 32, 64)}


@cache
def natural_dtypes() -> dict[ty.Type, np.dtype[Any]]:
    """Return the dtype of each element type whose codes are exactly the bits of a NumPy or ml_dtypes dtype."""
    import ml_dtypes

    table: dict[ty.Type, np.dtype[Any]] = {ty.I1: np.dtype(np.bool_), ty.IndexType(): np.dtype(np.int64)}
    for integers, home in ((_INTEGERS, np), (_NARROW, ml_dtypes)):
        for width, (signed, unsigned) in integers.items():
            table[ty.IntegerType(width)] = table[ty.IntegerType(width, "signed")] = np.dtype(getattr(home, signed))
            table[ty.IntegerType(width, "unsigned")] = np.dtype(getattr(home, unsigned))
    for name, dtype in DTYPE_NAMES.items():
        table[ty.FloatType(FORMATS[name])] = np.dtype(getattr(np if name in _PLAIN else ml_dtypes, dtype))
    return table


@cache
def _types_of_dtypes(unsigned: bool) -> dict[np.dtype[Any], ty.Type]:
    table: dict[np.dtype[Any], ty.Type] = {}
    for element, dtype in natural_dtypes().items():
        if isinstance(element, ty.IndexType):
            continue
        if isinstance(element, ty.IntegerType):
            nonnegative = unsigned and (element.width == 1 or element.signedness == "unsigned")
            element = ty.IntegerType(element.width, "unsigned" if nonnegative else "signless")
        table.setdefault(dtype, element)
    return table


def type_of_dtype(dtype: np.dtype[Any], unsigned: bool = False) -> ty.Type | None:
    """Return the element type that a dtype names, or None.

    Integers are signless, as in MLIR's arith, whatever sign their dtype has; with ``unsigned``, those of an unsigned
    dtype and bool are unsigned.
    """
    if dtype.type is np.longdouble and LONG_DOUBLE is not None:
        return ty.FloatType(LONG_DOUBLE)
    return _types_of_dtypes(unsigned).get(dtype)


def natural_array(element: ty.Type, bits: Codes) -> npt.NDArray[Any]:
    """Return codes as the natural array of their element type (see `Value.numpy`), without a copy where possible.

    Codes of a type without a natural array stay as they are: `natural_dtype` tells.
    """
    element = numeric(element)
    dtype = natural_dtypes().get(element)
    if dtype is not None and element_width(element) == 8 * bits.dtype.itemsize:
        return bits.view(dtype)
    if isinstance(element, ty.IntegerType):
        return _natural_integers(element, bits)
    if isinstance(element, ty.FloatType) and dtype is not None:  # f4 and f6: ml_dtypes keeps one element in a byte
        return bits.view(dtype)
    if isinstance(element, ty.ComplexType) and (pairs := natural_dtype(element)) is not None:
        return np.ascontiguousarray(bits).view(pairs)[..., 0]
    if isinstance(element, ty.FloatType) and element.format.name == "tf32":
        return (bits << np.uint32(13)).view(np.float32)
    return bits.view()


@cache
def natural_dtype(element: ty.Type) -> np.dtype[Any] | None:
    """Return the dtype of the natural array of an element type; None if NumPy and ml_dtypes have none for it."""
    element = numeric(element)
    match element:
        case ty.IntegerType():
            dtype: np.dtype[Any] = natural_array(element, np.empty((0, 1), storage_dtype(element.width))).dtype
            return dtype
        case ty.FloatType() if element.format.name == "tf32":
            return np.dtype(np.float32)
        case ty.ComplexType():
            return _COMPLEX.get(str(element.element))
    if element_width(element) is None:
        return np.dtype(object)
    return natural_dtypes().get(element)


_COMPLEX: dict[str, np.dtype[Any]] = {"f32": np.dtype(np.complex64), "f64": np.dtype(np.complex128)}


def _natural_integers(element: ty.IntegerType, bits: Codes) -> npt.NDArray[Any]:
    width, unsigned = element.width, is_unsigned(element)
    if element == ty.I1:
        return bits.view(np.bool_)
    if width > 64:
        ints = limbs_to_ints(bits)
        if not unsigned:
            ints = [code - (1 << width) if code >> (width - 1) else code for code in ints]
        array = np.empty(len(ints), object)
        array[:] = ints
        return array.reshape(bits.shape[:-1])
    extended = _sign_extended(bits, width, unsigned)
    dtype = natural_dtypes().get(element)
    return extended if dtype is None else extended.astype(dtype)


def _sign_extended(bits: Codes, width: int, unsigned: bool) -> npt.NDArray[Any]:
    if unsigned or width == 0:
        return bits.view()
    signed = bits.view(np.dtype(f"i{bits.dtype.itemsize}"))
    spare = 8 * bits.dtype.itemsize - width
    return np.asarray((signed << spare) >> spare)
