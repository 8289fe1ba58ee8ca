"""Find what gives the results of a device: the table of diagnoses, and their trial on sampled rows.

First come rows that slipped, then other encodings, then one other meaning of the rows, then two causes together.
A cause is likely as far as it explains the rows that differ, and is not refuted by rows that are equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property, partial
from itertools import product
from typing import Any

import numpy as np

from halfulp.conformance.comparing.op_case import op_case
from halfulp.conformance.vectors.alternatives import other_ops, other_profiles
from halfulp.conformance.vectors.columns import Chunk, Column, Role, marks_of
from halfulp.conformance.vectors.computation import Computation, Computed, OpComputation, ProgramComputation
from halfulp.conformance.vectors.device import (
    Cause,
    Device,
    Diagnosis,
    Stage,
    accumulators,
    byte_orders,
    changed,
    computing,
    flag_name,
    flag_orders,
    of_flags,
    of_same_width,
    other_formats,
    reading,
    roundings_on_the_way,
    saturations,
    stuck_bits,
    through,
    writing,
)
from halfulp.conformance.vectors.sampling import Sample
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask
from halfulp.fp_formats.policy import Flags
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError
from halfulp.interp.ir.types import width_of
from halfulp.interp.text.parser import parse_type
from halfulp.semantics import floats
from halfulp.semantics.matrix_units.accumulator import Accumulator, spelled
from halfulp.semantics.matrix_units.chips import CHAIN, MODELS
from halfulp.semantics.matrix_units.kinds import TileOp
from halfulp.semantics.matrix_units.models import rule_of

# --- comparison -------------------------------------------------------------------------------------------------------
#
# Compare rows that exist. Poison rows and unspecified bits do not count.


@cache
def type_of(column: Column) -> ty.Type | None:
    """Return the type of a column; None where its spelling is not an MLIR type."""
    try:
        return parse_type(column.type)
    except (HalfulpError, ValueError):
        return None


def format_of(column: Column) -> FloatFormat | None:
    """Return the float format of a column; None for other types."""
    type_ = type_of(column)
    return type_.format if isinstance(type_, ty.FloatType) else None


def differing_columns(
    columns: Sequence[Column], expected: Chunk, actual: Chunk, any_nan: bool = False
) -> dict[int, Mask]:
    """Return by column position the rows in which a column of ``actual`` is wrong; only columns with such rows.

    Both chunks have all the columns. The masks of ``expected`` say what counts: not a poison result, not its
    unspecified bits, and not the flags of a row in which every result is poison. ``any_nan``: any NaN matches a NaN.
    Columns of operands are not compared.
    """
    found: dict[int, Mask] = {}
    marks = _marks_of_results(columns)
    for k, column in enumerate(columns):
        if column.role in (Role.OPERAND, Role.RANDOM):
            continue
        differs = by_row(expected[k] != actual[k])
        if not differs.any():
            continue
        if column.role is Role.RESULT:
            differs = _result_differs(columns, expected, k, marks[k], actual[k], differs, any_nan)
        elif column.role is Role.FLAGS:
            differs = differs & ~all_poison(columns, expected)
        if differs.any():
            found[k] = differs
    return found


def differing(columns: Sequence[Column], expected: Chunk, actual: Chunk, any_nan: bool = False) -> Mask:
    """Return the rows in which any column is wrong: see `differing_columns`."""
    mask: Mask = np.zeros(len(expected[0]), np.bool_)
    for own in differing_columns(columns, expected, actual, any_nan).values():
        mask |= own
    return mask


def _marks_of_results(columns: Sequence[Column]) -> dict[int, list[int]]:
    """Return by the position of each result those of its POISON and OPEN columns."""
    found: dict[int, list[int]] = {k: [] for k, column in enumerate(columns) if column.role is Role.RESULT}
    for place, about in marks_of(columns):
        for k in about:
            found[k].append(place)
    return found


def poison_of(columns: Sequence[Column], chunk: Chunk, result: int) -> Mask:
    """Return the rows in which the result at this position is poison."""
    return _poison(columns, chunk, _marks_of_results(columns)[result])


def _poison(columns: Sequence[Column], chunk: Chunk, marks: Sequence[int]) -> Mask:
    mask: Mask = np.zeros(len(chunk[0]), np.bool_)
    for place in marks:
        if columns[place].role is Role.POISON:
            mask |= chunk[place] != 0
    return mask


def all_poison(columns: Sequence[Column], chunk: Chunk) -> Mask:
    """Return the rows in which every result is poison; no rows in a set without results."""
    marks = _marks_of_results(columns)
    mask: Mask = np.full(len(chunk[0]), bool(marks), np.bool_)
    for own in marks.values():
        mask &= _poison(columns, chunk, own)
    return mask


def by_row(differs: Mask) -> Mask:
    """Return the rows in which any limb is set."""
    return np.asarray(differs.any(axis=1)) if differs.ndim > 1 else differs


def _result_differs(
    columns: Sequence[Column],
    expected: Chunk,
    position: int,
    marks: Sequence[int],
    actual: Codes,
    differs: Mask,
    any_nan: bool,
) -> Mask:
    """Return of the rows with other bits in a result those in which the difference counts."""
    rows = np.flatnonzero(differs)
    wanted, found = expected[position][rows], actual[rows]
    different = wanted ^ found
    counts = ~_poison(columns, expected, marks)[rows]
    for place in marks:
        if columns[place].role is Role.OPEN:
            different = different & ~expected[place][rows]
    counts &= by_row(different != 0)
    fmt = format_of(columns[position])
    if any_nan and fmt is not None and counts.any():
        counts &= ~(floats.is_nan(fmt, wanted) & floats.is_nan(fmt, found))
    mask: Mask = np.zeros(len(differs), np.bool_)
    mask[rows] = counts
    return mask


# --- flag causes ------------------------------------------------------------------------------------------------------
#
# Causes in when a device raises its flags: one in the place of another, wrong tests of underflow and of ranges.

CONFUSED = (
    (Flags.OVERFLOW, Flags.INVALID),
    (Flags.INVALID, Flags.OVERFLOW),
    (Flags.DIVIDE_BY_ZERO, Flags.INVALID),
    (Flags.INVALID, Flags.DIVIDE_BY_ZERO),
    (Flags.UNDERFLOW, Flags.OVERFLOW),
    (Flags.OVERFLOW, Flags.UNDERFLOW),
)
"""Flags, and others that a device may raise in their place."""


def other_flags(computation: Computation) -> Iterator[Cause]:
    """Yield a flag that is raised in the place of another, and underflow that is told by the rounded result."""
    roles = [column.role for column in computation.outputs]
    if Role.FLAGS not in roles:
        return
    for flag, other in CONFUSED:
        yield writing(f"the flag {flag_name(other)} in place of {flag_name(flag)}", partial(_confused, flag, other))
    if roles.count(Role.RESULT) == 1 and any(map(_keeps_subnormals, computation.outputs)):
        yield writing("underflow raised only where the rounded result is subnormal or zero", _underflow_by_result)


def _confused(flag: Flags, other: Flags, columns: Sequence[Column], outputs: Chunk) -> Chunk:
    def moved(codes: Codes, width: int) -> Codes:
        return np.where(codes & flag != 0, codes & np.uint8(0x1F ^ flag) | np.uint8(other), codes)

    return changed(of_flags, moved, columns, outputs)


def _keeps_subnormals(column: Column) -> bool:
    fmt = FORMATS.get(column.type)
    return column.role is Role.RESULT and fmt is not None and fmt.zero and fmt.bits <= 64 and fmt.mantissa_bits > 0


def _underflow_by_result(columns: Sequence[Column], outputs: Chunk) -> Chunk:
    place = next(k for k, column in enumerate(columns) if column.role is Role.RESULT)
    fmt, codes = FORMATS[columns[place].type], outputs[place]
    exponents = ((1 << fmt.bits) - 1) & ~(fmt.sign_mask or 0) & -(1 << fmt.mantissa_bits)
    small = codes & codes.dtype.type(exponents) == 0

    def told(flags: Codes, width: int) -> Codes:
        raised = small & (flags & Flags.INEXACT != 0)
        return flags & np.uint8(0x1F ^ Flags.UNDERFLOW) | np.where(raised, np.uint8(Flags.UNDERFLOW), np.uint8(0))

    return changed(of_flags, told, columns, outputs)


# --- the range of an integer ------------------------------------------------------------------------------------------

_TO_INTEGER = {
    "arith.fptosi": "fcvt_to_si",
    "arith.fptoui": "fcvt_to_ui",
    "fcvt_to_si": "fcvt_to_si",
    "fcvt_to_ui": "fcvt_to_ui",
}


def integer_ranges(computation: Computation) -> Iterator[Cause]:
    """Yield conversions to integers that compare the operand with the range before they round it, or that lose the bit
    into which the rounding of a negative operand carries.
    """
    if not isinstance(computation, OpComputation) or computation.case.op not in _TO_INTEGER:
        return
    width = width_of(computation.case.result_types[0])
    yield through("the lower bound compared before rounding", partial(_before_rounding, False))
    yield through("both bounds compared before rounding", partial(_before_rounding, True))
    if _TO_INTEGER[computation.case.op] == "fcvt_to_ui" and width < 62:
        yield through(f"numbers that round to -2^{width} taken as 0", _carry_lost)


def _before_rounding(both: bool, computation: Computation, inputs: Chunk) -> Computed | None:
    """Rounded away from zero, an operand is outside of the range if and only if it is so before rounding."""
    if not isinstance(computation, OpComputation):
        return None
    own, negative = computation.compute(inputs), _negative(computation, inputs[0])
    for mode, where in (("downward", negative), ("upward", ~negative)):
        if both or mode == "downward":
            outward = _rounded(computation, mode).compute(inputs)
            own = _chosen(where & _raises(computation, outward, Flags.INVALID), outward, own)
    return own


def _carry_lost(computation: Computation, inputs: Chunk) -> Computed | None:
    if not isinstance(computation, OpComputation):
        return None
    own, width = computation.compute(inputs), width_of(computation.case.result_types[0])
    mode = dict(computation.case.properties).get("rounding", computation.profile.to_integer_rounding)
    rounded, cut = (_wider(computation, f"i{width + 2}", mode, inputs) for mode in (mode, "toward_zero"))
    carried = (rounded == 3 << width) & (cut == (3 << width) + 1)  # -2^width, and one more
    zero = Computed(
        tuple(
            np.full_like(codes, Flags.INEXACT if column.role is Role.FLAGS else 0)
            for column, codes in zip(computation.outputs, own.outputs, strict=True)
        )
    )
    return _chosen(carried, zero, own)


def _wider(computation: OpComputation, type_: str, mode: str, inputs: Chunk) -> Codes:
    """Return the operands as signed integers of another type."""
    case = op_case("fcvt_to_si", computation.case.operands, type_, rounding=mode)
    return replace(computation, case=case).compute(inputs).outputs[0]


def _rounded(computation: OpComputation, mode: str) -> OpComputation:
    case = computation.case
    return replace(computation, case=op_case(_TO_INTEGER[case.op], case.operands, case.results[0], rounding=mode))


def _negative(computation: OpComputation, codes: Codes) -> Mask:
    fmt = FORMATS[computation.case.operands[0]]
    return np.asarray(codes & codes.dtype.type(fmt.sign_mask or 0) != 0)


def _raises(computation: OpComputation, made: Computed, flag: Flags) -> Mask:
    flags = (
        codes for column, codes in zip(computation.outputs, made.outputs, strict=True) if column.role is Role.FLAGS
    )
    return next((codes & flag != 0 for codes in flags), np.zeros(len(made.outputs[0]), np.bool_))


def _chosen(where: Mask, one: Computed, other: Computed) -> Computed:
    pairs = zip(one.outputs, other.outputs, strict=True)
    return Computed(tuple(np.where(where, first, second) for first, second in pairs), other.undefined)


# --- tile causes ------------------------------------------------------------------------------------------------------
#
# Causes in how a unit adds the products of a tile: another field of its accumulator, or another model.

FEW_PRODUCTS = 32
"""Tiles of so many products are fast enough to try pairs of fields."""

SCALE = "f8E8M0FNU"

NEAR = 8
"""Numbers of bits are tried up to so far from those of the accumulator."""


def other_models(computation: Computation) -> Iterator[Cause]:
    """Yield the other models that compute the operation, or the tile operations of a program."""
    match computation:
        case TileComputation():
            own, models = computation.model, tuple(computation.models())
        case ProgramComputation() if computation.tiled:
            own, models = computation.mma, MODELS
        case _:
            return
    for model in models:
        if model != own:
            yield computing(f"--mma={model}", partial(_by, model), slow=True)


def _by(model: str, computation: Computation) -> Computation | None:
    match computation:
        case TileComputation():
            return replace(computation, model=model)
        case ProgramComputation():
            return replace(computation, mma=model)
    return None


def other_accumulators(computation: Computation) -> Iterator[Cause]:
    """Yield each other value of each field of the accumulator; of numbers, those nearby."""
    if not isinstance(computation, TileComputation):
        return
    rule = _rule(computation)
    for field in fields(Accumulator):
        own = getattr(rule, field.name)
        for value in dict.fromkeys(_values(field.name, field.metadata["choices"], rule, computation.operation)):
            if value != own:
                name = f"an accumulator with {field.name}={spelled(value)}"
                yield computing(name, partial(_with, field.name, value), slow=computation.products > FEW_PRODUCTS)


def other_elements(computation: Computation) -> Iterator[Cause]:
    """Yield other formats of the elements of A and B, of the same width, and scales of another bias."""
    if not isinstance(computation, TileComputation):
        return
    op = computation.operation
    slow = computation.products > FEW_PRODUCTS
    for type_ in dict.fromkeys((op.a, op.b)):
        for other in of_same_width(type_):
            yield computing(f"{other} in place of {type_}", partial(_retyped, type_, other), slow)
    if op.scale == SCALE:
        bias = FORMATS[SCALE].bias
        for way in (1, -1):
            name = f"scales with the bias {bias + way} in place of {bias}"
            yield reading(name, Stage.COMPUTATION, partial(_moved_scales, computation, way))


def _retyped(type_: str, other: str, computation: Computation) -> Computation | None:
    if not isinstance(computation, TileComputation):
        return None
    op = computation.operation
    a, b = (other if own == type_ else own for own in (op.a, op.b))
    return replace(computation, operation=replace(op, a=a, b=b))


def _moved_scales(computation: TileComputation, way: int, inputs: Chunk) -> Chunk:
    """Return inputs whose scales are 2**way times smaller, but for NaNs and for those at the end of the range."""
    scales = sum(math.prod(shape) for name, _, shape in computation.operands if name.startswith("scale"))
    most = FORMATS[SCALE].max_code

    def moved(codes: Codes) -> Codes:
        return np.where(codes > most, codes, np.clip(codes.astype(np.int64) - way, 0, most)).astype(codes.dtype)

    first = len(inputs) - scales
    return inputs[:first] + tuple(map(moved, inputs[first:]))


def elements(computation: TileComputation, sample: Sample, most: int) -> tuple[TileComputation, Sample]:
    """Return single elements of the tiles of a sample, which do not depend on each other, by the rule of the model.

    Up to ``most`` differ, and as many are equal, each kind spread over the sample.
    """
    expected, actual = (np.stack(codes, axis=1) for codes in (sample.expected, sample.actual))
    counts = (sample.differs | sample.control)[:, np.newaxis]
    found = [np.flatnonzero(mask & counts) for mask in (expected != actual, expected == actual)]
    chosen = [places[np.linspace(0, len(places) - 1, min(len(places), most)).astype(np.intp)] for places in found]
    rows, outputs = np.divmod(np.concatenate(chosen), expected.shape[1])
    one, inputs = computation.elements(sample.inputs, rows, outputs, _rule(computation).text)
    differs = np.arange(len(rows)) < len(chosen[0])
    nothing = np.zeros((len(rows), 0), np.bool_)
    results = (expected[rows, outputs],), (actual[rows, outputs],)
    return one, Sample(inputs, *results, np.arange(len(rows)), differs, ~differs, (expected[rows, :0],), nothing)


def _rule(computation: TileComputation) -> Accumulator:
    """Return the rule of a computation's model, or the one that gives the sums of a model without a rule."""
    usual = CHAIN if computation.model == "ieee" else Accumulator()
    return rule_of(computation.model, computation.operation) or usual


