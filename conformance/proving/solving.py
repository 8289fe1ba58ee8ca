"""The solver, z3: an optional package, which is loaded at its first use. Its time and memory are limited."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from halfulp.fp_formats.aliases import how_to_install
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.errors import InputError
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.settings import Settings

MAX_MEGABYTES = 1024
"""The memory, in megabytes, at which z3 gives up a question."""

Term = Any
"""A term of z3: z3 has no types that mypy could check. A condition is a term of sort Bool, or True or False."""


@cache
def _module() -> Any:
    try:
        return import_module("z3")
    except ModuleNotFoundError:
        raise InputError("a proof needs z3, which is not installed", hint=how_to_install("prove")) from None


class _Z3:
    """The names of the package z3."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_module(), name)


z3: Any = _Z3()


def installed() -> bool:
    """Tell whether z3 is installed."""
    return find_spec("z3") is not None


def require() -> None:
    """Raise InputError if z3 is not installed."""
    _module()


class Answer(Enum):
    """The answer of the solver to a question."""

    NO = "no"  # nothing satisfies the condition
    YES = "yes"
    UNKNOWN = "unknown"


@dataclass
class Deadline:
    """The end of the time that one function may take."""

    seconds: float
    start: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """The seconds that are left; 0 if none are."""
        return max(0.0, self.start + self.seconds - time.monotonic())


def satisfiable(condition: Term | bool, deadline: Deadline) -> tuple[Answer, Mapping[str, int]]:
    """Ask whether any values of the variables satisfy a condition. The answer YES holds such values, by the names of
    the variables; variables that do not matter are absent.

    The answer is UNKNOWN for every failure of the solver, also if it runs out of time or memory.
    """
    if isinstance(condition, bool):
        return Answer.YES if condition else Answer.NO, {}
    milliseconds = int(1000 * deadline.left)
    if not milliseconds:
        return Answer.UNKNOWN, {}
    try:
        context = z3.Context()  # what a question leaves in memory goes with its context
        solver = z3.Tactic("qffpbv", ctx=context).solver()
        solver.set("timeout", milliseconds)
        solver.set("max_memory", MAX_MEGABYTES)
        solver.add(condition.translate(context))
        found = solver.check()
        if found == z3.unsat:
            return Answer.NO, {}
        if found == z3.sat:
            model = solver.model()
            return Answer.YES, {
                name.name(): model[name].as_long() for name in model.decls() if z3.is_bv_value(model[name])
            }
    except z3.Z3Exception:
        pass
    return Answer.UNKNOWN, {}


# --- terms ------------------------------------------------------------------------------------------------------------
#
# Values as terms: one element is its bits, its poison, and the part of it that the language leaves unspecified.

Condition = Term | bool
"""A term of sort Bool, or a Python bool where it is known: most poison is known to be absent."""


def negation(condition: Condition) -> Condition:
    """Return the condition that another condition is false."""
    return not condition if isinstance(condition, bool) else z3.Not(condition)


def all_of(*conditions: Condition) -> Condition:
    """Return the condition that all are true."""
    unknown = [condition for condition in conditions if condition is not True]
    if any(condition is False for condition in unknown):
        return False
    if len(unknown) < 2:
        return unknown[0] if unknown else True
    return z3.And(*unknown)


def some(*conditions: Condition) -> Condition:
    """Return the condition that at least one is true."""
    unknown = [condition for condition in conditions if condition is not False]
    if any(condition is True for condition in unknown):
        return True
    if len(unknown) < 2:
        return unknown[0] if unknown else False
    return z3.Or(*unknown)


def choice(condition: Condition, yes: Term, no: Term) -> Term:
    """Return the bit-vector ``yes`` if a condition is true, else ``no``."""
    if isinstance(condition, bool):
        return yes if condition else no
    return yes if yes is no else z3.If(condition, yes, no)


def either(condition: Condition, yes: Condition, no: Condition) -> Condition:
    """Return a condition that is equal to ``yes`` if ``condition`` is true, else to ``no``."""
    if yes is no:
        return yes
    return some(all_of(condition, yes), all_of(negation(condition), no))


def number(value: int, width: int) -> Term:
    """Return a bit-vector of a known value, modulo 2**width."""
    return z3.BitVecVal(value, width)


def bit(condition: Condition) -> Term:
    """Return an i1: 1 if the condition is true."""
    return choice(condition, number(1, 1), number(0, 1))


def is_true(bits: Term) -> Condition:
    """Return the condition that an i1 is 1; a Python bool if the bits are known."""
    known = constant(bits)
    return bits == number(1, 1) if known is None else known == 1


def constant(bits: Term) -> int | None:
    """Return the unsigned value of a bit-vector that is known without the variables; None if it depends on a variable,
    or if that is not known.
    """
    simple = z3.simplify(bits)
    return int(simple.as_long()) if z3.is_bv_value(simple) else None


