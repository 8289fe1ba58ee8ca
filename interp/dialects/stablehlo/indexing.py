"""The ops of StableHLO that take elements from places that other operands name, put them there, or order them: gather,
scatter and sort.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare import parameters as kinds
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.elements import Function, Operands, data_movement, first_origin, picked
from halfulp.interp.dialects.stablehlo.bodies import (
    body_of,
    not_all_inferred,
    returned,
    verify_all_shapes,
    verify_comparator,
    verify_reducer,
    verify_selector,
)
from halfulp.interp.dialects.stablehlo.moving import numbers_of, signed_numbers
from halfulp.interp.dialects.stablehlo.reducing import check_elements, on_arrays, spread, with_body, zeros
from halfulp.interp.dialects.stablehlo.types import (
    PLAIN_TENSOR,
    attribute_of,
    lists,
    not_inferred,
    shapes_fit,
    stablehlo,
    struct,
    tensor_of,
)
from halfulp.interp.dialects.stablehlo.windows import PADDING, Window, optional_numbers, verify_window
from halfulp.interp.dialects.structured.arrays import OnArrays
from halfulp.interp.dialects.structured.structure import PARALLEL, Structure
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.dialect_attributes import Parameter
from halfulp.interp.ir.operations import Block, Operation, SSAValue, undefined
from halfulp.interp.run.evaluators import Compiler
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

Places = npt.NDArray[np.intp]

_INDICES = tensor_of("I")
_VECTOR = Parameter("index_vector_dim", kinds.INTEGER, optional=True, default=0)
_GATHER = struct(
    "gather",
    *lists(
        "offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims", "start_index_map"
    ),
    _VECTOR,
)
_SCATTER = struct(
    "scatter",
    *lists(
        "update_window_dims", "inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims",
        "scatter_dims_to_operand_dims",
    ),
    _VECTOR,
)  # fmt: skip


def _starts(numbers: npt.NDArray[np.int64], vector: int, axes: Sequence[int], rank: int) -> list[npt.NDArray[np.int64]]:
    """Return for each dimension of the operand the start of each slice, in the shape of the batch."""
    numbers = np.moveaxis(numbers, vector, -1) if vector < numbers.ndim else numbers[..., np.newaxis]
    found = [np.zeros((1,) * (numbers.ndim - 1), np.int64)] * rank
    for number, axis in enumerate(axes):
        found[axis] = numbers[..., number]
    return found


def _batch_shape(shape: tuple[int, ...], vector: int) -> tuple[int, ...]:
    return tuple(size for axis, size in enumerate(shape) if axis != vector)


def _along(axis: int, rank: int, size: int) -> npt.NDArray[np.int64]:
    """Return 0, 1, 2, … along one of several axes."""
    return np.arange(size).reshape(tuple(size if k == axis else 1 for k in range(rank)))


# --- gather -----------------------------------------------------------------------------------------------------------


def _within(name: str, dims: Sequence[int], what: str, size: int) -> Unprefixed | None:
    """Check the range of numbers of dimensions. ``what``: StableHLO's words for the size."""
    for dim in dims:
        if not 0 <= dim < size:
            return Unprefixed(
                f"Expects each element of {name} to be in range [0, {what}) i.e. [0, {size}). got: {dim}."
            )
    return None


def _distinct(*lists_: tuple[str, Sequence[int]]) -> Unprefixed | None:
    """Check that lists, each with its name, have no number twice."""
    dims = [dim for _, each in lists_ for dim in each]
    for dim in dims:
        if dims.count(dim) > 1:
            names = " and ".join(name for name, _ in lists_)
            return Unprefixed(f"has duplicated dimension from {names}: {dim}")
    return None


