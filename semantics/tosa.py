"""Elementwise ops of TOSA that no op of arith or math equals: each function returns the `Kernel`.

Source: the pseudo code of the TOSA specification. Where it says REQUIRE, an element that does not satisfy the
condition makes the op undefined; the reason quotes the condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from halfulp.fp_formats.formats import Codes, FloatFormat, ints_to_codes
from halfulp.fp_formats.policy import Rounding
from halfulp.semantics import casts, elementary, floats, integer
from halfulp.semantics.integer_kernels import Faults, Reading, integer_kernel, mapped_kernel, mask_of, wrap
from halfulp.semantics.kernel import Fault, Kernel, Open, Outcome, Scalar, faults_of, undefined
from halfulp.semantics.profile import Profile
from halfulp.semantics.requantization import RULES
from halfulp.semantics.stablehlo import nonzero, nonzero_float

_NEAREST = Rounding.TO_NEAREST_EVEN

# --- requirements -----------------------------------------------------------------------------------------------------


def require(condition: str) -> Fault:
    """Return the fault of an element that does not satisfy a condition of the specification."""
    return undefined(f"REQUIRE({condition}) does not hold")


def required(kernel: Kernel, condition: str) -> Kernel:
    """Return a kernel whose faults are those of a condition that the specification requires."""
    fault = require(condition)

    def scalar(*codes: int) -> Scalar:
        found = kernel.scalar(*codes)
        return fault if isinstance(found, Fault) else found

    def array(*codes: Codes) -> Outcome:
        outcome = kernel.array(*codes)
        return Outcome(outcome.results, tuple((fault, mask) for _, mask in outcome.faults))

    return replace(kernel, scalar=scalar, array=array, faults=(fault,) if kernel.faults else ())


Condition = tuple[str, Callable[..., Any]]


def _choose(condition: Any, yes: Any, no: Any) -> Any:
    """Return the value that a condition chooses, for numbers and for arrays."""
    if isinstance(condition, bool | np.bool_):
        return yes if condition else no
    return np.where(condition, yes, no)


def _clipped(value: Any, low: int, high: int) -> Any:
    return _choose(value < low, low, _choose(value > high, high, value))


def on_integers(
    operands: Sequence[Reading], width: int, compute: Callable[..., Any], *conditions: Condition, wide: bool = False
) -> Kernel:
    """Return the kernel of an op on integers of at most 64 bits.

    ``compute``: the result from the numbers of the operands, of which the low ``width`` bits are kept; it is called
    with Python integers and with arrays of int64, which must not overflow. ``conditions``: what the specification
    requires, as its text and a function of the numbers. ``wide``: int64 may overflow, so only Python integers are used.
    """
    faults = tuple(require(text) for text, _ in conditions)
    mask = mask_of(width)

    def scalar(*codes: int) -> Scalar:
        numbers = [(code ^ each.sign) - each.sign for code, each in zip(codes, operands, strict=True)]
        for fault, (_, holds) in zip(faults, conditions, strict=True):
            if not holds(*numbers):
                return fault
        return int(compute(*numbers)) & mask

    widths = tuple(each.width for each in operands)
    if wide or max(*widths, width) > 64:
        return mapped_kernel(widths, (width,), scalar, faults)

    def array(*codes: Codes) -> tuple[tuple[Codes, ...], Faults]:
        given = np.broadcast_arrays(*codes)
        numbers = [each.values(code).astype(np.int64) for code, each in zip(given, operands, strict=True)]
        wrong = [(fault, ~holds(*numbers)) for fault, (_, holds) in zip(faults, conditions, strict=True)]
        for _, where in wrong:
            for number in numbers:
                number[where] = 0
        result = np.asarray(compute(*numbers), np.int64).astype(_STORAGE[_bytes_of(width)])
        return (wrap(width, result),), wrong

    return integer_kernel(widths, (width,), scalar, array, faults)


_STORAGE = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def _bytes_of(width: int) -> int:
    return next(size for size in _STORAGE if 8 * size >= width)


def signed(width: int) -> Reading:
    """Return the reading of integers of a width as two's complement."""
    return Reading(width, True)


# --- integers ---------------------------------------------------------------------------------------------------------

_ADDS = "!(b > 0 && a > maximum_s<in_t>() - b) && !(b < 0 && a < minimum_s<in_t>() - b)"
_SUBTRACTS = "the difference a - b is in the range of in_t"


