"""The float formats: one frozen row for each; every other property is derived from that row.

A *code* is the raw bit pattern of an element as an unsigned integer. A *magnitude* is a code without its sign bit and,
in x87's format, without its explicit integer bit. Magnitudes of finite values are in the order of the values.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import Enum
from fractions import Fraction
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Never, TypeGuard

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from bitstring import Bits

# --- bit patterns -----------------------------------------------------------------------------------------------------
#
# Single bit patterns as `bitstring.Bits`, and back to codes. The package is loaded when it is first used.

_DIGITS = {"0b": re.compile("[01]+"), "0x": re.compile("[0-9a-f]+")}
_BASES = {"0b": 2, "0x": 16}


class CodeFields(NamedTuple):
    """The fields of a code, from the top; ``sign + exponent + significand`` is the whole code."""

    sign: Bits
    exponent: Bits
    significand: Bits


def bits_of(code: int, width: int) -> Bits:
    """Return a code of ``width`` bits as `bitstring.Bits`. Raises ValueError for a number that does not fit."""
    from bitstring import Bits  # takes a while

    if not 0 <= code < 1 << width:
        raise ValueError(f"{code} is not a code of {width} bits: those are 0 to {(1 << width) - 1:#x}")
    return Bits(uint=code, length=width) if width else Bits()


def is_bits(x: Any) -> TypeGuard[Bits]:
    """Tell whether an object is a `bitstring.Bits`."""
    bitstring = sys.modules.get("bitstring")  # such an object exists only if the package is loaded
    return bitstring is not None and isinstance(x, bitstring.Bits)


def is_bit_pattern(x: Any) -> TypeGuard[Bits | str]:
    """Tell whether an object is a bit pattern for `code_of`: a string or a `bitstring.Bits`."""
    return isinstance(x, str) or is_bits(x)


def code_of(pattern: Bits | str, width: int) -> int:
    """Return the code of a bit pattern of exactly ``width`` bits.

    ``pattern``: a `bitstring.Bits`, or a string of all binary digits after ``0b``, or of all hexadecimal digits after
    ``0x``, in which spaces and underscores may separate groups. If the width is not a multiple of four, the first
    hexadecimal digit has fewer bits. Raises ValueError.
    """
    if not isinstance(pattern, str):
        if len(pattern) != width:
            raise ValueError(f"{pattern!r} has {len(pattern)} bits, but {width} are needed")
        return int(pattern.bin or "0", 2)
    digits = re.sub("[ _]", "", pattern).lower()
    prefix, digits = digits[:2], digits[2:]
    if prefix not in _DIGITS or not _DIGITS[prefix].fullmatch(digits):
        raise ValueError(f"{pattern!r} is not a bit pattern: write all bits as 0b… or as 0x…")
    expected = width if prefix == "0b" else -(-width // 4)
    code = int(digits, _BASES[prefix])
    if len(digits) != expected or code >> width:
        kind = "binary" if prefix == "0b" else "hexadecimal"
        raise ValueError(f"{pattern!r} is not a pattern of {width} bits, which has {expected} {kind} digits")
    return code


def integers_of(bits: Any, width: int) -> Any:
    """Return nested lists and tuples with each bit pattern replaced by its code; other elements stay as they are.
    Raises ValueError for a pattern that does not have ``width`` bits.
    """
    if isinstance(bits, list | tuple):
        return [integers_of(each, width) for each in bits]
    return code_of(bits, width) if is_bit_pattern(bits) else bits


# --- codes ------------------------------------------------------------------------------------------------------------
#
# Store element codes in arrays: the dtype and the limbs that a width needs, and the way to and from Python integers.
#
# A code is the raw bit pattern of an element, unsigned. Up to 64 bits it lives in the smallest of uint8/16/32/64 that
# holds it (width 0 in uint8, always zero); wider codes have one more trailing axis of uint64 limbs, least significant
# first. Bits above the width are zero.

Codes = npt.NDArray[Any]
"""Raw bit patterns of elements: unsigned integers of `storage_dtype`, with a trailing axis of limbs above 64 bits."""
Mask = npt.NDArray[np.bool_]
"""One truth value for each element."""

LIMB_BITS = 64

_STORAGE = tuple((bits, np.dtype(f"uint{bits}")) for bits in (8, 16, 32))
_LIMB = np.dtype(np.uint64)


def storage_dtype(width: int) -> np.dtype[Any]:
    """Return the dtype of codes of ``width`` bits; above 64 bits it is the dtype of one limb."""
    for bits, dtype in _STORAGE:
        if width <= bits:
            return dtype
    return _LIMB


def limb_count(width: int) -> int:
    """Return the number of `storage_dtype` numbers in one code: 1 up to 64 bits, then one for each 64 bits or part of
    them.
    """
    return max(1, -(-width // LIMB_BITS))


def code_shape(shape: tuple[int, ...], width: int) -> tuple[int, ...]:
    """Return the shape of an array of codes of ``width`` bits for a shape of elements: above 64 bits an axis of limbs
    is appended.
    """
    return (*shape, limb_count(width)) if width > LIMB_BITS else shape


def element_shape(codes: Codes, width: int) -> tuple[int, ...]:
    """Return the element shape of an array of codes: its shape without the limb axis."""
    return codes.shape[:-1] if width > LIMB_BITS else codes.shape


def signed_integers(codes: Codes, width: int) -> npt.NDArray[np.int64]:
    """Return codes of signed integers of 0 to 64 bits, in two's complement, as int64 numbers."""
    if not width:
        return np.zeros(codes.shape, np.int64)
    spare = np.int64(LIMB_BITS - width)
    return np.asarray((codes.astype(np.uint64).view(np.int64) << spare) >> spare)