def _verify_gather(op: Operation) -> str | None:
    numbers: Any = op.properties["dimension_numbers"]
    shape, starts = (ty.shape_of(value.type) or () for value in op.operands)
    sizes, vector = numbers_of(op, "slice_sizes"), numbers["index_vector_dim"]
    if not 0 <= vector <= len(starts):
        return Unprefixed(f"index_vector_dim {vector} is out of bounds for start indices with rank {len(starts)}")
    collapsed, batching = numbers["collapsed_slice_dims"], numbers["operand_batching_dims"]
    paired, axes = numbers["start_indices_batching_dims"], numbers["start_index_map"]
    if len(sizes) != len(shape):
        return Unprefixed(f"slice_sizes has rank {len(sizes)}, but the operand has rank {len(shape)}")
    for axis, (size, whole) in enumerate(zip(sizes, shape, strict=True)):
        if whole is not None and not 0 <= size <= whole:
            return Unprefixed(f"slice size ({size}) is out of bounds for operand dimension ({whole}) at index {axis}")
    if len(batching) != len(paired):
        return Unprefixed("operand_batching_dims and start_indices_batching_dims should have the same size")
    vector_size = starts[vector] if vector < len(starts) else 1
    if vector_size is not None and len(axes) != vector_size:
        return Unprefixed(
            f"start_index_map size ({len(axes)}) is not equal to size of index dimension ({vector}) of start_indices "
            f"({vector_size})"
        )
    found = (
        _distinct(("collapsed_slice_dims", collapsed), ("operand_batching_dims", batching))
        or _distinct(("start_index_map", axes), ("operand_batching_dims", batching))
        or _distinct(("start_indices_batching_dims", paired))
        or _within("collapsed_slice_dims", collapsed, "rank-of('operand')", len(shape))
        or _within("operand_batching_dims", batching, "rank-of('operand')", len(shape))
        or _within("start_index_map", axes, "rank-of('operand')", len(shape))
        or _within("start_indices_batching_dims", paired, "rank-of('start_indices')", len(starts))
    )
    if found is not None:
        return found
    if vector in paired:
        return Unprefixed(f"expects start_indices_batching_dims not to include index_vector_dim {vector}.")
    for name, dims in (("collapsed_slice_dims", collapsed), ("operand_batching_dims", batching)):
        for axis in dims:
            if sizes[axis] > 1:
                return Unprefixed(
                    f"Expects that for each dim in {name}, slice_sizes[dim] should be <= 1, but got {sizes[axis]}"
                )
    for axis, other in zip(batching, paired, strict=True):
        if None not in (shape[axis], starts[other]) and shape[axis] != starts[other]:
            return Unprefixed(
                f"operand_batching_dims[{batching.index(axis)}] and start_indices_batching_dims"
                f"[{batching.index(axis)}] should have compatible sizes, but got {shape[axis]} and {starts[other]}"
            )
    if None in starts:
        return None
    batch = _batch_shape(tuple(size or 0 for size in starts), vector)
    left_out = (*numbers["collapsed_slice_dims"], *numbers["operand_batching_dims"])
    offsets = [size for axis, size in enumerate(sizes) if axis not in left_out]
    places = numbers["offset_dims"]
    if len(places) != len(offsets):
        return Unprefixed(
            f"offset_dims size ({len(places)}) plus collapse_slice_dims size "
            f"({len(numbers['collapsed_slice_dims'])}) plus operand_batching_dims size "
            f"({len(numbers['operand_batching_dims'])}) is not equal to operand rank ({len(shape)})"
        )
    found = _within("offset_dims", places, "implied-result-rank", len(batch) + len(offsets)) or _distinct(
        ("offset_dims", places)
    )
    if found is not None:
        return found
    rest, taken = iter(batch), dict(zip(places, offsets, strict=True))
    made = tuple(taken[axis] if axis in taken else next(rest) for axis in range(len(batch) + len(offsets)))
    return not_inferred(op, ty.TensorType(made, ty.element_type(op.operands[0].type)))