def add(width: int) -> Kernel:
    """Return the kernel of a sum, which must fit the width."""
    return required(integer.addi(width, nsw=True), _ADDS)


def subtract(width: int) -> Kernel:
    """Return the kernel of a difference, which must fit the width."""
    return required(integer.subi(width, nsw=True), _SUBTRACTS)


def divide(width: int) -> Kernel:
    """Return the kernel of a quotient, rounded toward zero."""
    return required(integer.divsi(width), "value2 != 0 && the quotient is in the range of in_out_t")


def absolute(width: int) -> Kernel:
    """Return the kernel of the absolute value, which must fit the width."""
    low = -(1 << width - 1)
    return on_integers(
        (signed(width),), width, lambda a: _choose(a < 0, -a, a), ("abs(value1) fits", lambda a: a != low)
    )


def shift_left(width: int) -> Kernel:
    """Return the kernel of a shift to the left."""
    return _amount_required(required(integer.shli(width), _shift_range(width)), width)


def shift_right_logical(width: int) -> Kernel:
    """Return the kernel of a shift to the right that shifts in zeros."""
    return _amount_required(required(integer.shrui(width), _shift_range(width)), width)


def _amount_required(kernel: Kernel, width: int) -> Kernel:
    """Return the kernel of a shift that is undefined if its amount is poison, which may be any number."""
    return replace(kernel, worst=(0, mask_of(width)))


def _shift_range(width: int) -> str:
    return f"0 <= value2 && value2 <= {width - 1}"


def shift_right_arithmetic(width: int, rounds: bool) -> Kernel:
    """Return the kernel of a shift to the right that keeps the sign. ``rounds``: the last bit that is shifted out is
    added.
    """
    if not rounds:
        return _amount_required(required(integer.shrsi(width), _shift_range(width)), width)

    def shifted(a: Any, b: Any) -> Any:
        before = _choose(b > 0, b - 1, 0)
        return (a >> b) + _choose(b > 0, (a >> before) & 1, 0)

    condition: Condition = (_shift_range(width), lambda a, b: (b >= 0) & (b < width))
    return _amount_required(on_integers((signed(width), signed(width)), width, shifted, condition), width)


def multiply(width: int, result: int) -> Kernel:
    """Return the kernel of mul with its operand ``shift``: the product of integers of ``width`` bits; those of 32 bits
    are shifted to the right, with rounding.
    """
    operands = (signed(width), signed(width), signed(8))

    def product(a: Any, b: Any, shift: Any) -> Any:
        if width != 32:
            return a * b
        # The half is added by a shift, because its sum with a large product does not fit 64 bits.
        return _choose(shift > 0, (a * b >> _choose(shift > 0, shift - 1, 0)) + 1 >> 1, a * b)

    def fits(a: Any, b: Any, shift: Any) -> Any:
        found = product(a, b, shift)
        return (shift == 0) | ((found >= -(1 << 31)) & (found < 1 << 31))

    least = ("0 <= shift && shift <= 63", lambda a, b, shift: (shift >= 0) & (shift <= 63))
    if width == 32:
        return on_integers(
            operands, result, product, least,
            ("product >= minimum_s<i32_t>() && product <= maximum_s<i32_t>()", fits),
        )  # fmt: skip
    none = ("is_same<in_t,int32_t>() || shift == 0", lambda a, b, shift: shift == 0)
    if 2 * width > 63:
        whole = integer.muli(width)

        def scalar(a: int, b: int, shift: int) -> Scalar:
            return require(none[0]) if shift else whole.scalar(a, b)

        return mapped_kernel((width, width, 8), (result,), scalar, (require(none[0]),))
    return on_integers(operands, result, product, none)


def negate(width: int) -> Kernel:
    """Return the kernel of negate with its zero points: zero_out - (a - zero), saturated below 32 bits."""
    low, high = -(1 << width - 1), (1 << width - 1) - 1
    operands = (signed(width),) * 3
    if width < 32:
        return on_integers(operands, width, lambda a, zero, out: _clipped(out - (a - zero), low, high))
    return on_integers(
        operands, width, lambda a, zero, out: -a, ("0 - value1 is in the range of acc_t", lambda a, zero, out: a != low)
    )


# --- scaling ----------------------------------------------------------------------------------------------------------

_MULTIPLIER = "multiplier >= 0"
_SHIFT = "2 <= shift && shift <= 62"


_SCALES: dict[bool, Callable[..., Any]] = {False: RULES["tosa"].scale, True: RULES["tosa-double"].scale}
"""apply_scale_32 and apply_scale_16 of numbers and of arrays; True: with DOUBLE_ROUND."""


