"""Values at run time: immutable arrays of codes with their type, poison and openness.

The codes of a value are its raw bit patterns: unsigned, zero-extended, in the smallest of uint8/16/32/64 that holds the
element. Elements wider than 64 bits have one more trailing axis of uint64 limbs, least significant first; a complex
element has a trailing axis of two (real, imaginary) before the limbs. Elements that are carried but not computed with
(strings, opaque attributes) are an object array.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import ints_to_codes, limb_count, limbs_to_ints, storage_dtype
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch, Unsupported
from halfulp.semantics.poison import Origin, Origins, PoisonIds

Codes = npt.NDArray[Any]

INDEX_WIDTH = 64
"""Bits in which an index is stored, whatever width it wraps at."""


def element_width(element: ty.Type) -> int | None:
    """Bits of one element's code; None for element types that are carried, not computed with."""
    match element:
        case ty.IntegerType():
            return element.width
        case ty.IndexType():
            return INDEX_WIDTH
        case ty.FloatType():
            return element.format.bits
        case ty.UniformQuantizedType() | ty.AnyQuantizedType():
            return element.storage_width
    return None


def code_layout(element: ty.Type) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """The storage dtype of an element type's codes and the trailing axes of one element."""
    if isinstance(element, ty.ComplexType):
        dtype, limbs = code_layout(element.element)
        return dtype, (2, *limbs)
    width = element_width(element)
    if width is None:
        return np.dtype(object), ()
    limbs_needed = limb_count(width)
    return storage_dtype(width), () if limbs_needed == 1 else (limbs_needed,)


def runtime_shape(type_: ty.Type, vscale: int | None = None) -> tuple[int | None, ...] | None:
    """The shape a value of this type has: () for a scalar, None in place of an unknown dimension, None for unranked.

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
    """Why a value of that shape is not of that type (both shapes, or both numbers of a quantisation rule), or None."""
    expected = runtime_shape(type_, vscale)
    if expected is not None and (
        len(expected) != len(shape) or any(e is not None and e != n for e, n in zip(expected, shape, strict=True))
    ):
        return f"a value of shape {spell_shape(shape)} is not of type '{type_}'"
    element = ty.element_type(type_)
    return ty.check_quantized_container(element, shape) if isinstance(element, ty.UniformQuantizedType) else None


MAX_RANK = 62
"""NumPy's limit of 64 axes, less those that one element may take: real and imaginary part, and limbs."""
_MAX_ARRAY_BYTES = (1 << 63) - 1
_WIDEST = 1 << 8
"""At least the bytes of one element, whatever its type."""


def shape_problem(shape: Sequence[int]) -> str | None:
    """Why NumPy has no arrays of this shape, though perhaps no element needs memory; or None."""
    if len(shape) > MAX_RANK:
        return f"has {len(shape)} dimensions; the limit is {MAX_RANK}"
    # Dimensions of size 0 do not count.
    if math.prod([size for size in shape if size]) > _MAX_ARRAY_BYTES // _WIDEST:
        return f"has the shape {spell_shape(tuple(shape))}, too large for any array"
    return None


def concrete(type_: ty.Type, shape: tuple[int, ...]) -> ty.Type:
    """The type with its dynamic dimensions replaced by those of ``shape``."""
    return replace(type_, shape=shape) if isinstance(type_, ty.TensorType) and type_.shape != shape else type_


def over_lanes(value: Value) -> bool:
    """Whether a value of a batch has a leading axis with an entry for each lane, which its type does not have.

    Values over lanes never have an unranked type (`halfulp.interp.run.batch`).
    """
    rank = ty.shape_of(value.type)
    return rank is not None and len(value.shape) > len(rank)


def alike(*values: Value) -> tuple[Value, ...]:
    """Values of a batch of which some are over lanes: the others repeated, so that all are."""
    lanes = next((value.shape[0] for value in values if over_lanes(value)), None)
    return tuple(value if lanes is None or over_lanes(value) else repeated(value, lanes) for value in values)


