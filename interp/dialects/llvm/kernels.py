"""The kernels of the llvm dialect's elementwise ops: those of arith and math, as LLVM's language reference says.

An op or a flag that no kernel covers is `Unsupported`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from halfulp.fp_formats.policy import Rounding
from halfulp.interp.dialects.arith.ops import FASTMATH as ARITH_FASTMATH
from halfulp.interp.dialects.arith.ops import SELECTION
from halfulp.interp.dialects.elementwise import bool_like, element_of, enum_of, format_of, integer_flags
from halfulp.interp.dialects.llvm import forms
from halfulp.interp.dialects.llvm import memory as mem
from halfulp.interp.dialects.llvm.types import PointerType
from halfulp.interp.dialects.vector.moves import bitcast as regrouped_bits
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.ir.operations import Operation, SSAValue
from halfulp.interp.run.elementwise import PointwiseStep
from halfulp.interp.run.evaluators import Elementwise, OnValues, PerOp
from halfulp.interp.run.frames import Function, Run, lift, lower
from halfulp.interp.run.settings import Settings
from halfulp.interp.values.value import Value
from halfulp.semantics import casts, elementary, float_unit, floats, integer, integer_functions
from halfulp.semantics.kernel import Kernel

Build = Callable[[Operation, Settings], Kernel]
_NEAREST = Rounding.TO_NEAREST_EVEN
_OF_ARITH: Mapping[int, int] = {
    bit: ARITH_FASTMATH.cases[name] for name, bit in forms.FASTMATH.cases.items() if bit and not bit & (bit - 1)
}


def fastmath_of(op: Operation) -> int:
    """Return the fast-math flags of an op with the numbers of arith, which the kernels take."""
    value = enum_of(op, "fastmathFlags") or 0
    return sum(flag for bit, flag in _OF_ARITH.items() if value & bit)


_MODES: Mapping[int, Rounding] = {
    0: Rounding.TOWARD_ZERO,
    1: _NEAREST,
    2: Rounding.UPWARD,
    3: Rounding.DOWNWARD,
    4: Rounding.TO_NEAREST_AWAY,
    7: _NEAREST,  # of the environment, which no op that halfulp runs changes
}
"""The rounding modes by the numbers of `forms.ROUNDING`."""


def _mode_of(op: Operation) -> Rounding:
    """Return the rounding mode of an op: of most, the one of the default environment."""
    number = enum_of(op, "roundingmode")
    return _NEAREST if number is None else _MODES[number]


def _width(value: object, settings: Settings) -> int:
    return settings.width(element_of(value))


def _refuse(op: Operation, what: str) -> Unsupported:
    return Unsupported(f"halfulp does not run {op.name} {what}", location=op.location, op=op.name)


def _of_integers(factory: Callable[..., Kernel]) -> Build:
    def build(op: Operation, settings: Settings) -> Kernel:
        return factory(_width(op.results[0], settings), **integer_flags(op, settings))

    return build


def _of_width(factory: Callable[..., Kernel], *given: Any) -> Build:
    return lambda op, settings: factory(_width(op.results[0], settings), *given)


def _or(op: Operation, settings: Settings) -> Kernel:
    disjoint = "isDisjoint" in op.properties and settings.profile.keeps_integer_flags
    return (integer_functions.disjoint_or if disjoint else integer.ori)(_width(op.results[0], settings))


def _is_set(op: Operation, name: str) -> bool:
    attribute = op.properties[name]
    return isinstance(attribute, at.IntegerAttr) and bool(attribute.value)


def _absolute_integer(op: Operation, settings: Settings) -> Kernel:
    return integer_functions.absolute(_width(op.results[0], settings), _is_set(op, "is_int_min_poison"))


def _zeros(leading: bool) -> Build:
    return lambda op, settings: integer_functions.counted_zeros(
        _width(op.results[0], settings), leading, _is_set(op, "is_zero_poison")
    )


def _swapped(op: Operation, settings: Settings) -> Kernel:
    width = _width(op.results[0], settings)
    if width % 16:
        raise _refuse(op, f"on {width} bits")
    return integer_functions.swapped_bytes(width)


def _of_format(factory: Callable[..., Kernel], *first: Any, rounds: bool = False, profile: bool = True) -> Build:
    """Return the builder of kernels on floats. ``first``: the arguments of the factory before the format. ``rounds``,
    ``profile``: whether the factory takes the rounding mode and the profile.
    """

    def build(op: Operation, settings: Settings) -> Kernel:
        mode, last = (_mode_of(op),) if rounds else (), (settings.profile,) if profile else ()
        return factory(*first, format_of(op.results[0]), *mode, fastmath_of(op), *last)

    return build


def _of_floats(name: str, zeros_open: bool = False) -> Build:
    return _of_format(partial(floats.binary, zeros_open=zeros_open), name, rounds=True)


def _compare_integers(op: Operation, settings: Settings) -> Kernel:
    predicate = enum_of(op, "predicate")
    assert predicate is not None
    return integer.cmpi(_width(op.operands[0], settings), predicate)


def _compare_floats(op: Operation, settings: Settings) -> Kernel:
    predicate = enum_of(op, "predicate")
    assert predicate is not None
    return floats.compare(predicate, format_of(op.operands[0]), fastmath_of(op), settings.profile)


def _between_integers(factory: Callable[..., Kernel]) -> Build:
    def build(op: Operation, settings: Settings) -> Kernel:
        return factory(_width(op.operands[0], settings), _width(op.results[0], settings), **integer_flags(op, settings))

    return build


def _convert(op: Operation, settings: Settings) -> Kernel:
    return casts.convert(
        format_of(op.operands[0]), format_of(op.results[0]), _mode_of(op), fastmath_of(op), settings.profile
    )


def _from_integer(signed: bool) -> Build:
    def build(op: Operation, settings: Settings) -> Kernel:
        width, flags = _width(op.operands[0], settings), integer_flags(op, settings)
        return casts.from_integer(
            width, signed, format_of(op.results[0]), settings.profile, rounding=_mode_of(op), **flags
        )

    return build


def _to_integer(signed: bool) -> Build:
    return lambda op, settings: casts.to_integer(
        format_of(op.operands[0]), _width(op.results[0], settings), signed, settings.profile
    )


_CLASS_MASKS = (1 << len(float_unit.CLASSES)) - 1


def _in_classes(op: Operation, settings: Settings) -> Kernel:
    mask = op.prop("bit", at.IntegerAttr)
    if mask.value & ~_CLASS_MASKS:
        raise _refuse(
            op, f"with the bits {mask.value:#x}, of which only the lowest {len(float_unit.CLASSES)} are defined"
        )
    if op.results[0].type != bool_like(op.operands[0].type):
        raise _refuse(op, f"from '{op.operands[0].type}' to '{op.results[0].type}'")
    return float_unit.in_classes(format_of(op.operands[0]), mask.value)


def _of_power(factory: Callable[..., Kernel], *first: Any) -> Build:
    """Return the builder of kernels on a float and an integer. ``first``: the factory's arguments before the format."""

    def build(op: Operation, settings: Settings) -> Kernel:
        power, given = (op.operands[place].type for place in (1, 0))
        if not isinstance(ty.element_type(power), ty.IntegerType) or ty.shape_of(power) not in ((), ty.shape_of(given)):
            raise _refuse(op, f"with a power of the type '{power}'")
        if op.results[0].type != given or not isinstance(ty.element_type(given), ty.FloatType):
            raise _refuse(op, f"from '{given}' to '{op.results[0].type}'")
        width = _width(op.operands[1], settings)
        return factory(*first, format_of(op.results[0]), width, _mode_of(op), fastmath_of(op), settings.profile)

    return build