def _is_wide(value: int, multiplier: int) -> bool:
    """Tell whether the product of a number with a multiplier, by their widths, may have more than 63 bits."""
    return value + multiplier > 64


def _scale_conditions(wide: bool) -> tuple[Condition, ...]:
    def in_range(value: Any, multiplier: Any, shift: Any) -> Any:
        most = _choose(shift >= 1, shift - 1, 0)
        limit = _choose(most < 62, 1 << _choose(most < 62, most, 0), 1 << 62)
        return (value >= -limit) & (value < limit)

    def fits(value: Any, multiplier: Any, shift: Any) -> Any:
        found = _SCALES[False](value, multiplier, shift)
        return (found >= -(1 << 31)) & (found < 1 << 31)

    last: Condition = (
        ("value >= (-1 << (shift - 1)) && value < (1 << (shift - 1))", in_range)
        if wide
        else ("result >= minimum<int32_t> && result <= maximum<int32_t>", fits)
    )
    return (
        (_MULTIPLIER, lambda value, multiplier, shift: multiplier >= 0),
        (_SHIFT, lambda value, multiplier, shift: (shift >= 2) & (shift <= 62)),
        last,
    )


def apply_scale(value: int, multiplier: int, double: bool) -> Kernel:
    """Return the kernel of MLIR's apply_scale: the scaled value as 32 bits. ``value``, ``multiplier``: their widths.

    It is not an operator of the specification, and MLIR lowers `mul` to it, and `rescale` with small multipliers. So
    its multiplier may be negative, its shift is that of `mul`, and its result is that of apply_scale_32 without the
    conditions on the operands: the lowest 32 bits.
    """

    def scaled(value: Any, multiplier: Any, shift: Any) -> Any:
        product = value * multiplier
        if double:
            product = product + _choose(shift > 31, _choose(value >= 0, 1 << 30, -(1 << 30)), 0)
        # The half is added by a shift, because its sum with a large product does not fit 64 bits.
        return _choose(shift > 0, (product >> _choose(shift > 0, shift - 1, 0)) + 1 >> 1, product)

    condition: Condition = ("0 <= shift && shift <= 63", lambda value, multiplier, shift: (shift >= 0) & (shift <= 63))
    operands = (signed(value), signed(multiplier), signed(8))
    return on_integers(operands, 32, scaled, condition, wide=_is_wide(value, multiplier))


@lru_cache(maxsize=256)
def rescale(source: Reading, target: Reading, wide: bool, double: bool) -> Kernel:
    """Return the kernel of rescale: an integer is scaled by a multiplier and a shift between two zero points.

    The operands are the value, the multiplier, the shift, and the zero points of operand and result. ``wide``: whether
    the multiplier has 32 bits. ``double``: DOUBLE_ROUND.
    """
    operands = (source, signed(32 if wide else 16), signed(8), source, target)

    def scaled(value: Any, multiplier: Any, shift: Any, zero: Any, out: Any) -> Any:
        return _SCALES[double](value - zero, multiplier, shift)

    def computed(value: Any, multiplier: Any, shift: Any, zero: Any, out: Any) -> Any:
        return _clipped(scaled(value, multiplier, shift, zero, out) + out, target.low, target.high)

    def of_difference(holds: Callable[..., Any]) -> Callable[..., Any]:
        return lambda value, multiplier, shift, zero, out: holds(value - zero, multiplier, shift)

    def sum_fits(*numbers: Any) -> Any:
        total = scaled(*numbers) + numbers[-1]
        return (total >= -(1 << 31)) & (total < 1 << 31)

    def is_allowed(number: Reading, zero: Any) -> Any:
        half = number.width == 16 and not number.signed
        return (number.width == 8) | (zero == 0) | (half & (zero == 1 << 15))

    def zero_points(value: Any, multiplier: Any, shift: Any, zero: Any, out: Any) -> Any:
        return is_allowed(source, zero) & is_allowed(target, out)

    conditions = [(text, of_difference(holds)) for text, holds in _scale_conditions(wide)]
    return on_integers(
        operands,
        target.width,
        computed,
        ("only i8_t has zero points that are not 0, and unsigned i16_t 32768", zero_points),
        *conditions,
        ("result + output_zp is in the range of int32_t", sum_fits),
        wide=_is_wide(source.width, 32 if wide else 16),
    )


