"""Functions for all dialects of elementwise ops: how their kernels read an op, and the rules of the trait
Elementwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat, ints_to_codes
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.declare.declarations import AttributeConstraint, TypeRule, derived_type
from halfulp.interp.declare.operands import add_defaults
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import Attribute
from halfulp.interp.ir.dialect_attributes import EnumAttr, EnumDefinition
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.run.elementwise import PointwiseStep
from halfulp.interp.run.evaluators import Elementwise, evaluator_of
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Kernel


def element_of(value: Any) -> ty.Type:
    """Return the element type of an operand or result."""
    return ty.element_type(value.type)


def format_of(value: Any) -> FloatFormat:
    """Return the format of an operand or result of floats."""
    return ty.float_format(value.type)


def is_power_of_two(number: int) -> bool:
    """Tell whether a number is a power of two."""
    return number > 0 and not number & (number - 1)


def enum_of(op: Operation, name: str) -> int | None:
    """Return the number of an enum property; None if the op does not have it."""
    attribute = op.properties.get(name)
    if isinstance(attribute, EnumAttr | at.IntegerAttr):
        return attribute.value
    return None


def fastmath_of(op: Operation) -> int:
    """Return the fast-math flags of an op."""
    return enum_of(op, "fastmath") or 0


def integer_flags(op: Operation, settings: Settings) -> dict[str, bool]:
    """Return the poison-generating flags of an op as keyword arguments of its kernel; return none if the profile
    ignores them.
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


def of_width(factory: Callable[[int], Kernel]) -> Elementwise:
    """Return the evaluator of an op on integers of the width of its first operand."""
    return Elementwise(lambda op, settings: factory(settings.width(element_of(op.operands[0]))))


def integer_cast(factory: Callable[..., Kernel]) -> Callable[[Operation, Settings], Kernel]:
    """Return a function that makes the kernel of an op that casts between integers. ``factory``: makes the kernel from
    the two widths.
    """

    def build(op: Operation, settings: Settings) -> Kernel:
        source, target = settings.width(element_of(op.operands[0])), settings.width(element_of(op.results[0]))
        return factory(source, target, **integer_flags(op, settings))

    return build


def rounding_of(op: Operation) -> Rounding:
    """Return the rounding mode of an op; to nearest even if it has none."""
    return Rounding(enum_of(op, "roundingmode") or 0)


def bool_like(type_: ty.Type) -> ty.Type:
    """Return the result type of a comparison of operands of ``type_``: i1, or a vector or tensor of i1 in the same
    shape.
    """
    return ty.with_element(type_, ty.I1)


def bool_result(result: str, operand: str) -> TypeRule:
    """Return the rule that a result has i1 elements, in the shape of an operand; both are given by their names."""
    message = "failed to verify that result type has i1 element type and same shape as operands"
    return derived_type(result, operand, bool_like, message)


def sizes_agree(one: Sequence[int | None] | None, other: Sequence[int | None] | None) -> bool:
    """Tell whether two shapes may be equal at run time. None stands for a size that is known only at run time, or for a
    shape whose rank is.
    """
    if one is None or other is None:
        return True
    return len(one) == len(other) and all(a == b or a is None or b is None for a, b in zip(one, other, strict=True))


def _compatible(one: ty.Type, other: ty.Type) -> bool:
    """Tell whether both are vectors, both ranked tensors or both unranked tensors, with shapes that may be the same at
    run time.
    """
    if isinstance(one, ty.VectorType) != isinstance(other, ty.VectorType):
        return False
    if getattr(one, "scalable", ()) != getattr(other, "scalable", ()):
        return False
    first, second = ty.shape_of(one), ty.shape_of(other)
    return first is second is None if first is None or second is None else sizes_agree(first, second)


def shapes_agree(one: ty.Type, other: ty.Type) -> bool:
    """Tell whether two types are both scalars, or both have shapes that may be the same at run time."""
    if isinstance(one, ty.ShapedType) != isinstance(other, ty.ShapedType):
        return False
    if getattr(one, "scalable", ()) != getattr(other, "scalable", ()):
        return False
    return sizes_agree(ty.shape_of(one), ty.shape_of(other))