def repeated(value: Value, lanes: int) -> Value:
    """A value as one that has the same in each lane, without repeating it in memory."""

    def spread(array: npt.NDArray[Any] | None) -> Any:
        return None if array is None else np.broadcast_to(array, (lanes, *array.shape))

    return Value(value.type, spread(value.bits), spread(value.poison), spread(value.open), value.origins)


def spell_shape(shape: tuple[int, ...]) -> str:
    """A shape as MLIR spells it between the angle brackets: ``2x3``; ``scalar`` for rank 0."""
    return "x".join(map(str, shape)) or "scalar"


class Value:
    """An immutable MLIR value: ``type``, ``bits``, ``poison`` and ``open``.

    bits: read-only array of codes (see the module's text). poison: None when no element is poison, else uint16 of the
    element shape, 0 for clean, otherwise a key of ``origins``. open: None, or a uint8 mask of
    `halfulp.semantics.kernel.Open` bits (kept only when asked for). Two values are equal when their types, their
    poisoned elements and the bits of all other elements are. Values are picklable and can be shared between threads.
    """

    __slots__ = ("bits", "open", "origins", "poison", "type")

    type: ty.Type
    bits: Codes
    poison: PoisonIds | None
    open: npt.NDArray[np.uint8] | None
    origins: Origins | None

    def __init__(
        self,
        type: ty.Type,
        bits: Codes,
        poison: PoisonIds | None = None,
        open: npt.NDArray[np.uint8] | None = None,
        origins: Origins | None = None,
    ) -> None:
        put = object.__setattr__
        put(self, "type", type)
        put(self, "bits", _frozen(bits))
        put(self, "poison", None if poison is None else _frozen(poison))
        put(self, "open", None if open is None else _frozen(open))
        put(self, "origins", origins)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Value is immutable; cannot set {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.type, np.asarray(self.bits), self.poison, self.open, self.origins)

    @property
    def element_type(self) -> ty.Type:
        """The type of one element; the type itself for a scalar."""
        return ty.element_type(self.type)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in elements, without the limb axis."""
        trailing = len(code_layout(self.element_type)[1])
        return self.bits.shape[: self.bits.ndim - trailing]

    @property
    def poisoned(self) -> npt.NDArray[np.bool_]:
        """The bool mask of poisoned elements."""
        return np.zeros(self.shape, np.bool_) if self.poison is None else self.poison != 0

    def origin(self, *index: int) -> Origin | None:
        """Where the poison of the element at ``index`` was born; None when it is not poison."""
        if self.poison is None or self.origins is None:
            return None
        poison_id = int(self.poison[index])
        return self.origins[poison_id] if poison_id else None

    def numpy(self) -> npt.NDArray[Any]:
        """The natural NumPy or ml_dtypes array, without a copy where the codes already are its bits.

        Signless and signed integers are signed, i1 is bool, index is int64. Integers of a width without a dtype are
        sign-extended (unsigned ones zero-extended) into the next one; wider than 64 bits they are Python integers in an
        object array. tf32 is widened to float32, which is exact. f80 and f128 stay raw bits. Poisoned elements show
        whatever their bits are: see ``poisoned``. The array is read-only.
        """
        array = _natural(self.element_type, self.bits)
        array.flags.writeable = False
        return array

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        array = self.numpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"a copy is needed to turn {array.dtype} into {np.dtype(dtype)}")
            return array.astype(dtype)
        return array.copy() if copy else array

    def item(self) -> Any:
        """The one element as a Python number. Raises ValueError when there are more, or when it is poison."""
        if self.poisoned.any():
            raise ValueError(f"the value is poison: {self.origin(*(0,) * len(self.shape))}")
        return self.numpy().item()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar Value has no length")
        return self.shape[0]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value):
            return NotImplemented
        if self.type != other.type or self.shape != other.shape:
            return False
        mine, theirs = self.poisoned, other.poisoned
        same = self.bits == other.bits
        trailing = tuple(range(len(self.shape), self.bits.ndim))
        return bool(np.array_equal(mine, theirs) and (np.all(same, axis=trailing) | mine).all())

    def __hash__(self) -> int:
        return hash((self.type, self.shape))

    def __repr__(self) -> str:
        from halfulp.interp.values.spelling import spell_value

        return f"Value({spell_value(self, limit=60)})"

    def _repr_html_(self) -> str:
        from halfulp.interp.values.display import value_html

        return value_html(self)

    @classmethod
    def from_bits(cls, bits: npt.ArrayLike | int, type: ty.Type | str) -> Value:
        """A value of the given type from raw bits.

        ``bits``: an array of unsigned integers (with a last axis of uint64 limbs above 64 bits), or Python integers.
        ``type`` is an MLIR type or its spelling. Given an element type and an array, the value is a tensor of the
        array's shape. Raises TypeMismatch when a bit pattern does not fit the width or the shape is not the type's.
        """
        parsed = as_type(type)
        element = ty.element_type(parsed)
        width = element_width(element)
        if width is None:
            raise Unsupported(f"'{element}' has no bit pattern")
        # Python integers are whole bit patterns; NumPy would make floats of large ones.
        array = bits if isinstance(bits, np.ndarray | np.generic) else np.array(bits, object)
        codes = _codes_from_raw(np.asarray(array), width, parsed)
        shape = codes.shape[: codes.ndim - len(code_layout(element)[1])]
        if parsed is element and shape:
            parsed = ty.TensorType(shape, element)
        conflict = shape_conflict(parsed, shape)
        if conflict:
            raise TypeMismatch(conflict)
        return cls(parsed, codes)

    @classmethod
    def from_numpy(cls, array: npt.ArrayLike, type: ty.Type | str | None = None, *, copy: bool = True) -> Value:
        """A value from a NumPy or ml_dtypes array, or a Python number; without ``type``, the type that the dtype names.

        An array becomes a tensor, a rank-0 array or number a scalar; it is copied, or without ``copy`` must not change
        as long as the value is used. Raises TypeMismatch when dtype or shape do not fit.
        """
        if type is not None:
            return to_value(array, as_type(type), copy=copy)
        data = as_array(array, "the value")
        element = _element_of_dtype().get(data.dtype)
        if element is None:
            raise TypeMismatch(
                f"no MLIR type corresponds to dtype {data.dtype}", hint="give type=…, or use Value.from_bits"
            )
        return to_value(data, ty.TensorType(data.shape, element) if data.ndim else element, copy=copy)


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A read-only view, which, of an array that owns its data, nobody can make writable again."""
    array = np.asarray(array)  # ufuncs return scalars for rank 0
    array.flags.writeable = False
    return array.view()


