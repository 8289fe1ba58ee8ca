"""The atomic ops of the memref dialect. A run executes one op after the other, so each of them is atomic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from halfulp.interp.declare.build import apply_op
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.atomic_kinds import ATOMIC_KIND, COMBINING
from halfulp.interp.dialects.memref.evaluate import element_place, moves_elements
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.operations import Block, Operation
from halfulp.interp.run.control import Compiler
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.frames import Action, Frame, Function, Run, Segment
from halfulp.interp.run.points import PointwiseStep
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.slots import lift, lower
from halfulp.interp.values.buffers import load_at, store_at

Slots = Sequence[Any]


def combine(op: Operation, settings: Settings) -> Function:
    """Return the function of memref.atomic_rmw: the element becomes its combination with the value.

    The result is the element before, as in the llvm dialect.
    """
    kind = op.properties["kind"]
    assert isinstance(kind, at.IntegerAttr)
    step = _combination(op, ATOMIC_KIND.names[kind.value], settings)
    type_, moving = op.operands[0].type, moves_elements(op, 1, settings)

    def update(run: Run, slots: Slots) -> tuple[Any, ...]:
        place = np.array(element_place(op, slots, 1, moving, settings), np.int64)
        memory, value = slots[1].allocation, lift(slots[0], type_)
        before = load_at(memory, place, type_, run.origins)
        after = value if step is None else step.run(run, (before, value))[0]
        store_at(memory, place, after, run.origins, atomic=True)
        return (before,)

    return update


def _combination(op: Operation, kind: str, settings: Settings) -> PointwiseStep | None:
    """Return the step of arith that a kind stands for; None for ``assign``."""
    if kind not in COMBINING:
        return None
    definition = default_registry().find(COMBINING[kind].op)
    assert definition is not None
    value = op.operands[0]
    apply_op(block := Block(), definition, [value, value], {})
    (made,) = block.operations
    made.location = op.location
    evaluator = definition.evaluate
    assert isinstance(evaluator, Elementwise)
    return PointwiseStep(made, evaluator, evaluator.build(made, settings), settings, op)


def apply(op: Operation, compiler: Compiler) -> Action:
    """Return the action of memref.generic_atomic_rmw: the element becomes what the region makes of it.

    The result is the element before, as in the llvm dialect.
    """
    operands = compiler.slots(op.operands)
    settings, type_ = compiler.settings, op.results[0].type
    moving = moves_elements(op, 0, settings)
    resume = compiler.resume(op)
    body = compiler.block(op.regions[0].blocks[0])
    (argument,) = body.arguments
    kept, where = compiler.hidden_slot(), compiler.hidden_slot()
    finish = resume([kept])

    def yielding(sources: Sequence[int]) -> Action:
        (source,) = sources

        def write(frame: Frame) -> Segment | None:
            slots = frame.slots
            memory, place = slots[where]
            store_at(memory, place, lift(slots[source], type_), slots[0].origins, atomic=True)
            return finish(frame)

        return write

    compiler.region(op.regions[0], yielding)

    def read(frame: Frame) -> Segment:
        slots = frame.slots
        given = [slots[slot] for slot in operands]
        place = np.array(element_place(op, given, 0, moving, settings), np.int64)
        memory = given[0].allocation
        slots[where] = memory, place
        slots[argument] = slots[kept] = lower(load_at(memory, place, type_, slots[0].origins))
        return body

    return read
