"""The ops of the arith dialect on bit-vectors: those on integers, and those on floats by z3's theory of floats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from halfulp.conformance.proving.solving import (
    Condition,
    Effect,
    Instance,
    Loose,
    NotProvable,
    Row,
    Scalar,
    Term,
    all_of,
    bit,
    choice,
    negation,
    number,
    some,
    z3,
)
from halfulp.fp_formats.formats import FloatFormat, NanEncoding
from halfulp.fp_formats.policy import Rounding
from halfulp.interp.ir import types as ty
from halfulp.semantics.floats import NINF, NNAN
from halfulp.semantics.profile import PROFILE_FIELDS, SPEC, Profile

# --- integers ---------------------------------------------------------------------------------------------------------
#
# Source: the op descriptions of the dialect's document.

NSW, NUW = 1, 2


def _signed(extra: int, bits: Term) -> Term:
    return z3.SignExt(extra, bits)


def _unsigned(extra: int, bits: Term) -> Term:
    return z3.ZeroExt(extra, bits)


def _resized(bits: Term, width: int, extend: Callable[[int, Term], Term]) -> Term:
    """Return the bits extended to a width, or its lowest bits."""
    extra = width - bits.size()
    return extend(extra, bits) if extra >= 0 else z3.Extract(width - 1, 0, bits)


def _exact_in(double: bool, exact: Callable[[Term, Term], Term]) -> Row:
    """Return the `Row` of an op whose result wraps around. ``exact``: the op. ``double``: its exact result needs twice
    the bits, not just one more.
    """

    def row(instance: Instance, a: Scalar, b: Scalar) -> Effect:
        extra = a.width if double else 1
        result = exact(a.bits, b.bits)
        broken = [
            exact(extend(extra, a.bits), extend(extra, b.bits)) != extend(extra, result)
            for flag, extend in ((NSW, _signed), (NUW, _unsigned))
            if instance.flag(flag)
        ]
        return Effect((result,), poison=some(*broken))

    return row


def _extended_sum(exact: Callable[[Term, Term], Term]) -> Row:
    """Return the `Row` of an addition or subtraction whose carry or borrow is the bit above the result."""

    def row(instance: Instance, a: Scalar, b: Scalar) -> Effect:
        width = a.width
        total = exact(_unsigned(1, a.bits), _unsigned(1, b.bits))
        return Effect((z3.Extract(width - 1, 0, total), z3.Extract(width, width, total)))

    return row


def _extended_product(extend: Callable[[int, Term], Term]) -> Row:
    def row(instance: Instance, a: Scalar, b: Scalar) -> Effect:
        width = a.width
        product = extend(width, a.bits) * extend(width, b.bits)
        return Effect((z3.Extract(width - 1, 0, product), z3.Extract(2 * width - 1, width, product)))

    return row


def _by_zero(b: Scalar) -> Condition:
    """Return the condition that a division by ``b`` is undefined: ``b`` is 0, or poison, which may be 0."""
    return some(b.poison, b.bits == number(0, b.width))


def _overflows(a: Scalar, b: Scalar) -> Condition:
    """Return the condition that a division overflows: the smallest integer divided by -1. Poison may be the smallest
    integer.
    """
    smallest = a.bits == number(1 << (a.width - 1), a.width)
    return all_of(b.bits == number(-1, b.width), some(a.poison, smallest))


def _quotient(a: Term, b: Term, divide: Callable[[Term, Term], Term], extend: Callable[[int, Term], Term]) -> Term:
    """Return the quotient of two terms.

    If a product did not overflow, the product divided by a factor is the other factor. A solver that works on bits does
    not find this, so it is simplified here.
    """
    quotient = divide(a, b)
    if not (z3.is_app_of(a, z3.Z3_OP_BMUL) and a.num_args() == 2):
        return quotient
    for factor, other in (a.children(), a.children()[::-1]):
        if factor.eq(b):
            width = a.size()
            fits = extend(width, a.arg(0)) * extend(width, a.arg(1)) == extend(width, a)
            return choice(fits, other, quotient)
    return quotient


def _inexact(instance: Instance, inexact: Condition) -> Condition:
    return inexact if instance.has_flag("isExact") else False


def _divui(instance: Instance, a: Scalar, b: Scalar) -> Effect:
    quotient = _quotient(a.bits, b.bits, lambda x, y: z3.UDiv(x, y), _unsigned)
    return Effect((quotient,), _inexact(instance, quotient * b.bits != a.bits), _by_zero(b))


def _ceildivui(instance: Instance, a: Scalar, b: Scalar) -> Effect:
    zero, one = number(0, a.width), number(1, a.width)
    return Effect((choice(a.bits == zero, zero, z3.UDiv(a.bits - one, b.bits) + one),), undefined=_by_zero(b))


def _signed_division(step: int) -> Row:
    """Return the `Row` of a signed division, which truncates. ``step``: 1 rounds up, -1 rounds down, 0 toward zero: it
    is added to the truncated quotient if the exact quotient is larger (1) or smaller (-1).
    """

    def row(instance: Instance, a: Scalar, b: Scalar) -> Effect:
        quotient = _quotient(a.bits, b.bits, lambda x, y: x / y, _signed)
        # Passes write the remainder this way, too: what both versions share, the solver need not compute.
        inexact = quotient * b.bits != a.bits
        if step:
            negative = (a.bits < 0) != (b.bits < 0)
            side = z3.Not(negative) if step > 0 else negative
            quotient = quotient + choice(all_of(inexact, side), number(step, a.width), number(0, a.width))
        return Effect((quotient,), _inexact(instance, inexact), some(_by_zero(b), _overflows(a, b)))

    return row


def _remainder(remainder: Callable[[Term, Term], Term]) -> Row:
    return lambda instance, a, b: Effect((remainder(a.bits, b.bits),), undefined=_by_zero(b))


def _too_far(instance: Instance, b: Scalar) -> Condition:
    return z3.UGE(b.bits, number(b.width, b.width)) if instance.width else True


def _shli(instance: Instance, a: Scalar, b: Scalar) -> Effect:
    result = a.bits << b.bits
    back = ((NSW, result >> b.bits), (NUW, z3.LShR(result, b.bits)))
    return Effect(
        (result,), some(_too_far(instance, b), *(term != a.bits for flag, term in back if instance.flag(flag)))
    )


def _shift_right(shifted: Callable[[Term, Term], Term]) -> Row:
    def row(instance: Instance, a: Scalar, b: Scalar) -> Effect:
        result = shifted(a.bits, b.bits)
        lost = (result << b.bits) != a.bits if instance.has_flag("isExact") else False
        return Effect((result,), some(_too_far(instance, b), lost))

    return row


def _bitwise(combined: Callable[[Term, Term], Term]) -> Row:
    return lambda instance, a, b: Effect((combined(a.bits, b.bits),))


def _integer_extremum(first_wins: Callable[[Term, Term], Term]) -> Row:
    return lambda instance, a, b: Effect((choice(first_wins(a.bits, b.bits), a.bits, b.bits),))


PREDICATES: tuple[Callable[[Term, Term], Term], ...] = (
    lambda a, b: a == b,  # eq
    lambda a, b: a != b,  # ne
    lambda a, b: a < b,  # slt
    lambda a, b: a <= b,  # sle
    lambda a, b: a > b,  # sgt
    lambda a, b: a >= b,  # sge
    lambda a, b: z3.ULT(a, b),  # ult
    lambda a, b: z3.ULE(a, b),  # ule
    lambda a, b: z3.UGT(a, b),  # ugt
    lambda a, b: z3.UGE(a, b),  # uge
)
"""The predicates of arith.cmpi by MLIR's number; the comparisons of Python are the signed ones."""


