"""Arguments whose exact results lie next to a value of a format, or next to a midpoint of two values.

Such an argument is hard: to round its result, an implementation needs many more bits than the format has. `distance`
measures how hard an argument is, and `search` looks for hard ones:

- Up to 16 bits it looks at every argument.
- In wider formats it cuts binades of arguments into intervals on which the function is nearly a straight line. The
  arguments at which a line comes close to a boundary follow from Euclid's algorithm (Lefèvre and Muller, "Worst cases
  for correct rounding of the elementary functions in double precision", 2001). So a few exact results stand for all
  arguments of an interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from flint import arb

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.neighbours import code_at, lowest_rank, ulp_exponent
from halfulp.fp_formats.reals.elementary import Exactly, integer_operand, result_of, result_of_two
from halfulp.fp_formats.reals.functions import BEYOND, Cell, Grid, bits_of_precision, exact_ball
from halfulp.fp_formats.scalar import QUIET_NAN

ENUMERATED = 16
"""Most bits of an argument for which a search looks at each code."""
_SHORTEST = 8
"""Least number of arguments of an interval: below, the line is not straight enough, or no line."""
_MOST = 3
"""Most arguments that are taken from an interval at one distance: of a function near 1 + x, each one is hard."""
_MIDDLE = 64
"""Binades on each side of 1 that a search looks at, one by one; of the others it looks at as many, evenly spread."""

Formats = Sequence[FloatFormat | None]
"""The formats of operands; None for an operand that is an integer, and is given as itself."""
Draw = Callable[[int], int]
"""Returns a random integer below its argument."""


class Distance(NamedTuple):
    """The distance of an exact result from the nearest value or midpoint of a format.

    ``ulps``: the distance in ulp of the result, above 0. ``midpoint``: whether it is the distance from a midpoint; if
    not, from a value. ``beyond``: whether the result has a larger magnitude than that midpoint or value. ``sign``: the
    sign bit of the result.
    """

    ulps: Fraction
    midpoint: bool
    beyond: bool
    sign: int


class HardCase(NamedTuple):
    """An argument as a code, and how far its exact result is from the nearest value or midpoint (see `Distance`)."""

    code: int
    distance: Distance


def distance(name: str, formats: Formats, operands: Sequence[int], dst: FloatFormat) -> Distance | None:
    """Return the distance of the exact result for these operands from the nearest value or midpoint of ``dst``.

    None for a result that is a value or a midpoint itself, that is not a finite number, or that overflows.
    """
    placed = magnitude_of(name, formats, operands, dst)
    if placed is None:
        return None
    whole, rest = divmod(placed[0], 1)
    if not rest:
        return None
    beyond = 2 * rest < 1
    boundary = int(whole) + (not beyond)
    return Distance((rest if beyond else 1 - rest) / 2, boundary % 2 == 1, beyond, int(placed[1] < 0))


def magnitude_of(
    name: str, formats: Formats, operands: Sequence[int], dst: FloatFormat
) -> tuple[Fraction, Fraction] | None:
    """Return the magnitude of an exact result as a multiple of half an ulp of ``dst``, and half an ulp with the sign of
    the result.

    An even magnitude is a value, an odd one a midpoint. The magnitude of an irrational result is right to `depth_of`
    bits below half an ulp. None in the same cases as for `distance`.
    """
    found = exact_result(name, formats, operands, fine_grid(dst))
    return None if found is None else _placed(found, dst)


def depth_of(fmt: FloatFormat) -> int:
    """Return the number of bits below half an ulp to which distances are measured.

    No result of a format comes so near to a boundary by chance alone. A shorter distance has a mathematical reason: for
    example, the exponential function of a tiny x is about 1 + x.
    """
    return 2 * fmt.precision + 8


def fine_grid(fmt: FloatFormat) -> Grid:
    """Return the grid that divides half an ulp of a format into 2**`depth_of` steps."""
    below = fmt.mantissa_bits + 1 + depth_of(fmt)
    return lambda lead: max(lead, fmt.emin) - below


def exact_result(name: str, formats: Formats, operands: Sequence[int], grid: Grid) -> Exactly | None:
    """Return the exact result of a function of these operands; None if it is the NaN of an operand. An irrational
    result is given by its cell of ``grid``.
    """
    unpacked = [
        integer_operand(code) if fmt is None else scalar.unpack(fmt, code)
        for fmt, code in zip(formats, operands, strict=True)
    ]
    if len(unpacked) == 2:
        return result_of_two(name, unpacked[0], unpacked[1], grid)
    return None if unpacked[0].kind >= QUIET_NAN else result_of(name, unpacked[0], grid)


def number_of(found: Exactly) -> Fraction | None:
    """Return an exact result as a number. For a cell this is its middle; None for a zero, an infinity or a NaN."""
    if isinstance(found, Cell):
        if found.exponent >= BEYOND:
            return None
        return (1 - 2 * found.sign) * (2 * found.floor + 1) * Fraction(2) ** (found.exponent - 1)
    return found if isinstance(found, Fraction) else None


def _placed(found: Exactly, dst: FloatFormat) -> tuple[Fraction, Fraction] | None:
    number = number_of(found)
    if not number or (number < 0 and not dst.signed) or abs(number) >= _end(dst):
        return None
    half = Fraction(2) ** (ulp_exponent(dst, abs(number)) - 1)
    return abs(number) / half, -half if number < 0 else half


@lru_cache(maxsize=64)
def _end(fmt: FloatFormat) -> Fraction:
    """Return the midpoint beyond the largest value."""
    largest = scalar.value(fmt, fmt.max_code)
    assert largest is not None
    return largest + Fraction(2) ** (ulp_exponent(fmt, largest) - 1)


# --- search -----------------------------------------------------------------------------------------------------------


def search(name: str, src: FloatFormat, dst: FloatFormat, draw: Draw, intervals: int = 512) -> list[HardCase]:
    """Return hard arguments of a function of one argument, the hardest first.

    ``intervals``: the number of intervals that are searched in formats above `ENUMERATED` bits, spread evenly over
    binades. Up to `ENUMERATED` bits each argument with a finite result that is not exact is returned.
    """
    ranks: Iterator[int]
    if src.bits <= ENUMERATED:
        ranks = iter(range(lowest_rank(src), src.max_magnitude + 1))
    else:
        ranks = _of_intervals(name, src, dst, draw, intervals)
    found = {}
    for rank in dict.fromkeys(ranks):
        code = code_at(src, rank)
        near = distance(name, [src], [code], dst)
        if near is not None:
            found[code] = HardCase(code, near)
    return sorted(found.values(), key=lambda case: (case.distance.ulps, case.code))


def _of_intervals(name: str, src: FloatFormat, dst: FloatFormat, draw: Draw, intervals: int) -> Iterator[int]:
    size = 1 << src.mantissa_bits
    length = min(size, 1 << src.precision // 3 + 1)
    binades = _binades(src)
    live = [
        start
        for start in binades
        if any(distance(name, [src], [code_at(src, start + draw(size))], dst) for _ in range(2))
    ]
    for number in range(intervals if live else 0):
        start = live[number % len(live)] + draw(size - length + 1)
        yield from near_boundaries(name, src, dst, start, length)


def _binades(src: FloatFormat) -> list[int]:
    """Return the least ranks of binades of arguments, of both signs: those around 1, some others, and those of
    subnormals.
    """
    middle = [e for e in range(-_MIDDLE, _MIDDLE) if src.emin <= e <= src.emax]
    others = [e for e in range(src.emin, src.emax) if abs(e) > _MIDDLE]
    chosen = [*middle, *others[:: max(1, len(others) // (2 * _MIDDLE))]]
    starts = [0, *((e - src.emin + 1) << src.mantissa_bits for e in chosen)]
    # A binade of negative arguments begins at its outer end.
    return [*starts, *(-start - (1 << src.mantissa_bits) + 1 for start in starts)] if src.signed else starts


def near_boundaries(name: str, src: FloatFormat, dst: FloatFormat, start: int, count: int) -> Iterator[int]:
    """Yield the ranks of the arguments whose results lie next to boundaries, among ``count`` consecutive arguments.
    ``start``: the rank of the first one.
    """
    one = 1 << depth_of(dst)
    while count >= _SHORTEST:
        last, half = count - 1, count // 2
        found = [magnitude_of(name, [src], [code_at(src, start + k)], dst) for k in (0, half, last)]
        places = [place for place in found if place is not None]
        if len(places) < 3 or len({unit for _, unit in places}) > 1:
            count //= 2
            continue
        first, middle, end = (int(halves * one) for halves, _ in places)
        step, reach = (end - first) // last, one // count
        if abs(middle - first - step * half) > reach:
            count //= 2
            continue
        for near in (reach >> 8, reach >> 4, reach):
            yield from (start + k for k in multiples_within(step, first + near, one, 2 * near, count, _MOST))
        return


def multiples_within(step: int, start: int, modulus: int, width: int, count: int, most: int) -> Iterator[int]:
    """Yield the numbers k from 0 to ``count`` - 1 with (start + step * k) % modulus <= width, in order; at most
    ``most`` numbers.
    """
    k = 0
    for _ in range(most):
        lowest = -(start + step * k) % modulus
        more = 0 if lowest + width >= modulus or not lowest else _first(step % modulus, modulus, lowest, lowest + width)
        if more is None or k + more >= count:
            return
        yield k + more
        k += more + 1


def _first(step: int, modulus: int, low: int, high: int) -> int | None:
    """Return the smallest k >= 0 with low <= step * k % modulus <= high, for 0 <= low <= high < modulus."""
    if not low:
        return 0
    if not step:
        return None
    k = -(-low // step)
    if step * k <= high:
        return k
    # No multiple of the step lies within: take the turns around the modulus as the unknown, modulo the step.
    turns = _first(modulus % step, step, -high % step, -low % step)
    return None if turns is None else -(-(low + modulus * turns) // step)


# --- multiples of pi / 2 ----------------------------------------------------------------------------------------------


def near_quarter_turns(fmt: FloatFormat, exponent: int, most: int = 4) -> list[int]:
    """Return arguments from 2**exponent to 2**(exponent + 1) that lie next to multiples of pi / 2, as codes.

    If such an argument is reduced by the multiple, most of its bits cancel. ``most``: the largest number of arguments.
    """
    size = 1 << fmt.mantissa_bits
    bits = 2 * fmt.precision + 32
    with bits_of_precision(abs(exponent) + bits + fmt.precision + 64):
        turns = (exact_ball(2, exponent - fmt.mantissa_bits + bits) / arb.pi()).floor().unique_fmpz()
    assert turns is not None
    step, one = int(turns), 1 << bits
    reach = min(2 * one // size, one >> 2)
    first = fmt.emin - exponent
    start = -first + 1 << fmt.mantissa_bits
    found = multiples_within(step, step * size + reach, one, 2 * reach, size, most)
    return [fmt.from_magnitude(start + k) for k in found]


def from_quarter_turns(fmt: FloatFormat, code: int) -> Fraction | None:
    """Return the distance of a finite value from the nearest multiple of pi / 2, as a part of pi / 2; None for other
    values.

    The distance is cut after 32 bits beyond twice the precision of the format.
    """
    number = scalar.value(fmt, code)
    if number is None:
        return None
    bits = 2 * fmt.precision + 32
    lead = number.numerator.bit_length() - number.denominator.bit_length()
    with bits_of_precision(max(lead, 0) + bits + 64):
        turns = arb(number.numerator) * exact_ball(2, bits) / (arb(number.denominator) * arb.pi())
        part = turns.floor().unique_fmpz()
    assert part is not None
    rest = int(part) % (1 << bits)
    return Fraction(min(rest, (1 << bits) - rest), 1 << bits)
