"""The rules for the dimension numbers of gather, dynamic_gather and scatter, in the words of StableHLO's verifier
(`dialect/TypeInference.cpp`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.stablehlo.bodies import body_of, results_of_reducer, verify_reducer
from halfulp.interp.dialects.stablehlo.dynamic import constant_numbers
from halfulp.interp.dialects.stablehlo.types import (
    bounds_of,
    not_inferred,
    operand_types,
    shapes_fit,
    shown_sizes,
    sizes_fit,
    tensor,
)
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.semantics.profile import Profile

Sizes = Sequence[int | None]


def _shown(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


class _Names(NamedTuple):
    """The words of one of the ops: its lists of dimensions, its indices, and how its messages begin and go on."""

    window: str
    left_out: str
    batching: str
    paired: str
    axes: str
    indices: str
    expects: str
    separator: str
    end: str


_GATHER = _Names(
    "offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims", "start_index_map",
    "start_indices", "expects", ",", "",
)  # fmt: skip
_SCATTER = _Names(
    "update_window_dims", "inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims",
    "scatter_dims_to_operand_dims", "scatter_indices", "Expects", ";", ".",
)  # fmt: skip


def _distinct(one: tuple[str, Sequence[int]], other: tuple[str, Sequence[int]]) -> Unprefixed | None:
    """Check that two lists, each with its name, have no number twice."""
    dims = (*one[1], *other[1])
    for place, dim in enumerate(dims):
        if dim in dims[:place]:
            return Unprefixed(f"has duplicated dimension from {one[0]} and {other[0]}: {dim}")
    return None


def _within(name: str, dims: Sequence[int], what: str, size: int) -> Unprefixed | None:
    """Check the range of numbers of dimensions. ``what``: StableHLO's words for the size."""
    for dim in dims:
        if not 0 <= dim < size:
            return Unprefixed(
                f"Expects each element of {name} to be in range [0, {what}) i.e. [0, {size}). got: {dim}."
            )
    return None


def _sorted(name: str, dims: Sequence[int], names: _Names) -> Unprefixed | None:
    """Check that numbers do not decrease."""
    if list(dims) == sorted(dims):
        return None
    shown = f"got: [{_shown(dims)}]{names.end}"
    return Unprefixed(f"{names.expects} {name} to be sorted{names.separator} {shown}")


def _once(name: str, dims: Sequence[int], names: _Names) -> Unprefixed | None:
    if len(set(dims)) == len(dims):
        return None
    shown = f"got: [{_shown(dims)}]{names.end}"
    return Unprefixed(f"{names.expects} {name} to not repeat{names.separator} {shown}")


def _vector_within(vector: int, rank: int, name: str) -> Unprefixed | None:
    if 0 <= vector <= rank:
        return None
    return Unprefixed(
        f"Expects index_vector_dim to be in range [0, rank-of('{name}')] i.e. [0, {rank}]. got: {vector}."
    )


def _verify_lists(names: _Names, numbers: Any, shape: Sizes, given: Sizes, rank: int | None) -> Unprefixed | None:
    """Check the lists of dimensions of the operand and of the indices. ``given``: the sizes of the indices. ``rank``:
    that of the updates.
    """
    window, left_out, batching, paired = (numbers[name] for name in names[:4])
    found = (
        _sorted(names.window, window, names)
        or _once(names.window, window, names)
        or (None if rank is None else _within(names.window, window, "rank-of('updates')", rank))
        or _distinct((names.left_out, left_out), (names.batching, batching))
        or _sorted(names.left_out, left_out, names)
        or _within(names.left_out, left_out, "rank-of('operand')", len(shape))
        or _sorted(names.batching, batching, names)
        or _within(names.batching, batching, "rank-of('operand')", len(shape))
        or _once(names.paired, paired, names)
        or _within(names.paired, paired, f"rank-of('{names.indices}')", len(given))
    )
    if found is not None:
        return found
    if numbers["index_vector_dim"] in paired:
        return Unprefixed(
            f"expects {names.paired} not to include index_vector_dim {numbers['index_vector_dim']}{names.end}"
        )
    if len(batching) != len(paired):
        return Unprefixed(f"{names.batching} and {names.paired} should have the same size{names.end}")
    for place, (axis, other) in enumerate(zip(batching, paired, strict=True)):
        if not sizes_fit(shape[axis], given[other]):
            return Unprefixed(
                f"{names.batching}[{place}] and {names.paired}[{place}] must have compatible sizes, but got "
                f"{shape[axis]} and {given[other]}{names.end}"
            )
    return None


