"""The specification of every operation on floats: one value at a time, on exact Python integers.

Every operation unpacks its operands, computes the exact result as an integer times a power of two, rounds it ONCE in
`round_to_integer`, and encodes it. `exact` does the same on arrays and must agree bit for bit, including flags and
poison.

Arguments named ``a`` and ``b`` are codes. ``rounding`` is a `Rounding`; ``random`` is ``(value, width)``, needed by
stochastic rounding only, and the policy says how it decides. Results are `Result`s; their ``flags`` are the bits of
`policy.Flags`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from typing import NamedTuple

from halfulp.fp_formats.formats import FORMATS, FloatFormat, NanEncoding, double_bits
from halfulp.fp_formats.policy import SPEC, Flags, FloatPolicy, Rounding, StochasticRule

FINITE, INFINITE, QUIET_NAN, SIGNALLING_NAN = range(4)  # kinds, in the order that the tests below rely on
INEXACT, UNDERFLOW, OVERFLOW, DIVIDE_BY_ZERO, INVALID = (int(flag) for flag in Flags)
RNE, RD, RU, RZ, RNA, STOCHASTIC, TO_ODD = Rounding
Random = tuple[int, int] | None


class Unpacked(NamedTuple):
    """(-1)**sign * significand * 2**exponent if FINITE; for a NaN the significand is its fraction field."""

    kind: int
    sign: int
    significand: int
    exponent: int


class Result(NamedTuple):
    """A code and its exception flags. ``poison``: the format has no code for the exact result; ``code`` is 0 then."""

    code: int
    flags: int = 0
    poison: bool = False


# Decoding.


def unpack(fmt: FloatFormat, a: int) -> Unpacked:
    """Split a code into sign, significand and exponent. NaNs without sign and payload, and invalid x87 operands, get
    sign 0 and fraction 0.
    """
    sign = a >> (fmt.bits - 1) if fmt.signed else 0
    fraction = a & fmt.fraction_mask
    if fmt.explicit_integer_bit:
        field, integer_bit = a >> fmt.precision & ((1 << fmt.exponent_bits) - 1), a >> fmt.mantissa_bits & 1
        if field and not integer_bit:
            return Unpacked(SIGNALLING_NAN, 0, 0, 0)
        magnitude = field << fmt.mantissa_bits | fraction
    else:
        magnitude = a & fmt.magnitude_mask
        field, integer_bit = magnitude >> fmt.mantissa_bits, 1 if magnitude >= fmt.min_normal_magnitude else 0
    if magnitude > fmt.max_magnitude or a == fmt.nan_code:
        if magnitude == fmt.infinity_magnitude:
            return Unpacked(INFINITE, sign, 0, 0)
        if not fmt.nan_has_payload:
            return Unpacked(QUIET_NAN, 0, 0, 0)
        return Unpacked(SIGNALLING_NAN if fmt.quiet_bit & ~a else QUIET_NAN, sign, fraction, 0)
    exponent = (field or fmt.zero) - fmt.bias - fmt.mantissa_bits
    return Unpacked(FINITE, sign, integer_bit << fmt.mantissa_bits | fraction, exponent)


def operand(fmt: FloatFormat, a: int, policy: FloatPolicy) -> Unpacked:
    """Unpack the code of an operand; a subnormal that the policy flushes is unpacked as zero."""
    x = unpack(fmt, a)
    if x.kind == FINITE and fmt.zero and not x.significand >> fmt.mantissa_bits and policy.flushing(fmt).operands:
        return x._replace(sign=flushed_sign(fmt, x.sign, policy) if x.significand else x.sign, significand=0)
    return x


def flushed_sign(fmt: FloatFormat, sign: int, policy: FloatPolicy) -> int:
    """Return the sign of the zero that replaces a subnormal with the sign ``sign``."""
    return sign if fmt.has_negative_zero and not policy.flushing(fmt).positive else 0


def value(fmt: FloatFormat, a: int) -> Fraction | None:
    """Return the exact value of a code as a fraction; None for NaNs and infinities."""
    x = unpack(fmt, a)
    return number(x) if x.kind == FINITE else None


def number(x: Unpacked) -> Fraction:
    """Return the exact value of a finite unpacked number as a fraction."""
    return (-x.significand if x.sign else x.significand) * Fraction(2) ** x.exponent


# Rounding and encoding.


class RandomBits(NamedTuple):
    """The random bits of one stochastic rounding, after their rule was applied; ``fraction``: see `StochasticRule`."""

    value: int
    width: int
    fraction: int


def drawn_bits(random: Random, rule: StochasticRule) -> RandomBits | None:
    """Return random bits as a `StochasticRule` uses them; None without random bits."""
    return None if random is None else RandomBits(rule.taken(*random), random[1], rule.fraction)


def round_to_integer(
    sign: int, significand: int, shift: int, rounding: int, bits: RandomBits | None, odd: int = 0
) -> tuple[int, bool]:
    """Round significand / 2**shift to an integer, and tell whether that was inexact. All rounding happens here.

    ``odd``: 1 if an even integer means an odd code; see `code_parity`.
    """
    if shift <= 0:
        return significand << -shift, False
    kept = significand >> shift
    discarded = significand - (kept << shift)
    if not discarded:
        return kept, False
    if rounding == RNE:
        away = discarded << 1 > (1 << shift) - (kept & 1 ^ odd)
    elif rounding == RZ:
        away = False
    elif rounding == RU:
        away = not sign
    elif rounding == RD:
        away = bool(sign)
    elif rounding == RNA:
        away = bool(discarded >> (shift - 1))
    elif rounding == TO_ODD:
        away = not kept & 1 ^ odd
    else:
        if bits is None:
            raise ValueError("stochastic rounding needs random bits: give a pair (value, width)")
        scaled, _ = round_to_integer(0, discarded, shift - bits.width, bits.fraction, None)
        away = bool(scaled + bits.value >> bits.width)
    return kept + away, True


def code_parity(fmt: FloatFormat, lowest: int) -> int:
    """Return 1 if an even integer means an odd code: the last bit of the code that belongs to the significand 0 at the
    exponent ``lowest``. It can be 1 only in formats with ``even_code``, where ties go to the even code and not to the
    even significand.
    """
    return lowest - fmt.emin & 1 if fmt.even_code else 0


def round_pack(
    fmt: FloatFormat,
    sign: int,
    significand: int,
    exponent: int,
    rounding: int,
    policy: FloatPolicy,
    random: Random = None,
    saturate: bool | None = None,
) -> Result:
    """Round (-1)**sign * significand * 2**exponent once to a code; ``saturate``: whether overflow gives the largest
    finite value (None: as in arithmetic).
    """
    if not significand:
        return encode_zero(fmt, sign, policy)
    if policy.negative_to_unsigned == "absolute" and not fmt.signed:
        sign = 0
    if saturate is None:
        saturate = policy.arithmetic_saturation(fmt).numbers
    if sign and not fmt.signed and policy.negative_to_unsigned == "nan":
        return encode_nan(fmt, None, policy, INVALID)
    sign_bit = sign << (fmt.bits - 1)  # of an unsigned format: ``negative_to_unsigned=sign_bit``
    leading = significand.bit_length() - 1 + exponent
    lowest = (leading if leading > fmt.emin else fmt.emin) - fmt.mantissa_bits
    bits, parity = drawn_bits(random, policy.stochastic_rule), code_parity(fmt, lowest)
    kept, inexact = round_to_integer(sign, significand, lowest - exponent, rounding, bits, parity)
    flags = INEXACT if inexact else 0
    if leading < fmt.emin:
        if not fmt.zero:
            return Result(sign_bit if kept else 0, UNDERFLOW | INEXACT)
        tiny = policy.tininess == "before" or leading < fmt.emin - 1
        if not tiny:  # with an unlimited exponent the value may round up to the smallest normal one
            parity = code_parity(fmt, lowest - 1)
            unbounded, _ = round_to_integer(sign, significand, lowest - 1 - exponent, rounding, bits, parity)
            tiny = not unbounded >> fmt.precision
        flushing = policy.flushing(fmt)
        if flushing.results and (kept < 1 << fmt.mantissa_bits if flushing.delivered else tiny):
            zero = encode_zero(fmt, flushed_sign(fmt, sign, policy), policy)
            return zero._replace(flags=UNDERFLOW | INEXACT)
        if inexact and tiny:
            flags |= UNDERFLOW
    # A carry out of the fraction moves into the exponent field by itself, and so does a normal value's integer bit.
    magnitude = (lowest + fmt.mantissa_bits - fmt.emin << fmt.mantissa_bits) + kept
    if not fmt.zero:
        magnitude -= 1 << fmt.mantissa_bits
    if magnitude > fmt.max_magnitude:
        if saturate or not overflows(fmt, sign, rounding):
            return Result(sign_bit | fmt.max_code, OVERFLOW | INEXACT)
        return encode_infinity(fmt, sign, OVERFLOW | INEXACT, "max")
    if fmt.zero and not (magnitude or fmt.has_negative_zero):
        sign_bit = 0
    return Result(sign_bit | fmt.from_magnitude(magnitude), flags)


def overflows(fmt: FloatFormat, sign: int, rounding: int) -> bool:
    """Tell whether a rounded value beyond the largest finite value overflows in this mode. If not, it becomes the
    largest finite value.
    """
    if rounding == TO_ODD:  # the largest value and infinity are the two neighbours, and one of their codes is odd
        return fmt.infinities and not fmt.max_magnitude & 1
    return rounding in (RNE, RNA, STOCHASTIC) or rounding == (RD if sign else RU)


def with_sign(fmt: FloatFormat, sign: int, code: int) -> int:
    """Return a positive code with this sign; in an unsigned format, the code itself."""
    return code | sign << (fmt.bits - 1) if fmt.signed else code


def encode_zero(fmt: FloatFormat, sign: int, policy: FloatPolicy) -> Result:
    """Return zero, with its sign if the format has -0."""
    if not fmt.zero:
        return Result(0, INEXACT) if policy.zero_to_zeroless == "smallest" else encode_nan(fmt, None, policy, INVALID)
    return Result(with_sign(fmt, sign, 0) if fmt.has_negative_zero else 0)


def encode_infinity(fmt: FloatFormat, sign: int, flags: int, nanless: str, saturate: bool = False) -> Result:
    """Return infinity. A format without infinities gives its NaN of that sign. A format with neither gives the result
    that ``nanless`` selects: max or zero. ``saturate``: always give the largest finite value.
    """
    if saturate:
        return Result(with_sign(fmt, sign, fmt.max_code), flags)
    if fmt.infinity_code is not None:
        return Result(with_sign(fmt, sign, fmt.infinity_code), flags)
    if fmt.nan_code is not None:
        return Result(with_sign(fmt, sign, fmt.nan_code), flags)
    return Result(with_sign(fmt, sign, fmt.max_code if nanless == "max" else 0), flags)


def arithmetic_infinity(fmt: FloatFormat, sign: int, policy: FloatPolicy) -> Result:
    """Return the infinite result of an operation with an infinite operand."""
    saturate = policy.arithmetic_saturation(fmt).infinities
    return encode_infinity(fmt, sign, OVERFLOW | INEXACT if saturate else 0, "max", saturate)


class NanRule(NamedTuple):
    """The bits of NaN results. ``sign``: the sign of results with a NaN operand, None for the operand's own sign;
    ``made``: the sign of other NaN results. ``fraction``: KEPT, the operand's fraction bits; QUIET, none but the quiet
    bit; ONES, all bits.
    """

    sign: int | None
    fraction: str
    made: int = 0


KEPT, QUIET, ONES = "kept", "quiet", "ones"
_NAN_RULES = {
    "payload": NanRule(None, KEPT),
    "canonical": NanRule(0, QUIET),
    "canonical_signed": NanRule(None, QUIET, 1),
    "negative": NanRule(None, KEPT, 1),
    "canonical_bf16": NanRule(None, KEPT),
    "all_ones": NanRule(0, ONES),
    "signalling_first": NanRule(None, KEPT),
    "largest": NanRule(None, KEPT, 1),
}


def nan_rule(fmt: FloatFormat, source: FloatFormat, policy: FloatPolicy, converts: bool = False) -> NanRule:
    """Return the bits of NaN results of a format, with operands of the format ``source``; ``converts``: for a
    conversion.
    """
    to_bf16 = fmt == FORMATS["bf16"] != source
    if converts and policy.nan_converted == "sign_of_8":
        return NanRule(None, QUIET if to_bf16 or min(fmt.bits, source.bits) <= 8 else KEPT)
    if converts and policy.nan_converted == "all_ones_of_8":
        return NanRule(0, QUIET) if to_bf16 else NanRule(None, ONES if fmt.bits <= 8 else KEPT)
    if converts and policy.nan_converted == "payload_of_f64_to_8" and source.exponent_bits > 8 >= fmt.bits:
        return NanRule(None, KEPT)  # exponent bits tell f64 also where its leading bits stand for it: `table_path`
    if policy.nan_result == "canonical_bf16" and to_bf16:
        return NanRule(0, QUIET)
    if policy.nan_result == "canonical_signed" and source.nan is NanEncoding.NEGATIVE_ZERO:
        return NanRule(1, QUIET, 1)
    return _NAN_RULES[policy.nan_result]


def encode_nan(
    fmt: FloatFormat,
    nan: Unpacked | None,
    policy: FloatPolicy,
    flags: int,
    source: FloatFormat | None = None,
    converts: bool = False,
) -> Result:
    """Return a NaN result: of the operand ``nan`` of the format ``source`` (default: fmt), or of an invalid operation
    if ``nan`` is None. ``converts``: for a conversion.
    """
    source = source or fmt
    rule = nan_rule(fmt, source, policy, converts)
    sign = rule.made if nan is None else nan.sign if rule.sign is None else rule.sign
    if fmt.nan_code is None:
        lost = {"zero": sign, "zero_inverted": 1 - sign, "negative_zero": 1}
        code = fmt.max_code if policy.nan_to_nanless == "max" else with_sign(fmt, lost.get(policy.nan_to_nanless, 0), 0)
        return Result(code, flags | INVALID, policy.nan_to_nanless == "poison")
    code_bits = fmt.nan_code
    if fmt.nan is NanEncoding.IEEE:  # the quiet bit is part of nan_code
        if rule.fraction == ONES:
            code_bits |= fmt.fraction_mask
        elif rule.fraction == KEPT and nan:
            code_bits |= nan.significand << fmt.mantissa_bits >> source.mantissa_bits
    return Result(with_sign(fmt, sign, code_bits), flags)


def chosen_nan(policy: FloatPolicy, *operands: Unpacked) -> Unpacked | None:
    """Return the NaN operand whose payload the result gets; None if no operand is a NaN. On x87 an invalid operand,
    which is a signalling NaN without a fraction, gives the default NaN.
    """
    nans = [x for x in operands if x.kind >= QUIET_NAN]
    if policy.nan_result == "signalling_first":
        return next((x for x in nans if x.kind == SIGNALLING_NAN), nans[0] if nans else None)
    if policy.nan_result == "largest":
        if any(x.kind == SIGNALLING_NAN and not x.significand for x in nans):
            return Unpacked(QUIET_NAN, 1, 0, 0)
        return reduce(_larger_nan, nans) if nans else None
    return nans[0] if nans else None


def _larger_nan(x: Unpacked, y: Unpacked) -> Unpacked:
    """Return the quiet one of two NaNs, else the one with the larger significand, else the positive one."""
    x_rank, y_rank = ((each.kind == QUIET_NAN, each.significand, -each.sign) for each in (x, y))
    return y if y_rank > x_rank else x


def invalid_if_signalling(*operands: Unpacked) -> int:
    """Return the invalid flag if one of these operands is a signalling NaN, else 0."""
    return INVALID if any(x.kind == SIGNALLING_NAN for x in operands) else 0


def first_nan(fmt: FloatFormat, x: Unpacked, y: Unpacked, policy: FloatPolicy) -> Result:
    """Return the result of an operation with at least one NaN operand."""
    return encode_nan(fmt, chosen_nan(policy, x, y), policy, invalid_if_signalling(x, y))


# Conversions.


def through_f32(dst: FloatFormat, policy: FloatPolicy) -> bool:
    """Tell whether integers, and floats wider than f32, are rounded to f32 before they are converted to ``dst``."""
    return (dst.bits < 32 and policy.wide_source == "through_f32") or (
        dst == FORMATS["bf16"] and policy.wide_source == "bf16_through_f32"
    )


def cuts(dst: FloatFormat, policy: FloatPolicy) -> bool:
    """Tell whether conversions to ``dst`` truncate floats: ``float_to_zeroless=cut``."""
    return not dst.zero and policy.float_to_zeroless == "cut"


def rounds_smallest_up(dst: FloatFormat, rounding: int, policy: FloatPolicy) -> bool:
    """Tell whether conversions to ``dst`` round as ``float_to_zeroless=smallest_up`` defines."""
    return not dst.zero and policy.float_to_zeroless == "smallest_up" and rounding in (RNE, RNA)


def rounds_ties_away(dst: FloatFormat, policy: FloatPolicy) -> bool:
    """Tell whether conversions to ``dst`` round as ``float_to_nanless=ties_away`` defines."""
    return not dst.infinities and dst.nan_code is None and policy.float_to_nanless == "ties_away"


def convert(
    src: FloatFormat,
    dst: FloatFormat,
    a: int,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    exponent: int = 0,
) -> Result:
    """Convert a code of ``src``, times 2**exponent, to ``dst`` (which may be the same: then NaNs are quieted)."""
    if src.bits > 32 and (through_f32(dst, policy) or cuts(dst, policy)):
        first = convert(src, FORMATS["f32"], a, RNE, policy, None, exponent)
        return also(convert(FORMATS["f32"], dst, first.code, rounding, policy, random), first.flags)
    x = operand(src, a, policy)
    if x.kind >= QUIET_NAN:
        if policy.zeroless_nan_widened == "infinity" and not src.zero and dst.infinity_code is not None:
            return Result(dst.infinity_code)
        return encode_nan(dst, chosen_nan(policy, x), policy, invalid_if_signalling(x), src, converts=True)
    saturate = policy.conversion_saturation(dst)
    if cuts(dst, policy):
        x, rounding = x._replace(sign=0), RZ
    elif x.kind == FINITE and rounds_ties_away(dst, policy):
        below = x.significand.bit_length() + x.exponent + exponent <= dst.emin - dst.mantissa_bits
        x, rounding = (x._replace(sign=0), RNE) if below or not x.significand else (x, RNA)
    elif x.kind == FINITE and rounds_smallest_up(dst, rounding, policy):
        # Three quarters of the way from the smallest value to the next one stand for all that is between them.
        smallest, step = Fraction(2) ** dst.emin, Fraction(2) ** (dst.emin - dst.mantissa_bits)
        if smallest < abs(number(x)) * Fraction(2) ** exponent < smallest + step:
            between = (4 << dst.mantissa_bits) + 3
            x = x._replace(significand=between, exponent=dst.emin - dst.mantissa_bits - 2 - exponent)
    if policy.zeroless_smallest_widened == "zero" and not (src.zero or a) and dst.zero:
        return encode_zero(dst, 0, policy)
    if x.kind == FINITE:
        return round_pack(dst, x.sign, x.significand, x.exponent + exponent, rounding, policy, random, saturate.numbers)
    if x.sign and not dst.signed:
        return round_pack(dst, 1, 1, dst.emax + 1, RNE, policy, None, saturate.infinities)
    replaced = OVERFLOW | INEXACT if saturate.infinities or not dst.infinities else 0
    return encode_infinity(dst, x.sign, replaced, policy.infinity_to_nanless, saturate.infinities)


def from_double(dst: FloatFormat, number: float) -> int:
    """Return the code of a Python float, rounded to nearest even, as decimal literals are."""
    return convert(FORMATS["f64"], dst, double_bits(number)).code


def from_integer(
    dst: FloatFormat,
    number: int,
    rounding: int = RNE,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    exponent: int = 0,
) -> Result:
    """Convert a Python integer times 2**exponent to a code."""
    sign, saturate = int(number < 0), policy.conversion_saturation(dst).numbers
    if through_f32(dst, policy):
        first = round_pack(FORMATS["f32"], sign, abs(number), exponent, RNE, policy, None, saturate=False)
        return also(convert(FORMATS["f32"], dst, first.code, rounding, policy, random), first.flags)
    return round_pack(dst, sign, abs(number), exponent, rounding, policy, random, saturate)


def from_fraction(
    dst: FloatFormat, number: Fraction, rounding: int = RNE, policy: FloatPolicy = SPEC, random: Random = None
) -> Result:
    """Convert a rational number to a code."""
    sign, saturate = int(number < 0), policy.conversion_saturation(dst).numbers
    return quotient(dst, sign, abs(number.numerator), number.denominator, 0, rounding, policy, random, saturate)


def to_integer(
    src: FloatFormat,
    a: int,
    width: int,
    signed: bool,
    rounding: int = RZ,
    policy: FloatPolicy = SPEC,
    random: Random = None,
) -> Result:
    """Convert a code to an integer of ``width`` bits, in two's complement if ``signed``. For values out of range,
    ``float_to_int`` defines the result.
    """
    return integer_of(operand(src, a, policy), width, signed, rounding, policy, random, src)


def integer_of(
    x: Unpacked,
    width: int,
    signed: bool,
    rounding: int = RZ,
    policy: FloatPolicy = SPEC,
    random: Random = None,
    source: FloatFormat | None = None,
) -> Result:
    """Convert an unpacked value to an integer; see `to_integer`. ``source``: the format of the value, which a NaN
    needs.
    """
    container = integer_container(width, signed, policy)
    if container is not None:
        found = integer_of(x, container, True, rounding, policy, random, source)
        return found._replace(code=found.code & ((1 << width) - 1))
    lowest, highest = (-(1 << width >> 1), (1 << width >> 1) - 1) if signed and width else (0, (1 << width) - 1)
    mask = (1 << width) - 1
    if x.kind == FINITE:
        bits = drawn_bits(random, policy.stochastic_rule)
        magnitude, inexact = round_to_integer(x.sign, x.significand, -x.exponent, rounding, bits)
        number = -magnitude if x.sign else magnitude
        if lowest <= number <= highest:
            return Result(number & mask, INEXACT if inexact else 0)
        if policy.float_to_int == "modular":
            return Result(number & mask, INVALID)
    if policy.float_to_int == "poison":
        return Result(0, INVALID, True)
    if policy.float_to_int in ("indefinite", "indefinite_wrapped"):
        return Result((lowest if signed else highest) & mask, INVALID)
    if policy.float_to_int == "modular":
        return Result(0, INVALID)
    if x.kind >= QUIET_NAN:
        assert source is not None
        return Result(saturated_nan(source, width, signed, policy), INVALID)
    return Result((lowest if x.sign else highest) & mask, INVALID)


def saturated_nan(source: FloatFormat, width: int, signed: bool, policy: FloatPolicy) -> int:
    """Return the code of the integer of ``width`` bits that a NaN becomes under a policy that saturates."""
    if policy.float_to_int == "saturate_nan_max":
        return (1 << width) - 1 >> signed
    on_top = policy.float_to_int == "saturate_nan_top" and max(source.bits, width) > 32
    return 1 << width >> 1 if on_top else 0


def integer_container(width: int, signed: bool, policy: FloatPolicy) -> int | None:
    """Return the width of the signed integers to which the policy converts first, when the result is an integer of
    ``width`` bits: the result is their low bits. None if the policy converts to ``width`` bits directly.
    """
    if policy.float_to_int != "indefinite_wrapped" or width >= 64 or (signed and width == 32):
        return None
    return 32 if width < 32 else 64


def to_integral(fmt: FloatFormat, a: int, rounding: int = RNE, policy: FloatPolicy = SPEC) -> Result:
    """Round a code to an integer of the same format, in the given mode. A zero keeps its sign, and the inexact flag is
    not raised.

    If that integer is beyond the largest value (8 in f6E2M3FN, from 7.5), it overflows, to nearest even.
    """
    x = operand(fmt, a, policy)
    if x.kind >= QUIET_NAN:
        return encode_nan(fmt, chosen_nan(policy, x), policy, invalid_if_signalling(x))
    if x.kind == INFINITE:
        return encode_infinity(fmt, x.sign, 0, "max")
    whole, _ = round_to_integer(x.sign, x.significand, -x.exponent, rounding, None)
    return round_pack(fmt, x.sign, whole, 0, RNE, policy)


def also(result: Result, flags: int) -> Result:
    """Return a result with these flags added to its own."""
    return result._replace(flags=result.flags | flags)


# Arithmetic.


def add(
    fmt: FloatFormat, a: int, b: int, rounding: int = RNE, policy: FloatPolicy = SPEC, random: Random = None
) -> Result:
    """Add two codes."""
    return signed_sum(fmt, operand(fmt, a, policy), operand(fmt, b, policy), 0, rounding, policy, random)


def subtract(
    fmt: FloatFormat, a: int, b: int, rounding: int = RNE, policy: FloatPolicy = SPEC, random: Random = None
) -> Result:
    """Subtract ``b`` from ``a``; a NaN ``b`` keeps its sign."""
    return signed_sum(fmt, operand(fmt, a, policy), operand(fmt, b, policy), 1, rounding, policy, random)


def signed_sum(
    fmt: FloatFormat, x: Unpacked, y: Unpacked, flip: int, rounding: int, policy: FloatPolicy, random: Random
) -> Result:
    """Return x + y of unpacked numbers, rounded once to a code of ``fmt``; x - y if ``flip`` is 1."""
    if x.kind >= QUIET_NAN or y.kind >= QUIET_NAN:
        return first_nan(fmt, x, y, policy)
    if flip:
        y = y._replace(sign=1 - y.sign)
    if x.kind == INFINITE or y.kind == INFINITE:
        if x.kind == y.kind and x.sign != y.sign:
            return encode_nan(fmt, None, policy, INVALID)
        return arithmetic_infinity(fmt, (x if x.kind == INFINITE else y).sign, policy)
    exponent = min(x.exponent, y.exponent)
    total = aligned(x, exponent) + aligned(y, exponent)
    # Exact zeros (IEEE 754, 6.3): equal signs are kept, unequal ones give +0, in DOWNWARD -0.
    sign = int(total < 0) if total else x.sign if x.sign == y.sign else int(rounding == RD)
    return round_pack(fmt, sign, abs(total), exponent, rounding, policy, random)


def aligned(x: Unpacked, exponent: int) -> int:
    """Return a finite value as a signed multiple of 2**exponent."""
    return (-x.significand if x.sign else x.significand) << (x.exponent - exponent)


def multiply(
    fmt: FloatFormat, a: int, b: int, rounding: int = RNE, policy: FloatPolicy = SPEC, random: Random = None
) -> Result:
    """Multiply two codes."""
    return product(fmt, operand(fmt, a, policy), operand(fmt, b, policy), rounding, policy, random)


def product(
    fmt: FloatFormat, x: Unpacked, y: Unpacked, rounding: int, policy: FloatPolicy, random: Random = None
) -> Result:
    """Return x * y of unpacked numbers, rounded once to a code of ``fmt``."""
    if x.kind >= QUIET_NAN or y.kind >= QUIET_NAN:
        return first_nan(fmt, x, y, policy)
    sign = x.sign ^ y.sign
    if x.kind == INFINITE or y.kind == INFINITE:
        if FINITE in (x.kind, y.kind) and not (x.significand or y.significand):
            return encode_nan(fmt, None, policy, INVALID)
        return arithmetic_infinity(fmt, sign, policy)
    return round_pack(fmt, sign, x.significand * y.significand, x.exponent + y.exponent, rounding, policy, random)


def fma(
    fmt: FloatFormat, a: int, b: int, c: int, rounding: int = RNE, policy: FloatPolicy = SPEC, random: Random = None
) -> Result:
    """Return a * b + c, rounded once.

    IEEE 754 (7.2) does not specify infinity times zero plus a quiet NaN: ``fma_undefined`` defines the result.
    """
    x, y, z = (operand(fmt, code, policy) for code in (a, b, c))
    return fused(fmt, x, y, z, rounding, policy, random)


def fused(
    fmt: FloatFormat,
    x: Unpacked,
    y: Unpacked,
    z: Unpacked,
    rounding: int,
    policy: FloatPolicy,
    random: Random = None,
    negates: tuple[int, int] = (0, 0),
) -> Result:
    """Return x * y + z of unpacked numbers, rounded once. ``negates``: 1 to change the sign of the product, and 1 to
    change that of z. The policy's ``negated_nan`` says whether the sign of a NaN changes.
    """
    if policy.negated_nan == "negated":
        x, z = (each._replace(sign=each.sign ^ negated) for each, negated in zip((x, z), negates, strict=True))
        negates = (0, 0)
    undefined = {x.kind, y.kind} == {FINITE, INFINITE} and not (x.significand or y.significand)
    nan = chosen_nan(policy, *((z, x, y) if policy.nan_result == "signalling_first" else (x, y, z)))
    if nan or undefined:
        rule = policy.fma_undefined
        if undefined and (rule == "always_default_nan" or (z.kind == QUIET_NAN and rule != "invalid")):
            nan, undefined = (z, False) if rule == "quiet" else (None, True)
        return encode_nan(fmt, nan, policy, INVALID if undefined else invalid_if_signalling(x, y, z))
    sign = x.sign ^ y.sign ^ negates[0]
    exact = Unpacked(max(x.kind, y.kind), sign, x.significand * y.significand, x.exponent + y.exponent)
    return signed_sum(fmt, exact, z, negates[1], rounding, policy, random)


def divide(
    fmt: FloatFormat, a: int, b: int, rounding: int = RNE, policy: FloatPolicy = SPEC, random: Random = None
) -> Result:
    """Divide ``a`` by ``b``."""
    return ratio(fmt, operand(fmt, a, policy), operand(fmt, b, policy), rounding, policy, random)


def ratio(
    fmt: FloatFormat, x: Unpacked, y: Unpacked, rounding: int, policy: FloatPolicy, random: Random = None
) -> Result:
    """Return x / y of unpacked numbers, rounded once to a code of ``fmt``."""
    if x.kind >= QUIET_NAN or y.kind >= QUIET_NAN:
        return first_nan(fmt, x, y, policy)
    sign = x.sign ^ y.sign
    if x.kind == INFINITE:
        if y.kind == INFINITE:
            return encode_nan(fmt, None, policy, INVALID)
        return arithmetic_infinity(fmt, sign, policy)
    if y.kind == INFINITE:
        return encode_zero(fmt, sign, policy)
    if not y.significand:
        if not x.significand:
            return encode_nan(fmt, None, policy, INVALID)
        saturate = policy.arithmetic_saturation(fmt).infinities
        return encode_infinity(fmt, sign, DIVIDE_BY_ZERO, policy.divide_by_zero_nanless, saturate)
    return quotient(fmt, sign, x.significand, y.significand, x.exponent - y.exponent, rounding, policy, random)


def quotient(
    fmt: FloatFormat,
    sign: int,
    numerator: int,
    denominator: int,
    exponent: int,
    rounding: int,
    policy: FloatPolicy,
    random: Random,
    saturate: bool | None = None,
) -> Result:
    """Round numerator / denominator * 2**exponent once to a code, with the sign ``sign``.

    ``saturate``: whether overflow gives the largest finite value (None: as in arithmetic).
    """
    extra = fmt.precision + 2 + (random[1] if random else 0)
    extra += max(0, denominator.bit_length() - numerator.bit_length())
    digits, rest = divmod(numerator << extra, denominator)
    return round_pack(fmt, sign, digits << 1 | (rest != 0), exponent - extra - 1, rounding, policy, random, saturate)


def remainder(
    fmt: FloatFormat, a: int, b: int, rounding: int = RNE, policy: FloatPolicy = SPEC, random: Random = None
) -> Result:
    """Return a - trunc(a / b) * b, as fmod of C does. It is exact, so the rounding mode has no effect, and it has the
    sign of ``a``.

    With ``remainder=ieee`` a / b is rounded to nearest even instead; then only a zero result always has the sign of
    ``a``.
    """
    x, y = operand(fmt, a, policy), operand(fmt, b, policy)
    if x.kind >= QUIET_NAN or y.kind >= QUIET_NAN:
        return first_nan(fmt, x, y, policy)
    if x.kind == INFINITE or not (y.significand or y.kind == INFINITE):
        return encode_nan(fmt, None, policy, INVALID)
    if y.kind == INFINITE:
        return round_pack(fmt, x.sign, x.significand, x.exponent, rounding, policy, random)
    exponent = min(x.exponent, y.exponent)
    divisor = y.significand << (y.exponent - exponent)
    whole, rest = divmod(x.significand << (x.exponent - exponent), divisor)
    if policy.remainder == "ieee" and rest << 1 > divisor - (whole & 1):
        return round_pack(fmt, 1 - x.sign, divisor - rest, exponent, rounding, policy, random)
    return round_pack(fmt, x.sign, rest, exponent, rounding, policy, random)


def negate(fmt: FloatFormat, a: int, policy: FloatPolicy = SPEC) -> Result:
    """Change the sign bit of a code, which may be a NaN. Zero and NaN of FNUZ formats stay as they are; for unsigned
    formats see `round_pack`.
    """
    if fmt.signed:
        assert fmt.sign_mask is not None
        fixed = not fmt.has_negative_zero and not a & ~fmt.sign_mask
        return Result(a if fixed else a ^ fmt.sign_mask)
    x = unpack(fmt, a)
    if x.kind >= QUIET_NAN:
        return encode_nan(fmt, x, policy, 0)
    if x.kind == INFINITE:
        return round_pack(fmt, 1, 1, fmt.emax + 1, RNE, policy)
    return round_pack(fmt, 1, x.significand, x.exponent, RNE, policy)


def flush(fmt: FloatFormat, a: int, policy: FloatPolicy = SPEC) -> Result:
    """Replace a subnormal by zero; do not change other codes."""
    if not fmt.is_subnormal(a):
        return Result(a)
    sign = int(fmt.signed and a >> (fmt.bits - 1))
    return encode_zero(fmt, flushed_sign(fmt, sign, policy), policy)


# Comparisons.

EQUAL, GREATER, LESS, UNORDERED = 1, 2, 4, 8
PREDICATES = (0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 8, 15)
"""The relations for which each cmpf predicate holds: false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno
true.
"""
OEQ, OLT, UNE, UNO = 1, 4, 13, 14
"""The numbers of some predicates."""


def order(x: Unpacked, y: Unpacked) -> int:
    """Return a negative number, zero or a positive number for x < y, x = y or x > y; neither is a NaN."""
    if x.kind == INFINITE or y.kind == INFINITE:
        return (x.kind == INFINITE) * (1 - 2 * x.sign) - (y.kind == INFINITE) * (1 - 2 * y.sign)
    exponent = min(x.exponent, y.exponent)
    return aligned(x, exponent) - aligned(y, exponent)


def compare(fmt: FloatFormat, predicate: int, a: int, b: int, policy: FloatPolicy = SPEC) -> bool:
    """Tell whether MLIR's cmpf predicate number ``predicate`` holds for a and b."""
    x, y = operand(fmt, a, policy), operand(fmt, b, policy)
    if x.kind >= QUIET_NAN or y.kind >= QUIET_NAN:
        relation = UNORDERED
    else:
        difference = order(x, y)
        relation = GREATER if difference > 0 else LESS if difference < 0 else EQUAL
    return PREDICATES[predicate] & relation != 0


