"""How far the results of an op are from exact real arithmetic: the meaning of its kernel, applied to codes and shadows.

`judge` takes the codes of the operands and of the results, and the shadow of each operand, and finds

- for a result that is a float: its own and its total error (`halfulp.semantics.shadows`), and its value;
- for a comparison and a conversion to an integer: where the exact run decides otherwise, and where that is not known.

A format with numbers that no f64 holds (f80, f128) has no shadow: its numbers are unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from flint import arb

from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask, codes_to_ints, element_shape
from halfulp.fp_formats.neighbours import F64, two_sum, ulp_of_float, ulps_of_floats
from halfulp.fp_formats.paths import fast
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.reals.functions import FUNCTIONS, bits_of_precision
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO
from halfulp.semantics import kernel
from halfulp.semantics.ball_rules import BALLS
from halfulp.semantics.shadows import (
    NOTHING,
    RULES,
    UNIT,
    Errors,
    Floats,
    Rule,
    Shadow,
    Shadowed,
    errors,
    exact,
    is_exact,
    middle_and_radius,
    order,
    two_product,
)

# --- shadow steps -----------------------------------------------------------------------------------------------------
#
# The rules of shadows for functions that choose or jump: rounding to integers, clamping, copying a sign.
#
# They have the form of those in `halfulp.semantics.shadows`. A function that jumps is enclosed by what it gives at both
# ends of what is known of its operand, so its error is zero where both ends give the same.

Jump = Callable[[Floats, Floats], Floats]
"""Rounds ``n + t`` to an integer, for an even integer n and a t of which little is lost: the integer less n."""


def _floor(n: Floats, t: Floats) -> Floats:
    return np.floor(t)


def _trunc(n: Floats, t: Floats) -> Floats:
    return np.where(n + t >= 0, np.floor(t), np.ceil(t))


def _round(n: Floats, t: Floats) -> Floats:
    """Round to the nearest integer; if two are equally near, away from zero."""
    down, up = np.floor(t), np.ceil(t)
    return np.where(n + t >= 0, down + (t - down >= 0.5), up - (up - t >= 0.5))


def jumping(jump: Jump) -> Rule:
    """Return the rule of a function that rounds to integers and never decreases, such as floor. ``jump``:
    the function.
    """

    def rule(result: Floats, x: Shadowed) -> Errors:
        n = 2 * np.rint(x.value / 2)
        t = x.value - n
        at = t + x.error
        loose = x.radius + np.where((t != 0) & (x.error != 0), UNIT * np.abs(at), 0.0)
        low, high = (np.where(loose != 0, np.nextafter(at + way * loose, way * np.inf), at) for way in (-1, 1))
        own = jump(n, t)
        return Errors(_between(result, n, own, own), _between(result, n, jump(n, low), jump(n, high)))

    return rule


def _between(result: Floats, n: Floats, low: Floats, high: Floats) -> Shadow:
    """Return the error of a result whose exact number lies between ``n + low`` and ``n + high``."""
    base, rest = two_sum(n, -result)
    middle = (low + high) / 2
    error = base + middle
    # All terms are halves of integers in most cases, and below 2**52 so are their sums.
    whole = (rest == 0) & (np.abs(base) + np.abs(low) + np.abs(high) < 2.0**50) & (2 * base == np.rint(2 * base))
    lost = np.where(whole, 0.0, np.abs(rest) + 4 * UNIT * (np.abs(base) + np.abs(low) + np.abs(high)))
    return Shadow(error, (high - low) / 2 + lost)


def _clamp(result: Floats, x: Shadowed, low: Shadowed, high: Shadowed) -> Errors:
    lesser = np.minimum(x.value, high.value)
    first = RULES["minimum"](lesser, x, high).total
    return RULES["maximum"](result, Shadowed(lesser, *first), low)


def _copysign(result: Floats, x: Shadowed, y: Shadowed) -> Errors:
    """Return the error of copysign. If the sign of the exact number is not known, the result may have either sign. If
    nothing is known about the number, the error is unknown.
    """
    size = np.abs(x.value)
    magnitude = RULES["absolute"](size, x).total
    side, known = order(y, exact(np.zeros_like(y.value)))
    given = np.copysign(1.0, y.value)
    sign = np.where(side == 0, given, side)
    own = _apart(given * size, result, np.zeros_like(size), np.zeros_like(size))
    whole = _apart(sign * size, result, sign * magnitude.error, magnitude.radius)
    reach = (size + np.abs(magnitude.error) + magnitude.radius) * (1 + 4 * UNIT)
    either = ~known & ((y.error != 0) | (y.radius != 0))
    unknown = np.isnan(y.value) | (y.radius == np.inf)
    radius = np.where(unknown, np.inf, np.where(either, reach, whole.radius))
    return Errors(own, Shadow(np.where(either, -result, whole.error), radius))


def _apart(exact_: Floats, result: Floats, error: Floats, radius: Floats) -> Shadow:
    """Return ``exact_ + error - result``, up to a radius."""
    difference, rest = two_sum(exact_, -result)
    total = difference + rest
    found = total + error
    lost = UNIT * (np.abs(total) * (rest != 0) + np.abs(found) * ((total != 0) & (error != 0)))
    return Shadow(found, (radius + lost) * (1 + 4 * UNIT))


STEPS: Mapping[str, Rule] = {
    "floor": jumping(_floor),
    "ceil": jumping(lambda n, t: np.ceil(t)),
    "trunc": jumping(_trunc),
    "roundeven": jumping(lambda n, t: np.rint(t)),
    "round": jumping(_round),
    "clamp": _clamp,
    "copysign": _copysign,
}
"""The rules by names of functions."""


# --- judging ----------------------------------------------------------------------------------------------------------

F32 = FORMATS["f32"]
_TABLE_BITS = 16
"""The bits of the codes that are looked up."""


class Computed(NamedTuple):
    """What is known about a result that is a float: its value and those of the operands as f64; the format that defines
    its ulp, or the scale of a quantised number; its own error and its total error.
    """

    value: Floats
    operands: tuple[Floats, ...]
    unit: FloatFormat | Floats
    own: Shadow
    total: Shadow

    def ulps(self, shadow: Shadow) -> Floats:
        """Return the ulp at the exact numbers, which are the value plus the errors of ``shadow``; for quantised numbers
        the scale.
        """
        if isinstance(self.unit, FloatFormat):
            return ulps_of_floats(self.unit, self.value, *shadow)
        return self.unit


class Decided(NamedTuple):
    """What is known about a result that is not a float: the mask of the elements for which the exact run decides
    otherwise, and the mask of those for which it may do so.
    """

    otherwise: Mask
    undecided: Mask


Judgement = Computed | Decided


def has_shadows(fmt: FloatFormat) -> bool:
    """Tell whether an f64 holds all finite numbers of a format."""
    least = fmt.emin - fmt.mantissa_bits
    return fmt.precision <= F64.precision and fmt.emax <= F64.emax and least >= F64.emin - F64.mantissa_bits


def as_f64(fmt: FloatFormat, codes: Codes) -> Floats:
    """Return the numbers that codes represent as f64: exact for a format that `has_shadows`."""
    if fmt is F64:
        return codes.view(np.float64)
    if fmt is F32:
        with np.errstate(invalid="ignore"):  # a signalling NaN
            return codes.view(np.float32).astype(np.float64)
    if fmt.bits <= _TABLE_BITS:
        return np.asarray(_table(fmt)[codes])
    return np.asarray(fast.convert(fmt, F64, codes).codes).view(np.float64)


def number_of(fmt: FloatFormat, code: Codes) -> float:
    """Return the number that one code represents, as `as_f64` does."""
    native = _NATIVE.get(fmt)
    found: float = (as_f64(fmt, code) if native is None else code.view(native)).item()
    return found


_NATIVE = {F32: np.float32, F64: np.float64}


@lru_cache(maxsize=64)
def _table(fmt: FloatFormat) -> Floats:
    codes = np.arange(1 << fmt.bits).astype(fmt.storage_dtype)
    return np.asarray(fast.convert(fmt, F64, codes).codes).view(np.float64)


def _of_integers(kind: kernel.Integer, codes: Codes) -> Shadowed:
    """Return integers as f64, and their rounding errors."""
    if kind.width > 64:
        half = 1 << kind.width - 1
        whole = [code - (code & half and half << 1) * kind.signed for code in codes_to_ints(codes, kind.width)]
        values = [float(each) for each in whole]
        rest = [float(each - int(value)) for each, value in zip(whole, values, strict=True)]
        value, error = (np.array(each).reshape(element_shape(codes, kind.width)) for each in (values, rest))
        return Shadowed(value, error, np.abs(error) * UNIT)
    spare = np.uint64(64 - kind.width)
    whole_codes: npt.NDArray[Any] = codes.astype(np.uint64)
    if kind.signed:
        whole_codes = (whole_codes << spare).view(np.int64) >> np.int64(spare)
    high = whole_codes >> whole_codes.dtype.type(32)
    low = (whole_codes & whole_codes.dtype.type((1 << 32) - 1)).astype(np.float64)
    value, error = two_sum(high.astype(np.float64) * 2.0**32, low)
    return Shadowed(value, error, np.zeros_like(value))


def numbers_of(kind: kernel.Numbers, codes: Codes) -> Floats:
    """Return the numbers that codes represent, as f64. They are exact, except for integers of more than 53 bits and
    quantised numbers. For quantised numbers, ``codes`` is the array that `quantized_numbers` gives.
    """
    if isinstance(kind, kernel.Quantized):
        return codes[..., 0]
    return _of_integers(kind, codes).value if isinstance(kind, kernel.Integer) else as_f64(kind, codes)


def judge(
    meaning: kernel.Meaning | None, codes: Sequence[Codes], result: Codes, shadows: Sequence[Shadow | None]
) -> Judgement | None:
    """Return what is known about a result of an op; None if nothing is known, because the op has no meaning or no rule.

    ``codes``, ``result``: codes of the operands and of the result. ``shadows``: one for each operand; None for an exact
    operand. All arrays broadcast.
    """
    way = _WAYS.get(type(meaning))
    return None if way is None else way(meaning, codes, result, shadows)


def quantized_numbers(kind: kernel.Quantized, codes: Codes, shape: tuple[int, ...]) -> Floats:
    """Return the numbers of quantised codes, with a last axis of four: the number as f64, its rounding error, a bound
    on the error of that, and the scale.
    """
    scales, points = kind.parameters(shape)
    value, rest, lost = two_product(_of_integers(kind.stored, codes).value - points, scales)
    return np.stack(np.broadcast_arrays(value, rest, lost, scales), -1)


def _shadowed(numbers: kernel.Numbers, codes: Codes, shadow: Shadow | None, narrow: bool = False) -> Shadowed:
    if isinstance(numbers, kernel.Integer):
        integers = _of_integers(numbers, codes)
        return integers if shadow is None else integers._replace(radius=integers.radius + shadow.radius)
    if isinstance(numbers, kernel.Quantized):
        value, rest, lost, _ = np.moveaxis(codes, -1, 0)
        if shadow is None:
            return Shadowed(value, rest, lost)
        whole = rest + shadow.error
        return Shadowed(value, whole, lost + shadow.radius + UNIT * np.abs(whole))
    value = as_f64(numbers, codes)
    return exact(value, narrow) if shadow is None else Shadowed(value, *shadow, narrow)


def is_narrow(numbers: kernel.Numbers) -> bool:
    """Tell whether an f64 can hold the exact product of any two numbers of a kind."""
    return isinstance(numbers, FloatFormat) and 2 * numbers.precision <= F64.precision and numbers.emax < 500


def _computes(
    meaning: kernel.Computes, codes: Sequence[Codes], result: Codes, shadows: Sequence[Shadow | None]
) -> Judgement | None:
    formats = [each for each in (*meaning.operands, meaning.result) if isinstance(each, FloatFormat)]
    if meaning.rule not in _ALL_RULES or not all(map(has_shadows, formats)):
        return None
    narrow = all(map(is_narrow, (*meaning.operands, meaning.result)))
    operands = [_shadowed(*each, narrow) for each in zip(meaning.operands, codes, shadows, strict=True)]
    if meaning.rule in kernel.IDENTITIES:
        operands = [_without_nans(each, kernel.IDENTITIES[meaning.rule]) for each in operands]
    kind = meaning.result
    value, unit = with_unit(kind, result)
    found = errors(meaning.rule, value, *operands, rules=_ALL_RULES)
    if not all(isinstance(each, FloatFormat) for each in meaning.operands):
        # An f64 may lack something of an integer, or of a quantised number.
        bare = [_shadowed(kind, each, None) for kind, each in zip(meaning.operands, codes, strict=True)]
        found = Errors(errors(meaning.rule, value, *bare, rules=_ALL_RULES).total, found.total)
    if isinstance(kind, kernel.Quantized):
        found = Errors(*(_less(each, result[..., 1], result[..., 2]) for each in found))
    infinite = np.logical_or.reduce([np.isinf(each.value) for each in operands])
    if infinite.any():
        found = _at_infinity(meaning.rule, value, operands, found)
    return Computed(value, tuple([each.value for each in operands]), unit, *found)


def with_unit(kind: FloatFormat | kernel.Quantized, codes: Codes) -> tuple[Floats, FloatFormat | Floats]:
    """Return numbers as `numbers_of` does, and their unit: the format that defines the ulp, or the scale."""
    if isinstance(kind, kernel.Quantized):
        return codes[..., 0], codes[..., 3]
    return as_f64(kind, codes), kind


def _less(shadow: Shadow, rest: Floats, lost: Floats) -> Shadow:
    """Return an error less ``rest``, a part of the exact number that the value already contains. ``lost``: a bound on
    the error of ``rest``.
    """
    error = shadow.error - rest
    return Shadow(error, shadow.radius + lost + UNIT * np.abs(error) * (rest != 0))


def _without_nans(x: Shadowed, identity: float) -> Shadowed:
    """Return numbers in which another number stands in place of the NaNs that the program spells."""
    absent = np.isnan(x.value) & is_exact(x)
    return x._replace(value=np.where(absent, identity, x.value)) if absent.any() else x


def _at_infinity(rule: str, value: Floats, operands: Sequence[Shadowed], found: Errors) -> Errors:
    """Return the errors, also for infinite operands that are exact, as constants and arguments mostly are.

    A function that is infinite there has no error if its result is. If it has a limit, the error of the result is the
    distance from the limit. Nothing is known about other results, for example those that a format has in place of an
    infinity.
    """
    limits = [np.isinf(each.value) & is_exact(each) for each in operands]
    sure = infinite_exactly(rule, value, operands)
    if rule == "divide":
        sure = sure | (limits[1] & (value == 0) & np.isfinite(operands[0].radius) & np.isfinite(operands[0].value))
    found = Errors(*(_set_where(sure, one, Shadow(NOTHING, NOTHING)) for one in found))
    if rule not in FUNCTIONS:
        return found
    finite = np.logical_or.reduce(limits) & np.isfinite(value)
    for end in (inf, -inf):
        here = finite & (operands[0].value == end)
        for number in np.unique(value[here]):
            apart = Shadow(*map(np.float64, middle_and_radius(_limit(rule, end) - float(number))))  # type: ignore[arg-type]
            found = Errors(*(_set_where(here & (value == number), one, apart) for one in found))
    return found


def infinite_exactly(rule: str, value: Floats, operands: Sequence[Shadowed]) -> Mask:
    """Return a mask of the results that are infinities of which exact arithmetic gives the same, since operands are
    infinite.
    """
    limits = [np.isinf(each.value) & is_exact(each) for each in operands]
    sure: Mask = np.isinf(value) & np.logical_or.reduce(limits) & (rule not in FUNCTIONS_OF_TWO)
    for each, limit in zip(operands, limits, strict=True):
        sign = np.abs(each.value) > np.abs(each.error) + each.radius
        sure = sure & (limit | (np.isfinite(each.radius) & (sign | is_exact(each) | (rule in _SUMS))))
    return sure


def _limit(rule: str, end: float) -> arb:
    """Return the limit of an elementary function at an infinity, if that is a number."""
    limits = FUNCTIONS[rule].limits
    word = limits.plus_infinity if end > 0 else limits.minus_infinity
    return BALLS[rule](arb(end)) if word == "real" else arb.nan() if word in _NO_NUMBERS else arb(float(word))


def _set_where(mask: Mask, shadow: Shadow, other: Shadow) -> Shadow:
    return Shadow(np.where(mask, other.error, shadow.error), np.where(mask, other.radius, shadow.radius))


_NO_NUMBERS = ("nan", "inf", "-inf")
_SUMS = ("add", "subtract")


def overflows(meaning: kernel.Computes, judged: Computed) -> Mask | None:
    """Return a mask of the results that overflowed: the operands are finite, and the format has no number as large as
    the exact result. None if there are none. Such a result is an infinity. In a format without infinities it is a NaN,
    or the largest number if the exact one is an ulp or more away from it.
    """
    value, fmt = judged.value, meaning.result
    largest = float(fmt.max_value) if isinstance(fmt, FloatFormat) else inf
    if np.abs(value).max(initial=0.0) < largest:  # not so with a NaN
        return None
    finite = np.logical_and.reduce([np.isfinite(each) for each in judged.operands])
    beyond: Mask = np.isinf(value) & finite
    if not isinstance(fmt, FloatFormat):
        return beyond
    outward = (judged.own.error * np.sign(value) >= ulp_of_float(fmt, largest)) & np.isfinite(judged.own.radius)
    beyond |= (np.abs(value) == largest) & outward
    absent = np.isnan(value) & finite
    if absent.any() and not fmt.infinities:
        operands = [exact(each) for each in judged.operands]
        for end in (largest, -largest) if fmt.signed else (largest,):
            own = errors(meaning.rule, end, *operands, rules=_ALL_RULES).own
            beyond |= absent & (own.error * np.sign(end) > own.radius)
    return beyond


def overflows_alone(fmt: FloatFormat, value: float, own: float, radius: float) -> bool:
    """Tell whether one finite result is the largest number of a format because the exact result is an ulp or more
    beyond it. ``own``, ``radius``: the own error of the result, and its radius.
    """
    return abs(value) == fmt.max_value and (own if value > 0 else -own) >= ulp_of_float(fmt, value) and isfinite(radius)


# --- single numbers ---------------------------------------------------------------------------------------------------

_BITS = 192
"""Bits of the balls of single numbers: more than a value and an error have together."""


class ResultError(NamedTuple):
    """What is known about one result that is a float: its own error with its radius, and the total error with its
    radius.
    """

    own: tuple[float, float]
    total: tuple[float, float]


def judge_one(rule: str, value: float, operands: Sequence[tuple[float, float, float]]) -> ResultError | None:
    """Return what is known about one finite result. ``rule``: the rule of the op; ``value``: the result; ``operands``:
    the value of each, its error and its radius.

    Balls compute it, since they are faster than arrays of one element. None for a rule without balls.
    """
    ball = BALLS.get(rule)
    if ball is None:
        return None
    with bits_of_precision(_BITS):
        own = middle_and_radius(ball(*(arb(each[0]) for each in operands)) - value)
        if not any(each[1] or each[2] for each in operands):
            return ResultError(own, own)
        if not all(isfinite(each[2]) for each in operands):
            return ResultError(own, (0.0, inf))
        given = (arb(value) + arb(error, radius) for value, error, radius in operands)
        return ResultError(own, middle_and_radius(ball(*given) - value))


# --- decisions --------------------------------------------------------------------------------------------------------

_ANSWERS = ("", "=", ">", ">=", "<", "<=", "<>", "<=>")
"""For each predicate of arith.cmpf, below 8 ordered and from 8 on unordered, what makes it true. Numbers have an order,
so only ordered and unordered themselves differ.
"""


def _answers(predicate: int) -> tuple[bool, bool, bool]:
    """Return the results of a comparison for a smaller, an equal and a greater number."""
    true = _ANSWERS[_KINDS[predicate]]
    return "<" in true, "=" in true, ">" in true


_KINDS = (0, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 0, 7)
"""By MLIR's number of a predicate: false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true."""


