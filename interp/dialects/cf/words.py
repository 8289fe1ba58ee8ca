"""The cf ops on machine words."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from halfulp.fp_formats.codes import codes_to_ints
from halfulp.interp.ir.attributes import DenseElementsAttr
from halfulp.interp.ir.operations import Operation

if TYPE_CHECKING:
    from halfulp.interp.run.compiled.lowering import FunctionLowering


def _to(op: Operation, low: FunctionLowering, index: int) -> None:
    block, operands = op.successors[index]
    low.go(block, low.items(operands))


def branch(op: Operation, low: FunctionLowering) -> None:
    """Lower cf.br."""
    _to(op, low, 0)


def conditional(op: Operation, low: FunctionLowering) -> None:
    """Lower cf.cond_br."""
    low.ways(low.word(op.operands[0]), partial(_to, op, low, 0), partial(_to, op, low, 1))


def switch(op: Operation, low: FunctionLowering) -> None:
    """Lower cf.switch: its cases one after the other, and then the default."""
    flag, values = low.word(op.operands[0]), op.properties.get("case_values")
    codes = codes_to_ints(values.array(), flag.width) if isinstance(values, DenseElementsAttr) else []
    for index, code in enumerate(codes, 1):
        following = low.emit.label()
        low.ways(flag.equals(code), partial(_to, op, low, index), partial(low.emit.jump, following))
        low.emit.begin(following)
    _to(op, low, 0)
