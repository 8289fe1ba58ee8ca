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
from halfulp.interp.declare.operands import SEGMENTS, move_inherent
from halfulp.interp.ir.attributes import DenseArrayAttr, UnitAttr
from halfulp.interp.ir.base import Attribute, Type
from halfulp.interp.ir.operations import Block, Operation, Region, SSAValue
from halfulp.interp.ir.types import I1, I32, INDEX, FunctionType
from halfulp.interp.run.limits import NotCompiled
from halfulp.interp.text.op_parser import Argument, OpParser, OpPrinter

if TYPE_CHECKING:
    from halfulp.interp.run.compiled.lowering import FunctionLowering, Item, OnYield

_UNIT = UnitAttr()


def build_op(
    p: OpParser,
    at: int,
    definition: OpDefinition,
    operands: list[SSAValue],
    results: Sequence[Type],
    regions: Sequence[Region],
    properties: dict[str, Attribute] | None = None,
    keyword: bool = False,
) -> Operation:
    """Read the trailing dictionary and make the op. ``keyword``: the dictionary stands after ``attributes``."""
    properties = {} if properties is None else properties
    attributes: dict[str, Attribute] = {}
    if p.tokens[p.pos] == ("attributes" if keyword else "{"):
        p.pos += keyword
        p.dictionary(attributes)
        move_inherent(definition, properties, attributes)
    return p.placed(Operation(definition.name, definition, operands, results, properties, attributes, regions), at)


def arrow_types(p: OpParser) -> tuple[Type, ...]:
    """Read ``-> types``, if it is there."""
    return p.function_results() if p.take("->") else ()


def _assignments(p: OpParser) -> tuple[list[int], list[int]]:
    """Read ``(%argument = %operand, …)`` and return the tokens of both. Locations of the arguments are left to the
    caller.
    """
    arguments: list[int] = []
    operands: list[int] = []
    p.expect("(")
    while p.tokens[p.pos] != ")":
        arguments.append(p.operand_token())
        p.expect("=")
        operands.append(p.operand_token())
        if not p.take(","):
            break
    p.expect(")")
    return arguments, operands


def _print_assignments(printer: OpPrinter, keyword: str, block: Block, first: int, values: Sequence[SSAValue]) -> str:
    """Print `` keyword(%argument = %operand, …)``; nothing without operands."""
    if not values:
        return ""
    pairs = zip(block.arguments[first:], values, strict=True)
    return f" {keyword}({', '.join(f'{printer.name(a)} = {printer.name(value)}' for a, value in pairs)})"


def types_text(printer: OpPrinter, types: Sequence[Type], bare: bool) -> str:
    """Print types in parentheses; a single one without them if ``bare`` and it is not a function type."""
    texts = [printer.type(type) for type in types]
    if bare and len(types) == 1 and not isinstance(types[0], FunctionType):
        return texts[0]
    return f"({', '.join(texts)})"


def trailing_dictionary(printer: OpPrinter, operation: Operation, keyword: str = "") -> str:
    """Print the attributes of an op behind a keyword; nothing where it has none."""
    return f"{keyword} {printer.dictionary(operation.attributes)}" if operation.attributes else ""


# --- if -------------------------------------------------------------------------------------------------------------


