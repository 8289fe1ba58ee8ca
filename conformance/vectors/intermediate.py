"""Exact results before rounding, and operands that produce a given one: the base of the coverage models.

An exact result is sign, significand and exponent in Python integers. An endless quotient is cut far below the bits that
any model examines, and one more bit is set: all comparisons with shorter numbers stay true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.vectors.philox import Dice
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import SPEC
from halfulp.interp.dialects.math.families import row_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import element_width


@dataclass(frozen=True)
class Integer:
    """An integer type as a source or target of a conversion."""

    width: int
    signed: bool

    @property
    def bits(self) -> int:
        """Return the bits of a code."""
        return self.width

    @cached_property
    def lowest(self) -> int:
        """Return the smallest number."""
        return -(1 << self.width >> 1) if self.signed else 0

    @cached_property
    def highest(self) -> int:
        """Return the largest number."""
        return (1 << self.width - self.signed) - 1

    def number(self, code: int) -> int:
        """Return the number that a code represents."""
        return code - (1 << self.width) if self.signed and code > self.highest else code

    def __str__(self) -> str:
        return f"{'s' if self.signed else 'u'}i{self.width}"


Numeric = FloatFormat | Integer

_KINDS: Mapping[str, str] = {
    "arith.addf": "add",
    "arith.subf": "subtract",
    "arith.mulf": "multiply",
    "arith.divf": "divide",
    "arith.remf": "remainder",
    "arith.cmpf": "compare",
    "arith.maximumf": "compare",
    "arith.minimumf": "compare",
    "arith.maxnumf": "compare",
    "arith.minnumf": "compare",
    "arith.extf": "convert",
    "arith.truncf": "convert",
    "arith.convertf": "convert",
    "arith.sitofp": "from integer",
    "arith.uitofp": "from integer",
    "arith.fptosi": "to integer",
    "arith.fptoui": "to integer",
}
_UNSIGNED = ("arith.uitofp", "arith.fptoui")


@dataclass(frozen=True)
class ModelCase:
    """The case that a model is applied to. ``kind``: add, subtract, multiply, divide, remainder, compare, convert, from
    integer, to integer, function, function of two, function of an integer, or other. ``function``: the name of an
    elementary function.
    """

    kind: str
    sources: tuple[Numeric, ...]
    target: Numeric
    function: str = ""

    @property
    def float_source(self) -> FloatFormat:
        """Return the format of the first operand, which must be a float."""
        source = self.sources[0]
        assert isinstance(source, FloatFormat)
        return source

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Return the widths of the operands' codes in bits."""
        return tuple(source.bits for source in self.sources)

    @cached_property
    def enumerable(self) -> bool:
        """Tell whether all operands can be tried."""
        return sum(self.widths) <= 16

    @cached_property
    def extra(self) -> int:
        """Return the number of bits of an exact result below the last kept one; for quotients, of those examined."""
        source, target = self.sources[0], self.target
        if isinstance(target, Integer):
            return self.float_source.precision - 1
        if isinstance(source, Integer):
            return min(source.highest.bit_length(), target.emax + 1) - target.precision
        precision = source.precision
        if self.kind == "convert":
            # The smallest values keep one of the bits that the source has there.
            lead = target.emin - target.mantissa_bits if target.zero else target.emin
            return max(precision - target.precision, lead - quantum(source, lead))
        return precision - (self.kind == "divide")

    @cached_property
    def extent(self) -> tuple[Fraction, Fraction]:
        """Return the smallest magnitude of an exact result other than 0, and the largest."""
        low, high = _extent(self.sources[0])
        match self.kind:
            case "add" | "subtract":
                return low, 2 * high
            case "multiply":
                return low * low, high * high
            case "divide":
                return low / high, high / low
            case "remainder":  # smaller than a divisor
                second = scalar.value(self.float_source, self.float_source.max_code - 1)
                assert second is not None
                return low, second
            case _:
                return low, high

    @cached_property
    def signs(self) -> tuple[int, ...]:
        """Return the signs that an exact result can have."""
        source = self.sources[0]
        return (0, 1) if source.signed or self.kind == "subtract" else (0,)

    def __str__(self) -> str:
        return f"{self.function or self.kind} {', '.join(map(str, self.sources))} -> {self.target}"