def _gather(op: Operation, settings: Settings) -> Function:
    numbers: Any = op.properties["dimension_numbers"]
    sizes, type_ = numbers_of(op, "slice_sizes"), op.results[0].type
    vector, offset_dims = numbers["index_vector_dim"], numbers["offset_dims"]
    batched = dict(zip(numbers["operand_batching_dims"], numbers["start_indices_batching_dims"], strict=True))
    left_out = (*numbers["collapsed_slice_dims"], *batched)
    windowed = [axis for axis in range(len(sizes)) if axis not in left_out]

    def take(run: Run, operands: Operands) -> tuple[Any, ...]:
        source, given = operands
        batch = _batch_shape(given.shape, vector)
        starts = _starts(signed_numbers(op, given, "an index"), vector, numbers["start_index_map"], len(sizes))
        index = []
        for axis, (start, size, whole) in enumerate(zip(starts, sizes, source.shape, strict=True)):
            places: Any = np.clip(start, 0, max(0, whole - size))
            if axis in batched:
                dim = batched[axis]
                places = _along(dim - (dim > vector), len(batch), batch[dim - (dim > vector)])
            places = places.reshape((*places.shape, *(1,) * len(windowed)))
            if axis in windowed:
                places = places + _along(len(batch) + windowed.index(axis), len(batch) + len(windowed), size)
            index.append(places)
        rank = len(batch) + len(windowed)
        whole_shape = (*batch, *(sizes[axis] for axis in windowed))
        if not index:
            return (spread(source, whole_shape, type_),)
        rest = iter(range(len(batch)))
        order = [len(batch) + offset_dims.index(k) if k in offset_dims else next(rest) for k in range(rank)]
        turned = tuple(np.broadcast_to(each, whole_shape).transpose(order) for each in index)
        return (picked(source, turned, type_),)

    return take


stablehlo.op(
    "gather",
    operands={"operand": PLAIN_TENSOR, "start_indices": _INDICES},
    results={"result": PLAIN_TENSOR},
    properties=(
        d.Property(
            "dimension_numbers", attribute_of(_GATHER, "Attribute that models the dimension information for gather")
        ),
        d.Property("indices_are_sorted", d.BOOL_ATTR, optional=True),
        d.Property("slice_sizes", d.INTEGER_64_ARRAY_ATTR),
    ),
    verify=_verify_gather,
    evaluate=data_movement(_gather, elements=1),
)

# --- bodies on lists of elements --------------------------------------------------------------------------------------

Elementwise = Callable[[Run, Sequence[Value]], list[Value]]


def elementwise_body(op: Operation, block: Block, compiler: Compiler) -> tuple[OnArrays, list[tuple[int, ty.Type]]]:
    """Compile a body to run on lists of elements, one for each of its arguments. Returns it, and the slots and types of
    the values from outside that it uses.

    Raises Unsupported for a body with ops that do not work element by element.
    """
    listed = at.AffineMapAttr(1, 0, (Dimension(0),))
    results = block.operations[-1].operands
    unread = [SSAValue(value.type) for value in results]
    count = len(block.arguments) + len(results)
    structure = Structure(
        (listed,) * count,
        (PARALLEL,),
        [SSAValue(_list_of(argument.type)) for argument in block.arguments],
        [SSAValue(_list_of(value.type)) for value in results],
        block,
        (*block.arguments, *unread),
    )
    compiled = on_arrays(op, structure, compiler)
    return compiled, [(slot, type_) for slot, _, type_ in compiled.body.outside]


def _list_of(type_: ty.Type) -> ty.TensorType:
    return ty.TensorType((None,), ty.element_type(type_))


def _flat(value: Value) -> Value:
    """Return the elements as a list."""
    shape = (prod(value.shape),)

    def listed(array: Any, trailing: tuple[int, ...]) -> Any:
        return None if array is None else np.ascontiguousarray(array).reshape(shape + trailing)

    trailing = value.bits.shape[len(value.shape) :]
    return Value(
        _list_of(value.type),
        listed(value.bits, trailing),
        listed(value.poison, ()),
        listed(value.open, ()),
        value.origins,
    )


# --- scatter ----------------------------------------------------------------------------------------------------------


