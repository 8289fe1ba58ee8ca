"""The base of all operations on arrays of codes: integers of two limbs, results, chunks, and the parts of codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import (
    LIMB_BITS,
    Codes,
    FloatFormat,
    Mask,
    NanEncoding,
    code_shape,
    codes_to_ints,
    element_shape,
    ints_to_codes,
    slices,
    storage_dtype,
)
from halfulp.fp_formats.policy import FloatPolicy, Saturation

# --- limbs ------------------------------------------------------------------------------------------------------------
#
# Unsigned integers of one or two 64-bit limbs on arrays, with one set of functions for both.
#
# A `Limbs` is either a uint64 array or a `Wide`, a pair of them. Every function takes arrays of equal (or
# broadcastable) shape and returns new ones. Arithmetic wraps. Shift counts are Python integers or int64 arrays, not
# negative; they may exceed the width.

U64 = npt.NDArray[Any]  # of uint64; by NumPy's stubs, arithmetic with a Python integer would be signed
Count = Any  # int or int64 array
WORD = (1 << 64) - 1
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


class Wide:
    """128-bit unsigned integers: ``hi * 2**64 + lo``."""

    __slots__ = ("hi", "lo")

    def __init__(self, hi: U64, lo: U64) -> None:
        self.hi, self.lo = hi, lo

    def __getitem__(self, index: Any) -> Wide:
        return Wide(self.hi[index], self.lo[index])

    def __setitem__(self, index: Any, value: Wide) -> None:
        self.hi[index], self.lo[index] = value.hi, value.lo

    def __and__(self, other: Limbs | int) -> Wide:
        other = widen(other)
        return Wide(self.hi & other.hi, self.lo & other.lo)

    def __or__(self, other: Limbs | int) -> Wide:
        other = widen(other)
        return Wide(self.hi | other.hi, self.lo | other.lo)

    def __xor__(self, other: Limbs | int) -> Wide:
        other = widen(other)
        return Wide(self.hi ^ other.hi, self.lo ^ other.lo)

    def __add__(self, other: Limbs | int) -> Wide:
        other = widen(other)
        lo = self.lo + other.lo
        return Wide(self.hi + other.hi + (lo < other.lo), lo)

    def __sub__(self, other: Limbs | int) -> Wide:
        other = widen(other)
        return Wide(self.hi - other.hi - (self.lo < other.lo), self.lo - other.lo)

    def __gt__(self, other: Limbs | int) -> Mask:
        other = widen(other)
        result: Mask = (self.hi > other.hi) | ((self.hi == other.hi) & (self.lo > other.lo))
        return result

    def __lt__(self, other: Limbs | int) -> Mask:
        other = widen(other)
        result: Mask = (self.hi < other.hi) | ((self.hi == other.hi) & (self.lo < other.lo))
        return result


Limbs = Any  # U64 or Wide


def widen(x: Limbs | int) -> Wide:
    """Return an operand as a `Wide`. A Python integer below 2**128 becomes a `Wide` of one element."""
    if isinstance(x, Wide):
        return x
    if isinstance(x, int):
        return Wide(np.array([x >> 64], np.uint64), np.array([x & WORD], np.uint64))
    return Wide(np.zeros_like(x), x)


def narrow(x: Limbs) -> U64:
    """Return the low 64 bits of each element."""
    return x.lo if isinstance(x, Wide) else x


def nonzero(x: Limbs) -> Mask:
    """Return a mask of the elements that are not zero."""
    result: Mask = ((x.hi | x.lo) if isinstance(x, Wide) else x) != 0
    return result


def equal(x: Limbs, y: Limbs | int) -> Mask:
    """Return a mask of the elements where x equals y."""
    return ~nonzero(x ^ y) if isinstance(x, Wide) else x == y


def where(mask: Mask, x: Limbs, y: Limbs) -> Limbs:
    """Choose the elements of x that the mask selects, else those of y."""
    if isinstance(x, Wide):
        return Wide(np.where(mask, x.hi, y.hi), np.where(mask, x.lo, y.lo))
    return np.where(mask, x, y)


def times_bit(x: Limbs | int, bit: U64, like: Limbs) -> Limbs:
    """Return x where bit is 1, and 0 where bit is 0. A Python integer x gets as many limbs as ``like`` has."""
    if isinstance(like, Wide):
        x = widen(x)
        return Wide(x.hi * bit, x.lo * bit)
    return bit * x


def count(n: Count) -> Count:
    """Return a shift count in the type that NumPy's shifts of uint64 need."""
    return n if isinstance(n, int) else n.view(np.uint64)


