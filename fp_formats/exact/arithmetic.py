"""Arithmetic, minimum and maximum, negation and flushing: the results have the format of the operands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats import scalar
from halfulp.fp_formats.exact import core, encoding
from halfulp.fp_formats.exact.core import (
    U64,
    WORD,
    ArrayResult,
    Classified,
    Limbs,
    Packed,
    Random,
    RoundingOptions,
    Wide,
    bit_length,
    by_scalar,
    classify,
    equal,
    flushed,
    is_wide,
    jam_right,
    less_and_equal,
    lift,
    like,
    magnitude_of,
    nans_of,
    narrow,
    needs_scalar,
    nonzero,
    operands,
    rounding_options,
    run,
    shift_left,
    sign_of,
    specials_of,
    unpack,
    where,
    widen,
)
from halfulp.fp_formats.formats import Codes, FloatFormat, Mask
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.scalar import DIVIDE_BY_ZERO, INEXACT, INVALID, RD, RNE, UNDERFLOW


def _binary(
    name: str,
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> ArrayResult:
    """Do an operation of `_OPERATIONS` on arrays, as `scalar` does: its first function on all elements, the second on
    those with a NaN or infinite operand and those that the first returns.
    """
    finite, special = _OPERATIONS[name]
    options = rounding_options(rounding, policy, random, want_flags)
    pairs = (a, fmt.bits), (b, fmt.bits)
    if needs_scalar(options, fmt):
        one = getattr(scalar, name)
        operation = lambda x, y, drawn: one(fmt, x, y, rounding, policy, drawn)  # noqa: E731
        return by_scalar(operation, fmt.bits, want_flags, *pairs, random=random)

    def kernel(options: RoundingOptions, *chunks: Codes) -> Packed:
        x, y = operands(fmt, options, *chunks)
        packed, odd = finite(fmt, x, y, options)
        for codes in (x, y):
            mask = specials_of(fmt, codes)
            odd = mask if odd is None else odd if mask is None else odd | mask
        if odd is None or not odd.any():
            return packed
        index = np.flatnonzero(odd)
        p, q = classify(fmt, x[index]), classify(fmt, y[index])
        packed = encoding.replace(packed, index, special(fmt, p, q, options))
        return encoding.nans_into(packed, index, fmt, options, p, q)

    return run(kernel, options, fmt.bits, *pairs, random=random)


def _sum(flip: int) -> Callable[..., tuple[Packed, Mask | None]]:
    def finite(fmt: FloatFormat, x: Limbs, y: Limbs, options: RoundingOptions) -> tuple[Packed, Mask | None]:
        swap = magnitude_of(fmt, x) < magnitude_of(fmt, y)
        large, small = where(swap, y, x), where(swap, x, y)
        x_sign, y_sign = sign_of(fmt, x), sign_of(fmt, y) ^ np.uint64(flip)
        differ = x_sign ^ y_sign
        _, significand, exponent = unpack(fmt, large)
        _, other, other_exponent = unpack(fmt, small)
        # One bit above for the carry, and two below for the jammed bits: after an alignment by more than one bit the
        # sum loses at most one leading bit.
        headroom = (126 if isinstance(x, Wide) else 62) - 1 - fmt.precision
        other = jam_right(shift_left(other, headroom), exponent - other_exponent)
        minus = np.uint64(0) - differ
        other = (other ^ (Wide(minus, minus) if isinstance(x, Wide) else minus)) + like(other, differ)
        total = shift_left(significand, headroom) + other
        # Exact zeros (IEEE 754, 6.3): equal signs are kept, unequal ones give +0, in DOWNWARD -0.
        sign = np.where(swap, y_sign, x_sign)
        cancelled = (differ != 0) & ~nonzero(total)
        sign = np.where(cancelled, np.uint64(options.rounding == RD), sign)
        return encoding.round_pack(fmt, sign, total, exponent - headroom, options), None

    return finite


def _special_sum(flip: int) -> Callable[..., Packed]:
    def special(fmt: FloatFormat, x: Classified, y: Classified, options: RoundingOptions) -> Packed:
        y_sign = y.sign ^ np.uint64(flip)
        packed = encoding.arithmetic_infinity(fmt, np.where(x.infinite, x.sign, y_sign), x.codes, options)
        return encoding.with_invalid_nan(x.infinite & y.infinite & (x.sign != y_sign), fmt, packed, options)

    return special


def _product(fmt: FloatFormat, x: Limbs, y: Limbs, options: RoundingOptions) -> tuple[Packed, Mask | None]:
    x_sign, x_significand, x_exponent = unpack(fmt, x)
    y_sign, y_significand, y_exponent = unpack(fmt, y)
    if fmt.precision > 63:  # bits below 127 of the product are jammed, so the leading ones must not be zeros
        x_significand, x_exponent = _normalised(fmt.precision, x_significand, x_exponent)
        y_significand, y_exponent = _normalised(fmt.precision, y_significand, y_exponent)
    product, dropped = core.multiply(x_significand, y_significand, fmt.precision)
    return encoding.round_pack(fmt, x_sign ^ y_sign, product, x_exponent + y_exponent + dropped, options), None


def _special_product(fmt: FloatFormat, x: Classified, y: Classified, options: RoundingOptions) -> Packed:
    invalid = (x.infinite & y.zero) | (x.zero & y.infinite)
    return encoding.with_invalid_nan(
        invalid, fmt, encoding.arithmetic_infinity(fmt, x.sign ^ y.sign, x.codes, options), options
    )


def fma(
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    c: Codes,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    want_flags: bool = False,
) -> ArrayResult:
    """Compute `scalar.fma` for arrays. f80 and f128, whose products need more than two limbs, are computed one element
    at a time.
    """
    options = rounding_options(rounding, policy, random, want_flags)
    room = 2 * fmt.precision + 3  # of the product: a bit for the carry, and two below for the jammed bits
    codes = [(code, fmt.bits) for code in (a, b, c)]
    if needs_scalar(options, fmt) or room > 126:
        operation = lambda x, y, z, drawn=None: scalar.fma(fmt, x, y, z, rounding, policy, drawn)  # noqa: E731
        return by_scalar(operation, fmt.bits, want_flags, *codes, random=random)

    def kernel(options: RoundingOptions, *chunks: Codes) -> Packed:
        x, y, z = operands(fmt, options, *chunks, wide=room > 62)
        x_sign, x_significand, x_exponent = unpack(fmt, x)
        y_sign, y_significand, y_exponent = unpack(fmt, y)
        product, _ = core.multiply(x_significand, y_significand, fmt.precision)
        packed = _sum_of_terms(fmt, options, (x_sign ^ y_sign, product, x_exponent + y_exponent), unpack(fmt, z))
        masks = [mask for mask in (specials_of(fmt, each) for each in (x, y, z)) if mask is not None]
        index = np.flatnonzero(np.logical_or.reduce(masks)) if masks else np.empty(0, np.intp)
        if not index.size:
            return packed
        p, q, r = (classify(fmt, each[index]) for each in (x, y, z))
        sign, infinite = p.sign ^ q.sign, p.infinite | q.infinite
        undefined = (p.infinite & q.zero) | (p.zero & q.infinite)
        invalid = undefined | (infinite & r.infinite & (sign != r.sign))
        infinity = encoding.arithmetic_infinity(fmt, np.where(infinite, sign, r.sign), p.codes, options)
        special = encoding.with_invalid_nan(invalid, fmt, infinity, options)
        order = (r, p, q) if policy.nan_result == "signalling_first" else (p, q, r)
        packed = encoding.nans_into(encoding.replace(packed, index, special), index, fmt, options, *order)
        if packed.flags is not None:
            packed.flags[index[undefined]] |= np.uint8(INVALID)
        quiet = np.flatnonzero(undefined & r.nan & ~r.signalling)
        if policy.fma_undefined in ("default_nan", "always_default_nan"):
            plus = quiet if policy.fma_undefined == "default_nan" else np.flatnonzero(undefined & r.nan)
            packed = encoding.replace(packed, index[plus], encoding.generated_nan(fmt, p.codes[plus], options))
        elif policy.fma_undefined == "quiet" and packed.flags is not None:
            packed.flags[index[quiet]] = 0
        return packed

    return run(kernel, options, fmt.bits, *codes, random=random)


Term = tuple[U64, Limbs, npt.NDArray[np.int64]]  # sign, significand, exponent


def _sum_of_terms(fmt: FloatFormat, options: RoundingOptions, x: Term, y: Term) -> Packed:
    """Round x + y once. The significands have at least two bits less than `round_pack` allows.

    The leading bit of the larger one moves to the top. The alignment jams the bits that the other one loses. It loses
    none if leading bits cancel, since then the two are within one bit of each other.
    """
    top = 126 if isinstance(x[1], Wide) else 62
    aligned = []
    for _, significand, exponent in (x, y):
        length = bit_length(significand)
        place = np.where(length == 0, np.int64(-(1 << 20)), exponent + length)  # so that a zero is the smaller one
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
    sign = np.where(cancelled, np.uint64(options.rounding == RD), np.where(swap, y[0], x[0]))
    return encoding.round_pack(fmt, sign, total, place - top, options)


def _normalised(bits: int, significand: Limbs, exponent: npt.NDArray[np.int64]) -> tuple[Limbs, npt.NDArray[np.int64]]:
    """Return the same values, each with its leading one at bit ``bits - 1``; zeros are not changed."""
    missing = bits - bit_length(significand)
    if not missing.any():
        return significand, exponent
    return shift_left(significand, missing), exponent - missing


def _quotient(fmt: FloatFormat, x: Limbs, y: Limbs, options: RoundingOptions) -> tuple[Packed, Mask | None]:
    bits = fmt.precision + options.random_width
    x_sign, dividend, x_exponent = unpack(fmt, x)
    y_sign, divisor, y_exponent = unpack(fmt, y)
    by_zero = ~nonzero(divisor)
    any_zero = bool(by_zero.any())
    if any_zero:
        divisor = where(by_zero, encoding.constant(divisor, 1), divisor)
    dividend, x_exponent = _normalised(bits, dividend, x_exponent)
    divisor, y_exponent = _normalised(bits, divisor, y_exponent)
    quotient, fraction_bits = core.divide(dividend, divisor, bits)
    exponent = x_exponent - y_exponent - fraction_bits
    return encoding.round_pack(fmt, x_sign ^ y_sign, quotient, exponent, options), by_zero if any_zero else None


def _special_quotient(fmt: FloatFormat, x: Classified, y: Classified, options: RoundingOptions) -> Packed:
    sign = x.sign ^ y.sign
    packed = encoding.arithmetic_infinity(fmt, sign, x.codes, options)
    by_zero = y.zero & ~x.infinite
    if by_zero.any():
        index = np.flatnonzero(by_zero)
        nanless, saturate = options.policy.divide_by_zero_nanless, options.saturation(fmt).infinities
        infinity = encoding.encode_infinity(fmt, sign[index], x.codes[index], nanless, saturate)
        packed = encoding.replace(
            packed, index, Packed(infinity, encoding.flag_array(infinity, options, DIVIDE_BY_ZERO))
        )
    vanishing = y.infinite & ~x.infinite
    if vanishing.any():
        index = np.flatnonzero(vanishing)
        packed = encoding.replace(packed, index, encoding.encode_zero(fmt, sign[index], x.codes[index], options))
    return encoding.with_invalid_nan((x.infinite & y.infinite) | (x.zero & y.zero), fmt, packed, options)


def _rest(fmt: FloatFormat, x: Limbs, y: Limbs, options: RoundingOptions) -> tuple[Packed, Mask | None]:
    sign, dividend, x_exponent = unpack(fmt, x)
    _, divisor, y_exponent = unpack(fmt, y)
    by_zero = ~nonzero(divisor)
    gap = x_exponent - y_exponent
    rest: Limbs
    if options.policy.remainder == "ieee":
        rest, flip = _nearest_remainder(fmt, dividend, divisor, gap)
        sign = sign ^ flip
    elif isinstance(x, Wide):
        rest = _wide_remainder(dividend, divisor, gap)
    else:
        rest = _remainder(fmt.precision, dividend, np.where(by_zero, np.uint64(1), divisor), gap)
    # A larger divisor exponent means that the divisor is normal, so that it is larger: the dividend is the result.
    smaller = gap < 0
    if options.policy.remainder == "fmod":
        rest = where(smaller, dividend, rest)
    exponent = np.where(smaller, x_exponent, y_exponent)
    return encoding.round_pack(fmt, sign, rest, exponent, options), by_zero


def _special_rest(fmt: FloatFormat, x: Classified, y: Classified, options: RoundingOptions) -> Packed:
    # Beside NaN operands and invalid operations there are only finite dividends with infinite divisors.
    sign, dividend, exponent = unpack(fmt, x.codes)
    exact = RoundingOptions(RNE, options.policy, options.want_flags)
    return encoding.with_invalid_nan(
        x.infinite | y.zero, fmt, encoding.round_pack(fmt, sign, dividend, exponent, exact), options
    )


def _nearest_remainder(
    fmt: FloatFormat, dividend: Limbs, divisor: Limbs, gap: npt.NDArray[np.int64]
) -> tuple[Limbs, U64]:
    """Return the magnitude of IEEE 754's remainder of dividend * 2**gap by divisor, and 1 if the sign changes.

    A negative gap makes the divisor larger: divisor * 2**-gap. That matters only for a gap of -1; below that, the
    divisor is more than twice the dividend. The remainder modulo twice the divisor shows whether the quotient is odd.
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
    """Return dividend * 2**gap modulo divisor, a number of ``bits`` bits. Each step shifts as far as a limb has
    room.
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
    """Compute `_remainder` on Python integers, one element at a time."""
    rows = zip(
        dividend.hi.tolist(), dividend.lo.tolist(), divisor.hi.tolist(), divisor.lo.tolist(), gap.tolist(), strict=True
    )
    rests = [
        (((x1 << 64 | x0) % y) * pow(2, n, y)) % y if (y := y1 << 64 | y0) and n >= 0 else 0
        for x1, x0, y1, y0, n in rows
    ]
    return Wide(np.array([r >> 64 for r in rests], np.uint64), np.array([r & WORD for r in rests], np.uint64))


_OPERATIONS: dict[str, tuple[Callable[..., tuple[Packed, Mask | None]], Callable[..., Packed]]] = {
    "add": (_sum(0), _special_sum(0)),
    "subtract": (_sum(1), _special_sum(1)),
    "multiply": (_product, _special_product),
    "divide": (_quotient, _special_quotient),
    "remainder": (_rest, _special_rest),
}

add = partial(_binary, "add")
subtract = partial(_binary, "subtract")
multiply = partial(_binary, "multiply")
divide = partial(_binary, "divide")
remainder = partial(_binary, "remainder")


def negate(fmt: FloatFormat, a: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False) -> ArrayResult:
    """Compute `scalar.negate` for arrays."""
    options = RoundingOptions(RNE, policy, want_flags)

    def signed(options: RoundingOptions, chunk: Codes) -> Packed:
        codes = Wide(chunk[:, 1], chunk[:, 0]) if fmt.limbs == 2 else chunk.astype(np.uint64)
        flipped = codes ^ (fmt.sign_mask or 0)
        if not fmt.has_negative_zero:
            flipped = where(nonzero(magnitude_of(fmt, codes)), flipped, codes)
        return Packed(flipped, encoding.flag_array(flipped, options, 0))

    def unsigned(options: RoundingOptions, chunk: Codes) -> Packed:
        codes = lift(fmt, chunk, is_wide(options, fmt))
        _, significand, exponent = unpack(fmt, codes)
        x = classify(fmt, codes)
        exponent = np.where(x.infinite, fmt.emax + 1, exponent)
        significand = where(x.infinite, encoding.constant(codes, 1), significand)
        packed = encoding.round_pack(fmt, np.ones_like(x.sign), significand, exponent, options)
        nans = np.flatnonzero(x.nan)
        x = x.at(nans)
        return encoding.replace(
            packed, nans, encoding.operand_nan(fmt, fmt, x, encoding.flag_array(x.codes, options, 0), options)
        )

    return run(signed if fmt.signed else unsigned, options, fmt.bits, (a, fmt.bits))


def flush(fmt: FloatFormat, a: Codes, policy: FloatPolicy = SPEC, want_flags: bool = False) -> ArrayResult:
    """Compute `scalar.flush` for arrays."""

    def kernel(options: RoundingOptions, chunk: Codes) -> Packed:
        raw = Wide(chunk[:, 1], chunk[:, 0]) if fmt.limbs == 2 else chunk.astype(np.uint64)
        codes, gone = flushed(fmt, lift(fmt, chunk, is_wide(options, fmt)), policy)
        if gone is None:
            return Packed(raw, encoding.flag_array(raw, options, 0))
        raw = widen(raw) if isinstance(codes, Wide) else raw
        return Packed(where(gone, codes, raw), encoding.flag_array(raw, options, 0))

    return run(kernel, RoundingOptions(RNE, policy, want_flags), fmt.bits, (a, fmt.bits))


# Minimum and maximum.


def _extremum(
    largest: bool,
    number: bool,
    fmt: FloatFormat,
    a: Codes,
    b: Codes,
    policy: FloatPolicy = SPEC,
    want_flags: bool = False,
) -> ArrayResult:
    """Compute `scalar.extremum` for arrays."""

    def selected(options: RoundingOptions, x: Limbs, y: Limbs, second: Mask, *chunks: Codes) -> Packed:
        """Take the second operand if ``second`` holds or if it is a NaN (``number``: if the first operand is a NaN)."""
        p, q = classify(fmt, x), classify(fmt, y)
        second = np.where(p.nan | q.nan, p.nan if number else q.nan, second)
        raw = [Wide(chunk[:, 1], chunk[:, 0]) if fmt.limbs == 2 else chunk.astype(np.uint64) for chunk in chunks]
        return Packed(where(second, raw[1], raw[0]), encoding.signalling_flags(options, p, q))

    def number_selected(options: RoundingOptions, x: Limbs, y: Limbs, second: Mask, *chunks: Codes) -> Packed:
        """Take the second operand, unchanged, if the first is a NaN; else the better operand, and the first of equal
        ones.
        """
        p, q = classify(fmt, x), classify(fmt, y)
        chosen, gone = where(second & ~q.nan, y, x), None
        if policy.flushing(fmt).results:
            chosen, gone = flushed(fmt, chosen, policy)
        if fmt.limbs == 2:
            raw: Limbs = Wide(chunks[1][:, 1], chunks[1][:, 0])
        else:
            raw, chosen = chunks[1].astype(np.uint64), narrow(chosen)
        flags = encoding.signalling_flags(options, p, q)
        if gone is not None and flags is not None:
            flags[gone & ~p.nan] = UNDERFLOW | INEXACT
        return Packed(where(p.nan, raw, chosen), flags)

    def kernel(options: RoundingOptions, *chunks: Codes) -> Packed:
        x, y = operands(fmt, options, *chunks)
        less, same = less_and_equal(fmt, x, y)
        if policy.extrema == "selected":
            return selected(options, x, y, (less if largest else ~less & ~same) | same, *chunks)
        if policy.extrema == "second":
            p, q = classify(fmt, x), classify(fmt, y)
            raw = [Wide(chunk[:, 1], chunk[:, 0]) if fmt.limbs == 2 else chunk.astype(np.uint64) for chunk in chunks]
            nan, better = p.nan | q.nan, ~less & ~same if largest else less
            return Packed(where(better & ~nan, raw[0], raw[1]), nan * np.uint8(INVALID) if want_flags else None)
        if policy.extrema == "number_selected" and number:
            return number_selected(options, x, y, less if largest else ~less & ~same, *chunks)
        if fmt.has_negative_zero:
            less = less | (same & (sign_of(fmt, x) > sign_of(fmt, y)))
        chosen = where(less == largest, y, x)
        x_nan, y_nan = nans_of(fmt, x), nans_of(fmt, y)
        either = None if x_nan is None or y_nan is None else x_nan | y_nan
        if x_nan is not None and y_nan is not None and number:
            chosen = where(x_nan, y, where(y_nan, x, chosen))
        flags = encoding.flag_array(chosen, options, 0)
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
            return encoding.nans_into(packed, index, fmt, options, p, q)
        if flags is not None:
            flags[index] |= encoding.signalling_flags(options, p, q)
        keeps = p.nan & q.nan
        quieted = policy.number_of_signalling == "quieted"
        if quieted:
            keeps = keeps | p.signalling | q.signalling
        part = np.flatnonzero(keeps)
        p, q = p.at(part), q.at(part)
        chosen = p.where(p.signalling & quieted, q)
        if not policy.first_nan_counts:
            chosen = encoding.chosen_nan(fmt, policy, p, q).where(p.nan & q.nan, chosen)
        result = encoding.operand_nan(fmt, fmt, chosen, encoding.signalling_flags(options, p, q), options)
        return encoding.replace(packed, index[part], result)

    return run(kernel, RoundingOptions(RNE, policy, want_flags), fmt.bits, (a, fmt.bits), (b, fmt.bits))


maximum = partial(_extremum, True, False)
minimum = partial(_extremum, False, False)
maximum_number = partial(_extremum, True, True)
minimum_number = partial(_extremum, False, True)