def _verify_axes(names: _Names, numbers: Any, rank: int) -> Unprefixed | None:
    """Check which dimensions of the operand the indices are for. ``rank``: that of the operand."""
    axes = numbers[names.axes]
    return _distinct((names.axes, axes), (names.batching, numbers[names.batching])) or _within(
        names.axes, axes, "rank-of('operand')", rank
    )


# --- gather -----------------------------------------------------------------------------------------------------------


def _verify_numbers_of_gather(op: Operation, count: int) -> Unprefixed | None:
    """Check the dimension numbers. ``count``: the number of sizes of a slice."""
    numbers: Any = op.properties["dimension_numbers"]
    shape, starts = (ty.shape_of(value.type) or () for value in op.operands[:2])
    offsets, collapsed = numbers["offset_dims"], numbers["collapsed_slice_dims"]
    axes, vector, rank = numbers["start_index_map"], numbers["index_vector_dim"], len(shape)
    batching = numbers["operand_batching_dims"]
    if rank != len(offsets) + len(collapsed) + len(batching):
        return Unprefixed(
            f"offset_dims size ({len(offsets)}) plus collapse_slice_dims size ({len(collapsed)}) plus "
            f"operand_batching_dims size ({len(batching)}) is not equal to operand rank ({rank})"
        )
    found = _vector_within(vector, len(starts), "start_indices")
    if found is not None:
        return found
    size = starts[vector] if vector < len(starts) else 1
    if size is not None and size != len(axes):
        return Unprefixed(
            f"start_index_map size ({len(axes)}) is not equal to size of index dimension ({vector}) of start_indices "
            f"({size})"
        )
    found = _verify_lists(_GATHER, numbers, shape, starts, None) or _verify_axes(_GATHER, numbers, rank)
    if found is not None or count == rank:
        return found
    return Unprefixed(f"slice_sizes size ({count}) not equal to operand rank ({rank})")


def _verify_slices(op: Operation, sizes: Sequence[int]) -> Unprefixed | None:
    numbers: Any = op.properties["dimension_numbers"]
    for name in ("collapsed_slice_dims", "operand_batching_dims"):
        for axis in numbers[name]:
            if sizes[axis] > 1:
                return Unprefixed(
                    f"Expects that for each dim in {name}, slice_sizes[dim] should be <= 1, but got {sizes[axis]}"
                )
    shape = ty.shape_of(op.operands[0].type) or ()
    for axis, (size, whole) in enumerate(zip(sizes, shape, strict=True)):
        if size < 0 or (whole is not None and size > whole):
            shown = shown_sizes(op.operands[0].type)[axis]
            return Unprefixed(f"slice size ({size}) is out of bounds for operand dimension ({shown}) at index {axis}")
    return None


def _verify_gathered(op: Operation, sizes: Sizes) -> str | None:
    """Check the result. ``sizes``: those of a slice."""
    numbers: Any = op.properties["dimension_numbers"]
    given = op.operands[1].type
    starts, bounds = ty.shape_of(given) or (), bounds_of(given)
    vector, offsets = numbers["index_vector_dim"], numbers["offset_dims"]
    batch = [axis for axis in range(len(starts)) if axis != vector]
    rank = len(offsets) + len(batch)
    found = _within("offset_dims", offsets, "implied-result-rank", rank)
    if found is not None:
        return found
    left_out = (*numbers["collapsed_slice_dims"], *numbers["operand_batching_dims"])
    taken = dict(zip(offsets, [size for axis, size in enumerate(sizes) if axis not in left_out], strict=True))
    rest = iter(batch)
    made: list[int | None] = []
    limits: list[int | None] = []
    for dim in range(rank):
        axis = None if dim in taken else next(rest)
        made.append(taken[dim] if axis is None else starts[axis])
        limits.append(bounds[axis] if axis is not None and bounds else None)
    return not_inferred(op, tensor(made, ty.element_type(op.operands[0].type), limits))


