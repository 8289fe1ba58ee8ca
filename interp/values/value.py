"""The class `Value`: an immutable array of codes with its type, its poison and its unspecified elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.bit_patterns import bits_of
from halfulp.fp_formats.codes import Codes, codes_to_ints
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch, Unsupported
from halfulp.interp.values.coerce import as_type, codes_of, codes_of_bits, container_of
from halfulp.interp.values.display import value_html
from halfulp.interp.values.element_layout import concrete, shape_conflict, shape_of_codes, spell_shape
from halfulp.interp.values.foreign_arrays import as_array
from halfulp.interp.values.natural_arrays import natural_array, type_of_dtype
from halfulp.interp.values.spelling import spell_value
from halfulp.semantics.poison import Origin, Origins, PoisonIds

if TYPE_CHECKING:
    from bitstring import Bits


class Value:
    """An immutable MLIR value: ``type``, ``bits``, ``poison`` and ``open``.

    bits: read-only array of codes (see `halfulp.interp.values.element_layout`). poison: None when no element is poison,
    else uint16 of the element shape, 0 for clean, otherwise a key of ``origins``. open: None, or a uint8 mask of
    `halfulp.semantics.kernel.Open` bits for elements that the language leaves unspecified (kept only with
    ``track_open``). Two values are equal when their types, their poisoned elements and the bits of all other elements
    are. Values are picklable and can be shared between threads.
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
        return Value, (self.type, np.asarray(self.bits), self.poison, self.open, self.origins)

    @property
    def element_type(self) -> ty.Type:
        """The type of one element; for a scalar, its type."""
        return ty.element_type(self.type)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape in elements, without the limb axis."""
        return shape_of_codes(self.bits, self.element_type)

    @property
    def poisoned(self) -> npt.NDArray[np.bool_]:
        """A bool mask of the elements that are poison."""
        return np.zeros(self.shape, np.bool_) if self.poison is None else self.poison != 0

    def origin(self, *index: int) -> Origin | None:
        """Return the origin of the poison of the element at ``index``; None when it is not poison."""
        if self.poison is None or self.origins is None:
            return None
        poison_id = int(self.poison[index])
        return self.origins[poison_id] if poison_id else None

    def numpy(self) -> npt.NDArray[Any]:
        """Return the natural NumPy or ml_dtypes array, without a copy where the codes already are its bits.

        Signless and signed integers are signed, i1 is bool, index is int64. Integers of a width without a dtype are
        sign-extended (unsigned ones zero-extended) to the next dtype. Integers wider than 64 bits are Python integers
        in an object array. tf32 is widened to float32, which is exact. f80 and f128 stay raw bits. A poisoned element
        shows its bits: see ``poisoned``. The array is read-only.
        """
        array = natural_array(self.element_type, self.bits)
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
        """Return the one element as a Python number. Raises ValueError for several elements and for poison."""
        if self.poisoned.any():
            raise ValueError(f"the value is poison: {self.origin(*(0,) * len(self.shape))}")
        return self.numpy().item()

    def bitstring(self, *index: int) -> Bits:
        """Return the bits of the element at ``index`` as `bitstring.Bits`; of a scalar without an index.

        Raises ValueError where the element is poison, and Unsupported for elements without a bit pattern.
        """
        width = ty.element_width(self.element_type)
        if width is None:
            raise Unsupported(f"'{self.element_type}' has no bit pattern")
        if len(index) != len(self.shape):
            raise IndexError(
                f"a value of shape {spell_shape(self.shape)} takes {len(self.shape)} indices, not {len(index)}"
            )
        if self.poisoned[index]:
            raise ValueError(f"the element is poison: {self.origin(*index)}")
        return bits_of(codes_to_ints(np.asarray(self.bits[index]), width)[0], width)

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
        return f"Value({spell_value(self, limit=60)})"

    def _repr_html_(self) -> str:
        return value_html(self)

    @classmethod
    def from_bits(cls, bits: npt.ArrayLike | Bits | Sequence[Any], type: ty.Type | str) -> Value:
        """Make a value of the given type from raw bits.

        ``bits``: an array of unsigned integers (with a last axis of uint64 limbs above 64 bits); or Python integers,
        `bitstring.Bits`, or strings of all bits, such as ``"0b0 1111 110"`` or ``"0x7e"``, alone or in lists.
        ``type`` is an MLIR type or its spelling. Given an element type and an array, the value is a tensor of the
        array's shape. Raises TypeMismatch when a bit pattern does not fit the width or the shape is not the type's.
        """
        return cls(*codes_of_bits(bits, as_type(type)))

    @classmethod
    def from_numpy(cls, array: npt.ArrayLike, type: ty.Type | str | None = None, *, copy: bool = True) -> Value:
        """Make a value from a NumPy or ml_dtypes array or a Python number; without ``type``, of the dtype's type.

        An array becomes a tensor. An array of rank 0, or a number, becomes a scalar. The array is copied; with
        ``copy=False`` it is not, and must not change while the value is used. Raises TypeMismatch if dtype or shape do
        not fit.
        """
        return _of_dtype(array, copy) if type is None else to_value(array, as_type(type), copy=copy)


_unpickle = Value
"""The name by which pickles of halfulp 0.1 make a `Value` (`halfulp.interp.former_names`)."""


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view; where the array owns its data, nobody can make it writable again."""
    array = np.asarray(array)  # ufuncs return scalars for rank 0
    array.flags.writeable = False
    return array.view()


