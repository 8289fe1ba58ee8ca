"""Requantisation: i32 accumulators to narrow integers by an integer multiplier and a shift, as libraries compute it.

Sources: gemmlowp (fixedpoint.h) and TensorFlow Lite (MultiplyByQuantizedMultiplier, QuantizeMultiplier), CMSIS-NN
(arm_nn_requantize), and the TOSA specification 1.0 (apply_scale_32, apply_scale_16, RESCALE).

Arguments are arrays of int64 with values in the documented ranges. A multiplier m of 31 fraction bits stands for
m / 2**31.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.formats import Mask
from halfulp.fp_formats.paths.words import Implementation, Word

Integers = npt.NDArray[np.int64]
_LOWEST, _HIGHEST = -(1 << 31), (1 << 31) - 1


def _wrapped(x: Integers) -> Integers:
    """Return the low 32 bits as signed numbers."""
    return (x + (1 << 31) & (1 << 32) - 1) - (1 << 31)


def _doubled_high_product(x: Integers, m: Integers) -> Integers:
    """Return x * m / 2**31, to nearest, ties toward +infinity: up to 2**31, for the two smallest i32 numbers."""
    return x * m + (1 << 30) >> 31


def _divided_by_power(x: Integers, exponent: Integers) -> Integers:
    """Return x / 2**exponent, to nearest, ties away from zero."""
    mask = (1 << exponent) - 1
    rest, threshold = x & mask, (mask >> 1) + (x < 0)
    return (x >> exponent) + (rest > threshold)


def _twice(high: Callable[[Integers], Integers]) -> Callable[[Integers, Integers, Integers], Integers]:
    """Return the rule that shifts left, multiplies and rounds, and then shifts right and rounds again."""

    def rule(x: Integers, m: Integers, shift: Integers) -> Integers:
        product = high(_doubled_high_product(_wrapped(x << np.maximum(shift, 0)), m))
        return _divided_by_power(product, np.maximum(-shift, 0))

    return rule


def _once(x: Integers, m: Integers, shift: Integers) -> Integers:
    """Return x * m / 2**(31 - shift), to nearest, ties toward +infinity."""
    total = 31 - shift
    return (x * m >> total - 1) + 1 >> 1


def _tosa(twice: bool) -> Callable[[Integers, Integers, Integers], Integers]:
    """Return TOSA's apply_scale_32, or apply_scale_16, which is the same computation on other ranges."""

    def rule(x: Integers, m: Integers, shift: Integers) -> Integers:
        product = x * m
        if twice:
            product = product + (shift > 31) * ((x >= 0) * (1 << 31) - (1 << 30))
        # The half is added by a shift, because its sum with a large product does not fit 64 bits.
        return (product >> shift - 1) + 1 >> 1

    return rule


@dataclass(frozen=True)
class RequantizationRule:
    """The rule by which a library scales an accumulator.

    ``meaning``: its description in the documentation. ``scale``: the function of accumulators, multipliers and shifts;
    a shift is the power of two that the library takes. ``shifts``, ``multipliers``, ``inputs``: the smallest and the
    largest that it takes. ``shifts_right``: a larger shift gives a smaller result, as in TOSA. ``wraps``: a result
    beyond i32 keeps its low 32 bits, otherwise it is an error.
    """

    meaning: str
    scale: Callable[[Integers, Integers, Integers], Integers]
    shifts: tuple[int, int]
    multipliers: tuple[int, int] = (0, _HIGHEST)
    inputs: tuple[int, int] = (_LOWEST, _HIGHEST)
    shifts_right: bool = False
    wraps: bool = False


