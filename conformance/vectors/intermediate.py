"""Exact results before rounding: the base of the coverage models.

An exact result has a sign, a significand and an exponent, as Python integers. A quotient that has infinitely many bits
is cut far below the bits that any model examines, and one more bit is set. So comparisons with shorter numbers stay
right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.mixed import FUSED
from halfulp.fp_formats.policy import SPEC
from halfulp.interp.dialects.math.functions import FIXED_ARITHMETIC, IN_FIXED_POINT, row_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.base import narrowed
from halfulp.interp.ir.types import element_width
from halfulp.semantics.fixed_point import FixedFormat
from halfulp.semantics.float_unit import MIXED
from halfulp.semantics.random_sources import words


def chosen(field: npt.NDArray[Any], bits: int, count: int) -> npt.NDArray[np.intp]:
    """Return indices below ``count``, made of uniform random numbers of ``bits`` bits, as evenly distributed as these
    allow.
    """
    return (field * np.uint64(count) >> np.uint64(bits)).astype(np.intp)


class Dice:
    """A source of random integers for building operands step by step; it gives the same integers on every machine."""

    def __init__(self, seed: int, stream: int) -> None:
        self._seed, self._stream = seed, stream
        self._position = 0
        self._words: list[int] = []

    def bits(self, count: int) -> int:
        """Return a uniform integer of ``count`` bits."""
        number = 0
        for _ in range(-(-count // 64)):
            if not self._words:
                self._words = words(self._seed, self._stream, self._position, 256).tolist()[::-1]
                self._position += 256
            number = number << 64 | self._words.pop()
        return number >> (-count % 64)

    def below(self, count: int) -> int:
        """Return an integer from 0 to ``count`` - 1, uniform to 1 part in 2**64."""
        width = count.bit_length() + 64
        return self.bits(width) * count >> width

    def between(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``, both included; ``low`` if it is above ``high``."""
        return low + self.below(max(high - low, 0) + 1)


# --- intermediate -----------------------------------------------------------------------------------------------------


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

_OPS_OF_KINDS: Mapping[str, str] = {
    "add": "arith.addf",
    "subtract": "arith.subf",
    "multiply": "arith.mulf",
    "divide": "arith.divf",
    "remainder": "arith.remf",
    "multiply-add": "math.fma",
    "compare": "arith.cmpf arith.maximumf arith.minimumf arith.maxnumf arith.minnumf",
    "convert": "arith.extf arith.truncf arith.convertf",
    "from integer": "arith.sitofp arith.uitofp",
    "to integer": "arith.fptosi arith.fptoui",
}
_KINDS = {op: kind for kind, ops in _OPS_OF_KINDS.items() for op in ops.split()}
_UNSIGNED = ("arith.uitofp", "arith.fptoui")


@dataclass(frozen=True)
class ModelCase:
    """The case that a model is applied to. ``kind``: add, subtract, multiply, divide, multiply-add, remainder, compare,
    convert, from integer, to integer, function, function of two, function of an integer, or other. ``function``: the
    name of an elementary function. ``negates``: 1 if a multiply-add changes the sign of its product, and of its addend.
    """

    kind: str
    sources: tuple[Numeric, ...]
    target: Numeric
    function: str = ""
    negates: tuple[int, int] = (0, 0)

    @property
    def float_source(self) -> FloatFormat:
        """Return the format of the first operand, which must be a float."""
        return narrowed(self.sources[0], FloatFormat)

    @property
    def float_sources(self) -> tuple[FloatFormat, ...]:
        """Return the formats of the operands, which must be floats."""
        return tuple(source for source in self.sources if isinstance(source, FloatFormat))

    @cached_property
    def fractions(self) -> tuple[int, ...]:
        """Return the bits after the binary point of each term of a sum: of floats, and of the product of two."""
        widths = [source.mantissa_bits for source in self.float_sources]
        product = self.kind in ("multiply", "multiply-add")
        return (widths[0] + widths[1], *widths[2:]) if product else tuple(widths)

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
        """Return the number of bits that an exact result has below the last kept bit; for quotients, the number of such
        bits that models examine.
        """
        source, target = self.sources[0], self.target
        if isinstance(target, Integer):
            return self.float_source.precision - 1
        if isinstance(source, Integer):
            return min(source.highest.bit_length(), target.emax + 1) - target.precision
        precision = source.precision
        if self.kind == "multiply-add":  # beside an addend of all bits, the tail is that of a product
            return min(fmt.precision for fmt in self.float_sources[:2])
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
            case "multiply-add":
                (least, most), (third, added) = map(_extent, self.sources[1:])
                return min(low * least, third), high * most + added
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
        if self.kind == "multiply-add":
            return (0, 1) if any(fmt.signed for fmt in self.sources) or any(self.negates) else (0,)
        return (0, 1) if source.signed or self.kind == "subtract" else (0,)

    def __str__(self) -> str:
        kind = "-" * self.negates[0] + self.kind + "-" * self.negates[1]
        return f"{self.function or kind} {', '.join(map(str, self.sources))} -> {self.target}"


