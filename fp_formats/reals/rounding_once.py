"""Round the results of programs of exact reals once: by one ball of fixed precision on arrays, and the rest exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from flint import arb

from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import Codes, Mask, codes_to_ints
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import FloatPolicy
from halfulp.fp_formats.reals import arrays
from halfulp.fp_formats.reals.elementary import grid_of, round_exactly
from halfulp.fp_formats.reals.enclosing import (
    BEYOND,
    Cell,
    Grid,
    Near,
    Special,
    Unsettled,
    attempts,
    cell_near,
    exact_ball,
)
from halfulp.fp_formats.reals.expressions import Program
from halfulp.fp_formats.reals.extended import MOST_BITS, Above, Enclosed, Number, zero
from halfulp.fp_formats.reals.functions import exponent_of
from halfulp.fp_formats.scalar import FINITE, Result

_NEAREST = -2 * BEYOND
"""A distance from a rational number that no grid resolves; a smaller one is replaced by it, which is still a bound."""
_BEYOND_ALL = 3 * BEYOND // 4 + 64
"""Numbers above this power of two are beyond the largest value of each format (exponents below 3 * 2**15)."""


def rounded(x: Number, dst: FloatFormat, rounding: int, policy: FloatPolicy) -> Result:
    """Return a number rounded once. Raises `Unsettled` where no ball of `MOST_BITS` bits decides."""
    return round_exactly(dst, located(x, grid_of(dst)) if isinstance(x, Enclosed) else x, rounding, policy)


def located(x: Enclosed, grid: Grid) -> Fraction | Special | Cell:
    """Return the cell of a number, or the number itself where its balls are exact."""
    about = x.about
    if isinstance(about, Above) and about.exponent >= _BEYOND_ALL:
        return Cell(int(about.sign < 0), 1, BEYOND)
    if isinstance(about, Near):
        for nearest in (_close(about, grid), _NEAREST):  # the short bound is quicker, and nearly always enough
            cell = cell_near(about._replace(distance=max(about.distance, nearest)), grid)
            if cell is not None:
                return cell
    last = arb.nan()

    def wider() -> arb:
        # A number that is not known to be irrational may lie at the end of its ball, on the grid.
        nonlocal last
        last = x.ball()
        return last + arb(0, last.abs_upper() * exact_ball(1, -2 * MOST_BITS)) if last.is_finite() else last

    for attempt in attempts(wider, grid, MOST_BITS):
        if last.is_exact() and last.is_finite():
            return _exact(last)
        if attempt.cell is not None:
            return attempt.cell
    raise Unsettled(last.str(20), MOST_BITS)


def _close(near: Near, grid: Grid) -> int:
    """Return a distance that is far below the grid around a number."""
    return grid(exponent_of(near.value) - 2 if near.value else -BEYOND) - 64


def _exact(ball: arb) -> Fraction | Special:
    significand, exponent = ball.man_exp()
    if not significand:
        return zero(0)
    # Beyond the range of each format, all numbers round alike.
    return Fraction(int(significand)) * Fraction(2) ** max(-2 * BEYOND, min(2 * BEYOND, int(exponent)))


def settled(
    program: Program,
    columns: Sequence[tuple[FloatFormat, Codes]],
    rounding: int,
    dst: FloatFormat,
    policy: FloatPolicy,
) -> arrays.Settled | None:
    """Round a program of one result on columns of codes, where one ball settles it; None without plain balls.

    The mask is False for operands that are zeros, infinities or NaNs.
    """
    taken = [arrays.operands(fmt, codes, policy) for fmt, codes in columns]
    known: Mask = taken[0][1]
    for _, mask in taken[1:]:
        known = known & mask
    if program.plain() is None:
        return None

    def balls() -> Iterator[arb]:
        run = program.plain()  # at the precision of the context
        assert run is not None
        for arguments in zip(*(column for column, _ in taken), strict=True):
            yield run(arguments)[0]

    return arrays.settled(balls, known, rounding, policy, dst, False)


def settled_rows(
    program: Program, fmt: FloatFormat, codes: Codes, rounding: int, dst: FloatFormat, policy: FloatPolicy
) -> arrays.Settled | None:
    """Round the results of a program on each row of ``codes``, [rows, elements], as `settled`, in one row.

    The mask is False for a row with an infinity or a NaN; zeros are numbers here.
    """
    if program.plain() is None:
        return None
    width = program.arity
    flat = codes.reshape((-1, codes.shape[-1])) if fmt.bits > 64 else codes.reshape(-1)
    balls, nonzero = arrays.operands(fmt, flat, policy)
    zeros = [scalar.operand(fmt, code, policy) for code in codes_to_ints(flat[~nonzero], fmt.bits)]
    finite = nonzero.copy()
    finite[~nonzero] = [x.kind == FINITE for x in zeros]
    known = finite.reshape(len(codes), width).all(axis=1)
    for place in np.flatnonzero(~nonzero).tolist():
        balls[place] = arb(0)

    def results() -> Iterator[arb]:
        run = program.plain()  # at the precision of the context
        assert run is not None
        for row in range(len(codes)):
            yield from run(balls[row * width : (row + 1) * width])

    mask = np.repeat(known, len(program.results))
    return arrays.settled(results, mask, rounding, policy, dst, False)
