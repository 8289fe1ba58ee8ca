"""Integer ops of the arith dialect: each name is a function that returns the `Kernel` for a width and flags.

Source: the op descriptions of the arith dialect document. Widths run from 0 (one value, 0) up without limit; an `index`
is an integer of its width. Operands and results are codes (see `halfulp.fp_formats.formats`). The flags ``nsw``,
``nuw``, ``exact`` and ``nneg`` make results poison; leave them out to ignore them.

The scalar implementation of every op is its specification; `halfulp.semantics.integer_kernels` says how it reads codes.

The array implementation works in the dtype of the operands, which may be wider than needed (a 32-bit index is kept in
uint64): values are sign-extended where an op reads them as signed, and results are cut back to the width. Above 64 bits
it maps the scalar implementation over the elements. Operands are never written to; rank-0 operands broadcast. Elements
without a value may hold any bits.

Where an element has several faults, the scalar implementation gives the first that `Outcome.faults` lists; masks may
overlap.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import (
    Codes,
    Mask,
    codes_to_ints,
    element_shape,
    ints_to_codes,
    signed_integers,
    storage_dtype,
)
from halfulp.semantics import integer_kernels
from halfulp.semantics.integer_kernels import Faults, Reading, Values, integer_kernel, mask_of, wrap
from halfulp.semantics.kernel import Fault, Integral, Kernel, Outcome, Scalar, faults_of, poison, undefined

SIGNED_OVERFLOW = poison("signed overflow with nsw")
UNSIGNED_OVERFLOW = poison("unsigned overflow with nuw")
NEGATIVE = poison("negative operand with nneg")
INEXACT_DIVISION = poison("nonzero remainder with exact")
INEXACT_SHIFT = poison("nonzero bits shifted out with exact")
SHIFT_TOO_FAR = poison("shift amount is not less than the bit width")
DIVISION_BY_ZERO = undefined("division by zero")
DIVISION_OVERFLOW = undefined("signed division overflow (minimum value divided by -1)")


def _overflow_rules(width: int, nsw: bool, nuw: bool) -> tuple[tuple[Reading, Fault], ...]:
    """Return the readings in which an op must not overflow."""
    rules = ((nsw, Reading(width, True), SIGNED_OVERFLOW), (nuw, Reading(width, False), UNSIGNED_OVERFLOW))
    return tuple((reading, fault) for wanted, reading, fault in rules if wanted)


def _cut_to(width: int, strict: Callable[..., Kernel]) -> Integral:
    """Return the meaning of an op whose results are cut to a width. An i1 is a truth value, so nothing is lost."""
    return Integral(strict=strict if width > 1 else None)


# Addition, subtraction, multiplication ------------------------------------------------------------------------------


def addi(width: int, *, nsw: bool = False, nuw: bool = False) -> Kernel:
    """Return the kernel of arith.addi: the sum modulo 2**width."""
    overflows = partial(_moved, beyond=np.less)
    return _wrapping(width, nsw, nuw, operator.add, np.add, overflows, _cut_to(width, partial(addi, width)))


def subi(width: int, *, nsw: bool = False, nuw: bool = False) -> Kernel:
    """Return the kernel of arith.subi: the difference modulo 2**width."""
    overflows = partial(_moved, beyond=np.greater)
    return _wrapping(width, nsw, nuw, operator.sub, np.subtract, overflows, _cut_to(width, partial(subi, width)))


def muli(width: int, *, nsw: bool = False, nuw: bool = False) -> Kernel:
    """Return the kernel of arith.muli: the product modulo 2**width."""
    real = _cut_to(width, partial(muli, width))
    return _wrapping(width, nsw, nuw, operator.mul, np.multiply, _product_overflows, real)


def _wrapping(
    width: int,
    nsw: bool,
    nuw: bool,
    exact: Callable[[int, int], int],
    modular: np.ufunc,
    overflows: Callable[[Reading, Codes, Codes, Codes], Mask],
    real: Integral,
) -> Kernel:
    mask = mask_of(width)
    rules = _overflow_rules(width, nsw, nuw)
    ranges = tuple((reading.sign, reading.low, reading.high, fault) for reading, fault in rules)

    def scalar(a: int, b: int) -> Scalar:
        for sign, low, high, fault in ranges:
            if not low <= exact((a ^ sign) - sign, (b ^ sign) - sign) <= high:
                return fault
        return exact(a, b) & mask

    def array(a: Codes, b: Codes) -> tuple[tuple[Codes, ...], Faults]:
        result = wrap(width, modular(a, b))
        return (result,), ((fault, overflows(reading, a, b, result)) for reading, fault in rules)

    return integer_kernel(
        (width, width),
        (width,),
        scalar,
        array,
        tuple(fault for _, fault in rules),
        words=integer_kernels.wrapping(cast("Any", exact), (reading for reading, _ in rules)),
        real=real,
    )


def _moved(reading: Reading, a: Codes, b: Codes, result: Codes, beyond: np.ufunc) -> Mask:
    """Tell where a sum (difference) overflowed: it is less (more) than a although b >= 0, or more (less) although b <
    0.
    """
    moved: Mask = beyond(reading.values(result), reading.values(a))
    if reading.signed:
        moved = moved ^ (reading.values(b) < 0)
    return moved


def _product_overflows(reading: Reading, a: Codes, b: Codes, low: Codes) -> Mask:
    """Tell where the high half of a product is not just the sign of the low half."""
    overflows: Mask = _high_half(reading, a, b) != np.where(
        reading.values(low) < 0, low.dtype.type(mask_of(reading.width)), 0
    )
    return overflows


def _high_half(reading: Reading, a: Codes, b: Codes) -> Codes:
    """Return the upper ``width`` bits of the product of 2 * ``width`` bits, in a new array of the dtype of ``a``."""
    width = reading.width
    if width <= 32:
        wide = np.int64 if reading.signed else np.uint64
        product = reading.values(a).astype(wide) * reading.values(b).astype(wide)
        return wrap(width, (product >> width).astype(a.dtype))
    # 64 x 64 bits by 32-bit halves; no sum here exceeds 64 bits.
    half = 0xFFFFFFFF
    a0, a1, b0, b1 = a & half, a >> 32, b & half, b >> 32
    middle = a1 * b0 + (a0 * b0 >> 32)
    other = a0 * b1 + (middle & half)
    high = a1 * b1 + (middle >> 32) + (other >> 32)
    if width < 64:
        high = high << (64 - width) | a * b >> width
    if (
        reading.signed
    ):  # a negative code stands for a number smaller by 2**width, so the product is smaller by b * 2**width
        high -= np.where(reading.values(a) < 0, b, 0)
        high -= np.where(reading.values(b) < 0, a, 0)
    return wrap(width, high)


# Extended addition, subtraction, multiplication -----------------------------------------------------------------------

_PAIR_OF_UNSIGNED = Integral(signed=False)
"""Both results together are exact."""


def addui_extended(width: int) -> Kernel:
    """Return the kernel of arith.addui_extended: the sum modulo 2**width, and the carry as i1."""
    mask = mask_of(width)

    def scalar(a: int, b: int) -> Scalar:
        total = a + b
        return total & mask, total >> width

    def array(a: Codes, b: Codes) -> tuple[tuple[Codes, ...], Faults]:
        total = wrap(width, a + b)
        return (total, (total < a).view(np.uint8)), ()

    real = _PAIR_OF_UNSIGNED
    return integer_kernel((width, width), (width, 1), scalar, array, words=integer_kernels.carrying, real=real)


def subui_extended(width: int) -> Kernel:
    """Return the kernel of arith.subui_extended (newer MLIR): the difference modulo 2**width, and the borrow as i1."""
    mask = mask_of(width)

    def scalar(a: int, b: int) -> Scalar:
        return (a - b) & mask, 1 if a < b else 0

    def array(a: Codes, b: Codes) -> tuple[tuple[Codes, ...], Faults]:
        return (wrap(width, a - b), (a < b).view(np.uint8)), ()

    real = _PAIR_OF_UNSIGNED
    return integer_kernel((width, width), (width, 1), scalar, array, words=integer_kernels.borrowing, real=real)


def _multiply_extended(signed: bool, width: int) -> Kernel:
    """Return the kernel of the low and the high half of a product."""
    reading = Reading(width, signed)
    sign, mask = reading.sign, mask_of(width)

    def scalar(a: int, b: int) -> Scalar:
        product = ((a ^ sign) - sign) * ((b ^ sign) - sign)
        return product & mask, product >> width & mask

    def array(a: Codes, b: Codes) -> tuple[tuple[Codes, ...], Faults]:
        return (wrap(width, a * b), _high_half(reading, a, b)), ()

    implementation = integer_kernels.product_halves(reading.signed)
    return integer_kernel(
        (width, width), (width, width), scalar, array, words=implementation, real=Integral(reading.signed)
    )


mulsi_extended = partial(_multiply_extended, True)
mului_extended = partial(_multiply_extended, False)


# Division -------------------------------------------------------------------------------------------------------------


def _truncated_quotient(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _ceiling_quotient(a: int, b: int) -> int:
    return -(-a // b)


def _division(
    signed: bool, quotient: Callable[[int, int], int], toward: str, width: int, *, exact: bool = False
) -> Kernel:
    """Return the kernel of a division whose quotient is rounded toward "zero", "down" or "up"."""
    reading = Reading(width, signed)
    sign, mask, high = reading.sign, mask_of(width), reading.high

    def scalar(a: int, b: int) -> Scalar:
        if not b:
            return DIVISION_BY_ZERO
        x, y = (a ^ sign) - sign, (b ^ sign) - sign
        result = quotient(x, y)
        if result > high:
            return DIVISION_OVERFLOW
        if exact and x % y:
            return INEXACT_DIVISION
        return result & mask

    def array(a: Codes, b: Codes) -> tuple[tuple[Codes, ...], Faults]:
        x = reading.values(a)
        zero, y = _guarded(reading.values(b))
        faults = [(DIVISION_BY_ZERO, zero)]
        negative: Any = False
        if reading.signed:
            signs: Values = x ^ y
            signs >>= 8 * x.itemsize - 1  # -1 where the quotient is negative, else 0
            negative = signs < 0
            faults.append((DIVISION_OVERFLOW, (a == sign) & (b == mask)))
            x, y = np.abs(x).view(a.dtype), np.abs(y).view(a.dtype)
        result = x // y
        if exact or toward != "zero":
            inexact = result * y != x
            if exact:
                faults.append((INEXACT_DIVISION, inexact))
            if toward != "zero":
                result += inexact & (negative if toward == "down" else np.logical_not(negative))
        if reading.signed:
            flip = signs.view(a.dtype)
            result ^= flip
            result -= flip
        return (wrap(width, result),), faults

    overflow = (DIVISION_OVERFLOW,) if reading.signed else ()
    faults = (DIVISION_BY_ZERO, *overflow, *((INEXACT_DIVISION,) if exact else ()))
    implementation, real = integer_kernels.division(reading, toward, exact), Integral(reading.signed)
    return integer_kernel((width, width), (width,), scalar, array, faults, (sign, 0), implementation, real)


divui = partial(_division, False, operator.floordiv, "zero")
divsi = partial(_division, True, _truncated_quotient, "zero")


def floordivsi(width: int) -> Kernel:
    """Return the kernel of arith.floordivsi: the signed quotient, rounded down. It has no flag ``exact``, which exists
    only for divisions toward zero.
    """
    return _division(True, operator.floordiv, "down", width)


def ceildivui(width: int) -> Kernel:
    """Return the kernel of arith.ceildivui: the unsigned quotient, rounded up."""
    return _division(False, _ceiling_quotient, "up", width)


def ceildivsi(width: int) -> Kernel:
    """Return the kernel of arith.ceildivsi: the signed quotient, rounded up."""
    return _division(True, _ceiling_quotient, "up", width)


def _remainder(signed: bool, width: int) -> Kernel:
    """Return the kernel of the remainder of a division rounded toward zero; it has the sign of the dividend."""
    reading = Reading(width, signed)
    sign, mask = reading.sign, mask_of(width)

    def scalar(a: int, b: int) -> Scalar:
        if not b:
            return DIVISION_BY_ZERO
        x, y = (a ^ sign) - sign, (b ^ sign) - sign
        rest = abs(x) % abs(y)
        return (rest if x >= 0 else -rest) & mask

    def array(a: Codes, b: Codes) -> tuple[tuple[Codes, ...], Faults]:
        zero, divisor = _guarded(reading.values(b))
        rest = np.fmod(reading.values(a), divisor)
        return (wrap(width, rest),), [(DIVISION_BY_ZERO, zero)]

    implementation, real = integer_kernels.remainder(reading), Integral(reading.signed)
    return integer_kernel((width, width), (width,), scalar, array, (DIVISION_BY_ZERO,), (0, 0), implementation, real)


remui = partial(_remainder, False)
remsi = partial(_remainder, True)


def _guarded(divisor: Values) -> tuple[Mask, Values]:
    """Return a mask of the zero divisors, and the divisors with 1 in the place of zeros, for which NumPy would warn."""
    zero: Mask = divisor == 0
    return zero, np.where(zero, divisor.dtype.type(1), divisor) if zero.any() else divisor


# Shifts ---------------------------------------------------------------------------------------------------------------


def shli(width: int, *, nsw: bool = False, nuw: bool = False) -> Kernel:
    """Return the kernel of arith.shli: the bits shifted left; with flags, poison unless ``a * 2**b`` fits the width."""
    mask = mask_of(width)
    rules = _overflow_rules(width, nsw, nuw)
    ranges = tuple((reading.sign, reading.low, reading.high, fault) for reading, fault in rules)

    def scalar(a: int, b: int) -> Scalar:
        if b >= width:
            return SHIFT_TOO_FAR
        for sign, low, high, fault in ranges:
            if not low <= ((a ^ sign) - sign) << b <= high:
                return fault
        return a << b & mask

    def array(a: Codes, b: Codes) -> tuple[tuple[Codes, ...], Faults]:
        result = wrap(width, a << b)
        faults = [(SHIFT_TOO_FAR, b >= width)]
        faults += ((fault, _shifted(reading, result, b) != reading.values(a)) for reading, fault in rules)
        return (result,), faults

    faults = (SHIFT_TOO_FAR, *(fault for _, fault in rules))
    implementation, real = (
        integer_kernels.shift_left(reading for reading, _ in rules),
        _cut_to(width, partial(shli, width)),
    )
    return integer_kernel((width, width), (width,), scalar, array, faults, words=implementation, real=real)


def _shift_right(signed: bool, width: int, *, exact: bool = False) -> Kernel:
    """Return the kernel of a shift to the right, which shifts in copies of the sign bit if ``signed``, else zeros."""
    reading = Reading(width, signed)
    sign, mask = reading.sign, mask_of(width)

    def scalar(a: int, b: int) -> Scalar:
        if b >= width:
            return SHIFT_TOO_FAR
        result = (a ^ sign) - sign >> b
        if exact and result << b != (a ^ sign) - sign:
            return INEXACT_SHIFT
        return result & mask

    def array(a: Codes, b: Codes) -> tuple[tuple[Codes, ...], Faults]:
        result = wrap(width, _shifted(reading, a, b))
        faults = [(SHIFT_TOO_FAR, b >= width)]
        if exact:
            faults.append((INEXACT_SHIFT, wrap(width, result << b) != a))
        return (result,), faults

    faults = (SHIFT_TOO_FAR, INEXACT_SHIFT) if exact else (SHIFT_TOO_FAR,)
    implementation, real = integer_kernels.shift_right(reading, exact), Integral(reading.signed)
    return integer_kernel((width, width), (width,), scalar, array, faults, words=implementation, real=real)


shrui = partial(_shift_right, False)
shrsi = partial(_shift_right, True)


def _shifted(reading: Reading, a: Codes, b: Codes) -> Values:
    """Move the values of ``a`` down by ``b`` bits (any number: NumPy defines shifts beyond the dtype's width)."""
    values = reading.values(a)
    return values >> b.view(values.dtype)


# Bits, minimum and maximum, comparison --------------------------------------------------------------------------------


def _bitwise(scalar: Callable[[Any, Any], Any], ufunc: np.ufunc, width: int) -> Kernel:
    return integer_kernel((width, width), (width,), scalar, lambda a, b: ((ufunc(a, b),), ()), words=scalar)


andi = partial(_bitwise, operator.and_, np.bitwise_and)
ori = partial(_bitwise, operator.or_, np.bitwise_or)
xori = partial(_bitwise, operator.xor, np.bitwise_xor)


def _extremum(signed: bool, wins: Callable[[int, int], bool], ufunc: np.ufunc, width: int) -> Kernel:
    """Return the kernel of the larger or the smaller operand."""
    reading = Reading(width, signed)
    sign = reading.sign

    def scalar(a: int, b: int) -> Scalar:
        return a if wins((a ^ sign) - sign, (b ^ sign) - sign) else b

    def array(a: Codes, b: Codes) -> tuple[tuple[Codes, ...], Faults]:
        return (wrap(width, ufunc(reading.values(a), reading.values(b))),), ()

    implementation, real = integer_kernels.extremum(reading, wins.__name__), Integral(reading.signed)
    return integer_kernel((width, width), (width,), scalar, array, words=implementation, real=real)


maxsi = partial(_extremum, True, operator.ge, np.maximum)
maxui = partial(_extremum, False, operator.ge, np.maximum)
minsi = partial(_extremum, True, operator.le, np.minimum)
minui = partial(_extremum, False, operator.le, np.minimum)


_PREDICATES: tuple[tuple[bool, Callable[[int, int], bool], np.ufunc], ...] = (
    (False, operator.eq, np.equal),  # eq
    (False, operator.ne, np.not_equal),  # ne
    (True, operator.lt, np.less),  # slt
    (True, operator.le, np.less_equal),  # sle
    (True, operator.gt, np.greater),  # sgt
    (True, operator.ge, np.greater_equal),  # sge
    (False, operator.lt, np.less),  # ult
    (False, operator.le, np.less_equal),  # ule
    (False, operator.gt, np.greater),  # ugt
    (False, operator.ge, np.greater_equal),  # uge
)

_EQUALITIES = (0, 1)
"""The predicates for which all readings are one."""


def cmpi(width: int, predicate: int) -> Kernel:
    """Return the kernel of arith.cmpi: an i1 that is 1 if the comparison is true. ``predicate``: MLIR's number, 0 .. 9,
    else ValueError.
    """
    if not 0 <= predicate < len(_PREDICATES):
        raise ValueError(f"cmpi predicate {predicate} is not in 0 .. {len(_PREDICATES) - 1}")
    signed, holds, ufunc = _PREDICATES[predicate]
    reading = Reading(width, signed)
    sign = reading.sign

    def scalar(a: int, b: int) -> Scalar:
        return 1 if holds((a ^ sign) - sign, (b ^ sign) - sign) else 0

    def array(a: Codes, b: Codes) -> tuple[tuple[Codes, ...], Faults]:
        return (ufunc(reading.values(a), reading.values(b)).view(np.uint8),), ()

    implementation = integer_kernels.relation(reading, holds.__name__)
    real = Integral(None if predicate in _EQUALITIES else signed)
    return integer_kernel((width, width), (1,), scalar, array, words=implementation, real=real)


# Casts ----------------------------------------------------------------------------------------------------------------


def extsi(source: int, result: int) -> Kernel:
    """Return the kernel of arith.extsi: from ``source`` to ``result`` bits; the new bits are copies of the sign bit."""
    return _cast(Reading(source, True), result)


def extui(source: int, result: int, *, nneg: bool = False) -> Kernel:
    """Return the kernel of arith.extui: from ``source`` to ``result`` bits; the new bits are zero."""
    return _cast(Reading(source, False), result, _nonnegative(source, nneg))


def trunci(source: int, result: int, *, nsw: bool = False, nuw: bool = False) -> Kernel:
    """Return the kernel of arith.trunci: the lowest ``result`` of ``source`` bits; with flags, poison unless the value
    stays the same.
    """
    rules = tuple(
        Range(Reading(source, into.signed), into.low, into.high, fault)
        for into, fault in _overflow_rules(result, nsw, nuw)
    )
    return _cast(Reading(source, False), result, rules, _cut_to(result, partial(trunci, source, result)))


def index_cast(source: int, result: int) -> Kernel:
    """Return the kernel of arith.index_cast: from ``source`` to ``result`` bits, by sign extension or truncation."""
    return _cast(Reading(source, True), result)


def index_castui(source: int, result: int, *, nneg: bool = False) -> Kernel:
    """Return the kernel of arith.index_castui: from ``source`` to ``result`` bits, by zero extension or truncation."""
    return _cast(Reading(source, False), result, _nonnegative(source, nneg))


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that an operand may have if it is read as signed or unsigned. Any other number gives ``fault``."""

    reading: Reading
    low: int
    high: int
    fault: Fault


def _nonnegative(width: int, nneg: bool) -> tuple[Range, ...]:
    reading = Reading(width, True)
    return (Range(reading, 0, reading.high, NEGATIVE),) if nneg else ()


def _cast(reading: Reading, width: int, rules: tuple[Range, ...] = (), real: Integral | None = None) -> Kernel:
    if real is None:
        narrows = width < reading.width
        real = _cut_to(width, partial(trunci, reading.width, width)) if narrows else Integral(reading.signed)
    sign, mask = reading.sign, mask_of(width)
    dtype = storage_dtype(width)
    ranges = tuple((rule.reading.sign, rule.low, rule.high, rule.fault) for rule in rules)

    def scalar(a: int) -> Scalar:
        for flip, low, high, fault in ranges:
            if not low <= (a ^ flip) - flip <= high:
                return fault
        return (a ^ sign) - sign & mask

    def outside(rule: Range, a: Codes) -> Mask:
        values = rule.reading.values(a)
        mask: Mask = (values < rule.low) | (values > rule.high)
        return mask

    def array(a: Codes) -> tuple[tuple[Codes, ...], Faults]:
        result = wrap(width, reading.values(a).astype(dtype))
        return (result,), ((rule.fault, outside(rule, a)) for rule in rules)

    implementation = integer_kernels.cast(reading, width, ((rule.reading, rule.low, rule.high) for rule in rules))
    faults = tuple(rule.fault for rule in rules)
    return integer_kernel((reading.width,), (width,), scalar, array, faults, words=implementation, real=real)


# --- integer casts ----------------------------------------------------------------------------------------------------
#
# Conversions between integer types: what a number becomes that the target does not have.

Overflow = Literal["wrap", "saturate", "poison"]
OVERFLOWS: Sequence[Overflow] = ("wrap", "saturate", "poison")
"""A number out of range modulo 2**width, the nearest number of the type, or poison."""


def limits(width: int, signed: bool) -> tuple[int, int]:
    """Return the smallest and the largest integer of ``width`` bits."""
    return (-(1 << width >> 1), (1 << width >> 1) - 1) if signed and width else (0, (1 << width) - 1)


@lru_cache(maxsize=4096)
def convert(source: int, source_signed: bool, target: int, target_signed: bool, overflow: Overflow) -> Kernel:
    """Return the kernel that converts integers of ``source`` bits to ``target`` bits."""
    low, high = limits(target, target_signed)
    least, most = limits(source, source_signed)
    mask = (1 << target) - 1
    lost = poison(f"a value outside the range of {'a signed' if target_signed else 'an unsigned'} i{target}")

    def number_of(code: int) -> int:
        return code - (1 << source) if source_signed and source and code >> (source - 1) else code

    def scalar_implementation(code: int) -> Scalar:
        number = number_of(code)
        if not low <= number <= high and overflow == "poison":
            return lost
        return (min(max(number, low), high) if overflow == "saturate" else number) & mask

    def array_implementation(codes: Codes) -> Outcome:
        wide = source > 64 or target > 64
        below, above = (_outside_wide if wide else _outside)(codes, source, source_signed, low, high)
        if wide:
            numbers = [number_of(code) & mask for code in codes_to_ints(codes, source)]
            result = ints_to_codes(numbers, target, element_shape(codes, source))
        else:
            words = _extended(codes, source, source_signed) & np.uint64(mask)
            result = np.asarray(words, storage_dtype(target))
        if overflow == "saturate":
            for wrong, end in ((below, low), (above, high)):
                if wrong.any():
                    result[wrong] = ints_to_codes([end & mask], target, (1,))[0]
        if overflow != "poison":
            return Outcome((result,))
        result[below | above] = 0
        return Outcome((result,), faults_of([(lost, below | above)]))

    always_fits = low <= least and most <= high
    return Kernel(
        scalar_implementation, array_implementation, faults=() if always_fits or overflow != "poison" else (lost,)
    )


def outside(
    codes: Codes, source: int, source_signed: bool, target: int, target_signed: bool
) -> tuple[tuple[int, ...], int] | None:
    """Return the first element that the target type cannot represent: its indices and its number. None if there is
    none.
    """
    ends = limits(target, target_signed)
    find = _outside_wide if source > 64 or target > 64 else _outside
    below, above = find(codes, source, source_signed, *ends)
    places = np.argwhere(below | above)
    if not len(places):
        return None
    place = tuple(int(k) for k in places[0])
    code = codes_to_ints(codes[place][np.newaxis], source)[0]
    return place, code - (1 << source) if source_signed and code >> (source - 1) else code


def _extended(codes: Codes, width: int, signed: bool) -> npt.NDArray[np.uint64]:
    """Return codes of up to 64 bits, extended to 64 bits by sign or by zeros."""
    return signed_integers(codes, width).view(np.uint64) if signed else np.array(codes, np.uint64)


def _outside(codes: Codes, width: int, signed: bool, low: int, high: int) -> tuple[Mask, Mask]:
    """Return which elements are less than ``low``, and which are more than ``high``; all of up to 64 bits."""
    words = _extended(codes, width, signed)
    if not signed:
        return np.zeros(words.shape, np.bool_), np.asarray(words > np.uint64(high))
    numbers = words.view(np.int64)
    below = np.asarray(numbers < np.int64(low))
    return below, np.asarray((numbers >= 0) & (words > np.uint64(high)))


def _outside_wide(codes: Codes, width: int, signed: bool, low: int, high: int) -> tuple[Mask, Mask]:
    half = 1 << width >> 1
    numbers = [code - (half << 1) if signed and code & half else code for code in codes_to_ints(codes, width)]
    shape = element_shape(codes, width)
    ends = ([number < low for number in numbers], [number > high for number in numbers])
    below, above = (np.array(end, np.bool_).reshape(shape) for end in ends)
    return below, above
