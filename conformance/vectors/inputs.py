"""The operands of a set of vectors: which ones, by level, seed and models, as a table that is made part by part.

Levels: ``1`` and ``2``, TestFloat's corners crossed; ``exhaustive``, every combination; ``random``, uniform bits;
``weighted``, TestFloat's random mixture without its corners. Models add the rows that `models` constructs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from halfulp.conformance.comparing.op_case import Task
from halfulp.conformance.vectors import quantised, testfloat
from halfulp.conformance.vectors.intermediate import Case, case_of
from halfulp.conformance.vectors.models import Filled, fill, models_for
from halfulp.conformance.vectors.philox import uniform
from halfulp.conformance.vectors.rows import Rows, exhaustive, of_tuples, one_after_another
from halfulp.conformance.vectors.testfloat import FloatKind, IntegerKind, Kind
from halfulp.fp_formats.codes import Codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import Unsupported
from halfulp.interp.values.value import element_width

LevelName = Literal["1", "2", "exhaustive", "random", "weighted"]

EXHAUSTIVE_BITS = 40
"""Operands of more bits together are not enumerated: that would take years."""

CORNER_BITS = 4096
"""Integers of more bits have no corners: thousands of patterns, each as long, would take minutes."""

ROUNDING_STREAM = 1 << 40
"""The Philox stream of the random bits of stochastic rounding; operands have the first ones."""

_SHIFTS = ("arith.shli", "arith.shrsi", "arith.shrui")


def kinds_of(types: Sequence[ty.Type], op: str = "") -> list[Kind]:
    """What each operand's type contributes. ``op``: its name, for operands of a special role.

    Raises Unsupported for a type that is neither float nor integer.
    """
    kinds: list[Kind] = []
    for place, type_ in enumerate(types):
        width = element_width(type_)
        if isinstance(type_, ty.FloatType):
            kinds.append(FloatKind(type_.format))
        elif isinstance(type_, ty.IntegerType | ty.IndexType) and width is not None:
            kinds.append(IntegerKind(width, amount=op in _SHIFTS and place == 1))
        else:
            raise Unsupported(f"no corners are known of operands of type {type_}")
    return kinds


def rows_of_types(
    types: Sequence[ty.Type], level: LevelName = "1", seed: int = 0, count: int | None = None, op: str = ""
) -> Rows:
    """Operands of these types. ``count``: how many random ones; of other levels, at most so many of the first.

    Raises Unsupported for other types, ValueError for an unknown level, a seed that is none, too many combinations, or
    random operands without a count.
    """
    kinds = kinds_of(types, op)
    widths = [kind.width for kind in kinds]
    if level not in ("exhaustive", "random") and max(widths) > CORNER_BITS:
        raise Unsupported(
            f"no corners are made of operands of {max(widths)} bits, but of {CORNER_BITS} at most",
            hint="--level=random takes any width",
        )
    match level:
        case "1" | "2":
            return first(testfloat.corner_rows(kinds, 1 if level == "1" else 2, seed), count)
        case "exhaustive":
            _check_enumerable(sum(widths))
            return first(exhaustive(widths), count)
        case "random":
            return testfloat.uniform_rows(widths, _needed(count), seed)
        case "weighted":
            return testfloat.weighted_rows(kinds, _needed(count), seed)
    raise ValueError(f"unknown level {level!r}; choose one of {', '.join(get_args(LevelName))}")


def rows_of_task(task: Task, level: LevelName = "1", seed: int = 0, count: int | None = None) -> Rows:
    """Operands of a task, as `rows_of_types`; those of casts of quantised types come in periods: see `quantised`."""
    type_ = quantised.quantised_type(task)
    if type_ is None:
        return rows_of_types(task.operand_types, level, seed, count, task.op)
    match level:
        case "1" | "2":
            return first(quantised.corner_rows(task, type_, 1 if level == "1" else 2, seed), count)
        case "exhaustive":
            _check_enumerable(sum(task.operand_widths))
            return first(quantised.every_row(task, type_), count)
        case "random" | "weighted":
            return quantised.uniform_rows(task, type_, _needed(count), seed)
    raise ValueError(f"unknown level {level!r}; choose one of {', '.join(get_args(LevelName))}")


def filled_models(task: Task, names: Sequence[str] | None = None, seed: int = 0) -> tuple[Case, dict[str, Filled]]:
    """What each model that applies to a task constructs; ``names``: only of these models.

    Raises ValueError for an unknown model, Unsupported where none of them applies.
    """
    case = case_of(task)
    applying = [] if case is None else models_for(case, names)
    if case is None or not applying:
        raise Unsupported(f"none of the models {', '.join(names or ())} applies to {task}")
    return case, {model.name: fill(model, case, seed) for model in applying}


def rows_of_models(task: Task, names: Sequence[str] | None = None, seed: int = 0) -> Rows:
    """The operands of the models that apply to a task, one model after another, each row once."""
    case, filled = filled_models(task, names, seed)
    rows = dict.fromkeys(row for made in filled.values() for row in made.rows)
    return of_tuples(list(rows), case.widths)


def rows_for(
    task: Task,
    level: LevelName | None = "1",
    seed: int = 0,
    count: int | None = None,
    models: Sequence[str] = (),
) -> Rows:
    """The operands of a set: those of the models first, then those of the level. ``level`` None: of models alone.

    Raises as `rows_of_task` and `filled_models`; ValueError where nothing is asked for.
    """
    tables = [rows_of_models(task, models, seed)] if models else []
    if level is not None:
        tables.append(rows_of_task(task, level, seed, count))
    if not tables:
        raise ValueError("neither a level nor a model says which operands are wanted")
    return one_after_another(tables)


def rounding_bits(seed: int, width: int, start: int, count: int) -> Codes:
    """The random bits of stochastic rounding for rows ``start`` to ``start + count``."""
    return uniform(seed, ROUNDING_STREAM, width, start, count)


def first(rows: Rows, count: int | None) -> Rows:
    """At most ``count`` rows of a table from its beginning, whole periods of them; None: all."""
    if count is None or count >= rows.count:
        return rows
    return Rows(rows.widths, -(-count // rows.period) * rows.period, rows.make, rows.period)


def _check_enumerable(bits: int) -> None:
    if bits > EXHAUSTIVE_BITS:
        raise ValueError(f"operands of {bits} bits together have too many combinations; ask for another level")


def _needed(count: int | None) -> int:
    if count is None:
        raise ValueError("random operands need a count")
    return count
