"""Where a swizzled access goes: the permutations of rows that keep accesses from meeting in one bank of memory.

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
    """Group j of row i moves to group (i + j) mod N of that row, of N groups. Both widths are positive."""

    row_width: int
    access_width: int

    def physical(self, offset: Offset) -> Offset:
        """Where the element at ``offset`` lies."""
        row, within = offset // self.row_width, offset % self.row_width
        group, place = within // self.access_width, within % self.access_width
        rotated = (row + group) % (self.row_width // self.access_width)
        return row * self.row_width + rotated * self.access_width + place


@dataclass(frozen=True, slots=True)
class XorShuffle:
    """Group j of row i moves to group ((i / per_phase) mod N) xor j of that row, of N groups; the number of the row
    counts multiples of ``row_stride``, of which the row width is a divisor. All numbers are positive.

    Where N is no power of two, a group may move past the end of its row.
    """

    row_width: int
    access_width: int
    row_stride: int
    per_phase: int = 1

    def physical(self, offset: Offset) -> Offset:
        """Where the element at ``offset`` lies."""
        within = offset % self.row_width
        group, place = within // self.access_width, within % self.access_width
        phase = offset // self.row_stride // self.per_phase % (self.row_width // self.access_width)
        return offset - within + (phase ^ group) * self.access_width + place


Swizzle = RotateRows | XorShuffle


def places(swizzle: Swizzle, start: int, count: int) -> npt.NDArray[np.int64]:
    """Where ``count`` neighbours from ``start`` on lie that are accessed together.

    They go in groups of the access width, counted from ``start``; each group, of which the last may be shorter, lies as
    a whole where its first element does. For an access that begins where a group of the row does this is the place of
    every element; one that does not is split at other places than the row is.
    """
    numbers = np.arange(count, dtype=np.int64)
    within = numbers % swizzle.access_width
    return swizzle.physical(numbers - within + start) + within
