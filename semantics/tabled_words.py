"""Kernels of few operand bits as tables: the description on machine words of a kernel that has none of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.fp_formats.codes import storage_dtype
from halfulp.fp_formats.paths.words import Implementation, Word
from halfulp.semantics.kernel import ArrayImplementation, Kernel

MOST = 16
"""The bits of the operands together, of the longest table."""


def tabled(kernel: Kernel, operands: Sequence[int], results: Sequence[int]) -> Kernel:
    """Return a kernel with a description. It is as it was if it has one, has a notice, or has more than `MOST` bits of
    operands.

    ``operands``, ``results``: their bits.
    """
    short = 0 < sum(operands) <= MOST and all(operands) and 0 < max(results) <= 64
    if not short or kernel.words or kernel.notice:
        return kernel
    return replace(kernel, words=described(kernel.array, operands, results))


def described(array: ArrayImplementation, operands: Sequence[int], results: Sequence[int]) -> Implementation:
    """Return a description by tables, which the array implementation computes when code is made of it. Elements with a
    fault are refused. ``operands``, ``results``: their bits, together at most `MOST` of operands.
    """
    total = sum(operands)

    @cache
    def tables() -> tuple[list[npt.NDArray[Any]], npt.NDArray[np.uint8] | None]:
        index = np.arange(1 << total)
        places = [total - end for end in accumulate(operands)]
        codes = [
            (index >> place & (1 << width) - 1).astype(storage_dtype(width))
            for place, width in zip(places, operands, strict=True)
        ]
        outcome = array(*codes)
        entries = [np.ascontiguousarray(np.broadcast_to(each, index.shape)) for each in outcome.results]
        masks = [np.broadcast_to(mask, index.shape) for _, mask in outcome.faults]
        return entries, np.logical_or.reduce(masks).astype(np.uint8) if masks else None

    def implementation(*words: Word) -> Word | tuple[Word, ...]:
        index = words[0].resized(total)
        for word in words[1:]:
            index = (index << word.width) | word.resized(total)
        entries, refused = tables()
        if refused is not None:
            index.entry(refused).equals(1).refuse()
        found = tuple([index.entry(each).resized(width) for each, width in zip(entries, results, strict=True)])
        return found if len(found) > 1 else found[0]

    return implementation
