"""The evaluation of the bufferization dialect: tensors become memory, and memory tensors.

A tensor is a value: what a program writes into the buffer of a tensor does not change the tensor. So both ways copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from halfulp.interp.declare.operands import operand_sizes
from halfulp.interp.dialects.elements import Function, Operands
from halfulp.interp.dialects.indices import numbers, undefined
from halfulp.interp.dialects.memref.evaluate import buffer_in, living
from halfulp.interp.dialects.memref.memory import give_back
from halfulp.interp.dialects.tensor.making import result_shape, unwritten
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.run.slots import decided, lift
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.element_layout import shape_conflict, spell_shape
from halfulp.interp.values.memref_layout import chosen_layout, layout_conflict, row_major, spanned
from halfulp.interp.values.value import Value

Slots = Sequence[Any]


def alloc_tensor(op: Operation, settings: Settings) -> Function:
    """Return the function of bufferization.alloc_tensor: a copy, or a tensor that was never written."""
    assert op.definition is not None
    type_ = op.results[0].type
    sizes, copied, _ = operand_sizes(op, op.definition) or (0, 0, 0)

    def make(run: Run, operands: Operands) -> tuple[Any, ...]:
        if copied:
            return (operands[sizes],)
        shape = result_shape(op, type_, numbers(op, operands[:sizes], settings), settings)
        return (unwritten(op, run, type_, shape, settings),)

    return make


def _copied(op: Operation, type_: ty.Type, value: Value, run: Run, settings: Settings) -> Buffer:
    """Return a buffer of a type over new memory with these elements."""
    assert isinstance(type_, ty.MemRefType)
    shape = value.shape
    ranked = replace(type_, shape=shape) if type_.shape is None else type_
    layout = row_major(shape), 0
    conflict = layout_conflict(ranked, shape, layout)
    if conflict:
        try:
            layout = chosen_layout(ranked, shape)
        except TypeMismatch as error:
            raise undefined(op, error.message) from None
    strides, offset = layout
    size = (spanned(shape, strides, offset)[1],)
    check_allocation(type_, size, settings)
    memory = Buffer.allocate(ty.MemRefType(size, type_.element), size, op.name)
    made = memory.part(type_, offset, shape, strides, False)
    made.store(value, run.origins)
    return made


def to_buffer(op: Operation, settings: Settings) -> Function:
    """Return the function of bufferization.to_buffer."""
    source, type_ = op.operands[0].type, op.results[0].type

    def copy(run: Run, slots: Slots) -> tuple[Any, ...]:
        return (_copied(op, type_, lift(slots[0], source), run, settings),)

    return copy


def clone(op: Operation, settings: Settings) -> Function:
    """Return the function of bufferization.clone."""
    type_ = op.results[0].type

    def copy(run: Run, slots: Slots) -> tuple[Any, ...]:
        value = living(op, slots[0], 0).load(origins=run.origins)
        conflict = shape_conflict(type_, value.shape, settings.vscale)
        if conflict:
            raise undefined(op, conflict)
        return (_copied(op, type_, value, run, settings),)

    return copy


def to_tensor(op: Operation, settings: Settings) -> Function:
    """Return the function of bufferization.to_tensor."""
    type_ = op.results[0].type

    def read(run: Run, slots: Slots) -> tuple[Any, ...]:
        return (living(op, slots[0], 0).load(type_, run.origins),)

    return read


def materialize(op: Operation, settings: Settings) -> Function:
    """Return the function of bufferization.materialize_in_destination."""
    source, dest = (value.type for value in op.operands)

    def put(run: Run, slots: Slots) -> tuple[Any, ...]:
        value: Value = lift(slots[0], source)
        place = living(op, slots[1], 1) if isinstance(dest, ty.MemRefType) else lift(slots[1], dest)
        if place.shape != value.shape:
            raise undefined(
                op, f"the source has the shape {spell_shape(value.shape)}, the destination {spell_shape(place.shape)}"
            )
        if isinstance(place, Buffer):
            place.store(value, run.origins)
            return ()
        return (Value(dest, value.bits, value.poison, value.open, value.origins),)

    return put


def dealloc(op: Operation, settings: Settings) -> Function:
    """Return the function of bufferization.dealloc.

    It frees the memory of each memref that has its condition and none of whose memory is retained, once. A retained
    memref gets the conditions of those that have its memory.
    """
    assert op.definition is not None
    count, _, _ = operand_sizes(op, op.definition) or (0, 0, 0)

    def free(run: Run, slots: Slots) -> tuple[Any, ...]:
        conditions = [decided(slot, op) for slot in slots[count : 2 * count]]
        owned = [buffer_in(op, slot, which) for which, slot in enumerate(slots[:count])]
        retained = [buffer_in(op, slot, which) for which, slot in enumerate(slots[2 * count :], 2 * count)]
        pairs = list(zip(owned, conditions, strict=True))
        kept = {id(buffer.allocation) for buffer in retained}
        for buffer, condition in pairs:
            if condition and id(buffer.allocation) not in kept:
                kept.add(id(buffer.allocation))
                give_back(op, living(op, buffer, owned.index(buffer)))
        return tuple(
            int(any(condition and buffer.allocation is each.allocation for buffer, condition in pairs))
            for each in retained
        )

    return free
