"""Elementary functions on arrays of f32, to nearest even: by f64 and the machine's own conversions.

One test on the bits of an approximation tells whether it rounds like every number within its margin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from halfulp.fp_formats.exact.core import ArrayResult
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask
from halfulp.fp_formats.paths import word_functions
from halfulp.fp_formats.paths.error_free import Index
from halfulp.fp_formats.paths.margins import APPROXIMATIONS, Approximation, Reals
from halfulp.fp_formats.policy import FloatPolicy
from halfulp.fp_formats.scalar import RNE

Remaining = Callable[..., ArrayResult]

CHUNK = 1 << 14  # elements: the buffers of one chunk stay in the second-level cache
_F32, _F64 = FORMATS["f32"], FORMATS["f64"]
_LEAST = _F32.min_normal_code
_CUT = _F64.mantissa_bits - _F32.mantissa_bits  # bits of f64 below the last bit of f32
_MIDPOINT, _BELOW, _WORD = 1 << _CUT - 1, np.uint64((1 << _CUT) - 1), (1 << _F64.bits) - 1
# Codes of the numbers above the least normal one, without signs. A smaller approximation may round to that one from the
# other side of a midpoint of subnormals.
_FIRST, _NORMAL = (np.uint32(code << 1) for code in (_LEAST + 1, _F32.max_code - _LEAST - 1))

_ORDINARY = np.uint32((_F32.max_code << 1) - 1)
_LIMITS = tuple(np.uint32(sign | code) for sign in (0, _F32.sign_mask or 0) for code in (0, _F32.infinity_code or 0))


def applies(src: FloatFormat, dst: FloatFormat, rounding: int, policy: FloatPolicy, want_flags: bool) -> bool:
    """Tell whether this path can compute functions of ``src`` that are rounded to ``dst``, for these settings."""
    return rounding == RNE and not want_flags and word_functions.applies(src, dst, rounding, policy)


def unary(name: str, a: Codes, rest: Remaining) -> ArrayResult:
    """Return the results of a function of one argument for codes of f32. ``rest`` computes the elements whose rounding
    this path does not determine.
    """
    flat = np.ascontiguousarray(a).reshape(-1)
    codes, where = _rounded(APPROXIMATIONS[name], [flat])
    for operand in _LIMITS:  # each may be the operand of half an array
        alike = flat[where] == operand
        if alike.any():
            codes[where[alike]] = rest(np.array([operand])).codes
            where = where[~alike]
    if where.size:
        codes[where] = rest(flat[where]).codes
    return ArrayResult(codes.reshape(a.shape))


def binary(row: Approximation, a: Codes, b: Codes, rest: Remaining) -> ArrayResult:
    """Return the results of a function of two arguments for two arrays of codes of f32, of one dimension and one
    length. ``row``: its approximation, which takes both as the rows of one array. ``rest`` computes the elements whose
    rounding this path does not determine.
    """
    operands = [np.ascontiguousarray(each) for each in (a, b)]
    codes, where = _rounded(row, operands)
    if where.size:
        codes[where] = rest(*(each[where] for each in operands)).codes
    return ArrayResult(codes)


def _rounded(row: Approximation, operands: Sequence[Codes]) -> tuple[Codes, Index]:
    """Return rounded results for rows of codes, and the places of those that are not settled."""
    size = operands[0].size
    codes = np.empty(size, np.uint32)
    buffers = _Buffers(min(CHUNK, size), len(operands))
    unsettled = []
    with np.errstate(all="ignore"):
        for start in range(0, size, CHUNK):
            part = slice(start, start + CHUNK)
            mask = _chunk(row, [each[part] for each in operands], codes[part], buffers)
            if mask.any():
                unsettled.append(start + np.flatnonzero(mask))
    return codes, np.concatenate(unsettled) if unsettled else np.empty(0, np.intp)


class _Buffers:
    """Memory for the steps of one chunk: fresh memory for each would take more time than the steps."""

    def __init__(self, size: int, operands: int) -> None:
        self.x, self.y = np.empty((operands, size)), np.empty(size)
        self.bits, self.magnitude = np.empty(size, np.uint64), np.empty(size, np.uint32)
        self.near, self.special = np.empty(size, np.bool_), np.empty(size, np.bool_)


def _chunk(row: Approximation, operands: Sequence[Codes], out: Codes, buffers: _Buffers) -> Mask:
    """Write rounded results; return the mask of those that are not settled.

    A normal result is settled if no midpoint of f32, at any exponent, lies nearer than the margin. If there is one
    operand, and it is zero or infinite, it has its exact result, or one within the margin. Of two operands, results of
    zeros, infinities and NaNs are not settled.
    """
    part = slice(out.size)
    bits, magnitude = buffers.bits[part], buffers.magnitude[part]
    near, special = buffers.near[part], buffers.special[part]
    pair = buffers.x[:, part]
    for number, each in zip(pair, operands, strict=True):
        np.copyto(number, each.view(np.float32))
    x = pair if len(operands) > 1 else pair[0]
    y: Reals = row.function(x, out=buffers.y[part]) if isinstance(row.function, np.ufunc) else row.function(x)
    np.copyto(out.view(np.float32), y, casting="same_kind")
    np.add(y.view(np.uint64), np.uint64((row.margin - 1 - _MIDPOINT) & _WORD), out=bits)
    np.bitwise_and(bits, _BELOW, out=bits)
    np.less(bits, np.uint64(2 * row.margin - 1), out=near)
    np.left_shift(out, np.uint32(1), out=magnitude)
    np.subtract(magnitude, _FIRST, out=magnitude)
    np.greater(magnitude, _NORMAL, out=special)
    np.logical_or(near, special, out=near)
    for each in operands if len(operands) > 1 else ():
        np.left_shift(each, np.uint32(1), out=magnitude)
        np.subtract(magnitude, np.uint32(1), out=magnitude)
        np.greater(magnitude, _ORDINARY, out=special)
        np.logical_or(near, special, out=near)
    if row.holds is not None:
        near |= ~row.holds(x, y)
    return near
