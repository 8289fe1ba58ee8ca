"""Conversions of what a user gives (names of types, numbers, arrays, raw bits) to types and codes; and of codes to
arrays.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import formats, scalar
from halfulp.fp_formats.aliases import DTYPE_NAMES, known_as, name_of, unknown_type
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import FileLineCol
from halfulp.interp.ir.errors import InputError, ParseError, TypeMismatch, Unsupported
from halfulp.interp.ir.types import element_width, width_of
from halfulp.interp.text.parser import parse_type
from halfulp.interp.values import spelling
from halfulp.semantics import fixed_point
from halfulp.semantics.fixed_point import FixedFormat

# --- foreign arrays ---------------------------------------------------------------------------------------------------
#
# Arrays of other libraries as NumPy arrays with the same bits: torch tensors, masked arrays, other byte orders.

_PACKED = "torch.float4_e2m1fn_x2"


def as_array(data: Any, what: str) -> npt.NDArray[Any]:
    """Return an array, a tensor or nested lists as a NumPy array in the byte order of the machine.

    A torch tensor is detached; its floats that NumPy lacks become those of ml_dtypes, and a packed pair of
    float4_e2m1fn_x2 becomes two elements of the last axis, the low half of the byte first. A key of random numbers of
    JAX becomes its words.

    Raises InputError for masked elements, and TypeMismatch for rows of different lengths, and for a tensor that is not
    an ordinary one on the CPU.
    """
    if is_tensor(data):
        return _of_tensor(data, what)
    if _is_key(data):
        data = sys.modules["jax"].random.key_data(data)
    mask = masked(data)
    if mask is not None and mask.any():
        raise InputError(
            f"{what}: {np.count_nonzero(mask)} of {mask.size} elements are masked",
            hint='fill them with x.filled(…), or make them poison: hu.convert(x, to, masked="poison")',
        )
    if isinstance(data, list | tuple) and _holds_masked(data):
        raise InputError(f"{what}: the list holds masked elements", hint="give one array: np.ma.stack(x)")
    try:
        array = np.asarray(data)
    except (ValueError, RuntimeError) as error:
        raise TypeMismatch(f"{what} must be an array: {error}") from None
    except TypeError as error:
        if not isinstance(data, list | tuple) or isinstance(error, TypeMismatch):
            raise
        raise TypeMismatch(f"{what} must be an array: {error}", hint="give one tensor: torch.stack(x)") from None
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def masked(data: Any) -> npt.NDArray[np.bool_] | None:
    """Return the mask of a NumPy masked array, in its shape; None for anything else."""
    return np.ma.getmaskarray(data) if isinstance(data, np.ma.MaskedArray) else None


_MOST_AXES = 64


def _holds_masked(nested: list[Any] | tuple[Any, ...], depth: int = 0) -> bool:
    """Tell whether nested lists hold a masked array or element, since NumPy would drop the mask."""
    kinds = set(map(type, nested))
    if any(issubclass(kind, np.ma.MaskedArray) for kind in kinds):
        return any(isinstance(each, np.ma.MaskedArray) and np.ma.is_masked(each) for each in nested)
    if depth > _MOST_AXES or not any(issubclass(kind, list | tuple) for kind in kinds):
        return False
    return any(_holds_masked(each, depth + 1) for each in nested if isinstance(each, list | tuple))


def is_tensor(data: Any) -> bool:
    """Tell whether an object is a torch tensor. torch is not imported for it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(data, getattr(torch, "Tensor", ()))


def _is_key(data: Any) -> bool:
    """Tell whether an object is an array of JAX's keys of random numbers, which NumPy refuses. JAX is not imported."""
    jax: Any = sys.modules.get("jax")
    return jax is not None and isinstance(data, jax.Array) and jax.dtypes.issubdtype(data.dtype, jax.dtypes.prng_key)


