"""What the ops of a run did to the exactness of its numbers, in figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan, nan

import numpy as np
import numpy.typing as npt

Place = tuple[int, ...]


@dataclass(slots=True)
class Worst:
    """The largest of some figures: ``size``, and the ``place`` of its element; None where there is none."""

    size: float = 0.0
    place: Place | None = None

    def take(self, sizes: npt.NDArray[np.float64], shape: Place, first: int) -> None:
        """Take the largest of some sizes, the elements of an array from number ``first`` on. NaN counts as none."""
        if not sizes.size:
            return
        at = int(np.argmax(sizes))
        if np.isnan(sizes[at]):
            at = int(np.argmax(np.where(np.isnan(sizes), -np.inf, sizes)))
        size = float(sizes[at])
        if isnan(size):  # argmax takes NaN for the largest
            self.take(np.where(np.isnan(sizes), 0.0, sizes), shape, first)
        if size > self.size:
            self.take_one(size, tuple(map(int, np.unravel_index(first + at, shape))))

    def take_one(self, size: float, place: Place) -> None:
        """Take the size of one element."""
        if size > self.size:
            self.size, self.place = size, place


@dataclass(slots=True)
class Figures:
    """What an op did to the exactness of numbers, over all of its runs.

    ``own``: its own error in ulp of its results, less what is not known of it; ``total``: the error of its results;
    ``relative``: the same, relative to the result, infinite where that is 0; ``radius``: the widest radius of a known
    error, in ulp. ``cancelled``: the most leading bits that a sum lost. Counts of elements: ``elements``: all;
    ``absorbed``: a sum is one of its operands, though the other is not 0; ``overflowed``: of finite operands an
    infinity, or what the format has instead; ``flushed``: 0, where the exact function is not; ``unknown``: nothing is
    known; ``otherwise``: the exact run decides otherwise; ``undecided``: it may; ``wrapped``: an integer op whose type
    does not hold the exact result.
    """

    own: Worst = field(default_factory=Worst)
    total: Worst = field(default_factory=Worst)
    relative: Worst = field(default_factory=Worst)
    radius: float = 0.0
    cancelled: int = 0
    elements: int = 0
    absorbed: int = 0
    overflowed: int = 0
    flushed: int = 0
    unknown: int = 0
    otherwise: int = 0
    undecided: int = 0
    wrapped: int = 0

    def known(self, worst: Worst) -> float:
        """Return the size of one of the largest errors; NaN where nothing is known of any: 0 would be a claim."""
        return nan if 0 < self.elements in (self.unknown, self.wrapped) and not worst.size else worst.size

    def join(self, other: Figures) -> None:
        """Add the figures of other runs."""
        # Each step of a loop comes here: reading fields by name would take three times as long.
        if other.own.size > self.own.size:
            self.own = other.own
        if other.total.size > self.total.size:
            self.total = other.total
        if other.relative.size > self.relative.size:
            self.relative = other.relative
        self.radius, self.cancelled = max(self.radius, other.radius), max(self.cancelled, other.cancelled)
        self.elements += other.elements
        self.absorbed += other.absorbed
        self.overflowed += other.overflowed
        self.flushed += other.flushed
        self.unknown += other.unknown
        self.otherwise += other.otherwise
        self.undecided += other.undecided
        self.wrapped += other.wrapped
