"""Bounds of an irrational number, and the turns of Ziv's loop that found them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from halfulp.fp_formats.spelling import decimal_text, signed_text

DIGITS = 30
"""Digits of an irrational number."""
_FAR, _FAR_TEXT, _NEAR_TEXT = Fraction(10) ** 300, "1e300", "1e-300"


@dataclass(frozen=True)
class Turn:
    """One turn of Ziv's loop: the bits of precision, the ball, and whether it settled the rounding in each mode."""

    precision: int
    ball: str
    settled: bool


@dataclass(frozen=True)
class Enclosure:
    """An irrational number between two rational ones.

    ``low``, ``high``: the bounds; all digits that an explanation shows are those of both. ``grid``: the exponent of the
    grid of `turns`: a ball between two of its points settles the rounding. ``turns``: the turns of Ziv's loop, empty
    where no ball is needed. ``crude``: the number is beyond all formats, or so close to a rational number that its
    distance has no digits here.
    """

    low: Fraction
    high: Fraction
    grid: int = 0
    turns: tuple[Turn, ...] = ()
    crude: bool = False

    @property
    def text(self) -> str:
        """The digits that both bounds have; the bounds where these differ."""
        low, high = (decimal_text(bound, 2 * DIGITS, DIGITS) for bound in (self.low, self.high))
        if low == high:
            return low
        return f"between {_bound_text(self.low)} and {_bound_text(self.high)}"

    def rows(self) -> list[str]:
        """Return the turns of Ziv's loop in words."""
        settled = f"between two multiples of 2^{self.grid}, so settled in every mode"
        return [
            f"{turn.precision} bits: {turn.ball}, {settled if turn.settled else 'not settled: more bits are needed'}"
            for turn in self.turns
        ]

    def difference_text(self, number: Fraction) -> str:
        """Spell a difference from the number, such as an error in ulp."""
        size = abs(number)
        if not self.crude or not number or 1 / _FAR < size < _FAR:
            return signed_text(number)
        bound = f"{'-' if number < 0 else '+'}{_FAR_TEXT if size > 1 else _NEAR_TEXT}"
        return f"{'beyond' if size > 1 else 'within'} {bound}"


def _bound_text(number: Fraction) -> str:
    size = abs(number)
    if not size or 1 / _FAR < size < _FAR:
        return decimal_text(number, 2 * DIGITS)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    return f"{'-' if number < 0 else ''}2^{exponent}"
