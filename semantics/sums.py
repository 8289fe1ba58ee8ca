"""Sums of terms and of products in an order or exactly, rounded into the format of an accumulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import formats, scalar
from halfulp.fp_formats.aliases import did_you_mean, with_hint
from halfulp.fp_formats.formats import Codes, FloatFormat, Mask, slices
from halfulp.fp_formats.paths import llvm
from halfulp.fp_formats.paths.domains import NATIVE
from halfulp.fp_formats.paths.running_sums import has_running_sums, last_running_sum
from halfulp.fp_formats.policy import FloatPolicy, Rounding
from halfulp.semantics import casts, emulated, floats, integer
from halfulp.semantics.integer_kernels import Reading
from halfulp.semantics.kernel import Fault, Kernel
from halfulp.semantics.matrix_units.aligned_sums import Digits, Integers, Numbers, decode, digits_between, pieces
from halfulp.semantics.profile import PROFILE_FIELDS, Profile

# --- accumulators -----------------------------------------------------------------------------------------------------
#
# Accumulators: the type in which sums are computed, with its addition, multiplication and conversions into it.

RNE = Rounding.TO_NEAREST_EVEN

Number = FloatFormat | Reading
"""An element type: a float format, or the width and the sign of an integer."""

# Up to so many lanes, these are faster than a kernel's call for each row.
TABLE_LANES = 256
SCALAR_LANES = 16
TABLE_PAYS = 1 << 12  # elements from which on a table of all additions saves time


def width_of(number: Number) -> int:
    """Return the number of bits of a code of this number type."""
    return number.bits if isinstance(number, FloatFormat) else number.width


class Faults:
    """The faults of sums, one for each lane: the first fault, with the name of its op."""

    def __init__(self) -> None:
        self.found: list[tuple[str, Fault, Mask]] = []

    def note(self, op: str, faults: tuple[tuple[Fault, Mask], ...], axis: int | None = None) -> None:
        """Add the faults of an op. ``axis``: the axis of the masks that counts the terms; the other axes
        are the lanes.
        """
        for fault, mask in faults:
            self.found.append((op, fault, np.asarray(mask if axis is None else mask.any(axis=axis))))

    def put(self, found: Faults, lanes: tuple[int, ...], part: tuple[slice, ...]) -> None:
        """Add the faults of some lanes. ``lanes``: the shape of all lanes; ``part``: where these lanes are in it."""
        for op, fault, mask in found.found:
            whole = np.zeros(lanes, np.bool_)
            whole[part] = mask
            self.note(op, ((fault, whole),))

    def over(self, lanes: tuple[int, ...]) -> tuple[tuple[str, Fault, Mask], ...]:
        """Return all faults as (op, fault, mask), with masks in the shape of the lanes."""
        return tuple((op, fault, np.broadcast_to(mask, lanes)) for op, fault, mask in self.found)


@dataclass(frozen=True)
class Accumulator:
    """The number type in which sums are computed, with its ops under a profile. Sums are rounded to nearest even, as by
    `arith.addf`.
    """

    number: Number
    profile: Profile

    @property
    def width(self) -> int:
        """The width of a code."""
        return width_of(self.number)

    @cached_property
    def adding(self) -> tuple[str, Kernel]:
        """The name and the kernel of the addition."""
        if isinstance(self.number, FloatFormat):
            return "arith.addf", floats.binary("add", self.number, RNE, 0, self.profile)
        return "arith.addi", integer.addi(self.number.width)

    @cached_property
    def multiplying(self) -> tuple[str, Kernel]:
        """The name and the kernel of the multiplication."""
        if isinstance(self.number, FloatFormat):
            return "arith.mulf", floats.binary("multiply", self.number, RNE, 0, self.profile)
        return "arith.muli", integer.muli(self.number.width)

    def converting(self, source: Number) -> tuple[str, Kernel] | None:
        """Return the name and the kernel of the conversion of terms; None if they have the accumulator's type.

        Raises ValueError for floats into integers.
        """
        match source, self.number:
            case FloatFormat(), FloatFormat() as fmt:
                names = ("arith.convertf", "arith.extf", "arith.truncf")
                name = names[(fmt.bits > source.bits) - (fmt.bits < source.bits)]
                return None if source == fmt else (name, casts.convert(source, fmt, RNE, 0, self.profile))
            case Reading(), FloatFormat() as fmt:
                name = "arith.sitofp" if source.signed else "arith.uitofp"
                return name, casts.from_integer(source.width, source.signed, fmt, self.profile)
            case Reading(), Reading() as own:
                if source.width == own.width:
                    return None
                if source.width > own.width:
                    return "arith.trunci", integer.trunci(source.width, own.width)
                extend = integer.extsi if source.signed else integer.extui
                return f"arith.{extend.__name__}", extend(source.width, own.width)
        raise ValueError("floats cannot be added in an integer type")

    def zeros(self, lanes: tuple[int, ...]) -> Codes:
        """Return +0 in each lane."""
        return np.zeros(formats.code_shape(lanes, self.width), formats.storage_dtype(self.width))

    def converted(self, terms: Codes, source: Number, faults: Faults, axis: int) -> Codes:
        """Return terms in the accumulator's type. ``axis``: the axis along which they are added."""
        found = self.converting(source)
        if found is None:
            return terms
        name, kernel = found
        outcome = kernel.array(terms)
        faults.note(name, outcome.faults, axis)
        return outcome.results[0]

    def product(self, a: Codes, b: Codes, faults: Faults, axis: int) -> Codes:
        """Return the products a * b, each rounded once. New faults are added to ``faults``. ``axis``: the axis along
        which they are added.
        """
        name, kernel = self.multiplying
        outcome = kernel.array(a, b)
        faults.note(name, outcome.faults, axis)
        return outcome.results[0]

    def sum_of_two(self, a: Codes, b: Codes, faults: Faults, axis: int | None = None) -> Codes:
        """Return the sums a + b, each rounded once. New faults are added to ``faults``."""
        name, kernel = self.adding
        outcome = kernel.array(a, b)
        faults.note(name, outcome.faults, axis)
        return outcome.results[0]

    def in_order(self, total: Codes, rows: Codes, faults: Faults) -> Codes:
        """Return ``total`` [lanes] after all ``rows`` [n, lanes] were added to it, one after the other."""
        (lanes,) = formats.element_shape(total, self.width)
        if isinstance(self.number, Reading):
            if self.number.width <= 64:  # exact modulo a power of two, so that the order does not matter
                every = np.add.reduce(rows, axis=0, dtype=rows.dtype) + total
                return np.asarray(every & every.dtype.type((1 << self.number.width) - 1))
        elif not emulated.emulates(self.profile, self.number):
            policy = self.profile.arithmetic
            if has_running_sums(self.number, policy, lanes):
                return last_running_sum(self.number, total, rows, policy)
        if self.width <= 8 and lanes <= TABLE_LANES and rows.size >= TABLE_PAYS:
            table = _additions(self.adding[1], self.width)
            if table is not None:
                return _by_table(table, total, rows)
        if lanes <= SCALAR_LANES and not self.adding[1].faults:
            return _by_scalar(self.adding[1], self.width, total, rows)
        for row in rows:
            total = self.sum_of_two(total, row, faults)
        return total

    def at_places(self, total: Codes, places: npt.NDArray[np.intp], terms: Codes) -> Codes | None:
        """Add terms one after the other to the entries of a list of codes, and return the list. ``places``: for each
        term the index of its entry. None if NumPy does not add so in this type, or if a sum is a NaN, whose bits NumPy
        does not determine.
        """
        if isinstance(self.number, Reading):
            if self.number.width > 64:
                return None
            codes = total.copy()
            np.add.at(codes, places, terms)
            return np.asarray(codes & codes.dtype.type((1 << self.number.width) - 1))
        policy = self.profile.arithmetic
        native = self.number in NATIVE and has_running_sums(self.number, policy)
        if not native or emulated.emulates(self.profile, self.number):
            return None
        sums = total.view(NATIVE[self.number]).copy()
        with np.errstate(all="ignore"):
            np.add.at(sums, places, terms.view(sums.dtype))
        return None if np.isnan(sums[places]).any() else sums.view(total.dtype)


