"""The ops of StableHLO that move elements and compute nothing, and iota, which makes them."""

from __future__ import annotations

from collections.abc import Sequence
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
    of_shape,
    picked,
    rearranged,
    replaced,
    reshaped,
)
from halfulp.interp.dialects.elementwise import sizes_agree
from halfulp.interp.dialects.stablehlo.types import (
    ANY_TENSOR,
    COUNT,
    I32_TENSOR,
    PLAIN_TENSOR,
    Kind,
    compatible_elements,
    kind_of,
    not_inferred,
    same_elements,
    stablehlo,
    tensor_of,
)
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.run.evaluators import OnValues
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.element_layout import shape_conflict
from halfulp.interp.values.lanes import over_lanes
from halfulp.interp.values.lanes import repeated as repeated_in_lanes
from halfulp.interp.values.value import Value
from halfulp.semantics import casts, complex_numbers
from halfulp.semantics import stablehlo as semantics

Array = npt.NDArray[Any]

_BOUNDED = tensor_of("FBICQX", "statically shaped or single bounded dimension")
FUNCTION_TYPE = "attr-dict `:` functional-type(operands, results)"


def numbers_of(op: Operation, name: str) -> tuple[int, ...]:
    """Return the numbers of an array property."""
    return op.prop(name, at.DenseArrayAttr).values


def _array(name: str) -> d.Property:
    return d.Property(name, d.INTEGER_64_ARRAY_ATTR)


def shape_of(type_: ty.Type) -> tuple[int | None, ...]:
    """Return the shape of a ranked tensor."""
    shape = ty.shape_of(type_)
    assert shape is not None
    return shape


def _inferred(op: Operation, shape: Sequence[int | None]) -> str | None:
    """Check the result against the shape that follows, with the elements of the first operand."""
    expected = ty.TensorType(tuple(shape), ty.element_type(op.operands[0].type))
    return not_inferred(op, expected)


def made(op: Operation, shape: tuple[int, ...], settings: Settings) -> ty.Type:
    """Return the type of a result of a shape. Raises UndefinedBehavior where its type has another shape, and
    LimitExceeded.
    """
    type_ = op.results[0].type
    conflict = shape_conflict(type_, shape, settings.vscale)
    if conflict:
        raise undefined(op, conflict)
    check_allocation(type_, shape, settings)
    return type_


# --- broadcasting and reshaping ---------------------------------------------------------------------------------------


def _verify_broadcast(op: Operation) -> str | None:
    found = compatible_elements(op)
    if found is not None:
        return found
    operand, result = shape_of(op.operands[0].type), shape_of(op.results[0].type)
    dims = numbers_of(op, "broadcast_dimensions")
    if len(dims) != len(operand):
        return Unprefixed(f"broadcast_dimensions size ({len(dims)}) does not match operand rank ({len(operand)})")
    if len(set(dims)) != len(dims):
        return Unprefixed("broadcast_dimensions should not have duplicates")
    for axis, dim in enumerate(dims):
        if not 0 <= dim < len(result):
            return Unprefixed(f"broadcast_dimensions contains invalid value {dim} for result with rank {len(result)}")
        size, wanted = operand[axis], result[dim]
        if size is not None and wanted is not None and size not in (1, wanted):
            return Unprefixed(
                f"size of operand dimension {axis} ({size}) is not equal to 1 or size of result dimension {dim} "
                f"({wanted})"
            )
    return None


def broadcast_to(value: Value, dims: Sequence[int], shape: tuple[int, ...], type_: ty.Type) -> Value:
    """Return an array whose dimensions are these of a larger one, repeated along the others."""
    order = sorted(range(len(dims)), key=dims.__getitem__)
    sizes = [1] * len(shape)
    for axis, dim in enumerate(dims):
        sizes[dim] = value.shape[axis]

    def move(array: Array, trailing: tuple[int, ...]) -> Array:
        turned = array.transpose(*order, *range(len(order), array.ndim))
        return np.broadcast_to(turned.reshape((*sizes, *trailing)), shape + trailing)

    return rearranged(value, type_, move)


def _broadcast_in_dim(op: Operation, settings: Settings) -> Function:
    dims, shape = numbers_of(op, "broadcast_dimensions"), tuple(size or 0 for size in shape_of(op.results[0].type))
    return lambda run, operands: (broadcast_to(operands[0], dims, shape, made(op, shape, settings)),)


