"""Vectors that someone else computed, held to what they must be: which rows differ, and what they look like instead.

Poison rows count for nothing, nor do open bits. `differing` compares rows that exist; a `Checker` reads a stream of
them, computes what they must be, and tries for the rows that differ which other semantics gives what was got.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np

from halfulp.conformance.vectors import quantised
from halfulp.conformance.vectors.alternatives import Alternative, alternatives, exact_result, remarks
from halfulp.conformance.vectors.columns import Chunk, Column, Digest, Role, joined, rechunked, results_of
from halfulp.conformance.vectors.computation import Computed, OpSubject, ProgramSubject, Subject
from halfulp.conformance.vectors.formats.format import Notes
from halfulp.fp_formats.codes import Codes, codes_to_ints
from halfulp.fp_formats.formats import FloatFormat
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.interp.values.value import as_type
from halfulp.semantics import floats
from halfulp.semantics.kernel import Mask


@cache
def type_of(column: Column) -> ty.Type | None:
    """The type that a column bears; None where that is no type of MLIR."""
    try:
        return as_type(column.type)
    except (HalfulpError, ValueError):
        return None


def format_of(column: Column) -> FloatFormat | None:
    """The float format of a column; None of all else."""
    type_ = type_of(column)
    return type_.format if isinstance(type_, ty.FloatType) else None


def differing_columns(
    columns: Sequence[Column], expected: Chunk, actual: Chunk, any_nan: bool = False
) -> dict[int, Mask]:
    """The rows in which each column of ``actual`` is not as it must be, by the column's position, where there are any.

    Both chunks have all the columns. The masks of ``expected`` say what counts: not a result that is poison, not its
    open bits, nor the flags of a row of which every result is poison. ``any_nan``: any NaN will do for a NaN. Columns
    of operands are not compared.
    """
    found: dict[int, Mask] = {}
    for k, column in enumerate(columns):
        if column.role in (Role.OPERAND, Role.RANDOM):
            continue
        differs = _rows(expected[k] != actual[k])
        if not differs.any():
            continue
        if column.role is Role.RESULT:
            differs = _result_differs(columns, expected, k, actual[k], differs, any_nan)
        elif column.role is Role.FLAGS:
            differs = differs & ~all_poison(columns, expected)
        if differs.any():
            found[k] = differs
    return found


def differing(columns: Sequence[Column], expected: Chunk, actual: Chunk, any_nan: bool = False) -> Mask:
    """The rows of which any column is not as it must be: see `differing_columns`."""
    mask: Mask = np.zeros(len(expected[0]), np.bool_)
    for own in differing_columns(columns, expected, actual, any_nan).values():
        mask |= own
    return mask


def poison_of(columns: Sequence[Column], chunk: Chunk, result: int) -> Mask:
    """The rows in which the result at this position is poison."""
    mask: Mask = np.zeros(len(chunk[0]), np.bool_)
    for column, codes in zip(columns, chunk, strict=True):
        if column.role is Role.POISON and result in results_of(columns, column):
            mask |= codes != 0
    return mask


def all_poison(columns: Sequence[Column], chunk: Chunk) -> Mask:
    """The rows in which every result is poison; none in a set without results."""
    results = [k for k, column in enumerate(columns) if column.role is Role.RESULT]
    mask: Mask = np.full(len(chunk[0]), bool(results), np.bool_)
    for k in results:
        mask &= poison_of(columns, chunk, k)
    return mask


def _rows(differs: Mask) -> Mask:
    return np.asarray(differs.any(axis=1)) if differs.ndim > 1 else differs


def _result_differs(
    columns: Sequence[Column], expected: Chunk, position: int, actual: Codes, differs: Mask, any_nan: bool
) -> Mask:
    """Of the rows in which a result has other bits, those in which that counts."""
    rows = np.flatnonzero(differs)
    wanted, found = expected[position][rows], actual[rows]
    different = wanted ^ found
    counts = ~poison_of(columns, expected, position)[rows]
    for column, codes in zip(columns, expected, strict=True):
        if column.role is Role.OPEN and position in results_of(columns, column):
            different = different & ~codes[rows]
    counts &= _rows(different != 0)
    fmt = format_of(columns[position])
    if any_nan and fmt is not None and counts.any():
        counts &= ~(floats.is_nan(fmt, wanted) & floats.is_nan(fmt, found))
    mask: Mask = np.zeros(len(differs), np.bool_)
    mask[rows] = counts
    return mask


# --- a stream of rows -------------------------------------------------------------------------------------------------

ROWS = 1 << 16
"""Rows that are computed and compared at once."""

MOST_EXAMINED = 10_000
"""Rows that differ for which other semantics are tried: the first ones. `SLOW_EXAMINED` of programs on tensors, run
row by row."""

SLOW_EXAMINED = 64

CONTROLS = 4_096
"""Equal rows, at most, which another semantics must give as well to be likely."""


@dataclass(frozen=True)
class Mismatch:
    """A row that differs. ``row``: counted from 0; ``line``: where it begins, in a format of lines.

    ``inputs``: the codes of the operands and random bits; ``expected``, ``got``: those of the subject's output columns
    (``got``: None where the file has no such column, the word itself where it has an X or Z). ``columns``: the names of
    those that differ, with ``remarks`` on each; ``as_if``: the alternatives that give all that was got, the likeliest
    first. ``exact``: the result before rounding, of one float or integer op, where it is a number.
    """

    row: int
    line: int | None
    inputs: tuple[int, ...]
    expected: tuple[int, ...]
    got: tuple[int | str | None, ...]
    columns: tuple[str, ...]
    remarks: tuple[tuple[str, ...], ...]
    as_if: tuple[str, ...] = ()
    exact: Fraction | None = None


@dataclass(frozen=True)
class Explanation:
    """An alternative that gives what was got in so many ``rows`` of those examined; ``equal``: of the controls, the
    rows in which it gives what was expected and got.
    """

    name: str
    rows: int
    equal: int


@dataclass
class Check:
    """What was found. ``rows``: of the file; ``undefined``: those not compared for having undefined behaviour;
    ``poison``: those in which no result counts; ``differing``: those that differ, of which ``unknown`` have an X or Z.

    ``mismatches``: the first ones. ``examined``: the differing rows for which alternatives were tried, ``controls`` the
    equal ones, ``explanations`` what came of it, the likeliest first. ``kinds``: how often each remark is true of the
    examined rows. ``digest``: of the file's columns. ``strayed``: the first row whose operands are not those of the
    recipe; ``reordered``: all rows together have them. ``problem``: why reading ended before the end.
    """

    rows: int = 0
    undefined: int = 0
    poison: int = 0
    differing: int = 0
    unknown: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)
    examined: int = 0
    controls: int = 0
    explanations: list[Explanation] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    digest: str | None = None
    strayed: int | None = None
    reordered: bool = False
    problem: HalfulpError | None = None

    @property
    def compared(self) -> int:
        """The rows that were compared."""
        return self.rows - self.undefined


def columns_in_order(
    subject: Subject, columns: Sequence[Column], elsewhere: bool = False
) -> tuple[list[int], list[int | None]]:
    """Where the subject's inputs and outputs are among the columns of a file, by name; None for an output that is not.

    ``elsewhere``: the inputs are known otherwise, so that a file may have none of them. Raises InputError for an input
    that is not there, a column that the subject does not have, other widths, and files without any result or flags.
    """
    places = {column.name: k for k, column in enumerate(columns)}
    known = {column.name: column for column in (*subject.inputs, *subject.outputs)}
    for column in columns:
        own = known.get(column.name)
        if own is None:
            raise InputError(
                f"the file has a column '{column.name}' ({column.role.value}), but what is computed has the columns "
                f"{', '.join(known)}"
            )
        if (own.width, own.role, own.of) != (column.width, column.role, column.of):
            raise InputError(
                f"the column '{column.name}' has {column.width} bits ({column.role.value}), but what is computed "
                f"has {own.width} ({own.role.value})"
            )
    missing = [column.name for column in subject.inputs if column.name not in places]
    alone = elsewhere and len(missing) == len(subject.inputs)
    if missing and not alone:
        raise InputError(f"the file has no column {', '.join(missing)}")
    outputs = [places.get(column.name) for column in subject.outputs]
    if not any(columns[k].role in (Role.RESULT, Role.FLAGS) for k in outputs if k is not None):
        raise InputError("the file has no results")
    return [] if alone else [places[column.name] for column in subject.inputs], outputs


@dataclass
class _Sample:
    """Rows kept for `alternatives`, in whole periods: which of them differ, and which are controls."""

    inputs: list[Chunk] = field(default_factory=list)
    expected: list[Chunk] = field(default_factory=list)
    actual: list[Chunk] = field(default_factory=list)
    numbers: list[Any] = field(default_factory=list)
    differs: list[Mask] = field(default_factory=list)
    control: list[Mask] = field(default_factory=list)


@dataclass
class _Surplus:
    """The rows that a file has more than a recipe, whatever their order: how many, and the sum of a hash of each."""

    rows: int = 0
    hashes: int = 0

    def take(self, inputs: Chunk, times: int) -> None:
        """Add so many times the rows with these operands."""
        mixed = np.zeros(len(inputs[0]), np.uint64)
        for codes in inputs:
            for limb in np.reshape(codes, (len(mixed), -1)).T:
                mixed = (mixed ^ limb.astype(np.uint64)) * _ODD
                mixed ^= mixed >> np.uint64(29)
        self.rows += times * len(mixed)
        self.hashes = (self.hashes + times * int((mixed * _ODD).sum(dtype=np.uint64))) % (1 << 64)


_ODD = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio, as multiplicative hashing has it."""


