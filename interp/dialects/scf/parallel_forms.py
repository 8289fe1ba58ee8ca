"""Custom forms of scf.parallel and scf.reduce."""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.declare.operands import SEGMENTS
from halfulp.interp.dialects.scf.forms import arrow_types, made, trailing_dictionary, types_text
from halfulp.interp.ir.attributes import DenseArrayAttr
from halfulp.interp.ir.base import Type
from halfulp.interp.ir.operations import Operation, Region, SSAValue
from halfulp.interp.ir.types import I32, INDEX
from halfulp.interp.text.op_parser import Argument, OpParser
from halfulp.interp.text.op_printer import OpPrinter


def _parenthesised(p: OpParser) -> list[int]:
    """Read ``(%a, %b, …)`` and return the tokens of the names."""
    p.expect("(")
    names = p.operand_tokens() if p.tokens[p.pos] != ")" else []
    p.expect(")")
    return names


def _parallel_parser(definition: OpDefinition) -> CustomParse:
    def parse(p: OpParser, at: int) -> Operation:
        variables = _parenthesised(p)
        lists = []
        for word in ("=", "to", "step"):
            if word == "=":
                p.expect(word)
            else:
                p.keyword(definition, word)
            lists.append((p.pos, _parenthesised(p)))
        for place, names in lists:
            if len(names) != len(variables):
                p.error(f"custom op '{definition.name}' expected {len(variables)} operands", place)
        initial = _parenthesised(p) if p.take("init") else []
        results = arrow_types(p)
        region = p.region(definition.name, [Argument(token, INDEX, None) for token in variables])
        p.terminated(region, "scf.reduce", at)
        operands = [p.use(token, INDEX) for _, names in lists for token in names]
        if len(initial) != len(results):
            p.error(
                f"custom op '{definition.name}' number of operands and types do not match: got {len(initial)} operands "
                f"and {len(results)} types",
                at,
            )
        operands += [p.use(token, type) for token, type in zip(initial, results, strict=True)]
        sizes = (*(len(names) for _, names in lists), len(initial))
        return made(p, at, definition, operands, results, [region], {SEGMENTS: DenseArrayAttr(I32, sizes)})

    return parse


def _print_parallel(printer: OpPrinter, operation: Operation) -> str:
    region = operation.regions[0]
    arguments = region.blocks[0].arguments
    rank = len(arguments)

    def names(values: Sequence[SSAValue]) -> str:
        return f"({', '.join(map(printer.name, values))})"

    lower, upper, step = (operation.operands[rank * k : rank * (k + 1)] for k in range(3))
    initial = operation.operands[3 * rank :]
    text = f" {names(arguments)} = {names(lower)} to {names(upper)} step {names(step)}"
    if initial:
        text += f" init {names(initial)}"
    results = [result.type for result in operation.results]
    if results:
        text += f" -> {types_text(printer, results, bare=True)}"
    text += f" {printer.region(region, operation, entry_arguments=False)}"
    return text + trailing_dictionary(printer, operation)


def _reduce_parser(definition: OpDefinition) -> CustomParse:
    def parse(p: OpParser, at: int) -> Operation:
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
        return made(p, at, definition, operands, (), regions)

    return parse


def _print_reduce(printer: OpPrinter, operation: Operation) -> str:
    text = ""
    if operation.operands:
        types = ", ".join(printer.type(value.type) for value in operation.operands)
        text = f"({', '.join(map(printer.name, operation.operands))} : {types})"
    regions = ", ".join(printer.region(region, operation) for region in operation.regions)
    return f"{text} {regions}" + trailing_dictionary(printer, operation)


PARALLEL = CustomForm(_parallel_parser, _print_parallel)
REDUCE = CustomForm(_reduce_parser, _print_reduce)
