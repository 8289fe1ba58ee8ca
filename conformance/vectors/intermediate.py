"""Exact results before rounding: the base of the coverage models.

An exact result is sign, significand and exponent in Python integers. An endless quotient is cut far below the bits that
any model examines, and one more bit is set: all comparisons with shorter numbers stay true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.vectors.philox import Dice
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.mixed import FUSED
from halfulp.fp_formats.policy import SPEC
from halfulp.interp.dialects.math.families import row_of
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.types import element_width
from halfulp.semantics.float_unit import MIXED


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
    "math.fma": "multiply-add",
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
        source = self.sources[0]
        assert isinstance(source, FloatFormat)
        return source

    @property
    def float_sources(self) -> tuple[FloatFormat, ...]:
        """Return the formats of the operands, which must be floats."""
        return tuple(source for source in self.sources if isinstance(source, FloatFormat))

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
    if case.op in MIXED:
        return _of_a_float_unit(MIXED[case.op], sources, target)
    kind = _kind_of_function(sources) if function else _KINDS.get(case.op, "other")
    return ModelCase(kind, sources, target, function)


def _of_a_float_unit(operation: str, sources: tuple[Numeric, ...], target: Numeric) -> ModelCase:
    if operation in FUSED:
        return ModelCase("multiply-add", sources, target, "", FUSED[operation])
    return ModelCase(operation if {*sources} == {target} else "other", sources, target)


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
        case "multiply-add":
            return None if numbers[2] is None else _sum(product_of(case, x, y), addend_of(case, numbers[2]))
        case "add" | "subtract":
            return _sum(x, y._replace(sign=y.sign ^ (kind == "subtract")))
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
