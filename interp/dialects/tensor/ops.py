"""The tensor dialect (`TensorOps.td`): the ops that make tensors, take parts of them and reshape them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects import slices
from halfulp.interp.dialects.elements import (
    Function,
    Operands,
    combined,
    data_movement,
    of_shape,
    picked,
    rearranged,
    repeated,
    replaced,
    stacked,
)
from halfulp.interp.dialects.elementwise import REASSOCIATION_ATTR
from halfulp.interp.dialects.regions import inside, points_of, yielded
from halfulp.interp.dialects.slices import element_at, numbers
from halfulp.interp.dialects.tensor import bodies, joining, slicing
from halfulp.interp.dialects.tensor.bodies import Body, shape_operands, spread, stacked_elements
from halfulp.interp.dialects.tensor.joining import attribute_numbers, signed_elements
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import spell_place
from halfulp.interp.ir.operations import Operation, undefined
from halfulp.interp.ir.types import code_layout, shape_conflict, spell_shape
from halfulp.interp.run.evaluators import Compiler, OnFrames, OnValues
from halfulp.interp.run.frames import Action, Frame, Run, Segment
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.value import Value
from halfulp.semantics.kernel import Origin

# --- gathering --------------------------------------------------------------------------------------------------------
#
# tensor.gather and tensor.scatter: slices of a tensor at places that another tensor names.

INDICES = d.TypeConstraint(
    "ranked tensor of signless integer or index values",
    lambda type_: d.RANKED_TENSOR.accepts(type_) and d.INTEGER_OR_INDEX.accepts(ty.element_type(type_)),
    d.RANKED_TENSOR.kind,
)


def _verify_dims(dims: tuple[int, ...], indices: ty.Shape, rank: int, name: str, what: str) -> str | None:
    if not dims:
        return f"{name}_dims must be non-empty"
    if len(dims) > rank:
        return f"{name}_dims overflow {what} rank"
    if not indices or indices[-1] != len(dims):
        return f"{name}_dims length must match the size of last dimension of indices"
    for number, dim in enumerate(dims):
        if dim < 0:
            return f"{name}_dims value must be non-negative"
        if dim >= rank:
            return f"{name}_dims value must be smaller than {what} rank"
        if number and dims[number - 1] >= dim:
            return f"{name}_dims values must be strictly increasing"
    return None


def _slices_types(whole: ty.Type, indices: ty.Shape, dims: tuple[int, ...]) -> tuple[ty.Type, ty.Type]:
    """Return the type of all slices, once with dimensions of size 1 in place of the indexed ones, and once without
    these.
    """
    shape, element = ty.shape_of(whole) or (), ty.element_type(whole)
    full = tuple(1 if axis in dims else size for axis, size in enumerate(shape))
    reduced = tuple(size for axis, size in enumerate(shape) if axis not in dims)
    return ty.TensorType((*indices[:-1], *full), element), ty.TensorType((*indices[:-1], *reduced), element)


def _verify(op: Operation, whole: ty.Type, indices: ty.Type, part: ty.Type, name: str, what: str) -> str | None:
    dims = attribute_numbers(op.properties[f"{name}_dims"])
    shape = ty.shape_of(indices) or ()
    problem = _verify_dims(dims, shape, len(ty.shape_of(whole) or ()), name, "source" if name == "gather" else "dest")
    if problem is None and name == "scatter" and "unique" not in op.properties:
        problem = "requires 'unique' attribute to be set"
    if problem is not None:
        return problem
    full, reduced = _slices_types(whole, shape, dims)
    if part not in (full, reduced):
        return f"{what} type mismatch: expected '{full}' or its rank-reduced variant '{reduced}' (got: '{part}')"
    return None


def verify_gather(op: Operation) -> str | None:
    """Return what is wrong with the dimensions and the types of tensor.gather, or None."""
    source, indices = op.operands
    return _verify(op, source.type, indices.type, op.results[0].type, "gather", "result")


def verify_scatter(op: Operation) -> str | None:
    """Return what is wrong with the dimensions and the types of tensor.scatter, or None."""
    source, dest, indices = op.operands
    return _verify(op, dest.type, indices.type, source.type, "scatter", "source")


def _places(
    op: Operation, shape: tuple[int, ...], indices: Value, dims: tuple[int, ...], settings: Settings
) -> tuple[Any, ...]:
    """Return an index of NumPy for a tensor whose indexed axes were moved to the front.

    Raises UndefinedBehavior for poison, for an index outside, and for equal indices that the program says are unique.
    """
    numbers = signed_elements(op, indices, settings, "the indices")
    bounds = np.array([shape[axis] for axis in dims])
    outside = ((numbers < 0) | (numbers >= bounds)).any(axis=-1)
    if outside.any():
        where = tuple(int(k) for k in np.argwhere(outside)[0])
        point = [int(number) for number in numbers[where]]
        raise undefined(
            op,
            f"the coordinates {point} at {list(where)} of the indices are outside of dimensions {list(dims)} of the "
            f"shape {spell_shape(shape)}",
        )
    numbers = numbers.astype(np.int64)
    if "unique" in op.properties:
        points = numbers.reshape(-1, len(dims))
        _, first, counts = np.unique(points, axis=0, return_index=True, return_counts=True)
        if (counts > 1).any():
            twice = [int(number) for number in points[first[int(np.argmax(counts > 1))]]]
            raise undefined(op, f"the op says that its coordinates are unique, but {twice} appears more than once")
    return tuple(np.moveaxis(numbers, -1, 0))


def gather(op: Operation, settings: Settings) -> Function:
    """Return the function that runs tensor.gather."""
    type_, dims = op.results[0].type, attribute_numbers(op.properties["gather_dims"])
    keeps = len(ty.shape_of(type_) or ()) == len(ty.shape_of(op.operands[1].type) or ()) - 1 + len(
        ty.shape_of(op.operands[0].type) or ()
    )

    def take(run: Run, operands: Operands) -> tuple[Any, ...]:
        source, indices = operands
        places = _places(op, source.shape, indices, dims, settings)
        rest = tuple(1 if axis in dims else size for axis, size in enumerate(source.shape) if keeps or axis not in dims)
        shape = (*indices.shape[:-1], *rest)
        conflict = shape_conflict(type_, shape, settings.vscale)
        if conflict:
            raise undefined(op, conflict)
        check_allocation(type_, shape, settings)

        def move(array: npt.NDArray[Any], trailing: tuple[int, ...]) -> npt.NDArray[Any]:
            slices: npt.NDArray[Any] = np.moveaxis(array, dims, range(len(dims)))[places]
            return slices.reshape(shape + trailing)

        return (rearranged(source, type_, move),)

    return take


def scatter(op: Operation, settings: Settings) -> Function:
    """Return the function that runs tensor.scatter."""
    type_, dims = op.results[0].type, attribute_numbers(op.properties["scatter_dims"])

    def put(run: Run, operands: Operands) -> tuple[Any, ...]:
        source, dest, indices = operands
        places = _places(op, dest.shape, indices, dims, settings)
        rest = tuple(size for axis, size in enumerate(dest.shape) if axis not in dims)
        shape = (*indices.shape[:-1], *rest)
        if prod(source.shape) != prod(shape) or source.shape[: indices.bits.ndim - 1] != indices.shape[:-1]:
            raise undefined(
                op, f"the source has the shape {spell_shape(source.shape)}, but the slices {spell_shape(shape)}"
            )
        rank = len(dest.shape)

        def join(arrays: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
            part, whole = arrays
            result = whole.copy()
            np.moveaxis(result, dims, range(len(dims)))[places] = part.reshape(shape + whole.shape[rank:])
            return result

        return (combined(run, (source, dest), type_, join),)

    return put


# --- making -----------------------------------------------------------------------------------------------------------
#
# New tensors: their shapes, and elements that were never written.


def result_shape(op: Operation, type_: ty.Type, sizes: tuple[int, ...], settings: Settings) -> tuple[int, ...]:
    """Return the shape of a result whose dynamic dimensions are operands. Raises UndefinedBehavior, LimitExceeded."""
    given = iter(sizes)
    shape = tuple(next(given) if size is None else size for size in ty.shape_of(type_) or ())
    if any(size < 0 for size in shape):
        raise undefined(op, f"the shape {list(shape)} has a negative size")
    check_allocation(type_, shape, settings)
    return shape


def unwritten(op: Operation, run: Run, type_: ty.Type, shape: tuple[int, ...], settings: Settings) -> Value:
    """Return a tensor whose elements are all poison, because they were never written."""
    dtype, trailing = code_layout(ty.element_type(type_))
    origin = Origin(op.name, spell_place(op.location), f"an element of {op.name} was never written", (0,) * len(shape))
    # One element stands for all: most of these tensors are written as a whole, and never read.
    ids = np.broadcast_to(np.array(run.origins.id_of(origin), np.uint16), shape)
    codes = np.broadcast_to(np.zeros(trailing, dtype), shape + trailing)
    for listener in settings.listeners if ids.size else ():
        listener.poison_born(op, origin, ids.size)
    return Value(type_, codes, ids if ids.size else None, None, run.origins)


def empty(op: Operation, settings: Settings) -> Function:
    """Return the function that runs tensor.empty."""
    type_ = op.results[0].type

    def make(run: Run, sizes: Operands) -> tuple[Any, ...]:
        shape = result_shape(op, type_, numbers(op, sizes, settings), settings)
        return (unwritten(op, run, type_, shape, settings),)

    return make


# --- generating -------------------------------------------------------------------------------------------------------
#
# tensor.generate: a tensor whose elements a region computes from their indices.


def verify_body(op: Operation) -> str | None:
    """Return what is wrong with the arguments of the region of tensor.generate or the value that it yields, or None."""
    type_ = op.results[0].type
    block = op.regions[0].blocks[0]
    if len(block.arguments) != len(ty.shape_of(type_) or ()):
        return d.Unprefixed("must have one body argument per input dimension")
    if not all(isinstance(argument.type, ty.IndexType) for argument in block.arguments):
        return d.Unprefixed("all body arguments must be index")
    last = block.operations[-1]
    if last.name != "tensor.yield" or last.operands[0].type != ty.element_type(type_):
        return "body must be terminated with a `yield` operation of the tensor element type"
    return None


def generate(op: Operation, compiler: Compiler) -> Action:
    """Return the action that runs tensor.generate."""
    type_, settings = op.results[0].type, compiler.settings
    sizes, result = compiler.slots(op.operands), compiler.hidden_slot()
    finish = compiler.resume(op)([result])

    def shape_of(sizes: Any) -> tuple[int, ...]:
        return result_shape(op, type_, shape_operands(op, sizes, settings), settings)

    def made(run: Run, values: tuple[Any, ...]) -> tuple[Any, ...]:
        shape, elements = shape_of(values[: len(sizes)]), values[len(sizes) :]
        if body.constant:
            return (spread(elements[0], shape, type_),)
        return (stacked_elements(run, elements, shape, type_),)

    def done(frame: Frame, elements: list[Any]) -> Segment | None:
        slots = frame.slots
        run: Run = slots[0]
        operands = (*(slots[slot] for slot in sizes), *elements)
        (slots[result],) = run.each(made, operands, [type_])
        return finish(frame)

    body = Body(op, compiler, done)

    def begin(frame: Frame) -> Segment | None:
        if body.constant:
            return body.begin(frame, iter([(0,) * len(ty.shape_of(type_) or ())]))
        shape = shape_of([frame.slots[slot] for slot in sizes])
        return body.begin(frame, points_of([range(size) for size in shape]))

    return begin


# --- ops --------------------------------------------------------------------------------------------------------------

tensor = d.Dialect("tensor")

_INDICES = d.variadic("indices", d.INDEX)
_DYNAMIC_SIZES = d.variadic("dynamicSizes", d.INDEX)
_BITS = d.TypeConstraint(
    "tensor of signless integer or unsigned integer or signed integer or floating-point values",
    lambda type_: isinstance(type_, ty.TensorType) and isinstance(type_.element, ty.IntegerType | ty.FloatType),
    d.TENSOR.kind,
)
_SIZES = d.TypeConstraint("1D tensor of signless integer or index values", joining.is_list_of_sizes, d.TENSOR.kind)


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
            raise undefined(op, f"there is no dimension {axis} in a tensor of rank {len(shape)}")
        return (Value(type_, np.array(shape[axis], np.uint64)),)

    return dim


def _rank(op: Operation, settings: Settings) -> Function:
    type_ = op.results[0].type
    return lambda run, operands: (Value(type_, np.array(len(operands[0].shape), np.uint64)),)


def _index_axes(op: Operation) -> dict[int, int]:
    """Return the axis of each index of tensor.extract and tensor.insert, by the number of its operand."""
    first = 2 if op.name == "tensor.insert" else 1
    return {place: place - first for place in range(first, len(op.operands))}


# --- declarations -----------------------------------------------------------------------------------------------------


def _element(type_: ty.Type) -> ty.Type:
    return ty.element_type(type_)


def _all_of_element_type() -> d.TypeRule:
    def solve(types: dict[str, Any], properties: Mapping[str, Any]) -> None:
        result = types.get("result")
        count = None if result is None else ty.element_count(result)
        if result is not None and count is not None:
            types.setdefault("elements", d.Repeated(_element(result), count))

    def holds(types: Mapping[str, Any], properties: Mapping[str, Any]) -> bool:
        return all(type_ == _element(types["result"]) for type_ in types["elements"])

    return d.TypeRule("failed to verify that operand types match result element type", solve, holds)


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


def _inside_parallel(op: Operation) -> str | None:
    parent = op.parent_op
    if parent is None or parent.name != "scf.forall.in_parallel":
        return d.Unprefixed(f"expected InParallelOpInterface parent, got:{parent.name if parent else ''}")
    return slicing.verify_insert(op)


tensor.op(
    "empty",
    "`(` $dynamicSizes `)` attr-dict `:` type($result)",
    operands=(_DYNAMIC_SIZES,),
    results={"result": d.RANKED_TENSOR},
    verify=_dynamic_sizes_fit,
    evaluate=OnValues(empty),
)
tensor.op(
    "splat",
    "$input (`[` $dynamicSizes^ `]`)? attr-dict `:` type($aggregate)",
    operands=(d.Slot("input", d.ANY), _DYNAMIC_SIZES),
    results={"aggregate": d.RANKED_TENSOR},
    type_rules=(
        d.derived_type(
            "input", "aggregate", _element, "failed to verify that operand type matches element type of result"
        ),
    ),
    verify=_dynamic_sizes_fit,
    named_results=("splat",),
    evaluate=data_movement(_splat, 1),
)
tensor.op(
    "from_elements",
    "$elements attr-dict `:` type($result)",
    operands=(d.variadic("elements", d.ANY),),
    results={"result": d.STATIC_TENSOR},
    type_rules=(_all_of_element_type(),),
    verify=_as_many_elements,
    named_results=("from_elements",),
    evaluate=data_movement(_from_elements),
)
tensor.op(
    "extract",
    "$tensor `[` $indices `]` attr-dict `:` type($tensor)",
    operands=(d.Slot("tensor", d.RANKED_TENSOR), _INDICES),
    results={"result": d.ANY},
    type_rules=(
        d.derived_type(
            "result", "tensor", _element, "failed to verify that result type matches element type of tensor"
        ),
    ),
    verify=_indices_fit,
    named_results=("extracted",),
    evaluate=data_movement(_extract, 1, _index_axes),
)
tensor.op(
    "insert",
    "$scalar `into` $dest `[` $indices `]` attr-dict `:` type($dest)",
    operands=(d.Slot("scalar", d.ANY), d.Slot("dest", d.RANKED_TENSOR), _INDICES),
    results={"result": d.RANKED_TENSOR},
    type_rules=(
        d.derived_type("result", "dest", lambda type_: type_, "failed to verify that result type matches type of dest"),
        d.derived_type("scalar", "dest", _element, "failed to verify that scalar type matches element type of dest"),
    ),
    verify=_indices_fit,
    named_results=("inserted",),
    evaluate=data_movement(_insert, 2, _index_axes),
)
tensor.op(
    "dim",
    "attr-dict $source `,` $index `:` type($source)",
    operands=(d.Slot("source", d.NON_ZERO_RANK_TENSOR), d.Slot("index", d.INDEX)),
    results={"result": d.INDEX},
    named_results=("dim",),
    evaluate=of_shape(_dim),
)
tensor.op(
    "cast",
    "$source attr-dict `:` type($source) `to` type($dest)",
    operands={"source": d.TENSOR},
    results={"dest": d.TENSOR},
    verify=joining.verify_cast,
    named_results=("cast",),
    evaluate=data_movement(joining.cast),
)
tensor.op(
    "expand_shape",
    "$src $reassociation `output_shape` custom<DynamicIndexList>($output_shape, $static_output_shape) attr-dict "
    "`:` type($src) `into` type($result)",
    operands=(d.Slot("src", d.RANKED_TENSOR), d.variadic("output_shape", d.INDEX)),
    results={"result": d.RANKED_TENSOR},
    properties=(
        d.Property("reassociation", REASSOCIATION_ATTR),
        d.Property("static_output_shape", d.INTEGER_64_ARRAY_ATTR),
    ),
    verify=slicing.verify_expand,
    named_results=("expanded",),
    evaluate=data_movement(slicing.expand, 1),
)
tensor.op(
    "collapse_shape",
    "$src $reassociation attr-dict `:` type($src) `into` type($result)",
    operands={"src": d.RANKED_TENSOR},
    results={"result": d.RANKED_TENSOR},
    properties=(d.Property("reassociation", REASSOCIATION_ATTR),),
    verify=slicing.verify_collapse,
    named_results=("collapsed",),
    evaluate=data_movement(slicing.collapse),
)
tensor.op(
    "extract_slice",
    f"$source `` {slices.FORM} attr-dict `:` type($source) `to` type($result)",
    operands=(d.Slot("source", d.RANKED_TENSOR), *slices.OPERANDS),
    results={"result": d.RANKED_TENSOR},
    properties=slices.PROPERTIES,
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=slicing.verify_extract,
    named_results=("extracted_slice",),
    evaluate=data_movement(slicing.extract, 1, slices.offsets),
)
tensor.op(
    "insert_slice",
    f"$source `into` $dest `` {slices.FORM} attr-dict `:` type($source) `into` type($dest)",
    operands=(d.Slot("source", d.RANKED_TENSOR), d.Slot("dest", d.RANKED_TENSOR), *slices.OPERANDS),
    results={"result": d.RANKED_TENSOR},
    properties=slices.PROPERTIES,
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    type_rules=(
        d.derived_type(
            "result", "dest", lambda type_: type_, "failed to verify that expected result type to match dest type"
        ),
    ),
    verify=slicing.verify_insert,
    named_results=("inserted_slice",),
    evaluate=data_movement(slicing.insert, 2, slices.offsets),
)
tensor.op(
    "pad",
    "$source (`nofold` $nofold^)? `low` `` custom<DynamicIndexList>($low, $static_low) "
    "`high` `` custom<DynamicIndexList>($high, $static_high) $region attr-dict `:` type($source) `to` type($result)",
    operands=(d.Slot("source", d.RANKED_TENSOR), d.variadic("low", d.INDEX), d.variadic("high", d.INDEX)),
    results={"result": d.RANKED_TENSOR},
    properties=(
        d.Property("nofold", d.UNIT_ATTR, optional=True),
        d.Property("static_high", d.INTEGER_64_ARRAY_ATTR),
        d.Property("static_low", d.INTEGER_64_ARRAY_ATTR),
    ),
    regions=(d.RegionSlot("region"),),
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS, d.Trait.SINGLE_BLOCK),
    implicit_terminator="tensor.yield",
    verify=bodies.verify,
    verify_regions=bodies.verify_body,
    named_results=("padded",),
    evaluate=OnFrames(bodies.pad),
)
tensor.op(
    "yield",
    "$value attr-dict `:` type($value)",
    operands={"value": d.ANY},
    traits=(d.Trait.TERMINATOR, d.Trait.RETURN_LIKE),
    verify=inside("tensor.generate", "tensor.pad"),
    evaluate=OnFrames(yielded),
)
tensor.op(
    "generate",
    "$dynamicExtents $body attr-dict `:` type($result)",
    operands=(d.variadic("dynamicExtents", d.INDEX),),
    results={"result": d.RANKED_TENSOR},
    regions=(d.RegionSlot("body"),),
    traits=(d.Trait.SINGLE_BLOCK,),
    implicit_terminator="tensor.yield",
    verify=_dynamic_sizes_fit,
    verify_regions=verify_body,
    named_results=("generated",),
    evaluate=OnFrames(generate),
)
tensor.op(
    "bitcast",
    "$source attr-dict `:` type($source) `to` type($dest)",
    operands={"source": _BITS},
    results={"dest": _BITS},
    verify=joining.verify_bitcast,
    evaluate=data_movement(joining.cast),
)
tensor.op(
    "concat",
    "`dim` `(` $dim `)` $inputs attr-dict `:` functional-type(operands, results)",
    operands=(d.variadic("inputs", d.RANKED_TENSOR),),
    results={"result": d.RANKED_TENSOR},
    properties=(d.Property("dim", d.INTEGER_64_ATTR),),
    verify=joining.verify_concat,
    named_results=("concat",),
    evaluate=data_movement(joining.concat),
)
tensor.op(
    "gather",
    "$source `[` $indices `]` `gather_dims` `(` $gather_dims `)` (`unique` $unique^)? attr-dict "
    "`:` functional-type(operands, results)",
    operands={"source": d.RANKED_TENSOR, "indices": INDICES},
    results={"result": d.RANKED_TENSOR},
    properties=(
        d.Property("gather_dims", d.INTEGER_64_ARRAY_ATTR),
        d.Property("unique", d.UNIT_ATTR, optional=True),
    ),
    verify=verify_gather,
    named_results=("gather",),
    evaluate=data_movement(gather, 1),
)
tensor.op(
    "scatter",
    "$source `into` $dest `[` $indices `]` `scatter_dims` `(` $scatter_dims `)` (`unique` $unique^)? attr-dict "
    "`:` functional-type(operands, results)",
    operands={"source": d.RANKED_TENSOR, "dest": d.RANKED_TENSOR, "indices": INDICES},
    results={"result": d.RANKED_TENSOR},
    properties=(
        d.Property("scatter_dims", d.INTEGER_64_ARRAY_ATTR),
        d.Property("unique", d.UNIT_ATTR, optional=True),
    ),
    verify=verify_scatter,
    named_results=("scatter",),
    evaluate=data_movement(scatter, 2),
)
tensor.op(
    "rank",
    "$tensor attr-dict `:` type($tensor)",
    operands={"tensor": d.TENSOR},
    results={"result": d.INDEX},
    named_results=("rank",),
    evaluate=of_shape(_rank),
)
tensor.op(
    "reshape",
    "$source `(` $shape `)` attr-dict `:` functional-type(operands, results)",
    operands={"source": d.TENSOR, "shape": _SIZES},
    results={"result": d.TENSOR},
    verify=joining.verify_reshape,
    named_results=("reshape",),
    evaluate=data_movement(joining.reshape, 1),
)
# It has no result of its own: scf.forall runs it (`slicing.insert`).
tensor.op(
    "parallel_insert_slice",
    f"$source `into` $dest `` {slices.FORM} attr-dict `:` type($source) `into` type($dest)",
    operands=(d.Slot("source", d.RANKED_TENSOR), d.Slot("dest", d.RANKED_TENSOR), *slices.OPERANDS),
    properties=slices.PROPERTIES,
    traits=(d.Trait.ATTR_SIZED_OPERAND_SEGMENTS,),
    verify=_inside_parallel,
)
