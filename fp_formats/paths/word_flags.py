"""Float operations on machine words with exception flags, for every format of up to 64 bits, mode and policy.

Each function returns a description (see `words`) of two results: the code, and the flags in 8 bits. Both are those of
`scalar`. It returns None where it has no description, and refuses what is poison.

**The way.** The exact result, rounded to odd in a longer format, is rounded once more by `word_rounding.rounded`. Odd
rounding keeps all that a later rounding looks at, if it keeps two bits more than the result has. The longer format is

- *a carrier*: f32 or f64 of the processor, if the operands and exact products are numbers of it. The error of its
  sums, products, quotients and roots is exact by known sequences of additions and multiplications, and its sign says
  how the last bit has to be set;
- *words*, if the operands have up to 53 bits: integers of 64 bits, and of 128 bits for the sum of a product of f64.

Special operands take no other way: all cases are computed for each element, and the right one is chosen at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.mixed import OPERATIONS
from halfulp.fp_formats.paths import llvm
from halfulp.fp_formats.paths.emitter import natural
from halfulp.fp_formats.paths.word_floats import widened
from halfulp.fp_formats.paths.word_rounding import (
    Draw,
    Flagged,
    Number,
    Operand,
    added,
    bit,
    by_sign,
    flag,
    holds,
    jammed,
    nan_result,
    operand,
    refuse_lost,
    refuse_lost_nan,
    rounded,
    upper_half,
    where,
)
from halfulp.fp_formats.paths.words import F32, F64, Implementation, Real, Word
from halfulp.fp_formats.policy import FloatPolicy
from halfulp.fp_formats.scalar import (
    DIVIDE_BY_ZERO,
    EQUAL,
    GREATER,
    INEXACT,
    INFINITE,
    INVALID,
    LESS,
    OVERFLOW,
    QUIET_NAN,
    RD,
    RNA,
    RNE,
    RU,
    RZ,
    STOCHASTIC,
    TO_ODD,
    UNORDERED,
    Result,
)

_NATIVE = tuple(FORMATS[name] for name in ("f16", "bf16", "f32", "f64"))


# --- carriers ---------------------------------------------------------------------------------------------------------


def _carries(carrier: FloatFormat, fmt: FloatFormat) -> bool:
    """Tell whether a carrier has all numbers of a format, as normal numbers, and `_number` can make them."""
    if fmt.limbs > 1 or fmt.precision > carrier.precision or (fmt.even_code and fmt.exponent_bits > 8):
        return False
    if not (carrier.emin <= fmt.emin - fmt.mantissa_bits and fmt.emax <= carrier.emax):
        return False
    if fmt in _NATIVE:
        return True
    return not fmt.zero or 0 <= carrier.bias - fmt.bias <= carrier.emax


def _number(x: Operand, carrier: FloatFormat) -> Real:
    """Return the number of an operand that is finite; any number for others."""
    fmt, a = x.fmt, x.code
    if fmt in _NATIVE:
        number = widened(fmt, a).converted(carrier)
        return (number.code() ^ (1 << carrier.bits - 1)).real(carrier) if x.flipped else number
    up = carrier.mantissa_bits - fmt.mantissa_bits
    magnitude = (a & fmt.magnitude_mask).resized(carrier.bits) << up
    if fmt.zero:
        code = (magnitude.real(carrier) * 2.0 ** (carrier.bias - fmt.bias)).code()
    else:
        code = magnitude + (carrier.bias - fmt.bias << carrier.mantissa_bits)
    return (code | x.sign.resized(carrier.bits) << (carrier.bits - 1)).real(carrier)


def _span(fmt: FloatFormat) -> tuple[int, int]:
    """Return the exponents of the lowest bit and of the first power of two beyond a format."""
    return fmt.emin - fmt.mantissa_bits, fmt.emax + 1


def _carrier(name: str, sources: Sequence[FloatFormat], target: FloatFormat) -> FloatFormat | None:
    """Return the shorter carrier of an operation, named as in `scalar`; None if neither f32 nor f64 is one."""
    for carrier in (F32, F64):
        if not all(_carries(carrier, fmt) for fmt in sources) or not holds(target, carrier.bits):
            continue
        spans = [_span(fmt) for fmt in sources]
        low, high = min(span[0] for span in spans), max(span[1] for span in spans)
        kept = carrier.precision
        if name in ("multiply", "fma"):
            bits = sources[0].precision + sources[1].precision
            low, high = min(low, spans[0][0] + spans[1][0]), max(high, spans[0][1] + spans[1][1])
            if bits > carrier.precision:
                continue
        elif name == "divide":
            kept = carrier.precision - sources[1].precision
            low, high = spans[0][0] - spans[1][1] - carrier.precision, spans[0][1] - spans[1][0]
        elif name == "sqrt":
            kept = carrier.precision // 2
        elif name == "convert":
            kept = target.precision + 2  # a number of the carrier is exact
        if kept >= target.precision + 2 and carrier.emin <= low and high + 1 <= carrier.emax:
            return carrier
    return None


def _parts(code: Word, carrier: FloatFormat) -> Number:
    """Return a normal number of a carrier as `rounded` takes it."""
    width, bits = carrier.bits, carrier.mantissa_bits
    field = (code & carrier.magnitude_mask).shift_right(bits)
    significand = ((code & carrier.fraction_mask) | (1 << bits)) << (width - 2 - bits)
    return Number(code.shift_right(width - 1).equals(1), field - carrier.bias, significand)


def _to_odd(number: Real, error: Real) -> Word:
    """Return the code of a number plus its error, rounded to odd; the error is less than the last place of the number,
    or, if the last bits of the number are zeros, less than they could be.
    """
    code, wrong = number.code(), error.code()
    inexact = error.less(0.0) | error.of(0.0).less(error)
    inward = inexact & (code ^ wrong).shift_right(code.width - 1).equals(1)
    return (code - inward.resized(code.width)) | inexact.resized(code.width)


def _sum(x: Real, y: Real) -> Word:
    """Return the code of a sum, rounded to odd (Knuth's TwoSum)."""
    total = x + y
    other = total - x
    return _to_odd(total, (x - (total - other)) + (y - other))


def _quotient(x: Real, y: Real, cut: int) -> Word:
    """Return the code of a quotient, rounded to odd; ``cut``: the bits that are dropped, so that products with the
    divisor are exact.
    """
    found = x.computed("divide", y)
    short = (found.code() & -(1 << cut)).real(found.fmt)
    rest = x - short * y
    # The sign of the error is that of the rest divided by y.
    return _to_odd(short, (rest.code() ^ (y.code() & (1 << y.fmt.bits - 1))).real(y.fmt))


def _root(x: Real, cut: int) -> Word:
    found = x.square_root()
    short = (found.code() & -(1 << cut)).real(found.fmt)
    return _to_odd(short, x - short * short)


# --- words ------------------------------------------------------------------------------------------------------------


def _split(x: Operand) -> Number:
    """Return an operand that f64 has as an integer of 53 bits, as `rounded` takes it; for zero any number."""
    number = _number(x, F64)
    code = number.code() & F64.magnitude_mask
    if x.fmt == F64:
        small = code.less(F64.min_normal_code, signed=False)
        code = small.choose((code.real(F64) * 2.0**54).code(), code)
        found = _parts(code, F64)
        return Number(x.sign, found.exponent - small.choose(code.of(54), code.of(0)), found.significand)
    return _parts(code, F64)._replace(sign=x.sign)


def _normalised(sign: Word, exponent: Word, significand: Word) -> Number:
    """Move the leading bit of an integer to the second highest place. ``exponent``: that of a number there."""
    up = significand.leading_zeros() - 1
    moved = significand << (up & (significand.width - 1))
    # The highest bit may be set: then the integer moves down.
    high = significand.shift_right(significand.width - 1).equals(1)
    down = significand.shift_right(1) | (significand & 1)
    return Number(sign, exponent - up.resized(exponent.width, signed=True), high.choose(down, moved))


def _added(x: Number, y: Number, x_zero: Word, y_zero: Word) -> tuple[Number, Word]:
    """Return the sum of two numbers, and whether it is zero. Their significands have the same width."""
    # The lower exponent moves up. A zero is far below everything.
    least = x.exponent.of(-(1 << 20))
    first, second = x_zero.choose(least, x.exponent), y_zero.choose(least, y.exponent)
    p, q = (zero.choose(each.significand.of(0), each.significand) for each, zero in ((x, x_zero), (y, y_zero)))
    above = second.less(first, signed=True) | (first.equals(second) & ~p.less(q, signed=False))
    big, small = above.choose(p, q), above.choose(q, p)
    top = above.choose(first, second)
    small = jammed(small, top - above.choose(second, first))
    differ = (x.sign ^ y.sign).equals(1)
    total = differ.choose(big - small, big + small)
    sign = above.choose(x.sign, y.sign)
    return _normalised(sign, top, total), total.equals(0)


def _product(x: Number, y: Number, width: int) -> Number:
    """Return the product of two numbers of 53 bits, exactly in 128 bits, or in 64 with a last bit for the others."""
    sign, exponent = x.sign ^ y.sign, x.exponent + y.exponent
    # 53 bits each, moved down to 53 and 54 bits: 2**52 * 2**53 is 2**105 to 2**107.
    a, b = (each.significand.shift_right(10).resized(128) for each in (x, y))
    exact = (a * b) << 20  # the leading bit is 2**124 or 2**125
    if width == 128:
        return _normalised_product(sign, exponent, exact)
    return _normalised_product(sign, exponent, upper_half(exact))


def _normalised_product(sign: Word, exponent: Word, product: Word) -> Number:
    """Move the leading bit, which is the third or the fourth one, to the second highest place."""
    width = product.width
    product = product << 1
    low = product.shift_right(width - 2).equals(0)
    return Number(sign, exponent + (~low).resized(exponent.width), low.choose(product << 1, product))


def _divided(x: Number, y: Number) -> Number:
    """Return the quotient of two numbers of 53 bits, by a division of f64 and its rest."""
    a, b = x.significand.shift_right(10), y.significand.shift_right(10)
    less = a.less(b, signed=False)
    a = less.choose(a + a, a)
    near = a.number(True, F64).computed("divide", b.number(True, F64)).code()  # in [1, 2)
    digits = (near & F64.fraction_mask) | (1 << 52)
    rest = (a << 52) - digits * b  # exact modulo 2**64, since it is below b
    return _with_rest(x.sign ^ y.sign, x.exponent - y.exponent - less.resized(64), digits << 10, rest)


def _with_rest(sign: Word, exponent: Word, digits: Word, rest: Word) -> Number:
    below = rest.shift_right(63).equals(1)
    return Number(sign, exponent, below.choose(digits - 1, digits | rest.differs(0).resized(64)))


def _rooted(x: Number) -> Number:
    """Return the square root of a number of 53 bits, by that of f64 and its rest."""
    a = x.significand.shift_right(10)
    odd = (x.exponent & 1).equals(1)
    near = odd.choose(a + a, a).number(True, F64)  # 2**52 to 2**54
    root = near.square_root().code()  # 2**26 to 2**27, as a number in [1, 2) times a power
    digits = (root & F64.fraction_mask) | (1 << 52)
    rest = (odd.choose(a + a, a) << 52) - digits * digits  # exact modulo 2**64
    half = (x.exponent - odd.resized(64)).shift_right(1, signed=True)
    return _with_rest(bit(x.sign, 0), half, digits << 10, rest)


# --- arithmetic -------------------------------------------------------------------------------------------------------


class _Exact(NamedTuple):
    """The result of finite operands: a number to round, and whether it is zero instead."""

    number: Number
    zero: Word


def _takes(sources: Sequence[FloatFormat], target: FloatFormat, rounding: int, policy: FloatPolicy) -> bool:
    """Tell whether there is a description at all."""
    return (
        rounding != STOCHASTIC
        and policy.nan_result != "largest"
        and all(fmt == F64 or _carries(F64, fmt) for fmt in sources)
        and holds(target, 64)
        and llvm.keeps_subnormals()
    )


def _settled(
    target: FloatFormat,
    policy: FloatPolicy,
    rounding: int,
    exact: _Exact,
    zero_sign: Word,
    infinite: Word,
    infinite_sign: Word,
    nan: Word,
    of_nan: Flagged,
    endless: Callable[[int], Result] | None = None,
    saturate: bool | None = None,
    draw: Draw | None = None,
) -> Flagged:
    """Choose among the result of finite operands, zero, infinity and NaN; the last one that holds counts.

    ``endless``: the infinite result by its sign; None: that of arithmetic. ``saturate``, ``draw``: see `rounded`.
    """
    counts = ~(exact.zero | infinite | nan)
    found = rounded(target, exact.number, rounding, policy, saturate, counts, draw)
    zeros: Callable[[int], Result] = lambda sign: scalar.encode_zero(target, sign, policy)  # noqa: E731
    endless = endless or (lambda sign: scalar.arithmetic_infinity(target, sign, policy))
    found = where(exact.zero, by_sign(zero_sign, target.bits, zeros), found)
    found = where(infinite, by_sign(infinite_sign, target.bits, endless), found)
    refuse_lost(exact.zero & ~infinite & ~nan, zero_sign, zeros)
    refuse_lost(infinite & ~nan, infinite_sign, endless)
    refuse_lost_nan(target, nan, policy)
    return where(nan, of_nan, found)


@llvm.forgotten
@lru_cache(maxsize=4096)
def arithmetic(
    name: str, sources: tuple[FloatFormat, ...], target: FloatFormat, rounding: int, policy: FloatPolicy
) -> Implementation | None:
    """Return the description of an operation of `mixed`: a sum, difference, product, quotient or multiply-add."""
    if not _takes(sources, target, rounding, policy):
        return None
    kind, negates = OPERATIONS[name].name, OPERATIONS[name].negates
    flip = name == "subtract"
    carrier = _carrier("add" if kind == "subtract" else kind, sources, target)

    def implementation(*codes: Word) -> Flagged:
        x, y, *rest = (operand(fmt, code, policy) for fmt, code in zip(sources, codes, strict=True))
        if kind == "divide":
            return _quotients(target, x, y, rounding, policy, carrier)
        if kind == "multiply":
            return _products(target, x, y, rounding, policy, carrier)
        if kind == "fma":
            return _fused(target, x, y, rest[0], negates, rounding, policy, carrier)
        signed = y.negated() if flip else y
        if carrier is not None:
            code = _sum(_number(x, carrier), _number(signed, carrier))
            exact = _Exact(_parts(code, carrier), (code & carrier.magnitude_mask).equals(0))
        else:
            exact = _Exact(*_added(_split(x), _split(signed), x.zero, y.zero))
        same = ~(x.sign ^ signed.sign)
        zero_sign = same.choose(x.sign, bit(x.sign, int(rounding == RD)))
        nan = x.nan | y.nan | (x.infinite & y.infinite & ~same)
        return _settled(
            target,
            policy,
            rounding,
            exact,
            zero_sign,
            x.infinite | y.infinite,
            x.infinite.choose(x.sign, signed.sign),
            nan,
            nan_result(target, (x, y), policy),
        )

    return implementation


def _products(
    target: FloatFormat, x: Operand, y: Operand, rounding: int, policy: FloatPolicy, carrier: FloatFormat | None
) -> Flagged:
    sign, zero = x.sign ^ y.sign, x.zero | y.zero
    if carrier is not None:
        number = _parts((_number(x, carrier) * _number(y, carrier)).code(), carrier)._replace(sign=sign)
    else:
        number = _product(_split(x), _split(y), 64)
    infinite = x.infinite | y.infinite
    nan = x.nan | y.nan | (infinite & zero)
    of_nan = nan_result(target, (x, y), policy)
    return _settled(target, policy, rounding, _Exact(number, zero), sign, infinite, sign, nan, of_nan)


def _quotients(
    target: FloatFormat, x: Operand, y: Operand, rounding: int, policy: FloatPolicy, carrier: FloatFormat | None
) -> Flagged:
    sign = x.sign ^ y.sign
    if carrier is not None:
        number = _parts(_quotient(_number(x, carrier), _number(y, carrier), y.fmt.precision), carrier)
        number = number._replace(sign=sign)
    else:
        number = _divided(_split(x), _split(y))
    nan = x.nan | y.nan | (x.infinite & y.infinite) | (x.zero & y.zero)
    of_nan = nan_result(target, (x, y), policy)
    exact = _Exact(number, x.zero | y.infinite)
    found = _settled(target, policy, rounding, exact, sign, x.infinite, sign, nan, of_nan)
    saturate = policy.arithmetic_saturation(target).infinities

    def by_zero(s: int) -> Result:
        return scalar.encode_infinity(target, s, DIVIDE_BY_ZERO, policy.divide_by_zero_nanless, saturate)

    return where(y.zero & ~(x.infinite | nan), by_sign(sign, target.bits, by_zero), found)


def _fused(
    target: FloatFormat,
    x: Operand,
    y: Operand,
    z: Operand,
    negates: tuple[int, int],
    rounding: int,
    policy: FloatPolicy,
    carrier: FloatFormat | None,
) -> Flagged:
    if negates[0]:
        x = x.negated()
    if negates[1]:
        z = z.negated()
    sign, product_zero = x.sign ^ y.sign, x.zero | y.zero
    if carrier is not None:
        first, second, other = (_number(each, carrier) for each in (x, y, z))
        code = _sum(first * second, other)
        exact = _Exact(_parts(code, carrier), (code & carrier.magnitude_mask).equals(0))
    else:
        addend = _split(z)
        wide = addend._replace(significand=addend.significand.resized(128) << 64)
        total, zero = _added(_product(_split(x), _split(y), 128), wide, product_zero, z.zero)
        exact = _Exact(total._replace(significand=upper_half(total.significand)), zero)
    infinite = x.infinite | y.infinite
    undefined = infinite & product_zero
    same = ~(sign ^ z.sign)
    zero_sign = same.choose(sign, bit(sign, int(rounding == RD)))
    endless = infinite | z.infinite
    opposed = infinite & z.infinite & ~same & ~undefined
    operands: tuple[Operand, ...] = (z, x, y) if policy.nan_result == "signalling_first" else (x, y, z)
    if policy.negated_nan != "negated":
        # A NaN keeps its own sign.
        back = {id(x): x.negated() if negates[0] else x, id(z): z.negated() if negates[1] else z}
        operands = tuple(back.get(id(each), each) for each in operands)
    of_nan = nan_result(target, operands, policy)
    given = x.nan | y.nan | z.nan
    nan = given | undefined | opposed
    rule, quiet = policy.fma_undefined, z.nan & ~z.signalling
    # By the rule "quiet", infinity times zero plus a quiet NaN raises nothing; without a NaN it is invalid by itself.
    if rule != "quiet":
        of_nan = of_nan._replace(flags=of_nan.flags | flag(undefined, INVALID))
    if rule in ("default_nan", "always_default_nan"):
        takes = undefined & quiet if rule == "default_nan" else undefined
        of_nan = where(takes, nan_result(target, (_no_nan(x),), policy), of_nan)
    return _settled(
        target,
        policy,
        rounding,
        exact,
        zero_sign,
        endless,
        infinite.choose(sign, z.sign),
        nan,
        of_nan,
    )


def _no_nan(x: Operand) -> Operand:
    """Return an operand that is no NaN, as those of an invalid operation."""
    no = bit(x.sign, 0)
    return Operand(x.fmt, x.code, no, no, no, no, no)


@llvm.forgotten
@lru_cache(maxsize=1024)
def root(source: FloatFormat, target: FloatFormat, rounding: int, policy: FloatPolicy) -> Implementation | None:
    """Return the description of a square root."""
    if not _takes((source,), target, rounding, policy):
        return None
    carrier = _carrier("sqrt", (source,), target)

    def implementation(a: Word) -> Flagged:
        x = operand(source, a, policy)
        if carrier is not None:
            number = _parts(_root(_number(x, carrier), carrier.precision - carrier.precision // 2), carrier)
        else:
            number = _rooted(_split(x))
        nan = x.nan | (x.sign & ~x.zero)
        of_nan = nan_result(target, (x,), policy)
        exact = _Exact(number._replace(sign=bit(x.sign, 0)), x.zero)
        return _settled(target, policy, rounding, exact, x.sign, x.infinite, bit(x.sign, 0), nan, of_nan)

    return implementation


# --- conversions ------------------------------------------------------------------------------------------------------


@llvm.forgotten
@lru_cache(maxsize=4096)
def convert(
    src: FloatFormat, dst: FloatFormat, rounding: int, policy: FloatPolicy, random_bits: int = 0
) -> Implementation | None:
    """Return the description of a conversion between floats. With stochastic rounding, it has a second operand, whose
    low ``random_bits`` bits are random.
    """
    stochastic = rounding == STOCHASTIC
    # The mode has no effect on what domains ask.
    domain_mode = RZ if stochastic else rounding
    if stochastic and not 0 < random_bits < 62 - dst.mantissa_bits:
        return None
    twice = src.bits > 32 and scalar.through_f32(dst, policy)
    special = scalar.cuts(dst, policy) or scalar.rounds_ties_away(dst, policy)
    if not _takes((src,), dst, domain_mode, policy) or twice or special:
        return None
    if scalar.rounds_smallest_up(dst, rounding, policy):
        return None
    carrier = None if stochastic else _carrier("convert", (src,), dst)
    saturation = policy.conversion_saturation(dst)
    replaced = OVERFLOW | INEXACT if saturation.infinities or not dst.infinities else 0

    def endless(sign: int) -> Result:
        if sign and not dst.signed:
            return scalar.round_pack(dst, 1, 1, dst.emax + 1, RNE, policy, None, saturation.infinities)
        return scalar.encode_infinity(dst, sign, replaced, policy.infinity_to_nanless, saturation.infinities)

    def implementation(a: Word, random: Word | None = None) -> Flagged:
        x = operand(src, a, policy)
        draw = None if random is None else Draw(random.resized(64) & ((1 << random_bits) - 1), random_bits)
        number = _split(x)
        if carrier is not None:
            number = _parts(_number(x, carrier).code(), carrier)._replace(sign=x.sign)
        of_nan = nan_result(dst, (x,), policy, src, converts=True)
        if policy.zeroless_nan_widened == "infinity" and not src.zero and dst.infinity_code is not None:
            of_nan = by_sign(bit(x.sign, 0), dst.bits, lambda _: Result(dst.infinity_code or 0))
        exact = _Exact(number, x.zero)
        if policy.zeroless_smallest_widened == "zero" and not src.zero and dst.zero:
            exact = _Exact(number, x.code.equals(0))
        found = x.sign, x.infinite, x.sign, x.nan, of_nan
        return _settled(dst, policy, rounding, exact, *found, endless, saturation.numbers, draw)

    return implementation


@llvm.forgotten
@lru_cache(maxsize=4096)
def from_integer(
    dst: FloatFormat, width: int, signed: bool, rounding: int, policy: FloatPolicy
) -> Implementation | None:
    """Return the description of a conversion of integers of 1 to 64 bits."""
    if not 0 < width <= 64 or not _takes((), dst, rounding, policy) or scalar.through_f32(dst, policy):
        return None
    saturate = policy.conversion_saturation(dst).numbers

    def implementation(a: Word) -> Flagged:
        wide = a.resized(64, signed)
        sign = wide.shift_right(63).equals(1) if signed else bit(a, 0)
        number = _normalised(sign, wide.of(62), sign.choose(wide.of(0) - wide, wide))
        no, plus = bit(a, 0), bit(a, 0)
        of_nan = by_sign(no, dst.bits, lambda _: Result(0))
        return _settled(
            dst, policy, rounding, _Exact(number, wide.equals(0)), plus, no, plus, no, of_nan, saturate=saturate
        )

    return implementation


_OUTSIDE = ("poison", "saturate", "saturate_nan_max", "saturate_nan_top", "indefinite", "indefinite_wrapped")
"""The rules for numbers that an integer type does not have whose result does not depend on the number."""


@llvm.forgotten
@lru_cache(maxsize=4096)
def to_integer(src: FloatFormat, width: int, signed: bool, rounding: int, policy: FloatPolicy) -> Implementation | None:
    """Return the description of a conversion to integers of 1 to 64 bits."""
    other = policy.float_to_int not in _OUTSIDE or scalar.integer_container(width, signed, policy) is not None
    if not 0 < width <= 64 or other or not _takes((src,), src, rounding, policy):
        return None
    highest = (1 << width >> signed) - 1
    huge = scalar.Unpacked(INFINITE, 0, 0, 0), scalar.Unpacked(INFINITE, 1, 0, 0)
    lost = scalar.Unpacked(QUIET_NAN, 0, 0, 0)

    def outside(x: scalar.Unpacked) -> Result:
        return scalar.integer_of(x, width, signed, rounding, policy, None, src)

    def implementation(a: Word) -> Flagged:
        x = operand(src, a, policy)
        number = _split(x)
        significand, exponent = number.significand, number.exponent
        # The significand stands for an integer from 2**62 on; below it is rounded.
        down = exponent.of(62) - exponent
        far = exponent.less(-1, signed=True)
        shift = (far | exponent.less(0, signed=True)).choose(down.of(63), down & 63)
        size = far.choose(significand.of(1), significand)
        unit = significand.of(1) << shift
        lowest = size.shift_right(shift) & 1
        least = (size + added(rounding, lowest, unit.shift_right(1), unit - 1, x.sign)).shift_right(shift)
        whole = ~exponent.less(62, signed=True)
        size_of = whole.choose(significand << (exponent - 62 & 1), least)
        size_of = x.zero.choose(size_of.of(0), size_of)
        inexact = ~whole & ~x.zero & (size & (unit - 1)).differs(0)
        most = size_of.of(highest)
        most = most + x.sign.resized(64) if signed else x.sign.choose(most.of(0), most)
        fits = x.zero | (exponent.less(64, signed=True) & size_of.at_most(most, signed=False))
        fits = fits & ~(x.nan | x.infinite)
        code = x.sign.choose(size_of.of(0) - size_of, size_of).resized(width)
        beyond = by_sign(x.sign, width, lambda s: outside(huge[s]))
        beyond = where(x.nan, by_sign(bit(a, 0), width, lambda _: outside(lost)), beyond)
        if policy.float_to_int == "poison":
            (~fits).refuse()
        return where(fits, Flagged(code, flag(inexact, INEXACT)), beyond)

    return implementation


@llvm.forgotten
@lru_cache(maxsize=1024)
def to_integral(
    fmt: FloatFormat, rounding: int, policy: FloatPolicy, says_inexact: bool = False
) -> Implementation | None:
    """Return the description of a rounding to an integer of the format. ``says_inexact``: the flag inexact is raised if
    a fraction is dropped.
    """
    if not _takes((fmt,), fmt, rounding, policy) or not fmt.zero or not fmt.emin <= 0 <= fmt.emax or fmt.even_code:
        return None
    if not fmt.signed or not 0 <= fmt.bias + fmt.mantissa_bits < 1 << 14:
        return None
    bits, width = fmt.mantissa_bits, natural(fmt.bits)
    one = fmt.bias << bits
    if scalar.value(fmt, one) != 1:
        return None
    last = fmt.bias + bits  # the field of the least number whose last place is 1

    def too_large(sign: int) -> Result:
        return scalar.round_pack(fmt, sign, 1, fmt.emax + 1, RNE, policy)

    def implementation(a: Word) -> Flagged:
        x = operand(fmt, a, policy)
        magnitude = (x.code & fmt.magnitude_mask).resized(width)
        field = magnitude.shift_right(bits)
        whole = ~field.less(last, signed=False)
        below = magnitude.less(one, signed=False)
        shift = (whole | below).choose(field.of(0), field.of(last) - field)
        unit = field.of(1) << shift
        lowest = ((magnitude & fmt.fraction_mask) | (1 << bits)).shift_right(shift) & 1
        dropped = magnitude & (unit - 1)
        up = magnitude + added(rounding, lowest, unit.shift_right(1), unit - 1, x.sign)
        found = whole.choose(magnitude, up & (field.of(0) - unit))
        # A number below 1 becomes 0 or 1.
        half = scalar.round_pack(fmt, 0, 1, -1, RNE, policy).code
        small = _becomes_one(magnitude, half, rounding, x.sign)
        found = below.choose(small.choose(found.of(one), found.of(0)), found)
        inexact = ~whole & ((below & magnitude.differs(0)) | (~below & dropped.differs(0)))
        over = ~found.at_most(fmt.max_magnitude, signed=False)
        sign = x.sign.resized(fmt.bits) << (fmt.bits - 1)
        code = found.resized(fmt.bits)
        if not fmt.has_negative_zero:
            sign = found.equals(0).choose(sign.of(0), sign)
        made = Flagged(code | sign, flag(inexact if says_inexact else bit(a, 0), INEXACT))
        made = where(over, by_sign(x.sign, fmt.bits, too_large), made)
        made = where(x.infinite, by_sign(x.sign, fmt.bits, lambda s: scalar.encode_infinity(fmt, s, 0, "max")), made)
        refuse_lost_nan(fmt, x.nan, policy)
        return where(x.nan, nan_result(fmt, (x,), policy), made)

    return implementation


def _becomes_one(magnitude: Word, half: int, rounding: int, sign: Word) -> Word:
    """Tell whether a number below 1 is rounded to 1. ``half``: the magnitude of one half."""
    more, tie = ~magnitude.at_most(half, signed=False), magnitude.equals(half)
    some = magnitude.differs(0)
    rules: dict[int, Word] = {RNE: more, RNA: more | tie, RU: some & ~sign, RD: some & sign, TO_ODD: some}
    return rules.get(rounding, bit(sign, 0))


# --- comparisons ------------------------------------------------------------------------------------------------------


def _in_order(x: Operand) -> Word:
    """Return a word whose order, as that of signed integers, is the order of numbers, where -0 < +0."""
    magnitude = (x.code & x.fmt.magnitude_mask).resized(natural(x.fmt.bits))
    return x.sign.choose(~magnitude, magnitude) if x.fmt.signed else magnitude


@llvm.forgotten
@lru_cache(maxsize=4096)
def compare(predicate: int, fmt: FloatFormat, policy: FloatPolicy, any_nan: bool = False) -> Implementation | None:
    """Return the description of a comparison with MLIR's predicate number, whose code has one bit. ``any_nan``: any NaN
    is invalid, not signalling ones alone.
    """
    if fmt.limbs > 1:
        return None
    relations = scalar.PREDICATES[predicate]

    def implementation(a: Word, b: Word) -> Flagged:
        x, y = operand(fmt, a, policy), operand(fmt, b, policy)
        p, q = _in_order(x), _in_order(y)
        nan = x.nan | y.nan
        equal = p.equals(q) | (x.zero & y.zero)
        less = p.less(q, signed=fmt.signed) & ~equal
        holding = bit(a, 0)
        for relation, word in ((EQUAL, equal), (LESS, less), (GREATER, ~(equal | less))):
            if relations & relation:
                holding = holding | word
        found = nan.choose(bit(a, int(bool(relations & UNORDERED))), holding)
        return Flagged(found, flag(nan if any_nan else x.signalling | y.signalling, INVALID))

    return implementation


@llvm.forgotten
@lru_cache(maxsize=1024)
def extremum(name: str, fmt: FloatFormat, policy: FloatPolicy) -> Implementation | None:
    """Return the description of a minimum or maximum, named as in `scalar`."""
    rules = policy.extrema == "value" and policy.number_of_signalling == "number"
    if not rules or fmt.limbs > 1 or policy.nan_result == "largest" or policy.flushing(fmt).results:
        return None
    largest, number = name.startswith("maximum"), name.endswith("number")

    def implementation(a: Word, b: Word) -> Flagged:
        x, y = operand(fmt, a, policy), operand(fmt, b, policy)
        first = _in_order(y).less(_in_order(x), signed=fmt.signed)
        if not largest:
            first = ~first
        nan = x.nan | y.nan
        if number:
            first = y.nan.choose(bit(a, 1), ~x.nan & first)
            nan = x.nan & y.nan
        found = Flagged(first.choose(x.code, y.code), flag(x.signalling | y.signalling, INVALID))
        # Of two NaNs, a minimum of numbers takes the second one.
        operands = (y, x) if number and policy.first_nan_counts else (x, y)
        refuse_lost_nan(fmt, nan, policy)
        return where(nan, nan_result(fmt, operands, policy), found)

    return implementation


# --- without flags ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def code_of(implementation: Implementation | None) -> Implementation | None:
    """Return the description of the code alone. LLVM drops the instructions that only flags need."""
    return None if implementation is None else lambda *words: implementation(*words).code
