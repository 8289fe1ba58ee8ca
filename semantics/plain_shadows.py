"""Cheaper shadows, without bounds: beside each number of a program, the result of the same ops in a wider format, f64
or f128.

The result in the wider format is stored as an error in f64: its difference from the program's number. Each op rounds in
the wider format as well, so this error is only an estimate, and its own error is unknown. If a format has as many bits
as the wider one, nothing is known about its numbers, because the wider format is no more precise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask
from halfulp.fp_formats.paths import elementary, fast
from halfulp.fp_formats.policy import Rounding
from halfulp.fp_formats.reals.functions import FUNCTIONS
from halfulp.fp_formats.reals.functions_of_two import FUNCTIONS_OF_TWO
from halfulp.semantics import judging
from halfulp.semantics.kernel import Computes, Meaning
from halfulp.semantics.shadows import Floats, Shadow, Shadowed, exact

F64 = FORMATS["f64"]
WIDER = ("f64", "f128")
"""The formats that numbers beside the run may have."""

Function = Callable[..., Any]


def _as(function: Callable[..., Any], *arguments: Any) -> Function:
    return lambda fmt, *codes: function(fmt, *codes, *arguments).codes


_IN_FORMAT: Mapping[str, Function] = {
    "add": _as(fast.add),
    "subtract": _as(fast.subtract),
    "multiply": _as(fast.multiply),
    "divide": _as(fast.divide),
    "negate": _as(fast.negate),
    "remainder": _as(fast.remainder),
    "fma": _as(fast.fma),
    "maximum number": _as(fast.maximum_number),
    "minimum number": _as(fast.minimum_number),
    "maximum": _as(fast.maximum),
    "minimum": _as(fast.minimum),
    "absolute": lambda fmt, a: fast.maximum(fmt, a, fast.negate(fmt, a).codes).codes,
    "convert": lambda fmt, a: a,
    "clamp": lambda fmt, a, low, high: fast.maximum(fmt, fast.minimum(fmt, a, high).codes, low).codes,
    "floor": _as(fast.to_integral, int(Rounding.DOWNWARD)),
    "ceil": _as(fast.to_integral, int(Rounding.UPWARD)),
    "trunc": _as(fast.to_integral, int(Rounding.TOWARD_ZERO)),
    "round": _as(fast.to_integral, int(Rounding.TO_NEAREST_AWAY)),
    "roundeven": _as(fast.to_integral, int(Rounding.TO_NEAREST_EVEN)),
    "copysign": lambda fmt, a, b: np.where(_sign(fmt, a) == _sign(fmt, b), a, fast.negate(fmt, a).codes),
    "square root": lambda fmt, a: elementary.unary("sqrt", fmt, a).codes,
    **{name: _as(partial(elementary.unary, name)) for name in FUNCTIONS},
    **{name: _as(partial(elementary.binary, name)) for name in FUNCTIONS_OF_TWO},
}
"""What each rule computes on codes of f64 or f128."""


def _sign(fmt: FloatFormat, codes: Codes) -> Any:
    """Return the sign bits of codes; codes of several words keep their axis of words."""
    return codes >> np.uint64(63) if fmt.limbs == 1 else codes[..., -1:] >> np.uint64(63)


BY_NUMPY: Mapping[str, Function] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "negate": np.negative,
    "absolute": np.absolute,
    "convert": lambda a: a,
    "square root": np.sqrt,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "fma": lambda a, b, c: a * b + c,
}
"""Rules of f64 that NumPy has."""


@lru_cache(maxsize=64)
def _function(rule: str, wider: FloatFormat) -> Function | None:
    """Return the function of a rule on numbers in the wider format, f64 arrays or codes; None for an unknown rule."""
    if wider is F64 and rule in BY_NUMPY:
        return BY_NUMPY[rule]
    function = _IN_FORMAT.get(rule)
    if function is None or wider is not F64:
        return None if function is None else partial(function, wider)
    return lambda *numbers: function(F64, *(np.asarray(x).view(np.uint64) for x in numbers)).view(np.float64)


def _lifted(values: Floats, wider: FloatFormat) -> Any:
    if wider is F64:
        return values
    return fast.convert(F64, wider, np.ascontiguousarray(values).view(np.uint64)).codes


def _less(numbers: Any, values: Any, wider: FloatFormat) -> Floats:
    """Return numbers minus values, both in the wider format, as f64."""
    if wider is F64:
        return np.asarray(numbers - values)
    difference = fast.subtract(wider, numbers, values).codes
    return np.asarray(fast.convert(wider, F64, difference).codes).view(np.float64)


def judge_plainly(
    wider: FloatFormat,
    meaning: Meaning | None,
    codes: Sequence[Codes],
    result: Codes,
    shadows: Sequence[Shadow | None],
) -> judging.Judgement | None:
    """Return what is known about a result, as `halfulp.semantics.judging.judge` does, but by numbers in a wider format.
    The radius of an error is 0, or infinite if nothing is known.
    """
    if not isinstance(meaning, Computes):
        return judging.judge(meaning, codes, result, shadows)
    function = _function(meaning.rule, wider)
    formats = [each for each in (*meaning.operands, meaning.result) if isinstance(each, FloatFormat)]
    if function is None or not all(map(judging.has_shadows, formats)):
        return None
    if isinstance(meaning.result, FloatFormat) and meaning.result.precision >= wider.precision:
        return None
    value, unit = judging.with_unit(meaning.result, result)
    operands = [judging.numbers_of(*each) for each in zip(meaning.operands, codes, strict=True)]
    with np.errstate(all="ignore"):
        computed = _lifted(value, wider)
        given = [_lifted(each, wider) for each in operands]
        own = _known(_less(function(*given), computed, wider))
        infinite = np.isinf(value)
        if infinite.any():
            own = _settled(own, judging.infinite_exactly(meaning.rule, value, [exact(each) for each in operands]))
        if not any(shadow is not None for shadow in shadows):
            return judging.Computed(value, tuple(operands), unit, own, own)
        beside = [
            number if shadow is None else _beside(number, shadow, wider)
            for number, shadow in zip(given, shadows, strict=True)
        ]
        total = _known(_less(function(*beside), computed, wider))
    for shadow in shadows:
        if shadow is not None and shadow.radius.strides != (0,):
            total = Shadow(total.error, np.maximum(total.radius, shadow.radius))
    if infinite.any():
        pairs = zip(operands, shadows, strict=True)
        shadowed = [exact(number) if shadow is None else Shadowed(number, *shadow) for number, shadow in pairs]
        total = _settled(total, judging.infinite_exactly(meaning.rule, value, shadowed))
    return judging.Computed(value, tuple(operands), unit, own, total)


def _beside(number: Any, shadow: Shadow, wider: FloatFormat) -> Any:
    error = _lifted(shadow.error, wider)
    return number + error if wider is F64 else fast.add(wider, number, error).codes


def _settled(shadow: Shadow, mask: Mask) -> Shadow:
    """Return a shadow with errors of 0 where the mask holds: an infinity minus itself would be a NaN."""
    return Shadow(np.where(mask, 0.0, shadow.error), np.where(mask, 0.0, shadow.radius)) if mask.any() else shadow


def _known(error: Floats) -> Shadow:
    if np.isfinite(error.sum()):
        return Shadow(error, np.broadcast_to(0.0, error.shape))
    finite = np.isfinite(error)
    return Shadow(np.where(finite, error, 0.0), np.where(finite, 0.0, np.inf))
