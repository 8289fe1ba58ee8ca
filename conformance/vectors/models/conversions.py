"""B22 to B28: models of conversions to integers, from integers and between float formats."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import product

from halfulp.conformance.vectors import intermediate
from halfulp.conformance.vectors.intermediate import Dice, Integer, ModelCase
from halfulp.conformance.vectors.models import model
from halfulp.conformance.vectors.models.model import Bucket, CoverageModel, Operands
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat, NanEncoding
from halfulp.interp.ir.base import narrowed


def _integer(case: ModelCase) -> Integer:
    return narrowed(case.target if isinstance(case.target, Integer) else case.sources[0], Integer)


class _B22(CoverageModel):
    target = "every exponent from -3 to the integer's width + 3, and beyond"
    kinds = ("to integer",)

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        low, high = model.exponent_range(case)
        width = _integer(case).width
        for sign in (model.SIGNS[sign] for sign in case.signs):
            yield from ((sign, lead) for lead in range(max(low, -3), min(high, width + 3) + 1))
            if low < -3:
                yield sign, "smaller"
            if high > width + 3:
                yield sign, "larger"

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        result = model.nonzero_result(case, row)
        if result is not None:
            lead = result.lead
            yield (
                model.SIGNS[result.sign],
                "smaller" if lead < -3 else "larger" if lead > _integer(case).width + 3 else lead,
            )

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        sign, lead = bucket
        low, high = model.exponent_range(case)
        if lead == "smaller":
            lead = dice.between(low, -4)
        elif lead == "larger":
            lead = dice.between(_integer(case).width + 4, high)
        yield from model.with_lead(case, dice, model.SIGNS.index(str(sign)), int(lead))


class _Listed(CoverageModel):
    """A model of one operand that lists certain values: one code for each bucket."""

    kinds = ("to integer",)

    @abstractmethod
    def buckets(self, case: ModelCase) -> Mapping[Bucket, int]: ...

    def fits(self, case: ModelCase, row: Operands) -> Iterable[Bucket]:
        return (bucket for bucket, code in self.buckets(case).items() if code == row[0])

    def aim(self, case: ModelCase, bucket: Bucket, _: Dice) -> Iterator[Operands]:
        yield (self.buckets(case)[bucket],)


class _B23(_Listed):
    target = "quarters around the ends of the integer range, and the values next to them"

    def buckets(self, case: ModelCase) -> Mapping[Bucket, int]:
        return _b23_codes(case)


class _B24(_Listed):
    target = "quarters around 0 and 1"

    def buckets(self, case: ModelCase) -> Mapping[Bucket, int]:
        return _b24_codes(case)


@lru_cache(maxsize=256)
def _b23_codes(case: ModelCase) -> dict[Bucket, int]:
    """Return quarters around the ends of the integer range, as far as the source has them, and the neighbours of the
    ends.
    """
    fmt, integer = case.float_source, _integer(case)
    listed: dict[Bucket, int] = {}
    for name, bound in (("largest", integer.highest), ("smallest", integer.lowest), ("- largest", -integer.highest)):
        for quarters in range(-4, 5):
            number = 4 * bound + quarters
            code = intermediate.encoded(fmt, int(number < 0), abs(number), -2) if number else None
            if code is not None:
                listed[name, "quarters", quarters] = code
        middle = intermediate.nearest(fmt, int(bound < 0), abs(bound), 0) if bound else None
        if middle is not None and scalar.value(fmt, middle):
            for step in range(-2, 3):
                code = middle + step
                if (
                    0 <= code <= fmt.code_mask
                    and scalar.value(fmt, code) is not None
                    and code ^ middle < fmt.code_mask >> 1
                ):
                    listed[name, "neighbour", step] = code
    return listed


@lru_cache(maxsize=256)
def _b24_codes(case: ModelCase) -> dict[Bucket, int]:
    fmt = case.float_source
    listed: dict[Bucket, int] = {}
    for sign, quarters in product(case.signs, range(8)):
        code = intermediate.encoded(fmt, sign, quarters, -2)
        if code is None or (sign and not quarters and not fmt.has_negative_zero):
            continue
        listed[model.SIGNS[sign], quarters] = code
    return listed


class _B25(CoverageModel):
    target = "the ends of the integer range, 0, 1, -1"
    kinds = ("from integer",)

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        integer = _integer(case)
        names = ["largest", "0", "other"]
        names += ["1"] if integer.highest > 1 else []
        names += ["smallest", "-1", "- largest"] if integer.signed and integer.width > 2 else []
        if integer.width > 2:
            yield from ((name,) for name in names)

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        integer = _integer(case)
        number = integer.number(row[0])
        named = {0: "0", 1: "1", -1: "-1", -integer.highest: "- largest", integer.lowest: "smallest"}
        named |= {integer.highest: "largest", 0: "0"}
        yield (named.get(number, "other"),)

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        integer = _integer(case)
        named = {"0": 0, "1": 1, "-1": -1, "largest": integer.highest, "smallest": integer.lowest}
        number = named.get(str(bucket[0]), -integer.highest if bucket[0] == "- largest" else dice.bits(integer.width))
        yield (number & (1 << integer.width) - 1,)


class _B26(CoverageModel):
    target = "every number of significant bits of the integer"
    kinds = ("from integer",)

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        integer = _integer(case)
        yield from (("+", bits) for bits in range(integer.highest.bit_length() + 1))
        if integer.signed:
            yield from (("-", bits) for bits in range(1, integer.width + 1))

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        number = _integer(case).number(row[0])
        yield model.SIGNS[number < 0], abs(number).bit_length()

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        sign, length = str(bucket[0]), int(bucket[1])
        number = 1 << length - 1 | dice.bits(length - 1) if length else 0
        if sign == "-":
            number = min(number, -_integer(case).lowest)
        yield ((-number if sign == "-" else number) & (1 << _integer(case).width) - 1,)


def _payload_bits(case: ModelCase) -> tuple[int, int]:
    """Return the number of payload bits of a NaN that the target keeps, without the quiet bit, and of
    those it loses.
    """
    source, target = case.float_source, case.target
    if source.nan is not NanEncoding.IEEE or not isinstance(target, FloatFormat):
        return 0, 0
    upper = max(min(source.mantissa_bits, target.mantissa_bits) - 1, 0)
    return upper, source.mantissa_bits - 1 - upper


class _B27(CoverageModel):
    target = "NaNs: quiet and signalling, payload bits that are kept and that are lost"
    kinds = ("convert",)

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        source = case.float_source
        if source.nan_code is None:
            return
        upper, lower = _payload_bits(case)
        quiet = (0, 1) if source.quiet_bit else (1,)
        for bit, above, below in product(quiet, (0, 1) if upper else (0,), (0, 1) if lower else (0,)):
            if bit or above or below:
                yield "quiet" if bit else "signalling", above, below

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        source, code = case.float_source, row[0]
        if source.is_nan(code) and not source.is_invalid(code):
            _, lower = _payload_bits(case)
            payload = code & max(source.quiet_bit - 1, 0)
            quiet = "signalling" if source.is_signalling(code) else "quiet"
            yield quiet, int(payload >> lower != 0), int(payload & (1 << lower) - 1 != 0)

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        source = case.float_source
        quiet, above, below = bucket
        upper, lower = _payload_bits(case)
        code = source.nan_code or 0
        if source.nan is NanEncoding.IEEE:
            assert source.infinity_code is not None
            payload = (dice.bits(upper) or 1) << lower if above else 0
            payload |= (dice.bits(lower) or 1) if below else 0
            code = source.infinity_code | payload | (source.quiet_bit if quiet == "quiet" else 0)
            code |= (source.sign_mask or 0) * dice.bits(1)
        yield (code,)


class _B28(CoverageModel):
    target = "values around which rounding to a whole number changes, up to the last one with a fraction"
    kinds = ("to integer",)

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        source, code = case.float_source, row[0]
        sign = model.sign_of(source, code)
        if source.is_nan(code):
            yield ("NaN",)
            return
        if source.is_infinite(code):
            yield sign, "infinity"
            return
        number = intermediate.operand(source, code)
        assert number is not None
        parts = intermediate.pieces(Integer(1, False), number, -2)
        if not parts.rest and (4 <= parts.kept <= 11 or not parts.kept):
            yield sign, "quarters", parts.kept
        if number.significand and number.lead < 0:
            yield sign, "below 1"
        if number.significand and 0 <= number.lead < source.precision:
            yield sign, "with a fraction" if parts.kept & 3 or parts.rest else "whole"
        if number.significand == (1 << source.precision) - 1 and not number.exponent:
            yield sign, "all bits before the point"

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        source = case.float_source
        if source.nan_code is not None:
            yield ("NaN",)
        low, high = case.extent
        for sign in (model.SIGNS[sign] for sign in case.signs):
            if source.infinities:
                yield sign, "infinity"
            for quarters in (0, *range(4, 12)):
                if intermediate.encoded(source, 0, quarters, -2) is not None and (
                    quarters or sign == "+" or source.has_negative_zero
                ):
                    yield sign, "quarters", quarters
            if low < 1:
                yield sign, "below 1"
            if high >= Fraction(3, 2) and source.precision > 1:
                yield sign, "with a fraction"
            if high >= 1:
                yield sign, "whole"
            if intermediate.encoded(source, 0, (1 << source.precision) - 1, 0) is not None:
                yield sign, "all bits before the point"

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        source = case.float_source
        if bucket in _b28_codes(case):
            yield (_b28_codes(case)[bucket],)
        if bucket[-1] in ("below 1", "with a fraction", "whole"):
            span = (source.emin, -1) if bucket[-1] == "below 1" else (0, min(source.precision - 1, source.emax))
            code = intermediate.random_normal(source, dice, dice.between(*span), 1 + dice.below(source.precision))
            if code is not None:
                yield (code,)


@lru_cache(maxsize=256)
def _b28_codes(case: ModelCase) -> dict[Bucket, int]:
    """Return one code for each bucket.

    Buckets of random values get the ends of their ranges; `_B28.aim` draws others.
    """
    source = case.float_source
    dice = Dice(0, 1 << 33)
    codes = [*model.basic_codes(source)]
    for sign in case.signs:
        codes += [
            code for quarters in range(12) if (code := intermediate.encoded(source, sign, quarters, -2)) is not None
        ]
        codes += [code for k in range(1, 8) if (code := intermediate.encoded(source, sign, 4 * k + 2, -2)) is not None]
        codes += [code for k in range(2, 8) if (code := intermediate.encoded(source, sign, k, 0)) is not None]
        last = intermediate.encoded(source, sign, (1 << source.precision) - 1, 0)
        codes += [] if last is None else [last]
    codes += [
        code for _ in range(20) if (code := intermediate.random_normal(source, dice, dice.between(-3, 3))) is not None
    ]
    return {bucket: code for code in codes for bucket in _B28().fits(case, (code,))}


MODELS = (_B22(), _B23(), _B24(), _B25(), _B26(), _B27(), _B28())