def _occurrences(places: Places) -> Places:
    """Return for each place how often it occurred before."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    begins = np.repeat(first, np.diff(np.append(first, len(ordered))))
    found = np.empty(len(places), np.intp)
    found[order] = np.arange(len(places)) - begins
    return found


def _verify_scatter(op: Operation) -> str | None:
    if len(op.operands) % 2 == 0 or len(op.operands) < 3:
        return "expects as many updates as inputs, and indices between them"
    count = len(op.operands) // 2
    types = [value.type for value in op.operands]
    numbers: Any = op.properties["scatter_dimension_numbers"]
    window, inserted = numbers["update_window_dims"], numbers["inserted_window_dims"]
    batching, paired = numbers["input_batching_dims"], numbers["scatter_indices_batching_dims"]
    axes, vector = numbers["scatter_dims_to_operand_dims"], numbers["index_vector_dim"]
    shape, given, update = (ty.shape_of(types[k]) or () for k in (0, count, count + 1))
    for several, name in ((types[:count], "operands"), (types[count + 1 :], "updates")):
        if not all(shapes_fit(several[0], other) for other in several):
            return Unprefixed(f"Not all {name} have compatible shapes.")
    if not 0 <= vector <= len(given):
        return Unprefixed(
            f"Expects index_vector_dim to be in range [0, rank-of('scatter_indices')] i.e. [0, {len(given)}]. "
            f"got: {vector}."
        )
    covered = len(window) + len(inserted) + len(batching)
    if covered != len(shape):
        return Unprefixed(
            f"Expects rank-of operand to match size-of('update_window_dims') + size-of('inserted_window_dims') + "
            f"size-of('input_batching_dims') i.e. {covered} but got {len(shape)}."
        )
    rank = len(given) - (vector < len(given)) + len(window)
    if len(update) != rank:
        return Unprefixed(
            f"expects updates tensor must be of rank {rank} ( == rank-of('scatter_indices') - 1 + "
            f"size-of('update_window_dims'), where 'scatter_indices' is expanded by a trailing 1 dimension if "
            f"'index_vector_dim' == rank-of('scatter_indices')), but got {len(update)}."
        )
    if len(batching) != len(paired):
        return Unprefixed("input_batching_dims and scatter_indices_batching_dims should have the same size.")
    size = given[vector] if vector < len(given) else 1
    if size is not None and len(axes) != size:
        return Unprefixed(
            f"Scatter op has {len(axes)} elements in scatter_dims_to_operand_dims and the bound of dimension "
            f"index_vector_dim={vector} of scatter_indices is {size}. These two numbers must be equal."
        )
    found = (
        _distinct(("update_window_dims", window))
        or _within("update_window_dims", window, "rank-of('updates')", rank)
        or _distinct(("inserted_window_dims", inserted), ("input_batching_dims", batching))
        or _within("inserted_window_dims", inserted, "rank-of('operand')", len(shape))
        or _within("input_batching_dims", batching, "rank-of('operand')", len(shape))
        or _distinct(("scatter_dims_to_operand_dims", axes), ("input_batching_dims", batching))
        or _within("scatter_dims_to_operand_dims", axes, "rank-of('operand')", len(shape))
        or _distinct(("scatter_indices_batching_dims", paired))
        or _within("scatter_indices_batching_dims", paired, "rank-of('scatter_indices')", len(given))
    )
    if found is not None:
        return found
    if vector in paired:
        return Unprefixed(f"expects scatter_indices_batching_dims not to include index_vector_dim {vector}.")
    for number, (axis, other) in enumerate(zip(batching, paired, strict=True)):
        if None not in (shape[axis], given[other]) and shape[axis] != given[other]:
            return Unprefixed(
                f"input_batching_dims[{number}] and scatter_indices_batching_dims[{number}] should have compatible "
                f"sizes, but got {shape[axis]} and {given[other]}."
            )
    windowed = [axis for axis in range(len(shape)) if axis not in (*inserted, *batching)]
    for dim, axis in zip(window, windowed, strict=True):
        part, whole = update[dim], shape[axis]
        if part is not None and whole is not None and part > whole:
            return Unprefixed(
                f"expects bounds of the window dimensions of updates to not exceed the bounds of the corresponding "
                f"dimensions of operand. For dimension {dim}, updates bound is {part}, operand bound is {whole}."
            )
    batch = [dim for dim in range(rank) if dim not in window]
    places = [dim for dim in range(len(given)) if dim != vector]
    for dim, place in zip(batch, places, strict=True):
        if None not in (update[dim], given[place]) and update[dim] != given[place]:
            return Unprefixed(
                f"expects bounds of the scatter dimensions of updates to be same as the bounds of the corresponding "
                f"dimensions of scatter indices. For scatter dimension {dim}, updates bound is {update[dim]} , "
                f"scatter_indices bound is {given[place]}."
            )
    return None


def _verify_scatter_body(op: Operation) -> str | None:
    count = len(op.operands) // 2
    inputs, updates = op.operands[:count], op.operands[count + 1 :]
    starts = [ty.TensorType((), ty.element_type(value.type)) for value in updates]
    block = body_of(op)
    found = verify_reducer(block, [value.type for value in inputs], starts)
    if found is not None:
        return found
    made = zip(inputs, returned(block), strict=True)
    return not_all_inferred(op, [ty.with_element(value.type, ty.element_type(type_)) for value, type_ in made])


class _Scatter:
    """A scatter, compiled: where each element of the updates goes, and the body."""

    def __init__(self, op: Operation, compiler: Compiler) -> None:
        numbers: Any = op.properties["scatter_dimension_numbers"]
        self._op = op
        self._count = len(op.operands) // 2
        self._vector = numbers["index_vector_dim"]
        self._window = numbers["update_window_dims"]
        self._axes = numbers["scatter_dims_to_operand_dims"]
        self._batched = dict(zip(numbers["input_batching_dims"], numbers["scatter_indices_batching_dims"], strict=True))
        self._left_out = (*numbers["inserted_window_dims"], *self._batched)
        inputs, updates = op.operands[: self._count], op.operands[self._count + 1 :]
        check_elements(op, body_of(op), [value.type for value in (*inputs, *updates)])
        self._body, self.outside = elementwise_body(op, op.regions[0].blocks[0], compiler)

    def _places(self, given: Value, shape: tuple[int, ...], update: tuple[int, ...]) -> Places:
        """Return the place of each element of an update in the list of the operand's elements; -1 outside of it."""
        rank, vector = len(update), self._vector
        batch_dims = [axis for axis in range(rank) if axis not in self._window]
        starts = _starts(signed_numbers(self._op, given, "an index"), vector, self._axes, len(shape))
        windowed = [axis for axis in range(len(shape)) if axis not in self._left_out]
        place: Any = np.zeros((1,) * rank, np.int64)
        inside: Any = np.ones((1,) * rank, np.bool_)
        for axis, (start, size) in enumerate(zip(starts, shape, strict=True)):
            where: Any = start.reshape(_expanded(start.shape, batch_dims, rank))
            if axis in self._batched:
                dim = self._batched[axis]
                target = batch_dims[dim - (dim > vector)]
                where = _along(target, rank, update[target])
            if axis in windowed:
                target = self._window[windowed.index(axis)]
                where = where + _along(target, rank, update[target])
            inside = inside & (where >= 0) & (where < size)
            place = place * size + where
        found: Places = np.broadcast_to(np.where(inside, place, -1), update).reshape(-1).astype(np.intp)
        return found

    def run(self, run: Run, operands: Sequence[Value], captured: Sequence[Value]) -> list[Value]:
        """Return the new operands."""
        inputs, given, updates = operands[: self._count], operands[self._count], operands[self._count + 1 :]
        places = self._places(given, inputs[0].shape, updates[0].shape)
        state = [_flat(value) for value in inputs]
        new = [_flat(value) for value in updates]
        state = _combined(run, self._body, places, state, new, captured)
        return [
            _shaped(value, one.shape, result.type)
            for value, one, result in zip(state, inputs, self._op.results, strict=True)
        ]


