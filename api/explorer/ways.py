"""The ways to round: the five modes, and stochastic rounding with random bits that decide differently."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from halfulp.fp_formats.policy import Rounding
from halfulp.number_reader import MODES

_WIDTH = 64


class Way(NamedTuple):
    """A rounding mode. Of stochastic rounding, ``away`` tells whether the random bits are less than the discarded
    fraction, and ``least`` whether they are the least ones.

    A number just below the first normal value can tell two such ways apart: with one bit more of precision, which
    decides about the underflow, another fraction is discarded.
    """

    mode: Rounding
    away: bool | None = None
    least: bool = False

    @property
    def word(self) -> Rounding:
        """The mode that stands for this one where no number is rounded."""
        return Rounding.TO_NEAREST_EVEN if self.away is not None else self.mode

    def random(self, part: Fraction | None) -> tuple[int, int] | None:
        """Return random bits, value and width. ``part``: the number's place after the value before it, in steps; None
        where it does not matter.
        """
        if self.away is None:
            return None
        discarded = 0 if part is None else part - int(part)
        if self.least or (self.away and not discarded):
            return 0, _WIDTH
        # The largest value that is less than the fraction, or the largest of all.
        return (int(discarded * (1 << _WIDTH)) - 1 if self.away else (1 << _WIDTH) - 1), _WIDTH


WAYS = (
    *map(Way, MODES.values()),
    Way(Rounding.STOCHASTIC, away=True, least=True),
    Way(Rounding.STOCHASTIC, away=True),
    Way(Rounding.STOCHASTIC, away=False),
)
"""The columns of the tables."""
