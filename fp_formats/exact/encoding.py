"""Round exact values to a format and encode them."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact.core import (
    ONE_LIMB_BITS,
    U64,
    ArrayResult,
    Classified,
    Count,
    FlagArray,
    Limbs,
    Packed,
    Random,
    RoundingOptions,
    Wide,
    bit_length,
    classify,
    equal,
    is_wide,
    jam_right,
    lift,
    like,
    magnitude_of,
    narrow,
    nonzero,
    rounding_options,
    run,
    shift_left,
    shift_right,
    sign_of,
    times_bit,
    unpack,
    where,
    widen,
)
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask, NanEncoding
from halfulp.fp_formats.policy import SPEC, FloatPolicy


def round_shift(sign: U64, x: Limbs, shift: Count, options: RoundingOptions, odd: U64 | None = None) -> Limbs:
    """Round x / 2**shift to an integer. All rounding happens here, as increments and right shifts.

    ``odd``: 1 for elements whose even integer means an odd code; None without such codes (see `scalar.code_parity`).
    ``shift``: an integer, or an int64 array, from 1 up to one less than the width of x in bits, and more than
        `random_width`; by two or more, if the lowest bit of x is jammed.
    """
    if options.rounding != scalar.STOCHASTIC:
        return _round_shift(sign, x, shift, options.rounding, odd)
    assert options.random is not None
    fraction, width = options.policy.stochastic_rule.fraction, options.random_width
    scaled = _round_shift(np.zeros_like(sign), x, shift - width, fraction, None)
    return shift_right(scaled + like(x, options.random), width)


def _round_shift(sign: U64, x: Limbs, shift: Count, rounding: int, odd: U64 | None) -> Limbs:
    """Do `round_shift` in a mode without random bits."""
    if rounding == scalar.RZ:
        return shift_right(x, shift)
    one = 1 if isinstance(shift, int) else like(x, np.ones_like(shift).view(np.uint64))
    half = 1 << (shift - 1) if isinstance(shift, int) else shift_left(one, shift - 1)
    if rounding == scalar.RNE:
        return shift_right(x + (half - one) + _parity(shift_right(x, shift), odd), shift)
    if rounding == scalar.RNA:
        return shift_right(x + half, shift)
    all_below = (1 << shift) - 1 if isinstance(shift, int) else shift_left(one, shift) - one
    if rounding == scalar.TO_ODD:
        even = 1 - narrow(_parity(shift_right(x, shift), odd))
        return shift_right(x + times_bit(all_below, even, x), shift)
    assert rounding in (scalar.RU, scalar.RD)
    return shift_right(x + times_bit(all_below, sign ^ np.uint64(rounding == scalar.RU), x), shift)


def _parity(kept: Limbs, odd: U64 | None) -> Limbs:
    """Return the last bits of the codes that rounded integers get. ``odd``: see `round_shift`."""
    last = kept & 1
    return last if odd is None else like(last, narrow(last) ^ odd)


def _code_parity(fmt: FloatFormat, lowest: npt.NDArray[np.int64]) -> U64 | None:
    """Return `scalar.code_parity` of arrays; None if it is 0."""
    return (lowest - fmt.emin & 1).astype(np.uint64) if fmt.even_code else None


def round_pack(
    fmt: FloatFormat, sign: U64, significand: Limbs, exponent: npt.NDArray[np.int64], options: RoundingOptions
) -> Packed:
    """Round (-1)**sign * significand * 2**exponent once and return its codes.

    ``significand`` is below 2**63 in one limb and below 2**127 in two; its lowest bit may be jammed.
    """
    if is_wide(options, fmt):
        significand = widen(significand)
    top = 126 if isinstance(significand, Wide) else 62
    policy = options.policy
    flushing = policy.flushing(fmt)
    if policy.negative_to_unsigned == "absolute" and not fmt.signed:
        sign = np.zeros_like(sign)
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
    kept = round_shift(sign, rounded, shift, options, _code_parity(fmt, base))
    signs_given = sign
    # A carry out of the fraction moves into the exponent field by itself, and so does a normal value's integer bit.
    magnitude = shift_left(like(kept, (base - fmt.emin).view(np.uint64)), fmt.mantissa_bits) + kept
    if not fmt.zero:
        magnitude = magnitude - constant(magnitude, 1 << fmt.mantissa_bits)
        low = zero | subnormal
        magnitude = where(low, magnitude & 0, magnitude)
        sign = sign & (~low | nonzero(kept))
    tiny = None
    if any_subnormal and (options.want_flags or flushing.results):
        tiny = subnormal
        if policy.tininess == "after" and fmt.zero:
            unbounded = round_shift(sign, normal, top - fmt.mantissa_bits, options, _code_parity(fmt, leading))
            tiny = subnormal & ((below > 1) | (unbounded < 1 << fmt.precision))
    flags = None
    if options.want_flags:
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
            flags |= (tiny & inexact).astype(np.uint8) * np.uint8(scalar.UNDERFLOW)
        if not fmt.zero and policy.zero_to_zeroless == "smallest":
            flags |= zero
    codes = encode_magnitude(fmt, magnitude)
    over = magnitude > fmt.max_magnitude
    if over.any():
        beyond = next(code for code in (fmt.infinity_code, fmt.nan_code, fmt.max_code) if code is not None)
        stays = options.rounding == scalar.TO_ODD and not scalar.overflows(fmt, 0, scalar.TO_ODD)
        if options.saturation(fmt).numbers or options.rounding == scalar.RZ or stays:
            codes = where(over, constant(codes, fmt.max_code), codes)
        elif options.rounding in (scalar.RU, scalar.RD):
            away = sign == (options.rounding == scalar.RD)
            codes = where(over & away, constant(codes, beyond), where(over, constant(codes, fmt.max_code), codes))
        else:
            codes = where(over, constant(codes, beyond), codes)
        if flags is not None:
            flags[over] = scalar.OVERFLOW | scalar.INEXACT
    if tiny is not None and flushing.results and fmt.zero:
        gone = subnormal & (magnitude < fmt.min_normal_magnitude) if flushing.delivered else tiny
        codes = where(gone, constant(codes, 0), codes)
        sign = sign & ~gone if flushing.positive else sign
        if flags is not None:
            flags[gone] = scalar.UNDERFLOW | scalar.INEXACT
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
        packed = replace(packed, index, generated_nan(fmt, codes[index], options))
    return packed


def round_f64(
    dst: FloatFormat,
    numbers: Codes,
    rounding: int = scalar.RNE,
    policy: FloatPolicy = SPEC,
    want_flags: bool = False,
    random: Random = None,
) -> ArrayResult:
    """Round finite numbers, given as codes of f64, once to ``dst``, as `scalar.round_pack` does. The rules for results
    of arithmetic apply, not those for conversions.
    """
    f64 = FORMATS["f64"]

    def kernel(options: RoundingOptions, chunk: Codes) -> Packed:
        return round_pack(dst, *unpack(f64, chunk.copy()), options)

    options = rounding_options(rounding, policy, random, want_flags)
    return run(kernel, options, dst.bits, (numbers, f64.bits), random=random)


def encode_magnitude(fmt: FloatFormat, magnitude: Limbs) -> Limbs:
    """Return the positive codes of magnitudes."""
    if not fmt.explicit_integer_bit:
        return magnitude
    field = narrow(shift_right(magnitude, fmt.mantissa_bits))
    integer_bit = (field != 0).astype(np.uint64) << np.uint64(fmt.mantissa_bits)
    return Wide(field, magnitude.lo & np.uint64(fmt.fraction_mask) | integer_bit)


def constant(example: Limbs, value: int) -> Limbs:
    """Return a constant for `where`, with as many limbs as ``example`` has."""
    return widen(value) if isinstance(example, Wide) else np.array([value], np.uint64)


def filled(example: Limbs, value: int) -> Limbs:
    """Return an array with the shape and the limbs of ``example`` in which each element is ``value``."""
    return example & 0 | value


def replace(packed: Packed, index: npt.NDArray[np.intp], part: Packed) -> Packed:
    """Replace the results at these indices of a chunk by those of ``part``."""
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
    """Return an array that holds one positive code, with these signs put on it. In an unsigned format the signs are
    ignored.
    """
    codes = filled(example, code)
    return codes | shift_left(like(codes, sign), fmt.bits - 1) if fmt.signed else codes


def flag_array(example: Limbs, options: RoundingOptions, value: int) -> FlagArray | None:
    """Return an array of the flags ``value``, one for each element of ``example``; None if flags are not wanted."""
    return np.full(narrow(example).shape, value, np.uint8) if options.want_flags else None


def encode_infinity(fmt: FloatFormat, sign: U64, example: Limbs, nanless: str, saturate: bool = False) -> Limbs:
    """Return infinities. A format without infinities gives its NaN. A format with neither gives the result that
    ``nanless`` selects: max or zero. ``saturate``: always give the largest finite value.
    """
    code = fmt.max_code if saturate else fmt.infinity_code if fmt.infinity_code is not None else fmt.nan_code
    if code is None:
        code = fmt.max_code if nanless == "max" else 0
    return marked(fmt, sign, example, code)


def arithmetic_infinity(fmt: FloatFormat, sign: U64, example: Limbs, options: RoundingOptions) -> Packed:
    """Return the results of operations with an infinite operand: infinities with these signs, or what the policy gives
    in their place.
    """
    saturate = options.saturation(fmt).infinities
    flags = flag_array(example, options, scalar.OVERFLOW | scalar.INEXACT if saturate else 0)
    return Packed(encode_infinity(fmt, sign, example, "max", saturate), flags)


def encode_zero(fmt: FloatFormat, sign: U64, example: Limbs, options: RoundingOptions) -> Packed:
    """Return zeros, with these signs if the format has -0."""
    if fmt.zero:
        codes = marked(fmt, sign, example, 0) if fmt.has_negative_zero else filled(example, 0)
        return Packed(codes, flag_array(example, options, 0))
    if options.policy.zero_to_zeroless == "nan":
        return generated_nan(fmt, example, options)
    return Packed(filled(example, 0), flag_array(example, options, scalar.INEXACT))


def generated_nan(fmt: FloatFormat, example: Limbs, options: RoundingOptions) -> Packed:
    """Return the NaN of an invalid operation, with the invalid flag."""
    rule = scalar.nan_rule(fmt, fmt, options.policy)
    signs, flags = np.full_like(narrow(example), rule.made), flag_array(example, options, scalar.INVALID)
    return encode_nan(fmt, signs, None, flags, example, fmt, options, ones=rule.fraction == scalar.ONES)


def operand_nan(
    fmt: FloatFormat,
    src: FloatFormat,
    nan: Classified,
    flags: FlagArray | None,
    options: RoundingOptions,
    converts: bool = False,
) -> Packed:
    """Return the NaN results for NaN operands of the format ``src``; ``converts``: for a conversion."""
    rule = scalar.nan_rule(fmt, src, options.policy, converts)
    example, sign, payload = nan.codes, nan.sign, nan.codes & src.fraction_mask
    valid: Any = np.uint64(src.nan_has_payload)
    if nan.invalid is not None:
        valid = valid & ~nan.invalid
        payload = times_bit(payload, valid + np.zeros_like(sign), payload)
    sign = sign & valid if rule.sign is None else np.full_like(sign, rule.sign)
    keeps = src.nan_has_payload and rule.fraction == scalar.KEPT
    return encode_nan(fmt, sign, payload if keeps else None, flags, example, src, options, rule.fraction == scalar.ONES)


def encode_nan(
    fmt: FloatFormat,
    sign: U64,
    payload: Limbs | None,
    flags: FlagArray | None,
    example: Limbs,
    src: FloatFormat,
    options: RoundingOptions,
    ones: bool = False,
) -> Packed:
    """Return NaNs encoded by the rules of the format and the policy. ``payload``: their fraction bits; None for the
    default NaN. ``ones``: set all fraction bits instead.
    """
    if fmt.nan_code is not None:
        if fmt.precision > ONE_LIMB_BITS:
            example = widen(example)
        every = fmt.fraction_mask if ones and fmt.nan is NanEncoding.IEEE else 0
        codes = marked(fmt, sign, example, fmt.nan_code | every)
        if payload is not None and fmt.nan is NanEncoding.IEEE:
            payload = widen(payload) if isinstance(codes, Wide) else payload
            aligned = fmt.mantissa_bits - src.mantissa_bits
            payload = shift_left(payload, aligned) if aligned > 0 else shift_right(payload, -aligned)
            codes = codes | payload if isinstance(codes, Wide) else codes | narrow(payload)
        return Packed(codes, flags)
    if flags is not None:
        flags |= np.uint8(scalar.INVALID)
    choice = options.policy.nan_to_nanless
    if choice == "poison":
        return Packed(filled(example, 0), flags, np.ones_like(sign, np.bool_))
    if choice == "max":
        return Packed(filled(example, fmt.max_code), flags)
    if choice == "negative_zero":
        return Packed(marked(fmt, np.ones_like(sign), example, 0), flags)
    return Packed(marked(fmt, sign ^ np.uint64(choice == "zero_inverted"), example, 0), flags)


def signalling_flags(options: RoundingOptions, *operands: Classified) -> FlagArray | None:
    """Return the invalid flag for elements with a signalling NaN operand, else 0; None if flags are not wanted."""
    if not options.want_flags:
        return None
    signalling: Mask = np.logical_or.reduce([x.signalling for x in operands])
    flags: FlagArray = signalling.astype(np.uint8) * np.uint8(scalar.INVALID)
    return flags


def nans_into(
    packed: Packed, index: npt.NDArray[np.intp], fmt: FloatFormat, options: RoundingOptions, *operands: Classified
) -> Packed:
    """Replace the results at these indices by NaNs: the elements there have a NaN operand. The NaN operand is quieted
    and becomes the result; if several operands are NaNs, the first, or the one that the policy says.
    """
    nan = np.logical_or.reduce([x.nan for x in operands])
    if not nan.any():
        return packed
    part = np.flatnonzero(nan)
    operands = tuple(x.at(part) for x in operands)
    chosen = chosen_nan(fmt, options.policy, *operands)
    result = operand_nan(fmt, fmt, chosen, signalling_flags(options, *operands), options)
    return replace(packed, index[part], result)


def chosen_nan(fmt: FloatFormat, policy: FloatPolicy, *operands: Classified) -> Classified:
    """Compute `scalar.chosen_nan` for arrays, where each element has a NaN operand."""
    if policy.nan_result == "largest":
        largest = functools.reduce(lambda x, y: y.where(_is_larger_nan(fmt, y, x), x), operands)
        invalid = [x.invalid for x in operands if x.invalid is not None]
        if not invalid or not np.any(invalid):
            return largest
        made = np.logical_or.reduce(invalid)
        codes, sign = where(made, largest.codes & 0, largest.codes), np.where(made, np.uint64(1), largest.sign)
        return dataclasses.replace(largest, codes=codes, sign=sign, invalid=np.zeros_like(made))
    first = functools.reduce(lambda y, x: x.where(x.nan, y), reversed(operands))
    if policy.nan_result == "signalling_first":
        return functools.reduce(lambda y, x: x.where(x.signalling, y), reversed(operands), first)
    return first


def _is_larger_nan(fmt: FloatFormat, x: Classified, y: Classified) -> Mask:
    """Tell where x is a NaN and y is not, or is one that yields to x under ``nan_result=largest``."""
    p, q = (_fraction(fmt, each) for each in (x, y))
    same_kind, same = x.signalling == y.signalling, equal(p, q)
    larger = same_kind & ((q < p) | (same & (x.sign < y.sign)))
    found: Mask = x.nan & (~y.nan | (~x.signalling & y.signalling) | larger)
    return found


def _fraction(fmt: FloatFormat, x: Classified) -> Limbs:
    fraction = x.codes & fmt.fraction_mask
    return fraction if x.invalid is None else where(x.invalid, fraction & 0, fraction)


def with_invalid_nan(invalid: Mask, fmt: FloatFormat, otherwise: Packed, options: RoundingOptions) -> Packed:
    """Replace the results that the mask selects by the NaN of an invalid operation."""
    if not invalid.any():
        return otherwise
    index = np.flatnonzero(invalid)
    return replace(otherwise, index, generated_nan(fmt, otherwise.codes[index], options))


# --- steps ------------------------------------------------------------------------------------------------------------
#
# The next value above and below each code of an array, and the ulp at each number.


def next_codes(fmt: FloatFormat, a: Codes, down: bool = False) -> ArrayResult:
    """Compute `neighbours.next_code` for arrays of codes."""

    def kernel(options: RoundingOptions, chunk: Codes) -> Packed:
        codes = lift(fmt, chunk, is_wide(options, fmt))
        kinds = classify(fmt, codes)
        rank = magnitude_of(fmt, codes)
        if fmt.explicit_integer_bit:
            field = narrow(shift_right(rank, fmt.precision))
            rank = shift_left(like(rank, field), fmt.mantissa_bits) | codes & fmt.fraction_mask
        sign = sign_of(fmt, codes)
        # Zero of either sign takes the sign of the step.
        sign = np.where(nonzero(rank), sign, np.uint64(down and fmt.signed))
        outward = (sign != 0) == down
        stays = kinds.infinite & outward
        moved = where(outward & ~stays, rank + constant(rank, 1), rank)
        moved = where(outward, moved, rank - constant(rank, 1))
        packed = Packed(_signed(fmt, sign, moved), None)
        beyond = outward & ~stays & (moved > fmt.max_magnitude)
        packed = Packed(where(beyond, encode_infinity(fmt, sign, moved, "max"), packed.codes), None)
        if down and not fmt.signed:
            # Below the smallest value, whose rank is 0.
            last = filled(moved, 0 if fmt.nan_code is None else fmt.nan_code)
            packed = Packed(where(equal(rank, 0), last, packed.codes), None)
        return nans_into(packed, np.arange(len(chunk)), fmt, options, kinds)

    return run(kernel, RoundingOptions(scalar.RNE, SPEC, False), fmt.bits, (a, fmt.bits))


def _signed(fmt: FloatFormat, sign: np.ndarray[tuple[int, ...], np.dtype[np.uint64]], magnitude: Limbs) -> Limbs:
    """Return the codes of magnitudes with these signs; zero is +0 if the format has no -0."""
    if fmt.zero and not fmt.has_negative_zero:
        sign = sign & nonzero(magnitude).astype(np.uint64)
    return encode_magnitude(fmt, magnitude) | marked(fmt, sign, magnitude, 0)


def ulp_exponents(fmt: FloatFormat, floats: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return `neighbours.ulp_exponent` of numbers of f64, for a format whose values are all values of f64. The results
    for NaN and infinities have no meaning.
    """
    fields = floats.view(np.int64) >> 52
    fields &= 0x7FF
    # Fields of f64's subnormal numbers are 0, and below every format's smallest exponent or equal to it.
    np.clip(fields, fmt.emin + 1023, fmt.emax + 1023, out=fields)
    fields -= 1023 + fmt.mantissa_bits
    if not fmt.signed:
        fields[floats < 0] = fmt.emin - fmt.mantissa_bits
    return fields
