"""What a float result depends on beside the exact real number: rounding mode, flags, and the fields of a policy."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import IntEnum, IntFlag
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args, get_type_hints

from halfulp.fp_formats.formats import FloatFormat


class Rounding(IntEnum):
    """Rounding modes with MLIR's numbers and, in `spelling`, its keywords. STOCHASTIC needs random bits of the
    caller."""

    TO_NEAREST_EVEN = 0
    DOWNWARD = 1
    UPWARD = 2
    TOWARD_ZERO = 3
    TO_NEAREST_AWAY = 4
    STOCHASTIC = 5

    @property
    def spelling(self) -> str:
        """MLIR's keyword for the mode, as in ``to_nearest_even``."""
        return self.name.lower()


class Flags(IntFlag):
    """IEEE 754 exception flags with the bits of TestFloat and of RISC-V's fflags."""

    INEXACT = 0x01
    UNDERFLOW = 0x02
    OVERFLOW = 0x04
    DIVIDE_BY_ZERO = 0x08
    INVALID = 0x10


class Flushing(NamedTuple):
    """Which subnormals of a format become zero, and whether that zero is always positive."""

    operands: bool
    results: bool
    positive: bool

    @property
    def any(self) -> bool:
        """Whether any do."""
        return self.operands or self.results


@dataclass(frozen=True)
class FloatPolicy:
    """A field for each choice that documents leave open or real tools make differently; the defaults are our own.

    ``nan_result``: what a NaN result of arithmetic, minimum, maximum or conversion looks like.
        payload: the first NaN operand, quieted; a generated NaN is the positive default.
        canonical: always the positive default NaN (RISC-V).
        canonical_signed: the default NaN with the sign of the first NaN operand; a generated NaN is negative, and the
        NaN of the FNUZ formats counts as negative, since its code has the sign bit set (ml_dtypes on x86).
        negative: as payload, but a generated NaN is negative (x86).
        canonical_bf16: as payload, but conversions to bf16 give the positive default (MLIR's arith-expand).
    ``conversion_overflow``: overflow and infinities in conversions and from integers: by the format, or to the largest
        finite value. Arithmetic always overflows by the format.
    ``nan_to_nanless``: NaN in a format without NaN: poison; zero of the NaN's sign; zero of the opposite sign; +max.
    ``infinity_to_nanless``: an infinity converted to a format with neither infinity nor NaN: max or zero of its sign.
    ``divide_by_zero_nanless``: x/0 with x not 0 in such a format: max or zero, of the quotient's sign.
    ``negative_to_unsigned``: a negative value or infinity in an unsigned format: NaN, or the code of its absolute value
        with the top bit set.
    ``zero_to_zeroless``: zero in a format without zero: the smallest value, or NaN.
    ``zeroless_nan_widened``: the NaN of a format without zero converted to a format with infinities: NaN or +infinity.
    ``zeroless_smallest_widened``: the smallest value of a format without zero in one with zero: itself, or +0.
    ``float_to_zeroless``: floats converted to a format without zero: rounded; or cut off, toward zero and without their
        sign, after sources wider than f32 were rounded to f32, to nearest even (MLIR's arith-expand).
    ``float_to_nanless``: floats converted to a format with neither infinity nor NaN: rounded as asked; or to nearest
        with ties away from zero, where what is smaller than the smallest value loses its sign, and half of that value
        gives zero (MLIR's arith-expand).
    ``number_of_signalling``: maximum_number and minimum_number with a signalling NaN: it counts as any NaN, so that a
        number wins; or the first signalling NaN wins, quieted (MLIR's folder).
    ``wide_source``: conversions to formats narrower than f32, from floats wider than f32 and from integers: rounded
        once; twice through f32 (to nearest even first); or so to bf16 alone.
    ``extrema``: minimum, maximum and the like: by value, -0 < +0, NaNs quieted; or the operand that a comparison
        selects, unchanged, and of equal ones the second (MLIR's arith-expand); or by value but for maximum_number and
        minimum_number, which return the second operand unchanged where the first is a NaN, and the first of equal ones,
        zeros among them (x86).
    ``remainder``: that of the quotient rounded toward zero (fmod), or to nearest even (IEEE 754's remainder).
    ``denormals``: subnormal operands, results or both become zero; ``denormal_zero``: of their sign, or +0. Which
        results are subnormal, ``tininess`` says.
    ``denormals_f32``: of f32 alone what ``denormals`` is of all formats, as LLVM's ``denormal-fp-math-f32`` says it; or
        f32 is like the others. ``denormal_zero_f32``: so, too, of f32.
    ``float_to_int``: NaN and values out of range: poison; saturated with NaN to 0 (Arm); saturated with NaN to the
        largest integer (RISC-V fcvt); or modulo 2**width with NaN and infinities to 0 (RISC-V fcvtmod).
    ``tininess``: when the underflow flag, and the flushing of results, look at the result: after or before rounding.

    Raises ValueError for an unknown value, naming field, value and choices.
    """

    nan_result: Literal["payload", "canonical", "canonical_signed", "negative", "canonical_bf16"] = "payload"
    conversion_overflow: Literal["format", "saturate"] = "format"
    nan_to_nanless: Literal["poison", "zero", "zero_inverted", "max"] = "poison"
    infinity_to_nanless: Literal["max", "zero"] = "max"
    divide_by_zero_nanless: Literal["max", "zero"] = "max"
    negative_to_unsigned: Literal["nan", "sign_bit"] = "nan"
    zero_to_zeroless: Literal["smallest", "nan"] = "smallest"
    zeroless_nan_widened: Literal["nan", "infinity"] = "nan"
    zeroless_smallest_widened: Literal["value", "zero"] = "value"
    float_to_zeroless: Literal["rounded", "cut"] = "rounded"
    float_to_nanless: Literal["rounded", "ties_away"] = "rounded"
    number_of_signalling: Literal["number", "quieted"] = "number"
    wide_source: Literal["once", "through_f32", "bf16_through_f32"] = "once"
    extrema: Literal["value", "selected", "number_selected"] = "value"
    remainder: Literal["fmod", "ieee"] = "fmod"
    denormals: Literal["ieee", "flush_operands", "flush_results", "flush_both"] = "ieee"
    denormal_zero: Literal["signed", "positive"] = "signed"
    denormals_f32: Literal["as_others", "ieee", "flush_operands", "flush_results", "flush_both"] = "as_others"
    denormal_zero_f32: Literal["as_others", "signed", "positive"] = "as_others"
    float_to_int: Literal["poison", "saturate", "saturate_nan_max", "modular"] = "poison"
    tininess: Literal["after", "before"] = "after"

    def __post_init__(self) -> None:
        for field, choices in policy_choices().items():
            value = getattr(self, field)
            if value not in choices:
                raise ValueError(f"float policy: {field} is {value!r}, but must be one of {', '.join(choices)}")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, field.name) for field in fields(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return FloatPolicy, tuple(getattr(self, field.name) for field in fields(self))

    def flushing(self, fmt: FloatFormat) -> Flushing:
        """What becomes of the subnormals of a format."""
        return self._flushing_f32 if fmt.name == "f32" else self._flushing

    @cached_property
    def _flushing(self) -> Flushing:
        return _flushing(self.denormals, self.denormal_zero)

    @cached_property
    def _flushing_f32(self) -> Flushing:
        denormals = self.denormals if self.denormals_f32 == "as_others" else self.denormals_f32
        zero = self.denormal_zero if self.denormal_zero_f32 == "as_others" else self.denormal_zero_f32
        return _flushing(denormals, zero)

    @cached_property
    def without_f32(self) -> FloatPolicy:
        """The same with f32 like the other formats."""
        if self.denormals_f32 == self.denormal_zero_f32 == "as_others":
            return self
        return replace(self, denormals_f32="as_others", denormal_zero_f32="as_others")


def _flushing(denormals: str, zero: str) -> Flushing:
    operands, results = (denormals in (f"flush_{which}", "flush_both") for which in ("operands", "results"))
    return Flushing(operands, results, zero == "positive")


def policy_choices() -> dict[str, tuple[str, ...]]:
    """The fields of `FloatPolicy`, each with the values it may have, the default first."""
    return {field: get_args(hint) for field, hint in get_type_hints(FloatPolicy).items()}


SPEC = FloatPolicy()
"""halfulp's own semantics: the exact real result, rounded once."""
