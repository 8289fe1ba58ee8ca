"""The index dialect (`IndexOps.td`): arithmetic on index, whose width is that of the machine.

Constants have 64 bits in the text. If index has 32 bits, only the low 32 bits of constants and of all results are kept.
"""

from __future__ import annotations

from collections.abc import Callable

from halfulp.fp_formats.formats import ints_to_codes
from halfulp.interp.declare import declarations as d
from halfulp.interp.declare.parameters import keyword, nested
from halfulp.interp.dialects.elementwise import integer_cast, of_width
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import DialectAttr, EnumDefinition, Parameter
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Compiler, Constant, Elementwise
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics import integer
from halfulp.semantics.kernel import Kernel

# --- ops --------------------------------------------------------------------------------------------------------------

index = d.Dialect("index")

_PREDICATES = EnumDefinition(
    "::mlir::index::IndexCmpPredicate",
    {name: k for k, name in enumerate(("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"))},
)
_PREDICATE = index.attribute("cmp_predicate", "$value", parameters=(Parameter("value", keyword(_PREDICATES)),))
_PREDICATE_PROPERTY = d.AttributeConstraint(
    "index comparison predicate kind",
    lambda attribute: isinstance(attribute, DialectAttr) and attribute.definition is _PREDICATE,
    form=nested(_PREDICATE),
)
_INTEGER_OR_INDEX = d.TypeConstraint("integer or index", lambda type_: isinstance(type_, ty.IntegerType | ty.IndexType))

# --- arithmetic -------------------------------------------------------------------------------------------------------


def _binary(mnemonic: str, factory: Callable[[int], Kernel], *traits: d.Trait) -> None:
    index.op(
        mnemonic,
        "$lhs `,` $rhs attr-dict",
        operands={"lhs": d.INDEX, "rhs": d.INDEX},
        results={"result": d.INDEX},
        traits=traits,
        evaluate=of_width(factory),
    )


_factory: Callable[[int], Kernel]
for _name, _factory in (
    ("add", integer.addi),
    ("mul", integer.muli),
    ("maxs", integer.maxsi),
    ("maxu", integer.maxui),
    ("mins", integer.minsi),
    ("minu", integer.minui),
    ("and", integer.andi),
    ("or", integer.ori),
    ("xor", integer.xori),
):
    _binary(_name, _factory, d.Trait.COMMUTATIVE)
for _name, _factory in (
    ("sub", integer.subi),
    ("divs", integer.divsi),
    ("divu", integer.divui),
    ("ceildivs", integer.ceildivsi),
    ("ceildivu", integer.ceildivui),
    ("floordivs", integer.floordivsi),
    ("rems", integer.remsi),
    ("remu", integer.remui),
    ("shl", integer.shli),
    ("shrs", integer.shrsi),
    ("shru", integer.shrui),
):
    _binary(_name, _factory)


def _compared(op: Operation, settings: Settings) -> Kernel:
    predicate = op.prop("pred", DialectAttr)
    return integer.cmpi(settings.width(ty.INDEX), _PREDICATES.cases[predicate["value"]])


index.op(
    "cmp",
    "$pred `(` $lhs `,` $rhs `)` attr-dict",
    operands={"lhs": d.INDEX, "rhs": d.INDEX},
    results={"result": d.BOOL},
    properties=(d.Property("pred", _PREDICATE_PROPERTY),),
    evaluate=Elementwise(_compared),
)

# --- casts ------------------------------------------------------------------------------------------------------------


def _verify_cast(op: Operation) -> str | None:
    source, target = op.operands[0].type, op.results[0].type
    if isinstance(source, ty.IndexType) != isinstance(target, ty.IndexType):
        return None
    return f"operand type '{source}' and result type '{target}' are cast incompatible"


def _cast(mnemonic: str, factory: Callable[[int, int], Kernel]) -> None:
    index.op(
        mnemonic,
        "$input attr-dict `:` type($input) `to` type($output)",
        operands={"input": _INTEGER_OR_INDEX},
        results={"output": _INTEGER_OR_INDEX},
        verify=_verify_cast,
        evaluate=Elementwise(integer_cast(factory)),
    )


_cast("casts", integer.index_cast)
_cast("castu", integer.index_castui)

# --- constants --------------------------------------------------------------------------------------------------------


def _value(op: Operation) -> int:
    value = op.prop("value", at.IntegerAttr)
    return value.value


def _number(number: int, type_: ty.Type, settings: Settings) -> Value:
    """Return a number cut to the bits that the type has."""
    code = number & ((1 << settings.width(type_)) - 1)
    return Value(type_, ints_to_codes([code], ty.width_of(type_), ()))


def _constant(op: Operation, compiler: Compiler) -> Value:
    return _number(_value(op), op.results[0].type, compiler.settings)


def _size(op: Operation, compiler: Compiler) -> Value:
    return _number(compiler.settings.width(ty.INDEX), ty.INDEX, compiler.settings)


index.op(
    "constant",
    "attr-dict $value",
    results={"result": d.INDEX},
    properties=(d.Property("value", d.INDEX_ATTR),),
    traits=(d.Trait.CONSTANT_LIKE,),
    named_results=lambda op: (f"idx{_value(op)}",),
    evaluate=Constant(_constant),
)
index.op(
    "bool.constant",
    "attr-dict $value",
    results={"result": d.BOOL},
    properties=(d.Property("value", d.BOOL_ATTR),),
    traits=(d.Trait.CONSTANT_LIKE,),
    named_results=lambda op: ("true" if _value(op) else "false",),
    evaluate=Constant(_constant),
)
index.op("sizeof", "attr-dict", results={"result": d.INDEX}, evaluate=Constant(_size))