def _extent(source: Numeric) -> tuple[Fraction, Fraction]:
    if isinstance(source, Integer):
        return Fraction(1), Fraction(max(source.highest, -source.lowest))
    high = scalar.value(source, source.max_code)
    assert high is not None
    return smallest(source), high


def smallest(fmt: FloatFormat) -> Fraction:
    """Return the smallest positive value."""
    return Fraction(2) ** (fmt.emin - fmt.mantissa_bits if fmt.zero else fmt.emin)


def model_case_of(case: OpCase) -> ModelCase | None:
    """Return a case as models see it; None where an operand is neither float nor integer."""
    numeric: list[Numeric] = []
    signed = case.op not in _UNSIGNED
    for type_ in (*case.operand_types, case.result_types[0]):
        width = element_width(type_)
        if isinstance(type_, ty.FloatType):
            numeric.append(type_.format)
        elif isinstance(type_, ty.IntegerType | ty.IndexType) and width:
            numeric.append(Integer(width, signed))
        else:
            return None
    sources, target = tuple(numeric[:-1]), numeric[-1]
    function = row_of(case.definition) or ""
    kind = _kind_of_function(sources) if function else _KINDS.get(case.op, "other")
    return ModelCase(kind, sources, target, function)


def _kind_of_function(sources: tuple[Numeric, ...]) -> str:
    if len(sources) == 1:
        return "function"
    return "function of an integer" if isinstance(sources[1], Integer) else "function of two"


class ExactResult(NamedTuple):
    """The number (-1)**sign * significand * 2**exponent."""

    sign: int
    significand: int
    exponent: int

    @property
    def lead(self) -> int:
        """Return the exponent of the leading bit; meaningless for zero."""
        return self.significand.bit_length() - 1 + self.exponent


def operand(source: Numeric, code: int) -> ExactResult | None:
    """Return the number that a code represents; None for NaNs and infinities."""
    if isinstance(source, Integer):
        number = source.number(code)
        return ExactResult(int(number < 0), abs(number), 0)
    kind, sign, significand, exponent = scalar.unpack(source, code)
    return ExactResult(sign, significand, exponent) if kind == scalar.FINITE else None


def exact(case: ModelCase, operands: tuple[int, ...], kind: str | None = None) -> ExactResult | None:
    """Return the exact result; None where it is not a number or the op does not round. ``kind``: compute this kind
    instead.
    """
    numbers = [operand(source, code) for source, code in zip(case.sources, operands, strict=True)]
    x = numbers[0]
    if x is None:
        return None
    kind = kind or case.kind
    if len(numbers) == 1:
        return x
    y = numbers[1]
    if y is None:
        return None
    match kind:
        case "add" | "subtract":
            flip = int(kind == "subtract")
            exponent = min(x.exponent, y.exponent)
            total = (-1) ** x.sign * (x.significand << x.exponent - exponent)
            total += (-1) ** (y.sign ^ flip) * (y.significand << y.exponent - exponent)
            return ExactResult(int(total < 0), abs(total), exponent)
        case "multiply":
            return ExactResult(x.sign ^ y.sign, x.significand * y.significand, x.exponent + y.exponent)
        case "divide" if y.significand:
            shift = max(4 * case.float_source.precision + 16 + y.significand.bit_length(), 0)
            quotient, rest = divmod(x.significand << shift, y.significand)
            return ExactResult(x.sign ^ y.sign, quotient << 1 | bool(rest), x.exponent - y.exponent - shift - 1)
        case "remainder" if y.significand:
            exponent = min(x.exponent, y.exponent)
            dividend = x.significand << x.exponent - exponent
            return ExactResult(x.sign, dividend % (y.significand << y.exponent - exponent), exponent)
    return None