def _extent(source: Numeric) -> tuple[Fraction, Fraction]:
    if isinstance(source, Integer):
        return Fraction(1), Fraction(max(source.highest, -source.lowest))
    high = scalar.value(source, source.max_code)
    assert high is not None
    return smallest(source), high


def smallest(fmt: FloatFormat) -> Fraction:
    """Return the smallest positive value."""
    return Fraction(2) ** (fmt.emin - fmt.mantissa_bits if fmt.zero else fmt.emin)


FIXED_KINDS = ("fixed add", "fixed subtract", "fixed multiply", "fixed convert")
"""The kinds of ops whose result is in fixed point."""


@dataclass(frozen=True)
class FixedCase(ModelCase):
    """The case of an op whose result is in fixed point. ``formats``: those of the operands and of the result; None for
    an operand that is a float.
    """

    formats: tuple[FixedFormat | None, ...] = ()

    @property
    def to(self) -> FixedFormat:
        """Return the format of the result."""
        return cast(FixedFormat, self.formats[-1])

    @property
    def operation(self) -> str:
        """Return the operation on the operands, or ``convert``."""
        return self.kind.removeprefix("fixed ")


def fixed_formats(case: OpCase) -> list[FixedFormat | None]:
    """Return the formats in fixed point of the operands and of the result; None for other types."""
    types = (*case.operand_types, case.result_types[0])
    return [type_.format if isinstance(type_, ty.FixedType) else None for type_ in types]


def _fixed_case(case: OpCase) -> FixedCase | None:
    formats = fixed_formats(case)
    numeric: list[Numeric] = []
    for type_, own in zip((*case.operand_types, case.result_types[0]), formats, strict=True):
        if own is not None:
            numeric.append(Integer(own.width, own.signed))
        elif isinstance(type_, ty.FloatType):
            numeric.append(type_.format)
    if formats[-1] is None or len(numeric) < len(formats):
        return None
    kind = f"fixed {FIXED_ARITHMETIC.get(case.op, 'convert')}"
    return FixedCase(kind, tuple(numeric[:-1]), numeric[-1], formats=tuple(formats))


def model_case_of(case: OpCase) -> ModelCase | None:
    """Return a case as models see it; None if an operand is neither a float nor an integer, nor in fixed point with a
    result in fixed point.
    """
    if case.op in IN_FIXED_POINT:
        return _fixed_case(case)
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
    function, operation = row_of(case.definition) or "", MIXED.get(case.op)
    if operation is not None and operation in FUSED:
        return ModelCase("multiply-add", sources, target, "", FUSED[operation])
    if operation is not None:
        return ModelCase(operation if {*sources} == {target} else "other", sources, target)
    kind = _KINDS.get(case.op, "other")
    if function:
        second = isinstance(sources[-1], Integer)
        kind = "function" if len(sources) == 1 else "function of an integer" if second else "function of two"
    return ModelCase(kind, sources, target, function)


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
    """Return the exact result; None if it is not a number or the op does not round. ``kind``: compute this kind
    instead.
    """
    numbers = tuple(operand(source, code) for source, code in zip(case.sources, operands, strict=True))
    terms = None if None in numbers else terms_of(case, cast(tuple[ExactResult, ...], numbers), kind)
    return None if terms is None else exact_sum(terms)


