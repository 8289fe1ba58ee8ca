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
    Edit,
    Fault,
    Numbers,
    Place,
    Planted,
    Unit,
    Values,
    unit_of,
)
from halfulp.conformance.vectors.fault_sums import (
    aligning,
    carry_not_counted,
    carry_not_shifted,
    dropped_bit,
    dropped_bits,
    exchanged,
    extra_bits,
    jammed,
    leading_zeros_off,
    magnitudes_added,
    moved,
    moved_down,
    names_of_terms,
    negated,
    normalized,
    not_borrowed,
    not_negated,
    off_by,
    one_missing,
    one_too_far,
    one_too_high,
    places_of_sums,
    powers_of_cancelled,
    rounded_before_shift,
    rounded_first,
    second_dropped,
    shift_of_most,
    shift_widths,
    shifts,
    sign_of,
    signs_of_terms,
    sticky_anded,
    sticky_before_shift,
    subtracting,
    summed,
    without,
)
from halfulp.conformance.vectors.intermediate import ExactResult, Numeric, operand, pieces
from halfulp.conformance.vectors.sampling import Sample
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat, codes_to_ints
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.ir.base import narrowed

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


def _normalized_for_nothing(fmt: FloatFormat, number: ExactResult) -> ExactResult:
    """Shift a subnormal's leading one to the place of the implicit bit, and leave its exponent."""
    if not number.significand or not _subnormal(fmt, number):
        return number
    return number._replace(exponent=number.exponent + fmt.emin - number.lead)


def _inverted(number: ExactResult) -> ExactResult:
    """Take a negative integer's bits, inverted, as its magnitude."""
    size = number.significand - number.sign
    return ExactResult(number.sign if size else 0, size, 0)


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
    fmt = narrowed(unit.case.target, FloatFormat)
    product, addend = terms
    made = scalar.round_pack(fmt, *product, unit.rounding if mode is None else mode, unit.policy)
    kind, sign, significand, exponent = scalar.unpack(fmt, made.code)
    return (ExactResult(sign, significand, exponent), addend) if kind == scalar.FINITE else terms


FEWER, MORE = 6, 4
"""The accumulators that are tried: from so many bits below the precision of the format to so many above it, or more."""


def _cut(unit: Unit, terms: Numbers, bits: int) -> Numbers:
    """Cut each term toward zero to the bits of the largest one."""
    leads = [term.lead for term in terms if term.significand]
    lowest = max(leads, default=0) - bits + 1
    return tuple(without(term, lowest, lowest - term.exponent) for term in terms)


def _accumulators(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[object, ...]]]:
    # The smaller term of a sum may be cut as far below the larger one as it has bits.
    more = max(MORE, unit.precision + 2) if unit.case.kind in SUMS else MORE
    for bits in range(max(1, unit.precision - FEWER), unit.precision + more + 1):
        yield bits, (bits, "s"[: bits > 1])


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
        return (without(number, parts.lowest - 1 - kept, count),)

    return edited


def _guard(unit: Unit, total: Numbers, value: None) -> Numbers:
    (number,) = total
    if not number.significand:
        return total
    parts = pieces(unit.case.target, number)
    return (without(number, parts.lowest, 1),) if parts.shift else total


def _sticky_bits(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[object, ...]]]:
    most = unit.precision if unit.case.kind in ("divide", "square root") else unit.case.extra
    if unit.case.kind in SUMS:
        most = unit.precision + 2
    for bits in range(1, max(min(most, 64), 3)):
        yield bits, (f"bit{'s'[: bits > 1]}" if bits == 1 else f"{bits} bits",)


def _gaps_of_sticky_bits(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[object, ...]]]:
    return ((bits, (bits, "s"[: bits > 1])) for bits in range(1, unit.precision))


def _cut_product(unit: Unit, terms: Numbers, bits: int) -> Numbers:
    product, addend = terms
    end = product.lead - bits + 1
    return (without(product, end, end - product.exponent), addend) if product.significand else terms


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


def _jammed_last(unit: Unit, total: Numbers, value: None) -> Numbers:
    """Set the last bit where a bit is cut, and make the sum inexact so that rounding gives this."""
    (number,) = total
    if not number.significand:
        return total
    parts = pieces(unit.case.target, number)
    if not parts.rest:
        return total
    outward = unit.rounding == (Rounding.DOWNWARD if number.sign else Rounding.UPWARD)
    return (ExactResult(number.sign, ((parts.kept | 1) << 2) + (-1 if outward else 1), parts.lowest - 2),)


