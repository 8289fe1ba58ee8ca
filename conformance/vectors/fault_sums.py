"""Faults in how a unit adds terms: how it aligns, adds and normalizes them. The module `faults` has their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from halfulp.conformance.vectors.datapaths import Aligned, Edit, Numbers, Unit, aligned, rows_of
from halfulp.conformance.vectors.intermediate import ExactResult, exact_sum, pieces, terms_of
from halfulp.conformance.vectors.sampling import Sample
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat


def without(number: ExactResult, end: int, count: int) -> ExactResult:
    """Clear ``count`` bits of a number, those below 2**end."""
    begin, stop = max(end - count - number.exponent, 0), end - number.exponent
    if count <= 0 or stop <= begin:
        return number
    return number._replace(significand=number.significand & ~((1 << stop) - (1 << begin)))


def aligning(edit: Callable[[ExactResult, Aligned, Any], ExactResult]) -> Edit:
    """Return the edit of the smaller term."""

    def edited(unit: Unit, terms: Numbers, value: Any) -> Numbers:
        found = aligned(unit, terms)
        if found is None:
            return terms
        made = list(terms)
        made[found.place] = edit(made[found.place], found, value)
        return tuple(made)

    return edited


def moved(term: ExactResult, places: int) -> ExactResult:
    """Return a term times 2^places."""
    return term._replace(exponent=term.exponent + places)


def dropped_bit(term: ExactResult, aligned: Aligned, value: tuple[int, int | None]) -> ExactResult:
    """Clear one bit below the last place of the sum: always, or at one shift."""
    place, shift = value
    return term if shift not in (None, aligned.shift) else without(term, aligned.lowest - place + 1, 1)


_BITS = ("guard", "round", "third")


def dropped_bits(unit: Unit, sample: Sample) -> Iterator[tuple[tuple[int, int | None], tuple[str, str]]]:
    """Always, and at the shift that most rows have that differ, if there is one."""
    shift = _common_shift(unit, sample)
    for place, name in enumerate(_BITS, 1):
        yield (place, None), (name, "")
        if shift is not None:
            yield (place, shift), (name, f" where exponents differ by {shift}")


def _common_shift(unit: Unit, sample: Sample) -> int | None:
    """Return by how much the smaller term is shifted in most rows that differ; None if there is no such number."""
    shifts: Counter[int] = Counter()
    for row in rows_of(unit, tuple(codes[sample.differs & sample.values][:64] for codes in sample.inputs)):
        found = None if row is None else aligned(unit, terms_of(unit.case, row.operands) or ())
        if found is not None:
            shifts[found.shift] += 1
    return next((shift for shift, count in shifts.most_common(1) if 2 * count > shifts.total()), None)


def jammed(term: ExactResult, aligned: Aligned, bits: int) -> ExactResult:
    """OR what is below the last of so many extra bits into it."""
    end = aligned.lowest - bits
    cut = without(term, end, end - term.exponent)
    return term if cut == term else _with_bit(cut, end)


def shifts(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[int]]]:
    """Yield the longest shifts that an alignment may have."""
    most = 2 * unit.precision + 4 if unit.case.kind == "multiply-add" else unit.precision + 4
    return ((places, (places,)) for places in range(1, most + 1))


def moved_down(unit: Unit, terms: Numbers, most: int) -> Numbers:
    """Align an addend of a larger exponent than the product's by at most so many places to the left."""
    found = aligned(unit, terms)
    if found is None or found.place == 1 or found.shift <= most:
        return terms
    product, addend = terms
    return product, moved(addend, most - found.shift)


def shift_widths(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[int]]]:
    """Yield the bits that the number of a shift may have."""
    return ((bits, (bits,)) for bits in range(2, (2 * unit.precision).bit_length() + 1))


def summed(edit: Callable[[Unit, ExactResult, int, Any], ExactResult]) -> Edit:
    """Return the edit of the sum of the terms, or of a product: it is told where the leading bit of the largest term
    is, if neither carries nor cancels.
    """

    def edited(unit: Unit, terms: Numbers, value: Any) -> Numbers:
        places = [
            term.exponent + width for term, width in zip(terms, unit.case.fractions, strict=True) if term.significand
        ]
        total = exact_sum(terms)
        if not places or not total.significand:
            return terms
        made = edit(unit, total, max(places), value)
        return terms if made == total else (made,)

    return edited


def _with_bit(number: ExactResult, exponent: int) -> ExactResult:
    """Return a number with the bit 2**exponent, which is above its last one, set."""
    return number._replace(significand=number.significand | 1 << exponent - number.exponent)


