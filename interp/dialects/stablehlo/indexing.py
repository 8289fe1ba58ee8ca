"""The ops of StableHLO whose operands name the places of elements, and sort: gather takes elements from these places,
scatter puts elements there, sort orders elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.neighbours import ranks
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.elements import Function, Operands, data_movement, first_origin, made, picked
from halfulp.interp.dialects.elementwise import enum_of
from halfulp.interp.dialects.stablehlo.attributes import COMPARISON_TYPE, DIRECTION, GATHER, I64_ELEMENTS, SCATTER
from halfulp.interp.dialects.stablehlo.bodies import (
    body_of,
    results_of_reducer,
    verify_comparator,
    verify_reducer,
    verify_selector,
)
from halfulp.interp.dialects.stablehlo.dynamic import sizes_given
from halfulp.interp.dialects.stablehlo.index_rules import (
    PROMISES,
    check_sorted,
    check_unique,
    promised,
    verify_dynamic_gather,
    verify_gather,
    verify_scatter,
    verify_scattered,
)
from halfulp.interp.dialects.stablehlo.loops import append_copies, converted, on_arrays, spread, with_body, zeros
from halfulp.interp.dialects.stablehlo.moving import indices
from halfulp.interp.dialects.stablehlo.types import (
    INTEGER_TENSOR,
    PLAIN_TENSOR,
    Kind,
    kind_of,
    not_inferred,
    operand_types,
    same_shape,
    shapes_fit,
    stablehlo,
    tensor_of,
)
from halfulp.interp.dialects.stablehlo.windows import (
    Window,
    optional_numbers,
    places_of,
    verify_padding,
    verify_window,
)
from halfulp.interp.dialects.structured.arrays import OnArrays, is_plain
from halfulp.interp.dialects.structured.body import Body
from halfulp.interp.dialects.structured.structure import PARALLEL, Structure
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, BlockArgument, Operation, OpResult, SSAValue, undefined
from halfulp.interp.run.evaluators import Compiler
from halfulp.interp.run.folding import Fold
from halfulp.interp.run.frames import STEP_POINTS, Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics import stablehlo as semantics
from halfulp.semantics.integer_kernels import Reading

Places = npt.NDArray[np.intp]


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


def _gather(op: Operation, settings: Settings) -> Function:
    """Return the function of gather, or of dynamic_gather, whose third operand gives the sizes of a slice."""
    numbers: Any = op.properties["dimension_numbers"]
    written = op.numbers("slice_sizes") if "slice_sizes" in op.properties else None
    whole_rank = len(ty.shape_of(op.operands[0].type) or ())
    vector, offset_dims = numbers["index_vector_dim"], numbers["offset_dims"]
    pairs = zip(numbers["operand_batching_dims"], numbers["start_indices_batching_dims"], strict=True)
    batched = {axis: dim - (dim > vector) for axis, dim in pairs}
    left_out = (*numbers["collapsed_slice_dims"], *batched)
    windowed = [axis for axis in range(whole_rank) if axis not in left_out]
    sorted_ = promised(op, "indices_are_sorted", settings.profile)

    def take(run: Run, operands: Operands) -> tuple[Any, ...]:
        source, given = operands[:2]
        sizes = _slice_sizes(op, source.shape, operands[2], left_out) if written is None else written
        batch = _batch_shape(given.shape, vector)
        starts = _starts(indices(op, given, settings.profile), vector, numbers["start_index_map"], len(sizes))
        limits = zip(starts, sizes, source.shape, strict=True)
        clipped: list[Any] = [np.clip(start, 0, max(0, whole - size)) for start, size, whole in limits]
        if sorted_:
            check_sorted(op, clipped, batch, list(batched.values()))
        index = []
        for axis, (places, size) in enumerate(zip(clipped, sizes, strict=True)):
            if axis in batched:
                places = _along(batched[axis], len(batch), batch[batched[axis]])
            places = places.reshape((*places.shape, *(1,) * len(windowed)))
            if axis in windowed:
                places = places + _along(len(batch) + windowed.index(axis), len(batch) + len(windowed), size)
            index.append(places)
        rank = len(batch) + len(windowed)
        whole_shape = (*batch, *(sizes[axis] for axis in windowed))
        type_ = op.results[0].type
        if not index:
            return (spread(source, whole_shape, type_),)
        rest = iter(range(len(batch)))
        order = [len(batch) + offset_dims.index(k) if k in offset_dims else next(rest) for k in range(rank)]
        if written is None:
            type_ = made(op, tuple(whole_shape[k] for k in order), settings)
        turned = tuple(np.broadcast_to(each, whole_shape).transpose(order) for each in index)
        return (picked(source, turned, type_),)

    return take


def _slice_sizes(op: Operation, shape: Sequence[int], given: Value, left_out: Sequence[int]) -> tuple[int, ...]:
    """Return the sizes of a slice that an operand gives. Raises UndefinedBehavior for sizes that no slice has."""
    sizes = sizes_given(op, given)
    for axis, (size, whole) in enumerate(zip(sizes, shape, strict=True)):
        most = min(whole, 1) if axis in left_out else whole
        if size > most:
            raise undefined(op, f"the slice size {size} of dimension {axis} is larger than {most}")
    return sizes


stablehlo.op(
    "gather",
    operands={"operand": PLAIN_TENSOR, "start_indices": INTEGER_TENSOR},
    results={"result": PLAIN_TENSOR},
    properties=(
        d.Property("dimension_numbers", GATHER),
        d.Property("indices_are_sorted", d.BOOL_ATTR, optional=True),
        d.Property("slice_sizes", d.INTEGER_64_ARRAY_ATTR),
    ),
    verify=verify_gather,
    evaluate=data_movement(_gather, elements=1),
)

stablehlo.op(
    "dynamic_gather",
    operands={
        "operand": PLAIN_TENSOR,
        "start_indices": INTEGER_TENSOR,
        "slice_sizes": tensor_of("I", "statically shaped 1-dimensional integer"),
    },
    results={"result": PLAIN_TENSOR},
    properties=(
        d.Property("dimension_numbers", GATHER),
        d.Property("indices_are_sorted", d.BOOL_ATTR, optional=True),
    ),
    verify=verify_dynamic_gather,
    evaluate=data_movement(_gather, elements=1),
)

# --- bodies on lists of elements --------------------------------------------------------------------------------------

Elementwise = Callable[[Run, Sequence[Value]], list[Value]]


def elementwise_body(op: Operation, block: Block, compiler: Compiler) -> tuple[OnArrays, list[tuple[int, ty.Type]]]:
    """Compile a body to run on lists of elements, one list for each of its arguments. Return the compiled body, and the
    slots and types of the values from outside that the body uses.

    Raises Unsupported for a body with ops that do not work element by element.
    """
    listed = at.projection(1, [0])
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


def as_list(value: Value) -> Value:
    """Return the elements of an array as an array of one dimension."""
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


class _Scatter:
    """A scatter, compiled: where each element of the updates goes, and the body."""

    def __init__(self, op: Operation, compiler: Compiler) -> None:
        numbers: Any = op.properties["scatter_dimension_numbers"]
        self._op, self._profile = op, compiler.settings.profile
        self._count = len(op.operands) // 2
        self._vector = numbers["index_vector_dim"]
        self._window = numbers["update_window_dims"]
        self._axes = numbers["scatter_dims_to_operand_dims"]
        self._batched = dict(zip(numbers["input_batching_dims"], numbers["scatter_indices_batching_dims"], strict=True))
        self._left_out = (*numbers["inserted_window_dims"], *self._batched)
        self._arguments = body_of(op).arguments
        self._body, self.outside = elementwise_body(op, op.regions[0].blocks[0], compiler)
        self._fold = None if compiler.settings.marks_elements else _fold_of(self._body.body)
        self._sorted, self._unique = (promised(op, name, self._profile) for name in PROMISES)

    def _places(self, given: Value, shape: tuple[int, ...], update: tuple[int, ...]) -> Places:
        """Return the place of each element of an update in the list of the operand's elements; -1 outside of it."""
        rank, vector = len(update), self._vector
        batch_dims = [axis for axis in range(rank) if axis not in self._window]
        starts = _starts(indices(self._op, given, self._profile), vector, self._axes, len(shape))
        if self._sorted:
            groups = [dim - (dim > vector) for dim in self._batched.values()]
            check_sorted(self._op, starts, _batch_shape(given.shape, vector), groups)
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
        if self._profile.scatter_windows == "whole":
            inside = np.broadcast_to(inside, update).all(axis=tuple(self._window), keepdims=True)
        found: Places = np.broadcast_to(np.where(inside, place, -1), update).reshape(-1).astype(np.intp)
        return found

    def _quickly(self, run: Run, places: Places, state: list[Value], new: Sequence[Value]) -> list[Value] | None:
        """Return the lists in which new elements were put, if the body takes a new element as it is or adds it."""
        body = self._body.body
        if not (body.free or body.bound) and body.yields == tuple(range(self._count, 2 * self._count)):
            kept = np.flatnonzero(places >= 0)
            # Of several elements for one place, NumPy leaves the last one there.
            put = [picked(value, (kept,), value.type) for value in new]
            return [_replaced(run, value, places[kept], part) for value, part in zip(state, put, strict=True)]
        found = None if self._fold is None else self._fold.at_places(run, state[0], places, new[0])
        return None if found is None else [found]

    def run(self, run: Run, operands: Sequence[Value], captured: Sequence[Value]) -> list[Value]:
        """Return the new operands."""
        inputs, given, updates = operands[: self._count], operands[self._count], operands[self._count + 1 :]
        places = self._places(given, inputs[0].shape, updates[0].shape)
        if self._unique:
            check_unique(self._op, places, inputs[0].shape)
        state, new = (
            [
                as_list(converted(self._op, value, argument.type, run))
                for value, argument in zip(values, arguments, strict=True)
            ]
            for values, arguments in (
                (inputs, self._arguments[: self._count]), (updates, self._arguments[self._count :]),
            )
        )  # fmt: skip
        quick = self._quickly(run, places, state, new)
        if quick is None:
            state = _combined(run, self._body, places, state, new, captured)
        else:
            run.charge(self._op, 2 * (len(places) + STEP_POINTS))
            state = quick
        return [
            with_shape(value, one.shape, result.type)
            for value, one, result in zip(state, inputs, self._op.results, strict=True)
        ]


