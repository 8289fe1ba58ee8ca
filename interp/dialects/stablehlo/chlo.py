"""The dialect chlo, which JAX emits beside StableHLO: functions that StableHLO lacks, and top_k (`dialect/ChloOps.td`).

Functions are exact, rounded once, as in the math dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.declarations import Unprefixed
from halfulp.interp.declare.registry import default_registry
from halfulp.interp.dialects.arith.constants import attribute_value, constant_value
from halfulp.interp.dialects.elements import Function, Operands, data_movement, first_origin, made, picked, repeated
from halfulp.interp.dialects.elementwise import enum_of
from halfulp.interp.dialects.stablehlo.attributes import (
    COMPARISON_TYPE,
    DIRECTION,
)
from halfulp.interp.dialects.stablehlo.elementwise import (
    Element,
    Makes,
    evaluated,
    function_of_one,
    function_of_two,
)
from halfulp.interp.dialects.stablehlo.moving import broadcast_to, signed_numbers
from halfulp.interp.dialects.stablehlo.types import (
    INTEGER_TENSOR,
    Kind,
    bounds_of,
    compatible,
    compatible_elements,
    elements_fit,
    not_inferred,
    operand_types,
    same_shape,
    tensor,
    tensor_of,
)
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, Rule, SSAValue, all_of, undefined
from halfulp.interp.ir.types import spell_shape
from halfulp.interp.run.elementwise import PointwiseStep
from halfulp.interp.run.evaluators import Compiler, Constant, Elementwise, OnValues, evaluator_of
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics import casts, complex_numbers, float_unit
from halfulp.semantics import stablehlo as semantics
from halfulp.semantics.kernel import Kernel

chlo = d.Dialect("chlo", no_attribute="unknown chlo attribute")


def any_shape(letters: str) -> d.TypeConstraint:
    """Return the constraint for tensors whose elements are of these classes. Tensors without a rank are allowed too, as
    the ops of chlo allow them.
    """
    return tensor_of(letters, "")


def _shape(type_: ty.Type) -> tuple[int | None, ...]:
    return ty.shape_of(type_) or ()


def _is_ranked(type_: ty.Type) -> bool:
    return ty.shape_of(type_) is not None


# --- functions --------------------------------------------------------------------------------------------------------

_ROWS: Mapping[str, tuple[str, str, Makes]] = {
    **{
        name: ("FC", "FC", function_of_one(name))
        for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "tan")
    },
    "bessel_i1e": ("FC", "FC", {Kind.FLOAT: function_of_one("bessel_i1e")[Kind.FLOAT]}),
    "conj": ("FC", "FC", {
        Kind.FLOAT: lambda e: casts.bitcast(),
        Kind.COMPLEX: lambda e: complex_numbers.conjugate(e.format, 0, e.profile),
    }),
    **{name: ("F", "F", function_of_one(name)) for name in ("digamma", "erf", "erfc", "lgamma")},
    "_asin_acos_kernel": ("C", "C", {}),
    "erf_inv": ("F", "F", function_of_one("erfinv")),
    "is_inf": ("F", "B", {Kind.FLOAT: lambda e: float_unit.class_test("isinf", e.format)}),
    "is_neg_inf": ("F", "B", {Kind.FLOAT: lambda e: semantics.is_infinity(e.format, negative=True)}),
    "is_pos_inf": ("F", "B", {Kind.FLOAT: lambda e: semantics.is_infinity(e.format, negative=False)}),
    "square": ("FC", "FC", {
        Kind.FLOAT: lambda e: semantics.square(e.format, e.profile),
        Kind.COMPLEX: lambda e: complex_numbers.function("square", e.format, e.profile),
    }),
}  # fmt: skip
"""The letters for the elements of the operand and of the result, and the kernels."""


def _verify_truth(op: Operation) -> str | None:
    return not_inferred(op, ty.with_element(op.operands[0].type, ty.I1))


for _mnemonic, (_letters, _result, _makes) in _ROWS.items():
    chlo.op(
        _mnemonic,
        "$operand attr-dict `:` type($operand) `->` type($result)",
        operands={"operand": any_shape(_letters)},
        results={"result": any_shape(_result)},
        traits=(d.Trait.ELEMENTWISE,),
        verify=all_of(same_shape, _verify_truth) if _result == "B" else compatible,
        evaluate=evaluated(_makes),
    )

_PAIRS: Mapping[str, Makes] = {
    "next_after": {Kind.FLOAT: lambda e: semantics.next_after(e.format)},
    "polygamma": function_of_two("polygamma"),
    "zeta": function_of_two("zeta"),
}

_OPERANDS = {"polygamma": ("n", "x"), "zeta": ("x", "q")}

for _mnemonic, _makes in _PAIRS.items():
    _one, _other = _OPERANDS.get(_mnemonic, ("x", "y"))
    chlo.op(
        _mnemonic,
        f"${_one} `,` ${_other} attr-dict `:` type(${_one}) `,` type(${_other}) `->` type($result)",
        operands={_one: any_shape("F"), _other: any_shape("F")},
        results={"result": any_shape("F")},
        traits=(d.Trait.ELEMENTWISE,),
        verify=compatible,
        evaluate=evaluated(_makes),
    )


def _upper(element: Element, signed: bool) -> Kernel:
    return semantics.upper_product(element.width, signed)


chlo.op(
    "mulhi",
    "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)",
    operands={"lhs": INTEGER_TENSOR, "rhs": INTEGER_TENSOR},
    results={"result": INTEGER_TENSOR},
    traits=(d.Trait.ELEMENTWISE,),
    verify=compatible,
    evaluate=evaluated({kind: partial(_upper, signed=kind is Kind.SIGNED) for kind in (Kind.SIGNED, Kind.UNSIGNED)}),
)

chlo.op(
    "constant",
    "attr-dict $value",
    results={"output": tensor_of("FBICQ", "statically shaped")},
    properties=(d.Property("value", d.TYPED_ATTR),),
    traits=(d.Trait.CONSTANT_LIKE,),
    type_rules=(d.inferred_type_of_property("output", "value"),),
    verify=lambda op: not_inferred(op, op.properties["value"].type),
    evaluate=Constant(constant_value),
)

# --- top_k ------------------------------------------------------------------------------------------------------------


def _top_k(op: Operation, settings: Settings) -> Function:
    k, types = op.number("k"), [result.type for result in op.results]
    element = ty.element_type(op.operands[0].type)

    def largest(run: Run, operands: Operands) -> tuple[Any, ...]:
        (value,) = operands
        if isinstance(element, ty.FloatType):
            if value.poison is not None:
                raise undefined(op, f"an element is poison: {first_origin(value)}")
            keys = semantics.total_order(element.format, value.bits).astype(np.uint64)
        else:
            keys = signed_numbers(op, value, "an element").view(np.uint64) ^ np.uint64(1 << 63)
        # Of equal elements, the first one comes first.
        order = np.argsort(~keys, axis=-1, kind="stable")[..., :k]
        grids = np.meshgrid(*map(np.arange, order.shape), indexing="ij", sparse=True)[:-1]
        return picked(value, (*grids, order), types[0]), Value(types[1], order.astype(np.uint32))

    return largest


def _verify_top_k(op: Operation) -> str | None:
    operand, k = op.operands[0].type, op.number("k")
    shape, element = _shape(operand), ty.element_type(operand)
    if not _is_ranked(operand):
        return not_inferred(op, operand, ty.with_element(operand, ty.I32))
    if not shape:
        return Unprefixed("operand's rank must be at least 1")
    if shape[-1] is not None and shape[-1] < k:
        return Unprefixed(f"operand's last dimension must be at least {k}")
    bounds = (*bounds_of(operand)[:-1], None) if bounds_of(operand) else ()
    made = [tensor((*shape[:-1], k), each, bounds) for each in (element, ty.I32)]
    return not_inferred(op, *made)


chlo.op(
    "top_k",
    "`(` $operand `,` `k` `=` $k (`,` `is_stable` `=` $is_stable^)? `)` attr-dict `:` type($operand) `->` "
    "`(` type($values) `,` type($indices) `)`",
    operands={"operand": any_shape("FBICQX")},
    results={"values": any_shape("FBICQX"), "indices": any_shape("FBICQX")},
    properties=(
        d.Property("is_stable", d.BOOL_ATTR, optional=True, elided=at.BoolAttr(True)),
        d.Property("k", d.INTEGER_64_ATTR),
    ),
    named_results=("values", "indices"),
    verify=_verify_top_k,
    evaluate=data_movement(_top_k, elements=0),
)

# --- broadcasting -----------------------------------------------------------------------------------------------------
#
# The ops that broadcast their operands to one shape, as NumPy does.


def _broadcast(shapes: Sequence[tuple[int | None, ...]]) -> tuple[int | None, ...] | None:
    """Return the shape of several arrays together; None where they do not go together."""
    rank = max(map(len, shapes))
    made: list[int | None] = []
    for column in zip(*((*((1,) * (rank - len(shape))), *shape) for shape in shapes), strict=True):
        known = {size for size in column if size is not None and size != 1}
        if len(known) > 1:
            return None
        made.append(known.pop() if known else None if None in column else 1)
    return tuple(made)


def _broadcast_type(op: Operation, element: ty.Type) -> ty.Type:
    """Return the type of the result; one without a rank where it does not follow."""
    types = operand_types(op)
    unknown = ty.TensorType(None, element)
    if not all(map(_is_ranked, types)):
        return unknown
    shapes = [_shape(type_) for type_ in types]
    written = op.properties.get("broadcast_dimensions")
    if isinstance(written, at.DenseArrayAttr):
        dims = written.values
        small, large = sorted(shapes, key=len)
        if len(dims) != len(small) or any(not 0 <= dim < len(large) for dim in dims):
            return unknown
        placed: list[int | None] = [1] * len(large)
        for dim, size in zip(dims, small, strict=True):
            placed[dim] = size
        shapes = [tuple(placed), large]
    made = _broadcast(shapes)
    if made is None:
        return unknown
    bounds = [bounds_of(type_) for type_ in types]
    if not any(bounds):
        return tensor(made, element)
    limits: list[int | None] = [None] * len(made)
    for type_, known in zip(types, bounds, strict=True):
        for axis, bound in enumerate(known, len(made) - len(_shape(type_))):
            limits[axis] = bound if made[axis] is None else None
    return tensor(made, element, limits)


def _same_elements(op: Operation) -> str | None:
    first, *others = map(ty.element_type, op.types)
    same = all(other == first for other in others)
    return None if same else "requires the same element type for all operands and results"


def _verify_broadcast(element: Callable[[ty.Type], ty.Type]) -> Rule:
    """Return the rule for the result. ``element``: gives its elements from those of the first operand."""

    def check(op: Operation) -> str | None:
        one, other = (ty.element_type(value.type) for value in op.operands[-2:])
        if not elements_fit(one, other):
            return Unprefixed("mismatched operand types")
        return not_inferred(op, _broadcast_type(op, element(one)))

    return check


def _spread(op: Operation, value: SSAValue) -> SSAValue:
    """Return an operand of an op that broadcasts, in the shape of the result: the result of a broadcast_in_dim, if that
    is another shape. XLA's way to divide depends on this.
    """
    type_ = ty.with_element(op.results[0].type, ty.element_type(value.type))
    if type_ == value.type:
        return value
    name = "stablehlo.broadcast_in_dim"
    rank = len(_shape(type_))
    dims = at.DenseArrayAttr(ty.I64, tuple(range(rank - len(ty.shape_of(value.type) or ()), rank)))
    return Operation(name, default_registry().find(name), [value], [type_], {"broadcast_dimensions": dims}).results[0]


def _broadcasting(name: str) -> OnValues:
    """Return the evaluator of an op that broadcasts its operands to one shape. ``name``: that of the elementwise op."""

    def build(op: Operation, settings: Settings) -> Function:
        if not _is_ranked(op.results[0].type):
            raise Unsupported(f"halfulp does not evaluate '{op.name}' with a result of type '{op.results[0].type}'")
        rank, dims = len(_shape(op.results[0].type)), op.properties.get("broadcast_dimensions")
        types = [ty.TensorType((None,) * rank, ty.element_type(type_)) for type_ in operand_types(op)]
        properties = {
            prop: like.attribute(enum_of(op, prop) or 0)
            for prop, like in (("comparison_direction", DIRECTION), ("compare_type", COMPARISON_TYPE))
            if prop in op.properties
        }
        given = [_spread(op, value) for value in op.operands]
        inner = Operation(name, default_registry().find(name), given, [op.results[0].type], properties)
        inner.source, inner.token = op.source, op.token
        evaluator = evaluator_of(inner)
        if isinstance(evaluator, Elementwise):
            apply = PointwiseStep(inner, evaluator, evaluator.build(inner, settings), settings, op).run
        else:
            apply = evaluator.build(inner, settings)

        def run_op(run: Run, operands: Operands) -> tuple[Any, ...]:
            places = [list(range(rank - value.ndim, rank)) for value in operands]
            if isinstance(dims, at.DenseArrayAttr):
                places[min(range(len(operands)), key=lambda k: operands[k].ndim)] = list(dims.values)
            columns: list[set[int]] = [{1} for _ in range(rank)]
            for value, axes in zip(operands, places, strict=True):
                for size, axis in zip(value.shape, axes, strict=True):
                    columns[axis].add(size)
            sizes = [column - {1} or {1} for column in columns]
            if any(len(column) > 1 for column in sizes):
                shapes = ", ".join(spell_shape(value.shape) for value in operands)
                raise undefined(op, f"the shapes {shapes} cannot be broadcast to one shape")
            shape = tuple(size for column in sizes for size in column)
            made(op, shape, settings)
            given = [
                broadcast_to(value, axes, shape, type_)
                for value, axes, type_ in zip(operands, places, types, strict=True)
            ]
            return tuple(apply(run, tuple(given)))

        return run_op

    return OnValues(build)


def _itself(element: ty.Type) -> ty.Type:
    return element


def enum_of_chlo(mnemonic: str, like: EnumDefinition, code: int | None = None) -> EnumDefinition:
    """Declare an enumeration of chlo that has the cases of ``like``, an enumeration of StableHLO, and return it.
    ``code``: its number in bytecode.
    """
    name = like.name.replace("stablehlo", "chlo")
    return chlo.enum(EnumDefinition(name, like.cases, mnemonic=f"chlo.{mnemonic}", bare=True, code=code))


_DIRECTION = enum_of_chlo("comparison_direction", DIRECTION, 0)
_COMPARISON_TYPE = enum_of_chlo("comparison_type", COMPARISON_TYPE, 1)
_PLACED = d.Property("broadcast_dimensions", d.INTEGER_64_ARRAY_ATTR, optional=True)
_FORM = "$lhs `,` $rhs attr-dict `:` `(` type($lhs) `,` type($rhs) `)` `->` type(results)"
EVERY = "FBICQX"
_COMPARED = (
    d.Property("compare_type", _COMPARISON_TYPE, optional=True),
    d.Property("comparison_direction", _DIRECTION),
)

_BROADCASTS: Mapping[str, tuple[str, str, Rule | None, tuple[d.Property, ...]]] = {
    **dict.fromkeys(("add", "maximum", "minimum"), (EVERY, EVERY, compatible_elements, ())),
    **dict.fromkeys(
        (
            "atan2", "divide", "multiply", "next_after", "polygamma", "power", "remainder", "shift_left",
            "shift_right_arithmetic", "shift_right_logical", "subtract",
        ),
        (EVERY, EVERY, _same_elements, ()),
    ),
    "zeta": ("F", "F", _same_elements, ()),
    **dict.fromkeys(("and", "or", "xor"), ("BI", EVERY, None, ())),
    "complex": ("F", "C", None, ()),
    "compare": (EVERY, "B", None, _COMPARED),
}  # fmt: skip
"""The letters for the elements of the operands and of the result, a rule for both, and more properties."""
_ELEMENT: Mapping[str, Callable[[ty.Type], ty.Type]] = {"complex": ty.ComplexType, "compare": lambda element: ty.I1}

for _mnemonic, (_letters, _result, _rule, _more) in _BROADCASTS.items():
    _typed = _verify_broadcast(_ELEMENT.get(_mnemonic, _itself))
    chlo.op(
        f"broadcast_{_mnemonic}",
        _FORM,
        operands={"lhs": any_shape(_letters), "rhs": any_shape(_letters)},
        results={"result": any_shape(_result)},
        properties=(_PLACED, *_more),
        verify=_typed if _rule is None else all_of(_rule, _typed),
        evaluate=_broadcasting(f"{'chlo' if _mnemonic in _PAIRS else 'stablehlo'}.{_mnemonic}"),
    )

chlo.op(
    "broadcast_select",
    "$pred `,` $on_true `,` $on_false attr-dict `:` `(` type($pred) `,` type($on_true) `,` type($on_false) `)` `->` "
    "type(results)",
    operands={"pred": tensor_of("B"), "on_true": any_shape(EVERY), "on_false": any_shape(EVERY)},
    results={"result": any_shape(EVERY)},
    verify=_verify_broadcast(_itself),
    evaluate=_broadcasting("stablehlo.select"),
)


def _verify_like(op: Operation) -> str | None:
    found = same_shape(op)
    if found is not None:
        return found
    element = op.properties["value"].type  # type: ignore[attr-defined]
    if element != ty.element_type(op.results[0].type):
        return "value's type doesn't match element return type"
    return not_inferred(op, ty.with_element(op.operands[0].type, element))


def _constant_like(op: Operation, compiler: Compiler) -> Function:
    attribute: Any = op.properties["value"]
    value = attribute_value(attribute, ty.TensorType((), attribute.type), op, compiler)

    def repeat(run: Run, operands: Operands) -> tuple[Any, ...]:
        shape = operands[0].shape
        return (repeated(value, shape, made(op, shape, compiler.settings)),)

    return repeat


chlo.op(
    "constant_like",
    operands={"operand": any_shape(EVERY)},
    results={"result": any_shape(EVERY)},
    properties=(d.Property("value", d.TYPED_ATTR),),
    verify=_verify_like,
    evaluate=OnValues(_constant_like, of_module=True),
)
