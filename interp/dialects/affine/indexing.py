"""affine.linearize_index and affine.delinearize_index: a number from several digits in a mixed base, and back.

The first element of the base is optional, and not computed with: in delinearize_index it is a promise about the number,
and what breaks it is poison. Sums and products that overflow are poison, and a divisor that is not positive is
undefined, as in all affine arithmetic; so is a base whose product overflows, since lowerings may divide by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from halfulp.fp_formats.formats import Codes, signed_integers
from halfulp.interp.declare.declarations import CustomForm, OpDefinition
from halfulp.interp.declare.operands import operand_groups
from halfulp.interp.dialects.affine.formulas import apply_kernel, formula_of
from halfulp.interp.dialects.affine.loops import Values, results_of
from halfulp.interp.dialects.affine.symbols import (
    misused,
    print_lists,
    read_lists,
    usable,
    used,
)
from halfulp.interp.dialects.elements import Function, Operands, poisoned
from halfulp.interp.dialects.regions import arrow_types, build_op, print_choice, read_choice
from halfulp.interp.dialects.slices import DYNAMIC, numbers
from halfulp.interp.ir.affine_expressions import AffineConstant, AffineExpr, Dimension, Symbol, add, floordiv, modulo
from halfulp.interp.ir.affine_expressions import multiply as times
from halfulp.interp.ir.attributes import AffineMapAttr, IntegerSetAttr, UnitAttr
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.ir.types import I1, INDEX, shape_of
from halfulp.interp.run.batch.compiler import LaneCompiler
from halfulp.interp.run.elementwise import ElementwiseStep
from halfulp.interp.run.evaluators import Compiler, Elementwise, passing
from halfulp.interp.run.frames import Action, Frame, Run, Segment
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.affine_parser import MAX_DEPTH
from halfulp.interp.text.op_parser import OpParser, OpPrinter
from halfulp.semantics.kernel import Fault, Kernel, Outcome, Scalar

# --- choices ----------------------------------------------------------------------------------------------------------
#
# affine.if, affine.min and affine.max: what an integer set or the results of a map decide.

# --- if ---------------------------------------------------------------------------------------------------------------


def _parse_if(p: OpParser, at: int, definition: OpDefinition) -> Operation:
    at_set = p.pos
    condition = p.attribute()
    if not isinstance(condition, IntegerSetAttr):
        p.wrong(definition.name, "invalid kind of attribute specified: expected integer set", at_set)
    tokens, dimensions = read_lists(p)
    if (dimensions, len(tokens) - dimensions) != (condition.dimensions, condition.symbols):
        p.wrong(definition.name, "symbol operand count and integer set symbol count must match", at)
    operands = used(p, tokens)
    results = arrow_types(p)
    regions = read_choice(p, at, definition, "affine.yield")
    return build_op(p, at, definition, operands, results, regions, {"condition": condition})


def _print_if(printer: OpPrinter, op: Operation) -> str:
    condition = op.prop("condition", IntegerSetAttr)
    operands = print_lists(printer, condition.dimensions, op.operands)
    return f" {printer.attribute(condition)}{operands}{print_choice(printer, op, bare=True)}"


IF_FORM = CustomForm(_parse_if, _print_if)


def verify_if(op: Operation) -> str | None:
    """Return an error message unless the integer set fits the operands."""
    condition = op.prop("condition", IntegerSetAttr)
    if len(op.operands) != condition.dimensions + condition.symbols:
        return "operand count and condition integer set dimension and symbol count must match"
    for number, region in enumerate(op.regions):
        if any(block.arguments for block in region.blocks):
            return f"region #{number} should have no arguments"
    return misused(op.operands, condition.dimensions)


def _condition(op: Operation, compiler: Compiler) -> tuple[Sequence[int], Callable[[Values], bool]]:
    """Return the slots of the operands of affine.if, and the function that tells whether all constraints hold."""
    condition = op.prop("condition", IntegerSetAttr)
    slots = compiler.slots(op.operands)
    expressions = AffineMapAttr(condition.dimensions, condition.symbols, tuple(e for e, _ in condition.constraints))
    values = results_of(op, expressions, slots, compiler.settings, "a constraint of the condition")
    zero = [equal for _, equal in condition.constraints]
    return slots, lambda held: all(v == 0 if equal else v >= 0 for v, equal in zip(values(held), zero, strict=True))


def _ways(op: Operation, compiler: Compiler) -> list[Action]:
    resume = compiler.resume(op)
    return [passing((), compiler.region(region, resume)) if region.blocks else resume(()) for region in op.regions]


def run_if(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs affine.if: it runs the first region if all constraints hold."""
    _, holds = _condition(op, compiler)
    yes, no = _ways(op, compiler)
    return lambda frame: yes(frame) if holds(frame.slots) else no(frame)