@llvm.forgotten
@lru_cache(maxsize=64)
def _additions(kernel: Kernel, width: int) -> tuple[bytes, ...] | None:
    """Return the sum of each term with every accumulator; None if a sum has a fault."""
    every = np.arange(1 << width, dtype=np.uint8)
    outcome = kernel.array(np.tile(every, every.size), np.repeat(every, every.size))
    if outcome.faults:
        return None
    return tuple(row.tobytes() for row in outcome.results[0].reshape(every.size, every.size))


def _by_table(table: tuple[bytes, ...], total: Codes, rows: Codes) -> Codes:
    result = total.copy()
    for lane, code in enumerate(total.tolist()):
        for term in rows[:, lane].tobytes():
            code = table[term][code]
        result[lane] = code
    return result


def _by_scalar(kernel: Kernel, width: int, total: Codes, rows: Codes) -> Codes:
    add: Callable[..., Any] = kernel.scalar
    results = []
    for lane, code in enumerate(formats.codes_to_ints(total, width)):
        for term in formats.codes_to_ints(rows[:, lane], width):
            code = add(code, term)
        results.append(code)
    return formats.ints_to_codes(results, width, (len(results),))


# --- exact totals -----------------------------------------------------------------------------------------------------

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
    for some in slices(count, columns * ROWS):
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
    """Return rows as one row, filled up with zeros."""
    if rows.size == size:
        return rows
    filled = np.zeros(size, np.int64)
    filled[: rows.size] = rows.reshape(-1)
    return filled


