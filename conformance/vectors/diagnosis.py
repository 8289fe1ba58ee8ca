"""The search for the cause of a device's wrong results: the table of diagnoses, and the trial of causes on sampled
rows.

Rows that are missing or surplus are tried first, then other encodings, then other computations, then two causes
together. A cause is the more likely, the more of the differing rows it explains; rows that are equal can refute it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from halfulp.conformance.vectors.causes import DIAGNOSES
from halfulp.conformance.vectors.columns import Chunk, Column, Role, by_row
from halfulp.conformance.vectors.comparison import differing
from halfulp.conformance.vectors.computation import Computation
from halfulp.conformance.vectors.device import Cause, Device, Stage
from halfulp.conformance.vectors.sampling import Sample
from halfulp.conformance.vectors.tile_causes import FEW_PRODUCTS, rule_or_usual
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.fp_formats.formats import Mask

FIRST_TRIAL, TRIAL = 32, 128
"""The rows of each kind, equal ones and those that differ, on which causes are tried first, and next. At most
half are among the foremost ones, and half among others.
"""

LEADING = 12
"""Causes of which each is tried together with every other."""

SEMIFINALISTS, FINALISTS = 32, 8
"""Pairs that are tried on more rows than the first ones, and on all rows."""

WEAK, FEW_WEAK = 0.9, 2
"""The score that a cause must be below on the rows of a trial to be tried on all rows, and how many of the weaker ones
are tried too. If no cause scores better on all rows, fewer pairs are tried, and none is said to be the cause.
"""

NOTHING = 1.0
"""The score of no explanation."""

MOST_TOGETHER, LEAST_BEYOND = 6, 1 / 16
"""The most causes together, and the least share of the rows left unexplained that one more cause must explain."""


@dataclass(frozen=True)
class Explanation:
    """An explanation of results of the device. ``gives``: the rows of the sample in which it gives both results and
    flags.

    ``rank``: the order of explanations that fit equally well, the smallest first. Its first number is the stage (pairs
    of causes come last), the second says whether the explanation is about results and flags, about results or about
    flags. ``causes``: the causes that the explanation consists of; empty for missing or surplus rows.
    """

    name: str
    rank: tuple[int, int]
    gives: Mask
    causes: tuple[Cause, ...] = ()

    def refuted(self, sample: Sample) -> bool:
        """Tell whether the explanation is refuted: in a row in which the device is right, it gives other results."""
        return bool((sample.control & ~self.gives).any())

    def weak(self, sample: Sample) -> bool:
        """Tell whether the explanation gives too few of the rows that differ to be their cause: of those with wrong
        values too, if there are any.
        """
        values = sample.differs & sample.values
        return self.score(sample) > WEAK or _share(values & ~self.gives, values) > WEAK

    def score(self, sample: Sample) -> float:
        """Return the share of the differing rows that is not explained, plus the share of the controls that is refuted:
        0 is perfect, and 1 is as good as no explanation.

        Rows with wrong values count for one half of the score, and rows with only wrong flags for the other half,
        independent of their numbers.
        """
        differ, equal = sample.differs, sample.control
        kinds = [rows for rows in (differ & sample.values, differ & ~sample.values) if rows.any()]
        unexplained = sum(_share(rows & ~self.gives, rows) for rows in kinds) / max(len(kinds), 1)
        return unexplained + _share(equal & ~self.gives, equal)


PAIR = max(Stage) + 1
"""The stage of two causes together."""


def _together(causes: Sequence[Cause]) -> str:
    *first, last = (cause.name for cause in causes)
    return f"{', '.join(first)} and {last}" if first else last


def _share(found: Mask, of: Mask) -> float:
    return int(found.sum()) / max(int(of.sum()), 1)


_PARTS = (("flags", Role.RESULT), ("values", Role.FLAGS))
"""What may be late alone, and the outputs that are as expected then."""

_ELEMENT = re.compile(r"(_\d+)+$")
"""The place of an element in the name of its column."""

_FORMS: tuple[tuple[str, Role | None], ...] = (
    ("", None),
    (" with the expected flags", Role.FLAGS),
    (" in the flags alone", Role.RESULT),
)
"""How much of what a device gives counts: the words for it, and the columns that are as expected."""


def elements(computation: TileComputation, sample: Sample, most: int) -> tuple[TileComputation, Sample]:
    """Return a computation of single elements of tiles, and a sample of such elements, which do not depend on each
    other. At most ``most`` of them differ, and as many are equal; both kinds are spread over the sample.
    """
    expected, actual = (np.stack(codes, axis=1) for codes in (sample.expected, sample.actual))
    counts = (sample.differs | sample.control)[:, np.newaxis]
    found = [np.flatnonzero(mask & counts) for mask in (expected != actual, expected == actual)]
    chosen = [places[np.linspace(0, len(places) - 1, min(len(places), most)).astype(np.intp)] for places in found]
    rows, outputs = np.divmod(np.concatenate(chosen), expected.shape[1])
    one, inputs = computation.elements(sample.inputs, rows, outputs, rule_or_usual(computation).text)
    differs = np.arange(len(rows)) < len(chosen[0])
    nothing = np.zeros((len(rows), 0), np.bool_)
    ignored = (np.stack(sample.ignored, axis=1)[rows, outputs],) if sample.ignored else ()
    results = (expected[rows, outputs],), (actual[rows, outputs],)
    return one, Sample(
        inputs, *results, np.arange(len(rows)), differs, differs, ~differs, (expected[rows, :0],), nothing, (), ignored
    )


@dataclass(frozen=True)
class Examination:
    """A sample of rows, and what is compared in them. ``compared``: the output columns that are compared. ``pairs``:
    whether the computation is fast enough to try pairs of causes.
    """

    computation: Computation
    sample: Sample
    compared: Sequence[bool]
    any_nan: bool
    pairs: bool = True

    def explanations(self) -> list[Explanation]:
        """Return the explanations that give at least one differing row, the likeliest first."""
        found = [*self._slips(), *self._late_operands(), *self._singles()]
        best = min(found, key=lambda one: one.score(self.sample), default=None)
        if self.pairs and isinstance(self.computation, TileComputation) and self.computation.products > FEW_PRODUCTS:
            # No single cause may give a whole tile.
            if best is None or best.score(self.sample) > 0:
                found += self._pairs_of_elements(self.computation, best)
        elif self.pairs and best is not None and best.score(self.sample) > 0:
            found += self._pairs(found, best)
            found += self._longer(min(found, key=self._order))
        # Python's sort keeps the order of the table where scores and ranks are the same.
        return sorted(found, key=self._order)

    def _order(self, one: Explanation) -> tuple[bool, float, tuple[int, int]]:
        sample = self.sample
        return one.refuted(sample) or one.weak(sample), round(one.score(sample), 9), one.rank

    @cached_property
    def _columns(self) -> tuple[Column, ...]:
        return self.computation.outputs

    @cached_property
    def _causes(self) -> list[tuple[Cause, Device]]:
        """The causes in the order of the table, each with the device that has it alone."""
        found = (
            (cause, cause.change(Device(self.computation)))
            for row in DIAGNOSES
            for cause in row.causes(self.computation, self.sample)
        )
        return [(cause, device) for cause, device in found if device is not None]

    @cached_property
    def _places(self) -> dict[Cause, int]:
        """The place of each cause in the table."""
        return {cause: k for k, (cause, _) in enumerate(self._causes)}

    def _trial(self, foremost: Mask, most: int = TRIAL) -> Sample:
        """Return some rows of the sample, spread over it; of the rows in ``foremost``, more than of others. Return all
        of it where rows come in groups.
        """
        sample = self.sample
        if len(sample.numbers) <= 2 * most or not self.pairs:
            return sample
        chosen = [
            rows[np.linspace(0, len(rows) - 1, min(len(rows), most // 2)).astype(np.intp)]
            for kind in (sample.differs & sample.values, sample.differs & ~sample.values, sample.control)
            for rows in (np.flatnonzero(kind & foremost), np.flatnonzero(kind & ~foremost))
            if len(rows)
        ]
        return sample.part(np.unique(np.concatenate(chosen)))

    def _matches(self, given: Chunk, sample: Sample) -> Mask:
        only = tuple(
            own if counts else right for own, right, counts in zip(given, sample.expected, self.compared, strict=True)
        )
        return ~self._differs(only, sample.actual, sample)

    def _differs(self, given: Chunk, actual: Chunk, sample: Sample) -> Mask:
        """Compare results. The marks of the expected rows, and the bits that are ignored, say what counts."""
        given = self._as_expected(given, sample, Role.POISON, Role.OPEN)
        if sample.ignored:
            pairs = zip(given, actual, sample.ignored, strict=True)
            given = tuple(own & ~unseen | other & unseen for own, other, unseen in pairs)
        return differing(self._columns, given, actual, self.any_nan)

    def _as_expected(self, given: Chunk, sample: Sample, *roles: Role | None) -> Chunk:
        return tuple(
            right if column.role in roles else own
            for column, own, right in zip(self._columns, given, sample.expected, strict=True)
        )

    def _slips(self) -> Iterator[Explanation]:
        """Yield results that are those of another row: in all rows, or from the first differing row on; and flags of
        all rows before.
        """
        sample = self.sample
        wrong = sample.numbers[sample.differs]
        first, span = int(wrong.min()), int(np.ptp(wrong))
        here = self._matches(sample.expected, sample)
        flagged = {Role.RESULT, Role.FLAGS} <= {column.role for column in self._columns}
        if sample.raised:
            kept = tuple(
                sample.raised[0] if column.role is Role.FLAGS else codes
                for column, codes in zip(self._columns, sample.expected, strict=True)
            )
            never = self._matches(kept, sample)
            if (never & sample.differs).any():
                yield Explanation("flags that are never cleared, and those of each row added", (PAIR, 2), never)
        for shift, given, known in sample.shifted():
            count = f"{abs(shift)} row{'s'[: abs(shift) > 1]}"
            way, reason = ("late", f"{count} too many") if shift < 0 else ("early", f"{count} missing")
            for form, (what, role) in enumerate(_PARTS if flagged else ()):
                alone = self._matches(self._as_expected(given, sample, role), sample) | ~known
                if (alone & known & sample.differs).any():
                    yield Explanation(
                        f"{what} {count} {way}, and the others in time", (Stage.ALIGNMENT, form + 2), alone
                    )
            there = self._matches(given, sample) | ~known
            if not (there & known & sample.differs).any():
                continue
            yield Explanation(f"results {count} {way}", (Stage.ALIGNMENT, 0), there)
            later = np.where(sample.numbers >= first, there, here)
            name = f"results {count} {way} from row {first} on ({reason})"
            # Rows in which no result changes any more are evidence neither for a slip nor against it.
            yield Explanation(name, (Stage.ALIGNMENT if span >= abs(shift) else PAIR, 1), later)

    def _late_operands(self) -> Iterator[Explanation]:
        """Yield results of an operand of the row before beside the other operands of a row."""
        groups: dict[str, list[int]] = {}
        for k, column in enumerate(self.computation.inputs):
            groups.setdefault(_ELEMENT.sub("", column.name), []).append(k)
        scales = [places for name, places in groups.items() if name.startswith("scale_")]
        if len(scales) > 1:
            groups["all scales"] = [k for places in scales for k in places]
        if not self.pairs or not self.sample.before or len(groups) == 1:
            return
        trial = self._trial(self.sample.differs, FIRST_TRIAL)
        for name, places in groups.items():
            gives = None if self._by_late(trial, places) is None else self._by_late(self.sample, places)
            if gives is not None:
                yield Explanation(f"{name} of the row before", (Stage.ALIGNMENT, 0), gives)

    def _by_late(self, sample: Sample, places: Sequence[int]) -> Mask | None:
        """Return the rows that some inputs of the row before explain; None if none of them differs."""
        pairs = enumerate(zip(sample.inputs, sample.before, strict=True))
        inputs = tuple(other if k in places else own for k, (own, other) in pairs)
        made, known = Device(self.computation).outputs(self._columns, inputs, sample.expected), sample.after_another
        if made is None:
            return None
        gives: Mask = self._matches(made[0], sample) & made[1] | ~known
        return gives if (gives & known & sample.differs).any() else None

    @cached_property
    def _leading(self) -> list[tuple[Cause, Device, float]]:
        """Try each cause on few rows, and those that give any of them on more. Return the likeliest, the best first,
        with their scores; where all rows are few, every cause, as if it were likely.
        """
        left = [(cause, device, 0.0) for cause, device in self._causes]
        for most in (FIRST_TRIAL, TRIAL):
            trial = self._trial(self.sample.differs, most)
            if trial is self.sample:
                return [(cause, device, 0.0) for cause, device, _ in left]
            # Most causes give none of the rows that differ, and need not be tried on the equal ones.
            wrong = trial.part(np.flatnonzero(trial.differs))
            likely = [one for one in left if any(self._explained("", (one[0],), one[1], wrong))]
            left = [
                (cause, device, min(one.score(trial) for one in self._explained("", (cause,), device, trial)))
                for cause, device, _ in likely
            ]
        return sorted(left, key=lambda one: one[2])[:LEADING]

    def _singles(self) -> list[Explanation]:
        """Try the leading causes on all rows, and of the weak ones a few; in the order of the table."""
        strong = sum(score < WEAK for *_, score in self._leading)
        chosen = sorted(self._leading[: max(strong, FEW_WEAK)], key=lambda one: self._places[one[0]])
        return [
            one for cause, device, _ in chosen for one in self._explained(cause.name, (cause,), device, self.sample)
        ]

    def _explained(self, name: str, causes: tuple[Cause, ...], device: Device, sample: Sample) -> Iterator[Explanation]:
        """Yield a device in those of the forms `_FORMS` that change results and give a differing row."""
        made = device.outputs(self._columns, sample.inputs, sample.expected)
        if made is not None:
            yield from self._in_forms(name, causes, made, sample)

    def _in_forms(
        self, name: str, causes: tuple[Cause, ...], made: tuple[Chunk, Mask], sample: Sample
    ) -> Iterator[Explanation]:
        given, counts = made
        changed = {
            column.role
            for column, own, right in zip(self._columns, given, sample.expected, strict=True)
            if not np.array_equal(own, right)
        }
        stage = causes[0].stage if len(causes) == 1 else PAIR
        for form, (told, role) in enumerate(_FORMS):
            if role is not None and not {Role.RESULT, Role.FLAGS} <= changed:
                continue
            gives = self._matches(self._as_expected(given, sample, role), sample) & counts
            if (gives & sample.differs).any():
                yield Explanation(name + told, (stage, form), gives, causes)

    def _pairs(self, singles: Sequence[Explanation], best: Explanation) -> list[Explanation]:
        """Return pairs of causes that are likelier than the best cause by itself."""
        # What the best cause does not tell decides between the pairs that hold it.
        bound = best.score(self.sample)
        weak = bound >= WEAK
        first = FIRST_TRIAL // 4 if weak else FIRST_TRIAL
        trials = {most: self._trial(~best.gives, most) for most in (first, TRIAL)}
        own = sorted(
            (one for one in singles if one.causes), key=lambda one: -int((one.gives & self.sample.differs).sum())
        )
        # Of causes that give the same rows, such as equal models, one leads, so that it leaves room for others.
        distinct: dict[bytes, Cause] = {}
        for one in own:
            distinct.setdefault(one.gives.tobytes(), one.causes[0])
        known = [*distinct.values(), *(cause for cause, *_ in self._leading)]
        leading = list(dict.fromkeys(known))[: LEADING // 2 if weak else LEADING]
        acting = dict(self._acting(trials[first if weak else TRIAL]))
        pairs = list(
            dict.fromkeys(
                self._in_order(pair)
                for pair in product(leading, acting)
                if pair[0] is not pair[1] and (acting[pair[1]] or min(pair[0].stage, pair[1].stage) < Stage.COMPUTATION)
            )
        )
        for most, trial in trials.items():
            scores = self._scores(pairs, trial)
            kept = (FEW_WEAK if weak else FINALISTS) if most == TRIAL else SEMIFINALISTS // (4 if weak else 1)
            pairs = sorted(scores, key=lambda causes: scores[causes])[:kept]
            if trial is not self.sample:
                pairs = [causes for causes in pairs if most < TRIAL or scores[causes] < WEAK]
        likely: list[Explanation] = []
        for causes in pairs:
            device = self._together(causes)
            if device is not None:
                likely += self._explained(_together(causes), causes, device, self.sample)
        return [one for one in likely if one.score(self.sample) < bound]

    def _in_order(self, causes: Iterable[Cause]) -> tuple[Cause, ...]:
        return tuple(sorted(causes, key=lambda cause: (-cause.stage, self._places[cause])))

    def _longer(self, best: Explanation) -> list[Explanation]:
        """Return the best explanation with one cause more, two causes more and so on, as long as each explains a good
        part of the rows that are left, and no equal row refutes it; none where one cause more explains nothing.
        """
        found: list[Explanation] = []
        while best.causes and len(best.causes) < MOST_TOGETHER and 0 < best.score(self.sample) < WEAK:
            left = self.sample.differs & ~best.gives
            acting = [cause for cause, _ in self._acting(self._trial(~best.gives, FIRST_TRIAL))]
            sets = [self._in_order((*best.causes, cause)) for cause in acting if cause not in best.causes]
            for most, kept in ((FIRST_TRIAL, SEMIFINALISTS), (TRIAL, FINALISTS)):
                scores = self._scores(sets, self._trial(~best.gives, most))
                sets = sorted(scores, key=lambda causes: scores[causes])[:kept]
            longer = [
                one
                for causes in sets
                if (device := self._together(causes)) is not None
                for one in self._explained(_together(causes), causes, device, self.sample)
                if not (self.sample.control & best.gives & ~one.gives).any()
                and _share(left & one.gives, left) >= LEAST_BEYOND
            ]
            longer = [one for one in longer if one.score(self.sample) < best.score(self.sample)]
            if not longer:
                break
            best = min(longer, key=self._order)
            found = [best]
        return found

    def _scores(self, pairs: Sequence[tuple[Cause, ...]], trial: Sample) -> dict[tuple[Cause, ...], float]:
        """Return the scores of pairs of causes that give a row of a trial that differs."""
        computed: dict[tuple[object, ...], tuple[Chunk, Mask] | None] = {}
        found: dict[tuple[Cause, ...], float] = {}
        for causes in pairs:
            device = self._together(causes)
            if device is None:
                continue
            key = device.computation, device.datapath, device.faults, device.reads
            if key not in computed:
                computed[key] = device.computed(self._columns, trial.inputs, trial.expected)
            made = computed[key]
            if made is None:
                continue
            written = device.written(self._columns, made[0], trial.inputs), made[1]
            scores = [one.score(trial) for one in self._in_forms("", causes, written, trial)]
            if scores:
                found[causes] = min(scores)
        return found

    def _pairs_of_elements(self, tiles: TileComputation, best: Explanation | None) -> list[Explanation]:
        """Do the same for tiles of many products. Pairs are searched for on single elements, and tried on all rows."""
        bound = NOTHING if best is None else best.score(self.sample)
        if len(tiles.outputs) == 1 or not all(self.compared):
            return []
        examination = Examination(*elements(tiles, self.sample, TRIAL), (True,), self.any_nan)
        own = {cause.name: cause for cause, _ in self._causes}
        found = [one for one in examination.explanations() if len(one.causes) > 1][:FINALISTS]
        likely: list[Explanation] = []
        for one in found:
            causes = tuple(own[cause.name] for cause in one.causes if cause.name in own)
            device = self._together(causes)
            if device is not None and len(causes) == len(one.causes):
                likely += self._explained(one.name, causes, device, self.sample)
        return [one for one in likely if one.score(self.sample) < bound]

    def _acting(self, trial: Sample) -> Iterator[tuple[Cause, bool]]:
        """Yield the causes that change an output of a row of the trial, except slow ones, and whether each gives a
        column of a row that differs: of two computations, both must.
        """
        for cause, device in self._causes:
            if cause.slow:
                continue
            made = device.outputs(self._columns, trial.inputs, trial.expected)
            if made is not None and self._differs(made[0], trial.expected, trial).any():
                columns = zip(made[0], trial.expected, trial.actual, strict=True)
                gives = (by_row(own != right) & ~by_row(own != got) for own, right, got in columns)
                yield cause, any(bool((rows & trial.differs).any()) for rows in gives)

    def _together(self, causes: Sequence[Cause]) -> Device | None:
        device: Device | None = Device(self.computation)
        for cause in causes:
            device = None if device is None else cause.change(device)
        return device
