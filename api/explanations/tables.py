"""Explanations of arrays: one row for each element, bounded in size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from html import escape
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from halfulp.explanations.records import OpExplanation, RoundingExplanation
from halfulp.explanations.rounding import StochasticExplanation
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import FloatFormat
from halfulp.fp_formats.spelling import (
    decimal_text,
    fragment,
    hex_text,
    shortened,
    table,
    table_lines,
    title,
    value_text,
)
from halfulp.texts import element_code_text, element_text

Index = tuple[int, ...]
_MOST_ROWS, _FIRST_ROWS, _WORST_ROWS = 32, 12, 5
MOST_COUNTED = 200
"""The most elements that are explained one by one to count them; arrays of numbers that f64 represents exactly are
counted as a whole.
"""

_HEAD = ("", "input", "exact", "code", "result", "below", "above", "error in ulp", "rule")
_STOCHASTIC = ("", "input", "exact", "toward 0", "away", "probability of away", "code", "result", "rule")


@dataclass(frozen=True, repr=False)
class ExplanationTable:
    """The explanations of an array: ``table[i]``, or ``table[i, j]``, is the full explanation of an element.

    ``shape``: the shape of the array. ``counts``: the number of elements for each kind of result (exact, rounded up, a
    tie …). ``counted``: the number of elements that were counted, from the first one on. ``worst``: the indices of the
    counted elements with the largest error in ulp. The text shows at most 32 rows.
    """

    title: str
    shape: tuple[int, ...]
    counts: Mapping[str, int]
    counted: int
    worst: tuple[Index, ...]
    full: Callable[[Index], Any]
    brief: Callable[[Index], Any]

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        """Return the full explanation of an element. Raises IndexError, InputError for poison."""
        given = index if isinstance(index, tuple) else (index,)
        if len(given) != len(self.shape) or not all(isinstance(k, int | np.integer) for k in given):
            raise IndexError(f"the table has {len(self.shape)} axes: give one integer for each, not {index!r}")
        for k, size in zip(given, self.shape, strict=True):
            if not -size <= k < size:
                raise IndexError(f"index {k} is outside an axis of {size} elements")
        return self.full(tuple(int(k) % size for k, size in zip(given, self.shape, strict=True)))

    def __iter__(self) -> Iterator[Any]:
        return (self.full(index) for index in np.ndindex(*self.shape))

    @property
    def summarised(self) -> bool:
        """True if some elements have no row."""
        return self.size > _MOST_ROWS

    @cached_property
    def indices(self) -> tuple[Index, ...]:
        """The indices of the elements that have a row: all elements, or the first ones."""
        return tuple(islice(np.ndindex(*self.shape), _FIRST_ROWS if self.summarised else _MOST_ROWS))

    @cached_property
    def rows(self) -> list[tuple[str, ...]]:
        """The rows of `indices` as texts, with a heading."""
        return self._with_head(self.indices)

    @cached_property
    def worst_rows(self) -> list[tuple[str, ...]]:
        """The rows of `worst` as texts, with a heading."""
        return self._with_head(self.worst)

    def _with_head(self, indices: Sequence[Index]) -> list[tuple[str, ...]]:
        found = [(index, self.brief(index)) for index in indices]
        stochastic = any(isinstance(each, StochasticExplanation) for _, each in found)
        return [_STOCHASTIC if stochastic else _HEAD, *((_index_text(index), *row_of(each)) for index, each in found)]

    def _parts(self) -> list[tuple[str, list[tuple[str, ...]]]]:
        counts: list[tuple[str, ...]] = [
            ("elements", "result"),
            *((f"{count:,}", kind) for kind, count in self.counts.items()),
        ]
        what = "" if self.counted == self.size else f"of the first {self.counted:,} of {self.size:,} elements"
        if not self.summarised:
            return [("", self.rows), (what, counts)]
        return [
            (f"the first {len(self.indices)} of {self.size:,} elements", self.rows),
            (what or f"all {self.size:,} elements", counts),
            *([("the largest errors", self.worst_rows)] if self.worst else []),
        ]

    def __str__(self) -> str:
        lines = [self.title]
        for heading, rows in self._parts():
            lines += ["", *([heading] if heading else []), *table_lines(rows)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        parts = [title(self.title)]
        for heading, (head, *rows) in self._parts():
            parts += [f"<p>{escape(heading)}</p>"] if heading else []
            parts.append(table([[escape(cell) for cell in row] for row in rows], head))
        return fragment(*parts)

    def to_dict(self) -> dict[str, Any]:
        """Return what is printed as a dictionary that JSON can hold: the rows are dictionaries of texts."""

        def records(rows: list[tuple[str, ...]]) -> list[dict[str, str]]:
            head = ("index", *rows[0][1:])
            return [dict(zip(head, row, strict=True)) for row in rows[1:]]

        return {
            "title": self.title,
            "shape": list(self.shape),
            "counts": dict(self.counts),
            "counted": self.counted,
            "rows": records(self.rows),
            "worst": records(self.worst_rows),
        }


def _index_text(index: Index) -> str:
    return f"[{', '.join(map(str, index))}]"


@dataclass(frozen=True)
class PoisonRow:
    """An element that is already poison, and the reason."""

    reason: str


def row_of(explanation: Any) -> tuple[str, ...]:
    """Return an explanation as the cells of a row, in the order of the headings of its kind."""
    if isinstance(explanation, PoisonRow):
        return ("poison", "", "", "poison", "", "", "", explanation.reason)
    if isinstance(explanation, StochasticExplanation):
        return _stochastic_row(explanation)
    if isinstance(explanation, OpExplanation):
        return _op_row(explanation)
    e: RoundingExplanation = explanation
    return (shortened(e.given), *_rounded_cells(e))


def _rounded_cells(e: RoundingExplanation) -> tuple[str, ...]:
    fmt, result = e.format, e.result
    code, value = _code_and_value(fmt, result.code)
    error = "" if result.error is None else e.difference_text(result.error)
    return (e.short_exact_text, code, value, _neighbour(fmt, e.below), _neighbour(fmt, e.above), error, e.rule)


def _op_row(e: OpExplanation) -> tuple[str, ...]:
    given = ", ".join(operand.short for operand in e.operands)
    if e.rounding is not None:
        return (given, *_rounded_cells(e.rounding))
    exact = "" if e.exact is None else decimal_text(e.exact, 20)
    several = e.results if len(e.results) > 1 else ()
    if e.undefined:
        code, value = "", "undefined behaviour"
    elif several:
        code = ", ".join(element_code_text(each.type, each.code or 0) for each in several)
        value = ", ".join(element_text(each.type, each.code) for each in several)
    else:
        code = "" if e.result is None else element_code_text(e.type, e.result)
        value = element_text(e.type, e.result, 20)
    return (given, exact, code, value, "", "", "", e.rule)


def _stochastic_row(e: StochasticExplanation) -> tuple[str, ...]:
    fmt = e.format
    exact = "" if e.exact is None else decimal_text(e.exact, 20)
    toward, away = (_code_and_value(fmt, number.code)[1] for number in (e.toward, e.away))
    chance = decimal_text(e.probability, 12) if e.fraction else ""
    code, value = ("", "by random bits") if e.result is None else _code_and_value(fmt, e.result.code)
    rule = e.rule if e.fraction else "nothing is rounded"
    given = ", ".join(text.partition("  (")[0] for name, text in e.rows if name != "formula")
    return (shortened(given), exact, toward, away, chance, code, value, rule)


def _code_and_value(fmt: FloatFormat, code: int | None) -> tuple[str, str]:
    return ("", "poison") if code is None else (hex_text(fmt, code), value_text(fmt, code, 20))


def _neighbour(fmt: FloatFormat, code: int | None) -> str:
    return "none" if code is None else value_text(fmt, code, 20)


# Kinds of results ----------------------------------------------------------------------------------------------------

POISON, NAN, INFINITE, EXACT, BEYOND, TO_ZERO, TIE, DOWN, UP, OTHER = (
    "poison",
    "NaN",
    "infinite, not rounded",
    "exact",
    "beyond the range of the format",
    "rounded to zero",
    "a tie",
    "rounded down",
    "rounded up",
    "other results",
)


_INTEGER_KINDS = {"modulo": "wrapped", "exact": EXACT, "rounded": "a rounded quotient"}
"""The kinds of results of integer ops, by a word of the rule."""


def _limits(fmt: FloatFormat) -> tuple[Fraction, Fraction]:
    largest, smallest = scalar.value(fmt, fmt.max_code), scalar.value(fmt, 0)
    assert largest is not None
    assert smallest is not None
    return (-largest if fmt.signed else smallest), largest


def kind_of(explanation: Any) -> str:
    """Return the kind of a result (exact, rounded up, a tie …), from its exact numbers."""
    if isinstance(explanation, PoisonRow):
        return POISON
    if isinstance(explanation, StochasticExplanation):
        return EXACT if not explanation.fraction else "rounded by random bits"
    if isinstance(explanation, OpExplanation):
        if explanation.undefined:
            return "undefined behaviour"
        if explanation.rounding is None:
            if explanation.result is None and not explanation.results[1:]:
                return POISON
            kinds = _INTEGER_KINDS if explanation.story else {}
            return next((kind for words, kind in kinds.items() if words in explanation.rule), OTHER)
        explanation, infinite = explanation.rounding, False
        if explanation.exact is None and not explanation.format.is_nan(explanation.result.code or 0):
            return OTHER
    else:
        infinite = explanation.infinite
    e: RoundingExplanation = explanation
    if e.result.code is None:
        return POISON
    if e.exact is None:
        return INFINITE if infinite else NAN
    low, high = _limits(e.format)
    if e.result.value == e.exact:
        return EXACT
    if not low <= e.exact <= high:
        return BEYOND
    if e.result.value is None:
        return OTHER
    if not e.result.value:
        return TO_ZERO
    if e.exact == e.midpoint:
        return TIE
    return DOWN if e.result.value < e.exact else UP


def count_kinds(fmt: FloatFormat, exact: Any, result: Any, poisoned: Any, sizes: Any) -> dict[str, int]:
    """Count the kinds of the results of an array. Numbers are arrays of f64, which hold them exactly; ``sizes``: the
    magnitudes of their errors in ulp.
    """
    low, high = map(float, _limits(fmt))
    with np.errstate(invalid="ignore", over="ignore"):
        error = result - exact
        conditions = {
            POISON: poisoned,
            NAN: np.isnan(exact),
            INFINITE: np.isinf(exact),
            EXACT: result == exact,
            BEYOND: (exact < low) | (exact > high),
            OTHER: ~np.isfinite(result),
            TO_ZERO: result == 0,
            TIE: sizes == 0.5,
            DOWN: error < 0,
            UP: error > 0,
        }
    names = list(conditions)
    # The first condition that holds decides.
    kinds = np.select(list(conditions.values()), list(np.arange(len(names), dtype=np.uint8)), len(names) - 1)
    amounts = np.bincount(np.ravel(kinds), minlength=len(names)).tolist()
    counts = Counter(dict(zip(names, amounts, strict=True)))
    return {name: amount for name, amount in counts.most_common() if amount}


def worst_of(errors: Any) -> tuple[Index, ...]:
    """Return the indices of the largest errors in ulp that are not zero; infinite ones come first."""
    flat = np.where(np.isnan(errors), 0.0, np.abs(errors)).reshape(-1)
    count = min(_WORST_ROWS, int(np.count_nonzero(flat)))
    if not count:
        return ()
    order = np.argsort(-flat, kind="stable")[:count]
    return tuple(tuple(int(k) for k in np.unravel_index(place, np.shape(errors))) for place in order)


def _error_of(explanation: Any) -> float:
    """Return an error in ulp for sorting: infinite if the exact value is finite and the result is not."""
    rounding = explanation.rounding if isinstance(explanation, OpExplanation) else explanation
    if not isinstance(rounding, RoundingExplanation) or rounding.exact is None:
        return 0.0
    error = rounding.result.error
    return float("inf") if error is None else min(float(abs(error)), 1e300) if abs(error) < 10**300 else 1e300


def explanation_table(
    title: str,
    shape: tuple[int, ...],
    explanation: Callable[[Index, bool], Any],
    counts: tuple[Mapping[str, int], int, tuple[Index, ...]] | None = None,
) -> ExplanationTable:
    """Return the table of an array. ``explanation``: a function that explains an element, in full or in shortened.
    ``counts``: the counts of kinds, how many elements were counted, and the indices of the elements with the largest
    errors; None: the first elements are explained and counted.
    """

    def brief(index: Index) -> Any:
        return explanation(index, False)

    if counts is None:
        indices = list(islice(np.ndindex(*shape), MOST_COUNTED))
        found = [brief(index) for index in indices]
        errors = np.array([_error_of(each) for each in found], float)
        worst = tuple(indices[place] for (place,) in worst_of(errors))
        counts = dict(Counter(map(kind_of, found)).most_common()), len(found), worst
    return ExplanationTable(title, shape, *counts, lambda index: explanation(index, True), brief)
