"""The ops of the memref dialect in a batch, for all lanes at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Mask
from halfulp.interp.dialects.memref import memory
from halfulp.interp.dialects.memref.evaluate import living
from halfulp.interp.dialects.memref.memory import FREED_BY_DEALLOC, allocated_type, freeing, get, plans_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, UndefinedBehavior, Unsupported
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.ir.types import spell_shape
from halfulp.interp.run.batch.run import LaneRun
from halfulp.interp.run.evaluators import Compiler
from halfulp.interp.run.frames import Function, Run, in_lanes, lift
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.buffers import Buffer, load_at, store_at
from halfulp.interp.values.lanes import LaneBuffer, fill, heap_for, over_lanes, repeated
from halfulp.interp.values.value import Value

Slots = Sequence[Any]
Build = Callable[[Operation, Settings], Function]

# --- operands ---------------------------------------------------------------------------------------------------------


def _failed(op: Operation, run: Run, message: str, mask: Mask) -> UndefinedBehavior:
    return in_lanes(undefined(op, message), run.lanes, mask)


def living_over_lanes(op: Operation, run: Run, slot: Any, which: int) -> LaneBuffer | Buffer:
    """Return the memref in the slot of operand ``which``, for an access. Raises UndefinedBehavior for freed memory."""
    if not isinstance(slot, LaneBuffer):
        return living(op, slot, which)
    numbers = slot.memory.freed_by(slot.begins)
    if numbers.any():
        mask = numbers != 0
        text = slot.memory.text(int(numbers[mask][0]))
        raise _failed(op, run, f"the memory of operand {which} was freed by {text}", mask)
    return slot


def _numbers(op: Operation, run: Run, slots: Slots, settings: Settings) -> list[Any]:
    """Return index operands as signed numbers: one for all lanes, or an array. Raises UndefinedBehavior for poison."""
    found: list[Any] = []
    half = 1 << (settings.index_width - 1)
    for slot in slots:
        if slot.__class__ is int:
            found.append(slot - 2 * half if slot & half else slot)
            continue
        value: Value = lift(slot, ty.INDEX)
        if value.poison is not None:
            mask = np.broadcast_to(value.poison != 0, len(run.lanes or ()))
            raise _failed(op, run, f"an index is poison: {value.origin(*np.argwhere(value.poison)[0])}", mask)
        signed = value.bits.astype(np.int64)
        found.append(signed - ((signed & half) << 1) if settings.index_width == 32 else signed)
    return found


def _places(op: Operation, run: Run, buffer: LaneBuffer | Buffer, indices: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Return the place of an element in each lane. Raises UndefinedBehavior for an element outside of the memref."""
    lanes = len(run.lanes or ())
    for axis, (index, size) in enumerate(zip(indices, buffer.shape, strict=True)):
        wrong = np.broadcast_to((np.asarray(index) < 0) | (np.asarray(index) >= size), lanes)
        if wrong.any():
            lane = int(wrong.argmax())
            first = [int(np.broadcast_to(each, lanes)[lane]) for each in indices]
            outside = np.broadcast_to(False, lanes)
            for each, extent in list(zip(indices, buffer.shape, strict=True))[axis:]:
                outside = outside | (np.asarray(each) < 0) | (np.asarray(each) >= extent)
            raise _failed(op, run, f"index {first} is outside the shape {spell_shape(buffer.shape)}", outside)
    if isinstance(buffer, LaneBuffer):
        return buffer.places(indices)
    place = buffer.offset + sum(index * stride for index, stride in zip(indices, buffer.strides, strict=True))
    return np.asarray(place, np.int64)


# --- elements ---------------------------------------------------------------------------------------------------------


