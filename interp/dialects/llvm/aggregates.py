"""Structs and arrays as values: nested tuples of what slots hold, so that each element has poison of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from halfulp.interp.dialects.llvm import types as llvm
from halfulp.interp.dialects.llvm.memory import NULL
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported, spell_place
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.frames import Function, Run
from halfulp.interp.run.settings import Settings, check_allocation
from halfulp.interp.run.slots import lower
from halfulp.interp.values.element_layout import code_layout, runtime_shape
from halfulp.interp.values.value import Value
from halfulp.semantics.poison import Origin

Leaf = Callable[[ty.Type], Any]
_MOST_PARTS = 1 << 20


def part_types(type_: ty.Type) -> Sequence[ty.Type] | None:
    """Return the types of the elements of an aggregate; None for any other type."""
    if isinstance(type_, llvm.ArrayType):
        return (type_.element,) * type_.size
    if isinstance(type_, llvm.StructType) and type_.body is not None:
        return type_.body
    return None


def _leaves(type_: ty.Type) -> int:
    if isinstance(type_, llvm.ArrayType):
        return type_.size * _leaves(type_.element)
    parts = part_types(type_)
    return 1 if parts is None else sum(map(_leaves, parts))


def filled(type_: ty.Type, leaf: Leaf, each: bool = False) -> Any:
    """Return an aggregate whose elements that are no aggregates are ``leaf`` of their types. ``each``: it is asked for
    each of them in order, not once for an array. Raises Unsupported.
    """
    if _leaves(type_) > _MOST_PARTS:
        raise Unsupported(f"a value of type '{type_}' has more than {_MOST_PARTS} elements")
    return _filled(type_, leaf, each)


def _filled(type_: ty.Type, leaf: Leaf, each: bool) -> Any:
    parts = part_types(type_)
    if parts is None:
        return leaf(type_)
    if isinstance(type_, llvm.ArrayType) and not each:
        return (_filled(type_.element, leaf, each),) * type_.size if type_.size else ()
    return tuple([_filled(part, leaf, each) for part in parts])


# --- values of one kind -----------------------------------------------------------------------------------------------


def zero_of(type_: ty.Type, settings: Settings) -> Any:
    """Return the value of a type whose bits are all 0, as a slot holds it."""
    if isinstance(type_, llvm.PointerType):
        return NULL
    shape = runtime_shape(type_, settings.vscale)
    element = ty.element_type(type_)
    if shape is None or not isinstance(element, ty.IntegerType | ty.FloatType):
        raise Unsupported(f"values of type '{type_}' do not run")
    dtype, trailing = code_layout(element)
    return lower(Value(type_, np.zeros((*(size or 0 for size in shape), *trailing), dtype)))


def poison_of(type_: ty.Type, poison_id: int, run: Run) -> Value:
    """Return a value of a type all elements of which are poison with this id."""
    shape = runtime_shape(type_, run.settings.vscale)
    if shape is None:
        raise Unsupported(f"a poison value of type '{type_}' has no shape at run time")
    sizes = tuple(size or 0 for size in shape)
    check_allocation(type_, sizes, run.settings)
    dtype, trailing = code_layout(ty.element_type(type_))
    ids = np.full(sizes, poison_id, np.uint16)
    return Value(type_, np.zeros(sizes + trailing, dtype), ids if ids.size else None, None, run.origins)


def born(op: Operation, run: Run, reason: str) -> int:
    """Return the id of poison that is born at an op, and tell the listeners."""
    origin = Origin(op.name, spell_place(op.location), reason)
    for listener in run.settings.listeners:
        listener.poison_born(op, origin, 1)
    return run.origins.id_of(origin)


def poison(op: Operation, settings: Settings) -> Function:
    """Return the function of mlir.poison and mlir.undef of an aggregate."""
    type_ = op.results[0].type

    def make(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        poison_id = born(op, run, "ub.poison")
        return (filled(type_, lambda leaf: poison_of(leaf, poison_id, run)),)

    return make


# --- elements ---------------------------------------------------------------------------------------------------------


def _position(op: Operation) -> tuple[int, ...]:
    position = op.properties["position"]
    assert isinstance(position, at.DenseArrayAttr)
    return tuple(int(index) for index in position.values)


def extract(op: Operation, settings: Settings) -> Function:
    """Return the function of extractvalue."""
    position = _position(op)
    if len(position) == 1:
        (only,) = position
        return lambda run, slots: (slots[0][only],)

    def take(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        value = slots[0]
        for index in position:
            value = value[index]
        return (value,)

    return take


def insert(op: Operation, settings: Settings) -> Function:
    """Return the function of insertvalue."""
    position = _position(op)
    return lambda run, slots: (_with_part(slots[0], position, slots[1]),)


def _with_part(aggregate: Any, position: tuple[int, ...], part: Any) -> Any:
    if not position:
        return part
    index, *rest = position
    inner = _with_part(aggregate[index], tuple(rest), part)
    return (*aggregate[:index], inner, *aggregate[index + 1 :])
