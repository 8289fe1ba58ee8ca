"""The evaluation of structured ops: on whole arrays where the body allows it, else point by point."""

from __future__ import annotations

from halfulp.interp.dialects.linalg.arrays import OnArrays, plan_of
from halfulp.interp.dialects.linalg.body import runs_on_arrays
from halfulp.interp.dialects.linalg.overlaps import may_be_arrays
from halfulp.interp.dialects.linalg.points import PointByPoint
from halfulp.interp.dialects.linalg.structure import structure_of
from halfulp.interp.dialects.memref.evaluate import living
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.batch.compiler import LaneCompiler
from halfulp.interp.run.control import Compiler
from halfulp.interp.run.evaluators import Choice, Control, Inline
from halfulp.interp.run.frames import Action, Frame, Run, Segment, Slots, Step
from halfulp.interp.run.reports import located
from halfulp.interp.run.slots import lift, lower


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


def _on_buffers(op: Operation, compiler: Compiler) -> Action:
    """Return the action of a structured op on buffers: on whole arrays where no operand overlaps a written one."""
    structure = structure_of(op)
    plan = plan_of(structure)
    assert plan is not None
    compiled = OnArrays(op, structure, plan, compiler)
    slots_of = compiler.slots(op.operands)
    outside = [(slot, type_) for slot, _, type_ in compiled.body.outside]
    inputs = len(structure.inputs)
    finish = compiler.resume(op)(())
    otherwise = _by_points(op, compiler)

    def action(frame: Frame) -> Segment | None:
        slots = frame.slots
        held = [slots[slot] for slot in slots_of]
        buffers = [
            living(op, each, which) if isinstance(value.type, ty.MemRefType) else None
            for which, (each, value) in enumerate(zip(held, op.operands, strict=True))
        ]
        if not may_be_arrays(buffers, structure):
            return otherwise(frame)
        run: Run = slots[0]
        try:
            given = [
                lift(each, value.type) if buffer is None else buffer.load(None, run.origins)
                for each, buffer, value in zip(held, buffers, op.operands, strict=True)
            ]
            produced = compiled.run(run, given, [lift(slots[slot], type_) for slot, type_ in outside])
        except HalfulpError as error:
            raise located(error, op) from None
        for buffer, value in zip(buffers[inputs:], produced, strict=True):
            assert buffer is not None
            buffer.store(value, run.origins)
        return finish(frame)

    return action


def _by_points(op: Operation, compiler: Compiler) -> Action:
    return PointByPoint(op, compiler).action(compiler)


def _by_points_in_lanes(op: Operation, compiler: LaneCompiler) -> Action:
    return PointByPoint(op, compiler).action_in_lanes(compiler)


def _choose(op: Operation) -> Inline | Control:
    structure = structure_of(op)
    if plan_of(structure) is None or not runs_on_arrays(structure):
        return Control(_by_points, in_lanes=_by_points_in_lanes)
    buffers = any(isinstance(value.type, ty.MemRefType) for value in op.operands)
    return Control(_on_buffers) if buffers else Inline(_on_tensors)


STRUCTURED = Choice(_choose)
"""The evaluator of every structured op."""


def _yield(op: Operation, compiler: Compiler) -> Action:
    assert compiler.on_yield is not None
    return compiler.on_yield(compiler.slots(op.operands))


YIELD = Control(_yield)
INDEX = Inline(lambda op, compiler: lambda slots: None)
"""The evaluator of linalg.index where its op runs point by point: the loop writes its result."""
