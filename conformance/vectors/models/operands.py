"""B1, B9, B19: models of the operands alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from halfulp.conformance.vectors.intermediate import (
    ModelCase,
    encoded,
    operand,
)
from halfulp.conformance.vectors.models.codes import (
    basic_types,
    float_sources,
    fraction_patterns,
    normal_fraction,
    pattern_names,
    present_types,
)
from halfulp.conformance.vectors.models.model import ARITHMETIC, SIGNS, Bucket, CoverageModel, Operands
from halfulp.conformance.vectors.philox import Dice
from halfulp.conformance.vectors.testfloat_levels import significands
from halfulp.fp_formats.formats import FloatFormat


def _b1_buckets(case: ModelCase) -> Iterator[Bucket]:
    formats = float_sources(case)
    if formats:
        yield from product(*(present_types(fmt) for fmt in formats))


def _b1_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    yield from product(*(basic_types(fmt, code) for fmt, code in zip(float_sources(case), row, strict=True)))


def _b1_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    lists = [present_types(fmt)[str(name)] for fmt, name in zip(float_sources(case), bucket, strict=True)]
    yield tuple(codes[dice.below(len(codes))] for codes in lists)


def _b9_buckets(case: ModelCase) -> Iterator[Bucket]:
    formats = float_sources(case)
    if not formats:
        return
    yield from product(*(fraction_patterns(fmt.mantissa_bits) for fmt in formats))
    for place, fmt in enumerate(formats):
        for pattern in significands(fmt.mantissa_bits, 2):
            yield "operand", place, pattern


def _b9_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    formats = float_sources(case)
    fractions = [normal_fraction(fmt, code) for fmt, code in zip(formats, row, strict=True)]
    names = []
    for place, (fmt, fraction) in enumerate(zip(formats, fractions, strict=True)):
        if fraction is None:
            return
        yield "operand", place, fraction
        names.append(pattern_names(fmt.mantissa_bits).get(fraction, ()))
    yield from product(*names)


def _b9_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
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


def _b19_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    fmt = case.float_source
    one, other = _b19_kind(fmt, row[0]), _b19_kind(fmt, row[1])
    if one is None or other is None:
        return
    exponents = (fmt.emin - 1 if kind == "zero" else exponent for kind, exponent, _ in (one, other))
    yield one[0], other[0], _relation(*exponents), _relation(one[2], other[2])


def _b19_buckets(case: ModelCase) -> Iterator[Bucket]:
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


def _b19_possible(one: str, other: str, fractions: str, bits: int) -> bool:
    """Tell whether fractions of these kinds of operands can have that relation. A subnormal has no fraction of 0."""
    every = (1 << bits) - 1
    ranges = {"zero": (0, 0), "subnormal": (1, every), "normal": (0, every)}
    (low, high), (least, most) = ranges[one], ranges[other]
    return {"<": low < most, ">": high > least, "=": max(low, least) <= min(high, most)}[fractions]


def _b19_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
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


B1 = CoverageModel(
    "B1",
    "basic types of the operands with both signs, crossed",
    (
        *ARITHMETIC,
        "multiply-add",
        "remainder",
        "compare",
        "convert",
        "to integer",
        "function",
        "function of two",
        "other",
    ),
    _b1_buckets,
    _b1_fits,
    _b1_aim,
)


B9 = CoverageModel(
    "B9",
    "special significands of the operands: runs, walking bits, checkerboards, crossed",
    (*ARITHMETIC, "multiply-add", "remainder", "compare", "convert", "to integer", "function"),
    _b9_buckets,
    _b9_fits,
    _b9_aim,
)


B19 = CoverageModel(
    "B19",
    "normal, subnormal and zero operands with every order of exponents and of fractions",
    ("compare",),
    _b19_buckets,
    _b19_fits,
    _b19_aim,
)