def _range(number: Number) -> tuple[int, int]:
    """Return the lowest place of any bit, and the place above all bits."""
    if isinstance(number, FloatFormat):
        return number.emin - number.mantissa_bits, number.emax + 1
    return 0, number.width


def _digits(sources: Sequence[Number], fmt: FloatFormat, columns: int) -> Digits:
    """Return digits for products of these types; numbers of the accumulator may take the place of some of them."""
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
    """Tell whether numbers take the place of infinities and NaNs, because the format has neither."""
    return fmt.nan_code is None and fmt.infinity_code is None


def _numbers_of(accumulator: Accumulator, codes: Codes, source: Number, special: Mask, faults: Faults) -> Codes:
    """Return the numbers that infinities and NaNs are converted to. Poison under the profile is recorded as a fault."""
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
    """Replace the sums that have infinite or NaN terms by the sums of only these terms."""
    masks = [mask for mask in specials if mask is not None]
    if not masks:
        return codes
    fmt = _format(accumulator)
    count = len(operands[0][0])
    lanes = formats.element_shape(codes, fmt.bits)
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
    """Return infinities and NaNs in the accumulator's format. Any other number becomes zero or a large number of its
    sign.
    """
    fmt = _format(accumulator)
    ints = formats.codes_to_ints(codes, width_of(source))
    number_of = {code: _value(source, code) for code in set(ints)}
    large = Fraction(2) ** fmt.emax
    stand_ins = {
        code: 0 if not number else scalar.from_fraction(fmt, large if number > 0 else -large).code
        for code, number in number_of.items()
    }
    shape = formats.element_shape(codes, width_of(source))
    result = formats.ints_to_codes([stand_ins[code] for code in ints], fmt.bits, shape)
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
    """Compute `exact_sum` or `exact_sum_of_products` with fractions, for elements of any width."""
    fmt, policy = _format(accumulator), accumulator.profile.arithmetic
    count = len(operands[0][0])
    columns = []
    for codes, source in operands:
        width = width_of(source)
        values = [_value(source, code) for code in formats.codes_to_ints(codes, width)]
        special = _special(source, codes)
        if special is not None and _stands_in(fmt):
            stand_ins = formats.codes_to_ints(_numbers_of(accumulator, codes, source, special, faults), fmt.bits)
            values = [scalar.value(fmt, other) if x is None else x for x, other in zip(values, stand_ins, strict=True)]
        every = np.array([x or Fraction(0) for x in values], object).reshape(formats.element_shape(codes, width))
        columns.append(np.broadcast_to(every, (count, *shape)).reshape(-1).tolist())
    terms = [x * y for x, y in zip(*columns, strict=True)] if len(columns) == 2 else columns[0]
    lanes = int(np.prod(shape))
    totals = [sum(terms[lane::lanes], Fraction(0)) for lane in range(lanes)]
    codes = formats.ints_to_codes([_rounded(fmt, total, policy) for total in totals], fmt.bits, shape)
    if _stands_in(fmt):
        return codes
    return _with_specials(accumulator, codes, operands, [_special(source, x) for x, source in operands], faults)


