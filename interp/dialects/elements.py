"""Parts of values: functions that take elements out, move, replace or repeat them, and put scalars together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, LimitExceeded, spell_place
from halfulp.interp.ir.operations import Operation, SSAValue, undefined
from halfulp.interp.ir.types import code_layout, runtime_shape, shape_problem
from halfulp.interp.run.evaluators import OnValues, Words
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.lanes import lanes_of, over_lanes, ranked
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin, first_place

Operands = tuple[Value, ...]
Function = Callable[[Run, Operands], tuple[Any, ...]]
Move = Callable[[npt.NDArray[Any], tuple[int, ...]], npt.NDArray[Any]]
"""Moves the elements of an array, of which each has the shape given second in the last axes."""


def made(op: Operation, shape: tuple[int, ...], settings: Settings, number: int = 0) -> ty.Type:
    """Return the type of a result at run time, when its shape is known. Raises UndefinedBehavior if the type in the
    program has another shape, and LimitExceeded.
    """
    type_ = op.results[number].type
    conflict = ty.shape_conflict(type_, shape, settings.vscale)
    if conflict:
        raise undefined(op, conflict)
    check_allocation(type_, shape, settings)
    return type_


def poison_ids(op: Operation, run: Run, settings: Settings, where: npt.NDArray[np.bool_], reason: str) -> Any:
    """Make new poison for the elements that a mask selects, and tell the listeners. Return the array of poison ids, or
    None for an empty mask. ``reason``: why they are poison.
    """
    count = int(np.count_nonzero(where))
    if not count:
        return None
    first = tuple(int(index) for index in np.unravel_index(int(where.argmax()), where.shape))
    origin = Origin(op.name, spell_place(op.location), reason, first)
    for listener in settings.listeners:
        listener.poison_born(op, origin, count)
    return np.where(where, np.uint16(run.origins.id_of(origin)), np.uint16(0))


def poisoned(op: Operation, run: Run, settings: Settings, type_: ty.Type, reason: str) -> Value:
    """Return a value of a static type in which every element is new poison of the op."""
    shape = tuple(size or 0 for size in runtime_shape(type_, settings.vscale) or ())
    check_allocation(type_, shape, settings)
    dtype, trailing = code_layout(ty.element_type(type_))
    ids = poison_ids(op, run, settings, np.ones(shape, np.bool_), reason)
    return Value(type_, np.zeros(shape + trailing, dtype), ids, None, None if ids is None else run.origins)


def first_origin(value: Value) -> Origin | None:
    """Return the origin of the first poisoned element of a value that has some."""
    return value.origin(*first_place(value.poisoned))


def picked(value: Value, index: tuple[Any, ...], type_: ty.Type) -> Value:
    """Return the elements of a value at ``index``, an index of NumPy, as a value of ``type_``."""
    poison = None if value.poison is None else np.asarray(value.poison[index])
    if poison is not None and not poison.any():
        poison = None
    open_ = None if value.open is None else np.asarray(value.open[index])
    return Value(type_, np.asarray(value.bits[index]).copy(), poison, open_, value.origins)


def replaced(run: Run, whole: Value, index: tuple[Any, ...], part: Value) -> Value:
    """Return ``whole`` with the elements at ``index`` replaced by ``part``."""
    bits = whole.bits.copy()
    bits[index] = part.bits
    poison = _replaced(whole.poison, whole.shape, index, part.poison)
    open_ = _replaced(whole.open, whole.shape, index, part.open)
    if poison is not None and not poison.any():
        poison = None
    return Value(whole.type, bits, poison, open_, None if poison is None else run.origins)


def _replaced(marks: Any, shape: tuple[int, ...], index: tuple[Any, ...], part: Any) -> Any:
    """Return the marks of a whole, with those of a part in their place. A value without marks has marks 0."""
    if marks is None and part is None:
        return None
    marks = np.zeros(shape, part.dtype) if marks is None else marks.copy()
    marks[index] = 0 if part is None else part
    return marks


def repeated(value: Value, shape: tuple[int, ...], type_: ty.Type, axes: int = 0) -> Value:
    """Return a value repeated to ``shape``. ``axes``: the rank of the value, whose axes come last in the shape."""
    bits = np.broadcast_to(value.bits, shape + value.bits.shape[axes:])
    poison = None if value.poison is None else np.broadcast_to(value.poison, shape)
    open_: Any = None if value.open is None else np.broadcast_to(value.open, shape)
    return Value(type_, bits, poison, open_, value.origins)


def stacked(run: Run, elements: Operands, shape: tuple[int, ...], type_: ty.Type) -> Value:
    """Return an array of this shape whose elements, in row-major order, are the given scalars."""
    if not elements:
        dtype, trailing = code_layout(ty.element_type(type_))
        return Value(type_, np.zeros(shape + trailing, dtype))
    bits = np.stack([value.bits for value in elements])
    bits = bits.reshape(shape + bits.shape[1:])
    poison, open_ = (
        _joined(marks, elements, lambda arrays: np.stack(arrays).reshape(shape))
        for marks in ([value.poison for value in elements], [value.open for value in elements])
    )
    return Value(type_, bits, poison, open_, None if poison is None else run.origins)


def rearranged(value: Value, type_: ty.Type, move: Move) -> Value:
    """Return a value of ``type_`` with the same elements in other places. ``move`` is called for the codes and for the
    poison.
    """
    trailing = value.bits.shape[len(value.shape) :]
    poison = None if value.poison is None else move(value.poison, ())
    if poison is not None and not poison.any():
        poison = None
    open_ = None if value.open is None else move(value.open, ())
    return Value(type_, move(value.bits, trailing), poison, open_, None if poison is None else value.origins)


def reshaped(value: Value, type_: ty.Type, shape: tuple[int, ...]) -> Value:
    """Return a value with the same elements, in row-major order, in another shape. Raises LimitExceeded."""
    problem = shape_problem(shape)
    if problem:
        raise LimitExceeded(f"a value of type '{type_}' {problem}")
    return rearranged(value, type_, lambda array, trailing: array.reshape(shape + trailing))


Join = Callable[[list[npt.NDArray[Any]]], npt.NDArray[Any]]
"""Makes one array of several. The last axes, those of one element, stay as they are."""


def combined(run: Run, values: Sequence[Value], type_: ty.Type, join: Join) -> Value:
    """Return a value of ``type_`` whose elements are those of several values. ``join`` joins their codes, and then
    their poison.
    """
    poison = _joined([value.poison for value in values], values, join)
    open_ = _joined([value.open for value in values], values, join)
    if poison is not None and not poison.any():
        poison = None
    bits = join([value.bits for value in values])
    return Value(type_, bits, poison, open_, None if poison is None else run.origins)


def _joined(masks: Sequence[Any], values: Sequence[Value], join: Join) -> Any:
    dtype = next((mask.dtype for mask in masks if mask is not None), None)
    if dtype is None:
        return None
    return join(
        [np.zeros(value.shape, dtype) if mask is None else mask for mask, value in zip(masks, values, strict=True)]
    )


# --- moving -----------------------------------------------------------------------------------------------------------
#
# Ops that move elements, for all lanes of a batch at once.
#
# The function of such an op runs once, on the numbers of the elements of one lane. Its results say where each element
# comes from, and all lanes take theirs from there. So a batch has no second description of any op. Lanes may differ in
# the place of one part, as in ``tensor.extract %t[%i]``: the part at place 0 is then moved, for each lane by its own
# distance. Whatever is unusual (an index outside, poison in an index) is left to the function itself, lane by lane.

Build = Callable[[Operation, Any], Function]
Places = npt.NDArray[np.intp]
Offsets = Callable[[Operation], Mapping[int, int]]

_NUMBER = ty.IntegerType(64)
"""The type of the number of an element."""


def data_movement(
    build: Build,
    elements: int | None = None,
    offsets: Offsets = lambda op: {},
    words: Words | None = None,
    scales: bool = False,
) -> OnValues:
    """Return the evaluator of an op that moves elements of its operands to other places, and computes nothing.

    ``elements``: the number of leading operands whose elements move, None for all; the others choose the places.
    ``offsets``: for each operand that shifts a part along an axis, its number and that axis. The part is taken from the
    only operand whose elements move, or put into the last such operand. ``words``, ``scales``: see `OnValues`.
    """
    return OnValues(
        build,
        in_lanes=lambda op, settings: _in_lanes(build, op, settings, elements, offsets(op)),
        words=words,
        scales=scales,
    )


def _in_lanes(
    build: Build, op: Operation, settings: Settings, elements: int | None, offsets: Mapping[int, int]
) -> Function | None:
    count = len(op.operands) if elements is None else elements
    types = [result.type for result in op.results]
    if not all(_has_simple_elements(value.type) for value in (*op.operands[:count], *op.results)):
        return None
    alone = build(op, settings)
    # Poison that the op makes is told of by the function that runs lane by lane.
    plan = _Plan(build(_on_numbers(op, count), replace(settings, listeners=())), count, offsets)

    def move(run: Run, operands: Operands) -> tuple[Any, ...]:
        if not any(map(over_lanes, operands)):
            return run.each(alone, operands, types)
        moved = plan.moved(run, operands)
        if moved is None or (settings.listeners and any(numbers.poison is not None for numbers, _ in moved)):
            return run.each(alone, operands, types)
        made = zip(types, moved, strict=True)
        return tuple([_taken(run, operands[:count], type_, *places) for type_, places in made])

    return move


def of_shape(build: Build) -> OnValues:
    """Return the evaluator of an op that depends on the shape of its first operand, and on its other operands. The
    shape is the same in all lanes.
    """

    def in_lanes(op: Operation, settings: Settings) -> Function:
        alone, types = build(op, settings), [result.type for result in op.results]

        def ask(run: Run, operands: Operands) -> tuple[Any, ...]:
            first = lanes_of(operands[0], 0) if over_lanes(operands[0]) else operands[0]
            return run.each(alone, (first, *operands[1:]), types)

        return ask

    return OnValues(build, in_lanes=in_lanes)


def _has_simple_elements(type_: ty.Type) -> bool:
    """Tell whether any element may be at any place: it is not a vector, and no axis has scales."""
    if isinstance(type_, ty.MemRefType):
        return False
    element = ty.element_type(type_)
    if isinstance(type_, ty.ShapedType) and isinstance(element, ty.VectorType):
        return False
    return not (isinstance(element, ty.UniformQuantizedType) and element.along_axes)


def _on_numbers(op: Operation, count: int) -> Operation:
    """Return a copy of the op whose elements are numbers instead, so that a run shows where each element goes."""
    operands = [
        SSAValue(ty.with_element(value.type, _NUMBER) if place < count else value.type)
        for place, value in enumerate(op.operands)
    ]
    results = [ty.with_element(result.type, _NUMBER) for result in op.results]
    return Operation(op.name, op.definition, operands, results, op.properties, op.attributes, location=op.place)


class _Plan:
    """Where the elements of the results of an op come from."""

    def __init__(self, on_numbers: Function, count: int, offsets: Mapping[int, int]) -> None:
        self._on_numbers = on_numbers
        self._count = count
        self._offsets = offsets
        self._last: tuple[Any, tuple[Value, ...]] | None = None

    def moved(self, run: Run, operands: Operands) -> list[tuple[Value, Places | None]] | None:
        """Return, for each result, the numbers of its elements and a distance. The numbers count through the elements
        of all operands. The distance is that by which the part is moved in each lane; None if it is not moved. Return
        None if only the function itself can tell.
        """
        sources, choices = operands[: self._count], list(operands[self._count :])
        distance: Places | None = None
        whole = _lane_shape(sources[-1]) if sources else ()
        limits: dict[int, Codes] = {}
        for place, value in enumerate(choices):
            if not over_lanes(value):
                continue
            axis = self._offsets.get(place + self._count)
            if axis is None or value.poison is not None or axis >= len(whole):
                return None
            limits[axis] = value.bits
            step = value.bits.astype(np.intp) * prod(whole[axis + 1 :])
            distance = step if distance is None else distance + step
            choices[place] = Value(value.type, np.zeros((), value.bits.dtype))
        results = self._numbers(run, sources, choices)
        if results is None or distance is None:
            return None if results is None else [(numbers, None) for numbers in results]
        (numbers,) = results
        part = _part(numbers.bits, [_size(value) for value in sources])
        if not part.size or numbers.poison is not None:
            return None
        last = np.unravel_index(int(part.max()), whole)
        if any((codes >= whole[axis] - int(last[axis])).any() for axis, codes in limits.items()):
            return None
        return [(numbers, distance)]

    def _numbers(self, run: Run, sources: Sequence[Value], choices: Sequence[Value]) -> tuple[Value, ...] | None:
        if any(value.poison is not None for value in choices):
            return None
        key = [_lane_shape(value) for value in sources], [(value.shape, value.bits.tobytes()) for value in choices]
        if self._last is not None and self._last[0] == key:
            return self._last[1]
        numbered, start = [], 0
        for value, shape in zip(sources, key[0], strict=True):
            size = prod(shape)
            numbers = np.arange(start, start + size, dtype=np.uint64).reshape(shape)
            numbered.append(Value(ty.with_element(value.type, _NUMBER), numbers))
            start += size
        assert run.lanes is not None
        try:
            with run.origins.inside(int(run.lanes.numbers[0])):
                results = self._on_numbers(run, (*numbered, *choices))
        except HalfulpError:
            return None
        if all(value.poison is None for value in results):
            self._last = key, results
        return results


def _lane_shape(value: Value) -> tuple[int, ...]:
    return value.shape[1:] if over_lanes(value) else value.shape


def _size(value: Value) -> int:
    return prod(_lane_shape(value))


def _part(numbers: Codes, sizes: Sequence[int]) -> Codes:
    """Return the places of a part in the last operand: the elements that are taken from it, or that others replace."""
    if len(sizes) == 1:
        return numbers
    return np.flatnonzero(numbers < sum(sizes[:-1]))


def _taken(run: Run, sources: Sequence[Value], type_: ty.Type, numbers: Value, distance: Places | None) -> Value:
    """Return the result of all lanes, whose elements have these numbers."""
    assert run.lanes is not None
    lanes, shape = len(run.lanes), numbers.shape
    check_allocation(ranked(type_, shape), (lanes, *shape), run.settings)
    dtype, trailing = code_layout(ty.element_type(type_))
    sizes = [_size(value) for value in sources]
    over = [over_lanes(value) for value in sources]

    def move(arrays: Sequence[Any], dtype: np.dtype[Any], trailing: tuple[int, ...]) -> Any:
        flat = [
            np.zeros((1, size, *trailing), dtype)
            if array is None
            else array.reshape(lanes if each else 1, size, *trailing)
            for array, size, each in zip(arrays, sizes, over, strict=True)
        ]
        found = _move(flat, lanes, numbers.bits.reshape(-1).astype(np.intp), distance)
        return found.reshape(lanes, *shape, *trailing)

    def marks(arrays: Sequence[Any]) -> Any:
        dtype = next((array.dtype for array in arrays if array is not None), None)
        return None if dtype is None else move(arrays, dtype, ())

    bits = move([value.bits for value in sources], dtype, trailing)
    poison, open_ = marks([value.poison for value in sources]), marks([value.open for value in sources])
    if numbers.poison is not None:
        # What the op itself makes poison has no number.
        made = numbers.poison != 0
        bits = np.where(made.reshape(made.shape + (1,) * len(trailing)), dtype.type(0), bits)
        poison = np.zeros((lanes, *shape), np.uint16) if poison is None else poison
        poison = np.where(made, numbers.poison, poison)
        open_ = None if open_ is None else np.where(made, open_.dtype.type(0), open_)
    if poison is not None and not poison.any():
        poison = None
    return Value(ranked(type_, shape), bits, poison, open_, None if poison is None else run.origins)


def _move(flat: Sequence[npt.NDArray[Any]], lanes: int, numbers: Places, distance: Places | None) -> npt.NDArray[Any]:
    """Return the elements with these numbers for all lanes. ``flat``: the elements of each operand, [lanes, n, ...] or
    [1, n, ...] where all lanes have the same.
    """
    whole = flat[-1]
    before = sum(each.shape[1] for each in flat[:-1])
    if len(flat) == 1:
        return _picked(whole, lanes, numbers, distance)
    places = np.flatnonzero(numbers != before + np.arange(len(numbers)))
    if len(numbers) == whole.shape[1] and (distance is not None or 2 * len(places) < len(numbers)):
        result = np.empty((lanes, *whole.shape[1:]), whole.dtype)
        result[...] = whole
        used = flat[:-1] if (numbers[places] < before).all() else flat
        part = _picked(_together(used), lanes, numbers[places], None)
        if distance is None:
            result[:, places] = part
        else:
            result[np.arange(lanes)[:, np.newaxis], places + distance[:, np.newaxis]] = part
        return result
    return _picked(_together(flat), lanes, numbers, None)


def _together(flat: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the elements of all operands in one array, one operand after the other."""
    over = max(len(each) for each in flat)
    return np.concatenate([np.broadcast_to(each, (over, *each.shape[1:])) for each in flat], axis=1)


def _picked(flat: npt.NDArray[Any], lanes: int, numbers: Places, distance: Places | None) -> npt.NDArray[Any]:
    if distance is not None:
        lane = np.arange(lanes)[:, np.newaxis] if len(flat) > 1 else 0
        moved: npt.NDArray[Any] = flat[lane, numbers + distance[:, np.newaxis]]
        return moved
    if len(numbers) == flat.shape[1] and np.array_equal(numbers, np.arange(len(numbers))):
        found = flat
    else:
        found = flat[:, numbers]
    return np.broadcast_to(found, (lanes, *found.shape[1:]))