RULES: Mapping[str, RequantizationRule] = MappingProxyType(
    {
        "gemmlowp": RequantizationRule(
            "gemmlowp and TensorFlow Lite: SaturatingRoundingDoublingHighMul, then RoundingDivideByPOT",
            _twice(lambda product: np.minimum(product, _HIGHEST)),
            (-31, 30),
            (_LOWEST, _HIGHEST),
        ),
        "tflite-single": RequantizationRule(
            "TensorFlow Lite built with TFLITE_SINGLE_ROUNDING: one rounding, ties toward +infinity", _once, (-31, 30)
        ),
        "cmsis-nn": RequantizationRule(
            "CMSIS-NN: as gemmlowp, but the product does not saturate", _twice(_wrapped), (-31, 30), (_LOWEST, _HIGHEST)
        ),
        "cmsis-nn-single": RequantizationRule(
            "CMSIS-NN built with CMSIS_NN_USE_SINGLE_ROUNDING", _once, (-31, 30), (_LOWEST, _HIGHEST), wraps=True
        ),
        "tosa": RequantizationRule(
            "TOSA's apply_scale_32 with SINGLE_ROUND: ties toward +infinity", _tosa(False), (2, 62), shifts_right=True
        ),
        "tosa-double": RequantizationRule(
            "TOSA's apply_scale_32 with DOUBLE_ROUND: as `tosa`, but for a shift above 31, 2**30 with the sign of the "
            "accumulator is also added to the product",
            _tosa(True),
            (2, 62),
            shifts_right=True,
        ),
        "tosa-16": RequantizationRule(
            "TOSA's apply_scale_16, of i48 accumulators with multipliers of i16",
            _tosa(False),
            (2, 62),
            (0, (1 << 15) - 1),
            (-(1 << 47), (1 << 47) - 1),
            shifts_right=True,
        ),
    }
)
"""The rules of libraries, by name."""


def faults(rule: RequantizationRule) -> tuple[str, ...]:
    """Return the cases in which a library does not define the result, as texts, in order of precedence."""
    ranges = ("x", rule.inputs), ("multiplier", rule.multipliers), ("shift", rule.shifts)
    return (
        *(f"{name} must lie in {least}..{most}" for name, (least, most) in ranges),
        "the left shift overflows i32, which C leaves undefined",
        "the result does not fit i32",
    )


@dataclass(frozen=True)
class Target:
    """The steps after a library's scaling of a number: ``output_zero_point`` is added, and the sum is clamped to
    integers of ``width`` bits. Before scaling, ``input_zero_point`` is subtracted.
    """

    width: int
    signed: bool = True
    input_zero_point: int = 0
    output_zero_point: int = 0


def requantized(
    rule: RequantizationRule, x: Integers, multiplier: Integers, shift: Integers, target: Target
) -> tuple[Integers, tuple[Mask, ...]]:
    """Return the integers that a rule makes from accumulators, and a mask for each of `faults`: the elements for which
    the library does not define the result. All arrays have one shape.
    """
    x = x - target.input_zero_point
    ranges = (x, rule.inputs), (multiplier, rule.multipliers), (shift, rule.shifts)
    wrong = [(numbers < least) | (numbers > most) for numbers, (least, most) in ranges]
    # What is outside of its range is not computed with.
    x, multiplier, shift = (np.where(mask, 2, each) for mask, (each, _) in zip(wrong, ranges, strict=True))
    moves = rule.scale is not _once and not rule.shifts_right
    moved = np.abs(x) > (1 << 31) - (x >= 0) >> np.maximum(shift, 0) if moves else np.zeros(x.shape, np.bool_)
    found = rule.scale(np.where(moved, 0, x), multiplier, shift)
    if rule.wraps:
        found = _wrapped(found)
    any_before = np.logical_or.reduce([*wrong, moved])
    beyond = ((found < _LOWEST) | (found > _HIGHEST)) & ~any_before
    lowest = -(1 << target.width - 1) if target.signed else 0
    clamped = np.clip(found + target.output_zero_point, lowest, lowest + (1 << target.width) - 1)
    return clamped, (*wrong, moved, beyond)


def check(rule: RequantizationRule, operands: Sequence[Integers], wrong: Sequence[Mask]) -> None:
    """Raise ValueError if a mask of ``wrong`` (one for each of `faults`) has an element. The message names the first
    fault and the first operands that have it: x after its zero point, multiplier, shift.
    """
    for reason, mask in zip(faults(rule), wrong, strict=True):
        places = np.flatnonzero(mask)
        if places.size:
            place = places[0]
            x, multiplier, shift = (numbers.flat[place] for numbers in operands)
            shown = f"x = {x}, multiplier = {multiplier}, shift = {shift}"
            raise ValueError(f"{reason}: {shown} (element {place}; {places.size} in all)")