def _first_to_bits(unit: Unit, total: Numbers, bits: int) -> Numbers:
    (number,) = total
    if not number.significand:
        return total
    return (rounded_first(unit, number, number.lead - bits + 1, False),)


def _bits_before(unit: Unit, sample: Sample) -> Iterator[tuple[int, tuple[int]]]:
    return ((bits, (bits,)) for bits in range(unit.precision + 1, unit.precision + 9))


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
    return (rounded_first(unit, number, number.lead - fmt.mantissa_bits, cuts),)


def _without_last(unit: Unit, numbers: Numbers, value: tuple[int | None, int]) -> Numbers:
    which, bits = value
    floats = [isinstance(fmt, FloatFormat) and which in (None, k) for k, fmt in enumerate(unit.case.sources)]
    return tuple(
        without(number, number.exponent + bits, bits) if shorter else number
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


def _without_remainder(unit: Unit, numbers: Numbers, value: tuple[int, bool]) -> Numbers:
    """Cut a quotient of normalized numbers after so many fraction bits, or bits: it stands for the dividend."""
    a, b = numbers
    bits, fractions = value
    if not a.significand or not b.significand:
        return numbers
    shift = bits + b.significand.bit_length() - a.significand.bit_length()
    if not fractions and (a.significand << shift) // b.significand >> bits:
        shift -= 1
    quotient, remainder = divmod(a.significand << shift, b.significand)
    if not remainder:
        return numbers
    return ExactResult(a.sign, quotient, a.exponent - b.exponent - shift), ExactResult(b.sign, 1, 0)


def _bits_of_quotients(unit: Unit, sample: Sample) -> Iterator[tuple[tuple[int, bool], tuple[int, str]]]:
    for fractions, told in ((True, "fraction bits"), (False, "bits")):
        for bits in range(unit.precision, unit.precision + 6):
            yield (bits, fractions), (bits, told)


def _of_parity(unit: Unit, numbers: Numbers, value: tuple[int, int]) -> Numbers:
    (number,), (odd, step) = numbers, value
    return (moved(number, step),) if number.significand and number.lead & 1 == odd else numbers


def _parities(unit: Unit, sample: Sample) -> Iterator[tuple[tuple[int, int], tuple[str, str]]]:
    for odd, name in ((1, "odd"), (0, "even")):
        for step, told in ((-1, "lower"), (1, "higher")):
            yield (odd, step), (name, told)


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
        _each(lambda fmt, number: moved(number, -1) if _subnormal(fmt, number) and number.significand else number),
        _which,
    ),
    Fault(
        "subnormals{} normalized without the exponent of their shift", Place.OPERANDS, FLOATS,
        _each(_normalized_for_nothing),
        _which,
    ),
    Fault(
        "negative integers inverted, not negated", Place.OPERANDS, frozenset({"from integer"}),
        lambda unit, numbers, value: tuple(map(_inverted, numbers)),
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
    Fault(
        "an accumulator of {} bit{} without a sticky bit", Place.TERMS, SUMS | {"multiply"}, _cut, _accumulators,
        inexact=True,
    ),
    Fault(
        "an accumulator of {} bit{} without a sticky bit, and nothing inexact in what it cuts",
        Place.TERMS, SUMS | {"multiply"}, _cut, _accumulators,
    ),
    Fault(
        "the {} bit of the smaller term dropped{}", Place.TERMS, SUMS, aligning(dropped_bit), dropped_bits,
    ),
    Fault(
        "an adder of {} extra bit{}, the last of them the sticky bit", Place.TERMS, SUMS, aligning(jammed),
        lambda unit, sample: [(1, (1, "")), (2, (2, "s"))],
    ),
    Fault(
        "no alignment by more than {} places", Place.TERMS, SUMS,
        aligning(lambda term, aligned, most: moved(term, max(aligned.shift - most, 0))), shifts,
    ),
    Fault(
        "terms dropped that are aligned by more than {} places", Place.TERMS, SUMS,
        aligning(lambda term, aligned, most: term._replace(significand=0) if aligned.shift > most else term), shifts,
    ),
    Fault(
        "alignment by the last {} bits of the difference of exponents", Place.TERMS, SUMS,
        aligning(lambda term, aligned, bits: moved(term, aligned.shift >> bits << bits)), shift_widths,
    ),
    Fault("no addend more than {} places above the product", Place.TERMS, FUSED, moved_down, shifts),
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
    Fault("the last bit set wherever bits are cut", Place.SUM, ROUNDED, _jammed_last),
    Fault("results rounded twice, to {} bits first", Place.SUM, TO_FLOATS, _first_to_bits, _bits_before),
    Fault(
        "the sticky bit without the bit that a carry shifts out", Place.TERMS, SUMS | PRODUCTS,
        summed(sticky_before_shift), carries=True,
    ),
    Fault(
        "the bits that a carry shifts out ANDed, not ORed, into the sticky bit", Place.TERMS, TWO_TERMS,
        summed(sticky_anded), carries=True,
    ),
    Fault(
        "carries shifted in after rounding, and the bit that they shift out cut", Place.TERMS, SUMS | PRODUCTS,
        summed(rounded_before_shift), lambda unit, sample: [(True, ())], inexact=True, carries=True,
    ),
    Fault(
        "carries shifted in after rounding, which then rounds twice", Place.TERMS, SUMS | PRODUCTS,
        summed(rounded_before_shift), lambda unit, sample: [(False, ())], carries=True,
    ),
    Fault(
        "the leading bit one place too high where a sum cancels{}", Place.TERMS, SUMS, summed(one_too_high),
        lambda unit, sample: [(None, ("",)), (1, (" by one place",))],
    ),
    Fault("cancelled sums times 2^{}{}", Place.TERMS, SUMS, summed(leading_zeros_off), powers_of_cancelled),
    Fault("a carry not shifted in", Place.TERMS, SUMS | PRODUCTS, summed(carry_not_shifted), carries=True),
    Fault(
        "a carry not counted in the exponent", Place.TERMS, SUMS | PRODUCTS, summed(carry_not_counted), carries=True
    ),
    Fault("the sign of differences that of {}{}", Place.TERMS, SUMS, sign_of, signs_of_terms),
    Fault(
        "the {} negated", Place.TERMS, FUSED, negated, lambda unit, sample: [(0, ("product",)), (1, ("addend",))],
    ),
    Fault("magnitudes added where they are subtracted", Place.TERMS, SUMS, magnitudes_added),
    Fault(
        "magnitudes added in place of subtracted, and the other way round, where exponents differ by {}",
        Place.TERMS, SUMS, exchanged, shift_of_most,
    ),
    Fault("the product cut to {} bits", Place.TERMS, FUSED, _cut_product, _bits_of_products),
    Fault(
        "subnormal results times 2^{}", Place.SUM, TO_FLOATS,
        _subnormal_results(lambda fmt, number, power: moved(number, power)), _one_off,
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
    Fault(
        "the remainder of a quotient of {} {} left out of the sticky bit", Place.OPERANDS,
        frozenset({"divide"}), _without_remainder, _bits_of_quotients,
    ),
    Fault("{} exponents of a taken as one {}", Place.OPERANDS, frozenset({"square root"}), _of_parity, _parities),
    Fault(
        "the bits of the smaller term after {} extra bit{} ORed into a difference, not subtracted",
        Place.TERMS, SUMS, subtracting(not_borrowed), extra_bits,
    ),
    Fault(
        "differences one too small in the last place of an adder of {} extra bit{}",
        Place.TERMS, SUMS, subtracting(one_missing), extra_bits,
    ),
    Fault(
        "differences not negated where exponents are equal and the second term is larger{}", Place.TERMS, SUMS,
        not_negated, lambda unit, sample: [(False, ("",)), (True, (", with the right sign",))],
    ),
    Fault("the smaller term aligned by one place too {}", Place.TERMS, SUMS, aligning(off_by), one_too_far),
    Fault("{} dropped where its exponent is larger", Place.TERMS, SUMS, second_dropped, names_of_terms),
    Fault("sums normalized by at most {} place{}", Place.TERMS, SUMS, summed(normalized), places_of_sums),
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
