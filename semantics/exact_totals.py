"""Exact sums of terms and of products, rounded once into an accumulator's format (see `reductions`)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import Codes, Mask, codes_to_ints, element_shape, ints_to_codes
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import FloatPolicy
from halfulp.semantics import floats
from halfulp.semantics.accumulators import Accumulator, Faults, Number, width_of
from halfulp.semantics.matrix_units.aligned_sums import Integers, Numbers, decode
from halfulp.semantics.matrix_units.exact_sums import Digits, digits_between, pieces

COLUMNS = 1 << 12  # of a long sum: its terms are added in so many columns, and these at the end
ROWS = 1 << 6  # of these columns at a time


class Factor(NamedTuple):
    """The finite values of an operand: each piece is an integer times 2**place. Special elements have the value 0.

    ``special``: the mask of infinities and NaNs, or None.
    """

    pieces: list[tuple[Integers, Integers]]
    special: Mask | None


def exact_sum(accumulator: Accumulator, terms: Codes, source: Number, faults: Faults) -> Codes:
    """Return the exact sums of terms [n, lanes], rounded once."""
    fmt, policy = _format(accumulator), accumulator.profile.arithmetic
    count, lanes = terms.shape[:2]
    if _wide(source) or _wide(fmt):
        return _by_fractions(accumulator, [(terms, source)], (lanes,), faults)
    columns = min(max(1, COLUMNS // max(1, lanes)), max(1, count))
    digits = _digits([source], fmt, columns * lanes)
    special: Mask | None = None
    for start in range(0, count, columns * ROWS):
        some = slice(start, start + columns * ROWS)
        factor = _factor(terms[some], source, accumulator, faults)
        if factor.special is not None:
            special = np.zeros((count, lanes), np.bool_) if special is None else special
            special[some] = factor.special
        for values, places in factor.pieces:
            for row in range(0, len(values), columns):
                value, place = values[row : row + columns], places[row : row + columns]
                digits.add(_filled(value, columns * lanes), _filled(place, columns * lanes))
    digits.merge(lanes)
    codes = digits.rounded(fmt, policy).astype(fmt.storage_dtype)
    return _with_specials(accumulator, codes, [(terms, source)], [special], faults)


def exact_sum_of_products(
    accumulator: Accumulator, a: Codes, b: Codes, sources: tuple[Number, Number], faults: Faults
) -> Codes:
    """Return the exact sums of a [K, tiles, M, 1] times b [K, tiles, 1, N], rounded once: [tiles, M, N]."""
    fmt, policy = _format(accumulator), accumulator.profile.arithmetic
    operands = [(a, sources[0]), (b, sources[1])]
    shape = np.broadcast_shapes(a.shape[1:4], b.shape[1:4])
    if any(map(_wide, (*sources, fmt))):
        return _by_fractions(accumulator, operands, shape, faults)
    factors = [_factor(codes, source, accumulator, faults) for codes, source in operands]
    digits = _digits(sources, fmt, prod(shape))
    for (p, p_place), (q, q_place) in product(factors[0].pieces, factors[1].pieces):
        for x, x_place, y, y_place in zip(p, p_place, q, q_place, strict=True):
            digits.add(np.broadcast_to(x * y, shape), np.broadcast_to(x_place + y_place, shape))
    codes = digits.rounded(fmt, policy).astype(fmt.storage_dtype).reshape(shape)
    return _with_specials(accumulator, codes, operands, [factor.special for factor in factors], faults)


def _format(accumulator: Accumulator) -> FloatFormat:
    assert isinstance(accumulator.number, FloatFormat)
    return accumulator.number


def _wide(number: Number) -> bool:
    """Tell whether elements are too wide for machine integers."""
    return width_of(number) > (64 if isinstance(number, FloatFormat) else 62)


def _filled(rows: Integers, size: int) -> Integers:
    """Return rows as one, filled up with zeros."""
    if rows.size == size:
        return rows
    filled = np.zeros(size, np.int64)
    filled[: rows.size] = rows.reshape(-1)
    return filled


def _range(number: Number) -> tuple[int, int]:
    """Return the lowest place of a bit, and the place above all."""
    if isinstance(number, FloatFormat):
        return number.emin - number.mantissa_bits, number.emax + 1
    return 0, number.width


def _digits(sources: Sequence[Number], fmt: FloatFormat, columns: int) -> Digits:
    """Return digits for products of these types; numbers of the accumulator may stand for some of them."""
    ranges = [_range(source) for source in sources]
    if _stands_in(fmt):
        own_low, own_high = _range(fmt)
        ranges = [(min(low, own_low), max(high, own_high)) for low, high in ranges]
    lowest, highest = sum(low for low, _ in ranges), sum(high for _, high in ranges)
    return Digits(columns, lowest, digits_between(lowest, highest + 32))


def _factor(codes: Codes, source: Number, accumulator: Accumulator, faults: Faults) -> Factor:
    if not isinstance(source, FloatFormat):
        values = source.values(codes).astype(np.int64)
        # Integers of 32 bits and more are split as long significands are.
        fraction_bits = 0 if source.width < 32 else 32
        places = np.full_like(values, fraction_bits)
        return Factor(pieces(Numbers(values, places, fraction_bits)), None)
    numbers = decode(source, codes)
    found = pieces(numbers)
    special = _special(source, codes)
    if special is None:
        return Factor(found, None)
    found = [(np.where(special, 0, part), place) for part, place in found]
    fmt = _format(accumulator)
    if not _stands_in(fmt):
        return Factor(found, special)
    stand_in = _numbers_of(accumulator, codes, source, special, faults)
    extra = [(np.where(special, part, 0), place) for part, place in pieces(decode(fmt, stand_in))]
    return Factor(found + extra, None)


def _stands_in(fmt: FloatFormat) -> bool:
    """Tell whether numbers stand for infinities and NaNs, since the format has neither."""
    return fmt.nan_code is None and fmt.infinity_code is None


def _numbers_of(accumulator: Accumulator, codes: Codes, source: Number, special: Mask, faults: Faults) -> Codes:
    """Return what infinities and NaNs convert to; where a profile makes them poison, that is a fault."""
    chosen = special.reshape(special.shape + (1,) * (codes.ndim - special.ndim))
    return accumulator.converted(np.where(chosen, codes, codes.dtype.type(0)), source, faults, 0)


def _special(source: Number, codes: Codes) -> Mask | None:
    """Return the mask of infinities and NaNs; None if there are none."""
    if not isinstance(source, FloatFormat):
        return None
    special = floats.is_nan(source, codes) | floats.is_infinite(source, codes)
    return special if special.any() else None


def _with_specials(
    accumulator: Accumulator,
    codes: Codes,
    operands: Sequence[tuple[Codes, Number]],
    specials: Sequence[Mask | None],
    faults: Faults,
) -> Codes:
    """Replace the sums that have infinite or NaN terms by the sums of these terms alone."""
    masks = [mask for mask in specials if mask is not None]
    if not masks:
        return codes
    fmt = _format(accumulator)
    count = len(operands[0][0])
    lanes = element_shape(codes, fmt.bits)
    total, anywhere = accumulator.zeros(lanes), np.zeros(lanes, np.bool_)
    hit = np.logical_or.reduce([mask.reshape(count, -1).any(axis=1) for mask in masks])
    quiet = Faults()  # conversions of numbers that only stand for their sign
    for row in np.flatnonzero(hit):
        special = np.logical_or.reduce([np.broadcast_to(mask[row], lanes) for mask in masks])
        values = [
            _signs(accumulator, x[row], source, None if mask is None else mask[row], quiet)
            for (x, source), mask in zip(operands, specials, strict=True)
        ]
        term = values[0] if len(values) == 1 else accumulator.product(values[0], values[1], quiet, 0)
        chosen = special.reshape(special.shape + (1,) * (total.ndim - special.ndim))
        total = accumulator.sum_of_two(total, np.where(chosen, term, accumulator.zeros(())), faults)
        anywhere |= special
    chosen = anywhere.reshape(anywhere.shape + (1,) * (codes.ndim - anywhere.ndim))
    return np.asarray(np.where(chosen, total, codes))


def _signs(accumulator: Accumulator, codes: Codes, source: Number, special: Mask | None, faults: Faults) -> Codes:
    """Return infinities and NaNs in the accumulator's format; for any other number zero or a large one of its sign."""
    fmt = _format(accumulator)
    ints = codes_to_ints(codes, width_of(source))
    number_of = {code: _value(source, code) for code in set(ints)}
    large = Fraction(2) ** fmt.emax
    stand_ins = {
        code: 0 if not number else scalar.from_fraction(fmt, large if number > 0 else -large).code
        for code, number in number_of.items()
    }
    shape = element_shape(codes, width_of(source))
    result = ints_to_codes([stand_ins[code] for code in ints], fmt.bits, shape)
    if special is None:
        return result
    chosen = special.reshape(special.shape + (1,) * (result.ndim - special.ndim))
    return np.asarray(np.where(chosen, accumulator.converted(codes, source, faults, 0), result))


