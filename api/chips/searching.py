"""The search for an accumulator that explains rows. The best candidates come first.

`Bench` compares many candidates at once with a sample of the rows. A candidate that explains the sample is compared
with all rows; rows that it does not explain are added to the sample.

`Search` begins with rows on which few fields have an effect: rows of few terms, on which the grouping of products has
little effect, and rows without zeros, overflows and subnormal results, on which neither zeros nor limits of ranges have
an effect. Then it takes all rows. Each part begins with the candidates that explain the rows before, in all groupings.
The best candidate is changed in steps that become wider: first one field at a time; then its form and groups, and all
limits of the alignment; then fields that must change together. If candidates of one structure were changed often, they
wait longer. So the search does not end at a candidate that is only better than similar ones.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.chips.candidates import changed, near, quick, reduced
from halfulp.chips.rows import Rows
from halfulp.fp_formats.exact.core import specials_of
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask
from halfulp.semantics.matrix_units.accumulator import KEPT, Accumulator, spelled
from halfulp.semantics.matrix_units.many_rules import VARIED, ManyRules, takes

Indices = npt.NDArray[np.intp]

SAMPLE = 144
"""So many rows rank candidates; one that explains them is compared with all."""

FIRST = 48
"""Of many candidates, those that are farthest from so many rows are not compared with the rest of the sample."""

FEWEST = 24
"""With fewer rows of few terms the search begins with all rows."""

BUDGET = 60_000
"""The candidates that are tried in each part of the search."""

MOST_WORK = 70_000
"""The search ends after as many products as so many candidates have in a sample of the rows: a bound that does not
depend on the machine.
"""

FULL = 64
"""For comparisons with all rows, products of so many candidates are added to this bound."""

OUTSIDE = 1 << 10
"""What trying a candidate costs besides its products, in products."""

HOPELESS = 1 / 16
"""If the best candidate explains less than this part of the rows of one kind after the first part of the search, the
search ends. Where a rule can be found, simple rules explain most rows.
"""

STARTS = 400
"""So many of the first candidates are kept, two of a structure."""

ALL_GROUPS = 16
"""Of longer rows, only groups that are powers of two are tried at the beginning."""

ALIKE = 3
"""So many candidates of a structure that are as far from the rows are kept: most such ones are the same in these rows.
"""

PER_FORM = 4
"""So many candidates of a form that explain rows of few terms are tried with all groupings."""

KEEP = 40
"""So many of the candidates that explain the rows of one part best are taken to the next."""

EXPLAINING = 200
"""Of the candidates that are compared at a time, so many that explain all rows are looked for."""

ENOUGH = 4
"""So many candidates that explain all rows of one kind are looked for."""

Form = tuple[str, str]
FORMS: tuple[Form, ...] = tuple(
    (tree, c)
    for tree in ("flat", "sequential", "neighbours", "halves", "even_odd")
    for c in ("with", "last", "end")
    if tree != "even_odd" or c == "last"
)
"""Trees with the places of C."""


FLAT = 3
"""So many forms are tried first: a sum of all terms at once, as in the units of most chips."""


@dataclass(frozen=True)
class Rival:
    """A rule with other values of some fields, and the rows that exclude it."""

    #: The fields that differ from the rule, with their values. Fields that do not go with them are as by default.
    changes: Mapping[str, Any]
    #: How many of the `tried` rows it does not explain.
    wrong: int
    #: How many rows it was compared with.
    tried: int
    #: Some of the rows that it does not explain.
    rows: tuple[int, ...]

    @property
    def share(self) -> float:
        """The part of the rows that it does not explain."""
        return self.wrong / self.tried

    def __str__(self) -> str:
        changes = ",".join(f"{name}={spelled(value)}" for name, value in self.changes.items())
        return f"{changes}: wrong in {self.wrong} of {self.tried} rows, first in {self.rows[0]}"


# --- how well candidates explain rows ---------------------------------------------------------------------------------


class Bench:
    """Rows, and a measure of how well candidates explain them. ``which``: the indices of the rows; those of the first
    sample come first.
    """

    def __init__(self, rows: Rows, which: Indices, special: Mask, sample: int = SAMPLE) -> None:
        self.op, self.which, self.all = rows.operation(), which, rows.at(which)
        self.special = special[which]
        self.tried = self.work = 0
        self.excluding: dict[Accumulator, Rival] = {}
        self._take(np.arange(min(sample, len(which))))

    def _take(self, sample: Indices) -> None:
        """Compare candidates with these rows first."""
        ordinary = sample[~self.special[sample]]
        self.sample, self.some = sample, self.all.at(sample)
        self.ordinary, self.few = ordinary, self.all.at(ordinary)
        self.many = self._many_rules(self.few) if takes(self.op) and len(ordinary) else None
        self.begin = ordinary[:: max(1, len(ordinary) // FIRST)]
        first = self.all.at(self.begin)
        self.first = (first, self._many_rules(first)) if self.many is not None and len(ordinary) > 2 * FIRST else None
        self.scores: dict[Accumulator, float] = {}

    def _many_rules(self, rows: Rows) -> ManyRules:
        return ManyRules(self.op, rows.a, rows.b, rows.c)

    def rank(self, rules: Iterable[Accumulator | None], most: int | None = None) -> list[tuple[float, Accumulator]]:
        """Return pairs of a score and a rule, in the given order. The score says how far the results of the rule are
        from the sample; it is 0 if the rule explains all rows. Rules that cannot be compared are left out. After the
        sample has grown, earlier scores cannot be compared with later ones.

        ``most``: the largest number of rules that explain all rows; a few of each structure are kept, the others are
        left out.
        """
        wanted = dict.fromkeys(rule for rule in rules if rule is not None)
        while True:
            sample = self.sample
            self._compare([rule for rule in wanted if rule not in self.scores], most)
            if self.sample is sample:
                return [(self.scores[rule], rule) for rule in wanted if rule in self.scores]

    def score(self, rule: Accumulator | None) -> float:
        """Return how far the results of a rule are from the rows; 0 if it explains all."""
        found = self.rank([rule])
        return found[0][0] if found else float("inf")

    def _compare(self, rules: Sequence[Accumulator], most: int | None) -> None:
        structures: dict[Any, list[Accumulator]] = {}
        for rule in rules:
            if quick(rule, self.op):
                key = (rule.tree, rule.c, rule.group, rule.order, rule.steps, rule.flush, rule.products)
                structures.setdefault((*key, rule.partial == KEPT, rule.product_overflow), []).append(rule)
        sample = self.sample
        if self.first is not None and len(rules) > 4 * FIRST:
            structures = self._nearest(structures)
        explaining = 0
        for members in structures.values():
            left = members
            if self.many is not None:
                left = self._compare_many(members)
            alike = 0
            for rule in left:
                if most is not None and (alike >= ALIKE or explaining >= most):
                    break
                self._compare_one(rule)
                if self.sample is not sample:
                    return
                if not self.scores[rule]:
                    alike, explaining = alike + 1, explaining + 1

    def _nearest(self, structures: Mapping[Any, list[Accumulator]]) -> dict[Any, list[Accumulator]]:
        """Compare rules with a few rows, and return those that are not far from them; the others get their scores."""
        assert self.first is not None
        rows, many = self.first
        found: list[tuple[float, Mask, Any, Accumulator]] = []
        for key, members in structures.items():
            wrong, distances = self._distances(rows, many, members)
            found += zip(distances.tolist(), wrong, itertools.repeat(key, len(members)), members, strict=True)
        found.sort(key=lambda each: each[0])
        left: dict[Any, list[Accumulator]] = {}
        for number, (distance, missed, key, rule) in enumerate(found):
            if number < FIRST or number < len(found) // 12 or not missed.any():
                left.setdefault(key, []).append(rule)
                continue
            self.tried += 1
            self.scores[rule] = distance * len(self.few) / len(rows)
            if rule not in self.excluding:
                where = np.flatnonzero(missed)
                self._exclude(rule, self.begin[where], len(where), len(rows))
        return left

    def _distances(self, rows: Rows, many: ManyRules, rules: Sequence[Accumulator]) -> tuple[Mask, Any]:
        """Return which rows [rules, rows] rules of one structure do not explain, and how far each is from the rows."""
        columns = {name: [getattr(rule, name) for rule in rules] for name in VARIED}
        # Rules may differ in other fields only: one column says how many there are.
        columns = {name: each for name, each in columns.items() if name == "bits" or any(v != each[0] for v in each)}
        self.work += len(rules) * (len(rows) * rows.length + OUTSIDE)
        codes, certain = many.codes(rules[0], columns)
        wrong = (codes != rows.d) & certain
        # What is not certain must not count as explained.
        distances = np.where(wrong, _distances(FORMATS[self.op.d], codes, rows.d), ~certain).sum(axis=1)
        return wrong, distances

    def _compare_many(self, rules: Sequence[Accumulator]) -> list[Accumulator]:
        """Score rules of one structure on the ordinary rows, and return those that may explain them."""
        assert self.many is not None
        self.tried += len(rules)
        wrong, distances = self._distances(self.few, self.many, rules)
        counts = wrong.sum(axis=1)
        left = []
        for rule, distance, count, row in zip(rules, distances.tolist(), counts.tolist(), wrong, strict=True):
            if not count:
                left.append(rule)
                continue
            self.scores[rule] = distance
            if rule not in self.excluding:
                self._exclude(rule, self.ordinary[np.flatnonzero(row)[:3]], count, len(self.ordinary))
        return left

    def _compare_one(self, rule: Accumulator) -> None:
        self.tried += self.many is None
        self.work += len(self.some) * self.some.length + OUTSIDE
        got = self.some.by(rule, self.op).codes
        distances = _distances(FORMATS[self.op.d], got, self.some.d)
        special = self.special[self.sample]
        # Special rows tell about few fields: all of them count less than an ordinary row.
        others = float(distances[special].sum())
        self.scores[rule] = float(distances[~special].sum()) + others / (1 + others)
        wrong = np.flatnonzero(got != self.some.d)
        if len(wrong):
            self._exclude(rule, self.sample[wrong], len(wrong), len(self.sample))
        elif len(self.sample) < len(self.all):
            missed = self._missed(rule)
            if len(missed):
                self._exclude(rule, missed, len(missed), len(self.all))
                self._take(np.concatenate([self.sample, missed[:: max(1, len(missed) // 16)][:24]]))

    def _missed(self, rule: Accumulator) -> Indices:
        """Return rows that a rule does not explain."""
        self.work += len(self.all) * self.all.length
        asked = np.arange(len(self.all))
        if self.many is not None:
            rows, many = self.every
            codes, certain = many.codes(rule, {})
            wrong: Indices = self.plain[(codes[0] != rows.d) & certain[0]]
            if len(wrong):
                return wrong
            asked = np.concatenate([np.flatnonzero(self.special), self.plain[~certain[0]]])
        some = self.all.at(asked)
        found: Indices = asked[some.by(rule, self.op).codes != some.d]
        return found

    @cached_property
    def plain(self) -> Indices:
        """The rows without special operands."""
        return np.flatnonzero(~self.special)

    @cached_property
    def every(self) -> tuple[Rows, ManyRules]:
        """The rows of the sample, and an object that computes what many rules give for them."""
        rows = self.all.at(self.plain)
        return rows, self._many_rules(rows)

    def _exclude(self, rule: Accumulator, wrong: Indices, count: int, tried: int) -> None:
        rows = np.sort(self.which[wrong])[:3]
        self.excluding[rule] = Rival({}, count, tried, tuple(rows.tolist()))


def _distances(fmt: FloatFormat, got: Codes, wanted: Codes) -> npt.NDArray[np.float64]:
    """Return 0 for equal codes, else 1 and something for each binade between them."""
    places = [codes.astype(np.int64) & np.int64(fmt.code_mask >> 1) for codes in (got, wanted)]
    signed = [
        np.where(codes >> codes.dtype.type(fmt.bits - 1) != 0, -place, place)
        for codes, place in zip((got, wanted), places, strict=True)
    ]
    apart = np.abs(signed[0].astype(np.float64) - signed[1])
    return np.where(got == wanted, 0.0, 1 + np.minimum(np.log2(1 + apart), fmt.mantissa_bits) / 8)


# --- the search -------------------------------------------------------------------------------------------------------


@dataclass(order=True)
class _Node:
    """A candidate that waits to be changed; ``step``: how often that was done, each time in wider steps."""

    urgency: float
    number: int
    score: float
    rule: Accumulator
    step: int


class Search:
    """The search for a rule of an operation that explains rows. ``values``: the values that each field may have."""

    def __init__(self, rows: Rows, values: Mapping[str, Sequence[Any]]) -> None:
        self.rows, self.op, self.values = rows, rows.operation(), values
        # The order of rows must not matter, and neither must the neighborhood of similar ones.
        shuffled = np.random.default_rng(len(rows)).permutation(len(rows))
        kinds = _Kinds.of(rows)
        self.special = kinds.special
        special = kinds.special
        terms = np.where(special, self.op.shape[2] + 1, kinds.terms)
        few = shuffled[(terms[shuffled] <= 2)]
        few = few[np.argsort(terms[few] == 0, kind="stable")]
        ordinary = shuffled[~special[shuffled]]
        dense = ordinary[terms[ordinary] > 2]
        half = SAMPLE // 2
        begin = _once(np.concatenate([dense[:half], few[:half], dense[half : 2 * half]]), len(rows))
        others = shuffled[special[shuffled]][: SAMPLE // 3]
        whole = _once(np.concatenate([begin[: SAMPLE - len(others)], others, shuffled]), len(rows))
        self.whole = Bench(rows, whole, special)
        self.few = Bench(rows, few[:SAMPLE], special) if len(few) >= FEWEST else None
        plain = ordinary[kinds.plain[ordinary]]
        self.plain = Bench(rows, plain, special) if FEWEST <= len(plain) < len(rows) // 4 * 3 else None
        self.benches = [bench for bench in (self.whole, self.few, self.plain) if bench is not None]
        self.most_work = MOST_WORK * (SAMPLE * rows.length + OUTSIDE) + FULL * rows.a.size
        self.judged, self.share = list[Bench](), 1.0

    def run(self, known: Sequence[Accumulator]) -> list[tuple[float, Accumulator]]:
        """Return the best candidates with their scores, those that explain all rows first. Simple forms are tried
        before all others. Candidates that explain some kinds of rows are tried before a grid of many rules.
        """
        found, best = list[tuple[float, Accumulator]](), [*known]
        for forms, grid, budget in (
            (FORMS[:FLAT], self.few is None, BUDGET // 8), (FORMS, False, BUDGET // 2), (FORMS, True, BUDGET)
        ):  # fmt: skip
            starts: list[Accumulator | None] = [*best, *self._from_few(best, forms, budget // 8)]
            if grid:
                starts += self._starts(8, forms, self.groupings)
            for bench, enough in ((self.plain, ENOUGH), (self.whole, 1)):
                if bench is not None and not self.ended:
                    found = self._improve(bench, starts, budget // enough, enough)
                    self._judge(bench, found)
                    starts = [*_best(found, structure, 2)[:KEEP], *starts]
            if not found:  # ended before, and to be told how far the best is
                found = sorted(self.whole.rank(starts), key=lambda each: each[0])
            if self.ended or (found and not found[0][0]):
                break
            best = [*known, *_best(found, structure, 2)[:KEEP]]
        return found

    @property
    def ended(self) -> str:
        """The reason why the search ended without a rule before it had tried everything; "" if it did try
        everything.
        """
        if self.share < HOPELESS:
            return f"of the first candidates, none explains more than {self.share:.1%} of some rows"
        return "the bound of its work was reached" if self.work >= self.most_work else ""

    def _judge(self, bench: Bench, found: Sequence[tuple[float, Accumulator]]) -> None:
        """Remember the part of the rows of a bench that the best candidate explains; later parts of the search do not
        change it.
        """
        if bench not in self.judged:
            self.judged.append(bench)
            rivals = [bench.excluding.get(rule) for score, rule in found if score]
            shares = [1 - each.share for each in rivals if each is not None]
            best = 1.0 if len(shares) < len(found) else max(shares, default=1.0)
            self.share = min(self.share, best)

    def _from_few(
        self, known: Sequence[Accumulator], forms: Sequence[Form], budget: int
    ) -> Iterator[Accumulator | None]:
        """Search in rows of few terms, and yield the best rules with all groupings."""
        if self.few is None:
            return
        starts = [*known, *self._starts(2, forms, self.groupings[:1])]
        found = self._improve(self.few, starts, budget, ENOUGH)
        self._judge(self.few, found)
        best = _best(found[: len(found) // 2], lambda rule: (rule.tree, rule.c, rule.partial != KEPT), PER_FORM)
        for rule, (group, order) in itertools.product(best, self.groupings):
            yield changed(rule, group=group, order=order)

    @property
    def tried(self) -> int:
        """The number of candidates that were tried."""
        return sum(bench.tried for bench in self.benches)

    @property
    def work(self) -> int:
        """The number of products that were computed."""
        return sum(bench.work for bench in self.benches)

    @cached_property
    def groupings(self) -> list[tuple[int, int]]:
        """The pairs (group, order) with which the search begins: groups of consecutive elements, and elements that are
        dealt to groups in orders that are powers of two.
        """
        seen, found = set[tuple[int, ...]](), list[tuple[int, int]]()
        k = self.op.shape[2]
        for group in self.values["group"]:
            if group & (group - 1) and k > ALL_GROUPS:
                continue
            for order in (0, *(1 << n for n in range(k.bit_length()))) if group & (group - 1) == 0 < group else (0,):
                key = (group, *Accumulator(group=group, order=order).dealt(k))
                if key not in seen:
                    seen.add(key)
                    found.append((group, order))
        return found

    def _starts(
        self, apart: int, forms: Sequence[Form], groupings: Sequence[tuple[int, int]]
    ) -> Iterator[Accumulator | None]:
        """Yield a few rules of each structure, with what results show by themselves. ``apart``: of the bits; for the
        simplest structures, all bits are tried.
        """
        seen, most = self._seen(), max(bits for bits in self.values["bits"] if bits is not None)
        partials = (KEPT, "to_nearest_even", "toward_zero")
        for (tree, c), partial, (group, order) in itertools.product(forms, partials, groupings):
            if partial != KEPT and (tree, c) in (("flat", "with"), ("flat", "end")):
                continue
            step = 1 if partial == KEPT and not order and len(forms) == FLAT else apart
            for bits in (None, *range(step // 2, most, step)):
                for rounding in ("to_nearest_even", "toward_zero", "upward"):
                    for cut in ("toward_zero", "to_nearest_even") if bits is not None else ("toward_zero",):
                        given = {**seen, "tree": tree, "c": c, "bits": bits, "partial": partial, "group": group}
                        yield changed(Accumulator(), **given, order=order, rounding=rounding, cut=cut)

    def _seen(self) -> dict[str, Any]:
        """Return values of fields that the results suggest: they are only a start."""
        fmt, found = FORMATS[self.op.d], dict[str, Any]()
        magnitude = self.rows.d.astype(np.uint64) & np.uint64(fmt.code_mask >> 1)
        normal = magnitude[(magnitude >= fmt.min_normal_code) & (magnitude <= fmt.max_code)]
        used = int(np.bitwise_or.reduce(normal)) if len(normal) else 1
        unused = (used & -used).bit_length() - 1
        if 0 < unused < fmt.mantissa_bits:
            found["fraction"] = fmt.mantissa_bits - unused
        nans = magnitude[magnitude > (fmt.infinity_code or 0)]
        if len(nans) and (nans == fmt.code_mask >> 1).all():
            found["nan"] = "ones"
        subnormal = (magnitude > 0) & (magnitude < fmt.min_normal_code)
        x, y = (FORMATS[name] for name in (self.op.a, self.op.b))
        may_be_subnormal = x.emin - x.mantissa_bits + y.emin - y.mantissa_bits < fmt.emin
        if len(self.rows) >= 1000 and may_be_subnormal and not subnormal.any() and (magnitude == 0).any():
            found["flush"] = True
        return found

    def _improve(
        self, bench: Bench, starts: Iterable[Accumulator | None], budget: int, enough: int
    ) -> list[tuple[float, Accumulator]]:
        """Change the best candidates until so many explain all rows of a bench."""
        numbers = itertools.count()
        waiting: list[_Node] = []
        seen: dict[Accumulator, float] = {}
        same, ties = set[Accumulator](), dict[Any, int]()
        changes: dict[tuple[Any, ...], int] = {}

        def urgency(score: float, rule: Accumulator, step: int) -> float:
            return score * (1 + _WIDER * step + _OFTEN * changes.get(_without_order(rule), 0))

        def put(found: Iterable[tuple[float, Accumulator]], most: int, alike: int, below: float = float("inf")) -> None:
            """Keep the best of candidates that are new, not more than ``alike`` of a structure."""
            counts: dict[tuple[Any, ...], int] = {}
            for score, rule in sorted(found, key=lambda each: each[0]):
                if most <= 0 or score >= below:
                    break
                key = structure(rule)
                if counts.get(key, 0) >= alike or rule in seen:
                    continue
                plain, plateau = reduced(rule, self.op), (key, round(score, 6))
                if plain in same or ties.get(plateau, 0) >= ALIKE:
                    continue
                same.add(plain)
                ties[plateau] = ties.get(plateau, 0) + 1
                counts[key] = counts.get(key, 0) + 1
                seen[rule] = score
                heapq.heappush(waiting, _Node(urgency(score, rule, 0), next(numbers), score, rule, 0))
                most -= 1

        put(bench.rank(starts, EXPLAINING), STARTS, 2)
        sample, last = bench.sample, bench.tried + budget
        while waiting and bench.tried < last and self.work < self.most_work:
            explaining = sum(not score for score in seen.values())
            if explaining >= enough:
                break
            if bench.sample is not sample:  # there are more rows to compare with
                sample = bench.sample
                seen = {rule: score for score, rule in bench.rank(seen)}
                if bench.sample is not sample:
                    continue
                waiting = [
                    replace(node, score=seen[node.rule], urgency=urgency(seen[node.rule], node.rule, node.step))
                    for node in waiting
                ]
                heapq.heapify(waiting)
            node = heapq.heappop(waiting)
            if explaining and (node.score or node.step):  # others that explain all are near
                break
            now = urgency(node.score, node.rule, node.step)
            if waiting and now > waiting[0].urgency:
                heapq.heappush(waiting, replace(node, urgency=now))
                continue
            key = _without_order(node.rule)
            changes[key] = changes.get(key, 0) + 1
            found = bench.rank(self._changes(node.rule, node.step, bench), EXPLAINING)
            put(found, 8, 4, node.score or 1e-9)
            # Another structure may be better with other values only.
            put([each for each in found if _without_order(each[1]) not in changes], 4, 1)
            if node.step < _STEPS:
                step = node.step + 1
                heapq.heappush(waiting, replace(node, step=step, urgency=urgency(node.score, node.rule, step)))
        return sorted(((score, rule) for rule, score in seen.items()), key=lambda each: each[0])

    def _changes(self, rule: Accumulator, step: int, bench: Bench) -> Iterator[Accumulator | None]:
        """Yield rules with other values in some fields; the steps widen."""
        few = bench is self.few
        idle = _IDLE_IN_FEW if few else _IDLE_IN_PLAIN if bench is self.plain else frozenset[str]()
        if step == 0:
            for name, values in self.values.items():
                if name in idle:
                    continue
                for value in values:
                    if value != getattr(rule, name):
                        yield changed(rule, **{name: value})
        elif step == 1:
            yield from self._forms(rule, few)
            for group, order in self.groupings if not few else ():
                yield changed(rule, group=group, order=order)
        elif step == 2 and not few:
            for group, order in itertools.product(self.values["group"], self.values["order"]):
                yield changed(rule, group=group, order=order)
            for (tree, c), group in itertools.product(FORMS, self.values["group"]):
                yield changed(rule, tree=tree, c=c, group=group)
        if step == 1 and rule.bits is not None:
            yield from self._shifted(rule)
        for block in _TOGETHER[step]:
            if idle.isdisjoint(block):
                yield from self._block(rule, block)

    def _shifted(self, rule: Accumulator) -> Iterator[Accumulator | None]:
        """Yield rules in which all that limits alignments is a little larger or smaller: one may hide the others."""
        lists = []
        for name in ("bits", "shifter", "c_shifter", "zero_exponent"):
            now, values = getattr(rule, name), self.values[name]
            lists.append([now] if now is None else [each for each in range(now - 3, now + 4) if each in values])
        for bits, shifter, c_shifter, zero_exponent in itertools.product(*lists):
            yield changed(rule, bits=bits, shifter=shifter, c_shifter=c_shifter, zero_exponent=zero_exponent)

    def _forms(self, rule: Accumulator, few: bool) -> Iterator[Accumulator | None]:
        """Yield rules with another tree, place of C, and handling of partial sums and small numbers."""
        partials = dict.fromkeys((rule.partial, KEPT, "to_nearest_even"))
        for (tree, c), partial, products in itertools.product(FORMS, partials, ("exact", "rounded")):
            yield changed(rule, tree=tree, c=c, partial=partial, products=products)
        # What is rounded when depends on the form.
        for (tree, c), cut, cut_sums in itertools.product(FORMS, self.values["cut"], self.values["cut_sums"]):
            yield changed(rule, tree=tree, c=c, cut=cut, cut_sums=cut_sums)
        for flush, zero, steps in itertools.product((False, True), self.values["zero"], self.values["steps"]):
            yield changed(rule, flush=flush, zero=zero, steps=steps)

    def _block(self, rule: Accumulator, names: Sequence[str]) -> Iterator[Accumulator | None]:
        """Yield rules with other values in several fields: all of the first one, of the others those near by."""
        lists = []
        for number, name in enumerate(names):
            now = getattr(rule, name)
            lists.append([now, *(near(self.values[name], now) if number else self.values[name])])
        for values in itertools.product(*lists):
            yield changed(rule, **dict(zip(names, values, strict=True)))


_TOGETHER: tuple[tuple[tuple[str, ...], ...], ...] = (
    (),
    (
        ("cut", "cut_sums", "rounding"), ("partial", "rounding", "cut"), ("bits", "rounding"), ("bits", "cut"),
        ("bits", "guard"), ("rounding", "overflow", "zero"), ("product_overflow", "overflow", "nan"),
        ("products", "product_overflow", "partial"),
    ),
    (
        ("shifter", "bits"), ("c_shifter", "bits"), ("shifter", "c_shifter"), ("shifter", "cut", "cut_sums"),
        ("fraction", "rounding"), ("bits", "fraction"), ("zero_exponent", "bits"), ("zero_exponent", "c"),
        ("partial", "fraction", "rounding"), ("products", "partial", "rounding"),
    ),
)  # fmt: skip
"""The fields that are changed together in each step."""

_IDLE_IN_FEW = frozenset({"group", "order"})
_IDLE_IN_PLAIN = frozenset({"zero_exponent", "overflow", "product_overflow", "zero", "nan"})
"""The fields that matter little, or not at all, on rows of few terms, and on plain rows."""

_STEPS = len(_TOGETHER) - 1
_WIDER, _OFTEN = 0.35, 0.1
"""How much longer a candidate waits for each step before, and for each change of a candidate of its structure."""


def _without_order(rule: Accumulator) -> tuple[Any, ...]:
    """Return the structure of a rule without the order of elements."""
    return rule.tree, rule.c, rule.group, rule.products, rule.partial != KEPT


def _best(
    found: Iterable[tuple[float, Accumulator]], kind: Callable[[Accumulator], Any], most: int
) -> list[Accumulator]:
    """Return the first rules, not more than so many of a kind."""
    counts: dict[Any, int] = {}
    best = []
    for _, rule in found:
        key = kind(rule)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= most:
            best.append(rule)
    return best


def structure(rule: Accumulator) -> tuple[Any, ...]:
    """Return a key that says which terms a rule adds in which order. Rules with equal keys add the same terms in the
    same order.
    """
    return *_without_order(rule), rule.order


def _once(indices: Indices, count: int) -> Indices:
    """Return indices without those that came before."""
    _, first = np.unique(indices, return_index=True)
    found: Indices = indices[np.sort(first)]
    return found


@dataclass(frozen=True)
class _Kinds:
    """The kinds of rows. ``terms``: the number of products that are not zero. ``special``: an operand is infinite or
    NaN. ``plain``: no operand is zero, and the result is a normal number.
    """

    terms: Indices
    special: Mask
    plain: Mask

    @staticmethod
    def of(rows: Rows) -> _Kinds:
        special, zeros = np.zeros(len(rows), np.bool_), []
        for name, codes in zip(rows.types[:3], (rows.a, rows.b, rows.c), strict=True):
            fmt = FORMATS[name]
            found = specials_of(fmt, codes.astype(np.uint64))
            if found is not None:
                special |= found.reshape(len(rows), -1).any(axis=1)
            zero = codes & codes.dtype.type(fmt.code_mask >> (fmt.sign_mask is not None)) == 0
            zeros.append(zero.reshape(len(rows), -1))
        fmt = FORMATS[rows.types[3]]
        magnitude = rows.d & rows.d.dtype.type(fmt.code_mask >> 1)
        plain = (magnitude >= fmt.min_normal_code) & (magnitude <= fmt.max_code)
        for zero in zeros:
            plain &= ~zero.any(axis=1)
        return _Kinds(np.asarray((~zeros[0] & ~zeros[1]).sum(axis=1)), special, plain & ~special)
