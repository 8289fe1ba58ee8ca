"""What a `Value` consists of, for functions that compute on values below the class itself."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.values.element_layout import shape_of_codes
from halfulp.semantics.poison import Origins, PoisonIds

Marks = npt.NDArray[np.uint8] | npt.NDArray[np.int64] | npt.NDArray[np.complex128] | npt.NDArray[np.float64]
"""What elements carry besides poison: uint8 with bits of `halfulp.semantics.kernel.Open`, int64 ids of a lineage,
complex128 shadows, an error and its radius, or float64 shadows, an error alone.
"""


class Elements(Protocol):
    """The parts of a `Value` that computing on its elements takes."""

    @property
    def type(self) -> ty.Type:
        """The MLIR type."""

    @property
    def bits(self) -> Codes:
        """The codes, with the trailing axes of one element."""

    @property
    def poison(self) -> PoisonIds | None:
        """The ids of origins in the element shape; None when no element is poison."""

    @property
    def open(self) -> Marks | None:
        """The mask of elements that the language leaves unspecified, or what a recorder marked them with."""

    @property
    def origins(self) -> Origins | None:
        """The table that the ids of ``poison`` name."""

    @property
    def unsigned(self) -> bool:
        """True if signless integers are read as unsigned numbers where they leave halfulp."""


class Carrier:
    """The base of `Value` and of nothing else: functions below the class tell values from other operands by it."""

    __slots__ = ()

    type: ty.Type
    bits: Codes
    poison: PoisonIds | None
    open: Marks | None
    origins: Origins | None
    unsigned: bool


class Parts(NamedTuple):
    """The arguments from which a `Value` is made: ``Value(*parts)``."""

    type: ty.Type
    bits: Codes
    poison: PoisonIds | None = None
    open: Marks | None = None
    origins: Origins | None = None
    unsigned: bool = False


Carried = Carrier | Parts
"""The types of values, for isinstance."""


def element_of(value: Elements) -> ty.Type:
    """Return the type of one element of a value."""
    return ty.element_type(value.type)


def shape_of(value: Elements) -> tuple[int, ...]:
    """Return the shape of a value in elements."""
    return shape_of_codes(value.bits, ty.element_type(value.type))


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
