"""The check of rows that a device or another program computed: which rows differ, and which other semantics would give
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from halfulp.conformance.comparing.op_case import OpCase
from halfulp.conformance.vectors import op_inputs
from halfulp.conformance.vectors.columns import (
    FLAG_BITS,
    Chunk,
    Column,
    Role,
    TreeDigest,
    by_row,
    ignoring,
    rechunked,
    results_of,
    type_of,
)
from halfulp.conformance.vectors.comparison import all_poison, differing_columns, poison_of
from halfulp.conformance.vectors.computation import Computation, Computed, OpComputation, ProgramComputation
from halfulp.conformance.vectors.described import describe
from halfulp.conformance.vectors.device import Stage, flag_name
from halfulp.conformance.vectors.fixed_causes import exact_in_fixed_point
from halfulp.conformance.vectors.formats.format import Notes
from halfulp.conformance.vectors.intermediate import FixedCase, exact, fixed_formats, model_case_of, operand
from halfulp.conformance.vectors.sampling import CONTROLS, SHIFTS, Sampler
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.fp_formats.formats import LIMB_BITS, Codes, FloatFormat, Mask, codes_to_ints, ints_to_codes
from halfulp.fp_formats.neighbours import ranks, steps_between
from halfulp.fp_formats.policy import Flags
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import HalfulpError, InputError
from halfulp.interp.run.evaluators import Elementwise
from halfulp.semantics import floats
from halfulp.semantics.kernel import Fault, FaultKind

# --- one row ----------------------------------------------------------------------------------------------------------
#
# Compute one row at a time, as a test bench asks for it: on Python integers, not on arrays of one element.


class OneRow(NamedTuple):
    """The codes of the output columns of one row. ``undefined``: the row has undefined behaviour."""

    outputs: tuple[int, ...]
    undefined: bool = False


OneRowFunction = Callable[[Sequence[int]], OneRow]
"""A function of the codes of the input columns of one row."""


def one_row_function(computation: Computation) -> OneRowFunction:
    """Return a function that computes one row, with the results of `Computation.compute`. If a result is poison, its
    code has no meaning.
    """
    quick = _scalar_function(computation) if isinstance(computation, OpComputation) else None
    return quick or (lambda codes: _of_arrays(computation, codes))


def _of_arrays(computation: Computation, codes: Sequence[int]) -> OneRow:
    inputs = tuple(
        ints_to_codes([code], column.width, (1,)) for code, column in zip(codes, computation.inputs, strict=True)
    )
    made = computation.compute(inputs)
    outputs = tuple(
        codes_to_ints(array, column.width)[0] for array, column in zip(made.outputs, computation.outputs, strict=True)
    )
    return OneRow(outputs, made.undefined is not None and bool(made.undefined[0]))


def _scalar_function(computation: OpComputation) -> OneRowFunction | None:
    """Return the function that uses the scalar implementation of the op's kernel; None if an output needs arrays."""
    case, columns = computation.case, computation.outputs
    if computation.random_bits is not None or op_inputs.period(case) > 1 or op_inputs.has_blocks(case):
        return None
    if not isinstance(case.evaluator, Elementwise) or any(column.role is Role.OPEN for column in columns):
        return None
    kernel = case.kernel((1,), computation.profile)
    has_flags = any(column.role is Role.FLAGS for column in columns)
    if has_flags and kernel.flagged is None:
        return None
    implementation = kernel.flagged if has_flags else None
    results = sum(column.role is Role.RESULT for column in columns)
    others = [column.role for column in columns[results:]]
    scalar = kernel.scalar

    def function(codes: Sequence[int]) -> OneRow:
        made, raised = (scalar(*codes), 0) if implementation is None else implementation(*codes)
        undefined = isinstance(made, Fault) and made.kind is FaultKind.UNDEFINED
        poison = isinstance(made, Fault) and (not undefined or computation.keep_ub)
        found = (0,) * results if isinstance(made, Fault) else made if isinstance(made, tuple) else (made,)
        if not others:
            return OneRow(found, undefined)
        marks = (raised if role is Role.FLAGS else int(poison) for role in others)
        return OneRow((*found, *marks), undefined)

    return function


# --- remarks ----------------------------------------------------------------------------------------------------------
#
# Describe how a wrong result looks beside the right one, in a few words that can be counted.

