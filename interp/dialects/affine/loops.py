"""affine.for: a loop whose bounds are the largest and the smallest results of maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from halfulp.interp.declare.declarations import CustomForm, OpDefinition
from halfulp.interp.declare.operands import SEGMENTS, operand_groups
from halfulp.interp.dialects.affine.formulas import apply_kernel, formula_of
from halfulp.interp.dialects.affine.symbols import misused, print_lists, read_lists, used
from halfulp.interp.dialects.regions import build_op, carried, counted_loop, print_carried, trailing_dictionary
from halfulp.interp.dialects.slices import numbers
from halfulp.interp.ir.affine_expressions import AffineConstant, Symbol
from halfulp.interp.ir.attributes import AffineMapAttr, DenseArrayAttr, IntegerAttr
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, SSAValue, undefined
from halfulp.interp.ir.types import I32, INDEX
from halfulp.interp.run.batch.compiler import LaneCompiler
from halfulp.interp.run.batch.loop_trips import Number, loop_in_lanes, trips
from halfulp.interp.run.batch.run import LaneRun
from halfulp.interp.run.evaluators import Compiler
from halfulp.interp.run.frames import Action, Run, Slots
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.op_parser import Argument, OpParser, OpPrinter

# --- forms ------------------------------------------------------------------------------------------------------------


def _read_bound(p: OpParser, definition: OpDefinition, word: str) -> tuple[AffineMapAttr, list[int]]:
    """Read a bound: a value, a number, or a map over values, with ``max`` or ``min`` in front of several results."""
    several = p.take(word)
    at = p.pos
    if p.tokens[at][:1] == "%":
        return AffineMapAttr(0, 1, (Symbol(0),)), [p.operand_token()]
    bound = p.attribute(INDEX)
    if isinstance(bound, IntegerAttr):
        return AffineMapAttr(0, 0, (AffineConstant(bound.value),)), []
    if not isinstance(bound, AffineMapAttr):
        p.wrong(definition.name, "expected valid affine map representation for loop bounds", at)
    tokens, dimensions = read_lists(p)
    if dimensions != bound.dimensions:
        p.error("dim operand count and affine map dim count must match", at)
    if len(tokens) - dimensions != bound.symbols:
        p.error("symbol operand count and affine map symbol count must match", at)
    if len(bound.results) > 1 and not several:
        which = "lower" if word == "max" else "upper"
        p.wrong(definition.name, f"{which} loop bound affine map with multiple results requires '{word}' prefix", at)
    return bound, tokens


def _parse(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    variable = p.argument_token()
    place = p.deferrable_location() if p.tokens[p.pos] == "loc" else None
    p.expect("=")
    lower, lower_tokens = _read_bound(p, definition, "max")
    if not p.take("to"):
        p.wrong(definition.name, "expected 'to' between bounds")
    upper, upper_tokens = _read_bound(p, definition, "min")
    step = 1
    if p.take("step"):
        at_step = p.pos
        if p.tokens[at_step][:1] == "%":
            p.wrong_token("expected attribute value")
        step = p.integer("expected attribute value")
        if step <= 0:
            p.wrong(definition.name, "expected step to be representable as a positive signed integer", at_step)
    names, initial, results = carried(p)
    if len(names) != len(results):
        p.wrong(definition.name, "mismatch between the number of loop-carried values and results", at)
    arguments = [Argument(variable, INDEX, place)]
    arguments += [Argument(token, kind, None) for token, kind in zip(names, results, strict=True)]
    region = p.terminated(p.region(definition.name, arguments), "affine.yield", at)
    operands = [*used(p, lower_tokens), *used(p, upper_tokens)]
    operands += [p.use(token, kind) for token, kind in zip(initial, results, strict=True)]
    properties: dict[str, Attribute] = {
        "lowerBoundMap": lower,
        SEGMENTS: DenseArrayAttr(I32, (len(lower_tokens), len(upper_tokens), len(initial))),
        "step": IntegerAttr(step, INDEX),
        "upperBoundMap": upper,
    }
    return build_op(p, at, definition, operands, results, [region], properties)


def _bound_text(printer: OpPrinter, map_: AffineMapAttr, operands: Sequence[SSAValue], word: str) -> str:
    if len(map_.results) == 1:
        (result,) = map_.results
        if not operands and isinstance(result, AffineConstant):
            return str(result.value)
        if not map_.dimensions and map_.symbols == 1 and isinstance(result, Symbol):
            return printer.name(operands[0])
        word = ""
    prefix = f"{word} " if word else ""
    return f"{prefix}{printer.attribute(map_)}{print_lists(printer, map_.dimensions, operands)}"


def _print(printer: OpPrinter, op: Operation) -> str:
    lower, upper, initial = operand_groups(op)
    first, last = (op.prop(name, AffineMapAttr) for name in ("lowerBoundMap", "upperBoundMap"))
    region = op.regions[0]
    entry = region.blocks[0]
    variable = entry.arguments[0]
    text = f" {printer.name(variable)}{printer.location_of_argument(variable)}"
    text += f" = {_bound_text(printer, first, lower, 'max')}"
    text += f" to {_bound_text(printer, last, upper, 'min')}"
    step = op.number("step")
    text += f" step {step}" if step != 1 else ""
    text += print_carried(printer, entry, initial)
    text += f" {printer.region(region, op, entry_arguments=False, terminators=bool(op.results))}"
    return text + trailing_dictionary(printer, op)


FORM = CustomForm(_parse, _print)


# --- rules ------------------------------------------------------------------------------------------------------------


def verify(op: Operation) -> str | None:
    """Return what is wrong with the bounds, the body and the carried values, or None."""
    lower, upper, initial = operand_groups(op)
    for name, operands in (("lowerBoundMap", lower), ("upperBoundMap", upper)):
        map_ = op.prop(name, AffineMapAttr)
        if len(operands) != map_.dimensions + map_.symbols:
            return "operand count must match with affine map dimension and symbol count"
        if not map_.results:
            which = "lower" if name == "lowerBoundMap" else "upper"
            return f"expected {which} bound map to have at least one result"
        problem = misused(operands, map_.dimensions)
        if problem:
            return problem
    if len(initial) != len(op.results):
        return "mismatch between the number of loop-carried values and results"
    return None


def verify_body(op: Operation) -> str | None:
    """Return what is wrong with the arguments of the body or the values that it yields, or None."""
    block = op.regions[0].blocks[0]
    if not block.arguments or block.arguments[0].type != INDEX:
        return "expected body to have a single index argument for the induction variable"
    if len(block.arguments) != 1 + len(op.results):
        return "mismatch between the number of basic block args and results"
    return None


# --- evaluation -------------------------------------------------------------------------------------------------------

Values = Slots | Mapping[int, Any]
"""What slots hold, by the number of the slot."""


def results_of(
    op: Operation, map_: AffineMapAttr, slots: Sequence[int], settings: Settings, what: str
) -> Callable[[Values], list[int]]:
    """Return a function from the values in slots to the results of a map, as signed numbers. ``slots``: those of the
    operands.

    The function raises UndefinedBehavior if a result is poison. ``what``: the name in that error for what the results
    are used for.
    """
    kernels = [apply_kernel(formula_of(map_, result, settings), settings.index_width) for result in map_.results]
    half = 1 << (settings.index_width - 1)

    def computed(values: Values) -> list[int]:
        codes = [number & (2 * half - 1) for number in numbers(op, [values[slot] for slot in slots], settings)]
        found = []
        for kernel in kernels:
            code: Any = kernel.scalar(*codes)
            if code.__class__ is not int:
                raise undefined(op, f"{what} is poison: {code.reason}")
            found.append((code ^ half) - half)
        return found

    return computed


def bounds_of(op: Operation, compiler: Compiler) -> tuple[Sequence[int], Callable[[Values], tuple[int, int]], int]:
    """Return what a run of affine.for needs: the slots of the values that it carries, a function from the values in
    slots to the lower and the upper bound, and the step. The bounds are the largest lower bound and the smallest upper
    bound.
    """
    lower, upper, initial = (compiler.slots(values) for values in operand_groups(op))
    first, last = (op.prop(name, AffineMapAttr) for name in ("lowerBoundMap", "upperBoundMap"))
    lows = results_of(op, first, lower, compiler.settings, "the lower bound")
    highs = results_of(op, last, upper, compiler.settings, "the upper bound")
    step = op.number("step")
    if step <= 0:
        raise Unsupported(f"{op.name}: the step {step} is not positive", location=op.location, op=op.name)
    return initial, lambda slots: (max(lows(slots)), min(highs(slots))), step


def evaluate(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs affine.for."""
    initial, bounds, step = bounds_of(op, compiler)
    return counted_loop(op, compiler, initial, lambda slots: range(*bounds(slots), step))


def evaluate_in_lanes(op: Operation, compiler: LaneCompiler) -> Action:
    """Return the action that runs affine.for in a batch."""
    initial, bounds, step = bounds_of(op, compiler)
    read, width = (
        compiler.slots([value for values in operand_groups(op)[:2] for value in values]),
        compiler.settings.index_width,
    )

    def codes(run: Run, values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple([number & ((1 << width) - 1) for number in bounds(dict(zip(read, values, strict=True)))])

    def begun(slots: Slots) -> tuple[Number, Number]:
        run: LaneRun = slots[0]
        low, high = run.each(codes, tuple([slots[slot] for slot in read]), (INDEX, INDEX))
        return low, trips(low, high, step, width, True)[0]

    return loop_in_lanes(op, compiler, initial, begun, lambda slots: step)
