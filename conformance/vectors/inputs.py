"""The operands of a set of vectors, by level, seed and models, as a table that is made part by part.

Levels: ``1`` and ``2``, combinations of TestFloat's corners; ``exhaustive``, every combination; ``random``, uniform
bits; ``weighted``, TestFloat's random mixture without its corners; ``hard``, the arguments of an elementary function
whose exact results lie next to a value or a midpoint. Models add the rows that `models` constructs.
"""

from __future__ import annotations

from collections.abc import Sequence

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.vectors import quantised, testfloat_levels
from halfulp.conformance.vectors.intermediate import ModelCase, model_case_of
from halfulp.conformance.vectors.models.functions import hardest
from halfulp.conformance.vectors.models.model import EACH, Filled, fill
from halfulp.conformance.vectors.models.table import models_for
from halfulp.conformance.vectors.names import LEVELS, LevelName
from halfulp.conformance.vectors.philox import uniform
from halfulp.conformance.vectors.rows import Rows, exhaustive, of_tuples, one_after_another
from halfulp.conformance.vectors.testfloat_levels import FloatKind, IntegerKind, OperandKind
from halfulp.fp_formats.codes import Codes
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.ir.types import element_width

EXHAUSTIVE_BITS = 40
"""Most bits of all operands together that are enumerated: more would take years."""

CORNER_BITS = 4096
"""Most bits of integers with corners: thousands of patterns of long integers would take minutes."""

ROUNDING_STREAM = 1 << 40
"""The Philox stream of the random bits of stochastic rounding; operands use the first streams."""

_SHIFTS = ("arith.shli", "arith.shrsi", "arith.shrui")


def kinds_of(types: Sequence[ty.Type], op: str = "") -> list[OperandKind]:
    """Return the contribution of each operand's type. ``op``: its name, for operands of a special role.

    Raises Unsupported for a type that is neither float nor integer.
    """
    kinds: list[OperandKind] = []
    for place, type_ in enumerate(types):
        width = element_width(type_)
        if isinstance(type_, ty.FloatType):
            kinds.append(FloatKind(type_.format))
        elif isinstance(type_, ty.IntegerType | ty.IndexType) and width is not None:
            kinds.append(IntegerKind(width, amount=op in _SHIFTS and place == 1))
        else:
            raise Unsupported(f"there are no corners for operands of type {type_}")
    return kinds


def rows_of_types(
    types: Sequence[ty.Type], level: LevelName = "1", seed: int = 0, count: int | None = None, op: str = ""
) -> Rows:
    """Return operands of these types. ``count``: the number of random ones; for other levels, the most rows.

    Raises Unsupported for other types, ValueError for an unknown level, an invalid seed, too many combinations, or
    random operands without a count.
    """
    kinds = kinds_of(types, op)
    widths = [kind.width for kind in kinds]
    if level not in ("exhaustive", "random") and max(widths) > CORNER_BITS:
        raise Unsupported(
            f"there are no corners for operands of {max(widths)} bits, only up to {CORNER_BITS}",
            hint="--level=random takes any width",
        )
    match level:
        case "1" | "2":
            return first(testfloat_levels.corner_rows(kinds, 1 if level == "1" else 2, seed), count)
        case "exhaustive":
            _check_enumerable(sum(widths))
            return first(exhaustive(widths), count)
        case "random":
            return testfloat_levels.uniform_rows(widths, _needed(count), seed)
        case "weighted":
            return testfloat_levels.weighted_rows(kinds, _needed(count), seed)
        case "hard":
            raise ValueError("the level 'hard' is about one elementary function, such as math.exp")
    raise ValueError(f"unknown level {level!r}; choose one of {', '.join(LEVELS)}")


def rows_of_case(case: OpCase, level: LevelName = "1", seed: int = 0, count: int | None = None) -> Rows:
    """Return operands of a case, as `rows_of_types`; those of casts of quantised types come in periods: see
    `quantised`.
    """
    if level == "hard":
        return _hard_rows(case, count)
    type_ = quantised.quantised_type(case)
    if type_ is None:
        return rows_of_types(case.operand_types, level, seed, count, case.op)
    match level:
        case "1" | "2":
            return first(quantised.corner_rows(case, type_, 1 if level == "1" else 2, seed), count)
        case "exhaustive":
            _check_enumerable(sum(case.operand_widths))
            return first(quantised.every_row(case, type_), count)
        case "random" | "weighted":
            return quantised.uniform_rows(case, type_, _needed(count), seed)
    raise ValueError(f"unknown level {level!r}; choose one of {', '.join(LEVELS)}")


