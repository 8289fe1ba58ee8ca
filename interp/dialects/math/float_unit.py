"""The operations of a float unit that MLIR has no op for, under the names of RISC-V's instructions.

Their rounding mode is any but the stochastic one. Where the type of a result is left out, it is that of the last
operand: of the addend of a multiply-add.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import Property, Trait
from halfulp.interp.declare.type_rules import TypeRule, derived_type
from halfulp.interp.dialects.arith.ops import CMPF_PREDICATE
from halfulp.interp.dialects.elementwise import (
    bool_like,
    element_of,
    elementwise,
    enum_of,
    format_of,
    rounding_of,
    same_shape,
)
from halfulp.interp.dialects.math.families import ROUNDING_CHOICE, Declaration
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.settings import Settings
from halfulp.semantics import casts, float_unit
from halfulp.semantics.kernel import Kernel

Build = Callable[[Operation, Settings], Kernel]

_SHAPES = (Trait.ELEMENTWISE, Trait.SAME_OPERANDS_AND_RESULT_SHAPE)


def _declaration(
    operands: Sequence[str],
    build: Build,
    rules: tuple[TypeRule, ...] = (),
    accepts: Any = c.FLOAT_LIKE,
    result: Any = c.FLOAT_LIKE,
    choices: tuple[Property, ...] = (ROUNDING_CHOICE,),
) -> Declaration:
    shapes = tuple(same_shape(operands[0], each) for each in operands[1:])
    return {
        "operands": dict.fromkeys(operands, accepts),
        "results": {"result": result},
        "traits": _SHAPES,
        "type_rules": (*shapes, *elementwise("result"), *rules),
        "evaluate": Elementwise(build),
        "choices": choices,
    }


def _like(name: str) -> TypeRule:
    """Return the rule that a result without a type has that of an operand."""

    def solve(types: dict[str, Any], properties: Mapping[str, Attribute]) -> None:
        if name in types:
            types.setdefault("result", types[name])

    return TypeRule("", solve, lambda types, properties: True)


def _arithmetic(name: str) -> Declaration:
    def build(op: Operation, settings: Settings) -> Kernel:
        sources = tuple(format_of(operand) for operand in op.operands)
        return float_unit.arithmetic(name, sources, format_of(op.results[0]), rounding_of(op), settings.profile)

    operands = "abc" if name.endswith(("madd", "msub")) else "ab"
    return _declaration(operands, build, (_like(operands[-1]),))


def _to_integral(says_inexact: bool) -> Declaration:
    def build(op: Operation, settings: Settings) -> Kernel:
        return float_unit.to_integral(format_of(op.results[0]), rounding_of(op), says_inexact, settings.profile)

    same = derived_type("result", "x", lambda type_: type_, "the result has the type of the operand")
    return _declaration("x", build, (same,))


def _convert(op: Operation, settings: Settings) -> Kernel:
    formats = format_of(op.operands[0]), format_of(op.results[0])
    return casts.convert(*formats, rounding_of(op), 0, settings.profile)


def _to_integer(signed: bool) -> Declaration:
    def build(op: Operation, settings: Settings) -> Kernel:
        width = settings.width(element_of(op.results[0]))
        return casts.to_integer(format_of(op.operands[0]), width, signed, settings.profile, rounding_of(op))

    return _declaration("x", build, result=c.INTEGER_LIKE)


def _from_integer(signed: bool) -> Declaration:
    def build(op: Operation, settings: Settings) -> Kernel:
        width = settings.width(element_of(op.operands[0]))
        fmt = format_of(op.results[0])
        return casts.from_integer(width, signed, fmt, settings.profile, rounding=rounding_of(op))

    return _declaration("x", build, accepts=c.INTEGER_LIKE)


def _compare(op: Operation, settings: Settings) -> Kernel:
    return float_unit.compare_signalling(enum_of(op, "predicate") or 0, format_of(op.operands[0]), settings.profile)


def _classify(op: Operation, settings: Settings) -> Kernel:
    return float_unit.classify(format_of(op.operands[0]))


_PREDICATE = Property("predicate", CMPF_PREDICATE)
_BOOLEAN = derived_type("result", "a", bool_like, "the result is i1 for each element")
_SAME = TypeRule(
    "the operands have one type", lambda types, properties: None, lambda types, properties: types["a"] == types["b"]
)
_CLASS = derived_type(
    "result", "x", lambda type_: ty.with_element(type_, ty.IntegerType(10)), "the result is i10 for each element"
)

DECLARATIONS: Mapping[str, Declaration] = {
    **{name: _arithmetic(name) for name in float_unit.MIXED},
    "fcvt": _declaration("x", _convert),
    "fcvt_to_si": _to_integer(signed=True),
    "fcvt_to_ui": _to_integer(signed=False),
    "fcvt_from_si": _from_integer(signed=True),
    "fcvt_from_ui": _from_integer(signed=False),
    "fround": _to_integral(says_inexact=False),
    "froundnx": _to_integral(says_inexact=True),
    "fcmps": _declaration("ab", _compare, (_SAME, _BOOLEAN), result=c.BOOL_LIKE, choices=())
    | {"properties": (_PREDICATE,)},
    "fclass": _declaration("x", _classify, (_CLASS,), result=c.INTEGER_LIKE, choices=()),
}
"""Their declarations, by name."""