def shift_left(x: Limbs, n: Count) -> Limbs:
    """Return x * 2**n without the bits that leave the one or two limbs."""
    if not isinstance(x, Wide):
        return x << count(n)
    if isinstance(n, int):
        if n >= 64:
            return Wide(x.lo << (n - 64), np.zeros_like(x.lo)) if n > 64 else Wide(x.lo, np.zeros_like(x.lo))
        return x if n == 0 else Wide(x.hi << n | x.lo >> (64 - n), x.lo << n)
    k = count(n)  # a shift by 64 or more gives 0, and modulo 2**64 one of n - 64 and 64 - n is such a shift
    return Wide(x.hi << k | x.lo << k - np.uint64(64) | x.lo >> np.uint64(64) - k, x.lo << k)


def shift_right(x: Limbs, n: Count) -> Limbs:
    """Return the integer part of x / 2**n."""
    if not isinstance(x, Wide):
        return x >> count(n)
    if isinstance(n, int):
        if n >= 64:
            return Wide(np.zeros_like(x.hi), x.hi >> (n - 64) if n > 64 else x.hi)
        return x if n == 0 else Wide(x.hi >> n, x.lo >> n | x.hi << (64 - n))
    k = count(n)
    return Wide(x.hi >> k, x.lo >> k | x.hi >> k - np.uint64(64) | x.hi << np.uint64(64) - k)


def jam_right(x: Limbs, n: Count) -> Limbs:
    """Return the integer part of x / 2**n, with its lowest bit set if any bit that was shifted out was 1. The result
    rounds like the exact quotient.
    """
    kept = shift_right(x, n)
    return kept | (~equal(shift_left(kept, n), x)).astype(np.uint64)


def bit_length(x: Limbs) -> npt.NDArray[np.int64]:
    """Return the position of the leading one, counted from 1; 0 for 0. A single limb must be below 2**63."""
    if isinstance(x, Wide):
        high = x.hi != 0
        halves = np.where(high, x.hi, x.lo)
        top = (halves >> np.uint64(32)) != 0  # 32 bits convert to float64 exactly
        words = np.where(top, halves >> np.uint64(32), halves & _LOW)
        lengths: npt.NDArray[np.int64] = _bit_length(words) + 32 * top + 64 * high
        return lengths
    return _bit_length(x & ~(x >> 1))  # the same leading bit with a 0 after it, so that the conversion cannot round up


def _bit_length(x: U64) -> npt.NDArray[np.int64]:
    exponents = x.view(np.int64).astype(np.float64).view(np.int64)
    exponents >>= 52
    exponents -= 1022
    return np.maximum(exponents, 0, out=exponents)


def multiply_words(x: U64, y: U64) -> Wide:
    """Return the full product of two 64-bit words."""
    x1, x0, y1, y0 = x >> _32, x & _LOW, y >> _32, y & _LOW
    low, middle, cross = x0 * y0, x1 * y0, x0 * y1
    middle += low >> _32
    cross += middle & _LOW
    return Wide(x1 * y1 + (middle >> _32) + (cross >> _32), (cross << _32) | (low & _LOW))


def multiply(x: Limbs, y: Limbs, bits: int) -> tuple[Limbs, int]:
    """Multiply two integers below 2**bits. Returns (p, n) for p * 2**n; if bits below p are lost, the lowest bit of p
    is set.

    For one limb ``bits`` is at most 31. ``p`` is below 2**127.
    """
    if not isinstance(x, Wide):
        return x * y, 0
    if bits <= 63:
        return multiply_words(x.lo, y.lo), 0
    if bits == 64:
        return jam_right(multiply_words(x.lo, y.lo), 1), 1
    low, high = multiply_words(x.lo, y.lo), multiply_words(x.hi, y.hi)
    for cross in (multiply_words(x.lo, y.hi), multiply_words(x.hi, y.lo)):
        middle = Wide(np.zeros_like(low.hi), low.hi) + Wide(np.zeros_like(cross.lo), cross.lo)
        low = Wide(middle.lo, low.lo)
        high = high + (Wide(np.zeros_like(cross.hi), cross.hi) + middle.hi)
    # The product has 2 * bits bits: keep 127 of them.
    n = 2 * bits - 127
    kept = shift_left(high, 128 - n) | shift_right(low, n)
    return kept | nonzero(shift_left(low, 128 - n)).astype(np.uint64), n


