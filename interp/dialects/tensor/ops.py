"""The tensor dialect (`TensorOps.td`): the ops that make tensors, take them apart and reshape them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import (
    Arity,
    Dialect,
    Property,
    RegionSlot,
    Slot,
    Trait,
    TypeConstraint,
    Unprefixed,
)
from halfulp.interp.declare.type_rules import Repeated, TypeRule, derived_type
from halfulp.interp.dialects import slices
from halfulp.interp.dialects.elements import Function, Operands, picked, repeated, replaced, stacked
from halfulp.interp.dialects.indices import element_at, numbers, undefined
from halfulp.interp.dialects.moving import moving, of_shape
from halfulp.interp.dialects.reassociation import REASSOCIATION_ATTR
from halfulp.interp.dialects.regions import yielded
from halfulp.interp.dialects.tensor import gathering, generating, joining, making, padding, reshaping, slicing
from halfulp.interp.dialects.tensor.making import result_shape
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import OnFrames, OnValues
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value

tensor = Dialect("tensor")

_WITH_REGIONS = ("tensor.generate", "tensor.pad")
_PARALLEL = ("scf.forall.in_parallel",)
_INDICES = Slot("indices", c.INDEX, Arity.VARIADIC)
_DYNAMIC_SIZES = Slot("dynamicSizes", c.INDEX, Arity.VARIADIC)
_BITS = TypeConstraint(
    "tensor of signless integer or unsigned integer or signed integer or floating-point values",
    lambda type_: isinstance(type_, ty.TensorType) and isinstance(type_.element, ty.IntegerType | ty.FloatType),
    c.TENSOR.kind,
)
_SIZES = TypeConstraint("1D tensor of signless integer or index values", joining.is_list_of_sizes, c.TENSOR.kind)


def _splat(op: Operation, settings: Settings) -> Function:
    type_ = op.results[0].type

    def make(run: Run, operands: Operands) -> tuple[Any, ...]:
        shape = result_shape(op, type_, numbers(op, operands[1:], settings), settings)
        return (repeated(operands[0], shape, type_),)

    return make


def _from_elements(op: Operation, settings: Settings) -> Function:
    type_ = op.results[0].type
    shape = tuple(size for size in ty.shape_of(type_) or () if size is not None)

    def make(run: Run, elements: Operands) -> tuple[Any, ...]:
        return (stacked(run, elements, shape, type_),)

    return make


def _extract(op: Operation, settings: Settings) -> Function:
    type_ = op.results[0].type

    def extract(run: Run, operands: Operands) -> tuple[Any, ...]:
        whole = operands[0]
        index = element_at(op, whole.shape, numbers(op, operands[1:], settings))
        return (picked(whole, index, type_),)

    return extract


def _insert(op: Operation, settings: Settings) -> Function:
    def insert(run: Run, operands: Operands) -> tuple[Any, ...]:
        part, whole = operands[:2]
        index = element_at(op, whole.shape, numbers(op, operands[2:], settings))
        return (replaced(run, whole, index, part),)

    return insert


def _dim(op: Operation, settings: Settings) -> Function:
    type_ = op.results[0].type

    def dim(run: Run, operands: Operands) -> tuple[Any, ...]:
        shape = operands[0].shape
        (axis,) = numbers(op, operands[1:], settings)
        if not 0 <= axis < len(shape):
            raise undefined(op, f"dimension {axis} of a tensor of rank {len(shape)}")
        return (Value(type_, np.array(shape[axis], np.uint64)),)

    return dim


def _rank(op: Operation, settings: Settings) -> Function:
    type_ = op.results[0].type
    return lambda run, operands: (Value(type_, np.array(len(operands[0].shape), np.uint64)),)


def _places(op: Operation) -> dict[int, int]:
    """Return the axis of each index of tensor.extract and tensor.insert, by the number of its operand."""
    first = 2 if op.name == "tensor.insert" else 1
    return {place: place - first for place in range(first, len(op.operands))}


# --- declarations -----------------------------------------------------------------------------------------------------


def _element(type_: ty.Type) -> ty.Type:
    return ty.element_type(type_)


def _all_of_element_type() -> TypeRule:
    def solve(types: dict[str, Any], properties: Mapping[str, Any]) -> None:
        result = types.get("result")
        count = None if result is None else ty.element_count(result)
        if result is not None and count is not None:
            types.setdefault("elements", Repeated(_element(result), count))

    def holds(types: Mapping[str, Any], properties: Mapping[str, Any]) -> bool:
        return all(type_ == _element(types["result"]) for type_ in types["elements"])

    return TypeRule("failed to verify that operand types match result element type", solve, holds)


def _dynamic_sizes_fit(op: Operation) -> str | None:
    shape = ty.shape_of(op.results[0].type) or ()
    given = len(op.operands) - (op.name == "tensor.splat")
    needed = sum(size is None for size in shape)
    return None if given == needed else f"incorrect number of dynamic sizes, has {given}, expected {needed}"


def _indices_fit(op: Operation) -> str | None:
    which = 1 if op.name == "tensor.insert" else 0
    shape = ty.shape_of(op.operands[which].type)
    if shape is not None and len(shape) != len(op.operands) - which - 1:
        return "incorrect number of indices" + ("" if which else " for extract_element")
    return None


def _as_many_elements(op: Operation) -> str | None:
    count = ty.element_count(op.results[0].type)
    return (
        None
        if count == len(op.operands)
        else f"number of operands is {len(op.operands)}, but the type has {count} elements"
    )


def _inside_a_region(op: Operation) -> str | None:
    parent = op.parent_op
    inside = parent is not None and parent.name in _WITH_REGIONS
    return None if inside else f"expects parent op to be one of '{', '.join(_WITH_REGIONS)}'"


def _inside_parallel(op: Operation) -> str | None:
    parent = op.parent_op
    if parent is None or parent.name not in _PARALLEL:
        return Unprefixed(f"expected InParallelOpInterface parent, got:{parent.name if parent else ''}")
    return slicing.verify_insert(op)


tensor.op(
    "empty",
    "`(` $dynamicSizes `)` attr-dict `:` type($result)",
    operands=(_DYNAMIC_SIZES,),
    results={"result": c.RANKED_TENSOR},
    verify=_dynamic_sizes_fit,
    evaluate=OnValues(making.empty),
)
tensor.op(
    "splat",
    "$input (`[` $dynamicSizes^ `]`)? attr-dict `:` type($aggregate)",
    operands=(Slot("input", c.ANY), _DYNAMIC_SIZES),
    results={"aggregate": c.RANKED_TENSOR},
    type_rules=(
        derived_type(
            "input", "aggregate", _element, "failed to verify that operand type matches element type of result"
        ),
    ),
    verify=_dynamic_sizes_fit,
    named_results=("splat",),
    evaluate=moving(_splat, 1),
)
tensor.op(
    "from_elements",
    "$elements attr-dict `:` type($result)",
    operands=(Slot("elements", c.ANY, Arity.VARIADIC),),
    results={"result": c.STATIC_TENSOR},
    type_rules=(_all_of_element_type(),),
    verify=_as_many_elements,
    named_results=("from_elements",),
    evaluate=moving(_from_elements),
)
tensor.op(
    "extract",
    "$tensor `[` $indices `]` attr-dict `:` type($tensor)",
    operands=(Slot("tensor", c.RANKED_TENSOR), _INDICES),
    results={"result": c.ANY},
    type_rules=(
        derived_type("result", "tensor", _element, "failed to verify that result type matches element type of tensor"),
    ),
    verify=_indices_fit,
    named_results=("extracted",),
    evaluate=moving(_extract, 1, _places),
)
tensor.op(
    "insert",
    "$scalar `into` $dest `[` $indices `]` attr-dict `:` type($dest)",
    operands=(Slot("scalar", c.ANY), Slot("dest", c.RANKED_TENSOR), _INDICES),
    results={"result": c.RANKED_TENSOR},
    type_rules=(
        derived_type("result", "dest", lambda type_: type_, "failed to verify that result type matches type of dest"),
        derived_type("scalar", "dest", _element, "failed to verify that scalar type matches element type of dest"),
    ),
    verify=_indices_fit,
    named_results=("inserted",),
    evaluate=moving(_insert, 2, _places),
)
tensor.op(
    "dim",
    "attr-dict $source `,` $index `:` type($source)",
    operands=(Slot("source", c.NON_ZERO_RANK_TENSOR), Slot("index", c.INDEX)),
    results={"result": c.INDEX},
    named_results=("dim",),
    evaluate=of_shape(_dim),
)
tensor.op(
    "cast",
    "$source attr-dict `:` type($source) `to` type($dest)",
    operands={"source": c.TENSOR},
    results={"dest": c.TENSOR},
    verify=joining.verify_cast,
    named_results=("cast",),
    evaluate=moving(joining.cast),
)
tensor.op(
    "expand_shape",
    "$src $reassociation `output_shape` custom<DynamicIndexList>($output_shape, $static_output_shape) attr-dict "
    "`:` type($src) `into` type($result)",
    operands=(Slot("src", c.RANKED_TENSOR), Slot("output_shape", c.INDEX, Arity.VARIADIC)),
    results={"result": c.RANKED_TENSOR},
    properties=(
        Property("reassociation", REASSOCIATION_ATTR),
        Property("static_output_shape", c.INTEGER_64_ARRAY_ATTR),
    ),
    verify=reshaping.verify_expand,
    named_results=("expanded",),
    evaluate=moving(reshaping.expand, 1),
)
tensor.op(
    "collapse_shape",
    "$src $reassociation attr-dict `:` type($src) `into` type($result)",
    operands={"src": c.RANKED_TENSOR},
    results={"result": c.RANKED_TENSOR},
    properties=(Property("reassociation", REASSOCIATION_ATTR),),
    verify=reshaping.verify_collapse,
    named_results=("collapsed",),
    evaluate=moving(reshaping.collapse),
)
tensor.op(
    "extract_slice",
    f"$source `` {slices.FORM} attr-dict `:` type($source) `to` type($result)",
    operands=(Slot("source", c.RANKED_TENSOR), *slices.OPERANDS),
    results={"result": c.RANKED_TENSOR},
    properties=slices.PROPERTIES,
    traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=slicing.verify_extract,
    named_results=("extracted_slice",),
    evaluate=moving(slicing.extract, 1, slices.offsets),
)
tensor.op(
    "insert_slice",
    f"$source `into` $dest `` {slices.FORM} attr-dict `:` type($source) `into` type($dest)",
    operands=(Slot("source", c.RANKED_TENSOR), Slot("dest", c.RANKED_TENSOR), *slices.OPERANDS),
    results={"result": c.RANKED_TENSOR},
    properties=slices.PROPERTIES,
    traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    type_rules=(
        derived_type(
            "result", "dest", lambda type_: type_, "failed to verify that expected result type to match dest type"
        ),
    ),
    verify=slicing.verify_insert,
    named_results=("inserted_slice",),
    evaluate=moving(slicing.insert, 2, slices.offsets),
)
tensor.op(
    "pad",
    "$source (`nofold` $nofold^)? `low` `` custom<DynamicIndexList>($low, $static_low) "
    "`high` `` custom<DynamicIndexList>($high, $static_high) $region attr-dict `:` type($source) `to` type($result)",
    operands=(
        Slot("source", c.RANKED_TENSOR),
        Slot("low", c.INDEX, Arity.VARIADIC),
        Slot("high", c.INDEX, Arity.VARIADIC),
    ),
    results={"result": c.RANKED_TENSOR},
    properties=(
        Property("nofold", c.UNIT_ATTR, optional=True),
        Property("static_high", c.INTEGER_64_ARRAY_ATTR),
        Property("static_low", c.INTEGER_64_ARRAY_ATTR),
    ),
    regions=(RegionSlot("region"),),
    traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS, Trait.SINGLE_BLOCK),
    implicit_terminator="tensor.yield",
    verify=padding.verify,
    verify_regions=padding.verify_body,
    named_results=("padded",),
    evaluate=OnFrames(padding.pad),
)
tensor.op(
    "yield",
    "$value attr-dict `:` type($value)",
    operands={"value": c.ANY},
    traits=(Trait.TERMINATOR, Trait.RETURN_LIKE),
    verify=_inside_a_region,
    evaluate=OnFrames(yielded),
)
tensor.op(
    "generate",
    "$dynamicExtents $body attr-dict `:` type($result)",
    operands=(Slot("dynamicExtents", c.INDEX, Arity.VARIADIC),),
    results={"result": c.RANKED_TENSOR},
    regions=(RegionSlot("body"),),
    traits=(Trait.SINGLE_BLOCK,),
    implicit_terminator="tensor.yield",
    verify=_dynamic_sizes_fit,
    verify_regions=generating.verify_body,
    named_results=("generated",),
    evaluate=OnFrames(generating.generate),
)
tensor.op(
    "bitcast",
    "$source attr-dict `:` type($source) `to` type($dest)",
    operands={"source": _BITS},
    results={"dest": _BITS},
    verify=joining.verify_bitcast,
    evaluate=moving(joining.cast),
)
tensor.op(
    "concat",
    "`dim` `(` $dim `)` $inputs attr-dict `:` functional-type(operands, results)",
    operands=(Slot("inputs", c.RANKED_TENSOR, Arity.VARIADIC),),
    results={"result": c.RANKED_TENSOR},
    properties=(Property("dim", c.INTEGER_64_ATTR),),
    verify=joining.verify_concat,
    named_results=("concat",),
    evaluate=moving(joining.concat),
)
tensor.op(
    "gather",
    "$source `[` $indices `]` `gather_dims` `(` $gather_dims `)` (`unique` $unique^)? attr-dict "
    "`:` functional-type(operands, results)",
    operands={"source": c.RANKED_TENSOR, "indices": gathering.INDICES},
    results={"result": c.RANKED_TENSOR},
    properties=(
        Property("gather_dims", c.INTEGER_64_ARRAY_ATTR),
        Property("unique", c.UNIT_ATTR, optional=True),
    ),
    verify=gathering.verify_gather,
    named_results=("gather",),
    evaluate=moving(gathering.gather, 1),
)
tensor.op(
    "scatter",
    "$source `into` $dest `[` $indices `]` `scatter_dims` `(` $scatter_dims `)` (`unique` $unique^)? attr-dict "
    "`:` functional-type(operands, results)",
    operands={"source": c.RANKED_TENSOR, "dest": c.RANKED_TENSOR, "indices": gathering.INDICES},
    results={"result": c.RANKED_TENSOR},
    properties=(
        Property("scatter_dims", c.INTEGER_64_ARRAY_ATTR),
        Property("unique", c.UNIT_ATTR, optional=True),
    ),
    verify=gathering.verify_scatter,
    named_results=("scatter",),
    evaluate=moving(gathering.scatter, 2),
)
tensor.op(
    "rank",
    "$tensor attr-dict `:` type($tensor)",
    operands={"tensor": c.TENSOR},
    results={"result": c.INDEX},
    named_results=("rank",),
    evaluate=of_shape(_rank),
)
tensor.op(
    "reshape",
    "$source `(` $shape `)` attr-dict `:` functional-type(operands, results)",
    operands={"source": c.TENSOR, "shape": _SIZES},
    results={"result": c.TENSOR},
    verify=joining.verify_reshape,
    named_results=("reshape",),
    evaluate=moving(joining.reshape, 1),
)
# It has no result of its own: scf.forall runs it (`slicing.insert`).
tensor.op(
    "parallel_insert_slice",
    f"$source `into` $dest `` {slices.FORM} attr-dict `:` type($source) `into` type($dest)",
    operands=(Slot("source", c.RANKED_TENSOR), Slot("dest", c.RANKED_TENSOR), *slices.OPERANDS),
    properties=slices.PROPERTIES,
    traits=(Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=_inside_parallel,
)
