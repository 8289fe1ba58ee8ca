"""Values as terms: one element is its bits, its poison, and the part of it that the language leaves unspecified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halfulp.conformance.proving.solving import Term, z3

Condition = Term | bool
"""A term of sort Bool, or a Python bool where it is known: most poison is known to be absent."""


def negation(condition: Condition) -> Condition:
    """Return the condition that another is false."""
    return not condition if isinstance(condition, bool) else z3.Not(condition)


def every(*conditions: Condition) -> Condition:
    """Return the condition that all are true."""
    unknown = [condition for condition in conditions if condition is not True]
    if any(condition is False for condition in unknown):
        return False
    if len(unknown) < 2:
        return unknown[0] if unknown else True
    return z3.And(*unknown)


def some(*conditions: Condition) -> Condition:
    """Return the condition that one at least is true."""
    unknown = [condition for condition in conditions if condition is not False]
    if any(condition is True for condition in unknown):
        return True
    if len(unknown) < 2:
        return unknown[0] if unknown else False
    return z3.Or(*unknown)


def choice(condition: Condition, yes: Term, no: Term) -> Term:
    """Return one of two bit-vectors."""
    if isinstance(condition, bool):
        return yes if condition else no
    return yes if yes is no else z3.If(condition, yes, no)


def either(condition: Condition, yes: Condition, no: Condition) -> Condition:
    """Return one of two conditions."""
    if yes is no:
        return yes
    return some(every(condition, yes), every(negation(condition), no))


def number(value: int, width: int) -> Term:
    """Return a bit-vector of a known value, modulo 2**width."""
    return z3.BitVecVal(value, width)


def bit(condition: Condition) -> Term:
    """Return an i1: 1 where the condition is true."""
    return choice(condition, number(1, 1), number(0, 1))


def is_true(bits: Term) -> Condition:
    """Return the condition that an i1 is 1; a Python bool if the bits are known."""
    known = constant(bits)
    return bits == number(1, 1) if known is None else known == 1


def constant(bits: Term) -> int | None:
    """Return the unsigned value of a bit-vector that depends on no variable; None if it does, or seems to."""
    simple = z3.simplify(bits)
    return int(simple.as_long()) if z3.is_bv_value(simple) else None


@dataclass(frozen=True, slots=True)
class Loose:
    """The conditions under which the language leaves an element unspecified, beside its poison.

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
    """One element. Its bits mean nothing where it is poison."""

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
    """Return one of two elements."""
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
    """Return one of two lists of values."""
    return [
        tuple(merged(condition, a, b) for a, b in zip(one, other, strict=True))
        for one, other in zip(yes, no, strict=True)
    ]
