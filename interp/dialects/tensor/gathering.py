"""tensor.gather and tensor.scatter: slices of a tensor at places that another tensor names."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import TypeConstraint
from halfulp.interp.dialects.elements import Function, Operands, combined, rearranged
from halfulp.interp.dialects.indices import undefined
from halfulp.interp.dialects.tensor.joining import attribute_numbers, signed_elements
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.element_layout import shape_conflict, spell_shape
from halfulp.interp.values.value import Value

INDICES = TypeConstraint(
    "ranked tensor of signless integer or index values",
    lambda type_: c.RANKED_TENSOR.accepts(type_) and c.INTEGER_OR_INDEX.accepts(ty.element_type(type_)),
    c.RANKED_TENSOR.kind,
)


def _verify_dims(dims: tuple[int, ...], indices: ty.Shape, rank: int, name: str, what: str) -> str | None:
    if not dims:
        return f"{name}_dims must be non-empty"
    if len(dims) > rank:
        return f"{name}_dims overflow {what} rank"
    if not indices or indices[-1] != len(dims):
        return f"{name}_dims length must match the size of last dimension of indices"
    for number, dim in enumerate(dims):
        if dim < 0:
            return f"{name}_dims value must be non-negative"
        if dim >= rank:
            return f"{name}_dims value must be smaller than {what} rank"
        if number and dims[number - 1] >= dim:
            return f"{name}_dims values must be strictly increasing"
    return None


def _slices_types(whole: ty.Type, indices: ty.Shape, dims: tuple[int, ...]) -> tuple[ty.Type, ty.Type]:
    """Return the type of all slices, with dimensions of size 1 for those that are indexed, and without them."""
    shape, element = ty.shape_of(whole) or (), ty.element_type(whole)
    full = tuple(1 if axis in dims else size for axis, size in enumerate(shape))
    reduced = tuple(size for axis, size in enumerate(shape) if axis not in dims)
    return ty.TensorType((*indices[:-1], *full), element), ty.TensorType((*indices[:-1], *reduced), element)


def _verify(op: Operation, whole: ty.Type, indices: ty.Type, part: ty.Type, name: str, what: str) -> str | None:
    dims = attribute_numbers(op.properties[f"{name}_dims"])
    shape = ty.shape_of(indices) or ()
    problem = _verify_dims(dims, shape, len(ty.shape_of(whole) or ()), name, "source" if name == "gather" else "dest")
    if problem is None and name == "scatter" and "unique" not in op.properties:
        problem = "requires 'unique' attribute to be set"
    if problem is not None:
        return problem
    full, reduced = _slices_types(whole, shape, dims)
    if part not in (full, reduced):
        return f"{what} type mismatch: expected '{full}' or its rank-reduced variant '{reduced}' (got: '{part}')"
    return None


def verify_gather(op: Operation) -> str | None:
    """Check the dimensions and the types of tensor.gather."""
    source, indices = op.operands
    return _verify(op, source.type, indices.type, op.results[0].type, "gather", "result")


def verify_scatter(op: Operation) -> str | None:
    """Check the dimensions and the types of tensor.scatter."""
    source, dest, indices = op.operands
    return _verify(op, dest.type, indices.type, source.type, "scatter", "source")


def _places(
    op: Operation, shape: tuple[int, ...], indices: Value, dims: tuple[int, ...], settings: Settings
) -> tuple[Any, ...]:
    """Return an index of NumPy for a tensor whose indexed axes were moved to the front.

    Raises UndefinedBehavior for poison, for an index outside, and for equal ones that are said to be unique.
    """
    numbers = signed_elements(op, indices, settings, "the indices")
    bounds = np.array([shape[axis] for axis in dims])
    outside = ((numbers < 0) | (numbers >= bounds)).any(axis=-1)
    if outside.any():
        where = tuple(int(k) for k in np.argwhere(outside)[0])
        point = [int(number) for number in numbers[where]]
        raise undefined(
            op,
            f"the coordinates {point} at {list(where)} of the indices are outside of dimensions {list(dims)} of the "
            f"shape {spell_shape(shape)}",
        )
    numbers = numbers.astype(np.int64)
    if "unique" in op.properties:
        points = numbers.reshape(-1, len(dims))
        _, first, counts = np.unique(points, axis=0, return_index=True, return_counts=True)
        if (counts > 1).any():
            twice = [int(number) for number in points[first[int(np.argmax(counts > 1))]]]
            raise undefined(op, f"the op says that its coordinates are unique, but {twice} appears more than once")
    return tuple(np.moveaxis(numbers, -1, 0))


def gather(op: Operation, settings: Settings) -> Function:
    """Return the function of tensor.gather."""
    type_, dims = op.results[0].type, attribute_numbers(op.properties["gather_dims"])
    keeps = len(ty.shape_of(type_) or ()) == len(ty.shape_of(op.operands[1].type) or ()) - 1 + len(
        ty.shape_of(op.operands[0].type) or ()
    )

    def take(run: Run, operands: Operands) -> tuple[Any, ...]:
        source, indices = operands
        places = _places(op, source.shape, indices, dims, settings)
        rest = tuple(1 if axis in dims else size for axis, size in enumerate(source.shape) if keeps or axis not in dims)
        shape = (*indices.shape[:-1], *rest)
        conflict = shape_conflict(type_, shape, settings.vscale)
        if conflict:
            raise undefined(op, conflict)
        check_allocation(type_, shape, settings)

        def move(array: npt.NDArray[Any], trailing: tuple[int, ...]) -> npt.NDArray[Any]:
            slices: npt.NDArray[Any] = np.moveaxis(array, dims, range(len(dims)))[places]
            return slices.reshape(shape + trailing)

        return (rearranged(source, type_, move),)

    return take


def scatter(op: Operation, settings: Settings) -> Function:
    """Return the function of tensor.scatter."""
    type_, dims = op.results[0].type, attribute_numbers(op.properties["scatter_dims"])

    def put(run: Run, operands: Operands) -> tuple[Any, ...]:
        source, dest, indices = operands
        places = _places(op, dest.shape, indices, dims, settings)
        rest = tuple(size for axis, size in enumerate(dest.shape) if axis not in dims)
        shape = (*indices.shape[:-1], *rest)
        if prod(source.shape) != prod(shape) or source.shape[: indices.bits.ndim - 1] != indices.shape[:-1]:
            raise undefined(
                op, f"the source has the shape {spell_shape(source.shape)}, but the slices {spell_shape(shape)}"
            )
        rank = len(dest.shape)

        def join(arrays: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
            part, whole = arrays
            result = whole.copy()
            np.moveaxis(result, dims, range(len(dims)))[places] = part.reshape(shape + whole.shape[rank:])
            return result

        return (combined(run, (source, dest), type_, join),)

    return put
