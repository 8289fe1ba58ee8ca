"""Conversions between formats, and to and from integers."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import core, encoding
from halfulp.fp_formats.exact.core import U64, ArrayResult, Classified, Limbs, Packed, Random, RoundingOptions, Wide
from halfulp.fp_formats.formats import FORMATS, LIMB_BITS, Codes, FloatFormat, limb_count, storage_dtype
from halfulp.fp_formats.policy import SPEC, FloatPolicy, Saturation
from halfulp.fp_formats.scalar import INEXACT, INVALID, OVERFLOW, RNA, RNE, RZ


def convert(
    src: FloatFormat,
    dst: FloatFormat,
    a: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
    exponent: npt.NDArray[np.int64] | None = None,
) -> ArrayResult:
    """Compute `scalar.convert` for arrays. ``exponent``: an array with one exponent for each element; None for 0."""
    cuts = scalar.cuts(dst, policy)
    if src.bits > 32 and (cuts or scalar.through_f32(dst, policy)):
        first = convert(src, FORMATS["f32"], a, RNE, policy, None, want_flags, exponent)
        return core.with_flags(
            convert(FORMATS["f32"], dst, first.codes, rounding, policy, random, want_flags), first.flags
        )
    ties_away = scalar.rounds_ties_away(dst, policy)
    if cuts or ties_away:
        rounding, random = (RZ if cuts else RNA), None
    smallest_up = scalar.rounds_smallest_up(dst, rounding, policy)
    smallest_is_zero = policy.zeroless_smallest_widened == "zero" and dst.zero and not src.zero
    options = core.rounding_options(rounding, policy, random, want_flags, policy.conversion_saturation(dst))
    offsets = [] if exponent is None else [(exponent, LIMB_BITS)]
    if core.needs_scalar(options, dst):

        def operation(code: int, *rest: Any) -> scalar.Result:
            *offset, drawn = rest
            return scalar.convert(src, dst, code, rounding, policy, drawn, *offset)

        return core.by_scalar(operation, dst.bits, want_flags, (a, src.bits), *offsets, random=random)

    def kernel(options: RoundingOptions, chunk: Codes, offset: npt.NDArray[np.int64] | None = None) -> Packed:
        codes = core.lift(src, chunk, core.is_wide(options, src, dst))
        if policy.flushing(src).operands:
            codes, _ = core.flushed(src, codes, policy)
        sign, significand, place = core.unpack(src, codes)
        if cuts:
            sign = np.zeros_like(sign)
        if offset is not None:
            place = place + offset
        if smallest_is_zero:
            significand = core.where(core.equal(codes, 0), significand & 0, significand)
        if ties_away:
            sign, place = _tiny_apart(dst, sign, significand, place)
        if smallest_up:
            significand, place = _raised(dst, significand, place)
        packed = encoding.round_pack(dst, sign, significand, place, options)
        special = core.specials_of(src, codes)
        if special is None or not special.any():
            return packed
        index = np.flatnonzero(special)
        x = core.classify(src, codes[index])
        infinities = dataclasses.replace(x, sign=np.zeros_like(x.sign)) if cuts else x
        packed = encoding.replace(packed, index, _convert_infinity(dst, infinities, options))
        if x.nan.any():
            nans = np.flatnonzero(x.nan)
            x = x.at(nans)
            packed = encoding.replace(packed, index[nans], _convert_nan(src, dst, x, options))
        return packed

    return core.run(kernel, options, dst.bits, (a, src.bits), *offsets, random=random)


def _tiny_apart(
    dst: FloatFormat, sign: U64, significand: Limbs, place: npt.NDArray[np.int64]
) -> tuple[U64, npt.NDArray[np.int64]]:
    """Change signs and exponents so that rounding ties away from zero does what ``float_to_nanless=ties_away`` says."""
    above = (
        core.bit_length(significand) + place - (dst.emin - dst.mantissa_bits)
    )  # the place of the leading bit; 1 is the place of the smallest value
    zero = ~core.nonzero(significand)
    half = (above == 0) & ~core.nonzero(significand & (significand - core.like(significand, np.ones_like(sign))))
    return sign & ((above > 0) & ~zero), place - half


def _raised(dst: FloatFormat, significand: Limbs, place: npt.NDArray[np.int64]) -> tuple[Limbs, npt.NDArray[np.int64]]:
    """Replace numbers between the two smallest values of a format without zero by a number that rounds to the
    larger.
    """
    length = core.bit_length(significand)
    one = core.like(significand, np.ones_like(place).view(np.uint64))
    fraction = significand ^ core.shift_left(one, np.maximum(length - 1, 0))
    inside = core.bit_length(fraction) + place <= dst.emin - dst.mantissa_bits
    between = (length + place - 1 == dst.emin) & core.nonzero(fraction) & inside
    raised = core.where(between, encoding.constant(significand, (4 << dst.mantissa_bits) + 3), significand)
    return raised, np.where(between, dst.emin - dst.mantissa_bits - 2, place)


def _convert_infinity(dst: FloatFormat, x: Classified, options: RoundingOptions) -> Packed:
    """Convert infinities to another format."""
    saturate = options.saturation(dst).infinities
    codes = encoding.encode_infinity(dst, x.sign, x.codes, options.policy.infinity_to_nanless, saturate)
    replaced = OVERFLOW | INEXACT if saturate or not dst.infinities else 0
    packed = Packed(codes, encoding.flag_array(codes, options, replaced))
    negative = np.flatnonzero(x.sign)
    if dst.signed or not negative.size:
        return packed
    ones = np.ones(negative.size, np.uint64)
    exponent = np.full(negative.size, dst.emax + 1, np.int64)
    nearest = RoundingOptions(RNE, options.policy, options.want_flags, saturate=Saturation(saturate, saturate))
    return encoding.replace(packed, negative, encoding.round_pack(dst, ones, ones, exponent, nearest))


def _convert_nan(src: FloatFormat, dst: FloatFormat, x: Classified, options: RoundingOptions) -> Packed:
    """Convert NaNs to another format."""
    if options.policy.zeroless_nan_widened == "infinity" and not src.zero and dst.infinity_code is not None:
        return Packed(encoding.filled(x.codes, dst.infinity_code), encoding.flag_array(x.codes, options, 0))
    chosen = encoding.chosen_nan(src, options.policy, x)
    return encoding.operand_nan(dst, src, chosen, encoding.signalling_flags(options, x), options, converts=True)


def from_integer(
    dst: FloatFormat,
    a: Codes,
    width: int,
    signed: bool,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
    place: int = 0,
) -> ArrayResult:
    """Convert integers, given as codes of ``width`` bits (in two's complement if ``signed``), to ``dst``, as
    `scalar.from_integer` does. Each integer is multiplied by 2**place first.
    """
    if scalar.through_f32(dst, policy):
        f32 = FORMATS["f32"]
        once = dataclasses.replace(policy, wide_source="once", conversion_overflow="format")
        first = from_integer(f32, a, width, signed, RNE, once, None, want_flags, place)
        return core.with_flags(convert(f32, dst, first.codes, rounding, policy, random, want_flags), first.flags)
    options = core.rounding_options(rounding, policy, random, want_flags, policy.conversion_saturation(dst))
    limbs = limb_count(width)
    if width > 128 or core.needs_scalar(options, dst):
        half, whole = (1 << width >> 1, 1 << width) if signed and width else (1 << width, 0)

        def operation(code: int, drawn: scalar.Random = None) -> scalar.Result:
            number = code - whole if code >= half else code
            return scalar.from_integer(dst, number, rounding, policy, drawn, place)

        return core.by_scalar(operation, dst.bits, want_flags, (a, width), random=random)

    def kernel(options: RoundingOptions, chunk: Codes) -> Packed:
        if limbs == 2:
            number: Limbs = Wide(chunk[:, 1].copy(), chunk[:, 0].copy())
        else:
            number = chunk.astype(np.uint64)
            number = core.widen(number) if width > 62 else number
        sign = np.zeros_like(core.narrow(number))
        if signed and width:
            sign = core.narrow(core.shift_right(number, width - 1)) & np.uint64(1)
            flip = core.times_bit((1 << width) - 1, sign, number)
            number = ((number ^ flip) + core.like(number, sign)) & ((1 << width) - 1)
        exponent = np.full(len(sign), place, np.int64)
        if width > 126:
            excess = np.maximum(core.bit_length(number) - 126, 0)
            number, exponent = core.jam_right(number, excess), exponent + excess
        return encoding.round_pack(dst, sign, number, exponent, options)

    return core.run(kernel, options, dst.bits, (a, width), random=random)


def to_integer(
    src: FloatFormat,
    a: Codes,
    width: int,
    signed: bool,
    rounding: int = RZ,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> ArrayResult:
    """Compute `scalar.to_integer` for arrays; the results are codes of integers of ``width`` bits."""
    container = scalar.integer_container(width, signed, policy)
    if container is not None:
        found = to_integer(src, a, container, True, rounding, policy, random, want_flags)
        low = found.codes & found.codes.dtype.type((1 << width) - 1)
        return found._replace(codes=low.astype(storage_dtype(width)))
    options = core.rounding_options(rounding, policy, random, want_flags)
    if width > 64 or src.precision + options.random_width > core.TWO_LIMB_BITS:
        return core.by_scalar(
            lambda code, drawn=None: scalar.to_integer(src, code, width, signed, rounding, policy, drawn),
            width,
            want_flags,
            (a, src.bits),
            random=random,
        )

    def kernel(options: RoundingOptions, chunk: Codes) -> Packed:
        wide = width > 31 or core.is_wide(options, src)
        codes = core.lift(src, chunk, wide)
        if policy.flushing(src).operands:
            codes, _ = core.flushed(src, codes, policy)
        return _to_integer_chunk(src, codes, width, signed, options)

    return core.run(kernel, options, width, (a, src.bits), random=random)


def _to_integer_chunk(src: FloatFormat, codes: Limbs, width: int, signed: bool, options: RoundingOptions) -> Packed:
    """Convert a chunk to integers of up to 64 bits (31 in one limb)."""
    sign, significand, exponent = core.unpack(src, codes)
    guard = options.random_width + 1  # so that a right shift is never smaller than the rounding needs
    top = 126 if isinstance(codes, Wide) else 62
    left = np.maximum(exponent, 0)
    too_large = left + core.bit_length(significand) > top - guard
    whole = core.shift_left(significand, np.where(too_large, 0, left))
    shift = guard - np.minimum(exponent, 0)
    scaled = core.jam_right(core.shift_left(whole, guard), np.maximum(shift - (top + 1), 0))
    shift = np.minimum(shift, top + 1)
    whole = encoding.round_shift(sign, scaled, shift, options)
    inexact = core.nonzero(scaled ^ core.shift_left(core.shift_right(scaled, shift), shift))
    lowest, highest = ((1 << width >> 1), (1 << width >> 1) - 1) if signed and width else (0, (1 << width) - 1)
    mask = (1 << width) - 1
    negative = sign != 0
    out = too_large | np.where(negative, whole > lowest, whole > highest)
    number = core.where(negative, encoding.filled(whole, 0) - whole, whole) & mask
    special = core.specials_of(src, codes)
    nan = core.nans_of(src, codes)
    if special is not None:
        out = out | special
    flags = None
    if options.want_flags:
        flags = np.where(out, np.uint8(INVALID), inexact.astype(np.uint8))
    choice = options.policy.float_to_int
    if not out.any():
        return Packed(number, flags)
    if choice == "poison":
        return Packed(core.where(out, encoding.filled(number, 0), number), flags, out)
    if choice == "modular":
        # A number too large for the limbs is a significand times 2**exponent; its low bits are the result.
        large = core.where(negative, encoding.filled(whole, 0) - significand, significand)
        wrapped = core.where(too_large, core.shift_left(large, left), number) & mask
        return Packed(wrapped if special is None else core.where(special, encoding.filled(number, 0), wrapped), flags)
    saturated = core.where(
        negative, encoding.constant(number, -lowest & mask), encoding.constant(number, highest & mask)
    )
    if choice in ("indefinite", "indefinite_wrapped"):
        return Packed(core.where(out, encoding.constant(number, (lowest if signed else highest) & mask), number), flags)
    number = core.where(out, saturated, number)
    if nan is not None:
        number = core.where(
            nan, encoding.constant(number, scalar.saturated_nan(src, width, signed, options.policy)), number
        )
    return Packed(number, flags)


def to_integral(
    fmt: FloatFormat, a: Codes, rounding: int = RNE, policy: FloatPolicy = SPEC, want_flags: bool = False
) -> ArrayResult:
    """Compute `scalar.to_integral` for arrays."""
    to_integers = RoundingOptions(rounding, policy, want_flags)

    def kernel(options: RoundingOptions, chunk: Codes) -> Packed:
        codes = core.lift(fmt, chunk, core.is_wide(options, fmt))
        if policy.flushing(fmt).operands:
            codes, _ = core.flushed(fmt, codes, policy)
        sign, significand, exponent = core.unpack(fmt, codes)
        # One bit to spare: a shift is never 0. Beyond the precision, every shift leaves less than one half.
        shift = np.clip(-exponent, 0, fmt.precision + 1) + 1
        whole = encoding.round_shift(sign, core.shift_left(significand, 1), shift, to_integers)
        packed = encoding.round_pack(fmt, sign, whole, np.maximum(exponent, 0), options)
        special = core.specials_of(fmt, codes)
        if special is None or not special.any():
            return packed
        index = np.flatnonzero(special)
        x = core.classify(fmt, codes[index])
        infinity = encoding.encode_infinity(fmt, x.sign, x.codes, "max")
        packed = encoding.replace(packed, index, Packed(infinity, encoding.flag_array(infinity, options, 0)))
        return encoding.nans_into(packed, index, fmt, options, x)

    return core.run(kernel, RoundingOptions(RNE, policy, want_flags), fmt.bits, (a, fmt.bits))
