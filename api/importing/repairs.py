"""What IREE's lowering of StableHLO gets wrong, or hides: corrected in the module that it gives.

IREE lowers ``reduce_precision`` to operations on bits, of which no shadow knows that they round. They become one op.

IREE inlines the functions of a ``select_and_scatter`` in a loop that compares each element of a window with the
selected one. It gets three things wrong: the first comparison reads an element that was never written; the operands are
in the other order; and the answer is used the other way round, so that of equal elements the last is selected.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from halfulp.conformance.whole_programs.iree_dumps.dispatches import (
    build_op,
    number,
    put,
    remove_unused,
    replace_values,
)
from halfulp.fp_formats.formats import FloatFormat, NanEncoding
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Block, BlockArgument, Module, Operation, OpResult, SSAValue

_EQUAL = at.IntegerAttr(0, ty.IntegerType(64))
"""The predicate of arith.cmpi."""


def repair(module: Module) -> None:
    """Correct a module that IREE lowered, in place."""
    replaced = False
    for op in list(module.walk()):
        if op.name == "arith.ori":
            _keep_the_selected(op)
        elif op.name == "arith.select":
            replaced |= _reduce_precision(op)
    if replaced:
        remove_unused(module.operation, _REDUCING)


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
    _replace(block, either, [refused, chosen])


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


def _replace(block: Block, op: Operation, instead: list[Operation]) -> None:
    """Put ops in place of one; the result of the last takes the place of its result."""
    place = block.operations.index(op)
    put(block, [*block.operations[:place], *instead, *block.operations[place + 1 :]])
    for around in block.operations:
        replace_values(around, {op.results[0]: instead[-1].results[0]})


# --- reduce_precision -------------------------------------------------------------------------------------------------

Term = str | int | tuple[Any, ...]
"""What computes a value: the number that is rounded, a constant, or the name of an op, its predicate and its terms."""

_NUMBER = "the number"
_ABOVE, _AT_MOST = 8, 7
"""The predicates ugt and ule of arith.cmpi."""


_REDUCING = [f"arith.{name}" for name in ("addi", "andi", "bitcast", "cmpi", "constant", "ori", "select", "shrui")]
"""The ops that reductions are lowered to."""


def _reduce_precision(op: Operation) -> bool:
    """Put halfulp.reduce_precision, with the same bits, in the place of the last op of a lowered one. Tell if it is."""
    number, type_ = op.operands[1], op.results[0].type
    if not isinstance(type_, ty.FloatType) or type_.format.nan is not NanEncoding.IEEE or type_.format.bits > 64:
        return False
    if not isinstance(op.operands[2], OpResult) or op.operands[2].owner.name != "arith.bitcast":
        return False
    fields = _fields_by_term(type_.format).get(_term(op.results[0], number, (1 << type_.format.bits) - 1))
    if fields is None:
        return False
    names = ("exponent_bits", "mantissa_bits")
    properties = {name: at.IntegerAttr(bits, ty.I64) for name, bits in zip(names, fields, strict=True)}
    assert op.parent is not None
    _replace(op.parent, op, [build_op("halfulp.reduce_precision", op, [number], [type_], properties)])
    return True


def _term(value: SSAValue, number: SSAValue, mask: int, depth: int = 12) -> Term | None:
    """Return what computes a value of a number; None if that is not by ops that lowered reductions have."""
    if value is number:
        return _NUMBER
    if not isinstance(value, OpResult) or depth == 0:
        return None
    op = value.owner
    if op.name == "arith.constant":
        constant = op.properties.get("value")
        return constant.value & mask if isinstance(constant, at.IntegerAttr) else None
    predicate = op.properties.get("predicate")
    terms = [_term(operand, number, mask, depth - 1) for operand in op.operands]
    return (op.name, *([predicate.value] if isinstance(predicate, at.IntegerAttr) else []), *terms)


@cache
def _fields_by_term(fmt: FloatFormat) -> dict[Term | None, tuple[int, int]]:
    """Return the exponent and mantissa bits of each reduction of a format, by what IREE lowers it to."""
    fields = [(e, m) for e in range(1, fmt.exponent_bits + 1) for m in range(fmt.mantissa_bits + 1)]
    return {_lowered(fmt, *each): each for each in fields[:-1]}


def _lowered(fmt: FloatFormat, exponent: int, mantissa: int) -> Term:
    """Return what IREE lowers a reduction to, as in ``ReducePrecisionOp`` of its conversions of StableHLO."""
    mask, sign, infinity = (1 << fmt.bits) - 1, 1 << fmt.bits - 1, fmt.infinity_code
    code: Term = ("arith.bitcast", _NUMBER)
    is_nan = ("arith.cmpi", _ABOVE, ("arith.andi", code, sign - 1), infinity)
    rounded = result = code
    shift = fmt.mantissa_bits - mantissa
    if shift:
        last: Term = ("arith.shrui", ("arith.andi", code, 1 << shift), shift)
        below = (1 << shift - 1) - 1
        rounded = ("arith.addi", code, ("arith.addi", last, below) if below else last)
        result = ("arith.andi", rounded, mask & -(1 << shift))
    if exponent < fmt.exponent_bits:
        reach = (1 << exponent - 1) - 1
        least, largest = (fmt.bias + step << fmt.mantissa_bits for step in (-reach, reach))
        exponents, zero = ("arith.andi", rounded, infinity), ("arith.andi", rounded, sign)
        overflow = ("arith.cmpi", _ABOVE, exponents, largest)
        result = ("arith.select", overflow, ("arith.ori", zero, infinity), result)
        result = ("arith.select", ("arith.cmpi", _AT_MOST, exponents, least), zero, result)
    return ("arith.select", is_nan, _NUMBER, ("arith.bitcast", result))
