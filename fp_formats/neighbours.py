"""The values of a format around a number, their distance and their midpoint."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.steps import code_at, floor_exponent


class Neighbours(NamedTuple):
    """The codes of the finite values strictly below and above a number; ``exact``: the number is a value itself."""

    below: int | None
    above: int | None
    exact: bool


def _floor(fmt: FloatFormat, number: Fraction) -> tuple[int, bool]:
    """Return the magnitude of the largest value that is not above a positive number, for a format without a largest
    exponent, and whether it equals the number. Return -1 below the smallest value of a format without zero.
    """
    numerator, denominator = number.numerator, number.denominator
    exponent = floor_exponent(number)
    if exponent < fmt.emin and not fmt.zero:
        return -1, False
    exponent = max(exponent, fmt.emin)
    unit = exponent - fmt.mantissa_bits
    kept, rest = divmod(numerator << max(-unit, 0), denominator << max(unit, 0))
    # As in scalar.round_pack: the integer bit of a normal value moves into the exponent field by itself.
    magnitude = (exponent - fmt.emin << fmt.mantissa_bits) + kept
    return magnitude if fmt.zero else magnitude - (1 << fmt.mantissa_bits), not rest


def neighbours(fmt: FloatFormat, number: Fraction | None) -> Neighbours:
    """Find the values of a format strictly below and above a number."""
    if number is None:
        return Neighbours(None, None, False)
    lowest, highest = -fmt.max_magnitude if fmt.signed else 0, fmt.max_magnitude
    floor, exact = _floor(fmt, abs(number)) if number else (0 if fmt.zero else -1, fmt.zero)
    inner, outer = floor - exact, floor + 1
    below, above = (-outer, -inner) if number < 0 else (inner, outer)
    if not fmt.signed and number < 0:
        below, above, exact = -1, 0, False
    return Neighbours(
        code_at(fmt, min(below, highest)) if below >= lowest else None,
        code_at(fmt, max(above, lowest)) if above <= highest else None,
        exact and lowest <= (floor if number >= 0 else -floor) <= highest,
    )


def midpoint_of(fmt: FloatFormat, place: Neighbours, ulp: Fraction) -> Fraction | None:
    """Return the midpoint of the neighbours; beyond the largest value, between that and the next value that the format
    would have.
    """
    if place.below is None and not fmt.signed:
        return None
    inner = place.below if place.below is not None else place.above
    assert inner is not None
    value = scalar.value(fmt, inner)
    assert value is not None
    return value + ulp / 2 if place.below is not None else value - ulp / 2
