"""The scf ops that compiled code covers, on machine words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from halfulp.fp_formats.paths.words import Word
from halfulp.interp.ir.operations import Operation, Region
from halfulp.interp.run.compiled.limits import NotCompiled

if TYPE_CHECKING:
    from halfulp.interp.run.compiled.lowering import FunctionLowering, Item, OnYield


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
