"""Swizzled accesses: permutations of rows that keep accesses out of the same memory bank.

Offsets count elements; they may be Python integers or arrays of them, and are not negative. A row has ``row_width``
elements, which are moved in groups of ``access_width``; the place of an element within its group stays. Reference: the
document of IREE's codegen dialect, "RotateRowsAttr" and "XORShuffleAttr".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Offset = TypeVar("Offset", int, npt.NDArray[np.int64])


@dataclass(frozen=True, slots=True)
class RotateRows:
    """Group j of row i moves to group (i + j) mod N of that row, which has N groups. Both widths are positive."""

    row_width: int
    access_width: int

    def physical(self, offset: Offset) -> Offset:
        """Return the place of the element at ``offset``."""
        row, within = offset // self.row_width, offset % self.row_width
        group, place = within // self.access_width, within % self.access_width
        rotated = (row + group) % (self.row_width // self.access_width)
        return row * self.row_width + rotated * self.access_width + place


@dataclass(frozen=True, slots=True)
class XorShuffle:
    """Group j of row i moves to group ((i / per_phase) mod N) xor j of that row, which has N groups. The number of the
    row counts multiples of ``row_stride``; the row width divides it. All numbers are positive.

    If N is not a power of two, a group may move past the end of its row.
    """

    row_width: int
    access_width: int
    row_stride: int
    per_phase: int = 1

    def physical(self, offset: Offset) -> Offset:
        """Return the place of the element at ``offset``."""
        within = offset % self.row_width
        group, place = within // self.access_width, within % self.access_width
        phase = offset // self.row_stride // self.per_phase % (self.row_width // self.access_width)
        return offset - within + (phase ^ group) * self.access_width + place


Swizzle = RotateRows | XorShuffle


def places(swizzle: Swizzle, start: int, count: int) -> npt.NDArray[np.int64]:
    """Return the places of ``count`` neighbours from ``start`` on that are accessed together.

    The elements move in groups of the access width, counted from ``start``; the last group may be shorter. A whole
    group follows its first element. If the access begins at the start of a group of the row, every element is where
    `physical` says; otherwise the access is split at other positions than the row.
    """
    numbers = np.arange(count, dtype=np.int64)
    within = numbers % swizzle.access_width
    return swizzle.physical(numbers - within + start) + within
