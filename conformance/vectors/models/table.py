"""The table of the coverage models, and the report of what they cover: FPgen's B1 to B29, F1 to F6 for elementary
functions, and M1 for multiply-adds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, ClassVar

from halfulp.conformance.vectors.intermediate import (
    Dice,
    ExactResult,
    ModelCase,
    encoded,
    exact,
    nearest,
    operand,
    operands_for,
    pieces,
    smallest,
)
from halfulp.conformance.vectors.models import conversions, fixed_point, functions, sums
from halfulp.conformance.vectors.models.model import (
    ARITHMETIC,
    ROUNDED,
    SIGNS,
    SUMS,
    TINY_BEFORE_ALONE,
    Bucket,
    CoverageModel,
    Filled,
    Operands,
    applies,
    basic_codes,
    basic_types,
    code_of_one,
    exponent_range,
    float_sources,
    float_target,
    floor_log2,
    fraction_patterns,
    largest_result,
    largest_subnormal,
    nonzero_result,
    normal_fraction,
    pattern_names,
    present_types,
    reaches,
    sign_of,
    smallest_subnormal,
    with_lead,
    with_tail,
)
from halfulp.conformance.vectors.testfloat_levels import significands
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import SPEC

# --- division ---------------------------------------------------------------------------------------------------------
#
# B20, B21: models of division and remainder.


def _quotient(case: ModelCase, row: Operands) -> ExactResult | None:
    result = exact(case, row, "divide")
    return result if result is not None and result.significand else None


class _B20(CoverageModel):
    target = "exact quotients of every number of significant bits"
    kinds = ("divide", "remainder")

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        yield from (("significant bits", bits) for bits in range(1, case.float_source.precision + 1))

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        result = _quotient(case, row)
        if result is not None:
            significand = result.significand
            yield "significant bits", (significand // (significand & -significand)).bit_length()

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        fmt = case.float_source
        bits = int(bucket[1])
        quotient = 1 << bits - 1 | dice.bits(bits - 1) | 1
        room = max(fmt.precision - bits, 1)
        divisor = 1 << room - 1 | dice.bits(room - 1)
        dividend = quotient * divisor
        lead = dice.between(max(fmt.emin, -8), min(fmt.emax, 8))
        sign, other = (dice.bits(1), dice.bits(1)) if fmt.signed else (0, 0)
        a = encoded(fmt, sign, dividend, lead - dividend.bit_length() + 1)
        b = encoded(fmt, other, divisor, dice.between(max(fmt.emin, -8), min(fmt.emax, 8)) - room + 1)
        if a is not None and b is not None:
            yield a, b


def _b21_kind(fmt: FloatFormat, code: int) -> str:
    sign = sign_of(fmt, code)
    if fmt.is_nan(code):
        return "NaN"
    return sign + ("zero" if fmt.is_zero(code) else "infinity" if fmt.is_infinite(code) else "number")


class _B21(CoverageModel):
    target = "zero, number, infinity and NaN divided by each of these"
    kinds = ("divide", "remainder")

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        fmt = case.float_source
        kinds = dict.fromkeys(_b21_kind(fmt, code) for code in basic_codes(fmt))
        yield from product(kinds, kinds)

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        yield tuple(_b21_kind(case.float_source, code) for code in row)

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        fmt = case.float_source
        codes = {name: [code for code in basic_codes(fmt) if _b21_kind(fmt, code) == name] for name in map(str, bucket)}
        yield tuple(codes[str(name)][dice.below(len(codes[str(name)]))] for name in bucket)


# --- operands ---------------------------------------------------------------------------------------------------------
#
# B1, B9, B19: models of the operands alone.


class _B1(CoverageModel):
    target = "basic types of the operands with both signs, crossed"
    kinds = (
        *ARITHMETIC,
        "multiply-add",
        "remainder",
        "compare",
        "convert",
        "to integer",
        "function",
        "function of two",
        "other",
    )

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        formats = float_sources(case)
        if formats:
            yield from product(*(present_types(fmt) for fmt in formats))

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        yield from product(*(basic_types(fmt, code) for fmt, code in zip(float_sources(case), row, strict=True)))

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        lists = [present_types(fmt)[str(name)] for fmt, name in zip(float_sources(case), bucket, strict=True)]
        yield tuple(codes[dice.below(len(codes))] for codes in lists)


class _B9(CoverageModel):
    target = "special significands of the operands: runs, walking bits, checkerboards, crossed"
    kinds = (*ARITHMETIC, "multiply-add", "remainder", "compare", "convert", "to integer", "function")

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        formats = float_sources(case)
        if not formats:
            return
        yield from product(*(fraction_patterns(fmt.mantissa_bits) for fmt in formats))
        for place, fmt in enumerate(formats):
            for pattern in significands(fmt.mantissa_bits, 2):
                yield "operand", place, pattern

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        formats = float_sources(case)
        fractions = [normal_fraction(fmt, code) for fmt, code in zip(formats, row, strict=True)]
        names = []
        for place, (fmt, fraction) in enumerate(zip(formats, fractions, strict=True)):
            if fraction is None:
                return
            yield "operand", place, fraction
            names.append(pattern_names(fmt.mantissa_bits).get(fraction, ()))
        yield from product(*names)

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        formats = float_sources(case)
        row = []
        for place, fmt in enumerate(formats):
            bits = fmt.mantissa_bits
            if bucket[0] == "operand":
                listed = significands(bits, 2)
                fraction = int(bucket[2]) if bucket[1] == place else listed[dice.below(len(listed))]
            else:
                choices = fraction_patterns(bits)[str(bucket[place])]
                fraction = choices[dice.below(len(choices))]
            lead = dice.between(max(fmt.emin, -4), min(fmt.emax, 4))
            code = encoded(fmt, dice.bits(1) if fmt.signed else 0, 1 << bits | fraction, lead - bits)
            if code is None:
                return
            row.append(code)
        yield tuple(row)


def _b19_kind(fmt: FloatFormat, code: int) -> tuple[str, int, int] | None:
    number = operand(fmt, code)
    if number is None:
        return None
    sign = SIGNS[number.sign]
    magnitude = code & fmt.magnitude_mask
    if not number.significand:
        return "zero", 0, 0
    if fmt.is_subnormal(code):
        return f"{sign}subnormal", fmt.emin - 1, magnitude & fmt.fraction_mask
    return f"{sign}normal", number.lead, code & fmt.fraction_mask


def _relation(a: int, b: int) -> str:
    return "<" if a < b else "=" if a == b else ">"


class _B19(CoverageModel):
    target = "normal, subnormal and zero operands with every order of exponents and of fractions"
    kinds = ("compare",)

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        fmt = case.float_source
        one, other = _b19_kind(fmt, row[0]), _b19_kind(fmt, row[1])
        if one is None or other is None:
            return
        exponents = (fmt.emin - 1 if kind == "zero" else exponent for kind, exponent, _ in (one, other))
        yield one[0], other[0], _relation(*exponents), _relation(one[2], other[2])

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        fmt = case.float_source
        signs = SIGNS if fmt.signed else "+"
        kinds = {"normal": signs, "subnormal": signs if fmt.zero and fmt.mantissa_bits else "", "zero": " " * fmt.zero}
        names = [name if name == "zero" else sign + name for name, signs in kinds.items() for sign in signs]
        small = fmt.mantissa_bits
        for one, other in product(names, names):
            lower = [name.lstrip(SIGNS) != "normal" for name in (one, other)]
            order = _relation(*(0 if low else 1 for low in lower))
            orders = "<=>" if lower == [False, False] and fmt.emax > fmt.emin else order
            for exponents, fractions in product(orders, "<=>"):
                if _b19_possible(one.lstrip(SIGNS), other.lstrip(SIGNS), fractions, small):
                    yield one, other, exponents, fractions

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        fmt = case.float_source
        one, other, exponents, fractions = map(str, bucket)
        # A fraction of 0 is needed to equal that of zero.
        fraction = dice.bits(fmt.mantissa_bits) if fractions != "=" or dice.below(2) else 0
        step = 1 if dice.below(2) else 1 + dice.bits(fmt.mantissa_bits)
        second = fraction + {"<": step, "=": 0, ">": -step}[fractions] & fmt.fraction_mask
        field = dice.between(int(fmt.zero), (fmt.max_magnitude >> fmt.mantissa_bits) - 1)
        ahead = field + {"<": 1, "=": 0, ">": -1}[exponents]
        row = []
        for name, place, bits in ((one, field, fraction), (other, ahead, second)):
            if name == "zero":
                row.append(0)
                continue
            normal = name.endswith("normal") and not name.endswith("subnormal")
            code = fmt.from_magnitude((max(place, int(fmt.zero)) if normal else 0) << fmt.mantissa_bits | bits)
            row.append(code | (fmt.sign_mask or 0) * (name[0] == "-"))
        yield tuple(row)


def _b19_possible(one: str, other: str, fractions: str, bits: int) -> bool:
    """Tell whether fractions of these kinds of operands can have that relation. A subnormal has no fraction of 0."""
    every = (1 << bits) - 1
    ranges = {"zero": (0, 0), "subnormal": (1, every), "normal": (0, every)}
    (low, high), (least, most) = ranges[one], ranges[other]
    return {"<": low < most, ">": high > least, "=": max(low, least) <= min(high, most)}[fractions]


# --- rounding ---------------------------------------------------------------------------------------------------------
#
# B3, B7, B8, B29: models of the bits that decide how a result is rounded.


def _last_bits(case: ModelCase) -> tuple[int, ...]:
    """Return the possible last kept bits: only 1 if one bit is kept and no result lies below the smallest value."""
    target = case.target
    if isinstance(target, FloatFormat) and target.precision == 1 and case.extent[0] >= smallest(target):
        return (1,)
    return (0, 1)


class _B3(CoverageModel):
    target = "every combination of sign, last kept bit, guard bit and sticky bit"
    kinds: ClassVar[tuple[str, ...]] = ROUNDED

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        below = 2
        if case.kind == "from integer" or (case.kind == "convert" and case.extent[0] >= smallest(float_target(case))):
            below = case.extra
        if below < 1:
            return
        signs = (SIGNS[sign] for sign in case.signs)
        for bucket in product(signs, _last_bits(case), (0, 1), (0, 1) if below > 1 else (0,)):
            # A single kept bit is 0 only below the smallest value, where a bit below it must be set.
            if any(bucket[1:]) or not isinstance(case.target, FloatFormat) or case.target.precision > 1:
                yield bucket

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        result = nonzero_result(case, row)
        if result is not None:
            parts = pieces(case.target, result)
            yield SIGNS[result.sign], parts.kept & 1, parts.guard, parts.sticky

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        sign, last, guard, sticky = bucket
        bits = 1 + dice.below(max(case.extra, 2))
        tail = int(guard) << bits - 1
        if sticky:
            tail |= dice.bits(bits - 1) or 1 << max(bits - 2, 0)
        yield from with_tail(case, dice, SIGNS.index(str(sign)), int(last), tail, bits)


class _B7(CoverageModel):
    target = "positive, guard bit 0, and one bit that makes sticky at each place, or none"
    kinds = ROUNDED

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        if case.extra > 1:
            yield from (("sticky", place) for place in range(case.extra))

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        result = nonzero_result(case, row)
        if result is None or result.sign:
            return
        parts = pieces(case.target, result)
        if parts.guard or not parts.kept:
            return
        below = parts.below_guard
        # A quotient with a tail is mostly endless, so only its first bit is examined.
        if not below:
            yield "sticky", 0
        elif case.kind == "divide" or not below & below - 1:
            yield "sticky", parts.shift - below.bit_length()

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        place = int(bucket[1])
        yield from with_tail(case, dice, 0, None, int(place > 0), 1 + place)


_SIDES = ("above 0", "below 1/2", "above 1/2", "below 1")


def _b8_depth(case: ModelCase) -> int:
    """Return the depth d for which results within 2**-d ulp of a boundary count as near: for most ops, those with the
    three smallest tails.
    """
    return max(case.extra - 2, 1)


class _B8(CoverageModel):
    target = "just above and just below a value and a midpoint, with each last kept bit"
    kinds = ROUNDED

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        if case.extra > 2:
            yield from product((SIGNS[sign] for sign in case.signs), _last_bits(case), _SIDES)

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        result = nonzero_result(case, row)
        if result is None:
            return
        parts = pieces(case.target, result)
        depth = _b8_depth(case) + 1  # of the part below the guard bit
        if parts.shift < 2:
            return
        half, sign = 1 << parts.shift - 1, SIGNS[result.sign]
        below = parts.below_guard
        if 0 < below << depth <= 2 * half:
            yield sign, parts.kept & 1, _SIDES[2 * parts.guard]
        if 0 < (half - below) << depth <= 2 * half and below:
            yield sign, parts.kept & 1, _SIDES[2 * parts.guard + 1]

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        sign, last, side = bucket
        # A kept bit of 0 needs another bit before it, which may be taken from the tail.
        bits = max(case.extra - 1 + int(last), 2)
        step = 1 + dice.below(3)
        tail = (step, (1 << bits - 1) - step, (1 << bits - 1) + step, (1 << bits) - step)[_SIDES.index(str(side))]
        yield from with_tail(case, dice, SIGNS.index(str(sign)), int(last), max(tail, 0), bits)


class _B29(_B3):
    target = "every combination of sign, last kept bit, guard bit and sticky bit of a number rounded to an integer"
    kinds = ("to integer",)


# --- near bounds ------------------------------------------------------------------------------------------------------


def _bases(fmt: FloatFormat) -> dict[str, int]:
    bases = {
        "zero": 0 if fmt.zero else None,
        "one": code_of_one(fmt),
        "smallest subnormal": smallest_subnormal(fmt),
        "largest subnormal": largest_subnormal(fmt),
        "smallest normal": fmt.min_normal_code,
        "largest": fmt.max_code,
    }
    return {name: code for name, code in bases.items() if code is not None}


@lru_cache(maxsize=256)
def _b2_codes(case: ModelCase) -> dict[int, tuple[Bucket, ...]]:
    """Return the buckets of each magnitude of the result: its base and the bit that was flipped, -1 for none."""
    fmt = float_target(case)
    low, high = case.extent
    codes: dict[int, list[Bucket]] = {}
    for name, base in _bases(fmt).items():
        for bit in range(-1, fmt.mantissa_bits):
            code = base ^ (1 << bit if bit >= 0 else 0)
            number = None if fmt.is_nan(code) or fmt.is_infinite(code) else scalar.value(fmt, code)
            if number is None or number > high or (0 < number < low):
                continue
            if len(case.sources) == 1 and not _converts_to(case, code):
                continue
            codes.setdefault(code, []).append((name, bit))
    return {code: tuple(buckets) for code, buckets in codes.items()}


def _converts_to(case: ModelCase, code: int) -> bool:
    """Tell whether the operand closest to a value is converted to that value; if it is not, no operand is."""
    fmt = float_target(case)
    _, _, significand, exponent = scalar.unpack(fmt, code)
    closest = nearest(case.sources[0], 0, significand, exponent)
    number = None if closest is None else operand(case.sources[0], closest)
    if number is None:
        return False
    return scalar.round_pack(fmt, 0, number.significand, number.exponent, scalar.RNE, SPEC).code == code


class _B2(CoverageModel):
    target = "results one flipped fraction bit away from 0, 1 and the ends of the subnormal and normal range"
    kinds = (*ROUNDED, "remainder")

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        for code, buckets in _b2_codes(case).items():
            for sign in case.signs if code else (0,):
                for bucket in buckets:
                    yield SIGNS[sign], *bucket

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        result, fmt = exact(case, row), float_target(case)
        if result is None:
            return
        if result.significand:
            # The magnitude is rounded: a sign may have no code in the target.
            code = scalar.round_pack(fmt, 0, result.significand, result.exponent, scalar.RNE, SPEC).code
        elif fmt.zero:
            code = 0
        else:
            return
        for bucket in _b2_codes(case).get(code, ()):
            yield SIGNS[result.sign if result.significand else 0], *bucket

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        sign, name, bit = bucket
        code = _bases(float_target(case))[str(name)] ^ (1 << int(bit) if int(bit) >= 0 else 0)
        _, _, significand, exponent = scalar.unpack(float_target(case), code)
        yield from operands_for(case, dice, SIGNS.index(str(sign)), significand, exponent)


def _top(fmt: FloatFormat) -> tuple[int, int]:
    """Return the largest value as a multiple of its ulp, and the exponent of its ulp."""
    _, _, significand, exponent = scalar.unpack(fmt, fmt.max_code)
    return significand, exponent


class _B4(CoverageModel):
    target = "within 3 ulp of the largest value, each exponent within 3 of its, and beyond"
    kinds = ROUNDED

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        fmt = float_target(case)
        top, place = _top(fmt)
        for number in case.signs:
            sign, high = SIGNS[number], largest_result(case, number)
            for ulps in range(-3, 4):
                bound = (top + ulps) * Fraction(2) ** place
                within = len(case.sources) > 1 or reaches(case, bound, bound + Fraction(2) ** place)
                if 0 < bound <= high and within:
                    yield "near", sign, ulps
            for away in range(-3, 4):
                if exponent_range(case)[0] <= fmt.emax + away <= floor_log2(high):
                    yield "exponent", sign, away
            if high >= (top + 4) * Fraction(2) ** place:
                yield "beyond", sign

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        fmt = float_target(case)
        top, place = _top(fmt)
        result = nonzero_result(case, row)
        if result is None or result.lead < fmt.emax - 3:
            return
        sign = SIGNS[result.sign]
        ulps = pieces(fmt, result, place).kept - top
        yield "near", sign, ulps
        yield "exponent", sign, result.lead - fmt.emax
        if ulps > 3:
            yield "beyond", sign

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        fmt = float_target(case)
        top, place = _top(fmt)
        what, sign = str(bucket[0]), SIGNS.index(str(bucket[1]))
        bits = dice.below(max(case.extra, 1) + 1)
        if what == "near":
            yield from operands_for(case, dice, sign, top + int(bucket[2]) << bits | dice.bits(bits), place - bits)
            return
        lead = fmt.emax + int(bucket[2]) if what == "exponent" else dice.between(fmt.emax, exponent_range(case)[1])
        yield from with_lead(case, dice, sign, lead)


def _tiny(case: ModelCase) -> tuple[int, int]:
    """Return the exponent of the smallest positive value, and the smallest normal value as a multiple of it."""
    fmt = float_target(case)
    return (fmt.emin - fmt.mantissa_bits, 1 << fmt.mantissa_bits) if fmt.zero else (fmt.emin, 1)


def _tiny_before_alone(case: ModelCase) -> bool:
    """Tell whether an exact result can be in the bucket `TINY_BEFORE_ALONE`: from 1 - 2**-(p + 1) of the smallest
    normal value up to, not including, that value.

    Exact results of sums are multiples of the smallest value, and there is none between these magnitudes. A quotient of
    significands x and y of p bits that is below 1 is at most 1 - 1 / (2**p - 1), which is smaller than all of them.
    """
    fmt = float_target(case)
    if case.kind not in ("multiply", "multiply-add", "convert") or not fmt.zero or not fmt.mantissa_bits:
        return False
    normal = Fraction(2) ** fmt.emin
    width = normal / (1 << fmt.precision + 1)
    low, high = case.extent
    return low <= width and normal <= high and (case.kind != "convert" or reaches(case, normal - width, normal))


class _B5(CoverageModel):
    target = (
        "within 3 ulp of the smallest subnormal and the smallest normal value, the exponents above, below all, and "
        "tiny before rounding alone"
    )
    kinds = ROUNDED

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        fmt = float_target(case)
        place, normal = _tiny(case)
        low, high = case.extent
        unit = Fraction(2) ** place
        for sign in (SIGNS[sign] for sign in case.signs):
            for ulps in sorted({*range(1, 5), *range(max(normal - 3, 1), normal + 4)}):
                within = len(case.sources) > 1 or reaches(case, ulps * unit, (ulps + 1) * unit)
                if low < (ulps + 1) * unit and ulps * unit <= high and within:
                    yield "ulps", sign, ulps
            for away in range(6):
                if exponent_range(case)[0] <= fmt.emin + away <= min(exponent_range(case)[1], fmt.emax):
                    yield "exponent", sign, away
            if low < unit:
                yield "below", sign
            if _tiny_before_alone(case):
                yield TINY_BEFORE_ALONE, sign

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        result = nonzero_result(case, row)
        fmt = float_target(case)
        if result is None or result.lead > fmt.emin + 6:
            return
        if result.lead == fmt.emin - 1:
            shift = result.lead + 1 - result.exponent
            # At least 1 - 2**-(p + 1) of the smallest normal value.
            if (1 << shift) - result.significand << fmt.precision + 1 <= 1 << shift:
                yield TINY_BEFORE_ALONE, SIGNS[result.sign]
        sign = SIGNS[result.sign]
        ulps = pieces(fmt, result, _tiny(case)[0]).kept
        yield "ulps", sign, ulps
        yield "exponent", sign, result.lead - fmt.emin
        if not ulps:
            yield "below", sign

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        place, _ = _tiny(case)
        what, sign = str(bucket[0]), SIGNS.index(str(bucket[1]))
        bits = dice.below(max(case.extra, 1) + 1)
        if what == TINY_BEFORE_ALONE:
            fmt = float_target(case)
            length = fmt.precision + 1 + bits
            below = 1 + dice.below(1 << bits)
            yield from operands_for(case, dice, sign, (1 << length) - below, fmt.emin - length)
        elif what == "ulps":
            yield from operands_for(case, dice, sign, int(bucket[2]) << bits | dice.bits(bits), place - bits)
        elif what == "below":
            yield from with_lead(case, dice, sign, dice.between(exponent_range(case)[0], place - 1))
        else:
            yield from with_lead(case, dice, sign, float_target(case).emin + int(bucket[2]))


_QUARTERS = ("below 1/4", "1/4", "1/4 to 1/2", "1/2", "1/2 to 3/4", "3/4", "above 3/4")


class _B6(CoverageModel):
    target = "between 0 and the smallest value: at its quarters and between them"
    kinds = ("multiply", "divide", "multiply-add", "convert")

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        unit = smallest(float_target(case))
        low, _ = case.extent
        if low >= unit or case.kind in SUMS:
            return
        for sign in (SIGNS[sign] for sign in case.signs):
            for number, name in enumerate(_QUARTERS):
                # Results of conversions are multiples of the source's smallest value; each part must contain one.
                if case.kind != "convert" or low <= unit / (8 if number % 2 == 0 else 2 if number == 3 else 4):
                    yield sign, name

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        result = nonzero_result(case, row)
        place, _ = _tiny(case)
        if result is None or result.lead >= place:
            return
        parts = pieces(float_target(case), result, place - 2)
        yield SIGNS[result.sign], _QUARTERS[2 * parts.kept + (parts.rest != 0) - 1]

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        sign, name = bucket
        place, _ = _tiny(case)
        number = _QUARTERS.index(str(name)) + 1
        bits = 1 + dice.below(case.float_source.precision) if number % 2 else 0
        tail = dice.bits(bits) | 1 if bits else 0
        yield from operands_for(case, dice, SIGNS.index(str(sign)), (number >> 1) << bits | tail, place - 2 - bits)


# --- table ------------------------------------------------------------------------------------------------------------


def coverage_table(filled: Mapping[str, Filled]) -> str:
    """Return a line for each model: its hit buckets, its rows and its target; then the empty buckets."""
    lines = []
    for name, made in filled.items():
        asked, empty = len(made.hits), made.empty
        lines.append(f"{name:<4} {asked - len(empty):>6} of {asked:<6} {len(made.rows):>6} rows  {MODELS[name].target}")
        lines += [f"            {' '.join(map(str, bucket))}: {made.reason}" for bucket in empty]
    return "\n".join(lines)


def coverage_records(filled: Mapping[str, Filled]) -> list[dict[str, Any]]:
    """Return what `coverage_table` shows as records for JSON."""
    return [
        {
            "name": name,
            "target": MODELS[name].target,
            "rows": len(made.rows),
            "buckets": len(made.hits),
            "empty": [" ".join(map(str, bucket)) for bucket in made.empty],
            "reason": made.reason or None,
        }
        for name, made in filled.items()
    ]


_PARTS = (functions, conversions, sums, fixed_point)
_OWN = (_B1(), _B2(), _B3(), _B4(), _B5(), _B6(), _B7(), _B8(), _B9(), _B19(), _B20(), _B21(), _B29())

MODELS: Mapping[str, CoverageModel] = {
    model.name: model
    for model in sorted(
        (*_OWN, *(model for part in _PARTS for model in part.MODELS)),
        key=lambda model: (model.name[0], int(model.name[1:])),
    )
}
"""The models by name."""


def models_for(case: ModelCase, names: Sequence[str] | None = None) -> list[CoverageModel]:
    """Return the models that apply to a case, or the named ones of them. Raises ValueError for an unknown name."""
    unknown = [name for name in names or () if name not in MODELS]
    if unknown:
        raise ValueError(f"unknown model {unknown[0]!r}; choose one of {', '.join(MODELS)}")
    return [model for name, model in MODELS.items() if (names is None or name in names) and applies(model, case)]