def _combined(
    run: Run, body: OnArrays, places: Places, state: list[Value], new: Sequence[Value], captured: Sequence[Value]
) -> list[Value]:
    """Return lists in which new elements, one after the other, are combined with what is at their places. Those with a
    negative place are left out.
    """
    kept = np.flatnonzero(places >= 0)
    turns = _occurrences(places[kept]) if len(kept) else kept
    order = np.argsort(turns, kind="stable")
    ends = np.searchsorted(turns[order], np.arange(1 + (int(turns.max()) if len(turns) else -1) + 1))
    for start, end in pairwise(ends):
        # No two of these elements have one place, and each is the next one there.
        rows = kept[order[start:end]]
        where = places[rows]
        old = [picked(value, (where,), value.type) for value in state]
        put = [picked(value, (rows,), value.type) for value in new]
        starts = [zeros((len(rows),), value.type) for value in state]
        found = body.run(run, [*old, *put, *starts], captured)
        state = [_replaced(run, value, where, part) for value, part in zip(state, found, strict=True)]
    return state


def _expanded(shape: tuple[int, ...], dims: Sequence[int], rank: int) -> tuple[int, ...]:
    """Return a shape with the sizes of a batch at these dimensions of an update."""
    sizes = [1] * rank
    for dim, size in zip(dims, shape, strict=True):
        sizes[dim] = size
    return tuple(sizes)


