"""The roles of values in affine expressions: symbols, which do not change in loops, and dimensions."""

from __future__ import annotations

from enum import Enum

from halfulp.interp.declare.declarations import Trait
from halfulp.interp.ir.operations import OpResult, SSAValue

_LOOPS = ("affine.for", "affine.parallel")
_SCOPES = ("func.func", "builtin.module")
"""The ops whose values at the top of their regions are symbols everywhere inside."""
_DIMS = ("memref.dim", "tensor.dim")


class _Standing(Enum):
    """The role of a value in an affine expression: a symbol may be used anywhere, a dimension (a loop's index) only as
    one.
    """

    SYMBOL = 0
    DIMENSION = 1
    OTHER = 2


def _around(value: SSAValue) -> str | None:
    """Return the name of the op in whose region a value is defined."""
    block = value.owner.parent if isinstance(value, OpResult) else getattr(value, "block", None)
    op = None if block is None or block.parent is None else block.parent.parent
    return None if op is None else op.name


def _standing_alone(value: SSAValue) -> _Standing | None:
    """Return the role of a value; None for one that has its role from the operands of its op."""
    around = _around(value)
    if around in _SCOPES:
        return _Standing.SYMBOL
    if not isinstance(value, OpResult):
        return _Standing.DIMENSION if around in _LOOPS else _Standing.OTHER
    op = value.owner
    if op.definition is not None and Trait.CONSTANT_LIKE in op.definition.traits:
        return _Standing.SYMBOL
    if op.name in _DIMS:
        return _Standing.SYMBOL if _around(op.operands[0]) in _SCOPES else _Standing.OTHER
    # MLIR requires ops without effects that may be speculated; divisions may not.
    total = op.name.startswith("arith.") and not any(word in op.name for word in ("div", "rem"))
    return None if total or op.name == "affine.apply" else _Standing.OTHER


def _standing(value: SSAValue) -> _Standing:
    found: dict[SSAValue, _Standing] = {}
    stack = [(value, False)]
    while stack:
        current, operands_done = stack.pop()
        alone = _standing_alone(current)
        if alone is not None:
            found[current] = alone
        elif operands_done:
            assert isinstance(current, OpResult)
            op = current.owner
            parts = {found[operand] for operand in op.operands}
            if parts <= {_Standing.SYMBOL}:
                found[current] = _Standing.SYMBOL
            elif op.name == "affine.apply" and _Standing.OTHER not in parts:
                found[current] = _Standing.DIMENSION
        elif current not in found:
            assert isinstance(current, OpResult)
            # The role until its operands are known, and the final one where it is among them.
            found[current] = _Standing.OTHER
            stack.append((current, True))
            stack += [(operand, False) for operand in current.owner.operands]
    return found[value]


def dimension_as_symbol(value: SSAValue) -> bool:
    """Tell whether a value may be used as a dimension, but not as a symbol."""
    return _standing(value) is _Standing.DIMENSION
