"""The cf dialect: branches between the blocks of a function (`ControlFlowOps.td`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from halfulp.fp_formats.codes import codes_to_ints
from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Arity, Dialect, Property, Slot, SuccessorSlot, Trait, Unprefixed
from halfulp.interp.dialects.cf import words
from halfulp.interp.dialects.cf.forms import SWITCH
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import AssertionFailed
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.control import Compiler, moves, passing
from halfulp.interp.run.evaluators import OnFrames
from halfulp.interp.run.frames import (
    Action,
    Frame,
    Segment,
    Slots,
    Step,
)
from halfulp.interp.run.reports import in_lanes
from halfulp.interp.run.slots import decided, number, undecided
from halfulp.interp.values.value import Value

cf = Dialect("cf")


def _jump(op: Operation, compiler: Compiler, index: int) -> tuple[tuple[Step, ...], Segment]:
    """Return the moves of values to a successor, and its segment."""
    block, operands = op.successors[index]
    target = compiler.block(block)
    steps = moves(compiler.slots(operands), target.arguments)
    listeners = compiler.settings.listeners
    if not listeners:
        return steps, target

    def tell(slots: Slots) -> None:
        for listener in listeners:
            listener.branch(op, block)

    return (tell, *steps), target


def _branch(op: Operation, compiler: Compiler) -> Action:
    return passing(*_jump(op, compiler, 0))


def _conditional(op: Operation, compiler: Compiler) -> Action:
    (condition,) = compiler.slots(op.operands[:1])
    yes, no = _jump(op, compiler, 0), _jump(op, compiler, 1)

    def branch(frame: Frame) -> Segment:
        slots = frame.slots
        value = slots[condition]
        steps, target = yes if (value if value.__class__ is int else decided(value, op)) else no
        for step in steps:
            step(slots)
        return target

    return branch


BRANCH = OnFrames(_branch, words=words.branch)
CONDITIONAL = OnFrames(_conditional, decides=0, words=words.conditional)

cf.op(
    "br",
    "$dest (`(` $destOperands^ `:` type($destOperands) `)`)? attr-dict",
    operands=(Slot("destOperands", c.ANY, Arity.VARIADIC),),
    successors=(SuccessorSlot("dest"),),
    traits=(Trait.TERMINATOR,),
    evaluate=BRANCH,
)


def _verify_weights(op: Operation) -> str | None:
    weights = op.properties.get("branch_weights")
    if not isinstance(weights, at.DenseArrayAttr):
        return None
    if len(weights.codes) != 2:
        count = len(weights.codes)
        return Unprefixed(f"expects number of branch weights to match number of successors: {count} vs 2")
    return None if any(weights.codes) else Unprefixed("branch weights cannot all be zero")


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
    verify=_verify_weights,
    evaluate=CONDITIONAL,
)


def _switch(op: Operation, compiler: Compiler) -> Action:
    """Return the case whose value the flag equals, or the default, which is the first successor."""
    (flag,) = compiler.slots(op.operands[:1])
    type_, settings = op.operands[0].type, compiler.settings
    default, *cases = [_jump(op, compiler, index) for index in range(len(op.successors))]
    values = op.properties.get("case_values")
    width = settings.width(type_)
    codes = codes_to_ints(values.array(), width) if isinstance(values, at.DenseElementsAttr) else []
    table: dict[Any, tuple[tuple[Step, ...], Segment]] = dict(zip(codes, cases, strict=True))
    ways = [passing(*case) for case in (default, *cases)]
    number_of = {code: place for place, code in enumerate(codes, 1)}

    def part(frame: Frame, flag: Value) -> None:
        """Send the lanes of a batch to the successors that their flags name."""
        run = frame.slots[0]
        distinct, which = np.unique(flag.bits, axis=0, return_inverse=True)
        taken = np.array([number_of.get(code, 0) for code in codes_to_ints(distinct, width)])[which]
        run.part(frame, [(np.flatnonzero(taken == way), ways[way]) for way in np.unique(taken).tolist()])

    def branch(frame: Frame) -> Segment | None:
        slots = frame.slots
        value = slots[flag]
        if value.__class__ is not int:
            if value.poison is not None:
                raise undecided(value, op, "flag", slots[0].lanes)
            if value.shape:
                part(frame, value)
                return None
            value = number(value, type_, op, "flag", settings, signed=False)
        steps, target = table.get(value, default)
        for step in steps:
            step(slots)
        return target

    return branch


def _assert(op: Operation, compiler: Compiler) -> Action:
    (condition,) = compiler.slots(op.operands)
    message, after = op.properties["msg"], compiler.after()

    def check(frame: Frame) -> Segment:
        if not decided(frame.slots[condition], op):
            text = message.value if isinstance(message, at.StringAttr) else str(message)
            error = AssertionFailed(f"cf.assert: {text}", location=op.location, op=op.name)
            raise in_lanes(error, frame.slots[0].lanes)
        return after

    return check


def _verify_switch(op: Operation) -> str | None:
    flag = op.operands[0].type
    values = op.properties.get("case_values")
    cases = len(op.successors) - 1
    given = 0
    if isinstance(values, at.DenseElementsAttr):
        given = ty.element_count(values.type) or 0
        if values.type.element != flag:
            return f"'flag' type ('{flag}') should match case value type ('{values.type.element}')"
    if given != cases:
        return f"number of case values ({given}) should match number of case destinations ({cases})"
    return None


SWITCHING = OnFrames(_switch, words=words.switch)

cf.op(
    "switch",
    custom=SWITCH,
    operands=(
        Slot("flag", c.INTEGER),
        Slot("defaultOperands", c.ANY, Arity.VARIADIC),
        Slot("caseOperands", c.ANY, Arity.VARIADIC),
    ),
    properties=(
        Property("case_operand_segments", c.INTEGER_ARRAY_ATTR),
        Property("case_values", c.INTEGER_ELEMENTS_ATTR, optional=True),
    ),
    successors=(SuccessorSlot("default"), SuccessorSlot("case", Arity.VARIADIC)),
    traits=(Trait.TERMINATOR, Trait.ATTR_SIZED_OPERAND_SEGMENTS),
    verify=_verify_switch,
    evaluate=SWITCHING,
)
cf.op(
    "assert",
    "$arg `,` $msg attr-dict",
    operands={"arg": c.BOOL},
    properties=(Property("msg", c.STRING_ATTR),),
    evaluate=OnFrames(_assert, decides=0),
)
