"""The tensor dialect (`TensorOps.td`): the ops that make tensors, take them apart and reshape them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Arity, Dialect, Slot
from halfulp.interp.declare.type_rules import TypeRule, derived_type
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import UndefinedBehavior, spell_place
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Pure
from halfulp.interp.run.frames import Run
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.values.element_layout import code_layout, shape_conflict, spell_shape
from halfulp.interp.values.value import Value
from halfulp.semantics.poison import Origin

tensor = Dialect("tensor", partial=True)

Operands = tuple[Value, ...]
Function = Callable[[Run, Operands], tuple[Any, ...]]

_INDICES = Slot("indices", c.INDEX, Arity.VARIADIC)
_DYNAMIC_SIZES = Slot("dynamicSizes", c.INDEX, Arity.VARIADIC)


def undefined(op: Operation, message: str) -> UndefinedBehavior:
    """Return the error for an op that is undefined on its operands."""
    return UndefinedBehavior(f"{op.name}: undefined behaviour: {message}", location=op.location, op=op.name)


def numbers(op: Operation, values: Operands, settings: Settings) -> tuple[int, ...]:
    """Return index operands as signed numbers. Raises UndefinedBehavior for poison."""
    half = 1 << (settings.index_width - 1)
    result = []
    for value in values:
        if value.poison is not None:
            raise undefined(op, f"an index is poison: {value.origin()}")
        code = int(value.bits)
        result.append(code - 2 * half if code & half else code)
    return tuple(result)


def element_at(op: Operation, shape: tuple[int, ...], indices: tuple[int, ...]) -> tuple[int, ...]:
    """Return the indices if they lie inside the shape. Raises UndefinedBehavior."""
    if len(indices) != len(shape) or any(not 0 <= k < n for k, n in zip(indices, shape, strict=True)):
        raise undefined(op, f"index {list(indices)} is outside the shape {spell_shape(shape)}")
    return indices


def picked(value: Value, index: tuple[Any, ...], type_: ty.Type) -> Value:
    """Return a part of a value."""
    poison = None if value.poison is None else np.asarray(value.poison[index])
    if poison is not None and not poison.any():
        poison = None
    open_ = None if value.open is None else np.asarray(value.open[index])
    return Value(type_, np.asarray(value.bits[index]).copy(), poison, open_, value.origins)


def replaced(run: Run, whole: Value, index: tuple[Any, ...], part: Value) -> Value:
    """Return ``whole`` with ``part`` in place of what is at ``index``."""
    bits = whole.bits.copy()
    bits[index] = part.bits
    poison = open_ = None
    if whole.poison is not None or part.poison is not None:
        poison = np.zeros(whole.shape, np.uint16) if whole.poison is None else whole.poison.copy()
        poison[index] = 0 if part.poison is None else part.poison
    if whole.open is not None or part.open is not None:
        open_ = np.zeros(whole.shape, np.uint8) if whole.open is None else whole.open.copy()
        open_[index] = 0 if part.open is None else part.open
    if poison is not None and not poison.any():
        poison = None
    return Value(whole.type, bits, poison, open_, None if poison is None else run.origins)


def repeated(value: Value, shape: tuple[int, ...], type_: ty.Type, axes: int = 0) -> Value:
    """Return a value repeated over new leading axes; ``axes`` is its own rank in the result."""
    bits = np.broadcast_to(value.bits, shape + value.bits.shape[axes:])
    poison = None if value.poison is None else np.broadcast_to(value.poison, shape)
    open_ = None if value.open is None else np.broadcast_to(value.open, shape)
    return Value(type_, bits, poison, open_, value.origins)


def result_shape(op: Operation, type_: ty.Type, sizes: tuple[int, ...], settings: Settings) -> tuple[int, ...]:
    """Return the shape of a result whose dynamic dimensions are operands. Raises UndefinedBehavior, LimitExceeded."""
    given = iter(sizes)
    shape = tuple(next(given) if size is None else size for size in ty.shape_of(type_) or ())
    if any(size < 0 for size in shape):
        raise undefined(op, f"the shape {list(shape)} has a negative size")
    check_allocation(type_, shape, settings)
    return shape


def _empty(op: Operation, settings: Settings) -> Function:
    """Return the function of tensor.empty: every element is poison, because it was never written."""
    type_ = op.results[0].type

    def make(run: Run, sizes: Operands) -> tuple[Any, ...]:
        shape = result_shape(op, type_, numbers(op, sizes, settings), settings)
        dtype, trailing = code_layout(ty.element_type(type_))
        origin = Origin(
            op.name, spell_place(op.location), "an element of tensor.empty was never written", (0,) * len(shape)
        )
        ids = np.full(shape, run.origins.id_of(origin), np.uint16)
        for listener in settings.listeners if ids.size else ():
            listener.poison_born(op, origin, ids.size)
        return (Value(type_, np.zeros(shape + trailing, dtype), ids if ids.size else None, None, run.origins),)

    return make


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
        if not elements:
            dtype, trailing = code_layout(ty.element_type(type_))
            return (Value(type_, np.zeros(shape + trailing, dtype)),)
        return (stacked(run, elements, shape, type_),)

    return make


def stacked(run: Run, elements: Operands, shape: tuple[int, ...], type_: ty.Type) -> Value:
    """Return scalars as the elements of an array, in row-major order."""
    bits = np.stack([value.bits for value in elements])
    bits = bits.reshape(shape + bits.shape[1:])
    poison = open_ = None
    if any(value.poison is not None for value in elements):
        poison = np.array([0 if v.poison is None else int(v.poison) for v in elements], np.uint16).reshape(shape)
    if any(value.open is not None for value in elements):
        open_ = np.array([0 if v.open is None else int(v.open) for v in elements], np.uint8).reshape(shape)
    return Value(type_, bits, poison, open_, None if poison is None else run.origins)


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


def _cast(op: Operation, settings: Settings) -> Function:
    type_ = op.results[0].type

    def cast(run: Run, operands: Operands) -> tuple[Any, ...]:
        (value,) = operands
        conflict = shape_conflict(type_, value.shape, settings.vscale)
        if conflict:
            raise undefined(op, conflict)
        return (Value(type_, value.bits, value.poison, value.open, value.origins),)

    return cast


# --- declarations -----------------------------------------------------------------------------------------------------


def _element(type_: ty.Type) -> ty.Type:
    return ty.element_type(type_)


class _Repeated(Sequence[ty.Type]):
    """A sequence of one type, however long: a short text may need 2^63 elements."""

    def __init__(self, type_: ty.Type, count: int) -> None:
        self.type = type_
        self._size = min(count, sys.maxsize)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: Any) -> Any:
        if not -self._size <= index < self._size:
            raise IndexError(index)
        return self.type


def _all_of_element_type() -> TypeRule:
    def solve(types: dict[str, Any], properties: Mapping[str, Any]) -> None:
        result = types.get("result")
        count = None if result is None else ty.element_count(result)
        if result is not None and count is not None:
            types.setdefault("elements", _Repeated(_element(result), count))

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


def _compatible(op: Operation) -> str | None:
    source, target = op.operands[0].type, op.results[0].type
    one, two = ty.shape_of(source), ty.shape_of(target)
    fits = (
        one is None
        or two is None
        or (len(one) == len(two) and all(a is None or b is None or a == b for a, b in zip(one, two, strict=True)))
    )
    if fits and _element(source) == _element(target):
        return None
    return f"operand type '{source}' and result type '{target}' are cast incompatible"


tensor.op(
    "empty",
    "`(` $dynamicSizes `)` attr-dict `:` type($result)",
    operands=(_DYNAMIC_SIZES,),
    results={"result": c.RANKED_TENSOR},
    verify=_dynamic_sizes_fit,
    evaluate=Pure(_empty),
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
    evaluate=Pure(_splat),
)
tensor.op(
    "from_elements",
    "$elements attr-dict `:` type($result)",
    operands=(Slot("elements", c.ANY, Arity.VARIADIC),),
    results={"result": c.STATIC_TENSOR},
    type_rules=(_all_of_element_type(),),
    verify=_as_many_elements,
    named_results=("from_elements",),
    evaluate=Pure(_from_elements),
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
    evaluate=Pure(_extract),
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
    evaluate=Pure(_insert),
)
tensor.op(
    "dim",
    "attr-dict $source `,` $index `:` type($source)",
    operands=(Slot("source", c.NON_ZERO_RANK_TENSOR), Slot("index", c.INDEX)),
    results={"result": c.INDEX},
    named_results=("dim",),
    evaluate=Pure(_dim),
)
tensor.op(
    "cast",
    "$source attr-dict `:` type($source) `to` type($dest)",
    operands={"source": c.TENSOR},
    results={"dest": c.TENSOR},
    verify=_compatible,
    named_results=("cast",),
    evaluate=Pure(_cast),
)
