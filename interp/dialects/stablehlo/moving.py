"""The ops of StableHLO that move elements and compute nothing, and iota, which makes them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import signed_integers, storage_dtype
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.elements import (
    Function,
    Operands,
    combined,
    data_movement,
    first_origin,
    made,
    of_shape,
    picked,
    rearranged,
    replaced,
    reshaped,
)
from halfulp.interp.dialects.stablehlo.attributes import COUNT
from halfulp.interp.dialects.stablehlo.forms import FUNCTION_TYPE, array
from halfulp.interp.dialects.stablehlo.quantized import quantized_numbers
from halfulp.interp.dialects.stablehlo.types import (
    ANY_TENSOR,
    I32_TENSOR,
    PLAIN_TENSOR,
    Extent,
    Kind,
    bounds_of,
    compatible_elements,
    kind_of,
    most_specific,
    not_inferred,
    operand_types,
    same_elements,
    shown_sizes,
    sizes_fit,
    stablehlo,
    tensor,
    tensor_of,
)
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import spell_double
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.run.evaluators import Elementwise, OnValues, PerOp
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.lanes import over_lanes
from halfulp.interp.values.lanes import repeated as repeated_in_lanes
from halfulp.interp.values.value import Value, retyped
from halfulp.semantics import casts, complex_numbers
from halfulp.semantics import stablehlo as semantics
from halfulp.semantics.profile import Profile

Array = npt.NDArray[Any]

_BOUNDED = tensor_of("FBICQX", "statically shaped or single bounded dimension")


def shape_of(type_: ty.Type) -> tuple[int | None, ...]:
    """Return the shape of a ranked tensor."""
    shape = ty.shape_of(type_)
    assert shape is not None
    return shape


# --- broadcasting and reshaping ---------------------------------------------------------------------------------------


def same_scale(one: ty.Type, other: ty.Type, by_axis: bool = True) -> Unprefixed | None:
    """Return what is wrong with two tensors that must have the same scales and zero points if both are quantised, or
    None. ``by_axis``: if False, tensors with a scale for each index of an axis are not checked.
    """
    first, second = ty.element_type(one), ty.element_type(other)
    if not isinstance(first, ty.UniformQuantizedType) or not isinstance(second, ty.UniformQuantizedType):
        return None
    if first.axis is None and second.axis is None and first != second:
        return Unprefixed(f"expect same quantization scale and zero_point but got '{one}' vs '{other}'")
    if None in (first.axis, second.axis) or not by_axis:
        return None
    # As in StableHLO, lists of different lengths are compared as far as both go.
    pairs = zip(first.scales, second.scales, strict=False), zip(first.zero_points, second.zero_points, strict=False)
    if all(a == b for each in pairs for a, b in each):
        return None
    return Unprefixed(f"expect same quantization scales and zero_points but got '{one}' vs '{other}'")


def axis_of(type_: ty.Type) -> int | None:
    """Return the axis of a tensor that has a scale for each index; None if no axis has."""
    element = ty.element_type(type_)
    return element.axis if isinstance(element, ty.UniformQuantizedType) else None


def verify_scales_of_broadcast(operand: ty.Type, result: ty.Type, dims: Sequence[int]) -> Unprefixed | None:
    """Return what is wrong with the scales of the result of a broadcast, or None. Only a result with a scale for each
    index of an axis is checked.
    """
    one, other = ty.element_type(operand), ty.element_type(result)
    if not isinstance(other, ty.UniformQuantizedType) or other.axis is None:
        return None
    if not isinstance(one, ty.UniformQuantizedType) or one.axis is None:
        return None
    if other.axis != dims[one.axis]:
        return Unprefixed(
            f"result quantization_dimension {other.axis} not same as broadcast_dimensions[{one.axis}] = "
            f"{dims[one.axis]}"
        )
    if shape_of(operand)[one.axis] != 1:
        return None
    for index, (scale, zero) in enumerate(zip(other.scales, other.zero_points, strict=True)):
        if scale != one.scales[0]:
            shown = spell_double(scale), spell_double(one.scales[0])
            return Unprefixed(f"mismatch result scale {index} ({shown[0]}) and operand scale 0 ({shown[1]})")
        if zero != one.zero_points[0]:
            return Unprefixed(
                f"mismatch result zero_point {index} ({zero}) and operand zero_point 0 ({one.zero_points[0]})"
            )
    return None


def _verify_broadcast(op: Operation) -> str | None:
    one, other = op.operands[0].type, op.results[0].type
    found = compatible_elements(op) or same_scale(one, other, by_axis=False)
    if found is not None:
        return found
    operand, result = shape_of(one), shape_of(other)
    dims = op.numbers("broadcast_dimensions")
    if len(dims) != len(operand):
        return Unprefixed(f"broadcast_dimensions size ({len(dims)}) does not match operand rank ({len(operand)})")
    if len(set(dims)) != len(dims):
        return Unprefixed("broadcast_dimensions should not have duplicates")
    for axis, dim in enumerate(dims):
        if not 0 <= dim < len(result):
            return Unprefixed(f"broadcast_dimensions contains invalid value {dim} for result with rank {len(result)}")
        size, wanted = operand[axis], shown_sizes(other)[dim]
        if size is not None and size not in (1, wanted):
            return Unprefixed(
                f"size of operand dimension {axis} ({size}) is not equal to 1 or size of result dimension {dim} "
                f"({wanted})"
            )
    return verify_scales_of_broadcast(one, other, dims)


def broadcast_to(value: Value, dims: Sequence[int], shape: tuple[int, ...], type_: ty.Type) -> Value:
    """Return an array repeated to a larger shape. ``dims``: for each of its dimensions, the dimension of the larger
    shape.
    """
    order = sorted(range(len(dims)), key=dims.__getitem__)
    sizes = [1] * len(shape)
    for axis, dim in enumerate(dims):
        sizes[dim] = value.shape[axis]

    def move(array: Array, trailing: tuple[int, ...]) -> Array:
        turned = array.transpose(*order, *range(len(order), array.ndim))
        return np.broadcast_to(turned.reshape((*sizes, *trailing)), shape + trailing)

    return rearranged(value, type_, move)


def _broadcast_in_dim(op: Operation, settings: Settings) -> Function:
    dims, shape = op.numbers("broadcast_dimensions"), tuple(size or 0 for size in shape_of(op.results[0].type))
    return lambda run, operands: (broadcast_to(operands[0], dims, shape, made(op, shape, settings)),)


stablehlo.op(
    "broadcast_in_dim",
    f"$operand `,` `dims` `=` $broadcast_dimensions {FUNCTION_TYPE}",
    operands={"operand": ANY_TENSOR},
    results={"result": _BOUNDED},
    properties=(array("broadcast_dimensions"),),
    verify=_verify_broadcast,
    evaluate=data_movement(_broadcast_in_dim),
)


def verify_scales_of_reshape(operand: ty.Type, result: ty.Type) -> Unprefixed | None:
    """Return what is wrong with the scales of a reshaped tensor, or None."""
    found = same_scale(operand, result)
    axes = axis_of(operand), axis_of(result)
    if found is not None or axes[0] is None or axes[1] is None:
        return found
    one, other = shape_of(operand), shape_of(result)
    if not sizes_fit(one[axes[0]], other[axes[1]]):
        return Unprefixed(f"expect same quantization dimension size for operand and result '{operand}' and '{result}'")
    if None in one or None in other:
        return None
    before = [prod(size or 0 for size in sizes[:axis]) for sizes, axis in zip((one, other), axes, strict=True)]
    if before[0] == before[1]:
        return None
    return Unprefixed(
        f"product of dimensions before quantization dimension must match between operand and result for {before[0]} "
        f"and {before[1]}"
    )


def _verify_reshape(op: Operation) -> str | None:
    found = compatible_elements(op)
    if found is not None:
        return found
    made, given = (ty.element_count(value.type) for value in (op.results[0], op.operands[0]))
    if made is None or given is None:
        return None
    if made != given:
        return Unprefixed(f"number of output elements ({made}) doesn't match expected number of elements ({given})")
    return verify_scales_of_reshape(op.operands[0].type, op.results[0].type)


def _reshape(op: Operation, settings: Settings) -> Function:
    type_ = op.results[0].type
    shape = tuple(size or 0 for size in shape_of(type_))
    return lambda run, operands: (reshaped(operands[0], type_, shape),)


stablehlo.op(
    "reshape",
    f"$operand {FUNCTION_TYPE}",
    operands={"operand": ANY_TENSOR},
    results={"result": _BOUNDED},
    verify=_verify_reshape,
    evaluate=data_movement(_reshape),
)

# --- order ------------------------------------------------------------------------------------------------------------


def _verify_transpose(op: Operation) -> str | None:
    operand, result = op.operands[0].type, op.results[0].type
    shape, permutation = shape_of(operand), op.numbers("permutation")
    found = compatible_elements(op) or same_scale(operand, result)
    if found is not None:
        return found
    axes = axis_of(operand), axis_of(result)
    if axes[1] is not None and axes[1] < len(permutation) and axes[0] != permutation[axes[1]]:
        return Unprefixed(
            f"operand quantization_dimension {axes[0]} is not same as permutation[{axes[1]}] = {permutation[axes[1]]}"
        )
    if len(permutation) != len(shape):
        return Unprefixed(f"TransposeOp operand rank {len(shape)} does not match permutation size {len(permutation)}")
    if sorted(permutation) != list(range(len(shape))):
        every, got = (", ".join(map(str, each)) for each in (range(len(shape)), permutation))
        return Unprefixed(f"attribute permutation must be a permutation of [{every}] but got {got}")
    bounds = bounds_of(operand)
    made = tensor(
        [shape[axis] for axis in permutation],
        ty.element_type(operand),
        [bounds[axis] for axis in permutation] if bounds else (),
    )
    return not_inferred(op, made)


def _transpose(op: Operation, settings: Settings) -> Function:
    permutation, type_ = op.numbers("permutation"), op.results[0].type

    def move(array: Array, trailing: tuple[int, ...]) -> Array:
        return array.transpose(*permutation, *range(len(permutation), array.ndim))

    return lambda run, operands: (rearranged(operands[0], type_, move),)


stablehlo.op(
    "transpose",
    f"$operand `,` `dims` `=` $permutation {FUNCTION_TYPE}",
    operands={"operand": ANY_TENSOR},
    results={"result": ANY_TENSOR},
    properties=(array("permutation"),),
    verify=_verify_transpose,
    evaluate=data_movement(_transpose),
)


def _verify_reverse(op: Operation) -> str | None:
    found = same_elements(op)
    if found is not None:
        return found
    rank, dims = len(shape_of(op.operands[0].type)), op.numbers("dimensions")
    if len(set(dims)) != len(dims):
        return Unprefixed(f"dimensions should be unique. Got: {', '.join(map(str, dims))}")
    for dim in dims:
        if dim < 0:
            return Unprefixed(f"all dimensions should be non-negative. Got dimension: {dim}.")
        if dim >= rank:
            return Unprefixed(f"all dimensions should be between [0, {rank}). Got dimension: {dim}.")
    return not_inferred(op, op.operands[0].type)


def _reverse(op: Operation, settings: Settings) -> Function:
    dims, type_ = op.numbers("dimensions"), op.results[0].type

    def move(array: Array, trailing: tuple[int, ...]) -> Array:
        return np.flip(array, dims)

    return lambda run, operands: (rearranged(operands[0], type_, move),)


stablehlo.op(
    "reverse",
    "$operand `,` `dims` `=` $dimensions attr-dict `:` custom<SameOperandsAndResultType>($operand, $result)",
    operands={"operand": PLAIN_TENSOR},
    results={"result": PLAIN_TENSOR},
    properties=(array("dimensions"),),
    verify=_verify_reverse,
    evaluate=data_movement(_reverse),
)

# --- parts ------------------------------------------------------------------------------------------------------------


def _verify_slice(op: Operation) -> str | None:
    found = same_elements(op)
    if found is not None:
        return found
    operand = op.operands[0].type
    shape, bounds = shape_of(operand), bounds_of(operand)
    lists = [op.numbers(name) for name in ("start_indices", "limit_indices", "strides")]
    if len(set(map(len, lists))) > 1:
        return "failed to verify that all of {start_indices, limit_indices, strides} have same size"
    if len(lists[0]) != len(shape):
        return Unprefixed(
            f"the number of elements in start_indices ({len(lists[0])}) does not match the rank of the operand "
            f"({len(shape)})"
        )
    sizes = []
    for axis, (size, start, limit, stride) in enumerate(zip(shape, *lists, strict=True)):
        if start < 0:
            return Unprefixed(f"negative start index {start} in dimension {axis}")
        most = bounds[axis] if size is None and bounds else size
        if most is not None and limit > most:
            what = "bound" if size is None else "size"
            return Unprefixed(f"limit index {limit} is larger than dimension {what} {most} in dimension {axis}")
        if start > limit:
            return Unprefixed(f"start index {start} is larger than limit index {limit} in dimension {axis}")
        if stride <= 0:
            return Unprefixed(f"stride must be positive but got {stride} in dimension {axis}")
        sizes.append(-(-(limit - start) // stride))
    return not_inferred(op, tensor(sizes, ty.element_type(operand)))


def _slice(op: Operation, settings: Settings) -> Function:
    lists = [op.numbers(name) for name in ("start_indices", "limit_indices", "strides")]
    index, type_ = tuple(map(slice, *lists)), op.results[0].type
    return lambda run, operands: (picked(operands[0], index, type_),)


stablehlo.op(
    "slice",
    f"$operand custom<SliceRanges>($start_indices, $limit_indices, $strides) {FUNCTION_TYPE}",
    operands={"operand": PLAIN_TENSOR},
    results={"result": PLAIN_TENSOR},
    properties=tuple(map(array, ("start_indices", "limit_indices", "strides"))),
    verify=_verify_slice,
    evaluate=data_movement(_slice),
)


_PADDING = ("edge_padding_low", "edge_padding_high", "interior_padding")


def padded_size(size: int, low: int, high: int, interior: int) -> int:
    """Return the size of a dimension with padding at both ends and between its elements."""
    return size + low + high + max(size - 1, 0) * interior


def _verify_pad(op: Operation) -> str | None:
    found = same_elements(op)
    if found is not None:
        return found
    operand = op.operands[0].type
    shape, bounds = shape_of(operand), bounds_of(operand)
    low, high, interior = (op.numbers(name) for name in _PADDING)
    if not len(low) == len(high) == len(interior):
        return "failed to verify that all of {edge_padding_low, edge_padding_high, interior_padding} have same size"
    if len(low) != len(shape):
        return Unprefixed(f"edge_padding_low length ({len(low)}) must match operand rank ({len(shape)})")
    sizes: list[int | None] = []
    limits: list[int | None] = []
    for axis, (size, below, above, inside) in enumerate(zip(shape, low, high, interior, strict=True)):
        if inside < 0:
            return Unprefixed(f"Interior padding cannot be negative: {inside}")
        known = bounds[axis] if size is None and bounds else size
        made = None if known is None else padded_size(known, below, above, inside)
        if made is not None and made < 0:
            what = "bound" if size is None else "size"
            return Unprefixed(f"Padding result in negative {what} for dimension {axis}")
        sizes.append(None if size is None else made)
        limits.append(made if size is None else None)
    return not_inferred(op, tensor(sizes, ty.element_type(operand), limits))


def padded(
    run: Run,
    value: Value,
    fill: Value,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int],
    type_: ty.Type,
) -> Value:
    """Return an array with padding around it and between its elements, made of ``fill``, a tensor without dimensions.

    Negative padding cuts off elements, at most all of them. In a batch, the axis of the lanes gets no padding.
    """
    lanes = over_lanes(value) or over_lanes(fill)
    if lanes and not over_lanes(value):
        value = repeated_in_lanes(value, len(fill.bits))
    if lanes:
        low, high, interior = ((0, *each) for each in (low, high, interior))
    shape = tuple([max(0, size) for size in map(padded_size, value.shape, low, high, interior)])
    check_allocation(type_, shape, run.settings)
    places = []
    for size, end, below, inside in zip(value.shape, shape, low, interior, strict=True):
        step = inside + 1
        # Element k comes to below + k * step; those that lie outside are cut off.
        first = max(0, -(below // step))
        last = max(first, min(size, -((below - end) // step)))
        where = below + first * step
        places.append((slice(first, last), slice(where, where + (last - first) * step, step)))

    def join(arrays: list[Array]) -> Array:
        elements, around = arrays
        trailing = elements.shape[len(shape) :]
        if fill.shape:  # over lanes
            around = around.reshape(len(around), *(1,) * (len(shape) - 1), *trailing)
        whole = np.broadcast_to(around, shape + trailing).copy()
        whole[tuple(target for _, target in places)] = elements[tuple(source for source, _ in places)]
        return whole

    return combined(run, (value, fill), type_, join)


def _pad(op: Operation, settings: Settings) -> Function:
    low, high, interior = (op.numbers(name) for name in _PADDING)

    def pad(run: Run, operands: Operands) -> tuple[Any, ...]:
        value, fill = operands
        type_ = made(op, tuple(map(padded_size, value.shape, low, high, interior)), settings)
        return (padded(run, value, fill, low, high, interior, type_),)

    return pad


stablehlo.op(
    "pad",
    "$operand `,` $padding_value `,` `low` `=` $edge_padding_low `,` `high` `=` $edge_padding_high `,` "
    f"`interior` `=` $interior_padding {FUNCTION_TYPE}",
    operands={"operand": PLAIN_TENSOR, "padding_value": tensor_of("FBICQ", "0D")},
    results={"result": PLAIN_TENSOR},
    properties=tuple(map(array, _PADDING)),
    verify=_verify_pad,
    evaluate=data_movement(_pad),
)


def _joined(one: Extent, other: Extent) -> Extent:
    """Return what is known of a dimension that is joined from two."""
    if one[0] is not None and other[0] is not None:
        return one[0] + other[0], None
    most = [bound if size is None else size for size, bound in (one, other)]
    return None, None if most[0] is None or most[1] is None else most[0] + most[1]


def _verify_concatenate(op: Operation) -> str | None:
    if not op.operands:
        return "expected 1 or more operands, but found 0"
    found = same_elements(op)
    if found is not None:
        return found
    axis, types = op.number("dimension"), operand_types(op)
    shapes = [shape_of(type_) for type_ in types]
    rank = len(shapes[0])
    if not rank:
        return Unprefixed("rank-0 values cannot be concatenated")
    if axis >= rank:
        return Unprefixed(f"dimension {axis} is out-of-bounds for input rank {rank}")
    for number, shape in enumerate(shapes):
        if len(shape) != rank:
            return Unprefixed(f"operands (0) and ({number}) do not match rank")
        for dim in range(rank):
            if dim != axis and not sizes_fit(shapes[0][dim], shape[dim]):
                shown = [", ".join(map(str, shown_sizes(types[k]))) for k in (0, number)]
                return Unprefixed(
                    f"shapes of operand (0) and ({number}) are not compatible at non-concat index {dim}: ({shown[0]}) "
                    f"!= ({shown[1]})"
                )
    known: list[Extent] = [(0, None) if dim == axis else (None, None) for dim in range(rank)]
    for type_, shape in zip(types, shapes, strict=True):
        for dim, extent in enumerate(zip(shape, bounds_of(type_) or (None,) * rank, strict=True)):
            made = _joined(known[dim], extent) if dim == axis else most_specific(dim, known[dim], extent)
            if isinstance(made, Unprefixed):
                return made
            known[dim] = made
    sizes, limits = zip(*known, strict=True)
    return not_inferred(op, tensor(sizes, ty.element_type(types[0]), limits))


def _concatenate(op: Operation, settings: Settings) -> Function:
    axis = op.number("dimension")

    def join(run: Run, operands: Operands) -> tuple[Any, ...]:
        first = operands[0].shape
        shape = (*first[:axis], sum(value.shape[axis] for value in operands), *first[axis + 1 :])
        type_ = made(op, shape, settings)
        return (combined(run, operands, type_, lambda arrays: np.concatenate(arrays, axis)),)

    return join


stablehlo.op(
    "concatenate",
    f"custom<VariadicOperandWithAttribute>($inputs) `dim` `=` $dimension {FUNCTION_TYPE}",
    operands=(d.variadic("inputs", PLAIN_TENSOR),),
    results={"result": PLAIN_TENSOR},
    properties=(d.Property("dimension", COUNT),),
    verify=_verify_concatenate,
    evaluate=data_movement(_concatenate),
)

# --- parts at places that operands give -------------------------------------------------------------------------------


def signed_numbers(op: Operation, value: Value, what: str) -> npt.NDArray[np.int64]:
    """Return an array of integers as signed numbers. Unsigned 64-bit integers that are too large become the largest
    number.
    """
    if value.poison is not None:
        raise undefined(op, f"{what} is poison: {first_origin(value)}")
    element = ty.element_type(value.type)
    if kind_of(element) is Kind.SIGNED:
        return signed_integers(value.bits, ty.width_of(element))
    return np.minimum(value.bits.astype(np.uint64), np.uint64((1 << 63) - 1)).view(np.int64)


def indices(op: Operation, value: Value, profile: Profile) -> npt.NDArray[np.int64]:
    """Return indices as numbers. The profile says whether unsigned integers are read as signed ones."""
    element = ty.element_type(value.type)
    if profile.index_sign == "by_type" or kind_of(element) is Kind.SIGNED or ty.width_of(element) > 32:
        return signed_numbers(op, value, "an index")
    signed = ty.with_element(value.type, ty.IntegerType(ty.width_of(element)))
    return signed_numbers(op, retyped(value, signed), "an index")


def _starts(
    op: Operation, operands: Sequence[Value], shape: Sequence[int], sizes: Sequence[int], profile: Profile
) -> tuple[int, ...]:
    """Return the start of a part along each axis, moved so that the part lies inside."""
    numbers = [int(indices(op, value, profile)) for value in operands]
    return tuple(min(max(number, 0), whole - part) for number, whole, part in zip(numbers, shape, sizes, strict=True))


def _differ(names: str, *types: ty.Type) -> str | None:
    """Check that tensors have one type of elements. ``names``: what they are in the op."""
    if len(set(map(ty.element_type, types))) == 1:
        return None
    return f"failed to verify that all of {{{names}}} have same element type"


def _verify_starts(op: Operation, first: int) -> Unprefixed | None:
    """Check that the indices, which begin at an operand, have one type of elements."""
    elements = [ty.element_type(value.type) for value in op.operands[first:]]
    return Unprefixed("start indices must have same element type") if len(set(elements)) > 1 else None


def _verify_dynamic_slice(op: Operation) -> str | None:
    found = _differ("operand, result", op.operands[0].type, op.results[0].type)
    if found is not None:
        return found
    shape, sizes = shape_of(op.operands[0].type), op.numbers("slice_sizes")
    starts = len(op.operands) - 1
    if len(sizes) != starts:
        return Unprefixed(f"has mismatched number of slice sizes ({len(sizes)}) and number of start indices ({starts})")
    if starts != len(shape):
        return Unprefixed(f"has mismatched number of start indices ({starts}) and the rank of operand ({len(shape)})")
    found = _verify_starts(op, 1)
    if found is not None:
        return found
    for axis, (size, whole) in enumerate(zip(sizes, shape, strict=True)):
        if size < 0:
            return Unprefixed(f"has negative size index to dynamic slice: {size}")
        if whole is not None and size > whole:
            return Unprefixed(
                f"has slice size {size} greater than dimension size {whole} in dimension {axis} of operand"
            )
    return not_inferred(op, tensor(sizes, ty.element_type(op.operands[0].type)))


def _dynamic_slice(op: Operation, settings: Settings) -> Function:
    sizes, type_ = op.numbers("slice_sizes"), op.results[0].type

    def part(run: Run, operands: Operands) -> tuple[Any, ...]:
        starts = _starts(op, operands[1:], operands[0].shape, sizes, settings.profile)
        return (picked(operands[0], tuple(slice(k, k + n) for k, n in zip(starts, sizes, strict=True)), type_),)

    return part


_INDEX = tensor_of("I", "0D")

stablehlo.op(
    "dynamic_slice",
    f"$operand `,` custom<VariadicOperandWithAttribute>($start_indices) `sizes` `=` $slice_sizes {FUNCTION_TYPE}",
    operands=(d.Slot("operand", PLAIN_TENSOR), d.variadic("start_indices", _INDEX)),
    results={"result": PLAIN_TENSOR},
    properties=(array("slice_sizes"),),
    verify=_verify_dynamic_slice,
    evaluate=data_movement(_dynamic_slice, elements=1),
)


def _verify_dynamic_update_slice(op: Operation) -> str | None:
    found = _differ("operand, update, result", op.operands[0].type, op.operands[1].type, op.results[0].type)
    if found is not None:
        return found
    operand, update = (shape_of(op.operands[k].type) for k in (0, 1))
    starts = len(op.operands) - 2
    if len(update) != len(operand):
        return Unprefixed(f"update rank does not match operand rank: {len(update)} vs {len(operand)}.")
    if starts != len(operand):
        return Unprefixed(f"expects number of start_indices to match operand rank: {starts} vs {len(operand)}.")
    found = _verify_starts(op, 2)
    if found is not None:
        return found
    for axis, (part, whole) in enumerate(zip(update, operand, strict=True)):
        if part is not None and whole is not None and part > whole:
            return Unprefixed(f"expects size at dimension {axis} of update to be in range [0, {whole}]. Got: {part}.")
    return not_inferred(op, op.operands[0].type)


def _dynamic_update_slice(op: Operation, settings: Settings) -> Function:
    def put(run: Run, operands: Operands) -> tuple[Any, ...]:
        whole, part = operands[:2]
        starts = _starts(op, operands[2:], whole.shape, part.shape, settings.profile)
        index = tuple(slice(k, k + n) for k, n in zip(starts, part.shape, strict=True))
        return (replaced(run, whole, index, part),)

    return put


stablehlo.op(
    "dynamic_update_slice",
    f"$operand `,` $update `,` $start_indices {FUNCTION_TYPE}",
    operands=(d.Slot("operand", PLAIN_TENSOR), d.Slot("update", PLAIN_TENSOR), d.variadic("start_indices", _INDEX)),
    results={"result": PLAIN_TENSOR},
    verify=_verify_dynamic_update_slice,
    evaluate=data_movement(_dynamic_update_slice, elements=2),
)

# --- iota -------------------------------------------------------------------------------------------------------------


def _verify_iota(op: Operation) -> str | None:
    rank, axis = len(shape_of(op.results[0].type)), op.number("iota_dimension")
    if not rank:
        return Unprefixed("does not support scalars.")
    return Unprefixed("iota dimension cannot go beyond the output rank.") if axis >= rank else None


def _counted(op: Operation, count: int, element: ty.Type, settings: Settings) -> Array:
    """Return the codes of 0, 1, 2, …"""
    numbers = np.arange(count, dtype=np.uint64)
    if isinstance(element, ty.ComplexType):
        real = _counted(op, count, element.element, settings)
        return complex_numbers.of_parts(real, np.zeros_like(real), ty.float_format(element.element))
    if isinstance(element, ty.FloatType):
        return casts.from_integer(64, True, element.format, settings.profile).array(numbers).results[0]
    if isinstance(element, ty.UniformQuantizedType):
        return quantized_numbers(element, _counted(op, count, element.expressed, settings), settings.profile)
    assert isinstance(element, ty.IntegerType)
    return semantics.extend(64, False, element.width).array(numbers).results[0]


def counted(op: Operation, shape: tuple[int, ...], axis: int, type_: ty.Type, settings: Settings) -> Value:
    """Return an array whose elements are their own indices along ``axis``."""
    codes = _counted(op, shape[axis], ty.element_type(type_), settings)
    trailing = codes.shape[1:]
    column = codes.reshape((*(1,) * axis, shape[axis], *(1,) * (len(shape) - axis - 1), *trailing))
    return Value(type_, np.broadcast_to(column, shape + trailing))


def _iota(op: Operation, settings: Settings) -> Function:
    axis, shape = op.number("iota_dimension"), shape_of(op.results[0].type)
    sizes = tuple(size or 0 for size in shape)
    return lambda run, operands: (counted(op, sizes, axis, made(op, sizes, settings), settings),)


stablehlo.op(
    "iota",
    "`dim` `=` $iota_dimension attr-dict `:` type($output)",
    results={"output": tensor_of("IFCQ", "statically shaped")},
    properties=(d.Property("iota_dimension", COUNT),),
    verify=_verify_iota,
    evaluate=OnValues(_iota),
)

# --- bits -------------------------------------------------------------------------------------------------------------


def _bits_of(element: ty.Type) -> int:
    return 2 * _bits_of(element.element) if isinstance(element, ty.ComplexType) else ty.width_of(element)


def _verify_bitcast(op: Operation) -> str | None:
    operand, result = op.operands[0].type, op.results[0].type
    one, other = ty.element_type(operand), ty.element_type(result)
    if isinstance(one, ty.ComplexType) != isinstance(other, ty.ComplexType):
        return Unprefixed(f"cannot convert between real and complex types, but got: '{operand}' and '{result}'")
    widths = _bits_of(one), _bits_of(other)
    small, large = (shape_of(type_) for type_ in ((operand, result) if widths[0] < widths[1] else (result, operand)))
    if widths[0] != widths[1]:
        if len(small) != len(large) + 1:
            return Unprefixed(
                f"rank of smaller element type ({len(small)}) should be 1 more than rank of larger element type "
                f"({len(large)}), but {len(small)} != {len(large)} + 1."
            )
        *small_, last = small
        small = tuple(small_)
        if last is not None and last * min(widths) != max(widths):
            return Unprefixed(
                f"requires compatible bit widths. Got: '{operand}' and '{result}', but {min(widths)} * {last} != "
                f"{max(widths)}."
            )
    if not all(map(sizes_fit, small, large)):
        return Unprefixed(
            f"operand and result shapes must match except for the innermost dimension of the shape with the smaller "
            f"element type. Got: '{operand}' and '{result}'."
        )
    return None


def _bitcast_convert(op: Operation, settings: Settings) -> Function:
    type_ = op.results[0].type
    source, target = (ty.element_type(value.type) for value in (op.operands[0], op.results[0]))
    one, other = ty.width_of(ty.number_type(source)), ty.width_of(ty.number_type(target))

    def cast(run: Run, operands: Operands) -> tuple[Any, ...]:
        (value,) = operands
        if one == other:
            return (retyped(value, type_),)
        # The first of the smaller elements holds the lowest bits.
        ratio, narrow, wide = max(one, other) // min(one, other), min(one, other), storage_dtype(max(one, other))
        shifts = np.arange(ratio, dtype=wide) * wide.type(narrow)
        if one < other:
            bits = np.bitwise_or.reduce(value.bits.astype(wide) << shifts, axis=-1)
            poison = None if value.poison is None else value.poison.max(axis=-1)
            open_ = None if value.open is None else value.open.max(axis=-1)
        else:
            parts = value.bits[..., np.newaxis] >> shifts & wide.type((1 << narrow) - 1)
            bits = parts.astype(storage_dtype(narrow))
            poison = None if value.poison is None else np.repeat(value.poison[..., np.newaxis], ratio, -1)
            open_ = None if value.open is None else np.repeat(value.open[..., np.newaxis], ratio, -1)
        return (Value(type_, bits, poison, open_, value.origins),)

    return cast


def _evaluator_of_bitcast(op: Operation) -> Any:
    types = [ty.element_type(value.type) for value in (op.operands[0], op.results[0])]
    if (
        not any(isinstance(each, ty.ComplexType) for each in types)
        and len(set(map(ty.width_of, map(ty.number_type, types)))) == 1
    ):
        return Elementwise(lambda op, settings: casts.bitcast())
    # The last axis is divided or joined, so that an axis over lanes is like any other.
    return OnValues(_bitcast_convert, in_lanes=_bitcast_convert)


stablehlo.op(
    "bitcast_convert",
    f"$operand {FUNCTION_TYPE}",
    operands={"operand": ANY_TENSOR},
    results={"result": ANY_TENSOR},
    verify=_verify_bitcast,
    evaluate=PerOp(_evaluator_of_bitcast),
)


def _dimension_size(op: Operation, settings: Settings) -> Function:
    axis, type_ = op.number("dimension"), op.results[0].type
    return lambda run, operands: (Value(type_, np.array(operands[0].shape[axis], np.uint32)),)


def _verify_dimension_size(op: Operation) -> str | None:
    axis, rank = op.number("dimension"), len(shape_of(op.operands[0].type))
    if axis >= rank:
        return Unprefixed(f"requires dimension attribute in range [0, {rank}); found ({axis})")
    return not_inferred(op, ty.TensorType((), ty.I32))


stablehlo.op(
    "get_dimension_size",
    f"$operand `,` `dim` `=` $dimension {FUNCTION_TYPE}",
    operands={"operand": ANY_TENSOR},
    results={"result": I32_TENSOR},
    properties=(d.Property("dimension", COUNT),),
    verify=_verify_dimension_size,
    evaluate=of_shape(_dimension_size),
)