def _of_tensor(tensor: Any, what: str) -> npt.NDArray[Any]:
    torch: Any = sys.modules["torch"]
    refused = (
        (tensor.is_meta, "has no values", "x with values, on the CPU"),
        (tensor.device.type != "cpu", f"is on the device {tensor.device}", "x.cpu()"),
        (tensor.layout is not torch.strided, f"has the layout {tensor.layout}", "x.to_dense()"),
        (tensor.is_quantized, f"is quantized ({tensor.dtype})", "x.dequantize(), or x.int_repr()"),
        (tensor.dtype.is_complex, f"is complex ({tensor.dtype})", "x.real and x.imag"),
    )
    for wrong, problem, way in refused:
        if wrong:
            raise TypeMismatch(f"{what}: the tensor {problem}", hint=f"give {way}")
    tensor = tensor.detach().resolve_neg()
    name = str(tensor.dtype)
    if name == _PACKED:
        return _unpacked(tensor.view(torch.uint8).numpy())
    if name.removeprefix("torch.") in vars(np):
        array: npt.NDArray[Any] = tensor.numpy()
        return array
    found = known_as(name)
    if found is None or found not in DTYPE_NAMES:
        raise TypeMismatch(f"{what}: tensors of {name} have no element type", hint="give x.to(torch.int8) or the like")
    bits = tensor.view(torch.uint8 if tensor.element_size() == 1 else torch.int16).numpy()
    return np.asarray(bits.view(_ml_dtype(DTYPE_NAMES[found])))


