"""Sines and cosines of rational parts of a turn, rounded once."""

from __future__ import annotations

from fractions import Fraction

from flint import arb, fmpq

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import SPEC
from halfulp.fp_formats.reals.elementary import grid_of, round_exactly
from halfulp.fp_formats.reals.functions import cell_of_ball

_COSINES: dict[Fraction, Fraction | int] = {
    Fraction(0): 1,
    Fraction(1, 6): Fraction(1, 2),
    Fraction(1, 4): 0,
    Fraction(1, 3): -Fraction(1, 2),
}
"""The turns up to a half, without the end, whose cosine is rational; by Niven there are no others."""


def wave(name: str, m: int, size: int, fmt: FloatFormat) -> int:
    """Return the cosine ("cos") or the sine ("sin") of ``m / size`` full turns as a code of ``fmt``, rounded once to
    nearest even. A zero is +0.
    """
    turn = Fraction(m, size)
    if name == "sin":
        turn = Fraction(1, 4) - turn
    turn %= 1
    turn = min(turn, 1 - turn)
    exact = -1 if turn == Fraction(1, 2) else _COSINES.get(turn)
    if exact is not None:
        return scalar.from_fraction(fmt, Fraction(exact)).code
    angle = fmpq(2 * turn.numerator, turn.denominator)
    cell = cell_of_ball(lambda: arb.cos_pi_fmpq(angle), grid_of(fmt))
    return round_exactly(fmt, cell, scalar.RNE, SPEC).code