UNKNOWN = "unknown digits"
"""The remark on a word with an X or Z."""

_EXACT = frozenset({"add", "subtract", "multiply", "remainder", "convert", "from integer", "to integer"})


def exact_result(asked: OpCase, operands: tuple[int, ...]) -> Fraction | None:
    """Return the exact result of an op before rounding; None if it is not a number or the op does not round."""
    model_case = model_case_of(asked)
    if model_case is None or isinstance(model_case, FixedCase):
        return exact_in_fixed_point(asked, operands)
    if model_case.kind == "divide":
        pair = [operand(source, code) for source, code in zip(model_case.sources, operands, strict=True)]
        numbers = [None if x is None else _number(x.sign, x.significand, x.exponent) for x in pair]
        x, y = numbers
        return None if x is None or not y else x / y
    found = exact(model_case, operands) if model_case.kind in _EXACT else None
    return None if found is None else _number(found.sign, found.significand, found.exponent)


def _number(sign: int, significand: int, exponent: int) -> Fraction:
    return (-significand if sign else significand) * Fraction(2) ** exponent


def signed_result(computation: Computation) -> bool | None:
    """Tell whether the integers that an op gives are signed. The ending of its name tells this: ``si`` or ``ui``. None
    for ops with other names, and for other computations.
    """
    if not isinstance(computation, OpComputation):
        return None
    fixed = fixed_formats(computation.case)[-1]
    if fixed is not None:
        return fixed.signed
    op = computation.case.op
    return op.endswith("si") if op.endswith(("si", "ui")) else None


def remarks(
    column: Column, type_: ty.Type | None, expected: Codes, got: Codes, signed: bool | None = None
) -> list[tuple[str, Mask]]:
    """Return remarks on codes that differ from the expected ones, such as "the sign differs", each with a mask of the
    rows to which it applies. Each code of ``got`` differs. ``signed``: see `signed_result`. Several remarks on flags
    can apply to one row.
    """
    if column.role is Role.FLAGS:
        sides = (("not raised", expected & ~got), ("raised", got & ~expected))
        told = [(f"{flag_name(flag)} {words}", side & flag != 0) for flag in Flags for words, side in sides]
        return [(words, rows) for words, rows in told if rows.any()]
    if column.role is Role.POISON:
        tests = iter([("a value called poison", got != 0), ("poison called a value", got == 0)])
    elif column.role is Role.OPEN:
        tests = iter([("other bits called open", np.ones(len(got), np.bool_))])
    elif isinstance(type_, ty.FloatType):
        tests = _float_remarks(type_.format, expected, got)
    else:
        tests = _integer_remarks(column.width, expected, got, signed)
    found, left = [], np.ones(len(got), np.bool_)
    for words, applies in tests:
        rows = left & applies
        if rows.any():
            found.append((words, rows))
            left &= ~rows
    return found


def _integer_remarks(width: int, expected: Codes, got: Codes, signed: bool | None) -> Iterator[tuple[str, Mask]]:
    """Yield what may be said of integers. From one end of a signed or unsigned range to the other is not one step."""
    right, found = (
        np.array(codes_to_ints(codes, width), object) if width > LIMB_BITS else codes for codes in (expected, got)
    )
    most = right.dtype.type((1 << width) - 1)
    if signed is not None and width > 1:
        low = 1 << width - 1 if signed else 0
        high = low - 1 & (1 << width) - 1
        ends = "the smallest integer instead of the largest", "the largest integer instead of the smallest"
        yield ends[0], (right == high) & (found == low)
        yield ends[1], (right == low) & (found == high)
    yield "off by one", ((right - found) & most == 1) | ((found - right) & most == 1)
    yield "another value", np.ones(len(got), np.bool_)