def limbs_to_ints(limbs: Codes) -> list[int]:
    """Convert an array with a trailing limb axis to Python integers, flat, in row-major order."""
    size = limbs.shape[-1] * 8
    data = np.ascontiguousarray(limbs, dtype="<u8").tobytes()
    return [int.from_bytes(data[start : start + size], "little") for start in range(0, len(data), size)]


def slices(count: int, step: int) -> Iterator[slice]:
    """Yield slices of ``step`` elements that together take the first ``count``; the last one may end beyond them."""
    return (slice(start, start + step) for start in range(0, count, step))


def codes_to_ints(codes: Codes, width: int) -> list[int]:
    """Convert an array of codes of any width to Python integers, flat, in row-major order."""
    ints: list[int] = limbs_to_ints(codes) if width > LIMB_BITS else codes.ravel().tolist()
    return ints


def double_bits(number: float) -> int:
    """Return the bit pattern of a Python float."""
    return int.from_bytes(struct.pack("<d", number), "little")


def bits_double(code: int) -> float:
    """Return the Python float with an f64 bit pattern."""
    result: float = struct.unpack("<d", code.to_bytes(8, "little"))[0]
    return result


def ints_to_codes(ints: Sequence[int], width: int, shape: tuple[int, ...]) -> Codes:
    """Make an array of codes with element shape ``shape`` from integers in row-major order, each in 0 .. 2**width -
    1.
    """
    if width <= LIMB_BITS:
        return np.array(ints, dtype=storage_dtype(width)).reshape(shape)
    size = limb_count(width) * 8
    data = b"".join([code.to_bytes(size, "little") for code in ints])
    return np.frombuffer(data, dtype="<u8").astype(_LIMB).reshape(code_shape(shape, width))


# --- formats ----------------------------------------------------------------------------------------------------------


class NanEncoding(Enum):
    """The codes that a format uses for NaN."""

    IEEE = "IEEE"  # largest exponent, non-zero fraction; the top fraction bit is set in quiet NaNs
    ALL_ONES = "all ones"  # largest exponent and all fraction bits set, with either sign; always quiet
    NEGATIVE_ZERO = "negative zero"  # the one code that would be -0; always quiet
    NONE = "none"


