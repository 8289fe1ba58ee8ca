"""The rules of the ops of TTGIR that their types alone do not say (`Ops.cpp` of triton 3.9)."""

from __future__ import annotations

from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.triton.rules import integer_of, sizes_of
from halfulp.interp.dialects.triton.types import MemDescType
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.operations import Operation, SSAValue

# --- parts ------------------------------------------------------------------------------------------------------------


def memdesc(value: SSAValue) -> MemDescType:
    """Return the type of a value that is a block of memory."""
    assert isinstance(value.type, MemDescType)
    return value.type


def encoding_of(value: SSAValue) -> Attribute | None:
    """Return the encoding of a tensor or of a block of memory."""
    type_ = value.type
    return type_.encoding if isinstance(type_, MemDescType | ty.TensorType) else None


# --- views ------------------------------------------------------------------------------------------------------------


def _views(op: Operation) -> tuple[MemDescType, MemDescType]:
    source, result = op.operands[0].type, op.results[0].type
    assert isinstance(source, MemDescType)
    assert isinstance(result, MemDescType)
    return source, result


def _unlike(source: MemDescType, result: MemDescType) -> str | None:
    if source.element != result.element:
        return "result element type must match desc element type"
    return None if source.encoding == result.encoding else "src and result must have the same encoding"


def verify_index(op: Operation) -> str | None:
    """Check that the result is one of the blocks of the first dimension."""
    source, result = _views(op)
    if (problem := _unlike(source, result)) is not None:
        return problem
    if len(source.shape) != len(result.shape) + 1:
        return "result rank must be input rank - 1"
    if len(source.whole) != len(source.shape):
        return "We don't allow taking memdesc_index of a memdesc_index"
    if source.shape[1:] != result.shape:
        return "result shape must equal to srcShape[1:]"
    return None if result.whole == result.shape else "alloc shape must match shape for the result"


def verify_subslice(op: Operation) -> str | None:
    """Check that the result is a part of the operand at these offsets."""
    source, result = _views(op)
    if (problem := _unlike(source, result)) is not None:
        return problem
    offsets = op.prop("offsets", at.DenseArrayAttr).values
    if len(offsets) != len(source.shape):
        return "offsets must have the same rank as input"
    if len(result.shape) != len(source.shape):
        return "result rank must equal to input rank"
    if source.whole != result.whole:
        return "source and result must have the same allocation shape"
    last = len(offsets) - 2  # the dimensions before may be those of a list of blocks, which begin anywhere
    for axis, (offset, size, whole) in enumerate(zip(offsets, result.shape, source.shape, strict=True)):
        if size == whole:
            if offset:
                return "A non zero offset found in a dimension that is not being split"
        elif offset + size > whole:
            return "The split offset may not exceed the source shape"
        elif axis >= last and offset % size:
            return "The split offset may not touch the tile"
    return None


def verify_local_store(op: Operation) -> str | None:
    """Check that the memory may be written."""
    target = op.operands[1].type
    assert isinstance(target, MemDescType)
    return None if target.mutable else "Cannot store into immutable memory"


def verify_local_gather(op: Operation) -> str | None:
    """Check that elements gathered along an axis have the type and the layout of the indices."""
    source, indices, result = memdesc(op.operands[0]), op.operands[1], op.results[0]
    axis = integer_of(op, "axis")
    if sizes_of(result.type) != sizes_of(indices.type):
        return Unprefixed("result shape must match indices shape")
    if len(source.shape) != len(sizes_of(indices.type)):
        return Unprefixed("source and indices must have the same rank")
    if not 0 <= axis < len(source.shape):
        return Unprefixed(f"axis {axis} is out of bounds for source rank {len(source.shape)}")
    if source.element != ty.element_type(result.type):
        return Unprefixed("result element type must match source element type")
    same = encoding_of(indices) == encoding_of(result)
    return None if same else Unprefixed("indices and result must have the same layout")


# --- parts of tensors -------------------------------------------------------------------------------------------------


def verify_concat(op: Operation) -> str | None:
    """Check that tensors of one type fill the result."""
    types, result = [value.type for value in op.operands], op.results[0].type
    if len(set(types)) > 1:
        return "All sources must have identical tensor types."
    if not types or len(sizes_of(types[0])) != len(sizes_of(result)):
        return "Source and destination tensors must have the same rank."
    if ty.element_type(types[0]) != ty.element_type(result):
        return "Element types of sources and destination must match."
    needed = 1
    for size, whole in zip(sizes_of(types[0]), sizes_of(result), strict=True):
        if not size or whole % size:
            return "Source and destination shapes do not fit."
        needed *= whole // size
    if needed != len(types):
        return f"Number of source tiles ({len(types)}) doesn't match required count ({needed})."
    return None


def verify_extract(op: Operation) -> str | None:
    """Check that the result is inside of the operand."""
    source, result = op.operands[0].type, op.results[0].type
    offsets = op.prop("static_offsets", at.DenseArrayAttr).values
    if ty.element_type(source) != ty.element_type(result):
        return "result element type must match source element type"
    whole, part = sizes_of(source), sizes_of(result)
    if len(whole) != len(part):
        return "result rank must be equal to source rank"
    if len(offsets) != len(whole):
        return "offsets must have the rank of the source"
    for axis, (offset, size, limit) in enumerate(zip(offsets, part, whole, strict=True)):
        if size > limit:
            return f"result shape cannot exceed source shape at dimension {axis}"
        if offset < 0:
            return f"offset must be non-negative at dimension {axis}"
        if offset + size > limit:
            return f"invalid offset at dimension {axis}"
    return None


# --- targets ----------------------------------------------------------------------------------------------------------

_TENSOR_MEMORY = 100
"""The first compute capability with tensor memory and tcgen05, times 10."""


def verify_tensor_memory(op: Operation) -> str | None:
    """Check that the target of the module, if it says which, has tensor memory."""
    parent = op.parent_op
    while parent is not None and parent.parent_op is not None:
        parent = parent.parent_op
    target = None if parent is None else parent.attributes.get("ttg.target")
    kind, _, number = (target.value if isinstance(target, at.StringAttr) else "").partition(":")
    if kind == "cuda" and number.isdigit() and int(number) < _TENSOR_MEMORY:
        return "requires tcgen05 support"
    return None