def divide(x: Limbs, y: Limbs, bits: int) -> tuple[Limbs, int]:
    """Divide integers whose leading one is bit ``bits - 1``. Returns (q, n) for q / 2**n. q has at least bits + 2 bits;
    its lowest bit is set if the quotient is not exact.
    """
    if not isinstance(x, Wide):
        n = min(63 - bits, 61)
        x = x << n
        quotient = x // y
        return quotient << 1 | (quotient * y != x), n + 1
    digits = -(-(bits + 2) // 32)
    divisor, rest = shift_left(y, 128 - bits), shift_left(x, 127 - bits)  # so that rest < divisor
    top, first, second = divisor.hi >> _32, divisor.hi & _LOW, divisor.lo
    second_high, second_low = second >> _32, second & _LOW
    quotient = Wide(np.zeros_like(rest.hi), np.zeros_like(rest.hi))
    for _ in range(digits):
        # Knuth's algorithm D with digits of 32 bits; the estimate from the leading digits is at most 2 too large.
        digit = np.minimum(rest.hi // top, _LOW)
        low = digit * second_low
        middle = digit * second_high + (low >> _32)
        product = Wide(digit * divisor.hi + (middle >> _32), (middle << _32) | (low & _LOW))
        carried = (digit * first + (middle >> _32)) >> _32
        highest = (digit * top + carried) >> _32
        shifted = Wide((rest.hi << _32) | (rest.lo >> _32), rest.lo << _32)
        overflow = (rest.hi >> _32) - highest - (shifted < product)
        rest = shifted - product
        for _ in range(2):
            negative = overflow >> np.uint64(63)
            if not negative.any():
                break
            back = times_bit(divisor, negative, divisor)
            rest = rest + back
            overflow = overflow + (rest < back) * negative
            digit = digit - negative
        quotient = Wide((quotient.hi << _32) | (quotient.lo >> _32), (quotient.lo << _32) | digit)
    n = 32 * digits - 1
    if 32 * digits > 126:
        return jam_right(quotient, 2) | nonzero(rest).astype(np.uint64), n - 2
    return shift_left(quotient, 1) | nonzero(rest).astype(np.uint64), n + 1


# --- core -------------------------------------------------------------------------------------------------------------

FlagArray = npt.NDArray[Any]  # of uint8
Random = tuple[Codes, int] | None
Operation = Callable[..., scalar.Result]

CHUNK = 1 << 14  # elements: the temporaries of one chunk stay in the second-level cache
ONE_LIMB_BITS = 31  # precision plus random bits that fit one limb in every operation
TWO_LIMB_BITS = 120


class ArrayResult(NamedTuple):
    """The result of an operation on arrays: the codes; the mask of its poison elements (their code is 0), or None; and
    its `policy.Flags`, or None if they were not wanted.
    """

    codes: Codes
    poison: Mask | None = None
    flags: FlagArray | None = None


class Packed(NamedTuple):
    """The results of one chunk: codes in limbs, which are not yet in the storage dtype, flags and poison."""

    codes: Limbs
    flags: FlagArray | None
    poison: Mask | None = None


@dataclass(slots=True)
class RoundingOptions:
    """Everything that an operation on a chunk needs in addition to its operands.

    ``random``: the random bits of each element, after the policy's rule was applied to them; ``random_width``: their
    number for each element. ``saturate``: the rule for overflow that a conversion was given; None for the policy's rule
    of arithmetic.
    """

    rounding: int
    policy: FloatPolicy
    want_flags: bool
    random: U64 | None = None
    random_width: int = 0
    saturate: Saturation | None = None

    def saturation(self, fmt: FloatFormat) -> Saturation:
        """Return the rule that says which results become the largest finite value of a format."""
        return self.policy.arithmetic_saturation(fmt) if self.saturate is None else self.saturate


# Storage.


def run(
    kernel: Callable[..., Packed],
    options: RoundingOptions,
    width: int,
    *operands: tuple[Codes, int],
    random: Random = None,
) -> ArrayResult:
    """Run a kernel on arrays, chunk by chunk, and return its results. Each operand is a pair: the codes, and their
    width in bits. ``width`` is the width of the results in bits.
    """
    shape = np.broadcast_shapes(*(element_shape(codes, bits) for codes, bits in operands))
    flat = [flattened(codes, bits, shape) for codes, bits in operands]
    noise = None if random is None else flattened(np.asarray(random[0]), LIMB_BITS, shape)
    size = len(flat[0])
    codes = np.empty(code_shape((size,), width), storage_dtype(width))
    flags = np.zeros(size, np.uint8) if options.want_flags else None
    poison: Mask | None = None
    for part in slices(size, CHUNK):
        if noise is not None:
            rule = options.policy.stochastic_rule
            options.random = rule.taken(noise[part].astype(np.uint64), options.random_width)
        packed = kernel(options, *(operand[part] for operand in flat))
        if width <= LIMB_BITS:
            codes[part] = narrow(packed.codes)
        else:
            pair = widen(packed.codes)
            codes[part, 0], codes[part, 1] = pair.lo, pair.hi
        if flags is not None and packed.flags is not None:
            flags[part] = packed.flags
        if packed.poison is not None and packed.poison.any():
            poison = np.zeros(size, np.bool_) if poison is None else poison
            poison[part] = packed.poison
    return ArrayResult(
        codes.reshape(code_shape(shape, width)),
        None if poison is None else poison.reshape(shape),
        None if flags is None else flags.reshape(shape),
    )


def flattened(codes: Codes, width: int, shape: tuple[int, ...]) -> Codes:
    """Broadcast codes of ``width`` bits to an element shape, and return them as an array of one dimension (for codes
    above 64 bits, plus the axis of limbs).
    """
    return np.broadcast_to(codes, code_shape(shape, width)).reshape(code_shape((-1,), width))


def lift(fmt: FloatFormat, chunk: Codes, wide: bool) -> Limbs:
    """Return the codes of a chunk as limbs: two limbs if ``wide``, else one. x87's pseudo-denormals become the normal
    values that they equal.
    """
    if fmt.limbs == 2:
        hi, lo = chunk[:, 1].copy(), chunk[:, 0].copy()
        if fmt.explicit_integer_bit:
            field = hi & np.uint64((1 << fmt.exponent_bits) - 1)
            hi |= ((field == 0) & (lo >> np.uint64(fmt.mantissa_bits) != 0)).astype(np.uint64)
        return Wide(hi, lo)
    codes = chunk.astype(np.uint64)
    return Wide(np.zeros_like(codes), codes) if wide else codes


def is_wide(options: RoundingOptions, *formats: FloatFormat) -> bool:
    """Tell whether an operation on these formats takes two limbs."""
    return max(fmt.precision for fmt in formats) + options.random_width > ONE_LIMB_BITS


FEW = 16
"""The elements up to which `by_scalar` is quicker than array code, whose time is the same for 1 and for 100."""


def by_scalar(
    operation: Operation, width: int, want_flags: bool, *operands: tuple[Codes, int], random: Random = None
) -> ArrayResult:
    """Compute an operation of `scalar` for every element, as a Python integer; operands and ``width`` as in `run`.

    This is for few elements, and for cases without an array path: very many random bits, and integers wider than 128
    bits. ``random``: the operation takes the random bits of each element as its last argument.
    """
    if random is not None:
        operands = (*operands, (np.asarray(random[0]), LIMB_BITS))
    shape = np.broadcast_shapes(*(element_shape(codes, bits) for codes, bits in operands))
    columns = [codes_to_ints(np.broadcast_to(codes, code_shape(shape, bits)), bits) for codes, bits in operands]
    rows = zip(*columns, strict=True)
    if random is None:
        results = [operation(*row) for row in rows]
    else:
        results = [operation(*codes, (value, random[1])) for *codes, value in rows]
    poison = np.array([result.poison for result in results], np.bool_).reshape(shape)
    flags = np.array([result.flags for result in results], np.uint8).reshape(shape)
    return ArrayResult(
        ints_to_codes([result.code for result in results], width, shape),
        poison if poison.any() else None,
        flags if want_flags else None,
    )


def rounding_options(
    rounding: int, policy: FloatPolicy, random: Random, want_flags: bool, saturate: Saturation | None = None
) -> RoundingOptions:
    """Return the options of an operation. ``saturate``: see `RoundingOptions`. Raises ValueError for stochastic
    rounding without random bits.
    """
    if rounding != scalar.STOCHASTIC:
        return RoundingOptions(rounding, policy, want_flags, saturate=saturate)
    if random is None:
        raise ValueError("stochastic rounding needs random bits: give a pair (values, width)")
    return RoundingOptions(rounding, policy, want_flags, None, random[1], saturate)


def needs_scalar(options: RoundingOptions, fmt: FloatFormat) -> bool:
    """Tell whether an operation needs `by_scalar`, because its random bits do not fit in two limbs."""
    return fmt.precision + options.random_width > TWO_LIMB_BITS


def with_flags(result: ArrayResult, flags: FlagArray | None) -> ArrayResult:
    """Return a result with these flags added to its own; return it unchanged if either has no flags."""
    return result if flags is None or result.flags is None else result._replace(flags=result.flags | flags)


# Decoding.


def unpack(fmt: FloatFormat, codes: Limbs) -> tuple[U64, Limbs, npt.NDArray[np.int64]]:
    """Return sign, significand and exponent of finite codes; other codes give numbers without a meaning."""
    sign = sign_of(fmt, codes)
    field = narrow(shift_right(codes, fmt.mantissa_bits + fmt.explicit_integer_bit))
    field = field & np.uint64((1 << fmt.exponent_bits) - 1)
    significand = codes & fmt.fraction_mask
    exponent = field.view(np.int64)
    if fmt.zero:
        normal = (field != 0).astype(np.uint64)
        significand = significand | shift_left(like(significand, normal), fmt.mantissa_bits)
        exponent = np.maximum(exponent, 1)
    else:
        significand = significand | 1 << fmt.mantissa_bits
    return sign, significand, exponent - (fmt.bias + fmt.mantissa_bits)


def like(example: Limbs, x: U64) -> Limbs:
    """Return integers of one limb with as many limbs as ``example`` has."""
    return Wide(np.zeros_like(x), x) if isinstance(example, Wide) else x


def sign_of(fmt: FloatFormat, codes: Limbs) -> U64:
    """Return the sign bit of each code, 0 or 1; 0 in an unsigned format."""
    if not fmt.signed:
        return np.zeros_like(narrow(codes))
    if fmt.bits > 64:
        return codes.hi >> np.uint64(fmt.bits - 65)  # type: ignore[no-any-return]
    return narrow(codes) >> np.uint64(fmt.bits - 1)


def magnitude_of(fmt: FloatFormat, codes: Limbs) -> Limbs:
    """Return codes without their signs."""
    return codes & (fmt.code_mask >> fmt.signed)


def invalid_of(fmt: FloatFormat, codes: Limbs) -> Mask | None:
    """Return a mask of the invalid x87 operands; None for a format without an explicit integer bit."""
    if not fmt.explicit_integer_bit:
        return None
    field = narrow(shift_right(codes, fmt.precision)) & np.uint64((1 << fmt.exponent_bits) - 1)
    integer_bit = narrow(shift_right(codes, fmt.mantissa_bits)) & np.uint64(1)
    invalid: Mask = (field != 0) & (integer_bit == 0)
    return invalid


def specials_of(fmt: FloatFormat, codes: Limbs) -> Mask | None:
    """Return a mask of NaNs and infinities; None for a format that has neither."""
    if not fmt.infinities and fmt.nan is NanEncoding.NONE:
        return None
    special: Mask = magnitude_of(fmt, codes) > fmt.max_code
    if fmt.nan is NanEncoding.NEGATIVE_ZERO:
        special = special | equal(codes, fmt.nan_code or 0)
    invalid = invalid_of(fmt, codes)
    return special if invalid is None else special | invalid


def nans_of(fmt: FloatFormat, codes: Limbs) -> Mask | None:
    """Return a mask of NaNs, invalid x87 operands included; None for a format without NaN."""
    special = specials_of(fmt, codes)
    if special is None or fmt.nan is NanEncoding.NONE:
        return None
    if fmt.infinity_code is None:
        return special
    return special & ~equal(magnitude_of(fmt, codes), fmt.infinity_code)


@dataclass(slots=True)
class Classified:
    """Codes with the masks of their classes, for operations with a special operand."""

    codes: Limbs
    sign: U64
    zero: Mask
    infinite: Mask
    nan: Mask
    signalling: Mask
    invalid: Mask | None

    def at(self, index: Any) -> Classified:
        """Return the elements at an index, with their masks."""
        invalid = None if self.invalid is None else self.invalid[index]
        return Classified(
            self.codes[index],
            self.sign[index],
            self.zero[index],
            self.infinite[index],
            self.nan[index],
            self.signalling[index],
            invalid,
        )

    def where(self, mask: Mask, other: Classified) -> Classified:
        """Return an array that has these elements where the mask is true, and those of ``other`` elsewhere. Only the
        fields that `nans_into` reads are set.
        """
        invalid = None
        if self.invalid is not None and other.invalid is not None:
            invalid = np.where(mask, self.invalid, other.invalid)
        codes = where(mask, self.codes, other.codes)
        sign = np.where(mask, self.sign, other.sign)
        nan, signalling = np.where(mask, self.nan, other.nan), np.where(mask, self.signalling, other.signalling)
        return Classified(codes, sign, self.zero, self.infinite, nan, signalling, invalid)


def classify(fmt: FloatFormat, codes: Limbs) -> Classified:
    """Return codes with their signs and with the masks of zeros, infinities and NaNs."""
    none = np.zeros(narrow(codes).shape, np.bool_)
    magnitude = magnitude_of(fmt, codes)
    nan = nans_of(fmt, codes)
    nan = none if nan is None else nan
    infinite = none if fmt.infinity_code is None else equal(magnitude, fmt.infinity_code)
    zero = equal(magnitude, 0) & ~nan if fmt.zero else none
    invalid = invalid_of(fmt, codes)
    signalling = nan & ~nonzero(codes & fmt.quiet_bit) if fmt.quiet_bit else none
    if invalid is not None:
        signalling = signalling | invalid
    return Classified(codes, sign_of(fmt, codes), zero, infinite, nan, signalling, invalid)


def less_and_equal(fmt: FloatFormat, x: Limbs, y: Limbs) -> tuple[Mask, Mask]:
    """Return masks of x < y and of x == y for codes that are not NaN; -0 equals +0."""
    x_magnitude, y_magnitude = magnitude_of(fmt, x), magnitude_of(fmt, y)
    less = x_magnitude < y_magnitude
    same = equal(x_magnitude, y_magnitude)
    if not fmt.signed:
        return less, same
    x_negative, y_negative = sign_of(fmt, x) != 0, sign_of(fmt, y) != 0
    zeros = same & ~nonzero(x_magnitude)
    alike = x_negative == y_negative
    less = np.where(alike, np.where(x_negative, ~less & ~same, less), x_negative & ~zeros)
    return less, np.where(alike, same, zeros)


def flushed(fmt: FloatFormat, codes: Limbs, policy: FloatPolicy) -> tuple[Limbs, Mask | None]:
    """Replace subnormals by zeros, whose sign the policy decides. Return the codes and the mask of the replaced
    elements; the mask is None if no element was replaced.
    """
    if not fmt.zero or not fmt.mantissa_bits:
        return codes, None
    magnitude = magnitude_of(fmt, codes)
    subnormal = (magnitude < fmt.min_normal_code) & nonzero(magnitude)
    invalid = invalid_of(fmt, codes)
    if invalid is not None:
        subnormal &= ~invalid
    if not subnormal.any():
        return codes, None
    signs = fmt.sign_mask if fmt.sign_mask and fmt.has_negative_zero and not policy.flushing(fmt).positive else 0
    return where(subnormal, codes & signs, codes), subnormal


def operands(fmt: FloatFormat, options: RoundingOptions, *chunks: Codes, wide: bool = False) -> list[Limbs]:
    """Return the operands after the policy's flushing, in two limbs if ``wide`` or if the operation takes two."""
    lifted = [lift(fmt, chunk, wide or is_wide(options, fmt)) for chunk in chunks]
    if options.policy.flushing(fmt).operands:
        lifted = [flushed(fmt, codes, options.policy)[0] for codes in lifted]
    return lifted
