"""The elementwise operations of values: NumPy's name of each, the op of halfulp that computes it, and its kernel.

What NumPy has beyond these is refused with the way on: `REFUSED_FLOATS`, `REFUSED_INTEGERS`, `REFUSED` and
`FORMULAS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.paths import cpu
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.interp.values.coerce import codes_of
from halfulp.interp.values.elements import Elements
from halfulp.interp.values.elementwise import applied, beside
from halfulp.semantics import elementary, float_bits, floats, integer, integral
from halfulp.semantics.kernel import Kernel
from halfulp.semantics.profile import Profile


class FloatOp(NamedTuple):
    """An operation on floats: ``op`` names it in origins of poison, ``kernel`` makes its kernel."""

    op: str
    kernel: Callable[[FloatFormat, Profile], Kernel]
    gives_i1: bool = False


class IntegerOp(NamedTuple):
    """An operation on signless integers and index: ``kernel`` makes its kernel from the width."""

    op: str
    kernel: Callable[[int], Kernel]
    gives_i1: bool = False


def _binary(op: str, name: str, zeros_open: bool = False) -> FloatOp:
    return FloatOp(op, lambda fmt, profile: floats.binary(name, fmt, Rounding.TO_NEAREST_EVEN, 0, profile, zeros_open))


def _compare(predicate: int) -> FloatOp:
    return FloatOp("arith.cmpf", lambda fmt, profile: floats.compare(predicate, fmt, 0, profile), True)


def _class(name: str) -> FloatOp:
    return FloatOp(f"math.{name}", lambda fmt, profile: float_bits.classify(name, fmt), True)


def _rounded(row: str, op: str = "") -> FloatOp:
    """Return a function of one argument; ``row``: its name in `halfulp.fp_formats.reals`."""
    return FloatOp(
        op or f"math.{row}",
        lambda fmt, profile: elementary.unary(row, fmt, Rounding.TO_NEAREST_EVEN, 0, profile),
    )


def _rounded_of_two(row: str, op: str) -> FloatOp:
    return FloatOp(op, lambda fmt, profile: elementary.binary(row, fmt, Rounding.TO_NEAREST_EVEN, 0, profile))


def _integral(name: str) -> FloatOp:
    return FloatOp(f"math.{name}", lambda fmt, profile: integral.to_integral(name, fmt, 0, profile))


def _square(fmt: FloatFormat, profile: Profile) -> Kernel:
    product = floats.binary("multiply", fmt, Rounding.TO_NEAREST_EVEN, 0, profile)
    return Kernel(lambda a: product.scalar(a, a), lambda a: product.array(a, a), open=product.open, opens=product.opens)


_SAME_NAME = (
    "cbrt", "cos", "cosh", "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan",
    "tanh",
)  # fmt: skip
_INVERSES = ("cos", "cosh", "sin", "sinh", "tan", "tanh")

_ROUNDED_ONCE: Mapping[str, FloatOp] = {
    **{name: _rounded(name) for name in _SAME_NAME},
    **{f"arc{name}": _rounded(f"a{name}") for name in _INVERSES},
    "reciprocal": _rounded("reciprocal", "reciprocal"),
    "arctan2": _rounded_of_two("atan2", "math.atan2"),
    "hypot": _rounded_of_two("hypot", "hypot"),
    "power": _rounded_of_two("powf", "math.powf"),
    "float_power": _rounded_of_two("powf", "math.powf"),
}
"""The elementary functions: the exact result, rounded once."""

FLOAT_OPS: Mapping[str, FloatOp] = {
    "add": _binary("arith.addf", "add"),
    "subtract": _binary("arith.subf", "subtract"),
    "multiply": _binary("arith.mulf", "multiply"),
    "divide": _binary("arith.divf", "divide"),
    "fmod": _binary("arith.remf", "remainder"),
    "maximum": _binary("arith.maximumf", "maximum"),
    "minimum": _binary("arith.minimumf", "minimum"),
    "fmax": _binary("arith.maxnumf", "maximum_number", zeros_open=True),
    "fmin": _binary("arith.minnumf", "minimum_number", zeros_open=True),
    "negative": FloatOp("arith.negf", lambda fmt, profile: floats.unary("negate", fmt, 0, profile)),
    "absolute": FloatOp("math.absf", lambda fmt, profile: float_bits.absolute(fmt)),
    "fabs": FloatOp("math.absf", lambda fmt, profile: float_bits.absolute(fmt)),
    # The numbers of MLIR's predicates: oeq, une, olt, ole, ogt, oge.
    "equal": _compare(1),
    "not_equal": _compare(13),
    "less": _compare(4),
    "less_equal": _compare(5),
    "greater": _compare(2),
    "greater_equal": _compare(3),
    "isnan": _class("isnan"),
    "isinf": _class("isinf"),
    "isfinite": _class("isfinite"),
    "signbit": _class("signbit"),
    "square": FloatOp("arith.mulf", _square),
    "copysign": FloatOp("math.copysign", lambda fmt, profile: float_bits.copysign(fmt)),
    "ceil": _integral("ceil"),
    "floor": _integral("floor"),
    "rint": _integral("roundeven"),
    "trunc": _integral("trunc"),
    **_ROUNDED_ONCE,
}

INTEGER_OPS: Mapping[str, IntegerOp] = {
    "add": IntegerOp("arith.addi", integer.addi),
    "subtract": IntegerOp("arith.subi", integer.subi),
    "multiply": IntegerOp("arith.muli", integer.muli),
    "bitwise_and": IntegerOp("arith.andi", integer.andi),
    "bitwise_or": IntegerOp("arith.ori", integer.ori),
    "bitwise_xor": IntegerOp("arith.xori", integer.xori),
    "left_shift": IntegerOp("arith.shli", integer.shli),
    "equal": IntegerOp("arith.cmpi", lambda width: integer.cmpi(width, 0), True),
    "not_equal": IntegerOp("arith.cmpi", lambda width: integer.cmpi(width, 1), True),
}

LOGICAL_OPS: Mapping[str, str] = {
    "logical_and": "bitwise_and",
    "logical_or": "bitwise_or",
    "logical_xor": "bitwise_xor",
    "logical_not": "invert",
}
"""Operations on i1 alone, and the integer operation that computes them."""

UNARY_INTEGERS: Mapping[str, tuple[str, int, bool]] = {
    "negative": ("subtract", 0, True),
    "invert": ("bitwise_xor", -1, False),
}
"""Integer operations on one operand: the operation on two, the other operand, and whether that comes first."""

_SIGNED_OR_NOT = "a signless integer does not say whether it is signed; choose: "


def _either(*ops: str) -> str:
    return _SIGNED_OR_NOT + " or ".join(f'hu.eval("{op}", a, b)' for op in ops)


def _predicates(signed: str, unsigned: str) -> str:
    return f'{_SIGNED_OR_NOT}hu.eval("arith.cmpi", a, b, predicate="{signed}") or predicate="{unsigned}"'


def _if_signed(op: str, operands: str) -> str:
    return f'{_SIGNED_OR_NOT}hu.eval("{op}", {operands}) if it is'


REFUSED_INTEGERS: Mapping[str, str] = {
    "divide": _either("arith.divsi", "arith.divui"),
    "floor_divide": _either("arith.floordivsi", "arith.divui"),
    "remainder": _either("arith.remsi", "arith.remui"),
    "fmod": _either("arith.remsi", "arith.remui"),
    "divmod": _either("arith.divsi", "arith.divui") + "; the remainder is arith.remsi or arith.remui",
    "right_shift": _either("arith.shrsi", "arith.shrui"),
    "maximum": _either("arith.maxsi", "arith.maxui"),
    "minimum": _either("arith.minsi", "arith.minui"),
    "fmax": _either("arith.maxsi", "arith.maxui"),
    "fmin": _either("arith.minsi", "arith.minui"),
    "less": _predicates("slt", "ult"),
    "less_equal": _predicates("sle", "ule"),
    "greater": _predicates("sgt", "ugt"),
    "greater_equal": _predicates("sge", "uge"),
    "absolute": _if_signed("math.absi", "a"),
    "fabs": _if_signed("math.absi", "a"),
    "power": _if_signed("math.ipowi", "a, b"),
    "float_power": _if_signed("math.ipowi", "a, b"),
    "square": "write a * a",
    **dict.fromkeys(("ceil", "floor", "rint", "trunc", "round", "around", "fix"), "an integer is one already"),
    "isnan": "an integer is never NaN",
    "isinf": "an integer is never infinite",
    "isfinite": "an integer is always finite",
    "signbit": 'a signless integer does not say whether it is signed; write hu.eval("arith.shrui", a, …) for its bits',
    **dict.fromkeys(LOGICAL_OPS, "compare first, for example np.not_equal(a, 0)"),
}

_WITHOUT_BITS = 'floats have no bitwise operations; for their bits: hu.eval("arith.bitcast", a, to="i…")'
REFUSED_FLOATS: Mapping[str, str] = {
    "remainder": "np.fmod(a, b) is the exact remainder with the sign of a (arith.remf); there is no other one",
    "floor_divide": "write a / b, which rounds once, or np.fmod(a, b) for the exact remainder",
    "divmod": "write a / b, which rounds once, and np.fmod(a, b) for the exact remainder",
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift"), _WITHOUT_BITS),
    "right_shift": _WITHOUT_BITS,
    **dict.fromkeys(LOGICAL_OPS, "compare first, for example np.not_equal(a, 0)"),
}

REFUSED: Mapping[str, str] = {
    "spacing": "write hu.ulp(a)",
    "nextafter": "write hu.next_up(a) or hu.next_down(a)",
    "clip": "write np.clip(a, low, high)",
    "bitwise_count": 'write hu.eval("math.ctpop", a) for the ones of an integer',
    "frexp": "a.bits has the fields of each element; hu.float_format(a.element_type) says where they are",
    "heaviside": "write np.where(a < 0, 0.0, 1.0)",
    "ldexp": "write a * 2.0**n, which rounds once",
    "modf": "write np.trunc(a) and a - np.trunc(a), which are both exact",
    "sign": "write np.where(a == 0, a, np.copysign(1.0, a))",
    "vecdot": "write hu.dot(a, b), or hu.sum(a * b, axis=-1)",
    "matvec": "write hu.matmul(a, b)",
    "vecmat": "write hu.matmul(a, b)",
}

FORMULAS: Mapping[str, str] = {
    **dict.fromkeys(("deg2rad", "radians"), "x * pi / 180"),
    **dict.fromkeys(("rad2deg", "degrees"), "x * 180 / pi"),
    "logaddexp": "log(exp(x) + exp(y))",
    "logaddexp2": "x + log2(1 + exp2(y - x))",
    "sinc": "sinpi(x) / (pi * x)",
}
"""Functions that no op computes, and the formula that `halfulp.round` computes for them with one rounding."""


@cpu.forgotten
@lru_cache(maxsize=4096)
def element_op(name: str, element: ty.Type, profile: Profile) -> tuple[str, Kernel, bool]:
    """Return the op, the kernel, and whether the result is i1, of an operation with NumPy's name on an element type.

    Raises TypeMismatch for what halfulp does not compute, naming what to write instead.
    """
    match element:
        case ty.FloatType() if name in FLOAT_OPS:
            found = FLOAT_OPS[name]
            return found.op, found.kernel(element.format, profile), found.gives_i1
        case ty.IntegerType(signedness="signless") | ty.IndexType() if name in INTEGER_OPS:
            of_integers = INTEGER_OPS[name]
            return of_integers.op, of_integers.kernel(ty.width_of(element)), of_integers.gives_i1
    raise TypeMismatch(f"np.{name} does not compute values of type '{element}'", hint=way_on(name, element))


def way_on(name: str, element: ty.Type) -> str:
    """Return what to write instead of an operation that is refused."""
    if name in FORMULAS and isinstance(element, ty.FloatType):
        formula = FORMULAS[name]
        at_zero = "; at 0 the formula is 0 / 0" if name == "sinc" else ""
        return f'write hu.round("{formula}", {"v, w" if "y" in formula else "v"}), which rounds once{at_zero}'
    if name in REFUSED:
        return REFUSED[name]
    match element:
        case ty.FloatType() if name in REFUSED_FLOATS:
            return REFUSED_FLOATS[name]
        case ty.IntegerType(signedness="signless") | ty.IndexType() if name in REFUSED_INTEGERS:
            return REFUSED_INTEGERS[name]
        case ty.IntegerType(signedness="signless") | ty.IndexType() if name in _ROUNDED_ONCE:
            return 'convert first: hu.eval("arith.sitofp", a, to="f32") if it is signed, arith.uitofp if it is not'
        case ty.IntegerType(signedness="signed" | "unsigned"):
            return (
                f"ops of arith take signless integers, as in MLIR; write hu.Value.from_bits(v.bits, 'i{element.width}')"
            )
        case ty.UniformQuantizedType() | ty.AnyQuantizedType():
            return "convert to real numbers first: hu.dequantize(v)"
    return "halfulp has no such operation; v.numpy() or v.masked() leaves halfulp, and NumPy rounds in its own way"


def operation(name: str, operands: Sequence[Any], profile: Profile) -> Elements:
    """Return the result of an elementwise operation with NumPy's name; one operand at least is a value.

    Raises TypeMismatch for operands of different types, and for what halfulp does not compute; ValueError for shapes
    that do not broadcast.
    """
    values = beside(f"np.{name}", operands)
    element = values[0].element_type
    if element == ty.I1:
        name = LOGICAL_OPS.get(name, name)
    if name in UNARY_INTEGERS and isinstance(element, ty.IntegerType | ty.IndexType):
        name, constant, first = UNARY_INTEGERS[name]
        code = codes_of(constant & (1 << ty.width_of(element)) - 1, element, "the constant")
        other = type(values[0])(element, code)
        values = (other, *values) if first else (*values, other)
    op, kernel, gives_i1 = element_op(name, element, profile)
    return applied(op, kernel, values, ty.I1 if gives_i1 else element)