def _unpickle(
    type_: ty.Type, bits: Codes, poison: PoisonIds | None, open_: npt.NDArray[np.uint8] | None, origins: Origins | None
) -> Value:
    return Value(type_, bits, poison, open_, origins)


def as_array(data: Any, what: str) -> npt.NDArray[Any]:
    """``data`` as a NumPy array. Raises TypeMismatch for what is none, such as rows of different lengths."""
    try:
        return np.asarray(data)
    except ValueError as error:
        raise TypeMismatch(f"{what}: it is no array: {error}") from None


def as_type(spelling: ty.Type | FloatFormat | str) -> ty.Type:
    """The type itself, that of a float format, or the one a spelling such as ``tensor<4xf32>`` names.

    Raises ParseError; TypeMismatch for what is none of these.
    """
    if isinstance(spelling, ty.Type):
        return spelling
    if isinstance(spelling, FloatFormat):
        return ty.FloatType(spelling)
    if not isinstance(spelling, str):
        raise TypeMismatch(f"{spelling!r} is no type", hint='spell it as MLIR does, as in "f32" or "tensor<4xf32>"')
    from halfulp.interp.text.parser import parse_type

    return parse_type(spelling)


# --- natural arrays ---------------------------------------------------------------------------------------------------


def _ml_dtypes_of_formats() -> dict[str, np.dtype[Any]]:
    import ml_dtypes

    spelled = {
        "f4E2M1FN": "float4_e2m1fn",
        "f6E2M3FN": "float6_e2m3fn",
        "f6E3M2FN": "float6_e3m2fn",
        "f8E3M4": "float8_e3m4",
        "f8E4M3": "float8_e4m3",
        "f8E4M3FN": "float8_e4m3fn",
        "f8E4M3FNUZ": "float8_e4m3fnuz",
        "f8E4M3B11FNUZ": "float8_e4m3b11fnuz",
        "f8E5M2": "float8_e5m2",
        "f8E5M2FNUZ": "float8_e5m2fnuz",
        "f8E8M0FNU": "float8_e8m0fnu",
        "bf16": "bfloat16",
    }
    return {name: np.dtype(getattr(ml_dtypes, dtype)) for name, dtype in spelled.items()}


