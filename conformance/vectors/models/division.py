"""B20, B21: models of division and remainder."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from halfulp.conformance.vectors.intermediate import (
    ExactResult,
    ModelCase,
    encoded,
    exact,
)
from halfulp.conformance.vectors.models.codes import basic_codes
from halfulp.conformance.vectors.models.model import SIGNS, Bucket, CoverageModel, Operands
from halfulp.conformance.vectors.philox import Dice
from halfulp.fp_formats.formats import FloatFormat


def _quotient(case: ModelCase, row: Operands) -> ExactResult | None:
    result = exact(case, row, "divide")
    return result if result is not None and result.significand else None


def _b20_buckets(case: ModelCase) -> Iterator[Bucket]:
    yield from (("significant bits", bits) for bits in range(1, case.float_source.precision + 1))


def _b20_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    result = _quotient(case, row)
    if result is not None:
        significand = result.significand
        yield "significant bits", (significand // (significand & -significand)).bit_length()


def _b20_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
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


def _b21_buckets(case: ModelCase) -> Iterator[Bucket]:
    fmt = case.float_source
    kinds = dict.fromkeys(_b21_kind(fmt, code) for code in basic_codes(fmt))
    yield from product(kinds, kinds)


def _b21_fits(case: ModelCase, row: Operands) -> Iterator[Bucket]:
    yield tuple(_b21_kind(case.float_source, code) for code in row)


def _b21_aim(case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
    fmt = case.float_source
    codes = {name: [code for code in basic_codes(fmt) if _b21_kind(fmt, code) == name] for name in map(str, bucket)}
    yield tuple(codes[str(name)][dice.below(len(codes[str(name)]))] for name in bucket)


B20 = CoverageModel(
    "B20",
    "exact quotients of every number of significant bits",
    ("divide", "remainder"),
    _b20_buckets,
    _b20_fits,
    _b20_aim,
)


B21 = CoverageModel(
    "B21",
    "zero, number, infinity and NaN divided by each of these",
    ("divide", "remainder"),
    _b21_buckets,
    _b21_fits,
    _b21_aim,
)
