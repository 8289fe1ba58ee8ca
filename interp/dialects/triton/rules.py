"""The rules of the ops of tt that their types alone do not say (`Ops.cpp` of triton 3.9)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, TypeVar

from halfulp.interp.dialects.triton.types import DescriptorType, PointerType
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.operations import Operation


def sizes_of(type_: ty.Type) -> tuple[int, ...]:
    """Return the shape of a tensor of static sizes; () for a scalar."""
    return ty.static_shape(type_)


def order_of(op: Operation) -> tuple[int, ...]:
    """Return the property ``order`` of a transposition."""
    return tuple([int(axis) for axis in op.numbers("order")])


Each = TypeVar("Each")


def optional(op: Operation, operands: Sequence[Each]) -> list[Each | None]:
    """Return the operands by their places, None for one that is left out."""
    segments = narrowed(op.properties.get("operandSegmentSizes"), at.DenseArrayAttr)
    given = iter(operands)
    return [next(given) if count else None for count in segments.values]


# --- elements ---------------------------------------------------------------------------------------------------------


def verify_range(op: Operation) -> str | None:
    """Check the bounds of make_range, and that the result has as many elements."""
    start, end = op.number("start"), op.number("end")
    if start >= end:
        return "start must be less than end"
    type_ = op.results[0].type
    if ty.element_type(type_) != ty.I32:
        return "returned tensor must have i32 elements"
    if sizes_of(type_) != (end - start,):
        return (
            f"number of elements in returned tensor, {list(sizes_of(type_))}, must match size of range [{start}, {end})"
        )
    return None


def verify_fp_to_fp(op: Operation) -> str | None:
    """Check that a narrowing cast says how it rounds, and that another one does not."""
    source, target = (ty.width_of(ty.element_type(each.type)) for each in (op.operands[0], op.results[0]))
    if "rounding" not in op.properties and source > target:
        return "Rounding mode is required for FP downcast"
    return None


def verify_bitcast(op: Operation) -> str | None:
    """Check that both types have the same width, or that both are pointers of one address space."""
    source, target = (ty.element_type(each.type) for each in (op.operands[0], op.results[0]))
    pointers = [each for each in (source, target) if isinstance(each, PointerType)]
    if len(pointers) == 1:
        return "Cannot bitcast pointer to non-pointer type"
    if len(pointers) == 2:
        spaces = {each.space for each in pointers}
        return None if len(spaces) == 1 else "Cannot bitcast pointer between different address spaces"
    if ty.width_of(source) != ty.width_of(target):
        return f"Cannot bitcast data-type of size {ty.width_of(source)} to data-type of size {ty.width_of(target)}"
    return None


def verify_asm(op: Operation) -> str | None:
    """Check that the elements of inline assembly are packed evenly."""
    if not op.operands and not op.results:
        return None
    shapes = {sizes_of(value.type) for value in (*op.operands, *op.results) if isinstance(value.type, ty.TensorType)}
    packed = op.number("packed_element")
    if packed < 1:
        return f"packed_element must be at least 1, but is {packed}"
    if len(shapes) > 1 or (shapes and prod(next(iter(shapes))) % packed):
        count = prod(next(iter(shapes)))
        return f"number of input elements {count} must be a multiple of the op's packed_element attribute, {packed}"
    return None


# --- moving -----------------------------------------------------------------------------------------------------------


def verify_unsplat(op: Operation) -> str | None:
    """Check that the tensor has one element."""
    return None if prod(sizes_of(op.operands[0].type)) == 1 else "source tensor must have exactly one element"


def verify_expand_dims(op: Operation) -> str | None:
    """Check that the result has one more dimension of size 1."""
    shape, axis = sizes_of(op.operands[0].type), op.number("axis")
    if not 0 <= axis <= len(shape):
        return f"axis {axis} is outside of the result's rank {len(shape) + 1}"
    return _not_inferred(op, (*shape[:axis], 1, *shape[axis:]))


def verify_broadcast(op: Operation) -> str | None:
    """Check that only dimensions of size 1 grow."""
    source, target = sizes_of(op.operands[0].type), sizes_of(op.results[0].type)
    if len(source) != len(target):
        return "rank of source must be same as rank of result"
    for axis, (one, other) in enumerate(zip(source, target, strict=True)):
        if one not in (1, other):
            return (
                f"Different dimensions at index {axis} between source and result.  Broadcast requires the source "
                "dimension to be 1."
            )
    return None


def verify_reshape(op: Operation) -> str | None:
    """Check that the number of elements stays."""
    same = prod(sizes_of(op.operands[0].type)) == prod(sizes_of(op.results[0].type))
    return None if same else "number of src and dst elements of reshape must be the same"


def verify_trans(op: Operation) -> str | None:
    """Check that the order is a permutation, and the shape of the result."""
    shape, order = sizes_of(op.operands[0].type), order_of(op)
    if len(order) != len(shape):
        return "order must have the same size as the source tensor"
    if sorted(order) != list(range(len(shape))):
        return "order must be a permutation of 0..n-1"
    return _not_inferred(op, tuple([shape[axis] for axis in order]))


def verify_cat(op: Operation) -> str | None:
    """Check that the number of elements doubles."""
    shape = sizes_of(op.operands[0].type)
    same = 2 * prod(shape) == prod(sizes_of(op.results[0].type))
    return None if same else "result must have twice the elements of an operand"


def verify_join(op: Operation) -> str | None:
    """Check that the result has one more dimension of size 2, the last."""
    return _not_inferred(op, (*sizes_of(op.operands[0].type), 2))


def verify_split(op: Operation) -> str | None:
    """Check that the last dimension has size 2, and that the results lack it."""
    shape = sizes_of(op.operands[0].type)
    if not shape or shape[-1] != 2:
        return "last dimension of input tensor must be 2"
    return _not_inferred(op, shape[:-1])


def verify_gather(op: Operation) -> str | None:
    """Check that indices and result have one shape, which is that of the source but along the axis."""
    source, indices, axis = op.operands[0].type, op.operands[1].type, op.number("axis")
    if sizes_of(indices) != sizes_of(op.results[0].type):
        return "indices and output shapes must match"
    if ty.element_type(source) != ty.element_type(op.results[0].type):
        return "input and output element types must match"
    if len(sizes_of(source)) != len(sizes_of(indices)):
        return "input and indices ranks must match"
    if not 0 <= axis < len(sizes_of(source)):
        return "gather dimension must be less than the input rank"
    for place, (one, other) in enumerate(zip(sizes_of(source), sizes_of(indices), strict=True)):
        if place != axis and one != other:
            return f"indices dimension {place} must match the corresponding input dimension"
    return None


def _not_inferred(op: Operation, shape: Sequence[int]) -> str | None:
    found = sizes_of(op.results[0].type)
    if found == tuple(shape):
        return None
    return f"inferred shape {list(shape)} is incompatible with the shape {list(found)} of the result"


# --- combining --------------------------------------------------------------------------------------------------------


UNEQUAL_DEPTHS = (
    "expected the last dimension of the first operand to be equal to the second-to-last dimension of the second operand"
)


def verify_dot(op: Operation) -> str | None:
    """Check the shapes and the elements of the operands of a dot."""
    a, b, c = (sizes_of(value.type) for value in op.operands)
    one, other = (ty.element_type(value.type) for value in op.operands[:2])
    if not len(a) == len(b) == len(c) or len(a) not in (2, 3):
        return "expected operands to be 2d or 3d"
    if ty.width_of(one) != ty.width_of(other):
        return f"element types of operands A and B must have same bit width, but got '{one}' and '{other}'"
    if a[-1] != b[-2]:
        return UNEQUAL_DEPTHS
    if (*a[:-2], a[-2], b[-1]) != c or a[:-2] != b[:-2]:
        return "expected the shapes of the operands and of the result to fit"
    return None


_PACKED = 4
"""The kind e2m1, of which a byte holds two."""


def verify_dot_scaled(op: Operation) -> str | None:
    """Check the shapes of the operands and of the scales of a dot_scaled."""
    sides: Any = (("a", "lhs"), ("b", "rhs"))
    depths = []
    for (name, side), value, axis in zip(sides, op.operands[:2], (-1, -2), strict=True):
        shape = sizes_of(value.type)
        if len(shape) not in (2, 3):
            return "expected operands to be 2d or 3d"
        packed = op.number(f"{name}_elem_type") == _PACKED and op.number(f"{side}_k_pack")
        depths.append(shape[axis] * (2 if packed else 1))
    if depths[0] != depths[1]:
        return UNEQUAL_DEPTHS
    return None


def verify_reduce(op: Operation) -> str | None:
    """Check the axis of a reduction and the types of its results."""
    problem = _axis_problem(op)
    if problem is not None:
        return problem
    axis = op.number("axis")
    if len(op.operands) != len(op.results):
        return "must have the same number of inputs as outputs"
    for value, result in zip(op.operands, op.results, strict=True):
        shape = sizes_of(value.type)
        if (*shape[:axis], *shape[axis + 1 :]) != sizes_of(result.type):
            return "the shape of a result is not that of its operand without the axis"
        if ty.element_type(value.type) != ty.element_type(result.type):
            return f"element types of input and output do not match: '{value.type}' and '{result.type}'"
    return None


def verify_scan(op: Operation) -> str | None:
    """Check the axis of a scan, and that the results have the types of the operands."""
    problem = _axis_problem(op)
    if problem is not None:
        return problem
    if [value.type for value in op.operands] != [result.type for result in op.results]:
        return "result types must be those of the operands"
    return None


def verify_map(op: Operation) -> str | None:
    """Check that a map has an operand, and that it takes a power of two elements of each at once."""
    pack = op.number("pack")
    if not op.operands:
        return "MapElementwiseOp must have at least 1 operand"
    return "Pack must be a power of 2" if pack < 1 or pack & pack - 1 else None


def verify_mapping(op: Operation) -> str | None:
    """Check the arguments of the region of a map and what it returns: for each operand and each result as many elements
    as are taken at once.
    """
    pack = op.number("pack")
    taken, returned = (
        [ty.element_type(value.type) for value in values for _ in range(pack)] for values in (op.operands, op.results)
    )
    arguments = [argument.type for argument in op.regions[0].blocks[0].arguments]
    if len(arguments) != len(taken):
        return "region has wrong number of arguments"
    if arguments != taken:
        return "argument types did not match"
    for block in op.regions[0].blocks:
        last = block.operations[-1]
        if last.name == "tt.map_elementwise.return" and [value.type for value in last.operands] != returned:
            return "region return does not match map_elementwise result"
    stored = next((each for each in op.walk() if each.name in _STORES), None)
    return None if stored is None else f"'{stored.name}' op Stores are not supported inside map_elementwise"


_STORES = ("tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.atomic_store", "tt.descriptor_store")


def _axis_problem(op: Operation) -> str | None:
    if not op.operands:
        return "must have at least one operand"
    if len({sizes_of(value.type) for value in op.operands}) > 1:
        return "requires the same shape for all operands"
    axis, rank = op.number("axis"), len(sizes_of(op.operands[0].type))
    return None if 0 <= axis < rank else f"axis out of bounds: {axis}, for a rank of {rank}"


def verify_combining(op: Operation) -> str | None:
    """Check the arguments of the region of a reduction or a scan, and what it returns."""
    block = op.regions[0].blocks[0]
    elements = [ty.element_type(value.type) for value in op.operands]
    if [argument.type for argument in block.arguments] != 2 * elements:
        return f"nested block must take {2 * len(elements)} arguments, the element types of the operands twice"
    last = block.operations[-1]
    if last.name != f"{op.name}.return":
        return f"combine operation must be terminated with a {op.name}.return but got {last.name}"
    if [value.type for value in last.operands] != elements:
        return f"combine operation must return {len(elements)} elements, of the element types of the operands"
    return None


# --- descriptors ------------------------------------------------------------------------------------------------------


def verify_descriptor(op: Operation) -> str | None:
    """Check the number of the sizes and strides of a descriptor, and its elements."""
    type_ = narrowed(op.results[0].type, DescriptorType)
    if len(op.operands) != 1 + 2 * len(type_.shape):
        return f"needs {len(type_.shape)} sizes and as many strides"
    base = op.operands[0].type
    same = isinstance(base, PointerType) and ty.element_width(base.element) == ty.element_width(type_.element)
    return None if same else f"the base '{base}' does not point to elements of the descriptor '{type_}'"


def verify_block(op: Operation) -> str | None:
    """Check that a block that is loaded or stored has the elements of the descriptor, and one index per dimension."""
    type_ = narrowed(op.operands[0].type, DescriptorType)
    block = op.results[0].type if op.results else op.operands[1].type
    indices = len(op.operands) - 1 - (not op.results)
    if indices != len(type_.shape):
        return f"needs {len(type_.shape)} indices, one for each dimension of the descriptor"
    if prod(sizes_of(block)) != prod(type_.shape):
        return "descriptor block and tensor must have the same number of elements"
    if ty.element_width(ty.element_type(block)) != ty.element_width(type_.element):
        return "descriptor block and tensor element types must match"
    return None


def verify_rows(op: Operation) -> str | None:
    """Check that the block of a gather or scatter is a row, and that the tensor has such rows, one for each index."""
    type_ = narrowed(op.operands[0].type, DescriptorType)
    rows, tensor = op.operands[1].type, (op.results[0] if op.results else op.operands[3]).type
    if len(type_.shape) != 2 or type_.shape[0] != 1:
        return f"descriptor block must have two dimensions and one row, but the type is '{type_}'"
    if len(sizes_of(rows)) != 1:
        return f"x offsets must have one dimension, but the type is '{rows}'"
    if sizes_of(tensor) != (*sizes_of(rows), type_.shape[1]):
        return f"tensor must have the shape {[*sizes_of(rows), type_.shape[1]]}, but the type is '{tensor}'"
    if ty.element_type(tensor) != type_.element:
        return f"tensor must have elements of type '{type_.element}', but the type is '{tensor}'"
    return None
