"""The ops of StableHLO that choose, repeat and call: if, case, while, return; optimization_barrier."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.regions import assignments, print_assignments, types_text, yielded
from halfulp.interp.dialects.stablehlo.bodies import verify_branches, verify_while
from halfulp.interp.dialects.stablehlo.types import I32_TENSOR, stablehlo, tensor_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Compiler, OnFrames, OnValues, moves, passing
from halfulp.interp.run.frames import Action, Frame, Segment, decided, number
from halfulp.interp.text.op_parser import Argument, OpParser, OpPrinter

_VALUES = (d.variadic("result", d.ANY),)

stablehlo.op(
    "return",
    "($results^ `:` type($results))? attr-dict",
    operands=(d.variadic("results", d.ANY),),
    traits=(d.Trait.TERMINATOR, d.Trait.RETURN_LIKE),
    evaluate=OnFrames(yielded),
)

# --- while ------------------------------------------------------------------------------------------------------------


def _parse_while(p: OpParser, at: int, definition: d.OpDefinition) -> Operation:
    names, initial = assignments(p)
    types: Sequence[ty.Type] = ()
    if p.take(":"):
        types = p.type_list()
    if len(types) != len(initial):
        p.error(
            f"custom op '{definition.name}' number of operands and types do not match: got {len(initial)} operands "
            f"and {len(types)} types",
            at,
        )
    attributes = {}
    if p.take("attributes"):
        attributes = p.optional_dictionary()
    operands = [p.use(token, type_) for token, type_ in zip(initial, types, strict=True)]
    regions = []
    for word in ("cond", "do"):
        p.keyword(definition, word)
        arguments = [Argument(token, type_, None) for token, type_ in zip(names, types, strict=True)]
        regions.append(p.region(definition.name, arguments))
    return p.placed(Operation(definition.name, definition, operands, types, {}, attributes, regions), at)


def _print_while(printer: OpPrinter, op: Operation) -> str:
    condition, body = op.regions
    text = print_assignments(printer, "", condition.blocks[0], 0, op.operands).strip(" ")
    text += f" : {types_text(printer, [value.type for value in op.operands], bare=True).strip('()')}"
    if op.attributes:
        text += f" attributes {printer.dictionary(op.attributes)}"
    text += f"\n{printer.indent}cond {printer.region(condition, op, entry_arguments=False)}"
    return f"{text} do {printer.region(body, op, entry_arguments=False)}"


def _while(op: Operation, compiler: Compiler) -> Action:
    resume = compiler.resume(op)
    condition, body = (compiler.block(region.blocks[0]) for region in op.regions)
    terminator = op.regions[0].blocks[0].operations[-1]
    state = compiler.slots(op.results)
    finish, enter = resume(state), moves(state, body.arguments)

    def deciding(sources: Sequence[int]) -> Action:
        (decision,) = sources

        def decide(frame: Frame) -> Segment | None:
            slots = frame.slots
            value = slots[decision]
            if not decided(value, terminator):
                return finish(frame)
            for step in enter:
                step(slots)
            return body

        return decide

    def again(sources: Sequence[int]) -> Action:
        return passing((*moves(sources, state), *moves(state, condition.arguments)), condition)

    compiler.region(op.regions[0], deciding)
    compiler.region(op.regions[1], again)
    return again(compiler.slots(op.operands))


stablehlo.op(
    "while",
    custom=d.CustomForm(_parse_while, _print_while),
    operands=(d.variadic("operand", d.ANY),),
    results=_VALUES,
    regions=(d.RegionSlot("cond"), d.RegionSlot("body")),
    traits=(d.Trait.SINGLE_BLOCK,),
    verify_regions=verify_while,
    named_arguments=lambda op: ["iterArg"] * len(op.operands),
    evaluate=OnFrames(_while, no_lanes=True),
)

# --- if and case ------------------------------------------------------------------------------------------------------


def _branches(op: Operation, compiler: Compiler) -> list[Action]:
    resume = compiler.resume(op)
    return [passing((), compiler.region(region, resume)) for region in op.regions]


def _if(op: Operation, compiler: Compiler) -> Action:
    (argument,) = compiler.slots(op.operands)
    yes, no = _branches(op, compiler)

    def choose(frame: Frame) -> Segment | None:
        value = frame.slots[argument]
        return (yes if decided(value, op) else no)(frame)

    return choose


def _case(op: Operation, compiler: Compiler) -> Action:
    (argument,) = compiler.slots(op.operands)
    branches = _branches(op, compiler)

    def choose(frame: Frame) -> Segment | None:
        chosen = number(frame.slots[argument], ty.I32, op, "index", compiler.settings)
        return branches[chosen if 0 <= chosen < len(branches) else -1](frame)

    return choose


stablehlo.op(
    "if",
    operands={"pred": tensor_of("B")},
    results=_VALUES,
    regions=(d.RegionSlot("true_branch"), d.RegionSlot("false_branch")),
    traits=(d.Trait.SINGLE_BLOCK,),
    verify_regions=verify_branches,
    evaluate=OnFrames(_if, no_lanes=True),
)
stablehlo.op(
    "case",
    operands={"index": I32_TENSOR},
    results=_VALUES,
    regions=(d.RegionSlot("branches", d.Arity.VARIADIC),),
    traits=(d.Trait.SINGLE_BLOCK,),
    verify_regions=verify_branches,
    evaluate=OnFrames(_case, no_lanes=True),
)

# --- barriers ---------------------------------------------------------------------------------------------------------

stablehlo.op(
    "optimization_barrier",
    "$operand attr-dict `:` type($operand)",
    operands=(d.variadic("operand", d.ANY),),
    results=_VALUES,
    type_rules=(d.same_type("operand", "result"),),
    evaluate=OnValues(lambda op, settings: lambda run, operands: operands),
)