def average(count: int, width: int) -> Kernel:
    """Return the kernel of the average of ``count`` integers of ``width`` bits: from their sum in 32 bits and the zero
    point of the result.
    """
    bits = (count - 1).bit_length()
    multiplier, shift = (((1 << 30) + 1) << bits) // count, 30 + bits
    low, high = -(1 << width - 1), (1 << width - 1) - 1
    conditions = [
        (text, lambda total, out, holds=holds: holds(total, multiplier, shift))
        for text, holds in _scale_conditions(True)[2:]
    ]
    return on_integers(
        (signed(32), signed(width)),
        width,
        lambda total, out: _clipped(_SCALES[False](total, multiplier, shift) + out, low, high),
        *conditions,
    )


def interpolate() -> Kernel:
    """Return the kernel of a look-up in a table of 16 bits: from the entry, the next entry, and the low 7 bits of the
    value.
    """
    return on_integers(
        (signed(16), signed(16), signed(16)),
        32,
        lambda base, following, fraction: base * 128 + (following - base) * fraction,
        (
            "slope >= minimum<int16_t> && slope <= maximum<int16_t>",
            lambda base, following, fraction: (following - base >= -(1 << 15)) & (following - base < 1 << 15),
        ),
    )


# --- floats -----------------------------------------------------------------------------------------------------------


def extremum(largest: bool, ignores: bool, fmt: FloatFormat, profile: Profile) -> Kernel:
    """Return the kernel of a maximum or minimum. ``ignores``: a NaN operand gives the other operand. Of two zeros, a
    maximum takes the first one and a minimum the second one, as the comparison of the pseudo code does.
    """
    name = f"{'maximum' if largest else 'minimum'}{'_number' if ignores else ''}"
    base = floats.binary(name, fmt, _NEAREST, 0, profile)
    if not fmt.zero or fmt.sign_mask is None:
        return base
    magnitude = mask_of(fmt.bits) ^ fmt.sign_mask

    def scalar(a: int, b: int) -> Scalar:
        if not a & magnitude and not b & magnitude and not fmt.is_nan(a) and not fmt.is_nan(b):
            return a if largest else b
        return base.scalar(a, b)

    def array(a: Codes, b: Codes) -> Outcome:
        outcome = base.array(a, b)
        one, other = np.broadcast_arrays(a, b)
        zeros = ((one | other) & one.dtype.type(magnitude)) == 0
        chosen = one if largest else other
        return Outcome((np.where(zeros, chosen, outcome.results[0]),), outcome.faults)

    def opened(operands: tuple[Codes, ...], results: tuple[Codes, ...]) -> Any:
        # Either zero is right, and any NaN.
        zeros = (results[0] & results[0].dtype.type(magnitude)) == 0
        signs = np.where(zeros, np.uint8(Open.SIGN.value), np.uint8(0))
        found = None if base.open is None else base.open(operands, results)
        return signs if found is None else signs | found

    if fmt.bits > 64:
        return base
    return replace(
        Kernel(scalar, array, faults=base.faults, real=base.real),
        open=opened,
        opens=base.opens | Open.SIGN.value,
    )


def any_nan(kernel: Kernel, fmt: FloatFormat) -> Kernel:
    """Return a kernel of one operand whose results may be any NaN where they are NaN."""

    def opened(operands: tuple[Codes, ...], results: tuple[Codes, ...]) -> Any:
        return np.where(floats.is_nan(fmt, results[0]), np.uint8(Open.NAN.value), np.uint8(0))

    return kernel if fmt.nan_code is None else replace(kernel, open=opened, opens=Open.NAN.value)


def of_operands(kernel: Kernel, choose: Callable[..., tuple[Any, ...]]) -> Kernel:
    """Return a kernel whose operands ``choose`` makes from those of an op, as numbers or as arrays."""
    opened = kernel.open
    return Kernel(
        lambda *codes: kernel.scalar(*choose(*codes)),
        lambda *codes: kernel.array(*choose(*codes)),
        open=None if opened is None else lambda operands, results: opened(choose(*operands), results),
        opens=kernel.opens,
        faults=kernel.faults,
    )


def repeated(code: int, width: int, codes: Codes) -> Codes:
    """Return an array in the shape of ``codes`` in which each element is the same code of ``width`` bits."""
    return np.broadcast_to(ints_to_codes([code], width, ()), codes.shape)


