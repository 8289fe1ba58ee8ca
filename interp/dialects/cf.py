"""The cf dialect: branches between the blocks of a function (`ControlFlowOps.td`)."""

from __future__ import annotations

from collections.abc import Callable

from halfulp.interp.dialect import Arity, Dialect, Property, Slot, SuccessorSlot, Trait
from halfulp.interp.dialects import constraints as c
from halfulp.interp.executor import Compiler, Control, Frame, decided
from halfulp.interp.ir import Operation

cf = Dialect("cf")


def _jump(op: Operation, compiler: Compiler, index: int) -> Callable[[Frame], Frame]:
    block, operands = op.successors[index]
    code, slots = compiler.block(block), compiler.slots(operands)
    listeners = compiler.settings.listeners

    def jump(frame: Frame) -> Frame:
        for listener in listeners:
            listener.branch(op, block)
        frame.jump(code, [frame.slots[slot] for slot in slots])
        return frame

    return jump


def _branch(op: Operation, compiler: Compiler) -> Callable[[Frame], Frame | None]:
    return _jump(op, compiler, 0)


def _conditional(op: Operation, compiler: Compiler) -> Callable[[Frame], Frame | None]:
    (condition,) = compiler.slots(op.operands[:1])
    yes, no = _jump(op, compiler, 0), _jump(op, compiler, 1)

    def branch(frame: Frame) -> Frame:
        return yes(frame) if decided(frame.slots[condition], op) else no(frame)

    return branch


cf.op(
    "br",
    "$dest (`(` $destOperands^ `:` type($destOperands) `)`)? attr-dict",
    operands=(Slot("destOperands", c.ANY, Arity.VARIADIC),),
    successors=(SuccessorSlot("dest"),),
    traits=(Trait.TERMINATOR,),
    evaluate=Control(_branch),
)
cf.op(
    "cond_br",
    "$condition (`weights` `(` $branch_weights^ `)`)? `,` "
    "$trueDest (`(` $trueDestOperands^ `:` type($trueDestOperands) `)`)? `,` "
    "$falseDest (`(` $falseDestOperands^ `:` type($falseDestOperands) `)`)? attr-dict",
    operands=(
        Slot("condition", c.BOOL),
        Slot("trueDestOperands", c.ANY, Arity.VARIADIC),
        Slot("falseDestOperands", c.ANY, Arity.VARIADIC),
    ),
    properties=(Property("branch_weights", c.INTEGER_ARRAY_ATTR, optional=True),),
    successors=(SuccessorSlot("trueDest"), SuccessorSlot("falseDest")),
    traits=(Trait.TERMINATOR, Trait.ATTR_SIZED_OPERAND_SEGMENTS),
    evaluate=Control(_conditional),
)
