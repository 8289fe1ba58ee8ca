"""Which accumulator explains the dot products of an unknown unit.

The search first takes rows of ordinary numbers, on which few fields matter, then all rows. From one rule for each
structure (how products are grouped, and where C is added) it changes one field at a time, or two that go together, and
keeps what makes the results nearer. Rules that explain all rows are then changed again, one field after the other, and
so are those that nearly do: that finds the fields that the rows leave open, and the rows that exclude the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from halfulp.chips.candidates import DEFAULTS, changed, complexity, differences, near, quick, reduced, values_of
from halfulp.chips.rows import Rows, hard_rows, instructions, rows_of
from halfulp.fp_formats.exact.core import specials_of
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask
from halfulp.fp_formats.spelling import table_lines, value_text
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.semantics.matrix_units.accumulator import KEPT, Accumulator, spelled
from halfulp.semantics.matrix_units.aligned_sums import holds_products

Indices = npt.NDArray[np.intp]

LONGEST = 64
"""The most products of a row."""

SAMPLE = 256
"""So many rows rank candidates; one that explains them is compared with all."""

FEWEST_ORDINARY = 100
"""With fewer rows of ordinary numbers the search begins with those that are nearest to it."""

BUDGET = 2000
"""The candidates that are tried in each part of the search."""

MOST_OTHERS = 400
"""The most other candidates that explain all rows, and are kept."""

ALIKE = 3
"""Of other candidates with changes of the same fields, so many are changed further, and compared on next inputs."""

ASKED = 1024
"""The rows that are searched for next inputs, and again ten times as many for a few candidates on which they agree."""

MOST_SHOWN = 6
"""Of long lists, the text shows so many entries."""

_PRECISION = (
    ("bits",), ("rounding",), ("cut",), ("partial",), ("cut_sums",), ("shifter",), ("c_shifter",), ("guard",),
    ("fraction",), ("overflow",),
)  # fmt: skip
_REST = (("zero_exponent",), ("flush", "zero"), ("steps",), ("nan",), ("product_overflow", "overflow"))
_TOGETHER = (
    ("tree", "c"), ("group",), ("order",), ("products", "partial"), ("cut", "rounding"), ("partial", "rounding"),
    ("cut", "cut_sums"), ("rounding", "overflow"),
)  # fmt: skip


# --- what is found ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rival:
    """A rule with other values of some fields, and the rows that exclude it."""

    #: The fields that differ from the rule, with their values.
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
        return f"{_spelled(self.changes)}: wrong in {self.wrong} of {self.tried} rows, first in {self.rows[0]}"


@dataclass(frozen=True)
class NextInput:
    """An input for which the candidates that explain all rows give different results, so that the result of the unit
    excludes some of them.
    """

    #: Codes of a row of A.
    a: tuple[int, ...]
    #: Codes of a column of B.
    b: tuple[int, ...]
    #: The code of C.
    c: int
    #: The code of D that the rule gives.
    d: int
    #: Codes of D that other candidates give, each with the fields in which they differ from the rule.
    others: Mapping[int, tuple[Mapping[str, Any], ...]]


@dataclass(frozen=True)
class AccumulatorFit:
    """The `Accumulator` of an unknown unit, as far as its dot products determine it. Print it for a report."""

    #: The rule that explains all rows; None if none was found.
    accumulator: Accumulator | None
    #: The rule, or else the one that explains the most rows of those that were tried.
    nearest: Accumulator
    #: How many rows were given.
    rows: int
    #: How many of them `nearest` explains.
    explained: int
    #: The first row that `nearest` does not explain; None if there is none.
    first_wrong: int | None
    #: The types of A, B, C and D.
    types: tuple[str, str, str, str]
    #: Chips with an instruction that follows the rule.
    chips: tuple[str, ...] = ()
    #: Other candidates that explain all rows: the fields that differ from the rule, the fewest first.
    others: tuple[Mapping[str, Any], ...] = ()
    #: Whether there are more of them than `others` has.
    more: bool = False
    #: The fields that the rows leave open: the values of all candidates that explain all rows, that of the rule first.
    open: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    #: Fields that cannot change a result, given the other fields of the rule.
    idle: tuple[str, ...] = ()
    #: The rule with one field changed: what excludes each value that is not open, the nearest first.
    rivals: tuple[Rival, ...] = ()
    #: Inputs worth measuring next.
    next: tuple[NextInput, ...] = ()
    #: Those of `others` for which no input was found that tells them from the rule.
    alike: tuple[Mapping[str, Any], ...] = ()
    #: How many candidates were tried.
    tried: int = 0

    def __str__(self) -> str:
        if self.accumulator is None:
            return (
                f"no accumulator was found that explains all {self.rows:,} rows; {self.tried:,} were tried\n"
                f"the nearest is {self.nearest}\n"
                f"it explains {self.explained:,} rows; the first that it does not explain is {self.first_wrong}"
            )
        lines = [f"{self.accumulator}", f"explains all {self.rows:,} rows"]
        if self.chips:
            lines.append(f"it is the rule of {', '.join(self.chips)}")
        lines += ["", *self._open_lines(), "", *self._rival_lines()]
        if self.idle:
            lines += ["", f"cannot change a result beside the other fields: {', '.join(self.idle)}"]
        return "\n".join([*lines, *self._next_lines()])

    def __repr__(self) -> str:
        return str(self)

    def _open_lines(self) -> list[str]:
        if not self.open:
            return ["the rows leave no field open"]
        alone = {name: [each[name] for each in self.others if [*each] == [name]] for name in self.open}
        alone |= {name: list(self.open[name][1:]) for name in ("specials",) if name in self.open}
        table = [("field", "value", "values that explain all rows, too", "and beside changes of other fields")]
        for name, (own, *others) in self.open.items():
            joint = [value for value in others if value not in alone[name]]
            table.append((name, spelled(own), _listed(alone[name]), _listed(joint)))
        lines = ["the rows leave these fields open:", *table_lines(table)]
        together = [_spelled(each) for each in self.others if len(each) > 1]
        if together:
            shown = "; ".join(together[:MOST_SHOWN])
            more = len(together) - MOST_SHOWN
            lines.append(f"changed together: {shown}{f'; and {more} more' if more > 0 else ''}")
        if self.more:
            lines.append("there may be more candidates that explain all rows: give more rows, or others")
        return lines

    def _rival_lines(self) -> list[str]:
        nearest: dict[str, Rival] = {}
        for each in self.rivals:
            nearest.setdefault(next(iter(each.changes)), each)
        table = [("nearest rival", "wrong rows", "of", "rows that exclude it")]
        for each in nearest.values():
            table.append((_spelled(each.changes), str(each.wrong), str(each.tried), ", ".join(map(str, each.rows))))
        return ["excluded:", *table_lines(table)] if nearest else ["the rows exclude no value of a field"]

    def _next_lines(self) -> list[str]:
        lines: list[str] = []
        a, b, c = (FORMATS[name] for name in self.types[:3])
        if self.next:
            lines += ["", "inputs worth measuring next:"]
        for each in self.next[:MOST_SHOWN]:
            terms = [
                f"{value_text(a, x, 12)} * {value_text(b, y, 12)} at {k}"
                for k, (x, y) in enumerate(zip(each.a, each.b, strict=True))
                if x or y
            ]
            shown = ", ".join(terms[:4]) + (f" and {len(terms) - 4} more" if len(terms) > 4 else "")
            lines.append(f"  {shown or 'zeros'}, C {value_text(c, each.c, 12)}: {hex(each.d)} by the rule")
            answers = sorted(each.others.items(), key=lambda answer: -len(answer[1]))
            for code, candidates in answers[:MOST_SHOWN]:
                lines.append(f"    {hex(code)} if {' or '.join(map(_spelled, candidates[:3]))}")
            if len(answers) > MOST_SHOWN:
                lines.append(f"    {len(answers) - MOST_SHOWN} more results by other candidates")
        if self.alike:
            lines += ["", f"no input was found that tells these from the rule: {'; '.join(map(_spelled, self.alike))}"]
        return lines


def _spelled(changes: Mapping[str, Any]) -> str:
    return ",".join(f"{name}={spelled(value)}" for name, value in changes.items())


def _listed(values: Sequence[Any]) -> str:
    """List values of a field, consecutive numbers as a range."""
    numbers = sorted(value for value in values if isinstance(value, int) and not isinstance(value, bool))
    words = [spelled(value) for value in values if value not in numbers or isinstance(value, bool)]
    for _, run in itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        words.append(str(members[0]) if len(members) == 1 else f"{members[0]} to {members[-1]}")
    return ", ".join(words)


def fit_accumulator(a: Any, b: Any, c: Any, d: Any, *, type: Any = None, acc: Any = None) -> AccumulatorFit:
    """Find the `Accumulator` that explains the results ``d`` of an unknown unit.

    ``a``, ``b``: rows of A and columns of B, [rows, K], where K is the length of one instruction, up to 64.
    ``c``, ``d``: elements of C and D, [rows]; C may be None for +0. Each is a `Value`, an array, or an array of codes
    of an unsigned dtype.
    ``type``: the element type of A and B, if the arrays do not determine it.
    ``acc``: the same for C and D.

    If several rules explain all rows, the answer is the rule of a chip if one is among them, else the rule with the
    fewest fields. The result also has the other rules, and inputs for which they differ. If no operand is infinite or
    NaN, the rule has ``specials=none``. The search may miss a rule: if it finds none, the result says how many rows the
    best rule explains. It does not try registers in fixed point (``lsb``). A few thousand rows determine most fields,
    if their terms have both signs and are several binades apart.

    Raises InputError for shapes that do not match and for rows that contradict each other, TypeMismatch for arrays of
    other types, Unsupported for types whose sums are not defined or whose products have too many bits.

        >>> found = hu.fit_accumulator([[1.0, 1.0]], [[1.0, 2**-12]], None, [1.0], type="f8E5M2", acc="bf16")
        >>> found.accumulator.bits, 11 in found.open["bits"]
        (None, True)
    """
    return fit(rows_of(a, b, c, d, type, acc))


def fit(rows: Rows, chips: bool = True) -> AccumulatorFit:
    """Find the accumulator of rows; see `fit_accumulator`. ``chips``: begin with the rules of chips."""
    op = rows.operation()
    if rows.length > LONGEST:
        raise InputError(
            f"rows have {rows.length} products, but must be the products of one instruction, at most {LONGEST}"
        )
    try:
        Accumulator().check((op.a, op.b), op.d)
    except ValueError as error:
        raise Unsupported(str(error).removeprefix("accumulator: ")) from None
    if not holds_products(op):
        raise Unsupported(f"accumulators of {op.a} * {op.b} are not searched: their products have more than 62 bits")
    if op.c != op.d:
        raise Unsupported(f"C is {op.c} and D is {op.d}: accumulators are searched only if they have the same type")
    _check_consistent(rows)
    return _Search(rows).result(chips)


def _check_consistent(rows: Rows) -> None:
    """Raise InputError for two rows with the same operands and other results."""
    seen: dict[bytes, int] = {}
    for row in range(len(rows)):
        key = b"".join(part[row].tobytes() for part in (rows.a, rows.b, rows.c))
        first = seen.setdefault(key, row)
        if rows.d[first] != rows.d[row]:
            results = f"{hex(rows.d[first])} and {hex(rows.d[row])}"
            raise InputError(
                f"rows {first} and {row} have the same a, b and c, but d is {results}",
                hint="no accumulator gives both: leave such rows out",
            )


# --- the search -------------------------------------------------------------------------------------------------------


class _Bench:
    """Rows, and how well candidates explain them."""

    def __init__(self, rows: Rows, which: Indices) -> None:
        self.op, self.which, self.all = rows.operation(), which, rows.at(which)
        self.take(np.arange(min(SAMPLE, len(which))))
        self.tried = 0
        self.excluding: dict[Accumulator, Rival] = {}

    def take(self, sample: Indices) -> None:
        """Compare candidates with these rows first."""
        self.sample, self.some = sample, self.all.at(sample)
        self.scores: dict[Accumulator, float] = {}

    def score(self, rule: Accumulator | None) -> float:
        """Return how far the results of a rule are from the rows; 0 if it explains all."""
        if rule is None:
            return float("inf")
        rule = reduced(rule, self.op)
        if rule in self.scores:
            return self.scores[rule]
        if not quick(rule, self.op):
            return float("inf")
        self.tried += 1
        got = self.some.by(rule, self.op).codes
        self.scores[rule] = float(_distances(FORMATS[self.op.d], got, self.some.d).sum())
        wrong = np.flatnonzero(got != self.some.d)
        if not len(wrong) and len(self.sample) < len(self.all):
            missed = np.flatnonzero(self.all.by(rule, self.op).codes != self.all.d)
            if len(missed):
                self._exclude(rule, missed, len(self.all))
                self.take(np.concatenate([self.sample, missed[:16]]))
                return self.score(rule)
        if len(wrong) and rule not in self.excluding:
            self._exclude(rule, self.sample[wrong], len(self.sample))
        return self.scores[rule]

    def _exclude(self, rule: Accumulator, wrong: Indices, tried: int) -> None:
        rows = np.sort(self.which[wrong])[:3]
        self.excluding[rule] = Rival({}, len(wrong), tried, tuple(rows.tolist()))


def _distances(fmt: FloatFormat, got: Codes, wanted: Codes) -> npt.NDArray[np.float64]:
    """Return 0 for equal codes, else 1 and something for each binade between them."""
    places = [codes.astype(np.int64) & np.int64(fmt.code_mask >> 1) for codes in (got, wanted)]
    signed = [
        np.where(codes >> codes.dtype.type(fmt.bits - 1) != 0, -place, place)
        for codes, place in zip((got, wanted), places, strict=True)
    ]
    apart = np.abs(signed[0].astype(np.float64) - signed[1])
    return np.where(got == wanted, 0.0, 1 + np.minimum(np.log2(1 + apart), fmt.mantissa_bits) / 8)


class _Node(NamedTuple):
    score: float
    rule: Accumulator
    passes: int = 0


class _Search:
    """The search in given rows."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.op = rows, rows.operation()
        self.values = values_of(self.op)
        # The order of rows must not matter, and neither must the neighbourhood of similar ones.
        shuffled = np.random.default_rng(len(rows)).permutation(len(rows))
        strange, self.special = _strangeness(rows)
        ordinary = shuffled[strange[shuffled] == 0]
        if len(ordinary) < FEWEST_ORDINARY:
            ordinary = shuffled[np.argsort(strange[shuffled], kind="stable")][:SAMPLE]
        self.benches = (_Bench(rows, ordinary), _Bench(rows, shuffled))

    def result(self, chips: bool) -> AccumulatorFit:
        """Search, and tell what was found. ``chips``: begin with the rules of chips."""
        known = self._known() if chips else {}
        rules = [Accumulator.from_text(text) for text in known]
        ordinary, bench = self.benches
        explaining = [rule for rule in rules if bench.score(rule) == 0]
        if not explaining:
            nodes = self._improve(ordinary, [*rules, *self._starts()], (*_PRECISION, *_REST), BUDGET)
            nodes = self._improve(bench, [node.rule for node in nodes], (*_REST, *_PRECISION), BUDGET)
            explaining = [node.rule for node in nodes if not node.score]
            if not explaining:
                return self._failure(nodes)
            rule = self._simplest(min(explaining, key=complexity))
        else:
            rule = explaining[0]
        others, more = self._others(reduced(rule, self.op))
        return self._success(rule, others, more, known)

    def _known(self) -> dict[str, list[str]]:
        """Return the rules of chips for these types, as texts, with the names of the instructions that follow them.
        Those of instructions with this K come first.
        """
        found: dict[str, list[str]] = {}
        ours = instructions(*self.rows.types)
        for chip, op, text in sorted(ours, key=lambda each: each[1].shape[2] != self.op.shape[2]):
            names = found.setdefault(replace(Accumulator.from_text(text), specials="all").text, [])
            if op.shape[2] == self.op.shape[2]:
                names.append(f"chip:{chip} {op.unit}")
        return found

    def _starts(self) -> Iterator[Accumulator | None]:
        """Yield a few rules of each structure, with what results show by themselves."""
        seen, k = self._seen(), self.op.shape[2]
        groups = [0, *(size for size in (1, 2, 4, 8, 16, 32) if size < k)]
        forms = (
            ("flat", "with"), ("flat", "last"), ("flat", "end"), ("neighbours", "last"), ("halves", "last"),
            ("sequential", "with"), ("even_odd", "last"),
        )  # fmt: skip
        rounded = {"partial": "to_nearest_even", "products": "rounded"}
        for (tree, c), group in itertools.product(forms, groups):
            quick = tree == "flat" and group in (0, *groups[-2:])
            for bits in (None, 4, 8, 12, 16, 20, 24, 30) if quick else (None, 6, 12, 24):
                given = {**seen, "tree": tree, "c": c, "group": group, "bits": bits}
                yield changed(Accumulator(), **given)
                if tree != "flat" and group in (0, 4):
                    yield changed(Accumulator(), **given, **rounded)

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
        return found

    def _improve(
        self, bench: _Bench, starts: Iterable[Accumulator | None], blocks: Sequence[tuple[str, ...]], budget: int
    ) -> list[_Node]:
        """Change the best rule of each structure until one explains all rows; return the best rules, those first."""
        pool: dict[tuple[Any, ...], _Node] = {}
        finished: dict[tuple[Any, ...], float] = {}

        def put(rule: Accumulator | None) -> bool:
            """Keep a rule if it is the best of its structure, and tell whether it explains all rows."""
            score = bench.score(rule)
            if rule is not None:
                key = _structure(reduced(rule, self.op))
                if key not in pool or score < pool[key].score:
                    pool[key] = _Node(score, rule, pool[key].passes if key in pool else 0)
            return not score

        last = bench.tried + budget
        solved = any(list(map(put, starts)))
        while not solved and bench.tried < last:
            open_ = [key for key, node in pool.items() if finished.get(key) != node.score]
            if not open_:
                break
            key = min(open_, key=lambda key: pool[key].score * (1 + 0.15 * pool[key].passes))
            node = pool[key]
            rule = self._descend(bench, node.rule, blocks)
            solved = put(rule)
            pool[key] = pool[key]._replace(passes=node.passes + 1)
            if node.passes and not solved:
                finished[key] = pool[key].score
                for block in _TOGETHER:
                    solved = solved or any(map(put, self._changes(rule, block)))
        return sorted(pool.values(), key=lambda node: node.score)[:12]

    def _changes(self, rule: Accumulator, names: tuple[str, ...]) -> Iterator[Accumulator | None]:
        """Yield rules with other values in some fields."""
        lists = [[getattr(rule, name), *near(self.values[name], getattr(rule, name))] for name in names]
        for values in itertools.product(*lists):
            yield changed(rule, **dict(zip(names, values, strict=True)))

    def _descend(self, bench: _Bench, rule: Accumulator, blocks: Sequence[tuple[str, ...]]) -> Accumulator:
        """Change a few fields after the other, each to the value that is best."""
        for block in blocks:
            best, sample = bench.score(rule), len(bench.sample)
            for each in self._changes(rule, block):
                score = bench.score(each)
                if len(bench.sample) != sample:  # there are more rows to compare with
                    best, sample = bench.score(rule), len(bench.sample)
                if each is not None and score < best:
                    rule, best = each, score
            if not best:
                break
        return rule

    # What else explains the rows.

    def _single(self, rule: Accumulator, whole: bool) -> Iterator[tuple[str, Accumulator]]:
        """Yield rules with one other field. ``whole``: with all values that it may have."""
        for name, values in self.values.items():
            own = getattr(rule, name)
            for value in values if whole else near(values, own):
                each = changed(rule, **{name: value})
                if each is not None and value != own:
                    yield name, each

    def _simplest(self, rule: Accumulator) -> Accumulator:
        """Return the rule with defaults in as many fields as the rows allow, one after the other."""
        for name, default in DEFAULTS.items():
            each = changed(rule, **{name: default})
            if each is not None and not self.benches[1].score(each):
                rule = each
        return reduced(rule, self.op)

    def _others(self, own: Accumulator) -> tuple[list[Accumulator], bool]:
        """Find other rules that explain all rows: with one field changed, and with several that must change together.
        Also tells whether there may be more.
        """
        bench = self.benches[1]
        found: dict[Accumulator, None] = {own: None}
        missed: dict[Accumulator, None] = {}

        def put(each: Accumulator) -> None:
            each = reduced(each, self.op)
            if each not in found:
                (missed if bench.score(each) else found).setdefault(each)

        for _, each in self._single(own, whole=True):
            put(each)
        alone = {pair for each in found for pair in differences(own, each).items()}
        counts: dict[tuple[str, ...], int] = {}
        last, number = bench.tried + BUDGET // 2, 0
        while (number := number + 1) < len(found) and bench.tried < last and len(found) <= MOST_OTHERS:
            rule = list(found)[number]
            names = tuple(differences(own, rule))
            counts[names] = counts.get(names, 0) + 1
            if counts[names] > ALIKE:
                continue
            for name, each in self._single(rule, whole=False):
                if (name, getattr(each, name)) not in alone:  # what may change alone may change beside others
                    put(each)
        more = number < len(found)
        # Those that nearly explain all rows, with more changes.
        last = bench.tried + BUDGET // 4
        candidates = [each for each in missed if each in bench.excluding]
        for each in sorted(candidates, key=lambda each: bench.excluding[each].share)[:12]:
            if bench.tried > last:
                break
            nearest = reduced(self._descend(bench, each, (*_REST, *_PRECISION)), self.op)
            if not bench.score(nearest):
                found.setdefault(nearest)
        rules = sorted(set(found) - {own}, key=lambda each: (len(differences(own, each)), each.text))
        return rules[:MOST_OTHERS], more or len(rules) > MOST_OTHERS

    def _success(
        self, rule: Accumulator, others: list[Accumulator], more: bool, known: dict[str, list[str]]
    ) -> AccumulatorFit:
        own = reduced(rule, self.op)
        bench = self.benches[1]
        changes = {each: differences(own, each) for each in others}
        same = dict.fromkeys(self.values, True)
        rivals = list[Rival]()
        for name, each in self._single(rule, whole=True):
            other = reduced(each, self.op)
            same[name] = same[name] and other == own
            if other in bench.excluding and other not in changes:
                rivals.append(replace(bench.excluding[other], changes={name: getattr(each, name)}))
        open_: dict[str, tuple[Any, ...]] = {}
        for name in self.values:
            values = dict.fromkeys(getattr(each, name) for each in (own, *others))
            if len(values) > 1:
                open_[name] = tuple(values)
        if not self.special:
            rule = replace(rule, specials="none")
            open_["specials"] = ("none", "all", "nan")
        questions, alike = self._next(own, others)
        chips = [
            name
            for text, names in known.items()
            if reduced(Accumulator.from_text(text), self.op) == own
            for name in names
        ]
        return AccumulatorFit(
            accumulator=rule,
            nearest=rule,
            rows=len(self.rows),
            explained=len(self.rows),
            first_wrong=None,
            types=self.rows.types,
            chips=tuple(dict.fromkeys(chips)),
            others=tuple(changes.values()),
            more=more,
            open=open_,
            idle=tuple(name for name, is_same in same.items() if is_same and name not in open_),
            rivals=tuple(sorted(rivals, key=lambda each: each.share)),
            next=tuple(questions),
            alike=tuple(changes[each] for each in alike),
            tried=self._tried,
        )

    @property
    def _tried(self) -> int:
        return sum(bench.tried for bench in self.benches)

    def _failure(self, nodes: list[_Node]) -> AccumulatorFit:
        wrong = {node.rule: self.rows.by(node.rule, self.op).codes != self.rows.d for node in nodes}
        nearest = min(wrong, key=lambda rule: int(wrong[rule].sum()))
        return AccumulatorFit(
            accumulator=None,
            nearest=nearest,
            rows=len(self.rows),
            explained=int((~wrong[nearest]).sum()),
            first_wrong=int(wrong[nearest].argmax()),
            types=self.rows.types,
            tried=self._tried,
        )

    def _next(self, own: Accumulator, others: list[Accumulator]) -> tuple[list[NextInput], list[Accumulator]]:
        """Find inputs on which the rule and the others differ, those first that tell the most of them from it; and the
        others for which there is none.
        """
        counts: dict[tuple[str, ...], int] = {}
        left, found = list[Accumulator](), list[NextInput]()
        for each in others:
            names = tuple(differences(own, each))
            counts[names] = counts.get(names, 0) + 1
            if counts[names] <= ALIKE and len(left) < 40:
                left.append(each)
        for seed, count in enumerate((ASKED, 10 * ASKED)):
            some = left[:8] if seed else left
            if not some:
                break
            asked = hard_rows(self.rows.types, self.rows.length, count, seed)
            results = {rule: asked.by(rule, self.op).codes for rule in (own, *some)}
            while left:
                differ = np.array([results.get(rule, results[own]) != results[own] for rule in left])
                told = differ.sum(axis=0)
                row = int(told.argmax())
                if not told[row]:
                    break
                answers: dict[int, list[Mapping[str, Any]]] = {}
                for rule, apart in zip(left, differ[:, row], strict=True):
                    if apart:
                        answers.setdefault(int(results[rule][row]), []).append(differences(own, rule))
                found.append(
                    NextInput(
                        tuple(asked.a[row].tolist()),
                        tuple(asked.b[row].tolist()),
                        int(asked.c[row]),
                        int(results[own][row]),
                        {code: tuple(rules) for code, rules in answers.items()},
                    )
                )
                left = [rule for rule, apart in zip(left, differ[:, row], strict=True) if not apart]
        return found, left


def _structure(rule: Accumulator) -> tuple[Any, ...]:
    return rule.tree, rule.c, rule.group, rule.order, rule.products, rule.partial != KEPT


def _strangeness(rows: Rows) -> tuple[Indices, bool]:
    """Return for each row how many operands are zero, subnormal or special, a hundred more where the result is; and
    whether any operand is special.
    """
    count, special = np.zeros(len(rows), np.intp), False
    for name, codes, weight in zip(rows.types, (rows.a, rows.b, rows.c, rows.d), (1, 1, 1, 100), strict=True):
        fmt = FORMATS[name]
        magnitude = codes & codes.dtype.type(fmt.code_mask >> (fmt.sign_mask is not None))
        strange: Mask = (magnitude < fmt.min_normal_code) | (magnitude > fmt.max_code)
        if weight == 1:
            found = specials_of(fmt, codes.astype(np.uint64))
            special = special or (found is not None and bool(found.any()))
            if codes is rows.c and strange.all():
                continue  # C is +0 everywhere
        count += weight * strange.reshape(len(rows), -1).sum(axis=1)
    return count, special