# --- what a user gives ------------------------------------------------------------------------------------------------


def to_value(
    data: Any, type_: ty.Type, what: str = "the value", vscale: int | None = None, copy: bool = False
) -> Value:
    """Return ``data`` as a value of exactly ``type_``; ``what`` names it in errors (``argument 0 of @main``).

    Accepts a Value of that type, a NumPy or ml_dtypes array of that dtype (the unsigned dtype of the same width for
    integers), raw bits of the natural unsigned dtype for types NumPy cannot hold, and Python numbers for scalars.
    Nothing is widened, wrapped or rounded but a Python number for a float type, which is rounded once. An array is
    never written to, and copied only if ``copy``; else the value is a read-only view of it.

    Raises TypeMismatch, naming the expected and the given type.
    """
    if isinstance(data, Value):
        return _conforming(data, type_, what, vscale)
    return Value(type_, codes_of(data, type_, what, vscale, copy))


def to_elements(data: Any, type_: ty.Type | None, what: str = "the value") -> Value:
    """Return ``data`` as a value with elements of ``type_``: of an array a tensor, of a number a scalar.

    ``type_``: an element type, or a whole type; None for the type that the dtype names, where the integers of an
    unsigned dtype and bool are unsigned. An array is not copied: it must not change as long as the value is used.
    Otherwise like `to_value`. Raises TypeMismatch.
    """
    if isinstance(data, Value):
        return data
    return _of_dtype(data, unsigned=True) if type_ is None else to_value(data, container_of(data, type_), what)


def _of_dtype(data: npt.ArrayLike, copy: bool = False, unsigned: bool = False) -> Value:
    array = as_array(data, "the value")
    element = type_of_dtype(array.dtype)
    if element is None:
        raise TypeMismatch(
            f"no MLIR type corresponds to dtype {array.dtype}", hint="give type=…, or use Value.from_bits"
        )
    codes = codes_of(array, container_of(array, element), "the value", copy=copy)
    return Value(container_of(array, type_of_dtype(array.dtype, unsigned) or element), codes)


def _conforming(value: Value, type_: ty.Type, what: str, vscale: int | None) -> Value:
    if value.type == type_:
        return value
    # A tensor of known shape may stand where the type leaves dimensions open, and a scalar or array of an element type
    # made by from_bits where the container is a vector.
    same_element = value.element_type == ty.element_type(type_)
    if same_element and shape_conflict(type_, value.shape, vscale) is None and not isinstance(type_, ty.MemRefType):
        return Value(type_, value.bits, value.poison, value.open, value.origins)
    raise TypeMismatch(f"{what}: expected '{type_}', got '{concrete(value.type, value.shape)}'")
