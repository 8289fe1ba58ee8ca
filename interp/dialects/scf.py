"""The scf dialect: structured control flow (`SCFOps.td`). Regions run in the frame of the function around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from halfulp.interp.dialect import Arity, Dialect, Property, RegionSlot, Slot, Trait, same_type
from halfulp.interp.dialects import constraints as c
from halfulp.interp.dialects import region_rules as regions
from halfulp.interp.errors import UndefinedBehavior
from halfulp.interp.executor import Compiler, Control, Frame, decided, number
from halfulp.interp.ir import Operation

scf = Dialect("scf")

Action = Callable[[Frame], Frame | None]
_RESULTS = (Slot("results", c.ANY, Arity.VARIADIC),)


def _if(op: Operation, compiler: Compiler) -> Action:
    (condition,) = compiler.slots(op.operands)
    resume = compiler.resume(op)
    arms = [compiler.region(region, resume) if region.blocks else None for region in op.regions]

    def choose(frame: Frame) -> Frame:
        arm = arms[0 if decided(frame.slots[condition], op) else 1]
        if arm is None:
            return resume(frame, ())
        frame.jump(arm, ())
        return frame

    return choose


def _for(op: Operation, compiler: Compiler) -> Action:
    """The induction variable takes lower, lower + step, … below upper; the step must be positive."""
    lower, upper, step, *initial = compiler.slots(op.operands)
    settings, type_ = compiler.settings, op.operands[0].type
    signed = "unsignedCmp" not in op.properties
    state = compiler.hidden_slot()
    resume = compiler.resume(op)
    mask = (1 << settings.width(type_)) - 1

    def again(frame: Frame, values: list[Any]) -> Frame:
        position, end, stride = frame.slots[state]
        position += stride
        if position >= end:
            return resume(frame, values)
        frame.slots[state] = position, end, stride
        frame.jump(body, (position & mask, *values))
        return frame

    body = compiler.region(op.regions[0], again)

    def begin(frame: Frame) -> Frame:
        slots = frame.slots
        start, end, stride = (
            number(slots[slot], type_, op, name, settings, signed)
            for slot, name in ((lower, "lower bound"), (upper, "upper bound"), (step, "step"))
        )
        if stride <= 0:
            raise UndefinedBehavior(
                f"{op.name}: undefined behaviour: the step is {stride}, but must be positive",
                location=op.location,
                op=op.name,
            )
        values = [slots[slot] for slot in initial]
        if start >= end:
            return resume(frame, values)
        slots[state] = start, end, stride
        frame.jump(body, (start & mask, *values))
        return frame

    return begin


def _while(op: Operation, compiler: Compiler) -> Action:
    initial = compiler.slots(op.operands)
    resume = compiler.resume(op)

    def before_again(frame: Frame, values: list[Any]) -> Frame:
        frame.jump(before, values)
        return frame

    def decide(frame: Frame, values: list[Any]) -> Frame:
        condition, *passed = values
        if not decided(condition, op):
            return resume(frame, passed)
        frame.jump(after, passed)
        return frame

    before = compiler.region(op.regions[0], decide)
    after = compiler.region(op.regions[1], before_again)

    def begin(frame: Frame) -> Frame:
        frame.jump(before, [frame.slots[slot] for slot in initial])
        return frame

    return begin


def _execute_region(op: Operation, compiler: Compiler) -> Action:
    body = compiler.region(op.regions[0], compiler.resume(op))

    def begin(frame: Frame) -> Frame:
        frame.jump(body, ())
        return frame

    return begin


def _yield(op: Operation, compiler: Compiler) -> Action:
    operands = compiler.slots(op.operands)
    on_yield = compiler.on_yield
    assert on_yield is not None

    def leave(frame: Frame) -> Frame | None:
        return on_yield(frame, [frame.slots[slot] for slot in operands])

    return leave


scf.op(
    "if",
    custom="scf_if",
    operands={"condition": c.BOOL},
    results=_RESULTS,
    regions=(RegionSlot("thenRegion"), RegionSlot("elseRegion")),
    verify_regions=regions.verify_if,
    evaluate=Control(_if),
)
scf.op(
    "for",
    custom="scf_for",
    operands=(
        Slot("lowerBound", c.INTEGER_OR_INDEX),
        Slot("upperBound", c.INTEGER_OR_INDEX),
        Slot("step", c.INTEGER_OR_INDEX),
        Slot("initArgs", c.ANY, Arity.VARIADIC),
    ),
    results=_RESULTS,
    properties=(Property("unsignedCmp", c.UNIT_ATTR, optional=True),),
    regions=(RegionSlot("region"),),
    type_rules=(same_type("lowerBound", "upperBound", "step"),),
    verify_regions=regions.verify_for,
    evaluate=Control(_for),
)
scf.op(
    "while",
    custom="scf_while",
    operands=(Slot("inits", c.ANY, Arity.VARIADIC),),
    results=_RESULTS,
    regions=(RegionSlot("before"), RegionSlot("after")),
    verify_regions=regions.verify_while,
    evaluate=Control(_while),
)
scf.op(
    "execute_region",
    custom="scf_execute_region",
    results=(Slot("result", c.ANY, Arity.VARIADIC),),
    properties=(Property("no_inline", c.UNIT_ATTR, optional=True),),
    regions=(RegionSlot("region"),),
    verify_regions=regions.verify_execute_region,
    evaluate=Control(_execute_region),
)
scf.op(
    "condition",
    "`(` $condition `)` attr-dict ($args^ `:` type($args))?",
    operands=(Slot("condition", c.BOOL), Slot("args", c.ANY, Arity.VARIADIC)),
    traits=(Trait.TERMINATOR,),
    verify=regions.verify_condition,
    evaluate=Control(_yield),
)
scf.op(
    "yield",
    "attr-dict ($results^ `:` type($results))?",
    operands=(Slot("results", c.ANY, Arity.VARIADIC),),
    traits=(Trait.TERMINATOR, Trait.RETURN_LIKE),
    verify=regions.verify_yield,
    evaluate=Control(_yield),
)
