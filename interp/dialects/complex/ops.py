"""The complex dialect (`ComplexOps.td`): the 29 ops of MLIR 22.

Constants, parts, sums, differences, signs and comparisons are run. For all others MLIR defines neither the order of the
roundings nor the special values. They are read, verified and printed; to run one is an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from halfulp.fp_formats.formats import FloatFormat, ints_to_codes
from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.arith.ops import FASTMATH
from halfulp.interp.dialects.elementwise import fastmath_of
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import dialect_attributes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import spell_float
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Compiler, Constant, Elementwise
from halfulp.interp.run.settings import Settings
from halfulp.interp.text.affine_parser import TokenParser
from halfulp.interp.values.value import Value
from halfulp.semantics import complex_numbers
from halfulp.semantics.kernel import Kernel

# --- number -----------------------------------------------------------------------------------------------------------
#
# The attribute ``#complex.number<:f64 1.0, 2.0>``.


def _read(p: TokenParser) -> tuple[Any, ...]:
    p.expect("<")
    p.expect(":")
    at_type = p.pos
    element = p.type()
    if not isinstance(element, ty.FloatType):
        p.error("invalid kind of type specified: expected float", at_type)
    real = _read_part(p, element)
    p.expect(",")
    imaginary = _read_part(p, element)
    p.expect(">")
    if p.take(":"):
        at_type = p.pos
        written = p.type()
        if written != ty.ComplexType(element):
            p.error(f"the number has the type 'complex<{element}>', not '{written}'", at_type)
    return real, imaginary


def _read_part(p: TokenParser, element: ty.FloatType) -> at.FloatAttr:
    where = p.pos
    found = p.attribute(element)
    if not isinstance(found, at.FloatAttr) or found.type != element:
        p.error("expected floating point literal", where)
    return found


def _spell(value: dialect_attributes.DialectAttr, names: Mapping[object, str]) -> str:
    real, imaginary = value.values
    texts = [spell_float(part.type.format, part.code) for part in (real, imaginary)]
    type_ = real.type.spell(names)
    return f"<:{type_} {', '.join(texts)}> : complex<{type_}>"


_PART = dialect_attributes.ParameterKind(lambda p: p.attribute(), lambda value, names: value.spell_nested(names))
NUMBER = dialect_attributes.AttributeDefinition(
    name="complex.number",
    form=dialect_attributes.ParameterForm(_read, _spell),
    parameters=(dialect_attributes.Parameter("real", _PART), dialect_attributes.Parameter("imag", _PART)),
)


# --- ops --------------------------------------------------------------------------------------------------------------

complex = d.Dialect("complex")
complex.attributes["number"] = NUMBER

_KIND = d.TypeKind("builtin.complex", lambda type_: isinstance(type_, ty.ComplexType))
_ANY_COMPLEX = d.TypeConstraint("complex-type", _KIND.accepts, _KIND)
_COMPLEX = d.TypeConstraint(
    "complex type with floating-point elements",
    lambda type_: isinstance(type_, ty.ComplexType) and isinstance(type_.element, ty.FloatType),
    _KIND,
)
_FLOAT = d.TypeConstraint("floating-point", lambda type_: isinstance(type_, ty.FloatType))
_INTEGER = d.TypeConstraint(
    "signless integer",
    ty.is_signless,
    d.TypeKind("builtin.integer", lambda type_: isinstance(type_, ty.IntegerType)),
)
_FASTMATH = d.Property("fastmath", FASTMATH, default=0)
_FLAGS = "(`fastmath` `` $fastmath^)? attr-dict"
_ARRAY = d.AttributeConstraint("array attribute", lambda attribute: isinstance(attribute, at.ArrayAttr))


def _part_type(type_: ty.Type) -> ty.Type:
    return type_.element if isinstance(type_, ty.ComplexType) else type_


def _format(type_: ty.Type) -> FloatFormat:
    return ty.float_format(_part_type(type_))


# --- constants --------------------------------------------------------------------------------------------------------


def _verify_constant(op: Operation) -> str | None:
    value, type_ = op.prop("value", at.ArrayAttr), op.results[0].type
    if len(value.elements) != 2:
        return "requires 'value' to be a complex constant, represented as array of two values"
    kinds = []
    for element in value.elements:
        if not isinstance(element, at.FloatAttr | at.IntegerAttr):
            return "requires attribute's elements to be float or integer attributes"
        kinds.append(element.type)
    element_type = _part_type(type_)
    if any(kind != element_type for kind in kinds):
        return (
            f"requires attribute's element types ('{kinds[0]}', '{kinds[1]}') to match the element type of the op's "
            f"return type ('{element_type}')"
        )
    return None


def _constant(op: Operation, compiler: Compiler) -> Value:
    value, type_ = op.prop("value", at.ArrayAttr), op.results[0].type
    codes = [part.code for part in value.elements if isinstance(part, at.FloatAttr | at.IntegerAttr)]
    return Value(type_, ints_to_codes(codes, ty.width_of(_part_type(type_)), (2,)))


complex.op(
    "constant",
    "$value attr-dict `:` type($complex)",
    results={"complex": _ANY_COMPLEX},
    properties=(d.Property("value", _ARRAY),),
    traits=(d.Trait.CONSTANT_LIKE,),
    verify=_verify_constant,
    named_results=("cst",),
    evaluate=Constant(_constant),
)

# --- parts ------------------------------------------------------------------------------------------------------------

_PART_RULE = (
    d.derived_type("result", "complex", _part_type, "failed to verify that complex element type matches result type"),
)

complex.op(
    "create",
    "$real `,` $imaginary attr-dict `:` type($complex)",
    operands={"real": _FLOAT, "imaginary": _FLOAT},
    results={"complex": _COMPLEX},
    type_rules=(
        d.same_type("real", "imaginary"),
        d.derived_type(
            "real", "complex", _part_type, "failed to verify that complex element type matches real operand type"
        ),
        d.derived_type(
            "imaginary",
            "complex",
            _part_type,
            "failed to verify that complex element type matches imaginary operand type",
        ),
        d.derived_type("complex", "real", ty.ComplexType, "the type of the parts is that of the number's elements"),
    ),
    evaluate=Elementwise(lambda op, settings: complex_numbers.create(_format(op.results[0].type))),
)


def _declare_part(mnemonic: str, which: int | None = None) -> None:
    def build(op: Operation, settings: Settings) -> Kernel:
        assert which is not None
        return complex_numbers.part(which, _format(op.operands[0].type), fastmath_of(op))

    complex.op(
        mnemonic,
        f"$complex {_FLAGS} `:` type($complex)",
        operands={"complex": _COMPLEX},
        results={"result": _FLOAT},
        properties=(_FASTMATH,),
        type_rules=_PART_RULE,
        evaluate=None if which is None else Elementwise(build),
    )


_declare_part("re", 0)
_declare_part("im", 1)
_declare_part("abs")
_declare_part("angle")

# --- one number, two numbers ------------------------------------------------------------------------------------------

_SAME = (d.Trait.ELEMENTWISE, d.Trait.SAME_OPERANDS_AND_RESULT_TYPE)
Make = Callable[[FloatFormat, int, Settings], Kernel]


def _evaluated(make: Make | None) -> Elementwise | None:
    if make is None:
        return None
    return Elementwise(lambda op, settings: make(_format(op.results[0].type), fastmath_of(op), settings))


def _unary(mnemonic: str, make: Make | None = None) -> None:
    complex.op(
        mnemonic,
        f"$complex {_FLAGS} `:` type($complex)",
        operands={"complex": _COMPLEX},
        results={"result": _COMPLEX},
        properties=(_FASTMATH,),
        traits=_SAME,
        evaluate=_evaluated(make),
    )


def _binary(mnemonic: str, make: Make | None = None) -> None:
    complex.op(
        mnemonic,
        f"$lhs `,` $rhs {_FLAGS} `:` type($result)",
        operands={"lhs": _COMPLEX, "rhs": _COMPLEX},
        results={"result": _COMPLEX},
        properties=(_FASTMATH,),
        traits=_SAME,
        evaluate=_evaluated(make),
    )


_unary("neg", lambda fmt, fastmath, settings: complex_numbers.negate(fmt, fastmath, settings.profile))
_unary("conj", lambda fmt, fastmath, settings: complex_numbers.conjugate(fmt, fastmath, settings.profile))
for _name in ("cos", "exp", "expm1", "log", "log1p", "rsqrt", "sign", "sin", "sqrt", "tan", "tanh"):
    _unary(_name)
_binary("add", lambda fmt, fastmath, settings: complex_numbers.binary("add", fmt, fastmath, settings.profile))
_binary("sub", lambda fmt, fastmath, settings: complex_numbers.binary("subtract", fmt, fastmath, settings.profile))
for _name in ("atan2", "div", "mul", "pow"):
    _binary(_name)

complex.op(
    "powi",
    f"$lhs `,` $rhs {_FLAGS} `:` type($result) `,` type($rhs)",
    operands={"lhs": _COMPLEX, "rhs": _INTEGER},
    results={"result": _COMPLEX},
    properties=(d.Property("fastmath", FASTMATH, optional=True),),
    type_rules=(d.same_type("lhs", "result"),),
)

# --- comparisons and casts --------------------------------------------------------------------------------------------


def _comparison(mnemonic: str, unequal: bool) -> None:
    complex.op(
        mnemonic,
        "$lhs `,` $rhs attr-dict `:` type($lhs)",
        operands={"lhs": _COMPLEX, "rhs": _COMPLEX},
        results={"result": d.BOOL},
        type_rules=(d.same_type("lhs", "rhs"),),
        evaluate=Elementwise(
            lambda op, settings: complex_numbers.equal(_format(op.operands[0].type), settings.profile, unequal)
        ),
    )


_comparison("eq", False)
_comparison("neq", True)


def _verify_bitcast(op: Operation) -> str | None:
    source, target = op.operands[0].type, op.results[0].type
    if source == target:
        return None
    for type_, what in ((source, "operand"), (target, "result")):
        if not isinstance(type_, ty.ComplexType | ty.IntegerType | ty.FloatType):
            return f"{what} must be int/float/complex"
    if isinstance(source, ty.ComplexType) == isinstance(target, ty.ComplexType):
        return "requires that either input or output has a complex type"
    widths = [ty.width_of(_part_type(type_)) * (1 + isinstance(type_, ty.ComplexType)) for type_ in (source, target)]
    return None if widths[0] == widths[1] else "casting bitwidths do not match"


complex.op(
    "bitcast",
    "$operand attr-dict `:` type($operand) `to` type($result)",
    operands={"operand": d.ANY},
    results={"result": d.ANY},
    verify=_verify_bitcast,
)