_natural_dtypes: dict[ty.Type, np.dtype[Any]] = {}


def natural_dtypes() -> dict[ty.Type, np.dtype[Any]]:
    """The element types whose codes are exactly the bits of a NumPy or ml_dtypes dtype."""
    if not _natural_dtypes:
        import ml_dtypes

        table: dict[ty.Type, np.dtype[Any]] = {
            ty.IntegerType(1): np.dtype(np.bool_),
            ty.IndexType(): np.dtype(np.int64),
        }
        for width in (8, 16, 32, 64):
            table[ty.IntegerType(width)] = table[ty.IntegerType(width, "signed")] = np.dtype(f"int{width}")
            table[ty.IntegerType(width, "unsigned")] = np.dtype(f"uint{width}")
        floats: dict[str, np.dtype[Any]] = {"f16": np.dtype("f2"), "f32": np.dtype("f4"), "f64": np.dtype("f8")}
        floats |= _ml_dtypes_of_formats()
        table |= {ty.FloatType(FORMATS[name]): dtype for name, dtype in floats.items()}
        # ml_dtypes keeps 2- and 4-bit integers in a byte whose upper bits are ignored on reading: accepted, masked.
        for width in (2, 4):
            table[ty.IntegerType(width)] = table[ty.IntegerType(width, "signed")] = np.dtype(
                getattr(ml_dtypes, f"int{width}")
            )
            table[ty.IntegerType(width, "unsigned")] = np.dtype(getattr(ml_dtypes, f"uint{width}"))
        _natural_dtypes.update(table)
    return _natural_dtypes


@cache
def _element_of_dtype() -> dict[np.dtype[Any], ty.Type]:
    # The signless spelling comes first for each dtype; unsigned dtypes mean signless too, as in MLIR's arith.
    table: dict[np.dtype[Any], ty.Type] = {}
    for element, dtype in natural_dtypes().items():
        if not isinstance(element, ty.IndexType) and not (
            isinstance(element, ty.IntegerType) and element.signedness == "signed"
        ):
            if isinstance(element, ty.IntegerType):
                element = ty.IntegerType(element.width)
            table.setdefault(dtype, element)
    return table


def _is_unsigned(element: ty.Type) -> bool:
    if isinstance(element, ty.UniformQuantizedType):
        return not element.storage_signed
    return isinstance(element, ty.IntegerType) and element.signedness == "unsigned"


def numeric(element: ty.Type) -> ty.Type:
    """The integer type a quantised element is stored as; any other element type itself."""
    if isinstance(element, ty.UniformQuantizedType | ty.AnyQuantizedType):
        return ty.IntegerType(element.storage_width, "signed" if element.storage_signed else "unsigned")
    return element


def _natural(element: ty.Type, bits: Codes) -> npt.NDArray[Any]:
    element = numeric(element)
    dtype = natural_dtypes().get(element)
    if dtype is not None and element_width(element) == 8 * bits.dtype.itemsize:
        return bits.view(dtype)
    if isinstance(element, ty.IntegerType):
        return _natural_integers(element, bits)
    if isinstance(element, ty.FloatType) and dtype is not None:  # f4 and f6: ml_dtypes keeps one element in a byte
        return bits.view(dtype)
    if isinstance(element, ty.FloatType) and element.format.name == "tf32":
        return (bits << np.uint32(13)).view(np.float32)
    return bits.view()


