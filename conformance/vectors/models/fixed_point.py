"""Coverage models of ops in fixed point: the bits that are rounded, results out of range, extremes of operands."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import cast

from halfulp.conformance.vectors.intermediate import FIXED_KINDS, Dice, FixedCase, ModelCase
from halfulp.conformance.vectors.models.model import (
    SIGNS,
    Bucket,
    CoverageModel,
    Operands,
    basic_types,
    present_types,
)
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.semantics import fixed_point
from halfulp.semantics.fixed_point import FORMATS_OF_RESULTS, FixedFormat


def _fixed(case: ModelCase) -> FixedCase:
    assert isinstance(case, FixedCase)
    return case


def _value(case: FixedCase, place: int, code: int) -> Fraction | None:
    """Return the number that a code of an operand represents; None for an infinity and a NaN."""
    fmt = case.formats[place]
    if fmt is not None:
        return fixed_point.value(fmt, code)
    given = scalar.unpack(cast("FloatFormat", case.sources[place]), code)
    return scalar.number(given) if given.kind == scalar.FINITE else None


@lru_cache(maxsize=1 << 14)
def _exact(case: FixedCase, row: Operands) -> Fraction | None:
    """Return the exact result, as a multiple of the last place of the result."""
    values = [_value(case, place, code) for place, code in enumerate(row)]
    return None if None in values else _result(case, *cast("list[Fraction]", values))


_OPERATORS: Mapping[str, Callable[[Fraction, Fraction], Fraction]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
}


def _result(case: FixedCase, x: Fraction, *others: Fraction) -> Fraction:
    """Return the exact result of some numbers, as a multiple of the last place of the result."""
    for y in others:
        x = _OPERATORS[case.operation](x, y)
    return x / case.to.unit


@lru_cache(maxsize=256)
def _extent(case: FixedCase) -> tuple[Fraction, Fraction]:
    """Return the smallest and the largest exact result, in last places of the result."""
    ends = []
    for place, fmt in enumerate(case.formats[:-1]):
        if fmt is not None:
            ends.append((fmt.lowest * fmt.unit, fmt.highest * fmt.unit))
            continue
        source = cast("FloatFormat", case.sources[place])
        most = scalar.value(source, source.max_code) or Fraction(0)
        ends.append((-most if source.signed else Fraction(0), most))
    corners = [_result(case, *numbers) for numbers in product(*ends)]
    return min(corners), max(corners)


@lru_cache(maxsize=256)
def _tail(case: FixedCase) -> int:
    """Return the number of bits that an exact result may have below the last place of the result."""
    formats = [fmt for fmt in case.formats[:-1] if fmt is not None]
    if len(formats) == 2:
        return FORMATS_OF_RESULTS[case.operation](*formats).fraction_bits - case.to.fraction_bits
    if formats:
        return formats[0].fraction_bits - case.to.fraction_bits
    source = cast("FloatFormat", case.sources[0])
    return source.mantissa_bits - source.emin - case.to.fraction_bits


def _operands_for(case: FixedCase, dice: Dice, wanted: Fraction) -> Iterator[Operands]:
    """Yield operands whose exact result is near a number of last places of the result. The first ones are random, also
    small, and powers of two, by which a product can be any number.
    """
    wanted *= case.to.unit
    if len(case.formats) == 2:
        yield from ((code,) for code in _near(case, 0, wanted))
        return
    fmt = cast("FixedFormat", case.formats[0])
    for code in (dice.bits(fmt.width), dice.bits(1 + dice.below(fmt.width)), 1 << dice.below(fmt.width)):
        x = fixed_point.value(fmt, code)
        if case.operation != "multiply":
            y = wanted - x if case.operation == "add" else x - wanted
        elif x:
            y = wanted / x
        else:
            continue
        yield from ((code, other) for other in _near(case, 1, y))


def _near(case: FixedCase, place: int, number: Fraction) -> Iterator[int]:
    """Yield the codes of an operand below and above a number, if it is in the range of the operand."""
    fmt = case.formats[place]
    if fmt is None:
        source = cast("FloatFormat", case.sources[place])
        if source.signed or number >= 0:
            for mode in (scalar.RD, scalar.RU):
                code = scalar.from_fraction(source, number, mode).code
                if scalar.unpack(source, code).kind == scalar.FINITE:
                    yield code
        return
    low = number / fmt.unit
    below = low.numerator // low.denominator
    for integer in dict.fromkeys((below, -(-low.numerator // low.denominator))):
        if fmt.lowest <= integer <= fmt.highest:
            yield fixed_point.code_of(fmt, integer)


class _Q1(CoverageModel):
    target = "every combination of sign, last kept bit, guard bit and sticky bit of a result in fixed point"
    kinds = FIXED_KINDS

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        own = _fixed(case)
        low, high = _extent(own)
        tail = _tail(own)
        if tail > 0:
            signs = [sign for sign, there in zip(SIGNS, (high > 0, low < 0), strict=True) if there]
            yield from product(signs, (0, 1), (0, 1), (0, 1) if tail > 1 else (0,))

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        exact = _exact(_fixed(case), row)
        if exact:
            halves = 2 * exact
            whole = halves.numerator // halves.denominator
            yield SIGNS[exact < 0], whole >> 1 & 1, whole & 1, int(halves.denominator > 1)

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        sign, kept, guard, sticky = bucket
        own = _fixed(case)
        size = 2 * dice.bits(dice.below(own.to.width)) + int(kept)
        below = Fraction(1, 2 + dice.below(6)) / 2 if sticky else 0
        number = size + Fraction(int(guard), 2) + below
        yield from _operands_for(own, dice, number - 2 * (size + 1) if sign == "-" else number)
        yield tuple(dice.bits(width) for width in own.widths)


class _Q2(CoverageModel):
    target = (
        "at the ends of the range in fixed point, one place inside and outside, far outside, and outside by rounding"
    )
    kinds = FIXED_KINDS

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        own = _fixed(case)
        for end, at, outward, most in _ends(own):
            last = (_made(own, most) - at) * outward
            yield from ((end, places) for places in range(-1, min(last, 1) + 1))
            if last > 1:
                yield end, "far outside"
            inside = at + outward * (1 - Fraction(1, 1 << min(max(_tail(own), 0), 8)))
            if last > 0 and _made(own, inside) != at:
                yield end, "outside by rounding"

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        own = _fixed(case)
        exact = _exact(own, row)
        if exact is None:
            return
        made = _made(own, exact)
        for end, at, outward, _ in _ends(own):
            places = (made - at) * outward
            if abs(places) < 2:
                yield end, places
            elif places > 0:
                yield end, "far outside"
            # The integer toward zero is inside.
            if places == 1 and abs(exact) < abs(at) + 1:
                yield end, "outside by rounding"

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        own, (wanted, what) = _fixed(case), bucket
        at, outward, most = next((at, outward, most) for end, at, outward, most in _ends(own) if end == wanted)
        if what == "far outside":
            number = at + 2 * outward + (most - at - 2 * outward) * Fraction(dice.below(17), 16)
        elif what == "outside by rounding":
            number = at + outward * Fraction(8 + dice.below(8), 16)
        else:
            number = at + outward * int(what) + Fraction(dice.below(3) - 1, 4 * (1 + dice.below(4)))
        yield from _operands_for(own, dice, Fraction(number))


def _ends(case: FixedCase) -> tuple[tuple[str, int, int, Fraction], ...]:
    """Return the ends of the range: the name, the integer, the way out, and the result that is farthest there."""
    low, high = _extent(case)
    return ("largest", case.to.highest, 1, high), ("smallest", case.to.lowest, -1, low)


def _made(case: FixedCase, exact: Fraction) -> int:
    """Return an exact result, rounded by the mode of the result, before it is brought into the range."""
    return int(fixed_point.rounded(fixed_point.with_sticky(exact, 2), 2, case.to.rounding))


class _Q3(CoverageModel):
    target = "extremes of the operands in fixed point, crossed: zero, one last place, the ends, all others by sign"
    kinds = FIXED_KINDS

    def buckets(self, case: ModelCase) -> Iterator[Bucket]:
        yield from product(*(_classes(_fixed(case), place) for place in range(len(case.sources))))

    def fits(self, case: ModelCase, row: Operands) -> Iterator[Bucket]:
        own = _fixed(case)
        yield from product(*(_classes_of(own, place, code) for place, code in enumerate(row)))

    def aim(self, case: ModelCase, bucket: Bucket, dice: Dice) -> Iterator[Operands]:
        choices = (_classes(_fixed(case), place)[str(name)] for place, name in enumerate(bucket))
        yield tuple(codes[dice.below(len(codes))] for codes in choices)


def _class_of(fmt: FixedFormat, code: int) -> str:
    integer = fixed_point.integer_of(fmt, code)
    named = {fmt.lowest: "smallest", fmt.highest: "largest", 0: "zero", 1: "one place", -1: "minus one place"}
    return named.get(integer, "negative" if integer < 0 else "positive")


def _classes_of(case: FixedCase, place: int, code: int) -> tuple[str, ...]:
    fmt = case.formats[place]
    if fmt is not None:
        return (_class_of(fmt, code),)
    source = cast("FloatFormat", case.sources[place])
    return basic_types(source, code)


@lru_cache(maxsize=256)
def _classes(case: FixedCase, place: int) -> Mapping[str, list[int]]:
    """Return codes of each class that an operand has."""
    fmt = case.formats[place]
    if fmt is None:
        return present_types(cast("FloatFormat", case.sources[place]))
    found: dict[str, list[int]] = {}
    quarters = [fmt.lowest + k * (fmt.highest - fmt.lowest) // 16 for k in range(1, 16)]
    for integer in (fmt.lowest, fmt.highest, 0, 1, -1, 2, 3, -2, *quarters):
        if fmt.lowest <= integer <= fmt.highest:
            code = fixed_point.code_of(fmt, integer)
            found.setdefault(_class_of(fmt, code), []).append(code)
    return found


MODELS = (_Q1(), _Q2(), _Q3())