class Pieces(NamedTuple):
    """An exact result as rounding sees it: kept * 2**lowest, then a guard bit, then the bits that make the sticky bit.

    ``rest``: the ``shift`` bits below the last kept one.
    """

    kept: int
    rest: int
    shift: int
    lowest: int

    @property
    def guard(self) -> int:
        """Return the first bit that is not kept."""
        return self.rest >> self.shift - 1 & 1 if self.shift else 0

    @property
    def below_guard(self) -> int:
        """Return the bits after the guard bit, ``shift - 1`` of them."""
        return self.rest & (1 << self.shift - 1) - 1 if self.shift else 0

    @property
    def sticky(self) -> int:
        """Tell whether any bit after the guard bit is set."""
        return int(self.below_guard != 0)


def quantum(target: Numeric, lead: int) -> int:
    """Return the exponent of the last kept bit of a result with that leading exponent."""
    if isinstance(target, Integer):
        return 0
    return max(lead, target.emin) - target.mantissa_bits


def pieces(target: Numeric, result: ExactResult, lowest: int | None = None) -> Pieces:
    """Take an exact result apart where ``target`` rounds it, or at ``lowest``."""
    lowest = quantum(target, result.lead) if lowest is None else lowest
    shift = max(lowest - result.exponent, 0)
    kept = result.significand >> shift
    if lowest < result.exponent:
        kept = result.significand << result.exponent - lowest
    return Pieces(kept, result.significand & (1 << shift) - 1, shift, lowest)


# Operands that give a certain result.


def encoded(source: Numeric, sign: int, significand: int, exponent: int) -> int | None:
    """Return the code of a number; None where the type does not have it."""
    if isinstance(source, Integer):
        if exponent < 0 and significand & (1 << -exponent) - 1:
            return None
        if exponent > source.width:
            return None
        number = (-1) ** sign * (significand << exponent if exponent >= 0 else significand >> -exponent)
        return number & (1 << source.width) - 1 if source.lowest <= number <= source.highest else None
    if (sign and not source.signed) or not (significand or source.zero):
        return None
    code, flags, poison = scalar.round_pack(source, sign, significand, exponent, scalar.RZ, SPEC)
    return None if flags or poison else code


def nearest(source: Numeric, sign: int, significand: int, exponent: int) -> int | None:
    """Return the code of the closest number of the type; None beyond its range."""
    if isinstance(source, Integer):
        if exponent > source.width:
            return None
        number = significand << exponent if exponent >= 0 else significand >> -exponent
        return encoded(source, sign, number, 0)
    if (sign and not source.signed) or not (significand or source.zero):
        return None
    code, flags, poison = scalar.round_pack(source, sign, significand, exponent, scalar.RNE, SPEC)
    return None if flags & scalar.OVERFLOW or poison else code


def random_normal(fmt: FloatFormat, dice: Dice, lead: int, length: int | None = None) -> int | None:
    """Return a code with that exponent, a random sign and ``length`` significant bits; None where there is none."""
    length = fmt.precision if length is None else max(1, min(length, fmt.precision))
    significand = 1 << length - 1 | dice.bits(length - 1)
    return encoded(fmt, dice.bits(1) if fmt.signed else 0, significand, lead - length + 1)


def operands_for(case: ModelCase, dice: Dice, sign: int, significand: int, exponent: int) -> Iterator[tuple[int, ...]]:
    """Yield operands whose exact result is (-1)**sign * significand * 2**exponent, or as close as the op can get.

    Several ways are tried, each with random choices. None is certain, so the caller checks the result.
    """
    method = {
        "add": _summands,
        "subtract": _summands,
        "multiply": _factors,
        "divide": _dividends,
        "remainder": _remainders,
    }.get(case.kind)
    if not significand and case.kind in ("multiply", "divide", "remainder"):
        fmt = case.float_source
        other = random_normal(fmt, dice, dice.between(fmt.emin, fmt.emax))
        if fmt.zero and other is not None:
            yield 0, other
        return
    if method is not None:
        yield from method(case, dice, sign, significand, exponent)
        return
    code = nearest(case.sources[0], sign, significand, exponent)
    if code is not None:
        yield (code,)


