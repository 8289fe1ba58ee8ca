"""The kernels of the llvm dialect's elementwise ops: those of arith and math, as LLVM's language reference says.

An op or a flag that no kernel covers is `Unsupported`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from halfulp.fp_formats.policy import Rounding
from halfulp.interp.dialects.arith.ops import FASTMATH as ARITH_FASTMATH
from halfulp.interp.dialects.elementwise import element_of, enum_of, format_of
from halfulp.interp.dialects.llvm import enums
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.evaluators import Elementwise
from halfulp.interp.run.settings import Settings
from halfulp.semantics import casts, elementary, float_bits, floats, integer, integer_functions, integral
from halfulp.semantics.kernel import Kernel

Build = Callable[[Operation, Settings], Kernel]
_NEAREST = Rounding.TO_NEAREST_EVEN
_OF_ARITH: Mapping[int, int] = {
    bit: ARITH_FASTMATH.cases[name] for name, bit in enums.FASTMATH.cases.items() if bit and not bit & (bit - 1)
}


def fastmath_of(op: Operation) -> int:
    """Return the fast-math flags of an op with the numbers of arith, which the kernels take."""
    value = enum_of(op, "fastmathFlags") or 0
    return sum(flag for bit, flag in _OF_ARITH.items() if value & bit)


def _flags(op: Operation, settings: Settings) -> dict[str, bool]:
    """Return the flags that make poison as keyword arguments of a kernel; none if the profile ignores them."""
    if not settings.profile.keeps_integer_flags:
        return {}
    overflow = enum_of(op, "overflowFlags") or 0
    present = {
        "nsw": bool(overflow & 1),
        "nuw": bool(overflow & 2),
        "exact": "isExact" in op.properties,
        "nneg": "nonNeg" in op.properties,
    }
    return {name: True for name, flag in present.items() if flag}


def _width(value: object, settings: Settings) -> int:
    return settings.width(element_of(value))


def _refuse(op: Operation, what: str) -> Unsupported:
    return Unsupported(f"{op.name} {what} has no evaluation", location=op.location, op=op.name)


def _of_integers(factory: Callable[..., Kernel]) -> Build:
    def build(op: Operation, settings: Settings) -> Kernel:
        if "isDisjoint" in op.properties:
            raise _refuse(op, "with the flag 'disjoint'")
        return factory(_width(op.results[0], settings), **_flags(op, settings))

    return build


def _of_floats(name: str, zeros_open: bool = False) -> Build:
    return lambda op, settings: floats.binary(
        name, format_of(op.results[0]), _NEAREST, fastmath_of(op), settings.profile, zeros_open
    )


def _elementary(name: str) -> Build:
    return lambda op, settings: elementary.unary(
        name, format_of(op.results[0]), _NEAREST, fastmath_of(op), settings.profile
    )


def _elementary_of_two(name: str) -> Build:
    return lambda op, settings: elementary.binary(
        name, format_of(op.results[0]), _NEAREST, fastmath_of(op), settings.profile
    )


def _integral(name: str) -> Build:
    return lambda op, settings: integral.to_integral(name, format_of(op.results[0]), fastmath_of(op), settings.profile)


def _negate(op: Operation, settings: Settings) -> Kernel:
    return floats.unary("negate", format_of(op.results[0]), fastmath_of(op), settings.profile)


def _fma(op: Operation, settings: Settings) -> Kernel:
    return floats.fma(format_of(op.results[0]), _NEAREST, fastmath_of(op), settings.profile)


def _absolute(op: Operation, settings: Settings) -> Kernel:
    return float_bits.absolute(format_of(op.results[0]), fastmath_of(op))


def _copysign(op: Operation, settings: Settings) -> Kernel:
    return float_bits.copysign(format_of(op.results[0]), fastmath_of(op))


def _compare_integers(op: Operation, settings: Settings) -> Kernel:
    if not isinstance(element_of(op.operands[0]), ty.IntegerType):
        raise _refuse(op, "of pointers")
    predicate = enum_of(op, "predicate")
    assert predicate is not None
    return integer.cmpi(_width(op.operands[0], settings), predicate)


def _compare_floats(op: Operation, settings: Settings) -> Kernel:
    predicate = enum_of(op, "predicate")
    assert predicate is not None
    return floats.compare(predicate, format_of(op.operands[0]), fastmath_of(op), settings.profile)


def _between_integers(factory: Callable[..., Kernel]) -> Build:
    def build(op: Operation, settings: Settings) -> Kernel:
        return factory(_width(op.operands[0], settings), _width(op.results[0], settings), **_flags(op, settings))

    return build


def _convert(op: Operation, settings: Settings) -> Kernel:
    return casts.convert(
        format_of(op.operands[0]), format_of(op.results[0]), _NEAREST, fastmath_of(op), settings.profile
    )


def _from_integer(signed: bool) -> Build:
    def build(op: Operation, settings: Settings) -> Kernel:
        width = _width(op.operands[0], settings)
        return casts.from_integer(width, signed, format_of(op.results[0]), settings.profile, **_flags(op, settings))

    return build


def _to_integer(signed: bool) -> Build:
    return lambda op, settings: casts.to_integer(
        format_of(op.operands[0]), _width(op.results[0], settings), signed, settings.profile
    )


def _bitcast(op: Operation, settings: Settings) -> Kernel:
    given, made = op.operands[0].type, op.results[0].type
    kinds = (ty.IntegerType, ty.FloatType)
    numbers = all(isinstance(ty.element_type(type_), kinds) for type_ in (given, made))
    if not numbers or ty.shape_of(given) != ty.shape_of(made):
        raise _refuse(op, f"from '{given}' to '{made}'")
    return casts.bitcast()


_BUILDS: Mapping[str, Build] = {
    "add": _of_integers(integer.addi),
    "sub": _of_integers(integer.subi),
    "mul": _of_integers(integer.muli),
    "shl": _of_integers(integer.shli),
    "udiv": _of_integers(integer.divui),
    "sdiv": _of_integers(integer.divsi),
    "lshr": _of_integers(integer.shrui),
    "ashr": _of_integers(integer.shrsi),
    "urem": _of_integers(integer.remui),
    "and": _of_integers(integer.andi),
    "or": _of_integers(integer.ori),
    "xor": _of_integers(integer.xori),
    "fadd": _of_floats("add"),
    "fsub": _of_floats("subtract"),
    "fmul": _of_floats("multiply"),
    "fdiv": _of_floats("divide"),
    "frem": _of_floats("remainder"),
    "fneg": _negate,
    "icmp": _compare_integers,
    "fcmp": _compare_floats,
    "bitcast": _bitcast,
    "sext": _between_integers(integer.extsi),
    "zext": _between_integers(integer.extui),
    "trunc": _between_integers(integer.trunci),
    "sitofp": _from_integer(signed=True),
    "uitofp": _from_integer(signed=False),
    "fptosi": _to_integer(signed=True),
    "fptoui": _to_integer(signed=False),
    "fpext": _convert,
    "fptrunc": _convert,
    "intr.ctpop": _of_integers(integer_functions.ctpop),
    "intr.smax": _of_integers(integer.maxsi),
    "intr.smin": _of_integers(integer.minsi),
    "intr.umax": _of_integers(integer.maxui),
    "intr.umin": _of_integers(integer.minui),
    "intr.maximum": _of_floats("maximum"),
    "intr.minimum": _of_floats("minimum"),
    "intr.maxnum": _of_floats("maximum_number", zeros_open=True),
    "intr.minnum": _of_floats("minimum_number", zeros_open=True),
    "intr.fma": _fma,
    "intr.fabs": _absolute,
    "intr.copysign": _copysign,
    **{f"intr.{name}": _integral(name) for name in integral.DIRECTIONS},
    # In the default environment both round to nearest even.
    **{f"intr.{name}": _integral("roundeven") for name in ("rint", "nearbyint")},
    **{
        f"intr.{name}": _elementary(name)
        for name in (
            "exp", "exp2", "log", "log10", "log2", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
            "tanh",
        )
    },
    "intr.pow": _elementary_of_two("powf"),
    "intr.atan2": _elementary_of_two("atan2"),
}  # fmt: skip


def evaluator(mnemonic: str) -> Elementwise | None:
    """Return the evaluator of an elementwise op; None if no kernel covers it."""
    build = _BUILDS.get(mnemonic)
    return None if build is None else Elementwise(build)