def _replaced(run: Run, whole: Value, where: Places, part: Value) -> Value:
    """Return a list with new elements at some places. The list itself is changed where it can be."""
    bits = whole.bits if whole.bits.flags.writeable else whole.bits.copy()
    bits[where] = part.bits
    poison = _marks(whole.poison, len(whole.bits), where, part.poison)
    open_ = _marks(whole.open, len(whole.bits), where, part.open)
    return Value(whole.type, bits, poison, open_, None if poison is None else run.origins)


def _marks(marks: Any, count: int, where: Places, part: Any) -> Any:
    if marks is None and part is None:
        return None
    found = np.zeros(count, part.dtype) if marks is None else marks.copy()
    found[where] = 0 if part is None else part
    return found


def _shaped(value: Value, shape: tuple[int, ...], type_: ty.Type) -> Value:
    trailing = value.bits.shape[1:]
    poison = value.poison if value.poison is not None and value.poison.any() else None
    return Value(
        type_,
        value.bits.reshape(shape + trailing),
        None if poison is None else poison.reshape(shape),
        None if value.open is None else value.open.reshape(shape),
        value.origins if poison is not None else None,
    )


stablehlo.op(
    "scatter",
    operands=(
        d.variadic("inputs", PLAIN_TENSOR), d.Slot("scatter_indices", _INDICES), d.variadic("updates", PLAIN_TENSOR),
    ),
    results=(d.variadic("result", PLAIN_TENSOR),),
    properties=(
        d.Property("indices_are_sorted", d.BOOL_ATTR, optional=True),
        d.Property(
            "scatter_dimension_numbers",
            attribute_of(_SCATTER, "Attribute that models the dimension information for scatter"),
        ),
        d.Property("unique_indices", d.BOOL_ATTR, optional=True),
    ),
    regions=(d.RegionSlot("update_computation"),),
    traits=(d.Trait.SINGLE_BLOCK,),
    verify=_verify_scatter,
    verify_regions=_verify_scatter_body,
    evaluate=with_body(_Scatter, lanes=False),
)  # fmt: skip

# --- sort -------------------------------------------------------------------------------------------------------------


def _sorted_axis(op: Operation) -> int:
    """Return the number of the dimension to sort along, which may be negative: the last one where it is not given."""
    return op.prop("dimension", at.IntegerAttr).value if "dimension" in op.properties else -1


class _Sort:
    """A sort, compiled: merges of sorted runs. The place of an element is found by bisection in the other run, for all
    elements at once, so that the comparator runs on whole arrays.
    """

    def __init__(self, op: Operation, compiler: Compiler) -> None:
        self._op = op
        self._axis = _sorted_axis(op)
        self._body, self.outside = elementwise_body(op, op.regions[0].blocks[0], compiler)

    def run(self, run: Run, operands: Sequence[Value], captured: Sequence[Value]) -> list[Value]:
        """Return the sorted operands. Equal elements keep their order."""
        shape = operands[0].shape
        axis = self._axis % len(shape)
        moved = [*(k for k in range(len(shape)) if k != axis), axis]
        lists_ = [
            _flat(picked(value, (), value.type) if not value.shape else _turned(value, moved)) for value in operands
        ]
        size = shape[axis]
        rows = prod(shape) // size if size else 0

        def before(one: Places, other: Places) -> npt.NDArray[np.bool_]:
            """Tell whether elements, given by their places in the lists, stand before others."""
            given = []
            for value in lists_:
                given += [picked(value, (one,), value.type), picked(value, (other,), value.type)]
            (found,) = self._body.run(run, [*given, zeros((len(one),), _list_of(ty.I1))], captured)
            if found.poison is not None:
                raise undefined(self._op, f"a comparison is poison: {first_origin(found)}")
            return np.asarray(found.bits != 0)

        order = np.arange(rows * size).reshape(rows, size)
        length = 1
        while length < size:
            order = _merged(order, length, before)
            length *= 2
        back = np.argsort(moved)
        turned = order.reshape([shape[k] for k in moved]).transpose(back)
        return [picked(value, (turned,), result.type) for value, result in zip(lists_, self._op.results, strict=True)]


