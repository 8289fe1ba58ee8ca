"""The rows of the tables of ops: from the elements of the operands to those of the results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from halfulp.conformance.proving.solving import Term
from halfulp.conformance.proving.terms import Condition, Elements, Loose, Scalar, some
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.dialect_attributes import EnumAttr
from halfulp.interp.ir.operations import Operation
from halfulp.interp.run.settings import Settings

MAX_WIDTH = 256
"""Most bits of an integer: the circuit of a multiplication grows with the square of its width."""


class NotProvable(Exception):
    """The error of a function that has no terms."""


@dataclass(frozen=True, slots=True)
class Instance:
    """An op with its types and properties."""

    op: Operation
    settings: Settings

    def flag(self, bit: int) -> bool:
        """Tell whether an overflow flag is set: 1 is nsw, 2 is nuw. The profile may ignore flags."""
        return bool(self.enum("overflowFlags") & bit) and self.settings.profile.keeps_integer_flags

    def unit(self, name: str) -> bool:
        """Tell whether a flag is present: ``isExact`` or ``nonNeg``. The profile may ignore flags."""
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
        raise NotProvable(f"there are no terms for the type '{element}'")
    bits = settings.width(element)
    if bits > MAX_WIDTH:
        raise NotProvable(f"there are no terms for the type '{element}'")
    return bits


def bits_of_term(type_: ty.Type, settings: Settings) -> int:
    """Return the size of the bit-vector of an element. Raises NotProvable for a type without terms."""
    return max(1, width(type_, settings))  # the theory has no bit-vectors of size 0


@dataclass(frozen=True, slots=True)
class Effect:
    """The result of an op on one element: the bits of each result.

    ``poison``: the condition of poison that the operands do not bring. ``undefined``: the condition of undefined
    behaviour. ``loose``: by default a result is unspecified where an operand is.
    """

    results: tuple[Term, ...]
    poison: Condition = False
    undefined: Condition = False
    loose: Loose | None = field(default=None)


Row = Callable[..., Effect]
"""From an instance and the elements of the operands to the effect. It leaves out the poison of the operands."""


def elementwise(row: Row, instance: Instance, operands: tuple[Scalar, ...]) -> tuple[Elements, Effect]:
    """Return the elements of the results, one of each, for one element of each operand."""
    effect = row(instance, *operands)
    poison = some(effect.poison, *(operand.poison for operand in operands))
    loose = effect.loose or Loose(value=some(*(operand.loose.any for operand in operands)))
    return tuple(Scalar(bits, poison, loose) for bits in effect.results), effect
