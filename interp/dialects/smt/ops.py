"""The smt dialect (`SMT.td` of LLVM 24): the integers and booleans that constraints of ``iree_codegen`` use.

Types: ``!smt.int``, ``!smt.bool``, and ``!smt.bv<width>``, which the ops declared here do not take.
"""

from __future__ import annotations

from typing import Any

from halfulp.interp.declare import constraints as c
from halfulp.interp.declare.declarations import (
    Arity,
    AttributeConstraint,
    Dialect,
    OpDefinition,
    Property,
    Slot,
    TypeConstraint,
)
from halfulp.interp.declare.type_rules import TypeRule, same_type
from halfulp.interp.dialects.smt.forms import INT_CONSTANT, SAME_TYPE, smt_integer
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.operations import Operation

smt = Dialect("smt", partial=True)

INT = ty.DialectType("smt", "int")
BOOL = ty.DialectType("smt", "bool")
smt.types["int"] = lambda p: INT
smt.types["bool"] = lambda p: BOOL

SMT_INT = TypeConstraint("", lambda type_: type_ == INT, builds=INT)
SMT_BOOL = TypeConstraint("", lambda type_: type_ == BOOL, builds=BOOL)
SMT_VALUE = TypeConstraint(
    "any non-function SMT value type",
    lambda type_: isinstance(type_, ty.DialectType | ty.OpaqueType) and type_.dialect == "smt",
)

SMT_ANY = TypeConstraint("any SMT value type", SMT_VALUE.accepts)

PREDICATE = EnumDefinition("smt.int.cmp predicate", {"lt": 0, "le": 1, "gt": 2, "ge": 3}, storage_width=64)

_INTS = Slot("inputs", SMT_INT, Arity.VARIADIC)
_BOOLS = Slot("inputs", SMT_BOOL, Arity.VARIADIC)


def _op(mnemonic: str, assembly: str, operands: Any, result: TypeConstraint, **more: Any) -> OpDefinition:
    return smt.op(mnemonic, assembly, operands=operands, results={"result": result}, **more)


def _is_integer(attribute: at.Attribute) -> bool:
    return isinstance(attribute, at.IntegerAttr)


smt.op(
    "int.constant",
    custom=INT_CONSTANT,
    named_results=lambda op: (f"c{smt_integer(op.properties['value'])}",),
    results={"result": SMT_INT},
    properties=(Property("value", AttributeConstraint("arbitrary integer attribute", _is_integer)),),
)
for _mnemonic in ("add", "mul"):
    _op(f"int.{_mnemonic}", "$inputs attr-dict", (_INTS,), SMT_INT)
for _mnemonic in ("sub", "div", "mod"):
    _op(f"int.{_mnemonic}", "$lhs `,` $rhs attr-dict", {"lhs": SMT_INT, "rhs": SMT_INT}, SMT_INT)
_op("int.abs", "$input attr-dict", {"input": SMT_INT}, SMT_INT)
_op(
    "int.cmp",
    "$pred $lhs `,` $rhs attr-dict",
    {"lhs": SMT_INT, "rhs": SMT_INT},
    SMT_BOOL,
    properties=(Property("pred", PREDICATE),),
)

_op(
    "constant",
    "$value attr-dict",
    (),
    SMT_BOOL,
    properties=(Property("value", c.BOOL_ATTR),),
    named_results=lambda op: (str(op.properties["value"]),),
)


def _prefix(op: Operation) -> tuple[str, ...]:
    name = op.properties.get("namePrefix")
    return (name.value,) if isinstance(name, at.StringAttr) and name.value else ()


def _all_of_one_type() -> TypeRule:
    def solve(types: dict[str, Any], properties: Any) -> None:
        pass

    def holds(types: Any, properties: Any) -> bool:
        return len(set(types["inputs"])) < 2

    return TypeRule("requires all operands to have the same type", solve, holds)


def _at_least_two(op: Operation) -> str | None:
    return None if len(op.operands) > 1 else "'inputs' must have at least size 2, but got " + str(len(op.operands))


for _mnemonic in ("eq", "distinct"):
    smt.op(
        _mnemonic,
        custom=SAME_TYPE,
        operands=(Slot("inputs", SMT_VALUE, Arity.VARIADIC),),
        results={"result": SMT_BOOL},
        type_rules=(_all_of_one_type(),),
        verify=_at_least_two,
    )
for _mnemonic in ("and", "or"):
    _op(_mnemonic, "$inputs attr-dict", (_BOOLS,), SMT_BOOL)
_op("not", "$input attr-dict", {"input": SMT_BOOL}, SMT_BOOL)
_op("xor", "$inputs attr-dict", (_BOOLS,), SMT_BOOL)
_op("implies", "$lhs `,` $rhs attr-dict", {"lhs": SMT_BOOL, "rhs": SMT_BOOL}, SMT_BOOL)
smt.op(
    "ite",
    "$cond `,` $thenValue `,` $elseValue attr-dict `:` type($result)",
    operands={"cond": SMT_BOOL, "thenValue": SMT_VALUE, "elseValue": SMT_VALUE},
    results={"result": SMT_VALUE},
    type_rules=(same_type("thenValue", "elseValue", "result"),),
)
smt.op(
    "declare_fun",
    "($namePrefix^)? attr-dict `:` type($result)",
    results={"result": SMT_ANY},
    properties=(Property("namePrefix", c.STRING_ATTR, optional=True),),
    named_results=_prefix,
)
smt.op("assert", "$input attr-dict", operands={"input": SMT_BOOL})