stablehlo.op(
    "broadcast_in_dim",
    f"$operand `,` `dims` `=` $broadcast_dimensions {FUNCTION_TYPE}",
    operands={"operand": ANY_TENSOR},
    results={"result": _BOUNDED},
    properties=(_array("broadcast_dimensions"),),
    verify=_verify_broadcast,
    evaluate=data_movement(_broadcast_in_dim),
)


def _verify_reshape(op: Operation) -> str | None:
    found = compatible_elements(op)
    if found is not None:
        return found
    made, given = (ty.element_count(value.type) for value in (op.results[0], op.operands[0]))
    if made is not None and given is not None and made != given:
        return Unprefixed(f"number of output elements ({made}) doesn't match expected number of elements ({given})")
    return None


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
    shape, permutation = shape_of(op.operands[0].type), numbers_of(op, "permutation")
    if len(permutation) != len(shape):
        return Unprefixed(f"TransposeOp operand rank {len(shape)} does not match permutation size {len(permutation)}")
    if sorted(permutation) != list(range(len(shape))):
        every, got = (", ".join(map(str, each)) for each in (range(len(shape)), permutation))
        return Unprefixed(f"attribute permutation must be a permutation of [{every}] but got {got}")
    return _inferred(op, [shape[axis] for axis in permutation])


def _transpose(op: Operation, settings: Settings) -> Function:
    permutation, type_ = numbers_of(op, "permutation"), op.results[0].type

    def move(array: Array, trailing: tuple[int, ...]) -> Array:
        return array.transpose(*permutation, *range(len(permutation), array.ndim))

    return lambda run, operands: (rearranged(operands[0], type_, move),)


stablehlo.op(
    "transpose",
    f"$operand `,` `dims` `=` $permutation {FUNCTION_TYPE}",
    operands={"operand": ANY_TENSOR},
    results={"result": ANY_TENSOR},
    properties=(_array("permutation"),),
    verify=_verify_transpose,
    evaluate=data_movement(_transpose),
)


def _verify_reverse(op: Operation) -> str | None:
    rank, dims = len(shape_of(op.operands[0].type)), numbers_of(op, "dimensions")
    if len(set(dims)) != len(dims):
        return Unprefixed(f"dimensions should be unique. Got: {', '.join(map(str, dims))}")
    for dim in dims:
        if dim < 0:
            return Unprefixed(f"all dimensions should be non-negative. Got dimension: {dim}.")
        if dim >= rank:
            return Unprefixed(f"all dimensions should be between [0, {rank}). Got dimension: {dim}.")
    return same_elements(op)


def _reverse(op: Operation, settings: Settings) -> Function:
    dims, type_ = numbers_of(op, "dimensions"), op.results[0].type

    def move(array: Array, trailing: tuple[int, ...]) -> Array:
        return np.flip(array, dims)

    return lambda run, operands: (rearranged(operands[0], type_, move),)


stablehlo.op(
    "reverse",
    "$operand `,` `dims` `=` $dimensions attr-dict `:` custom<SameOperandsAndResultType>($operand, $result)",
    operands={"operand": PLAIN_TENSOR},
    results={"result": PLAIN_TENSOR},
    properties=(_array("dimensions"),),
    verify=_verify_reverse,
    evaluate=data_movement(_reverse),
)

# --- parts ------------------------------------------------------------------------------------------------------------


