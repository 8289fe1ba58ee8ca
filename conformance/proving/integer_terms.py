"""The integer ops of the arith dialect as bit-vectors. Source: the op descriptions of the dialect's document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from halfulp.conformance.proving.solving import (
    Condition,
    Effect,
    Instance,
    Row,
    Scalar,
    Term,
    all_of,
    bit,
    choice,
    number,
    some,
    z3,
)

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
    """Return the row of an op that wraps. ``double``: the exact result needs twice the bits, else one more bit."""

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
    """Return the row of an addition or subtraction whose carry or borrow is the bit above the result."""

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
    """Return the condition under which a divisor is undefined: 0, or poison, which may be 0."""
    return some(b.poison, b.bits == number(0, b.width))


def _overflows(a: Scalar, b: Scalar) -> Condition:
    """Return the condition of the smallest integer divided by -1. Poison may be the smallest integer."""
    smallest = a.bits == number(1 << (a.width - 1), a.width)
    return all_of(b.bits == number(-1, b.width), some(a.poison, smallest))


def _quotient(a: Term, b: Term, divide: Callable[[Term, Term], Term], extend: Callable[[int, Term], Term]) -> Term:
    """Return the quotient of two terms.

    A product that did not overflow, divided by a factor, is the other factor. No solver of bits finds that.
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
    return inexact if instance.unit("isExact") else False


def _divui(instance: Instance, a: Scalar, b: Scalar) -> Effect:
    quotient = _quotient(a.bits, b.bits, lambda x, y: z3.UDiv(x, y), _unsigned)
    return Effect((quotient,), _inexact(instance, quotient * b.bits != a.bits), _by_zero(b))


def _ceildivui(instance: Instance, a: Scalar, b: Scalar) -> Effect:
    zero, one = number(0, a.width), number(1, a.width)
    return Effect((choice(a.bits == zero, zero, z3.UDiv(a.bits - one, b.bits) + one),), undefined=_by_zero(b))


def _signed_division(step: int) -> Row:
    """Return the row of a signed division. ``step`` is added to the truncated quotient if the exact quotient lies on
    that side of it: 1 rounds up, -1 rounds down, 0 leaves the quotient truncated.
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
        lost = (result << b.bits) != a.bits if instance.unit("isExact") else False
        return Effect((result,), some(_too_far(instance, b), lost))

    return row


def _bitwise(combined: Callable[[Term, Term], Term]) -> Row:
    return lambda instance, a, b: Effect((combined(a.bits, b.bits),))


def _extremum(first_wins: Callable[[Term, Term], Term]) -> Row:
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


def _cmpi(instance: Instance, a: Scalar, b: Scalar) -> Effect:
    return Effect((bit(PREDICATES[instance.enum("predicate")](a.bits, b.bits)),))


def _cast(extend: Callable[[int, Term], Term]) -> Row:
    """Return the row of a cast to more or fewer bits, with its flags: nneg, or the overflow flags of trunci."""

    def row(instance: Instance, a: Scalar) -> Effect:
        broken = [a.bits < 0] if instance.unit("nonNeg") else []
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
        "arith.maxsi": _extremum(lambda a, b: a >= b),
        "arith.minsi": _extremum(lambda a, b: a <= b),
        "arith.maxui": _extremum(lambda a, b: z3.UGE(a, b)),
        "arith.minui": _extremum(lambda a, b: z3.ULE(a, b)),
        "arith.cmpi": _cmpi,
        "arith.extsi": _cast(_signed),
        "arith.extui": _cast(_unsigned),
        "arith.trunci": _cast(_unsigned),
        "arith.index_cast": _cast(_signed),
        "arith.index_castui": _cast(_unsigned),
    }
)
"""Every integer op of arith but `arith.constant` and `arith.select`, which are for all types."""
