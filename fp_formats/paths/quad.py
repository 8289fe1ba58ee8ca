"""Arithmetic in f128 by compiled loops, where numba is installed.

The loops do finite numbers, in all modes but the stochastic one; `exact` does the rest.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from halfulp.fp_formats.codes import Codes, Mask, code_shape, element_shape
from halfulp.fp_formats.exact.core import flattened
from halfulp.fp_formats.formats import FORMATS, FloatFormat
from halfulp.fp_formats.paths import compiled, quad_loops
from halfulp.fp_formats.policy import FloatPolicy
from halfulp.fp_formats.scalar import RD, RNA, RNE, RU, RZ

F128 = FORMATS["f128"]
WEIGHT = 32
"""The time that one element saves, in that of an element of the other compiled loops."""
_FINITE = np.uint64((F128.infinity_code or 0) >> 63)  # numbers are less, without their sign, shifted up by a bit
_DROPPED = 126 - F128.mantissa_bits  # the bits that rounding drops
_HALF, _ALL = 1 << _DROPPED - 1, (1 << _DROPPED) - 1


class Mode(NamedTuple):
    """A mode. ``ties``: 1 if the last bit that stays is added, so that ties go to the even neighbour. ``plus``,
    ``minus``: what is added to numbers of this sign before bits are dropped. ``largest_plus``, ``largest_minus``: 1 if
    the largest number stands for numbers that are larger, not infinity. ``zero``: the sign of x - x.
    """

    ties: int
    plus: int
    minus: int
    largest_plus: int
    largest_minus: int
    zero: int = 0


MODES: dict[int, Mode] = {
    RNE: Mode(1, _HALF - 1, _HALF - 1, 0, 0),
    RNA: Mode(0, _HALF, _HALF, 0, 0),
    RZ: Mode(0, 0, 0, 1, 1),
    RU: Mode(0, _ALL, 0, 0, 1),
    RD: Mode(0, 0, _ALL, 1, 0, 1),
}
_LOOPS = {
    "add": quad_loops.add,
    "subtract": quad_loops.add,
    "multiply": quad_loops.multiply,
    "divide": quad_loops.divide,
}
_WORDS = (np.uint64,)


def computes(operation: str, fmt: FloatFormat, rounding: int, policy: FloatPolicy) -> bool:
    """Tell whether there is a loop."""
    plain = not policy.flushing(fmt).any and not policy.arithmetic_saturation(fmt).numbers
    return fmt == F128 and operation in _LOOPS and rounding in MODES and plain


def arithmetic(operation: str, a: Codes, b: Codes, rounding: int) -> tuple[Codes, Mask | None] | None:
    """Return the results of an operation that `computes`, and the mask of the elements that are left to `exact`; None
    if numba does not save time.
    """
    shape = np.broadcast_shapes(element_shape(a, F128.bits), element_shape(b, F128.bits))
    loop = compiled.loop(_LOOPS[operation], _WORDS, _WORDS, *[np.uint64] * 7, _WORDS)
    run = loop.get(WEIGHT * math.prod(shape))
    if run is None:
        return None
    x, y = (np.ascontiguousarray(flattened(codes, F128.bits, shape)) for codes in (a, b))
    made = np.empty_like(x)
    left = None
    if not run(x.reshape(-1), y.reshape(-1), *MODES[rounding], operation == "subtract", made.reshape(-1)):
        left = ~(_finite(x) & _finite(y))
        if operation == "divide":
            left |= ((y[:, 1] << np.uint64(1)) | y[:, 0]) == 0
        left = left.reshape(shape)
    return made.reshape(code_shape(shape, F128.bits)), left


def _finite(codes: Codes) -> Mask:
    finite: Mask = codes[:, 1] << np.uint64(1) < _FINITE
    return finite
