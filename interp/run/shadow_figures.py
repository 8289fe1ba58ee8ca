"""What the ops of a run did to the exactness of its numbers, in figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import nan

import numpy as np

from halfulp.fp_formats.ulps import Floats, Worst

Element = tuple[int, ...]


@dataclass(slots=True)
class WorstElement(Worst[Element]):
    """The largest of some figures that are not 0, and the place of its element."""

    def take_block(self, sizes: Floats, shape: Element, first: int) -> None:
        """Take the largest of some sizes, the elements of an array from number ``first`` on."""
        at = self.take(sizes)
        if at is not None:
            self.place = tuple(map(int, np.unravel_index(first + at, shape)))

    def take_one(self, size: float, place: Element) -> None:
        """Take the size of one element."""
        if size > self.size:
            self.size, self.place = size, place


@dataclass(slots=True)
class ShadowFigures:
    """What an op did to the exactness of numbers, over all of its runs.

    ``own``: its own error in ulp of its results, less what is not known of it; ``total``: the error of its results;
    ``relative``: the same, relative to the result, infinite where that is 0; ``radius``: the widest radius of a known
    error, in ulp. ``cancelled``: the most leading bits that a sum lost. Counts of elements: ``elements``: all;
    ``absorbed``: a sum is one of its operands, though the other is not 0; ``overflowed``: of finite operands an
    infinity, or what the format has instead; ``flushed``: 0, where the exact function is not; ``unknown``: nothing is
    known; ``otherwise``: the exact run decides otherwise; ``undecided``: it may; ``wrapped``: an integer op whose type
    does not hold the exact result.
    """

    own: WorstElement = field(default_factory=WorstElement)
    total: WorstElement = field(default_factory=WorstElement)
    relative: WorstElement = field(default_factory=WorstElement)
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

    def known(self, worst: WorstElement) -> float:
        """Return the size of one of the largest errors; NaN where nothing is known of any: 0 would be a claim."""
        return nan if 0 < self.elements in (self.unknown, self.wrapped) and not worst.size else worst.size

    def join(self, other: ShadowFigures) -> None:
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
