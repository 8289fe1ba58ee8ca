"""The math dialect: the 46 ops of MLIR 22 (reference: the math dialect's document, MathOps.td).

Its document states no accuracy. Here each function is the exact real function, rounded once; what it gives for zeros,
infinities and NaNs are rows of `halfulp.fp_formats.reals`, from IEEE 754-2019 (9.2.1) and C23 (Annex F).
"""

from __future__ import annotations

from collections.abc import Callable

from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.declare import declarations as d
from halfulp.interp.dialects.arith.ops import NEW_ROUNDING_MODE
from halfulp.interp.dialects.elementwise import bool_result, fastmath_of, format_of, of_width, rounding_of
from halfulp.interp.dialects.math.functions import (
    FASTMATH_PROPERTY,
    ROUNDING_CHOICE,
    Build,
    binary,
    of_integer,
    of_one_type,
    unary,
)
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.settings import Settings
from halfulp.semantics import elementary, float_unit, floats, integer_functions
from halfulp.semantics.kernel import Kernel

math = d.Dialect("math")

_FLAGS = "(`fastmath` `` $fastmath^)? attr-dict"
_UNARY = f"$operand {_FLAGS} `:` type($result)"
_BINARY = f"$lhs `,` $rhs {_FLAGS} `:` type($result)"

# --- functions that round once ----------------------------------------------------------------------------------------

_ROUNDED_ONCE = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1",
    "log", "log10", "log1p", "log2", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip

for _name in _ROUNDED_ONCE:
    math.op(_name, _UNARY, **unary(_name))

for _name in ("atan2", "powf"):
    math.op(_name, _BINARY, **binary(_name))

math.op("fpowi", f"$lhs `,` $rhs {_FLAGS} `:` type($lhs) `,` type($rhs)", **of_integer("powf"))


def _fma(op: Operation, settings: Settings) -> Kernel:
    return floats.fma(format_of(op.results[0]), rounding_of(op), fastmath_of(op), settings.profile)


math.op(
    "fma",
    f"$a `,` $b `,` $c ($roundingmode^)? {_FLAGS} `:` type($result)",
    **of_one_type("abc", _fma) | {"properties": (FASTMATH_PROPERTY, NEW_ROUNDING_MODE)},
)


def _sincos(op: Operation, settings: Settings) -> Kernel:
    return elementary.sincos(format_of(op.results[0]), rounding_of(op), fastmath_of(op), settings.profile)


math.op(
    "sincos",
    f"$operand {_FLAGS} `:` type($operand)",
    operands={"operand": d.FLOAT_LIKE},
    results={"sin": d.FLOAT_LIKE, "cos": d.FLOAT_LIKE},
    properties=(FASTMATH_PROPERTY,),
    traits=(d.Trait.ELEMENTWISE,),
    type_rules=(d.same_type("operand", "sin", "cos"),),
    evaluate=Elementwise(_sincos),
    named_results=("sin", "cos"),
    choices=(ROUNDING_CHOICE,),
)

# --- functions with exact results -------------------------------------------------------------------------------------


def _integral(name: str) -> Build:
    return lambda op, settings: integer_functions.to_integral(
        name, format_of(op.results[0]), fastmath_of(op), settings.profile
    )


for _name in integer_functions.DIRECTIONS:
    math.op(_name, _UNARY, **of_one_type(("operand",), _integral(_name)))


def _of_bits(kernel: Callable[[FloatFormat, int], Kernel]) -> Build:
    return lambda op, settings: kernel(format_of(op.operands[0]), fastmath_of(op))


math.op("absf", _UNARY, **of_one_type(("operand",), _of_bits(float_unit.absolute)))
math.op("copysign", _BINARY, **of_one_type(("lhs", "rhs"), _of_bits(float_unit.copysign)))


def _clampf(op: Operation, settings: Settings) -> Kernel:
    return floats.clamp(format_of(op.results[0]), fastmath_of(op), settings.profile)


# The document of MLIR 22 swaps the two bounds: maxf(minf(value, min), max). The names and newer MLIR say what is meant.
math.op(
    "clampf",
    f"$value `to` ` ` `[` $min `,` $max `]` {_FLAGS} `:` type($result)",
    **of_one_type(("value", "min", "max"), _clampf),
)


def _classifying(name: str) -> Elementwise:
    return Elementwise(lambda op, settings: float_unit.class_test(name, format_of(op.operands[0]), fastmath_of(op)))


# The custom form of these four has a place for fast-math flags in newer MLIR. In MLIR 22 they stand in its dictionary.
for _name in ("isfinite", "isinf", "isnan", "isnormal"):
    math.op(
        _name,
        "$operand newer(`fastmath` `` $fastmath) attr-dict `:` type($operand)",
        operands={"operand": d.FLOAT_LIKE},
        results={"result": d.BOOL_LIKE},
        properties=(FASTMATH_PROPERTY,),
        traits=(d.Trait.ELEMENTWISE,),
        type_rules=(bool_result("result", "operand"),),
        evaluate=_classifying(_name),
    )

# --- integers ---------------------------------------------------------------------------------------------------------


for _name, _kernel in (
    ("absi", integer_functions.absi),
    ("ctlz", integer_functions.ctlz),
    ("ctpop", integer_functions.ctpop),
    ("cttz", integer_functions.cttz),
):
    math.op(
        _name,
        "$operand attr-dict `:` type($result)",
        operands={"operand": d.INTEGER_LIKE},
        results={"result": d.INTEGER_LIKE},
        traits=(d.Trait.ELEMENTWISE, d.Trait.SAME_OPERANDS_AND_RESULT_TYPE),
        evaluate=of_width(_kernel),
    )

math.op(
    "ipowi",
    "$lhs `,` $rhs attr-dict `:` type($result)",
    operands={"lhs": d.INTEGER_LIKE, "rhs": d.INTEGER_LIKE},
    results={"result": d.INTEGER_LIKE},
    traits=(d.Trait.ELEMENTWISE, d.Trait.SAME_OPERANDS_AND_RESULT_TYPE),
    evaluate=of_width(integer_functions.ipowi),
)
