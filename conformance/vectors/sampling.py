"""Rows of a stream that are kept to look for the cause of differences: rows that differ, and equal ones as controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from halfulp.conformance.vectors.columns import Chunk, Column, Role, joined
from halfulp.fp_formats.codes import Codes, Mask

CONTROLS = 4_096
"""Most equal rows that another semantics must also give to be likely."""

FARTHEST = 8
"""Most rows by which results may be late or early."""

SHIFTS = tuple(sign * rows for rows in range(1, FARTHEST + 1) for sign in (-1, 1))
"""The places, relative to a row, from which its result may come."""

MOST_BESIDE = 64
"""The most output columns for which the rows beside a row are kept."""

Numbers = npt.NDArray[np.int64]


@dataclass
class Sample:
    """Rows in whole periods. ``expected``, ``actual``: the outputs. ``numbers``: the rows' places in the file.

    ``differs``: the rows that differ. ``control``: equal rows in which results count. ``beside``: by shift, the
    expected outputs of the row so many places further on, and whether that row is known.
    """

    inputs: Chunk
    expected: Chunk
    actual: Chunk
    numbers: Numbers
    differs: Mask
    control: Mask
    beside: Mapping[int, tuple[Chunk, Mask]]

    def part(self, rows: npt.NDArray[np.intp]) -> Sample:
        """Return some of the rows."""

        def of(chunk: Chunk) -> Chunk:
            return tuple(codes[rows] for codes in chunk)

        beside = {shift: (of(chunk), known[rows]) for shift, (chunk, known) in self.beside.items()}
        numbers, differs, control = self.numbers[rows], self.differs[rows], self.control[rows]
        return Sample(of(self.inputs), of(self.expected), of(self.actual), numbers, differs, control, beside)


class _Spread:
    """A choice of a stream of things, in even steps over all of them: every one, until the step is doubled."""

    def __init__(self) -> None:
        self.seen, self.step, self.held = 0, 1, 0

    def take(self, count: int) -> Numbers:
        """Return which of the next ``count`` things are chosen, as positions among them."""
        first = -self.seen % self.step
        chosen = np.arange(first, count, self.step, dtype=np.int64)
        self.seen += count
        self.held += len(chosen)
        return chosen

    def widen(self) -> None:
        """Double the step: every second thing goes."""
        self.step *= 2
        self.held = -(-self.seen // self.step)


@dataclass
class Sampler:
    """A choice of rows for a `Sample`. The controls are spread apart for each pattern of flags: rare ones refute most.

    ``inputs``, ``outputs``: the columns. ``period``: rows are kept in groups of so many. ``differing``: the most
    rows that differ, the first ones; ``controls``: the most equal ones, spread over the stream. ``examined``: the
    number of rows that differ and are kept.
    """

    inputs: Sequence[Column]
    outputs: Sequence[Column]
    period: int
    differing: int
    controls: int
    examined: int = 0
    _taken: int = 0
    _parts: list[Sample] = field(default_factory=list)
    _ordinals: list[tuple[Numbers, Numbers]] = field(default_factory=list)
    _spreads: dict[int, _Spread] = field(default_factory=dict)

    def add(
        self, begin: int, inputs: Chunk, expected: Chunk, actual: Chunk, differs: Mask, counted: Mask
    ) -> npt.NDArray[np.intp]:
        """Keep rows of the next chunk, which begins at row ``begin``. Return those chosen of the rows that differ.

        ``counted``: equal rows in which something counts.
        """
        rows = len(differs)
        chosen = np.flatnonzero(differs)[: max(self.differing - self._taken, 0)]
        stratum, ordinal = self._controls(expected, counted)
        whole = rows - rows % self.period
        groups = np.unique(np.concatenate([chosen, np.flatnonzero(stratum >= 0)]) // self.period)
        kept = (groups[:, np.newaxis] * self.period + np.arange(self.period)).reshape(-1)
        kept = kept[kept < whole]
        tried = np.zeros(rows, np.bool_)
        tried[chosen] = True
        self._taken += len(chosen)
        self.examined += int(tried[kept].sum())
        if len(kept):

            def of(chunk: Chunk, places: npt.NDArray[np.intp] = kept) -> Chunk:
                return tuple(codes[places] for codes in chunk)

            beside = {}
            for shift in self._shifts:
                places = kept + shift
                known = (places >= 0) & (places < rows)
                beside[shift] = of(expected, np.clip(places, 0, rows - 1)), known
            control = stratum[kept] >= 0
            part = Sample(of(inputs), of(expected), of(actual), kept + begin, tried[kept], control, beside)
            self._parts.append(part)
            self._ordinals.append((stratum[kept], ordinal[kept]))
        while sum(spread.held for spread in self._spreads.values()) > self.controls:
            most = max(self._spreads, key=lambda key: self._spreads[key].held)
            self._spreads[most].widen()
            self._thin(most, self._spreads[most].step)
        return chosen

    @property
    def _shifts(self) -> tuple[int, ...]:
        return SHIFTS if len(self.outputs) <= MOST_BESIDE else ()

    def _controls(self, expected: Chunk, counted: Mask) -> tuple[Numbers, Numbers]:
        """Return for each row the stratum for which it is a control, -1 for none, and its place in the stratum."""
        stratum = np.full(len(counted), -1, np.int64)
        ordinal = np.zeros(len(counted), np.int64)
        flags: Codes | None = next(
            (codes for column, codes in zip(self.outputs, expected, strict=True) if column.role is Role.FLAGS), None
        )
        eligible = np.flatnonzero(counted)
        keys = np.zeros(len(eligible), np.int64) if flags is None else flags[eligible].astype(np.int64)
        for key in np.flatnonzero(np.bincount(keys)).tolist():
            own = eligible[keys == key]
            spread = self._spreads.setdefault(key, _Spread())
            before = spread.seen
            places = spread.take(len(own))
            stratum[own[places]], ordinal[own[places]] = key, before + places
        return stratum, ordinal

    def _thin(self, key: int, step: int) -> None:
        """Drop the controls of a stratum that do not lie in the steps, and groups without any row to try."""
        parts, ordinals = self._parts, self._ordinals
        self._parts, self._ordinals = [], []
        for part, (stratum, ordinal) in zip(parts, ordinals, strict=True):
            part.control &= (stratum != key) | (ordinal % step == 0)
            wanted = (part.differs | part.control).reshape(-1, self.period).any(axis=1)
            rows = np.flatnonzero(np.repeat(wanted, self.period))
            if len(rows):
                self._parts.append(part.part(rows))
                self._ordinals.append((stratum[rows], ordinal[rows]))

    def forget(self, rows: Sequence[int]) -> None:
        """Take these rows of the file, which no semantics can give, out of those to try."""
        if rows:
            self._parts[-1].differs &= ~np.isin(self._parts[-1].numbers, list(rows))

    @property
    def sample(self) -> Sample | None:
        """Return the kept rows; None where none differs."""
        if not any(part.differs.any() for part in self._parts):
            return None
        parts = self._parts

        def of(columns: Sequence[Column], chunks: Sequence[Chunk]) -> Chunk:
            return joined(columns, chunks)

        return Sample(
            of(self.inputs, [part.inputs for part in parts]),
            of(self.outputs, [part.expected for part in parts]),
            of(self.outputs, [part.actual for part in parts]),
            np.concatenate([part.numbers for part in parts]),
            np.concatenate([part.differs for part in parts]),
            np.concatenate([part.control for part in parts]),
            {
                shift: (
                    of(self.outputs, [part.beside[shift][0] for part in parts]),
                    np.concatenate([part.beside[shift][1] for part in parts]),
                )
                for shift in self._shifts
            },
        )
