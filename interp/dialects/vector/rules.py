"""Verification of the ops that combine elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfulp.interp.declare.declarations import TypeRule, Unprefixed
from halfulp.interp.dialects.elements import Function, Operands, picked, poisoned, replaced, reshaped
from halfulp.interp.dialects.slices import DYNAMIC, element_at, numbers
from halfulp.interp.dialects.vector.moves import ITERATOR_TYPE, integers, kind_of, scalable_dimensions, vector_of
from halfulp.interp.dialects.vector.reductions import is_supported
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.affine_expressions import Dimension
from halfulp.interp.ir.attributes import AffineMapAttr, ArrayAttr, Attribute, IntegerAttr
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.operations import Operation, unsupported
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

# --- positions --------------------------------------------------------------------------------------------------------
#
# The ops that take parts of a vector at a position, or put them there: vector.extract and vector.insert.
#
# A position is a list of numbers and index operands. The number -1 makes the result poison.

_POISON = -1
_OF_POISON = "the position is -1"

# --- types ------------------------------------------------------------------------------------------------------------


def _part_type(whole: ty.Type, depth: int) -> ty.Type:
    """Return the type at a position of ``depth`` indices: a vector of the other dimensions, or an element."""
    assert isinstance(whole, ty.VectorType)
    if depth >= len(whole.shape):
        return whole.element
    return ty.VectorType(whole.shape[depth:], whole.element, whole.scalable[depth:] if whole.scalable else ())


def _depth(properties: Mapping[str, at.Attribute]) -> int:
    position = properties.get("static_position")
    return len(position.codes) if isinstance(position, at.DenseArrayAttr) else 0


def part_of(part: str, whole: str, like: str, message: str) -> TypeRule:
    """Return the rule that the type of ``part`` is the type at the op's position in ``whole``. If the text gives a
    type, only its element type is checked, which must be that of ``like``.
    """

    def solve(types: dict[str, Any], properties: Mapping[str, at.Attribute]) -> None:
        if whole in types and "static_position" in properties:
            types.setdefault(part, _part_type(types[whole], _depth(properties)))

    def holds(types: Mapping[str, Any], properties: Mapping[str, at.Attribute]) -> bool:
        return ty.element_type(types[part]) == ty.element_type(types[like])

    return TypeRule(f"failed to verify that {message} have same element type", solve, holds)


def verify_position(op: Operation) -> str | None:
    """Return an error message unless each position lies inside the vector or is -1, and an inserted part has the rank
    of the part that it replaces; the shapes may differ.
    """
    extract = op.name == "vector.extract"
    part = (op.results if extract else op.operands)[0].type
    if isinstance(part, ty.VectorType) and not part.shape:
        what = "result type" if extract else "source operand"
        return Unprefixed(f"expected a scalar instead of a 0-d vector as the {what}")
    whole = narrowed(op.operands[0 if extract else 1].type, ty.VectorType)
    position = integers(op.properties["static_position"])
    if position.count(DYNAMIC) != len(op.operands) - (1 if extract else 2):
        return (
            "mismatch between dynamic and static positions (kDynamic marker but no corresponding dynamic position) "
            "-- this can only happen due to an incorrect fold/rewrite"
        )
    if len(position) > len(whole.shape):
        which = "vector" if extract else "dest vector"
        return f"expected position attribute of rank no greater than {which} rank"
    if not extract and isinstance(part, ty.VectorType) and len(part.shape) + len(position) != len(whole.shape):
        return "expected position attribute rank + source rank to match dest vector rank"
    if not extract and not isinstance(part, ty.VectorType) and len(position) != len(whole.shape):
        return "expected position attribute rank to match the dest vector rank"
    for number, (index, size) in enumerate(zip(position, whole.shape, strict=False), 1):
        if index not in (_POISON, DYNAMIC) and not 0 <= index < size:
            poison = " or poison (-1)" if extract else ""
            dest = "" if extract else "dest "
            return (
                f"expected position attribute #{number} to be a non-negative integer smaller than the corresponding "
                f"{dest}vector dimension{poison}"
            )
    return None


def verify_extracted(op: Operation) -> str | None:
    """Return an error message unless the result has the type at the position; a vector of one element may stand for a
    scalar and vice versa.
    """
    result = op.results[0].type
    inferred = _part_type(op.operands[0].type, _depth(op.properties))
    for one, other in ((result, inferred), (inferred, result)):
        if isinstance(one, ty.VectorType) and one.shape == (1,) and one.element == other:
            return None
    if result == inferred:
        return None
    return f"inferred type(s) '{inferred}' are incompatible with return type(s) of operation '{result}'"


# --- evaluation -------------------------------------------------------------------------------------------------------


def _position(op: Operation, dynamic: Operands, settings: Settings) -> tuple[int, ...]:
    """Return the position that an op names: constants, and the values of operands for the dynamic indices."""
    given = iter(numbers(op, dynamic, settings))
    return tuple(next(given) if number == DYNAMIC else number for number in integers(op.properties["static_position"]))


def axes(op: Operation) -> dict[int, int]:
    """Return a mapping from the number of an operand to an axis, for each index that is an operand."""
    dynamic = [axis for axis, number in enumerate(integers(op.properties["static_position"])) if number == DYNAMIC]
    first = len(op.operands) - len(dynamic)
    return {first + place: axis for place, axis in enumerate(dynamic)}


def _is_poison(op: Operation) -> bool:
    return _POISON in integers(op.properties["static_position"])


def _inside(op: Operation, whole: Value, position: tuple[int, ...]) -> tuple[int, ...]:
    return element_at(op, whole.shape[: len(position)], position)


def extract(op: Operation, settings: Settings) -> Function:
    """Return the function that runs vector.extract."""
    type_ = op.results[0].type
    depth = _depth(op.properties)
    inferred = _part_type(op.operands[0].type, depth)
    spoiled = _is_poison(op)

    def extracted(run: Run, operands: Operands) -> tuple[Any, ...]:
        whole = operands[0]
        if spoiled:
            return (poisoned(op, run, settings, type_, _OF_POISON),)
        part = picked(whole, _inside(op, whole, _position(op, operands[1:], settings)), inferred)
        return (part if inferred == type_ else _of_one_element(part, type_, op),)

    return extracted


def _of_one_element(value: Value, type_: ty.Type, op: Operation) -> Value:
    """Return a scalar as a vector of one element, or a vector of one element as a scalar."""
    if any(type_.scalable for type_ in (value.type, type_) if isinstance(type_, ty.VectorType)):
        raise unsupported(op, f"the number of elements from '{value.type}' to '{type_}' is not known")
    return reshaped(value, type_, ty.static_shape(type_))


def insert(op: Operation, settings: Settings) -> Function:
    """Return the function that runs vector.insert."""
    given, type_ = op.operands[0].type, op.results[0].type
    place = _part_type(op.operands[1].type, _depth(op.properties))
    spoiled = _is_poison(op)

    def inserted(run: Run, operands: Operands) -> tuple[Any, ...]:
        if given != place:
            # MLIR's verifier compares ranks only.
            raise unsupported(op, f"the result of '{given}' in place of '{place}' is not defined")
        if spoiled:
            return (poisoned(op, run, settings, type_, _OF_POISON),)
        part, whole = operands[:2]
        return (replaced(run, whole, _inside(op, whole, _position(op, operands[2:], settings)), part),)

    return inserted


# --- reduction rules --------------------------------------------------------------------------------------------------


def _unsupported(op: Operation, element: str, type_: ty.Type) -> str | None:
    """Return an error message unless the kind of the op can combine elements of a type. ``element``: the type as MLIR
    spells it here.
    """
    kind = kind_of(op.properties["kind"])
    return None if is_supported(kind, type_) else f"unsupported reduction type {element} for kind '{kind}'"


def verify_reduction(op: Operation) -> str | None:
    """Return what is wrong with the rank or the combining kind of vector.reduction, or None."""
    rank, element = len(ty.shape_of(op.operands[0].type) or ()), op.results[0].type
    return f"unsupported reduction rank: {rank}" if rank > 1 else _unsupported(op, f"''{element}''", element)


def verify_multi_reduction(op: Operation) -> str | None:
    """Return an error message unless the result has the dimensions that are not reduced, or is a scalar."""
    source, result = narrowed(op.operands[0].type, ty.VectorType), op.results[0].type
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
    """Return what is wrong with the reduced dimension, the initial value and the kind, or None."""
    source, initial = op.operands[0].type, op.operands[1].type
    axis = op.prop("reduction_dim", IntegerAttr)
    assert isinstance(source, ty.VectorType)
    assert isinstance(initial, ty.VectorType)
    rank = len(source.shape)
    if axis.value >= rank:
        return f"reduction dimension {axis.value} has to be less than {rank}"
    if len(initial.shape) != rank - 1:
        return f"initial value rank {len(initial.shape)} has to be equal to {rank - 1}"
    if initial.shape != tuple(size for k, size in enumerate(source.shape) if k != axis.value):
        return "incompatible input/initial value shapes"
    return _unsupported(op, f"'{source.element}'", source.element)


def verify_outer(op: Operation) -> str | None:
    """Return what is wrong with the ranks, the dimensions or the combining kind of vector.outerproduct, or None."""
    left, right = narrowed(op.operands[0].type, ty.VectorType), op.operands[1].type
    result = narrowed(op.results[0].type, ty.VectorType)
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
    maps = op.prop("indexing_maps", ArrayAttr)
    return [map_ for map_ in maps.elements if isinstance(map_, AffineMapAttr)]


def _is_projected_permutation(map_: AffineMapAttr) -> bool:
    places = [expr.position for expr in map_.results if isinstance(expr, Dimension)]
    return not map_.symbols and len(places) == len(map_.results) == len(set(places))


def verify_contract(op: Operation) -> str | None:
    """Return what is wrong with the maps of vector.contract, or with the dimensions of its result, or None."""
    left, right, initial = (value.type for value in op.operands)
    assert isinstance(left, ty.VectorType)
    assert isinstance(right, ty.VectorType)
    if isinstance(left.element, ty.IntegerType) and left.element.signedness != "signless":
        return "only supports signless integer types"
    iterators = op.prop("iterator_types", ArrayAttr)
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
    """Return, for each dimension that both factors have, the type of its iterator and its axis in each factor."""
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
