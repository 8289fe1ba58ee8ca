"""The cf dialect: branches between the blocks of a function (`ControlFlowOps.td`)."""

from __future__ import annotations

from collections.abc import Callable

from halfulp.interp import attributes as at
from halfulp.interp import types as ty
from halfulp.interp.dialect import Arity, Dialect, Property, Slot, SuccessorSlot, Trait, Unprefixed
from halfulp.interp.dialects import constraints as c
from halfulp.interp.errors import AssertionFailed
from halfulp.interp.executor import Compiler, Control, Frame, decided, number
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
    evaluate=Control(_conditional),
)


def _switch(op: Operation, compiler: Compiler) -> Callable[[Frame], Frame | None]:
    """The case whose value the flag equals, else the default, which is the first successor."""
    (flag,) = compiler.slots(op.operands[:1])
    type_, settings = op.operands[0].type, compiler.settings
    default, *cases = [_jump(op, compiler, index) for index in range(len(op.successors))]
    values = op.properties.get("case_values")
    codes = values.array().reshape(-1).tolist() if isinstance(values, at.DenseElementsAttr) else []
    table: dict[int, Callable[[Frame], Frame]] = dict(zip(codes, cases, strict=True))
    mask = (1 << settings.width(type_)) - 1

    def branch(frame: Frame) -> Frame:
        value = number(frame.slots[flag], type_, op, "flag", settings, signed=False)
        return table.get(value & mask, default)(frame)

    return branch


def _assert(op: Operation, compiler: Compiler) -> Callable[[Frame], Frame | None]:
    (condition,) = compiler.slots(op.operands)
    message = op.properties["msg"]

    def check(frame: Frame) -> Frame:
        if not decided(frame.slots[condition], op):
            text = message.value if isinstance(message, at.StringAttr) else str(message)
            raise AssertionFailed(f"cf.assert: {text}", location=op.location, op=op.name)
        return frame

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


cf.op(
    "switch",
    custom="cf_switch",
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
    evaluate=Control(_switch),
)
cf.op(
    "assert",
    "$arg `,` $msg attr-dict",
    operands={"arg": c.BOOL},
    properties=(Property("msg", c.STRING_ATTR),),
    evaluate=Control(_assert),
)