def _natural_integers(element: ty.IntegerType, bits: Codes) -> npt.NDArray[Any]:
    width = element.width
    if width == 1:
        return (
            bits.view(np.bool_) if element.signedness == "signless" else _sign_extended(bits, 1, _is_unsigned(element))
        )
    if width > 64:
        ints = limbs_to_ints(bits)
        if not _is_unsigned(element):
            ints = [code - (1 << width) if code >> (width - 1) else code for code in ints]
        array = np.empty(len(ints), object)
        array[:] = ints
        return array.reshape(bits.shape[:-1])
    extended = _sign_extended(bits, width, _is_unsigned(element))
    dtype = natural_dtypes().get(element)
    return extended if dtype is None else extended.astype(dtype)


def _sign_extended(bits: Codes, width: int, unsigned: bool) -> npt.NDArray[Any]:
    if unsigned or width == 0:
        return bits.view()
    signed = bits.view(np.dtype(f"i{bits.dtype.itemsize}"))
    spare = 8 * bits.dtype.itemsize - width
    return np.asarray((signed << spare) >> spare)


# --- inputs -----------------------------------------------------------------------------------------------------------


def to_value(
    data: Any, type_: ty.Type, what: str = "the value", vscale: int | None = None, copy: bool = False
) -> Value:
    """``data`` as a value of exactly ``type_``; ``what`` names it in errors (``argument 0 of @main``).

    Accepts a Value of that type, a NumPy or ml_dtypes array of that dtype (the unsigned dtype of the same width for
    integers), raw bits of the natural unsigned dtype for types NumPy cannot hold, and Python numbers for scalars.
    Nothing is widened, wrapped or rounded but a Python number for a float type, which is rounded once. An array is
    never written to, and copied only if ``copy``; else the value is a read-only view of it.

    Raises TypeMismatch, naming the expected and the given type.
    """
    if isinstance(data, Value):
        return _conforming(data, type_, what, vscale)
    element = ty.element_type(type_)
    if element_width(element) is None or isinstance(type_, ty.MemRefType):
        raise Unsupported(f"{what}: values of type '{type_}' cannot be given as arrays")
    if isinstance(data, bool | int | float) and not isinstance(data, np.generic):
        codes = _codes_from_number(data, type_, element, what)
    else:
        codes = _codes_from_array(as_array(data, what), type_, element, what)
        codes = codes.copy() if copy else codes
    trailing = len(code_layout(element)[1])
    shape = codes.shape[: codes.ndim - trailing]
    expected = runtime_shape(type_, vscale)
    if expected is not None and len(expected) != len(shape):
        raise TypeMismatch(f"{what}: expected '{type_}', got an array of shape {spell_shape(shape)}")
    conflict = shape_conflict(type_, shape, vscale)
    if conflict:
        raise TypeMismatch(f"{what}: {conflict}")
    return Value(type_, codes)


def _conforming(value: Value, type_: ty.Type, what: str, vscale: int | None) -> Value:
    if value.type == type_:
        return value
    # A tensor of known shape may stand where the type leaves dimensions open, and a scalar or array of an element type
    # made by from_bits where the container is a vector.
    same_element = value.element_type == ty.element_type(type_)
    if same_element and shape_conflict(type_, value.shape, vscale) is None and not isinstance(type_, ty.MemRefType):
        return Value(type_, value.bits, value.poison, value.open, value.origins)
    raise TypeMismatch(f"{what}: expected '{type_}', got '{concrete(value.type, value.shape)}'")


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
    width = element_width(stored)
    assert width is not None
    low = 0 if _is_unsigned(stored) else -(1 << width >> 1)
    # A signless integer may be meant either way, as in MLIR's literals; index is signless too.
    signed = isinstance(stored, ty.IntegerType) and stored.signedness == "signed"
    high = (1 << width >> signed) - 1
    if not low <= number <= high:
        given = number if abs(number) >> 64 == 0 else "the number"
        raise TypeMismatch(f"{what}: {given} is outside the range of '{type_}', {range_text(low, high)}")
    return ints_to_codes([int(number) & ((1 << width) - 1)], width, ())


def range_text(low: int, high: int) -> str:
    """A range of integers in words; powers of two beyond 64 bits."""
    if high >> 64 == 0:
        return f"{low} to {high}"
    return f"{f'-2^{(-low).bit_length() - 1}' if low else 0} to 2^{high.bit_length()} - 1"


