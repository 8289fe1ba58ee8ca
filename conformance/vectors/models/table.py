"""The table of the coverage models, and the report of what they cover: FPgen's B1 to B29, F1 to F6 for elementary
functions, and M1 for multiply-adds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import ClassVar

from halfulp.conformance.vectors.intermediate import (
    Dice,
    ExactResult,
    ModelCase,
    encoded,
    exact,
    operand,
    pieces,
    smallest,
)
from halfulp.conformance.vectors.models import conversions, functions, multiply_adds, near_bounds, sums
from halfulp.conformance.vectors.models.model import (
    ARITHMETIC,
    ROUNDED,
    SIGNS,
    Bucket,
    CoverageModel,
    Filled,
    Operands,
    applies,
    basic_codes,
    basic_types,
    float_sources,
    float_target,
    fraction_patterns,
    nonzero_result,
    normal_fraction,
    pattern_names,
    present_types,
    with_tail,
)
from halfulp.conformance.vectors.testfloat_levels import significands
from halfulp.fp_formats.formats import FloatFormat

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
    sign = SIGNS[code >> fmt.bits - 1 if fmt.signed else 0]
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
    """Return the depth d for which results within 2**-d ulp of a boundary count as near: the three smallest tails of
    most ops.
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


# --- table ------------------------------------------------------------------------------------------------------------


def coverage_table(filled: Mapping[str, Filled]) -> str:
    """Return a line for each model: its hit buckets, its rows and its target; then the empty buckets."""
    lines = []
    for name, made in filled.items():
        asked, empty = len(made.hits), made.empty
        lines.append(f"{name:<4} {asked - len(empty):>6} of {asked:<6} {len(made.rows):>6} rows  {MODELS[name].target}")
        lines += [f"            {' '.join(map(str, bucket))}: {made.reason}" for bucket in empty]
    return "\n".join(lines)


_PARTS = (functions, conversions, multiply_adds, near_bounds, sums)
_OWN = (_B1(), _B3(), _B7(), _B8(), _B9(), _B19(), _B20(), _B21(), _B29())

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
