"""How ggml searches for the scales of the blocks Q2_K to Q6_K: the codes of blocks of f32.

A block of 256 elements has groups of 16 or 32. For each group a search tries some scales and keeps the one with the
smallest weighted error. Then the scales of the groups become integers, with one or two f16 numbers for the block, and
the elements are rounded again by these. Source: ``quantize_row_q*_K_ref`` of ggml. Each operation is rounded to f32,
sums go from the first element to the last, and products are not fused with sums.

Arrays of groups are [elements of a group, groups], so that a sum over a group adds rows one after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]

_SIZE = 256
_LEAST = np.float32(1e-15)
"""A group whose largest magnitude is smaller counts as zeros in Q3_K and Q6_K."""


def _nearest(numbers: Floats) -> Integers:
    """Round to integers as ggml does: to nearest even, by the lowest bits of a sum. What is not finite, or has more
    than 22 bits, gives what those bits are.
    """
    bits = (numbers + np.float32(12582912)).view(np.int32)
    return (bits & 0x7FFFFF) - 0x400000


def _sum(terms: Floats) -> Floats:
    """Add rows one after the other."""
    return np.asarray(np.add.accumulate(terms, axis=0, dtype=np.float32)[-1])


def _groups(x: Floats, size: int) -> Floats:
    """Return blocks [n, 256] as groups [size, n * 256 / size]."""
    return np.ascontiguousarray(x.reshape(-1, size).T)


def _of_blocks(groups: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return elements [size, groups] as blocks [n, 256]."""
    return np.ascontiguousarray(groups.T).reshape(-1, _SIZE)


def _halved(numbers: Floats) -> tuple[npt.NDArray[np.uint16], Floats]:
    """Return numbers rounded to f16: their codes, and their values in f32."""
    halves = numbers.astype(np.float16)
    return halves.view(np.uint16), halves.astype(np.float32)


def _largest(values: Floats) -> Floats:
    """Return the value of each column whose magnitude is the largest, the first of equal ones; 0 beside NaN alone."""
    magnitudes = np.where(np.isnan(values), np.float32(0), np.abs(values))
    at = magnitudes.argmax(axis=0)[None]
    found = np.take_along_axis(values, at, axis=0)[0]
    return np.where(np.isnan(found), np.float32(0), found)


# --- scales and minimums: Q2_K, Q4_K, Q5_K ----------------------------------------------------------------------------


def _range_search(
    x: Floats, weights: Floats, top: int, first: float, steps: int, magnitudes: bool
) -> tuple[Floats, Floats, Integers]:
    """Return the scales of groups, the numbers that are subtracted, and the elements, 0 to ``top``.

    The first try spreads the elements over the range of the group. The others spread it over ``first``, ``first`` + 0.1
    and so on more levels, and fit scale and minimum to these elements by least squares. ``magnitudes``: the error is a
    sum of magnitudes, else of squares.
    """

    def error(scale: npt.NDArray[Any], low: npt.NDArray[Any], levels: Integers) -> Floats:
        off = scale * levels.astype(np.float32) + low - x
        return _sum(weights * (np.abs(off) if magnitudes else off * off))

    def spread(inverse: Floats, low: Floats) -> Integers:
        return _nearest(inverse * (x - low)).clip(0, top)

    low, high = np.minimum(x.min(axis=0), np.float32(0)), x.max(axis=0)
    flat = high == low
    inverse = np.float32(top) / (high - low)
    levels, scale = spread(inverse, low), np.float32(1) / inverse
    best = error(scale, low, levels)
    sum_w, sum_x = _sum(weights), _sum(weights * x)
    for step in range(steps + 1):
        more = np.float32(first) + np.float32(0.1) * np.float32(step) + np.float32(top)
        tried = spread(more / (high - low), low)
        t = tried.astype(np.float32)
        weighted = weights * t
        sum_l, sum_l2, sum_xl = _sum(weighted), _sum(weighted * t), _sum(weighted * x)
        determinant = sum_w * sum_l2 - sum_l * sum_l
        new_scale = (sum_w * sum_xl - sum_x * sum_l) / determinant
        new_low = (sum_l2 * sum_x - sum_l * sum_xl) / determinant
        new_scale = np.where(new_low > 0, sum_xl / sum_l2, new_scale)
        new_low = np.where(new_low > 0, np.float32(0), new_low)
        found = error(new_scale, new_low, tried)
        better = (determinant > 0) & (found < best) & ~flat
        best, scale, low = (
            np.where(better, new, old) for new, old in ((found, best), (new_scale, scale), (new_low, low))
        )
        levels = np.where(better, tried, levels)
    return np.where(flat, np.float32(0), scale), -low, np.where(flat, 0, levels)