def sticky_before_shift(unit: Unit, total: ExactResult, lead: int, value: None) -> ExactResult:
    """Clear the bit that a carry shifts out of the sum, after the guard bit."""
    parts = pieces(unit.case.target, total)
    return without(total, parts.lowest - 1, 1) if total.lead > lead and parts.shift > 1 else total


def sticky_anded(unit: Unit, total: ExactResult, lead: int, value: None) -> ExactResult:
    """Lose the bits after the round bit where the carry shifts them out, except the first of them beside a later
    one.
    """
    end = lead - unit.precision
    low = total.significand & (1 << max(end - total.exponent, 0)) - 1
    if total.lead <= lead or not low:
        return total
    first = 1 << end - total.exponent - 1
    return total if low > first else without(total, end, end - total.exponent)


def one_too_high(unit: Unit, total: ExactResult, lead: int, most: int | None) -> ExactResult:
    """Leave the leading one, which the implicit bit hides, as the first bit of the fraction."""
    emin = unit.case.float_source.emin
    cancels = total.lead < lead if most is None else lead - most <= total.lead < lead
    return _with_bit(total, total.lead + 1) if cancels and total.lead >= emin else total


def leading_zeros_off(unit: Unit, total: ExactResult, lead: int, value: tuple[int, int]) -> ExactResult:
    """Multiply a sum by a power of two where it cancels by so many places."""
    power, least = value
    off = total.lead <= lead - least and total.lead >= unit.case.float_source.emin
    return moved(total, power) if off else total


def powers_of_cancelled(unit: Unit, sample: Sample) -> Iterator[tuple[tuple[int, int], tuple[object, ...]]]:
    """Yield powers of two, each with the places by which a sum cancels at least."""
    for least in range(1, min(unit.precision, 5)):
        for power in (1, -1):
            yield (power, least), (power, f" where they cancel by {least} places or more" if least > 1 else "")


def carry_not_shifted(unit: Unit, total: ExactResult, lead: int, value: None) -> ExactResult:
    """Lose the carry, which the implicit bit of the place below hides."""
    if total.lead <= lead:
        return total
    rest = total.significand & ~(1 << total.lead - total.exponent)
    return _with_bit(total._replace(significand=rest), lead)


def carry_not_counted(unit: Unit, total: ExactResult, lead: int, value: None) -> ExactResult:
    """Halve a sum that carries."""
    return moved(total, -1) if total.lead > lead else total


def sign_of(unit: Unit, terms: Numbers, value: tuple[int, bool, bool]) -> Numbers:
    """Give a difference the sign of one term: always, where the exponents are equal, or also where a term is zero."""
    place, equal, zeros = value
    found = aligned(unit, terms)
    if terms[0].sign == terms[1].sign or (not zeros if found is None else equal and found.shift > 0):
        return terms
    total = exact_sum(terms)
    same = total.sign == terms[place].sign or not total.significand
    return terms if same else (total._replace(sign=terms[place].sign),)


def signs_of_terms(unit: Unit, sample: Sample) -> Iterator[tuple[tuple[int, bool, bool], tuple[str, str]]]:
    """Yield the terms whose sign a difference may get, and where."""
    for place, (name,) in names_of_terms(unit, sample):
        yield (place, False, False), (name, "")
        yield (place, True, False), (name, " where exponents are equal")
        yield (place, False, True), (name, ", also of differences from zero")


def negated(unit: Unit, terms: Numbers, place: int) -> Numbers:
    """Change the sign of the term at a place."""
    return tuple(term._replace(sign=term.sign ^ (k == place)) for k, term in enumerate(terms))


def magnitudes_added(unit: Unit, terms: Numbers, value: None) -> Numbers:
    """Add the magnitudes of terms of opposite signs."""
    found = aligned(unit, terms)
    if found is None or terms[0].sign == terms[1].sign:
        return terms
    return negated(unit, terms, found.place)


def exchanged(unit: Unit, terms: Numbers, shift: int) -> Numbers:
    """Add magnitudes where they are subtracted, and subtract them where they are added, at one shift."""
    found = aligned(unit, terms)
    return terms if found is None or found.shift != shift else negated(unit, terms, found.place)


def shift_of_most(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[int]]]:
    """Yield the shift of most rows that differ."""
    shift = _common_shift(unit, sample)
    if shift is not None:
        yield shift, (shift,)


