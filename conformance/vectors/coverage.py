"""The coverage of vectors that were run: the cases (called buckets) to which rows belong, as JSON. The JSON of several
parts and runs can be merged.

If models of `models` apply to an op, the buckets are those of the models. For everything else there are models on whole
columns: the classes of operands and results, and for tile operations on floats how the terms of a sum meet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Protocol

import numpy as np

from halfulp.conformance.files import json_of
from halfulp.conformance.vectors.columns import Chunk, Column, Role, joined, type_of
from halfulp.conformance.vectors.comparison import poison_of
from halfulp.conformance.vectors.computation import Computation, OpComputation
from halfulp.conformance.vectors.intermediate import model_case_of
from halfulp.conformance.vectors.metadata import Document, described_profile, to_text
from halfulp.conformance.vectors.models.model import Bucket, CoverageModel, basic_codes, magnitude_of, sign_of
from halfulp.conformance.vectors.models.table import models_for
from halfulp.conformance.vectors.op_inputs import chosen_models
from halfulp.conformance.vectors.recipe import OF_ONE_OP, Recipe
from halfulp.conformance.vectors.sampling import Spread
from halfulp.conformance.vectors.tiles import TileComputation
from halfulp.fp_formats.formats import FORMATS, Codes, FloatFormat, Mask, codes_to_ints
from halfulp.interp.ir import types as ty
from halfulp.interp.ir.errors import InputError, plural
from halfulp.interp.ir.types import element_width
from halfulp.semantics import SEMANTICS_VERSION, floats

LOOKED_AT = 1 << 16
"""The most rows of a set whose buckets are counted: a row takes up to 50 microseconds for each model."""

ELEMENTS = 1 << 20
"""The most numbers of these rows: rows of tiles and tensors have thousands."""

PARTS = 64
"""The parts of a longer set whose rows are counted."""

SHOWN = 8
"""The most buckets of a model that a table names."""

# --- models on columns ------------------------------------------------------------------------------------------------


class _Buckets(Protocol):
    """What has buckets: a model on rows, or one on columns."""

    @property
    def name(self) -> str: ...

    @property
    def target(self) -> str: ...


@dataclass(frozen=True)
class ColumnModel:
    """A model on whole columns."""

    name: str
    #: What it covers, for people.
    target: str
    #: All of its buckets.
    buckets: tuple[Bucket, ...]
    #: A function of the inputs, the outputs and the rows without a result (None: none), which gives the buckets hit.
    hit: Callable[[Chunk, Chunk, Mask | None], Iterable[Bucket]]


def _class_of_float(fmt: FloatFormat, code: int) -> str:
    """Return the class of a code, without its sign: each code has one."""
    if fmt.is_nan(code):
        return "signalling NaN" if fmt.is_signalling(code) else "quiet NaN"
    if fmt.is_infinite(code):
        return "infinity"
    if fmt.is_zero(code):
        return "zero"
    size = magnitude_of(fmt, code)
    if fmt.is_subnormal(code):
        return "smallest subnormal" if size == 1 else "subnormal"
    if size == magnitude_of(fmt, fmt.min_normal_code):
        return "smallest normal"
    return "largest" if size == magnitude_of(fmt, fmt.max_code) else "normal"


def _class_of_integer(width: int, code: int) -> str:
    top = 1 << max(width - 1, 0)
    named = {0: "0", 1: "1", top: "top bit alone", top - 1: "all but the top bit", 2 * top - 1: "all bits"}
    return named.get(code, "top bit set" if code & top else "top bit clear")


def _classes(type_: ty.Type | None) -> tuple[Callable[[int], str], tuple[str, ...]]:
    """Return the function that classifies codes of a type, and all classes that codes can have."""
    if isinstance(type_, ty.FloatType):
        return _float_classes(type_.format)
    return _integer_classes((None if type_ is None else element_width(type_)) or 1)


@lru_cache(maxsize=128)
def _float_classes(fmt: FloatFormat) -> tuple[Callable[[int], str], tuple[str, ...]]:
    @lru_cache(maxsize=1 << 16)
    def classified(code: int) -> str:
        return sign_of(fmt, code) + _class_of_float(fmt, code)

    every = range(1 << fmt.bits) if fmt.bits <= 8 else basic_codes(fmt)
    return classified, tuple(dict.fromkeys(map(classified, every)))


@lru_cache(maxsize=128)
def _integer_classes(width: int) -> tuple[Callable[[int], str], tuple[str, ...]]:
    @lru_cache(maxsize=1 << 16)
    def classified(code: int) -> str:
        return _class_of_integer(width, code)

    top = 1 << max(width - 1, 0)
    every = range(1 << width) if width <= 4 else (0, 1, 2, top - 1, top, top + 2, 2 * top - 1)
    return classified, tuple(dict.fromkeys(map(classified, every)))


def _groups(columns: Sequence[Column], role: Role) -> dict[str, list[int]]:
    """Return the positions of the columns of a role by the operand or result whose elements they are."""
    groups: dict[str, list[int]] = {}
    for place, column in enumerate(columns):
        if column.role is role:
            groups.setdefault(re.sub(r"(_\d+)+$", "", column.name), []).append(place)
    return groups


def _distinct(codes: Codes, width: int) -> set[int]:
    """Return the codes of a column, each once."""
    return set(codes_to_ints(np.unique(codes, axis=0), width))


def _class_model(computation: Computation, role: Role) -> ColumnModel:
    """Return the model of the classes of all operands, or of all results."""
    columns = computation.inputs if role is Role.OPERAND else computation.outputs
    groups = _groups(columns, role)

    def hit(inputs: Chunk, outputs: Chunk, undefined: Mask | None) -> Iterator[Bucket]:
        chunk = inputs if role is Role.OPERAND else outputs
        for name, places in groups.items():
            seen: set[int] = set()
            for place in places:
                codes = chunk[place]
                if role is Role.RESULT:
                    hidden = poison_of(computation.outputs, outputs, place)
                    codes = codes[~(hidden if undefined is None else hidden | undefined)]
                seen |= _distinct(codes, columns[place].width)
            classified, _ = _classes(type_of(columns[places[0]]))
            yield from ((name, each) for each in set(map(classified, seen)))

    buckets = tuple(
        (name, each) for name, places in groups.items() for each in _classes(type_of(columns[places[0]]))[1]
    )
    number, what = ("V1", "operands") if role is Role.OPERAND else ("V2", "results")
    return ColumnModel(number, f"classes of the elements of {what}", buckets, hit)


# --- sums of tiles ----------------------------------------------------------------------------------------------------

_NOTHING = -(1 << 20)
"""The exponent of zero, far below all others. NaNs and infinities have it too: their sums are special."""


@lru_cache(maxsize=32)
def _exponents(fmt: FloatFormat) -> Callable[[Codes], Any]:
    """Return the function that gives the exponent of the leading bit of each code."""

    def exponents(codes: Codes) -> Any:
        size = codes.astype(np.int64) & (fmt.code_mask >> fmt.signed)
        stored = size >> fmt.mantissa_bits
        fraction = size & fmt.fraction_mask
        # frexp is exact on integers of up to 53 bits.
        below = np.frexp(fraction.astype(np.float64))[1].astype(np.int64) - 1 + fmt.emin - fmt.mantissa_bits
        subnormal = (stored == 0) & fmt.zero
        made = np.where(subnormal, np.where(fraction == 0, _NOTHING, below), stored - fmt.bias)
        return np.where(floats.is_nan(fmt, codes) | floats.is_infinite(fmt, codes), _NOTHING, made)

    return exponents


def _lowest(fmt: FloatFormat) -> int:
    return fmt.emin - (fmt.mantissa_bits if fmt.zero else 0)


class _Sums:
    """The models of the sums of a tile operation on floats."""

    def __init__(self, computation: TileComputation) -> None:
        op = computation.operation
        self._computation = computation
        self._a, self._b, self._c, self._d = (FORMATS[name] for name in (op.a, op.b, op.c, op.d))
        self._scale = FORMATS[op.scale] if op.scale else None
        self._reach = self._d.precision + 2
        self._block = op.block

    def _products(self, arrays: Sequence[Codes]) -> Any:
        """Return the exponents of all products [rows, ..., M, N, K], scales counted."""
        a, b = _exponents(self._a)(arrays[0]), _exponents(self._b)(arrays[1])
        if self._scale is not None:
            of = _exponents(self._scale)
            a = np.maximum(a + np.repeat(of(arrays[3]), self._block, axis=-1), _NOTHING)
            b = np.maximum(b + np.repeat(of(arrays[4]), self._block, axis=-2), _NOTHING)
        made = a[..., :, np.newaxis, :] + np.swapaxes(b, -1, -2)[..., np.newaxis, :, :]
        return np.where(made < _NOTHING // 2, _NOTHING, made)

    def models(self) -> Iterator[ColumnModel]:
        reach, ends = self._reach, self._ends()
        names_a, names_b = (self._kinds(fmt) for fmt in (self._a, self._b))
        crossed = tuple((x, y) for x in names_a for y in names_b)
        yield ColumnModel("T1", "classes of the two factors of a product, crossed", crossed, self._factors)
        low, high = _lowest(self._c) - ends[1], self._c.emax - ends[0]
        apart = tuple(("C", d) for d in range(max(-reach, low), min(reach, high) + 1))
        yield ColumnModel("T2", f"exponent of C above the largest product, up to {reach} either way", apart, self._of_c)
        if self._computation.operands[0][2][-1] > 1:
            spread = tuple(("spread", d) for d in range(min(reach, ends[1] - ends[0]) + 1))
            yield ColumnModel("T3", f"exponents between two products of a sum, up to {reach}", spread, self._spread)
        lost = tuple(("lost", d) for d in range(reach + 1))
        cancelled = (("grows",), *lost, ("to zero",))
        told = f"exponents from the largest term down to the result, up to {reach}"
        yield ColumnModel("T4", told, cancelled, self._cancelled)

    def _ends(self) -> tuple[int, int]:
        """Return the lowest and the highest exponent of a product."""
        factors = [self._a, self._b, *((self._scale,) * 2 if self._scale is not None else ())]
        return sum(map(_lowest, factors)), sum(fmt.emax for fmt in factors)

    @staticmethod
    def _kind(fmt: FloatFormat, code: int) -> str:
        return _class_of_float(fmt, code).removeprefix("smallest ").replace("largest", "normal").split()[-1]

    def _kinds(self, fmt: FloatFormat) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._kind(fmt, code) for code in basic_codes(fmt)))

    def _factors(self, inputs: Chunk, outputs: Chunk, undefined: Mask | None) -> Iterator[Bucket]:
        a, b, *_ = self._computation.arrays(inputs)
        marks, names = [], []
        for fmt, codes in ((self._a, a), (self._b, b)):
            kinds = self._kinds(fmt)
            found, inverse = np.unique(codes, return_inverse=True)
            of_codes = np.array([kinds.index(self._kind(fmt, int(code))) for code in found], np.uint8)
            marks.append(of_codes[inverse].reshape(codes.shape))
            names.append(kinds)
        # The factors of column k of A are those of row k of B, whatever the row and the column of D are.
        for x, first in enumerate(names[0]):
            for y, second in enumerate(names[1]):
                if ((marks[0] == x).any(axis=-2) & (marks[1] == y).any(axis=-1)).any():
                    yield first, second

    def _of_c(self, inputs: Chunk, outputs: Chunk, undefined: Mask | None) -> Iterator[Bucket]:
        arrays = self._computation.arrays(inputs)
        largest, c = self._products(arrays).max(axis=-1), _exponents(self._c)(arrays[2])
        both = (largest != _NOTHING) & (c != _NOTHING)
        apart = np.clip((c - largest)[both], -self._reach, self._reach)
        yield from (("C", int(d)) for d in np.unique(apart))

    def _spread(self, inputs: Chunk, outputs: Chunk, undefined: Mask | None) -> Iterator[Bucket]:
        products = self._products(self._computation.arrays(inputs))
        least = np.where(products == _NOTHING, -_NOTHING, products).min(axis=-1)
        several = (products != _NOTHING).sum(axis=-1) > 1
        apart = np.clip((products.max(axis=-1) - least)[several], 0, self._reach)
        yield from (("spread", int(d)) for d in np.unique(apart))

    def _cancelled(self, inputs: Chunk, outputs: Chunk, undefined: Mask | None) -> Iterator[Bucket]:
        arrays = self._computation.arrays(inputs)
        c = arrays[2]
        result = np.stack(outputs, axis=-1).reshape(c.shape)
        largest = np.maximum(self._products(arrays).max(axis=-1), _exponents(self._c)(c))
        made = _exponents(self._d)(result)
        terms = largest != _NOTHING
        if (terms & floats.is_zero(self._d, result)).any():
            yield ("to zero",)
        lost = (largest - made)[terms & (made != _NOTHING)]
        if (lost < 0).any():
            yield ("grows",)
        yield from (("lost", int(d)) for d in np.unique(np.clip(lost[lost >= 0], 0, self._reach)))


def column_models(computation: Computation) -> tuple[ColumnModel, ...]:
    """Return the models on the columns of a computation."""
    models = [_class_model(computation, role) for role in (Role.OPERAND, Role.RESULT)]
    if isinstance(computation, TileComputation) and {computation.operation.a, computation.operation.b} <= {*FORMATS}:
        models += _Sums(computation).models()
    return tuple(models)


# --- a run ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelCoverage:
    """What rows cover of a model: the buckets that were ``hit`` and those that are ``missing``, in the model's order.
    ``rows``: the number of rows that were examined.
    """

    name: str
    target: str
    hit: tuple[str, ...]
    missing: tuple[str, ...]
    rows: int = 0

    @property
    def buckets(self) -> frozenset[str]:
        """Return all buckets."""
        return frozenset((*self.hit, *self.missing))

    def merged(self, other: ModelCoverage) -> ModelCoverage:
        """Return the coverage of both runs."""
        also = {*other.hit}
        missing = tuple(each for each in self.missing if each not in also)
        return replace(self, hit=tuple(sorted({*self.hit, *also})), missing=missing, rows=self.rows + other.rows)

    def __str__(self) -> str:
        total = len(self.hit) + len(self.missing)
        line = f"{self.name:<4} {len(self.hit):>6} of {total:<6} {self.target}"
        more = len(self.missing) - SHOWN
        missing = "; ".join([*self.missing[:SHOWN], *([f"{more} more"] if more > 0 else [])])
        return f"{line}\n            not hit: {missing}" if missing else line


class _Running:
    """The buckets of one model, while rows come."""

    def __init__(self, model: _Buckets, buckets: Iterable[Bucket]) -> None:
        self.model = model
        self.missing = dict.fromkeys(buckets)
        self.hit: dict[Bucket, None] = {}
        self.rows = 0

    def take(self, buckets: Iterable[Bucket]) -> None:
        """Count buckets that rows fall in."""
        for bucket in buckets:
            if bucket in self.missing:
                del self.missing[bucket]
                self.hit[bucket] = None

    @property
    def found(self) -> ModelCoverage:
        """Return what was hit."""
        hit, missing = (tuple(" ".join(map(str, each)) for each in side) for side in (self.hit, self.missing))
        return ModelCoverage(self.model.name, self.model.target, tuple(sorted(hit)), missing, self.rows)


class RunningCoverage:
    """The coverage of the rows of a computation. Exact arithmetic finds their buckets as the rows come. Rows are
    examined for a model until all its buckets are hit.

    ``models``: names, or "all" that apply. For a computation without models of `models`, "all" are the models on its
    columns. Raises InputError for a model that does not apply.
    """

    def __init__(self, computation: Computation, models: Sequence[str] = ("all",)) -> None:
        self.computation = computation
        #: The rows of the run; not all of them need to be looked at.
        self.rows = 0
        case = computation.case if isinstance(computation, OpComputation) else None
        self._case = found = None if case is None else model_case_of(case)
        names = None if list(models) == ["all"] else models
        self._of_rows: list[tuple[CoverageModel, _Running]] = []
        self._of_columns: list[tuple[ColumnModel, _Running]] = []
        if case is None and names is not None:
            raise InputError(
                OF_ONE_OP, hint="leave out the names of models: then the classes of operands and results are counted"
            )
        if case is not None and names is not None:
            names = chosen_models(case, names)
        if found is not None:
            chosen = models_for(found, names)
            self._of_rows = [(model, _Running(model, model.buckets(found))) for model in chosen]
        if not self._of_rows:
            self._of_columns = [(model, _Running(model, model.buckets)) for model in column_models(computation)]

    def take(self, inputs: Chunk, outputs: Chunk | None = None, undefined: Mask | None = None) -> None:
        """Count the buckets of some rows. ``outputs``: the right outputs; None: they are computed if models need them.
        ``undefined``: a mask of the rows that have no result.
        """
        rows = len(inputs[0])
        self.rows += rows
        self._take_rows(inputs, rows)
        pending = [each for each in self._of_columns if each[1].missing]
        if pending and outputs is None:
            outputs, undefined = self.computation.compute(inputs)
        for columns, counted in self._of_columns:
            counted.rows += rows
            if counted.missing and outputs is not None:
                counted.take(columns.hit(inputs, outputs, undefined))

    def _take_rows(self, inputs: Chunk, rows: int) -> None:
        pending = any(counted.missing for _, counted in self._of_rows)
        widths = [column.width for column in self.computation.inputs if column.role is Role.OPERAND]
        # Random bits of stochastic rounding come last, and are not operands.
        codes = [codes_to_ints(column, width) for column, width in zip(inputs, widths, strict=False)] if pending else []
        seen = dict.fromkeys(zip(*codes, strict=True))
        for model, counted in self._of_rows:
            counted.rows += rows
            for row in seen if counted.missing else ():
                assert self._case is not None
                counted.take(model.fits(self._case, row))
                if not counted.missing:
                    break

    @property
    def models(self) -> list[ModelCoverage]:
        """Return what each model has hit so far."""
        return [counted.found for _, counted in (*self._of_rows, *self._of_columns)]

    @property
    def complete(self) -> bool:
        """Tell whether all buckets are hit."""
        return not any(counted.missing for _, counted in (*self._of_rows, *self._of_columns))

    @property
    def report(self) -> CoverageReport:
        """Return the coverage so far, to be written and merged."""
        computation = self.computation
        source = {name: value for name, value in computation.source().items() if name not in _NOT_COMPARED}
        generator = {"name": "halfulp", "version": version("halfulp"), "semantics_version": SEMANTICS_VERSION}
        about = {"generator": generator, "source": source, "profile": described_profile(computation.profile)}
        return CoverageReport(_named(computation), about, 1, self.rows, {each.name: each for each in self.models})

    def __str__(self) -> str:
        """Return a line for each model, and the buckets that it misses."""
        return "\n".join(map(str, self.models))


_NOT_COMPARED = ("program", "program_text")
"""What a description of a program has beside its digest: where it lay, and its text."""


def _named(computation: Computation) -> str:
    """Return the name of a computation in a report."""
    if isinstance(computation, OpComputation):
        return f"{computation.case}, profile {computation.profile.name}"
    if isinstance(computation, TileComputation):
        return f"{computation.operation}, model {computation.model}"
    return f"@{computation.source()['function']}, profile {computation.profile.name}"


def most_rows(columns: int, period: int = 1) -> int:
    """Return the largest number of rows that are examined, a multiple of ``period``. ``columns``: the number of columns
    of a row.
    """
    return max(min(LOOKED_AT, ELEMENTS // columns) // period, 1) * period


def coverage_of(recipe: Recipe, parts: Sequence[tuple[int, int]] | None = None) -> RunningCoverage:
    """Return the coverage of the rows of a recipe. ``parts``: only these rows, each part as its first row and the row
    after its last. Without ``parts``, all rows are taken, or, if there are too many, `PARTS` parts that are spread
    evenly.

    Raises InputError for models that do not apply, and what the rows raise.
    """
    models = recipe.models or (() if recipe.operands is None else recipe.operands.models) or ("all",)
    covered = RunningCoverage(recipe.computation, models)
    parts = [(0, recipe.rows.count)] if parts is None else parts
    total, most = sum(stop - start for start, stop in parts), most_rows(len(recipe.columns), recipe.step)
    if total <= most:
        ranges = list(parts)
    else:
        size = max(most // PARTS // recipe.step, 1) * recipe.step
        ranges = list(_spread(parts, total, max(most // size, 1), size, recipe.step))
    for start, stop in ranges:
        for begin in range(start, stop, recipe.leaf_rows):
            covered.take(recipe.given(begin, min(begin + recipe.leaf_rows, stop)))
    covered.rows = total
    return covered


def _spread(
    parts: Sequence[tuple[int, int]], total: int, count: int, size: int, step: int
) -> Iterator[tuple[int, int]]:
    """Yield ``count`` ranges of up to ``size`` rows, spread evenly over ``total`` rows of some parts."""
    for number in range(count):
        place = (total - size) * number // max(count - 1, 1)
        for start, stop in parts:
            if place < stop - start:
                begin = start + place // step * step
                yield begin, min(begin + size, stop)
                break
            place -= stop - start


class KeptRows:
    """Rows that are kept from a stream of unknown length. Their buckets are counted when the stream ends.

    If there are too many rows to keep, only every second one is kept, or every fourth, eighth and so on.
    """

    def __init__(self, computation: Computation) -> None:
        self._covered = RunningCoverage(computation)
        self._columns = (*computation.inputs, *computation.outputs)
        self._most = most_rows(len(self._columns))
        self._spread = Spread()
        self._kept: list[tuple[Chunk, Mask]] = []
        self._rows = 0

    def take(self, inputs: Chunk, outputs: Chunk, undefined: Mask | None) -> None:
        """Take the next rows of the stream, and keep all or some of them."""
        rows = len(inputs[0])
        self._rows += rows
        while self._spread.held(rows) > self._most:
            self._spread.step *= 2
            self._thin()
        places = self._spread.take(rows)
        mask = np.zeros(rows, np.bool_) if undefined is None else undefined
        self._kept.append((tuple(codes[places] for codes in (*inputs, *outputs)), mask[places]))

    def _thin(self) -> None:
        if self._kept:
            chunk, mask = self._joined()
            self._kept = [(tuple(codes[::2] for codes in chunk), mask[::2])]

    def _joined(self) -> tuple[Chunk, Mask]:
        chunks, masks = zip(*self._kept, strict=True)
        return joined(self._columns, list(chunks)), np.concatenate(masks)

    def coverage(self) -> RunningCoverage:
        """Return the coverage of the rows that were kept."""
        if self._kept:
            chunk, mask = self._joined()
            self._kept = []
            inputs = len(self._covered.computation.inputs)
            self._covered.take(chunk[:inputs], chunk[inputs:], mask)
        self._covered.rows = self._rows
        return self._covered


# --- files ------------------------------------------------------------------------------------------------------------

COVERAGE_VERSION = 1
"""The version of the layout of a file of coverage."""


@dataclass(frozen=True)
class CoverageReport:
    """The coverage of one run or of several, as it is stored in a file."""

    #: What was run, for people.
    name: str
    #: What runs must share to be merged: ``generator``, ``source`` and ``profile``, as metadata of vectors has them.
    about: Document
    #: The number of runs that were merged.
    runs: int
    #: The rows of all runs together.
    rows: int
    #: What was found, by the name of the model.
    models: Mapping[str, ModelCoverage] = field(default_factory=dict)

    def merged(self, other: CoverageReport, file: str, first: str) -> CoverageReport:
        """Return the coverage of both. ``file``, ``first``: the names of the other file and of this one, for errors.

        Raises InputError for a run of another computation, profile or version of halfulp.
        """
        for key, what in _SHARED.items():
            mine, theirs = self.about[key], other.about[key]
            if mine != theirs:
                names = _told(key, theirs, mine, other.name), _told(key, mine, theirs, self.name)
                raise InputError(
                    f"{file} cannot be merged with {first}: it has {names[0]}, not {names[1]}",
                    hint=f"merge files of one {what} only",
                )
        models = dict(self.models)
        for name, found in other.models.items():
            mine_ = models.get(name)
            if mine_ is not None and mine_.buckets != found.buckets:
                raise InputError(f"{file} cannot be merged with {first}: the model {name} has other buckets there")
            models[name] = found if mine_ is None else mine_.merged(found)
        return replace(self, runs=self.runs + other.runs, rows=self.rows + other.rows, models=models)

    @property
    def _ordered(self) -> list[ModelCoverage]:
        """The models by letter and number."""
        return sorted(self.models.values(), key=lambda each: (each.name[:1], len(each.name), each.name))

    @property
    def hit(self) -> int:
        """Return the number of buckets hit, of all models together."""
        return sum(len(found.hit) for found in self.models.values())

    @property
    def total(self) -> int:
        """Return the number of buckets of all models together."""
        return sum(len(found.buckets) for found in self.models.values())

    def to_text(self) -> str:
        """Return the file's text, the same for the same runs in any order."""
        models = {
            name: {"target": found.target, "rows": found.rows, "hit": [*found.hit], "missing": [*found.missing]}
            for name, found in self.models.items()
        }
        return to_text(
            {"coverage_version": COVERAGE_VERSION, "name": self.name, **self.about, "runs": self.runs}
            | {"rows": self.rows, "models": models}
        )

    def __str__(self) -> str:
        """Return a table: what was run, a line for each model with the buckets that it misses, and the sum."""
        looked = max((found.rows for found in self.models.values()), default=0)
        head = f"{self.name}: {plural(self.runs, 'run')}, {plural(self.rows, 'row')}" + (
            f", {looked:,} looked at" if looked < self.rows else ""
        )
        percent = 100 * self.hit / max(self.total, 1)
        lines = [str(found) for found in self._ordered]
        return "\n".join([head, *lines, f"{self.hit:,} of {self.total:,} buckets are hit ({percent:.1f} %)"])


