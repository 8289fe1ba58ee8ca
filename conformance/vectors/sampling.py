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

_FLAGS_ALONE, _VALUES, _NONE = 0x20, 0x40, 0x80
"""The strata of rows, to which the expected flags are added: equal rows begin at 0, then come those that differ in
flags alone, those that differ in a value, and those that only fill up a group.
"""

DENSE, SPARSE = 1 << 18, 8
"""After so many rows of a file, only one row of so many may become a control: looking at each takes longer than the
comparison.
"""

MOST_BESIDE, MOST_BEFORE = 64, 256
"""The most output columns for which the rows beside a row are kept, and the most input columns for which the row
before it is.
"""

Numbers = npt.NDArray[np.int64]


@dataclass
class Sample:
    """Rows in whole periods. ``expected``, ``actual``: the outputs. ``numbers``: the numbers of the rows in the file.

    ``differs``: a mask of the rows that differ; ``values``: of those that differ in more than flags. ``control``: a
    mask of the equal rows in which a result is compared. ``beside``: the expected outputs of the rows at `SHIFTS` from
    each row, along a second axis, which is empty if there are too many columns; ``known``: whether there is such a row.
    ``before``: the inputs of the row before each row; empty if ``beside`` is. ``ignored``: the bits of each output that
    are not compared; empty if all are. ``raised``: one array, of the flags that are expected in a row or in any row
    before it; empty without flags.
    """

    inputs: Chunk
    expected: Chunk
    actual: Chunk
    numbers: Numbers
    differs: Mask
    values: Mask
    control: Mask
    beside: Chunk
    known: Mask
    before: Chunk
    ignored: Chunk = ()
    raised: Chunk = ()

    def part(self, rows: npt.NDArray[np.intp]) -> Sample:
        """Return some of the rows."""

        def of(chunk: Chunk) -> Chunk:
            return tuple(codes[rows] for codes in chunk)

        masks = self.differs[rows], self.values[rows], self.control[rows]
        inputs, expected, actual, beside = map(of, (self.inputs, self.expected, self.actual, self.beside))
        known, before, ignored, raised = self.known[rows], of(self.before), of(self.ignored), of(self.raised)
        return Sample(inputs, expected, actual, self.numbers[rows], *masks, beside, known, before, ignored, raised)

    def shifted(self) -> Iterator[tuple[int, Chunk, Mask]]:
        """Yield each of `SHIFTS`, with the expected outputs of the rows so far away, and which of the rows have one."""
        for k in range(self.known.shape[1]):
            yield SHIFTS[k], tuple(codes[:, k] for codes in self.beside), self.known[:, k]

    @property
    def after_another(self) -> Mask:
        """The rows of which the inputs of the row before are known."""
        return self.known[:, SHIFTS.index(-1)] if self.before else np.zeros(len(self.differs), np.bool_)


