"""Why the exact result of a function is known: the reason, the balls of Ziv's loop, and narrow bounds of the result.

`halfulp.fp_formats.reals.elementary` computes results. An `Account` is made by the same steps, and records them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, fmpq

from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.reals import functions
from halfulp.fp_formats.reals.elementary import LIMIT, OUTSIDE, Enclosure, grid_of, known_of_one, known_of_two
from halfulp.fp_formats.reals.functions import attempts
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO, FunctionOfTwo
from halfulp.fp_formats.scalar import INFINITE, QUIET_NAN, Unpacked

Row = functions.Function | FunctionOfTwo
Enough = Callable[[Fraction, Fraction], bool]
"""Tells whether two bounds of a result are near enough."""
_FIRST_BOUNDS, _LAST_BOUNDS = 192, 1 << 12  # bits


@dataclass(frozen=True)
class Account:
    """What is known about an exact result of a function, and why.

    ``special``: a zero, an infinity or a NaN. ``low``, ``high``: bounds of the result, which are equal if it is
    rational; None if it is special. ``crude``: the bounds are far apart, because the result is too large or too close
    to a rational number. ``reason``: why the result is special, rational, irrational, or known without a ball.
    ``attempts``: the turns of Ziv's loop, of which the last one determines the rounding; empty if no ball is needed.
    ``grid``: the exponent of the grid of the last turn.
    """

    reason: str
    special: functions.Special | None = None
    low: Fraction | None = None
    high: Fraction | None = None
    crude: bool = False
    attempts: tuple[functions.Attempt, ...] = ()
    grid: int = 0


def account_of(
    name: str, operands: tuple[Unpacked, ...], given: str, fmt: FloatFormat, enough: Enough
) -> Account | None:
    """Return the facts that determine the rounding of a function of these operands to a format.

    ``given``: the formula, such as ``exp(0.5)``, for the reason. ``enough``: tells whether the bounds of an irrational
    result are near enough. Return None if an operand is a NaN. Raises Unsettled if no precision up to the limit
    determines the rounding.
    """
    row: Row = functions.FUNCTIONS[name] if name in functions.FUNCTIONS else FUNCTIONS_OF_TWO[name]
    known = _known(row, operands)
    if known is None:
        return None
    answer, far, ball, rule = known
    reason = _special_words(row, operands, given, rule, answer) if rule else ""
    if isinstance(answer, functions.Special):
        return Account(reason or f"{name} is zero or has a pole {row.rational}", answer)
    if answer is not None:
        return Account(reason or _rational_words(row), None, answer, answer)
    if isinstance(far, functions.Huge):
        sign = -1 if far.sign else 1
        low, high = sorted((sign * Fraction(2) ** functions.BEYOND, sign * Fraction(2) ** (functions.BEYOND + 1)))
        return Account(_huge_words(name), None, low, high, crude=True)
    grid = grid_of(fmt)
    if far is not None and functions.cell_near(far, grid) is not None:
        return _near(row, known, far, operands, enough)
    assert ball is not None
    tried = tuple(attempts(ball, grid))
    cell = tried[-1].cell
    if cell is None:
        raise functions.Unsettled(tried[-1].ball.str(20), tried[-1].precision)
    low, high, _ = _bounds(ball, enough, 2 * tried[-1].precision + _LAST_BOUNDS)
    return Account(reason or _irrational_words(row), None, low, high, attempts=tried, grid=cell.exponent)


def _known(row: Row, operands: tuple[Unpacked, ...]) -> Enclosure | None:
    if isinstance(row, FunctionOfTwo):
        return known_of_two(row, *operands)
    (x,) = operands
    return None if x.kind >= QUIET_NAN else known_of_one(row, x)


def number_near(name: str, operands: tuple[Fraction, ...]) -> Fraction | None:
    """Return the result of a function of rational numbers, rounded to 200 bits. Return None if it is not finite, if so
    many bits cannot be determined, or if it is too large or too small for a fraction.
    """
    row: Row = functions.FUNCTIONS[name] if name in functions.FUNCTIONS else FUNCTIONS_OF_TWO[name]
    with functions.bits_of_precision(_NEAR_BITS + 200):
        found = row.ball(*(arb(fmpq(x.numerator, x.denominator)) for x in operands))
        if found.is_zero():
            return Fraction(0)
        if not found.is_finite() or found.rel_accuracy_bits() < _NEAR_BITS:
            return None
        middle = found.mid()
    if abs(int(middle.man_exp()[1])) > functions.BEYOND:
        return None  # a fraction of that size would not fit the memory
    number = _rational(middle)
    unit = Fraction(2) ** (number.numerator.bit_length() - number.denominator.bit_length() - _NEAR_BITS)
    return round(number / unit) * unit


_NEAR_BITS = 200


# --- bounds -----------------------------------------------------------------------------------------------------------


def _rational(end: arb) -> Fraction:
    significand, exponent = end.man_exp()
    return Fraction(int(significand)) * Fraction(2) ** int(exponent)


def _bounds(ball: functions.Ball, enough: Enough, most: int) -> tuple[Fraction, Fraction, bool]:
    """Return the ends of a ball that are near enough, or those of the last one, and whether they are."""
    precision = _FIRST_BOUNDS
    while True:
        with functions.bits_of_precision(precision):
            found = ball()
            finite = found.is_finite()
            low, high = (_rational(found.lower()), _rational(found.upper())) if finite else (Fraction(0), Fraction(0))
        if (near := finite and enough(low, high)) or precision >= most:
            return low, high, near
        precision *= 2


def _near(row: Row, known: Enclosure, far: functions.Near, operands: tuple[Unpacked, ...], enough: Enough) -> Account:
    """Account for a result next to a rational number: by a ball for its digits, or by two numbers alone."""
    value, direction, distance = far
    low, high = sorted((value, value + direction * Fraction(2) ** distance))
    crude = True
    if distance > -_LAST_BOUNDS:
        assert known.ball is not None
        least, largest, near = _bounds(known.ball, enough, _LAST_BOUNDS)
        if near:
            low, high, crude = max(low, least), min(high, largest), False
    return Account(_near_words(row, far, operands), None, low, high, crude=crude)


# --- words ------------------------------------------------------------------------------------------------------------


def _special_words(
    row: Row, operands: tuple[Unpacked, ...], given: str, rule: str, answer: Fraction | functions.Special | None
) -> str:
    if isinstance(row, FunctionOfTwo):
        return rule
    if rule == OUTSIDE:
        low, high = row.limits.domain
        ends = f"from {'-inf' if low is None else low} to {'inf' if high is None else high}"
        return f"{given} is {rule} of {row.name}, which goes {ends}"
    assert rule == LIMIT
    if isinstance(answer, functions.Special) and answer.kind is functions.Kind.NAN:
        return f"{given} is not a real number"
    if isinstance(answer, functions.Special) and answer.signals:
        return f"{row.name} has a pole there"
    if operands[0].kind == INFINITE:
        return f"{given} is {rule}"
    return _irrational_words(row) if answer is None else _rational_words(row)


def _rational_words(row: Row) -> str:
    return f"{row.name} is rational {row.rational}"


def _irrational_words(row: Row) -> str:
    if not row.proof:
        return f"no proof says whether {row.name} is rational here; it is {row.rational}. The ball decides"
    if row.rational == "nowhere":
        return f"irrational {row.proof}, at every number"
    return f"irrational {row.proof}: {row.name} is rational only {row.rational}"


def _huge_words(name: str) -> str:
    return f"far out, {name} is beyond 2^{functions.BEYOND}, and so beyond every format: no ball is needed"


def _near_words(row: Row, far: functions.Near, operands: tuple[Unpacked, ...]) -> str:
    value, direction, distance = far
    side = "above" if direction > 0 else "below"
    place = f"{side} it by less than 2^{distance}: no ball is needed"
    if isinstance(row, FunctionOfTwo):
        return f"the result is close to {'0' if not value else 'a rational number'}, and {place}"
    (x,) = operands
    small = x.significand.bit_length() + x.exponent < 0
    if small and row.series:
        start = "x" if row.series.startswith("x") else row.series.partition(" ")[0]
        return f"near 0, {row.name}(x) = {row.series} + ...: it is close to {start}, and {place}"
    limit = "x" if value.denominator != 1 or abs(value) > 2 else value
    return f"far out, {row.name}(x) tends to {limit}: it is {place}"