def same_shape(one: str, other: str) -> TypeRule:
    """Return the rule of the trait SameOperandsAndResultShape for two slots. It accepts a tensor in place of a
    vector.
    """
    return TypeRule(
        "requires the same shape for all operands and results",
        solve=lambda types, properties: None,
        holds=lambda types, properties: shapes_agree(types[one], types[other]),
    )


def _containers(types: Mapping[str, Any]) -> list[ty.Type]:
    return [type_ for type_ in types.values() if isinstance(type_, ty.VectorType | ty.TensorType)]


def elementwise(*results: str) -> tuple[TypeRule, ...]:
    """Return the rules of the trait Elementwise, for an op with results of these names, if no other trait requires
    equal types: a scalar operand is repeated for all elements.
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


# --- atomic kinds -----------------------------------------------------------------------------------------------------
#
# The ways in which an atomic op, or a parallel loop, combines two values (`arith::AtomicRMWKind`).

ATOMIC_KIND = EnumDefinition(
    "::mlir::arith::AtomicRMWKind",
    {
        "addf": 0,
        "addi": 1,
        "andi": 2,
        "assign": 3,
        "maximumf": 4,
        "maxnumf": 5,
        "maxs": 6,
        "maxu": 7,
        "minimumf": 8,
        "minnumf": 9,
        "mins": 10,
        "minu": 11,
        "mulf": 12,
        "muli": 13,
        "ori": 14,
        "xori": 15,
    },
    storage_width=64,
)


class Combining(NamedTuple):
    """The op of arith that a kind applies, and the elements that MLIR's verifiers ask for: ``f``, ``i`` or any."""

    op: str
    elements: str


COMBINING = {
    "addf": Combining("arith.addf", "f"),
    "addi": Combining("arith.addi", "i"),
    "andi": Combining("arith.andi", "i"),
    "maximumf": Combining("arith.maximumf", "f"),
    "maxnumf": Combining("arith.maxnumf", ""),
    "maxs": Combining("arith.maxsi", "i"),
    "maxu": Combining("arith.maxui", "i"),
    "minimumf": Combining("arith.minimumf", "f"),
    "minnumf": Combining("arith.minnumf", ""),
    "mins": Combining("arith.minsi", "i"),
    "minu": Combining("arith.minui", "i"),
    "mulf": Combining("arith.mulf", "f"),
    "muli": Combining("arith.muli", "i"),
    "ori": Combining("arith.ori", "i"),
    "xori": Combining("arith.xori", "i"),
}
"""All kinds but ``assign``, which takes the new value."""


# --- combining --------------------------------------------------------------------------------------------------------
#
# Elementwise ops that run on behalf of ops of other dialects, such as the combinations of reductions.


def elementwise_op(
    name: str, operands: Sequence[ty.Type], result: ty.Type, properties: Mapping[str, Attribute] | None = None
) -> Operation:
    """Return an elementwise op, for example of arith, that is in no block."""
    definition = default_registry().find(name)
    assert definition is not None
    assert isinstance(definition.evaluate, Elementwise)
    op = Operation(name, definition, [SSAValue(type_) for type_ in operands], [result], dict(properties or {}))
    add_defaults(definition, op.properties)
    return op


def elementwise_step(
    op: Operation,
    name: str,
    operands: Sequence[ty.Type],
    result: ty.Type,
    settings: Settings,
    properties: Mapping[str, Attribute] | None = None,
) -> PointwiseStep:
    """Return a step that computes an elementwise op, for example of arith, as a part of ``op``. Poison and errors name
    the place of ``op``.
    """
    inner = elementwise_op(name, operands, result, properties)
    evaluator = evaluator_of(inner)
    return PointwiseStep(inner, evaluator, evaluator.build(inner, settings), settings, op)


