"""Fixed point: numbers that are integers times a power of two, quantised and saturated as ac_fixed and SystemC do.

Sources: the Algorithmic C datatypes reference manual (ac_fixed: quantisation and overflow modes, types of results), and
IEEE 1666 (SystemC: SC_RND and so on, the same rules).

Integers are Python integers, or arrays of int64 or of Python integers (dtype object); the operators are the same.
Kernels take and give codes, as all kernels do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import conversions, core
from halfulp.fp_formats.formats import (
    LIMB_BITS,
    Codes,
    FloatFormat,
    codes_to_ints,
    element_shape,
    ints_to_codes,
    storage_dtype,
)
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics import floats
from halfulp.semantics.kernel import Kernel, Outcome, Scalar, faults_of, poison
from halfulp.semantics.profile import Profile

Integers = Any
"""A Python integer, or an array of them or of int64."""


class Quantization(NamedTuple):
    """A mode of rounding. A number is ``kept`` + rest, where ``kept`` is an integer and the rest is at least 0 and less
    than 1.

    ``tie_up``: a function of ``kept`` and of whether the number is negative. It tells whether a rest of one half rounds
    up. None if ``rest_up`` decides for every rest.
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

    @property
    def parameters(self) -> str:
        """The parameters as text, in the order of ac_fixed: ``8, 4, true, AC_TRN, AC_WRAP``."""
        return f"{self.width}, {self.integer_bits}, {str(self.signed).lower()}, {self.rounding}, {self.overflow}"

    def __str__(self) -> str:
        return f"ac_fixed<{self.parameters}>"


def rounded(units: Integers, shift: int, rounding: str) -> Integers:
    """Return units / 2**shift, rounded to integers. ``rounding``: a quantisation mode by its name."""
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
    """Return the integers brought into the range of a format by its overflow mode."""
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
    """Convert integers with ``fraction_bits`` bits after the point to integers of a format, by its modes."""
    return fitted(rounded(units, fraction_bits - fmt.fraction_bits, fmt.rounding), fmt)


INT64 = 62
"""Bits of the widest numbers that are computed in int64."""


def roomy(integers: Integers, width: int) -> Integers:
    """Return integers, or an array of them, in a type that can hold ``width`` bits: int64 if that suffices, else Python
    integers.
    """
    return integers if width <= INT64 or isinstance(integers, int) else integers.astype(object)


def converted(integers: Integers, source: FixedFormat, target: FixedFormat) -> Integers:
    """Convert integers of the format ``source`` to integers of the format ``target``, by the modes of ``target``."""
    shift = source.fraction_bits - target.fraction_bits
    widest = max(source.width + max(0, -shift), target.width, abs(shift)) + 1
    return quantize(roomy(integers, widest), source.fraction_bits, target)


def of_fraction(x: Fraction, fmt: FixedFormat) -> int:
    """Convert a rational number to an integer of a format, by the modes of the format."""
    places = fmt.fraction_bits + 2
    return int(quantize(with_sticky(x, places), places, fmt))


def with_sticky(x: Fraction, places: int) -> int:
    """Return a rational number as a multiple of 2**-places. If more bits follow, they are dropped, and the last bit is
    set. Two places more than a format has are enough to round correctly in every mode.
    """
    bits = places - 1
    whole, rest = divmod(x.numerator << max(bits, 0), x.denominator << max(-bits, 0))
    return 2 * whole + (rest != 0)


