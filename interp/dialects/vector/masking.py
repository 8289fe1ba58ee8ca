"""The region vector.mask: one op inside it runs under a mask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from halfulp.interp.dialects.elements import Function
from halfulp.interp.dialects.vector import memory, reductions, transfers
from halfulp.interp.dialects.vector.attributes import scalable_dimensions, vector_of
from halfulp.interp.dialects.vector.transfer_forms import mask_type
from halfulp.interp.dialects.vector.transfer_rules import parts
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.attributes import AffineMapAttr, ArrayAttr
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.run.control import Compiler, passing
from halfulp.interp.run.evaluators import OnValues, Words
from halfulp.interp.run.frames import Action, Frame, Run, Segment
from halfulp.interp.run.steps import general_step
from halfulp.interp.values.lanes import alike
from halfulp.interp.values.value import Value

_PASSTHRU = "vector.transfer_read"
"""The one op that takes a value for the lanes that the mask leaves out."""

# --- masks of each op -----------------------------------------------------------------------------------------------


def _of_shape(type_: ty.Type) -> ty.Type:
    assert isinstance(type_, ty.VectorType)
    return ty.VectorType(type_.shape, ty.I1, type_.scalable)


def _of_transfer(op: Operation) -> ty.Type:
    vector = op.results[0].type if op.name == "vector.transfer_read" else op.operands[parts(op)[2]].type
    map_ = op.properties["permutation_map"]
    assert isinstance(vector, ty.VectorType)
    assert isinstance(map_, AffineMapAttr)
    return mask_type(vector, map_)


def _of_contract(op: Operation) -> ty.Type:
    maps = op.properties["indexing_maps"]
    assert isinstance(maps, ArrayAttr)
    sizes: dict[int, tuple[int, bool]] = {}
    for map_, value in zip(maps.elements[:2], op.operands, strict=False):
        assert isinstance(map_, AffineMapAttr)
        assert isinstance(value.type, ty.VectorType)
        dimensions = (expr.position for expr in map_.results if isinstance(expr, Dimension))
        sizes |= dict(zip(dimensions, zip(value.type.shape, scalable_dimensions(value.type), strict=True), strict=True))
    shape, flags = zip(*(sizes[dimension] for dimension in sorted(sizes)), strict=True)
    return vector_of(shape, ty.I1, flags)


_MASKABLE: Mapping[str, tuple[Callable[[Operation], ty.Type], Callable[..., Function]]] = {
    "vector.contract": (_of_contract, reductions.contract),
    "vector.gather": (lambda op: _of_shape(op.operands[-3].type), memory.gather),
    "vector.multi_reduction": (lambda op: _of_shape(op.operands[0].type), reductions.multi_reduce),
    "vector.outerproduct": (lambda op: _of_shape(op.results[0].type), reductions.outer_product),
    "vector.reduction": (lambda op: _of_shape(op.operands[0].type), reductions.reduce),
    "vector.transfer_read": (_of_transfer, transfers.read),
    "vector.transfer_write": (_of_transfer, transfers.write),
}
"""For each op that can be masked: the type of its mask, and its function under one."""


def verify(op: Operation) -> str | None:
    """Check that the region holds at most one op, which can be masked, and returns its results."""
    operations = op.regions[0].blocks[0].operations
    if not operations:
        return "expects a terminator within the mask region"
    if len(operations) > 2:
        return "expects only one operation to mask"
    end = operations[-1]
    if end.name != "vector.yield":
        return "expects a terminator within the mask region"
    if len(end.operands) != len(op.results):
        return "expects number of results to match mask region yielded values"
    if len(operations) == 1:
        return None
    inner = operations[0]
    if inner.name not in _MASKABLE:
        return "expects a MaskableOpInterface within the mask region"
    if len(inner.results) != len(op.results):
        return "expects number of results to match maskable operation number of results"
    if list(inner.results) != end.operands:
        return "expects all the results from the MaskableOpInterface to match all the values returned by the terminator"
    if [result.type for result in inner.results] != [result.type for result in op.results]:
        return "expects result type to match maskable operation result type"
    expected = _MASKABLE[inner.name][0](inner)
    if op.operands[0].type != expected:
        return f"expects a '{expected}' mask for the maskable operation"
    if len(op.operands) < 2:
        return None
    if inner.name != _PASSTHRU:
        return "doesn't expect a passthru argument for this maskable operation"
    if len(inner.results) != 1:
        return "expects result when passthru argument is provided"
    same = op.operands[1].type == inner.results[0].type
    return None if same else "expects passthru type to match result type"


# --- evaluation -------------------------------------------------------------------------------------------------------


def _around(op: Operation) -> Operation | None:
    """Return the vector.mask around an op."""
    around = op.parent_op
    return around if around is not None and around.name == "vector.mask" else None


def _reads(op: Operation) -> Sequence[SSAValue]:
    around = _around(op)
    return op.operands if around is None else [*op.operands, *around.operands]


def maskable(name: str, words: Words | None = None) -> OnValues:
    """Return the evaluator of an op that may be inside vector.mask. ``words``: see `OnValues`."""
    build = _MASKABLE[f"vector.{name}"][1]
    return OnValues(lambda op, settings: build(op, settings, _around(op) is not None), reads=_reads, words=words)


def mask(op: Operation, compiler: Compiler) -> Action:
    """Return the action of vector.mask. Without an op inside, the lanes left out have the other value."""
    region, results = op.regions[0], compiler.slots(op.results)
    if len(op.operands) < 2 or len(region.blocks[0].operations) > 1:
        return passing((), compiler.region(region, compiler.resume(op)))

    finish = compiler.resume(op)(results)

    def choosing(sources: Sequence[int]) -> Action:
        lanes, other = op.operands
        read = compiler.slots([lanes]) + tuple(sources) + compiler.slots([other])
        step = general_step(_choose, op, read, results, [lanes, op.results[0], other])

        def choose(frame: Frame) -> Segment | None:
            step(frame.slots)
            return finish(frame)

        return choose

    return passing((), compiler.region(region, choosing))


def _choose(run: Run, operands: tuple[Value, ...]) -> tuple[Value, ...]:
    lanes, one, other = alike(*operands)
    return (reductions.chosen(run, lanes.bits != 0, one, other),)


def leave(op: Operation, compiler: Compiler) -> Action:
    """Return the action of vector.yield."""
    assert compiler.on_yield is not None
    return compiler.on_yield(compiler.slots(op.operands))
