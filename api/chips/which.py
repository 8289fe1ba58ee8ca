"""Rank chips, instructions and orders of K by how many of the given dot products they give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from halfulp.chips.rows import Computed, Rows, named_instructions, rows_of
from halfulp.fp_formats.spelling import table_lines
from halfulp.semantics.matrix_units.kinds import TileOp

ORDERS = ("ascending", "descending")
"""The orders of the instructions along K: ascending or descending."""


@dataclass(frozen=True)
class ChipMatch:
    """Models that give the same results for all inputs. ``names``: the model, or chips with their instructions.

    ``order``: the order of their instructions along K; empty for one instruction. ``rows``: the number of
    rows; ``equal``: how many have the given results; ``open``: for how many no result is published.
    ``first``: the first row that differs.
    """

    names: tuple[str, ...]
    order: str
    rows: int
    equal: int
    open: int
    first: int | None

    def __str__(self) -> str:
        order = f", {self.order}" if self.order else ""
        return f"{', '.join(self.names)}{order}: {self.equal} of {self.rows} rows"


@dataclass(frozen=True)
class ChipRanking:
    """The models, ordered by the number of rows that they reproduce, the best first. Its text is a table."""

    matches: tuple[ChipMatch, ...]

    @property
    def chips(self) -> tuple[ChipMatch, ...]:
        """The models that differ in no row, and whose results are published for at least one row."""
        return tuple(each for each in self.matches if each.first is None and each.equal)

    def __str__(self) -> str:
        head = ("equal", "differ", "not published", "first different row", "models", "order of K")
        rows = [
            (
                str(each.equal), str(each.rows - each.equal - each.open), str(each.open),
                "" if each.first is None else str(each.first), ", ".join(each.names), each.order,
            )
            for each in self.matches
        ]  # fmt: skip
        return "\n".join(table_lines([head, *rows]))

    def __repr__(self) -> str:
        return str(self)

    def record(self) -> dict[str, Any]:
        """Return the matches as a dictionary for JSON."""
        matches = [
            {
                "models": list(each.names),
                "order": each.order or None,
                "equal": each.equal,
                "differ": each.rows - each.equal - each.open,
                "not_published": each.open,
                "first_different": each.first,
            }
            for each in self.matches
        ]
        return {"matches": matches}


def which_chip(a: Any, b: Any, c: Any, d: Any, *, type: Any = None, acc: Any = None) -> ChipRanking:
    """Rank the chips, their instructions and the orders of K by the number of results in ``d`` that they reproduce.

    ``a``, ``b``: rows of A and columns of B, [rows, K], or a single row and column, [K].
    ``c``, ``d``: elements of C and D, [rows]; C may be None for +0. Each is a `Value`, an array, or an array of codes
    of an unsigned dtype.
    ``type``: the element type of A and B, or a pair of types, if the arrays do not determine it.
    ``acc``: the same for C and D.

    If K is longer than an instruction, several instructions follow one another along K, in ascending or descending
    order. The models "exact" and "ieee" are ranked, too.

    Raises InputError for shapes that do not match, and for a number in ``d`` that its type does not have; TypeMismatch
    for arrays of other types.

        >>> ranking = hu.which_chip([[1.0, 2**-13]], [[1.0, -(2**-12)]], None, [1.0], type="f16", acc="f32")
        >>> any("hopper" in name for match in ranking.chips for name in match.names)
        False
    """
    return ranking_of(rows_of(a, b, c, d, type, acc))


def ranking_of(rows: Rows) -> ChipRanking:
    """Rank the chips by the number of the given rows that they reproduce."""
    return ChipRanking(tuple(sorted(_matches(rows), key=lambda each: (-each.equal, each.open, each.names))))


def _matches(rows: Rows) -> Iterator[ChipMatch]:
    found: dict[tuple[str, int], list[str]] = {("exact", rows.length): ["exact"], ("ieee", rows.length): ["ieee"]}
    for name, op, rule in named_instructions(*rows.types):
        found.setdefault((rule, op.shape[2]), []).append(name)
    for (model, k), names in found.items():
        whole = filled(rows, k)
        orders = ORDERS if whole.length > k else ("",)
        yield from _compared(rows, whole, model, whole.operation(k), tuple(dict.fromkeys(names)), orders)


def filled(rows: Rows, k: int) -> Rows:
    """Return rows whose length is a multiple of an instruction's K: A and B are filled up with +0."""
    more = ((0, 0), (0, -rows.length % k))
    return Rows(np.pad(rows.a, more), np.pad(rows.b, more), rows.c, rows.d, rows.types)


def _compared(
    rows: Rows, whole: Rows, model: str, op: TileOp, names: tuple[str, ...], orders: Sequence[str]
) -> Iterator[ChipMatch]:
    """Yield how many rows a model reproduces in each order of the instructions; all orders are computed together."""
    places = np.arange(whole.length).reshape(-1, op.shape[2])
    ordered = [(places[::-1] if order == "descending" else places).reshape(-1) for order in orders]
    a, b = (np.concatenate([codes[:, each] for each in ordered]) for codes in (whole.a, whole.b))
    c, d = (np.tile(codes, len(orders)) for codes in (whole.c, whole.d))
    computed = Rows(a, b, c, d, whole.types).by(model, op)
    for number, order in enumerate(orders):
        part = slice(number * len(rows), (number + 1) * len(rows))
        own = Computed(computed.codes[part], computed.unknown[part])
        wrong, open_ = own.wrong(rows), int(own.unknown.sum())
        first = int(wrong.argmax()) if wrong.any() else None
        yield ChipMatch(names, order, len(rows), len(rows) - int(wrong.sum()) - open_, open_, first)