def _cast(extend: Callable[[int, Term], Term]) -> Row:
    """Return the `Row` of a cast to more or fewer bits, with its flags: nneg, or the overflow flags of trunci."""

    def row(instance: Instance, a: Scalar) -> Effect:
        broken = [a.bits < 0] if instance.has_flag("nonNeg") else []
        if not instance.width:
            zero = number(0, a.width)
            return Effect((number(0, 1),), some(*broken, a.bits != zero if instance.flag(NSW | NUW) else False))
        result = _resized(a.bits, instance.width, extend)
        back = a.width - instance.width
        broken += [
            widen(back, result) != a.bits for flag, widen in ((NSW, _signed), (NUW, _unsigned)) if instance.flag(flag)
        ]
        return Effect((result,), some(*broken))

    return row


INTEGER_OPS: Mapping[str, Row] = MappingProxyType(
    {
        "arith.addi": _exact_in(False, lambda a, b: a + b),
        "arith.subi": _exact_in(False, lambda a, b: a - b),
        "arith.muli": _exact_in(True, lambda a, b: a * b),
        "arith.addui_extended": _extended_sum(lambda a, b: a + b),
        "arith.subui_extended": _extended_sum(lambda a, b: a - b),
        "arith.mulsi_extended": _extended_product(_signed),
        "arith.mului_extended": _extended_product(_unsigned),
        "arith.divui": _divui,
        "arith.ceildivui": _ceildivui,
        "arith.divsi": _signed_division(0),
        "arith.ceildivsi": _signed_division(1),
        "arith.floordivsi": _signed_division(-1),
        "arith.remui": _remainder(lambda a, b: z3.URem(a, b)),
        "arith.remsi": _remainder(lambda a, b: z3.SRem(a, b)),
        "arith.shli": _shli,
        "arith.shrsi": _shift_right(lambda a, b: a >> b),
        "arith.shrui": _shift_right(lambda a, b: z3.LShR(a, b)),
        "arith.andi": _bitwise(lambda a, b: a & b),
        "arith.ori": _bitwise(lambda a, b: a | b),
        "arith.xori": _bitwise(lambda a, b: a ^ b),
        "arith.maxsi": _integer_extremum(lambda a, b: a >= b),
        "arith.minsi": _integer_extremum(lambda a, b: a <= b),
        "arith.maxui": _integer_extremum(lambda a, b: z3.UGE(a, b)),
        "arith.minui": _integer_extremum(lambda a, b: z3.ULE(a, b)),
        "arith.cmpi": lambda instance, a, b: Effect((bit(PREDICATES[instance.enum("predicate")](a.bits, b.bits)),)),
        "arith.extsi": _cast(_signed),
        "arith.extui": _cast(_unsigned),
        "arith.trunci": _cast(_unsigned),
        "arith.index_cast": _cast(_signed),
        "arith.index_castui": _cast(_unsigned),
    }
)
"""Every integer op of arith but `arith.constant` and `arith.select`, which are for all types."""


