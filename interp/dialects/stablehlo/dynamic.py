"""The ops of StableHLO whose shapes are operands, and broadcast: the moves and iota with shapes known at run time."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from halfulp.fp_formats.formats import signed_integers
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.elements import Function, Operands, data_movement, made, picked, repeated, reshaped
from halfulp.interp.dialects.stablehlo.attributes import COUNT
from halfulp.interp.dialects.stablehlo.forms import FUNCTION_TYPE
from halfulp.interp.dialects.stablehlo.moving import (
    broadcast_to,
    counted,
    padded,
    padded_size,
    shape_of,
    signed_numbers,
    verify_scales_of_broadcast,
    verify_scales_of_reshape,
)
from halfulp.interp.dialects.stablehlo.types import (
    ANY_TENSOR,
    I32_TENSOR,
    PLAIN_TENSOR,
    SHAPE,
    bounds_of,
    elements_fit,
    not_inferred,
    operand_types,
    same_elements,
    sizes_fit,
    stablehlo,
    tensor,
    tensor_of,
    types_fit,
)
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, OpResult, SSAValue, undefined
from halfulp.interp.ir.types import spell_shape
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

_LIST = tensor_of("NI", "1D")
_ONE = ty.TensorType((1,), ty.I32)


def constant_numbers(value: SSAValue) -> list[int] | None:
    """Return the numbers of a constant, signed; None for any other value."""
    owner = value.owner if isinstance(value, OpResult) else None
    if owner is None or owner.definition is None or d.Trait.CONSTANT_LIKE not in owner.definition.traits:
        return None
    found = owner.properties.get("value")
    element = ty.element_type(found.type) if isinstance(found, at.DenseElementsAttr) else None
    if not isinstance(found, at.DenseElementsAttr) or not isinstance(element, ty.IntegerType | ty.IndexType):
        return None
    width = ty.width_of(element)
    return [int(number) for number in signed_integers(found.array().reshape(-1), width)] if width <= 64 else None


def _verify_sizes(sizes: SSAValue, result: ty.Type) -> Unprefixed | None:
    """Check the type of a result against its shape, if this is known."""
    shape = constant_numbers(sizes)
    if shape is None or (
        all(size >= 0 for size in shape) and types_fit(ty.TensorType(tuple(shape), ty.element_type(result)), result)
    ):
        return None
    return Unprefixed(
        f"output shape [{', '.join(map(str, shape))}] is incompatible with return type of operation '{result}'"
    )


def _verify_elements(op: Operation) -> Unprefixed | None:
    """Check that operand and result have elements that go together."""
    one, other = op.operands[0].type, op.results[0].type
    quantized = any(isinstance(ty.element_type(type_), ty.UniformQuantizedType) for type_ in (one, other))
    if quantized or elements_fit(ty.element_type(one), ty.element_type(other)):
        return None
    return Unprefixed(f"expects operand and result to have compatible element type. Got: '{one}' and '{other}'")


def _numbers(op: Operation, value: Value, what: str) -> tuple[int, ...]:
    """Return the numbers of a list of sizes. Raises UndefinedBehavior for poison."""
    if isinstance(ty.element_type(value.type), ty.IndexType):
        value = Value(ty.TensorType(value.shape, ty.I64), value.bits, value.poison, value.open, value.origins)
    return tuple(map(int, signed_numbers(op, value, what)))


def sizes_given(op: Operation, value: Value) -> tuple[int, ...]:
    """Return the shape that an operand of integers gives. Raises UndefinedBehavior for a negative size."""
    found = _numbers(op, value, "a size")
    if any(size < 0 for size in found):
        raise undefined(op, f"the shape {list(found)} has a negative size")
    return found


def _verify_size(op: Operation) -> str | None:
    operand, size = operand_types(op)
    if ty.shape_of(size) != ():
        return Unprefixed("size operand should be of rank-0")
    axis, sizes = op.number("dimension"), list(shape_of(operand))
    if axis >= len(sizes):
        return Unprefixed(f"requires dimension attribute in range [0, {len(sizes)}); found ({axis})")
    bounds = list(bounds_of(operand)) or [None] * len(sizes)
    if sizes[axis] is not None:
        bounds[axis] = sizes[axis]
    sizes[axis] = None
    known = constant_numbers(op.operands[1])
    if known is not None and known[0] == bounds[axis]:
        sizes[axis], bounds[axis] = known[0], None
    return not_inferred(op, tensor(sizes, ty.element_type(operand), bounds))


def _sized(op: Operation, settings: Settings) -> Function:
    """Return the function of set_dimension_size: it keeps the first elements of a dimension."""
    axis = op.number("dimension")

    def cut(run: Run, operands: Operands) -> tuple[Any, ...]:
        value, (size,) = operands[0], sizes_given(op, reshaped(operands[1], _ONE, (1,)))
        shape = value.shape
        if size > shape[axis]:
            raise undefined(op, f"the size {size} is larger than dimension {axis}, which has {shape[axis]} elements")
        type_ = made(op, (*shape[:axis], size, *shape[axis + 1 :]), settings)
        return (picked(value, (*[slice(None)] * axis, slice(size)), type_),)

    return cut


stablehlo.op(
    "set_dimension_size",
    f"$operand `,` $size `,` `dim` `=` $dimension {FUNCTION_TYPE}",
    operands={"operand": PLAIN_TENSOR, "size": I32_TENSOR},
    results={"result": PLAIN_TENSOR},
    properties=(d.Property("dimension", COUNT),),
    verify=_verify_size,
    evaluate=data_movement(_sized, elements=1),
)


# --- broadcast --------------------------------------------------------------------------------------------------------


def _verify_broadcast(op: Operation) -> str | None:
    sizes, operand = op.numbers("broadcast_sizes"), op.operands[0].type
    found = same_elements(op)
    if found is not None:
        return found
    for size in sizes:
        if size < 0:
            return Unprefixed(f"Broadcast with negative dimension size {size}")
    return not_inferred(op, ty.TensorType((*sizes, *shape_of(operand)), ty.element_type(operand)))


def _broadcast(op: Operation, settings: Settings) -> Function:
    sizes = op.numbers("broadcast_sizes")

    def spread(run: Run, operands: Operands) -> tuple[Any, ...]:
        (value,) = operands
        return (repeated(value, (*sizes, *value.shape), made(op, (*sizes, *value.shape), settings), value.ndim),)

    return spread


stablehlo.op(
    "broadcast",
    f"$operand `,` `sizes` `=` $broadcast_sizes {FUNCTION_TYPE}",
    operands={"operand": PLAIN_TENSOR},
    results={"result": ANY_TENSOR},
    properties=(d.Property("broadcast_sizes", d.INTEGER_64_ARRAY_ATTR),),
    verify=_verify_broadcast,
    evaluate=data_movement(_broadcast),
)


_HINTS = ("known_expanding_dimensions", "known_nonexpanding_dimensions")


def _verify_dynamic_broadcast(op: Operation) -> str | None:
    found = _verify_elements(op)
    if found is not None:
        return found
    operand, result = op.operands[0].type, op.results[0].type
    dims, sizes, wanted = op.numbers("broadcast_dimensions"), shape_of(operand), shape_of(result)
    rank = len(wanted)
    if len(dims) != len(sizes):
        return Unprefixed(f"broadcast_dimensions size ({len(dims)}) does not match operand rank ({len(sizes)})")
    if rank < len(sizes):
        return Unprefixed(f"result rank ({rank}) is less than operand rank ({len(sizes)})")
    if len(set(dims)) != len(dims):
        return Unprefixed("broadcast_dimensions should not have duplicates")
    for axis, dim in enumerate(dims):
        if not 0 <= dim < rank:
            return Unprefixed(f"broadcast_dimensions contains invalid value {dim} for result with rank {rank}")
        if sizes[axis] != 1 and not sizes_fit(sizes[axis], wanted[dim]):
            return Unprefixed(
                f"size of operand dimension {axis} ({sizes[axis]}) is not compatible with size of result dimension "
                f"{dim} ({wanted[dim]})"
            )
    found = _verify_sizes(op.operands[1], result)
    if found is not None:
        return found
    hints = [dim for name in _HINTS if name in op.properties for dim in op.numbers(name)]
    if len(set(hints)) != len(hints):
        return Unprefixed("duplicate expansion hint for at least one operand dimension")
    for dim in hints:
        if not 0 <= dim < len(sizes):
            return Unprefixed(f"hint for expanding dimension {dim} does not refer to a valid operand dimension")
    shape = constant_numbers(op.operands[1])
    if shape is not None and None not in sizes:
        for axis, dim in enumerate(dims):
            if sizes[axis] not in (1, shape[dim]):
                return Unprefixed(
                    f"size of operand dimension {axis} ({sizes[axis]}) is not equal to 1 or value of shape at index "
                    f"{dim} ({shape[dim]})"
                )
    return verify_scales_of_broadcast(operand, result, dims)


def _dynamic_broadcast(op: Operation, settings: Settings) -> Function:
    dims = op.numbers("broadcast_dimensions")
    checked = settings.profile.promises == "undefined"
    expanding, kept = (op.numbers(name) if checked and name in op.properties else () for name in _HINTS)

    def spread(run: Run, operands: Operands) -> tuple[Any, ...]:
        value, shape = operands[0], sizes_given(op, operands[1])
        for axis in (*expanding, *kept):
            size, wanted = value.shape[axis], shape[dims[axis]]
            if size != (1 if axis in expanding else wanted):
                name = _HINTS[axis not in expanding]
                raise undefined(op, f"dimension {axis} is among the {name}, but its size {size} becomes {wanted}")
        for size, dim in zip(value.shape, dims, strict=True):
            if size not in (1, shape[dim]):
                raise undefined(op, f"{spell_shape(value.shape)} cannot be broadcast to {spell_shape(shape)}")
        return (broadcast_to(value, dims, shape, made(op, shape, settings)),)

    return spread


stablehlo.op(
    "dynamic_broadcast_in_dim",
    f"$operand `,` $output_dimensions `,` `dims` `=` $broadcast_dimensions {FUNCTION_TYPE}",
    operands={"operand": ANY_TENSOR, "output_dimensions": SHAPE},
    results={"result": ANY_TENSOR},
    properties=(
        d.Property("broadcast_dimensions", d.INTEGER_64_ARRAY_ATTR),
        d.Property("known_expanding_dimensions", d.INTEGER_64_ARRAY_ATTR, optional=True),
        d.Property("known_nonexpanding_dimensions", d.INTEGER_64_ARRAY_ATTR, optional=True),
    ),
    verify=_verify_dynamic_broadcast,
    evaluate=data_movement(_dynamic_broadcast, elements=1),
)

# --- reshape and iota -------------------------------------------------------------------------------------------------


def _verify_dynamic_reshape(op: Operation) -> str | None:
    found = _verify_elements(op)
    if found is not None:
        return found
    operand, result = op.operands[0].type, op.results[0].type
    given, wanted = ty.element_count(operand), ty.element_count(result)
    if given is not None and wanted is not None and given != wanted:
        return Unprefixed(f"number of output elements ({wanted}) doesn't match expected number of elements ({given})")
    found = _verify_sizes(op.operands[1], result)
    if found is not None:
        return found
    (count,) = shape_of(op.operands[1].type)
    if count != len(shape_of(result)):
        return Unprefixed("result should have a rank equal to the number of elements in output_shape")
    shape = constant_numbers(op.operands[1])
    if given is not None and shape is not None and prod(shape) != given:
        return Unprefixed(
            f"output_shape is incompatible with input type of operation: input has {given} elements, but output_shape "
            f"has {prod(shape)}"
        )
    return verify_scales_of_reshape(operand, result)


def _dynamic_reshape(op: Operation, settings: Settings) -> Function:
    def reshape(run: Run, operands: Operands) -> tuple[Any, ...]:
        value, shape = operands[0], sizes_given(op, operands[1])
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
    operands={"operand": ANY_TENSOR, "output_shape": SHAPE},
    results={"result": ANY_TENSOR},
    verify=_verify_dynamic_reshape,
    evaluate=data_movement(_dynamic_reshape, elements=1),
)


def _verify_dynamic_iota(op: Operation) -> str | None:
    if op.number("iota_dimension") >= len(shape_of(op.results[0].type)):
        return Unprefixed("iota dimension cannot go beyond the output rank.")
    return _verify_sizes(op.operands[0], op.results[0].type)


def _dynamic_iota(op: Operation, settings: Settings) -> Function:
    axis = op.number("iota_dimension")

    def count(run: Run, operands: Operands) -> tuple[Any, ...]:
        shape = sizes_given(op, operands[0])
        return (counted(op, shape, axis, made(op, shape, settings), settings),)

    return count


stablehlo.op(
    "dynamic_iota",
    f"$output_shape `,` `dim` `=` $iota_dimension {FUNCTION_TYPE}",
    operands={"output_shape": SHAPE},
    results={"result": tensor_of("FBICQ")},
    properties=(d.Property("iota_dimension", COUNT),),
    verify=_verify_dynamic_iota,
    evaluate=data_movement(_dynamic_iota, elements=0),
)

# --- padding and slices -----------------------------------------------------------------------------------------------


def _same_elements_of(names: str, *values: SSAValue) -> str | None:
    if len({ty.element_type(value.type) for value in values}) == 1:
        return None
    return f"failed to verify that all of {{{names}}} have same element type"


def _verify_dynamic_pad(op: Operation) -> str | None:
    operand, fill, low, high, interior = op.operands
    (result,) = op.results
    found = _same_elements_of("operand, padding_value, result", operand, fill, result)
    if found is not None:
        return found
    if not low.type == high.type == interior.type:
        return "failed to verify that all of {edge_padding_low, edge_padding_high, interior_padding} have same type"
    sizes, wanted = shape_of(operand.type), shape_of(result.type)
    if len(sizes) != len(wanted):
        return "failed to verify that all of {operand, result} have same rank"
    (count,) = shape_of(low.type)
    if count != len(sizes):
        return Unprefixed(f"padding operands size ({count}) must match operand rank ({len(sizes)})")
    inside = constant_numbers(interior)
    if inside is None:
        return None
    if any(number < 0 for number in inside):
        return Unprefixed(f"interior_padding must be non-negative, but got {', '.join(map(str, inside))}")
    lows, highs = constant_numbers(low), constant_numbers(high)
    if None in sizes or None in wanted or lows is None or highs is None:
        return None
    for axis, (size, made_, below, above, between) in enumerate(zip(sizes, wanted, lows, highs, inside, strict=True)):
        expected = padded_size(size or 0, below, above, between)
        if made_ != expected:
            return Unprefixed(f"expected output dimension at index {axis} to equal {expected}, but got {made_}")
    return None


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
        "operand": PLAIN_TENSOR, "padding_value": tensor_of("FBICQ", "0D"), "edge_padding_low": SHAPE,
        "edge_padding_high": SHAPE, "interior_padding": SHAPE,
    },
    results={"result": PLAIN_TENSOR},
    verify=_verify_dynamic_pad,
    evaluate=data_movement(_dynamic_pad, elements=2),
)  # fmt: skip


def _verify_real_dynamic_slice(op: Operation) -> str | None:
    operand, *lists = op.operands
    found = _same_elements_of("operand, result", operand, op.results[0])
    if found is not None:
        return found
    if len({value.type for value in lists}) > 1:
        return "failed to verify that all of {start_indices, limit_indices, strides} have same type"
    rank = len(shape_of(operand.type))
    for name, value in zip(("start_indices", "limit_indices", "strides"), lists, strict=True):
        count = ty.element_count(value.type)
        if count != rank:
            return Unprefixed(f"has mismatched number of operand rank ({rank}) and {name} size ({count})")
    return None


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
    operands={"operand": PLAIN_TENSOR, "start_indices": _LIST, "limit_indices": _LIST, "strides": _LIST},
    results={"result": PLAIN_TENSOR},
    verify=_verify_real_dynamic_slice,
    evaluate=data_movement(_real_dynamic_slice, elements=1),
)
