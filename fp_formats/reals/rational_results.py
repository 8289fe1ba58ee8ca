"""Rational results of functions at dyadic arguments, found by integers: where no ball ever settles the rounding.

Each function returns the rational result, or None where the result is irrational, or so long that it lies on no grid
(more than `_LONGEST` bits). The reason why there are no others stands in `halfulp.fp_formats.reals.functions`.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

_FARTHEST = 1 << 18
"""Larger exponents than any format's: such a power is huge or tiny, which needs no exact result."""
_LONGEST = 1 << 12
"""Longer significands than any format's: such a number is neither a value nor a midpoint, and a ball settles it."""


def integer_root(number: int, degree: int) -> int | None:
    """Return the root of a non-negative integer; None where it is not an integer."""
    twos = (number & -number).bit_length() - 1
    if twos > 0:  # of a number of few digits and a large exponent, only the digits are worth a search
        odd = integer_root(number >> twos, degree) if twos % degree == 0 else None
        return None if odd is None else odd << twos // degree
    if number < 2:
        return number
    if degree >= number.bit_length():
        return None
    if degree == 2:
        root = isqrt(number)
        return root if root * root == number else None
    low, high = 1, 1 << -(-number.bit_length() // degree)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**degree <= number else (low, middle - 1)
    return low if low**degree == number else None


def root(x: Fraction, degree: int) -> Fraction | None:
    """Return the real root of x of a positive degree, where it is rational; of a negative x for an odd degree only."""
    if x < 0 and degree % 2 == 0:
        return None
    above, below = integer_root(abs(x.numerator), degree), integer_root(x.denominator, degree)
    if above is None or below is None:
        return None
    return Fraction(-above if x < 0 else above, below)


def integer_power(x: Fraction, n: int) -> Fraction | None:
    """Return x**n for x other than 0, where it is dyadic and short enough."""
    if n < 0:
        x, n = 1 / x, -n
    odd = abs(x.numerator)
    twos = (odd & -odd).bit_length() - 1
    odd >>= twos
    below = x.denominator.bit_length() - 1
    if n * abs(twos - below) > _FARTHEST:
        return None
    if x.denominator != 1 << below or (odd != 1 and n * (odd.bit_length() - 1) > _LONGEST):
        return None
    power = Fraction((-odd if x < 0 else odd) ** (n if odd != 1 else n % 2 or 2))
    return power * Fraction(2) ** ((twos - below) * n) if (twos - below) * n else power


def power(x: Fraction, y: Fraction) -> Fraction | None:
    """Return x**y for x > 0 and a dyadic y, where it is dyadic and short enough.

    With y = n / 2**k it is rational only if x is the 2**k-th power of a rational number.
    """
    degree = y.denominator
    base = x if degree == 1 else root(x, degree)
    return None if base is None else integer_power(base, y.numerator)


def binary_logarithm(x: Fraction) -> Fraction | None:
    """Return log2(x) of a power of two."""
    above, below = x.numerator, x.denominator
    if above & (above - 1) or below & (below - 1):
        return None
    return Fraction(above.bit_length() - below.bit_length())


def decimal_logarithm(x: Fraction) -> Fraction | None:
    """Return log10(x) of a power of ten, which is an integer where x is dyadic."""
    if x.denominator != 1 or x.numerator.bit_length() > _LONGEST:
        return None
    rest, power_ = x.numerator, 0
    while rest % 10 == 0:
        rest, power_ = rest // 10, power_ + 1
    return Fraction(power_) if rest == 1 else None


def hypotenuse(x: Fraction, y: Fraction) -> Fraction | None:
    """Return the square root of x*x + y*y, where it is rational."""
    return root(x * x + y * y, 2)