def _to_rounded_integer(rounding: Rounding | None) -> Build:
    """Return the builder of conversions to a signed integer. ``rounding``: None for the mode of the op. LLVM leaves
    open what a number outside of the range gives: this counts as poison.
    """

    def build(op: Operation, settings: Settings) -> Kernel:
        given, made = op.operands[0].type, op.results[0].type
        if ty.shape_of(given) != ty.shape_of(made) or not (
            isinstance(ty.element_type(given), ty.FloatType) and isinstance(ty.element_type(made), ty.IntegerType)
        ):
            raise _refuse(op, f"from '{given}' to '{made}'")
        mode = _mode_of(op) if rounding is None else rounding
        return casts.to_integer(
            format_of(op.operands[0]), _width(op.results[0], settings), True, settings.profile, mode
        )

    return build


_DIRECTIONS = {mode: name for name, mode in integer_functions.DIRECTIONS.items()}


def _to_integral(op: Operation, settings: Settings) -> Kernel:
    """Return the kernel of an op that rounds to an integer in its mode."""
    return integer_functions.to_integral(
        _DIRECTIONS[_mode_of(op)], format_of(op.results[0]), fastmath_of(op), settings.profile
    )


def _bitcast(op: Operation, settings: Settings) -> Kernel:
    return casts.bitcast()


