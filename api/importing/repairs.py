"""What IREE's lowering of StableHLO gets wrong, or hides: corrected in the module that it gives.

IREE inlines the functions of a ``select_and_scatter`` in a loop that compares each element of a window with the
selected one. It gets three things wrong: the first comparison reads an element that was never written; the operands are
in the other order; and the answer is used the other way round, so that of equal elements the last is selected.
"""

from __future__ import annotations

from halfulp.conformance.whole_programs.iree_dumps.dispatches import build_op, number, put
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import BlockArgument, Module, Operation, OpResult, SSAValue

_EQUAL = at.IntegerAttr(0, ty.IntegerType(64))
"""The predicate of arith.cmpi."""


def repair(module: Module) -> None:
    """Correct a module that IREE lowered, in place."""
    for op in list(module.walk()):
        if op.name == "arith.ori":
            _keep_the_selected(op)


# --- select_and_scatter -----------------------------------------------------------------------------------------------


def _keep_the_selected(either: Operation) -> None:
    """Correct the choice of select_and_scatter, if the op makes it: ``select(new, selected) or nothing is selected``
    becomes ``nothing is selected or not select(selected, new)``.

    StableHLO keeps the selected element as long as ``select(selected, new)`` is true. A choice by ``arith.select``
    ignores the comparison of the first element, whose operand was never written.
    """
    block = either.parent
    assert block is not None
    asked, first = either.operands
    if not _is_first(first) or not isinstance(asked, OpResult) or len(block.arguments) != 4:
        return
    new, _, selected, _ = block.arguments
    swapped: dict[SSAValue, SSAValue] = {new: selected, selected: new}
    for op in _inside(asked, block.operations):
        op.operands[:] = [swapped.get(value, value) for value in op.operands]
    refused = build_op("arith.cmpi", either, [asked, first], [ty.I1], {"predicate": _EQUAL})
    chosen = build_op("arith.select", either, [first, first, refused.results[0]], [ty.I1])
    place = block.operations.index(either)
    put(block, [*block.operations[:place], refused, chosen, *block.operations[place + 1 :]])
    for op in block.operations:
        op.operands[:] = [chosen.results[0] if value is either.results[0] else value for value in op.operands]


def _is_first(value: SSAValue) -> bool:
    """Tell whether a value says that no element of a window is selected: the index is -1 still."""
    if not isinstance(value, OpResult) or value.owner.name != "arith.cmpi":
        return False
    index, none = value.owner.operands
    is_argument = isinstance(index, BlockArgument) and index.index == 3
    return is_argument and isinstance(none, OpResult) and number(none.owner.properties.get("value")) == -1


def _inside(value: OpResult, operations: list[Operation]) -> list[Operation]:
    """Return the ops of a block that compute a value."""
    found, wanted = [], {value.owner}
    for op in reversed(operations):
        if op in wanted:
            found.append(op)
            wanted |= {operand.owner for operand in op.operands if isinstance(operand, OpResult)}
    return found
