"""The rounding of `scalar` on machine words: one number to one code, with its exception flags.

Every function here makes instructions (see `words`). They have no branches and no loops, so that LLVM turns them into
instructions on vectors: `rounded` is `scalar.round_pack`, `nan_result` is `scalar.encode_nan`, and `Operand` is
`scalar.operand`. What depends on formats, mode and policy alone is computed by `scalar` while code is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat, NanEncoding
from halfulp.fp_formats.paths.words import Word
from halfulp.fp_formats.policy import FloatPolicy
from halfulp.fp_formats.scalar import (
    INEXACT,
    INVALID,
    KEPT,
    OVERFLOW,
    QUIET_NAN,
    RD,
    RNA,
    RNE,
    RU,
    RZ,
    TO_ODD,
    UNDERFLOW,
    Result,
    Unpacked,
)


class Flagged(NamedTuple):
    """A code, and its exception flags in a word of 8 bits."""

    code: Word
    flags: Word


def where(condition: Word, yes: Flagged, no: Flagged) -> Flagged:
    """Return the code and flags of ``yes`` if the condition is 1, else those of ``no``."""
    return Flagged(condition.choose(yes.code, no.code), condition.choose(yes.flags, no.flags))


def flag(condition: Word, bits: int) -> Word:
    """Return a word of 8 bits: the exception flags ``bits`` if the condition is 1, else 0."""
    none = constant(condition, 0, 8)
    return condition.choose(none.of(bits), none)


def bit(like: Word, value: int) -> Word:
    """Return a constant of one bit."""
    return constant(like, value, 1)


def constant(like: Word, value: int, width: int) -> Word:
    """Return a word with ``width`` bits of the machine of ``like`` that holds ``value``."""
    return Word(like.machine, like.machine.constant(value & ((1 << width) - 1), width), width)


def by_sign(sign: Word, width: int, made: Callable[[int], Result]) -> Flagged:
    """Return the code and flags that ``made`` gives for a sign (0 or 1). Results that are poison are not refused here,
    but by `refuse_lost`.
    """
    plus, minus = made(0), made(1)
    code = sign.choose(constant(sign, minus.code, width), constant(sign, plus.code, width))
    flags = sign.choose(constant(sign, minus.flags, 8), constant(sign, plus.flags, 8))
    return Flagged(code, flags)


def refuse_lost(condition: Word, sign: Word, made: Callable[[int], Result]) -> None:
    """Refuse the elements for which the condition is 1 and the result that ``made`` gives for their sign is poison."""
    plus, minus = made(0).poison, made(1).poison
    if plus or minus:
        (condition if plus and minus else condition & (sign if minus else ~sign)).refuse()


# --- operands ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Operand:
    """An operand, unpacked: its code after flushing, and what it is, in words of one bit. ``flipped``: its sign is not
    that of the code.
    """

    fmt: FloatFormat
    code: Word
    sign: Word
    nan: Word
    signalling: Word
    infinite: Word
    zero: Word
    flipped: bool = False

    def negated(self) -> Operand:
        """Return the operand with the other sign, also if it is a NaN."""
        return replace(self, sign=~self.sign, flipped=not self.flipped)


def operand(fmt: FloatFormat, a: Word, policy: FloatPolicy) -> Operand:
    """Unpack the code of an operand, of up to 64 bits; a subnormal that the policy flushes is a zero."""
    no = bit(a, 0)
    magnitude = a & fmt.magnitude_mask
    if policy.flushing(fmt).operands and fmt.zero:
        small = magnitude.differs(0) & magnitude.less(fmt.min_normal_magnitude, signed=False)
        kept = (fmt.sign_mask or 0) if fmt.has_negative_zero and not policy.flushing(fmt).positive else 0
        a = small.choose(a & kept, a)
        magnitude = a & fmt.magnitude_mask
    sign = (a & (fmt.sign_mask or 0)).differs(0) if fmt.signed else no
    infinite = no if fmt.infinity_magnitude is None else magnitude.equals(fmt.infinity_magnitude)
    nan, signalling = no, no
    if fmt.nan is NanEncoding.NEGATIVE_ZERO:
        nan = a.equals(fmt.nan_code or 0)
    elif fmt.nan_code is not None:
        last = fmt.max_magnitude if fmt.infinity_magnitude is None else fmt.infinity_magnitude
        nan = ~magnitude.at_most(last, signed=False)
        if fmt.quiet_bit:
            signalling = nan & (a & fmt.quiet_bit).equals(0)
    zero = magnitude.equals(0) & ~nan if fmt.zero else no
    return Operand(fmt, a, sign, nan, signalling, infinite, zero)


# --- NaNs -------------------------------------------------------------------------------------------------------------


def nan_result(
    fmt: FloatFormat,
    operands: Sequence[Operand],
    policy: FloatPolicy,
    source: FloatFormat | None = None,
    converts: bool = False,
) -> Flagged:
    """Return the NaN that an operation on these operands gives, in the order in which they count. If none is a NaN,
    the operation is invalid.

    ``source``: the format whose NaNs the rule is about. A NaN that the format cannot hold, which is poison, is to be
    refused by `refuse_lost_nan`.
    """
    first = operands[0]
    rule = scalar.nan_rule(fmt, source or fmt, policy, converts)

    def lost(sign: int) -> Result:
        return scalar.encode_nan(fmt, Unpacked(QUIET_NAN, sign, 0, 0), policy, 0, source, converts)

    made = scalar.encode_nan(fmt, None, policy, INVALID, source, converts)
    code, signalling, any_nan = constant(first.sign, made.code, fmt.bits), bit(first.sign, 0), bit(first.sign, 0)
    counts: list[Callable[[Operand], Word]] = [lambda x: x.nan]
    if policy.nan_result == "signalling_first":
        counts.append(lambda x: x.signalling)
    for is_chosen in counts:
        for each in reversed(operands):
            sign = each.sign if each.fmt.nan_has_payload else bit(first.sign, 0)
            own = by_sign(sign, fmt.bits, lost).code
            if fmt.nan is NanEncoding.IEEE and rule.fraction == KEPT and each.fmt.nan_has_payload:
                own = own | _payload(each, fmt)
            code = is_chosen(each).choose(own, code)
    for each in operands:
        signalling, any_nan = signalling | each.signalling, any_nan | each.nan
    flags = flag(signalling | ~any_nan, INVALID)
    return Flagged(code, flags | INVALID if fmt.nan_code is None else flags)


def _payload(x: Operand, fmt: FloatFormat) -> Word:
    """Return the fraction bits of a NaN that another format has."""
    fraction, up = x.code & x.fmt.fraction_mask, fmt.mantissa_bits - x.fmt.mantissa_bits
    if up <= 0:
        return fraction.shift_right(-up).resized(fmt.bits) if up else fraction.resized(fmt.bits)
    return fraction.resized(fmt.bits) << up


def refuse_lost_nan(fmt: FloatFormat, nan: Word, policy: FloatPolicy) -> None:
    """Refuse NaN results of a format without NaN that are poison."""
    if fmt.nan_code is None and policy.nan_to_nanless == "poison":
        nan.refuse()


# --- rounding ---------------------------------------------------------------------------------------------------------


def jammed(a: Word, count: Word) -> Word:
    """Shift a word, whose highest bit is 0, right by ``count``, and set the lowest bit if a bit is lost. ``count``: any
    number, as an unsigned one, in a word that is not wider.
    """
    most = a.width - 1
    by = count.less(most, signed=False).choose(count, count.of(most)).resized(a.width)
    kept = a.shift_right(by)
    return kept | (kept << by).differs(a).resized(a.width)


def upper_half(a: Word) -> Word:
    """Return the upper 64 bits of a word of 128 bits, with the lowest bit set if one of the lower 64 bits is 1."""
    return a.shift_right(64).resized(64) | a.resized(64).differs(0).resized(64)


class Number(NamedTuple):
    """A number that is not zero: (-1)**sign * significand * 2**(exponent - W + 2), where W is the width of the words
    of the significand and the exponent. The second highest bit of the significand is 1 and the highest one 0. If the
    number has bits below the last one, that bit is 1.
    """

    sign: Word
    exponent: Word
    significand: Word


class Draw(NamedTuple):
    """The random bits of a stochastic rounding: a word of the width of the numbers that are rounded, and how many of
    its low bits are random; the others are 0.
    """

    bits: Word
    width: int


def holds(fmt: FloatFormat, width: int) -> bool:
    """Tell whether `rounded` can round to a format in words of a width."""
    span = fmt.emax - fmt.emin + 2
    return fmt.bits <= width and fmt.mantissa_bits + 3 <= width and span.bit_length() + fmt.mantissa_bits < width


def added(rounding: int, lowest: Word, half: Word | int, below: Word | int, sign: Word) -> Word:
    """Return what is added to a number before its lower bits are dropped, so that it is rounded.

    ``lowest``: the last bit that stays, as a word of the number's width. ``half``, ``below``: the first dropped bit,
    and all of them.
    """
    zero = lowest.of(0)
    half = half if isinstance(half, Word) else lowest.of(half)
    below = below if isinstance(below, Word) else lowest.of(below)
    if rounding == RNE:
        return half - 1 + lowest
    if rounding == RNA:
        return half
    if rounding == RU:
        return sign.choose(zero, below)
    if rounding == RD:
        return sign.choose(below, zero)
    if rounding == TO_ODD:
        return lowest.equals(0).choose(below, zero)
    assert rounding == RZ
    return zero


def rounded(
    fmt: FloatFormat,
    number: Number,
    rounding: int,
    policy: FloatPolicy,
    saturate: bool | None = None,
    counts: Word | None = None,
    draw: Draw | None = None,
) -> Flagged:
    """Round a number once, as `scalar.round_pack` does. The format must be one that `holds`. ``counts``: whether the
    result is that of an element; None: it always is. ``draw``: the bits of stochastic rounding, fewer than those of a
    normal number that are dropped.
    """
    sign, exponent, significand = number
    width, bits, one = significand.width, fmt.mantissa_bits, 1 << fmt.mantissa_bits
    if saturate is None:
        saturate = policy.arithmetic_saturation(fmt).numbers
    negative = sign
    if policy.negative_to_unsigned == "absolute" and not fmt.signed:
        sign = bit(sign, 0)
    fixed = width - 2 - bits  # the bits of a normal number that are dropped
    below = exponent.less(fmt.emin & ((1 << width) - 1), signed=True)
    depth = below.choose(exponent.of(fmt.emin) - exponent, exponent.of(0))
    far = ~depth.at_most(bits + 1, signed=False)
    # What is far below the least number counts as a last bit.
    shift = far.choose(depth.of(bits + 1), depth) + fixed
    kept_from = far.choose(significand.of(1), significand)
    unit = significand.of(1) << shift
    dropped = unit - 1
    lowest = kept_from.shift_right(shift) & 1
    step = below.choose(exponent.of(0), exponent - fmt.emin)
    if fmt.even_code:
        lowest = lowest ^ ((step - bits) & 1)
    inexact = (kept_from & dropped).differs(0)
    if draw is None:
        kept = (kept_from + added(rounding, lowest, unit.shift_right(1), dropped, sign)).shift_right(shift)
    else:
        kept = _drawn(significand, depth, fixed, draw, policy)
    flags = flag(inexact, INEXACT)
    span = fmt.emax - fmt.emin + 2
    step = step.less(span, signed=False).choose(step, step.of(span))
    magnitude = (step << bits) + kept
    if not fmt.zero:
        magnitude = magnitude - one
    over = ~magnitude.at_most(fmt.max_magnitude, signed=False)
    signed = sign.resized(fmt.bits) << (fmt.bits - 1)
    shown = magnitude.resized(fmt.bits)
    if fmt.zero and not fmt.has_negative_zero:
        signed = magnitude.equals(0).choose(signed.of(0), signed)
    found = Flagged(shown | signed, flags)
    flushing = policy.flushing(fmt)
    if fmt.zero:
        tiny = below
        if policy.tininess != "before":
            # With an unlimited exponent the number may round up to the least normal one.
            last = significand.shift_right(fixed) & 1
            if fmt.even_code:
                last = last ^ (bits + 1 & 1)
            if draw is None:
                up = significand + added(rounding, last, 1 << fixed >> 1, (1 << fixed) - 1, sign)
                carries = up.shift_right(width - 1).equals(1)
            else:
                up = _drawn(significand, depth.of(0), fixed, draw, policy)
                carries = up.equals(one << 1)
            tiny = below & ~(exponent.equals(fmt.emin - 1) & carries)
        found = Flagged(found.code, flags | flag(inexact & tiny, UNDERFLOW))
        if flushing.results:
            flushed = below & kept.less(one, signed=False) if flushing.delivered else tiny
            zero = by_sign(
                sign, fmt.bits, lambda s: scalar.encode_zero(fmt, scalar.flushed_sign(fmt, s, policy), policy)
            )
            found = where(flushed, Flagged(zero.code, constant(sign, UNDERFLOW | INEXACT, 8)), found)
    else:
        small = kept.equals(0).choose(signed.of(0), signed)
        found = where(below, Flagged(small, constant(sign, UNDERFLOW | INEXACT, 8)), found)
    beyond = by_sign(sign, fmt.bits, lambda s: _beyond(fmt, s, rounding, policy, saturate))
    found = where(over if fmt.zero else over & ~below, beyond, found)
    if not fmt.signed and policy.negative_to_unsigned == "nan":
        refused = scalar.encode_nan(fmt, None, policy, INVALID)
        if refused.poison:
            (negative if counts is None else negative & counts).refuse()
        nan = Flagged(constant(sign, refused.code, fmt.bits), constant(sign, refused.flags, 8))
        found = where(negative, nan, found)
    return found


def _drawn(significand: Word, depth: Word, fixed: int, draw: Draw, policy: FloatPolicy) -> Word:
    """Round stochastically: drop ``fixed`` bits and ``depth`` more, where ``depth`` is any number below 2**16."""
    rule, width, count = policy.stochastic_rule, significand.width, draw.width
    bits = draw.bits ^ ((1 << count) - 1) if rule.complement else draw.bits
    shift = depth + fixed
    far = ~shift.less(width, signed=False)
    near = far.choose(shift.of(width - 1), shift)
    kept = far.choose(shift.of(0), significand.shift_right(near))
    rest = far.choose(significand, significand & ((shift.of(1) << near) - 1))
    # The dropped fraction, as a multiple of 2**-count; what is too small for the words counts as a last bit.
    down = shift - count
    tiny = ~down.less(width, signed=False)
    rest, down = tiny.choose(shift.of(1), rest), tiny.choose(shift.of(width - 1), down)
    unit = shift.of(1) << down
    lowest = rest.shift_right(down) & 1
    plus = bit(significand, 0)
    scaled = (rest + added(rule.fraction, lowest, unit.shift_right(1), unit - 1, plus)).shift_right(down)
    return kept + (scaled + bits).shift_right(count)


def _beyond(fmt: FloatFormat, sign: int, rounding: int, policy: FloatPolicy, saturate: bool) -> Result:
    """Return the result of a rounded number beyond the largest one. ``sign``: after the policy was applied."""
    top = sign << (fmt.bits - 1)
    if saturate or not scalar.overflows(fmt, sign, rounding):
        return Result(top | fmt.max_code, OVERFLOW | INEXACT)
    return scalar.encode_infinity(fmt, sign, OVERFLOW | INEXACT, "max")