def clamp(larger: Kernel, smaller: Kernel, low: int, high: int, width: int) -> Kernel:
    """Return the kernel of a clamp between two constant codes of ``width`` bits: ``smaller(larger(a, low), high)``."""

    def scalar(a: int) -> Scalar:
        found = larger.scalar(a, low)
        return found if isinstance(found, Fault) else smaller.scalar(found, high)

    def array(a: Codes) -> Outcome:
        (found,) = larger.array(a, repeated(low, width, a)).results
        return smaller.array(found, repeated(high, width, a))

    opened = smaller.open
    return Kernel(
        scalar,
        array,
        open=None if opened is None else lambda operands, results: opened((operands[0], operands[0]), results),
        opens=smaller.opens,
    )


def power(fmt: FloatFormat, profile: Profile) -> Kernel:
    """Return the kernel of pow, which is not defined for all operands."""
    base = elementary.binary("powf", fmt, _NEAREST, 0, profile)
    positive, nonzero_, number, finite = (
        require(text)
        for text in (
            "value1 >= 0", "value1 > 0 || value2 > 0", "!is_a_NaN(value1) && !is_a_NaN(value2)",
            "is_finite(value1) && is_finite(value2)",
        )
    )  # fmt: skip
    sign = fmt.sign_mask or 0
    magnitude = mask_of(fmt.bits) ^ sign

    def scalar(a: int, b: int) -> Scalar:
        if fmt.is_nan(a) or fmt.is_nan(b):
            return number
        if a & sign and a & magnitude:
            return positive
        if not a & magnitude and (b & sign or not b & magnitude):
            return nonzero_
        if fmt.is_infinite(a) or fmt.is_infinite(b):
            return finite
        return base.scalar(a, b)

    def array(a: Codes, b: Codes) -> Outcome:
        one, other = np.broadcast_arrays(a, b)
        (result,) = base.array(one, other).results
        kind = one.dtype.type
        zero, negative = (one & kind(magnitude)) == 0, (one & kind(sign)) != 0
        low = ((other & kind(sign)) != 0) | ((other & kind(magnitude)) == 0)
        nan = floats.is_nan(fmt, one) | floats.is_nan(fmt, other)
        infinite = floats.is_infinite(fmt, one) | floats.is_infinite(fmt, other)
        pairs = ((number, nan), (positive, negative & ~zero), (nonzero_, zero & low), (finite, infinite))
        return Outcome((result,), faults_of(pairs))

    return Kernel(scalar, array, faults=(number, positive, nonzero_, finite), real=base.real)


# --- casts ------------------------------------------------------------------------------------------------------------


def to_integer(fmt: FloatFormat, width: int, profile: Profile) -> Kernel:
    """Return the kernel of a cast from a float to a signed integer: to the nearest, ties to even, saturated. A NaN is
    undefined.
    """
    chosen = replace(profile, name="", float_to_int="saturate") if profile.float_to_int == "poison" else profile
    base = casts.to_integer(fmt, width, True, chosen, _NEAREST)
    if fmt.nan_code is None:
        return base
    fault = undefined("the cast of a NaN to an integer is unpredictable")

    def scalar(a: int) -> Scalar:
        return fault if fmt.is_nan(a) else base.scalar(a)

    def array(a: Codes) -> Outcome:
        return Outcome(base.array(a).results, faults_of(((fault, floats.is_nan(fmt, a)),)))

    return Kernel(scalar, array, faults=(fault,), real=base.real)


def to_bool(source: FloatFormat | Reading, profile: Profile) -> Kernel:
    """Return the kernel of a cast to a truth value: whether a number is not 0."""
    return nonzero(source.width) if isinstance(source, Reading) else nonzero_float(source, profile)


def between_integers(source: Reading, target: int) -> Kernel:
    """Return the kernel of a cast between integers, which wraps around."""
    return integer.convert(source.width, source.signed, target, True, "wrap")


# --- searches ---------------------------------------------------------------------------------------------------------


def order_of(fmt: FloatFormat, codes: Codes, nan_first: bool) -> Any:
    """Return int64 numbers in the order of floats of at most 32 bits, zeros equal. ``nan_first``: a NaN counts as more
    than all numbers, else as less.
    """
    nan = floats.is_nan(fmt, codes)
    magnitude = (codes & codes.dtype.type(mask_of(fmt.bits) ^ (fmt.sign_mask or 0))).astype(np.int64)
    negative = (codes & codes.dtype.type(fmt.sign_mask or 0)) != 0
    return np.where(nan, 1 << 40 if nan_first else -(1 << 40), np.where(negative, -magnitude, magnitude))
