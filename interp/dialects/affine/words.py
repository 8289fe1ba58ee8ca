"""The affine ops that compiled code covers, on machine words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from halfulp.fp_formats.paths.words import Word
from halfulp.interp.dialects.affine import loops
from halfulp.interp.dialects.affine.formulas import apply_kernel, formula_of
from halfulp.interp.dialects.memref.words import access
from halfulp.interp.dialects.scf.words import either, yielded
from halfulp.interp.ir.affine_expressions import AffineConstant, Dimension, Symbol
from halfulp.interp.ir.attributes import AffineMapAttr, IntegerSetAttr
from halfulp.interp.ir.operations import Operation

if TYPE_CHECKING:
    from halfulp.interp.run.compiled.lowering import FunctionLowering

__all__ = ["choice", "extreme", "loop", "memory", "results_of", "yielded"]


def results_of(low: FunctionLowering, map_: AffineMapAttr, operands: Sequence[Word]) -> list[Word]:
    """Lower the results of a map; the run stops where one is not a number."""
    found = []
    for result in map_.results:
        if isinstance(result, AffineConstant):
            found.append(low.emit.number(result.value))
        elif isinstance(result, Dimension | Symbol):
            found.append(operands[result.position + (map_.dimensions if isinstance(result, Symbol) else 0)])
        else:
            found += low.combined(apply_kernel(formula_of(map_, result, low.settings), 64), operands)
    return found


def memory(op: Operation, low: FunctionLowering) -> None:
    """Lower affine.load and affine.store."""
    map_ = op.properties["map"]
    assert isinstance(map_, AffineMapAttr)
    access(op, low, results_of(low, map_, low.words(op.operands[1 if op.results else 2 :])))


def extreme(words: Sequence[Word], smallest: bool) -> Word:
    """Return the smallest or the largest of some numbers."""
    found, *rest = words
    for word in rest:
        first = word.less(found, signed=True) if smallest else found.less(word, signed=True)
        found = first.choose(word, found)
    return found


def loop(op: Operation, low: FunctionLowering) -> None:
    """Lower affine.for: from the largest lower bound to below the smallest upper bound."""
    first, last, initial = loops.operands_of(op)
    bounds = []
    for name, operands, smallest in (("lowerBoundMap", first, False), ("upperBoundMap", last, True)):
        map_ = op.properties[name]
        assert isinstance(map_, AffineMapAttr)
        bounds.append(extreme(results_of(low, map_, low.words(operands)), smallest))
    begin, end = bounds
    low.counted(op, begin, end, begin.of(loops.step_of(op)), low.items(initial))


def choice(op: Operation, low: FunctionLowering) -> None:
    """Lower affine.if: the first region where all constraints hold."""
    condition = op.properties["condition"]
    assert isinstance(condition, IntegerSetAttr)
    values = AffineMapAttr(condition.dimensions, condition.symbols, tuple(each for each, _ in condition.constraints))
    holds = low.emit.number(1, 1)
    for value, (_, equal) in zip(results_of(low, values, low.words(op.operands)), condition.constraints, strict=True):
        holds = holds & (value.equals(0) if equal else ~value.less(0, signed=True))
    either(op, low, holds)
