"""The arguments of a function that decide how often its loops run, or how much memory it takes."""

from __future__ import annotations

from collections.abc import Mapping

from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import BlockArgument, Operation, OpResult, SSAValue

_BOUNDS: Mapping[str, int | None] = {
    "scf.for": 3,
    "scf.parallel": None,
    "scf.forall": None,
    "affine.for": None,
    "affine.parallel": None,
    "memref.alloc": None,
    "memref.alloca": None,
    "tensor.empty": None,
    "tensor.generate": None,
    "tensor.splat": None,
    "bufferization.alloc_tensor": None,
}
"""Ops with bounds or sizes: the number of operands that are, from the first on; None for every index."""


def bounding_arguments(function: Operation) -> frozenset[int]:
    """Return the numbers of the arguments that reach a bound, a step or a size, directly or through arithmetic."""
    entry = function.regions[0].blocks[0]
    waiting = [value for op in function.walk() for value in _bounds(op)]
    met: set[int] = set()
    found = set()
    while waiting:
        value = waiting.pop()
        if id(value) in met:
            continue
        met.add(id(value))
        if isinstance(value, BlockArgument) and value.block is entry:
            found.add(value.index)
        elif isinstance(value, OpResult) and not value.owner.regions:
            waiting += [each for each in value.owner.operands if isinstance(each.type, ty.IntegerType | ty.IndexType)]
    return frozenset(found)


def _bounds(op: Operation) -> list[SSAValue]:
    if op.name not in _BOUNDS:
        return []
    count = _BOUNDS[op.name]
    return (
        [value for value in op.operands if isinstance(value.type, ty.IndexType)]
        if count is None
        else op.operands[:count]
    )
