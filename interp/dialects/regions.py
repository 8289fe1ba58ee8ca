"""Actions that ops with regions share: of a loop whose induction variable counts, and of terminators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.control import Compiler, moves, passing
from halfulp.interp.run.frames import Action, Frame, Run, Segment, Slots, Step


def counted_loop(op: Operation, compiler: Compiler, initial: Sequence[int], trips: Callable[[Slots], range]) -> Action:
    """Return the action of a loop with one region, whose first argument is the induction variable.

    ``initial``: the slots of the values that the other arguments have in the first trip. ``trips``: gives the values of
    the induction variable.
    """
    body = compiler.block(op.regions[0].blocks[0])
    induction, *carried = body.arguments
    mask = (1 << compiler.settings.width(op.regions[0].blocks[0].arguments[0].type)) - 1
    state = compiler.hidden_slot()
    # After each trip, and before the first, the carried slots hold what the loop would return.
    begin_carrying, finish = moves(initial, carried), compiler.resume(op)(carried)
    carry: tuple[Step, ...] = ()
    at_end: Action | None = None

    def yielding(sources: Sequence[int]) -> Action:
        nonlocal carry, at_end
        carry = moves(sources, carried)

        def again(frame: Frame) -> Segment | None:
            slots = frame.slots
            for step in carry:
                step(slots)
            return following(frame)

        at_end = again
        return again

    def following(frame: Frame) -> Segment | None:
        position = next(frame.slots[state], None)
        if position is None:
            return finish(frame)
        frame.slots[induction] = position & mask
        return body

    def begun(slots: Slots) -> range:
        positions = trips(slots)
        for move in begin_carrying:
            move(slots)
        return positions

    compiler.region(op.regions[0], yielding)
    if body.control is not at_end:

        def begin(frame: Frame) -> Segment | None:
            frame.slots[state] = iter(begun(frame.slots))
            return following(frame)

        return begin
    whole_body, cost, last = (*body.steps, *carry), body.cost, body.op

    def loop(frame: Frame) -> Segment | None:
        """Run all trips at once. It is for bodies that pass no control on, and without listeners."""
        slots = frame.slots
        run: Run = slots[0]
        every = begun(slots)
        # Without len(), which is limited to 2^63.
        count = max(0, -((every.start - every.stop) // every.step))
        affordable = run.steps // cost
        if whole_body:
            for position in every[:affordable]:
                slots[induction] = position & mask
                for step in whole_body:
                    step(slots)
        if count > affordable:
            raise run.out_of_steps(last)
        run.steps -= cost * count
        return finish(frame)

    return loop


def alone(op: Operation, compiler: Compiler) -> Action:
    """Return an action that refuses the op in a batch."""
    message = f"halfulp does not run '{op.name}' in a batch"
    after = compiler.after()
    for region in op.regions:
        if region.blocks:  # The order of segments needs all of them.
            compiler.region(region, lambda sources: passing((), after))

    def refuse(frame: Frame) -> Segment | None:
        raise Unsupported(message, location=op.location, op=op.name)

    return refuse


def yielded(op: Operation, compiler: Compiler) -> Action:
    """Return the action of a terminator whose meaning the op around its region defines."""
    assert compiler.on_yield is not None
    return compiler.on_yield(compiler.slots(op.operands))