@dataclass(frozen=True, slots=True)
class Loose:
    """The conditions under which the language leaves an element unspecified; poison is separate.

    ``nan``: the element is a NaN, and every NaN is right. ``sign``: it is a zero, and either zero is right. ``value``:
    other values may be right, too; it is not known which.
    """

    nan: Condition = False
    sign: Condition = False
    value: Condition = False

    @property
    def any(self) -> Condition:
        """The condition that the element is unspecified in some way."""
        return some(self.nan, self.sign, self.value)


EXACT = Loose()


@dataclass(frozen=True, slots=True)
class Scalar:
    """One element. If it is poison, its bits have no meaning."""

    bits: Term
    poison: Condition = False
    loose: Loose = EXACT

    @property
    def width(self) -> int:
        """The number of bits."""
        return int(self.bits.size())


Elements = tuple[Scalar, ...]
"""A value: its elements in row-major order. A scalar has one."""


def merged(condition: Condition, yes: Scalar, no: Scalar) -> Scalar:
    """Return the element ``yes`` if a condition is true, else ``no``."""
    if yes is no:
        return yes
    one, other = yes.loose, no.loose
    loose = Loose(
        either(condition, one.nan, other.nan),
        either(condition, one.sign, other.sign),
        either(condition, one.value, other.value),
    )
    return Scalar(choice(condition, yes.bits, no.bits), either(condition, yes.poison, no.poison), loose)


def merged_values(condition: Condition, yes: Sequence[Elements], no: Sequence[Elements]) -> list[Elements]:
    """Return the values ``yes`` if a condition is true, else ``no``, element by element."""
    return [
        tuple(merged(condition, a, b) for a, b in zip(one, other, strict=True))
        for one, other in zip(yes, no, strict=True)
    ]


# --- rows -------------------------------------------------------------------------------------------------------------
#
# The rows of the tables of ops: from the elements of the operands to those of the results.

MAX_WIDTH = 256
"""Most bits of an integer: the circuit of a multiplication grows with the square of its width."""


class NotProvable(Exception):
    """The error for a function that has no terms."""


@dataclass(frozen=True, slots=True)
class Instance:
    """An op with its types and properties."""

    op: Operation
    settings: Settings

    def flag(self, bit: int) -> bool:
        """Tell whether an overflow flag is set and the profile does not ignore it. ``bit``: 1 for nsw, 2 for nuw."""
        return bool(self.enum("overflowFlags") & bit) and self.settings.profile.keeps_integer_flags

    def has_flag(self, name: str) -> bool:
        """Tell whether the op has a flag, ``isExact`` or ``nonNeg``, and the profile does not ignore it."""
        return name in self.op.properties and self.settings.profile.keeps_integer_flags

    def enum(self, name: str) -> int:
        """Return the number of an enum property; 0 if it is absent."""
        attribute = self.op.properties.get(name)
        return attribute.value if isinstance(attribute, EnumAttr | at.IntegerAttr) else 0

    @property
    def width(self) -> int:
        """The bits of an element of the first result."""
        return width(self.op.results[0].type, self.settings)


def width(type_: ty.Type, settings: Settings) -> int:
    """Return the bits of an element: 0 for i0, whose term is one bit that is always 0.

    Raises NotProvable for a type without terms.
    """
    element = ty.element_type(type_)
    if isinstance(element, ty.FloatType):
        return element.format.bits
    if not isinstance(element, ty.IntegerType | ty.IndexType):
        raise NotProvable(f"the proof does not cover the type '{element}'")
    bits = settings.width(element)
    if bits > MAX_WIDTH:
        raise NotProvable(f"the proof does not cover the type '{element}'")
    return bits


def bits_of_term(type_: ty.Type, settings: Settings) -> int:
    """Return the number of bits of the bit-vector of an element. Raises NotProvable for a type without terms."""
    return max(1, width(type_, settings))  # the theory has no bit-vectors of size 0


@dataclass(frozen=True, slots=True)
class Effect:
    """The result of an op on one element: the bits of each result.

    ``poison``: the condition under which the op itself creates poison. ``undefined``: the condition of undefined
    behaviour. ``loose``: by default a result is unspecified if an operand is.
    """

    results: tuple[Term, ...]
    poison: Condition = False
    undefined: Condition = False
    loose: Loose | None = field(default=None)


Row = Callable[..., Effect]
"""A function from an instance and the elements of the operands to the effect of the op. It leaves out the poison of the
operands.
"""


def elementwise(row: Row, instance: Instance, operands: tuple[Scalar, ...]) -> tuple[Elements, Effect]:
    """Return the elements of the results, one of each, for one element of each operand."""
    effect = row(instance, *operands)
    poison = some(effect.poison, *(operand.poison for operand in operands))
    loose = effect.loose or Loose(value=some(*(operand.loose.any for operand in operands)))
    return tuple(Scalar(bits, poison, loose) for bits in effect.results), effect
