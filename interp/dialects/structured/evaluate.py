"""The evaluation of structured ops: on whole arrays where the body allows it, else point by point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from halfulp.interp.dialects.memref.in_lanes import living_over_lanes
from halfulp.interp.dialects.structured.arrays import OnArrays, plan_of
from halfulp.interp.dialects.structured.body import runs_on_arrays
from halfulp.interp.dialects.structured.points import PointByPoint
from halfulp.interp.dialects.structured.structure import Structure, structure_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.batch.compiler import LaneCompiler
from halfulp.interp.run.evaluators import Compiler, OnFrames, OnRawSlots, PerOp
from halfulp.interp.run.frames import Action, Frame, Run, Segment, Slots, Step, lift, located, lower
from halfulp.interp.values.buffers import Buffer
from halfulp.interp.values.lanes import LaneBuffer, over_lanes, repeated
from halfulp.interp.values.memref_layout import is_injective
from halfulp.interp.values.value import Value

# --- overlaps ---------------------------------------------------------------------------------------------------------
#
# Operands in memory that share elements: where the order of reads and writes matters.

_WORK = 1 << 10
"""The effort to find out whether two views share an element; beyond it they count as if they did."""


def may_be_arrays(buffers: Sequence[Buffer | None], structure: Structure) -> bool:
    """Tell whether an op gives the same result as its loops if all operands are read before anything is written.

    If a buffer that is written shares memory with another operand, each point must read only the element that it
    writes.
    """
    inputs = len(structure.inputs)
    for number, written in enumerate(buffers[inputs:], inputs):
        if written is None or written.mapped is not None or not is_injective(written.shape, written.strides):
            return False
        for other, buffer in enumerate(buffers):
            if other == number or buffer is None or not _overlap(written, buffer):
                continue
            same = (written.layout, written.shape) == (buffer.layout, buffer.shape)
            map_ = structure.maps[number]
            every_point = len(map_.results) == map_.dimensions
            if other >= inputs or not same or structure.maps[other] != map_ or not every_point:
                return False
    return True


def _overlap(one: Buffer, other: Buffer) -> bool:
    try:
        return np.shares_memory(one.view(), other.view(), _WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


# --- evaluate ---------------------------------------------------------------------------------------------------------


def _on_tensors(op: Operation, compiler: Compiler) -> Step:
    """Return the step of a structured op on tensors, on whole arrays."""
    structure = structure_of(op)
    plan = plan_of(structure)
    assert plan is not None
    compiled = OnArrays(op, structure, plan, compiler)
    return step_with_body(op, compiler, compiled.run, [(slot, type_) for slot, _, type_ in compiled.body.outside])


def step_with_body(
    op: Operation, compiler: Compiler, run: Callable[..., Sequence[Value]], outside: Sequence[tuple[int, ty.Type]]
) -> Step:
    """Return the step of an op that has a body.

    ``run``: computes the results from the run, the operands, and the values of ``outside``: the slots and types of what
    the body uses from around the op.
    """
    operands = [(slot, value.type) for slot, value in zip(compiler.slots(op.operands), op.operands, strict=True)]
    results = compiler.slots(op.results)

    def step(slots: Slots) -> None:
        try:
            given = [lift(slots[slot], type_) for slot, type_ in operands]
            captured = [lift(slots[slot], type_) for slot, type_ in outside]
            produced = run(slots[0], given, captured)
        except HalfulpError as error:
            raise located(error, op) from None
        for slot, value in zip(results, produced, strict=True):
            slots[slot] = lower(value)

    return step


class _OnBuffers:
    """A structured op on buffers: on whole arrays if no operand overlaps a written one, else point by point."""

    def __init__(self, op: Operation, compiler: Compiler) -> None:
        self._op = op
        self._structure = structure_of(op)
        plan = plan_of(self._structure)
        assert plan is not None
        self._compiled = OnArrays(op, self._structure, plan, compiler)
        self._operands = compiler.slots(op.operands)
        self._outside = [(slot, type_) for slot, _, type_ in self._compiled.body.outside]
        self._finish = compiler.resume(op)(())

    def _buffers(self, slots: Slots) -> list[Any]:
        """Return the buffers among the operands, and None for scalars. Raises UndefinedBehavior for freed memory."""
        run: Run = slots[0]
        return [
            living_over_lanes(self._op, run, slots[slot], which) if isinstance(value.type, ty.MemRefType) else None
            for which, (slot, value) in enumerate(zip(self._operands, self._op.operands, strict=True))
        ]

    def action(self, otherwise: Action) -> Action:
        """Return the action that runs the op. ``otherwise``: the action that runs point by point."""

        def run_op(frame: Frame) -> Segment | None:
            buffers = self._buffers(frame.slots)
            samples = [buffer.of_lane(0) if isinstance(buffer, LaneBuffer) else buffer for buffer in buffers]
            alike = all(buffer.is_alike for buffer in buffers if isinstance(buffer, LaneBuffer))
            if not alike or not may_be_arrays(samples, self._structure):
                return otherwise(frame)
            self._run(frame.slots, buffers)
            return self._finish(frame)

        return run_op

    def _run(self, slots: Slots, buffers: Sequence[Any]) -> None:
        run: Run = slots[0]
        try:
            given = [
                lift(slots[slot], value.type) if buffer is None else buffer.load(None, run.origins)
                for slot, buffer, value in zip(self._operands, buffers, self._op.operands, strict=True)
            ]
            produced = self._compiled.run(run, given, [lift(slots[slot], type_) for slot, type_ in self._outside])
        except HalfulpError as error:
            raise located(error, self._op) from None
        for buffer, value in zip(buffers[len(self._structure.inputs) :], produced, strict=True):
            over = over_lanes(value)
            if over and not isinstance(buffer, LaneBuffer):
                raise Unsupported("in a batch, lanes cannot write different values to memory that they share")
            repeat = isinstance(buffer, LaneBuffer) and not over
            buffer.store(repeated(value, len(buffer)) if repeat else value, run.origins)


def _by_points(op: Operation, compiler: Compiler) -> Action:
    return PointByPoint(op, compiler).action(compiler)


def _by_points_in_lanes(op: Operation, compiler: LaneCompiler) -> Action:
    return PointByPoint(op, compiler).action_in_lanes(compiler)


def _choose(op: Operation) -> OnRawSlots | OnFrames:
    structure = structure_of(op)
    if plan_of(structure) is None or not runs_on_arrays(structure):
        return OnFrames(_by_points, in_lanes=_by_points_in_lanes)
    buffers = any(isinstance(value.type, ty.MemRefType) for value in op.operands)
    if not buffers:
        return OnRawSlots(_on_tensors)
    return OnFrames(
        lambda op, compiler: _OnBuffers(op, compiler).action(_by_points(op, compiler)),
        in_lanes=lambda op, compiler: _OnBuffers(op, compiler).action(_by_points_in_lanes(op, compiler)),
    )


STRUCTURED = PerOp(_choose)
"""The evaluator of every structured op."""


INDEX = OnRawSlots(lambda op, compiler: lambda slots: None)
"""The evaluator of linalg.index where its op runs point by point: the loop writes its result."""