def extremum(fmt: FloatFormat, a: int, b: int, policy: FloatPolicy, largest: bool, number: bool) -> Result:
    """Return the larger or smaller value, with -0 < +0. ``number``: if one operand is a NaN, the result is the other
    one; of two NaNs it is the second.
    """
    x, y = operand(fmt, a, policy), operand(fmt, b, policy)
    flags = invalid_if_signalling(x, y)
    if policy.extrema == "selected":
        second = (x if number else y).kind >= QUIET_NAN
        if not second and max(x.kind, y.kind) < QUIET_NAN:
            second = order(x, y) <= 0 if largest else order(x, y) >= 0
        return Result(b if second else a, flags)
    if policy.extrema == "second":
        if max(x.kind, y.kind) >= QUIET_NAN:
            return Result(b, INVALID)
        return Result(a if (order(x, y) > 0 if largest else order(x, y) < 0) else b)
    if policy.extrema == "number_selected" and number:
        if x.kind >= QUIET_NAN:
            return Result(b, flags)
        if y.kind < QUIET_NAN and (order(x, y) < 0 if largest else order(x, y) > 0):
            x = y
        y = x
    if x.kind >= QUIET_NAN or y.kind >= QUIET_NAN:
        if not number:
            return first_nan(fmt, x, y, policy)
        nan, other = (y, x) if y.kind >= QUIET_NAN else (x, y)
        if flags and policy.number_of_signalling == "quieted":
            return encode_nan(fmt, x if x.kind == SIGNALLING_NAN else y, policy, flags)
        if other.kind >= QUIET_NAN:
            return encode_nan(fmt, nan if policy.first_nan_counts else chosen_nan(policy, x, y), policy, flags)
        chosen = other
    else:
        difference = order(x, y) or y.sign - x.sign
        chosen = x if (difference > 0) == largest else y
    if chosen.kind == INFINITE:
        return encode_infinity(fmt, chosen.sign, flags, "max")
    return also(round_pack(fmt, chosen.sign, chosen.significand, chosen.exponent, RNE, policy), flags)


def maximum(fmt: FloatFormat, a: int, b: int, policy: FloatPolicy = SPEC) -> Result:
    """Return the larger of a and b; NaN if either is NaN."""
    return extremum(fmt, a, b, policy, largest=True, number=False)


def minimum(fmt: FloatFormat, a: int, b: int, policy: FloatPolicy = SPEC) -> Result:
    """Return the smaller of a and b; NaN if either is NaN."""
    return extremum(fmt, a, b, policy, largest=False, number=False)


def maximum_number(fmt: FloatFormat, a: int, b: int, policy: FloatPolicy = SPEC) -> Result:
    """Return the larger of a and b; the other one if one is NaN."""
    return extremum(fmt, a, b, policy, largest=True, number=True)


def minimum_number(fmt: FloatFormat, a: int, b: int, policy: FloatPolicy = SPEC) -> Result:
    """Return the smaller of a and b; the other one if one is NaN."""
    return extremum(fmt, a, b, policy, largest=False, number=True)
