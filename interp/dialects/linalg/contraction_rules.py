"""The rules of the maps that a contraction may have, in MLIR's words (`LinalgOps.cpp`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.dialects.linalg.structure import written_maps
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import AffineExpr, Dimension
from halfulp.interp.ir.operations import Operation, OpResult, SSAValue

Verify = Callable[[Operation], str | None]
_Axes = tuple[AffineExpr, ...]


def _axes(*positions: int) -> _Axes:
    return tuple(map(Dimension, positions))


_MATMUL = (_axes(0, 2), _axes(2, 1))
_BROADCAST = _axes(2)


def verify_matmul(op: Operation) -> str | None:
    """Check the maps of linalg.matmul: an input may be transposed, or a vector along the reduction."""
    for map_, default in zip(written_maps(op), _MATMUL, strict=False):
        if not set(map_.results) <= set(default):
            return "Unexpected dim expression in map result."
        if len(map_.results) < len(default) and map_.results != _BROADCAST:
            return "Invalid broadcast requested, should be (d2)."
    return None


class Batch(NamedTuple):
    """The maps of a matmul with a batch.

    ``inputs``: the axes of both inputs. ``broadcasts``: for each, the fewer axes that it may have. ``output``: the axes
    of the result.
    """

    inputs: tuple[_Axes, _Axes]
    broadcasts: tuple[tuple[_Axes, ...], tuple[_Axes, ...]]
    output: _Axes


_INPUTS = (_axes(0, 1, 3), _axes(0, 3, 2))
_BROADCASTS = (
    (_axes(3), _axes(0, 3), _axes(1, 3)),
    (_axes(3), _axes(0, 3), _axes(3, 2)),
)
BATCH_MATMUL = Batch(_INPUTS, _BROADCASTS, _axes(0, 1, 2))
BATCH_REDUCE_MATMUL = Batch(_INPUTS, _BROADCASTS, _axes(1, 2))


def verify_batch(batch: Batch) -> Verify:
    """Return the verifier of the maps of a matmul with a batch."""

    def verify(op: Operation) -> str | None:
        maps = written_maps(op)
        if len(maps) != 3:
            return "Indexing_map attribute must have 3 affine maps."
        *inputs, output = [map_.results for map_ in maps]
        for axes, default, broadcasts in zip(inputs, batch.inputs, batch.broadcasts, strict=True):
            if not set(axes) <= set(default):
                return "Unexpected result dim expression (outside the set of default result dims)."
            if len(axes) > 3:
                return "no. of result dim expressions exceeds 3."
            if len(axes) < 3 and axes not in broadcasts:
                return "Invalid broadcast requested."
            if len(axes) == 3 and axes[0] != Dimension(0):
                return "Invalid batch dimension expression."
        if len(output) != len(batch.output):
            return f"expects {len(batch.output)} dims, but got ({len(output)})."
        return "Invalid output map result dimension." if output != batch.output else None

    return verify


def verify_contract(op: Operation) -> str | None:
    """Check the maps of linalg.contract: every loop is parallel, or reduced over both inputs."""
    maps = written_maps(op)
    loops = maps[0].dimensions if maps else 0
    for map_, value in zip(maps, op.operands, strict=False):
        if map_.dimensions != loops:
            return Unprefixed("iteration spaces of provided affine_maps differ")
        if map_.symbols or not _is_projection(map_.results):
            return Unprefixed("provided affine_map is not a projected permutation")
        if isinstance(value.type, ty.ShapedType):
            if len(map_.results) != len(ty.shape_of(value.type) or ()):
                return Unprefixed("ranks of shaped operand and results of corresponding affine_map differ")
        elif map_.results:
            return Unprefixed("affine_map specifies shaped access while operand has non-shaped type")
    return _verify_uses(maps)


def _is_projection(axes: _Axes) -> bool:
    return all(isinstance(axis, Dimension) for axis in axes) and len(set(axes)) == len(axes)


def _verify_uses(maps: Sequence[at.AffineMapAttr]) -> str | None:
    contracted = False
    for loop in range(maps[0].dimensions if maps else 0):
        *read, written = (map_.results.count(Dimension(loop)) for map_ in maps)
        uses = sum(read)
        if not uses and not written:
            return Unprefixed(f"iteration space dim at index {loop} not used to access any operand")
        if (uses, written) == (1, 0):
            return Unprefixed(
                f"iteration space dim at index {loop} is neither a contracting dim nor of parallel iteration type"
            )
        contracted |= (uses, written) == (2, 0)
    return None if contracted else Unprefixed("'indexing_maps' do not specify a contracting dimension")


# --- bodies -----------------------------------------------------------------------------------------------------------

_PAIRS = {
    "arith.addf": "arith.mulf",
    "arith.addi": "arith.muli",
    "arith.ori": "arith.andi",
    "complex.add": "complex.mul",
}


def verify_body(op: Operation) -> str | None:
    """Check that the body of a contraction adds a product, where any op of one operand may stand between."""
    block = op.regions[0].blocks[0]
    a, b, out = block.arguments
    total = _source(block.operations[-1].operands[0])
    terms = _operands(total, _PAIRS)
    if isinstance(total, OpResult) and out in terms:
        factors = _operands(terms[terms.index(out) - 1], (_PAIRS[total.owner.name],))
        if set(factors) == {a, b}:
            return None
    return Unprefixed("expected add/mul op in the body")


def _operands(value: SSAValue, names: Collection[str]) -> list[SSAValue]:
    """Return the operands of the op with one of these names that makes a value; none if another makes it."""
    if isinstance(value, OpResult) and value.owner.name in names:
        return [_source(operand) for operand in value.owner.operands]
    return []


def _source(value: SSAValue) -> SSAValue:
    while isinstance(value, OpResult) and len(value.owner.operands) == 1:
        value = value.owner.operands[0]
    return value
