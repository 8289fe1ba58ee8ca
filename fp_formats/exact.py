"""The specification of `scalar` on arrays of codes: unpack, integer operation, one `round_pack`.

Codes are unsigned arrays of the format's `storage_dtype`; formats wider than 64 bits have one more trailing axis of
uint64 limbs, least significant first. Operands may have any shape, rank 0 and zero-size included, and broadcast; they
are never written to. Significands take one 64-bit limb for precisions up to 31 bits and two above (`limbs`). ``random``
is ``(values, width)``, an array of unsigned integers below 2**width, one per element.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.codes import (
    LIMB_BITS,
    code_shape,
    codes_to_ints,
    element_shape,
    ints_to_codes,
    storage_dtype,
)
from halfulp.fp_formats.codes import Codes as Codes
from halfulp.fp_formats.formats import FORMATS, FloatFormat, NanEncoding
from halfulp.fp_formats.limbs import (
    U64,
    WORD,
    Count,
    Limbs,
    Mask,
    Wide,
    bit_length,
    equal,
    jam_right,
    narrow,
    nonzero,
    shift_left,
    shift_right,
    times_bit,
    where,
    widen,
)
from halfulp.fp_formats.limbs import divide as divide_limbs
from halfulp.fp_formats.limbs import multiply as multiply_limbs
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.scalar import DIVIDE_BY_ZERO, INEXACT, INVALID, OVERFLOW, RD, RNA, RNE, RU, RZ, UNDERFLOW

FlagArray = npt.NDArray[Any]  # of uint8
Random = tuple[Codes, int] | None
Operation = Callable[..., scalar.Result]

CHUNK = 1 << 14  # elements: the temporaries of one chunk stay in the second-level cache
ONE_LIMB_BITS = 31  # precision, and random bits, that fit one limb in every operation
TWO_LIMB_BITS = 120


class Result(NamedTuple):
    """Codes; the mask of poison elements (their codes are 0), or None; flags (bits of `policy.Flags`) if asked for."""

    codes: Codes
    poison: Mask | None = None
    flags: FlagArray | None = None


class Packed(NamedTuple):
    """A chunk of results, not yet in storage form."""

    codes: Limbs
    flags: FlagArray | None
    poison: Mask | None = None


@dataclass(slots=True)
class How:
    """What a chunk needs to know beside its operands."""

    rounding: int
    policy: FloatPolicy
    want_flags: bool
    random: U64 | None = None
    random_width: int = 0
    saturate: bool = False


# Storage.


def run(
    kernel: Callable[..., Packed],
    how: How,
    width: int,
    *operands: tuple[Codes, int],
    random: Random = None,
) -> Result:
    """Run a kernel chunk by chunk; operands are given with their widths in bits, and ``width`` is that of results."""
    shape = np.broadcast_shapes(*(element_shape(codes, bits) for codes, bits in operands))
    flat = [_flat(codes, bits, shape) for codes, bits in operands]
    noise = None if random is None else _flat(np.asarray(random[0]), LIMB_BITS, shape)
    size = len(flat[0])
    codes = np.empty(code_shape((size,), width), storage_dtype(width))
    flags = np.zeros(size, np.uint8) if how.want_flags else None
    poison: Mask | None = None
    for start in range(0, size, CHUNK):
        part = slice(start, start + CHUNK)
        if noise is not None:
            how.random = noise[part].astype(np.uint64)
        packed = kernel(how, *(operand[part] for operand in flat))
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
    return Result(
        codes.reshape(code_shape(shape, width)),
        None if poison is None else poison.reshape(shape),
        None if flags is None else flags.reshape(shape),
    )


def _flat(codes: Codes, width: int, shape: tuple[int, ...]) -> Codes:
    return np.broadcast_to(codes, code_shape(shape, width)).reshape(code_shape((-1,), width))


def lift(fmt: FloatFormat, chunk: Codes, wide: bool) -> Limbs:
    """Codes of a chunk as limbs; x87's pseudo-denormals become the normal values that they equal."""
    if fmt.limbs == 2:
        hi, lo = chunk[:, 1].copy(), chunk[:, 0].copy()
        if fmt.explicit_integer_bit:
            field = hi & np.uint64((1 << fmt.exponent_bits) - 1)
            hi |= ((field == 0) & (lo >> np.uint64(fmt.mantissa_bits) != 0)).astype(np.uint64)
        return Wide(hi, lo)
    codes = chunk.astype(np.uint64)
    return Wide(np.zeros_like(codes), codes) if wide else codes


def is_wide(how: How, *formats: FloatFormat) -> bool:
    """Whether an operation on these formats takes two limbs."""
    return max(fmt.precision for fmt in formats) + how.random_width > ONE_LIMB_BITS


def by_scalar(operation: Operation, width: int, want_flags: bool, *operands: tuple[Codes, int]) -> Result:
    """An operation of `scalar` on every element, as a Python integer; operands and ``width`` as in `run`.

    For what no array path covers: very many random bits, integers wider than 128 bits.
    """
    shape = np.broadcast_shapes(*(element_shape(codes, bits) for codes, bits in operands))
    columns = [codes_to_ints(np.broadcast_to(codes, code_shape(shape, bits)), bits) for codes, bits in operands]
    results = [operation(*row) for row in zip(*columns, strict=True)]
    poison = np.array([result.poison for result in results], np.bool_).reshape(shape)
    flags = np.array([result.flags for result in results], np.uint8).reshape(shape)
    return Result(
        ints_to_codes([result.code for result in results], width, shape),
        poison if poison.any() else None,
        flags if want_flags else None,
    )


# Decoding.


def unpack(fmt: FloatFormat, codes: Limbs) -> tuple[U64, Limbs, npt.NDArray[np.int64]]:
    """Sign, significand and exponent of finite codes; harmless nonsense for the others."""
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
    """One-limb integers in as many limbs as the example."""
    return Wide(np.zeros_like(x), x) if isinstance(example, Wide) else x


def sign_of(fmt: FloatFormat, codes: Limbs) -> U64:
    """The sign bit, 0 or 1."""
    if not fmt.signed:
        return np.zeros_like(narrow(codes))
    if fmt.bits > 64:
        return codes.hi >> np.uint64(fmt.bits - 65)  # type: ignore[no-any-return]
    return narrow(codes) >> np.uint64(fmt.bits - 1)


def magnitude_of(fmt: FloatFormat, codes: Limbs) -> Limbs:
    """Codes without their signs."""
    return codes & (fmt.code_mask >> fmt.signed)


def invalid_of(fmt: FloatFormat, codes: Limbs) -> Mask | None:
    """The invalid x87 operands."""
    if not fmt.explicit_integer_bit:
        return None
    field = narrow(shift_right(codes, fmt.precision)) & np.uint64((1 << fmt.exponent_bits) - 1)
    integer_bit = narrow(shift_right(codes, fmt.mantissa_bits)) & np.uint64(1)
    invalid: Mask = (field != 0) & (integer_bit == 0)
    return invalid


