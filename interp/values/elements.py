"""The class `Elements`: the content of a `Value`, and functions that move its elements, convert them, and give them to
kernels.

Modules on which `Value` depends use this class; their results have the class of the operands.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from math import prod
from struct import pack, unpack
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask, codes_to_ints, ints_to_codes
from halfulp.fp_formats.paths import llvm
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, TypeMismatch
from halfulp.interp.ir.types import code_layout, has_layout, shape_of_codes, spell_shape
from halfulp.interp.values import coerce
from halfulp.semantics import casts, fixed_point, integer
from halfulp.semantics.integer import OVERFLOWS, Overflow, limits
from halfulp.semantics.kernel import (
    ArrayImplementation,
    Fault,
    Kernel,
    Open,
    Origin,
    Origins,
    PoisonIds,
    first_place,
    merged_ids,
    with_faults,
    zeroed,
)
from halfulp.semantics.profile import SPEC, Profile

Marks = npt.NDArray[np.uint8] | npt.NDArray[np.int64] | npt.NDArray[np.complex128] | npt.NDArray[np.float64]
"""What elements carry besides poison: uint8 with bits of `halfulp.semantics.kernel.Open`, int64 ids of a lineage,
complex128 shadows, an error and its radius, or float64 shadows, an error alone.
"""


class Elements:
    """Elements of a type: their codes, their poison and their unspecified bits. `Value` is the only subclass.

    Functions on values are written for this class. They make their results as objects of the class of an operand,
    `Value`.
    """

    __slots__ = ("bits", "open", "origins", "poison", "type", "unsigned")

    #: The MLIR type.
    type: ty.Type
    #: The codes, with the trailing axes of one element.
    bits: Codes
    #: The ids of origins in the element shape; None when no element is poison.
    poison: PoisonIds | None
    #: The mask of elements that the language leaves unspecified, or what a recorder marked them with.
    open: Marks | None
    #: The table that the ids of ``poison`` name.
    origins: Origins | None
    #: True if signless integers are read as unsigned numbers where they leave halfulp.
    unsigned: bool

    def __init__(
        self,
        type: ty.Type,
        bits: Codes | None = None,
        poison: PoisonIds | None = None,
        open: Marks | None = None,
        origins: Origins | None = None,
        unsigned: bool = False,
    ) -> None:
        if not isinstance(type, ty.Type) or not isinstance(bits, np.ndarray | np.generic) or not has_layout(type, bits):
            raise _no_codes(type, bits)
        put = object.__setattr__
        put(self, "type", type)
        put(self, "bits", _frozen(bits))
        if poison is not None:
            if getattr(poison, "shape", None) != self.shape or poison.dtype != np.uint16:
                raise TypeMismatch(f"the poison of '{type}' is an array of uint16 with the shape of the elements")
            if origins is None:
                poison, origins = _unknown_origins(poison)
        put(self, "poison", None if poison is None else _frozen(poison))
        put(self, "open", None if open is None else _frozen(open))
        put(self, "origins", origins)
        put(self, "unsigned", unsigned)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Value is immutable; cannot set {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Value is immutable; cannot delete {name!r}")

    @property
    def element_type(self) -> ty.Type:
        """The type of one element; for a scalar, its type."""
        return ty.element_type(self.type)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in elements, without the limb axis."""
        return shape_of_codes(self.bits, self.element_type)

    @property
    def over_lanes(self) -> bool:
        """True for a value of a batch with a leading axis over lanes, which its type does not have."""
        rank = ty.shape_of(self.type)
        return rank is not None and len(self.shape) > len(rank)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def poisoned(self) -> npt.NDArray[np.bool_]:
        """A bool mask of the elements that are poison."""
        return np.zeros(self.shape, np.bool_) if self.poison is None else self.poison != 0

    def origin(self, *index: int) -> Origin | None:
        """Return the origin of the poison of the element at ``index``; None if it is not poison."""
        if len(index) != self.ndim:
            raise IndexError(f"a value of shape {spell_shape(self.shape)} takes {self.ndim} indices, not {len(index)}")
        if self.poison is None or self.origins is None:
            return None
        poison_id = int(self.poison[index])
        return self.origins[poison_id] if poison_id else None


