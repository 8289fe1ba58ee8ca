"""Custom forms of the scf dialect, which MLIR writes by hand.

A region without a terminator gets ``scf.yield`` when it is read, at the location of the op around it. Where the op
passes no values, the terminator is not printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from halfulp.fp_formats.paths.words import Word
from halfulp.interp.declare.declarations import CustomForm, OpDefinition
from halfulp.interp.declare.operands import SEGMENTS
from halfulp.interp.dialects.regions import (
    argument_list,
    arrow_types,
    assignments,
    build_op,
    carried,
    loop_regions,
    loop_type,
    parenthesised,
    print_carried,
    print_choice,
    print_while,
    read_choice,
    trailing_dictionary,
    types_text,
)
from halfulp.interp.ir.attributes import DenseArrayAttr, UnitAttr
from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.operations import Operation, Region, SSAValue
from halfulp.interp.ir.types import I1, I32, INDEX
from halfulp.interp.run.limits import NotCompiled
from halfulp.interp.text.op_parser import Argument, OpParser, OpPrinter

if TYPE_CHECKING:
    from halfulp.interp.run.compiled.lowering import FunctionLowering, Item, OnYield

_UNIT = UnitAttr()


# --- if -------------------------------------------------------------------------------------------------------------


def _parse_if(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    condition = p.use(p.operand_token(), I1)
    results = arrow_types(p)
    return build_op(p, at, definition, [condition], results, read_choice(p, at, definition, "scf.yield"))


def _print_if(printer: OpPrinter, operation: Operation) -> str:
    return f" {printer.name(operation.operands[0])}{print_choice(printer, operation, bare=False)}"


# --- for ------------------------------------------------------------------------------------------------------------


def _parse_for(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    properties: dict[str, Attribute] = {"unsignedCmp": _UNIT} if p.take("unsigned") else {}
    variable = p.operand_token()
    bounds = []
    for keyword in ("=", "to", "step"):
        if keyword == "=":
            p.expect(keyword)
        else:
            p.keyword(definition, keyword)
        bounds.append(p.operand_token())
    names, initial, results = carried(p)
    if len(names) != len(results):
        p.wrong(definition.name, "mismatch in number of loop-carried values and defined values", at)
    type = p.type() if p.take(":") else INDEX
    arguments = [Argument(token, kind, None) for token, kind in zip((variable, *names), (type, *results), strict=True)]
    region = p.terminated(p.region(definition.name, arguments), "scf.yield", at)
    # After the region, so that no value of the body is taken for one that is defined later.
    operands = [p.use(token, type) for token in bounds]
    operands += [p.use(token, kind) for token, kind in zip(initial, results, strict=True)]
    return build_op(p, at, definition, operands, results, [region], properties)


def _print_for(printer: OpPrinter, operation: Operation) -> str:
    region = operation.regions[0]
    entry = region.blocks[0]
    lower, upper, step = (printer.name(value) for value in operation.operands[:3])
    text = " unsigned" if "unsignedCmp" in operation.properties else ""
    text += f" {printer.name(entry.arguments[0])} = {lower} to {upper} step {step}"
    initial = operation.operands[3:]
    text += print_carried(printer, entry, initial)
    type = entry.arguments[0].type
    if type != INDEX:
        text += f"  : {printer.type(type)}"
    text += f" {printer.region(region, operation, entry_arguments=False, terminators=bool(initial))}"
    return text + trailing_dictionary(printer, operation)


# --- while ----------------------------------------------------------------------------------------------------------


def _parse_while(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    names, initial = assignments(p) if p.tokens[p.pos] == "(" else ([], [])
    at_type = p.pos
    p.expect(":")
    type = loop_type(p, definition, len(initial), at_type)
    operands, regions = loop_regions(p, definition, names, initial, type)
    return build_op(p, at, definition, operands, type.results, regions, keyword=True)


# --- execute_region -------------------------------------------------------------------------------------------------


def _parse_execute_region(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    results = arrow_types(p)
    properties: dict[str, Attribute] = {"no_inline": _UNIT} if p.take("no_inline") else {}
    return build_op(p, at, definition, [], results, [p.region(definition.name)], properties)


def _print_execute_region(printer: OpPrinter, operation: Operation) -> str:
    types = [result.type for result in operation.results]
    text = f" -> {types_text(printer, types, bare=True)}" if types else ""
    if "no_inline" in operation.properties:
        text += " no_inline"
    return f"{text} {printer.region(operation.regions[0], operation)}{trailing_dictionary(printer, operation)}"


IF = CustomForm(_parse_if, _print_if)
FOR = CustomForm(_parse_for, _print_for)
WHILE = CustomForm(_parse_while, print_while)
EXECUTE_REGION = CustomForm(_parse_execute_region, _print_execute_region)


# --- words ------------------------------------------------------------------------------------------------------------
#
# The scf ops that compiled code covers, on machine words.


def for_(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of scf.for."""
    lower, upper, step = low.words(op.operands[:3])
    low.counted(op, lower, upper, step, low.items(op.operands[3:]), "unsignedCmp" not in op.properties)