# --- floats -----------------------------------------------------------------------------------------------------------
#
# A float is its code. An op on codes that are not NaN is that of the theory; NaNs, whose codes the theory does not
# know, go by the rules of the profile `spec`. The theory has formats with infinities and IEEE NaNs.

ROUNDED_BITS = 16
"""Most bits of a format whose arithmetic has terms: the circuits of wider ones take minutes."""

MODES: Mapping[Rounding, str] = MappingProxyType(
    {
        Rounding.TO_NEAREST_EVEN: "RNE",
        Rounding.DOWNWARD: "RTN",
        Rounding.UPWARD: "RTP",
        Rounding.TOWARD_ZERO: "RTZ",
        Rounding.TO_NEAREST_AWAY: "RNA",
    }
)
"""The names of the rounding modes in z3."""


@dataclass(frozen=True, slots=True)
class Float:
    """A float format in z3's theory of floats, with conditions on its codes as terms."""

    format: FloatFormat

    @property
    def sort(self) -> Term:
        """The sort of the format in z3's theory."""
        return z3.FPSort(self.format.exponent_bits, self.format.mantissa_bits + 1)

    @property
    def sign(self) -> Term:
        """The code in which only the sign bit is set."""
        return number(1 << (self.format.bits - 1), self.format.bits)

    @property
    def quiet(self) -> Term:
        """The code in which only the quiet bit of NaNs is set."""
        return number(1 << (self.format.mantissa_bits - 1), self.format.bits)

    @property
    def infinity(self) -> Term:
        """The code of the positive infinity."""
        return number(((1 << self.format.exponent_bits) - 1) << self.format.mantissa_bits, self.format.bits)

    @property
    def zero(self) -> Term:
        """The code of the positive zero."""
        return number(0, self.format.bits)

    @property
    def nan(self) -> Term:
        """The code of the NaN that an operation makes."""
        return self.infinity | self.quiet

    def magnitude(self, bits: Term) -> Term:
        """Return a code without its sign."""
        return bits & ~self.sign

    def is_nan(self, bits: Term) -> Condition:
        """Return the condition of a NaN, quiet or signalling."""
        return z3.UGT(self.magnitude(bits), self.infinity)

    def is_infinite(self, bits: Term) -> Condition:
        """Return the condition of an infinity."""
        return self.magnitude(bits) == self.infinity

    def is_zero(self, bits: Term) -> Condition:
        """Return the condition of a zero of either sign."""
        return self.magnitude(bits) == self.zero

    def of(self, bits: Term) -> Term:
        """Return the float of z3's theory that has this code."""
        return z3.fpBVToFP(bits, self.sort)

    def code(self, value: Term) -> Term:
        """Return the code of a float of z3's theory. The theory has only one NaN; it gets the code of the NaN that an
        operation makes.
        """
        return choice(z3.fpIsNaN(value), self.nan, z3.fpToIEEEBV(value))