_ADVICE = {
    "min min_value lowest": "-fmt.max_value is the lowest value, fmt.min_positive_value the smallest positive one",
    "max": "fmt.max_value is the largest finite value",
    "tiny smallest_normal": "fmt.min_normal_value is the smallest positive normal value",
    "smallest_subnormal": "fmt.min_positive_value is the smallest positive value",
    "eps epsilon resolution": "hu.ulp(1.0, fmt) is the distance from 1 to the next value",
    "nmant fraction_bits": "fmt.mantissa_bits counts the fraction, fmt.precision also the leading bit",
    "nexp": "fmt.exponent_bits is the width of the exponent",
    "minexp": "fmt.emin is the exponent of the smallest normal value",
    "maxexp": "fmt.emax is the exponent of the largest finite value",
    "width itemsize nbits": "fmt.bits is the width of a code",
    "dtype": "fmt.storage_dtype is that of codes; np.dtype(fmt.name) is that of values, with ml_dtypes",
    "has_infinity has_inf": "fmt.infinities tells",
    "has_nan": "fmt.nan_code is None in a format without NaN",
}
_INSTEAD = {name: advice for names, advice in _ADVICE.items() for name in names.split()}
"""What to write instead of the attributes of np.finfo and of other libraries."""


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format.

    ``exponent_bits``, ``mantissa_bits``: the widths of the fields in bits. ``mantissa_bits`` counts only the fraction
    (63 for x87).
    ``bias``: a normal value is 1.fraction * 2**(exponent field - bias).
    ``signed``: False for a format without a sign bit.
    ``infinities``: True if the format has infinities. With `NanEncoding.IEEE`, their code is that of IEEE 754;
    otherwise infinity is the code with the largest magnitude that is not NaN.
    ``nan``: the codes that are NaN.
    ``zero``: False if exponent field 0 is a binade of normal values, so that the format has no zero and no subnormals
    (f8E8M0FNU).
    ``explicit_integer_bit``: True if the leading bit of the significand is stored, in a format of more than 64 bits
    (x87).
    ``even_code``: for a format without mantissa bits. True if a tie between two powers of two is rounded to the even
    code, as in P3109. False if it is rounded to the larger magnitude, since each significand is odd (IEEE 754-2019,
    4.3.1).

    Raises ValueError if no format has this combination of parameters.
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
            (bool(self.name), "the name is empty"),
            (1 <= self.exponent_bits <= 15, "the exponent must have 1 to 15 bits"),
            (0 <= self.mantissa_bits <= 112, "the mantissa must have 0 to 112 bits"),
            (-65536 <= self.bias <= 65536, "the bias must be from -65536 to 65536"),
            (not ieee or self.infinities, "a format with IEEE NaNs must have infinities"),
            (not ieee or self.exponent_bits >= 2, "IEEE NaNs and infinities need an exponent of 2 bits or more"),
            (not ieee or self.mantissa_bits >= 1, "IEEE NaNs need a mantissa bit"),
            (self.nan is not NanEncoding.NEGATIVE_ZERO or (self.signed and self.zero), "NaN as -0 needs a signed zero"),
            (self.zero or not self.signed, "a format without zero must be unsigned"),
            (
                not self.explicit_integer_bit or (ieee and self.zero),
                "an explicit integer bit needs IEEE NaNs and a zero",
            ),
            (
                not self.explicit_integer_bit or self.limbs > 1,
                "a format with an explicit integer bit must have more than 64 bits",
            ),
            (
                not self.even_code or (not self.mantissa_bits and self.zero),
                "a format with even_code must have a zero and no mantissa bits",
            ),
        )
        for holds, rule in rules:
            if not holds:
                raise ValueError(f"float format {self.name!r}: {rule}")
        if self.max_magnitude < self.min_normal_magnitude:
            raise ValueError(
                f"float format {self.name!r}: there is no normal value between its smallest and its largest code"
            )

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
        """The number of uint64 words of one code in an array. If it is above 1, the words are a trailing axis, least
        significant first.
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
        """All exponent and fraction bits set: the largest magnitude, which may be a NaN or infinity."""
        return (1 << (self.exponent_bits + self.mantissa_bits)) - 1

    @cached_property
    def fraction_mask(self) -> int:
        """All fraction bits set."""
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

    if not TYPE_CHECKING:  # type checkers know the attributes

        def __getattr__(self, name: str) -> Never:
            hint = _INSTEAD.get(name)
            message = f"'FloatFormat' object has no attribute {name!r}"
            raise AttributeError(message if hint is None else f"{message} ({hint})")

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
        """The bit of a code that is set in quiet NaNs; 0 if every NaN is quiet."""
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
        """True if the format has -0 and +0."""
        return self.signed and self.nan is not NanEncoding.NEGATIVE_ZERO

    def from_magnitude(self, magnitude: int) -> int:
        """Return the positive code of a magnitude, with the integer bit if the format stores one."""
        if not self.explicit_integer_bit:
            return magnitude
        field, fraction = magnitude >> self.mantissa_bits, magnitude & self.fraction_mask
        return (field << self.precision) | (int(field != 0) << self.mantissa_bits) | fraction

    def fields(self, code: int) -> CodeFields:
        """Return the sign, the exponent and the significand of a code, each as `bitstring.Bits`.

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
"""All built-in formats by name, in the order of their widths."""


# --- named formats ----------------------------------------------------------------------------------------------------
#
# The formats that have names beside MLIR's: those of P3109, those that users register, and those of plugins.
#
# Sources: IEEE P3109 working group, interim report on binary floating-point formats for machine learning, clauses 3.1
# (parameters), 3.2 (names) and 4.7.6 (codes).