V = TypeVar("V", bound=Elements)
"""The class of the operands of a function, and of its result: `Value`."""


def _no_codes(type: object, bits: object) -> TypeMismatch:
    """Return the error for a constructor that did not get a type and codes."""
    if isinstance(type, ty.Type) and isinstance(bits, np.ndarray | np.generic):
        dtype, trailing = code_layout(ty.element_type(type))
        axes = f" with last axes of {spell_shape(trailing)}" if trailing else ""
        what = f"the codes of '{type}' are an array of dtype {dtype}{axes}, not {bits.dtype} of shape {bits.shape}"
    else:
        what = f"Value takes a type and an array of codes, not {kind_of(type)} and {kind_of(bits)}"
    return TypeMismatch(
        what, hint='write hu.convert([0.1, 0.2], "bf16") to round numbers, hu.Value.from_bits(bits, "bf16") for codes'
    )


def kind_of(given: object) -> str:
    """Return a text that names the class of an object that is not a value, for an error."""
    return f"an object of type {type(given).__name__}"


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view; if the array owns its data, nobody can make it writable again."""
    array = np.asarray(array)  # ufuncs return scalars for rank 0
    array.flags.writeable = False
    return array.view()


def reshaped_type(type_: ty.Type, old: tuple[int, ...], new: tuple[int, ...]) -> ty.Type:
    """Return the type of a value whose elements were moved: its own type if the shape is the same, else a tensor or a
    scalar.

    Raises TypeMismatch if the scale of a quantised element depends on its place, so that it cannot move.
    """
    element = ty.element_type(type_)
    if isinstance(element, ty.UniformQuantizedType) and element.along_axes:
        raise TypeMismatch(
            f"the scales of '{element}' belong to places, so its elements cannot be moved",
            hint="convert to real numbers first: hu.dequantize(v)",
        )
    if new == old:
        return type_
    return ty.TensorType(new, element) if new else element


def common_origins(values: Sequence[Elements]) -> tuple[list[PoisonIds | None], Origins | None]:
    """Return the poison of values with ids of one table, and the table; None if nothing is poison.

    If the values share a table, it is that one. Otherwise it is a new one, because their tables never change.
    """
    tables = {id(value.origins): value.origins for value in values if value.poison is not None}
    if len(tables) <= 1:
        return [value.poison for value in values], next(iter(tables.values()), None)
    together = Origins()
    ids = [
        None if value.poison is None or value.origins is None else together.adopt(value.poison, value.origins)
        for value in values
    ]
    return ids, together


def _unknown_origins(ids: PoisonIds) -> tuple[PoisonIds, Origins]:
    """Return poison that came without a table of origins, together with a new table."""
    table = Origins()
    if not ids.any():
        return ids, table
    one = table.id_of(Origin("input", "", "poison that was given", first_place(ids != 0)))
    return np.where(ids != 0, np.uint16(one), np.uint16(0)), table


# --- conversions ------------------------------------------------------------------------------------------------------
#
# Conversions of elements: the kernels between element types.


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
    stochastic rounding, for values of ``shape``. ``overflow``: the rule for an integer that another integer type does
    not have; needed between integer types. Raises TypeMismatch for types that cannot be converted.
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
        case ty.FloatType(), ty.FixedType() if mode is None:
            return fixed_point.from_float(from_.format, to.format, profile)
        case ty.FixedType(), ty.FixedType() if mode is None:
            return fixed_point.convert(from_.format, to.format)
        case ty.FixedType(), ty.FloatType() if mode is not Rounding.STOCHASTIC:
            return fixed_point.to_float(from_.format, to.format, into_floats, profile)
        case ty.IntegerType(), ty.IntegerType() if mode is None and overflow is not None:
            return integer.convert(from_.width, reads_signed(from_), to.width, reads_signed(to), overflow)
    how = "" if mode is not Rounding.STOCHASTIC else " with stochastic rounding"
    raise TypeMismatch(f"cannot convert '{from_}' to '{to}'{how}")


def reads_signed(integer: ty.IntegerType) -> bool:
    """Tell whether a conversion reads an integer type as signed: all types except unsigned ones and i1, which is 0 or
    1.
    """
    return integer.signedness != "unsigned" and integer != ty.I1


def kernel_between_integers(
    source: Elements, from_: ty.IntegerType, to: ty.IntegerType, overflow: Overflow | None
) -> Kernel:
    """Return the kernel between integer types. Raise TypeMismatch for an element that does not fit if there is no
    ``overflow``.

    ``from_``: the element type as which the source is read.
    """
    if overflow is None:
        bits = source.bits if source.poison is None else zeroed(source.bits, source.poison)
        found = integer.outside(bits, from_.width, reads_signed(from_), to.width, reads_signed(to))
        if found is not None:
            raise out_of_range(*found, to)
    return conversion_kernel(from_, to, None, SPEC, overflow=overflow or "wrap")


def out_of_range(place: tuple[int, ...], number: int, to: ty.IntegerType) -> TypeMismatch:
    """Return the error for an integer that a type does not have; it lists the choices."""
    low, high = limits(to.width, reads_signed(to))
    where = f"element {list(place)} is" if place else "the number is"
    shown = str(number) if number.bit_length() < 256 else f"an integer of {number.bit_length()} bits"
    choices = ", ".join(f'overflow="{each}"' for each in OVERFLOWS)
    message = f"convert: {where} {shown}, which '{to}' does not have: its numbers are {low} to {high}"
    return TypeMismatch(message, hint=f"choose {choices}")


def check_overflow(overflow: Overflow | None, from_integers: bool, to: ty.Type) -> None:
    """Raise InputError for an unknown ``overflow``, and for one in a conversion that is not between integer types."""
    if overflow is None:
        return
    if overflow not in OVERFLOWS:
        raise InputError(f"overflow is {overflow!r}, but must be one of {', '.join(OVERFLOWS)}")
    if not (from_integers and isinstance(to, ty.IntegerType)):
        hint = "into floats: saturate=True; from floats into integers: the field float_to_int of the profile"
        raise InputError("overflow is for conversions from integers to integers", hint=hint)


def not_stochastic(name: str) -> InputError:
    """Return the error for random bits that the rounding does not use."""
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


# --- export -----------------------------------------------------------------------------------------------------------
#
# The ways of elements out of halfulp: Python numbers, and arrays of NumPy's dtypes. They never lie.
#
# Poison, and a type that NumPy and ml_dtypes lack, are errors that name the way on. A float that becomes another float
# is rounded by our conversion, once, to nearest even; an integer must fit. NumPy's and ml_dtypes' own casts are used
# only where they change nothing.

_F64 = ty.FloatType(FORMATS["f64"])
_POISON_HINT = "v.masked() masks them, v.numpy(poison=0) or poison='nan' puts something there; v.poisoned is the mask"


def exported(value: Elements, poison: Any, signed: bool | None) -> npt.NDArray[Any]:
    """Return the natural array of a value; see `Value.numpy`. Raises TypeMismatch."""
    element = _read_as(value, signed)
    _dtype_of(element)
    return coerce.natural_array(element, value.bits if value.poison is None else _without_poison(value, poison))


def exported_dtype(value: Elements) -> np.dtype[Any]:
    """Return the dtype of `exported`. Raises TypeMismatch."""
    return _dtype_of(_read_as(value, None))


def _dtype_of(element: ty.Type) -> np.dtype[Any]:
    dtype = coerce.natural_dtype(element)
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
    natural = coerce.natural_dtype(element)  # None would equal float64
    if value.poison is None and natural is not None and natural == wanted:
        found = coerce.natural_array(element, value.bits)
    elif wanted == np.dtype(object):
        found = np.empty(value.shape, object)
        found.reshape(-1)[:] = numbers(value)
    else:
        check_clean(value)
        found = _cast(value, element, wanted)
    return found.astype(dtype, copy=False)  # the byte order at most


def numbers(value: Elements) -> list[Any]:
    """Return the elements as exact Python numbers, flat, in row-major order; see `Value.item`.

    Raises TypeMismatch for poison, and for complex numbers that no Python number holds.
    """
    check_clean(value)
    element = _read_as(value, None)
    match element:
        case ty.FloatType():
            return _float_numbers(element.format, value.bits)
        case ty.FixedType():
            return [_plain_number(fixed_point.value(element.format, code), False)
                    for code in codes_to_ints(value.bits, element.format.width)]  # fmt: skip
        case ty.ComplexType(element=ty.FloatType() as part) if _fits_f64(part.format):
            parts = _float_numbers(part.format, value.bits)
            return [complex(real, imaginary) for real, imaginary in zip(parts[::2], parts[1::2], strict=True)]
        case ty.ComplexType():
            raise TypeMismatch(
                f"Python has no type for all numbers of type '{element}'", hint="v.bits has the raw codes"
            )
    found: list[Any] = coerce.natural_array(element, value.bits).reshape(-1).tolist()
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
    """Return the element type as which integers are read: with the signedness that was chosen, remembered, or is that
    of the type.
    """
    element = value.element_type
    if isinstance(element, ty.IndexType):
        element = ty.IntegerType(ty.INDEX_WIDTH)
    if isinstance(element, ty.IntegerType) and element.signedness == "signless":
        if signed is None and element.width == 1:
            return element
        chosen = value.unsigned if signed is None else not signed
        return ty.IntegerType(element.width, "unsigned" if chosen else "signed")
    if signed is not None:
        raise TypeMismatch(f"signed={signed} can be used only with signless integers, but the elements are '{element}'")
    return element


def _without_poison(value: Elements, poison: Any) -> Codes:
    """Return the codes, with codes of ``poison`` in place of poisoned elements."""
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
    code = coerce.codes_of(poison, element, "poison")
    assert value.poison is not None
    mask = (value.poison != 0).reshape(value.poison.shape + (1,) * code.ndim)
    return np.where(mask, code, value.bits)


_DLPACK: Mapping[str, int] = {
    "bfloat16": 4,
    "float8_e3m4": 7,
    "float8_e4m3": 8,
    "float8_e4m3b11fnuz": 9,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
}
"""The dtypes of ml_dtypes that DLPack has: their DLDataTypeCode in dlpack.h, version 1.1."""
CPU = (1, 0)
"""DLPack's name of the CPU: kDLCPU, and the number of the device."""
_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


