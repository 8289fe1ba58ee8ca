"""The sums of an `Accumulator` on arrays: align numbers to the largest exponent, cut them off, add, and round by
`fp_formats`.

Arrays are [k, M, N, tiles], or broadcast to that; C and sums are [M, N, tiles]. `scalar_sums` is the specification.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact.core import RoundingOptions, Wide, nans_of, sign_of, specials_of, unpack
from halfulp.fp_formats.exact.encoding import round_pack
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.policy import SPEC, FloatPolicy, Rounding, as_rounding
from halfulp.fp_formats.scalar import OVERFLOW, RNE
from halfulp.semantics.matrix_units.accumulator import KEPT, Accumulator, level_of, shape_of
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.scalar_sums import RegisterStep, nan_of
from halfulp.semantics.matrix_units.sliced_products import Aligned, in_words, sums_of_products

Integers = npt.NDArray[np.int64]

ZERO_EXPONENT = -126
"""The exponent of a zero where a rule says nothing else. It matters in alignments only."""

NO_EXPONENT = -(1 << 14)
"""The exponent of a zero that does not count in alignments: below that of any number, however often it is added."""

# What is recorded for explanations.


class Members(NamedTuple):
    """The numbers that a term or a sum consists of.

    ``products``: the indices of its products in their group; if the group consists of dot products, the indices of
    these. ``c``: True if C is one of the numbers.
    """

    products: tuple[int, ...]
    c: bool = False


@dataclass(frozen=True)
class Alignment:
    """One sum of aligned terms: each is an integer times 2**(exponent - fraction_bits).

    ``members``: what each term consists of. ``kept``: the terms as integers in units of 2**unit, each rounded as
    ``cuts`` says; ``bits``: the fraction bits that each keeps. ``total`` is their sum, and ``largest`` the exponent
    that they were aligned to.
    """

    members: tuple[Members, ...]
    significands: tuple[int, ...]
    exponents: tuple[int, ...]
    fraction_bits: tuple[int, ...]
    kept: tuple[int, ...]
    cuts: tuple[str, ...]
    bits: tuple[int, ...]
    largest: int
    unit: int
    total: int

    @property
    def lost(self) -> tuple[Fraction, ...]:
        """For each term, its exact value minus the part that was kept."""
        unit = Fraction(2) ** self.unit
        terms = zip(self.significands, self.exponents, self.fraction_bits, self.kept, strict=True)
        return tuple(s * Fraction(2) ** (e - f) - kept * unit for s, e, f, kept in terms)


@dataclass(frozen=True)
class RoundedResult:
    """A rounded intermediate or final result, as a code of the format. ``last``: it is the sum of a group."""

    members: Members
    format: str
    code: int
    last: bool = False


@dataclass(frozen=True)
class ExactSum:
    """The exact products and C, and their exact sum, for finite operands."""

    terms: tuple[Fraction, ...]
    total: Fraction


SumStep = Alignment | RoundedResult | ExactSum | RegisterStep


class SumTrace(list[SumStep]):
    """The steps by which a model computed one element. The models record them."""

    def rounded(self, members: Members, fmt: FloatFormat, codes: Codes, last: bool = False) -> None:
        """Record a rounded number as a `RoundedResult`. ``codes``: its code. ``last``: whether it is the sum of a
        group.
        """
        self.append(RoundedResult(members, fmt.name, int(codes.reshape(-1)[0]), last))

    def aligned(self, terms: Sequence[Terms], kept: Sequence[Integers], total: Numbers) -> None:
        """Record a sum of aligned terms as an `Alignment`. ``kept``: the terms as they are added;
        ``total``: their sum.
        """

        def ints(arrays: Iterable[Any]) -> tuple[int, ...]:
            return tuple(int(each) for array in arrays for each in np.asarray(array).reshape(-1))

        def each(values: Iterable[Any]) -> tuple[Any, ...]:
            return tuple(value for value, part in zip(values, terms, strict=True) for _ in part.members)

        numbers = [part.numbers for part in terms]
        (largest,), (whole,) = ints([total.exponent]), ints([total.significand])
        self.append(
            Alignment(
                tuple(member for part in terms for member in part.members),
                ints(x.significand for x in numbers),
                ints(x.exponent for x in numbers),
                each(x.fraction_bits for x in numbers),
                ints(kept),
                each(part.cut for part in terms),
                each(part.bits for part in terms),
                largest,
                largest - total.fraction_bits,
                whole,
            )
        )


# Decoding.


class Numbers(NamedTuple):
    """Finite codes as significand * 2**(exponent - fraction_bits), where a normal significand has an integer bit.

    ``nan`` and ``infinite`` are masks, or None if no element is special. In special elements the numbers have no
    meaning, except for the sign of an infinity. ``minus`` and ``plus``: masks of the sums that consist only of -0, and
    only of +0; None if the signs of zeros do not matter.
    """

    significand: Integers
    exponent: Integers
    fraction_bits: int
    nan: Mask | None = None
    infinite: Mask | None = None
    minus: Mask | None = None
    plus: Mask | None = None

    def at(self, index: Any) -> Numbers:
        """Return the elements at an index."""
        masks = (None if mask is None else mask[index] for mask in self[3:])
        return Numbers(self.significand[index], self.exponent[index], self.fraction_bits, *masks)


def decode(fmt: FloatFormat, codes: Codes, zero_exponent: int = ZERO_EXPONENT, signs: bool = False) -> Numbers:
    """Split codes of a format of up to 64 bits into significands and exponents. ``zero_exponent``: the exponent of
    zeros. ``signs``: also make masks of the zeros of each sign.
    """
    if fmt.bits > 16 or codes.size < _TABLE_PAYS:
        return _decoded(fmt, codes, zero_exponent, signs)
    every, special = _every_code(fmt, zero_exponent, signs)
    if special is not None and not special[codes].any():
        every = every._replace(nan=None, infinite=None)
    return every.at(codes)


_TABLE_PAYS = 1 << 11
"""The codes from which on a look-up in the table of a short format saves time."""


@lru_cache(maxsize=64)
def _every_code(fmt: FloatFormat, zero_exponent: int, signs: bool) -> tuple[Numbers, Mask | None]:
    """Return the `Numbers` of all codes of a format, and the mask of NaNs and infinities."""
    codes = np.arange(1 << fmt.bits, dtype=fmt.storage_dtype)
    return _decoded(fmt, codes, zero_exponent, signs), specials_of(fmt, codes.astype(np.uint64))


def _decoded(fmt: FloatFormat, codes: Codes, zero_exponent: int, signs: bool) -> Numbers:
    lifted = codes.astype(np.uint64)
    sign, significand, exponent = unpack(fmt, lifted)
    signed = significand.view(np.int64)
    zero = signed == 0
    exponent = np.where(zero, zero_exponent, exponent + fmt.mantissa_bits)
    signed = np.where(sign != 0, -signed, signed)
    zeros = (zero & (sign != 0), zero & (sign == 0)) if signs else (None, None)
    special = specials_of(fmt, lifted)
    if special is None or not special.any():
        return Numbers(signed, exponent, fmt.mantissa_bits, None, None, *zeros)
    nan = nans_of(fmt, lifted)
    infinite = special if nan is None else special & ~nan
    return Numbers(signed, exponent, fmt.mantissa_bits, nan, infinite, *zeros)


class Specials(NamedTuple):
    """Masks of the sums that have NaN, +infinity and -infinity among their terms."""

    nan: Mask
    positive: Mask
    negative: Mask

    def into(self, fmt: FloatFormat, codes: Codes, nan_code: int) -> Codes:
        """Return ``codes`` with the results of the special sums put in: infinities and NaNs."""
        infinity, sign = fmt.infinity_code or 0, fmt.sign_mask or 0
        codes = np.where(self.positive, infinity, np.where(self.negative, infinity | sign, codes))
        return np.where(self.nan | (self.positive & self.negative), nan_code, codes)


def special_terms(a: Numbers, b: Numbers, c: Numbers, scales: tuple[Numbers, ...] = ()) -> Specials | None:
    """Return masks of the special terms of sum(a * b, axis 0) + c; None if there are none."""
    if all(x.nan is None and x.infinite is None for x in (a, b, c, *scales)):
        return None
    products, addend = _with_specials(a, (a, b, *scales)), c.at(np.newaxis)
    return _specials_among([products, addend])


def _with_specials(result: Numbers, factors: Sequence[Numbers]) -> Numbers:
    """Return a product of factors with the masks of NaNs and infinities, where infinity times zero is NaN."""
    if all(x.nan is None and x.infinite is None for x in factors):
        return result
    shape = np.broadcast_shapes(*(x.significand.shape for x in factors))
    nan, infinite, zero, minus = (np.zeros(shape, np.bool_) for _ in range(4))
    for x in factors:
        zero |= x.significand == 0
        minus ^= x.significand < 0
        if x.nan is not None:
            nan |= x.nan
        if x.infinite is not None:
            infinite |= x.infinite
    nan |= infinite & zero
    signs = np.where(minus, np.int64(-1), np.int64(1))
    significand = np.where(infinite, signs, np.broadcast_to(result.significand, shape))
    return result._replace(significand=significand, nan=nan, infinite=infinite & ~nan)


def _specials_among(terms: Sequence[Numbers]) -> Specials | None:
    """Find the special terms along the first axes. Returns None if there are none."""
    if all(x.nan is None and x.infinite is None for x in terms):
        return None
    shape = np.broadcast_shapes(*(x.significand.shape[1:] for x in terms))
    found = Specials(*(np.zeros(shape, np.bool_) for _ in range(3)))
    for x in terms:
        if x.nan is not None:
            np.logical_or(found.nan, x.nan.any(axis=0), out=found.nan)
        if x.infinite is not None:
            for mask, of_sign in ((found.positive, x.significand > 0), (found.negative, x.significand < 0)):
                np.logical_or(mask, (x.infinite & of_sign).any(axis=0), out=mask)
    return found


# The core: align, cut off, add.


def aligned(x: Numbers, largest: Integers, bits: int, cut: str = "toward_zero") -> Integers:
    """Return numbers in units of 2**(largest - bits), rounded by ``cut``. No exponent may be above ``largest``, and no
    significand above 2**61.
    """
    extra = bits - x.fraction_bits
    shift = largest - x.exponent
    significand = x.significand
    if extra > 0:
        significand = significand << extra
    else:
        shift -= extra
    if cut == "downward":
        return np.asarray(significand >> shift)
    if cut == "toward_zero":
        negative = significand >> 63  # -1 or 0: the magnitude is shifted
        magnitude = significand ^ negative
        magnitude -= negative
        magnitude >>= shift
        magnitude ^= negative
        magnitude -= negative
        return magnitude
    shift = np.minimum(shift, 62)  # from there on, less than half a unit is left
    kept = significand >> shift
    twice, unit = significand - (kept << shift) << 1, np.int64(1) << shift
    match cut:
        case "to_odd":
            return np.asarray(kept | (twice != 0))
        case "upward":
            return np.asarray(kept + (twice != 0))
        case "to_nearest_away":
            return np.asarray(kept + ((twice > unit) | ((twice == unit) & (significand > 0))))
    return np.asarray(kept + ((twice > unit) | ((twice == unit) & (kept & 1 == 1))))


class Terms(NamedTuple):
    """Terms [n, M, N, tiles] of a sum, and how they are cut off: the rounding, the fraction bits that they keep, and
    the longest shift. For a trace, also what they consist of.
    """

    numbers: Numbers
    cut: str
    bits: int
    shifter: int | None
    members: Sequence[Members] = ()


def aligned_sum(terms: Sequence[Terms], bits: int, trace: SumTrace | None = None) -> Numbers:
    """Return the sum of terms along their first axes. It has the largest exponent and ``bits`` fraction bits."""
    largest = terms[0].numbers.exponent.max(axis=0)
    for part in terms[1:]:
        largest = np.maximum(largest, part.numbers.exponent.max(axis=0))
    kept = []
    for numbers, cut, places, shifter, _ in terms:
        integers = aligned(numbers, largest, places, cut)
        if shifter is not None:
            integers = np.where(largest - numbers.exponent > shifter, 0, integers)
        kept.append(integers << (bits - places) if bits > places else integers)
    total = kept[0].sum(axis=0)
    for integers in kept[1:]:
        total += integers.sum(axis=0)
    result = Numbers(total, largest, bits)
    if trace is not None:
        trace.aligned(terms, kept, result)
    minus, plus = ([getattr(part.numbers, name) for part in terms] for name in ("minus", "plus"))
    result = result._replace(minus=_all_of(minus), plus=_all_of(plus))
    specials = _specials_among([part.numbers for part in terms])
    if specials is None:
        return result
    nan = specials.nan | (specials.positive & specials.negative)
    total = np.where(specials.positive, 1, np.where(specials.negative, -1, total))
    return result._replace(significand=total, nan=nan, infinite=(specials.positive | specials.negative) & ~nan)


def exact_sum(op: TileOp, terms: Sequence[Terms]) -> Numbers:
    """Return the sum of terms along their first axes, with 61 bits. The last bit is set if lower bits are lost, so the
    sum must be rounded to D next.
    """
    masks = aligned_sum([term._replace(bits=0) for term in terms], 0)
    lowest, length = _places(op)
    digits = Digits(masks.significand.size, lowest - 64, length + 2)  # so that no sum but 0 is below 2**64
    shape = masks.significand.shape
    for numbers in (term.numbers for term in terms):
        special = [mask for mask in (numbers.nan, numbers.infinite) if mask is not None]
        if special:  # they have no number
            numbers = numbers._replace(significand=np.where(np.logical_or.reduce(special), 0, numbers.significand))
        for piece, place in pieces(numbers):
            for row, at in zip(piece, np.broadcast_to(place, piece.shape), strict=True):
                digits.add(np.broadcast_to(row, shape), np.broadcast_to(at, shape))
    negative, size, place = digits.totals()
    above = np.frexp(size.hi.astype(np.float64))[1].astype(np.int64)  # bits beside the 64 of the lower half, up to 32
    below = (above + 3).view(np.uint64)
    rest = size.lo & ((np.uint64(1) << below) - np.uint64(1)) != 0
    magnitude = (size.hi << (np.uint64(64) - below) | size.lo >> below | rest).view(np.int64)
    significand = np.where(negative, -magnitude, magnitude).reshape(shape)
    if masks.infinite is not None:
        significand = np.where(masks.infinite, np.sign(masks.significand), significand)
    return masks._replace(significand=significand, exponent=(place + above + 3).reshape(shape), fraction_bits=0)


def _all_of(masks: Sequence[Any]) -> Mask | None:
    """Return the mask of the elements that are True in all masks along the first axes; None if the masks are None."""
    if any(mask is None for mask in masks):
        return None
    found: Mask = masks[0].all(axis=0)
    for mask in masks[1:]:
        found = found & mask.all(axis=0)
    return found


def rounded(rule: Accumulator, fmt: FloatFormat, total: Numbers, how: str, partial: bool = False) -> Codes:
    """Round sums to codes of D. ``how``: the rounding mode. ``partial``: further terms are added to the sums."""
    size = np.abs(total.significand).reshape(-1).view(np.uint64)
    exponent = np.broadcast_to(total.exponent - total.fraction_bits, total.significand.shape)
    return packed(rule, fmt, total, size, exponent.reshape(-1), how, partial)


def packed(
    rule: Accumulator,
    fmt: FloatFormat,
    total: Numbers,
    size: Any,
    exponent: Integers,
    how: str,
    partial: bool = False,
) -> Codes:
    """Round size * 2**exponent, with the signs, the zeros and the special elements of ``total``, to codes of D. ``how``
    and ``partial``: as for `rounded`.

    ``size`` may have two limbs; only the sign of the significands of ``total`` matters.
    """
    narrow = rule.sum_format(fmt.name)
    places, mode, shape = np.uint64(fmt.mantissa_bits - narrow.mantissa_bits), as_rounding(how), total.significand.shape
    sign_bit = np.uint64(fmt.sign_mask or 0)
    negative = total.significand < 0
    options = RoundingOptions(mode, SPEC, want_flags=rule.overflow != "default")
    found = round_pack(narrow, negative.reshape(-1).astype(np.uint64), size, exponent, options)
    codes = np.asarray(found.codes.lo if isinstance(found.codes, Wide) else found.codes).reshape(shape) << places
    # The sign of the narrow format stands where that of D does.
    if found.flags is not None:
        over = (found.flags & OVERFLOW != 0).reshape(shape)
        largest = fmt.infinity_code if rule.overflow == "infinity" else narrow.max_code << int(places)
        codes = np.where(over, np.where(negative, sign_bit, 0) | np.uint64(largest or 0), codes)
    if total.minus is not None and total.plus is not None:
        minus = total.minus if mode is not Rounding.DOWNWARD else ~total.plus
        codes = np.where(total.significand == 0, np.where(minus, sign_bit, np.uint64(0)), codes)
    if rule.zero == "positive":
        codes = np.where(codes == sign_bit, 0, codes)
    codes = codes.astype(fmt.storage_dtype)
    if partial and rule.flush:
        codes = flushed(fmt, codes, signed=True)
    if total.infinite is not None:
        infinities = np.where(negative, sign_bit, np.uint64(0)) | np.uint64(fmt.infinity_code or 0)
        codes = np.where(total.infinite, infinities, codes).astype(fmt.storage_dtype)
    if total.nan is not None:
        codes = np.where(total.nan, nan_of(rule, fmt), codes).astype(fmt.storage_dtype)
    return codes


def products_of(a: Numbers, b: Numbers) -> Numbers:
    """Return the exact products of factors. A product that is zero has the sum of the exponents of its factors."""
    return Numbers(a.significand * b.significand, a.exponent + b.exponent, a.fraction_bits + b.fraction_bits)


# Rules. Each takes one group of factors at a time and the accumulator's codes, in D's format.


class Factors(NamedTuple):
    """The factors of a group, A's as [k, M, 1, tiles] and B's as [k, 1, N, tiles], and their scales."""

    a: Numbers
    b: Numbers
    scales: tuple[Numbers, ...] = ()


def decoded(rule: Accumulator, fmt: FloatFormat, codes: Codes) -> Numbers:
    """Return the significands and exponents of operands or sums, as the rule uses them."""
    if rule.flush:
        codes = flushed(fmt, codes, signed=False)
    none = NO_EXPONENT if rule.zero_exponent is None else rule.zero_exponent
    return decode(fmt, codes, none, signs=rule.zero == "ieee")


def fits(rule: Accumulator, op: TileOp) -> bool:
    """Tell whether integers of 64 bits can hold all sums of `aligned_group`. If not, the specification
    computes them.
    """
    if rule.bits is None:
        return False
    formats = [FORMATS[op.a], FORMATS[op.b], *([FORMATS[op.scale]] * 2 if op.scale else [])]
    above = len(formats) + (2 * rule.dot).bit_length() + (4 if rule.dot > 1 else 0)  # bits above the exponent's place
    size = min(rule.group or op.shape[2], op.shape[2]) + 1
    sums = max(rule.bits, sum(fmt.mantissa_bits for fmt in formats), FORMATS[op.d].mantissa_bits) + rule.guard
    return above + size.bit_length() + sums <= 60


def holds_products(op: TileOp) -> bool:
    """Tell whether integers of 64 bits can hold the exact products. For f64 they can hold only the lower bits."""
    formats = [FORMATS[op.a], FORMATS[op.b], *([FORMATS[op.scale]] * 2 if op.scale else [])]
    return sum(fmt.precision for fmt in formats) <= 62


def aligned_group(rule: Accumulator, op: TileOp, group: Factors, c: Codes, trace: SumTrace | None) -> Codes:
    """Add a group of products to C as the rule says, and return the sums as codes of D. Aligned terms keep ``bits``
    bits, or all bits if each sum is rounded to D.
    """
    fmt = FORMATS[op.d]
    addend, products = decoded(rule, fmt, c).at(np.newaxis), products_by(rule, fmt, group)
    count, bits = len(products.significand), rule.bits or 0
    if rule.products == "rounded":
        codes = rounded(rule, fmt, products, rule.partial, partial=True)
        if trace is not None:
            for number, code in enumerate(codes):
                trace.rounded(Members((number,)), fmt, code)
        products = decoded(rule, fmt, codes)

    def of_products(which: slice | int) -> Terms:
        numbers = range(count)[which]
        members = [Members((n,)) for n in numbers] if isinstance(numbers, range) else [Members((numbers,))]
        return Terms(products.at(which if isinstance(which, slice) else [which]), rule.cut, bits, rule.shifter, members)

    def of_sum(total: Numbers, members: Members, keep: int = bits) -> Terms:
        """Return a partial sum in the form in which it enters the next addition."""
        if rule.partial != KEPT:
            codes = rounded(rule, fmt, total, rule.partial, partial=True)
            if trace is not None:
                trace.rounded(members, fmt, codes)
            total = decoded(rule, fmt, codes)
        return Terms(total.at(np.newaxis), rule.cut_sums, keep, rule.shifter, [members])

    def summed(terms: Sequence[Terms], unit: int = bits) -> tuple[Numbers, Members]:
        members = [member for part in terms for member in part.members]
        whole = Members(tuple(sorted(n for m in members for n in m.products)), any(m.c for m in members))
        return (exact_sum(op, terms) if rule.bits is None else aligned_sum(terms, unit, trace)), whole

    with_c = Terms(addend, rule.cut, bits, rule.c_shifter, [Members((), True)])
    first = [with_c] if rule.c == "with" else []
    if rule.tree == "flat":
        total, members = summed([of_products(slice(None)), *first])
    elif rule.tree == "even_odd":
        halves = [summed([of_products(slice(start, None, 2))]) for start in range(min(count, 2))]
        sums = [of_sum(*half) for half in halves]
        total, members = summed(sums) if len(sums) > 1 else (sums[0].numbers.at(0), sums[0].members[0])
    else:
        terms = [*first, *map(of_products, range(count))]
        additions = shape_of(rule.tree, len(terms))
        total, members = terms[0].numbers.at(0), terms[0].members[0]
        for number, (left, right) in enumerate(additions, 1):
            total, members = summed([terms[left], terms[right]])
            if number < len(additions):
                terms.append(of_sum(total, members))
    if rule.c == "last":
        last = Terms(addend, rule.cut_sums, bits, rule.c_shifter, [Members((), True)])
        total, members = summed([of_sum(total, members, bits + rule.guard), last], bits + rule.guard)
    codes = rounded(rule, fmt, total, rule.rounding)
    if trace is not None:
        trace.rounded(members, fmt, codes, last=True)
    return codes


def products_by(rule: Accumulator, fmt: FloatFormat, group: Factors) -> Numbers:
    """Return the terms that a group of factors gives: products times their scales, or exact sums of ``dot`` products
    with the same scales; with NaNs, infinities, and zeros as the rule treats them.
    """
    factors = (group.a, group.b, *group.scales)
    if rule.dot > 1:
        products = _dots(rule, group)
        scales = tuple(scale.at(slice(None, None, rule.dot)) for scale in group.scales)
        return _with_specials(products, (products._replace(minus=None, plus=None), *scales))
    products = products_of(group.a, group.b)
    if group.scales:
        products = products_of(products, products_of(*group.scales))
    if rule.zero_exponent is None:
        products = products._replace(exponent=np.where(products.significand == 0, NO_EXPONENT, products.exponent))
    if rule.zero == "ieee":
        minus = np.zeros(products.significand.shape, np.bool_)
        for x in factors:
            assert x.minus is not None
            minus = minus ^ ((x.significand < 0) | x.minus)
        zero = products.significand == 0
        products = products._replace(minus=zero & minus, plus=zero & ~minus)
    products = _with_specials(products, factors)
    return _with_overflow(fmt, products) if rule.product_overflow else products


def _dots(rule: Accumulator, group: Factors) -> Numbers:
    scale = products_of(*group.scales)
    # f4E2M1FN: a number is its significand shifted by its exponent, 0 to 2; a zero's does not matter.
    a, b = (x.significand << np.maximum(x.exponent, 0) for x in (group.a, group.b))
    units = a * b
    dots = np.add.reduceat(units, np.arange(0, len(units), rule.dot), axis=0)
    every = scale.at(slice(None, None, rule.dot))
    significand = dots * np.abs(every.significand)
    exponent = np.broadcast_to(every.exponent, dots.shape)
    if rule.zero_exponent is None:
        exponent = np.where(significand == 0, NO_EXPONENT, exponent)
    bits = group.a.fraction_bits + group.b.fraction_bits + every.fraction_bits
    signs = np.zeros(dots.shape, np.bool_) if rule.zero == "ieee" else None
    return Numbers(significand, exponent, bits, minus=signs, plus=signs)


def _with_overflow(fmt: FloatFormat, products: Numbers) -> Numbers:
    """Mark products of at least 2**(emax + 1) of D as infinite."""
    if products.exponent.max() < fmt.emax:
        return products
    # The leading place of a product is that of its exponent, the next one, or a lower one: shifts stay short.
    steps = np.clip(fmt.emax + 1 - products.exponent + products.fraction_bits, 0, 62)
    over = (np.abs(products.significand) >> steps != 0) & (products.significand != 0)
    if products.nan is not None:
        over &= ~products.nan
    infinite = over if products.infinite is None else over | products.infinite
    return products._replace(infinite=infinite)


def flushed(fmt: FloatFormat, codes: Codes, signed: bool) -> Codes:
    """Replace zeros and numbers below the smallest normal one by zeros, which keep their sign or are positive."""
    magnitude = codes & codes.dtype.type(fmt.code_mask >> 1)
    zeros = codes & codes.dtype.type(fmt.sign_mask or 0) if signed else codes.dtype.type(0)
    return np.where(magnitude < fmt.min_normal_code, zeros, codes)


def tree(rule: Accumulator, fmt: FloatFormat, a: Codes, b: Codes, c: Codes, trace: SumTrace | None) -> Codes:
    """Add one group of products to C by a plain rule that is not a chain, and return the sums. ``a``, ``b``: codes of
    C's format.
    """

    def done(codes: Codes) -> Codes:
        return flushed(fmt, codes, signed=True) if rule.flush else codes

    def recorded(codes: Codes, first: int) -> None:
        if trace is not None:
            for number, each in enumerate(codes, first):
                trace.rounded(members[number], fmt, each)

    sums, count = done(fast.multiply(fmt, a, b).codes), len(a)
    members = [Members((number,)) for number in range(count)]
    for left, right in shape_of(rule.tree, count) if trace is not None else ():
        members.append(Members((*members[left].products, *members[right].products)))
    recorded(sums, 0)
    while len(sums) > 1:
        first, second, rest = level_of(rule.tree, len(sums))
        added = done(fast.add(fmt, sums[first], sums[second]).codes)
        recorded(added, count)
        count += len(added)
        sums = np.concatenate([added, sums[rest]]) if len(sums[rest]) else added
    if rule.flush:
        c = flushed(fmt, c, signed=False)
    c = fast.add(fmt, c, sums[0]).codes
    if trace is not None:
        trace.rounded(Members(members[-1].products, True), fmt, c, last=True)
    return c


def chain(fmt: FloatFormat, a: Codes, b: Codes, c: Codes, trace: SumTrace | None) -> Codes:
    """Return C after a fused multiply-add for each pair of factors, in order along the first axis. All codes have C's
    format.
    """
    for number, (left, right) in enumerate(zip(a, b, strict=True)):
        c = fast.fma(fmt, left, right, c).codes
        if trace is not None:
            trace.rounded(Members((number,), True), fmt, c)
    return c


# --- exact sums -------------------------------------------------------------------------------------------------------
#
# Exact sums of products, rounded once: integers in digits of 32 bits; a digit may hold more until it is carried.

DIGIT = np.int64((1 << 32) - 1)

Chunk = Callable[[Codes, Codes, Codes, tuple[Codes, ...], SumTrace | None], Codes]
"""The function of a model for a chunk of tiles: A [K, M, 1, tiles], B [K, 1, N, tiles], C [M, N, tiles], and scales."""


def exact_model(op: TileOp) -> tuple[Chunk, int]:
    """Return the exact model as a function of chunks, and the number of digits that it keeps for each element of D."""
    fmt_a, fmt_b, fmt = (FORMATS[name] for name in (op.a, op.b, op.d))
    lowest, length = _places(op)

    def model(a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...], trace: SumTrace | None) -> Codes:
        x, y, addend = decode(fmt_a, a), decode(fmt_b, b), decode(fmt, c)
        z = tuple(decode(FORMATS[op.scale], scale) for scale in scales)
        sums = _sums_of(x, y, z)
        words = None if sums is None else in_words([*sums, *pieces(addend)])
        if words is not None:
            codes = rounded_to(fmt, words.total < 0, np.abs(words.total).view(np.uint64), words.place)
        else:
            codes = _total(x, y, z, addend, sums, lowest, length).rounded(fmt).reshape(c.shape)
        if trace is not None:
            trace.append(_exact_sum(op, a, b, c, scales))
        # An exact zero is negative only if all terms are negative zeros.
        zero = (codes == 0) & _negative(fmt, c)
        if zero.any():
            minus = _negative(fmt_a, a) ^ _negative(fmt_b, b)
            for factor in scales:
                minus = minus ^ _negative(FORMATS[op.scale], factor)
            codes = np.where(zero & minus.all(axis=0), fmt.sign_mask or 0, codes)
        specials = special_terms(x, y, addend, z)
        if specials is not None:
            codes = specials.into(fmt, codes, fmt.nan_code or 0)
        return codes.astype(fmt.storage_dtype)

    return model, length


def _places(op: TileOp) -> tuple[int, int]:
    """Return the place of the lowest bit of any term, and the number of digits for the sum of 2**32 of the largest
    terms.
    """
    fmt = FORMATS[op.d]
    formats = [FORMATS[op.a], FORMATS[op.b], *([FORMATS[op.scale]] * 2 if op.scale else [])]
    lowest = min(sum(each.emin - each.mantissa_bits for each in formats), fmt.emin - fmt.mantissa_bits)
    highest = max(sum(each.emax + 1 for each in formats), fmt.emax + 1) + 32
    return lowest, digits_between(lowest, highest)


def _total(
    x: Numbers,
    y: Numbers,
    z: tuple[Numbers, ...],
    addend: Numbers,
    sums: list[tuple[Integers, Integers]] | None,
    lowest: int,
    length: int,
) -> Digits:
    """Add products times their scales, which ``sums`` may give, and the addend; special elements may count as any
    number, since their results are replaced later.
    """
    digits = Digits(addend.significand.size, lowest, length)
    for total, place in _one_by_one(x, y, z) if sums is None else sums:
        digits.add(total, place)
    for piece, place in pieces(addend):
        digits.add(piece, place)
    return digits


def _sums_of(x: Numbers, y: Numbers, z: tuple[Numbers, ...]) -> list[tuple[Integers, Integers]] | None:
    scaled = [products_of(*pair) for pair in zip((x, y), z, strict=True)] if z else [x, y]
    return sums_of_products(*(Aligned.of(each.significand, each.exponent - each.fraction_bits) for each in scaled))


def _one_by_one(x: Numbers, y: Numbers, z: tuple[Numbers, ...]) -> Iterator[tuple[Integers, Integers]]:
    """Yield the products, times their scales, of one entry along K after the other, with their places."""
    for p, p_place in pieces(x):
        for q, q_place in pieces(y):
            products, places = p * q, p_place + q_place
            for scale in z:
                products, places = products * scale.significand, places + scale.exponent - scale.fraction_bits
            yield from zip(products, np.broadcast_to(places, products.shape), strict=True)


def exact_group(rule: Accumulator, op: TileOp, group: Factors, c: Codes, trace: SumTrace | None) -> Codes:
    """Add a group to C by a rule that keeps all bits and rounds only the sum; return the sums as codes of D."""
    fmt = FORMATS[op.d]
    addend = decoded(rule, fmt, c)
    scales = group.scales
    if rule.dot > 1:
        scales = tuple(scale._replace(significand=np.abs(scale.significand)) for scale in scales)
    negative, significand, exponent = _total(
        group.a, group.b, scales, addend, _sums_of(group.a, group.b, scales), *_places(op)
    ).totals()
    sign = np.where((significand.hi | significand.lo) == 0, 0, np.where(negative, -1, 1)).reshape(c.shape)
    # The alignment of no bits gives the zeros and the special elements.
    terms = (products_by(rule, fmt, group), addend.at(np.newaxis))
    masks = aligned_sum([Terms(term, rule.cut, 0, None) for term in terms], 0)
    if masks.infinite is not None:
        sign = np.where(masks.infinite, np.sign(masks.significand), sign)
    codes = packed(rule, fmt, masks._replace(significand=sign), significand, exponent, rule.rounding)
    if trace is not None:
        members = Members(tuple(range(len(group.a.significand) // rule.dot)), True)
        trace.rounded(members, fmt, codes, last=True)
    return codes


def fits_register(op: TileOp) -> bool:
    """Tell whether integers of 64 bits can hold the exact products and can round them at any place. If not, the
    specification adds the products to a register in fixed point.
    """
    formats = [FORMATS[op.a], FORMATS[op.b], *([FORMATS[op.scale]] * 2 if op.scale else [])]
    return sum(fmt.precision for fmt in formats) <= 61


def in_register(rule: Accumulator, op: TileOp, factors: Factors, c: Codes, group: int) -> Codes:
    """Add the products of an instruction to C in a register in fixed point, ``group`` products at a time; return codes
    of D.
    """
    fmt = FORMATS[op.d]
    addend, products = decoded(rule, fmt, c).at(np.newaxis), products_by(rule, fmt, factors)
    register = Register(rule, op, c.size)
    register.take(addend)
    for start in range(0, len(products.significand), group):
        register.take(products.at(slice(start, start + group)))
    negative, significand, exponent = register.totals()
    sign = np.where((significand.hi | significand.lo) == 0, 0, np.where(negative, -1, 1)).reshape(c.shape)
    nan = infinite = None
    specials = _specials_among([products, addend])
    if specials is not None:
        nan = specials.nan | (specials.positive & specials.negative)
        infinite = (specials.positive | specials.negative) & ~nan
        sign = np.where(specials.positive, 1, np.where(specials.negative, -1, sign))
    total = Numbers(sign, np.zeros_like(sign), 0, nan, infinite)
    return packed(rule, fmt, total, significand, exponent, rule.rounding)


def _negative(fmt: FloatFormat, codes: Codes) -> Mask:
    return np.asarray(sign_of(fmt, codes.astype(np.uint64)) != 0)


def pieces(x: Numbers) -> list[tuple[Integers, Integers]]:
    """Split significands into signed pieces of up to 31 bits, each with the place of its lowest bit."""
    place = x.exponent - x.fraction_bits
    if x.fraction_bits < 31:
        return [(x.significand, place)]
    sign = np.sign(x.significand)
    magnitude = np.abs(x.significand)
    return [(sign * (magnitude & ((1 << 27) - 1)), place), (sign * (magnitude >> 27), place + 27)]


def digits_between(lowest: int, highest: int) -> int:
    """Return the number of digits that `Digits` needs for sums whose bits lie between the places ``lowest`` and
    ``highest``.
    """
    return (highest - lowest) // 32 + 4


def rounded_to(fmt: FloatFormat, negative: Mask, size: Any, exponent: Integers, policy: FloatPolicy = SPEC) -> Codes:
    """Return size * 2**exponent, with signs, as codes, rounded to nearest even. ``size`` may have two limbs."""
    how = RoundingOptions(RNE, policy, want_flags=False)
    packed = round_pack(fmt, negative.astype(np.uint64), size, exponent, how)
    return np.asarray(packed.codes.lo if isinstance(packed.codes, Wide) else packed.codes)


class Digits:
    """Exact sums, one for each column, in units of 2**lowest. Each sum is held in several digits."""

    def __init__(self, columns: int, lowest: int, length: int) -> None:
        self.lowest = lowest
        self.digits = np.zeros((length, columns), np.int64)

    def add(self, value: Integers, place: Integers) -> None:
        """Add one number to the sum of each column: ``value``, below 2**62, times 2**``place``. At most 2**30 calls are
        allowed.
        """
        value = value.reshape(-1)
        place = np.where(value == 0, 0, place.reshape(-1) - self.lowest)  # a zero's exponent may be any
        column = np.arange(value.size)
        digit, shift = place >> 5, place & 31
        magnitude, negative = np.abs(value), value < 0
        low, high = (magnitude & DIGIT) << shift, (magnitude >> 32) << shift
        for step, part in enumerate((low & DIGIT, (low >> 32) + (high & DIGIT), high >> 32)):
            self.digits[digit + step, column] += np.where(negative, -part, part)

    def merge(self, groups: int) -> None:
        """Add the sums of columns i + groups, i + 2 * groups and so on to that of column i, for each i below
        ``groups``. Only these columns remain.
        """
        self._carry()
        self.digits = self.digits.reshape(len(self.digits), -1, groups).sum(axis=1)

    def _carry(self) -> None:
        """Bring all digits except the last into their range."""
        for lower, upper in itertools.pairwise(self.digits):
            upper += lower >> 32
            lower &= DIGIT

    def rounded(self, fmt: FloatFormat, policy: FloatPolicy = SPEC) -> Codes:
        """Return the sum of each column as a code, rounded to nearest even."""
        return rounded_to(fmt, *self.totals(), policy)

    def totals(self) -> tuple[Mask, Wide, Integers]:
        """Return three arrays with an entry for each column: the sign of the sum; its three leading digits, whose last
        bit is set if anything is below them; and the place of the lowest of these digits.
        """
        self._carry()
        digits = self.digits
        negative = digits[-1] < 0
        if negative.any():
            digits[:, negative] *= -1
            self._carry()
        column, nonzero = np.arange(digits.shape[1]), digits != 0
        top = np.maximum(len(digits) - 1 - nonzero[::-1].argmax(axis=0), 2)
        first, second, third = (digits[top - step, column].view(np.uint64) for step in range(3))
        lowest = nonzero.argmax(axis=0)
        rest = (lowest < top - 2) & nonzero[lowest, column]
        significand = Wide(first, second << np.uint64(32) | third) | rest.astype(np.uint64)
        return negative, significand, (top - 2) * 32 + self.lowest


class Register(Digits):
    """Registers in fixed point, one for each column: `Digits` in units of 2**lsb that wrap around, or saturate."""

    def __init__(self, rule: Accumulator, op: TileOp, columns: int) -> None:
        assert rule.lsb is not None
        formats = [FORMATS[op.a], FORMATS[op.b], *([FORMATS[op.scale]] * 2 if op.scale else [])]
        highest = max(sum(fmt.emax + 1 for fmt in formats), FORMATS[op.d].emax + 1, rule.lsb, rule.msb or rule.lsb) + 32
        super().__init__(columns, rule.lsb, digits_between(rule.lsb, highest))
        self.rule = rule

    def take(self, terms: Numbers) -> None:
        """Add terms along the first axis, each rounded to the last place of the register. Special terms count as any
        number.
        """
        place = np.where(terms.significand == 0, self.lowest, terms.exponent - terms.fraction_bits)
        for special in (terms.nan, terms.infinite):
            place = place if special is None else np.where(special, self.lowest, place)
        below = np.maximum(self.lowest - place, 0)
        kept = aligned(Numbers(terms.significand, -below, 0), np.zeros_like(below), 0, self.rule.cut)
        for value, at in zip(kept, np.maximum(place, self.lowest), strict=True):
            self.add(value, at)
        self._carry()
        if self.rule.msb is not None:
            self._hold(self.rule.msb - self.lowest)

    def _hold(self, sign_bit: int) -> None:
        """Bring the numbers into the range of two's complement with this sign bit."""
        digits, (top, bit) = self.digits, divmod(sign_bit, 32)
        saturates = self.rule.register_overflow == "saturate"
        minus = digits[-1] < 0 if saturates else digits[top] >> bit & 1 != 0
        filled = np.where(minus, DIGIT, 0)
        low = np.int64((1 << bit) - 1)
        held = digits[top] & low | filled & ~low
        over = (digits[top] != held) | (digits[top + 1 : -1] != filled).any(axis=0) | (digits[-1] != -minus.astype(int))
        if saturates:  # the lowest number has zeros below its sign bit, the highest one has ones
            digits[:top, over] = np.where(minus, 0, DIGIT)[over]
            held = np.where(over, np.where(minus, filled & ~low, low), held)
        digits[top] = held
        digits[top + 1 : -1] = filled
        digits[-1] = -minus.astype(np.int64)


def _exact_sum(op: TileOp, a: Codes, b: Codes, c: Codes, scales: tuple[Codes, ...]) -> ExactSum:
    def values(name: str, codes: Codes) -> list[Fraction]:
        return [scalar.value(FORMATS[name], int(code)) or Fraction(0) for code in codes.reshape(-1)]

    products = [x * y for x, y in zip(values(op.a, a), values(op.b, b), strict=True)]
    if scales:
        pairs = zip(*(values(op.scale, scale) for scale in scales), strict=True)
        products = [product * x * y for product, (x, y) in zip(products, pairs, strict=True)]
    terms = (*products, *values(op.d, c))
    return ExactSum(terms, sum(terms, Fraction(0)))