ENTRY_POINTS = "halfulp.formats"
"""The group of entry points of plugins. Each one is a `FloatFormat`, a function that returns one, or a mapping or an
iterable of them.
"""

_P3109 = re.compile(r"binary(\d{1,2})p(\d{1,2})([su]?)([ef]?)", re.IGNORECASE | re.ASCII)
_WIDTHS = range(3, 17)
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,59}", re.ASCII)

_registered: dict[str, FloatFormat] = {}


@lru_cache(maxsize=1024)
def p3109_format(name: str) -> FloatFormat | None:
    """Return the format of P3109 with this name; None for a name of another form.

    ``name``: ``binary8p3se``: 8 bits, 3 of them precision, s for signed or u for unsigned, e for extended (with
    infinities) or f for finite; without letters signed and extended. Upper and lower case make no difference.

    Raises ValueError for parameters that P3109 excludes, and for formats that halfulp does not have: more than 16 bits,
    or an exponent of 16 bits.
    """
    match = _P3109.fullmatch(name)
    if match is None:
        return None
    width, precision = int(match[1]), int(match[2])
    signed, extended = match[3].lower() != "u", match[4].lower() != "f"
    most = width - signed
    if width not in _WIDTHS:
        raise ValueError(f"{name!r}: a format of P3109 has {_WIDTHS[0]} to {_WIDTHS[-1]} bits here, not {width}")
    if not 1 <= precision <= most:
        kind = "a signed" if signed else "an unsigned"
        raise ValueError(f"{name!r}: {kind} format of {width} bits has a precision of 1 to {most}, not {precision}")
    return FloatFormat(
        f"binary{width}p{precision}{'s' if signed else 'u'}{'e' if extended else 'f'}",
        width - precision + (not signed),
        precision - 1,
        1 << width - precision - signed,
        signed,
        extended,
        NanEncoding.NEGATIVE_ZERO if signed else NanEncoding.ALL_ONES,
        even_code=precision == 1,
    )


def register_format(type: FloatFormat) -> FloatFormat:
    """Register a format, so that Python calls, commands and MLIR text may use its name. Return the format.

        hu.register.format(hu.FloatFormat("e3m2x", 3, 2, 3))
        hu.convert(0.3, "e3m2x")

    MLIR text names it ``!halfulp.float<"e3m2x">``. Registering an equal format again changes nothing.

    Raises ValueError for a name that is not a word of up to 60 letters, digits, ``_``, ``-`` and ``.``, and for a name
    that another format or type has.
    """
    if not _NAME.fullmatch(type.name):
        raise ValueError(f"{type.name!r} cannot be registered: a name is a word of letters, digits, '_', '-' and '.'")
    known = format_named(type.name)
    if known is not None and known != type:
        raise ValueError(f"{type.name!r} already names another format; choose another name")
    if known is None:
        _registered[type.name] = type
    return type


def format_named(name: str) -> FloatFormat | None:
    """Return the format of exactly this name: of MLIR, of hardware, of P3109, registered, or of a plugin; else None.

    Raises ValueError for a name of P3109 with wrong parameters, and for a plugin that is broken.
    """
    known = ALL_FORMATS.get(name) or _registered.get(name) or p3109_format(name)
    return known or (plugin_formats().get(name) if _NAME.fullmatch(name) else None)


@lru_cache(maxsize=1)
def plugin_formats() -> Mapping[str, FloatFormat]:
    """Return the formats of the installed plugins, by name.

    Raises ValueError for a plugin that gives no formats, and for a name that has another meaning.
    """
    from importlib.metadata import entry_points

    found: dict[str, FloatFormat] = {}
    for point in entry_points(group=ENTRY_POINTS):
        for fmt in _formats_of(point):
            known = ALL_FORMATS.get(fmt.name) or p3109_format(fmt.name) or found.get(fmt.name)
            if known is not None and known != fmt:
                raise ValueError(f"plugin {point.value}: {fmt.name!r} already names another format")
            found[fmt.name] = fmt
    return found


def _formats_of(point: EntryPoint) -> Iterator[FloatFormat]:
    try:
        given = point.load()
        if callable(given):
            given = given()
    except Exception as error:
        raise ValueError(f"plugin {point.value} of {ENTRY_POINTS} cannot be loaded: {error}") from error
    several = given.values() if isinstance(given, Mapping) else given if isinstance(given, Iterable) else [given]
    for fmt in several:
        if not isinstance(fmt, FloatFormat):
            raise ValueError(f"plugin {point.value} of {ENTRY_POINTS} gives {fmt!r}, which is not a FloatFormat")
        yield fmt
