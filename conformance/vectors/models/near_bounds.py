"""B2, B4, B5, B6: models of results near 0 and near the ends of the subnormal and normal range."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from halfulp.conformance.vectors.intermediate import (
    Dice,
    ModelCase,
    exact,
    nearest,
    operand,
    operands_for,
    pieces,
    smallest,
)
from halfulp.conformance.vectors.models.model import (
    ROUNDED,
    SIGNS,
    SUMS,
    Bucket,
    CoverageModel,
    Operands,
    code_of_one,
    exponent_range,
    float_target,
    floor_log2,
    largest_result,
    largest_subnormal,
    nonzero_result,
    reaches,
    smallest_subnormal,
    with_lead,
)
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import SPEC


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
    """Tell whether the operand closest to a value is converted to it; if it is not, no operand is."""
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
    """Return the largest value as a number of its ulps, and the exponent of its ulp."""
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


class _B5(CoverageModel):
    target = "within 3 ulp of the smallest subnormal and the smallest normal value, the exponents above, and below all"
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

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        result = nonzero_result(case, row)
        fmt = float_target(case)
        if result is None or result.lead > fmt.emin + 6:
            return
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
        if what == "ulps":
            yield from operands_for(case, dice, sign, int(bucket[2]) << bits | dice.bits(bits), place - bits)
        elif what == "below":
            yield from with_lead(case, dice, sign, dice.between(exponent_range(case)[0], place - 1))
        else:
            yield from with_lead(case, dice, sign, float_target(case).emin + int(bucket[2]))


_PARTS = ("below 1/4", "1/4", "1/4 to 1/2", "1/2", "1/2 to 3/4", "3/4", "above 3/4")


class _B6(CoverageModel):
    target = "between 0 and the smallest value: at its quarters and between them"
    kinds = ("multiply", "divide", "multiply-add", "convert")

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        unit = smallest(float_target(case))
        low, _ = case.extent
        if low >= unit or case.kind in SUMS:
            return
        for sign in (SIGNS[sign] for sign in case.signs):
            for number, name in enumerate(_PARTS):
                # Results of conversions are multiples of the source's smallest value; each part must contain one.
                if case.kind != "convert" or low <= unit / (8 if number % 2 == 0 else 2 if number == 3 else 4):
                    yield sign, name

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        result = nonzero_result(case, row)
        place, _ = _tiny(case)
        if result is None or result.lead >= place:
            return
        parts = pieces(float_target(case), result, place - 2)
        yield SIGNS[result.sign], _PARTS[2 * parts.kept + (parts.rest != 0) - 1]

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        sign, name = bucket
        place, _ = _tiny(case)
        number = _PARTS.index(str(name)) + 1
        bits = 1 + dice.below(case.float_source.precision) if number % 2 else 0
        tail = dice.bits(bits) | 1 if bits else 0
        yield from operands_for(case, dice, SIGNS.index(str(sign)), (number >> 1) << bits | tail, place - 2 - bits)


MODELS = (_B2(), _B4(), _B5(), _B6())
