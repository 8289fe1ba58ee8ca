"""B10 to B18 and M1: models of sums, and of a multiply-add's product beside its addend.

They examine the difference of exponents by which one term is shifted, special significands, and cancellation; for
multiply-adds also how much of the product the addend cancels.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from halfulp.conformance.vectors.intermediate import (
    Dice,
    ExactResult,
    ModelCase,
    addend_of,
    encoded,
    exact,
    factors,
    operand,
    operands_for,
    pieces,
    product_of,
    quantum,
    random_normal,
    row_with,
    significand,
)
from halfulp.conformance.vectors.models.model import (
    SIGNS,
    SUMS,
    Bucket,
    CoverageModel,
    Operands,
    float_target,
    fraction_patterns,
    nonzero_result,
    normal_fraction,
    pattern_names,
)
from halfulp.fp_formats.formats import FloatFormat


def _shifts(case: ModelCase) -> range:
    fmt = case.float_source
    most = min(fmt.precision + 4, fmt.emax - fmt.emin)
    return range(-most, most + 1)


def _shift(case: ModelCase, row: Operands) -> int | None:
    fmt = case.float_source
    one, other = _exponent(fmt, row[0]), _exponent(fmt, row[1])
    return None if one is None or other is None else one - other


class _B10(CoverageModel):
    target = "every difference of exponents from -(p + 4) to p + 4, and beyond"
    kinds = SUMS

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        fmt = case.float_source
        for shift in _shifts(case):
            yield "shift", shift
        if fmt.emax - fmt.emin > fmt.precision + 4:
            yield from (("shift", "less"), ("shift", "more"))

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        shift = _shift(case, row)
        if shift is not None:
            limit = case.float_source.precision + 4
            yield "shift", shift if abs(shift) <= limit else "less" if shift < 0 else "more"

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        one, other = (random_normal(case.float_source, dice, lead) for lead in _shifted_leads(case, bucket[1], dice))
        if one is not None and other is not None:
            yield one, other


def _shifted_leads(case: ModelCase, shift: int | str, dice: Dice) -> tuple[int, int]:
    fmt = case.float_source
    limit = fmt.precision + 4
    if isinstance(shift, str):
        far = dice.between(limit + 1, fmt.emax - fmt.emin)
        shift = far if shift == "more" else -far
    first = dice.between(max(fmt.emin, fmt.emin + shift), min(fmt.emax, fmt.emax + shift))
    return first, first - shift


def _effective(case: ModelCase, row: Operands) -> str:
    fmt = case.float_source
    differ = fmt.signed and bool((row[0] ^ row[1]) >> fmt.bits - 1)
    return "difference" if differ != (case.kind == "subtract") else "sum"


class _B11(CoverageModel):
    target = "every difference of exponents with special significands, effectively added and subtracted"
    kinds = SUMS

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        fmt = case.float_source
        patterns = fraction_patterns(fmt.mantissa_bits)
        effects = ("sum", "difference") if fmt.signed else ("difference" if case.kind == "subtract" else "sum",)
        yield from product((shift for _, shift in _B10().buckets(case)), patterns, patterns, effects)

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        fmt = case.float_source
        one, other = (normal_fraction(fmt, code) for code in row)
        if one is None or other is None:
            return
        classes = pattern_names(fmt.mantissa_bits)
        for _, shift in _B10().fits(case, row):
            yield from product((shift,), classes.get(one, ()), classes.get(other, ()), (_effective(case, row),))

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        fmt = case.float_source
        shift, *names, effect = bucket
        row = []
        sign = dice.bits(1) if fmt.signed else 0
        flip = int((effect == "difference") != (case.kind == "subtract"))
        leads = _shifted_leads(case, shift, dice)
        for name, lead, own in zip(names, leads, (sign, sign ^ flip), strict=True):
            choices = fraction_patterns(fmt.mantissa_bits)[str(name)]
            fraction = choices[dice.below(len(choices))]
            code = encoded(fmt, own, 1 << fmt.mantissa_bits | fraction, lead - fmt.mantissa_bits)
            if code is None:
                return
            row.append(code)
        yield tuple(row)


def _cancellation(case: ModelCase, row: Operands) -> tuple[int, int] | None:
    """Return the distance from the leading bit of the larger operand to that of the sum, and the leading exponent of
    the sum.
    """
    result = nonzero_result(case, row)
    numbers = [operand(source, code) for source, code in zip(case.sources, row, strict=True)]
    leads = [number.lead for number in numbers if number is not None and number.significand]
    return None if result is None else (result.lead - max(leads), result.lead)


class _B12(CoverageModel):
    target = "every cancellation: the sum's exponent against the larger operand's, from -p to 1"
    kinds = SUMS

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        fmt = case.float_source
        lowest = -min(fmt.precision, fmt.emax - fmt.emin + (fmt.mantissa_bits if fmt.zero else 0))
        for moved in range(lowest, 2):
            if fmt.signed or (moved == 1) == (case.kind == "add") or moved == 0:
                yield "moved", moved

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        found = _cancellation(case, row)
        if found is not None:
            yield "moved", found[0]

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        fmt = case.float_source
        moved = int(bucket[1])
        lead = dice.between(max(fmt.emin + moved, fmt.emin - (fmt.mantissa_bits if fmt.zero else 0)), fmt.emax + moved)
        yield from _cancelling(case, min(lead, fmt.emax + (moved == 1)), moved, dice)


def _cancelling(case: ModelCase, lead: int, moved: int, dice: Dice) -> Iterator[Operands]:
    """Yield operands of a sum with that leading exponent, the larger of them ``moved`` below it."""
    fmt = case.float_source
    larger = lead - moved
    ulp = (max(larger, fmt.emin) if fmt.zero else larger) - fmt.mantissa_bits
    flip = int(case.kind == "subtract")
    sign = dice.bits(1) if fmt.signed else 0
    least = fmt.emin - fmt.mantissa_bits
    for finer in (0, 1):  # the smaller operand may lie a binade below, with a finer ulp
        unit = max(ulp - finer, least)
        length = lead - unit
        if length < 0:
            continue
        wanted = 1 << length | dice.bits(length)
        top = 1 << larger - unit
        for big in (
            top,
            top | dice.bits(max(larger - unit, 0)) >> finer << finer,
            top + (wanted >> 1 >> finer << finer),
        ):
            rest = wanted - big
            a = encoded(fmt, sign, big, unit)
            b = encoded(fmt, sign ^ (rest < 0) ^ flip if fmt.signed else 0, abs(rest), unit)
            if a is not None and b is not None and (fmt.signed or (rest < 0) == bool(flip)):
                yield a, b


class _B13(CoverageModel):
    target = "every cancellation with every exponent of a subnormal sum"
    kinds = SUMS

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        fmt = case.float_source
        if not fmt.zero:
            return
        for lead in range(fmt.emin - fmt.mantissa_bits, fmt.emin):
            for moved in range(-fmt.precision, 2):
                # Operands are multiples of the smallest subnormal, and one binade below the larger one ulps are finer.
                finest = max(lead - moved - 1, fmt.emin) - fmt.mantissa_bits
                if finest <= lead and lead - moved <= fmt.emax and lead - moved >= fmt.emin - fmt.mantissa_bits:
                    yield "subnormal", lead, moved

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        found = _cancellation(case, row)
        if found is not None and found[1] < case.float_source.emin:
            yield "subnormal", found[1], found[0]

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        _, lead, moved = bucket
        yield from _cancelling(case, int(lead), int(moved), dice)


# --- multiply adds ----------------------------------------------------------------------------------------------------

MULTIPLY_ADD = ("multiply-add",)
EFFECTS = ("sum", "difference")


def _terms(case: ModelCase, row: Operands) -> tuple[ExactResult, ExactResult] | None:
    """Return the exact product and the addend, with the signs that they have in the sum; None unless both are numbers
    other than 0.
    """
    x, y, z = (operand(source, code) for source, code in zip(case.sources, row, strict=True))
    if x is None or y is None or z is None or not (x.significand and y.significand and z.significand):
        return None
    return product_of(case, x, y), addend_of(case, z)


def _effects(case: ModelCase) -> tuple[str, ...]:
    """Return whether magnitudes can be added, and subtracted."""
    if any(fmt.signed for fmt in case.float_sources):
        return EFFECTS
    return EFFECTS[case.negates[0] ^ case.negates[1] :][:1]


def _effect(terms: tuple[ExactResult, ExactResult]) -> str:
    return EFFECTS[terms[0].sign ^ terms[1].sign]


def _signs(case: ModelCase, effect: str, dice: Dice) -> tuple[int, int] | None:
    """Return signs with which the product and the addend have that effect in the sum; None if the formats lack these
    signs.
    """
    one, other, addend = case.float_sources
    products = (0, 1) if one.signed or other.signed else (case.negates[0],)
    addends = (0, 1) if addend.signed else (case.negates[1],)
    choices = [pair for pair in product(products, addends) if (pair[0] ^ pair[1]) == (effect == "difference")]
    return choices[dice.below(len(choices))] if choices else None


# --- B14, B15: shifts -------------------------------------------------------------------------------------------------


def _exponent(fmt: FloatFormat, code: int) -> int | None:
    """Return the exponent that aligns an operand; for a subnormal, the smallest exponent; None for 0, NaN and
    infinities.
    """
    number = operand(fmt, code)
    return max(number.lead, fmt.emin) if number is not None and number.significand else None


def _shift_of_addend(case: ModelCase, row: Operands) -> int | None:
    """Return the exponent of the addend minus the sum of the exponents of the factors."""
    a, b, c = (_exponent(fmt, code) for fmt, code in zip(case.float_sources, row, strict=True))
    return None if a is None or b is None or c is None else c - a - b


def _shift_limits(case: ModelCase) -> tuple[int, int]:
    """Return the shifts beyond which an addend, or a product, is only a sticky bit."""
    one, other, addend = case.float_sources
    kept = float_target(case).precision
    return -(max(one.precision + other.precision, kept) + 1), max(addend.precision, kept) + 1


def _shift_range(case: ModelCase) -> tuple[int, int]:
    """Return all shifts that the exponents of the formats allow."""
    one, other, addend = case.float_sources
    return addend.emin - one.emax - other.emax, addend.emax - one.emin - other.emin


def _shifts_of_addend(case: ModelCase) -> Iterator[int | str]:
    (least, most), (low, high) = _shift_limits(case), _shift_range(case)
    yield from range(max(least, low), min(most, high) + 1)
    if low < least:
        yield "less"
    if high > most:
        yield "more"


def _named_shift(case: ModelCase, shift: int) -> int | str:
    least, most = _shift_limits(case)
    return "less" if shift < least else "more" if shift > most else shift


class _B14(CoverageModel):
    target = "every shift of the addend against the product, from -(2p + 1) to p + 1, and beyond"
    kinds = MULTIPLY_ADD

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        yield from (("shift", shift) for shift in _shifts_of_addend(case))

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        shift = _shift_of_addend(case, row)
        if shift is not None:
            yield "shift", _named_shift(case, shift)

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        yield from _normals(case, dice, _exponents_for(case, bucket[1], dice), (None, None, None))


def _exponents_for(case: ModelCase, shift: int | str, dice: Dice) -> tuple[int, int, int]:
    """Return exponents of the operands with that shift, each within its format."""
    one, other, addend = case.float_sources
    (least, most), (low, high) = _shift_limits(case), _shift_range(case)
    if isinstance(shift, str):
        shift = dice.between(low, least - 1) if shift == "less" else dice.between(most + 1, high)
    factors_low, factors_high = one.emin + other.emin, one.emax + other.emax
    both = dice.between(max(factors_low, addend.emin - shift), min(factors_high, addend.emax - shift))
    first = dice.between(max(one.emin, both - other.emax), min(one.emax, both - other.emin))
    return first, both - first, both + shift


def _normals(case: ModelCase, dice: Dice, exponents: tuple[int, int, int], fractions: tuple[int | None, ...],
             signs: tuple[int, ...] | None = None) -> Iterator[Operands]:  # fmt: skip
    """Yield normal operands with these exponents and fractions, if there are any. A fraction None is replaced by a
    random one.
    """
    row = []
    for k, (fmt, exponent, fraction) in enumerate(zip(case.float_sources, exponents, fractions, strict=True)):
        bits = fmt.mantissa_bits
        fraction = dice.bits(bits) if fraction is None else fraction
        sign = (dice.bits(1) if fmt.signed else 0) if signs is None else signs[k]
        code = encoded(fmt, sign, 1 << bits | fraction, exponent - bits)
        # The largest exponent of some formats has few codes; 1.0 is one of them.
        code = encoded(fmt, sign, 1, exponent) if code is None and signs is None else code
        if code is None:
            return
        row.append(code)
    yield tuple(row)


class _B15(CoverageModel):
    target = "every shift of the addend with special significands, effectively added and subtracted"
    kinds = MULTIPLY_ADD

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        one, _, addend = case.float_sources
        patterns = [fraction_patterns(fmt.mantissa_bits) for fmt in (one, addend)]
        yield from product(_shifts_of_addend(case), *patterns, _effects(case))

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        one, other, addend = case.float_sources
        fractions = [normal_fraction(fmt, code) for fmt, code in zip(case.float_sources, row, strict=True)]
        first, second, last = fractions
        if first is None or second is None or last is None or second not in pattern_names(other.mantissa_bits):
            return
        shift, terms = _shift_of_addend(case, row), _terms(case, row)
        assert shift is not None
        assert terms is not None
        names = pattern_names(one.mantissa_bits).get(first, ()), pattern_names(addend.mantissa_bits).get(last, ())
        yield from product((_named_shift(case, shift),), *names, (_effect(terms),))

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        shift, first, last, effect = bucket
        one, other, addend = case.float_sources
        listed = [
            fraction_patterns(one.mantissa_bits)[str(first)],
            list(pattern_names(other.mantissa_bits)),
            fraction_patterns(addend.mantissa_bits)[str(last)],
        ]
        signs = _signs(case, str(effect), dice)
        if signs is None:
            return
        of_product, of_addend = signs[0] ^ case.negates[0], signs[1] ^ case.negates[1]
        first_sign = dice.bits(1) if one.signed and other.signed else of_product if one.signed else 0
        fractions = tuple(choices[dice.below(len(choices))] for choices in listed)
        exponents = _exponents_for(case, shift, dice)
        yield from _normals(case, dice, exponents, fractions, (first_sign, first_sign ^ of_product, of_addend))


# --- B16, B17: cancellation -------------------------------------------------------------------------------------------


def _cancellation_of_terms(case: ModelCase, row: Operands) -> tuple[int, int] | None:
    """Return the distance from the leading bit of the larger term to that of the sum, and the exponent of the latter;
    None if a term or the sum is 0.
    """
    terms, result = _terms(case, row), exact(case, row)
    if terms is None or result is None or not result.significand:
        return None
    return result.lead - max(term.lead for term in terms), result.lead


def _lowest_term(case: ModelCase) -> tuple[int, int]:
    """Return the exponents of the smallest product and of the smallest addend."""
    one, other, addend = (fmt.emin - fmt.mantissa_bits if fmt.zero else fmt.emin for fmt in case.float_sources)
    return one + other, addend


def _highest_term(case: ModelCase) -> tuple[int, int]:
    one, other, addend = case.float_sources
    return one.emax + other.emax + 1, addend.emax


def _cancels(case: ModelCase, lead: int, moved: int) -> bool:
    """Tell whether ranges and precisions allow a sum of that exponent, ``-moved`` below that of the larger term."""
    one, other, addend = case.float_sources
    top = lead - moved
    (product_low, addend_low), (product_high, addend_high) = _lowest_term(case), _highest_term(case)
    if top > max(product_high, addend_high) or top < max(product_low, addend_low):
        return False
    if moved >= 0:
        return moved <= 1
    # What cancels is as large as the other term, up to one binade; the last bit of one of them is the sum's lowest.
    if top - 1 > min(product_high, addend_high):
        return False
    finest = max(top - one.precision - other.precision + 1, product_low)
    least = max(top - addend.precision, addend_low - (0 if addend.zero else addend.mantissa_bits))
    return lead >= min(finest, least)


def _moves(case: ModelCase) -> range:
    one, other, addend = case.float_sources
    return range(-max(one.precision + other.precision - 1, addend.precision), 2)


@lru_cache(maxsize=256)
def _leads(case: ModelCase, moved: int) -> tuple[int, ...]:
    """Return the exponents that a sum may have after this cancellation."""
    low, high = min(_lowest_term(case)), max(_highest_term(case)) + 1
    return tuple(lead for lead in range(low, high + 1) if _cancels(case, lead, moved))


class _B16(CoverageModel):
    target = (
        "every cancellation: the sum's exponent against that of the larger of product and addend, from -(2p - 1) to 1"
    )
    kinds = MULTIPLY_ADD

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        effects = _effects(case)
        for moved in _moves(case):
            needed = "difference" if moved < 0 else "sum" if moved > 0 else None
            if (needed is None or needed in effects) and _leads(case, moved):
                yield "moved", moved

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        found = _cancellation_of_terms(case, row)
        if found is not None:
            yield "moved", found[0]

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        moved = int(bucket[1])
        leads = _leads(case, moved)
        # Results of ordinary size as often as any.
        ordinary = [lead for lead in leads if -8 <= lead <= 8] if dice.bits(1) else leads
        chosen = ordinary or leads
        yield from _cancelling_terms(case, chosen[dice.below(len(chosen))], moved, dice)


def _cancelling_terms(case: ModelCase, lead: int, moved: int, dice: Dice) -> Iterator[Operands]:
    """Yield operands of a sum with that exponent, in which the larger term is ``-moved`` above it."""
    one, other, addend = case.float_sources
    top, both, sign = lead - moved, one.precision + other.precision, dice.bits(1)
    effect = "difference" if moved < 0 else "sum" if moved > 0 else EFFECTS[dice.below(2)]
    signs = _signs(case, effect, dice)
    if signs is None:
        return
    of_product, _ = signs
    # The sum is the wanted one: the addend corrects a product of a random length and place near the top.
    for length in (1, 1 + dice.below(both)):
        unit = max(top - dice.between(0, both), lead - length + 1)
        wanted = 1 << max(lead - unit, 0) | dice.bits(max(lead - unit, 0))
        x, y = significand(dice, one.precision, sign == 1), significand(dice, other.precision, bool(dice.bits(1)))
        place = top - (x * y).bit_length() + 1 - dice.below(2)
        yield from row_with(case, dice, (of_product, x, y, place), (-1) ** (of_product ^ dice.bits(1)) * wanted, unit)
    # The low bits of the product are the sum: what is left is a multiple of the addend's unit.
    y = significand(dice, other.precision, dice.below(4) == 0)
    length = 1 + dice.below(2) if dice.bits(1) else 1 + dice.below(one.precision)
    low = min(max(length - moved - addend.precision, length), one.precision)
    rest = 1 << length - 1 | dice.bits(length) >> 1
    for negative in (0, 1):
        x = (-1) ** negative * rest * pow(y, -1, 1 << low) % (1 << low)
        x |= dice.bits(one.precision - low) << low
        if x:
            wanted = (-1) ** (of_product ^ negative) * rest
            yield from row_with(case, dice, (of_product, x, y, lead - length + 1), wanted, lead - length + 1)
    # An addend just below or above a product of few bits.
    unit = max(top - addend.precision + dice.below(2), lead - dice.below(2))
    x, y = 1 + 2 * dice.below(3), 1 + 2 * dice.below(3)
    wanted = (-1) ** (of_product ^ dice.bits(1)) << max(lead - unit, 0)
    yield from row_with(case, dice, (of_product, x, y, top - x.bit_length() + 1), wanted, unit)
    yield from operands_for(
        case, dice, of_product, 1 << (length := dice.below(both)) | dice.bits(length), lead - length
    )


class _B17(CoverageModel):
    target = "every cancellation with every exponent of a subnormal sum"
    kinds = MULTIPLY_ADD

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        target = float_target(case)
        if not target.zero:
            return
        moves = [int(moved) for _, moved in _B16().buckets(case)]
        for lead, moved in product(range(target.emin - target.mantissa_bits, target.emin), moves):
            if _cancels(case, lead, moved):
                yield "subnormal", lead, moved

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        found = _cancellation_of_terms(case, row)
        if found is not None and found[1] < float_target(case).emin:
            yield "subnormal", found[1], found[0]

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        _, lead, moved = bucket
        yield from _cancelling_terms(case, int(lead), int(moved), dice)


# --- B18: what the addend undoes --------------------------------------------------------------------------------------

_MORE = 4


class _B18(CoverageModel):
    target = "an inexact, overflowing or underflowing product that the addend makes exact or brings back into the range"
    kinds = MULTIPLY_ADD

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        target = float_target(case)
        below, most = _below(case), sum(fmt.precision for fmt in case.float_sources[:2])
        tails = ((guard, sticky) for guard, sticky in ((0, 1), (1, 0), (1, 1)) if below > sticky)
        yield from (("exact", last, *tail) for last, tail in product((0, 1), tails))
        for sign in (SIGNS[sign] for sign in case.signs):
            if _highest_term(case)[0] > target.emax:
                top = _top(target)
                # A product of few bits lies just above the largest value only as a number of few bits.
                yield from (
                    ("overflow", sign, ulps) for ulps in range(1, _MORE) if _odd(top + ulps).bit_length() <= most
                )
                yield "overflow", sign, _MORE
            low, _ = _lowest_term(case)
            yield from (
                ("underflow", sign, target.emin - lead) for lead in range(max(low, _floor(target)), target.emin)
            )
            if low < _floor(target):
                yield "underflow", sign, "below all"

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        target = float_target(case)
        terms, result = _terms(case, row), exact(case, row)
        if terms is None or result is None or not result.significand:
            return
        found, _ = terms
        alone, made, top = pieces(target, found), pieces(target, result), _top(target)
        over, left = (pieces(target, number, quantum(target, target.emax)) for number in (found, result))
        within = left.kept < top or (left.kept == top and not left.rest)
        if not made.rest and within and alone.rest:
            yield "exact", alone.kept & 1, alone.guard, alone.sticky
        if over.kept > top and within:
            yield "overflow", SIGNS[found.sign], min(over.kept - top, _MORE)
        if found.lead < target.emin <= result.lead:
            below = found.lead < _floor(target)
            yield "underflow", SIGNS[found.sign], "below all" if below else target.emin - found.lead

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        target = float_target(case)
        one, other, addend = case.float_sources
        if bucket[0] == "exact":
            # The addend has the opposite of the product's tail.
            x, y = (significand(dice, fmt.precision, bool(dice.bits(1))) for fmt in (one, other))
            if not bucket[3]:  # a tail of one bit needs short factors
                bits = target.precision + 1 + dice.below(2)
                first = min(max(1 + dice.below(bits), bits - other.precision), one.precision)
                x, y = significand(dice, first), significand(dice, min(max(bits - first, 1), other.precision))
            length = (x * y).bit_length()
            ends = target.emin, target.emax
            lead = dice.between(-4, 4) if dice.bits(1) else ends[dice.bits(1)] + dice.below(3) - 1
            place = max(lead, target.emin) - length + 1 if dice.bits(1) else lead - length + 1
            unit = quantum(target, lead)
            kept = (x * y >> max(unit - place, 0)) if unit >= place else x * y << place - unit
            for step in (0, 1, -1, dice.below(1 << target.precision) - kept):
                yield from row_with(case, dice, (0 if one.signed or other.signed else case.negates[0], x, y, place),
                               kept + step, unit)  # fmt: skip
            return
        sign = SIGNS.index(str(bucket[1]))
        if bucket[0] == "overflow":
            unit, ulps = quantum(target, target.emax), int(bucket[2])
            wanted = _top(target) + (ulps if ulps < _MORE else ulps + dice.bits(target.precision))
            y = significand(dice, other.precision, bool(dice.bits(1)))
            for moved in (0, one.precision + other.precision - target.precision):
                x = -(-(wanted << max(moved, 0)) // y)
                down = max(x.bit_length() - one.precision, 0)
                x = -(-x >> down)
                for less in (dice.below(4), dice.bits(addend.precision)):
                    total = (x * y << down) - (ulps + less << max(moved, 0))
                    if x and total > 0:
                        yield from row_with(case, dice, (sign, x, y, unit - max(moved, 0) + down),
                                       (-1) ** sign * (total >> max(moved, 0)), unit)  # fmt: skip
                    pair = factors(case, dice, sign, x, y, unit - max(moved, 0) + down) if x else None
                    c = encoded(addend, sign ^ 1 ^ case.negates[1],
                                1 << addend.mantissa_bits | dice.bits(addend.mantissa_bits),
                                min(target.emax, addend.emax) - addend.mantissa_bits - dice.below(3))  # fmt: skip
                    if pair is not None and c is not None:
                        yield *pair, c
            return
        low, _ = _lowest_term(case)
        lead = dice.between(low, _floor(target) - 1) if bucket[2] == "below all" else target.emin - int(bucket[2])
        x, y = significand(dice, one.precision, True), significand(dice, other.precision, True)
        pair = factors(case, dice, sign, x, y, lead - (x * y).bit_length() + 1)
        exponent = max(addend.emin, target.emin + dice.below(3))
        full = 1 << addend.mantissa_bits | dice.bits(addend.mantissa_bits)
        c = encoded(addend, dice.bits(1) if addend.signed else 0, full, exponent - addend.mantissa_bits)
        if pair is not None and c is not None:
            yield *pair, c


def _odd(number: int) -> int:
    return number >> (number & -number).bit_length() - 1


def _below(case: ModelCase) -> int:
    """Return the most bits of a product below the last one that the target keeps, and that an addend can cancel."""
    one, other, _ = case.float_sources
    target = float_target(case)
    return max(one.precision + other.precision - target.precision, _floor(target) - max(_lowest_term(case)))


def _floor(target: FloatFormat) -> int:
    """Return the exponent of the smallest positive value."""
    return target.emin - (target.mantissa_bits if target.zero else 0)


def _top(target: FloatFormat) -> int:
    """Return the largest value as a multiple of its ulp."""
    number = operand(target, target.max_code)
    assert number is not None
    return pieces(target, number, quantum(target, target.emax)).kept


# --- M1: the product against the last bit of the addend ---------------------------------------------------------------

_AROUND = ("below 1/2", "1/2", "above 1/2", "below 1", "1", "above 1")


def _near(case: ModelCase) -> int:
    """Return the depth d for which products within 2**-d of a half or a whole number count as near."""
    return max(case.extra - 1, 1)


class _M1(CoverageModel):
    target = "products of half and of one unit in the last place of the addend, and just beside: ties and near ties"
    kinds = MULTIPLY_ADD

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        target = float_target(case)
        floor, lowest = _floor(target), _lowest_term(case)[0]
        precisions = [fmt.precision for fmt in case.float_sources[:2]]
        longest = sum(precisions) - (min(precisions) == 1)  # a power of two adds no bit
        for place in _AROUND:
            if place.startswith("above") and longest < _near(case) + 2:
                continue
            # Beside subnormals, the last bit is the smallest value: a product must be as small, and as fine.
            needed = floor - place.endswith("1/2") - (_near(case) if " " in place else 0)
            small = target.zero and target.mantissa_bits and lowest <= needed
            yield from product(_effects(case), (0, 1), (place,), ("normal", "subnormal") if small else ("normal",))

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        target, terms, result = float_target(case), _terms(case, row), exact(case, row)
        if terms is None or result is None or not result.significand or target.emax < result.lead:
            return
        found, added = terms
        lowest = quantum(target, added.lead)
        kept = pieces(target, added, lowest)
        if kept.rest:
            return
        depth = _near(case)
        # The product in units of 2**-(depth + 1) of the last bit.
        scaled = pieces(target, found, lowest - depth - 1)
        half = 1 << depth
        for name, centre in (("1/2", half), ("1", 2 * half)):
            if scaled.kept == centre and not scaled.rest:
                place = name
            elif centre <= scaled.kept < centre + centre // half:
                place = f"above {name}"
            elif centre - centre // half <= scaled.kept < centre:
                place = f"below {name}"
            else:
                continue
            size = "subnormal" if result.lead < target.emin else "normal"
            yield _effect(terms), kept.kept & 1, place, size

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        effect, last, place, size = bucket
        target, (one, other, addend) = float_target(case), case.float_sources
        signs = _signs(case, str(effect), dice)
        if signs is None:
            return
        if size == "subnormal":
            lead = dice.between(_floor(target), target.emin)
        else:
            low, high = max(target.emin, addend.emin), min(target.emax, addend.emax)
            lead = dice.between(low, high) if dice.bits(1) else dice.between(max(low, -4), min(high, 4))
        lowest = quantum(target, lead)
        length = max(lead - lowest, 0)
        kept = (1 << length | dice.bits(length)) & ~1 | int(last)
        kept = kept or 2
        c = encoded(addend, signs[1] ^ case.negates[1], kept, lowest)
        if c is None:
            return
        unit = lowest - (1 if str(place).endswith("1/2") else 0)
        if place in ("1/2", "1"):
            shift = dice.below(one.precision)
            pair = factors(case, dice, signs[0], 1 << shift, 1, unit - shift)
            if pair is not None:
                yield *pair, c
            return
        above = str(place).startswith("above")
        y = significand(dice, other.precision, bool(dice.bits(1)))
        both = one.precision + other.precision
        for moved in {y.bit_length() + one.precision - 1, y.bit_length() + one.precision - 2, 1 + dice.below(both)}:
            x = (1 << moved) // y + 1 if above else ((1 << moved) - 1) // y
            if x and x.bit_length() <= one.precision:
                pair = factors(case, dice, signs[0], x, y, unit - moved)
                if pair is not None:
                    yield *pair, c


MODELS = (_B10(), _B11(), _B12(), _B13(), _B14(), _B15(), _B16(), _B17(), _B18(), _M1())
