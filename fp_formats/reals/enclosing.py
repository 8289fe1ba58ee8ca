"""What is known of an exact real result, and the cell of a grid in which an irrational one lies.

A result that is not rational is never a value or a midpoint of a format. So the cell of a fine grid that holds it
decides its rounding in each mode. Ziv's loop raises the precision of a ball until the ball lies in one cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from fractions import Fraction
from threading import RLock
from types import MappingProxyType
from typing import NamedTuple

import flint
from flint import arb

MOST_PRECISION = 1 << 20
"""Bits of the last ball: a result that is not settled then is an error."""
BEYOND = 1 << 17
"""Each finite value of a format other than zero lies between 2**-BEYOND and 2**BEYOND (see `FloatFormat`)."""
_FIRST = 24  # bits of the first ball beyond those of the grid


class Kind(Enum):
    """The kinds of results that are not real numbers other than zero."""

    ZERO = "zero"
    INFINITE = "infinity"
    NAN = "NaN"


class Special(NamedTuple):
    """A zero, an infinity or a NaN. ``signals``: an infinity raises divide-by-zero, a NaN invalid."""

    kind: Kind
    sign: int = 0
    signals: bool = False


SPECIALS: Mapping[str, Special] = MappingProxyType(
    {
        "nan": Special(Kind.NAN, 0, True),
        "0": Special(Kind.ZERO),
        "-0": Special(Kind.ZERO, 1),
        "inf": Special(Kind.INFINITE),
        "-inf": Special(Kind.INFINITE, 1),
        "pole": Special(Kind.INFINITE, 0, True),
        "-pole": Special(Kind.INFINITE, 1, True),
    }
)
"""Special results by the words that tables use; poles raise divide-by-zero."""


class Near(NamedTuple):
    """A real number next to a rational one: 0 < ``direction`` * (number - ``value``) < 2**``distance``."""

    value: Fraction
    direction: int
    distance: int


class Huge(NamedTuple):
    """A real number whose magnitude is above 2**BEYOND."""

    sign: int


class Cell(NamedTuple):
    """A real number of the given sign whose magnitude lies strictly between ``floor`` and ``floor`` + 1, times
    2**``exponent``.
    """

    sign: int
    floor: int
    exponent: int


Ball = Callable[[], arb]
"""Makes a ball that holds an irrational number, at the precision of the context."""
Grid = Callable[[int], int]
"""From the exponent of a magnitude's leading bit, the exponent of the grid that decides its rounding."""


class Unsettled(ArithmeticError):
    """A result that no ball settles: each one holds a value or a midpoint of the format.

    ``ball``: the last one, as text. ``precision``: its bits.
    """

    def __init__(self, ball: str, precision: int) -> None:
        super().__init__(ball, precision)
        self.ball = ball
        self.precision = precision

    def __str__(self) -> str:
        return f"a ball of {self.precision} bits does not settle the result: {self.ball}"


_context = RLock()  # python-flint has one precision for all threads


@contextmanager
def bits_of_precision(bits: int) -> Iterator[None]:
    """Compute balls with ``bits`` bits within the block. The blocks of other threads wait."""
    with _context:
        before = flint.ctx.prec
        flint.ctx.prec = bits
        try:
            yield
        finally:
            flint.ctx.prec = before


def exact_ball(significand: int, exponent: int) -> arb:
    """Return significand * 2**exponent as a ball of radius 0."""
    return arb((significand, exponent))


class Attempt(NamedTuple):
    """One turn of Ziv's loop: bits of precision, the ball, and the cell that holds it (None: more bits are needed)."""

    precision: int
    ball: arb
    cell: Cell | None


def attempts(ball: Ball, grid: Grid, most: int = MOST_PRECISION) -> Iterator[Attempt]:
    """Compute balls of rising precision until one lies in a cell, or ``most`` bits are reached."""
    precision = 53 + _FIRST
    while True:
        with bits_of_precision(precision):
            found = ball()
            cell = _cell(found, grid)
        yield Attempt(precision, found, cell)
        if cell is not None or precision >= most:
            return
        # A ball of low accuracy says how many bits are missing.
        accuracy = found.rel_accuracy_bits() if found.is_finite() else 0
        missing = max(0, precision - accuracy) if accuracy > 0 else 0
        precision = min(most, 2 * precision + missing)


def cell_of_ball(ball: Ball, grid: Grid, most: int = MOST_PRECISION) -> Cell:
    """Return the cell of an irrational number. Raises `Unsettled` for one that ``most`` bits do not settle."""
    for attempt in attempts(ball, grid, most):
        last = attempt
    if last.cell is None:
        raise Unsettled(last.ball.str(20), last.precision)
    return last.cell


def _cell(ball: arb, grid: Grid) -> Cell | None:
    """Return the cell in which a whole ball lies; None where it lies in several."""
    if not ball.is_finite() or ball.contains(0):
        return None
    sign = int(ball < 0)
    magnitude = abs(ball)
    # The ends may lie in two binades. Of two grids the finer one is right for both.
    exponent = grid(leading_exponent(magnitude.lower()))
    floor = (magnitude * exact_ball(1, -exponent)).floor().unique_fmpz()
    return None if floor is None else Cell(sign, int(floor), exponent)


def leading_exponent(positive: arb) -> int:
    """Return the exponent of the leading bit of an exact ball."""
    significand, exponent = positive.man_exp()
    return int(significand).bit_length() - 1 + int(exponent)


def cell_near(near: Near, grid: Grid) -> Cell | None:
    """Return the cell of a number next to a rational one; None where that is not near enough."""
    value, direction, distance = near
    sign = int(value < 0) if value else int(direction < 0)
    outward = direction > 0 if not sign else direction < 0
    magnitude = abs(value)
    lead = magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - 1 if magnitude else -BEYOND
    exponent = grid(lead)
    # The magnitude is above 2**lead: the number has the sign of the value.
    if distance > exponent or (not outward and distance > lead):
        return None
    scaled = magnitude / Fraction(2) ** exponent
    floor, rest = divmod(scaled.numerator, scaled.denominator)
    if rest:  # of a value off the grid: both ends must lie in its cell
        # The part differs from 0 and 1 by at least 2**-(bits of its denominator): a shorter width changes nothing.
        width = Fraction(2) ** max(distance - exponent, -scaled.denominator.bit_length())
        part = Fraction(rest, scaled.denominator)
        return Cell(sign, floor, exponent) if (part + width <= 1 if outward else part >= width) else None
    return Cell(sign, floor if outward else floor - 1, exponent)
