"""The inputs at which rounding changes its result: the values of a format in order, and the points between them.

Everything is exact: values and points are rational numbers, results come from `halfulp.fp_formats.scalar`. Finite
values are counted from zero, or from the smallest value if there is no zero. The number of a value, for example -3, 0
or 17, is its *rank*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.neighbours import code_at, floor_exponent, lowest_rank
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.spelling import value_text


def value_at(fmt: FloatFormat, rank: int) -> Fraction:
    """Return the finite value of a format with this rank; see `code_at`."""
    value = scalar.value(fmt, code_at(fmt, rank))
    assert value is not None
    return value


def _rank_from(fmt: FloatFormat, x: Fraction) -> int:
    """Return the rank of the smallest value that is not below ``x``; if there is none, the rank of the last value plus
    one.
    """
    first, last = lowest_rank(fmt), fmt.max_magnitude + 1
    while first < last:
        middle = (first + last) // 2
        if value_at(fmt, middle) < x:
            first = middle + 1
        else:
            last = middle
    return first


def ranks_between(fmt: FloatFormat, low: Fraction, high: Fraction) -> range:
    """Return the ranks of the values from ``low`` to ``high``, both included."""
    end = _rank_from(fmt, high)
    return range(_rank_from(fmt, low), end + (end <= fmt.max_magnitude and value_at(fmt, end) == high))


def count(ranks: range) -> int:
    """Return the number of ranks in a range. Unlike ``len``, it works for wide formats, which have more values than
    ``len`` can return.
    """
    return max(0, ranks.stop - ranks.start)


def _step_at_the_top(fmt: FloatFormat) -> Fraction:
    """Return the distance from the largest value to the next value that the format would have."""
    return Fraction(2) ** (fmt.emax - fmt.mantissa_bits)


def _breaks(fmt: FloatFormat, low: Fraction, high: Fraction) -> list[Fraction]:
    """Return every point from ``low`` to ``high`` at which the result of a rounding mode may change, and both ends."""
    ranks = ranks_between(fmt, low, high)
    around = range(max(ranks.start - 1, lowest_rank(fmt)), min(ranks.stop + 1, fmt.max_magnitude + 1))
    values = [value_at(fmt, rank) for rank in around]
    top, half = value_at(fmt, fmt.max_magnitude), _step_at_the_top(fmt) / 2
    # Beyond the ends, rounding behaves as if the format went on. A format without a sign or a zero changes at 0.
    points = {low, high, Fraction(0), *values, *((a + b) / 2 for a, b in pairwise(values))}
    points |= {sign * (top + k * half) for sign in (1, -1) for k in (1, 2)}
    return sorted(point for point in points if low <= point <= high)


@dataclass(frozen=True)
class Piece:
    """The inputs between ``low`` and ``high``, both excluded, that all have one result.

    ``value``: the result; None if it is not a number. Then ``special`` names it.
    """

    low: Fraction
    high: Fraction
    value: Fraction | None
    special: str = ""


def rounded(fmt: FloatFormat, x: Fraction, mode: Rounding) -> tuple[Fraction | None, str]:
    """Round ``x`` to a format. Return the value and ""; or None and the name of a special result: ``inf``, ``nan`` or
    ``poison``.
    """
    result = scalar.from_fraction(fmt, x, mode)
    if result.poison:
        return None, "poison"
    value = scalar.value(fmt, result.code)
    return value, "" if value is not None else value_text(fmt, result.code)


def pieces(fmt: FloatFormat, mode: Rounding, low: Fraction, high: Fraction) -> list[Piece]:
    """Return the pieces into which rounding to a format divides the inputs from ``low`` to ``high``, in order."""
    found: list[Piece] = []
    for a, b in pairwise(_breaks(fmt, low, high)):
        value, special = rounded(fmt, (a + b) / 2, mode)
        if found and (found[-1].value, found[-1].special) == (value, special):
            found[-1] = replace(found[-1], high=b)
        else:
            found.append(Piece(a, b, value, special))
    return found


def relative_error(x: Fraction, value: Fraction) -> Fraction:
    """Return the distance of ``value`` from a positive ``x``, relative to ``x``."""
    return abs(value / x - 1)


def largest_error(fmt: FloatFormat, mode: Rounding, low: Fraction, high: Fraction) -> float:
    """Return the least upper bound of the relative error between two positive inputs; NaN if no result is a finite
    number.

    Within a binade, the distances between values are equal, so the relative error is largest at its beginning.
    Therefore only the first two gaps of each binade, and the part beyond the last value, are examined.
    """
    windows = [(low, high)]
    ranks = ranks_between(fmt, low, high)
    if count(ranks) > 8:
        powers = (Fraction(2) ** e for e in range(floor_exponent(low) + 1, floor_exponent(high) + 1))
        starts = [low, *(power for power in powers if low < power < high)]
        seconds = [min(ranks_between(fmt, start, high).start + 2, fmt.max_magnitude) for start in starts]
        windows = [(start, min(high, value_at(fmt, rank))) for start, rank in zip(starts, seconds, strict=True)]
        windows.append((value_at(fmt, ranks.stop - 1), high))
    errors = [
        max(relative_error(piece.low, piece.value), relative_error(piece.high, piece.value))
        for a, b in windows
        if a < b
        for piece in pieces(fmt, mode, a, b)
        if piece.value is not None
    ]
    return float(max(errors)) if errors else float("nan")