def specials_of(fmt: FloatFormat, codes: Limbs) -> Mask | None:
    """Where codes are NaN or infinite; None for a format that has neither."""
    if not fmt.infinities and fmt.nan is NanEncoding.NONE:
        return None
    special: Mask = magnitude_of(fmt, codes) > fmt.max_code
    if fmt.nan is NanEncoding.NEGATIVE_ZERO:
        special = special | equal(codes, fmt.nan_code or 0)
    invalid = invalid_of(fmt, codes)
    return special if invalid is None else special | invalid


def nans_of(fmt: FloatFormat, codes: Limbs) -> Mask | None:
    """Where codes are NaN, invalid x87 operands included; None for a format without NaN."""
    special = specials_of(fmt, codes)
    if special is None or fmt.nan is NanEncoding.NONE:
        return None
    if fmt.infinity_code is None:
        return special
    return special & ~equal(magnitude_of(fmt, codes), fmt.infinity_code)


@dataclass(slots=True)
class Operand:
    """What matters of operands that are special, or meet special ones."""

    codes: Limbs
    sign: U64
    zero: Mask
    infinite: Mask
    nan: Mask
    signalling: Mask
    invalid: Mask | None

    def at(self, index: Any) -> Operand:
        """Some of the elements."""
        invalid = None if self.invalid is None else self.invalid[index]
        return Operand(
            self.codes[index],
            self.sign[index],
            self.zero[index],
            self.infinite[index],
            self.nan[index],
            self.signalling[index],
            invalid,
        )

    def where(self, mask: Mask, other: Operand) -> Operand:
        """These elements where the mask holds, else the other's, as `operand_nan` wants them."""
        invalid = None
        if self.invalid is not None and other.invalid is not None:
            invalid = np.where(mask, self.invalid, other.invalid)
        codes = where(mask, self.codes, other.codes)
        sign = np.where(mask, self.sign, other.sign)
        return Operand(codes, sign, self.zero, self.infinite, self.nan, self.signalling, invalid)


def classify(fmt: FloatFormat, codes: Limbs) -> Operand:
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
    return Operand(codes, sign_of(fmt, codes), zero, infinite, nan, signalling, invalid)


def flushed(fmt: FloatFormat, codes: Limbs, policy: FloatPolicy) -> tuple[Limbs, Mask | None]:
    """Codes with zeros for subnormals, and which those were."""
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


def operands(fmt: FloatFormat, how: How, *chunks: Codes, wide: bool = False) -> list[Limbs]:
    """Operands as the policy sees them, in two limbs if ``wide`` or if the operation takes them."""
    lifted = [lift(fmt, chunk, wide or is_wide(how, fmt)) for chunk in chunks]
    if how.policy.flushing(fmt).operands:
        lifted = [flushed(fmt, codes, how.policy)[0] for codes in lifted]
    return lifted


# Rounding and encoding.


def round_shift(sign: U64, x: Limbs, shift: Count, how: How) -> Limbs:
    """X / 2**shift rounded to an integer: all rounding happens here, as an increment and a right shift.

    ``shift``: an integer, or an int64 array, from 1 up to one less than the width of x in bits, and at least
        `random_width`.
    """
    if how.rounding == RZ:
        return shift_right(x, shift)
    one = 1 if isinstance(shift, int) else like(x, np.ones_like(shift).view(np.uint64))
    half = 1 << (shift - 1) if isinstance(shift, int) else shift_left(one, shift - 1)
    if how.rounding == RNE:
        return shift_right(x + (half - one) + (shift_right(x, shift) & 1), shift)
    if how.rounding == RNA:
        return shift_right(x + half, shift)
    all_below = (1 << shift) - 1 if isinstance(shift, int) else shift_left(one, shift) - one
    if how.rounding in (RU, RD):
        return shift_right(x + times_bit(all_below, sign ^ np.uint64(how.rounding == RU), x), shift)
    assert how.random is not None
    threshold = shift_left(like(x, how.random), shift - how.random_width)
    return shift_right(x + (like(x, np.zeros_like(sign)) + all_below - threshold), shift)


def round_pack(fmt: FloatFormat, sign: U64, significand: Limbs, exponent: npt.NDArray[np.int64], how: How) -> Packed:
    """Codes of (-1)**sign * significand * 2**exponent, rounded once.

    ``significand`` is below 2**63 in one limb and below 2**127 in two; its lowest bit may be jammed.
    """
    if is_wide(how, fmt):
        significand = widen(significand)
    top = 126 if isinstance(significand, Wide) else 62
    policy = how.policy
    flushing = policy.flushing(fmt)
    length = bit_length(significand)
    normal = shift_left(significand, (top + 1) - length)  # the leading bit moves to `top`
    leading = exponent + (length - 1)
    zero = length == 0
    if zero.any():
        leading = np.where(zero, fmt.emin, leading)
    base, shift, rounded = leading, top - fmt.mantissa_bits, normal
    below = fmt.emin - leading
    subnormal = below > 0
    any_subnormal = bool(subnormal.any())
    if any_subnormal:
        shift = np.maximum(below, 0) + shift
        deep = shift - (top + 1)
        if (deep > 0).any():
            rounded = jam_right(normal, np.maximum(deep, 0))
            shift = np.minimum(shift, top + 1)
        base = np.maximum(leading, fmt.emin)
    kept = round_shift(sign, rounded, shift, how)
    signs_given = sign
    # A carry out of the fraction moves into the exponent field by itself, and so does a normal value's integer bit.
    magnitude = shift_left(like(kept, (base - fmt.emin).view(np.uint64)), fmt.mantissa_bits) + kept
    if not fmt.zero:
        magnitude = magnitude - constant(magnitude, 1 << fmt.mantissa_bits)
        low = zero | subnormal
        magnitude = where(low, magnitude & 0, magnitude)
        sign = sign & (~low | nonzero(kept))
    tiny = None
    if any_subnormal and (how.want_flags or flushing.results):
        tiny = subnormal
        if policy.tininess == "after" and fmt.zero:
            unbounded = round_shift(sign, normal, top - fmt.mantissa_bits, how)
            tiny = subnormal & ((below > 1) | (unbounded < 1 << fmt.precision))
    flags = None
    if how.want_flags:
        lost = (
            rounded & (1 << shift) - 1
            if isinstance(shift, int)
            else rounded ^ shift_left(shift_right(rounded, shift), shift)
        )
        inexact = nonzero(lost)
        flags = inexact.astype(np.uint8)  # INEXACT is 1
        if tiny is not None:
            if not fmt.zero:
                flags |= subnormal
                inexact = subnormal
            flags |= (tiny & inexact).astype(np.uint8) * np.uint8(UNDERFLOW)
        if not fmt.zero and policy.zero_to_zeroless == "smallest":
            flags |= zero
    codes = encode_magnitude(fmt, magnitude)
    over = magnitude > fmt.max_magnitude
    if over.any():
        beyond = next(code for code in (fmt.infinity_code, fmt.nan_code, fmt.max_code) if code is not None)
        if how.saturate or how.rounding == RZ:
            codes = where(over, constant(codes, fmt.max_code), codes)
        elif how.rounding in (RU, RD):
            away = sign == (how.rounding == RD)
            codes = where(over & away, constant(codes, beyond), where(over, constant(codes, fmt.max_code), codes))
        else:
            codes = where(over, constant(codes, beyond), codes)
        if flags is not None:
            flags[over] = OVERFLOW | INEXACT
    if tiny is not None and flushing.results and fmt.zero:
        codes = where(tiny, constant(codes, 0), codes)
        sign = sign & ~tiny if flushing.positive else sign
        if flags is not None:
            flags[tiny] = UNDERFLOW | INEXACT
    if fmt.zero and not fmt.has_negative_zero:
        sign = sign & nonzero(codes)
    packed = Packed(codes | shift_left(like(codes, sign), fmt.bits - 1), flags)
    no_value = None
    if not fmt.signed and policy.negative_to_unsigned == "nan":
        no_value = (signs_given != 0) & ~zero
    if not fmt.zero and policy.zero_to_zeroless == "nan":
        no_value = zero if no_value is None else no_value | zero
    if no_value is not None and no_value.any():
        index = np.flatnonzero(no_value)
        packed = replace(packed, index, generated_nan(fmt, codes[index], how))
    return packed


