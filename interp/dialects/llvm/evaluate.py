"""How the llvm dialect's ops on scalars and vectors run, except the elementwise ones.

Undefined values count as poison, and `llvm.freeze` passes poison on. Values of structs, arrays and pointers do not run.
"""

from __future__ import annotations

import numpy as np

from halfulp.interp.dialects.arith.constants import attribute_value
from halfulp.interp.dialects.func.ops import caller
from halfulp.interp.dialects.llvm.function_forms import callee_operands
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import UndefinedBehavior, Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.control import Compiler
from halfulp.interp.run.frames import Action, Frame, Function, Segment
from halfulp.interp.run.reports import in_lanes
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.element_layout import code_layout, runtime_shape
from halfulp.interp.values.value import Value

_NUMBERS = (ty.IntegerType, ty.FloatType)


def _numbers(op: Operation) -> ty.Type:
    """Return the type of the result. Raises Unsupported unless it is a number or a vector of numbers."""
    type_ = op.results[0].type
    if not isinstance(ty.element_type(type_), _NUMBERS):
        raise Unsupported(f"{op.name}: values of type '{type_}' do not run", location=op.location, op=op.name)
    return type_


def constant(op: Operation, compiler: Compiler) -> Value:
    """Return the value of llvm.mlir.constant. ``64 : index`` is a constant of any width."""
    type_, value = _numbers(op), op.properties["value"]
    if isinstance(value, at.IntegerAttr) and isinstance(type_, ty.IntegerType):
        value = at.IntegerAttr(value.value, type_)
    given = getattr(value, "type", None)
    if given is None or ty.width_of(ty.element_type(given)) != ty.width_of(ty.element_type(type_)):
        raise Unsupported(f"{op.name}: {value} is not a value of type '{type_}'", location=op.location, op=op.name)
    return attribute_value(value, type_, op, compiler)


def zero(op: Operation, compiler: Compiler) -> Value:
    """Return the value of llvm.mlir.zero: all bits are 0."""
    type_ = _numbers(op)
    shape = runtime_shape(type_, compiler.settings.vscale)
    assert shape is not None
    dtype, trailing = code_layout(ty.element_type(type_))
    return Value(type_, np.zeros((*(size or 0 for size in shape), *trailing), dtype))


def same(op: Operation, settings: Settings) -> Function:
    """Return the operand: llvm.freeze of a value that is not poison. Poison stays poison."""
    return lambda run, operands: operands


def call(op: Operation, compiler: Compiler) -> Action:
    """Return the action of a call of a function by its name."""
    symbol = op.properties.get("callee")
    if not isinstance(symbol, at.SymbolRefAttr):
        raise Unsupported(f"{op.name}: calls of pointers do not run", location=op.location, op=op.name)
    target = compiler.module.lookup(symbol, op)
    if target is None or target.name != "llvm.func" or "var_callee_type" in op.properties:
        raise Unsupported(f"{op.name}: '{symbol}' cannot be called", location=op.location, op=op.name)
    operands, results = compiler.slots(callee_operands(op)), compiler.slots(op.results)
    return caller(op, target, operands, results, compiler, compiler.after())


def unreachable(op: Operation, compiler: Compiler) -> Action:
    """Return the action of llvm.unreachable."""

    def reached(frame: Frame) -> Segment | None:
        report = UndefinedBehavior(
            "llvm.unreachable: undefined behaviour: it was reached", location=op.location, op=op.name
        )
        raise in_lanes(report, frame.slots[0].lanes)

    return reached
