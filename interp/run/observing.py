"""Steps and actions of which the listeners are told (`halfulp.interp.run.events`)."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.interp.ir.errors import UndefinedBehavior
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.events import Listener
from halfulp.interp.run.frames import Action, Frame, Segment, Slots, Step
from halfulp.interp.run.slots import seen


def _report_stop(op: Operation, listeners: Sequence[Listener], report: UndefinedBehavior) -> None:
    """Tell the listeners of undefined behaviour that is about to stop the run."""
    for listener in listeners:
        listener.undefined_behavior(op, report)


def observed(op: Operation, operands: tuple[int, ...], results: tuple[int, ...], step: Step | None) -> Step:
    """Make a step of which the listeners are told, before and after; None stands for a step that does nothing."""
    operand_types = [value.type for value in op.operands]
    result_types = [value.type for value in op.results]

    def watched(slots: Slots) -> None:
        listeners = slots[0].settings.listeners
        before = [seen(slots[slot], type_) for slot, type_ in zip(operands, operand_types, strict=True)]
        for listener in listeners:
            listener.op_will_run(op, before)
        if step is not None:
            try:
                step(slots)
            except UndefinedBehavior as report:
                _report_stop(op, listeners, report)
                raise
        after = [seen(slots[slot], type_) for slot, type_ in zip(results, result_types, strict=True)]
        for listener in listeners:
            listener.op_did_run(op, before, after)

    return watched


def observed_control(op: Operation, operands: tuple[int, ...], action: Action) -> Action:
    """Make an action of which the listeners are told: before, and, except for calls and ops with regions, after."""
    types = [value.type for value in op.operands]

    def watched(frame: Frame) -> Segment | None:
        listeners = frame.slots[0].settings.listeners
        before = [seen(frame.slots[slot], type_) for slot, type_ in zip(operands, types, strict=True)]
        for listener in listeners:
            listener.op_will_run(op, before)
        try:
            following = action(frame)
        except UndefinedBehavior as report:
            _report_stop(op, listeners, report)
            raise
        if not op.results and not op.regions:
            for listener in listeners:
                listener.op_did_run(op, before, ())
        return following

    return watched
