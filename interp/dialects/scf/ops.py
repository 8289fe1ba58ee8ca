"""The scf dialect: structured control flow (`SCFOps.td`). Regions run in the frame of the function around them."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.operands import SEGMENTS, operand_groups
from halfulp.interp.dialects.regions import (
    Bounds,
    argument_list,
    arrow_types,
    assignments,
    build_op,
    checked_ranges,
    counted_loop,
    declare_yield,
    inside,
    over_box,
    print_assignments,
    trailing_dictionary,
    types_text,
    yielded,
)
from halfulp.interp.dialects.scf import forall, forms
from halfulp.interp.dialects.slices import DYNAMIC, constant, numbers
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import DenseArrayAttr
from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue, undefined
from halfulp.interp.ir.types import I32, I64, INDEX
from halfulp.interp.run.batch.compiler import LaneCompiler
from halfulp.interp.run.batch.loop_trips import Number, loop_in_lanes, trips
from halfulp.interp.run.evaluators import Compiler, OnFrames, moves, passing
from halfulp.interp.run.frames import Action, Frame, Run, Segment, Slots, decided, in_lanes, number, undecided
from halfulp.interp.text.op_parser import Argument, OpParser, OpPrinter, print_mixed, read_mixed
from halfulp.interp.values.value import Value

# --- choice forms -----------------------------------------------------------------------------------------------------
#
# Custom forms of scf.forall and scf.index_switch.

BOUNDS = ("staticLowerBound", "staticUpperBound", "staticStep")

# --- forall -----------------------------------------------------------------------------------------------------------


def _constants(number: int, count: int) -> DenseArrayAttr:
    return DenseArrayAttr(I64, (number,) * count)


def _parse_forall(p: OpParser, at: int, definition: d.OpDefinition) -> Operation:
    variables = argument_list(p)
    names: list[list[int]] = [[], [], []]
    numbers = [_constants(0, len(variables)), _constants(0, 0), _constants(1, len(variables))]
    if p.take("in"):
        names[1], numbers[1] = read_mixed(p, "()")
    else:
        for which, word in enumerate(("=", "to", "step")):
            if word == "=":
                p.expect(word)
            else:
                p.keyword(definition, word)
            names[which], numbers[which] = read_mixed(p, "()")
    carried: list[int] = []
    initial: list[int] = []
    results: Sequence[Type] = ()
    at_outs = p.pos
    if p.take("shared_outs"):
        carried, initial = assignments(p)
        results = arrow_types(p)
    p.check_count(definition.name, initial, results, at_outs)
    arguments = [Argument(token, INDEX, None) for token in variables]
    arguments += [Argument(token, type_, None) for token, type_ in zip(carried, results, strict=True)]
    region = p.region(definition.name, arguments)
    p.terminated(region, "scf.forall.in_parallel", at)
    last = region.blocks[-1].operations[-1]
    if last.name == "scf.forall.in_parallel" and not any(inner.blocks for inner in last.regions):
        last.regions = [Region([Block()])]
        last.regions[0].parent = last
    operands = [p.use(token, INDEX) for each in names for token in each]
    operands += [p.use(token, type_) for token, type_ in zip(initial, results, strict=True)]
    properties: dict[str, Attribute] = {
        SEGMENTS: DenseArrayAttr(I32, (*(len(each) for each in names), len(initial))),
        **dict(zip(BOUNDS, numbers, strict=True)),
    }
    return build_op(p, at, definition, operands, results, [region], properties)


def _are(number: int, written: DenseArrayAttr, values: Sequence[SSAValue]) -> bool:
    """Tell whether all numbers of a list are the same. A value that is a constant counts as its number."""
    dynamic = iter(values)
    return all((constant(next(dynamic)) if each == DYNAMIC else each) == number for each in written.values)


def _print_forall(printer: OpPrinter, op: Operation) -> str:
    *dynamic, outs = operand_groups(op)
    lists = [(op.prop(name, DenseArrayAttr), values) for name, values in zip(BOUNDS, dynamic, strict=True)]
    block, rank = op.regions[0].blocks[0], len(lists[1][0].codes)
    text = f" ({', '.join(map(printer.name, block.arguments[:rank]))})"
    plain = _are(0, *lists[0]) and _are(1, *lists[2])
    texts = [print_mixed(printer, numbers, values, "()") for numbers, values in lists]
    text += f" in {texts[1]}" if plain else f" = {texts[0]} to {texts[1]} step {texts[2]}"
    if outs:
        text += print_assignments(printer, "shared_outs", block, rank, outs)
        text += f" -> {types_text(printer, [value.type for value in outs], bare=False)}"
    text += f" {printer.region(op.regions[0], op, entry_arguments=False, terminators=bool(op.results))}"
    shown = {name: value for name, value in op.properties.items() if name == "mapping"} | op.attributes
    return text + (f" {printer.dictionary(shown)}" if shown else "")


FORALL = d.CustomForm(_parse_forall, _print_forall)

# --- index_switch -----------------------------------------------------------------------------------------------------


def _parse_switch(p: OpParser, at: int, definition: d.OpDefinition) -> Operation:
    value = p.use(p.operand_token(), INDEX)
    attributes = p.optional_dictionary()
    results = p.type_list() if p.take("->") else []
    cases: list[int] = []
    regions: list[Region] = []
    while p.take("case"):
        cases.append(p.integer() & ((1 << 64) - 1))
        regions.append(p.region(definition.name))
    p.keyword(definition, "default")
    default = p.terminated(p.region(definition.name), "scf.yield", at)
    properties: dict[str, Attribute] = {"cases": DenseArrayAttr(I64, tuple(cases))}
    return p.placed(
        Operation(definition.name, definition, [value], results, properties, attributes, [default, *regions]), at
    )


def _print_switch(printer: OpPrinter, op: Operation) -> str:
    cases = op.prop("cases", DenseArrayAttr)
    text = f" {printer.name(op.operands[0])}" + trailing_dictionary(printer, op)
    types = [result.type for result in op.results]
    text += f" -> {', '.join(map(printer.type, types))} " if types else " "
    default, *others = op.regions
    for case, region in zip(cases.values, others, strict=True):
        text += f"\n{printer.indent}case {case} {printer.region(region, op)}"
    return text + f"\n{printer.indent}default {printer.region(default, op, terminators=bool(types))}"


SWITCH = d.CustomForm(_parse_switch, _print_switch)


# --- parallel ---------------------------------------------------------------------------------------------------------
#
# scf.parallel and scf.reduce: a loop over the points of a box, in lexicographic order, with reductions.
#
# The results of scf.parallel are the accumulators: scf.reduce combines each with its operand after each point, one
# reduction after the other.

# --- rules ------------------------------------------------------------------------------------------------------------


def verify_parallel(op: Operation) -> str | None:
    """Return what is wrong with the bounds, the body and its reductions, or None."""
    rank, upper, steps, initial = map(len, operand_groups(op))
    if not steps:
        return "needs at least one tuple element for lowerBound, upperBound and step"
    numbers_of_steps = [constant(value) for value in op.operands[rank + upper : rank + upper + steps]]
    if any(step is not None and step <= 0 for step in numbers_of_steps):
        return "constant step operand must be positive"
    block = op.regions[0].blocks[0]
    if len(block.arguments) != steps:
        return (
            f"expects the same number of induction variables: {len(block.arguments)} as bound and step values: {steps}"
        )
    if not all(isinstance(argument.type, ty.IndexType) for argument in block.arguments):
        return "expects arguments for the induction variable to be of index type"
    last = block.operations[-1] if block.operations else None
    if last is None or last.name != "scf.reduce":
        return "expects body to terminate with 'scf.reduce'"
    reductions = len(last.regions)
    if len(op.results) != reductions:
        return f"expects number of results: {len(op.results)} to be the same as number of reductions: {reductions}"
    if initial != reductions:
        return f"expects number of results: {reductions} to be the same as number of initial values: {initial}"
    return None


def verify_parallel_regions(op: Operation) -> str | None:
    """Return what is wrong with the types of the values that are reduced, or None."""
    last = op.regions[0].blocks[0].operations[-1]
    for index, (value, result) in enumerate(zip(last.operands, op.results, strict=True)):
        if value.type != result.type:
            raise last.rule_broken(
                f"expects type of {index}-th reduction operand: '{value.type}' to be the same as the {index}-th "
                f"result type: '{result.type}'"
            )
    return None


def verify_reduce(op: Operation) -> str | None:
    """Return what is wrong with the regions of scf.reduce, or None."""
    parent = op.parent_op
    if parent is None or parent.name != "scf.parallel":
        return "expects parent op 'scf.parallel'"
    if len(op.operands) != len(op.regions):
        return (
            f"expects number of operands: {len(op.operands)} to be the same as number of reductions: {len(op.regions)}"
        )
    for index, (value, region) in enumerate(zip(op.operands, op.regions, strict=True)):
        if not region.blocks or not region.blocks[0].operations:
            return f"the {index}-th reduction has an empty body"
        arguments = region.blocks[0].arguments
        if len(arguments) != 2 or any(argument.type != value.type for argument in arguments):
            return f"expected two block arguments with type '{value.type}' in the {index}-th reduction region"
        if region.blocks[0].operations[-1].name != "scf.reduce.return":
            return "reduction bodies must be terminated with an 'scf.reduce.return' op"
    return None


def verify_reduce_return(op: Operation) -> str | None:
    """Return an error message unless scf.reduce.return gives a value of the type of its reduction."""
    parent = op.parent_op
    if parent is None or parent.name != "scf.reduce":
        return "expects parent op 'scf.reduce'"
    assert op.parent is not None
    wanted = op.parent.arguments[0].type if op.parent.arguments else None
    if wanted is not None and op.operands[0].type != wanted:
        return f"must have type '{wanted}' (the type of the reduction inputs)"
    return None


# --- actions ----------------------------------------------------------------------------------------------------------


def bounds_of(op: Operation, compiler: Compiler, bounds: Sequence[int]) -> Bounds:
    """Return the bounds of scf.parallel. ``bounds``: the slots of the lower bounds, the upper bounds and the steps."""

    def ranges(slots: Slots) -> Sequence[range]:
        given = numbers(op, [slots[slot] for slot in bounds], compiler.settings, "unsignedCmp" not in op.properties)
        rank = len(given) // 3
        return checked_ranges(op, given[:rank], given[rank : 2 * rank], given[2 * rank :])

    return ranges


def parallel(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs scf.parallel."""
    operands = compiler.slots(op.operands)
    bounds = len(operands) - len(op.results)
    if bounds != 3 * len(op.regions[0].blocks[0].arguments):
        raise Unsupported(f"{op.name}: the numbers of its bounds and steps differ", location=op.location, op=op.name)
    begin = moves(operands[bounds:], compiler.slots(op.results))
    return over_box(op, compiler, bounds_of(op, compiler, operands[:bounds]), begin)


