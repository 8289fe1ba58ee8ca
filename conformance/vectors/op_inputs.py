"""The operands of a set of vectors, by level, seed and models, as a table that is made part by part.

Levels: ``1`` and ``2``, combinations of TestFloat's corners; ``exhaustive``, every combination; ``random``, uniform
bits; ``weighted``, TestFloat's random mixture without its corners; ``hard``, the arguments of an elementary function
whose exact results lie next to a value or a midpoint. Models add the rows that `models` constructs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.comparing.operand_ranges import SCALE, mostly_defined, near_halves, operand_range
from halfulp.conformance.vectors import testfloat_levels
from halfulp.conformance.vectors.intermediate import Dice, ModelCase, model_case_of
from halfulp.conformance.vectors.models.functions import hardest
from halfulp.conformance.vectors.models.model import EACH, Filled, fill
from halfulp.conformance.vectors.models.table import models_for
from halfulp.conformance.vectors.packing import LEVELS, LevelName
from halfulp.conformance.vectors.rows import Rows, exhaustive, of_tuples, one_after_another
from halfulp.conformance.vectors.testfloat_levels import FloatKind, IntegerKind, Level, OperandKind, RangeKind
from halfulp.fp_formats import scalar
from halfulp.fp_formats.formats import LIMB_BITS, Codes, FloatFormat, ints_to_codes, storage_dtype
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, Unsupported
from halfulp.interp.ir.types import element_width
from halfulp.semantics.random_sources import uniform, words

# --- quantised --------------------------------------------------------------------------------------------------------
#
# Operands of casts to and from quantised types: the boundaries between stored integers, for every parameter.
#
# The parameters of a type lie along an axis or in blocks, so an operand's place matters. Rows come in periods, one row
# for each place: row ``i`` belongs to channel ``i % channels``, or in blocks to element ``i % elements`` of the tensor
# in row-major order. `shaped` reshapes such a column for the case.

EVERY_BITS = 8
"""Most bits of stored integers that level 2 takes all; for stored operands, also level 1."""


def quantised_type(case: OpCase) -> ty.UniformQuantizedType | None:
    """Return the quantised type that a case casts to or from, if any."""
    for type_ in (*case.operand_types, *case.result_types):
        if isinstance(type_, ty.UniformQuantizedType):
            return type_
    return None


def places(type_: ty.UniformQuantizedType) -> list[int]:
    """Return for each row of a period the number of the parameter (scale and zero point) that applies to it."""
    if type_.block_sizes is None:
        return list(range(len(type_.scales)))
    sizes = dict(type_.block_sizes)
    parameters = np.arange(len(type_.scales)).reshape(type_.parameter_shape)
    block = tuple(index // sizes.get(axis, 1) for axis, index in enumerate(np.indices(_shape_of_blocks(type_))))
    flat: list[int] = parameters[block].reshape(-1).tolist()
    return flat


def _shape_of_blocks(type_: ty.UniformQuantizedType) -> tuple[int, ...]:
    """Return the shape of the tensor that has each block once."""
    sizes = dict(type_.block_sizes or ())
    return tuple(blocks * sizes.get(axis, 1) for axis, blocks in enumerate(type_.parameter_shape))


def period(case: OpCase) -> int:
    """Return the number of rows after which parameters repeat: 1 unless there is one for each index of an axis, or for
    each block.
    """
    type_ = quantised_type(case)
    return 1 if type_ is None else len(places(type_))


def has_blocks(case: OpCase) -> bool:
    """Tell whether a case has parameters per block, so that its tensors have exactly one period."""
    type_ = quantised_type(case)
    return type_ is not None and type_.block_sizes is not None


def shaped(case: OpCase, column: Codes) -> Codes:
    """Return a column of whole periods in the shape of the case's tensors. With parameters per block this is one
    period, else any number of periods.
    """
    type_ = quantised_type(case)
    limbs = column.shape[1:]
    if type_ is None or (type_.axis is None and type_.block_sizes is None):
        return column
    if type_.block_sizes is not None:
        return column.reshape(_shape_of_blocks(type_) + limbs)
    rows = column.reshape((-1, len(type_.scales), *limbs))
    if not type_.axis:
        return np.ascontiguousarray(np.swapaxes(rows, 0, 1))
    return rows.reshape((1,) * (type_.axis - 1) + rows.shape)


def flat(case: OpCase, tensor: Codes, width: int) -> Codes:
    """Return the column of a tensor of codes of ``width`` bits: the inverse of `shaped`."""
    type_ = quantised_type(case)
    limbs = tensor.shape[-1:] if width > LIMB_BITS else ()
    if type_ is not None and type_.axis == 0:
        tensor = np.ascontiguousarray(np.swapaxes(tensor, 0, 1))
    return tensor.reshape((-1, *limbs))


def corner_rows(case: OpCase, type_: ty.UniformQuantizedType, level: Level, seed: int = 0) -> Rows:
    """Return the corner operands of each parameter in the rows to which it applies. A parameter with fewer corners than
    another repeats them.
    """
    source, width = case.operand_types[0], case.operand_widths[0]
    lists = [_corners(source, type_, parameter, level, seed) for parameter in range(len(type_.scales))]
    return _side_by_side([lists[place] for place in places(type_)], width)


def every_row(case: OpCase, type_: ty.UniformQuantizedType) -> Rows:
    """Return the rows in which each operand meets each parameter of a quantised type."""
    width, period = case.operand_widths[0], len(places(type_))

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        index = np.arange(start, stop, dtype=np.int64) // period
        return (index.astype(storage_dtype(width)),)

    return Rows((width,), (1 << width) * period, make, period)


def uniform_rows(case: OpCase, type_: ty.UniformQuantizedType, count: int, seed: int = 0) -> Rows:
    """Return at least ``count`` uniform operands, in whole periods."""
    width, period = case.operand_widths[0], len(places(type_))
    whole = -(-count // period) * period
    return Rows((width,), whole, lambda start, stop: (uniform(seed, 0, width, start, stop - start),), period)


def _side_by_side(lists: Sequence[Sequence[int]], width: int) -> Rows:
    most, period = max(map(len, lists)), len(lists)
    padded = [[codes[k % len(codes)] for k in range(most)] for codes in lists]
    table = ints_to_codes([codes[k] for k in range(most) for codes in padded], width, (most * period,))
    return Rows((width,), most * period, lambda start, stop: (table[start:stop],), period)


def _corners(source: ty.Type, type_: ty.UniformQuantizedType, parameter: int, level: Level, seed: int) -> list[int]:
    if isinstance(source, ty.FloatType):
        kind = FloatKind(source.format)
        if type_.storage is not None:  # not integers: a table, or floats
            return kind.corners(level, True)
        codes = expressed_corners(source.format, type_, parameter, level, seed)
        return list(dict.fromkeys([*codes, *kind.corners(1, False)]))
    width = type_.storage_width
    if width <= EVERY_BITS or type_.storage is not None:
        return list(range(1 << width))
    mask = (1 << width) - 1
    near = (type_.zero_points[parameter], type_.storage_min, type_.storage_max)
    codes = [number + step & mask for number in near for step in range(-2, 3)]
    return list(dict.fromkeys([*codes, *IntegerKind(width).corners(level, True)]))


def expressed_corners(
    fmt: FloatFormat, type_: ty.UniformQuantizedType, parameter: int, level: Level, seed: int = 0
) -> list[int]:
    """Return codes of real numbers: those that stored integers represent and the midpoints between two of them, each
    with its neighbours, and some numbers in between.
    """
    scale = scalar.value(fmt, scalar.from_fraction(fmt, Fraction(type_.scales[parameter])).code)
    zero = type_.zero_points[parameter]
    if scale is None:
        return []
    dice = Dice(seed, parameter | 1 << 34)
    chosen = {edge + step for edge in (type_.storage_min, type_.storage_max, zero, 0) for step in range(-3, 4)}
    span = type_.storage_max - type_.storage_min
    if level == 2:
        few = span < 1 << EVERY_BITS
        chosen |= {type_.storage_min + (k if few else dice.below(span + 1)) for k in range(min(span + 1, 256))}
    reach = 1 if level == 1 else 2
    codes = []
    for stored in sorted(chosen):
        for number in (Fraction(stored), stored + Fraction(1, 2)):
            middle = scalar.from_fraction(fmt, (number - zero) * scale)
            codes += [neighbour(fmt, middle.code, step) for step in range(-reach, reach + 1)]
        between = stored + Fraction(dice.below(64), 64)
        codes.append(scalar.from_fraction(fmt, (between - zero) * scale).code)
    return list(dict.fromkeys(codes))


def neighbour(fmt: FloatFormat, code: int, steps: int) -> int:
    """Return the value that is so many steps above a finite one. The ends of the range, NaN and infinities stay
    unchanged.
    """
    kind, sign, _, _ = scalar.unpack(fmt, code)
    if kind != scalar.FINITE:
        return code
    position = code & fmt.magnitude_mask
    if fmt.explicit_integer_bit:
        position = code >> fmt.precision << fmt.mantissa_bits & fmt.magnitude_mask | code & fmt.fraction_mask
    moved = (-position if sign else position) + steps
    if moved < 0 and not fmt.signed:
        return code
    magnitude = fmt.from_magnitude(min(abs(moved), fmt.max_magnitude))
    return magnitude | (fmt.sign_mask or 0) * (moved < 0)


# --- inputs -----------------------------------------------------------------------------------------------------------

EXHAUSTIVE_BITS = 40
"""Most bits of all operands together that are enumerated: more would take years."""

CORNER_BITS = 4096
"""Most bits of integers with corners: thousands of patterns of long integers would take minutes."""

ROUNDING_STREAM = 1 << 40
"""The Philox stream of the random bits of stochastic rounding; operands use the first streams."""

REDRAWN_STREAM = 1 << 41
"""The Philox stream that says which rows keep their undefined behaviour."""

HALVES_STREAM = 1 << 42
"""The Philox stream of values in the middle between two results."""

_SHIFTS = ("arith.shli", "arith.shrsi", "arith.shrui")


def kinds_of(types: Sequence[ty.Type], case: OpCase | None = None) -> list[OperandKind]:
    """Return for each operand's type what it contributes to operands. ``case``: the op, since some of its operands have
    special roles.
    """
    kinds: list[OperandKind] = []
    for place, type_ in enumerate(types):
        width = element_width(type_)
        limits = None if case is None else operand_range(case, place)
        if limits is not None and width is not None:
            kinds.append(RangeKind(width, limits))
            continue
        if isinstance(type_, ty.FloatType):
            kinds.append(FloatKind(type_.format))
        elif isinstance(type_, ty.IntegerType | ty.IndexType) and width is not None:
            kinds.append(IntegerKind(width, amount=case is not None and case.op in _SHIFTS and place == 1))
        elif isinstance(type_, ty.FixedType):
            kinds.append(IntegerKind(type_.format.width))
        else:
            raise Unsupported(f"no level has operands of type {type_}")
    return kinds


def rows_of_types(
    types: Sequence[ty.Type],
    level: LevelName = "1",
    seed: int = 0,
    count: int | None = None,
    case: OpCase | None = None,
) -> Rows:
    """Return operands of these types. ``count``: the number of random ones; for other levels, the most rows.

    Raises Unsupported for other types, ValueError for an unknown level, an invalid seed, too many combinations, or
    random operands without a count.
    """
    kinds = kinds_of(types, case)
    widths = [kind.width for kind in kinds]
    if level not in ("exhaustive", "random") and max(widths) > CORNER_BITS:
        raise Unsupported(
            f"level {level} has operands of up to {CORNER_BITS} bits, not of {max(widths)}",
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
            raise ValueError("the level 'hard' is for one elementary function, such as math.exp")
    raise ValueError(f"unknown level {level!r}; choose one of {', '.join(LEVELS)}")


def redrawn_rows(case: OpCase, seed: int, rows: Callable[[int], Rows]) -> Rows:
    """Return rows of an op of TOSA that violate a condition of the specification in a small part only.

    A row with undefined behaviour is drawn again, except for one in sixteen. The rows of other ops stay as they are.
    ``rows``: the rows of a seed.
    """
    first = rows(seed)

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        again = words(seed, REDRAWN_STREAM, start, stop - start) & np.uint64(15) != 0
        return mostly_defined(
            case, first.make(start, stop), again, lambda attempt: rows(seed ^ attempt << 59).make(start, stop)
        )

    return replace(first, make=make) if case.op.startswith("tosa.") else first


def _with_halves(case: OpCase, seed: int, rows: Rows) -> Rows:
    """Return the rows, some of which decide how the op rounds if it scales: see `near_halves`."""

    def make(start: int, stop: int) -> tuple[Codes, ...]:
        return near_halves(case, rows.make(start, stop), words(seed, HALVES_STREAM, start, stop - start))

    return replace(rows, make=make) if case.op in SCALE else rows


def rows_of_case(case: OpCase, level: LevelName = "1", seed: int = 0, count: int | None = None) -> Rows:
    """Return operands of a case, as `rows_of_types`; those of casts of quantised types come in periods: see
    `quantised`.
    """
    if level == "hard":
        return _hard_rows(case, count)
    type_ = quantised_type(case)
    if type_ is None:
        if level in ("exhaustive", "random"):
            return rows_of_types(case.operand_types, level, seed, count)

        def drawn(seed: int) -> Rows:
            return _with_halves(case, seed, rows_of_types(case.operand_types, level, seed, count, case))

        return redrawn_rows(case, seed, drawn)
    match level:
        case "1" | "2":
            return first(corner_rows(case, type_, 1 if level == "1" else 2, seed), count)
        case "exhaustive":
            _check_enumerable(sum(case.operand_widths))
            return first(every_row(case, type_), count)
        case "random" | "weighted":
            return uniform_rows(case, type_, _needed(count), seed)
    raise ValueError(f"unknown level {level!r}; choose one of {', '.join(LEVELS)}")


def _hard_rows(case: OpCase, count: int | None) -> Rows:
    model_case = model_case_of(case)
    if model_case is None or not model_case.function:
        raise Unsupported(f"the level 'hard' is for elementary functions, and {case.op} is not one")
    return of_tuples(hardest(model_case, count), model_case.widths)


def filled_models(
    case: OpCase, names: Sequence[str] | None = None, seed: int = 0, each: int = EACH
) -> tuple[ModelCase, dict[str, Filled]]:
    """Return the operands that each applicable model constructs, ``each`` for every bucket; ``names``: only of these
    models.

    Raises ValueError for an unknown model, Unsupported if none of them applies.
    """
    model_case = model_case_of(case)
    applying = [] if model_case is None else models_for(model_case, names)
    if model_case is None or not applying:
        told = f"none of the models {', '.join(names)} applies" if names else "no model applies"
        raise Unsupported(f"{told} to {case}")
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
        if not choices:
            raise InputError(f"no model applies to {case}")
        raise InputError(f"{missing[0]} does not apply to {case}; those that do are {choices}")
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
    """Return the operands of a set: those of the models first, then those of the level. ``level`` None: only those of
    models.

    Raises what `rows_of_case` and `filled_models` raise, and ValueError if there are neither a level nor models.
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
        raise ValueError("random operands need a count: give n (-n)")
    return count
