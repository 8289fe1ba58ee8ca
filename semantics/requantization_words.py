"""Requantisation on machine words (`halfulp.fp_formats.paths.words`): the rules of `requantization` once more.

Words have 64 bits, read as signed numbers. Operands for which a library leaves the result undefined are refused: the
scalar implementation says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from halfulp.fp_formats.paths.words import Implementation, Word
from halfulp.semantics.requantization import RULES, Target

_LOWEST, _HIGHEST = -(1 << 31), (1 << 31) - 1
_SHIFTS = 63


def _flag(condition: Word) -> Word:
    return condition.resized(64)


def _wrapped(x: Word) -> Word:
    return x.resized(32).resized(64, signed=True)


def _least(x: Word, bound: int) -> Word:
    return x.less(bound, signed=True).choose(x, x.of(bound))


def _most(x: Word, bound: int) -> Word:
    return x.less(bound, signed=True).choose(x.of(bound), x)


def _divided_by_power(x: Word, exponent: Word) -> Word:
    mask = (x.of(1) << exponent) - 1
    threshold = mask.shift_right(1) + _flag(x.less(0, signed=True))
    return x.shift_right(exponent, signed=True) + _flag(threshold.less(x & mask, signed=True))


def _twice(high: Callable[[Word], Word]) -> Implementation:
    def rule(x: Word, m: Word, shift: Word) -> Word:
        moved = x << _most(shift, 0)
        moved.differs(_wrapped(moved)).refuse()
        product = (moved * m + (1 << 30)).shift_right(31, signed=True)
        return _divided_by_power(high(product), _most(x.of(0) - shift, 0))

    return rule


def _once(x: Word, m: Word, shift: Word) -> Word:
    return ((x * m).shift_right(x.of(30) - shift & _SHIFTS, signed=True) + 1).shift_right(1, signed=True)


def _tosa(twice: bool) -> Implementation:
    def rule(x: Word, m: Word, shift: Word) -> Word:
        added = x.of(1) << (shift - 1 & _SHIFTS)
        if twice:
            more = x.less(0, signed=True).choose(x.of(-(1 << 30)), x.of(1 << 30))
            added = added + x.of(31).less(shift, signed=True).choose(more, x.of(0))
        return (x * m + added).shift_right(shift, signed=True)

    return rule


_SCALES: Mapping[str, Implementation] = MappingProxyType(
    {
        "gemmlowp": _twice(lambda product: _least(product, _HIGHEST)),
        "tflite-single": _once,
        "cmsis-nn": _twice(_wrapped),
        "cmsis-nn-single": _once,
        "tosa": _tosa(False),
        "tosa-double": _tosa(True),
        "tosa-16": _tosa(False),
    }
)


def requantization_words(name: str, target: Target) -> Implementation:
    """Return the description of a rule, from the input, the multiplier and the shift as codes."""
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
            found = _wrapped(found)
        else:
            found.differs(_wrapped(found)).refuse()
        clamped = _least(_most(found + target.output_zero_point, lowest), lowest + (1 << target.width) - 1)
        return clamped.resized(target.width)

    return implementation
