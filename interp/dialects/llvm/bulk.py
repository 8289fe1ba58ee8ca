"""The intrinsics on ranges of bytes: memcpy, memmove, memset and the ends of a lifetime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halfulp.interp.dialects.indices import undefined
from halfulp.interp.dialects.llvm.access import accessible, described, pointer_alignment
from halfulp.interp.dialects.llvm.memory import Pointer
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.slots import lift, number
from halfulp.interp.values.value import Value

Slots = Sequence[Any]


def copy_bytes(run: Run, target: Pointer, source: Pointer, size: int) -> None:
    """Copy bytes with their poison and the pointers among them. The ranges may overlap."""
    (into, at), (memory, first) = target, source
    data, lost = memory.data[first : first + size], memory.lost[first : first + size]
    ids = None
    if any(lost):
        memory.adopted(run.origins)
        ids = memory.unwritten if memory.ids is None else memory.ids[first : first + size].copy()
    opened = None if memory.open is None else memory.open[first : first + size].copy()
    moved = {place - first + at: pointer for place, pointer in memory.pointers.items() if first <= place < first + size}
    into.data[at : at + size] = data
    into.lost[at : at + size] = lost
    if ids is not None:
        into.ids_to_write(run.origins)[at : at + size] = ids
    if opened is not None and into.open is None and opened.any():
        into.mark_open(at, size, opened)
    elif into.open is not None:
        into.open[at : at + size] = 0 if opened is None else opened
    into.pointers.update(moved)


def _length(op: Operation, slots: Slots, settings: Settings) -> int:
    return number(slots[2], op.operands[2].type, op, "number of bytes", settings, signed=False)


def copy(op: Operation, settings: Settings) -> Function:
    """Return the function of memcpy and memmove. The ranges of memcpy must not overlap, unless they are the same."""
    may_overlap, alignments = op.name.endswith("memmove"), [pointer_alignment(op, place) for place in range(2)]

    def move(run: Run, slots: Slots) -> tuple[Any, ...]:
        size = _length(op, slots, settings)
        if not size:
            return ()
        target = accessible(op, run, slots[0], size, alignments[0], write=True, what="the target")
        source = accessible(op, run, slots[1], size, alignments[1], what="the source")
        distance = abs(target.offset - source.offset)
        if not may_overlap and target.memory is source.memory and 0 < distance < size:
            raise undefined(op, f"{size} bytes at {described(run, target)} and {described(run, source)} overlap")
        copy_bytes(run, target, source, size)
        return ()

    return move


def fill(op: Operation, settings: Settings) -> Function:
    """Return the function of memset."""
    alignment = pointer_alignment(op, 0)

    def set_bytes(run: Run, slots: Slots) -> tuple[Any, ...]:
        size = _length(op, slots, settings)
        if not size:
            return ()
        memory, at = accessible(op, run, slots[0], size, alignment, write=True, what="the target")
        value: Value = lift(slots[1], ty.IntegerType(8))
        memory.data[at : at + size] = bytes([int(value.bits)]) * size
        memory.lost[at : at + size] = (b"\x00" if value.poison is None else b"\xff") * size
        if value.poison is not None:
            memory.ids_to_write(run.origins)[at : at + size] = int(value.poison)
        if memory.open is not None:
            memory.open[at : at + size] = 0
        return ()

    return set_bytes


def lifetime(op: Operation, settings: Settings) -> Function:
    """Return the function of lifetime.start and lifetime.end: what the bytes held before is lost."""

    def forget(run: Run, slots: Slots) -> tuple[Any, ...]:
        pointer = slots[0]
        if pointer.__class__ is Pointer:
            pointer.memory.forget()
        return ()

    return forget
