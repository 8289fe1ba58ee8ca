"""The smt dialect (`SMT.td` of LLVM 24): the integers and booleans that constraints of ``iree_codegen`` use.

Types: ``!smt.int``, ``!smt.bool``, and ``!smt.bv<width>``, which the ops declared here do not take.
"""

from __future__ import annotations

from typing import Any

from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.regions import trailing_dictionary
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.attributes import IntegerAttr
from halfulp.interp.ir.base import Attribute
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import IntegerType
from halfulp.interp.text.affine_parser import integer_value, is_integer
from halfulp.interp.text.directives import CUSTOM_DIRECTIVES, ElementForm, OpReading, Slots
from halfulp.interp.text.op_parser import OpParser, OpPrinter

# --- forms ------------------------------------------------------------------------------------------------------------
#
# Custom forms that the smt dialect writes by hand.


def _parse_int_constant(p: OpParser, at: int, definition: d.OpDefinition) -> Operation:
    """Read ``5``. The attribute is unsigned, and has as many bits as the number, at least 64."""
    negative = p.take("-")
    token = p.tokens[p.pos]
    if not is_integer(token):
        p.error("expected integer value")
    p.pos += 1
    value = integer_value(token)
    width = max(64, value.bit_length() + 1)
    code = (-value if negative else value) & ((1 << width) - 1)
    attribute = IntegerAttr(code, IntegerType(width, "unsigned"))
    result = definition.results[0].constraint.builds
    assert result is not None
    return p.placed(
        Operation(definition.name, definition, [], (result,), {"value": attribute}, p.optional_dictionary()), at
    )


def smt_integer(attribute: Attribute) -> int:
    """Return the number of a constant of the smt dialect: its bits are signed, independent of its type."""
    assert isinstance(attribute, IntegerAttr)
    width = attribute.type.width if isinstance(attribute.type, IntegerType) else 64
    return attribute.code - (1 << width) if attribute.code >> (width - 1) else attribute.code


def _print_int_constant(printer: OpPrinter, operation: Operation) -> str:
    """Print the number, signed."""
    return f" {smt_integer(operation.properties['value'])}{trailing_dictionary(printer, operation)}"


def _same_type(slots: Slots, name: str) -> ElementForm:
    """Compile the element of a format that stands for the type of all values of a variadic operand."""
    index = slots.index[name]

    def read(p: OpParser, state: OpReading) -> None:
        state.types[index] = (p.type(),) * len(state.operands[index])

    return ElementForm(read, lambda printer, op, out: out.value(printer.type(slots.values(op, index)[0].type)))


CUSTOM_DIRECTIVES["SameType"] = _same_type
INT_CONSTANT = d.CustomForm(_parse_int_constant, _print_int_constant)


# --- ops --------------------------------------------------------------------------------------------------------------

smt = d.Dialect("smt", partial=True)

INT = ty.DialectType("smt", "int")
BOOL = ty.DialectType("smt", "bool")
smt.types["int"] = lambda p: INT
smt.types["bool"] = lambda p: BOOL

SMT_INT = d.TypeConstraint("", lambda type_: type_ == INT, builds=INT)
SMT_BOOL = d.TypeConstraint("", lambda type_: type_ == BOOL, builds=BOOL)
SMT_VALUE = d.TypeConstraint(
    "any non-function SMT value type",
    lambda type_: isinstance(type_, ty.DialectType | ty.OpaqueType) and type_.dialect == "smt",
)

SMT_ANY = d.TypeConstraint("any SMT value type", SMT_VALUE.accepts)

PREDICATE = EnumDefinition("smt.int.cmp predicate", {"lt": 0, "le": 1, "gt": 2, "ge": 3}, storage_width=64)

_INTS = d.variadic("inputs", SMT_INT)
_BOOLS = d.variadic("inputs", SMT_BOOL)


def _op(mnemonic: str, assembly: str, operands: Any, result: d.TypeConstraint, **more: Any) -> d.OpDefinition:
    return smt.op(mnemonic, assembly, operands=operands, results={"result": result}, **more)


def _is_integer(attribute: at.Attribute) -> bool:
    return isinstance(attribute, at.IntegerAttr)


smt.op(
    "int.constant",
    custom=INT_CONSTANT,
    named_results=lambda op: (f"c{smt_integer(op.properties['value'])}",),
    results={"result": SMT_INT},
    properties=(d.Property("value", d.AttributeConstraint("arbitrary integer attribute", _is_integer)),),
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
    properties=(d.Property("pred", PREDICATE),),
)

_op(
    "constant",
    "$value attr-dict",
    (),
    SMT_BOOL,
    properties=(d.Property("value", d.BOOL_ATTR),),
    named_results=lambda op: (str(op.properties["value"]),),
)


def _prefix(op: Operation) -> tuple[str, ...]:
    name = op.properties.get("namePrefix")
    return (name.value,) if isinstance(name, at.StringAttr) and name.value else ()


def _all_of_one_type() -> d.TypeRule:
    def solve(types: dict[str, Any], properties: Any) -> None:
        pass

    def holds(types: Any, properties: Any) -> bool:
        return len(set(types["inputs"])) < 2

    return d.TypeRule("requires all operands to have the same type", solve, holds)


def _at_least_two(op: Operation) -> str | None:
    return None if len(op.operands) > 1 else "'inputs' must have at least size 2, but got " + str(len(op.operands))


for _mnemonic in ("eq", "distinct"):
    _op(
        _mnemonic,
        "$inputs attr-dict `:` custom<SameType>($inputs)",
        (d.variadic("inputs", SMT_VALUE),),
        SMT_BOOL,
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
    type_rules=(d.same_type("thenValue", "elseValue", "result"),),
)
smt.op(
    "declare_fun",
    "($namePrefix^)? attr-dict `:` type($result)",
    results={"result": SMT_ANY},
    properties=(d.Property("namePrefix", d.STRING_ATTR, optional=True),),
    named_results=_prefix,
)
smt.op("assert", "$input attr-dict", operands={"input": SMT_BOOL})
