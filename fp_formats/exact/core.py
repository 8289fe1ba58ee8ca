"""The base of all operations on arrays of codes: their results, their chunks, and codes taken apart."""

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
    storage_dtype,
)
from halfulp.fp_formats.limbs import U64, Limbs, Wide, equal, narrow, nonzero, shift_left, shift_right, where, widen
from halfulp.fp_formats.policy import FloatPolicy, Saturation

FlagArray = npt.NDArray[Any]  # of uint8
Random = tuple[Codes, int] | None
Operation = Callable[..., scalar.Result]

CHUNK = 1 << 14  # elements: the temporaries of one chunk stay in the second-level cache
ONE_LIMB_BITS = 31  # precision plus random bits that fit one limb in every operation
TWO_LIMB_BITS = 120


class ArrayResult(NamedTuple):
    """The codes of a result; the mask of its poison elements (code 0), or None; its `policy.Flags`, if they were
    wanted.
    """

    codes: Codes
    poison: Mask | None = None
    flags: FlagArray | None = None


class Packed(NamedTuple):
    """A chunk of results, not yet in storage form."""

    codes: Limbs
    flags: FlagArray | None
    poison: Mask | None = None


@dataclass(slots=True)
class RoundingOptions:
    """Everything that a chunk needs beside its operands. ``random``: random bits as the policy's rule takes them.
    ``saturate``: of a conversion; None in arithmetic.
    """

    rounding: int
    policy: FloatPolicy
    want_flags: bool
    random: U64 | None = None
    random_width: int = 0
    saturate: Saturation | None = None

    def saturation(self, fmt: FloatFormat) -> Saturation:
        """Return what becomes the largest finite value of a format."""
        return self.policy.arithmetic_saturation(fmt) if self.saturate is None else self.saturate


# Storage.


def run(
    kernel: Callable[..., Packed],
    options: RoundingOptions,
    width: int,
    *operands: tuple[Codes, int],
    random: Random = None,
) -> ArrayResult:
    """Run a kernel chunk by chunk. Each operand has its width in bits beside it; ``width`` is the width of the
    results.
    """
    shape = np.broadcast_shapes(*(element_shape(codes, bits) for codes, bits in operands))
    flat = [flattened(codes, bits, shape) for codes, bits in operands]
    noise = None if random is None else flattened(np.asarray(random[0]), LIMB_BITS, shape)
    size = len(flat[0])
    codes = np.empty(code_shape((size,), width), storage_dtype(width))
    flags = np.zeros(size, np.uint8) if options.want_flags else None
    poison: Mask | None = None
    for start in range(0, size, CHUNK):
        part = slice(start, start + CHUNK)
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
    """Broadcast codes of ``width`` bits to a shape of elements, as one row of elements."""
    return np.broadcast_to(codes, code_shape(shape, width)).reshape(code_shape((-1,), width))


def lift(fmt: FloatFormat, chunk: Codes, wide: bool) -> Limbs:
    """Put the codes of a chunk into limbs; x87's pseudo-denormals become the normal values that they equal."""
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


def by_scalar(operation: Operation, width: int, want_flags: bool, *operands: tuple[Codes, int]) -> ArrayResult:
    """Do an operation of `scalar` on every element, as a Python integer; operands and ``width`` as in `run`.

    This is for few elements, and for cases without an array path: very many random bits, and integers wider than 128
    bits.
    """
    shape = np.broadcast_shapes(*(element_shape(codes, bits) for codes, bits in operands))
    columns = [codes_to_ints(np.broadcast_to(codes, code_shape(shape, bits)), bits) for codes, bits in operands]
    results = [operation(*row) for row in zip(*columns, strict=True)]
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
    """Return the options of an operation. Raises ValueError for stochastic rounding without random bits."""
    if rounding != scalar.STOCHASTIC:
        return RoundingOptions(rounding, policy, want_flags, saturate=saturate)
    if random is None:
        raise ValueError("stochastic rounding needs random bits: (values, width)")
    return RoundingOptions(rounding, policy, want_flags, None, random[1], saturate)


def needs_scalar(options: RoundingOptions, fmt: FloatFormat) -> bool:
    """Tell whether there are too many random bits for two limbs."""
    return fmt.precision + options.random_width > TWO_LIMB_BITS


def with_flags(result: ArrayResult, flags: FlagArray | None) -> ArrayResult:
    """Add flags to a result."""
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
    """Put one-limb integers into as many limbs as the example has."""
    return Wide(np.zeros_like(x), x) if isinstance(example, Wide) else x


def sign_of(fmt: FloatFormat, codes: Limbs) -> U64:
    """Return the sign bits, 0 or 1."""
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
    """Codes with their classes, for operations where one operand is special."""

    codes: Limbs
    sign: U64
    zero: Mask
    infinite: Mask
    nan: Mask
    signalling: Mask
    invalid: Mask | None

    def at(self, index: Any) -> Classified:
        """Return some of the elements."""
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
        """Choose these elements where the mask holds, else the other's; only what `nans_into` reads is chosen."""
        invalid = None
        if self.invalid is not None and other.invalid is not None:
            invalid = np.where(mask, self.invalid, other.invalid)
        codes = where(mask, self.codes, other.codes)
        sign = np.where(mask, self.sign, other.sign)
        nan, signalling = np.where(mask, self.nan, other.nan), np.where(mask, self.signalling, other.signalling)
        return Classified(codes, sign, self.zero, self.infinite, nan, signalling, invalid)


def classify(fmt: FloatFormat, codes: Limbs) -> Classified:
    """Tell the classes of codes apart."""
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
    """Replace subnormals by zeros; also return the mask of those replaced."""
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