def dlpack(value: Elements, device: tuple[int, int], copy: bool | None) -> object:
    """Return a capsule of DLPack, without a version, that has a copy of the natural array of a value.

    Raises TypeMismatch for poison and for a type that NumPy and ml_dtypes lack, BufferError for one that DLPack lacks,
    for a device other than the CPU, and for ``copy=False``: the program that takes the capsule may write to the array,
    but a value never changes.
    """
    if copy is False:
        raise BufferError("a Value never changes, so DLPack always gets a copy: leave out copy=False")
    if tuple(device) != CPU:
        raise BufferError(f"a Value is on the CPU, not on the device {tuple(device)}")
    array = exported(value, "raise", None).copy()
    code = _DLPACK.get(array.dtype.name)
    if code is None and array.dtype.kind not in "biufc":
        raise BufferError(f"DLPack does not pass elements of type '{value.element_type}': v.bits has the raw codes")
    if code is None:
        return array.__dlpack__()
    # NumPy refuses dtypes of ml_dtypes. It gives the codes as unsigned integers, whose type is then replaced.
    capsule: object = array.view(f"u{array.dtype.itemsize}").__dlpack__()
    # In DLTensor, the type follows the pointer, the device (two int32) and the rank (one int32).
    place = _pointer_in(capsule, b"dltensor") + ctypes.sizeof(ctypes.c_void_p) + 12
    ctypes.c_uint8.from_address(place).value = code
    return capsule