_FMA = _of_format(floats.fma, rounds=True)
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
    "srem": _of_width(integer_functions.remsi),
    "or": _or,
    "xor": _of_integers(integer.xori),
    "fadd": _of_floats("add"),
    "fsub": _of_floats("subtract"),
    "fmul": _of_floats("multiply"),
    "fdiv": _of_floats("divide"),
    "frem": _of_floats("remainder"),
    "fneg": _of_format(floats.unary, "negate"),
    "icmp": _compare_integers,
    "fcmp": _compare_floats,
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
    "intr.abs": _absolute_integer,
    "intr.ctlz": _zeros(leading=True),
    "intr.cttz": _zeros(leading=False),
    "intr.bswap": _swapped,
    "intr.bitreverse": _of_width(integer_functions.reversed_bits),
    "intr.fshl": _of_width(integer_functions.funnel_shift, True),
    "intr.fshr": _of_width(integer_functions.funnel_shift, False),
    **{
        f"intr.{sign}{name}.sat": _of_width(partial(integer_functions.saturating, name), sign == "s")
        for name in ("add", "sub")
        for sign in "su"
    },
    **{f"intr.{sign}shl.sat": _of_width(integer_functions.saturating_shift, sign == "s") for sign in "su"},
    "intr.smax": _of_integers(integer.maxsi),
    "intr.smin": _of_integers(integer.minsi),
    "intr.umax": _of_integers(integer.maxui),
    "intr.umin": _of_integers(integer.minui),
    "intr.maximum": _of_floats("maximum"),
    "intr.minimum": _of_floats("minimum"),
    "intr.maxnum": _of_floats("maximum_number", zeros_open=True),
    "intr.minnum": _of_floats("minimum_number", zeros_open=True),
    "intr.fma": _FMA,
    # Fused or not, as the target likes: here it is fused, and rounded once.
    "intr.fmuladd": _FMA,
    "intr.fabs": _of_format(float_unit.absolute, profile=False),
    "intr.copysign": _of_format(float_unit.copysign, profile=False),
    **{f"intr.{name}": _of_format(integer_functions.to_integral, name) for name in integer_functions.DIRECTIONS},
    **{f"intr.{name}": _to_integral for name in ("rint", "nearbyint")},
    **{
        f"intr.{name}": _of_format(elementary.unary, name, rounds=True)
        for name in (
            "exp", "exp2", "exp10", "log", "log10", "log2", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
            "cosh", "tanh",
        )
    },
    "intr.pow": _of_format(elementary.binary, "powf", rounds=True),
    "intr.atan2": _of_format(elementary.binary, "atan2", rounds=True),
    "intr.powi": _of_power(elementary.of_integer, "powf"),
    "intr.ldexp": _of_power(casts.ldexp),
    **{f"intr.{name}": _to_rounded_integer(None) for name in ("lrint", "llrint")},
    **{f"intr.{name}": _to_rounded_integer(Rounding.TO_NEAREST_AWAY) for name in ("lround", "llround")},
    "intr.is.fpclass": _in_classes,
}  # fmt: skip


def _step(
    op: Operation, kernel: Kernel, operands: Sequence[ty.Type], results: Sequence[ty.Type], settings: Settings
) -> PointwiseStep:
    """Return the step that runs a kernel on values of some types, which are not those of the op itself."""
    inner = Operation(op.name, op.definition, [SSAValue(type_) for type_ in operands], results, op.properties)
    return PointwiseStep(inner, Elementwise(lambda op, settings: kernel), kernel, settings, op)