def _float_remarks(fmt: FloatFormat, expected: Codes, got: Codes) -> Iterator[tuple[str, Mask]]:
    """Yield what may be said of floats; of what applies to a row, the first is said."""
    nan, other_nan = floats.is_nan(fmt, expected), floats.is_nan(fmt, got)
    yield "another NaN", nan & other_nan
    yield "a number instead of NaN", nan
    yield "NaN instead of a number", other_nan
    zero, other_zero = floats.is_zero(fmt, expected), floats.is_zero(fmt, got)
    yield "the sign of zero", zero & other_zero
    rank, other = ranks(fmt, expected), ranks(fmt, got)
    size, other_size = abs(rank), abs(other)
    yield "the other sign", rank == -other
    same_sign = (rank < 0) == (other < 0)
    for infinite, beside, words in (
        (floats.is_infinite(fmt, expected), other_size, "{} instead of infinity"),
        (floats.is_infinite(fmt, got), size, "infinity instead of {}"),
    ):
        yield words.format("the largest finite value"), infinite & same_sign & (beside == fmt.max_magnitude)
        yield words.format("a finite value"), infinite
    if fmt.zero:
        yield "zero instead of a subnormal", (size < fmt.min_normal_magnitude) & other_zero
    yield "the other sign, and another value", ~same_sign & (rank != 0) & (other != 0)
    one = steps_between(fmt, expected, got) == 1
    for way, nearer in (("toward", other_size < size), ("away from", other_size >= size)):
        yield f"off by one ulp {way} zero", one & nearer
        yield f"off by several ulp {way} zero", nearer


# --- a stream of rows -------------------------------------------------------------------------------------------------

EVERY_FLAG = (1 << FLAG_BITS) - 1

ROWS = 1 << 16
"""Number of rows that are computed and compared at once."""

MOST_EXAMINED = 1 << 12
"""Most differing rows, spread over the file, for which other semantics are tried. `SLOW_EXAMINED` is the number for
programs on tensors, and the least one for tiles, of which all rows together have about `PRODUCTS_EXAMINED` products.
"""

SLOW_EXAMINED, PRODUCTS_EXAMINED = 64, 1 << 12


MOST_TOLD = 2
"""The most causes that are told of a single row: near ones, which more rows tell apart, make a long list."""