def load(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.load."""
    type_ = op.results[0].type

    def load_elements(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = living_over_lanes(op, run, slots[0], 0)
        places = _places(op, run, buffer, _numbers(op, run, slots[1:], settings))
        memory = buffer.memory if isinstance(buffer, LaneBuffer) else buffer.allocation
        return (load_at(memory, places, type_, run.origins),)

    return load_elements


def store(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.store."""
    type_ = op.operands[0].type

    def store_elements(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = living_over_lanes(op, run, slots[1], 1)
        places = _places(op, run, buffer, _numbers(op, run, slots[2:], settings))
        memory = buffer.memory if isinstance(buffer, LaneBuffer) else buffer.allocation
        value = lift(slots[0], type_)
        if places.ndim and not over_lanes(value):
            value = repeated(value, len(places))
        store_at(memory, places, value, run.origins)
        return ()

    return store_elements


# --- memory -----------------------------------------------------------------------------------------------------------


def _each(op: Operation, function: Function) -> Function:
    """Return the function that calls another one for each lane."""
    types = [result.type for result in op.results]

    def one_by_one(run: Run, slots: tuple[Any, ...]) -> tuple[Any, ...]:
        assert isinstance(run, LaneRun)
        return run.each(function, slots, types)

    return one_by_one


def allocate(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.alloc and memref.alloca in a batch. All lanes must give the same sizes."""
    type_, plan_of = allocated_type(op), plans_of(op, settings)
    each = _each(op, memory.allocate(op, settings))

    def make(run: Run, slots: Slots) -> tuple[Any, ...]:
        assert run.lanes is not None
        if any(slot.__class__ is not int for slot in slots):
            return each(run, tuple(slots))
        try:
            plan = plan_of(*_numbers(op, run, slots, settings))
            check_allocation(type_, (len(run.lanes), plan.size), settings)
            if plan.mapped is not None:
                raise Unsupported(
                    f"in a batch, memory cannot have the layout of '{type_}', which is not a sum of strides"
                )
        except HalfulpError as error:
            raise in_lanes(error, run.lanes) from None
        with run.origins.inside(int(run.lanes.numbers[0])):
            poison = run.origins.id_of(plan.origin)
        heap = heap_for(run.kept, type_.element, run.origins)
        block = heap.take(len(run.lanes), plan.size, op.name, poison)
        for listener in settings.listeners if 0 not in plan.shape else ():
            listener.poison_born(op, plan.origin, prod(plan.shape) * len(run.lanes))
        return (LaneBuffer.over(type_, heap, block, plan.offset, plan.shape, plan.strides),)

    return make


def free(op: Operation, settings: Settings) -> Function:
    """Return the function that runs memref.dealloc in a batch. The memory must come from the same kind of op in all
    lanes.
    """
    each = _each(op, memory.free(op, settings))
    text = freeing(op)

    def release(run: Run, slots: Slots) -> tuple[Any, ...]:
        buffer = living_over_lanes(op, run, slots[0], 0)
        if isinstance(buffer, LaneBuffer) and not buffer.is_view:
            made = buffer.memory.made_by(buffer.begins)
            if (made == made[0]).all() and buffer.memory.text(int(made[0])) in FREED_BY_DEALLOC:
                buffer.memory.free(buffer.begins, text)
                return ()
        return each(run, tuple(slots))

    return release


def global_memory(op: Operation, compiler: Compiler) -> Function:
    """Return the function that runs memref.get_global. Lanes share constants; of any other global each lane has its own
    memory.
    """
    shared = get(op, compiler)
    type_ = allocated_type(op)

    def get_memory(run: Run, slots: tuple[Any, ...]) -> tuple[Any, ...]:
        assert isinstance(run, LaneRun)
        (initial,) = shared(run, ())
        if initial.allocation.constant:
            return (initial,)
        key = "global", initial.allocation
        held = run.kept.get(key)
        if held is None:
            heap = heap_for(run.kept, type_.element, run.origins)
            total, size = run.lanes.total, len(initial.allocation)
            check_allocation(type_, (total, size), compiler.settings)
            block = heap.take(total, size, initial.allocation.source)
            held = LaneBuffer.over(type_, heap, block, initial.offset, initial.shape, initial.strides)
            fill(held, initial)
            run.kept[key] = held
        return (held.taken(run.lanes.numbers),)

    return get_memory


# --- views ------------------------------------------------------------------------------------------------------------


def view(build: Build) -> Build:
    """Return the function that makes a view in a batch. ``build``: the same for one lane. If the views of all lanes are
    equal, it makes one view for all.
    """

    def make(op: Operation, settings: Settings) -> Function:
        function = build(op, settings)
        each = _each(op, function)

        def view_memory(run: Run, slots: Slots) -> tuple[Any, ...]:
            buffer, *rest = slots
            if not isinstance(buffer, LaneBuffer) or any(map(over_lanes, rest)) or not buffer.is_alike:
                return each(run, tuple(slots))
            first = buffer.of_lane(0)
            try:
                results = function(run, (first, *rest))
            except HalfulpError as error:
                raise in_lanes(error, run.lanes) from None
            return tuple([buffer.moved(first, each_) if isinstance(each_, Buffer) else each_ for each_ in results])

        return view_memory

    return make
