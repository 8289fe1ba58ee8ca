"""What the dialects of elementwise ops share: how their kernels read an op, and the rules of the trait Elementwise."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.declare.declarations import TypeRule
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.settings import Settings


def element_of(value: Any) -> ty.Type:
    """Return the element type of an operand or result."""
    return ty.element_type(value.type)


def format_of(value: Any) -> FloatFormat:
    """Return the format of an operand or result of floats."""
    element = element_of(value)
    assert isinstance(element, ty.FloatType)
    return element.format


def enum_of(op: Operation, name: str) -> int | None:
    """Return the number of an enum property; None where the op does not have it."""
    attribute = op.properties.get(name)
    if isinstance(attribute, EnumAttr | at.IntegerAttr):
        return attribute.value
    return None


def fastmath_of(op: Operation) -> int:
    """Return the fast-math flags of an op."""
    return enum_of(op, "fastmath") or 0


def integer_flags(op: Operation, settings: Settings) -> dict[str, bool]:
    """Return the poison-generating flags of an op as keyword arguments of its kernel; none where the profile ignores
    them.
    """
    if not settings.profile.keeps_integer_flags:
        return {}
    overflow = enum_of(op, "overflowFlags") or 0
    flags = {
        "nsw": bool(overflow & 1),
        "nuw": bool(overflow & 2),
        "exact": "isExact" in op.properties,
        "nneg": "nonNeg" in op.properties,
    }
    return {name: True for name, present in flags.items() if present}


def rounding_of(op: Operation) -> Rounding:
    """Return the rounding mode of an op: to nearest even where it names none."""
    return Rounding(enum_of(op, "roundingmode") or 0)


def bool_like(type_: ty.Type) -> ty.Type:
    """Return i1 in the container of ``type_``: the result type of a comparison."""
    return ty.with_element(type_, ty.I1)


def _compatible(one: ty.Type, other: ty.Type) -> bool:
    """Tell whether both are vectors, ranked tensors or unranked ones, of shapes that may be the same at run time."""
    if isinstance(one, ty.VectorType) != isinstance(other, ty.VectorType):
        return False
    if getattr(one, "scalable", ()) != getattr(other, "scalable", ()):
        return False
    first, second = ty.shape_of(one), ty.shape_of(other)
    if first is None or second is None or len(first) != len(second):
        return first is second is None
    return all(a == b or a is None or b is None for a, b in zip(first, second, strict=True))


def shapes_agree(one: ty.Type, other: ty.Type) -> bool:
    """Tell whether both are scalars, or both have shapes that may be the same at run time."""
    if isinstance(one, ty.ShapedType) != isinstance(other, ty.ShapedType):
        return False
    if getattr(one, "scalable", ()) != getattr(other, "scalable", ()):
        return False
    first, second = ty.shape_of(one), ty.shape_of(other)
    if first is None or second is None:
        return True
    return len(first) == len(second) and all(
        a == b or a is None or b is None for a, b in zip(first, second, strict=True)
    )


def same_shape(one: str, other: str) -> TypeRule:
    """Return the rule of the trait SameOperandsAndResultShape for two slots. It takes a tensor for a vector."""
    return TypeRule(
        "requires the same shape for all operands and results",
        solve=lambda types, properties: None,
        holds=lambda types, properties: shapes_agree(types[one], types[other]),
    )


def _containers(types: Mapping[str, Any]) -> list[ty.Type]:
    return [type_ for type_ in types.values() if isinstance(type_, ty.VectorType | ty.TensorType)]


def elementwise(*results: str) -> tuple[TypeRule, ...]:
    """Return the rules of the trait Elementwise, for an op with results of these names, where no other trait makes the
    types alike: a scalar operand stands for all elements.
    """
    return (
        TypeRule(
            "if an operand is non-scalar, then there must be at least one non-scalar result",
            solve=lambda types, properties: None,
            holds=lambda types, properties: (
                not _containers(types) or bool(_containers({name: types[name] for name in results}))
            ),
        ),
        TypeRule(
            "if a result is non-scalar, then at least one operand must be non-scalar",
            solve=lambda types, properties: None,
            holds=lambda types, properties: (
                not _containers({name: types[name] for name in results})
                or bool(_containers({name: type_ for name, type_ in types.items() if name not in results}))
            ),
        ),
        TypeRule(
            "all non-scalar operands/results must have the same shape and base type",
            solve=lambda types, properties: None,
            holds=lambda types, properties: all(_compatible(one, other) for one, other in pairwise(_containers(types))),
        ),
    )
