"""Values of one type carried by values of another, as terms: what `signatures` does with values."""

from __future__ import annotations

from halfulp.conformance.proving.rows import NotProvable
from halfulp.conformance.proving.solving import z3
from halfulp.conformance.proving.terms import Elements, Loose, Scalar, some
from halfulp.conformance.whole_programs.signatures import Carried
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import width_of


def _widths(carried: Carried) -> tuple[int, int]:
    """Return the bits of an element of both types: equal, or the second half of the first.

    Raises NotProvable for types with another relation.
    """
    source, target = (width_of(ty.element_type(type_)) for type_ in (carried.source, carried.target))
    if source not in (target, 2 * target):
        raise NotProvable(f"there are no terms for {carried}")
    return source, target


def to_target(carried: Carried, elements: Elements) -> Elements:
    """Return the elements of the second version: the same, or both halves of each, the low half first."""
    source, target = _widths(carried)
    if source == target:
        return elements
    return tuple(
        Scalar(bits, element.poison, Loose(value=element.loose.any))
        for element in elements
        for bits in (z3.Extract(target - 1, 0, element.bits), z3.Extract(source - 1, target, element.bits))
    )


def to_source(carried: Carried, elements: Elements) -> Elements:
    """Return the elements of the first version: poison if one half is."""
    source, target = _widths(carried)
    if source == target:
        return elements
    return tuple(
        Scalar(
            z3.Concat(high.bits, low.bits),
            some(low.poison, high.poison),
            Loose(value=some(low.loose.any, high.loose.any)),
        )
        for low, high in zip(elements[::2], elements[1::2], strict=True)
    )
