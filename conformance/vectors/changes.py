"""Compare an old set of vectors with what its recipe gives today: rows with other results, added rows, missing rows.

Rows are found by their operands, in the order of the recipe. A row with undefined behaviour, or with poison where a
format had no place for it, may be missing from the old set and exist now, or the reverse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfulp.conformance.vectors import metadata
from halfulp.conformance.vectors.columns import Chunk, Column, Role, TreeDigest, VectorSet, by_row, joined, settled
from halfulp.conformance.vectors.formats.format import Format, SetInFormat, Unsayable
from halfulp.conformance.vectors.formats.text import spelled
from halfulp.conformance.vectors.metadata import Document, leaves_of, value_text
from halfulp.conformance.vectors.packing import UNMARKED, Unmarked
from halfulp.conformance.vectors.recipe import Recipe, rows_of
from halfulp.conformance.vectors.rows import CHUNK, empty
from halfulp.fp_formats.formats import Codes, Mask, code_shape, storage_dtype
from halfulp.interp.ir.errors import InputError

_GIVEN = (Role.OPERAND, Role.RANDOM)
_MARKS = (Role.POISON, Role.OPEN)

Codings = Mapping[str, str]
"""Codes of a row by the names of their columns, in hexadecimal."""


@dataclass(frozen=True)
class Change:
    """A row whose results changed: its number in the old set (None: it is new), its inputs, its old results and its new
    ones.

    ``columns``: the columns that differ. ``old`` or ``new`` is None if the row is not in the set.
    """

    row: int | None
    columns: tuple[Column, ...]
    given: Codings
    old: Codings | None
    new: Codings | None

    def to_json(self) -> Document:
        """Return the change as one JSON object."""
        old, new = (None if side is None else dict(side) for side in (self.old, self.new))
        return {"row": self.row, "given": dict(self.given), "old": old, "new": new}

    def __str__(self) -> str:
        given = " ".join(f"{name}={code}" for name, code in self.given.items())
        sides = ", ".join(self._side(column) for column in self.columns)
        number = "a new row" if self.row is None else f"row {self.row}"
        return f"{number}: {given}: {sides}"

    def _side(self, column: Column) -> str:
        told = ["left out" if side is None else _told(column, side.get(column.name)) for side in (self.old, self.new)]
        return f"{column.name} {told[0]} -> {told[1]}"


def _told(column: Column, code: str | None) -> str:
    if code is None:  # a version without marked rows has no column for marks
        return "0x0"
    return f"{code} ({value_text(column, int(code, 16))})" if column.role is Role.RESULT else code


def old_columns(data: Document, recipe: Recipe) -> tuple[Column, ...]:
    """Return the columns of an old set. Raises InputError if its recipe no longer makes these columns."""
    columns = metadata.columns_of(data)
    if tuple(column for column in columns if column.role in _GIVEN) != recipe.computation.inputs:
        raise InputError(
            "this version of halfulp makes other columns of operands from the recipe than the old set has",
            hint="make the set anew, or compare with the version that made it",
        )
    unknown = [column.name for column in columns if column.role not in _MARKS and column not in recipe.columns]
    if unknown:
        raise InputError(f"this version does not make the column '{unknown[0]}' of the old set")
    return columns


def unmarked_of(data: Document) -> Unmarked:
    """Return how the set treated poison and unspecified bits that had no column."""
    poison = data.get("poison")
    encoding = poison.get("encoding") if isinstance(poison, dict) else None
    return next((choice for choice in UNMARKED if choice == encoding), "refuse")


def digest_now(data: Document, recipe: Recipe) -> str:
    """Return the digest of the set under this version; empty if its format can no longer hold it."""
    columns = old_columns(data, recipe)
    roles = frozenset(column.role for column in columns)
    as_then = Format("old", "", lambda *_: None, lambda *_: VectorSet(columns, ()), roles)
    size = data.get("leaf_rows")
    vectors = recipe.vectors(*rows_of(data, recipe), **({} if size is None else {"size": size}))
    carried = SetInFormat(vectors, as_then, unmarked_of(data), leaves=size is not None)
    try:
        for _ in carried.set():
            pass
    except Unsayable:
        return ""
    return carried.written.digest


def check_unaltered(data: Document, old: VectorSet, name: str) -> None:
    """Raise InputError if the digest of an old set is not the one in its metadata. The set is read to its end.
    ``name``: its name in the error.
    """
    digest = TreeDigest(old.columns, leaves_of(data))
    for chunk in old:
        digest.update(chunk)
    if (digest.count, digest.hexdigest()) != (data["count"], data["sha256"]):
        raise InputError(
            f"{name}: these are not the vectors of the metadata: {digest.count} rows of digest {digest.hexdigest()}, "
            f"not {data['count']} of {data['sha256']}"
        )


def changes(data: Document, recipe: Recipe, old: VectorSet, size: int = CHUNK) -> Iterator[Change]:
    """Yield the rows of an old set that differ today, in constant memory.

    Raises InputError if the operands are not those that the recipe makes today.
    """
    columns = old_columns(data, recipe)
    given = len(recipe.computation.inputs)
    start, stop = rows_of(data, recipe)
    unmarked, whole = unmarked_of(data), data["count"] == stop - start
    rows = _Stream(columns, old)
    comparison = _Comparison(columns, recipe.columns, unmarked)
    size = max(size // recipe.step, 1) * recipe.step
    for begin in range(start, stop, size):
        inputs = recipe.given(begin, min(begin + size, stop))
        outputs, undefined = recipe.computation.compute(inputs)
        now = inputs + outputs
        stays = np.ones(len(inputs[0]), np.bool_)
        if undefined is not None and not recipe.computation.keep_ub:
            stays &= ~undefined
        if unmarked == "drop":
            stays &= ~comparison.unsayable(now)
        place = _places(rows, inputs, stays, whole, given)
        yield from comparison.changes(rows, now, place, stays)
        rows.drop(int((place >= 0).sum()))
    if len(rows.next_rows(1)[0]):
        raise _other_operands(rows.done)


def _other_operands(row: int) -> InputError:
    return InputError(
        f"row {row} of the old set has other operands than this version makes from its recipe: results cannot "
        "be compared",
        hint="halfulp vectors check computes the results for the operands in the file",
    )


class _Stream:
    """The rows of a set from the current position on."""

    def __init__(self, columns: Sequence[Column], old: VectorSet) -> None:
        self._columns, self._chunks = columns, iter(old)
        self._held = empty([column.width for column in columns])
        self.done = 0

    def next_rows(self, count: int) -> Chunk:
        """Return up to ``count`` rows without consuming them."""
        parts, have = [self._held], len(self._held[0])
        while have < count and (chunk := next(self._chunks, None)) is not None:
            parts.append(chunk)
            have += len(chunk[0])
        if len(parts) > 1:
            self._held = joined(self._columns, parts)
        return tuple(codes[:count] for codes in self._held)

    def drop(self, count: int) -> None:
        """Consume ``count`` rows."""
        self._held = tuple(codes[count:] for codes in self._held)
        self.done += count


def _places(
    rows: _Stream, inputs: Chunk, stays: Mask, whole: bool, given: int
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Find each row of a chunk among the next old rows; -1 for rows that are not there."""
    count = len(stays)
    old = rows.next_rows(count)[:given]
    present = np.ones(count, np.bool_) if whole else stays
    expected = tuple(codes[present] for codes in inputs)
    many = len(expected[0])
    if len(old[0]) >= many and all(np.array_equal(a[:many], b) for a, b in zip(old, expected, strict=True)):
        return np.where(present, np.cumsum(present) - 1, -1)
    if whole:
        differs = _any_differs(inputs, old, min(count, len(old[0])))
        raise _other_operands(rows.done + int(differs.argmax()))
    found, at = np.full(count, -1, np.int64), 0
    spelled_old, spelled_new = _tuples(old), _tuples(inputs)
    for k, row in enumerate(spelled_new):
        if at < len(spelled_old) and spelled_old[at] == row:
            found[k], at = at, at + 1
    if spelled_old and not at and stays.any():
        raise _other_operands(rows.done)
    return found


