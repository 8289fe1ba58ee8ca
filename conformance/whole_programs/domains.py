"""The codes from which one argument is made: all codes of its element type, or those of an assumption or a loop bound.

An assumption is written ``%0 in [0, 10]``: the argument's number or name, and the smallest and the largest value.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from halfulp.conformance.comparing.inputs import corner_codes, random_codes
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.ir import attributes as at
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError
from halfulp.interp.ir.operations import Operation
from halfulp.interp.ir.types import width_of
from halfulp.interp.values.element_layout import is_unsigned

ASSUME = "halfulp.assume"
"""The attribute of a function that lists its assumptions."""

SMALL = range(17)
"""Numbers of which an index is made half of the time."""

SMALLEST = (0, 1, 1, 2)
"""Numbers of which all indices and loop bounds of an input are made, where they are small together."""

TRIPS = (0, 1, 2, 3, 4, 5, 7, 8, 16)
"""Numbers of which a bound or step of a loop, or the size of an allocation, is made."""

ODD_TRIPS = (-1, 0, 1)
"""Numbers that a bound, step or size sometimes is instead: steps of 0 and sizes of -1 are undefined."""

WIDE_TRIPS = 8
"""Most bits of a type whose loop bounds are made of all codes."""


@dataclass(frozen=True)
class Domain:
    """The codes that one element of an argument may have: ``size`` of them, by number in ``code``.

    Samples are corners, usual codes, or any. ``size`` is None if there are only samples. ``together``: the codes of
    inputs in which all indices are small, so that offsets, sizes and steps fit each other.
    """

    size: int | None
    code: Callable[[int], int]
    corners: Sequence[int]
    usual: Sequence[int]
    any: Callable[[random.Random], int]
    together: Sequence[int] = ()

    def draw(self, rng: random.Random, together: bool = False) -> int:
        """Return a corner, a usual code, or any code. ``together``: all indices of the input are small."""
        if together and self.together:
            return rng.choice(self.together)
        kind = rng.random()
        if kind < 0.35 and self.corners:
            return rng.choice(self.corners)
        return rng.choice(self.usual) if kind < 0.7 and self.usual else self.any(rng)


@lru_cache(maxsize=512)
def corners_of(element: ty.Type) -> tuple[int, ...]:
    """Return the codes of an element type at which behaviour changes."""
    return tuple(corner_codes(element))


@lru_cache(maxsize=512)
def ordinary_codes(element: ty.Type) -> tuple[int, ...]:
    """Return codes of small numbers: eighths of either sign, or small integers."""
    if isinstance(element, ty.FloatType):
        fmt = element.format
        numbers = [Fraction(k, 8) for k in (*range(1, 33), 36, 40, 44, 48, 56, 60, 64, 80, 100, 128)]
        if fmt.signed:
            numbers += [-number for number in numbers]
        return tuple(dict.fromkeys(scalar.from_fraction(fmt, number).code for number in numbers))
    mask = (1 << width_of(element)) - 1
    return tuple(dict.fromkeys(k & mask for k in (*range(1, 17), *range(-16, 0), 31, 42, 64, 100, -42, -100)))


@lru_cache(maxsize=512)
def every_code(element: ty.Type) -> Domain:
    """Return the domain of all codes of an element type. An index is small half of the time."""

    def sampled(rng: random.Random) -> int:
        if isinstance(element, ty.IndexType) and rng.random() < 0.5:
            return rng.choice(SMALL)
        return random_codes(element, 1, rng)[0]

    is_index = isinstance(element, ty.IndexType)
    usual = tuple(SMALL) if is_index else ordinary_codes(element)
    together = SMALLEST if is_index else ()
    return Domain(1 << width_of(element), lambda number: number, corners_of(element), usual, sampled, together)


@lru_cache(maxsize=512)
def ordinary(element: ty.Type) -> Domain:
    """Return the domain of numbers as programs usually have them: floats around 1, small integers, no special ones."""
    width = width_of(element)

    def sampled(rng: random.Random) -> int:
        if isinstance(element, ty.FloatType):
            number = Fraction(rng.gauss(0, 1))
            return scalar.from_fraction(element.format, number if element.format.signed else abs(number)).code
        if isinstance(element, ty.IndexType):
            return rng.choice(SMALL)
        return rng.randint(-100, 100) & ((1 << width) - 1)

    return Domain(None, lambda number: number, (), (), sampled, SMALLEST if isinstance(element, ty.IndexType) else ())


def any_code(element: ty.Type, rng: random.Random) -> int:
    """Return a corner, an ordinary number, or any code."""
    return every_code(element).draw(rng)


def trip_counts(element: ty.Type) -> Domain:
    """Return the domain of an integer that bounds a loop: few trips. Narrow types have all codes."""
    width = width_of(element)
    if width <= WIDE_TRIPS:
        return every_code(element)
    mask = (1 << width) - 1
    often, seldom = ([number & mask for number in numbers] for numbers in (TRIPS, ODD_TRIPS))

    def sampled(rng: random.Random) -> int:
        return rng.choice(often if rng.random() < 0.9 else seldom)

    return Domain(None, lambda number: number, (), (), sampled, SMALLEST)


@dataclass(frozen=True)
class Assumption:
    """The smallest and the largest value of an argument, given by its number or name."""

    argument: str
    low: Fraction
    high: Fraction

    def __str__(self) -> str:
        return f"%{self.argument} in [{_number(self.low)}, {_number(self.high)}]"


_ASSUMPTION = re.compile(r"\s*%?([\w$.-]+)\s+in\s+\[\s*([^,\s]+)\s*,\s*([^\]\s]+)\s*\]\s*")


def parse_assumption(text: str) -> Assumption:
    """Read an assumption. Raises InputError."""
    match = _ASSUMPTION.fullmatch(text)
    try:
        if match is not None:
            low, high = Fraction(match[2]), Fraction(match[3])
            if low <= high:
                return Assumption(match[1], low, high)
    except (ValueError, ZeroDivisionError):
        pass
    raise InputError(
        f"'{text}' is not an assumption about an argument",
        hint='write the argument, the smallest and the largest value, as in "%0 in [0, 10]"',
    )


def assumptions_of(function: Operation) -> tuple[Assumption, ...]:
    """Return the assumptions in a function's attribute ``halfulp.assume``, a list of strings. Raises InputError."""
    listed = function.attributes.get(ASSUME)
    if listed is None:
        return ()
    texts = listed.elements if isinstance(listed, at.ArrayAttr) else (listed,)
    if not all(isinstance(text, at.StringAttr) for text in texts):
        raise InputError(
            f"the attribute {ASSUME} is {listed}",
            location=function.location,
            hint=f'write {ASSUME} = ["%0 in [0, 10]"]',
        )
    return tuple(parse_assumption(text.value) for text in texts if isinstance(text, at.StringAttr))


