"""The evaluation of structured ops: on whole arrays where the body allows it, else point by point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halfulp.interp.dialects.linalg.arrays import OnArrays, plan_of
from halfulp.interp.dialects.linalg.body import runs_on_arrays
from halfulp.interp.dialects.linalg.overlaps import may_be_arrays
from halfulp.interp.dialects.linalg.points import PointByPoint
from halfulp.interp.dialects.linalg.structure import structure_of
from halfulp.interp.dialects.memref.in_lanes import living_over_lanes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.batch.compiler import LaneCompiler
from halfulp.interp.run.control import Compiler
from halfulp.interp.run.evaluators import Choice, OnFrames, OnRawSlots
from halfulp.interp.run.frames import Action, Frame, Run, Segment, Slots, Step
from halfulp.interp.run.reports import located
from halfulp.interp.run.slots import lift, lower
from halfulp.interp.values.lanes import LaneBuffer, over_lanes, repeated


def _on_tensors(op: Operation, compiler: Compiler) -> Step:
    """Return the step of a structured op on tensors, on whole arrays."""
    structure = structure_of(op)
    plan = plan_of(structure)
    assert plan is not None
    compiled = OnArrays(op, structure, plan, compiler)
    operands = [(slot, value.type) for slot, value in zip(compiler.slots(op.operands), op.operands, strict=True)]
    outside = [(slot, type_) for slot, _, type_ in compiled.body.outside]
    results = compiler.slots(op.results)

    def step(slots: Slots) -> None:
        try:
            given = [lift(slots[slot], type_) for slot, type_ in operands]
            captured = [lift(slots[slot], type_) for slot, type_ in outside]
            produced = compiled.run(slots[0], given, captured)
        except HalfulpError as error:
            raise located(error, op) from None
        for slot, value in zip(results, produced, strict=True):
            slots[slot] = lower(value)

    return step


class _OnBuffers:
    """A structured op on buffers: on whole arrays where no operand overlaps a written one, else point by point."""

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
        """Return the action of the op. ``otherwise``: that of running point by point."""

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


def _on_buffers(op: Operation, compiler: Compiler) -> Action:
    return _OnBuffers(op, compiler).action(_by_points(op, compiler))


def _on_buffers_in_lanes(op: Operation, compiler: LaneCompiler) -> Action:
    return _OnBuffers(op, compiler).action(_by_points_in_lanes(op, compiler))


def _by_points(op: Operation, compiler: Compiler) -> Action:
    return PointByPoint(op, compiler).action(compiler)


def _by_points_in_lanes(op: Operation, compiler: LaneCompiler) -> Action:
    return PointByPoint(op, compiler).action_in_lanes(compiler)


def _choose(op: Operation) -> OnRawSlots | OnFrames:
    structure = structure_of(op)
    if plan_of(structure) is None or not runs_on_arrays(structure):
        return OnFrames(_by_points, in_lanes=_by_points_in_lanes)
    buffers = any(isinstance(value.type, ty.MemRefType) for value in op.operands)
    return OnFrames(_on_buffers, in_lanes=_on_buffers_in_lanes) if buffers else OnRawSlots(_on_tensors)


STRUCTURED = Choice(_choose)
"""The evaluator of every structured op."""


def _yield(op: Operation, compiler: Compiler) -> Action:
    assert compiler.on_yield is not None
    return compiler.on_yield(compiler.slots(op.operands))


YIELD = OnFrames(_yield)
INDEX = OnRawSlots(lambda op, compiler: lambda slots: None)
"""The evaluator of linalg.index where its op runs point by point: the loop writes its result."""
