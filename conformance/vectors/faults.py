"""The table of faults inside of a datapath: what each changes in the numbers of a unit, and the values of its
parameter. The numbers and their places are those of `datapaths`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from halfulp.conformance.vectors.columns import Role, by_row
from halfulp.conformance.vectors.computation import OpComputation
from halfulp.conformance.vectors.datapaths import (
    FLOATS,
    FUSED,
    PRODUCTS,
    ROUNDED,
    SUMS,
    TO_FLOATS,
    TWO_TERMS,
    Aligned,
    Edit,
    Fault,
    Numbers,
    Place,
    Planted,
    Unit,
    Values,
    aligned,
    rows_of,
    unit_of,
)
from halfulp.conformance.vectors.intermediate import ExactResult, Numeric, exact_sum, operand, pieces, terms_of
from halfulp.conformance.vectors.sampling import Sample
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat, codes_to_ints
from halfulp.fp_formats.policy import Rounding

# --- edits ------------------------------------------------------------------------------------------------------------


def _each(edit: Callable[[FloatFormat, ExactResult], ExactResult]) -> Edit:
    """Return the edit of all operands, or of the one whose place is the value."""

    def edited(unit: Unit, numbers: Numbers, which: int | None) -> Numbers:
        made = tuple(
            edit(fmt, number) if which in (None, k) and isinstance(fmt, FloatFormat) and fmt.zero else number
            for k, (fmt, number) in enumerate(zip(unit.case.sources, numbers, strict=True))
        )
        return numbers if made == numbers else made

    return edited


def _which(unit: Unit, sample: Sample | None = None) -> Iterator[tuple[int | None, tuple[str]]]:
    if len(unit.case.sources) > 1:
        yield None, ("",)
    yield from ((k, (f" of {'abc'[k]}" if len(unit.case.sources) > 1 else "",)) for k in range(len(unit.case.sources)))


def _subnormal(fmt: FloatFormat, number: ExactResult) -> bool:
    return number.significand >> fmt.mantissa_bits == 0


def _implicit(kinds: tuple[bool, bool], lower: int) -> Edit:
    """Put the leading bit before fractions of exponent field 0, of zeros and of subnormals. ``lower``: 1 if the
    exponent is that of field 0, not that of field 1.
    """

    def edit(fmt: FloatFormat, number: ExactResult) -> ExactResult:
        if not _subnormal(fmt, number) or not kinds[number.significand > 0]:
            return number
        lowest = fmt.emin - fmt.mantissa_bits - lower
        return ExactResult(number.sign, number.significand | 1 << fmt.mantissa_bits, lowest)

    return _each(edit)


def _scaled(unit: Unit, numbers: Numbers, value: tuple[int, int]) -> Numbers:
    which, power = value
    return tuple(
        number._replace(exponent=number.exponent + power) if k == which and number.significand else number
        for k, number in enumerate(numbers)
    )


FARTHEST_POWERS = (1, -1, 2, -2)
"""The powers of two that are tried where the sample shows none."""


def powers_of(target: Numeric, sample: Sample, columns: int = 1) -> list[int]:
    """Return exponents of powers of two by which results of the device differ from the right ones: the most frequent
    exponents first, then the nearest others.
    """
    found: Counter[int] = Counter()
    for own, expected in list(zip(sample.actual, sample.expected, strict=True))[:columns]:
        wrong = sample.differs & by_row(own != expected)
        pairs = [
            [operand(target, code) for code in codes_to_ints(codes[wrong][: 512 // columns], target.bits)]
            for codes in (own, expected)
        ]
        for got, right in zip(*pairs, strict=True):
            if got and right and got.significand and right.significand:
                power = got.lead - right.lead
                one, other = (number.significand << 4096 - number.significand.bit_length() for number in (got, right))
                if one == other and power:
                    found[power] += 1
    return list(dict.fromkeys([*(power for power, _ in found.most_common(3)), *FARTHEST_POWERS]))


def bias_off(power: int) -> str:
    """Return by how much a bias is wrong that makes the numbers read with it 2^power times as large."""
    return f"a bias {abs(power)} too {'small' if power > 0 else 'large'}"


_BIASES_OF_RESULTS = {
    "add": "a and b read with {}, or the result written with {other}",
    "subtract": "a and b read with {}, or the result written with {other}",
    "multiply": "a or b read with {}, or the result written with {other}",
    "divide": "a read with {}, b read with {other}, or the result written with {other}",
    "square root": "a read with {twice}, or the result written with {other}",
    "convert": "a read with {}, or the result written with {other}",
    "multiply-add": "c and one of a and b read with {}, or the result written with {other}",
    "from integer": "the result written with {other}",
}
"""Whose bias multiplies the exact result of an op by a power of two: no row tells the biases of one text apart."""


def _powers_of_operands(unit: Unit, sample: Sample) -> Iterator[tuple[tuple[int, int], tuple[str, str]]]:
    """Yield powers of operands that are not those of the result; of a multiply-add, those of the addend, because those
    of a factor are the product's.
    """
    for power in powers_of(unit.case.target, sample):
        for k in range(len(unit.case.sources)):
            if k == 2 if unit.case.kind in FUSED else power % 2 or unit.case.kind != "square root":
                yield (k, power), ("abc"[k], f"{power} (read with {bias_off(power)})")


def _powers_of_products(unit: Unit, sample: Sample) -> Iterator[tuple[tuple[int, int], tuple[str]]]:
    for power in powers_of(unit.case.target, sample):
        yield (0, power), (f"{power} (a or b read with {bias_off(power)}; no row tells which)",)


def _powers_of_results(unit: Unit, sample: Sample) -> Iterator[tuple[tuple[int, int], tuple[str]]]:
    told = _BIASES_OF_RESULTS[unit.case.kind]
    for power in powers_of(unit.case.target, sample):
        whose = told.format(bias_off(power), other=bias_off(-power), twice=bias_off(2 * power))
        yield (0, power), (f"{power} ({whose}{'; no row tells which' if ' or ' in whose else ''})",)


def _rounded_product(unit: Unit, terms: Numbers, mode: Rounding | None) -> Numbers:
    fmt = unit.case.target
    assert isinstance(fmt, FloatFormat)
    product, addend = terms
    made = scalar.round_pack(fmt, *product, unit.rounding if mode is None else mode, unit.policy)
    kind, sign, significand, exponent = scalar.unpack(fmt, made.code)
    return (ExactResult(sign, significand, exponent), addend) if kind == scalar.FINITE else terms


FEWER, MORE = 6, 4
"""The accumulators that are tried: from so many bits below the precision of the format to so many above it."""


def _cut(unit: Unit, terms: Numbers, bits: int) -> Numbers:
    """Cut each term toward zero to the bits of the largest one."""
    leads = [term.lead for term in terms if term.significand]
    lowest = max(leads, default=0) - bits + 1
    return tuple(_without(term, lowest, lowest - term.exponent) for term in terms)


def _without(number: ExactResult, end: int, count: int) -> ExactResult:
    """Clear ``count`` bits of a number, those below 2**end."""
    begin, stop = max(end - count - number.exponent, 0), end - number.exponent
    if count <= 0 or stop <= begin:
        return number
    return number._replace(significand=number.significand & ~((1 << stop) - (1 << begin)))


def _accumulators(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[object, ...]]]:
    for bits in range(max(1, unit.precision - FEWER), unit.precision + MORE + 1):
        yield bits, (bits, "s"[: bits > 1])


def _aligning(edit: Callable[[ExactResult, Aligned, Any], ExactResult]) -> Edit:
    """Return the edit of the smaller term."""

    def edited(unit: Unit, terms: Numbers, value: Any) -> Numbers:
        found = aligned(unit, terms)
        if found is None:
            return terms
        made = list(terms)
        made[found.place] = edit(made[found.place], found, value)
        return tuple(made)

    return edited


def _moved(term: ExactResult, places: int) -> ExactResult:
    return term._replace(exponent=term.exponent + places)


def _dropped_bit(term: ExactResult, aligned: Aligned, value: tuple[int, int | None]) -> ExactResult:
    place, shift = value
    return term if shift not in (None, aligned.shift) else _without(term, aligned.lowest - place + 1, 1)


_BITS = ("guard", "round", "third")


def _dropped_bits(unit: Unit, sample: Sample) -> Iterator[tuple[tuple[int, int | None], tuple[str, str]]]:
    """Always, and at the shift that all rows have that differ, if there is one."""
    shifts: Counter[int] = Counter()
    for row in rows_of(unit, tuple(codes[sample.differs & sample.values][:64] for codes in sample.inputs)):
        found = None if row is None else aligned(unit, terms_of(unit.case, row.operands) or ())
        if found is not None:
            shifts[found.shift] += 1
    for place, name in enumerate(_BITS, 1):
        yield (place, None), (name, "")
        for shift, count in shifts.most_common(2):
            if 2 * count > shifts.total():
                yield (place, shift), (name, f" where exponents differ by {shift}")


def _shifts(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[int]]]:
    most = 2 * unit.precision + 4 if unit.case.kind == "multiply-add" else unit.precision + 4
    return ((places, (places,)) for places in range(1, most + 1))


def _shift_widths(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[int]]]:
    return ((bits, (bits,)) for bits in range(2, (2 * unit.precision).bit_length() + 1))


def _below(clears: Callable[[int, int], tuple[int, int]]) -> Edit:
    """Return the edit that clears bits of the sum after the guard bit. ``clears``: of the number of these bits and the
    value, the bits that stay first, and those that are cleared then.
    """

    def edited(unit: Unit, total: Numbers, value: int) -> Numbers:
        (number,) = total
        if not number.significand:
            return total
        parts = pieces(unit.case.target, number)
        if parts.shift < 1:
            return total
        kept, count = clears(parts.shift - 1, value)
        return (_without(number, parts.lowest - 1 - kept, count),)

    return edited


def _guard(unit: Unit, total: Numbers, value: None) -> Numbers:
    (number,) = total
    if not number.significand:
        return total
    parts = pieces(unit.case.target, number)
    return (_without(number, parts.lowest, 1),) if parts.shift else total


def _sticky_bits(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[object, ...]]]:
    most = unit.precision if unit.case.kind in ("divide", "square root") else unit.case.extra
    if unit.case.kind in SUMS:
        most = unit.precision + 2
    for bits in range(1, max(min(most, 64), 3)):
        yield bits, (f"bit{'s'[: bits > 1]}" if bits == 1 else f"{bits} bits",)


def _gaps_of_sticky_bits(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[object, ...]]]:
    return ((bits, (bits, "s"[: bits > 1])) for bits in range(1, unit.precision))


def _summed(edit: Callable[[Unit, ExactResult, int, Any], ExactResult]) -> Edit:
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


def _sticky_before_shift(unit: Unit, total: ExactResult, lead: int, value: None) -> ExactResult:
    parts = pieces(unit.case.target, total)
    return _without(total, parts.lowest - 1, 1) if total.lead > lead and parts.shift > 1 else total


def _sticky_anded(unit: Unit, total: ExactResult, lead: int, value: None) -> ExactResult:
    """Lose the bits after the round bit where the carry shifts them out, except the first of them beside a later
    one.
    """
    end = lead - unit.precision
    low = total.significand & (1 << max(end - total.exponent, 0)) - 1
    if total.lead <= lead or not low:
        return total
    first = 1 << end - total.exponent - 1
    return total if low > first else _without(total, end, end - total.exponent)


def _one_too_high(unit: Unit, total: ExactResult, lead: int, most: int | None) -> ExactResult:
    """Leave the leading one, which the implicit bit hides, as the first bit of the fraction."""
    emin = unit.case.float_source.emin
    cancels = total.lead < lead if most is None else lead - most <= total.lead < lead
    return _with_bit(total, total.lead + 1) if cancels and total.lead >= emin else total


def _leading_zeros_off(unit: Unit, total: ExactResult, lead: int, power: int) -> ExactResult:
    return _moved(total, power) if total.lead < lead and total.lead >= unit.case.float_source.emin else total


def _carry_not_shifted(unit: Unit, total: ExactResult, lead: int, value: None) -> ExactResult:
    """Lose the carry, which the implicit bit of the place below hides."""
    if total.lead <= lead:
        return total
    rest = total.significand & ~(1 << total.lead - total.exponent)
    return _with_bit(total._replace(significand=rest), lead)


def _carry_not_counted(unit: Unit, total: ExactResult, lead: int, value: None) -> ExactResult:
    return _moved(total, -1) if total.lead > lead else total


def _sign_of(unit: Unit, terms: Numbers, value: tuple[int, bool, bool]) -> Numbers:
    """Give a difference the sign of one term: always, where the exponents are equal, or also where a term is zero."""
    place, equal, zeros = value
    found = aligned(unit, terms)
    if terms[0].sign == terms[1].sign or (not zeros if found is None else equal and found.shift > 0):
        return terms
    total = exact_sum(terms)
    same = total.sign == terms[place].sign or not total.significand
    return terms if same else (total._replace(sign=terms[place].sign),)


def _signs_of_terms(unit: Unit, sample: Sample) -> Iterator[tuple[tuple[int, bool, bool], tuple[str, str]]]:
    for place, (name,) in _names_of_terms(unit, sample):
        yield (place, False, False), (name, "")
        yield (place, True, False), (name, " where exponents are equal")
        yield (place, False, True), (name, ", also of differences from zero")


def _negated(unit: Unit, terms: Numbers, place: int) -> Numbers:
    return tuple(term._replace(sign=term.sign ^ (k == place)) for k, term in enumerate(terms))


def _magnitudes_added(unit: Unit, terms: Numbers, value: None) -> Numbers:
    found = aligned(unit, terms)
    if found is None or terms[0].sign == terms[1].sign:
        return terms
    return _negated(unit, terms, found.place)


def _cut_product(unit: Unit, terms: Numbers, bits: int) -> Numbers:
    product, addend = terms
    end = product.lead - bits + 1
    return (_without(product, end, end - product.exponent), addend) if product.significand else terms


def _bits_of_products(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[object, ...]]]:
    return ((bits, (bits,)) for bits in range(max(2, unit.precision - 2), 2 * unit.precision))


_TIES: dict[str, Callable[[int, int], bool]] = {
    "toward zero": lambda sign, kept: False,
    "upward": lambda sign, kept: not sign,
    "downward": lambda sign, kept: bool(sign),
    "to odd": lambda sign, kept: not kept & 1,
    "by the bit above the last one": lambda sign, kept: bool(kept >> 1 & 1),
}
"""Whether a tie with these bits before it is rounded away from zero."""


def _ties(unit: Unit, total: Numbers, way: str) -> Numbers:
    """Move ties off the middle."""
    (number,) = total
    if not number.significand:
        return total
    parts = pieces(unit.case.target, number)
    if not parts.shift or parts.rest != 1 << parts.shift - 1:
        return total
    away = 1 if _TIES[way](number.sign, parts.kept) else -1
    return (ExactResult(number.sign, (number.significand << 2) + away, number.exponent - 2),)


def _ways_of_ties(unit: Unit, sample: Sample) -> Iterator[tuple[str, tuple[str]]]:
    if unit.rounding in (Rounding.TO_NEAREST_EVEN, Rounding.TO_NEAREST_AWAY):
        yield from ((way, (way,)) for way in _TIES)


def _subnormal_results(edit: Callable[[FloatFormat, ExactResult, Any], ExactResult]) -> Edit:
    """Return the edit of a number below the normal ones."""

    def edited(unit: Unit, total: Numbers, value: Any) -> Numbers:
        (number,), fmt = total, unit.case.target
        tiny = isinstance(fmt, FloatFormat) and fmt.zero and number.significand and number.lead < fmt.emin
        return (edit(fmt, number, value),) if tiny and isinstance(fmt, FloatFormat) else total

    return edited


def _not_shifted(fmt: FloatFormat, number: ExactResult, value: None) -> ExactResult:
    """Put the fraction of a normalized number beside the exponent field 0."""
    fraction = number.significand & ~(1 << number.lead - number.exponent)
    return ExactResult(number.sign, fraction, number.exponent + fmt.emin - number.lead)


def _rounded_twice(unit: Unit, total: Numbers, cuts: bool) -> Numbers:
    """Round a number below the normal ones to the bits of normal ones first. ``cuts``: whether the bits that do not fit
    are cut then.
    """
    (number,), fmt = total, unit.case.target
    if not isinstance(fmt, FloatFormat) or not fmt.zero or not number.significand or number.lead >= fmt.emin:
        return total
    lowest, end = number.lead - fmt.mantissa_bits, fmt.emin - fmt.mantissa_bits
    shift = lowest - number.exponent
    if shift <= 0:
        return (_without(number, end, end - number.exponent) if cuts else number,)
    kept, inexact = scalar.round_to_integer(number.sign, number.significand, shift, unit.rounding, None)
    made = ExactResult(number.sign, kept, lowest)
    if cuts:
        return (_without(made, end, end - lowest),)
    if inexact and not pieces(fmt, made).rest:
        # It fits, and is inexact: so much beside it that rounding gives it again.
        made = ExactResult(number.sign, (kept << 2) + (1 if kept << shift < number.significand else -1), lowest - 2)
    return (made,)


def _without_last(unit: Unit, numbers: Numbers, value: tuple[int | None, int]) -> Numbers:
    which, bits = value
    floats = [isinstance(fmt, FloatFormat) and which in (None, k) for k, fmt in enumerate(unit.case.sources)]
    return tuple(
        _without(number, number.exponent + bits, bits) if shorter else number
        for shorter, number in zip(floats, numbers, strict=True)
    )


def _last_bits(unit: Unit, sample: Sample) -> Iterator[tuple[tuple[int | None, int], tuple[str, str]]]:
    for which, _ in _which(unit):
        for bits in range(1, min(unit.case.float_source.precision, 4)):
            name = "the operands" if which is None else "abc"[which]
            whose = "their" if which is None else "its"
            yield (which, bits), (name, f"{whose} last {f'{bits} bits' if bits > 1 else 'bit'}")


def _columns_left_out(unit: Unit, numbers: Numbers, columns: int) -> Numbers:
    """Leave out the last columns of the partial products: the product stands for the first factor."""
    a, b, *others = numbers
    rows = (a.significand << k for k in range(b.significand.bit_length()) if b.significand >> k & 1)
    product = sum(row >> columns << columns for row in rows)
    if product == a.significand * b.significand:
        return numbers
    return (ExactResult(a.sign, product, a.exponent + b.exponent), ExactResult(b.sign, 1, 0), *others)


def _columns_of_products(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[object, ...]]]:
    return ((columns, (columns, "s"[: columns > 1])) for columns in range(1, min(unit.precision, 16)))


def _of_parity(unit: Unit, numbers: Numbers, value: tuple[int, int]) -> Numbers:
    (number,), (odd, step) = numbers, value
    return (_moved(number, step),) if number.significand and number.lead & 1 == odd else numbers


def _parities(unit: Unit, sample: Sample) -> Iterator[tuple[tuple[int, int], tuple[str, str]]]:
    for odd, name in ((1, "odd"), (0, "even")):
        for step, told in ((-1, "lower"), (1, "higher")):
            yield (odd, step), (name, told)


def _subtracting(edit: Callable[[Unit, ExactResult, ExactResult, Aligned, Any], ExactResult | None]) -> Edit:
    """Return the edit of a difference of magnitudes: it is told the larger and the smaller term."""

    def edited(unit: Unit, terms: Numbers, value: Any) -> Numbers:
        found = aligned(unit, terms)
        if found is None or terms[0].sign == terms[1].sign:
            return terms
        made = edit(unit, terms[1 - found.place], terms[found.place], found, value)
        return terms if made is None else (made,)

    return edited


def _not_borrowed(
    unit: Unit, large: ExactResult, small: ExactResult, aligned: Aligned, bits: int
) -> ExactResult | None:
    """Set the bit after the last one of the difference, where bits of the smaller term are left out of it."""
    end = aligned.lowest - bits
    cut = _without(small, end, end - small.exponent)
    total = exact_sum((exact_sum((large, cut)), ExactResult(0, 0, end - 1)))
    return None if cut == small or not total.significand else _with_bit(total, end - 1)


def _one_missing(unit: Unit, large: ExactResult, small: ExactResult, aligned: Aligned, bits: int) -> ExactResult | None:
    """Make a difference one too small in the last place of the adder, which has ``bits`` bits more than the format."""
    end = aligned.lowest - bits
    cut = _without(small, end, end - small.exponent)
    if cut != small:
        cut = _with_bit(ExactResult(cut.sign, cut.significand, cut.exponent), end)
    total = exact_sum((exact_sum((large, cut)), ExactResult(small.sign, 1, end)))
    return total if total.significand and total.sign == large.sign else None


def _extra_bits(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[object, ...]]]:
    return ((bits, (bits, "s"[: bits != 1])) for bits in range(4))


def _not_negated(unit: Unit, terms: Numbers, right_sign: bool) -> Numbers:
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


def _normalized(unit: Unit, total: ExactResult, lead: int, most: int) -> ExactResult:
    """Take the bit so many places below the leading one of the terms as the leading one of their sum."""
    first = lead - most
    if total.lead >= first or first < unit.case.float_source.emin:
        return total
    return _with_bit(total, first)


def _off_by(term: ExactResult, aligned: Aligned, places: int) -> ExactResult:
    return _moved(term, -places) if aligned.shift else term


def _one_too_far(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[str]]]:
    yield from ((1, ("many",)), (-1, ("few",)))


def _second_dropped(unit: Unit, terms: Numbers, place: int) -> Numbers:
    """Shift the term of the larger exponent out, as a shifter does whose terms are not swapped."""
    found = aligned(unit, terms)
    if found is None or found.place == place or not found.shift:
        return terms
    return tuple(term._replace(significand=0) if k == place else term for k, term in enumerate(terms))


def _names_of_terms(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[str]]]:
    names = ("the product", "the addend") if unit.case.kind == "multiply-add" else ("a", "b")
    yield from ((place, (name,)) for place, name in enumerate(names))


def _places_of_sums(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[object, ...]]]:
    return ((places, (places, "s"[: places > 1])) for places in range(1, unit.precision))


def _one_off(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[int]]]:
    return ((power, (power,)) for power in (1, -1))


# --- the table --------------------------------------------------------------------------------------------------------


_READ_WITH_A_BIT = {"subnormals": (False, True), "zeros": (True, False), "zeros and subnormals": (True, True)}

FAULTS: tuple[Fault, ...] = (
    Fault(
        "subnormals{} taken as zero", Place.OPERANDS, FLOATS,
        _each(lambda fmt, number: number._replace(significand=0) if _subnormal(fmt, number) else number), _which,
    ),
    *(
        Fault(f"{what}{{}} with the implicit bit{exponent}", Place.OPERANDS, FLOATS, _implicit(kinds, lower), _which)
        for what, kinds in _READ_WITH_A_BIT.items()
        for exponent, lower in (("", 0), (" and the exponent of field 0", 1))
    ),
    Fault(
        "subnormals{} with the exponent of field 0", Place.OPERANDS, FLOATS,
        _each(lambda fmt, number: _moved(number, -1) if _subnormal(fmt, number) and number.significand else number),
        _which,
    ),
    Fault(
        "normal numbers{} without the implicit bit", Place.OPERANDS, FLOATS,
        _each(lambda fmt, number: number._replace(significand=number.significand & ~(1 << fmt.mantissa_bits))), _which,
    ),
    Fault("{} times 2^{}", Place.OPERANDS, FLOATS - {"multiply", "divide", "convert"}, _scaled, _powers_of_operands),
    Fault("the product times 2^{}", Place.TERMS, FUSED, _scaled, _powers_of_products),
    Fault("the product rounded before the sum", Place.TERMS, FUSED, _rounded_product),
    Fault(
        "the product cut before the sum", Place.TERMS, FUSED, _rounded_product,
        lambda unit, sample: [(Rounding.TOWARD_ZERO, ())] if unit.rounding != Rounding.TOWARD_ZERO else [],
    ),
    Fault("an accumulator of {} bit{}", Place.TERMS, SUMS | {"multiply"}, _cut, _accumulators, inexact=True),
    Fault(
        "an accumulator of {} bit{}, and nothing inexact in what it cuts",
        Place.TERMS, SUMS | {"multiply"}, _cut, _accumulators,
    ),
    Fault(
        "the {} bit of the smaller term dropped{}", Place.TERMS, SUMS, _aligning(_dropped_bit), _dropped_bits,
    ),
    Fault(
        "no alignment by more than {} places", Place.TERMS, SUMS,
        _aligning(lambda term, aligned, most: _moved(term, max(aligned.shift - most, 0))), _shifts,
    ),
    Fault(
        "terms dropped that are aligned by more than {} places", Place.TERMS, SUMS,
        _aligning(lambda term, aligned, most: term._replace(significand=0) if aligned.shift > most else term), _shifts,
    ),
    Fault(
        "alignment by the last {} bits of the difference of exponents", Place.TERMS, SUMS,
        _aligning(lambda term, aligned, bits: _moved(term, aligned.shift >> bits << bits)), _shift_widths,
    ),
    Fault("the sticky bit lost", Place.SUM, ROUNDED, _below(lambda bits, value: (0, bits))),
    Fault(
        "the sticky bit of the first {} alone", Place.SUM, ROUNDED,
        _below(lambda bits, value: (value, bits - value)), _sticky_bits,
    ),
    Fault(
        "the sticky bit without the first {}", Place.SUM, ROUNDED,
        _below(lambda bits, value: (0, min(value, bits))), _sticky_bits,
    ),
    Fault(
        "the sticky bit without the last {}", Place.SUM, ROUNDED,
        _below(lambda bits, value: (max(bits - value, 0), min(value, bits))), _sticky_bits,
    ),
    Fault(
        "the sticky bit of the last {} alone", Place.SUM, ROUNDED,
        _below(lambda bits, value: (0, max(bits - value, 0))), _sticky_bits,
    ),
    Fault(
        "the sticky bit without {} bit{} after the round bit", Place.SUM, SUMS | PRODUCTS,
        _below(lambda bits, value: (1, min(value, bits - 1))), _gaps_of_sticky_bits,
    ),
    Fault("the guard bit lost", Place.SUM, ROUNDED, _guard),
    Fault("ties {}", Place.SUM, ROUNDED, _ties, _ways_of_ties),
    Fault(
        "the sticky bit without the bit that a carry shifts out", Place.TERMS, SUMS | PRODUCTS,
        _summed(_sticky_before_shift), carries=True,
    ),
    Fault(
        "the bits that a carry shifts out ANDed, not ORed, into the sticky bit", Place.TERMS, TWO_TERMS,
        _summed(_sticky_anded), carries=True,
    ),
    Fault(
        "the leading bit one place too high where a sum cancels{}", Place.TERMS, SUMS, _summed(_one_too_high),
        lambda unit, sample: [(None, ("",)), (1, (" by one place",))],
    ),
    Fault("cancelled sums times 2^{}", Place.TERMS, SUMS, _summed(_leading_zeros_off), _one_off),
    Fault("a carry not shifted in", Place.TERMS, SUMS | PRODUCTS, _summed(_carry_not_shifted), carries=True),
    Fault(
        "a carry not counted in the exponent", Place.TERMS, SUMS | PRODUCTS, _summed(_carry_not_counted), carries=True
    ),
    Fault("the sign of differences that of {}{}", Place.TERMS, SUMS, _sign_of, _signs_of_terms),
    Fault(
        "the {} negated", Place.TERMS, FUSED, _negated, lambda unit, sample: [(0, ("product",)), (1, ("addend",))],
    ),
    Fault("magnitudes added where they are subtracted", Place.TERMS, SUMS, _magnitudes_added),
    Fault("the product cut to {} bits", Place.TERMS, FUSED, _cut_product, _bits_of_products),
    Fault(
        "subnormal results times 2^{}", Place.SUM, TO_FLOATS,
        _subnormal_results(lambda fmt, number, power: _moved(number, power)), _one_off,
    ),
    Fault(
        "the smallest normal number in place of subnormal results", Place.SUM, TO_FLOATS,
        _subnormal_results(lambda fmt, number, value: ExactResult(number.sign, 1, fmt.emin)), inexact=True,
    ),
    Fault("subnormal results not shifted to their exponent", Place.SUM, TO_FLOATS, _subnormal_results(_not_shifted)),
    Fault("the exact result times 2^{}", Place.SUM, TO_FLOATS, _scaled, _powers_of_results),
    Fault("{} without {}", Place.OPERANDS, FLOATS, _without_last, _last_bits),
    Fault(
        "the last {} column{} of the multiplier left out", Place.OPERANDS, PRODUCTS | FUSED, _columns_left_out,
        _columns_of_products,
    ),
    Fault("{} exponents of a taken as one {}", Place.OPERANDS, frozenset({"square root"}), _of_parity, _parities),
    Fault(
        "the bits of the smaller term after {} extra bit{} ORed into a difference, not subtracted",
        Place.TERMS, SUMS, _subtracting(_not_borrowed), _extra_bits,
    ),
    Fault(
        "differences one too small in the last place of an adder of {} extra bit{}",
        Place.TERMS, SUMS, _subtracting(_one_missing), _extra_bits,
    ),
    Fault(
        "differences not negated where exponents are equal and the second term is larger{}", Place.TERMS, SUMS,
        _not_negated, lambda unit, sample: [(False, ("",)), (True, (", with the right sign",))],
    ),
    Fault("the smaller term aligned by one place too {}", Place.TERMS, SUMS, _aligning(_off_by), _one_too_far),
    Fault("{} dropped where its exponent is larger", Place.TERMS, SUMS, _second_dropped, _names_of_terms),
    Fault("sums normalized by at most {} place{}", Place.TERMS, SUMS, _summed(_normalized), _places_of_sums),
    Fault(
        "subnormal results rounded twice, as normal numbers first", Place.SUM, TO_FLOATS, _rounded_twice,
        lambda unit, sample: [(False, ())],
    ),
    Fault(
        "subnormal results rounded as normal numbers, then cut", Place.SUM, TO_FLOATS, _rounded_twice,
        lambda unit, sample: [(True, ())], inexact=True,
    ),
)  # fmt: skip
"""What may go wrong with the numbers of a unit; of what fits alike, the first is named first."""


def faults_of(computation: OpComputation, sample: Sample) -> Iterator[tuple[str, Planted]]:
    """Yield the faults that a computation can have, with the values of their parameters, and their names. Of faults
    that differ in the flags alone, a computation without flags has the first one.
    """
    unit = unit_of(computation)
    flagged = any(column.role is Role.FLAGS for column in computation.outputs)
    changes: set[tuple[Edit, Values]] = set()
    for fault in FAULTS if unit is not None else ():
        change = fault.edit, fault.values
        if unit is not None and unit.case.kind in fault.kinds and (flagged or change not in changes):
            changes.add(change)
            for value, words in fault.values(unit, sample):
                yield fault.name.format(*words), Planted(fault, value)
