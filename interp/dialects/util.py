"""IREE's util dialect (release 3.13): values that a compiler must not fold. Other ops are kept as they are written."""

from __future__ import annotations

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.arith.constants import constant_value
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Compiler, OnValues
from halfulp.interp.run.frames import Function

util = d.Dialect("util", partial=True)


def _constant(op: Operation, compiler: Compiler) -> Function:
    value = constant_value(op, compiler)
    return lambda run, operands: (value,)


util.op(
    "unfoldable_constant",
    "attr-dict $value",
    results={"result": d.ANY},
    properties=(d.Property("value", d.TYPED_ATTR),),
    type_rules=(d.type_of_property("result", "value", "failed to verify that all of {value, result} have same type"),),
    evaluate=OnValues(_constant, of_module=True),
)


_SAME_TYPES = d.TypeRule(
    "failed to verify that all of {operands, results} have same type",
    lambda types, properties: types.setdefault("results", types.get("operands")),
    lambda types, properties: bool(types["operands"] == types["results"]),
)

util.op(
    "optimization_barrier",
    "attr-dict ($operands^ `:` type($operands))?",
    operands=(d.variadic("operands", d.ANY),),
    results=(d.variadic("results", d.ANY),),
    type_rules=(_SAME_TYPES,),
    evaluate=OnValues(lambda op, settings: lambda run, operands: operands, raw=True),
)