def _turned(value: Value, axes: Sequence[int]) -> Value:
    trailing = range(len(axes), value.bits.ndim)
    return Value(
        _list_of(value.type) if len(axes) == 1 else ty.TensorType((None,) * len(axes), ty.element_type(value.type)),
        value.bits.transpose(*axes, *trailing),
        None if value.poison is None else value.poison.transpose(axes),
        None if value.open is None else value.open.transpose(axes),
        value.origins,
    )


def _merged(order: Places, length: int, before: Callable[[Places, Places], npt.NDArray[np.bool_]]) -> Places:
    """Merge pairs of neighbouring runs of a length, in all rows."""
    rows, size = order.shape
    place = np.arange(size)
    pair = place // (2 * length) * (2 * length)
    second = place - pair >= length
    # The other run of each element, and its own place in its run.
    starts = np.where(second, pair, np.minimum(pair + length, size))
    ends = np.where(second, pair + length, np.minimum(pair + 2 * length, size))
    low = np.broadcast_to(starts, order.shape).copy()
    high = np.broadcast_to(ends, order.shape).copy()
    row, own = np.broadcast_to(np.arange(rows)[:, np.newaxis], order.shape), order
    late = np.broadcast_to(second, order.shape)
    while True:
        active = low < high
        if not active.any():
            break
        middle = (low + high) // 2
        mine, theirs = own[active], order[row[active], middle[active]]
        from_second = late[active]
        # An element of the first run stands behind those of the second one that come before it; an element of the
        # second run stands behind all of the first one that it does not come before.
        answer = before(np.where(from_second, mine, theirs), np.where(from_second, theirs, mine))
        behind = np.where(from_second, ~answer, answer)
        low[active] = np.where(behind, middle[active] + 1, low[active])
        high[active] = np.where(behind, high[active], middle[active])
    target = place - np.where(second, pair + length, pair) + (low - starts) + pair
    found = np.empty_like(order)
    found[row, target] = order
    return found


def _verify_sort(op: Operation) -> str | None:
    found = verify_all_shapes(op)
    if found is not None:
        return found
    shape = ty.shape_of(op.operands[0].type) or ()
    axis, rank = _sorted_axis(op), len(shape)
    if not -rank <= axis < rank:
        return Unprefixed(f"dimension attribute value must be in range [-{rank}, {rank}), but found {axis}")
    return None


def _verify_sort_body(op: Operation) -> str | None:
    types = [value.type for value in op.operands]
    return verify_comparator(body_of(op), types) or not_all_inferred(op, types)


stablehlo.op(
    "sort",
    operands=(d.variadic("inputs", PLAIN_TENSOR),),
    results=(d.variadic("result", PLAIN_TENSOR),),
    properties=(
        d.Property("dimension", d.INTEGER_64_ATTR, optional=True),
        d.Property("is_stable", d.BOOL_ATTR, optional=True),
    ),
    regions=(d.RegionSlot("comparator"),),
    traits=(d.Trait.SINGLE_BLOCK,),
    verify=_verify_sort,
    verify_regions=_verify_sort_body,
    evaluate=with_body(_Sort, lanes=False),
)

# --- select_and_scatter -----------------------------------------------------------------------------------------------


