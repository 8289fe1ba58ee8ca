"""Counted loops of a batch: the number of iterations that each lane has left, and its induction variable."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Mask, codes_to_ints, ints_to_codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import code_layout
from halfulp.interp.run.batch.compiler import LaneCompiler
from halfulp.interp.run.evaluators import moves, passing
from halfulp.interp.run.frames import Action, Frame, Segment, Slots
from halfulp.interp.values.lanes import over_lanes
from halfulp.interp.values.value import Value

TRIPS = ty.IntegerType(64)
"""The type of the number of trips that a lane has left."""
_MANY = (1 << 64) - 1

Number = int | Value


def trips(lower: Number, upper: Number, step: Number, width: int, signed: bool) -> tuple[Number, Mask, Mask]:
    """Return the number of iterations of a loop from ``lower`` to below ``upper`` in each lane, at most 2^64 - 1; the
    mask of the lanes whose step is not positive; and that of the lanes in which the value after the last iteration,
    ``lower`` plus that number of steps, has no code.
    """
    most = (1 << (width - signed)) - 1
    bounds = (lower, upper, step)
    if width <= 64 and any(over_lanes(bound) for bound in bounds):
        start, end, stride = np.broadcast_arrays(*(_extended(bound, width, signed) for bound in bounds))
        offset = np.uint64(1 << 63 if signed else 0)
        start, end = start ^ offset, end ^ offset
        wrong = stride.view(np.int64) <= 0 if signed else stride == 0
        some, by = end > start, np.where(wrong, np.uint64(1), stride)
        counts = np.where(some, (end - start - np.uint64(1)) // by, 0) + some
        beyond = counts > ((np.uint64(most) ^ offset) - start) // by
    else:
        rows = np.broadcast_arrays(*(_whole(bound, width, signed) for bound in bounds))
        wrong = np.asarray(rows[2] <= 0)
        each = list(zip(*(row.flat for row in rows), strict=True))
        counted = [max(0, -((low - high) // by)) if by > 0 else 0 for low, high, by in each]
        after = [low + count * by for (low, _, by), count in zip(each, counted, strict=True)]
        beyond = np.array([last > most for last in after], np.bool_).reshape(wrong.shape)
        counts = np.array([min(_MANY, count) for count in counted], np.uint64).reshape(wrong.shape)
    return (Value(TRIPS, counts) if counts.ndim else int(counts)), wrong, beyond


def _extended(bound: Number, width: int, signed: bool) -> npt.NDArray[np.uint64]:
    """Return a bound of at most 64 bits extended to 64, for each lane or one for all."""
    codes = np.atleast_1d(np.asarray(bound.bits if isinstance(bound, Value) else bound, np.uint64))
    if not signed or not 0 < width < 64:
        return codes
    spare = np.uint64(64 - width)
    return np.asarray(((codes << spare).view(np.int64) >> spare.astype(np.int64)).view(np.uint64))


def _whole(bound: Number, width: int, signed: bool) -> npt.NDArray[np.object_]:
    """Return a bound as Python integers."""
    codes = codes_to_ints(bound.bits, width) if isinstance(bound, Value) else [bound]
    numbers = np.array(
        [code - (1 << width) if signed and width and code >> (width - 1) else code for code in codes], object
    )
    return numbers if over_lanes(bound) else numbers.reshape(())


def positive(counts: Number) -> Number:
    """Return an i1 that is 1 in the lanes that have iterations left."""
    return Value(ty.I1, (counts.bits != 0).view(np.uint8)) if isinstance(counts, Value) else int(counts != 0)


def one_less(counts: Number) -> Number:
    """Return the numbers of iterations that are left after the next one."""
    return Value(TRIPS, counts.bits - np.uint64(1)) if isinstance(counts, Value) else counts - 1


def advanced(position: Number, step: Number, type_: ty.Type, width: int) -> Number:
    """Return the next value of an induction variable, modulo 2**width."""
    if isinstance(position, int) and isinstance(step, int):
        return (position + step) & ((1 << width) - 1)
    if width <= 64:
        total = _extended(position, width, False) + _extended(step, width, False)
        codes = (total & np.uint64((1 << width) - 1)).astype(code_layout(type_)[0])
        return Value(type_, codes if over_lanes(position) or over_lanes(step) else codes[0])
    numbers = np.asarray(_whole(position, width, False) + _whole(step, width, False))
    return Value(type_, ints_to_codes([n & ((1 << width) - 1) for n in numbers.flat], width, numbers.shape))


def loop_in_lanes(
    op: Operation,
    compiler: LaneCompiler,
    initial: Sequence[int],
    begun: Callable[[Slots], tuple[Number, Number]],
    step: Callable[[Slots], Number],
    needed: Sequence[int] = (),
) -> Action:
    """Return the action that runs a counted loop in a batch. Lanes may have different numbers of iterations; each lane
    stores the number that is left.

    ``initial``: the slots of the values that the body carries. ``begun``: a function from the values in slots to the
    first value of the induction variable and the number of iterations. ``step``: a function from the values in the
    slots ``needed`` to the step.
    """
    body = compiler.block(op.regions[0].blocks[0])
    induction, *carried = body.arguments
    type_ = op.regions[0].blocks[0].arguments[0].type
    width = compiler.settings.width(type_)
    remaining, more = compiler.typed_slot(TRIPS), compiler.typed_slot(ty.I1)
    begin_carrying, finish = moves(initial, carried), compiler.resume(op)(carried)
    head, latch = Segment(), Segment()
    compiler.loop(op, head, latch, more, (induction, remaining, *needed), carried)

    def begin(frame: Frame) -> Segment:
        slots = frame.slots
        slots[induction], slots[remaining] = begun(slots)
        slots[more] = positive(slots[remaining])
        for move in begin_carrying:
            move(slots)
        return head

    def choose(frame: Frame) -> Segment | None:
        return body if frame.slots[more] else finish(frame)

    def advance(slots: Slots) -> None:
        slots[induction] = advanced(slots[induction], step(slots), type_, width)
        slots[remaining] = one_less(slots[remaining])
        slots[more] = positive(slots[remaining])

    head.steps, head.control = (), choose
    latch.steps, latch.control = (advance,), passing((), head)
    compiler.region(op.regions[0], lambda sources: passing(moves(sources, carried), latch))
    return begin