def _summands(case: ModelCase, dice: Dice, sign: int, significand: int, exponent: int) -> Iterator[tuple[int, ...]]:
    """Yield the upper and the lower part of the sum, with some ulps moved from one to the other."""
    fmt = case.float_source
    flip = int(case.kind == "subtract")
    length = significand.bit_length()
    lead = length - 1 + exponent
    half = max(length - fmt.precision, 0)
    first = (significand >> half + 1) << half
    a = encoded(fmt, sign, first, exponent)
    b = encoded(fmt, sign ^ flip if fmt.signed else 0, significand - first, exponent)
    if a is not None and b is not None:
        yield a, b
    # The upper part ends where a p-bit number with this leading bit, or one of the next binade, does.
    for spare in (0, dice.below(fmt.precision), -1):
        cut = max(lead - fmt.mantissa_bits + spare - exponent, 0)
        upper = significand >> cut
        low = significand - (upper << cut)
        moved = dice.below(4) - 1
        for step in (0, moved):
            first, second = (upper + step) << cut, low - (step << cut)
            a = encoded(fmt, sign ^ (first < 0), abs(first), exponent)
            b = encoded(fmt, sign ^ (second < 0) ^ flip if fmt.signed else 0, abs(second), exponent)
            if a is not None and b is not None:
                yield a, b
                swapped = encoded(fmt, sign ^ (second < 0), abs(second), exponent)
                other = encoded(fmt, sign ^ (first < 0) ^ flip if fmt.signed else 0, abs(first), exponent)
                if swapped is not None and other is not None:
                    yield swapped, other


def _split(case: ModelCase, dice: Dice, total: int, rising: bool) -> tuple[int, int]:
    """Return two exponents with that sum (difference if ``rising``), in the middle of the range in which both exist."""
    fmt = case.float_source
    low, high = fmt.emin - (fmt.mantissa_bits if fmt.zero else 0), fmt.emax
    if rising:  # first - second == total
        first = dice.between(max(low, low + total), min(high, high + total))
        return first, first - total
    first = dice.between(max(low, total - high), min(high, total - low))
    return first, total - first


def _pair(fmt: FloatFormat, *numbers: tuple[int, int, int]) -> tuple[int, ...] | None:
    """Return the codes closest to numbers of a sign, a significand and the exponent of its leading bit; None beyond
    range.
    """
    codes = [nearest(fmt, sign, bits, exponent - bits.bit_length() + 1) for sign, bits, exponent in numbers]
    found = tuple(code for code in codes if code is not None)
    return found if len(found) == len(numbers) else None


