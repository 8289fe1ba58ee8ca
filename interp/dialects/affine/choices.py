"""affine.if, affine.min and affine.max: what an integer set or the results of a map decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from halfulp.fp_formats.codes import Codes, signed_integers
from halfulp.interp.declare.declarations import CustomForm, CustomParse, OpDefinition
from halfulp.interp.dialects.affine.formulas import apply_kernel, formula_of
from halfulp.interp.dialects.affine.inline_maps import print_lists, read_lists, used
from halfulp.interp.dialects.affine.loops import results_of
from halfulp.interp.dialects.affine.symbols import misused
from halfulp.interp.ir.attributes import AffineMapAttr, IntegerSetAttr
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.operations import Operation, Region
from halfulp.interp.run.control import Compiler, passing
from halfulp.interp.run.frames import Action, Frame, Segment
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.op_parser import OpParser
from halfulp.interp.text.op_printer import OpPrinter
from halfulp.semantics.kernel import Fault, Kernel, Outcome, Scalar

# --- if ---------------------------------------------------------------------------------------------------------------


def _parser(definition: OpDefinition) -> CustomParse:
    def parse(p: OpParser, at: int) -> Operation:
        at_set = p.pos
        condition = p.attribute()
        if not isinstance(condition, IntegerSetAttr):
            p.error(f"custom op '{definition.name}' invalid kind of attribute specified: expected integer set", at_set)
        tokens, dimensions = read_lists(p)
        if (dimensions, len(tokens) - dimensions) != (condition.dimensions, condition.symbols):
            p.error(f"custom op '{definition.name}' symbol operand count and integer set symbol count must match", at)
        operands = used(p, tokens)
        results = p.function_results() if p.take("->") else ()
        regions = [p.terminated(p.region(definition.name), "affine.yield", at), Region()]
        if p.take("else"):
            regions[1] = p.terminated(p.region(definition.name), "affine.yield", at)
        attributes = p.optional_dictionary()
        properties: dict[str, Attribute] = {"condition": condition}
        return p.placed(Operation(definition.name, definition, operands, results, properties, attributes, regions), at)

    return parse


def _print(printer: OpPrinter, op: Operation) -> str:
    condition = op.properties["condition"]
    assert isinstance(condition, IntegerSetAttr)
    text = f" {printer.attribute(condition)}{print_lists(printer, condition.dimensions, op.operands)}"
    types = [printer.type(result.type) for result in op.results]
    if types:
        text += f" -> {types[0] if len(types) == 1 else '(' + ', '.join(types) + ')'}"
    shown = [
        printer.region(region, op, entry_arguments=False, terminators=bool(types))
        for region in op.regions
        if region.blocks
    ]
    text += f" {' else '.join(shown)}"
    return text + (f" {printer.dictionary(op.attributes)}" if op.attributes else "")


FORM = CustomForm(_parser, _print)


def verify_if(op: Operation) -> str | None:
    """Check that the integer set fits the operands."""
    condition = op.properties["condition"]
    assert isinstance(condition, IntegerSetAttr)
    if len(op.operands) != condition.dimensions + condition.symbols:
        return "operand count and condition integer set dimension and symbol count must match"
    for number, region in enumerate(op.regions):
        if any(block.arguments for block in region.blocks):
            return f"region #{number} should have no arguments"
    return misused(op.operands, condition.dimensions)


def choose(op: Operation, compiler: Compiler) -> Action:
    """Return the action of affine.if: the first region where all constraints hold."""
    condition = op.properties["condition"]
    assert isinstance(condition, IntegerSetAttr)
    slots = compiler.slots(op.operands)
    expressions = AffineMapAttr(condition.dimensions, condition.symbols, tuple(e for e, _ in condition.constraints))
    values = results_of(op, expressions, slots, compiler.settings, "a constraint of the condition")
    zero = [equal for _, equal in condition.constraints]
    resume = compiler.resume(op)
    yes, no = [passing((), compiler.region(region, resume)) if region.blocks else resume(()) for region in op.regions]

    def decide(frame: Frame) -> Segment | None:
        holds = all(v == 0 if equal else v >= 0 for v, equal in zip(values(frame.slots), zero, strict=True))
        return yes(frame) if holds else no(frame)

    return decide


# --- min and max ------------------------------------------------------------------------------------------------------


def verify_map(op: Operation) -> str | None:
    """Check that the map fits the operands."""
    map_ = op.properties["map"]
    assert isinstance(map_, AffineMapAttr)
    if len(op.operands) != map_.dimensions + map_.symbols:
        return "operand count and affine map dimension and symbol count must match"
    return None if map_.results else "affine map expect at least one result"


def extreme(smallest: bool) -> Callable[[Operation, Settings], Kernel]:
    """Return the maker of kernels of affine.min or affine.max: the smallest or the largest result of the map."""

    def build(op: Operation, settings: Settings) -> Kernel:
        map_ = op.properties["map"]
        assert isinstance(map_, AffineMapAttr)
        width = settings.index_width
        kernels = [apply_kernel(formula_of(map_, result, settings), width) for result in map_.results]
        half = 1 << (width - 1)
        pick: Callable[..., Any] = min if smallest else max

        def scalar(*codes: int) -> Scalar:
            found = [kernel.scalar(*codes) for kernel in kernels]
            fault = next((each for each in found if isinstance(each, Fault)), None)
            return fault if fault is not None else pick(found, key=lambda code: (code ^ half) - half)

        def array(*codes: Codes) -> Outcome:
            outcomes = [kernel.array(*codes) for kernel in kernels]
            signed = [signed_integers(outcome.results[0], width) for outcome in outcomes]
            chosen = (np.minimum if smallest else np.maximum).reduce(signed)
            faults = tuple(fault for outcome in outcomes for fault in outcome.faults)
            return Outcome((np.asarray(chosen.view(np.uint64) & np.uint64(2 * half - 1)),), faults)

        worst = _worst([kernel.worst for kernel in kernels], len(op.operands))
        faults = tuple(dict.fromkeys(fault for kernel in kernels for fault in kernel.faults))
        return Kernel(scalar, array, worst, faults=faults)

    return build


def _worst(each: Sequence[tuple[int, ...] | None], operands: int) -> tuple[int, ...] | None:
    known = [worst for worst in each if worst is not None]
    return tuple(max(worst[k] for worst in known) for k in range(operands)) if known else None