def _any_differs(one: Chunk, other: Chunk, count: int) -> Mask:
    differs = np.zeros(count, np.bool_)
    for a, b in zip(one, other, strict=True):
        differs |= by_row(a[:count] != b[:count])
    return differs


def _tuples(chunk: Chunk) -> list[tuple[object, ...]]:
    def hashable(codes: Codes) -> list[object]:
        return list(map(tuple, codes.tolist())) if codes.ndim > 1 else list(codes.tolist())

    return list(zip(*map(hashable, chunk), strict=True))


class _Comparison:
    """A comparison of rows with the old columns and rows with today's columns."""

    def __init__(self, old: Sequence[Column], new: Sequence[Column], unmarked: Unmarked) -> None:
        self.old, self.new, self.unmarked = tuple(old), tuple(new), unmarked
        self._lost = [k for k, column in enumerate(new) if column.role in _MARKS and column not in old]

    def unsayable(self, now: Chunk) -> Mask:
        """Return the rows with poison or unspecified bits for which the old set has no column."""
        marked = np.zeros(len(now[0]), np.bool_)
        for k in self._lost:
            marked |= by_row(now[k] != 0)
        return marked

    def changes(
        self, rows: _Stream, now: Chunk, place: np.ndarray[tuple[int], np.dtype[np.int64]], stays: Mask
    ) -> Iterator[Change]:
        """Yield the rows of a chunk that changed."""
        before = rows.next_rows(len(place))
        both = (place >= 0) & stays
        then, here = tuple(codes[place[both]] for codes in before), tuple(codes[both] for codes in now)
        differing = self._differing(then, here)
        changed = (place >= 0) != stays
        changed[both] = np.logical_or.reduce(list(differing.values())) if differing else False
        position = np.cumsum(both) - 1
        for k in np.flatnonzero(changed).tolist():
            is_old, is_new = bool(place[k] >= 0), bool(stays[k])
            if is_old and is_new:
                columns = tuple(column for column, mask in differing.items() if mask[position[k]])
            else:
                columns = tuple(c for c in (self.old if is_old else self.new) if c.role not in _GIVEN)
            yield Change(
                rows.done + int(place[k]) if is_old else None,
                columns,
                _codes(self.new, now, k, lambda column: column.role in _GIVEN),
                _codes(self.old, before, int(place[k]), lambda column: column.role not in _GIVEN) if is_old else None,
                _codes(self.new, now, k, lambda column: column.role not in _GIVEN) if is_new else None,
            )

    def _differing(self, then: Chunk, here: Chunk) -> dict[Column, Mask]:
        """Return, for each column, the rows in which it differs."""
        count = len(then[0])
        if self.unmarked == "canonical":
            own = [k for k, column in enumerate(self.new) if column.role is not Role.OPEN]
            zeroed = settled([self.new[k] for k in own], tuple(here[k] for k in own))
            here = tuple(zeroed[own.index(k)] if k in own else here[k] for k in range(len(here)))
        made = dict(zip(self.new, here, strict=True))
        today = tuple(made.get(c, np.zeros(code_shape((count,), c.width), storage_dtype(c.width))) for c in self.old)
        found = {}
        for column, a, b in zip(self.old, settled(self.old, then), settled(self.old, today), strict=True):
            differs = by_row(a != b)
            if differs.any():
                found[column] = differs
        if self.unmarked != "canonical":
            for k in self._lost:
                if here[k].any():
                    found[self.new[k]] = by_row(here[k] != 0)
        return found


def _codes(columns: Sequence[Column], chunk: Chunk, k: int, wanted: Any) -> Codings:
    return {
        column.name: "0x" + spelled(codes[k : k + 1], column.width)[0]
        for column, codes in zip(columns, chunk, strict=True)
        if wanted(column)
    }