def of_floats(fmt: FloatFormat, codes: Codes, target: FixedFormat) -> Integers:
    """Convert codes of a float format to integers of ``target``; each number is rounded once. Raises ValueError for an
    infinity or a NaN.
    """
    wrong = ~is_finite(fmt, codes)
    if wrong.any():
        (code,) = codes_to_ints(codes[wrong][:1], fmt.bits)
        raise ValueError(f"fixed point has no infinities and no NaN: {fmt.name} {code:#x}")
    if fmt.bits > LIMB_BITS or fmt.precision > _SIGNIFICAND:
        return _each_of_floats(fmt, codes, target)
    sign, significand, exponents = core.unpack(fmt, codes.astype(np.uint64).reshape(-1))
    numbers = significand.view(np.int64) * (1 - 2 * sign.view(np.int64))
    found = np.zeros(len(numbers), object if target.width > INT64 else np.int64)
    for exponent in np.unique(exponents[numbers != 0]).tolist():
        rows = exponents == exponent
        # A significand is below half of the last kept bit from some shift on: further ones change nothing.
        shift = min(-exponent - target.fraction_bits, INT64 - 1)
        units = roomy(numbers[rows], max(fmt.precision - min(shift, 0), target.width) + 1)
        found[rows] = fitted(rounded(units, shift, target.rounding), target)
    return found.reshape(element_shape(codes, fmt.bits))


def is_finite(fmt: FloatFormat, codes: Codes) -> Any:
    """Return a mask of the codes that are neither infinities nor NaNs."""
    return ~(floats.is_nan(fmt, codes) | floats.is_infinite(fmt, codes))


_SIGNIFICAND = 53
"""The widest significand that `of_floats` computes with arrays."""


def _each_of_floats(fmt: FloatFormat, codes: Codes, target: FixedFormat) -> Integers:
    found = [of_fraction(Fraction(scalar.value(fmt, code) or 0), target) for code in codes_to_ints(codes, fmt.bits)]
    return np.array(found, object).reshape(element_shape(codes, fmt.bits))


# --- the formats of exact results -------------------------------------------------------------------------------------


def sum_format(x: FixedFormat, y: FixedFormat, negated: bool = False) -> FixedFormat:
    """Return the format that can hold every sum, or every difference if ``negated``: the type that ac_fixed's operators
    give.
    """
    fraction = max(x.fraction_bits, y.fraction_bits)
    integer = max(x.integer_bits + (y.signed and not x.signed), y.integer_bits + (x.signed and not y.signed)) + 1
    return FixedFormat(fraction + integer, integer, x.signed or y.signed or negated)


def product_format(x: FixedFormat, y: FixedFormat) -> FixedFormat:
    """Return the format that can hold every product: the type that ac_fixed's operator gives."""
    return FixedFormat(x.width + y.width, x.integer_bits + y.integer_bits, x.signed or y.signed)


def negated_format(x: FixedFormat) -> FixedFormat:
    """Return the format that can hold the negative of every number of a format."""
    return FixedFormat(x.width + 1, x.integer_bits + 1, True)


FORMATS_OF_RESULTS: Mapping[str, Callable[[FixedFormat, FixedFormat], FixedFormat]] = MappingProxyType(
    {"add": sum_format, "subtract": partial(sum_format, negated=True), "multiply": product_format}
)
"""The operations on two numbers, with the format of the exact result of each."""


def exact(operation: str, x: Integers, y: Integers, formats: tuple[FixedFormat, FixedFormat]) -> Integers:
    """Return the exact results of an operation, as integers of the result format that `FORMATS_OF_RESULTS` gives."""
    fmt = FORMATS_OF_RESULTS[operation](*formats)
    if operation == "multiply":
        return roomy(x, fmt.width) * roomy(y, fmt.width)
    a, b = (
        roomy(each, fmt.width) << fmt.fraction_bits - own.fraction_bits
        for each, own in zip((x, y), formats, strict=True)
    )
    return a + b if operation == "add" else a - b


# --- kernels ----------------------------------------------------------------------------------------------------------


def integers_of(fmt: FixedFormat, codes: Codes) -> Integers:
    """Return the integers of an array of codes, in two's complement if the format is signed."""
    if fmt.width <= INT64:
        half = 1 << fmt.width - 1 if fmt.signed else 0
        return (codes.astype(np.int64) ^ half) - half
    found = np.array([integer_of(fmt, code) for code in codes_to_ints(codes, fmt.width)], object)
    return found.reshape(element_shape(codes, fmt.width))