def _unpacked(pairs: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    codes = np.stack([pairs & 15, pairs >> 4], axis=-1)
    return codes.reshape((*pairs.shape[:-1], -1)).view(_ml_dtype(DTYPE_NAMES["f4E2M1FN"]))


@cache
def _ml_dtype(name: str) -> np.dtype[Any]:
    import ml_dtypes

    dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return dtype


# --- long doubles -----------------------------------------------------------------------------------------------------

LONG_DOUBLE: formats.FloatFormat | None = {63: formats.FORMATS["f80"], 112: formats.FORMATS["f128"]}.get(
    int(np.finfo(np.longdouble).nmant)
)
"""The format of NumPy's longdouble on this machine, where it is wider than f64 and one of ours."""


def long_double_codes(array: npt.NDArray[Any]) -> formats.Codes:
    """Return the codes of an array of longdouble: its bytes without the padding."""
    assert LONG_DOUBLE is not None
    size = array.dtype.itemsize
    raw = np.ascontiguousarray(array).reshape(array.shape).view()
    flat = np.frombuffer(raw.tobytes(), np.uint8).reshape(-1, size)
    codes = np.zeros((len(flat), 16), np.uint8)
    used = -(-LONG_DOUBLE.bits // 8)
    codes[:, :used] = flat[:, :used] if sys.byteorder == "little" else flat[:, -used:][:, ::-1]
    return codes.view("<u8").astype(np.uint64, copy=False).reshape((*array.shape, 2))


def long_doubles(codes: formats.Codes) -> npt.NDArray[Any]:
    """Return codes of `LONG_DOUBLE` as an array of longdouble."""
    shape = codes.shape[:-1]
    raw = np.frombuffer(codes.astype("<u8").tobytes(), np.uint8).reshape(-1, 16)[:, : np.dtype(np.longdouble).itemsize]
    raw = raw if sys.byteorder == "little" else raw[:, ::-1]
    return np.ascontiguousarray(raw).view(np.longdouble).reshape(shape)


# --- natural arrays ---------------------------------------------------------------------------------------------------
#
# The natural NumPy and ml_dtypes arrays of codes, and the element types that their dtypes name.

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
        table[ty.FloatType(formats.FORMATS[name])] = np.dtype(getattr(np if name in _PLAIN else ml_dtypes, dtype))
    return table


def _dtype_of(element: ty.Type) -> np.dtype[Any] | None:
    """Return the entry of `natural_dtypes`. It is kept in the type, because every array asks for it."""
    known = element.__dict__
    if "_dtype" not in known:
        known["_dtype"] = natural_dtypes().get(element)
    found: np.dtype[Any] | None = known["_dtype"]
    return found


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


def natural_array(element: ty.Type, bits: formats.Codes) -> npt.NDArray[Any]:
    """Return codes as the natural array of their element type (see `Value.numpy`), without a copy where possible.

    Codes of a type without such an array are returned unchanged; `natural_dtype` tells which types these are.
    """
    element = ty.numeric(element)
    dtype = _dtype_of(element)
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
    element = ty.numeric(element)
    match element:
        case ty.IntegerType():
            dtype: np.dtype[Any] = natural_array(element, np.empty((0, 1), formats.storage_dtype(element.width))).dtype
            return dtype
        case ty.FloatType() if element.format.name == "tf32":
            return np.dtype(np.float32)
        case ty.ComplexType():
            return _COMPLEX.get(str(element.element))
    if element_width(element) is None:
        return np.dtype(object)
    return _dtype_of(element)


_COMPLEX: dict[str, np.dtype[Any]] = {"f32": np.dtype(np.complex64), "f64": np.dtype(np.complex128)}


def _natural_integers(element: ty.IntegerType, bits: formats.Codes) -> npt.NDArray[Any]:
    width, unsigned = element.width, ty.is_unsigned(element)
    if element == ty.I1:
        return bits.view(np.bool_)
    if width > 64:
        ints = formats.limbs_to_ints(bits)
        if not unsigned:
            ints = [code - (1 << width) if code >> (width - 1) else code for code in ints]
        array = np.empty(len(ints), object)
        array[:] = ints
        return array.reshape(bits.shape[:-1])
    extended = _sign_extended(bits, width, unsigned)
    dtype = _dtype_of(element)
    return extended if dtype is None else extended.astype(dtype)


def _sign_extended(bits: formats.Codes, width: int, unsigned: bool) -> npt.NDArray[Any]:
    if unsigned or width == 0:
        return bits.view()
    signed = bits.view(np.dtype(f"i{bits.dtype.itemsize}"))
    spare = 8 * bits.dtype.itemsize - width
    return np.asarray((signed << spare) >> spare)


# --- coerce -----------------------------------------------------------------------------------------------------------

_START = FileLineCol("<type>", 1, 1)
_SIGNED = frozenset(ty.IntegerType(width, "signed") for width in (8, 16, 32, 64))
_UNSIGNED = frozenset(ty.IntegerType(width, "unsigned") for width in (8, 16, 32, 64))


_FIXED = re.compile(r"\s*((?:ac|ap|sc)_u?fixed)\s*<")
_SPELLED = "!halfulp.fixed<"
_NAME = re.compile(r"\s*[A-Za-z][\w.-]*(?: \w+)?\s*", re.ASCII)
_ELEMENT = re.compile(r"(?:[<,\s]|[\d?]x)([A-Za-z_]\w*)", re.ASCII)
_MOST_SEARCHED = 1000


def as_type(spelling: Any) -> ty.Type:
    """Return the type that a type object, a name, a dtype or a class means.

    ``spelling``: a float format, or one in fixed point; ``ac_fixed<16, 8, true, AC_RND, AC_SAT>``, of which the last
    three may be left out; MLIR text, ``tensor<4xf32>``; another common name, ``"bfloat16"`` (see
    `halfulp.fp_formats.aliases`); a dtype of NumPy, ml_dtypes, JAX or torch, or the class of its scalars; Python's
    float (f64), int (i64) or bool (i1).

    Raises ParseError for a wrong spelling, TypeMismatch for an object that is none of these.
    """
    if isinstance(spelling, ty.Type):
        return spelling
    if isinstance(spelling, formats.FloatFormat):
        return ty.FloatType(spelling)
    if isinstance(spelling, FixedFormat):
        return ty.FixedType(spelling)
    if isinstance(spelling, str) and spelling in formats.ALL_FORMATS:
        return ty.FloatType(formats.ALL_FORMATS[spelling])
    if isinstance(spelling, str) and (fixed := _FIXED.match(spelling)):
        return _in_fixed_point(fixed[1], spelling, fixed.end())
    name = name_of(spelling)
    if name is None:
        raise TypeMismatch(unknown_type(spelling), hint='spell it as MLIR does, as in "f32" or "tensor<4xf32>"')
    try:
        known = known_as(name)
    except ValueError as error:
        raise ParseError(str(error), location=_START) from None
    fmt = None if known is None else formats.format_named(known)
    if fmt is not None:
        return ty.FloatType(fmt)
    try:
        return parse_type(known or name)
    except ParseError as error:
        if _NAME.fullmatch(name):
            raise ParseError(unknown_type(spelling), location=_START) from None
        error.hint = error.hint or _hint_of_alias(name)
        raise


def _in_fixed_point(name: str, spelling: str, end: int) -> ty.Type:
    """Return the type ``ac_fixed<…>``, whose parameters begin at ``end``."""
    if name != "ac_fixed":
        signed = "false" if "ufixed" in name else "true"
        raise ParseError(
            f"{name} is not a type here: write ac_fixed<bits, bits before the point, {signed}, rounding, overflow>",
            location=_START,
            hint="the modes may have the names of ac_fixed, ap_fixed or SystemC, as in AC_RND, AP_RND, SC_RND",
        )
    try:
        return parse_type(f"{_SPELLED}{spelling[end:]}")
    except ParseError as error:
        place = error.location
        if isinstance(place, FileLineCol) and place.line == 1:
            error.location = replace(place, column=max(place.column - len(_SPELLED) + end, 1))
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
    """Return the type that ``data`` has if its elements are of ``type_``: a tensor type with the shape of ``data``. If
    ``type_`` is a whole type and not an element type, return it.

    The last axis of a uint64 array for elements wider than 64 bits holds limbs.
    """
    shape = np.shape(data)
    if type_ is not ty.element_type(type_) or not shape:
        return type_
    limbs = bool(ty.code_layout(type_)[1]) and np.asarray(data).dtype == np.uint64
    return ty.TensorType(shape[:-1] if limbs else shape, type_)


def codes_of(data: Any, type_: ty.Type, what: str, vscale: int | None = None, copy: bool = False) -> formats.Codes:
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
        codes = codes.copy() if copy or not codes.flags.aligned else codes  # machine code takes aligned codes alone
    shape = ty.shape_of_codes(codes, element)
    expected = ty.runtime_shape(type_, vscale)
    if expected is not None and len(expected) != len(shape):
        raise TypeMismatch(f"{what}: expected '{type_}', got an array of shape {ty.spell_shape(shape)}")
    conflict = ty.shape_conflict(type_, shape, vscale)
    if conflict:
        raise TypeMismatch(f"{what}: {conflict}")
    return codes


def codes_of_bits(bits: Any, type_: ty.Type) -> tuple[ty.Type, formats.Codes]:
    """Return the type and the codes of raw bits; see `Value.from_bits`. Raises TypeMismatch and Unsupported."""
    element = ty.element_type(type_)
    width = element_width(element)
    if width is None:
        raise Unsupported(f"'{element}' has no bit pattern")
    try:
        bits = formats.integers_of(bits, width)
    except ValueError as error:
        raise TypeMismatch(f"bits: {error}") from None
    # Python integers are whole bit patterns; NumPy would make floats of large ones.
    array = bits if isinstance(bits, np.ndarray | np.generic) else np.array(bits, object)
    codes = _codes_from_raw(np.asarray(array), width, type_)
    shape = ty.shape_of_codes(codes, element)
    if type_ is element and shape:
        type_ = ty.TensorType(shape, element)
    conflict = ty.shape_conflict(type_, shape)
    if conflict:
        raise TypeMismatch(conflict)
    return type_, codes


# --- numbers ----------------------------------------------------------------------------------------------------------


def _codes_from_number(number: bool | int | float, type_: ty.Type, element: ty.Type, what: str) -> formats.Codes:
    stored = ty.numeric(element)
    if type_ is not element:
        raise TypeMismatch(
            f"{what}: expected '{type_}', got the number {number!r}",
            hint="give an array, such as np.float32(2.0) for tensor<f32>",
        )
    if isinstance(stored, ty.FloatType):
        if isinstance(number, bool):
            raise TypeMismatch(f"{what}: expected '{type_}', got {number!r}")
        return formats.ints_to_codes([_float_of_number(stored.format, number, what)], stored.format.bits, ())
    if isinstance(stored, ty.FixedType):
        if isinstance(number, bool) or not math.isfinite(number):
            raise TypeMismatch(f"{what}: expected '{type_}', got {number!r}")
        code = fixed_point.code_of(stored.format, fixed_point.of_fraction(Fraction(number), stored.format))
        return formats.ints_to_codes([code], stored.format.width, ())
    if isinstance(number, float):
        raise TypeMismatch(f"{what}: expected '{type_}', got the float {number!r}")
    width = width_of(stored)
    low = 0 if ty.is_unsigned(stored) else -(1 << width >> 1)
    # A signless integer may be meant either way, as in MLIR's literals; index is signless too.
    signed = isinstance(stored, ty.IntegerType) and stored.signedness == "signed"
    high = (1 << width >> signed) - 1
    if not low <= number <= high:
        given = number if abs(number) >> 64 == 0 else "the number"
        raise TypeMismatch(f"{what}: {given} is outside the range of '{type_}', {spelling.range_text(low, high)}")
    return formats.ints_to_codes([int(number) & ((1 << width) - 1)], width, ())


def _float_of_number(format_: formats.FloatFormat, number: int | float, what: str) -> int:
    """Return the code of a Python number. Raises TypeMismatch for a number that no literal of the format can be."""
    if isinstance(number, int):
        negative, nan = number < 0, False
        code = scalar.from_integer(format_, number).code
    else:
        negative, nan = math.copysign(1.0, number) < 0, math.isnan(number)
        code = scalar.from_double(format_, number)
    if nan and format_.nan_code is None:
        raise TypeMismatch(f"{what}: {format_.name} has no NaN")
    if negative and not nan and not format_.signed:
        raise TypeMismatch(f"{what}: {format_.name} has no negative values: {number}")
    return code


def _codes_from_complex(data: Any, type_: ty.Type, pairs: np.dtype[Any], what: str) -> formats.Codes:
    """Return the codes of complex numbers: an array of their dtype, or a Python number whose parts are rounded."""
    element = ty.element_type(type_)
    if isinstance(data, int | float | complex) and not isinstance(data, np.generic | bool):
        if type_ is not element or not isinstance(element, ty.ComplexType):
            raise TypeMismatch(
                f"{what}: expected '{type_}', got the number {data!r}",
                hint="give an array, such as np.float32(2.0) for tensor<f32>",
            )
        part = element.element
        return np.stack([_codes_from_number(each, part, part, what) for each in (data.real, data.imag)])
    array = as_array(data, what)
    if array.dtype != pairs:
        raise TypeMismatch(
            f"{what}: expected '{type_}', got an array of dtype {array.dtype} and shape {ty.spell_shape(array.shape)}",
            hint=f"give an array of dtype {pairs}",
        )
    return np.ascontiguousarray(array).reshape(*array.shape, 1).view(ty.code_layout(element)[0])


# --- arrays -----------------------------------------------------------------------------------------------------------


def _codes_from_array(array: npt.NDArray[Any], type_: ty.Type, element: ty.Type, what: str) -> formats.Codes:
    stored = ty.numeric(element)
    width = width_of(stored)
    dtype, trailing = ty.code_layout(stored)
    natural = _dtype_of(stored)
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
    given = f"an array of dtype {array.dtype} and shape {ty.spell_shape(array.shape)}"
    raise TypeMismatch(f"{what}: expected '{type_}', got {given}", hint=hint)


def _clean(codes: formats.Codes, width: int) -> formats.Codes:
    """Clear the bits above the width, which the dtype ignores; in a bool, any nonzero byte is true."""
    if width >= 8 * codes.dtype.itemsize or not codes.size or not int(codes.max()) >> width:
        return codes
    return (codes != 0).view(np.uint8) if width == 1 else np.asarray(codes & codes.dtype.type((1 << width) - 1))


def _codes_from_objects(array: npt.NDArray[Any], element: ty.Type, width: int, given: str) -> formats.Codes:
    ints = [_whole(x, given) for x in array.ravel()]
    low = 0 if ty.is_unsigned(element) or not isinstance(element, ty.IntegerType) else -(1 << width >> 1)
    for number in ints:
        if not low <= number < 1 << width:
            shown = number if abs(number) >> 64 == 0 else "a number"
            raise TypeMismatch(f"{given}, but {shown} does not fit {width} bits")
    return formats.ints_to_codes([n & ((1 << width) - 1) for n in ints], width, array.shape)


def _codes_from_raw(array: npt.NDArray[Any], width: int, type_: ty.Type, what: str = "bits") -> formats.Codes:
    """Check raw bits against a width. Integers of any dtype are accepted where each fits, floats never."""
    dtype = formats.storage_dtype(width)
    limbs = formats.limb_count(width)
    if array.dtype == object or (
        array.dtype.kind in "iu" and limbs > 1 and (array.ndim == 0 or array.shape[-1] != limbs)
    ):
        flat = [_whole(x, what) for x in array.ravel()]
        bad = next((n for n in flat if not 0 <= n < 1 << width), None)
        if bad is not None:
            raise TypeMismatch(f"{what}: bit pattern {bad:#x} does not fit the {width} bits of '{type_}'")
        return formats.ints_to_codes(flat, width, array.shape)
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