class Spread:
    """A choice of things from a stream: one of each ``step`` things. ``step`` is a power of two and begins with 1. When
    its user doubles it, the things that are chosen from then on were also chosen before. The place of the chosen thing
    among the ``step`` things varies, because rows of vectors often repeat after a power of two.
    """

    def __init__(self) -> None:
        self.seen, self.step = 0, 1

    def held(self, more: int = 0) -> int:
        """Return the largest number of things that may be chosen from those so far and the next ``more`` things."""
        return -(-(self.seen + more) // self.step)

    def take(self, count: int) -> Numbers:
        """Return which of the next ``count`` things are chosen, as positions among them."""
        blocks = np.arange(self.seen // self.step, -(-(self.seen + count) // self.step), dtype=np.int64)
        places = _places(blocks, self.step) - self.seen
        self.seen += count
        return places[(places >= 0) & (places < count)]


def _places(blocks: Numbers, step: int) -> Numbers:
    """Return the chosen place in each block of ``step`` places: that of one of its halves, by a hash of its number."""
    while step > 1:
        mixed = (blocks.astype(np.uint64) + np.uint64(step)) * np.uint64(0x9E3779B97F4A7C15)
        blocks = 2 * blocks + (mixed >> np.uint64(63)).astype(np.int64)
        step //= 2
    return blocks


@dataclass
class Sampler:
    """A choice of rows for a `Sample`, spread over the stream. It is made separately for each pattern of flags, since
    rare patterns tell most about a cause.

    ``inputs``, ``outputs``: the columns. ``period``: rows are kept in groups of so many. ``differing``: the most rows
    that differ, of which those with a wrong value are chosen apart; ``controls``: the most equal ones.
    """

    inputs: Sequence[Column]
    outputs: Sequence[Column]
    period: int
    differing: int
    controls: int
    _parts: list[Sample] = field(default_factory=list)
    _strata: list[tuple[Numbers, Numbers]] = field(default_factory=list)
    _spreads: dict[int, Spread] = field(default_factory=dict)
    _raised: int = 0

    def add(
        self,
        begin: int,
        inputs: Chunk,
        expected: Chunk,
        actual: Chunk,
        differs: Mask,
        values: Mask,
        counted: Mask,
        ignored: Chunk = (),
    ) -> None:
        """Keep rows of the next chunk, which begins at row ``begin``.

        ``values``: the rows that differ in more than flags; ``counted``: equal rows in which something is compared.
        ``ignored``: as in `Sample`, of all chunks or of none.
        """
        rows, step = len(differs), 1 if begin < DENSE else SPARSE
        flags: Codes = next(
            (codes for column, codes in zip(self.outputs, expected, strict=True) if column.role is Role.FLAGS),
            np.zeros(rows, np.uint8),
        )
        raised = np.bitwise_or.accumulate(flags) | np.uint8(self._raised)
        self._raised = int(raised[-1]) if rows else self._raised
        wrong, equal = np.flatnonzero(differs), np.flatnonzero(counted[::step]) * step
        kinds = np.where(values[wrong], _VALUES, _FLAGS_ALONE).astype(np.int64)
        chosen = self._chosen(wrong, kinds | flags[wrong], self.differing)
        controls = self._chosen(equal, flags[equal].astype(np.int64), self.controls)
        places, strata, ordinals = (np.concatenate(pair) for pair in zip(chosen, controls, strict=True))
        if not len(places):
            return
        stratum, ordinal = np.full(rows, _NONE, np.int64), np.zeros(rows, np.int64)
        stratum[places], ordinal[places] = strata, ordinals
        wanted = stratum != _NONE
        if self.period > 1:
            # A last group that lacks rows cannot be computed again.
            whole = rows - rows % self.period
            groups = wanted[:whole].reshape(-1, self.period).any(axis=1)
            wanted = np.append(np.repeat(groups, self.period), np.zeros(rows - whole, np.bool_))
        kept = np.flatnonzero(wanted)

        def of(chunk: Chunk, places: npt.NDArray[np.intp]) -> Chunk:
            return tuple(codes[places] for codes in chunk)

        which = stratum[kept]
        beside = kept[:, np.newaxis] + np.array(SHIFTS if len(self.outputs) <= MOST_BESIDE else (), np.int64)
        known = (beside >= 0) & (beside < rows)
        around = of(expected, np.clip(beside, 0, rows - 1))
        before = of(inputs, np.maximum(kept - 1, 0)) if beside.size and len(inputs) <= MOST_BEFORE else ()
        inputs, expected, actual = of(inputs, kept), of(expected, kept), of(actual, kept)
        values, control = (which >= _VALUES) & (which < _NONE), which < _FLAGS_ALONE
        masks = ~control & (which < _NONE), values, control
        unseen = of(ignored, kept)
        flagged = any(column.role is Role.FLAGS for column in self.outputs)
        until = (raised[kept],) if flagged else ()
        sample = Sample(inputs, expected, actual, kept + begin, *masks, around, known, before, unseen, until)
        self._parts.append(sample)
        self._strata.append((which, ordinal[kept]))

    def _chosen(self, places: Numbers, keys: Numbers, most: int) -> tuple[Numbers, Numbers, Numbers]:
        """Return which of these rows are kept, the stratum of each, and its place in the stratum; ``keys``: the strata,
        which together keep up to ``most`` rows.
        """
        counts = {key: count for key, count in enumerate(np.bincount(keys).tolist()) if count}
        self._make_room(counts, most)
        found = [(places[:0], keys[:0], keys[:0])]
        for key, count in counts.items():
            before, taken = self._spreads[key].seen, self._spreads[key].take(count)
            found.append((places[keys == key][taken], np.full(len(taken), key), before + taken))
        own, strata, ordinals = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return own, strata, ordinals

    def _make_room(self, counts: Mapping[int, int], most: int) -> None:
        """Make the steps wide enough for so many rows more of some strata, of differing or of equal rows."""
        for key in counts:
            self._spreads.setdefault(key, Spread())
        equal = any(key < _FLAGS_ALONE for key in counts)
        held = {
            key: spread.held(counts.get(key, 0))
            for key, spread in self._spreads.items()
            if (key < _FLAGS_ALONE) == equal
        }
        wider = set()
        while sum(held.values()) > most and max(held.values()) > 1:
            largest = max(held, key=lambda key: held[key])
            self._spreads[largest].step *= 2
            held[largest] = self._spreads[largest].held(counts.get(largest, 0))
            wider.add(largest)
        for key in wider:
            self._thin(key, self._spreads[key].step)

    def _thin(self, key: int, step: int) -> None:
        """Drop the rows of a stratum that do not lie in the steps, and groups without any row to try."""
        parts, strata = self._parts, self._strata
        self._parts, self._strata = [], []
        for part, (stratum, ordinal) in zip(parts, strata, strict=True):
            stays = (stratum != key) | (_places(ordinal // step, step) == ordinal)
            part.control, part.differs = part.control & stays, part.differs & stays
            wanted = (part.differs | part.control).reshape(-1, self.period).any(axis=1)
            rows = np.flatnonzero(np.repeat(wanted, self.period))
            if len(rows):
                self._parts.append(part.part(rows))
                self._strata.append((stratum[rows], ordinal[rows]))

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
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.control for part in parts]),
            joined(self.outputs, [part.beside for part in parts]),
            np.concatenate([part.known for part in parts]),
            joined(self.inputs, [part.before for part in parts]) if parts[0].before else (),
            joined(self.outputs, [part.ignored for part in parts]) if parts[0].ignored else (),
            (np.concatenate([part.raised[0] for part in parts]),) if parts[0].raised else (),
        )
