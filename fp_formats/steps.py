"""The finite values of a format in their order: ranks, the next value up or down, and the ulp.

The *rank* of a value counts from zero, or from the smallest value if the format has no zero: -3, 0, 17. Neighbouring
values have neighbouring ranks, and both zeros have rank 0. `next_code` is the specification of `exact.steps`.
"""

from __future__ import annotations

from fractions import Fraction

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.policy import SPEC
from halfulp.fp_formats.scalar import Result


def rank_of(fmt: FloatFormat, code: int) -> int | None:
    """Return the rank of a code, an infinity being one step beyond the largest value; None for NaN."""
    return None if scalar.unpack(fmt, code).kind >= scalar.QUIET_NAN else position_of(fmt, code)


def position_of(fmt: FloatFormat, code: int) -> int:
    """Return the rank of a code; of a NaN, the rank that its bits would have as a number."""
    magnitude = code & (fmt.code_mask >> fmt.signed)
    if fmt.explicit_integer_bit:
        field, significand = divmod(magnitude, 1 << fmt.precision)
        magnitude = (field << fmt.mantissa_bits) + (significand & ~(bool(field) << fmt.mantissa_bits))
    return -magnitude if fmt.sign_mask and code & fmt.sign_mask else magnitude


def code_at(fmt: FloatFormat, rank: int) -> int:
    """Return the code of the value with this rank."""
    return scalar.with_sign(fmt, int(rank < 0), fmt.from_magnitude(abs(rank)))


def lowest_rank(fmt: FloatFormat) -> int:
    """Return the rank of the smallest finite value; that of the largest is ``fmt.max_magnitude``."""
    return -fmt.max_magnitude if fmt.signed else 0


def next_code(fmt: FloatFormat, a: int, down: bool = False) -> Result:
    """Return the code of the next value above, or below if ``down``: nextUp and nextDown of IEEE 754-2019, 5.3.1.

    The step below the smallest positive value gives +0, and the step above the smallest negative value -0, or +0 if the
    format has no -0. An infinity stays when the step leads outward. Beyond the last value stands infinity; without
    infinities NaN with the sign of the step, and with neither the last value itself, as in LLVM's APFloat. Below the
    smallest value of an unsigned format stands NaN, or without NaN that value itself. A NaN gives itself, quieted.
    """
    rank = rank_of(fmt, a)
    if rank is None:
        return scalar.first_nan(fmt, scalar.unpack(fmt, a), scalar.unpack(fmt, a), SPEC)
    if fmt.is_infinite(a) and (rank < 0) == down:
        return Result(a)
    moved = rank - 1 if down else rank + 1
    if moved < 0 and not fmt.signed:
        return Result(fmt.nan_code if fmt.nan_code is not None else a)
    if abs(moved) > fmt.max_magnitude:
        return scalar.encode_infinity(fmt, int(down), 0, "max")
    if moved == 0 and fmt.zero:
        return scalar.encode_zero(fmt, int(not down), SPEC)
    return Result(code_at(fmt, moved))


def floor_exponent(number: Fraction) -> int:
    """Return the exponent of the largest power of two that is not above the magnitude of a number other than 0."""
    numerator, denominator = abs(number.numerator), number.denominator
    exponent = numerator.bit_length() - denominator.bit_length()
    return exponent - (numerator << max(-exponent, 0) < denominator << max(exponent, 0))


def ulp_exponent(fmt: FloatFormat, number: Fraction) -> int:
    """Return the power of two that an ulp of a format is at a number.

    An ulp is the distance of the two values around the number. At a value it is the distance to the next value away
    from zero, so at a power of two it is the larger of the two distances. Among the subnormal values and at zero it is
    the smallest subnormal value; at and beyond an end of the format it is the last distance. For a number below zero in
    an unsigned format, it is the smallest distance.
    """
    exponent = fmt.emin
    if number > 0 or (number and fmt.signed):
        exponent = min(max(floor_exponent(number), fmt.emin), fmt.emax)
    return exponent - fmt.mantissa_bits


def ulp_at(fmt: FloatFormat, number: Fraction) -> Fraction:
    """Return an ulp of a format at a number: see `ulp_exponent`."""
    return Fraction(2) ** ulp_exponent(fmt, number)