def _with_minimums(
    x: Floats, size: int, top: int, scale_top: int, first: float, steps: int
) -> tuple[npt.NDArray[Any], ...]:
    """Return the codes of blocks with scales and minimums. ``scale_top``: the largest scale of a group."""
    groups = _groups(x, size)
    magnitudes = np.abs(groups)
    weights = magnitudes if size == 16 else np.sqrt(_sum(groups * groups) / np.float32(size)) + magnitudes
    scales, lows, levels = _range_search(groups, weights, top, first, steps, magnitudes=size == 16)
    held, codes = [], []
    for numbers in (scales.reshape(len(x), -1), lows.reshape(len(x), -1)):
        most = np.maximum(numbers.max(axis=1, keepdims=True), np.float32(0))
        inverse = np.where(most > 0, np.float32(scale_top) / most, np.float32(0))
        fields = _nearest(inverse * numbers).astype(np.uint8)
        held.append(np.minimum(fields, scale_top) if scale_top == 63 else fields)
        codes.append(_halved(most / np.float32(scale_top)))
    if scale_top == 15:  # both fields share a byte, and a negative scale reaches into that of the minimum
        held = [held[0] & 15, held[0] >> 4 | held[1]]
    d, low = ((half * fields.astype(np.float32)).reshape(1, -1) for fields, (_, half) in zip(held, codes, strict=True))
    again = _nearest((groups + low) / d).clip(0, top)
    elements = _of_blocks(np.where(d != 0, again, levels)).astype(np.uint8)
    return elements, *held, codes[0][0], codes[1][0]


def to_q2_k(x: Floats) -> tuple[npt.NDArray[Any], ...]:
    """Return the codes of the parts of Q2_K."""
    return _with_minimums(x, 16, 3, 15, -0.5, 15)


def to_q4_k(x: Floats) -> tuple[npt.NDArray[Any], ...]:
    """Return the codes of the parts of Q4_K."""
    return _with_minimums(x, 32, 15, 63, -1, 20)


def to_q5_k(x: Floats) -> tuple[npt.NDArray[Any], ...]:
    """Return the codes of the parts of Q5_K."""
    return _with_minimums(x, 32, 31, 63, -0.5, 15)


# --- scales alone: Q3_K and Q6_K --------------------------------------------------------------------------------------


def _descent(x: Floats) -> tuple[Floats, Integers]:
    """Return the scales of groups of Q3_K, and the elements, -4 to 3, plus 4.

    The elements begin at those of a scale by which the largest becomes -4. Five times, each element in turn becomes the
    one that fits the scale of all others, if this makes the error smaller.
    """
    extreme = _largest(x)
    levels = _nearest(np.float32(-4) / extreme * x).clip(-4, 3)
    weights = x * x
    start = levels.astype(np.float32)
    sum_lx, sum_l2 = _sum(weights * x * start), _sum(weights * start * start)
    for _ in range(5):
        for row, (numbers, weight) in enumerate(zip(x, weights, strict=True)):
            old = levels[row].astype(np.float32)
            lx, l2 = sum_lx - weight * numbers * old, sum_l2 - weight * old * old
            new = _nearest(numbers * l2 / lx).clip(-4, 3)
            level = new.astype(np.float32)
            new_lx, new_l2 = lx + weight * numbers * level, l2 + weight * level * level
            better = (lx > 0) & (new != levels[row]) & (new_l2 > 0)
            better &= new_lx * new_lx * sum_l2 > sum_lx * sum_lx * new_l2
            levels[row] = np.where(better, new, levels[row])
            sum_lx, sum_l2 = np.where(better, new_lx, sum_lx), np.where(better, new_l2, sum_l2)
    zeros = np.abs(extreme) < _LEAST
    scales = np.where(sum_l2 > 0, sum_lx / sum_l2, np.float32(0))
    return np.where(zeros, np.float32(0), scales), np.where(zeros, 0, levels + 4)