def _with(field: str, value: Any, computation: Computation) -> Computation | None:
    if not isinstance(computation, TileComputation):
        return None
    return replace(computation, model=replace(_rule(computation), **{field: value}).text)


def _values(field: str, choices: Sequence[str], rule: Accumulator, op: TileOp) -> Iterator[Any]:
    """Yield the values of a field that a device may have; some do not go with the other fields."""
    if choices:
        yield from choices
        return
    fmt = FORMATS.get(op.d)
    match field:
        case "flush" | "product_overflow":
            yield from (False, True)
        case "group":
            k = op.shape[2]
            yield from (size if size < k else 0 for size in (1 << power for power in range(k.bit_length() + 1)))
        case "width" if fmt is None:
            yield from (None, *range(int(op.d[1:]) - 1, NEAR - 1, -1))
        case "bits" if fmt is not None:
            yield from (None, *_near(fmt.mantissa_bits if rule.bits is None else rule.bits))
        case "fraction" if fmt is not None:
            yield from (None, *_near(fmt.mantissa_bits if rule.fraction is None else rule.fraction))
        case "guard":
            yield from (0, *_near(rule.guard))
        case "shifter" | "c_shifter" if rule.bits is not None:
            given = getattr(rule, field)
            yield from (None, *_near(rule.bits if given is None else given))
        case "zero_exponent" if fmt is not None:
            yield from (None, 1 - fmt.bias)


