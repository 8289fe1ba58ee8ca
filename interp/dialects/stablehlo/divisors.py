"""The divisors that XLA inverts. It multiplies the dividend by the inverse, so the result is rounded twice.

Sources: the rules A / Const and A / broadcast(B) of XLA's algebraic simplifier
(`xla/hlo/transforms/simplifiers/algebraic_simplifier.cc`), and the programs that jaxlib 0.10.2 makes on a CPU. XLA
first inlines functions, folds ops on constants, merges equal ops, and moves elementwise ops in front of broadcasts.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from halfulp.interp.declare import declarations as d
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import BlockArgument, Operation, OpResult, SSAValue

_FOLDED = frozenset(
    f"stablehlo.{name}"
    for name in (
        "broadcast_in_dim", "concatenate", "convert", "dynamic_slice", "reshape", "reverse", "select", "slice",
        "transpose",
    )
)  # fmt: skip
"""The ops beside the elementwise ones that XLA folds if all operands are constants."""


def is_inverted(op: Operation) -> bool:
    """Tell whether XLA inverts the divisor of an op. It does so if the dividend is not constant, and the divisor is
    computed from constants, or is a broadcast of fewer elements that no other op uses.
    """
    dividend, divisor = op.operands
    if _is_constant(dividend):
        return False
    if _is_constant(divisor):
        return True
    spread = _spread(divisor)
    if spread is None or _alike([spread, *filter(None, [_spread(dividend)])], 2):
        return False
    return _is_alone(spread.operands[0])


def _is_constant(value: SSAValue) -> bool:
    """Tell whether a value is computed from constants alone."""
    waiting, seen = [value], set[SSAValue]()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if isinstance(value, OpResult):
            definition = value.owner.definition
            traits = () if definition is None else definition.traits
            if d.Trait.CONSTANT_LIKE in traits:
                continue
            sources = list(value.owner.operands)
            if d.Trait.ELEMENTWISE not in traits and value.owner.name not in _FOLDED:
                return False
        else:
            sources = _passed(value)
        if not sources:
            return False
        waiting += sources
    return True


def _spread(value: SSAValue) -> Operation | None:
    """Return the op that makes a value from fewer elements; None if it is made in another way."""
    owner = value.owner if isinstance(value, OpResult) else None
    if owner is None or owner.name != "stablehlo.broadcast_in_dim" or _size(owner.operands[0]) == _size(value):
        return None
    return owner


def _is_alone(value: SSAValue) -> bool:
    """Tell whether a value has one use, where equal ops count once; so must the values that it only reshapes."""
    seen = set[SSAValue]()
    while value not in seen and _alike(_users(value)):
        seen.add(value)
        if isinstance(value, BlockArgument):
            return all(map(_is_alone, _passed(value)))
        if not isinstance(value, OpResult):
            return True
        owner = value.owner
        if owner.name == "func.call":
            end = _end_of_called(owner)
            if end is None:
                return False
            value = end.operands[value.index]
        elif owner.name == "stablehlo.reshape" or _adds_ones(owner):
            value = owner.operands[0]
        else:
            return True
    return False


def _adds_ones(op: Operation) -> bool:
    """Tell whether a broadcast keeps the elements and their order."""
    dims = op.properties.get("broadcast_dimensions")
    return (
        op.name == "stablehlo.broadcast_in_dim"
        and isinstance(dims, at.DenseArrayAttr)
        and list(dims.values) == sorted(dims.values)
        and _size(op.operands[0]) == _size(op.results[0])
    )


def _size(value: SSAValue) -> int | None:
    """Return the number of elements of a value; None if it is not known."""
    shape = ty.shape_of(value.type)
    return None if shape is None or None in shape else prod(size for size in shape if size is not None)


def _alike(ops: Iterable[Operation], least: int = 0) -> bool:
    """Tell whether ops differ in their operands alone. ``least``: the number of ops that there must be."""
    ops = list(ops)
    kinds = [(op.name, op.properties, op.types) for op in ops]
    return len(ops) >= least and all(kind == kinds[0] for kind in kinds)


# --- functions --------------------------------------------------------------------------------------------------------


def _users(value: SSAValue) -> list[Operation]:
    """Return the ops that use a value."""
    block = (
        value.owner.parent if isinstance(value, OpResult) else value.block if isinstance(value, BlockArgument) else None
    )
    found: list[Operation] = []
    blocks = [] if block is None else [block]
    for each in blocks:
        for op in each.operations:
            if value in op.operands or (op.successors and value in op.used_values):
                found.append(op)
            if op.regions:
                blocks += op.blocks
    return found


def _passed(value: SSAValue) -> list[SSAValue]:
    """Return what the calls of a private function pass for an argument; nothing for any other value."""
    if not isinstance(value, BlockArgument):
        return []
    function = value.block.parent.parent if value.block.parent else None
    if function is None or function.name != "func.func" or function.properties.get("sym_visibility") != _PRIVATE:
        return []
    module = function.parent_op
    calls = [] if module is None else [op for op in module.walk() if op.name == "func.call"]
    return [op.operands[value.index] for op in calls if _callee(op) == function.symbol_name]


def _end_of_called(call: Operation) -> Operation | None:
    """Return the last op of a called function; None if the function is not found, or has several blocks."""
    module: Operation | None = call
    while module is not None and module.name != "builtin.module":
        module = module.parent_op
    for op in () if module is None else module.children:
        if op.symbol_name == _callee(call) and len(op.blocks) == 1:
            return op.children[-1]
    return None


def _callee(call: Operation) -> str:
    return call.prop("callee", at.SymbolRefAttr).root


_PRIVATE = at.StringAttr("private")