def _same_elements(op: Operation) -> str | None:
    if ty.element_type(op.operands[0].type) == ty.element_type(op.results[0].type):
        return None
    return "failed to verify that all of {operand, result} have same element type"


def verify_gather(op: Operation) -> str | None:
    """Return what is wrong with the dimension numbers, the sizes of slices or the result of gather, or None."""
    sizes = op.numbers("slice_sizes")
    return (
        _same_elements(op)
        or _verify_numbers_of_gather(op, len(sizes))
        or _verify_slices(op, sizes)
        or _verify_gathered(op, sizes)
    )


def verify_dynamic_gather(op: Operation) -> str | None:
    """Return what is wrong with the dimension numbers or the result of dynamic_gather, or with the sizes of slices if
    they are known; else None.
    """
    count = ty.element_count(op.operands[2].type) or 0
    found = _verify_numbers_of_gather(op, count)
    if found is not None:
        return found
    sizes = constant_numbers(op.operands[2])
    if sizes is None:
        return _verify_gathered(op, (None,) * count)
    return _verify_slices(op, sizes) or _verify_gathered(op, sizes)


# --- scatter ----------------------------------------------------------------------------------------------------------


def _verify_numbers_of_scatter(numbers: Any, shape: Sizes, given: Sizes, update: Sizes) -> Unprefixed | None:
    """Check the dimension numbers. ``given``: the sizes of the indices, with 1 for a vector that has no dimension."""
    window, inserted = numbers["update_window_dims"], numbers["inserted_window_dims"]
    batching, axes, rank = numbers["input_batching_dims"], numbers["scatter_dims_to_operand_dims"], len(shape)
    vector = numbers["index_vector_dim"]
    covered = len(window) + len(inserted) + len(batching)
    if covered != rank:
        return Unprefixed(
            f"Expects rank-of operand to match size-of('update_window_dims') + size-of('inserted_window_dims') + "
            f"size-of('input_batching_dims') i.e. {covered} but got {rank}."
        )
    found = _verify_lists(_SCATTER, numbers, shape, given, len(update))
    if found is not None:
        return found
    if not sizes_fit(given[vector], len(axes)):
        return Unprefixed(
            f"Scatter op has {len(axes)} elements in scatter_dims_to_operand_dims and the bound of dimension "
            f"index_vector_dim={vector} of scatter_indices is {given[vector]}. These two numbers must be equal."
        )
    return _verify_axes(_SCATTER, numbers, rank)


def _verify_updates(numbers: Any, shape: Sizes, given: Sizes, update: Sizes) -> Unprefixed | None:
    """Check the sizes of the updates."""
    window, vector = numbers["update_window_dims"], numbers["index_vector_dim"]
    left_out = (*numbers["inserted_window_dims"], *numbers["input_batching_dims"])
    windowed = [axis for axis in range(len(shape)) if axis not in left_out]
    for dim, axis in zip(window, windowed, strict=False):
        part, whole = update[dim], shape[axis]
        if part is not None and whole is not None and part > whole:
            return Unprefixed(
                f"expects bounds of the window dimensions of updates to not exceed the bounds of the corresponding "
                f"dimensions of operand. For dimension {dim}, updates bound is {part}, operand bound is {whole}."
            )
    batch = [dim for dim in range(len(update)) if dim not in window]
    places = [dim for dim in range(len(given)) if dim != vector]
    for dim, place in zip(batch, places, strict=True):
        if not sizes_fit(update[dim], given[place]):
            return Unprefixed(
                f"expects bounds of the scatter dimensions of updates to be same as the bounds of the corresponding "
                f"dimensions of scatter indices. For scatter dimension {dim}, updates bound is {update[dim]} , "
                f"scatter_indices bound is {given[place]}."
            )
    return None