def _near(number: int) -> Iterator[int]:
    """Yield the number and its neighbours, the nearest first and the lower one of two first."""
    yield number
    for step in range(1, NEAR + 1):
        yield from (other for other in (number - step, number + step) if other >= 0)


# --- diagnosis --------------------------------------------------------------------------------------------------------

DIAGNOSES: tuple[Diagnosis, ...] = (
    Diagnosis("the order of the bytes or bits in a word", byte_orders),
    Diagnosis("the order of the flags", flag_orders),
    Diagnosis("a bit or a flag that never changes", stuck_bits),
    Diagnosis("codes of another format of the same width", other_formats),
    Diagnosis("another rounding mode, predicate or op, or swapped operands", other_ops),
    Diagnosis("another field of the profile", other_profiles),
    Diagnosis("a flag in the place of another, or underflow told by the rounded result", other_flags),
    Diagnosis("the range of an integer compared before rounding, or without the carry of rounding", integer_ranges),
    Diagnosis("saturation where integers overflow", saturations),
    Diagnosis("rounding twice", roundings_on_the_way),
    Diagnosis("an accumulator of fewer bits", accumulators),
    Diagnosis("other elements of a tile operation, or scales of another bias", other_elements),
    Diagnosis("another model of a tile operation", other_models),
    Diagnosis("another field of the accumulator of a tile operation", other_accumulators),
)
"""Everything that is tried beside rows that slipped; of what fits alike, the first is named first."""