def terms_of(
    case: ModelCase, numbers: tuple[ExactResult, ...], kind: str | None = None
) -> tuple[ExactResult, ...] | None:
    """Return the one or two exact numbers whose sum is the exact result for these operands; None in the same cases as
    for `exact`.
    """
    if len(numbers) == 1:
        return _root(case, *numbers) if (kind or case.kind) == "square root" else numbers
    x, y, *addend = numbers
    match kind or case.kind:
        case "multiply-add":
            return product_of(case, x, y), addend_of(case, addend[0])
        case "add":
            return x, y
        case "subtract":
            return x, y._replace(sign=y.sign ^ 1)
        case "multiply":
            return (ExactResult(x.sign ^ y.sign, x.significand * y.significand, x.exponent + y.exponent),)
        case "divide" if y.significand:
            shift = max(4 * case.float_source.precision + 16 + y.significand.bit_length(), 0)
            quotient, rest = divmod(x.significand << shift, y.significand)
            return (ExactResult(x.sign ^ y.sign, quotient << 1 | bool(rest), x.exponent - y.exponent - shift - 1),)
        case "remainder" if y.significand:
            exponent = min(x.exponent, y.exponent)
            dividend = x.significand << x.exponent - exponent
            return (ExactResult(x.sign, dividend % (y.significand << y.exponent - exponent), exponent),)
    return None


