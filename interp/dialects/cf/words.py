"""The cf ops on machine words."""

from __future__ import annotations

from functools import partial

from halfulp.fp_formats.codes import codes_to_ints
from halfulp.interp.ir.attributes import DenseElementsAttr
from halfulp.interp.ir.operations import Operation
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
    rest = enumerate(codes, 1)

    def next_case() -> None:
        found = next(rest, None)
        if found is None:
            _to(op, low, 0)
        else:
            low.ways(flag.equals(found[1]), partial(_to, op, low, found[0]), next_case)

    next_case()