TRIAL = 128
"""Rows that differ, and as many equal ones, on which what is slow is tried first."""

LEADING = 12
"""Causes of which each is tried together with every other."""

FINALISTS = 8
"""Pairs that are tried on all rows."""

NOTHING = 1.0
"""The score of no explanation."""


@dataclass(frozen=True)
class Explanation:
    """What gives results of the device. ``gives``: the rows of the sample in which it gives results and flags alike.

    ``rank``: of what fits alike, the lowest is named first: the stage (pairs come behind), and whether it is about
    results and flags, about results or about flags. ``causes``: those of which it consists; none for rows that slipped.
    """

    name: str
    rank: tuple[int, int]
    gives: Mask
    causes: tuple[Cause, ...] = ()

    def score(self, sample: Sample) -> float:
        """Return the share of the rows that differ which is not explained, and that of the controls which is refuted,
        added: 0 is perfect, and 1 is as good as no explanation.
        """
        differ, equal = sample.differs, sample.control
        return _share(differ & ~self.gives, differ) + _share(equal & ~self.gives, equal)


PAIR = max(Stage) + 1
"""The stage of two causes together."""


def _share(found: Mask, of: Mask) -> float:
    return int(found.sum()) / max(int(of.sum()), 1)


_FORMS: tuple[tuple[str, Role | None], ...] = (
    ("", None),
    (" with the expected flags", Role.FLAGS),
    (" in the flags alone", Role.RESULT),
)
"""How much of what a device gives counts: the words for it, and the columns that are as expected."""