def _hard_rows(case: OpCase, count: int | None) -> Rows:
    model_case = model_case_of(case)
    if model_case is None or not model_case.function:
        raise Unsupported(f"the level 'hard' is about elementary functions, and {case.op} is not one")
    return of_tuples(hardest(model_case, count), model_case.widths)


def filled_models(
    case: OpCase, names: Sequence[str] | None = None, seed: int = 0, each: int = EACH
) -> tuple[ModelCase, dict[str, Filled]]:
    """Return the operands that each applicable model constructs, ``each`` for every bucket; ``names``: of these models
    only.

    Raises ValueError for an unknown model, Unsupported where none of them applies.
    """
    model_case = model_case_of(case)
    applying = [] if model_case is None else models_for(model_case, names)
    if model_case is None or not applying:
        raise Unsupported(f"none of the models {', '.join(names or ())} applies to {case}")
    return model_case, {model.name: fill(model, model_case, seed, each) for model in applying}


def chosen_models(case: OpCase, names: Sequence[str]) -> tuple[str, ...]:
    """Return models by name, each once; ``all`` alone: every model that applies to the case.

    Raises InputError for an unknown model, one that does not apply, or none at all.
    """
    model_case, wanted = model_case_of(case), None if list(names) == ["all"] else tuple(dict.fromkeys(names))

    def applying(among: Sequence[str] | None) -> tuple[str, ...]:
        return () if model_case is None else tuple(model.name for model in models_for(model_case, among))

    try:
        found = applying(wanted)
    except ValueError as error:
        raise InputError(str(error)) from None
    missing = [name for name in wanted or () if name not in found]
    if missing or not found:
        # To know which models apply can take seconds: it is only asked for the message.
        choices = ", ".join(applying(None))
        told = f"those that do are {choices}" if choices else "no model does"
        raise InputError(f"{missing[0] if missing else 'none'} does not apply to {case}; {told}")
    return found if wanted is None else wanted


def rows_of_models(case: OpCase, names: Sequence[str] | None = None, seed: int = 0, each: int = EACH) -> Rows:
    """Return the operands of the models that apply to a case, one model after another, each row once."""
    model_case, filled = filled_models(case, names, seed, each)
    rows = dict.fromkeys(row for made in filled.values() for row in made.rows)
    return of_tuples(list(rows), model_case.widths)


def rows_for(
    case: OpCase,
    level: LevelName | None = "1",
    seed: int = 0,
    count: int | None = None,
    models: Sequence[str] = (),
) -> Rows:
    """Return the operands of a set: those of the models first, then those of the level. ``level`` None: of models
    alone.

    Raises as `rows_of_case` and `filled_models`; ValueError for neither a level nor models.
    """
    tables = [rows_of_models(case, models, seed)] if models else []
    if level is not None:
        tables.append(rows_of_case(case, level, seed, count))
    if not tables:
        raise ValueError("no operands are chosen: name a level or a model")
    return one_after_another(tables)


def rounding_bits(seed: int, width: int, start: int, count: int) -> Codes:
    """Return the random bits of stochastic rounding for rows ``start`` to ``start + count``."""
    return uniform(seed, ROUNDING_STREAM, width, start, count)


def first(rows: Rows, count: int | None) -> Rows:
    """Return the first ``count`` rows of a table, in whole periods; None: all of them."""
    if count is None or count >= rows.count:
        return rows
    return Rows(rows.widths, -(-count // rows.period) * rows.period, rows.make, rows.period)


def _check_enumerable(bits: int) -> None:
    if bits > EXHAUSTIVE_BITS:
        raise ValueError(f"operands of {bits} bits together have too many combinations; choose another level")


def _needed(count: int | None) -> int:
    if count is None:
        raise ValueError("random operands need a count")
    return count
