"""Random bits as XLA makes them on a CPU: Threefry-2x32 of 20 rounds and Philox-4x32 of 10 rounds, by counters.

Source: J. Salmon and others, "Parallel random numbers: as easy as 1, 2, 3" (2011), for both functions, and XLA for how
it counts. States and results are arrays of unsigned integers.
"""

from __future__ import annotations

from math import prod

import numpy as np
import numpy.typing as npt

from halfulp.semantics.random_sources import philox

Words = npt.NDArray[np.uint32]
_LOW = np.uint64(0xFFFFFFFF)
_SHORT = np.uint64(32)

# --- the functions ----------------------------------------------------------------------------------------------------

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


def threefry(key: tuple[int, int], low: Words, high: Words) -> tuple[Words, Words]:
    """Encrypt counters by Threefry, and return both words of each result. ``key``: two words. ``low``, ``high``: the
    words of the counters.
    """
    words = [np.uint32(key[0]), np.uint32(key[1])]
    keys = (*words, words[0] ^ words[1] ^ _PARITY)
    with np.errstate(over="ignore"):
        x, y = low + keys[0], high + keys[1]
        for group in range(5):
            for turn in _ROTATIONS[group % 2]:
                x = x + y
                y = x ^ (y << np.uint32(turn) | y >> np.uint32(32 - turn))
            x = x + keys[(group + 1) % 3]
            y = y + keys[(group + 2) % 3] + np.uint32(group + 1)
    return x, y


# --- arrays -----------------------------------------------------------------------------------------------------------


def generate(
    algorithm: str, state: npt.NDArray[np.uint64], shape: tuple[int, ...], width: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return the next state, and random bits of ``width`` (8, 16, 32 or 64) each, as uint64 of a shape.

    ``algorithm``: THREE_FRY, PHILOX or DEFAULT. ``state``: two words of 64 bits, or three with Philox.
    """
    if algorithm == "THREE_FRY":
        grown, bits = _by_threefry(state, shape, width)
    else:
        grown, bits = _by_philox(state, shape, width)
    return grown, bits & np.uint64((1 << width) - 1)


def _counters(start: int, size: int) -> npt.NDArray[np.uint64]:
    return np.arange(size, dtype=np.uint64) + np.uint64(start & (1 << 64) - 1)


def _halves(words: npt.NDArray[np.uint64]) -> tuple[Words, Words]:
    return (words & _LOW).astype(np.uint32), (words >> _SHORT).astype(np.uint32)


def _key(word: int) -> tuple[int, int]:
    return word & 0xFFFFFFFF, word >> 32


def _joined(low: Words, high: Words) -> npt.NDArray[np.uint64]:
    joined: npt.NDArray[np.uint64] = low.astype(np.uint64) | high.astype(np.uint64) << _SHORT
    return joined


def _by_threefry(
    state: npt.NDArray[np.uint64], shape: tuple[int, ...], width: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    key, counter = map(int, state)
    halved, axis = (shape, None) if width == 64 else _halved(shape)
    size = prod(halved)
    first, second = threefry(_key(key), *_halves(_counters(counter, size)))
    if axis is None:
        bits = _joined(first, second).reshape(shape)
        if width != 64:  # a scalar takes the first word of one pair
            bits = first.astype(np.uint64).reshape(shape)
    else:
        # The words of a pair stand side by side behind the halved axis, which both make up.
        pairs = np.stack([each.reshape(halved) for each in (first, second)], axis=axis + 1)
        whole = pairs.reshape(*halved[:axis], 2 * halved[axis], *halved[axis + 1 :])
        bits = whole.take(range(shape[axis]), axis).astype(np.uint64)
    return np.array([key, (counter + size) & (1 << 64) - 1], np.uint64), bits


def _halved(shape: tuple[int, ...]) -> tuple[tuple[int, ...], int | None]:
    """Return a shape with one axis halved, rounded up, and that axis: the first even one, else the largest."""
    if not shape:
        return shape, None
    even = [axis for axis, size in enumerate(shape) if size % 2 == 0]
    axis = even[0] if even else shape.index(max(shape))
    return (*shape[:axis], (shape[axis] + 1) // 2, *shape[axis + 1 :]), axis


def _by_philox(
    state: npt.NDArray[np.uint64], shape: tuple[int, ...], width: int
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    key, low, *more = map(int, state)
    high = more[0] if more else key
    size = prod(shape)
    blocks = -(-size // (2 if width == 64 else 4))
    counters = _counters(low, blocks)
    tops = np.where(counters < np.uint64(low), *(np.uint64((high + up) & (1 << 64) - 1) for up in (1, 0)))
    bits = philox((counters & _LOW, counters >> _SHORT, tops & _LOW, tops >> _SHORT), key)
    if width == 64:
        bits = bits[:, ::2] | bits[:, 1::2] << _SHORT
    end = (low | high << 64) + blocks
    grown = [key, end & (1 << 64) - 1, end >> 64 & (1 << 64) - 1]
    return np.array(grown[: len(state)], np.uint64), bits.reshape(-1)[:size].reshape(shape)