def while_(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of scf.while."""
    before, after = [region.blocks[0] for region in op.regions]
    arrive, follow = low.joint(op)

    def decide(items: Sequence[Item]) -> None:
        condition, *passed = items
        if not isinstance(condition, Word):
            raise NotCompiled("a condition that is poison")
        low.ways(condition, lambda: low.go(after, passed), lambda: arrive(passed))

    low.go(before, low.items(op.operands))
    low.region(op.regions[0], decide)
    low.region(op.regions[1], lambda items: low.go(before, items))
    follow()


def either(op: Operation, low: FunctionLowering, condition: Word) -> None:
    """Make the machine code of an op with two regions. The first region runs if the condition, of one bit, is 1; else
    the second one, if it exists.
    """
    arrive, follow = low.joint(op)
    low.ways(condition, *(partial(_enter, low, region, arrive) for region in op.regions))
    for region in op.regions:
        low.region(region, arrive)
    follow()


def _enter(low: FunctionLowering, region: Region, otherwise: OnYield) -> None:
    """Continue in a region, or, if it has no block, where it would yield nothing."""
    if region.blocks:
        low.go(region.blocks[0], ())
    else:
        otherwise(())


def once(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of an op whose region runs once."""
    arrive, follow = low.joint(op)
    low.go(op.regions[0].blocks[0], ())
    low.region(op.regions[0], arrive)
    follow()


def yielded(op: Operation, low: FunctionLowering) -> None:
    """Make the machine code of a terminator whose meaning the op around its region defines."""
    low.yielded(op.operands)


# --- parallel forms ---------------------------------------------------------------------------------------------------
#
# Custom forms of scf.parallel and scf.reduce.


def _parse_parallel(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    properties: dict[str, Attribute] = {"unsignedCmp": _UNIT} if p.take("unsigned") else {}
    variables = argument_list(p)
    lists = []
    for word in ("=", "to", "step"):
        if word == "=":
            p.expect(word)
        else:
            p.keyword(definition, word)
        lists.append((p.pos, parenthesised(p)))
    for place, names in lists:
        if len(names) != len(variables):
            p.wrong(definition.name, f"expected {len(variables)} operands", place)
    initial = parenthesised(p) if p.take("init") else []
    results = arrow_types(p)
    region = p.region(definition.name, [Argument(token, INDEX, None) for token in variables])
    p.terminated(region, "scf.reduce", at)
    operands = [p.use(token, INDEX) for _, names in lists for token in names]
    operands += p.uses(definition.name, initial, results, at)
    sizes = (*(len(names) for _, names in lists), len(initial))
    properties[SEGMENTS] = DenseArrayAttr(I32, sizes)
    return build_op(p, at, definition, operands, results, [region], properties)


def _print_parallel(printer: OpPrinter, operation: Operation) -> str:
    region = operation.regions[0]
    arguments = region.blocks[0].arguments
    rank = len(arguments)

    def names(values: Sequence[SSAValue]) -> str:
        return f"({', '.join(map(printer.name, values))})"

    lower, upper, step = (operation.operands[rank * k : rank * (k + 1)] for k in range(3))
    initial = operation.operands[3 * rank :]
    unsigned = " unsigned" if "unsignedCmp" in operation.properties else ""
    text = f"{unsigned} {names(arguments)} = {names(lower)} to {names(upper)} step {names(step)}"
    if initial:
        text += f" init {names(initial)}"
    results = [result.type for result in operation.results]
    if results:
        text += f" -> {types_text(printer, results, bare=True)}"
    text += f" {printer.region(region, operation, entry_arguments=False)}"
    return text + trailing_dictionary(printer, operation)


def _parse_reduce(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    names: list[int] = []
    types: Sequence[Type] = ()
    if p.take("("):
        if p.tokens[p.pos] != ")":
            names = p.operand_tokens()
            p.expect(":")
            types = p.type_list()
        p.expect(")")
    regions: list[Region] = []
    while len(regions) < len(names):
        regions.append(p.region(definition.name))
        if not p.take(","):
            break
    operands = [p.use(token, type) for token, type in zip(names, types, strict=False)]
    return build_op(p, at, definition, operands, (), regions)


def _print_reduce(printer: OpPrinter, operation: Operation) -> str:
    text = ""
    if operation.operands:
        types = ", ".join(printer.type(value.type) for value in operation.operands)
        text = f"({', '.join(map(printer.name, operation.operands))} : {types})"
    regions = ", ".join(printer.region(region, operation) for region in operation.regions)
    return f"{text} {regions}" + trailing_dictionary(printer, operation)


PARALLEL = CustomForm(_parse_parallel, _print_parallel)
REDUCE = CustomForm(_parse_reduce, _print_reduce)