def float_of(type_: ty.Type, profile: Profile, most_bits: int = 64) -> Float:
    """Return the format of a type. Raises NotProvable for one that the theory lacks, and for other profiles."""
    element = ty.element_type(type_)
    fmt = ty.float_format(element)
    usual = fmt.nan is NanEncoding.IEEE and fmt.signed and fmt.zero and not fmt.explicit_integer_bit
    if not usual or fmt.bias != (1 << (fmt.exponent_bits - 1)) - 1 or fmt.bits > most_bits:
        raise NotProvable(f"the proof does not cover arithmetic on '{element}'")
    if any(getattr(profile, name) != getattr(SPEC, name) for name in PROFILE_FIELDS if name != "integer_flags"):
        raise NotProvable("the proof does not cover floats of other profiles than 'spec'")
    return Float(fmt)


def _format(instance: Instance, type_: ty.Type, most_bits: int = 64) -> Float:
    return float_of(type_, instance.settings.profile, most_bits)


def _fastmath(instance: Instance, *parts: tuple[Float, Term]) -> Condition:
    """Return the condition of poison by fast-math flags. ``parts``: the formats and codes of operands and results.

    Raises NotProvable for flags that leave results unspecified.
    """
    flags = instance.enum("fastmath")
    if flags & ~(NNAN | NINF):
        raise NotProvable("fast-math flags leave the result unspecified")
    nans = [fmt.is_nan(bits) for fmt, bits in parts] if flags & NNAN else []
    infinities = [fmt.is_infinite(bits) for fmt, bits in parts] if flags & NINF else []
    return some(*nans, *infinities)


def _spread(*operands: Scalar) -> Condition:
    """Return the condition that the language leaves the sign or the value of an operand open, so the result is open."""
    return some(*(condition for operand in operands for condition in (operand.loose.sign, operand.loose.value)))


def _rounded(operation: Callable[[Term, Term, Term], Term], adds: bool = False) -> Row:
    """Return the row of an operation on two numbers, rounded once. The first NaN operand is the result, quieted.

    ``adds``: it is a sum, for which z3 has no circuit in a format whose exponent has more bits than its significand.
    """

    def row(instance: Instance, a: Scalar, b: Scalar) -> Effect:
        fmt = _format(instance, instance.op.results[0].type, ROUNDED_BITS)
        if adds and fmt.format.exponent_bits > fmt.format.mantissa_bits + 1:
            raise NotProvable(f"the proof does not cover sums of '{fmt.format.name}'")
        mode = getattr(z3, MODES[Rounding(instance.enum("roundingmode"))])()
        number_ = fmt.code(operation(mode, fmt.of(a.bits), fmt.of(b.bits)))
        result = _or_nan(fmt, (a.bits, b.bits), number_)
        poison = _fastmath(instance, (fmt, a.bits), (fmt, b.bits), (fmt, result))
        return Effect((result,), poison, loose=Loose(nan=fmt.is_nan(result), value=_spread(a, b)))

    return row


def _or_nan(fmt: Float, operands: tuple[Term, ...], result: Term) -> Term:
    """Return the first operand that is a NaN, quieted, or else the result."""
    for bits in reversed(operands):
        result = choice(fmt.is_nan(bits), bits | fmt.quiet, result)
    return result


