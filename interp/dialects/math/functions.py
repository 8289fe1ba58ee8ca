"""The functions for which MLIR has no op. `halfulp.eval`, and everything else that takes the name of an op, accepts
them.

No program can name them. Their names are those of `halfulp.fp_formats.reals`; ``pown`` is ``powf`` of an integer. The
operations of a float unit have names of RISC-V.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from halfulp.fp_formats.policy import Rounding
from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.arith.ops import CMPF_PREDICATE, FASTMATH
from halfulp.interp.dialects.elementwise import (
    bool_like,
    element_of,
    elementwise,
    enum_of,
    fastmath_of,
    format_of,
    rounding_of,
    same_shape,
)
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.dialect_attributes import EnumDefinition
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.settings import Settings
from halfulp.semantics import casts, elementary, fixed_point, float_unit
from halfulp.semantics.kernel import Kernel

# --- families ---------------------------------------------------------------------------------------------------------
#
# The families of functions on floats: how each is declared, in the math dialect and outside of it.
#
# A family gives the fields of an `OpDefinition`: operands, results, rules and the evaluator. Those that round once can
# be rounded in any mode: MLIR's ops have no attribute for it, so the mode is a choice of the evaluation (`rounding=` of
# `halfulp.eval`), and a program rounds to nearest even.

Declaration = dict[str, Any]
Build = Callable[[Operation, Settings], Kernel]

FASTMATH_PROPERTY = d.Property("fastmath", FASTMATH, default=0)
ROUNDING_CHOICE = d.Property(
    "roundingmode",
    EnumDefinition(
        "Floating point rounding mode, also to odd",
        {mode.spelling: int(mode) for mode in Rounding if mode is not Rounding.STOCHASTIC},
        storage_width=32,
    ),
    optional=True,
)
"""The rounding mode that programs cannot ask for."""


def of_one_type(operands: Sequence[str], build: Build, choices: tuple[d.Property, ...] = ()) -> Declaration:
    """Declare a function whose operands and result are floats of one type."""
    return {
        "operands": dict.fromkeys(operands, d.FLOAT_LIKE),
        "results": {"result": d.FLOAT_LIKE},
        "properties": (FASTMATH_PROPERTY,),
        "traits": (d.Trait.ELEMENTWISE, d.Trait.SAME_OPERANDS_AND_RESULT_TYPE),
        "evaluate": Elementwise(build),
        "choices": choices,
    }


@dataclass(frozen=True)
class RoundedOnce:
    """A function that makes the kernels of an elementary function. ``row``: its name in `halfulp.fp_formats.reals`.
    ``make``: the function of `halfulp.semantics.elementary` that makes them.
    """

    row: str
    make: Callable[..., Kernel]

    def __call__(self, op: Operation, settings: Settings) -> Kernel:
        """Return the kernel for the types, the flags and the rounding mode of an op."""
        fmt, how = format_of(op.results[0]), (rounding_of(op), fastmath_of(op), settings.profile)
        width = (settings.width(element_of(op.operands[1])),) if self.make is elementary.of_integer else ()
        kernel: Kernel = self.make(self.row, fmt, *width, *how)
        return kernel


def row_of(definition: d.OpDefinition) -> str | None:
    """Return the row of `halfulp.fp_formats.reals` that an op or function computes ("powf" for `math.fpowi`); None for
    all others.
    """
    build = getattr(definition.evaluate, "build", None)
    return build.row if isinstance(build, RoundedOnce) else None


def unary(name: str, operand: str = "operand") -> Declaration:
    """Declare an elementary function of one argument, named as in `halfulp.fp_formats.reals`."""
    return of_one_type((operand,), RoundedOnce(name, elementary.unary), (ROUNDING_CHOICE,))


def binary(name: str, operands: tuple[str, str] = ("lhs", "rhs")) -> Declaration:
    """Declare an elementary function of two arguments."""
    return of_one_type(operands, RoundedOnce(name, elementary.binary), (ROUNDING_CHOICE,))


def of_integer(name: str, operands: tuple[str, str] = ("lhs", "rhs")) -> Declaration:
    """Declare an elementary function of a float and a signed integer of any width."""
    number, integer = operands
    return {
        "operands": {number: d.FLOAT_LIKE, integer: d.INTEGER_LIKE},
        "results": {"result": d.FLOAT_LIKE},
        "properties": (FASTMATH_PROPERTY,),
        "traits": (d.Trait.ELEMENTWISE, d.Trait.SAME_OPERANDS_AND_RESULT_SHAPE),
        "type_rules": (
            same_shape(number, integer),
            *elementwise("result"),
            d.same_type(number, "result"),
        ),
        "evaluate": Elementwise(RoundedOnce(name, elementary.of_integer)),
        "choices": (ROUNDING_CHOICE,),
    }


# --- float unit -------------------------------------------------------------------------------------------------------
#
# The operations of a float unit that MLIR has no op for, under the names of RISC-V's instructions.
#
# Their rounding mode is any but the stochastic one. Where the type of a result is left out, it is that of the last
# operand: of the addend of a multiply-add.

_SHAPES = (d.Trait.ELEMENTWISE, d.Trait.SAME_OPERANDS_AND_RESULT_SHAPE)


def _declaration(
    operands: Sequence[str],
    build: Build,
    rules: tuple[d.TypeRule, ...] = (),
    accepts: Any = d.FLOAT_LIKE,
    result: Any = d.FLOAT_LIKE,
    choices: tuple[d.Property, ...] = (ROUNDING_CHOICE,),
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


def _arithmetic(name: str) -> Declaration:
    def build(op: Operation, settings: Settings) -> Kernel:
        sources = tuple(format_of(operand) for operand in op.operands)
        return float_unit.arithmetic(name, sources, format_of(op.results[0]), rounding_of(op), settings.profile)

    operands = "abc" if name.endswith(("madd", "msub")) else "ab"
    return _declaration(operands, build, (d.inferred_type("result", operands[-1], lambda type_: type_),))


def _to_integral(says_inexact: bool) -> Declaration:
    def build(op: Operation, settings: Settings) -> Kernel:
        return float_unit.to_integral(format_of(op.results[0]), rounding_of(op), says_inexact, settings.profile)

    same = d.derived_type("result", "x", lambda type_: type_, "the result has the type of the operand")
    return _declaration("x", build, (same,))


def _convert(op: Operation, settings: Settings) -> Kernel:
    formats = format_of(op.operands[0]), format_of(op.results[0])
    return casts.convert(*formats, rounding_of(op), 0, settings.profile)


def _to_integer(signed: bool) -> Declaration:
    def build(op: Operation, settings: Settings) -> Kernel:
        width = settings.width(element_of(op.results[0]))
        return casts.to_integer(format_of(op.operands[0]), width, signed, settings.profile, rounding_of(op))

    return _declaration("x", build, result=d.INTEGER_LIKE)


def _from_integer(signed: bool) -> Declaration:
    def build(op: Operation, settings: Settings) -> Kernel:
        width = settings.width(element_of(op.operands[0]))
        fmt = format_of(op.results[0])
        return casts.from_integer(width, signed, fmt, settings.profile, rounding=rounding_of(op))

    return _declaration("x", build, accepts=d.INTEGER_LIKE)


def _compare(op: Operation, settings: Settings) -> Kernel:
    return float_unit.compare_signalling(enum_of(op, "predicate") or 0, format_of(op.operands[0]), settings.profile)


def _classify(op: Operation, settings: Settings) -> Kernel:
    return float_unit.classify(format_of(op.operands[0]))


_PREDICATE = d.Property("predicate", CMPF_PREDICATE)
_BOOLEAN = d.derived_type("result", "a", bool_like, "the result is i1 for each element")
_SAME = d.TypeRule(
    "the operands have one type", lambda types, properties: None, lambda types, properties: types["a"] == types["b"]
)
_CLASS = d.derived_type(
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
    "fcmps": _declaration("ab", _compare, (_SAME, _BOOLEAN), result=d.BOOL_LIKE, choices=())
    | {"properties": (_PREDICATE,)},
    "fclass": _declaration("x", _classify, (_CLASS,), result=d.INTEGER_LIKE, choices=()),
}
"""Their declarations, by name."""


# --- fixed point ------------------------------------------------------------------------------------------------------
#
# Arithmetic of numbers in fixed point, and their conversions from and to floats. The type of the result has the modes
# that round it and bring it into its range.

FIXED_ARITHMETIC: Mapping[str, str] = MappingProxyType(
    {"fixed_add": "add", "fixed_sub": "subtract", "fixed_mul": "multiply"}
)
"""The arithmetic, with the operation of `halfulp.semantics.fixed_point` that each one rounds."""

_FIXED_LIKE = d.TypeConstraint(
    'fixed-point-like, such as "ac_fixed<16, 8>"', lambda type_: isinstance(ty.element_type(type_), ty.FixedType)
)
_FIXED_OR_FLOAT = d.TypeConstraint(
    "fixed-point-like or floating-point-like",
    lambda type_: isinstance(ty.element_type(type_), ty.FixedType | ty.FloatType),
)


def fixed_of(value: Any) -> fixed_point.FixedFormat:
    """Return the format of an operand or result in fixed point."""
    element = narrowed(element_of(value), ty.FixedType)
    return element.format


def _fixed_arithmetic(operation: str) -> Declaration:
    def build(op: Operation, settings: Settings) -> Kernel:
        one, other = (fixed_of(operand) for operand in op.operands)
        return fixed_point.arithmetic(operation, (one, other), fixed_of(op.results[0]))

    inferred = d.inferred_type("result", "b", lambda type_: type_)
    return _declaration("ab", build, (inferred,), accepts=_FIXED_LIKE, result=_FIXED_LIKE, choices=())


def _fixed_convert(op: Operation, settings: Settings) -> Kernel:
    if isinstance(element_of(op.results[0]), ty.FloatType):
        return fixed_point.to_float(
            fixed_of(op.operands[0]), format_of(op.results[0]), rounding_of(op), settings.profile
        )
    if isinstance(element_of(op.operands[0]), ty.FloatType):
        return fixed_point.from_float(format_of(op.operands[0]), fixed_of(op.results[0]), settings.profile)
    return fixed_point.convert(fixed_of(op.operands[0]), fixed_of(op.results[0]))


def _verify_fixed_convert(op: Operation) -> str | None:
    source, target = element_of(op.operands[0]), element_of(op.results[0])
    if not isinstance(source, ty.FixedType) and not isinstance(target, ty.FixedType):
        return f"converts from or to fixed point, but '{source}' and '{target}' are floats; fcvt converts these"
    if isinstance(target, ty.FixedType) and "roundingmode" in op.properties:
        return f"rounds as the type of its result says, {target.format.rounding}: write another mode there"
    return None


_FIXED: Mapping[str, Declaration] = {
    **{name: _fixed_arithmetic(operation) for name, operation in FIXED_ARITHMETIC.items()},
    "fixed_convert": _declaration("x", _fixed_convert, accepts=_FIXED_OR_FLOAT, result=_FIXED_OR_FLOAT)
    | {"verify": _verify_fixed_convert},
}

# --- functions --------------------------------------------------------------------------------------------------------

_UNARY = (
    "bessel_i1e", "cospi", "digamma", "erfinv", "exp10", "gelu", "gelu_tanh", "lgamma", "logit", "mish", "reciprocal",
    "sigmoid", "silu", "sinpi", "softplus", "tgamma",
)  # fmt: skip

_functions = d.Dialect("")
for _name in _UNARY:
    _functions.op(_name, **unary(_name, "x"))
for _name, _operands in {"hypot": ("x", "y"), "polygamma": ("n", "x"), "zeta": ("x", "q")}.items():
    _functions.op(_name, **binary(_name, _operands))
_functions.op("pown", **of_integer("powf", ("x", "n")))
_functions.op("rootn", **of_integer("rootn", ("x", "n")))

_float_unit = d.Dialect("")
for _name, _fields in DECLARATIONS.items():
    _float_unit.op(_name, **_fields)

_in_fixed_point = d.Dialect("")
for _name, _fields in _FIXED.items():
    _in_fixed_point.op(_name, **_fields)

ELEMENTARY: Mapping[str, d.OpDefinition] = MappingProxyType(_functions.ops)
"""The declarations of elementary functions, by name."""
IN_FIXED_POINT: Mapping[str, d.OpDefinition] = MappingProxyType(_in_fixed_point.ops)
"""The declarations of operations in fixed point, by name."""
FUNCTIONS: Mapping[str, d.OpDefinition] = MappingProxyType({**ELEMENTARY, **_float_unit.ops, **IN_FIXED_POINT})
"""All declarations, by name."""