@dataclass(frozen=True)
class Examination:
    """A sample of rows, and what is compared in them. ``compared``: the output columns that are compared. ``pairs``:
    whether the computation is fast enough to try pairs of causes.
    """

    computation: Computation
    sample: Sample
    compared: Sequence[bool]
    any_nan: bool
    pairs: bool = True

    def explanations(self) -> list[Explanation]:
        """Return what gives at least one row that differs, the likeliest first."""
        found = [*self._slips(), *self._singles()]
        best = min(found, key=lambda one: one.score(self.sample), default=None)
        if self.pairs and isinstance(self.computation, TileComputation) and self.computation.products > FEW_PRODUCTS:
            # No single cause may give a whole tile.
            if best is None or best.score(self.sample) > 0:
                found += self._pairs_of_elements(self.computation, best)
        elif self.pairs and best is not None and best.score(self.sample) > 0:
            found += self._pairs(found, best)
        # Python's sort keeps the order of the table where scores and ranks are the same.
        return sorted(found, key=lambda one: (round(one.score(self.sample), 9), one.rank))

    @cached_property
    def _columns(self) -> tuple[Column, ...]:
        return self.computation.outputs

    @cached_property
    def _causes(self) -> list[tuple[Cause, Device]]:
        """The causes in the order of the table, each with the device that has it alone."""
        found = (
            (cause, cause.change(Device(self.computation)))
            for row in DIAGNOSES
            for cause in row.causes(self.computation)
        )
        return [(cause, device) for cause, device in found if device is not None]

    def _trial(self, foremost: Mask) -> Sample:
        """Return some rows of the sample, spread over it; of the rows in ``foremost``, more than of others. Return all
        of it where rows come in groups.
        """
        sample = self.sample
        if len(sample.numbers) <= 2 * TRIAL or not self.pairs:
            return sample
        chosen = [
            rows[np.linspace(0, len(rows) - 1, min(len(rows), TRIAL // 2)).astype(np.intp)]
            for kind in (sample.differs, sample.control)
            for rows in (np.flatnonzero(kind & foremost), np.flatnonzero(kind & ~foremost))
            if len(rows)
        ]
        return sample.part(np.unique(np.concatenate(chosen)))

    def _matches(self, given: Chunk, sample: Sample) -> Mask:
        only = tuple(
            own if counts else right for own, right, counts in zip(given, sample.expected, self.compared, strict=True)
        )
        return ~self._differs(only, sample.actual, sample)

    def _differs(self, given: Chunk, actual: Chunk, sample: Sample) -> Mask:
        """Compare with the marks of the expected rows, which tell what counts."""
        return differing(self._columns, self._as_expected(given, sample, Role.POISON, Role.OPEN), actual, self.any_nan)

    def _as_expected(self, given: Chunk, sample: Sample, *roles: Role | None) -> Chunk:
        return tuple(
            right if column.role in roles else own
            for column, own, right in zip(self._columns, given, sample.expected, strict=True)
        )

    def _slips(self) -> Iterator[Explanation]:
        """Yield results that are those of another row: everywhere, or from the first row that differs on."""
        sample = self.sample
        wrong = sample.numbers[sample.differs]
        first, span = int(wrong.min()), int(np.ptp(wrong))
        here = self._matches(sample.expected, sample)
        for shift, given, known in sample.shifted():
            there = self._matches(given, sample) | ~known
            if not (there & known & sample.differs).any():
                continue
            count = f"{abs(shift)} row{'s'[: abs(shift) > 1]}"
            way, reason = ("late", f"{count} too many") if shift < 0 else ("early", f"{count} missing")
            yield Explanation(f"results {count} {way}", (Stage.ALIGNMENT, 0), there)
            later = np.where(sample.numbers >= first, there, here)
            name = f"results {count} {way} from row {first} on ({reason})"
            # Rows in which no result changes any more say nothing for a slip, and nothing against it.
            yield Explanation(name, (Stage.ALIGNMENT if span >= abs(shift) else PAIR, 1), later)

    def _singles(self) -> Iterator[Explanation]:
        trial = self._trial(self.sample.differs)
        for cause, device in self._causes:
            tried = cause.slow and trial is not self.sample
            if tried and not any(True for _ in self._explained(cause.name, (cause,), device, trial)):
                continue
            yield from self._explained(cause.name, (cause,), device, self.sample)

    def _explained(self, name: str, causes: tuple[Cause, ...], device: Device, sample: Sample) -> Iterator[Explanation]:
        """Yield a device in the forms of `_FORMS` that differ and give a row that differs."""
        made = device.outputs(self._columns, sample.inputs, sample.expected)
        if made is not None:
            yield from self._in_forms(name, causes, made, sample)

    def _in_forms(
        self, name: str, causes: tuple[Cause, ...], made: tuple[Chunk, Mask], sample: Sample
    ) -> Iterator[Explanation]:
        given, counts = made
        changed = {
            column.role
            for column, own, right in zip(self._columns, given, sample.expected, strict=True)
            if not np.array_equal(own, right)
        }
        stage = causes[0].stage if len(causes) == 1 else PAIR
        for form, (told, role) in enumerate(_FORMS):
            if role is not None and not {Role.RESULT, Role.FLAGS} <= changed:
                continue
            gives = self._matches(self._as_expected(given, sample, role), sample) & counts
            if (gives & sample.differs).any():
                yield Explanation(name + told, (stage, form), gives, causes)

    def _pairs(self, singles: Sequence[Explanation], best: Explanation) -> list[Explanation]:
        """Return pairs of causes that are likelier than the best cause by itself."""
        # What the best cause does not tell decides between the pairs that hold it.
        trial, bound = self._trial(~best.gives), best.score(self.sample)
        place = {cause: k for k, (cause, _) in enumerate(self._causes)}
        own = sorted(
            (one for one in singles if one.causes), key=lambda one: -int((one.gives & self.sample.differs).sum())
        )
        leading = list(dict.fromkeys(one.causes[0] for one in own))[:LEADING]
        acting = list(self._acting(trial))
        computed: dict[tuple[object, ...], tuple[Chunk, Mask] | None] = {}
        found: dict[tuple[Cause, ...], float] = {}
        for causes in dict.fromkeys(
            tuple(sorted(pair, key=lambda cause: (-cause.stage, place[cause])))
            for pair in product(leading, acting)
            if pair[0] is not pair[1]
        ):
            device = self._together(causes)
            if device is None:
                continue
            key = device.computation, device.datapath, device.reads
            if key not in computed:
                computed[key] = device.computed(self._columns, trial.inputs, trial.expected)
            made = computed[key]
            if made is None:
                continue
            written = device.written(self._columns, made[0]), made[1]
            scores = [one.score(trial) for one in self._in_forms("", causes, written, trial)]
            if scores:
                found[causes] = min(scores)
        likely: list[Explanation] = []
        for causes in sorted(found, key=lambda causes: found[causes])[:FINALISTS]:
            device = self._together(causes)
            if device is not None:
                name = " and ".join(cause.name for cause in causes)
                likely += self._explained(name, causes, device, self.sample)
        return [one for one in likely if one.score(self.sample) < bound]

    def _pairs_of_elements(self, tiles: TileComputation, best: Explanation | None) -> list[Explanation]:
        """Return the same for tiles of many products. Pairs are sought on single elements, and tried on all rows."""
        bound = NOTHING if best is None else best.score(self.sample)
        if len(tiles.outputs) == 1 or not all(self.compared):
            return []
        examination = Examination(*elements(tiles, self.sample, TRIAL), (True,), self.any_nan)
        own = {cause.name: cause for cause, _ in self._causes}
        found = [one for one in examination.explanations() if len(one.causes) > 1][:FINALISTS]
        likely: list[Explanation] = []
        for one in found:
            causes = tuple(own[cause.name] for cause in one.causes if cause.name in own)
            device = self._together(causes)
            if device is not None and len(causes) == len(one.causes):
                likely += self._explained(one.name, causes, device, self.sample)
        return [one for one in likely if one.score(self.sample) < bound]

    def _acting(self, trial: Sample) -> Iterator[Cause]:
        """Yield the causes that change an output of a row of the trial, without slow ones."""
        for cause, device in self._causes:
            if cause.slow:
                continue
            made = device.outputs(self._columns, trial.inputs, trial.expected)
            if made is not None and self._differs(made[0], trial.expected, trial).any():
                yield cause

    def _together(self, causes: Sequence[Cause]) -> Device | None:
        device: Device | None = Device(self.computation)
        for cause in causes:
            device = None if device is None else cause.change(device)
        return device
