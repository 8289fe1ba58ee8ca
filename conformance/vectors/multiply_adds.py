"""Operands of a multiply-add whose exact result is a wanted one."""

from __future__ import annotations

from collections.abc import Iterator

from halfulp.conformance.vectors.intermediate import ModelCase, encoded
from halfulp.conformance.vectors.philox import Dice
from halfulp.fp_formats.formats import FloatFormat


def factor_range(fmt: FloatFormat, factor: int) -> tuple[int, int]:
    """Return the exponents e for which a format has ``factor * 2**e``, if it has that many significant bits."""
    lowest = fmt.emin - fmt.mantissa_bits if fmt.zero else fmt.emin - factor.bit_length() + 1
    return lowest, fmt.emax - factor.bit_length() + 1


def factors(case: ModelCase, dice: Dice, sign: int, x: int, y: int, place: int) -> tuple[int, int] | None:
    """Return codes of ``x * 2**k`` and ``y * 2**(place - k)``, whose product counts with that sign; None if there are
    none.
    """
    one, other = case.float_sources[:2]
    (low, high), (least, most) = factor_range(one, x), factor_range(other, y)
    low, high = max(low, place - most), min(high, place - least)
    if low > high:
        return None
    # Often in the middle, so that few operands are extreme.
    k = dice.between(low, high) if dice.below(4) == 0 else (low + high) // 2
    signs = sign ^ case.negates[0]
    first = dice.bits(1) if one.signed and other.signed else signs if one.signed else 0
    if first != signs and not other.signed:
        return None
    a, b = encoded(one, first, x, k), encoded(other, first ^ signs, y, place - k)
    return None if a is None or b is None else (a, b)


def row_with(
    case: ModelCase, dice: Dice, product: tuple[int, int, int, int], wanted: int, exponent: int
) -> tuple[int, ...] | None:
    """Return a row whose exact result is ``wanted * 2**exponent``, with this product: its sign, two factors and their
    exponent. None where a format lacks an operand.
    """
    sign, x, y, place = product
    addend = case.float_sources[2]
    made = x * y << max(place - exponent, 0)
    unit = min(place, exponent)
    rest = (wanted << exponent - unit) - (-1) ** sign * (made if place >= exponent else x * y)
    c = encoded(addend, int(rest < 0) ^ case.negates[1], abs(rest), unit)
    if c is None:
        return None
    pair = factors(case, dice, sign, x, y, place)
    return None if pair is None else (*pair, c)


def significand(dice: Dice, bits: int, short: bool = False) -> int:
    """Return a random odd number of that many bits; ``short``: of any number of bits up to that."""
    length = 1 + dice.below(bits) if short else bits
    return 1 << length - 1 | dice.bits(length) >> 1 | 1


def addends_and_factors(
    case: ModelCase, dice: Dice, sign: int, magnitude: int, exponent: int
) -> Iterator[tuple[int, ...]]:
    """Yield operands whose sum is (-1)**sign * magnitude * 2**exponent.

    Several ways: a product with the bits below those of the addend; one close to the sum, with an addend that corrects
    it; one with the low bits of the sum, so that it cancels or not; a product or an addend alone.
    """
    one, other, addend = case.float_sources
    wanted = (-1) ** sign * magnitude
    length, precision = magnitude.bit_length(), addend.precision
    yield from _alone(case, dice, sign, magnitude, exponent)
    if not magnitude:
        yield from _cancelling_all(case, dice)
        return
    # The product has what lies below the addend.
    for spare in (0, dice.below(precision), -1):
        cut = max(length - precision + spare, 0)
        upper = magnitude >> cut
        for step in (0, 1, dice.below(4) - 1):
            tail = magnitude - (upper + step << cut)
            if tail:
                for x, y in _splits(dice, abs(tail), one.precision, other.precision):
                    row = row_with(case, dice, (sign ^ (tail < 0), x, y, exponent), wanted, exponent)
                    if row is not None:
                        yield row
    # The product is close to the sum, in a unit in which it has all its bits.
    for short in (False, True):
        y = significand(dice, other.precision, short)
        moved = max(one.precision + y.bit_length() - length, 0)
        x = ((magnitude << moved) + y // 2) // y
        down = max(x.bit_length() - one.precision, 0)
        x >>= down
        if x:
            row = row_with(case, dice, (sign, x, y, exponent - moved + down), wanted, exponent)
            if row is not None:
                yield row
    # The product has the low bits of the sum, and any bits above them.
    for negative in (0, 1):
        y = significand(dice, other.precision, bool(dice.bits(1)))
        low = min(max(length - precision + dice.below(precision + 1), 1), one.precision)
        x = ((-1) ** negative * magnitude * pow(y, -1, 1 << low)) % (1 << low)
        x |= dice.bits(max(one.precision - low, 0)) << low if dice.bits(1) else 0
        if x:
            row = row_with(case, dice, (sign ^ negative, x, y, exponent), wanted, exponent)
            if row is not None:
                yield row


def _alone(case: ModelCase, dice: Dice, sign: int, magnitude: int, exponent: int) -> Iterator[tuple[int, ...]]:
    """Yield an addend beside a product of 0, and a product beside an addend of 0, if the formats have zeros."""
    one, other, addend = case.float_sources
    c = encoded(addend, sign ^ case.negates[1], magnitude, exponent)
    if c is not None and one.zero:
        yield 0, encoded(other, 0, 1, max(min(0, other.emax), other.emin)) or 0, c
    if magnitude and addend.zero:
        for x, y in _splits(dice, magnitude, one.precision, other.precision):
            pair = factors(case, dice, sign, x, y, exponent)
            if pair is not None:
                yield *pair, 0


def _cancelling_all(case: ModelCase, dice: Dice) -> Iterator[tuple[int, ...]]:
    one, other, _ = case.float_sources
    x, y = significand(dice, one.precision, True), significand(dice, other.precision, True)
    (low, high), (least, most) = factor_range(one, x), factor_range(other, y)
    row = row_with(case, dice, (dice.bits(1), x, y, dice.between(low + least, high + most)), 0, 0)
    if row is not None:
        yield row


def _splits(dice: Dice, number: int, first: int, second: int) -> Iterator[tuple[int, int]]:
    """Yield factors of a number, with at most so many bits. Its trailing zeros go to the first one."""
    zeros = (number & -number).bit_length() - 1
    odd = number >> zeros
    for divisor in (1, significand(dice, second, True), significand(dice, min(second, 4), True)):
        if not odd % divisor:
            x, y = odd // divisor, divisor
            for one, other in ((x, y), (y, x)):
                if one.bit_length() <= first and other.bit_length() <= second:
                    yield one << zeros, other
