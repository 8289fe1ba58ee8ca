"""Functions of complex numbers on arrays of codes. The results are those of
`halfulp.fp_formats.reals.complex_functions`, and take less time.

Codes have a last axis of two, the real and the imaginary parts. One ball determines the results of most numbers that
are not on the axes. Most quotients of f32 are determined by a margin around their value in f64. That module computes
the remaining results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from halfulp.fp_formats.exact.encoding import round_f64
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask
from halfulp.fp_formats.paths import margins
from halfulp.fp_formats.policy import SPEC, FloatPolicy
from halfulp.fp_formats.scalar import RNE

_BALLS_PAY = 8
"""Numbers from which on balls on arrays are quicker than the specification."""
_F32 = FORMATS["f32"]
_QUOTIENT = 4
"""The margin of a quotient of f32 in f64, in ulp: products are exact, and a sum, a sum and a quotient are rounded."""

Remembered = Callable[..., tuple[int, int]]


def unary(name: str, fmt: FloatFormat, z: Codes, policy: FloatPolicy = SPEC) -> Codes:
    """Return a function of complex numbers, each part rounded once to nearest even. ``name``: the name of the function.
    ``z``: codes of a format of up to 64 bits.

    Raises `halfulp.fp_formats.reals.functions.Unsettled` if no ball of bounded precision determines a part.
    """
    from halfulp.fp_formats.reals import complex_functions

    ball = complex_functions.BALLS.get(name)
    return _settled(ball, lambda a: complex_functions.unary(name, fmt, a[0], a[1], policy), fmt, policy, z)


def binary(name: str, fmt: FloatFormat, z: Codes, w: Codes, policy: FloatPolicy = SPEC) -> Codes:
    """Return ``divide``, ``power`` or ``atan2`` of two arrays of complex numbers that broadcast. The rest is as for
    `unary`.
    """
    from halfulp.fp_formats.reals import complex_functions

    ball = complex_functions.BALLS.get(name)
    return _settled(ball, lambda a, b: complex_functions.binary(name, fmt, a, b, policy), fmt, policy, z, w)


def _settled(
    ball: Callable[..., Any] | None, exactly: Remembered, fmt: FloatFormat, policy: FloatPolicy, *operands: Codes
) -> Codes:
    numbers = np.broadcast_arrays(*operands)
    shape, rows = numbers[0].shape, [each.reshape(-1, 2) for each in numbers]
    result, rest = np.empty_like(rows[0]), np.ones(len(rows[0]), np.bool_)
    if ball is not None and rest.size >= _BALLS_PAY:
        if len(rows) == 2 and fmt == _F32 and policy == SPEC and ball.__name__ == "quotient":
            result, settled = _quotient(*rows)
            rest = ~settled
        if rest.any():
            from halfulp.fp_formats.reals import arrays

            result[rest], settled = arrays.of_complex(ball, fmt, *(row[rest] for row in rows), policy=policy)
            rest[rest] = ~settled
    known: dict[Any, tuple[int, int]] = {}
    for place in np.flatnonzero(rest).tolist():
        key = tuple(tuple(row[place].tolist()) for row in rows)
        if key not in known:
            known[key] = exactly(*key)
        result[place] = known[key]
    return result.reshape(shape)


def _quotient(z: Codes, w: Codes) -> tuple[Codes, Mask]:
    """Return quotients of f32, and the mask of those that are right."""
    (a, b), (c, e) = (each.view(np.float32).astype(np.float64).T for each in (z, w))
    with np.errstate(all="ignore"):
        length = c * c + e * e
        parts = np.stack([(a * c + b * e) / length, (b * c - a * e) / length], axis=-1)
        tame = np.isfinite(parts) & (parts != 0)
    mask = tame & margins.settled(np.where(tame, parts, 1), _QUOTIENT, _F32)
    codes = round_f64(_F32, np.where(mask, parts, 1).ravel().view(np.uint64), RNE, SPEC, False).codes.reshape(
        parts.shape
    )
    return codes, np.asarray(mask.all(axis=-1))