def _scale_search(x: Floats) -> tuple[Floats, Integers]:
    """Return the scales of groups of Q6_K, and the elements, -32 to 31, plus 32: of 19 scales near the one by which the
    largest element becomes -32, the best by least squares.
    """
    extreme = _largest(x)
    weights = x * x
    scale = best = levels = None
    for step in (0, *range(-9, 0), *range(1, 10)):
        inverse = -(np.float32(32) + np.float32(0.1) * np.float32(step)) / extreme
        tried = _nearest(inverse * x).clip(-32, 31)
        t = tried.astype(np.float32)
        sum_lx, sum_l2 = _sum(weights * x * t), _sum(weights * t * t)
        found = sum_lx / sum_l2
        if scale is None or best is None or levels is None:
            scale = np.where(sum_l2 != 0, found, np.float32(0))
            best, levels = scale * sum_lx, tried
            continue
        better = (sum_l2 > 0) & (sum_lx * sum_lx > best * sum_l2)
        scale, best = np.where(better, found, scale), np.where(better, found * sum_lx, best)
        levels = np.where(better, tried, levels)
    assert scale is not None
    assert levels is not None
    zeros = np.abs(extreme) < _LEAST
    return np.where(zeros, np.float32(0), scale), np.where(zeros, 0, levels + 32)


def _without_minimums(
    x: Floats, levels: Integers, inverse: Floats, fields: Integers, half: int, some: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[Any], ...]:
    """Return the codes of blocks with scales alone.

    ``levels``: elements of the searches, plus ``half``. ``inverse``: of the scales of blocks [n, 1]. ``fields``: the
    scales of groups [n, 16]. ``some``: the blocks [n, 1] that are not zeros.
    """
    codes, numbers = _halved(np.where(some, np.float32(1) / inverse, np.float32(0)))
    d = (numbers * fields.astype(np.float32)).reshape(1, -1)
    again = _nearest(_groups(x, 16) / d).clip(-half, half - 1) + half
    elements = _of_blocks(np.where(d != 0, again, levels)) - half & 2 * half - 1
    return elements.astype(np.uint8), fields.astype(np.int8).view(np.uint8), codes


def to_q3_k(x: Floats) -> tuple[npt.NDArray[Any], ...]:
    """Return the codes of the parts of Q3_K."""
    scales, levels = _descent(_groups(x, 16))
    of_blocks = scales.reshape(-1, 16)
    extreme = _largest(np.ascontiguousarray(of_blocks.T))[:, None]
    inverse, some = np.float32(-32) / extreme, extreme != 0
    fields = np.where(some, _nearest(inverse * of_blocks).clip(-32, 31), -32)
    elements, held, codes = _without_minimums(x, levels, inverse, fields, 4, some)
    return elements, held & 63, codes


def to_q6_k(x: Floats) -> tuple[npt.NDArray[Any], ...]:
    """Return the codes of the parts of Q6_K."""
    scales, levels = _scale_search(_groups(x, 16))
    of_blocks = scales.reshape(-1, 16)
    extreme = _largest(np.ascontiguousarray(of_blocks.T))[:, None]
    some = np.abs(extreme) >= _LEAST
    inverse = np.float32(-128) / extreme
    fields = np.where(some, np.minimum(_nearest(inverse * of_blocks), 127), 0)
    # A block of zeros has the codes 0, which stand for -32.
    levels = np.where(np.repeat(some.reshape(-1), 16), levels, 0)
    return _without_minimums(x, levels, inverse, fields, 32, some)
