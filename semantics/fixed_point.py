"""Fixed point: numbers that are integers times a power of two, quantised and saturated as ac_fixed and SystemC do.

Sources: the Algorithmic C datatypes reference manual (ac_fixed: quantisation and overflow modes, types of results), and
IEEE 1666 (SystemC: SC_RND and so on, the same rules).

Integers are Python integers, or arrays of int64 or of Python integers (dtype object); the operators are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import Codes, FloatFormat, codes_to_ints

Integers = Any
"""A Python integer, or an array of them or of int64."""


class Quantization(NamedTuple):
    """A rounding of ``kept`` + rest to an integer. ``tie_up``: tells, from ``kept`` and whether it is negative, if a
    half goes up; None if ``rest_up`` decides for every rest.
    """

    meaning: str
    tie_up: Callable[[Integers, Any], Any] | None
    rest_up: Callable[[Any], Any] | None = None


QUANTIZATIONS: Mapping[str, Quantization] = MappingProxyType(
    {
        "AC_TRN": Quantization("toward -infinity", None, lambda negative: negative & False),
        "AC_TRN_ZERO": Quantization("toward zero", None, lambda negative: negative),
        "AC_RND": Quantization("to nearest, ties toward +infinity", lambda kept, negative: negative | True),
        "AC_RND_ZERO": Quantization("to nearest, ties toward zero", lambda kept, negative: negative),
        "AC_RND_INF": Quantization("to nearest, ties away from zero", lambda kept, negative: negative ^ True),
        "AC_RND_MIN_INF": Quantization("to nearest, ties toward -infinity", lambda kept, negative: negative & False),
        "AC_RND_CONV": Quantization("to nearest, ties to even", lambda kept, negative: kept & 1 == 1),
        "AC_RND_CONV_ODD": Quantization("to nearest, ties to odd", lambda kept, negative: kept & 1 == 0),
    }
)
"""The quantisation modes of ac_fixed; SystemC's names have SC_ in place of AC_, ap_fixed's AP_."""
OVERFLOWS: Mapping[str, str] = MappingProxyType(
    {
        "AC_WRAP": "the low bits",
        "AC_SAT": "the largest or the smallest value",
        "AC_SAT_ZERO": "zero",
        "AC_SAT_SYM": "as AC_SAT, and signed values are symmetric: the smallest value is minus the largest one",
    }
)
"""The overflow modes of ac_fixed."""


@dataclass(frozen=True)
class FixedFormat:
    """A fixed-point format: ``ac_fixed<width, integer_bits, signed, rounding, overflow>``.

    ``width``: bits of the code, in two's complement if ``signed``.
    ``integer_bits``: the number of bits before the point, the sign included; it is negative or more than ``width`` if
    the point lies outside of the bits. A code is a multiple of 2**(integer_bits - width).
    ``rounding``, ``overflow``: the modes of an assignment, by their names in ac_fixed; the prefix may be AC_, AP_ or
    SC_.

    Raises ValueError for a width below 1 and for an unknown mode.
    """

    width: int
    integer_bits: int
    signed: bool = True
    rounding: str = "AC_TRN"
    overflow: str = "AC_WRAP"

    def __post_init__(self) -> None:
        if self.width < 1 or self.width > 1 << 16:
            raise ValueError(f"width is {self.width}, but must be 1 to 65536")
        if abs(self.integer_bits) > 1 << 16:
            raise ValueError(f"integer_bits is {self.integer_bits}, but must lie in -65536..65536")
        for field, table in (("rounding", QUANTIZATIONS), ("overflow", OVERFLOWS)):
            given = getattr(self, field)
            name = "AC_" + given[3:] if given[:3] in ("AP_", "SC_") else given
            if name not in table:
                raise ValueError(f"{field} is {given!r}, but must be one of {', '.join(table)}")
            object.__setattr__(self, field, name)

    @property
    def fraction_bits(self) -> int:
        """The number of bits after the point; negative if the value of the last bit is larger than 1."""
        return self.width - self.integer_bits

    @property
    def lowest(self) -> int:
        """The smallest integer that a code has as its value in two's complement, before it is multiplied by `unit`."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def highest(self) -> int:
        """The largest integer that a code has as its value in two's complement, before it is multiplied by `unit`."""
        return (1 << (self.width - self.signed)) - 1

    @property
    def unit(self) -> Fraction:
        """The value of the last bit."""
        return Fraction(2) ** -self.fraction_bits

    def __str__(self) -> str:
        modes = f", {self.rounding}, {self.overflow}"
        return f"ac_fixed<{self.width}, {self.integer_bits}, {str(self.signed).lower()}{modes}>"