def _compares(
    meaning: kernel.Compares, codes: Sequence[Codes], result: Codes, shadows: Sequence[Shadow | None]
) -> Judgement | None:
    if not has_shadows(meaning.operand):
        return None
    x, y = (_shadowed(meaning.operand, *each) for each in zip(codes, shadows, strict=True))
    side, known = order(x, y)
    answers = np.array(_answers(meaning.predicate))[side + 1]
    # Of NaNs the exact run knows what this one knows, if it has them.
    certain = known | (is_exact(x) & is_exact(y))
    differs = known & (answers != (result != 0))
    always = len(set(_answers(meaning.predicate))) == 1
    return Decided(differs, np.zeros_like(certain) if always else ~certain)


def _to_integer(
    meaning: kernel.ToInteger, codes: Sequence[Codes], result: Codes, shadows: Sequence[Shadow | None]
) -> Judgement | None:
    if not has_shadows(meaning.operand) or meaning.rounding not in _JUMPS:
        return None
    x, found = _shadowed(meaning.operand, codes[0], shadows[0]), _of_integers(meaning.result, result)
    with np.errstate(all="ignore"):
        there = _ALL_RULES[_JUMPS[meaning.rounding]](found.value, x).total
        # A result that the type does not hold, saturated or wrapped, is not that of the exact run.
        distance = np.abs(there.error - found.error)
    known = np.isfinite(there.radius) & np.isfinite(x.value)
    same = known & (distance + there.radius < 0.5)
    differs = known & (distance - there.radius > 0.5)
    return Decided(differs, ~(same | differs))


def _stored(
    meaning: kernel.Stored, codes: Sequence[Codes], result: Codes, shadows: Sequence[Shadow | None]
) -> Judgement | None:
    """Tell where the exact run stores another integer: where its number is farther away than half a step."""
    (shadow,), half = shadows, codes[0][..., 3] / 2
    if shadow is None:
        return Decided(np.zeros(half.shape, np.bool_), np.zeros(half.shape, np.bool_))
    error = np.abs(shadow.error)
    differs, same = error - shadow.radius > half, error + shadow.radius < half
    return Decided(differs, ~(same | differs))


_JUMPS: Mapping[Rounding, str] = {
    Rounding.TO_NEAREST_EVEN: "roundeven",
    Rounding.DOWNWARD: "floor",
    Rounding.UPWARD: "ceil",
    Rounding.TOWARD_ZERO: "trunc",
    Rounding.TO_NEAREST_AWAY: "round",
}
_ALL_RULES: Mapping[str, Rule] = {**RULES, **STEPS}
_WAYS: Mapping[type, Callable[..., Judgement | None]] = {
    kernel.Computes: _computes,
    kernel.Compares: _compares,
    kernel.ToInteger: _to_integer,
    kernel.Stored: _stored,
}
