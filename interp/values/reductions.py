"""Sums, matrix products and dot products of the elements of a `Value`: shapes, types and poison.

The sums themselves are those of `semantics.sums` and, with a matrix unit, of `semantics.matrix_units`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask, code_shape
from halfulp.fp_formats.paths import llvm
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch, Unsupported
from halfulp.interp.ir.types import is_unsigned, spell_shape
from halfulp.interp.values.elements import Elements, V
from halfulp.semantics import sums
from halfulp.semantics.integer_kernels import Reading
from halfulp.semantics.kernel import Fault, Open, Origin, Origins, PoisonIds
from halfulp.semantics.matrix_units.kinds import KINDS
from halfulp.semantics.matrix_units.models import Unpublished
from halfulp.semantics.matrix_units.products import MatrixUnit, Schedule, multiply_by_unit
from halfulp.semantics.profile import Profile

Axis = int | tuple[int, ...] | None
AccumulatorType = ty.Type | FloatFormat | None
Marks = npt.NDArray[Any]


def sum_along(
    value: V,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    acc: AccumulatorType = None,
    order: str = "sequential",
    profile: Profile,
) -> V:
    """Return the sum of a value's elements along axes, in row-major order; see `halfulp.sum`."""
    sums.check_order(order)
    llvm.check()
    source, into, element = _types(value, acc, "sum")
    shape = value.shape
    axes = _axes(axis, len(shape))
    terms, lanes = sums.lanes_of(_clean(value), source, axes)
    reduced = sums.add_up(terms, source, into, order, profile)
    kept = tuple(1 if at in axes else size for at, size in enumerate(shape)) if keepdims else lanes

    def gathered(marks: Marks | None) -> Marks | None:
        return None if marks is None else np.asarray(marks.max(axis=axes, initial=0)).reshape(prod(lanes))

    return _parts(element, into, reduced, kept, [(value, gathered)])


def matrix_product(
    a: V,
    b: V,
    *,
    acc: AccumulatorType = None,
    order: str = "sequential",
    mma: MatrixUnit | None = None,
    c: V | None = None,
    schedule: Schedule | None = None,
    profile: Profile,
) -> V:
    """Return the matrix product, with the shape rules of np.matmul; see `halfulp.matmul`."""
    left, right = _shapes("matmul", a, b, "a scalar is not a matrix")
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else ()
    if left[-1] != right[-2 if len(right) > 1 else -1]:
        raise _disagree("matmul", left, right)
    try:
        lead = np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError:
        raise _disagree("matmul", left, right) from None

    def of_rows(array: Marks, trailing: tuple[int, ...] = ()) -> Marks:
        return _tiles(array, left[:-2], lead, (prod(rows), left[-1], *trailing))

    def of_columns(array: Marks, trailing: tuple[int, ...] = ()) -> Marks:
        return _tiles(array, right[:-2], lead, (right[-2] if len(right) > 1 else right[-1], prod(columns), *trailing))

    shape = (*lead, *rows, *columns)
    with_unit = None if mma is None else _WithUnit(mma, c, schedule, (prod(lead), prod(rows), prod(columns)))
    return _product("matmul", a, b, (of_rows, of_columns), shape, acc, order, with_unit, profile)


def dot_product(
    a: V,
    b: V,
    *,
    acc: AccumulatorType = None,
    order: str = "sequential",
    mma: MatrixUnit | None = None,
    profile: Profile,
) -> V:
    """Return the dot product, with the shape rules of np.dot; see `halfulp.dot`."""
    left, right = _shapes("dot", a, b, "give arrays with at least one axis")
    along = max(len(right) - 2, 0)
    if left[-1] != right[along]:
        raise _disagree("dot", left, right)
    others = right[:along] + right[along + 1 :]

    def of_rows(array: Marks, trailing: tuple[int, ...] = ()) -> Marks:
        return array.reshape(1, prod(left[:-1]), left[-1], *trailing)

    def of_columns(array: Marks, trailing: tuple[int, ...] = ()) -> Marks:
        return np.moveaxis(array, along, 0).reshape(1, right[along], prod(others), *trailing)

    with_unit = None if mma is None else _WithUnit(mma)
    return _product("dot", a, b, (of_rows, of_columns), left[:-1] + others, acc, order, with_unit, profile)