def float_code(format_: FloatFormat, number: float) -> int:
    """The code of a finite float64 or infinity, rounded to nearest even into the format, as decimal literals are."""
    bits = int(np.float64(number).view(np.uint64))
    return scalar.convert(FORMATS["f64"], format_, bits).code


def _float_of_number(format_: FloatFormat, number: int | float, what: str) -> int:
    """The code of a Python number. Raises TypeMismatch for what no literal of the format can be."""
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


def narrowed_index(codes: Codes, what: str) -> Codes:
    """Index codes of 64 bits as ones of 32, in the same storage. Raises TypeMismatch for a number that does not fit."""
    signed = codes.view(np.int64)
    if signed.size:
        for number in (int(signed.min()), int(signed.max())):
            if not -(1 << 31) <= number < 1 << 32:
                raise TypeMismatch(f"{what}: {number} does not fit the 32 bits selected for index")
    return np.asarray(codes & np.uint64(0xFFFFFFFF))


def _codes_from_array(array: npt.NDArray[Any], type_: ty.Type, element: ty.Type, what: str) -> Codes:
    stored = numeric(element)
    width = element_width(stored)
    assert width is not None
    dtype, trailing = code_layout(stored)
    natural = natural_dtypes().get(stored)
    given = f"{what}: expected '{type_}'"
    if natural is not None and array.dtype == natural:
        return _clean(array.view(dtype), width)
    if isinstance(stored, ty.IntegerType | ty.IndexType) and natural is not None and width >= 8:
        # A signless or stored integer may come from either; a signed or unsigned one only from its own.
        kinds = "i" if element in _SIGNED else "u" if element in _UNSIGNED else "iu"
        if array.dtype.kind in kinds and array.dtype.itemsize == dtype.itemsize and array.dtype.isnative:
            return array.view(dtype)
    elif natural is None or width < 8:
        if array.dtype == object:
            return _codes_from_objects(array, stored, width, given)
        if array.dtype == dtype:
            return _codes_from_raw(array, width, type_, what)
    hint = None
    if natural is not None:
        hint = f"give an array of dtype {natural}, for example x.astype({natural.name!r}); raw bits: Value.from_bits"
    elif trailing:
        hint = f"give raw bits: a uint64 array with a last axis of {trailing[0]} limbs, least significant first"
    else:
        hint = f"give raw bits: an array of dtype {dtype}"
    raise TypeMismatch(f"{given}, got an array of dtype {array.dtype} and shape {spell_shape(array.shape)}", hint=hint)


_SIGNED = frozenset(ty.IntegerType(width, "signed") for width in (8, 16, 32, 64))
_UNSIGNED = frozenset(ty.IntegerType(width, "unsigned") for width in (8, 16, 32, 64))


def _clean(codes: Codes, width: int) -> Codes:
    """Codes of a dtype that ignores the upper bits of its bytes, without those; any nonzero byte of a bool is true."""
    if width >= 8 * codes.dtype.itemsize or not codes.size or not int(codes.max()) >> width:
        return codes
    return (codes != 0).view(np.uint8) if width == 1 else np.asarray(codes & codes.dtype.type((1 << width) - 1))


def _codes_from_objects(array: npt.NDArray[Any], element: ty.Type, width: int, given: str) -> Codes:
    ints = [_whole(x, given) for x in array.ravel()]
    low = 0 if _is_unsigned(element) or not isinstance(element, ty.IntegerType) else -(1 << width >> 1)
    for number in ints:
        if not low <= number < 1 << width:
            shown = number if abs(number) >> 64 == 0 else "a number"
            raise TypeMismatch(f"{given}, but {shown} does not fit {width} bits")
    return ints_to_codes([n & ((1 << width) - 1) for n in ints], width, array.shape)


def _codes_from_raw(array: npt.NDArray[Any], width: int, type_: ty.Type, what: str = "bits") -> Codes:
    """Check raw bits against a width; integers in any dtype are accepted as long as each fits. Never a float."""
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
    """An element of an object array as an integer."""
    if not isinstance(number, int | np.integer):
        raise TypeMismatch(f"{what}: raw bits must be unsigned integers, got {number!r}")
    return int(number)
