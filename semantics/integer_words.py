"""Integer ops on machine words (`halfulp.fp_formats.paths.words`): the third implementation of the kernels in
`integer`.

Operands for which an op has a fault are refused: the scalar implementation says which fault it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from halfulp.fp_formats.paths.words import Implementation, Word
from halfulp.semantics.integer_kernels import Reading

RELATIONS: dict[str, Callable[[Word, Word, bool], Word]] = {
    "eq": lambda a, b, signed: a.equals(b),
    "ne": lambda a, b, signed: a.differs(b),
    "lt": lambda a, b, signed: a.less(b, signed),
    "le": lambda a, b, signed: a.at_most(b, signed),
    "gt": lambda a, b, signed: b.less(a, signed),
    "ge": lambda a, b, signed: b.at_most(a, signed),
}
"""Comparisons by their names in Python's `operator`."""


def wrapping(compute: Callable[[Word, Word], Word], readings: Iterable[Reading]) -> Implementation:
    """Return a sum, difference or product, which must not overflow in these readings."""
    readings = tuple(readings)

    def implementation(a: Word, b: Word) -> Word:
        result, double = compute(a, b), 2 * a.width
        for reading in readings:
            exact = compute(a.resized(double, reading.signed), b.resized(double, reading.signed))
            exact.differs(result.resized(double, reading.signed)).refuse()
        return result

    return implementation


def carrying(a: Word, b: Word) -> tuple[Word, Word]:
    """Return a sum and its carry."""
    total = a + b
    return total, total.less(a, signed=False)


def borrowing(a: Word, b: Word) -> tuple[Word, Word]:
    """Return a difference and its borrow."""
    return a - b, a.less(b, signed=False)


def product_halves(signed: bool) -> Implementation:
    """Return the low and the high half of a product."""

    def implementation(a: Word, b: Word) -> tuple[Word, Word]:
        width = a.width
        product = a.resized(2 * width, signed) * b.resized(2 * width, signed)
        return product.resized(width), product.shift_right(width).resized(width)

    return implementation


def division(reading: Reading, toward: str, exact: bool) -> Implementation:
    """Return a quotient rounded toward "zero", "down" or "up"; ``exact``: it must be an integer."""
    signed = reading.signed

    def implementation(a: Word, b: Word) -> Word:
        safe, overflow = _divisor(reading, a, b)
        overflow.refuse()
        quotient = a.divide(safe, signed)
        inexact = (quotient * safe).differs(a)
        if exact:
            inexact.refuse()
        if toward == "zero":
            return quotient
        negative = (a ^ safe).less(0, signed)
        if toward == "down":
            return quotient - (inexact & negative).resized(a.width)
        return quotient + (inexact & ~negative).resized(a.width)

    return implementation


def remainder(reading: Reading) -> Implementation:
    """Return the remainder of a division rounded toward zero."""

    def implementation(a: Word, b: Word) -> Word:
        safe, _ = _divisor(reading, a, b)
        return a.remainder(safe, reading.signed)

    return implementation


def _divisor(reading: Reading, a: Word, b: Word) -> tuple[Word, Word]:
    """Return a divisor that a processor can divide by, and where the quotient overflows; refuse division by zero."""
    zero = b.equals(0)
    zero.refuse()
    if not reading.signed:
        return zero.choose(b.of(1), b), b.of(0).differs(0)
    overflow = a.equals(reading.sign) & b.equals(-1)
    return (zero | overflow).choose(b.of(1), b), overflow


def shift_left(readings: Iterable[Reading]) -> Implementation:
    """Return the bits moved up, which must give ``a * 2**b`` in these readings."""
    readings = tuple(readings)

    def implementation(a: Word, b: Word) -> Word:
        amount = _amount(a, b)
        result = a << amount
        for reading in readings:
            result.shift_right(amount, reading.signed).differs(a).refuse()
        return result

    return implementation


def shift_right(reading: Reading, exact: bool) -> Implementation:
    """Return the bits moved down; ``exact``: those that are lost must be 0."""

    def implementation(a: Word, b: Word) -> Word:
        amount = _amount(a, b)
        result = a.shift_right(amount, reading.signed)
        if exact:
            (result << amount).differs(a).refuse()
        return result

    return implementation


def _amount(a: Word, b: Word) -> Word:
    """Return a shift amount that a processor can shift by; refuse the others."""
    far = ~b.less(a.width, signed=False)
    far.refuse()
    return far.choose(b.of(0), b)


def extremum(reading: Reading, wins: str) -> Implementation:
    """Return the first operand if it ``wins``, a name of `RELATIONS`, over the second one, else that."""
    return lambda a, b: RELATIONS[wins](a, b, reading.signed).choose(a, b)


def relation(reading: Reading, holds: str) -> Implementation:
    """Return 1 where a relation of `RELATIONS` holds."""
    return lambda a, b: RELATIONS[holds](a, b, reading.signed)


def cast(reading: Reading, width: int, ranges: Iterable[tuple[Reading, int, int]]) -> Implementation:
    """Return the number of a reading in another width; it must lie in all ranges (reading, least, largest)."""
    ranges = tuple(ranges)

    def implementation(a: Word) -> Word:
        for read, low, high in ranges:
            (a.less(low, read.signed) | a.of(high).less(a, read.signed)).refuse()
        return a.resized(width, reading.signed)

    return implementation
