"""The ops that take parts of a vector at a position, or put them there: vector.extract and vector.insert.

A position is a list of numbers and index operands. The number -1 makes the result poison.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.declare.type_rules import TypeRule
from halfulp.interp.dialects.elements import Function, Operands, picked, poisoned, replaced, reshaped
from halfulp.interp.dialects.indices import DYNAMIC, element_at, numbers
from halfulp.interp.dialects.vector.attributes import integers
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

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
    """Require of ``part``, unless its type is given, the type at the position in ``whole``. Its element type must be
    that of ``like``.
    """

    def solve(types: dict[str, Any], properties: Mapping[str, at.Attribute]) -> None:
        if whole in types and "static_position" in properties:
            types.setdefault(part, _part_type(types[whole], _depth(properties)))

    def holds(types: Mapping[str, Any], properties: Mapping[str, at.Attribute]) -> bool:
        return ty.element_type(types[part]) == ty.element_type(types[like])

    return TypeRule(f"failed to verify that {message} have same element type", solve, holds)


def verify_position(op: Operation) -> str | None:
    """Check that a position lies inside the vector, or is -1, and that an inserted part has the rank of the replaced
    one; its shape may differ.
    """
    extract = op.name == "vector.extract"
    part = (op.results if extract else op.operands)[0].type
    if isinstance(part, ty.VectorType) and not part.shape:
        what = "result type" if extract else "source operand"
        return Unprefixed(f"expected a scalar instead of a 0-d vector as the {what}")
    whole = op.operands[0 if extract else 1].type
    assert isinstance(whole, ty.VectorType)
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
    """Check that the result has the type at the position; a vector of one element may stand for a scalar and vice
    versa.
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
    """Return the position that an op names: constants, with the operands in place of the dynamic ones."""
    given = iter(numbers(op, dynamic, settings))
    return tuple(next(given) if number == DYNAMIC else number for number in integers(op.properties["static_position"]))


def axes(op: Operation) -> dict[int, int]:
    """Return the axis of each index that an operand gives, by the number of the operand."""
    dynamic = [axis for axis, number in enumerate(integers(op.properties["static_position"])) if number == DYNAMIC]
    first = len(op.operands) - len(dynamic)
    return {first + place: axis for place, axis in enumerate(dynamic)}


def _is_poison(op: Operation) -> bool:
    return _POISON in integers(op.properties["static_position"])


def _inside(op: Operation, whole: Value, position: tuple[int, ...]) -> tuple[int, ...]:
    return element_at(op, whole.shape[: len(position)], position)


def extract(op: Operation, settings: Settings) -> Function:
    """Return the function of vector.extract."""
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
    """Return a vector of one element that was a scalar, or a scalar that was a vector."""
    if any(type_.scalable for type_ in (value.type, type_) if isinstance(type_, ty.VectorType)):
        raise Unsupported(
            f"{op.name}: how many elements '{value.type}' gives '{type_}' is not known",
            location=op.location,
            op=op.name,
        )
    return reshaped(value, type_, tuple(size or 0 for size in ty.shape_of(type_) or ()))


def insert(op: Operation, settings: Settings) -> Function:
    """Return the function of vector.insert."""
    given, type_ = op.operands[0].type, op.results[0].type
    place = _part_type(op.operands[1].type, _depth(op.properties))
    spoiled = _is_poison(op)

    def inserted(run: Run, operands: Operands) -> tuple[Any, ...]:
        if given != place:
            # MLIR's verifier compares ranks only.
            raise Unsupported(
                f"{op.name}: what '{given}' does in the place of '{place}' is not defined",
                location=op.location,
                op=op.name,
            )
        if spoiled:
            return (poisoned(op, run, settings, type_, _OF_POISON),)
        part, whole = operands[:2]
        return (replaced(run, whole, _inside(op, whole, _position(op, operands[2:], settings)), part),)

    return inserted
