"""The elementwise operations of values: NumPy's name of each, the op of halfulp that computes it, and its kernel.

What NumPy has beyond these is refused with the way on: `REFUSED_FLOATS`, `REFUSED_INTEGERS`, `NOT_YET`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.paths import cpu
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import TypeMismatch
from halfulp.semantics import float_bits, floats, integer
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
    "absolute": 'a signless integer does not say whether it is signed; write hu.eval("arith.maxsi", a, -a) if it is',
    "fabs": 'a signless integer does not say whether it is signed; write hu.eval("arith.maxsi", a, -a) if it is',
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
    "vecdot": "write hu.dot(a, b), or hu.sum(a * b, axis=-1)",
    "matvec": "write hu.matmul(a, b)",
    "vecmat": "write hu.matmul(a, b)",
}

_OF_MATH = """
    arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_count cbrt ceil copysign cos cosh deg2rad degrees exp
    exp2 expm1 fix float_power floor frexp heaviside hypot ldexp log log10 log1p log2 logaddexp logaddexp2 logn modf
    power rad2deg radians reciprocal rint round around sign sin sinc sinh sqrt square tan tanh trunc
"""
NOT_YET = frozenset(_OF_MATH.split())
"""NumPy's operations of the kind that MLIR's math dialect has, which halfulp does not have yet."""
_POWERS = frozenset({"power", "float_power", "square"})


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
    if name in _POWERS:
        return "write v * v for a square; halfulp does not have other powers yet"
    if name in NOT_YET:
        return (
            f"halfulp does not have {name} yet; "
            f'hu.convert(np.{name}(v.astype("f64").numpy()), "{element}") takes NumPy in f64 and rounds it again'
        )
    if name in REFUSED:
        return REFUSED[name]
    match element:
        case ty.FloatType() if name in REFUSED_FLOATS:
            return REFUSED_FLOATS[name]
        case ty.IntegerType(signedness="signless") | ty.IndexType() if name in REFUSED_INTEGERS:
            return REFUSED_INTEGERS[name]
        case ty.IntegerType(signedness="signed" | "unsigned"):
            return (
                f"ops of arith take signless integers, as in MLIR; write hu.Value.from_bits(v.bits, 'i{element.width}')"
            )
        case ty.UniformQuantizedType() | ty.AnyQuantizedType():
            return "convert to real numbers first: hu.dequantize(v)"
    return "halfulp has no such operation; v.numpy() or v.masked() leaves halfulp, and NumPy rounds in its own way"
