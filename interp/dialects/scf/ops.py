"""The scf dialect: structured control flow (`SCFOps.td`). Regions run in the frame of the function around them."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Arity, Dialect, Property, RegionSlot, Slot, Trait
from halfulp.interp.declare.type_rules import same_type
from halfulp.interp.dialects.regions import counted_loop, yielded
from halfulp.interp.dialects.scf import choice_forms, forall, forms, parallel, parallel_forms, words
from halfulp.interp.dialects.scf import region_rules as regions
from halfulp.interp.ir.attributes import DenseArrayAttr
from halfulp.interp.ir.errors import UndefinedBehavior
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import I1, INDEX
from halfulp.interp.run.batch.compiler import LaneCompiler
from halfulp.interp.run.batch.loop_trips import (
    TRIPS,
    advanced,
    one_less,
    positive,
    trips,
)
from halfulp.interp.run.control import Compiler, moves, passing
from halfulp.interp.run.evaluators import OnFrames
from halfulp.interp.run.frames import (
    Action,
    Frame,
    Run,
    Segment,
    Slots,
)
from halfulp.interp.run.reports import in_lanes
from halfulp.interp.run.slots import decided, number, undecided
from halfulp.interp.values.value import Value

scf = Dialect("scf")

_RESULTS = (Slot("results", c.ANY, Arity.VARIADIC),)


def _if(op: Operation, compiler: Compiler) -> Action:
    (condition,) = compiler.slots(op.operands)
    resume = compiler.resume(op)
    yes, no = [passing((), compiler.region(region, resume)) if region.blocks else resume(()) for region in op.regions]

    def choose(frame: Frame) -> Segment | None:
        value = frame.slots[condition]
        return yes(frame) if (value if value.__class__ is int else decided(value, op)) else no(frame)

    return choose


def _for(op: Operation, compiler: Compiler) -> Action:
    """Return the action of scf.for: the induction variable takes lower, lower + step, … below upper; the step must be
    positive.
    """
    lower, upper, step, *initial = compiler.slots(op.operands)
    settings, type_ = compiler.settings, op.operands[0].type
    signed = "unsignedCmp" not in op.properties

    def trips(slots: Slots) -> range:
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
        return range(start, end, stride)

    return counted_loop(op, compiler, initial, trips)


def _for_in_lanes(op: Operation, compiler: LaneCompiler) -> Action:
    """Return the action of scf.for in a batch. Lanes may make different numbers of trips: each keeps the number that is
    left.
    """
    lower, upper, step, *initial = compiler.slots(op.operands)
    type_ = op.operands[0].type
    width, signed = compiler.settings.width(type_), "unsignedCmp" not in op.properties
    body = compiler.block(op.regions[0].blocks[0])
    induction, *carried = body.arguments
    remaining, more = compiler.typed_slot(TRIPS), compiler.typed_slot(I1)
    begin_carrying, finish = moves(initial, carried), compiler.resume(op)(carried)
    head, latch = Segment(), Segment()
    compiler.loop(op, head, latch, more, (induction, step, remaining), carried)

    def begin(frame: Frame) -> Segment:
        slots = frame.slots
        run: Run = slots[0]
        bounds = (slots[lower], slots[upper], slots[step])
        for bound, name in zip(bounds, ("lower bound", "upper bound", "step"), strict=True):
            if isinstance(bound, Value) and bound.poison is not None:
                raise undecided(bound, op, name, run.lanes)
        slots[remaining], wrong = trips(*bounds, width, signed)
        if wrong.any():
            report = UndefinedBehavior(
                f"{op.name}: undefined behaviour: the step must be positive", location=op.location, op=op.name
            )
            raise in_lanes(report, run.lanes, wrong)
        slots[more] = positive(slots[remaining])
        slots[induction] = slots[lower]
        for move in begin_carrying:
            move(slots)
        return head

    def choose(frame: Frame) -> Segment | None:
        return body if frame.slots[more] else finish(frame)

    def advance(slots: Slots) -> None:
        slots[induction] = advanced(slots[induction], slots[step], type_, width)
        slots[remaining] = one_less(slots[remaining])
        slots[more] = positive(slots[remaining])

    head.steps, head.control = (), choose
    latch.steps, latch.control = (advance,), passing((), head)
    compiler.region(op.regions[0], lambda sources: passing(moves(sources, carried), latch))
    return begin


def _while(op: Operation, compiler: Compiler) -> Action:
    resume = compiler.resume(op)
    before, after = [compiler.block(region.blocks[0]) for region in op.regions]
    terminator = op.regions[0].blocks[-1].operations[-1]

    def deciding(sources: Sequence[int]) -> Action:
        condition, *passed = sources
        enter, finish = moves(passed, after.arguments), resume(passed)

        def decide(frame: Frame) -> Segment | None:
            slots = frame.slots
            value = slots[condition]
            if not (value if value.__class__ is int else decided(value, terminator)):
                return finish(frame)
            for step in enter:
                step(slots)
            return after

        return decide

    def again(sources: Sequence[int]) -> Action:
        return passing(moves(sources, before.arguments), before)

    compiler.region(op.regions[0], deciding)
    compiler.region(op.regions[1], again)
    return again(compiler.slots(op.operands))


def _index_switch(op: Operation, compiler: Compiler) -> Action:
    (argument,) = compiler.slots(op.operands)
    cases = op.properties["cases"]
    assert isinstance(cases, DenseArrayAttr)
    resume, settings = compiler.resume(op), compiler.settings
    default, *others = [passing((), compiler.region(region, resume)) for region in op.regions]
    targets = dict(reversed(list(zip(cases.values, others, strict=True))))

    def choose(frame: Frame) -> Segment | None:
        value = number(frame.slots[argument], INDEX, op, "argument", settings)
        return targets.get(value, default)(frame)

    return choose


def _execute_region(op: Operation, compiler: Compiler) -> Action:
    return passing((), compiler.region(op.regions[0], compiler.resume(op)))


scf.op(
    "if",
    custom=forms.IF,
    operands={"condition": c.BOOL},
    results=_RESULTS,
    regions=(RegionSlot("thenRegion"), RegionSlot("elseRegion")),
    verify=regions.verify_if,
    verify_regions=regions.verify_if_regions,
    evaluate=OnFrames(_if, decides=0, words=words.if_),
)
scf.op(
    "for",
    custom=forms.FOR,
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
    verify=regions.verify_for,
    verify_regions=regions.verify_for_regions,
    evaluate=OnFrames(_for, in_lanes=_for_in_lanes, words=words.for_),
)
scf.op(
    "while",
    custom=forms.WHILE,
    operands=(Slot("inits", c.ANY, Arity.VARIADIC),),
    results=_RESULTS,
    regions=(RegionSlot("before"), RegionSlot("after")),
    verify=regions.verify_while,
    verify_regions=regions.verify_while_regions,
    evaluate=OnFrames(_while, words=words.while_),
)
scf.op(
    "execute_region",
    custom=forms.EXECUTE_REGION,
    results=(Slot("result", c.ANY, Arity.VARIADIC),),
    properties=(Property("no_inline", c.UNIT_ATTR, optional=True),),
    regions=(RegionSlot("region"),),
    verify=regions.verify_execute_region,
    verify_regions=regions.verify_execute_region_regions,
    evaluate=OnFrames(_execute_region, words=words.once),
)
scf.op(
    "condition",
    "`(` $condition `)` attr-dict ($args^ `:` type($args))?",
    operands=(Slot("condition", c.BOOL), Slot("args", c.ANY, Arity.VARIADIC)),
    traits=(Trait.TERMINATOR,),
    verify=regions.verify_condition,
    evaluate=OnFrames(yielded, decides=0, words=words.yielded),
)
scf.op(
    "yield",
    "attr-dict ($results^ `:` type($results))?",
    operands=(Slot("results", c.ANY, Arity.VARIADIC),),
    traits=(Trait.TERMINATOR, Trait.RETURN_LIKE),
    verify=regions.verify_yield,
    evaluate=OnFrames(yielded, words=words.yielded),
)
scf.op(
    "parallel",
    custom=parallel_forms.PARALLEL,
    operands=(
        *(Slot(name, c.INDEX, Arity.VARIADIC) for name in ("lowerBound", "upperBound", "step")),
        Slot("initVals", c.ANY, Arity.VARIADIC),
    ),
    results=_RESULTS,
    regions=(RegionSlot("region"),),
    traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=parallel.verify_parallel,
    verify_regions=parallel.verify_parallel_regions,
    implicit_terminator="scf.reduce",
    evaluate=OnFrames(parallel.parallel, alone=True),
)
scf.op(
    "reduce",
    custom=parallel_forms.REDUCE,
    operands=(Slot("operands", c.ANY, Arity.VARIADIC),),
    regions=(RegionSlot("reductions", Arity.VARIADIC),),
    traits=(Trait.TERMINATOR,),
    verify=parallel.verify_reduce,
    evaluate=OnFrames(parallel.reduce, alone=True),
)
scf.op(
    "reduce.return",
    "$result attr-dict `:` type($result)",
    operands={"result": c.ANY},
    traits=(Trait.TERMINATOR,),
    verify=parallel.verify_reduce_return,
    evaluate=OnFrames(yielded, words=words.yielded),
)
scf.op(
    "forall",
    custom=choice_forms.FORALL,
    operands=(
        *(Slot(name, c.INDEX, Arity.VARIADIC) for name in ("dynamicLowerBound", "dynamicUpperBound", "dynamicStep")),
        Slot("outputs", c.RANKED_TENSOR, Arity.VARIADIC),
    ),
    results=_RESULTS,
    properties=(
        Property("mapping", forall.MAPPING, optional=True),
        *(Property(name, c.INTEGER_64_ARRAY_ATTR) for name in ("staticLowerBound", "staticStep", "staticUpperBound")),
    ),
    regions=(RegionSlot("region"),),
    traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=forall.verify,
    verify_regions=forall.verify_body,
    implicit_terminator="scf.forall.in_parallel",
    evaluate=OnFrames(forall.forall, alone=True),
)
scf.op(
    "forall.in_parallel",
    "$region attr-dict",
    regions=(RegionSlot("region"),),
    traits=(Trait.TERMINATOR, Trait.NO_TERMINATOR),
    verify_regions=forall.verify_in_parallel,
    evaluate=OnFrames(forall.in_parallel, alone=True),
)
scf.op(
    "index_switch",
    custom=choice_forms.SWITCH,
    operands={"arg": c.INDEX},
    results=_RESULTS,
    properties=(Property("cases", c.INTEGER_64_ARRAY_ATTR),),
    regions=(RegionSlot("defaultRegion"), RegionSlot("caseRegions", Arity.VARIADIC)),
    verify=regions.verify_index_switch,
    evaluate=OnFrames(_index_switch, alone=True),
)
