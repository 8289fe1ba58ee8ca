"""Verification of the ops that only move elements: reshapes, slices, transpositions, shuffles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from halfulp.interp.declare.declarations import TypeRule
from halfulp.interp.dialects.vector.moves import integers, scalable_dimensions, vector_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute, narrowed
from halfulp.interp.ir.operations import Operation

Properties = Mapping[str, Attribute]

# --- type rules -------------------------------------------------------------------------------------------------------


def _vector(types: Mapping[str, Any], name: str) -> ty.VectorType | None:
    type_ = types.get(name)
    return type_ if isinstance(type_, ty.VectorType) else None


def _with_last(type_: ty.VectorType, size: int) -> ty.VectorType:
    return ty.VectorType((*type_.shape[:-1], size), type_.element, type_.scalable)


def interleaved(type_: ty.VectorType) -> ty.VectorType:
    """Return the type of two interleaved vectors of this type; two of rank 0 give one of rank 1."""
    return _with_last(type_, 2 * type_.shape[-1]) if type_.shape else ty.VectorType((2,), type_.element)


def _solve_interleaved(types: dict[str, Any], properties: Properties) -> None:
    source = _vector(types, "lhs")
    if source is not None:
        types.setdefault("result", interleaved(source))


def _is_interleaved(types: Mapping[str, Any], properties: Properties) -> bool:
    return bool(types["result"] == interleaved(types["lhs"]))


DOUBLED = TypeRule(
    "failed to verify that type of 'result' is double the width of the inputs", _solve_interleaved, _is_interleaved
)


def _is_halved(types: Mapping[str, Any], properties: Properties) -> bool:
    source, result = types["source"], types["res1"]
    return bool(result == _with_last(source, source.shape[-1] // 2))


EVEN = TypeRule(
    "failed to verify that the trailing dimension of the source vector has an even number of elements",
    lambda types, properties: None,
    lambda types, properties: not types["source"].shape[-1] % 2,
)
HALVED = TypeRule(
    "failed to verify that the trailing dimension of the results is half the width of source trailing dimension",
    lambda types, properties: None,
    _is_halved,
)


def _solve_shuffled(types: dict[str, Any], properties: Properties) -> None:
    source = _vector(types, "v1")
    if source is not None and "mask" in properties:
        length = max(1, len(integers(properties["mask"])))
        types.setdefault("vector", ty.VectorType((length, *source.shape[1:]), source.element))


SHUFFLED = TypeRule(
    "failed to verify that first operand v1 and result have same element type",
    _solve_shuffled,
    lambda types, properties: types["v1"].element == types["vector"].element,
)


def multiple_of(name: str, message: str) -> TypeRule:
    """Return the rule that a position is a multiple of the length of the vector in slot ``name``, which has rank 1."""

    def holds(types: Mapping[str, Any], properties: Properties) -> bool:
        position = getattr(properties["pos"], "value", 0)
        return not position % max(1, types[name].shape[0])

    return TypeRule(f"failed to verify that position is a multiple of the {message}.", lambda t, p: None, holds)


def same_rank(one: str, other: str) -> TypeRule:
    """Return the rule that two slots have the same rank."""
    return TypeRule(
        f"failed to verify that all of {{{one}, {other}}} have same rank",
        lambda types, properties: None,
        lambda types, properties: len(types[one].shape) == len(types[other].shape),
    )


# --- rules of single ops ----------------------------------------------------------------------------------------------


def _types(op: Operation) -> tuple[ty.VectorType, ty.VectorType]:
    source, result = narrowed(op.operands[0].type, ty.VectorType), narrowed(op.results[0].type, ty.VectorType)
    return source, result


def _dimensions(type_: ty.VectorType) -> list[str]:
    """Return the text of the dimensions: a scalable one in square brackets."""
    return [
        f"[{size}]" if flag else str(size) for size, flag in zip(type_.shape, scalable_dimensions(type_), strict=True)
    ]


def verify_broadcast(op: Operation) -> str | None:
    """Return an error message unless the source has the trailing dimensions of the result, or 1 in their place."""
    source, target = op.operands[0].type, narrowed(op.results[0].type, ty.VectorType)
    if ty.element_type(source) != target.element:
        return "failed to verify that source operand and result have same element type"
    if not isinstance(source, ty.VectorType):
        return "source type is not a vector" if isinstance(source, ty.ShapedType) else None
    if len(source.shape) > len(target.shape):
        return "source rank higher than destination rank"
    theirs = _dimensions(target)[len(target.shape) - len(source.shape) :]
    for ours, other in zip(_dimensions(source), theirs, strict=True):
        if ours not in ("1", other):
            return f"dimension mismatch ({ours} vs. {other})"
    return None


def verify_shape_cast(op: Operation) -> str | None:
    """Return an error message unless both types have the same element type and as many elements."""
    source, result = _types(op)
    if source.element != result.element:
        return "has different source and result element types"
    ours, theirs = prod(source.shape), prod(result.shape)
    if ours != theirs:
        return f"has different number of elements at source ({ours}) and result ({theirs})"
    ours, theirs = sum(source.scalable), sum(result.scalable)
    if ours != theirs:
        return f"has different number of scalable dims at source ({ours}) and result ({theirs})"
    return None


def verify_bitcast(op: Operation) -> str | None:
    """Return an error message unless the last dimensions have as many bits."""
    source, result = _types(op)
    for axis, (ours, theirs) in enumerate(zip(source.shape[:-1], result.shape[:-1], strict=True)):
        if ours != theirs:
            return f"dimension size mismatch at: {axis}"
    bits, others = (ty.element_width(type_.element) or 0 for type_ in (source, result))
    if not source.shape:
        same = bits == others
        return None if same else "source/result bitwidth of the 0-D vector element types must be equal"
    same = bits * source.shape[-1] == others * result.shape[-1]
    return None if same else "source/result bitwidth of the minor 1-D vectors must be equal"


def verify_transpose(op: Operation) -> str | None:
    """Return what is wrong with the permutation and the dimensions of the result, or None."""
    source, result = _types(op)
    permutation = integers(op.properties["permutation"])
    if len(source.shape) != len(result.shape):
        return f"vector result rank mismatch: {len(result.shape)}"
    if len(permutation) != len(source.shape):
        return f"transposition length mismatch: {len(permutation)}"
    seen: set[int] = set()
    for place, size in zip(permutation, result.shape, strict=True):
        if not 0 <= place < len(source.shape):
            return f"transposition index out of range: {place}"
        if place in seen:
            return f"duplicate position index: {place}"
        seen.add(place)
        if size != source.shape[place]:
            return f"dimension size mismatch at: {place}"
    return None


def verify_shuffle(op: Operation) -> str | None:
    """Return what is wrong with ranks, trailing dimensions and the numbers of the mask, where -1 is poison, or None."""
    one, other = op.operands[0].type, op.operands[1].type
    _, result = _types(op)
    assert isinstance(one, ty.VectorType)
    assert isinstance(other, ty.VectorType)
    ranks = len(one.shape), len(other.shape), len(result.shape)
    if ranks != (0, 0, 1) and len(set(ranks)) > 1:
        return "rank mismatch"
    if any(len(set(sizes)) > 1 for sizes in zip(one.shape[1:], other.shape[1:], result.shape[1:], strict=True)):
        return "dimension mismatch"
    mask = integers(op.properties["mask"])
    if not mask:
        return "invalid mask length"
    if len(mask) != result.shape[0]:
        return "mask length mismatch"
    length = sum(type_.shape[0] if type_.shape else 1 for type_ in (one, other))
    for number, place in enumerate(mask, 1):
        if not -1 <= place < length:
            return f"mask index #{number} out of range"
    return None


# --- slices -----------------------------------------------------------------------------------------------------------


def _confined(name: str, numbers: Sequence[int], limits: Sequence[int], least: int = 0) -> str | None:
    for axis, (number, limit) in enumerate(zip(numbers, limits, strict=False)):
        if not least <= number < limit:
            return f"expected {name} dimension {axis} to be confined to [{least}, {limit})"
    return None


def _of_ones(strides: Sequence[int]) -> str | None:
    return None if all(stride == 1 for stride in strides) else "expected strides to be confined to [1, 2)"


def _sum_confined(name: str, offsets: Sequence[int], sizes: Sequence[int], shape: Sequence[int]) -> str | None:
    ends = [offset + size for offset, size in zip(offsets, sizes, strict=False)]
    return _confined(f"sum(offsets, {name})", ends, [size + 1 for size in shape], 1)


def _scalable_size(axis: int, taken: int, whole: int) -> str:
    what = f"expected size at idx={axis} to match the corresponding base size from the input vector"
    return f"{what} ({taken} vs {whole})"


def verify_extract_slice(op: Operation) -> str | None:
    """Return an error message unless the slice of vector.extract_strided_slice is inside, and of the result's type."""
    source, result = _types(op)
    offsets, sizes, strides = (integers(op.properties[name]) for name in ("offsets", "sizes", "strides"))
    shape, flags = source.shape, scalable_dimensions(source)
    if not len(offsets) == len(sizes) == len(strides):
        return "expected offsets, sizes and strides attributes of same size"
    if len(offsets) > len(shape):
        return "expected offsets attribute of rank no greater than vector rank"
    problem = (
        _confined("offsets", offsets, shape)
        or _confined("sizes", sizes, [size + 1 for size in shape], 1)
        or _of_ones(strides)
        or _sum_confined("sizes", offsets, sizes, shape)
    )
    if problem:
        return problem
    expected = vector_of((*sizes, *shape[len(sizes) :]), source.element, flags)
    if result != expected:
        return f"expected result type to be '{expected}'"
    for axis, taken in enumerate(sizes):
        if flags[axis] and taken != shape[axis]:
            return _scalable_size(axis, taken, shape[axis])
    return None


def verify_insert_slice(op: Operation) -> str | None:
    """Return an error message for vector.insert_strided_slice unless the slice lies inside the vector."""
    source, dest = _types(op)
    offsets, strides = (integers(op.properties[name]) for name in ("offsets", "strides"))
    behind = len(dest.shape) - len(source.shape)
    if len(offsets) != len(dest.shape):
        return "expected offsets of same size as destination vector rank"
    if len(strides) != len(source.shape):
        return "expected strides of same size as source vector rank"
    if behind < 0:
        return "expected source rank to be no greater than destination rank"
    sizes = (*(1,) * behind, *source.shape)
    problem = (
        _confined("offsets", offsets, dest.shape)
        or _of_ones(strides)
        or _sum_confined("source vector shape", offsets, sizes, dest.shape)
    )
    if problem:
        return problem
    ours, theirs = scalable_dimensions(source), scalable_dimensions(dest)[behind:]
    for axis, (flag, other) in enumerate(zip(ours, theirs, strict=True)):
        if flag != other:
            return f"mismatching scalable flags (at source vector idx={axis})"
        if flag and source.shape[axis] != dest.shape[behind + axis]:
            return _scalable_size(axis, source.shape[axis], dest.shape[behind + axis])
    return None