def encode_magnitude(fmt: FloatFormat, magnitude: Limbs) -> Limbs:
    """Positive codes of magnitudes."""
    if not fmt.explicit_integer_bit:
        return magnitude
    field = narrow(shift_right(magnitude, fmt.mantissa_bits))
    integer_bit = (field != 0).astype(np.uint64) << np.uint64(fmt.mantissa_bits)
    return Wide(field, magnitude.lo & np.uint64(fmt.fraction_mask) | integer_bit)


def constant(example: Limbs, value: int) -> Limbs:
    """A constant in as many limbs as the example, for `where`."""
    return widen(value) if isinstance(example, Wide) else np.array([value], np.uint64)


def filled(example: Limbs, value: int) -> Limbs:
    """That value in every element."""
    return example & 0 | value


def replace(packed: Packed, index: npt.NDArray[np.intp], part: Packed) -> Packed:
    """A chunk with the results at these indices replaced."""
    codes, flags, poison = packed
    if isinstance(codes, Wide) != isinstance(part.codes, Wide):
        part = part._replace(codes=widen(part.codes) if isinstance(codes, Wide) else narrow(part.codes))
    codes[index] = part.codes
    if flags is not None:
        flags[index] = part.flags
    if poison is None and part.poison is not None and part.poison.any():
        poison = np.zeros(narrow(codes).shape, np.bool_)
    if poison is not None:
        poison[index] = False if part.poison is None else part.poison
    return Packed(codes, flags, poison)


def marked(fmt: FloatFormat, sign: U64, example: Limbs, code: int) -> Limbs:
    """One positive code with signs, where the format has them."""
    codes = filled(example, code)
    return codes | shift_left(like(codes, sign), fmt.bits - 1) if fmt.signed else codes


def flag_array(example: Limbs, how: How, value: int) -> FlagArray | None:
    """The same flags for every element, if asked for."""
    return np.full(narrow(example).shape, value, np.uint8) if how.want_flags else None


def encode_infinity(fmt: FloatFormat, sign: U64, example: Limbs, nanless: str) -> Limbs:
    """Infinities; where the format has none, its NaNs; where it has neither, ``nanless``: max or zero."""
    code = fmt.infinity_code if fmt.infinity_code is not None else fmt.nan_code
    if code is None:
        code = fmt.max_code if nanless == "max" else 0
    return marked(fmt, sign, example, code)


def encode_zero(fmt: FloatFormat, sign: U64, example: Limbs, how: How) -> Packed:
    """Zeros, with their signs where the format has -0."""
    if fmt.zero:
        codes = marked(fmt, sign, example, 0) if fmt.has_negative_zero else filled(example, 0)
        return Packed(codes, flag_array(example, how, 0))
    if how.policy.zero_to_zeroless == "nan":
        return generated_nan(fmt, example, how)
    return Packed(filled(example, 0), flag_array(example, how, INEXACT))


def generated_nan(fmt: FloatFormat, example: Limbs, how: How) -> Packed:
    """NaNs that no operand brought, with the invalid flag."""
    signs = np.full_like(narrow(example), how.policy.nan_result in ("negative", "canonical_signed"))
    return encode_nan(fmt, signs, None, flag_array(example, how, INVALID), example, fmt, how)


def operand_nan(fmt: FloatFormat, src: FloatFormat, nan: Operand, flags: FlagArray | None, how: How) -> Packed:
    """The NaN results that NaN operands of the format ``src`` give."""
    policy = how.policy
    example, sign, payload = nan.codes, nan.sign, nan.codes & src.fraction_mask
    valid: Any = np.uint64(src.nan_has_payload)
    if nan.invalid is not None:
        valid = valid & ~nan.invalid
        payload = times_bit(payload, valid + np.zeros_like(sign), payload)
    sign = sign & valid
    if policy.nan_result == "canonical":
        sign = np.zeros_like(sign)
    elif policy.nan_result == "canonical_signed" and src.nan is NanEncoding.NEGATIVE_ZERO:
        sign = np.ones_like(sign)
    keep = src.nan_has_payload and policy.nan_result in ("payload", "negative", "canonical_bf16")
    if policy.nan_result == "canonical_bf16" and src != fmt == FORMATS["bf16"]:
        sign, keep = np.zeros_like(sign), False
    return encode_nan(fmt, sign, payload if keep else None, flags, example, src, how)


def encode_nan(
    fmt: FloatFormat,
    sign: U64,
    payload: Limbs | None,
    flags: FlagArray | None,
    example: Limbs,
    src: FloatFormat,
    how: How,
) -> Packed:
    """NaNs of these signs and fraction bits (None: the default NaN), as the format and the policy have them."""
    if fmt.nan_code is not None:
        if fmt.precision > ONE_LIMB_BITS:
            example = widen(example)
        codes = marked(fmt, sign, example, fmt.nan_code)
        if payload is not None and fmt.nan is NanEncoding.IEEE:
            payload = widen(payload) if isinstance(codes, Wide) else payload
            aligned = fmt.mantissa_bits - src.mantissa_bits
            payload = shift_left(payload, aligned) if aligned > 0 else shift_right(payload, -aligned)
            codes = codes | payload if isinstance(codes, Wide) else codes | narrow(payload)
        return Packed(codes, flags)
    if flags is not None:
        flags |= np.uint8(INVALID)
    choice = how.policy.nan_to_nanless
    if choice == "poison":
        return Packed(filled(example, 0), flags, np.ones_like(sign, np.bool_))
    if choice == "max":
        return Packed(filled(example, fmt.max_code), flags)
    return Packed(marked(fmt, sign ^ np.uint64(choice == "zero_inverted"), example, 0), flags)


def signalling_flags(how: How, *operands: Operand) -> FlagArray | None:
    """The flags that NaN operands raise."""
    if not how.want_flags:
        return None
    signalling: Mask = np.logical_or.reduce([x.signalling for x in operands])
    flags: FlagArray = signalling.astype(np.uint8) * np.uint8(INVALID)
    return flags


# Conversions.