def verify_scatter(op: Operation) -> str | None:
    """Return what is wrong with the operands, the body or the dimension numbers of scatter, or None."""
    count, types = len(op.operands) // 2, operand_types(op)
    inputs, updates = types[:count], types[count + 1 :]
    numbers: Any = op.properties["scatter_dimension_numbers"]
    for several, name in ((inputs, "inputs"), (updates, "updates")):
        if not all(shapes_fit(several[0], other) for other in several):
            return Unprefixed(f"Not all {name} have compatible shapes.")
    given, vector = ty.shape_of(types[count]) or (), numbers["index_vector_dim"]
    starts = [ty.TensorType((), ty.element_type(type_)) for type_ in updates]
    found = _vector_within(vector, len(given), "scatter_indices") or verify_reducer(body_of(op), inputs, starts)
    if found is not None:
        return found
    given = (*given, 1) if vector == len(given) else given
    rank = len(given) - 1 + len(numbers["update_window_dims"])
    for type_ in updates:
        if len(ty.shape_of(type_) or ()) != rank:
            return Unprefixed(
                f"expects updates tensor must be of rank {rank} ( == rank-of('scatter_indices') - 1 + "
                f"size-of('update_window_dims'), where 'scatter_indices' is expanded by a trailing 1 dimension if "
                f"'index_vector_dim' == rank-of('scatter_indices')), but got {len(ty.shape_of(type_) or ())}."
            )
    for check in (_verify_numbers_of_scatter, _verify_updates):
        for one, update in zip(inputs, updates, strict=True):
            found = check(numbers, ty.shape_of(one) or (), given, ty.shape_of(update) or ())
            if found is not None:
                return found
    return None


def verify_scattered(op: Operation) -> str | None:
    """Return what is wrong with the results of scatter, or None."""
    inputs = operand_types(op)[: len(op.operands) // 2]
    elements = results_of_reducer(body_of(op), inputs)
    return not_inferred(op, *(ty.with_element(type_, element) for type_, element in zip(inputs, elements, strict=True)))


# --- promises ---------------------------------------------------------------------------------------------------------
#
# What an op says about its indices. The specification leaves an op with a wrong promise undefined.

PROMISES = ("indices_are_sorted", "unique_indices")


def promised(op: Operation, name: str, profile: Profile) -> bool:
    """Tell whether an op makes a promise that is to be checked."""
    return profile.promises == "undefined" and name in op.properties and bool(op.number(name))


def check_sorted(
    op: Operation, starts: Sequence[npt.NDArray[np.int64]], batch: tuple[int, ...], groups: Sequence[int]
) -> None:
    """Raise UndefinedBehavior if starts of slices do not come in ascending order, by the dimensions of the operand.

    ``starts``: for each dimension, an array that broadcasts to ``batch``. ``groups``: the dimensions of the batch along
    which each slice has an operand of its own; the order counts inside of these.
    """
    rows = np.stack([np.broadcast_to(each, batch).reshape(-1) for each in starts]) if starts else np.zeros((1, 0))
    where = np.stack(np.unravel_index(np.arange(rows.shape[1]), batch)) if groups else np.zeros((0, rows.shape[1]))
    owners = where[list(groups)]
    order = np.lexsort(owners[::-1]) if groups else np.arange(rows.shape[1])
    before, after = rows[:, order[:-1]], rows[:, order[1:]]
    if not before.size:
        return
    first = (before != after).argmax(axis=0)[np.newaxis]
    falls = np.take_along_axis(after, first, 0)[0] < np.take_along_axis(before, first, 0)[0]
    falls &= (owners[:, order[:-1]] == owners[:, order[1:]]).all(axis=0)
    if falls.any():
        place = int(falls.argmax())
        raise undefined(
            op,
            f"indices_are_sorted is true, but the start {after[:, place].tolist()} comes after "
            f"{before[:, place].tolist()}",
        )


def check_unique(op: Operation, places: npt.NDArray[np.intp], shape: tuple[int, ...]) -> None:
    """Raise UndefinedBehavior if an element of a shape is among the places twice; negative places do not count."""
    kept = np.sort(places[places >= 0])
    again = kept[1:][kept[1:] == kept[:-1]]
    if again.size:
        index = [int(each) for each in np.unravel_index(int(again[0]), shape)] if shape else []
        raise undefined(op, f"unique_indices is true, but several updates go to the element {index}")
