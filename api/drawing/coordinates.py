"""The numbers and modes that callers give, and numbers as text and as coordinates."""

from __future__ import annotations

import decimal
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from halfulp.fp_formats.spelling import decimal_text
from halfulp.interp.ir.errors import InputError
from halfulp.number_reader import mode_named

Number = int | float | Fraction


def _exactly(number: Number, name: str) -> Fraction:
    if isinstance(number, bool) or not isinstance(number, int | float | Fraction | np.floating | np.integer):
        raise InputError(f"{name} is {number!r}, but must be a number")
    try:
        return Fraction(number if isinstance(number, int | Fraction) else float(number))
    except (ValueError, OverflowError):
        raise InputError(f"{name} is {number}, but must be finite") from None


def window(low: Number, high: Number) -> tuple[Fraction, Fraction]:
    """Return the ends of a window as exact numbers. Raise InputError unless they are finite and ``low`` is less."""
    ends = _exactly(low, "low"), _exactly(high, "high")
    if not ends[0] < ends[1]:
        raise InputError(f"low is {low} and high is {high}, but low must be less than high")
    return ends


def chosen_modes(names: Iterable[str]) -> list[str]:
    """Return the rounding modes, each once. Raise InputError for an unknown one, and for none."""
    chosen = list(dict.fromkeys(mode_named(name) for name in names))
    if not chosen:
        raise InputError("no rounding mode is given")
    return chosen


ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def short_text(number: Fraction, digits: int = 12) -> str:
    """Spell a number with at most so many significant digits; an ellipsis stands for the rest."""
    context = decimal.Context(digits, decimal.ROUND_DOWN, decimal.MIN_EMIN, decimal.MAX_EMAX, traps=[])
    cut = Fraction(context.divide(decimal.Decimal(number.numerator), decimal.Decimal(number.denominator)))
    mantissa, e, exponent = decimal_text(cut, digits).partition("e")
    return typeset(f"{mantissa}{'' if cut == number else ELLIPSIS}{e}{exponent}")


def typeset(number: str) -> str:
    """Spell a number as pictures do: with a minus sign, NaN and infinity."""
    return number.replace("-", "\N{MINUS SIGN}").replace("nan", "NaN").replace("inf", "infinity")


@dataclass(frozen=True)
class Coordinates:
    """Numbers as coordinates: as they are, or as distances from ``origin`` where f64 cannot tell them apart."""

    origin: Fraction = Fraction(0)

    def __call__(self, x: Fraction) -> float:
        """Return the coordinate of a number. Raise InputError where f64 cannot hold it."""
        try:
            return float(x - self.origin)
        except OverflowError:
            raise InputError(f"{decimal_text(x, 20)} is too large to be drawn: axes are f64") from None

    def label(self, what: str) -> str:
        """Name an axis that has these coordinates."""
        return f"{what} \N{MINUS SIGN} {short_text(self.origin, 40)}" if self.origin else what


def coordinates_between(low: Fraction, high: Fraction) -> Coordinates:
    """Choose coordinates that f64 can tell apart between two numbers."""
    near = (high - low) * (1 << 20) < max(abs(low), abs(high))
    return Coordinates(low if near else Fraction(0))


def as_float(x: Fraction) -> float:
    """Return a number as a coordinate without an origin. Raise InputError where f64 cannot hold it."""
    return Coordinates()(x)