def integer_of(fmt: FixedFormat, code: int) -> int:
    """Return the integer of a code, in two's complement if the format is signed."""
    return code - (1 << fmt.width) if code > fmt.highest else code


def value(fmt: FixedFormat, code: int) -> Fraction:
    """Return the number that a code represents."""
    return integer_of(fmt, code) * fmt.unit


def code_of(fmt: FixedFormat, integer: int) -> int:
    """Return the code of an integer of a format."""
    return integer & (1 << fmt.width) - 1


def codes_of(fmt: FixedFormat, integers: Integers) -> Codes:
    """Return the codes of an array of integers of a format."""
    mask = (1 << fmt.width) - 1
    if integers.dtype != object:
        return np.asarray((integers & mask).astype(storage_dtype(fmt.width)))
    return ints_to_codes([int(each) & mask for each in integers.flat], fmt.width, integers.shape)


@lru_cache(maxsize=1024)
def arithmetic(operation: str, sources: tuple[FixedFormat, FixedFormat], target: FixedFormat) -> Kernel:
    """Return the kernel of an operation of `FORMATS_OF_RESULTS`: the exact result, converted once to the format
    ``target``.
    """
    between = FORMATS_OF_RESULTS[operation](*sources)

    def one(*codes: int) -> int:
        x, y = (integer_of(fmt, code) for fmt, code in zip(sources, codes, strict=True))
        return code_of(target, converted(exact(operation, x, y, sources), between, target))

    def array(*codes: Codes) -> Outcome:
        x, y = (integers_of(fmt, each) for fmt, each in zip(sources, codes, strict=True))
        return Outcome((codes_of(target, converted(exact(operation, x, y, sources), between, target)),))

    return Kernel(one, array)


@lru_cache(maxsize=1024)
def convert(source: FixedFormat, target: FixedFormat) -> Kernel:
    """Return the kernel of a conversion between formats."""

    def one(code: int) -> int:
        return code_of(target, converted(integer_of(source, code), source, target))

    def array(codes: Codes) -> Outcome:
        return Outcome((codes_of(target, converted(integers_of(source, codes), source, target)),))

    return Kernel(one, array)


@lru_cache(maxsize=1024)
def from_float(source: FloatFormat, target: FixedFormat, profile: Profile) -> Kernel:
    """Return the kernel of a conversion from a float format to a fixed-point format. An infinity or a NaN
    gives poison.
    """
    unknown, policy = poison("fixed point has no infinities and no NaN"), profile.conversions
    flushes = policy.flushing(source).operands

    def one(code: int) -> Scalar:
        given = scalar.operand(source, code, policy)
        if given.kind != scalar.FINITE:
            return unknown
        return code_of(target, of_fraction(scalar.number(given), target))

    def array(codes: Codes) -> Outcome:
        codes = fast.flush(source, codes, policy).codes if flushes else codes
        finite = is_finite(source, codes)
        chosen = finite.reshape(finite.shape + (1,) * (codes.ndim - finite.ndim))
        numbers = of_floats(source, np.where(chosen, codes, np.zeros_like(codes)), target)
        return Outcome((codes_of(target, numbers),), faults_of([(unknown, ~finite)]))

    return Kernel(one, array, faults=(unknown,))


@lru_cache(maxsize=1024)
def to_float(source: FixedFormat, target: FloatFormat, rounding: Rounding, profile: Profile) -> Kernel:
    """Return the kernel of a conversion from a fixed-point format to a float format, rounded once. It has exception
    flags.
    """
    policy, place = profile.conversions, -source.fraction_bits

    def array(codes: Codes, want_flags: bool = False) -> core.ArrayResult:
        return conversions.from_integer(
            target, codes, source.width, source.signed, rounding, policy, None, want_flags, place
        )

    return floats.float_kernel(
        lambda code: scalar.from_integer(target, integer_of(source, code), rounding, policy, None, place),
        array,
        (),
        target,
        0,
        raises=partial(array, want_flags=True),
    )
