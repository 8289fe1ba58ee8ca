"""The ops of StableHLO that choose and repeat: if, case, while, return; barriers, tokens and tuples."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.regions import while_loop, yielded
from halfulp.interp.dialects.stablehlo.attributes import COUNT_32
from halfulp.interp.dialects.stablehlo.bodies import verify_branches, verify_while
from halfulp.interp.dialects.stablehlo.forms import FUNCTION_TYPE
from halfulp.interp.dialects.stablehlo.types import (
    A_TOKEN,
    A_TUPLE,
    ANY_VALUE,
    I32_TENSOR,
    TENSOR_OR_TOKEN,
    TOKEN,
    VALUE_OR_BUFFER,
    VALUE_OR_TOKEN,
    not_inferred,
    operand_types,
    stablehlo,
    tensor_of,
)
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Compiler, OnFrames, OnValues, passing
from halfulp.interp.run.frames import Action, Frame, Function, Segment, decided, number
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.op_parser import Argument, OpParser, OpPrinter

_VALUES = (d.variadic("result", VALUE_OR_TOKEN),)

stablehlo.op(
    "return",
    "$results attr-dict (`:` type($results)^)?",
    operands=(d.variadic("results", VALUE_OR_BUFFER),),
    traits=(d.Trait.TERMINATOR, d.Trait.RETURN_LIKE),
    evaluate=OnFrames(yielded),
)

# --- while ------------------------------------------------------------------------------------------------------------


def _parse_while(p: OpParser, at: int, definition: d.OpDefinition) -> Operation:
    start = p.pos
    p.expect("(")
    names: list[int] = []
    initial: list[int] = []
    while not p.take(")"):
        names.append(p.operand_token())
        p.expect("=")
        initial.append(p.operand_token())
        if p.take(")"):
            break
        p.expect(",")
    types: Sequence[ty.Type] = ()
    if names:
        p.expect(":")
        types = p.type_list()
    operands = p.uses(definition.name, initial, types, start)
    attributes = p.optional_dictionary() if p.take("attributes") else {}
    regions = []
    for word in ("cond", "do"):
        p.keyword(definition, word)
        arguments = [Argument(token, type_, None) for token, type_ in zip(names, types, strict=True)]
        regions.append(p.region(definition.name, arguments))
    return p.placed(Operation(definition.name, definition, operands, types, {}, attributes, regions), at)


def _print_while(printer: OpPrinter, op: Operation) -> str:
    condition, body = op.regions
    pairs = zip(body.blocks[0].arguments, op.operands, strict=True)
    text = f"({', '.join(f'{printer.name(one)} = {printer.name(other)}' for one, other in pairs)})"
    if op.operands:
        text += f" : {', '.join(printer.type(value.type) for value in op.operands)}"
    if op.attributes:
        text += f" attributes {printer.dictionary(op.attributes)}"
    text += f"\n{printer.indent}cond {printer.region(condition, op, entry_arguments=False)}"
    return f"{text} do {printer.region(body, op, entry_arguments=False)}"


stablehlo.op(
    "while",
    custom=d.CustomForm(_parse_while, _print_while),
    operands=(d.variadic("operand", VALUE_OR_BUFFER),),
    results=(d.variadic("result", VALUE_OR_BUFFER),),
    regions=(d.RegionSlot("cond"), d.RegionSlot("body")),
    traits=(d.Trait.SINGLE_BLOCK,),
    verify=verify_while,
    verify_regions=lambda op: not_inferred(op, *operand_types(op)),
    named_arguments=lambda op: ["iterArg"] * len(op.operands),
    evaluate=OnFrames(while_loop, no_lanes=True),
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

# --- barriers, tokens and tuples --------------------------------------------------------------------------------------


def _same_types(op: Operation) -> str | None:
    if len(op.operands) != len(op.results):
        return "requires the same number of operands and results"
    for index, (one, other) in enumerate(zip(op.operands, op.results, strict=True)):
        if one.type != other.type:
            return f"requires the same type for operand and result at index {index}"
    return not_inferred(op, *operand_types(op))


stablehlo.op(
    "optimization_barrier",
    "attr-dict ($operand^ `:` custom<PairwiseOpType>($operand, $result)):(`(` `)`)?",
    operands=(d.variadic("operand", TENSOR_OR_TOKEN),),
    results=(d.variadic("result", TENSOR_OR_TOKEN),),
    verify=_same_types,
    evaluate=OnValues(lambda op, settings: lambda run, operands: operands),
)


def _token(op: Operation, settings: Settings) -> Function:
    """Return the function that makes a token. All tokens are alike: ops run in the order of the program."""
    return lambda run, operands: ((),)


stablehlo.op(
    "create_token",
    "attr-dict `:` type(results)",
    results={"output": A_TOKEN},
    verify=lambda op: not_inferred(op, TOKEN),
    evaluate=OnValues(_token, raw=True, no_lanes=True),
)
stablehlo.op(
    "after_all",
    "$inputs attr-dict `:` custom<VariadicSameOperandsAndResultType>($inputs, $result)",
    operands=(d.variadic("inputs", A_TOKEN),),
    results={"result": A_TOKEN},
    verify=lambda op: not_inferred(op, TOKEN),
    evaluate=OnValues(_token, raw=True, no_lanes=True),
)


def _verify_element(op: Operation) -> str | None:
    type_, index = op.operands[0].type, op.number("index")
    assert isinstance(type_, ty.TupleType)
    if index >= len(type_.elements):
        return d.Unprefixed(f"index {index} is out of bounds of operand with size {len(type_.elements)}")
    return not_inferred(op, type_.elements[index])


def _element(op: Operation, settings: Settings) -> Function:
    index = op.number("index")
    return lambda run, operands: (operands[0][index],)


stablehlo.op(
    "get_tuple_element",
    f"$operand `[` $index `]` {FUNCTION_TYPE}",
    operands={"operand": A_TUPLE},
    results={"result": ANY_VALUE},
    properties=(d.Property("index", COUNT_32),),
    verify=_verify_element,
    evaluate=OnValues(_element, raw=True, no_lanes=True),
)
stablehlo.op(
    "tuple",
    "$val attr-dict `:` custom<TupleOpType>($val, $result)",
    operands=(d.variadic("val", ANY_VALUE),),
    results={"result": A_TUPLE},
    verify=lambda op: not_inferred(op, ty.TupleType(tuple(operand_types(op)))),
    evaluate=OnValues(lambda op, settings: lambda run, operands: (tuple(operands),), raw=True, no_lanes=True),
)