def assumed_domains(
    function: Operation, types: Sequence[ty.Type], assumptions: Iterable[Assumption]
) -> dict[int, Domain]:
    """Return the domains of the arguments about which something is assumed.

    Raises InputError for an argument that does not exist, or for a range without a value of its type.
    """
    names = {value.name: number for number, value in enumerate(function.regions[0].blocks[0].arguments) if value.name}
    found: dict[int, Domain] = {}
    for assumption in assumptions:
        place = names.get(assumption.argument)
        if place is None and assumption.argument.removeprefix("arg").isdecimal():
            place = int(assumption.argument.removeprefix("arg"))
        if place is None or place >= len(types):
            raise InputError(
                f"@{function.symbol_name} has no argument %{assumption.argument}",
                location=function.location,
                hint=f"it has {', '.join(f'%{name}' for name in names) or f'{len(types)} arguments'}",
            )
        found[place] = between(ty.element_type(types[place]), assumption)
    return found


def between(element: ty.Type, assumption: Assumption) -> Domain:
    """Return the domain of the values in a range. Raises InputError if there are none."""
    numbered = (
        _floats_between(element.format, assumption)
        if isinstance(element, ty.FloatType)
        else _integers_between(element, assumption)
    )
    size, code, place_of = numbered
    if size <= 0:
        raise InputError(f"no value of type '{element}' is in {str(assumption).partition(' in ')[2]}")
    ends = [number for number in (0, 1, size // 2, size - 2, size - 1) if 0 <= number < size]
    corners = dict.fromkeys([code(number) for number in ends])
    inside = [each for each in corners_of(element) if 0 <= place_of(each) < size]
    usual = tuple(each for each in ordinary_codes(element) if 0 <= place_of(each) < size)
    return Domain(size, code, (*corners, *inside), usual, lambda rng: code(rng.randrange(size)))


Numbered = tuple[int, Callable[[int], int], Callable[[int], int]]
"""The number of codes, the code of each number, and the number of a code: one outside for other codes."""


def _integers_between(element: ty.Type, assumption: Assumption) -> Numbered:
    """Number the integers of a range. A signless type has both its signed and its unsigned numbers."""
    width = width_of(element)
    mask = (1 << width) - 1
    signed = isinstance(element, ty.IntegerType) and element.signedness == "signed"
    least = 0 if is_unsigned(element) else -(1 << max(width - 1, 0))
    most = mask >> 1 if signed else mask
    low, high = max(-(-assumption.low // 1), least), min(assumption.high // 1, most)
    return min(high - low + 1, mask + 1), lambda number: (low + number) & mask, lambda code: (code - low) & mask


def _floats_between(fmt: FloatFormat, assumption: Assumption) -> Numbered:
    """Number the floats of a range in the order of their values, -0 before 0 if the range has negative numbers."""
    below = int(fmt.has_negative_zero)

    def code(place: int) -> int:
        negative = -place - below
        return fmt.from_magnitude(place) if place >= 0 else fmt.from_magnitude(negative) | (fmt.sign_mask or 0)

    def value(place: int) -> Fraction:
        found = scalar.value(fmt, code(place))
        assert found is not None
        return found

    first = -fmt.max_magnitude - below if fmt.signed and assumption.low < 0 else 0
    low = _search(first, fmt.max_magnitude + 1, lambda place: value(place) >= assumption.low)
    end = _search(low, fmt.max_magnitude + 1, lambda place: value(place) > assumption.high)

    def place_of(given: int) -> int:
        magnitude = given & ~(fmt.sign_mask or 0)
        place = -magnitude - below if fmt.sign_mask and given & fmt.sign_mask else magnitude
        if (
            fmt.explicit_integer_bit
            or fmt.is_nan(given)
            or not -fmt.max_magnitude - below <= place <= fmt.max_magnitude
        ):
            return -1
        return place - low

    return end - low, lambda number: code(low + number), place_of


def _search(start: int, stop: int, holds: Callable[[int], bool]) -> int:
    """Return the first number from ``start`` on for which a condition holds, which then holds for all after it."""
    while start < stop:
        middle = (start + stop) // 2
        if holds(middle):
            stop = middle
        else:
            start = middle + 1
    return start


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else str(float(value))
