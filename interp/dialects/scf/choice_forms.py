"""Custom forms of scf.forall and scf.index_switch."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.declare.operands import SEGMENTS, operand_sizes
from halfulp.interp.dialects.indices import DYNAMIC, constant
from halfulp.interp.dialects.scf.forms import arrow_types, made, trailing_dictionary, types_text
from halfulp.interp.ir.attributes import DenseArrayAttr
from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue
from halfulp.interp.ir.types import I32, I64, INDEX
from halfulp.interp.text.mixed_lists import print_mixed, read_mixed
from halfulp.interp.text.op_parser import Argument, OpParser
from halfulp.interp.text.op_printer import OpPrinter

BOUNDS = ("staticLowerBound", "staticUpperBound", "staticStep")

# --- forall -----------------------------------------------------------------------------------------------------------


def _constants(number: int, count: int) -> DenseArrayAttr:
    return DenseArrayAttr(I64, (number,) * count)


def _forall_parser(definition: OpDefinition) -> CustomParse:
    def parse(p: OpParser, at: int) -> Operation:
        p.expect("(")
        variables = p.operand_tokens()
        p.expect(")")
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
            p.expect("(")
            while p.tokens[p.pos] != ")":
                carried.append(p.operand_token())
                p.expect("=")
                initial.append(p.operand_token())
                if not p.take(","):
                    break
            p.expect(")")
            results = arrow_types(p)
        if len(results) != len(initial):
            p.error(
                f"custom op '{definition.name}' number of operands and types do not match: got {len(initial)} operands "
                f"and {len(results)} types",
                at_outs,
            )
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
        return made(p, at, definition, operands, results, [region], properties)

    return parse


def _are(number: int, written: DenseArrayAttr, values: Sequence[SSAValue]) -> bool:
    """Tell whether all numbers of a list are the same one. A value that is a constant counts as its number."""
    dynamic = iter(values)
    return all((constant(next(dynamic)) if each == DYNAMIC else each) == number for each in written.values)


def _print_forall(printer: OpPrinter, op: Operation) -> str:
    assert op.definition is not None
    sizes = operand_sizes(op, op.definition) or [0, 0, 0, 0]
    groups, start = [], 0
    for size in sizes:
        groups.append(op.operands[start : start + size])
        start += size
    lists = []
    for name, values in zip(BOUNDS, groups, strict=False):
        numbers = op.properties[name]
        assert isinstance(numbers, DenseArrayAttr)
        lists.append((numbers, values))
    region = op.regions[0]
    rank = len(lists[1][0].codes)
    arguments = region.blocks[0].arguments
    text = f" ({', '.join(map(printer.name, arguments[:rank]))})"
    plain = _are(0, *lists[0]) and _are(1, *lists[2])
    texts = [print_mixed(printer, numbers, values, "()") for numbers, values in lists]
    text += f" in {texts[1]}" if plain else f" = {texts[0]} to {texts[1]} step {texts[2]}"
    if groups[3]:
        pairs = zip(arguments[rank:], groups[3], strict=True)
        outs = ", ".join(f"{printer.name(argument)} = {printer.name(value)}" for argument, value in pairs)
        text += f" shared_outs({outs}) -> {types_text(printer, [value.type for value in groups[3]], bare=False)}"
    text += f" {printer.region(region, op, entry_arguments=False, terminators=bool(op.results))}"
    shown = dict(op.attributes)
    if "mapping" in op.properties:
        shown = {"mapping": op.properties["mapping"], **shown}
    return text + (f" {printer.dictionary(shown)}" if shown else "")


FORALL = CustomForm(_forall_parser, _print_forall)

# --- index_switch -----------------------------------------------------------------------------------------------------


def _switch_parser(definition: OpDefinition) -> CustomParse:
    def parse(p: OpParser, at: int) -> Operation:
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

    return parse


def _print_switch(printer: OpPrinter, op: Operation) -> str:
    cases = op.properties["cases"]
    assert isinstance(cases, DenseArrayAttr)
    text = f" {printer.name(op.operands[0])}" + trailing_dictionary(printer, op)
    types = [result.type for result in op.results]
    text += f" -> {', '.join(map(printer.type, types))} " if types else " "
    default, *others = op.regions
    for number, region in zip(cases.values, others, strict=True):
        text += f"\n{printer.indent}case {number} {printer.region(region, op)}"
    return text + f"\n{printer.indent}default {printer.region(default, op, terminators=bool(types))}"


SWITCH = CustomForm(_switch_parser, _print_switch)
