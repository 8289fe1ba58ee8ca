"""The ops of StableHLO whose shapes are operands, and broadcast: the moves and iota with shapes known at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.elements import Function, Operands, data_movement, picked, repeated, reshaped
from halfulp.interp.dialects.stablehlo.moving import (
    FUNCTION_TYPE,
    broadcast_to,
    counted,
    made,
    numbers_of,
    padded,
    padded_size,
    shape_of,
    signed_numbers,
)
from halfulp.interp.dialects.stablehlo.types import ANY_TENSOR, COUNT, PLAIN_TENSOR, not_inferred, stablehlo, tensor_of
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.element_layout import spell_shape
from halfulp.interp.values.value import Value

_SIZES = d.TypeConstraint(
    "statically shaped 1-dimensional integer tensor of index or integer values",
    lambda type_: (
        (tensor_of("I").accepts(type_) and len(ty.shape_of(type_) or ()) == 1)
        or (isinstance(type_, ty.TensorType) and isinstance(type_.element, ty.IndexType))
    ),
    d.RANKED_TENSOR.kind,
)


def _numbers(op: Operation, value: Value, what: str) -> tuple[int, ...]:
    """Return the numbers of a list of sizes. Raises UndefinedBehavior for poison."""
    if isinstance(ty.element_type(value.type), ty.IndexType):
        value = Value(ty.TensorType(value.shape, ty.I64), value.bits, value.poison, value.open, value.origins)
    return tuple(map(int, signed_numbers(op, value, what)))


def _sizes(op: Operation, value: Value) -> tuple[int, ...]:
    """Return a shape that an operand gives. Raises UndefinedBehavior for a negative size."""
    found = _numbers(op, value, "a size")
    if any(size < 0 for size in found):
        raise undefined(op, f"the shape {list(found)} has a negative size")
    return found


def _of_sizes(build: Callable[[Operation, Settings], Function], elements: int) -> Any:
    return data_movement(build, elements=elements)


# --- broadcast --------------------------------------------------------------------------------------------------------


def _verify_broadcast(op: Operation) -> str | None:
    sizes = numbers_of(op, "broadcast_sizes")
    if any(size < 0 for size in sizes):
        return Unprefixed(f"Broadcast with negative dimension size {next(size for size in sizes if size < 0)}")
    operand = op.operands[0].type
    return not_inferred(op, ty.TensorType((*sizes, *shape_of(operand)), ty.element_type(operand)))


def _broadcast(op: Operation, settings: Settings) -> Function:
    sizes = numbers_of(op, "broadcast_sizes")

    def spread(run: Run, operands: Operands) -> tuple[Any, ...]:
        (value,) = operands
        return (repeated(value, (*sizes, *value.shape), made(op, (*sizes, *value.shape), settings), value.ndim),)

    return spread


stablehlo.op(
    "broadcast",
    f"$operand `,` `sizes` `=` $broadcast_sizes {FUNCTION_TYPE}",
    operands={"operand": PLAIN_TENSOR},
    results={"result": PLAIN_TENSOR},
    properties=(d.Property("broadcast_sizes", d.INTEGER_64_ARRAY_ATTR),),
    verify=_verify_broadcast,
    evaluate=data_movement(_broadcast),
)


def _verify_dynamic_broadcast(op: Operation) -> str | None:
    dims, rank = numbers_of(op, "broadcast_dimensions"), len(shape_of(op.results[0].type))
    operand = len(shape_of(op.operands[0].type))
    if len(dims) != operand:
        return Unprefixed(f"broadcast_dimensions size ({len(dims)}) does not match operand rank ({operand})")
    for dim in dims:
        if not 0 <= dim < rank:
            return Unprefixed(f"broadcast_dimensions contains invalid value {dim} for result with rank {rank}")
    return Unprefixed("broadcast_dimensions should not have duplicates") if len(set(dims)) != len(dims) else None


def _dynamic_broadcast(op: Operation, settings: Settings) -> Function:
    dims = numbers_of(op, "broadcast_dimensions")

    def spread(run: Run, operands: Operands) -> tuple[Any, ...]:
        value, shape = operands[0], _sizes(op, operands[1])
        for size, dim in zip(value.shape, dims, strict=True):
            if size not in (1, shape[dim]):
                raise undefined(op, f"{spell_shape(value.shape)} cannot be broadcast to {spell_shape(shape)}")
        return (broadcast_to(value, dims, shape, made(op, shape, settings)),)

    return spread


stablehlo.op(
    "dynamic_broadcast_in_dim",
    f"$operand `,` $output_dimensions `,` `dims` `=` $broadcast_dimensions {FUNCTION_TYPE}",
    operands={"operand": ANY_TENSOR, "output_dimensions": _SIZES},
    results={"result": ANY_TENSOR},
    properties=(
        d.Property("broadcast_dimensions", d.INTEGER_64_ARRAY_ATTR),
        d.Property("known_expanding_dimensions", d.INTEGER_64_ARRAY_ATTR, optional=True),
        d.Property("known_nonexpanding_dimensions", d.INTEGER_64_ARRAY_ATTR, optional=True),
    ),
    verify=_verify_dynamic_broadcast,
    evaluate=_of_sizes(_dynamic_broadcast, 1),
)

# --- reshape and iota -------------------------------------------------------------------------------------------------


def _has_rank_of_sizes(op: Operation) -> str | None:
    (count,) = shape_of(op.operands[-1].type)
    if count is not None and count != len(shape_of(op.results[0].type)):
        return Unprefixed("result should have a rank equal to the number of elements in output_shape")
    return None


def _dynamic_reshape(op: Operation, settings: Settings) -> Function:
    def reshape(run: Run, operands: Operands) -> tuple[Any, ...]:
        value, shape = operands[0], _sizes(op, operands[1])
        type_ = made(op, shape, settings)
        if ty.element_count(ty.TensorType(shape, ty.I1)) != value.bits.size // max(1, _per_element(value)):
            raise undefined(op, f"{spell_shape(value.shape)} has another number of elements than {spell_shape(shape)}")
        return (reshaped(value, type_, shape),)

    return reshape


def _per_element(value: Value) -> int:
    count = 1
    for size in value.bits.shape[value.ndim :]:
        count *= size
    return count


stablehlo.op(
    "dynamic_reshape",
    f"$operand `,` $output_shape {FUNCTION_TYPE}",
    operands={"operand": ANY_TENSOR, "output_shape": _SIZES},
    results={"result": ANY_TENSOR},
    verify=_has_rank_of_sizes,
    evaluate=_of_sizes(_dynamic_reshape, 1),
)


def _verify_dynamic_iota(op: Operation) -> str | None:
    if op.prop("iota_dimension", at.IntegerAttr).value >= len(shape_of(op.results[0].type)):
        return Unprefixed("iota dimension cannot go beyond the output rank.")
    return _has_rank_of_sizes(op)


def _dynamic_iota(op: Operation, settings: Settings) -> Function:
    axis = op.prop("iota_dimension", at.IntegerAttr).value

    def count(run: Run, operands: Operands) -> tuple[Any, ...]:
        shape = _sizes(op, operands[0])
        return (counted(op, shape, axis, made(op, shape, settings), settings),)

    return count


stablehlo.op(
    "dynamic_iota",
    f"$output_shape `,` `dim` `=` $iota_dimension {FUNCTION_TYPE}",
    operands={"output_shape": _SIZES},
    results={"result": tensor_of("FBICQ")},
    properties=(d.Property("iota_dimension", COUNT),),
    verify=_verify_dynamic_iota,
    evaluate=_of_sizes(_dynamic_iota, 0),
)

# --- padding and slices -----------------------------------------------------------------------------------------------


def _dynamic_pad(op: Operation, settings: Settings) -> Function:
    def pad(run: Run, operands: Operands) -> tuple[Any, ...]:
        value, fill, *rest = operands
        low, high, interior = (_numbers(op, each, "a padding") for each in rest)
        if any(number < 0 for number in interior):
            raise undefined(op, f"the interior padding {list(interior)} is negative")
        shape = tuple(map(padded_size, value.shape, low, high, interior))
        if any(size < 0 for size in shape):
            raise undefined(op, f"the padded shape {list(shape)} has a negative size")
        return (padded(run, value, fill, low, high, interior, made(op, shape, settings)),)

    return pad


stablehlo.op(
    "dynamic_pad",
    f"$operand `,` $padding_value `,` $edge_padding_low `,` $edge_padding_high `,` $interior_padding {FUNCTION_TYPE}",
    operands={
        "operand": PLAIN_TENSOR, "padding_value": PLAIN_TENSOR, "edge_padding_low": _SIZES, "edge_padding_high": _SIZES,
        "interior_padding": _SIZES,
    },
    results={"result": PLAIN_TENSOR},
    evaluate=_of_sizes(_dynamic_pad, 2),
)  # fmt: skip


def _real_dynamic_slice(op: Operation, settings: Settings) -> Function:
    def part(run: Run, operands: Operands) -> tuple[Any, ...]:
        value = operands[0]
        starts, limits, strides = (_numbers(op, each, "an index") for each in operands[1:])
        for axis, (size, start, limit, stride) in enumerate(zip(value.shape, starts, limits, strides, strict=True)):
            if not (0 <= start <= limit <= size and stride > 0):
                raise undefined(
                    op, f"{start}:{limit}:{stride} is not a range of dimension {axis}, which has {size} elements"
                )
        index = tuple(map(slice, starts, limits, strides))
        return (picked(value, index, made(op, _lengths(starts, limits, strides), settings)),)

    return part


def _lengths(starts: Sequence[int], limits: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    return tuple(len(range(*numbers)) for numbers in zip(starts, limits, strides, strict=True))


stablehlo.op(
    "real_dynamic_slice",
    f"$operand `,` $start_indices `,` $limit_indices `,` $strides {FUNCTION_TYPE}",
    operands={"operand": PLAIN_TENSOR, "start_indices": _SIZES, "limit_indices": _SIZES, "strides": _SIZES},
    results={"result": PLAIN_TENSOR},
    evaluate=_of_sizes(_real_dynamic_slice, 1),
)
