"""The rows of the table: a measurement, its peer and its targets; and the functions that measure times."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

ENOUGH = 0.6
"""Seconds: what takes longer is disturbed by other work only little, so few rounds are enough."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of the measurements. The defaults are those of the table; tests take less."""

    elements: int = 8_000_000  # of one conversion or op
    chain: int = 1_000_000  # of a program on tensors, and lanes of a batch
    exact: int = 200_000  # where an element takes tens of nanoseconds
    ops: int = 100_000  # of scalar code, and of text
    rounds: int = 9


@dataclass(frozen=True)
class Target:
    """The target of a row.

    ``speed``: halfulp is at least this many times as fast as the peer. ``copies``: halfulp takes at most the time in
    which np.copyto writes the larger of the two arrays this many times. ``most``: the figure is at most this, in the
    unit of the row. ``beside``: a factor and a summand: the figure is at most the peer's figure times the factor plus
    the summand.
    """

    speed: float | None = None
    copies: float | None = None
    most: float | None = None
    beside: tuple[float, float] | None = None

    def spell(self, unit: str) -> str:
        bounds = (
            (self.speed, "≥ {:.0f}× peer" if self.speed is not None and self.speed >= 100 else "≥ {:.2g}× peer"),
            (self.copies, "≤ {:.2g} copies"),
            (self.most, "≤ {:,.6g} " + unit),
        )
        spelled = [form.format(bound) for bound, form in bounds if bound is not None]
        if self.beside is not None:
            spelled.append("≤ {:.2g} × peer's + {:.2g} {}".format(*self.beside, unit))
        return ", ".join(spelled)


@dataclass(frozen=True)
class Measured:
    """The figures of one row in its unit: halfulp's, the peer's, and np.copyto's, which is the limit."""

    ours: float
    peer: float | None = None
    copy: float | None = None
    note: str = ""

    @property
    def speed(self) -> float | None:
        """The speed as a multiple of the peer's."""
        return None if self.peer is None else self.peer / self.ours

    @property
    def copies(self) -> float | None:
        return None if self.copy is None else self.ours / self.copy

    def meets(self, target: Target) -> bool | None:
        """True if the target is met; None without a target."""
        held = [
            *([self.speed >= target.speed] if target.speed is not None and self.speed is not None else []),
            *([self.copies <= target.copies] if target.copies is not None and self.copies is not None else []),
            *([self.ours <= target.most] if target.most is not None else []),
            *([self.ours <= self.peer * target.beside[0] + target.beside[1]] if target.beside and self.peer else []),
        ]
        return all(held) if held else None


class Absent(Exception):
    """The exception for a peer or a backend that is not installed, or does not work."""


class Disagreement(Exception):
    """The exception for results that should be equal but differ, so that no time is measured."""


@dataclass(frozen=True)
class Row:
    """One line of the table. ``measure`` checks the results, then takes the times; it raises Absent or Disagreement."""

    group: str
    name: str
    measure: Callable[[Sizes], Measured]
    peer: str = ""
    target: Target = Target()
    unit: str = "ns"


def best(*sides: Callable[[], Any], rounds: int, clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """Return the shortest time of each side in seconds, over several rounds in which the sides take turns. A side that
    took `ENOUGH` in three rounds does not run again. ``clock``: what measures the times.
    """
    times: list[list[float]] = [[] for _ in sides]
    with np.errstate(all="ignore"):
        for _ in range(rounds):
            for side, taken in zip(sides, times, strict=True):
                if len(taken) >= 3 and sum(taken) > ENOUGH:
                    continue
                start = clock()
                side()
                taken.append(clock() - start)
    return list(map(min, times))


def nanoseconds(seconds: Sequence[float], count: int, note: str = "") -> Measured:
    """Return the times of halfulp, of the peer and of a copy, if they were taken, for each of ``count``."""
    ours, *others = (second / count * 1e9 for second in seconds)
    peer, copy = [*others, None, None][:2]
    return Measured(ours, peer, copy, note)


def agree(what: str, ours: Any, theirs: Any) -> None:
    """Raise Disagreement unless two arrays have the same bits."""
    ours, theirs = _bits(ours), _bits(theirs)
    if ours.shape != theirs.shape or not np.array_equal(ours, theirs):
        count = "all" if ours.shape != theirs.shape else f"{np.count_nonzero(ours != theirs):,}"
        raise Disagreement(f"{count} of {ours.size:,} results of {what} differ")


def agree_or_as_predicted(what: str, ours: Any, theirs: Any, predicted: Callable[[], Any]) -> str:
    """Raise Disagreement unless each result of the peer is equal to halfulp's, or both are NaN, or it is as the profile
    of the peer predicts. Return a note.

    Both are arrays of a float dtype. ``predicted``: a function that computes the results under the profile of the peer.
    It is called only if they are needed.
    """
    differs = _bits(ours) != _bits(theirs)
    if not differs.any():
        return ""
    nans = np.isnan(ours) & np.isnan(theirs)
    others = differs & ~nans
    parts = [(differs & nans, "another NaN"), (others, "another value, as its profile says,")]
    if others.any():
        agree(f"{what}, by the peer's profile,", predicted()[others], theirs[others])
    said = [f"{name} in {mask.mean():.2g}" for mask, name in parts if mask.any()]
    return f"the peer has {' and '.join(said)} of the results"


def _bits(array: Any) -> Any:
    array = np.ascontiguousarray(array)
    return array.view(f"u{array.dtype.itemsize}") if array.dtype.kind != "u" else array
