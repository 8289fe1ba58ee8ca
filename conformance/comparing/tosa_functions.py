"""Verdicts by TOSA's rules on functions whose results one operator computes, and other operators only move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from halfulp.conformance.comparing.tosa_bounds import TosaVerdict, check_operator, exactly, judged, run_operator
from halfulp.interp.dialects.tosa.rules import maker
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.ir.operations import Operation, OpResult, SSAValue
from halfulp.interp.values.value import Value

_MADE = frozenset(("tosa.const", "tosa.const_shape"))
_PLACED = frozenset(("tosa.identity", "tosa.reshape", "tosa.reverse", "tosa.transpose"))
"""Moves that keep every element: behind an operator, they are undone."""
_MOVED = _PLACED | {"tosa.concat", "tosa.gather", "tosa.pad", "tosa.slice", "tosa.tile"}


def computing(function: Operation) -> list[Operation]:
    """Return the operators of a function that compute: neither constants nor moves."""
    block = function.regions[0].blocks[0]
    return [op for op in block.operations if op.name not in _MADE | _MOVED and op.name != "func.return"]


def judged_function(
    function: Operation, arguments: Sequence[Value], results: Sequence[Value]
) -> tuple[TosaVerdict, ...]:
    """Return the verdict on each result of a function with one operator that computes, between moves. The verdicts are
    on the results of the operator: its operands are moved exactly, and the moves behind it are undone.

    If there are only moves, the results must be exact. Raises Unsupported if several operators compute, if moves behind
    the operator lose elements, and for operators without bounds.
    """
    found = computing(function)
    block = function.regions[0].blocks[0]
    values: dict[SSAValue, Value] = dict(zip(block.arguments, arguments, strict=True))
    returned = block.operations[-1].operands
    if not found:
        _follow(block.operations[:-1], values)
        moves = [maker(value) or block.operations[0] for value in returned]
        return tuple(
            exactly(op, (), values[value], result) for op, value, result in zip(moves, returned, results, strict=True)
        )
    if len(found) > 1:
        names = ", ".join(op.name for op in found)
        raise Unsupported(
            f"TOSA has bounds for single operators, but these compute: {names}", location=function.location
        )
    (op,) = found
    check_operator(op)
    at = next(place for place, each in enumerate(block.operations) if each is op)
    _follow(block.operations[:at], values)
    operands = [values[operand] for operand in op.operands]
    if len(returned) != len(op.results):
        raise Unsupported(f"the function must return the results of '{op.name}' alone", location=function.location)
    behind = block.operations[at + 1 : -1]
    return judged(op, operands, [_undone(behind, values, result, returned, results) for result in op.results])


def _follow(ops: Sequence[Operation], values: dict[SSAValue, Value]) -> None:
    """Run moves whose operands are known."""
    for op in ops:
        if all(operand in values for operand in op.operands):
            made = run_operator(op, [values[operand] for operand in op.operands], False)
            values.update(zip(op.results, made, strict=True))


def _undone(
    ops: Sequence[Operation], values: Mapping[SSAValue, Value], result: OpResult, returned: Sequence[SSAValue],
    results: Sequence[Value],
) -> Value:  # fmt: skip
    """Return a result of the operator. ``results``: those that the function returns, behind the moves ``ops``."""
    op = result.owner
    target = next((k for k, value in enumerate(returned) if _reaches(value, result)), None)
    if target is None:
        raise Unsupported(f"moves behind '{op.name}' lose or add elements", location=op.location)
    given = results[target]
    shape = tuple(size or 0 for size in ty.shape_of(result.type) or ())
    count = int(np.prod(shape, dtype=np.int64))
    if count != given.size:
        raise InputError(f"result {target} has {given.size} elements, but the operator has {count}")
    order = np.zeros(given.shape, np.int64)
    for shift in range(0, max(count - 1, 1).bit_length(), 8):  # the moves of the digits of places
        digits = (np.arange(count) >> shift & 0xFF).reshape(shape).astype(given.bits.dtype)
        known = dict(values)
        known[result] = Value(ty.TensorType(shape, given.element_type), digits)
        _follow(ops, known)
        order += known[returned[target]].bits.astype(np.int64) << shift
    own = np.empty_like(given.bits.reshape(count))
    own[order.reshape(count)] = given.bits.reshape(count)
    return Value(ty.TensorType(shape, given.element_type), own.reshape(shape))


def _reaches(value: SSAValue, result: OpResult) -> bool:
    """Tell whether moves that keep every element lead from a result to a value."""
    while value is not result:
        made = maker(value)
        if made is None or made.name not in _PLACED:
            return False
        value = made.operands[0]
    return True