def rounded(units: Integers, shift: int, rounding: str) -> Integers:
    """Return units / 2**shift, rounded by a quantisation mode."""
    if shift <= 0:
        return units << -shift
    kept = units >> shift
    rest = units - (kept << shift)
    rule = QUANTIZATIONS[rounding]
    negative = units < 0
    if rule.tie_up is None:
        assert rule.rest_up is not None
        return kept + ((rest != 0) & rule.rest_up(negative))
    half = 1 << (shift - 1)
    return kept + ((rest > half) | ((rest == half) & rule.tie_up(kept, negative)))


def fitted(numbers: Integers, fmt: FixedFormat) -> Integers:
    """Bring integers into the range of a format, by its overflow mode."""
    lowest, highest = fmt.lowest, fmt.highest
    if fmt.overflow == "AC_WRAP":
        return ((numbers - lowest) & ((1 << fmt.width) - 1)) + lowest
    if fmt.overflow == "AC_SAT_ZERO":
        return numbers * ((numbers >= lowest) & (numbers <= highest))
    if fmt.overflow == "AC_SAT_SYM" and fmt.signed:
        lowest = -highest
    if isinstance(numbers, int):
        return min(max(numbers, lowest), highest)
    return np.clip(numbers, lowest, highest)


def quantize(units: Integers, fraction_bits: int, fmt: FixedFormat) -> Integers:
    """Convert integers with ``fraction_bits`` bits after the point to those of a format."""
    return fitted(rounded(units, fraction_bits - fmt.fraction_bits, fmt.rounding), fmt)


def of_fraction(x: Fraction, fmt: FixedFormat) -> int:
    """Convert a rational number to an integer of a format."""
    # Two more bits, the last one for all that follow, decide every mode.
    numerator, denominator = x.numerator, x.denominator
    bits = fmt.fraction_bits + 1
    whole, rest = divmod(numerator << max(bits, 0), denominator << max(-bits, 0))
    return int(quantize(2 * whole + (rest != 0), bits + 1, fmt))


def of_floats(fmt: FloatFormat, codes: Codes, target: FixedFormat) -> list[int]:
    """Convert codes of a float format, in one row. Raises ValueError for an infinity or a NaN."""
    found: dict[int, int] = {}
    for code in codes_to_ints(codes, fmt.bits):
        if code not in found:
            value = scalar.value(fmt, code)
            if value is None:
                raise ValueError(f"fixed point has no infinities and no NaN: {fmt.name} {code:#x}")
            found[code] = of_fraction(value, target)
    return [found[code] for code in codes_to_ints(codes, fmt.bits)]


# --- the formats of exact results -------------------------------------------------------------------------------------


def sum_format(x: FixedFormat, y: FixedFormat, negated: bool = False) -> FixedFormat:
    """Return the format that holds each sum, or difference if ``negated``, as the operators of ac_fixed do."""
    fraction = max(x.fraction_bits, y.fraction_bits)
    integer = max(x.integer_bits + (y.signed and not x.signed), y.integer_bits + (x.signed and not y.signed)) + 1
    return FixedFormat(fraction + integer, integer, x.signed or y.signed or negated)


def product_format(x: FixedFormat, y: FixedFormat) -> FixedFormat:
    """Return the format that holds each product, as ac_fixed's operator does."""
    return FixedFormat(x.width + y.width, x.integer_bits + y.integer_bits, x.signed or y.signed)


def negated_format(x: FixedFormat) -> FixedFormat:
    """Return the format that holds each negated number."""
    return FixedFormat(x.width + 1, x.integer_bits + 1, True)