class _WithUnit(NamedTuple):
    """A matrix unit, what it adds to, the schedule, and the shape of the products as tiles, rows and columns."""

    unit: MatrixUnit
    c: Any = None
    schedule: Schedule | None = None
    tiles: tuple[int, ...] = ()

    @property
    def reads_c(self) -> bool:
        """Tell whether C is read: a factor of zero leaves it out."""
        beta = None if self.schedule is None else self.schedule.beta
        return self.c is not None and (beta is None or bool(beta & FORMATS[self.unit.operation.d].magnitude_mask))

    def addend(self, element: ty.Type, shape: tuple[int, ...]) -> Codes | None:
        """Return the codes of C as tiles. Raises TypeMismatch for another type or shape."""
        if self.c is None:
            return None
        own = ty.element_type(self.c.type)
        if own != element:
            raise TypeMismatch(
                f"matmul: c is '{own}', but {self.unit.operation.name} adds in '{element}'",
                hint=f"convert it: hu.convert(c, '{element}')",
            )
        return _spread(_clean(self.c), shape).reshape(self.tiles)


def _spread(array: Marks, shape: tuple[int, ...]) -> Marks:
    """Repeat C, or its marks, to the shape of the product. Raises TypeMismatch if C does not broadcast to it."""
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise TypeMismatch(
            f"matmul: c has the shape {spell_shape(array.shape)}, but the product has {spell_shape(shape)}",
            hint="give c the shape of the product, or one that broadcasts to it",
        ) from None


def _product(
    what: str,
    a: V,
    b: V,
    arranged: tuple[Any, Any],
    shape: tuple[int, ...],
    acc: AccumulatorType,
    order: str,
    mma: _WithUnit | None,
    profile: Profile,
) -> V:
    """Return matrix products. ``arranged``: arrange an array as [tiles, M, K], and as [tiles, K, N]."""
    sums.check_order(order)
    llvm.check()
    types = [ty.element_type(value.type) for value in (a, b)]
    if acc is None and mma is None and types[0] != types[1]:
        raise TypeMismatch(
            f"{what}: the elements have different types, '{types[0]}' and '{types[1]}'",
            hint="name the type of the sum: acc='f32'",
        )
    if mma is not None:
        acc = _unit_accumulator(what, mma.unit, types, acc, order)
    (source_a, into, element), (source_b, _, _) = (_types(value, acc, what) for value in (a, b))
    of_rows, of_columns = arranged
    rows = of_rows(_clean(a), code_shape((), sums.width_of(source_a)))
    columns = of_columns(_clean(b), code_shape((), sums.width_of(source_b)))
    if mma is None:
        reduced = sums.multiply_and_add(rows, columns, (source_a, source_b), into, order, profile)
    else:
        try:
            reduced = sums.Reduced(multiply_by_unit(mma.unit, rows, columns, mma.addend(element, shape), mma.schedule))
        except Unpublished as error:
            raise Unsupported(str(error), hint=error.hint) from None
    lanes = np.broadcast_shapes((rows.shape[0], rows.shape[1], 1), (columns.shape[0], 1, columns.shape[2]))

    def over_columns(marks: Marks | None) -> Marks | None:
        return None if marks is None else np.broadcast_to(of_rows(marks).max(axis=2, initial=0)[:, :, None], lanes)

    def over_rows(marks: Marks | None) -> Marks | None:
        return None if marks is None else np.broadcast_to(of_columns(marks).max(axis=1, initial=0)[:, None], lanes)

    def over_all(marks: Marks | None) -> Marks | None:
        return None if marks is None else _spread(marks, shape).reshape(lanes)

    operands = [(a, over_columns), (b, over_rows)]
    if mma is not None and mma.reads_c:
        operands.append((mma.c, over_all))
    return _parts(element, into, reduced, shape, operands)


