"""Apply kernels to values outside of any program: operands beside each other, broadcasting, poison."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from struct import pack, unpack
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import Codes
from halfulp.fp_formats.paths import cpu
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.values.cells import check_one_element_type
from halfulp.interp.values.coerce import codes_of
from halfulp.interp.values.element_layout import spell_shape
from halfulp.interp.values.elements import Elements, V, common_origins
from halfulp.interp.values.natural_arrays import natural_dtypes, type_of_dtype
from halfulp.semantics.kernel import Kernel, Open, apply
from halfulp.semantics.poison import Origin, Origins, first_place, with_faults, zeroed


def applied(op: str, kernel: Kernel, operands: Sequence[V], element: ty.Type) -> V:
    """Apply the kernel of an op without undefined behaviour to operands that broadcast as NumPy's do.

    ``element``: the type of the result, or that of its elements.
    """
    cpu.check()
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