def multiplier_of(scale: float) -> tuple[int, int]:
    """Return multiplier and shift of a scale as TensorFlow Lite computes them (QuantizeMultiplier): 31 fraction bits,
    rounded to nearest, ties away from zero; a scale below 2**-32 becomes 0.

    Raises ValueError for a scale that is not finite, negative, or 2**30 and larger.
    """
    if not 0 <= scale < 2.0**30:
        raise ValueError(f"scale is {scale}, but must lie in 0..2**30")
    fraction, shift = math.frexp(scale)
    multiplier = math.floor(fraction * (1 << 31) + 0.5)
    if multiplier == 1 << 31:
        multiplier, shift = 1 << 30, shift + 1
    return (0, 0) if shift < -31 or not multiplier else (multiplier, shift)


# --- on words ---------------------------------------------------------------------------------------------------------
#
# The rules on machine words (`halfulp.fp_formats.paths.words`). Words have 64 bits, read as signed numbers. Operands
# for which a library leaves the result undefined are refused: the scalar implementation says why.

_SHIFTS = 63


def _flag(condition: Word) -> Word:
    return condition.resized(64)


def _wrapped_word(x: Word) -> Word:
    return x.resized(32).resized(64, signed=True)


def _least(x: Word, bound: int) -> Word:
    return x.less(bound, signed=True).choose(x, x.of(bound))


def _most(x: Word, bound: int) -> Word:
    return x.less(bound, signed=True).choose(x.of(bound), x)


def _divided_by_power_word(x: Word, exponent: Word) -> Word:
    mask = (x.of(1) << exponent) - 1
    threshold = mask.shift_right(1) + _flag(x.less(0, signed=True))
    return x.shift_right(exponent, signed=True) + _flag(threshold.less(x & mask, signed=True))


def _twice_word(high: Callable[[Word], Word]) -> Implementation:
    def rule(x: Word, m: Word, shift: Word) -> Word:
        moved = x << _most(shift, 0)
        kept = _wrapped_word(moved)
        moved.differs(kept).refuse()
        # Processors multiply words of 32 bits faster; these have all that is not refused.
        product = (kept * _wrapped_word(m) + (1 << 30)).shift_right(31, signed=True)
        return _divided_by_power_word(high(product), _most(x.of(0) - shift, 0))

    return rule


def _once_word(x: Word, m: Word, shift: Word) -> Word:
    return ((x * m).shift_right(x.of(30) - shift & _SHIFTS, signed=True) + 1).shift_right(1, signed=True)


def _tosa_word(twice: bool) -> Implementation:
    def rule(x: Word, m: Word, shift: Word) -> Word:
        added = x.of(1) << (shift - 1 & _SHIFTS)
        if twice:
            more = x.less(0, signed=True).choose(x.of(-(1 << 30)), x.of(1 << 30))
            added = added + x.of(31).less(shift, signed=True).choose(more, x.of(0))
        return (x * m + added).shift_right(shift, signed=True)

    return rule


_SCALES: Mapping[str, Implementation] = MappingProxyType(
    {
        "gemmlowp": _twice_word(lambda product: _least(product, _HIGHEST)),
        "tflite-single": _once_word,
        "cmsis-nn": _twice_word(_wrapped_word),
        "cmsis-nn-single": _once_word,
        "tosa": _tosa_word(False),
        "tosa-double": _tosa_word(True),
        "tosa-16": _tosa_word(False),
    }
)


def requantization_words(name: str, target: Target) -> Implementation:
    """Return the description of a rule: a function of the codes of the input, of the multiplier and of the shift."""
    rule, scale = RULES[name], _SCALES[name]
    ranges: Sequence[tuple[int, int]] = (rule.inputs, rule.multipliers, rule.shifts)
    lowest = -(1 << target.width - 1) if target.signed else 0

    def implementation(*codes: Word) -> Word:
        x, m, shift = (code.resized(64, signed=True) for code in codes)
        x = x - target.input_zero_point
        for number, (least, most) in zip((x, m, shift), ranges, strict=True):
            number.less(least, signed=True).refuse()
            (number.of(most).less(number, signed=True)).refuse()
        found = scale(x, m, _least(_most(shift, rule.shifts[0]), rule.shifts[1]))
        if rule.wraps:
            found = _wrapped_word(found)
        else:
            found.differs(_wrapped_word(found)).refuse()
        clamped = _least(_most(found + target.output_zero_point, lowest), lowest + (1 << target.width) - 1)
        return clamped.resized(target.width)

    return implementation
