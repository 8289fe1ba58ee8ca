"""The search for the accumulator that explains the dot products of an unknown unit, and for the fields that the rows do
not determine.

`searching` finds a rule that explains all rows. Then this rule, and rules that nearly explain all rows, are changed one
field after the other. This shows which fields the rows leave open, and which rows exclude the other values.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from halfulp.chips.candidates import DEFAULTS, changed, complexity, differences, near, reduced, values_of
from halfulp.chips.rows import Rows, hard_rows, instructions, rows_of
from halfulp.chips.searching import Rival, Search, structure
from halfulp.fp_formats.formats import FORMATS
from halfulp.fp_formats.spelling import table_lines, value_text
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.semantics.matrix_units.accumulator import Accumulator, spelled
from halfulp.semantics.matrix_units.aligned_sums import fits

Indices = npt.NDArray[np.intp]

LONGEST = 64
"""The most products of a row."""

EXPLORED = 10_000
"""The candidates that are tried for others that explain all rows."""

COMPARED = 24
"""Where nothing explains all rows, the best rules of so many structures are compared with more rows than before."""

COMPARED_ROWS = 10_000
"""With so many; the best one is compared with all rows."""

NEARLY = 12
"""So many of the others that nearly explain all rows are changed once more."""

MOST_OTHERS = 200
"""The most other candidates that are looked for, and told."""

BESIDE = 24
"""Of the others with one change, one of each of so many structures is changed further in all fields."""

_GROUPED = ("group", "order")
"""The fields that have another structure for nearly each value."""

ALIKE = 3
"""Of other candidates with changes of the same fields, so many are changed further, and compared on next inputs."""

ASKED = 1024
"""The rows that are searched for next inputs, and again ten times as many for a few candidates on which they agree."""

MOST_SHOWN = 6
"""Of long lists, the text shows so many entries."""


# --- what is found ----------------------------------------------------------------------------------------------------


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
    #: Some of the rows that `nearest` does not explain, the first ones.
    wrong: tuple[int, ...]
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
    #: Other values of fields with which the rule is the same, given its other fields.
    same: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
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
    #: Why the search ended without a rule before it tried all that it could; empty if it did not.
    ended: str = ""

    @property
    def first_wrong(self) -> int | None:
        """The first row that `nearest` does not explain; None if there is none."""
        return self.wrong[0] if self.wrong else None

    def __str__(self) -> str:
        if self.accumulator is None:
            ended = f"; {self.ended}, so the search ended early" if self.ended else ""
            return (
                f"no accumulator was found that explains all {self.rows:,} rows; {self.tried:,} were tried{ended}\n"
                f"the nearest is {self.nearest}\n"
                f"it explains {self.explained:,} rows; the first that it does not explain: "
                f"{', '.join(map(str, self.wrong))}"
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
        alone = {name: [*values, *self.same.get(name, ())] for name, values in alone.items()}
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
    NaN, the rule has ``specials=none``. The search does not try registers in fixed point (``lsb``). A few thousand rows
    determine most fields, if their terms have both signs and are several binades apart.

    The search may miss a rule. If it finds none, the result has the nearest one and the first rows that exclude it.
    This takes seconds if simple rules explain hardly any row; else the search ends after a fixed amount of work, which
    is a minute for rows of 8 or 16 products.

    Raises InputError for shapes that do not match, for a number in ``d`` that its type does not have, and for rows that
    contradict each other; TypeMismatch for arrays of other types; Unsupported for types whose sums are not defined or
    whose sums have too many bits.

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
            f"each row has {rows.length} products, but must have those of one instruction, which are at most {LONGEST}"
        )
    try:
        Accumulator().check((op.a, op.b), op.d)
    except ValueError as error:
        raise Unsupported(str(error).removeprefix("accumulator: ")) from None
    if not fits(Accumulator(bits=0), op):
        raise Unsupported(
            f"no accumulator can be searched for sums of {rows.length} products of {op.a} * {op.b} in {op.d}: "
            "they do not fit in 64-bit integers",
            hint='give arrays of the types that the matrix unit takes, such as hu.convert(a, "f16")',
        )
    if op.c != op.d:
        raise Unsupported(f"C is {op.c} and D is {op.d}: accumulators are searched only if they have the same type")
    _check_consistent(rows)
    return _Answer(rows).result(chips)


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


# --- the rule, and what else explains the rows ------------------------------------------------------------------------


class _Answer:
    """The search in given rows, and what is said about its result."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.op = rows, rows.operation()
        self.values = values_of(self.op)
        self.search = Search(rows, self.values)
        self.bench = self.search.whole

    def result(self, chips: bool) -> AccumulatorFit:
        """Search, and tell what was found. ``chips``: begin with the rules of chips."""
        known = self._known() if chips else {}
        rules = [Accumulator.from_text(text) for text in known]
        explaining = [rule for score, rule in self.bench.rank(rules) if not score and self._explains(rule)]
        if explaining:
            rule = explaining[0]
        else:
            found = self.search.run(rules)
            explaining = [rule for score, rule in found if not score and self._explains(rule)]
            if not explaining:
                return self._failure(found)
            rule = min(explaining, key=complexity)
            simplest = self._simplest(rule)
            rule = simplest if self._explains(simplest) else rule
        others, more = self._others(reduced(rule, self.op))
        return self._success(rule, others, more, known)

    def _explains(self, rule: Accumulator) -> bool:
        """Tell whether a rule explains all rows by the model itself."""
        return bool((self.rows.by(rule, self.op).codes == self.rows.d).all())

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
            if each is not None and not self.bench.score(each):
                rule = each
        return reduced(rule, self.op)

    def _others(self, own: Accumulator) -> tuple[list[Accumulator], bool]:
        """Find other rules that explain all rows: with one field changed, and with several that must change together.
        Also tells whether there may be more.
        """
        bench = self.bench
        found: dict[Accumulator, None] = {own: None}
        missed: dict[Accumulator, None] = {}

        def put(rules: Iterable[Accumulator]) -> None:
            asked = dict.fromkeys(reduced(each, self.op) for each in rules)
            for score, each in bench.rank(each for each in asked if each not in found and each not in missed):
                (missed if score else found).setdefault(each)

        put(rule for rule, score in bench.scores.items() if not score)
        put(each for _, each in self._single(own, whole=True))
        alone = {pair for each in found for pair in differences(own, each).items()}
        # Fields that own, alone, cannot have other values of.
        tied = {*self.values} - {name for name, _ in self._single(own, whole=True)}
        most = len(found) + MOST_OTHERS
        # First beside one of each form and group: there, other values of the other fields may do.
        beside: dict[tuple[Any, ...], Accumulator] = {}
        for each in found:
            beside.setdefault(structure(each), each)
        for rule in itertools.islice(beside.values(), BESIDE):
            if len(found) > most:
                break
            pairs = ((name, each) for name, each in self._single(rule, True) if name not in _GROUPED)
            put(each for name, each in pairs if (name, getattr(each, name)) not in alone)
        alone = {pair for each in found for pair in differences(own, each).items()}
        counts: dict[tuple[str, ...], int] = {}
        last, most, number = bench.tried + EXPLORED, len(found) + MOST_OTHERS, 0
        while (number := number + 1) < len(found) and bench.tried < last and len(found) <= most:
            rule = list(found)[number]
            names = tuple(differences(own, rule))
            counts[names] = counts.get(names, 0) + 1
            if counts[names] <= ALIKE:
                # What may change alone may change beside others.
                put(each for name, each in self._single(rule, False) if (name, getattr(each, name)) not in alone)
                if tied:
                    put(each for name, each in self._single(rule, True) if name in tied)
        more = number < len(found)
        # Those that nearly explain all rows, with one more change.
        nearly = sorted(
            (each for each in missed if each in bench.excluding), key=lambda each: bench.excluding[each].share
        )
        for each in nearly[:NEARLY]:
            put(other for _, other in self._single(each, whole=False))
        rules = sorted(set(found) - {own}, key=lambda each: (len(differences(own, each)), each.text))
        return rules, more or len(rules) > MOST_OTHERS

    def _success(
        self, rule: Accumulator, others: list[Accumulator], more: bool, known: dict[str, list[str]]
    ) -> AccumulatorFit:
        own = reduced(rule, self.op)
        bench = self.bench
        changes = {each: differences(own, each) for each in others}
        same = dict.fromkeys(self.values, True)
        rivals = list[Rival]()
        equal: dict[str, list[Any]] = {}
        for name, each in self._single(rule, whole=True):
            other = reduced(each, self.op)
            same[name] = same[name] and other == own
            if other == own:
                equal.setdefault(name, []).append(getattr(each, name))
            if other in bench.excluding and other not in changes:
                rivals.append(replace(bench.excluding[other], changes={name: getattr(each, name)}))
        open_: dict[str, tuple[Any, ...]] = {}
        for name in self.values:
            values = dict.fromkeys(getattr(each, name) for each in (own, *others))
            if len(values) > 1:
                open_[name] = tuple(dict.fromkeys([*values, *equal.get(name, ())]))
        if not self.search.special.any():
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
            wrong=(),
            types=self.rows.types,
            chips=tuple(dict.fromkeys(chips)),
            others=tuple(changes.values())[:MOST_OTHERS],
            more=more,
            open=open_,
            same={name: tuple(values) for name, values in equal.items()},
            idle=tuple(name for name, is_same in same.items() if is_same and name not in open_),
            rivals=tuple(sorted(rivals, key=lambda each: each.share)),
            next=tuple(questions),
            alike=tuple(changes[each] for each in alike),
            tried=self.search.tried,
        )

    def _failure(self, found: Sequence[tuple[float, Accumulator]]) -> AccumulatorFit:
        best: dict[tuple[Any, ...], Accumulator] = {}
        for _, rule in found:
            best.setdefault(structure(rule), rule)
        rules = [*best.values()][:COMPARED]
        some = self.rows.at(slice(0, COMPARED_ROWS))
        nearest = min(rules, key=lambda rule: int((some.by(rule, self.op).codes != some.d).sum()))
        wrong = np.flatnonzero(self.rows.by(nearest, self.op).codes != self.rows.d)
        return AccumulatorFit(
            accumulator=None,
            nearest=nearest,
            rows=len(self.rows),
            explained=len(self.rows) - len(wrong),
            wrong=tuple(wrong[:MOST_SHOWN].tolist()),
            types=self.rows.types,
            tried=self.search.tried,
            ended=self.search.ended,
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
