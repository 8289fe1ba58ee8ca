"""The layout of elements: widths, storage dtypes and run-time shapes of the values of a type.

A code is the raw bit pattern of an element: unsigned, zero-extended, in the smallest of uint8/16/32/64 that holds it.
Elements wider than 64 bits have one more trailing axis of uint64 limbs, least significant first. A complex element has
a trailing axis of two (real, imaginary) before the limbs. Elements that are carried but not computed with (strings,
opaque attributes) are an object array.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from halfulp.fp_formats.codes import Codes, limb_count, storage_dtype
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch, Unsupported

MAX_RANK = 62
"""NumPy's limit of 64 axes, less those that one element may take: real and imaginary part, and limbs."""
_MAX_ARRAY_BYTES = (1 << 63) - 1
_WIDEST = 1 << 8
"""At least the bytes of one element, whatever its type."""


@lru_cache(maxsize=1024)
def code_layout(element: ty.Type) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return the storage dtype of an element type's codes and the trailing axes of one element. In memory an element
    may be a vector.
    """
    if isinstance(element, ty.ComplexType):
        dtype, limbs = code_layout(element.element)
        return dtype, (2, *limbs)
    if isinstance(element, ty.VectorType) and not any(element.scalable):
        dtype, limbs = code_layout(element.element)
        return dtype, (*element.shape, *limbs)
    width = ty.element_width(element)
    if width is None:
        return np.dtype(object), ()
    count = limb_count(width)
    return storage_dtype(width), () if count == 1 else (count,)


def has_layout(type_: ty.Type, codes: Codes) -> bool:
    """Tell whether an array has the dtype and the trailing axes of codes of a type."""
    dtype, trailing = code_layout(ty.element_type(type_))
    return codes.dtype == dtype and (not trailing or codes.shape[-len(trailing) :] == trailing)


def shape_of_codes(codes: Codes, element: ty.Type) -> tuple[int, ...]:
    """Return the shape of an array of codes in elements: without the trailing axes of one element."""
    return codes.shape[: codes.ndim - len(code_layout(element)[1])]


def numeric(element: ty.Type) -> ty.Type:
    """Return the integer type in which a quantised element is stored; any other element type itself."""
    if isinstance(element, ty.UniformQuantizedType | ty.AnyQuantizedType):
        return ty.IntegerType(element.storage_width, "signed" if element.storage_signed else "unsigned")
    return element


def is_unsigned(element: ty.Type) -> bool:
    """Tell whether the type says that its integers are unsigned."""
    if isinstance(element, ty.UniformQuantizedType):
        return not element.storage_signed
    return isinstance(element, ty.IntegerType) and element.signedness == "unsigned"


def runtime_shape(type_: ty.Type, vscale: int | None = None) -> tuple[int | None, ...] | None:
    """Return the shape of a type's values: () for a scalar, None for an unknown dimension, None alone for unranked.

    Raises Unsupported for a scalable vector without ``vscale``.
    """
    if isinstance(type_, ty.VectorType):
        if not any(type_.scalable):
            return type_.shape
        if vscale is None:
            raise Unsupported(
                f"the number of elements of '{type_}' depends on the machine", hint="give vscale=N (--vscale=N)"
            )
        return tuple(n * vscale if scales else n for n, scales in zip(type_.shape, type_.scalable, strict=True))
    return ty.shape_of(type_)


def shape_conflict(type_: ty.Type, shape: tuple[int, ...], vscale: int | None = None) -> str | None:
    """Say why a value of that shape is not of that type; None where it is.

    The text names both shapes, or both numbers of a quantisation rule.
    """
    expected = runtime_shape(type_, vscale)
    if expected is not None and (
        len(expected) != len(shape) or any(e is not None and e != n for e, n in zip(expected, shape, strict=True))
    ):
        return f"a value of shape {spell_shape(shape)} is not of type '{type_}'"
    element = ty.element_type(type_)
    return ty.check_quantized_container(element, shape) if isinstance(element, ty.UniformQuantizedType) else None


def shape_problem(shape: Sequence[int]) -> str | None:
    """Say why NumPy cannot make an array of this shape, even one that needs no memory; None where it can."""
    if len(shape) > MAX_RANK:
        return f"has {len(shape)} dimensions; the limit is {MAX_RANK}"
    # Dimensions of size 0 do not count.
    if math.prod([size for size in shape if size]) > _MAX_ARRAY_BYTES // _WIDEST:
        return f"has the shape {spell_shape(tuple(shape))}, too large for any array"
    return None


def concrete(type_: ty.Type, shape: tuple[int, ...]) -> ty.Type:
    """Replace the dynamic dimensions of a tensor type by those of ``shape``."""
    return replace(type_, shape=shape) if isinstance(type_, ty.TensorType) and type_.shape != shape else type_


def spell_shape(shape: tuple[int, ...]) -> str:
    """Spell a shape as MLIR does between the angle brackets: ``2x3``; ``scalar`` for rank 0."""
    return "x".join(map(str, shape)) or "scalar"


def narrowed_index(codes: Codes, what: str) -> Codes:
    """Reduce index codes of 64 bits to 32, in the same storage. Raises TypeMismatch for a number that does not fit."""
    signed = codes.view(np.int64)
    if signed.size:
        for number in (int(signed.min()), int(signed.max())):
            if not -(1 << 31) <= number < 1 << 32:
                raise TypeMismatch(f"{what}: {number} does not fit the 32 bits selected for index")
    return np.asarray(codes & np.uint64(0xFFFFFFFF))
