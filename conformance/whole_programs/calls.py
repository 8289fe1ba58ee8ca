"""The ops that a call of a function may reach."""

from __future__ import annotations

from collections.abc import Iterator

from halfulp.interp.ir import attributes as at
from halfulp.interp.ir.operations import Module, Operation

_CALLS = {"func.call": "func.func", "llvm.call": "llvm.func"}
"""The ops that call a function by its name, and the ops that define one."""


def callee(module: Module, op: Operation) -> Operation | None:
    """Return the function that an op calls by its name, or None."""
    symbol = op.properties.get("callee") if op.name in _CALLS else None
    target = module.lookup(symbol, op) if isinstance(symbol, at.SymbolRefAttr) else None
    return target if target is not None and target.name == _CALLS[op.name] else None


def called(module: Module, function: Operation) -> Iterator[tuple[Operation, Operation | None]]:
    """Yield the ops of a function and of all functions that it calls, each with the function that it calls or None."""
    waiting = [function]
    met = {id(function)}
    while waiting:
        for op in waiting.pop().walk():
            target = callee(module, op)
            yield op, target
            if target is not None and id(target) not in met:
                met.add(id(target))
                waiting.append(target)
