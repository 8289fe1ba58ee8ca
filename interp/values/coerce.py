"""Turn what a user gives into types and codes: spellings, numbers, arrays and raw bits."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.aliases import known_as, name_of, unknown_type
from halfulp.fp_formats.bit_patterns import integers_of
from halfulp.fp_formats.codes import Codes, ints_to_codes, limb_count, storage_dtype
from halfulp.fp_formats.formats import ALL_FORMATS, FloatFormat
from halfulp.fp_formats.named_formats import format_named
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import ParseError, TypeMismatch, Unsupported
from halfulp.interp.ir.locations import FileLineCol
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.text.parser import parse_type
from halfulp.interp.values.element_layout import (
    code_layout,
    is_unsigned,
    numeric,
    runtime_shape,
    shape_conflict,
    shape_of_codes,
    spell_shape,
)
from halfulp.interp.values.foreign_arrays import LONG_DOUBLE, as_array, long_double_codes
from halfulp.interp.values.natural_arrays import natural_dtype, natural_dtypes
from halfulp.interp.values.spelling import float_code, range_text

_START = FileLineCol("<type>", 1, 1)
_SIGNED = frozenset(ty.IntegerType(width, "signed") for width in (8, 16, 32, 64))
_UNSIGNED = frozenset(ty.IntegerType(width, "unsigned") for width in (8, 16, 32, 64))


_NAME = re.compile(r"\s*[A-Za-z][\w.-]*(?: \w+)?\s*", re.ASCII)
_ELEMENT = re.compile(r"(?:[<,\s]|[\d?]x)([A-Za-z_]\w*)", re.ASCII)
_MOST_SEARCHED = 1000


def as_type(spelling: Any) -> ty.Type:
    """Return a type from itself, or from what names it.

    ``spelling``: a float format; MLIR text, ``tensor<4xf32>``; a name that people type, ``"bfloat16"`` (see
    `halfulp.fp_formats.aliases`); a dtype of NumPy, ml_dtypes, JAX or torch, or the class of its scalars; Python's
    float (f64), int (i64) or bool (i1).

    Raises ParseError for a wrong spelling, TypeMismatch for an object that is none of these.
    """
    if isinstance(spelling, ty.Type):
        return spelling
    if isinstance(spelling, FloatFormat):
        return ty.FloatType(spelling)
    if isinstance(spelling, str) and spelling in ALL_FORMATS:
        return ty.FloatType(ALL_FORMATS[spelling])
    name = name_of(spelling)
    if name is None:
        raise TypeMismatch(unknown_type(spelling), hint='spell it as MLIR does, as in "f32" or "tensor<4xf32>"')
    try:
        known = known_as(name)
    except ValueError as error:
        raise ParseError(str(error), location=_START) from None
    fmt = None if known is None else format_named(known)
    if fmt is not None:
        return ty.FloatType(fmt)
    try:
        return parse_type(known or name)
    except ParseError as error:
        if _NAME.fullmatch(name):
            raise ParseError(unknown_type(spelling), location=_START) from None
        error.hint = error.hint or _hint_of_alias(name)
        raise


def _hint_of_alias(text: str) -> str | None:
    """Return how MLIR spells the first name in a text that only people use."""
    for name in _ELEMENT.findall(text[:_MOST_SEARCHED]):
        try:
            known = known_as(name)
        except ValueError as error:
            return str(error)
        if known not in (None, name):
            return f"MLIR text has {known} for {name}"
    return None


def container_of(data: npt.ArrayLike, type_: ty.Type) -> ty.Type:
    """Return the type of ``data`` with elements of ``type_``: a tensor of its shape where ``type_`` is an element type.

    The last axis of a uint64 array for elements wider than 64 bits holds limbs. A whole type is returned as it is.
    """
    shape = np.shape(data)
    if type_ is not ty.element_type(type_) or not shape:
        return type_
    limbs = bool(code_layout(type_)[1]) and np.asarray(data).dtype == np.uint64
    return ty.TensorType(shape[:-1] if limbs else shape, type_)


def codes_of(data: Any, type_: ty.Type, what: str, vscale: int | None = None, copy: bool = False) -> Codes:
    """Return the codes of an array or number as a value of exactly ``type_``; see `to_value`.

    Raises TypeMismatch, naming the expected and the given type, and Unsupported.
    """
    element = ty.element_type(type_)
    pairs = natural_dtype(element) if isinstance(element, ty.ComplexType) else None
    if (element_width(element) is None and pairs is None) or isinstance(type_, ty.MemRefType):
        raise Unsupported(f"{what}: values of type '{type_}' cannot be given as arrays")
    if pairs is not None:
        codes = _codes_from_complex(data, type_, pairs, what)
        codes = codes.copy() if copy else codes
    elif isinstance(data, bool | int | float) and not isinstance(data, np.generic):
        codes = _codes_from_number(data, type_, element, what)
    else:
        codes = _codes_from_array(as_array(data, what), type_, element, what)
        codes = codes.copy() if copy else codes
    shape = shape_of_codes(codes, element)
    expected = runtime_shape(type_, vscale)
    if expected is not None and len(expected) != len(shape):
        raise TypeMismatch(f"{what}: expected '{type_}', got an array of shape {spell_shape(shape)}")
    conflict = shape_conflict(type_, shape, vscale)
    if conflict:
        raise TypeMismatch(f"{what}: {conflict}")
    return codes


def codes_of_bits(bits: Any, type_: ty.Type) -> tuple[ty.Type, Codes]:
    """Return the type and the codes of raw bits; see `Value.from_bits`. Raises TypeMismatch and Unsupported."""
    element = ty.element_type(type_)
    width = element_width(element)
    if width is None:
        raise Unsupported(f"'{element}' has no bit pattern")
    try:
        bits = integers_of(bits, width)
    except ValueError as error:
        raise TypeMismatch(f"bits: {error}") from None
    # Python integers are whole bit patterns; NumPy would make floats of large ones.
    array = bits if isinstance(bits, np.ndarray | np.generic) else np.array(bits, object)
    codes = _codes_from_raw(np.asarray(array), width, type_)
    shape = shape_of_codes(codes, element)
    if type_ is element and shape:
        type_ = ty.TensorType(shape, element)
    conflict = shape_conflict(type_, shape)
    if conflict:
        raise TypeMismatch(conflict)
    return type_, codes


# --- numbers ----------------------------------------------------------------------------------------------------------


def _codes_from_number(number: bool | int | float, type_: ty.Type, element: ty.Type, what: str) -> Codes:
    stored = numeric(element)
    if type_ is not element:
        raise TypeMismatch(f"{what}: expected '{type_}', got the number {number!r}", hint="give an array")
    if isinstance(stored, ty.FloatType):
        if isinstance(number, bool):
            raise TypeMismatch(f"{what}: expected '{type_}', got {number!r}")
        return ints_to_codes([_float_of_number(stored.format, number, what)], stored.format.bits, ())
    if isinstance(number, float):
        raise TypeMismatch(f"{what}: expected '{type_}', got the float {number!r}")
    width = width_of(stored)
    low = 0 if is_unsigned(stored) else -(1 << width >> 1)
    # A signless integer may be meant either way, as in MLIR's literals; index is signless too.
    signed = isinstance(stored, ty.IntegerType) and stored.signedness == "signed"
    high = (1 << width >> signed) - 1
    if not low <= number <= high:
        given = number if abs(number) >> 64 == 0 else "the number"
        raise TypeMismatch(f"{what}: {given} is outside the range of '{type_}', {range_text(low, high)}")
    return ints_to_codes([int(number) & ((1 << width) - 1)], width, ())


def _float_of_number(format_: FloatFormat, number: int | float, what: str) -> int:
    """Return the code of a Python number. Raises TypeMismatch for what no literal of the format can be."""
    if isinstance(number, int):
        negative, nan = number < 0, False
        code = scalar.from_integer(format_, number).code
    else:
        negative, nan = math.copysign(1.0, number) < 0, math.isnan(number)
        code = float_code(format_, number)
    if nan and format_.nan_code is None:
        raise TypeMismatch(f"{what}: {format_.name} has no NaN")
    if negative and not nan and not format_.signed:
        raise TypeMismatch(f"{what}: {format_.name} has no negative values: {number}")
    return code


def _codes_from_complex(data: Any, type_: ty.Type, pairs: np.dtype[Any], what: str) -> Codes:
    """Return the codes of complex numbers: an array of their dtype, or a Python number, whose parts are rounded."""
    element = ty.element_type(type_)
    if isinstance(data, int | float | complex) and not isinstance(data, np.generic | bool):
        if type_ is not element or not isinstance(element, ty.ComplexType):
            raise TypeMismatch(f"{what}: expected '{type_}', got the number {data!r}", hint="give an array")
        part = element.element
        return np.stack([_codes_from_number(each, part, part, what) for each in (data.real, data.imag)])
    array = as_array(data, what)
    if array.dtype != pairs:
        raise TypeMismatch(
            f"{what}: expected '{type_}', got an array of dtype {array.dtype} and shape {spell_shape(array.shape)}",
            hint=f"give an array of dtype {pairs}",
        )
    return np.ascontiguousarray(array).reshape(*array.shape, 1).view(code_layout(element)[0])


# --- arrays -----------------------------------------------------------------------------------------------------------


def _codes_from_array(array: npt.NDArray[Any], type_: ty.Type, element: ty.Type, what: str) -> Codes:
    stored = numeric(element)
    width = width_of(stored)
    dtype, trailing = code_layout(stored)
    natural = natural_dtypes().get(stored)
    if array.dtype.type is np.longdouble and isinstance(stored, ty.FloatType) and stored.format is LONG_DOUBLE:
        return long_double_codes(array)
    if natural is not None and array.dtype == natural:
        return _clean(array.view(dtype), width)
    if isinstance(stored, ty.IntegerType | ty.IndexType) and natural is not None and width >= 8:
        # A signless or stored integer may come from either; a signed or unsigned one only from its own.
        kinds = "i" if element in _SIGNED else "u" if element in _UNSIGNED else "iu"
        if array.dtype.kind in kinds and array.dtype.itemsize == dtype.itemsize and array.dtype.isnative:
            return array.view(dtype)
    elif natural is None or width < 8:
        if array.dtype == object:
            return _codes_from_objects(array, stored, width, f"{what}: expected '{type_}'")
        if array.dtype == dtype:
            return _codes_from_raw(array, width, type_, what)
    if natural is not None:
        hint = f'give an array of dtype {natural}; hu.convert(x, "{element}") rounds, Value.from_bits takes raw bits'
    elif trailing:
        hint = f"give raw bits: a uint64 array with a last axis of {trailing[0]} limbs, least significant first"
    else:
        hint = f"give raw bits: an array of dtype {dtype}"
    given = f"an array of dtype {array.dtype} and shape {spell_shape(array.shape)}"
    raise TypeMismatch(f"{what}: expected '{type_}', got {given}", hint=hint)


def _clean(codes: Codes, width: int) -> Codes:
    """Clear the bits above the width, which the dtype ignores; any nonzero byte of a bool is true."""
    if width >= 8 * codes.dtype.itemsize or not codes.size or not int(codes.max()) >> width:
        return codes
    return (codes != 0).view(np.uint8) if width == 1 else np.asarray(codes & codes.dtype.type((1 << width) - 1))


def _codes_from_objects(array: npt.NDArray[Any], element: ty.Type, width: int, given: str) -> Codes:
    ints = [_whole(x, given) for x in array.ravel()]
    low = 0 if is_unsigned(element) or not isinstance(element, ty.IntegerType) else -(1 << width >> 1)
    for number in ints:
        if not low <= number < 1 << width:
            shown = number if abs(number) >> 64 == 0 else "a number"
            raise TypeMismatch(f"{given}, but {shown} does not fit {width} bits")
    return ints_to_codes([n & ((1 << width) - 1) for n in ints], width, array.shape)


def _codes_from_raw(array: npt.NDArray[Any], width: int, type_: ty.Type, what: str = "bits") -> Codes:
    """Check raw bits against a width. Integers of any dtype are accepted where each fits, floats never."""
    dtype = storage_dtype(width)
    limbs = limb_count(width)
    if array.dtype == object or (
        array.dtype.kind in "iu" and limbs > 1 and (array.ndim == 0 or array.shape[-1] != limbs)
    ):
        flat = [_whole(x, what) for x in array.ravel()]
        bad = next((n for n in flat if not 0 <= n < 1 << width), None)
        if bad is not None:
            raise TypeMismatch(f"{what}: bit pattern {bad:#x} does not fit the {width} bits of '{type_}'")
        return ints_to_codes(flat, width, array.shape)
    if array.dtype.kind not in "iub":
        raise TypeMismatch(f"{what}: raw bits must be unsigned integers, got dtype {array.dtype}")
    last = array[..., -1] if limbs > 1 else array
    spare = width - 64 * (limbs - 1)
    bad_mask = (last < 0) if array.dtype.kind == "i" else np.zeros(last.shape, np.bool_)
    if spare < 8 * array.dtype.itemsize:
        bad_mask = bad_mask | ((last >> array.dtype.type(spare)) != 0)
    if bad_mask.any():
        pattern = int(np.asarray(last)[bad_mask].ravel()[0])
        raise TypeMismatch(f"{what}: bit pattern {pattern:#x} does not fit the {width} bits of '{type_}'")
    return array.astype(dtype)


def _whole(number: Any, what: str) -> int:
    """Return an element of an object array as an integer. Raises TypeMismatch."""
    if not isinstance(number, int | np.integer):
        raise TypeMismatch(f"{what}: raw bits must be unsigned integers, got {number!r}")
    return int(number)
