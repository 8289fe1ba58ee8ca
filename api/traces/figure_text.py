"""What ops did to the exactness of numbers, as text."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import Protocol

from halfulp.interp.ir.counts import plural
from halfulp.interp.run.shadow_figures import Figures


class Counts(Protocol):
    """The figures that are numbers of elements, and the bits that a sum lost."""

    @property
    def elements(self) -> int:
        """All elements."""

    @property
    def cancelled(self) -> int:
        """The most leading bits that a sum lost."""

    @property
    def absorbed(self) -> int:
        """Sums that are one of their terms."""

    @property
    def overflowed(self) -> int:
        """Infinities of finite operands."""

    @property
    def flushed(self) -> int:
        """Zeros that are not exact."""

    @property
    def unknown(self) -> int:
        """Unknown exact numbers."""

    @property
    def otherwise(self) -> int:
        """Decisions that the exact run takes otherwise."""

    @property
    def undecided(self) -> int:
        """Decisions that it may take otherwise."""

    @property
    def wrapped(self) -> int:
        """Integers that wrapped around."""


def ulps(size: float) -> str:
    """Spell a number of ulps with three digits."""
    if isnan(size):
        return "unknown"
    size = size or 0.0  # no negative zero
    return f"{size:,.0f}" if 1000 <= abs(size) < 1e7 else f"{size:.3g}"


def events(one: Counts) -> Iterator[str]:
    """Say what an op did besides rounding."""
    if one.cancelled:
        yield f"a sum lost {plural(one.cancelled, 'leading bit')}"
    for count, what in (
        (one.absorbed, "absorbed a term"),
        (one.overflowed, "overflowed"),
        (one.flushed, "became 0"),
        (one.unknown, "with an unknown exact number"),
        (one.otherwise, "that the exact run decides otherwise"),
        (one.undecided, "that the exact run may decide otherwise"),
        (one.wrapped, "wrapped around: integer overflow"),
    ):
        if count:
            yield f"{plural(count, 'element')} {what}" if one.elements > 1 else what


def step_text(found: Figures) -> str:
    """Return what a step did to the exactness of numbers; "" if it did nothing."""
    parts = []
    if found.own.size or found.total.size:
        own, total = map(found.known, (found.own, found.total))
        parts.append(f"error: own {ulps(own)} ulp, in all {ulps(total)} ulp")
    return "; ".join([*parts, *events(found)])
