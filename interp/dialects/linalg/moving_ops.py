"""The declarations of linalg.map, reduce, transpose and broadcast."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Arity, Property, RegionSlot, Slot
from halfulp.interp.dialects.linalg import rules
from halfulp.interp.dialects.linalg.declaring import linalg
from halfulp.interp.dialects.linalg.evaluate import STRUCTURED
from halfulp.interp.dialects.linalg.moving_forms import Shape, argument_names, moving_form
from halfulp.interp.dialects.linalg.structure import INITS, PARALLEL, REDUCTION, STRUCTURES, Reader, inputs_and_inits
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.operations import Operation


def _numbers(op: Operation, name: str) -> tuple[int, ...]:
    written = op.properties[name]
    assert isinstance(written, at.DenseArrayAttr)
    return written.values


def _rank(op: Operation, which: int) -> int:
    return len(ty.shape_of(op.operands[which].type) or ())


def _map(rank: int, axes: Sequence[int]) -> at.AffineMapAttr:
    return at.AffineMapAttr(rank, 0, tuple(map(Dimension, axes)))


def _all(rank: int) -> at.AffineMapAttr:
    return _map(rank, range(rank))


def _kept(op: Operation, rank: int) -> list[int]:
    return [axis for axis in range(rank) if axis not in _numbers(op, "dimensions")]


# --- maps -------------------------------------------------------------------------------------------------------------


def _map_maps(op: Operation) -> tuple[at.AffineMapAttr, ...]:
    return (_all(_rank(op, -1)),) * len(op.operands)


def _transpose_maps(op: Operation) -> tuple[at.AffineMapAttr, ...]:
    permutation = _numbers(op, "permutation")
    rank = len(permutation)
    return _map(rank, [permutation.index(axis) for axis in range(rank)]), _all(rank)


def _broadcast_maps(op: Operation) -> tuple[at.AffineMapAttr, ...]:
    rank = _rank(op, 1)
    return _map(rank, _kept(op, rank)), _all(rank)


def _reduce_maps(op: Operation) -> tuple[at.AffineMapAttr, ...]:
    rank, half = _rank(op, 0), len(op.operands) // 2
    return (_all(rank),) * half + (_map(rank, _kept(op, rank)),) * half


def _reduce_iterators(op: Operation) -> tuple[int, ...]:
    reduced = _numbers(op, "dimensions")
    return tuple(REDUCTION if axis in reduced else PARALLEL for axis in range(_rank(op, 0)))


def _parallel(op: Operation) -> tuple[int, ...]:
    return (PARALLEL,) * _rank(op, -1)


# --- rules ------------------------------------------------------------------------------------------------------------


def _verify_transpose(op: Operation) -> str | None:
    permutation = _numbers(op, "permutation")
    one, two = (ty.shape_of(value.type) or () for value in op.operands)
    if sorted(permutation) != list(range(len(permutation))):
        return "permutation is not valid"
    if len(one) != len(two):
        return f"input rank {len(one)} does not match init rank {len(two)}"
    if len(permutation) != len(one):
        return f"size of permutation {len(permutation)} does not match the argument rank {len(one)}"
    for axis, source in enumerate(permutation):
        if one[source] != two[axis]:
            first, second = (_size(size) for size in (two[axis], one[source]))
            return f"dim(result, {axis}) = {first} doesn't match dim(input, permutation[{axis}]) = {second}"
    return None


def _verify_broadcast(op: Operation) -> str | None:
    added = _numbers(op, "dimensions")
    one, two = (ty.shape_of(value.type) or () for value in op.operands)
    if len(one) + len(added) != len(two):
        ranks = f"input rank: {len(one)}, dimensions size: {len(added)}, init rank: {len(two)}"
        return f"input rank plus added dimensions does not match init rank. {ranks}"
    for number, axis in enumerate(added):
        if not 0 <= axis < len(two):
            return f"dimension {number} is out of range. expected range: [0, {len(two) - 1}], got: {axis}"
    kept = [axis for axis in range(len(two)) if axis not in added]
    for axis, target in enumerate(kept):
        if one[axis] != two[target]:
            first, second = _size(one[axis]), _size(two[target])
            return f"input dim {axis} should match init dim {target}. input: {first}, init: {second}"
    return None


def _size(size: int | None) -> int:
    """Return a size as MLIR prints it."""
    return -(1 << 63) if size is None else size


def _verify_reduce(op: Operation) -> str | None:
    reduced = _numbers(op, "dimensions")
    inputs, inits = inputs_and_inits(op)
    shapes = [ty.shape_of(value.type) or () for value in inputs]
    if any(shape != shapes[0] for shape in shapes):
        return "expects all inputs to have the same shapes."
    if any((ty.shape_of(value.type) or ()) != (ty.shape_of(inits[0].type) or ()) for value in inits):
        return "expects all outputs to have the same shapes."
    rank = len(shapes[0])
    if any(not 0 <= axis < rank for axis in reduced):
        return f"dimensions for reduction should be in the range [0, {rank - 1}]."
    if list(reduced) != sorted(set(reduced)):
        return "reduction dimensions must be unique" if len(set(reduced)) < len(reduced) else None
    return None


# --- declarations -----------------------------------------------------------------------------------------------------


def _declare(
    mnemonic: str,
    reader: Reader,
    shape: Shape,
    inputs: Slot,
    inits: Slot,
    name: str,
    verify: Callable[[Operation], str | None] = rules.verify_blocks,
) -> None:
    STRUCTURES[f"linalg.{mnemonic}"] = reader
    linalg.op(
        mnemonic,
        custom=moving_form(shape),
        operands=(inputs, inits),
        results=(Slot("result", c.ANY, Arity.VARIADIC),),
        properties=(Property(shape.numbers, c.INTEGER_64_ARRAY_ATTR),) if shape.numbers else (),
        regions=(RegionSlot("region"),),
        named_arguments=argument_names,
        named_results=(name,),
        verify=verify,
        verify_regions=rules.verify_structured,
        evaluate=STRUCTURED,
    )


def declare() -> None:
    """Declare these ops."""
    one, init = Slot("input", c.SHAPED), Slot("init", c.SHAPED)
    several = Slot("inputs", c.SHAPED, Arity.VARIADIC)
    INITS["linalg.reduce"] = lambda op: len(op.operands) // 2
    _declare("map", (_map_maps, _parallel), Shape(body=True), several, init, "mapped")
    _declare(
        "reduce",
        (_reduce_maps, _reduce_iterators),
        Shape("dimensions", body=True, init_first=True),
        several,
        Slot("inits", c.SHAPED, Arity.VARIADIC),
        "reduced",
        _verify_reduce,
    )
    _declare(
        "transpose", (_transpose_maps, _parallel), Shape("permutation"), one, init, "transposed", _verify_transpose
    )
    _declare(
        "broadcast", (_broadcast_maps, _parallel), Shape("dimensions"), one, init, "broadcasted", _verify_broadcast
    )
