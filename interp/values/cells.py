"""Move the elements of a value: index it, and apply NumPy's functions of shape to it, without a copy where NumPy makes
none.

An element whose code has several words (limbs, or the two parts of a complex number) becomes one *cell*, an item of a
void dtype, so that NumPy moves it as a whole and no function needs to know of trailing axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.values.element_layout import code_layout
from halfulp.interp.values.elements import Elements, V, common_origins, reshaped_type
from halfulp.interp.values.export import exported

Cells = npt.NDArray[Any]
"""An array with one item for each element."""


def cells_of(codes: Codes, element: ty.Type) -> Cells:
    """Return the cells of codes: the same memory if one element is one word, or its words lie side by side."""
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
    """Return the elements of a value where ``function`` moves those of an array of its shape.

    Raises TypeMismatch for a quantised type whose scales belong to places.
    """
    element, shape = value.element_type, value.shape
    cells = np.asarray(function(cells_of(value.bits, element)))
    return _moved(value, reshaped_type(value.type, shape, cells.shape), cells, function)


def joined(values: Sequence[V], function: Callable[[list[npt.NDArray[Any]]], npt.NDArray[Any]]) -> V:
    """Return the elements of several values of one element type where ``function`` moves those of a list of arrays."""
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
    """Return poison, open mask and origins as a value has them, with nothing where no element is poison."""
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