def _root(case: ModelCase, x: ExactResult) -> tuple[ExactResult, ...] | None:
    if x.sign and x.significand:
        return None
    shift = 4 * case.float_source.precision + 16
    shift += x.exponent - shift & 1
    root = isqrt(x.significand << shift)
    rest = root * root != x.significand << shift
    return (ExactResult(x.sign, root << 1 | rest, (x.exponent - shift) // 2 - 1),)


def exact_sum(terms: tuple[ExactResult, ...]) -> ExactResult:
    """Return the exact sum of one or two numbers."""
    return terms[0] if len(terms) == 1 else _sum(*terms)


def product_of(case: ModelCase, x: ExactResult, y: ExactResult) -> ExactResult:
    """Return the exact product of a multiply-add, with the sign that it has in the sum."""
    sign = x.sign ^ y.sign ^ case.negates[0]
    return ExactResult(sign, x.significand * y.significand, x.exponent + y.exponent)


def addend_of(case: ModelCase, z: ExactResult) -> ExactResult:
    """Return the addend of a multiply-add, with the sign that it has in the sum."""
    return z._replace(sign=z.sign ^ case.negates[1])


def _sum(x: ExactResult, y: ExactResult) -> ExactResult:
    exponent = min(x.exponent, y.exponent)
    total = (-1) ** x.sign * (x.significand << x.exponent - exponent)
    total += (-1) ** y.sign * (y.significand << y.exponent - exponent)
    return ExactResult(int(total < 0), abs(total), exponent)


class Pieces(NamedTuple):
    """An exact result as rounding sees it: kept * 2**lowest, then a guard bit, then the bits that make the sticky bit.

    ``rest``: the ``shift`` bits below the last kept bit.
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
    """Take an exact result apart at the bit where ``target`` rounds it, or at ``lowest``."""
    lowest = quantum(target, result.lead) if lowest is None else lowest
    shift = max(lowest - result.exponent, 0)
    kept = result.significand >> shift
    if lowest < result.exponent:
        kept = result.significand << result.exponent - lowest
    return Pieces(kept, result.significand & (1 << shift) - 1, shift, lowest)


# Operands that give a certain result.


def encoded(source: Numeric, sign: int, significand: int, exponent: int) -> int | None:
    """Return the code of a number; None if the type does not have it."""
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
    """Return the code of the closest number of the type; None if the number is beyond its range."""
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
    """Return a code with that exponent, a random sign and ``length`` significant bits; None if there is none."""
    length = fmt.precision if length is None else max(1, min(length, fmt.precision))
    significand = 1 << length - 1 | dice.bits(length - 1)
    return encoded(fmt, dice.bits(1) if fmt.signed else 0, significand, lead - length + 1)


# --- multiply adds ----------------------------------------------------------------------------------------------------
#
# Operands of a multiply-add whose exact result is a wanted one.


def factor_range(fmt: FloatFormat, factor: int) -> tuple[int, int]:
    """Return the exponents e for which a format has ``factor * 2**e``, if its precision is sufficient."""
    lowest = fmt.emin - fmt.mantissa_bits if fmt.zero else fmt.emin - factor.bit_length() + 1
    return lowest, fmt.emax - factor.bit_length() + 1


def factors(case: ModelCase, dice: Dice, sign: int, x: int, y: int, place: int) -> tuple[int, int] | None:
    """Return codes of ``x * 2**k`` and ``y * 2**(place - k)``, for some k, whose product has the sign ``sign`` in the
    sum; None if there are none.
    """
    one, other = case.float_sources[:2]
    (low, high), (least, most) = factor_range(one, x), factor_range(other, y)
    low, high = max(low, place - most), min(high, place - least)
    if low > high:
        return None
    # Often in the middle, so that few operands are extreme.
    k = dice.between(low, high) if dice.below(4) == 0 else (low + high) // 2
    signs = sign ^ case.negates[0]
    first = dice.bits(1) if one.signed and other.signed else signs if one.signed else 0
    if first != signs and not other.signed:
        return None
    a, b = encoded(one, first, x, k), encoded(other, first ^ signs, y, place - k)
    return None if a is None or b is None else (a, b)


def row_with(
    case: ModelCase, dice: Dice, product: tuple[int, int, int, int], wanted: int, exponent: int
) -> Iterator[tuple[int, ...]]:
    """Yield a row whose exact result is ``wanted * 2**exponent``, with this product, which is given by its sign, two
    factors and their exponent. Yield nothing if a format cannot represent an operand.
    """
    sign, x, y, place = product
    addend = case.float_sources[2]
    made = x * y << max(place - exponent, 0)
    unit = min(place, exponent)
    rest = (wanted << exponent - unit) - (-1) ** sign * (made if place >= exponent else x * y)
    c = encoded(addend, int(rest < 0) ^ case.negates[1], abs(rest), unit)
    pair = None if c is None else factors(case, dice, sign, x, y, place)
    if pair is not None and c is not None:
        yield *pair, c


def significand(dice: Dice, bits: int, short: bool = False) -> int:
    """Return a random odd number of that many bits; ``short``: of at most that many bits."""
    length = 1 + dice.below(bits) if short else bits
    return 1 << length - 1 | dice.bits(length) >> 1 | 1


def addends_and_factors(
    case: ModelCase, dice: Dice, sign: int, magnitude: int, exponent: int
) -> Iterator[tuple[int, ...]]:
    """Yield operands whose sum is (-1)**sign * magnitude * 2**exponent.

    Several kinds are tried: the bits of the product are below those of the addend; the product is close to the sum, and
    the addend corrects it; the product has the low bits of the sum, and high bits may cancel; the product or the addend
    is 0.
    """
    one, other, addend = case.float_sources
    wanted = (-1) ** sign * magnitude
    length, precision = magnitude.bit_length(), addend.precision
    yield from _alone(case, dice, sign, magnitude, exponent)
    if not magnitude:
        yield from _cancelling_all(case, dice)
        return
    # The product has what lies below the addend.
    for spare in (0, dice.below(precision), -1):
        cut = max(length - precision + spare, 0)
        upper = magnitude >> cut
        for step in (0, 1, dice.below(4) - 1):
            tail = magnitude - (upper + step << cut)
            if tail:
                for x, y in _splits(dice, abs(tail), one.precision, other.precision):
                    yield from row_with(case, dice, (sign ^ (tail < 0), x, y, exponent), wanted, exponent)
    # The product is close to the sum, in a unit in which it has all its bits.
    for short in (False, True):
        y = significand(dice, other.precision, short)
        moved = max(one.precision + y.bit_length() - length, 0)
        x = ((magnitude << moved) + y // 2) // y
        down = max(x.bit_length() - one.precision, 0)
        x >>= down
        if x:
            yield from row_with(case, dice, (sign, x, y, exponent - moved + down), wanted, exponent)
    # The product has the low bits of the sum, and any bits above them.
    for negative in (0, 1):
        y = significand(dice, other.precision, bool(dice.bits(1)))
        low = min(max(length - precision + dice.below(precision + 1), 1), one.precision)
        x = ((-1) ** negative * magnitude * pow(y, -1, 1 << low)) % (1 << low)
        x |= dice.bits(max(one.precision - low, 0)) << low if dice.bits(1) else 0
        if x:
            yield from row_with(case, dice, (sign ^ negative, x, y, exponent), wanted, exponent)


def _alone(case: ModelCase, dice: Dice, sign: int, magnitude: int, exponent: int) -> Iterator[tuple[int, ...]]:
    """Yield an addend beside a product of 0, and a product beside an addend of 0, if the formats have zeros."""
    one, other, addend = case.float_sources
    c = encoded(addend, sign ^ case.negates[1], magnitude, exponent)
    if c is not None and one.zero:
        yield 0, encoded(other, 0, 1, max(min(0, other.emax), other.emin)) or 0, c
    if magnitude and addend.zero:
        for x, y in _splits(dice, magnitude, one.precision, other.precision):
            pair = factors(case, dice, sign, x, y, exponent)
            if pair is not None:
                yield *pair, 0


def _cancelling_all(case: ModelCase, dice: Dice) -> Iterator[tuple[int, ...]]:
    one, other, _ = case.float_sources
    x, y = significand(dice, one.precision, True), significand(dice, other.precision, True)
    (low, high), (least, most) = factor_range(one, x), factor_range(other, y)
    yield from row_with(case, dice, (dice.bits(1), x, y, dice.between(low + least, high + most)), 0, 0)


def _splits(dice: Dice, number: int, first: int, second: int) -> Iterator[tuple[int, int]]:
    """Yield pairs of factors of a number, with at most so many bits each. The trailing zeros of the number go to the
    first factor.
    """
    zeros = (number & -number).bit_length() - 1
    odd = number >> zeros
    for divisor in (1, significand(dice, second, True), significand(dice, min(second, 4), True)):
        if not odd % divisor:
            x, y = odd // divisor, divisor
            for one, other in ((x, y), (y, x)):
                if one.bit_length() <= first and other.bit_length() <= second:
                    yield one << zeros, other


# --- constructing -----------------------------------------------------------------------------------------------------
#
# Operands whose exact result is a wanted one: what the coverage models construct their rows from.


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
        "multiply-add": addends_and_factors,
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
    """Return two exponents with that sum (or difference if ``rising``), in the middle of the range in which both
    exist.
    """
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


def _placed(
    case: ModelCase,
    dice: Dice,
    signs: tuple[int, int],
    significands: Iterable[tuple[int, int]],
    exponents: Callable[[int, int], int],
    rising: bool,
) -> Iterator[tuple[int, ...]]:
    """Yield pairs of codes with these signs and significands, as far as the format has them. ``exponents``: the sum of
    their exponents (or the difference if ``rising``), from both significands.
    """
    for first, second in significands:
        if not first or not second:
            continue
        one, two = _split(case, dice, exponents(first, second), rising)
        found = _pair(case.float_source, (signs[0], first, one), (signs[1], second, two))
        if found is not None:
            yield found


def _factors(case: ModelCase, dice: Dice, sign: int, significand: int, exponent: int) -> Iterator[tuple[int, ...]]:
    """Yield factors: exact ones with a short second factor, factors with the product's low bits, factors
    close to it.
    """
    fmt = case.float_source
    lead = significand.bit_length() - 1 + exponent
    precision = fmt.precision
    other = dice.bits(1) if fmt.signed else 0

    def exponents(first: int, second: int) -> int:
        near = lead - (first * second).bit_length() + 1  # exponent of the product, so that its leading bit is right
        return near + first.bit_length() + second.bit_length() - 2

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
    yield from _placed(case, dice, (sign ^ other, other), candidates, exponents, rising=False)


def _rounded(dividend: int, divisor: int) -> int:
    return (2 * dividend + divisor) // (2 * divisor)


def _dividends(case: ModelCase, dice: Dice, sign: int, significand: int, exponent: int) -> Iterator[tuple[int, ...]]:
    """Yield dividends: an exact multiple of a short divisor, a number near a multiple, and the number for a random
    divisor that comes closest.

    For the dividend near a multiple: with a quotient q whose remainder is r, the divisor solves q * divisor = -r modulo
    a power of two, and the dividend is the part of the product above that power.
    """
    fmt = case.float_source
    lead = significand.bit_length() - 1 + exponent
    precision = fmt.precision
    other = dice.bits(1) if fmt.signed else 0

    def exponents(first: int, second: int) -> int:
        # A quotient of significands in [1, 2) lies below 1 where the dividend's is the smaller one.
        size = max(first.bit_length(), second.bit_length())
        return lead + (first << size - first.bit_length() < second << size - second.bit_length())

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
    yield from _placed(case, dice, (sign ^ other, other), candidates, exponents, rising=True)


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
