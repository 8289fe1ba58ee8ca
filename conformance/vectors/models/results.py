"""Exact results of a case: their range, and operands that give a wanted one."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from halfulp.conformance.vectors.constructing import operands_for
from halfulp.conformance.vectors.intermediate import (
    ExactResult,
    Integer,
    ModelCase,
    exact,
    quantum,
)
from halfulp.conformance.vectors.models.model import Operands
from halfulp.conformance.vectors.philox import Dice
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat


def float_target(case: ModelCase) -> FloatFormat:
    """Return the format that is rounded to."""
    assert isinstance(case.target, FloatFormat)
    return case.target


def nonzero_result(case: ModelCase, row: Operands) -> ExactResult | None:
    """Return the exact result of operands; None where it is zero or not a number."""
    result = exact(case, row)
    return result if result is not None and result.significand else None


def exponent_range(case: ModelCase) -> tuple[int, int]:
    """Return the exponents that an exact result can have."""
    low, high = case.extent
    return floor_log2(low), floor_log2(high)


def largest_result(case: ModelCase, sign: int) -> Fraction:
    """Return the largest magnitude of an exact result of that sign."""
    source = case.sources[0]
    if isinstance(source, Integer):
        return Fraction(-source.lowest if sign else source.highest)
    return case.extent[1]


def reaches(case: ModelCase, low: Fraction, high: Fraction) -> bool:
    """Tell whether a conversion has an operand of a magnitude from ``low`` up to, not including, ``high``."""
    source = case.sources[0]
    if isinstance(source, Integer):
        return -(-low.numerator // low.denominator) < high
    above = scalar.value(source, scalar.from_fraction(source, low, scalar.RU).code)
    return above is not None and low <= above < high


def floor_log2(number: Fraction) -> int:
    """Return the exponent of the largest power of 2 that is not above a positive number."""
    guess = number.numerator.bit_length() - number.denominator.bit_length()
    return guess if number >= Fraction(2) ** guess else guess - 1


def _some_lead(case: ModelCase, dice: Dice, bits: int) -> int:
    """Return the exponent of a result in its range: often a moderate one, else near the lower end, where results are
    subnormal. For an integer to be rounded, ``bits`` bits must be below the last kept one.
    """
    low, high = exponent_range(case)
    if isinstance(case.target, Integer):
        return dice.between(0, max(case.target.width - 2, 1))
    target, source = case.target, case.sources[0]
    if case.kind == "convert" and bits > case.float_source.precision - target.precision and target.zero:
        lowest = target.emin - target.mantissa_bits
        return lowest + dice.between(0, case.float_source.mantissa_bits - bits)
    if isinstance(source, Integer):
        top = min(source.highest.bit_length() - 1, target.emax)
        return dice.between(min(target.mantissa_bits + bits, top), top)
    lowest = max(low, target.emin - target.mantissa_bits)
    top = min(high, target.emax - 1)
    turn = dice.below(4)
    if turn == 0:
        return dice.between(lowest, max(min(target.emin, top), lowest))
    if turn == 1:
        return dice.between(lowest, top)
    return dice.between(max(lowest, -8), min(top, 8))


def with_tail(case: ModelCase, dice: Dice, sign: int, kept_bit: int | None, tail: int, bits: int) -> Iterator[Operands]:
    """Yield operands of a result with that last kept bit (None: any) and the ``bits`` bits of ``tail`` below it."""
    lead = _some_lead(case, dice, bits)
    lowest = quantum(case.target, lead)
    kept = _random_kept(case, dice, lead, lowest)
    if kept_bit is not None:
        kept = kept & ~1 | kept_bit
    yield from operands_for(case, dice, sign, kept << bits | tail, lowest - bits)


def _random_kept(case: ModelCase, dice: Dice, lead: int, lowest: int) -> int:
    length = max(lead - lowest, 0)
    kept = 1 << length | dice.bits(length)
    # Exact products and quotients with a tail need a short significand.
    return kept if dice.below(2) else kept >> (cut := dice.below(length + 1)) << cut


def with_lead(case: ModelCase, dice: Dice, sign: int, lead: int) -> Iterator[Operands]:
    """Yield operands of a random result of that sign and leading exponent."""
    length = dice.below(fmt.precision if isinstance(fmt := case.sources[0], FloatFormat) else max(lead + 1, 1))
    yield from operands_for(case, dice, sign, 1 << length | dice.bits(length), lead - length)