def _value(number: Number, code: int) -> Fraction | None:
    """Return the exact value of a code; None for infinities and NaNs."""
    if isinstance(number, FloatFormat):
        return scalar.value(number, code)
    return Fraction((code ^ number.sign) - number.sign)


def _by_fractions(
    accumulator: Accumulator, operands: Sequence[tuple[Codes, Number]], shape: tuple[int, ...], faults: Faults
) -> Codes:
    """Do the same for elements of any width, one after the other."""
    fmt, policy = _format(accumulator), accumulator.profile.arithmetic
    count = len(operands[0][0])
    columns = []
    for codes, source in operands:
        width = width_of(source)
        values = [_value(source, code) for code in codes_to_ints(codes, width)]
        special = _special(source, codes)
        if special is not None and _stands_in(fmt):
            stand_ins = codes_to_ints(_numbers_of(accumulator, codes, source, special, faults), fmt.bits)
            values = [scalar.value(fmt, other) if x is None else x for x, other in zip(values, stand_ins, strict=True)]
        every = np.array([x or Fraction(0) for x in values], object).reshape(element_shape(codes, width))
        columns.append(np.broadcast_to(every, (count, *shape)).reshape(-1).tolist())
    terms = [x * y for x, y in zip(*columns, strict=True)] if len(columns) == 2 else columns[0]
    lanes = int(np.prod(shape))
    totals = [sum(terms[lane::lanes], Fraction(0)) for lane in range(lanes)]
    codes = ints_to_codes([_rounded(fmt, total, policy) for total in totals], fmt.bits, shape)
    if _stands_in(fmt):
        return codes
    return _with_specials(accumulator, codes, operands, [_special(source, x) for x, source in operands], faults)


def _rounded(fmt: FloatFormat, total: Fraction, policy: FloatPolicy) -> int:
    return scalar.quotient(
        fmt, int(total < 0), abs(total.numerator), total.denominator, 0, scalar.RNE, policy, None
    ).code