def neutral(name: str, type_: ty.Type) -> Value:
    """Return the result of an op of arith for no elements: +0 for a sum, else the neutral element."""
    width = ty.width_of(type_)
    mnemonic = name.partition(".")[2]
    if isinstance(type_, ty.FloatType):
        code = _neutral_float(mnemonic, type_.format)
    else:
        top = (1 << width) - 1
        codes = {"andi": top, "minui": top, "muli": 1, "minsi": top >> 1, "maxsi": top ^ (top >> 1)}
        code = codes.get(mnemonic, 0) & top
    return Value(type_, ints_to_codes([code], width, ()))


def _neutral_float(mnemonic: str, fmt: FloatFormat) -> int:
    if mnemonic in ("addf", "mulf"):
        return scalar.from_integer(fmt, int(mnemonic == "mulf")).code
    if mnemonic in ("minnumf", "maxnumf") and fmt.nan_code is not None:
        return fmt.nan_code
    smallest = mnemonic.startswith("max")
    if smallest and not fmt.signed:
        return 0
    largest = fmt.max_code if fmt.infinity_code is None else fmt.infinity_code
    return scalar.with_sign(fmt, int(smallest), largest)


# --- reassociation ----------------------------------------------------------------------------------------------------
#
# Groups of neighbouring dimensions that `expand_shape` splits and `collapse_shape` joins, of tensors and memrefs.

Groups = tuple[tuple[int, ...], ...]
Shape = Sequence[int | None]


def _is_list_of_lists(attribute: Attribute) -> bool:
    return isinstance(attribute, at.ArrayAttr) and all(
        isinstance(group, at.ArrayAttr)
        and all(isinstance(axis, at.IntegerAttr) and axis.type == ty.I64 for axis in group.elements)
        for group in attribute.elements
    )


REASSOCIATION_ATTR = AttributeConstraint("Array of 64-bit integer array attributes", _is_list_of_lists)


def groups_of(op: Operation) -> Groups:
    """Return, for each collapsed dimension, the numbers of the expanded dimensions that it joins."""
    written = op.prop("reassociation", at.ArrayAttr)
    found = []
    for group in written.elements:
        assert isinstance(group, at.ArrayAttr)
        found.append(tuple(axis.value for axis in group.elements if isinstance(axis, at.IntegerAttr)))
    return tuple(found)


def verify_groups(expanded: Shape, collapsed: Shape, groups: Groups) -> str | None:
    """Say why groups do not relate two ranks, in the words of MLIR, or None."""
    if len(groups) != len(collapsed):
        return f"expected collapsed rank ({len(collapsed)}) to equal the number of reassociation maps ({len(groups)})."
    following = 0
    for number, group in enumerate(groups):
        for axis in group:
            if axis != following:
                return f"expected reassociation map #{number} to be valid and contiguous."
            following += 1
    if groups and following != len(expanded):
        return (
            f"expected reassociation map #0 to have size equal to the expanded rank ({len(expanded)}), "
            f"but it is  {following}."
        )
    return None


def collapsed_shape(expanded: Shape, groups: Groups) -> tuple[int | None, ...]:
    """Return the shape after the dimensions of each group are joined. A size is None if one of the joined sizes is
    None.
    """
    found: list[int | None] = []
    for group in groups:
        sizes = [expanded[axis] for axis in group]
        known = [size for size in sizes if size is not None]
        found.append(prod(known) if len(known) == len(sizes) else None)
    return tuple(found)


def verify_sizes(expanded: Shape, collapsed: Shape, groups: Groups) -> str | None:
    """Say why the size of a dimension is not that of its group, in the words of MLIR, or None."""
    for number, (size, wanted) in enumerate(zip(collapsed, collapsed_shape(expanded, groups), strict=True)):
        if size == wanted:
            continue
        if wanted is None:
            return (
                f"expected dimension {number} of collapsed type to be dynamic since one or more of the corresponding "
                "dimensions in the expanded type is dynamic"
            )
        return f"expected dimension {number} of collapsed type to be static value of {wanted}"
    return None
