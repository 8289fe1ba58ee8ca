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
    """One field for each choice that documents leave open or that real tools make differently.

    The defaults are the choices of halfulp itself.

    ``nan_result``: the NaN that arithmetic, a minimum, a maximum or a conversion returns.
        payload: the first NaN operand, made quiet; without a NaN operand the default NaN, which is positive.
        canonical: always the default NaN (RISC-V).
        canonical_signed: the default NaN with the sign of the first NaN operand, negative without a NaN operand. The
        NaN of a FNUZ format counts as negative, because its code has the sign bit set (ml_dtypes on x86).
        negative: as payload, but the NaN is negative without a NaN operand (x86).
        canonical_bf16: as payload, but a conversion to bf16 returns the default NaN (MLIR's arith-expand).
    ``conversion_overflow``: an infinity, or a value that is too large, in a conversion from a float or an integer.
        Arithmetic always overflows as format says. format: infinity, or the value that the format has instead.
        saturate: the largest finite value with the same sign.
    ``nan_to_nanless``: a NaN that is converted to a format without NaN. poison: poison. zero: zero with the sign of the
        NaN. zero_inverted: zero with the opposite sign. max: the largest finite value, positive.
    ``infinity_to_nanless``: an infinity that is converted to a format without infinities and NaN. max: the largest
        finite value with the same sign. zero: zero with the same sign.
    ``divide_by_zero_nanless``: x/0 with x not 0, in a format without infinities and NaN. The result has the sign of the
        quotient. max: the largest finite value. zero: zero.
    ``negative_to_unsigned``: a negative value or infinity in an unsigned format. nan: NaN. sign_bit: the code of the
        absolute value with the top bit set.
    ``zero_to_zeroless``: zero in a format without zero. smallest: the smallest value. nan: NaN.
    ``zeroless_nan_widened``: the NaN of a format without zero, converted to a format with infinities. nan: NaN.
        infinity: +infinity.
    ``zeroless_smallest_widened``: the smallest value of a format without zero, converted to a format with zero. value:
        the same value. zero: +0.
    ``float_to_zeroless``: a float that is converted to a format without zero. rounded: in the given mode. cut: toward
        zero and without the sign; a source wider than f32 is first rounded to f32, to nearest even (MLIR's
        arith-expand).
    ``float_to_nanless``: a float that is converted to a format without infinities and NaN. rounded: in the given mode.
        ties_away: to nearest, ties away from zero; but a value that is smaller in magnitude than the smallest positive
        value loses its sign, and half of that smallest value becomes zero (MLIR's arith-expand).
    ``number_of_signalling``: maximum_number and minimum_number (arith.maxnumf, arith.minnumf) with a signalling NaN.
        number: it counts as any NaN, so the other operand is the result if it is a number. quieted: the result is the
        first signalling NaN, made quiet (MLIR's folder).
    ``wide_source``: the rounding of a conversion to a format narrower than f32, from a float wider than f32 or from an
        integer. once: rounded once. through_f32: rounded to f32, to nearest even, and then to the format.
        bf16_through_f32: through f32 to bf16, once to all other formats.
    ``extrema``: the result of a minimum or maximum. value: by value, with -0 < +0; a NaN result is quiet. selected: the
        operand that a comparison selects, unchanged; if both are equal, the second (MLIR's arith-expand).
        number_selected: as value, except for maximum_number and minimum_number, which return an operand unchanged: the
        second if the first is a NaN; the first if both are equal, where -0 equals +0 (x86).
    ``remainder``: x - n * y, where n is the rounded quotient x / y. fmod: n is rounded toward zero. ieee: n is rounded
        to nearest even (the remainder of IEEE 754).
    ``denormals``: the subnormals that become zero. A result counts as subnormal if it is tiny: see ``tininess``. ieee:
        none. flush_operands: operands. flush_results: results. flush_both: operands and results.
    ``denormal_zero``: the zero that replaces a subnormal. signed: it has the sign of the subnormal. positive: it is +0.
    ``denormals_f32``: the same as ``denormals``, for f32 alone (LLVM's ``denormal-fp-math-f32``). as_others: f32 has no
        rule of its own.
    ``denormal_zero_f32``: the same as ``denormal_zero``, for f32 alone. as_others: f32 has no rule of its own.
    ``float_to_int``: a NaN, or a value out of range, that is converted to an integer. poison: poison. saturate: the
        nearest integer of the type, and 0 for NaN (Arm). saturate_nan_max: the nearest integer of the type, and the
        largest one for NaN (RISC-V fcvt). modular: the value modulo 2**width, and 0 for NaN and infinities (RISC-V
        fcvtmod).
    ``tininess``: the value that is tested for "tiny", that is, smaller in magnitude than the smallest normal value. The
        underflow flag and the flushing of results depend on it. after: the value that is rounded as if the exponent had
        no lower limit. before: the exact value.

    Raises ValueError for an unknown value; the message has the field, the value and the choices.
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
