"""The atomic ops of the llvm dialect. A run executes one op after the other, so each of them is atomic.

Without an alignment, the access is aligned to its size, as LLVM's builder has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halfulp.fp_formats.codes import codes_to_ints
from halfulp.interp.dialects.elementwise import enum_of
from halfulp.interp.dialects.llvm import enums, layout
from halfulp.interp.dialects.llvm.access import accessible, alignment_of, is_power_of_two
from halfulp.interp.dialects.llvm.aggregates import born, poison_of
from halfulp.interp.dialects.llvm.contents import contents_of
from halfulp.interp.dialects.llvm.kernels import atomic_step
from halfulp.interp.dialects.llvm.memory import Pointer, address_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.slots import lift, lower

Slots = Sequence[Any]


class _Place:
    """Access to the value of one type that an atomic op reads and writes."""

    def __init__(self, op: Operation, type_: ty.Type) -> None:
        self._op, self._size = op, layout.stored_bytes(type_)
        self._alignment = alignment_of(op, type_) if "alignment" in op.properties else self._size
        if not is_power_of_two(self._size):
            raise Unsupported(
                f"{op.name}: atomic access of {self._size} bytes does not run", location=op.location, op=op.name
            )
        self.read, self.write = contents_of(type_)

    def __call__(self, run: Run, slot: Any) -> Pointer:
        """Return the place that the pointer in a slot names. Raises UndefinedBehavior."""
        return accessible(self._op, run, slot, self._size, self._alignment, write=True)


def combine(op: Operation, settings: Settings) -> Function:
    """Return the function of atomicrmw: memory gets the combination of its value and the operand; the result is its
    value before.
    """
    type_, number = op.operands[1].type, enum_of(op, "bin_op")
    assert number is not None
    place, step = _Place(op, type_), atomic_step(op, enums.ATOMIC_OPERATION.names[number], settings)

    def update(run: Run, slots: Slots) -> tuple[Any, ...]:
        memory, at = place(run, slots[0])
        before, after = place.read(run, memory, at), slots[1]
        if step is not None:
            after = lower(step.run(run, (lift(before, type_), lift(after, type_)))[0])
        place.write(run, memory, at, after)
        return (before,)

    return update


_UNDECIDED = "an operand of the comparison is poison"


def exchange(op: Operation, settings: Settings) -> Function:
    """Return the function of cmpxchg: memory gets the new value if it has the expected one. The result is its value
    before, and whether they were equal. A weak exchange never fails without a reason here.

    If either is poison, so are the answer and the memory.
    """
    type_ = op.operands[1].type
    place = _Place(op, type_)

    def update(run: Run, slots: Slots) -> tuple[Any, ...]:
        pointer, expected, new = slots
        memory, at = place(run, pointer)
        before = place.read(run, memory, at)
        codes = [_code(run, slot, type_) for slot in (before, expected)]
        if None in codes:
            poison_id = born(op, run, _UNDECIDED)
            place.write(run, memory, at, poison_of(type_, poison_id, run))
            return ((before, poison_of(ty.I1, poison_id, run)),)
        equal = codes[0] == codes[1]
        # A value that stays is written as well: it may only be written to memory that is not constant.
        place.write(run, memory, at, new if equal else before)
        return ((before, int(equal)),)

    return update


def _code(run: Run, slot: Any, type_: ty.Type) -> int | None:
    """Return the integer or the address that a slot holds; None for poison."""
    if slot.__class__ is int:
        return int(slot)
    if slot.__class__ is Pointer:
        return address_of(run, slot)
    value = lift(slot, type_)
    if value.poison is not None:
        return None
    return int(codes_to_ints(value.bits, ty.width_of(type_))[0])


def fence(op: Operation, settings: Settings) -> Function:
    """Return the function of fence, which does nothing where one op runs after the other."""
    return lambda run, slots: ()
