"""The func ops on machine words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfulp.interp.ir.attributes import SymbolRefAttr
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.compiled.limits import NotCompiled

if TYPE_CHECKING:
    from halfulp.interp.run.compiled.lowering import FunctionLowering


def call(op: Operation, low: FunctionLowering) -> None:
    """Lower func.call of a function with a body."""
    symbol = op.properties["callee"]
    assert isinstance(symbol, SymbolRefAttr)
    target = low.compiler.module.lookup(symbol, op)
    if target is None or target.name != "func.func":
        raise NotCompiled(f"'{symbol}' is not a function")
    low.call(op, target, op.operands)


def leave(op: Operation, low: FunctionLowering) -> None:
    """Lower func.return."""
    low.leave(op.operands)
