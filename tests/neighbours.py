"""Rounding to nearest even by looking at the two values of a format next to a number.

Independent of halfulp.fp_formats but for the rows of its table: exact fractions, no bit tricks. For formats with a zero.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from halfulp.fp_formats.formats import FloatFormat, NanEncoding

NAN = "NaN"
Number = Fraction | str  # a finite number, "NaN", "+inf" or "-inf"; zeros have no sign here


class Neighbours:
    """The values of one format; calling it rounds a number to one of them."""

    def __init__(self, fmt: FloatFormat) -> None:
        self.fmt = fmt
        self.largest = self.magnitude(fmt.max_magnitude)

    def magnitude(self, index: int) -> Fraction:
        """Return the value of the index-th magnitude: exponent field and fraction read as one number."""
        field, fraction = divmod(index, 1 << self.fmt.mantissa_bits)
        return (fraction + (1 << self.fmt.mantissa_bits if field else 0)) * self.step(max(field, 1))

    def step(self, field: int) -> Fraction:
        """Return the distance of neighbours in the binade of an exponent field."""
        return Fraction(2) ** (field - self.fmt.bias - self.fmt.mantissa_bits)

    def index(self, number: Fraction) -> int:
        """Return the largest magnitude whose value is not above the number, the exponent unbounded above."""
        if not number:
            return 0
        binade = number.numerator.bit_length() - number.denominator.bit_length()
        binade -= int(Fraction(2) ** binade > number)
        field = max(binade + self.fmt.bias, 1)
        index = int(number / self.step(field)) + (field - 1 << self.fmt.mantissa_bits)
        assert self.magnitude(index) <= number < self.magnitude(index + 1)
        return index

    def __call__(self, number: Number) -> Number:
        if isinstance(number, str):
            return number
        below = self.index(abs(number))
        low, high = self.magnitude(below), self.magnitude(below + 1)
        nearer_above = abs(number) - low > high - abs(number)
        tie = abs(number) - low == high - abs(number)
        index = below + int(nearer_above or (tie and below % 2 == 1))
        if index > self.fmt.max_magnitude:
            return self.overflow(number)
        return -self.magnitude(index) if number < 0 else self.magnitude(index)

    def overflow(self, number: Fraction) -> Number:
        if self.fmt.nan_code is None:
            return -self.largest if number < 0 else self.largest
        if not self.fmt.infinities:
            return NAN
        return "-inf" if number < 0 else "+inf"

    def read(self, code: int) -> Number:
        """Return the number that a code stands for."""
        fmt = self.fmt
        sign, rest = divmod(code, 1 << (fmt.bits - 1))
        if fmt.explicit_integer_bit:
            field, significand = divmod(rest, 1 << fmt.precision)
            integer_bit, fraction = divmod(significand, 1 << fmt.mantissa_bits)
            if field and not integer_bit:
                return NAN
            if not field and integer_bit:
                rest = 1 << fmt.mantissa_bits | fraction  # the same value in the smallest binade
            else:
                rest = field << fmt.mantissa_bits | fraction
        if rest > fmt.max_magnitude or (fmt.nan is NanEncoding.NEGATIVE_ZERO and sign and not rest):
            infinite = fmt.infinities and rest == fmt.max_magnitude + 1
            return ("-inf" if sign else "+inf") if infinite else NAN
        return -self.magnitude(rest) if sign else self.magnitude(rest)


@cache
def neighbours(fmt: FloatFormat) -> Neighbours:
    """Return the one `Neighbours` of a format."""
    return Neighbours(fmt)
