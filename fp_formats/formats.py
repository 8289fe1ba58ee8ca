"""The float formats: one frozen row for each; every other property is derived from that row.

A *code* is the raw bit pattern of an element as an unsigned integer. A *magnitude* is a code without its sign bit and,
in x87's format, without its explicit integer bit. Magnitudes of finite values are in the order of the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from halfulp.fp_formats.bit_patterns import CodeFields, bits_of
from halfulp.fp_formats.codes import limb_count, storage_dtype


class NanEncoding(Enum):
    """The codes that a format uses for NaN."""

    IEEE = "IEEE"  # largest exponent, non-zero fraction; the top fraction bit is set in quiet NaNs
    ALL_ONES = "all ones"  # largest exponent and all fraction bits set, with either sign; always quiet
    NEGATIVE_ZERO = "negative zero"  # the one code that would be -0; always quiet
    NONE = "none"


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format.

    ``exponent_bits``, ``mantissa_bits``: the widths of the fields in bits. ``mantissa_bits`` counts only the fraction
    (63 for x87).
    ``bias``: a normal value is 1.fraction * 2**(exponent field - bias).
    ``signed``: False for a format without a sign bit.
    ``infinities``: True if the format has infinities. With `NanEncoding.IEEE` they have the usual code; otherwise the
    code with the largest magnitude that is not NaN.
    ``nan``: the codes that are NaN.
    ``zero``: False if exponent field 0 is an ordinary binade: the format has no zero and no subnormals (f8E8M0FNU).
    ``explicit_integer_bit``: True if the leading bit of the significand is stored, in a format of more than 64 bits
    (x87).
    ``even_code``: True if a tie between two powers of two goes to the even code, as in P3109, in a format without
    mantissa bits. Otherwise it goes to the larger magnitude, since each significand is odd (IEEE 754-2019, 4.3.1).

    Raises ValueError for a combination that is not a format.
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    signed: bool = True
    infinities: bool = True
    nan: NanEncoding = NanEncoding.IEEE
    zero: bool = True
    explicit_integer_bit: bool = False
    even_code: bool = False

    def __post_init__(self) -> None:
        ieee = self.nan is NanEncoding.IEEE
        rules = (
            (bool(self.name), "it needs a name"),
            (1 <= self.exponent_bits <= 15, "the exponent has 1 to 15 bits"),
            (0 <= self.mantissa_bits <= 112, "the mantissa has 0 to 112 bits"),
            (-65536 <= self.bias <= 65536, "the bias lies in -65536..65536"),
            (not ieee or self.infinities, "IEEE NaNs come with infinities"),
            (not ieee or self.exponent_bits >= 2, "IEEE NaNs and infinities take an exponent field of 2 bits or more"),
            (not ieee or self.mantissa_bits >= 1, "IEEE NaNs need a mantissa bit"),
            (self.nan is not NanEncoding.NEGATIVE_ZERO or (self.signed and self.zero), "NaN as -0 needs a signed zero"),
            (self.zero or not self.signed, "a format without zero is unsigned"),
            (
                not self.explicit_integer_bit or (ieee and self.zero),
                "an explicit integer bit needs IEEE NaNs and a zero",
            ),
            (not self.explicit_integer_bit or self.limbs > 1, "an explicit integer bit needs more than 64 bits"),
            (
                not self.even_code or (not self.mantissa_bits and self.zero),
                "even codes need a zero and no mantissa bit",
            ),
        )
        for holds, rule in rules:
            if not holds:
                raise ValueError(f"float format {self.name!r}: {rule}")
        if self.max_magnitude < self.min_normal_magnitude:
            raise ValueError(f"float format {self.name!r}: it has no normal value")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.name, self.exponent_bits, self.mantissa_bits, self.bias, self.nan))

    def __reduce__(self) -> tuple[Any, ...]:
        return FloatFormat, tuple(getattr(self, field.name) for field in fields(self))

    _html: ClassVar[Callable[[FloatFormat], str]] = str
    """Shows a format in notebooks. `display` puts its function here, since it needs formats itself."""

    def _repr_html_(self) -> str:
        return FloatFormat._html(self)

    def __str__(self) -> str:
        return self.name

    # Sizes.

    @cached_property
    def bits(self) -> int:
        """The width of a code in bits."""
        return self.signed + self.exponent_bits + self.explicit_integer_bit + self.mantissa_bits

    @cached_property
    def precision(self) -> int:
        """Bits of a normal significand, the leading one included."""
        return self.mantissa_bits + 1

    @cached_property
    def limbs(self) -> int:
        """Count of uint64 words in the array form of a code; above 1 they are a trailing axis, least significant
        first.
        """
        return limb_count(self.bits)

    @cached_property
    def storage_dtype(self) -> np.dtype[Any]:
        """The unsigned NumPy dtype of an array of codes."""
        return storage_dtype(self.bits)

    # Exponents of normal values.

    @cached_property
    def emin(self) -> int:
        """The exponent of the smallest normal value."""
        return int(self.zero) - self.bias

    @cached_property
    def emax(self) -> int:
        """The exponent of the largest finite value."""
        return (self.max_magnitude >> self.mantissa_bits) - self.bias

    # Magnitudes: codes without sign and explicit integer bit.

    @cached_property
    def min_normal_magnitude(self) -> int:
        """The magnitude of the smallest normal value."""
        return int(self.zero) << self.mantissa_bits

    @cached_property
    def magnitude_mask(self) -> int:
        """The exponent and fraction bits of a magnitude: the largest one, finite or not."""
        return (1 << (self.exponent_bits + self.mantissa_bits)) - 1

    @cached_property
    def fraction_mask(self) -> int:
        """The fraction bits of a magnitude."""
        return (1 << self.mantissa_bits) - 1

    @cached_property
    def max_magnitude(self) -> int:
        """The magnitude of the largest finite value."""
        if self.nan is NanEncoding.IEEE:
            return self.magnitude_mask - (1 << self.mantissa_bits)
        return self.magnitude_mask - self.infinities - (self.nan is NanEncoding.ALL_ONES)

    @cached_property
    def infinity_magnitude(self) -> int | None:
        """The magnitude of infinity; None without infinities."""
        return self.max_magnitude + 1 if self.infinities else None

    # Codes.

    @cached_property
    def sign_mask(self) -> int | None:
        """The sign bit of a code; None without a sign."""
        return 1 << (self.bits - 1) if self.signed else None

    @cached_property
    def code_mask(self) -> int:
        """All bits of a code."""
        return (1 << self.bits) - 1

    @cached_property
    def max_code(self) -> int:
        """The code of the largest finite value."""
        return self.from_magnitude(self.max_magnitude)

    @cached_property
    def min_normal_code(self) -> int:
        """The code of the smallest positive normal value."""
        return self.from_magnitude(self.min_normal_magnitude)

    # Numbers: floats, or fractions where f64 does not have them.

    @cached_property
    def max_value(self) -> float | Fraction:
        """The largest finite value."""
        return self._number(self.max_magnitude)

    @cached_property
    def min_normal_value(self) -> float | Fraction:
        """The smallest positive normal value."""
        return self._number(self.min_normal_magnitude)

    @cached_property
    def min_positive_value(self) -> float | Fraction:
        """The smallest positive value, which is subnormal in most formats."""
        return self._number(int(self.zero))

    def _number(self, magnitude: int) -> float | Fraction:
        normal = int(magnitude >= self.min_normal_magnitude)
        exponent = (magnitude >> self.mantissa_bits or int(self.zero)) - self.bias - self.mantissa_bits
        exact = Fraction(normal << self.mantissa_bits | magnitude & self.fraction_mask) * Fraction(2) ** exponent
        try:
            number = float(exact)
        except OverflowError:
            return exact
        return number if number == exact else exact

    @cached_property
    def infinity_code(self) -> int | None:
        """The code of +infinity; None without infinities."""
        return None if self.infinity_magnitude is None else self.from_magnitude(self.infinity_magnitude)

    @cached_property
    def quiet_bit(self) -> int:
        """The bit of a code that is set in quiet NaNs; 0 where every NaN is quiet."""
        return 1 << (self.mantissa_bits - 1) if self.nan is NanEncoding.IEEE else 0

    @cached_property
    def nan_code(self) -> int | None:
        """Code of the default NaN: quiet, with payload 0, and positive if NaNs have signs. None in a format without
        NaN.
        """
        match self.nan:
            case NanEncoding.IEEE:
                return self.from_magnitude(self.max_magnitude + 1) | self.quiet_bit
            case NanEncoding.ALL_ONES:
                return self.magnitude_mask
            case NanEncoding.NEGATIVE_ZERO:
                return self.sign_mask
            case NanEncoding.NONE:
                return None

    @cached_property
    def nan_has_payload(self) -> bool:
        """True if a NaN has fraction bits, and a sign if the format has one."""
        return self.nan in (NanEncoding.IEEE, NanEncoding.ALL_ONES)

    @cached_property
    def has_negative_zero(self) -> bool:
        """True if the format tells -0 from +0."""
        return self.signed and self.nan is not NanEncoding.NEGATIVE_ZERO

    def from_magnitude(self, magnitude: int) -> int:
        """Return the positive code of a magnitude, with the integer bit if the format stores one."""
        if not self.explicit_integer_bit:
            return magnitude
        field, fraction = magnitude >> self.mantissa_bits, magnitude & self.fraction_mask
        return (field << self.precision) | (int(field != 0) << self.mantissa_bits) | fraction

    def fields(self, code: int) -> CodeFields:
        """Return sign, exponent and significand of a code as `bitstring.Bits`.

        A field that the format does not have is empty. The significand is the fraction as it is stored; x87's begins
        with the explicit integer bit. Raises ValueError for a number that is not a code of the format.
        """
        whole, first = bits_of(code, self.bits), int(self.signed)
        last = first + self.exponent_bits
        return CodeFields(whole[:first], whole[first:last], whole[last:])

    # Classes of codes.

    def is_invalid(self, code: int) -> bool:
        """Tell whether a code with an explicit integer bit is an unnormal, a pseudo-infinity or a pseudo-NaN."""
        if not self.explicit_integer_bit:
            return False
        integer_bit = (code >> self.mantissa_bits) & 1
        return not integer_bit and (code >> self.precision) & ((1 << self.exponent_bits) - 1) != 0

    def is_nan(self, code: int) -> bool:
        """Tell whether a code is a NaN; invalid x87 operands count as NaNs."""
        match self.nan:
            case NanEncoding.IEEE:
                return self.is_invalid(code) or self._magnitude(code) > self.max_magnitude + 1
            case NanEncoding.ALL_ONES:
                return self._magnitude(code) == self.magnitude_mask
            case NanEncoding.NEGATIVE_ZERO:
                return code == self.sign_mask
            case NanEncoding.NONE:
                return False

    def is_signalling(self, code: int) -> bool:
        """Tell whether a code is a signalling NaN; invalid x87 operands count."""
        return self.is_nan(code) and (self.is_invalid(code) or (self.quiet_bit != 0 and not code & self.quiet_bit))

    def is_infinite(self, code: int) -> bool:
        """Tell whether a code is an infinity of either sign."""
        return self.infinities and not self.is_invalid(code) and self._magnitude(code) == self.infinity_magnitude

    def is_zero(self, code: int) -> bool:
        """Tell whether a code is a zero of either sign."""
        return self.zero and code & (self.code_mask >> self.signed) == 0 and not self.is_nan(code)

    def is_subnormal(self, code: int) -> bool:
        """Tell whether a code is a non-zero value below the smallest normal one."""
        if self.explicit_integer_bit:
            return not (code >> self.mantissa_bits) & ((1 << (self.exponent_bits + 1)) - 1) and not self.is_zero(code)
        return 0 < self._magnitude(code) < self.min_normal_magnitude

    def is_normal(self, code: int) -> bool:
        """Tell whether a code is a finite value that is neither zero nor subnormal."""
        return not (self.is_nan(code) or self.is_infinite(code) or self.is_zero(code) or self.is_subnormal(code))

    def _magnitude(self, code: int) -> int:
        if not self.explicit_integer_bit:
            return code & self.magnitude_mask
        field = (code >> self.precision) & ((1 << self.exponent_bits) - 1)
        return (field << self.mantissa_bits) | (code & self.fraction_mask)


def _rows() -> Mapping[str, FloatFormat]:
    fn, fnuz, none = NanEncoding.ALL_ONES, NanEncoding.NEGATIVE_ZERO, NanEncoding.NONE
    rows = (
        FloatFormat("f4E2M1FN", 2, 1, 1, infinities=False, nan=none),
        FloatFormat("f6E2M3FN", 2, 3, 1, infinities=False, nan=none),
        FloatFormat("f6E3M2FN", 3, 2, 3, infinities=False, nan=none),
        FloatFormat("f8E3M4", 3, 4, 3),
        FloatFormat("f8E4M3", 4, 3, 7),
        FloatFormat("f8E4M3FN", 4, 3, 7, infinities=False, nan=fn),
        FloatFormat("f8E4M3FNUZ", 4, 3, 8, infinities=False, nan=fnuz),
        FloatFormat("f8E4M3B11FNUZ", 4, 3, 11, infinities=False, nan=fnuz),
        FloatFormat("f8E5M2", 5, 2, 15),
        FloatFormat("f8E5M2FNUZ", 5, 2, 16, infinities=False, nan=fnuz),
        FloatFormat("f8E8M0FNU", 8, 0, 127, signed=False, infinities=False, nan=fn, zero=False),
        FloatFormat("bf16", 8, 7, 127),
        FloatFormat("f16", 5, 10, 15),
        FloatFormat("tf32", 8, 10, 127),
        FloatFormat("f32", 8, 23, 127),
        FloatFormat("f64", 11, 52, 1023),
        FloatFormat("f80", 15, 63, 16383, explicit_integer_bit=True),
        FloatFormat("f128", 15, 112, 16383),
    )
    return MappingProxyType({row.name: row for row in rows})


FORMATS: Mapping[str, FloatFormat] = _rows()
"""The builtin float types of MLIR 22, by their MLIR names."""

NEWER_FORMATS: Mapping[str, FloatFormat] = MappingProxyType(
    {
        row.name: row
        for row in (FloatFormat("f8E5M3FNU", 5, 3, 15, signed=False, infinities=False, nan=NanEncoding.ALL_ONES),)
    }
)
"""The builtin float types that MLIR has since LLVM 24: the scales of newer NVIDIA formats (PTX: ue5m3)."""

OTHER_FORMATS: Mapping[str, FloatFormat] = MappingProxyType(
    {row.name: row for row in (FloatFormat("f4E1M2", 1, 2, 1, infinities=False, nan=NanEncoding.NONE),)}
)
"""Formats of hardware that MLIR has no type for: f4E1M2 of Huawei's Ascend (CANN: float4_e1m2)."""

BUILTIN_FORMATS: Mapping[str, FloatFormat] = MappingProxyType({**FORMATS, **NEWER_FORMATS})
"""The formats that MLIR text names by a word."""

ALL_FORMATS: Mapping[str, FloatFormat] = MappingProxyType(
    {row.name: row for row in sorted((*BUILTIN_FORMATS.values(), *OTHER_FORMATS.values()), key=lambda row: row.bits)}
)
"""The formats that halfulp has a row for, by width."""