def run_if_in_lanes(op: Operation, compiler: LaneCompiler) -> Action:
    """Return the action that runs affine.if in a batch."""
    read, holds = _condition(op, compiler)
    head, decides = Segment(), compiler.typed_slot(I1)
    compiler.choice(op, head, decides)
    yes, no = _ways(op, compiler)

    def decide(frame: Frame) -> Segment:
        slots, run = frame.slots, frame.slots[0]
        values = tuple([slots[slot] for slot in read])
        (slots[decides],) = run.each(lambda _, row: (int(holds(dict(zip(read, row, strict=True)))),), values, (I1,))
        return head

    head.steps, head.control = (), lambda frame: yes(frame) if frame.slots[decides] else no(frame)
    return decide


# --- min and max ------------------------------------------------------------------------------------------------------


def verify_map(op: Operation) -> str | None:
    """Return an error message unless the map fits the operands."""
    map_ = op.prop("map", AffineMapAttr)
    if len(op.operands) != map_.dimensions + map_.symbols:
        return "operand count and affine map dimension and symbol count must match"
    return None if map_.results else "affine map expect at least one result"


def extreme(smallest: bool) -> Callable[[Operation, Settings], Kernel]:
    """Return the function that makes the kernels of affine.min or affine.max: the smallest or the largest result of the
    map.
    """

    def build(op: Operation, settings: Settings) -> Kernel:
        map_ = op.prop("map", AffineMapAttr)
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


# --- indexing ---------------------------------------------------------------------------------------------------------


# --- rules ------------------------------------------------------------------------------------------------------------


_MISMATCH = (
    "mismatch between dynamic and static basis (kDynamic marker but no corresponding dynamic basis entry) -- this can "
    "only happen due to an incorrect fold/rewrite"
)


def verify_linearize(op: Operation) -> str | None:
    """Return what is wrong with the length of the base, or None."""
    base, count = op.numbers("static_basis"), len(operand_groups(op)[0])
    if len(base) not in (count, count - 1):
        return "should be passed a basis element for each index except possibly the first"
    return None if base.count(DYNAMIC) == len(op.operands) - count else _MISMATCH


def verify_delinearize(op: Operation) -> str | None:
    """Return what is wrong with the base and the number of results, or None."""
    base = op.numbers("static_basis")
    if len(op.results) not in (len(base), len(base) + 1):
        return "should return an index for each basis element and up to one extra index"
    if base.count(DYNAMIC) != len(op.operands) - 1:
        return _MISMATCH
    if any(number != DYNAMIC and number <= 0 for number in base):
        return "no basis element may be statically non-positive"
    return None


# --- evaluation -------------------------------------------------------------------------------------------------------


def _weights(op: Operation, digits: int) -> list[AffineExpr]:
    """Return the elements of the base as expressions, without the first one if the base has one for every digit."""
    symbols = iter(range(len(op.operands)))
    found = [
        Symbol(next(symbols)) if number == DYNAMIC else AffineConstant(number) for number in op.numbers("static_basis")
    ]
    return list(found[1:] if len(found) == digits else found)


def _base(op: Operation, given: Operands, settings: Settings) -> list[int]:
    """Return the elements of the base. ``given``: those that are operands."""
    dynamic = iter(numbers(op, given, settings))
    return [next(dynamic) if number == DYNAMIC else number for number in op.numbers("static_basis")]