# Types.


def _types(value: Elements, acc: AccumulatorType, what: str) -> tuple[sums.Number, sums.Number, ty.Type]:
    """Return the types of the terms and of the accumulator as numbers, and the element type of the result."""
    own = ty.element_type(value.type)
    source = _number(own, what, _is_unsigned(value, own))
    element = own if acc is None else ty.FloatType(acc) if isinstance(acc, FloatFormat) else acc
    if element is not ty.element_type(element):
        raise TypeMismatch(f"{what}: acc is '{element}'", hint=f"give its element type: '{ty.element_type(element)}'")
    into = _number(element, what)
    if acc is None and sums.width_of(source) == 1:
        raise TypeMismatch(f"{what}: a sum of i1 has one bit", hint="name a wider accumulator, as in acc='i32'")
    if isinstance(source, FloatFormat) and isinstance(into, Reading):
        raise TypeMismatch(
            f"{what}: elements of '{own}' cannot be added in '{element}'", hint="name a float type: acc='f32'"
        )
    try:
        sums.check_accumulator(into)
    except ValueError as error:
        raise TypeMismatch(f"{what}: {error}", hint="name another accumulator, as in acc='f32'") from None
    return source, into, element


def _number(element: ty.Type, what: str, unsigned: bool = False) -> sums.Number:
    if isinstance(element, ty.FloatType):
        return element.format
    if isinstance(element, ty.IntegerType | ty.IndexType):
        return Reading(ty.width_of(element), not (unsigned or is_unsigned(element)))
    hint = "quantized elements: hu.dequantize first" if isinstance(element, ty.UniformQuantizedType) else None
    raise TypeMismatch(f"{what}: elements of '{element}' cannot be added", hint=hint)


def _is_unsigned(value: Elements, element: ty.Type) -> bool:
    """Tell whether integers are unsigned: by their type, by the array that they came from, or because i1 is a bool."""
    return ty.element_width(element) == 1 or value.unsigned


def _unit_accumulator(what: str, unit: MatrixUnit, types: list[ty.Type], acc: AccumulatorType, order: str) -> ty.Type:
    """Return the type of D. Raises TypeMismatch if the unit does not take these operands or options."""
    op = unit.operation
    given = [str(element) for element in types]
    if given != [op.a, op.b]:
        raise TypeMismatch(
            f"{what}: {op.name} multiplies {op.a} by {op.b}, but the elements are {given[0]} and {given[1]}",
            hint=_kinds_for(*given),
        )
    if op.scale:
        raise TypeMismatch(
            f"{what}: {op.name} takes scales, which {what} does not have", hint="use iree_codegen.inner_tiled"
        )
    if op.c != op.d:
        raise TypeMismatch(f"{what}: {op.name} adds to {op.c} and gives {op.d}, so it cannot add to its own result")
    element: ty.Type = ty.FloatType(FORMATS[op.d]) if op.d in FORMATS else ty.IntegerType(int(op.d[1:]))
    own = ty.FloatType(acc) if isinstance(acc, FloatFormat) else acc
    if own not in (None, element):
        raise TypeMismatch(f"{what}: acc is '{own}', but {op.name} adds in {op.d}", hint="leave out acc")
    if order != "sequential":
        raise TypeMismatch(f"{what}: the order is that of {op.name}", hint="leave out order")
    return element


def _kinds_for(a: str, b: str) -> str:
    """Name the kinds that take these element types."""
    names = [name for name, kind in KINDS.items() if kind.types[:2] == (a, b)]
    return (
        f"kinds for {a} and {b}: {', '.join(names)}" if names else f"no kind multiplies {a} by {b}: convert them first"
    )


# Shapes.