def _extremum(fmt: Float, a: Term, b: Term, greatest: bool) -> Term:
    """Return the greater or lesser of two numbers; -0 is less than +0."""
    x, y = (a, b) if greatest else (b, a)
    alike = a & b if greatest else a | b  # equal numbers: the same code, or zeros
    return choice(z3.fpGT(fmt.of(x), fmt.of(y)), a, choice(z3.fpLT(fmt.of(x), fmt.of(y)), b, alike))


def _nan_extremum(greatest: bool) -> Row:
    """Return the row of maximumf or minimumf: a NaN operand is the result."""

    def row(instance: Instance, a: Scalar, b: Scalar) -> Effect:
        fmt = _format(instance, instance.op.results[0].type)
        result = _or_nan(fmt, (a.bits, b.bits), _extremum(fmt, a.bits, b.bits, greatest))
        poison = _fastmath(instance, (fmt, a.bits), (fmt, b.bits), (fmt, result))
        return Effect((result,), poison, loose=Loose(nan=fmt.is_nan(result), value=_spread(a, b)))

    return row


def _number_extremum(greatest: bool, zeros_open: bool) -> Row:
    """Return the row of maxnumf or minnumf: a NaN operand is ignored; of two NaNs the second is the result, quieted.

    ``zeros_open``: of two zeros of different signs, either is right.
    """

    def row(instance: Instance, a: Scalar, b: Scalar) -> Effect:
        fmt = _format(instance, instance.op.results[0].type)
        first, second = fmt.is_nan(a.bits), fmt.is_nan(b.bits)
        result = _extremum(fmt, a.bits, b.bits, greatest)
        result = choice(first, choice(second, b.bits | fmt.quiet, b.bits), choice(second, a.bits, result))
        zeros = all_of(fmt.is_zero(a.bits), fmt.is_zero(b.bits), a.bits != b.bits) if zeros_open else False
        poison = _fastmath(instance, (fmt, a.bits), (fmt, b.bits), (fmt, result))
        return Effect((result,), poison, loose=Loose(fmt.is_nan(result), zeros, _spread(a, b)))

    return row


def _negf(instance: Instance, a: Scalar) -> Effect:
    fmt = _format(instance, instance.op.results[0].type)
    result = a.bits ^ fmt.sign
    return Effect((result,), _fastmath(instance, (fmt, a.bits), (fmt, result)), loose=a.loose)


def _comparison(less: bool, equal: bool, greater: bool, unordered: bool) -> Callable[[Float, Term, Term], Condition]:
    """Return the predicate that is true for these outcomes of a comparison."""

    def holds(fmt: Float, a: Term, b: Term) -> Condition:
        x, y = fmt.of(a), fmt.of(b)
        outcomes = (
            (less, z3.fpLT(x, y)),
            (equal, z3.fpEQ(x, y)),
            (greater, z3.fpGT(x, y)),
            (unordered, some(fmt.is_nan(a), fmt.is_nan(b))),
        )
        return some(*(condition for wanted, condition in outcomes if wanted))

    return holds


COMPARISONS = tuple(
    _comparison("<" in outcomes, "=" in outcomes, ">" in outcomes, "?" in outcomes)
    for outcomes in ("", "=", ">", ">=", "<", "<=", "<>", "<=>", "?=", "?>", "?>=", "?<", "?<=", "?<>", "?", "?<=>")
)
"""The predicates of arith.cmpf by MLIR's number: false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true."""


def _cmpf(instance: Instance, a: Scalar, b: Scalar) -> Effect:
    fmt = _format(instance, instance.op.operands[0].type)
    holds = COMPARISONS[instance.enum("predicate")](fmt, a.bits, b.bits)
    poison = _fastmath(instance, (fmt, a.bits), (fmt, b.bits))
    # Neither the bits of a NaN nor the sign of a zero decide a comparison.
    return Effect((bit(holds),), poison, loose=Loose(value=some(a.loose.value, b.loose.value)))