# Casts.


def _cast(value: Elements, element: ty.Type, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    target = coerce.type_of_dtype(dtype)
    match element, target:
        case (ty.FloatType() | ty.IntegerType(), ty.FloatType()):
            return _rounded(value, element, target)
        case (ty.IntegerType(), ty.IntegerType()) if dtype.kind in "iu":
            return _fitting(coerce.natural_array(element, value.bits), dtype)
    raise TypeMismatch(
        f"a Value of type '{element}' is not converted to an array of dtype {dtype} implicitly",
        hint="convert it first with .astype(…), which rounds once; then call .numpy()",
    )


def _rounded(value: Elements, element: ty.Type, target: ty.FloatType) -> npt.NDArray[Any]:
    """Return numbers rounded once to a float type that NumPy has."""
    if element == ty.I1:
        element = ty.IntegerType(1, "unsigned")  # a bool is 0 or 1
    llvm.check()
    outcome = conversion_kernel(element, target, None, SPEC).array(value.bits)
    if outcome.faults:
        fault, mask = outcome.faults[0]
        place = list(first_place(np.broadcast_to(mask, value.shape)))
        raise TypeMismatch(f"{fault.reason}, element {place}", hint=f'v.astype("{target}") makes it poison')
    codes = outcome.results[0]
    return (
        coerce.natural_array(target, codes) if coerce.natural_dtype(target) is not None else coerce.long_doubles(codes)
    )


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
        llvm.check()
        doubles = conversion_kernel(ty.FloatType(fmt), _F64, None, SPEC).array(bits).results[0]
        return list(np.asarray(doubles).reshape(-1).view(np.float64).tolist())
    return [_number(fmt, code) for code in codes_to_ints(bits, fmt.bits)]


def _number(fmt: FloatFormat, code: int) -> float | Fraction:
    """Return a float if it has exactly this value, else a Fraction."""
    exact = scalar.value(fmt, code)
    negative = fmt.sign_mask is not None and bool(code & fmt.sign_mask)
    if exact is None:
        return math.copysign(math.inf if fmt.is_infinite(code) else math.nan, -1 if negative else 1)
    return _plain_number(exact, negative)


def _plain_number(exact: Fraction, negative: bool) -> float | Fraction:
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


# --- cells ------------------------------------------------------------------------------------------------------------
#
# Move the elements of a value: index it, and apply NumPy's functions of shape to it, without a copy where NumPy makes
# none.
#
# An element whose code has several words (limbs, or the two parts of a complex number) becomes one *cell*, an item of a
# void dtype, so that NumPy moves it as a whole and no function needs to know of trailing axes.

Cells = npt.NDArray[Any]
"""An array with one item for each element."""


def cells_of(codes: Codes, element: ty.Type) -> Cells:
    """Return codes as cells, one for each element. The memory is shared if an element is one word, or if its words lie
    side by side.
    """
    dtype, trailing = code_layout(element)
    if not trailing:
        return codes
    words = prod(trailing)
    shape = codes.shape[: codes.ndim - len(trailing)]
    side_by_side = codes.reshape(*shape, words)
    if side_by_side.strides[-1] != dtype.itemsize:
        side_by_side = np.ascontiguousarray(side_by_side)
    return side_by_side.view(np.dtype((np.void, words * dtype.itemsize)))[..., 0]


def codes_of_cells(cells: Cells, element: ty.Type) -> Codes:
    """Return the codes of cells, in the same memory."""
    dtype, trailing = code_layout(element)
    if not trailing:
        return cells
    return cells[..., None].view(dtype).reshape(*cells.shape, *trailing)


def moved(value: V, function: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> V:
    """Return the elements of a value after a move; ``function`` moves the elements of an array of its shape.

    Raises TypeMismatch for a quantised type whose scales belong to places.
    """
    element, shape = value.element_type, value.shape
    cells = np.asarray(function(cells_of(value.bits, element)))
    return _moved(value, reshaped_type(value.type, shape, cells.shape), cells, function)


def rearranged(value: V, function: Callable[[Any], Any]) -> V:
    """Return a value of the same type whose codes, poison and marks are what ``function`` returns for those of
    ``value``.
    """
    poison, open_ = (None if marks is None else function(marks) for marks in (value.poison, value.open))
    return type(value)(value.type, function(value.bits), poison, open_, value.origins)


def joined(values: Sequence[V], function: Callable[[list[npt.NDArray[Any]]], npt.NDArray[Any]]) -> V:
    """Return the elements of several values of one element type, put together; ``function`` does this for a list of
    arrays.
    """
    first = values[0]
    element = first.element_type
    cells = function([cells_of(value.bits, element) for value in values])
    type_ = reshaped_type(ty.TensorType((-1,), element), (-1,), cells.shape)
    bits = codes_of_cells(cells, element)
    poisons, origins = common_origins(values)
    poison = None
    if origins is not None:
        poison = function([_filled(ids, value, np.uint16) for ids, value in zip(poisons, values, strict=True)])
    open_ = None
    if any(value.open is not None for value in values):
        open_ = function([_filled(value.open, value, np.uint8) for value in values])
    return type(first)(type_, bits, *_clean(poison, origins, open_), all(value.unsigned for value in values))


def item(value: V, key: Any) -> V:
    """Return the elements at a NumPy index, which may hold values: integers, or masks of type i1.

    Raises IndexError as NumPy does.
    """
    keys = tuple(map(_plain, key)) if isinstance(key, tuple) else (_plain(key),)
    if not any(part is Ellipsis for part in keys):
        keys = (*keys, Ellipsis)  # so that a single element is a view, too

    def take(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(array[keys])

    return moved(value, take)


def _plain(key: Any) -> Any:
    """Return one part of an index as NumPy takes it."""
    if not isinstance(key, Elements):
        return key
    element = key.element_type
    if not isinstance(element, ty.IntegerType | ty.IndexType):
        raise IndexError(f"a value of type '{element}' is not an index; indices are integers, slices and masks of i1")
    return exported(key, "raise", None)


def _moved(value: V, type_: ty.Type, cells: Cells, function: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> V:
    bits = codes_of_cells(cells, value.element_type)
    poison = None if value.poison is None else np.asarray(function(value.poison))
    open_ = None if value.open is None else np.asarray(function(value.open))
    return type(value)(type_, bits, *_clean(poison, value.origins, open_), value.unsigned)


def _clean(poison: Any, origins: Any, open_: Any) -> tuple[Any, Any, Any]:
    """Return poison, open mask and origins as a value has them: None if no element is poison."""
    return (poison, open_, origins) if poison is not None and poison.any() else (None, open_, None)


def _filled(mask: Any, value: Elements, dtype: Any) -> npt.NDArray[Any]:
    return np.zeros(value.shape, dtype) if mask is None else np.asarray(mask)


def check_one_element_type(what: str, values: Sequence[Elements]) -> ty.Type:
    """Return the element type of all values. Raises TypeMismatch if they differ."""
    first = values[0].element_type
    for value in values[1:]:
        other = value.element_type
        if other != first:
            raise TypeMismatch(
                f"{what}: the operands have different types, '{first}' and '{other}'",
                hint=f'convert one of them first: .astype("{first}") rounds once',
            )
    return first


# --- elementwise ------------------------------------------------------------------------------------------------------


class Applied(NamedTuple):
    """The results of a kernel, and what `apply` found out about its operands."""

    #: The codes that the kernel got.
    operands: tuple[Codes, ...]
    #: The codes of each result, of no meaning where an element is poison or has a fault.
    results: tuple[Codes, ...]
    #: The poison of the operands, merged; None if there is none.
    poison: PoisonIds | None
    #: The faults of the kernel, also those of poisoned elements.
    faults: tuple[tuple[Fault, Mask], ...]


def apply(
    kernel: Kernel,
    codes: tuple[Codes, ...],
    poison: Sequence[PoisonIds | None],
    shape: tuple[int, ...],
    array: ArrayImplementation | None = None,
) -> Applied:
    """Apply a kernel to operands whose axes are aligned to ``shape``; some elements may be poison.

    Poison may be any value: a kernel that can be undefined gets its worst value in place of poison. ``array``: the
    function to call in place of the kernel's own array code.
    """
    ids = merged_ids(poison, shape) if any(each is not None for each in poison) else None
    if ids is not None and kernel.worst is not None:
        codes = tuple(
            [
                bits if own is None else _with_worst(bits, own, worst, shape)
                for bits, own, worst in zip(codes, poison, kernel.worst, strict=True)
            ]
        )
    outcome = (array or kernel.array)(*codes)
    return Applied(codes, outcome.results, ids, outcome.faults)


def _with_worst(bits: Codes, ids: PoisonIds, worst: int, shape: tuple[int, ...]) -> Codes:
    """Return the codes of an operand with the worst value in place of poison."""
    limbs = bits.shape[len(shape) :]
    code = ints_to_codes([worst], 64 * limbs[0] if limbs else 8 * bits.dtype.itemsize, ())
    spoiled = ids != 0
    return np.where(spoiled.reshape((1,) * (len(shape) - ids.ndim) + ids.shape + (1,) * len(limbs)), code, bits)


def applied(op: str, kernel: Kernel, operands: Sequence[V], element: ty.Type) -> V:
    """Apply the kernel of an op without undefined behaviour to operands that broadcast as NumPy's do.

    ``element``: the type of the result, or that of its elements.
    """
    llvm.check()
    shapes = [operand.shape for operand in operands]
    shape = shapes[0]
    if any(each != shape for each in shapes):
        shape = _common_shape(op, shapes)
    codes = tuple(
        operand.bits if own == shape else _spread(operand.bits, own, shape)
        for operand, own in zip(operands, shapes, strict=True)
    )
    poison, origins = common_origins(operands)
    found = apply(kernel, codes, poison, shape)
    (bits,), ids = found.results, found.poison
    if found.faults:
        table = Origins()
        ids = None if ids is None or origins is None else table.adopt(ids, origins)
        reasons = [(fault.reason, mask) for fault, mask in found.faults]
        ids = with_faults(ids, reasons, shape, lambda why, new: table.id_of(Origin(op, "", why, first_place(new))))
        origins = None if ids is None else table
    if ids is not None:
        bits = zeroed(np.asarray(bits), ids)
    open_ = _open(kernel, operands, codes, found.results, shape)
    if element is not ty.element_type(element):
        return type(operands[0])(element, bits, ids, open_, origins)
    container = next((operand.type for operand, own in zip(operands, shapes, strict=True) if own == shape), None)
    if not isinstance(container, ty.ShapedType):
        type_ = ty.TensorType(shape, element) if shape else element
    else:
        type_ = container if ty.element_type(container) == element else ty.with_element(container, element)
    return type(operands[0])(type_, bits, ids, open_, origins)


def beside(what: str, operands: Sequence[Any]) -> tuple[Elements, ...]:
    """Return all operands as values of one element type: that of the operands that are values already.

    A Python number takes that type, as a literal of MLIR does; so does `numpy.float64`, which is a Python float. Any
    other scalar of NumPy, and an array of any library, must have exactly that type. Raises TypeMismatch.
    """
    values = [operand for operand in operands if isinstance(operand, Elements)]
    element = check_one_element_type(what, values)
    if len(values) == len(operands):
        return tuple(operands)
    return tuple(
        operand if isinstance(operand, Elements) else as_operand(what, operand, element, values[0])
        for operand in operands
    )


def as_operand(what: str, given: Any, element: ty.Type, beside: V) -> V:
    """Return a number or array that is used together with a value, as a value with this element type. Raises
    TypeMismatch.
    """
    ours = isinstance(given, np.ndarray | np.generic)
    if ours and not given.ndim and given.dtype == np.float64 and element != _F64:
        given = float(given)  # NumPy makes an array without dimensions of the number in np.float64(2) < v
    elif not ours and hasattr(given, "__dlpack__"):
        given = coerce.as_array(given, what)
    if isinstance(given, np.ndarray | np.generic):
        if not _is_of(given.dtype, element):
            raise TypeMismatch(
                f"{what}: an array of dtype {given.dtype} cannot be combined with a value of type '{element}'",
                hint=f'round it once first: hu.convert(x, "{element}"); or convert the value: .astype(…)',
            )
        type_ = ty.TensorType(given.shape, element) if given.ndim else element
        return type(beside)(type_, coerce.codes_of(given, type_, what), unsigned=given.dtype.kind == "u")
    if isinstance(given, bool | int | float):
        # By their bits, since -0.0 and 0.0 are equal.
        codes = _literal(what, element, pack("d", given) if isinstance(given, float) else given)
        return type(beside)(element, codes)
    raise TypeMismatch(
        f"{what}: an operand of type {type(given).__name__} cannot be combined with a value of type '{element}'",
        hint=f'round it once first: hu.convert(x, "{element}")',
    )


@lru_cache(maxsize=4096, typed=True)
def _literal(what: str, element: ty.Type, number: bytes | int) -> Codes:
    given: float | int = unpack("d", number)[0] if isinstance(number, bytes) else number
    return coerce.codes_of(given, element, what)


def _is_of(dtype: np.dtype[Any], element: ty.Type) -> bool:
    """Tell whether arrays of this dtype hold exactly the elements of this type; integers may be of either sign."""
    if isinstance(element, ty.IndexType):
        return dtype in (np.dtype(np.int64), np.dtype(np.uint64))
    return element in coerce.natural_dtypes() and coerce.type_of_dtype(dtype) == element


def _common_shape(op: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    arrays = {shape for shape in shapes if shape}
    if len(arrays) == 1:  # beside scalars, which is common, and np.broadcast_shapes takes its time
        return arrays.pop()
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        spelled = " and ".join(map(spell_shape, shapes))
        raise ValueError(f"{op}: the shapes {spelled} do not broadcast") from None


def _spread(bits: Codes, own: tuple[int, ...], shape: tuple[int, ...]) -> Codes:
    """Return codes in the result's shape, without a copy; the axes of one code stay last."""
    trailing = bits.shape[len(own) :]
    if not own:
        return bits.reshape((1,) * len(shape) + trailing)  # kernels repeat a scalar themselves, which is quicker
    aligned = bits.reshape((1,) * (len(shape) - len(own)) + bits.shape)
    return np.broadcast_to(aligned, shape + trailing)


def _open(
    kernel: Kernel,
    operands: Sequence[Elements],
    codes: tuple[Codes, ...],
    results: tuple[Codes, ...],
    shape: tuple[int, ...],
) -> npt.NDArray[np.uint8] | None:
    """Return the mask of unspecified results; it is kept if an operand has one."""
    masks = [operand.open for operand in operands if operand.open is not None]
    if not masks:
        return None
    mask = np.zeros(shape, np.uint8)
    for each in masks:
        mask |= np.where(each != 0, np.uint8(Open.VALUE.value), np.uint8(0))
    own = None if kernel.open is None else kernel.open(codes, results)
    return mask if own is None else mask | own