def convert(
    src: FloatFormat,
    dst: FloatFormat,
    a: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
    exponent: npt.NDArray[np.int64] | None = None,
) -> Result:
    """See `scalar.convert`; ``exponent``: one for each element, or none."""
    cuts = scalar.cuts(dst, policy)
    if src.bits > 32 and (cuts or scalar.through_f32(dst, policy)):
        first = convert(src, FORMATS["f32"], a, RNE, policy, None, want_flags, exponent)
        return with_flags(convert(FORMATS["f32"], dst, first.codes, rounding, policy, random, want_flags), first.flags)
    ties_away = scalar.rounds_ties_away(dst, policy)
    if cuts or ties_away:
        rounding, random = (RZ if cuts else RNA), None
    smallest_is_zero = policy.zeroless_smallest_widened == "zero" and dst.zero and not src.zero
    how = _how(rounding, policy, random, want_flags, policy.conversion_overflow == "saturate")
    offsets = [] if exponent is None else [(exponent, LIMB_BITS)]
    if needs_scalar(how, dst):
        return by_scalar(
            lambda code, value, offset=0: scalar.convert(
                src, dst, code, rounding, policy, (value, how.random_width), offset
            ),
            dst.bits,
            want_flags,
            (a, src.bits),
            (np.asarray(random[0]), LIMB_BITS),  # type: ignore[index]
            *offsets,
        )

    def kernel(how: How, chunk: Codes, offset: npt.NDArray[np.int64] | None = None) -> Packed:
        codes = lift(src, chunk, is_wide(how, src, dst))
        if policy.flushing(src).operands:
            codes, _ = flushed(src, codes, policy)
        sign, significand, place = unpack(src, codes)
        if cuts:
            sign = np.zeros_like(sign)
        if offset is not None:
            place = place + offset
        if smallest_is_zero:
            significand = where(equal(codes, 0), significand & 0, significand)
        if ties_away:
            sign, place = _tiny_apart(dst, sign, significand, place)
        packed = round_pack(dst, sign, significand, place, how)
        special = specials_of(src, codes)
        if special is None or not special.any():
            return packed
        index = np.flatnonzero(special)
        x = classify(src, codes[index])
        infinities = dataclasses.replace(x, sign=np.zeros_like(x.sign)) if cuts else x
        packed = replace(packed, index, convert_infinity(dst, infinities, how))
        if x.nan.any():
            nans = np.flatnonzero(x.nan)
            x = x.at(nans)
            packed = replace(packed, index[nans], convert_nan(src, dst, x, how))
        return packed

    return run(kernel, how, dst.bits, (a, src.bits), *offsets, random=random)


def _tiny_apart(
    dst: FloatFormat, sign: U64, significand: Limbs, place: npt.NDArray[np.int64]
) -> tuple[U64, npt.NDArray[np.int64]]:
    """Signs and exponents such that rounding ties away from zero treats tiny values as `float_to_nanless` says."""
    above = (
        bit_length(significand) + place - (dst.emin - dst.mantissa_bits)
    )  # of the leading bit, 1: that of the smallest
    zero = ~nonzero(significand)
    half = (above == 0) & ~nonzero(significand & (significand - like(significand, np.ones_like(sign))))
    return sign & ((above > 0) & ~zero), place - half


def convert_infinity(dst: FloatFormat, x: Operand, how: How) -> Packed:
    """Infinities in another format."""
    if how.saturate:
        codes = marked(dst, x.sign, x.codes, dst.max_code)
        packed = Packed(codes, flag_array(codes, how, OVERFLOW | INEXACT))
    else:
        codes = encode_infinity(dst, x.sign, x.codes, how.policy.infinity_to_nanless)
        packed = Packed(codes, flag_array(codes, how, 0 if dst.infinities else OVERFLOW | INEXACT))
    negative = np.flatnonzero(x.sign)
    if dst.signed or not negative.size:
        return packed
    ones = np.ones(negative.size, np.uint64)
    exponent = np.full(negative.size, dst.emax + 1, np.int64)
    nearest = How(RNE, how.policy, how.want_flags, saturate=how.saturate)
    return replace(packed, negative, round_pack(dst, ones, ones, exponent, nearest))


def convert_nan(src: FloatFormat, dst: FloatFormat, x: Operand, how: How) -> Packed:
    """NaNs in another format."""
    if how.policy.zeroless_nan_widened == "infinity" and not src.zero and dst.infinity_code is not None:
        return Packed(filled(x.codes, dst.infinity_code), flag_array(x.codes, how, 0))
    return operand_nan(dst, src, x, signalling_flags(how, x), how)


def with_flags(result: Result, flags: FlagArray | None) -> Result:
    """A result with more flags."""
    return result if flags is None or result.flags is None else result._replace(flags=result.flags | flags)


def _how(rounding: int, policy: FloatPolicy, random: Random, want_flags: bool, saturate: bool = False) -> How:
    if rounding != scalar.STOCHASTIC:
        return How(rounding, policy, want_flags, saturate=saturate)
    if random is None:
        raise ValueError("stochastic rounding needs random bits: (values, width)")
    return How(rounding, policy, want_flags, None, random[1], saturate)


def needs_scalar(how: How, fmt: FloatFormat) -> bool:
    """Whether there are too many random bits for two limbs."""
    return fmt.precision + how.random_width > TWO_LIMB_BITS


