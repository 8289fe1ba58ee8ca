"""Codes that are likely to break floating-point code, shared by the tests of fp_formats."""

import math
import random
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import FORMATS, FloatFormat, NanEncoding, codes_to_ints, ints_to_codes

SMALL = tuple(fmt for fmt in FORMATS.values() if fmt.bits <= 8)
LARGE = tuple(fmt for fmt in FORMATS.values() if fmt.bits > 8)


def to_array(fmt: FloatFormat, codes: list[int]) -> npt.NDArray[Any]:
    return ints_to_codes(codes, fmt.bits, (len(codes),))


def to_list(fmt: FloatFormat, codes: npt.NDArray[Any]) -> list[int]:
    return codes_to_ints(codes, fmt.bits)


def all_codes(fmt: FloatFormat) -> list[int]:
    return list(range(1 << fmt.bits))


def interesting(fmt: FloatFormat) -> list[int]:
    """Both signs of zero, the ends of the subnormal, normal and special ranges, one, and NaNs of every kind."""
    positive = {0, 1, 2, 3, fmt.min_normal_code, fmt.max_code, fmt.bias << (fmt.bits - fmt.signed - fmt.exponent_bits)}
    positive |= {code + step for code in (fmt.min_normal_code, fmt.max_code) for step in (-2, -1, 1, 2, 3)}
    for special in (fmt.infinity_code, fmt.nan_code):
        if special is not None:
            positive |= {special, special + 1, special - 1, special | 3}
    positive.add(fmt.code_mask >> fmt.signed)
    signs = (0, fmt.sign_mask or 0)
    return sorted({(code | sign) & fmt.code_mask for code in positive for sign in signs if code >= 0})


def one_code(fmt: FloatFormat, rng: random.Random) -> int:
    """Return a random code with exponent and significand patterns from the corners."""
    width = fmt.exponent_bits
    top = (1 << width) - 1
    field = rng.choice(
        (0, 1, 2, top, top - 1, fmt.bias + rng.randint(-3, 3), fmt.bias + rng.randint(-70, 70), rng.randrange(top + 1))
    )
    bits = fmt.mantissa_bits
    every = (1 << bits) - 1
    run = rng.randint(0, bits)
    fraction = rng.choice(
        (0, 1, every, every - 1, 1 << run, (1 << run) - 1, every ^ ((1 << run) - 1), every >> 1, (every >> 1) + 1,
         rng.getrandbits(bits) if bits else 0, rng.getrandbits(bits) if bits else 0)
    ) & every  # fmt: skip
    code = (max(0, min(field, top)) << (fmt.mantissa_bits + fmt.explicit_integer_bit)) | fraction
    if fmt.explicit_integer_bit and (field > 0) != (rng.random() < 0.1):
        code |= 1 << fmt.mantissa_bits
    return code | (rng.getrandbits(1) << (fmt.bits - 1) if fmt.signed else 0)


def codes(fmt: FloatFormat, count: int, seed: int) -> list[int]:
    """Return ``count`` adversarial codes."""
    rng = random.Random(f"{seed} {fmt.name}")
    corners = interesting(fmt)
    return [rng.choice(corners) if rng.random() < 0.2 else one_code(fmt, rng) for _ in range(count)]


def pairs(fmt: FloatFormat, count: int, seed: int) -> tuple[list[int], list[int]]:
    """Return ``count`` adversarial pairs: independent, near neighbours, opposites, close in exponent."""
    rng = random.Random(f"{seed} pairs {fmt.name}")
    first = codes(fmt, count, seed)
    second = []
    for a, other in zip(first, codes(fmt, count, seed + 1), strict=True):
        kind = rng.random()
        if kind < 0.2:
            other = (a + rng.randint(-4, 4)) % (1 << fmt.bits) ^ (rng.getrandbits(1) * (fmt.sign_mask or 0))
        elif kind < 0.4:
            gap = rng.randint(-fmt.precision - 3, fmt.precision + 3)
            other = (a ^ rng.getrandbits(min(fmt.bits, 4))) + (gap << (fmt.mantissa_bits + fmt.explicit_integer_bit))
            other = (other ^ (rng.getrandbits(1) * (fmt.sign_mask or 0))) & fmt.code_mask
        second.append(other)
    return first, second


# --- neighbours -------------------------------------------------------------------------------------------------------
#
# Rounding to nearest even by looking at the two values of a format next to a number.
#
# Independent of halfulp.fp_formats but for the rows of its table: exact fractions, no bit tricks. For formats with a
# zero.

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


def number_of(fmt: FloatFormat, code: int) -> Number:
    """Return the value of a code, also in f8E8M0FNU."""
    if not fmt.zero:
        return NAN if code == fmt.nan_code else Fraction(2) ** (code - fmt.bias)
    return neighbours(fmt).read(code)


F32 = FORMATS["f32"]
SPECIAL = (
    0,
    F32.infinity_code or 0,
    F32.nan_code or 0,
    0x7F800001,
    1,
    0x007FFFFF,
    0x00800000,
    0x3F800000,
    F32.max_code,
)


def of_functions(name: str, count: int) -> npt.NDArray[Any]:
    """Return codes of f32 of every magnitude, near 0 and 1, at multiples of constants, huge ones, and special ones."""
    draw = random.Random(name)
    numbers = [draw.choice((-1, 1)) * math.ldexp(draw.uniform(1, 2), draw.randint(-149, 127)) for _ in range(count)]
    numbers += [draw.uniform(-1, 1) * draw.choice((1, 4, 20, 100)) for _ in range(count)]
    numbers += [draw.choice((math.pi / 2, 0.5, math.log(2))) * draw.randint(-60, 60) for _ in range(count)]
    numbers += [1 + sign * 2.0**-e for sign in (-1, 1) for e in range(2, 25)] + [2.0**120, -(2.0**120)]
    signed = [sign | code for sign in (0, 1 << 31) for code in SPECIAL]
    return np.concatenate([np.array(numbers, np.float32).view(np.uint32), np.array(signed, np.uint32)])