@dataclass(frozen=True)
class RowMismatch:
    """A row that differs. ``row``: counted from 0; ``line``: the line in which it begins, in a format of lines.

    ``inputs``: the codes of the operands and random bits; ``expected``, ``got``: those of the output columns (``got``:
    None if the file has no such column, the word itself if it has an X or Z). ``columns``: the names of the columns
    that differ, with ``remarks`` on each; ``as_if``: the alternatives that give the file's results and that no equal
    row refutes, the likeliest first, at most `MOST_TOLD`. ``exact``: the result before rounding, for one float or
    integer op, if it is a number.
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
class LikelyCause:
    """An alternative computation that explains differing rows. ``rows``: the number of examined rows for which it gives
    the file's results. ``equal``: the number of control rows for which it gives the expected results. ``refuted``: it
    does not give all of those. ``weak``: it explains less than a tenth of the rows (wrong values and wrong flags count
    half each), or of the wrong values, so it is not the cause.
    """

    name: str
    rows: int
    equal: int
    refuted: bool = False
    weak: bool = False

    @property
    def leads(self) -> bool:
        """Whether this can be the cause of the rows that differ."""
        return not self.refuted and not self.weak


@dataclass
class Check:
    """The result of a check. ``rows``: the number of rows of the file; ``undefined``: those that were not compared,
    because of undefined behaviour; ``poison``: rows in which no result counts; ``ignored``: rows that the file says are
    not compared; ``within``: rows that differ, but are within the given bounds; ``differing``: other rows that differ,
    of which ``unknown`` have an X or Z.

    ``mismatches``: the first ones. ``examined``: the number of differing rows for which alternatives were tried,
    ``controls`` that of equal ones; ``explanations``: the alternatives that fit, the likeliest first, and those that
    cannot be the cause behind all others. ``kinds``: the
    number of examined rows for each remark. ``failing``: the first rows that differ, with operands and expected
    results. ``digest``: the digest of the file's columns. ``strayed``: the first row whose operands are not those of
    the recipe; ``slipped``: so many rows of the recipe are missing there (below 0: so many are surplus; 0: neither is
    seen); ``reordered``: the file has all rows of the recipe, in another order. ``described``: what the rows that
    differ have in common, if no cause explains half of them. ``problem``: why reading ended before the end.
    """

    rows: int = 0
    undefined: int = 0
    poison: int = 0
    ignored: int = 0
    within: int = 0
    differing: int = 0
    unknown: int = 0
    mismatches: list[RowMismatch] = field(default_factory=list)
    examined: int = 0
    controls: int = 0
    explanations: list[LikelyCause] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    described: list[str] = field(default_factory=list)
    digest: str | None = None
    failing: list[Chunk] = field(default_factory=list)
    strayed: int | None = None
    slipped: int = 0
    reordered: bool = False
    problem: HalfulpError | None = None

    @property
    def compared(self) -> int:
        """Return the number of rows in which a value was compared; 0 if all results are poison."""
        defined = self.rows - self.undefined - self.ignored
        return 0 if self.poison and self.undefined + self.poison >= self.rows and not self.differing else defined


def columns_in_order(
    computation: Computation, columns: Sequence[Column], elsewhere: bool = False
) -> tuple[list[int], list[int | None], list[int]]:
    """Return the positions of a computation's inputs and outputs among the columns of a file, found by name (None for
    an output that is missing), and of the columns that say what is not compared in a row.

    ``elsewhere``: the inputs are known from elsewhere, so that a file may have none of them. Raises InputError for a
    missing input, a column that the computation does not have, other widths, and files without any result or flags.
    """
    places = {column.name: k for k, column in enumerate(columns)}
    known = {column.name: column for column in (*computation.inputs, *computation.outputs)}
    known |= {column.name: column for column in ignoring(computation.outputs)}
    for column in columns:
        own = known.get(column.name)
        if own is None:
            raise InputError(
                f"the file has a column '{column.name}' ({column.role.value}), but what is computed has the columns "
                f"{', '.join(column.name for column in (*computation.inputs, *computation.outputs))}"
            )
        if (own.width, own.role, own.of) != (column.width, column.role, column.of):
            raise InputError(
                f"the column '{column.name}' has {column.width} bits ({column.role.value}), but what is computed "
                f"has {own.width} ({own.role.value})"
            )
    missing = [column.name for column in computation.inputs if column.name not in places]
    alone = elsewhere and len(missing) == len(computation.inputs)
    if missing and not alone:
        raise InputError(f"the file has no column {', '.join(missing)}")
    outputs = [places.get(column.name) for column in computation.outputs]
    if not any(columns[k].role in (Role.RESULT, Role.FLAGS) for k in outputs if k is not None):
        raise InputError("the file has no results")
    ignored = [place for place, column in enumerate(columns) if column.role is Role.IGNORE]
    return [] if alone else [places[column.name] for column in computation.inputs], outputs, ignored


def flags_named(names: Iterable[str]) -> int:
    """Return exception flags of these names as bits. Raises InputError for an unknown name, and for a text."""
    bits, known = 0, {str(flag.name).lower(): int(flag) for flag in Flags}
    if isinstance(names, str):
        raise InputError(f"the names of flags are a list, not a text: '{names}'", hint='give ["invalid", "overflow"]')
    for name in names:
        if name not in known:
            raise InputError(f"there is no exception flag '{name}'", hint=f"the flags are {', '.join(known)}")
        bits |= known[name]
    return bits


@dataclass
class _Surplus:
    """The rows that a file has in addition to a recipe's, in any order: their number, and the sum of a hash of each."""

    rows: int = 0
    hashes: int = 0

    def take(self, inputs: Chunk, times: int) -> None:
        """Add the rows with these operands ``sign`` times."""
        mixed = np.zeros(len(inputs[0]), np.uint64)
        for codes in inputs:
            for limb in np.reshape(codes, (len(mixed), -1)).T:
                mixed = (mixed ^ limb.astype(np.uint64)) * _ODD
                mixed ^= mixed >> np.uint64(29)
        self.rows += times * len(mixed)
        self.hashes = (self.hashes + times * int((mixed * _ODD).sum(dtype=np.uint64))) % (1 << 64)


