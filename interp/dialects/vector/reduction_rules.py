"""Verification of the ops that combine elements."""

from __future__ import annotations

from halfulp.interp.dialects.vector.attributes import ITERATOR_TYPE, integers, kind_of, scalable_dimensions, vector_of
from halfulp.interp.dialects.vector.folding import is_supported
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.attributes import AffineMapAttr, ArrayAttr, Attribute, IntegerAttr
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.operations import Operation


def _unsupported(op: Operation, element: str, type_: ty.Type) -> str | None:
    """Check the kind. ``element``: the type as MLIR spells it here."""
    kind = kind_of(op.properties["kind"])
    return None if is_supported(kind, type_) else f"unsupported reduction type {element} for kind '{kind}'"


def verify_reduction(op: Operation) -> str | None:
    """Check rank and kind."""
    rank, element = len(ty.shape_of(op.operands[0].type) or ()), op.results[0].type
    return f"unsupported reduction rank: {rank}" if rank > 1 else _unsupported(op, f"''{element}''", element)


def verify_multi_reduction(op: Operation) -> str | None:
    """Check that the result has the dimensions that are not reduced; a scalar where none is left."""
    source, result = op.operands[0].type, op.results[0].type
    assert isinstance(source, ty.VectorType)
    dropped = integers(op.properties["reduction_dims"])
    kept = [axis for axis in range(len(source.shape)) if axis not in dropped]
    flags = scalable_dimensions(source)
    expected: ty.Type = source.element
    if kept:
        shape = tuple(source.shape[axis] for axis in kept)
        expected = vector_of(shape, source.element, tuple(flags[axis] for axis in kept))
    if result == expected:
        return None
    return f"destination type '{result}' is incompatible with source type '{source}'"


def verify_scan(op: Operation) -> str | None:
    """Check the reduced dimension, the initial value and the kind."""
    source, initial = op.operands[0].type, op.operands[1].type
    axis = op.properties["reduction_dim"]
    assert isinstance(source, ty.VectorType)
    assert isinstance(initial, ty.VectorType)
    assert isinstance(axis, IntegerAttr)
    rank = len(source.shape)
    if axis.value >= rank:
        return f"reduction dimension {axis.value} has to be less than {rank}"
    if len(initial.shape) != rank - 1:
        return f"initial value rank {len(initial.shape)} has to be equal to {rank - 1}"
    if initial.shape != tuple(size for k, size in enumerate(source.shape) if k != axis.value):
        return "incompatible input/initial value shapes"
    return _unsupported(op, f"'{source.element}'", source.element)


def verify_outer(op: Operation) -> str | None:
    """Check ranks, dimensions and the kind."""
    left, right, result = op.operands[0].type, op.operands[1].type, op.results[0].type
    assert isinstance(left, ty.VectorType)
    assert isinstance(result, ty.VectorType)
    if len(left.shape) != 1:
        return "expected 1-d vector for operand #1"
    if isinstance(right, ty.VectorType):
        if len(right.shape) != 1:
            return "expected 1-d vector for operand #2"
        if len(result.shape) != 2:
            return "expected 2-d vector result"
        for number, (side, size) in enumerate(zip((left, right), result.shape, strict=True), 1):
            if side.shape[0] != size:
                return f"expected #{number} operand dim to match result dim #{number}"
        if any(left.scalable) and not any(right.scalable):
            return "expected either both or only #2 operand dim to be scalable"
    else:
        if len(result.shape) != 1:
            return "expected 1-d vector result"
        if left.shape != result.shape:
            return "expected #1 operand dim to match result dim #1"
    if len(op.operands) > 2 and op.operands[2].type != result:
        return "expected operand #3 of same type as result type"
    return None if is_supported(kind_of(op.properties["kind"]), result.element) else "unsupported outerproduct type"


# --- contraction ------------------------------------------------------------------------------------------------------


def _maps(op: Operation) -> list[AffineMapAttr]:
    maps = op.properties["indexing_maps"]
    assert isinstance(maps, ArrayAttr)
    return [map_ for map_ in maps.elements if isinstance(map_, AffineMapAttr)]