def _rounded(fmt: FloatFormat, total: Fraction, policy: FloatPolicy) -> int:
    return scalar.quotient(
        fmt, int(total < 0), abs(total.numerator), total.denominator, 0, scalar.RNE, policy, None
    ).code


# --- reductions -------------------------------------------------------------------------------------------------------
#
# Sums and sums of products of codes, in a given order and with a given accumulator.
#
# Every sum starts with +0 of the accumulator's type, as a `linalg.fill` with 0 before a reduction does. So the sum of
# no terms is +0, and so is the sum of negative zeros. Terms are converted to the accumulator's type first, each rounded
# once; a product of two converted factors is rounded once in it. The orders:
#
# - ``sequential``: total = total + term, term after term, each sum rounded once.
# - ``pairwise``: neighbours are added, (t0 + t1), (t2 + t3) and so on, then neighbours of these sums, until one is
#   left. A last term without a neighbour stays unchanged. The result is +0 plus the last sum.
# - ``exact``: the exact sum of the exact terms, rounded once. Nothing is converted or rounded before. If terms are
#   infinite or NaN, these terms alone are added as in ``sequential``. In such a product, a zero counts as zero, and any
#   other finite factor as a large number with its sign. A format with neither infinities nor NaN takes the numbers that
#   they convert to.
# - ``open``: the result of ``sequential``. With more than two terms, any other order is right as well.

ORDERS: Mapping[str, str] = PROFILE_FIELDS["reduction_order"].meanings
"""The orders of a reduction, with their meanings."""

AT_ONCE = 1 << 20  # terms at a time: temporaries stay small
DIGITS = 1 << 5  # of an exact sum, about


class Reduced(NamedTuple):
    """Sums: their codes, their faults as (op, fault, mask), and whether the language leaves them unspecified."""

    codes: Codes
    faults: tuple[tuple[str, Fault, Mask], ...] = ()
    unspecified: bool = False


def check_order(order: object) -> str:
    """Return the order if it is known. Raises a ValueError that lists the orders."""
    if not isinstance(order, str) or order not in ORDERS:
        message = f"order is {order!r}, but must be one of {', '.join(ORDERS)}"
        raise ValueError(with_hint(message, did_you_mean(str(order), ORDERS)))
    return order


def check_accumulator(number: Number) -> None:
    """Raise ValueError for a number type without zero, since no sum can start in it."""
    if isinstance(number, FloatFormat) and not number.zero:
        raise ValueError(f"{number.name} has no zero, from which a sum starts")


def add_up(terms: Codes, source: Number, into: Number, order: str, profile: Profile) -> Reduced:
    """Return the sums of terms [n, lanes] of the type ``source`` in the type ``into``: codes [lanes].

    Raises ValueError for an unknown order, for floats into integers, and for an accumulator without zero.
    """
    accumulator = _accumulator(into, order, profile, source)
    count, lanes = terms.shape[:2]
    exact = order == "exact" and isinstance(into, FloatFormat)

    def some(part: tuple[slice, ...], found: Faults) -> Codes:
        (columns,) = part
        if exact:
            return exact_sum(accumulator, terms[:, columns], source, found)
        return _reduced(
            accumulator,
            count,
            lambda rows: accumulator.converted(terms[rows, columns], source, found, 0),
            accumulator.zeros((len(range(lanes)[columns]),)),
            order,
            found,
        )

    return _in_parts(accumulator, (lanes,), count, order, some)