def reduce(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs scf.reduce: it does one reduction after the other, and continues with the
    next point.
    """
    assert compiler.on_yield is not None
    assert op.parent_op is not None
    following = compiler.on_yield(())
    accumulators = compiler.slots(op.parent_op.results)
    operands = compiler.slots(op.operands)
    for accumulator, operand, region in reversed(list(zip(accumulators, operands, op.regions, strict=True))):
        following = _reduction(compiler, op, region, (accumulator, operand), following)
    return following


def _reduction(
    compiler: Compiler, op: Operation, region: Region, sources: tuple[int, int], following: Action
) -> Action:
    def returning(values: Sequence[int]) -> Action:
        store = moves(values, sources[:1])

        def go_on(frame: Frame) -> Segment | None:
            for step in store:
                step(frame.slots)
            return following(frame)

        return go_on

    entry = compiler.region(region, returning)
    bind = moves(sources, entry.arguments)

    def begin(frame: Frame) -> Segment:
        for step in bind:
            step(frame.slots)
        return entry

    return begin


# --- ops --------------------------------------------------------------------------------------------------------------

scf = d.Dialect("scf")

_RESULTS = (d.variadic("results", d.ANY),)


def _if(op: Operation, compiler: Compiler) -> Action:
    (condition,) = compiler.slots(op.operands)
    resume = compiler.resume(op)
    yes, no = [passing((), compiler.region(region, resume)) if region.blocks else resume(()) for region in op.regions]

    def choose(frame: Frame) -> Segment | None:
        value = frame.slots[condition]
        return yes(frame) if (value if value.__class__ is int else decided(value, op)) else no(frame)

    return choose


def _for(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs scf.for: the induction variable takes lower, lower + step, … below upper; the step
    must be positive, and the type must have the value after the last one, too (`SCFOps.td` of MLIR 24).
    """
    lower, upper, step, *initial = compiler.slots(op.operands)
    settings, type_ = compiler.settings, op.operands[0].type
    signed = "unsignedCmp" not in op.properties
    most = (1 << (settings.width(type_) - signed)) - 1

    def trips(slots: Slots) -> range:
        start, end, stride = (
            number(slots[slot], type_, op, name, settings, signed)
            for slot, name in ((lower, "lower bound"), (upper, "upper bound"), (step, "step"))
        )
        if stride <= 0:
            raise undefined(op, f"the step is {stride}, but must be positive")
        last = start + max(0, -((start - end) // stride)) * stride
        if last > most:
            raise undefined(op, f"{type_} does not have {last}, the induction variable after the last iteration")
        return range(start, end, stride)

    return counted_loop(op, compiler, initial, trips)


def _for_in_lanes(op: Operation, compiler: LaneCompiler) -> Action:
    """Return the action that runs scf.for in a batch."""
    lower, upper, step, *initial = compiler.slots(op.operands)
    type_ = op.operands[0].type
    width, signed = compiler.settings.width(type_), "unsignedCmp" not in op.properties

    def begun(slots: Slots) -> tuple[Number, Number]:
        run: Run = slots[0]
        bounds = (slots[lower], slots[upper], slots[step])
        for bound, name in zip(bounds, ("lower bound", "upper bound", "step"), strict=True):
            if isinstance(bound, Value) and bound.poison is not None:
                raise undecided(bound, op, name, run.lanes)
        count, wrong, beyond = trips(*bounds, width, signed)
        if wrong.any():
            raise in_lanes(undefined(op, "the step must be positive"), run.lanes, wrong)
        if beyond.any():
            message = f"{type_} does not have the induction variable after the last iteration"
            raise in_lanes(undefined(op, message), run.lanes, beyond)
        return slots[lower], count

    return loop_in_lanes(op, compiler, initial, begun, lambda slots: slots[step], (step,))


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
    cases = op.prop("cases", DenseArrayAttr)
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
    operands={"condition": d.BOOL},
    results=_RESULTS,
    regions=(d.RegionSlot("thenRegion"), d.RegionSlot("elseRegion")),
    verify=forall.verify_if,
    verify_regions=forall.verify_if_regions,
    evaluate=OnFrames(_if, decides=0, words=lambda op, low: forms.either(op, low, low.word(op.operands[0]))),
)
scf.op(
    "for",
    custom=forms.FOR,
    operands=(
        d.Slot("lowerBound", d.INTEGER_OR_INDEX),
        d.Slot("upperBound", d.INTEGER_OR_INDEX),
        d.Slot("step", d.INTEGER_OR_INDEX),
        d.variadic("initArgs", d.ANY),
    ),
    results=_RESULTS,
    properties=(d.Property("unsignedCmp", d.UNIT_ATTR, optional=True),),
    regions=(d.RegionSlot("region"),),
    type_rules=(d.same_type("lowerBound", "upperBound", "step"),),
    verify=forall.verify_for,
    verify_regions=forall.verify_for_regions,
    evaluate=OnFrames(_for, in_lanes=_for_in_lanes, words=forms.for_),
)
scf.op(
    "while",
    custom=forms.WHILE,
    operands=(d.variadic("inits", d.ANY),),
    results=_RESULTS,
    regions=(d.RegionSlot("before"), d.RegionSlot("after")),
    verify=forall.verify_while,
    verify_regions=forall.verify_while_regions,
    evaluate=OnFrames(_while, words=forms.while_),
)
scf.op(
    "execute_region",
    custom=forms.EXECUTE_REGION,
    results=(d.variadic("result", d.ANY),),
    properties=(d.Property("no_inline", d.UNIT_ATTR, optional=True),),
    regions=(d.RegionSlot("region"),),
    verify=forall.verify_execute_region,
    verify_regions=forall.verify_execute_region_regions,
    evaluate=OnFrames(_execute_region, words=forms.once),
)
scf.op(
    "condition",
    "`(` $condition `)` attr-dict ($args^ `:` type($args))?",
    operands=(d.Slot("condition", d.BOOL), d.variadic("args", d.ANY)),
    traits=(d.Trait.TERMINATOR,),
    verify=inside("scf.while"),
    evaluate=OnFrames(yielded, decides=0, words=forms.yielded),
)
declare_yield(
    scf,
    slot="results",
    verify=inside("scf.execute_region", "scf.for", "scf.if", "scf.index_switch", "scf.while"),
    words=forms.yielded,
)
scf.op(
    "parallel",
    custom=forms.PARALLEL,
    operands=(
        *(d.variadic(name, d.INDEX) for name in ("lowerBound", "upperBound", "step")),
        d.variadic("initVals", d.ANY),
    ),
    results=_RESULTS,
    properties=(d.Property("unsignedCmp", d.UNIT_ATTR, optional=True, since=d.Schema.LLVM24, late=True),),
    regions=(d.RegionSlot("region"),),
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=verify_parallel,
    verify_regions=verify_parallel_regions,
    implicit_terminator="scf.reduce",
    evaluate=OnFrames(parallel, no_lanes=True),
)
scf.op(
    "reduce",
    custom=forms.REDUCE,
    operands=(d.variadic("operands", d.ANY),),
    regions=(d.RegionSlot("reductions", d.Arity.VARIADIC),),
    traits=(d.Trait.TERMINATOR,),
    verify=verify_reduce,
    evaluate=OnFrames(reduce, no_lanes=True),
)
scf.op(
    "reduce.return",
    "$result attr-dict `:` type($result)",
    operands={"result": d.ANY},
    traits=(d.Trait.TERMINATOR,),
    verify=verify_reduce_return,
    evaluate=OnFrames(yielded, words=forms.yielded),
)
scf.op(
    "forall",
    custom=FORALL,
    operands=(
        *(d.variadic(name, d.INDEX) for name in ("dynamicLowerBound", "dynamicUpperBound", "dynamicStep")),
        d.variadic("outputs", d.RANKED_TENSOR),
    ),
    results=_RESULTS,
    properties=(
        d.Property("mapping", forall.MAPPING, optional=True),
        *(d.Property(name, d.INTEGER_64_ARRAY_ATTR) for name in ("staticLowerBound", "staticStep", "staticUpperBound")),
    ),
    regions=(d.RegionSlot("region"),),
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=forall.verify,
    verify_regions=forall.verify_body,
    implicit_terminator="scf.forall.in_parallel",
    evaluate=OnFrames(forall.forall, no_lanes=True),
)
scf.op(
    "forall.in_parallel",
    "$region attr-dict",
    regions=(d.RegionSlot("region"),),
    traits=(d.Trait.TERMINATOR, d.Trait.NO_TERMINATOR),
    verify_regions=forall.verify_in_parallel,
    evaluate=OnFrames(forall.in_parallel, no_lanes=True),
)
scf.op(
    "index_switch",
    custom=SWITCH,
    operands={"arg": d.INDEX},
    results=_RESULTS,
    properties=(d.Property("cases", d.INTEGER_64_ARRAY_ATTR),),
    regions=(d.RegionSlot("defaultRegion"), d.RegionSlot("caseRegions", d.Arity.VARIADIC)),
    verify=forall.verify_index_switch,
    evaluate=OnFrames(_index_switch, no_lanes=True),
)