def _factors(case: ModelCase, dice: Dice, sign: int, significand: int, exponent: int) -> Iterator[tuple[int, ...]]:
    """Yield factors: exact ones with a short second factor, factors with the product's low bits, factors
    close to it.
    """
    fmt = case.float_source
    lead = significand.bit_length() - 1 + exponent
    precision = fmt.precision
    other = dice.bits(1) if fmt.signed else 0

    def placed(first: int, second: int) -> tuple[int, ...] | None:
        if not first or not second:
            return None
        near = lead - (first * second).bit_length() + 1  # exponent of the product, so that its leading bit is right
        one, two = _split(case, dice, near + first.bit_length() + second.bit_length() - 2, False)
        return _pair(fmt, (sign ^ other, first, one), (other, second, two))

    short = dice.bits(min(precision, 1 + dice.below(precision))) | 1
    full = 1 << precision - 1 | dice.bits(precision - 1)
    odd = full | 1
    low = significand & (1 << precision - 1) - 1
    inverse = pow(odd, -1, 1 << precision - 1) if precision > 1 else 0
    candidates = (
        (significand, 1),
        (significand // short, short),
        (low * inverse % (1 << precision - 1) | 1 << precision - 1, odd),
        (_rounded(significand << 2 * precision, full), full),
    )
    for first, second in candidates:
        found = placed(first, second)
        if found is not None:
            yield found


def _rounded(dividend: int, divisor: int) -> int:
    return (2 * dividend + divisor) // (2 * divisor)


def _dividends(case: ModelCase, dice: Dice, sign: int, significand: int, exponent: int) -> Iterator[tuple[int, ...]]:
    """Yield dividends: an exact multiple of a short divisor, one near a multiple, the closest one of a random divisor.

    For the dividend near a multiple: with a quotient q whose remainder is r, the divisor solves q * divisor = -r modulo
    a power of two, and the dividend is the part of the product above that power.
    """
    fmt = case.float_source
    lead = significand.bit_length() - 1 + exponent
    precision = fmt.precision
    other = dice.bits(1) if fmt.signed else 0

    def placed(first: int, second: int) -> tuple[int, ...] | None:
        if not first or not second:
            return None
        # A quotient of significands in [1, 2) lies below 1 where the dividend's is the smaller one.
        size = max(first.bit_length(), second.bit_length())
        below = first << size - first.bit_length() < second << size - second.bit_length()
        one, two = _split(case, dice, lead + below, True)
        return _pair(fmt, (sign ^ other, first, one), (other, second, two))

    stripped = significand >> (significand & -significand).bit_length() - 1 if significand else 1
    room = precision - stripped.bit_length()
    short = 1 << room | dice.bits(room) if room >= 0 else 1
    full = 1 << precision - 1 | dice.bits(precision - 1)
    candidates = [(stripped * (short >> 1 or 1), short >> 1 or 1), (stripped, 1)]
    candidates.append((_rounded(significand * full, 1 << significand.bit_length() - 1 if significand else 1), full))
    for bits in (precision, precision + 1):
        quotient = significand >> max(significand.bit_length() - bits, 0)
        zeros = (quotient & -quotient).bit_length() - 1 if quotient else 0
        for sense in (1, -1):
            for size in (1, 1 << dice.below(precision)):
                remainder = sense * size << zeros
                modulus = 1 << precision
                reduced = modulus >> zeros
                if reduced < 2 or not quotient:
                    continue
                divisor = -(remainder >> zeros) * pow(quotient >> zeros, -1, reduced) % reduced
                divisor |= dice.bits(zeros) << precision - zeros if zeros else 0
                candidates.append((quotient * divisor + remainder >> precision, divisor))
    for first, second in candidates:
        found = placed(first, second)
        if found is not None:
            yield found


def _remainders(case: ModelCase, dice: Dice, sign: int, significand: int, exponent: int) -> Iterator[tuple[int, ...]]:
    """Yield a divisor above the remainder, and the remainder plus a small multiple of it."""
    fmt = case.float_source
    other = dice.bits(1) if fmt.signed else 0
    small = encoded(fmt, sign, significand, exponent)
    if small is not None:
        yield small, fmt.max_code | (fmt.sign_mask or 0) * other
    for times in (0, 1, 1 + dice.below(6)):
        for length in (1, 2, fmt.precision):
            lead = significand.bit_length() + exponent + dice.below(3)
            divisor = (1 << length - 1 | dice.bits(length - 1)) if length > 1 else 1
            scale = lead - length + 1
            shift = min(scale, exponent)
            total = (significand << exponent - shift) + times * (divisor << scale - shift)
            a = encoded(fmt, sign, total, shift)
            b = encoded(fmt, other, divisor, scale)
            if a is not None and b is not None:
                yield a, b