def _fold_of(body: Body) -> Fold | None:
    """Return the fold by the op of a body that combines one element with a new one; None if there is no such op."""
    if len(body.free) != 1 or body.bound or len(body.yields) != 1:
        return None
    (step,) = body.free
    if step.pointwise is None or step.results != body.yields or set(step.operands) != {0, 1} or len(step.operands) != 2:
        return None
    if len(set(step.op.types)) != 1:
        return None
    return Fold(step.pointwise, step.operands[0] == 1, "sequential")


def _combined(
    run: Run,
    body: OnArrays,
    places: Places,
    state: list[Value],
    new: Sequence[Value],
    captured: Sequence[Value],
    initial: Value | None = None,
) -> list[Value]:
    """Return lists in which new elements, one after the other, are combined with what is at their places. Those with a
    negative place are left out. ``initial``: an element that is combined each time with what is there, first.
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
        if initial is not None:
            first = picked(initial, (np.zeros(len(rows), np.intp),), initial.type)
            old = body.run(run, [first, *old, *starts], captured)
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


def with_shape(value: Value, shape: tuple[int, ...], type_: ty.Type) -> Value:
    """Return the elements of ``value``, an array of one dimension, as an array of this shape and type."""
    trailing = value.bits.shape[1:]
    poison = value.poison if value.poison is not None and value.poison.any() else None
    return Value(
        type_,
        value.bits.reshape(shape + trailing),
        None if poison is None else poison.reshape(shape),
        None if value.open is None else value.open.reshape(shape),
        value.origins if poison is not None else None,
    )


_PLACES = d.TypeConstraint(
    "ranked tensor of integer or index values",
    lambda type_: d.RANKED_TENSOR.accepts(type_) and isinstance(ty.element_type(type_), ty.IntegerType | ty.IndexType),
    d.RANKED_TENSOR.kind,
)

stablehlo.op(
    "scatter",
    operands=(
        d.variadic("inputs", PLAIN_TENSOR), d.Slot("scatter_indices", _PLACES), d.variadic("updates", PLAIN_TENSOR),
    ),
    results=(d.variadic("result", PLAIN_TENSOR),),
    properties=(
        d.Property("indices_are_sorted", d.BOOL_ATTR, optional=True),
        d.Property(
            "scatter_dimension_numbers",
            SCATTER,
        ),
        d.Property("unique_indices", d.BOOL_ATTR, optional=True),
    ),
    regions=(d.RegionSlot("update_computation"),),
    traits=(d.Trait.SINGLE_BLOCK,),
    verify=verify_scatter,
    verify_regions=verify_scattered,
    evaluate=with_body(_Scatter, lanes=False),
)  # fmt: skip

# --- sort -------------------------------------------------------------------------------------------------------------


def _sorted_axis(op: Operation) -> int:
    """Return the number of the dimension to sort along, which may be negative: the last one where it is not given."""
    return op.number("dimension") if "dimension" in op.properties else -1


class _Key:
    """A question of a comparator: whether one function of an element is less, or greater, than the same function of
    another. Its key is that function: integers, in whose order the elements are, if no NaN is compared.
    """

    def __init__(self, op: Operation, compared: Operation, of: Block, falling: bool, compiler: Compiler) -> None:
        self._body, self.outside = elementwise_body(op, of, compiler)
        self._element = ty.element_type(compared.operands[0].type)
        self._signed = kind_of(self._element) is Kind.SIGNED
        totally = enum_of(compared, "compare_type") == COMPARISON_TYPE.cases["TOTALORDER"]
        self._totally = totally and compiler.settings.profile.total_order == "ieee"
        self._falling = falling

    @classmethod
    def of(cls, op: Operation, compared: Operation, compiler: Compiler) -> _Key | None:
        """Return the key of a comparison in the comparator of an op; None if it is not of this kind."""
        direction = _direction(compared)
        if direction not in ("LT", "GT") or not is_plain(ty.element_type(compared.operands[0].type)):
            return None
        block = body_of(op)
        one, other = compared.operands
        for first, second, greater in ((one, other, "GT"), (other, one, "LT")):
            if _mirrored(first, second, block, {}):
                return cls(op, compared, _function(block, first, compiler), direction == greater, compiler)
        return None

    def run(self, run: Run, lists_: Sequence[Value], captured: Sequence[Value]) -> Places | None:
        """Return the keys of elements; None if one of them is poison."""
        count = len(lists_[0].bits)
        (found,) = self._body.run(run, [*lists_, zeros((count,), _list_of(self._element))], captured)
        if found.poison is not None:
            return None
        codes = found.bits
        if isinstance(self._element, ty.FloatType):
            fmt = self._element.format
            keys = semantics.total_order(fmt, codes) if self._totally else ranks(fmt, codes)
        else:
            keys = Reading(ty.width_of(self._element), self._signed).values(codes)
        return np.asarray(~keys if self._falling else keys)


def _direction(op: Operation | None) -> str | None:
    """Return the direction of a comparison; None for any other op."""
    return DIRECTION.names[enum_of(op, "comparison_direction") or 0] if op and op.name == "stablehlo.compare" else None


def _keys_of(op: Operation, compiler: Compiler) -> list[_Key]:
    """Return the keys of the comparator of an op, the first one before all: it is a comparison, or ``a < b or (a == b
    and …)`` with such a comparator in place of the dots. Returns nothing for any other comparator.
    """
    found: list[_Key] = []
    last = _maker(body_of(op).operations[-1].operands[0])
    while last is not None:
        compared, rest = _split(last) if last.name == "stablehlo.or" else (last, None)
        key = None if compared is None else _Key.of(op, compared, compiler)
        if key is None:
            return []
        found.append(key)
        last = rest
    return found


def _split(either: Operation) -> tuple[Operation | None, Operation | None]:
    """Return the op of ``a < b`` and the op of the dots in ``a < b or (a == b and …)``; None for both if an op does not
    have this form.
    """
    compared, both = map(_maker, either.operands)
    equal, rest = map(_maker, both.operands) if both and both.name == "stablehlo.and" else (None, None)
    if compared is None or rest is None or _direction(equal) != "EQ":
        return None, None
    return (compared, rest) if equal and equal.operands == compared.operands else (None, None)


def _maker(value: SSAValue) -> Operation | None:
    return value.owner if isinstance(value, OpResult) else None


def _mirrored(one: SSAValue, other: SSAValue, block: Block, known: dict[SSAValue, SSAValue]) -> bool:
    """Tell whether a value depends on the second elements of a comparator as another one does on the first elements.
    ``known``: the values that were found to be alike.
    """
    if isinstance(one, BlockArgument) and one.block is block:
        # The arguments are the first and second element of each operand in turn.
        return one.index % 2 == 0 and other is block.arguments[one.index + 1]
    if not isinstance(one, OpResult) or not isinstance(other, OpResult) or one.owner.parent is not block:
        return one is other
    if one in known:
        return known[one] is other
    a, b = one.owner, other.owner
    if a.name != b.name or a.regions or b.parent is not block or len(a.operands) != len(b.operands):
        return False
    if (a.properties, a.attributes, one.type, one.index) != (b.properties, b.attributes, other.type, other.index):
        return False
    if not all(_mirrored(p, q, block, known) for p, q in zip(a.operands, b.operands, strict=True)):
        return False
    known[one] = other
    return True


def _function(block: Block, made: SSAValue, compiler: Compiler) -> Block:
    """Return a block that computes a value of a comparator from the first elements."""
    needed = set[Operation]()
    waiting = [made]
    while waiting:
        value = waiting.pop()
        if isinstance(value, OpResult) and value.owner.parent is block and value.owner not in needed:
            needed.add(value.owner)
            waiting += value.owner.operands
    found = Block()
    known: dict[SSAValue, SSAValue] = {each: found.add_argument(each.type) for each in block.arguments[::2]}
    append_copies(found, [op for op in block.operations if op in needed], known, compiler, [0])
    end = block.operations[-1]
    found.append(Operation(end.name, end.definition, [known.get(made, made)], []))
    return found


class _Sort:
    """A sort, compiled: by keys, if the comparator has them; else merges of sorted runs. There, the place of an element
    is found by bisection in the other run, for all elements at once, so that the comparator runs on whole arrays.
    """

    def __init__(self, op: Operation, compiler: Compiler) -> None:
        self._op = op
        self._axis = _sorted_axis(op)
        self._body, self.outside = elementwise_body(op, op.regions[0].blocks[0], compiler)
        self._captured = len(self.outside)
        self._keys = [] if compiler.settings.marks_elements else _keys_of(op, compiler)
        for key in self._keys:
            self.outside = [*self.outside, *key.outside]

    def run(self, run: Run, operands: Sequence[Value], captured: Sequence[Value]) -> list[Value]:
        """Return the sorted operands. Equal elements keep their order."""
        shape = operands[0].shape
        axis = self._axis % len(shape)
        moved = [*(k for k in range(len(shape)) if k != axis), axis]
        lists_ = [
            as_list(picked(value, (), value.type) if not value.shape else _turned(value, moved)) for value in operands
        ]
        size = shape[axis]
        rows = prod(shape) // size if size else 0

        def before(one: Places, other: Places) -> npt.NDArray[np.bool_]:
            """Tell whether elements, given by their places in the lists, stand before others."""
            given = []
            for value in lists_:
                given += [picked(value, (one,), value.type), picked(value, (other,), value.type)]
            (found,) = self._body.run(run, [*given, zeros((len(one),), _list_of(ty.I1))], captured[: self._captured])
            if found.poison is not None:
                raise undefined(self._op, f"a comparison is poison: {first_origin(found)}")
            return np.asarray(found.bits != 0)

        order = self._by_keys(run, lists_, captured, (rows, size), before)
        if order is None:
            order = np.arange(rows * size).reshape(rows, size)
            length = 1
            while length < size:
                order = _merged(order, length, before)
                length *= 2
        back = np.argsort(moved)
        turned = order.reshape([shape[k] for k in moved]).transpose(back)
        return [picked(value, (turned,), result.type) for value, result in zip(lists_, self._op.results, strict=True)]

    def _by_keys(
        self,
        run: Run,
        lists_: Sequence[Value],
        captured: Sequence[Value],
        shape: tuple[int, int],
        before: Callable[[Places, Places], npt.NDArray[np.bool_]],
    ) -> Places | None:
        """Return the order of rows by keys; None if there are none, or if the comparator orders some neighbours in
        another way, as it does with NaNs, or where a profile makes subnormals zeros.
        """
        if not self._keys or prod(shape) == 0 or shape[1] < 2:
            return None
        rows: list[Places] = []
        begin = self._captured
        for key in self._keys:
            found = key.run(run, lists_, captured[begin : begin + len(key.outside)])
            if found is None:
                return None
            rows.append(found.reshape(shape))
            begin += len(key.outside)
        order = np.argsort(rows[0], axis=1, kind="stable") if len(rows) == 1 else np.lexsort(rows[::-1], axis=1)
        less = np.zeros((shape[0], shape[1] - 1), np.bool_)
        for row in rows:
            sorted_ = np.take_along_axis(row, order, axis=1)
            less |= sorted_[:, :-1] != sorted_[:, 1:]
        order += np.arange(shape[0])[:, np.newaxis] * shape[1]
        left, right = order[:, :-1].reshape(-1), order[:, 1:].reshape(-1)
        as_told = np.array_equal(before(left, right), less.reshape(-1)) and not before(right, left).any()
        return order if as_told else None


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
    found = same_shape(op)
    if found is not None:
        return found
    axis, rank = _sorted_axis(op), len(ty.shape_of(op.operands[0].type) or ())
    if not -rank <= axis < rank:
        return Unprefixed(f"dimension attribute value must be in range [-{rank}, {rank}), but found {axis}")
    return verify_comparator(body_of(op), operand_types(op))


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
    verify_regions=lambda op: not_inferred(op, *operand_types(op)),
    evaluate=with_body(_Sort, lanes=False),
)

# --- select_and_scatter -----------------------------------------------------------------------------------------------


class _SelectAndScatter:
    """A select_and_scatter, compiled: the element that is chosen in each window, and the body that combines."""

    def __init__(self, op: Operation, compiler: Compiler) -> None:
        self._op = op
        self._each_time = compiler.settings.profile.scattered_initial == "each_time"
        self._rank = len(ty.shape_of(op.operands[0].type) or ())
        sizes = optional_numbers(op, "window_dimensions", self._rank)
        self._window = Window.of(op, sizes, "window_strides", "", "")
        self._select, outside = elementwise_body(op, op.regions[0].blocks[0], compiler)
        self._scatter, more = elementwise_body(op, op.regions[1].blocks[0], compiler)
        self.outside, self._split = [*outside, *more], len(outside)

    def _chosen(self, run: Run, operand: Value, places: tuple[int, ...], captured: Sequence[Value]) -> Places:
        """Return for each place of the window the element that is chosen; -1 where the window has only padding."""
        window, shape, rank = self._window, operand.shape, self._rank
        count, elements = prod(places), as_list(operand)
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
        start, new = (
            as_list(converted(self._op, value, argument.type, run))
            for value, argument in zip((init, source), body_of(self._op, 1).arguments, strict=True)
        )
        state = [picked(start, (np.zeros(count, np.intp),), start.type)]
        again = start if self._each_time else None
        (found,) = _combined(run, self._scatter, chosen, state, [new], captured[self._split :], again)
        return [with_shape(found, operand.shape, self._op.results[0].type)]


def _verify_select_and_scatter(op: Operation) -> str | None:
    operand, source, init = operand_types(op)
    start = ty.TensorType((), ty.element_type(source))
    found = verify_selector(body_of(op), operand) or verify_reducer(body_of(op, 1), [start], [init])
    if found is not None:
        return found
    shape, sizes = ty.shape_of(operand) or (), optional_numbers(op, "window_dimensions", 0)
    if len(sizes) != len(shape):
        return Unprefixed(
            f"expects window-dimensions size == operand rank, but got window-dimensions size: {len(sizes)} and "
            f"operand-type: '{operand}' with rank = {len(shape)}."
        )
    found = verify_padding(op) or verify_window(op, sizes, "window_strides")
    if found is not None:
        return found
    places = places_of(Window.of(op, sizes, "window_strides", "", ""), shape)
    expected = ty.TensorType(tuple(places), ty.element_type(operand))
    elements = ty.element_type(operand), ty.element_type(source)
    alike = elements[0] == elements[1] or all(isinstance(element, ty.FloatType) for element in elements)
    if not alike or not shapes_fit(expected, source):
        return Unprefixed(f"expects source-type to be '{expected}', but got'{source}'")
    return None


def _verify_selected(op: Operation) -> str | None:
    (element,) = results_of_reducer(body_of(op, 1), [op.operands[0].type])
    return not_inferred(op, ty.with_element(op.operands[0].type, element))


stablehlo.op(
    "select_and_scatter",
    operands={"operand": PLAIN_TENSOR, "source": PLAIN_TENSOR, "init_value": PLAIN_TENSOR},
    results={"result": PLAIN_TENSOR},
    properties=(
        d.Property("padding", I64_ELEMENTS, optional=True),
        d.Property("window_dimensions", d.INTEGER_64_ARRAY_ATTR, optional=True),
        d.Property("window_strides", d.INTEGER_64_ARRAY_ATTR, optional=True),
    ),
    regions=(d.RegionSlot("select"), d.RegionSlot("scatter")),
    traits=(d.Trait.SINGLE_BLOCK,),
    verify=_verify_select_and_scatter,
    verify_regions=_verify_selected,
    evaluate=with_body(_SelectAndScatter, lanes=False),
)
