"""Random bits by position: Philox words of a seed. Any stretch can be computed alone, with the same result on any
machine.

Only `numpy.random.Philox.random_raw` is used: NumPy promises these words, not what its generators make of them.
A seed has 64 bits; the upper half of Philox's key is the number of a stream, so that operands are independent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import LIMB_BITS, Codes, limb_count, storage_dtype

WORDS_A_STEP = 4
"""Number of 64-bit words of one step of the counter."""

Words = npt.NDArray[np.uint64]


def words(seed: int, stream: int, start: int, count: int) -> Words:
    """Return the words at positions ``start`` to ``start + count`` of a stream. Raises ValueError for a seed above 64
    bits.
    """
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"a seed is an integer from 0 to 2**64 - 1, not {seed}")
    step, skipped = divmod(start, WORDS_A_STEP)
    source = np.random.Philox(key=seed | stream << 64, counter=step)
    raw: Words = np.asarray(source.random_raw(skipped + count), np.uint64)
    return raw[skipped:]


def uniform(seed: int, stream: int, width: int, start: int, count: int) -> Codes:
    """Return uniform codes of ``width`` bits at positions ``start`` to ``start + count``.

    Words are cut into pieces of the storage size, least significant first, and the low bits of each piece are kept.
    """
    dtype = storage_dtype(width)
    if width > LIMB_BITS:
        limbs = limb_count(width)
        wide = words(seed, stream, start * limbs, count * limbs).reshape(count, limbs)
        if width % LIMB_BITS:
            wide[:, -1] &= np.uint64((1 << width % LIMB_BITS) - 1)
        return wide
    pieces = 8 // dtype.itemsize
    first, last = start // pieces, -(-(start + count) // pieces)
    raw = words(seed, stream, first, last - first).astype("<u8", copy=False)
    codes = raw.view(dtype.newbyteorder("<")).astype(dtype, copy=False)[start - first * pieces :][:count]
    return codes if width == 8 * dtype.itemsize else codes & dtype.type((1 << width) - 1)


def chosen(field: npt.NDArray[Any], bits: int, count: int) -> npt.NDArray[np.intp]:
    """Return indices below ``count`` from uniform fields of ``bits`` bits, as even as these allow."""
    return (field * np.uint64(count) >> np.uint64(bits)).astype(np.intp)


class Dice:
    """Random integers one after another, for construction step by step in Python; the same on any machine."""

    def __init__(self, seed: int, stream: int) -> None:
        self._seed, self._stream = seed, stream
        self._position = 0
        self._words: list[int] = []

    def bits(self, count: int) -> int:
        """Return a uniform integer of ``count`` bits."""
        number = 0
        for _ in range(-(-count // 64)):
            if not self._words:
                self._words = words(self._seed, self._stream, self._position, 256).tolist()[::-1]
                self._position += 256
            number = number << 64 | self._words.pop()
        return number >> (-count % 64)

    def below(self, count: int) -> int:
        """Return an integer from 0 to ``count`` - 1, even to 1 part in 2**64."""
        width = count.bit_length() + 64
        return self.bits(width) * count >> width

    def between(self, low: int, high: int) -> int:
        """Return an integer from ``low`` to ``high``, both included; ``low`` if it is above ``high``."""
        return low + self.below(max(high - low, 0) + 1)