class _SelectAndScatter:
    """A select_and_scatter, compiled: the element that is chosen in each window, and the body that combines."""

    def __init__(self, op: Operation, compiler: Compiler) -> None:
        self._op = op
        self._rank = len(ty.shape_of(op.operands[0].type) or ())
        source, init = (value.type for value in op.operands[1:])
        check_elements(op, body_of(op, 1), [init, source])
        sizes = optional_numbers(op, "window_dimensions", self._rank)
        self._window = Window.of(op, sizes, "window_strides", "", "")
        self._select, outside = elementwise_body(op, op.regions[0].blocks[0], compiler)
        self._scatter, more = elementwise_body(op, op.regions[1].blocks[0], compiler)
        self.outside, self._split = [*outside, *more], len(outside)

    def _chosen(self, run: Run, operand: Value, places: tuple[int, ...], captured: Sequence[Value]) -> Places:
        """Return for each place of the window the element that is chosen; -1 where the window has only padding."""
        window, shape, rank = self._window, operand.shape, self._rank
        count, elements = prod(places), _flat(operand)
        chosen = np.full(count, -1, np.intp)
        for offset in product(*map(range, window.sizes)):
            place: Any = np.zeros((1,) * rank, np.int64)
            inside: Any = np.ones((1,) * rank, np.bool_)
            for axis, (size, stride, low) in enumerate(zip(shape, window.strides, window.low, strict=True)):
                where = _along(axis, rank, places[axis]) * stride + offset[axis] - low
                inside, place = inside & (where >= 0) & (where < size), place * size + where
            new = np.broadcast_to(np.where(inside, place, -1), places).reshape(-1)
            rivals = np.flatnonzero((new >= 0) & (chosen >= 0))
            if len(rivals):
                pair = [picked(elements, (each[rivals],), elements.type) for each in (chosen, new)]
                (kept,) = self._select.run(run, [*pair, zeros((len(rivals),), _list_of(ty.I1))], captured)
                if kept.poison is not None:
                    raise undefined(self._op, f"a comparison is poison: {first_origin(kept)}")
                loses = rivals[kept.bits == 0]
                chosen[loses] = new[loses]
            chosen = np.where(chosen < 0, new, chosen)
        return chosen

    def run(self, run: Run, operands: Sequence[Value], captured: Sequence[Value]) -> list[Value]:
        """Return the result."""
        operand, source, init = operands
        chosen = self._chosen(run, operand, source.shape, captured[: self._split])
        count = prod(operand.shape)
        (start,) = [_flat(value) for value in (init,)]
        state = [picked(start, (np.zeros(count, np.intp),), start.type)]
        (found,) = _combined(run, self._scatter, chosen, state, [_flat(source)], captured[self._split :])
        return [_shaped(found, operand.shape, self._op.results[0].type)]


def _verify_select_and_scatter(op: Operation) -> str | None:
    operand, source, _ = (value.type for value in op.operands)
    shape, sizes = ty.shape_of(operand) or (), optional_numbers(op, "window_dimensions", 0)
    if len(sizes) != len(shape):
        return Unprefixed(
            f"expects window-dimensions size == operand rank, but got window-dimensions size: {len(sizes)} and "
            f"operand-type: '{operand}' with rank = {len(shape)}."
        )
    found = verify_window(op, sizes, "window_strides")
    if found is not None:
        return found
    places = Window.of(op, sizes, "window_strides", "", "").places([size or 0 for size in shape])
    known = tuple(None if size is None else place for size, place in zip(shape, places, strict=True))
    expected = ty.TensorType(known, ty.element_type(source))
    if not shapes_fit(expected, source):
        return Unprefixed(f"expects source-type to be '{expected}', but got'{source}'")
    return None


def _verify_select_and_scatter_bodies(op: Operation) -> str | None:
    operand, source, init = (value.type for value in op.operands)
    block = body_of(op, 1)
    found = verify_selector(body_of(op), operand) or verify_reducer(block, [source], [init])
    if found is not None:
        return found
    return not_inferred(op, ty.with_element(operand, ty.element_type(returned(block)[0])))


stablehlo.op(
    "select_and_scatter",
    operands={"operand": PLAIN_TENSOR, "source": PLAIN_TENSOR, "init_value": PLAIN_TENSOR},
    results={"result": PLAIN_TENSOR},
    properties=(
        d.Property("padding", PADDING, optional=True),
        d.Property("window_dimensions", d.INTEGER_64_ARRAY_ATTR, optional=True),
        d.Property("window_strides", d.INTEGER_64_ARRAY_ATTR, optional=True),
    ),
    regions=(d.RegionSlot("select"), d.RegionSlot("scatter")),
    traits=(d.Trait.SINGLE_BLOCK,),
    verify=_verify_select_and_scatter,
    verify_regions=_verify_select_and_scatter_bodies,
    evaluate=with_body(_SelectAndScatter, lanes=False),
)