def _moved_nan(source: Float, target: Float, bits: Term) -> Term:
    """Return a NaN converted to another format: the sign and the upper bits of the mantissa stay, and the NaN becomes
    quiet.
    """
    fraction = z3.Extract(source.format.mantissa_bits - 1, 0, bits)
    more = target.format.mantissa_bits - source.format.mantissa_bits
    if more > 0:
        fraction = z3.Concat(fraction, number(0, more))
    elif more < 0:
        fraction = z3.Extract(source.format.mantissa_bits - 1, -more, fraction)
    sign = z3.Extract(source.format.bits - 1, source.format.bits - 1, bits)
    exponent = number(-1, target.format.exponent_bits)
    return z3.Concat(sign, exponent, fraction) | target.quiet


def _conversion(instance: Instance, a: Scalar) -> Effect:
    source, target = (_format(instance, value.type) for value in (instance.op.operands[0], instance.op.results[0]))
    mode = getattr(z3, MODES[Rounding(instance.enum("roundingmode"))])()
    converted = target.code(z3.fpFPToFP(mode, source.of(a.bits), target.sort))
    result = choice(source.is_nan(a.bits), _moved_nan(source, target, a.bits), converted)
    poison = _fastmath(instance, (source, a.bits), (target, result))
    return Effect((result,), poison, loose=Loose(nan=target.is_nan(result), value=_spread(a)))


def _from_integer(signed: bool) -> Row:
    def row(instance: Instance, a: Scalar) -> Effect:
        fmt = _format(instance, instance.op.results[0].type, ROUNDED_BITS)
        convert = z3.fpSignedToFP if signed else z3.fpUnsignedToFP
        negative = a.bits < 0 if instance.has_flag("nonNeg") else False
        return Effect((fmt.code(convert(z3.RNE(), a.bits, fmt.sort)),), negative)

    return row


def _to_integer(signed: bool) -> Row:
    """Return the row of fptosi or fptoui. The integer is computed in as many bits as any finite value needs."""

    def row(instance: Instance, a: Scalar) -> Effect:
        fmt = _format(instance, instance.op.operands[0].type, ROUNDED_BITS)
        width = instance.width
        if not width:
            raise NotProvable(f"the proof does not cover {instance.op.name} to i0")
        enough = max(fmt.format.bias + 3, width + 1)
        finite = z3.ULT(fmt.magnitude(a.bits), fmt.infinity)
        # The theory does not say what the integer of an infinity is.
        whole = z3.fpToSBV(z3.RTZ(), fmt.of(choice(finite, a.bits, fmt.zero)), z3.BitVecSort(enough))
        result = z3.Extract(width - 1, 0, whole)
        extend = z3.SignExt if signed else z3.ZeroExt
        fits = all_of(finite, extend(enough - width, result) == whole)
        return Effect((result,), negation(fits))

    return row


def _bitcast(instance: Instance, a: Scalar) -> Effect:
    same = instance.op.operands[0].type == instance.op.results[0].type
    return Effect((a.bits,), loose=a.loose if same else None)


FLOAT_OPS: Mapping[str, Row] = MappingProxyType(
    {
        "arith.addf": _rounded(lambda mode, x, y: z3.fpAdd(mode, x, y), adds=True),
        "arith.subf": _rounded(lambda mode, x, y: z3.fpSub(mode, x, y), adds=True),
        "arith.mulf": _rounded(lambda mode, x, y: z3.fpMul(mode, x, y)),
        "arith.divf": _rounded(lambda mode, x, y: z3.fpDiv(mode, x, y)),
        "arith.maximumf": _nan_extremum(greatest=True),
        "arith.minimumf": _nan_extremum(greatest=False),
        "arith.maxnumf": _number_extremum(greatest=True, zeros_open=True),
        "arith.minnumf": _number_extremum(greatest=False, zeros_open=True),
        "arith.maximumnumf": _number_extremum(greatest=True, zeros_open=False),
        "arith.minimumnumf": _number_extremum(greatest=False, zeros_open=False),
        "arith.negf": _negf,
        "arith.cmpf": _cmpf,
        "arith.extf": _conversion,
        "arith.truncf": _conversion,
        "arith.convertf": _conversion,
        "arith.sitofp": _from_integer(signed=True),
        "arith.uitofp": _from_integer(signed=False),
        "arith.fptosi": _to_integer(signed=True),
        "arith.fptoui": _to_integer(signed=False),
        "arith.bitcast": _bitcast,
    }
)
"""The float ops that have terms. `arith.remf` is not a remainder of the theory."""