def _in_struct(op: Operation, kernel: Kernel, results: tuple[ty.Type, ...], settings: Settings) -> Function:
    """Return the function that runs an op that gives a struct of the results of a kernel."""
    operands = [value.type for value in op.operands]
    step = _step(op, kernel, operands, results, settings)
    quick = not settings.marks_elements

    def run(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        if quick and all(slot.__class__ is int for slot in slots):
            found = kernel.scalar(*slots)
            if found.__class__ is tuple:
                return (found,)
        values = tuple([lift(slot, type_) for slot, type_ in zip(slots, operands, strict=True)])
        return (tuple(map(lower, step.run(run, values))),)

    return run


def checked(op: Operation, settings: Settings) -> Function:
    """Return the function that runs an op with a check for overflow. The result is a struct of the number
    and of an i1.
    """
    name = op.name.removeprefix("llvm.intr.").removesuffix(".with.overflow")
    operand = op.operands[0].type
    kernel = integer_functions.checked(name[1:], settings.width(ty.element_type(operand)), name[0] == "s")
    return _in_struct(op, kernel, (operand, bool_like(operand)), settings)


def sincos(op: Operation, settings: Settings) -> Function:
    """Return the function that runs sincos: a struct of the sine and the cosine."""
    operand = op.operands[0].type
    kernel = elementary.sincos(format_of(op.operands[0]), _NEAREST, fastmath_of(op), settings.profile)
    return _in_struct(op, kernel, (operand, operand), settings)


_NUMBERS = (ty.IntegerType, ty.FloatType)


def _of_pointers(op: Operation, settings: Settings) -> Function:
    if op.operands[0].type != op.results[0].type:
        raise _refuse(op, f"from '{op.operands[0].type}' to '{op.results[0].type}'")
    return lambda run, slots: slots


def _bits_unchanged(op: Operation) -> Elementwise | OnValues:
    """Return how a bitcast runs: element by element, or on all bits of a vector, beginning with the lowest bit of its
    first element.
    """
    given, made = op.operands[0].type, op.results[0].type
    if not all(isinstance(ty.element_type(type_), _NUMBERS) for type_ in (given, made)):
        return _KEPT
    return _BY_ELEMENT if ty.shape_of(given) == ty.shape_of(made) else _REGROUPED


def _flagged(op: Operation, settings: Settings) -> Function:
    raise _refuse(op, "with flags for fast math")


def _choose_whole(op: Operation, settings: Settings) -> Function:
    """Return the function that runs select between pointers or aggregates: a poison condition spoils the whole
    result.
    """
    type_ = op.results[0].type

    def choose(run: Run, slots: Sequence[Any]) -> tuple[Any, ...]:
        condition, yes, no = slots
        if isinstance(condition, Value) and condition.poison is not None:
            poison_id = int(condition.poison.max())
            return (mem.filled(type_, lambda leaf: mem.poison_of(leaf, poison_id, run)),)
        return (yes if (condition.bits.any() if isinstance(condition, Value) else condition) else no,)

    return choose


def _selection(op: Operation) -> OnValues:
    if fastmath_of(op):
        return _FLAGGED
    type_ = op.results[0].type
    return _WHOLE if isinstance(type_, PointerType) or mem.part_types(type_) is not None else SELECTION


_FLAGGED, _WHOLE = OnValues(_flagged, raw=True), OnValues(_choose_whole, raw=True, words=SELECTION.words)
SELECT = PerOp(_selection)

_KEPT, _BY_ELEMENT, _REGROUPED = OnValues(_of_pointers, raw=True), Elementwise(_bitcast), OnValues(regrouped_bits)
BITCAST = PerOp(_bits_unchanged)


CONSTRAINED = "intr.experimental.constrained."
"""The beginning of the mnemonics of ops with a rounding mode, and with a word about exceptions. Exceptions are flags,
which no op reads, so the word changes no result.
"""


def evaluator(mnemonic: str) -> Elementwise | None:
    """Return the evaluator of an elementwise op; None if no kernel covers it."""
    name = mnemonic.removeprefix(CONSTRAINED)
    if name != mnemonic:  # fcmps differs from fcmp in its exceptions alone
        mnemonic = next((each for each in (name, f"intr.{name}", name.removesuffix("s")) if each in _BUILDS), name)
    build = _BUILDS.get(mnemonic)
    return None if build is None else Elementwise(build, _MAY_BE_SCALAR.get(mnemonic, frozenset()))


_MAY_BE_SCALAR = {f"intr.{name}": frozenset({1}) for name in ("powi", "ldexp")}
"""Operands whose one number stands for all elements."""


# --- atomic ops -------------------------------------------------------------------------------------------------------

_ATOMIC: Mapping[str, Build] = {
    **{name: _BUILDS[name.strip("_")] for name in ("add", "sub", "_and", "_or", "_xor", "fadd", "fsub")},
    **{name: _BUILDS[f"intr.{name}"] for name in ("umax", "umin")},
    **{name: _BUILDS[f"intr.s{name}"] for name in ("max", "min")},
    **{name: _BUILDS[f"intr.{name[1:]}num"] for name in ("fmax", "fmin")},
    **{name: _BUILDS[f"intr.{name[1:]}"] for name in ("fmaximum", "fminimum")},
    "nand": _of_width(integer_functions.not_and),
    "uinc_wrap": _of_width(integer_functions.wrapped_increment),
    "udec_wrap": _of_width(integer_functions.wrapped_decrement),
    "usub_cond": _of_width(integer_functions.conditional_subtraction),
    "usub_sat": _BUILDS["intr.usub.sat"],
}
"""What atomicrmw computes from the number in memory and from its operand, except ``xchg``."""


def atomic_step(op: Operation, operation: str, settings: Settings) -> PointwiseStep | None:
    """Return the step of an atomicrmw that computes the new number from the old number and the operand; None for
    ``xchg``.
    """
    build, type_ = _ATOMIC.get(operation), op.results[0].type
    return None if build is None else _step(op, build(op, settings), (type_, type_), (type_,), settings)