def rounded_first(unit: Unit, number: ExactResult, lowest: int, cuts: bool) -> ExactResult:
    """Round a number to a multiple of 2**lowest, before it is rounded to the target, or cut to it if ``cuts``."""
    made, inexact, shift = number, False, lowest - number.exponent
    if shift > 0:
        kept, inexact = scalar.round_to_integer(number.sign, number.significand, shift, unit.rounding, None)
        made = ExactResult(number.sign, kept, lowest)
    parts = pieces(unit.case.target, made)
    if cuts:
        return without(made, parts.lowest, parts.lowest - made.exponent)
    if inexact and not parts.rest:
        # It fits, and is inexact: so much beside it that rounding gives it again.
        made = ExactResult(number.sign, (kept << 2) + (1 if kept << shift < number.significand else -1), lowest - 2)
    return made


def rounded_before_shift(unit: Unit, total: ExactResult, lead: int, cuts: bool) -> ExactResult:
    """Round a sum that carries, or a product of 2 and more, as if it did not."""
    fmt = unit.case.target
    if not isinstance(fmt, FloatFormat) or total.lead <= lead or lead < fmt.emin:
        return total
    return rounded_first(unit, total, lead - fmt.mantissa_bits, cuts)


def subtracting(edit: Callable[[Unit, ExactResult, ExactResult, Aligned, Any], ExactResult | None]) -> Edit:
    """Return the edit of a difference of magnitudes: it is told the larger and the smaller term."""

    def edited(unit: Unit, terms: Numbers, value: Any) -> Numbers:
        found = aligned(unit, terms)
        if found is None or terms[0].sign == terms[1].sign:
            return terms
        made = edit(unit, terms[1 - found.place], terms[found.place], found, value)
        return terms if made is None else (made,)

    return edited


def not_borrowed(unit: Unit, large: ExactResult, small: ExactResult, aligned: Aligned, bits: int) -> ExactResult | None:
    """Set the bit after the last one of the difference, where bits of the smaller term are left out of it."""
    end = aligned.lowest - bits
    cut = without(small, end, end - small.exponent)
    total = exact_sum((exact_sum((large, cut)), ExactResult(0, 0, end - 1)))
    return None if cut == small or not total.significand else _with_bit(total, end - 1)


def one_missing(unit: Unit, large: ExactResult, small: ExactResult, aligned: Aligned, bits: int) -> ExactResult | None:
    """Make a difference one too small in the last place of the adder, which has ``bits`` bits more than the format."""
    end = aligned.lowest - bits
    cut = without(small, end, end - small.exponent)
    if cut != small:
        cut = _with_bit(ExactResult(cut.sign, cut.significand, cut.exponent), end)
    total = exact_sum((exact_sum((large, cut)), ExactResult(small.sign, 1, end)))
    return total if total.significand and total.sign == large.sign else None


def extra_bits(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[object, ...]]]:
    """Yield the bits that an adder may have below the last place of the format."""
    return ((bits, (bits, "s"[: bits != 1])) for bits in range(4))


def not_negated(unit: Unit, terms: Numbers, right_sign: bool) -> Numbers:
    """Take a negative difference, of terms of equal exponents, as a positive one."""
    found = aligned(unit, terms)
    if found is None or terms[0].sign == terms[1].sign or found.shift or found.place == 1:
        return terms
    total = exact_sum(terms)
    if not total.significand:
        return terms
    width = found.lowest + unit.precision - total.exponent
    sign = terms[1 if right_sign else 0].sign
    return (ExactResult(sign, (1 << width) - total.significand, total.exponent),)


def normalized(unit: Unit, total: ExactResult, lead: int, most: int) -> ExactResult:
    """Take the bit so many places below the leading one of the terms as the leading one of their sum."""
    first = lead - most
    if total.lead >= first or first < unit.case.float_source.emin:
        return total
    return _with_bit(total, first)


def off_by(term: ExactResult, aligned: Aligned, places: int) -> ExactResult:
    """Shift a term that is shifted at all by some places more."""
    return moved(term, -places) if aligned.shift else term


def one_too_far(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[str]]]:
    """Yield one place more and one place less."""
    yield from ((1, ("many",)), (-1, ("few",)))


def second_dropped(unit: Unit, terms: Numbers, place: int) -> Numbers:
    """Shift the term of the larger exponent out, as a shifter does whose terms are not swapped."""
    found = aligned(unit, terms)
    if found is None or found.place == place or not found.shift:
        return terms
    return tuple(term._replace(significand=0) if k == place else term for k, term in enumerate(terms))


def names_of_terms(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[str]]]:
    """Yield the places of the terms and their names."""
    names = ("the product", "the addend") if unit.case.kind == "multiply-add" else ("a", "b")
    yield from ((place, (name,)) for place, name in enumerate(names))


def places_of_sums(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[object, ...]]]:
    """Yield the places by which a sum may be normalized."""
    return ((places, (places, "s"[: places > 1])) for places in range(1, unit.precision))