def _is_projected_permutation(map_: AffineMapAttr) -> bool:
    places = [expr.position for expr in map_.results if isinstance(expr, Dimension)]
    return not map_.symbols and len(places) == len(map_.results) == len(set(places))


def verify_contract(op: Operation) -> str | None:
    """Check the maps, and that the result has the dimensions that the maps give it."""
    left, right, initial = (value.type for value in op.operands)
    assert isinstance(left, ty.VectorType)
    assert isinstance(right, ty.VectorType)
    if isinstance(left.element, ty.IntegerType) and left.element.signedness != "signless":
        return "only supports signless integer types"
    iterators = op.properties["iterator_types"]
    assert isinstance(iterators, ArrayAttr)
    maps = _maps(op)
    if len(maps) != 3:
        return "expected an indexing map for each vector operand"
    problem = next(
        (
            found
            for number, (map_, value) in enumerate(zip(maps, op.operands, strict=True))
            if (found := _verify_map(number, map_, value.type, len(iterators.elements))) is not None
        ),
        None,
    )
    if problem:
        return problem
    pairs = _pairs(maps, iterators.elements)
    contracting, batch = ([pair[1:] for pair in pairs if pair[0] == kind] for kind in ("reduction", "parallel"))
    if not contracting:
        return "expected at least one contracting dimension pair"
    for what, those in (("contracting", contracting), ("batch", batch)):
        if any(left.shape[one] != right.shape[other] for one, other in those):
            return f"invalid {what} dimension map"
    problem = _verify_result(op, (left, right, initial), maps, contracting, batch)
    if problem:
        return problem
    element = ty.element_type(op.results[0].type)
    return None if is_supported(kind_of(op.properties["kind"]), element) else "unsupported contraction type"


def _verify_map(number: int, map_: AffineMapAttr, type_: ty.Type, count: int) -> str | None:
    rank = len(type_.shape) if isinstance(type_, ty.VectorType) else 0
    if map_.symbols:
        return f"expected indexing map {number} to have no symbols"
    if map_.dimensions != count:
        return f"expected indexing map {number} to have {count} number of inputs"
    if len(map_.results) != rank:
        return f"expected indexing map {number} to have {rank} number of outputs"
    if not _is_projected_permutation(map_):
        return f"expected indexing map {number} to be a projected permutation of its inputs"
    return None


def _pairs(maps: list[AffineMapAttr], iterators: tuple[Attribute, ...]) -> list[tuple[str, int, int]]:
    """Return for each dimension that both factors have the type of its iterator and its axis in each."""
    found = []
    for number, iterator in enumerate(iterators):
        dimension = Dimension(number)
        if isinstance(iterator, EnumAttr) and all(dimension in map_.results for map_ in maps[:2]):
            kind = next(name for name, value in ITERATOR_TYPE.cases.items() if value == iterator.value)
            found.append((kind, maps[0].results.index(dimension), maps[1].results.index(dimension)))
    return found


def _verify_result(
    op: Operation,
    types: tuple[ty.VectorType, ty.VectorType, ty.Type],
    maps: list[AffineMapAttr],
    contracting: list[tuple[int, int]],
    batch: list[tuple[int, int]],
) -> str | None:
    left, right, initial = types
    result = op.results[0].type
    wrong = "invalid accumulator/result vector shape"
    free = len(left.shape) - len(contracting) + len(right.shape) - len(contracting) - len(batch)
    vectors = [isinstance(type_, ty.VectorType) for type_ in (result, initial)]
    if not free:
        return wrong if any(vectors) else None
    if not isinstance(result, ty.VectorType) or not all(vectors):
        return wrong
    sizes = {
        expr: size
        for type_, map_ in ((right, maps[1]), (left, maps[0]))
        for expr, size in zip(map_.results, type_.shape, strict=True)
    }
    if len(sizes) < maps[0].dimensions:
        return "expected all dimensions to be either a LHS or a RHS dimension"
    expected = ty.VectorType(tuple(sizes[expr] for expr in maps[2].results), result.element, result.scalable)
    return None if result == initial == expected else f"{wrong}, expected: '{expected}'"