def _verify_slice(op: Operation) -> str | None:
    shape = shape_of(op.operands[0].type)
    lists = [numbers_of(op, name) for name in ("start_indices", "limit_indices", "strides")]
    if len(set(map(len, lists))) > 1:
        return "failed to verify that all of {start_indices, limit_indices, strides} have same size"
    if len(lists[0]) != len(shape):
        return Unprefixed(
            f"the number of elements in start_indices ({len(lists[0])}) does not match the rank of the operand "
            f"({len(shape)})"
        )
    sizes: list[int | None] = []
    for axis, (size, start, limit, stride) in enumerate(zip(shape, *lists, strict=True)):
        if start < 0:
            return Unprefixed(f"negative start index {start} in dimension {axis}")
        if size is not None and limit > size:
            return Unprefixed(f"limit index {limit} is larger than dimension size {size} in dimension {axis}")
        if start > limit:
            return Unprefixed(f"start index {start} is larger than limit index {limit} in dimension {axis}")
        if stride <= 0:
            return Unprefixed(f"stride must be positive but got {stride} in dimension {axis}")
        sizes.append(None if size is None else -(-(limit - start) // stride))
    return _inferred(op, sizes)


def _slice(op: Operation, settings: Settings) -> Function:
    lists = [numbers_of(op, name) for name in ("start_indices", "limit_indices", "strides")]
    index, type_ = tuple(map(slice, *lists)), op.results[0].type
    return lambda run, operands: (picked(operands[0], index, type_),)


stablehlo.op(
    "slice",
    f"$operand custom<SliceRanges>($start_indices, $limit_indices, $strides) {FUNCTION_TYPE}",
    operands={"operand": PLAIN_TENSOR},
    results={"result": PLAIN_TENSOR},
    properties=tuple(map(_array, ("start_indices", "limit_indices", "strides"))),
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
    shape = shape_of(op.operands[0].type)
    low, high, interior = (numbers_of(op, name) for name in _PADDING)
    if not len(low) == len(high) == len(interior):
        return "failed to verify that all of {edge_padding_low, edge_padding_high, interior_padding} have same size"
    if len(low) != len(shape):
        return Unprefixed(f"edge_padding_low length ({len(low)}) must match operand rank ({len(shape)})")
    sizes: list[int | None] = []
    for axis, (size, below, above, inside) in enumerate(zip(shape, low, high, interior, strict=True)):
        if inside < 0:
            return Unprefixed(f"Interior padding cannot be negative: {inside}")
        made = None if size is None else padded_size(size, below, above, inside)
        if made is not None and made < 0:
            return Unprefixed(f"Padding result in negative size for dimension {axis}")
        sizes.append(made)
    return _inferred(op, sizes)


def padded(
    run: Run,
    value: Value,
    fill: Value,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int],
    type_: ty.Type,
) -> Value:
    """Return an array with elements of ``fill``, a tensor without dimensions, around and between its elements; negative
    padding cuts elements off, at most all. An array over lanes stays one: nothing is added along that axis.
    """
    lanes = over_lanes(value) or over_lanes(fill)
    if lanes and not over_lanes(value):
        value = repeated_in_lanes(value, len(fill.bits))
    if lanes:
        low, high, interior = ((0, *each) for each in (low, high, interior))
    shape = tuple([max(0, size) for size in map(padded_size, value.shape, low, high, interior)])
    check_allocation(type_, shape, run.settings)
    places = []
    for size, made, below, inside in zip(value.shape, shape, low, interior, strict=True):
        step = inside + 1
        # Element k comes to below + k * step; those that lie outside are cut off.
        first = max(0, -(below // step))
        last = max(first, min(size, -((below - made) // step)))
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
    low, high, interior = (numbers_of(op, name) for name in _PADDING)

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
    properties=tuple(map(_array, _PADDING)),
    verify=_verify_pad,
    evaluate=data_movement(_pad),
)


def _verify_concatenate(op: Operation) -> str | None:
    if not op.operands:
        return "expected 1 or more operands, but found 0"
    axis, shapes = op.prop("dimension", at.IntegerAttr).value, [shape_of(value.type) for value in op.operands]
    for number, shape in enumerate(shapes[1:], 1):
        if len(shape) != len(shapes[0]):
            return Unprefixed(f"operands (0) and ({number}) do not match rank")
    rank = len(shapes[0])
    if axis >= rank:
        return Unprefixed(f"dimension {axis} is out-of-bounds for input rank {rank}")
    sizes: list[int | None] = []
    for dim in range(rank):
        each = [shape[dim] for shape in shapes]
        known = [size for size in each if size is not None]
        if dim == axis:
            sizes.append(sum(known) if len(known) == len(each) else None)
            continue
        for number, size in enumerate(each):
            if size is not None and size != known[0]:
                shown = [", ".join("?" if s is None else str(s) for s in shapes[k]) for k in (0, number)]
                return Unprefixed(
                    f"shapes of operand (0) and ({number}) do not match at non-concat index: ({shown[0]}) != "
                    f"({shown[1]}) at non-concat index {dim}"
                )
        sizes.append(known[0] if known else None)
    return _inferred(op, sizes)


def _concatenate(op: Operation, settings: Settings) -> Function:
    axis = op.prop("dimension", at.IntegerAttr).value

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
    """Return integers as numbers; those of 64 unsigned bits that are too large become the largest one."""
    if value.poison is not None:
        raise undefined(op, f"{what} is poison: {first_origin(value)}")
    element = ty.element_type(value.type)
    if kind_of(element) is Kind.SIGNED:
        return signed_integers(value.bits, ty.width_of(element))
    return np.minimum(value.bits.astype(np.uint64), np.uint64((1 << 63) - 1)).view(np.int64)


def _starts(op: Operation, operands: Sequence[Value], shape: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the start of a part along each axis, moved so that the part lies inside."""
    numbers = [int(signed_numbers(op, value, "an index")) for value in operands]
    return tuple(min(max(number, 0), whole - part) for number, whole, part in zip(numbers, shape, sizes, strict=True))


def _verify_dynamic_slice(op: Operation) -> str | None:
    shape, sizes = shape_of(op.operands[0].type), numbers_of(op, "slice_sizes")
    starts = len(op.operands) - 1
    if len(sizes) != starts:
        return Unprefixed(f"has mismatched number of slice sizes ({len(sizes)}) and number of start indices ({starts})")
    if starts != len(shape):
        return Unprefixed(f"has mismatched number of start indices ({starts}) and the rank of operand ({len(shape)})")
    for axis, (size, whole) in enumerate(zip(sizes, shape, strict=True)):
        if size < 0:
            return Unprefixed(f"has negative size index to dynamic slice: {size}")
        if whole is not None and size > whole:
            return Unprefixed(
                f"has slice size {size} greater than dimension size {whole} in dimension {axis} of operand"
            )
    return _inferred(op, sizes)


def _dynamic_slice(op: Operation, settings: Settings) -> Function:
    sizes, type_ = numbers_of(op, "slice_sizes"), op.results[0].type

    def part(run: Run, operands: Operands) -> tuple[Any, ...]:
        starts = _starts(op, operands[1:], operands[0].shape, sizes)
        return (picked(operands[0], tuple(slice(k, k + n) for k, n in zip(starts, sizes, strict=True)), type_),)

    return part


_INDEX = tensor_of("I", "0D")

stablehlo.op(
    "dynamic_slice",
    f"$operand `,` custom<VariadicOperandWithAttribute>($start_indices) `sizes` `=` $slice_sizes {FUNCTION_TYPE}",
    operands=(d.Slot("operand", PLAIN_TENSOR), d.variadic("start_indices", _INDEX)),
    results={"result": PLAIN_TENSOR},
    properties=(_array("slice_sizes"),),
    verify=_verify_dynamic_slice,
    evaluate=data_movement(_dynamic_slice, elements=1),
)


def _verify_dynamic_update_slice(op: Operation) -> str | None:
    operand, update = (shape_of(op.operands[k].type) for k in (0, 1))
    starts = len(op.operands) - 2
    if len(update) != len(operand):
        return Unprefixed(f"update rank does not match operand rank: {len(update)} vs {len(operand)}.")
    if starts != len(operand):
        return Unprefixed(f"expects number of start_indices to match operand rank: {starts} vs {len(operand)}.")
    for axis, (part, whole) in enumerate(zip(update, operand, strict=True)):
        if part is not None and whole is not None and part > whole:
            return Unprefixed(f"expects size at dimension {axis} of update to be in range [0, {whole}]. Got: {part}.")
    return _inferred(op, operand)


def _dynamic_update_slice(op: Operation, settings: Settings) -> Function:
    def put(run: Run, operands: Operands) -> tuple[Any, ...]:
        whole, part = operands[:2]
        starts = _starts(op, operands[2:], whole.shape, part.shape)
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
    rank, axis = len(shape_of(op.results[0].type)), op.prop("iota_dimension", at.IntegerAttr).value
    if not rank:
        return Unprefixed("does not support scalars.")
    return Unprefixed("iota dimension cannot go beyond the output rank.") if axis >= rank else None


def _counted(op: Operation, count: int, element: ty.Type, settings: Settings) -> Array:
    """Return the codes of 0, 1, 2, …"""
    numbers = np.arange(count, dtype=np.uint64)
    if isinstance(element, ty.ComplexType):
        assert isinstance(element.element, ty.FloatType)
        real = _counted(op, count, element.element, settings)
        return complex_numbers.of_parts(real, np.zeros_like(real), element.element.format)
    if isinstance(element, ty.FloatType):
        return casts.from_integer(64, True, element.format, settings.profile).array(numbers).results[0]
    if not isinstance(element, ty.IntegerType):
        raise Unsupported(f"halfulp does not evaluate '{op.name}' of elements of type '{element}' yet")
    return semantics.extend(64, False, element.width).array(numbers).results[0]


def counted(op: Operation, shape: tuple[int, ...], axis: int, type_: ty.Type, settings: Settings) -> Value:
    """Return an array of the numbers of its elements along an axis."""
    codes = _counted(op, shape[axis], ty.element_type(type_), settings)
    trailing = codes.shape[1:]
    column = codes.reshape((*(1,) * axis, shape[axis], *(1,) * (len(shape) - axis - 1), *trailing))
    return Value(type_, np.broadcast_to(column, shape + trailing))


def _iota(op: Operation, settings: Settings) -> Function:
    axis, shape = op.prop("iota_dimension", at.IntegerAttr).value, shape_of(op.results[0].type)
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


def _verify_bitcast(op: Operation) -> str | None:
    operand, result = op.operands[0].type, op.results[0].type
    one, other = ty.element_type(operand), ty.element_type(result)
    if isinstance(one, ty.ComplexType) != isinstance(other, ty.ComplexType):
        return Unprefixed(f"cannot convert between real and complex types, but got: '{operand}' and '{result}'")
    widths = ty.width_of(ty.number_type(one)), ty.width_of(ty.number_type(other))
    small, large = (operand, result) if widths[0] < widths[1] else (result, operand)
    shapes = [list(ty.shape_of(type_) or ()) for type_ in (small, large)]
    if widths[0] == widths[1]:
        if not sizes_agree(*shapes):
            return Unprefixed(
                f"operand and result shapes must match except for the innermost dimension of the shape with the "
                f"smaller element type. Got: '{operand}' and '{result}'."
            )
        return None
    ratio = max(widths) // min(widths)
    if not shapes[0] or not sizes_agree(shapes[0][:-1], shapes[1]):
        return Unprefixed(
            f"rank of smaller element type ({len(shapes[0])}) should be 1 more than rank of larger element "
            f"type ({len(shapes[1])}), but {len(shapes[0])} != {len(shapes[1])} + 1."
        )
    if shapes[0][-1] not in (None, ratio):
        return Unprefixed(
            f"requires compatible bit widths. Got: '{operand}' and '{result}', but {min(widths)} * "
            f"{shapes[0][-1]} != {max(widths)}."
        )
    return None


def _bitcast_convert(op: Operation, settings: Settings) -> Function:
    type_ = op.results[0].type
    source, target = (ty.element_type(value.type) for value in (op.operands[0], op.results[0]))
    one, other = ty.width_of(ty.number_type(source)), ty.width_of(ty.number_type(target))

    def cast(run: Run, operands: Operands) -> tuple[Any, ...]:
        (value,) = operands
        if one == other:
            return (Value(type_, value.bits, value.poison, value.open, value.origins),)
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


stablehlo.op(
    "bitcast_convert",
    f"$operand {FUNCTION_TYPE}",
    operands={"operand": PLAIN_TENSOR},
    results={"result": PLAIN_TENSOR},
    verify=_verify_bitcast,
    # The last axis is divided or joined, so that an axis over lanes is like any other.
    evaluate=OnValues(_bitcast_convert, in_lanes=_bitcast_convert),
)


def _dimension_size(op: Operation, settings: Settings) -> Function:
    axis, type_ = op.prop("dimension", at.IntegerAttr).value, op.results[0].type
    return lambda run, operands: (Value(type_, np.array(operands[0].shape[axis], np.uint32)),)


def _verify_dimension_size(op: Operation) -> str | None:
    axis, rank = op.prop("dimension", at.IntegerAttr).value, len(shape_of(op.operands[0].type))
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
