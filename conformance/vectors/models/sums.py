"""B10 to B13: models of sums, by the difference of exponents and by cancellation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from halfulp.conformance.vectors.intermediate import (
    Dice,
    ModelCase,
    encoded,
    operand,
    random_normal,
)
from halfulp.conformance.vectors.models.model import (
    SUMS,
    Bucket,
    CoverageModel,
    Operands,
    fraction_patterns,
    nonzero_result,
    normal_fraction,
    pattern_names,
)
from halfulp.fp_formats.formats import FloatFormat


def _exponent(fmt: FloatFormat, code: int) -> int | None:
    """Return the exponent that aligns an operand, for a subnormal the smallest one; None for 0, NaN and infinities."""
    number = operand(fmt, code)
    if number is None or not number.significand:
        return None
    return max(number.lead, fmt.emin)


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


MODELS = (_B10(), _B11(), _B12(), _B13())