_SHARED = {"source": "computation", "profile": "profile", "generator": "version of halfulp"}
"""What runs share, in the order in which it is compared."""


def _told(key: str, mine: Document, other: Document, name: str) -> str:
    """Return what a file has, beside another one."""
    if key == "source":
        parts = [f"{part}={value}" for part, value in mine.items() if other.get(part) != value]
        return f"'{name}' ({', '.join(parts)})"
    if key == "profile":
        fields, others = mine.get("fields", {}), other.get("fields", {})
        parts = [f"{field}={value}" for field, value in fields.items() if others.get(field) != value]
        return f"the profile {mine.get('name')} ({', '.join(parts) or 'the same fields'})"
    return f"halfulp {mine.get('version')} (semantics {mine.get('semantics_version')})"


_WRITTEN_BY = "halfulp vectors check --coverage-file writes such a file"


def report_of_text(text: str | bytes, file: str) -> CoverageReport:
    """Return the coverage in a file's text. Raises InputError naming the file for anything else."""
    data = json_of(text, file, _WRITTEN_BY)
    if not isinstance(data, dict) or "coverage_version" not in data:
        raise InputError(f"{file} is not a file of coverage", hint=_WRITTEN_BY)
    if data["coverage_version"] != COVERAGE_VERSION:
        raise InputError(f"{file} has version {data['coverage_version']!r} of the coverage, not {COVERAGE_VERSION}")
    try:
        models = {str(name): _model_of(str(name), found) for name, found in _field(data, "models", dict).items()}
        about = {key: _field(data, key, dict) for key in _SHARED}
        runs, rows = (_field(data, key, int) for key in ("runs", "rows"))
        return CoverageReport(_field(data, "name", str), about, runs, rows, models)
    except ValueError as error:
        raise InputError(f"{file} is not a whole file of coverage: {error}") from None


_KINDS = {dict: "an object", list: "a list", str: "a text", int: "a number of at least 0"}
"""What the fields of a file of coverage are, in words."""


def _field(data: Any, key: str, kind: type[Any]) -> Any:
    """Return a field of a file of coverage. Raises ValueError for a field that is missing or something else."""
    if not isinstance(data, dict) or key not in data:
        raise ValueError(f"'{key}' is missing")
    return _of_kind(data[key], key, kind)


def _of_kind(value: Any, key: str, kind: type[Any]) -> Any:
    if type(value) is not kind or (isinstance(value, int) and value < 0):
        raise ValueError(f"'{key}' is not {_KINDS[kind]}")
    return value


def _model_of(name: str, data: Any) -> ModelCoverage:
    hit, missing = (tuple(_of_kind(each, key, str) for each in _field(data, key, list)) for key in ("hit", "missing"))
    if len({*hit, *missing}) < len(hit) + len(missing):
        raise ValueError(f"the model {name} names a bucket twice")
    return ModelCoverage(name, _field(data, "target", str), hit, missing, _field(data, "rows", int))