def _step(op: Operation, dimensions: int, expr: AffineExpr, settings: Settings) -> ElementwiseStep:
    """Return the step that computes an expression from all operands."""
    symbols = len(op.operands) - dimensions
    kernel = apply_kernel(formula_of(AffineMapAttr(dimensions, symbols, (expr,)), expr, settings), settings.index_width)
    inner = Operation(op.name, op.definition, list(op.operands), [INDEX])
    inner.location = op.location
    return ElementwiseStep(inner, Elementwise(lambda op, settings: kernel), kernel, settings)


def linearize(op: Operation, settings: Settings) -> Function:
    """Return the function that runs affine.linearize_index. The result is poison if digits break the promise of
    ``disjoint``. Without it the first element of the base bounds nothing: MLIR drops digits in front that are 0, and
    what was the second element is the first one then.
    """
    count = len(operand_groups(op)[0])
    expr: AffineExpr = Dimension(count - 1) if count else AffineConstant(0)
    stride: AffineExpr = AffineConstant(1)
    for digit, weight in reversed(list(enumerate(_weights(op, count)))):
        stride = times(weight, stride)  # poison if it overflows, even if the digit is 0
        expr = add(times(Dimension(digit), stride), expr)
    step = _step(op, count, expr, settings)
    disjoint = isinstance(op.properties.get("disjoint"), UnitAttr)
    bounded = 0 < count == len(op.numbers("static_basis"))

    def number(run: Run, operands: Operands) -> tuple[Any, ...]:
        if disjoint and all(value.poison is None for value in operands):
            digits = numbers(op, operands[:count], settings)
            base = _base(op, operands[count:], settings)
            inner = base[1:] if bounded else base
            kept = all(0 <= digit < size for digit, size in zip(digits[1:], inner, strict=True))
            if not kept or any(size < 0 for size in base) or (bounded and digits[0] >= base[0]):
                return (poisoned(op, run, settings, INDEX, "the indices are not disjoint"),)
        return step.run(run, operands)

    return number


def delinearize(op: Operation, settings: Settings) -> Function:
    """Return the function that runs affine.delinearize_index. If the base has an element for the first digit, all
    results are poison for a number outside of it. Raises Unsupported for very many digits.
    """
    weights = _weights(op, len(op.results))
    if len(weights) > MAX_DEPTH:
        raise Unsupported(f"{op.name}: the basis has more than {MAX_DEPTH} numbers", location=op.location, op=op.name)
    rest: AffineExpr = Dimension(0)
    digits: list[AffineExpr] = []
    for weight in reversed(weights):
        digits.append(modulo(rest, weight))
        rest = floordiv(rest, weight)
    digits.append(rest)
    steps = [_step(op, 1, digit, settings) for digit in reversed(digits[: len(op.results)])]
    bounded = 0 < len(op.results) == len(op.numbers("static_basis"))

    def split(run: Run, operands: Operands) -> tuple[Any, ...]:
        if all(value.poison is None for value in operands[1:]):
            base = _base(op, operands[1:], settings)
            if bounded and base[0] <= 0:
                raise undefined(op, "the first element of the base is not positive")
            if prod(base) >> (settings.index_width - 1) > 0:
                raise undefined(op, "the product of the base overflows")
            if bounded and min(base) > 0 and operands[0].poison is None:
                (given,) = numbers(op, operands[:1], settings)
                if not 0 <= given < prod(base):
                    outside = poisoned(op, run, settings, INDEX, "the index is outside of the base")
                    return (outside,) * len(steps)
        return tuple(step.run(run, operands)[0] for step in steps)

    return split


# --- prefetch ----------------------------------------------------------------------------------------------------
#
# affine.prefetch: memory at indices that are affine expressions.


def verify_prefetch(op: Operation) -> str | None:
    """Return an error message unless the map of affine.prefetch fits the memref and the operands."""
    map_ = op.prop("map", AffineMapAttr)
    if len(map_.results) != len(shape_of(op.operands[0].type) or ()):
        return "affine.prefetch affine map num results must equal memref rank"
    if map_.dimensions + map_.symbols != len(op.operands) - 1:
        return "expects as many subscripts as affine map inputs"
    return None if all(map(usable, op.operands[1:])) else "index must be a valid dimension or symbol identifier"
