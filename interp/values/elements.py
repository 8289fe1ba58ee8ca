"""The class `Elements`: what a `Value` consists of. Functions below `Value` compute on it and return its class."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.values.element_layout import code_layout, has_layout, shape_of_codes, spell_shape
from halfulp.semantics.poison import Origin, Origins, PoisonIds, first_place

Marks = npt.NDArray[np.uint8] | npt.NDArray[np.int64] | npt.NDArray[np.complex128] | npt.NDArray[np.float64]
"""What elements carry besides poison: uint8 with bits of `halfulp.semantics.kernel.Open`, int64 ids of a lineage,
complex128 shadows, an error and its radius, or float64 shadows, an error alone.
"""


class Elements:
    """Elements of a type: their codes, their poison and what is unspecified. `Value` is the only class made of it.

    A function on values is written for this class. It makes its result by the class of an operand, `Value`.
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
        """Return the origin of the poison of the element at ``index``; None when it is not poison."""
        if len(index) != self.ndim:
            raise IndexError(f"a value of shape {spell_shape(self.shape)} takes {self.ndim} indices, not {len(index)}")
        if self.poison is None or self.origins is None:
            return None
        poison_id = int(self.poison[index])
        return self.origins[poison_id] if poison_id else None


V = TypeVar("V", bound=Elements)
"""The class of the operands of a function, and of its result: `Value`."""


def _no_codes(type: object, bits: object) -> TypeMismatch:
    """Return the error of a constructor that did not get a type and codes."""
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
    """Name the class of an object that is no value."""
    return f"an object of type {type(given).__name__}"


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view; where the array owns its data, nobody can make it writable again."""
    array = np.asarray(array)  # ufuncs return scalars for rank 0
    array.flags.writeable = False
    return array.view()


def reshaped_type(type_: ty.Type, old: tuple[int, ...], new: tuple[int, ...]) -> ty.Type:
    """Return the type of elements of a value after they moved: its own if the shape stays, else a tensor or a scalar.

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
    """Return the poison of values as ids of one table, and the table; None if nothing is poison.

    The table is that of the values if they share one, else a new one: theirs never change.
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
    """Return poison that came without a table of origins, with one."""
    table = Origins()
    if not ids.any():
        return ids, table
    one = table.id_of(Origin("input", "", "poison that was given", first_place(ids != 0)))
    return np.where(ids != 0, np.uint16(one), np.uint16(0)), table