def _shapes(name: str, a: Elements, b: Elements, scalars: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shapes of two operands. Raises TypeMismatch if one is a scalar; ``scalars``: the text of that
    error.
    """
    left, right = a.shape, b.shape
    if not left or not right:
        raise TypeMismatch(
            f"{name}: operands of shapes {spell_shape(left)} and {spell_shape(right)}: {scalars}",
            hint="np.multiply, or the operator *, multiplies by a scalar",
        )
    return left, right


def _axes(axis: Axis, rank: int) -> tuple[int, ...]:
    """Return the axes as numbers from 0. Raises np.exceptions.AxisError, and ValueError for an axis given twice."""
    return tuple(range(rank)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, rank)


def _tiles(array: Marks, lead: tuple[int, ...], every: tuple[int, ...], tile: tuple[int, ...]) -> Marks:
    """Return an array as [tiles, …]; a single tile is used for all."""
    array = array.reshape(*lead, *tile)
    if prod(lead) == 1:
        return array.reshape(1, *tile)
    return np.broadcast_to(array, (*every, *tile)).reshape(prod(every), *tile)


def _disagree(what: str, left: tuple[int, ...], right: tuple[int, ...]) -> TypeMismatch:
    return TypeMismatch(
        f"{what}: shapes {left} and {right} do not fit together",
        hint="the last axis of the first and the last but one of the second have the same size; axes before these "
        "broadcast",
    )


# Poison, and what is unspecified.


def _clean(value: Elements) -> Codes:
    """Return the codes with zeros in place of poison, whose bits mean nothing."""
    if value.poison is None:
        return value.bits
    spoiled = value.poison != 0
    spoiled = spoiled.reshape(spoiled.shape + (1,) * (value.bits.ndim - spoiled.ndim))
    return np.asarray(np.where(spoiled, value.bits.dtype.type(0), value.bits))


def _parts(
    element: ty.Type, into: sums.Number, reduced: sums.Reduced, shape: tuple[int, ...], operands: list[tuple[V, Any]]
) -> V:
    """Return the sums part by part. Each operand comes with a function that gathers the marks of all elements of each
    sum.
    """
    bits = reduced.codes.reshape(code_shape(shape, sums.width_of(into)))
    ids, origins = _poison(reduced.faults, shape, operands)
    if ids is not None:
        spoiled = (ids != 0).reshape(ids.shape + (1,) * (bits.ndim - ids.ndim))
        bits = np.where(spoiled, bits.dtype.type(0), bits)
    masks = [gathered(value.open) for value, gathered in operands if value.open is not None]
    open_ = np.where(reduce(np.maximum, masks) != 0, np.uint8(Open.VALUE.value), 0).reshape(shape) if masks else None
    if reduced.unspecified:
        open_ = np.full(shape, Open.VALUE.value, np.uint8)
    type_ = ty.TensorType(shape, element) if shape else element
    return type(operands[0][0])(type_, bits, ids, None if open_ is None else open_.astype(np.uint8), origins)


def _poison(
    faults: Iterable[tuple[str, Fault, Mask]], shape: tuple[int, ...], operands: Sequence[tuple[Elements, Any]]
) -> tuple[PoisonIds | None, Origins | None]:
    """Return the poison of sums: that of their elements, or else that of a fault of an addition."""
    origins = Origins()
    ids = np.zeros(shape, np.uint16)
    for value, gathered in operands:
        if value.poison is not None and value.origins is not None:
            ids = np.maximum(ids, gathered(origins.adopt(value.poison, value.origins)).reshape(shape))
    for op, fault, mask in faults:
        fresh = mask.reshape(shape) & (ids == 0)
        if fresh.any():
            first = tuple(int(at) for at in np.unravel_index(int(np.argmax(fresh)), shape)) if shape else ()
            ids = np.where(fresh, np.uint16(origins.id_of(Origin(op, "", fault.reason, first))), ids)
    return (ids, origins) if ids.any() else (None, None)