def _parse_if(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    condition = p.use(p.operand_token(), I1)
    results = arrow_types(p)
    regions = [p.terminated(p.region(definition.name), "scf.yield", at), Region()]
    if p.take("else"):
        regions[1] = p.terminated(p.region(definition.name), "scf.yield", at)
    return build_op(p, at, definition, [condition], results, regions)


def _print_if(printer: OpPrinter, operation: Operation) -> str:
    types = [result.type for result in operation.results]
    text = f" {printer.name(operation.operands[0])}"
    if types:
        text += f" -> {types_text(printer, types, bare=False)}"
    then, otherwise = (
        printer.region(region, operation, entry_arguments=False, terminators=bool(types)) if region.blocks else ""
        for region in operation.regions
    )
    text += f" {then}"
    if otherwise:
        text += f" else {otherwise}"
    return text + trailing_dictionary(printer, operation)


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
    names: list[int] = []
    initial: list[int] = []
    results: tuple[Type, ...] = ()
    if p.take("iter_args"):
        names, initial = _assignments(p)
        p.expect("->")
        results = p.function_results()
    if len(names) != len(results):
        p.error(f"custom op '{definition.name}' mismatch in number of loop-carried values and defined values", at)
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
    if initial:
        text += _print_assignments(printer, "iter_args", entry, 1, initial)
        text += f" -> {types_text(printer, [value.type for value in initial], bare=False)}"
    type = entry.arguments[0].type
    if type != INDEX:
        text += f"  : {printer.type(type)}"
    text += f" {printer.region(region, operation, entry_arguments=False, terminators=bool(initial))}"
    return text + trailing_dictionary(printer, operation)


# --- while ----------------------------------------------------------------------------------------------------------


def _parse_while(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    names, initial = _assignments(p) if p.tokens[p.pos] == "(" else ([], [])
    at_type = p.pos
    p.expect(":")
    type = p.type()
    if not isinstance(type, FunctionType):
        p.error(
            f"custom op '{definition.name}' invalid kind of type specified: expected builtin.function, but found "
            f"'{type}'",
            at_type,
        )
    if len(type.inputs) != len(initial):
        p.error(
            f"custom op '{definition.name}' expected as many input types as operands (expected {len(initial)} "
            f"got {len(type.inputs)})",
            at_type,
        )
    operands = [p.use(token, kind) for token, kind in zip(initial, type.inputs, strict=True)]
    arguments = [Argument(token, kind, None) for token, kind in zip(names, type.inputs, strict=True)]
    before = p.region(definition.name, arguments)
    p.keyword(definition, "do")
    regions = [before, p.region(definition.name)]
    return build_op(p, at, definition, operands, type.results, regions, keyword=True)


def _print_while(printer: OpPrinter, operation: Operation) -> str:
    before, after = operation.regions
    operands = operation.operands
    text = _print_assignments(printer, "", before.blocks[0], 0, operands)
    inputs = types_text(printer, [value.type for value in operands], bare=False)
    results = types_text(printer, [result.type for result in operation.results], bare=True)
    text += f" : {inputs} -> {results} {printer.region(before, operation, entry_arguments=False)}"
    text += f" do {printer.region(after, operation)}"
    return text + trailing_dictionary(printer, operation, " attributes")


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
WHILE = CustomForm(_parse_while, _print_while)
EXECUTE_REGION = CustomForm(_parse_execute_region, _print_execute_region)


# --- words ------------------------------------------------------------------------------------------------------------
#
# The scf ops that compiled code covers, on machine words.


def for_(op: Operation, low: FunctionLowering) -> None:
    """Lower scf.for."""
    lower, upper, step = low.words(op.operands[:3])
    low.counted(op, lower, upper, step, low.items(op.operands[3:]), "unsignedCmp" not in op.properties)


def while_(op: Operation, low: FunctionLowering) -> None:
    """Lower scf.while."""
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


def if_(op: Operation, low: FunctionLowering) -> None:
    """Lower scf.if."""
    either(op, low, low.word(op.operands[0]))


def either(op: Operation, low: FunctionLowering, condition: Word) -> None:
    """Lower an op with two regions: the first runs where a condition of one bit holds, else the second, if any."""
    arrive, follow = low.joint(op)
    low.ways(condition, *(partial(_enter, low, region, arrive) for region in op.regions))
    for region in op.regions:
        low.region(region, arrive)
    follow()


def _enter(low: FunctionLowering, region: Region, otherwise: OnYield) -> None:
    """Go on in a region, or where it would yield nothing if it has no block."""
    if region.blocks:
        low.go(region.blocks[0], ())
    else:
        otherwise(())


def once(op: Operation, low: FunctionLowering) -> None:
    """Lower an op whose region runs once."""
    arrive, follow = low.joint(op)
    low.go(op.regions[0].blocks[0], ())
    low.region(op.regions[0], arrive)
    follow()


def yielded(op: Operation, low: FunctionLowering) -> None:
    """Lower a terminator whose meaning the op around its region defines."""
    low.yielded(op.operands)


# --- parallel forms ---------------------------------------------------------------------------------------------------
#
# Custom forms of scf.parallel and scf.reduce.


def _parenthesised(p: OpParser) -> list[int]:
    """Read ``(%a, %b, …)`` and return the tokens of the names."""
    p.expect("(")
    names = p.operand_tokens() if p.tokens[p.pos] != ")" else []
    p.expect(")")
    return names


def _parse_parallel(p: OpParser, at: int, definition: OpDefinition) -> Operation:
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
    return build_op(p, at, definition, operands, results, [region], {SEGMENTS: DenseArrayAttr(I32, sizes)})


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