_ODD = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio, the usual constant of multiplicative hashing."""


Within = Callable[[Chunk, Chunk, Mask], Mask]
"""Tells from the inputs, the results and a mask of rows which of these rows are within bounds."""


class VectorChecker:
    """Comparison of the rows of a file with a computation.

    ``columns``: the columns of the file, which may lack some outputs. ``any_nan``: as in `differing_columns`.
    ``ignored``: roles that are not compared; ``flags``: the exception flags that are. ``notes``: the notes of the
    reader. ``foreseen``: the whole rows of the set as a recipe makes them; their outputs are used as long as the file
    has the same operands, or no operands. ``most``: the number of mismatches kept in full; ``failing``: that of rows
    for a file of failing rows. ``leaves``: the rows of the leaves of the set's digest. ``watch`` is told the inputs,
    the expected outputs and the undefined rows of all rows that are compared. ``within``: tells which rows that differ
    are accepted. Raises what `columns_in_order` raises.
    """

    def __init__(
        self,
        computation: Computation,
        columns: Sequence[Column],
        *,
        any_nan: bool = False,
        ignored: frozenset[Role] = frozenset(),
        flags: int = EVERY_FLAG,
        notes: Notes | None = None,
        foreseen: Iterable[Chunk] | None = None,
        most: int = 1,
        failing: int = 0,
        leaves: Iterable[int] = (),
        watch: Callable[[Chunk, Chunk, Mask | None], object] | None = None,
        within: Within | None = None,
    ) -> None:
        self.computation, self.columns, self.any_nan = computation, tuple(columns), any_nan
        self._inputs, places, self._ignored = columns_in_order(computation, columns, foreseen is not None)
        self._flags = flags
        self._outputs = [
            None if column.role in ignored else place for column, place in zip(computation.outputs, places, strict=True)
        ]
        self._signed = signed_result(computation)
        self._notes = notes or Notes()
        self._foreseen = None if foreseen is None else rechunked(self._all, foreseen, self._step)
        self._surplus = _Surplus()
        self._strayed_from: Iterator[Chunk] | None = None
        self._most, self._failing, self._watch, self._within = most, failing, watch, within
        self._fast = not (isinstance(computation, ProgramComputation) and not computation.scalars)
        limit = MOST_EXAMINED if self._fast else SLOW_EXAMINED
        if isinstance(computation, TileComputation):
            limit = min(max(SLOW_EXAMINED, PRODUCTS_EXAMINED // computation.products), MOST_EXAMINED)
        self._sampler = Sampler(computation.inputs, computation.outputs, self.period, limit, min(CONTROLS, limit))
        self._kinds: Counter[tuple[bool, str]] = Counter()
        self._digest = TreeDigest(self.columns, leaves)
        self.found = Check()

    @cached_property
    def period(self) -> int:
        """Return the number of rows in a group: above 1 for types whose parameters lie along an axis."""
        return op_inputs.period(self.computation.case) if isinstance(self.computation, OpComputation) else 1

    @property
    def _step(self) -> int:
        return max(ROWS // self.period, 1) * self.period

    @property
    def _all(self) -> tuple[Column, ...]:
        return self.computation.inputs + self.computation.outputs

    def read(self, chunks: Iterable[Chunk], progress: Callable[[int], object] = lambda rows: None) -> Check:
        """Compare all rows of a stream. An error of the stream becomes `Check.problem`; the rows before it count."""
        for chunk in rechunked(self.columns, self._until_error(chunks), self._step):
            self.compare(chunk)
            progress(self.found.rows)
        return self.finish()

    def finish(self) -> Check:
        """Look for an explanation of the differing rows, after the last row. Return what was found."""
        self._examine()
        self.found.reordered = self._has_all_rows()
        self.found.digest = None if self.found.unknown else self._digest.hexdigest()
        return self.found

    def _until_error(self, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        try:
            yield from chunks
        except HalfulpError as error:
            self.found.problem = error

    def compare(self, chunk: Chunk) -> None:
        """Compare the next rows: whole groups of `period` rows, except at the end."""
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
            width = len(self.computation.inputs)
            inputs, expected, undefined = made[:width], made[width:], None
        if self._watch is not None:
            self._watch(inputs, expected, undefined)
        actual = tuple(expected[k] if at is None else chunk[at] for k, at in enumerate(self._outputs))
        outputs = self.computation.outputs
        masks = self._masks(chunk, rows)
        actual = tuple(
            codes if masks[k] is None else codes & ~masks[k] | expected[k] & masks[k] for k, codes in enumerate(actual)
        )
        wrong = differing_columns(outputs, expected, actual, self.any_nan)
        unknown = self._unknown(expected, rows, masks)
        allowed = np.zeros(rows, np.bool_)
        if self._within is not None:
            skipped = None if self.computation.keep_ub else undefined
            wrong, allowed = self._beyond(self._within, inputs, actual, wrong, unknown, skipped)
        differs, values = np.zeros(rows, np.bool_), np.zeros(rows, np.bool_)
        for k, own in wrong.items():
            differs |= own
            values |= own & (outputs[k].role is not Role.FLAGS)
        for column, mask in zip(outputs, masks, strict=True):
            if mask is not None and column.role is Role.RESULT:
                # Where a value may be wrong too, no flag is wrong alone.
                values |= differs & by_row(mask != 0)
        differs[list(unknown)] = True
        if undefined is not None and not self.computation.keep_ub:
            differs &= ~undefined
            found.undefined += int(undefined.sum())
        # A row whose flags are wrong differs.
        found.within += int((allowed & ~differs).sum())
        poison = all_poison(outputs, expected)
        found.poison += int(poison.sum())
        found.unknown += sum(bool(differs[k]) for k in unknown)
        for k in np.flatnonzero(differs)[: max(self._most - len(found.mismatches), 0)]:
            found.mismatches.append(self._mismatch(inputs, expected, actual, int(k), unknown.get(int(k), {})))
        places = np.flatnonzero(differs)[: self._failing]
        if len(places):
            self._failing -= len(places)
            found.failing.append(tuple(codes[places] for codes in (*inputs, *expected)))
        if differs.any():
            self._count(expected, actual, wrong, differs, unknown)
        counted = ~differs & ~poison
        if undefined is not None:
            counted &= ~undefined
        # No semantics gives an X.
        tried = differs.copy()
        tried[list(unknown)] = False
        ignored = () if all(mask is None for mask in masks) else tuple(map(_bits_ignored, masks, expected))
        self._sampler.add(found.rows, inputs, expected, actual, tried, values, counted, ignored)
        found.differing += int(differs.sum())
        found.rows += rows
        self._notes.forget(found.rows)

    def _beyond(
        self,
        within: Within,
        inputs: Chunk,
        actual: Chunk,
        wrong: dict[int, Mask],
        unknown: Mapping[int, Any],
        skipped: Mask | None,
    ) -> tuple[dict[int, Mask], Mask]:
        """Return the wrong rows of each column, without results within bounds, and the rows whose results are."""
        results = [k for k, column in enumerate(self.computation.outputs) if column.role is Role.RESULT]
        rows = np.logical_or.reduce([np.zeros(len(inputs[0]), np.bool_), *(wrong[k] for k in results if k in wrong)])
        rows[list(unknown)] = False
        if skipped is not None:
            rows &= ~skipped
        if not rows.any():
            return wrong, rows
        allowed = within(inputs, actual, rows)
        kept = {k: mask & ~allowed if k in results else mask for k, mask in wrong.items()}
        return {k: mask for k, mask in kept.items() if mask.any()}, allowed

    def _masks(self, chunk: Chunk, rows: int) -> list[Any]:
        """Return the bits of each output that are not compared; None if all are."""
        masks: list[Any] = [None] * len(self.computation.outputs)
        for k, column in enumerate(self.computation.outputs):
            if column.role is Role.FLAGS and self._flags != EVERY_FLAG:
                masks[k] = np.full(rows, EVERY_FLAG & ~self._flags, np.uint8)
        for place in self._ignored:
            named, codes = self.columns[place].of, chunk[place]
            for k, column in enumerate(self.computation.outputs):
                if named not in ("", column.name):
                    continue
                mask = codes
                if not named:
                    shape = (rows,) if column.width <= LIMB_BITS else (rows, 1)
                    every = ints_to_codes([(1 << column.width) - 1], column.width, (1,))
                    mask = np.where(np.reshape(codes != 0, shape), every, every & 0)
                masks[k] = mask if masks[k] is None else masks[k] | mask
            if not named:
                self.found.ignored += int((codes != 0).sum())
        return masks

    def _computed(self, inputs: Chunk, rows: int) -> Computed:
        """Return the expected outputs: those of the recipe if it has the same operands, else computed ones."""
        if self._foreseen is not None:
            made = self._next_foreseen(self._foreseen)
            width = len(inputs)
            short = made is None or len(made[0]) < rows
            same = [] if made is None else [by_row(x[:rows] != y[: len(x)]) for x, y in zip(made, inputs, strict=False)]
            if made is not None and not short and not any(differs.any() for differs in same):
                return Computed(tuple(codes[:rows] for codes in made[width:]))
            first = [int(differs.argmax()) for differs in same if differs.any()]
            self.found.strayed = self.found.rows + min(
                [*first, *([0 if made is None else len(made[0])] if short else [])]
            )
            self._strayed_from, self._foreseen = self._foreseen, None
            if made is not None:
                self._surplus.take(made[:width], -1)
                self.found.slipped = _slip(inputs, made[:width], self.found.strayed - self.found.rows)
        if self._strayed_from is not None:
            self._surplus.take(inputs, 1)
        missing = -rows % self.period
        if missing:
            # The last group may lack rows; any rows fill it up.
            padded = tuple(np.concatenate([codes, np.repeat(codes[-1:], missing, axis=0)]) for codes in inputs)
            outputs, undefined = self.computation.compute(padded)
            return Computed(tuple(codes[:rows] for codes in outputs), None if undefined is None else undefined[:rows])
        return self.computation.compute(inputs)

    def _has_all_rows(self) -> bool:
        """Tell whether a file whose rows differ from those of the recipe has the same rows in another order."""
        surplus, rest = self._surplus, self._strayed_from
        if rest is None or self.found.problem is not None:
            return False
        while surplus.rows > 0 and (made := self._next_foreseen(rest)) is not None:
            surplus.take(made[: len(self.computation.inputs)], -1)
        return surplus == _Surplus() and self._next_foreseen(rest) is None

    @staticmethod
    def _next_foreseen(foreseen: Iterator[Chunk]) -> Chunk | None:
        try:
            return next(foreseen, None)
        except (HalfulpError, ValueError):
            # The recipe's operands only save time: a document may describe rows that the recipe does not have.
            return None

    def _unknown(self, expected: Chunk, rows: int, ignored: Sequence[Any]) -> dict[int, dict[str, str]]:
        """Return the rows of this chunk that have an X or Z in a significant bit, by their place in the chunk."""
        begin, outputs = self.found.rows, self.computation.outputs
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
                if ignored[at] is not None:
                    counts &= ~codes_to_ints(ignored[at][k : k + 1], column.width)[0]
                if counts:
                    counting.setdefault(k, {})[column.name] = word
        return counting

    def _count(
        self,
        expected: Chunk,
        actual: Chunk,
        wrong: Mapping[int, Mask],
        differs: Mask,
        unknown: Mapping[int, dict[str, str]],
    ) -> None:
        """Count the kinds of the rows that differ; a row in which two columns are of one kind counts once."""
        found: dict[tuple[bool, str], Mask] = {}
        if unknown:
            found[False, UNKNOWN] = differs & np.isin(np.arange(len(differs)), list(unknown))
        for k, mask in wrong.items():
            column = self.computation.outputs[k]
            known = mask & differs
            known[[row for row, words in unknown.items() if column.name in words]] = False
            rows = np.flatnonzero(known)
            told = (column, type_of(column), expected[k][rows], actual[k][rows], self._signed)
            for words, own in remarks(*told) if len(rows) else ():
                kind = column.role is Role.FLAGS, words
                found.setdefault(kind, np.zeros(len(differs), np.bool_))[rows[own]] = True
        self._kinds.update({kind: int(rows.sum()) for kind, rows in found.items()})

    def _codes(self, chunk: Chunk, columns: Sequence[Column], row: int) -> tuple[int, ...]:
        return tuple(
            codes_to_ints(codes[row : row + 1], column.width)[0] for column, codes in zip(columns, chunk, strict=True)
        )

    def _mismatch(
        self, inputs: Chunk, expected: Chunk, actual: Chunk, row: int, unknown: Mapping[str, str]
    ) -> RowMismatch:
        outputs = self.computation.outputs
        operands = self._codes(inputs, self.computation.inputs, row)
        right, codes = self._codes(expected, outputs, row), self._codes(actual, outputs, row)
        got = tuple(
            None if at is None else unknown.get(column.name, code)
            for column, code, at in zip(outputs, codes, self._outputs, strict=True)
        )
        told = self._remarks(expected, actual, row, unknown)
        exact = None
        if isinstance(self.computation, OpComputation):
            exact = exact_result(self.computation.case, operands[: len(self.computation.case.operands)])
        number = self.found.rows + row
        line = self._notes.line_of(number)
        return RowMismatch(number, line, operands, right, got, tuple(told), tuple(map(tuple, told.values())), (), exact)

    def _remarks(self, expected: Chunk, actual: Chunk, row: int, unknown: Mapping[str, str]) -> dict[str, list[str]]:
        """Return the columns of a row that differ, and a remark on each."""
        outputs = self.computation.outputs
        one, other = (tuple(codes[row : row + 1] for codes in chunk) for chunk in (expected, actual))
        differs = differing_columns(outputs, one, other, self.any_nan)
        told = {}
        for k, column in enumerate(outputs):
            if column.name in unknown:
                told[column.name] = [UNKNOWN]
            elif k in differs:
                found = remarks(column, type_of(column), one[k], other[k], self._signed)
                told[column.name] = [words for words, _ in found]
        return told

    def _examine(self) -> None:
        """Look for an explanation of the rows that were kept."""
        found, sample = self.found, self._sampler.sample
        found.kinds = {
            words: count for (_, words), count in sorted(self._kinds.items(), key=lambda kind: (kind[0][0], -kind[1]))
        }
        if sample is None:
            return
        found.examined = int(sample.differs.sum())
        found.controls = int(sample.control.sum())
        compared = [at is not None for at in self._outputs]
        pairs = self._fast and self.period == 1
        from halfulp.conformance.vectors.diagnosis import Examination

        examination = Examination(self.computation, sample, compared, self.any_nan, pairs)
        explained = examination.explanations()
        found.explanations = [
            LikelyCause(
                one.name,
                int((one.gives & sample.differs).sum()),
                int((one.gives & sample.control).sum()),
                one.refuted(sample),
                one.weak(sample),
            )
            for one in explained
        ]
        holding = [one for one in explained if not one.refuted(sample)]
        best = holding[0] if holding else None
        if best is None or 2 * int((best.gives & sample.differs).sum()) < found.examined:
            found.described = describe(self.computation, sample)
        listed = {mismatch.row: k for k, mismatch in enumerate(found.mismatches)}
        for k in np.flatnonzero(sample.differs).tolist():
            place = listed.get(int(sample.numbers[k]))
            if place is not None:
                # An encoding or a slip may fit a single row by chance.
                telling = [
                    one for one in holding if one.rank[0] == Stage.COMPUTATION or (found.differing > 1 and one is best)
                ]
                names = tuple(one.name for one in telling if one.gives[k])
                found.mismatches[place] = replace(found.mismatches[place], as_if=names[:MOST_TOLD])


def _bits_ignored(mask: Any, codes: Codes) -> Codes:
    return np.zeros_like(codes) if mask is None else np.asarray(mask, codes.dtype)


BEHIND = 64
"""Rows behind a place that tell whether others were left out there."""


def _slip(inputs: Chunk, made: Chunk, row: int) -> int:
    """Return how many rows of ``made`` are missing among the inputs at this row; below 0: how many are surplus there;
    0: the rows after it show neither.
    """
    for shift in SHIFTS:
        mine, theirs = row + max(-shift, 0), row + max(shift, 0)
        rows = min(len(inputs[0]) - mine, len(made[0]) - theirs, BEHIND)
        if rows > 0 and all(
            np.array_equal(x[mine : mine + rows], y[theirs : theirs + rows]) for x, y in zip(inputs, made, strict=True)
        ):
            return shift
    return 0


_X_BITS = str.maketrans({**dict.fromkeys("0123456789abcdefABCDEF_", "0"), **dict.fromkeys("xXzZ", "f")})


def unknown_bits(word: str) -> int:
    """Return a mask of the bits of a word whose digits are X or Z. The word has hexadecimal digits, or bits after
    ``0b``.
    """
    if word.startswith("0b"):
        return int("0" + "".join("0" if bit in "01" else "1" for bit in word[2:]), 2)
    return int(word.translate(_X_BITS), 16)