def from_integer(
    dst: FloatFormat,
    a: Codes,
    width: int,
    signed: bool,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> Result:
    """See `scalar.from_integer`; ``a`` holds codes of integers of ``width`` bits, in two's complement if ``signed``."""
    if scalar.through_f32(dst, policy):
        f32 = FORMATS["f32"]
        once = dataclasses.replace(policy, wide_source="once", conversion_overflow="format")
        first = from_integer(f32, a, width, signed, RNE, once, None, want_flags)
        return with_flags(convert(f32, dst, first.codes, rounding, policy, random, want_flags), first.flags)
    how = _how(rounding, policy, random, want_flags, policy.conversion_overflow == "saturate")
    limbs = max(1, -(-width // 64))
    if width > 128 or needs_scalar(how, dst):
        half, whole = (1 << width >> 1, 1 << width) if signed and width else (1 << width, 0)

        def operation(code: int, value: int = 0) -> scalar.Result:
            number = code - whole if code >= half else code
            return scalar.from_integer(dst, number, rounding, policy, (value, how.random_width))

        noise = [] if random is None else [(np.asarray(random[0]), LIMB_BITS)]
        return by_scalar(operation, dst.bits, want_flags, (a, width), *noise)

    def kernel(how: How, chunk: Codes) -> Packed:
        if limbs == 2:
            number: Limbs = Wide(chunk[:, 1].copy(), chunk[:, 0].copy())
        else:
            number = chunk.astype(np.uint64)
            number = widen(number) if width > 62 else number
        sign = np.zeros_like(narrow(number))
        if signed and width:
            sign = narrow(shift_right(number, width - 1)) & np.uint64(1)
            flip = times_bit((1 << width) - 1, sign, number)
            number = ((number ^ flip) + like(number, sign)) & ((1 << width) - 1)
        exponent = np.zeros_like(sign).view(np.int64)
        if width > 126:
            exponent = np.maximum(bit_length(number) - 126, 0)
            number = jam_right(number, exponent)
        return round_pack(dst, sign, number, exponent, how)

    return run(kernel, how, dst.bits, (a, width), random=random)


def to_integer(
    src: FloatFormat,
    a: Codes,
    width: int,
    signed: bool,
    rounding: int = RZ,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> Result:
    """See `scalar.to_integer`; the codes are those of integers of ``width`` bits."""
    how = _how(rounding, policy, random, want_flags)
    if width > 64 or src.precision + how.random_width > TWO_LIMB_BITS:
        noise = [] if random is None else [(np.asarray(random[0]), LIMB_BITS)]
        return by_scalar(
            lambda code, value=0: scalar.to_integer(
                src, code, width, signed, rounding, policy, (value, how.random_width)
            ),
            width,
            want_flags,
            (a, src.bits),
            *noise,
        )

    def kernel(how: How, chunk: Codes) -> Packed:
        wide = width > 31 or is_wide(how, src)
        codes = lift(src, chunk, wide)
        if policy.flushing(src).operands:
            codes, _ = flushed(src, codes, policy)
        return to_integer_chunk(src, codes, width, signed, how)

    return run(kernel, how, width, (a, src.bits), random=random)


def to_integer_chunk(src: FloatFormat, codes: Limbs, width: int, signed: bool, how: How) -> Packed:
    """Integers of up to 64 bits (31 in one limb)."""
    sign, significand, exponent = unpack(src, codes)
    guard = how.random_width + 1  # so that a right shift is never by less than the rounding needs
    top = 126 if isinstance(codes, Wide) else 62
    left = np.maximum(exponent, 0)
    too_large = left + bit_length(significand) > top - guard
    whole = shift_left(significand, np.where(too_large, 0, left))
    shift = guard - np.minimum(exponent, 0)
    scaled = jam_right(shift_left(whole, guard), np.maximum(shift - (top + 1), 0))
    shift = np.minimum(shift, top + 1)
    whole = round_shift(sign, scaled, shift, how)
    inexact = nonzero(scaled ^ shift_left(shift_right(scaled, shift), shift))
    lowest, highest = ((1 << width >> 1), (1 << width >> 1) - 1) if signed and width else (0, (1 << width) - 1)
    mask = (1 << width) - 1
    negative = sign != 0
    out = too_large | np.where(negative, whole > lowest, whole > highest)
    number = where(negative, filled(whole, 0) - whole, whole) & mask
    special = specials_of(src, codes)
    nan = nans_of(src, codes)
    if special is not None:
        out = out | special
    flags = None
    if how.want_flags:
        flags = np.where(out, np.uint8(INVALID), inexact.astype(np.uint8))
    choice = how.policy.float_to_int
    if not out.any():
        return Packed(number, flags)
    if choice == "poison":
        return Packed(where(out, filled(number, 0), number), flags, out)
    if choice == "modular":
        # What is too large for the limbs is a significand times 2**exponent, whose low bits are left.
        large = where(negative, filled(whole, 0) - significand, significand)
        wrapped = where(too_large, shift_left(large, left), number) & mask
        return Packed(wrapped if special is None else where(special, filled(number, 0), wrapped), flags)
    saturated = where(negative, constant(number, -lowest & mask), constant(number, highest & mask))
    number = where(out, saturated, number)
    if nan is not None:
        number = where(nan, constant(number, 0 if choice == "saturate" else highest), number)
    return Packed(number, flags)


# Arithmetic.


def _binary(
    finite: Callable[..., tuple[Packed, Mask | None]],
    special: Callable[..., Packed],
    operation: Operation,
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int,
    policy: FloatPolicy,
    random: Random,
    want_flags: bool,
) -> Result:
    """Run ``finite`` on everything, then ``special`` where an operand is NaN or infinite or ``finite`` says so."""
    how = _how(rounding, policy, random, want_flags)
    if needs_scalar(how, fmt):
        return by_scalar(
            lambda x, y, value: operation(fmt, x, y, rounding, policy, (value, how.random_width)),
            fmt.bits,
            want_flags,
            (a, fmt.bits),
            (b, fmt.bits),
            (np.asarray(random[0]), LIMB_BITS),  # type: ignore[index]
        )

    def kernel(how: How, *chunks: Codes) -> Packed:
        x, y = operands(fmt, how, *chunks)
        packed, odd = finite(fmt, x, y, how)
        for codes in (x, y):
            mask = specials_of(fmt, codes)
            odd = mask if odd is None else odd if mask is None else odd | mask
        if odd is None or not odd.any():
            return packed
        index = np.flatnonzero(odd)
        p, q = classify(fmt, x[index]), classify(fmt, y[index])
        packed = replace(packed, index, special(fmt, p, q, how))
        return nans_into(packed, index, fmt, how, p, q)

    return run(kernel, how, fmt.bits, (a, fmt.bits), (b, fmt.bits), random=random)


def nans_into(packed: Packed, index: npt.NDArray[np.intp], fmt: FloatFormat, how: How, *operands: Operand) -> Packed:
    """Replace results with NaN operands by the first of those, quieted."""
    nan = np.logical_or.reduce([x.nan for x in operands])
    if not nan.any():
        return packed
    part = np.flatnonzero(nan)
    operands = tuple(x.at(part) for x in operands)
    first = functools.reduce(lambda y, x: x.where(x.nan, y), reversed(operands))
    result = operand_nan(fmt, fmt, first, signalling_flags(how, *operands), how)
    return replace(packed, index[part], result)


def choose(invalid: Mask, fmt: FloatFormat, otherwise: Packed, how: How) -> Packed:
    """Generated NaNs where the mask holds, else the given results."""
    if not invalid.any():
        return otherwise
    index = np.flatnonzero(invalid)
    return replace(otherwise, index, generated_nan(fmt, otherwise.codes[index], how))


def add(
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> Result:
    """See `scalar.add`."""
    return _binary(_sum(0), _special_sum(0), scalar.add, fmt, a, b, rounding, policy, random, want_flags)


def subtract(
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> Result:
    """See `scalar.subtract`."""
    return _binary(_sum(1), _special_sum(1), scalar.subtract, fmt, a, b, rounding, policy, random, want_flags)


def _sum(flip: int) -> Callable[..., tuple[Packed, Mask | None]]:
    def finite(fmt: FloatFormat, x: Limbs, y: Limbs, how: How) -> tuple[Packed, Mask | None]:
        swap = magnitude_of(fmt, x) < magnitude_of(fmt, y)
        large, small = where(swap, y, x), where(swap, x, y)
        x_sign, y_sign = sign_of(fmt, x), sign_of(fmt, y) ^ np.uint64(flip)
        differ = x_sign ^ y_sign
        _, significand, exponent = unpack(fmt, large)
        _, other, other_exponent = unpack(fmt, small)
        # One bit for the carry above, and two below for what is jammed: after an alignment by more than one bit the sum
        # loses at most one leading bit.
        headroom = (126 if isinstance(x, Wide) else 62) - 1 - fmt.precision
        other = jam_right(shift_left(other, headroom), exponent - other_exponent)
        minus = np.uint64(0) - differ
        other = (other ^ (Wide(minus, minus) if isinstance(x, Wide) else minus)) + like(other, differ)
        total = shift_left(significand, headroom) + other
        # Exact zeros (IEEE 754, 6.3): equal signs are kept, unequal ones give +0, in DOWNWARD -0.
        sign = np.where(swap, y_sign, x_sign)
        cancelled = (differ != 0) & ~nonzero(total)
        sign = np.where(cancelled, np.uint64(how.rounding == RD), sign)
        return round_pack(fmt, sign, total, exponent - headroom, how), None

    return finite


def _special_sum(flip: int) -> Callable[..., Packed]:
    def special(fmt: FloatFormat, x: Operand, y: Operand, how: How) -> Packed:
        y_sign = y.sign ^ np.uint64(flip)
        infinity = encode_infinity(fmt, np.where(x.infinite, x.sign, y_sign), x.codes, "max")
        return choose(
            x.infinite & y.infinite & (x.sign != y_sign), fmt, Packed(infinity, flag_array(x.codes, how, 0)), how
        )

    return special


def multiply(
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> Result:
    """See `scalar.multiply`."""

    def finite(fmt: FloatFormat, x: Limbs, y: Limbs, how: How) -> tuple[Packed, Mask | None]:
        x_sign, x_significand, x_exponent = unpack(fmt, x)
        y_sign, y_significand, y_exponent = unpack(fmt, y)
        if fmt.precision > 63:  # bits below 127 of the product are jammed, so the leading ones must not be zeros
            x_significand, x_exponent = normalised(fmt.precision, x_significand, x_exponent)
            y_significand, y_exponent = normalised(fmt.precision, y_significand, y_exponent)
        product, dropped = multiply_limbs(x_significand, y_significand, fmt.precision)
        return round_pack(fmt, x_sign ^ y_sign, product, x_exponent + y_exponent + dropped, how), None

    def special(fmt: FloatFormat, x: Operand, y: Operand, how: How) -> Packed:
        infinity = encode_infinity(fmt, x.sign ^ y.sign, x.codes, "max")
        invalid = (x.infinite & y.zero) | (x.zero & y.infinite)
        return choose(invalid, fmt, Packed(infinity, flag_array(x.codes, how, 0)), how)

    return _binary(finite, special, scalar.multiply, fmt, a, b, rounding, policy, random, want_flags)


def fma(
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    c: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> Result:
    """See `scalar.fma`; formats whose products take more than two limbs (f80, f128) go an element at a time."""
    how = _how(rounding, policy, random, want_flags)
    room = 2 * fmt.precision + 3  # of the product: a bit for the carry, and two below for what is jammed
    codes = [(code, fmt.bits) for code in (a, b, c)]
    if needs_scalar(how, fmt) or room > 126:
        noise = [] if random is None else [(np.asarray(random[0]), LIMB_BITS)]
        return by_scalar(
            lambda x, y, z, value=0: scalar.fma(fmt, x, y, z, rounding, policy, (value, how.random_width)),
            fmt.bits,
            want_flags,
            *codes,
            *noise,
        )

    def kernel(how: How, *chunks: Codes) -> Packed:
        x, y, z = operands(fmt, how, *chunks, wide=room > 62)
        x_sign, x_significand, x_exponent = unpack(fmt, x)
        y_sign, y_significand, y_exponent = unpack(fmt, y)
        product, _ = multiply_limbs(x_significand, y_significand, fmt.precision)
        packed = _sum_of_terms(fmt, how, (x_sign ^ y_sign, product, x_exponent + y_exponent), unpack(fmt, z))
        masks = [mask for mask in (specials_of(fmt, each) for each in (x, y, z)) if mask is not None]
        index = np.flatnonzero(np.logical_or.reduce(masks)) if masks else np.empty(0, np.intp)
        if not index.size:
            return packed
        p, q, r = (classify(fmt, each[index]) for each in (x, y, z))
        sign, infinite = p.sign ^ q.sign, p.infinite | q.infinite
        undefined = (p.infinite & q.zero) | (p.zero & q.infinite)
        invalid = undefined | (infinite & r.infinite & (sign != r.sign))
        infinity = encode_infinity(fmt, np.where(infinite, sign, r.sign), p.codes, "max")
        special = choose(invalid, fmt, Packed(infinity, flag_array(p.codes, how, 0)), how)
        packed = nans_into(replace(packed, index, special), index, fmt, how, p, q, r)
        if packed.flags is not None:
            packed.flags[index[undefined]] |= np.uint8(INVALID)
        return packed

    return run(kernel, how, fmt.bits, *codes, random=random)


Term = tuple[U64, Limbs, npt.NDArray[np.int64]]  # sign, significand, exponent


def _sum_of_terms(fmt: FloatFormat, how: How, x: Term, y: Term) -> Packed:
    """X + y, rounded once, of terms of at most two bits less than a significand of `round_pack` may have.

    The larger one's leading bit moves to the top. What the other one loses by the alignment is jammed; none of it is
    lost where leading bits cancel, since then the two are within one bit of each other.
    """
    top = 126 if isinstance(x[1], Wide) else 62
    aligned = []
    for _, significand, exponent in (x, y):
        length = bit_length(significand)
        place = np.where(length == 0, np.int64(-(1 << 20)), exponent + length)  # a zero is the smaller one
        aligned.append((shift_left(significand, top - length), place))
    (p, p_place), (q, q_place) = aligned
    swap = (p_place < q_place) | ((p_place == q_place) & (p < q))
    place = np.where(swap, q_place, p_place)
    other = jam_right(where(swap, p, q), place - np.where(swap, p_place, q_place))
    differ = x[0] ^ y[0]
    minus = np.uint64(0) - differ
    other = (other ^ (Wide(minus, minus) if isinstance(other, Wide) else minus)) + like(other, differ)
    total = where(swap, q, p) + other
    cancelled = (differ != 0) & ~nonzero(total)
    sign = np.where(cancelled, np.uint64(how.rounding == RD), np.where(swap, y[0], x[0]))
    return round_pack(fmt, sign, total, place - top, how)


def normalised(bits: int, significand: Limbs, exponent: npt.NDArray[np.int64]) -> tuple[Limbs, npt.NDArray[np.int64]]:
    """The same values with the leading bit at bits - 1; zeros stay."""
    missing = bits - bit_length(significand)
    if not missing.any():
        return significand, exponent
    return shift_left(significand, missing), exponent - missing


def divide(
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> Result:
    """See `scalar.divide`."""

    def finite(fmt: FloatFormat, x: Limbs, y: Limbs, how: How) -> tuple[Packed, Mask | None]:
        bits = fmt.precision + how.random_width
        x_sign, dividend, x_exponent = unpack(fmt, x)
        y_sign, divisor, y_exponent = unpack(fmt, y)
        by_zero = ~nonzero(divisor)
        any_zero = bool(by_zero.any())
        if any_zero:
            divisor = where(by_zero, constant(divisor, 1), divisor)
        dividend, x_exponent = normalised(bits, dividend, x_exponent)
        divisor, y_exponent = normalised(bits, divisor, y_exponent)
        quotient, fraction_bits = divide_limbs(dividend, divisor, bits)
        exponent = x_exponent - y_exponent - fraction_bits
        return round_pack(fmt, x_sign ^ y_sign, quotient, exponent, how), by_zero if any_zero else None

    def special(fmt: FloatFormat, x: Operand, y: Operand, how: How) -> Packed:
        sign = x.sign ^ y.sign
        packed = Packed(encode_infinity(fmt, sign, x.codes, "max"), flag_array(x.codes, how, 0))
        by_zero = y.zero & ~x.infinite
        if by_zero.any():
            index = np.flatnonzero(by_zero)
            infinity = encode_infinity(fmt, sign[index], x.codes[index], how.policy.divide_by_zero_nanless)
            packed = replace(packed, index, Packed(infinity, flag_array(infinity, how, DIVIDE_BY_ZERO)))
        vanishing = y.infinite & ~x.infinite
        if vanishing.any():
            index = np.flatnonzero(vanishing)
            packed = replace(packed, index, encode_zero(fmt, sign[index], x.codes[index], how))
        return choose((x.infinite & y.infinite) | (x.zero & y.zero), fmt, packed, how)

    return _binary(finite, special, scalar.divide, fmt, a, b, rounding, policy, random, want_flags)


def remainder(
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> Result:
    """See `scalar.remainder`."""

    def finite(fmt: FloatFormat, x: Limbs, y: Limbs, how: How) -> tuple[Packed, Mask | None]:
        sign, dividend, x_exponent = unpack(fmt, x)
        _, divisor, y_exponent = unpack(fmt, y)
        by_zero = ~nonzero(divisor)
        gap = x_exponent - y_exponent
        rest: Limbs
        if how.policy.remainder == "ieee":
            rest, flip = _nearest_remainder(fmt, dividend, divisor, gap)
            sign = sign ^ flip
        elif isinstance(x, Wide):
            rest = _wide_remainder(dividend, divisor, gap)
        else:
            rest = _remainder(fmt.precision, dividend, np.where(by_zero, np.uint64(1), divisor), gap)
        # A larger divisor exponent means that the divisor is normal, so that it is larger: the dividend is the result.
        smaller = gap < 0
        if how.policy.remainder == "fmod":
            rest = where(smaller, dividend, rest)
        exponent = np.where(smaller, x_exponent, y_exponent)
        return round_pack(fmt, sign, rest, exponent, how), by_zero

    def special(fmt: FloatFormat, x: Operand, y: Operand, how: How) -> Packed:
        # What is left beside NaN operands and invalid operations is a finite dividend and an infinite divisor.
        sign, dividend, exponent = unpack(fmt, x.codes)
        exact = How(RNE, how.policy, how.want_flags)
        return choose(x.infinite | y.zero, fmt, round_pack(fmt, sign, dividend, exponent, exact), how)

    return _binary(finite, special, scalar.remainder, fmt, a, b, rounding, policy, random, want_flags)


def _nearest_remainder(
    fmt: FloatFormat, dividend: Limbs, divisor: Limbs, gap: npt.NDArray[np.int64]
) -> tuple[Limbs, U64]:
    """The magnitude of IEEE 754's remainder of dividend * 2**gap by divisor, and where its sign is the other one.

    Where the gap is negative it is that of dividend by divisor * 2**-gap, which matters for a gap of -1 only: below,
    that is more than twice the dividend. Modulo twice the divisor, the quotient's parity shows.
    """
    divisor = shift_left(divisor, (gap == -1).astype(np.int64))
    twice = shift_left(divisor, 1)
    if isinstance(dividend, Wide):
        rest: Limbs = _wide_remainder(dividend, widen(twice), np.maximum(gap, 0))
    else:
        rest = _remainder(fmt.precision + 2, dividend, np.where(narrow(twice) == 0, np.uint64(1), narrow(twice)), gap)
    odd = ~(rest < divisor)
    rest = where(odd, rest - divisor, rest)
    doubled = shift_left(rest, 1)
    flip = (divisor < doubled) | (odd & equal(doubled, divisor))
    flip &= gap >= -1
    rest = where(flip, divisor - rest, rest)
    return where(gap < -1, dividend, rest), flip.astype(np.uint64)


def _remainder(bits: int, dividend: U64, divisor: U64, gap: npt.NDArray[np.int64]) -> U64:
    """Dividend * 2**gap modulo divisor, a number of that many bits; as much of the gap at a time as a limb has room
    for.
    """
    rest = dividend % divisor
    left = np.flatnonzero(gap > 0)
    gap = gap[left]
    while left.size:
        step = np.minimum(gap, 64 - bits)
        rest[left] = (rest[left] << step.view(np.uint64)) % divisor[left]
        gap = gap - step
        more = (gap > 0) & (rest[left] != 0)
        left, gap = left[more], gap[more]
    return rest


def _wide_remainder(dividend: Wide, divisor: Wide, gap: npt.NDArray[np.int64]) -> Wide:
    """The same on Python integers, one element at a time."""
    rows = zip(
        dividend.hi.tolist(), dividend.lo.tolist(), divisor.hi.tolist(), divisor.lo.tolist(), gap.tolist(), strict=True
    )
    rests = [
        (((x1 << 64 | x0) % y) * pow(2, n, y)) % y if (y := y1 << 64 | y0) and n >= 0 else 0
        for x1, x0, y1, y0, n in rows
    ]
    return Wide(np.array([r >> 64 for r in rests], np.uint64), np.array([r & WORD for r in rests], np.uint64))


def negate(fmt: FloatFormat, a: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False) -> Result:
    """See `scalar.negate`."""
    how = How(RNE, policy, want_flags)

    def signed(how: How, chunk: Codes) -> Packed:
        codes = Wide(chunk[:, 1], chunk[:, 0]) if fmt.limbs == 2 else chunk.astype(np.uint64)
        flipped = codes ^ (fmt.sign_mask or 0)
        if not fmt.has_negative_zero:
            flipped = where(nonzero(magnitude_of(fmt, codes)), flipped, codes)
        return Packed(flipped, flag_array(flipped, how, 0))

    def unsigned(how: How, chunk: Codes) -> Packed:
        codes = lift(fmt, chunk, is_wide(how, fmt))
        _, significand, exponent = unpack(fmt, codes)
        x = classify(fmt, codes)
        exponent = np.where(x.infinite, fmt.emax + 1, exponent)
        significand = where(x.infinite, constant(codes, 1), significand)
        packed = round_pack(fmt, np.ones_like(x.sign), significand, exponent, how)
        nans = np.flatnonzero(x.nan)
        x = x.at(nans)
        return replace(packed, nans, operand_nan(fmt, fmt, x, flag_array(x.codes, how, 0), how))

    return run(signed if fmt.signed else unsigned, how, fmt.bits, (a, fmt.bits))


def flush(fmt: FloatFormat, a: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False) -> Result:
    """See `scalar.flush`."""

    def kernel(how: How, chunk: Codes) -> Packed:
        raw = Wide(chunk[:, 1], chunk[:, 0]) if fmt.limbs == 2 else chunk.astype(np.uint64)
        codes, gone = flushed(fmt, lift(fmt, chunk, is_wide(how, fmt)), policy)
        if gone is None:
            return Packed(raw, flag_array(raw, how, 0))
        raw = widen(raw) if isinstance(codes, Wide) else raw
        return Packed(where(gone, codes, raw), flag_array(raw, how, 0))

    return run(kernel, How(RNE, policy, want_flags), fmt.bits, (a, fmt.bits))


# Comparisons.


def _less(fmt: FloatFormat, x: Limbs, y: Limbs) -> tuple[Mask, Mask]:
    """Where x < y and where x equals y, of codes that are not NaN; -0 equals +0."""
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


def compare(
    fmt: FloatFormat, predicate: int, a: Codes, b: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False
) -> Result:
    """See `scalar.compare`; the codes are 1 where the predicate holds, else 0. Only signalling NaNs raise invalid."""
    holds = scalar.PREDICATES[predicate]

    def kernel(how: How, *chunks: Codes) -> Packed:
        x, y = operands(fmt, how, *chunks)
        less, same = _less(fmt, x, y)
        relation = np.where(less, scalar.LESS, np.where(same, scalar.EQUAL, scalar.GREATER))
        for codes in (x, y):
            nan = nans_of(fmt, codes)
            if nan is not None and nan.any():
                relation = np.where(nan, scalar.UNORDERED, relation)
        flags = signalling_flags(how, classify(fmt, x), classify(fmt, y)) if want_flags else None
        return Packed(((relation & holds) != 0).astype(np.uint64), flags)

    return run(kernel, How(RNE, policy, want_flags), 1, (a, fmt.bits), (b, fmt.bits))


def _extremum(
    fmt: FloatFormat, a: Codes, b: Codes, policy: FloatPolicy, want_flags: bool, largest: bool, number: bool
) -> Result:
    """See `scalar.extremum`."""

    def selected(how: How, x: Limbs, y: Limbs, second: Mask, *chunks: Codes) -> Packed:
        """The second operand where it is no worse than the first, or is a NaN (``number``: where the first one is)."""
        p, q = classify(fmt, x), classify(fmt, y)
        second = np.where(p.nan | q.nan, p.nan if number else q.nan, second)
        raw = [Wide(chunk[:, 1], chunk[:, 0]) if fmt.limbs == 2 else chunk.astype(np.uint64) for chunk in chunks]
        return Packed(where(second, raw[1], raw[0]), signalling_flags(how, p, q))

    def number_selected(how: How, x: Limbs, y: Limbs, second: Mask, *chunks: Codes) -> Packed:
        """The second operand, unchanged, where the first is a NaN; else the better one, and the first of equals."""
        p, q = classify(fmt, x), classify(fmt, y)
        chosen, gone = where(second & ~q.nan, y, x), None
        if policy.flushing(fmt).results:
            chosen, gone = flushed(fmt, chosen, policy)
        if fmt.limbs == 2:
            raw: Limbs = Wide(chunks[1][:, 1], chunks[1][:, 0])
        else:
            raw, chosen = chunks[1].astype(np.uint64), narrow(chosen)
        flags = signalling_flags(how, p, q)
        if gone is not None and flags is not None:
            flags[gone & ~p.nan] = UNDERFLOW | INEXACT
        return Packed(where(p.nan, raw, chosen), flags)

    def kernel(how: How, *chunks: Codes) -> Packed:
        x, y = operands(fmt, how, *chunks)
        less, same = _less(fmt, x, y)
        if policy.extrema == "selected":
            return selected(how, x, y, (less if largest else ~less & ~same) | same, *chunks)
        if policy.extrema == "number_selected" and number:
            return number_selected(how, x, y, less if largest else ~less & ~same, *chunks)
        if fmt.has_negative_zero:
            less = less | (same & (sign_of(fmt, x) > sign_of(fmt, y)))
        chosen = where(less == largest, y, x)
        x_nan, y_nan = nans_of(fmt, x), nans_of(fmt, y)
        either = None if x_nan is None or y_nan is None else x_nan | y_nan
        if x_nan is not None and y_nan is not None and number:
            chosen = where(x_nan, y, where(y_nan, x, chosen))
        flags = flag_array(chosen, how, 0)
        if policy.flushing(fmt).results:
            chosen, gone = flushed(fmt, chosen, policy)
            if gone is not None and flags is not None:
                flags[gone] = UNDERFLOW | INEXACT
        packed = Packed(chosen, flags)
        if either is None or not either.any():
            return packed
        index = np.flatnonzero(either)
        p, q = classify(fmt, x[index]), classify(fmt, y[index])
        if not number:
            return nans_into(packed, index, fmt, how, p, q)
        if flags is not None:
            flags[index] |= signalling_flags(how, p, q)
        keeps = p.nan & q.nan
        quieted = policy.number_of_signalling == "quieted"
        if quieted:
            keeps = keeps | p.signalling | q.signalling
        part = np.flatnonzero(keeps)
        p, q = p.at(part), q.at(part)
        result = operand_nan(fmt, fmt, p.where(p.signalling & quieted, q), signalling_flags(how, p, q), how)
        return replace(packed, index[part], result)

    return run(kernel, How(RNE, policy, want_flags), fmt.bits, (a, fmt.bits), (b, fmt.bits))


def maximum(fmt: FloatFormat, a: Codes, b: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False) -> Result:
    """See `scalar.maximum`."""
    return _extremum(fmt, a, b, policy, want_flags, largest=True, number=False)


def minimum(fmt: FloatFormat, a: Codes, b: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False) -> Result:
    """See `scalar.minimum`."""
    return _extremum(fmt, a, b, policy, want_flags, largest=False, number=False)


def maximum_number(
    fmt: FloatFormat, a: Codes, b: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False
) -> Result:
    """See `scalar.maximum_number`."""
    return _extremum(fmt, a, b, policy, want_flags, largest=True, number=True)


def minimum_number(
    fmt: FloatFormat, a: Codes, b: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False
) -> Result:
    """See `scalar.minimum_number`."""
    return _extremum(fmt, a, b, policy, want_flags, largest=False, number=True)


# Classes of codes.


def is_nan(fmt: FloatFormat, codes: Codes) -> Mask:
    """Which codes are NaNs, invalid x87 operands included; a mask of the element shape."""
    return _classes(fmt, codes).nan.reshape(element_shape(codes, fmt.bits))


def is_infinite(fmt: FloatFormat, codes: Codes) -> Mask:
    """Which codes are infinities of either sign."""
    return _classes(fmt, codes).infinite.reshape(element_shape(codes, fmt.bits))


def is_zero(fmt: FloatFormat, codes: Codes) -> Mask:
    """Which codes are zeros of either sign."""
    return _classes(fmt, codes).zero.reshape(element_shape(codes, fmt.bits))


def _classes(fmt: FloatFormat, codes: Codes) -> Operand:
    return classify(fmt, lift(fmt, _flat(codes, fmt.bits, element_shape(codes, fmt.bits)), fmt.limbs == 2))