class Checker:
    """Holds the rows of a file to what a subject computes.

    ``columns``: those of the file, which may lack some outputs. ``any_nan``: as `differing_columns` has it.
    ``ignored``: roles that are not compared. ``notes``: what the reader notes. ``foreseen``: the whole rows of the set
    as a recipe makes them, whose outputs are used while the file has its operands, or none at all. ``most``: mismatches
    kept in full.
    Raises what `columns_in_order` raises.
    """

    def __init__(
        self,
        subject: Subject,
        columns: Sequence[Column],
        *,
        any_nan: bool = False,
        ignored: frozenset[Role] = frozenset(),
        notes: Notes | None = None,
        foreseen: Iterable[Chunk] | None = None,
        most: int = 1,
    ) -> None:
        self.subject, self.columns, self.any_nan = subject, tuple(columns), any_nan
        self._inputs, places = columns_in_order(subject, columns, foreseen is not None)
        self._outputs = [
            None if column.role in ignored else place for column, place in zip(subject.outputs, places, strict=True)
        ]
        self._notes = notes or Notes()
        self._foreseen = None if foreseen is None else rechunked(self._all, foreseen, self._step)
        self._surplus = _Surplus()
        self._strayed_from: Iterator[Chunk] | None = None
        self._most = most
        self._sample = _Sample()
        self._digest = Digest(self.columns)
        self.found = Check()

    @cached_property
    def period(self) -> int:
        """Rows come in groups of so many: above 1 for types whose parameters lie along an axis."""
        return quantised.period(self.subject.task) if isinstance(self.subject, OpSubject) else 1

    @property
    def _step(self) -> int:
        return max(ROWS // self.period, 1) * self.period

    @property
    def _all(self) -> tuple[Column, ...]:
        return self.subject.inputs + self.subject.outputs

    def read(self, chunks: Iterable[Chunk], progress: Callable[[int], object] = lambda rows: None) -> Check:
        """Compare all rows of a stream. An error of the stream becomes `Check.problem`, and what came before counts."""
        for chunk in rechunked(self.columns, self._until_error(chunks), self._step):
            self._compare(chunk)
            progress(self.found.rows)
        self._examine()
        self.found.reordered = self._has_all_rows()
        self.found.digest = None if self.found.unknown else self._digest.hexdigest()
        return self.found

    def _until_error(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        try:
            yield from chunks
        except HalfulpError as error:
            self.found.problem = error

    def _compare(self, chunk: Chunk) -> None:
        rows, found = len(chunk[0]), self.found
        self._digest.update(chunk)
        if self._inputs:
            inputs = tuple(chunk[k] for k in self._inputs)
            expected, undefined = self._computed(inputs, rows)
        else:
            assert self._foreseen is not None
            made = self._next_foreseen(self._foreseen)
            given = 0 if made is None else len(made[0])
            if made is None or given < rows:
                found.problem = InputError(f"the file has more rows than the {found.rows + given:,} of the set")
            if made is None:
                return
            rows = min(rows, given)
            chunk, made = tuple(codes[:rows] for codes in chunk), tuple(codes[:rows] for codes in made)
            inputs, expected, undefined = made[: len(self.subject.inputs)], made[len(self.subject.inputs) :], None
        actual = tuple(expected[k] if at is None else chunk[at] for k, at in enumerate(self._outputs))
        differs = differing(self.subject.outputs, expected, actual, self.any_nan)
        unknown = self._unknown(expected, rows)
        differs[list(unknown)] = True
        if undefined is not None and not self.subject.keep_ub:
            differs &= ~undefined
            found.undefined += int(undefined.sum())
        found.poison += int(all_poison(self.subject.outputs, expected).sum())
        found.unknown += sum(bool(differs[k]) for k in unknown)
        if differs.any():
            self._keep(inputs, expected, actual, differs, undefined, unknown)
        found.differing += int(differs.sum())
        found.rows += rows
        self._notes.forget(found.rows)

    def _computed(self, inputs: Chunk, rows: int) -> Computed:
        """What the outputs must be: those of the recipe where it has the same operands."""
        if self._foreseen is not None:
            made = self._next_foreseen(self._foreseen)
            width = len(inputs)
            short = made is None or len(made[0]) < rows
            same = [] if made is None else [_rows(x[:rows] != y[: len(x)]) for x, y in zip(made, inputs, strict=False)]
            if made is not None and not short and not any(differs.any() for differs in same):
                return Computed(tuple(codes[:rows] for codes in made[width:]))
            first = [int(differs.argmax()) for differs in same if differs.any()]
            self.found.strayed = self.found.rows + min(
                [*first, *([0 if made is None else len(made[0])] if short else [])]
            )
            self._strayed_from, self._foreseen = self._foreseen, None
            if made is not None:
                self._surplus.take(made[:width], -1)
        if self._strayed_from is not None:
            self._surplus.take(inputs, 1)
        missing = -rows % self.period
        if missing:
            # The last group may lack rows, which then are anything.
            padded = tuple(np.concatenate([codes, np.repeat(codes[-1:], missing, axis=0)]) for codes in inputs)
            outputs, undefined = self.subject.compute(padded)
            return Computed(tuple(codes[:rows] for codes in outputs), None if undefined is None else undefined[:rows])
        return self.subject.compute(inputs)

    def _has_all_rows(self) -> bool:
        """Whether a file whose rows strayed from those of the recipe has the same ones in another order."""
        surplus, rest = self._surplus, self._strayed_from
        if rest is None or self.found.problem is not None:
            return False
        while surplus.rows > 0 and (made := self._next_foreseen(rest)) is not None:
            surplus.take(made[: len(self.subject.inputs)], -1)
        return surplus == _Surplus() and self._next_foreseen(rest) is None

    @staticmethod
    def _next_foreseen(foreseen: Iterator[Chunk]) -> Chunk | None:
        try:
            return next(foreseen, None)
        except (HalfulpError, ValueError):
            # The recipe's operands are a convenience: a document may tell of rows that it does not have.
            return None

    def _unknown(self, expected: Chunk, rows: int) -> dict[int, dict[str, str]]:
        """The rows of this chunk with an X or Z where that counts, by their place in it."""
        begin, outputs = self.found.rows, self.subject.outputs
        numbers = [row for row in self._notes.unknown if begin <= row < begin + rows]
        counting: dict[int, dict[str, str]] = {}
        for at, column in enumerate(outputs):
            if not numbers or self._outputs[at] is None:
                continue
            result = column.role is Role.RESULT
            hidden = poison_of(outputs, expected, at) if result else all_poison(outputs, expected)
            masks = [k for k, c in enumerate(outputs) if c.role is Role.OPEN and at in results_of(outputs, c)]
            for number in numbers:
                k, word = number - begin, self._notes.unknown[number].get(column.name)
                if word is None or hidden[k]:
                    continue
                counts = unknown_bits(word) & ((1 << column.width) - 1)
                for mask in masks:
                    counts &= ~codes_to_ints(expected[mask][k : k + 1], column.width)[0]
                if counts:
                    counting.setdefault(k, {})[column.name] = word
        return counting

    def _keep(
        self,
        inputs: Chunk,
        expected: Chunk,
        actual: Chunk,
        differs: Mask,
        undefined: Mask | None,
        unknown: Mapping[int, dict[str, str]],
    ) -> None:
        """Keep the first rows that differ, and some of those that do not, for `_examine`."""
        sample, found, begin = self._sample, self.found, self.found.rows
        slow = isinstance(self.subject, ProgramSubject) and not self.subject.scalars
        limit = SLOW_EXAMINED if slow else MOST_EXAMINED
        rows = np.flatnonzero(differs)
        for k in rows[: max(self._most - len(found.mismatches), 0)]:
            found.mismatches.append(self._mismatch(inputs, expected, actual, int(k), unknown.get(int(k), {})))
        chosen = rows[: limit - found.examined]
        counted = ~differs & ~all_poison(self.subject.outputs, expected)
        if undefined is not None:
            counted &= ~undefined
        controls = np.flatnonzero(counted)[: min(CONTROLS, limit) - found.controls]
        if not len(chosen):
            return
        for k in chosen:
            self._count_kinds(expected, actual, int(k), unknown.get(int(k), {}))
        whole = len(differs) - len(differs) % self.period
        groups = np.unique(np.concatenate([chosen, controls]) // self.period)
        kept = (groups[:, np.newaxis] * self.period + np.arange(self.period)).reshape(-1)
        kept = kept[kept < whole]
        tried, control = np.zeros(len(differs), np.bool_), np.zeros(len(differs), np.bool_)
        tried[chosen], control[controls] = True, True
        found.examined += int(tried[kept].sum())
        found.controls += int(control[kept].sum())
        # What has an X is what no semantics gives.
        tried[list(unknown)] = False
        for kept_of, chunk in ((sample.inputs, inputs), (sample.expected, expected), (sample.actual, actual)):
            kept_of.append(tuple(codes[kept] for codes in chunk))
        sample.numbers.append(kept + begin)
        sample.differs.append(tried[kept])
        sample.control.append(control[kept])

    def _codes(self, chunk: Chunk, columns: Sequence[Column], row: int) -> tuple[int, ...]:
        return tuple(
            codes_to_ints(codes[row : row + 1], column.width)[0] for column, codes in zip(columns, chunk, strict=True)
        )

    def _mismatch(
        self, inputs: Chunk, expected: Chunk, actual: Chunk, row: int, unknown: Mapping[str, str]
    ) -> Mismatch:
        outputs = self.subject.outputs
        operands = self._codes(inputs, self.subject.inputs, row)
        right, codes = self._codes(expected, outputs, row), self._codes(actual, outputs, row)
        got = tuple(
            None if at is None else unknown.get(column.name, code)
            for column, code, at in zip(outputs, codes, self._outputs, strict=True)
        )
        told = self._remarks(expected, actual, row, unknown)
        exact = None
        if isinstance(self.subject, OpSubject):
            exact = exact_result(self.subject.task, operands[: len(self.subject.task.operands)])
        number = self.found.rows + row
        line = self._notes.line_of(number)
        return Mismatch(number, line, operands, right, got, tuple(told), tuple(map(tuple, told.values())), (), exact)

    def _remarks(self, expected: Chunk, actual: Chunk, row: int, unknown: Mapping[str, str]) -> dict[str, list[str]]:
        """The columns of a row that differ, and what is to be said of each."""
        outputs = self.subject.outputs
        one, other = (tuple(codes[row : row + 1] for codes in chunk) for chunk in (expected, actual))
        differs = differing_columns(outputs, one, other, self.any_nan)
        right, codes = self._codes(expected, outputs, row), self._codes(actual, outputs, row)
        told = {}
        for k, column in enumerate(outputs):
            if column.name in unknown:
                told[column.name] = ["unknown digits"]
            elif k in differs:
                told[column.name] = remarks(column, type_of(column), right[k], codes[k])
        return told

    def _count_kinds(self, expected: Chunk, actual: Chunk, row: int, unknown: Mapping[str, str]) -> None:
        for told in {remark for own in self._remarks(expected, actual, row, unknown).values() for remark in own}:
            self.found.kinds[told] = self.found.kinds.get(told, 0) + 1

    def _examine(self) -> None:
        """Try every alternative on the rows that were kept."""
        sample, found, outputs = self._sample, self.found, self.subject.outputs
        if not any(mask.any() for mask in sample.differs):
            return
        inputs = joined(self.subject.inputs, sample.inputs)
        expected, actual = joined(outputs, sample.expected), joined(outputs, sample.actual)
        differs, control = np.concatenate(sample.differs), np.concatenate(sample.control)
        numbers = np.concatenate(sample.numbers)
        listed = {mismatch.row: k for k, mismatch in enumerate(found.mismatches)}
        places = [(int(k), listed[int(numbers[k])]) for k in np.flatnonzero(differs) if int(numbers[k]) in listed]
        by_row: dict[int, list[Explanation]] = {}
        for alternative in alternatives(self.subject):
            gives = self._gives(alternative, inputs, expected, actual)
            if gives is None or not (gives & differs).any():
                continue
            told = Explanation(alternative.name, int((gives & differs).sum()), int((gives & control).sum()))
            found.explanations.append(told)
            for k, place in places:
                if gives[k]:
                    by_row.setdefault(place, []).append(told)
        found.explanations.sort(key=_unlikeliness)
        for place, told_of in by_row.items():
            names = tuple(told.name for told in sorted(told_of, key=_unlikeliness))
            found.mismatches[place] = replace(found.mismatches[place], as_if=names)

    def _gives(self, alternative: Alternative, inputs: Chunk, expected: Chunk, actual: Chunk) -> Mask | None:
        """The rows in which an alternative gives results and flags as they were got; None where it gives none."""
        made = alternative.compute(inputs)
        if made is None:
            return None
        own = alternative.subject.outputs
        places = {column.name: k for k, column in enumerate(own)}
        columns = self.subject.outputs
        given = []
        for k, column in enumerate(columns):
            place = places.get(column.name)
            if column.role in (Role.POISON, Role.OPEN) or self._outputs[k] is None:
                given.append(expected[k])
            elif place is None or own[place].width != column.width:
                return None
            else:
                given.append(made.outputs[place])
        mask = ~differing(columns, tuple(given), actual, self.any_nan)
        mask &= ~all_poison(own, made.outputs)
        return mask if made.undefined is None else mask & ~made.undefined


def _unlikeliness(told: Explanation) -> tuple[int, int]:
    return -told.rows, -told.equal


_X_BITS = str.maketrans({**dict.fromkeys("0123456789abcdefABCDEF_", "0"), **dict.fromkeys("xXzZ", "f")})


def unknown_bits(word: str) -> int:
    """The bits of the digits of a word that are X or Z."""
    return int(word.translate(_X_BITS), 16)
