"""Rows of a stream that are kept to look for the cause of differences: rows that differ, and equal ones as controls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from halfulp.conformance.vectors.columns import Chunk, Column, Role, joined
from halfulp.fp_formats.formats import Codes, Mask

CONTROLS = 4_096
"""Most equal rows that another semantics must also give to be likely."""

FARTHEST = 8
"""Most rows by which results may be late or early."""

SHIFTS = tuple(sign * rows for rows in range(1, FARTHEST + 1) for sign in (-1, 1))
"""The places, relative to a row, from which its result may come."""

_NONE = 0xFF
"""The stratum of rows that are no controls."""

DENSE, SPARSE = 1 << 18, 8
"""After so many rows of a file, only one row of so many may become a control: looking at each takes longer than the
comparison.
"""

MOST_BESIDE = 64
"""The most output columns for which the rows beside a row are kept."""

Numbers = npt.NDArray[np.int64]


@dataclass
class Sample:
    """Rows in whole periods. ``expected``, ``actual``: the outputs. ``numbers``: the numbers of the rows in the file.

    ``differs``: the rows that differ. ``control``: equal rows in which results count. ``beside``: the expected outputs
    of the rows at `SHIFTS` from each row, along a second axis, which is empty where there are too many columns;
    ``known``: whether there is such a row.
    """

    inputs: Chunk
    expected: Chunk
    actual: Chunk
    numbers: Numbers
    differs: Mask
    control: Mask
    beside: Chunk
    known: Mask

    def part(self, rows: npt.NDArray[np.intp]) -> Sample:
        """Return some of the rows."""

        def of(chunk: Chunk) -> Chunk:
            return tuple(codes[rows] for codes in chunk)

        numbers, differs, control = self.numbers[rows], self.differs[rows], self.control[rows]
        inputs, expected, actual, beside = map(of, (self.inputs, self.expected, self.actual, self.beside))
        return Sample(inputs, expected, actual, numbers, differs, control, beside, self.known[rows])

    def shifted(self) -> Iterator[tuple[int, Chunk, Mask]]:
        """Yield each shift with the outputs of the rows there, and whether these are known."""
        for k in range(self.known.shape[1]):
            yield SHIFTS[k], tuple(codes[:, k] for codes in self.beside), self.known[:, k]


class _Spread:
    """A choice from a stream of things, in even steps: at first all of them; from time to time the step is doubled."""

    def __init__(self) -> None:
        self.seen, self.step = 0, 1

    def held(self, more: int = 0) -> int:
        """Return how many are chosen, of those seen so far and ``more``."""
        return -(-(self.seen + more) // self.step)

    def take(self, count: int) -> Numbers:
        """Return which of the next ``count`` things are chosen, as positions among them."""
        chosen = np.arange(-self.seen % self.step, count, self.step, dtype=np.int64)
        self.seen += count
        return chosen


@dataclass
class Sampler:
    """A choice of rows for a `Sample`. The controls are spread apart for each pattern of flags: rare ones refute most.

    ``inputs``, ``outputs``: the columns. ``period``: rows are kept in groups of so many. ``differing``: the largest
    number of differing
    rows that are kept, the first ones; ``controls``: the largest number of equal rows, spread over the stream.
    ``examined``: the number of rows that differ and are kept.
    """

    inputs: Sequence[Column]
    outputs: Sequence[Column]
    period: int
    differing: int
    controls: int
    examined: int = 0
    _taken: int = 0
    _parts: list[Sample] = field(default_factory=list)
    _strata: list[tuple[Numbers, Numbers]] = field(default_factory=list)
    _spreads: dict[int, _Spread] = field(default_factory=dict)

    def add(
        self, begin: int, inputs: Chunk, expected: Chunk, actual: Chunk, differs: Mask, counted: Mask
    ) -> npt.NDArray[np.intp]:
        """Keep rows of the next chunk, which begins at row ``begin``. Return those of the differing rows that are kept.

        ``counted``: equal rows in which something counts.
        """
        rows = len(differs)
        chosen = np.flatnonzero(differs)[: max(self.differing - self._taken, 0)]
        controls, stratum, ordinal = self._controls(begin, expected, counted)
        if not len(chosen) + len(controls):
            return chosen
        wanted = np.zeros(rows, np.bool_)
        wanted[chosen], wanted[controls] = True, True
        if self.period > 1:
            # A last group that lacks rows cannot be computed again.
            whole = rows - rows % self.period
            groups = wanted[:whole].reshape(-1, self.period).any(axis=1)
            wanted = np.append(np.repeat(groups, self.period), np.zeros(rows - whole, np.bool_))
        kept = np.flatnonzero(wanted)

        def of(chunk: Chunk, places: npt.NDArray[np.intp]) -> Chunk:
            return tuple(codes[places] for codes in chunk)

        place = np.full(rows, len(controls), np.int32)
        place[controls], place[chosen] = np.arange(len(controls)), -1
        which = place[kept]
        tried, control = which < 0, (which >= 0) & (which < len(controls))
        places = kept[:, np.newaxis] + np.array(SHIFTS if len(self.outputs) <= MOST_BESIDE else (), np.int64)
        known = (places >= 0) & (places < rows)
        beside = of(expected, np.clip(places, 0, rows - 1))
        inputs, expected, actual = of(inputs, kept), of(expected, kept), of(actual, kept)
        self._parts.append(Sample(inputs, expected, actual, kept + begin, tried, control, beside, known))
        self._strata.append((np.append(stratum, [_NONE] * 2)[which], np.append(ordinal, [0] * 2)[which]))
        self._taken += len(chosen)
        self.examined += int(tried.sum())
        return chosen

    def _controls(self, begin: int, expected: Chunk, counted: Mask) -> tuple[npt.NDArray[np.intp], Numbers, Numbers]:
        """Return the controls among these rows, the stratum of each, and its place in the stratum."""
        flags: Codes | None = next(
            (codes for column, codes in zip(self.outputs, expected, strict=True) if column.role is Role.FLAGS), None
        )
        step = 1 if begin < DENSE else SPARSE
        keys = np.where(counted[::step], np.uint8(0) if flags is None else flags[::step], np.uint8(_NONE))
        counts = {key: count for key, count in enumerate(np.bincount(keys).tolist()) if count and key != _NONE}
        self._make_room(counts)
        found: list[tuple[npt.NDArray[np.intp], Numbers, Numbers]] = []
        for key, count in counts.items():
            spread = self._spreads[key]
            before, places = spread.seen, spread.take(count)
            if len(places):
                found.append((np.flatnonzero(keys == key)[places] * step, np.full(len(places), key), before + places))
        empty = np.zeros(0, np.int64)
        return tuple(np.concatenate(parts) for parts in zip(*(found or [(empty,) * 3]), strict=True))  # type: ignore[return-value]

    def _make_room(self, counts: Mapping[int, int]) -> None:
        """Make the steps wide enough for so many more rows of each stratum."""
        for key in counts:
            self._spreads.setdefault(key, _Spread())
        held = {key: spread.held(counts.get(key, 0)) for key, spread in self._spreads.items()}
        wider = set()
        while sum(held.values()) > self.controls and max(held.values()) > 1:
            most = max(held, key=lambda key: held[key])
            self._spreads[most].step *= 2
            held[most] = self._spreads[most].held(counts.get(most, 0))
            wider.add(most)
        for key in wider:
            self._thin(key, self._spreads[key].step)

    def _thin(self, key: int, step: int) -> None:
        """Drop the controls of a stratum that do not lie in the steps, and groups without any row to try."""
        parts, ordinals = self._parts, self._strata
        self._parts, self._strata = [], []
        for part, (stratum, ordinal) in zip(parts, ordinals, strict=True):
            part.control &= (stratum != key) | (ordinal % step == 0)
            wanted = (part.differs | part.control).reshape(-1, self.period).any(axis=1)
            rows = np.flatnonzero(np.repeat(wanted, self.period))
            if len(rows):
                self._parts.append(part.part(rows))
                self._strata.append((stratum[rows], ordinal[rows]))

    def forget(self, rows: Sequence[int]) -> None:
        """Remove these rows of the file from those that are examined: no semantics can give them."""
        if rows and self._parts:
            self._parts[-1].differs &= ~np.isin(self._parts[-1].numbers, list(rows))

    @property
    def sample(self) -> Sample | None:
        """Return the kept rows; None if none of them differs."""
        parts = self._parts
        if not any(part.differs.any() for part in parts):
            return None
        return Sample(
            joined(self.inputs, [part.inputs for part in parts]),
            joined(self.outputs, [part.expected for part in parts]),
            joined(self.outputs, [part.actual for part in parts]),
            np.concatenate([part.numbers for part in parts]),
            np.concatenate([part.differs for part in parts]),
            np.concatenate([part.control for part in parts]),
            joined(self.outputs, [part.beside for part in parts]),
            np.concatenate([part.known for part in parts]),
        )
