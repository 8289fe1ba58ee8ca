"""Move the elements of values, and apply kernels to them outside of any program.

An element whose code has several words (limbs, or the two parts of a complex number) becomes one *cell*, an item of a
void dtype, so that NumPy moves it as a whole and no function needs to know of trailing axes. NumPy copies elements only
where a view cannot show them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from struct import pack, unpack
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes
from halfulp.fp_formats.paths import llvm
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.values.coerce import codes_of, natural_dtypes, type_of_dtype
from halfulp.interp.values.element_layout import code_layout, spell_shape
from halfulp.interp.values.elements import Elements, V, common_origins, exported, reshaped_type
from halfulp.semantics.kernel import Kernel, Open, Origin, Origins, apply, first_place, with_faults, zeroed

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


# --- elementwise ------------------------------------------------------------------------------------------------------


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
    """Return all operands as values of one element type, that of the values among them.

    A Python number takes that type, as a literal of MLIR does. A NumPy scalar or array must have exactly that type.
    Raises TypeMismatch.
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
    """Return a number or array that stands beside a value as a value with this element type. Raises TypeMismatch."""
    if isinstance(given, np.ndarray | np.generic):
        if not _is_of(given.dtype, element):
            raise TypeMismatch(
                f"{what}: an array of dtype {given.dtype} stands beside a value of type '{element}'",
                hint=f'round it once first: hu.convert(x, "{element}"); or convert the value: .astype(…)',
            )
        type_ = ty.TensorType(given.shape, element) if given.ndim else element
        return type(beside)(type_, codes_of(given, type_, what), unsigned=given.dtype.kind == "u")
    if isinstance(given, bool | int | float):
        # By their bits, since -0.0 and 0.0 are equal.
        codes = _literal(what, element, pack("d", given) if isinstance(given, float) else given)
        return type(beside)(element, codes)
    raise TypeMismatch(
        f"{what}: an operand of type {type(given).__name__} stands beside a value of type '{element}'",
        hint=f'round it once first: hu.convert(x, "{element}")',
    )


@lru_cache(maxsize=4096, typed=True)
def _literal(what: str, element: ty.Type, number: bytes | int) -> Codes:
    given: float | int = unpack("d", number)[0] if isinstance(number, bytes) else number
    return codes_of(given, element, what)


def _is_of(dtype: np.dtype[Any], element: ty.Type) -> bool:
    """Tell whether arrays of this dtype hold exactly elements of this type, integers of either sign."""
    if isinstance(element, ty.IndexType):
        return dtype in (np.dtype(np.int64), np.dtype(np.uint64))
    return element in natural_dtypes() and type_of_dtype(dtype) == element


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
    """Return the mask of unspecified results, kept where an operand has one."""
    masks = [operand.open for operand in operands if operand.open is not None]
    if not masks:
        return None
    mask = np.zeros(shape, np.uint8)
    for each in masks:
        mask |= np.where(each != 0, np.uint8(Open.VALUE.value), np.uint8(0))
    own = None if kernel.open is None else kernel.open(codes, results)
    return mask if own is None else mask | own