def multiply_and_add(
    a: Codes, b: Codes, sources: tuple[Number, Number], into: Number, order: str, profile: Profile
) -> Reduced:
    """Return matrix products: of a [tiles, M, K] and b [tiles, K, N], codes [tiles, M, N].

    Either may have one tile for all. ``sources``: the types of a and b. Raises ValueError as `add_up` does.
    """
    accumulator = _accumulator(into, order, profile, *sources)
    exact = order == "exact" and isinstance(into, FloatFormat)
    shape = np.broadcast_shapes((a.shape[0], a.shape[1], 1), (b.shape[0], 1, b.shape[2]))
    count = a.shape[2]
    # [K, tiles, M, 1] and [K, tiles, 1, N]
    x, y = np.moveaxis(a, 2, 0)[:, :, :, None], np.moveaxis(b, 1, 0)[:, :, None]
    faults = Faults()
    if not exact:
        x, y = (accumulator.converted(each, source, faults, 0) for each, source in zip((x, y), sources, strict=True))

    def some(part: tuple[slice, ...], found: Faults) -> Codes:
        tiles, rows, columns = part
        left = x[:, tiles if x.shape[1] > 1 else slice(None), rows]
        right = y[:, tiles if y.shape[1] > 1 else slice(None), :, columns]
        if exact:
            return exact_sum_of_products(accumulator, left, right, sources, found)
        lanes = np.broadcast_shapes(left.shape[1:4], right.shape[1:4])
        zeros = accumulator.zeros((prod(lanes),))

        def products(ks: slice) -> Codes:
            codes = accumulator.product(left[ks], right[ks], found, 0)
            return codes.reshape(len(codes), *zeros.shape)

        return _reduced(accumulator, count, products, zeros, order, found, lanes)

    return _in_parts(accumulator, shape, count, order, some, faults)


def _in_parts(
    accumulator: Accumulator,
    lanes: tuple[int, ...],
    count: int,
    order: str,
    some: Callable[[tuple[slice, ...], Faults], Codes],
    faults: Faults | None = None,
) -> Reduced:
    """Compute some lanes at a time, so that temporary arrays stay small: a sum by pairs needs all its terms, an exact
    sum its digits.
    """
    faults = Faults() if faults is None else faults
    each = {"pairwise": max(1, count), "exact": DIGITS}.get(order, 1)
    steps, room = [], max(1, AT_ONCE // each)
    for size in reversed(lanes):
        steps.append(min(max(1, size), room))
        room = max(1, room // max(1, size))
    codes = accumulator.zeros(lanes)
    for part in product(*(slices(size, step) for size, step in zip(lanes, reversed(steps), strict=True))):
        found = Faults()
        into = codes[part]
        into[...] = some(part, found).reshape(into.shape)
        faults.put(found, lanes, part)
    unspecified = order == "open" and count > 2 and isinstance(accumulator.number, FloatFormat)
    return Reduced(codes, faults.over(lanes), unspecified)


def _accumulator(into: Number, order: str, profile: Profile, *sources: Number) -> Accumulator:
    check_order(order)
    check_accumulator(into)
    accumulator = Accumulator(into, profile)
    for source in sources:
        accumulator.converting(source)
    return accumulator


def _reduced(
    accumulator: Accumulator,
    count: int,
    terms: Callable[[slice], Codes],
    zeros: Codes,
    order: str,
    faults: Faults,
    lanes: tuple[int, ...] | None = None,
) -> Codes:
    """Add terms to ``zeros`` [lanes]. ``terms``: a function that returns the terms of some rows, [rows, lanes], as the
    accumulator's codes. ``lanes``: the shape of the lanes in faults, if it differs.
    """
    found = Faults()
    if order == "pairwise" and count:
        rows = terms(slice(None))
        while len(rows) > 1:
            even = len(rows) // 2 * 2
            sums = accumulator.sum_of_two(rows[0:even:2], rows[1:even:2], found, 0)
            rows = np.concatenate([sums, rows[even:]])
        codes = accumulator.sum_of_two(zeros, rows[0], found)
    else:
        codes = zeros
        for some in slices(count, max(1, AT_ONCE // max(1, len(zeros)))):
            codes = accumulator.in_order(codes, terms(some), found)
    for op, fault, mask in found.found:
        faults.note(op, ((fault, mask.reshape(lanes or mask.shape)),))
    return codes


def lanes_of(codes: Codes, number: Number, axes: tuple[int, ...]) -> tuple[Codes, tuple[int, ...]]:
    """Return codes as an array [n, lanes], where n counts the elements along ``axes`` in row-major order, and the shape
    of the lanes.
    """
    rank = codes.ndim - len(formats.code_shape((), width_of(number)))
    kept = [axis for axis in range(rank) if axis not in axes]
    shape = tuple(codes.shape[axis] for axis in kept)
    moved = codes.transpose(*sorted(axes), *kept, *range(rank, codes.ndim))
    return moved.reshape(prod(codes.shape[axis] for axis in axes), prod(shape), *codes.shape[rank:]), shape
