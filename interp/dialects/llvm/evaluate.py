"""How the constants of the llvm dialect and llvm.freeze run.

Undefined values count as poison, and `llvm.freeze` passes poison on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halfulp.fp_formats.codes import codes_to_ints
from halfulp.interp.dialects.arith.constants import attribute_value
from halfulp.interp.dialects.llvm.aggregates import filled, part_types, poison, zero_of
from halfulp.interp.dialects.ub import POISON as POISON_OF_NUMBERS
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.control import Compiler
from halfulp.interp.run.evaluators import OnValues
from halfulp.interp.run.frames import Function
from halfulp.interp.run.settings import Settings
from halfulp.interp.run.slots import lower


def _poison(op: Operation, settings: Settings) -> Function:
    build = POISON_OF_NUMBERS.build if part_types(op.results[0].type) is None else poison
    return build(op, settings)


POISON = OnValues(_poison, raw=True, words=POISON_OF_NUMBERS.words)


def constant(op: Operation, compiler: Compiler) -> Any:
    """Return the value of llvm.mlir.constant. ``64 : index`` is a constant of any width."""
    return constant_of(op.properties["value"], op.results[0].type, op, compiler)


def constant_of(value: at.Attribute, type_: ty.Type, op: Operation, compiler: Compiler) -> Any:
    """Return the value of a type that an attribute of an op stands for, as a slot holds it."""
    parts = part_types(type_)
    if parts is not None:
        return _aggregate(value, parts, type_, op, compiler)
    if isinstance(value, at.IntegerAttr) and isinstance(type_, ty.IntegerType):
        value = at.IntegerAttr(value.value, type_)
    given = getattr(value, "type", None)
    if (
        not isinstance(ty.element_type(type_), ty.IntegerType | ty.FloatType)
        or given is None
        or ty.width_of(ty.element_type(given)) != ty.width_of(ty.element_type(type_))
    ):
        raise _no_value(value, type_, op)
    return lower(attribute_value(value, type_, op, compiler))


def _no_value(value: at.Attribute, type_: ty.Type, op: Operation) -> Unsupported:
    return Unsupported(f"{op.name}: {value} is not a value of type '{type_}'", location=op.location, op=op.name)


def _aggregate(
    value: at.Attribute, parts: Sequence[ty.Type], type_: ty.Type, op: Operation, compiler: Compiler
) -> tuple[Any, ...]:
    if isinstance(value, at.StringAttr):
        return tuple(value.value.encode("utf-8", "surrogateescape"))
    if isinstance(value, at.ArrayAttr) and len(value.elements) == len(parts):
        pairs = zip(value.elements, parts, strict=True)
        return tuple([constant_of(element, part, op, compiler) for element, part in pairs])
    if isinstance(value, at.DenseElementsAttr | at.DenseResourceAttr):
        shape = tuple(size or 0 for size in value.type.shape or ())
        whole = attribute_value(value, ty.TensorType(shape, value.type.element), op, compiler)
        leaf = _leaf_type(type_)
        if ty.width_of(leaf) == ty.width_of(value.type.element):
            leaves = iter(codes_to_ints(whole.bits, ty.width_of(leaf)))
            return filled(type_, lambda leaf: next(leaves), each=True)  # type: ignore[no-any-return]
    raise _no_value(value, type_, op)


def _leaf_type(type_: ty.Type) -> ty.Type:
    while (parts := part_types(type_)) is not None:
        if not parts:
            return ty.I1
        type_ = parts[0]
    return type_


def zero(op: Operation, compiler: Compiler) -> Any:
    """Return the value of llvm.mlir.zero: all bits are 0, and a pointer is null."""
    return filled(op.results[0].type, lambda leaf: zero_of(leaf, compiler.settings))


def same(op: Operation, settings: Settings) -> Function:
    """Return the operand: llvm.freeze of a value that is not poison. Poison stays poison."""
    return lambda run, operands: operands
