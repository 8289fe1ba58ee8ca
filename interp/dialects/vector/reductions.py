"""Evaluation of the ops that combine elements: reductions, scans, contractions and products.

Elements are combined in the order of the reduced indices, the first dimension outermost, with the accumulator on the
left, unless the profile gives another order to the ops that do not fix it. A contraction rounds each product before it
is added, as a loop over arith.mulf and arith.addf does. A product with an accumulator is a fused multiply-add, as the
document of vector.outerproduct says.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from halfulp.fp_formats.policy import Rounding
from halfulp.interp.dialects.combining import elementwise_step, neutral
from halfulp.interp.dialects.elements import (
    Function,
    combined,
    picked,
    poison_ids,
    rearranged,
    repeated,
    replaced,
    reshaped,
)
from halfulp.interp.dialects.elementwise import fastmath_of, format_of
from halfulp.interp.dialects.vector.attributes import integers, kind_of
from halfulp.interp.dialects.vector.folding import Combination, arith_name
from halfulp.interp.dialects.vector.memory import Mask, active_lanes
from halfulp.interp.dialects.vector.moves import spoiled, static_shape
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.folding import part
from halfulp.interp.run.frames import Run
from halfulp.interp.run.points import PointwiseStep
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics import floats
from halfulp.semantics.kernel import Kernel

Operands = Sequence[Any]

_REASSOC = 1
_CHUNK = 1 << 16
"""The number of products of a contraction that are made together."""

# --- fused multiply-add -----------------------------------------------------------------------------------------------


def _fma(op: Operation, settings: Settings) -> Kernel:
    return floats.fma(format_of(op.results[0]), Rounding(0), fastmath_of(op), settings.profile)


FMA = Elementwise(_fma)

# --- reductions -------------------------------------------------------------------------------------------------------


def _rows(value: Value, axes: Sequence[int]) -> Value:
    """Return a value with some axes, in row-major order, as one axis in front of the others."""
    rank = len(value.shape)
    kept = [axis for axis in range(rank) if axis not in axes]
    shape = (prod(value.shape[axis] for axis in axes), *(value.shape[axis] for axis in kept))
    return rearranged(
        value,
        ty.TensorType(shape, value.element_type),
        lambda array, trailing: array.transpose(*axes, *kept, *range(rank, array.ndim)).reshape(shape + trailing),
    )


def _of_type(value: Value, type_: ty.Type) -> Value:
    return Value(type_, value.bits, value.poison, value.open, value.origins)


def reduce(op: Operation, settings: Settings, masked: bool = False) -> Function:
    """Return the function of vector.reduction. ``masked``: it is inside vector.mask, whose mask is one more operand.
    Only the flag ``reassoc`` permits another order than the sequence.
    """
    type_, kind = op.results[0].type, kind_of(op.properties["kind"])
    order = settings.profile.reduction_order if fastmath_of(op) & _REASSOC else "sequential"
    combination = Combination(op, kind, type_, settings, order, flags_of(op, type_))
    given = len(op.operands) > 1

    def reduced(run: Run, operands: Operands) -> tuple[Any, ...]:
        vector, first = operands[0], operands[1] if given else None
        lanes = active_lanes(op, operands[-1]) if masked else np.ones(vector.shape, np.bool_)
        if masked and combination.draws:
            row = reshaped(vector, ty.TensorType((vector.size,), type_), (vector.size,))
            total = combination.fold_under_mask(run, first, row, lanes.reshape(-1))
            return (neutral(arith_name(kind, type_) or "", type_) if total is None else _of_type(total, type_),)
        rows = picked(vector, (lanes,), ty.TensorType((int(np.count_nonzero(lanes)),), type_))
        if first is None and not rows.size:
            return (neutral(arith_name(kind, type_) or "", type_),)
        return (_of_type(combination.fold(run, first, rows), type_),)

    return reduced


def flags_of(op: Operation, type_: ty.Type) -> dict[str, at.Attribute]:
    """Return the properties of the op of arith that combines elements of a type."""
    flags = op.properties.get("fastmath")
    return {} if flags is None or not isinstance(type_, ty.FloatType) else {"fastmath": flags}


def multi_reduce(op: Operation, settings: Settings, masked: bool = False) -> Function:
    """Return the function of vector.multi_reduction. ``masked``: as for `reduce`."""
    type_ = op.results[0].type
    order = settings.profile.reduction_order
    combination = Combination(op, kind_of(op.properties["kind"]), type_, settings, order)
    axes = integers(op.properties["reduction_dims"])

    def reduced(run: Run, operands: Operands) -> tuple[Any, ...]:
        source, result = operands[:2]
        along = sorted(axis for axis in set(axes) if 0 <= axis < len(source.shape))
        rows = _rows(source, along)
        if not masked:
            return (combination.fold(run, result, rows),)
        bits = active_lanes(op, operands[-1]).astype(np.uint8)
        lanes = _rows(Value(ty.TensorType(source.shape, ty.I1), bits), along)
        for number in range(len(rows.bits)):
            combined = combination.pair(run, result, part(rows, number))
            result = chosen(run, lanes.bits[number] != 0, combined, result)
        return (_of_type(result, type_),)

    return reduced


def chosen(run: Run, lanes: Mask, one: Value, other: Value) -> Value:
    """Return the elements of ``one`` in some lanes, and those of ``other`` in the rest."""
    part = picked(one, (lanes,), ty.TensorType((int(np.count_nonzero(lanes)),), one.element_type))
    return replaced(run, other, (lanes,), part)


def scan(op: Operation, settings: Settings) -> Function:
    """Return the function of vector.scan, which follows MLIR's lowering: an inclusive scan begins with the first
    element and does not read the initial value; the second result is the last part of the first.
    """
    type_, part_type = op.results[0].type, op.results[1].type
    combination = Combination(op, kind_of(op.properties["kind"]), part_type, settings)
    axis, inclusive = (_integer(op, name) for name in ("reduction_dim", "inclusive"))

    def scanned(run: Run, operands: Operands) -> tuple[Any, ...]:
        whole, initial = operands
        rows = _rows(whole, (axis,))
        count = len(rows.bits)
        last = part(rows, 0) if count and inclusive else initial
        parts = []
        for number in range(count):
            if number:
                last = combination.pair(run, last, part(rows, number if inclusive else number - 1))
            parts.append(last)
        if parts:
            whole = combined(run, parts, type_, lambda arrays: np.stack(arrays, axis))
        return _of_type(whole, type_), _of_type(last, part_type)

    return scanned


def _integer(op: Operation, name: str) -> int:
    attribute = op.properties[name]
    assert isinstance(attribute, at.IntegerAttr)
    return attribute.value


# --- contraction ------------------------------------------------------------------------------------------------------


def _spread(value: Value, dimensions: Sequence[int], order: Sequence[int]) -> Value:
    """Return a value whose axes are the dimensions ``order``, with size 1 where it has none of ``dimensions``."""
    rank = len(value.shape)
    places = [dimensions.index(dimension) for dimension in order if dimension in dimensions]
    shape = tuple(value.shape[dimensions.index(each)] if each in dimensions else 1 for each in order)
    whole = ty.TensorType(shape, value.element_type)
    return rearranged(
        value,
        whole,
        lambda array, trailing: array.transpose(*places, *range(rank, array.ndim)).reshape(shape + trailing),
    )


def _dimensions(map_: at.Attribute) -> list[int]:
    assert isinstance(map_, at.AffineMapAttr)
    return [expr.position for expr in map_.results if isinstance(expr, Dimension)]


def contract(op: Operation, settings: Settings, masked: bool = False) -> Function:
    """Return the function of vector.contract. ``masked``: as for `reduce`. Narrower operands are extended first."""
    type_ = op.results[0].type
    element = ty.element_type(type_)
    maps, iterators = op.properties["indexing_maps"], op.properties["iterator_types"]
    assert isinstance(maps, at.ArrayAttr)
    assert isinstance(iterators, at.ArrayAttr)
    left, right, target = map(_dimensions, maps.elements)
    dimensions = range(len(iterators.elements))
    reduced = [dimension for dimension in dimensions if dimension not in target]
    order = [*reduced, *target]
    multiply = Combination(op, "mul", type_, settings)
    combine = Combination(op, kind_of(op.properties["kind"]), type_, settings, settings.profile.reduction_order)

    def contracted(run: Run, operands: Operands) -> tuple[Any, ...]:
        factors = [_extended(op, run, value, element, settings) for value in operands[:2]]
        result: Value = operands[2]
        sides = [_spread(value, own, order) for value, own in zip(factors, (left, right), strict=True)]
        sizes = tuple(max(pair) for pair in zip(*(side.shape[: len(reduced)] for side in sides), strict=True))
        sides = [_repeated_rows(side, sizes) for side in sides]
        lanes = None
        if masked:
            bits = active_lanes(op, operands[-1]).astype(np.uint8)
            spread = _spread(Value(ty.TensorType(bits.shape, ty.I1), bits), dimensions, order)
            lanes = _repeated_rows(spread, sizes)
        many = max(1, _CHUNK // max(1, result.size))
        count = prod(sizes)
        run.charge(op, count * result.size)
        one_by_one = masked or settings.random is not None  # random bits go to the products and sums in their order
        step = 1 if one_by_one else count if combine.needs_all else many
        for start in range(0, count, max(1, step)):
            some = slice(start, start + step)
            products = multiply.pair(run, *(part(side, some) for side in sides))
            combined = combine.fold(run, result, products)
            result = combined if lanes is None else chosen(run, lanes.bits[start] != 0, combined, result)
        return (_of_type(result, type_),)

    return contracted


def _repeated_rows(side: Value, sizes: tuple[int, ...]) -> Value:
    """Return a value with its first axes, repeated to these sizes, as one axis."""
    shape = side.shape[len(sizes) :]
    whole = repeated(side, (*sizes, *shape), ty.TensorType((*sizes, *shape), side.element_type), len(side.shape))
    rows = prod(sizes), *shape
    return reshaped(whole, ty.TensorType(rows, side.element_type), rows)


def _extended(op: Operation, run: Run, value: Value, element: ty.Type, settings: Settings) -> Value:
    """Return an operand with the element type of the accumulator: integers are extended as signed ones."""
    given = value.element_type
    if given == element:
        return value
    if isinstance(given, ty.FloatType) != isinstance(element, ty.FloatType) or ty.width_of(given) >= ty.width_of(
        element
    ):
        raise Unsupported(
            f"{op.name}: what elements of type '{given}' are as '{element}' is not defined",
            location=op.location,
            op=op.name,
        )
    name = "arith.extf" if isinstance(element, ty.FloatType) else "arith.extsi"
    target = ty.with_element(value.type, element)
    return elementwise_step(op, name, (value.type,), target, settings).run(run, (value,))[0]


# --- products ---------------------------------------------------------------------------------------------------------


def outer_product(op: Operation, settings: Settings, masked: bool = False) -> Function:
    """Return the function of vector.outerproduct. ``masked``: as for `reduce`. A lane left out has the accumulator;
    without one it is poison.
    """
    type_, kind = op.results[0].type, kind_of(op.properties["kind"])
    element = ty.element_type(type_)
    given = len(op.operands) > 2
    fused = given and kind == "add" and isinstance(element, ty.FloatType)
    multiply = Combination(op, "mul", type_, settings)
    combine = Combination(op, kind, type_, settings)
    inner = Operation("vector.fma", None, [op.results[0]] * 3, [type_])
    inner.location = op.location
    together = PointwiseStep(inner, FMA, _fma(op, settings), settings, op) if fused else None

    def product(run: Run, operands: Operands) -> tuple[Any, ...]:
        shape = static_shape(type_, settings)
        tall = operands[0].shape + (1,) * (len(shape) - 1)
        column = reshaped(operands[0], ty.TensorType(tall, element), tall)
        factors = (
            repeated(column, shape, type_, len(shape)),
            repeated(operands[1], shape, type_, len(operands[1].shape)),
        )
        if together is not None:
            (result,) = together.run(run, (*factors, operands[2]))
        else:
            result = multiply.pair(run, *factors)
            if given:
                result = combine.pair(run, operands[2], result)
        return (_masked(op, run, settings, result, operands, given) if masked else result,)

    return product


def _masked(op: Operation, run: Run, settings: Settings, result: Value, operands: Operands, given: bool) -> Value:
    lanes = active_lanes(op, operands[-1])
    if given:
        return chosen(run, lanes, result, operands[2])
    where = np.asarray(~lanes)
    return spoiled(result, poison_ids(op, run, settings, where, "the mask leaves the element out"), where, run)
